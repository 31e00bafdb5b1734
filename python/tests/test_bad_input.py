"""What goes wrong is said precisely, and the cluster goes on."""
import contextlib
import subprocess
import sys
import threading
import time

import functions
import penstock
import pytest
from penstock import (Client, ConnectionFailed, MissingModule, NotSerializable, Options, OutOfMemory, ResultLost, TimedOut,
                      _abi, errors)


@pytest.fixture(autouse=True)
def the_cluster_goes_on(client):
    yield
    assert client.submit(functions.increment, 1).result(30) == 2


def test_a_function_that_cannot_be_pickled(client):
    lock = threading.Lock()
    with pytest.raises(NotSerializable, match="function .*lambda.*cannot be pickled.*lock"):
        client.submit(lambda: lock)


def test_an_argument_that_cannot_be_pickled(client):
    with pytest.raises(NotSerializable, match="an argument of add"):
        client.submit(functions.add, threading.Lock(), 1)


@pytest.mark.parametrize("how", ["submit", "graph", "dask"])
def test_an_argument_that_cannot_be_read_where_it_has_come(client, how):
    arguments = functions.Unreadable(), 1
    with pytest.raises(NotSerializable, match="(?s)an argument of add: cannot be read where it runs: ValueError: invalid literal"):
        if how == "submit":
            client.submit(functions.add, *arguments).result(20)
        elif how == "graph":
            graph = client.graph()
            graph.submit(want=[graph.add(functions.add, *arguments)]).results(20)
        else:  # Two keys that are one subtask.
            client.get({"a": (functions.add, *arguments), "b": (functions.increment, "a")}, "b")


def test_what_a_call_within_an_argument_raises_is_its_own(client):
    with pytest.raises(ValueError, match="^inside$"):
        client.get({"a": (functions.increment, (functions.fail, "inside"))}, "a")


def test_options_that_cannot_be_name_the_way_out(client):
    with pytest.raises(TypeError, match="no option 'retrys': did you mean 'retries'"):
        client.get_executor(retrys=1)  # tidy: foreign
    with pytest.raises(TypeError, match="no option 'key'"):
        client.get_executor(key="a")  # tidy: foreign
    with pytest.raises(TypeError, match="key must be a text, not 5: .*functools.partial"):
        client.submit(functions.increment, 1, key=5)


def test_a_result_that_cannot_be_pickled(client):
    with pytest.raises(NotSerializable, match="the result.*cannot be pickled"):
        client.submit(functions.unpicklable).result(20)


@pytest.mark.parametrize("function, kind", [(functions.unpicklable, NotSerializable),
                                            (functions.import_nothing_there, MissingModule)])
def test_what_repeating_would_not_mend_is_tried_once(client, function, kind):
    with pytest.raises(kind) as found:
        client.submit(function, retries=3).result(20)
    assert len(errors.remote_traceback(found.value).history) == 1
    with pytest.raises(ValueError) as found:
        client.submit(functions.fail, "passing", retries=1).result(20)
    assert len(errors.remote_traceback(found.value).history) == 2


def test_a_module_that_is_missing_there(client):
    with pytest.raises(MissingModule, match="module_that_is_not_there.*pip install"):
        client.submit(functions.import_nothing_there).result(20)


def test_a_runner_that_prints_garbage_on_its_socket(client):
    with pytest.raises(errors.RunnerCrashed, match="broke the protocol"):
        client.submit(functions.say_garbage).result(20)


def test_a_recursion_without_end(client):
    with pytest.raises(RecursionError):
        client.submit(functions.recurse, 0).result(20)


def test_what_other_clients_have_and_ours_has_not_says_what_is_instead(client):
    with pytest.raises(AttributeError, match="has no 'replicate': data are copied to where they are read"):
        client.replicate
    with pytest.raises(AttributeError, match="has no 'anything'$"):
        client.anything
    assert not hasattr(client, "run")


