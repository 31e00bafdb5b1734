"""`LocalCluster`: embedded in this process, or of processes of its own; and what the arguments of a client mean."""
import json
import os
import pathlib
import shutil
import subprocess
import tempfile
import time
from typing import Any, Dict, NamedTuple, Optional

import dask
from dask.utils import parse_bytes

from penstock import _abi
from penstock.distributed import _workers
from penstock.errors import PenstockError

# Of Dask's own cluster; there is nothing here that they could change.
WITHOUT_EFFECT = ("dashboard_address", "silence_logs", "diagnostics_port", "host", "ip", "scheduler_port", "protocol",
                  "interface",
                  "worker_dashboard_address", "worker_port", "processes", "local_directory", "loop", "start", "name",
                  "scheduler_sync_interval", "scheduler_kwargs", "asynchronous", "nanny", "dashboard", "services",
                  "blocked_handlers",
                  "worker_kwargs", "heartbeat_interval", "threads")
START_S = 30  # For processes of a cluster.


class Found(NamedTuple):
    """What a client connects to."""

    address: Optional[str]
    options: Dict[str, Any]
    cluster: Any
    is_ours: bool


def resolve(address: Any, scheduler_file: Optional[str], options: Dict[str, Any], asynchronous: bool) -> Found:
    """Of the arguments of `Client`."""
    if scheduler_file is not None:
        with open(scheduler_file) as file:
            address = json.load(file)["address"]
    if address is None and not options:
        address = dask.config.get("scheduler-address", None)
    if isinstance(address, (int, float)):
        raise TypeError(f"Scheduler address must be a string or a Cluster instance, not {address!r}")
    if address is None:
        program = options.pop("program", None)
        if program is not None:
            cluster = LocalCluster(program=program, **options)
            return Found(cluster._address, {}, cluster, True)
        return Found(None, embedded(dict(options)), None, True)
    if options:
        raise ValueError(f"Unexpected keyword arguments: {sorted(options)}: a cluster at an address has its workers")
    if isinstance(address, LocalCluster):
        address._check_free()
        return Found(address._address, {} if address._address else embedded(dict(address._given)), address, False)
    if not isinstance(address, str):
        address = getattr(address, "scheduler_address", address)
    if not isinstance(address, str):
        raise TypeError(f"Scheduler address must be a string or a Cluster instance, not {address!r}")
    return Found(plain(address), {}, None, False)


def plain(address: str) -> str:
    """host:port of an address with or without a scheme."""
    scheme, _, rest = address.rpartition("://")
    if scheme not in ("", "tcp", "penstock"):
        raise PenstockError(f"is reached by {scheme}, and supervisors by tcp", subject=address,
                            remedy="give host:port of `penstock supervisor`, or no address for an embedded cluster")
    return rest


def embedded(options: Dict[str, Any]) -> Dict[str, Any]:
    """What `penstock.Client` is given for a cluster of this process; keeps how many workers that stands for."""
    workers, threads = options.pop("n_workers", None), options.pop("threads_per_worker", None)
    limit = options.pop("memory_limit", None)
    for name in ("resources", "env", "environment", "security", "worker_class", "scheduler_class", "preload",
                 "host_name"):
        if options.get(name):
            raise PenstockError("is not for a cluster that is started this way", subject=f"{name}=",
                                remedy="start `penstock supervisor` "
                                "and `penstock worker` with a configuration (docs/operations.md), and Client(address)")
        options.pop(name, None)
    for name in WITHOUT_EFFECT:
        options.pop(name, None)
    ours = {name: options.pop(name) for name in ("slots", "memory", "python", "working_directory", "lineage", "warm",
                                                 "operators")
            if name in options}
    if options:
        raise TypeError(f"Client() got an unexpected keyword argument {sorted(options)[0]!r}")
    slots = slots_of(workers, threads)
    if slots:
        ours.setdefault("slots", slots)
    memory = memory_of(limit, workers or 1)
    if memory:
        ours.setdefault("memory", memory)
    return ours


