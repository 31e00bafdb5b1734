#!/usr/bin/env python3
"""Tests of bench/lab.py and of its use by bench/run_all."""
import importlib.machinery
import importlib.util
import pathlib
import sys
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
sys.dont_write_bytecode = True
sys.path.insert(0, str(HERE))
import lab  # noqa: E402

loader = importlib.machinery.SourceFileLoader("run_all", str(HERE / "run_all"))
run_all = importlib.util.module_from_spec(importlib.util.spec_from_loader("run_all", loader))
loader.exec_module(run_all)


class LabTest(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        self.build = pathlib.Path(place.name)
        (self.build / "penstock").touch()

    def test_a_build_of_today_is_asked_by_its_lab(self):
        (self.build / "penstock-lab").touch()
        self.assertEqual(lab.lab_of(self.build / "penstock"), self.build / "penstock-lab")

    def test_an_older_build_is_asked_by_its_only_binary(self):
        self.assertEqual(lab.lab_of(self.build / "penstock"), self.build / "penstock")

    def test_the_other_version_has_the_same_command_with_the_binary_that_it_has(self):
        row = next(row for row in run_all.rows() if row.name == "flat")
        self.assertEqual(row.command[:2], ["build/release/penstock-lab", "bench"])
        self.assertEqual(run_all.of_other(row.command, self.build), [str(self.build / "penstock"), *row.command[1:]])
        (self.build / "penstock-lab").touch()
        self.assertEqual(run_all.of_other(row.command, self.build), [str(self.build / "penstock-lab"), *row.command[1:]])

    def test_the_other_versions_bench_scale_keeps_its_name(self):
        row = next(row for row in run_all.rows() if row.name == "memory-flat")
        self.assertEqual(run_all.of_other(row.command, self.build)[0], str(self.build / "bench_scale"))

    def test_a_command_on_one_processor_has_the_other_binary_behind_taskset(self):
        (self.build / "penstock-lab").touch()
        row = next(row for row in run_all.rows() if row.name == "one-processor")
        self.assertEqual(run_all.of_other(row.command, self.build),
                         ["taskset", "-c", "0", str(self.build / "penstock-lab"), *row.command[4:]])

    def test_every_row_calls_the_lab_or_bench_scale(self):
        for row in run_all.rows():
            binary = row.command[3] if row.command[0] == "taskset" else row.command[0]
            self.assertIn(binary, ("build/release/penstock-lab", "build/release/bench_scale"), row.name)

    def test_two_processors_are_compared_by_each_run(self):
        row = next(row for row in run_all.rows() if row.name == "two-processors")
        self.assertEqual(run_all.figures(row, {"subtasks": 10, "runs_s": [1.0, 2.0]}), [10.0, 5.0])
        values = {"two-processors": [30.0, 24.0, 8.0], "one-processor": [10.0, 10.0]}
        lines = list(run_all.processors_rows(values))
        self.assertIn("median | 1.2x | - | **2.40x** | | must", lines[0])
        self.assertIn("the slowest run | 0.9x | - | **0.80x** | | **missed**", lines[1])
        self.assertEqual(list(run_all.processors_rows({"two-processors": [1.0]})), [])


if __name__ == "__main__":
    unittest.main()
