"""Dask's lock (`lock=True`), which holds within one process, as one that holds among all runners of a host."""
# tidy: foreign-file SerializableLock
import contextlib
import copyreg
import fcntl
import hashlib
import os
import struct
import sys
import tempfile
import threading
import time
import uuid
import weakref
from typing import Optional

from dask.utils import SerializableLock

from penstock import _futures
from penstock.errors import PenstockError

POLL_S = 0.01
FLOCK = "hhqqi4x"  # struct flock of Linux on 64 bits.
READERS = ("getter", "_read_hdf")  # Dask's, which lock for the sake of their own process: any host may read.
_leaving = threading.local()


def place():
    """The one file of this user's locks on this host. Each lock is one of its bytes, held by the kernel for as long as its
    process lives: nothing is left behind, whatever dies."""
    return os.path.join(tempfile.gettempdir(), f"penstock-locks-{os.getuid()}")


def opened():
    return os.open(place(), os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW, 0o600)


def host():
    """What is the same only for processes that see the same file of locks."""
    file = opened()
    try:
        seen = os.fstat(file)
        with open("/proc/sys/kernel/random/boot_id") as boot:
            return f"{boot.read().strip()}-{seen.st_dev}-{seen.st_ino}"
    finally:
        os.close(file)


class HostLock:
    """In place of the `SerializableLock` of this token where it arrives."""

    def __init__(self, token, of_host):
        self.token, self.of_host = token, of_host
        self._byte = int.from_bytes(hashlib.sha256(str(token).encode()).digest()[:7], "little")
        self._file: Optional[int] = None

    def __reduce__(self):
        return HostLock, (self.token, self.of_host)

    def acquire(self, blocking=True, timeout=-1):
        frame = sys._getframe(1)
        if host() != self.of_host and not reads(frame.f_back if frame.f_code is HostRLock.acquire.__code__ else frame):
            raise PenstockError(
                "holds on the host of the client only (and for its TMPDIR), and this worker is on another", subject=f"a lock of Dask, {self.token}",
                remedy="lock=False and a target that takes several writers (zarr, a file for each part), or workers= one on the "
                "client's host")
        file = opened()  # Its own each time, so that threads of one process exclude each other, too.
        late = None if timeout is None or timeout < 0 else time.monotonic() + timeout
        waits = blocking and late is None
        try:
            while not self._try(file, fcntl.F_OFD_SETLKW if waits else fcntl.F_OFD_SETLK):
                if not blocking or time.monotonic() >= late:
                    os.close(file)
                    return False
                time.sleep(POLL_S)
        except BaseException:
            os.close(file)
            raise
        self._file = file
        return True

    def _try(self, file, how):
        try:
            fcntl.fcntl(file, how, struct.pack(FLOCK, fcntl.F_WRLCK, os.SEEK_SET, self._byte, 1, 0))
            return True
        except BlockingIOError:
            return False

    def release(self):
        if self._file is None:
            raise RuntimeError("release unlocked lock")
        file, self._file = self._file, None
        os.close(file)

    def locked(self):
        return self._file is not None

    def __enter__(self):
        self.acquire()

    def __exit__(self, *_):
        self.release()


def reads(frame):
    """Whether who takes the lock is one of Dask's readers."""
    name, module = frame.f_code.co_name, frame.f_globals.get("__name__")
    return name in READERS or (name, module) == ("__call__", "dask.dataframe.io.hdf")  # Of old, only for reading.


@contextlib.contextmanager
def leaving():
    """While it lasts, what is pickled on this thread goes to a cluster; so do arguments of subtasks."""
    before, _leaving.now = getattr(_leaving, "now", False), True
    try:
        yield
    finally:
        _leaving.now = before


def is_leaving():
    """Whether what is pickled on this thread goes to a cluster as a part of a graph."""
    return getattr(_leaving, "now", False)


class HostRLock(HostLock):
    """One that its owner may take again: a thread of a process."""

    def __init__(self, token, of_host):
        super().__init__(token, of_host)
        self._owner, self._depth = None, 0

    def __reduce__(self):
        return HostRLock, (self.token, self.of_host)

    def acquire(self, blocking=True, timeout=-1):
        if self._owner == threading.get_ident():
            self._depth += 1
            return True
        if not super().acquire(blocking, timeout):
            return False
        self._owner, self._depth = threading.get_ident(), 1
        return True

    def release(self):
        if self._owner != threading.get_ident():
            raise RuntimeError("cannot release un-acquired lock")
        self._depth -= 1
        if self._depth == 0:
            self._owner = None
            super().release()


_tokens: "weakref.WeakKeyDictionary" = weakref.WeakKeyDictionary()  # Names of locks that have none.
_naming = threading.Lock()


def _reduce_plain(lock):
    """A lock of one process, `threading.Lock()` or `RLock()`, in a graph: on workers one that excludes the runners of a
    host. An argument of `submit` is refused as before: there its user may mean this process."""
    if not is_leaving():
        raise TypeError(f"cannot pickle {type(lock).__name__!r} object")
    with _naming:
        token = _tokens.setdefault(lock, uuid.uuid4().hex)
    return (HostLock if isinstance(lock, type(_naming)) else HostRLock), (token, host())


def _reduce(lock):
    if is_leaving() or _futures.is_collecting():
        return HostLock, (lock.token, host())
    return lock.__reduce_ex__(4)


copyreg.pickle(SerializableLock, _reduce)
copyreg.pickle(type(_naming), _reduce_plain)
copyreg.pickle(type(threading.RLock()), _reduce_plain)
