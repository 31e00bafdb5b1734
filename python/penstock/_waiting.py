"""Waiting for several futures."""
import concurrent.futures
import contextlib
import sys
import threading
import time
from collections import deque
from typing import Any, Iterable, Iterator, List, Optional, Set, TextIO, Tuple, Union

from penstock import _graph
from penstock._futures import Future

ALL_COMPLETED, FIRST_COMPLETED = concurrent.futures.ALL_COMPLETED, concurrent.futures.FIRST_COMPLETED
FIRST_EXCEPTION = concurrent.futures.FIRST_EXCEPTION


def _send(futures):
    for future in futures:
        if not isinstance(future, concurrent.futures.Future):
            raise TypeError(f"{future!r} is no future")
    for client in {id(future.client): future.client for future in futures if isinstance(future, Future)}.values():
        client._flush()


def _waiting_for(futures):
    """Entered while somebody waits for these: a call lends its slot to what it has submitted."""
    client = next((future.client for future in futures if hasattr(future, "client") and not future.done()), None)
    return contextlib.nullcontext() if client is None else client._waiting()


class _Waiter:
    """Is told of the ends of futures, as `concurrent.futures` has it."""

    def __init__(self):
        self.event, self.lock, self.ended = threading.Event(), threading.Lock(), []  # The first two have these names there.

    loop = told = None  # A coroutine that waits.

    def add_result(self, future):
        with self.lock:
            self.ended.append(future)
            told, self.told = self.told, None
        self.event.set()
        if told is not None:
            with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits there.
                self.loop.call_soon_threadsafe(_end, told)

    add_exception = add_cancelled = add_result

    def tell(self, loop, told):
        """Ends `told`, a future of that loop, as soon as one has ended."""
        with self.lock:
            if not self.ended:
                self.loop, self.told = loop, told
                return
        told.set_result(None)

    def take(self):
        self.event.clear()
        with self.lock:
            ended, self.ended = self.ended, []
        return ended


def _end(told):
    if not told.done():
        told.set_result(None)


class as_completed:
    """The futures as they end, the first first; others may be added meanwhile; also by `async for`. `with_results`:
    (future, its value); raises what the subtask has raised, or gives that with `raise_errors=False`."""

    _waiter_kind = _Waiter

    def __init__(self, futures: Iterable[Future] = (), timeout: Optional[float] = None, with_results: bool = False,
                 raise_errors: bool = True):
        timeout = _graph.seconds(timeout)
        self._late = None if timeout is None else time.monotonic() + timeout
        self._with_results, self._raise_errors = with_results, raise_errors
        self._waiter, self._pending, self._ready = self._waiter_kind(), set(), deque()
        self.update(futures)

    def __iter__(self) -> "as_completed":
        return self

    def __next__(self) -> Any:
        while not self._take():
            if not self._pending:
                raise StopIteration
            left = None if self._late is None else self._late - time.monotonic()
            if left is not None and left <= 0:
                raise concurrent.futures.TimeoutError(f"{len(self._pending)} futures unfinished")
            with _waiting_for(self._pending):
                self._waiter.event.wait(left)
        return self._given(self._ready.popleft())

    def __aiter__(self) -> "as_completed":
        return self

    async def __anext__(self) -> Any:
        """As `__next__`, while other coroutines of the event loop go on."""
        import asyncio
        loop = asyncio.get_running_loop()
        while not self._take():
            if not self._pending:
                raise StopAsyncIteration
            left = None if self._late is None else self._late - time.monotonic()
            if left is not None and left <= 0:
                raise concurrent.futures.TimeoutError(f"{len(self._pending)} futures unfinished")
            told = loop.create_future()
            self._waiter.tell(loop, told)
            with _waiting_for(self._pending):
                await asyncio.wait([told], timeout=left)
        return self._given(self._ready.popleft())

    def add(self, future: Future) -> None:
        """One more, which may have ended."""
        self.update([future])

    def update(self, futures: Iterable[Future]) -> None:
        """More of them."""
        futures = list(dict.fromkeys(futures))
        _send(futures)
        for future in futures:
            with future._condition:
                if future in self._pending:
                    continue
                self._pending.add(future)
                if future.done():
                    self._waiter.add_result(future)
                else:
                    future._waiters.append(self._waiter)

    def count(self) -> int:
        """How many are still to come."""
        return len(self._pending) + len(self._ready)

    def is_empty(self) -> bool:
        return not self.count()

    def has_ready(self) -> bool:
        """Whether the next is there already."""
        return self._take()

    def next_batch(self, block: bool = True) -> List[Any]:
        """All that have ended by now; `block`: at least one."""
        batch = [next(self)] if block else []
        self._take()
        while self._ready:
            batch.append(self._given(self._ready.popleft()))
        return batch

    def batches(self) -> Iterator[List[Any]]:
        """All that have ended by now, again and again."""
        while not self.is_empty():
            yield self.next_batch()

    def clear(self) -> None:
        """Forgets those that are still to come."""
        for future in list(self._pending):
            self._leave(future)
        self._ready.clear()

    def _take(self):
        for future in self._waiter.take():
            if future in self._pending:
                self._leave(future)
                self._ready.append(future)
        return bool(self._ready)

    def _leave(self, future):
        self._pending.discard(future)
        with future._condition:
            if self._waiter in future._waiters:
                future._waiters.remove(self._waiter)

    def _given(self, future):
        if not self._with_results:
            return future
        if not self._raise_errors and not future.cancelled() and future.exception() is not None:
            return future, future.exception()
        return future, future.result()


