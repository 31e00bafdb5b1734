"""What programs coordinate themselves with, wherever they run: locks, semaphores, events, variables, queues and topics, each by
a name that is the same for all clients and calls of a cluster. The supervisor keeps them, also over its own restarts. What
a process holds is held by a lease that its client renews: of one that has died it is free `lease` seconds later.

>>> with penstock.Lock("output.nc"):                                  # doctest: +SKIP
...     write()                                                       # doctest: +SKIP
"""
import base64
import contextlib
import functools
import itertools
import threading
import time
import uuid
import weakref
from collections import deque
from typing import Any, Iterator, Optional

import cloudpickle

from penstock import _graph, _wire
from penstock._futures import Future
from penstock.errors import ClientClosed, ConnectionFailed, NotSerializable, PenstockError

LEASE_S = 30.0
RETRY_S = 60.0   # So long the supervisor may be away.
LEAVE_S = 1.0    # A client that is closed waits no longer until it has given back what it has,
LEAVE_HERE_S = 0.1  # and of a supervisor on this host not so long: either it answers within milliseconds, or it is ending.
EMBEDDED = "local:"  # So begins the address of a cluster inside a process, as its calls are told it.
AGAIN_S = 0.2    # Between two tries meanwhile.
SLICE_S = 10.0   # Of a wait that is longer: the supervisor answers sooner than the library gives it up.

_lock = threading.Lock()  # Of `client._session` of all clients.


