"""Python objects as bytes and back: pickle 5 with its large buffers beside it, so that they need no copy.

A datum is a header (`PNP1`, number of buffers, length of the pickle, length of each buffer), the pickle, and the buffers,
each at a multiple of 64 bytes.
"""
import pickle
import struct
import sys

import cloudpickle

from penstock import _reducers
from penstock.errors import MissingModule, NotSerializable, PenstockError, VersionMismatch, WrongGraph

HEAD = struct.Struct("<4sIQ")
MAGIC = b"PNP1"
PROGRAM = b"PNF1"
ALIGNMENT = 64
LARGE_BYTES = 64 << 10  # A buffer of an argument beyond this is an output of its own, shared by its readers; a datum, mapped.
_PLAIN = HEAD.pack(MAGIC, 0, 0)[:8]


PASS = "pass what it is made of, and make it where it is needed"


MAINS = ("__main__", "__mp_main__")  # The latter is its name in a spawned child.


def is_of_main(data):
    """Whether a pickle may refer to the main module, which is another's elsewhere."""
    if b"_main__" not in data:
        return False
    spawned = sys.modules.get("__mp_main__")
    if spawned is not None:
        cloudpickle.register_pickle_by_value(spawned)
    return True


def pickle_with_buffers(value, what, remedy=PASS):
    """(pickle, buffers). `what` names it, or is the function whose result it is. What lives in `__main__`, and functions without a name, go by value."""
    buffers = []
    try:
        data = _reducers.dumps(value, buffers.append)
        if not is_of_main(data):
            return data, buffers
    except Exception:
        pass
    del buffers[:]
    try:
        return _reducers.cloudpickle_dumps(value, buffers.append), buffers
    except (RecursionError, NotSerializable):
        raise
    except Exception as error:
        subject = what if isinstance(what, str) else f"the result of {name_of(what)}"
        raise NotSerializable(f"cannot be pickled: {error}", subject=subject, remedy=remedy) from error


def pickle_whole(value, what):
    """The pickle with all that belongs to it."""
    try:
        data = pickle.dumps(value, 5)
        if not is_of_main(data):
            return data
    except Exception:
        pass
    return cloudpickle_or_refuse(value, what)


def padded(size):
    return (size + ALIGNMENT - 1) // ALIGNMENT * ALIGNMENT


def padding(size):
    return bytes(padded(size) - size)


def measure(data, raws):
    """Bytes that a datum takes."""
    if not raws:
        return HEAD.size + len(data)
    return padded(HEAD.size + 8 * len(raws) + len(data)) + sum(padded(raw.nbytes) for raw in raws)


def write(target, data, raws):
    """Fills `target`, a writable memoryview of the measured size."""
    HEAD.pack_into(target, 0, MAGIC, len(raws), len(data))
    at = HEAD.size
    for raw in raws:
        struct.pack_into("<Q", target, at, raw.nbytes)
        at += 8
    target[at:at + len(data)] = data
    at = padded(at + len(data))
    for raw in raws:
        target[at:at + raw.nbytes] = raw
        at += padded(raw.nbytes)


def pack(value, what="result"):
    """The datum as bytes; for what is small or has to be copied anyway."""
    data, buffers = pickle_with_buffers(value, what)
    if not buffers:
        return HEAD.pack(MAGIC, 0, len(data)) + data
    raws = [buffer.raw() for buffer in buffers]
    parts = [HEAD.pack(MAGIC, len(raws), len(data)), struct.pack(f"<{len(raws)}Q", *[raw.nbytes for raw in raws]), data]
    parts.append(padding(sum(map(len, parts))))
    for raw in raws:
        parts += [raw, padding(raw.nbytes)]
    return b"".join(parts)  # The only copy.


def unpack(datum):
    """The object of a datum (bytes or memoryview). Large buffers of it stay where they are."""
    if datum[:8] == _PLAIN:
        return pickle.loads(memoryview(datum)[HEAD.size:])
    magic, count, length = HEAD.unpack_from(datum)
    if magic != MAGIC:
        raise ValueError("these bytes were not made by Penstock's Python package")
    sizes = struct.unpack_from(f"<{count}Q", datum, HEAD.size)
    view = memoryview(datum)
    at = HEAD.size + 8 * count
    data = view[at:at + length]
    at = padded(at + length)
    buffers = []
    for size in sizes:
        buffers.append(view[at:at + size])
        at += padded(size)
    return pickle.loads(data, buffers=buffers)


