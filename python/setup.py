"""Puts libpenstock.so into the package: PENSTOCK_LIBRARY, else that of this tree; the rest stands in pyproject.toml."""
import os
import pathlib
import shutil

from setuptools import setup
from setuptools.command.build_py import build_py
from setuptools.dist import Distribution

HERE = pathlib.Path(__file__).resolve().parent
NAMED = os.environ.get("PENSTOCK_LIBRARY")
PLACES = [pathlib.Path(NAMED)] if NAMED else [HERE.parent / "build" / preset / "libpenstock.so" for preset in ("release", "dev")]


class BuildWithLibrary(build_py):
    def run(self):
        built = [library for library in PLACES if library.exists()]
        if not built:
            raise SystemExit("penstock: the package needs libpenstock.so, and there is none at "
                             f"{', '.join(map(str, PLACES))}: build it (cmake --preset release && cmake --build --preset "
                             "release --target penstock_shared), or set PENSTOCK_LIBRARY")
        super().run()
        shutil.copyfile(built[0], pathlib.Path(self.build_lib) / "penstock" / "libpenstock.so")


class WithLibrary(Distribution):
    """Its wheel is of this kind of machine, whatever the version of Python."""

    def has_ext_modules(self):
        return True


setup(cmdclass={"build_py": BuildWithLibrary}, distclass=WithLibrary)
