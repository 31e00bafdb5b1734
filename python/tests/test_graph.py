"""Graphs for engine authors."""
import gc
import os
import struct
import time

import functions
import pytest
from penstock import PenstockError, errors


def test_a_graph_is_one_job(client):
    graph = client.graph()
    parts = [graph.add(functions.increment, i) for i in range(10)]
    total = graph.add(sum, parts)
    job = graph.submit(want=[total, parts[3]])
    assert job.results() == [55, 4]
    assert job.state == "succeeded" and job.counts()["succeeded"] == 11


def test_without_wishes_those_are_kept_that_nobody_reads(client):
    graph = client.graph()
    graph.add(functions.increment, graph.value(41))
    assert graph.submit().results() == [42]


def test_after_is_an_order_without_data(client, tmp_path):
    graph = client.graph()
    first = graph.add(functions.fail_once, str(tmp_path / "x"), retries=1)
    second = graph.add(functions.fail_once, str(tmp_path / "x"), after=[first])
    assert graph.submit(want=[second]).results() == ["the second time"]


def test_a_name_is_attached_to(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    job = graph.submit(name="a-name")
    job.wait()
    assert client.attach("a-name").results() == [2]


# Its results were released for all.
def test_what_was_wanted_of_a_job_is_what_it_results_in_for_who_attaches(client):
    graph = client.graph()
    parts = [graph.add(functions.increment, i) for i in range(4)]
    job = graph.submit(name="some of it", want=[graph.add(sum, parts), parts[2]])
    assert job.results() == [10, 3]
    other = client.attach("some of it")
    assert other.results() == [3, 10], "in the order of their numbers"
    job.release()
    with pytest.raises(errors.ResultLost):
        other.results()


def test_who_has_attached_and_forgets_it_takes_nothing_from_others(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    job = graph.submit(name="of two")
    job.result(30)
    other = client.attach("of two")
    del other
    gc.collect()
    assert job.results() == [2]
    other = client.attach("of two")
    del job
    gc.collect()
    assert other.results() == [2], "the last one who holds it here"
    del other
    gc.collect()
    assert client.attach("of two").wait(30) == "succeeded"
    with pytest.raises(errors.ResultLost):
        for _ in range(100):
            client.attach("of two").results()


def test_who_has_only_attached_never_releases_by_forgetting(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    job = graph.submit(name="another's")
    job.result(30)
    job._results.ours = False  # As if another client had submitted it.
    del job
    gc.collect()
    for _ in range(3):
        assert client.attach("another's").results() == [2]
    client.attach("another's").release()
    with pytest.raises(errors.ResultLost):
        for _ in range(100):
            client.attach("another's").results()


def test_a_job_that_was_detached_from_goes_on_and_is_not_followed(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    job = graph.submit(name="left alone")
    assert job.ours and not job.existed
    job.detach()
    assert repr(job) == "<Job left alone: detached from>"
    with pytest.raises(errors.ResultLost, match="was detached from.*attach to it again"):
        job.result()
    with client.attach("left alone") as again:
        assert again.existed and not again.ours
        assert again.wait(30) == "succeeded"
        assert again.results() == [2]
    assert "closed" in again._repr_html_()
    again.detach()
    assert client.attach("left alone").results() == [2], "a job that was attached to is left, not released"


def test_a_name_that_this_client_has_submitted_already_stays_its_own(client):
    def submit():
        graph = client.graph()
        graph.add(functions.increment, 1)
        return graph.submit(name="twice")
    first, second = submit(), submit()
    assert second.existed and second.ours and second.number == first.number
    del first
    gc.collect()
    assert second.results() == [2]
    with second:
        pass
    assert "closed" in repr(second)
    with pytest.raises(errors.ResultLost):
        client.attach("twice").results()  # The last who had it was the one who made it.


def test_a_job_that_is_closed_is_taken_from_nobody_else_here(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    job = graph.submit(name="held twice")
    with client.attach("held twice") as other:
        assert other.results() == [2]
    with pytest.raises(errors.ResultLost, match="was closed"):
        other.results()
    gc.collect()
    assert job.results() == [2]


def test_a_failure_fails_the_job_with_its_exception(client):
    graph = client.graph()
    graph.add(functions.increment, graph.add(functions.fail, "in the graph"))
    job = graph.submit()
    with pytest.raises(ValueError, match="in the graph"):
        job.result(20)
    assert job.state == "failed" and list(job.failures()) == [0]


def test_a_job_is_cancelled(client, tmp_path):
    graph = client.graph()
    graph.add(functions.touch_then_wait, str(tmp_path / "f"))
    job = graph.submit()
    job.cancel()
    assert job.wait(20) in ("cancelled", "failed")


def test_a_wait_with_a_limit_comes_back(client, tmp_path):
    graph = client.graph()
    graph.add(functions.wait_for, str(tmp_path / "go"))
    job = graph.submit()
    assert job.wait(0.01) == "running"
    with pytest.raises(TimeoutError):
        job.result(0.01)
    (tmp_path / "go").touch()
    assert job.results(20) == [str(tmp_path / "go")]


def test_a_result_of_an_earlier_job_is_given_to_a_later_one_without_a_copy(client):
    from penstock import Job, _graph
    first = client.submit(functions.make_array, 200000)
    assert first.exception() is None
    columns = _graph.GraphColumns(client._command)
    columns.want([columns.borrow(first._batch.job, first._batch.identity, first._index)])
    with client._lock:
        number = columns.submit(client._handle).job
    job = Job(client, number, "alias", [0], 1)
    job.result(30)
    ours, views = client._fetch(number, [0])
    theirs, others = client._fetch(first._batch.job, [first._index])
    assert views[0] == others[0] and views[0][1] > 1_000_000
    del ours, theirs


def test_what_is_borrowed_from_no_job_is_refused(client):
    from penstock import ResultLost, _graph
    columns = _graph.GraphColumns(client._command)
    columns.want([columns.borrow(1 << 20, b"", 0)])
    with pytest.raises(ResultLost, match="borrows output 0 of subtask 0 of job-1048576, and there is no such job"):
        columns.submit(client._handle)


# The number alone would lend what another job has made that was given it after a state was restored.
def test_a_loan_names_the_very_job(client):
    from penstock import _graph
    first, second = (client.submit(functions.attempt, number) for number in range(2))
    assert first.exception(30) is None and second.exception(30) is None
    columns = _graph.GraphColumns(client._command)
    first._give_to(columns)
    job, subtask, output, high, low = struct.unpack("<IIIQQ", columns.payloads[-1])
    assert (job, subtask, output) == (first._batch.job, first._index, 0)
    assert first.result().id.startswith(f"{high:016x}{low:016x}-") and high | low
    other = client.graph()
    other.add(functions.increment, 1)
    other = other.submit()
    columns = _graph.GraphColumns(client._command)
    identity = client._library.identity_of(client._handle, other.number)
    assert identity != first._batch.identity
    columns.want([columns.borrow(first._batch.job, identity, first._index)])
    with pytest.raises(errors.ResultLost, match=f"of job-{first._batch.job}, which is another job now") as refused:
        columns.submit(client._handle)
    assert refused.value.code == "NotFound"


def test_labels_and_pools_reach_the_supervisor(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    with pytest.raises(PenstockError, match="it runs on 'none' or 'such' only, and no worker has such labels"):
        graph.submit(labels=["none", "such"])
    graph = client.graph()
    graph.add(functions.increment, 1)
    assert graph.submit(pool=["near", "rest"]).results() == [2]  # Without a policy there are none.
    graph = client.graph()
    graph.add(functions.increment, 1)
    with pytest.raises(TypeError, match="give a list"):
        graph.submit(labels="near")


def test_secrets_are_variables_of_the_programs(client):
    graph = client.graph()
    graph.add(os.getenv, "PENSTOCK_TEST_TOKEN")
    assert graph.submit(secrets={"PENSTOCK_TEST_TOKEN": "it's = secret"}).results() == ["it's = secret"]
    graph = client.graph()
    graph.add(os.getenv, "PENSTOCK_TEST_TOKEN")
    assert graph.submit().results() == [None], "another job has none of it"
    graph = client.graph()
    graph.add(functions.increment, 1)
    with pytest.raises(PenstockError, match="is no name of a variable"):
        graph.submit(secrets={"A-B": "hunter2"})


def test_a_job_ends_at_its_time_limit(client):
    graph = client.graph()
    graph.add(time.sleep, 60)
    job = graph.submit(name="too long", time_limit=1)
    assert job.wait(30) == "failed"
    with pytest.raises(PenstockError, match="has reached its time_limit of 1s.*raise time_limit"):
        job.results()


def test_a_job_asks_for_grace_within_what_the_site_allows(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    with pytest.raises(PenstockError, match="grace of 3600 s: is above `policy.grace_max`, which is 300 s"):
        graph.submit(grace=3600)
    graph = client.graph()
    graph.add(functions.increment, 1)
    assert graph.submit(grace=300).results() == [2]
    graph = client.graph()
    graph.add(functions.increment, 1)
    with pytest.raises(ValueError, match="grace must be at least 0, not -1"):
        graph.submit(grace=-1)


@pytest.mark.parametrize("pool, one, several", [("", None, 0), (None, None, 0), (["", "near"], "near", 0), ("near", "near", 0),
                                                (["near", "", "rest"], None, 2)])
def test_pools_without_a_name_are_none(client, monkeypatch, pool, one, several):
    told, submit = {}, client._submit_columns

    def tells(columns, **options):
        told.update(options)
        return submit(columns, **options)
    monkeypatch.setattr(client, "_submit_columns", tells)
    graph = client.graph()
    graph.add(functions.increment, 1)
    assert graph.submit(pool=pool).results() == [2]
    assert (told["pool"], told["pool_count"]) == (one, several)
