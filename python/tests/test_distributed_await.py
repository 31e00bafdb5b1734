"""`penstock.distributed` where its user awaits."""
import asyncio

import functions
import pytest

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
import dask.bag as db  # noqa: E402

from penstock import distributed  # noqa: E402
from penstock.distributed import Client, LocalCluster, as_completed, performance_report, wait  # noqa: E402


def awaited(test, **options):
    """Runs a coroutine function with an asynchronous client of its own."""
    async def run():
        async with Client(n_workers=2, asynchronous=True, set_as_default=False, **options) as client:
            return await asyncio.wait_for(test(client), 60)
    return asyncio.run(run())


def test_futures_are_awaited():
    async def test(client):
        one, bad = client.submit(functions.increment, 1), client.submit(functions.fail, "boom")
        assert await one == 2 and await one.result() == 2 and await one.exception() is None
        assert isinstance(await bad.exception(), ValueError) and await bad.traceback() is not None
        with pytest.raises(ValueError, match="boom"):
            await bad
        assert await client.gather([one, {"x": one}]) == [2, {"x": 2}]
        assert await client.gather([one, bad], errors="skip") == [2]
        assert await client.submit(functions.add, one, y=one) == 4
    awaited(test)


def test_many_that_wait_do_not_block_each_other(tmp_path):
    async def test(client):
        go = tmp_path / "go"
        slow = client.submit(functions.wait_for, str(go))
        waiting = [asyncio.ensure_future(client.gather([slow])) for _ in range(100)]
        assert await client.submit(functions.increment, 1) == 2
        await client.submit(functions.touch, str(go))
        assert await asyncio.gather(*waiting) == [[str(go)]] * 100
    awaited(test)


def test_waits_are_awaited(tmp_path):
    async def test(client):
        futures = client.map(functions.increment, range(5))
        assert (await wait(futures)).done == set(futures)
        assert sorted([await future async for future in as_completed(futures)]) == [1, 2, 3, 4, 5]
        assert sorted([value async for _, value in as_completed(futures, with_results=True)]) == [1, 2, 3, 4, 5]
        assert sorted([await f async for batch in as_completed(futures).batches() for f in batch]) == [1, 2, 3, 4, 5]
        slow = client.submit(functions.wait_for, str(tmp_path / "go"))
        with pytest.raises(distributed.TimeoutError):
            await wait(slow, timeout=0.05)
        with pytest.raises(distributed.TimeoutError):
            await slow.result(timeout=0.05)
        with pytest.raises(distributed.TimeoutError):
            async for _ in as_completed([slow], timeout=0.05):
                pass
        assert (await wait([slow, futures[0]], return_when="FIRST_COMPLETED")).done == {futures[0]}
        await client.cancel(slow)
        assert slow.cancelled()
    awaited(test)


def test_answers_are_awaited(tmp_path):
    async def test(client):
        assert client.asynchronous and await client is client
        (address, worker), = (await client.scheduler_info())["workers"].items()
        assert await client.nthreads() == {address: 2}
        assert await client.run(functions.increment, 1) == {address: 2}
        one = await client.scatter(5)
        assert await one == 5 and await client.gather(await client.scatter([1, 2])) == [1, 2]
        two = client.submit(functions.increment, one)
        await wait(two)
        assert await client.who_has(two) == {two.key: (address,)} and two.key in (await client.has_what())[address]
        await client.wait_for_workers(1)
        await client.register_plugin(distributed.Environ({"MINE": "6"}))
        assert await client.submit(functions.variable, "MINE") == "6"
        assert (await client.get_versions(check=True))["client"]
        with client.as_current():
            async with performance_report(str(tmp_path / "report.html")):
                await client.submit(functions.increment, 6)
        assert (tmp_path / "report.html").exists()
    awaited(test)


def test_collections_are_awaited():
    async def test(client):
        numbers = db.from_sequence(range(4), npartitions=2)
        assert await client.compute(numbers.sum()) == 6
        kept = client.persist(numbers.map(functions.increment))
        await wait(kept)
        assert await client.compute(kept.sum()) == 10
        assert await client.gather(client.compute([kept.sum(), kept.max()])) == [10, 4]
        assert await client.get({"x": (functions.increment, 1)}, ["x"]) == [2]
    awaited(test)


def test_a_cluster_is_awaited():
    async def run():
        async with LocalCluster(n_workers=1, asynchronous=True) as cluster, Client(cluster,
                                                                                   asynchronous=True) as client:
            return await client.submit(functions.increment, 1)
    assert asyncio.run(run()) == 2

    async def plainly():
        client = await Client(n_workers=1, asynchronous=True)
        assert await client.submit(functions.increment, 1) == 2
        await client.close()
        return client.status
    assert asyncio.run(plainly()) == "closed"


def test_a_synchronous_client_runs_coroutines():
    with Client(n_workers=1, set_as_default=False) as client:
        async def twice(x):
            assert client.asynchronous
            one = client.submit(functions.increment, x)
            await wait([one])
            return await client.gather([one, client.submit(functions.increment, one)])
        assert client.sync(twice, 1) == [2, 3] and not client.asynchronous
        with pytest.raises(distributed.TimeoutError):
            client.sync(asyncio.sleep, 60, callback_timeout=0.05)
