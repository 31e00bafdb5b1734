"""`pip install ./python`, without a network: into a virtual environment that sees what Debian has of the rest."""
import importlib.util
import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from penstock import _abi

SOURCE = pathlib.Path(__file__).resolve().parents[1]


@pytest.fixture
def place(tmp_path):
    """A virtual environment, and the sources in a place where they may be built."""
    for module in ("venv", "pip", "setuptools", "wheel", "cloudpickle"):
        if importlib.util.find_spec(module) is None:
            pytest.skip(f"{module} is not installed")
    subprocess.run([sys.executable, "-m", "venv", "--system-site-packages", "--without-pip", str(tmp_path / "venv")],
                   check=True)
    shutil.copytree(SOURCE, tmp_path / "tree" / "python", ignore=shutil.ignore_patterns("tests", "__pycache__", ".*"))
    return tmp_path


def install(place, library):
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PENSTOCK_LIBRARY")}
    if library:
        variables["PENSTOCK_LIBRARY"] = library
    command = [place / "venv/bin/python", "-m", "pip", "install", "--no-index", "--no-build-isolation", "--no-deps",
               "--disable-pip-version-check", str(place / "tree" / "python")]
    return subprocess.run(command, env=variables, cwd=place, capture_output=True, text=True)


def test_the_installed_package_brings_its_library_and_computes(place):
    done = install(place, _abi.library().path)
    assert done.returncode == 0, done.stderr
    code = """
import pathlib, penstock
from penstock import _abi, Client
with Client(slots=1) as client:
    print(client.submit(sum, [1, 2]).result(60))
inside = pathlib.Path(penstock.__file__).parent
print(inside / "libpenstock.so" == pathlib.Path(_abi.library().path), (inside / "py.typed").exists(), inside)
"""
    variables = {name: value for name, value in os.environ.items() if name not in ("PYTHONPATH", "PENSTOCK_LIBRARY")}
    ran = subprocess.run([place / "venv/bin/python", "-c", code], env=variables, cwd=place, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.splitlines()[0] == "3"
    assert ran.stdout.splitlines()[1].startswith(f"True True {place}/venv/")


def test_without_a_library_it_is_not_built(place):
    done = install(place, "")
    assert done.returncode != 0
    assert "the package needs libpenstock.so, and there is none at" in done.stdout + done.stderr
    assert "PENSTOCK_LIBRARY" in done.stdout + done.stderr
