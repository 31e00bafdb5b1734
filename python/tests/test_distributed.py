"""`penstock.distributed`: the interface of dask.distributed, synchronous."""
# tidy: foreign-file scheduler, task, tasks, Scheduler
import os
import pathlib
import subprocess
import sys
import threading

import functions
import pytest

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
import dask.bag as db  # noqa: E402

import penstock  # noqa: E402
from penstock import distributed  # noqa: E402
from penstock.distributed import Client, LocalCluster, as_completed, futures_of, wait  # noqa: E402
from penstock.errors import PenstockError  # noqa: E402
from test_cluster import BINARY  # noqa: E402


@pytest.fixture(scope="module")
def client():
    with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as shared:
        yield shared


# ---- calls ----

def test_equal_calls_of_a_pure_function_run_once(client, tmp_path):
    one = client.submit(functions.note, str(tmp_path / "ran"), "once")
    two = client.submit(functions.note, str(tmp_path / "ran"), "once")
    assert one.key == two.key and one.result(30) == two.result(30) == "once"
    assert (tmp_path / "ran").read_text() == "once\n"
    apart = [client.submit(functions.note, str(tmp_path / "ran"), "once", pure=False) for _ in range(2)]
    client.gather(apart)
    assert (tmp_path / "ran").read_text() == "once\n" * 3 and apart[0].key != apart[1].key


def test_what_was_released_by_all_runs_anew(client, tmp_path):
    one = client.submit(functions.note, str(tmp_path / "ran"), "x")
    two = client.submit(functions.note, str(tmp_path / "ran"), "x")
    one.result(30)
    one.release()
    assert two.result(30) == "x"
    two.release()
    assert two.status == "lost"
    assert client.submit(functions.note, str(tmp_path / "ran"), "x").result(30) == "x"
    assert (tmp_path / "ran").read_text() == "x\nx\n"


def test_keys_name_futures(client):
    named = client.submit(functions.increment, 1, key="mine")
    assert named.key == "mine" and client.submit(functions.increment, 100, key="mine").result(30) == 2
    assert client.submit(functions.increment, 5, key=("x", 1)).key == ("x", 1)
    assert [f.key for f in client.map(functions.increment, [1, 2], key=["a", "b"])] == ["a", "b"]
    assert all(f.key.startswith("begin-") for f in client.map(functions.increment, [1, 2], key="begin"))
    assert client.submit(functions.increment, 1).key.startswith("increment-")


def test_options_of_penstock_are_arguments_here(client):
    assert client.submit(functions.keywords, memory=5, files="x", slots=2).result(30) == {"memory": 5, "files": "x",
                                                                                          "slots": 2}


def test_futures_are_arguments_however_deep(client):
    one = client.submit(functions.increment, 1)
    assert client.submit(functions.collect, [one, {"x": one}], y=one).result(30) == [[[2, {"x": 2}]], {"y": 2}]
    assert client.submit(functions.increment, one).key == client.submit(functions.increment, one).key


def test_gather_keeps_shapes_and_what_is_no_future(client):
    one, bad = client.submit(functions.increment, 1), client.submit(functions.fail, "no")
    assert client.gather({"a": one, "b": [one, 5], "c": (one,)}) == {"a": 2, "b": [2, 5], "c": (2,)}
    assert client.gather([one, bad, one], errors="skip") == [2, 2]
    with pytest.raises(ValueError, match="no"):
        client.gather([one, bad])
    with pytest.raises(ValueError, match="'raise' or 'skip'"):
        client.gather([one], errors="nothing")


def test_scatter_keeps_shapes(client):
    assert client.gather(client.scatter([1, 2])) == [1, 2]
    assert client.gather(client.scatter({"a": 1})) == {"a": 1}
    assert client.gather(client.scatter((1, 2), broadcast=True)) == (1, 2)
    one = client.scatter("text")
    assert one.result() == "text" and client.scatter("text").key == one.key
    assert client.submit(len, one).result(30) == 4


def test_a_failure_has_its_exception_and_traceback(client):
    bad = client.submit(functions.fail, "boom")
    with pytest.raises(ValueError, match="boom"):
        bad.result(30)
    assert bad.status == "error" and isinstance(bad.exception(), ValueError) and bad.traceback() is not None
    assert "functions.py" in str(bad.exception().__cause__)


