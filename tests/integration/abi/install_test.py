#!/usr/bin/env python3
"""What is installed is all that an engine needs: a program is built against it by pkg-config and by CMake."""
import os
import pathlib
import subprocess
import sys
import tempfile
import unittest

BUILD = pathlib.Path(sys.argv.pop(1))

PROGRAM = """
#include <penstock/client.hpp>
#include <penstock/operator.h>

using namespace penstock::engine;

int main() {
  Expected<Client> client = Client::open({.address = {}, .slots = 1});
  GraphBuilder graph;
  const Handle<double> three = graph.value(3.0);
  Expected<Job> job = client->submit(std::move(graph));
  return job && job->result(three).value() == 3.0 ? 0 : 1;
}
"""
PROJECT = """
cmake_minimum_required(VERSION 3.25)
project(engine LANGUAGES CXX)
find_package(penstock 0.1 REQUIRED)
add_executable(engine engine.cpp)
target_link_libraries(engine PRIVATE penstock::penstock)
"""
C_PROGRAM = """
#include <penstock/penstock.h>
int main(void) { return penstock_abi() == PENSTOCK_ABI ? 0 : 1; }
"""


def run(*command, **options):
    return subprocess.run([str(word) for word in command], check=True, text=True, stdout=subprocess.PIPE, **options).stdout


class Installed(unittest.TestCase):
    def setUp(self):
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.prefix = self.place / "prefix"
        (self.place / "engine.cpp").write_text(PROGRAM)
        (self.place / "CMakeLists.txt").write_text(PROJECT)
        run("cmake", "--install", BUILD, "--component", "client", "--prefix", self.prefix)

    def test_pkg_config_finds_it(self):
        found = list(self.prefix.rglob("penstock.pc"))
        self.assertEqual(len(found), 1)
        environment = {**os.environ, "PKG_CONFIG_PATH": str(found[0].parent)}
        flags = run("pkg-config", "--cflags", "--libs", "penstock", env=environment).split()
        run("c++", "-std=c++20", "engine.cpp", "-o", "engine", *flags, cwd=self.place)
        run("./engine", cwd=self.place, env={**os.environ, "LD_LIBRARY_PATH": str(found[0].parent.parent)})

    def test_an_older_standard_is_refused_in_one_sentence(self):
        flags = [f"-I{self.prefix}/include", "-std=c++17", "-fsyntax-only"]
        done = subprocess.run(["c++", *flags, "engine.cpp"], cwd=self.place, text=True, capture_output=True)
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("client.hpp needs C++20", done.stderr)

    def test_cmake_finds_it_for_a_project_of_c_alone(self):
        (self.place / "engine.c").write_text(C_PROGRAM)
        project = PROJECT.replace("LANGUAGES CXX", "LANGUAGES C").replace("engine.cpp", "engine.c")
        (self.place / "CMakeLists.txt").write_text(project)
        run("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", cwd=self.place)
        run("cmake", "--build", "build", cwd=self.place)
        run("build/engine", cwd=self.place)

    # The compiler's default may be an older standard: the package says which one its header needs.
    def test_cmake_finds_it(self):
        run("cmake", "-S", ".", "-B", "build", f"-DCMAKE_PREFIX_PATH={self.prefix}", cwd=self.place)
        run("cmake", "--build", "build", cwd=self.place)
        run("build/engine", cwd=self.place)


if __name__ == "__main__":
    unittest.main()
