"""numpy's memory-mapped files in graphs of Dask: what a subtask writes to one is to be in the file, not in a copy of it. One
that is open for writing travels as the name of its file, which runners on the client's host open; of others their content
travels, and what writes to it is told so."""
import mmap
import os

import numpy

from penstock import _locks
from penstock.errors import PenstockError

WRITABLE = ("r+", "w+")
REMEDY = ("give numpy.asarray(it) where it is only read; write to a target that each host can open (zarr, a file for each part), or "
          "name workers= on the client's host")


def reduce(array):
    """For `register_reducer`; `NotImplemented` beyond graphs: an argument of `submit` is what it was when it was given."""
    if not _locks.is_leaving() or array._mmap is None or array.dtype.hasobject or array.mode == "c":
        return NotImplemented
    path = None if array.filename is None else os.path.abspath(array.filename)
    seen = _file_of(path)
    if array.mode not in WRITABLE or seen is None:
        return _read_only, (array.view(numpy.ndarray),)
    begin = array.offset - array.offset % mmap.ALLOCATIONGRANULARITY  # Of what is mapped, in the file.
    mapped = numpy.frombuffer(array._mmap, numpy.uint8)
    offset = begin + _address(array) - _address(mapped)
    return _opened, (path, (_host(), *seen), array.dtype, array.shape, offset, array.strides)


def _address(array):
    return array.__array_interface__["data"][0]


def _host():
    with open("/proc/sys/kernel/random/boot_id") as boot:
        return boot.read().strip()


def _file_of(path):
    """What is the same for all names of a file; None: there is none of this name."""
    try:
        seen = os.stat(path)
        return seen.st_dev, seen.st_ino
    except (OSError, TypeError):
        return None


def _read_only(array):
    array.flags.writeable = False
    return array


def _opened(path, known, dtype, shape, offset, strides):
    """The same part of the file, where a subtask reads it or writes to it."""
    if (_host(), *(_file_of(path) or ())) != known:
        raise PenstockError("is a file on the client's host that is open for writing, and is not seen here",
                            subject=f"the numpy.memmap of {path}", remedy=REMEDY)
    with open(path, "r+b") as file:
        mapped = mmap.mmap(file.fileno(), 0)
    return numpy.ndarray(shape, dtype, mapped, offset, strides)
