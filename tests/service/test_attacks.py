"""What an attacker, or a client with bad luck, tries with acts: other people's seats, stale workers, retries, keys."""

import random
from typing import Any

import pytest

from service import commands

KEY = {"Idempotency-Key": "once"}


def quick(player: Any, **table: Any) -> Any:
    """A table of two, both seats held by its creator, that sees soon that nothing happens."""
    opened = player.opens(options={"stalemate_rounds": 1}, **table)
    opened.seat(player)
    return opened.starts()


def dull(table: Any) -> tuple[dict[str, Any], int]:
    """An action that brings the turn nearer to its end, and the version it is meant for."""
    legal = table.legal()
    ends = [each["action"] for each in legal["actions"] if each["action"]["type"] == "end-turn"]
    return (ends or [legal["actions"][-1]["action"]])[0], legal["version"]


def played_out(table: Any) -> Any:
    while table.shown()["status"] == "playing":
        assert table.act(*dull(table)).status_code == 201
    return table


# -- other people's seats --------------------------------------------------------------------------------------------


def test_who_left_a_seat_cannot_play_it_through_a_worker_that_is_behind(house: Any, refusal: Any) -> None:
    ada, bob = house.player("Ada"), house.player("Bob")
    table = house.player("Cleo").opens(seats=2)
    behind = ada.at(house.worker())
    table.seat(ada)
    assert behind.get(table.path).json["seats"][1]["name"] == "Ada"
    ada.delete(f"{table.path}/seats/2")
    table.seat(bob)
    table.starts()
    while table.shown()["to_act"] != [2]:
        table.first_legal()
    legal = table.legal(bob)
    for query in ("?seat=2", "", "?check=1"):
        assert refusal(table.act(legal["actions"][0]["action"], legal["version"], behind, query)) == "403 not-your-seat"
    assert refusal(behind.post(f"{table.path}/seats/2/resign")) == "403 not-your-seat"
    assert table.version == legal["version"]


