"""Workers that die when the job whose results they hold has ended: the same result, without the user doing anything."""
# tidy: foreign-file scheduler
import concurrent.futures
import types

import functions
import numpy
import pytest
from test_cluster import Cluster, cluster  # noqa: F401
from test_losses import kill_worker

from penstock import Client, _abi, _graph, _losses, errors

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


# It was sent as it was here by then.
def test_a_call_gets_what_the_value_was_though_it_was_written_to_since(cluster, tmp_path):  # noqa: F811
    with Client(cluster.address) as client:
        first = client.submit(array_noted, str(tmp_path / "log"), SIZE)
        first.result(60)[:] = 0
        lose_all(cluster)
        assert client.submit(functions.total, first).result(60) == sum(range(SIZE))
        assert first.result(60)[7] == 7


def test_what_is_here_is_sent_when_it_cannot_be_made_any_more(client):
    first = client.submit(functions.increment, 1)
    assert first.result(60) == 2
    first._call.made_again = _losses.MADE_AGAIN_MAX
    with client._lock:
        assert _losses.make_again(client, [first])
    assert client.submit(functions.increment, first).result(60) == 3


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
        assert len(runs(log)) == 1 + _losses.MADE_AGAIN_MAX


def test_a_loan_is_made_again_so_many_times_only(tmp_path):
    log = tmp_path / "log"
    with Client(slots=1) as client:
        first = client.submit(functions.note, str(log), "made")
        assert first.exception(60) is None
        client._take_news = lambda news: None  # All losses, and all ends, are told below.
        with client._lock:
            for _ in range(_losses.MADE_AGAIN_MAX + 1):
                reader = client.submit(functions.collect, first)
                client._flush()
                tell(client, reader._batch, lost=first, cancelled=[reader])
                if not first.done():
                    assert not reader.done()
                    client._flush()  # It and its reader, in one batch.
                    first._succeed()
        with pytest.raises(errors.ResultLost, match="is gone"):
            reader.result(60)
        assert first._call.made_again == _losses.MADE_AGAIN_MAX


def tell(client, batch, lost=None, cancelled=()):
    """What comes when the subtask has failed that has a borrowed value, or large bytes."""
    holders = {number: other for number, (other, _) in batch.borrowed.items()} | batch.shared
    failures = [(number, errors.ResultLost("is gone")) for number, other in holders.items() if other is lost]
    client._apply(batch, types.SimpleNamespace(failures=failures, succeeded=[], state=_abi.RUNNING,
                                               cancelled=[(index, index) for index in cancelled_of(batch, cancelled)]))


def cancelled_of(batch, futures):
    return [index for index in range(len(batch.futures)) if batch.future(index) in futures]


def test_large_bytes_of_an_argument_that_are_lost_are_told_of_and_not_sent_for_ever():
    with Client(slots=1) as client:
        with client._lock:
            reader = client.submit(functions.total, numpy.zeros(SIZE))
            client._flush()
            batch = client._batches.pop(reader._batch.job)  # What it really says is not heard.
            tell(client, batch, lost=next(iter(batch.shared.values())), cancelled=[reader])
        with pytest.raises(errors.ResultLost, match="is gone"):
            reader.result(60)


def test_who_is_told_of_a_loss_later_than_its_input_runs_again_after_it():
    with Client(slots=1) as client:
        first = client.submit(functions.increment, 1)
        assert first.exception(60) is None
        with client._lock:
            second = client.submit(functions.increment, first)
            third = client.submit(functions.increment, second)
            client._flush()
            batch = client._batches.pop(second._batch.job)  # What it really says is not heard.
            tell(client, batch, lost=first, cancelled=[second])
            tell(client, batch, cancelled=[third])
        assert third.result(60) == 4


def test_a_call_waits_for_an_input_that_is_put_again_before_it_leaves(client):
    first = client.submit(functions.increment, 1)
    assert first.exception(60) is None
    with client._lock:
        second = client.submit(functions.increment, first)
        first.retry()
        client._flush()
    assert second.result(60) == 3 and first.result(60) == 2


def test_a_call_whose_loan_is_refused_is_made_though_nobody_waits_for_it(client, tmp_path, monkeypatch):
    first = client.submit(functions.itself, str(tmp_path / "ran"))
    assert first.exception(60) is None
    submit, refused = _graph.GraphColumns.submit, []

    def refuse_first(columns, *arguments, **options):
        if refused:
            return submit(columns, *arguments, **options)
        refused.append(columns)
        raise errors.ResultLost("borrows output 0 of subtask 0 of job-1, and there is no such job", subject="subtask '0'")
    monkeypatch.setattr(_graph.GraphColumns, "submit", refuse_first)
    client.submit(functions.touch, first)
    functions.until((tmp_path / "ran").exists)
    assert first._call.made_again == 1


def lose_a_loan(value, path):
    """As a call does in which a graph of its own is refused."""
    with open(path, "a") as ran:
        ran.write("ran ")
    raise errors.ResultLost("subtask '0' borrows output 0 of subtask 0 of job-1, and there is no such job", subject="subtask '0'")


def test_a_program_that_raises_the_loss_of_a_loan_of_its_own_has_not_lost_its_input(client, tmp_path):
    first = client.submit(functions.increment, 1)
    assert first.exception(60) is None
    second = client.submit(lose_a_loan, first, str(tmp_path / "ran"))
    with pytest.raises(errors.ResultLost, match="job-1, and there is no such job"):
        second.result(60)
    assert second._batch.job != first._batch.job and first._call.made_again == 0
    assert (tmp_path / "ran").read_text() == "ran "


def test_a_value_that_another_thread_brings_meanwhile_is_the_result(client, monkeypatch):
    future, result = client.submit(functions.increment, 1), concurrent.futures.Future.result

    def result_and_bring(self, timeout=None):
        value = result(self, timeout)
        client._bring([future])
        return value
    monkeypatch.setattr(concurrent.futures.Future, "result", result_and_bring)
    assert future.result(60) == 2


def test_a_value_that_another_thread_has_made_again_is_brought(client, monkeypatch):
    future, bring, calls = client.submit(functions.increment, 1), client._bring, []

    def lost_first(futures):
        calls.append(futures)
        if len(calls) == 1:
            raise errors.ResultLost("is lost")
        return bring(futures)
    monkeypatch.setattr(client, "_bring", lost_first)
    assert future.result(60) == 2 and future._call.made_again == 0


def test_a_value_of_an_earlier_run_is_not_kept_for_a_later_one(client):
    future = client.submit(functions.increment, 1)
    assert future.exception(60) is None
    before = future._batch
    future.retry()
    assert future.exception(60) is None
    future._keep("of before", before)
    assert future.result(60) == 2


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


def test_what_was_persisted_is_made_again_as_one_job_from_its_graph(cluster, tmp_path):  # noqa: F811
    dask = pytest.importorskip("dask", reason="python3-dask is not installed")
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        source = dask.delayed(array_noted)(str(log), SIZE)
        kept = client.persist([dask.delayed(numpy.add)(source, i) for i in range(3)])
        total = client.compute(dask.delayed(lambda *parts: sum(part[5] for part in parts))(*kept))
        assert total.result(60) == 18.0
        lose_all(cluster)
        assert client.compute(dask.delayed(lambda *parts: sum(part[6] for part in parts))(*kept)).result(60) == 21.0
        assert [part[7] for part in client.compute(kept, sync=True)] == [7.0, 8.0, 9.0]
        assert runs(log) == ["made", "made"], "what they share is made once for all of them"
        del total
        lose_all(cluster)
        assert dask.compute(kept[2], scheduler=client)[0][0] == 2.0
