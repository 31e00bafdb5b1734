"""Calls with several outputs, and metadata of them."""
import functions
import numpy
import pandas
import pytest
from test_cluster import cluster, until  # noqa: F401
from test_lost_results import lose_all, runs

import penstock
from penstock import Client, PenstockError

SIZE = 300_000


@pytest.fixture
def client():
    with Client(slots=2) as client:
        yield client


def halves(values):
    middle = len(values) // 2
    return values[:middle], values[middle:]


def noted_halves(log, size):
    functions.note(log, "made")
    return list(halves(numpy.arange(size)))


def test_each_output_is_a_future_of_its_own(client):
    low, high = client.submit(halves, list(range(10)), outputs=2)
    assert client.gather([low, high]) == [[0, 1, 2, 3, 4], [5, 6, 7, 8, 9]]
    assert client.submit(sum, high).result(60) == 35
    assert low.key.endswith("[0]") and high.key.endswith("[1]")


def test_readers_of_one_batch_and_of_a_later_one_get_the_output_that_they_name(client):
    low, high = client.submit(halves, numpy.arange(SIZE), outputs=2, key="cut")
    sums = [client.submit(numpy.sum, part) for part in (low, high)]
    assert client.gather(sums) == [numpy.arange(SIZE)[:SIZE // 2].sum(), numpy.arange(SIZE)[SIZE // 2:].sum()]
    assert client.submit(len, high).result(60) == SIZE - SIZE // 2
    assert (low.key, high.key) == ("cut[0]", "cut[1]")


def test_outputs_wait_for_the_inputs_of_their_call(client, tmp_path):
    slow = client.submit(functions.wait_for, str(tmp_path / "go"))
    parts = client.submit(lambda _: (1, 2, 3), slow, outputs=3)
    assert not any(part.done() for part in parts)
    (tmp_path / "go").touch()
    assert client.gather(parts) == [1, 2, 3]


def test_a_call_that_fails_fails_all_of_its_outputs(client):
    for part in client.submit(functions.fail, "on purpose", outputs=2):
        with pytest.raises(ValueError, match="on purpose"):
            part.result(60)


@pytest.mark.parametrize("value, error, text", [
    ((1, 2, 3), ValueError, "outputs=2 and has returned 3 values"), (7, TypeError, "has returned int: return a tuple")])
def test_a_call_with_another_number_of_outputs_fails_by_name(client, value, error, text):
    for part in client.submit(lambda: value, outputs=2):
        with pytest.raises(error, match=text):
            part.result(60)


@pytest.mark.parametrize("outputs", [0, -1, 1.5, "two", 1001])
def test_the_number_of_outputs_is_checked(client, outputs):
    with pytest.raises((TypeError, ValueError), match="outputs"):
        client.submit(halves, [1, 2], outputs=outputs)


def test_an_output_is_freed_without_the_others(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        low, high = client.submit(halves, numpy.arange(2 * SIZE), outputs=2)
        assert [low.exception(60), high.exception(60)] == [None, None]
        del low
        until(lambda: sum(row["bytes"] for row in client.memory()) < 10 * SIZE)
        assert high.result(60)[0] == SIZE


def test_an_output_that_is_lost_is_made_again_with_its_call(cluster, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        low, high = client.submit(noted_halves, str(log), SIZE, outputs=2)
        assert [low.exception(60), high.exception(60)] == [None, None]
        lose_all(cluster)
        assert [part[0] for part in client.gather([low, high])] == [0, SIZE // 2]
        assert runs(log) == 2 * ["made"], "once for both"
        lose_all(cluster)
        assert client.submit(len, high).result(60) == SIZE - SIZE // 2


# The input is made again in a job of its own: each part then borrows its own output, not the first one.
def test_an_output_of_a_call_that_waits_for_its_input_to_be_made_again(cluster, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        whole = client.submit(functions.make_array, SIZE)
        assert whole.exception(60) is None
        low, high = client.submit(halves, whole, outputs=2)
        assert [low.exception(60), high.exception(60)] == [None, None]
        lose_all(cluster)
        whole.retry()
        assert high.result(60)[0] == SIZE // 2
        assert low.result(60)[0] == 0


def test_metadata_come_without_the_value(client):
    table = pandas.DataFrame({"a": [1.0, None, 3.0], "b": list("xyz")})
    future = client.submit(lambda: table, metadata=True)
    told = future.metadata()
    assert (told["type"], told["shape"], told["rows"]) == ("pandas.core.frame.DataFrame", (3, 2), 3)
    assert told["columns"] == {"a": "float64", "b": "object"} and told["nbytes"] > 0
    assert not future._loaded, "the value was brought"
    assert future.result(60).equals(table)


def test_metadata_of_each_output_and_of_a_function_of_ones_own(client):
    parts = client.submit(halves, list(range(7)), outputs=2, metadata=len)
    assert client.metadata(reversed(parts)) == [4, 3]
    arrays = client.map(numpy.arange, [3, 5], metadata=penstock.statistics)
    told = client.metadata(arrays)
    assert [one["max"] for one in told] == [2, 4] and told[0]["shape"] == (3,) and told[0]["nulls"] == 0
    assert [list(array) for array in client.gather(arrays)] == [[0, 1, 2], [0, 1, 2, 3, 4]]


def test_statistics_of_the_columns_of_a_table(client):
    table = pandas.DataFrame({"a": [1.0, None, 3.0], "b": list("xyz")})
    told = penstock.statistics(table)["statistics"]
    assert told == {"a": {"nulls": 1, "min": 1.0, "max": 3.0}, "b": {"nulls": 0, "min": "x", "max": "z"}}
    assert penstock.statistics(numpy.array([1.5, numpy.nan]))["max"] == 1.5


def test_what_has_no_metadata_says_so(client):
    future = client.submit(functions.add, 1, 2)
    with pytest.raises(PenstockError, match="has no metadata.*metadata=True"):
        future.metadata()
    with pytest.raises(TypeError, match="metadata is True or a function"):
        client.submit(functions.add, 1, 2, metadata="shape")


def test_metadata_of_a_coroutine_and_of_a_call_that_fails(client):
    async def later():
        return b"1234"
    assert client.submit(later, metadata=True).metadata() == {"type": "builtins.bytes", "nbytes": 4, "length": 4}
    with pytest.raises(ValueError, match="on purpose"):
        client.submit(functions.fail, "on purpose", metadata=True).metadata()


def test_places_tell_where_values_are_and_what_they_take(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        made = client.submit(functions.make_array, SIZE)
        (place,) = client.places([made])
        assert place.nbytes >= 8 * SIZE and len(place.workers) == 1
        assert not made._loaded
        assert client.submit(len, made, workers=place.workers[0]).result(60) == SIZE


def test_places_of_many_are_asked_for_together(client, monkeypatch):
    futures = client.map(bytes, range(1, 1200))
    other = client.submit(bytes, 5000)
    assert other.exception(60) is None and len(client.gather(futures)) == 1199
    asked, ask = [], client.ask
    monkeypatch.setattr(client, "ask", lambda *words: asked.append(words) or ask(*words))
    places = client.places([other, *futures, other])
    assert places[0] == places[-1] and places[0].nbytes >= 5000 and len(places) == 1201
    assert all(place.nbytes > size for size, place in enumerate(places[1:-1]))
    assert len(asked) < 20, "one question for 500 futures of a job"


def test_outputs_within_a_graph(client):
    graph = client.graph()
    low, high = graph.add(halves, list(range(10)), outputs=2)
    sums = [graph.add(sum, part) for part in (high, low)]
    assert graph.submit(want=[*sums, high]).results(60) == [35, 10, [5, 6, 7, 8, 9]]
    graph = client.graph()
    graph.add(halves, [1, 2], outputs=2)
    job = graph.submit()
    assert job.results(60) == [[1], [2]]


def test_both_outputs_as_arguments_of_one_call(client):
    low, high = client.submit(halves, list(range(4)), outputs=2)
    assert client.submit(lambda one, two: (one, two), high, [low]).result(60) == ([2, 3], [[0, 1]])
    graph = client.graph()
    low, high = graph.add(halves, list(range(4)), outputs=2)
    assert graph.submit(want=graph.add(lambda one, two: (one, two), high, [low])).results(60) == [([2, 3], [[0, 1]])]


# Found by a try: all futures were cancelled, and the function went on.
@pytest.mark.parametrize("options", [{"outputs": 2}, {"metadata": True}])
def test_a_call_is_interrupted_when_all_of_its_outputs_are_cancelled(client, tmp_path, options):
    futures = client.submit(functions.touch_then_wait, str(tmp_path / "runs"), **options)
    until(lambda: (tmp_path / "runs").exists())
    for future in futures if isinstance(futures, list) else [futures]:
        assert future.cancel()
    until(lambda: (tmp_path / "runs.interrupted").exists())


@pytest.mark.parametrize("value", [numpy.array(3.0), pandas.DataFrame([[1, 2.0]], columns=["a", "a"]), None, [], "text",
                                   pandas.DataFrame([[1, 2]], columns=pandas.MultiIndex.from_tuples([("a", 1), ("a", 2)])),
                                   pandas.MultiIndex.from_tuples([(1, 2)]), numpy.array([]), pandas.Series([None, {}])])
def test_every_value_can_be_described(value):
    assert penstock.describe(value)["type"] and penstock.statistics(value)["type"]


def test_a_metadata_function_that_fails_is_named(client):
    future = client.submit(lambda: 1, metadata=lambda value: value / 0)
    with pytest.raises(ZeroDivisionError) as raised:
        future.result(60)
    assert any("metadata function" in note for note in getattr(raised.value, "__notes__", ["metadata function"]))
