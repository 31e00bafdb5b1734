"""What can go wrong, one class for each kind."""
from typing import List, Optional


class PenstockError(Exception):
    """Anything that Penstock itself refuses or reports; `remedy` says what to do about it."""

    def __init__(self, message: str = "", *, subject: str = "", remedy: str = "", code: str = ""):
        self.subject, self.message, self.remedy, self.code = subject, message, remedy, code
        text = f"{subject}: {message}" if subject else message
        super().__init__(f"{text} ({remedy})" if remedy else text)

    def __reduce__(self):
        ours = ("message", "subject", "remedy", "code")
        state = {name: value for name, value in vars(self).items() if name not in ours}
        return _rebuild, (type(self), *[getattr(self, name, "") for name in ours], state)


def _rebuild(kind, message, subject, remedy, code, state=None):
    error = kind(message, subject=subject, remedy=remedy, code=code)
    for name, value in (state or {}).items():
        setattr(error, name, value)
    return error


class ClientClosed(PenstockError, RuntimeError):
    """The client was closed; its futures and jobs are gone."""


class NotSerializable(PenstockError, TypeError):
    """A function, an argument or a result cannot be pickled; names it and the part that resists."""


class WrongGraph(PenstockError, TypeError):
    """A handle was given to another graph than its own."""


class DatasetExists(PenstockError):
    """A dataset of that name is published already."""


class ResultTooLarge(PenstockError):
    """A result or a scattered object is larger than what may be stored."""

    history: List[str] = []
    output_tail: str = ""
    exit_code: int = -1
    signal: int = 0


class ResultLost(PenstockError):
    """The result is gone: its job was released, or its last holder died."""

    history: List[str] = []
    output_tail: str = ""
    exit_code: int = -1
    signal: int = 0


class MissingModule(PenstockError, ModuleNotFoundError):
    """A module that the function needs is not installed where it runs."""

    def __reduce__(self):
        rebuild, (*parts, state) = super().__reduce__()
        return rebuild, (*parts, {**state, "name": self.name})


class VersionMismatch(PenstockError):
    """Client and runner use Pythons, or Penstocks, that do not understand each other."""


class ConnectionFailed(PenstockError, ConnectionError):
    """There is no supervisor at the address, or the connection broke and did not come back."""


class PermissionDenied(PenstockError, PermissionError):
    """This user has no credential for the cluster, or its role has no right to this; see docs/security.md."""


class SubtaskFailed(PenstockError):
    """A subtask failed without an exception of its own: its runner died, ran out of memory or time, ..."""

    history: List[str] = []
    output_tail: str = ""
    exit_code: int = -1
    signal: int = 0


class RunnerCrashed(SubtaskFailed):
    """The process that ran the subtask died or broke the protocol."""


class OutOfMemory(SubtaskFailed, MemoryError):
    """The runner used more memory than the subtask had requested."""


class TimedOut(SubtaskFailed, TimeoutError):
    """The subtask exceeded its time limit."""


class ActorDied(PenstockError, RuntimeError):
    """The actor is gone, or has died while a call of it was under way, which may have run, or a part of it."""


_BY_CODE = {"Unreachable": ConnectionFailed, "Disconnected": ConnectionFailed, "VersionMismatch": VersionMismatch, "PermissionDenied": PermissionDenied,
            "LimitExceeded": ResultTooLarge, "StorageFull": ResultTooLarge, "NotFound": ResultLost,
            "InputLost": ResultLost}
REFUSED = 8                                 # FailureClass of common/protocol/failure.hpp.
NO_PENSTOCK = "No module named 'penstock'"  # What a Python without this package says.
OTHER_PYTHON = "the client runs Python "    # What another one says that finds no library: `_start`.
_REMEDIES = {ResultTooLarge: "make it in parts that fit, or give the worker, or Client(), more memory"}
_BY_CLASS = {2: RunnerCrashed, 3: OutOfMemory, 4: TimedOut, 5: ResultLost}


