#!/usr/bin/env python3
"""The measures of a release, on small programs that have them and lack them."""
import importlib.machinery
import importlib.util
import os
import shutil
import subprocess
import tempfile
import unittest

loader = importlib.machinery.SourceFileLoader("checksec", os.path.join(os.path.dirname(os.path.abspath(__file__)), "checksec"))
checksec = importlib.util.module_from_spec(importlib.util.spec_from_loader("checksec", loader))
loader.exec_module(checksec)

# A buffer on the stack and a copy of unknown length: what canaries and checked functions are for.
SOURCE = """
#include <stdio.h>
#include <string.h>
int main(int count, char** values) {
  char buffer[32];
  strcpy(buffer, values[count - 1]);
  return puts(buffer);
}
"""
ALL = ["-O2", "-U_FORTIFY_SOURCE", "-D_FORTIFY_SOURCE=2", "-fstack-protector-strong", "-fPIE", "-pie", "-Wl,-z,relro", "-Wl,-z,now",
       "-Wl,-z,noexecstack"]


@unittest.skipUnless(shutil.which("gcc") and shutil.which("readelf"), "needs a compiler")
class Measures(unittest.TestCase):
    def found(self, *more):
        with tempfile.TemporaryDirectory() as place:
            source, program = os.path.join(place, "a.c"), os.path.join(place, "a")
            with open(source, "w", encoding="ascii") as file:
                file.write(SOURCE)
            subprocess.run(["gcc", "-w", *ALL, *more, source, "-o", program], check=True, capture_output=True)
            return " ".join(checksec.findings(checksec.readelf(program)))

    def test_a_program_with_all_of_them_lacks_nothing(self):
        self.assertEqual(self.found(), "")

    def test_each_one_that_is_left_out_is_named(self):
        for flags, named in ((["-fno-PIE", "-no-pie"], "-pie"), (["-Wl,-z,norelro"], "no RELRO"), (["-Wl,-z,lazy"], "partial RELRO"),
                             (["-Wl,-z,execstack"], "noexecstack"), (["-fno-stack-protector"], "canaries"),
                             (["-U_FORTIFY_SOURCE"], "FORTIFY")):
            with self.subTest(flags=flags):
                self.assertIn(named, self.found(*flags))

    def test_what_is_no_program_is_an_error(self):
        self.assertEqual(checksec.main([__file__]), 2)
        self.assertEqual(checksec.main([]), 2)


if __name__ == "__main__":
    unittest.main()
