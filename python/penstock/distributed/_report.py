"""`performance_report`: a page of what the cluster did during a block."""
import asyncio
import html
import sys
import time
from typing import Any, Dict, List

from penstock.distributed._here import get_client

ROWS_MAX = 500  # Of a table.
STYLE = ("body{font-family:sans-serif}table{border-collapse:collapse}"
         "td,th{border:1px solid #ccc;padding:2px 8px;text-align:right}")


class performance_report:
    """Writes an HTML page: how long the block took, the jobs that were begun in it and whose results are held, what was
    counted, workers and memory. There is no timeline of single calls on it."""

    def __init__(self, filename: str = "dask-report.html", stacklevel: int = 1, mode: Any = None,
                 storage_options: Any = None):
        self.filename, self.client = filename, None
        frame = sys._getframe(stacklevel)
        self.where = f"{frame.f_code.co_filename}:{frame.f_lineno}"

    def __enter__(self) -> "performance_report":
        self.client = self.client or get_client()
        self.client._flush()
        self.jobs = {row.get("id") for row in self.client.ask("jobs")}
        self.counted = _numbers(self.client.ask("counters"))
        self.began = time.time(), time.perf_counter()
        return self

    def __exit__(self, kind: Any, *_: Any) -> None:
        took = time.perf_counter() - self.began[1]
        self.client._flush()
        jobs = [row for row in self.client.ask("jobs") if row.get("id") not in self.jobs]
        now = _numbers(self.client.ask("counters"))
        counted = [{"counter": name, "in this time": value - self.counted.get(name, 0)} for name, value in now.items()
                   if value != self.counted.get(name, 0)]
        began = time.strftime("%F %T", time.localtime(self.began[0]))
        parts = ["<h1>Performance report</h1>", f"<p>{html.escape(self.where)}; began {began}; took {took:.3f} s",
                 f"; ended by {html.escape(kind.__name__)}</p>" if kind else "</p>"]
        for title, rows in (("Jobs that were begun and have results", jobs), ("Counted", counted),
                            ("Workers", self.client.ask("workers")),
                            ("Bands", self.client.ask("bands")), ("Memory by job", self.client.memory())):
            parts.append(f"<h2>{title}</h2>{_table(rows)}")
        with open(self.filename, "w") as file:
            file.write(f"<!doctype html><meta charset=utf-8><title>Performance report</title><style>{STYLE}</style>")
            file.write("".join(parts))

    async def __aenter__(self) -> "performance_report":
        self.client = get_client()
        return await asyncio.get_running_loop().run_in_executor(None, self.__enter__)

    async def __aexit__(self, *given: Any) -> None:
        await asyncio.get_running_loop().run_in_executor(None, lambda: self.__exit__(*given))


def _numbers(told: Any) -> Dict[str, float]:
    rows = told if isinstance(told, list) else [told]
    return {name: value for row in rows for name, value in row.items() if isinstance(value, (int, float))}


def _table(rows: List[Dict[str, Any]]) -> str:
    if not rows:
        return "<p>none</p>"
    names = list(dict.fromkeys(name for row in rows for name in row))
    lines = ["<tr>" + "".join(f"<th>{html.escape(str(name))}</th>" for name in names) + "</tr>"]
    for row in rows[:ROWS_MAX]:
        lines.append("<tr>" + "".join(f"<td>{html.escape(str(row.get(name, '')))}</td>" for name in names) + "</tr>")
    more = f"<p>and {len(rows) - ROWS_MAX} more</p>" if len(rows) > ROWS_MAX else ""
    return f"<table>{''.join(lines)}</table>{more}"
