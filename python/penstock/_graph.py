"""Graphs on their way to the library: columns of numbers, filled by Python and handed over in one call."""
import copy
import ctypes
import functools
import math
import operator
import os
import pickle
import string
import struct
import sys
import threading
from array import array
from itertools import accumulate

from penstock import _abi, _files, _reducers, _start, _wire
from penstock.errors import of_submitting

ORDER_ONLY = 0xFFFF
OTHERS_MAX = 64  # Of a client: variants of its runner's command that are remembered.
OPTIONS_MAX = 256  # Of a client or a graph: options that are remembered, so that equal ones are checked once.
LARGE_BYTES = _wire.LARGE_BYTES
DEVICES_MAX = 16  # Of one band.
GPU, GPU_MEMORY = "GPU", "GPU_MEMORY"  # Resources that every worker with a device has.
ARGUMENTS = ["-u", "-c", f"import os; t = os.environ.pop('{_start.VARIABLE}'); exec(t, {{'TEXT': t}})  # penstock._runner"]
PIECE_BYTES = 1 << 20   # What is larger travels in pieces, so that each fits into graph.subtask_payload_bytes_max.


def whole(name, value, least, most):
    """A whole number that somebody gave as `name`."""
    try:
        given = operator.index(int(value) if isinstance(value, float) and value.is_integer() else value)
        if isinstance(value, bool):
            raise TypeError
    except TypeError:
        raise TypeError(f"{name} must be a whole number, not {value!r}") from None
    if not least <= given <= most:
        raise ValueError(f"{name} must be from {least} to {most}, not {given}")
    return given


UNITS = {"": 1, "B": 1, **{prefix + "B": 1000**power for power, prefix in enumerate(("k", "M", "G", "T"), 1)},
         **{prefix + "iB": 1024**power for power, prefix in enumerate(("K", "M", "G", "T"), 1)}}  # As in penstock.toml.


def bytes_of(name, value):
    """An amount of memory that somebody gave as `name`: a number, or a text with a unit."""
    if not isinstance(value, str):
        return whole(name, value, 0, 2**63 - 1)
    given = value.strip()
    amount = given.rstrip(string.ascii_letters)
    try:
        return whole(name, round(float(amount) * UNITS[given[len(amount):]]), 0, 2**63 - 1)
    except (KeyError, ValueError, OverflowError):
        raise ValueError(f"{name} must be a number of bytes, or a text such as '512MiB' or '4GB', not {value!r}") from None


def text(name, value):
    """A text that somebody gave as `name`, or None."""
    if value is not None and not isinstance(value, str):
        raise TypeError(f"{name} must be a text, not {value!r}")
    return value


def number(name, value, least, most=1e9):
    """A number that somebody gave as `name`."""
    try:
        given = float(value) if not isinstance(value, (str, bool)) else None
    except (TypeError, ValueError):
        given = None
    except OverflowError:
        given = math.inf if value > 0 else -math.inf
    if given is None:
        raise TypeError(f"{name} must be a number, not {value!r}")
    if not math.isfinite(given):
        raise ValueError(f"{name} must be a finite number, not {value!r}")
    if given < least:
        raise ValueError(f"{name} must be at least {least:g}, not {value!r}")
    if given > most:
        raise ValueError(f"{name} must be at most {most:.10g}, not {value!r}")
    return given


def seconds(timeout):
    """What somebody gave as the `timeout` of a wait; None, without end, also for what is longer than a wait can be."""
    if timeout is None or timeout == math.inf:
        return None
    given = number("timeout", timeout, -math.inf, math.inf) if timeout != -math.inf else 0.0
    return None if given > threading.TIMEOUT_MAX else max(0.0, given)


def thousandths(name, value, most):
    """The same in thousandths; 0: not said."""
    return round(number(name, value, 0.001, most) * 1000) if value != 0 else 0


def the_worker(given):
    """The one worker that somebody gave as `workers`, by its name or in a list."""
    if given is None or isinstance(given, str):
        return given
    if not isinstance(given, (list, tuple, set, frozenset)) or not all(isinstance(name, str) for name in given):
        raise TypeError(f"workers must be the name of a worker, not {given!r}")
    if len(given) > 1:
        raise ValueError(f"workers must name one worker, not {len(given)} ({', '.join(sorted(given))}): for a choice of "
                         "several give these a resource of their own, and ask for that")
    return next(iter(given), None)


