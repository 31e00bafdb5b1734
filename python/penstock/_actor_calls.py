"""Calls of actors from this process: one connection to each actor, on which calls are sent in the order in which they were made."""
import contextlib
import os
import pickle
import socket
import threading
import time
import weakref
from _thread import allocate_lock
from collections import deque
from concurrent.futures import CancelledError
from concurrent.futures import TimeoutError as _TimeoutError
from typing import Any, Deque, Dict, Generator, Iterable, List, Optional

from penstock import _actor_records as records
from penstock import _actor_wire as wire
from penstock import _futures, _graph, _identity, _raised, _wire
from penstock._attempt import _serving_here
from penstock._light import LightFuture
from penstock.errors import (ActorDied, ClientClosed, ConnectionFailed, NotSerializable, PenstockError, PermissionDenied,
                             RemoteTraceback)

BEFORE_LENDING_S = 0.005   # A call that waits for an actor keeps its slot for so long: most answers come sooner.
UNREACHED_S = 30.0         # An actor that runs, and that no address leads to, is given up after this.
AWAY_S = 60.0              # So is a supervisor that does not say where it is.
AGAIN_S, AGAIN_MAX_S = 0.005, 0.1
FIRST_MAX_S = 1.0          # Of one wait for its first place.
UNREACHED = "Unreached"
_peers: "weakref.WeakValueDictionary[str, Peer]" = weakref.WeakValueDictionary()
_busy: "Dict[int, Peer]" = {}  # Those with calls, which go on also if nobody keeps their futures.
_lock = threading.Lock()


class ActorFuture(LightFuture):
    """The result of one call of an actor; may be awaited, and may be an argument of another call of an actor."""

    __slots__ = ("_peer", "_what", "_number")

    def __init__(self, peer: "Peer", what: str):
        super().__init__()
        self._peer, self._what, self._number = peer, what, 0

    @property
    def client(self) -> Any:
        """The client by which the actor is found; a call that waits lends its slot by it."""
        return self._peer.client

    def __reduce__(self) -> Any:
        now = getattr(_futures._collecting, "now", None)
        if now is None or now.place_of is not None or not isinstance(now, collecting_calls):
            raise TypeError(f"{self!r} can be an argument only of a call of an actor: give others its result()")
        return _wire.load_input, (now.number(self),)

    def __repr__(self):
        state = "cancelled" if self.cancelled() else "pending" if not self.done() else (
            "finished" if self._exception is None else "error")
        return f"<ActorFuture {self._what}: {state}>"

    def result(self, timeout: Optional[float] = None) -> Any:
        """The value; raises what the method has raised, or `ActorDied`."""
        self._be_done(_graph.seconds(timeout))
        return super().result(0)

    def exception(self, timeout: Optional[float] = None) -> Optional[BaseException]:
        """What the method has raised, or None."""
        self._be_done(_graph.seconds(timeout))
        return super().exception(0)

    def cancel(self) -> bool:
        """A call that has not begun does not begin; of one that has begun the result is not awaited, and a coroutine is
        cancelled there. False if it has ended."""
        if not super().cancel():
            return False
        self.set_running_or_notify_cancel()
        if self._number:
            self._peer.give_up(self._number)
        return True

    def _be_done(self, timeout):
        if self.done():
            return
        if threading.current_thread().name == READER:
            raise PenstockError("would be waited for in a callback, and answers are read only between callbacks",
                                subject=self._what, remedy="wait on another thread")
        first = BEFORE_LENDING_S if timeout is None else min(BEFORE_LENDING_S, timeout)
        if self._ended_within(first):
            return
        left = None if timeout is None else max(0.0, timeout - first)
        with self._peer.waiting():
            if not self._ended_within(left):
                raise _TimeoutError()

    def _ended_within(self, timeout):
        waiter = _Waiter()
        with self._condition:
            if self.done():
                return True
            self._waiters.append(waiter)
        try:
            return waiter.ended.acquire(timeout=-1 if timeout is None else timeout) or self.done()
        finally:
            with self._condition:
                if waiter in self._waiters:
                    self._waiters.remove(waiter)

    def __await__(self) -> Generator[Any, None, Any]:
        import asyncio
        if not self.done():
            loop = asyncio.get_running_loop()
            ended = loop.create_future()
            ended.add_done_callback(lambda told: told.cancelled() and self.cancel())

            def tell(_):
                with contextlib.suppress(RuntimeError):  # The loop is closed.
                    loop.call_soon_threadsafe(lambda: ended.done() or ended.set_result(None))
            self.add_done_callback(tell)
            if _serving_here() is not None:  # A call: it keeps its slot for a moment, as in `result`.
                yield from asyncio.wait([ended], timeout=BEFORE_LENDING_S).__await__()
            if not ended.done():
                with self._peer.waiting():
                    yield from ended.__await__()
        if self.cancelled():
            raise asyncio.CancelledError
        return super().result(0)


