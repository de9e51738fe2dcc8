"""Why and diff over REST and on the command line."""

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from engine.donjon import Donjon
from engine.registry import RULESETS
from events.event import Event
from events.log import whole
from replay.comparing import run_diff
from replay.file import frame


def asked(caller: Any, path: str, status: int = 200) -> Any:
    answer = caller.get(path)
    assert answer.status_code == status, answer.text
    return answer.json


@pytest.fixture
def played(table: Any) -> Any:
    return table.plays(12)


def saved(house: Any, table: Any, path: Path) -> Path:
    events = whole(house.deps.log, bytes.fromhex(table.id))
    path.write_bytes(b"".join(frame(event.data) for event in events if isinstance(event, Event)))
    return path


# -- why -------------------------------------------------------------------------------------------------------------


def test_why_names_the_events_that_made_a_value(house: Any, played: Any) -> None:
    state = asked(house.nobody, f"{played.path}/state")
    answer = asked(house.nobody, f"{played.path}/positions/{state['version']}/why?path=seats/1/at")
    assert answer["value"] == state["state"]["heroes"][0]["at"]
    assert answer["path"] == "heroes/1/at"
    last = answer["causes"][-1]
    assert last["new"] == answer["value"]
    event = next(one for one in asked(house.nobody, f"{played.path}/events")["events"] if one["seq"] == last["seq"])
    assert [{name: draw[name] for name in draw if name != "words"} for draw in last["draws"]] == event["draws"]
    assert " ".join(step["words"] for step in last["steps"]) == event["narration"]
    assert last["rules"] == list(dict.fromkeys(step["rule"] for step in last["steps"]))
    assert "old" not in answer["causes"][0]


def test_why_speaks_three_languages(house: Any, played: Any) -> None:
    path = f"{played.path}/positions/{played.version}/why?path=seats/1/at&lang="
    told = {lang: asked(house.nobody, path + lang)["causes"][-1] for lang in ("en", "fr", "ja")}
    assert len({cause["asked"] for cause in told.values()}) == 3
    assert len({cause["steps"][0]["words"] for cause in told.values()}) == 3


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_a_path_that_leads_nowhere_is_a_clear_problem(house: Any, played: Any, language: str) -> None:
    answer = house.nobody.get(f"{played.path}/positions/{played.version}/why?path=seats/1/wings&lang={language}")
    assert (answer.status_code, answer.json["code"]) == (404, "path-not-found")
    assert answer.json["at"] == "heroes/1"
    assert "hp" in answer.json["known"]
    assert "heroes/1/wings" in answer.json["detail"]
    assert "weapons" in answer.json["detail"]
    for path in ("seats/9", "//", "hp", "%00", "a/" * 150):
        status = house.nobody.get(f"{played.path}/positions/{played.version}/why?path={path}").status_code
        assert status == (200 if path == "//" else 404)


def test_a_position_that_is_not_there_yet_has_no_reasons(house: Any, played: Any, refusal: Any) -> None:
    path = f"{played.path}/positions/{played.version + 1}/why?path=mp"
    assert refusal(house.nobody.get(path)) == "404 position-not-found"
    assert refusal(house.nobody.get(f"{played.path}/positions/1/why?path=mp")) == "404 path-not-found"
    assert refusal(house.nobody.get(f"{played.path}/positions/5/why?path=mp&seat=1")) == "403 not-your-seat"
    assert refusal(house.nobody.get(f"{played.path}/positions/5/why?limit=0")) == "400 bad-query"


def test_a_watcher_of_a_delayed_table_is_given_no_reasons_from_the_future(house: Any) -> None:
    table = house.player().opens(watching="delayed:60")
    table.seat(table.creator)
    house.clock.pass_seconds(1)
    table.starts()
    start = table.version
    house.clock.pass_seconds(1)
    table.plays(4)
    assert asked(house.nobody, f"{table.path}/diff")["new"] == start
    for path in (f"positions/{table.version}/why?path=mp", f"diff?new={table.version}"):
        assert house.nobody.get(f"{table.path}/{path}").status_code == 404
        assert table.creator.get(f"{table.path}/{path}").status_code == 200
    assert asked(house.nobody, f"{table.path}/divergence/{table.id}")["upto"] == [start, start]
    assert asked(house.nobody, f"{table.path}/under/donjon@1")["asked"] == 1


# -- diff ------------------------------------------------------------------------------------------------------------


