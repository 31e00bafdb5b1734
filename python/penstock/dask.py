"""Dask collections on Penstock: `dask.config.set(scheduler=penstock.dask.get)`."""
# tidy: foreign-file task, tasks, scheduler, dependents
import contextlib
import functools
import threading
import uuid
from typing import Any, Callable, Dict, Iterable, Optional

import dask
from dask.highlevelgraph import HighLevelGraph
from dask.sizeof import sizeof
from dask.utils import ensure_dict

from penstock import _callbacks, _chains, _graph, _lineage, _locks, _losses, _nodes, _order, _reducers, _shuffles, _wire
from penstock._builder import Job
from penstock._batch import Batch, GraphCall, PastFuture
from penstock._client import Client, Path, Workers
from penstock._futures import Future, collecting
from penstock._programs import program_of
from penstock.errors import PenstockError, ResultLost, lost_loan

_shuffles.install()


def _reduce_memmap(array):
    from penstock import _memmaps  # Where there is one, there is numpy.
    return _memmaps.reduce(array)


_reducers.register_reducer("numpy.memmap", _reduce_memmap)

ANNOTATIONS = ("priority", "retries", "resources", "workers")
SEVERAL = (list, tuple, set, frozenset)
PROGRAMS_MAX = 2000  # Functions of a graph beyond these travel with their subtasks.
_lock = threading.Lock()
_default: Optional[Client] = None


def default_client() -> Client:
    """The client of those who name none: an embedded cluster, started when it is first needed."""
    global _default
    with _lock:
        if _default is None or _default._closing:
            _default = Client()
        return _default


def set_default_client(client: Optional[Client]) -> None:
    """From now on `get` uses this one."""
    global _default
    with _lock:
        _default = client


def get(graph: Any, keys: Any, client: Optional[Client] = None, priority: int = 0, retries: int = 0,
        resources: Optional[Dict[str, float]] = None, workers: Workers = None, name: Optional[str] = None,
        optimize: Optional[Callable[[Any, list], Any]] = None, files: Optional[Iterable[Path]] = None,
        environment: Optional[Dict[str, str]] = None, python: Optional[str] = None,
        working_directory: Optional[Path] = None, **_) -> Any:
    """Computes `keys` (one, or lists of them, however deep) of a Dask graph. Only what they need is run. Annotations of
    layers and those that are set around the call win over `priority`, `retries`, `resources` and `workers`. Keys that
    follow each other alone become one subtask, unless Dask's `optimization.fuse.active` is False. `optimize(graph, keys)`
    returns the graph that is run instead; `files`, ... `working_directory` are as in `Client.submit`."""
    client = client or default_client()
    client._check_open()
    if not keys and isinstance(keys, list):
        return ()
    annotations = annotations_of(graph)
    if optimize is not None:
        graph = optimize(graph_of(graph), list(leaves(keys)))
        annotations.update(annotations_of(graph))
    command = client._command.other(files, environment, python, working_directory)
    wanted = list(dict.fromkeys(leaves(keys)))
    defaults = {"priority": priority, "retries": retries, "resources": resources, "workers": workers}
    found = ensure_dict(graph_of(graph)), annotations, defaults
    with _callbacks.told(found[0]) as told:
        return nested(keys, _values_of(client, command, found, wanted, name, told))


def _values_of(client, command, found, wanted, name, told):
    """{key: value}. `told`: who wants to know of each key that ends, or None."""
    values: Dict[Any, Any] = {}
    for again in range(_losses.MADE_AGAIN_MAX + 1):
        # What a worker had that has died since the job ended is computed again: as a job without a name, which is over.
        missing = [key for key in wanted if key not in values]
        conversion = _Conversion(client, command, *found)
        conversion.told = told
        try:
            _run(client, conversion, missing, name if not again else None, values)
        except ResultLost as error:
            # Under its name it would be the same job again.
            if name is not None or not _losses.regain(client, conversion.columns.borrowed.get(lost_loan(error))):
                raise
        if len(values) == len(wanted):
            return values
    raise ResultLost(f"was lost {_losses.MADE_AGAIN_MAX + 1} times after it had been computed",
                     subject=str(next(key for key in wanted if key not in values)))


