"""The client: submits calls and graphs, and keeps their futures up to date."""
import atexit
import contextlib
import ctypes
import html
import os
import threading
import time
import weakref
from collections import deque
from typing import TYPE_CHECKING, Any, Callable, Dict, Iterable, List, Optional, Sequence, Union

from penstock import _abi, _graph, _hints, _lineage, _losses, _outputs, _threads, _wire, errors
from penstock._batch import Batch, Call, let_go
from penstock._collections import Collections
from penstock._connection import Connection, end
from penstock._futures import Future, closed, collecting, forked
from penstock._hints import missing
from penstock._lending import Lending
from penstock._news import Plain
from penstock._packed import pack
from penstock._questions import Questions
from penstock._shapes import SHAPES, futures_in, gathered, values_in
from penstock.errors import ClientClosed, NotSerializable, PenstockError, ResultLost

if TYPE_CHECKING:
    from penstock._builder import GraphBuilder, Job
    from penstock._pool import ClientExecutor  # tidy: foreign

Path = Union[str, os.PathLike[str]]
Workers = Union[str, Iterable[str], None]  # The name of one.
BATCH_MAX = 2000  # Calls that travel together, at most.
LOCK_WAIT_S = 0.05  # A client that is closed waits no longer for other threads before it interrupts them.
RUNNER_OPTIONS = ("files", "environment", "python", "working_directory")


