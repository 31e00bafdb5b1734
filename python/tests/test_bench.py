"""What bench/python/run says when it cannot begin."""
import os
import pathlib
import subprocess
import sys

RUN = pathlib.Path(__file__).resolve().parents[2] / "bench" / "python" / "run"


def run_with(library):
    done = subprocess.run([sys.executable, RUN, "--without-dask", "--rounds", "1"], capture_output=True, text=True,
                          env={**os.environ, "PENSTOCK_LIBRARY": str(library)})
    assert done.returncode == 1 and "Traceback" not in done.stderr
    return done.stderr


# It said only that a process had ended with 1.
def test_a_library_that_is_not_built_is_named_with_how_to_build_it(tmp_path):
    said = run_with(tmp_path / "libpenstock.so")
    assert f"there is no libpenstock.so at {tmp_path}" in said and "--target penstock_shared" in said


def test_one_that_cannot_be_loaded_is_named_too(tmp_path):
    (tmp_path / "libpenstock.so").write_text("no library")
    assert f"{tmp_path / 'libpenstock.so'} (" in run_with(tmp_path / "libpenstock.so")
