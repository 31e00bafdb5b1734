"""`multiprocessing.Pool` on a client: the same methods, on a cluster."""
# tidy: foreign-file task, worker
import collections
import itertools
import multiprocessing
import threading
import time
import uuid
import weakref
from concurrent.futures import TimeoutError as _TimeoutError  # That of 3.9 is another than the built-in one.
from typing import Any, Callable, Dict, Iterable, List, Optional

from penstock._client import Client
from penstock._futures import Future
from penstock._nested import get_client
from penstock._pool import Bound, Chunk, checked, chunks
from penstock._waiting import as_completed, wait
from penstock.errors import PenstockError

Call = Callable[..., Any]
AHEAD = 4  # Chunks of `imap` for each slot that are submitted before somebody reads.


class Pool:
    """Calls functions on a cluster, in the words of `multiprocessing.Pool`.

    `processes`: slots of a cluster of its own inside this process, which ends with the pool. Without, the cluster is
    that of `client`, by default the client that was opened last, which stays open; if there is none, a cluster of its
    own with a slot for each processor. `initializer(*initargs)` is called in each process before its first call.
    `options` are those of `Client.submit`."""

    def __init__(self, processes: Optional[int] = None, initializer: Optional[Call] = None,
                 initargs: Iterable[Any] = (), maxtasksperchild: None = None, *, client: Optional[Client] = None,
                 **options: Any):
        if maxtasksperchild is not None:
            raise ValueError("maxtasksperchild: processes of a cluster serve other calls as well; give memory=, beyond "
                             "which a process is ended")
        if initializer is not None and not callable(initializer):
            raise TypeError("initializer must be a callable")
        if processes is not None and client is not None:
            raise ValueError("processes is for a cluster of its own: the slots are those of the client")
        self._own = None
        if client is None and processes is None:
            try:
                client = get_client()
            except PenstockError:
                pass
        if client is None:
            client = self._own = Client(slots=processes)
        self._client, self._options = client, checked(options, client)
        self._begin = None if initializer is None else (uuid.uuid4().hex, initializer, tuple(initargs))
        self._lock = client._lock  # One of its own would be a deadlock: callbacks, which may submit, have the client's.
        self._futures, self._state = set(), "runs"  # Those that have not ended.
        self._results: "weakref.WeakSet[Future]" = weakref.WeakSet()

    def apply(self, func: Call, args: Iterable[Any] = (), kwds: Optional[Dict[str, Any]] = None) -> Any:
        """The value of `func(*args, **kwds)`."""
        return self.apply_async(func, args, kwds).get()

    def apply_async(self, func: Call, args: Iterable[Any] = (), kwds: Optional[Dict[str, Any]] = None,
                    callback: Optional[Call] = None, error_callback: Optional[Call] = None) -> "AsyncResult":
        """As `apply`; returns at once. One of the callbacks is called with the value or the exception."""
        future = self._submit(Bound(func, kwds) if kwds else func, tuple(args))
        return AsyncResult([future], lambda values: values[0], callback, error_callback)

    def map(self, func: Call, iterable: Iterable[Any], chunksize: Optional[int] = None) -> List[Any]:
        """`func` of each element, in order; several travel together."""
        return self.map_async(func, iterable, chunksize).get()

    def map_async(self, func: Call, iterable: Iterable[Any], chunksize: Optional[int] = None,
                  callback: Optional[Call] = None, error_callback: Optional[Call] = None) -> "AsyncResult":
        """As `map`; returns at once."""
        return self._map(func, zip(iterable), chunksize, callback, error_callback)

    def starmap(self, func: Call, iterable: Iterable[Iterable[Any]], chunksize: Optional[int] = None) -> List[Any]:
        """`func(*element)` of each element, in order."""
        return self.starmap_async(func, iterable, chunksize).get()

    def starmap_async(self, func: Call, iterable: Iterable[Iterable[Any]], chunksize: Optional[int] = None,
                      callback: Optional[Call] = None, error_callback: Optional[Call] = None) -> "AsyncResult":
        """As `starmap`; returns at once."""
        return self._map(func, map(tuple, iterable), chunksize, callback, error_callback)

    def imap(self, func: Call, iterable: Iterable[Any], chunksize: int = 1) -> "Results":
        """`func` of each element, in order, as they are asked for; the iterable may be without end."""
        rest, started = self._chunks(func, iterable, chunksize)
        futures = collections.deque(started)

        def take(timeout):
            if not futures:
                raise StopIteration
            if not wait_for([futures[0]], timeout):
                raise _TimeoutError
            futures.extend(itertools.islice(rest, 1))
            return futures.popleft()
        return Results(take)

    def imap_unordered(self, func: Call, iterable: Iterable[Any], chunksize: int = 1) -> "Results":
        """The same, the first first."""
        rest, started = self._chunks(func, iterable, chunksize)
        ending = as_completed(started)

        def take(timeout):
            ending._late = None if timeout is None else time.monotonic() + timeout
            future = next(ending)
            ending.update(itertools.islice(rest, 1))
            return future
        return Results(take)

    def close(self) -> None:
        """No further calls; those that were submitted go on."""
        with self._lock:
            self._state = "closed" if self._state == "runs" else self._state

    def terminate(self) -> None:
        """Cancels all that has not ended, also what runs."""
        with self._lock:
            self._state, futures = "terminated", list(self._futures)
        for future in futures:
            future.cancel()
        self._end()

    def join(self) -> None:
        """Waits until all has ended, after `close` or `terminate`."""
        if self._state == "runs":
            raise ValueError("Pool is still running")
        wait(list(self._futures))
        self._end()

    def __enter__(self) -> "Pool":
        self._check()
        return self

    def __exit__(self, *_: Any) -> None:
        self.terminate()

    def __reduce__(self):
        raise NotImplementedError("pool objects cannot be passed between processes or pickled")

    def __repr__(self):
        return f"<penstock.Pool: {self._state}, {self._client!r}>"

    # ---- inside ----

    def _check(self):
        if self._state != "runs":
            raise ValueError("Pool not running")

    def _end(self):
        if self._own is None or self._own.closed:
            return
        # Results may be asked for their values yet.
        self._own.gather([future for future in self._results if future.done()], errors="skip")
        self._own.close()

    def _submit(self, function, args):
        with self._lock:
            self._check()
            if self._begin is not None:
                function = Begun(function, *self._begin)
            future = self._client.submit(function, *args, **self._options)
            self._futures.add(future)
            if self._own is not None:
                self._results.add(future)
        future.add_done_callback(self._futures.discard)
        return future

    def _map(self, function, calls, chunksize, callback, error_callback):
        self._check()
        calls = list(calls)
        if chunksize is None:  # As the standard library has it.
            chunksize, rest = divmod(len(calls), 4 * self._slots())
            chunksize = max(1, chunksize + (rest > 0))
        futures = [self._submit(Chunk(function), (chunk,)) for chunk in chunks(calls, checked_size(chunksize))]
        return AsyncResult(futures, lambda parts: list(itertools.chain.from_iterable(parts)), callback, error_callback)

    def _slots(self):
        return self._client._slots or sum(row["slots"] for row in self._client.ask("workers")) or 1

    def _chunks(self, function, iterable, chunksize):
        """(futures of chunks as they are taken, those that are under way already)."""
        self._check()
        function = Chunk(function)
        rest = (self._submit(function, (chunk,)) for chunk in chunks(zip(iterable), checked_size(chunksize)))
        return rest, list(itertools.islice(rest, AHEAD * self._slots()))


