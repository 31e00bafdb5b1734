"""Waiting for futures, with and without `await`."""
import asyncio
import concurrent.futures
import time
from collections import namedtuple
from concurrent.futures import CancelledError
from typing import Any, Iterable, List, Optional

import penstock
from penstock import _waiting
from penstock.distributed._future import Future, seconds

ALL_COMPLETED, FIRST_COMPLETED = "ALL_COMPLETED", "FIRST_COMPLETED"
DoneAndNotDone = namedtuple("DoneAndNotDoneFutures", "done not_done")


async def ended(futures, timeout=None, count=None):
    """Until so many of these, or all, have ended. Raises `TimeoutError`."""
    left = [future for future in futures if not future.done()]
    needed = len(left) if count is None else count - (len(futures) - len(left))
    if needed <= 0 or not left:
        return
    _waiting._send(left)
    loop, enough = asyncio.get_running_loop(), asyncio.Event()
    seen = [0]

    def one_more():
        seen[0] += 1
        if seen[0] >= needed:
            enough.set()

    def tell(_):
        try:
            loop.call_soon_threadsafe(one_more)
        except RuntimeError:  # The loop is closed: nobody waits there any more.
            pass
    for future in left:
        penstock.Future.add_done_callback(future, tell)
    with left[0].client._waiting():
        try:
            await asyncio.wait_for(enough.wait(), timeout)
        except asyncio.TimeoutError:
            unfinished = sum(not future.done() for future in left)
            raise concurrent.futures.TimeoutError(f"{unfinished} futures unfinished") from None


def wait(fs: Any, timeout: Any = None, return_when: str = ALL_COMPLETED) -> Any:
    """(done, not_done) of futures, or of the parts of collections. Raises `TimeoutError` when the time is over, and
    `CancelledError` if one was cancelled. Awaited where the client is asynchronous."""
    if return_when not in (ALL_COMPLETED, FIRST_COMPLETED):
        raise NotImplementedError(f"return_when is {ALL_COMPLETED!r} or {FIRST_COMPLETED!r}, not {return_when!r}")
    if isinstance(timeout, (list, tuple, Future)):
        raise TypeError(f"timeout= is a number of seconds, not {timeout!r}: several futures are given as a list")
    futures, timeout = futures_of(fs), seconds(timeout)
    if futures and futures[0].client.asynchronous:
        return _wait_later(futures, timeout, return_when)
    done, left = penstock.wait(futures, timeout, return_when)
    if left and (return_when == ALL_COMPLETED or not done):
        raise concurrent.futures.TimeoutError(f"{len(left)} futures unfinished")
    return _split(futures)


async def _wait_later(futures, timeout, return_when):
    await ended(futures, timeout, 1 if return_when == FIRST_COMPLETED else None)
    return _split(futures)


def _split(futures):
    cancelled = [future.key for future in futures if future.cancelled()]
    if cancelled:
        raise CancelledError(cancelled)
    done = {future for future in futures if future.done()}
    return DoneAndNotDone(done, set(futures) - done)


class _Waiter(_waiting._Waiter):
    """Rings in an event loop, too."""

    def __init__(self):
        super().__init__()
        self.bell = None

    def add_result(self, future):
        super().add_result(future)
        if self.bell is not None:
            try:
                self.bell()
            except RuntimeError:  # Its loop is closed.
                self.bell = None

    add_exception = add_cancelled = add_result


class as_completed(_waiting.as_completed):
    """As `dask.distributed.as_completed`: the futures as they end; `async for` as well."""

    _waiter_kind = _Waiter

    def __init__(self, futures: Any = (), loop: Any = None, with_results: bool = False, raise_errors: bool = True, *,
                 timeout: Any = None):
        super().__init__(futures_of(list(futures)), seconds(timeout), with_results, raise_errors)

    def update(self, futures: Iterable[Future]) -> None:
        """More of them."""
        super().update(futures_of(list(futures)))

    def batches(self) -> Any:
        """All that have ended by now, again and again; with `async for` where an event loop runs."""
        return self._batches_later() if _runs_in_a_loop() else super().batches()

    def __aiter__(self) -> "as_completed":
        return self

    async def __anext__(self) -> Any:
        if not await self._one_more():
            raise StopAsyncIteration
        return await self._given_later(self._ready.popleft())

    async def _batches_later(self):
        while await self._one_more():
            batch: List[Any] = []
            while self._take() and self._ready:
                batch.append(await self._given_later(self._ready.popleft()))
            yield batch

    async def _one_more(self):
        loop, rung = asyncio.get_running_loop(), asyncio.Event()
        self._waiter.bell = lambda: loop.call_soon_threadsafe(rung.set)
        while not self._take():
            if not self._pending:
                return False
            left = None if self._late is None else max(0, self._late - time.monotonic())
            try:
                await asyncio.wait_for(rung.wait(), left)
            except asyncio.TimeoutError:
                raise concurrent.futures.TimeoutError(f"{len(self._pending)} futures unfinished") from None
            rung.clear()
        return True

    def _given(self, future):
        if not self._with_results:
            return future
        if future.cancelled():
            raise CancelledError(f"{future.key} was cancelled")
        error = future._error_now(None)
        if error is None:
            return future, future._value_now(None)
        if self._raise_errors:
            raise error
        return future, (type(error), error, error.__traceback__)

    async def _given_later(self, future):
        return await asyncio.get_running_loop().run_in_executor(None, self._given, future)


def _runs_in_a_loop():
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True


def fire_and_forget(obj: Any) -> None:
    """These run whether their futures are kept or not, for as long as their client is open."""
    futures = futures_of(obj)
    for future in futures:
        future.client._keep_until_ended(future)
    penstock.fire_and_forget(futures)


def futures_of(o: Any, client: Any = None) -> List[Future]:
    """The futures in a collection, and in lists, sets and dictionaries of them. Raises `CancelledError` if one was
    cancelled."""
    found: dict = {}
    below = [o]
    while below:
        one = below.pop()
        if isinstance(one, Future):
            found[id(one)] = one
        elif type(one) in (tuple, set, list, frozenset):
            below.extend(one)
        elif type(one) is dict:
            below.extend(one.values())
        elif hasattr(one, "__dask_graph__"):
            below.extend(_values_of(one.__dask_graph__()))
        elif hasattr(one, "__next__"):
            below.extend(one)
    futures = list(found.values())[::-1]
    if client is not None:
        cancelled = [future.key for future in futures if future.cancelled()]
        if cancelled:
            raise CancelledError(cancelled)
    return futures


def _values_of(graph):
    """What a graph computes nothing of."""
    for value in dict(graph or {}).values():
        value = getattr(value, "value", value)
        if isinstance(value, (Future, list, tuple, dict)):
            yield list(value) if type(value) is tuple else value


def progress(*futures: Any, notebook: Optional[bool] = None, multi: bool = True, complete: bool = True,
             **_: Any) -> None:
    """A bar until all have ended. It is printed; widgets of notebooks are not made."""
    given = futures_of(list(futures))
    if not given:
        raise ValueError("progress: there are no futures in what was given; persist a collection first")
    penstock.progress(given)
