#!/usr/bin/env python3
"""Every defect that scripts/plant_defects knows can still be planted, and who is to find it is there."""
import fnmatch
import importlib.machinery
import importlib.util
import pathlib
import re
import sys
import unittest

sys.dont_write_bytecode = True
PATH = pathlib.Path(__file__).resolve().parent / "plant_defects"
LOADER = importlib.machinery.SourceFileLoader("plant_defects", str(PATH))
plant_defects = importlib.util.module_from_spec(importlib.util.spec_from_loader("plant_defects", LOADER))
LOADER.exec_module(plant_defects)
DEFECTS = plant_defects.DEFECTS
ROOT = plant_defects.ROOT


def names_of_tests():
    """All tests of the pure folders, as GoogleTest names them."""
    names = set()
    for kind in ("unit", "property", "simulation"):
        for path in (ROOT / "tests" / kind).rglob("*_test.cpp"):
            source = path.read_text(encoding="utf-8")
            pairs = re.findall(r"^(?:TEST|TEST_F|RC_GTEST_PROP)\((\w+),\s*(\w+)", source, re.M)
            names.update(".".join(pair) for pair in pairs)
    return names


class PlantDefects(unittest.TestCase):
    def test_each_text_stands_in_the_tree_once(self):
        for name, defect in DEFECTS.items():
            for path, text, instead in defect.edits:
                with self.subTest(name=name, path=path):
                    source = (ROOT / path).read_text(encoding="utf-8")
                    self.assertEqual(source.count(text), 1, "plant the defect anew in scripts/planted_defects.py")
                    self.assertNotEqual(text, instead)

    def test_the_edits_of_a_defect_do_not_undo_each_other(self):
        for name, defect in DEFECTS.items():
            for path in {path for path, _, _ in defect.edits}:
                with self.subTest(name=name, path=path):
                    source = (ROOT / path).read_text(encoding="utf-8")
                    for _, text, instead in (edit for edit in defect.edits if edit[0] == path):
                        self.assertEqual(source.count(text), 1)
                        source = source.replace(text, instead)

    def test_who_is_to_find_it_is_there(self):
        programs = (ROOT / "tests" / "CMakeLists.txt").read_text(encoding="utf-8")
        tests = names_of_tests()
        for name, defect in DEFECTS.items():
            if defect.found_by in (plant_defects.SEEDS, plant_defects.POLICY):
                continue
            with self.subTest(name=name):
                program, _, pattern = defect.found_by.partition(":")
                self.assertIn(f"penstock_tests({program}\n", programs)
                self.assertTrue(fnmatch.filter(tests, pattern), f"no test is called {pattern}")

    def test_the_copy_has_every_folder_and_can_build_every_test(self):
        root = (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")
        folders = re.findall(r"add_subdirectory\((\w+)", root)
        self.assertIn("tests", folders)
        self.assertLessEqual(set(folders), set(plant_defects.PARTS))
        # A build of the pure folders alone lacks programs that find defects.
        self.assertNotIn("PENSTOCK_PURE_ONLY=ON", PATH.read_text(encoding="utf-8"))

    def test_a_command_that_hangs_has_failed(self):
        before, plant_defects.HANGS_AFTER_S = plant_defects.HANGS_AFTER_S, 0.1
        try:
            self.assertNotEqual(plant_defects.run("sleep", "10")[0], 0)
        finally:
            plant_defects.HANGS_AFTER_S = before

    def test_what_was_found_is_told_in_one_line(self):
        told = plant_defects.first_words("some words\nseed 7 FAILED: j1:2 is told twice\n  again: sim 7\n")
        self.assertEqual(told, "seed 7 FAILED: j1:2 is told twice")


if __name__ == "__main__":
    unittest.main()
