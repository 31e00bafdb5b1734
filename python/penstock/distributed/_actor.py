"""Actors as `dask.distributed` has them: `client.submit(Class, actor=True)` over `penstock.actors`."""
import asyncio
import uuid
from typing import Any

from dask.utils import funcname

import penstock
from penstock import actors
from penstock.actors import ActorFuture
from penstock.errors import ActorDied

BaseActorFuture = ActorFuture


class Actor(actors.Actor):
    """A handle: methods return futures, attributes their values, and where an event loop runs futures of these."""

    __slots__ = ()

    def __getattr__(self, name: str) -> Any:
        if name[:1] != "_" and name not in self._facts["methods"] and name != "kill" and _is_in_loop():
            return actors.read(self, name)
        return super().__getattr__(name)

    @property
    def key(self) -> str:
        """Names it."""
        return str(self._facts["job"])


def _is_in_loop():
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def submitted(client: Any, kind: Any, args: tuple, kwargs: dict, key: Any, workers: Any, resources: Any, retries: Any,
              priority: int) -> Any:
    """The future of a handle, which has a value when the object is there. The actor ends when nobody in this process has
    the future or the handle any more; `retries` are its restarts."""
    if not isinstance(kind, type):
        raise TypeError(f"an actor is made of a class, not of {kind!r}")
    if key is not None and client._live(key) is not None:
        known = client._live(key)
        known._handed_out += 1
        return known
    key = f"{funcname(kind)}-{uuid.uuid4()}" if key is None else key
    made = actors.create(kind, args, kwargs, client=client, detached=False, workers=workers, resources=resources,
                         restarts=retries or 0, priority=priority)
    future = client._be_known(client._future_kind(client, str(key)), key)
    handle = Actor(made._facts, client, made._owner)

    def tell(ready: Any) -> None:
        error = ready.exception()
        if error is None:
            penstock.Future.set_result(future, handle)
        else:  # What its __init__ has raised is what Dask raises.
            future._fail(error.__cause__ if isinstance(error, ActorDied) and error.__cause__ else error)
    actors.awaited(handle).add_done_callback(tell)
    return future
