"""`Client` with the interface of `dask.distributed.Client`, over `penstock.Client`."""
import asyncio
import contextlib
import os
import uuid
import weakref
from concurrent.futures import CancelledError
from typing import Any, Dict, List, Optional

import dask
from dask.base import tokenize
from dask.utils import funcname

import penstock
from penstock import _graph
from penstock._client import Client as _Client
from penstock._programs import program_of
from penstock._shapes import SHAPES
from penstock.distributed import _actor, _cluster, _defaults
from penstock.distributed._asynchronous import Asynchronous
from penstock.distributed._cluster_questions import ClusterQuestions
from penstock.distributed._datasets import Datasets
from penstock.distributed._future import Future, seconds
from penstock.distributed._waiting import futures_of
from penstock.errors import PenstockError


class Client(Asynchronous, ClusterQuestions, Datasets, _Client):
    """As `dask.distributed.Client`: `address` is a supervisor's, or a `LocalCluster`; without one a cluster is
    embedded in
    this process, for which `n_workers`, `threads_per_worker` and `memory_limit` may be given. Until it is closed, Dask
    collections are computed by it (`set_as_default=False`: they are not).

    >>> with Client(n_workers=2) as client:                           # doctest: +SKIP
    ...     client.submit(sum, [1, 2]).result()
    3
    """

    _future_kind = Future

    def __init__(self, address: Any = None, loop: Any = None, timeout: Any = None, set_as_default: bool = True,
                 scheduler_file: Optional[str] = None, security: Any = None, asynchronous: bool = False,
                 name: Optional[str] = None, heartbeat_interval: Any = None, serializers: Any = None,
                 deserializers: Any = None, extensions: Any = None, direct_to_workers: Any = None,
                 connection_limit: int = 512, **options: Any):
        _refuse_security(security)
        found = _cluster.resolve(address, scheduler_file, options, asynchronous)
        self.cluster, self._owns_cluster = found.cluster, found.is_ours
        self._is_asynchronous, self._name = bool(asynchronous), name or type(self).__name__
        self._open = {"name": name, "timeout": seconds(timeout or 30), **found.options}
        self._prepare()
        self._connect(found.address)
        if set_as_default:
            _defaults.add(self)

    def _prepare(self):
        self.id = f"{type(self).__name__}-{uuid.uuid1()}"
        self._by_key: "weakref.WeakValueDictionary[str, Future]" = weakref.WeakValueDictionary()
        self._kept: set = set()       # Futures that run though nobody else keeps them.
        self._loop_thread = None
        self._setup: Dict[str, Any] = {}  # What runners call at their start, by the names of plugins.
        self._variables: Dict[str, str] = {}
        self._uploaded: List[str] = []
        self._turn = 0                # Of the workers among which a call may choose.
        self._set_up_alias()

    def _connect(self, address):
        _Client.__init__(self, address, environment=self._environment() or None, **self._open)
        if self._owns_cluster and self.cluster is None:
            self.cluster = _cluster.EmbeddedCluster(self, self._slots)
        elif self.cluster is not None:
            self.cluster._be_used_by(self)

    # ---- calls ----

    def submit(self, func: Any, *args: Any, key: Any = None, workers: Any = None, resources: Any = None,
               retries: Any = None,
               priority: int = 0, fifo_timeout: Any = "100 ms", allow_other_workers: bool = False, actor: bool = False,
               actors: bool = False, pure: bool = True, **kwargs: Any) -> Future:
        """Calls `func(*args, **kwargs)` on the cluster. Equal calls of a `pure` function have one key, and run once for
        as long as a future of it lives; so do those that are given one key. `actor`: the future of a handle of an actor
        of the class `func`."""
        if not callable(func):
            raise TypeError(f"First input to submit must be a callable function: {func!r} is not")
        self._check_restriction(workers, allow_other_workers)
        self._check_open()
        if actor or actors:
            return _actor.submitted(self, func, args, kwargs, key, self._one_of(workers, allow_other_workers), resources,
                                    retries, priority)
        if key is None:
            key = f"{funcname(func)}-{tokenize(func, kwargs, *args) if pure else uuid.uuid4()}"
        options = self._options_of(workers, allow_other_workers, resources, retries, priority)
        return self._call(program_of(func), args, kwargs, key, options)

    def map(self, func: Any, *iterables: Any, key: Any = None, workers: Any = None, retries: Any = None,
            resources: Any = None,
            priority: int = 0, allow_other_workers: bool = False, fifo_timeout: Any = "100 ms", actor: bool = False,
            actors: bool = False, pure: bool = True, batch_size: Optional[int] = None, **kwargs: Any) -> List[Future]:
        """`func` of each element, of several iterables side by side; else as `submit`. `key` begins the keys, or is a
        list of them."""
        if not callable(func):
            raise TypeError(f"First input to map must be a callable function: {func!r} is not")
        if any(hasattr(one, "__next__") or hasattr(one, "get_nowait") for one in iterables):
            raise TypeError("Dask no longer supports mapping over Iterators or Queues: map a list, or submit "
                            "each element")
        self._check_restriction(workers, allow_other_workers)
        self._check_open()
        calls = list(zip(*iterables))
        if isinstance(key, (list, tuple)):
            keys = list(key)
            if len(keys) != len(calls):
                raise ValueError(f"key: {len(keys)} names for {len(calls)} calls")
        else:
            begin = key or funcname(func)
            given = tokenize(func, kwargs) if pure else str(uuid.uuid4())
            keys = [f"{begin}-{tokenize(given, args) if pure else f'{given}-{i}'}" for i, args in enumerate(calls)]
        if actor or actors:
            return [_actor.submitted(self, func, args, kwargs, one, self._one_of(workers, allow_other_workers), resources,
                                     retries, priority) for one, args in zip(keys, calls)]
        program = program_of(func)
        return [self._call(program, args, kwargs, one,
                           self._options_of(workers, allow_other_workers, resources, retries, priority))
                for one, args in zip(keys, calls)]

    def gather(self, futures: Any, errors: str = "raise", direct: Any = None,
               asynchronous: Optional[bool] = None) -> Any:
        """The values of futures in the same shape; what is no future stays. "skip" leaves out those without a value."""
        if errors not in ("raise", "skip"):
            raise ValueError("errors is 'raise' or 'skip'")
        given = list(futures) if hasattr(futures, "__next__") else futures
        wanted = futures_of(given)
        for future in wanted:
            if future.client is not self:
                raise ValueError(f"{future!r} belongs to another client")

        def bring():
            for future in wanted:
                if errors == "raise":
                    future._check_kept()
            there = [future for future in wanted if not future._dropped]
            return _put(given, self._gather(there, errors))
        return self._now_or_later(bring, wanted, asynchronous)

    def scatter(self, data: Any, workers: Any = None, broadcast: Any = False, direct: Any = None, hash: bool = True,
                timeout: Any = None, asynchronous: Optional[bool] = None) -> Any:
        """Futures of what is here already: one for each element of a list, tuple, set or range, and for each value of a
        dictionary. A worker fetches a value once, when it is read there."""
        self._check_open()

        def one(value, key=None):
            key = f"{type(value).__name__}-{tokenize(value) if hash else uuid.uuid4().hex}" if key is None else key
            return self._live(key) or self._be_known(self._scattered(value, str(key)), key)
        if isinstance(data, dict):
            futures: Any = {key: one(value, key) for key, value in data.items()}
        elif isinstance(data, (list, tuple, set, frozenset)):
            futures = type(data)([one(value) for value in data])
        elif isinstance(data, range) or hasattr(data, "__next__"):
            futures = [one(value) for value in data]
        else:
            futures = one(data)
        return self._answer(futures, asynchronous)

    def cancel(self, futures: Any, asynchronous: Optional[bool] = None, force: bool = False, reason: Any = None,
               msg: Any = None) -> Any:
        """Ends these and what depends on them; values that are there already are given up."""
        for future in futures_of([futures]):
            future._let_go("cancelled")
        return self._answer(None, asynchronous)

    def retry(self, futures: Any, asynchronous: Optional[bool] = None) -> Any:
        """Runs these once more."""
        for future in futures_of([futures]):
            future._dropped = ""
            penstock.Future.retry(future)
        return self._answer(None, asynchronous)

    # ---- graphs ----

    def get(self, dsk: Any, keys: Any, workers: Any = None, allow_other_workers: Any = None, resources: Any = None,
            sync: bool = True, asynchronous: Optional[bool] = None, direct: Any = None, retries: Any = None,
            priority: int = 0,
            fifo_timeout: Any = "60s", actors: Any = None, **_: Any) -> Any:
        """Computes keys of a graph: their values, or with `sync=False` their futures."""
        from penstock import dask as collections
        options = self._annotations(workers, allow_other_workers, resources, retries, priority)
        if sync and not self._as_later(asynchronous):
            return _as_lists(keys, collections.get(dsk, keys, client=self, **options, **_))
        wanted = list(dict.fromkeys(collections.leaves(keys if isinstance(keys, list) else [keys])))
        known = collections._Whole(self, dsk, options).start(wanted)
        futures = _named(keys, {key: self._be_known(future, key) for key, future in known.items()})
        return self.gather(futures, asynchronous=asynchronous) if sync else futures

    def compute(self, collections: Any, sync: bool = False, optimize_graph: bool = True, workers: Any = None,
                allow_other_workers: Any = False, resources: Any = None, retries: Any = 0, priority: int = 0,
                fifo_timeout: Any = "60s", actors: Any = None, traverse: bool = True, **_: Any) -> Any:
        """A future for the value of a collection, a list of them for several; `sync`: the values. What is no collection
        stays."""
        from penstock import dask as graphs
        self._check_open()
        options = self._annotations(workers, allow_other_workers, resources, retries, priority)
        several = isinstance(collections, (list, tuple, set, frozenset))
        given = list(collections) if several else [collections]
        if traverse:
            given = [dask.delayed(one) if type(one) in SHAPES else one for one in given]
        real = [one for one in given if dask.is_dask_collection(one)]
        made = iter(graphs.compute(self, real, False, optimize_graph, options) if real else [])
        found = [next(made) if dask.is_dask_collection(one) else one for one in given]
        return self._settled(found if several else found[0], sync)

    def _settled(self, found, sync):
        for future in futures_of([found]):
            self._be_known(future, future.key)
        return self.gather(found) if sync else found

    def persist(self, collections: Any, optimize_graph: bool = True, workers: Any = None,
                allow_other_workers: Any = None,
                resources: Any = None, retries: Any = None, priority: int = 0, fifo_timeout: Any = "60s",
                actors: Any = None,
                **_: Any) -> Any:
        """The same collections, with futures for their parts, which are computed from now on and kept on the
        cluster."""
        from penstock import dask as graphs
        options = self._annotations(workers, allow_other_workers, resources, retries, priority)
        several = isinstance(collections, (list, tuple, set, frozenset))
        given = list(collections) if several else [collections]
        kept = iter(graphs.persist(self, [one for one in given if dask.is_dask_collection(one)], optimize_graph,
                                   options))
        found = [next(kept) if dask.is_dask_collection(one) else one for one in given]
        return found if several else found[0]

    def _compute_collections(self, graph, keys, **options):
        """Stands as the scheduler in Dask's configuration."""
        persists = _defaults.persists(_defaults.calling_frame())
        if self._is_asynchronous and not persists:
            raise RuntimeError("Attempting to use an asynchronous Client in a synchronous context of dask.compute: "
                               "await client.compute(collection)")
        options.setdefault("sync", not persists)
        return self.get(graph, keys, **{**options, "asynchronous": False})

    def normalize_collection(self, collection: Any) -> Any:
        """The collection: what is computed is not looked for in it."""
        return collection

    # ---- what runs on workers ----

    def run(self, function: Any, *args: Any, workers: Any = None, wait: bool = True, nanny: bool = False,
            on_error: str = "raise", asynchronous: Optional[bool] = None, **kwargs: Any) -> Any:
        """Calls `function` in one process of each worker: {address of a worker: value}. A parameter `dask_worker` is
        given the `Worker`. `on_error`: "raise", "return" the exception, or "ignore" that worker."""
        if nanny:
            raise PenstockError("there is no nanny: a worker starts its runners itself", subject="run(nanny=True)",
                                remedy="run(nanny=False)")
        if on_error not in ("raise", "return", "ignore"):
            raise ValueError(f"on_error must be 'raise', 'return', or 'ignore', not {on_error!r}")
        program = program_of(_WithWorker(function))
        futures = {}
        for address, worker in self._workers_named(workers).items():
            options = self._options_of([worker["name"]], False, None, 0, 1 << 20)
            futures[address] = self._call(program, args, kwargs, f"run-{uuid.uuid4()}", options)
        if not wait:
            for future in futures.values():
                self._keep_until_ended(future)
            return self._answer(None, asynchronous)

        def bring():
            errors = {address: future._error_now(None) for address, future in futures.items()}
            first = next((error for error in errors.values() if error is not None), None)
            if first is not None and on_error == "raise":
                raise first
            return {address: future._value_now(None) if errors[address] is None else errors[address]
                    for address, future in futures.items() if errors[address] is None or on_error == "return"}
        return self._now_or_later(bring, list(futures.values()), asynchronous)

    def run_on_scheduler(self, function: Any, *args: Any, **kwargs: Any) -> Any:
        """Calls `function` in this process, which is that of an embedded cluster's supervisor; the scheduler of Dask,
        which it may ask for by `dask_scheduler`, there is none."""
        if "dask_scheduler" in _parameters(function):
            raise PenstockError("asks for dask_scheduler, the state of Dask's scheduler, which is not there",
                                subject="run_on_scheduler",
                                remedy="client.ask(QUESTION) has what the supervisor knows (docs/cli.md)")
        result = function(*args, **kwargs)
        if asyncio.iscoroutine(result):
            return result if self.asynchronous else self.sync(lambda: result)
        return self._answer(result, None)

    def upload_file(self, filename: Any, load: bool = True) -> Any:
        """From now on the file is where modules are looked for, in each call of this client."""
        path = os.fspath(filename)
        self._uploaded = [one for one in self._uploaded if os.path.basename(one) != os.path.basename(path)] + [path]
        self._command = self._command.other(files=self._uploaded)
        return self._answer({}, None)

    def register_plugin(self, plugin: Any, name: Optional[str] = None, idempotent: bool = False) -> Any:
        """A `WorkerPlugin`: `setup` is called in each process that runs calls of this client from now on, at its start,
        `teardown` at its end."""
        from penstock.distributed import _plugins
        return _plugins.register(self, plugin, name, idempotent)

    register_worker_plugin = register_plugin

    def unregister_worker_plugin(self, name: str, nanny: Any = None) -> Any:
        """Processes that start from now on are without it."""
        if self._setup.pop(name, None) is None:
            raise ValueError(f"The plugin {name} does not exist")
        self._renew_command()
        return self._answer({}, None)

    unregister_plugin = unregister_worker_plugin

    def register_worker_callbacks(self, setup: Any = None) -> Any:
        """`setup` is called in each process that runs calls of this client from now on."""
        from penstock.distributed import _plugins
        return self.register_plugin(_plugins.Callback(setup), name=f"callback-{funcname(setup)}-{uuid.uuid4().hex[:8]}")

    # ---- life ----

    def restart(self, timeout: Any = None, wait_for_workers: bool = True) -> Any:
        """Gives up all futures. An embedded cluster is started anew; one at an address stays as it is and is not
        restarted by one of its clients."""
        if self.address is not None:
            raise PenstockError("would end the work of other clients", subject=f"the cluster at {self.address}",
                                remedy="cancel your futures; restart workers where they were started")
        for future in self._submitted() + list(self._by_key.values()):
            future._let_go("cancelled")
            future._leave_batch()  # Its number is that of another job soon.
        _Client.close(self)
        self._by_key.clear()
        self._kept.clear()
        if isinstance(self.cluster, _cluster.EmbeddedCluster):
            self.cluster = None
        self._connect(None)
        return self._answer(self, None)

    def restart_workers(self, workers: Any, timeout: Any = None, raise_for_error: bool = True) -> Any:
        """Refused: see `restart`."""
        raise PenstockError("are restarted where they were started, not by a client", subject="workers",
                            remedy="`penstock drain WORKER`, then start another (docs/operations.md)")

    def close(self, timeout: Any = None) -> Any:
        """Ends it; futures that have no value yet are cancelled, and a cluster that it has started ends."""
        asynchronous = self.asynchronous
        self._close_now()
        return self._done_already() if asynchronous else None

    def _close_now(self):
        _defaults.remove(self)
        _Client.close(self)
        if self._owns_cluster and self.cluster is not None:
            self.cluster._end()
        self._end_loop()

    def shutdown(self) -> Any:
        """Ends it, and the cluster if it was started by this process."""
        self._owns_cluster = True
        return self.close()

    def as_current(self) -> Any:
        """Within the block this one is the default client."""
        return _defaults.as_current(self)

    @classmethod
    def current(cls, allow_global: bool = True) -> "Client":
        """The client of the call that runs here, else the default one."""
        from penstock.distributed._here import get_client
        return get_client()

    @property
    def status(self) -> str:
        """running or closed"""
        return "closed" if self.closed else "running"

    @property
    def futures(self) -> Dict[str, Future]:
        """Those that somebody holds, by their keys."""
        return dict(self._by_key)

    @property
    def name(self) -> str:
        """As it was given."""
        return self._name

    def futures_of(self, futures: Any) -> List[Future]:
        """See `penstock.distributed.futures_of`."""
        return futures_of(futures, self)

    def __repr__(self):
        where = self.address or f"embedded, {self._slots} slots"
        return f"<Client: {where if self._handle else 'closed'}>"

    # ---- inside ----

    def _call(self, program, args, kwargs, key, options):
        for given in (*args, *kwargs.values()):
            if isinstance(given, Future) and given.cancelled():
                raise CancelledError(f"{key}: its input {given.key} was cancelled")
        known = self._live(key)
        if known is not None:
            known._handed_out += 1
            return known
        return self._be_known(self._submit(program, args, kwargs, str(key), options), key)

    def _live(self, key):
        """The future of this key, if it has a value or will have one."""
        future = self._by_key.get(str(key))
        if future is None or future._dropped or future.cancelled():
            return None
        return future

    def _be_known(self, future, key):
        future._named = key
        self._by_key[str(key)] = future
        return future

    def _forget_key(self, future):
        if self._by_key.get(str(future.key)) is future:
            del self._by_key[str(future.key)]

    def _keep_until_ended(self, future):
        if not future.done():
            self._kept.add(future)
            penstock.Future.add_done_callback(future, self._kept.discard)

    def _options_of(self, workers, allow_other_workers, resources, retries, priority):
        return _graph.options_from(self._options, retries or 0, priority, resources,
                                   self._one_of(workers, allow_other_workers),
                                   0, 1.0, 0.0, True, self._command.other(), 0, "allow")

    def _annotations(self, workers, allow_other_workers, resources, retries, priority):
        """The same for a graph; what Dask may say for single keys goes by `dask.annotate`."""
        for name, value in (("workers", workers), ("resources", resources), ("retries", retries),
                            ("priority", priority)):
            if isinstance(value, dict) and name != "resources":
                raise PenstockError("is given for single keys", subject=name,
                                    remedy=f"build these under dask.annotate({name}=...)")
        return {"workers": self._one_of(workers, allow_other_workers), "resources": resources, "retries": retries or 0,
                "priority": priority}

    def _one_of(self, workers, allow_other_workers):
        """The name of one of these workers, in turns; None: any may run it."""
        if workers is None or allow_other_workers:
            return None
        known = self._workers_named(None)
        names = [worker["name"] for worker in self._workers_named(workers).values()]
        if len(names) == len(known) > 1:
            return None
        self._turn += 1
        return names[self._turn % len(names)]

    @staticmethod
    def _check_restriction(workers, allow_other_workers):
        if allow_other_workers not in (True, False, None):
            raise TypeError("allow_other_workers must be True or False")
        if allow_other_workers and workers is None:
            raise ValueError("Only use allow_other_workers= if using workers=")

    def _set_up_alias(self):
        from penstock.distributed import _alias
        if _alias.is_installed():
            self._setup["distributed"] = _alias.install

    def _environment(self):
        from penstock import _setup
        functions = list(self._setup.values())
        return {**self._variables, **({_setup.VARIABLE: _setup.variable_of(functions)} if functions else {})}

    def _renew_command(self):
        """What runners are started with has changed."""
        from penstock import _setup
        before = dict(self._command.variables)
        before.pop(_setup.VARIABLE, None)
        command = _graph.RunnerCommand(self._command.python, {**before, **self._environment()},
                                       self._command.working_directory, files=self._command.files)
        command.piece_bytes = self._command.piece_bytes
        self._command = command


