"""What Dask's own schedulers do beside computing: callbacks, warnings, locks, the default shuffle."""
# tidy: foreign-file scheduler, shuffle, tasks
import multiprocessing
import threading
import warnings

import functions
import pytest

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
import dask.array as da  # noqa: E402
import dask.bag as db  # noqa: E402
from dask.callbacks import Callback  # noqa: E402
from dask.diagnostics import CacheProfiler, Profiler, ProgressBar  # noqa: E402

import penstock.dask  # noqa: E402
from penstock import PenstockError  # noqa: E402
from penstock import distributed  # noqa: E402


def computed(client, collection):
    return collection.compute(scheduler=penstock.dask.get, client=client)


# ---- callbacks ----

def test_a_progress_bar_is_shown(client, capsys):
    with ProgressBar(dt=0.01):
        assert computed(client, da.ones(10, chunks=2).sum()) == 10
    assert "100% Completed" in capsys.readouterr().out


def test_a_profiler_sees_each_key_in_order(client):
    graph = {"a": 1, "b": (functions.increment, "a"), "c": (functions.increment, "b")}
    with Profiler() as profiler, CacheProfiler() as cached:
        assert client.get(graph, "c") == 3
    seen = {one.key: one for one in profiler.results}
    assert {"b", "c"} <= set(seen)
    assert seen["b"].start_time <= seen["b"].end_time <= seen["c"].start_time + 1e-3
    assert {"b", "c"} <= {one.key for one in cached.results}


class Notes(Callback):
    def __init__(self):
        self.seen, self.values = [], {}

    def _start(self, dsk):
        self.seen.append("start")

    def _start_state(self, dsk, state):
        self.seen.append("state")

    def _pretask(self, key, dsk, state):
        assert key in dsk and key in state["running"]
        self.seen.append(("before", key))

    def _posttask(self, key, value, dsk, state, worker_id):
        assert key in state["finished"]
        self.seen.append(("after", key))
        self.values[key] = value

    def _finish(self, dsk, state, errored):
        self.seen.append(("finish", errored))


def test_a_users_callback_is_given_values(client):
    with Notes() as notes:
        assert client.get({"b": (functions.increment, 1), "c": (functions.increment, "b")}, "c") == 3
    assert notes.values == {"b": 2, "c": 3}
    assert notes.seen == ["start", "state", ("before", "b"), ("after", "b"), ("before", "c"), ("after", "c"),
                          ("finish", False)]


def test_a_callback_is_told_of_a_failure(client):
    with Notes() as notes, pytest.raises(ValueError, match="no"):
        client.get({"b": (functions.fail, "no")}, "b")
    assert notes.seen[-1] == ("finish", True)


# ---- warnings ----

def warn_and_give(value, category=UserWarning):
    warnings.warn(f"careful with {value}", category)
    return value


def seen_warnings(function):
    with warnings.catch_warnings(record=True) as seen:
        warnings.simplefilter("always")
        function()
    return [(str(one.message), one.category) for one in seen]


def test_warnings_arrive_each_time(client):
    for _ in range(3):
        assert seen_warnings(lambda: computed(client, dask.delayed(warn_and_give)(1, RuntimeWarning))) == [
            ("careful with 1", RuntimeWarning)]


def test_warnings_of_what_was_read_arrive_once(client):
    one = dask.delayed(warn_and_give)(7)
    both = dask.delayed(functions.collect)(dask.delayed(functions.increment)(one),
                                           dask.delayed(functions.increment)(one))
    with dask.config.set({"optimization.fuse.active": False}):
        assert seen_warnings(lambda: computed(client, both)) == [("careful with 7", UserWarning)]


def test_a_warning_that_is_an_error_is_raised(client):
    with warnings.catch_warnings(), pytest.raises(UserWarning, match="careful with 3"):
        warnings.simplefilter("error")
        client.submit(warn_and_give, 3).result(30)


def test_a_call_without_warnings_gives_none(client):
    client.submit(warn_and_give, 1).result(30)
    assert seen_warnings(lambda: client.submit(functions.increment, 1).result(30)) == []


# ---- locks ----

def note_alone(lock, path, number):
    """Fails if another one is inside."""
    import os
    import time
    with lock:
        os.mkdir(path)
        time.sleep(0.002)
        os.rmdir(path)
    return number


@pytest.mark.parametrize("make", [threading.Lock, threading.RLock, dask.utils.SerializableLock])
def test_a_lock_of_any_kind_holds_among_runners(client, tmp_path, make):
    lock = make()
    calls = [dask.delayed(note_alone)(lock, str(tmp_path / "inside"), number) for number in range(20)]
    assert client.compute(calls, sync=True) == list(range(20))


def take_twice(lock):
    with lock, lock:
        return "twice"


def test_one_that_may_be_taken_again_may(client):
    assert computed(client, dask.delayed(take_twice)(threading.RLock())) == "twice"


def test_a_lock_that_cannot_go_is_named(client):
    with pytest.raises(PenstockError, match="cannot be pickled: Lock objects"):
        computed(client, dask.delayed(note_alone)(multiprocessing.Lock(), "x", 1))


# ---- shuffles ----

def test_only_ours_shuffles_by_tasks_by_default(client):
    name = "dataframe.shuffle.method"
    assert dask.config.get(name, None) is None and dask.config.get("shuffle", None) is None
    for ours in (penstock.dask.get, client, client.get):
        with dask.config.set(scheduler=ours):
            assert dask.config.get(name, None) == "tasks"
    with dask.config.set(scheduler="threads"):
        assert dask.config.get(name, None) is None
    with dask.config.set({"scheduler": penstock.dask.get, name: "disk"}):
        assert dask.config.get(name, None) == "disk"


def test_a_group_of_a_bag_is_shuffled_by_tasks(client):
    numbers = db.from_sequence(range(6), npartitions=3)
    with dask.config.set(scheduler=client):
        found = dict(numbers.groupby(lambda x: x % 2).compute())
    assert {key: sorted(value) for key, value in found.items()} == {0: [0, 2, 4], 1: [1, 3, 5]}
    assert dict(numbers.groupby(lambda x: x % 2).compute(scheduler="sync")).keys() == {0, 1}


def test_a_client_of_distributed_shuffles_by_tasks():
    with distributed.Client(n_workers=1):
        assert dask.config.get("dataframe.shuffle.method", None) == "tasks"
