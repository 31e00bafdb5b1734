"""Actors: objects in processes of workers, whose methods are called from anywhere."""
import asyncio
import concurrent.futures
import gc
import os
import pickle
import signal
import subprocess
import sys
import threading

import actor_classes
import numpy
import pytest
from actor_classes import Broken, Callable_, Caller, Coroutines, Counter, Listed, OnceUnreachable, dies, until

import penstock
from penstock import Client, actors, errors


@pytest.fixture(scope="module")
def client():
    with Client(slots=3) as client:
        yield client


@pytest.fixture
def counter(client):
    counter = client.actor(Counter, 1)
    yield counter
    counter.kill()


def test_methods_change_an_object_that_lives_on(counter):
    assert counter.add(2).result(60) == 3
    assert [counter.add().result(60) for _ in range(3)] == [4, 5, 6]
    assert counter.pid().result(60) != os.getpid()
    assert counter.pid().result(60) == counter.pid().result(60)


def test_calls_are_gathered_with_other_futures(client, counter):
    futures = {"calls": [counter.add(2), counter.add(2)], "sum": client.submit(sum, [1, 2])}
    assert client.gather(futures) == {"calls": [3, 5], "sum": 3}
    with pytest.raises(AttributeError):
        client.gather([counter.add(1), actors.read(counter, "nothing")])
    assert client.gather([actors.read(counter, "nothing"), counter.add(1)], errors="skip") == [7]


def test_attributes_are_read_as_they_are_now(counter):
    counter.add(4)
    assert counter.value == 5 and counter.kind == "counter" and counter.double == 10
    assert actors.read(counter, "value").result(60) == 5
    with pytest.raises(AttributeError, match="nothing"):
        counter.nothing
    with pytest.raises(AttributeError, match="are not offered to callers"):
        counter._hidden()
    with pytest.raises(AttributeError, match="are set by methods"):
        counter.value = 7


def test_static_methods_and_keywords(counter, client):
    assert counter.twice(4).result(60) == 8
    assert counter.echo(1, 2, three=3).result(60) == ((1, 2), {"three": 3})
    assert client.actor(Counter, value=9).value == 9
    assert client.actor(Callable_)(1).result(60) == 2
    with pytest.raises(TypeError, match="has no __call__"):
        counter(1)


# Raised as itself, with the traceback of where it was.
@pytest.mark.parametrize("error", [KeyError("key"), ValueError(1, "two"), SystemExit(3), KeyboardInterrupt("user")])
def test_exceptions_come_as_themselves_and_the_actor_goes_on(counter, error):
    with pytest.raises(type(error)) as caught:
        counter.fail(error).result(60)
    assert caught.value.args == error.args
    assert "actor_classes.py" in str(penstock.errors.remote_traceback(caught.value))
    assert counter.add().result(60) == 2


def test_what_cannot_be_pickled_is_named(counter):
    with pytest.raises(errors.NotSerializable, match="cannot be pickled"):
        counter.unsendable().result(60)
    with pytest.raises(errors.NotSerializable, match="an argument of Counter.add"):
        counter.add(threading.Lock())
    with pytest.raises(TypeError, match="positional argument"):
        counter.thread(1).result(60)
    assert counter.add().result(60) == 2


def test_methods_and_init_run_on_one_thread_the_main_one(counter):
    assert counter.thread().result(60) is True


def test_calls_of_a_process_run_in_their_order_one_at_a_time(client):
    listed = client.actor(Listed)
    later = client.submit(abs, -3)
    futures = [listed.note(later if number == 5 else number) for number in range(200)]
    concurrent.futures.wait(futures, 60)
    assert listed.seen == [3 if number == 5 else number for number in range(200)]
    assert listed.most == 1


