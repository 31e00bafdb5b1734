"""A cluster of processes: what an address makes different."""
import concurrent.futures
import os
import pathlib
import signal
import subprocess
import sys
import threading
import time

import functions
import numpy
import pytest
from penstock import Client, errors

LIBRARY = os.environ.get("PENSTOCK_LIBRARY") or str(pathlib.Path(__file__).resolve().parents[2] / "build/dev/libpenstock.so")
BINARY = pathlib.Path(LIBRARY).parent / "penstock"


def until(condition, seconds=30):
    late = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < late, "the condition did not come true"
        time.sleep(0.005)


class Cluster:
    def __init__(self, directory, workers=("w1", "w2")):
        if not BINARY.exists():
            pytest.skip(f"{BINARY} is not built")
        self.directory, self.processes = directory, []
        self.supervise("127.0.0.1:0")
        until(lambda: (directory / "address").exists() and (directory / "address").read_text().strip())
        self.address = (directory / "address").read_text().strip()
        self.workers = [self.worker(name) for name in workers]

    def start(self, *arguments):
        process = subprocess.Popen([str(BINARY), *arguments, "--log-level", "error"], cwd=self.directory)
        self.processes.append(process)
        return process

    def supervise(self, address):
        self.supervisor = self.start("supervisor", "--state", str(self.directory / "state"), "--listen", address,
                                     "--address-file", str(self.directory / "address"))

    def restart_supervisor(self):
        """As after a crash."""
        self.supervisor.kill()
        self.supervisor.wait(20)
        self.supervise(self.address)

    def worker(self, name):
        return self.start("worker", "--supervisor", self.address, "--name", name, "--slots", "1", "--memory", "1GiB", "--no-gpus")

    def end(self):
        for process in self.processes:
            process.terminate()
        for process in self.processes:
            process.wait(20)


def await_workers(client, *names):
    """Whoever names a worker that has not come yet, while others have, is refused."""
    for name in names:
        functions.until(lambda: client.submit(functions.noop, workers=name).exception(60) is None)


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path)
    yield made
    made.end()


def named(client, name, *arguments):
    graph = client.graph()
    graph.add(*arguments)
    return graph.submit(name=name)


# Whoever found a job under its name released it for its owner, by forgetting it.
def test_a_job_that_another_client_has_made_is_left_to_it(cluster):
    with Client(cluster.address) as owner, Client(cluster.address) as other:
        job = named(owner, "one", functions.increment, 1)
        assert job.results(60) == [2]
        found = named(other, "one", functions.increment, 1)
        assert found.existed and not found.ours and found.number == job.number
        assert found.results(60) == [2]
        del found
        reader = other.graph()
        reader.add(functions.increment, 1)
        reader.submit().result(60)  # What the other one has said by then was heard.
        assert job.results() == [2]
        assert job.ours and not job.existed


def test_who_submits_again_after_the_supervisor_has_died_still_owns_the_job(cluster):
    with Client(cluster.address) as owner:
        job = named(owner, "one", functions.increment, 1)
        assert job.results(60) == [2]
        cluster.restart_supervisor()
        again = named(owner, "one", functions.increment, 1)
        assert again.existed and again.ours and again.number == job.number
        number = job.number
        job.detach()
        again = named(owner, "one", functions.increment, 1)
        assert again.existed and not again.ours and again.number == number, "it was left to others"


def test_calls_run_on_workers_of_their_own(cluster):
    with Client(cluster.address) as client:
        futures = client.map(functions.pid, range(20), retries=2)
        assert len(set(client.gather(futures))) >= 1
        array = client.submit(functions.make_array, 300000)
        assert client.submit(functions.total, array).result(30) == sum(range(300000))
        assert numpy.array_equal(array.result(30), numpy.arange(300000.0))
        with pytest.raises(ValueError, match="over the network"):
            client.submit(functions.fail, "over the network").result(30)


def test_a_job_is_attached_to_from_elsewhere(cluster):
    with Client(cluster.address) as first:
        graph = first.graph()
        graph.add(functions.increment, 41)
        job = graph.submit(name="answer")
        job.result(30)
        with Client(cluster.address) as second:
            assert second.attach("answer").results(30) == [42]


def test_results_that_were_released_are_missed_by_name(cluster):
    with Client(cluster.address) as first:
        graph = first.graph()
        graph.add(functions.increment, 41)
        job = graph.submit(name="answer")
        assert job.results(30) == [42]
        job.release()
        with Client(cluster.address) as second:
            with pytest.raises(errors.ResultLost, match="released"):
                second.attach("answer").results(30)


def test_a_worker_that_is_killed_costs_time_only(cluster, tmp_path):
    with Client(cluster.address) as client:
        go = tmp_path / "go"
        futures = client.map(functions.wait_for, [str(go)] * 4)
        client._flush()
        until(lambda: any(child_of(worker.pid) for worker in cluster.workers))
        os.kill(cluster.workers[0].pid, signal.SIGKILL)
        go.touch()
        assert client.gather(futures) == [str(go)] * 4


