"""Clients inside calls: calls that submit calls, and lend their slots while they wait for them."""
import contextlib
import os
import sys
import threading
import time
from typing import Dict, Iterator, Optional

from penstock import _abi, _client, _files, _graph, _lineage, _start
from penstock._attempt import _serving_here
from penstock._client import Client
from penstock.errors import PenstockError

LEND_PATIENCE_S, LEND_AGAIN_S = 60, 0.02  # If `worker.yields_max` calls of the band have lent their slots.
_lock = threading.Lock()
_here: "Dict[type, RunClient]" = {}  # Of this process, for its calls one after the other; one of each kind.


class _Command(_graph.RunnerCommand):
    """The program that runs this very call: calls that it submits run in processes of the same kind."""

    def __init__(self, command):
        ours = (_start.VARIABLE, _files.VARIABLE, "PYTHONPATH", "PENSTOCK_LIBRARY")
        given = {name: value for name, value in command if name not in ours}
        super().__init__(sys.executable, given, os.getcwd())
        if not any(name == _files.VARIABLE for name, _ in command):
            self.environment = [f"{name}={value}" for name, value in command]


class RunClient(Client):
    """The client of the call that runs in this process; see `get_client`."""

    def __init__(self):
        self._generations = _lineage.generations(_lineage.LINEAGE)
        self._library = _abi.library()
        runner = sys.modules.get("penstock._runner")
        serving = None if runner is None else runner.serving
        self._command = _graph.RunnerCommand() if serving is None else _Command(serving.command)
        self._waits = 0  # Of the present call.
        self._begin(self._library.check(self._library.client_in_run(b"")), os.environ["PENSTOCK_SUPERVISOR"])

    @contextlib.contextmanager
    def _waiting(self):
        serving = _serving_here()
        if serving is None or (serving.lent and not self._waits):  # The function has lent it itself.
            yield
            return
        if not serving.lent:
            self._waits = 0  # An earlier call may have ended in the midst of a wait.
        # Coroutines of one call may wait side by side: the slot is lent while any does.
        self._waits += 1
        try:
            if self._waits == 1:
                _lend(serving)
            yield
        finally:
            self._waits -= 1
            if self._waits == 0 and serving.lent:
                serving.take_slot_back()

    def __repr__(self):
        return f"<Client: of a call, {self.address if self._handle else 'closed'}>"


def _lend(serving):
    """Calls that end soon make room where too many have lent their slots; if none does, they all wait for each other."""
    late = time.monotonic() + LEND_PATIENCE_S
    while True:
        try:
            return serving.lend_slot()
        except PenstockError as error:
            if error.code != "LimitExceeded" or time.monotonic() > late:
                raise
        time.sleep(LEND_AGAIN_S)


def get_client() -> Client:
    """Inside a call: a client of the cluster that runs it, also where that is embedded in another process. While the call
    waits for a future of it (`result`, `gather`, `wait`, `as_completed`, `await`), others have its slot:

        def fibonacci(n):
            if n < 2:
                return n
            client = penstock.get_client()
            one, two = client.submit(fibonacci, n - 1), client.submit(fibonacci, n - 2)
            return one.result() + two.result()

    What it has submitted is cancelled when the call ends, and its values are freed: return values, not futures. It has
    the owner, the priority and the policy of the call's job, and goes before other work of that priority. Outside of a call:
    the client of this process that was opened last.

    Raises `PenstockError` if there is none (code "WrongState")."""
    if not _is_in_call():
        latest = _client._latest[0]() if _client._latest else None
        if latest is None or latest.closed:
            raise PenstockError("no call runs here, and no client is open", subject="get_client", code="WrongState",
                                remedy="call it in a function that runs on a worker, or open a Client() first")
        return latest
    return client_of_call(RunClient)


def client_of_call(kind):
    """The client of this class for the call that runs in this process."""
    with _lock:
        client = _here.get(kind)
        if client is None or client.closed:
            client = _here[kind] = kind()
            serving = _serving_here()
            if serving is not None:
                serving.forget_client = _forget
        return client


def _is_in_call():
    """Whether this process runs a call, or is a part of a command that a worker runs."""
    runner = sys.modules.get("penstock._runner")
    if runner is not None and runner.serving is not None:
        return True
    return "PENSTOCK_ATTEMPT_ID" in os.environ and "PENSTOCK_SUPERVISOR" in os.environ


def _forget():
    """An interrupted call may have left the client in the midst of anything: the next call opens another one."""
    with _lock:
        clients = list(_here.values())
        _here.clear()
    for client in clients:
        client.close()


def secede() -> None:
    """Gives the slot of the calling function to others until `rejoin`, or until the function returns. Raises `PenstockError`
    as `yield_slot` does."""
    serving = _serving_here()
    if serving is None:
        raise PenstockError("no call runs on this thread of a worker", subject="secede", code="WrongState",
                            remedy="use it in the thread in which the function was called")
    serving.lend_slot()


def rejoin() -> None:
    """Waits until the calling function has a slot again, after `secede`."""
    serving = _serving_here()
    if serving is None or not serving.lent:
        raise PenstockError("the calling function has its slot", subject="rejoin", code="WrongState", remedy="secede first")
    serving.take_slot_back()


@contextlib.contextmanager
def worker_client(timeout: Optional[float] = None, separate_thread: bool = True) -> Iterator[Client]:
    """`get_client()` for a block, as Dask has it: the slot of the calling function is lent throughout the block.
    `separate_thread=False`: only while it waits. `timeout`, Dask's, changes nothing."""
    with lent_throughout(separate_thread):
        yield get_client()


@contextlib.contextmanager
def lent_throughout(is_wanted):
    """The slot of the calling function is lent throughout the block, if that is wanted and a call runs here."""
    if not is_wanted or _serving_here() is None:
        yield
        return
    secede()
    try:
        yield
    finally:
        rejoin()
