"""Futures: results that are not there yet, in the words of concurrent.futures."""
import concurrent.futures
import contextlib
import html
import threading
import time
import uuid
import weakref
from typing import Any, Generator, Optional, Union

from penstock import _graph, _losses, _wire
from penstock._light import LightFuture
from penstock._lineage import Given
from penstock.errors import ClientClosed, PenstockError, ResultLost, remote_traceback

ABSENT = object()  # In place of a value that is not here.
_INDICES = tuple(range(4096))  # One object for all futures of that index.
_collecting = threading.local()


class collecting:
    """While it lasts, futures that are pickled on this thread are noted down as inputs and stand for them. `place_of` says
    which input one is; by default, the next. What it raises would be told as a fault of the pickling."""

    def __init__(self, place_of=None):
        self.futures, self.numbers, self.place_of = [], {}, place_of

    def __enter__(self):
        self.before = getattr(_collecting, "now", None)
        _collecting.now = self
        return self

    def __exit__(self, *_):
        _collecting.now = self.before

    def number(self, future):
        if self.place_of is not None:
            return self.place_of(future)
        if id(future) not in self.numbers:
            self.numbers[id(future)] = len(self.futures)
            self.futures.append(future)
        return self.numbers[id(future)]


def is_collecting():
    """Whether this thread pickles arguments of a subtask."""
    return getattr(_collecting, "now", None) is not None


