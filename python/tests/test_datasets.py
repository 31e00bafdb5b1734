"""Datasets that are published by name."""
import contextlib

import numpy as np
import pytest
from test_cluster import cluster, until  # noqa: F401

import penstock
from penstock import Client, errors, worker_client


def array(size):
    return np.arange(size)


def total(value):
    return int(value.sum())


def publish_within(name):
    with worker_client() as client:
        client.publish_dataset(client.submit(array, 100), name=name)


@pytest.fixture
def client():
    with Client(slots=2) as client:
        yield client


def test_another_client_has_it_after_the_first_is_closed(cluster):  # noqa: F811
    with Client(cluster.address) as first:
        parts = {"left": first.submit(array, 100_000), "right": [first.submit(array, 10)], "why": "test"}
        first.publish_dataset(parts, name="numbers")
    with Client(cluster.address) as second:
        assert second.list_datasets() == ["numbers"]
        parts = second.get_dataset("numbers")
        assert parts["why"] == "test" and second.submit(total, parts["left"]).result(60) == sum(range(100_000))
        assert parts["right"][0].result(60).tolist() == list(range(10))


def test_a_restart_of_the_supervisor_loses_no_dataset(cluster):  # noqa: F811
    with Client(cluster.address) as first:
        first.publish_dataset(kept=first.submit(array, 100_000))
        cluster.restart_supervisor()
    with Client(cluster.address) as second:
        assert second.submit(total, second.get_dataset("kept")).result(60) == sum(range(100_000))
        second.unpublish_dataset("kept")
        with pytest.raises(KeyError, match="no dataset 'kept' is published"):
            second.get_dataset("kept")


def test_a_value_goes_when_it_is_published_no_more_and_nobody_has_a_future_of_it(client):
    client.publish_dataset(array=client.submit(array, 100_000))
    assert client.submit(total, client.get_dataset("array")).result(60) == sum(range(100_000))
    until(lambda: sum(row["bytes"] for row in client.memory()) >= 800_000)
    had = client.get_dataset("array")
    client.unpublish_dataset("array")
    assert total(had.result(60)) == sum(range(100_000))
    del had
    until(lambda: sum(row["bytes"] for row in client.memory()) < 800_000)


def test_a_name_is_taken_until_it_is_given_back(client):
    client.publish_dataset(one=1)
    with pytest.raises(errors.DatasetExists, match="one: is published already"):
        client.publish_dataset(2, name="one")
    client.publish_dataset(3, name="one", override=True)
    assert client.get_dataset("one") == 3
    client.unpublish_dataset("one")
    with pytest.raises(KeyError):
        client.unpublish_dataset("one")
    client.publish_dataset(4, name="one")
    assert client.get_dataset("one") == 4


def test_the_failure_of_a_future_is_that_of_the_publication(client):
    with pytest.raises(ZeroDivisionError):
        client.publish_dataset(bad=client.submit(lambda: 1 // 0))
    assert client.list_datasets() == []


def test_large_objects_and_one_of_several_outputs_are_published(client):
    low, high = client.submit(lambda: (array(10), array(20)), outputs=2)
    client.publish_dataset([low, high, array(100_000)], name="all")
    low, high, here = client.get_dataset("all")
    assert (len(low.result(60)), len(high.result(60)), len(here)) == (10, 20, 100_000)


def test_a_call_publishes_what_outlives_it(client):
    client.submit(publish_within, "inner").result(60)
    assert client.submit(total, client.get_dataset("inner")).result(60) == sum(range(100))


def kept(client):
    return [row["name"] for row in client.ask("jobs", "--all", "--name=dataset *")
            if client.ask("job", row["id"]).get("kept")]


# A publisher that died before its dataset had its name left its values on the cluster for ever.
def test_what_a_dead_publisher_has_left_goes_with_the_next_one(client, monkeypatch):
    with monkeypatch.context() as patch:
        patch.setattr(penstock.Variable, "set", lambda *_: 1 // 0)
        with pytest.raises(ZeroDivisionError):
            client.publish_dataset(hot=client.submit(array, 10))
    assert len(kept(client)) == 1 and client.list_datasets() == []
    client.publish_dataset({"hot": client.submit(array, 20)}, name="hot")
    assert len(kept(client)) == 1 and len(client.get_dataset("hot")["hot"].result(60)) == 20
    client.unpublish_dataset("hot")
    assert kept(client) == []


def test_a_small_object_needs_no_worker(client):
    client.publish_dataset({"k": 1}, name="object")
    assert client.get_dataset("object") == {"k": 1} and kept(client) == []


def test_all_names_are_listed_and_few_are_shown(client):
    for number in range(1010):
        penstock.Variable(f"dataset {number}", client).set({"job": 0, "identity": b"", "numbers": [], "shape": b""})
    assert len(client.list_datasets()) == 1010
    with pytest.raises(KeyError, match="and 1000 more"):
        client.get_dataset("nope")


def test_a_variable_that_is_no_dataset_says_so(client):
    penstock.Variable("dataset odd", client).set(5)
    with pytest.raises(errors.PenstockError, match="was set to something else"):
        client.get_dataset("odd")
    client.publish_dataset(1, name="odd", override=True)
    assert client.get_dataset("odd") == 1
    penstock.Variable("dataset odd", client).set(5)
    client.unpublish_dataset("odd")
    assert client.list_datasets() == []


@pytest.mark.parametrize("name", ["n" * 201, "a\0b", "\ud800", "line\nbreak"])
def test_bad_names_are_refused_by_their_limits(client, name):
    with pytest.raises(ValueError, match="200 bytes at most"):
        client.publish_dataset(1, name=name)


def test_values_go_when_their_client_is_closed(cluster):  # noqa: F811
    with Client(cluster.address) as watcher:
        with Client(cluster.address) as client:
            assert len(client.submit(array, 1_000_000).result(60)) == 1_000_000
            held = client.submit(array, 1_000_000)
            assert held.exception(60) is None
        until(lambda: sum(row["bytes"] for row in watcher.memory()) == 0)


def test_a_name_is_needed(client):
    with pytest.raises(TypeError, match="a dataset needs a name"):
        client.publish_dataset(client.submit(array, 10))
    with contextlib.suppress(KeyError):
        client.get_dataset("unknown")
        raise AssertionError("an unknown dataset was found")


def test_dask_collections_are_published(client):
    da = pytest.importorskip("dask.array")
    client.publish_dataset(matrix=client.persist(da.ones((1000, 100), chunks=(100, 100))))
    assert float(client.get_dataset("matrix").sum().compute(scheduler=client.get)) == 100_000