class Client(Questions, Collections):
    """A connection to a cluster; without an address, a cluster of its own inside this process.

    >>> with Client() as client:                                    # doctest: +SKIP
    ...     client.submit(sum, [1, 2]).result()
    3

    Any thread may use it. Closing it ends an embedded cluster with all that runs in it.

    A value is freed when its future is gone and nothing is to read it any more. If one that was made of it is lost with
    its worker, it is made again as well: `lineage` says from how many generations of calls, "full" or "none".
    """

    _future_kind = Future  # `penstock.distributed` has its own.
    asynchronous = False   # Dask asks for it.

    def __init__(self, address: Optional[str] = None, *, slots: Optional[int] = None, memory: Union[int, str] = 0,
                 python: Optional[str] = None, environment: Optional[Dict[str, str]] = None,
                 working_directory: Optional[str] = None, name: Optional[str] = None, operators: Iterable[str] = (),
                 timeout: float = 5.0, warm: bool = True, lineage: Union[int, str] = _lineage.LINEAGE):
        self._generations = _lineage.generations(lineage)
        self._library = _abi.library()
        self._command = _graph.RunnerCommand(python, environment, working_directory)
        if address is None:
            self._command.piece_bytes = 1 << 30  # Nothing of it crosses a network: penstock_client_open says so, too.
        slots, memory = _graph.whole("slots", 0 if slots is None else slots, 0, 65535), _graph.bytes_of("memory", memory)
        slots = slots or (0 if address else len(os.sched_getaffinity(0)))
        operators = list(operators)
        options = _abi.ClientOptions(
            address=_abi.text(_hints.address(address)), name=_abi.text(name), slots=slots, memory_bytes=memory,
            connect_timeout_ms=max(1, round(_graph.number("timeout", timeout, 0, 1e6) * 1000)), operators=_abi.texts(operators),
            operator_count=len(operators))
        if address is None and warm:
            options.runners_warm = slots
            options.runner = ctypes.pointer(self._command.template())
        self._begin(self._library.check(self._library.client_open(options)), address)

    def _begin(self, handle, address):
        self.address = address
        self._handle, self._session = handle, None  # `_session`: of `coordination`.
        self._connection = Connection(handle, closed)
        self._slots = self._library.client_slots(self._handle)
        self._lock = threading.RLock()
        self._pending: List[Call] = []
        self._pending_ids = set()  # Of their futures.
        self._pending_shared: Dict[bytes, _wire.Shared] = {}  # Large buffers of theirs.
        self._lending = Lending()  # Those that batches share.
        self._sending: List[List[Call]] = []  # Calls on their way into a batch; a callback may send more meanwhile.
        self._options: Dict[tuple, _graph.Options] = {}
        self._held: Dict[int, Any] = {}  # Calls whose inputs come from other jobs and are not there yet.
        self._batches: Dict[int, Batch] = {}
        self._watched: Dict[int, Callable[[Plain], None]] = {}  # Who is told the news of jobs that have no batch.
        self._results: "weakref.WeakValueDictionary[int, Any]" = weakref.WeakValueDictionary()  # Of jobs that have a `Job`.
        self._dropped: deque = deque()
        self._called_back: set = set()  # Futures with callbacks, until they end.
        self._freed: deque = deque()  # Recipes of futures that are gone.
        self._ancestors = _lineage.Ancestors()
        self._numbers = 0
        self._closing = self._forked = False
        self._wake = threading.Event()
        self._library.want_news(self._handle)
        self._threads = [threading.Thread(target=target, args=(weakref.ref(self),), daemon=True, name=name)
                         for target, name in ((_threads.follow_news, "penstock-news"), (_threads.flush_soon, "penstock-flush"))]
        for thread in self._threads:
            thread.start()
        _open_clients.add(self)
        _latest[:] = [weakref.ref(self)]

    # ---- calls ----

    def submit(self, function: Callable[..., Any], *args: Any, key: Optional[str] = None, retries: int = 0, priority: int = 0,
               resources: Optional[Dict[str, float]] = None, workers: Workers = None, memory: Union[int, str] = 0,
               slots: float = 1.0, time_limit: float = 0.0, files: Optional[Iterable[Path]] = None,
               environment: Optional[Dict[str, str]] = None, python: Optional[str] = None,
               working_directory: Optional[Path] = None, memory_max: Union[int, str] = 0, overlap: str = "allow",
               outputs: int = 1, metadata: Any = None, pure: Optional[bool] = None, **kwargs: Any) -> Any:
        """A future of `function(*args, **kwargs)` on the cluster. Futures among the arguments, however deep, become their
        values there. `key`, ... `pure` are ours; give others of these names by functools.partial. `files` travel with the
        call; `environment` is added to the client's. Of a function that returns so many `outputs`, as a tuple or a list, the
        futures of these, in a list. `metadata`: True, or a function of a value; see `metadata`. Each call runs, also if it is
        `pure`, as Dask has it."""
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        runner = self._command.other(files, environment, python, working_directory)
        options = _graph.options_from(self._options, retries, priority, resources, workers, memory, slots, time_limit,
                                      True, runner, memory_max, overlap)
        return self._submit(_outputs.plan(function, outputs, metadata), args, kwargs, key, options)

    def map(self, function: Callable[..., Any], *iterables: Iterable[Any], retries: int = 0, priority: int = 0,
            key: Union[str, Sequence[str], None] = None, pure: Optional[bool] = None, batch_size: Optional[int] = None,
            **keywords: Any) -> List[Future]:
        """`function` of each element (of several iterables side by side); else as `submit`. `key` begins their names, or is a
        list of them; `batch_size` changes nothing."""
        if not callable(function):
            raise TypeError(f"{function!r} is not callable")
        ours = {name: keywords.pop(name) for name in ("resources", "memory", "memory_max", "slots", "time_limit", "overlap")
                if name in keywords}
        theirs = {name: keywords.pop(name) for name in RUNNER_OPTIONS if name in keywords}
        options = _graph.Options(retries, priority, worker=keywords.pop("workers", None), keep_going=True,
                                 runner=self._command.other(**theirs), **ours)
        plan = _outputs.plan(function, keywords.pop("outputs", 1), keywords.pop("metadata", None))
        calls = list(zip(*iterables))
        keys = list(key) if isinstance(key, (list, tuple)) else [f"{key}-{i}" if key else None for i in range(len(calls))]
        if len(keys) != len(calls):
            raise ValueError(f"key: {len(keys)} names for {len(calls)} calls")
        return [self._submit(plan, args, keywords, name, options) for name, args in zip(keys, calls)]

    def scatter(self, data: Any, key: Optional[str] = None, broadcast: bool = False) -> Any:
        """Futures of what is here already: of a list one for each element, of a dict one for each value, else one. A worker
        fetches it once when it is read there, whatever `broadcast`, a word of Dask's, says."""
        if isinstance(data, list):
            return [self._scattered(value, None) for value in data]
        if isinstance(data, dict):
            return {name: self._scattered(value, str(name)) for name, value in data.items()}
        return self._scattered(data, key)

    def gather(self, futures: Any, errors: str = "raise") -> Any:
        """The values of futures in the same shape: one, lists, tuples, sets, dictionaries. "skip" leaves out those without."""
        if isinstance(futures, Future):
            return futures.result()
        given = futures if isinstance(futures, SHAPES) else list(futures)
        return values_in(given, self._gather(list(futures_in(given, self)), errors))

    def cancel(self, futures: Union[Future, Iterable[Future]]) -> None:
        """Cancels these and what depends on them."""
        for future in [futures] if isinstance(futures, Future) else futures:
            future.cancel()

    def retry(self, futures: Union[Future, Iterable[Future]]) -> None:
        """Runs these once more, as themselves."""
        for future in [futures] if isinstance(futures, Future) else futures:
            future.retry()

    def get_executor(self, **options: Any) -> "ClientExecutor":  # tidy: foreign
        """A `concurrent.futures.Executor`; `options` are those of `submit`."""
        from penstock._pool import ClientExecutor  # tidy: foreign
        return ClientExecutor(self, **options)  # tidy: foreign

    # ---- graphs ----

    def graph(self, *, files: Optional[Iterable[Path]] = None, environment: Optional[Dict[str, str]] = None,
              python: Optional[str] = None, working_directory: Optional[Path] = None) -> "GraphBuilder":
        """A `GraphBuilder`: many subtasks as one job. The options are those of `submit`, for all its subtasks."""
        from penstock._builder import GraphBuilder
        return GraphBuilder(self, files=files, environment=environment, python=python,
                            working_directory=working_directory)

    def attach(self, name: Union[str, int]) -> "Job":
        """The job of that name or number, whoever has submitted it. It is followed until this `Job` is forgotten or closed."""
        from penstock._builder import Job
        if not isinstance(name, (str, int)) or isinstance(name, bool):
            raise TypeError(f"a job is named by a text or its number, not by {name!r}")
        with self._connection as handle:
            number = self._library.check(self._library.attach(handle, str(name).encode()))
        return Job(self, number, name)

    # ---- life ----

    @property
    def closed(self) -> bool:
        return self._handle is None

    def close(self) -> None:
        """Ends it; futures that have no value yet are cancelled, and the values of all go."""
        if self._session is not None:
            self._session.end()
        handle = self._connection.refuse()
        if handle is None:  # Somebody else does.
            return
        self._release_all()
        self._library.client_interrupt(handle)  # Also whoever waits in a call with our lock in its hands.
        with self._lock:
            self._closing = True
            unfinished = [future for future in self._submitted() if not future.done()]
            self._handle = None
        self._wake.set()
        # Pending calls stay until the end: a process that is forked meanwhile finds their futures there.
        ending = self._library, handle, self._connection, self._threads, self._lock, self._pending, unfinished
        if self._runs_callbacks() or self._connection.is_inside():
            # In a callback, in the midst of a call, or as the last one who knew it: somebody else has to wait for this thread.
            closer = threading.Thread(target=end, args=ending, name="penstock-close")
            _closers.add(closer)
            closer.start()
        else:
            end(*ending)

    def _waiting(self):
        """Entered while one of its users waits; `_nested` lends a slot meanwhile."""
        return contextlib.nullcontext()

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
        self._connection = Connection(None, forked)
        futures = self._submitted()
        for future in futures:
            future._be_forked()
        for future in futures:
            future._fail(forked())
        for those in (self._pending, self._sending, self._held, self._batches, self._lending):
            those.clear()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    async def __aenter__(self) -> "Client":
        return self

    async def __aexit__(self, *_: Any) -> None:
        import asyncio
        # Its end may wait for processes, and for calls of the event loop's own.
        await asyncio.get_running_loop().run_in_executor(None, self.close)

    def __del__(self):
        if getattr(self, "_handle", None) is not None:
            self.close()

    def __reduce__(self):
        raise TypeError("a client is not sent: a function that needs one asks for it there, `penstock.get_client()`")

    def __repr__(self):
        where = self.address or f"embedded, {self._slots} slots"
        return f"<Client: {where if self._handle else 'closed'}>"

    def _repr_html_(self):
        return f"<b>Penstock client</b>: {html.escape(repr(self)[9:-1])}"

    # ---- inside ----

    if not TYPE_CHECKING:
        __getattr__ = missing

    def _check_open(self):
        if self._closing or self._connection.is_refused():  # The latter comes first.
            raise forked() if self._forked else closed()

    def _submit(self, plan, args, kwargs, key, options):
        """`plan`: a program, or one with several outputs."""
        if key is not None and not isinstance(key, str):
            raise TypeError(f"key must be a text, not {key!r}: it names the future; an argument of that name goes by functools.partial")
        if isinstance(plan, _outputs.Plan):
            return plan.submit(self, args, kwargs, key, options)
        call = self._call_of(plan, args, kwargs, options)
        future = call.unsent
        with self._lock:
            self._check_open()  # From here on `close` sees it.
            if key is None:
                self._numbers += 1
                key = self._numbers
            future._name = key
            self._enqueue(call, future)
        return future

    def _call_of(self, program, args, kwargs, options):
        """A call of a new future, which has no name yet."""
        self._check_open()
        shared, what = [], f"an argument of {program.name}"

        def place_of(datum):
            known = self._pending_shared.get(datum)
            if known is None:
                known = self._pending_shared.setdefault(datum, _wire.Shared(datum, what))
            shared.append(known)
            return len(inputs.futures) + len(shared) - 1
        with collecting() as inputs:
            payload = _graph.pack_arguments(args, kwargs, what, place_of)
        if options.runner.files is not None:
            shared.append(options.runner.files.shared)
            payload = options.runner.with_files(payload, len(inputs.futures) + len(shared) - 1)
        for future in inputs.futures:
            if future.client is not self:
                raise ValueError(f"{future!r} belongs to another client")
        return Call(self._future_kind(self, None), program, payload, inputs.futures or (), shared or (), options)

    def _enqueue(self, call, future, *parts):
        """`parts`: calls that read this one, and leave with it."""
        future._call = call
        waits = [other for other in call.inputs if not other.done() and id(other) not in self._pending_ids]
        # An input of this very batch is an edge; one of an earlier job is waited for and borrowed.
        if waits:
            return self._hold([call, *parts], waits)
        is_first = not self._pending
        for one in (call, *parts):
            self._put(one)
        if len(self._pending) >= BATCH_MAX and not self._sending:
            self._flush()
        elif is_first:
            self._wake.set()

    def _put(self, call):
        self._pending.append(call)
        self._pending_ids.add(id(call.unsent))

    def _hold(self, calls, waits):
        left = [len(waits)]
        self._held.update((id(call), (call, waits)) for call in calls)

        def one_more(_):
            with self._lock:
                left[0] -= 1
                for call in calls if left[0] == 0 else ():
                    if self._held.pop(id(call), None) and not self._closing:
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
            self._pending, self._pending_shared = [], {}
            self._pending_ids.clear()
            self._wake.clear()
            unsent = [call.unsent for call in calls]  # Until they have left; some may be submitted once more then.
            for call in calls:
                call.unsent = None
            try:
                self._send(calls, unsent)
            except BaseException as error:
                self._give_up(calls, error)
                raise
            finally:
                self._sending = [those for those in self._sending if those is not calls]

    def _give_up(self, calls, error):
        """Fails those that have not left and do not wait to."""
        for call in calls:
            future = call.future()
            if future is None or future.done() or id(call) in self._held or id(future) in self._pending_ids:
                continue
            if future._batch is None or future._batch.job not in self._batches:
                future._leave_batch()
                future._fail(error)

    def _send(self, calls, unsent):
        """`unsent`: their futures, held here until it is known which of them somebody else holds."""
        graph = _graph.GraphColumns(self._command)
        numbers, owners, inputs, shared, wholes = {}, {}, {}, {}, {}

        def number_of(given, output):
            """The subtask of an input: one of this batch, one that borrows from an earlier job, or its value."""
            number = numbers.get(id(given))
            if number is None and output:
                number = numbers.get((id(given), output))
            if number is not None:
                return number
            if isinstance(given, _wire.Shared):
                number = self._lending.number_of(self, graph, given)
                if number not in graph.borrowed:
                    shared[number] = given
            else:
                number = given._give_to(graph, output)
                if number not in graph.borrowed:
                    owners[number] = given  # Kept there, so that the next one borrows it.
            numbers[(id(given), output) if output else id(given)] = number
            return number
        for call, future in self._ready(calls):
            if call.graph is not None:
                wholes.setdefault(call.graph, []).append(future)
                continue
            try:
                reads = (*call.inputs, *call.shared)
                number = call.add_to(graph, [number_of(other, call.output) for other in reads])
            except Exception as error:
                future._fail(error)
                continue
            numbers[id(future)] = number
            owners[number], inputs[number] = future, reads
        while wholes:
            whole, futures = wholes.popitem()
            whole.send_again(futures)
        if not inputs or self._closing:  # By a callback of one that has failed above.
            return
        future = futures = reads = None
        unsent.clear()
        sent = let_go(owners, inputs, numbers, self._generations)
        graph.want(owners)
        batch = Batch(self, [owners.get(number) for number in range(len(graph))])
        batch.shared = shared
        batch.take(graph, inputs)
        batch.calls = {number: call for number, call in sent.items() if number not in owners}
        for number, future in owners.items():
            future._be_of(batch, number)
        batch.packed = pack(owners)
        self._submit_batch(graph, batch, owners)

    def _submit_columns(self, columns, **options):
        """What became of it. REQUIRES: the caller holds our lock until it knows the job, so that no news come before."""
        self._check_open()
        try:
            return columns.submit(self._handle, **options)
        except PenstockError as error:
            if self._connection.was_interrupted(error):
                raise closed() from None
            raise

    def _submit_batch(self, graph, batch, owners):
        try:
            batch.become(graph.submit(self._handle))
        except Exception as error:
            if self._connection.was_interrupted(error):
                for future in owners.values():
                    future._be_cancelled()
                return None
            return _losses.refused(self, batch, owners, error)
        self._batches[batch.job] = batch

    def _ready(self, calls):
        """Those that can leave, each looked at when those before it are on their way, with their futures. What has lost an
        input since it was submitted waits for it once more."""
        leaving = set()
        for call in calls:
            future = call.future()
            if future is None or future.done() or not self._has_its_inputs(call, future):
                continue
            # A graph leaves as a job of its own, so that no call that leaves now is in it.
            beside = leaving if call.graph is None else ()
            waits = [other for other in call.inputs if not other.done() and id(other) not in beside]
            if waits:
                call.unsent = future
                self._hold([call], waits)
            else:
                if call.graph is None:
                    leaving.add(id(future))
                yield call, future

    def _has_its_inputs(self, call, future):
        """False, and its future says why, if an input has failed."""
        for other in call.inputs:
            if not other.done():
                continue
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
        datum = _wire.pack(value, "a scattered object")  # As it is now.
        with self._lock:
            self._numbers += 1
            future = self._future_kind(self, key or f"scattered-{self._numbers}")
        future._be_given(_lineage.Given(future, datum))
        return future

    def _fetch(self, job, numbers, output=0):
        wanted = _abi.uint32s(numbers)
        with self._connection as handle:
            owner = _abi.Owned(self._library.check(self._library.fetch(handle, job, wanted, len(numbers), output)))
        return owner, _abi.places_of(self._library.data_views(owner.handle), len(numbers))

    def _bring(self, futures):
        """The values of futures that have succeeded; `ResultLost` if one of them is not there any more."""
        values: Dict[int, Any] = {}
        wanted: Dict[Batch, list] = {}
        for future in futures:
            loaded, value, batch, index = future._seen()
            if loaded:
                values[id(future)] = value
            elif batch is None:
                raise ResultLost("was released", subject=future.key)
            else:
                wanted.setdefault(batch, []).append((future, index))
        for batch, those in wanted.items():
            owner, places = self._fetch(batch.job, [index for _, index in those])
            for at, ((future, _), (address, size)) in enumerate(zip(those, places)):
                values[id(future)] = value = self._value(at, address, size, owner, future.key)
                future._keep(value, batch)
        return [values[id(future)] for future in futures]

    @staticmethod
    def _value(at, address, size, owner, key):
        if size == 0:  # Every value has a head: a result without bytes is not there any more.
            raise ResultLost("a result is gone: its job was released, or has ended in an earlier life of its supervisor")
        datum = ctypes.string_at(address, size) if size < _graph.LARGE_BYTES else _abi.view_of(at, address, size, owner)
        try:
            return _wire.unpack_own(datum)
        except ModuleNotFoundError as error:
            raise _wire.missing(error) from error
        except Warning:  # Its call was warned, and here that is an error.
            raise
        except Exception as error:
            raise NotSerializable(f"its value cannot be read here: {type(error).__name__}: {error}", subject=key,
                                  remedy="return what it is made of, and make it here") from error

    def _gather(self, futures, errors):
        return gathered(self, futures, errors)

    def _cancel(self, future):
        with self._lock:
            if future.done():
                return False
            self._flush()
            self._held = {key: held for key, held in self._held.items() if held[0].future() is not future}
            batch, index = future._batch, future._index
            future._be_cancelled()
            # What only leads to this value is a job's whole purpose, if it is one graph of which nothing else is wanted.
            whole = batch is not None and batch.is_whole and batch.is_over()
        if batch is not None:
            with contextlib.suppress(ClientClosed), self._connection as handle:  # Then all that it had is cancelled.
                if whole:
                    self._library.cancel(handle, batch.job)
                else:
                    _outputs.cancel_producer(self, handle, batch, future)
                    self._library.cancel_subtask(handle, batch.job, index)
        return future.cancelled()

    def _retry(self, future):
        call = future._call
        if call is None or not future.done():
            raise ValueError(f"{future!r} cannot be run again: " + ("it was scattered" if call is None else "it runs"))
        with self._lock:
            self._check_open()
            call.made_again = 0
            self._put_again(future)

    def _put_again(self, future):
        _lineage.put_missing_again(self, future._call, _losses.MADE_AGAIN_MAX, self._future_again)
        future._free()
        future._be_pending()
        future._call.unsent = future
        self._enqueue(future._call, future)

    def _future_again(self, call):
        """Of a call whose own future is gone."""
        self._numbers += 1
        future = self._future_kind(self, f"again-{self._numbers}")
        call.future = weakref.ref(future)
        if isinstance(call, _lineage.Given):
            future._be_given(call)
        else:
            future._call = call
        return future

    def _release_dropped(self):
        dropped = {}
        while self._dropped:
            batch, index = self._dropped.popleft()
            dropped.setdefault(batch, []).append(index)
        for batch, indices in dropped.items():
            batch.live -= len(indices)
            self._release_if_over(batch)
            if batch.job in self._batches and self._handle is not None:
                self._library.release_outputs(self._handle, batch.job, _abi.uint32s(indices), len(indices))
        while self._freed:
            self._ancestors.add(self._freed.popleft())
        for job in self._lending.over(time.monotonic()):
            if self._handle is not None:
                self._library.release(self._handle, job)

    def _release_all(self):
        """Nobody has its futures from now on. Of a client that is cut off, all stay for a while."""
        # Another thread may be stuck in a call with it, until `close` interrupts that; what was accepted is known all the same.
        has_lock = self._lock.acquire(timeout=LOCK_WAIT_S)
        try:
            for job in [*self._batches, *self._lending.jobs()] if self._handle is not None else ():
                self._library.release(self._handle, job)
        finally:
            if has_lock:
                self._lock.release()

    def _release_if_over(self, batch):
        if batch.live <= 0 and batch.ended and batch.job in self._batches and self._handle is not None:
            del self._batches[batch.job]
            self._library.release(self._handle, batch.job)

    def _take_news(self, news):
        with self._lock:
            batch = self._batches.get(news.job)
            if batch is not None:  # Else a `Job` asks itself, or nobody wants to know.
                self._apply(batch, Plain(news))
            elif news.job in self._watched:
                self._watched[news.job](Plain(news))
            self._release_dropped()

    # Failures first: what was cancelled because of them fails with the same exception.
    def _apply(self, batch, news):
        without = {index for first, last in news.cancelled for index in range(first, last + 1)}
        for index, error in news.failures:
            future = batch.future(index)
            if _losses.put_down(batch, index, error):
                without.add(index)
            else:
                batch.failed[index] = error if future is None else errors.about(error, future.key)
                if future is not None:
                    future._fail(batch.failed[index])
        for first, last in news.succeeded:
            for index in range(first, last + 1):
                future = batch.future(index)
                if future is not None:
                    future._succeed()
                    _lineage.succeeded(future, batch, self)
            batch.forget_inputs(first, last)
        for index in _losses.run_again(self, batch, sorted(without)):
            future = batch.future(index)
            if future is not None:
                self._tell_cancelled(batch, index, future, without)
        for index in without:
            batch.forget_inputs(index, index)
        if news.state != _abi.RUNNING:
            batch.end()
            self._release_if_over(batch)

    def _tell_cancelled(self, batch, index, future, without):
        error = batch.failed_before(index)
        if error is not None:
            return future._fail(errors.about(error, future.key))
        other = batch.lost_before(index)
        if other is not None:
            return future._fail(_losses.explained(errors.about(batch.lost[id(other)], other.key), other))
        for other in batch.inputs_of(index):
            # Another batch's, which is told in its own news, or one that is told in the same news, in whatever order.
            if not other.done() and other._batch is batch and other._index in without:
                self._tell_cancelled(batch, other._index, other, without)
            if other.done() and not other.cancelled() and super(Future, other).exception() is not None:
                return future._fail(super(Future, other).exception())
        future._be_cancelled()


_open_clients: "weakref.WeakSet[Client]" = weakref.WeakSet()
_latest: List[Any] = []  # The client that was opened last, weakly.
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
