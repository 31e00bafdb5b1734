"""Calls that lend their slot while they wait for other calls; there is one slot."""
import functions
import penstock
import pytest
from penstock import Client, PenstockError


@pytest.fixture(scope="module")
def narrow():
    with Client(slots=1) as client:
        yield client


def test_a_call_lends_the_only_slot_to_the_one_that_it_waits_for(narrow, tmp_path):
    place = str(tmp_path / "told")
    waits = narrow.submit(functions.yield_until, place, priority=9)
    tells = narrow.submit(functions.tell, place)
    assert waits.result(60) == "told"
    assert tells.result(60) == "it had begun"


def test_a_coroutine_lends_it_too(narrow, tmp_path):
    place = str(tmp_path / "told")
    waits = narrow.submit(functions.yield_until_later, place, priority=9)
    narrow.submit(functions.tell, place)
    assert waits.result(60) == "told"


def test_an_error_inside_comes_out(narrow):
    with pytest.raises(ZeroDivisionError):
        narrow.submit(functions.divide_while_yielded).result(60)
    assert narrow.submit(functions.increment, 1).result(60) == 2, "the slot was taken back"


def test_a_call_whose_slot_is_lent_is_cancelled(narrow, tmp_path):
    waits = narrow.submit(functions.yield_until, str(tmp_path / "never"), str(tmp_path / "ended"))
    functions.until((tmp_path / "never.begun").exists)
    assert waits.cancel()
    functions.until((tmp_path / "ended").exists)
    assert (tmp_path / "ended").read_text() == "KeyboardInterrupt"
    assert narrow.submit(functions.increment, 1).result(60) == 2


def test_a_call_that_waits_for_its_slot_is_cancelled(narrow, tmp_path):
    holds = str(tmp_path / "holds")
    waiting = narrow.submit(functions.yield_until, holds + ".begun", str(tmp_path / "ended"), priority=9)
    holding = narrow.submit(functions.hold, holds)
    functions.until((tmp_path / "holds.begun").exists)
    assert waiting.cancel()
    functions.until((tmp_path / "ended").exists)
    assert (tmp_path / "ended").read_text() == "KeyboardInterrupt"
    assert not holding.done(), "somebody else has the slot"
    (tmp_path / "holds").write_text("go")
    assert holding.result(60) == "held"


def test_where_no_call_runs_there_is_no_slot(narrow):
    with pytest.raises(PenstockError) as refused:
        with penstock.yield_slot():
            pass
    assert refused.value.code == "WrongState"
    assert narrow.submit(functions.yield_in_a_thread).result(60) == "WrongState"


def test_a_slot_is_not_lent_twice(narrow):
    assert narrow.submit(functions.yield_twice).result(60) == "WrongState"
