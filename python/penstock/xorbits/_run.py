"""What an operand can ask while it runs on a worker."""
# tidy: foreign-file task, session id
import asyncio
import concurrent.futures
import contextlib
import functools
import threading
from typing import Any, Dict, Iterator, Optional, Tuple

from xorbits._mars.core.context import Context
from xorbits._mars.services.context import ThreadedServiceContext
from xorbits._mars.storage.base import StorageLevel

from penstock import _nested
from penstock._attempt import _serving_here
from penstock.errors import PenstockError

PATIENCE_S = 2.0  # What takes longer is waited for without a slot, so that others can run for which it may wait.


class RunContext(dict, Context):
    """The values of one subtask by their names, and Xorbits' services, which are connected when an operand asks for them:
    objects of the session (`get_remote_object`), and the session for operands that execute something themselves."""

    def __init__(self, session_id: str, supervisor_address: str):
        dict.__init__(self)
        Context.__init__(self, session_id, supervisor_address, supervisor_address, supervisor_address)
        self._chunk: Any = None

    def __enter__(self):
        Context.all_contexts.append(self)
        return self

    def __exit__(self, *_: Any):
        Context.all_contexts.remove(self)

    def __eq__(self, other):
        return self is other

    __hash__ = None  # type: ignore[assignment]

    def set_current_chunk(self, chunk: Any) -> None:
        """The chunk whose operand runs now."""
        self._chunk = chunk

    def get_current_chunk(self) -> Any:
        """The chunk whose operand runs now."""
        return self._chunk

    @property
    def _services(self):
        return services_of(self.session_id, self.supervisor_address)

    def get_current_session(self):
        return self._services.session()

    def get_remote_object(self, name: str):
        return _Waited(self._services.context.get_remote_object(name))

    def create_remote_object(self, name: str, object_cls, *args, **kwargs):
        return _Waited(self._services.context.create_remote_object(name, object_cls, *args, **kwargs))

    def destroy_remote_object(self, name: str):
        return self._services.context.destroy_remote_object(name)

    def get_local_host_ip(self) -> str:
        import socket
        return socket.gethostbyname(socket.gethostname())

    def get_supervisor_addresses(self):
        return [self.supervisor_address]

    def get_worker_addresses(self):
        return [row["name"] for row in _nested.get_client().ask("workers")]

    def get_worker_bands(self):
        return [(worker, "numa-0") for worker in self.get_worker_addresses()]

    def get_total_n_cpu(self) -> int:
        return sum(row["slots"] for row in _nested.get_client().ask("workers"))

    def get_slots(self) -> int:
        return 1

    def get_chunks_result(self, data_keys, fetch_only: bool = False):
        return [self[key] for key in data_keys] if not fetch_only else None

    def get_chunks_meta(self, data_keys, fields=None, error: str = "raise"):
        raise PenstockError("is told to the graph that is built, and not to a subtask that runs", subject="the meta of a chunk",
                            code="WrongState", remedy="ask for it in `tile`")

    def get_storage_info(self, address: Optional[str] = None, level: StorageLevel = StorageLevel.MEMORY) -> Dict:
        return {}

    def register_custom_log_path(self, *_: Any, **__: Any) -> None:
        """Logs are kept by Penstock: `penstock logs`."""

    def new_custom_log_dir(self) -> None:
        return None


class _Waited:
    """An object of the session whose methods give the slot of this run to others if they take long."""

    def __init__(self, wrapped: Any):
        self._reference, self._loop = wrapped._ref, wrapped._loop

    def __getattr__(self, name):
        method = getattr(self._reference, name)

        @functools.wraps(method)
        def call(*arguments: Any, **keywords: Any) -> Any:
            return waited_for(asyncio.run_coroutine_threadsafe(method(*arguments, **keywords), self._loop))
        return call


def waited_for(future: "concurrent.futures.Future[Any]") -> Any:
    """Its result; the slot is lent if that takes long."""
    try:
        return future.result(PATIENCE_S)
    except concurrent.futures.TimeoutError:
        if future.done():
            raise
    with slot_lent():
        return future.result()


@contextlib.contextmanager
def slot_lent() -> Iterator[None]:
    """While a run waits for what may need its slot."""
    serving = _serving_here()
    if serving is None or serving.lent:
        yield
        return
    _nested._lend(serving)
    try:
        yield
    finally:
        serving.take_slot_back()


def _lend_in(kind, name):
    """From now on, while this method runs others have the slot."""
    method = getattr(kind, name)

    @functools.wraps(method)
    def call(*arguments: Any, **keywords: Any) -> Any:
        with slot_lent():
            return method(*arguments, **keywords)
    setattr(kind, name, call)


class _Services:
    """Xorbits' services of one session, from a process that is not the supervisor's."""

    def __init__(self, session_id: str, address: str):
        from xorbits._mars.deploy.oscar.session import SyncSession, ensure_isolation_created
        if not _services:
            for name in ("execute", "fetch"):
                _lend_in(SyncSession, name)
        loop = ensure_isolation_created({}).loop
        self.address, self.session_id, self._session = address, session_id, None
        self.context = ThreadedServiceContext(session_id, address, address, address, loop=loop)
        asyncio.run_coroutine_threadsafe(self.context.init(), loop).result()

    def session(self):
        """The session as a user has it."""
        from xorbits._mars.deploy.oscar.session import new_session

        from penstock.xorbits._config import NAME
        if self._session is None:
            self._session = new_session(self.address, self.session_id, backend=NAME, new=False, default=False)
        return self._session


_lock = threading.Lock()
_services: Dict[Tuple[str, str], _Services] = {}
SESSIONS_MAX = 16  # Whose services one process stays connected to.


def services_of(session_id: str, address: str) -> _Services:
    """Those of the session, connected when they are asked for first."""
    with _lock:
        services = _services.get((session_id, address))
        if services is None:
            while len(_services) >= SESSIONS_MAX:
                _services.pop(next(iter(_services)))
            services = _services[session_id, address] = _Services(session_id, address)
        return services
