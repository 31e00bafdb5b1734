#!/usr/bin/env python3
"""Calls of actors: Penstock's beside those of Ray and Dask distributed, in turns, on two slots each.

usage: bench/peers/actors.py [--rounds N] [--quick] [--network] [--ray PYTHON] [--dask PYTHON] [--json FILE]

  --ray, --dask  interpreters that have them (default: those of bench/peers/run, build/peers); a peer that cannot be had is
                 listed as such
  --quick        a tenth of the calls, and two rounds
  --network      Penstock's alone, by TCP as between two hosts: with certificates, and with PENSTOCK_INSECURE

Each contestant is one process that keeps its cluster and one actor; every round measures all of them one after the other,
the first is not counted, and the median counts. PENSTOCK_LIBRARY names the library that is measured.
"""
import argparse
import atexit
import json
import os
import pathlib
import shutil
import statistics
import subprocess
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
MEASURES = {"one": "one at a time, us a call", "many": "pipelined, us a call", "argument": "argument of 100 MB, ms",
            "result": "result of 100 MB, ms", "made": "made and first answer, ms"}
ARRAY = 12_500_000  # Of 8 bytes.


class Counter:
    def __init__(self, value=0):
        self.value, self.array = value, None

    def add(self, amount):
        self.value += amount
        return self.value

    def total(self, array):
        return float(array[0] + array[-1])

    def made(self):
        import numpy
        if self.array is None:
            self.array = numpy.ones(ARRAY)
        return self.array


class Penstock:
    def __init__(self):
        sys.path.insert(0, str(ROOT / "python"))
        from penstock import Client
        self.client = Client(slots=2)

    def make(self):
        return self.client.actor(Counter)

    def call(self, actor, name, *arguments):
        return getattr(actor, name)(*arguments)

    def get(self, futures):
        return [future.result(120) for future in futures]

    def end(self, actor):
        actor.kill()


class ByNetwork(Penstock):
    """A cluster of processes whose actor is called by TCP, as from another host."""

    def __init__(self, is_plain):
        sys.path.insert(0, str(ROOT / "python"))
        from penstock import Client, _abi, _actor_wire
        _actor_wire.host_token = lambda: "another host"
        place = tempfile.mkdtemp(prefix="penstock-actors-")
        os.environ.update(PENSTOCK_CONFIG_DIR=place, PENSTOCK_INSECURE="1" if is_plain else "0")
        binary, address = str(pathlib.Path(_abi.library().path).parent / "penstock"), pathlib.Path(place, "address")
        self.processes = [subprocess.Popen([binary, "supervisor", "--no-state", "--listen", "127.0.0.1:0", "--address-file", str(address)])]
        atexit.register(self.leave, place)
        while not address.exists() or not address.read_text().strip():
            time.sleep(0.01)
        where = address.read_text().strip()
        self.processes.append(subprocess.Popen([binary, "worker", "--supervisor", where, "--slots", "2", "--no-gpus"]))
        self.client = Client(where)

    def leave(self, place):
        for process in reversed(self.processes):
            process.terminate()
            process.wait(20)
        shutil.rmtree(place, ignore_errors=True)


class Ray:
    def __init__(self):
        import ray
        ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False, logging_level="ERROR")
        self.ray, self.kind = ray, ray.remote(Counter)

    def make(self):
        return self.kind.remote()

    def call(self, actor, name, *arguments):
        return getattr(actor, name).remote(*arguments)

    def get(self, futures):
        return self.ray.get(futures)

    def end(self, actor):
        self.ray.kill(actor)


class Dask:
    def __init__(self):
        from distributed import Client
        self.client = Client(n_workers=2, threads_per_worker=1, dashboard_address=None)

    def make(self):
        return self.client.submit(Counter, actor=True, pure=False).result()

    def call(self, actor, name, *arguments):
        return getattr(actor, name)(*arguments)

    def get(self, futures):
        return [future.result() for future in futures]

    def end(self, actor):
        pass


def contestant(name, calls):
    """Answers each line of input with one round."""
    import numpy
    peer = {"penstock": Penstock, "ray": Ray, "dask": Dask, "tls": lambda: ByNetwork(False), "plain": lambda: ByNetwork(True)}[name]()
    actor, array = peer.make(), numpy.ones(ARRAY)
    peer.get([peer.call(actor, "add", 1)])

    def timed(function):
        began = time.perf_counter()
        function()
        return time.perf_counter() - began

    def one():
        times = [timed(lambda: peer.get([peer.call(actor, "add", 1)])) for _ in range(calls)]
        return 1e6 * statistics.median(times)

    def large(*call):
        return 1e3 * min(timed(lambda: peer.get([peer.call(actor, *call)])) for _ in range(3))

    def made():
        others = []

        def make():
            others.append(peer.make())
            peer.get([peer.call(others[0], "add", 1)])
        took = timed(make)
        peer.end(others[0])
        return 1e3 * took
    print("ready", flush=True)
    for _ in sys.stdin:
        many = timed(lambda: peer.get([peer.call(actor, "add", 1) for _ in range(calls)]))
        print(json.dumps({"one": one(), "many": 1e6 * many / calls, "argument": large("total", array),
                          "result": large("made"), "made": made()}), flush=True)


def started(name, python, calls):
    process = subprocess.Popen([python, __file__, "--as", name, "--calls", str(calls)], stdin=subprocess.PIPE,
                               stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
    if process.stdout.readline() != "ready\n":
        process.wait()
        return None
    return process


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("--ray", default=str(ROOT / "build/peers/ray/bin/python"))
    parser.add_argument("--dask", default=str(ROOT / "build/peers/dask/bin/python"))
    parser.add_argument("--network", action="store_true")
    parser.add_argument("--json")
    parser.add_argument("--as", dest="name", help=argparse.SUPPRESS)
    parser.add_argument("--calls", type=int, default=2000, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.name:
        return contestant(options.name, options.calls)
    calls, rounds = (200, 2) if options.quick else (options.calls, options.rounds)
    pythons = {"penstock": sys.executable, "ray": options.ray, "dask": options.dask}
    if options.network:
        pythons = {"tls": sys.executable, "plain": sys.executable}
    peers = {name: started(name, python, calls) for name, python in pythons.items() if os.path.exists(python)}
    seen = {name: [] for name, process in peers.items() if process is not None}
    for turn in range(rounds + 1):
        for name in seen:
            peers[name].stdin.write("round\n")
            peers[name].stdin.flush()
            figures = json.loads(peers[name].stdout.readline())
            if turn:
                seen[name].append(figures)
    for name in seen:
        peers[name].stdin.close()
        peers[name].wait(60)
    medians = {name: {key: statistics.median(one[key] for one in rows) for key in MEASURES} for name, rows in seen.items()}
    print(f"{'':28}" + "".join(f"{name:>12}" for name in pythons))
    for key, text in MEASURES.items():
        row = [f"{medians[name][key]:12.1f}" if name in medians else f"{'not there':>12}" for name in pythons]
        print(f"{text:28}" + "".join(row))
    if options.json:
        pathlib.Path(options.json).write_text(json.dumps(medians, indent=1))


if __name__ == "__main__":
    main()
