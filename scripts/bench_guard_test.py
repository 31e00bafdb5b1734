#!/usr/bin/env python3
"""scripts/bench-guard: what passes, what fails, and that one-off costs do not count."""
import contextlib
import importlib.machinery
import importlib.util
import io
import json
import os
import pathlib
import tempfile
import unittest

HERE = pathlib.Path(__file__).resolve().parent
loader = importlib.machinery.SourceFileLoader("bench_guard", str(HERE / "bench-guard"))
guard = importlib.util.module_from_spec(importlib.util.spec_from_loader("bench_guard", loader))
loader.exec_module(guard)

# A machine of its own arithmetic: 1000 instructions at the start, then COST for each operation.
VALGRIND = """#!/bin/bash
exec "${@:4}"
"""
BINARY = """#!/bin/bash
[ $# -eq 0 ] && { echo part/a; echo part/b; exit 0; }
echo "==1== Collected : $((1000 + $2 * $(cat "$0.cost")))" >&2
echo "$2"
"""


class BenchGuard(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.binary = self.write("bench_count", BINARY)
        self.write("valgrind", VALGRIND)
        before = os.environ["PATH"], guard.RECORD, guard.ROOT
        self.addCleanup(lambda: (os.environ.__setitem__("PATH", before[0]), setattr(guard, "RECORD", before[1]),
                                 setattr(guard, "ROOT", before[2])))
        os.environ["PATH"] = f"{self.place}:{before[0]}"
        guard.ROOT, guard.RECORD = self.place, self.place / "counts.json"

    def write(self, name, text):
        path = self.place / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    def run_guard(self, cost, *arguments):
        (self.place / "bench_count.cost").write_text(str(cost))
        out = io.StringIO()
        with contextlib.redirect_stdout(out):
            code = guard.main(["--binary", str(self.binary), *arguments])
        return code, out.getvalue()

    def test_records_the_cost_of_an_operation_without_that_of_the_start(self):
        self.assertEqual(self.run_guard(100, "--record")[0], 0)
        self.assertEqual(json.loads(guard.RECORD.read_text()), {"part/a": 100.0, "part/b": 100.0})

    def test_growth_of_more_than_a_twentieth_fails(self):
        self.run_guard(100, "--record")
        self.assertEqual(self.run_guard(105)[0], 0)
        code, text = self.run_guard(106)
        self.assertEqual(code, 1)
        self.assertIn("GREW by 6.0%", text)

    def test_shrinking_passes_and_asks_for_a_new_record(self):
        self.run_guard(100, "--record")
        code, text = self.run_guard(50)
        self.assertEqual(code, 0)
        self.assertIn("record it", text)

    def test_a_case_without_record_and_a_record_without_case_fail(self):
        guard.RECORD.write_text(json.dumps({"part/a": 100.0, "part/gone": 1.0}))
        code, text = self.run_guard(100)
        self.assertEqual(code, 1)
        self.assertIn("not on record", text)
        self.assertIn("no such case", text)

    def test_only_touches_no_other_record(self):
        self.run_guard(100, "--record")
        self.run_guard(200, "--record", "--only", "part/b")
        self.assertEqual(json.loads(guard.RECORD.read_text()), {"part/a": 100.0, "part/b": 200.0})
        self.assertEqual(self.run_guard(200, "--only", "part/b")[0], 0)


if __name__ == "__main__":
    unittest.main()