class _Waiter:
    """A thread that waits for one future: a plain lock wakes up sooner than a `threading.Event`."""

    __slots__ = ("ended",)

    def __init__(self):
        self.ended = allocate_lock()
        self.ended.acquire()

    def add_result(self, _):
        with contextlib.suppress(RuntimeError):
            self.ended.release()

    add_exception = add_cancelled = add_result


class collecting_calls(_futures.collecting):
    """While arguments of a call of an actor are pickled: futures of both kinds are noted down."""


class Call:
    """One call until its answer has come."""

    __slots__ = ("kind", "data", "raws", "inputs", "future", "what", "keeps", "number")

    def __init__(self, kind, data, raws, inputs, future, what, keeps):
        self.kind, self.data, self.raws, self.inputs, self.future, self.what = kind, data, raws, inputs, future, what
        self.keeps = keeps   # The handle: an actor that ends with it does not end before the call.
        self.number = 0

    def keep_buffers(self):
        """Copies them: the caller may write to what they are of before the call leaves, or leaves again."""
        self.raws = [memoryview(bytes(raw)) for raw in self.raws]

    def resolve(self):
        """Puts values in the places of futures; raises why there is none."""
        if self.inputs:
            values = [future.result() for future in self.inputs]
            self.data, self.raws = records.join_inputs(self.data, self.raws, values, self.what)
            self.kind, self.inputs = wire.CALL_WITH_INPUTS, ()
            records.check_size(self.data, self.raws, self.what)


READER = "penstock-actor-answers"


class Connection:
    """To one incarnation of an actor."""

    def __init__(self, sock: Any, incarnation: int):
        self.sock, self.incarnation = sock, incarnation

    def close(self):
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)


