"""Graphs for engine authors: many subtasks as one job."""
import contextlib
import html
import threading
import time
import weakref
from typing import Any, Callable, Dict, Iterable, List, Mapping, Optional, Sequence, Tuple, Union

from penstock import _abi, _graph, _outputs, _wire
from penstock._futures import Future, collecting
from penstock._news import Plain
from penstock._programs import program_of
from penstock.errors import ClientClosed, PenstockError, ResultLost, WrongGraph, about

STATES = {_abi.RUNNING: "running", _abi.SUCCEEDED: "succeeded", _abi.FAILED: "failed", _abi.CANCELLED: "cancelled"}
SLICE_NS = 100_000_000  # A wait looks this often whether somebody has pressed Ctrl-C.


class Handle:
    """One subtask of a graph that is being built, or one of its outputs; an argument of others."""

    __slots__ = ("number", "builder", "output")

    def __init__(self, builder, number, output=0):
        self.builder, self.number, self.output = builder, number, output

    def __repr__(self):
        return f"<Handle: subtask {self.number}{f', output {self.output}' if self.output else ''}>"

    def __reduce__(self):
        if self.builder.inputs is None:
            raise WrongGraph("a handle is only an argument of a subtask of its own graph",
                             remedy="put both into one graph, or submit the first and give a future of it")
        return _wire.load_input, (self.builder.place_of((self.number, self.output) if self.output else self.number),)


