"""Connections of actors over a network: TLS 1.3, on which both sides show a certificate of the cluster's authority.

The bytes go through memory: `ssl` then holds its lock for no longer than it computes, so that one thread may read while
another one sends. Names of hosts mean nothing; the identity in the peer's certificate says whether it may."""
import os
import socket
import ssl
import threading
import time
from _thread import allocate_lock
from typing import Any, Dict, List, Optional

from penstock._actor_wire import Denied, Refused
from penstock._identity import LOG_IN, Identity, Shown, identity_of

RECORDS_BYTES = 256 << 10  # That are read from the network at once,
SEALED_BYTES = 256 << 10   # and so many are sealed before they leave.
SHAKING_BYTES = 16 << 10   # The same before the proof.
CONTEXTS_MAX = 16          # Of this process: one for each cluster, and each renewal of its certificate.


class Credential:
    """What this process shows, and the authority that it trusts."""

    def __init__(self, server: ssl.SSLContext, client: ssl.SSLContext):
        self._server, self._client = server, client

    def serve(self, sock: socket.socket, late: float) -> "Secured":
        """The accepting side, when the handshake has ended. Raises `Denied`, `Refused` or `OSError`."""
        return _shaken(sock, self._server, True, late)

    def reach(self, sock: socket.socket, late: float) -> "Secured":
        """The connecting side, alike. Whether the other one accepts this certificate shows when it is read from."""
        return _shaken(sock, self._client, False, late)


_credentials: "Dict[bytes, Credential]" = {}  # A renewed certificate is another one.
_lock = threading.Lock()


def credential(shown: Shown) -> Credential:
    """Raises `OSError` if `ssl` does not take it."""
    with _lock:
        found = _credentials.get(shown.pem)
        if found is None:
            if len(_credentials) >= CONTEXTS_MAX:
                _credentials.clear()
            found = _credentials[shown.pem] = _read(shown.pem)
        return found


def _read(pem):
    authority = pem[pem.rindex(b"-----BEGIN CERTIFICATE"):].decode()
    # `ssl` takes a key only from a file: one in memory has no name for others.
    file = os.memfd_create("penstock-credential", os.MFD_CLOEXEC)
    try:
        with open(file, "wb", closefd=False) as key:
            key.write(pem)
        return Credential(_context(ssl.PROTOCOL_TLS_SERVER, file, authority),
                          _context(ssl.PROTOCOL_TLS_CLIENT, file, authority))
    finally:
        os.close(file)


def _context(protocol, file, authority):
    context = ssl.SSLContext(protocol)
    context.minimum_version = ssl.TLSVersion.TLSv1_3
    context.check_hostname = False
    context.verify_mode = ssl.CERT_REQUIRED
    context.load_cert_chain(f"/proc/self/fd/{file}")
    context.load_verify_locations(cadata=authority)  # And none of the system.
    if protocol == ssl.PROTOCOL_TLS_SERVER:
        context.num_tickets = 0  # Each connection shows its certificate.
    return context


def _shaken(sock, context, is_server, late):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    session = context.wrap_bio(incoming, outgoing, server_side=is_server)
    while True:
        error = None
        try:
            session.do_handshake()
        except (ssl.SSLWantReadError, ssl.SSLError) as failed:
            error = failed
        sock.settimeout(left_of(late))  # For both.
        sock.sendall(outgoing.read())  # Also the alert that tells the other side why.
        if error is None:
            return Secured(sock, session, incoming, outgoing)
        if not isinstance(error, ssl.SSLWantReadError):
            raise told(error)
        arrived = sock.recv(SHAKING_BYTES)
        if not arrived:
            raise Refused("the other side has closed the connection")
        incoming.write(arrived)


def left_of(late: float) -> float:
    """Seconds. Raises `Refused` if there are none."""
    left = late - time.monotonic()
    if left <= 0:
        raise Refused("the handshake took too long")
    return left


