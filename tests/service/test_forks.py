"""Forks: playing on from a position of a game that is over."""

from typing import Any

import pytest


@pytest.fixture
def over(house: Any) -> Any:
    """A finished game of two seats, some of it explored."""
    while True:
        table = house.player("Ada").opens(options={"stalemate_rounds": 2})
        table.seat(table.creator)
        table.starts().plays(12)
        if table.version > 14:  # else it came to nothing: another one
            break
    while table.shown()["status"] == "playing":
        legal = table.legal()
        end = next((one for one in legal["actions"] if one["target"] == "next"), legal["actions"][-1])
        assert table.act(end["action"], legal["version"]).status_code == 201
    return table


def test_a_fork_goes_on_from_the_very_position_with_dice_of_its_own(house: Any, over: Any) -> None:
    bob = house.player("Bob")
    made = bob.post(f"{over.path}/forks", json={"version": 12})
    assert made.status_code == 201
    assert made.headers["Location"] == made.json["links"]["self"]
    fork = made.json
    source = over.shown()
    assert fork["forked_from"] == {"game_id": over.id, "version": 12}
    assert (fork["ruleset"], len(fork["seats"]), fork["options"]) == (source["ruleset"], 2, source["options"])
    assert fork["commitment"] != source["commitment"]
    path = fork["links"]["self"]
    assert bob.post(f"{path}/seats").status_code == 201
    begun = bob.post(f"{path}/start")
    assert begun.status_code == 200, begun.text
    there = bob.get(f"{path}/state").json
    here = bob.get(f"{over.path}/positions/12").json
    assert (there["state"], there["fingerprint"]) == (here["state"], here["fingerprint"])
    assert [seat["hero"] for seat in begun.json["seats"]] == [hero["name"] for hero in here["state"]["heroes"]]
    legal = bob.get(f"{path}/actions").json
    body = {"action": legal["actions"][0]["action"], "expected_version": legal["version"]}
    assert bob.post(f"{path}/actions", json=body).status_code == 201


def test_a_fork_that_is_asked_for_again_is_the_same_table(house: Any, over: Any) -> None:
    bob, key = house.player("Bob"), {"Idempotency-Key": "once"}
    made, again = (bob.post(f"{over.path}/forks", key, json={"version": 12}) for _ in range(2))
    assert (made.status_code, again.status_code) == (201, 201)
    assert again.json["game_id"] == made.json["game_id"]
    assert "Idempotency-Replayed" not in made.headers
    assert again.headers["Idempotency-Replayed"] == "true"
    other = bob.post(f"{over.path}/forks", key, json={"version": 11})
    assert (other.status_code, other.json["code"]) == (422, "idempotency-key-reused")
    unnamed = [bob.post(f"{over.path}/forks", json={"version": 12}).json["game_id"] for _ in range(2)]
    assert unnamed[0] != unnamed[1]


def test_a_fork_folds_and_audits_alone(house: Any, over: Any) -> None:
    ada = over.creator
    path = ada.post(f"{over.path}/forks", json={"version": 12}).json["links"]["self"]
    assert ada.post(f"{path}/seats").status_code == 201
    assert ada.post(f"{path}/start").status_code == 200
    assert ada.post(f"{path}/seats/1/resign").status_code == 201
    for name in house.redis.keys(f"*:ev:{over.id}"):
        house.redis.delete(name)  # the source is gone, and nobody misses it
    other = house.worker()
    assert other.get(path).json["grade"] == "EXACT"
    assert other.get(f"{path}/audit").json["verdict"] == "VERIFIED WITH LIMITS"


def test_the_pointer_goes_both_ways(house: Any, over: Any) -> None:
    fork = house.player("Bob").post(f"{over.path}/forks", json={"version": 12}).json
    assert fork["links"]["forked_from"] == over.path
    assert fork["links"]["source_position"] == f"{over.path}/positions/12"
    assert house.nobody.get(fork["links"]["source_position"]).status_code == 200
    listed = house.nobody.get(over.shown()["links"]["forks"]).json["games"]
    assert [game["game_id"] for game in listed] == [fork["game_id"]]
    assert listed[0]["forked_from"] == {"game_id": over.id, "version": 12}


def test_only_a_game_that_is_over_is_forked(table: Any) -> None:
    answer = table.creator.post(f"{table.path}/forks", json={"version": 5})
    assert table.problem(answer) == "409 cannot-fork"
    assert answer.json["reason"] == "not-finished"


def test_nothing_is_forked_before_the_start_or_after_the_end(over: Any) -> None:
    for version, reason in ((1, "before-start"), (4, "before-start"), (over.version, "game-over")):
        answer = over.creator.post(f"{over.path}/forks", json={"version": version})
        assert over.problem(answer) == "409 cannot-fork"
        assert answer.json["reason"] == reason
    assert over.problem(over.creator.post(f"{over.path}/forks", json={"version": 9_999})) == "404 position-not-found"


def test_who_sits_down_at_a_fork_chooses_nothing(over: Any) -> None:
    fork = over.creator.post(f"{over.path}/forks", json={"version": 12, "sit": False}).json
    answer = over.creator.post(f"{fork['links']['seats']}", json={"hero": "tala"})
    assert over.problem(answer) == "422 bad-choice"


def test_a_fork_of_a_private_game_is_private_unless_it_is_said(house: Any) -> None:
    table = house.player().opens(visibility="private", options={"stalemate_rounds": 1})
    table.seat(table.creator)
    table.starts()
    while table.shown()["status"] == "playing":
        table.act({"type": "end-turn"}, table.version)
    fork = table.creator.post(f"{table.path}/forks", json={"version": 6}).json
    assert fork["visibility"] == "private"
    assert house.nobody.get(fork["links"]["self"]).status_code == 404
    shown = table.creator.post(f"{table.path}/forks", json={"version": 6, "visibility": "public"}).json
    assert house.nobody.get(shown["links"]["self"]).status_code == 200
    assert house.nobody.get(shown["links"]["forked_from"]).status_code == 404


def test_a_fork_can_be_forked_again(house: Any, over: Any) -> None:
    ada = over.creator
    first = ada.post(f"{over.path}/forks", json={"version": 12}).json["links"]["self"]
    ada.post(f"{first}/seats")
    assert ada.post(f"{first}/start").status_code == 200
    for seat in (1, 2):
        if ada.get(first).json["status"] == "playing":  # the stalemate may come first
            assert ada.post(f"{first}/seats/{seat}/resign").status_code == 201
    second = ada.post(f"{first}/forks", json={"version": 5})
    assert second.status_code == 201, second.text
    path = second.json["links"]["self"]
    ada.post(f"{path}/seats")
    assert ada.post(f"{path}/start").status_code == 200
    states = [ada.get(f"{game}").json["state"] for game in (f"{path}/positions/4", f"{over.path}/positions/12")]
    assert states[0] == states[1]
