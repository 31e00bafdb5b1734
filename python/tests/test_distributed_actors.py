"""Actors by `penstock.distributed`, as programs of Dask make them."""
import asyncio
import gc

import pytest
from actor_classes import Broken, Counter, until

pytest.importorskip("dask", reason="python3-dask is not installed")

from penstock import actors, distributed  # noqa: E402
from penstock.distributed import Client, get_client  # noqa: E402


@pytest.fixture(scope="module")
def client():
    with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as shared:
        yield shared


def test_submit_makes_actors(client):
    future = client.submit(Counter, 1, actor=True)
    counter = future.result(60)
    assert isinstance(counter, distributed.Actor) and future.status == "finished" and counter.key
    added = counter.add(2)
    assert isinstance(added, distributed.ActorFuture) and added.result(60) == 3
    assert counter.value == 3 and client.submit(Counter, actors=True).result(60) != counter
    assert [one.value for one in client.gather(client.map(Counter, [1, 2], actor=True))] == [1, 2]


def test_a_key_is_one_actor_while_its_future_lives(client):
    one, two = [client.submit(Counter, 1, actor=True, key="the counter") for _ in range(2)]
    assert one is two and one.key == "the counter"


def add_in_a_call(counter, amount):
    return counter.add(amount).result(60), get_client().submit(abs, -1).result(60), type(counter).__module__


def test_handles_and_their_futures_are_arguments(client):
    future = client.submit(Counter, 1, actor=True)
    for given in (future, future.result(60)):
        assert client.submit(add_in_a_call, given, 1, pure=False).result(60)[1:] == (1, "penstock.distributed._actor")
    assert future.result(60).value == 3
    assert future.result(60).add(client.submit(abs, -4)).result(60) == 7


def test_what_the_constructor_raises_is_raised(client):
    with pytest.raises(LookupError, match="no such table"):
        client.submit(Broken, actor=True).result(60)


def test_an_actor_ends_with_its_futures_and_handles(client):
    gc.collect()
    until(lambda: not actors.list(client))
    counter = client.submit(Counter, 1, actor=True).result(60)
    gc.collect()
    assert counter.add().result(60) == 2, "the handle is enough"
    del counter
    gc.collect()
    until(lambda: not actors.list(client))


def test_an_asynchronous_client_awaits_them():
    async def run():
        async with Client(n_workers=1, asynchronous=True, set_as_default=False) as client:
            counter = await client.submit(Counter, 1, actor=True)
            assert await counter.add(1) == 2 and await counter.value == 2
            assert await asyncio.gather(*[counter.add() for _ in range(3)]) == [3, 4, 5]
    asyncio.run(asyncio.wait_for(run(), 120))
