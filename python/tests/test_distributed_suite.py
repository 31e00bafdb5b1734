"""The tests of Dask's own client, see `engines/distributed_suite.py`: a difference that is not known yet fails."""
import os
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("dask", reason="python3-dask is not installed")
PLACES = [os.environ.get("PENSTOCK_DISTRIBUTED_TESTS", ""),
          "/usr/lib/python3/dist-packages/distributed/tests/test_client.py"]
SUITE = pathlib.Path(__file__).parent / "engines" / "distributed_suite.py"


def test_dasks_own_tests_have_the_outcomes_that_are_known():
    found = [place for place in PLACES if place and os.path.exists(place)]
    if not found:
        pytest.skip("there is no distributed/tests/test_client.py: install python3-distributed, or set "
                    "PENSTOCK_DISTRIBUTED_TESTS")
    ran = subprocess.run([sys.executable, str(SUITE), found[0]], capture_output=True, text=True, timeout=900)
    assert ran.returncode == 0, ran.stdout[-4000:] + ran.stderr[-2000:]


def test_a_new_difference_is_an_error(tmp_path, monkeypatch):
    sys.path.insert(0, str(SUITE.parents[1]))
    from engines import distributed_suite
    expected = tmp_path / "expected.txt"
    expected.write_text("test_a passed\ntest_b refused 'x'\n")
    monkeypatch.setattr(distributed_suite, "EXPECTED", expected)
    same = {"test_a": ("passed", ""), "test_b": ("refused", "'y'"), "test_new": ("failed", "ValueError")}
    assert distributed_suite.compared(same) == []
    assert distributed_suite.compared({**same, "test_a": ("failed", "ValueError")}) == [
        "test_a: passed before, failed now (ValueError)"]
