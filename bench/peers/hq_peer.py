#!/usr/bin/env python3
"""Runs one setting on HyperQueue with `hq` from the PATH: `hq_peer.py JSON` prints a JSON line for each round.

HyperQueue starts a process for each subtask, so its figures are bounded by that: about 1,900 a second and core.
"""
# tidy: foreign-file tasks, task

import json
import pathlib
import subprocess
import sys
import tempfile
import time

import graphs


def wait_until(good, seconds=30):
    deadline = time.monotonic() + seconds
    while not good():
        if time.monotonic() > deadline:
            raise SystemExit("HyperQueue's server or worker did not come up")
        time.sleep(0.05)


def main():
    setting = json.loads(sys.argv[1])
    predecessors, seconds = graphs.build(setting)
    with tempfile.TemporaryDirectory() as place:
        hq = ["hq", "--server-dir", place]
        quiet = dict(stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        started = [subprocess.Popen([*hq, "server", "start"], **quiet)]
        try:
            wait_until(lambda: subprocess.run([*hq, "server", "info"], **quiet).returncode == 0)
            started.append(subprocess.Popen([*hq, "worker", "start", "--cpus", str(setting["slots"])], **quiet))
            job = pathlib.Path(place) / "job.toml"
            job.write_text('name = "bench"\n' + "".join(
                f'[[task]]\nid = {i}\ncommand = ["sleep", "{seconds[i]}"]\ndeps = {needs}\nstdout = "none"\nstderr = "none"\n'
                for i, needs in enumerate(predecessors)))
            for _ in range(setting["rounds"] + 1):
                begin = time.perf_counter()
                subprocess.run([*hq, "job", "submit-file", str(job)], check=True, **quiet)
                subprocess.run([*hq, "job", "wait", "last"], check=True, **quiet)
                print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
        finally:
            for process in reversed(started):
                process.terminate()
                process.wait()


if __name__ == "__main__":
    main()
