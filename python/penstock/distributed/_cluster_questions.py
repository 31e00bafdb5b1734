"""What a client asks about workers and about where values are, in the words of `dask.distributed`."""
import os
import platform
import sys
import time
from collections import defaultdict
from concurrent.futures import TimeoutError
from typing import Any, Dict, Iterable, Optional, Tuple

from penstock.distributed import _workers
from penstock.distributed._future import seconds
from penstock.distributed._waiting import futures_of
from penstock.errors import PenstockError

EMBEDDED_S = 30     # For the worker of an embedded cluster to connect.
LOOK_S = 0.02       # How often it is asked whether a worker has come.
PACKAGES = ("penstock", "dask", "cloudpickle", "numpy", "pandas", "pyarrow")


class ClusterQuestions:
    """Of a `Client`."""

    dashboard_link = None  # There is no dashboard: `penstock jobs`, `penstock queues`, ... (docs/cli.md).

    def _workers_named(self, wanted):
        """{address: what the supervisor says of it} of all workers, or of those named by address, name or host."""
        late = time.monotonic() + EMBEDDED_S
        while not (found := _workers.by_address(self.ask("workers"))):
            if self.address is not None or time.monotonic() > late:
                break
            time.sleep(LOOK_S)  # The worker of an embedded cluster is on its way.
        if wanted is None:
            return found
        chosen = {}
        for one in [wanted] if isinstance(wanted, (str, int)) else wanted:
            those = {address: worker for address, worker in found.items() if _workers.is_named(address, worker, one)}
            if not those:
                raise PenstockError(f"there is none; there are {', '.join(found)}", subject=f"worker {one!r}",
                                    code="NotFound",
                                    remedy="name workers as client.scheduler_info()['workers'] has them")
            chosen.update(those)
        return chosen

    def scheduler_info(self, n_workers: int = -1, **_: Any) -> Any:
        """The supervisor and its workers, as Dask describes them."""
        return self._ask_now_or_later(self._scheduler_info)

    def _scheduler_info(self):
        found = self._workers_named(None)
        bands = self.ask("bands")
        return {"type": "Scheduler", "id": f"Supervisor-{self.scheduler.address}", "address": self.scheduler.address,
                "services": {}, "started": 0.0, "n_workers": len(found),
                "total_threads": sum(worker["slots"] for worker in found.values()),
                "workers": {address: _workers.described(worker, bands) for address, worker in found.items()}}

    def nthreads(self, workers: Any = None, **_: Any) -> Any:
        """{address of a worker: its slots}"""
        return self._ask_now_or_later(self._nthreads, workers)

    ncores = nthreads

    def _nthreads(self, workers):
        return {address: worker["slots"] for address, worker in self._workers_named(workers).items()}

    def who_has(self, futures: Any = None, **_: Any) -> Any:
        """{key: addresses of workers that have its value}; without futures, of all that somebody here holds."""
        return self._ask_now_or_later(self._who_has, futures)

    def _who_has(self, futures):
        wanted = list(self._by_key.values()) if futures is None else futures_of([futures])
        addresses = _workers.names_of(self._workers_named(None))
        return {future.key: self._places_of(future, addresses) for future in wanted}

    def _places_of(self, future, addresses) -> Tuple[str, ...]:
        if future._batch is None or not future.done() or future.status != "finished":
            return ()  # What was scattered is here, and on a worker only once a call has read it.
        told = self.explain_data(future)
        return tuple(dict.fromkeys(addresses[worker] for worker in _workers.holders(told) if worker in addresses))

    def has_what(self, workers: Any = None, **_: Any) -> Any:
        """{address of a worker: keys whose values it has}, of the futures that somebody here holds."""
        return self._ask_now_or_later(self._has_what, workers)

    def _has_what(self, workers):
        held: Dict[str, list] = defaultdict(list)
        for key, places in self._who_has(None).items():
            for place in places:
                held[place].append(key)
        return {address: tuple(held[address]) for address in self._workers_named(workers)}

    def wait_for_workers(self, n_workers: int = 1, timeout: Any = None) -> Any:
        """Until so many workers are there. An embedded cluster is one worker, which counts as those that were asked
        for."""
        if not isinstance(n_workers, int) or isinstance(n_workers, bool) or n_workers < 1:
            raise ValueError(f"`n_workers` must be a positive integer. Instead got {n_workers}.")
        return self._ask_now_or_later(self._wait_for_workers, n_workers, seconds(timeout))

    def _wait_for_workers(self, count, timeout):
        late = None if timeout is None else time.monotonic() + timeout
        more = getattr(self.cluster, "_counts_as", 1)
        while True:
            there = len(self._workers_named(None))
            if there * more >= count:
                return
            if late is not None and time.monotonic() > late:
                raise TimeoutError(f"Only {there}/{count} workers arrived after {timeout} s")
            time.sleep(LOOK_S)

    def get_versions(self, check: bool = False, packages: Optional[Iterable[str]] = None) -> Any:
        """Versions here and on each worker; `check`: raises if they differ."""
        def compare(workers):
            here = versions(packages or ())
            found = {"scheduler": here, "client": here, "workers": workers}
            different = sorted({name for one in workers.values() for name, version in one["packages"].items()
                                if version != here["packages"].get(name)})
            if check and different:
                raise ValueError(f"Mismatched versions found: {', '.join(different)}")
            return found
        told = self.run(versions, tuple(packages or ()))
        if not self.asynchronous:
            return compare(told)

        async def later():
            return compare(await told)
        return later()

    def write_scheduler_file(self, scheduler_file: str) -> None:
        """The address as JSON, for `Client(scheduler_file=...)`; of an embedded cluster there is none."""
        import json
        if self.address is None:
            raise PenstockError("has no address that others reach", subject="an embedded cluster",
                                remedy="start `penstock supervisor` and `penstock worker`, and Client(address)")
        with open(scheduler_file, "w") as file:
            json.dump({"type": "Scheduler", "address": self.scheduler.address}, file)

    @property
    def scheduler(self) -> "_workers.Address":
        """What stands for Dask's scheduler: its `address`."""
        return _workers.Address(f"tcp://{self.address}" if self.address else _workers.EMBEDDED, self)


def versions(packages: Iterable[str]) -> Dict[str, Any]:
    """Of this process."""
    from importlib import metadata
    found: Dict[str, Optional[str]] = {"python": ".".join(map(str, sys.version_info))}
    for name in (*PACKAGES, *packages):
        try:
            found[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            module = sys.modules.get(name)
            found[name] = getattr(module, "__version__", None)
    return {"host": {"python": platform.python_version(), "OS": platform.system(), "machine": platform.machine(),
                     "byteorder": sys.byteorder, "cpus": os.cpu_count()}, "packages": found}
