"""`Lock`: among the calls, and the clients of one user, of one host."""
import asyncio
import time
import uuid
from typing import Any, Iterable, List, Optional

from penstock import _locks
from penstock.distributed._asynchronous import _Known
from penstock.distributed._future import seconds
from penstock.errors import PenstockError


class Lock:
    """A lock with a name, held by one call or client at a time. It holds on the host where it was made; a call on
    another host that takes it is refused by name. What holds it and dies gives it back.

    >>> with Lock("the file"):                                        # doctest: +SKIP
    ...     write()
    """

    def __init__(self, name: Any = None, client: Any = None, scheduler_rpc: Any = None, loop: Any = None):
        self.name = name or f"lock-{uuid.uuid4().hex}"
        self._lock = _locks.HostLock(f"penstock.distributed.Lock {self.name}", _locks.host())

    def acquire(self, blocking: bool = True, timeout: Any = None) -> Any:
        """Whether it was taken; awaited where an event loop runs."""
        if blocking is False and timeout is not None:
            raise ValueError("can't specify a timeout for a non-blocking call")
        limit = seconds(timeout)
        if not _awaits():
            return self._lock.acquire(blocking, limit)
        return asyncio.get_running_loop().run_in_executor(None, self._lock.acquire, blocking, limit)

    def release(self) -> Any:
        """Gives it back. Raises `RuntimeError` if this object does not hold it."""
        self._lock.release()
        return _Known(None) if _awaits() else None

    def locked(self) -> Any:
        """Whether somebody holds it."""
        taken = not self._lock.locked() and self._lock.acquire(False)
        if taken:
            self._lock.release()
        return _Known(not taken) if _awaits() else not taken

    def __enter__(self) -> "Lock":
        self._lock.acquire()
        return self

    def __exit__(self, *_: Any) -> None:
        self._lock.release()

    async def __aenter__(self) -> "Lock":
        await asyncio.get_running_loop().run_in_executor(None, self._lock.acquire)
        return self

    async def __aexit__(self, *_: Any) -> None:
        self._lock.release()

    def __reduce__(self):
        return _made_elsewhere, (self.name, self._lock.of_host)

    def __repr__(self):
        return f"<Lock: {self.name}>"


class MultiLock:
    """Several of these locks, held together."""

    def __init__(self, names: Iterable[Any] = (), client: Any = None):
        # In one order, so that two that want the same do not wait for each other.
        self._locks = [Lock(name) for name in sorted(map(str, set(names)))]

    def acquire(self, blocking: bool = True, timeout: Any = None, num_locks: Optional[int] = None) -> Any:
        """Whether all were taken; awaited where an event loop runs."""
        if num_locks not in (None, len(self._locks)):
            raise PenstockError("takes all of its locks", subject="MultiLock", remedy="leave out num_locks=")
        if _awaits():
            return asyncio.get_running_loop().run_in_executor(None, self._take, blocking, seconds(timeout))
        return self._take(blocking, seconds(timeout))

    def _take(self, blocking, timeout):
        late = None if timeout is None else time.monotonic() + timeout
        taken: List[Lock] = []
        for lock in self._locks:
            if not lock._lock.acquire(blocking, None if late is None else max(0.0, late - time.monotonic())):
                for one in taken:
                    one._lock.release()
                return False
            taken.append(lock)
        return True

    def release(self) -> Any:
        """Gives them back."""
        for lock in self._locks:
            lock._lock.release()
        return _Known(None) if _awaits() else None

    def __enter__(self) -> "MultiLock":
        self._take(True, None)
        return self

    def __exit__(self, *_: Any) -> None:
        self.release()

    async def __aenter__(self) -> "MultiLock":
        await self.acquire()
        return self

    async def __aexit__(self, *_: Any) -> None:
        self.release()


def _made_elsewhere(name, of_host):
    lock = Lock(name)
    lock._lock.of_host = of_host
    return lock


def _awaits():
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return False
    return True
