"""Exceptions as bytes and back. What a call raises reaches the caller as itself: with its class, its attributes and
notes, the exceptions that led to it (`__cause__`, `__context__`), and the members of a group.

Classes are made again without their `__init__`, which may ask for other arguments than the exception keeps as `args`. A
class with a `__reduce__` of its own is pickled by that."""
import builtins
import copyreg
import pickle
import types
import zlib

from penstock import _wire
from penstock.errors import RemoteTraceback, SubtaskFailed

DETAIL_MAX = 60_000  # Bytes of a report of a failure: the worker takes no larger one.
NODES_MAX = 10_000   # Exceptions of one report: the one raised, those that led to it, members of groups.
# Steps that make a report smaller, until it fits: the most bytes of an argument or attribute, the most exceptions.
STEPS = ((None, NODES_MAX), (16_000, NODES_MAX), (4_000, NODES_MAX), (500, NODES_MAX), (500, 200), (500, 20), (200, 1))
GROUP = getattr(builtins, "BaseExceptionGroup", ())
HEAP_TYPE = 1 << 9   # Py_TPFLAGS_HEAPTYPE: a class that is not one of the interpreter's own.
LEFT_OUT = {"obj"}   # Of an AttributeError: any object, however large. Pickles of Python 3.12 are without it, too.
TEXT_PART = 5000


def pack_failure(error, text):
    """The report of a failure: the exception, and its traceback as text. Its size is at most DETAIL_MAX."""
    for bytes_max, nodes_max in STEPS:
        try:
            raised = pickle.dumps(Raised(nodes_of(error, bytes_max, nodes_max)), 5)
        except Exception:
            break  # Not even its class can be pickled: the text is all that there is.
        told = text if bytes_max is None else shortened(text)
        detail = squeezed(_wire.pack((raised, told)))
        if len(detail) > DETAIL_MAX:
            detail = squeezed(_wire.pack((raised, shortened(text))))
        if len(detail) <= DETAIL_MAX:
            return detail
    return squeezed(_wire.pack((None, shortened(text))))


def unpack_failure(detail):
    """(the exception, or why it cannot be had here, or None; the text of where it was raised)."""
    error, text = None, ""
    try:
        error, text = _wire.unpack(detail)
        if error == "zlib":
            error, text = _wire.unpack(zlib.decompress(text))
        if isinstance(error, bytes):
            error = pickle.loads(error)
    except Exception as unreadable:  # An exception of a class that is not known here.
        error = f"(its exception cannot be read here: {unreadable})"
    return error, text


def squeezed(detail):
    """A report that is too large, in fewer bytes."""
    return detail if len(detail) <= DETAIL_MAX else _wire.pack(("zlib", zlib.compress(detail)))


def shortened(text, part=TEXT_PART):
    """The beginning and the end of a text."""
    left_out = len(text) - 2 * part
    return text if left_out <= 0 else f"{text[:part]}\n... {left_out} characters ...\n{text[-part:]}"


class Raised:
    """Stands in a pickle for an exception with all that led to it."""

    def __init__(self, nodes):
        self.nodes = nodes

    def __reduce__(self):
        return rebuild, (self.nodes,)


def nodes_of(error, bytes_max, nodes_max):
    """The exception and those that are reached from it, breadth first. A node: (bytes, one line for people, the
    numbers of its members or None, of its cause, of its context, whether that is suppressed); -1: there is none."""
    found, numbers = [error], {id(error): 0}

    def number_of(other):
        # A traceback of an earlier call stands in the text of this one.
        if not isinstance(other, BaseException) or isinstance(other, RemoteTraceback):
            return -1
        if id(other) not in numbers:
            if len(found) >= nodes_max:
                return -1
            numbers[id(other)] = len(found)
            found.append(other)
        return numbers[id(other)]
    links, at = [], 0
    while at < len(found):
        one = found[at]
        members = None
        if GROUP and isinstance(one, GROUP):
            members = [number_of(other) for other in one.exceptions]
            missing = members.count(-1)
            if missing:
                members = [number for number in members if number >= 0]
                members.append(len(found))
                found.append(SubtaskFailed(f"{missing} further exceptions of the group are left out: its report holds "
                                           f"{DETAIL_MAX} bytes"))
        links.append((members, number_of(one.__cause__), number_of(one.__context__), one.__suppress_context__))
        at += 1
    return [(bytes_of(one, bytes_max) if one is error else bytes_or_line(one, bytes_max), line_of(one), *link)
            for one, link in zip(found, links)]


def bytes_or_line(error, bytes_max):
    """Of one that led to what was raised, or a member: if not even its class can be pickled, what it says."""
    try:
        return bytes_of(error, bytes_max)
    except Exception as why:
        told = SubtaskFailed(f"{line_of(error)} (an exception that cannot be pickled: {why})")
        return _wire.pickle_whole((told, []), "")


def line_of(error, most=300):
    try:
        text = str(error)
    except Exception:
        text = "its text cannot be had"
    return f"{type(error).__name__}: {text}"[:most]


def is_whole(value):
    """Whether it can be pickled, and read again."""
    try:
        pickle.loads(_wire.pickle_whole(value, ""))
    except Exception:
        return False
    return True


def bytes_of(error, bytes_max):
    """One exception alone: what its class makes of it, or else its parts."""
    kind = type(error)
    base = builtin_base(kind)
    if bytes_max is None and (kind.__reduce__ is not base.__reduce__ or kind.__reduce_ex__ is not object.__reduce_ex__
                              or kind in copyreg.dispatch_table):
        try:
            data = _wire.pickle_whole((error, notes_of(error)), "the exception")
            pickle.loads(data)
            return data
        except Exception:
            pass
    parts = parts_of(error, kind, base)
    if bytes_max is None:
        try:
            data = _wire.pickle_whole(parts, "the exception")
            pickle.loads(data)
            return data
        except Exception:
            pass
    return _wire.pickle_whole(readable(parts, bytes_max), "the exception")


