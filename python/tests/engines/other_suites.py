"""Runs tests of other projects, as their wheels have them, with Penstock in place of what would run them there.

    python other_suites.py SUITE [--write] [--plain] [pytest's options]

A suite is one of `SUITES`. What fails is compared with other_suites.txt beside this file, where each known difference
has its reason: a new difference is an error, and a known one that has gone is told. `--write` adds the new ones, for a
person to give the reason; `--plain` runs the suite without Penstock, to see what fails anyway. Dask's schedulers by
name, "sync" among them, which its own comparisons use, are Penstock's meanwhile."""
# tidy: foreign-file scheduler
import asyncio  # noqa: F401: the end of a test's time, in the midst of its first import, would leave half of it.
import multiprocessing
import os
import pathlib
import signal
import sys
import tempfile
import time
import zlib
from collections import namedtuple

HERE = pathlib.Path(__file__).resolve()
EXPECTED = HERE.with_suffix(".txt")
SECONDS = 120  # For one test, on a machine that others use.

# `one_of`: of so many tests one is run, chosen by its name, so that the same are run with the next version.
# `without`: words in the names of tests that are about something else.
Suite = namedtuple("Suite", "module prepare one_of without", defaults=((),))


class Late(BaseException):
    """A test has taken too long."""


# ---- Penstock in place of what would compute ----

def prepare_dask(client):
    """All of Dask's schedulers are the client, but the one for coroutines, and those of processes that tests start."""
    import dask
    import penstock.dask
    penstock.dask.set_default_client(client)
    for name in ("sync", "synchronous", "single-threaded", "threads", "threading", "processes", "multiprocessing"):
        dask.base.named_schedulers[name] = penstock.dask.get
    dask.config.set(scheduler=penstock.dask.get)


def prepare_joblib(client):
    """The backends of processes are the client's."""
    import joblib.parallel
    import penstock.joblib

    class Backend(penstock.joblib.PenstockBackend):
        def __init__(self, **options):
            super().__init__(client=client, **options)
    for name in ("loky", "multiprocessing"):
        joblib.parallel.BACKENDS[name] = Backend


SUITES = {
    "dask-array": Suite("dask/array/tests/test_array_core.py", prepare_dask, 6),
    "dask-bag": Suite("dask/bag/tests/test_bag.py", prepare_dask, 3),
    "dask-dataframe": Suite("dask/dataframe/dask_expr/tests/test_collection.py", prepare_dask, 12),
    # The test that is left out starts a pool of processes of Dask's own.
    "xarray": Suite("xarray/tests/test_dask.py", prepare_dask, 3, ("basic_compute",)),
    # In processes that a test starts, and in calls, joblib's own backends are what they are.
    "joblib": Suite("joblib/test/test_parallel.py", prepare_joblib, 3,
                    ("nested", "effective_n_jobs", "thread", "unpicklable")),
}


# ---- the run ----

class Outcomes:
    """A plugin of pytest: what became of each test, by its name within the suite."""

    def __init__(self, suite):
        self.failed, self.passed, self.skipped, self.suite = {}, set(), 0, suite

    def pytest_collection_modifyitems(self, items):
        items[:] = [item for item in items if zlib.crc32(item.originalname.encode()) % self.suite.one_of == 0
                    and not any(word in item.name for word in self.suite.without)]

    def pytest_runtest_logreport(self, report):
        name = report.nodeid.partition("::")[2]
        if report.failed:
            self.failed[name] = str(report.longrepr).strip().splitlines()[-1][:160]
        elif report.when == "call" and report.passed:
            self.passed.add(name)
        elif report.skipped:
            self.skipped += 1

    def pytest_runtest_setup(self):
        signal.alarm(SECONDS)

    def pytest_runtest_teardown(self):
        signal.alarm(0)


def late(*_):
    raise Late(f"not done after {SECONDS} s")


def known(name):
    """{test, or a test without its parameters: why it differs} of a suite."""
    found = {}
    for line in EXPECTED.read_text().splitlines() if EXPECTED.exists() else ():
        suite, test, reason = (line.split(maxsplit=2) + ["", "", ""])[:3]
        if suite == name:
            found[test] = reason
    return found


def compared(expected, failed, ran):
    """(tests that differ and are not known to, known differences that have gone)"""
    def reason_of(test):
        return expected.get(test, expected.get(test.partition("[")[0]))
    new = [test for test in failed if reason_of(test) is None]
    differing = {test for test in failed} | {test.partition("[")[0] for test in failed}
    there = set(ran) | {test.partition("[")[0] for test in ran}
    return new, [test for test in expected if test in there and test not in differing]


def run(name, options, plain=False):
    """The outcomes of a suite."""
    import pytest
    from penstock import Client
    suite = SUITES[name]
    site = next(pathlib.Path(entry) for entry in sys.path if (pathlib.Path(entry) / suite.module).exists())
    outcomes = Outcomes(suite)
    signal.signal(signal.SIGALRM, late)
    with tempfile.TemporaryDirectory() as place, Client(slots=2) as client:
        os.chdir(place)  # Tests write beside themselves.
        if not plain:
            suite.prepare(client)
        pathlib.Path("pytest.ini").write_text("[pytest]\nxfail_strict = false\n")
        pytest.main(["-q", "-p", "no:cacheprovider", "-c", "pytest.ini", "--rootdir", str(site), "-W", "ignore",
                     "--tb=line", "--no-header", "--no-summary", *options,
                     str(site / suite.module)], plugins=[outcomes])
        os.chdir("/")
    return outcomes


def main(name, options):
    write, plain = "--write" in options, "--plain" in options
    began = time.monotonic()
    outcomes = run(name, [option for option in options if option not in ("--write", "--plain")], plain)
    new, gone = compared(known(name), outcomes.failed, outcomes.passed | set(outcomes.failed))
    print(f"{name}: {len(outcomes.passed)} passed, {len(outcomes.failed)} differ, {outcomes.skipped} skipped, "
          f"{time.monotonic() - began:.0f} s")
    for test in gone:
        print(f"{name}: {test} does not differ any more: take it out of {EXPECTED.name}")
    for test in new:
        print(f"{name}: {test} differs: {outcomes.failed[test]}")
    if write:
        with EXPECTED.open("a") as file:
            file.writelines(f"{name} {test} ? {outcomes.failed[test]}\n" for test in new)
        return 0
    return 1 if new or not outcomes.passed else 0


if __name__ == "__main__":
    sys.path[:1] = [str(HERE.parents[1]), str(HERE.parents[2])]
    from engines import other_suites
    status = other_suites.main(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    for child in multiprocessing.active_children():  # Managers of tests would keep the pipe of whoever reads this.
        child.kill()
    os._exit(status)
