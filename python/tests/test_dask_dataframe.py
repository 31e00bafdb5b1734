"""Dask dataframes, compared with Dask's own one-thread run."""
# tidy: foreign-file scheduler, repartition, tasks
import os
import subprocess
import sys

import pytest

dd = pytest.importorskip("dask.dataframe", reason="dask.dataframe or pandas is not installed")
import dask.bag  # noqa: E402
import numpy  # noqa: E402
import pandas  # noqa: E402

import penstock.dask  # noqa: E402
from penstock import PenstockError  # noqa: E402

ROWS = 200
RANDOM = numpy.random.RandomState(5)
PDF = pandas.DataFrame({"k": RANDOM.zipf(1.7, ROWS) % 9, "v": RANDOM.normal(size=ROWS), "w": numpy.arange(ROWS) % 13,
                        "s": RANDOM.choice(["red", "green", "blue"], ROWS)},
                       index=pandas.date_range("2026-01-01", periods=ROWS, freq="h", name="t"))
DF = dd.from_pandas(PDF, npartitions=5)
OTHER = dd.from_pandas(pandas.DataFrame({"k": range(9), "label": list("abcdefghi")}), npartitions=2)
SHUFFLE = "dataframe.shuffle.method" if "shuffle" in dask.config.deprecations else "shuffle"

FRAMES = {
    "filter": lambda: DF[DF.v > 0], "columns": lambda: DF[["k", "v"]], "assign": lambda: DF.assign(z=DF.v * 2 + DF.w),
    "sum": lambda: DF[["v", "w"]].sum(), "mean": lambda: DF.v.mean(), "std": lambda: DF.v.std(), "var": lambda: DF.v.var(),
    "min": lambda: DF.w.min(), "max": lambda: DF.w.max(), "count": lambda: DF.count(), "describe": lambda: DF.v.describe(),
    "quantile": lambda: DF.w.quantile(0.5), "nunique": lambda: DF.s.nunique(), "value_counts": lambda: DF.s.value_counts(),
    "unique": lambda: DF.s.unique(), "groupby sum": lambda: DF.groupby("k").v.sum(), "groupby mean": lambda: DF.groupby("k").v.mean(),
    "groupby std": lambda: DF.groupby("k").v.std(), "groupby count": lambda: DF.groupby("k").v.count(),
    "groupby min": lambda: DF.groupby("s").w.min(), "groupby max": lambda: DF.groupby("s").w.max(),
    "groupby agg": lambda: DF.groupby("k").agg({"v": ["sum", "mean"], "w": "max"}),
    "groupby two": lambda: DF.groupby(["k", "s"]).w.sum(), "groupby size": lambda: DF.groupby("s").size(),
    "groupby nunique": lambda: DF.groupby("k").w.nunique(), "groupby apply": lambda: DF.groupby("k").apply(len, meta=("n", "i8")),
    "merge": lambda: DF.merge(OTHER, on="k"), "merge left": lambda: DF.merge(OTHER, on="k", how="left"),
    "merge shuffle": lambda: DF.merge(dd.from_pandas(PDF[["k", "s"]][::7], npartitions=3), on="k"),
    "shuffle": lambda: DF.shuffle("k"),
    "set_index": lambda: DF.set_index("w"),
    "sort_values": lambda: DF.sort_values("v"),
    "rolling": lambda: DF.v.rolling(5).mean(), "rolling sum": lambda: DF.w.rolling(3).sum(), "shift": lambda: DF.v.shift(2),
    "diff": lambda: DF.v.diff(), "cumsum": lambda: DF.v.cumsum(), "cummax": lambda: DF.w.cummax(), "resample": lambda: DF.v.resample("1D").mean(),
    "map_partitions": lambda: DF.map_partitions(lambda part: part.assign(n=len(part))), "apply": lambda: DF.v.apply(abs, meta=("v", "f8")),
    "map": lambda: DF.s.map({"red": 1, "green": 2, "blue": 3}, meta=("s", "i8")), "fillna": lambda: DF.v.where(DF.v > 0).fillna(0),
    "dropna": lambda: DF.assign(v=DF.v.where(DF.v > 0)).dropna(), "drop_duplicates": lambda: DF[["k"]].drop_duplicates(),
    "astype": lambda: DF.w.astype("float32"), "isin": lambda: DF.k.isin([1, 2]), "clip": lambda: DF.v.clip(-1, 1), "abs": lambda: DF.v.abs(),
    "round": lambda: DF.v.round(2), "strings": lambda: DF.s.str.upper(), "length of strings": lambda: DF.s.str.len(),
    "dates": lambda: DF.index.to_series().dt.hour, "loc": lambda: DF.loc["2026-01-02":"2026-01-04"], "head": lambda: DF.partitions[0],
    "tail": lambda: DF.partitions[-1], "repartition": lambda: DF.repartition(npartitions=2), "concat": lambda: dd.concat([DF, DF], interleave_partitions=True),
    "nlargest": lambda: DF.v.nlargest(5), "nsmallest": lambda: DF.v.nsmallest(5), "idxmax": lambda: DF.v.idxmax(), "corr": lambda: DF[["v", "w"]].corr(),
    "cov": lambda: DF[["v", "w"]].cov(), "to array": lambda: DF[["v", "w"]].to_dask_array(lengths=True).sum(axis=0), "length": lambda: DF.v.size,
    "pivot": lambda: DF.assign(s=DF.s.astype("category").cat.as_known()).pivot_table(index="k", columns="s", values="v", aggfunc="mean"),
    "isna": lambda: DF.isna().sum(), "any": lambda: (DF.w > 3).any(), "mode": lambda: DF.w.mode(),
    "sample": lambda: DF.sample(frac=0.3, random_state=1), "query": lambda: DF.query("w > 4"), "eval": lambda: DF.eval("v + w"), "melt": lambda: DF[["k", "w"]].melt(),
    "explode": lambda: DF.s.map(list, meta=("s", "object")).explode(), "reset_index": lambda: DF.reset_index(), "rename": lambda: DF.rename(columns={"v": "x"}),
}


