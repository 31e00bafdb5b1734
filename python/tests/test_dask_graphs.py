"""Graphs drawn by Hypothesis mean the same to us as to Dask, in both of its formats."""
# tidy: foreign-file task, Task
import functions
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
from penstock import _nodes  # noqa: E402
import penstock.dask  # noqa: E402

KEYS = [lambda i: f"key-{i}", lambda i: ("key", i), lambda i: 1000 + i]
LITERALS = st.none() | st.booleans() | st.integers(0, 99) | st.text("xy", max_size=3) | st.floats(0, 1)


@st.composite
def plain_graphs(draw):
    """Calls as tuples, references as bare keys: Dask's format until 2024."""
    keys, graph = [], {}
    for i in range(draw(st.integers(1, 9))):
        leaf = LITERALS | st.sampled_from(keys) if keys else LITERALS
        part = st.recursive(leaf, lambda inner: st.lists(inner, max_size=3) | st.tuples(
            st.just(functions.collect), inner, inner), max_leaves=5)
        call = st.tuples(st.just(functions.collect), part, part)
        key = draw(st.sampled_from(KEYS))(i)
        graph[key] = draw(call | leaf)
        keys.append(key)
    return graph, draw(st.lists(st.sampled_from(keys), min_size=1, max_size=4))


@settings(max_examples=60)
@given(plain_graphs())
def test_a_plain_graph_means_the_same(client, drawn):
    graph, keys = drawn
    assert client.get(graph, keys) == tuple(dask.get(graph, keys))


@st.composite
def graphs_of_objects(draw):
    """Dask's format since 2024.12."""
    spec, keys, graph = _nodes.spec, [], {}
    for i in range(draw(st.integers(1, 9))):
        leaf = LITERALS | st.builds(spec.TaskRef, st.sampled_from(keys)) if keys else LITERALS
        part = st.recursive(leaf, lambda inner: st.one_of(
            st.lists(inner, max_size=3).map(lambda parts: spec.List(*parts)),
            st.lists(inner, max_size=3).map(lambda parts: spec.Tuple(*parts)),
            st.dictionaries(st.text("ab", max_size=2), inner, max_size=2).map(spec.Dict),
            inner.map(lambda one: spec.Task(None, functions.collect, one, named=one))), max_leaves=5)
        key = draw(st.sampled_from(KEYS))(i)
        kinds = [LITERALS.map(lambda value, key=key: spec.DataNode(key, value)),
                 st.tuples(part, part).map(lambda parts, key=key: spec.Task(
                     key, functions.collect, parts[0], named=parts[1]))]
        if keys:
            kinds.append(st.sampled_from(keys).map(lambda other, key=key: spec.Alias(key, other)))
        graph[key] = draw(st.one_of(kinds))
        keys.append(key)
    return graph, draw(st.lists(st.sampled_from(keys), min_size=1, max_size=4))


@pytest.mark.skipif(_nodes.spec is None, reason="this Dask has plain graphs only")
@settings(max_examples=60)
@given(data=st.data())
def test_a_graph_of_objects_means_the_same(client, data):
    graph, keys = data.draw(graphs_of_objects())
    assert client.get(graph, keys) == tuple(dask.get(graph, keys))


@pytest.mark.skipif(_nodes.spec is None, reason="this Dask has plain graphs only")
def test_aliases_cost_no_subtask(client):
    spec = _nodes.spec
    graph = {"a": spec.DataNode("a", 5), "b": spec.Alias("b", "a"), "c": spec.Alias("c", "b")}
    conversion = penstock.dask._Conversion(client, client._command, graph, {}, {
        "priority": 0, "retries": 0, "resources": None, "workers": None})
    assert conversion.convert(["c", "b"]) == [0, 0] and len(conversion.columns) == 1
    assert client.get(graph, ["c", "a", "b"]) == (5, 5, 5)


@pytest.mark.skipif(_nodes.spec is None, reason="this Dask has plain graphs only")
def test_aliases_that_go_round_are_refused(client):
    spec = _nodes.spec
    with pytest.raises(penstock.errors.PenstockError, match="cycle"):
        client.get({"a": spec.Alias("a", "b"), "b": spec.Alias("b", "a")}, "a")
