"""Seats that keep their own keys and dice: whole games over REST, and everything that may go wrong with a signature."""

import base64
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from events.event import Event
from events.seat import SeatKey, new_secret
from events.signing import Sealed, SignedAction
from events.tlog.merkle import BadProof
from events.tlog.policy import Policy
from replay.position import EXACT, Diverged, Position
from service import clerk
from service.app import create_app
from service.clients.self_custody import MEDIA_TYPE, NotSeated, unframed
from service.proofs.log_folder import log_at
from service.proofs.sequencer import sequencer_of


def sent(sealed: Sealed, **changed: Any) -> dict[str, Any]:
    body = {"signed": sealed.action.data, "signature": sealed.signature} | changed
    return {name: base64.b64encode(value).decode() for name, value in body.items()}


@pytest.fixture
def seats(house: Any) -> list[Any]:
    """Two players in self-custody at an open table."""
    ada, bob = house.player("Ada"), house.player("Bob")
    table = ada.opens(2, sit=False, options={"stalemate_rounds": 2, "turn_seconds": 60, "reveal_seconds": 30})
    first = house.holder(table, ada).joins(1, hero="victorius")
    return [first, house.holder(table, bob).joins(2, hero="aderyn")]


@pytest.fixture
def playing(seats: list[Any]) -> list[Any]:
    """The same at play."""
    seats[0].table.starts()
    for seat in seats:
        seat.holder.reveal()
        assert seat.answer.status_code == 201, seat.answer.text
    return seats


def due(seats: list[Any]) -> Any:
    """Whose turn it is."""
    to_act = seats[0].table.shown()["to_act"]
    return next(seat for seat in seats if seat.holder.seat in to_act)


def ends(seats: list[Any]) -> None:
    """Both settle what is pending, and pass, until nobody gets on."""
    while seats[0].table.shown()["to_act"]:
        seat = due(seats)
        legal = [one["action"] for one in seat.table.legal(seat.caller, f"?seat={seat.holder.seat}")["actions"]]
        passing = {"type": "end-turn"}
        assert seat.moves(passing if passing in legal else legal[0]).status_code == 201


def stored(seat: Any) -> list[Event]:
    return [Event.read(data) for data in unframed(seat.fetch(0))]


def test_play_waits_for_every_link(seats: list[Any]) -> None:
    table = seats[0].table
    shown = table.starts().shown()
    assert (shown["status"], shown["to_act"], shown["to_reveal"]) == ("open", [], [1, 2])
    assert shown["due_at"] > shown["updated_at"]
    seats[1].holder.reveal()
    assert table.shown()["to_reveal"] == [1]
    seats[0].holder.reveal()
    assert seats[0].answer.json["kind"] == "reveal"
    assert (seats[0].answer.json["status"], table.shown()["to_reveal"]) == ("playing", [])
    kinds = [event.kind for event in stored(seats[0])]
    assert kinds == ["create", "join", "join", "lock", "reveal", "reveal", "seeded"]


def test_a_whole_game_is_signed_and_every_client_checks_each_roll(playing: list[Any]) -> None:
    first, table = playing[0], playing[0].table
    for _ in range(12):
        if table.shown()["to_act"]:
            assert due(playing).moves().status_code == 201
    ends(playing)
    shown = table.shown()
    assert (shown["status"], shown["to_sign_off"]) == ("finished", [1, 2])
    for seat in playing:
        seat.holder.sign_off()
        assert seat.answer.status_code == 201, seat.answer.text
    events = stored(first)
    assert [event.kind for event in events[-3:]] == ["signoff", "signoff", "close"]
    assert any("x" in event.body for event in events if event.kind == "act")
    checked = Position(bytes.fromhex(table.id), check_dice=True)  # raises where anything does not hold
    for event in events:
        checked.advance(event)
    assert (checked.grade, checked.closed) == (EXACT, True)
    assert first.holder.catch_up().head == checked.head
    assert [seat["custody"] for seat in table.shown()["seats"]] == ["self", "self"]


