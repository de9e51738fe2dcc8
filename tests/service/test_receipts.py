"""Receipts: what was written is signed for, in the same bytes whenever and wherever it is asked again."""

import re
import time
from typing import Any

import pytest

from events.event import Event
from events.log import whole
from events.notes import Opened, Signer, Unverified, Verifier, open_note, sign_note
from replay.receipts import Statement
from service.api.meta import everything
from service.api.routing import Api
from service.proofs.receipts import Notary
from service.proofs.signing_keys import SigningKeys


def opened(house: Any, note: str) -> Opened:
    return open_note(note.encode(), [Verifier.parse(house.deps.signing.receipts.vkey)])


def stated(house: Any, note: str) -> Statement:
    return Statement.read(note.encode(), Verifier.parse(house.deps.signing.receipts.vkey))


def events_of(house: Any, table: Any) -> list[Event]:
    found = list(whole(house.deps.log, bytes.fromhex(table.id)))
    assert all(isinstance(event, Event) for event in found)
    return found  # type: ignore[return-value]


def is_for_the_last_event(house: Any, table: Any, answer: Any) -> None:
    """The answer's receipt is good, and names what the log ends with."""
    last = events_of(house, table)[-1]
    said = stated(house, answer.json["receipt"])
    assert (said.origin, said.game_id.hex(), said.seq, said.hash, said.code) == (
        house.deps.signing.origin, table.id, last.seq, last.hash, None,
    )  # fmt: skip


def test_a_receipt_is_the_five_lines_that_are_documented_under_the_receipts_key(house: Any, table: Any) -> None:
    answer = table.first_legal()
    text, _, signature = answer.json["receipt"].rpartition("\n\n")
    kind, origin, game, seq, digest = text.split("\n")
    assert (kind, origin, game) == ("annals/1 receipt", "test.example/games", table.id)
    assert seq == str(answer.json["version"])
    assert re.fullmatch(r"[A-Za-z0-9+/]{43}=", digest)
    assert re.fullmatch("— test.example/games/receipts [A-Za-z0-9+/=]+\n", signature)
    assert opened(house, answer.json["receipt"]).signers[0].name == "test.example/games/receipts"
    log_key = Verifier.parse(house.deps.signing.log.vkey)
    with pytest.raises(Unverified):
        open_note(answer.json["receipt"].encode(), [log_key])


def test_the_notary_signs_byte_for_byte_as_any_signed_note_is() -> None:
    keys = SigningKeys.fresh("play.example/jeux-d-été")
    game, digest = bytes(range(16)), bytes(range(32))
    notary = Notary(keys)
    for note in (notary.receipt(game, 7, digest), notary.refusal(game, b"{}", 7, digest, "stale")):
        text = note.rpartition("\n\n")[0] + "\n"
        assert note.encode() == sign_note(text, keys.receipts)
        said = Statement.read(note.encode(), keys.receipts.verifier)
        assert (said.origin, said.game_id, said.seq, said.hash) == (keys.origin, game, 7, digest)


def test_every_step_of_a_tables_life_is_answered_with_the_receipt_of_its_last_event(house: Any) -> None:
    ada, bob = house.player(), house.player("Bob")
    made = ada.post("/v1/games", json={"ruleset": "donjon@1", "seats": 3})
    table = type(house.player().opens())(ada, made.json["links"]["self"])
    is_for_the_last_event(house, table, made)
    is_for_the_last_event(house, table, table.seat(bob))
    is_for_the_last_event(house, table, bob.delete(f"{table.path}/seats/2"))
    is_for_the_last_event(house, table, table.seat(ada, bot="wanderer"))
    is_for_the_last_event(house, table, ada.delete(f"{table.path}/seats/2"))
    is_for_the_last_event(house, table, table.seat(ada))
    is_for_the_last_event(house, table, table.seat(bob))
    is_for_the_last_event(house, table, ada.post(f"{table.path}/start"))
    to_act = ada if table.shown()["to_act"][0] < 3 else bob
    is_for_the_last_event(house, table, table.act({"type": "end-turn"}, table.version, to_act))
    is_for_the_last_event(house, table, ada.post(f"{table.path}/seats/1/resign"))


def test_a_claimed_turn_has_a_receipt_whatever_follows_from_it(house: Any) -> None:
    for absence in ("pass", "bot", "abandon"):
        table = house.player().opens(options={"turn_seconds": 60, "absence": absence})
        table.seat(table.creator)
        table.starts()
        house.clock.pass_seconds(61)
        claimed = table.creator.post(f"{table.path}/timeout")
        assert claimed.status_code == 201, claimed.text
        is_for_the_last_event(house, table, claimed)


