"""Futures with the manners of `dask.distributed`: shared by their keys, and awaited where the client is
asynchronous."""
import asyncio
import functools
import traceback
from concurrent.futures import CancelledError
from typing import Any, Generator, Optional

import penstock
from penstock import _graph

FutureCancelledError = CancelledError


class Future(penstock.Future):
    """The result of one call, as `dask.distributed.Future`. With an asynchronous client, `result`, `exception` and
    `traceback` are awaited."""

    __slots__ = ("_named", "_handed_out", "_dropped")

    def __init__(self, client, key=""):
        super().__init__(client, key)
        if not isinstance(client, penstock.Client):
            raise TypeError(f"Future({client!r}): futures are made by a client; client.futures[key] is one "
                            "that somebody holds")
        self._named = None      # A key that is no text, or was made of what is called.
        self._handed_out = 1    # To how many it was given: `release` counts them.
        self._dropped = ""      # What became of it after it had ended: "cancelled" or "released".

    @property
    def key(self) -> Any:
        """As it was given, or as it was made of the function and its arguments."""
        return penstock.Future.key.fget(self) if self._named is None else self._named

    @property
    def status(self) -> str:
        """pending, finished, error, cancelled, or lost: it was released"""
        if self._dropped:
            return {"released": "lost"}.get(self._dropped, self._dropped)
        return penstock.Future.status.fget(self)

    @property
    def type(self) -> Any:
        """Of its value, which is brought here to see; None if it has none."""
        return type(self._value_now(None)) if self.status == "finished" else None

    def cancelled(self) -> bool:
        return self._dropped == "cancelled" or super().cancelled()

    def result(self, timeout: Any = None) -> Any:
        """The value; raises what the call has raised. An asynchronous client's is awaited."""
        return self._now_or_later(self._value_now, timeout)

    def exception(self, timeout: Any = None) -> Any:
        """What the call has raised, or None."""
        return self._now_or_later(self._error_now, timeout)

    def traceback(self, timeout: Any = None) -> Any:
        """Of what the call has raised, as far as an exception brings it along: its text is the cause of that."""
        return self._now_or_later(self._traceback_now, timeout)

    def cancel(self, reason: Optional[str] = None, msg: Optional[str] = None, **_: Any) -> Any:
        """Ends it; a value that is there already is given up."""
        self._let_go("cancelled")
        return self.client._done_already() if self.client.asynchronous else None

    def retry(self, **_: Any) -> Any:
        """Runs it once more."""
        self._dropped = ""
        super().retry()
        return self.client._done_already() if self.client.asynchronous else None

    def release(self) -> None:
        """Its value is needed no longer by whoever calls this; the last of those it was given to frees it."""
        self._handed_out -= 1
        if self._handed_out <= 0 and not self._dropped:
            self._let_go("released")

    def _let_go(self, how):
        self.client._forget_key(self)
        if not self.done():
            if how == "cancelled":
                super().cancel()
            else:
                self._free()
            return
        if not penstock.Future.cancelled(self):
            self._dropped = how
        self._free()

    def __del__(self):
        if hasattr(self, "_recipe"):  # Else it was given wrong arguments, and was never one.
            super().__del__()

    def __await__(self) -> Generator[Any, None, Any]:
        return self._later(self._value_now, None).__await__()

    def __dask_tokenize__(self):
        """Its key: what is made of futures of equal calls has equal keys."""
        return "penstock.distributed.Future", str(self.key)

    def __repr__(self):
        return f"<Future: {self.status}, key: {self.key}>"

    # ---- inside ----

    def _value_now(self, timeout):
        self._check_kept()
        return penstock.Future.result(self, timeout)

    def _error_now(self, timeout):
        self._check_kept()
        return penstock.Future.exception(self, timeout)

    def _traceback_now(self, timeout):
        error = self._error_now(timeout)
        return None if error is None else error.__traceback__ or traceback_of(error)

    def _check_kept(self):
        if self._dropped:
            raise CancelledError(f"{self.key} was {self._dropped}")

    def _now_or_later(self, function, timeout):
        timeout = seconds(timeout)
        return self._later(function, timeout) if self.client.asynchronous else function(timeout)

    async def _later(self, function, timeout):
        from penstock.distributed._waiting import ended
        self._check_kept()
        await ended([self], timeout=timeout)
        # The value of an ended call is brought from where it is kept, which takes a moment.
        if self._loaded or self.cancelled() or penstock.Future.status.fget(self) == "error":
            return function(0)
        return await asyncio.get_running_loop().run_in_executor(None, functools.partial(function, None))


def traceback_of(error):
    """One that can be formatted: of where the exception is looked at."""
    try:
        raise error
    except BaseException as raised:
        return raised.__traceback__


def format_remote(error):
    """The text of an exception with that of where it happened."""
    return "".join(traceback.format_exception(type(error), error, error.__traceback__))


def seconds(timeout):
    """Dask's times may be texts: "10s"."""
    if timeout is None or isinstance(timeout, (int, float)):
        return timeout
    if isinstance(timeout, str):
        from dask.utils import parse_timedelta
        return parse_timedelta(timeout)
    return _graph.seconds(getattr(timeout, "total_seconds", lambda: timeout)())
