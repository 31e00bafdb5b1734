"""Large buffers of arguments: outputs of their own, shared by those that have the same."""
# tidy: foreign-file scheduler
import functions
import numpy
import pytest

import penstock.dask
from penstock import Client, _graph, _wire, errors

LARGE = numpy.arange(200_000.0)
LIMIT = _graph.LARGE_BYTES



def test_they_are_mapped_and_not_copied(client):
    assert client.submit(functions.is_mapped, LARGE).result(30)
    assert client.submit(functions.is_mapped, array=LARGE).result(30)
    graph = client.graph()
    graph.add(functions.is_mapped, LARGE)
    assert graph.submit().results(30) == [True]
    assert client.get({"a": (functions.is_mapped, LARGE)}, "a")


@pytest.mark.parametrize("size, mapped", [(LIMIT - 1, False), (LIMIT, True)])
def test_smaller_ones_travel_with_the_call_and_may_be_written(client, size, mapped):
    assert client.submit(functions.is_mapped, numpy.zeros(size, "u1")).result(30) is mapped


def test_calls_of_a_batch_share_what_is_equal(client):
    with client._lock:  # So they are one batch.
        futures = client.map(functions.total, [LARGE] * 10) + client.map(functions.total, [LARGE.copy()] * 10)
        client._flush()
        assert len(futures[0]._batch.futures) == 21
    assert set(client.gather(futures)) == {LARGE.sum()}
    graph = client.graph()
    parts = [graph.add(functions.total, LARGE) for _ in range(10)]
    assert len(graph) == 11 and graph.submit(want=parts).results(30) == [LARGE.sum()] * 10


def test_an_array_is_what_it_was_when_it_was_given(client):
    array, futures = LARGE.copy(), []
    with client._lock:
        for value in range(3):
            array[:] = value
            futures.append(client.submit(functions.total, array))
    assert client.gather(futures) == [0, LARGE.size, 2 * LARGE.size]


def test_they_go_with_futures_and_objects_of_the_main_module(client):
    class Ours:
        def __init__(self, array):
            self.array = array
    one, two = client.submit(functions.increment, 1), Ours(LARGE)
    function = lambda x, ours, other: x + ours.array[7] + other[8]  # noqa: E731
    assert client.submit(function, one, two, LARGE + 1).result(30) == 2 + 7 + 9


def test_a_retry_has_them(client, tmp_path):
    def once(path, array):
        return functions.fail_once(path), float(array[5])
    future = client.submit(once, str(tmp_path / "x"), LARGE, retries=0)
    with pytest.raises(RuntimeError):
        future.result(30)
    future.retry()
    assert future.result(30) == ("the second time", 5.0)


def test_what_is_larger_than_the_store_is_refused():
    with Client(slots=1, memory=64 << 20, warm=False) as small:
        future = small.submit(functions.total, numpy.zeros(5_000_000))
        with pytest.raises(errors.ResultTooLarge, match="an argument of total: .*can never fit into the store"):
            future.result(60)
        assert small.submit(functions.increment, 1).result(30) == 2


def test_chunks_of_dask_are_outputs_as_they_are(client):
    da = pytest.importorskip("dask.array")
    whole = numpy.arange(400_000.0).reshape(1000, 400)
    array = da.from_array(whole, chunks=(250, 400))
    mapped = array.map_blocks(lambda part: numpy.full((1, 1), functions.is_mapped(part)), chunks=(1, 1), dtype=bool)
    assert mapped.compute(scheduler=penstock.dask.get, client=client).all()
    assert numpy.array_equal(array.compute(scheduler=penstock.dask.get, client=client), whole)
    conversion = penstock.dask._Conversion(client, client._command, {"a": LARGE, "b": [LARGE, LARGE]}, {},
                                           {"priority": 0, "retries": 0, "resources": None, "workers": None})
    conversion.convert(["a", "b"])
    assert [len(payload) > LIMIT for payload in conversion.columns.payloads] == [True, False, True]


# Each job that borrowed it made a copy of it in the client: 280 ms for 100 MB.
def test_a_scattered_object_is_not_read_here_for_those_that_borrow_it(client, monkeypatch):
    future, read, unpack = client.scatter([bytes(100_000)])[0], [], _wire.unpack_own
    assert client.submit(len, future).result(30) == 100_000
    monkeypatch.setattr(_wire, "unpack_own", lambda datum: (read.append(len(datum)), unpack(datum))[1])
    assert client.submit(len, future).result(30) == 100_000
    assert read and max(read) < 1000
    assert future.result() == bytes(100_000) and max(read) > 100_000
