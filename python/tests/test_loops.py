"""Loops of a thousand steps: what they have let go takes no memory of the cluster."""
import numpy
import pytest
from test_cluster import until

from penstock import Client

STEPS = 1000
SIZE = 12_500  # Of numbers: 100 kB.
HELD_MAX = 64 * 8 * SIZE  # What was dropped a moment ago may be among it; all steps are 100 MB.


@pytest.fixture
def client():
    with Client(slots=2) as client:
        yield client


def held(client):
    return sum(row["bytes"] for row in client.memory())


def check(client, step):
    """Takes `step` a thousand times and looks at what is held now and then, and in the end."""
    most = 0
    for number in range(STEPS):
        step(number)
        if number % 50 == 49:
            most = max(most, held(client))
    assert most <= HELD_MAX
    until(lambda: held(client) == 0)
    until(lambda: not client._batches)


def test_scatter_and_submit(client):
    def step(number):
        given = client.scatter(numpy.full(SIZE, number))
        assert client.submit(numpy.sum, given).result(60) == number * SIZE
    check(client, step)


def test_map_and_gather(client):
    def step(number):
        made = client.map(numpy.full, [SIZE, SIZE], [number, number])
        assert client.gather(client.map(numpy.sum, made)) == [number * SIZE] * 2
    check(client, step)


def test_several_outputs_of_which_one_is_kept(client):
    kept = []

    def step(number):
        low, _ = client.submit(lambda: (numpy.full(SIZE, number), numpy.zeros(SIZE)), outputs=2)
        assert low.result(60)[0] == number
        kept[:] = [low]
        if number == STEPS - 1:
            kept.clear()
    check(client, step)
