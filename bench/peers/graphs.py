"""The graphs that every contestant runs: for each subtask its predecessors and the seconds that it computes."""
# tidy: foreign-file tasks, task

import json
import random


def flat(count):
    return [[] for _ in range(count)]


def chain(count):
    return [[i - 1] if i else [] for i in range(count)]


def stencil(width, rows):
    graph = []
    for row in range(rows):
        for column in range(width):
            above = (row - 1) * width
            graph.append([above + c for c in (column - 1, column, column + 1) if 0 <= c < width] if row else [])
    return graph


def tree(count):
    leaves = (count + 1) // 2
    return [[] for _ in range(leaves)] + [[2 * k, 2 * k + 1] for k in range(leaves - 1)]


def wfformat(path, time_scale):
    """Predecessors and seconds of a WfFormat 1.5 workflow, predecessors first."""
    with open(path) as file:
        workflow = json.load(file)["workflow"]
    parents = {entry["id"]: entry["parents"] for entry in workflow["specification"]["tasks"]}
    seconds = {entry["id"]: entry.get("runtimeInSeconds", 0) for entry in workflow["execution"]["tasks"]}
    order, position, waiting = [], {}, dict(parents)
    while waiting:
        ready = [name for name, needs in waiting.items() if all(other in position for other in needs)]
        for name in ready:
            position[name] = len(order)
            order.append(name)
            del waiting[name]
        if not ready:
            raise SystemExit(f"{path}: has a cycle")
    return [[position[other] for other in parents[name]] for name in order], \
           [seconds.get(name, 0) * time_scale for name in order]


def build(setting):
    """(predecessors, seconds) of a setting of bench/peers/run."""
    kind, count, width = setting["shape"], setting["subtasks"], setting["width"]
    if kind == "wfformat":
        return wfformat(setting["file"], setting["time_scale"])
    graph = {"flat": lambda: flat(count), "chain": lambda: chain(count), "tree": lambda: tree(count),
             "stencil": lambda: stencil(width, count // width)}[kind]()
    return graph, [0.0] * len(graph)


def fresh_name():
    """A name that is unique for each round: a contestant that caches results must not find them."""
    return f"r{random.SystemRandom().getrandbits(48):x}"
