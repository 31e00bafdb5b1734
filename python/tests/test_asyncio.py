"""Clients and futures among coroutines."""
import asyncio
import concurrent.futures

import functions
import pytest

import penstock

LATE = 60


def run(coroutine):
    return asyncio.run(asyncio.wait_for(coroutine, LATE))


def test_a_client_of_an_async_with_and_its_futures():
    async def work():
        async with penstock.Client(slots=1) as client:
            one = client.submit(functions.increment, 1)
            values = await one, await client.submit(functions.increment, one), *await asyncio.gather(
                *client.map(functions.increment, range(5)))
            assert await one == 2, "once more"
        assert client.closed
        return values
    assert run(work()) == (2, 3, 1, 2, 3, 4, 5)


def test_the_loop_goes_on_while_a_future_is_awaited(client, tmp_path):
    async def work():
        waits = client.submit(functions.wait_for, str(tmp_path / "go"))

        async def let_go():
            (tmp_path / "go").touch()
        value, _ = await asyncio.gather(waits, let_go())
        return value
    assert run(work()) == str(tmp_path / "go")


def test_a_cancel_goes_both_ways(client, tmp_path):
    async def work():
        waits = client.submit(functions.wait_for, str(tmp_path / "never"))
        awaiting = asyncio.ensure_future(asyncio.wait_for(waits, 0.01))
        with pytest.raises(asyncio.TimeoutError):
            await awaiting
        assert waits.cancelled()
        other = client.submit(functions.wait_for, str(tmp_path / "never"))
        asyncio.get_running_loop().call_soon(other.cancel)
        with pytest.raises(asyncio.CancelledError):
            await other
    run(work())


# `await` never returned: the error of reading the value reached the event loop, not the coroutine.
def test_a_value_that_cannot_be_read_here_is_raised(client):
    async def work():
        with pytest.raises(penstock.NotSerializable, match="cannot be read here"):
            await client.submit(functions.Unreadable)
    run(work())


def test_async_for_gives_them_as_they_end(client, tmp_path):
    async def work():
        late, soon = [client.submit(functions.wait_for, str(tmp_path / name)) for name in ("late", "soon")]
        (tmp_path / "soon").touch()
        seen = []
        async for future in penstock.as_completed([late, soon]):
            seen.append(future)
            (tmp_path / "late").touch()
        assert seen == [soon, late]
        futures = client.map(functions.increment, range(50))
        pairs = [pair async for pair in penstock.as_completed(futures, with_results=True)]
        assert sorted(value for _, value in pairs) == list(range(1, 51))
        assert [future async for future in penstock.as_completed([])] == []
    run(work())


def test_async_for_lets_others_go_on_takes_more_and_has_a_timeout(client, tmp_path):
    async def work():
        waits = client.submit(functions.wait_for, str(tmp_path / "go"))
        ending, seen = penstock.as_completed([waits]), []

        async def read():
            async for future in ending:
                seen.append(await future)
                if len(seen) == 1:
                    ending.add(client.submit(functions.increment, 1))
        reading = asyncio.ensure_future(read())
        await asyncio.sleep(0)
        (tmp_path / "go").touch()
        await reading
        assert seen == [str(tmp_path / "go"), 2]
        never = client.submit(functions.wait_for, str(tmp_path / "never"))
        with pytest.raises(concurrent.futures.TimeoutError, match="1 futures unfinished"):
            async for _ in penstock.as_completed([never], timeout=0.01):
                pass
        never.cancel()
    run(work())
