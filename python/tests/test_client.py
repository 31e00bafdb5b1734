"""Calls and futures."""
import asyncio
import functools
import operator
import threading
import time
from collections import OrderedDict

import functions
import numpy
import pytest
from penstock import Client, Future, Options, RunnerCrashed, as_completed, errors, fire_and_forget, progress, wait
from penstock._programs import program_of


def until(condition, seconds=20):
    late = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < late, "the condition did not come true"
        time.sleep(0.002)


def test_a_call_gives_its_result(client):
    assert client.submit(functions.add, 1, 2).result() == 3
    assert client.submit(lambda x: x * 2, "ab").result() == "abab"
    assert client.submit(functions.keywords, a=1, b=[2]).result() == {"a": 1, "b": [2]}


def test_futures_are_arguments_wherever_they_stand(client):
    one, two = client.submit(functions.increment, 0), client.submit(functions.increment, 1)
    assert client.submit(sum, [one, two]).result() == 3
    assert client.submit(lambda given: given["deep"][0] + 1, {"deep": [two]}).result() == 3
    three = client.submit(functions.add, one, one)
    assert three.result() == 2


def test_a_chain_goes_over_several_jobs(client):
    future = client.submit(functions.increment, 0)
    for _ in range(20):
        future = client.submit(functions.increment, future)
    assert future.result() == 21
    again = client.submit(functions.increment, future)  # Its value is here by now.
    assert again.result() == 22


def test_a_call_waits_for_a_call_of_an_earlier_job(client, tmp_path):
    first = client.submit(functions.wait_for, str(tmp_path / "go"))
    client._flush()
    second = client.submit(functions.add, first, "!")
    third = client.submit(functions.add, second, "?")
    (tmp_path / "go").touch()
    assert third.result(20) == str(tmp_path / "go") + "!?"


def test_map_and_gather(client):
    futures = client.map(functions.add, range(300), range(300))
    assert client.gather(futures) == [2 * i for i in range(300)]
    assert client.gather({"a": futures[1], "b": futures[2]}) == {"a": 2, "b": 4}
    assert client.gather(tuple(futures[:2])) == (0, 2)
    assert client.gather(futures[3]) == 6


def test_gather_skips_or_raises(client):
    futures = [client.submit(functions.increment, 1), client.submit(functions.fail, "no")]
    assert client.gather(futures, errors="skip") == [2]
    with pytest.raises(ValueError, match="no"):
        client.gather(futures)
    with pytest.raises(ValueError, match="'raise' or 'skip'"):
        client.gather(futures, errors="what")


# What came after the one that was left out stood under its name.
def test_gather_keeps_the_shape_of_what_it_is_given(client):
    one, bad, two = client.submit(functions.increment, 1), client.submit(functions.fail, "no"), client.submit(functions.increment, 2)
    assert client.gather({"a": one, "b": bad, "c": two}, errors="skip") == {"a": 2, "c": 3}
    assert client.gather([[one, {"x": two}], (one, one), {two}]) == [[2, {"x": 3}], (2, 2), {3}]
    assert client.gather([[one, bad], {"x": bad}, (bad, two)], errors="skip") == [[2], {}, (3,)]
    assert client.gather(future for future in (one, two)) == [2, 3]
    with pytest.raises(TypeError, match="5 is no future"):
        client.gather([[one, 5]])


def test_the_calls_of_a_map_are_named_by_a_list(client):
    futures = client.map(functions.increment, [1, 2], key=["a", "b"])
    assert [future.key for future in futures] == ["a", "b"] and client.gather(futures) == [2, 3]
    with pytest.raises(ValueError, match="1 names for 2 calls"):
        client.map(functions.increment, [1, 2], key=["a"])


def test_a_future_is_awaited(client):
    async def both():
        with pytest.raises(ValueError, match="no"):
            await client.submit(functions.fail, "no")
        return await client.submit(functions.increment, 1), await asyncio.gather(*client.map(functions.increment, [1, 2]))
    assert asyncio.run(both()) == (2, [2, 3])


class Changing:
    """Has another value with each call of `to`."""

    value = -1

    def to(self, value):
        self.value = value
        return self

    def get(self):
        return self.value

    def __call__(self):
        return self.value


