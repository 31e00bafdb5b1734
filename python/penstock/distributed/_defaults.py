"""The clients that are used where none is named, and that compute Dask collections."""
import contextlib
import contextvars
import sys
import threading
from typing import Any

import dask

_lock = threading.RLock()
_clients: list = []                 # The latest last; Dask's configuration keeps them, too.
_before: list = []                  # What that said before the first.
_current: "contextvars.ContextVar[Any]" = contextvars.ContextVar("penstock-client", default=None)


def add(client: Any) -> None:
    """From now on this one is the default."""
    with _lock:
        if not _clients:
            _before[:] = [dask.config.get("scheduler", None)]
        _clients.append(client)
        dask.config.set({"scheduler": client._compute_collections})


def remove(client: Any) -> None:
    """The one before it is the default again; with the last one Dask's configuration is what it was."""
    with _lock:
        if client not in _clients:
            return
        _clients.remove(client)
        if dask.config.get("scheduler", None) != client._compute_collections:
            return  # It was set otherwise meanwhile.
        dask.config.set({"scheduler": _clients[-1]._compute_collections if _clients else _before.pop()})


def latest() -> Any:
    """The default client, or None."""
    named = _current.get()
    if named is not None and not named.closed:
        return named
    with _lock:
        return next((client for client in reversed(_clients) if not client.closed), None)


@contextlib.contextmanager
def as_current(client: Any) -> Any:
    """Within the block this one is the default."""
    token = _current.set(client)
    try:
        yield client
    finally:
        _current.reset(token)


def persists(frame: Any) -> bool:
    """Whether Dask calls its scheduler to persist a collection, of which the parts are to stay on the cluster."""
    return frame.f_code.co_name == "persist" and frame.f_globals.get("__name__") == "dask.base"


def calling_frame() -> Any:
    """Of whoever calls the caller of this."""
    return sys._getframe(2)
