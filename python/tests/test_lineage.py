"""Values are freed with their own futures, and are made again from the calls that led to them."""
# tidy: foreign-file scheduler
import gc
import types

import functions
import numpy
import pytest
from functions import until
from test_cluster import cluster  # noqa: F401
from test_lost_results import array_noted, lose_all, runs, total_noted

from penstock import Client, _lineage, _losses, errors

SIZE = 300_000


@pytest.fixture
def uncollected():
    """Without the collector of cycles: what is freed now is freed by its last reference."""
    gc.collect()
    gc.disable()
    yield
    gc.enable()


def is_empty(client):
    return not client._batches


def test_futures_of_one_batch_do_not_hold_each_other(uncollected):
    with Client(slots=2) as client:
        for _ in range(5):
            made = client.submit(numpy.ones, 1000)
            total = client.submit(numpy.sum, made)
            assert total.result(60) == 1000
            del made, total
            until(lambda: is_empty(client))


def test_nor_do_those_of_mapped_calls_and_of_a_failed_one(uncollected):
    with Client(slots=2) as client:
        for _ in range(5):
            assert client.gather(client.map(functions.increment, client.map(functions.increment, range(4)))) == [2, 3, 4, 5]
            until(lambda: is_empty(client))
        failed = client.submit(functions.fail, "on purpose")
        reader = client.submit(functions.increment, failed)
        assert isinstance(reader.exception(60), ValueError)
        del failed, reader
        until(lambda: is_empty(client))


def test_what_was_scattered_outlives_its_readers(uncollected):
    with Client(slots=2) as client:
        given = client.scatter(numpy.ones(1000))
        for _ in range(5):
            assert client.submit(numpy.sum, given).result(60) == 1000
        until(lambda: len(client._batches) == 1)
        del given
        until(lambda: is_empty(client))


def check_one_is_freed(client, restart=lambda: None):
    first, second = client.map(numpy.ones, [100_000, 200_000])
    assert second.result(60).size == 200_000 and first.exception(60) is None
    batch = first._batch
    assert batch is second._batch

    def held():
        return sum(row["bytes"] for row in client.memory(job=batch.job))
    assert 2_400_000 < held() < 2_500_000
    del first
    until(lambda: held() < 1_700_000)
    restart()
    assert 1_600_000 < held() < 1_700_000
    assert client.submit(numpy.sum, second).result(60) == 200_000


def test_a_value_is_freed_before_the_others_of_its_batch(uncollected):
    with Client(slots=2) as client:
        check_one_is_freed(client)


