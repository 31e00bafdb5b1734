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

    def write(self, files):
        for name, text in files.items():
            path = self.root / fence_parts.CORE / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    def table(self):
        return fence_parts.table_of(fence_parts.read_parts(self.root), fence_parts.read_rooms(self.root))

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


if __name__ == "__main__":
    unittest.main()
