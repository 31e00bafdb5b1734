"""Xorbits on a cluster. It needs older wheels than the other tests: `with_xorbits` has them."""
# tidy: foreign-file task
import gc
import os
import subprocess
import sys

import pytest

pytest.importorskip("xorbits", reason="xorbits is not installed: python/tests/with_xorbits")

import numpy  # noqa: E402
import pandas  # noqa: E402
import xorbits  # noqa: E402
import xorbits._mars.dataframe as md  # noqa: E402
import xorbits._mars.remote as mr  # noqa: E402
import xorbits._mars.tensor as mt  # noqa: E402
import xorbits_functions as calls  # noqa: E402
from functions import until  # noqa: E402
from test_tutorials import blocks, run  # noqa: E402
from xorbits._mars import execute  # noqa: E402
from xorbits._mars.deploy.oscar.session import get_default_session  # noqa: E402

import penstock  # noqa: E402
import penstock.xorbits  # noqa: E402
from penstock.xorbits import _fetcher, _plan  # noqa: E402


@pytest.fixture(scope="module", autouse=True)
def session(client):
    penstock.xorbits.init(client)
    yield client
    penstock.xorbits.shutdown()


@pytest.fixture
def table():
    random = numpy.random.default_rng(0)
    return pandas.DataFrame({"key": random.integers(0, 20, 200), "value": random.random(200),
                             "name": [f"n{row % 7}" for row in range(200)]})


def value(tileable):
    return tileable.execute().fetch()


def same(got, wanted, by):
    """The same rows, in whatever order."""
    got, wanted = (frame.sort_values(by).reset_index(drop=True) for frame in (got, wanted))
    pandas.testing.assert_frame_equal(got, wanted)


# ---- tensors ----

def test_a_tensor_runs_on_the_cluster():
    given = numpy.random.default_rng(1).random((30, 40))
    tensor = mt.tensor(given, chunk_size=12)
    numpy.testing.assert_allclose(value(tensor.dot(tensor.T)), given.dot(given.T))
    numpy.testing.assert_allclose(value((tensor + 1).sum(axis=0)), (given + 1).sum(axis=0))
    assert value(mt.tensor(numpy.zeros(3)).map_chunk(lambda _: numpy.array([os.getpid()]), dtype=int))[0] != os.getpid()


def test_what_was_executed_is_read_by_later_graphs_and_fetched_in_parts():
    given = numpy.arange(60.0).reshape(20, 3)
    tensor = mt.tensor(given, chunk_size=6) + 1
    tensor.execute()
    numpy.testing.assert_array_equal(value(tensor * 2), (given + 1) * 2)
    numpy.testing.assert_array_equal(tensor[5:9].fetch(), (given + 1)[5:9])
    first, second = execute(tensor.sum(), tensor.max())
    assert (first.fetch(), second.fetch()) == ((given + 1).sum(), 60.0)


def test_what_was_fetched_is_the_users_own():
    tensor = mt.tensor(numpy.zeros(40_000), chunk_size=40_000) + 1
    fetched = value(tensor)
    fetched[:] = 7
    assert tensor.fetch()[0] == 1.0


def test_equal_chunks_are_one():
    assert value(mt.tensor(numpy.zeros(30), chunk_size=10) + 1).tolist() == [1.0] * 30


def test_an_operand_of_several_outputs():
    given = numpy.random.default_rng(2).random((60, 10))
    q, r = execute(*mt.linalg.qr(mt.tensor(given, chunk_size=(15, 10))))
    numpy.testing.assert_allclose(q.fetch() @ r.fetch(), given)


def test_what_is_told_of_several_outputs_is_there_with_each():
    """A value is told only after that: else reading it would be a race, which one in some hundred runs lost."""
    for _ in range(5):
        given = numpy.random.default_rng(2).random((40, 10))
        q, r = execute(*mt.linalg.qr(mt.tensor(given, chunk_size=(10, 10))))
        assert q.shape == (40, 10) and r.shape == (10, 10)


