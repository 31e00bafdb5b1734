"""Dask collections whose values stay on the cluster: `compute`, `persist`, and futures in graphs."""
# tidy: foreign-file scheduler
import os
import time

import functions
import hypothesis
import hypothesis.strategies as st
import numpy
import pytest

import penstock
from penstock import Client, errors

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402


def test_a_collection_is_computed_to_a_future(client):
    future = client.compute(da.arange(100, chunks=10).sum())
    assert isinstance(future, penstock.Future) and future.result(30) == 4950
    assert client.compute(da.arange(100, chunks=10).sum(), sync=True) == 4950


def test_a_list_of_collections_is_one_job_and_shares_its_parts(client, tmp_path):
    ran = dask.delayed(functions.note_and_give)(str(tmp_path / "ran"), 5)
    one, two = client.compute([ran + 1, ran * 2])
    assert client.gather([one, two]) == [6, 10]
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_equal_collections_have_each_their_future(client):
    one = dask.delayed(functions.increment)(1)
    assert client.gather(client.compute([one, one, client.persist(one)])) == [2, 2, 2]


def test_a_computed_array_is_whole(client):
    array = da.arange(1000, chunks=100).reshape(20, 50)[::2]
    assert numpy.array_equal(client.compute(array).result(30), array.compute(scheduler="sync"))
    assert client.compute(db.from_sequence(range(7), npartitions=3).map(functions.increment)).result(30) == list(range(1, 8))


def test_what_is_persisted_is_computed_once_and_stays_there(client, tmp_path):
    kept = client.persist(dask.delayed(functions.note_and_give)(str(tmp_path / "ran"), 5))
    assert client.compute(kept + 1).result(30) == 6
    assert kept.compute(scheduler=client) == 5
    assert client.compute([kept, kept * 2], sync=True) == [5, 10]
    assert (tmp_path / "ran").read_text() == "ran\n"


def test_a_persisted_collection_is_one_of_its_kind(client):
    array = da.arange(60, chunks=10)
    kept, others = client.persist([array + 1, db.from_sequence(range(6), npartitions=2)])
    assert isinstance(kept, da.Array) and kept.chunks == array.chunks
    assert client.compute(kept.sum()).result(30) == sum(range(1, 61))
    assert client.compute(others.sum(), sync=True) == 15
    again = client.persist(kept * 2)
    assert client.compute(again.max(), sync=True) == 120


def test_what_is_not_there_yet_is_waited_for_without_blocking(client, tmp_path):
    go = tmp_path / "go"
    kept = client.persist(dask.delayed(functions.wait_for)(str(go)))
    future = client.compute(dask.delayed(len)(kept))
    further = client.persist(dask.delayed(functions.increment)(dask.delayed(len)(kept)))
    assert not future.done()
    go.touch()
    assert future.result(30) == len(str(go)) and client.compute(further, sync=True) == len(str(go)) + 1


def test_a_failure_within_the_graph_is_that_of_its_future_alone(client):
    bad = dask.delayed(functions.increment)(dask.delayed(functions.increment)(dask.delayed(functions.fail)("no")))
    good, failed = client.compute([dask.delayed(functions.increment)(1), bad])
    with pytest.raises(ValueError, match="no"):
        failed.result(30)
    assert good.result(30) == 2
    with pytest.raises(ValueError, match="no"):
        client.compute(client.persist(bad)).result(30)


def test_a_cancel_ends_what_only_leads_there(client, tmp_path):
    began = tmp_path / "began"
    slow = dask.delayed(functions.touch_then_wait)(str(began))
    future = client.compute(dask.delayed(functions.increment)(slow))
    deadline = time.monotonic() + 30
    while not began.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert future.cancel()
    while not os.path.exists(str(began) + ".interrupted") and time.monotonic() < deadline:
        time.sleep(0.01)
    assert os.path.exists(str(began) + ".interrupted")


def test_it_is_run_once_more_by_retry(client, tmp_path):
    future = client.compute(dask.delayed(functions.increment)(
        dask.delayed(len)(dask.delayed(functions.fail_once)(str(tmp_path / "tried")))))
    with pytest.raises(RuntimeError, match="the first time"):
        future.result(30)
    future.retry()
    assert future.result(30) == len("the second time") + 1


def test_options_are_those_of_get(client):
    assert client.compute(da.arange(10, chunks=5).sum(), priority=5, retries=1, sync=True) == 45
    with pytest.raises(TypeError, match="no option 'fifo'.*priority, retries, resources, workers"):
        client.compute(da.arange(10, chunks=5), fifo=1)
    with pytest.raises(TypeError, match="5 is no Dask collection"):
        client.compute(5)
    with pytest.raises(TypeError, match="5 is no Dask collection"):
        client.persist([da.arange(3), 5])


def test_a_closed_client_computes_nothing():
    other = Client(slots=1, warm=False)
    other.close()
    with pytest.raises(errors.ClientClosed):
        other.compute(da.arange(3))


@hypothesis.settings(max_examples=25)
@hypothesis.given(st.lists(st.integers(-50, 50), min_size=1, max_size=30), st.integers(1, 5), st.integers(0, 3))
def test_persisting_in_between_changes_nothing(client, numbers, parts, times):
    bag = db.from_sequence(numbers, npartitions=parts).map(functions.increment)
    for _ in range(times):
        bag = client.persist(bag).map(functions.increment)
    assert client.compute(bag, sync=True) == [number + 1 + times for number in numbers]
    assert client.compute(bag.sum(), sync=True) == sum(numbers) + (1 + times) * len(numbers)
