"""The Python runner: `_start` begins with it in a process of a worker; it runs one subtask after the other."""
import _signal  # Its `getsignal` takes a tenth of the time of the other.
import atexit
import contextlib
import ctypes
import os
import pickle
import signal
import sys
import traceback
from _thread import get_ident
from types import CoroutineType

from penstock import _abi, _raised, _warned, _wire
from penstock.errors import ActorDied, MissingModule, NotSerializable, VersionMismatch


serving = None  # The `Runner` of this process; `_attempt` asks it.
KEPT_BYTES = 64 << 20  # Of freed memory; half of what a runner may hold without being counted (worker.runner_bytes_spared).
_M_TRIM_THRESHOLD, _M_MMAP_THRESHOLD = -1, -3  # <malloc.h>
RETURN = "return what it is made of, and make it where it is needed"
# What repeating would not mend, and how the worker calls it: penstock_runner_fail_as.
NOT_MENDED = ((NotSerializable, b"InvalidArgument"), (MissingModule, b"ProgramNotFound"),
              (VersionMismatch, b"VersionMismatch"), (ActorDied, b"InvalidArgument"))


class Inputs:
    """The inputs of the present run, unpacked when they are asked for."""

    def __init__(self, library, handle, run):
        self.library, self.handle, self.run = library, handle, run
        self.owner, self.large, self.values = None, {}, {}

    def reset(self):
        self.owner, self.large = None, {}
        if self.values:
            self.values = {}

    def __call__(self, index):
        if index not in self.values:
            self.values[index] = _wire.unpack_own(self.bytes(index))
        return self.values[index]

    def bytes(self, index):
        """A segment stays mapped for as long as anybody looks into it; what came with the message is copied."""
        if self.run.large_inputs and self.owner is None:
            count = self.run.large_inputs
            self.owner = _abi.Owned(self.library.runner_take_inputs(self.handle))
            views = self.library.data_views(self.owner.handle)
            self.large = {views[i].data: i for i in range(count)}
        view = self.run.inputs[index]
        if view.data in self.large:
            return _abi.view_of(self.large[view.data], view.data, view.size, self.owner)
        return _abi.bytes_at(view)


class Runner:
    def __init__(self, descriptor, command):
        self.command = command  # Variables with which its client has started it, for calls that submit calls.
        self.library = _abi.library()
        version = "%d.%d.%d" % sys.version_info[:3]
        self.handle = self.library.check(self.library.runner_open(descriptor, b"python", version.encode()))
        self.run = _abi.Run()
        self.inputs = Inputs(self.library, self.handle, self.run)
        self.programs, self.generation = {}, 0
        self.in_user_code, self.interrupted, self.thread = False, False, get_ident()
        self.lent = False      # The slot of the present call.
        self.warned = _warned.Notes()
        self.broken = None     # What the client's setup of this process has raised, see `_setup`.
        self.forget_client = None  # Set by a call that submits calls: its client may be in the midst of anything.
        _wire.set_inputs(self.inputs)
        self.handler = self.interrupt  # One object, to be known again.
        signal.signal(signal.SIGINT, self.handler)

    # A signal that was meant for a run that has just ended must not hit the next one.
    def interrupt(self, _signal, _frame):
        if self.in_user_code:
            self.in_user_code, self.interrupted = False, True
            raise KeyboardInterrupt("the subtask was cancelled")

    def serve(self):
        run, reference = self.run, ctypes.byref(self.run)
        next_run, succeed_with, handle = self.library.runner_next, self.library.runner_succeed_with, self.handle
        inputs, string_at, head = self.inputs, ctypes.string_at, _wire.HEAD
        handler_of, interrupt, handler = _signal.getsignal, int(signal.SIGINT), self.handler
        arguments, warned = None, self.warned
        while True:
            answer = next_run(handle, reference)
            if answer == -2:
                continue
            if answer != 1:
                return 0 if answer == 0 else 1
            try:
                function = None
                if run.programs_generation != self.generation:
                    self.programs.clear()
                    self.generation = run.programs_generation
                function = self.programs.get(run.program)
                if function is None:
                    function = self.load(run)
                size = run.payload.size
                self.in_user_code, self.interrupted, self.lent = True, False, False
                if size:
                    arguments, keywords = pickle.loads(string_at(run.payload.data, size))
                    result = function(*arguments, **keywords)
                else:
                    result = function()
                if result.__class__ is CoroutineType:
                    import asyncio
                    result = asyncio.run(result)
                self.in_user_code = False
                if self.interrupted:  # The function has caught it: its result may be a part.
                    raise KeyboardInterrupt("the subtask was cancelled")
                if run.output_count > 1:
                    self.store_all(result, function, warned)
                else:
                    if warned.notes:
                        result = _warned.Warned(result, warned.take())
                    data, buffers = _wire.pickle_with_buffers(result, function, RETURN)
                    if not buffers and len(data) < 60000:
                        succeed_with(handle, head.pack(_wire.MAGIC, 0, len(data)) + data, head.size + len(data))
                    else:
                        self.store(data, buffers)
                        self.library.check(self.library.runner_succeed(handle))
            except BaseException as error:
                self.in_user_code = False
                if self.interrupted and self.forget_client is not None:
                    self.forget_client()
                was_read = function is None or arguments is not None or not size
                self.fail(error if was_read else _wire.unreadable(error, function))
            if handler_of(interrupt) is not handler:  # The function has put another there.
                signal.signal(interrupt, handler)
            result = arguments = keywords = data = buffers = None
            if warned.notes:  # Of a call that has failed.
                warned.take()
            inputs.reset()

    def lend_slot(self):
        self.library.check(self.library.runner_yield_slot(self.handle))
        self.lent = True

    def take_slot_back(self):
        self.lent = False
        # After a signal its handler has its turn here, and may raise.
        while (answer := self.library.runner_take_slot_back(self.handle)) == -2:
            pass
        if answer == 0:
            return
        error = self.library.failure()
        if error.code != "Cancelled":
            raise error
        # As `interrupt`, which may come later, or has come and is on its way out of the block.
        if self.in_user_code:
            self.in_user_code, self.interrupted = False, True
            raise KeyboardInterrupt("the subtask was cancelled")

    def load(self, run):
        if self.broken is not None:
            raise self.broken
        self.in_user_code = True
        function = _wire.load_program(_abi.bytes_at(run.program_content))
        self.in_user_code = False
        self.programs[run.program] = function
        return function

    def store_all(self, result, function, warned):
        from penstock._outputs import values_of
        values = list(values_of(result, self.run.output_count, _wire.name_of(function)))
        if warned.notes:
            values[0] = _warned.Warned(values[0], warned.take())
        for output, value in enumerate(values):
            self.store(*_wire.pickle_with_buffers(value, function, RETURN), output)
        self.library.check(self.library.runner_succeed(self.handle))

    def store(self, data, buffers, output=0):
        raws = [buffer.raw() for buffer in buffers]
        size = _wire.measure(data, raws)
        address = self.library.check(self.library.runner_output(self.handle, output, size))
        target = memoryview((ctypes.c_char * size).from_address(address)).cast("B")
        _wire.write(target, data, raws)

    def fail(self, error):
        if type(error) is ModuleNotFoundError and error.name:
            renamed = _wire.missing(error)
            renamed.__cause__ = error
            error = renamed
        code = None if isinstance(error.__cause__, (MemoryError, OSError)) else next(
            (code for kind, code in NOT_MENDED if isinstance(error, kind)), None)
        leave_us_out(error)
        text = "".join(traceback.format_exception(type(error), error, error.__traceback__))
        line = "".join(without_notes(error).format_exception_only()).strip().split("\n")[-1][:1000]
        detail = _raised.pack_failure(error, text)
        error.__traceback__ = error.__context__ = error.__cause__ = None  # Their frames hold the arguments.
        with contextlib.suppress(Exception):  # It may be the user's, and closed.
            sys.stdout.flush()
        line = line.encode(errors="replace").replace(b"\0", b"?")
        self.library.runner_fail_as(self.handle, code, line, detail, len(detail))