def _run(client, conversion, wanted, name, values):
    """Computes these keys as one job; puts into `values` those that are not lost by the time they are brought."""
    numbers = conversion.convert(wanted)
    columns, told = conversion.columns, conversion.told
    brought = list(dict.fromkeys(numbers))
    columns.want(range(len(columns)) if told is not None and told.wants_values else brought)
    with client._lock:
        submitted = client._submit_columns(columns, name=name)
        if told is not None:
            client._watched[submitted.job] = told.news.put
    running = Job(client, submitted.job, name or "dask", None, len(numbers), submitted)
    try:
        if told is not None:
            told.begin(conversion.numbers, (columns.input_offsets, columns.predecessors))
            told.follow(running)
        running.result()
        try:
            values.update(zip(wanted, running.fetch(numbers)))
        except ResultLost:
            for key, number in zip(wanted, numbers):
                with contextlib.suppress(ResultLost):
                    values[key] = running.fetch([number])[0]
    except KeyboardInterrupt:
        if running.ours:
            running.cancel()
        raise
    finally:
        client._watched.pop(submitted.job, None)
        running.close()


class _Captured(Exception):
    """What Dask would have computed."""


def compute(client: Client, given: Any, sync: bool, optimize_graph: bool, options: Dict[str, Any]) -> Any:
    """See `Client.compute`."""
    # Equal ones are one for Dask, too.
    collections, repack = dask.base.unpack_collections(*_collections_of(given), traverse=False)

    def capture(graph, keys, **_):
        raise _Captured(graph, keys)
    try:
        dask.compute(*collections, scheduler=capture, traverse=False, optimize_graph=optimize_graph)
    except _Captured as captured:
        graph, keys = captured.args
    whole = _Whole(client, graph, options)
    if not hasattr(dask.base, "collections_to_expr"):  # Until 2025 what makes a value of the parts was no part of the graph.
        parts, keys = keys, []
        for collection, those in zip(collections, parts):
            function, arguments = collection.__dask_postcompute__()
            keys.append(("finalize", uuid.uuid4().hex))
            whole.graph[keys[-1]] = (_Finalize(function, arguments), those)
    known = whole.start(keys)
    futures = [known[key] for key in keys]
    found = list(repack(futures)) if isinstance(given, SEVERAL) else futures[0]
    return client.gather(found) if sync else found


def persist(client: Client, given: Any, optimize_graph: bool, options: Dict[str, Any]) -> Any:
    """See `Client.persist`."""
    collections = _collections_of(given)

    def start(graph, keys, **_):
        futures = _Whole(client, graph, options).start(keys)
        return [futures[key] for key in keys]
    kept = dask.persist(*collections, scheduler=start, traverse=False, optimize_graph=optimize_graph)
    return list(kept) if isinstance(given, SEVERAL) else kept[0]


def _collections_of(given):
    collections = list(given) if isinstance(given, SEVERAL) else [given]
    for collection in collections:
        if not dask.is_dask_collection(collection):
            raise TypeError(f"{collection!r} is no Dask collection; a function is called by `submit`")
    return collections


class _Finalize:
    """Makes the value of a collection of those of its parts."""

    __name__ = "finalize"

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    def __call__(self, parts):
        return self.function(parts, *self.arguments)


def _future_of(task):
    """The future that is the whole task; None: it is something else."""
    value = task.value if isinstance(task, _nodes.LITERAL) else task
    return value if isinstance(value, Future) else None


