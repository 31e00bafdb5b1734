"""How a function learns in which attempt it runs; over restarts of a supervisor: test_cluster.py."""
import functions
import penstock
import pytest


def test_a_function_sees_the_attempt_in_which_it_runs(client):
    future = client.submit(functions.attempt)
    seen = future.result(30)
    assert (seen.job, seen.subtask, seen.number) == (future._batch.job, future._index, 1)
    identity, subtask, number = seen.id.split("-")
    assert (subtask, number) == (str(seen.subtask), "1") and len(identity) == 32 and int(identity, 16)


def test_no_two_calls_of_a_runner_are_one_attempt(client):
    seen = client.gather(client.map(functions.attempt, range(20))) + [client.submit(functions.attempt).result(30)]
    assert len({one.id for one in seen}) == len({(one.job, one.subtask) for one in seen}) == 21


def test_an_attempt_that_is_repeated_has_a_larger_number(client, tmp_path):
    graph = client.graph()
    graph.add(functions.fail_once_noting_attempt, str(tmp_path / "first"), retries=1)
    (last,) = graph.submit().results(60)
    assert int((tmp_path / "first").read_text()) == 1 and last.number == 2


def test_a_coroutine_sees_it_too(client):
    assert client.submit(functions.attempt_later).result(30).number == 1


def test_a_program_finds_it_where_a_command_does(client):
    future = client.submit(functions.attempt_of_a_program)
    number, name = future.result(30)
    assert number == "1" and name.endswith(f"-{future._index}-1")


# A thread may outlast the call, and would be given the token of the next one.
@pytest.mark.parametrize("ask", [lambda client: penstock.current_attempt(),
                                 lambda client: client.submit(functions.attempt_in_a_thread).result(30)], ids=["client", "thread"])
def test_where_no_call_runs_there_is_none(client, ask):
    assert ask(client) is None
