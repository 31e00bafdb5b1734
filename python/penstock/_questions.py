"""What a client asks its supervisor."""
import json
from typing import TYPE_CHECKING, Any, Dict, Iterable, List, Optional, Union

from penstock import _abi, _outputs
from penstock._futures import Future
from penstock.errors import PenstockError, ResultLost, of_submitting

if TYPE_CHECKING:
    from penstock._builder import Job


class Questions:
    """Of a `Client`."""

    def logs(self, of: Union[Future, "Job"]) -> str:
        """What a future's function, or all of a job, has printed so far. A line is preceded by `job:subtask#attempt`."""
        self._check_own(of)
        if not isinstance(of, Future):
            return self._log(of.number, -1)
        batch = self._batch_of(of)
        return self._log(batch.job, of._index)

    def ask(self, question: str, *arguments: str) -> Any:
        """The answer to what `penstock QUESTION ARGUMENT... --json` asks, as in `client.ask("workers")`, or what came of
        the order that it gives; its exceptions are those that the command prints."""
        self._check_open()
        words = list(map(str, arguments))
        try:
            with self._connection as handle:
                owner = _abi.Owned(self._library.check(
                    self._library.ask(handle, _abi.text(question), _abi.texts(words), len(words))))
        except PenstockError as error:
            raise of_submitting(error) from None
        return json.loads(_abi.bytes_at(self._library.data_views(owner.handle)[0]))

    def memory(self, by: str = "job", job: Union["Job", int, str, None] = None) -> List[Dict[str, Any]]:
        """What values and other outputs take on the cluster in bytes, those that take most first, added up ``by`` "job",
        "worker", "owner" or "template"; only of ``job``. Each byte is counted for the first of these that holds it: clients,
        other jobs, subtasks that have still to read it, or nobody ("retained" while memory is plentiful); copies on further
        workers are counted apart."""
        self._flush()
        number = getattr(job, "number", job)
        return self.ask("data", f"--by={by}", *([] if number is None else [f"--job={number}"]))

    def explain_data(self, future: Future) -> Dict[str, Any]:
        """Where the value of a future is, what it takes, and for what it is kept."""
        self._check_own(future)
        batch = self._batch_of(future)
        return self.ask("explain-data", batch.job, future._index)

    def metadata(self, futures: Iterable[Future]) -> List[Any]:
        """What their calls tell of their values (`metadata` of `submit`), in this order: waits for the calls, and does not
        bring the values."""
        return _outputs.metadata_of(self, futures)

    def places(self, futures: Iterable[Future]) -> List["_outputs.Place"]:
        """What their values take in bytes, and which workers hold them, in this order; waits for their calls."""
        return _outputs.places_of(self, futures)

    def _check_own(self, of: Any) -> None:
        self._check_open()
        if of.client is not self:
            raise ValueError(f"{of!r} belongs to another client")

    def _batch_of(self, future: Future) -> Any:
        self._flush()
        batch: Optional[Any] = future._batch
        if batch is None:
            raise ResultLost("was released, or not sent yet", subject=future.key)
        return batch

    def _log(self, job, subtask):
        with self._connection as handle:
            owner = _abi.Owned(self._library.check(self._library.job_log(handle, job, subtask)))
        return _abi.bytes_at(self._library.data_views(owner.handle)[0]).decode(errors="replace")