class _Whole:
    """A graph whose values stay on the cluster, as the futures of its wanted keys say."""

    def __init__(self, client, graph, options):
        unknown = sorted(set(options) - set(ANNOTATIONS))
        if unknown:
            raise TypeError(f"there is no option {unknown[0]!r}; there are {', '.join(ANNOTATIONS)}")
        client._check_open()
        self.client, self.annotations = client, annotations_of(graph)
        self.defaults = {**dict.fromkeys(ANNOTATIONS), **options}
        self.graph = dict(ensure_dict(graph_of(graph)))
        self.given = [key for key, task in self.graph.items() if _future_of(task) is not None]

    def forget_values(self):
        """The first of its calls has ended. Each of the others holds what it reads."""
        given, self.given = self.given, []
        for key in given:
            recipe = _lineage.recipe_of(_future_of(self.graph[key]))
            if recipe is not None:
                self.graph[key] = PastFuture(recipe)

    def start(self, keys):
        """{key: future}; keys that are one subtask have one."""
        conversion, numbers = self.convert(keys)
        futures = {}
        for key, number in zip(keys, numbers):
            if number not in futures:
                future = futures[number] = self.client._future_kind(self.client, str(key))
                future._call = GraphCall(future, self, key, conversion.read)
        with self.client._lock:
            self.client._check_open()
            if conversion.awaited:
                self.client._hold([future._call for future in futures.values()], conversion.awaited)
            else:
                self.send(conversion, futures)
        return {key: futures[number] for key, number in zip(keys, numbers)}

    def convert(self, keys):
        conversion = _Conversion(self.client, self.client._command, self.graph, self.annotations, self.defaults, True)
        return conversion, conversion.convert(list(keys))

    def send_again(self, futures):
        """Those keys that have waited for their inputs, or were lost. REQUIRES: the caller holds the client's lock."""
        try:
            conversion, numbers = self.convert([future._call.key for future in futures])
        except Exception as error:
            for future in futures:
                future._fail(error)
            return
        self.send(conversion, dict(zip(numbers, futures)))

    def send(self, conversion, futures):
        columns = conversion.columns
        columns.want(futures)
        batch = Batch(self.client, [futures.get(number) for number in range(len(columns))])
        batch.is_whole = True
        batch.borrowed, batch.edges = columns.borrowed, (columns.input_offsets, columns.predecessors)
        for number, future in futures.items():
            batch.inputs[number] = conversion.read
            future._call.inputs, future._call.unsent = conversion.read, None
            future._be_of(batch, number)
        self.client._submit_batch(columns, batch, futures)


def graph_of(given):
    """What is a mapping; since 2025 Dask hands over an expression, which makes its graph when it is asked."""
    return given.__dask_graph__() if not hasattr(given, "layers") and hasattr(given, "__dask_graph__") else given


def leaves(keys):
    """The keys in lists, however deep; tuples are keys."""
    if not isinstance(keys, list):
        return [keys]
    if not any(isinstance(key, list) for key in keys):
        return keys
    return [leaf for key in keys for leaf in leaves(key)]


def nested(keys, values):
    if isinstance(keys, list):
        return tuple([nested(key, values) if isinstance(key, list) else values[key] for key in keys])
    return values[keys]


def _annotations_around():
    """What `dask.annotate` has set here: of a context of its own in newer versions of Dask, of the configuration in older."""
    if hasattr(dask, "get_annotations"):
        return dask.get_annotations()
    return dask.config.get("annotations", None) or {}


def annotations_of(graph):
    """{key: annotations} of the layers that have some, and what is set around the call under None."""
    found = {}
    around = {key: value for key, value in _annotations_around().items() if key in ANNOTATIONS}
    if around:
        found[None] = around
    if isinstance(graph, HighLevelGraph):
        for layer in graph.layers.values():
            ours = {key: value for key, value in (layer.annotations or {}).items() if key in ANNOTATIONS}
            if ours:
                for key in layer.get_output_keys():
                    found[key] = ours
    elif hasattr(graph, "__dask_annotations__"):
        for name, values in graph.__dask_annotations__().items():
            if name in ANNOTATIONS:
                for key, value in values.items():
                    found.setdefault(key, {})[name] = value
    return found


def _is_literal(task):
    """Whether it goes as it is: one of Dask's, or a chunk of an array that is here."""
    return isinstance(task, _nodes.LITERAL) or (
        not isinstance(task, (list, tuple, str, _nodes.NODE)) and sizeof(task) >= _graph.LARGE_BYTES)


def refuse_files_of_one_host(function):
    """Partd's: workers elsewhere do not see them, and a subtask that runs again appends its rows once more."""
    while isinstance(function, functools.partial):
        function = function.func
    kind = function if isinstance(function, type) else type(function)
    if kind.__name__ == "maybe_buffered_partd" or (kind.__module__ or "").partition(".")[0] == "partd":
        raise PenstockError(
            "goes through files of one host: rows would be lost on several, and doubled when a runner dies",
            subject="a shuffle by 'disk'", remedy="shuffle by 'tasks', the default where dask.config.set(scheduler=penstock.dask.get) is said before; where "
            '\'disk\' is set: dask.config.set({"dataframe.shuffle.method": "tasks"})')


def _call(function, *arguments, **keywords):
    return function(*arguments, **keywords)


class _Given:
    """A subtask that is no key of the graph: large bytes of arguments, a piece of some, or the value of a future."""

    __slots__ = ("content",)

    def __init__(self, content):
        self.content = content