FUNCTIONS_THAT_CHANGE = {
    "a bound method": lambda state, i: state.to(i).get,
    "an object": lambda state, i: state.to(i),
    "a partial": lambda state, i: functools.partial(operator.attrgetter("value"), state.to(i)),
    "a closure over a loop variable": lambda state, i: state.to(i) and (lambda: state.value),
    "the same closure": lambda state, i: closure_over(state, i),
    "what reads a global name": lambda state, i: reading_a_global_name(i),
}


def closure_over(state, number):
    if number == 0:
        def tell():
            return number_now

        def say(number):
            nonlocal number_now
            number_now = number
        number_now = 0
        state.tell, state.say = tell, say
    state.say(number)
    return state.tell


def reading_a_global_name(number):
    if number == 0:
        exec("def read():\n    return value", SCRIPT)
    SCRIPT["value"] = number
    return SCRIPT["read"]


SCRIPT = {"__name__": "__main__"}  # Of which functions travel by value.


@pytest.mark.parametrize("what", FUNCTIONS_THAT_CHANGE)
@pytest.mark.parametrize("how", ["submit", "graph", "pool"])
def test_a_function_is_what_it_was_when_it_was_given(client, how, what):
    state, graph = Changing(), client.graph()
    give = {"submit": client.submit, "graph": graph.add, "pool": client.get_executor().submit}[how]
    given = [give(FUNCTIONS_THAT_CHANGE[what](state, i)) for i in range(5)]
    assert (graph.submit(want=given).results() if how == "graph" else client.gather(given)) == list(range(5))


def test_functions_that_stay_the_same_are_one_program_each():
    for function in (len, functions.increment, dict, OrderedDict, lambda: 3, lambda: functions.add(1, 2)):
        assert program_of(function) is program_of(function), function
    state = Changing()
    assert program_of(state.get) is program_of(state.get), "equal bytes are in memory once"
    assert program_of(state.get) is not program_of(state.to(3).get)


def test_what_is_scattered_is_what_it_was_when_it_was_given(client):
    for size in (5, 100_000):
        array, things = numpy.zeros(size), [1, 2]
        futures = client.scatter({"array": array, "things": things})
        array[0] = 99
        things.append(3)
        assert client.submit(functions.total, futures["array"]).result() == futures["array"].result().sum() == 0
        assert client.submit(len, futures["things"]).result() == len(futures["things"].result()) == 2


def test_scattered_objects_are_arguments(client):
    array = client.scatter(numpy.arange(100000))
    assert client.submit(functions.total, array).result() == sum(range(100000))
    assert client.gather(client.scatter([1, 2])) == [1, 2]
    assert client.scatter({"x": 5})["x"].result() == 5


def test_an_array_goes_from_one_to_the_next_mapped(client):
    array = client.submit(functions.make_array, 200000)
    assert client.submit(functions.total, array).result() == sum(range(200000))
    assert client.submit(functions.is_mapped, array).result()
    assert functions.is_mapped(array.result()), "here, too: it is read where the worker has it"


def test_words_of_dask_that_change_nothing_are_taken(client):
    assert client.submit(functions.increment, 1, pure=True).result(30) == 2
    assert client.gather(client.map(functions.increment, [1, 2], batch_size=1, pure=False)) == [2, 3]
    assert client.submit(functions.increment, client.scatter(5, broadcast=True)).result(30) == 6


def test_as_completed_gives_results_too(client):
    futures = client.map(functions.increment, range(5))
    assert {(future.key, result) for future, result in as_completed(futures, with_results=True)} == {
        (future.key, number + 1) for number, future in enumerate(futures)}
    with pytest.raises(ValueError, match="no"):
        list(as_completed([client.submit(functions.fail, "no")], with_results=True))


