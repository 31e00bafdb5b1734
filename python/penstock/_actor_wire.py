"""Connections between callers and actors: both prove that they know the actor's key, then frames go both ways.

A frame is a head (kind, where its buffers are, their number, the number of the call, the length of the pickle), the length
of each buffer, the pickle, and the buffers: behind it, or, if they are large and both sides are on one host, in memory that
the receiver is given. Nothing is unpickled before the proof."""
import array
import contextlib
import errno
import fcntl
import hashlib
import hmac
import mmap
import os
import secrets
import select
import socket
import struct
import time
from typing import Any, Dict, List, Optional, Tuple

HEAD = struct.Struct("<BBxxIQQ")
MAGIC, REFUSAL = b"PNA1", b"PNA0"
REFUSAL_BYTES_MAX = 4096
KEY_BYTES, PROOF_BYTES = 32, 32
HANDSHAKE_S = 10.0          # For the whole proof; a peer that takes longer is cut off.
CONNECT_S = 3.0
SILENT_MS = 30_000          # A peer that acknowledges nothing for so long is gone; its host may be.
FRAME_BYTES_MAX = 64 << 30  # Of the pickle and its buffers together; the sender refuses more, the receiver cuts off.
BUFFERS_MAX = 1 << 20       # Of one frame, alike.
READ_BYTES = 256 << 10      # Small frames are read together, so many bytes at once.
JOINED_BYTES = 64 << 10     # A smaller frame is one piece for the kernel, which costs less than its parts.
MAPPED_BYTES = 1 << 20      # A larger buffer is pages of its own, which nobody fills with zeros first.
ALIGNMENT = 64              # Of buffers in memory that is given.
GIVEN_BYTES = 1 << 20       # Larger buffers of a frame are given on one host.
PIECES_MAX = 512            # Of one call of the kernel.
BACKLOG = 128
FILES_MAX = 64              # That have come, and whose frames have not been read to their ends.
RIGHTS_BYTES = socket.CMSG_SPACE(4)

# From a caller.
CALL, CALL_WITH_INPUTS, READ, PING, CANCEL, EXIT = range(1, 7)
# From an actor.
VALUE, RAISED = 16, 17


class Refused(Exception):
    """The other side does not know the key, or does not keep to the protocol."""


class Denied(Refused):
    """One side may not speak to the other one: cause and way out, for people."""

    def __init__(self, message: str, remedy: str = ""):
        super().__init__(f"{message} ({remedy})" if remedy else message)
        self.message, self.remedy = message, remedy


def proof(key: bytes, role: bytes, first: bytes, second: bytes) -> bytes:
    """What only a holder of the key can say to these two challenges. The roles keep an answer from being sent back."""
    return hmac.new(key, role + first + second, hashlib.sha256).digest()


def accept(sock: Any, key: bytes) -> None:
    """The actor's part of the proof. Raises `Refused` or `OSError`."""
    late = time.monotonic() + HANDSHAKE_S
    ours = secrets.token_bytes(PROOF_BYTES)
    sock.settimeout(HANDSHAKE_S)
    sock.sendall(MAGIC + ours)
    answer = _exactly(sock, 2 * PROOF_BYTES, late)
    theirs, given = answer[:PROOF_BYTES], answer[PROOF_BYTES:]
    if not hmac.compare_digest(given, proof(key, b"caller", ours, theirs)):
        raise Refused("the caller does not know the actor's key")
    sock.sendall(proof(key, b"actor", theirs, ours))
    sock.settimeout(None)


def introduce(sock: Any, key: bytes) -> None:
    """The caller's part of the proof. Raises `Refused` or `OSError`."""
    late = time.monotonic() + HANDSHAKE_S
    sock.settimeout(HANDSHAKE_S)
    greeting = _exactly(sock, len(MAGIC), late)
    if greeting == REFUSAL:
        raise _denied(sock, late)
    if greeting != MAGIC:
        raise Refused("no actor listens there")
    theirs, ours = _exactly(sock, PROOF_BYTES, late), secrets.token_bytes(PROOF_BYTES)
    sock.sendall(ours + proof(key, b"caller", theirs, ours))
    if not hmac.compare_digest(_exactly(sock, PROOF_BYTES, late), proof(key, b"actor", ours, theirs)):
        raise Refused("another actor listens there")
    sock.settimeout(None)


