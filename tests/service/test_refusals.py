"""Refusals: who was refused can show it; they are kept for a while, so many, and shown to whom they were given."""

import hashlib
import json
from typing import Any

import pytest

from events.event import Event
from events.log import Unavailable
from events.notes import Verifier
from replay.receipts import Statement
from service.proofs.receipts import OWN_LIMIT, STRANGER_LIMIT, STRANGERS_LIMIT, Refusals

DAY = 86_400


def stated(house: Any, answer: Any) -> Statement:
    return read(house, answer.json["refusal"])


def read(house: Any, note: str) -> Statement:
    return Statement.read(note.encode(), Verifier.parse(house.deps.signing.receipts.vkey))


def kept(caller: Any, table: Any) -> list[str]:
    answer = caller.get(f"{table.path}/refusals")
    assert answer.status_code == 200, answer.text
    return [one["refusal"] for one in answer.json["refusals"]]


def test_a_refused_action_is_answered_with_a_signed_note_of_what_was_asked_and_where_the_game_stood(
    house: Any, table: Any
) -> None:
    body = json.dumps({"action": {"type": "use-fountain"}, "expected_version": table.version}).encode()
    answer = table.creator.post(f"{table.path}/actions", data=body, content_type="application/json")
    assert answer.status_code == 422
    said = stated(house, answer)
    shown = table.shown()
    assert (said.game_id.hex(), said.seq, said.hash.hex()) == (table.id, shown["version"], shown["head"])
    assert (said.code, said.request) == ("illegal", hashlib.sha256(body).digest())
    text = answer.json["refusal"].split("\n\n")[0].split("\n")
    assert text[:3] == ["annals/1 refusal", "test.example/games", table.id]
    assert len(text) == 7
    assert kept(table.creator, table) == [answer.json["refusal"]]


@pytest.mark.parametrize(
    ("body", "code"),
    [
        ({"action": {"type": "end-turn"}, "expected_version": 1}, "stale"),
        ({"action": {"type": "end-turn"}}, "precondition-required"),
        ({"action": {"type": "no-such"}, "expected_version": 99}, "illegal"),
        ({"expected_version": 5}, "invalid-body"),
    ],
)
def test_every_way_of_being_refused_is_signed(house: Any, table: Any, body: Any, code: str) -> None:
    answer = table.creator.post(f"{table.path}/actions", json=body)
    assert answer.json["code"] == code
    said = stated(house, answer)
    assert (said.code, said.seq) == (code, table.version)
    assert answer.json["title"]  # beside it stands what always stood


def test_a_body_that_is_no_json_and_one_of_another_type_are_named_by_their_bytes(house: Any, table: Any) -> None:
    for data, kind, code in (
        (b"{", "application/json", "malformed-json"),
        (b"a=1", "text/csv", "unsupported-media-type"),
    ):
        answer = table.creator.post(f"{table.path}/actions", data=data, content_type=kind)
        said = stated(house, answer)
        assert (said.code, said.request) == (code, hashlib.sha256(data).digest())


def test_a_refused_start_without_a_body_has_the_hash_of_nothing(house: Any) -> None:
    table = house.player().opens()
    answer = table.creator.post(f"{table.path}/start")
    assert (answer.json["code"], stated(house, answer).request) == ("seats-open", hashlib.sha256(b"").digest())
    answer = table.creator.post(f"{table.path}/start?hurry=1", data=b"now", content_type="text/plain")
    assert (answer.json["code"], stated(house, answer).request) == ("bad-query", hashlib.sha256(b"now").digest())


def test_other_calls_that_write_are_refused_in_writing_too(house: Any, table: Any) -> None:
    creator, other = table.creator, house.player("Olga")
    turn = {"action": {"type": "end-turn"}, "expected_version": 1}
    answers = [
        (creator.post(f"{table.path}/seats", json={}), "wrong-status"),
        (creator.delete(f"{table.path}/seats/1"), "wrong-status"),
        (creator.post(f"{table.path}/seats/9/resign"), "seat-not-found"),
        (creator.post(f"{table.path}/timeout", json={}), "no-clock"),
        (creator.post(f"{table.path}/forks", json={"version": 3}), "cannot-fork"),
        (
            other.post(f"{table.path}/actions", json=turn),
            "not-your-seat",
        ),
    ]
    for answer, code in answers:
        assert answer.json["code"] == code
        assert stated(house, answer).code == code


