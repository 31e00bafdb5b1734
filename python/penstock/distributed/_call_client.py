"""The client of a call, see `get_client`."""
import asyncio

from penstock import _nested
from penstock.distributed._client import Client


class CallClient(Client, _nested.RunClient):
    """Made by `get_client` in a call."""

    def __init__(self):
        self.cluster, self._owns_cluster, self._open = None, False, {}
        self._is_asynchronous, self._name = False, "call"
        self._prepare()
        _nested.RunClient.__init__(self)

    @property
    def asynchronous(self) -> bool:
        """Where a coroutine asks, answers are awaited."""
        try:
            asyncio.get_running_loop()
        except RuntimeError:
            return False
        return True
