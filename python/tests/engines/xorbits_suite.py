"""Runs the examples that Xorbits ships in its documentation strings, with its own backend and with Penstock's.

    xorbits_suite.py run BACKEND FILE [--chunk N] [--only PREFIX]     BACKEND: own, penstock; a line of FILE for each test
    xorbits_suite.py compare OWN... PENSTOCK [--reasons FILE]         what differs; exit code 1 if FILE does not name it

Xorbits' test files are in neither its wheel nor its source distribution; its documentation strings are. A test is one
documentation string: its examples run in order, values of expressions are executed, fetched and printed. It passes if no
example raises what the documentation does not show. Two backends agree if both pass and print the same. Of several runs
with Xorbits' own backend, tests that do not pass in each of them or do not print the same are left out, as unstable.
`--chunk N`: tensors and dataframes have chunks of N rows where the example says nothing, so that it is distributed.
"""
# tidy: foreign-file task, session id
import argparse
import ast
import contextlib
import doctest
import inspect
import io
import json
import pathlib
import re
import signal
import sys
import tempfile
import traceback
import warnings

SECONDS_MAX = 60  # One test.
FOLDERS = ("_mars/tensor", "_mars/dataframe")
CHUNKS_MANY = ("tensor/reduction/mean:mean", "tensor/reduction/std:std", "tensor/reduction/var:var", "tensor/stats/ks:ks_2samp",
               "tensor/random", "tensor/fft", "dataframe/base/memory_usage", "tensor/einsum", "tensor/arithmetic/exp:exp", "tensor/datasource")
LEFT_OUT = ("read_clipboard", "to_clipboard", "test", "show_versions", "info", "lookfor")  # Of the system, or of pandas itself.


class Timeout(BaseException):
    """A test takes too long."""


class Parser(doctest.DocTestParser):
    """One that reads over options that it does not know."""

    def _find_options(self, source, name, lineno):
        try:
            return super()._find_options(source, name, lineno)
        except ValueError:
            return {}


def mars_tests():
    """(name, text) of what stands in the source files of tensors and dataframes."""
    import xorbits
    root = pathlib.Path(xorbits.__file__).parent
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*.py")):
            yield from _of_source(path, path.relative_to(root / "_mars").with_suffix("").as_posix())


def _of_source(path, place):
    seen = {}
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            text = ast.get_docstring(node) or ""
            if ">>>" in text:
                seen[node.name] = seen.get(node.name, 0) + 1
                yield f"{place}:{node.name}" + (f"-{seen[node.name]}" if seen[node.name] > 1 else ""), text


def interface_tests():
    """(name, text) of what `xorbits.pandas` and `xorbits.numpy` take over from pandas and numpy."""
    import xorbits.numpy
    import xorbits.pandas
    seen = set()
    for module in (xorbits.pandas, xorbits.numpy):
        for name in sorted(dir(module)):
            owner = getattr(module, name)
            found = [(name, owner)]
            if inspect.isclass(owner):
                found += [(f"{name}.{member}", inspect.getattr_static(owner, member)) for member in sorted(dir(owner))]
            for where, thing in found:
                text = inspect.getdoc(thing) or ""
                if ">>>" in text and text not in seen and where.split(".")[-1] not in LEFT_OUT:
                    seen.add(text)
                    yield f"{module.__name__.split('.')[1]}:{where}", text


def names_of(is_mars):
    """What an example has without importing it."""
    import numpy
    import pandas
    import xorbits
    import xorbits._mars.dataframe
    import xorbits._mars.tensor
    if is_mars:
        return {"np": numpy, "pd": pandas, "mt": xorbits._mars.tensor, "md": xorbits._mars.dataframe}
    return {"np": xorbits.numpy, "pd": xorbits.pandas}


def as_mars():
    """Examples import `mars`, by which name Xorbits began."""
    import importlib
    import xorbits._mars
    sys.modules["mars"] = xorbits._mars
    for name in ("tensor", "dataframe", "remote", "session", "tensor.linalg", "tensor.random", "tensor.fft", "tensor.spatial",
                 "tensor.special", "tensor.stats"):
        with contextlib.suppress(ImportError):
            sys.modules["mars." + name] = importlib.import_module("xorbits._mars." + name)


def show(value):
    """Prints what an example has, executed."""
    if value is None:
        return
    if isinstance(value, tuple) and any(hasattr(one, "execute") for one in value):
        return [show(one) for one in value] and None
    if hasattr(value, "execute") and hasattr(value, "fetch"):
        value = value.execute().fetch()
    print(repr(value))


def run_test(text, is_mars):
    """("passed" or what was raised, what was printed, how many examples ran)"""
    import numpy
    import xorbits._mars.tensor
    numpy.random.seed(0)
    xorbits._mars.tensor.random.seed(0)
    names, printed, ran = names_of(is_mars), io.StringIO(), 0
    for example in Parser().get_examples(text):
        if is_mars and example.options.get(doctest.SKIP):
            continue
        source = example.source.replace("# doctest: +SKIP", "")
        try:
            with contextlib.redirect_stdout(printed), warnings.catch_warnings():
                warnings.simplefilter("ignore")
                exec(compile(source, "<example>", "single", dont_inherit=True), names)
        except Timeout:
            return "Timeout", printed.getvalue(), ran
        except BaseException as error:
            kind = type(error).__name__
            if example.exc_msg is None:
                detail = "".join(traceback.format_exception(error))[-1500:]
                return f"{kind}: {str(error)[:200]}", printed.getvalue() + "\n" + detail, ran
            print(f"raises {kind}", file=printed)
        ran += 1
    return "passed", printed.getvalue(), ran


