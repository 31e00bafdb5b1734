"""What a call raises reaches its caller as itself: as a user would see it in one process, and where it was raised."""
import asyncio
import concurrent.futures
import sys
import traceback

import functions
import penstock
import pytest
import raising
from penstock import errors

LATE = 60
groups = pytest.mark.skipif(sys.version_info < (3, 11), reason="Python 3.11 brought groups and notes")


def raised_by(client, function, *args, **keywords):
    """The exception as the caller catches it."""
    future = client.submit(function, *args, **keywords)
    with pytest.raises(BaseException) as caught:
        future.result(LATE)
    assert caught.value is future.exception()
    return caught.value


def same(error, expected):
    """Class, arguments, text and attributes, as in the process that has raised it."""
    assert type(error) is type(expected)
    assert error.args == expected.args and str(error) == str(expected)
    assert {name: value for name, value in vars(error).items() if name != "__notes__"} == vars(expected)


@pytest.mark.parametrize("kind, args, keywords", [
    (ValueError, ("a", 2), {}), (KeyError, ("k",), {}), (raising.Plain, (), {}), (raising.Composed, (5,), {}),
    (raising.OfSystem, ("/there",), {"why": "b"}), (raising.Slots, (9,), {}), (raising.Reduced, (1, 2), {}),
    (FileNotFoundError, (2, "not there", "/a"), {}), (UnicodeDecodeError, ("utf-8", b"\xff", 0, 1, "bad"), {}),
    (SyntaxError, ("bad", ("file.py", 3, 4, "a b")), {}), (StopIteration, (4,), {}), (SystemExit, (3,), {}),
    (KeyboardInterrupt, ("enough",), {}), (asyncio.CancelledError, ("by me",), {}), (GeneratorExit, (), {}),
    (concurrent.futures.CancelledError, ("by me",), {}), (ImportError, ("no",), {"name": "n", "path": "/p"}),
    (MemoryError, (), {}), (functions.StubbornError, (1, 2), {})], ids=lambda value: getattr(value, "__name__", None))
def test_each_class_is_itself(client, kind, args, keywords):
    same(raised_by(client, raising.raise_it, kind, *args, **keywords), kind(*args, **keywords))


def test_fields_of_the_interpreters_own_are_kept(client):
    error = raised_by(client, raising.raise_it, raising.OfSystem, "/there", why="b")
    assert (error.errno, error.strerror, error.filename, error.filename2) == (5, "no luck", "/there", None)
    assert raised_by(client, raising.raise_it, raising.Slots, 9).place == 9
    assert raised_by(client, raising.leave_with, 3).code == 3
    assert raised_by(client, raising.next_of_nothing).value is None
    assert raised_by(client, raising.raise_with_property).size == 3
    assert raised_by(client, raising.raise_it, SyntaxError, "bad", ("file.py", 3, 4, "a b")).lineno == 3


def test_a_class_of_the_main_module_or_of_a_function_is_itself(client):
    class Local(raising.Composed):
        pass

    def function():
        raise Local(4)
    error = raised_by(client, function)
    assert type(error) is Local and error.args == ("number 4",) and error.number == 4


def test_a_signal_of_its_own_is_a_keyboard_interrupt(client):
    error = raised_by(client, raising.interrupt_itself)
    assert type(error) is KeyboardInterrupt
    assert "in interrupt_itself" in str(errors.remote_traceback(error))
    assert client.submit(functions.increment, 1).result(LATE) == 2


def test_a_coroutine_that_cancels_itself_is_not_a_cancelled_future(client):
    future = client.submit(raising.raise_in_coroutine)
    assert type(future.exception(LATE)) is asyncio.CancelledError
    assert future.status == "error" and not future.cancelled()


def test_what_cannot_be_pickled_is_left_out_and_named(client):
    error = raised_by(client, raising.raise_it, raising.Keywords, 1, two=2)
    assert type(error) is raising.Keywords and error.args == (1,) and error.two == 2
    assert not hasattr(error, "lock")
    assert error.__notes__ == ["penstock: lock cannot be pickled, and did not come along"]


# ---- what led to it ----

def test_causes_are_kept_with_their_attributes(client):
    error = raised_by(client, raising.raise_from)
    same(error, raising.Plain("the last"))
    same(error.__cause__, raising.Composed(2))
    same(error.__cause__.__cause__, KeyError("missing"))
    assert error.__suppress_context__ and error.__context__ is error.__cause__
    assert isinstance(error.__cause__.__cause__.__cause__, errors.RemoteTraceback)


