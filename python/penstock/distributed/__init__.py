"""The interface of `dask.distributed` on Penstock: change one import, or call `install()`.

>>> from penstock.distributed import Client                           # doctest: +SKIP
>>> client = Client()                                                 # doctest: +SKIP
>>> client.submit(sum, [1, 2]).result()                               # doctest: +SKIP
3

`docs/engines/dask-distributed.md` says what is offered, what differs and what is refused.
"""
import importlib
from concurrent.futures import TimeoutError
from typing import TYPE_CHECKING

ALL_COMPLETED, FIRST_COMPLETED = "ALL_COMPLETED", "FIRST_COMPLETED"

_PLACES = {
    **dict.fromkeys(("Client", "CancelledError"), "_client"),
    **dict.fromkeys(("Future", "FutureCancelledError"), "_future"),
    **dict.fromkeys(("wait", "as_completed", "fire_and_forget", "futures_of", "progress"), "_waiting"),
    "LocalCluster": "_cluster", "performance_report": "_report",
    **dict.fromkeys(("Worker", "get_worker", "get_client", "worker_client", "default_client", "secede", "rejoin"),
                    "_here"),
    **dict.fromkeys(("WorkerPlugin", "Environ", "UploadFile"), "_plugins"),
    **dict.fromkeys(("install", "uninstall"), "_alias"),
    **dict.fromkeys(("Lock", "MultiLock"), "_lock"),
    **dict.fromkeys(("Actor", "ActorFuture", "BaseActorFuture"), "_actor"),
    **dict.fromkeys(("Scheduler", "Nanny", "Security", "SSHCluster", "SpecCluster", "Adaptive",
                     "Status",
                     "SchedulerPlugin", "NannyPlugin", "PipInstall", "CondaInstall", "KilledWorker", "get_task_stream",
                     "get_task_metadata", "config"), "_refused"),
}
_SHARED = ("Event", "Variable", "Queue", "Semaphore", "Pub", "Sub")  # As `penstock` has them.
__all__ = sorted([*_PLACES, *_SHARED, "ALL_COMPLETED", "FIRST_COMPLETED", "TimeoutError"])

if TYPE_CHECKING:
    from penstock.coordination import Event, Pub, Queue, Semaphore, Sub, Variable
    from penstock.distributed._alias import install, uninstall
    from penstock.distributed._actor import Actor, ActorFuture, BaseActorFuture
    from penstock.distributed._client import CancelledError, Client
    from penstock.distributed._cluster import LocalCluster
    from penstock.distributed._future import Future, FutureCancelledError
    from penstock.distributed._here import Worker, default_client, get_client, get_worker, rejoin, secede, worker_client
    from penstock.distributed._lock import Lock, MultiLock
    from penstock.distributed._plugins import Environ, UploadFile, WorkerPlugin
    from penstock.distributed._report import performance_report
    from penstock.distributed._waiting import as_completed, fire_and_forget, futures_of, progress, wait


def __getattr__(name):
    """Loads a part when it is asked for: a runner needs few of them."""
    if name in ("__version__", "version"):  # Libraries compare it with that of Dask.
        import dask
        value = dask.__version__
    elif name in _PLACES:
        value = getattr(importlib.import_module(f"penstock.distributed.{_PLACES[name]}"), name)
    elif name in _SHARED:
        value = getattr(importlib.import_module("penstock.coordination"), name)
    else:
        raise AttributeError(f"module 'penstock.distributed' has no attribute {name!r}: docs/engines/dask-distributed.md has "
                             "what is offered")
    globals()[name] = value
    return value