def test_cancel_gives_up_values_as_well(client, tmp_path):
    done, slow = client.submit(functions.increment, 1), client.submit(functions.touch_then_wait, str(tmp_path / "x"))
    done.result(30)
    client.cancel([done, slow])
    for future in (done, slow):
        assert future.cancelled() and future.status == "cancelled" and future.done()
        with pytest.raises(distributed.CancelledError):
            future.result(5)
    with pytest.raises(distributed.CancelledError):
        wait([done])


def test_retry_runs_once_more(client, tmp_path):
    future = client.submit(functions.fail_once, str(tmp_path / "x"))
    assert isinstance(future.exception(30), RuntimeError)
    client.retry([future])
    assert future.result(30) == "the second time"
    assert client.submit(functions.fail_once, str(tmp_path / "y"), retries=1).result(30) == "the second time"


def test_callbacks_are_called(client):
    seen, told = [], threading.Event()
    client.submit(functions.increment, 1).add_done_callback(lambda future: (seen.append(future.result()), told.set()))
    assert told.wait(30) and seen == [2]


def test_wait_and_as_completed(client):
    futures = client.map(functions.increment, range(5))
    done, left = wait(futures)
    assert done == set(futures) and not left
    assert sorted(value for _, value in as_completed(futures, with_results=True)) == [1, 2, 3, 4, 5]
    more = as_completed(futures[:1])
    more.add(futures[1])
    more.update(futures[2:])
    assert sorted(f.result() for batch in more.batches() for f in batch) == [1, 2, 3, 4, 5]
    with pytest.raises(ValueError, match="no"):
        list(as_completed([client.submit(functions.fail, "no")], with_results=True))
    (_, (kind, error, _)), = as_completed([client.submit(functions.fail, "no")], with_results=True, raise_errors=False)
    assert kind is ValueError and str(error) == "no"


def test_a_wait_that_is_too_long(client, tmp_path):
    slow = client.submit(functions.wait_for, str(tmp_path / "go"))
    with pytest.raises(distributed.TimeoutError):
        wait(slow, timeout=0.05)
    with pytest.raises(distributed.TimeoutError):
        slow.result(timeout="50ms")
    (tmp_path / "go").touch()
    assert wait([slow], timeout="30s").done == {slow}
    with pytest.raises(TypeError, match="timeout="):
        wait(slow, [slow])


def test_fire_and_forget_runs(client, tmp_path):
    distributed.fire_and_forget(client.submit(functions.touch, str(tmp_path / "x"), pure=False))
    functions.until((tmp_path / "x").exists)


def test_wrong_arguments_are_refused(client):
    with pytest.raises(TypeError, match="callable"):
        client.submit(1)
    with pytest.raises(TypeError, match="Iterators or Queues"):
        client.map(functions.increment, iter([1]))
    with pytest.raises(ValueError, match="allow_other_workers"):
        client.submit(functions.increment, 1, allow_other_workers=True)
    with pytest.raises(TypeError, match="made of a class"):
        client.submit(functions.increment, actor=True)
    with pytest.raises(PenstockError, match="worker 'nowhere'"):
        client.submit(functions.increment, 1, workers=["nowhere"])


# ---- collections ----

def test_collections_are_computed_and_persisted(client):
    one, two = dask.delayed(functions.increment)(1), dask.delayed(functions.increment)(2)
    assert client.compute(one).result(30) == 2 and client.compute([one, two], sync=True) == [2, 3]
    assert client.gather(client.compute([one, 7])) == [2, 7]
    assert client.compute({"a": one, "b": 5}).result(30) == {"a": 2, "b": 5}
    assert client.compute(7) == 7
    kept = client.persist(db.from_sequence(range(4), npartitions=2).map(functions.increment))
    assert len(futures_of(kept)) == 2 and client.compute(kept.sum()).result(30) == 10
    assert wait(kept).done == set(futures_of(kept))


def test_a_graph_gives_lists_and_futures(client):
    graph = {"x": (functions.increment, 1), "y": (functions.increment, "x")}
    assert client.get(graph, "y") == 3 and client.get(graph, ["x", ["y"]]) == [2, [3]]
    future = client.get(graph, "y", sync=False)
    assert future.key == "y" and future.result(30) == 3