@pytest.mark.parametrize("call", ["act", "resign"])
def test_a_seat_that_changes_hands_between_the_check_and_the_act_is_not_played(
    house: Any, refusal: Any, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    ada, bob = house.player("Ada"), house.player("Bob")
    table = house.player("Cleo").opens(seats=2)
    table.seat(ada)
    unhurried = getattr(commands, "submit" if call == "act" else "resign")

    def overtaken(*arguments: Any) -> Any:
        monkeypatch.undo()
        ada.delete(f"{table.path}/seats/2")
        table.seat(bob)
        table.starts()
        return unhurried(*arguments)

    monkeypatch.setattr(commands, unhurried.__name__, overtaken)
    if call == "act":
        answer = table.act({"type": "end-turn"}, 7, ada, "?seat=2")
    else:
        answer = ada.post(f"{table.path}/seats/2/resign")
    assert refusal(answer) == "403 not-your-seat"


def test_who_left_a_private_table_learns_nothing_more_of_it_at_a_worker_that_is_behind(
    house: Any, refusal: Any
) -> None:
    ada, bob = house.player("Ada"), house.player("Bob")
    table = ada.opens(visibility="private")
    table.seat(ada, player=bob.id)
    behind = bob.at(house.worker())
    assert behind.get(table.path).status_code == 200
    bob.delete(f"{table.path}/seats/2")
    table.seat(ada)
    table.starts()
    for action in ({"type": "end-turn"}, {"type": "nonsense"}):
        for query in ("", "?check=1", "?seat=2"):
            assert refusal(table.act(action, 1, behind, query)) == "404 game-not-found"


# -- retries ---------------------------------------------------------------------------------------------------------


def test_a_retry_that_names_no_seat_is_answered_the_same_after_the_turn_has_passed(house: Any) -> None:
    table = quick(house.player())
    before = table.shown()["to_act"]
    while table.shown()["to_act"] == before:
        asked = dull(table)
        done = table.act(*asked, Idempotency_Key=f"at-{asked[1]}")
    again = table.act(*asked, Idempotency_Key=f"at-{asked[1]}")
    assert (again.status_code, again.json) == (201, done.json)
    assert again.headers["Idempotency-Replayed"] == "true"


def test_a_retry_that_names_no_seat_is_answered_the_same_after_the_game_is_over(house: Any) -> None:
    table = quick(house.player())
    while table.shown()["status"] == "playing":
        asked = dull(table)
        done = table.act(*asked, Idempotency_Key=f"at-{asked[1]}")
    again = table.act(*asked, Idempotency_Key=f"at-{asked[1]}")
    assert (again.status_code, again.json) == (201, done.json)


def test_a_retry_is_answered_the_same_after_a_bot_took_over(house: Any, refusal: Any) -> None:
    ada, bob = house.player("Ada"), house.player("Bob")
    table = ada.opens(options={"turn_seconds": 10, "absence": "bot"})
    table.seat(bob)
    table.starts()
    late, other = (ada, bob) if table.shown()["to_act"] == [1] else (bob, ada)
    legal = table.legal(late)
    asked = legal["actions"][0]["action"], legal["version"], late
    done = table.act(*asked, Idempotency_Key="once")
    house.clock.pass_seconds(11)
    assert other.post(f"{table.path}/timeout").status_code == 201
    again = table.act(*asked, Idempotency_Key="once")
    assert (again.status_code, again.json) == (201, done.json)
    assert refusal(table.act(*asked, Idempotency_Key="another")) == "403 not-your-seat"


def test_a_table_opened_again_after_an_upgrade_is_the_same_table(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = house.player()
    table = ada.opens(headers=KEY)
    monkeypatch.setattr(commands, "BUILD", "annals 99.0")
    assert ada.opens(headers=KEY).id == table.id


def test_a_table_opened_again_is_found_though_somebody_sat_down_in_the_same_millisecond(house: Any) -> None:
    ada = house.player()
    table = ada.opens(sit=False, headers=KEY)
    table.seat(house.player("Bob"))
    assert ada.opens(sit=False, headers=KEY).id == table.id


# -- keys of the dice ------------------------------------------------------------------------------------------------


def test_another_master_key_under_the_same_name_draws_nothing(house: Any, table: Any, refusal: Any) -> None:
    from service.app import create_app

    impostor = house.bootstrap()
    impostor.keyring = type(impostor.keyring)({"test": bytes.fromhex("22" * 32)})
    caller = table.creator.at(house.worker())
    caller.client = create_app(impostor).test_client()
    legal = table.legal(caller)
    assert refusal(table.act(legal["actions"][0]["action"], legal["version"], caller)) == "503 key-missing"
    table.plays(3)
    assert table.creator.get(f"{table.path}/audit").json["verdict"] == "VERIFIED WITH LIMITS"


# -- everything at once ----------------------------------------------------------------------------------------------


def test_a_table_is_opened_filled_and_started_once_though_everything_comes_at_once(house: Any, race: Any) -> None:
    ada = house.player("Ada")
    doors = [house.worker() for _ in range(3)]
    opened = race(
        *[
            lambda door=door: ada.at(door).post("/v1/games", KEY, json={"ruleset": "donjon@1", "seats": 2})
            for door in doors
        ]
    )
    (path,) = {answer.json["links"]["self"] for answer in opened}
    others = [house.player(f"P{number}") for number in range(3)]
    calls = [lambda one=one, door=door: one.at(door).post(f"{path}/seats") for one in others for door in doors]
    calls += [lambda door=door: ada.at(door).post(f"{path}/start") for door in doors]
    calls += [lambda one=one: one.delete(f"{path}/seats/2") for one in others]
    random.Random(5).shuffle(calls)
    assert all(answer.status_code < 500 for answer in race(*calls))
    ada.post(f"{path}/seats")
    ada.post(f"{path}/start")
    kinds = [event["kind"] for event in ada.get(f"{path}/events").json["events"]]
    assert (kinds.count("create"), kinds.count("lock"), kinds.count("seeded")) == (1, 1, 1)
    assert ada.get(f"{path}/audit").json["verdict"] == "VERIFIED WITH LIMITS"
