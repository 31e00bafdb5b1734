"""Results of earlier calls, and large objects, as arguments of later ones on a cluster of processes: by reference."""
import functools

import functions
import numpy
import pytest
from test_cluster import await_workers, cluster, until  # noqa: F401
from test_losses import descendants, kill_worker  # noqa: F401

from penstock import Client, errors

MIB = 1 << 20


def holder_of(cluster, pid):  # noqa: F811
    """The worker whose runner that is."""
    return next(worker for worker in cluster.workers if str(pid) in descendants(worker.pid))


@pytest.mark.parametrize("reader", ["w1", "w2"])
def test_a_large_result_is_read_by_a_later_call_wherever_that_runs(cluster, reader):  # noqa: F811
    with Client(cluster.address) as client:
        await_workers(client, "w1", "w2")
        array = client.submit(functions.make_array, 64 * MIB // 8, workers="w1")
        assert array.exception(60) is None
        assert client.submit(functions.total, array, workers=reader).result(60) == sum(range(64 * MIB // 8))
        futures = client.map(functions.total, [array] * 4)
        assert client.gather(futures) == [sum(range(64 * MIB // 8))] * 4


def test_what_was_read_here_is_still_an_argument_by_reference(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        array = client.submit(functions.make_array, 2 * MIB)
        assert array.result(60)[-1] == 2 * MIB - 1
        batch = array._batch
        assert batch is not None
        assert client.submit(functions.total, array).result(60) == sum(range(2 * MIB))
        assert array._batch is batch, "nothing was sent"


def test_after_a_restart_of_the_supervisor_it_is_still_there(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        array = client.submit(functions.make_array, 2 * MIB)
        assert array.exception(60) is None
        made_by = array._batch
        cluster.restart_supervisor()
        client.logs(array)  # A question is asked again until it is answered: it is back.
        assert client.submit(functions.total, array).result(60) == sum(range(2 * MIB))
        assert array._batch is made_by, "it was not made again"


def test_what_a_killed_worker_held_is_made_again(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        first = client.submit(functions.increment, 1)
        array = client.submit(functions.make_array_of, first, 2 * MIB)
        assert array.exception(60) is None
        where = client.submit(functions.pid_beside, array).result(60)
        told = []
        array.add_done_callback(lambda _: told.append(1))
        kill_worker(cluster, holder_of(cluster, where))
        futures = [client.submit(functions.total, array) for _ in range(3)]
        assert client.gather(futures) == [sum(range(2 * MIB))] * 3
        assert client.submit(functions.total, array).result(60) == sum(range(2 * MIB))
        assert told == [1], "it is not told once more"


def test_what_is_lost_after_it_was_borrowed_is_made_again(cluster, tmp_path):  # noqa: F811
    with Client(cluster.address) as client:
        array = client.submit(functions.make_array, 2 * MIB)
        assert array.exception(60) is None
        where = client.submit(functions.pid_beside, array).result(60)
        holder = holder_of(cluster, where)
        sums = [client.submit(functions.total_after, array, str(tmp_path / f"runs{i}"), str(tmp_path / "go"))
                for i in range(4)]
        chained = client.submit(functions.increment, sums[0])
        client._flush()
        until(lambda: any((tmp_path / f"runs{i}").exists() for i in range(4)))  # So it has been borrowed.
        kill_worker(cluster, holder)
        cluster.workers.append(cluster.worker("w3"))
        (tmp_path / "go").touch()
        assert chained.result(60) == sum(range(2 * MIB)) + 1
        assert client.gather(sums) == [sum(range(2 * MIB))] * 4


def test_a_result_whose_worker_was_killed_is_made_again_when_it_is_asked_for(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        array = client.submit(functions.make_array, 100_000)
        assert array.exception(60) is None
        where = client.submit(functions.pid_beside, array).result(60)
        kill_worker(cluster, holder_of(cluster, where))
        assert array.result(60)[-1] == 99_999


def test_what_was_released_is_missed_by_name(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        array = client.submit(functions.make_array, 1000, key="mine")
        assert array.exception(60) is None
        array.release()
        with pytest.raises(errors.ResultLost, match="mine.*was released"):
            client.submit(functions.total, array).result(60)


def test_large_objects_travel_in_pieces_and_once(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        data = numpy.arange(32.0 * MIB // 8)
        scattered = client.scatter(data)
        assert client.submit(functions.total, scattered).result(60) == data.sum()
        held = scattered._batch
        assert held is not None
        assert client.submit(functions.total, scattered).result(60) == data.sum()
        assert scattered._batch is held, "it was not sent again"


def test_large_arguments_travel_in_pieces_too(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        data = numpy.arange(12.0 * MIB // 8)
        future = client.submit(functions.total, data)
        data[:] = 0  # What was submitted is as it was then.
        assert future.result(60) == numpy.arange(12.0 * MIB // 8).sum()


@pytest.mark.parametrize("large", [numpy.zeros(2 * MIB), b"x" * (16 * MIB), list(range(3 * MIB))],
                         ids=lambda one: type(one).__name__)
def test_what_is_large_beside_a_future_travels_in_pieces(cluster, large):  # noqa: F811
    with Client(cluster.address) as client:
        future = client.submit(functions.increment, 1)
        assert client.submit(functions.lengths, [future, large], large).result(60) == [2, len(large), len(large)]
        graph = client.graph()
        graph.add(functions.lengths, [future, large], large)
        assert graph.submit().results(60) == [[2, len(large), len(large)]]
        assert client.get({"a": (functions.lengths, [future, large], large)}, "a") == [2, len(large), len(large)]


def test_a_graph_reads_futures_however_deep(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        one, two = client.submit(functions.increment, 0), client.scatter(2)
        graph = client.graph()
        total = graph.add(sum, [one, [two][0], graph.add(functions.increment, one)])
        assert graph.submit(want=[total]).results(60) == [5]


def test_a_dask_graph_reads_futures_and_large_literals(cluster):  # noqa: F811
    pytest.importorskip("dask", reason="python3-dask is not installed")
    from penstock import dask
    with Client(cluster.address) as client:
        array = client.submit(functions.make_array, 2 * MIB)
        data = numpy.ones(3 * MIB // 8)
        graph = {"a": array, "b": (functions.total, "a"), "c": (functions.total, data), "d": (sum, ["b", "c", 1]),
                 "e": data, "f": (functions.total, "e"), "g": (functions.total, array)}
        expected = sum(range(2 * MIB))
        assert dask.get(graph, ["b", "d", "f", "g"], client=client) == (
            expected, expected + data.size + 1, data.size, expected)
        where = client.submit(functions.pid_beside, array).result(60)
        kill_worker(cluster, holder_of(cluster, where))
        assert dask.get(graph, "g", client=client) == expected, "it is made again"


def test_a_future_of_a_dask_graph_is_borrowed_as_it_is(client):
    dask = pytest.importorskip("penstock.dask")
    array = client.submit(functions.make_array, 1000)
    conversion = dask._Conversion(client, client._command, {"a": array, "b": [array]}, {},
                                  {"priority": 0, "retries": 0, "resources": None, "workers": None})
    conversion.convert(["a", "b"])
    assert len(conversion.columns.borrowed) == 2 and len(conversion.columns.natives) == 1


@pytest.mark.parametrize("way", ["graph", "dask"])
def test_a_graph_that_reads_a_future_that_has_failed_or_is_anothers_says_so(client, way):
    dask = pytest.importorskip("penstock.dask")

    def compute(future):
        if way == "graph":
            return client.graph().add(functions.itself, [future])
        return dask.get({"a": (functions.itself, [future])}, "a", client=client)
    with pytest.raises(ValueError, match="of its own"):
        compute(client.submit(functions.fail, "of its own"))
    with Client(slots=1, warm=False) as other, pytest.raises(ValueError, match="belongs to another client"):
        compute(other.scatter(1))


def test_a_function_of_a_dask_graph_holds_no_future(client):
    dask = pytest.importorskip("penstock.dask")
    function = functools.partial(functions.add, client.submit(functions.increment, 1))
    with pytest.raises(errors.NotSerializable, match="a future is pickled only as an argument"):
        dask.get({"a": (function, 1), "b": (function, 2)}, ["a", "b"], client=client)


class Literal:
    """As a DataNode of today's Dask."""

    def __init__(self, value):
        self.value = value


def test_literals_of_a_dask_graph_travel_in_pieces(cluster, monkeypatch):  # noqa: F811
    pytest.importorskip("dask", reason="python3-dask is not installed")
    from penstock import _nodes, dask
    monkeypatch.setattr(_nodes, "LITERAL", (Literal,))
    with Client(cluster.address) as client:
        data = numpy.arange(20.0 * MIB // 8)
        one = client.submit(functions.increment, 0)
        graph = {"x": Literal(data), "y": (functions.total, "x"), "z": Literal([one, 2]), "s": (sum, "z"),
                 "t": (functions.total, "x")}
        assert dask.get(graph, ["y", "s", "t"], client=client) == (data.sum(), 3, data.sum())