def test_people_bots_and_seats_in_self_custody_play_together(house: Any) -> None:
    ada = house.player("Ada")
    table = ada.opens(3, options={"stalemate_rounds": 2})  # seat 1: custodial
    assert table.seat(ada, bot="wanderer").status_code == 201
    bob = house.holder(table, house.player("Bob")).joins(3, hero="tala")
    table.starts()
    bob.holder.reveal()
    while to_act := table.shown()["to_act"]:
        if to_act == [2]:
            clerk.act(house.deps, bytes.fromhex(table.id))
        elif to_act == [3]:
            assert bob.moves({"type": "end-turn"}).status_code == 201
        else:
            assert table.act({"type": "end-turn"}, table.version).status_code == 201
    bob.holder.sign_off()
    assert table.shown()["status"] == "finished"
    assert bob.holder.catch_up().closed


def test_the_same_bytes_again_get_the_same_answer(playing: list[Any]) -> None:
    seat = due(playing)
    posted: list[tuple[str, Mapping[str, Any]]] = []
    send = seat.post

    def post(path: str, body: Mapping[str, Any]) -> Any:
        posted.append((path, body))
        return send(path, body)

    seat.holder._post = post
    done = seat.moves()
    version = seat.table.version
    while due(playing) is seat:
        seat.moves()
    again = seat.caller.post(f"{seat.table.path}/{posted[0][0]}", json=posted[0][1])
    assert again.status_code == 201
    assert again.json == done.json
    assert again.headers["Idempotency-Replayed"] == "true"
    assert stored(seat)[version - 1].seq == version


def test_a_join_again_gets_the_same_answer(house: Any) -> None:
    ada = house.player("Ada")
    table = ada.opens(2, sit=False)
    seat = house.holder(table, ada)
    head = seat.holder.catch_up()
    key = SeatKey(seat.secret, head.game_id, 1, head.version)
    body = sent(key.join(head.head, {"hero": "tala"}))
    first, second = (ada.post(f"{table.path}/seats", json=body) for _ in range(2))
    assert first.json == second.json
    assert [event.kind for event in stored(seat)] == ["create", "join"]


def test_a_second_device_with_the_secret_goes_on(house: Any, playing: list[Any]) -> None:
    seat = due(playing)
    other = house.holder(seat.table, seat.caller, seat.secret)
    other.holder.resume(seat.holder.seat)
    assert other.moves().status_code == 201
    stranger = house.holder(seat.table, seat.caller)
    with pytest.raises(NotSeated):
        stranger.holder.resume(seat.holder.seat)


def test_a_seat_that_signs_cannot_be_played_unsigned_until_it_gives_its_custody_up(
    playing: list[Any], refusal: Any
) -> None:
    seat, table = due(playing), playing[0].table
    action = seat.move()
    assert refusal(table.act(action, table.version, seat.caller)) == "422 signature-required"
    number = seat.holder.seat
    assert refusal(seat.caller.post(f"{table.path}/seats/{number}/resign")) == "422 signature-required"
    done = seat.caller.post(f"{table.path}/seats/{number}/custody")
    assert (done.status_code, done.json["kind"]) == (201, "custody")
    assert table.shown()["seats"][number - 1]["custody"] == "server"
    assert table.act(action, table.version, seat.caller).status_code == 201
    assert refusal(seat.caller.post(f"{table.path}/seats/{number}/custody")) == "422 signature-unexpected"
    position = seat.holder.catch_up()
    key = seat.holder._key
    assert key is not None
    late = key.sign("act", position.seats[number - 1].signed, position.version, position.head, "end-turn")
    assert refusal(seat.caller.post(f"{table.path}/actions", json=sent(late))) == "422 signature-unexpected"


def test_only_who_holds_a_seat_in_self_custody_gives_it_up(playing: list[Any], refusal: Any) -> None:
    first, second = playing
    answer = second.caller.post(f"{first.table.path}/seats/{first.holder.seat}/custody")
    assert refusal(answer) == "403 not-your-seat"


def test_a_seat_resigns_with_a_signature(playing: list[Any]) -> None:
    seat = due(playing)
    seat.holder.resign()
    assert (seat.answer.status_code, seat.answer.json["kind"]) == (201, "resign")
    assert playing[0].holder.catch_up().grade == EXACT


def test_a_game_that_is_over_is_closed_though_a_seat_does_not_sign_off(house: Any, playing: list[Any]) -> None:
    ends(playing)
    table = playing[0].table
    playing[0].holder.sign_off()
    game_id = bytes.fromhex(table.id)
    assert clerk.next_due(house.deps.positions.load(game_id), 0) == house.deps.clock() + 60_000
    house.clock.pass_seconds(61)
    clerk.Clerk(house.deps)._attend(game_id)
    assert stored(playing[0])[-1].kind == "close"
    assert playing[1].caller.post(f"{table.path}/signoff", json={"signed": "", "signature": ""}).status_code == 422


