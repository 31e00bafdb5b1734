"""A large result of a worker process of this host is read where it lies.

`PENSTOCK_TEST_BYTES=1000000000 pytest -s test_mapped_results.py` prints the figures for another size."""
import os
import signal
import subprocess
import sys

import functions
import numpy
import pytest
from penstock import Client
from test_cluster import Cluster
from test_losses import descendants
from test_no_copy import SIZE, make, resident

STORE = 100 << 20
MAPPED = 45 << 20  # Less than `worker.mapped_percent` of it; beside it there is no room for...
OUTPUT = 70 << 20  # ...this one.


@pytest.fixture
def cluster(tmp_path):
    made = Cluster(tmp_path, workers=())
    yield made
    made.end()


def start_worker(cluster, *more):
    return cluster.start("worker", "--supervisor", cluster.address, "--name", "w", "--slots", "1", "--memory", "8GiB",
                         "--no-gpus", *more)


def test_it_is_in_memory_once(cluster, tmp_path):
    worker = start_worker(cluster)
    with Client(cluster.address) as client:
        def tree():
            return [os.getpid(), worker.pid, *descendants(worker.pid)]
        client.submit(make, 8, str(tmp_path / "pid")).result(60)  # Its runner has started, with its modules.
        before = resident(tree())
        array = client.submit(make, SIZE, str(tmp_path / "pid")).result(60)
        assert float(array.sum()) == SIZE // 8
        grown = resident(tree()) - before
        print(f"{SIZE} bytes: client, worker and runner together have grown by {grown} ({grown / SIZE:.2f}x)", file=sys.stderr)
        assert grown < 1.3 * SIZE, "it is in memory more than once"
        array[0] = 2.0  # The pages that are written become the reader's own.
        assert resident(tree()) - before < 1.3 * SIZE, "a copy was written to"
    assert float(array[-1]) == 1.0, "it outlives the client"


# Another process that has mapped a result of a job that is over.
READER = """
import sys
from penstock import Client
import functions
client = Client(sys.argv[1])
array = client.submit(functions.make_array, int(sys.argv[2]) // 8).result(60)
client.submit(functions.noop).result(60)
print("has it", flush=True)
sys.stdin.read()
"""


def start_reader(cluster):
    places = os.pathsep.join([os.path.dirname(os.path.abspath(functions.__file__)), *sys.path])
    reader = subprocess.Popen([sys.executable, "-c", READER, cluster.address, str(MAPPED)], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True, env={**os.environ, "PYTHONPATH": places})
    assert reader.stdout.readline() == "has it\n"
    return reader


def test_a_client_that_is_killed_gives_its_room_back(cluster):
    start_worker(cluster, "--store-memory", str(STORE), "--set", "worker.store_wait_max=60s")
    with Client(cluster.address) as client:
        reader, found = start_reader(cluster), []

        def finds_no_room():
            found[:] = [client.submit(functions.make_array, OUTPUT // 8)]
            try:
                return found[0].result(1) is None
            except TimeoutError:
                return True
        functions.until(finds_no_room)  # The worker looks every 250 ms at what is mapped.
        reader.send_signal(signal.SIGKILL)
        reader.wait()
        assert len(found[0].result(60)) == OUTPUT // 8


def test_a_client_that_never_lets_go_is_named_when_others_find_no_room(cluster):
    start_worker(cluster, "--store-memory", str(STORE), "--set", "worker.store_wait_max=500ms")
    with Client(cluster.address) as client:
        reader = start_reader(cluster)

        def is_named():
            why = client.submit(functions.make_array, OUTPUT // 8, retries=0).exception(60)
            return "clients of this host still read them" in str(why)
        functions.until(is_named)
        reader.kill()
        reader.wait()


def test_what_was_read_of_a_worker_that_is_killed_stays(cluster):
    worker = start_worker(cluster)
    with Client(cluster.address) as client:
        array = client.submit(functions.make_array, MAPPED // 8).result(60)
        worker.kill()
        worker.wait()
        assert numpy.array_equal(array, numpy.arange(MAPPED // 8, dtype=float))
