"""A `concurrent.futures.Executor` on a client."""  # tidy: foreign
# tidy: foreign-file Executor, Executors
import concurrent.futures
import itertools
import threading
import time
import weakref


class ClientExecutor(concurrent.futures.Executor):
    """Runs calls on a cluster, in the words of the standard library. The client stays open when it is shut down."""

    def __init__(self, client, **options):
        self._client, self._options = client, options
        self._lock = threading.Lock()
        self._futures = weakref.WeakSet()
        self._down = False

    def submit(self, function, /, *args, **kwargs):
        with self._lock:
            if self._down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if kwargs:
                function, kwargs = Bound(function, kwargs), {}  # They are all the function's.
            future = self._client.submit(function, *args, **self._options)
            self._futures.add(future)
        return future

    def map(self, function, *iterables, timeout=None, chunksize=1):
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        deadline = None if timeout is None else time.monotonic() + timeout
        if chunksize == 1:
            futures = [self.submit(function, *args) for args in zip(*iterables)]
            results = (self._result(future, deadline) for future in with_release(futures))
        else:
            futures = [self.submit(Chunk(function), chunk) for chunk in chunks(zip(*iterables), chunksize)]
            results = itertools.chain.from_iterable(
                self._result(future, deadline) for future in with_release(futures))
        return cancelling(futures, results)

    @staticmethod
    def _result(future, deadline):
        return future.result(None if deadline is None else max(0.0, deadline - time.monotonic()))

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self._lock:
            self._down = True
            futures = list(self._futures)
        if cancel_futures:
            for future in futures:
                future.cancel()
        if wait:
            concurrent.futures.wait(futures)


class Bound:
    """A function with keywords, without taking names from the client's own."""

    def __init__(self, function, keywords):
        self.function, self.keywords = function, keywords
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, *args):
        return self.function(*args, **self.keywords)


class Chunk:
    """Several calls as one."""

    def __init__(self, function):
        self.function = function
        self.__name__ = getattr(function, "__name__", type(function).__name__)

    def __call__(self, chunk):
        return [self.function(*args) for args in chunk]


def chunks(iterable, size):
    iterator = iter(iterable)
    while True:
        chunk = list(itertools.islice(iterator, size))
        if not chunk:
            return
        yield chunk


def with_release(futures):
    """Each once, and forgotten with its turn."""
    futures.reverse()
    while futures:
        yield futures.pop()


def cancelling(futures, results):
    """The results; those that nobody takes are cancelled, as the standard library does."""
    try:
        yield from results
    finally:
        for future in futures:
            future.cancel()
