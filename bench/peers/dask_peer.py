#!/usr/bin/env python3
"""Runs one setting on Dask distributed: `dask_peer.py JSON` prints a JSON line for each round."""

import json
import sys
import time

import graphs


def run_subtask(seconds, *_):
    end = time.perf_counter() + seconds
    while seconds and time.perf_counter() < end:
        pass


def main():
    from distributed import Client, LocalCluster

    setting = json.loads(sys.argv[1])
    predecessors, seconds = graphs.build(setting)
    with LocalCluster(n_workers=setting["slots"], threads_per_worker=1, dashboard_address=None) as cluster, \
            Client(cluster) as client:
        for _ in range(setting["rounds"] + 1):
            name = graphs.fresh_name()
            # Plain tuples are Dask's own graph format: the figure excludes the cost of building collections.
            graph = {f"{name}-{i}": (run_subtask, seconds[i], *(f"{name}-{p}" for p in needs))
                     for i, needs in enumerate(predecessors)}
            read = {p for needs in predecessors for p in needs}
            sinks = [f"{name}-{i}" for i in range(len(predecessors)) if i not in read]
            begin = time.perf_counter()
            client.get(graph, sinks, optimize_graph=False)
            print(json.dumps({"seconds": time.perf_counter() - begin}), flush=True)


if __name__ == "__main__":
    main()
