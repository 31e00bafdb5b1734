"""Files, variables, programs and directories of calls."""
# tidy: foreign-file scheduler
import os
import pathlib
import sys
import zipfile

import functions
import pytest
from test_cluster import cluster  # noqa: F401

import penstock.dask
from penstock import Client, _files


@pytest.fixture(autouse=True)
def root(tmp_path, monkeypatch):
    """Where runners of the test unpack files."""
    place = tmp_path / "unpacked"
    place.mkdir()
    monkeypatch.setattr(_files.tempfile, "tempdir", str(place))
    return place / f"penstock-files-{os.getuid()}"


@pytest.fixture
def own(root):
    """A client whose runners unpack there."""
    with Client(slots=2, warm=False, environment={"TMPDIR": str(root.parent)}) as client:
        yield client


def module(folder, word):
    folder.mkdir(exist_ok=True)
    path = folder / "module_of_files.py"
    path.write_text(f"class Thing:\n    word = {word!r}\ndef say(*_):\n    return {word!r}\n")
    return path


def use_module(thing=None):
    import module_of_files
    return module_of_files.say() + (thing.word if thing is not None else "")


def test_a_module_is_imported_there_and_each_set_of_files_has_its_own(own, tmp_path):
    one, two = module(tmp_path / "one", "first"), module(tmp_path / "two", "second")
    futures = [own.submit(use_module, files=[path]) for path in (one, two, one)]
    assert own.gather(futures) == ["first", "second", "first"]
    module(tmp_path / "one", "changed")
    assert own.submit(use_module, files=[one]).result(30) == "changed"


def test_a_function_and_arguments_of_such_a_module(own, tmp_path, monkeypatch):
    path = module(tmp_path / "one", "word")
    monkeypatch.syspath_prepend(str(path.parent))
    import module_of_files
    with Client(slots=1, warm=False, environment={"TMPDIR": str(tmp_path / "unpacked"),
                                                  "PYTHONPATH": os.pathsep.join(functions_path())}) as elsewhere:
        assert elsewhere.submit(module_of_files.say, files=[path]).result(30) == "word"
        assert elsewhere.map(use_module, [module_of_files.Thing()], files=[path])[0].result(30) == "wordword"
    del sys.modules["module_of_files"]


def functions_path():
    here = pathlib.Path(__file__).resolve().parent
    return [str(here), str(here.parent)]


def read(name):
    return open(name).read(), os.path.realpath(os.getcwd())


def test_data_stand_in_the_working_directory(own, root, tmp_path):
    (tmp_path / "numbers.txt").write_text("1 2 3")
    text, place = own.submit(read, "numbers.txt", files=[tmp_path / "numbers.txt"]).result(30)
    assert text == "1 2 3" and pathlib.Path(place).parent == root
    text, place = own.submit(read, str(tmp_path / "numbers.txt"), files=[tmp_path / "numbers.txt"],
                             working_directory=tmp_path).result(30)
    assert place == str(tmp_path)


def test_archives_and_directories_are_unpacked(own, tmp_path):
    package = tmp_path / "package_of_files"
    module(package, "inner").rename(package / "__init__.py")
    with zipfile.ZipFile(tmp_path / "more.zip", "w") as archive:
        archive.writestr("module_of_files.py", "def say():\n    return 'zipped'\n")
        archive.writestr("data/some.txt", "some")

    def look():
        import package_of_files
        return package_of_files.say() + use_module() + open("data/some.txt").read()
    assert own.submit(look, files=[package, tmp_path / "more.zip"]).result(30) == "innerzippedsome"


def test_they_are_sent_once_with_a_batch_and_unpacked_once_on_a_host(own, root, tmp_path):
    path = module(tmp_path / "one", "first")
    with own._lock:
        futures = own.map(use_module, [None] * 20, files=[path])
        own._flush()
        assert len(futures[0]._batch.futures) == 21
    assert own.gather(futures) == ["first"] * 20
    assert [place.is_dir() for place in root.iterdir()] == [True]


