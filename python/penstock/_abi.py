"""libpenstock.so by ctypes: the declarations of penstock.h, and errors as exceptions."""
import ctypes
import os
import pathlib
import struct
from ctypes import POINTER, c_char_p, c_int32, c_int64, c_uint32, c_uint64, c_void_p

from penstock.errors import PenstockError, error_of

NATIVE, COMMAND, PROCESS = 0, 1, 2
RUNNING, SUCCEEDED, FAILED, CANCELLED = 0, 1, 2, 3
ABI = 1


class Bytes(ctypes.Structure):
    _fields_ = [("data", c_void_p), ("size", c_uint64)]


class Error(ctypes.Structure):
    _fields_ = [("code", c_uint32), ("name", c_char_p), ("subject", c_char_p), ("message", c_char_p),
                ("remedy", c_char_p)]


class Amount(ctypes.Structure):
    _fields_ = [("name", c_char_p), ("amount", c_int64)]


class Sized(ctypes.Structure):
    """A struct that begins with its own size."""

    def __init__(self, **members):
        super().__init__(size=ctypes.sizeof(type(self)), **members)


class Template(Sized):
    _fields_ = [("size", c_uint64), ("name", c_char_p), ("program", c_char_p), ("arguments", POINTER(c_char_p)),
                ("argument_count", c_uint32), ("environment_count", c_uint32), ("environment", POINTER(c_char_p)),
                ("working_directory", c_char_p), ("payload", Bytes), ("runner", c_uint32), ("milli_slots", c_uint32),
                ("memory_bytes", c_int64), ("resources", POINTER(Amount)), ("resource_count", c_uint32),
                ("priority", c_int32), ("attempts_max", c_uint32), ("output_count", c_uint32),
                ("continue_on_failure", c_uint32), ("not_retryable", c_uint32), ("time_limit_ns", c_int64),
                ("required_worker", c_char_p), ("preferred_worker", c_char_p), ("expected_ns", c_int64),
                ("milli_gpu", c_uint32), ("never_overlaps", c_uint32), ("gpu_memory_bytes", c_int64),
                ("memory_bytes_max", c_int64)]


class Subtasks(Sized):
    _fields_ = [("size", c_uint64), ("count", c_uint32), ("name_bytes", c_uint32), ("templates", c_void_p),
                ("input_offsets", c_void_p), ("predecessors", c_void_p), ("outputs", c_void_p),
                ("payload_offsets", c_void_p), ("payloads", c_char_p), ("priorities", c_void_p),
                ("name_offsets", c_void_p), ("names", c_char_p)]


class ClientOptions(Sized):
    _fields_ = [("size", c_uint64), ("address", c_char_p), ("name", c_char_p), ("slots", c_uint32),
                ("runners_warm", c_uint32), ("memory_bytes", c_int64), ("runner", POINTER(Template)),
                ("operators", POINTER(c_char_p)), ("operator_count", c_uint32), ("connect_timeout_ms", c_uint32)]


class JobOptions(Sized):
    _fields_ = [("size", c_uint64), ("name", c_char_p), ("owner", c_char_p), ("priority", c_int32),
                ("keep_nothing", c_uint32), ("wait_for_resources", c_uint32), ("project", c_char_p),
                ("account", c_char_p), ("pool", c_char_p), ("weight_thousandths", c_uint32), ("slots_max", c_uint32),
                ("gang", c_uint32), ("kind", c_uint32), ("qos", c_char_p), ("queue", c_char_p),
                ("user_factor_lowered_thousandths", c_uint32), ("pools", POINTER(c_char_p)), ("pool_count", c_uint32),
                ("label_count", c_uint32), ("labels", POINTER(c_char_p)), ("grace_ms", c_uint64),
                ("preemptible", c_uint32), ("gang_max", c_uint32), ("time_limit_ns", c_int64), ("together", c_char_p),
                ("gang_groups", c_uint32), ("detached", c_uint64), ("parent_attempt", c_char_p), ("parent_job", c_uint64),
                ("secrets", POINTER(c_char_p)), ("secret_count", c_uint64), ("share", c_char_p)]


class Counts(ctypes.Structure):
    _fields_ = [(name, c_uint64) for name in ("total", "succeeded", "failed", "cancelled", "assigned", "attempts")]


class Range(ctypes.Structure):
    _fields_ = [("first", c_uint32), ("last", c_uint32)]


