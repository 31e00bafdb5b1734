"""Subtasks that follow each other alone become one, so that what passes between them is neither copied nor kept."""
import pickle
from array import array

from penstock import _wire

LENGTH_MAX = 8            # Steps of a chain; what a lost runner costs is at most so many.
PAYLOAD_MAX = 64 << 10    # A step with more of its own stays alone: together they must fit where each does.


class Chain:
    """The program of a chain: each function gets its own payload, whose only input is what the one before has returned."""

    __slots__ = ("functions",)

    def __init__(self, functions):
        self.functions = tuple(functions)

    def __reduce__(self):
        return Chain, (self.functions,)

    @property
    def __name__(self):
        return _wire.name_of(self.functions[-1])

    def __call__(self, *payloads):
        value, outside = None, None
        try:
            for function, payload in zip(self.functions, payloads):
                arguments, keywords = _wire.load_arguments(payload, function)
                value = None  # It is among the arguments, or nowhere.
                value = function(*arguments, **keywords)
                arguments = keywords = None
                before = _wire.set_inputs(lambda _: value)
                outside = before if outside is None else outside
        finally:
            if outside is not None:
                _wire.set_inputs(outside[0])
        return value


def previous_of(columns, wanted, may_join):
    """For each subtask the one that it follows alone, or -1: it reads nothing else, nobody else reads that, and nobody
    wants it. `may_join(first, second)` says whether their templates can be one."""
    offsets, predecessors = columns.input_offsets, columns.predecessors
    count = len(columns)
    readers = array("I", [0]) * count
    for predecessor in predecessors:
        readers[predecessor] += 1
    for number in wanted:
        readers[number] += 2
    previous = array("i", [-1]) * count
    for number in range(count):
        at = offsets[number]
        if offsets[number + 1] - at != 1:
            continue
        other = predecessors[at]
        if readers[other] != 1 or columns.priorities[other] != columns.priorities[number]:
            continue
        small = len(columns.payloads[other]) <= PAYLOAD_MAX and len(columns.payloads[number]) <= PAYLOAD_MAX
        if small and may_join(columns.template_of[other], columns.template_of[number]):
            previous[number] = other
    return previous


def chains_of(previous):
    """The subtasks as chains, each from its first step to its last; every subtask is in one. In a cycle nobody is last:
    those are left alone, and the supervisor says what is wrong with them."""
    followed = bytearray(len(previous))
    for other in previous:
        if other >= 0:
            followed[other] = 1
    chains, placed = [], bytearray(len(previous))
    for last in range(len(previous)):
        if followed[last]:
            continue
        steps, number = [], last
        while number >= 0:
            placed[number] = 1
            steps.append(number)
            number = previous[number]
        steps.reverse()
        chains += [steps[at:at + LENGTH_MAX] for at in range(0, len(steps), LENGTH_MAX)]
    chains += [[number] for number in range(len(previous)) if not placed[number]]
    return chains


def join(columns, wanted, may_join, template_of):
    """Makes a single subtask of each chain; returns the new number of each old subtask that others can see, or None
    where there is no chain and nothing has changed. `template_of(templates)` is the number of the template of a chain
    of those, or None if there are too many of them."""
    previous = previous_of(columns, wanted, may_join)
    if max(previous, default=-1) < 0:
        return None
    templates, offsets, predecessors, payloads, priorities = columns.restart()
    chains, joined = [], {}
    for steps in chains_of(previous):
        kinds = tuple([templates[step] for step in steps])
        if len(steps) > 1 and kinds not in joined:
            joined[kinds] = template_of(kinds)
        chains += [steps] if len(steps) == 1 or joined[kinds] is not None else [[step] for step in steps]
    numbers = {steps[-1]: number for number, steps in enumerate(chains)}
    for steps in chains:
        first, last = steps[0], steps[-1]
        inputs = [numbers[other] for other in predecessors[offsets[first]:offsets[first + 1]]]
        if len(steps) == 1:
            columns.add(templates[last], payloads[last], inputs, priorities[last])
            continue
        payload = pickle.dumps((tuple([payloads[step] for step in steps]), {}), 5)
        columns.add(joined[tuple([templates[step] for step in steps])], payload, inputs, priorities[last])
    return numbers