class Session:
    """What a client holds, by one lease."""

    def __init__(self, client):
        self.client, self.token = weakref.ref(client), uuid.uuid4().hex
        self.numbers = itertools.count(1)
        self._ended, self._due = threading.Event(), threading.Event()
        self._come = deque()  # Items that have come, and whose acknowledgement is to be sent.
        threading.Thread(target=_renew, args=(weakref.ref(self), self._ended, self._due), daemon=True,
                         name="penstock-lease").start()

    def ask(self, operation, *words, wait=None, again=True):
        """The answer; after a lost connection the request is made again, which the supervisor knows by its numbers."""
        client = self.client()
        if client is None:
            raise ClientClosed("the client is closed", remedy="make another Client()")
        waits = () if wait is None else (f"--wait={wait:.3f}",)
        late = time.monotonic() + RETRY_S
        while True:
            try:
                return client.ask("shared", operation, *words, *waits, f"--token={self.token}", f"--lease={LEASE_S}")
            except ConnectionFailed:
                if not again or time.monotonic() > late:
                    raise
            self._ended.wait(AGAIN_S)

    def ask_and_wait(self, field, operation, *words, timeout=None, undo=None):
        """Waits until the answer has `field`, or the time is over: then None. `undo` is called if the thread is
        interrupted and what it waited for comes all the same."""
        timeout = _graph.seconds(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        client = self.client()
        while True:
            left = SLICE_S if deadline is None else min(SLICE_S, max(0.0, deadline - time.monotonic()))
            if left <= 0:
                answer = self.ask(operation, *words)
            else:
                with client._waiting():
                    answer = _interruptible(lambda left=left: self.ask(operation, *words, wait=left), field, undo)
            if answer[field]:
                return answer
            if deadline is not None and time.monotonic() >= deadline:
                return None

    def has_come(self, words):
        """The item is acknowledged on another thread, where no Ctrl-C comes between; of a subscription the next `get` does."""
        if "--mine" not in words:
            self._come.append(words)
            self._due.set()

    def has_not_come(self, words):
        """Its taker was interrupted after all: the item goes to another, unless it is acknowledged already."""
        with contextlib.suppress(ValueError):
            self._come.remove(words)
        with contextlib.suppress(PenstockError):
            self.ask("return", *words)

    def acknowledge(self):
        """What has come; whether there was anything. Raises `PenstockError`; what is left is sent with the next renewal."""
        done = False
        while True:
            try:
                words = self._come.popleft()
            except IndexError:
                return done
            try:
                self.ask("acknowledge", *words, again=False)
            except PenstockError:
                self._come.appendleft(words)
                raise
            done = True

    def end(self):
        """The client is about to be closed."""
        self._ended.set()
        self._due.set()
        leaving = threading.Thread(target=self._leave, daemon=True, name="penstock-leave")
        leaving.start()
        client = self.client()
        is_here = client is not None and (client.address or EMBEDDED).startswith(EMBEDDED)
        leaving.join(LEAVE_HERE_S if is_here else LEAVE_S)  # A supervisor that is away does not hold anybody up.

    def lapse(self):
        """Nothing renews the lease any more."""
        self._ended.set()
        self._due.set()

    def _leave(self):
        try:
            self.ask("leave", again=False)
        except PenstockError:
            pass  # Its lease ends by itself.


def _renew(session, ended, due):
    while True:
        due.wait(LEASE_S / 3)
        due.clear()
        ours = session()
        client = None if ours is None else ours.client()
        if client is None or client.closed or ended.is_set():
            return
        try:
            if not ours.acknowledge():  # Each request renews the lease.
                ours.ask("renew", again=False)
        except PenstockError:
            pass  # The supervisor is away; it gives everybody a new lease when it is back.
        del ours, client


def _interruptible(wait, field, undo):
    """`wait()` on a thread of its own where this one is the main thread: there Ctrl-C is to be noticed. `undo` ends the wait
    at the supervisor and gives back what it may have brought."""
    if threading.current_thread() is not threading.main_thread():
        return wait()
    answer, done = [], threading.Event()

    def run():
        try:
            answer.append((wait(), None))
        except BaseException as error:
            answer.append((None, error))
        done.set()
        if left and undo is not None and answer[0][1] is None and answer[0][0][field]:
            undo()
    left = []
    try:
        threading.Thread(target=run, daemon=True, name="penstock-wait").start()
        done.wait()
    except BaseException:
        left.append(True)
        if undo is not None:  # Before the next request of this thread: an item that came meanwhile would be lost to it.
            with contextlib.suppress(PenstockError):
                undo()
        raise
    value, error = answer[0]
    if error is not None:
        raise error
    return value


def session_of(client) -> Session:
    if client is None:
        from penstock._nested import get_client
        client = get_client()
    with _lock:
        if client._session is None:
            client._session = Session(client)
        return client._session


class Shared:
    """What all of them are: a name, and the client that asks for it."""

    def __init__(self, name: Optional[str] = None, client: Any = None):
        if name is not None and (not isinstance(name, str) or name.startswith("--")):
            raise TypeError(f"name is a text that does not begin with --, not {name!r}")
        self.name = name or f"{type(self).__name__.lower()}-{uuid.uuid4().hex}"
        self._client = client

    @property
    def _session(self):
        return session_of(self._client)

    def __repr__(self):
        return f"<{type(self).__name__} {self.name}>"

    def __reduce__(self):
        """Where it is unpickled it is of the client there."""
        return type(self), (self.name,)


class Semaphore(Shared):
    """So many holders at once, on the whole cluster; the others wait in their order. Each `acquire` has a place of its own."""

    def __init__(self, max_leases: int = 1, name: Optional[str] = None, client: Any = None):
        super().__init__(name, client)
        self.max_leases = _graph.whole("max_leases", max_leases, 1, 2**32 - 1)
        self._held = []

    def __reduce__(self):
        return type(self), (self.max_leases, self.name)

    def acquire(self, blocking: bool = True, timeout: Optional[float] = None) -> bool:
        """False: there was no place, or none in time."""
        session, holder = self._session, uuid.uuid4().hex
        words = (f"--holder={holder}", f"--limit={self.max_leases}")
        release = functools.partial(session.ask, "release", self.name, f"--holder={holder}")
        try:
            answer = session.ask_and_wait("acquired", "acquire", self.name, *words,
                                          timeout=timeout if blocking else 0, undo=release)
            if answer is not None:
                self._held.append(holder)
            return answer is not None
        except BaseException as error:
            if not isinstance(error, Exception):  # Interrupted, also when the place was there.
                if holder in self._held:
                    self._held.remove(holder)
                with contextlib.suppress(PenstockError):
                    release()
            raise

    def release(self) -> None:
        """Gives one place back that this object has."""
        try:
            holder = self._held.pop()
        except IndexError:
            raise RuntimeError(f"{self!r} is not held here") from None
        self._session.ask("release", self.name, f"--holder={holder}")

    def __enter__(self) -> "Semaphore":
        self.acquire()
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()


class Lock(Semaphore):
    """One holder at once, on the whole cluster."""

    def __init__(self, name: Optional[str] = None, client: Any = None):
        super().__init__(1, name, client)

    def __reduce__(self):
        return type(self), (self.name,)

    def locked(self) -> bool:
        return self._session.ask("holders", self.name)["holders"] > 0


class Variable(Shared):
    """A value that all see, small: at most 1 MiB (`supervisor.shared_value_max`)."""

    def set(self, value: Any) -> None:
        self._session.ask("set", self.name, _packed(value, self))

    def get(self, timeout: Optional[float] = None) -> Any:
        """Waits until it is set. Raises `TimeoutError`."""
        answer = self._session.ask_and_wait("set", "get", self.name, timeout=timeout)
        if answer is None:
            raise TimeoutError(f"{self!r} was not set in time")
        return _unpacked(answer)

    def delete(self) -> None:
        self._session.ask("delete", self.name)


class Event(Shared):
    """Set or not; those that wait go on when it is set."""

    def set(self) -> None:
        self._session.ask("set", f"event {self.name}", "--value=set")

    def clear(self) -> None:
        self._session.ask("delete", f"event {self.name}")

    def is_set(self) -> bool:
        return self._session.ask("get", f"event {self.name}")["set"]

    def wait(self, timeout: Optional[float] = None) -> bool:
        """False: it was not set in time."""
        return self._session.ask_and_wait("set", "get", f"event {self.name}", timeout=timeout) is not None


class Queue(Shared):
    """First in, first out; each item to one taker. An item that was given to a process which died before it asked for the
    next one is given to another. `maxsize`: 0 is no limit."""

    def __init__(self, name: Optional[str] = None, client: Any = None, maxsize: int = 0):
        super().__init__(name, client)
        self.maxsize = _graph.whole("maxsize", maxsize, 0, 2**32 - 1)
        self._turn = threading.Lock()  # One take at a time: the next one says that the item before has come.
        self._taken = None             # The number of a take whose answer is not known.

    def __reduce__(self):
        return type(self), (self.name, None, self.maxsize)

    def put(self, value: Any, timeout: Optional[float] = None) -> None:
        """Raises `TimeoutError` if there was no room in time."""
        session = self._session
        words = (_packed(value, self), f"--number={next(session.numbers)}", f"--limit={self.maxsize}")
        if session.ask_and_wait("put", "put", self.name, *words, timeout=timeout) is None:
            raise TimeoutError(f"{self!r} had no room in time")

    def get(self, timeout: Optional[float] = None) -> Any:
        """Raises `TimeoutError` if there was no item in time."""
        timeout = _graph.seconds(timeout)
        late = None if timeout is None else time.monotonic() + timeout
        if not self._turn.acquire(timeout=-1 if timeout is None else timeout):
            raise TimeoutError(f"{self!r} had no item in time")
        try:
            return self._get(None if late is None else max(0.0, late - time.monotonic()))
        finally:
            self._turn.release()

    def _get(self, timeout):
        session = self._session
        if self._taken is None:
            self._taken = next(session.numbers)
        words = (self.name, f"--number={self._taken}", *self._mine)
        try:
            answer = session.ask_and_wait("taken", self._take, *words, timeout=timeout,
                                          undo=lambda: session.ask("return", *words))
            if answer is None:
                raise TimeoutError(f"{self!r} had no item in time")
            self._taken = None
            try:
                value = _unpacked(answer)  # Before the acknowledgement: an interrupt here still gives the item back.
            except Exception:
                session.has_come(words)  # Another taker could not read the item either.
                raise
            session.has_come(words)
            return value
        except BaseException as error:
            if not isinstance(error, Exception):  # Interrupted: the item goes to another, and the next wait is a new one.
                self._taken = None
                session.has_not_come(words)
            raise

    _take, _mine = "take", ()

    def qsize(self) -> int:
        return self._session.ask("size", self.name, *self._mine)["items"]


class Pub(Shared):
    """Publishes to all that have subscribed to the name by then."""

    def put(self, value: Any) -> int:
        """How many subscribers get it."""
        return self._session.ask("publish", self.name, _packed(value, self))["subscribers"]


class Sub(Queue):
    """What is published under a name from now on, in order. One that does not read keeps the last 10,000."""

    _take, _mine = "next", ("--mine",)

    def __init__(self, name: str, client: Any = None):
        super().__init__(name, client)
        self._own = Session(session_of(client).client())  # Each has all that is published.
        self._own.ask("subscribe", name)

    @property
    def _session(self):
        return self._own

    def __reduce__(self):
        return type(self), (self.name,)

    def put(self, value: Any, timeout: Optional[float] = None) -> None:
        raise TypeError("a Sub only gets: publish with a Pub")

    def __iter__(self) -> Iterator[Any]:
        while True:
            yield self.get()

    def close(self) -> None:
        self._own.end()

    def __del__(self):
        own = getattr(self, "_own", None)
        if own is not None:
            own.lapse()


def _packed(value, what):
    if isinstance(value, Future):
        raise TypeError(f"{what!r} takes values, not futures, which belong to their client: give it `future.result()`, or "
                        "submit calls that take the value")
    try:
        return "--value=" + base64.b64encode(cloudpickle.dumps(value, 5)).decode()
    except Exception as error:
        raise NotSerializable(f"cannot be pickled: {error}", subject=repr(what)) from error


def _unpacked(answer):
    return _wire.load_naming_modules(base64.b64decode(answer["value"]))
