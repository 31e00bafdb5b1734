"""What goes wrong is said precisely, and the cluster goes on."""
import subprocess
import sys
import threading

import functions
import pytest
from penstock import Client, ConnectionFailed, MissingModule, NotSerializable, OutOfMemory, ResultLost, TimedOut, errors


@pytest.fixture(autouse=True)
def the_cluster_goes_on(client):
    yield
    assert client.submit(functions.increment, 1).result(30) == 2


def test_a_function_that_cannot_be_pickled(client):
    lock = threading.Lock()
    future = client.submit(lambda: lock)
    with pytest.raises(NotSerializable, match="function .*lambda.*cannot be pickled.*lock"):
        future.result(20)


def test_an_argument_that_cannot_be_pickled(client):
    with pytest.raises(NotSerializable, match="an argument of add"):
        client.submit(functions.add, threading.Lock(), 1)


def test_a_result_that_cannot_be_pickled(client):
    with pytest.raises(NotSerializable, match="the result.*cannot be pickled"):
        client.submit(functions.unpicklable).result(20)


def test_a_module_that_is_missing_there(client):
    with pytest.raises(MissingModule, match="module_that_is_not_there.*pip install"):
        client.submit(functions.import_nothing_there).result(20)


def test_a_runner_that_prints_garbage_on_its_socket(client):
    with pytest.raises(errors.RunnerCrashed, match="broke the protocol"):
        client.submit(functions.say_garbage).result(20)


def test_a_recursion_without_end(client):
    with pytest.raises(RecursionError):
        client.submit(functions.recurse, 0).result(20)


def test_an_exception_that_carries_too_much_is_told_in_words(client):
    with pytest.raises(errors.SubtaskFailed, match="fail_with_much"):
        client.submit(functions.fail_with_much).result(20)


def test_what_is_no_function(client):
    with pytest.raises(TypeError, match="not callable"):
        client.submit(5)
    with pytest.raises(TypeError, match="is no future"):
        client.gather([5])
    with pytest.raises(ValueError, match="negative"):
        client.submit(functions.increment, 1, retries=-1)


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


def test_a_request_that_no_worker_can_hold(client):
    with pytest.raises(errors.PenstockError, match="slots"):
        client.submit(functions.increment, 1, slots=5000).result(20)


def test_nobody_at_the_address():
    with pytest.raises(ConnectionFailed):
        Client("127.0.0.1:1", timeout=0.2)


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
