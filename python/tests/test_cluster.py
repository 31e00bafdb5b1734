"""A cluster of processes: what an address makes different."""
import concurrent.futures
import os
import pathlib
import shutil
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
HERE = pathlib.Path(__file__).resolve().parent
BINARY = pathlib.Path(LIBRARY).parent / "penstock"


def until(condition, seconds=30):
    late = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < late, "the condition did not come true"
        time.sleep(0.005)


class Cluster:
    def __init__(self, directory, workers=("w1", "w2"), settings=()):
        if not BINARY.exists():
            pytest.skip(f"{BINARY} is not built")
        self.directory, self.processes = directory, []
        self.settings = settings
        self.supervise("127.0.0.1:0")
        until(lambda: (directory / "address").exists() and (directory / "address").read_text().strip())
        self.address = (directory / "address").read_text().strip()
        self.workers = [self.worker(name) for name in workers]

    def start(self, *arguments):
        process = subprocess.Popen([str(BINARY), *arguments, "--log-level", "error"], cwd=self.directory)
        self.processes.append(process)
        return process

    def set(self, *sections):
        """Arguments for a process that reads these sections."""
        return [word for setting in self.settings if setting.split(".")[0] in sections for word in ("--set", setting)]

    def supervise(self, address):
        self.supervisor = self.start("supervisor", "--state", str(self.directory / "state"), "--listen", address,
                                     "--address-file", str(self.directory / "address"), *self.set("link", "security", "supervisor"))

    def restart_supervisor(self):
        """As after a crash."""
        self.kill_supervisor()
        self.supervise(self.address)

    def kill_supervisor(self):
        self.supervisor.kill()
        self.supervisor.wait(20)

    def worker(self, name, slots=1):
        return self.start("worker", "--supervisor", self.address, "--name", name, "--slots", str(slots), "--memory", "1GiB", "--no-gpus",
                          *self.set("link"))

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


# The former job was returned, and nothing of the new work ran.
def test_other_work_under_a_name_is_refused_and_the_same_runs_again(cluster):
    with Client(cluster.address) as client:
        job = named(client, "one", functions.increment, 1)
        assert job.results(60) == [2]
        with pytest.raises(errors.PenstockError, match="does something else") as refused:
            named(client, "one", functions.increment, 2)
        assert refused.value.code == "NameTaken"
        told = client.ask("rerun", "one")
        assert told["run"] == 2 and told["after"] == f"job-{job.number}"
        again = client.attach("one")
        assert again.number == int(told["job"][4:]) and again.results(60) == [2]
        assert named(client, "one", functions.increment, 1).number == again.number, "the newest run has the name"


def test_the_same_script_is_the_same_work_in_another_process(cluster, tmp_path):
    script = tmp_path / "script.py"
    script.write_text("""
import sys
from penstock import Client
TABLE = {"scale": 1, "text": "a text"}
def square(x, offset=0.0):
    return int(x * x * TABLE["scale"] + offset)
with Client(sys.argv[1]) as client:
    graph = client.graph()
    graph.add(square, 7)
    job = graph.submit(name="squares")
    print(job.number, job.existed, *job.results(60))
    job.detach()
""")
    said = [subprocess.run([sys.executable, script, cluster.address], env={**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(HERE.parent)},
                           capture_output=True, text=True, timeout=120) for seed in ("1", "2")]
    assert [one.stdout.split()[1:] for one in said] == [["False", "49"], ["True", "49"]], [one.stderr for one in said]


def test_calls_run_on_workers_of_their_own(cluster):
    with Client(cluster.address) as client:
        futures = client.map(functions.pid, range(20), retries=2)
        assert len(set(client.gather(futures))) >= 1
        array = client.submit(functions.make_array, 300000)
        assert client.submit(functions.total, array).result(30) == sum(range(300000))
        assert numpy.array_equal(array.result(30), numpy.arange(300000.0))
        with pytest.raises(ValueError, match="over the network"):
            client.submit(functions.fail, "over the network").result(30)


# A preempted call that succeeds is done; one that was told to leave may return anything.
def test_a_call_that_catches_its_interrupt_runs_again_elsewhere(tmp_path):
    cluster = Cluster(tmp_path, workers=("w1",))
    try:
        with Client(cluster.address) as client:
            future = client.submit(functions.part_when_interrupted, str(tmp_path / "began"), retries=2)
            until((tmp_path / "began").exists)
            cluster.worker("w2")
            await_workers(client, "w2")
            subprocess.run([str(BINARY), "drain", "--supervisor", cluster.address, "w1", "--now"], check=True)
            assert future.result(60) == "whole"
    finally:
        cluster.end()


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


