"""Results and arguments may be written to: whoever does has pages of its own, and nobody else sees it."""
# tidy: foreign-file scheduler
import functions
import numpy
import pytest
from test_cluster import cluster  # noqa: F401

from penstock import Client, _graph

LIMIT = _graph.LARGE_BYTES
SIZES = [1000, LIMIT - 200, LIMIT, 4 * LIMIT - 200, 4 * LIMIT, 1 << 20]  # Plain memory and segments, of each who has it.


@pytest.fixture(params=["embedded", "remote"])
def either(request):
    return (request.getfixturevalue("client") if request.param == "embedded" else
            request.getfixturevalue("remote"))


@pytest.fixture
def remote(cluster):  # noqa: F811
    with Client(cluster.address) as made:
        yield made


def parts(client, size):
    """Of each kind of result one of `size` zeroed bytes, and how to read it again on the cluster."""
    scattered = client.scatter(numpy.zeros(size, "u1"))
    yield scattered, scattered
    made = client.submit(numpy.zeros, size, "u1")
    yield made, made
    yield client.submit(functions.itself, scattered), scattered


def test_a_result_is_written_to_and_those_that_read_it_on_the_cluster_see_what_it_was(either):
    for size in SIZES:
        for future, other in parts(either, size):
            array = future.result(30)
            assert array.nbytes == size and not array.any()
            array += 1
            assert array.all()
            assert either.gather([either.submit(functions.total, one) for one in (future, other)]) == [0, 0]


def test_what_was_brought_together_is_written_to_one_by_one(either):
    futures = either.map(functions.filled, [LIMIT * 8] * 4, range(4))
    one, *others = either.gather(futures)
    one[:] = 9
    assert [int(array[0]) for array in others] == [1, 2, 3] and one.min() == 9
    others[0][:] = 8
    assert [int(array[-1]) for array in (one, *others)] == [9, 8, 2, 3]


def test_who_brings_the_same_twice_has_two(either):
    graph = either.graph()
    made = graph.add(functions.filled, LIMIT * 8, 5)
    job = graph.submit(want=[made])
    job.result(30)
    one, two = job.fetch([made, made])
    one[:] = 1
    two[:1] = 2
    assert [array[:2].tolist() for array in (one, two, *job.fetch([made]))] == [[1, 1], [2, 5], [5, 5]]


@pytest.mark.parametrize("size", SIZES)
def test_a_call_writes_to_its_arguments_and_others_see_what_they_were(client, size):
    array = numpy.zeros(size, "u1")
    scattered, made = client.scatter(array), client.submit(numpy.zeros, size, "u1")
    for argument in (scattered, made, array, [made], {"a": scattered}):
        for _ in range(2):
            assert client.submit(functions.write_into, argument).result(30) == size
    assert not made.result(30).any() and not array.any()
    assert client.submit(functions.write_into_both, made, [made]).result(30) == 2, "they are one object"


def test_a_call_that_is_made_again_has_what_its_arguments_were(client, tmp_path):
    made = client.submit(numpy.zeros, 1 << 20, "u1")
    again = client.submit(functions.write_into_and_fail_once, made, str(tmp_path / "x"), retries=1)
    assert again.result(30) == 1


def test_a_table_is_written_to(client):
    pandas = pytest.importorskip("pandas")
    table = client.submit(functions.table, 100_000).result(30)
    table["b"] = 1
    table.loc[5, "a"] = -1
    table.iloc[:100, 0] = 7.0
    table.sort_values("a", inplace=True)
    assert isinstance(table, pandas.DataFrame) and len(table) == 100_000


def test_collections_are_written_to(client):
    da = pytest.importorskip("dask.array")
    import penstock.dask

    def written(part):
        part += 1
        return part
    array = da.ones((512, 512), chunks=(256, 512))
    kept = client.persist(array)
    assert float(kept.map_blocks(written).sum().compute(scheduler=penstock.dask.get, client=client)) == 2 * 512 * 512
    value = client.compute(kept).result(30)
    value += 1
    value.sort()
    assert float(kept.sum().compute(scheduler=penstock.dask.get, client=client)) == 512 * 512
