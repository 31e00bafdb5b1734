#!/usr/bin/env python3
"""Plants violations into a pure archive and sees scripts/fence_nm find each."""
import importlib.machinery
import importlib.util
import os
import subprocess
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
FENCE = os.path.join(HERE, "fence_nm")
loader = importlib.machinery.SourceFileLoader("fence_nm", FENCE)
fence_nm = importlib.util.module_from_spec(importlib.util.spec_from_loader("fence_nm", loader))
loader.exec_module(fence_nm)

PLANTED = """
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <string>
namespace penstock {
void check_failed(int);
std::string outside();
long clock() { return std::chrono::steady_clock::now().time_since_epoch().count(); }
void file() { std::fopen("x", "r"); }
const char* environment() { return std::getenv("X"); }
std::string elsewhere() { return outside(); }
void allowed() { check_failed(1); }
}
"""


class PlantedViolations(unittest.TestCase):
    def test_finds_what_was_planted_and_nothing_else(self):
        with tempfile.TemporaryDirectory() as root:
            source, archive, listing = (os.path.join(root, name) for name in ("a.cpp", "liba.a", "pure_archives.txt"))
            for path, text in ((source, PLANTED), (listing, archive + "\n")):
                with open(path, "w", encoding="utf-8") as file:
                    file.write(text)
            subprocess.run(["g++", "-std=c++20", "-fno-exceptions", "-c", source, "-o", source + ".o"], check=True)
            subprocess.run(["ar", "rcs", archive, source + ".o"], check=True)
            result = subprocess.run([FENCE, listing], capture_output=True, text=True)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertEqual(len(result.stdout.splitlines()), 4, result.stdout)
        for expected in ("steady_clock::now()` reaches a clock", "`fopen` reaches a file",
                         "`getenv` reaches the environment", "penstock::outside[abi:cxx11]()` is defined in no pure"):
            self.assertIn(expected, result.stdout)

    def test_refuses_a_list_without_archives(self):
        with tempfile.TemporaryDirectory() as root:
            listing = os.path.join(root, "pure_archives.txt")
            self.assertEqual(subprocess.run([FENCE, listing], capture_output=True).returncode, 2)
            for text in ("", os.path.join(root, "gone.a") + "\n"):
                with open(listing, "w", encoding="utf-8") as file:
                    file.write(text)
                self.assertEqual(subprocess.run([FENCE, listing], capture_output=True).returncode, 2)


class Symbols(unittest.TestCase):
    def complaint(self, readable, name=None):
        return fence_nm.complaint(fence_nm.Symbol(name or readable, readable, "a.o"), set())

    def test_knows_every_kind_of_world(self):
        for name, kind in (("clock_gettime", "clock"), ("pthread_mutex_lock", "thread"), ("sem_wait", "thread"),
                           ("recvmsg", "socket"), ("epoll_wait", "socket"), ("openat", "file"), ("stdout", "file"),
                           ("__fprintf_chk", "file"), ("secure_getenv", "environment"), ("fork", "environment")):
            self.assertIn(kind, self.complaint(name) or "", name)
        for name, kind in (("std::thread::join()", "thread"), ("std::cerr", "file"),
                           ("std::random_device::_M_getval()", "environment"),
                           ("std::filesystem::exists(std::filesystem::path const&)", "file"),
                           ("caf::actor_system::spawn()", "library"), ("capnp::MessageReader::~MessageReader()", "library"),
                           ("vtable for penstock::Clock", "no pure archive")):
            self.assertIn(kind, self.complaint(name, "_Z1f") or "", name)

    def test_lets_computing_pass(self):
        for name in ("memcpy", "strlen", "log2", "lround", "qsort", "abort", "__stack_chk_fail", "__asan_report_load8",
                     "__udivti3", "__cxa_guard_acquire"):
            self.assertIsNone(self.complaint(name), name)
        for name in ("operator new(unsigned long)", "std::__throw_length_error(char const*)",
                     "std::_Rb_tree_increment(std::_Rb_tree_node_base*)", "void std::sort<std::thread*>(std::thread*)",
                     "penstock::check_failed(char const*, char const*, int, std::basic_string_view<char>)",
                     "penstock::coverage_mark_hit(std::basic_string_view<char>)"):
            self.assertIsNone(self.complaint(name, "_Z1f"), name)

    def test_a_strange_c_function_is_refused_by_default(self):
        self.assertIn("HARMLESS", self.complaint("strfry"))
        self.assertIn("HARMLESS", self.complaint("__errno_location"))

    def test_a_shared_pointer_may_ask_whether_it_has_to_count_atomically(self):
        self.assertIsNone(self.complaint("__libc_single_threaded"))


if __name__ == "__main__":
    unittest.main()
