"""What CPython's own tests of concurrent.futures check, one case for each of theirs, on a cluster.

Left out, because a cluster is neither threads nor forked processes: numbers of workers and threads, initializers, the queue
of pending items, fork and spawn contexts, the end of the interpreter with calls pending (ours are cancelled, theirs waited
for). Different on purpose: `running()` is False until the end, for starts are not told; `cancel()` interrupts what runs
(`shutdown(cancel_futures=True)` does not).
"""
# tidy: foreign-file Executor, executor, Semaphore
import concurrent.futures as cf
import gc
import threading
import weakref
from operator import mul

import functions
import pytest
from penstock import Client

LATE = 60


@pytest.fixture
def executor(client):
    with client.get_executor() as made:
        yield made


class Blocked:
    """A call that goes on until it is let go."""

    def __init__(self, executor, place, name="go"):
        self.path = place / name
        self.future = executor.submit(functions.wait_for, str(self.path))

    def let_go(self):
        self.path.touch()


@pytest.fixture
def blocked(executor, tmp_path):
    made = Blocked(executor, tmp_path)
    yield made
    made.let_go()


# ---- ExecutorTest ----

def test_submit(executor):
    assert executor.submit(pow, 2, 8).result(LATE) == 256


def test_submit_keyword(executor):
    assert executor.submit(functions.keywords, x=2, y=8).result(LATE) == {"x": 2, "y": 8}
    assert executor.submit(functions.keywords, self=1, fn=2, function=3).result(LATE) == {"self": 1, "fn": 2, "function": 3}
    with pytest.raises(TypeError):
        executor.submit(fn=functions.keywords, arg=1)
    with pytest.raises(TypeError):
        executor.submit(arg=1)


def test_map(executor):
    assert list(executor.map(pow, range(10), range(10))) == list(map(pow, range(10), range(10)))
    assert list(executor.map(pow, range(10), range(10), chunksize=3)) == list(map(pow, range(10), range(10)))


def test_map_of_nothing(executor):
    assert list(executor.map(pow, [], range(3))) == []
    assert list(executor.map(pow, [], chunksize=5)) == []


def test_map_exception(executor):
    results = executor.map(divmod, [1, 1, 1, 1], [2, 3, 0, 5])
    assert next(results) == (0, 1) and next(results) == (0, 1)
    with pytest.raises(ZeroDivisionError):
        next(results)


def test_map_timeout(executor, tmp_path):
    results = []
    with pytest.raises(cf.TimeoutError):
        for result in executor.map(functions.wait_for, [__file__, str(tmp_path / "never")], timeout=5):
            results.append(result)
    assert results == [__file__]


def test_map_submits_at_once(executor, tmp_path):
    results = executor.map(functions.touch, [str(tmp_path / "a")])
    functions.until((tmp_path / "a").exists)
    assert list(results) == [str(tmp_path / "a")]


def test_map_cancels_what_is_not_taken(executor, tmp_path):
    results = executor.map(functions.touch_then_wait, [str(tmp_path / "a"), str(tmp_path / "b")], timeout=0)
    with pytest.raises(cf.TimeoutError):
        next(results)
    # Both are interrupted, or never begin: else they would keep their slots for ever.
    assert executor.submit(abs, -1).result(LATE) == 1


def test_no_stale_references(executor):
    class Mine:
        pass
    mine, gone = Mine(), threading.Event()
    watch = weakref.ref(mine, lambda _: gone.set())
    future = executor.submit(functions.increment, 1)
    future.add_done_callback(lambda _, kept=mine: None)
    assert future.result(LATE) == 2
    del mine, future
    gc.collect()
    assert gone.wait(LATE) and watch() is None


def test_free_reference(executor):
    for made in executor.map(functions.make_object, range(10)):
        watch = weakref.ref(made)
        del made
        functions.until(lambda: watch() is None)


def test_free_reference_of_chunks(executor):
    for made in executor.map(functions.make_object, range(10), chunksize=4):
        watch = weakref.ref(made)
        del made
        functions.until(lambda: watch() is None)


