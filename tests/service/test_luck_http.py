"""Luck over REST: of a game, of a player, of all dice."""

from typing import Any
from xml.etree import ElementTree

import pytest

from service import luck as counting


def asked(caller: Any, path: str) -> Any:
    answer = caller.get(path)
    assert answer.status_code == 200, answer.text
    return answer.json


def over(house: Any, ada: Any, moves: int = 30, **how: Any) -> Any:
    """A game of both of Ada's seats, played for a while and then given up."""
    table = ada.opens(**how)
    table.seat(ada)
    table.starts().plays(moves)
    for seat in (1, 2):
        if table.shown()["status"] == "playing":
            assert ada.post(f"{table.path}/seats/{seat}/resign").status_code == 201
    assert table.shown()["status"] in ("finished", "abandoned")
    return table


@pytest.fixture
def played(table: Any) -> Any:
    return table.plays(40)


def test_a_game_is_told_seat_by_seat(house: Any, played: Any) -> None:
    report = asked(house.nobody, f"{played.path}/luck")
    assert (report["game_id"], report["version"], report["ruleset"]) == (played.id, played.version, "donjon@1")
    assert report["recomputed"]
    assert report["registered"] == "docs/luck.md"
    assert [seat["seat"] for seat in report["seats"]] == [1, 2]
    events = asked(house.nobody, f"{played.path}/events?limit=500")["events"]
    drawn = [draw for event in events for draw in event["draws"]]
    assert report["draws"] == len(drawn)
    fights = [draw["value"] for draw in drawn if draw["purpose"] == "fight"]
    (faces,) = [one for one in report["dice"] if one["kind"] == "donjon/fight"] if fights else [{"counts": [0] * 6}]
    assert faces["counts"] == [fights.count(face) for face in range(1, 7)]
    made = sum(len(seat["measures"]) for seat in report["seats"]) + len(report["dice"])
    assert report["tests"] == made


def test_an_earlier_position_is_told_as_it_was_then_and_kept(house: Any, played: Any, refusal: Any) -> None:
    version = played.version
    then = house.nobody.get(f"{played.path}/luck?at={version - 5}")
    assert then.json["version"] == version - 5
    tag = {"If-None-Match": then.headers["ETag"]}
    assert house.nobody.get(f"{played.path}/luck?at={version - 5}", tag).status_code == 304
    assert house.nobody.get(f"{played.path}/luck", tag).status_code == 200
    assert house.nobody.get(f"{played.path}/luck?at={version - 5}&lang=fr", tag).status_code == 200
    assert refusal(house.nobody.get(f"{played.path}/luck?at={version + 1}")) == "404 position-not-found"
    assert asked(house.nobody, f"{played.path}/luck?at=0")["seats"] == []


def test_the_picture_is_an_svg_in_the_language_and_theme_asked_for(house: Any, played: Any) -> None:
    seen = set()
    for language in ("en", "fr", "ja"):
        answer = house.nobody.get(f"{played.path}/luck.svg?lang={language}&theme=dark")
        assert answer.status_code == 200
        assert answer.content_type == "image/svg+xml; charset=utf-8"
        assert answer.headers["Content-Language"] == language
        assert "script" not in answer.headers["Content-Security-Policy"]
        root = ElementTree.fromstring(answer.data)
        assert root.get("data-theme") == "dark"
        seen.add(answer.data)
    assert len(seen) == 3
    tag = {"If-None-Match": answer.headers["ETag"]}
    assert house.nobody.get(f"{played.path}/luck.svg?lang=ja&theme=dark", tag).status_code == 304
    assert house.nobody.get(f"{played.path}/luck.svg?lang=ja", tag).status_code == 200


def test_a_watcher_of_a_delayed_table_sees_no_luck_of_the_future(house: Any) -> None:
    table = house.player().opens(watching="delayed:60")
    table.seat(table.creator)
    house.clock.pass_seconds(1)
    start = table.starts().version
    house.clock.pass_seconds(1)
    table.plays(5)
    assert asked(house.nobody, f"{table.path}/luck")["version"] == start
    assert house.nobody.get(f"{table.path}/luck.svg?at={start + 1}").status_code == 404
    assert asked(table.creator, f"{table.path}/luck")["version"] == table.version


def test_dungeon_roll_has_a_luck_of_its_own(house: Any) -> None:
    ada = house.player()
    table = ada.opens(1, ruleset="dungeon-roll@1").starts().plays(3)
    report = asked(ada, f"{table.path}/luck?lang=ja")
    assert {one["measure"] for one in report["seats"][0]["measures"]} >= {"champions", "scrolls"}
    assert all(one["kind"].startswith("dungeon-roll/") for one in report["dice"])


