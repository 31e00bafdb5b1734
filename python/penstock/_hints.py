"""What others' clients have and ours has not, and what is there instead."""
from penstock.errors import PenstockError

_EACH_WORKER = "name a worker by submit(..., workers=NAME); set what all need by Client(environment=..., files=...)"
_COMMANDS = "ask the cluster: `penstock workers`, `penstock jobs`, `penstock counters` (docs/cli.md)"
_STORY = "`penstock explain JOB SUBTASK`, `penstock job JOB`, client.logs(future) (docs/cli.md)"
_WITHIN = "in a call penstock.get_client() is the client of its cluster, and penstock.current_attempt() says what runs there"
_BETWEEN = "penstock.Variable and the like (docs/coordination.md), or an actor that keeps it (docs/actors.md)"
HINTS = {"run": _EACH_WORKER, "run_on_scheduler": _EACH_WORKER, "register_plugin": _EACH_WORKER,
         "register_worker_plugin": _EACH_WORKER, "upload_file": "give Client(), submit() or get() files=[...]",
         "scheduler_info": _COMMANDS, "who_has": _COMMANDS, "has_what": _COMMANDS, "nthreads": _COMMANDS,
         "ncores": _COMMANDS, "processing": _COMMANDS, "call_stack": _COMMANDS, "profile": _COMMANDS,
         "dashboard_link": _COMMANDS, "wait_for_workers": "calls wait for workers by themselves",
         "replicate": "data are copied to where they are read", "rebalance": "data stay where they are read next",
         "shutdown": "close() ends an embedded cluster; another is ended where it was started",
         "get_worker_logs": "client.logs(future), or job.logs()", "retire_workers": "`penstock drain WORKER` (docs/operations.md)",
         "cluster": _COMMANDS, "get_versions": _COMMANDS, "get_task_stream": _COMMANDS,
         "story": _STORY, "get_task_metadata": _STORY, "dump_cluster_state": _COMMANDS,
         "set_metadata": _BETWEEN, "get_metadata": _BETWEEN, "log_event": "print: client.logs(future)",
         "restart": "end the workers and start others; what they held is made again"}


MODULE_HINTS = {"get_worker": _WITHIN,
                "LocalCluster": "Client() starts one inside this process", "default_client": "penstock.dask.default_client()"}


def missing_in_module(name):
    """`penstock.__getattr__`."""
    raise AttributeError(f"module 'penstock' has no attribute {name!r}" + (f": {MODULE_HINTS[name]}" if name in MODULE_HINTS else ""))


def missing(_, name):
    """`Client.__getattr__`."""
    raise AttributeError(f"Penstock's Client has no {name!r}" + (f": {HINTS[name]}" if name in HINTS else ""))


def address(given):
    """An address as it is; that of an Arrow Flight server is refused here, where the way out is known."""
    if isinstance(given, str) and given.startswith("grpc"):
        raise PenstockError("is the address of an Arrow Flight server, whose protocol Penstock does not speak", subject=given,
                            remedy="Client(\"host:port\") of a supervisor; tables travel without a copy and without Flight "
                            "(docs/engines/buffers.md)")
    return given
