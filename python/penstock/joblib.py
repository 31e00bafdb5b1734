"""joblib on a cluster: `import penstock.joblib` makes "penstock" a backend of it, for scikit-learn as for others.

>>> import joblib, penstock, penstock.joblib                                        # doctest: +SKIP
>>> with penstock.Client("host:port"), joblib.parallel_config(backend="penstock"):  # doctest: +SKIP
...     GridSearchCV(model, parameters).fit(X, y)
"""
import contextlib
import queue
import threading
import uuid
import weakref
from concurrent.futures import Future
from concurrent.futures import TimeoutError as _TimeoutError
from itertools import chain
from typing import Any, Callable, Dict, Iterable, Optional

import joblib
from joblib.parallel import AutoBatchingMixin, ParallelBackendBase, SequentialBackend, parallel_config

from penstock._client import Client
from penstock._multiprocessing import Begun
from penstock._nested import get_client
from penstock.errors import PenstockError

LARGE_BYTES = 1 << 20  # An argument beyond it travels once for all calls, as joblib's `max_nbytes` has it.
SMALL = frozenset([int, float, complex, bool, type(None)])  # Types of arguments that are never large, nor scattered.
GROWTH = 8             # Of batches that take much less time than is ideal.
NESTED_MAX = 1         # Levels of `Parallel` within calls that have the cluster; deeper ones run where they are.


