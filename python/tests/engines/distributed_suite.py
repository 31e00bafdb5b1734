"""Runs the tests of Dask's own client, distributed/tests/test_client.py, against `penstock.distributed`.

    python distributed_suite.py FILE [--write] [TEST...]

FILE comes with Debian's python3-distributed; the wheels of PyPI have it no longer. Of its tests those count that use
the public interface: one that asks for the scheduler's or a worker's insides is left out, as "internal". The outcome of
each is compared with distributed_suite.txt beside this file: a new difference is an error. `--write` writes it anew."""
# tidy: foreign-file scheduler, Scheduler, worker, tasks, dependents, task
import asyncio
import contextlib
import functools
import importlib.util
import inspect
import os
import pathlib
import sys
import time
import traceback
import types

HERE = pathlib.Path(__file__).resolve()
EXPECTED = HERE.with_suffix(".txt")
SECONDS = 40  # For one test, on a machine that others use.
MODULE = "test_client_of_dask"


class Internal(BaseException):
    """A test has asked for what is inside of Dask."""


class Absent:
    """Stands for a part of Dask that is not public."""

    def __init__(self, _name="", **known):
        self.__dict__.update(known, _name=_name)

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        raise Internal(f"{self._name}.{name}")

    def __call__(self, *_, **__):
        raise Internal(self._name)

    def __iter__(self, *_):
        raise Internal(self._name)

    def __bool__(self):
        return False

    def __mro_entries__(self, _):
        return (object,)

    __getitem__ = __contains__ = __len__ = __iter__


class Stub(types.ModuleType):
    """A module of which each name is absent, but those that were set."""

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return Absent(f"{self.__name__}.{name}")


