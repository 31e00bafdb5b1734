"""Which attempt a function runs in: what a fencing token is made of; and its slot, which it may lend."""
import sys
from _thread import get_ident
from typing import Dict, NamedTuple, Optional

from penstock.errors import PenstockError


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
        """The variables in which a command finds `job`, `number` and `id`, for programs that the function starts: with them
        these can submit calls of their own (`get_client`)."""
        return {"PENSTOCK_JOB": f"job-{self.job}", "PENSTOCK_ATTEMPT": str(self.number), "PENSTOCK_ATTEMPT_ID": self.id}


def current_attempt() -> Optional[Attempt]:
    """The attempt in which the calling function runs on a worker. None elsewhere, and in threads that it has started: these
    may outlast it, and the next call is another attempt. Ask before, and give it to them."""
    serving = _serving_here()
    if serving is None or not serving.run.attempt_number:
        return None
    run = serving.run
    return Attempt(run.job, run.subtask, run.attempt_number, run.attempt_id.decode())


def _serving_here():
    """The runner of this process, asked by the thread on which it calls functions; else None."""
    runner = sys.modules.get("penstock._runner")  # Of a client's process nobody has loaded it.
    serving = None if runner is None else runner.serving
    return None if serving is None or serving.thread != get_ident() else serving


class yield_slot:
    """Lends the slot of the calling function to other calls while the function waits for one of them:

        def sum_of_parts(address, parts):
            with Client(address) as client:
                futures = client.map(make_part, parts)
                with penstock.yield_slot():
                    results = client.gather(futures)         # Other calls have the slot meanwhile.
            return sum(results)                              # The function has a slot again.

    At the end of the block the function waits for a slot; among jobs of one priority it goes before all calls that
    have not begun. Inside the block it should only wait: the slot is lent with everything that the call requested
    beside memory (processors, GPUs with their memory, named resources). The memory that it requested stays its own,
    so what it waits for has to fit beside it, and its time limit goes on.

    Raises `PenstockError` and keeps the slot where no call runs on this thread, or the slot is lent already (code
    "WrongState"), and if too many calls have lent theirs ("LimitExceeded", the worker's setting `yields_max`). A
    call that is cancelled does not wait for its slot: `KeyboardInterrupt` is raised."""

    def __enter__(self) -> "yield_slot":
        serving = _serving_here()
        if serving is None:
            raise PenstockError("no call runs on this thread of a worker", subject="yield_slot", code="WrongState",
                                remedy="use it in the thread in which the function was called")
        serving.lend_slot()
        self._serving = serving
        return self

    def __exit__(self, *_) -> None:
        self._serving.take_slot_back()
