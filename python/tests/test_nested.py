"""Calls that submit calls."""
import operator
import os
import subprocess
import sys
import threading
import time

import functions
import penstock
import pytest
from penstock import Client, PenstockError
from test_cluster import Cluster, cluster  # noqa: F401


@pytest.fixture(scope="module")
def narrow():
    with Client(slots=2) as client:
        yield client


def fibonacci(n):
    if n < 2:
        return n
    client = penstock.get_client()
    one, two = client.submit(fibonacci, n - 1), client.submit(fibonacci, n - 2)
    return one.result() + two.result()


def test_a_recursion_that_is_deeper_than_there_are_slots(narrow):
    assert narrow.submit(fibonacci, 8).result(120) == 21


def gather_in_a_call(count):
    client = penstock.get_client()
    return sum(client.gather(client.map(functions.increment, range(count))))


def test_every_way_of_waiting_lends_the_slot(narrow):
    def in_turns(way):
        client = penstock.get_client()
        futures = client.map(functions.increment, range(4))
        if way == "gather":
            return sum(client.gather(futures))
        if way == "wait":
            done, left = penstock.wait(futures)
            return sum(future.result() for future in done) + 100 * len(left)
        if way == "as_completed":
            return sum(future.result() for future in penstock.as_completed(futures))
        if way == "exception":
            return sum(10 for future in futures if future.exception() is None) - 30
        return client.submit(sum, futures).result()
    with Client(slots=1) as client:
        for way in ("gather", "wait", "as_completed", "exception", "result"):
            assert client.submit(in_turns, way).result(60) == 10, way


def test_coroutines_that_wait_side_by_side():
    async def both():
        import asyncio
        client = penstock.get_client()
        return await asyncio.gather(client.submit(functions.increment, 1), client.submit(functions.increment, 2))
    with Client(slots=1) as client:
        assert client.submit(both).result(60) == [2, 3]


def test_a_call_has_one_client_and_outside_it_is_that_of_the_process(narrow):
    def twice():
        return penstock.get_client() is penstock.get_client()
    assert narrow.submit(twice).result(60)
    with Client(slots=1) as latest:
        assert penstock.get_client() is latest
    with pytest.raises(PenstockError) as refused:
        penstock.get_client()
    assert refused.value.code == "WrongState"


def test_errors_of_a_nested_call_come_out_as_they_were_raised(narrow):
    def divides():
        return penstock.get_client().submit(operator.truediv, 1, 0).result()
    with pytest.raises(ZeroDivisionError):
        narrow.submit(divides).result(60)


def test_an_error_from_deep_below_keeps_its_class(narrow):
    def chain(n):
        client = penstock.get_client()
        if n == 0:
            raise KeyError("deep" + "x" * 20_000)
        return client.submit(chain, n - 1).result()
    with pytest.raises(KeyError):
        narrow.submit(chain, 4).result(60)


def test_jobs_and_graphs_of_a_call_lend_its_slot_too():
    def waits(how):
        client = penstock.get_client()
        if how == "get":
            return client.get({"b": (functions.increment, 1)}, "b")
        graph = client.graph()
        graph.add(functions.increment, 1)
        return graph.submit().results()[0]
    with Client(slots=1) as client:
        assert client.submit(waits, "job").result(60) == 2
        assert client.submit(waits, "get").result(60) == 2


def test_large_values_go_to_nested_calls_and_back(narrow):
    def turns(data):
        client = penstock.get_client()
        return client.submit(bytes.upper, client.submit(bytes.__add__, data, b"end")).result()
    assert narrow.submit(turns, b"a" * 3_000_000).result(60) == b"A" * 3_000_000 + b"END"


def test_what_a_call_leaves_running_ends_with_it(narrow, tmp_path):
    def leaves(place):
        import os
        import time as clock
        client = penstock.get_client()
        vars(penstock)["kept"] = client.submit(functions.hold, place)  # Its future is not what ends it.
        client._flush()
        with penstock.yield_slot():
            while not os.path.exists(place + ".begun"):
                clock.sleep(0.01)
        return "left"
    assert narrow.submit(leaves, str(tmp_path / "never")).result(60) == "left"

    def all_ended():
        return not narrow.ask("jobs")
    functions.until(all_ended)