class Peer:
    """An actor as this process sees it, for all handles of it here. Calls that cannot leave yet, for want of a connection
    or of the value of a future, and all that come after them, wait in a line that a thread of its own sends."""

    def __init__(self, identity: str, job: str, label: str, retry_calls: bool, client: Any):
        self.identity, self.job, self.label, self.retry_calls = identity, job, label, retry_calls
        self.client = client      # None: a handle that was unpickled, and has not been used yet.
        self.dead: Optional[ActorDied] = None
        self._turn = threading.Lock()           # Of sending, and of all below but for answers that come.
        self._numbers = 0
        self._connection: Optional[Connection] = None
        self._pending: Dict[int, Call] = {}     # Sent, and not answered.
        self._line: Deque[Call] = deque()
        self._sends_line = False

    def waiting(self) -> Any:
        """Entered while a call waits for this actor; see `Client._waiting`."""
        return contextlib.nullcontext() if self.client is None else self.client._waiting()

    def found_client(self) -> Any:
        """The client by which the actor is found. Raises `ClientClosed` if there is none."""
        self._seek_client()
        if self.client is None:
            raise ClientClosed("no client is open here by which the actor is found", subject=self.label,
                               remedy="open a Client() of its cluster")
        return self.client

    def _seek_client(self):
        if self.client is None or self.client.closed:
            self.client = _client_that_knows(self.identity) or self.client

    # ---- sending ----

    def submit(self, name: str, arguments: tuple, keywords: Dict[str, Any], kind: int, keeps: Any) -> ActorFuture:
        """The future of a call, which is on its way, or in the line."""
        self._seek_client()
        what = f"{self.label}.{name}"
        buffers: List[Any] = []
        with collecting_calls() as inputs:
            if kind == wire.READ:
                data = pickle.dumps((name, (), {}), 5)
            else:
                data, buffers = _wire.pickle_with_buffers((name, arguments, keywords), f"an argument of {what}")
        raws = [buffer.raw() for buffer in buffers]
        records.check_size(data, raws, f"an argument of {what}")
        call = Call(kind, data, raws, inputs.futures, ActorFuture(self, what), what, keeps)
        if raws and (self.retry_calls or call.inputs):
            call.keep_buffers()
        with self._turn:
            if self.dead is None:
                self._send_or_wait(call)
                _busy[id(self)] = self
                return call.future
        call.future.set_exception(self._died(self.dead))
        return call.future

    def _send_or_wait(self, call):
        """Under `_turn`."""
        if self._connection is not None and not self._line and not call.inputs:
            if self._send(call):
                return
        elif call.raws and not self.retry_calls and not call.inputs:
            call.keep_buffers()
        self._line.append(call)
        self._begin_line()

    def _begin_line(self):
        if not self._sends_line:
            self._sends_line = True
            threading.Thread(target=self._send_line, daemon=True, name="penstock-actor-line").start()

    def _send(self, call):
        """Under `_turn`. False: the connection is lost, and the call has not reached the actor."""
        connection = self._connection
        self._numbers += 1
        call.number = call.future._number = self._numbers
        self._pending[call.number] = call
        try:
            wire.send(connection.sock, call.kind, call.number, call.data, call.raws)
        except BaseException as error:
            self._connection = None  # A part of a frame may have left: nothing can follow it.
            self._pending.pop(call.number, None)
            connection.close()
            if not isinstance(error, OSError):
                raise
            call.keep_buffers()
            return False
        if not self.retry_calls:
            call.data = call.raws = None
        return True

    def _send_line(self):
        while True:
            with self._turn:
                while self._line and self._line[0].future.done():  # Given up meanwhile.
                    self._line.popleft()
                if not self._line:
                    self._sends_line = False
                    self._rest()
                    return
                call = self._line[0]
            try:
                call.resolve()
            except BaseException as error:
                self._leave_line(call, error)
                continue
            try:
                self._connect()
            except ActorDied as error:
                self._end(error)
            except BaseException as error:
                self._give_line_up(error)
            else:
                with self._turn:
                    # Another thread may have lost it again, and have put calls in front.
                    if self._connection is not None and self._line and self._line[0] is call and self._send(call):
                        self._line.popleft()
            call = None

    def _leave_line(self, call, error):
        with self._turn, contextlib.suppress(ValueError):
            self._line.remove(call)
        _fail(call, error)

    def _give_line_up(self, error):
        """The actor cannot be reached; a later call tries again."""
        with self._turn:
            calls, self._line = list(self._line), deque()
        for call in calls:
            _fail(call, _again(error))

    def _end(self, error):
        """The actor has died for good."""
        with self._turn:
            self.dead = error
            calls, self._line = list(self._line), deque()
        for call in calls:
            _fail(call, self._died(error))

    def _died(self, error, message=None):
        """One exception for each call: they are raised in several places."""
        made = ActorDied(message or error.message, subject=self.label, remedy=error.remedy)
        made.__cause__ = error.__cause__
        return made

    def give_up(self, number: int) -> None:
        """The caller does not wait for a call any more."""
        if self._pending.pop(number, None) is None or not self._turn.acquire(timeout=1):
            return
        try:
            if self._connection is not None:
                wire.send(self._connection.sock, wire.CANCEL, number, b"")
        except OSError:  # Its reader tells.
            pass
        finally:
            self._turn.release()

    def _rest(self):
        """Nobody holds a peer for the sake of its calls any more, if it has none."""
        if not self._pending and not self._line:
            _busy.pop(id(self), None)
            if self._pending or self._line:  # Of another thread, at this moment.
                _busy[id(self)] = self

    # ---- connecting ----

    def _connect(self):
        """Until there is a connection. Raises `ActorDied` if there will be none."""
        pause, unreached, away = AGAIN_S, None, None
        while self._connection is None:
            place = records.at(self.identity, self.found_client())
            record = None
            try:
                record = records.peek(place, again=False)
                if record is not None and record["addresses"]:
                    if self._reach(record):
                        return
                    unreached = self._check_reachable(record, unreached)
                state = records.state_of(self.client, self.job)
                if state == "unseen":
                    unreached = self._check_reachable(record or {"incarnation": 0, "addresses": []}, unreached)
                elif state != "running":
                    message, cause = records.why_ended(self.client, self.job)
                    raise _caused(ActorDied(message, subject=self.label), cause)
                away = None
            except ClientClosed:
                raise
            except ConnectionFailed as error:
                away = away or time.monotonic() + AWAY_S
                if time.monotonic() > away or error.code == UNREACHED:
                    raise
            pause = _pause(place, record, pause)

    def _check_reachable(self, record, unreached):
        """(incarnation, until when it is tried). Raises `ConnectionFailed` after that."""
        if unreached is None or unreached[0] != record["incarnation"]:
            return record["incarnation"], time.monotonic() + UNREACHED_S
        if time.monotonic() < unreached[1]:
            return unreached
        raise ConnectionFailed(f"runs at {_places(record)}, and cannot be reached there from here", subject=self.label,
                               code=UNREACHED, remedy="let hosts of callers reach hosts of workers")

    def _reach(self, record):
        try:
            sock = wire.connect(record, lambda kind, sock: self._secured(kind, sock, record))
        except wire.Denied as error:
            now = records.peek(records.at(self.identity, self.client), again=False)
            if now is None or now["addresses"] != record["addresses"]:  # It was another's who has the port by now.
                return False
            raise PermissionDenied(error.message, subject=self.label, remedy=error.remedy, code="PermissionDenied") from None
        except (OSError, wire.Refused):
            return False
        connection = Connection(sock, record["incarnation"])
        reader = threading.Thread(target=_read, args=(weakref.ref(self), connection), daemon=True, name=READER)
        with self._turn:
            self._connection = connection
        reader.start()
        return True

    def _secured(self, kind, sock, record):
        """What is spoken on, by a network, with a process that may be this actor. Raises `Refused` or `OSError`."""
        try:
            shown = _identity.shown_by(self.client)
        except PenstockError as error:
            raise wire.Denied(error.message, error.remedy) from None
        if (shown is None) != (kind == "tcp"):
            ours = "are plain" if shown is None else "are encrypted"
            raise wire.Denied(f"listens by {kind}, and the connections of this process {ours}",
                              "does one side run with `--insecure`?")
        if shown is None:
            return sock
        from penstock import _actor_tls
        channel = _actor_tls.credential(shown).reach(sock, time.monotonic() + wire.HANDSHAKE_S)
        _identity.check_actor(channel.peer(), shown.identity, record.get("user", ""))
        return channel

    # ---- answers ----

    def _answer(self, kind, number, data, buffers):
        call = self._pending.pop(number, None)
        if not self._pending:
            self._rest()
        if call is None:  # Given up.
            return
        if kind == wire.RAISED:
            return _fail(call, _raised_by(data))
        try:
            value = pickle.loads(data, buffers=buffers)
        except ModuleNotFoundError as error:
            return _fail(call, _wire.missing(error))
        except Exception as error:
            told = NotSerializable(f"its value cannot be read here: {type(error).__name__}: {error}", subject=call.what,
                                   remedy="return what it is made of, and make it here")
            return _fail(call, _caused(told, error))
        call.keeps = None
        with contextlib.suppress(Exception):  # It was given up at this moment.
            call.future.set_result(value)

    def _over(self, connection):
        """A connection has ended: its actor has died, or the network between."""
        with self._turn:
            if self._connection is connection:
                self._connection = None
            calls = [self._pending.pop(number) for number in sorted(self._pending)]
            if self.retry_calls:
                self._line.extendleft(reversed(calls))
                calls = []
            if self._line:
                self._begin_line()
            self._rest()
        for call in calls:
            _fail(call, ActorDied("died, or its connection was lost, while the call was under way: it may have run, or a "
                                  "part of it", subject=call.what, remedy="actor(..., retry_calls=True) makes such calls again"))

    def exit(self) -> None:
        """Ends the process of the actor as if it had died."""
        with self._turn:
            if self._connection is not None:
                with contextlib.suppress(OSError):
                    wire.send(self._connection.sock, wire.EXIT, 0, b"")

    def be_forked(self) -> None:
        """In a child process: the connection is the parent's, and so are the answers."""
        calls = [*self._pending.values(), *self._line]
        connection, self._connection = self._connection, None
        if connection is not None:
            connection.sock.close()
        self._turn, self._pending, self._line, self._sends_line = threading.Lock(), {}, deque(), False
        for call in calls:
            call.future._callbacks = None
            _fail(call, _futures.forked())

    def __del__(self):
        connection = getattr(self, "_connection", None)
        if connection is not None:
            connection.close()


