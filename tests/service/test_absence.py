"""Absence: resigning, and claiming the turn of who does not come back; nobody freezes a game."""

from typing import Any

import pytest


@pytest.fixture
def two(house: Any) -> Any:
    """A maker of tables of two players with these options: (table, who is to act, who waits)."""

    def make(**options: Any) -> tuple[Any, Any, Any, int]:
        ada, bob = house.player("Ada"), house.player("Bob")
        table = ada.opens(options=options)
        table.seat(bob)
        table.starts()
        (due,) = table.shown()["to_act"]
        return table, *((ada, bob) if due == 1 else (bob, ada)), due

    return make


def test_a_turn_is_claimed_once_its_time_is_over(house: Any, two: Any) -> None:
    table, _, waiting, due = two(turn_seconds=60, absence="pass")
    house.clock.pass_seconds(40.5)
    early = waiting.post(f"{table.path}/timeout")
    assert table.problem(early) == "409 too-early"
    assert early.headers["Retry-After"] == "20"
    assert early.json["wait_ms"] == 19_500
    house.clock.pass_seconds(20)
    done = waiting.post(f"{table.path}/timeout")
    assert done.status_code == 201
    assert (done.json["kind"], done.json["seat"]) == ("timeout", due)
    assert done.json["to_act"] == [3 - due]
    assert done.json["narration"]
    assert table.problem(waiting.post(f"{table.path}/timeout")) == "409 too-early", "the clock begins anew"


def test_a_bot_plays_on_for_an_absent_seat(house: Any, two: Any) -> None:
    table, absent, waiting, due = two(turn_seconds=60, absence="bot")
    house.clock.pass_seconds(61)
    done = waiting.post(f"{table.path}/timeout")
    assert done.status_code == 201
    assert (done.json["kind"], done.json["facts"]["seat"]) == ("custody", due)
    seat = table.shown()["seats"][due - 1]
    assert seat["bot"]["name"]
    assert seat["player_id"] == absent.id
    legal = table.legal(waiting)
    answer = table.act({"type": "end-turn"}, legal["version"], absent)
    assert table.problem(answer) == "403 not-your-seat", "from here on the bot plays"
    assert absent.get(f"{table.path}/state").json["seat"] == due, "who was absent may still look"


def test_a_worker_that_has_not_seen_the_handing_over_does_not_let_the_player_act(house: Any, two: Any) -> None:
    table, absent, waiting, _ = two(turn_seconds=60, absence="bot")
    house.clock.pass_seconds(61)
    version = table.version
    assert waiting.at(house.worker()).post(f"{table.path}/timeout").status_code == 201
    assert table.problem(table.act({"type": "end-turn"}, version + 1, absent)) == "403 not-your-seat"
    assert table.problem(table.act({"type": "end-turn"}, version, absent)) in ("403 not-your-seat", "412 stale")


def test_a_table_is_abandoned_when_that_was_agreed(house: Any, two: Any) -> None:
    table, _, waiting, _ = two(turn_seconds=60, absence="abandon")
    house.clock.pass_seconds(61)
    done = waiting.post(f"{table.path}/timeout")
    assert done.status_code == 201
    assert (done.json["kind"], done.json["status"], done.json["to_act"]) == ("close", "abandoned", [])
    shown = table.shown()
    assert (shown["status"], shown["reason"], shown["outcome"]) == ("abandoned", "absent", None)
    assert table.problem(waiting.post(f"{table.path}/timeout")) == "409 wrong-status"


def test_without_a_clock_no_turn_is_claimed(house: Any, two: Any) -> None:
    table, _, waiting, _ = two()
    house.clock.pass_seconds(10**6)
    assert table.problem(waiting.post(f"{table.path}/timeout")) == "409 no-clock"


def test_only_the_turn_of_a_seat_to_act_is_claimed(house: Any, two: Any) -> None:
    table, _, waiting, due = two(turn_seconds=60)
    house.clock.pass_seconds(61)
    assert table.problem(waiting.post(f"{table.path}/timeout", json={"seat": 3 - due})) == "409 not-your-turn"
    assert waiting.post(f"{table.path}/timeout", json={"seat": due}).status_code == 201


def test_two_who_claim_the_same_turn_do_it_once(house: Any, two: Any, race: Any) -> None:
    table, absent, waiting, _ = two(turn_seconds=60)
    house.clock.pass_seconds(61)
    version = table.version
    calls = [lambda who=who: who.post(f"{table.path}/timeout") for who in (waiting, absent.at(house.worker()))]
    assert sorted(answer.status_code for answer in race(*calls)) == [201, 409]
    assert table.version == version + 1


def test_absence_passes_over_every_pending_decision(house: Any) -> None:
    phases: set[str] = set()
    while not {"turn-start", "placing"} <= phases:  # not every game comes to a decision before it is over
        table = house.player().opens(options={"turn_seconds": 10, "orientation": "player"})
        table.seat(table.creator)
        table.starts()
        while (state := table.creator.get(f"{table.path}/state").json)["status"] == "playing":
            phase = state["state"]["phase"]
            if phase in phases:
                assert table.first_legal().status_code == 201
                continue
            phases.add(phase)
            house.clock.pass_seconds(11)
            before = state["state"]["turn"]
            done = table.creator.post(f"{table.path}/timeout")
            assert done.status_code == 201, (phase, done.text)
            after = table.creator.get(f"{table.path}/state").json["state"]
            assert after["turn"] > before or after["phase"] == "game-over"


# -- resigning -------------------------------------------------------------------------------------------------------


def test_a_seat_resigns_and_blocks_nobody(two: Any) -> None:
    table, resigning, waiting, due = two()
    done = resigning.post(f"{table.path}/seats/{due}/resign")
    assert done.status_code == 201
    assert (done.json["kind"], done.json["seat"], done.json["to_act"]) == ("resign", due, [3 - due])
    assert done.json["action"] == {"type": "resign"}
    for _ in range(3):
        assert table.first_legal(waiting).status_code == 201
        assert table.shown()["to_act"] in ([3 - due], [])


def test_a_seat_resigns_when_it_is_not_its_turn(two: Any) -> None:
    table, _, waiting, due = two()
    done = waiting.post(f"{table.path}/seats/{3 - due}/resign")
    assert done.status_code == 201
    assert done.json["to_act"] == [due]


def test_a_seat_resigns_once(two: Any) -> None:
    table, resigning, _, due = two()
    assert resigning.post(f"{table.path}/seats/{due}/resign").status_code == 201
    again = resigning.post(f"{table.path}/seats/{due}/resign")
    assert table.problem(again) == "422 illegal"
    assert again.json["reason"] == "seat-withdrew"


def test_when_all_have_resigned_the_game_is_over(two: Any) -> None:
    table, first, second, due = two()
    first.post(f"{table.path}/seats/{due}/resign")
    done = second.post(f"{table.path}/seats/{3 - due}/resign")
    assert (done.json["status"], done.json["outcome"]["ending"]) == ("finished", "withdrawal")


def test_a_seat_that_is_not_there_does_not_resign(two: Any) -> None:
    table, resigning, _, _ = two()
    assert table.problem(resigning.post(f"{table.path}/seats/9/resign")) == "404 seat-not-found"
    assert table.problem(resigning.post(f"{table.path}/seats/0/resign")) == "404 seat-not-found"


def test_nobody_resigns_before_the_start(house: Any) -> None:
    table = house.player().opens()
    assert table.problem(table.creator.post(f"{table.path}/seats/1/resign")) == "409 wrong-status"
