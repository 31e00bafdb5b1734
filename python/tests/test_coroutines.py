"""Coroutines on a worker: they are cancelled as functions are interrupted, and killed as these are."""

import functions
import pytest
from test_cluster import Cluster, until

from penstock import Client

GRACE = "400ms"


@pytest.fixture
def impatient(tmp_path):
    """One slot, of a worker that soon kills what does not stop when it is asked to."""
    made = Cluster(tmp_path, workers=())
    made.workers.append(made.start("worker", "--supervisor", made.address, "--name", "w1", "--slots", "1", "--memory", "1GiB",
                                   "--no-gpus", "--set", f"worker.kill_grace={GRACE}"))
    with Client(made.address) as client:
        yield client
    made.end()


def lives(pid):
    try:
        with open(f"/proc/{pid}/stat") as stat:
            return stat.read().rpartition(")")[2].split()[0] != "Z"
    except (FileNotFoundError, ProcessLookupError):  # Of the second kind if it goes between the two calls.
        return False


def cancelled_once_it_waits(client, function, log):
    """The process that ran it."""
    future = client.submit(function, str(log))
    client._flush()
    until(lambda: log.exists() and log.read_text().endswith("\n"))
    assert future.cancel()
    return int(log.read_text().split()[0])


def test_a_cancelled_coroutine_cleans_up_and_its_process_goes_on(impatient, tmp_path):
    log = tmp_path / "log"
    pid = cancelled_once_it_waits(impatient, functions.wait_and_clean_up, log)
    until(lambda: log.read_text().split()[1:] == ["cancelled", "cleaned"])
    assert impatient.submit(functions.pid).result(30) == pid


@pytest.mark.parametrize("function", [functions.wait_whatever_is_said, functions.clean_up_without_end,
                                      functions.spin_whatever_is_said])
def test_one_that_does_not_end_is_told_once_and_killed_after_the_grace(impatient, tmp_path, function):
    log = tmp_path / "log"
    pid = cancelled_once_it_waits(impatient, function, log)
    until(lambda: not lives(pid))
    assert log.read_text().split()[1:] == ["cancelled"]
    assert impatient.submit(functions.increment, 1).result(30) == 2
