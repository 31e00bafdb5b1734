"""Functions as programs: what they are at the moment when they are given, whatever becomes of them later."""
import sys
from types import BuiltinFunctionType, CodeType, FunctionType, ModuleType
from typing import Dict
from weakref import WeakValueDictionary

from penstock import _wire

KNOWN_MAX = 1024  # So many functions are remembered with their programs.
ATOMS = (int, float, complex, bool, str, bytes, type(None))
_MISSING = object()
_known: "Dict[int, Known]" = {}  # By the identity of their functions, which they keep.
_alive: "WeakValueDictionary[bytes, Program]" = WeakValueDictionary()  # Equal ones are one, however often they are given.


class Program:
    """The bytes of a function. Immutable: whoever is given it has the function as it was."""

    __slots__ = ("name", "content", "__weakref__")

    def __init__(self, name, content):
        self.name, self.content = name, content


class Known:
    """A function, its program, and what the bytes of that depend on: (namespace or cell, name, value)."""

    __slots__ = ("function", "program", "reads")

    def __init__(self, function, program, reads):
        self.function, self.program, self.reads = function, program, reads

    def is_current(self):
        for place, name, value in self.reads:
            if name is None:
                if place.cell_contents is not value:
                    return False
            elif place.get(name, _MISSING) is not value:
                return False
        return True


def program_of(function) -> Program:
    """Raises `NotSerializable`. Remembered only for those that cannot change unseen: bound methods, partials and objects may
    hold anything, and are made into bytes each time."""
    known = _known.get(id(function))
    if known is not None and known.function is function and known.is_current():
        return known.program
    reads = reads_of(function)  # First: what another thread changes meanwhile is seen the next time.
    content = _wire.pack_program(function)
    program = _alive.setdefault(content, Program(_wire.name_of(function), content))
    if reads is not None:
        if len(_known) >= KNOWN_MAX:
            _known.clear()
        _known[id(function)] = Known(function, program, reads)
    return program


def reads_of(function):
    """All that its bytes depend on; None if that is more than can be looked at each time."""
    if is_named(function) and function.__module__ not in _wire.MAINS:
        return ()
    reads = []
    return tuple(reads) if type(function) is FunctionType and look_into(function, reads, set()) else None


def is_named(value):
    """Whether its bytes are only where it is found: a function or a class of a module, not a method of an object."""
    if type(value) is BuiltinFunctionType:
        return isinstance(value.__self__, ModuleType)
    if not isinstance(value, (FunctionType, type)):
        return False
    found = sys.modules.get(value.__module__)
    for name in value.__qualname__.split("."):
        found = getattr(found, name, None)
    return found is value


def look_into(function, reads, seen):
    """Notes what goes with a function by value; False if anything of it may change unseen."""
    if id(function) in seen:
        return True
    seen.add(id(function))
    if function.__dict__ or function.__kwdefaults__ or not all(map(is_constant, function.__defaults__ or ())):
        return False
    names = set()
    names_in(function.__code__, names)
    places = [(function.__globals__, name, function.__globals__.get(name, _MISSING)) for name in sorted(names)]
    try:
        places += [(cell, None, cell.cell_contents) for cell in function.__closure__ or ()]
    except ValueError:  # A cell that is empty yet.
        return False
    for place in places:
        value = place[2]
        if value is _MISSING or is_constant(value) or (type(value) is FunctionType and look_into(value, reads, seen)):
            reads.append(place)
        else:
            return False
    return True


def is_constant(value):
    return type(value) in ATOMS or isinstance(value, ModuleType) or (
        is_named(value) and value.__module__ not in _wire.MAINS)


def names_in(code, names):
    names.update(code.co_names)
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            names_in(constant, names)