def test_a_seat_that_never_reveals_is_freed_and_the_others_commit_to_what_is_public(
    house: Any, seats: list[Any], refusal: Any
) -> None:
    first, second = seats
    table = first.table.starts()
    first.holder.reveal()
    assert refusal(first.caller.post(f"{table.path}/timeout")) == "409 too-early"
    house.clock.pass_seconds(31)
    assert first.caller.post(f"{table.path}/timeout").status_code == 201
    shown = table.shown()
    assert (shown["status"], shown["to_reveal"], shown["seats"][1]["player_id"]) == ("open", [], None)
    second.joins(2, hero="tala")
    table.starts()
    second.holder.reveal()
    first.holder.reveal()
    assert first.answer.json["status"] == "playing"
    links = [position.seats[0].first for position in (first.holder.catch_up(), second.holder.catch_up())]
    assert first.holder._key is not None
    assert links == [first.holder._key.chain.link(2)] * 2  # link 1 was public, so link 2 is what the dice come from
    assert due(seats).moves().status_code == 201


def test_the_clerk_frees_a_seat_that_never_reveals(house: Any, seats: list[Any]) -> None:
    table = seats[0].table.starts()
    house.clock.pass_seconds(31)
    clerk.Clerk(house.deps)._attend(bytes.fromhex(table.id))
    shown = table.shown()
    assert (shown["status"], shown["to_reveal"]) == ("open", [])
    assert [seat["custody"] for seat in shown["seats"]] == [None, "self"]


def test_a_table_that_waits_for_links_takes_nobody_in_and_lets_nobody_go(seats: list[Any], refusal: Any) -> None:
    table = seats[0].table.starts()
    assert refusal(table.seat(seats[0].caller)) == "409 wrong-status"
    assert refusal(seats[0].caller.delete(f"{table.path}/seats/1")) == "409 wrong-status"
    assert refusal(seats[0].caller.post(f"{table.path}/start")) == "409 wrong-status"
    assert refusal(table.act({"type": "end-turn"}, table.version)) == "409 wrong-status"


# -- what is not accepted --------------------------------------------------------------------------------------------


WRONG = {
    "another number": {"pseq": 1},
    "another head": {"head": b"h" * 32},
    "another version": {"head_seq": 3},
    "another game": {"game_id": b"g" * 16},
    "another link": {"r": b"r" * 32},
}


@pytest.mark.parametrize("wrong", WRONG)
def test_what_does_not_follow_is_refused_and_changes_nothing(playing: list[Any], wrong: str, refusal: Any) -> None:
    seat, table = due(playing), playing[0].table
    position, key = seat.holder.catch_up(), seat.holder._key
    assert key is not None
    number = position.seats[seat.holder.seat - 1].signed
    fields = {
        "kind": "act", "game_id": position.game_id, "seat": seat.holder.seat, "pseq": number, "name": "end-turn",
        "head_seq": position.version, "head": position.head, "r": key.chain.link(number), "args": {},
    }  # fmt: skip
    made = SignedAction.write(**(fields | WRONG[wrong])).sign(key._key)
    stale = wrong in ("another head", "another version")
    answer = seat.caller.post(f"{table.path}/actions", json=sent(made))
    assert refusal(answer) == ("412 stale" if stale else "422 signature-wrong")
    assert table.version == position.version


def test_a_signature_by_another_key_or_over_other_bytes_is_refused(playing: list[Any], refusal: Any) -> None:
    seat, table = due(playing), playing[0].table
    position, key = seat.holder.catch_up(), seat.holder._key
    assert key is not None
    number = position.seats[seat.holder.seat - 1].signed
    good = key.sign("act", number, position.version, position.head, "end-turn")
    stranger = SeatKey(new_secret(), position.game_id, seat.holder.seat, 1)
    for signature in (good.action.sign(stranger._key).signature, bytes(64), good.signature[:32] + bytes(32)):
        answer = seat.caller.post(f"{table.path}/actions", json=sent(good, signature=signature))
        assert refusal(answer) == "422 signature-wrong"
        assert answer.json["check"] == "signature"
    assert table.version == position.version