def _pause(place, record, pause):
    """The supervisor says when the first place is known; of a further one it is asked."""
    if record is None:
        with contextlib.suppress(TimeoutError, ConnectionFailed):
            place.get(pause)
            return pause
        return min(FIRST_MAX_S, 2 * pause)
    threading.Event().wait(pause)
    return min(AGAIN_MAX_S, 2 * pause)


def _client_that_knows(identity):
    """For a handle that came without a client: the call's, else the open one that finds the actor, the latest first."""
    from penstock import _client, _nested
    if _nested._is_in_call():
        return _nested.get_client()
    latest = _client._latest[0]() if _client._latest else None
    clients = [client for client in {latest, *_client._open_clients} if client is not None and not client.closed]
    clients.sort(key=lambda client: client is not latest)
    for client in clients if len(clients) > 1 else ():
        with contextlib.suppress(PenstockError):
            if records.peek(records.at(identity, client), again=False) is not None:
                return client
    return clients[0] if clients else None


def _read(peer_of, connection):
    """Reads answers, by a thread of its own, for as long as the connection and somebody's interest last."""
    reader = wire.FrameReader(connection.sock)
    try:
        while True:
            frame = reader.read()
            peer = peer_of()
            if peer is None:
                break
            peer._answer(*frame)
            del peer, frame
    except (OSError, EOFError, wire.Refused):
        pass
    peer = peer_of()
    connection.close()
    connection.sock.close()
    reader.close()
    if peer is not None:
        peer._over(connection)


