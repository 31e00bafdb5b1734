"""Where a build has `bench`: in `penstock-lab`, or in the `penstock` of builds before there was one."""
import pathlib


def lab_of(penstock):
    """The program with `bench` of the build whose `penstock` is given; a path as pathlib has it."""
    lab = pathlib.Path(penstock).with_name("penstock-lab")
    return lab if lab.exists() else pathlib.Path(penstock)
