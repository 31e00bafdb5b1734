"""One backend answers TPC-H's queries once, and prints a line of JSON for each.

usage: contestant.py own|penstock|pandas DIRECTORY SLOTS [QUERY...]
"""
# tidy: foreign-file task
import json
import pathlib
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path[:0] = [str(HERE), str(HERE.parent.parent / "python")]

import pandas  # noqa: E402
import queries  # noqa: E402
from tables import Tables  # noqa: E402


def start(name, slots):
    """The module of pandas' interface, and what ends it."""
    if name == "pandas":
        return pandas, lambda: None
    import xorbits
    import xorbits.pandas
    from xorbits._mars.config import options
    options.show_progress = False
    if name == "own":
        xorbits.init(n_cpu=slots, web=False)
        return xorbits.pandas, xorbits.shutdown
    import penstock.xorbits
    client = penstock.Client(slots=slots)
    penstock.xorbits.init(client)

    def end():
        penstock.xorbits.shutdown()
        client.close()
    return xorbits.pandas, end


def value_of(answer):
    """A frame of pandas, or a number."""
    if hasattr(answer, "to_pandas"):
        answer = answer.to_pandas()
    elif hasattr(answer, "to_object"):
        answer = answer.to_object()
    return answer if isinstance(answer, pandas.DataFrame) else float(answer)


def is_right(answer, wanted):
    """Whether it is what DuckDB answers: numbers to a thousandth."""
    if not isinstance(answer, pandas.DataFrame):
        return abs(answer - float(wanted.iloc[0, 0])) <= 1e-3 * abs(float(wanted.iloc[0, 0])) + 0.01
    if answer.shape != wanted.shape:
        return False
    for ours, theirs in zip(answer.columns, wanted.columns):
        one, other = answer[ours].reset_index(drop=True), wanted[theirs]
        if other.dtype.kind in "ifu":
            if (one.astype(float) - other.astype(float)).abs().max() > 1e-3 * other.astype(float).abs().max() + 0.01:
                return False
        elif not (one.astype(str).str[:10] == other.astype(str).str[:10]).all():
            return False
    return True


def main(name, directory, slots, *chosen):
    """See above."""
    pd, end = start(name, int(slots))
    for query, function in queries.ALL.items():
        if chosen and query not in chosen:
            continue
        began = time.perf_counter()
        try:
            answer = value_of(function(pd, Tables(pd, directory)))
            seconds = time.perf_counter() - began
            told = {"right": bool(is_right(answer, pandas.read_pickle(pathlib.Path(directory) / f"{query}.pickle")))}
        except Exception as error:
            seconds, told = time.perf_counter() - began, {"right": False, "error": f"{type(error).__name__}: {error}"[:200]}
        print(json.dumps({"query": query, "seconds": round(seconds, 3), **told}), flush=True)
    end()


if __name__ == "__main__":
    main(*sys.argv[1:])
