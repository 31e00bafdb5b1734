"""What an operand can ask while its graph is built, in the process of Xorbits' supervisor."""
# tidy: foreign-file task, session id
from typing import Any, Dict, List, Optional

from xorbits._mars.core.context import Context
from xorbits._mars.services.context import ThreadedServiceContext
from xorbits._mars.storage.base import StorageLevel

from penstock.xorbits._config import NAME, bands_of
from penstock.xorbits._fetcher import values_of
from penstock.xorbits._values import held, value_of


class TileContext(ThreadedServiceContext):
    """Values and meta of chunks that were made before, and the workers of the cluster."""

    def __init__(self, client: Any, session_id: str, address: str, loop: Any):
        super().__init__(session_id, address, address, address, loop=loop)
        self._client = client

    def __exit__(self, *_: Any):
        if self in Context.all_contexts:  # Tasks end in any order.
            Context.all_contexts.remove(self)

    def get_current_session(self):
        from xorbits._mars.deploy.oscar.session import new_session
        return new_session(self.supervisor_address, self.session_id, backend=NAME, new=False, default=False)

    def get_worker_bands(self):
        return list(bands_of(self._client))

    def get_worker_addresses(self) -> List[str]:
        return list(dict.fromkeys(worker for worker, _ in bands_of(self._client)))

    def get_total_n_cpu(self) -> int:
        return int(sum(resource.num_cpus for resource in bands_of(self._client).values()))

    def get_slots(self) -> int:
        return self.get_total_n_cpu()

    def get_storage_info(self, address: Optional[str] = None, level: StorageLevel = StorageLevel.MEMORY) -> Dict:
        return {}

    def get_chunks_result(self, data_keys: List[str], fetch_only: bool = False) -> Any:
        if fetch_only:
            return None
        return values_of([held(self.session_id, key).future for key in data_keys])

    def get_chunks_meta(self, data_keys: List[str], fields: Optional[List[str]] = None, error: str = "raise") -> List[Any]:
        return [self._meta_of(key, fields, error) for key in data_keys]

    def _meta_of(self, key, fields, error):
        value = value_of(self.session_id, key) if error == "ignore" else held(self.session_id, key)
        if value is None or value.described is None:
            return None
        size = value.described.nbytes
        meta = {**value.described.params, "memory_size": size, "store_size": size, "bands": [], "object_refs": [value]}
        return meta if fields is None else {name: meta.get(name) for name in fields}