def _fail(call, error):
    call.keeps = None
    with contextlib.suppress(Exception):  # It has ended otherwise.
        call.future.set_exception(error)


def _caused(error, cause):
    error.__cause__ = cause
    return error


def _again(error):
    """The same for another call."""
    if isinstance(error, PenstockError):
        return type(error)(error.message, subject=error.subject, remedy=error.remedy, code=error.code)
    return error


def _raised_by(detail):
    error, text = _raised.unpack_failure(bytes(detail))
    cause = RemoteTraceback(text)
    if not isinstance(error, BaseException):
        error = PenstockError(f"{error or 'an exception that cannot be pickled'}\n{text}", subject="a method")
        return _caused(error, cause)
    _raised.lead_to(error, cause)
    return error


def _places(record):
    return ", ".join(f"{host}:{port}" for kind, host, port in record["addresses"] if kind != "unix") or "another host's socket"


def peer_of(identity: str, job: str, label: str, retry_calls: bool, client: Any) -> Peer:
    """The one of this process for this actor."""
    with _lock:
        peer = _peers.get(identity)
        if peer is None or (client is not None and peer.client is not None and peer.client.closed):
            peer = _peers[identity] = Peer(identity, job, label, retry_calls, client)
        return peer


def _be_forked():
    global _lock
    _lock = threading.Lock()
    peers = list(_peers.values())
    _peers.clear()
    _busy.clear()
    for peer in peers:
        peer.be_forked()


os.register_at_fork(after_in_child=_be_forked)
