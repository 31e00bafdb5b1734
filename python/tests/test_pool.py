"""`penstock.Pool`: what CPython's tests of multiprocessing.Pool check, on a cluster, and how it differs."""
# tidy: foreign-file worker
import itertools
import multiprocessing
import os
import pickle

import functions
import pytest
import raising

import penstock

LATE = 60


@pytest.fixture
def pool(client):
    with penstock.Pool(client=client) as made:
        yield made


def square(x):
    return x * x


def begin(name):
    os.environ["BEGUN"] = os.environ.get("BEGUN", "") + name


def begun(_):
    return os.environ.get("BEGUN"), os.getpid()


def test_apply(pool):
    assert pool.apply(functions.add, (1,), {"y": 2}) == 3
    assert pool.apply_async(functions.keywords, (), {"key": 1, "retries": 2}).get(LATE) == {"key": 1, "retries": 2}
    with pytest.raises(raising.Composed, match="number 3"):
        pool.apply(raising.raise_it, (raising.Composed, 3))


@pytest.mark.parametrize("chunksize", [None, 1, 7, 1000])
def test_map_and_starmap(pool, chunksize):
    assert pool.map(square, range(100), chunksize) == [i * i for i in range(100)]
    assert pool.map(square, [], chunksize) == []
    pairs = [(i, i + 1) for i in range(50)]
    assert pool.starmap(functions.add, iter(pairs), chunksize) == [2 * i + 1 for i in range(50)]
    assert pool.starmap_async(functions.add, pairs, chunksize).get(LATE) == [2 * i + 1 for i in range(50)]


def test_the_first_failure_of_a_map_is_raised(pool):
    with pytest.raises(ValueError, match="^bad$"):
        pool.map(functions.fail, ["bad", "worse"], 1)
    with pytest.raises(TypeError):
        pool.map(square, [1, "2", 3])


@pytest.mark.parametrize("chunksize", [1, 10])
def test_imap_takes_what_has_no_end(pool, chunksize):
    values = pool.imap(square, itertools.count(), chunksize)
    assert [next(values) for _ in range(200)] == [i * i for i in range(200)]
    assert list(pool.imap(square, range(45), chunksize)) == [i * i for i in range(45)]
    assert sorted(pool.imap_unordered(square, range(45), chunksize)) == [i * i for i in range(45)]
    assert list(pool.imap(square, [])) == list(pool.imap_unordered(square, [])) == []


def test_imap_raises_in_its_place_and_goes_on(pool):
    values = pool.imap(int, ["1", "two", "3"])
    assert next(values) == 1
    with pytest.raises(ValueError, match="'two'"):
        next(values)
    assert list(values) == [3]


@pytest.mark.parametrize("way", ["imap", "imap_unordered"])
def test_a_value_that_is_too_late_may_be_waited_for_again(pool, tmp_path, way):
    values = getattr(pool, way)(functions.wait_for, [str(tmp_path / "go")])
    with pytest.raises(multiprocessing.TimeoutError):
        values.next(0.01)
    (tmp_path / "go").touch()
    assert values.next(LATE) == str(tmp_path / "go")
    with pytest.raises(StopIteration):
        values.next()


def test_the_first_comes_first_unordered(pool, tmp_path):
    values = pool.imap_unordered(functions.wait_for, [str(tmp_path / "late"), str(tmp_path / "soon")])
    (tmp_path / "soon").touch()
    assert next(values) == str(tmp_path / "soon")
    (tmp_path / "late").touch()
    assert next(values) == str(tmp_path / "late")


def test_what_is_to_come(pool, tmp_path):
    waits = pool.apply_async(functions.wait_for, (str(tmp_path / "go"),))
    assert not waits.ready()
    waits.wait(0.01)
    with pytest.raises(ValueError, match="not ready"):
        waits.successful()
    with pytest.raises(multiprocessing.TimeoutError):
        waits.get(0.01)
    (tmp_path / "go").touch()
    assert waits.get(LATE) == str(tmp_path / "go") and waits.ready() and waits.successful()
    failed = pool.map_async(functions.fail, ["bad"])
    failed.wait(LATE)
    assert failed.ready() and not failed.successful()


def test_callbacks_are_told_of_values_and_of_exceptions(pool):
    told = []
    pool.apply_async(square, (3,), callback=told.append)
    functions.until(lambda: told == [9])
    pool.map_async(square, range(10), 2, callback=told.append, error_callback=told.append)
    functions.until(lambda: told[1:] == [[i * i for i in range(10)]])
    pool.map_async(square, [], callback=told.append)
    functions.until(lambda: told[2:] == [[]])
    pool.apply_async(functions.fail, ("bad",), callback=told.append, error_callback=told.append)
    functions.until(lambda: [type(value) for value in told[3:]] == [ValueError])


def test_close_lets_go_on_and_join_waits(client, tmp_path):
    pool = penstock.Pool(client=client)
    with pytest.raises(ValueError, match="still running"):
        pool.join()
    waits = pool.apply_async(functions.wait_for, (str(tmp_path / "go"),))
    pool.close()
    for refused in (lambda: pool.apply(square, (1,)), lambda: pool.map(square, [1]), lambda: pool.imap(square, [1]),
                    lambda: pool.map_async(square, [1]), pool.__enter__):
        with pytest.raises(ValueError, match="Pool not running"):
            refused()
    (tmp_path / "go").touch()
    pool.join()
    assert waits.ready() and waits.get() == str(tmp_path / "go")
    assert client.submit(square, 2).result(LATE) == 4, "it is not the pool's"


def test_the_end_of_a_with_terminates(client, tmp_path):
    with penstock.Pool(client=client) as pool:
        waits = pool.map_async(functions.wait_for, [str(tmp_path / "never")] * 20, 1)
    pool.join()
    assert waits.ready() and not waits.successful()
    assert client.submit(square, 2).result(LATE) == 4


def test_processes_are_a_cluster_of_its_own_that_ends_with_it():
    with penstock.Pool(1, begin, ("a",)) as pool:
        own = pool._client
        assert set(pool.map(begun, range(20), 1)) == {pool.apply(begun, (1,))}
        assert pool.apply(begun, (1,))[0] == "a", "once for each process, not for each call"
    assert own.closed
    pool = penstock.Pool(1)
    values = pool.map_async(square, range(10))
    pool.close()
    pool.join()
    assert values.get() == [i * i for i in range(10)] and pool._client.closed


def test_what_cannot_be(client):
    for given, kind in (({"processes": 1, "client": client}, ValueError), ({"initializer": 5}, TypeError),
                        ({"maxtasksperchild": 1, "client": client}, ValueError),
                        ({"retrys": 1, "client": client}, TypeError)):
        with pytest.raises(kind):
            penstock.Pool(**given)
    pool = penstock.Pool(client=client)
    with pytest.raises(ValueError, match="Chunksize must be 1"):
        pool.map(square, [1, 2], 0)
    with pytest.raises(ValueError, match="Chunksize must be 1"):
        pool.imap(square, [1, 2], 0)
    with pytest.raises(NotImplementedError):
        pickle.dumps(pool)


def test_options_are_those_of_submit(client):
    with penstock.Pool(client=client, environment={"BEGUN": "before"}, initializer=begin, initargs=("-a",)) as pool:
        assert pool.apply(begun, (0,))[0] == "before-a"


def test_a_callback_submits(pool):
    told = []
    for i in range(50):
        pool.apply_async(square, (i,), callback=lambda value: pool.apply_async(square, (value,), callback=told.append))
    functions.until(lambda: len(told) == 50)
    assert sorted(told) == [i ** 4 for i in range(50)]
