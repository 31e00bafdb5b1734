"""What follows each other alone in a Dask graph runs as one subtask, and means the same."""
# tidy: foreign-file task
import pickle

import functions
import pytest
from hypothesis import given
from hypothesis import strategies as st

dask = pytest.importorskip("dask", reason="python3-dask is not installed")
from penstock import _chains, _graph, _wire  # noqa: E402
from penstock._client import Client  # noqa: E402
import penstock.dask  # noqa: E402


class Columns:
    """What `_chains` sees of a graph: each subtask's payload names it, each has the same template."""

    def __init__(self, inputs):
        self.clear()
        for number, those in enumerate(inputs):
            self.add(7, f"p{number}".encode(), those, 0)

    clear, restart = _graph.GraphColumns.clear, _graph.GraphColumns.restart

    def __len__(self):
        return len(self.template_of)

    def add(self, template, payload, inputs, priority):
        self.template_of.append(template)
        self.predecessors.extend(inputs)
        self.input_offsets.append(len(self.predecessors))
        self.payloads.append(payload)
        self.priorities.append(priority)

    def inputs(self):
        return [list(self.predecessors[a:b]) for a, b in zip(self.input_offsets, self.input_offsets[1:])]


def joined(inputs, wanted, may_join=lambda *_: True, template_of=len):
    columns = Columns(inputs)
    return columns, _chains.join(columns, wanted, may_join, template_of)


def test_a_chain_is_one_subtask():
    columns, numbers = joined([[], [0], [1], [1, 2]], [3])
    # 1 has two readers: 0 and 1 are a chain, 2 and 3 are not.
    assert numbers == {1: 0, 2: 1, 3: 2}
    assert columns.inputs() == [[], [0], [0, 1]]
    assert list(columns.template_of) == [2, 7, 7]


def test_what_is_wanted_ends_its_chain():
    columns, numbers = joined([[], [0], [1], [2]], [1, 3])
    assert numbers == {1: 0, 3: 1}
    assert columns.inputs() == [[], [0]]


def test_a_long_chain_is_several():
    count = 2 * _chains.LENGTH_MAX + 1
    columns, numbers = joined([[]] + [[i] for i in range(count - 1)], [count - 1])
    assert columns.inputs() == [[], [0], [1]]
    assert numbers[count - 1] == 2


def test_steps_of_different_options_or_with_much_of_their_own_stay_alone():
    assert joined([[], [0]], [1], may_join=lambda *_: False)[1] is None
    columns = Columns([[], [0]])
    columns.payloads[0] = b"x" * (_chains.PAYLOAD_MAX + 1)
    assert _chains.join(columns, [1], lambda *_: True, len) is None
    columns.payloads[0] = b"x" * _chains.PAYLOAD_MAX
    assert _chains.join(columns, [1], lambda *_: True, len) == {1: 0}


def test_without_a_template_for_it_a_chain_stays_as_it_is():
    columns, numbers = joined([[], [0], [1]], [2], template_of=lambda _: None)
    assert columns.inputs() == [[], [0], [1]]
    assert numbers == {0: 0, 1: 1, 2: 2}


def test_a_cycle_is_left_for_who_refuses_it():
    columns, numbers = joined([[1], [0], [], [2]], [3])
    assert numbers[3] == 0 and columns.inputs() == [[], [numbers[1]], [numbers[0]]]


@st.composite
def graphs(draw):
    return [draw(st.lists(st.integers(0, number - 1), max_size=2, unique=True)) if number else []
            for number in range(draw(st.integers(1, 30)))]


def ends_before(inputs, number):
    """All that a subtask's output depends on, itself included."""
    found, left = set(), [number]
    while left:
        one = left.pop()
        if one not in found:
            found.add(one)
            left += inputs[one]
    return found


@given(graphs(), st.data())
def test_each_wanted_one_depends_on_the_same_as_before(inputs, data):
    wanted = data.draw(st.lists(st.integers(0, len(inputs) - 1), min_size=1, max_size=4, unique=True))
    columns, numbers = joined(inputs, wanted)
    if numbers is None:
        return
    for number in wanted:
        steps = [payload for one in ends_before(columns.inputs(), numbers[number]) for payload in steps_of(columns, one)]
        assert sorted(steps) == sorted(f"p{one}".encode() for one in ends_before(inputs, number))


def steps_of(columns, number):
    payload = columns.payloads[number]
    return pickle.loads(payload)[0] if columns.template_of[number] != 7 else [payload]


def test_a_step_sees_only_what_the_one_before_has_returned():
    def payload(*arguments):
        return _graph.pack_arguments(arguments, {}, "an argument", None)
    before = _wire.set_inputs(lambda index: 100 + index)
    try:
        chain = _chains.Chain([functions.collect, functions.collect])
        assert chain(payload(_wire.Input(0), _wire.Input(1)), payload(_wire.Input(0), 3)) == functions.collect(
            functions.collect(100, 101), 3)
        assert _wire.load_input(5) == 105
    finally:
        _wire.set_inputs(before[0] if before else lambda index: None)


def count_of(client, graph, keys):
    """Subtasks of the job that this computation was."""
    counts = []
    original = _graph.GraphColumns.submit

    def submit(self, *arguments, **options):
        counts.append(len(self))
        return original(self, *arguments, **options)
    _graph.GraphColumns.submit = submit
    try:
        client.get(graph, keys)
    finally:
        _graph.GraphColumns.submit = original
    return counts[0]


def test_dask_says_whether_chains_are_joined(client: Client):
    graph = {"a": (functions.collect, 1, 2), "b": (functions.collect, "a", 2), "c": (functions.collect, "b", 2)}
    assert client.get(graph, ["c"]) == tuple(dask.get(graph, ["c"]))
    assert count_of(client, graph, ["c"]) == 1
    assert count_of(client, graph, ["b", "c"]) == 2
    with dask.config.set({"optimization.fuse.active": False}):
        assert client.get(graph, ["c"]) == tuple(dask.get(graph, ["c"]))
        assert count_of(client, graph, ["c"]) == 3


def test_a_failure_in_a_chain_is_raised_as_it_is(client: Client):
    graph = {"a": (functions.collect, 1, 2), "b": (functions.fail, "a"), "c": (functions.collect, "b", 2)}
    with pytest.raises(ValueError, match="1") as raised:
        client.get(graph, "c")
    assert "_chains.py" not in str(raised.value.__cause__)