class Begun:
    """A function, and what its process calls before its first call of this pool."""

    done: set = set()

    def __init__(self, function, number, initializer, initargs):
        self.function, self.begin = function, (number, initializer, initargs)
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args):
        number, initializer, initargs = self.begin
        if number not in Begun.done:
            initializer(*initargs)
            Begun.done.add(number)
        return self.function(*args)


def checked_size(chunksize):
    if chunksize < 1:
        raise ValueError(f"Chunksize must be 1+, not {chunksize}")
    return chunksize


class AsyncResult:
    """What is to come of a call, or of several, in the words of `multiprocessing.pool.AsyncResult`."""

    def __init__(self, futures: List[Future], joined: Call, callback: Optional[Call], error_callback: Optional[Call]):
        self._futures, self._joined, self._left = futures, joined, len(futures)
        self._callbacks, self._lock = (callback, error_callback), threading.Lock()
        if callback is not None or error_callback is not None:
            for future in futures:
                future.add_done_callback(self._one_more)
            if not futures:
                self._tell()

    def _one_more(self, _):
        with self._lock:
            self._left -= 1
            last = self._left == 0
        if last:
            self._tell()

    def _tell(self):
        callback, error_callback = self._callbacks
        try:
            value = self._joined([future.result() for future in self._futures])
        except BaseException as error:
            if error_callback is not None:
                error_callback(error)
            return
        if callback is not None:
            callback(value)

    def get(self, timeout: Optional[float] = None) -> Any:
        """The value; raises what a call has raised, or `multiprocessing.TimeoutError`."""
        self.wait(timeout)
        if not self.ready():
            raise multiprocessing.TimeoutError
        return self._joined([future.result() for future in self._futures])

    def wait(self, timeout: Optional[float] = None) -> None:
        """Until all have ended, or the time is over."""
        wait(self._futures, timeout)

    def ready(self) -> bool:
        return all(future.done() for future in self._futures)

    def successful(self) -> bool:
        """Whether it has ended without an exception."""
        if not self.ready():
            raise ValueError(f"{self!r} not ready")
        return all(not future.cancelled() and future.exception() is None for future in self._futures)


class Results:
    """What `imap` returns: values one after the other, by `next`, or by `next(timeout)` of its own."""

    def __init__(self, take: Call):
        self._take, self._chunk = take, []  # `take(timeout)`: the next future of several values that has ended.

    def __iter__(self) -> "Results":
        return self

    def __next__(self) -> Any:
        return self.next()

    def next(self, timeout: Optional[float] = None) -> Any:
        """The next value; raises `multiprocessing.TimeoutError` if it is not there in time, and may be called again."""
        while not self._chunk:
            try:
                future = self._take(timeout)
            except _TimeoutError:
                raise multiprocessing.TimeoutError from None
            self._chunk = future.result()[::-1]
        return self._chunk.pop()


def wait_for(futures, timeout):
    """Whether all have ended in time."""
    return not wait(futures, timeout)[1]
