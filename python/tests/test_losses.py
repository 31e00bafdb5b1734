"""`kill -9` of a runner, then of a worker, while a dataframe is computed: the result is the same."""
# tidy: foreign-file scheduler, shuffle
import os
import pathlib
import signal

import functions
import pytest
from test_cluster import child_of, cluster  # noqa: F401

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe or pandas is not installed")
import pandas  # noqa: E402

import penstock.dask  # noqa: E402
from penstock import Client  # noqa: E402

ROWS, PARTS = 4000, 8


def part(number, place):
    """One part of the frame. Those of the second half wait until the test lets them go, each saying that it runs."""
    import random
    if number >= PARTS // 2:
        (pathlib.Path(place) / f"runs-{number}-{os.getpid()}").touch()
        functions.wait_for(str(pathlib.Path(place) / f"go-{number}"))
    draw = random.Random(number)
    rows = ROWS // PARTS
    return pandas.DataFrame({"k": [draw.randrange(17) for _ in range(rows)], "v": [draw.random() for _ in range(rows)],
                             "n": range(number * rows, (number + 1) * rows)})


def pipeline(place):
    """A grouped aggregate joined to its own rows, and sorted."""
    meta = pandas.DataFrame({"k": [1], "v": [0.5], "n": [1]})
    frame = dd.from_delayed([dask.delayed(part)(number, str(place)) for number in range(PARTS)], meta=meta,
                            verify_meta=False)
    totals = frame.groupby("k").v.sum().to_frame("total").reset_index()
    return frame.merge(totals, on="k").groupby("k").agg({"n": "max", "total": "mean", "v": "sum"})


def shuffled(place):
    """All rows by their keys, each where its key belongs."""
    meta = pandas.DataFrame({"k": [1], "v": [0.5], "n": [1]})
    frame = dd.from_delayed([dask.delayed(part)(number, str(place)) for number in range(PARTS)], meta=meta,
                            verify_meta=False)
    return frame.shuffle("k").map_partitions(lambda rows: rows.set_index("n"), meta=meta.set_index("n"))


def running(place):
    """{number of the part: process} of those that have begun and whose process lives."""
    begun = [path.name.split("-")[1:] for path in pathlib.Path(place).glob("runs-*")]
    return {int(number): int(pid) for number, pid in begun if os.path.exists(f"/proc/{pid}")}


@pytest.mark.parametrize("what", [pipeline, shuffled])
@pytest.mark.parametrize("who", ["a runner, then a worker", "the workers one after the other"])
def test_the_result_is_the_same(cluster, tmp_path, who, what):  # noqa: F811
    place, other = tmp_path / "parts", tmp_path / "calm"
    place.mkdir(), other.mkdir()
    for number in range(PARTS):
        (other / f"go-{number}").touch()
    expected = what(other).compute(scheduler="sync").sort_index()
    results = []
    with Client(cluster.address) as client:
        import threading

        def compute():
            with dask.config.set(scheduler=penstock.dask.get):  # Before Dask 2023 a shuffle is built for its scheduler.
                results.append(what(place).compute(client=client))
        thread = threading.Thread(target=compute)
        thread.start()
        functions.until(lambda: running(place))
        victim = next(iter(running(place).values()))
        if who.startswith("a runner"):
            os.kill(victim, signal.SIGKILL)
        else:
            kill_worker(cluster, functions.until(lambda: worker_of(cluster, victim)))
            cluster.workers.append(cluster.worker("w3"))
        functions.until(lambda: set(running(place).values()) - {victim})
        for number in range(PARTS - 1):
            (place / f"go-{number}").touch()
        # The last part runs when parts of both workers are there already: they go with their worker.
        # A runner whose worker was killed may have begun it, too, and lives a moment longer.
        kill_worker(cluster, functions.until(lambda: worker_of(cluster, running(place).get(PARTS - 1))))
        (place / f"go-{PARTS - 1}").touch()
        thread.join(120)
        assert not thread.is_alive() and results, "the result did not come"
    pandas.testing.assert_frame_equal(results[0].sort_index(), expected)


def worker_of(cluster, pid):  # noqa: F811
    return next((worker for worker in cluster.workers if str(pid) in descendants(worker.pid)), None)


def kill_worker(cluster, worker):  # noqa: F811
    cluster.workers.remove(worker)
    worker.send_signal(signal.SIGKILL)
    worker.wait(30)


def descendants(pid):
    found, left = set(), [str(pid)]
    while left:
        for child in child_of(left.pop()):
            if child not in found:
                found.add(child)
                left.append(child)
    return found