def same_text(text):
    """Without what names one run: keys, addresses, names of sessions."""
    text = re.sub(r"\b[0-9a-f]{32}(_\d+)?\b", "KEY", text)
    return re.sub(r"0x[0-9a-f]+", "0x", text)


@contextlib.contextmanager
def started(backend, slots):
    """A session of Xorbits with this backend."""
    import xorbits
    if backend == "own":
        xorbits.init(n_cpu=slots, web=False)
        yield
        xorbits.shutdown()
    else:
        import penstock.xorbits
        with penstock.Client(slots=slots) as client:
            penstock.xorbits.init(client)
            yield
            penstock.xorbits.shutdown()


def run(backend, path, chunk, only, slots=2):
    """Runs all tests; a line of JSON for each."""
    def ring(*_):
        raise Timeout
    signal.signal(signal.SIGALRM, ring)
    # Small chunks make graphs of ten thousands of chunks of some large examples.
    tests = [(name, text, True) for name, text in mars_tests() if not (chunk and name.startswith(CHUNKS_MANY))]
    tests += [] if chunk else [(name, text, False) for name, text in interface_tests()]
    tests = [test for test in tests if test[0].startswith(tuple(only or [""]))]
    with started(backend, slots), open(path, "w") as file, tempfile.TemporaryDirectory() as place, contextlib.chdir(place):
        from xorbits._mars.config import options
        options.show_progress, options.chunk_size = False, chunk or None
        as_mars()
        sys.displayhook = show
        for name, text, is_mars in tests:
            signal.alarm(SECONDS_MAX)
            try:
                state, printed, ran = run_test(text, is_mars)
            except Timeout:
                state, printed, ran = "Timeout", "", 0
            signal.alarm(0)
            if ran or state != "passed":
                file.write(json.dumps({"name": name, "state": state, "examples": ran, "printed": same_text(printed)}) + "\n")
                file.flush()


def read(path):
    """{name: row} of what `run` has written."""
    return {row["name"]: row for row in map(json.loads, pathlib.Path(path).read_text().splitlines())}


def differences(own, ours):
    """{name: what differs} of the tests that pass with Xorbits' own backend."""
    found = {}
    for name, row in own.items():
        if row["state"] != "passed":
            continue
        other = ours.get(name, {"state": "did not run", "printed": ""})
        if other["state"] != "passed":
            found[name] = other["state"]
        elif other["printed"] != row["printed"]:
            found[name] = "prints something else"
    return found


def reasons_of(path):
    """{name: reason} of a file of lines `name: reason`."""
    lines = [line for line in pathlib.Path(path).read_text().splitlines() if line and not line.startswith("#")]
    return dict(line.split("  ", 1) for line in lines)


def stable(runs):
    """({name: row} of the first of these runs, names of tests that come out otherwise in another one)"""
    first, unstable = runs[0], set()
    for other in runs[1:]:
        unstable |= {name for name, row in first.items()
                     if "passed" in (row["state"], other.get(name, row)["state"]) and
                     (row["state"], row["printed"]) != (other.get(name, row)["state"], other.get(name, row)["printed"])}
    return {name: row for name, row in first.items() if name not in unstable}, sorted(unstable)


def compare(runs, ours, reasons):
    """Prints what differs; whether each difference has a reason."""
    (own, unstable), ours = stable(list(map(read, runs))), read(ours)
    passed = [name for name, row in own.items() if row["state"] == "passed"]
    found = differences(own, ours)
    known = reasons_of(reasons) if reasons else {}
    print(f"{len(own)} tests with {sum(row['examples'] for row in own.values())} examples; {len(passed)} pass with Xorbits' own "
          f"backend, of these {len(passed) - len(found)} with Penstock's ({100 * (1 - len(found) / max(1, len(passed))):.1f} %)")
    print(f"{len(unstable)} come out otherwise in another run with Xorbits' own backend: {', '.join(unstable) or 'none'}")
    gained = [name for name, row in ours.items() if row["state"] == "passed" and own.get(name, row)["state"] != "passed"]
    print(f"{len(gained)} pass with Penstock's backend only: {', '.join(gained) or 'none'}")
    for name, what in found.items():
        print(f"{name}  {what}" + (f"  ({known[name]})" if name in known else ""))
    return set(found) <= set(known)


def main(words):
    """See above."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    running = commands.add_parser("run")
    running.add_argument("backend", choices=["own", "penstock"])
    running.add_argument("file")
    running.add_argument("--chunk", type=int)
    running.add_argument("--only", action="append")
    comparing = commands.add_parser("compare")
    comparing.add_argument("own", nargs="+")
    comparing.add_argument("ours")
    comparing.add_argument("--reasons")
    given = parser.parse_args(words)
    if given.command == "run":
        return run(given.backend, pathlib.Path(given.file).resolve(), given.chunk, given.only)
    return 0 if compare(given.own, given.ours, given.reasons) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