def test_and_stays_freed_when_the_supervisor_is_started_again(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        check_one_is_freed(client, cluster.restart_supervisor)


# Every ancestor was kept: 2.7 GB after 30 steps with a state of 100 MB.
def test_a_loop_holds_its_state_and_the_next_one(uncollected):
    with Client(slots=2) as client:
        state, most = client.submit(numpy.zeros, 10), 0
        for _ in range(1000):
            state = client.submit(functions.increment, state)
            assert state.exception(60) is None
            most = max(most, len(client._batches))
        assert state.result(60)[0] == 1000
        until(lambda: len(client._batches) == 1)
        assert most <= 64, "those that were dropped a moment ago are among them"


# Found by a try: 200 states of 10 MB, submitted within 13 ms, stayed until the last one was dropped.
def test_a_loop_that_waits_for_nothing_holds_its_end_alone(uncollected):
    with Client(slots=2) as client:
        state = client.submit(numpy.zeros, 10)
        for _ in range(200):
            state = client.submit(functions.increment, state)
        assert state.result(60)[0] == 200
        until(lambda: len(client._batches) == 1)
        assert state._batch.live <= 2, "no output of the others is wanted"
        del state
        until(lambda: is_empty(client))


def test_failures_pass_through_calls_whose_futures_are_gone(client):
    last = client.submit(functions.increment, client.submit(functions.increment, client.submit(functions.fail, "on purpose")))
    with pytest.raises(ValueError, match="on purpose"):
        last.result(60)


def test_losses_pass_through_calls_whose_futures_are_gone(cluster, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        first = client.submit(array_noted, str(log), SIZE)
        assert first.exception(60) is None
        lose_all(cluster)
        last = client.submit(total_noted, str(log), client.submit(total_noted, str(log), first))
        assert last.result(60)[7] == 9
        assert runs(log) == ["made", "made", "summed", "summed"]
        lose_all(cluster)
        assert last.result(60)[7] == 9
    with Client(cluster.address, lineage="none") as client:
        first = client.submit(functions.make_array, SIZE)
        assert first.exception(60) is None
        lose_all(cluster)
        last = client.submit(functions.increment, client.submit(functions.increment, first))
        assert last.result(60)[7] == 9, "what has not run yet needs no lineage"
        gone = client.submit(functions.make_array, SIZE)
        assert gone.exception(60) is None
        gone._call.made_again = _losses.MADE_AGAIN_MAX
        lose_all(cluster)
        last = client.submit(functions.increment, client.submit(functions.increment, gone))
        with pytest.raises(errors.ResultLost, match="was made again 8 times"):
            last.result(60)


def test_a_loop_of_persisted_collections_does_so_too(uncollected):
    array = pytest.importorskip("dask.array")
    with Client(slots=2) as client:
        state = client.persist(array.zeros(100, chunks=50))
        for _ in range(30):
            state = client.persist(state + 1)
            client.compute(state.sum(), sync=True)
        assert state.compute(scheduler=client.get)[99] == 30
        gc.collect()  # Dask's own graphs are cycles.
        until(lambda: len(client._batches) <= 3)


# A look at the code found it: an object with a `value` that is a future was taken for that future.
def test_an_object_that_has_a_future_stays_itself_when_its_graph_is_run_again(cluster):  # noqa: F811
    pytest.importorskip("dask")
    from dask.delayed import Delayed
    with Client(cluster.address) as client:
        box = types.SimpleNamespace(value=client.submit(functions.increment, 1), beside=3)
        read = Delayed("read", {"box": box, "read": (functions.beside, "box")})
        kept = client.persist(read)
        assert client.compute(kept, sync=True) == 3
        lose_all(cluster)
        assert client.compute(kept, sync=True) == 3


def test_what_a_value_was_made_of_is_made_again_though_its_future_is_gone(cluster, tmp_path):  # noqa: F811
    log = tmp_path / "log"
    with Client(cluster.address) as client:
        value = client.submit(array_noted, str(log), SIZE)
        for _ in range(3):
            value = client.submit(total_noted, str(log), value)
            assert value.exception(60) is None
        until(lambda: len(client._batches) == 1)
        lose_all(cluster)
        assert value.result(60)[7] == 10
        assert runs(log) == 2 * ["made", "summed", "summed", "summed"]
        until(lambda: len(client._batches) == 1)


def test_so_are_those_of_a_persisted_collection(cluster):  # noqa: F811
    array = pytest.importorskip("dask.array")
    with Client(cluster.address) as client:
        state = client.persist(array.ones(SIZE, chunks=SIZE // 2))
        for _ in range(3):
            state = client.persist(state + 1)
            client.compute(state.sum(), sync=True)
        lose_all(cluster)
        assert client.compute(state.sum(), sync=True) == 4 * SIZE


@pytest.mark.parametrize("lineage, steps", [("none", 1), (2, 4)])
def test_lineage_bounds_what_is_made_again(cluster, lineage, steps):  # noqa: F811
    with Client(cluster.address, lineage=lineage) as client:
        value = client.submit(functions.make_array, SIZE)
        for _ in range(steps):
            value = client.submit(functions.increment, value)
            assert value.exception(60) is None
        until(lambda: len(client._batches) == 1)
        lose_all(cluster)
        with pytest.raises(errors.ResultLost, match="is lost.*beyond the client's lineage.*lineage='full'"):
            value.result(60)
        reader = client.submit(functions.increment, value)
        with pytest.raises(errors.ResultLost, match="beyond the client's lineage"):
            reader.result(60)
        with pytest.raises(errors.ResultLost, match="lineage='full'"):
            value.retry()


# Found by a try: a value was lost whose input was still held.
@pytest.mark.parametrize("lineage", ["none", 1])
def test_a_value_whose_inputs_are_held_is_made_again_whatever_lineage_says(cluster, lineage):  # noqa: F811
    with Client(cluster.address, lineage=lineage) as client:
        held = [client.scatter(numpy.ones(SIZE))]
        for _ in range(3):
            held.append(client.submit(functions.increment, held[-1]))
        assert held[-1].exception(60) is None
        lose_all(cluster)
        assert held[-1].result(60)[7] == 4


def test_a_callback_is_called_though_nobody_keeps_the_future(uncollected):
    ends = []
    with Client(slots=2) as client:
        client.submit(functions.increment, 1).add_done_callback(lambda future: ends.append(future.result(60)))
        until(lambda: ends == [2])
        until(lambda: is_empty(client) and not client._called_back)


def test_lineage_bounds_how_many_calls_are_kept():
    with Client(slots=2, lineage=10) as client:
        value = client.submit(functions.add, 0, 0)
        for _ in range(100):
            value = client.submit(functions.increment, value)
            assert value.exception(60) is None
        call, kept = value._call, 0
        while not isinstance(call, _lineage.Forgotten):
            call, kept = call.origins[0], kept + 1
        assert 10 <= kept <= 15
        assert value.result(60) == 100


def test_fresh_inputs_are_not_forgotten_with_old_ones():
    with Client(slots=2, lineage=4) as client:
        value = client.submit(functions.add, 0, 0)
        for _ in range(50):
            fresh = client.submit(functions.increment, client.scatter(0))
            value = client.submit(functions.add, value, client.submit(functions.increment, fresh))
            assert value.exception(60) is None
        before, fresh = value._call.origins
        assert not {type(before), type(fresh)} & {_lineage.Forgotten}, "how the last one was made is known"
        given = fresh.origins[0].origins[0]
        assert isinstance(given, _lineage.Given) and given.datum is not None
        assert value.result(60) == 100


def test_the_oldest_large_arguments_are_forgotten_first(cluster, monkeypatch, uncollected):  # noqa: F811
    monkeypatch.setattr(_lineage, "LINEAGE_BYTES_MAX", 5 * 8 * SIZE)
    with Client(cluster.address, lineage="full") as client:
        value = client.submit(functions.make_array, SIZE)
        for number in range(12):
            large = numpy.full(SIZE, float(number))
            value = client.submit(numpy.add, value, large if number % 2 else client.scatter(large))
            assert value.exception(60) is None
        until(lambda: len(client._batches) == 1 and not client._freed)
        assert client._ancestors._bytes <= _lineage.LINEAGE_BYTES_MAX
        call, known = value._call, 0
        while not isinstance(call, _lineage.Forgotten) and call.origins:
            known += all(not isinstance(each, _lineage.Given) or each.datum is not None for each in call.origins)
            call = call.origins[0]
        assert 4 <= known <= 7, "the latest ones are known"
        lose_all(cluster)
        with pytest.raises(errors.ResultLost):
            value.result(60)


def test_scattered_objects_without_a_future_are_sent_again(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        value = client.submit(numpy.sum, client.scatter(numpy.ones(SIZE)))
        value = client.submit(functions.add, value, client.scatter(numpy.ones(SIZE)))
        assert value.exception(60) is None
        until(lambda: len(client._batches) == 1)
        lose_all(cluster)
        assert value.result(60)[7] == SIZE + 1


@pytest.mark.parametrize("wrong", [-1, 1.5, True, "all", None])
def test_lineage_is_a_number_or_a_word(wrong):
    with pytest.raises(ValueError, match="'full', 'none' or a number"):
        Client(slots=1, lineage=wrong)


def test_full_lineage_keeps_every_call():
    with Client(slots=2, lineage="full") as client:
        value = client.submit(functions.add, 0, 0)
        for _ in range(50):
            value = client.submit(functions.increment, value)
            assert value.exception(60) is None
        call, kept = value._call, 1
        while call.origins:
            call, kept = call.origins[0], kept + 1
        assert kept == 51


def test_a_value_that_is_run_once_more_reads_its_inputs_made_again(client, tmp_path):
    log = tmp_path / "log"
    value = client.submit(total_noted, str(log), client.submit(array_noted, str(log), 10))
    assert value.exception(60) is None
    value.retry()
    assert value.result(60)[7] == 8
    assert runs(log) == 2 * ["made", "summed"]


def test_two_readers_of_a_value_that_is_gone_share_it_when_it_is_made_again(cluster, tmp_path, monkeypatch):  # noqa: F811
    log = tmp_path / "log"
    is_lost = _losses.is_lost

    def is_lost_after_long(client, future):  # By then whatever was put again has left, and has ended.
        client._flush()
        for reader in readers:
            reader.exception(60)
        return is_lost(client, future)

    monkeypatch.setattr(_losses, "is_lost", is_lost_after_long)
    with Client(cluster.address) as client:
        made = client.submit(array_noted, str(log), SIZE)
        readers = [client.submit(total_noted, str(log), made) for _ in range(2)]
        assert [reader.exception(60) for reader in readers] == [None, None]
        del made
        lose_all(cluster)
        assert [value[7] for value in client.gather(readers)] == [8, 8]
        assert sorted(runs(log)) == 2 * ["made"] + 4 * ["summed"]
