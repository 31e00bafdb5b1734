"""Penstock: task graphs of dataframe and tensor engines, on one host or many.

>>> from penstock import Client
>>> client = Client()                                               # doctest: +SKIP
>>> client.gather(client.map(abs, [-1, 2]))                         # doctest: +SKIP
[1, 2]
"""
from typing import TYPE_CHECKING

from penstock import errors

__version__ = "0.2.0"

_PLACES = {"Client": "_client", "Future": "_futures", "GraphBuilder": "_builder", "Job": "_builder",
           "Options": "_graph", "as_completed": "_waiting", "wait": "_waiting", "progress": "_waiting",
           "fire_and_forget": "_waiting", "Attempt": "_attempt", "current_attempt": "_attempt",
           "yield_slot": "_attempt", "get_client": "_nested", "worker_client": "_nested", "secede": "_nested",
           "rejoin": "_nested", "describe": "_outputs", "statistics": "_outputs", "Pool": "_multiprocessing",
           **dict.fromkeys(("Actor", "actor", "get_actor", "current_actor"), "actors"),
           "register_reducer": "_reducers", "register_dlpack": "_reducers",
           **dict.fromkeys(("Lock", "Semaphore", "Event", "Variable", "Queue", "Pub", "Sub"), "coordination")}
__all__ = [*_PLACES, *[name for name in vars(errors) if isinstance(vars(errors)[name], type) and name[0] != "_"]]

if TYPE_CHECKING:
    from penstock._attempt import Attempt, current_attempt, yield_slot
    from penstock._builder import GraphBuilder, Job
    from penstock._client import Client
    from penstock._futures import Future
    from penstock._graph import Options
    from penstock._multiprocessing import Pool
    from penstock._nested import get_client, rejoin, secede, worker_client
    from penstock._outputs import describe, statistics
    from penstock.actors import Actor, actor, current_actor, get_actor
    from penstock._reducers import register_dlpack, register_reducer
    from penstock.coordination import Event, Lock, Pub, Queue, Semaphore, Sub, Variable
    from penstock._waiting import as_completed, fire_and_forget, progress, wait


def __getattr__(name):
    """Loads a part when it is asked for: a runner needs few of them, and starts the sooner."""
    if name in _PLACES:
        import importlib
        value = getattr(importlib.import_module("penstock." + _PLACES[name]), name)
    elif name == "actors":
        import importlib
        value = importlib.import_module("penstock.actors")
    elif name in __all__:
        value = getattr(errors, name)
    else:
        from penstock._hints import missing_in_module
        missing_in_module(name)
    globals()[name] = value
    return value
