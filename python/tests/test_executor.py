"""The words of concurrent.futures."""  # tidy: foreign
# tidy: foreign-file executor, Executor
import asyncio
import concurrent.futures as cf
import os
import pathlib
import subprocess
import sys

import functions
import penstock
import pytest


@pytest.fixture
def executor(client):
    with client.get_executor() as shared:
        yield shared


def test_submit_and_map(executor):
    assert executor.submit(functions.add, 1, y=2).result() == 3
    assert list(executor.map(functions.add, range(5), range(5))) == [0, 2, 4, 6, 8]
    assert list(executor.map(functions.increment, range(7), chunksize=3)) == [1, 2, 3, 4, 5, 6, 7]


def test_keywords_belong_to_the_function(executor):
    assert executor.submit(functions.keywords, key=1, retries=2).result() == {"key": 1, "retries": 2}


def test_the_functions_of_the_standard_library_take_its_futures(executor):
    futures = [executor.submit(functions.increment, i) for i in range(5)]
    assert sorted(future.result() for future in cf.as_completed(futures)) == [1, 2, 3, 4, 5]
    done, not_done = cf.wait(futures)
    assert len(done) == 5 and not not_done


def test_asyncio_awaits_them(executor):
    async def work():
        loop = asyncio.get_running_loop()
        return await asyncio.gather(*[loop.run_in_executor(executor, functions.increment, i) for i in range(3)])
    assert asyncio.run(work()) == [1, 2, 3]


def test_an_exception_of_one_is_raised_by_map(executor):
    results = executor.map(functions.fail, ["bad"])
    with pytest.raises(ValueError, match="bad"):
        next(results)


def test_a_timeout_of_map(executor, tmp_path):
    results = executor.map(functions.wait_for, [str(tmp_path / "go")], timeout=0.05)
    with pytest.raises(cf.TimeoutError):
        next(results)
    (tmp_path / "go").touch()


def test_after_shutdown_nothing_is_taken(client):
    executor = client.get_executor()
    future = executor.submit(functions.increment, 1)
    executor.shutdown()
    assert future.done()
    with pytest.raises(RuntimeError, match="after shutdown"):
        executor.submit(functions.increment, 1)


def test_chunks_must_have_a_size(executor):
    with pytest.raises(ValueError):
        executor.map(functions.increment, [1], chunksize=0)


def test_options_are_those_of_submit(client, tmp_path):
    with client.get_executor(retries=1) as executor:
        assert executor.submit(functions.fail_once, str(tmp_path / "x")).result() == "the second time"


def script(tmp_path, text):
    """What a script of a user prints."""
    path = tmp_path / "script.py"
    path.write_text(text)
    environment = {**os.environ, "PYTHONPATH": str(pathlib.Path(penstock.__file__).parents[1])}
    ended = subprocess.run([sys.executable, str(path)], env=environment, cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert ended.returncode == 0, ended.stderr
    return ended.stdout


PENDING = """
import pathlib
from penstock import Client

def write(number):
    pathlib.Path(f"made-{number}").touch()

client = Client(slots=1)
pool = client.get_executor()
for number in range(20):
    pool.submit(write, number)
"""


def test_calls_that_are_pending_at_the_end_of_a_script_are_made(tmp_path):
    script(tmp_path, PENDING)
    assert len(list(tmp_path.glob("made-*"))) == 20


def test_a_shutdown_knows_of_calls_whose_futures_nobody_keeps(client, tmp_path):
    pool = client.get_executor()
    pool.submit(functions.wait_for, str(tmp_path / "go"))
    assert len(pool._futures) == 1
    (tmp_path / "go").touch()
    pool.shutdown()
    assert not pool._futures


SPAWNED = """
import multiprocessing
from penstock import Client

class Square:
    def __init__(self, side):
        self.side = side

def area(square):
    return Square(square.side ** 2)

def child(queue):
    with Client(slots=1, warm=False) as client:
        queue.put(client.submit(area, Square(3)).result().side)

if __name__ == "__main__":
    context = multiprocessing.get_context("spawn")
    queue = context.Queue()
    process = context.Process(target=child, args=(queue,))
    process.start()
    print(queue.get(timeout=60))
    process.join()
"""


def test_a_spawned_child_sends_functions_of_the_script(tmp_path):
    assert script(tmp_path, SPAWNED) == "9\n"


def test_modules_of_a_place_that_was_added_later_are_found(client, tmp_path):
    client.submit(functions.noop).result(60)
    (tmp_path / "came_later.py").write_text("def tell():\n    return 'later'\n")
    sys.path.append(str(tmp_path))
    try:
        import came_later
        assert client.submit(came_later.tell).result(60) == client.get({"a": (came_later.tell,)}, "a") == "later"
    finally:
        sys.path.remove(str(tmp_path))