def fire_and_forget(futures: Union[Future, Iterable[Future]]) -> None:
    """Sends these at once. They run, whether their futures are kept or not, for as long as their client is open; what is to
    outlast it is a job: `client.graph()`, `submit(name=...)`, `detach()`."""
    _send([futures] if isinstance(futures, Future) else list(futures))


def wait(futures: Union[Future, Iterable[Future]], timeout: Optional[float] = None,
         return_when: str = ALL_COMPLETED) -> Tuple[Set[Future], Set[Future]]:
    """(done, not_done); `return_when` is one of the constants of concurrent.futures."""
    futures, timeout = [futures] if isinstance(futures, Future) else list(futures), _graph.seconds(timeout)
    _send(futures)
    try:
        with _waiting_for(futures):
            return concurrent.futures.wait(futures, timeout, return_when)
    finally:
        for future in futures:
            if isinstance(future, Future):
                future._forget_waiters()


def progress(futures: Iterable[Future], description: str = "", file: Optional[TextIO] = None) -> List[Future]:
    """Shows a bar until all have ended: tqdm's, else rich's, else a plain one. The futures."""
    futures = list(futures)
    bar = _bar(len(futures), description, file or sys.stderr)
    try:
        for _ in as_completed(futures):
            bar.update(1)
    finally:
        bar.close()
    return futures


def _bar(total, description, file):
    try:
        from tqdm.auto import tqdm
        return tqdm(total=total, desc=description or None, file=file)
    except ImportError:
        pass
    try:
        return _RichBar(total, description)
    except ImportError:
        return _PlainBar(total, description, file)


class _RichBar:
    def __init__(self, total, description):
        from rich.progress import Progress
        self.progress = Progress()
        self.line = self.progress.add_task(description or "subtasks", total=total)  # tidy: foreign
        self.progress.start()

    def update(self, count):
        self.progress.update(self.line, advance=count)

    def close(self):
        self.progress.stop()


class _PlainBar:
    WIDTH, EVERY_S = 40, 0.1

    def __init__(self, total, description, file):
        self.total, self.ended, self.description, self.file, self.shown = total, 0, description, file, 0.0

    def update(self, count):
        self.ended += count
        if time.monotonic() - self.shown > self.EVERY_S:
            self.show()

    def show(self):
        self.shown = time.monotonic()
        filled = self.WIDTH if not self.total else self.WIDTH * self.ended // self.total
        line = f"\r{self.description} [{'#' * filled}{'.' * (self.WIDTH - filled)}] {self.ended}/{self.total}"
        self.file.write(line)
        self.file.flush()

    def close(self):
        self.show()
        self.file.write("\n")