def test_a_graph_of_ones_own_and_one_of_dask_have_them(own, tmp_path):
    path = module(tmp_path / "one", "first")
    graph = own.graph(files=[path])
    parts = [graph.add(use_module) for _ in range(3)]
    assert graph.submit(want=parts).results(30) == ["first"] * 3
    assert own.get({"a": (use_module,), "b": (functions.add, "a", "!"), "c": (functions.add, "b", "a")}, ["b", "c"],
                   files=[path]) == ("first!", "first!first")


def test_over_the_network(cluster, tmp_path):  # noqa: F811
    path = module(tmp_path / "one", "first")
    with Client(cluster.address, environment={"TMPDIR": str(tmp_path / "unpacked")}) as client:
        assert client.gather(client.map(use_module, [None] * 10, files=[path])) == ["first"] * 10


def test_more_than_a_subtask_may_have_travels_in_pieces(cluster, tmp_path):  # noqa: F811
    data = tmp_path / "data.bin"
    data.write_bytes(os.urandom(6 << 20))
    with Client(cluster.address, environment={"TMPDIR": str(tmp_path / "unpacked")}) as client:
        assert client.submit(functions.size_of, "data.bin", files=[data]).result(60) == 6 << 20
        graph = {"a": (functions.size_of, "data.bin"), "b": (functions.add, "a", client.scatter(1)), "c": (len, bytes(2 << 20))}
        assert client.get(graph, ["b", "c"], files=[data]) == ((6 << 20) + 1, 2 << 20)


def test_variables_program_and_directory_are_of_each_call(own, tmp_path):
    def look():
        return os.environ.get("OF_A_CALL"), os.environ["TMPDIR"] != "", os.getcwd()
    assert own.submit(look, environment={"OF_A_CALL": "1"}, working_directory=tmp_path).result(30) == ("1", True, str(tmp_path))
    assert own.submit(look).result(30)[0] is None
    python = tmp_path / "python"
    python.write_text(f"#!/bin/sh\nOF_A_CALL=program exec {sys.executable} \"$@\"\n")
    python.chmod(0o755)
    assert own.submit(look, python=str(python)).result(30)[0] == "program"


@pytest.mark.parametrize("given, kind, said", [
    ({"files": "one.py"}, TypeError, "files must be a list"), ({"files": ["nowhere.py"]}, FileNotFoundError, "nowhere.py"),
    ({"environment": "A=1"}, TypeError, "environment must be a dictionary")])
def test_what_cannot_be_is_refused(own, given, kind, said):
    with pytest.raises(kind, match=said):
        own.submit(use_module, **given)


def test_two_files_of_one_name_are_refused(own, tmp_path):
    with pytest.raises(ValueError, match="both named module_of_files.py"):
        own.submit(use_module, files=[module(tmp_path / "one", "1"), module(tmp_path / "two", "2")])


def test_what_nobody_uses_goes_and_what_is_used_stays(root, tmp_path):
    bundles = [_files.bundle_of([module(tmp_path / word, word)]) for word in ("used", "unused")]
    contents = [_files._wire.unpack(bundle.shared.datum) for bundle in bundles]
    opened = [_files.provide(content, bundle.digest) for content, bundle in zip(contents, bundles)]
    os.close(opened[1])
    _files.sweep(os.stat(root / bundles[0].digest).st_mtime + _files.KEPT_S - 1)
    assert len(list(root.iterdir())) == 2
    _files.sweep(os.stat(root / bundles[1].digest).st_mtime + _files.KEPT_S)
    assert [place.name for place in root.iterdir()] == [bundles[0].digest]
    os.close(opened[0])


def test_a_place_that_others_can_write_to_is_refused(root, tmp_path):
    root.mkdir(mode=0o700)
    root.chmod(0o777)
    bundle = _files.bundle_of([module(tmp_path / "one", "1")])
    with pytest.raises(penstock.PenstockError, match="only this user can write to"):
        _files.provide(_files._wire.unpack(bundle.shared.datum), bundle.digest)


def test_other_content_than_was_promised_is_refused(root):
    with pytest.raises(penstock.PenstockError, match="not those that were sent"):
        _files.provide(b"something", "0" * 32)
    assert not list(root.iterdir())