def unpack_own(datum):
    """The object of a datum, whose large buffers may be written to: of bytes, which are others', they are in a copy."""
    copied = datum.__class__ is bytes and datum[:8] != _PLAIN
    return unpack(bytearray(datum) if copied else datum)


def pack_program(function):
    """A function as the program of a template, with the version of Python that wrote it."""
    try:
        data = pickle.dumps(function, 5)
        if is_of_main(data):
            raise pickle.PicklingError
    except Exception:
        try:
            data = cloudpickle.dumps(function, 5)
        except Exception as error:
            raise NotSerializable(f"cannot be pickled: {error}", subject=f"function {name_of(function)}",
                                  remedy="let it make what cannot be pickled (locks, files, connections) itself"
                                  ) from error
    return PROGRAM + bytes(sys.version_info[:2]) + data


def load_program(content):
    if content[:4] != PROGRAM:
        raise ValueError("this program was not made by Penstock's Python package")
    ours, theirs = tuple(sys.version_info[:2]), tuple(content[4:6])
    if ours != theirs:
        raise VersionMismatch(f"the client runs Python {theirs[0]}.{theirs[1]}, this runner {ours[0]}.{ours[1]}",
                              subject=sys.executable, remedy="give Client(python=...) the same version")
    return load_naming_modules(content[6:])


_raised_inside = [None]  # The last exception of a call that an argument stands for: the user's own.


def call_inside(function, *arguments):
    """Called by the unpickler of a payload for a call within an argument."""
    try:
        return function(*arguments)
    except BaseException as error:
        _raised_inside[0] = error
        raise


def unreadable(error, function):
    """What is raised when the arguments of a call cannot be read where it runs."""
    if error is _raised_inside[0] or isinstance(error, (PenstockError, ImportError, MemoryError)) or not isinstance(error, Exception):
        return error
    named = NotSerializable(f"cannot be read where it runs: {type(error).__name__}: {error}",
                            subject=f"an argument of {name_of(function)}", remedy=PASS)
    named.__cause__, named.__traceback__ = error, error.__traceback__
    return named


def load_arguments(payload, function):
    """(arguments, keywords) of a call within another."""
    if not payload:
        return (), {}
    try:
        return pickle.loads(payload)
    except Exception as error:
        raise unreadable(error, function)


def load_naming_modules(data):
    """Unpickles; a module that is not there is named with what to do about it."""
    try:
        return pickle.loads(data)
    except ModuleNotFoundError as error:
        raise missing(error) from error


def missing(error):
    name = error.name or "?"
    told = MissingModule(f"module '{name}' is not installed for {sys.executable}", subject=name,
                         remedy=f"{sys.executable} -m pip install {name.split('.')[0]}; or send it with files=[...]")
    told.name = error.name
    return told


def name_of(function):
    return getattr(function, "__qualname__", None) or getattr(function, "__name__", None) or type(function).__name__


_inputs = []


def load_input(index):
    """Called by the unpickler of a payload where the output of another subtask belongs."""
    return _inputs[0](index)


def set_inputs(lookup):
    """What `load_input` asks from now on; returns what it asked before."""
    before = _inputs[:]
    _inputs[:] = [lookup]
    return before


class Input:
    """Stands in a payload for input number `index` of its subtask."""

    __slots__ = ("index",)

    def __init__(self, index):
        self.index = index

    def __reduce__(self):
        return load_input, (self.index,)


class Shared:
    """Large bytes of arguments as they were when they were given: one subtask of a batch, however many calls have them.
    Among the inputs of a call it is one that nobody waits for."""

    __slots__ = ("datum", "key", "often")
    _batch = None

    def __init__(self, datum, key, often=False):
        self.datum, self.key = datum, key
        self.often = often  # Further batches will have them.

    def done(self):
        return False


def loads_beside(data, buffers):
    """Called by the unpickler of a payload whose large buffers, or which itself, are inputs."""
    return pickle.loads(data, buffers=buffers)


class Beside:
    """Stands in a payload for a pickle (bytes, or the input that has them) whose buffers are the inputs with these numbers."""

    __slots__ = ("data", "places")

    def __init__(self, data, places):
        self.data, self.places = data, places

    def __reduce__(self):
        return loads_beside, (self.data, [Input(place) for place in self.places])


def cloudpickle_or_refuse(value, what, buffer_callback=None):
    try:
        return _reducers.cloudpickle_dumps(value, buffer_callback)
    except (RecursionError, WrongGraph, NotSerializable):
        raise
    except Exception as error:
        raise NotSerializable(f"cannot be pickled: {error}", subject=what, remedy=PASS) from error