def test_what_ends_a_game_has_the_receipt_of_the_close(house: Any) -> None:
    table = house.player().opens(2, options={"stalemate_rounds": 1})
    table.seat(table.creator)
    table.starts()
    while table.shown()["status"] == "playing":
        answer = table.act({"type": "end-turn"}, table.version, Idempotency_Key=f"k{table.version}")
        assert answer.status_code == 201
    assert answer.json["status"] == "finished"
    assert events_of(house, table)[-1].kind == "close"
    is_for_the_last_event(house, table, answer)
    again = table.act({"type": "end-turn"}, answer.json["seq"] - 1, Idempotency_Key=f"k{answer.json['seq'] - 1}")
    assert again.headers["Idempotency-Replayed"] == "true"
    assert again.json["receipt"] == answer.json["receipt"]
    assert again.data == answer.data


def test_a_fork_has_a_receipt_of_its_own_game(house: Any) -> None:
    table = house.player().opens(2, options={"stalemate_rounds": 1})
    table.seat(table.creator)
    table.starts()
    while table.shown()["status"] == "playing":
        assert table.act({"type": "end-turn"}, table.version).status_code == 201
    made = table.creator.post(f"{table.path}/forks", {"Idempotency-Key": "f"}, json={"version": 5})
    assert made.status_code == 201, made.text
    fork = type(table)(table.creator, made.json["links"]["self"])
    assert fork.id != table.id
    is_for_the_last_event(house, fork, made)
    again = table.creator.post(f"{table.path}/forks", {"Idempotency-Key": "f"}, json={"version": 5})
    assert again.json["receipt"] == made.json["receipt"]


def test_a_repeated_answer_has_the_same_receipt_at_another_worker_after_the_game_has_moved_on(
    house: Any, table: Any
) -> None:
    action, version = {"type": "end-turn"}, table.version
    first = table.act(action, version, Idempotency_Key="once")
    table.plays(3)
    for door in (table.creator, table.creator.at(house.worker())):
        again = table.act(action, version, door, Idempotency_Key="once")
        assert again.headers["Idempotency-Replayed"] == "true"
        assert again.data == first.data


def test_a_table_that_was_opened_before_has_the_receipt_it_had(house: Any) -> None:
    ada = house.player()
    body = {"ruleset": "donjon@1", "seats": 2}
    first = ada.post("/v1/games", {"Idempotency-Key": "open"}, json=body)
    assert ada.post(f"{first.json['links']['self']}/seats", json={}).status_code == 201
    again = ada.post("/v1/games", {"Idempotency-Key": "open"}, json=body)
    assert again.json["receipt"] == first.json["receipt"]
    assert stated(house, first.json["receipt"]).seq == 2  # its creator sits: the last event of that append


def test_a_dry_run_and_a_reading_have_no_receipt(table: Any) -> None:
    checked = table.act({"type": "end-turn"}, table.version, query="?check=1")
    assert checked.status_code == 200
    assert "receipt" not in checked.json
    assert "receipt" not in table.shown()


