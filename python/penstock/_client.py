"""The client: submits calls and graphs, and keeps their futures up to date."""
import atexit
import ctypes
import html
import os
import threading
import time
import weakref
from collections import deque
from typing import Any, Callable, Dict, Iterable, List, Optional

from penstock import _abi, _graph, _wire, errors
from penstock._batch import Batch, Call
from penstock._futures import Future, collecting, forked, refuse_closed
from penstock._news import Plain
from penstock.errors import ConnectionFailed, NotSerializable, ResultLost

FLUSH_AFTER_S = 0.0005  # Calls that are submitted within this time of each other travel together.
BATCH_MAX = 2000        # And at most so many.
LARGE_BYTES = 64 << 10  # A value beyond this is read where it lies, not copied first.
MADE_AGAIN_MAX = 8      # How often a call is made again because its value was lost.
POLL_NS = 200_000_000   # How often a wait looks whether somebody has pressed Ctrl-C.


class Client:
    """A connection to a cluster; without an address, a cluster of its own inside this process.

    >>> with Client() as client:                                    # doctest: +SKIP
    ...     client.submit(sum, [1, 2]).result()
    3

    Any thread may use it. Closing it ends an embedded cluster with all that runs in it.
    """

    def __init__(self, address: Optional[str] = None, *, slots: Optional[int] = None, memory: int = 0,
                 python: Optional[str] = None, environment: Optional[Dict[str, str]] = None,
                 working_directory: Optional[str] = None, name: Optional[str] = None, operators: Iterable[str] = (),
                 timeout: float = 5.0, warm: bool = True):
        self._library = _abi.library()
        self._command = _graph.RunnerCommand(python, environment, working_directory)
        if address is None:
            # Nothing of it crosses a network: penstock_client_open says so, too.
            self._command.payload_max = self._command.piece_bytes = 1 << 30
        slots, memory = _graph.whole("slots", slots or 0, 0, 65535), _graph.whole("memory", memory, 0, 2**63 - 1)
        slots = slots or (0 if address else len(os.sched_getaffinity(0)))
        operators = list(operators)
        options = _abi.ClientOptions(
            address=_abi.text(address), name=_abi.text(name), slots=slots, memory_bytes=memory,
            connect_timeout_ms=max(1, int(timeout * 1000)), operators=_abi.texts(operators),
            operator_count=len(operators))
        if address is None and warm:
            options.runners_warm = slots
            options.runner = ctypes.pointer(self._command.template())
        self.address = address
        self._handle = self._library.check(self._library.client_open(options))
        self._lock = threading.RLock()
        self._pending: List[Call] = []
        self._pending_ids = set()  # Of their futures.
        self._sending: List[List[Call]] = []  # Calls on their way into a batch; a callback may send more meanwhile.
        self._held: Dict[int, Any] = {}  # Calls whose inputs come from other jobs and are not there yet.
        self._batches: Dict[int, Batch] = {}
        self._early: Dict[int, list] = {}
        self._quiet = set()  # Jobs whose news nobody here wants.
        self._dropped: deque = deque()
        self._numbers = 0
        self._closing = self._forked = False
        self._wake = threading.Event()
        self._library.want_news(self._handle)
        self._threads = [threading.Thread(target=target, args=(weakref.ref(self),), daemon=True, name=name)
                         for target, name in ((_follow_news, "penstock-news"), (_flush_soon, "penstock-flush"))]
        for thread in self._threads:
            thread.start()
        _open_clients.add(self)

    # ---- calls ----

    def submit(self, function: Callable, *args, key: Optional[str] = None, retries: int = 0, priority: int = 0,
               resources: Optional[Dict[str, int]] = None, workers: Optional[str] = None, memory: int = 0,
               slots: float = 1.0, time_limit: float = 0.0, **kwargs) -> Future:
        """Calls `function(*args, **kwargs)` on the cluster. Futures among the arguments, however deep, become their
        values there. `key`, `retries`, ... `time_limit` are ours; give others of these names by functools.partial."""
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        options = _graph.Options(retries, priority, resources, workers, memory, slots, time_limit, keep_going=True)
        return self._submit(function, args, kwargs, key, options)

    def map(self, function: Callable, *iterables, retries: int = 0, priority: int = 0, key: Optional[str] = None,
            **keywords) -> List[Future]:
        """`function` of each element (of several iterables side by side); the rest is as in `submit`."""
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        ours = {name: keywords.pop(name) for name in ("resources", "memory", "slots", "time_limit") if name in keywords}
        options = _graph.Options(retries, priority, worker=keywords.pop("workers", None), keep_going=True, **ours)
        return [self._submit(function, args, keywords, f"{key}-{i}" if key else None, options)
                for i, args in enumerate(zip(*iterables))]

    def scatter(self, data, key: Optional[str] = None):
        """Futures of what is here already: of a list one for each element, of a dict one for each value, else one."""
        if isinstance(data, list):
            return [self._scattered(value, None) for value in data]
        if isinstance(data, dict):
            return {name: self._scattered(value, str(name)) for name, value in data.items()}
        return self._scattered(data, key)

    def gather(self, futures, errors: str = "raise"):
        """The values of futures, in the shape in which they are given (list, tuple, set, dict, one)."""
        if isinstance(futures, Future):
            return futures.result()
        if isinstance(futures, dict):
            return dict(zip(futures, self.gather(list(futures.values()), errors)))
        if isinstance(futures, (list, tuple, set)):
            return type(futures)(self._gather(list(futures), errors))
        return self._gather(list(futures), errors)

    def cancel(self, futures) -> None:
        for future in [futures] if isinstance(futures, Future) else futures:
            future.cancel()

    def retry(self, futures) -> None:
        for future in [futures] if isinstance(futures, Future) else futures:
            future.retry()

    def logs(self, of) -> str:
        """What a future's function, or all of a job, has printed so far. A line is preceded by `job:subtask#attempt`."""
        self._check_open()
        if not isinstance(of, Future):
            return self._log(of.number, -1)
        self._flush()
        batch = of._batch
        if batch is None:
            raise ResultLost("was released, or not sent yet", subject=of.key)
        return self._log(batch.job, of._index)

    def _log(self, job, subtask):
        owner = _abi.Owned(self._library.check(self._library.job_log(self._handle, job, subtask)))
        return _abi.bytes_at(self._library.data_views(owner.handle)[0]).decode(errors="replace")

    def get_executor(self, **options):  # tidy: foreign
        """A `concurrent.futures.Executor`; `options` are those of `submit`."""
        from penstock._pool import ClientExecutor  # tidy: foreign
        return ClientExecutor(self, **options)  # tidy: foreign

    # ---- graphs ----

    def get(self, graph, keys, **options):
        """Computes `keys` of a Dask graph; see `penstock.dask.get`."""
        from penstock import dask
        return dask.get(graph, keys, client=self, **options)

    def graph(self):
        """A `GraphBuilder`: many subtasks as one job."""
        from penstock._builder import GraphBuilder
        return GraphBuilder(self)

    def attach(self, name: str):
        """The job of that name or number, whoever has submitted it."""
        from penstock._builder import Job
        self._check_open()
        number = self._library.check(self._library.attach(self._handle, str(name).encode()))
        self._quiet.add(number)
        return Job(self, number, name)

    # ---- life ----

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Ends it; futures that have no value yet are cancelled."""
        with self._lock:
            if self._closing:
                return
            self._closing = True
            unfinished = [future for future in self._submitted() if not future.done()]
            handle, self._handle = self._handle, None
        self._wake.set()
        self._library.wake_news(handle)
        # Pending calls stay until the end: a process that is forked meanwhile finds their futures there.
        end = self._library, handle, self._threads, self._lock, self._pending, unfinished
        if self._runs_callbacks():
            # In a callback, or as the last one who knew it: somebody else has to wait for this thread.
            closer = threading.Thread(target=_end, args=end, name="penstock-close")
            _closers.add(closer)
            closer.start()
        else:
            _end(*end)

    def _runs_callbacks(self):
        """Whether this thread is one that the others wait for: ours, or a user's who is in `cancel` or `_flush`."""
        return threading.current_thread() in self._threads or self._lock._is_owned()

    def _submitted(self):
        """The futures of all that has been submitted and not released."""
        calls = self._pending + sum(self._sending, []) + [call for call, _ in self._held.values()]
        futures = [call.future() for call in calls]
        for batch in self._batches.values():
            futures += [batch.future(index) for index in range(len(batch.futures))]
        return [future for future in futures if future is not None]

    def _be_forked(self):
        """In a child process: threads, connection and cluster are the parent's; whoever waits here waits for nobody."""
        self._closing = self._forked = True  # Also of one that another thread of the parent was about to close.
        self._handle, self._lock, self._wake = None, threading.RLock(), threading.Event()
        futures = self._submitted()
        for future in futures:
            future._be_forked()
        for future in futures:
            future._fail(forked())
        for those in (self._pending, self._sending, self._held, self._batches):
            those.clear()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __repr__(self):
        where = self.address or f"embedded, {self._library.client_slots(self._handle)} slots" if self._handle else "closed"
        return f"<Client: {where}>"

    def _repr_html_(self):
        return f"<b>Penstock client</b>: {html.escape(repr(self)[9:-1])}"

    # ---- inside ----

    def _check_open(self):
        if self._forked:
            raise forked()
        if self._closing:
            refuse_closed()

    def _submit(self, function, args, kwargs, key, options):
        self._check_open()
        what = f"an argument of {_wire.name_of(function)}"
        with collecting() as inputs:
            payload = _graph.pack_arguments(args, kwargs, what)
        if len(payload) > self._command.piece_bytes:
            args, kwargs = self._with_large_apart(args, kwargs)
            with collecting() as inputs:
                payload = _graph.pack_arguments(args, kwargs, what)
        for future in inputs.futures:
            if future.client is not self:
                raise ValueError(f"{future!r} belongs to another client")
        with self._lock:
            if key is None:
                self._numbers += 1
                key = f"{_wire.name_of(function)}-{self._numbers}"
            future = Future(self, key)
            self._enqueue(Call(future, function, payload, inputs.futures, options), future)
        return future

    def _enqueue(self, call, future):
        future._call = call
        waits = [other for other in call.inputs if not other.done() and id(other) not in self._pending_ids]
        # An input of this very batch is an edge; one of an earlier job is waited for and borrowed.
        if waits:
            return self._hold(call, waits)
        self._put(call)
        if len(self._pending) >= BATCH_MAX:
            self._flush()
        elif len(self._pending) == 1:
            self._wake.set()

    def _put(self, call):
        self._pending.append(call)
        self._pending_ids.add(id(call.unsent))

    def _hold(self, call, waits):
        left = [len(waits)]
        self._held[id(call)] = (call, waits)

        def one_more(_):
            with self._lock:
                left[0] -= 1
                if left[0] == 0 and self._held.pop(id(call), None) and not self._closing:
                    self._put(call)
                    self._wake.set()
        for other in waits:
            other.add_done_callback(one_more)

    def _flush(self):
        """Sends what has been submitted."""
        with self._lock:
            self._release_dropped()
            if not self._pending or self._closing:
                return
            calls = self._pending
            self._sending.append(calls)
            self._pending = []
            self._pending_ids.clear()
            self._wake.clear()
            try:
                self._send(calls)
            finally:
                self._sending = [those for those in self._sending if those is not calls]
            for call in calls:
                call.unsent = None

    def _send(self, calls):
        graph = _graph.GraphColumns(self._command)
        calls = [call for call in calls if self._has_its_inputs(call)]
        numbers, owners, inputs, borrowed = {}, {}, {}, {}

        def number_of(future):
            """The subtask of an input: one of this batch, one that borrows from an earlier job, or its value."""
            number = numbers.get(id(future))
            if number is not None:
                return number
            batch = future._batch
            if batch is not None:
                number = graph.borrow(batch.job, future._index)
                borrowed[number] = future, batch
            else:
                number = graph.literal(future._as_datum())
                owners[number] = future  # Kept there, so that the next one borrows it.
            numbers[id(future)] = number
            return number
        for call in calls:
            future = call.future()
            if future is None:
                continue
            try:
                edges = [number_of(other) for other in call.inputs]
                template = graph.template(call.function, call.options)
                number = graph.add(template, call.payload, edges, call.options.priority)
            except Exception as error:
                future._fail(error)
                continue
            numbers[id(future)] = number
            owners[number], inputs[number] = future, call.inputs
        if not inputs or self._closing:  # By a callback of one that has failed above.
            return
        graph.want(owners)
        batch = Batch(self, [owners.get(number) for number in range(len(graph))])
        for number, those in inputs.items():
            batch.inputs[number] = those
        batch.borrowed = borrowed
        for number, future in owners.items():
            future._batch, future._index = batch, number
        try:
            batch.job = graph.submit(self._handle)
        except Exception as error:
            self._refused(owners, borrowed, error)
            return
        self._batches[batch.job] = batch
        for news in self._early.pop(batch.job, ()):
            self._apply(batch, news)

    def _refused(self, owners, borrowed, error):
        """A graph is refused whole. If what it borrows is lost, that is made again first."""
        calls = []
        for _, future in sorted(owners.items()):
            future._batch = None
            if not future.done():
                calls.append(future)
        other, lender = borrowed.get(errors.lost_loan(error), (None, None))
        if other is None or not self._make_again([other] if other._batch is lender else [], calls):
            for future in calls:
                future._fail(error)

    def _has_its_inputs(self, call):
        """False, and its future says why, if an input has failed."""
        for other in call.inputs:
            if not other.done():
                continue
            future = call.future()
            if future is None:
                return False
            if other.cancelled():
                future._be_cancelled()
                return False
            error = super(Future, other).exception()
            if error is not None:
                future._fail(error)
                return False
        return True

    def _scattered(self, value, key):
        self._check_open()
        _wire.pickle_with_buffers(value, "a scattered object")
        with self._lock:
            self._numbers += 1
            future = Future(self, key or f"scattered-{self._numbers}")
        future._succeed()
        future._keep(value)
        return future

    def _with_large_apart(self, args, kwargs):
        """The same arguments, those that are large as futures of what they are now."""
        def apart(value):
            if isinstance(value, Future):
                return value
            try:
                datum = _wire.pack(value, "an argument")
            except (TypeError, NotSerializable):
                return value  # There are futures in it; or else it is told of with its own words.
            if len(datum) <= LARGE_BYTES:
                return value
            future = self._scattered(None, None)
            future._datum, future._loaded = datum, False
            return future
        return tuple(apart(value) for value in args), {name: apart(value) for name, value in kwargs.items()}

    def _fetch(self, job, numbers):
        self._check_open()
        wanted = (ctypes.c_uint32 * len(numbers))(*numbers)
        owner = _abi.Owned(self._library.check(self._library.fetch(self._handle, job, wanted, len(numbers), 0)))
        return owner, self._library.data_views(owner.handle)

    def _load(self, futures):
        """The values of futures that have succeeded. What has been lost since is made again."""
        while True:
            try:
                return self._bring(futures)
            except (ResultLost, ConnectionFailed):
                if self._runs_callbacks() or not self._make_lost_again(futures):
                    raise
            for future in futures:
                future._about_to_wait()
                super(Future, future).result()

    def _make_lost_again(self, futures):
        """False if there is none that can be."""
        any_again = False
        for future in futures:
            batch = future._batch
            if future._loaded or batch is None:
                continue
            try:
                owner, views = self._fetch(batch.job, [future._index])
                if views[0].size > 0:
                    continue
            except (ResultLost, ConnectionFailed):
                pass
            with self._lock:
                if future._batch is batch and not self._make_again([future]):
                    return False
            any_again = True
        return any_again

    def _bring(self, futures):
        wanted: Dict[int, list] = {}
        for future in futures:
            if future._loaded:
                continue
            if future._batch is None:
                raise ResultLost("was released", subject=future.key)
            wanted.setdefault(future._batch.job, []).append(future)
        for job, those in wanted.items():
            owner, views = self._fetch(job, [future._index for future in those])
            for i, future in enumerate(those):
                future._keep(self._value(views[i], owner))
        return [future._result for future in futures]

    @staticmethod
    def _value(view, owner):
        if view.size == 0:  # Every value has a head: a result without bytes is not there any more.
            raise ResultLost("a result is gone: its job was released, or has ended in an earlier life of its supervisor")
        if view.size < LARGE_BYTES:
            return _wire.unpack(ctypes.string_at(view.data, view.size))
        return _wire.unpack(_abi.view_of(view.data, view.size, owner))

    def _gather(self, futures, errors):
        if errors not in ("raise", "skip"):
            raise ValueError("errors is 'raise' or 'skip'")
        for future in futures:
            if not isinstance(future, Future):
                raise TypeError(f"{future!r} is no future")
        self._flush()
        good = []
        for future in futures:
            if future.done() and future._loaded:
                good.append(future)
                continue
            future._about_to_wait()
            error = super(Future, future).exception() if not future.cancelled() else None
            if error is None and not future.cancelled():
                good.append(future)
            elif errors == "raise":
                super(Future, future).result()
        return self._load(good)

    def _cancel(self, future):
        with self._lock:
            if future.done():
                return False
            self._flush()
            self._held = {key: held for key, held in self._held.items() if held[0].future() is not future}
            batch, index = future._batch, future._index
            future._be_cancelled()
        if batch is not None and not self._closing:
            self._library.cancel_subtask(self._handle, batch.job, index)
        return future.cancelled()

    def _retry(self, future):
        call = future._call
        if call is None or not future.done():
            raise ValueError(f"{future!r} cannot be run again: " + ("it was scattered" if call is None else "it runs"))
        self._check_open()
        with self._lock:
            self._put_again(future)

    def _put_again(self, future):
        future.release()
        future._be_pending()
        future._call.unsent = future
        self._enqueue(future._call, future)

    def _regain(self, borrowed):
        """Makes a value again that a graph has borrowed, with the batch that lent it, and waits; False: it cannot."""
        if borrowed is None:
            return False
        future, lender = borrowed
        with self._lock:
            if future._batch is lender and not self._make_again([future]):
                return False
        return future.exception() is None

    def _make_again(self, lost, futures=()):
        """Runs the calls of these once more: of `lost`, whose values are gone, and then of `futures`, which had not
        ended. False, and nothing is done, if one of `lost` cannot be had again."""
        given = [other for other in lost if other._loaded or other._datum is not None]
        made = [other for other in lost if other not in given]
        if any(other._call is None or other._call.made_again >= MADE_AGAIN_MAX for other in made):
            return False
        for other in given:
            other.release()  # So it is sent once more.
        for other in made:
            other._call.made_again += 1
            other._forget_callbacks()
            self._put_again(other)
        for future in futures:
            self._put_again(future)
        return True

    def _release_dropped(self):
        while self._dropped:
            batch = self._dropped.popleft()
            batch.live -= 1
            self._release_if_over(batch)

    def _release_if_over(self, batch):
        if batch.live <= 0 and batch.ended and batch.job in self._batches and self._handle is not None:
            del self._batches[batch.job]
            self._library.release(self._handle, batch.job)

    def _take_news(self, news):
        with self._lock:
            if news.job in self._quiet:
                return
            batch = self._batches.get(news.job)
            plain = Plain(news)
            if batch is None:
                self._early.setdefault(news.job, []).append(plain)
            else:
                self._apply(batch, plain)
            self._release_dropped()

    # Failures first: what was cancelled because of them fails with the same exception.
    def _apply(self, batch, news):
        without = [index for first, last in news.cancelled for index in range(first, last + 1)]
        for index, error in news.failures:
            future = batch.future(index)
            lost = batch.borrowed.get(errors.lost_loan(error))
            if index in batch.borrowed:
                batch.lost[id(batch.borrowed[index][0])] = error
            elif future is None:
                continue
            elif future.done():  # It holds what the client has given.
                batch.lost[id(future)] = error
            elif lost is not None:
                batch.lost[id(lost[0])] = error
                without.append(index)
            else:
                future._fail(errors.about(error, future.key))
        for first, last in news.succeeded:
            for index in range(first, last + 1):
                future = batch.future(index)
                if future is not None:
                    future._succeed()
        self._end_without_result(batch, sorted(without))
        if news.state != _abi.RUNNING:
            batch.ended = True
            self._release_if_over(batch)

    def _end_without_result(self, batch, indices):
        """What was cancelled; but what has not run because a value is lost is made again, after that one, in the order
        in which it was submitted."""
        lost, again = {}, {}
        for index in indices:
            future = batch.future(index)
            if not batch.lost or future is None or future.done():
                continue
            those = [other for other in batch.inputs[index] if id(other) in batch.lost]
            if those or any(id(other) in again for other in batch.inputs[index]):
                lost.update((id(other), other) for other in those)
                again[id(future)] = future
        regained = again and all(isinstance(batch.lost[one], ResultLost) for one in lost) and self._make_again(
            [other for other in lost.values() if batch.reads(other)], again.values())
        for index in indices:
            future = batch.future(index)
            if future is not None and not (regained and id(future) in again):
                self._tell_cancelled(batch, index, future)

    def _tell_cancelled(self, batch, index, future):
        for other in batch.inputs[index]:
            if id(other) in batch.lost:
                return future._fail(errors.about(batch.lost[id(other)], other.key))
            if not other.done():
                continue  # Told in the same news, in whatever order: its own inputs are looked at below.
            if not other.cancelled() and super(Future, other).exception() is not None:
                return future._fail(super(Future, other).exception())
        for other in batch.inputs[index]:
            if not other.done() and other._batch is batch:
                self._tell_cancelled(batch, other._index, other)
                if other.done() and not other.cancelled() and super(Future, other).exception() is not None:
                    return future._fail(super(Future, other).exception())
        future._be_cancelled()