# The state is put back by hand: nothing but the identity in the loan tells the two jobs apart.
def test_a_job_that_was_given_the_number_since_does_not_lend(tmp_path):
    cluster = Cluster(tmp_path, workers=("w1",))
    try:
        with Client(cluster.address) as client:
            assert named(client, "first", functions.increment, 1).results(60) == [2]
            cluster.supervisor.send_signal(signal.SIGSTOP)  # No file changes while it is copied.
            shutil.copytree(tmp_path / "state", tmp_path / "backup")
            cluster.supervisor.send_signal(signal.SIGCONT)
            old = client.submit(functions.itself, "old")
            assert old.exception(60) is None  # Its value has not been brought here.
            cluster.kill_supervisor()
            shutil.rmtree(tmp_path / "state")
            (tmp_path / "backup").rename(tmp_path / "state")
            cluster.supervise(cluster.address)
            with Client(cluster.address) as other:
                new = other.submit(functions.itself, "new")
                assert new.exception(60) is None
                assert new._batch.job == old._batch.job and new._batch.identity != old._batch.identity
                assert client.attach("first").wait(60) == "succeeded"  # So this client has found the next life.
                assert client.submit(functions.add, old, "!").result(60) == "old!", "it is made again"
    finally:
        cluster.end()


def attempts_in(directory):
    return {int(path.name.split("-")[1]): path.read_text().split() for path in directory.glob("attempt-*")}


# Two that ran at once had the number 1.
def test_the_number_of_an_attempt_is_not_used_again_by_the_next_supervisor(tmp_path):
    cluster = Cluster(tmp_path, workers=("w1",))
    try:
        with Client(cluster.address) as client:
            future = client.submit(functions.note_attempt_and_wait_for, str(tmp_path), str(tmp_path / "go"))
            client._flush()
            until(lambda: attempts_in(tmp_path))
            cluster.workers[0].send_signal(signal.SIGSTOP)  # What it runs goes on.
            cluster.restart_supervisor()
            cluster.worker("w2")
            until(lambda: len(attempts_in(tmp_path)) == 2)
            first, second = sorted(attempts_in(tmp_path))
            assert first == 1 and second == (1 << 32) + 1, "the first of the second term"
            names = {name for _, name in attempts_in(tmp_path).values()}
            assert len(names) == 2 and len({name.split("-")[0] for name in names}) == 1, "of one job"
            (tmp_path / "go").touch()
            assert future.exception(60) is None
    finally:
        cluster.workers[0].send_signal(signal.SIGCONT)
        cluster.end()


def test_a_worker_that_is_cut_off_kills_what_must_not_overlap_and_lets_the_rest_go_on(tmp_path):
    settings = "link.heartbeat=100ms", "link.silence_max=1s", "supervisor.overlap_margin=500ms"
    cluster = Cluster(tmp_path, workers=(), settings=settings)
    try:
        cluster.worker("w1", slots=2)
        with Client(cluster.address) as client:
            paths = {overlap: tmp_path / overlap for overlap in ("never", "allow")}
            futures = {overlap: client.submit(functions.stay_once, str(path), overlap=overlap) for overlap, path in paths.items()}
            client._flush()
            until(lambda: all(path.exists() for path in paths.values()))
            pids = {overlap: int(path.read_text()) for overlap, path in paths.items()}
            cluster.supervisor.send_signal(signal.SIGSTOP)
            until(lambda: not lives(pids["never"]))
            assert lives(pids["allow"])
            cluster.supervisor.send_signal(signal.SIGCONT)
            assert futures["never"].result(60) is True, "the first attempt was gone"
            assert lives(pids["allow"])
            futures["allow"].cancel()
    finally:
        cluster.supervisor.send_signal(signal.SIGCONT)
        cluster.end()


def test_a_supervisor_that_is_gone_is_an_error(cluster):
    with Client(cluster.address, timeout=1) as client:
        assert client.submit(functions.increment, 1).result(30) == 2
    cluster.end()
    with pytest.raises(errors.ConnectionFailed):
        Client(cluster.address, timeout=0.3)


@pytest.fixture
def cluster_without_workers(tmp_path):
    made = Cluster(tmp_path, workers=())
    yield made
    made.end()


def test_a_result_or_an_argument_that_is_larger_than_the_store_is_refused(cluster_without_workers):
    cluster = cluster_without_workers
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
    with Client(cluster.address) as client:
        await_workers(client, "w1", "w2")
    with Client(cluster.address, python=str(python)) as client:
        with pytest.raises(errors.VersionMismatch, match=r"client runs Python 3\.\d+, this runner 3\.99") as found:
            client.submit(functions.touch, str(tmp_path / "ran"), retries=3).result(60)
        assert len(found.value.history) == len(cluster.workers), "once on each, whatever `retries` says"
        assert not (tmp_path / "ran").exists()
