"""Dask's graphs since 2024.12, whose subtasks are objects; older ones, of plain tuples, know none of these."""
# tidy: foreign-file Task, TaskRef, GraphNode, task
from typing import Any, Callable, Dict, Tuple

from penstock import _wire
from penstock.errors import PenstockError

try:
    from dask import _task_spec as spec
    NODE, REFERENCE, ALIAS, LITERAL = spec.GraphNode, spec.TaskRef, spec.Alias, spec.DataNode  # tidy: foreign
except ImportError:
    spec, NODE, REFERENCE, ALIAS, LITERAL = None, (), (), (), ()  # Nothing is an instance of these.


class Apply:
    """A call within an argument: made when the payload is unpickled, which puts its value in its place."""

    __slots__ = ("function", "arguments")

    def __init__(self, function, arguments):
        self.function, self.arguments = function, arguments

    def __reduce__(self):
        return _wire.call_inside, (self.function, *self.arguments)


def call_with(function, arguments, keywords):
    return function(*arguments, **keywords)


def target_of(graph, key):
    """Where a chain of aliases leads."""
    if not isinstance(graph[key], ALIAS):
        return key
    seen = {key}
    while isinstance(graph[key], ALIAS):
        target = graph[key].target
        if target in seen:
            raise PenstockError("is an alias of itself: the graph has a cycle", subject=str(key))
        seen.add(target)
        key = target
    return key


def call_of(node, input_of: Callable) -> Tuple[Callable, tuple, Dict[str, Any]]:
    """(function, arguments, keywords) of a subtask that is no literal; `input_of(key)` stands for another's output."""
    if isinstance(node, ALIAS):
        return itself, (input_of(node.target),), {}
    keywords = {name: value_of(part, input_of) for name, part in node.kwargs.items()}
    return node.func, tuple([value_of(part, input_of) for part in node.args]), keywords


def value_of(part, input_of):
    """An argument of a subtask: only objects of Dask are looked into, the rest is what it is."""
    if isinstance(part, REFERENCE):
        return input_of(part.key)
    if not isinstance(part, NODE):
        return part
    if isinstance(part, LITERAL):
        return part.value
    if isinstance(part, spec.List):
        return [value_of(one, input_of) for one in part.args]
    if isinstance(part, spec.Tuple):
        return tuple([value_of(one, input_of) for one in part.args])
    if isinstance(part, ALIAS):
        return input_of(part.target)
    function, arguments, keywords = call_of(part, input_of)  # Sets and dictionaries are calls, too.
    return Apply(call_with, (function, arguments, keywords)) if keywords else Apply(function, arguments)


def itself(value):
    return value