def refuse(sock: Any, why: Denied) -> None:
    """Tells a caller, in place of the proof, why it is refused."""
    text = f"{why.message}\n{why.remedy}".encode()[:REFUSAL_BYTES_MAX]
    sock.sendall(REFUSAL + struct.pack("<H", len(text)) + text)


def _denied(sock, late):
    size, = struct.unpack("<H", _exactly(sock, 2, late))
    if size > REFUSAL_BYTES_MAX:
        return Refused("no actor listens there")
    return Denied(*_exactly(sock, size, late).decode(errors="replace").split("\n", 1))


def _exactly(sock, size, late):
    """So many bytes; the deadline is of all of them, so that one byte at a time does not extend it."""
    data = b""
    while len(data) < size:
        left = late - time.monotonic()
        if left <= 0:
            raise Refused("the proof took too long")
        sock.settimeout(left)
        part = sock.recv(size - len(data))
        if not part:
            raise Refused("the other side has closed the connection")
        data += part
    return data


def host_token() -> str:
    """Equal for processes that reach each other's abstract sockets: those of one host and one network namespace."""
    try:
        with open("/proc/sys/kernel/random/boot_id") as boot:
            return f"{boot.read().strip()} {os.readlink('/proc/self/ns/net')}"
    except OSError:
        return ""


def check_user(sock: socket.socket) -> None:
    """A socket of this host is plain: it is for processes of one user, and of root. Raises `Refused`."""
    user = struct.unpack("iII", sock.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12))[1]
    if user not in (0, os.geteuid()):
        raise Refused("the other side is a process of another user")


class Listener:
    """Where an actor waits for callers: an abstract Unix socket, and TCP where the worker is reached by that, as `kind`:
    tls or tcp."""

    def __init__(self, tcp_host: Optional[str], kind: str = "tcp"):
        self.sockets: List[socket.socket] = []
        self.addresses: List[Tuple[Any, ...]] = []
        token = host_token()
        if token:
            name = f"\0penstock-actor-{secrets.token_hex(16)}"
            self._add(socket.AF_UNIX, name, ("unix", name, token))
        if tcp_host is not None:
            family, place = _resolved(tcp_host)
            port = self._add(family, place, None).getsockname()[1]
            self.addresses.append((kind, tcp_host, port))

    def _add(self, family, place, address):
        sock = socket.socket(family, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
        self.sockets.append(sock)
        sock.bind(place)
        sock.listen(BACKLOG)
        if address is not None:
            self.addresses.append(address)
        return sock

    def close(self) -> None:
        """Refuses callers from now on, and wakes up the thread that accepts them."""
        for sock in self.sockets:
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()


def _resolved(host):
    """(family, place with any free port) of the interface that has this address; all of them if none here has it."""
    for family, _, _, _, place in socket.getaddrinfo(host, 0, type=socket.SOCK_STREAM):
        with socket.socket(family, socket.SOCK_STREAM) as probe, contextlib.suppress(OSError):
            probe.bind((place[0], 0))
            return family, (place[0], 0)
    return socket.AF_INET, ("0.0.0.0", 0)


def connect(record: Dict[str, Any], secure: Any = None) -> Any:
    """A proven connection to the actor of this record. `secure(kind, sock)` makes of one by a network what is spoken on.
    Raises `OSError` or `Refused` if no address leads to the actor; `Denied`, if one did, and it may not be used."""
    token = host_token()
    last: Optional[Exception] = None
    for kind, *place in record["addresses"]:
        if kind == "unix" and (not token or place[1] != token):
            continue
        sock = None
        try:
            if kind == "unix":
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
                sock.settimeout(CONNECT_S)
                sock.connect(place[0])
                if os.geteuid() != 0:
                    check_user(sock)
            else:
                sock = socket.create_connection(tuple(place), CONNECT_S)
                sock = secure(kind, sock) if secure is not None else sock
            introduce(sock, record["key"])
            tune(sock)
            return sock
        except (OSError, Refused) as error:
            if sock is not None:
                sock.close()
            last = last if isinstance(last, Denied) else error
    raise last or ConnectionRefusedError("the actor is on another host, and listens on no network there")


def tune(sock: Any, stall_s: float = 0) -> None:
    """Small frames leave at once. `stall_s`: a peer that takes nothing for so long makes a `send` fail."""
    if sock.family != socket.AF_UNIX:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPIDLE, 10)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPINTVL, 5)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_KEEPCNT, 4)
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, SILENT_MS)
    if stall_s:
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_SNDTIMEO, struct.pack("ll", int(stall_s), 0))