def without_notes(error):
    """What is printed of it: notes would hide its message, where there is room for one line."""
    printed = traceback.TracebackException(type(error), error, None)
    printed.__notes__ = None
    return printed


def leave_us_out(error):
    """Of the tracebacks of an error and of what led to it, what stands before the first frame of the user's code."""
    ours, seen = os.path.dirname(__file__), set()
    while error is not None and id(error) not in seen:
        seen.add(id(error))
        trace = error.__traceback__
        while trace is not None and os.path.dirname(trace.tb_frame.f_code.co_filename) == ours:
            trace = trace.tb_next
        error.__traceback__ = trace
        error = error.__cause__ or error.__context__


def main(command):
    # What the user's code reads as its input must not be the worker's socket, nor may its children have it.
    descriptor = os.dup(0)
    os.set_inheritable(descriptor, False)
    nothing = os.open(os.devnull, os.O_RDONLY)
    os.dup2(nothing, 0)
    os.close(nothing)
    global serving
    keep_freed_memory()
    serving = Runner(descriptor, command)
    if "PENSTOCK_SETUP" in os.environ:
        from penstock import _setup
        serving.broken = _setup.run()
    status = serving.serve()
    end_orderly()
    os._exit(status)  # Threads that the user's code has left behind do not keep the slot.


def keep_freed_memory():
    """Large arrays take memory that was freed before. By default the C library gives it back to the system, and each page of
    the next array costs a fault: a quarter of the processor time of joins and sorts (docs/data-plane.md). What the user's
    environment says about `malloc` stays in force."""
    if any(name.startswith("MALLOC_") or name == "GLIBC_TUNABLES" for name in os.environ):
        return
    with contextlib.suppress(AttributeError):  # Another C library than glibc.
        mallopt = ctypes.CDLL(None).mallopt
        mallopt(_M_MMAP_THRESHOLD, KEPT_BYTES)
        mallopt(_M_TRIM_THRESHOLD, KEPT_BYTES)


def end_orderly():
    """What functions have registered for the end of their process is called, as in pools of the standard library. The
    worker waits for it, but not for ever (`worker.kill_grace`)."""
    try:
        atexit._run_exitfuncs()
    except BaseException:  # It has told of all but the last.
        traceback.print_exc()
    with contextlib.suppress(Exception):
        sys.stdout.flush()
        sys.stderr.flush()
    ctypes.CDLL(None).fflush(None)  # What libraries have printed.
