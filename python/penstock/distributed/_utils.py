"""Functions that libraries import from modules of `distributed`."""
import contextlib
import logging
import socket
import time
from concurrent.futures import CancelledError, TimeoutError
from typing import Any, Iterator, Tuple


def get_ip(host: str = "8.8.8.8", port: int = 80) -> str:
    """The address by which this host reaches others; nothing is sent."""
    with contextlib.closing(socket.socket(socket.AF_INET, socket.SOCK_DGRAM)) as asked:
        try:
            asked.connect((host, port))
            return asked.getsockname()[0]
        except OSError:
            return "127.0.0.1"


def parse_host_port(address: str, default_port: Any = None) -> Tuple[str, int]:
    """(host, port) of an address with or without a scheme."""
    host, _, port = address.partition("://")[2].rpartition(":") if "://" in address else address.rpartition(":")
    if not port.isdigit() and default_port is None:
        raise ValueError(f"missing port number in address {address!r}")
    return (host.strip("[]") or port, int(port) if port.isdigit() else default_port)


def get_address_host(address: str) -> str:
    """The host of an address; of a worker in this process, this host."""
    scheme, _, rest = address.rpartition("://")
    return get_ip() if scheme == "inproc" else parse_host_port(rest, 0)[0]


@contextlib.contextmanager
def log_errors(pdb: bool = False) -> Iterator[None]:
    """Logs what is raised in the block."""
    try:
        yield
    except Exception:
        logging.getLogger("penstock").exception("raised")
        raise


def sync(loop: Any, func: Any, *args: Any, callback_timeout: Any = None, **kwargs: Any) -> Any:
    """Runs a function that returns a coroutine in an event loop of another thread, and waits."""
    import asyncio
    return asyncio.run_coroutine_threadsafe(func(*args, **kwargs), loop).result(callback_timeout)


def _registers_nothing(*_: Any, **__: Any) -> Any:
    """A decorator of Dask's serializers: what travels here is pickled, with its large buffers beside."""
    return lambda function: function


def serialize_nothing(*_: Any, **__: Any) -> None:
    """`register_generic`: objects of the class are pickled."""


def versions(packages: Any = None) -> Any:
    """Of this process."""
    from penstock.distributed._cluster_questions import versions as found
    return found(packages or ())


UTILS = {"get_ip": get_ip, "parse_host_port": parse_host_port, "log_errors": log_errors, "sync": sync,
         "TimeoutError": TimeoutError,
         "CancelledError": CancelledError}
COMM = {"get_address_host": get_address_host, "get_address_host_port": lambda address,
        strict=False: parse_host_port(address),
        "parse_host_port": parse_host_port}
METRICS = {"time": time.time, "monotonic": time.monotonic}
PROTOCOL = {"register_generic": serialize_nothing,
            **{f"{kind}_{way}": type("_Registry", (), {"register": staticmethod(_registers_nothing),
                                                       "register_lazy": staticmethod(_registers_nothing)})()
               for kind in ("dask", "cuda") for way in ("serialize", "deserialize")}}
PROTOCOL_SERIALIZE = PROTOCOL
VERSIONS = {"get_versions": versions}