class _WithWorker:
    """Calls a function, with the worker if that is asked for."""

    def __init__(self, function):
        self.function = function
        self.__name__ = f"run-{funcname(function)}"

    def __call__(self, *args, **kwargs):
        if "dask_worker" in _parameters(self.function):
            from penstock.distributed import get_worker
            kwargs["dask_worker"] = get_worker()
        return self.function(*args, **kwargs)


def _parameters(function):
    import inspect
    with contextlib.suppress(TypeError, ValueError):
        return inspect.signature(function).parameters
    return ()


def _refuse_security(security):
    if security:
        raise PenstockError("does not take the certificates of Dask", subject="security=",
                            remedy="TLS is configured for the whole "
                            "cluster, see docs/operations.md")


def _put(given, values):
    """The same with the values of futures in their places; without those that have none."""
    if isinstance(given, Future):
        return values.get(id(given))
    if type(given) is dict:
        return {name: _put(part, values) for name, part in given.items() if not _is_without(part, values)}
    if type(given) in SHAPES:
        return type(given)([_put(part, values) for part in given if not _is_without(part, values)])
    return given


def _is_without(part, values):
    return isinstance(part, Future) and id(part) not in values


def _as_lists(keys, found):
    """Values come in the lists in which the keys were."""
    return [_as_lists(key, one) for key, one in zip(keys, found)] if isinstance(keys, list) else found


def _named(keys, futures):
    return [_named(key, futures) for key in keys] if isinstance(keys, list) else futures[keys]