def test_a_cancelled_call_takes_its_calls_with_it(narrow, tmp_path):
    def waits(place):
        return penstock.get_client().submit(functions.hold, place).result()
    outer = narrow.submit(waits, str(tmp_path / "never"))
    functions.until((tmp_path / "never.begun").exists)
    assert outer.cancel()

    def all_ended():
        return not narrow.ask("jobs")
    functions.until(all_ended)
    assert narrow.submit(gather_in_a_call, 3).result(60) == 6, "a runner that was interrupted has a sound client"


def test_a_call_gives_its_slot_away_and_takes_it_back():
    def secedes():
        client = penstock.get_client()
        future = client.submit(functions.increment, 1)
        client._flush()
        penstock.secede()
        while not future.done():
            time.sleep(0.01)
        penstock.rejoin()
        return future.result()

    def in_a_block():
        with penstock.worker_client() as client:
            future = client.submit(functions.increment, 1)
            client._flush()
            while not future.done():
                time.sleep(0.01)
            return future.result() + 1

    def never_comes_back():
        penstock.secede()
        return "gone"

    def code_of_rejoin():
        try:
            penstock.rejoin()
        except PenstockError as error:
            return error.code
    with Client(slots=1) as client:
        assert client.submit(secedes).result(60) == 2
        assert client.submit(in_a_block).result(60) == 3
        assert client.submit(never_comes_back).result(60) == "gone"
        assert client.submit(code_of_rejoin).result(60) == "WrongState"
        assert client.submit(secedes).result(60) == 2
    with pytest.raises(PenstockError):
        penstock.secede()


def test_a_thread_of_a_call_waits_without_a_slot_of_its_own(narrow):
    def on_a_thread():
        answers = []
        client = penstock.get_client()
        thread = threading.Thread(target=lambda: answers.append(penstock.get_client() is client and
                                                                client.submit(functions.increment, 1).result()))
        thread.start()
        with penstock.yield_slot():
            thread.join()
        return answers
    assert narrow.submit(on_a_thread).result(60) == [2]


def test_nested_calls_run_in_processes_of_the_same_kind():
    def of_child():
        import os
        return os.getpid(), os.environ.get("COLOUR")

    def of_both():
        import os
        client = penstock.get_client()
        return (os.getpid(), os.environ.get("COLOUR")), client.submit(of_child).result()
    with Client(slots=1, environment={"COLOUR": "red"}) as client:
        (parent, colour), (child, inherited) = client.submit(of_both).result(60)
        assert (colour, inherited) == ("red", "red")
        assert client.submit(of_child).result(60)[0] in (parent, child), "the processes serve later calls"


def test_in_a_cluster_of_processes(cluster):  # noqa: F811
    with Client(cluster.address) as client:
        assert client.submit(fibonacci, 6).result(60) == 8
        row = client.submit(lambda: penstock.get_client().ask("jobs")[0]["id"]).result(60)
        assert row is not None


@pytest.mark.parametrize("preset", ["fair_share", "priority", "quota"])
def test_under_a_policy_the_slot_that_is_lent_is_theirs(tmp_path, preset):
    class Policed(Cluster):
        def supervise(self, address):
            config = self.directory / "policy.toml"
            config.write_text(f'[[policy.pool]]\nname = "all"\npreset = "{preset}"\n')
            self.supervisor = self.start("supervisor", "--config", str(config), "--state", str(self.directory / "state"), "--listen",
                                         address, "--address-file", str(self.directory / "address"))
    cluster = Policed(tmp_path)  # Two slots.
    try:
        with Client(cluster.address) as client:
            assert client.submit(fibonacci, 5).result(60) == 5
    finally:
        cluster.end()


def test_a_program_that_a_call_starts_submits_too(narrow):
    def starts():
        text = "import penstock; print(penstock.get_client().submit(abs, -3).result())"
        variables = {**os.environ, **penstock.current_attempt().environment}
        with penstock.yield_slot():
            return subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=50, env=variables)
    done = narrow.submit(starts).result(60)
    assert done.stdout == "3\n", done.stderr