def test_it_is_dasks_scheduler_until_it_is_closed(tmp_path):
    before = dask.config.get("scheduler", None)
    pids = dask.delayed(functions.pid)(1)
    with Client(n_workers=1) as client:
        assert distributed.default_client() is client and distributed.get_client() is client
        assert pids.compute() != os.getpid()
        kept = dask.delayed(functions.note_and_give)(str(tmp_path / "ran"), 5).persist()
        assert futures_of(kept) and kept.compute() == 5 and (kept + 1).compute(scheduler=client) == 6
        assert (tmp_path / "ran").read_text() == "ran\n"
    assert dask.config.get("scheduler", None) == before
    with pytest.raises(ValueError, match="No clients found"):
        distributed.default_client()


# ---- workers ----

def remember(word=None):
    worker = distributed.get_worker()
    if word is not None:
        worker.words = getattr(worker, "words", []) + [word]
        with open(os.path.join(worker.local_directory, "file"), "w") as file:
            file.write(word)
    return worker.address, worker.name, worker.nthreads, getattr(worker, "words", None), worker.local_directory


def test_a_call_knows_its_worker():
    with Client(n_workers=1, threads_per_worker=1, set_as_default=False) as client:
        (address, told), = client.scheduler_info()["workers"].items()
        assert client.submit(remember, "a").result(30)[:4] == (address, told["name"], 1, ["a"])
        *_, words, place = client.submit(remember, "b").result(30)
        assert words == ["a", "b"] and os.path.exists(place)
        assert client.nthreads() == client.ncores() == {address: 1}
    functions.until(lambda: not os.path.exists(place))
    with pytest.raises(ValueError, match="no call runs"):
        distributed.get_worker()


def test_who_has_what(client):
    one = client.submit(functions.increment, 41)
    one.result(30)
    address, = client.scheduler_info()["workers"]
    assert client.who_has([one]) == {one.key: (address,)} and one.key in client.has_what()[address]
    assert client.who_has(client.scatter(5)) != {}


def with_worker(x, dask_worker):
    return x, dask_worker.address


def test_run_runs_on_each_worker(client):
    address, = client.nthreads()
    assert client.run(functions.increment, 1) == {address: 2}
    assert client.run(with_worker, 1, workers=[address]) == {address: (1, address)}
    with pytest.raises(ValueError, match="no"):
        client.run(functions.fail, "no")
    assert isinstance(client.run(functions.fail, "no", on_error="return")[address], ValueError)
    assert client.run(functions.fail, "no", on_error="ignore") == {}
    assert client.run_on_scheduler(os.getpid) == os.getpid()


def nested(n):
    client = distributed.get_client()
    assert isinstance(client, Client)
    return sum(client.gather(client.map(functions.increment, range(n))))


def nested_with_worker_client(n):
    with distributed.worker_client() as client:
        return client.submit(functions.increment, n).result()


def test_a_call_submits_calls(client):
    assert client.submit(nested, 4).result(60) == 10
    assert client.submit(nested_with_worker_client, 4).result(60) == 5


async def nested_later(n):
    client = distributed.get_client()
    return sum(await client.gather([client.submit(functions.increment, i) for i in range(n)]))


def test_a_coroutine_on_a_worker_awaits(client):
    assert client.submit(nested_later, 3).result(60) == 6


class Plugin(distributed.WorkerPlugin):
    def __init__(self, path):
        self.path = path

    def setup(self, worker):
        worker.from_plugin = "here"

    def teardown(self, worker):
        open(self.path, "w").close()


def from_plugin():
    return distributed.get_worker().from_plugin


class Broken:
    def setup(self, worker):
        raise RuntimeError("this plugin is broken")


def test_plugins_are_set_up_in_each_process(tmp_path):
    with Client(n_workers=2, threads_per_worker=1, set_as_default=False) as client:
        client.register_plugin(Plugin(str(tmp_path / "torn")), name="p")
        assert client.gather([client.submit(from_plugin, pure=False) for _ in range(4)]) == ["here"] * 4
        client.register_plugin(distributed.Environ({"MINE": "5"}))
        assert client.submit(functions.variable, "MINE").result(30) == "5"
        with pytest.raises(RuntimeError, match="this plugin is broken"):
            client.register_plugin(Broken(), name="broken")
        with pytest.raises(ValueError, match="does not exist"):
            client.unregister_worker_plugin("broken")
        assert client.submit(from_plugin).result(30) == "here"
    functions.until((tmp_path / "torn").exists)


