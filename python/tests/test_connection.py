"""A client that is closed while other threads use it."""
import os
import subprocess
import sys
import threading
import time

import functions
import pytest
from penstock import Client, _client, errors
from penstock._connection import Connection
from penstock._futures import closed

PATIENCE_S = 60


def test_who_is_in_a_call_is_waited_for_and_who_comes_later_is_refused():
    connection = Connection(7, closed)
    inside, leave, left = threading.Event(), threading.Event(), []

    def call():
        with connection as handle:
            inside.set()
            leave.wait(PATIENCE_S)
            left.append(handle)
    caller = threading.Thread(target=call)
    caller.start()
    assert inside.wait(PATIENCE_S)
    connection.refuse()
    with pytest.raises(errors.ClientClosed, match="make another Client"):
        with connection:
            pass
    closer = threading.Thread(target=lambda: (connection.wait_until_left(PATIENCE_S), left.append("closed")))
    closer.start()
    leave.set()
    closer.join(PATIENCE_S)
    caller.join(PATIENCE_S)
    assert left == [7, "closed"]


def test_who_closes_it_in_the_midst_of_its_own_call_is_known():
    connection = Connection(7, closed)
    assert not connection.is_inside()
    with connection, connection:
        assert connection.is_inside()
        connection.refuse()
        assert not connection.wait_until_left(0)
    assert connection.wait_until_left(0)


def test_a_client_that_is_closed_in_the_midst_of_its_own_call_is_freed_behind_it():
    client, freed = Client(slots=1), []
    free = client._library.client_close

    class Watched:
        def __getattr__(self, name):
            return getattr(library, name)

        def client_close(self, handle):
            freed.append(handle)
            free(handle)
    library, client._library = client._library, Watched()
    with client._connection as handle:
        client.close()
        assert freed == []
    for closer in list(_client._closers):
        closer.join(PATIENCE_S)
    assert freed == [handle]


def test_a_get_while_its_client_is_closed_is_refused_and_its_value_is_not_called_lost():
    client, released, fetched, closers = Client(slots=1), threading.Event(), threading.Event(), []
    array = client.submit(functions.make_array, 100000)
    assert array.exception(PATIENCE_S) is None

    class Watched:
        def __getattr__(self, name):
            return getattr(library, name)

        def release(self, *arguments):
            library.release(*arguments)
            released.set()
            assert fetched.wait(PATIENCE_S)

        def fetch(self, *arguments):
            closers.append(threading.Thread(target=client.close))
            closers[0].start()
            assert released.wait(PATIENCE_S)
            value = library.fetch(*arguments)
            fetched.set()
            return value
    library, client._library = client._library, Watched()
    with pytest.raises(errors.ClientClosed):
        array.result(PATIENCE_S)
    closers[0].join(PATIENCE_S)


def close_beside_a_thread_that_waits_with_the_lock():
    """How long that took, and what the library was told."""
    client, inside, told = Client(slots=1), threading.Event(), []
    kept = client.submit(functions.increment, 1)
    assert kept.result(PATIENCE_S) == 2

    class Watched:
        def __getattr__(self, name):
            return getattr(library, name)

        def ask(self, *arguments):
            inside.set()
            return library.ask(*arguments)

        def release(self, *arguments):
            told.append("release")
            library.release(*arguments)

        def client_interrupt(self, handle):
            told.append("interrupt")
            library.client_interrupt(handle)

    def wait_with_the_lock():
        with pytest.raises(errors.ClientClosed), client._lock:
            client.ask("shared", "get", "what nobody sets", "--wait=30", "--token=its", "--lease=30")
    library, client._library = client._library, Watched()
    thread = threading.Thread(target=wait_with_the_lock)
    thread.start()
    assert inside.wait(PATIENCE_S)
    begun = time.monotonic()
    client.close()
    took = time.monotonic() - begun
    thread.join(PATIENCE_S)
    return took, told


def test_a_thread_that_waits_in_a_call_with_the_lock_does_not_hold_a_close_up():
    tries = [close_beside_a_thread_that_waits_with_the_lock() for _ in range(3)]
    assert min(took for took, _ in tries) < 0.5  # 0.08 s on a quiet machine.
    assert [told for _, told in tries] == [["release", "interrupt"]] * 3


class Slow:
    """An argument in the midst of whose pickling something else happens."""

    def __init__(self):
        self.begun, self.go_on = threading.Event(), threading.Event()

    def __reduce__(self):
        self.begun.set()
        assert self.go_on.wait(PATIENCE_S)
        return int, (1,)


def test_a_call_whose_arguments_are_pickled_while_its_client_is_closed_is_refused():
    client, slow, ends = Client(slots=1), Slow(), []

    def submit():
        try:
            ends.append(client.submit(functions.increment, slow))
        except errors.ClientClosed as error:
            ends.append(type(error))
    thread = threading.Thread(target=submit)
    thread.start()
    assert slow.begun.wait(PATIENCE_S)
    client.close()
    slow.go_on.set()
    thread.join(PATIENCE_S)
    assert ends == [errors.ClientClosed]


RACE = """
import collections, concurrent.futures, sys, threading
import functions
from penstock import Client, Job, errors

ENDS = errors.ClientClosed, concurrent.futures.CancelledError
ends = collections.Counter()

def until_closed(client, one):
    try:
        while True:
            one()
            under_way.release()
    except ENDS as end:
        ends[type(end).__name__] += 1
        try:
            client.submit(functions.increment, 1)
        except errors.ClientClosed:
            ends["refused"] += 1
    finally:
        under_way.release()

for round in range(4):
    client, under_way = Client(slots=1), threading.Semaphore(0)
    job = client.graph()
    job.add(functions.make_array, 50000)
    job = job.submit(name="kept")
    job.result(60)
    graph = {"a": (functions.increment, 1), "b": (functions.increment, "a")}
    what = [lambda: client.submit(functions.increment, 1), lambda: client.submit(functions.increment, 1).result(),
            lambda: client.gather([client.submit(functions.increment, i) for i in range(20)]), lambda: job.results(),
            lambda: job.logs(), lambda: (job.counts(), job.state), lambda: client.get(graph, "b"),
            lambda: client.submit(functions.increment, 1).cancel()]
    threads = [threading.Thread(target=until_closed, args=(client, one), daemon=True) for one in what]
    for thread in threads:
        thread.start()
    for _ in range(20 * len(what)):
        under_way.acquire()
    client.close()
    for thread in threads:
        thread.join(60)
    print(sum(thread.is_alive() for thread in threads), ends.pop("refused", 0), sorted(ends))
"""


def test_calls_that_race_with_the_end_of_their_client_are_refused_and_never_hang():
    done = subprocess.run([sys.executable, "-X", "faulthandler", "-c", RACE], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "PYTHONPATH": ":".join(sys.path)})
    assert done.returncode == 0, done.stderr[-4000:]
    for line in done.stdout.splitlines():
        hanging, refused, ends = line.split(" ", 2)
        assert (hanging, refused) == ("0", "8") and "ClientClosed" in ends, done.stdout + done.stderr[-4000:]
    assert len(done.stdout.splitlines()) == 4, done.stderr[-4000:]
