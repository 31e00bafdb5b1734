"""Subtasks of a Dask graph run in an order that leaves few data waiting for their readers."""
import functions
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import _order


def columns_of(inputs):
    offsets, predecessors = [0], []
    for those in inputs:
        predecessors += those
        offsets.append(len(predecessors))
    return offsets, predecessors


def order_of(inputs, wanted):
    places = _order.depth_first(*columns_of(inputs), wanted)
    return sorted(range(len(inputs)), key=places.__getitem__)


def most_waiting(inputs, order):
    """The data that are there at once: from their producer's end to that of their last reader."""
    left = [sum(number in those for those in inputs) for number in range(len(inputs))]
    there, most = 0, 0
    for number in order:
        there += 1
        most = max(most, there)
        for one in inputs[number]:
            left[one] -= 1
            there -= left[one] == 0
    return most


def test_a_chain_ends_before_the_next_begins():
    inputs = [[], [0], [], [2], [], [4], [1, 3, 5]]
    assert order_of(inputs, [6]) == [0, 1, 2, 3, 4, 5, 6]


def test_a_shuffle_cuts_up_each_part_as_soon_as_it_is_there():
    parts = 8
    inputs = [[] for _ in range(parts)]
    inputs += [[i] for i in range(parts)]  # Each part, sorted by its new places.
    inputs += [[parts + i] for i in range(parts) for _ in range(parts)]
    inputs += [[2 * parts + i * parts + place for i in range(parts)] for place in range(parts)]
    order = order_of(inputs, range(len(inputs) - parts, len(inputs)))
    pieces = parts * parts
    assert most_waiting(inputs, order) <= pieces + 2
    whole_parts = [number for number in order if number < 2 * parts]
    assert whole_parts == [number for i in range(parts) for number in (i, parts + i)]


def test_a_datum_that_many_read_starts_none_of_them_early():
    readers = 4 * _order.HUB
    inputs = [[]] + [[0] for _ in range(readers)] + [[1 + i] for i in range(readers)]
    order = order_of(inputs, range(1 + readers, 1 + 2 * readers))
    assert most_waiting(inputs, order) <= readers + 2
    assert order[1:5] == [1, 1 + readers, 2, 2 + readers]


def test_a_cycle_has_no_order():
    assert _order.depth_first(*columns_of([[1], [0], [1]]), [2]) is None


@given(st.data())
def test_every_order_respects_the_edges(data):
    inputs = [sorted(data.draw(st.sets(st.integers(0, i - 1), max_size=4))) if i else []
              for i in range(data.draw(st.integers(1, 30)))]
    shuffled = data.draw(st.permutations(range(len(inputs))))  # Numbers need not be in any order.
    renamed = [[shuffled[one] for one in inputs[shuffled.index(number)]] for number in range(len(inputs))]
    order = order_of(renamed, range(len(inputs)))
    assert sorted(order) == list(range(len(inputs)))
    at = {number: place for place, number in enumerate(order)}
    assert all(at[one] < at[number] for number in range(len(inputs)) for one in renamed[number])


@given(st.lists(st.integers(-3, 3), min_size=1, max_size=20), st.randoms())
def test_a_priority_comes_before_the_order(priorities, random):
    places = list(range(len(priorities)))
    random.shuffle(places)
    given_out = _order.priorities_of(places, priorities)
    by_both = sorted(range(len(places)), key=lambda number: (-priorities[number], places[number]))
    assert sorted(range(len(places)), key=lambda number: -given_out[number]) == by_both


def test_the_parts_of_a_collection_are_used_before_the_next_are_read(tmp_path):
    pytest.importorskip("dask", reason="python3-dask is not installed")
    import penstock
    log = str(tmp_path / "log")
    graph = {}
    for i in range(12):
        graph[f"read-{i}"] = (functions.note, log, "read")
        graph[f"use-{i}"] = (functions.note, log, "use", f"read-{i}")
    graph["all"] = (functions.collect, [f"use-{i}" for i in range(12)])
    with penstock.Client(slots=1) as client:
        client.get(dict(sorted(graph.items())), "all")
    with open(log) as lines:
        ran = lines.read().split()
    assert len(ran) == 24
    unused = 0
    for name in ran:
        unused += 1 if name == "read" else -1
        assert unused <= 3, ran