class Failure(ctypes.Structure):
    _fields_ = [("subtask", c_uint32), ("failure_class", c_uint32), ("exit_code", c_int32), ("signal", c_int32),
                ("peak_memory_bytes", c_int64), ("name", c_char_p), ("message", Bytes), ("output_tail", Bytes),
                ("detail", Bytes), ("history", POINTER(c_char_p)), ("history_count", c_uint64)]


class News(ctypes.Structure):
    _fields_ = [("job", c_int64), ("state", c_int32), ("failure_count", c_uint32), ("counts", Counts),
                ("succeeded", POINTER(Range)), ("succeeded_count", c_uint64), ("cancelled", POINTER(Range)),
                ("cancelled_count", c_uint64), ("failures", POINTER(Failure))]


class Submitted(Sized):
    identity = b""  # As `Library.identity_of` has it.
    _fields_ = [("size", c_uint64), ("job", c_int64), ("existed", c_uint32), ("ours", c_uint32)]


class Identity(ctypes.Structure):
    _fields_ = [("high", c_uint64), ("low", c_uint64)]


class Run(Sized):
    _fields_ = [("size", c_uint64), ("program", c_uint64), ("programs_generation", c_uint64),
                ("program_content", Bytes), ("payload", Bytes), ("inputs", POINTER(Bytes)), ("input_count", c_uint32),
                ("large_inputs", c_uint32), ("job", c_uint32), ("subtask", c_uint32), ("attempt", c_uint32),
                ("output_count", c_uint32), ("attempt_number", c_uint64), ("attempt_id", c_char_p)]


# Name: result, arguments.
FUNCTIONS = {
    "abi": (c_uint32, []),
    "version": (c_char_p, []),
    "last_error": (Error, []),
    "graph_new": (c_void_p, []),
    "graph_free": (None, [c_void_p]),
    "graph_add_template": (c_int64, [c_void_p, POINTER(Template)]),
    "graph_add_subtasks": (c_int64, [c_void_p, POINTER(Subtasks)]),
    "graph_want": (c_int32, [c_void_p, c_void_p, c_uint64]),
    "client_open": (c_void_p, [POINTER(ClientOptions)]),
    "client_in_run": (c_void_p, [c_char_p]),
    "client_close": (None, [c_void_p]),
    "client_interrupt": (None, [c_void_p]),
    "client_slots": (c_uint32, [c_void_p]),
    "client_credential": (c_void_p, [c_void_p]),
    "submit": (c_int64, [c_void_p, c_void_p, POINTER(JobOptions)]),
    "submit_told": (c_int64, [c_void_p, c_void_p, POINTER(JobOptions), POINTER(Submitted)]),
    "attach": (c_int64, [c_void_p, c_char_p]),
    "detach": (None, [c_void_p, c_int64]),
    "job_identity": (c_int32, [c_void_p, c_int64, POINTER(Identity)]),
    "wait": (c_int32, [c_void_p, c_int64, c_int64]),
    "job_counts": (c_int32, [c_void_p, c_int64, POINTER(Counts)]),
    "job_error": (c_int32, [c_void_p, c_int64]),
    "cancel": (c_int32, [c_void_p, c_int64]),
    "cancel_subtask": (c_int32, [c_void_p, c_int64, c_uint32]),
    "job_log": (c_void_p, [c_void_p, c_int64, c_int64]),
    "ask": (c_void_p, [c_void_p, c_char_p, POINTER(c_char_p), c_uint64]),
    "release": (None, [c_void_p, c_int64]),
    "release_outputs": (c_int32, [c_void_p, c_int64, c_void_p, c_uint64]),
    "fetch": (c_void_p, [c_void_p, c_int64, c_void_p, c_uint64, c_uint32]),
    "data_views": (POINTER(Bytes), [c_void_p]),
    "data_free": (None, [c_void_p]),
    "data_write": (c_void_p, [c_void_p, c_uint64]),
    "want_news": (None, [c_void_p]),
    "next_news": (POINTER(News), [c_void_p, c_int64]),
    "news_free": (None, [POINTER(News)]),
    "failure_code": (c_char_p, [POINTER(News), c_uint32]),
    "wake_news": (None, [c_void_p]),
    "job_failures": (POINTER(News), [c_void_p, c_int64]),
    "runner_open": (c_void_p, [c_int32, c_char_p, c_char_p]),
    "runner_next": (c_int32, [c_void_p, POINTER(Run)]),
    "runner_take_inputs": (c_void_p, [c_void_p]),
    "runner_output": (c_void_p, [c_void_p, c_uint32, c_uint64]),
    "runner_succeed": (c_int32, [c_void_p]),
    "runner_succeed_with": (c_int32, [c_void_p, c_char_p, c_uint64]),
    "runner_fail_as": (c_int32, [c_void_p, c_char_p, c_char_p, c_char_p, c_uint64]),
    "runner_yield_slot": (c_int32, [c_void_p]),
    "runner_take_slot_back": (c_int32, [c_void_p]),
    "runner_close": (None, [c_void_p]),
}


