"""Actors: objects that live in a process of a worker, and whose methods are called from any client or call.

>>> class Counter:                                                    # doctest: +SKIP
...     def __init__(self, value):
...         self.value = value
...     def add(self, amount):
...         self.value += amount
...         return self.value
>>> counter = client.actor(Counter, 1, name="counter")                # doctest: +SKIP
>>> counter.add(2).result()                                           # doctest: +SKIP
3
>>> penstock.get_actor("counter").value                               # doctest: +SKIP
3
"""
import builtins
import contextlib
import functools
import inspect
import os
import secrets
import threading
import time
import weakref
from typing import Any, Dict, FrozenSet, List, Optional, Tuple, Union

from penstock import _actor_calls, _graph, _identity, _nested
from penstock import _actor_records as records
from penstock import _actor_wire as wire
from penstock._actor_calls import ActorFuture
from penstock.errors import ActorDied, PenstockError

__all__ = ["Actor", "ActorFuture", "ActorClass", "ActorDied", "actor", "create", "get_actor", "current_actor", "list", "kill",
           "ready", "read"]
NAME_MAX = 200
CONCURRENCY_MAX = 10_000
ENDING_AGAIN_S = 0.01


class Actor:
    """A handle of an actor: `handle.method(...)` is a future of what the method returns, `handle.attribute` the value that the
    attribute has now. May be pickled, and be an argument of calls. Calls of one process begin in the order in which they were
    made. Names that begin with `_` are not the actor's."""

    __slots__ = ("_facts", "_peer", "_owner", "__weakref__")

    def __init__(self, facts: Dict[str, Any], client: Any = None, owner: "Optional[Owner]" = None):
        self._facts, self._owner = facts, owner
        self._peer = _actor_calls.peer_of(facts["identity"], facts["job"], facts["label"], facts["retry_calls"], client)

    def __getattr__(self, name: str) -> Any:
        if name[:1] == "_":
            raise AttributeError(f"{self!r} has no {name!r}: names that begin with _ are not offered to callers")
        if name in self._facts["methods"]:
            return Method(self, name)
        if name == "kill":
            return functools.partial(kill, self)
        return read(self, name).result()

    def __call__(self, *arguments: Any, **keywords: Any) -> ActorFuture:
        if "__call__" not in self._facts["methods"]:
            raise TypeError(f"{self!r} cannot be called: its class has no __call__")
        return Method(self, "__call__")(*arguments, **keywords)

    def __setattr__(self, name: str, value: Any) -> None:
        if name[:1] != "_":
            raise AttributeError(f"{self!r}: attributes are set by methods, not by {name} = ...")
        object.__setattr__(self, name, value)

    def __dir__(self) -> Any:
        return [*object.__dir__(self), *self._facts["methods"], "kill"]

    def __repr__(self) -> str:
        return f"<Actor {self._facts['label']}>"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Actor) and other._facts["identity"] == self._facts["identity"]

    def __hash__(self) -> int:
        return hash(self._facts["identity"])

    def __reduce__(self) -> Any:
        return type(self), (self._facts,)

    def __await__(self) -> Any:
        raise TypeError(f"{self!r} is not awaited: its calls are")


class Method:
    """A method of an actor, to be called."""

    __slots__ = ("_actor", "__name__")

    def __init__(self, actor: Actor, name: str):
        self._actor, self.__name__ = actor, name

    def __call__(self, *arguments: Any, **keywords: Any) -> ActorFuture:
        return self._actor._peer.submit(self.__name__, arguments, keywords, wire.CALL, self._actor)

    def __repr__(self) -> str:
        return f"<method {self.__name__} of {self._actor!r}>"


class Owner:
    """Ends an actor when all handles of it in the process that made it are gone."""

    __slots__ = ("job",)

    def __init__(self, job: Any):
        self.job = job

    def __del__(self):
        with contextlib.suppress(PenstockError):
            self.job.cancel()


class ActorClass:
    """What `@actor` makes of a class: called, it creates an actor of that class."""

    def __init__(self, kind: type, options: Dict[str, Any]):
        self.kind, self._given = kind, options
        functools.update_wrapper(self, kind, updated=())

    def options(self, **options: Any) -> "ActorClass":
        """The same with other options of `create`."""
        return ActorClass(self.kind, {**self._given, **options})

    def __call__(self, *arguments: Any, **keywords: Any) -> Actor:
        return create(self.kind, arguments, keywords, **self._given)

    def __repr__(self) -> str:
        return f"<actor class {self.kind.__qualname__}>"


