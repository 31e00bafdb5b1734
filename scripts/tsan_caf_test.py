#!/usr/bin/env python3
"""scripts/tsan_caf where the mirror has no archive, or another one: it says so, and builds nothing."""
import os
import pathlib
import subprocess
import tempfile
import unittest

SCRIPT = pathlib.Path(__file__).resolve().parent / "tsan_caf"
ARCHIVE = "pool/main/a/actor-framework/actor-framework_0.17.6.orig.tar.gz"


@unittest.skipUnless(os.path.exists("/usr/include/caf/config.hpp"), "CAF is not installed")
class TsanCaf(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.mirror = pathlib.Path(directory.name) / "mirror"
        self.folder = pathlib.Path(directory.name) / "tsan_caf"

    def run_script(self):
        environment = {**os.environ, "PENSTOCK_DEBIAN_MIRROR": self.mirror.as_uri(), "PENSTOCK_TSAN_CAF": str(self.folder)}
        return subprocess.run([SCRIPT], env=environment, capture_output=True, text=True, check=False)

    def refused(self, why):
        done = self.run_script()
        self.assertEqual(done.returncode, 1)
        self.assertEqual(done.stdout, "")
        self.assertIn(f"{self.mirror.as_uri()}/{ARCHIVE} {why}", done.stderr)
        self.assertFalse((self.folder / "build").exists())

    def test_a_mirror_that_does_not_have_it_is_named(self):
        self.refused("cannot be read: ")

    def test_another_archive_is_not_built(self):
        (self.mirror / ARCHIVE).parent.mkdir(parents=True)
        (self.mirror / ARCHIVE).write_bytes(b"another archive")
        self.refused("is not the archive that is expected")

    def test_what_is_left_of_a_download_that_was_cut_is_read_again(self):
        self.folder.mkdir()
        (self.folder / pathlib.Path(ARCHIVE).name).write_bytes(b"a part of it")
        self.refused("cannot be read: ")


if __name__ == "__main__":
    unittest.main()
