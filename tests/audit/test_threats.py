"""One test a threat: the cheat is played, and the verdict is exactly the one that is promised (docs/audit.md).

O operator, D intruder with the database, P player, N network. What only witnesses could show is a limit, and said.
"""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest

from events import seeds
from events.codec import decode
from events.event import Event
from events.log import Damage, Head
from events.notes import Signer
from events.seat import SeatKey
from events.signing import Sealed, SignedAction, verified
from events.tlog.checkpoint import Checkpoint
from events.tlog.proof import Continuation, Inclusion
from replay.audit import (
    LIMIT,
    NOT_PROVEN,
    PASS,
    REFUTED,
    UNDETERMINED,
    VERIFIED,
    VERIFIED_WITH_LIMITS,
    Check,
    Trust,
    Verdict,
    audit,
    audit_bundle,
)
from replay.position import Diverged
from service.clients.self_custody import SelfCustody, framed
from service.drafts import WrongSignature
from tests.audit.corpus import (
    CASES,
    ORIGIN,
    Game,
    House,
    custodial,
    own,
    packed,
    rechained,
    relogged,
    secret,
    with_body,
)


def judged(data: bytes, house: House, quorum: bool = True, **notes: Any) -> Verdict:
    return audit_bundle(data, Trust(policy=house.policy(quorum), **notes))


def case(name: str) -> Verdict:
    made = CASES[name]()
    return audit_bundle(made.data, made.trust)


def said(verdict: Verdict) -> tuple[str, str | None, str | None]:
    return verdict.verdict, verdict.code, verdict.who


def limits(verdict: Verdict) -> set[str]:
    return {limit.id for limit in verdict.limits}


def line(verdict: Verdict, check: str) -> Check:
    return next(one for one in verdict.checks if one.id == check)


def later(*numbers: int) -> Callable[[Event, dict[str, Any]], dict[str, Any]]:
    """Events that say that they happened a millisecond later: nothing else is wrong with them."""
    return lambda event, fields: {**fields, "t_ms": event.t_ms + 1} if event.seq in numbers else fields


def made_up(game: Game, events: list[Event], **more: Any) -> tuple[bytes, House]:
    """What an operator exports who signs bundle and log anew."""
    house = relogged(game, events)
    return packed(game, events, house=house, **more), house


# -- T1 to T3: the past ----------------------------------------------------------------------------------------------


def test_t1_an_event_rewritten_in_a_signed_game_is_refuted_though_the_log_is_signed_anew() -> None:
    game = own().finish()
    assert said(judged(*made_up(game, rechained(game.events, later(20))))) == (REFUTED, "V8", "server")


def test_t1_an_event_rewritten_behind_the_log_is_refuted_by_the_log() -> None:
    game = custodial().finish()
    events = rechained(game.events, later(20))
    assert said(judged(packed(game, events), game.house)) == (REFUTED, "V6", "server")
    assert said(judged(packed(game, events, signed=False), game.house)) == (NOT_PROVEN, "V6", None)


def test_t1_without_signatures_who_signs_the_log_anew_before_anybody_looked_is_the_stated_limit() -> None:
    game = custodial().finish()
    verdict = judged(*made_up(game, rechained(game.events, later(20))), quorum=False)
    assert said(verdict) == (VERIFIED_WITH_LIMITS, None, None)
    assert {"custodial", "no-receipts", "no-witness"} <= limits(verdict)


def test_t2_a_tail_cut_off_is_refuted_by_the_log_and_one_made_up_by_a_receipt() -> None:
    assert said(case("the-tail-cut-off")) == (REFUTED, "V6", "server")
    game = custodial().finish()
    end = len(game.events)
    data, house = made_up(game, rechained(game.events, later(end - 1, end)))
    unseen = judged(data, house)
    assert said(unseen) == (VERIFIED_WITH_LIMITS, None, None)
    assert "no-receipts" in limits(unseen)
    kept = {"mine.note": game.house.receipt(game.events[-2])}
    assert said(judged(data, house, receipts=kept)) == (REFUTED, "V11", "server")


def test_t2_a_tail_rewritten_before_the_players_signed_the_end_is_refuted_by_what_they_signed() -> None:
    game = own().finish()
    last = next(event.seq for event in reversed(game.events) if event.kind == "act")
    assert said(judged(*made_up(game, rechained(game.events, later(last))))) == (REFUTED, "V8", "server")
    assert "no-signoff" in limits(case("nobody-signed-the-end"))