def test_tiling_that_waits_for_shapes():
    given = numpy.random.default_rng(3).random(200)
    tensor = mt.tensor(given, chunk_size=30)
    numpy.testing.assert_array_equal(value(tensor[tensor > 0.5][10:20]), given[given > 0.5][10:20])
    numpy.testing.assert_array_equal(value(mt.sort(tensor, parallel_kind="PSRS")), numpy.sort(given))
    selected = (tensor[tensor > 0.5] + 0).execute()
    assert selected.shape == (int((given > 0.5).sum()),)


# ---- dataframes ----

def test_merge_by_a_shuffle(table):
    other = pandas.DataFrame({"key": range(20), "weight": numpy.arange(20.0)})
    merged = md.DataFrame(table, chunk_size=30).merge(md.DataFrame(other, chunk_size=5), on="key", method="shuffle")
    same(value(merged), table.merge(other, on="key"), ["key", "value"])


@pytest.mark.parametrize("method", ["tree", "shuffle", "auto"])
def test_groupby(table, method):
    got = value(md.DataFrame(table, chunk_size=20).groupby("name").agg({"value": ["sum", "count"]}, method=method))
    pandas.testing.assert_frame_equal(got.sort_index(), table.groupby("name").agg({"value": ["sum", "count"]}))


def test_sort_duplicates_and_selection(table):
    frame = md.DataFrame(table, chunk_size=30)
    pandas.testing.assert_frame_equal(value(frame.sort_values("value")), table.sort_values("value"))
    same(value(frame[["name"]].drop_duplicates(method="shuffle")), table[["name"]].drop_duplicates(), ["name"])
    pandas.testing.assert_frame_equal(value(frame[frame.key > 10].iloc[3:20]), table[table.key > 10].iloc[3:20])


def test_a_mapper_with_more_blocks_than_outputs(table, monkeypatch):
    monkeypatch.setattr(_plan, "BLOCKS_MAX", 3)
    got = value(md.DataFrame(table, chunk_size=20).groupby("name").agg({"value": "sum"}, method="shuffle"))
    pandas.testing.assert_frame_equal(got.sort_index(), table.groupby("name").agg({"value": "sum"}))


def test_runners_agree_on_hashes():
    """Some operands divide what they shuffle by Python's `hash`, which differs from process to process by default."""
    known = subprocess.run([sys.executable, "-c", "print(hash('lama'))"], env={**os.environ, "PYTHONHASHSEED": "0"},
                           stdout=subprocess.PIPE, text=True, check=True)
    hashes = mt.tensor(numpy.zeros(8), chunk_size=1) + mt.arange(8, chunk_size=1)
    assert set(value(hashes.map_chunk(lambda _: numpy.array([hash("lama")]), dtype=int))) == {int(known.stdout)}


def test_files_read_with_one_index(table, tmp_path):
    """Each part of a file waits for the lengths of those before it, in an object of the session."""
    table.to_csv(tmp_path / "table.csv", index=False)
    frame = md.read_csv(str(tmp_path / "table.csv"), chunk_bytes=600, incremental_index=True)
    pandas.testing.assert_frame_equal(value(frame), table)


def test_the_interface_of_pandas(table):
    import xorbits.pandas as pd
    frame = pd.DataFrame(table)
    same(frame.groupby("name", as_index=False).value.mean().to_pandas(), table.groupby("name", as_index=False).value.mean(),
         ["name"])
    assert repr(frame.key.max()) == str(table.key.max())


# ---- manners ----

def test_an_error_of_a_worker_comes_as_itself(table):
    frame = md.DataFrame(table, chunk_size=50)
    failing = frame.map_chunk(calls.refuse, output_type="dataframe", dtypes=table.dtypes)
    with pytest.raises(calls.OddError, match="refused") as raised:
        failing.execute()
    assert raised.value.place == 50
    assert "in refuse" in str(penstock.errors.remote_traceback(raised.value))
    assert value(frame.key.sum()) == table.key.sum(), "the session goes on"


def test_values_are_freed_with_their_tileables(session):
    before = bytes_kept(session)
    tensor = mt.tensor(numpy.arange(200_000.0), chunk_size=50_000) + 1
    tensor.execute()
    assert bytes_kept(session) >= before + 1_600_000
    del tensor
    gc.collect()
    until(lambda: bytes_kept(session) < before + 400_000)


