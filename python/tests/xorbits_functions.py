"""Functions that tests of `penstock.xorbits` run on the cluster: importable there, as a user's module is."""
import pathlib
import time


class OddError(Exception):
    """An exception of a user's own, with an attribute."""

    def __init__(self, message, place):
        super().__init__(message)
        self.place = place


def refuse(frame):
    raise OddError("refused", place=len(frame))


def wait_for_ever(frame, path):
    """Until it is interrupted; says in a file that it runs."""
    pathlib.Path(path).write_text("runs")
    while True:
        time.sleep(0.01)


def total_of_ones(count):
    """Executes a graph of its own, in the session of the run."""
    import xorbits._mars.tensor as mt
    return float(mt.ones(count, chunk_size=3).sum().execute().fetch())
