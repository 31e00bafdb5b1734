"""What Xorbits' services ask of the configuration of this backend."""
# tidy: foreign-file task
from typing import Any, Dict, List, Tuple

from xorbits._mars.core.operand import ShuffleFetchType
from xorbits._mars.resource import Resource
from xorbits._mars.services.task.execution.api import ExecutionConfig, register_config_cls

from penstock.xorbits._values import client_named

NAME = "penstock"
OPTIONS = ("retries", "memory", "memory_max", "slots", "time_limit", "resources")  # Of `Client.submit`.


@register_config_cls
class PenstockExecutionConfig(ExecutionConfig):
    """The part `penstock` of `task.execution_config`: `client`, a name of `register_client`, and options of calls."""

    name = NAME

    def client(self) -> Any:
        """The Penstock client whose cluster runs the subtasks."""
        return client_named(self._config[NAME].get("client"))

    def call_options(self) -> Dict[str, Any]:
        """Options of `Client.submit` for each subtask."""
        return {name: self._config[NAME][name] for name in OPTIONS if name in self._config[NAME]}

    def get_deploy_band_resources(self) -> List[Dict[str, Resource]]:
        """Xorbits starts no workers of its own."""
        return []

    def get_shuffle_fetch_type(self) -> ShuffleFetchType:
        """Reducers name the blocks that they read by mapper and index."""
        return ShuffleFetchType.FETCH_BY_KEY


def bands_of(client: Any) -> Dict[Tuple[str, str], Resource]:
    """Xorbits' bands: for each worker of the cluster one of CPUs, and one for each of its GPUs."""
    bands: Dict[Tuple[str, str], Resource] = {}
    for row in client.ask("bands"):
        if row["kind"] == "cpu":
            place = row["worker"], "numa-0"
            before = bands.get(place)
            slots, memory = row["slots"], row["memory_bytes"]
            if before is not None:  # NUMA nodes of one host are one band.
                slots, memory = slots + before.num_cpus, memory + before.mem_bytes
            bands[place] = Resource(num_cpus=slots, mem_bytes=memory)
        elif row["milli_gpu"]:
            for _ in range(row["milli_gpu"] // 1000):
                number = sum(worker == row["worker"] and name.startswith("gpu-") for worker, name in bands)
                bands[row["worker"], f"gpu-{number}"] = Resource(num_gpus=1)
    return bands