def test_nothing_is_signed_before_the_log_has_it(house: Any, table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    order: list[str] = []
    append, receipt = house.deps.log.append, house.deps.notary.receipt
    monkeypatch.setattr(house.deps.log, "append", lambda events: (append(events), order.append("appended"))[0])
    monkeypatch.setattr(house.deps.notary, "receipt", lambda *of: (order.append("signed"), receipt(*of))[1])
    assert table.first_legal().status_code == 201
    assert order == ["appended", "signed"]


# -- asked for later ---------------------------------------------------------------------------------------------


def test_the_receipt_of_any_event_can_be_asked_for_later(house: Any, table: Any) -> None:
    answer = table.first_legal()
    for event in events_of(house, table):
        shown = house.nobody.get(f"{table.path}/receipts/{event.seq}")
        assert shown.status_code == 200
        assert shown.json["hash"] == event.hash.hex()
        said = stated(house, shown.json["receipt"])
        assert (said.seq, said.hash) == (event.seq, event.hash)
    assert shown.json["receipt"] == answer.json["receipt"]
    bare = house.nobody.get(f"{table.path}/receipts/{event.seq}", {"Accept": "text/plain"})
    assert bare.content_type == "text/plain; charset=utf-8"
    assert bare.text == answer.json["receipt"]


def test_an_event_that_is_not_there_has_no_receipt(table: Any, refusal: Any) -> None:
    for seq in (0, table.version + 1, 999_999_999):
        assert refusal(table.creator.get(f"{table.path}/receipts/{seq}")) == "404 position-not-found"
    assert table.creator.get(f"{table.path}/receipts/-1").status_code == 404


def test_a_watcher_of_a_delayed_table_gets_no_receipt_of_what_it_may_not_see_yet(house: Any, refusal: Any) -> None:
    table = house.player().opens(watching="delayed:60")
    table.seat(table.creator)
    table.starts()
    house.clock.pass_seconds(61)
    version = table.version
    assert table.first_legal().status_code == 201
    watcher = house.player("Will")
    assert watcher.get(f"{table.path}/receipts/{version}").status_code == 200
    assert refusal(watcher.get(f"{table.path}/receipts/{version + 1}")) == "404 position-not-found"
    assert table.creator.get(f"{table.path}/receipts/{version + 1}").status_code == 200


def test_of_a_record_that_does_not_hold_nothing_is_signed(house: Any, table: Any, refusal: Any) -> None:
    stream = "{s" + table.id[0] + "}:ev:" + table.id
    entry = house.redis.xrange(stream, "4-0", "4-0")[0][1][b"e"]
    house.redis.xdel(stream, "4-0")
    length = house.redis.xlen(stream)
    assert entry
    assert length
    again = house.worker()
    for seq in (1, 4):
        assert refusal(again.get(f"{table.path}/receipts/{seq}")) == "409 record-not-sound"


# -- the description -----------------------------------------------------------------------------------------------


def test_every_call_that_writes_on_a_game_promises_a_receipt_and_a_refusal(house: Any) -> None:
    described = house.nobody.get("/openapi.json").json
    schemas = described["components"]["schemas"]
    writing = [
        (path, operation)
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
        if method != "get" and path.startswith("/v1/games") and not path.endswith(("/audits", "/disputes"))
    ]
    assert len(writing) >= 8
    for path, operation in writing:
        done = next(response for status, response in operation["responses"].items() if status in ("201", "200"))
        if operation["operationId"] == "act":
            done = operation["responses"]["201"]
        kind = done["content"]["application/json"]["schema"]["$ref"].rpartition("/")[2]
        assert "receipt" in schemas[kind]["required"], path
        if "{game_id}" in path:
            refused = operation["responses"]["404"]["content"]["application/problem+json"]["schema"]["$ref"]
            assert "refusal" in schemas[refused.rpartition("/")[2]]["properties"]


def test_routes_know_whether_they_write_on_a_game() -> None:
    assert isinstance(everything, Api)
    writing = {(route.method, route.template) for route in everything.routes if route.writes_on}
    assert ("POST", "/v1/games/{game_id}/actions") in writing
    assert ("DELETE", "/v1/games/{game_id}/seats/{seat}") in writing
    assert ("POST", "/v1/games") not in writing
    assert all(method in ("POST", "DELETE", "PUT", "PATCH") for method, _ in writing)


def test_a_receipt_is_cheap() -> None:
    notary = Notary(SigningKeys.fresh())
    game, digest = bytes(16), bytes(32)

    def took(count: int) -> float:
        started = time.perf_counter()
        for seq in range(count):
            notary.receipt(game, seq, digest)
        return (time.perf_counter() - started) / count

    assert min(took(50) for _ in range(5)) < 0.000_5, "bench/ measures it; this only finds a blunder"


def test_another_key_signs_another_note() -> None:
    game, digest = bytes(16), bytes(32)
    one, two = (SigningKeys("o", None, Signer.create("o/receipts")) for _ in range(2))
    note = Notary(one).receipt(game, 1, digest)
    with pytest.raises(Unverified):
        open_note(note.encode(), [two.receipts.verifier])


# -- seats in self-custody ------------------------------------------------------------------------------------------


def test_what_a_seat_signs_is_receipted_too_from_sitting_down_to_signing_off(house: Any) -> None:
    ada = house.player("Ada")
    table = ada.opens(2, sit=False, options={"stalemate_rounds": 1, "reveal_seconds": 30})
    seats = [house.holder(table, ada).joins(1, hero="tala")]
    is_for_the_last_event(house, table, seats[0].answer)
    seats.append(house.holder(table, house.player("Bob")).joins(2, hero="horan"))
    is_for_the_last_event(house, table, ada.post(f"{table.path}/start"))
    for seat in seats:
        seat.holder.reveal()
        is_for_the_last_event(house, table, seat.answer)
    while to_act := table.shown()["to_act"]:
        is_for_the_last_event(house, table, seats[to_act[0] - 1].moves({"type": "end-turn"}))
    for seat in seats:
        seat.holder.sign_off()
        is_for_the_last_event(house, table, seat.answer)
    assert events_of(house, table)[-1].kind == "close"


def test_a_signed_resignation_and_custody_given_up_are_receipted(house: Any) -> None:
    ada = house.player("Ada")
    table = ada.opens(2, sit=False, options={"reveal_seconds": 30})
    seats = [house.holder(table, ada).joins(number, hero=hero) for number, hero in ((1, "tala"), (2, "horan"))]
    table.starts()
    for seat in seats:
        seat.holder.reveal()
    is_for_the_last_event(house, table, ada.post(f"{table.path}/seats/2/custody"))
    seats[0].holder.resign()
    is_for_the_last_event(house, table, seats[0].answer)