def amounts_of(resources):
    """(name, amount) of each that only its name describes, thousandths of a GPU, bytes of its memory."""
    if resources is not None and not isinstance(resources, dict):
        raise TypeError(f"resources must be a dictionary of names and amounts, not {resources!r}")
    named, devices, device_memory = [], 0, 0
    for name, amount in (resources or {}).items():
        what = f"resources[{name!r}]"
        if name == GPU:
            devices = round(number(what, amount, 0.001) * 1000) if amount else 0
            if devices > 1000 and devices % 1000:
                raise ValueError(f"{what} is {amount!r}: a call has a part of one GPU, or a whole number of them")
            if devices > DEVICES_MAX * 1000:
                raise ValueError(f"{what} is {amount!r}, and a host gives a call at most {DEVICES_MAX}: submit a call for each host")
        elif name == GPU_MEMORY:
            device_memory = bytes_of(what, amount)
        else:
            named.append((str(name), whole(what, amount, 0, 2**63 - 1)))
    return tuple(sorted(named)), devices, device_memory


def texts(name, values):
    """A list of texts that somebody gave as `name`."""
    try:
        given = list(values)
    except TypeError:
        raise TypeError(f"{name} must be a list of texts, not {values!r}") from None
    for value in given:
        if not isinstance(value, str):
            raise TypeError(f"{name} must be a list of texts, and has {value!r}")
    return given


KINDS = {"training": 0, "interactive": 1, "inference": 2}


def job_options(priority, weight, slots_max, gang, gang_max, gang_groups, kind, preemptible, user_factor, grace, time_limit,
                **names):
    """Members of `_abi.JobOptions` from what somebody gave for a job."""
    if not isinstance(kind, str) or kind not in KINDS:
        raise ValueError(f"kind must be one of {', '.join(KINDS)}, not {kind!r}")
    if preemptible not in (None, True, False):
        raise TypeError(f"preemptible must be True, False or None, not {preemptible!r}")
    return dict({name: text(name, value) for name, value in names.items()},
                priority=whole("priority", priority, -2**31, 2**31 - 1), weight_thousandths=thousandths("weight", weight, 1e6),
                slots_max=whole("slots_max", slots_max, 0, 10**9), gang=whole("gang", gang, 0, 10**9),
                gang_max=whole("gang_max", gang_max, 0, 10**9), gang_groups=whole("gang_groups", gang_groups, 0, 10**9), kind=KINDS[kind],
                preemptible=0 if preemptible is None else 1 if preemptible else 2,
                user_factor_lowered_thousandths=1000 - round(number("user_factor", user_factor, 0, 1) * 1000),
                grace_ms=math.ceil(number("grace", grace, 0) * 1000),
                time_limit_ns=0 if time_limit is None else round(number("time_limit", time_limit, 0.001, 3650 * 86400) * 1e9))


class Options:
    """How the subtasks of a function are to be run; equal ones share a template."""

    __slots__ = ("retries", "priority", "resources", "milli_gpu", "gpu_memory", "worker", "memory", "memory_max", "slots", "time_limit",
                 "overlap", "keep_going", "runner", "outputs", "key")

    def __init__(self, retries=0, priority=0, resources=None, worker=None, memory=0, slots=1.0, time_limit=0.0,
                 keep_going=False, runner=None, memory_max=0, overlap="allow"):
        self.retries, self.priority = whole("retries", 0 if retries is None else retries, 0, 65534), whole("priority", priority, -2**31, 2**31 - 1)
        self.worker, self.memory = the_worker(worker), bytes_of("memory", memory)
        self.memory_max = bytes_of("memory_max", memory_max)
        if self.memory_max and not 0 < self.memory <= self.memory_max:
            raise ValueError(f"memory_max: {memory_max} is what later attempts may use at most; memory, what the first may use, "
                             f"must be from 1 to that, not {self.memory}")
        if overlap not in ("allow", "never"):
            raise ValueError(f'overlap: {overlap!r} is neither "allow" nor "never"')
        self.overlap = overlap
        self.resources, self.milli_gpu, self.gpu_memory = amounts_of(resources)
        self.slots, self.time_limit = number("slots", slots, 0.001, 1e6), number("time_limit", time_limit, 0.0)
        if self.slots == 1.0 and self.milli_gpu > 0:
            self.slots = self.milli_gpu / 1000  # A band of GPUs has a slot for each.
        self.keep_going, self.runner = keep_going, runner  # None: that of the client or of the graph.
        self.outputs = 1
        self.key = (self.retries, self.priority, self.resources, self.milli_gpu, self.gpu_memory, self.worker, self.memory,
                    self.memory_max, self.slots, self.time_limit, self.overlap, self.keep_going, runner)


    def with_outputs(self, count: int) -> "Options":
        """The same for a call with so many outputs."""
        if count == 1:
            return self
        options = copy.copy(self)
        options.outputs, options.key = count, (*self.key, count)
        return options


def options_from(known, *members):
    """The `Options` of these; `known` has those that were made before."""
    try:
        options = known.get(members)
    except TypeError:  # A dictionary of resources is no key.
        return Options(*members)
    if options is None or list(map(type, members)).count(bool) > 1:  # One is `keep_going`; others equal numbers, and are none.
        if len(known) >= OPTIONS_MAX:
            known.clear()
        options = known[members] = Options(*members)
    return options


