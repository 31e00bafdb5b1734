"""Futures of many calls, which keep how to run them once more in a few arrays."""
import gc
import tracemalloc

import functions
import pytest

from penstock import Client, _packed, wait

COUNT = 4000
LATE = 120


@pytest.fixture(scope="module")
def client():
    with Client(slots=2) as client:
        yield client


def is_packed(future):
    return future._recipe is None


def mapped(client, function, values, **options):
    with client._lock:  # So their batches are large ones.
        futures = client.map(function, values, **options)
        client._flush()
    wait(futures)
    return futures


def test_a_future_takes_little_and_gives_it_back(client):
    numbers = list(range(20 * 1000))
    client.gather(client.map(functions.increment, range(100)))
    gc.collect()
    tracemalloc.start()
    try:
        futures = mapped(client, functions.increment, numbers)
        functions.until(lambda: all(batch.ended for batch in client._batches.values()))
        gc.collect()
        held = tracemalloc.get_traced_memory()[0]
        assert held < 260 * len(numbers), f"{held / len(numbers):.0f} bytes of each"  # 205; 488 before they were packed.
        futures.clear()
        functions.until(lambda: not client._batches)
        gc.collect()
        left = tracemalloc.get_traced_memory()[0]
        assert left < 20 * len(numbers), f"{left / len(numbers):.0f} bytes of each are left"
    finally:
        tracemalloc.stop()


def test_packed_calls_run_once_more(client):
    futures = mapped(client, functions.increment, range(COUNT))
    assert all(map(is_packed, futures))
    again = futures[::500]
    for future in again:
        future.retry()
        assert not is_packed(future)
    assert [future.result(LATE) for future in again] == list(range(1, COUNT + 1, 500))
    assert client.submit(sum, futures[10:20]).result(LATE) == sum(range(11, 21))


def test_packed_futures_have_their_names(client):
    first = client.submit(functions.increment, 0)
    futures = mapped(client, functions.increment, range(COUNT)) + mapped(client, functions.increment, range(COUNT), key="mine")
    assert is_packed(futures[-1]) and futures[-1].key == f"mine-{COUNT - 1}"
    begin = int(first.key.split("-")[1]) + 1
    assert [future.key for future in futures[:COUNT]] == [f"increment-{begin + i}" for i in range(COUNT)]


def test_what_differs_stays_different(client):
    add, large = client.submit(functions.increment, 1), "x" * (_packed.PAYLOAD_MAX + 1)
    futures, values = [], []
    with client._lock:
        for i in range(COUNT // 4):
            futures += [client.submit(functions.increment, i), client.submit(len, "x" * (i % 50)), client.submit(len, large),
                        client.submit(functions.increment, add)]
            values += [i + 1, i % 50, len(large), 3]
        client._flush()
    wait(futures)
    assert [is_packed(future) for future in futures[-4:]] == [True, True, False, False]
    for future in futures[-40:]:
        future.retry()
    assert client.gather(futures) == values


def test_a_released_future_can_be_run_once_more(client):
    futures = mapped(client, functions.increment, range(COUNT))
    futures[7].release()
    assert futures[7].key.startswith("increment-")
    futures[7].retry()
    assert futures[7].result(LATE) == 8


def test_packed_futures_that_fail_say_which_they_are(client):
    futures = client.map(functions.fail, range(100), key="bad")
    with pytest.raises(ValueError, match="41"):
        futures[41].result(LATE)
    assert futures[41].key == "bad-41" and futures[41].status == "error"