def test_a_player_is_told_over_the_games_that_are_over(house: Any, refusal: Any) -> None:
    ada = house.player()
    games = [over(house, ada) for _ in range(2)]
    over(house, ada, visibility="unlisted")
    ada.opens()
    report = asked(house.nobody, f"/v1/players/{ada.id}/luck")
    assert (report["games"], report["left"]) == (2, 0)
    assert asked(ada, f"/v1/players/{ada.id}/luck")["games"] == 3
    assert asked(house.player("Bob"), f"/v1/players/{ada.id}/luck")["games"] == 2
    each = [asked(house.nobody, f"{table.path}/luck") for table in games]
    pips = [one for game in each for seat in game["seats"] for one in seat["measures"] if one["measure"] == "pips"]
    mine = [one for one in report["measures"].get("donjon", []) if one["measure"] == "pips"]
    assert sum(one["got"] for one in mine) == sum(one["got"] for one in pips)
    assert sum(one["rolls"] for one in mine) == sum(one["rolls"] for one in pips)
    assert refusal(house.nobody.get(f"/v1/players/{'0' * 32}/luck")) == "404 player-not-found"


def test_of_a_player_no_more_games_are_looked_at_than_one_answer_can_bear(house: Any, monkeypatch: Any) -> None:
    ada = house.player()
    for _ in range(3):
        over(house, ada, 5)
    monkeypatch.setattr(counting, "GAMES_OF_PLAYER", 2)
    report = asked(house.nobody, f"/v1/players/{ada.id}/luck")
    assert (report["games"], report["left"]) == (2, 1)
    monkeypatch.setattr(counting, "GAMES_OF_PLAYER", 9)
    monkeypatch.setattr(counting, "EVENTS_AT_ONCE", 0)
    assert asked(house.nobody, f"/v1/players/{ada.id}/luck")["left"] == 1
    monkeypatch.setattr(counting, "EVENTS_AT_ONCE", 1)
    assert asked(house.nobody, f"/v1/players/{ada.id}/luck")["left"] == 0


def test_all_dice_are_counted_once_little_by_little(house: Any, monkeypatch: Any) -> None:
    assert asked(house.nobody, "/v1/luck")["games"] == 0
    ada = house.player()
    tables = [over(house, ada) for _ in range(3)]
    house.clock.pass_seconds(61)
    monkeypatch.setattr(counting, "EVENTS_AT_ONCE", 1)
    seen = [asked(house.nobody, "/v1/luck") for _ in range(4)]
    assert [(one["games"], one["left"]) for one in seen] == [(1, 2), (2, 1), (3, 0), (3, 0)]
    events = [event for table in tables for event in asked(ada, f"{table.path}/events?limit=500")["events"]]
    fights = [draw["value"] for event in events for draw in event["draws"] if draw["purpose"] == "fight"]
    counted = [one["counts"] for one in seen[-1]["dice"] if (one["kind"], one["test"]) == ("donjon/fight", "faces")]
    assert counted == ([[fights.count(face) for face in range(1, 7)]] if fights else [])
    tiles = [one for one in seen[-1]["dice"] if one["kind"] == "donjon/tile"]
    assert sum(one["n"] for one in tiles) == sum(
        draw["purpose"] == "tile" for event in events for draw in event["draws"]
    )


def test_an_answer_about_the_service_stays_for_a_minute(house: Any) -> None:
    ada = house.player()
    over(house, ada, 5)
    assert asked(house.nobody, "/v1/luck")["games"] == 1
    over(house, ada, 5)
    assert asked(house.nobody, "/v1/luck")["games"] == 1
    house.clock.pass_seconds(61)
    assert asked(house.nobody, "/v1/luck?lang=fr")["games"] == 2


def test_hidden_games_are_no_part_of_what_is_said_of_the_service(house: Any) -> None:
    ada = house.player()
    over(house, ada, 5, visibility="unlisted")
    played = ada.opens()
    played.seat(ada)
    played.starts()
    report = asked(house.auditor(), "/v1/luck")
    assert (report["games"], report["dice"]) == (0, [])


def test_no_answer_gives_a_verdict(house: Any, played: Any) -> None:
    for path in (f"{played.path}/luck", "/v1/luck", f"/v1/players/{played.creator.id}/luck"):
        report = asked(house.nobody, path)
        assert "verdict" not in report
        assert report["words"][-1].startswith("This is no verdict")
    audit = asked(house.nobody, f"{played.path}/audit")
    (statistics,) = [check for check in audit["checks"] if check["id"] == "V14"]
    assert statistics["result"] == "NOT CHECKED"
