"""What others' clients have and ours has not, and what is there instead."""
_EACH_WORKER = "name a worker by submit(..., workers=NAME); set what all need by Client(environment=..., files=...)"
_COMMANDS = "ask the cluster: `penstock workers`, `penstock jobs`, `/metrics` (docs/operations.md)"
_KEPT = "submit a graph under a name, client.graph().submit(name=...), and attach(name) from elsewhere"
HINTS = {"run": _EACH_WORKER, "run_on_scheduler": _EACH_WORKER, "register_plugin": _EACH_WORKER,
         "register_worker_plugin": _EACH_WORKER, "upload_file": "give Client(), submit() or get() files=[...]",
         "scheduler_info": _COMMANDS, "who_has": _COMMANDS, "has_what": _COMMANDS, "nthreads": _COMMANDS,
         "ncores": _COMMANDS, "processing": _COMMANDS, "call_stack": _COMMANDS, "profile": _COMMANDS,
         "dashboard_link": _COMMANDS, "wait_for_workers": "calls wait for workers by themselves",
         "publish_dataset": _KEPT, "get_dataset": _KEPT, "list_datasets": _KEPT, "unpublish_dataset": _KEPT,
         "replicate": "data are copied to where they are read", "rebalance": "data stay where they are read next",
         "restart": "end the workers and start others; what they held is made again"}


def missing(_, name):
    """`Client.__getattr__`."""
    raise AttributeError(f"Penstock's Client has no {name!r}" + (f": {HINTS[name]}" if name in HINTS else ""))