def test_t3_dice_rigged_afterwards_are_refuted() -> None:
    assert said(case("a-die-changed")) == (REFUTED, "V9", "server")
    game = custodial().finish()
    other = seeds.Chain(game.game_id, 0, secret("luckier"), game.chain.length)

    def rigged(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.kind in ("seeded", "act") and "x" in event.body:
            j, _, draws = event.body["x"]
            fields["body"] = {**event.body, "x": [j, other.link(j + 1), draws]}
        return fields

    assert said(judged(*made_up(game, rechained(game.events, rigged)))) == (REFUTED, "V9", "server")


# -- T4 to T9: chance ------------------------------------------------------------------------------------------------


def test_t4_seeds_chosen_after_a_seat_had_committed_are_refuted_by_the_checkpoint_it_signed() -> None:
    assert said(case("a-seat-that-saw-a-log-without-the-game")) == (REFUTED, "V6", "server")
    assert "no-checkpoint" in limits(case("joined-without-a-checkpoint"))


def test_t4_seeds_of_a_game_in_which_no_seat_has_a_part_are_the_operators_word_and_labelled() -> None:
    verdict = case("custodial-finished")
    assert {"seeds", "custodial"} <= limits(verdict)
    assert "seeds" not in limits(case("two-players-and-a-bot-finished"))


def test_t5_the_server_alone_does_not_know_the_next_roll_of_a_seat_that_signs() -> None:
    position = own("unfinished").position
    link = own("unfinished").chain.link(position.dice.revealed + 1)
    rolls = {next(seeds.blocks(position.mixed(1, link, bytes([guess]) * 32))) for guess in range(20)}
    assert len(rolls) == 20


def test_t6_a_shill_who_sits_down_when_the_others_have_revealed_is_refuted() -> None:
    game = Game(House(), "shill", (1, 2)).create(2, stalemate_rounds=4).sit(1).sit(2).start().wander(20).finish()
    join = next(event for event in game.events if event.kind == "join" and event.seat == 2)
    lock = next(event.seq for event in game.events if event.kind == "lock")
    order = [event for event in game.events if event is not join]
    order.insert(lock, join)
    numbers, times = {id(event): n for n, event in enumerate(order, 1)}, sorted(event.t_ms for event in order)

    def moved(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        number = numbers[id(event)]
        return {**fields, "seq": number, "t_ms": times[number - 1]}

    events = rechained(order, moved)
    verdict = judged(*made_up(game, events))
    assert (verdict.verdict, verdict.who) == (REFUTED, "server")
    assert "a join event while the game is locked" in line(verdict, "V9").detail


def test_t7_a_seat_that_reveals_another_link_than_it_committed_to_is_refused_and_an_operator_who_takes_it_refuted() -> (
    None
):
    game = Game(House(), "other link", (1,)).create(2, stalemate_rounds=4).sit(1).sit(2)
    draft = game.draft()
    draft.start()
    game.keep(draft)
    position, other = game.position, SeatKey(secret("other"), game.game_id, 1, 1, game.chain.length)
    forged = SignedAction.write("reveal", game.game_id, 1, 1, position.version, position.head, other.chain.link(1))
    sealed = forged.sign(game.keys[1]._key)
    with pytest.raises(WrongSignature):
        game.draft().reveal(sealed)
    draft = game.draft()
    draft.reveal(game.sealed(1, "reveal"))
    game.keep(draft).wander(20).finish()
    reveal = next(event for event in game.events if event.kind == "reveal")
    body = with_body(reveal.seq, a=sealed.action.data, g=sealed.signature)
    verdict = judged(*made_up(game, rechained(game.events, body)))
    assert (verdict.verdict, verdict.who) == (REFUTED, "server")
    assert "link 1 of seat 1 does not lead" in line(verdict, "V9").detail


def test_t8_who_stalls_after_a_bad_roll_has_it_computed_and_told() -> None:
    verdict = case("abandoned-with-a-signed-request")
    told = line(verdict, "V10").detail
    assert (line(verdict, "V10").result, verdict.who) == (PASS, None)
    made = CASES["abandoned-with-a-signed-request"]()
    assert "request.json: never answered; had seat" in told
    assert "refused with unavailable" in line(verdict, "V11").detail
    signed = SignedAction.read(msgspec.json.decode(made.requests["request.json"], type=dict[str, bytes])["signed"])
    assert signed.name is not None
    assert f"gone on with {signed.name}, it would have drawn fight" in told


def test_t9_a_game_broken_off_on_bad_luck_shows_the_roll_that_was_next() -> None:
    verdict = case("abandoned")
    assert "would have drawn fight" in line(verdict, "V10").detail
    game = custodial("voided", 40)
    game.close("void", 1, "restored")
    assert said(judged(packed(game), game.house)) == (VERIFIED_WITH_LIMITS, None, None)


# -- T10 to T12: other games, other logs -----------------------------------------------------------------------------


def test_t10_a_game_that_is_deleted_stays_opened_in_the_log() -> None:
    game = own("deleted")
    proof = Inclusion.read(game.house.proof(game.opened, game.open_size))
    checkpoint = Checkpoint.parse(proof.checkpoint.partition(b"\n\n")[0].decode() + "\n")
    entry = game.house.entries[game.opened]
    proof.check(entry, checkpoint)  # the player's proof, for anybody
    closed = [entry for entry in map(_entry, game.house.entries) if entry and entry[0] == "close"]
    assert game.game_id not in [entry[2] for entry in closed]  # the orphan that a monitor lists


def _entry(data: bytes) -> list[Any] | None:
    try:
        found = decode(data)
    except ValueError:
        return None
    return found if isinstance(found, list) else None


def test_t11_two_histories_of_one_game_are_refuted_by_two_receipts_whatever_bundle_is_shown() -> None:
    assert said(case("two-receipts-in-conflict")) == (REFUTED, "V11", "server")


def test_t11_a_seat_that_was_shown_another_history_signed_its_head() -> None:
    game = own("forked view")
    other = own("forked view", 40)
    seat = other.position.to_act[0]
    sealed = other.sealed(seat, "resign")
    with pytest.raises(WrongSignature):
        game.draft().resign(seat, sealed)


def test_t12_two_versions_of_the_log_are_refuted_where_they_meet_and_else_a_limit() -> None:
    assert said(case("two-roots-for-one-size")) == (REFUTED, "V5", "server")
    assert said(case("a-seat-that-saw-another-log")) == (NOT_PROVEN, "V5", None)
    verdict = case("without-witnesses")
    assert (line(verdict, "V4").result, said(verdict)) == (LIMIT, (VERIFIED_WITH_LIMITS, None, None))
    assert "no-witness" in limits(verdict)


# -- T13 to T18: keys ------------------------------------------------------------------------------------------------


def test_t13_a_move_that_its_player_denies_is_signed_by_the_key_that_joined() -> None:
    game = own().finish()
    join = game.events[1].body
    moves = [event.body for event in game.events if event.kind == "act" and event.seat == 1]
    assert moves
    assert all(verified(join["pk"], SignedAction.read(body["a"]).message, body["g"]) for body in moves)
    assert line(case("custodial-finished"), "V8").result == LIMIT


def test_t14_a_key_for_which_any_signature_fits_cannot_sit_down_and_convicts_who_seats_it() -> None:
    game = Game(House(), "weak", (1,)).create(2)
    weak = bytes([1]) + bytes(31)
    args = {"pk": weak, "choice": {"hero": "tala"}}
    action = SignedAction.write("join", game.game_id, 1, 0, 1, game.position.head, bytes(32), args=args)
    sealed = Sealed(action, bytes([1]) + bytes(63))
    with pytest.raises(WrongSignature):
        game.draft().join(1, bytes(16), {"hero": "tala"}, sealed=sealed)
    assert said(case("a-key-that-fits-any-message")) == (REFUTED, "V7", "server")


@pytest.mark.parametrize("other", ["game", "moment", "number"])
def test_t15_a_signed_action_fits_one_place_in_one_game(other: str) -> None:
    game = own("replayed")
    elsewhere = {"game": own("replayed elsewhere"), "moment": own("replayed", 59), "number": game}[other]
    seat = game.position.to_act[0]
    sealed = elsewhere.sealed(seat, "resign")
    if other == "number":
        action = sealed.action
        again = SignedAction.write(
            "resign", game.game_id, seat, action.pseq + 1, action.head_seq, action.head, game.keys[seat].chain.link(5)
        )
        sealed = again.sign(game.keys[seat]._key)
    with pytest.raises(WrongSignature):
        game.draft().resign(seat, sealed)
    resigned = own("replayed")
    draft = resigned.draft()
    draft.resign(seat, resigned.sealed(seat, "resign"))
    resigned.keep(draft).finish()
    at = next(event.seq for event in resigned.events if event.kind == "resign")
    events = rechained(resigned.events, with_body(at, a=sealed.action.data, g=sealed.signature))
    assert said(judged(*made_up(resigned, events))) == (REFUTED, "V8", "server")


def test_t16_a_client_signs_nothing_over_bytes_that_were_changed_on_the_way() -> None:
    game = own("wire")
    stored = [event.data for event in game.events]
    spoiled = [*stored[:19], stored[19][:-1] + bytes([stored[19][-1] ^ 1]), *stored[20:]]
    client = SelfCustody(game.game_id, secret("account"), lambda after: b"".join(framed(iter(spoiled))), print)
    with pytest.raises((Diverged, ValueError)):
        client.catch_up()


def test_t17_an_intruder_who_writes_into_the_database_breaks_the_chain() -> None:
    game = custodial().finish()
    head = Head(len(game.events), game.events[-1].hash)
    changed = Event.write(game.game_id, 20, game.events[18].hash, game.events[19].t_ms + 1, "act", 1, {})
    items: list[Event | Damage] = [*game.events[:19], changed, *game.events[20:]]
    verdict = audit(game.game_id, items, head)
    assert (verdict.verdict, verdict.who) == (NOT_PROVEN, None)
    assert line(verdict, "V3").event == 20


def test_t18_a_key_that_the_operator_put_in_the_place_of_a_seats_is_refuted_by_each_later_action() -> None:
    game = own().finish()
    mine = SeatKey(secret("operator"), game.game_id, 1, 1, game.chain.length)
    join = game.events[1]
    theirs = SignedAction.read(join.body["a"])
    args = {**theirs.args, "pk": mine.public}
    swapped = SignedAction.write("join", game.game_id, 1, 0, 1, theirs.head, theirs.r, args=args).sign(mine._key)
    body = with_body(join.seq, pk=mine.public, a=swapped.action.data, g=swapped.signature)
    verdict = judged(*made_up(game, rechained(game.events, body)))
    assert (verdict.verdict, verdict.who) == (REFUTED, "server")
    assert line(verdict, "V8").event is not None
    kept = {"mine.note": game.house.receipt(join)}
    data, house = made_up(game, rechained(game.events, body))
    assert line(judged(data, house, receipts=kept), "V11").result == "FAIL"


# -- T19 to T24 ------------------------------------------------------------------------------------------------------


def test_t19_rules_that_were_changed_silently_are_other_rules_or_refuted() -> None:
    assert said(case("an-illegal-action")) == (REFUTED, "V12", "server")
    game = custodial().finish()
    verdict = judged(*made_up(game, rechained(game.events, with_body(1, rules_hash=bytes(32)))))
    assert said(verdict) == (UNDETERMINED, "V12", None)


def test_t20_hostile_bytes_get_a_verdict_that_accuses_nobody() -> None:
    for name in ("no-zip-at-all", "a-file-changed-on-the-way", "a-length-that-runs-over-the-end"):
        assert (case(name).verdict, case(name).who) == (NOT_PROVEN, None)


def test_t21_a_server_that_goes_on_from_a_backup_is_refuted_by_the_receipts_of_what_it_lost() -> None:
    game = own("backup")
    lost = {"mine.note": game.house.receipt(game.events[-1])}
    again = own("backup", 50)
    draft = again.draft(30)
    seat = again.position.to_act[0]
    draft.resign(seat, again.sealed(seat, "resign"))
    again.keep(draft).finish()
    assert said(judged(packed(again), again.house, receipts=lost)) == (REFUTED, "V11", "server")


def test_t22_a_stolen_log_key_signs_what_the_log_contradicts() -> None:
    game = custodial().finish()
    thief, size = House(), len(game.house.entries)
    thief.entries = [*game.house.entries[:-1], b"another entry"]
    forged = Continuation(game.open_size, (), thief.checkpoint(size)).write()
    data = packed(game, signed=False, **{"consistency.txt": forged})
    assert said(judged(data, game.house)) == (REFUTED, "V5", "server")
    stranger = Signer.of(ORIGIN, secret("another key"))
    proof = Inclusion.read(game.house.proof(game.closed, size))
    note = Checkpoint(ORIGIN, size, game.house.root()).sign(stranger)
    only = Inclusion(proof.index, proof.hashes, note).write()
    verdict = judged(packed(game, **{"close.tlog-proof": only}), game.house)
    assert said(verdict) == (UNDETERMINED, "V4", None)


def test_t23_the_log_holds_hashes_and_random_ids_and_nobody() -> None:
    game = own().finish()
    entry = decode(game.house.entries[game.opened])
    assert [type(part) for part in entry] == [str, int, bytes, bytes, bytes, bytes, int]
    players = {event.body["player"] for event in game.events if event.kind == "join"}
    assert all(len(player) == 16 for player in players)
    assert not any(player in data for player in players for data in game.house.entries)


def test_t24_that_the_operator_serves_the_page_too_is_said_to_players() -> None:
    page = (Path(__file__).resolve().parents[2] / "docs" / "audit.md").read_text()
    assert "The operator also serves the page's program" in page
    assert "command line" in page


def test_every_threat_has_its_test() -> None:
    tested = {int(number) for name in globals() if (number := (re.match(r"test_t(\d+)_", name) or [0, 0])[1])}
    assert tested == set(range(1, 25))


def test_an_honest_game_of_people_who_sign_is_verified_without_a_limit() -> None:
    assert said(case("own-finished")) == (VERIFIED, None, None)
    assert case("own-finished").limits == []