def test_contexts_are_kept_and_suppressed_as_they_were(client):
    error = raised_by(client, raising.raise_within)
    same(error.__context__, KeyError("missing"))
    assert not error.__suppress_context__
    alone = raised_by(client, raising.raise_from_none)
    assert alone.__suppress_context__ and type(alone.__context__) is KeyError
    assert "missing" not in str(errors.remote_traceback(alone))


def test_causes_in_a_circle(client):
    error = raised_by(client, raising.raise_in_a_circle)
    same(error, raising.Plain("one"))
    same(error.__cause__, raising.Plain("two"))
    assert "in raise_in_a_circle" in str(errors.remote_traceback(error))


def test_a_cause_that_cannot_be_read_here_is_told_in_words(client):
    error = raised_by(client, raising.raise_from_what_cannot_be_read)
    same(error, raising.Plain("readable"))
    assert isinstance(error.__cause__, errors.SubtaskFailed)
    assert "NotReadable: hidden" in str(error.__cause__) and "will not be made here" in str(error.__cause__)


# ---- groups and notes ----

@groups
def test_a_group_keeps_its_members_and_theirs(client):
    outer = raised_by(client, raising.raise_group)
    assert type(outer) is ExceptionGroup and outer.message == "outer"  # noqa: F821
    first, inner, last = outer.exceptions
    same(first, ValueError("a"))
    same(last, raising.OfSystem("/there", why="b"))
    assert inner.__notes__ == ["of the inner one"]
    keywords, composed, led = inner.exceptions
    assert type(keywords) is raising.Keywords and keywords.two == 2
    same(composed, raising.Composed(3))
    same(led.__cause__.__cause__, KeyError("missing"))
    text = str(errors.remote_traceback(outer))
    assert "in raise_group" in text and "in raise_from" in text and "number 3" in text


@groups
def test_except_star_takes_a_group_of_a_call_apart(client):
    names = {"outer": raised_by(client, raising.raise_group), "seen": []}
    exec("try:\n    raise outer\n"
         "except* ValueError as group:\n    seen.append(('values', len(group.exceptions)))\n"
         "except* OSError as group:\n    seen.append(('system', group.exceptions[0].why))\n"
         "except* Exception as group:\n    seen.append(('rest', len(group.exceptions)))\n", names)
    assert names["seen"] == [("values", 1), ("system", "b"), ("rest", 1)]


@groups
def test_a_group_of_too_many_says_how_many_are_left_out(client):
    group = raised_by(client, raising.raise_large_group, 300)
    *kept, last = group.exceptions
    assert all(type(error) is ValueError for error in kept)
    assert f"{300 - len(kept)} further exceptions" in str(last)


@groups
@pytest.mark.parametrize("kind, args", [(ValueError, ("a",)), (raising.Composed, (3,)), (raising.Reduced, (1, 2))])
def test_notes_and_attributes_are_kept(client, kind, args):
    error = raised_by(client, raising.raise_noted, kind, *args)
    assert type(error) is kind and error.__notes__ == ["first note", "second note"]
    assert kind is raising.Reduced or error.where == {"line": 3}
    assert "second note" in str(errors.remote_traceback(error))


# ---- large ones ----

def test_a_large_text_comes_whole_if_it_can_be_compressed(client):
    error = raised_by(client, raising.raise_large_text, 20_000)
    assert error.args == ("many words " * 20_000,) and error.table == list(range(20_000))


def test_what_is_too_large_is_shortened_and_the_rest_is_kept(client):
    error = raised_by(client, raising.raise_large_noise, 1_000_000)
    assert type(error) is raising.Composed and error.args == ("number 7",) and error.number == 7
    assert error.small == "as it was"
    assert isinstance(error.noise, bytes) and 1000 < len(error.noise) < 60_000
    assert isinstance(error.text, str) and " characters ...\n" in error.text and len(error.text) < 60_000
    assert error.__notes__ == ["penstock: noise, text shortened: a report of a failure holds 60000 bytes"]
    assert "in raise_large_noise" in str(errors.remote_traceback(error))


# ---- where it was raised ----

