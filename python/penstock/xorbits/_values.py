"""Values of chunks that stay on the cluster, as the process of Xorbits' supervisor knows them.

A value is held by the task that has made it and, once that has ended, by Xorbits' meta service, which forgets it when the
last tileable that has the chunk is gone. The value is then freed on the cluster."""
# tidy: foreign-file task
import threading
import weakref
from typing import Any, Dict, Optional, Tuple

from penstock.errors import PenstockError
from penstock.xorbits._stage import ChunkFuture


class ChunkValue:
    """One of them: what Xorbits' meta service keeps as the `object_ref` of the chunk. `session`: its name, and the address
    of Xorbits' supervisor."""

    __slots__ = ("session", "key", "future", "described", "__weakref__")

    def __init__(self, session: Tuple[str, str], key: str, future: ChunkFuture):
        self.session, self.key, self.future = session, key, future
        self.described: Any = None  # A `Described`, once its stage has ended.

    def show(self) -> None:
        """From now on it is the value of its chunk in the session, unless somebody holds an earlier one: a key names one
        value for Xorbits."""
        with _lock:
            _values.setdefault((self.session[0], self.key), self)

    def nbytes(self) -> int:
        """What the value takes, if that is known; else 0."""
        return 0 if self.described is None else self.described.nbytes

    def __reduce__(self):
        return ElsewhereValue, (self.session, self.key)


class ElsewhereValue:
    """What another process has of a `ChunkValue`: an operand that executes something itself, in a run."""

    __slots__ = ("session", "key")

    def __init__(self, session: Tuple[str, str], key: str):
        self.session, self.key = session, key


_lock = threading.Lock()
_values: "weakref.WeakValueDictionary[Any, ChunkValue]" = weakref.WeakValueDictionary()


def value_of(session: str, key: str) -> Optional[ChunkValue]:
    """The value of this key, if somebody holds one."""
    with _lock:
        return _values.get((session, key))


def held(session: str, key: str) -> ChunkValue:
    """The same, where it must be held; raises `PenstockError` if nobody does."""
    value = value_of(session, key)
    if value is None:
        raise no_value(key)
    return value


def no_value(key: str) -> PenstockError:
    """What is raised for a chunk that nobody holds."""
    return PenstockError("has no value on the cluster", subject=f"chunk {key}", code="NotFound",
                         remedy="execute its tileable again")


_clients: Dict[str, Any] = {}  # By the name that Xorbits' configuration has.


def register_client(client: Any) -> str:
    """The name by which a configuration refers to a client."""
    name = f"client-{id(client)}"
    with _lock:
        _clients[name] = client
    return name


def forget_client(client: Any) -> None:
    """No configuration refers to it any more."""
    with _lock:
        _clients.pop(f"client-{id(client)}", None)


def client_named(name: Optional[str]) -> Any:
    """The client of that name; without a name, the one that was opened last."""
    from penstock._nested import get_client
    client = get_client() if name is None else _clients.get(name)
    if client is None:
        raise PenstockError("is a client of another process", subject=str(name), code="WrongState",
                            remedy="call penstock.xorbits.init() in the process that has the client")
    client._check_open()
    return client
