"""The bench measures what it says, in small: no figure's size is asserted, only that it was taken."""

import json
from pathlib import Path

import pytest

from bench import figures, folding, over_http


def test_the_bench_takes_every_figure_and_writes_table_and_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, results = tmp_path / "performance.md", tmp_path / "results.json"
    page.write_text("before\n<!-- figures -->\nof last time\n<!-- end of figures -->\nafter\n")
    monkeypatch.setattr(figures, "PAGE", page)
    monkeypatch.setattr(figures, "RESULTS", results)
    monkeypatch.setattr(over_http, "CLIENTS", 2)
    monkeypatch.setattr(over_http, "ROUNDS", 1)
    taken = [*over_http.measure(3), *folding.measure(1)]
    table = figures.write(taken)
    assert all(figure.ours > 0 for figure in taken)
    assert {"name", "ours", "other", "ratio", "target"} <= json.loads(results.read_text())["figures"][0].keys()
    assert table in page.read_text()
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("after\n")
    assert "of last time" not in page.read_text()


def test_a_figure_is_held_to_its_target_by_its_ratio_where_it_has_one() -> None:
    assert figures.Figure("f", 70, "/s", 100, "peer", 0.7).met
    assert not figures.Figure("f", 69, "/s", 100, "peer", 0.7).met
    assert figures.Figure("f", 150, "ms", 100, "peer", 2, at_most=True).met
    assert figures.Figure("f", 260, "B", target=260, at_most=True).met
    assert figures.Figure("f", 1, "B").met is None