def test_as_completed_takes_more_and_gives_batches(client, tmp_path):
    order, seen = as_completed([client.submit(functions.increment, 0)]), []
    for future in order:
        seen.append(future.result())
        if len(seen) < 4:
            order.add(client.submit(functions.increment, future))
    assert seen == [1, 2, 3, 4] and order.is_empty() and order.count() == 0
    futures = client.map(functions.increment, range(20))
    batches = list(as_completed(futures + futures).batches())
    assert all(batches) and {future for batch in batches for future in batch} == set(futures) and sum(map(len, batches)) == 20
    slow = client.submit(functions.wait_for, str(tmp_path / "go"))
    order = as_completed([slow, *futures])
    assert set(order.next_batch()) == set(futures) and order.next_batch(block=False) == [] and not order.has_ready()
    assert order.count() == 1 and slow._waiters
    order.clear()
    assert list(order) == [] and not slow._waiters
    with pytest.raises(TimeoutError, match="1 futures unfinished"):
        next(as_completed([slow], timeout=0))
    (tmp_path / "go").touch()
    bad = client.submit(functions.fail, "no")
    (future, error), = as_completed([bad], with_results=True, raise_errors=False)
    assert future is bad and isinstance(error, ValueError)
    order = as_completed([bad, slow])
    assert {next(order), next(order)} == {bad, slow}
    with pytest.raises(StopIteration):
        next(order)
    with pytest.raises(TypeError, match="5 is no future"):
        order.add(5)


def test_what_nobody_waits_for_is_sent_at_once_and_runs(client, tmp_path):
    fire_and_forget(client.submit(functions.touch, str(tmp_path / "one")))
    fire_and_forget([client.submit(functions.touch, str(tmp_path / "two"))])
    until(lambda: (tmp_path / "one").exists() and (tmp_path / "two").exists())
    with pytest.raises(TypeError, match="5 is no future"):
        fire_and_forget([5])


def test_as_completed_and_wait(client, tmp_path):
    slow = client.submit(functions.wait_for, str(tmp_path / "go"))
    quick = client.submit(functions.increment, 1)
    done, left = wait([slow, quick], return_when="FIRST_COMPLETED")
    assert quick in done and slow in left
    order = as_completed([slow, quick])
    assert next(order) is quick
    (tmp_path / "go").touch()
    assert next(order) is slow


def test_callbacks_are_called(client):
    seen = []
    future = client.submit(functions.increment, 1)
    future.add_done_callback(lambda f: seen.append(f.result()))
    future.result()
    until(lambda: seen == [2])


def test_an_exception_is_raised_here_with_the_traceback_of_there(client):
    future = client.submit(functions.fail, "no good")
    with pytest.raises(ValueError, match="no good") as caught:
        future.result()
    remote = str(caught.value.__cause__)
    assert "functions.py" in remote and "raise ValueError(message)" in remote and "_runner.py" not in remote
    assert "raise ValueError" in future.traceback()
    assert future.status == "error"


# It was a SubtaskFailed: `except OddError` did not hold.
@pytest.mark.parametrize("function", [functions.fail_oddly, "local"])
def test_an_exception_with_an_init_of_its_own_is_raised_as_what_it_is(client, function):
    kind = functions.OddError
    if function == "local":
        class kind(functions.OddError):
            pass

        def function():
            raise kind(1, two=2)
    with pytest.raises(kind, match="1 and 2") as caught:
        client.submit(function).result(30)
    assert caught.value.two == 2 and not hasattr(caught.value, "lock") and "_thread.lock" in caught.value.args[1]
    assert "raise" in str(caught.value.__cause__)


def test_what_depends_on_a_failure_fails_with_it(client):
    bad = client.submit(functions.fail, "first")
    with pytest.raises(ValueError, match="first"):
        client.submit(functions.increment, client.submit(functions.increment, bad)).result(20)
    with pytest.raises(ValueError, match="first"):
        client.submit(functions.increment, bad).result(20)


def test_retries_and_retry(client, tmp_path):
    assert client.submit(functions.fail_once, str(tmp_path / "a"), retries=2).result() == "the second time"
    future = client.submit(functions.fail_once, str(tmp_path / "b"))
    with pytest.raises(RuntimeError):
        future.result()
    future.retry()
    assert future.result(20) == "the second time"


def test_a_cancel_interrupts_what_runs(client, tmp_path):
    future = client.submit(functions.touch_then_wait, str(tmp_path / "f"))
    client._flush()
    until((tmp_path / "f").exists)
    assert future.cancel()
    assert future.cancelled() and future.status == "cancelled"
    until((tmp_path / "f.interrupted").exists)
    assert not future.cancel(), "it has ended"
    assert client.submit(functions.increment, 1).result(20) == 2


