"""What runs an actor in the process of a worker: one long call, whose slot is lent, that serves callers until it is cancelled."""
import contextlib
import os
import select
import secrets
import socket
import sys
import threading
import time
import traceback
from collections import deque
from typing import Any, Dict, Optional

from penstock import _actor_records as records
from penstock import _actor_wire as wire
from penstock import _attempt, _identity, _nested, _raised, _wire
from penstock._actor_ways import way_of
from penstock.errors import ActorDied, PenstockError

CONNECTIONS_MAX = 1000            # Callers' processes at once; a further one is cut off, and comes again.
PENDING_MAX = 10_000              # Calls of one connection that wait for their turn; beyond, and beyond so many
PENDING_BYTES_MAX = 1 << 30       # bytes, nothing more is read from it, until then its caller's calls block.
UNPROVEN_MAX = 64                 # Connections that have not shown that they know the key; the oldest is cut off for a new one.
STALL_S = 10                      # A caller that takes none of its answers for so long is cut off.
UNSENT_BYTES_MAX = 64 << 20       # Of answers to a caller that does not take them.
EXIT_STATUS = 71                  # Of a process that ends with its actor in it.
ACCEPT_AGAIN_S = 0.1
OWNER_WAIT_S, OWNER_AGAIN_S = 10.0, 5.0
_current: "list[Host]" = []       # Of this process.
_arguments = threading.local()    # `values`: of the call that this thread reads.


def serve(spec: Dict[str, Any], kind: type, arguments: tuple, keywords: Dict[str, Any]) -> None:
    """Makes the object, and serves its callers until the call is cancelled."""
    host = Host(spec)
    before = _wire.set_inputs(host.input)
    host.others = before[0] if before else None
    _current[:] = [host]
    try:
        host.begin()
        host.run(kind, arguments, keywords)
    finally:
        _current.clear()
        host.end()
        if before:
            _wire.set_inputs(before[0])


