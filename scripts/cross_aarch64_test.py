#!/usr/bin/env python3
"""scripts/cross_aarch64 in a tree whose compiler, emulator and mirror are stubs: what it calls good, and what it does not."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "cross_aarch64"
# Knows three programs of a build, and remembers what was to be built.
CMAKE = """#!/bin/bash
echo "$*" >> "$MACHINE/cmake_calls"
case " $* " in
  *" -t targets all "*) printf '%s: CXX_EXECUTABLE_LINKER__x_Release\\n' unit_one unit_two sim; echo unit_three: phony;;
  *" --build "*) [ ! -e "$MACHINE/does_not_build" ] || { echo 'error: x'; exit 1; };;
  *) ;;
esac
"""
# Calls the program that follows its options.
QEMU = """#!/bin/bash
shift 4
FOREIGN=yes exec "$@"
"""
APT_GET = """#!/bin/bash
echo "$*" >> "$MACHINE/apt_calls"
[ ! -e "$MACHINE/offline" ] || { echo 'E: Failed to fetch'; exit 100; }
for argument in "$@"; do case $argument in Dir::Cache=*) cache=${argument#*=};; esac; done
case " $* " in *" install "*) touch "$cache/archives/libgtest-dev_1.deb" "$cache/archives/libc6_2.deb";; esac
"""
DPKG_DEB = """#!/bin/bash
echo "$2" >> "$MACHINE/unpacked"
mkdir -p "$3/usr/lib/cmake"
echo 'set(_IMPORT_PREFIX "/usr")' > "$3/usr/lib/cmake/a.cmake"
"""
UNIT = """#!/bin/bash
echo '[  PASSED  ] 7 tests.'
"""
BROKEN_UNIT = """#!/bin/bash
echo 'char is unsigned'
exit 1
"""
# The hash of a run: that of all three seeds and that of the second differ where another processor decides otherwise.
SIM = """#!/bin/bash
case " $* " in *" --policy "*) mode=-policy;; esac
[ "$FOREIGN" = yes ] && [ -e "$MACHINE/decides_otherwise$mode" ] && [ "$1" != 1 -o "$2" = 3 ] && add=x
echo "trace hash $1$mode$add"
"""


class CrossAarch64(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.machine = pathlib.Path(directory.name)
        (self.machine / "scripts").mkdir()
        shutil.copy(SCRIPT, self.machine / "scripts")
        for name, text in (("cmake", CMAKE), ("qemu-aarch64", QEMU), ("apt-get", APT_GET), ("dpkg-deb", DPKG_DEB),
                           ("aarch64-linux-gnu-g++", "#!/bin/bash\n")):
            self.program("bin/" + name, text)
        for name, text in (("unit_one", UNIT), ("unit_two", UNIT), ("sim", SIM)):
            self.program("build/pure-aarch64/" + name, text)
        self.program("build/dev/sim", SIM)
        (self.machine / "build/pure-aarch64/tests").mkdir()

    def program(self, path, text):
        (self.machine / path).parent.mkdir(parents=True, exist_ok=True)
        (self.machine / path).write_text(text, encoding="utf-8")
        (self.machine / path).chmod(0o755)

    def run_script(self, *arguments, path=None):
        environment = {"PATH": path or f"{self.machine}/bin:/usr/bin:/bin", "MACHINE": str(self.machine),
                       "XDG_CACHE_HOME": str(self.machine / "cache")}
        return subprocess.run(["/bin/bash", self.machine / "scripts/cross_aarch64", *arguments], env=environment,
                              capture_output=True, text=True, check=False)

    def lines(self, name):
        return (self.machine / name).read_text(encoding="utf-8").splitlines()

    def test_counts_the_tests_and_compares_the_traces(self):
        done = self.run_script("3")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("14 passed in 2 programs", done.stdout)
        self.assertIn("trace hash of 3 seeds: 1 on both processors", done.stdout)
        self.assertIn("trace hash of 3 seeds with --policy: 1-policy on both processors", done.stdout)
        self.assertIn("--build --preset pure-aarch64 --target sim unit_one unit_two -- --quiet -k 0", self.lines("cmake_calls"))

    def test_libraries_are_unpacked_once_without_those_of_the_compiler(self):
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual(self.run_script().returncode, 0)
        self.assertEqual([pathlib.Path(path).name for path in self.lines("unpacked")], ["libgtest-dev_1.deb"])
        self.assertEqual(len(self.lines("apt_calls")), 2)
        (root,) = [path for path in (self.machine / "cache/penstock/aarch64").iterdir() if path.is_dir()]
        self.assertEqual((root / "usr/lib/cmake/a.cmake").read_text(), f'set(_IMPORT_PREFIX "{root}/usr")\n')

    def test_a_mirror_that_has_nothing_is_told_and_leaves_nothing(self):
        (self.machine / "offline").touch()
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("E: Failed to fetch", done.stderr)
        self.assertIn("arm64 libraries cannot be had", done.stderr)
        self.assertEqual([path.name for path in (self.machine / "cache/penstock/aarch64").iterdir()], ["unpack.log"])

    def test_a_program_that_fails_is_shown_and_named(self):
        self.program("build/pure-aarch64/unit_two", BROKEN_UNIT)
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("char is unsigned", done.stdout)
        self.assertIn("failed: unit_two\n", done.stderr)

    def test_programs_that_run_no_test_are_no_success(self):
        for name in ("unit_one", "unit_two"):
            self.program("build/pure-aarch64/" + name, "#!/bin/bash\necho '[  PASSED  ] 0 tests.'\n")
        self.assertEqual(self.run_script().returncode, 1)

    def test_the_first_seed_that_is_decided_otherwise_is_named(self):
        (self.machine / "decides_otherwise").touch()
        done = self.run_script("3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("the trace hash of 3 seeds differs: 1 (dev), 1x (pure-aarch64)", done.stdout)
        self.assertIn("first at seed 2;", done.stdout)
        self.assertIn("failed: trace hash\n", done.stderr)

    def test_a_policy_that_decides_otherwise_is_told_too(self):
        (self.machine / "decides_otherwise-policy").touch()
        done = self.run_script("3")
        self.assertEqual(done.returncode, 1)
        self.assertIn("compare: build/dev/sim 2 --trace --policy", done.stdout)
        self.assertIn("failed: trace hash with --policy\n", done.stderr)

    def test_what_does_not_build_is_said(self):
        (self.machine / "does_not_build").touch()
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertIn("error: x", done.stdout)

    def test_the_whole_tree_is_built_with_the_libraries_that_setup_installs(self):
        (self.machine / "scripts/setup").write_text("packages=(\n  g++ libcaf-dev cmake\n  nlohmann-json3-dev libfoo-dev\n)\n")
        done = self.run_script("--all")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertTrue(self.lines("apt_calls")[1].endswith(" libcaf-dev nlohmann-json3-dev libfoo-dev"))
        self.assertIn("--build --preset aarch64 -- --quiet -k 0", self.lines("cmake_calls"))
        (self.machine / "does_not_build").touch()
        self.assertEqual(self.run_script("--all").returncode, 1)

    def test_is_skipped_where_there_is_no_compiler_or_no_emulator(self):
        for tool in ("qemu-aarch64", "aarch64-linux-gnu-g++"):
            (self.machine / "bin" / tool).unlink()
            for name in ("bash", "dirname"):
                if not (self.machine / "bin" / name).exists():
                    (self.machine / "bin" / name).symlink_to(f"/usr/bin/{name}")
            done = self.run_script(path=str(self.machine / "bin"))
            self.assertEqual(done.returncode, 0)
            self.assertRegex(done.stdout, "^skipped: .* is not installed")
        self.assertFalse((self.machine / "apt_calls").exists())

    def test_an_argument_that_it_does_not_know_is_refused(self):
        self.assertEqual(self.run_script("--al").returncode, 2)


if __name__ == "__main__":
    unittest.main()
