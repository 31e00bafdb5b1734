"""Which attempt a function runs in: what a fencing token is made of."""
import sys
from _thread import get_ident
from typing import Dict, NamedTuple, Optional


class Attempt(NamedTuple):
    """One execution of one call; see `current_attempt`."""

    #: The job's number, a name for people: in a state that was restored it may be given to another job.
    job: int
    #: The subtask's number in that job.
    subtask: int
    #: Of a subtask it only grows and is never used again, also over restarts of the supervisor: a fencing token.
    number: int
    #: Names this attempt among those of all jobs of all clusters; nobody can guess it before.
    id: str

    @property
    def environment(self) -> Dict[str, str]:
        """The variables in which a command finds `number` and `id`, for programs that the function starts."""
        return {"PENSTOCK_ATTEMPT": str(self.number), "PENSTOCK_ATTEMPT_ID": self.id}


def current_attempt() -> Optional[Attempt]:
    """The attempt in which the calling function runs on a worker. None elsewhere, and in threads that it has started: these
    may outlast it, and the next call is another attempt. Ask before, and give it to them."""
    runner = sys.modules.get("penstock._runner")  # Of a client's process nobody has loaded it.
    serving = None if runner is None else runner.serving
    if serving is None or serving.thread != get_ident() or not serving.run.attempt_number:
        return None
    run = serving.run
    return Attempt(run.job, run.subtask, run.attempt_number, run.attempt_id.decode())
