"""Workers that die when the job whose results they hold has ended: the same result, without the user doing anything."""
# tidy: foreign-file scheduler
import functions
import numpy
import pytest
from test_cluster import Cluster, cluster  # noqa: F401
from test_losses import kill_worker

from penstock import Client, _losses, errors

SIZE = 300_000


def lose_all(cluster: Cluster):  # noqa: F811
    """All that workers hold; others are there then."""
    for worker in list(cluster.workers):
        kill_worker(cluster, worker)
    lose_all.lives += 1
    cluster.workers.append(cluster.worker(f"other-{lose_all.lives}"))


lose_all.lives = 0


def runs(log):
    return log.read_text().split()


def array_noted(log, size):
    functions.note(log, "made")
    return functions.make_array(size)


def total_noted(log, array):
    functions.note(log, "summed")
    return array + 1


def test_a_result_is_made_again(cluster, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        future = client.submit(array_noted, str(log), SIZE)
        ends = []
        future.add_done_callback(ends.append)
        assert future.exception(60) is None
        lose_all(cluster)
        assert numpy.array_equal(future.result(60), numpy.arange(float(SIZE)))
        assert runs(log) == ["made", "made"]
        assert ends == [future], "a callback is called once"


def test_so_are_the_lost_inputs_of_what_is_made_again(cluster, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        first = client.submit(array_noted, str(log), SIZE)
        assert first.exception(60) is None
        second = client.submit(total_noted, str(log), first)
        assert second.exception(60) is None
        lose_all(cluster)
        one, two = client.gather([first, second])
        assert one[7] == 7 and two[7] == 8
        assert sorted(runs(log)) == ["made", "made", "summed", "summed"]


def test_a_call_gets_an_input_that_was_lost_before_it_was_submitted(cluster, tmp_path):  # noqa: F811
    with Client(cluster.address) as client:
        first = client.submit(array_noted, str(tmp_path / "log"), SIZE)
        assert first.exception(60) is None
        lose_all(cluster)
        second = client.submit(functions.total, first)
        third = client.submit(functions.increment, second)  # In the same batch: it waits, too.
        assert third.result(60) == sum(range(SIZE)) + 1


def test_what_fails_when_it_is_made_again_raises_that(cluster, tmp_path):  # noqa: F811
    def only_once(path):
        if (tmp_path / "ran").exists():
            raise ValueError("a second time")
        return functions.touch(path)
    with Client(cluster.address) as client:
        future = client.submit(only_once, str(tmp_path / "ran"))
        assert future.exception(60) is None
        lose_all(cluster)
        for _ in range(2):
            with pytest.raises(ValueError, match="a second time"):
                future.result(60)


def test_it_is_made_again_so_many_times_only(cluster, tmp_path, monkeypatch):  # noqa: F811
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        def lost(*_):
            raise errors.ResultLost("is lost")
        monkeypatch.setattr(client, "_fetch", lost)
        with pytest.raises(errors.ResultLost):
            client.submit(array_noted, str(log), 1).result(60)
        assert len(runs(log)) == 1 + _losses.REMAKES_MAX


def test_a_graph_of_ones_own_says_that_its_result_is_lost(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        graph = client.graph()
        graph.add(functions.make_array, SIZE)
        job = graph.submit()
        job.result(60)
        lose_all(cluster)
        with pytest.raises(errors.ResultLost, match=r"\d+:0\.0: is lost: its last holder cannot give it"):
            job.results(60)


def test_a_dask_graph_is_computed_again_as_far_as_it_is_needed(cluster, tmp_path, monkeypatch):  # noqa: F811
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        fetch, lives = client._fetch, []

        def lose_first(*wanted):
            if not lives:
                lives.append(lose_all(cluster))
            return fetch(*wanted)
        monkeypatch.setattr(client, "_fetch", lose_first)
        graph = {"a": (array_noted, str(log), SIZE), "b": (total_noted, str(log), "a"), "c": (functions.increment, 1)}
        one, two = client.get(graph, ["b", "c"])
        assert one[7] == 8 and two == 2
        assert sorted(runs(log)) == ["made", "made", "summed", "summed"]
