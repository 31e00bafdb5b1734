"""Tests of other projects, see `engines/other_suites.py`: a difference that is not known yet fails. By the versions of
`scripts/setup --engines`, also where these tests are run by another Python."""
import os
import pathlib
import subprocess
import sys
import warnings

import pytest

TESTS = pathlib.Path(__file__).resolve().parent
SUITE = TESTS / "engines" / "other_suites.py"
PYTHON = pathlib.Path(os.environ.get("PENSTOCK_ENGINES", TESTS.parents[1] / "build" / "engines")) / "bin" / "python"

sys.path.insert(0, str(TESTS))
from engines import other_suites  # noqa: E402

needs_engines = pytest.mark.skipif(not PYTHON.exists(), reason=f"there is no {PYTHON}: scripts/setup --engines")


@needs_engines
@pytest.mark.parametrize("name", other_suites.SUITES)
def test_a_suite_has_the_differences_that_are_known(name):
    ran = subprocess.run([PYTHON, SUITE, name], capture_output=True, text=True, timeout=900)
    told = [line for line in ran.stdout.splitlines() if line.startswith(f"{name}: ")]
    assert ran.returncode == 0, "\n".join(told) + ran.stderr[-2000:]
    if len(told) > 1:
        warnings.warn("\n".join(told[1:]), stacklevel=1)


@needs_engines
def test_values_of_arrow_and_polars_travel_without_a_copy():
    ran = subprocess.run([PYTHON, "-m", "pytest", "-q", "-p", "no:cacheprovider", TESTS / "test_buffers.py"],
                         capture_output=True, text=True, timeout=600, cwd=TESTS)
    assert ran.returncode == 0, ran.stdout[-3000:]


def test_each_known_difference_is_of_a_suite_and_has_a_reason():
    lines = [line for line in other_suites.EXPECTED.read_text().splitlines() if line and line[0] != "#"]
    assert lines
    for line in lines:
        suite, test, reason = line.split(maxsplit=2)
        assert suite in other_suites.SUITES and "test_" in test and reason[0] != "?", line


def test_new_differences_and_those_that_have_gone():
    expected = {"test_a": "its parameters all differ", "test_b[1]": "this one does", "test_gone": "did",
                "test_absent": "is of another"}
    ran = ["test_a[1]", "test_a[2]", "test_b[1]", "test_b[2]", "test_gone", "test_c"]
    assert other_suites.compared(expected, {"test_a[1]": "", "test_b[1]": ""}, ran) == ([], ["test_gone"])
    assert other_suites.compared(expected, {"test_b[2]": "", "test_c": ""}, ran) == (
        ["test_b[2]", "test_c"], ["test_a", "test_b[1]", "test_gone"])


def test_differences_are_read_by_suite(tmp_path, monkeypatch):
    path = tmp_path / "expected.txt"
    path.write_text("# for people\none test_a[x y] because of it\ntwo test_a another reason\n")
    monkeypatch.setattr(other_suites, "EXPECTED", path)
    assert other_suites.known("two") == {"test_a": "another reason"}
