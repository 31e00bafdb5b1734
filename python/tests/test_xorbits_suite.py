"""A part of Xorbits' own examples, with its own backend and with Penstock's; engines/xorbits_suite.py runs them all."""
import pathlib
import subprocess
import sys

import pytest

pytest.importorskip("xorbits", reason="xorbits is not installed: python/tests/with_xorbits")

SUITE = pathlib.Path(__file__).resolve().parent / "engines" / "xorbits_suite.py"
PARTS = ("dataframe/reduction", "dataframe/missing", "dataframe/window", "tensor/merge", "tensor/indexing", "tensor/reduction/a")


def test_examples_of_xorbits_say_the_same_with_both_backends(tmp_path):
    """With chunks of three rows, so that they are shuffled."""
    only = [word for part in PARTS for word in ("--only", part)]
    for name in ("own", "own-again", "penstock"):
        subprocess.run([sys.executable, str(SUITE), "run", name.partition("-")[0], str(tmp_path / name), "--chunk", "3", *only], check=True,
                       timeout=600, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    told = subprocess.run([sys.executable, str(SUITE), "compare", *[str(tmp_path / name) for name in ("own", "own-again", "penstock")],
                           "--reasons", str(SUITE.with_suffix(".txt"))], stdout=subprocess.PIPE, text=True, timeout=60)
    assert told.returncode == 0, told.stdout
    assert int(told.stdout.partition(";")[2].split()[0]) >= 15, "that many pass with Xorbits' own backend"
