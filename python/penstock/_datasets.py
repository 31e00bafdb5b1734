"""Datasets that are published by name: their values stay on the cluster, with or without the client that made them.

A dataset is a job of its own that borrows the values without a copy, kept by the order `keep`, and a shared variable that
says which job it is, with the pickled shape in which the values were given."""
import io
import pickle
import uuid
from typing import Any, List, Optional

from penstock import _graph, _wire
from penstock._batch import Call
from penstock._futures import Future, collecting
from penstock.errors import DatasetExists, PenstockError, ResultLost

_PREFIX = "dataset "
NAME_BYTES_MAX = 200
_SHAPE_BYTES_MAX = 64 << 10  # Of a pickled shape that stands in the variable; a larger one is an output of the job.
_ROWS = 1000                 # Of an answer about shared objects.


class _Loan(Call):
    """The output of another job as a value of this client."""

    __slots__ = ("lender",)

    def __init__(self, future, lender):
        super().__init__(future, _Borrows, None, (), (), _graph.Options())
        self.lender = lender  # Job, its identity, and the subtask.

    def add_to(self, graph, _):
        return graph.borrow(*self.lender)


class _Borrows:
    """In place of a program."""

    name = "dataset"


class _Shape(pickle.Unpickler):
    """Reads a shape with futures in place of what stood for them."""

    def __init__(self, data, futures):
        super().__init__(io.BytesIO(data))
        self.futures = futures

    def find_class(self, module, name):
        if (module, name) == (_wire.load_input.__module__, _wire.load_input.__name__):
            return self.futures.__getitem__
        return super().find_class(module, name)


def _check_name(name):
    if not isinstance(name, str) or not name:
        raise TypeError(f"the name of a dataset is a text, not {name!r}")
    if not name.isprintable() or len(name.encode(errors="surrogatepass")) > NAME_BYTES_MAX:
        raise ValueError(f"the name of a dataset has printable characters, {NAME_BYTES_MAX} bytes at most, not {name[:40]!r}")


def _is_lost(future):
    return isinstance(Future.exception(future), ResultLost)


def _shape_of(value):
    """The pickled shape, and the futures in it."""
    with collecting() as inputs:
        try:
            return pickle.dumps(value, 5), inputs.futures
        except Exception:
            inputs.futures.clear()
            inputs.numbers.clear()
            return _wire.cloudpickle_or_refuse(value, "a dataset", lambda _: True), inputs.futures