class GraphBuilder:
    """Subtasks and their edges; `submit` makes a job of them.

    >>> graph = client.graph()                                      # doctest: +SKIP
    >>> parts = [graph.add(load, path) for path in paths]           # doctest: +SKIP
    >>> job = graph.submit(name="totals", want=[graph.add(sum, parts)])  # doctest: +SKIP
    >>> job.results()                                               # doctest: +SKIP
    """

    def __init__(self, client, **runner):
        client._check_open()
        self.client = client
        self.inputs: Optional[Dict[Any, int]] = None  # Of the call that is being added: subtasks, futures, large bytes.
        self._columns = _graph.GraphColumns(client._command.other(**runner))
        self._counts: Dict[int, int] = {}  # Of outputs, where there are several.
        self._given: Dict[Any, int] = {}  # Futures and large bytes of arguments: their subtasks.

    def _check_unsent(self):
        if self._columns.handle is None:
            raise ValueError("the graph was submitted already: build another one with client.graph()")

    def _own(self, what, handles):
        """The numbers of handles of this graph that somebody gave."""
        handles = [handles] if isinstance(handles, Handle) else list(handles)
        for handle in handles:
            if not isinstance(handle, Handle) or handle.builder is not self:
                raise WrongGraph(f"must be handles of this graph, not {handle!r}", subject=what)
        return [handle.number for handle in handles]

    def place_of(self, given: Any) -> int:
        return self.inputs.setdefault(given, len(self.inputs))

    def __len__(self):
        return len(self._columns)

    def add(self, function: Callable[..., Any], *args: Any, after: Iterable[Handle] = (), retries: int = 0,
            priority: int = 0, resources: Optional[Dict[str, float]] = None, workers: Union[str, Iterable[str], None] = None,
            memory: Union[int, str] = 0, slots: float = 1.0, time_limit: float = 0.0, memory_max: Union[int, str] = 0,
            overlap: str = "allow", outputs: int = 1, **kwargs: Any) -> Any:
        """The handle of a call of `function`; handles and futures among the arguments become the values of their subtasks; a
        future is waited for here. It starts after those of `after` have succeeded, without reading them. Of a function that
        returns so many `outputs`, as a tuple or a list, the handles of these, in a list."""
        options = _graph.Options(retries, 0, resources, workers, memory, slots, time_limit, memory_max=memory_max,
                                 overlap=overlap)
        options = options.with_outputs(_graph.whole("outputs", outputs, 1, _outputs.OUTPUTS_MAX))
        return self.add_with(function, args, kwargs, options, priority, after)

    def add_with(self, function: Callable[..., Any], args: tuple, kwargs: Dict[str, Any], options: _graph.Options,
                 priority: int = 0, after: Iterable[Handle] = ()) -> Any:
        """The same with options that many share (`penstock.Options`)."""
        self._check_unsent()
        program, after = program_of(function), self._own("after", after)
        self.inputs = {}
        try:
            with collecting(self.place_of):
                payload = _graph.pack_arguments(args, kwargs, f"an argument of {program.name}", self.place_of)
            command = options.runner or self._columns.command
            if command.files is not None:
                payload = command.with_files(payload, self.place_of(command.files.shared.datum))
            numbers, outputs = [], {}
            for edge, given in enumerate(self.inputs):
                if isinstance(given, tuple):
                    given, outputs[edge] = given
                numbers.append(given if isinstance(given, int) else self._number_of(given))
        finally:
            self.inputs = None
        template = self._columns.template(program, options)
        read = [outputs.get(edge, 0) for edge in range(len(numbers))] if outputs else ()
        number = self._columns.add(template, payload, numbers, priority, after, read)
        if options.outputs == 1:
            return Handle(self, number)
        self._counts[number] = options.outputs
        return [Handle(self, number, output) for output in range(options.outputs)]

    def _number_of(self, given):
        """The subtask of a future, which borrows its value from its job or has it, or of large bytes."""
        if given not in self._given:
            self._given[given] = (self._columns.literal(given) if not isinstance(given, Future) else
                                  given._lend_to(self._columns, self.client))
        return self._given[given]

    def value(self, data: Any) -> Handle:
        """A subtask whose result is this object: shared by all that read it."""
        self._check_unsent()
        return Handle(self, self._columns.literal(_wire.pack(data, "a value of a graph")))

    def submit(self, name: Optional[str] = None, want: Optional[Iterable[Handle]] = None, priority: int = 0,
               owner: Optional[str] = None, wait_for_resources: bool = False, project: Optional[str] = None,
               pool: Union[str, Sequence[str], None] = None, weight: float = 0, gang: int = 0, qos: Optional[str] = None,
               queue: Optional[str] = None, user_factor: float = 1, labels: Sequence[str] = (),
               grace: float = 0, account: Optional[str] = None, slots_max: int = 0, kind: str = "training",
               preemptible: Optional[bool] = None, time_limit: Optional[float] = None, gang_max: int = 0,
               together: Optional[str] = None, gang_groups: int = 0, secrets: Optional[Mapping[str, str]] = None,
               share: Optional[str] = None) -> "Job":
        """Sends the graph. `want` are those whose results are kept: by default those that nobody reads. Under its name a
        job is submitted once; again it is the same job (`Job.existed`), and stays another's if another client made it
        (`Job.ours`). `project`, `account`, `pool`, `weight`, `slots_max`, `gang`, `gang_max`, `together`, `gang_groups`,
        `kind` (training, interactive or inference), `preemptible`, `qos`, `queue` and `user_factor` (from 0 to 1) are for
        the cluster's policy (docs/policy.md); of several pools the next is taken where the one before has no room. It
        runs on workers that have one of `labels`. What is preempted of it has `grace` seconds to save what it has; 0: as the
        cluster says. The whole job is ended as failed `time_limit` seconds after it first ran something. `secrets` are
        variables in the environment of its programs that no question, log, journal or backup shows. Users of the
        group `share`, which must be one of its owner, may do with the job what its owner may."""
        self._check_unsent()
        if not len(self):
            raise ValueError("the graph has no subtasks: `add` some first")
        if isinstance(labels, str):
            raise TypeError("labels is a text: give a list of them")
        pools = [one for one in ([pool] if isinstance(pool, str) else _graph.texts("pool", pool or ())) if one]
        options = _graph.job_options(name=name, owner=owner, project=project, account=account, qos=qos, queue=queue,
                                     priority=priority, weight=weight, slots_max=slots_max, gang=gang, gang_max=gang_max,
                                     gang_groups=gang_groups, kind=kind, preemptible=preemptible, user_factor=user_factor, grace=grace,
                                     time_limit=time_limit, together=together, share=share)
        labels = _graph.texts("labels", labels)
        secrets = [f"{name}={value}" for name, value in (secrets or {}).items()]
        only = pools.pop() if len(pools) == 1 else None  # An older library knows one.
        self.client._check_open()
        if want is not None:
            handles = [want] if isinstance(want, Handle) else list(want)
            self._columns.want(self._own("want", handles))
            wanted = [(handle.number, handle.output) for handle in handles]
        else:
            read = set(self._columns.predecessors)
            wanted = [(number, output) for number in range(len(self._columns)) if number not in read
                      for output in range(self._counts.get(number, 1))]
        total = len(self._columns)
        with self.client._lock:  # Before any news of it are looked at.
            submitted = self.client._submit_columns(
                self._columns, wait_for_resources=int(bool(wait_for_resources)), pool=only, pools=_abi.texts(pools),
                pool_count=len(pools), labels=_abi.texts(labels), label_count=len(labels),
                secrets=_abi.texts(secrets), secret_count=len(secrets), **options)
        job = Job(self.client, submitted.job, name or f"job-{submitted.job}", wanted, total, submitted)
        job._graph = weakref.ref(self)
        return job


