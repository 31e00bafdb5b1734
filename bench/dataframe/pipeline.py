"""The dataframe, its generator and its computations: the same for every contestant."""
# tidy: foreign-file scheduler, tasks
import hashlib
import pathlib

import numpy
import pandas

ROW_BYTES = 8 * 6  # Of `generate_part` as it is on disk.
KEYS = 100_000
FIELDS = [("key", "i8"), ("time", "i8"), ("x", "i8"), ("y", "i8"), ("u", "f8"), ("v", "f8")]


def generate_part(path, number, rows, seed):
    """Keys are skewed: the most frequent tenth has most of the rows. The added columns are integers, so that
    the order of additions does not matter."""
    random = numpy.random.default_rng([seed, number])
    part = numpy.empty(rows, dtype=FIELDS)
    part["key"] = (KEYS * random.random(rows) ** 4).astype("i8")
    part["time"] = random.integers(0, 1 << 40, rows)
    part["x"] = random.integers(-1000, 1000, rows)
    part["y"] = random.integers(0, 1 << 20, rows)
    part["u"] = random.random(rows)
    part["v"] = random.random(rows)
    numpy.save(path, part)


def generate(place, total_bytes, parts, seed=1):
    place = pathlib.Path(place)
    place.mkdir(parents=True, exist_ok=True)
    rows = max(1, total_bytes // ROW_BYTES // parts)
    for number in range(parts):
        path = place / f"part-{number:05}.npy"
        if not path.exists() or path.stat().st_size < rows * ROW_BYTES:
            generate_part(path, number, rows, seed)
    return [str(place / f"part-{number:05}.npy") for number in range(parts)]


def read_part(path):
    return pandas.DataFrame(numpy.load(path))


def other_part(number, parts):
    """The smaller side of the join: every second key."""
    keys = numpy.arange(number, KEYS, parts, dtype="i8")
    keys = keys[keys % 2 == 0]
    return pandas.DataFrame({"key": keys, "weight": keys * 7919 % 1009})


def frames(paths):
    import dask.dataframe as dd
    from dask import delayed
    meta = pandas.DataFrame(numpy.empty(0, dtype=FIELDS))
    left = dd.from_delayed([delayed(read_part)(path) for path in paths], meta=meta, verify_meta=False)
    parts = max(1, len(paths) // 4)
    right = dd.from_delayed([delayed(other_part)(number, parts) for number in range(parts)],
                            meta=other_part(0, KEYS), verify_meta=False)
    return left, right


def digest(frame):
    """The hash of a small frame, independent of the order of its rows."""
    rows = sorted(map(tuple, frame.to_numpy(dtype="i8").tolist()))
    return hashlib.sha256(repr(rows).encode()).hexdigest()[:16]


def grouped(left, _):
    result = left.groupby("key").agg({"x": ["sum", "count"], "y": "max"}).compute()
    return digest(result.reset_index())


def joined(left, right):
    """Every row of the large side goes to the place of its key."""
    both = left.merge(right, on="key")
    both = both.assign(product=both.x * both.weight)
    result = both.groupby("weight").agg({"product": "sum", "y": "max", "x": "count"}).compute()
    return digest(result.reset_index())


def part_of_order(part):
    times = part["time"].to_numpy()
    rows = {"first": times[:1].sum(), "last": times[-1:].sum(), "rows": len(times), "sum": times.sum(),
            "sorted": int((times[1:] >= times[:-1]).all()), "x": part["x"].sum()}
    return pandas.DataFrame({name: [value] for name, value in rows.items()}, dtype="i8")


def ordered(left, _):
    """Sorts all rows by their times; the result is checked, not kept."""
    meta = pandas.DataFrame({name: numpy.empty(0, "i8") for name in ("first", "last", "rows", "sum", "sorted", "x")})
    result = left.sort_values("time").map_partitions(part_of_order, meta=meta).compute()
    result = result[result.rows > 0]
    in_order = bool(result.sorted.all()) and bool((result["last"].to_numpy()[:-1] <= result["first"].to_numpy()[1:]).all())
    return f"{in_order} {result.rows.sum()} {result['sum'].sum()} {result.x.sum()}"


STEPS = {"group": grouped, "join": joined, "sort": ordered}


def in_memory(paths):
    """The same with pandas alone, for sizes that fit into memory."""
    left = pandas.concat([read_part(path) for path in paths], ignore_index=True)
    right = other_part(0, 1)
    group = left.groupby("key").agg({"x": ["sum", "count"], "y": "max"}).reset_index()
    both = left.merge(right, on="key")
    both = both.assign(product=both.x * both.weight)
    join = both.groupby("weight").agg({"product": "sum", "y": "max", "x": "count"}).reset_index()
    return {"group": digest(group), "join": digest(join),
            "sort": f"True {len(left)} {left.time.sum()} {left.x.sum()}"}
