"""Dask's annotations on a cluster of processes, and what cannot be."""
# tidy: foreign-file scheduler
import os
import threading

import functions
import pytest
from test_cluster import await_workers, cluster  # noqa: F401

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
from dask.highlevelgraph import HighLevelGraph  # noqa: E402
from test_losses import worker_of  # noqa: E402

import penstock.dask  # noqa: E402
from penstock import Client  # noqa: E402


def annotated(graph, **annotations):
    whole = HighLevelGraph.from_collections("all", graph)
    whole.layers["all"].annotations = annotations
    return whole


def ran_on(cluster, pids):  # noqa: F811
    """The processes of the workers that these runners are of."""
    return [worker_of(cluster, pid).pid for pid in pids]


def join(cluster, name, *options):  # noqa: F811
    """A worker more. Its name is none that could be a worker's number, as w1 is: these may be meant by `workers`, too."""
    worker = cluster.start("worker", "--supervisor", cluster.address, "--name", name, "--memory", "1GiB", "--no-gpus",
                           *(options or ("--slots", "1")))
    cluster.workers.append(worker)
    return worker.pid


def test_workers_are_named(cluster):  # noqa: F811
    places = {name: join(cluster, name) for name in ("north", "south")}
    with Client(cluster.address) as client:
        await_workers(client, *places)
        for name in ("north", "south", "north"):
            pids = (client.get(annotated({"a": (functions.pid,)}, workers=[name]), "a"),
                    client.get({"a": (functions.pid,)}, "a", workers=name),
                    client.submit(functions.pid, workers=name).result(60))
            assert ran_on(cluster, pids) == [places[name]] * 3
        each = annotated({"a": (functions.pid,), "b": (functions.pid, 1)},
                         workers=lambda key: {"a": "north", "b": "south"}[key])
        assert ran_on(cluster, client.get(each, ["a", "b"])) == list(places.values())


def test_a_resource_is_where_a_band_has_it(cluster):  # noqa: F811
    config = cluster.directory / "worker.toml"
    config.write_text('[[band]]\nname = "numa-0"\nnamed = {license = 1}\n')
    place = str(cluster.directory / "in-use")

    def alone(number):  # The worker has two slots and one license.
        open(place, "x").close()
        os.remove(place)
        return os.getpid()
    licensed = join(cluster, "licensed", "--slots", "2", "--config", str(config))
    with Client(cluster.address) as client:
        graph = {f"key-{i}": (alone, i) for i in range(6)}
        await_workers(client, "licensed")
        answers = client.get(annotated(graph, resources={"license": 1}), list(graph))
        assert set(ran_on(cluster, answers)) == {licensed}


def test_a_larger_priority_comes_first(cluster, tmp_path):  # noqa: F811
    gate, log = str(tmp_path / "gate"), str(tmp_path / "log")
    graph = {"key-9": (functions.say_then_wait, "The others are known by now.", gate)}
    graph.update({f"key-{i}": (functions.note, log, str(i)) for i in (3, 1, 5, 2, 4)})
    whole = annotated(graph, workers="north", priority=lambda key: int(key[-1]))
    answers = []
    join(cluster, "north")
    with Client(cluster.address) as client:
        await_workers(client, "north")
        thread = threading.Thread(target=lambda: answers.append(client.get(whole, list(graph))))
        thread.start()
        functions.wait_for(gate + ".waits")
        open(gate, "w").close()
        thread.join(60)
    assert answers and open(log).read().split() == ["5", "4", "3", "2", "1"]


@pytest.mark.parametrize("annotations, kind, said", [
    ({"workers": ["w1", "w2"]}, ValueError, "annotation of 'a': workers must name one worker, not 2 .w1, w2.: for a choice"),
    ({"workers": 7}, TypeError, "workers must be the name of a worker, not 7"),
    ({"resources": {"license": 0.5}}, TypeError, r"resources\['license'\] must be a whole number, not 0.5"),
    ({"resources": {"license": -1}}, ValueError, r"resources\['license'\] must be from 0"),
    ({"resources": {"GPU": -1}}, ValueError, r"resources\['GPU'\] must be at least 0.001"),
    ({"resources": {"GPU": 2000}}, ValueError, "a host gives a call at most 16"),
    ({"resources": {"GPU": 1.5}}, ValueError, "a part of one GPU, or a whole number of them"),
    ({"priority": "high"}, TypeError, "annotation of 'a': priority must be a whole number"),
    ({"retries": -1}, ValueError, "retries must be from 0")])
def test_what_cannot_be_is_refused_by_name(client, annotations, kind, said):
    with pytest.raises(kind, match=said):
        client.get(annotated({"a": (functions.increment, 1)}, **annotations), "a")


def test_calls_refuse_the_same(client):
    with pytest.raises(ValueError, match="workers must name one worker"):
        client.submit(functions.increment, 1, workers=["w1", "w2"])
    with pytest.raises(TypeError, match=r"resources\['license'\] must be a whole number, not 0.5"):
        client.submit(functions.increment, 1, resources={"license": 0.5})
    with pytest.raises(TypeError, match="resources must be a dictionary"):
        client.submit(functions.increment, 1, resources=["GPU"])


def test_an_optimization_of_ones_own_is_applied(client):
    seen = []

    def optimize(graph, keys):
        seen.append(keys)
        return {**graph, "a": 10}
    assert client.get({"a": 1, "b": (functions.increment, "a")}, [["b"], "a"], optimize=optimize) == ((11,), 10)
    assert seen == [["b", "a"]]
    total = dask.delayed(functions.increment)(1)
    assert total.compute(scheduler=penstock.dask.get, client=client, optimize=lambda graph, keys: {
        **dict(graph), keys[0]: 5}, optimize_graph=False) == 5


def test_annotations_outlast_an_optimization_of_ones_own(client):
    with pytest.raises(TypeError, match="annotation of 'a': resources"):
        client.get(annotated({"a": (functions.pid,)}, resources="GPU"), "a", optimize=lambda graph, keys: dict(graph))


def test_annotations_around_a_computation_count(client, tmp_path):
    dataframe = pytest.importorskip("dask.dataframe", reason="dask.dataframe or pandas is not installed")
    pandas = pytest.importorskip("pandas")
    frame = dataframe.from_pandas(pandas.DataFrame({"a": [1, 2]}), npartitions=1)

    def fail_once(part, path):
        functions.fail_once(path)
        return part
    of_frame = frame.map_partitions(fail_once, str(tmp_path / "frame"), meta=frame._meta)
    with dask.annotate(retries=1):
        assert client.get({"a": (functions.fail_once, str(tmp_path / "graph"))}, "a") == "the second time"
        assert len(of_frame.compute(scheduler=client.get)) == 2