def test_what_other_packages_have_and_ours_has_not_says_what_is_instead():
    with pytest.raises(AttributeError, match="no attribute 'LocalCluster': Client.. starts one"):
        penstock.LocalCluster
    with pytest.raises(AttributeError, match="no attribute 'get_worker': in a call penstock.get_client"):
        penstock.get_worker
    with pytest.raises(AttributeError, match="no attribute 'nothing'$"):
        penstock.nothing
    assert not hasattr(penstock, "LocalCluster") and hasattr(penstock, "Variable")


def test_a_client_and_a_future_within_a_function_say_where_they_belong(client):
    future = client.submit(functions.increment, 1)
    with pytest.raises(NotSerializable, match="a client is not sent: .*asks for it there"):
        client.submit(lambda: client)
    with pytest.raises(NotSerializable, match="give it to `submit` beside the function, not within it"):
        client.submit(lambda: future)


def test_what_is_no_function(client):
    with pytest.raises(TypeError, match="not callable"):
        client.submit(5)
    for asked in (client.gather, penstock.wait, lambda futures: list(penstock.as_completed(futures)), penstock.progress):
        with pytest.raises(TypeError, match="5 is no future"):
            asked([5])


@pytest.mark.parametrize("option, kind, said", [
    ({"retries": -1}, ValueError, "retries must be from 0"), ({"memory": -5}, ValueError, "memory must be from 0"),
    ({"memory": "1 GX"}, ValueError, "memory must be a number of bytes, or a text such as '512MiB' or '4GB', not '1 GX'"),
    ({"memory": None}, TypeError, "memory must be a whole number, not None"), ({"slots": 0}, ValueError, "slots must be at least"),
    ({"slots": "2"}, TypeError, "slots must be a number"), ({"priority": 1 << 40}, ValueError, "priority must be from"),
    ({"slots": 1e30}, ValueError, "slots must be at most 1000000, not 1e.30"),
    ({"slots": True}, TypeError, "slots must be a number, not True"), ({"retries": True}, TypeError, "retries must be a whole number"),
    ({"memory": False}, TypeError, "memory must be"), ({"time_limit": 10**400}, ValueError, "time_limit must be a finite number"),
    ({"time_limit": 1e30}, ValueError, "time_limit must be at most 1000000000"),
    ({"time_limit": float("inf")}, ValueError, "time_limit must be a finite number, not inf"),
    ({"time_limit": float("nan")}, ValueError, "time_limit must be a finite number, not nan"), ({"time_limit": None}, TypeError, "time_limit must be a number")])
def test_an_option_that_cannot_be(client, option, kind, said):
    with pytest.raises(kind, match=said):
        client.submit(functions.increment, 1, **option)


@pytest.mark.parametrize("option, kind", [
    ({"slots": -1}, ValueError), ({"slots": "2"}, TypeError), ({"slots": False}, TypeError), ({"memory": "much"}, ValueError),
    ({"timeout": 1e30}, ValueError), ({"timeout": float("inf")}, ValueError), ({"timeout": float("nan")}, ValueError),
    ({"timeout": -1}, ValueError), ({"timeout": "1"}, TypeError), ({"timeout": None}, TypeError), ({"timeout": True}, TypeError)])
def test_a_client_that_cannot_be(option, kind):
    with pytest.raises(kind, match=f"{list(option)[0]} must be"):
        Client(**option)


WAITS = {"result": lambda future, job, timeout: future.result(timeout), "job.wait": lambda future, job, timeout: job.wait(timeout),
         "exception": lambda future, job, timeout: future.exception(timeout),
         "as_completed": lambda future, job, timeout: list(penstock.as_completed([future], timeout)),
         "wait": lambda future, job, timeout: penstock.wait([future], timeout),
         "job.results": lambda future, job, timeout: job.results(timeout),
         "map": lambda future, job, timeout: list(future.client.get_executor().map(abs, [1], timeout=timeout))}  # tidy: foreign


@pytest.mark.parametrize("wait", WAITS)
def test_a_wait_takes_any_number_of_seconds(client, wait):
    def again():
        graph = client.graph()
        graph.add(time.sleep, 0.01)
        return client.submit(time.sleep, 0.01), graph.submit()
    for endless in (float("inf"), 1e30, 10**40, 1e10, None):
        WAITS[wait](*again(), endless)
    for timeout, kind in ((float("nan"), ValueError), ("1", TypeError), (True, TypeError)):
        with pytest.raises(kind, match="timeout must be"):
            WAITS[wait](*again(), timeout)
    with contextlib.suppress(TimeoutError):
        WAITS[wait](*again(), -float("inf"))