def test_a_cancel_leaves_what_its_call_reads_alone(client, tmp_path):
    first = client.submit(functions.wait_for, str(tmp_path / "go"))
    middle = client.submit(len, first)
    last = client.submit(functions.increment, middle)
    client._flush()
    assert middle.cancel()
    until(last.done)
    assert last.cancelled() and not first.done()
    (tmp_path / "go").touch()
    assert first.result(20) == str(tmp_path / "go")


def test_a_runner_that_dies_fails_its_subtask_only(client):
    with pytest.raises(RunnerCrashed, match="exited with code 7") as caught:
        client.submit(functions.leave, 7).result()
    assert caught.value.exit_code == 7
    with pytest.raises(RunnerCrashed, match="last words"):
        client.submit(functions.write_and_leave, "last words").result()
    assert client.gather(client.map(functions.increment, range(10))) == list(range(1, 11))


def test_a_runner_is_used_again(client):
    assert len(set(client.gather(client.map(functions.pid, range(50))))) <= 2


def test_calls_nobody_waits_for_are_made(client, tmp_path):
    client.submit(functions.fail_once, str(tmp_path / "made"))
    until((tmp_path / "made").exists)


def test_what_nobody_needs_is_released(client):
    before = len(client._batches)
    futures = client.map(functions.increment, range(10))
    client.gather(futures)
    del futures
    until(lambda: (client._flush(), len(client._batches))[1] <= before)


def test_progress_shows_a_bar(client, capsys):
    futures = progress(client.map(functions.increment, range(5)))
    assert all(future.done() for future in futures)
    assert "5/5" in capsys.readouterr().err


def test_many_threads_use_one_client(client):
    results = []

    def work(base):
        results.append(client.gather(client.map(functions.increment, range(base, base + 50))))
    threads = [threading.Thread(target=work, args=(i * 100,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result[0] for result in results) == [1, 101, 201, 301]


def test_a_closed_client_refuses_and_its_futures_are_cancelled(tmp_path):
    with Client(slots=1) as client:
        running = client.submit(functions.touch_then_wait, str(tmp_path / "f"))
        client._flush()
        until((tmp_path / "f").exists)
        waiting = client.submit(functions.increment, 1)
        kept = client.submit(functions.increment, 2)
    assert running.cancelled() and waiting.cancelled() and kept.cancelled()
    with pytest.raises(errors.ClientClosed):
        client.submit(functions.increment, 1)
    client.close()  # Once more does no harm.


def test_a_future_shows_itself(client):
    future = client.submit(functions.increment, 1, key="mine")
    future.result()
    assert repr(future) == "<Future mine: finished>" and "mine" in future._repr_html_()
    assert isinstance(future, Future) and "embedded, 2 slots" in repr(client)


def test_a_failure_of_ours_fails_the_calls_that_were_to_leave_and_no_others(client, monkeypatch):
    def fails(*_):
        raise RuntimeError("a defect of ours")
    with monkeypatch.context() as patch:
        patch.setattr(client, "_submit_batch", fails)
        future = client.submit(functions.increment, 1)
        until(future.done)
    with pytest.raises(RuntimeError, match="a defect of ours"):
        future.result(30)
    told = client.submit(functions.increment, 1)
    until(told.done)  # By the same thread.
    assert told.result(30) == 2
    assert client.submit(functions.increment, 1).result(30) == 2


def test_a_coroutine_is_run_where_it_is_made(client):
    assert client.submit(functions.increment_later, 1).result(30) == 2


@pytest.mark.parametrize("given, bytes", [(5, 5), ("5", 5), ("5B", 5), ("2kB", 2000), ("2KiB", 2048), (" 1.5 GB ", 1_500_000_000),
                                          ("4GiB", 4 << 30), ("1TiB", 1 << 40)])
def test_memory_is_said_as_a_number_or_with_a_unit(given, bytes):
    assert Options(memory=given).memory == bytes
    assert Options(resources={"GPU_MEMORY": given}).gpu_memory == bytes


# Its futures were never told.
def test_a_batch_of_ours_that_is_attached_to_goes_on(client):
    with client._lock:
        future = client.submit(functions.increment, 1)
        client._flush()
        job = client.attach(future._batch.job)
    assert future.result(30) == 2
    assert job.wait(30) == "succeeded"