def same(a, b):
    """Row by row in the order in which they come."""
    if isinstance(a, pandas.DataFrame):
        pandas.testing.assert_frame_equal(a, b)
    elif isinstance(a, pandas.Series):
        pandas.testing.assert_series_equal(a, b)
    elif isinstance(a, pandas.Index):
        pandas.testing.assert_index_equal(a, b)
    elif isinstance(a, (float, numpy.ndarray, numpy.floating)):
        numpy.testing.assert_allclose(a, b)
    else:
        assert a == b


@pytest.mark.parametrize("name", FRAMES)
def test_frame(client, name):
    with dask.config.set(scheduler=penstock.dask.get):  # Until 2023 a shuffle is chosen when it is built.
        frame = FRAMES[name]()
    results = [frame.compute(scheduler="sync"), frame.compute(scheduler=penstock.dask.get, client=client)]
    if name.startswith(("merge", "shuffle")):  # The order of rows after a shuffle is nobody's promise, nor is the index.
        results = [result.sort_values(list(result.columns)).reset_index(drop=True) for result in results]
    elif name == "groupby nunique":  # Today's Dask shuffles for it: its own threads give another order each time.
        results = [result.sort_index() for result in results]
    same(results[1], results[0])


@pytest.mark.parametrize("how", ["shuffle", "groupby", "bag"])
def test_what_would_go_through_files_of_one_host_is_refused(client, how):
    with dask.config.set({SHUFFLE: "disk"}):
        what = {"shuffle": lambda: DF.shuffle("k"), "groupby": lambda: DF.groupby("k").apply(len, meta=("n", "i8")),
                "bag": lambda: dask.bag.from_sequence(range(9), npartitions=3).groupby(lambda x: x % 2)}[how]()
        with pytest.raises(PenstockError, match='disk.*files of one host.*"dataframe.shuffle.method": "tasks"'):
            what.compute(scheduler=penstock.dask.get, client=client)


def test_whoever_has_said_how_to_shuffle_is_obeyed():
    said = f"import dask; dask.config.set({{'{SHUFFLE}': 'disk'}}); import penstock.dask; print(dask.config.get('{SHUFFLE}'))"
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    told = subprocess.run([sys.executable, "-c", said], env=environment, capture_output=True, text=True, check=True)
    assert told.stdout.split() == ["disk"]


def test_csv_is_written_and_read(client, tmp_path):
    for scheduler, place in ((penstock.dask.get, tmp_path / "ours"), ("sync", tmp_path / "theirs")):
        DF.to_csv(str(place / "part-*.csv"), compute_kwargs={"scheduler": scheduler})
    parts = sorted(path.name for path in (tmp_path / "ours").iterdir())
    assert parts == sorted(path.name for path in (tmp_path / "theirs").iterdir()) and len(parts) == DF.npartitions
    for part in parts:
        assert (tmp_path / "ours" / part).read_bytes() == (tmp_path / "theirs" / part).read_bytes()
    back = dd.read_csv(str(tmp_path / "ours" / "part-*.csv"), parse_dates=["t"])
    frame = back.compute(scheduler=penstock.dask.get, client=client)
    same(frame, back.compute(scheduler="sync"))
    # Text that was read is of today's pandas' own type, which the same text made in memory need not be.
    pandas.testing.assert_frame_equal(frame.reset_index(drop=True), PDF.reset_index(), check_dtype=False)


def test_parquet_is_written_and_read(client, tmp_path):
    pytest.importorskip("pyarrow", reason="pyarrow is no package of Debian 12")
    DF.to_parquet(str(tmp_path / "parts"), compute_kwargs={"scheduler": penstock.dask.get})
    back = dd.read_parquet(str(tmp_path / "parts"))
    frame = back.compute(scheduler=penstock.dask.get, client=client)
    same(frame, back.compute(scheduler="sync"))
    # A file does not say that its times are an hour apart each.
    pandas.testing.assert_frame_equal(frame, DF.compute(scheduler="sync"), check_freq=False)
