"""The clients that are used where none is named, and that compute Dask collections."""
import contextlib
import contextvars
import sys
import threading
import weakref
from typing import Any

import dask

_lock = threading.RLock()
_clients: list = []                 # Weakly, the latest last.
_before: list = []                  # What Dask's configuration said before the first.
_current: "contextvars.ContextVar[Any]" = contextvars.ContextVar("penstock-client", default=None)


def add(client: Any) -> None:
    """From now on this one is the default."""
    with _lock:
        _forget_closed()
        if not _clients:
            _before[:] = [dask.config.get("scheduler", None)]
        _clients.append(weakref.ref(client))
        dask.config.set({"scheduler": compute})


def remove(client: Any) -> None:
    """The one before it is the default again; with the last one Dask's configuration is what it was."""
    with _lock:
        _clients[:] = [one for one in _clients if one() is not None and one() is not client]
        _forget_closed()


def _forget_closed():
    _clients[:] = [one for one in _clients if one() is not None and not one().closed]
    if not _clients and _before:
        before = _before.pop()
        if dask.config.get("scheduler", None) is compute:
            dask.config.set({"scheduler": before})


def latest() -> Any:
    """The default client, or None."""
    named = _current.get()
    if named is not None and not named.closed:
        return named
    with _lock:
        for one in reversed(_clients):
            client = one()
            if client is not None and not client.closed:
                return client
    return None


@contextlib.contextmanager
def as_current(client: Any) -> Any:
    """Within the block this one is the default."""
    token = _current.set(client)
    try:
        yield client
    finally:
        _current.reset(token)


def compute(graph: Any, keys: Any, **options: Any) -> Any:
    """Stands as the `scheduler` in Dask's configuration. What is persisted stays on the cluster."""
    client = latest()
    if client is None:
        raise RuntimeError("the client by which Dask was to compute is gone: open another "
                           "penstock.distributed.Client()")
    if client._is_asynchronous:
        raise RuntimeError("Attempting to use an asynchronous Client in a synchronous context of `dask.compute`: "
                           "await client.compute(collection)")
    caller = sys._getframe(1)
    if caller.f_code.co_name == "persist" and caller.f_globals.get("__name__") == "dask.base":
        futures = client.get(graph, keys, sync=False)
        return futures
    return client.get(graph, keys, **options)