def test_a_language_that_is_not_spoken_is_refused_in_writing(house: Any, table: Any) -> None:
    answer = table.creator.post(f"{table.path}/actions?lang=xx", json={"action": {"type": "end-turn"}})
    assert (answer.json["code"], stated(house, answer).code) == ("bad-query", "bad-query")


def test_what_is_no_refusal_of_a_deed_is_not_signed(house: Any, table: Any) -> None:
    act = {"action": {"type": "use-fountain"}, "expected_version": table.version}
    answers = [
        house.nobody.post(f"{table.path}/actions", json=act),  # nobody asked
        house.nobody.post(f"{table.path}/actions", {"Authorization": "Bearer annals_x"}, json=act),
        table.creator.post(f"{table.path}/actions?check=1", json=act),  # a dry run
        table.creator.get(f"{table.path}/state?seat=9"),  # nothing would have been written
        table.creator.post(f"/v1/games/{'0' * 32}/actions", json=act),  # there is no such game
        table.creator.post(f"{table.path}/actions", data=b" " * 70_000, content_type="application/json"),
        table.creator.post("/v1/games", json={"ruleset": "chess@1", "seats": 2}),
    ]
    assert [answer.status_code // 100 for answer in answers] == [4] * len(answers)
    assert all("refusal" not in answer.json for answer in answers)
    assert kept(table.creator, table) == []


def test_a_private_table_signs_nothing_for_strangers(house: Any) -> None:
    table = house.player().opens(visibility="private")
    stranger = house.player("Olga")
    answer = stranger.post(f"{table.path}/seats", json={})
    assert answer.json["code"] == "game-not-found"
    assert "refusal" not in answer.json
    assert house.deps.refusals.of(bytes.fromhex(table.id)) == []


def test_a_refusal_tells_a_watcher_no_more_of_the_game_than_it_may_see(house: Any) -> None:
    table = house.player().opens(watching="none")
    table.seat(table.creator)
    start = table.starts().version
    house.clock.pass_seconds(1)
    assert table.plays(3).version > start
    watcher = house.player("Will")
    answer = watcher.post(f"{table.path}/actions", json={"action": {"type": "end-turn"}, "expected_version": 1})
    assert answer.json["code"] == "not-your-seat"
    assert stated(house, answer).seq == start


def test_the_service_failing_is_not_a_refusal(house: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise Unavailable("gone")

    monkeypatch.setattr(house.deps.log, "append", fail)
    answer = table.act({"type": "end-turn"}, table.version)
    assert answer.status_code == 503
    assert "refusal" not in answer.json


def test_a_refusal_that_cannot_be_kept_or_signed_is_still_an_answer(
    house: Any, table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise Unavailable("gone")

    monkeypatch.setattr(house.deps.refusals, "keep", fail)
    answer = table.act({"type": "end-turn"}, 1)
    assert (answer.status_code, stated(house, answer).code) == (412, "stale")

    def stumble(*_: object) -> None:
        raise ArithmeticError

    monkeypatch.setattr(house.deps.notary, "refusal", stumble)
    answer = table.act({"type": "end-turn"}, 1)
    assert answer.status_code == 412
    assert "refusal" not in answer.json


def test_of_a_damaged_game_the_head_is_signed_up_to_which_it_holds(house: Any, table: Any) -> None:
    version = table.plays(2).version
    good = house.redis.xrange("{s" + table.id[0] + "}:ev:" + table.id)[2][1][b"e"]
    house.redis.xdel("{s" + table.id[0] + "}:ev:" + table.id, "4-0")
    answer = table.act({"type": "end-turn"}, version, table.creator.at(house.worker()), "?seat=1")
    assert answer.json["code"] == "record-not-sound"
    said = stated(house, answer)
    assert said.seq == 3
    assert said.hash == Event.read(good).hash


# -- kept ----------------------------------------------------------------------------------------------------------


def test_one_sees_ones_own_refusals_and_auditors_and_operators_all(house: Any) -> None:
    table = house.player().opens()
    other = house.player("Olga")
    mine = table.creator.post(f"{table.path}/start").json["refusal"]
    house.clock.pass_seconds(1)
    theirs = other.post(f"{table.path}/start").json["refusal"]
    assert kept(table.creator, table) == [mine]
    assert kept(other, table) == [theirs]
    for role in ("auditor", "operator"):
        answer = house.auditor(role).get(f"{table.path}/refusals").json["refusals"]
        assert [(one["player_id"], one["refusal"]) for one in answer] == [(table.creator.id, mine), (other.id, theirs)]
        assert [one["at"] for one in answer] == ["2027-01-15T08:00:00.000Z", "2027-01-15T08:00:01.000Z"]
    assert house.nobody.get(f"{table.path}/refusals").status_code == 401


def test_the_same_refusal_again_is_the_same_note_and_kept_once(house: Any, table: Any) -> None:
    answers = [table.act({"type": "end-turn"}, 1, door) for door in (table.creator, table.creator.at(house.worker()))]
    assert answers[0].json["refusal"] == answers[1].json["refusal"]
    assert kept(table.creator, table) == [answers[0].json["refusal"]]


def test_refusals_are_kept_for_the_days_that_the_settings_say(house: Any) -> None:
    table = house.player().opens()
    first = table.creator.post(f"{table.path}/start").json["refusal"]
    house.clock.pass_seconds(29 * DAY)
    assert kept(table.creator, table) == [first]
    second = table.creator.post(f"{table.path}/forks", json={"version": 1}).json["refusal"]
    house.clock.pass_seconds(2 * DAY)
    assert kept(table.creator, table) == [second]
    keys = [key for key in house.redis.scan_iter() if b"refus" in key]
    assert len(keys) == 2
    assert all(key.startswith(b"{s" + table.id[0].encode() + b"}") for key in keys)
    assert all(28 * DAY < house.redis.ttl(key) <= 30 * DAY for key in keys)


def test_so_many_are_kept_of_each_caller_the_newest(house: Any) -> None:
    refusals, game = Refusals(house.redis, house.clock, 30), bytes(16)
    holder, stranger = b"h" * 16, b"s" * 16
    for number in range(OWN_LIMIT + 5):
        house.clock.pass_seconds(1)
        assert refusals.keep(game, holder, True, f"note {number}")
        assert refusals.keep(game, stranger, False, f"note {number}")
    assert [one.note for one in refusals.of(game, holder)] == [f"note {n}" for n in range(5, OWN_LIMIT + 5)]
    assert len(refusals.of(game, stranger)) == STRANGER_LIMIT
    assert len(refusals.of(game)) == OWN_LIMIT + STRANGER_LIMIT


def test_a_crowd_of_strangers_crowds_out_nobody_who_plays(house: Any) -> None:
    refusals, game = Refusals(house.redis, house.clock, 30), bytes(16)
    crowd = [number.to_bytes(16, "big") for number in range(STRANGERS_LIMIT + 10)]
    done = [refusals.keep(game, one, False, "no") for one in crowd]
    assert done == [True] * STRANGERS_LIMIT + [False] * 10
    assert refusals.keep(game, crowd[0], False, "again")
    assert refusals.keep(game, b"h" * 16, True, "mine")
    assert [one.note for one in refusals.of(game, b"h" * 16)] == ["mine"]
    house.clock.pass_seconds(31 * DAY)
    assert refusals.keep(game, crowd[-1], False, "later")
    assert [one.note for one in refusals.of(game)] == ["later"]