class PenstockBackend(AutoBatchingMixin, ParallelBackendBase):
    """The backend "penstock" of joblib: runs the calls of a `Parallel` on a cluster.

    `client`: by default the one that was opened last, and in a call that of the call. `scatter`: large objects that go
    to the cluster before the calls do; large arguments of several calls go once without it. `wait_for_workers`: seconds
    until a cluster without workers is given up. `options` are those of `Client.submit`, for every call (`memory`,
    `slots`, `resources`, `retries`, ...). `n_jobs=-1`, the default, is all slots of the cluster. A `Parallel` within a
    call uses the cluster as well if it asks for an `n_jobs` of its own; without, it runs where it is."""

    MIN_IDEAL_BATCH_DURATION, MAX_IDEAL_BATCH_DURATION = 0.2, 1.0
    supports_retrieve_callback = True
    supports_inner_max_num_threads = True
    default_n_jobs = -1

    def __init__(self, nesting_level: Optional[int] = None, inner_max_num_threads: Optional[int] = None,
                 client: Optional[Client] = None, scatter: Optional[Iterable[Any]] = None,
                 wait_for_workers: float = 10.0, initializer: Optional[Callable[..., Any]] = None,
                 initargs: Iterable[Any] = (), **options: Any):
        super().__init__(nesting_level=nesting_level, inner_max_num_threads=inner_max_num_threads)
        self._begin = _begin_of(initializer, initargs)
        self._begins: Any = weakref.WeakKeyDictionary()  # Of a `Parallel` that has an initializer of its own.
        self._given, self._wait_for_workers, self._options = client, wait_for_workers, options
        if scatter is not None and not isinstance(scatter, (list, tuple)):
            raise TypeError(f"scatter is a list of objects, not {type(scatter).__name__}")
        # Kept here, so that no other object has the id of one of them.
        self._kept = [(value, self.client.scatter([value])[0]) for value in scatter or ()]
        self._scattered = {id(value): future for value, future in self._kept}
        self._arguments: Dict[int, Any] = {}  # Large ones of the present calls: a weak reference, a future.
        self._large = LARGE_BYTES
        self._calls, self._lock = 0, threading.Lock()
        self._ended: Any = None               # Where futures go that have ended.
        self._running: Dict[Any, Any] = {}    # Futures, and what joblib wants to be told of each.

    def __reduce__(self):
        return _backend_of_call, (self.nesting_level, self.inner_max_num_threads, self._options)

    @property
    def client(self) -> Client:
        """The client on whose cluster the calls run."""
        if self._given is not None:
            return self._given
        try:
            return get_client()
        except PenstockError as error:
            raise PenstockError("joblib's backend has no cluster", subject="penstock.joblib", code=error.code,
                                remedy="open a penstock.Client() first, or give parallel_config(client=...)") from None

    # ---- what joblib asks ----

    def compute_batch_size(self) -> int:
        """Joblib's own, but short calls come faster to large batches: a batch costs a round trip to the supervisor."""
        before, took = self._effective_batch_size, self._smoothed_batch_duration
        size = super().compute_batch_size()
        if size == 2 * before and took * GROWTH < self.MIN_IDEAL_BATCH_DURATION:
            size = self._effective_batch_size = GROWTH * before
        return size

    def configure(self, n_jobs=1, parallel=None, max_nbytes=LARGE_BYTES, initializer=None, initargs=(), **_):
        self.parallel = parallel
        if initializer is not None:
            self._begins[parallel] = _begin_of(initializer, initargs)
        self._large = float("inf") if max_nbytes is None else max_nbytes
        return self.effective_n_jobs(n_jobs)

    def effective_n_jobs(self, n_jobs: Optional[int]) -> int:
        """How many calls run at a time. Where all slots are asked for, it is at least two: joblib would make the calls
        here for one."""
        if n_jobs == 0:
            raise ValueError("n_jobs == 0 in Parallel has no meaning")
        if n_jobs is not None and n_jobs > 0:
            return n_jobs
        slots = slots_of(self.client, self._wait_for_workers)
        return max(2, int(slots / self._options.get("slots", 1)) + 1 + (-1 if n_jobs is None else n_jobs))

    def get_nested_backend(self):
        """That of a `Parallel` in a call, and its `n_jobs` unless it says one."""
        level = (self.nesting_level or 0) + 1
        if level > NESTED_MAX:
            return SequentialBackend(nesting_level=level), None
        return PenstockBackend(level, self.inner_max_num_threads, client=self._given, **self._options), 1

    def start_call(self):
        with self._lock:
            self._calls += 1
            if self._calls == 1:
                self._ended = queue.SimpleQueue()
                # Not the client's thread, which holds the client's lock: joblib calls us with a lock of its own.
                threading.Thread(target=tell_joblib, args=(self._ended, self._running), daemon=True,
                                 name="penstock-joblib").start()

    def stop_call(self):
        with self._lock:
            self._calls -= 1
            if self._calls == 0:
                self._ended.put(None)
                self._arguments.clear()
                self.reset_batch_stats()  # The next calls may be long ones.

    def submit(self, func, callback=None):
        """Called by joblib for a `BatchedCalls`."""
        ended = self._ended
        try:
            parallel = getattr(callback, "parallel", self)  # Only callbacks of joblib itself have one.
            future = self._submit(func, self._begins.get(parallel, self._begin))
        except Exception as error:  # Joblib calls this on our thread as well, where nobody would hear of it.
            future = Future()
            future.set_exception(error)
        self._running[future] = callback
        future.add_done_callback(ended.put)
        return future

    apply_async = submit  # The name of it before joblib 1.5.

    def _submit(self, batch, begin):
        items = batch.items if _are_small(batch.items) else [
            (function, [self._place_of(value) for value in args],
             {name: self._place_of(value) for name, value in keywords.items()})
            for function, args, keywords in batch.items]
        function = _Batch(batch.items)
        if begin is not None:
            function = Begun(function, *begin)
        future = self.client.submit(function, _Same.of(items) or items, batch._backend, batch._n_jobs,
                                    **self._submit_options())
        self.client._flush()  # Joblib has gathered calls already: none is waited for that could leave with these.
        return future

    def retrieve_result_callback(self, out):
        return out.result()

    def abort_everything(self, ensure_ready=True):
        """Cancels the calls of each `Parallel` that has failed, or that nobody reads any more."""
        for future, callback in list(self._running.items()):
            if getattr(getattr(callback, "parallel", None), "_aborting", True):
                future.cancel()

    @contextlib.contextmanager
    def retrieval_context(self):
        """In a call its slot is lent to others while it waits."""
        with self.client._waiting():
            yield

    # ---- inside ----

    def _submit_options(self):
        if self.inner_max_num_threads is None:
            return self._options
        variables = dict.fromkeys(self.MAX_NUM_THREADS_VARS, str(self.inner_max_num_threads))
        return {**self._options, "environment": {**variables, **(self._options.get("environment") or {})}}

    def _place_of(self, value):
        """An argument, or, if it is large, a future of it: it is pickled and sent once."""
        future = self._scattered.get(id(value))
        if future is not None or bytes_of(value) < self._large:
            return value if future is None else future
        key = id(value)
        known = self._arguments.get(key)
        if known is not None and known[0]() is value:
            return known[1]
        try:
            reference = weakref.ref(value, lambda gone: self._forget(key, gone))
        except TypeError:
            return value
        future = self.client.scatter([value])[0]
        self._arguments[key] = reference, future
        return future

    def _forget(self, key, reference):
        known = self._arguments.get(key)
        if known is not None and known[0] is reference:  # Else another object has its id by now.
            del self._arguments[key]