class _Conversion:
    """One graph on its way: each Dask key becomes a subtask, the call at its top the template, its arguments the
    payload."""

    def __init__(self, client, command, graph, annotations, defaults, stays=False):
        self.client, self.graph, self.annotations = client, graph, annotations
        self.told = None    # Who wants to know of each key that ends: then none are joined.
        self.stays = stays  # Its values stay on the cluster, and it waits for nothing: futures to be waited for are noted.
        self.read, self.awaited = [], []  # Futures in it; those of them that have not ended.
        self.columns = _graph.GraphColumns(command)
        self.defaults, self.options = defaults, {}
        self.plain = self.options_of(None)
        self.numbers = {}   # Key: number of its subtask, given out before it is converted.
        self.order = []     # Keys, and what is given, by number.
        self.inputs = {}    # Of the subtask that is being converted: number of an input, its place.
        self.collecting = collecting(self.place_of)
        self.templates = {}
        self.functions = {}  # Of a template that Python runs: its function and options.
        self.kept = []      # Functions whose identity is a key here.
        self.contents = {}  # Programs by content, for functions that are made anew for each subtask.
        self.given = {}     # Futures, and large bytes of arguments by content: their subtasks.

    def convert(self, keys):
        for key in keys:
            if key not in self.graph:
                raise KeyError(key)
            self.number_of(key)
        at = 0
        order, graph = self.order, self.graph
        while at < len(order):
            key = order[at]
            if type(key) is _Given:
                self.give(key.content)
            else:
                self.convert_one(key, graph[key])
            at += 1
        numbers = [self.numbers[key] for key in keys]
        if self.columns.predecessors and self.told is None and dask.config.get("optimization.fuse.active", None) is not False:
            numbers = self.join_chains(numbers)
        if self.columns.command.files is not None:
            self.give_files()
        self.put_in_order(numbers)
        return numbers

    def join_chains(self, wanted):
        functions, columns = self.functions, self.columns

        def may_join(first, second):
            return first in functions and second in functions and functions[first][1].key == functions[second][1].key

        def template_of(templates):
            if len(functions) >= PROGRAMS_MAX:
                return None
            chain = _chains.Chain([functions[number][0] for number in templates])
            return self.add_template(chain, _wire.pack_program(chain), functions[templates[-1]][1])
        numbers = _chains.join(columns, wanted, may_join, template_of)
        if numbers is None:
            return wanted
        self.columns.borrowed = {numbers[number]: lent for number, lent in self.columns.borrowed.items()}
        return [numbers[number] for number in wanted]

    def give_files(self):
        """Each call reads the files, too: what comes after the last subtask."""
        columns, command = self.columns, self.columns.command
        templates, offsets, predecessors, payloads, priorities = columns.restart()
        natives = set(columns.natives.values())
        for number, template in enumerate(templates):
            inputs, payload = predecessors[offsets[number]:offsets[number + 1]], payloads[number]
            if template not in natives:
                payload = command.with_files(payload, len(inputs))
                inputs.append(len(templates))
            columns.add(template, payload, inputs, priorities[number])
        columns.literal(command.files.shared.datum)

    def add_template(self, function, program, options):
        number = self.columns.add_template(_wire.name_of(function), program, options)
        self.functions[number] = function, options
        return number

    def put_in_order(self, wanted):
        """By the memory that it takes; a graph without edges is in order as it is."""
        columns = self.columns
        if not columns.predecessors:
            return
        places = _order.depth_first(columns.input_offsets, columns.predecessors, wanted)
        if places is not None:  # Else the supervisor says what is wrong with it.
            columns.priorities = _order.priorities_of(places, columns.priorities)

    def number_of(self, key):
        number = self.numbers.get(key)
        if number is None:
            target = _nodes.target_of(self.graph, key) if _nodes.ALIAS else key
            number = self.numbers.get(target)
            if number is None:
                number = self.numbers[target] = len(self.order)
                self.order.append(target)
            self.numbers[key] = number
        return number

    def input_of(self, key):
        """Stands in the payload for the output of another."""
        return _wire.Input(self.inputs.setdefault(self.number_of(key), len(self.inputs)))

    def place_of(self, content):
        """Which input of the present subtask a future is, or what has large bytes."""
        number = self.given.get(content)
        if number is None:
            number = self.given[content] = self.put_in(content)
        return self.inputs.setdefault(number, len(self.inputs))

    def put_in(self, content):
        self.order.append(_Given(content))
        return len(self.order) - 1

    def give(self, content):
        if isinstance(content, Future):
            self.give_future(content)
        else:
            self.give_datum(content)

    def give_future(self, future):
        self.read.append(future)
        if not self.stays or future.done():
            future._lend_to(self.columns, self.client)
        else:
            self.awaited.append(future)
            self.columns.piece(b"")  # In its place: the graph will be converted once more.

    def give_datum(self, datum):
        pieces = self.columns.pieces(datum)
        if len(pieces) == 1:
            return self.columns.piece(datum)
        return self.columns.put_together([self.put_in(piece) for piece in pieces])

    def convert_one(self, key, task):
        self.inputs, keywords = {}, {}
        if type(task) is tuple and task and callable(task[0]):
            function, arguments = task[0], tuple([self.argument(part) for part in task[1:]])
        elif isinstance(task, Future):
            return self.give_future(task)
        elif type(task) is PastFuture:
            return self.give_future(task.future())
        elif _is_literal(task):
            value = task.value if isinstance(task, _nodes.LITERAL) else task
            with self.collecting, _locks.leaving():
                datum = _wire.pack(value, str(key))
            if not self.inputs:
                return self.give_datum(datum)
            function, arguments = _nodes.itself, (value,)  # There are futures in it.
        elif isinstance(task, _nodes.NODE):
            function, arguments, keywords = _nodes.call_of(task, self.input_of)
        else:
            function, arguments = _nodes.itself, (self.argument(task, key),)
        options = self.options_of(key) if self.annotations else self.plain
        template, arguments = self.template_of(function, arguments, options)
        payload = b""
        if arguments or keywords:
            with self.collecting, _locks.leaving():
                payload = _graph.pack_arguments(arguments, keywords, str(key), self.place_of)
        self.columns.add(template, payload, list(self.inputs), options.priority)

    # Lists are looked into, tuples only as keys or calls: as Dask has it.
    def argument(self, part, itself=None):
        kind = type(part)
        if kind in (float, bool, type(None)):
            return part
        if kind is list:
            return [self.argument(one) for one in part]
        if kind is tuple and part and callable(part[0]):
            return _nodes.Apply(part[0], tuple([self.argument(one) for one in part[1:]]))
        if isinstance(part, (_nodes.NODE, _nodes.REFERENCE)):
            return _nodes.value_of(part, self.input_of)
        try:
            known = part in self.graph
        except TypeError:
            return part
        if not known:
            return part
        if itself is not None and part == itself:
            return part
        return self.input_of(part)

    def template_of(self, function, arguments, options):
        number = self.templates.get((id(function), options.key))
        if number is not None:
            return number, arguments
        refuse_files_of_one_host(function)
        if len(self.contents) >= PROGRAMS_MAX:
            return self.template_of(_call, (function, *arguments), options) if function is not _call else (
                self.columns.template(program_of(_call), options), arguments)
        with _locks.leaving():
            program = _wire.pack_program(function)
        number = self.contents.get((program, options.key))
        if number is None:
            number = self.add_template(function, program, options)
            self.contents[program, options.key] = number
        self.kept.append(function)
        self.templates[id(function), options.key] = number
        return number, arguments

    def options_of(self, key):
        said = dict(self.defaults)
        said.update(self.annotations.get(None, {}))
        said.update(self.annotations.get(key, {}) if key is not None else {})
        said = {name: value_for(key, value) if name != "resources" else value for name, value in said.items()}
        known = tuple(sorted((name, repr(value)) for name, value in said.items()))
        options = self.options.get(known)
        if options is None:
            try:
                options = _graph.Options(said["retries"] or 0, said["priority"] or 0, said["resources"], said["workers"],
                                         keep_going=self.stays)
            except (TypeError, ValueError) as error:
                raise type(error)(f"annotation of {key!r}: {error}" if key is not None else str(error)) from None
            options.key = options.key[:1] + (0,) + options.key[2:]  # The priority goes with the subtask.
            self.options[known] = options
        return options


def value_for(key, value):
    """An annotation may be a function of the key, or say each key's own."""
    if callable(value):
        return value(key) if key is not None else None
    if isinstance(value, dict):
        return value.get(key, value.get(str(key)))
    return value

