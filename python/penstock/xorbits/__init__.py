"""Xorbits, the living Mars, on a Penstock cluster.

>>> import penstock, penstock.xorbits                  # doctest: +SKIP
>>> import xorbits.pandas as pd
>>> client = penstock.Client("host:port")
>>> penstock.xorbits.init(client)
>>> pd.read_parquet("data.parquet").groupby("key").sum()

Xorbits builds its graphs in this process; their subtasks run on the cluster, and their values stay there.
"""
import sys
from typing import Any, Optional

from penstock.xorbits import _executor  # noqa: F401  It registers the backend.
from penstock.xorbits._config import NAME, OPTIONS
from penstock.xorbits._execute import warm
from penstock.xorbits._stage import SEED
from penstock.xorbits._values import forget_client, register_client

_own: Any = None    # The client that `init` has opened itself.
_given: Any = None  # The client of the present session.


def init(client: Optional[Any] = None, *, address: Optional[str] = None, web: bool = False, warm_up: bool = True,
         **options: Any) -> None:
    """Makes `client` the runtime of `xorbits.pandas`, `xorbits.numpy` and the others in this process: by default a client
    with an embedded cluster, which `shutdown` closes. `address` is that of Xorbits' supervisor, which operands of the
    workers call now and then: of several hosts, one by which workers reach this process (`"10.0.0.5"`). `web` starts
    Xorbits' own page. `warm_up` has each slot load Xorbits before the first graph needs it. Of the options, those that
    `Client.submit` has (retries, memory, memory_max, slots, time_limit, resources) are for each subtask, and the
    others Xorbits' own."""
    global _own, _given
    import xorbits
    from penstock import Client
    shutdown()
    if client is None:
        client = _own = Client(environment={SEED: "0"})
    _given = client
    ours = {name: options.pop(name) for name in OPTIONS if name in options}
    config = options.pop("config", None) or {}
    section = {**ours, "client": register_client(client)}
    config.setdefault("task", {}).setdefault("execution_config", {}).update(
        {"backend": NAME, NAME: section})
    warming, path = warm_slots(client) if warm_up else [], list(sys.path)
    xorbits.init(address=address, init_local=True, web=web, backend=NAME, config=config, **options)
    if set(sys.path) == set(path):
        sys.path[:] = path  # xoscar puts PYTHONPATH in front once more: by another path, runners would be other processes.
    for future in warming:
        future.result()


def warm_slots(client: Any) -> Any:
    """Futures of calls that load Xorbits, as many as the cluster has slots."""
    slots = sum(row["slots"] for row in client.ask("bands") if row["kind"] == "cpu")
    environment = None if SEED in client._command.variables else {SEED: "0"}
    return [client.submit(warm, environment=environment) for _ in range(slots)]


def shutdown() -> None:
    """Ends the session that `init` has begun; a client that `init` has opened is closed."""
    global _own, _given
    import xorbits
    if _given is None:
        return
    given, _given = _given, None
    xorbits.shutdown()
    forget_client(given)
    if _own is not None:
        own, _own = _own, None
        own.close()
