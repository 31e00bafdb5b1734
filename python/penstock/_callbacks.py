"""Dask's callbacks (`ProgressBar`, `Profiler`, `ResourceProfiler`, `CacheProfiler`, those of users), called for what
runs on the cluster."""
import contextlib
import queue
from typing import Any, Dict, List

from dask.callbacks import local_callbacks, unpack_callbacks

from penstock import _abi

# These callbacks use no values, so that none needs to be brought here.
VALUELESS = ("ProgressBar", "Profiler", "ResourceProfiler")
LOOK_S = 0.5  # How often it is asked whether the job has ended, if no news came.


class Told:
    """The callbacks of one computation. A key is told to begin when it could begin, as its inputs are there, and to end
    when the client hears of it: in between it also waits for a slot."""

    def __init__(self, callbacks, graph):
        self.callbacks, self.graph = callbacks, graph
        _, _, self.before, self.after, _ = unpack_callbacks(callbacks)
        self.wants_values = any(_wants_value(after) for after in self.after)
        self.state: Dict[str, Any] = {"waiting": {}, "ready": [], "running": set(), "finished": set(),
                                      "released": set(),
                                      "cache": {}, "dependencies": {}, "dependents": {}}
        self.keys: Dict[int, List[Any]] = {}  # Of a subtask.
        self.news: "queue.SimpleQueue[Any]" = queue.SimpleQueue()
        self.started = []

    def start(self):
        for callback in self.callbacks:
            if callback[0]:
                callback[0](self.graph)
            self.started.append(callback)

    def begin(self, numbers, edges):
        """`numbers`: {key: its subtask}; `edges`: (offsets, predecessors) of the job."""
        state, known = self.state, {}
        for key, number in numbers.items():
            if key in self.graph:
                self.keys.setdefault(number, []).append(key)
                known[key] = number
        offsets, predecessors = edges
        for key, number in known.items():
            others = set(predecessors[offsets[number]:offsets[number + 1]])
            reads = {one for other in others for one in self.keys.get(other, ())}
            state["dependencies"][key] = reads
            state["dependents"].setdefault(key, set())
            for other in reads:
                state["dependents"].setdefault(other, set()).add(key)
            left = reads - state["finished"]
            if key not in state["finished"]:
                if left:
                    state["waiting"][key] = left
                else:
                    state["ready"].append(key)
        for callback in self.callbacks:
            if callback[1]:
                callback[1](self.graph, state)
        ready, state["ready"] = state["ready"], []
        for key in ready:
            self._run(key)

    def _run(self, key):
        self.state["running"].add(key)
        for call in self.before:
            call(key, self.graph, self.state)

    def follow(self, running):
        """Until the job has ended."""
        while True:
            try:
                news = self.news.get(timeout=LOOK_S)
            except queue.Empty:
                if running._wait(0) != _abi.RUNNING:
                    return
                continue
            for first, last in news.succeeded:
                for number in range(first, last + 1):
                    for key in self.keys.get(number, ()):
                        self._end(key, running, number)
            if news.state != _abi.RUNNING:
                return

    def _end(self, key, running, number):
        state = self.state
        if key in state["finished"]:
            return
        value = running.fetch([number])[0] if self.wants_values else None
        state["running"].discard(key)
        state["finished"].add(key)
        further = []
        for other in sorted(state["dependents"].get(key, ()), key=str):
            left = state["waiting"].get(other)
            if left is not None:
                left.discard(key)
                if not left:
                    del state["waiting"][other]
                    further.append(other)
        state["released"].update(one for one in state["dependencies"].get(key, ())
                                 if state["dependents"][one] <= state["finished"])
        for call in self.after:
            call(key, value, self.graph, state, running.number)
        for other in further:
            self._run(other)

    def finish(self, failed):
        for callback in self.started:
            if callback[4]:
                callback[4](self.graph, self.state, failed)


def _wants_value(call):
    owner = getattr(call, "__self__", None)
    kind = type(owner)
    if (kind.__module__ or "").startswith("dask.diagnostics."):
        return kind.__name__ not in VALUELESS and getattr(owner, "_metric_name", "") != "count"
    return True


@contextlib.contextmanager
def told(graph, given=None):
    """What follows a computation, or None: nobody asks."""
    with local_callbacks(given) as callbacks:
        if not callbacks:
            yield None
            return
        following = Told(list(callbacks), graph)
        failed = True
        try:
            following.start()
            yield following
            failed = False
        finally:
            following.finish(failed)
