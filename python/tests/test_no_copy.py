"""An array that one runner has made and another reads is in memory once.

`PENSTOCK_TEST_BYTES=1000000000 pytest -s test_no_copy.py` prints the figures for another size."""
import contextlib
import os
import pathlib
import sys

import functions
import numpy
from test_losses import descendants

from penstock import Client

SIZE = int(os.environ.get("PENSTOCK_TEST_BYTES", 64 << 20))


def resident(pids):
    """Bytes that these processes have in memory; what several share counts once among them."""
    lines = []
    for pid in pids:
        with contextlib.suppress(ProcessLookupError, FileNotFoundError):  # It has ended since it was listed.
            lines += pathlib.Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
    return sum(int(line.split()[1]) << 10 for line in lines if line.startswith("Pss:"))


def make(size, pid_path):
    pathlib.Path(pid_path).write_text(str(os.getpid()))
    return numpy.ones(size // 8)


def add_and_stay(array, path):
    """Has read all of it, and keeps it until it may go on."""
    total = float(array.sum())
    pathlib.Path(path + ".pid").write_text(str(os.getpid()))
    functions.say_then_wait("", path)
    return total


def test_it_is_in_memory_once(tmp_path):
    go = str(tmp_path / "go")
    with Client(slots=2, warm=False) as client:
        def tree():
            return [os.getpid(), *descendants(os.getpid())]
        # Each a runner of its own, started and with its modules.
        for who in ("producer", "consumer"):
            client.submit(make, 8, str(tmp_path / f"pid-{who}"), environment={"WHO": who}).result(30)
        before = resident(tree()), resident([(tmp_path / "pid-producer").read_text()])
        made = client.submit(make, SIZE, str(tmp_path / "pid-producer"), environment={"WHO": "producer"})
        total = client.submit(add_and_stay, made, go, environment={"WHO": "consumer"})
        client._flush()
        functions.until(lambda: os.path.exists(go + ".waits") or total.done())
        producer, consumer = (tmp_path / "pid-producer").read_text(), pathlib.Path(go + ".pid").read_text()
        grown = resident(tree()) - before[0], resident([producer]) - before[1]
        print(f"{SIZE} bytes: all processes together have grown by {grown[0]} ({grown[0] / SIZE:.2f}x), the producer by "
              f"{grown[1]} ({grown[1] / SIZE:.2f}x)", file=sys.stderr)
        pathlib.Path(go).touch()
        assert total.result(60) == SIZE // 8
        assert producer != consumer
        assert grown[0] < 1.3 * SIZE, "it is in memory more than once"
        assert grown[1] < 0.3 * SIZE, "the producer keeps what it has made"


def test_a_result_is_in_memory_once_and_only_what_is_written_is_copied(tmp_path):
    with Client(slots=1, warm=False) as client:
        def all_of_it():
            return resident([os.getpid(), *descendants(os.getpid())])
        client.submit(make, 8, str(tmp_path / "pid")).result(30)
        before = all_of_it()
        array = client.submit(make, SIZE, str(tmp_path / "pid")).result(60)
        assert array.sum() == SIZE // 8
        read = all_of_it() - before
        array[::array.size // 4] = 2
        written = all_of_it() - before - read
        print(f"{SIZE} bytes: read {read / SIZE:.2f}x, by writing to four places {written} bytes more", file=sys.stderr)
        assert read < 1.3 * SIZE and written < SIZE // 8


def anonymous():
    """Bytes of this process that are no file's and no memory segment's."""
    lines = pathlib.Path("/proc/self/smaps_rollup").read_text().splitlines()
    return next(int(line.split()[1]) << 10 for line in lines if line.startswith("Anonymous:"))


# Three copies stayed: of the client, in the graph that brought the object, and in a record of the worker.
def test_a_scattered_object_is_in_memory_once_when_it_is_read():
    with Client(slots=1, warm=False) as client:
        assert client.submit(functions.increment, 1).result(60) == 2
        before = anonymous()
        future = client.scatter(numpy.ones(SIZE // 8))
        assert client.submit(numpy.sum, future).result(60) == SIZE // 8
        functions.until(lambda: anonymous() < before + SIZE // 2)
        assert client.submit(numpy.sum, future).result(60) == SIZE // 8, "it is there for the next reader"
        value = future.result(60)
        assert value[0] == 1 and len(value) == SIZE // 8
        assert anonymous() < before + SIZE // 2


def test_a_scattered_object_is_kept_here_as_well_where_lineage_is_full():
    with Client(slots=1, warm=False, lineage="full") as client:
        future = client.scatter(numpy.ones(SIZE // 8))
        assert client.submit(numpy.sum, future).result(60) == SIZE // 8
        assert future._given is not None
