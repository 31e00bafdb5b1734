"""One contestant computes the pipeline, and prints a line of JSON after each step.

usage: contestant.py penstock|dask MEMORY_BYTES SLOTS STEPS PATH...
"""
# tidy: foreign-file scheduler
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python")]


def start(name, memory, slots):
    import dask
    # Shuffle in memory, as engines do; older and newer versions name the option differently.
    dask.config.set({"shuffle": "tasks", "dataframe.shuffle.method": "tasks"})
    if name == "penstock":
        import penstock
        import penstock.dask
        client = penstock.Client(slots=slots, memory=memory)
        penstock.dask.set_default_client(client)
        dask.config.set(scheduler=penstock.dask.get)
        return client
    from distributed import Client
    return Client(n_workers=slots, threads_per_worker=1, memory_limit=memory // slots, dashboard_address=None)


def main():
    name, memory, slots, steps, *paths = sys.argv[1:]
    import pipeline
    with start(name, int(memory), int(slots)):
        left, right = pipeline.frames(paths)
        for step in steps.split(","):
            begin = time.monotonic()
            result = pipeline.STEPS[step](left, right)
            print(json.dumps({"step": step, "result": result, "seconds": round(time.monotonic() - begin, 2)}), flush=True)


if __name__ == "__main__":
    main()
