"""The bench measures what it says, in small: no figure's size is asserted, only that it was taken."""

import json
from pathlib import Path

import pytest

from bench import auditing, costs, figures, folding, growth, over_http, rivals, validating, watching


def test_the_bench_takes_every_figure_and_writes_table_and_results(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    page, results = tmp_path / "performance.md", tmp_path / "results.json"
    marks = [f"<!-- {part} -->\nof last time\n<!-- end of {part} -->\n" for part in ("figures", "costs")]
    page.write_text("before\n" + "".join(marks) + "after\n")
    monkeypatch.setattr(figures, "PAGE", page)
    monkeypatch.setattr(figures, "RESULTS", results)
    monkeypatch.setattr(over_http, "CLIENTS", 2)
    monkeypatch.setattr(figures, "ROUNDS", 1)
    monkeypatch.setattr(costs, "GAMES", 2)
    evidence = figures.write(*costs.measure(3), "costs")
    taken, profiles = over_http.measure(3)
    more, beside = folding.measure(1)
    more += auditing.measure()
    shown = figures.write([*taken, *more], [*profiles, *beside])
    assert all(figure.ours > 0 for figure in more)
    assert all(figure.ours > 0 for figure in taken if "processor time" not in figure.name)  # of too few ticks
    written = json.loads(results.read_text())
    assert {"command", "cores", "python", "packages", "figures", "profiles"} <= written.keys()
    for row in written["figures"]:
        assert {"name", "ours", "other", "ratio", "target", "unit", "met"} <= row.keys()
    assert all(sum(profile["stages"].values()) > 0 for profile in written["profiles"])
    assert written["costs"]["figures"][0]["ratio"] > 0
    assert {"the receipt", "hash chain and dice"} <= {row["name"] for row in written["costs"]["figures"]}
    assert shown in page.read_text()
    assert evidence in page.read_text()
    assert page.read_text().startswith("before\n")
    assert page.read_text().endswith("after\n")
    assert "of last time" not in page.read_text()


def test_a_peer_that_cannot_be_had_is_skipped_with_the_reason(monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable(what: str, command: list[str]) -> None:
        raise rivals.Skipped(f"{what}: there is no registry")

    monkeypatch.setattr(rivals, "_installed", unreachable)
    monkeypatch.setattr(rivals.shutil, "which", lambda name: None if name == "npm" else name)
    taken, _, skipped = rivals.measure(1)
    assert taken == []
    assert skipped == [
        "boardgame.io@0.50.2: node and npm are not installed",
        "eventsourcing==9.5.6: there is no registry",
    ]
    assert f"Skipped: {skipped[0]}." in figures.told([], [], skipped)


def test_watchers_growth_and_validation_are_measured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watching, "_PAUSE_S", 0)
    monkeypatch.setattr(growth, "_TIMES", 2)
    monkeypatch.setattr(figures, "ROUNDS", 1)
    monkeypatch.setattr(validating, "_played", list)
    taken = [*watching.measure([6], [2], 2), *growth.measure([2, 4], [10, 80]), *validating.measure(3)]
    assert all(figure.ours > 0 for figure in taken if "memory" not in figure.name)
    assert {"annals validate", "a list of 20", "6 watchers of 2 games"} <= {
        figure.name.partition(",")[0].partition(":")[0] for figure in taken
    }


def test_a_figure_is_held_to_its_target_by_its_ratio_where_it_has_one() -> None:
    assert figures.Figure("f", 70, "/s", 100, "peer", 0.7).met
    assert not figures.Figure("f", 69, "/s", 100, "peer", 0.7).met
    assert figures.Figure("f", 150, "ms", 100, "peer", 2, at_most=True).met
    assert figures.Figure("f", 260, "B", target=260, at_most=True).met
    assert figures.Figure("f", 260, "B", 100, "bytes", 260, at_most=True, absolute=True).met
    assert figures.Figure("f", 1, "B").met is None
