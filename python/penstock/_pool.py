"""A `concurrent.futures.Executor` on a client."""  # tidy: foreign
# tidy: foreign-file Executor, Executors
import atexit
import concurrent.futures
import contextlib
import difflib
import inspect
import itertools
import sys
import time

from penstock import _graph
from penstock.errors import PenstockError

_running = set()  # Futures of all executors that have not ended: these and their calls outlive whoever has forgotten them.


@atexit.register
def _wait_for_all():
    """At the end of a script its calls are made yet, as the standard library has it; clients close after this."""
    concurrent.futures.wait(list(_running))


class ClientExecutor(concurrent.futures.Executor):
    """Runs calls on a cluster, in the words of the standard library. The client stays open when it is shut down."""

    def __init__(self, client, **options):
        self._client, self._options = client, checked(options, client)
        self._lock = client._lock  # One of its own would be a deadlock: callbacks, which may submit, have the client's.
        self._futures = set()      # That have not ended.
        self._down = False

    def submit(self, function, /, *args, **kwargs):
        with self._lock:
            if self._down:
                raise RuntimeError("cannot schedule new futures after shutdown")
            if kwargs:
                function, kwargs = Bound(function, kwargs), {}  # They are all the function's.
            future = self._client.submit(function, *args, **self._options)
            for futures in (self._futures, _running):
                futures.add(future)
                future.add_done_callback(futures.discard)
        return future

    def map(self, function, *iterables, timeout=None, chunksize=1):
        if chunksize < 1:
            raise ValueError("chunksize must be >= 1.")
        timeout = _graph.seconds(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        if chunksize == 1:
            return results_of([self.submit(function, *args) for args in zip(*iterables)], deadline)
        futures = [self.submit(Chunk(function), chunk) for chunk in chunks(zip(*iterables), chunksize)]
        return unpacked(results_of(futures, deadline))

    def shutdown(self, wait=True, *, cancel_futures=False):
        with self._lock:
            self._down = True
            futures = list(self._futures)
        if cancel_futures:
            for future in not_running(self._client, futures):
                future.cancel()
        if wait:
            concurrent.futures.wait(futures)


def not_running(client, futures):
    """Those that have not begun, as far as the supervisor knows, one after the other. Only what a worker has can run, and a
    worker has a few of them: of a job without such subtasks, or when all of these were seen, nothing more is asked."""
    client._flush()
    assigned = {}  # How many of a job a worker has that were not seen yet.
    with contextlib.suppress(PenstockError):
        assigned = {row["id"]: row["assigned"] for row in client.ask("jobs")}
    # The first of them run, mostly.
    for future in sorted(futures, key=lambda one: (one._batch.job if one._batch else sys.maxsize, one._index)):
        batch = future._batch
        job = None if batch is None else f"job-{batch.job}"
        if batch is not None and assigned.get(job, 1):
            with contextlib.suppress(PenstockError):  # It has ended meanwhile.
                told = client.ask("explain", batch.job, future._index)
                if job in assigned and told["state"] == "assigned":
                    assigned[job] -= 1
                if told.get("worker_state") == "running":
                    continue
        yield future


def checked(options, client):
    """Those of `submit` that are for every call."""
    known = [name for name, one in inspect.signature(client.submit).parameters.items()
             if one.kind is one.KEYWORD_ONLY and name != "key"]
    for name in options:
        if name not in known:
            near = difflib.get_close_matches(name, known, 1)
            raise TypeError(f"an executor has no option {name!r}" + (f": did you mean {near[0]!r}?" if near else
                                                                    f"; there are {', '.join(known)}"))
    return options


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


def results_of(futures, deadline):
    """The results in order, none of them held here once it is taken. Those that nobody takes any more, because one has
    failed, is too late or the caller has left, are cancelled, as the standard library does."""
    futures.reverse()
    try:
        while futures:
            yield result_or_cancel(futures.pop(), deadline)
    finally:
        for future in futures:
            future.cancel()


def result_or_cancel(future, deadline):
    try:
        return future.result(None if deadline is None else max(0.0, deadline - time.monotonic()))
    except BaseException:
        future.cancel()
        raise


def unpacked(results):
    """The elements of lists, one after the other, none of them held here once it is taken."""
    for chunk in results:
        chunk.reverse()
        while chunk:
            yield chunk.pop()