def test_a_file_is_uploaded(tmp_path):
    (tmp_path / "module_of_today.py").write_text("def f():\n    return 123\n")
    with Client(n_workers=1, set_as_default=False) as client:
        client.upload_file(str(tmp_path / "module_of_today.py"))
        assert client.submit(functions.call_module, "module_of_today", "f").result(30) == 123


# ---- clusters ----

def test_a_local_cluster_has_its_client():
    with LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0") as cluster:
        with Client(cluster) as client:
            client.wait_for_workers(2, timeout=30)
            assert client.cluster is cluster and client.dashboard_link is None
            assert sum(worker["nthreads"] for worker in cluster.workers.values()) == 2
            with pytest.raises(PenstockError, match="has its client"):
                Client(cluster)
            with pytest.raises(PenstockError, match="keeps the workers"):
                cluster.scale(5)
    assert cluster.status == "closed"


def test_a_cluster_of_processes():
    if not BINARY.exists():
        pytest.skip(f"{BINARY} is not built")
    with LocalCluster(n_workers=2, threads_per_worker=1, program=str(BINARY)) as cluster, Client(cluster) as client:
        client.wait_for_workers(2, timeout=30)
        one, two = client.nthreads()
        assert client.run(functions.increment, 1) == {one: 2, two: 2}
        here = client.submit(functions.increment, 1, workers=[one])
        assert here.result(30) == 2 and client.who_has(here) == {here.key: (one,)}
        assert {client.submit(remember, workers=address, pure=False).result(30)[0] for address in (one, two)} == {one,
                                                                                                                  two}
        with Client(cluster.scheduler_address, set_as_default=False) as other:
            assert other.submit(functions.increment, 2).result(30) == 3
            with pytest.raises(PenstockError, match="work of other clients"):
                other.restart()


def test_restart_begins_anew():
    with Client(n_workers=1, set_as_default=False) as client:
        one = client.submit(functions.increment, 1)
        one.result(30)
        client.restart()
        assert one.cancelled() and client.submit(functions.increment, 1).result(30) == 2
        del one
        assert client.submit(functions.increment, 2).result(30) == 3


def test_what_an_embedded_cluster_is_asked_for():
    with pytest.raises(TypeError, match="'nonsense'"):
        Client(nonsense=1)
    with pytest.raises(PenstockError, match="n_workers=0"):
        Client(n_workers=0)
    with pytest.raises(PenstockError, match="resources="):
        Client(n_workers=1, resources={"GPU": 1})
    with pytest.raises(PenstockError, match="reached by tls"):
        Client("tls://127.0.0.1:1")
    with pytest.raises(ValueError, match="Unexpected keyword"):
        Client("tcp://127.0.0.1:1", n_workers=2)


def test_versions_are_compared(client):
    told = client.get_versions(check=True)
    assert told["client"]["packages"]["dask"] == dask.__version__ and len(told["workers"]) == 1


# ---- the rest ----

@pytest.mark.parametrize("name", ["Nanny",
                                  "get_task_stream"])
def test_what_is_not_offered_says_so(name):
    with pytest.raises(PenstockError, match=f"penstock.distributed.{name}: is not offered"):
        getattr(distributed, name)("name")


def documented_as_refused():
    """The names of methods in the table of what is refused."""
    text = (pathlib.Path(__file__).resolve().parents[2] / "docs/engines/dask-distributed.md").read_text()
    rows = text.partition("## What is refused")[2].partition("## What differs")[0].splitlines()
    return {name for row in rows if row.startswith("| `") for name in row.split("|")[1].split("`")[1::2]
            if name.islower() and name.isidentifier()}


def test_each_method_that_the_page_calls_refused_names_a_way_out(client):
    names = documented_as_refused()
    assert {"story", "replicate", "get_task_metadata"} <= names
    for name in names - {"restart", "restart_workers"}:  # These say so when they are called.
        with pytest.raises(AttributeError, match=f"has no '{name}': .+"):
            getattr(client, name)



def note_alone(lock, path):
    with lock:
        os.mkdir(path)
        held = lock.locked()
        os.rmdir(path)
    return held