def actor(kind: Optional[type] = None, **options: Any) -> Any:
    """Decorates a class: `Counter(1)` then creates an actor of it, by the client of the call, or the one that was opened last.

        @penstock.actor(restarts=3)
        class Counter: ...

        counter = Counter.options(name="counter")(1)

    `options` are those of `create`; the class itself is `Counter.kind`."""
    _check_names(options)
    if kind is None:
        return functools.partial(actor, **options)
    _check_class(kind)
    return ActorClass(kind, options)


def create(kind: type, arguments: tuple = (), keywords: Optional[Dict[str, Any]] = None, *, client: Any = None,
           name: Optional[str] = None, get_or_create: bool = False, detached: Optional[bool] = None, restarts: int = 0,
           retry_calls: bool = False, max_concurrency: Optional[int] = None, keep_slot: Optional[bool] = None,
           workers: Any = None, memory: Union[int, str] = 0, slots: float = 1.0,
           resources: Optional[Dict[str, float]] = None, priority: int = 0, overlap: str = "allow", files: Any = None,
           environment: Optional[Dict[str, str]] = None, python: Optional[str] = None,
           working_directory: Any = None) -> Actor:
    """Creates an actor, as `Client.actor` says; futures among the arguments are waited for, and become their values there."""
    _check_class(kind)
    _check_name(name, get_or_create)
    if max_concurrency is not None:
        max_concurrency = _graph.whole("max_concurrency", max_concurrency, 1, CONCURRENCY_MAX)
    client = client or _nested.get_client()
    detached = name is not None if detached is None else bool(detached)
    identity = secrets.token_hex(8)
    label = name or kind.__qualname__[-NAME_MAX:]
    facts = {"identity": identity, "name": name, "label": label, "methods": methods_of(kind),
             "job": f"{records.PREFIX} {label} {identity}", "retry_calls": bool(retry_calls)}
    kept = bool(resources) or slots != 1.0 if keep_slot is None else bool(keep_slot)
    spec = {"identity": identity, "name": name, "label": label, "job": facts["job"], "keep_slot": kept,
            "user": _identity.user_of(client), "owner": "" if detached else _owner_token(client), "owner_process": records.this_process(),
            "restarts": _graph.whole("restarts", restarts, -1, records.RESTARTS_MAX), "max_concurrency": max_concurrency, "facts": facts}
    retries = {0: 0}.get(spec["restarts"], records.RESTARTS_MAX + 1)  # The actor counts its starts itself.
    submitting = functools.partial(
        _submit, client, spec, (kind, tuple(arguments), dict(keywords or {})),
        dict(retries=retries, workers=workers, memory=memory, slots=slots, resources=resources, overlap=overlap),
        dict(files=files, environment=environment, python=python, working_directory=working_directory), priority)
    if name is None:
        return Actor(facts, client, submitting())
    with records.naming(name, client):
        known = _living(name, client, records.ENDING_S)
        if known is not None:
            if get_or_create:
                return Actor(known, client)
            raise PenstockError("there is an actor of this name", subject=name, code="AlreadyExists",
                                remedy="get_actor(name), or get_or_create=True, or kill() it first")
        records.named(name, client).set(facts)
        return Actor(facts, client, submitting())


def _submit(client, spec, made_of, options, program, priority):
    """Sends the job; the owner, if there is to be one."""
    from penstock._actor_host import serve
    own = None if spec["owner"] else _client_beyond_the_call(client)
    try:
        graph = (own or client).graph(**program)
        graph.add(serve, spec, *made_of, **options)
        job = graph.submit(name=spec["job"], priority=priority)
        if spec["owner"]:
            return Owner(job)
        job.detach()
        return None
    finally:
        if own is not None:
            own.close()


_owners: "weakref.WeakKeyDictionary[Any, Any]" = weakref.WeakKeyDictionary()  # Their locks.
_owning = threading.Lock()


def _owner_token(client):
    """Names the lock that this client holds for as long as it lives, and for which its actors wait."""
    with _owning:
        lock = _owners.get(client)
        if lock is None:
            lock = records.owner(secrets.token_hex(8), client)
            lock.acquire()
            lock._client = None  # Else the client would live for ever.
            _owners[client] = lock
        return lock.name.rpartition(" ")[2]


def _client_beyond_the_call(client):
    """For what is to outlive the call that runs here: jobs of its own client end with it."""
    if not isinstance(client, _nested.RunClient):
        return None
    from penstock._client import Client
    beyond = Client(os.environ["PENSTOCK_SUPERVISOR"])
    beyond._command = client._command
    return beyond


def methods_of(kind: type) -> FrozenSet[str]:
    """The names that are called; all others are read."""
    names = {name for name in dir(kind) if name[:1] != "_" and callable(inspect.getattr_static(kind, name, None))}
    names |= {name for name in dir(kind) if name[:1] != "_" and
              isinstance(inspect.getattr_static(kind, name, None), (staticmethod, classmethod))}
    return frozenset(names | ({"__call__"} if "__call__" in vars(kind) or _inherits_call(kind) else set()))