def test_map_chunksize(executor):
    with pytest.raises(ValueError):
        executor.map(pow, range(40), range(40), chunksize=-1)
    for size in (6, 50, 39, 40):
        assert list(executor.map(pow, range(40), range(40), chunksize=size)) == list(map(pow, range(40), range(40)))


def test_traceback(executor):
    with pytest.raises(RuntimeError) as caught:
        executor.submit(functions.raise_with_comment).result(LATE)
    assert "raise RuntimeError(123)  # some comment" in str(caught.value.__cause__)


def test_a_large_result(executor):
    assert len(executor.submit(bytes, 3_000_000).result(LATE)) == 3_000_000


# ---- WaitTests ----

def test_first_completed(executor, blocked):
    quick = executor.submit(mul, 21, 2)
    done, left = cf.wait([blocked.future, quick], return_when=cf.FIRST_COMPLETED, timeout=LATE)
    assert done == {quick} and left == {blocked.future}


def test_first_completed_some_already_completed(executor, blocked):
    quick = executor.submit(mul, 21, 2)
    quick.result(LATE)
    done, left = cf.wait([quick, blocked.future], return_when=cf.FIRST_COMPLETED, timeout=LATE)
    assert done == {quick} and left == {blocked.future}


def test_first_exception(executor, blocked):
    good, bad = executor.submit(mul, 2, 21), executor.submit(functions.fail, "no")
    done, left = cf.wait([good, bad, blocked.future], return_when=cf.FIRST_EXCEPTION, timeout=LATE)
    assert bad in done and left >= {blocked.future}


def test_first_exception_one_already_failed(executor, blocked):
    bad = executor.submit(functions.fail, "no")
    assert isinstance(bad.exception(LATE), ValueError)
    done, left = cf.wait([bad, blocked.future], return_when=cf.FIRST_EXCEPTION, timeout=LATE)
    assert done == {bad} and left == {blocked.future}


def test_first_exception_with_a_cancelled_one(executor, blocked):
    gone = executor.submit(functions.wait_for, "/no/such/file")
    assert gone.cancel()
    done, left = cf.wait([gone, blocked.future], return_when=cf.FIRST_EXCEPTION, timeout=0.05)
    assert left == {blocked.future} and done == {gone}


def test_all_completed(executor):
    futures = [executor.submit(divmod, 2, 0), executor.submit(mul, 2, 21), executor.submit(mul, 2, 22)]
    done, left = cf.wait(futures, return_when=cf.ALL_COMPLETED, timeout=LATE)
    assert done == set(futures) and not left
    assert cf.wait(futures + futures, timeout=LATE).done == set(futures), "each counts once"


def test_wait_timeout(executor, blocked):
    quick = executor.submit(mul, 6, 7)
    quick.result(LATE)
    done, left = cf.wait([quick, blocked.future], timeout=0.05, return_when=cf.ALL_COMPLETED)
    assert done == {quick} and left == {blocked.future}


# ---- AsCompletedTests ----

def test_as_completed(executor):
    futures = [executor.submit(mul, 2, 21), executor.submit(mul, 7, 6)]
    assert set(cf.as_completed(futures, timeout=LATE)) == set(futures)


@pytest.mark.parametrize("timeout", [0, 0.05])
def test_as_completed_timeout(executor, blocked, timeout):
    quick = executor.submit(mul, 2, 21)
    quick.result(LATE)
    seen = set()
    with pytest.raises(cf.TimeoutError, match=r"1 \(of 2\) futures unfinished"):
        for future in cf.as_completed([quick, blocked.future], timeout=timeout):
            seen.add(future)
    assert seen == {quick}


def test_as_completed_duplicates(executor):
    future = executor.submit(mul, 2, 21)
    assert list(cf.as_completed([future] * 4, timeout=LATE)) == [future]


# ---- FutureTests ----