def sealed(sock: Any, frame: bytes) -> memoryview:
    """What `send_now` takes: it may leave piece by piece, in the order in which it was sealed."""
    return memoryview(sock.seal(frame) if hasattr(sock, "seal") else frame)


def send_now(sock: Any, frame: memoryview) -> int:
    """So many of its bytes as there is room for, without waiting."""
    try:
        return getattr(sock, "below", sock).send(frame, socket.MSG_DONTWAIT)
    except BlockingIOError:
        return 0


def is_writable(sock: Any, timeout: float) -> bool:
    """Waits until there is room for bytes."""
    poll = select.poll()
    poll.register(sock, select.POLLOUT)
    return bool(poll.poll(timeout * 1000))


def size_of(data, raws):
    return len(data) + sum([raw.nbytes for raw in raws])


def send(sock: Any, kind: int, number: int, data: bytes, raws: Any = ()) -> None:
    """Sends one frame. REQUIRES: no other thread sends on this socket meanwhile, and its limits are kept."""
    if not raws:
        head = HEAD.pack(kind, 0, 0, number, len(data))
        if len(data) < JOINED_BYTES:
            return sock.sendall(head + data)
        return _send_parts(sock, [memoryview(head), memoryview(data)])
    sizes = [raw.nbytes for raw in raws]
    lengths = struct.pack(f"<{len(raws)}Q", *sizes)
    if sock.family == socket.AF_UNIX and sum(sizes) >= GIVEN_BYTES:
        first = _send_given(sock, HEAD.pack(kind, 1, len(raws), number, len(data)), raws, sizes)
        if first is not None:
            return _send_parts(sock, [first, memoryview(lengths), memoryview(data)])
    head = HEAD.pack(kind, 0, len(raws), number, len(data)) + lengths
    _send_parts(sock, [memoryview(head), memoryview(data), *raws])


def _send_given(sock, head, raws, sizes):
    """Sends the head of a frame with memory that has its buffers; what is left of the head, or None if nothing could leave."""
    file = _given(raws, sizes)
    if file < 0:
        return None
    try:
        sent = sock.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [file]))])
    except OSError as error:
        if error.errno != errno.ETOOMANYREFS:
            raise
        return None  # Too many files of this user are on their way.
    finally:
        os.close(file)
    return memoryview(head)[sent:]


def _send_parts(sock, parts):
    parts = [part for part in parts if part.nbytes]
    at = 0
    while at < len(parts):
        sent = sock.sendmsg(parts[at:at + PIECES_MAX])
        while at < len(parts) and sent >= parts[at].nbytes:
            sent -= parts[at].nbytes
            at += 1
        if sent:
            parts[at] = parts[at][sent:]


