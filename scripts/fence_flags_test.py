#!/usr/bin/env python3
"""The flags fence on compile commands that break it."""
import importlib.machinery
import importlib.util
import os
import unittest

loader = importlib.machinery.SourceFileLoader("fence_flags", os.path.join(os.path.dirname(os.path.abspath(__file__)),
                                                                          "fence_flags"))
fence_flags = importlib.util.module_from_spec(importlib.util.spec_from_loader("fence_flags", loader))
loader.exec_module(fence_flags)


class Flags(unittest.TestCase):
    def found(self, path, flags, target="penstock_link"):
        command = {"file": f"/root/{path}", "command": f"g++ {flags} -o CMakeFiles/{target}.dir/a.o -c {path}"}
        return list(fence_flags.findings([command], {"libpenstock_link.a"}, "/root"))

    def test_a_pure_source_needs_both_flags(self):
        self.assertEqual(self.found("common/link/a.cpp", "-fno-exceptions -fno-rtti"), [])
        self.assertEqual(len(self.found("common/link/a.cpp", "-fno-exceptions")), 1)
        self.assertEqual(len(self.found("common/link/a.cpp", "-fno-rtti")), 1)

    def test_others_do_not(self):
        self.assertEqual(self.found("common/net/a.cpp", "", "penstock_net"), [])

    def test_a_pure_source_stands_in_a_pure_archive(self):
        self.assertEqual(len(self.found("common/link/a.cpp", "-fno-exceptions -fno-rtti", "penstock_other")), 1)


if __name__ == "__main__":
    unittest.main()