_TOLD = (
    ("ALERT_PROTOCOL_VERSION", "speaks another TLS than 1.3"),
    ("TLSV13_ALERT_CERTIFICATE_REQUIRED", "wants a certificate, and this process has shown none"),
    ("ALERT_CERTIFICATE_EXPIRED", "refuses the certificate of this process, which has expired"),
    ("ALERT_UNKNOWN_CA", "refuses the certificate of this process, which is of another cluster"),
    ("ALERT_", "refuses the certificate of this process"),
    ("certificate has expired", "has a certificate that has expired"),
    ("not yet valid", "has a certificate that is not valid yet: set the clocks"),
    ("unsuitable certificate purpose", "has a certificate that is for callers alone: of an earlier version, until it is renewed"),
    ("unable to get local issuer", "has a certificate of another cluster"),
    ("self-signed certificate", "has a certificate of another cluster"),
    ("certificate signature failure", "has a certificate of another cluster"),
    ("CERTIFICATE_VERIFY_FAILED", "has a certificate that is refused"),
    ("PEER_DID_NOT_RETURN_A_CERTIFICATE", "has shown no certificate"))


def told(error: ssl.SSLError) -> Refused:
    """What became of a handshake, for people."""
    text = f"{error.reason} {error}"
    for sign, message in _TOLD:
        if sign in text:
            verdict = getattr(error, "verify_message", "")
            return Denied(message + (f": {verdict}" if message.endswith("is refused") else ""), LOG_IN)
    return Refused(f"does not speak TLS 1.3: {error.reason or error}")


class Secured:
    """A socket whose bytes are sealed. One thread may read while another one sends."""

    def __init__(self, sock: socket.socket, session: ssl.SSLObject, incoming: ssl.MemoryBIO, outgoing: ssl.MemoryBIO):
        self.below, self._session, self._incoming, self._outgoing = sock, session, incoming, outgoing
        self.family = sock.family
        self._turn = allocate_lock()  # Of the session, which is not to be used by two threads at a time.
        self._arrived: Optional[memoryview] = None

    def peer(self) -> Identity:
        """Raises `Denied` if its certificate has no identity of ours."""
        names = (self._session.getpeercert() or {}).get("subjectAltName", ())
        uris = [str(name) for kind, name in names if kind == "URI"]
        others = [kind for kind, _ in names if kind not in ("URI", "DNS")]
        return identity_of(uris[0] if len(uris) == 1 and not others else "")

    def recv(self, size: int) -> bytes:
        """Few bytes, as of a socket. Raises `Denied` if the other side has refused this one's certificate."""
        data = bytearray(size)
        try:
            return bytes(data[:self.recv_into(data, SHAKING_BYTES)])
        except ssl.SSLError as error:
            raise told(error) from None

    def recv_into(self, target: Any, at_once: int = RECORDS_BYTES) -> int:
        """So many bytes as there are, at least one; 0 at the end."""
        target = memoryview(target)
        while True:
            with self._turn:
                count = self._opened(target)
            if count is not None:
                return count
            if self._arrived is None or len(self._arrived) < at_once:
                self._arrived = memoryview(bytearray(at_once))
            arrived = self.below.recv_into(self._arrived)
            if not arrived:
                return 0
            with self._turn:
                self._incoming.write(self._arrived[:arrived])

    def _opened(self, target):
        """How many bytes of whole records; None: more has to come first."""
        session, incoming, done = self._session, self._incoming, 0
        if not incoming.pending and not session.pending():
            return None
        try:
            while done < len(target):
                count = session.read(len(target) - done, target[done:])
                if not count:
                    return done
                done += count
                if not incoming.pending:
                    break
        except ssl.SSLWantReadError:
            return done or None
        return done

    def seal(self, data: Any) -> bytes:
        """What is to be sent, by `below`, and in the order in which it was sealed."""
        with self._turn:
            self._write(memoryview(data))
            return self._outgoing.read()

    def _write(self, data):
        while data:
            data = data[self._session.write(data):]

    def sendall(self, data: Any) -> None:
        data = memoryview(data)
        for at in range(0, len(data), SEALED_BYTES):
            self.below.sendall(self.seal(data[at:at + SEALED_BYTES]))

    def sendmsg(self, parts: List[memoryview]) -> int:
        """The first bytes of these; how many."""
        done = 0
        with self._turn:
            for part in parts:
                piece = part[:SEALED_BYTES - done]
                self._write(piece)
                done += piece.nbytes
                if done >= SEALED_BYTES:
                    break
            sealed = self._outgoing.read()
        self.below.sendall(sealed)
        return done

    def settimeout(self, seconds: Optional[float]) -> None:
        self.below.settimeout(seconds)

    def setsockopt(self, *option: Any) -> None:
        self.below.setsockopt(*option)

    def fileno(self) -> int:
        return self.below.fileno()

    def shutdown(self, how: int) -> None:
        self.below.shutdown(how)

    def close(self) -> None:
        self.below.close()
