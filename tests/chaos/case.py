"""One run of one fault: its clusters, its figures against their bounds, its verdict."""
import os
import shutil
import tempfile
import threading
import time
import traceback

from cluster import Broken, Cluster, descriptors, is_alive, resident_kib, wait_for
from oracle import Oracle
from proxy import Proxy


class Skipped(Exception):
    """The machine does not permit this fault; says why."""


# Units of figures that another program on this machine can make worse; memory and counts are ours alone.
TIMED_UNITS = {"s", "ms", "1/s", "times"}


class Stillness:
    """Notes when this process itself stood still: then measured times are nobody's fault."""

    def __init__(self):
        self.longest_s = 0.0
        threading.Thread(target=self._watch, daemon=True).start()

    def _watch(self):
        last = time.monotonic()
        while True:
            time.sleep(0.02)
            now = time.monotonic()
            self.longest_s = max(self.longest_s, now - last)
            last = now


class Case:
    """What a fault's function is handed. Everything it starts through this ends with it."""

    def __init__(self, binary, full, judge_times=True, seconds=0):
        self.binary, self.full, self.judge_times, self.seconds = binary, full, judge_times, seconds
        self.judge_memory = not is_sanitized(binary)
        self.directory = tempfile.mkdtemp(prefix="penstock-chaos-")
        self.figures = []   # (what, value, bound or None, unit)
        self.failures = []
        self.slow = []      # times, and memory of sanitized programs, beyond their bounds: told and not judged
        self._endings = []

    def cluster(self, workers=0, slots=2, settings=(), listen="127.0.0.1:0", prefix=(), environment=None,
                plain=False):
        """A cluster with workers w1, w2, ... that are ready. `plain`: without TLS, for faults of single frames."""
        directory = os.path.join(self.directory, str(len(self._endings)))
        os.mkdir(directory)
        cluster = Cluster(self.binary, directory, settings, listen, plain)
        self._endings.append(lambda: self._end_cluster(cluster))
        cluster.start_supervisor(prefix=prefix, environment=environment)
        for number in range(1, workers + 1):  # One after the other: `w1` is a worker of that name, or of that number.
            cluster.start_worker(f"w{number}", slots=slots)
            cluster.wait_for_workers(number)
        self.begin_vitals(cluster)
        return cluster

    def _end_cluster(self, cluster):
        self._expect_steady(cluster)
        for name, what in cluster.end():
            self.failures.append(f"I5: {name} {what}")
        for name in {name for name, _ in cluster.started}:
            log = cluster.log(name)
            for mark in ("CHECK failed", "check failed", "Sanitizer", "runtime error:"):
                if mark in log:
                    self.failures.append(f"I5: the log of {name} says: {log[log.index(mark):][:300]}")

    def proxy(self, target, faults=None, seed=1):
        proxy = Proxy(target, faults, seed)
        self._endings.append(proxy.end)
        return proxy

    def at_end(self, action):
        self._endings.append(action)

    def figure(self, what, value, unit="", at_most=None, at_least=None):
        bound = at_most if at_least is None else at_least
        self.figures.append({"what": what, "value": value, "unit": unit, "at_most": at_most, "at_least": at_least})
        if (at_most is not None and value > bound) or (at_least is not None and value < bound):
            is_told = unit in TIMED_UNITS and not self.judge_times or "memory" in what and not self.judge_memory
            told = self.slow if is_told else self.failures
            told.append(f"{what}: {value:.4g} {unit}, {'at most' if at_least is None else 'at least'} {bound:g}")

    def expect(self, condition, sentence):
        if not condition:
            self.failures.append(sentence)

    def judge(self, cluster, job, **how):
        """The global oracle about one witnessed job."""
        self.failures += Oracle(cluster, job).breaches(**how)

    def end_supervisor(self, cluster):
        """In order, as an operator does."""
        self._expect_steady(cluster)
        cluster.baseline = None
        cluster.supervisor.terminate()
        cluster.supervisor.wait(10)

    def begin_vitals(self, cluster):
        """What the supervisor has now is what it is to have at the end, if it is the same process then."""
        cluster.baseline = (cluster.supervisor.pid, *vitals(cluster.supervisor.pid), cluster.live_workers())

    def _expect_steady(self, cluster):
        """I5: memory and descriptors of the supervisor are back near what they were: 10 %, and `spare_kib`, which belong to
        the allocator: a process of 15 MiB moves by more than a tenth when it answers a question."""
        if cluster.baseline is None or cluster.baseline[0] != cluster.supervisor.pid or not is_alive(cluster.supervisor.pid):
            return
        process, memory, files, workers = cluster.baseline
        files = files * 1.1 + 2 + max(0, cluster.live_workers() - workers)
        try:  # Whoever has just gone is noticed at once, and not at the same instant.
            wait_for(lambda: len(descriptors(process)) <= files, 5)
        except Broken:
            self.failures.append(f"I5: at most {files:.0f} descriptors of the supervisor were right: {descriptors(process)}")
        try:  # Chunks of a refused graph are freed by the thread that would have checked them, which runs behind all others.
            wait_for(lambda: resident_kib(process) <= memory * 1.1 + cluster.spare_kib, 5)
        except Broken:
            told = self.failures if self.judge_memory else self.slow
            told.append(f"I5: the supervisor grew from {memory} to {resident_kib(process)} KiB")

    def end(self):
        for action in reversed(self._endings):
            action()
        if not self.failures:
            shutil.rmtree(self.directory, ignore_errors=True)


def is_sanitized(binary):
    """Such a program keeps memory of its own beside each byte, and what is freed for a while."""
    with open(binary, "rb") as file:
        content = file.read()
    return any(symbol in content for symbol in (b"__asan_init", b"__tsan_init"))


def vitals(process):
    return resident_kib(process), len(descriptors(process))


def run_case(function, binary, full, judge_times=True, seconds=0):
    """(verdict, case, seconds, reason)."""
    stillness = Stillness()
    for attempt in (1, 2, 3):
        stillness.longest_s = 0.0
        case = Case(binary, full, judge_times, seconds)
        begin = time.monotonic()
        verdict, reason = "passed", ""
        try:
            function(case)
        except Skipped as skipped:
            verdict, reason = "skipped", str(skipped)
        except Broken as broken:
            case.failures.append(str(broken))
        except Exception:  # Of the test itself: the others' lines are wanted all the same.
            case.failures.append(traceback.format_exc())
        finally:
            case.end()
        if case.failures:
            verdict, reason = "failed", "; ".join(case.failures)[:2000] + f" [{case.directory}]"
        elif case.slow:
            reason = "slow: " + "; ".join(case.slow)
        # Somebody who measures on this machine may have stopped all of us; that is no fault of the cluster.
        if verdict != "failed" or stillness.longest_s < 0.5 or attempt == 3:
            break
    return verdict, case, time.monotonic() - begin, reason
