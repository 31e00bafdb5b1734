"""A graph of Xorbits' subtasks on its way to the cluster: one job, whose results stay there as futures."""
import threading
import weakref
from typing import Any, Callable, Dict, Iterable, List

from penstock import _graph, _lineage, _losses, _order, _wire
from penstock._batch import Batch, GraphCall, PastFuture
from penstock._futures import Future
from penstock._programs import program_of
from penstock.errors import ConnectionFailed, ResultLost
from penstock.xorbits._execute import Described, execute_subtask
from penstock.xorbits._plan import Plan, Source

SEED = "PYTHONHASHSEED"


class ChunkFuture(Future):
    """The value of one chunk. What was brought here of it does not stay: users write to what they have fetched."""

    __slots__ = ("described_at",)

    def _keep(self, value, batch):
        pass


class Stage:
    """The nodes of a `Plan` with the futures of its results; see `penstock.dask._Whole`, which does the same for Dask."""

    def __init__(self, client: Any, plan: Plan, options: Dict[str, Any]):
        self.client, self.nodes, self.kept = client, plan.nodes, plan.kept
        self._options, self._known = options, {}
        self._batch: Any = None  # The job as it was sent first, weakly.
        self._prepared: Any = None
        self.total = 0

    def prepare(self) -> Dict[str, ChunkFuture]:
        """The futures of the results, by their keys; `start` sends it."""
        conversion, futures = _Conversion(self, list(self.kept)), {}
        for key in self.kept:
            future = futures[key] = ChunkFuture(self.client, f"chunk {key}")
            future._call = GraphCall(future, self, key, conversion.read)
        self._prepared = conversion, list(futures.values())
        return futures

    def start(self) -> None:
        """Sends what was prepared."""
        (conversion, futures), self._prepared = self._prepared, None
        with self.client._lock:
            self.client._check_open()
            if conversion.awaited:
                self.client._hold([future._call for future in futures], conversion.awaited)
            else:
                self._send(conversion, futures)

    def send_again(self, futures: List[ChunkFuture]) -> None:
        """Those that have waited for their inputs, or were lost. REQUIRES: the caller holds the client's lock."""
        try:
            conversion = _Conversion(self, [future._call.key for future in futures])
        except Exception as error:
            for future in futures:
                future._fail(error)
            return
        self._send(conversion, futures)

    def forget_values(self) -> None:
        """The first of its calls has ended. Each of the others holds what it reads."""
        for node in self.nodes:
            for sources in (node.inputs, node.after):
                for place, source in enumerate(sources):
                    if isinstance(source, Future):
                        sources[place] = PastFuture(_lineage.recipe_of(source))

    def _send(self, conversion, futures):
        columns = conversion.columns
        numbered = {conversion.numbers[future._call.key]: future for future in futures}
        columns.want([*numbered, *conversion.describing])
        batch = Batch(self.client, [numbered.get(number) for number in range(len(columns))])
        batch.is_whole = True
        batch.borrowed, batch.edges = columns.borrowed, (columns.input_offsets, columns.predecessors)
        for number, future in numbered.items():
            batch.inputs[number] = conversion.read
            future._call.inputs, future._call.unsent = conversion.read, None
            future.described_at = conversion.described_at[future._call.key]
            future._be_of(batch, number)
        if self._batch is None:
            self._batch, self.total = weakref.ref(batch), len(columns)
        self.client._submit_batch(columns, batch, numbered)

    def cancel(self) -> None:
        """Ends its job; its futures are cancelled."""
        batch = None if self._batch is None else self._batch()
        if batch is not None and batch.job >= 0 and not self.client.closed:
            with self.client._connection as handle:
                self.client._library.cancel(handle, batch.job)

    def succeeded_part(self) -> float:
        """Of its subtasks, from 0 to 1."""
        batch = None if self._batch is None else self._batch()
        if batch is None or batch.job < 0 or self.client.closed:
            return 0.0
        counts = _graph._abi.Counts()
        with self.client._connection as handle:
            self.client._library.job_counts(handle, batch.job, counts)
        return counts.succeeded / max(1, self.total)

    def options_of(self, node: Any) -> Any:
        """How its call is to be run."""
        known = self._known.get((node.gpu, node.worker, node.outputs))
        if known is None:
            resources = dict(self._options.get("resources") or {}, **({_graph.GPU: 1} if node.gpu else {}))
            given = {**self._options, "resources": resources, "worker": node.worker}
            known = _graph.Options(keep_going=True, **given).with_outputs(node.outputs)
            self._known[node.gpu, node.worker, node.outputs] = known
        return known


def command_of(client: Any) -> Any:
    """The program of the runners: with one seed of Python's hashes for all, by which operands divide what they shuffle.
    Xorbits' own processes have one since they are forked."""
    command = client._command
    return command.other(environment=None if SEED in command.variables else {SEED: "0"})


