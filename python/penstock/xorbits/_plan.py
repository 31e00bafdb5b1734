"""What a graph of Xorbits' subtasks means: which data each reads and makes, and where the others are."""
from typing import Any, Dict, Iterable, List, NamedTuple, Optional, Sequence, Set, Tuple

from xorbits._mars.core.operand import Fetch, FetchShuffle, VirtualOperand

from penstock.xorbits._execute import Packed, Part, Work

BLOCKS_MAX = 500  # Of one mapper, each an output of its own; beyond, several are one output.


class Source(NamedTuple):
    """Where a datum is made: by which node, as which output, and at which place in that if it is one of several."""

    node: int
    output: int
    place: Optional[int] = None


class Node:
    """A subtask of Xorbits as a call. `inputs` and `after` are `Source`s, or futures of earlier graphs."""

    __slots__ = ("name", "graph", "work", "inputs", "after", "keeps", "priority", "gpu", "worker")

    def __init__(self, name: str, graph: Packed, work: Work, inputs: List[Any], after: List[Any], keeps: Sequence[str],
                 priority: int, gpu: bool, worker: Optional[str]):
        self.name, self.graph, self.work, self.inputs, self.after = name, graph, work, inputs, after
        self.keeps, self.priority, self.gpu, self.worker = keeps, priority, gpu, worker

    @property
    def outputs(self) -> int:
        """How many it has, with that which describes."""
        return max(1, len(self.work.makes) + bool(self.work.describes))

    @property
    def is_plain(self) -> bool:
        """Whether its one value is a result of the graph: then the call itself is kept, and else each result alone."""
        return len(self.work.makes) == 1 and len(self.keeps) == 1


class Needs:
    """What the chunks of one subtask read."""

    __slots__ = ("chunks", "unread", "blocks")

    def __init__(self, subtask: Any):
        self.chunks: List[str] = []
        self.unread: Dict[str, Any] = {}  # Chunks that it waits for, and whose tileables its function may fetch.
        self.blocks: List[Tuple[str, Any]] = []  # Keys of mappers with the index of the reducer.
        graph, seen = subtask.chunk_graph, set()
        unread = subtask.pure_depend_keys
        for chunk in graph.iter_indep():
            if isinstance(chunk.op, FetchShuffle):
                for reducer in graph.successors(chunk):
                    self.blocks += [(key, reducer.op.reducer_index) for key in chunk.op.source_keys]
            elif isinstance(chunk.op, Fetch) and chunk.key not in seen:
                seen.add(chunk.key)
                if chunk.key in unread:
                    self.unread[chunk.key] = chunk
                else:
                    self.chunks.append(chunk.key)
        self.blocks = list(dict.fromkeys(self.blocks))


class Plan:
    """The nodes of a stage. `results` are the keys of the chunks that later graphs, or the user, may read."""

    def __init__(self, subtask_graph: Any, results: Iterable[str], session: Tuple[str, str], engines: Sequence[str]):
        self.session, self.engines, self.results = session, tuple(engines), set(results)
        self.subtasks = [subtask for subtask in subtask_graph.topological_iter() if not subtask.virtual]
        self.needs = [Needs(subtask) for subtask in self.subtasks]
        self.nodes: List[Node] = []
        self.kept: Dict[str, Source] = {}        # Of results: where each is made.
        self._made: Dict[Any, Source] = {}       # Of all data.

    def read_from_outside(self) -> Set[str]:
        """Keys of chunks that earlier graphs have made."""
        made, outside = set(), set()
        for subtask, needs in zip(self.subtasks, self.needs):
            outside.update(key for key in (*needs.chunks, *needs.unread) if key not in made)
            made.update(chunk.key for chunk in subtask.chunk_graph.result_chunks)
        return outside

    def fetched_meanwhile(self) -> Dict[str, Any]:
        """Chunks by their keys that functions of this stage may fetch, as users do, while it runs."""
        return {key: chunk for needs in self.needs for key, chunk in needs.unread.items()}

    def build(self, values: Dict[str, Any]) -> None:
        """Makes the nodes; `values` are the futures of `read_from_outside`."""
        self.results.update(self.fetched_meanwhile())
        read, blocks = set(self.results), {}
        for needs in self.needs:
            read.update(needs.chunks)
            for key, index in needs.blocks:
                blocks.setdefault(key, {})[index] = None
        for subtask, needs in zip(self.subtasks, self.needs):
            self._add(subtask, needs, read, blocks, values)

    def _add(self, subtask, needs, read, blocks, values):
        reads, inputs, after = [], [], []
        for key in needs.chunks:
            reads.append(key)
            inputs.append(self._made[key] if key in self._made else values[key])
        for name in needs.blocks:
            source = self._made[name]
            reads.append(name if source.place is None else Part(name, source.place))
            inputs.append(source)
        for key in needs.unread:
            after.append(self._made[key] if key in self._made else values[key])
        results = dict.fromkeys(chunk.key for chunk in subtask.chunk_graph.result_chunks
                                if not isinstance(chunk.op, VirtualOperand))
        keeps = [key for key in results if key in self.results and key not in blocks]
        makes = keeps + [key for key in results if key in read and key not in keeps and key not in blocks]
        for key in results:
            makes += _outputs_for(key, list(blocks[key])) if key in blocks else []
        self._note(makes, keeps)
        work = Work(self.session, reads, list(needs.unread), makes, keeps, self.engines)
        operands = [chunk.op for chunk in subtask.chunk_graph if not isinstance(chunk.op, (Fetch, FetchShuffle))]
        worker = subtask.expect_band[0] if subtask.bands_specified and subtask.expect_band else None
        name = "+".join(dict.fromkeys(type(operand).__name__ for operand in operands))[:150]
        self.nodes.append(Node(name, Packed(subtask.chunk_graph), work, inputs, after, keeps, subtask.priority[1],
                               any(operand.gpu for operand in operands), worker))

    def _note(self, makes, keeps):
        """Where what the next node makes is found."""
        for output, name in enumerate(makes):
            if isinstance(name, list):
                for place, one in enumerate(name):
                    self._made[one] = Source(len(self.nodes), output, place)
            else:
                self._made[name] = Source(len(self.nodes), output)
        self.kept.update((key, self._made[key]) for key in keeps)


def _outputs_for(key, indexes):
    """Names of the outputs that have the blocks of a mapper."""
    names = [(key, index) for index in indexes]
    if len(names) <= BLOCKS_MAX:
        return names
    each = -(-len(names) // BLOCKS_MAX)
    return [names[first:first + each] for first in range(0, len(names), each)]