def test_done_callbacks(executor):
    seen, ended = [], threading.Semaphore(0)

    def note(future):
        seen.append("cancelled" if future.cancelled() else future.exception() or future.result())
        ended.release()
    good, bad = executor.submit(mul, 6, 7), executor.submit(functions.fail, "no")
    gone = executor.submit(functions.wait_for, "/no/such/file")
    for future in (good, bad, gone):
        future.add_done_callback(note)
    gone.cancel()
    for _ in range(3):
        assert ended.acquire(timeout=LATE)
    assert 42 in seen and "cancelled" in seen and any(isinstance(one, ValueError) for one in seen)


def test_a_callback_that_raises_holds_up_nobody(executor, blocked, caplog):
    seen = []

    def bad(_):
        seen.append("bad")
        raise Exception("doh!")
    blocked.future.add_done_callback(bad)
    blocked.future.add_done_callback(lambda _: seen.append("good"))
    blocked.let_go()
    functions.until(lambda: seen == ["bad", "good"])
    assert "exception calling callback" in caplog.text


def test_a_callback_of_an_ended_one_is_called_at_once(executor):
    for function, arguments in ((mul, (1, 2)), (functions.fail, ("no",))):
        future = executor.submit(function, *arguments)
        future.exception(LATE)
        seen = []
        future.add_done_callback(seen.append)
        assert seen == [future]


def test_states(executor, blocked):
    future = blocked.future
    assert not future.done() and not future.cancelled() and not future.running()
    assert "pending" in repr(future)
    blocked.let_go()
    future.result(LATE)
    assert future.done() and not future.cancelled() and not future.cancel() and "finished" in repr(future)
    bad = executor.submit(functions.fail, "no")
    bad.exception(LATE)
    assert bad.done() and "error" in repr(bad)
    gone = executor.submit(functions.wait_for, "/no/such/file")
    assert gone.cancel() and gone.cancelled() and gone.done() and gone.cancel() in (True, False)
    assert "cancelled" in repr(gone)


def test_result_and_exception_with_timeout(executor, blocked):
    with pytest.raises(cf.TimeoutError):
        blocked.future.result(timeout=0)
    with pytest.raises(cf.TimeoutError):
        blocked.future.exception(timeout=0)
    gone = executor.submit(functions.wait_for, "/no/such/file")
    gone.cancel()
    with pytest.raises(cf.CancelledError):
        gone.result(timeout=0)
    with pytest.raises(cf.CancelledError):
        gone.exception(timeout=0)
    bad = executor.submit(functions.fail, "no")
    assert isinstance(bad.exception(LATE), ValueError)
    with pytest.raises(ValueError):
        bad.result(timeout=0)


def test_who_waits_hears_of_the_cancel(executor, tmp_path):
    future = executor.submit(functions.wait_for, str(tmp_path / "never"))
    caught = []

    def ask():
        try:
            future.result(LATE)
        except cf.CancelledError:
            caught.append(True)
    thread = threading.Thread(target=ask)
    thread.start()
    future.cancel()
    thread.join(LATE)
    assert caught == [True]


def test_results_are_set_once(executor):
    future = executor.submit(mul, 1, 2)
    assert future.result(LATE) == 2
    with pytest.raises(cf.InvalidStateError):
        future.set_result(1)
    with pytest.raises(cf.InvalidStateError):
        future.set_exception(Exception())


# ---- Shutdown tests ----

def test_run_after_shutdown(client):
    executor = client.get_executor()
    executor.shutdown()
    with pytest.raises(RuntimeError):
        executor.submit(pow, 2, 5)
    with pytest.raises(RuntimeError):
        executor.map(pow, [1], [2])
    executor.shutdown()  # Once more does no harm.


def test_shutdown_waits(client):
    executor = client.get_executor()
    futures = [executor.submit(mul, i, i) for i in range(50)]
    executor.shutdown()
    assert all(future.done() for future in futures)


def test_shutdown_without_waiting(client, tmp_path):
    executor = client.get_executor()
    future = executor.submit(functions.wait_for, str(tmp_path / "go"))
    executor.shutdown(wait=False)
    assert not future.done()
    (tmp_path / "go").touch()
    assert future.result(LATE) == str(tmp_path / "go")


