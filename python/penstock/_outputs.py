"""Calls with several outputs, and metadata: what tells of an output without its value.

Such a call leaves as one subtask with several outputs and, for each of them, one that passes it on without a copy: each
future is a subtask as all others are, kept, freed, lost and made again by itself. Metadata are outputs like any other."""
import sys
from types import CoroutineType
from typing import Any, Dict, Iterable, List, NamedTuple

from penstock import _graph
from penstock._batch import Call
from penstock._futures import Future
from penstock._programs import program_of
from penstock.errors import PenstockError

OUTPUTS_MAX = 1000  # Of one call.
PLACES_AT_ONCE = 500  # Of a question.


class Part(Call):
    """One output of a call: in place of a `Call`."""

    __slots__ = ("output",)

    def __init__(self, future, producer, output):
        whole = producer.unsent
        super().__init__(future, producer.program, b"", (whole,), (), producer.options)
        self.output = output

    def add_to(self, graph, edges):
        """Its subtask. What borrows an output of an earlier job has that as its own first one."""
        output = 0 if edges[0] in graph.borrowed else self.output
        return graph.add(graph.native("pass"), b"", edges, self.options.priority, outputs=(output,))

    def forget(self):
        """What it holds are not bytes."""


class Described:
    """The program of a call whose outputs are described: the values, then what `describe` says of each."""

    __slots__ = ("function", "describe", "count")

    def __init__(self, function, describe, count):
        self.function, self.describe, self.count = function, describe, count

    @property
    def __name__(self):
        from penstock import _wire
        return _wire.name_of(self.function)

    def __reduce__(self):
        return Described, (self.function, self.describe, self.count)

    def __call__(self, *args, **kwargs):
        result = self.function(*args, **kwargs)
        if result.__class__ is CoroutineType:
            import asyncio
            result = asyncio.run(result)
        values = [result] if self.count == 1 else values_of(result, self.count, self.__name__)
        return [*values, *map(self._described, values)]

    def _described(self, value):
        try:
            return self.describe(value)
        except Exception as error:
            if hasattr(error, "add_note"):  # Since Python 3.11.
                error.add_note(f"raised by the metadata function of {self.__name__}, whose value is lost with it")
            raise


def values_of(result, count, name):
    """What a call has returned as so many outputs."""
    if not isinstance(result, (tuple, list)):
        raise TypeError(f"{name} was submitted with outputs={count} and has returned {type(result).__name__}: "
                        "return a tuple or a list")
    if len(result) != count:
        raise ValueError(f"{name} was submitted with outputs={count} and has returned {len(result)} values")
    return result


class Plan:
    """A program with several outputs, or with metadata of them."""

    def __init__(self, function, count, describer):
        self.count, self.described = count, describer is not None
        self.program = program_of(Described(function, describer, count) if self.described else function)

    def submit(self, client, args, kwargs, key, options):
        """The future of a call, or the list of its futures if it has several outputs."""
        count = self.count
        call = client._call_of(self.program, args, kwargs, options.with_outputs(2 * count if self.described else count))
        with client._lock:
            client._check_open()  # From here on `close` sees them.
            client._numbers += 1
            call.unsent._name = key = key or f"{self.program.name}-{client._numbers}"
            futures = [client._future_kind(client, key if count == 1 else f"{key}[{output}]") for output in range(count)]
            described = [Future(client, f"metadata of {future.key}") for future in futures] if self.described else []
            for output, future in enumerate(futures + described):
                future._call = Part(future, call, output)
            for future, description in zip(futures, described):
                future._metadata = description
            client._enqueue(call, call.unsent, *[future._call for future in futures + described])
        return futures if count > 1 else futures[0]


def plan(function, outputs, metadata):
    """The program of a function, or a `Plan`."""
    if outputs == 1 and metadata in (None, False):
        return program_of(function)
    count = _graph.whole("outputs", outputs, 1, OUTPUTS_MAX)
    describer = describe if metadata is True else metadata or None
    if describer is not None and not callable(describer):
        raise TypeError(f"metadata is True or a function of a value, not {metadata!r}")
    return Plan(function, count, describer)


def cancel_producer(client, handle, batch, future):
    """A call runs no longer whose outputs are all cancelled."""
    if not isinstance(future._recipe, Part):
        return
    producer = batch.inputs[future._index][0] if future._index < len(batch.inputs) and batch.inputs[future._index] else None
    if not isinstance(producer, int):
        return
    parts = [batch.future(number) for number, reads in enumerate(batch.inputs) if len(reads) == 1 and reads[0] == producer]
    if all(part is None or part.cancelled() or part is future or part._name.startswith("metadata of ") for part in parts):
        client._library.cancel_subtask(handle, batch.job, producer)


