"""Plugins of workers: what each process that runs calls of a client does at its start."""
import atexit
import os
from typing import Any, Dict, Optional

from penstock.errors import PenstockError


class WorkerPlugin:
    """What `Client.register_plugin` takes: `setup(worker)` at the start of each process, `teardown(worker)` at its
    end."""

    name: Optional[str] = None
    idempotent = False

    def setup(self, worker: Any) -> None:
        """At the start of a process."""

    def teardown(self, worker: Any) -> None:
        """At its end."""


class Environ(WorkerPlugin):
    """Variables of the processes that run calls."""

    def __init__(self, environ: Optional[Dict[str, str]] = None):
        self.environ = {name: str(value) for name, value in (environ or {}).items()}


class UploadFile(WorkerPlugin):
    """A file that modules are imported from, see `Client.upload_file`."""

    def __init__(self, filepath: Any, load: bool = True):
        self.filepath = os.fspath(filepath)


class Callback(WorkerPlugin):
    """A function for the start alone."""

    def __init__(self, function: Any):
        self.function = function

    def setup(self, worker: Any) -> None:
        """Calls it, with the worker if it asks for that."""
        from penstock.distributed._client import _WithWorker
        _WithWorker(self.function)()


class _Start:
    """Is called in a runner."""

    def __init__(self, plugin, name):
        self.plugin, self.name = plugin, name

    def __call__(self):
        from penstock.distributed._here import get_worker
        worker = get_worker()
        worker.plugins[self.name] = self.plugin
        if hasattr(self.plugin, "teardown"):
            atexit.register(self.plugin.teardown, worker)
        if hasattr(self.plugin, "setup"):
            self.plugin.setup(worker)


def register(client: Any, plugin: Any, name: Optional[str], idempotent: bool) -> Any:
    """See `Client.register_plugin`: {address of a worker: {"status": "OK"}}. Raises what `setup` raises,
    and forgets the plugin then."""
    kinds = {kind.__name__ for kind in type(plugin).__mro__}
    if isinstance(plugin, type):
        raise TypeError("a plugin is an object: give an instance of the class")
    if kinds & {"SchedulerPlugin", "NannyPlugin"}:
        raise PenstockError("belongs to a part of Dask that is not there", subject=type(plugin).__name__,
                            remedy="a WorkerPlugin does what processes need; packages: install them where "
                            "workers are started")
    name = name or getattr(plugin, "name", None) or f"{type(plugin).__name__}-{id(plugin)}"
    if name in client._setup and (idempotent or getattr(plugin, "idempotent", False)):
        return client._answer({}, None)
    if isinstance(plugin, UploadFile):
        return client.upload_file(plugin.filepath)
    if isinstance(plugin, Environ):
        client._variables.update(plugin.environ)
    else:
        client._setup[name] = _Start(plugin, name)
    try:
        client._renew_command()
    except BaseException:
        client._setup.pop(name, None)
        raise
    return _later(client, name) if client.asynchronous else _now(client, name)


def _now(client, name):
    try:
        return client.run(_is_ready)
    except BaseException:
        _forget(client, name)
        raise


async def _later(client, name):
    try:
        return await client.run(_is_ready)
    except BaseException:
        _forget(client, name)
        raise


def _forget(client, name):
    """A plugin that cannot be set up would fail each call."""
    if client._setup.pop(name, None) is not None:
        client._renew_command()


def _is_ready():
    return {"status": "OK"}
