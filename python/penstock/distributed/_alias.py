"""`import distributed` and `dask.distributed` find this package where that is wanted: `install()`."""
import importlib
import importlib.abc
import importlib.util
import sys
from typing import Any

from penstock.errors import PenstockError

# Names that libraries import from there, beside those of the package itself.
PLACES = {
    "client": ("Client", "Future", "wait", "as_completed", "futures_of", "default_client", "get_client",
               "fire_and_forget",
               "ALL_COMPLETED", "FIRST_COMPLETED", "CancelledError", "FutureCancelledError", "performance_report"),
    "worker": ("Worker", "get_worker", "get_client", "secede"),
    "worker_client": ("worker_client", "get_worker", "get_client"),
    "threadpoolexecutor": ("secede", "rejoin"),
    "deploy": ("LocalCluster",), "deploy.local": ("LocalCluster",), "deploy.spec": ("SpecCluster",),
    "deploy.adaptive": ("Adaptive",),
    "diagnostics": ("progress", "WorkerPlugin"), "diagnostics.plugin": ("WorkerPlugin", "SchedulerPlugin",
                                                                        "NannyPlugin", "UploadFile",
                                                                       "Environ", "PipInstall"),
    "diagnostics.progressbar": ("progress",), "lock": ("Lock",), "event": ("Event",), "queues": ("Queue",),
    "variable": ("Variable",), "semaphore": ("Semaphore",), "pubsub": ("Pub", "Sub"), "multi_lock": ("MultiLock",),
    "actor": ("Actor",), "security": ("Security",), "scheduler": ("Scheduler", "KilledWorker"), "nanny": ("Nanny",),
    "core": ("Status",),
    "utils": (), "comm": (), "metrics": (), "protocol": (), "protocol.serialize": (), "versions": (),
}


def _parts(name):
    """Functions of those modules that are not of the package itself."""
    from penstock.distributed import _utils
    return getattr(_utils, name.replace(".", "_").upper(), {})


class _Finder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finds `distributed` and its modules here."""

    def find_spec(self, name: str, path: Any = None, target: Any = None) -> Any:
        """Of a module, or None for those of others."""
        root, _, rest = name.partition(".")
        if root != "distributed":
            return None
        if rest and rest not in PLACES:
            raise ModuleNotFoundError(f"No module named {name!r}: Penstock stands in for distributed, and has no such "
                                      "part of it (docs/engines/dask-distributed.md)", name=name)
        return importlib.util.spec_from_loader(name, self,
                                               is_package=not rest or rest in ("deploy", "diagnostics", "protocol",
                                                                               "comm"))

    def create_module(self, spec: Any) -> Any:
        """As usual."""
        return None

    def exec_module(self, module: Any) -> None:
        """Fills it."""
        ours = importlib.import_module("penstock.distributed")
        rest = module.__name__.partition(".")[2]
        if not rest:
            module.__all__ = list(ours.__all__)
            module.__getattr__ = lambda name: _of_package(ours, name)
            return
        names = PLACES[rest]
        parts = _parts(rest)

        def look(name):
            if name in names:
                return getattr(ours, name)
            if name in parts:
                return parts[name]
            raise AttributeError(f"module {module.__name__!r} has no {name!r}: Penstock stands in for distributed "
                                 "(docs/engines/dask-distributed.md)")
        module.__getattr__ = look


def _of_package(ours, name):
    if name in PLACES:
        return importlib.import_module(f"distributed.{name}")
    return getattr(ours, name)


_finder = _Finder()


def is_installed() -> bool:
    """Whether `import distributed` finds this package."""
    return _finder in sys.meta_path


def install() -> None:
    """From now on `import distributed` and `from dask.distributed import ...` find `penstock.distributed`, here and in
    the calls of clients that are opened later; these calls may return sockets. Raises `PenstockError` if Dask's own is imported already."""
    if is_installed():
        return
    found = sys.modules.get("distributed")
    if found is not None:
        raise PenstockError("is imported already", subject="distributed",
                            remedy="call penstock.distributed.install() before "
                            "anything that imports it, first in the program")
    from penstock.distributed import _sockets
    sys.meta_path.insert(0, _finder)
    _sockets.register()
    sys.modules.pop("dask.distributed", None)  # It may have said that there is none.


def uninstall() -> None:
    """`import distributed` finds Dask's own again."""
    if is_installed():
        sys.meta_path.remove(_finder)
        for name in list(sys.modules):
            if name.partition(".")[0] == "distributed" or name == "dask.distributed":
                del sys.modules[name]
