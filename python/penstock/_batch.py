"""Calls that leave together as one job."""
import weakref
from typing import Any, Dict, List

from penstock._lineage import Forgotten, settle


class Batch:
    """A job of ours: which future each subtask is. Released when nobody needs an output of it any more."""

    def __init__(self, client, futures):
        self.client = weakref.ref(client)
        self.futures = [weakref.ref(future) if future is not None else None for future in futures]
        self.inputs: List[Any] = [()] * len(futures)
        self.borrowed: Dict[int, Any] = {}  # Subtasks that borrow: of which future, and the batch that lends.
        self.shared: Dict[int, Any] = {}    # Those that hold large bytes of arguments.
        self.lost: Dict[int, Any] = {}      # Why an input could not be had there, by its id.
        self.edges: Any = None              # Offsets and predecessors of its subtasks.
        self.is_whole = False               # One graph: what does not lead to its futures has no purpose.
        self.calls: Dict[int, Any] = {}     # Subtasks whose futures are gone: their calls,
        self.run_again = set()              # and those that run again elsewhere.
        self.failed: Dict[int, Any] = {}    # Subtasks that have failed, and why.
        self.packed: Any = None             # Calls of its futures, see `_packed`.
        self.job, self.identity = -1, b""
        self.live, self.ended = sum(future is not None for future in futures), False

    def take(self, graph, inputs):
        """What its graph is made of; `inputs`: see `let_go`."""
        self.borrowed, self.edges = graph.borrowed, (graph.input_offsets, graph.predecessors)
        for number, those in inputs.items():
            self.inputs[number] = those

    def become(self, submitted):
        self.job, self.identity = submitted.job, submitted.identity

    def forget_inputs(self, first, last):
        """These subtasks have ended: their inputs may go."""
        for index in range(first, min(last + 1, len(self.inputs))):
            self.inputs[index] = ()

    def end(self):
        """All of its subtasks have ended, and what is known of that was told: it is what holds their values, and nothing
        more. Futures among its inputs would hold their own jobs, and this one."""
        self.ended = True
        self.futures = []
        self.inputs, self.edges = [], None
        self.borrowed, self.shared, self.lost, self.failed, self.calls = {}, {}, {}, {}, {}

    def drop(self, index):
        """The output of this subtask is needed no more."""
        # From a destructor, on whatever thread: only put down, done by the news thread or the next flush.
        client = self.client()
        if client is not None:
            client._dropped.append((self, index))

    def reads(self, future):
        """Whether its value is still the one that this batch was to read; it may have been made again for another."""
        return future._batch is self or any(
            other is future and lender is future._batch for other, lender in self.borrowed.values())

    def is_over(self):
        """Nobody waits for anything of it."""
        futures = (self.future(index) for index in reversed(range(len(self.futures))))  # Many are cancelled from the first.
        return all(future is None or future.done() for future in futures)

    def failed_before(self, index):
        """Why a subtask that this one depends on has failed; None: none has."""
        if not self.failed:
            return None
        offsets, predecessors = self.edges
        seen, left = {index}, [index]
        while left:
            number = left.pop()
            if number in self.failed:
                return self.failed[number]
            fresh = set(predecessors[offsets[number]:offsets[number + 1]]) - seen
            seen |= fresh
            left += sorted(fresh)
        return None

    def inputs_of(self, index):
        """The futures among its inputs."""
        futures = [self.future(other) if isinstance(other, int) else other for other in self.inputs[index]]
        return [future for future in futures if future is not None]

    def lost_before(self, index):
        """What the subtask was to read and is lost, or one without a future that it depends on; None: nothing."""
        if not self.lost:
            return None
        seen, left = {index}, [index]
        while left:
            for other in self.inputs[left.pop()]:
                if not isinstance(other, int):
                    if id(other) in self.lost:
                        return other
                elif other not in seen:
                    seen.add(other)
                    left.append(other)
        return None

    def future(self, index):
        reference = self.futures[index] if index < len(self.futures) else None
        return None if reference is None else reference()


LINEAGE = ("origins", "generation", "cut_at", "__weakref__")  # See `_lineage`.


def begin_lineage(call):
    call.origins, call.generation, call.cut_at = None, 0, 0


def let_go(owners, inputs, numbers, kept):
    """The calls that leave as one job, by their subtasks. None holds the future of another one any more: of `owners` those
    stay that somebody else holds, and among `inputs` a call of this job is its subtask's number. `numbers`: of futures, by
    their ids. `kept`: see `_lineage.generations`."""
    calls = {number: owners[number]._call for number in inputs}
    for number, call in calls.items():
        inputs[number] = tuple([numbers[id(other)] if numbers.get(id(other)) in calls else other for other in inputs[number]])
        settle(call, kept)
    held = {number: weakref.ref(future) for number, future in owners.items()}
    owners.clear()
    for number, reference in held.items():
        future = reference()
        if future is not None:
            owners[number] = future
    return calls


class Call:
    """A submitted call that has not left yet, or could leave once more."""

    __slots__ = ("future", "unsent", "program", "payload", "inputs", "shared", "options", "made_again", *LINEAGE)
    graph = None  # It leaves with other calls.
    output = 0    # Of its inputs: what it reads.

    def __init__(self, future, program, payload, inputs, shared, options):
        begin_lineage(self)
        self.future, self.program, self.payload, self.inputs = weakref.ref(future), program, payload, inputs
        self.shared, self.options = shared, options  # The payload's inputs are futures, then large bytes.
        self.unsent = future  # A call that nobody waits for is made all the same.
        self.made_again = 0   # Because its value was lost.

    def add_to(self, graph, edges):
        """Its subtask in a graph where these are its inputs."""
        return graph.add(graph.template(self.program, self.options), self.payload, edges, self.options.priority)

    def is_plain(self):
        """Whether its program, its options and its arguments are all that is to be known of it."""
        return type(self) is Call and not (self.inputs or self.shared or self.origins or self.made_again)

    def forget_values(self):
        """Its inputs are not held any more."""

    def large_bytes(self):
        return sum([len(shared.datum) for shared in self.shared])

    def forget(self):
        """It cannot run once more."""
        self.payload, self.shared, self.origins = None, (), [Forgotten()]


class GraphCall:
    """A key of a graph whose values stay on the cluster: in place of a `Call`."""

    __slots__ = ("future", "unsent", "graph", "key", "inputs", "made_again", *LINEAGE)
    shared = ()  # Its graph, which may be that of others, has its large bytes.
    is_plain = staticmethod(bool)  # False.

    def __init__(self, future, graph, key, inputs):
        begin_lineage(self)
        self.future, self.graph, self.key, self.inputs = weakref.ref(future), graph, key, inputs
        self.unsent, self.made_again = future, 0  # As those of a `Call`.

    def forget_values(self):
        self.graph.forget_values()


class PastFuture:
    """Stands in a graph for a future that the graph holds no longer: its calls do that while they run."""

    __slots__ = ("recipe",)

    def __init__(self, recipe):
        self.recipe = weakref.ref(recipe)

    def future(self):
        return self.recipe().future()