def test_remote_frames_are_readable_where_it_is_not_caught(client):
    error = raised_by(client, raising.raise_from)
    shown = "".join(traceback.format_exception(type(error), error, error.__traceback__))
    at = [shown.index(part) for part in (
        "raising.py", "in raise_from", '{}["missing"]', "KeyError: 'missing'", "raise Composed(2) from error",
        "raising.Composed: number 2", "raise Plain(\"the last\") from error", "raising.Plain: the last",
        "test_exceptions.py")]
    assert at == sorted(at)
    assert "_runner.py" not in shown


def test_the_text_of_where_it_was_raised_is_found_below_any_causes(client):
    for function in (raising.raise_from, raising.raise_within, raising.raise_in_a_circle):
        future = client.submit(function)
        assert future.exception(LATE) is not None
        assert f"in {function.__name__}" in future.traceback()
    assert errors.remote_traceback(ValueError("of nobody")) is None
    assert client.submit(functions.increment, 1).traceback(LATE) == ""


def test_what_depends_on_it_raises_it_as_well(client):
    error = raised_by(client, functions.increment, client.submit(raising.leave_with, 4))
    assert type(error) is SystemExit and error.code == 4


def test_an_exception_that_cannot_be_read_here_has_its_text(client):
    error = raised_by(client, raising.raise_unreadable)
    assert isinstance(error, errors.SubtaskFailed)
    assert "NotReadable: too far from home" in str(error) and "will not be made here" in str(error)
    assert "in raise_unreadable" in str(errors.remote_traceback(error))


def test_an_exception_of_a_nested_call_goes_through_both(client):
    error = raised_by(client, raising.raise_inside_another)
    same(error, raising.Plain("the last"))
    same(error.__cause__.__cause__, KeyError("missing"))
    text = str(errors.remote_traceback(error))
    assert text.index("in raise_from") < text.index("in raise_inside_another")
    crashed = raised_by(client, raising.crash_inside_another)
    assert type(crashed) is errors.RunnerCrashed and crashed.exit_code == 7 and crashed.history


def test_a_missing_module_is_a_module_not_found_error(client):
    error = raised_by(client, functions.import_nothing_there)
    assert isinstance(error, ModuleNotFoundError) and error.name == "module_that_is_not_there"
    assert type(error.__cause__) is ModuleNotFoundError and error.__cause__.name == error.name
    own = raised_by(client, raising.raise_it, ModuleNotFoundError, "no such plugin")
    same(own, ModuleNotFoundError("no such plugin"))


# ---- what would end a thread does not end the client's ----

@pytest.mark.parametrize("kind", [SystemExit, KeyboardInterrupt, asyncio.CancelledError, GeneratorExit])
def test_a_callback_that_raises_it_holds_up_nobody(client, kind, caplog):
    future, told = client.submit(raising.raise_it, kind, 1), []
    future.add_done_callback(lambda ended: ended.result())
    future.add_done_callback(told.append)
    assert type(future.exception(LATE)) is kind
    functions.until(lambda: told == [future])
    assert client.submit(functions.increment, 1).result(LATE) == 2
    assert "exception calling callback" in caplog.text


def test_gather_skips_it_and_as_completed_gives_it(client):
    futures = [client.submit(raising.leave_with, 1), client.submit(functions.increment, 1)]
    assert client.gather(futures, errors="skip") == [2]
    with pytest.raises(SystemExit):
        client.gather(futures)
    given = dict(penstock.as_completed(futures, with_results=True, raise_errors=False))
    assert type(given[futures[0]]) is SystemExit and given[futures[1]] == 2


# `await` never returned: asyncio refuses to give a StopIteration to a future.
def test_await_raises_it(client):
    async def kind_of(function, *args):
        try:
            await client.submit(function, *args)
        except BaseException as error:
            return type(error), type(error.__cause__)
    for function, args, expected in [
            (raising.raise_it, (ValueError, "a"), ValueError), (raising.leave_with, (3,), SystemExit),
            (raising.raise_in_coroutine, (), asyncio.CancelledError), (raising.next_of_nothing, (), RuntimeError)]:
        kind, cause = asyncio.run(asyncio.wait_for(kind_of(function, *args), LATE))
        assert kind is expected
        assert kind is not RuntimeError or cause is StopIteration


@pytest.mark.parametrize("function, args", [
    (raising.raise_from, ()), (raising.leave_with, (2,)), (raising.raise_it, (KeyError, 1))])
def test_a_job_raises_it(client, function, args):
    graph = client.graph()
    graph.add(function, *args)
    with pytest.raises(BaseException) as caught:
        graph.submit().result(LATE)
    assert f"in {function.__name__}" in str(errors.remote_traceback(caught.value))
