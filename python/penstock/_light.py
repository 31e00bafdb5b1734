"""Futures of the standard library that weigh little: hundreds of thousands of them live at once."""
import os
import threading
from concurrent.futures import CancelledError, InvalidStateError
from concurrent.futures import Future as _Future
from concurrent.futures import TimeoutError as _TimeoutError
from concurrent.futures._base import CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED, LOGGER, PENDING

_ENDED = (CANCELLED, CANCELLED_AND_NOTIFIED, FINISHED)


class LightFuture(_Future):
    """The same without a lock of its own, and with lists of callbacks and waiters only where there are some."""

    __slots__ = ("_state", "_result", "_exception", "_callbacks", "_waiting")
    # One for all futures. No thread sleeps on it: a thread that waits for a future adds a waiter to it.
    _condition = threading.Condition()

    def __init__(self):
        self._state, self._result, self._exception = PENDING, None, None
        self._callbacks = self._waiting = None

    @property
    def _done_callbacks(self):
        if self._callbacks is None:
            self._callbacks = []
        return self._callbacks

    @property
    def _waiters(self):
        if self._waiting is None:
            self._waiting = []
        return self._waiting

    def _forget_waiters(self):
        """If nobody waits any more. The standard library leaves an empty list behind."""
        with self._condition:
            self._waiting = self._waiting or None

    def done(self) -> bool:
        return self._state in _ENDED

    def result(self, timeout=None):
        self._wait_until_done(timeout)
        if self._state != FINISHED:
            raise CancelledError()
        if self._exception is not None:
            try:
                raise self._exception
            finally:
                self = None  # Its traceback would hold what it is held by.
        return self._result

    def exception(self, timeout=None):
        self._wait_until_done(timeout)
        if self._state != FINISHED:
            raise CancelledError()
        return self._exception

    def _wait_until_done(self, timeout):
        with self._condition:
            if self._state in _ENDED:
                return
            waiter = _Waiter()
            self._waiters.append(waiter)
        try:
            if not waiter.event.wait(timeout) and self._state not in _ENDED:
                raise _TimeoutError()
        finally:
            with self._condition:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def set_result(self, result):
        self._end(result, None)

    def set_exception(self, exception):
        self._end(None, exception)

    def _end(self, result, error):
        with self._condition:
            if self._state in _ENDED:
                raise InvalidStateError(f"{self._state}: {self!r}")
            self._result, self._exception, self._state = result, error, FINISHED
            for waiter in self._waiting or ():
                if error is None:
                    waiter.add_result(self)
                else:
                    waiter.add_exception(self)
        self._invoke_callbacks()

    def _invoke_callbacks(self):
        for callback in self._callbacks or ():
            try:
                callback(self)
            except BaseException as error:
                # A call may have raised what ends a thread: a callback that asks for its value does not end the client's.
                # Only in the main thread may it be the user's own wish, such as Control-C.
                ours = error is self._exception or threading.current_thread() is not threading.main_thread()
                if not isinstance(error, Exception) and not ours:
                    raise
                LOGGER.exception("exception calling callback for %r", self)


class _Waiter:
    """One thread that waits for one future."""

    __slots__ = ("event", "lock")

    def __init__(self):
        self.event, self.lock = threading.Event(), None

    def add_result(self, _):
        self.event.set()

    add_exception = add_cancelled = add_result


def _be_forked():
    LightFuture._condition = threading.Condition()  # A thread of the parent may have held the other.


os.register_at_fork(after_in_child=_be_forked)