# 2**32 was subtask 0, and a handle of another graph one of this.
def test_a_subtask_that_is_none_of_the_job(client):
    graph, other = client.graph(), client.graph()
    one, theirs = graph.add(functions.increment, 1), other.add(functions.increment, 5)
    for call in (lambda: graph.submit(want=[theirs]), lambda: graph.add(functions.noop, after=[theirs]), lambda: graph.submit(want=[0])):
        with pytest.raises(errors.WrongGraph, match="must be handles of this graph"):
            call()
    job = graph.submit(want=one)
    assert job.results(20) == [2] and job.logs(one) == ""
    for call in (job.fetch, lambda subtasks: job.logs(subtasks[0])):
        for subtask, kind in ((theirs, errors.WrongGraph), (2**32, ValueError), (-1, ValueError), (0.5, TypeError), ("0", TypeError)):
            with pytest.raises(kind):
                call([subtask])
    for name in (None, 1.5, True, ["a"]):
        with pytest.raises(TypeError, match="a job is named by"):
            client.attach(name)


# A number in place of a text was taken for an address: the interpreter crashed.
@pytest.mark.parametrize("option, kind, said", [
    *(({name: 3}, TypeError, f"{name} must be a text, not 3") for name in ("name", "owner", "project", "account", "qos", "queue", "together")),
    ({"pool": 3}, TypeError, "pool must be a list of texts"), ({"pool": [3]}, TypeError, "pool must be a list of texts, and has 3"),
    ({"labels": [3]}, TypeError, "labels must be a list of texts, and has 3"), ({"labels": 3}, TypeError, "labels must be"),
    ({"weight": -1}, ValueError, "weight must be at least 0.001, not -1"), ({"weight": 5e6}, ValueError, "weight must be at most 1000000"),
    ({"weight": 1e-4}, ValueError, "weight must be at least 0.001"), ({"weight": "2"}, TypeError, "weight must be a number"),
    ({"gang_max": -1}, ValueError, "gang_max must be from 0"),
    ({"gang_groups": -1}, ValueError, "gang_groups must be from 0"),
    ({"gang": -1}, ValueError, "gang must be from 0"), ({"gang": 2**32}, ValueError, "gang must be from 0 to 1000000000"),
    ({"slots_max": -1}, ValueError, "slots_max must be from 0"), ({"priority": 2**40}, ValueError, "priority must be from"),
    ({"priority": "1"}, TypeError, "priority must be a whole number"), ({"kind": "urgent"}, ValueError, "kind must be one of training"),
    ({"preemptible": "no"}, TypeError, "preemptible must be"), ({"user_factor": 2}, ValueError, "user_factor must be at most 1"),
    ({"user_factor": float("nan")}, ValueError, "user_factor must be a finite number"), ({"grace": "1"}, TypeError, "grace must be a number"),
    ({"time_limit": 0}, ValueError, "time_limit must be at least 0.001, not 0"), ({"time_limit": 1e9}, ValueError, "time_limit must be at most"),
    ({"time_limit": "1"}, TypeError, "time_limit must be a number")])
def test_an_option_of_a_job_that_cannot_be(client, option, kind, said):
    graph = client.graph()
    graph.add(functions.increment, 1)
    with pytest.raises(kind, match=said):
        graph.submit(**option)
    assert graph.submit().results() == [2], "it can be submitted as it should be"


def test_a_name_of_a_job_of_keys_that_cannot_be(client):
    with pytest.raises(TypeError, match="name must be a text, not 3"):
        client.get({"x": (functions.increment, 1)}, "x", name=3)