class Host:
    """One incarnation of an actor."""

    def __init__(self, spec: Dict[str, Any]):
        self.spec, self.key = spec, secrets.token_bytes(wire.KEY_BYTES)
        self.client = _nested.get_client()
        self.serving = _attempt._serving_here()
        attempt = _attempt.current_attempt()
        if self.serving is None or attempt is None:
            raise PenstockError("runs only as a call of a worker", subject="an actor", code="WrongState",
                                remedy="make it by client.actor(...)")
        self.attempt: _attempt.Attempt = attempt
        self.place = records.at(spec["identity"], self.client)
        self.listener: Optional[wire.Listener] = None
        self.connections: "set[Incoming]" = set()
        self.unproven: "deque[Incoming]" = deque()
        self.lock = threading.Lock()
        self.others: Any = None
        self.record: Dict[str, Any] = {}
        self.way: Any = None
        self.over = threading.Event()

    # ---- its life ----

    def begin(self) -> None:
        """Counts this start; refuses one too many, also where the worker repeats a call by itself."""
        before = records.peek(self.place) or {"starts": 0}
        starts, restarts = before["starts"] + 1, self.spec["restarts"]
        if before.get("over"):
            self.forget()
            raise ActorDied("has ended with its owner", subject=self.spec["label"])
        if restarts >= 0 and starts > restarts + 1:
            self.forget()
            raise ActorDied(f"its process has died, and it is started again {restarts} times at most",
                            subject=self.spec["label"], remedy="" if restarts else "restarts=N starts it again")
        self.record = {"starts": starts, "addresses": [], "incarnation": self.attempt.number, "pid": os.getpid(),
                       "host": socket.gethostname(), "worker": "", "name": self.spec["name"], "key": self.key}
        self.place.set(self.record)

    def run(self, kind: type, arguments: tuple, keywords: Dict[str, Any]) -> None:
        """Until the call is cancelled, which interrupts this thread."""
        self.way = way_of(self, kind, self.spec["max_concurrency"])
        _end_with_the_worker()
        self.way.run(lambda: self.made(kind, arguments, keywords), self.open)

    def made(self, kind: type, arguments: tuple, keywords: Dict[str, Any]) -> Any:
        """The user's object."""
        try:
            return kind(*arguments, **keywords)
        except BaseException as error:
            if self.is_interrupted():
                raise
            if not isinstance(error, (OSError, MemoryError)):  # These may be over where it is tried again.
                self.forget()
            raise ActorDied(f"its constructor has raised {_raised.line_of(error)}",
                            subject=self.spec["label"]) from error

    def open(self) -> None:
        """From now on callers come in."""
        self.record["worker"], tcp_host = self._worker()
        if tcp_host is not None and _identity.shown_by(self.client) is not None:
            self.record["user"] = self.spec.get("user") or self._owner()
        self.listener = wire.Listener(tcp_host, "tls" if "user" in self.record else "tcp")
        for sock in self.listener.sockets:
            self._thread("penstock-actor-accept", self._accept, sock)
        self.record["addresses"] = self.listener.addresses
        self.place.set(self.record)
        if self.spec["owner"]:
            self._thread("penstock-actor-owner", self._end_with_the_owner)
            self._thread("penstock-actor-owner", self._end_with_the_owners_process)
        if not self.spec["keep_slot"]:
            # A band that has lent as many slots as it may (`worker.yields_max`) leaves the actor its own.
            with contextlib.suppress(PenstockError):
                self.serving.lend_slot()

    def end(self) -> None:
        """Callers are refused from now on; those that wait for an answer see the connection end."""
        self.over.set()
        if self.listener is not None:
            self.listener.close()
        with self.lock:
            connections = list(self.connections)
        for connection in connections:
            connection.close()
        if self.is_interrupted():
            self._leave()
            if self.way is not None and self.way.is_busy():  # A thread of its own that nothing can interrupt.
                os._exit(EXIT_STATUS)

    def forget(self) -> None:
        """What stands about the actor in the supervisor: its name is free. Without waiting for a supervisor that is away."""
        with contextlib.suppress(PenstockError):
            records.forget(self.spec, self.client)

    def _leave(self):
        """An actor that was cancelled is forgotten. One whose worker is drained comes again elsewhere, which is no death."""
        with contextlib.suppress(PenstockError):
            if records.state_of(self.client, self.spec["job"]) != "running":
                return self.forget()
            self.record.update(starts=self.record["starts"] - 1, addresses=[])
            self.place.set(self.record)

    def exit(self) -> None:
        """As if the process had died."""
        sys.stdout.flush()
        os._exit(EXIT_STATUS)

    def facts(self) -> Dict[str, Any]:
        """What a handle is made of."""
        return self.spec["facts"]

    def is_interrupted(self) -> bool:
        return self.serving.interrupted

    def _worker(self):
        """(name, address of the network by which it is reached, or None) of the worker that runs this."""
        place = os.environ.get("PENSTOCK_WORKER_ADDRESS", "")
        host = None if not place or place.startswith("local:") else place.rpartition(":")[0].strip("[]")
        return os.environ.get("PENSTOCK_WORKER", ""), host

    def _owner(self):
        """The user whose job this is, where its maker did not know: a call that has the certificate of its worker."""
        return str(self.client.ask("job", f"job-{self.attempt.job}")["owner"])

    def secured(self, sock: socket.socket) -> Any:
        """What is spoken on with a caller that may call. Raises `Refused`, `PenstockError` or `OSError`."""
        if sock.family == socket.AF_UNIX:
            wire.check_user(sock)
            return sock
        if "user" not in self.record:
            return sock
        from penstock import _actor_tls
        shown = _identity.shown_by(self.client)
        if shown is None:
            raise wire.Refused("the connections of this process are plain")
        channel = _actor_tls.credential(shown).serve(sock, time.monotonic() + wire.HANDSHAKE_S)
        try:
            _identity.check_caller(channel.peer(), self.record["user"])
        except wire.Denied as error:
            wire.refuse(channel, error)
            raise
        return channel

    def _end_with_the_owner(self):
        """The owner's process holds a lock for as long as it lives; then the job ends itself."""
        owner = records.owner(self.spec["owner"], self.client)
        while not self.over.is_set():
            try:
                if owner.acquire(timeout=OWNER_WAIT_S):
                    owner.release()
                    return self._end_for_good()
            except PenstockError:
                if self.client.closed:
                    return
                self.over.wait(OWNER_AGAIN_S)

    def _end_with_the_owners_process(self):
        """On one host its death is seen at once, long before its lease is over."""
        file = records.file_of(self.spec["owner_process"])
        if file is None:
            return
        try:
            while file >= 0 and not _is_readable(file, OWNER_WAIT_S):
                if self.over.is_set():
                    return
        finally:
            if file >= 0:
                os.close(file)
        with contextlib.suppress(PenstockError):  # Then by the lease.
            self._end_for_good()

    def _end_for_good(self):
        """The certificate of a worker sees no job of a user: then the process ends, and the next one is told not to begin."""
        if not records.cancel(self.client, self.spec["job"]):
            self.record["over"] = True
            self.place.set(self.record)
            self.exit()

    def _thread(self, name, function, *arguments):
        threading.Thread(target=function, args=arguments, daemon=True, name=name).start()

    # ---- callers ----

    def _accept(self, listening):
        while True:
            try:
                sock, _ = listening.accept()
            except OSError:
                if self.over.is_set() or not _still_listens(listening):
                    return
                self.over.wait(ACCEPT_AGAIN_S)  # No descriptor is free, for example.
                continue
            with self.lock:
                is_one_too_many = len(self.connections) >= CONNECTIONS_MAX
                oldest = None
                if not is_one_too_many:
                    connection = Incoming(self, sock)
                    self.connections.add(connection)
                    self.unproven.append(connection)
                    oldest = self.unproven.popleft() if len(self.unproven) > UNPROVEN_MAX else None
            if oldest is not None:
                oldest.close()
            if is_one_too_many:
                sock.close()
                continue
            self._thread("penstock-actor-read", connection.read)

    def is_proven(self, connection: "Incoming") -> None:
        with self.lock, contextlib.suppress(ValueError):
            self.unproven.remove(connection)

    def input(self, index: int) -> Any:
        """The value of a future among the arguments of a call; see `_wire.load_input`."""
        values = getattr(_arguments, "values", None)
        return values[index] if values is not None else self.others(index)

    def call_of(self, frame: "Frame") -> Any:
        """(method, arguments, keywords) of a frame. Raises what its pickle raises."""
        data, buffers, values = frame.data, frame.buffers, None
        if frame.kind == wire.CALL_WITH_INPUTS:
            data, buffers, values = records.split_inputs(data, buffers)
        _arguments.values = values
        try:
            return _wire.pickle.loads(data, buffers=buffers)
        except Exception as error:
            raise _wire.unreadable(error, getattr(self.way.instance, "__class__", None))
        finally:
            _arguments.values = None