class Future(LightFuture):
    """The result of one subtask. Everything that `concurrent.futures.Future` can, and: it may be an argument of another
    subtask, wherever it stands in it; its value is brought here when it is asked for; `retry` runs it again."""

    __slots__ = ("client", "_name", "_batch", "_index", "_recipe")
    _token = None             # Its name for Dask.
    _metadata = None          # The future of its metadata.

    def __init__(self, client, key: Union[str, int]):
        super().__init__()
        self.client, self._name = client, key  # A number: behind the name of what it calls.
        self._batch = None    # The job that it is in, with the futures of the others.
        self._index = -1      # Its subtask.
        self._result = ABSENT
        self._recipe = None   # Its call or, if it was scattered, its bytes; None: its batch has the call, or the bytes.

    @property
    def key(self) -> str:
        """Its name, for people."""
        if isinstance(self._name, str):
            return self._name
        call = self._call  # With it comes its number.
        return f"{call.program.name}-{self._name}"

    @property
    def _call(self):
        """How to run it once more; None: it was scattered."""
        if self._recipe is None:
            self._unpack()
        recipe = self._recipe
        return None if isinstance(recipe, Given) else recipe

    @_call.setter
    def _call(self, call):
        self._recipe = call

    @property
    def _given(self):
        """Its bytes, if it was scattered: what becomes of the object changes nothing."""
        recipe = self._recipe
        return recipe if isinstance(recipe, Given) else None

    @property
    def _loaded(self):
        """Whether its value is here."""
        return (self._result is not ABSENT and self._exception is None) or self._given is not None

    def _unpack(self):
        with self._condition:
            batch = self._batch
            if self._recipe is None and batch is not None and batch.packed is not None:
                batch.packed.unpack(self, self._index)

    def __reduce__(self):
        now = getattr(_collecting, "now", None)
        if now is None:
            raise TypeError("a future is pickled only as an argument of a subtask of its own client: "
                            "give it to `submit` beside the function, not within it")
        return _wire.load_input, (now.number(self),)

    def __dask_tokenize__(self):
        """What Dask names a graph by that has it: itself, for its value may be made again and is the same then."""
        if self._token is None:
            self._token = uuid.uuid4().hex
        return "penstock.Future", self._token

    def __repr__(self):
        return f"<Future {self.key}: {self.status}>"

    def _repr_html_(self):
        return f"<code>{html.escape(self.key)}</code>: <b>{self.status}</b>"

    @property
    def status(self) -> str:
        """pending, finished, error or cancelled"""
        if not self.done():
            return "pending"
        if self.cancelled():
            return "cancelled"
        return "error" if super().exception() is not None else "finished"

    def result(self, timeout: Optional[float] = None) -> Any:
        """The value; raises what the subtask has raised, with the traceback of where it did."""
        timeout = _graph.seconds(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        self._about_to_wait()
        self._wait(timeout)
        loaded, value, *_ = self._seen()
        return value if loaded else _losses.values_of(self.client, [self], deadline)[0]

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        timeout = _graph.seconds(timeout)
        self._about_to_wait()
        if self.done():
            return super().exception(timeout)
        with self.client._waiting():
            return super().exception(timeout)

    def _succeeded(self):
        """Waits for it, also where a subclass gives `exception` another meaning."""
        return Future.exception(self) is None

    def _wait(self, timeout):
        """Until it has ended; raises what its call has raised."""
        if self.done():
            return super().result(timeout)
        with self.client._waiting():
            return super().result(timeout)

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio  # Takes its time, and few need it.
        if not self.done():
            with self.client._waiting():
                yield from self._end_in(asyncio.get_running_loop()).__await__()
        if self.cancelled():
            raise asyncio.CancelledError
        return self.result()

    def _end_in(self, loop):
        """A future of an event loop that ends with this one, and cancels it if it is cancelled. Not that of
        `asyncio.wrap_future`, which does not end if a call has raised StopIteration, or if its value cannot be brought."""
        ended = loop.create_future()

        def end():
            if not ended.done():
                ended.set_result(None)

        def tell(_):
            with contextlib.suppress(RuntimeError):  # The loop is closed: nobody waits there.
                loop.call_soon_threadsafe(end)
        ended.add_done_callback(lambda told: told.cancelled() and self.cancel())
        self.add_done_callback(tell)
        return ended

    def _about_to_wait(self):
        if self.done():
            return
        if self.client._runs_callbacks():
            raise PenstockError("would be waited for in a callback, and results are brought only between callbacks",
                                subject=self.key, remedy="give it to `submit` as an argument, or wait on another thread")
        self.client._flush()

    def add_done_callback(self, fn: Any) -> None:
        """As in concurrent.futures. It stays until its end, so that the callback is called also if nobody else keeps it."""
        if not self.done():
            self.client._called_back.add(self)
            super().add_done_callback(self.client._called_back.discard)
        super().add_done_callback(fn)

    def metadata(self) -> Any:
        """What its call tells of the value (`metadata` of `submit`): waits for the call, and does not bring the value."""
        return self.client.metadata([self])[0]

    def traceback(self, timeout: Optional[float] = None) -> str:
        """The remote traceback as text; "" if it has none."""
        return str(remote_traceback(Future.exception(self, timeout)) or "")

    def logs(self) -> str:
        """What it has printed so far, and its earlier attempts."""
        return self.client.logs(self)

    def cancel(self) -> bool:
        """Cancels it and what depends on it; False if it has ended. One that runs is interrupted."""
        return self.client._cancel(self)

    def retry(self) -> None:
        """Runs it once more, as itself. Those that depend on it are not run again."""
        self.client._retry(self)

    def release(self) -> None:
        """Its value is needed no longer. Garbage collection does the same."""
        self._free()

    def _leave_batch(self):
        """It is to be in another one, or in none."""
        with self._condition:
            self._unpack()
            self._batch = None

    def _free(self):
        self._unpack()
        self._drop()

    def _drop(self):
        batch, self._batch = self._batch, None
        if batch is not None:
            batch.drop(self._index)

    def __del__(self):
        self._drop()
        recipe = self._recipe
        if recipe is not None and recipe.shared:  # From a destructor, see `Batch.drop`.
            self.client._freed.append(weakref.ref(recipe))

    def _seen(self):
        """(whether its value is here, that, the batch that has it, its subtask there) of the same moment."""
        with self._condition:
            seen = self._loaded, self._result, self._batch if self._state == "FINISHED" else None, self._index
            datum = None if self._given is None else self._given.datum
        return seen if datum is None else (True, _wire.unpack_own(datum), *seen[2:])

    def _be_of(self, batch, index):
        with self._condition:
            self._batch, self._index = batch, _INDICES[index] if index < len(_INDICES) else index

    def _lend_to(self, columns, client):
        """The subtask of a graph that has its value, for which is waited; raises why there is none."""
        if self.client is not client:
            raise ValueError(f"{self!r} belongs to another client")
        error = Future.exception(self)
        if error is not None:
            raise error
        return self._give_to(columns)

    def _give_to(self, columns, output=0):
        """The same of one that is there: borrowed from its job, or what is here. `output`: of several that its call has."""
        with self._condition:
            batch, index = self._batch if self._state == "FINISHED" else None, self._index
        if batch is not None:
            number = columns.borrow(batch.job, batch.identity, index, output)
            columns.borrowed[number] = self, batch
            return number
        given = self._given
        if given is not None:
            return columns.literal(given.datum)
        loaded, value, *_ = self._seen()
        if not loaded:
            raise ResultLost("was released", subject=self.key)
        return columns.literal(_wire.pack(value, self.key))

    # What the client says about it. Each is said once.

    def _succeed(self):
        with contextlib.suppress(concurrent.futures.InvalidStateError):  # It has ended otherwise.
            self.set_result(ABSENT)

    def _be_given(self, given):
        self._recipe = given
        self._succeed()

    def _leave_to(self, batch):
        """What was scattered is where its batch has it, and no longer here as well."""
        with self._condition:
            given = self._given
            if self._batch is not batch or given is None:
                return
            self._recipe = None
        self.client._freed.append(weakref.ref(given))  # Only calls that have read it keep it from now on.

    def _fail(self, error):
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            self.set_exception(error)

    def _be_cancelled(self):
        with self._condition:
            if self.done():
                return
        if super().cancel():
            self.set_running_or_notify_cancel()

    def _be_forked(self):
        """In a child process, before it is told: other threads of the parent may have held its locks at that moment."""
        if self.done():
            return
        self._callbacks = None  # They are the parent's to call.
        for waiter in self._waiting or ():  # This thread may be in the midst of `as_completed`, which goes on here.
            waiter.event, waiter.lock = threading.Event(), threading.Lock()

    def _keep(self, value, batch):
        """It stays with its batch as well, where others can be given it; if another one has it now, that is another value."""
        with self._condition:
            if self._batch is batch and self._state == "FINISHED":
                self._result = value

    def _be_pending(self):
        """It is run once more."""
        with self._condition:
            self._state, self._exception, self._result = "PENDING", None, ABSENT

    def _forget_callbacks(self):
        """Who was told of its end is not told again."""
        with self._condition:
            self._callbacks = None


def forked():
    return ClientClosed("the client is of the process that this one was forked from",
                        remedy="make another Client() here, or start processes by `spawn`")


def closed():
    return ClientClosed("the client is closed", remedy="make another Client()")