def child_of(pid):
    try:
        return [child for thread in pathlib.Path(f"/proc/{pid}/task").iterdir()  # tidy: foreign
                for child in (thread / "children").read_text().split()]
    except FileNotFoundError:
        return []


# It was waited for ten seconds, or for ever by who waited with the client's lock in its hands.
@pytest.mark.parametrize("what", ["submit", "attach", "logs", "wait", "graph", "fetch"])
def test_a_client_is_closed_at_once_while_calls_wait_for_a_supervisor_that_hangs(cluster, what):
    client, ends = Client(cluster.address), []
    array = client.submit(functions.make_array, 100000)
    assert array.exception(60) is None
    graph = client.graph()
    graph.add(functions.wait_for, "/no/such/file")
    job, waiting = graph.submit(), client.graph()
    waiting.add(functions.increment, 1)
    hanging = [cluster.supervisor, *(cluster.workers if what == "fetch" else [])]
    for process in hanging:
        process.send_signal(signal.SIGSTOP)
    calls = {"submit": lambda: client.submit(functions.increment, 1).result(), "attach": lambda: client.attach("x"),
             "logs": lambda: client._log(job.number, -1), "wait": lambda: job.wait(), "graph": lambda: waiting.submit(),
             "fetch": lambda: array.result()}

    def call():
        try:
            calls[what]()
        except (errors.ClientClosed, concurrent.futures.CancelledError) as error:
            ends.append(type(error))
    thread = threading.Thread(target=call)
    thread.start()
    until(lambda: client._connection._inside or client._sending or what == "graph")
    wait, left = client._connection.wait_until_left, []
    client._connection.wait_until_left = lambda seconds: left.append(wait(seconds)) or left[0]
    client.close()
    thread.join(60)
    for process in hanging:
        process.send_signal(signal.SIGCONT)
    assert len(ends) == 1 and left == [True], (ends, left)


def lives(pid):
    try:
        return ") Z " not in pathlib.Path(f"/proc/{pid}/stat").read_text()
    except (FileNotFoundError, ProcessLookupError):
        return False


def test_nothing_of_a_worker_is_left_two_seconds_after_it_ended_in_order(cluster, tmp_path):
    with Client(cluster.address) as client:
        await_workers(client, "w1", "w2")
        futures = [client.submit(functions.leave_daemon, str(tmp_path / name), workers=worker)
                   for name, worker in (("one", "w1"), ("two", "w2"))]
        client._flush()
        until(lambda: all((tmp_path / name).exists() for name in ("one", "two")))
        started = [int((tmp_path / name).read_text()) for name in ("one", "two")]
        started += [int(child) for worker in cluster.workers for child in child_of(worker.pid)]
        assert len(started) > 4 and all(map(lives, started))
        for worker in cluster.workers:
            worker.terminate()
        for worker in cluster.workers:
            assert worker.wait(20) == 0
        until(lambda: not any(map(lives, started)), seconds=2)
        del futures


def test_a_supervisor_that_is_gone_is_an_error(cluster):
    with Client(cluster.address, timeout=1) as client:
        assert client.submit(functions.increment, 1).result(30) == 2
    cluster.end()
    with pytest.raises(errors.ConnectionFailed):
        Client(cluster.address, timeout=0.3)


def test_a_result_or_an_argument_that_is_larger_than_the_store_is_refused(cluster):
    for worker in cluster.workers:
        worker.terminate()
        worker.wait(20)
    cluster.start("worker", "--supervisor", cluster.address, "--name", "small", "--slots", "1", "--memory", "1GiB",
                  "--store-memory", "8MiB", "--spill", str(cluster.directory / "spill"), "--no-gpus")
    with Client(cluster.address) as client:
        with pytest.raises(errors.ResultTooLarge, match="make_array.*can never fit into the store.*store_bytes_max") as found:
            client.submit(functions.make_array, 4_000_000, retries=3).result(60)
        assert len(found.value.history) == 1 and found.value.code == "LimitExceeded"
        with pytest.raises(errors.ResultTooLarge, match="an argument of total.*can never fit into the store"):
            client.submit(functions.total, numpy.zeros(4_000_000)).result(60)
        with pytest.raises(errors.ResultTooLarge, match="scattered.*can never fit into the store"):
            client.submit(functions.total, client.scatter(numpy.zeros(4_000_000))).result(60)
        assert client.submit(functions.increment, 1).result(60) == 2


def test_a_runner_of_another_python_is_refused_at_once_and_both_are_named(cluster, tmp_path):
    python = tmp_path / "python"
    python.write_text(f"""#!/bin/sh
exec {sys.executable} -u -c "import sys; sys.version_info = (3, 99, 1)
$3"
""")
    python.chmod(0o755)
    with Client(cluster.address, python=str(python)) as client:
        with pytest.raises(errors.VersionMismatch, match=r"client runs Python 3\.\d+, this runner 3\.99") as found:
            client.submit(functions.touch, str(tmp_path / "ran"), retries=3).result(60)
        assert len(found.value.history) == len(cluster.workers), "once on each, whatever `retries` says"
        assert not (tmp_path / "ran").exists()