class Results:
    """Those of a job, for all who hold it in this client. When the last of them forgets it, they are released if it was
    made here; else they are another's, and are only left."""

    __slots__ = ("client", "number", "ours", "left", "remedy", "lock", "__weakref__")

    def __init__(self, client, number):
        self.client, self.number, self.ours = client, number, False
        self.left = ""  # How, once nobody here has them any more.
        self.lock = threading.Lock()

    def release(self):
        self._leave("released", "submit its graph again", self.client._library.release)

    def detach(self):
        self._leave("detached from", "attach to it again", self.client._library.detach)

    def close(self):
        self.release() if self.ours else self.detach()

    def _leave(self, how, remedy, leave):
        with self.lock:
            if self.left:
                return
            self.left, self.remedy = how, remedy
        with contextlib.suppress(ClientClosed), self.client._connection as handle:
            leave(handle, self.number)

    def __del__(self):
        self.close()


class Closed:
    """In place of the results of a `Job` that was closed; others may hold them still."""

    left, remedy = "closed", "attach to it again"

    def __init__(self, ours):
        self.ours = ours

    def release(self):
        pass

    detach = release


class Job:
    """A submitted graph. Its results are kept until `release`, or until the client that has submitted it forgets it or is
    closed. One that was attached to, or was there under its name already, belongs to whoever has submitted it: only
    `release` lets its results go. It is followed until it is forgotten, closed (also by `with`) or detached from."""

    def __init__(self, client, number, name, wanted: Optional[List[Tuple[int, int]]] = None, total: Optional[int] = None,
                 submitted: Optional[_abi.Submitted] = None):
        self.client, self.number, self.name, self.wanted, self.total = client, number, name, wanted, total
        #: Whether a job of that name was there already.
        self.existed = submitted is None or bool(submitted.existed)
        with client._lock:
            results = client._results.get(number)
            if results is None or results.left:
                results = client._results[number] = Results(client, number)
            else:
                with client._connection as handle:  # The library counts who holds it; here they are one.
                    client._library.detach(handle, number)
        self._results, self._graph = results, None
        self._results.ours |= submitted is not None and bool(submitted.ours)

    @property
    def ours(self) -> bool:
        """Whether this client has made it, and its results go with it."""
        return self._results.ours

    def __enter__(self) -> "Job":
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

    def __repr__(self):
        return f"<Job {self.name}: {self._results.left or self.state}>"

    def _repr_html_(self):
        if self._results.left:
            return f"<b>Penstock job</b> <code>{html.escape(str(self.name))}</code>: {self._results.left}"
        counts = self.counts()
        return (f"<b>Penstock job</b> <code>{html.escape(str(self.name))}</code>: {self.state}, "
                f"{counts['succeeded']} of {counts['total']} subtasks succeeded, {counts['failed']} failed")

    @property
    def state(self) -> str:
        """running, succeeded, failed or cancelled"""
        return STATES[self._wait(0)]

    def _check_kept(self):
        if self._results.left:
            raise ResultLost(f"was {self._results.left}", subject=str(self.name), remedy=self._results.remedy)

    def counts(self) -> Dict[str, int]:
        self._check_kept()
        counts = _abi.Counts()
        with self.client._connection as handle:
            self.client._library.job_counts(handle, self.number, counts)
        return {name: getattr(counts, name) for name, _ in _abi.Counts._fields_}

    def _wait(self, timeout_ns):
        self._check_kept()
        with self.client._waiting() if timeout_ns else contextlib.nullcontext(), self.client._connection as handle:
            return self.client._library.check(self.client._library.wait(handle, self.number, timeout_ns))

    def wait(self, timeout: Optional[float] = None) -> str:
        """Until it has ended, or the time is over; its state."""
        timeout = _graph.seconds(timeout)
        deadline = None if timeout is None else time.monotonic() + timeout
        while True:
            left = SLICE_NS if deadline is None else min(SLICE_NS, int((deadline - time.monotonic()) * 1e9))
            state = self._wait(max(0, left))
            if state != _abi.RUNNING or (deadline is not None and time.monotonic() >= deadline):
                return STATES[state]

    def failures(self) -> Dict[int, BaseException]:
        """The exceptions of subtasks that have failed for good, by number."""
        self._check_kept()
        library = self.client._library
        with self.client._connection as handle:
            news = library.job_failures(handle, self.number)
        if not news:
            return {}
        try:
            return {number: about(error, f"subtask {number} of {self.name}")
                    for number, error in Plain(news.contents).failures}
        finally:
            library.news_free(news)

    def result(self, timeout: Optional[float] = None) -> "Job":
        """Waits; raises what the first subtask that failed has raised."""
        state = self.wait(timeout)
        if state == "running":
            raise TimeoutError(f"{self.name} still runs")
        if state != "succeeded":
            for error in self.failures().values():
                raise error
            with self.client._connection as handle:
                if self.client._library.job_error(handle, self.number) < 0:
                    raise self.client._library.failure()
            raise PenstockError("was cancelled", subject=self.name)
        return self

    def results(self, timeout: Optional[float] = None) -> List[Any]:
        """The values of those that were wanted, in that order; of a job that was attached to, which does not say so, in that of
        their numbers."""
        self.result(timeout)
        return self._values(self._kept() if self.wanted is None else self.wanted)

    def _kept(self):
        """What the supervisor has of it, or all subtasks, of which those that are missing are named."""
        self._check_kept()
        told = self.client.ask("results", self.number)
        rows = [] if told["more"] else told["results"]
        return [(row["subtask"], row["output"]) for row in rows] or [(number, 0) for number in range(self.counts()["total"])]

    def fetch(self, numbers: Iterable[Union[Handle, int]]) -> List[Any]:
        """The values of these subtasks, which have succeeded and were wanted."""
        return self._values([(self._number(number), getattr(number, "output", 0)) for number in numbers])

    def _values(self, wanted):
        """Of subtasks with the numbers of their outputs."""
        self._check_kept()
        values = [None] * len(wanted)
        for output in sorted({output for _, output in wanted}):
            places = [place for place, (_, other) in enumerate(wanted) if other == output]
            owner, data = self.client._fetch(self.number, [wanted[place][0] for place in places], output)
            for at, (place, (address, size)) in enumerate(zip(places, data)):
                name = f"subtask {wanted[place][0]} of {self.name}"
                values[place] = self.client._value(at, address, size, owner, name)
        return values

    def logs(self, subtask: Union[Handle, int, None] = None) -> str:
        """What its subtasks, or one of them, have printed so far; the end of it, if it is much."""
        self.client._check_open()
        return self.client._log(self.number, -1 if subtask is None else self._number(subtask))

    def _number(self, subtask):
        """Of a subtask of ours. What was attached to has no graph here, and takes all handles."""
        if not isinstance(subtask, Handle):
            return _graph.whole("subtask", subtask, 0, 2**32 - 1)
        if self._graph is not None and self._graph() is not subtask.builder:
            raise WrongGraph("is of another graph than this job", subject=repr(subtask))
        return subtask.number

    def cancel(self) -> None:
        with self.client._connection as handle:
            self.client._library.check(self.client._library.cancel(handle, self.number))

    def release(self) -> None:
        """Its results are needed no longer, by nobody."""
        self._results.release()

    def detach(self) -> None:
        """Follows it no longer. It goes on, whoever made it, and its results are kept for `supervisor.results_keep`."""
        self._results.detach()

    def close(self) -> None:
        """What forgetting it does: the last `Job` of it in this client releases its results if this client has made it, and
        else detaches from it."""
        self._results = Closed(self.ours)
