#!/usr/bin/env python3
"""Every defect that scripts/plant_defects knows can still be planted: its text stands in the tree exactly once."""
import importlib.machinery
import importlib.util
import pathlib
import unittest

PATH = pathlib.Path(__file__).resolve().parent / "plant_defects"
LOADER = importlib.machinery.SourceFileLoader("plant_defects", str(PATH))
plant_defects = importlib.util.module_from_spec(importlib.util.spec_from_loader("plant_defects", LOADER))
LOADER.exec_module(plant_defects)


class PlantDefects(unittest.TestCase):
    def test_each_text_stands_in_the_tree_once(self):
        for name, (_, edits) in plant_defects.DEFECTS.items():
            for path, text, instead in edits:
                with self.subTest(name=name, path=path):
                    source = (plant_defects.ROOT / path).read_text(encoding="utf-8")
                    self.assertEqual(source.count(text), 1, "plant the defect anew in scripts/plant_defects")
                    self.assertNotEqual(text, instead)


if __name__ == "__main__":
    unittest.main()
