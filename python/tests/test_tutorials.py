"""The code blocks of the tutorials compile and run as they stand, one after the other, in a directory with what they speak of."""
# tidy: foreign-file scheduler
import ast
import asyncio
import inspect
import pathlib
import re
import shutil
import subprocess

import functions
import pytest
from test_cluster import cluster  # noqa: F401

DOCS = pathlib.Path(__file__).resolve().parents[2] / "docs"


def blocks(name):
    text = (DOCS / name).read_text()
    return re.findall(r"^```python\n(.*?)^```", text, re.MULTILINE | re.DOTALL)


def run(code, names):
    """Runs a block, in which `await` may stand at the top."""
    compiled = compile(code, "<tutorial>", "exec", flags=ast.PyCF_ALLOW_TOP_LEVEL_AWAIT)
    if not compiled.co_flags & inspect.CO_COROUTINE:
        return exec(compiled, names)

    async def awaited():
        await eval(compiled, names)
    asyncio.run(awaited())


def test_the_tutorial_of_pools(tmp_path, capsys):
    from penstock import Client
    paths = []
    for number in range(5):
        paths.append(str(tmp_path / f"part-{number}"))
        pathlib.Path(paths[-1]).write_bytes(bytes(number))
    names = {"asyncio": asyncio, "Client": Client, "paths": paths, "path": paths[0], "simulate": functions.increment,
             "total": functions.size_of, "load": functions.size_of, "merge": functions.add}
    code = blocks("engines/executor.md")
    assert len(code) == 4
    run(code[0], names)
    assert len(capsys.readouterr().out.splitlines()) == 1000
    assert names["best"].cancelled() or names["best"].done()
    run(code[1], names)
    with Client(slots=1) as client:
        assert client.submit(names["fibonacci"], 5).result(60) == 5
    run(code[2], names)
    assert names["totals"] == [0, 1, 2, 3, 4]
    with Client(slots=2) as client:
        names.update(client=client, merge=sum)
        run(code[3], names)
    assert capsys.readouterr().out.strip() == "[10]"


def test_the_tutorial_of_buffers():
    from penstock import _wire
    names = {"make_tensor": list, "__name__": "tutorial"}
    for code in blocks("engines/buffers.md"):
        run(code, names)
    _, buffers = _wire.pickle_with_buffers(names["Image"](bytes(100_000)), "an image")
    assert [buffer.raw().nbytes for buffer in buffers] == [100_000]


def test_the_tutorial_of_dask(cluster, tmp_path, monkeypatch, capsys):  # noqa: F811
    dask = pytest.importorskip("dask", reason="python3-dask is not installed")
    pytest.importorskip("dask.dataframe", reason="dask.dataframe or pandas is not installed")
    import penstock.dask
    for number in range(3):
        (tmp_path / f"trips-{number}.csv").write_text("passenger,fare\n" + "".join(
            f"p{i % 3},{i}.5\n" for i in range(30)))
    monkeypatch.chdir(tmp_path)
    names = {"flaky": functions.itself}
    code = blocks("engines/dask.md")
    assert len(code) == 4 and '"10.0.0.5:7411"' in code[1]
    try:
        with dask.config.set(scheduler=None):
            run(code[0], names)
            shown = capsys.readouterr().out
            assert all(name in shown for name in ("p0", "p1", "p2"))
            run(code[1].replace("10.0.0.5:7411", cluster.address), names)
            run(code[2], names)
            assert len(names["result"]) == 90
            run(code[3], names)
            assert names["total"].result() == 1350.0 and names["largest"].result() == 29.5
    finally:
        dask.config.set(scheduler=None)
        penstock.dask.set_default_client(None)
        if "client" in names:
            names["client"].close()


# ---- C and C++ ----

INCLUDE = DOCS.parent / "client" / "include"
STRICT = ["-Wall", "-Wextra", "-Werror", f"-I{INCLUDE}"]


def native_blocks(name, language):
    return re.findall(rf"^```{language}\n(.*?)^```", (DOCS / name).read_text(), re.MULTILINE | re.DOTALL)


def compiled(place, compiler, code, *options):
    """Compiles code in a directory; a complaint of the compiler fails the test."""
    if shutil.which(compiler) is None:
        pytest.skip(f"{compiler} is not installed")
    path = place / ("block.c" if compiler == "cc" else "block.cpp")
    path.write_text(code)
    ended = subprocess.run([compiler, *STRICT, str(path), *options], cwd=place, capture_output=True, text=True)
    assert ended.returncode == 0, ended.stderr


@pytest.mark.parametrize("header", ["penstock.h", "operator.h"])
def test_a_header_is_c_11(tmp_path, header):
    compiled(tmp_path, "cc", f"#include <penstock/{header}>\nint nothing_else_is_needed;\n", "-std=c11", "-pedantic",
             "-fsyntax-only")


def test_the_tutorial_of_other_languages(tmp_path):
    code = native_blocks("other-languages.md", "c")
    assert len(code) == 1
    body = code[0].replace("  ...\n", "  (void)out;\n")
    compiled(tmp_path, "cc", "#include <penstock/penstock.h>\nint serve(uint64_t size);\nint serve(uint64_t size) {\n" + body +
             "  return 0;\n}\n", "-std=c11", "-pedantic", "-fsyntax-only")


def test_the_tutorial_of_engines(tmp_path):
    from penstock import _abi
    library = pathlib.Path(_abi.library().path).resolve()
    code = native_blocks("engines/cpp.md", "cpp")
    assert len(code) == 2
    compiled(tmp_path, "cc", code[0], "-std=c11", "-shared", "-fPIC", "-o", "libsquare.so")
    compiled(tmp_path, "c++", """#include <cstdio>
#include <penstock/client.hpp>
static void show(unsigned long long, unsigned long long) {}
static void complain(const std::string& text) { std::puts(text.c_str()); }
int main() {
""" + code[1] + """std::printf("%g\\n", result ? result.value() : -1.0);
}
""", "-std=c++20", "-Wno-missing-field-initializers", "-o", "engine", str(library), f"-Wl,-rpath,{library.parent}")
    ended = subprocess.run(["./engine"], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert ended.stdout == "9\n", ended.stdout + ended.stderr
