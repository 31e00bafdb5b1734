"""How collections are shuffled that Penstock computes, where nothing is said: by "tasks". Dask would go through files of
one host. Dask asks its configuration when a shuffle is built (until 2023) or when a computation begins (since), so that is
where the answer depends on who computes; other schedulers keep Dask's own default."""
# tidy: foreign-file tasks, scheduler, shuffle
import functools
import sys
from typing import Any

import dask
from dask import config

NAMES = ("dataframe.shuffle.method", "shuffle")  # The latter until 2023.
COMPUTING = ("compute", "persist")
_original = config.get
_unset = object()


def _is_ours(scheduler):
    """Whether this computes on Penstock: `penstock.dask.get`, also with options, or a client or its `get`."""
    from penstock import _client
    while isinstance(scheduler, functools.partial):
        scheduler = scheduler.func
    owner = getattr(scheduler, "__self__", scheduler)
    return isinstance(owner, _client.Client) or (getattr(scheduler, "__module__", "") or "").startswith("penstock.")


def _computes_here():
    """Of the computation that asks, else of the configuration."""
    frame = sys._getframe(2)
    while frame is not None:
        if frame.f_code.co_name in COMPUTING and (frame.f_globals.get("__name__") or "").startswith("dask."):
            known = frame.f_locals
            given = known.get("schedule") or known.get("scheduler") or (known.get("kwargs") or {}).get("scheduler")
            if given is not None:
                return _is_ours(given)
        frame = frame.f_back
    return _is_ours(_original("scheduler", None))


@functools.wraps(_original)
def get(key: str, *arguments: Any, **options: Any) -> Any:
    """`dask.config.get`, which answers for a shuffle that Penstock will compute."""
    if key in NAMES and _original(key, _unset) in (_unset, None) and _computes_here():
        return "tasks"
    return _original(key, *arguments, **options)


def install() -> None:
    """Once for a process."""
    if config.get is not get:
        config.get = get
        dask.config.get = get