def test_a_lock_holds_among_calls(client, tmp_path):
    lock = distributed.Lock("mine")
    with lock:
        assert distributed.Lock("mine").locked() and not distributed.Lock("other").locked()
        assert not distributed.Lock("mine").acquire(timeout=0.01)
        futures = [client.submit(note_alone, distributed.Lock("mine"), str(tmp_path / "inside"),
                                 pure=False) for _ in range(8)]
        with pytest.raises(distributed.TimeoutError):
            wait(futures, timeout=0.1, return_when="FIRST_COMPLETED")
    assert client.gather(futures) == [True] * 8
    with pytest.raises(RuntimeError, match="unlocked"):
        lock.release()
    with distributed.MultiLock(["b", "a"]):
        assert distributed.Lock("a").locked() and distributed.Lock("b").locked()
    assert not distributed.Lock("a").locked() and not distributed.Lock("b").locked()


def test_methods_that_are_not_there_name_what_is(client):
    with pytest.raises(AttributeError, match="copied to where they are read"):
        client.replicate
    assert not hasattr(client, "replicate")


def test_a_report_is_written(client, tmp_path):
    with client.as_current(), distributed.performance_report(str(tmp_path / "report.html")):
        futures = client.map(functions.increment, range(3), pure=False)
        assert sum(client.gather(futures)) == 6
    text = (tmp_path / "report.html").read_text()
    assert "Jobs that were begun" in text and "job-" in text and "test_distributed.py" in text


def test_progress_waits(client, capsys):
    futures = client.map(functions.increment, range(3))
    distributed.progress(futures)
    assert all(future.done() for future in futures)


ALIASED = """
import penstock.distributed
penstock.distributed.install()
import distributed, dask.distributed
from dask.distributed import Client, get_worker, Lock, wait
from distributed.comm import get_address_host
import distributed.client, distributed.worker
assert distributed.Client is penstock.distributed.Client is Client is distributed.client.Client
try:
    import distributed.shuffle
except ModuleNotFoundError as error:
    assert "stands in for distributed" in str(error)
def where():
    import distributed
    return distributed.get_worker().nthreads, distributed.Client.__module__
if __name__ == "__main__":
    with Client(n_workers=2, threads_per_worker=1) as client:
        print(client.submit(where).result(30))
"""


def test_an_import_of_distributed_finds_it(tmp_path):
    (tmp_path / "program.py").write_text(ALIASED)
    path = os.pathsep.join([os.path.dirname(os.path.dirname(penstock.__file__)), *sys.path])
    said = subprocess.run([sys.executable, str(tmp_path / "program.py")], env={**os.environ, "PYTHONPATH": path},
                          text=True,
                          capture_output=True, timeout=120)
    assert said.returncode == 0, said.stderr
    assert said.stdout.strip() == "(2, 'penstock.distributed._client')"


def test_it_is_not_installed_beside_the_real_one(monkeypatch):
    monkeypatch.setitem(sys.modules, "distributed", sys)
    with pytest.raises(PenstockError, match="imported already"):
        distributed.install()


def test_what_calls_share_is_that_of_penstock(client):
    from penstock.distributed import Event, Queue, Semaphore, Variable
    best, done = Variable("best", client=client), Event("done", client=client)
    client.submit(lambda: (Variable("best").set(7), Event("done").set())).result(60)
    assert done.wait(10) and best.get(10) == 7
    queue = Queue("work", client=client, maxsize=3)
    queue.put(1)
    assert queue.get(10) == 1
    with Semaphore(2, "pair", client=client) as held:
        assert held.name == "pair"


def test_datasets_are_published(client):
    with pytest.raises(ValueError, match="name="):
        client.publish_dataset(1)
    client.datasets["one"] = client.submit(lambda: 7)
    with pytest.raises(KeyError, match="already exists"):
        client.publish_dataset(one=1)
    assert client.list_datasets() == ("one",) and "one" in client.datasets and len(client.datasets) == 1
    assert client.datasets["one"].result(timeout=60) == 7
    assert client.get_dataset("other", default=None) is None
    with pytest.raises(KeyError, match="not found"):
        client.get_dataset("other")
    del client.datasets["one"]
    assert list(client.datasets) == []