def slots_of(workers: Optional[int], threads: Optional[int]) -> int:
    """One process for each thread that was asked for; 0: one for each processor."""
    if workers is None and threads is None:
        return 0
    if workers == 0:
        raise PenstockError("would run nothing, and workers are not added to it later", subject="n_workers=0",
                            remedy="start `penstock supervisor` and later `penstock worker`, and Client(address)")
    return max(1, workers or max(1, len(os.sched_getaffinity(0)) // (threads or 1))) * max(1, threads or 1)


def memory_of(limit: Any, workers: int) -> int:
    """Bytes of all; 0: as Penstock divides."""
    if limit in (None, 0, "0", "auto") or isinstance(limit, float) and limit <= 1:
        return 0
    return int(parse_bytes(limit) if isinstance(limit, str) else limit) * workers


class EmbeddedCluster:
    """The cluster of a client that has started one in this process."""

    status = "running"

    def __init__(self, client: Any, slots: int):
        self._counts_as, self.name = slots, "embedded"
        self.scheduler_address, self.dashboard_link = client.scheduler.address, None

    def close(self, timeout: Any = None) -> None:
        """The client's `close` ends it."""

    def _end(self):
        self.status = "closed"


class LocalCluster:
    """Workers on this host. Without `program` they are one worker with `n_workers * threads_per_worker` slots in this
    process, begun when its client opens. `program`, the path of `penstock` or True to look for it, starts a supervisor
    and `n_workers` workers with `threads_per_worker` slots each, as processes that end with this object."""

    dashboard_link = None

    def __init__(self, n_workers: Optional[int] = None, threads_per_worker: Optional[int] = None,
                 processes: Optional[bool] = None,
                 memory_limit: Any = "auto", program: Any = None, asynchronous: bool = False,
                 name: Optional[str] = None,
                 **options: Any):
        self._given = {"n_workers": n_workers, "threads_per_worker": threads_per_worker, "memory_limit": memory_limit,
                       **options}
        embedded(dict(self._given))  # Raises what is wrong with them.
        self.name, self.status, self.asynchronous = name or "local", "running", asynchronous
        self._address: Optional[str] = None
        self._processes, self._directory, self._client = [], None, None
        self._counts_as = 1 if program else max(n_workers or 1, slots_of(n_workers, threads_per_worker) or 1)
        if program:
            self._start(_program(program), n_workers or 1, threads_per_worker or 1, memory_limit)

    @property
    def scheduler_address(self) -> str:
        """As `Client` takes it; of an embedded one there is none that other processes reach."""
        return f"tcp://{self._address}" if self._address else _workers.EMBEDDED

    @property
    def workers(self) -> Dict[str, Any]:
        """{address: what is known of a worker}"""
        return self.scheduler_info["workers"]

    @property
    def scheduler_info(self) -> Dict[str, Any]:
        """See `Client.scheduler_info`; empty while no client is open."""
        client = self._client
        return client._scheduler_info() if client is not None and not client.closed else {"workers": {}}

    def get_client(self) -> Any:
        """A client of this cluster."""
        from penstock.distributed import Client
        return Client(self)

    def wait_for_workers(self, n_workers: int = 1, timeout: Any = None) -> None:
        """See `Client.wait_for_workers`."""
        if self._client is not None and not self._client.closed:
            self._client._wait_for_workers(n_workers, timeout)

    def scale(self, n: Optional[int] = None, **_: Any) -> None:
        """Refused, unless that is how many there are."""
        if n != self._counts_as:
            raise PenstockError("keeps the workers that it was started with", subject="a local cluster",
                                remedy="start another, or add `penstock worker --supervisor HOST:PORT` to one at an "
                                "address")

    def adapt(self, **_: Any) -> None:
        """Refused: see `scale`."""
        self.scale(None)

    def close(self, timeout: Any = None) -> Any:
        """Ends it and its client."""
        if self._client is not None:
            self._client.close()
        self._end()
        from penstock.distributed._asynchronous import _Known
        return _Known(None) if self.asynchronous else None

    def __enter__(self) -> "LocalCluster":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __await__(self) -> Any:
        from penstock.distributed._asynchronous import _Known
        return _Known(self).__await__()

    async def __aenter__(self) -> "LocalCluster":
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.close()

    def __del__(self):
        self._end()

    def __repr__(self):
        return f"LocalCluster({self.name}, {self.scheduler_address}, {self.status})"

    # ---- inside ----

    def _check_free(self):
        if self._address is None and self._client is not None and not self._client.closed:
            raise PenstockError("has its client, and others do not reach it", subject="an embedded cluster",
                                remedy="use that one, or LocalCluster(program=True), which has an address")
        if self.status == "closed":
            raise PenstockError("is closed", subject=repr(self), remedy="start another")

    def _be_used_by(self, client):
        self._client = client

    def _start(self, program, workers, threads, limit):
        self._directory = tempfile.mkdtemp(prefix="penstock-cluster-")
        place = pathlib.Path(self._directory)
        self._run(program, "supervisor", "--state", str(place / "state"), "--listen", "127.0.0.1:0", "--address-file",
                  str(place / "address"))
        late = time.monotonic() + START_S
        while not (place / "address").exists() or not (place / "address").read_text().strip():
            if self._processes[0].poll() is not None or time.monotonic() > late:
                self._end()
                raise PenstockError("has not started", subject=f"{program} supervisor",
                                    remedy="start it by hand and see what it says")
            time.sleep(0.01)
        self._address = (place / "address").read_text().strip()
        memory = memory_of(limit, 1)
        for number in range(workers):
            self._run(program, "worker", "--supervisor", self._address, "--name", f"worker-{number}", "--slots",
                      str(threads),
                      *(["--memory", str(memory)] if memory else []))

    def _run(self, program, *arguments):
        self._processes.append(subprocess.Popen([program, *arguments, "--log-level", "error"], cwd=self._directory))

    def _end(self):
        self.status = "closed"
        processes, self._processes = getattr(self, "_processes", []), []
        for process in reversed(processes):
            process.terminate()
        for process in processes:
            try:
                process.wait(START_S)
            except subprocess.TimeoutExpired:
                process.kill()
        if getattr(self, "_directory", None):
            shutil.rmtree(self._directory, ignore_errors=True)
            self._directory = None


def _program(given):
    """The path of `penstock`: named, in PATH, or beside the library."""
    if given is not True:
        return os.fspath(given)
    beside = pathlib.Path(_abi.library().path).parent / "penstock"
    found = shutil.which("penstock") or (str(beside) if os.access(beside, os.X_OK) and beside.is_file() else None)
    if found is None:
        raise PenstockError("is not in PATH, nor beside the library", subject="the program penstock",
                            remedy="name it: LocalCluster(program=PATH); or without it, embedded in this process")
    return found