def candidates():
    """Where the library may be, the likeliest first."""
    named = os.environ.get("PENSTOCK_LIBRARY")
    if named:
        return [named]
    here = pathlib.Path(__file__).resolve().parent
    tree = [str(here.parents[1] / "build" / preset / "libpenstock.so") for preset in ("release", "dev")]
    return [str(here / "libpenstock.so"), *tree, "libpenstock.so.0", "libpenstock.so"]


class Library:
    """The functions of penstock.h without their prefix, e.g. `library.graph_new()`."""

    def __init__(self):
        tried = []
        for path in candidates():
            if os.sep in path and not os.path.exists(path):
                tried.append(path)
                continue
            try:
                loaded = ctypes.CDLL(path)
                break
            except OSError as error:
                tried.append(f"{path} ({error})")
        else:
            raise PenstockError("libpenstock.so was not found or cannot be loaded",
                                remedy="build it (cmake --build --preset release --target penstock_shared) or set "
                                       "PENSTOCK_LIBRARY; tried: " + "; ".join(tried))
        self.path = path
        for name, (result, arguments) in FUNCTIONS.items():
            function = getattr(loaded, "penstock_" + name, None)
            if function is None:
                raise PenstockError(f"{path} is older than this package: it has no penstock_{name}",
                                    remedy="install the package and the library of one version")
            function.restype, function.argtypes = result, arguments
            setattr(self, name, function)
        if self.abi() != ABI:
            raise PenstockError(f"{path} speaks version {self.abi()} of the interface, this package {ABI}",
                                remedy="install the package and the library of one version")

    def failure(self):
        """The last error of this thread, as an exception."""
        error = self.last_error()
        return error_of(error.name.decode(), error.subject.decode(errors="replace"),
                        error.message.decode(errors="replace"), error.remedy.decode(errors="replace"))

    def identity_of(self, client, job):
        """The end of the payload of what borrows from a job that was just given: which one its number means. b"": it has none."""
        identity = Identity()
        self.job_identity(client, job, identity)  # The job is accepted: what cannot be known is not said.
        return struct.pack("<QQ", identity.high, identity.low) if identity.high | identity.low else b""

    def check(self, number):
        """`number`, or the exception that it stands for."""
        if number is None or (number.__class__ is int and number < 0):
            raise self.failure()
        return number


_library = None


def library():
    """Loaded with the first use, so that the package can be imported without it."""
    global _library
    if _library is None:
        _library = Library()
    return _library


def text(value):
    """A C text, which would end at a NUL."""
    if value is None:
        return None
    encoded = str(value).encode()
    if b"\0" in encoded:
        raise ValueError(f"{value!r} has a NUL in it")
    return encoded


def texts(values):
    """An array of C texts, or None for none."""
    return (c_char_p * len(values))(*map(text, values)) if values else None


def uint32s(numbers):
    return (c_uint32 * len(numbers))(*numbers)


def bytes_at(view):
    """A copy of what a `Bytes` shows."""
    return ctypes.string_at(view.data, view.size) if view.size else b""


def places_of(views, count):
    """(address, size) of each of so many `Bytes`; faster than one after the other by ctypes."""
    return list(struct.iter_unpack("PQ", ctypes.string_at(views, count * ctypes.sizeof(Bytes))))


class Owned:
    """A `penstock_data` that is freed with the last Python object that looks into it."""

    def __init__(self, handle):
        self.handle = handle

    def __del__(self):
        handle, self.handle = self.handle, None
        if handle and _library is not None:
            _library.data_free(handle)


def view_of(index, address, size, owner):
    """A memoryview of a view of `owner`, which lives for as long as anybody has it, or a part of it. What is written to it
    nobody else sees; if the system has nothing for that, it is read-only."""
    if not size:
        return memoryview(b"")
    own = _library.data_write(owner.handle, index)
    array = (ctypes.c_char * size).from_address(own or address)
    array.owner = owner
    view = memoryview(array).cast("B")
    return view if own else view.toreadonly()