def error_of(code: str, subject: str, message: str, remedy: str) -> PenstockError:
    """The exception for an error of the library."""
    remedy = remedy.replace("submit with --wait-for-resources", "submit a graph with wait_for_resources=True")
    return _BY_CODE.get(code, PenstockError)(message, subject=subject, remedy=remedy, code=code)


def of_submitting(error: PenstockError) -> PenstockError:
    """Of what is not found then, or by a question, only a borrowed value is a result."""
    if error.code != "NotFound" or "borrows output" in error.message:
        return error
    return PenstockError(error.message, subject=error.subject, remedy=error.remedy, code=error.code)


def what_went_before(history: List[str], output_tail: str) -> str:
    """The attempts, if there was more than one, and the end of what the last of them has written."""
    attempts = "attempts:\n  " + "\n  ".join(history) + "\n" if len(history) > 1 else ""
    return attempts + ("last lines that it wrote:\n" + output_tail if output_tail else "")


def failure_of(failure_class: int, message: str, name: str, history: List[str], output_tail: str, exit_code: int,
               signal: int, code: str = "") -> PenstockError:
    """The exception for a subtask that failed without one."""
    text = f"{message}\n{what_went_before(history, output_tail)}".rstrip("\n")
    if failure_class == REFUSED and NO_PENSTOCK in output_tail:
        return MissingModule(text, subject=name, remedy="install this package, penstock, for that Python")
    kind = _BY_CLASS.get(failure_class, SubtaskFailed)
    if failure_class == REFUSED and code == "LimitExceeded":
        kind = ResultTooLarge
    if code == "VersionMismatch" or failure_class == REFUSED and OTHER_PYTHON in output_tail:
        kind = VersionMismatch
    error = kind(text, subject=name, remedy=_REMEDIES.get(kind, ""), code=code)
    error.history, error.output_tail, error.exit_code, error.signal = history, output_tail, exit_code, signal
    return error


def lost_loan(error: BaseException) -> int:
    """The subtask that was to borrow a value that is lost, by what the supervisor says of it; -1: it is something else, such
    as what a program has raised, whose own loans are in another job."""
    if isinstance(error, ResultLost) and "borrows output" in error.message and remote_traceback(error) is None:
        for text in (error.message.partition(": ")[0], error.subject):
            number = text.partition("'")[2].partition("'")[0]
            if text.startswith("subtask '") and number.isdigit():
                return int(number)
    return -1


def about(error: BaseException, key: str) -> BaseException:
    """What became of a subtask without a name of its own, named by the key of its future."""
    if not isinstance(error, PenstockError) or not str(getattr(error, "subject", "")).isdigit():
        return error
    named = type(error)(error.message, subject=key, remedy=error.remedy, code=error.code)
    named.__dict__.update({name: value for name, value in vars(error).items() if name != "subject"})
    named.__cause__ = error.__cause__
    return named


class RemoteTraceback(Exception):
    """The traceback of an exception where it was raised, with its attempts and the last lines that the last one wrote;
    the first cause of the one that is raised here; `remote_traceback` finds it."""

    def __init__(self, text: str, history: Optional[List[str]] = None, output_tail: str = ""):
        self.text, self.history, self.output_tail = text, history or [], output_tail
        super().__init__(text)

    def __str__(self):
        return "\n" + self.text.rstrip("\n") + "\n" + what_went_before(self.history, self.output_tail)

    def __reduce__(self):
        return RemoteTraceback, (self.text, self.history, self.output_tail)


def remote_traceback(error: Optional[BaseException]) -> Optional[RemoteTraceback]:
    """Where a call raised what came here, with its attempts and its last lines. It is the first of the causes, below those
    that the exception had there; None: the exception was not raised by a call."""
    seen = set()
    while error is not None and id(error) not in seen:
        if isinstance(error, RemoteTraceback):
            return error
        seen.add(id(error))
        error = error.__cause__
    return None
