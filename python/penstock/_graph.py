"""Graphs on their way to the library: columns of numbers, filled by Python and handed over in one call."""
import ctypes
import math
import operator
import os
import pickle
import struct
import sys
from array import array

from penstock import _abi, _wire
from penstock.errors import ResultTooLarge

ORDER_ONLY = 0xFFFF


def whole(name, value, least, most):
    """A whole number that somebody gave as `name`."""
    try:
        given = operator.index(int(value) if isinstance(value, float) and value.is_integer() else value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if not least <= given <= most:
        raise ValueError(f"{name} must be from {least} to {most}, not {given}")
    return given


def number(name, value, least):
    """A number that somebody gave as `name`."""
    try:
        given = float(value) if not isinstance(value, str) else None
    except (TypeError, ValueError):
        given = None
    if given is None:
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not least <= given < math.inf:
        raise ValueError(f"{name} must be at least {least:g}, not {value!r}")
    return given


class Options:
    """How the subtasks of a function are to be run; equal ones share a template."""

    __slots__ = ("retries", "priority", "resources", "worker", "memory", "slots", "time_limit", "keep_going", "key")

    def __init__(self, retries=0, priority=0, resources=None, worker=None, memory=0, slots=1.0, time_limit=0.0,
                 keep_going=False):
        self.retries, self.priority = whole("retries", retries or 0, 0, 65534), whole("priority", priority, -2**31, 2**31 - 1)
        self.worker, self.memory = worker, whole("memory", memory, 0, 2**63 - 1)
        self.resources = tuple(sorted((resources or {}).items()))
        self.slots, self.time_limit = number("slots", slots, 0.001), number("time_limit", time_limit, 0.0)
        self.keep_going = keep_going
        self.key = (self.retries, self.priority, self.resources, self.worker, self.memory, self.slots, self.time_limit,
                    self.keep_going)


class RunnerCommand:
    """The program that runs Python on workers, with what its modules are found by."""

    # What one subtask brings along must fit into a frame (link.frame_bytes_max, 16 MiB): a larger one would break the
    # connection, again and again. The supervisor refuses less, by its graph.subtask_payload_bytes_max.
    payload_max = 12 << 20
    piece_bytes = 1 << 20  # What is larger travels in pieces.

    def __init__(self, python=None, environment=None, working_directory=None, inherit_path=True):
        self.python = python or sys.executable
        variables = dict(environment or {})
        if inherit_path and "PYTHONPATH" not in variables:
            here = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
            entries = [here] + [entry or os.getcwd() for entry in sys.path if not entry.endswith(".zip")]
            variables["PYTHONPATH"] = os.pathsep.join(dict.fromkeys(entries))
        variables.setdefault("PENSTOCK_LIBRARY", _abi.library().path)
        self.arguments = ["-u", "-m", "penstock._runner"]
        self.environment = [f"{name}={value}" for name, value in variables.items()]
        self.working_directory = working_directory

    def template(self, **members):
        arguments, environment = _abi.texts(self.arguments), _abi.texts(self.environment)
        return _abi.Template(runner=_abi.PROCESS, program=_abi.text(self.python), arguments=arguments,
                             argument_count=len(self.arguments), environment=environment,
                             environment_count=len(self.environment),
                             working_directory=_abi.text(self.working_directory or os.getcwd()), **members)


class GraphColumns:
    """One graph in the making. Subtasks are named by their number; their inputs may come before or after them."""

    def __init__(self, command):
        self.library, self.command = _abi.library(), command
        self.handle = self.library.graph_new()
        self.templates, self.programs = {}, {}
        self.kept = []  # Functions whose identity is a key must not make room for others.
        self.clear()

    def clear(self):
        self.template_of, self.input_offsets = array("I"), array("I", [0])
        self.predecessors, self.order_edges = array("I"), []
        self.payload_offsets, self.payloads = array("Q", [0]), []
        self.payload_bytes = 0
        self.priorities = array("i")

    def restart(self):
        """Hands out (templates, input offsets, predecessors, payloads, priorities), and is without subtasks again."""
        columns = self.template_of, self.input_offsets, self.predecessors, self.payloads, self.priorities
        self.clear()
        return columns

    def __del__(self):
        if self.handle:
            self.library.graph_free(self.handle)

    def __len__(self):
        return len(self.template_of)

    def template(self, function, options):
        """The number of the template for a function with these options."""
        key = (id(function), options.key)
        number = self.templates.get(key)
        if number is None:
            self.kept.append(function)
            program = self.programs.get(id(function))
            if program is None:
                program = self.programs[id(function)] = _wire.pack_program(function)
            number = self.templates[key] = self.add_template(_wire.name_of(function), program, options)
        return number

    def add_template(self, name, program, options):
        amounts = (_abi.Amount * max(1, len(options.resources)))(
            *[_abi.Amount(str(resource).encode(), int(amount)) for resource, amount in options.resources])
        content = self.command.template(
            name=name.encode()[:200], milli_slots=max(1, round(options.slots * 1000)), memory_bytes=options.memory,
            payload=_abi.Bytes(ctypes.cast(ctypes.c_char_p(program), ctypes.c_void_p), len(program)),
            resources=amounts, resource_count=len(options.resources), attempts_max=options.retries + 1,
            continue_on_failure=int(options.keep_going), time_limit_ns=int(options.time_limit * 1e9),
            required_worker=_abi.text(options.worker))
        return self.library.check(self.library.graph_add_template(self.handle, content))

    def literal(self, datum):
        """A subtask whose output is this datum; a large one is put together of pieces."""
        pieces = self.pieces(datum)
        return self.put_together([self.piece(one) for one in pieces]) if len(pieces) > 1 else self.piece(datum)

    def pieces(self, datum):
        size, view = self.command.piece_bytes, memoryview(datum)
        return [view[at:at + size] for at in range(0, len(view), size)]

    def piece(self, datum):
        return self.add(self.native("literal"), bytes(datum), (), 0)

    def put_together(self, pieces):
        return self.add(self.native("concatenate"), b"", pieces, 0)

    def borrow(self, job, subtask):
        """A subtask whose output is that of another job, without a copy: it runs where that is."""
        return self.add(self.native("alias"), struct.pack("<III", job, subtask, 0), (), 0)

    def native(self, program):
        """The template of one of the operators that every worker has."""
        number = self.templates.get(program)
        if number is None:
            content = _abi.Template(runner=_abi.NATIVE, program=program.encode(), name=program.encode(),
                                    continue_on_failure=1)
            number = self.templates[program] = self.library.check(
                self.library.graph_add_template(self.handle, content))
        return number

    def add(self, template, payload, inputs, priority=0, after=()):
        """A subtask; its number. `inputs` are numbers of others, in the order of the payload's `Input`s; it begins after
        those of `after`, too."""
        if len(payload) > self.command.payload_max:
            raise ResultTooLarge(f"has {len(payload)} bytes of arguments or data, more than the "
                                 f"{self.command.payload_max} that travel with a graph", subject="a subtask",
                                 remedy="let a subtask load or make it where it is needed")
        self.template_of.append(template)
        if inputs:
            self.predecessors.extend(inputs)
        for number in after:
            self.order_edges.append(len(self.predecessors))
            self.predecessors.append(number)
        self.input_offsets.append(len(self.predecessors))
        self.payloads.append(payload)
        self.payload_bytes += len(payload)
        self.payload_offsets.append(self.payload_bytes)
        self.priorities.append(priority)
        return len(self.template_of) - 1

    def want(self, subtasks):
        numbers = array("I", subtasks)
        self.library.check(self.library.graph_want(self.handle, numbers.buffer_info()[0], len(numbers)))

    def submit(self, client, **options):
        """The number of the job. The columns are gone afterwards."""
        columns = _abi.Subtasks(
            count=len(self), templates=self.template_of.buffer_info()[0],
            input_offsets=self.input_offsets.buffer_info()[0], predecessors=self.predecessors.buffer_info()[0],
            payload_offsets=self.payload_offsets.buffer_info()[0], payloads=b"".join(self.payloads),
            priorities=self.priorities.buffer_info()[0])
        if self.order_edges:
            outputs = array("H", bytes(2 * len(self.predecessors)))
            for edge in self.order_edges:
                outputs[edge] = ORDER_ONLY
            columns.outputs = outputs.buffer_info()[0]
        if len(self):
            self.library.check(self.library.graph_add_subtasks(self.handle, columns))
        handle, self.handle = self.handle, None
        members = {name: _abi.text(value) if isinstance(value, str) else value for name, value in options.items() if value}
        return self.library.check(self.library.submit(client, handle, _abi.JobOptions(**members)))


def pack_arguments(arguments, keywords, what):
    """The payload of a call; b"" for one without arguments. What refers to other subtasks says so when it is pickled."""
    if not arguments and not keywords:
        return b""
    try:
        data = pickle.dumps((arguments, keywords), 5)
        if b"__main__" not in data:
            return data
    except Exception:
        pass
    return _wire.cloudpickle_or_refuse((arguments, keywords), what)
