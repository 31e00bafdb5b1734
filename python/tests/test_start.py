"""Runners begin in the client's version of Python, with the client's modules, and each run with the handlers of the first."""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import time
import zipfile

import functions
import pytest
from test_coroutines import cancelled_once_it_waits, impatient  # noqa: F401

from penstock import Client, VersionMismatch, _start


def other_pythons():
    """One of each version that is installed here, but for ours."""
    found = sorted(pathlib.Path.home().glob(".pyenv/versions/*/bin/python"))
    found += [path for path in (shutil.which(f"python3.{minor}") for minor in range(6, 20)) if path]
    of_version = {}
    for path in found:
        told = subprocess.run([path, "-c", "import sys; print('%d.%d' % sys.version_info[:2])"], capture_output=True, text=True)
        if told.returncode == 0:
            of_version.setdefault(told.stdout.strip(), str(path))
    of_version.pop("%d.%d" % sys.version_info[:2], None)
    return of_version


# Its own standard library was looked for where the client's is: a fatal error, and a runner that crashed.
def test_every_other_version_that_is_installed_is_refused_at_once_and_both_are_named(client, tmp_path):
    pythons = other_pythons()
    if not pythons:
        pytest.skip("no Python of another version is installed")
    ours = "%d.%d" % sys.version_info[:2]
    futures = {version: client.submit(functions.touch, str(tmp_path / version), python=python, retries=3)
               for version, python in pythons.items()}
    for version, future in futures.items():
        error = future.exception(60)
        assert isinstance(error, VersionMismatch)
        assert f"the client runs Python {ours}, this runner {version}: " in str(error) and "give Client(python=...)" in str(error)
        assert len(error.history) == 1 and not (tmp_path / version).exists()


def test_another_version_says_so_also_where_the_library_is_not(client):
    for python in list(other_pythons().values())[:1] or [pytest.skip("no Python of another version is installed")]:
        error = client.submit(functions.increment, 1, python=python, environment={"PENSTOCK_LIBRARY": "/nowhere"}).exception(60)
        assert isinstance(error, VersionMismatch) and "the client runs Python" in str(error)


def test_an_archive_on_the_path_is_one_of_a_runner_too(client, tmp_path, monkeypatch):
    with zipfile.ZipFile(tmp_path / "some.zip", "w") as archive:
        archive.writestr("zipped_away.py", "def double(x):\n    return 2 * x\n")
    monkeypatch.syspath_prepend(str(tmp_path / "some.zip"))
    import zipped_away
    assert client.submit(zipped_away.double, 4).result(60) == 8


def test_modules_are_looked_for_in_the_order_of_the_client(tmp_path):
    """What is behind the standard library here does not hide it there."""
    for place, text in (("before", "before"), ("behind", "behind")):
        (tmp_path / place).mkdir()
        (tmp_path / place / "twice_there.py").write_text(f"PLACE = {text!r}\n")
    (tmp_path / "behind" / "colorsys.py").write_text("raise ImportError('that of the standard library was meant')\n")
    program = f"""
import sys
sys.path[0:0] = [{str(tmp_path / "before")!r}]
sys.path.append({str(tmp_path / "behind")!r})
from penstock import Client
def found():
    import colorsys, twice_there
    return twice_there.PLACE, colorsys.__file__.startswith({str(tmp_path)!r})
with Client(slots=1) as client:
    print(client.submit(found).result(60))
"""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    ran = subprocess.run([sys.executable, "-c", program], env=environment, capture_output=True, text=True)
    assert ran.stdout == "('before', False)\n", ran.stderr


def test_what_belongs_to_the_interpreter_is_told_from_what_lies_beside_it():
    library = os.path.dirname(os.__file__)
    archive = os.path.join(os.path.dirname(library), "python%d%d.zip" % sys.version_info[:2])
    assert all(map(_start.is_standard, [archive, library, os.path.join(library, "lib-dynload")]))
    for entry in (os.path.join(library, "site-packages"), "/srv/lib.zip", "/srv/" + os.path.basename(archive), "", "/"):
        assert not _start.is_standard(entry)
    assert _start.path_of(["/a", archive, library, "/b.zip"], "/ours") == (["/ours", "/a"], ["/b.zip"])
    assert _start.path_of(["/a", library, "/ours"], "/ours") == (["/a"], ["/ours"]), "where it is already"
    there = ["/own", library, "/own/site-packages"]
    assert _start.extend(there, ["/a"], ["/b", "/own"]) == [os.getcwd(), "/a", "/own", library, "/b", "/own/site-packages"]


def ignore_interrupts():
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    return os.getpid()


def note_and_sleep(path):
    functions.note(path, str(os.getpid()))
    time.sleep(600)


# The next run could not be interrupted, and its process had to be killed.
def test_a_function_that_ignores_interrupts_does_so_for_itself_only(impatient, tmp_path):  # noqa: F811
    pid = impatient.submit(ignore_interrupts).result(60)
    assert cancelled_once_it_waits(impatient, note_and_sleep, tmp_path / "log") == pid
    assert impatient.submit(functions.pid).result(60) == pid


def test_what_a_function_starts_finds_the_modules_of_the_client(client):
    command = [sys.executable, "-c", "import functions; print(functions.add(1, 2))"]
    assert client.submit(subprocess.check_output, command).result(60) == b"3\n"


def test_an_empty_name_is_none():
    with Client(slots=1, name="") as client:
        assert client.submit(len, [1, 2]).result(60) == 2


def test_an_entry_of_the_path_that_is_there_already_needs_no_other_runner(monkeypatch):
    with Client(slots=1) as client:
        before = client.submit(os.getpid).result(60)
        monkeypatch.setattr(sys, "path", [sys.path[0], *sys.path])
        assert client.submit(os.getpid).result(60) == before