def _aligned(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def _given(raws, sizes):
    """A file in memory that has these buffers, which nobody can make shorter; -1 if there is none to be had."""
    try:
        file = os.memfd_create("penstock-actor", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
    except (AttributeError, OSError):
        return -1
    try:
        at = 0
        for raw, size in zip(raws, sizes):
            done = 0
            while done < size:
                done += os.pwrite(file, raw[done:], at + done)
            at += _aligned(size)
        os.ftruncate(file, at)
        fcntl.fcntl(file, fcntl.F_ADD_SEALS, fcntl.F_SEAL_SHRINK)
    except OSError:  # No room: it goes by the socket, piece by piece.
        os.close(file)
        return -1
    except BaseException:
        os.close(file)
        raise
    return file


def memory_of(size: int) -> Any:
    """Bytes that may be written to."""
    if size < MAPPED_BYTES:
        return bytearray(size)
    pages = mmap.mmap(-1, size)
    if hasattr(mmap, "MADV_HUGEPAGE"):
        with contextlib.suppress(OSError):
            pages.madvise(mmap.MADV_HUGEPAGE)
    return pages


class FrameReader:
    """Reads the frames of one connection, by one thread."""

    def __init__(self, sock: Any):
        self._sock = sock
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._at = self._end = 0
        self._files: Optional[List[int]] = [] if sock.family == socket.AF_UNIX else None

    def read(self) -> Tuple[int, int, Any, List[Any]]:
        """(kind, number, pickle, buffers). Raises `EOFError` at the end, `OSError`, or `Refused` beyond a limit."""
        kind, is_given, count, number, length = HEAD.unpack(self._take(HEAD.size))
        if not count:
            if length > FRAME_BYTES_MAX or is_given:
                raise Refused("a frame is beyond the limits")
            return kind, number, self._take(length), []
        if count > BUFFERS_MAX:
            raise Refused("a frame has too many buffers")
        sizes = struct.unpack(f"<{count}Q", self._take(8 * count))
        if length + sum(sizes) > FRAME_BYTES_MAX:
            raise Refused("a frame is beyond the limits")
        data = self._take(length)
        return kind, number, data, self._mapped(sizes) if is_given else [self._filled(size) for size in sizes]

    def close(self) -> None:
        """Closes what has come and was not asked for."""
        while self._files:
            os.close(self._files.pop())

    def _take(self, size):
        """A copy of the next bytes."""
        if size > READ_BYTES:
            return self._filled(size)
        if self._end - self._at < size:
            self._read_until(size)
        self._at += size
        return bytes(self._buffer[self._at - size:self._at])

    def _read_until(self, size):
        if size > READ_BYTES - self._at:
            there = self._end - self._at
            self._buffer[:there] = bytes(self._buffer[self._at:self._end])
            self._at, self._end = 0, there
        while self._end - self._at < size:
            if self._at == self._end:
                self._at = self._end = 0
            self._end += self._received(self._buffer[self._end:])

    def _received(self, target):
        if self._files is None:
            count = self._sock.recv_into(target)
        else:
            count, ancillary, _, _ = self._sock.recvmsg_into([target], RIGHTS_BYTES, socket.MSG_CMSG_CLOEXEC)
            for level, what, files in ancillary:
                if level == socket.SOL_SOCKET and what == socket.SCM_RIGHTS:
                    self._files += array.array("i", files[:len(files) // 4 * 4])
                    if len(self._files) > FILES_MAX:
                        raise Refused("more files came than frames")
        if not count:
            raise EOFError("the connection has ended")
        return count

    def _mapped(self, sizes):
        """The buffers of a frame in the memory that came with it."""
        if not self._files:
            raise Refused("the memory of a frame is missing")
        file = self._files.pop(0)
        try:
            total = sum([_aligned(size) for size in sizes])
            if os.fstat(file).st_size < total or not fcntl.fcntl(file, fcntl.F_GET_SEALS) & fcntl.F_SEAL_SHRINK:
                raise Refused("the memory of a frame is too short, or may become so")
            pages = memoryview(mmap.mmap(file, total, mmap.MAP_SHARED))
        finally:
            os.close(file)
        at, found = 0, []
        for size in sizes:
            found.append(pages[at:at + size])
            at += _aligned(size)
        return found

    def _filled(self, size):
        """The next bytes, where they stay."""
        memory = memory_of(size)
        view = memoryview(memory)
        there = min(size, self._end - self._at)
        view[:there] = self._buffer[self._at:self._at + there]
        self._at += there
        while there < size:
            there += self._received(view[there:])
        return memory
