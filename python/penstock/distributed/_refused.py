"""What `dask.distributed` has and this package has not (yet): each says so when it is used, and names what does it."""
import enum
from typing import Any

import dask

from penstock.errors import PenstockError, RunnerCrashed

config = dask.config
KilledWorker = RunnerCrashed  # What is raised when the process of a call has died too often.
_REASONS = {
    "Scheduler": "`penstock supervisor` is one", "Nanny": "a worker starts its runners again itself",
    "Security": "TLS is configured for the whole cluster, see docs/operations.md",
    "SSHCluster": "start `penstock worker --supervisor HOST:PORT` on each host (docs/operations.md)",
    "SpecCluster": "start `penstock supervisor` and `penstock worker` (docs/operations.md)",
    "Adaptive": "start and drain workers where they run (docs/operations.md)",
    "SchedulerPlugin": "policy is configured: docs/policy.md", "NannyPlugin": "a WorkerPlugin does what processes need",
    "PipInstall": "install packages where workers are started, or send modules by upload_file",
    "CondaInstall": "install packages where workers are started, or send modules by upload_file",
    "get_task_stream": "`penstock jobs`, `penstock explain`, client.ask('counters') (docs/cli.md)",
    "get_task_metadata": "`penstock jobs`, `penstock explain` (docs/cli.md)",
}


def _refuse(name):
    raise PenstockError("is not offered", subject=f"penstock.distributed.{name}", code="Unsupported",
                        remedy=_REASONS[name])


class _Refused:
    """Can be imported and named; to make one says why there is none."""

    def __new__(cls, *_: Any, **__: Any) -> Any:
        return _refuse(cls.__name__)


class Status(enum.Enum):
    """Of a worker, in Dask's words."""

    init, running, paused, closing, closed = "init", "running", "paused", "closing", "closed"


globals().update({name: type(name, (_Refused,), {"__module__": "penstock.distributed",
                                                 "__doc__": f"Not offered: {why}."})
                  for name, why in _REASONS.items()})
