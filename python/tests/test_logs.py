"""What functions print."""
import functions
import pytest
from penstock import Client, ResultLost, errors


def test_a_future_has_what_its_function_has_printed(client):
    future = client.submit(functions.say, "hello", "world")
    other = client.submit(functions.say, "from another")
    assert future.result(30) == "hello" and other.result(30) == "from another"
    lines = future.logs().splitlines()
    assert [line.split(" ", 1)[1] for line in lines] == ["hello", "world"]
    assert lines[0].split(" ")[0] == f"{future._batch.job}:{future._index}#1"


def test_lines_are_there_while_it_runs(client, tmp_path):
    future = client.submit(functions.say_then_wait, "I am here", str(tmp_path / "go"))
    client._flush()
    functions.wait_for(str(tmp_path / "go.waits"))
    functions.until(lambda: "I am here" in future.logs())
    (tmp_path / "go").touch()
    assert future.result(30)


def test_a_job_has_those_of_all_its_subtasks_and_of_each(client):
    graph = client.graph()
    parts = [graph.add(functions.say, f"part {i}") for i in range(5)]
    job = graph.submit(name="talkative")
    job.results(30)
    assert sorted(line.split(" ", 1)[1] for line in job.logs().splitlines()) == [f"part {i}" for i in range(5)]
    assert job.logs(parts[3]).endswith("#1 part 3\n")
    assert client.attach("talkative").logs() == job.logs()


def test_each_attempt_has_its_own_lines(client, tmp_path):
    future = client.submit(functions.say_and_fail_once, "trying", str(tmp_path / "x"), retries=1)
    assert future.result(30) == "the second time"
    assert [line.split("#")[1] for line in future.logs().splitlines()] == ["1 trying", "2 trying"]


def test_much_output_is_cut_and_it_is_said(client):
    future = client.submit(functions.say, *["x" * 100] * 5000)
    future.result(60)
    log = future.logs()
    assert "earlier lines were dropped" in log.splitlines()[0]
    assert len(log) < (1 << 20)


def test_nothing_printed_is_no_log(client):
    future = client.submit(functions.increment, 1)
    future.result(30)
    assert future.logs() == ""
    future.release()
    with pytest.raises(ResultLost):
        future.logs()


def test_a_closed_client_has_no_logs():
    with Client(slots=1, warm=False) as client:
        future = client.scatter(1)
        with pytest.raises(ResultLost):
            future.logs()
    with pytest.raises(errors.ClientClosed):
        future.logs()


def test_an_exception_shows_its_attempts_and_what_was_printed_last(client):
    future = client.submit(functions.say_and_fail, "so far so good", retries=1)
    with pytest.raises(ValueError, match="^so far so good$"):
        future.result(30)
    text = future.traceback()
    assert "in say_and_fail" in text
    attempts, tail = text.split("attempts:\n")[1].split("last lines that it wrote:\n")
    assert len(attempts.splitlines()) == 2 and tail.strip() == "so far so good"
    cause = future.exception().__cause__
    assert len(cause.history) == 2 and cause.output_tail.strip() == "so far so good"