@pytest.mark.parametrize("key", ["01" + "00" * 31, "00" * 32, "ed" + "ff" * 30 + "7f"])
def test_a_key_that_fits_any_message_cannot_sit_down(house: Any, refusal: Any, key: str) -> None:
    ada = house.player("Ada")
    table = ada.opens(2, sit=False)
    position = house.holder(table, ada).holder.catch_up()
    args = {"pk": bytes.fromhex(key), "choice": {"hero": "tala"}}
    made = SignedAction.write("join", position.game_id, 1, 0, position.version, position.head, b"r" * 32, args=args)
    answer = ada.post(f"{table.path}/seats", json=sent(Sealed(made, bytes.fromhex("01" + "00" * 63))))
    assert refusal(answer) == "422 signature-wrong"
    assert answer.json["check"] == "key"


@pytest.mark.parametrize(
    "body",
    [
        {"signed": "AA=="}, {"signature": "AA=="}, {"signed": "?", "signature": "?"}, {"signed": "", "signature": ""},
        {"signed": "AA", "signature": "AA"}, {"signed": "wA==", "signature": "A" * 86 + "=="},
    ],
    ids=str,
)  # fmt: skip
def test_what_cannot_be_read_is_said_plainly(playing: list[Any], refusal: Any, body: dict[str, str]) -> None:
    table = playing[0].table
    for path in ("actions", "reveal", "signoff", "seats/1/resign"):
        answer = playing[0].caller.post(f"{table.path}/{path}", json=body)
        assert refusal(answer) == "422 invalid-body", path
        assert answer.json["errors"][0]["pointer"] in ("", "/signed", "/signature")


def test_something_signed_for_another_call_is_refused(playing: list[Any], refusal: Any) -> None:
    seat, table = due(playing), playing[0].table
    position, key = seat.holder.catch_up(), seat.holder._key
    assert key is not None
    made = key.sign("resign", position.seats[seat.holder.seat - 1].signed, position.version, position.head)
    answer = seat.caller.post(f"{table.path}/actions", json=sent(made))
    assert refusal(answer) == "422 invalid-body"
    assert "act" in answer.json["errors"][0]["detail"]


def test_a_client_signs_nothing_over_a_history_that_was_changed(house: Any, playing: list[Any]) -> None:
    seat = due(playing)
    assert seat.moves().status_code == 201
    truth = seat.fetch

    def forged(after: int) -> bytes:
        data = bytearray(truth(after))
        data[-1] ^= 1
        return bytes(data)

    other = house.holder(seat.table, seat.caller, seat.secret)
    other.holder._fetch = forged
    with pytest.raises((Diverged, ValueError)):
        other.holder.resume(seat.holder.seat)


def test_stored_bytes_are_those_of_the_log(playing: list[Any]) -> None:
    table = playing[0].table
    events = stored(playing[0])
    shown = table.creator.get(f"{table.path}/events").json["events"]
    assert [event.hash.hex() for event in events] == [event["hash"] for event in shown]
    part = table.creator.get(f"{table.path}/events?after=2&limit=3", {"Accept": MEDIA_TYPE}).data
    assert [Event.read(data).seq for data in unframed(part)] == [3, 4, 5]


# -- the log of games ------------------------------------------------------------------------------------------------


def test_a_checkpoint_that_a_seat_signs_is_of_our_log_and_holds_the_tables_opening(
    house: Any, refusal: Any, tmp_path: Path
) -> None:
    deps = house.bootstrap(log_dir=str(tmp_path / "log"))
    house.app = create_app(deps)
    sequencer = sequencer_of(deps)
    assert sequencer is not None
    ada = house.player("Ada")
    older, table = ada.opens(2), None
    assert sequencer.step()
    early = log_at(deps.config.log_path)
    size, root = 1, early.root(1)
    table = ada.opens(2, sit=False)
    seat = house.holder(table, ada)
    for cp in ((size, root), (size, b"r" * 32), (99, root)):
        seat.holder.join(1, {"hero": "tala"}, cp)
        assert refusal(seat.answer) == "422 signature-wrong", cp
    assert sequencer.step()
    proof = house.nobody.get(f"{table.path}/proofs/open")
    policy = Policy.parse(house.nobody.get("/v1/log/policy").data)
    cp = seat.holder.opened_in_log(proof.data, policy)
    with pytest.raises(BadProof):
        seat.holder.opened_in_log(house.nobody.get(f"{older.path}/proofs/open").data, policy)
    seat.holder.join(1, {"hero": "tala"}, cp)
    assert seat.answer.status_code == 201, seat.answer.text
    sequencer.close()