def test_each_difference_of_two_positions_can_be_asked_about(house: Any, played: Any) -> None:
    old, new = played.version - 6, played.version
    answer = asked(house.nobody, f"{played.path}/diff?old={old}&new={new}")
    assert answer["changes"]
    state = asked(house.nobody, f"{played.path}/state")["state"]
    for change in answer["changes"]:
        if change["path"].partition("/")[0] in state:
            reason = asked(house.nobody, f"{played.path}/positions/{new}/why?path={change['path']}")
            assert reason.get("value") == change.get("new")
            assert reason["causes"][-1]["seq"] > old
    assert asked(house.nobody, f"{played.path}/diff?old={new}")["changes"] == []


def test_a_fork_parts_from_its_source_where_it_is_played_otherwise(house: Any) -> None:
    ada = house.player()
    table = ada.opens(options={"stalemate_rounds": 1})
    table.seat(ada)
    table.starts()
    while table.shown()["status"] == "playing":
        assert table.act({"type": "end-turn"}, table.version).status_code == 201
    events = asked(ada, f"{table.path}/events")["events"]
    begun = 1 + next(event["seq"] for event in events if event["kind"] == "seeded")
    made = ada.post(f"{table.path}/forks", json={"version": begun})
    assert made.status_code == 201, made.text
    fork = made.json["links"]["self"]
    assert ada.post(f"{fork}/seats", json={}).status_code == 201
    started = ada.post(f"{fork}/start")
    assert started.status_code == 200, started.text
    version = started.json["version"]
    move = {"action": {"type": "move", "to": [1, 0]}, "expected_version": version}
    assert ada.post(f"{fork}/actions", json=move).status_code == 201
    for mine, theirs in ((table.path, fork), (fork, table.path)):
        parted = asked(ada, f"{mine}/divergence/{theirs.rpartition('/')[2]}")
        assert parted["common"] == 0
        due = [begun + 1, version + 1] if mine == table.path else [version + 1, begun + 1]
        assert [parted[side]["version"] for side in ("first", "second")] == due
        assert parted["first"]["words"] != parted["second"]["words"]
        assert parted["changes"]
    why = asked(ada, f"{fork}/positions/{version + 1}/why?path=pile")
    assert why["forked_from"] == {"game_id": table.id, "version": begun}


def test_a_private_game_cannot_be_compared_by_a_stranger(house: Any, played: Any, refusal: Any) -> None:
    secret = house.player("Eve").opens(visibility="private")
    assert refusal(house.nobody.get(f"{played.path}/divergence/{secret.id}")) == "404 game-not-found"
    assert refusal(house.nobody.get(f"{secret.path}/divergence/{played.id}")) == "404 game-not-found"


class DonjonTwo(Donjon):
    """Le Donjon again."""

    id = "donjon@2"


def test_a_game_is_put_to_another_version_of_its_rules(house: Any, played: Any, monkeypatch: Any, refusal: Any) -> None:
    assert refusal(house.nobody.get(f"{played.path}/under/donjon@2")) == "404 ruleset-not-found"
    assert refusal(house.nobody.get(f"{played.path}/under/dungeon-roll@1")) == "422 other-game"
    monkeypatch.setitem(RULESETS, "donjon@2", DonjonTwo())
    report = asked(house.nobody, f"{played.path}/under/donjon@2")
    assert (report["ruleset"], report["other"], report["otherwise"]) == ("donjon@1", "donjon@2", [])
    assert report["asked"] == 13


# -- the command -----------------------------------------------------------------------------------------------------


def test_the_command_tells_the_three_kinds_of_difference(house: Any, played: Any, tmp_path: Path) -> None:
    first = str(saved(house, played, tmp_path / "first.annals"))
    played.plays(2)
    second = str(saved(house, played, tmp_path / "second.annals"))
    lines: list[str] = []

    def run(*targets: str | None, **how: Any) -> int:
        lines.clear()
        return run_diff(*targets, log=lambda: house.deps.log, write=lines.append, **how)

    assert run(first, None, old=3) == 1
    assert any(line.startswith("pile: - -> ") for line in lines)
    assert run(first, first) == 0
    assert run(first, second, lang="fr") == 1
    assert lines[0].startswith("the same in 13 events of play")
    assert lines[1].endswith("no more")
    assert run(first, None, ruleset="donjon@1") == 0
    assert lines == []
    assert run(played.id, None, old=5, new=6) == 1
    with pytest.raises(LookupError):
        run(first, None, ruleset="chess@1")
    with pytest.raises(ValueError, match="either"):
        run(first, second, ruleset="donjon@1")


def test_the_command_exits_with_two_where_it_cannot_be_said(tmp_path: Path) -> None:
    from service.cli import main

    answer = CliRunner().invoke(main, ["diff", str(tmp_path / "none.annals")])
    assert answer.exit_code == 2
    assert answer.output.startswith("annals: ")
