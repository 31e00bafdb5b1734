"""The library's client: who calls it is waited for before it is closed, and refused from then on."""
import threading
from typing import Any, Callable, Dict, Optional

from penstock.errors import ClientClosed, ResultLost

CLOSE_WAIT_S = 10  # For calls of other threads, when a client is closed: they are interrupted, but a disk may hang.


class Connection:
    """`with connection as handle:` around each call of the library; any thread may."""

    def __init__(self, handle: Optional[int], refusal: "Callable[[], ClientClosed]"):
        self._handle, self._refusal = handle, refusal
        self._changed = threading.Condition()
        self._inside: Dict[int, int] = {}  # Threads, and how deep they are.

    def __enter__(self) -> int:
        me = threading.get_ident()
        with self._changed:
            if self._handle is None:
                raise self._refusal()
            self._inside[me] = self._inside.get(me, 0) + 1
            return self._handle

    def __exit__(self, _kind: Any, error: Any, _trace: Any) -> None:
        me = threading.get_ident()
        with self._changed:
            self._inside[me] -= 1
            if not self._inside[me]:
                del self._inside[me]
                self._changed.notify_all()
        if self.was_interrupted(error):
            raise self._refusal() from None

    def refuse(self) -> Optional[int]:
        """From now on nobody comes in. The handle, for whoever was first to refuse."""
        with self._changed:
            handle, self._handle = self._handle, None
        return handle

    def is_refused(self) -> bool:
        return self._handle is None

    def was_interrupted(self, error: Optional[BaseException]) -> bool:
        """Whether this is what a call of the library ends with because its client is being closed: cancelled, or without
        the value that it asked for, as a client that closes releases all."""
        return self._handle is None and (getattr(error, "code", "") == "Cancelled" or isinstance(error, ResultLost))

    def is_inside(self) -> bool:
        """Whether this thread is: a signal, or a destructor, may lead it out of a call for a while."""
        with self._changed:
            return threading.get_ident() in self._inside

    def wait_until_left(self, seconds: float) -> bool:
        """False: somebody is still in a call, and uses the handle."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._inside, seconds)


def end(library, handle, connection, threads, lock, pending, unfinished):
    """Ends a client, by whoever may wait."""
    for thread in threads:
        thread.join()
    everybody_left = connection.wait_until_left(CLOSE_WAIT_S)
    with lock:  # Whoever has closed it in a callback may still be telling futures what became of them.
        pass
    if everybody_left:  # Else a call waits for a disk that hangs: better that its memory stays than that we wait, too.
        library.client_close(handle)
    for future in unfinished:
        future._be_cancelled()
    pending.clear()
