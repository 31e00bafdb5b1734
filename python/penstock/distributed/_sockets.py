"""Sockets that calls return, as calls of lightgbm.dask do. Dask's values stay in the process that has made them; ours are
pickled. A socket stays open in its process, and calls in other processes of that host get what stands for it."""
import os
import secrets
import socket
import struct
import threading
from typing import Any, Dict, Tuple

from penstock import _reducers
from penstock.distributed._here import _is_in_runner
from penstock.errors import PenstockError

DUPLICATE, CLOSE = b"d", b"c"
TOKEN_BYTES = 16
ANSWER_S = 30

_lock = threading.Lock()
_kept: "Dict[bytes, socket.socket]" = {}
_served: Dict[int, str] = {}  # Where this process, and not the one that it was forked from, is asked for its sockets.


class RemoteSocket:
    """A socket that is open in another process of this host. Closing it closes that one; for all else it is opened here,
    too."""

    def __init__(self, place: str, token: bytes):
        self._place, self._token, self._own = place, token, None

    def close(self) -> None:
        """Closes it here and in its process, so that its port is free."""
        own, self._own = self._own, None
        if own is not None:
            own.close()
        _ask(self._place, self._token, CLOSE)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        if self._own is None:
            self._own = _ask(self._place, self._token, DUPLICATE)
        return getattr(self._own, name)

    def __enter__(self) -> "RemoteSocket":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __reduce__(self) -> Tuple[Any, Tuple[str, bytes]]:
        return _found, (self._place, self._token)


def register() -> None:
    """From now on calls in this process may return sockets."""
    _reducers.register_reducer(socket.socket, _reduce)


def _reduce(given):
    if not _is_in_runner():
        return NotImplemented
    with _lock:
        for token in [token for token, one in _kept.items() if one.fileno() == -1]:
            del _kept[token]
        token = next((token for token, one in _kept.items() if one is given), None)
        if token is None:
            token = secrets.token_bytes(TOKEN_BYTES)
            _kept[token] = given
        place = _served.get(os.getpid()) or _serve()
    return _found, (place, token)


def _found(place, token):
    with _lock:
        here = _kept.get(token) if _served.get(os.getpid()) == place else None
    return RemoteSocket(place, token) if here is None else here


def _serve():
    """Where other processes ask for sockets of this one from now on."""
    place = f"penstock-sockets-{secrets.token_hex(8)}-{_host()}"
    server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    server.bind("\0" + place)
    server.listen(64)
    threading.Thread(target=_answer_all, args=(server,), daemon=True, name="penstock-sockets").start()
    _served[os.getpid()] = place
    return place


def _answer_all(server):
    while True:
        with server.accept()[0] as peer:
            peer.settimeout(ANSWER_S)
            try:
                _answer(peer)
            except OSError:
                pass  # Who has asked is told by the end of the connection.


def _answer(peer):
    _, user, _ = struct.unpack("3i", peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    asked = peer.recv(1 + TOKEN_BYTES, socket.MSG_WAITALL)
    if user not in (os.getuid(), 0):
        return
    with _lock:
        given = _kept.get(asked[1:])
        if given is None or given.fileno() == -1:
            return
        if asked[:1] == CLOSE:
            given.close()
            peer.sendall(CLOSE)
        else:
            socket.send_fds(peer, [DUPLICATE], [given.fileno()])


def _host():
    """What is the same for all processes that can ask each other."""
    with open("/proc/sys/kernel/random/boot_id") as boot:
        return f"{boot.read().strip()}-{os.stat('/proc/self/ns/net').st_ino}"


def _ask(place, token, what):
    try:
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as peer:
            peer.settimeout(ANSWER_S)
            peer.connect("\0" + place)
            peer.sendall(what + token)
            answer, files, _, _ = socket.recv_fds(peer, 1, 1)
    except OSError as error:
        if what == CLOSE and place.endswith(_host()):  # Its process has ended.
            return None
        raise _lost() from error
    if what == CLOSE:  # Without an answer it was closed before.
        return None
    if answer != DUPLICATE or not files:
        raise _lost()
    return socket.socket(fileno=files[0])


def _lost():
    return PenstockError("is not open any more: the process that has opened it has ended, or is on another host",
                         subject="a socket that a call has returned", code="NotFound",
                         remedy="open it in the call that uses it, or give both calls the same workers=")