@functools.lru_cache(maxsize=None)
def start_text():
    return _start.__spec__.loader.get_source(_start.__name__)


def _distinct(path):
    """A module is found by the first of equal entries: a second one changes nothing, and needs no other runners."""
    return list(dict.fromkeys(path))


class RunnerCommand:
    """The program that runs Python on workers, with what its modules are found by."""

    piece_bytes = PIECE_BYTES

    def __init__(self, python=None, environment=None, working_directory=None, inherit_path=True, files=None):
        self.python, self.files = python or sys.executable, files
        self.variables = {str(name): str(value) for name, value in dict(environment or {}).items()}
        for name, value in self.variables.items():
            if not name or "=" in name or "\0" in name + value:
                raise ValueError(f"environment: {name!r}: {value!r} cannot be a variable: a name needs a character and has no "
                                 "'=', and neither has a NUL")
        self.others = {}  # Made from this one.
        self.path, self.latest = list(sys.path), self
        variables = dict(self.variables)
        if files is not None:
            variables[_files.VARIABLE] = files.digest
        self.inherits_path = inherit_path and "PYTHONPATH" not in variables
        before, behind = [], []
        if self.inherits_path:
            before, behind = _start.path_of(sys.path, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
            variables["PYTHONPATH"] = ""  # Another Python would not begin with modules of this one.
        variables.setdefault("PENSTOCK_LIBRARY", _abi.library().path)
        variables[_start.VARIABLE] = (f"{start_text()}\nstart({sys.version_info[:2]}, {before!a}, {behind!a}, "
                                       f"{list(variables)!a}, TEXT)\n")
        self.arguments = list(ARGUMENTS)
        self.environment = [f"{name}={value}" for name, value in variables.items()]
        self.working_directory = working_directory

    def other(self, files=None, environment=None, python=None, working_directory=None):
        """This one with other files, variables, program or directory; those that are None are as they are."""
        changed = self.latest.path != sys.path and _distinct(self.latest.path) != _distinct(sys.path)
        if changed and self.inherits_path:
            self.latest = RunnerCommand(self.python, self.variables, self.working_directory, files=self.files)
            self.latest.piece_bytes = self.piece_bytes
        if self.latest is not self:
            return self.latest.other(files, environment, python, working_directory)
        if files is None and environment is None and python is None and working_directory is None:
            return self
        if environment is not None and not isinstance(environment, dict):
            raise TypeError(f"environment must be a dictionary of names and values, not {environment!r}")
        bundle = self.files if files is None else _files.bundle_of(files)
        key = bundle, tuple(sorted((environment or {}).items())), python, str(working_directory or "")
        if key not in self.others:
            while len(self.others) >= OTHERS_MAX:
                self.others.pop(next(iter(self.others)))
            made = self.others[key] = RunnerCommand(python or self.python, {**self.variables, **(environment or {})},
                                                    working_directory or self.working_directory, files=bundle)
            made.piece_bytes = self.piece_bytes
        return self.others[key]

    def with_files(self, payload, place):
        """A payload that waits for the files, which are input number `place`."""
        return pickle.dumps(_files.After(place, self.files.digest, self.working_directory is None, payload), 5)

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
        self.templates, self.natives = {}, {}
        self.borrowed = {}  # Subtasks that borrow: of which future, and the batch that lends.
        self.clear()

    def clear(self):
        self.template_of, self.input_offsets = array("I"), array("I", [0])
        self.predecessors, self.edge_outputs = array("I"), {}  # Of edges that read another output than the first.
        self.payloads = []
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

    def template(self, program, options):
        """The number of the template for a program with these options."""
        key = (program.content, options.key)
        number = self.templates.get(key)
        if number is None:
            number = self.templates[key] = self.add_template(program.name, program.content, options)
        return number

    def add_template(self, name, program, options):
        command = options.runner or self.command
        if command.files is not None:
            program = _wire.pack_program(_files.Later(program))
        amounts = (_abi.Amount * max(1, len(options.resources)))(
            *[_abi.Amount(resource.encode(), amount) for resource, amount in options.resources])
        content = command.template(
            name=name.encode()[:200], milli_slots=max(1, round(options.slots * 1000)), memory_bytes=options.memory,
            memory_bytes_max=options.memory_max, output_count=options.outputs, never_overlaps=int(options.overlap == "never"),
            payload=_abi.Bytes(ctypes.cast(ctypes.c_char_p(program), ctypes.c_void_p), len(program)),
            resources=amounts, resource_count=len(options.resources), milli_gpu=options.milli_gpu,
            gpu_memory_bytes=options.gpu_memory, attempts_max=options.retries + 1,
            continue_on_failure=int(options.keep_going), time_limit_ns=math.ceil(options.time_limit * 1e9),
            required_worker=_abi.text(options.worker))
        return self.library.check(self.library.graph_add_template(self.handle, content))

    def literal(self, datum):
        """A subtask whose output is this datum; a large one is put together of pieces, which are the next subtasks."""
        pieces = self.pieces(datum)
        if len(pieces) == 1:
            return self.piece(datum)
        number = self.put_together(range(len(self) + 1, len(self) + 1 + len(pieces)))
        for piece in pieces:
            self.piece(piece)
        return number

    def pieces(self, datum):
        size, view = self.command.piece_bytes, memoryview(datum)
        return [view[at:at + size] for at in range(0, len(view), size)]

    def piece(self, datum):
        return self.add(self.native("literal"), bytes(datum), (), 0)

    def put_together(self, pieces):
        return self.add(self.native("concatenate"), b"", pieces, 0)

    def borrow(self, job, identity, subtask, output=0):
        """A subtask whose output is that of another job, without a copy: it runs where that is. `identity` says which job
        the number means, as `submit` gave it; without one any that has it."""
        return self.add(self.native("alias"), struct.pack("<III", job, subtask, output) + identity, (), 0)

    def native(self, program):
        """The template of one of the operators that every worker has."""
        number = self.natives.get(program)
        if number is None:
            content = _abi.Template(runner=_abi.NATIVE, program=program.encode(), name=program.encode(),
                                    continue_on_failure=1)
            number = self.natives[program] = self.library.check(
                self.library.graph_add_template(self.handle, content))
        return number

    def add(self, template, payload, inputs, priority=0, after=(), outputs=()):
        """A subtask; its number. `inputs` are numbers of others, in the order of the payload's `Input`s, and `outputs` which
        output of each it reads: by default the first. It begins after those of `after`, too."""
        self.template_of.append(template)
        if inputs:
            for edge, output in enumerate(outputs, len(self.predecessors)):
                if output:
                    self.edge_outputs[edge] = output
            self.predecessors.extend(inputs)
        for number in after:
            self.edge_outputs[len(self.predecessors)] = ORDER_ONLY
            self.predecessors.append(number)
        self.input_offsets.append(len(self.predecessors))
        self.payloads.append(payload)
        self.priorities.append(priority)
        return len(self.template_of) - 1

    def want(self, subtasks):
        numbers = array("I", subtasks)
        self.library.check(self.library.graph_want(self.handle, numbers.buffer_info()[0], len(numbers)))

    def submit(self, client, **options):
        """What became of it: `job`, `identity`, `existed`, `ours`. The columns are gone afterwards."""
        text("name", options.get("name"))
        members = {name: _abi.text(value) if isinstance(value, str) else value for name, value in options.items() if value}
        payload_offsets = array("Q", accumulate(map(len, self.payloads), initial=0))
        columns = _abi.Subtasks(
            count=len(self), templates=self.template_of.buffer_info()[0],
            input_offsets=self.input_offsets.buffer_info()[0], predecessors=self.predecessors.buffer_info()[0],
            payload_offsets=payload_offsets.buffer_info()[0], payloads=b"".join(self.payloads),
            priorities=self.priorities.buffer_info()[0])
        if self.edge_outputs:
            outputs = array("H", bytes(2 * len(self.predecessors)))
            for edge, output in self.edge_outputs.items():
                outputs[edge] = output
            columns.outputs = outputs.buffer_info()[0]
        if len(self):
            self.library.check(self.library.graph_add_subtasks(self.handle, columns))
        handle, self.handle = self.handle, None
        submitted = _abi.Submitted()
        if self.library.submit_told(client, handle, _abi.JobOptions(**members), submitted) < 0:
            raise of_submitting(self.library.failure())
        submitted.identity = self.library.identity_of(client, submitted.job)
        return submitted


def pack_arguments(arguments, keywords, what, place_of):
    """The payload of a call; b"" for one without arguments. What refers to other subtasks says so when it is pickled.
    Large buffers, and what is large without them, are inputs: `place_of(datum)` is the number of the one that has this
    datum."""
    if not arguments and not keywords:
        return b""
    large = []

    def in_band(buffer):
        if buffer.raw().nbytes < LARGE_BYTES:
            return True
        large.append(buffer)
        return False
    try:
        data = _reducers.dumps((arguments, keywords), in_band)
        good = not _wire.is_of_main(data)
    except Exception:
        good = False
    if not good:
        large.clear()
        data = _wire.cloudpickle_or_refuse((arguments, keywords), what, in_band)
    places = [place_of(_wire.pack(buffer)) for buffer in large]
    if len(data) > PIECE_BYTES:
        data = _wire.Input(place_of(_wire.pack(pickle.PickleBuffer(data))))
    elif not large:
        return data
    return pickle.dumps(_wire.Beside(data, places), 5)
