"""What the supervisor says of workers, as Dask's programs expect it."""
import asyncio
from typing import Any, Dict, Iterable, List

EMBEDDED = "inproc://127.0.0.1/embedded"


class Address:
    """What stands for Dask's scheduler: all that is known of it."""

    def __init__(self, address: str, client: Any = None):
        self.address = self.addr = address
        self._client = client

    async def who_has(self, keys: Any = None) -> Dict[Any, Any]:
        """See `Client.who_has`; by keys."""
        wanted = None if keys is None else {str(key) for key in keys}
        client = self._client
        futures = [future for key, future in client.futures.items() if wanted is None or key in wanted]
        return await asyncio.get_running_loop().run_in_executor(None, client._who_has, futures)

    async def ncores(self, workers: Any = None) -> Dict[str, int]:
        """See `Client.nthreads`."""
        return await asyncio.get_running_loop().run_in_executor(None, self._client._nthreads, workers)

    async def identity(self, **_: Any) -> Dict[str, Any]:
        """See `Client.scheduler_info`."""
        return await asyncio.get_running_loop().run_in_executor(None, self._client._scheduler_info)

    def __repr__(self):
        return f"<Scheduler: {self.address}>"


def by_address(rows: Iterable[Dict[str, Any]]) -> Dict[str, Dict[str, Any]]:
    """{address: row}; libraries take the host of an address to let workers speak with each other."""
    return {address_of(row): row for row in rows}


def address_of(row: Dict[str, Any]) -> str:
    """tcp://host:port of its data port; of a worker in the client's process, this host and its name."""
    address = row.get("data_address") or ""
    if address.rpartition(":")[2].isdigit():
        return f"tcp://{address}"
    return f"inproc://127.0.0.1/{row['name']}"


def is_named(address: str, row: Dict[str, Any], wanted: Any) -> bool:
    """Whether a text, an address, a name or a host, means this worker."""
    wanted = str(wanted)
    plain = address.partition("://")[2]
    return wanted in (address, row["name"], row["host"], plain, plain.rpartition(":")[0])


def described(row: Dict[str, Any], bands: Iterable[Dict[str, Any]]) -> Dict[str, Any]:
    """A worker as `Client.scheduler_info` has it."""
    own = [band for band in bands if band["worker"] == row["name"]]
    return {"type": "Worker", "id": row["name"], "name": row["name"], "host": row["host"], "nthreads": row["slots"],
            "memory_limit": sum(band["memory_bytes"] for band in own), "local_directory": "", "services": {},
            "resources": {},
            "status": "running" if row["state"] == "ready" else row["state"], "nanny": None, "last_seen": 0.0,
            "metrics": {"executing": row["running"], "in_memory": 0, "ready": row["assigned"] - row["running"],
                        "memory": sum(band["store_used_bytes"] for band in own)}}


def holders(told: Dict[str, Any]) -> List[str]:
    """Names or data addresses of the workers that have a value, of what `Client.explain_data` says."""
    if told.get("state") != "kept":
        return []
    return [told["worker"], *told.get("copies", [])]


def names_of(workers: Dict[str, Dict[str, Any]]) -> Dict[str, str]:
    """{name or data address of a worker: its address}"""
    found = {worker["name"]: address for address, worker in workers.items()}
    return {**found, **{worker.get("data_address") or worker["name"]: address for address, worker in workers.items()}}
