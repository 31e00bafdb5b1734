"""Graphs and collections of Dask on a client."""
from typing import Any

from penstock._datasets import Datasets


class Collections(Datasets):
    """Of a `Client`."""

    def get(self, graph: Any, keys: Any, **options: Any) -> Any:
        """Computes `keys` of a Dask graph; see `penstock.dask.get`."""
        from penstock import dask
        return dask.get(graph, keys, client=self, **options)  # type: ignore[arg-type]

    def compute(self, collections: Any, sync: bool = False, optimize_graph: bool = True, **options: Any) -> Any:
        """A future for the value of a Dask collection, or a list of them for a list; what they share is computed once.
        `options` are `priority`, `retries`, `resources` and `workers` of `penstock.dask.get`. `sync`: the values."""
        from penstock import dask
        return dask.compute(self, collections, sync, optimize_graph, options)

    def persist(self, collections: Any, optimize_graph: bool = True, **options: Any) -> Any:
        """The same collections, with futures for their parts: computed on the cluster, beginning now, and kept there."""
        from penstock import dask
        return dask.persist(self, collections, optimize_graph, options)