def _is_readable(descriptor, seconds):
    """Waits; by `poll`, which takes any descriptor."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(None if seconds is None else 1000 * seconds))


_watched = threading.Event()


def _end_with_the_worker():
    """A worker that has died takes its runners along only when another process notices; callers are told at once."""
    if _watched.is_set() or not hasattr(os, "pidfd_open"):
        return
    parent = os.getppid()
    try:
        descriptor = os.pidfd_open(parent)
    except OSError:  # An old kernel, or one that forbids it: the worker's runners end a moment later.
        return
    _watched.set()

    def watch():
        if os.getppid() == parent:
            _is_readable(descriptor, None)
        os._exit(EXIT_STATUS)
    threading.Thread(target=watch, daemon=True, name="penstock-actor-worker").start()


def _still_listens(listening):
    with contextlib.suppress(OSError):
        return listening.getsockopt(socket.SOL_SOCKET, socket.SO_ACCEPTCONN) == 1
    return False


class Frame:
    """One call that has come, with the connection that waits for its answer."""

    __slots__ = ("connection", "kind", "number", "data", "buffers", "bytes")

    def __init__(self, connection, kind, number, data, buffers):
        self.connection, self.kind, self.number, self.data, self.buffers = connection, kind, number, data, buffers
        self.bytes = len(data) + sum(map(len, buffers))

    def is_cancelled(self) -> bool:
        """Whether its caller has given it up."""
        cancelled = self.connection.cancelled
        return bool(cancelled) and self.number in cancelled


class Incoming:
    """The connection of one caller's process."""

    def __init__(self, host: Host, sock: socket.socket):
        self.host = host
        self.sock: Any = sock
        self.cancelled: "set[int]" = set()
        self._turn = threading.Lock()    # Of sending.
        self._unsent: "deque[Any]" = deque()  # Small frames, or what is left of one, in their order.
        self._unsent_bytes = 0
        self._read = self._read_bytes = 0
        self._done = self._done_bytes = 0
        self._room: Optional[threading.Event] = None
        self._closed = False

    def read(self) -> None:
        """On a thread of its own, until the caller leaves."""
        reader = None
        try:
            self.sock = self.host.secured(self.sock)
            wire.accept(self.sock, self.host.key)
            self.host.is_proven(self)
            wire.tune(self.sock, STALL_S)
            reader = wire.FrameReader(self.sock)  # Memory is taken for a caller that knows the key.
            while True:
                self._take(*reader.read())
                self._wait_for_room()
        except (OSError, EOFError, wire.Refused, PenstockError):
            pass
        finally:
            self.close()
            self.sock.close()
            if reader is not None:
                reader.close()
            self.host.is_proven(self)
            with self.host.lock:
                self.host.connections.discard(self)

    def _take(self, kind, number, data, buffers):
        if kind == wire.CANCEL:
            self.cancelled.add(number)
            self.host.way.cancel(self, number)
        elif kind == wire.EXIT:
            self.host.exit()
        elif kind == wire.PING:
            self._send(wire.VALUE, number, _wire.pickle.dumps(None, 5))
        elif kind in (wire.CALL, wire.CALL_WITH_INPUTS, wire.READ):
            frame = Frame(self, kind, number, data, buffers)
            self._read += 1
            self._read_bytes += frame.bytes
            self.host.way.put(frame)
        else:
            raise wire.Refused(f"an unknown kind of frame, {kind}")

    def _wait_for_room(self):
        while self._is_full() and not self._closed:
            self._room = threading.Event()
            if self._is_full() and not self._closed:  # Else the event may have been missed.
                self._room.wait()
            self._room = None

    def _is_full(self):
        return self._read - self._done > PENDING_MAX or self._read_bytes - self._done_bytes > PENDING_BYTES_MAX

    def answer(self, frame: Frame, value: Any, what: Any) -> None:
        """Sends what a call has returned."""
        try:
            data, buffers = _wire.pickle_with_buffers(value, what, "return what it is made of")
            raws = [buffer.raw() for buffer in buffers]
            records.check_size(data, raws, "the result")
        except Exception as error:
            return self.fail(frame, error)
        self._finish(frame, wire.VALUE, data, raws)

    def fail(self, frame: Frame, error: BaseException) -> None:
        """Sends what a call has raised."""
        from penstock._runner import leave_us_out
        leave_us_out(error)
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        detail = _raised.pack_failure(error, text)
        error.__traceback__ = error.__context__ = error.__cause__ = None  # Their frames hold the arguments.
        self._finish(frame, wire.RAISED, detail, ())

    def drop(self, frame: Frame) -> None:
        """A call that nobody waits for any more."""
        self.cancelled.discard(frame.number)
        self._count(frame)

    def _finish(self, frame, kind, data, raws):
        self._send(kind, frame.number, data, raws)
        if self.cancelled:
            self.cancelled.discard(frame.number)
        self._count(frame)

    def _count(self, frame):
        with self._turn:
            self._done += 1
            self._done_bytes += frame.bytes
        room = self._room
        if room is not None:
            room.set()

    def _send(self, kind, number, data, raws=()):
        try:
            with self._turn:
                if raws or len(data) >= wire.JOINED_BYTES:
                    self._send_unsent()
                    return wire.send(self.sock, kind, number, data, raws)
                frame = wire.sealed(self.sock, wire.HEAD.pack(kind, 0, 0, number, len(data)) + data)
                if not self._unsent:
                    frame = frame[wire.send_now(self.sock, frame):]
                if len(frame):
                    self._send_later(frame)
        except OSError:  # Gone, or stuck for STALL_S in the midst of a frame: its reader ends.
            self.close()

    def _send_later(self, frame):
        """A caller that does not take its answers holds up no other: a thread waits for it."""
        self._unsent_bytes += len(frame)
        if self._unsent_bytes > UNSENT_BYTES_MAX:
            return self.close()
        self._unsent.append(frame)
        if len(self._unsent) == 1:
            self.host._thread("penstock-actor-send", self._send_rest)

    def _send_rest(self):
        try:
            while self._unsent and not self._closed:
                if not wire.is_writable(self.sock, STALL_S):
                    raise TimeoutError
                with self._turn:
                    while self._unsent:
                        sent = wire.send_now(self.sock, self._unsent[0])
                        if not self._has_sent(sent):
                            break
        except (OSError, ValueError):
            self.close()

    def _has_sent(self, size):
        """Whether the first frame has left."""
        self._unsent_bytes -= size
        if size < len(self._unsent[0]):
            self._unsent[0] = self._unsent[0][size:]
            return False
        self._unsent.popleft()
        return True

    def _send_unsent(self):
        while self._unsent:
            getattr(self.sock, "below", self.sock).sendall(self._unsent[0])
            self._has_sent(len(self._unsent[0]))

    def close(self) -> None:
        """Ends the connection, from any thread."""
        self._closed = True
        with contextlib.suppress(OSError):
            self.sock.shutdown(socket.SHUT_RDWR)  # Its reader wakes up, and closes the descriptor.
        room = self._room
        if room is not None:
            room.set()