def test_all_options_of_a_job_reach_the_cluster(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    assert graph.submit(owner="ada", project="p", account="a", weight=0.001, slots_max=1, kind="interactive",
                        preemptible=False, grace=0.0001, time_limit=60).results() == [2]


def test_the_groups_of_a_gang_reach_the_cluster(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    with pytest.raises(errors.PenstockError, match="has gang_groups of 2, and not `together`"):
        graph.submit(gang=2, gang_groups=2)


def test_an_object_that_is_larger_than_the_store():
    with Client(slots=1, memory="64MiB", warm=False) as small:
        large = small.scatter(bytes(40 << 20))
        with pytest.raises(errors.ResultTooLarge, match="(?s)scattered-1: .*can never fit into the store.*more memory"):
            small.submit(len, large).result(60)
        chain = small.submit(functions.increment, small.submit(len, large))
        with pytest.raises(errors.ResultTooLarge, match="can never fit"):
            chain.result(60)
        assert small.submit(functions.increment, 1).result(30) == 2


def test_a_callback_that_waits(client):
    seen = []

    def wait_there(_):
        try:
            seen.append(client.submit(functions.increment, 1).result())
        except errors.PenstockError as error:
            seen.append(str(error))
    future = client.submit(functions.increment, 1)
    future.add_done_callback(wait_there)
    future.result(20)
    assert client.submit(functions.increment, 5).result(20) == 6
    assert "callbacks" in seen[0] and "another thread" in seen[0]


def test_a_callback_that_gathers_or_waits_on_whatever_thread(tmp_path):
    assert ends("""
seen = []
def wait_there(_):
    one = client.submit(functions.increment, 1)
    for wait in (one.result, lambda: client.gather([one])):
        try:
            seen.append(wait())
        except errors.PenstockError as error:
            seen.append("callbacks" in str(error))
for end in (lambda future: open("go", "w").close(), lambda future: future.cancel()):
    future = client.submit(functions.wait_for, os.path.abspath("go"))
    client._flush()
    future.add_done_callback(wait_there)
    end(future)
    concurrent.futures.wait([future], 30)
    print(client.submit(functions.increment, 5).result(30), seen)
    seen.clear()
    os.remove("go") if os.path.exists("go") else None
""", tmp_path) == "6 [True, True]\n6 [True, True]"


# A forked child that hangs, be it in fork, ends as well.
ENDINGS = """
import concurrent.futures, os, signal, sys, threading
os.register_at_fork(after_in_child=lambda: signal.alarm(20))
import functions
from penstock import Client, as_completed, errors
client = Client(slots=1)
future = client.submit(functions.increment, 1)
assert future.result(30) == 2
"""


def ends(code, tmp_path):
    """A program of its own that must end by itself; what it prints."""
    import os
    import pathlib
    script = tmp_path / "ends.py"
    script.write_text(ENDINGS + code)
    here = pathlib.Path(__file__).resolve().parent
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(here.parent), str(here)] + sys.path)}
    ended = subprocess.run([sys.executable, str(script)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout.strip()


def test_a_close_in_a_callback(tmp_path):
    assert ends("""
last = client.submit(functions.increment, 5)
last.add_done_callback(lambda _: client.close())
last.exception(30)
try:
    while True:
        client.submit(functions.increment, 1)
except errors.ClientClosed as error:
    print(error)
""", tmp_path).startswith("the client is closed")


def test_a_close_in_a_callback_on_the_thread_that_cancels(tmp_path):
    assert ends("""
flush, flushes = client._flush, threading.Event()
def tell_and_flush():
    ours = threading.current_thread() is not threading.main_thread()
    flushes.set() if ours else None
    flush()
    flushes.clear() if ours else None
client._flush = tell_and_flush
def close(_):
    client._wake.set()
    flushes.wait(30)  # From now on the thread that sends calls waits for the lock that this one holds.
    client.close()
other, future = (client.submit(functions.wait_for, "/no/such/file") for _ in range(2))
future.add_done_callback(close)
future.cancel()
concurrent.futures.wait([other], 30)
print(other.status, client.closed)
""", tmp_path) == "cancelled True"


def test_a_close_in_a_callback_while_calls_are_sent(tmp_path):
    assert ends("""
bad = client.submit(functions.fail, "bad")
bad.exception(30)
with client._lock:  # So that they are sent together, here.
    fails, sent = client.submit(functions.increment, bad), client.submit(functions.increment, 1)
    fails.add_done_callback(lambda _: client.close())
    client._flush()
concurrent.futures.wait([sent], 30)
print(fails.status, sent.status, client.closed)
""", tmp_path) == "error cancelled True"


def test_a_fork_while_another_thread_looks_at_futures(tmp_path):
    assert ends("""
waits = client.submit(functions.wait_for, "/no/such/file")
order = as_completed([future, waits])
assert next(order) is future
waiter, looks, over = waits._waiters[0], threading.Event(), threading.Event()
def look():
    with waits._condition, future._condition, waiter.lock, waiter.event._cond:
        looks.set()
        over.wait(30)
thread = threading.Thread(target=look)
thread.start()
looks.wait(30)
if os.fork() == 0:
    print(next(order) is waits, type(waits.exception(5)).__name__, future.result(5), flush=True)
    os._exit(0)
child = os.wait()[1]
over.set()
thread.join()
print(child, waits.status)
""", tmp_path) == "True ClientClosed 2\n0 pending"


def test_a_fork_while_another_thread_closes_the_client(tmp_path):
    assert ends("""
sent = client.submit(functions.wait_for, "/no/such/file")
client._flush()
held = client.submit(functions.increment, sent)
client._flush = lambda: None
unsent = [client.submit(functions.increment, i) for i in range(2)]
closes, over = threading.Event(), threading.Event()
def stay(_):
    closes.set()
    over.wait(30)
every = [sent, held, *unsent]
for future in every:  # The first that close() cancels keeps it there.
    future.add_done_callback(stay)
thread = threading.Thread(target=client.close)
thread.start()
closes.wait(30)
if os.fork() == 0:
    left = [future for future in every if not future.cancelled()]
    print(*[type(future.exception(5)).__name__ for future in left], flush=True)
    os._exit(0)
child = os.wait()[1]
over.set()
thread.join()
print(child, *[future.status for future in every])
""", tmp_path) == "ClientClosed ClientClosed ClientClosed\n0" + " cancelled" * 4


def test_a_fork_while_another_thread_sends_calls(tmp_path):
    assert ends("""
sends, over = threading.Event(), threading.Event()
send = client._send
def stay(calls, unsent):
    sends.set()
    over.wait(30)
    send(calls, unsent)
client._send = stay
future = client.submit(functions.increment, 1)
sends.wait(30)
if os.fork() == 0:
    print(type(future.exception(5)).__name__, flush=True)
    os._exit(0)
child = os.wait()[1]
over.set()
print(child, future.result(30))
""", tmp_path) == "ClientClosed\n0 2"


def test_callbacks_are_the_parents_to_call(tmp_path):
    assert ends("""
waits, called = client.submit(functions.wait_for, "/no/such/file"), []
waits.add_done_callback(called.append)
if os.fork() == 0:
    print(type(waits.exception(5)).__name__, called, flush=True)
    os._exit(0)
child = os.wait()[1]
waits.cancel()
print(child, called == [waits])
""", tmp_path) == "ClientClosed []\n0 True"


def test_a_client_in_a_forked_child(tmp_path):
    assert ends("""
waits = client.submit(functions.wait_for, "/no/such/file")
read, write = os.pipe()
if os.fork() == 0:
    said = []
    for call in (lambda: client.submit(functions.increment, 1), waits.result, client.graph):
        try:
            call()
        except errors.ClientClosed as error:
            said.append(str(error)[:49])
    os.write(write, ("|".join(said) + f"|{future.result()}").encode())
    sys.exit(0)
child = os.wait()[1]
print(child, os.read(read, 1000).decode(), client.submit(functions.increment, 7).result(30) if waits.cancel() else "")
""", tmp_path) == "0 " + "|".join(["the client is of the process that this one was fo"] * 3) + "|2 8"


def test_a_forked_child_may_have_a_client_of_its_own(tmp_path):
    assert ends("""
if os.fork() == 0:
    with Client(slots=1) as mine:
        os._exit(mine.submit(functions.increment, 41).result(30))
print(os.waitstatus_to_exitcode(os.wait()[1]))
""", tmp_path) == "42"


def test_a_released_future(client):
    future = client.submit(functions.increment, 1)
    future.exception()
    future.release()
    with pytest.raises(ResultLost, match="was released"):
        future.result()


def test_a_future_of_another_client(client):
    with Client(slots=1, warm=False) as other:
        theirs = other.scatter(5)
        with pytest.raises(ValueError, match="another client"):
            client.submit(functions.increment, theirs)


def test_a_future_that_is_pickled_elsewhere(client):
    import pickle
    with pytest.raises(TypeError, match="argument of a subtask"):
        pickle.dumps(client.scatter(1))


def test_a_time_limit(client):
    with pytest.raises(TimedOut):
        client.submit(functions.wait_for, "/no/such/file", time_limit=0.2).result(30)


def test_more_memory_than_requested(client):
    with pytest.raises(OutOfMemory, match="requested"):
        client.submit(functions.eat, 300, memory=100 << 20).result(60)


def test_overlap_is_allowed_or_never(client):
    assert client.submit(functions.eat, 1, overlap="never").result(60) == 1 << 20
    with pytest.raises(ValueError, match="overlap"):
        client.submit(functions.eat, 1, overlap="perhaps")


def test_every_way_to_submit_says_that_attempts_never_overlap(client, monkeypatch):
    told, add = [], client._library.graph_add_template

    def tells(handle, content):
        told.extend([content.never_overlaps] if content.runner == _abi.PROCESS else [])
        return add(handle, content)
    monkeypatch.setattr(client._library, "graph_add_template", tells)
    for overlap, said in (("never", 1), ("allow", 0)):
        client.submit(functions.increment, 1, overlap=overlap).result(60)
        client.gather(client.map(functions.increment, [1], overlap=overlap))
        client.get_executor(overlap=overlap).submit(functions.increment, 1).result(60)
        graph = client.graph()
        graph.add(functions.increment, 1, overlap=overlap)
        graph.add_with(functions.increment, (2,), {}, Options(overlap=overlap))
        graph.submit().result(60)
        assert told == [said] * 4, "one template for the two of the graph"
        told.clear()


def test_a_call_that_needs_more_memory_gets_twice_as_much_up_to_its_most(client):
    grown = client.submit(functions.eat, 300, memory=100 << 20, memory_max=1 << 30)
    assert grown.result(120) == 300 << 20
    with pytest.raises(ValueError, match="memory_max"):
        client.submit(functions.eat, 1, memory=2, memory_max=1)
    with pytest.raises(ValueError, match="memory_max"):
        client.submit(functions.eat, 1, memory_max=1)


def test_a_request_that_no_worker_can_hold(client):
    with pytest.raises(errors.PenstockError, match="slots"):
        client.submit(functions.increment, 1, slots=5000).result(20)


def test_nobody_at_the_address():
    with pytest.raises(ConnectionFailed):
        Client("127.0.0.1:1", timeout=0.2)


def test_an_address_as_other_clusters_have_them():
    with pytest.raises(errors.PenstockError, match="it has a scheme.*write host:port"):
        Client("tcp://127.0.0.1:8786")


def test_an_address_that_is_none():
    with pytest.raises(errors.PenstockError):
        Client("no:such:address")


def test_a_python_that_is_not_there():
    with Client(slots=1, python="/no/such/python", warm=False) as client:
        with pytest.raises(errors.SubtaskFailed, match="/no/such/python.*does not exist"):
            client.submit(functions.increment, 1).result(30)


def test_a_library_that_is_not_there():
    code = "import penstock; penstock.Client()"
    import os
    environment = {**os.environ, "PENSTOCK_LIBRARY": "/no/such/library.so", "PYTHONPATH": os.pathsep.join(sys.path)}
    ended = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True)
    assert ended.returncode == 1 and "libpenstock.so was not found" in ended.stderr
    assert "PENSTOCK_LIBRARY" in ended.stderr


def test_an_attach_to_nobody(client):
    with pytest.raises(ResultLost, match="no such job"):
        client.attach("nobody")


def test_a_result_that_cannot_be_pickled_names_its_function_and_shows_nothing_of_ours(client):
    with pytest.raises(NotSerializable, match="the result of unpicklable: cannot be pickled.*return what it is made of") as found:
        client.submit(functions.unpicklable).result(20)
    assert "_runner.py" not in str(found.value.__cause__) and "_wire.py" not in str(found.value.__cause__)


def test_a_result_that_cannot_be_read_here_says_whose_it_is(client):
    with pytest.raises(NotSerializable, match="mine: its value cannot be read here: RuntimeError: it will not be made"):
        client.submit(functions.make_by_source, UNREADABLE, key="mine").result(20)


UNREADABLE = """
def refuse():
    raise RuntimeError("it will not be made")
class Unreadable:
    def __reduce__(self):
        return refuse, ()
value = Unreadable()
"""


# Each run after it had the value of the one before.
def test_a_function_that_forks_and_comes_back_twice_ends_once(client):
    pids = client.gather([client.submit(functions.fork_and_return) for _ in range(10)])
    assert all(pid > 0 for pid in pids)
    assert client.gather(client.map(functions.increment, range(100))) == list(range(1, 101))


# Values of its own job with that number were given, or the process died.
def test_futures_and_jobs_of_another_client_are_refused(client):
    with Client(slots=1) as other:
        future, graph = other.submit(functions.increment, 1), other.graph()
        graph.add(functions.increment, 1)
        job = graph.submit()
        assert future.exception(20) is None
        for call in (lambda: client.gather([future]), lambda: client.logs(future), lambda: client.logs(job)):
            with pytest.raises(ValueError, match="belongs to another client"):
                call()


# It ended the whole process.
def test_a_graph_is_submitted_once_and_not_empty(client):
    graph = client.graph()
    with pytest.raises(ValueError, match="has no subtasks"):
        graph.submit()
    graph.add(functions.increment, 1)
    graph.submit().results(20)
    for call in (graph.submit, lambda: graph.add(functions.increment, 1), lambda: graph.value(1)):
        with pytest.raises(ValueError, match="was submitted already"):
            call()


def test_a_job_that_was_released_says_so(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    job = graph.submit(name="let go")
    job.result(20)
    job.release()
    assert repr(job) == "<Job let go: released>" and "released" in job._repr_html_()
    for call in (job.results, job.counts, job.wait, job.failures, lambda: job.fetch([0]), lambda: job.state):
        with pytest.raises(ResultLost, match="let go: was released"):
            call()


@pytest.mark.parametrize("environment", [{"A=B": "x"}, {"": "x"}, {"A": "x\0y"}, {"A\0": "x"}])
def test_variables_that_cannot_be(client, environment):
    with pytest.raises(ValueError, match="environment: .* cannot be a variable"):
        client.submit(functions.increment, 1, environment=environment)


def test_a_name_with_a_nul_is_not_cut(client):
    graph = client.graph()
    graph.add(functions.increment, 1)
    with pytest.raises(ValueError, match="has a NUL in it"):
        graph.submit(name="a\0b")
    assert graph.submit(name="ab").results(20) == [2]


def test_a_failure_in_a_graph_is_named_by_its_job(client):
    graph = client.graph()
    graph.add(functions.leave, 3)
    with pytest.raises(errors.RunnerCrashed, match="subtask 0 of leaves: the runner exited with code 3"):
        graph.submit(name="leaves").result(30)


def test_a_python_without_this_package_is_named_with_what_to_install():
    with Client(slots=1, environment={"PYTHONPATH": "/nowhere"}, warm=False) as client:
        with pytest.raises(MissingModule, match="(?s)No module named 'penstock'.*install this package"):
            client.submit(functions.increment, 1).result(30)


def test_a_request_that_no_worker_can_hold_says_how_to_wait_for_one(client):
    with pytest.raises(errors.PenstockError, match="wait_for_resources=True"):
        client.submit(functions.increment, 1, memory=1 << 50).result(20)


# A pool that nobody has was a lost result.
def test_what_is_not_found_at_submitting_is_no_lost_result():
    unknown = ResultLost("there is no such pool", subject="zz", code="NotFound")
    assert type(errors.of_submitting(unknown)) is errors.PenstockError
    lost = ResultLost("subtask '0' borrows output 0 of subtask 1 of job-1", code="NotFound")
    assert errors.of_submitting(lost) is lost