def _inherits_call(kind):
    return any("__call__" in vars(base) for base in kind.__mro__[:-1])


def _check_class(kind):
    if isinstance(kind, ActorClass):
        raise TypeError(f"{kind!r} creates actors itself: call it")
    if not isinstance(kind, type):
        raise TypeError(f"an actor is made of a class, not of {kind!r}")


def _check_name(name, get_or_create):
    if name is None:
        if get_or_create:
            raise ValueError("get_or_create: needs a name")
        return
    if not isinstance(name, str) or not name.isprintable() or not 0 < len(name) <= NAME_MAX:
        raise TypeError(f"name is a text of 1 to {NAME_MAX} printable characters, not {name!r}")


def _check_names(options):
    known = inspect.signature(create).parameters
    for name in options:
        if name not in known or name in ("kind", "arguments", "keywords"):
            raise TypeError(f"actor: {name!r} is no option; there are {', '.join([*known][3:])}")


def split_options(given: Dict[str, Any]) -> Tuple[Dict[str, Any], Dict[str, Any]]:
    """(options of `create`, keywords of the class)."""
    known = {*inspect.signature(create).parameters} - {"kind", "arguments", "keywords", "client"}
    return ({name: value for name, value in given.items() if name in known},
            {name: value for name, value in given.items() if name not in known})


def _living(name, client, patience=0.0):
    """What is known of the actor of this name, if its job goes on. `patience`: so long it waits for one that ends."""
    known, late = records.peek(records.named(name, client)), time.monotonic() + patience
    while known is not None:
        state = records.state_of(client, known["job"])
        if state in ("running", "unseen"):
            return known
        if state == "ended" or time.monotonic() > late:
            break
        threading.Event().wait(ENDING_AGAIN_S)
    return None


def get_actor(name: str, client: Any = None) -> Actor:
    """The actor of this name, whoever has created it. Raises `ActorDied` if there is none."""
    _check_name(name, False)
    if name is None:
        raise TypeError("name is a text, not None")
    client = client or _nested.get_client()
    known = _living(name, client)
    if known is None:
        raise ActorDied("there is no actor of this name", subject=name, code="NotFound",
                        remedy="create one: client.actor(CLASS, ..., name=NAME); penstock.actors.list() has those there are")
    return Actor(known, client)


def current_actor() -> Optional[Actor]:
    """Inside an actor its own handle, to be given to others; else None."""
    import sys
    host = sys.modules.get("penstock._actor_host")
    if host is None or not host._current:
        return None
    return Actor(host._current[0].facts(), host._current[0].client)


def list(client: Any = None) -> "builtins.list[Dict[str, Any]]":  # tidy: foreign
    """One dictionary for each actor whose job goes on: name (None without), job, worker, host, pid, and starts, which is 0
    until its process begins, and grows with each restart."""
    client = client or _nested.get_client()
    rows: List[Dict[str, Any]] = []
    for job in records.running(client):
        identity = job["name"].rpartition(" ")[2]
        known = records.peek(records.at(identity, client)) or {}
        rows.append({"name": known.get("name"), "job": job["name"], "worker": known.get("worker", ""),
                     "host": known.get("host", ""), "pid": known.get("pid", 0), "starts": known.get("starts", 0)})
    return rows


def kill(handle: Actor, restart: bool = False) -> None:
    """Ends an actor: a method that runs is interrupted, its process killed if that does not help (`worker.kill_grace`), and
    calls raise `ActorDied`. `restart=True`: its process dies, and is started again if restarts are left."""
    _check_handle(handle)
    peer = handle._peer
    if restart:
        ready(handle)
        return peer.exit()
    records.cancel(peer.found_client(), peer.job)


def ready(handle: Actor, timeout: Optional[float] = None) -> Actor:
    """Waits until the actor is there. Raises `TimeoutError`, or `ActorDied`, whose cause is what its `__init__` has raised."""
    _check_handle(handle)
    awaited(handle).result(timeout)
    return handle


def awaited(handle: Actor) -> ActorFuture:
    """A future, None, that ends when the actor is there; for coroutines and callbacks."""
    return handle._peer.submit("__init__", (), {}, wire.PING, handle)


def read(handle: Actor, name: str) -> ActorFuture:
    """A future of an attribute, for coroutines, and for names that are methods of the handle; read in the order of calls."""
    _check_handle(handle)
    if not isinstance(name, str) or name[:1] == "_":
        raise AttributeError(f"{handle!r} has no {name!r}: names that begin with _ are not offered to callers")
    return handle._peer.submit(name, (), {}, wire.READ, handle)


def _check_handle(handle):
    if not isinstance(handle, Actor):
        raise TypeError(f"{handle!r} is no handle of an actor")
