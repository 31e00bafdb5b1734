#!/usr/bin/env python3
"""Runs one setting on Ray: `ray_peer.py JSON` prints a JSON line for each round."""

import json
import sys
import time

import graphs


def main():
    import ray

    setting = json.loads(sys.argv[1])
    predecessors, seconds = graphs.build(setting)
    ray.init(num_cpus=setting["slots"], include_dashboard=False, log_to_driver=False, configure_logging=False)

    @ray.remote(num_cpus=1)
    def run_subtask(burn, *_):
        end = time.perf_counter() + burn
        while burn and time.perf_counter() < end:
            pass

    read = {p for needs in predecessors for p in needs}
    for _ in range(setting["rounds"] + 1):
        begin = time.perf_counter()
        made = []
        for i, needs in enumerate(predecessors):
            made.append(run_subtask.remote(seconds[i], *(made[p] for p in needs)))
        ray.get([made[i] for i in range(len(predecessors)) if i not in read])
        print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)
    ray.shutdown()


if __name__ == "__main__":
    main()
