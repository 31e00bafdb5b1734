"""One contestant of bench/python/run: reads `calls ROUND`, `get ROUND KEYS` or `end` from its input, answers each with
seconds, and with those for which the submitting thread had a processor.

`contestant.py NAME SLOTS`; for a start, `contestant.py NAME SLOTS start` prints those from import to first result.
"""
import sys
import time

CALLS = 1000


def noop(*_):
    return None


class Watch:
    """(seconds, processor seconds of this thread) since the object was made."""

    def __init__(self):
        self.begin = time.perf_counter(), time.thread_time()

    def __call__(self):
        return time.perf_counter() - self.begin[0], time.thread_time() - self.begin[1]


def open_client(name, slots):
    if name == "penstock":
        from penstock import Client
        return Client(slots=slots)
    from distributed import Client  # tidy: foreign
    return Client(n_workers=slots, threads_per_worker=1, dashboard_address=None)


def get(client, number, count):
    """Seconds for `count` calls without work, as one graph, results included."""
    graph = {f"key-{number}-{i}": (noop,) for i in range(count)}
    keys = list(graph)
    watch = Watch()
    values = client.get(graph, keys)
    taken = watch()
    assert len(values) == count and all(value is None for value in values)
    return taken


def calls(client, number, _):
    """Seconds for CALLS independent calls and their results."""
    watch = Watch()
    values = client.gather([client.submit(noop, (number, i)) for i in range(CALLS)])
    taken = watch()
    assert len(values) == CALLS
    return taken


def main():
    name, slots = sys.argv[1], int(sys.argv[2])
    watch = Watch()
    client = open_client(name, slots)
    client.submit(sum, [1, 2]).result()
    if sys.argv[3:] == ["start"]:
        print(*watch(), flush=True)
        return client.close()
    print("ready", flush=True)
    for line in sys.stdin:
        what, number, count = (line.split() + ["0", "0"])[:3]
        if what == "end":
            break
        print(*{"calls": calls, "get": get}[what](client, int(number), int(count)), flush=True)
    client.close()


if __name__ == "__main__":
    main()
