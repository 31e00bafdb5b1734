"""Runners of a worker are there before the subtasks that need them can begin."""
import pathlib

import functions
from penstock import Client
from test_cluster import await_workers, cluster  # noqa: F401
from test_losses import descendants


def runners_of(worker):
    found = []
    for pid in descendants(worker.pid):
        try:
            if b"penstock._runner" in pathlib.Path(f"/proc/{pid}/cmdline").read_bytes():
                found.append(pid)
        except OSError:  # It has ended meanwhile.
            pass
    return found


def test_what_waits_for_its_input_finds_its_runner_started(cluster, tmp_path):  # noqa: F811
    wide = cluster.start("worker", "--supervisor", cluster.address, "--name", "wide", "--slots", "3", "--memory", "1GiB",
                         "--no-gpus")
    with Client(cluster.address) as client:
        await_workers(client, "wide")
        assert len(runners_of(wide)) == 1
        graph = client.graph()
        first = graph.add(functions.wait_for, str(tmp_path / "gate"), workers="wide")
        for _ in range(3):
            graph.add(str, first, workers="wide")
        job = graph.submit()
        functions.until(lambda: len(runners_of(wide)) == 3)
        (tmp_path / "gate").touch()
        assert job.results(60) == [str(tmp_path / "gate")] * 3
        assert len(runners_of(wide)) == 3