# The threads know their client only weakly, so that one that is forgotten can end.

def _follow_news(reference):
    client = reference()
    library, handle = client._library, client._handle
    del client
    while True:
        news = library.next_news(handle, POLL_NS)
        client = reference()
        if client is None or client._closing:
            if news:
                library.news_free(news)
            return
        if news:
            try:
                client._take_news(news.contents)
            finally:
                library.news_free(news)
        elif client._dropped:
            with client._lock:
                client._release_dropped()
        if client._closing:  # By a callback: the handle is not ours any more.
            return
        del client
        if reference() is None:  # So it was the last who knew it.
            return


def _flush_soon(reference):
    wake = reference()._wake
    while True:
        wake.wait()
        time.sleep(FLUSH_AFTER_S)
        client = reference()
        if client is None or client._closing:
            return
        wake.clear()
        client._flush()
        del client


def _end(library, handle, threads, lock, pending, unfinished):
    for thread in threads:
        thread.join()
    library.client_close(handle)
    with lock:  # Whoever has closed it in a callback may still be telling futures what became of them.
        pass
    for future in unfinished:
        future._be_cancelled()
    pending.clear()


_open_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()
_closers: "weakref.WeakSet[threading.Thread]" = weakref.WeakSet()


@atexit.register
def _close_all():
    for client in list(_open_clients):
        client.close()
    for closer in list(_closers):
        closer.join()


def _leave_all_to_the_parent():
    for client in list(_open_clients):
        client._be_forked()
    _closers.clear()


os.register_at_fork(after_in_child=_leave_all_to_the_parent)