class _Conversion:
    """The subtasks of Penstock that lead to some results of a stage."""

    def __init__(self, stage, keys):
        self.stage, self.client = stage, stage.client
        self.columns = _graph.GraphColumns(command_of(stage.client))
        self.read, self.awaited = [], []        # Futures in it; those of them that have not ended.
        self.numbers: Dict[str, int] = {}       # Of keys: the subtask whose first output is the value.
        self.described_at: Dict[str, Any] = {}  # The subtask and its output that tell of it.
        self.describing: List[int] = []         # Subtasks that only do that.
        self._nodes: Dict[int, int] = {}
        self._lent: Dict[int, int] = {}         # Futures by their ids.
        self._program = program_of(execute_subtask)
        needed = self._needed({stage.kept[key].node for key in keys})
        for number in sorted(needed):
            self._nodes[number] = self._add(stage.nodes[number])
        for number in sorted({stage.kept[key].node for key in keys}):
            self._keep(number, [key for key in keys if stage.kept[key].node == number])
        self._put_in_order()

    def _needed(self, wanted):
        needed, left = set(wanted), list(wanted)
        while left:
            node = self.stage.nodes[left.pop()]
            for source in (*node.inputs, *node.after):
                if isinstance(source, Source) and source.node not in needed:
                    needed.add(source.node)
                    left.append(source.node)
        return needed

    def _add(self, node):
        """The subtask of a node whose inputs were added before."""
        inputs, outputs = [], []
        for source in node.inputs:
            is_here = isinstance(source, Source)
            inputs.append(self._nodes[source.node] if is_here else self._lend(source))
            outputs.append(source.output if is_here else 0)
        places = range(len(inputs))

        def place_of(datum):
            inputs.append(self.columns.literal(datum))
            outputs.append(0)
            return len(inputs) - 1
        arguments = (node.graph, node.work, *map(_wire.Input, places))
        payload = _graph.pack_arguments(arguments, {}, node.name, place_of)
        after = [self._nodes[source.node] if isinstance(source, Source) else self._lend(source) for source in node.after]
        options = self.stage.options_of(node)
        return self.columns.add(self._template(node, options), payload, inputs, node.priority, dict.fromkeys(after), outputs)

    def _template(self, node, options):
        """One for each kind of subtask, so that its name says what it does."""
        key = node.name, options.key
        number = self.columns.templates.get(key)
        if number is None:
            number = self.columns.templates[key] = self.columns.add_template(node.name, self._program.content, options)
        return number

    def _lend(self, source):
        """The subtask that has the value of a future of an earlier graph."""
        future = source.future() if isinstance(source, PastFuture) else source
        number = self._lent.get(id(future))
        if number is None:
            self.read.append(future)
            if future.done():
                number = future._lend_to(self.columns, self.client)
            else:
                self.awaited.append(future)
                number = self.columns.piece(b"")  # In its place: the graph will be converted once more.
            self._lent[id(future)] = number
        return number

    def _keep(self, node_number, keys):
        node, number = self.stage.nodes[node_number], self._nodes[node_number]
        last = node.outputs - 1
        if node.is_plain:
            self.numbers[keys[0]], self.described_at[keys[0]] = number, (number, last)
            return
        passing = self.columns.native("pass")
        describing = self.columns.add(passing, b"", [number], node.priority, outputs=[last])
        self.describing.append(describing)
        for key in keys:
            output = self.stage.kept[key].output
            # A reader that hears of the value may ask at once what is told of it.
            self.numbers[key] = self.columns.add(passing, b"", [number], node.priority, [describing], [output])
            self.described_at[key] = describing, 0

    def _put_in_order(self):
        columns = self.columns
        if columns.predecessors:
            wanted = [*self.numbers.values(), *self.describing]
            places = _order.depth_first(columns.input_offsets, columns.predecessors, wanted)
            columns.priorities = _order.priorities_of(places, columns.priorities)


class Ended:
    """Tells once, on any thread, that all of some futures have succeeded, or that one has not."""

    def __init__(self, futures: Iterable[ChunkFuture], tell: Callable[[], None]):
        self._lock, self._tell, self._told = threading.Lock(), tell, False
        futures = list(futures)
        self._left = len(futures)
        self.failed: Any = None  # The first future without a value.
        if not futures:
            self._tell()
        for future in futures:
            future.add_done_callback(self._one_more)

    def _one_more(self, future):
        has_failed = future.cancelled() or future._exception is not None
        with self._lock:
            self._left -= 1
            if has_failed and self.failed is None:
                self.failed = future
            tells = not self._told and (self._left == 0 or self.failed is not None)
            self._told |= tells
        if tells:
            self._tell()


def descriptions_of(client: Any, futures: Dict[str, ChunkFuture]) -> Dict[str, Described]:
    """What is told of the chunks of these futures, which have succeeded. What is lost meanwhile is made again."""
    for again in range(_losses.MADE_AGAIN_MAX + 1):
        try:
            return _bring_descriptions(client, futures)
        except (ResultLost, ConnectionFailed):
            if again == _losses.MADE_AGAIN_MAX or _losses.make_lost_again(client, list(futures.values())) is None:
                raise
            for future in futures.values():
                Future.result(future)
    raise AssertionError


def _bring_descriptions(client, futures):
    wanted: Dict[Any, Dict[int, Dict[int, None]]] = {}
    for future in futures.values():
        number, output = future.described_at
        wanted.setdefault(future._batch, {}).setdefault(output, {})[number] = None
    told: Dict[str, Described] = {}
    for batch, outputs in wanted.items():
        if batch is None:
            raise ResultLost("was released", subject="a chunk")
        for output, numbers in outputs.items():
            owner, places = client._fetch(batch.job, list(numbers), output)
            for at, (address, size) in enumerate(places):
                told.update(client._value(at, address, size, owner, "the description of a chunk"))
    return told
