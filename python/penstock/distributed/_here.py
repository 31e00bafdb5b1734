"""What a function finds where it runs: its worker, and a client of its cluster."""
import atexit
import contextlib
import os
import shutil
import sys
import tempfile
import threading
import types
from typing import Any, Iterator, Optional

from penstock import _attempt, _nested
from penstock.distributed import _workers
from penstock.errors import PenstockError

secede, rejoin = _nested.secede, _nested.rejoin
_lock = threading.Lock()
_worker: "Optional[Worker]" = None


class NotHere(PenstockError, ValueError):
    """Asked for where there is none; a `ValueError` for programs of Dask, which expect one."""


class Worker:
    """The process in which a function runs, one for each slot: what a function keeps in an attribute of it is there for
    later calls in the same process."""

    status = "running"

    def __init__(self):
        self.data, self.plugins, self.extensions = {}, {}, {}
        self._row, self._place = None, None
        self.state = types.SimpleNamespace()
        self._lock = threading.RLock()

    def _told(self):
        """What the supervisor says of the worker that this process belongs to."""
        with self._lock:
            if self._row is None:
                client = get_client()
                rows = client.ask("workers")
                self._row = next((row for row in rows if row["name"] == _name(client)), rows[0])
                self._bands = client.ask("bands")
                self.state.nthreads, self.state.address = self._row["slots"], _workers.address_of(self._row)
            return self._row

    @property
    def address(self) -> str:
        """As `client.scheduler_info()["workers"]` has it; the worker, of whose processes this is one."""
        return _workers.address_of(self._told())

    worker_address = contact_address = address

    @property
    def name(self) -> str:
        """The worker's."""
        return self._told()["name"]

    @property
    def scheduler(self) -> Any:
        """What stands for Dask's scheduler: its `address`."""
        return get_client().scheduler

    @property
    def id(self) -> str:
        """Names this process."""
        return f"{self.name}-{os.getpid()}"

    @property
    def ip(self) -> str:
        """Of the address."""
        return self.address.partition("://")[2].rpartition(":")[0] or "127.0.0.1"

    host = ip

    @property
    def nthreads(self) -> int:
        """The worker's slots, each of which has a process."""
        return self._told()["slots"]

    @property
    def memory_limit(self) -> int:
        """Bytes that the worker may use."""
        return _workers.described(self._told(), self._bands)["memory_limit"]

    @property
    def local_directory(self) -> str:
        """A directory of this process, which goes with it."""
        with self._lock:
            if self._place is None:
                self._place = tempfile.mkdtemp(prefix="penstock-worker-")
                atexit.register(shutil.rmtree, self._place, ignore_errors=True)
            return self._place

    local_dir = local_directory

    @property
    def client(self) -> Any:
        """Of the function that runs."""
        return get_client()

    _get_client = get_client = property(lambda self: get_client)

    def get_current_task(self) -> str:  # tidy: foreign
        """Names the call that runs."""
        attempt = _attempt.current_attempt()
        if attempt is None:
            raise NotHere("runs on this thread", subject="no call",
                          remedy="ask on the thread in which the function was called")
        return f"{attempt.job}:{attempt.subtask}"

    def log_event(self, topic: Any, msg: Any) -> None:
        """Printed: `client.logs(future)` has it."""
        sys.stdout.write(f"{topic}: {msg}\n")

    def __repr__(self):
        return f"<Worker: process {os.getpid()}>"


def _name(client):
    """Of the worker that runs this call."""
    attempt = _attempt.current_attempt()
    if attempt is None:
        return None
    told = client.ask("explain", f"job-{attempt.job}", str(attempt.subtask))
    return str(told.get("reason", "")).rpartition("assigned to ")[2].partition("/")[0]


def _is_in_runner():
    runner = sys.modules.get("penstock._runner")
    return runner is not None and runner.serving is not None


def get_worker() -> Worker:
    """The process that runs the calling function. Raises `ValueError` elsewhere."""
    global _worker
    if not _is_in_runner():
        raise NotHere("no call runs in this process", subject="get_worker", code="WrongState",
                      remedy="call it in a function that runs on a worker")
    with _lock:
        if _worker is None:
            _worker = Worker()
        return _worker


def default_client(c: Any = None) -> Any:
    """`c`, else the client that was opened last with `set_as_default`. Raises `ValueError` if there is none."""
    from penstock.distributed import _defaults
    client = c or _defaults.latest()
    if client is None:
        raise NotHere("No clients found", subject="default_client", code="WrongState",
                      remedy="start one: penstock.distributed.Client(), or Client(ADDRESS) for a supervisor's")
    return client


def get_client(address: Any = None, timeout: Any = None, resolve_address: bool = True) -> Any:
    """In a call: a client of the cluster that runs it, whose waiting lends the call's slot. Elsewhere the default one,
    or one at `address`. Raises `ValueError` if there is none."""
    if _nested._is_in_call():
        from penstock.distributed._call_client import CallClient
        return _nested.client_of_call(CallClient)
    if address is None:
        return default_client()
    from penstock.distributed import _cluster, _defaults
    from penstock.distributed._client import Client
    known = _defaults.latest()
    if known is not None and known.address == _cluster.plain(address):
        return known
    return Client(address, timeout=timeout)


@contextlib.contextmanager
def worker_client(timeout: Any = None, separate_thread: bool = True) -> Iterator[Any]:
    """`get_client()` for a block throughout which the slot of the calling function is lent; with
    `separate_thread=False` only while it waits."""
    with _nested.lent_throughout(separate_thread):
        yield get_client()
