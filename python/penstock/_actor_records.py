"""What the supervisor keeps about actors: a variable for each name, one for the place of each actor, and a lock that an owner
holds. Whether an actor lives is for the state of its job to say, which outlives every process."""
import base64
import os
import struct
from typing import Any, Dict, List, Optional, Tuple


from penstock import _actor_wire as wire
from penstock import _identity, _wire
from penstock.coordination import Lock, Variable, session_of
from penstock.errors import ActorDied, PenstockError, ResultTooLarge

PREFIX = "actor"         # Of the names of jobs; `list` finds actors by it.
KEPT = "penstock.actor"  # Of the names of variables and locks.
_INPUTS = struct.Struct("<QI")
RESTARTS_MAX = 60_000
ENDING_S = 10.0          # A client hears of the end of a job a moment after the supervisor.


def at(identity: str, client: Any) -> Variable:
    """Where the present incarnation is reached, and how often it was started."""
    return Variable(f"{KEPT}.at {identity}", client)


def named(name: str, client: Any) -> Variable:
    """What was created under a name."""
    return Variable(f"{KEPT}.name {name}", client)


def naming(name: str, client: Any) -> Lock:
    """Held while a name is given away."""
    return Lock(f"{KEPT}.naming {name}", client)


def owner(token: str, client: Any) -> Lock:
    """Held by the client with which its actors are to end, for as long as it lives."""
    return Lock(f"{KEPT}.owner {token}", client)


def peek(variable: Variable, again: bool = True) -> Optional[Dict[str, Any]]:
    """Its value, or None. `again=False`: without patience for a supervisor that is away."""
    answer = session_of(variable._client).ask("get", variable.name, again=again)
    return _wire.load_naming_modules(base64.b64decode(answer["value"])) if answer["set"] else None


def forget(spec: Dict[str, Any], client: Any) -> None:
    """Deletes what is known of an actor whose job is about to end, and is not another's by now."""
    session = session_of(client)
    session.ask("delete", at(spec["identity"], client).name, again=False)
    if spec["name"] is None:
        return
    variable = named(spec["name"], client)
    known = peek(variable, again=False)
    if known is not None and known["identity"] == spec["identity"]:
        session.ask("delete", variable.name, again=False)


def state_of(client: Any, job: str) -> str:
    """running; ending: it was cancelled, and a process of it is still there; ended; unseen: a run sees no job of a user."""
    try:
        told = client.ask("job", job)
    except PenstockError as error:
        if error.code != "NotFound":
            raise
        shown = _identity.shown_by(client)
        # Else so long ago that it is forgotten, or with the call that made it.
        return "unseen" if shown is not None and shown.identity.role in ("worker", "run") else "ended"
    if told["state"] != "running":
        return "ended"
    return "ending" if told.get("error") else "running"


def why_ended(client: Any, job: str) -> Tuple[str, Optional[BaseException]]:
    """(what became of an actor whose job has ended, the exception that did it or None)."""
    try:
        with client.attach(job) as found:
            state = found.wait(ENDING_S)
            failure = next(iter(found.failures().values()), None) if state == "failed" else None
    except PenstockError:
        return "has ended, with the call that made it or long ago", None
    if state in ("cancelled", "running"):
        return "was killed, or has ended with its owner", None
    if failure is None:
        return "has ended", None
    ours = isinstance(failure, ActorDied)  # As its host has said it; what led to that is the cause.
    return getattr(failure, "message", "") or str(failure), failure.__cause__ if ours else failure


def cancel(client: Any, job: str) -> bool:
    """Ends the job of an actor; of one that has ended already nothing is left to do. False: this client sees none."""
    try:
        with client.attach(job) as found:
            found.cancel()
    except PenstockError as error:
        if error.code not in ("NotFound", "WrongState", "PermissionDenied"):
            raise
        return error.code == "WrongState"
    return True


def running(client: Any) -> List[Dict[str, Any]]:
    """What the supervisor says of the jobs of actors."""
    return [row for row in client.ask("jobs", f"--name={PREFIX} *") if row["state"] == "running"]


# ---- processes ----

def this_process() -> Tuple[str, int, str]:
    """Names it among all that have run on its host: (what those have alike that see its number, number, when it began)."""
    try:
        return f"{wire.host_token()} {os.readlink('/proc/self/ns/pid')}", os.getpid(), _began(os.getpid())
    except OSError:
        return "", 0, ""


def _began(number):
    with open(f"/proc/{number}/stat") as stat:
        return stat.read().rpartition(")")[2].split()[19]


def file_of(process: Tuple[str, int, str]) -> Optional[int]:
    """A descriptor that can be read from when that process has ended; -1: it has; None: nobody here can tell."""
    if not process[0] or process[0] != this_process()[0] or not hasattr(os, "pidfd_open"):
        return None
    try:
        file = os.pidfd_open(process[1])
    except ProcessLookupError:
        return -1
    except OSError:
        return None
    try:
        if _began(process[1]) == process[2]:
            return file
    except OSError:
        pass
    os.close(file)  # Its number is another's by now.
    return -1


# ---- frames with the values of futures in them ----

def join_inputs(data: bytes, raws: List[Any], values: List[Any], what: str) -> Tuple[bytes, List[Any]]:
    """One frame of a call's pickle with placeholders, and of the values that belong there."""
    beside, buffers = _wire.pickle_with_buffers(values, what)
    return _INPUTS.pack(len(data), len(raws)) + data + beside, [*raws, *[buffer.raw() for buffer in buffers]]


def split_inputs(data: Any, buffers: List[Any]) -> Tuple[Any, List[Any], List[Any]]:
    """(pickle of the call, its buffers, the values)."""
    length, count = _INPUTS.unpack_from(data)
    view = memoryview(data)
    middle = _INPUTS.size + length
    return view[_INPUTS.size:middle], buffers[:count], _wire.pickle.loads(view[middle:], buffers=buffers[count:])


def check_size(data: bytes, raws: List[Any], what: str) -> None:
    """Raises `ResultTooLarge` for what no frame takes."""
    size = wire.size_of(data, raws) if raws else len(data)
    if size > wire.FRAME_BYTES_MAX or len(raws) > wire.BUFFERS_MAX:
        raise ResultTooLarge(f"has {size} bytes in {len(raws)} buffers; a call takes {wire.FRAME_BYTES_MAX} in "
                             f"{wire.BUFFERS_MAX}", subject=what, remedy="give it in parts")