class Datasets:
    """Those of a `Client`."""

    def publish_dataset(self, value: Any = None, *, name: Optional[str] = None, override: bool = False, **datasets: Any) -> None:
        """Publishes `value` under `name`, or each keyword under its own: a future, lists or dictionaries of futures, a
        persisted collection, or any object. It is there for every client by `get_dataset`, after this client is closed and
        after a restart of the supervisor, until `unpublish_dataset`. Futures are waited for; their values are not copied.
        Raises `DatasetExists`, unless `override` replaces the one of that name."""
        if name is not None:
            datasets = {name: value, **datasets}
        elif value is not None:
            raise TypeError("a dataset needs a name: publish_dataset(value, name=...), or publish_dataset(NAME=value)")
        for one, given in datasets.items():
            self._publish(one, given, override)

    def _publish(self, name, value, override):
        from penstock.coordination import Lock
        _check_name(name)
        with Lock(f"publish {name}", client=self):
            if not override and self._dataset(name) is not None:
                raise DatasetExists("is published already", subject=name, remedy="unpublish it, or give override=True")
            self._keep_as(name, value)

    def _keep_as(self, name, value):
        from penstock._builder import Handle
        from penstock.coordination import Variable
        shape, futures = _shape_of(value)
        known = {"job": 0, "identity": b"", "numbers": [], "shape": shape}
        if not futures and len(shape) <= _SHAPE_BYTES_MAX:
            Variable(_PREFIX + name, client=self).set(known)
            return self._drop_others(name, 0)
        graph = self.graph()
        handles = [Handle(graph, graph._number_of(future)) for future in futures]
        if len(shape) > _SHAPE_BYTES_MAX:
            handles.append(graph.value(shape))
            known["shape"] = None
        with graph.submit(name=f"{_PREFIX}{name} {uuid.uuid4().hex[:8]}", want=handles) as job:
            job.result()
            self.ask("keep", job.number)
            with self._connection as handle:
                known["identity"] = self._library.identity_of(handle, job.number)
            known["job"], known["numbers"] = job.number, [handle.number for handle in handles]
            Variable(_PREFIX + name, client=self).set(known)
            self._drop_others(name, job.number)

    def _dataset(self, name):
        """What is known of it; None: there is none."""
        from penstock.coordination import Variable
        try:
            known = Variable(_PREFIX + name, client=self).get(timeout=0)
        except TimeoutError:
            return None
        except PenstockError:
            raise
        except Exception as error:
            raise self._no_dataset(name) from error
        if not isinstance(known, dict) or set(known) != {"job", "identity", "numbers", "shape"}:
            raise self._no_dataset(name)
        return known

    @staticmethod
    def _no_dataset(name):
        return PenstockError(f"the variable {_PREFIX + name!r} was set to something else", subject=f"dataset {name!r}",
                             remedy="publish_dataset(..., override=True), or unpublish_dataset()", code="InvalidArgument")

    def _drop_others(self, name, present):
        """Jobs of this name that are kept and not the present one: those before, and what a publisher that died has left.
        REQUIRES: the lock of the name."""
        pattern = "".join("?" if char in "*?[\\" else char for char in f"{_PREFIX}{name}") + " ????????"
        for row in self.ask("jobs", "--all", f"--name={pattern}"):
            if row["name"][:-9] == _PREFIX + name and row["id"] != f"job-{present}":
                try:
                    self.ask("unkeep", row["id"])
                except PenstockError as error:
                    if error.code != "NotFound":
                        raise

    def get_dataset(self, name: str) -> Any:
        """What was published under that name, with futures of this client in it. Raises `KeyError`."""
        known = self._dataset(name) if name else None
        while True:
            if known is None:
                raise self._unknown(name)
            futures = [self._borrowed(f"{name}-{at}", (known["job"], known["identity"], number))
                       for at, number in enumerate(known["numbers"])]
            self._flush()  # From here on the values stay for us, also if the dataset is published no more.
            now = self._dataset(name)
            if now == known or not any(future.done() and _is_lost(future) for future in futures):
                break
            known = now  # It was replaced or unpublished meanwhile.
        shape = known["shape"]
        if shape is None:
            shape = Future.result(futures.pop())
        return _Shape(shape, futures).load()

    def _borrowed(self, key, lender) -> Future:
        future = self._future_kind(self, None)
        call = _Loan(future, lender)
        with self._lock:
            self._check_open()
            future._name = key
            self._enqueue(call, future)
        return future

    def list_datasets(self) -> List[str]:
        """The names of all that are published."""
        return self._dataset_names()

    def _dataset_names(self):
        names, rows, after = [], [None] * _ROWS, ""
        while len(rows) == _ROWS:
            rows = self.ask("shared", "list", f"--begins={_PREFIX}", f"--after={after}")
            names += [row["name"][len(_PREFIX):] for row in rows if row["kind"] == "variable"]
            after = max((row["name"] for row in rows), default="")
        return names

    def _unknown(self, name):
        names = self._dataset_names()
        shown = ", ".join(map(repr, names[:10])) + (f" and {len(names) - 10} more" if len(names) > 10 else "")
        return KeyError(f"no dataset {name!r} is published; there are {shown or 'none'}")

    def unpublish_dataset(self, name: str) -> None:
        """The dataset is there no more. Its values go when no client has futures of them. Raises `KeyError`."""
        from penstock.coordination import Lock, Variable, session_of
        with Lock(f"publish {name}", client=self):
            variable = Variable(_PREFIX + name, client=self)
            if not self.ask("shared", "get", variable.name, f"--token={session_of(self).token}")["set"]:
                raise KeyError(f"no dataset {name!r} is published")
            variable.delete()
            self._drop_others(name, 0)