class Finder:
    """Finds modules that are not installed, or are Dask's inside."""

    ROOTS = ("distributed", "tornado", "psutil", "zict", "msgpack")

    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in self.ROOTS:
            return importlib.util.spec_from_loader(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Stub(spec.name)

    def exec_module(self, module):
        module.__path__ = []
        if module.__name__ == "distributed.utils_test":
            from engines import distributed_helpers
            vars(module).update({name: value for name, value in vars(distributed_helpers).items() if name[0] != "_"})
            module.gen_cluster, module.gen_test, module.cluster = gen_cluster, gen_test, cluster
            module.nodebug, module.NO_AMM = lambda test: test, {}


def prepare(path):
    """Makes the tests importable; in runners, too."""
    if MODULE in sys.modules:
        return sys.modules[MODULE]
    import dask.bag
    import dask.system  # noqa: F401: it asks whether there is psutil, which is to be found by the tests alone.
    from penstock.distributed import _alias
    _alias.install()
    sys.meta_path.append(Finder())
    real = _alias._finder.find_spec

    def find(name, *given):
        try:
            return real(name, *given)
        except ModuleNotFoundError:
            return None
    _alias._finder.find_spec = find
    filled = _alias._finder.exec_module

    def fill(module):
        filled(module)
        _tolerate(module)
    _alias._finder.exec_module = fill
    spec = importlib.util.spec_from_file_location(MODULE, path)
    module = importlib.util.module_from_spec(spec)
    sys.modules[MODULE] = module
    spec.loader.exec_module(module)
    return module


def _tolerate(module):
    found = module.__getattr__

    def look(name):
        try:
            return found(name)
        except AttributeError:
            if name.startswith("__"):
                raise
            import dask.base
            return getattr(dask.base, name, None) or Absent(f"{module.__name__}.{name}")
    module.__getattr__ = look


# ---- clusters ----

_shared = {}


def shared(asynchronous):
    """One client for all tests of a kind, without what the test before has left."""
    from penstock.distributed import Client, _defaults
    client = _shared.get(asynchronous)
    if client is None or client.closed:
        client = _shared[asynchronous] = _new(Client, asynchronous)
    for future in list(client._by_key.values()):
        future._let_go("cancelled")
    client._by_key.clear()
    if len(client._setup) > 1 or client._variables:  # Of plugins.
        client._close_now()
        return shared(asynchronous)
    for other in list(_defaults._clients):
        _defaults.remove(other)
    _defaults.add(client)
    return client


def _new(kind, asynchronous):
    class Prepared(kind):
        def _set_up_alias(self):
            self._setup["suite"] = functools.partial(prepare, _shared["path"])
    return Prepared(n_workers=2, threads_per_worker=1, asynchronous=asynchronous, set_as_default=False)


def gen_cluster(nthreads=(("", 1), ("", 2)), client=False, client_kwargs=None, **options):
    """A test that is given a client, and in place of a scheduler and of workers what only has an address."""
    def decorate(test):
        def run():
            if not client or client_kwargs or set(options) - {"timeout", "clean_kwargs", "allow_unclosed", "config"}:
                raise Internal("another cluster than the usual one")

            async def call():
                opened = shared(True)
                address = next(iter(opened._nthreads(None)))
                workers = [Absent("worker", address=address, name=opened._workers_named(None)[address]["name"])
                           for _ in nthreads]
                given = opened, Absent("scheduler", address=opened.scheduler.address), *workers
                try:
                    inspect.signature(test).bind(*given)
                except TypeError:
                    raise Internal("other workers, or fixtures") from None
                await asyncio.wait_for(test(*given), SECONDS)
            asyncio.run(call())
        run.__name__ = test.__name__
        return run
    return decorate


def gen_test(*_, **__):
    """A coroutine without a cluster."""
    def decorate(test):
        def run(**given):
            asyncio.run(asyncio.wait_for(test(**given), SECONDS))
        run.__signature__ = inspect.signature(test)
        run.__name__ = test.__name__
        return run
    return decorate


@contextlib.contextmanager
def cluster(*_, **__):
    """Processes that tests connect to by an address: only what is inside of them would be tested so."""
    raise Internal("cluster()")
    yield


def given_to(test):
    """The fixtures that a test names."""
    names = inspect.signature(test).parameters
    known = {"loop": None, "loop_in_thread": None}
    given = {}
    for name in names:
        if name in ("c", "client"):
            given[name] = shared(False)
        elif name in known:
            given[name] = known[name]
        elif name in ("s", "a", "b"):
            given[name] = Absent(name)
        elif names[name].default is inspect.Parameter.empty:
            raise Internal(f"fixture {name}")
    return given


# ---- the run ----

def outcome_of(test):
    """("passed" | "internal" | "failed", why)"""
    import signal

    def late(*_):
        raise TimeoutError("the time is over")
    signal.signal(signal.SIGALRM, late)
    signal.alarm(SECONDS + 4)
    try:
        test(**given_to(test)) if not hasattr(test, "__wrapped__") else test()
        return "passed", ""
    except Internal as error:
        return "internal", str(error)
    except BaseException as error:
        if type(error).__name__ in ("Skipped", "XFailed"):
            return "internal", "skipped"
        if isinstance(error, AttributeError) and "Penstock's Client has no" in str(error):
            return "refused", str(error).partition("has no ")[2].partition(":")[0]
        if getattr(error, "remedy", ""):
            return "refused", f"{type(error).__name__}: {error.subject}"
        if "Internal" in repr(error.__context__) or "Internal" in repr(error.__cause__):
            return "internal", "within"
        if "--trace" in sys.argv:
            traceback.print_exc()
        return "failed", type(error).__name__
    finally:
        signal.alarm(0)


def tests_of(module):
    for name, value in list(vars(module).items()):
        if name.startswith("test_") and callable(value):
            yield name, value


def main(path, words):
    _shared["path"] = path
    module = prepare(path)
    only = [word for word in words if not word.startswith("-")]
    found, told = {}, "--write" in words
    for name, test in tests_of(module):
        if only and name not in only:
            continue
        began = time.monotonic()
        found[name] = outcome_of(test)
        if only or time.monotonic() - began > SECONDS:
            print(f"{name}: {' '.join(found[name])}, {time.monotonic() - began:.1f} s", flush=True)
    for client in list(_shared.values()):
        if hasattr(client, "_close_now"):
            client._close_now()
    counts = {kind: sum(outcome[0] == kind for outcome in found.values()) for kind in ("passed", "refused", "failed",
                                                                                       "internal")}
    print(", ".join(f"{count} {kind}" for kind, count in counts.items()))
    if told:
        EXPECTED.write_text("".join(f"{name} {kind} {why}".rstrip() + "\n" for name,
                                    (kind, why) in sorted(found.items())
                                    if kind != "internal"))
        return 0
    different = compared(found)
    print("\n".join(different))
    return 1 if different else 0


def compared(found):
    """What differs from what was written down; a test that is not there is of another version of Dask."""
    expected = {line.split()[0]: line.split()[1] for line in EXPECTED.read_text().splitlines() if line}
    known = {("failed", "internal")}  # Of one that fails and asks for the inside, what comes first is chance.
    return [f"{name}: {expected[name]} before, {found[name][0]} now ({found[name][1]})" for name in sorted(found)
            if name in expected and expected[name] != found[name][0] and (expected[name], found[name][0]) not in known]


if __name__ == "__main__":
    sys.path.insert(0, str(HERE.parents[1]))
    sys.path.insert(0, str(HERE.parents[2]))
    from engines import distributed_suite
    status = distributed_suite.main(os.path.abspath(sys.argv[1]), sys.argv[2:])
    sys.stdout.flush()
    os._exit(status)