def test_calls_of_several_threads_all_arrive(counter):
    def add():
        for _ in range(200):
            counter.add()
    threads = [threading.Thread(target=add) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert counter.value == 801


def test_handles_are_arguments_of_calls_and_of_actors(client, counter):
    def use(handle, amount):
        return [handle.add(amount).result(60) for _ in range(3)], handle
    values, same = client.submit(use, counter, 100).result(60)
    assert values == [101, 201, 301] and same == counter and hash(same) == hash(counter)
    assert client.actor(Caller, counter).add(1).result(60) == 302
    assert counter.me().result(60) == counter and actors.current_actor() is None
    assert pickle.loads(pickle.dumps(counter)).value == 302


def test_futures_are_arguments_and_become_their_values(client, counter):
    assert counter.add(client.submit(abs, -4)).result(60) == 5
    assert counter.add(counter.add(1)).result(60) == 12
    assert counter.echo({"deep": [client.submit(abs, -1), counter.twice(3)]}).result(60) == {"deep": [1, 6]}
    made = client.submit(numpy.ones, 100_000)
    assert counter.array_sum(made).result(60) == 100_000
    assert client.actor(Counter, client.submit(abs, -7)).value == 7
    with pytest.raises(ZeroDivisionError):
        counter.add(client.submit(lambda: 1 / 0)).result(60)
    assert counter.value == 12
    with pytest.raises(TypeError, match="only of a call of an actor"):
        client.submit(abs, counter.add())


def test_arguments_are_what_they_were_when_they_were_given(client, counter):
    array, go = numpy.zeros(200_000), client.submit(abs, -1)
    first, second = counter.echo(array, go), counter.array_sum(array)  # They wait for the future.
    array[:] = 1
    assert second.result(60) == 0 and first.result(60)[0].sum() == 0


def test_large_arguments_and_results_are_whole_and_may_be_written_to(counter):
    array = numpy.arange(3_000_000.0)
    result = counter.echo(array).result(60)
    assert numpy.array_equal(result, array)
    result[0] = 7
    assert counter.keep(array).result(60) is True
    many = [numpy.full(10, number) for number in range(2000)]
    assert all(numpy.array_equal(one, other) for one, other in zip(counter.echo(many).result(60), many))
    assert counter.echo(b"x" * 3_000_000, numpy.empty(0)).result(60)[0] == b"x" * 3_000_000


# The next method changes what the last one has returned while its answer is on its way.
def test_an_answer_is_what_it_was_when_it_was_returned(counter):
    counter.keep(numpy.zeros(4_000_000)).result(60)
    zeros, ones = counter.echo(0), counter.change()
    zeros.result(60)
    assert ones.result(60).sum() == 4_000_000


def test_threads_run_as_many_methods_at_once_as_were_asked_for(client):
    listed = client.actor(Listed, max_concurrency=3)
    assert [future.result(60) for future in [listed.meet(3) for _ in range(3)]] == [3, 3, 3]
    with pytest.raises(ValueError, match="max_concurrency"):
        client.actor(Listed, max_concurrency=0)


def test_coroutines_run_on_one_event_loop(client):
    coroutines = client.actor(Coroutines)
    waiting = [coroutines.wait(number) for number in range(50)]
    assert coroutines.go().result(60) is True, "other methods run while they wait, on the same loop"
    assert [future.result(60) for future in waiting] == list(range(50))
    with pytest.raises(ValueError, match="of a coroutine"):
        coroutines.raises().result(60)


def test_max_concurrency_holds_for_coroutines_too(client, tmp_path):
    coroutines = client.actor(Coroutines, max_concurrency=1)
    waiting, later = coroutines.wait(began=str(tmp_path / "began")), coroutines.go()
    until((tmp_path / "began").exists)
    with pytest.raises(concurrent.futures.TimeoutError):
        later.result(0.05)
    assert waiting.cancel() and later.result(60) is True
    assert coroutines.ended == ["waited"], "a cancelled call is cancelled there"


def test_results_are_awaited(counter):
    async def main():
        assert await counter.add(1) == 2
        assert await asyncio.gather(*[counter.add() for _ in range(3)]) == [3, 4, 5]
        with pytest.raises(KeyError):
            await counter.fail(KeyError(1))
        return await actors.read(counter, "value")
    assert asyncio.run(main()) == 5


def test_a_call_that_has_not_begun_is_cancelled(client, counter, tmp_path):
    began, go = tmp_path / "began", tmp_path / "go"
    running = counter.note_and_wait(str(began), str(go))
    until(began.exists)
    second = counter.add(100)
    with pytest.raises(concurrent.futures.TimeoutError):
        second.result(0.01)
    assert second.cancel() and second.cancelled()
    with pytest.raises(concurrent.futures.CancelledError):
        second.result(60)
    actors.ready(counter, 60)  # What was sent before has been read there.
    go.touch()
    assert running.result(60) == 1 and counter.value == 1
    assert not running.cancel()


def test_callbacks_are_called_and_may_call_again(counter):
    told = concurrent.futures.Future()

    def next_one(future):
        counter.add(future.result()).add_done_callback(lambda last: told.set_result(last.result()))
    counter.add(1).add_done_callback(next_one)
    assert told.result(60) == 4


def test_a_callback_that_would_wait_for_ever_is_told(counter):
    told = concurrent.futures.Future()

    def wait(_):
        try:
            counter.add().result()
        except errors.PenstockError as error:
            told.set_result(str(error))
    counter.add().add_done_callback(wait)
    assert "would be waited for in a callback" in told.result(60)


def test_actors_submit_calls_and_hold_no_slot(client):
    many = [client.actor(Counter, number) for number in range(6)]
    assert [one.value for one in many] == list(range(6)), "there are 3 slots"
    assert client.submit(abs, -1).result(60) == 1
    assert many[0].nested(-5).result(60) == 5


def test_an_actor_keeps_its_slot_where_asked(client):
    keeper = client.actor(Counter, keep_slot=True, slots=3)
    assert actors.ready(keeper, 60) is keeper
    blocked = client.submit(abs, -1)
    with pytest.raises(concurrent.futures.TimeoutError):
        blocked.result(0.1)
    keeper.kill()
    assert blocked.result(60) == 1


def test_a_call_that_waits_for_an_actor_lends_its_slot(client, counter, tmp_path):
    def wait(handle, path):
        return handle.wait_for(path).result(60)
    waiting = [client.submit(wait, counter, str(tmp_path / "go")) for _ in range(3)]
    client.submit(open, str(tmp_path / "go"), "w").exception(60)
    assert client.gather(waiting) == [1, 1, 1]


# With one slot: the actor can begin only where its caller waits.
@pytest.mark.parametrize("how", ["result", "wait", "await", "attribute"])
def test_a_call_that_makes_an_actor_and_waits_for_it_needs_one_slot(how):
    def make(how):
        counter = penstock.get_client().actor(Counter, 1)
        if how == "await":
            return coroutine(counter)
        future = counter.add()
        if how == "wait":
            penstock.wait([future])
        return counter.value if how == "attribute" else future.result(60)

    async def coroutine(counter):
        return await counter.add()
    with Client(slots=1) as client:
        assert client.submit(make, how).result(60) == 2


# ---- names and ends ----

def test_a_handle_is_used_by_the_client_that_finds_its_actor(client, counter):
    data = pickle.dumps(counter)
    with Client(slots=1) as other:
        got = subprocess.run([sys.executable, "-c", "import pickle, sys; pickle.loads(bytes.fromhex(sys.argv[1])).add().result(9)",
                              data.hex()], capture_output=True, text=True, env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
        assert "ClientClosed" in got.stderr and "no client is open here" in got.stderr
        kept = counter._peer
        actors._actor_calls._peers.clear()  # As in a process that has not used it.
        copy = pickle.loads(data)
        assert copy.add().result(60) == 2 and copy._peer.client is client and copy._peer is not kept
    assert other.closed and pickle.loads(data).add().result(60) == 3


def test_an_actor_is_found_by_its_name(client):
    named = client.actor(Counter, 5, name="the counter")
    found = penstock.get_actor("the counter", client)
    assert found == named and found.add().result(60) == 6

    def elsewhere():
        return penstock.get_actor("the counter").add(10).result(60)
    assert client.submit(elsewhere).result(60) == 16
    rows = [row for row in actors.list(client) if row["name"] == "the counter"]
    assert len(rows) == 1 and rows[0]["pid"] == named.pid().result(60) and rows[0]["starts"] == 1
    assert [row["state"] for row in client.ask("jobs") if row["name"].startswith("actor the counter ")] == ["running"]
    named.kill()
    assert "was killed" in str(dies(found))
    with pytest.raises(errors.ActorDied, match="there is no actor of this name"):
        penstock.get_actor("the counter", client)


def test_a_name_is_given_once_until_its_actor_is_gone(client):
    first = client.actor(Counter, 1, name="one")
    with pytest.raises(errors.PenstockError, match="there is an actor of this name"):
        client.actor(Counter, 2, name="one")
    again = client.actor(Counter, 3, name="one", get_or_create=True)
    assert again == first and again.value == 1
    first.kill()
    dies(first)
    second = client.actor(Counter, 4, name="one")
    assert second.value == 4 and second != first
    assert isinstance(dies(first), errors.ActorDied), "an old handle does not reach the new one"
    second.kill()
    with pytest.raises(TypeError, match="name is a text"):
        client.actor(Counter, name="two\nlines")
    with pytest.raises(ValueError, match="needs a name"):
        client.actor(Counter, get_or_create=True)


@pytest.mark.parametrize("name", ["--x", "a b/c*?", "\u00e4\u4e2d", "n" * 200, "actor", "'\"\\"])
def test_names_may_be_any_printable_text(client, name):
    made = client.actor(Counter, 3, name=name)
    assert penstock.get_actor(name, client).value == 3
    assert name in [row["name"] for row in actors.list(client)]
    made.kill()
    again = client.actor(Counter, 4, name=name)
    assert again.value == 4
    again.kill()


def test_classes_of_functions_are_actors(client):
    class Local:
        def four(self):
            return 4
    assert client.actor(Local).four().result(60) == 4


def test_of_many_that_create_one_name_all_have_the_same(client):
    made = client.gather([client.submit(create_or_get, number) for number in range(6)])
    assert len(set(made)) == 1
    made[0].kill()


def create_or_get(number):
    return penstock.get_client().actor(Counter, number, name="raced", get_or_create=True)


def jobs_of(client, label):
    return [row for row in client.ask("jobs") if row["name"].startswith(f"actor {label} ")]


def test_an_actor_ends_with_its_handle_but_not_before_its_calls(client):
    future = client.actor(Listed).meet(1)
    assert future.result(60) == 1
    del future
    gc.collect()
    until(lambda: not jobs_of(client, "Listed"))


def test_an_actor_ends_with_the_client_that_made_it_unless_it_is_detached(client):
    with Client(slots=2) as embedding:
        def make():
            client = penstock.get_client()
            kept = client.actor(Counter, 1, detached=True)
            actors.ready(kept, 60)
            ends = client.actor(Counter, 2)
            actors.ready(ends, 60)
            return kept, ends
        kept, ends = embedding.submit(make).result(60)
        assert kept.value == 1
        assert "has ended" in str(dies(ends))
        kept.kill()
        dies(kept)


def test_an_init_that_raises_is_the_cause(client):
    broken = client.actor(Broken, restarts=5)
    for _ in range(2):
        with pytest.raises(errors.ActorDied, match="its constructor has raised LookupError") as caught:
            broken.there().result(60)
        assert isinstance(caught.value.__cause__, LookupError)
    with pytest.raises(errors.ActorDied):
        actors.ready(broken, 60)
    row = next(row for row in client.ask("jobs", "--all") if row["name"].startswith("actor Broken "))
    assert row["state"] == "failed"


def test_an_init_that_finds_no_server_is_tried_again_while_restarts_are_left(client, tmp_path):
    assert client.actor(OnceUnreachable, str(tmp_path / "one"), restarts=1).there().result(60) is True
    with pytest.raises(errors.ActorDied, match="ConnectionRefusedError: no server yet") as caught:
        client.actor(OnceUnreachable, str(tmp_path / "two")).there().result(60)
    assert isinstance(caught.value.__cause__, ConnectionRefusedError)


def test_classes_are_decorated(client):
    made = penstock.actor(restarts=1, client=client)(Counter)
    one = made(3)
    other = made.options(name="decorated")(4)
    assert (one.value, other.value, made.kind) == (3, 4, Counter)
    other.kill()
    with pytest.raises(TypeError, match="'restart' is no option"):
        penstock.actor(restart=1)
    with pytest.raises(TypeError, match="made of a class"):
        client.actor(abs)
    with pytest.raises(TypeError, match="call it"):
        client.actor(made)


def test_keywords_of_the_class_may_have_the_names_of_options(client):
    made = actors.create(Named, (), {"name": "inner"}, client=client, name="outer")
    assert made.label == "inner" and penstock.get_actor("outer", client) == made
    made.kill()


class Named:
    def __init__(self, name):
        self.label = name


def test_classes_of_the_main_module_are_actors():
    done = subprocess.run([sys.executable, "-c", MAIN], capture_output=True, text=True, timeout=120,
                          env={**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)})
    assert done.stdout.split() == ["2", "ActorDied"], done.stderr


MAIN = """
import penstock
from penstock import Client
@penstock.actor
class Here:
    def __init__(self): self.value = 1
    def add(self): self.value += 1; return self.value
with Client(slots=1) as client:
    here = Here()
    print(here.add().result(60))
    here.kill()
    try:
        here.add().result(60)
    except penstock.ActorDied as error:
        print(type(error).__name__)
"""


def test_a_forked_child_has_no_answers_of_its_parent(counter):
    counter.add().result(60)
    reading, writing = os.pipe()
    child = os.fork()
    if child == 0:
        try:
            counter.add().result(20)
            os.write(writing, b"answered")
        except errors.ClientClosed:
            os.write(writing, b"closed")
        finally:
            os._exit(0)
    os.close(writing)
    assert os.read(reading, 100) == b"closed"
    os.waitpid(child, 0)
    os.close(reading)
    assert counter.add().result(60) == 3


def test_interrupts_reach_who_waits(counter, tmp_path):
    waiting = counter.wait_for(str(tmp_path / "go"))
    timer = threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt):
        waiting.result(60)
    (tmp_path / "go").touch()
    assert waiting.result(60) == 1 and actor_classes.Counter.kind == "counter"
