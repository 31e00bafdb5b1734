"""Runs on workers: one subtask of Xorbits, a graph of chunks, from the values that it reads to those that it makes."""
import pickle
from typing import Any, Dict, List, NamedTuple, Sequence, Tuple

from xoscar.serialization import deserialize, serialize


class Packed:
    """An object in Xorbits' own serialization, whose buffers travel beside the pickle that has it."""

    __slots__ = ("head", "buffers")

    def __init__(self, value: Any):
        self.head, self.buffers = serialize(value)

    def __reduce__(self):
        return unpacked, (self.head, list(map(pickle.PickleBuffer, self.buffers)))


def unpacked(head: Any, buffers: List[Any]) -> Any:
    """Called by the unpickler of a payload: the object of a `Packed`."""
    return deserialize(head, [buffer if isinstance(buffer, bytes) else memoryview(buffer) for buffer in buffers])


class Absent:
    """In place of a block that a mapper has not made for a reducer."""

    def __reduce__(self):
        return Absent, ()


class Part(NamedTuple):
    """Names a datum that is one of several in an output."""

    key: Any
    place: int


class Described(NamedTuple):
    """What is told of a chunk without its value: its parameters (shape, dtype, index, ...), and the bytes that it takes."""

    params: Dict[str, Any]
    nbytes: int


class Work(NamedTuple):
    """What a subtask is to do, apart from its graph and the values that it reads. A datum is named by the key of its
    chunk, or by that of a mapper and the index of a reducer."""

    session: Tuple[str, str]      #: Its name, and the address of Xorbits' supervisor.
    reads: Sequence[Any]          #: The values that it reads, in their order.
    unread: Sequence[str]         #: Chunks that it only waits for.
    makes: Sequence[Any]          #: Its outputs, in their order; a list is one output of several data.
    describes: Sequence[str]      #: Chunks that the last output tells of; none: there is no such output.
    engines: Sequence[str]        #: Xorbits' runtime optimizers that are used.


def execute_subtask(graph: Any, work: Work, *values: Any) -> Any:
    """The outputs of a subtask: its value, or the list of them if it has several."""
    from xorbits._mars.core import enter_mode
    from xorbits._mars.optimization.physical import optimize

    from penstock.xorbits._run import RunContext
    context = RunContext(*work.session)
    for name, value in zip(work.reads, values):
        if isinstance(name, Part):
            name, value = name.key, value[name.place]
        if not isinstance(value, Absent):
            context[name] = value
    context.update(dict.fromkeys(work.unread))
    value = values = None
    graph = optimize(graph, work.engines)
    with enter_mode(build=False, kernel=True), context:
        _execute_graph(context, graph)
        outputs = _outputs_of(context, graph, work)
    return outputs[0] if len(outputs) == 1 else outputs


def _execute_graph(context, graph):
    """Values that no operand reads any more are let go, unless they are results."""
    from xorbits._mars.core.operand import execute
    readers = {chunk.key: 0 for chunk in graph}
    for chunk in graph:
        readers[chunk.key] += graph.count_successors(chunk)
    for chunk in graph.result_chunks:
        readers[chunk.key] += 1
    for chunk in graph.topological_iter():
        if chunk.key not in context:
            context.set_current_chunk(chunk)
            execute(context, chunk.op)
        for before in graph.iter_predecessors(chunk):
            readers[before.key] -= 1
            if readers[before.key] == 0:
                context.pop(before.key, None)


def _outputs_of(context, graph, work):
    from xorbits._mars.services.subtask.utils import iter_output_data
    made = {name: data for name, data, _ in iter_output_data(graph, context)}  # Parameters are brought up to date as well.
    outputs = []
    for name in work.makes:
        if isinstance(name, list):
            outputs.append([made.get(one, Absent()) for one in name])
        else:
            outputs.append(made.get(name, Absent()) if isinstance(name, tuple) else made[name])
    if work.describes:
        outputs.append(_described(graph, work.describes, made))
    return outputs or [None]


def _described(graph, keys, made):
    """{key of a chunk: `Described`}"""
    from xorbits._mars.core.operand import Fuse
    from xorbits._mars.utils import calc_data_size, get_chunk_params
    wanted, told = set(keys), {}
    for chunk in graph.result_chunks:
        if chunk.key in wanted and chunk.key not in told:
            inner = chunk.chunk if isinstance(chunk.op, Fuse) else chunk
            told[chunk.key] = Described(get_chunk_params(inner), calc_data_size(made[chunk.key]))
    return told


def select(value: Any, indexes: Sequence[Any]) -> Any:
    """A part of a chunk, for a fetch that asks for no more."""
    return value.iloc[tuple(indexes)] if hasattr(value, "iloc") else value[tuple(indexes)]


def warm() -> None:
    """Loads the modules that subtasks need."""
    import xorbits._mars.dataframe
    import xorbits._mars.deploy.oscar.session
    import xorbits._mars.optimization.physical
    import xorbits._mars.tensor  # noqa: F401

    import penstock.xorbits._run  # noqa: F401
