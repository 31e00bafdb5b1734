#!/usr/bin/env python3
"""The fence of parts on small cores: calls are found, and a circle is refused."""
import contextlib
import importlib.machinery
import importlib.util
import io
import os
import pathlib
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
loader = importlib.machinery.SourceFileLoader("fence_parts", os.path.join(HERE, "fence_parts"))
fence_parts = importlib.util.module_from_spec(importlib.util.spec_from_loader("fence_parts", loader))
loader.exec_module(fence_parts)

GATE = "class Gate {\n public:\n  void write();\n};\n"
MAIL = "class Mail {\n public:\n  void tell() { gate_.write(); }\n\n private:\n  Gate& gate_;\n  Table table_{1};\n};\n"
TABLE = "class Table {\n public:\n  static int size_of();\n};\n"
CORE = "class SupervisorCore {\n  Gate gate_;\n  Mail mail_{gate_};\n};\n"


class Parts(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.root = pathlib.Path(scratch.name)
        self.write({"ledger/gate.hpp": GATE, "workers/mail.hpp": MAIL, "jobs/table.hpp": TABLE,
                    "supervisor_core.hpp": CORE, "core.cpp": "void SupervisorCore::handle() { mail_.tell(); }\n",
                    "other.cpp": "void Other::f() { gate_.never(); }\n"})

    def write(self, files, core=None):
        for name, text in files.items():
            path = self.root / (core or "supervisor/core") / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def table(self):
        return fence_parts.table_of(*self.read())

    def read(self, core="supervisor/core"):
        return fence_parts.read_parts(self.root, core), fence_parts.read_rooms(self.root, core)

    def run_main(self, *arguments):
        with contextlib.redirect_stdout(io.StringIO()) as out:
            code = fence_parts.main(list(arguments), self.root)
        return code, out.getvalue()

    def test_finds_calls_of_members_and_of_the_class(self):
        self.write({"workers/mail.cpp": "void Mail::flush() { table_[3]; Table::size_of(); }  // gate_.lost()\n"})
        self.assertEqual(self.table()["Mail"], {"Gate": ["write"], "Table": ["[]", "size_of"]})
        self.assertEqual(self.table()["Gate"], {})

    def test_finds_calls_through_a_room(self):
        self.write({"rooms.hpp": "struct Ledger {\n  Gate gate;  ///< Of the journal.\n};\n",
                    "workers/mail.hpp": MAIL.replace("gate_.write", "ledger_.gate.write").replace("Gate& gate_", "Ledger& ledger_")})
        self.assertEqual(self.table()["Mail"], {"Gate": ["write"]})

    def test_the_table_names_what_the_core_calls(self):
        code, out = self.run_main("--table")
        self.assertEqual(code, 0)
        self.assertIn("Gate: write", out)
        self.assertRegex(out, r"Mail +1  tell\n")
        self.assertNotIn("never", out)

    def test_a_circle_is_refused_and_named(self):
        self.write({"ledger/gate.hpp": GATE.replace("void write();", "void write() { mail_.tell(); }\n\n private:\n  Mail& mail_;")})
        code, out = self.run_main()
        self.assertEqual(code, 1)
        self.assertIn("Gate -> Mail -> Gate", out)

    def test_a_room_with_functions_is_a_part_also_by_a_local_reference(self):
        band = "struct Band {\n  void close();\n\n  Gate gate;\n};\n"
        self.write({"band/gate.hpp": GATE, "band/band.hpp": band, "band/band.cpp": "void Band::close() { gate.write(); }\n",
                    "runs/pump.hpp": "class Pump {\n  void pump(Band& band);\n};\n",
                    "runs/pump.cpp": "void Pump::pump(Band& band) { band.gate.write(); }\n"}, "worker/core")
        table = fence_parts.table_of(*self.read("worker/core"))
        self.assertEqual(table["Band"], {"Gate": ["write"]})
        self.assertEqual(table["Pump"], {"Gate": ["write"]})

    def test_the_other_core_is_checked_as_well(self):
        circle = {"runs/a.hpp": "class A {\n  void f() { b_.g(); }\n  B& b_;\n};\n",
                  "runs/b.hpp": "class B {\n  void g() { a_.f(); }\n  A& a_;\n};\n"}
        self.write(circle, "worker/core")
        code, out = self.run_main()
        self.assertEqual(code, 1)
        self.assertIn("worker/core: a circle of calls: A -> B -> A", out)


if __name__ == "__main__":
    unittest.main()
