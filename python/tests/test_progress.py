"""Bars and notebooks."""
import io
import sys

import functions
import pytest
from penstock import progress


def without(monkeypatch, *modules):
    for name in modules:
        monkeypatch.setitem(sys.modules, name, None)  # Importing it fails.


def test_a_bar_of_tqdm(client, capsys):
    pytest.importorskip("tqdm", reason="tqdm is not installed")
    futures = progress(client.map(functions.increment, range(5)), "adding")
    assert all(future.done() for future in futures)
    shown = capsys.readouterr().err
    assert "5/5" in shown and "adding" in shown


def test_a_bar_of_rich(client, capsys, monkeypatch):
    pytest.importorskip("rich", reason="rich is not installed")
    without(monkeypatch, "tqdm", "tqdm.auto")
    progress(client.map(functions.increment, range(5)), "adding")
    shown = capsys.readouterr()
    assert "adding" in shown.out + shown.err and "100%" in shown.out + shown.err


def test_a_plain_bar(client, monkeypatch):
    without(monkeypatch, "tqdm", "tqdm.auto", "rich", "rich.progress")
    out = io.StringIO()
    futures = client.map(functions.increment, range(5)) + [client.submit(functions.fail, "no")]
    progress(futures, "adding", file=out)
    last = out.getvalue().split("\r")[-1]
    assert last.startswith("adding [#####") and last.rstrip().endswith("6/6")


def test_a_bar_of_nothing(client, monkeypatch):
    without(monkeypatch, "tqdm", "tqdm.auto", "rich", "rich.progress")
    out = io.StringIO()
    assert progress([], file=out) == []
    assert "0/0" in out.getvalue()


def test_what_a_notebook_shows(client):
    future = client.submit(functions.increment, 1, key="a <key>")
    future.result(60)
    assert "a &lt;key&gt;" in future._repr_html_() and "finished" in future._repr_html_()
    assert "embedded, 2 slots" in client._repr_html_()
    graph = client.graph()
    graph.add(functions.increment, 1)
    job = graph.submit(name="<shown>")
    job.results(60)
    shown = job._repr_html_()
    assert "&lt;shown&gt;" in shown and "succeeded" in shown and "1 of 1" in shown