def _are_small(items):
    """Whether no argument of these calls is large or scattered, by their types. Of short calls a closer look at each
    argument would take longest."""
    return (SMALL.issuperset(map(type, chain.from_iterable([args for _, args, _ in items]))) and
            SMALL.issuperset(map(type, chain.from_iterable([keywords.values() for _, _, keywords in items if keywords]))))


class _Same:
    """Calls of one function without keywords: of each only its arguments travel."""

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    @classmethod
    def of(cls, items):
        """These calls, or None if they are others."""
        function = items[0][0]
        if all([one is function and not keywords for one, _, keywords in items]):
            return cls(function, [args for _, args, _ in items])
        return None

    def __iter__(self):
        return ((self.function, args, {}) for args in self.arguments)


class _Batch:
    """Makes the calls of a batch on a worker; named as what it calls, for people."""

    def __init__(self, items):
        functions = {id(function): function for function, _, _ in items}.values()
        names = {getattr(function, "__name__", type(function).__name__) for function in functions}
        self.__name__ = names.pop() if len(names) == 1 else "joblib"

    def __call__(self, items, backend, n_jobs):
        with parallel_config(backend=backend, n_jobs=n_jobs):
            return [function(*args, **keywords) for function, args, keywords in items]


def _begin_of(initializer, initargs):
    """What `Begun` is made of: each process calls an initializer once for each of these."""
    if initializer is None:
        return None
    if not callable(initializer):
        raise TypeError(f"initializer is a function, not {initializer!r}")
    return uuid.uuid4().hex, initializer, tuple(initargs)


def tell_joblib(ended, running) -> None:
    """The thread of a backend: tells joblib of the futures that have ended, until it finds None."""
    while True:
        future = ended.get()
        if future is None:
            return
        callback = running.pop(future, None)
        if callback is not None:
            callback(future)
        future = callback = None


def bytes_of(value: Any) -> int:
    """What its buffers take: of arrays, frames, sparse matrices and bytes; 0: of other objects."""
    if isinstance(value, (bytes, bytearray)):
        return len(value)
    for name in ("nbytes", "memory_usage"):
        size = getattr(value, name, None)
        if callable(size) and name == "memory_usage":
            with contextlib.suppress(Exception):
                size = size(deep=False)
                size = int(size.sum() if hasattr(size, "sum") else size)
        if isinstance(size, int) and not isinstance(size, bool):
            return size
    # A sparse matrix: three arrays side by side.
    parts = [getattr(value, name, None) for name in ("data", "indices", "indptr")]
    return sum(part.nbytes for part in parts if isinstance(getattr(part, "nbytes", None), int))


def slots_of(client: Client, timeout: float) -> int:
    """All slots of the cluster; waits until it has a worker."""
    slots = _slots_now(client)
    if slots:
        return slots
    try:
        client.submit(int).result(timeout)
    except _TimeoutError:
        raise PenstockError(f"the cluster has no worker after {timeout} s", subject="penstock.joblib",
                            remedy="start workers, or give parallel_config(wait_for_workers=SECONDS)") from None
    return _slots_now(client)


def _slots_now(client):
    if client._slots:
        return client._slots
    return sum(band.get("slots", 0) for band in client.ask("workers"))


def _backend_of_call(nesting_level, inner_max_num_threads, options):
    """Called by the unpickler where a call runs."""
    return PenstockBackend(nesting_level, inner_max_num_threads, **options)


def register() -> None:
    """Makes "penstock" a backend of joblib; importing this module does it."""
    joblib.register_parallel_backend("penstock", PenstockBackend)


register()