def metadata_of(client, futures: Iterable[Future]) -> List[Any]:
    """In the order of the futures; waits for their calls, and brings no value."""
    described = []
    for future in [futures] if isinstance(futures, Future) else futures:
        if future._metadata is None:
            raise PenstockError("has no metadata", subject=future.key, code="NotFound",
                                remedy="submit its call with metadata=True, or with a function that describes a value")
        described.append(future._metadata)
    return client.gather(described)


class Place(NamedTuple):
    """Where a value is, and what it takes."""

    nbytes: int
    workers: List[str]  #: Names of those that hold it; none if it is empty or lost.


def places_of(client, futures: Iterable[Future]) -> List[Place]:
    """In the order of the futures, which must have succeeded: those that have not are waited for."""
    wanted = [futures] if isinstance(futures, Future) else list(futures)
    for future in wanted:
        client._check_own(future)
        error = Future.exception(future)
        if error is not None:
            raise error
    of_job, places = {}, {}
    for future in wanted:
        of_job.setdefault(client._batch_of(future).job, []).append(future)
    for job, those in of_job.items():
        for first in range(0, len(those), PLACES_AT_ONCE):
            some = those[first:first + PLACES_AT_ONCE]
            for future, told in zip(some, client.ask("places", job, *[future._index for future in some])):
                places[id(future)] = Place(told["bytes"], [told["worker"], *told.get("copies", ())] if "worker" in told else [])
    return [places[id(future)] for future in wanted]


def describe(value: Any) -> Dict[str, Any]:
    """What `metadata=True` tells of a value: `type`, `nbytes` where the value says so, and as far as it has them `shape`,
    `dtype`, `rows`, `length`, and `columns` with their types."""
    kind = type(value)
    told = {"type": f"{kind.__module__}.{kind.__qualname__}"}
    shape = getattr(value, "shape", None)
    if isinstance(shape, tuple):
        told["shape"] = tuple(map(_plain, shape))
        if shape:
            told["rows"] = _plain(shape[0])
    elif hasattr(value, "num_rows"):
        told["rows"] = _plain(value.num_rows)
    if hasattr(value, "dtype"):
        told["dtype"] = str(value.dtype)
    columns = _columns_of(value)
    if columns is not None:
        told["columns"] = columns
    nbytes = _nbytes_of(value)
    if nbytes is not None:
        told["nbytes"] = nbytes
    if "rows" not in told and "shape" not in told and hasattr(kind, "__len__"):
        told["length"] = len(value)
    return told


def statistics(value: Any) -> Dict[str, Any]:
    """As a function for `metadata`: what `describe` tells, and `min`, `max` and `nulls` of an array or a series, or of each
    column of a table in `statistics`."""
    told = describe(value)
    if "columns" in told and hasattr(value, "columns"):
        names = list(map(str, value.columns))
        columns = [value.iloc[:, at] if hasattr(value, "iloc") else value[name] for at, name in enumerate(names)]
        told["statistics"] = _named(names, map(_extremes, columns))
    elif "dtype" in told:
        told.update(_extremes(value))
    return told


def _extremes(values):
    if getattr(values, "nlevels", 1) > 1 or getattr(values, "ndim", 1) == 0:
        return {"nulls": 0}
    if hasattr(values, "isna"):
        nulls = int(values.isna().sum())
    elif hasattr(values, "null_count"):
        nulls = _plain(values.null_count() if callable(values.null_count) else values.null_count)
    else:
        numpy = sys.modules["numpy"]
        nulls = int(numpy.isnan(values).sum()) if values.dtype.kind in "fc" else 0
        values = values[~numpy.isnan(values)] if nulls else values
    told = {"nulls": nulls}
    try:
        told["min"], told["max"] = _plain(values.min()), _plain(values.max())
    except (TypeError, ValueError, NotImplementedError):  # Values without an order, or none.
        pass
    return told


def _named(names, values):
    """By their names; in pairs, where names occur twice."""
    return dict(zip(names, values)) if len(set(names)) == len(names) else list(zip(names, values))


def _plain(number):
    return number.item() if hasattr(number, "item") else number


def _columns_of(value):
    dtypes, schema = getattr(value, "dtypes", None), getattr(value, "schema", None)
    if hasattr(dtypes, "items"):  # pandas
        return _named([str(name) for name, _ in dtypes.items()], [str(dtype) for _, dtype in dtypes.items()])
    if hasattr(schema, "items"):  # polars
        return {name: str(dtype) for name, dtype in schema.items()}
    if hasattr(schema, "names") and hasattr(schema, "types"):  # pyarrow
        return {name: str(kind) for name, kind in zip(schema.names, schema.types)}
    return None


def _nbytes_of(value):
    if hasattr(value, "memory_usage"):  # pandas; the index counts.
        usage = value.memory_usage()
        return int(usage if isinstance(usage, int) else usage.sum())
    if hasattr(value, "estimated_size"):  # polars
        return int(value.estimated_size())
    nbytes = getattr(value, "nbytes", None)
    if isinstance(nbytes, int):
        return nbytes
    return len(value) if isinstance(value, (bytes, bytearray)) else None
