"""numpy's memory-mapped files as targets and sources of Dask's arrays."""
# tidy: foreign-file scheduler
import numpy
import pytest

dask = pytest.importorskip("dask")
da = pytest.importorskip("dask.array")

from penstock import _memmaps, errors  # noqa: E402
from penstock.distributed import Client as DistributedClient  # noqa: E402

SHAPE = 60, 50
WANTED = numpy.arange(3000.0).reshape(SHAPE)


def mapped(path, mode="w+", **options):
    return numpy.memmap(path, mode=mode, dtype="f8", shape=SHAPE, **options)


def array():
    return da.from_array(WANTED, chunks=(7, 50))


def test_what_is_stored_into_a_memory_mapped_file_is_in_it(client, tmp_path):
    target = mapped(tmp_path / "target", offset=4096 * 3 + 24)
    da.store(array(), target, lock=False, scheduler=client.get)
    assert (target == WANTED).all()
    assert (mapped(tmp_path / "target", "r", offset=4096 * 3 + 24) == WANTED).all()
    da.store(array() + 1, target, scheduler=client.get)  # By Dask's lock.
    assert (target == WANTED + 1).all()


def test_stored_arrays_are_read_again(client, tmp_path):
    target = mapped(tmp_path / "target")
    stored = da.store([array()], [target], lock=False, return_stored=True, scheduler=client.get)
    stored = stored if isinstance(stored, da.Array) else stored[0]  # Of old it was a tuple.
    assert float((stored + 0).sum().compute(scheduler=client.get)) == WANTED.sum() == target.sum()


@pytest.mark.parametrize("part", [numpy.s_[::], numpy.s_[::-1], numpy.s_[::-1, ::-1]])
def test_what_is_stored_into_a_view_is_there(client, tmp_path, part):
    whole = numpy.memmap(tmp_path / "target", mode="w+", dtype="f8", shape=(100, 60))
    view = whole[20:80, 5:55][part]
    da.store(array(), view, lock=False, scheduler=client.get)
    assert (view == WANTED).all() and whole.sum() == WANTED.sum()


def test_a_program_of_distributed_stores_into_one(tmp_path):
    target = mapped(tmp_path / "target")
    with DistributedClient(n_workers=2, threads_per_worker=1):
        da.store(array(), target, lock=False)
        dask.compute(da.store(array(), target, lock=False, compute=False))
    assert (target == WANTED).all()


def test_one_that_is_read_is_the_file_as_it_is_then(client, tmp_path):
    source = mapped(tmp_path / "source")
    graph = {"total": (numpy.sum, "source"), "source": source}
    source[:] = WANTED
    assert client.get(graph, "total") == WANTED.sum()
    assert da.from_array(source, chunks=(30, 50)).sum().compute(scheduler=client.get) == WANTED.sum()
    source += 1
    assert client.get(graph, "total") == WANTED.sum() + WANTED.size


@pytest.mark.parametrize("kind", ["opened for reading", "without a name"])
def test_who_writes_to_one_that_cannot_be_written_to_is_told_so(client, tmp_path, kind):
    path = tmp_path / "target"
    target = mapped(path)
    if kind == "opened for reading":
        target = mapped(path, "r")
    else:
        path.unlink()
    with pytest.raises(ValueError, match="read-only"):
        da.store(array(), target, lock=False, scheduler=client.get)
    if kind == "opened for reading":  # Dask asks for the file of each one that is read.
        assert da.from_array(target, chunks=(30, 50)).sum().compute(scheduler=client.get) == 0


def test_one_of_another_host_is_refused_by_name(client, tmp_path, monkeypatch):
    target = mapped(tmp_path / "target")
    monkeypatch.setattr(_memmaps, "_host", lambda: "that of the client")
    with pytest.raises(errors.PenstockError, match="numpy.memmap of .*target: is a file on the client's host.*zarr"):
        da.store(array(), target, lock=False, scheduler=client.get)
    assert not target.any()


def test_an_argument_of_a_call_is_what_it_was_when_it_was_given(client, tmp_path):
    given = mapped(tmp_path / "given")
    given[:] = WANTED
    with client._lock:
        future = client.submit(numpy.sum, given)
        given[:] = 0
    assert future.result(60) == WANTED.sum()
