"""Finds `bench` of a build: in `penstock-lab`, or in the `penstock` of older builds without one."""
import pathlib


def lab_of(penstock):
    """The program with `bench` of the build with the given `penstock`; a pathlib path."""
    lab = pathlib.Path(penstock).with_name("penstock-lab")
    return lab if lab.exists() else pathlib.Path(penstock)