def bytes_kept(client):
    client._flush()
    return sum(row["bytes"] for row in client.memory("job"))


def test_a_running_graph_is_cancelled(session, table, tmp_path):
    path = tmp_path / "runs"
    frame = md.DataFrame(table, chunk_size=100)
    endless = frame.map_chunk(calls.wait_for_ever, args=(str(path),), output_type="dataframe", dtypes=table.dtypes)
    running = get_default_session().execute(endless, wait=False)
    until(path.exists)
    cancel(running, session)
    assert value(frame.key.sum()) == table.key.sum()


def test_a_job_that_an_operator_cancels_is_named(session, table, tmp_path):
    path = tmp_path / "runs"
    endless = md.DataFrame(table).map_chunk(calls.wait_for_ever, args=(str(path),), output_type="dataframe", dtypes=table.dtypes)
    running = get_default_session().execute(endless, wait=False)
    until(path.exists)
    session.ask("cancel", session.ask("jobs")[0]["id"])
    until(running.aio_task.done)
    assert "was cancelled, by another than Xorbits" in str(running.aio_task.exception())


def cancel(running, client):
    """As Xorbits does when its user presses Ctrl-C; until the slots are free again."""
    running.loop.call_soon_threadsafe(running.aio_task.cancel)
    until(running.aio_task.done)
    until(lambda: not any(row["running"] for row in client.ask("bands")))


def test_progress_is_that_of_the_subtasks(session, tmp_path):
    """Of the chunks all but one end."""
    path = tmp_path / "runs"
    parts = [mr.spawn(calls.total_of_ones, (count,)) for count in (3, 4, 5)]
    parts.append(mr.spawn(calls.wait_for_ever, (None, str(path))))
    running = get_default_session().execute(*parts, wait=False)
    until(lambda: path.exists() and 0.2 < running.progress() < 1)
    cancel(running, session)


def test_operands_execute_graphs_of_their_own():
    """With more of them than slots: whoever waits lends its slot."""
    parts = [mr.spawn(calls.total_of_ones, (count,)) for count in range(5, 9)]
    assert list(mr.ExecutableTuple(parts).execute().fetch()) == [5.0, 6.0, 7.0, 8.0]


def test_functions_fetch_what_they_wait_for():
    """Of numpy's functions that Xorbits has not, it calls numpy's, which fetches its arguments while the graph runs that
    makes them."""
    import xorbits.numpy as np
    given = numpy.array([[1, 0, 1], [0, 1, 0]])
    packed = np.packbits(np.array(given) * 1, axis=-1)
    assert packed.to_object().tolist() == numpy.packbits(given, axis=-1).tolist()


def test_parts_of_a_large_chunk_are_cut_where_it_is(session, monkeypatch):
    monkeypatch.setattr(_fetcher, "CUT_HERE_BYTES_MAX", 0)
    monkeypatch.setattr(session, "address", "elsewhere")
    tensor = (mt.tensor(numpy.arange(100.0), chunk_size=40) + 1).execute()
    assert tensor[35:45].fetch().tolist() == list(range(36, 46))


def test_a_gpu_that_no_worker_has_is_refused_with_the_way_out():
    with pytest.raises(penstock.PenstockError, match="GPU.*no worker has one.*gpu=True"):
        mt.ones((3, 3), gpu=True).execute()


def test_the_tutorial(session, capsys):
    code = blocks("engines/xorbits.md")
    assert len(code) == 2
    try:
        run(code[0], {})
        assert capsys.readouterr().out == "[166833, 166167, 166500]\n"
        run(code[1], {})
        assert capsys.readouterr().out == "45\n"
    finally:
        penstock.xorbits.init(session)  # Of the other tests.


def test_xorbits_own_way_to_name_a_backend(session):
    penstock.xorbits.shutdown()
    try:
        with penstock.Client(slots=1):
            xorbits.init(backend="penstock", web=False)
            pid = mt.tensor(numpy.zeros(1)).map_chunk(lambda _: numpy.array([os.getpid()]), dtype=int)
            assert value(pid)[0] != os.getpid()
            xorbits.shutdown()
    finally:
        penstock.xorbits.init(session)
