"""Graphs and collections of Dask on a client, and actors."""
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from penstock.actors import Actor

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

    def actor(self, kind: type, *args: Any, **options: Any) -> "Actor":
        """Creates an actor: an object `kind(*args)` that lives in a process of a worker, as a handle whose methods return
        futures. Returns at once; `penstock.actors.ready` waits until it is there.

        `name`: others find it by `penstock.get_actor(name)`; there is one of a name at a time. `get_or_create`: the one
        that there is, or a new one. `detached`: it goes on when its handle, its client or the call that made it is gone;
        by default if it has a name. `restarts`: so often it is made again if its process or its worker dies; -1: always.
        `retry_calls`: calls under way then are made again, else they raise `ActorDied`. `max_concurrency`: so many
        threads run its methods; of a class with `async def` methods, which run on one event loop, so many at once.
        `keep_slot`: it keeps its slot while it waits; by default if `slots` or `resources` are given. `workers`, `memory`,
        `slots`, `resources`, `priority`, `overlap`, `files`, `environment`, `python`, `working_directory` are those of
        `submit`. All other keywords go to the class; `penstock.actors.create` takes those of these names, too."""
        from penstock import actors
        ours, theirs = actors.split_options(options)
        return actors.create(kind, args, theirs, client=self, **ours)