def builtin_base(kind):
    """The class of the interpreter's own that gives its instances their shape."""
    while kind.__flags__ & HEAP_TYPE:
        kind = kind.__base__
    return kind


def notes_of(error):
    return list(getattr(error, "__notes__", ()))


def parts_of(error, kind, base):
    """(class, what its built-in base is made of, args, attributes)."""
    if GROUP and isinstance(error, GROUP):  # Its members are nodes of their own.
        return kind, (error.message,), (), dict(vars(error))
    state = {}
    for owner in base.__mro__:  # What the interpreter keeps outside of the dictionary: `errno`, `code`, `lineno`.
        for name, place in vars(owner).items():
            if isinstance(place, types.MemberDescriptorType) and name[0] != "_" and name not in LEFT_OUT:
                state[name] = getattr(error, name, None)
    state.update({name: getattr(error, name) for name in copyreg._slotnames(kind) if hasattr(error, name)})
    state = {name: value for name, value in state.items() if value is not None}
    return kind, base.__reduce__(error)[1], error.args, {**state, **vars(error)}


def readable(parts, bytes_max):
    """The same without what cannot be pickled, and with both ends of what is larger than `bytes_max`."""
    kind, made_of, args, state = parts
    lost, cut = [], []

    def kept(value, name):
        if not is_whole(value):
            lost.append(name)
            return repr_of(value)
        if bytes_max is not None and len(_wire.pickle_whole(value, "")) > bytes_max:
            cut.append(name)
            return part_of(value, bytes_max)
        return value
    before = args
    args = tuple([kept(value, f"args[{index}]") for index, value in enumerate(before)])
    places = {id(value): args[index] for index, value in enumerate(before)}
    made_of = tuple([places[id(value)] if id(value) in places else kept(value, "message") for value in made_of])
    kept_state = {}
    for name, value in state.items():
        if not is_whole(value):
            lost.append(name)
        else:
            kept_state[name] = places[id(value)] if id(value) in places else kept(value, name)
    said = []
    if lost:
        said.append(f"{', '.join(lost)} cannot be pickled, and did not come along")
    if cut:
        said.append(f"{', '.join(cut)} shortened: a report of a failure holds {DETAIL_MAX} bytes")
    if said:
        notes = kept_state["__notes__"] if isinstance(kept_state.get("__notes__"), list) else []
        kept_state["__notes__"] = [*notes, *["penstock: " + line for line in said]]
    return kind, made_of, args, kept_state


def part_of(value, size):
    """The beginning and the end of a value, as readable as they can be."""
    half = size // 2
    if isinstance(value, (bytes, bytearray)):
        return bytes(value[:half]) + b" ... " + bytes(value[-half:])
    return shortened(value if isinstance(value, str) else repr_of(value), half)


def repr_of(value):
    try:
        return repr(value)
    except Exception:
        return f"<{type(value).__name__} that cannot be shown>"


def rebuild(nodes):
    """Called by the unpickler of a report: the exception that was raised."""
    made, groups = [None] * len(nodes), {}
    for at, (data, line, members, *_) in enumerate(nodes):
        try:
            parts = pickle.loads(data)
            if isinstance(parts[0], BaseException):
                made[at] = parts[0]
                if parts[1] and not hasattr(made[at], "__notes__"):
                    made[at].__notes__ = parts[1]
            elif members is None:
                made[at] = remake(*parts)
            else:
                groups[at] = parts
        except Exception as error:
            if at == 0:
                raise
            made[at] = unreadable(line, error)
    while groups:  # A group is made of members that are there.
        ready = [at for at in groups if not any(member in groups for member in nodes[at][2])]
        for at in ready or list(groups):
            kind, made_of, _, state = groups.pop(at)
            members = [made[member] or unreadable(nodes[member][1], "it leads to itself") for member in nodes[at][2]]
            try:
                made[at] = remake(kind, (*made_of, members), None, state)
            except Exception as error:
                if at == 0:
                    raise
                made[at] = unreadable(nodes[at][1], error)
    for error, (_, _, _, cause, context, suppress) in zip(made, nodes):
        error.__cause__ = made[cause] if cause >= 0 else None
        error.__context__ = made[context] if context >= 0 else None
        error.__suppress_context__ = suppress
    return made[0]


def unreadable(line, why):
    return SubtaskFailed(f"{line} (an exception that cannot be read here: {why})")


def remake(kind, made_of, args, state):
    """An exception of that class, without its `__init__`."""
    base = builtin_base(kind)
    error = base.__new__(kind, *made_of)
    try:
        base.__init__(error, *made_of)
    except TypeError:  # Its arguments are not what its base asks for; attributes follow.
        pass
    if args is not None:
        error.args = args
    for name, value in state.items():
        if isinstance(getattr(kind, name, None), types.MemberDescriptorType):
            object.__setattr__(error, name, value)
        else:
            vars(error)[name] = value  # Not by the class: a property of that name may refuse it.
    return error


def lead_to(error, remote):
    """Puts the remote traceback, which tells of all of them, below the causes that the exception has."""
    seen = {id(error)}
    while error.__cause__ is not None and id(error.__cause__) not in seen:
        error = error.__cause__
        seen.add(id(error))
    suppressed = error.__suppress_context__
    error.__cause__ = remote
    error.__suppress_context__ = suppressed
