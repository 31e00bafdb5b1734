"""Puts libpenstock.so of this tree into the package, if it is built; the rest stands in pyproject.toml."""
import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = pathlib.Path(__file__).resolve().parent
BUILT = [HERE.parent / "build" / preset / "libpenstock.so" for preset in ("release", "dev")]


class BuildWithLibrary(build_py):
    def run(self):
        super().run()
        for library in BUILT:
            if library.exists():
                shutil.copyfile(library, pathlib.Path(self.build_lib) / "penstock" / "libpenstock.so")
                return


class WithLibrary(Distribution):
    """Its wheel is of this kind of machine, whatever the version of Python."""

    def has_ext_modules(self):
        return any(library.exists() for library in BUILT)


setup(cmdclass={"build_py": BuildWithLibrary}, distclass=WithLibrary)