@pytest.mark.parametrize("wait", [True, False])
def test_cancel_futures(client, tmp_path, wait):
    executor = client.get_executor()
    begun = [executor.submit(functions.say_then_wait, "", str(tmp_path / name)) for name in "ab"]
    later = [executor.submit(functions.wait_for, str(tmp_path / "never")) for _ in range(20)]
    functions.until(lambda: all((tmp_path / f"{name}.waits").exists() for name in "ab"))
    closer = threading.Thread(target=executor.shutdown, kwargs={"wait": wait, "cancel_futures": True})
    closer.start()
    functions.until(lambda: all(future.cancelled() for future in later))
    assert not any(future.done() for future in begun)
    for name in "ab":
        (tmp_path / name).touch()
    assert [future.result(LATE) for future in begun] == [str(tmp_path / name) for name in "ab"]
    closer.join(LATE)
    assert not closer.is_alive()


def test_cancel_futures_asks_only_about_what_a_worker_has(client, tmp_path, monkeypatch):
    executor, asked, ask = client.get_executor(), [], client.ask
    begun = executor.submit(functions.say_then_wait, "", str(tmp_path / "a"))
    functions.until(lambda: (tmp_path / "a.waits").exists())
    rest = [executor.submit(functions.wait_for, str(tmp_path / "never")) for _ in range(1000)]
    monkeypatch.setattr(client, "ask", lambda *words: asked.append(words) or ask(*words))
    executor.shutdown(wait=False, cancel_futures=True)
    held = sum(future.cancelled() for future in rest)
    assert not begun.done() and held >= 1000 - client._slots
    assert len(asked) < 300, len(asked)  # A worker has at most 64 of them.
    (tmp_path / "a").touch()
    assert begun.result(LATE) == str(tmp_path / "a")
    (tmp_path / "never").touch()  # One of the rest runs if the client has another slot.


# The executor's lock and the client's were taken in both orders.
def test_callbacks_submit_while_others_do(executor):
    made = []

    def again(_):
        if len(made) < 300:
            made.append(executor.submit(abs, -1))
            made[-1].add_done_callback(again)

    def submit():
        for _ in range(300):
            executor.submit(abs, -1).add_done_callback(again)
    thread = threading.Thread(target=submit, daemon=True)
    thread.start()
    thread.join(LATE)
    assert not thread.is_alive()
    functions.until(lambda: len(made) >= 300)


def test_context_manager_shutdown(client):
    with client.get_executor() as executor:
        assert list(executor.map(abs, range(-5, 5))) == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]
    with pytest.raises(RuntimeError):
        executor.submit(abs, 1)


def test_an_executor_that_is_forgotten_lets_its_calls_end(client):
    executor = client.get_executor()
    results = executor.map(abs, range(-5, 5))
    del executor
    gc.collect()
    assert list(results) == [5, 4, 3, 2, 1, 0, 1, 2, 3, 4]


def test_on_a_closed_client(tmp_path):
    client = Client(slots=1, warm=False)
    executor = client.get_executor()
    client.close()
    with pytest.raises(RuntimeError):
        executor.submit(abs, 1)


def test_many_threads_submit_while_it_is_shut_down(client):
    executor, refused, ended = client.get_executor(), [], []

    def submit():
        try:
            while True:
                ended.append(executor.submit(abs, -1))
        except RuntimeError as error:
            refused.append(error)
    threads = [threading.Thread(target=submit) for _ in range(3)]
    for thread in threads:
        thread.start()
    functions.until(lambda: len(ended) > 20)
    executor.shutdown()
    for thread in threads:
        thread.join(LATE)
    assert len(refused) == 3 and all(future.done() for future in ended)


def test_a_runner_that_dies_breaks_its_own_call_only(executor):
    bad, good = executor.submit(functions.leave, 3), executor.submit(abs, -1)
    assert good.result(LATE) == 1
    assert type(bad.exception(LATE)).__name__ == "RunnerCrashed"
    assert executor.submit(abs, -2).result(LATE) == 2
