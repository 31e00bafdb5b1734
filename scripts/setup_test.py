#!/usr/bin/env python3
"""scripts/setup against a machine made of stubs: what it installs, what it skips, and what it says when it cannot."""
import os
import stat
import subprocess
import tempfile
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))

# Knows the packages in the file `installed`, as dpkg-query does.
DPKG_QUERY = """#!/bin/bash
for name in "${@:3}"; do grep -qx "$name" "$MACHINE/installed" && echo "ii $name"; done
exit 0
"""
APT_GET = """#!/bin/bash
echo "$*" >> "$MACHINE/apt_calls"
if [ -e "$MACHINE/offline" ]; then echo "E: Failed to fetch http://deb.debian.org"; exit 100; fi
case " $* " in *" install "*) printf '%s\\n' "$@" >> "$MACHINE/installed";; esac
"""
SUDO = """#!/bin/bash
echo sudo >> "$MACHINE/apt_calls"
exec "$@"
"""
# Makes a virtual environment of itself, and fails to install as pip does without a network.
PYTHON = """#!/bin/bash
echo "$*" >> "$MACHINE/python_calls"
case "$*" in
  *venv*) mkdir -p "${@: -1}/bin" && cp "$0" "${@: -1}/bin/python";;
  *pip*) [ ! -e "$MACHINE/offline_pip" ];;
esac
"""


class Setup(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.machine = directory.name
        self.write("installed", "")
        self.write("os-release", 'ID=debian\nVERSION_ID="12"\n')
        for tool in ("bash", "sed", "sort", "comm", "mktemp", "tail", "rm", "env", "id", "grep", "dirname", "cat", "cmp",
                     "cp", "mkdir", "chmod"):
            os.symlink(f"/usr/bin/{tool}", os.path.join(self.machine, tool))
        for name, text in (("dpkg-query", DPKG_QUERY), ("apt-get", APT_GET)):
            self.write(name, text, executable=True)

    def write(self, name, text, executable=False):
        path = os.path.join(self.machine, name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        if executable:
            os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def setup_machine(self, uid="0", arguments=()):
        environment = {"PATH": self.machine, "MACHINE": self.machine, "PENSTOCK_UID": uid,
                       "PENSTOCK_OS_RELEASE": os.path.join(self.machine, "os-release"),
                       "PENSTOCK_PYTHON": os.path.join(self.machine, "python3"),
                       "PENSTOCK_ENGINES": os.path.join(self.machine, "engines")}
        return subprocess.run(["/bin/bash", os.path.join(HERE, "setup"), *arguments], env=environment, capture_output=True, text=True)

    def apt_calls(self):
        return self.calls("apt_calls")

    def calls(self, name):
        try:
            with open(os.path.join(self.machine, name), encoding="utf-8") as file:
                return file.read().splitlines()
        except FileNotFoundError:
            return []

    def test_installs_what_is_missing_without_recommends_and_then_nothing(self):
        result = self.setup_machine()
        self.assertEqual(result.returncode, 0, result.stderr)
        self.assertEqual(len(self.apt_calls()), 2)
        self.assertIn("install --no-install-recommends", self.apt_calls()[1])
        self.assertIn("libcaf-dev", self.apt_calls()[1])
        begin = time.monotonic()
        self.assertIn("are installed", self.setup_machine().stdout)
        self.assertLess(time.monotonic() - begin, 5)  # Seconds; it takes 0.02, and this machine may be busy.
        self.assertEqual(len(self.apt_calls()), 2)

    def test_installs_only_what_is_missing(self):
        self.setup_machine()
        with open(os.path.join(self.machine, "installed"), encoding="utf-8") as file:
            installed = file.read()
        self.write("installed", installed.replace("mold\n", ""))
        self.setup_machine()
        self.assertTrue(self.apt_calls()[-1].endswith("--no-install-recommends mold"), self.apt_calls()[-1])

    def test_prints_one_line_for_each_phase(self):
        self.assertEqual(len(self.setup_machine().stdout.splitlines()), 3)

    def test_refuses_another_system_by_name(self):
        self.write("os-release", "ID=fedora\n")
        result = self.setup_machine()
        self.assertEqual(result.returncode, 1)
        self.assertIn("this is fedora, not Debian", result.stderr)
        self.assertEqual(self.apt_calls(), [])

    def test_says_that_there_is_no_network(self):
        self.write("offline", "")
        result = self.setup_machine()
        self.assertEqual(result.returncode, 1)
        self.assertIn("is there a network", result.stderr)
        self.assertIn("Failed to fetch", result.stderr)

    def test_uses_sudo_when_it_is_not_root(self):
        result = self.setup_machine(uid="1000")
        self.assertEqual(result.returncode, 1)
        self.assertIn("install sudo", result.stderr)
        self.write("sudo", SUDO, executable=True)
        self.assertEqual(self.setup_machine(uid="1000").returncode, 0)
        self.assertEqual(self.apt_calls().count("sudo"), 2)

    def test_engines_are_installed_when_asked_for_and_once(self):
        self.write("python3", PYTHON, executable=True)
        self.assertEqual(self.setup_machine().returncode, 0)
        self.assertEqual(self.calls("python_calls"), [])
        result = self.setup_machine(arguments=["--engines"])
        self.assertEqual(result.returncode, 0, result.stderr)
        calls = self.calls("python_calls")
        self.assertEqual(len(calls), 2)
        self.assertIn("-m pip install", calls[1])
        self.assertTrue(calls[1].endswith("python/tests/engines/requirements.txt"), calls[1])
        self.assertIn("has the engines", self.setup_machine(arguments=["--engines"]).stdout)
        self.assertEqual(len(self.calls("python_calls")), 2)

    def test_engines_that_could_not_be_installed_are_tried_again(self):
        self.write("python3", PYTHON, executable=True)
        self.write("offline_pip", "")
        result = self.setup_machine(arguments=["--engines"])
        self.assertEqual(result.returncode, 1)
        self.assertIn("pip could not install", result.stderr)
        os.remove(os.path.join(self.machine, "offline_pip"))
        self.assertEqual(self.setup_machine(arguments=["--engines"]).returncode, 0)

    def test_refuses_other_arguments(self):
        result = self.setup_machine(arguments=["--all"])
        self.assertEqual(result.returncode, 1)
        self.assertIn("usage: scripts/setup [--engines], not '--all'", result.stderr)
        self.assertEqual(self.apt_calls(), [])


if __name__ == "__main__":
    unittest.main()
