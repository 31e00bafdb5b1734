"""Connections between callers and actors: both prove that they know the actor's key, then frames go both ways.

A frame is a head (kind, number of buffers, number of the call, length of the pickle), the length of each buffer, the pickle,
and the buffers themselves, which are neither copied nor encoded on their way. Nothing is unpickled before the proof."""
import contextlib
import hashlib
import hmac
import mmap
import os
import secrets
import socket
import struct
import time
from typing import Any, Dict, List, Optional, Tuple

HEAD = struct.Struct("<BxxxIQQ")
MAGIC = b"PNA1"
KEY_BYTES, PROOF_BYTES = 32, 32
HANDSHAKE_S = 10.0          # For the whole proof; a peer that takes longer is cut off.
CONNECT_S = 3.0
SILENT_MS = 30_000          # A peer that acknowledges nothing for so long is gone; its host may be.
FRAME_BYTES_MAX = 64 << 30  # Of the pickle and its buffers together; the sender refuses more, the receiver cuts off.
BUFFERS_MAX = 1 << 20       # Of one frame, alike.
READ_BYTES = 256 << 10      # Small frames are read together, so many bytes at once.
JOINED_BYTES = 64 << 10     # A smaller frame is one piece for the kernel, which costs less than its parts.
MAPPED_BYTES = 1 << 20      # A larger buffer is pages of its own, which nobody fills with zeros first.
PIECES_MAX = 512            # Of one call of the kernel.
BACKLOG = 128

# From a caller.
CALL, CALL_WITH_INPUTS, READ, PING, CANCEL, EXIT = range(1, 7)
# From an actor.
VALUE, RAISED = 16, 17


class Refused(Exception):
    """The other side does not know the key, or does not keep to the protocol."""


def proof(key: bytes, role: bytes, first: bytes, second: bytes) -> bytes:
    """What only a holder of the key can say to these two challenges. The roles keep an answer from being sent back."""
    return hmac.new(key, role + first + second, hashlib.sha256).digest()


def accept(sock: socket.socket, key: bytes) -> None:
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


def introduce(sock: socket.socket, key: bytes) -> None:
    """The caller's part of the proof. Raises `Refused` or `OSError`."""
    late = time.monotonic() + HANDSHAKE_S
    sock.settimeout(HANDSHAKE_S)
    greeting = _exactly(sock, len(MAGIC) + PROOF_BYTES, late)
    if greeting[:len(MAGIC)] != MAGIC:
        raise Refused("no actor listens there")
    theirs, ours = greeting[len(MAGIC):], secrets.token_bytes(PROOF_BYTES)
    sock.sendall(ours + proof(key, b"caller", theirs, ours))
    if not hmac.compare_digest(_exactly(sock, PROOF_BYTES, late), proof(key, b"actor", ours, theirs)):
        raise Refused("another actor listens there")
    sock.settimeout(None)


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


class Listener:
    """Where an actor waits for callers: an abstract Unix socket, and TCP where the worker is reached by that."""

    def __init__(self, tcp_host: Optional[str]):
        self.sockets: List[socket.socket] = []
        self.addresses: List[Tuple[Any, ...]] = []
        token = host_token()
        if token:
            name = f"\0penstock-actor-{secrets.token_hex(16)}"
            self._add(socket.AF_UNIX, name, ("unix", name, token))
        if tcp_host is not None:
            family, place = _resolved(tcp_host)
            port = self._add(family, place, None).getsockname()[1]
            self.addresses.append(("tcp", tcp_host, port))

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


def connect(record: Dict[str, Any]) -> socket.socket:
    """A proven connection to the actor of this record. Raises `OSError` or `Refused` if no address leads to it."""
    token, last = host_token(), None
    for kind, *place in record["addresses"]:
        if kind == "unix" and (not token or place[1] != token):
            continue
        sock = None
        try:
            if kind == "unix":
                sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_CLOEXEC)
                sock.settimeout(CONNECT_S)
                sock.connect(place[0])
            else:
                sock = socket.create_connection(tuple(place), CONNECT_S)
            introduce(sock, record["key"])
            tune(sock)
            return sock
        except (OSError, Refused) as error:
            if sock is not None:
                sock.close()
            last = error
    raise last or ConnectionRefusedError("the actor is on another host, and listens on no network there")


def tune(sock: socket.socket, stall_s: float = 0) -> None:
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


def size_of(data, raws):
    return len(data) + sum([raw.nbytes for raw in raws])


def send(sock: socket.socket, kind: int, number: int, data: bytes, raws: Any = ()) -> None:
    """Sends one frame. REQUIRES: no other thread sends on this socket meanwhile, and its limits are kept."""
    head = HEAD.pack(kind, len(raws), number, len(data))
    if raws:
        head += struct.pack(f"<{len(raws)}Q", *[raw.nbytes for raw in raws])
    if len(data) < JOINED_BYTES:
        head += data
        if not raws:
            return sock.sendall(head)
        parts = [memoryview(head), *raws]
    else:
        parts = [memoryview(head), memoryview(data), *raws]
    parts = [part for part in parts if part.nbytes]
    at = 0
    while at < len(parts):
        sent = sock.sendmsg(parts[at:at + PIECES_MAX])
        while at < len(parts) and sent >= parts[at].nbytes:
            sent -= parts[at].nbytes
            at += 1
        if sent:
            parts[at] = parts[at][sent:]


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

    def __init__(self, sock: socket.socket):
        self._sock = sock
        self._buffer = memoryview(bytearray(READ_BYTES))
        self._at = self._end = 0

    def read(self) -> Tuple[int, int, Any, List[Any]]:
        """(kind, number, pickle, buffers). Raises `EOFError` at the end, `OSError`, or `Refused` beyond a limit."""
        kind, count, number, length = HEAD.unpack(self._take(HEAD.size))
        if count > BUFFERS_MAX or length > FRAME_BYTES_MAX:
            raise Refused("a frame is beyond the limits")
        sizes = struct.unpack(f"<{count}Q", self._take(8 * count)) if count else ()
        if count and length + sum(sizes) > FRAME_BYTES_MAX:
            raise Refused("a frame is beyond the limits")
        return kind, number, self._take(length), [self._filled(size) for size in sizes]

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
            self._end += self._received(self._buffer[self._end:])
            if self._at == self._end:
                self._at = self._end = 0

    def _received(self, target):
        count = self._sock.recv_into(target)
        if not count:
            raise EOFError("the connection has ended")
        return count

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
