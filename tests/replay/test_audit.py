"""The first verdict: each sort of tampering is found by its check, and named with its place."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.registry import RULESETS
from events.event import Event
from events.log import Damage, Head
from replay import audit as audits
from replay.audit import (
    FAIL,
    LIMIT,
    NOT_CHECKED,
    NOT_PROVEN,
    PASS,
    UNDETERMINED,
    VERIFIED_WITH_LIMITS,
    Verdict,
    audit,
    said,
)
from replay.catalogue import CHECKS
from replay.words import words


def closed(table: Any, name: str = "audited", **options: Any) -> list[Event]:
    """A game that is over."""
    played = table(name).open(3, turn_seconds=60, **options).wander(150)
    played.now_ms += 60_000
    draft = played.draft()
    draft.close("abandoned", "absent")
    played.keep(draft)
    events: list[Event] = played.events
    return events


def of(verdict: Verdict, check: str) -> audits.Check:
    return next(line for line in verdict.checks if line.id == check)


def head(events: list[Event]) -> Head:
    return Head(len(events), events[-1].hash)


def examine(events: list[Event], **more: Any) -> Verdict:
    return audit(events[0].game_id, events, **more)


def test_an_honest_game_is_verified_with_its_limits(table: Any) -> None:
    events = closed(table)
    verdict = examine(events, head=head(events))
    assert (verdict.verdict, verdict.code, verdict.event, verdict.who) == (VERIFIED_WITH_LIMITS, None, None, None)
    results = {line.id: line.result for line in verdict.checks}
    assert list(results) == list(CHECKS)
    assert {check for check, result in results.items() if result == PASS} == {"V2", "V3", "V9", "V10", "V12"}
    assert (results["V8"], results["V13"]) == (LIMIT, LIMIT)
    assert [limit.id for limit in verdict.limits] == ["no-log", "custodial", "seeds", "no-receipts"]
    assert "3 seats (1, 2, and 3)" in verdict.limits[1].text
    assert verdict.events == len(events)


def test_a_game_that_is_still_played_has_no_end_of_its_chain_to_check(game: Any) -> None:
    verdict = examine(game("playing").events)
    assert verdict.verdict == VERIFIED_WITH_LIMITS
    assert of(verdict, "V10").result == NOT_CHECKED
    assert "not-closed" in [limit.id for limit in verdict.limits]


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_the_verdict_speaks_three_languages(table: Any, language: str) -> None:
    verdict = examine(closed(table), language=language)
    assert verdict.words == words(language).raw("table.verdict.verified-with-limits")
    assert all(line.name == words(language).raw(f"table.check.{line.id}") for line in verdict.checks)
    assert len({line.said for line in verdict.checks}) == len(verdict.checks)
    assert not [line for line in verdict.checks if line.said == "" or line.said.startswith("table.")]
    assert all("{" not in limit.text and limit.text for limit in verdict.limits)


def test_what_fails_under_the_rules_is_said_as_particularly_as_there_are_words_for() -> None:
    for language in ("en", "fr", "ja"):
        say = words(language)
        told = {said(say, "V12", "FAIL", code) for code in (None, "legality", "draws", "fingerprint", "setup", "order")}
        assert len(told) == 6
        assert said(say, "V9", "FAIL", "dice") == said(say, "V9", "FAIL") != ""
        assert said(say, "V12", "PASS", topic="case.") != said(say, "V12", "PASS")


# -- bytes ---------------------------------------------------------------------------------------------------------


def spoil(events: list[Event], n: int, place: int, flip: int) -> list[Event | Damage]:
    """The stored entries with one byte of event n changed, as the log would read them."""
    raw = bytearray(events[n - 1].data)
    raw[place] ^= flip
    items: list[Event | Damage] = list(events)
    try:
        items[n - 1] = Event.read(bytes(raw))
    except ValueError as error:
        items[n - 1] = Damage(f"{n}-0", f"not an event: {error}", bytes(raw))
    return items


@settings(max_examples=150, deadline=None)
@given(st.data())
def test_a_byte_changed_in_a_stored_event_is_named_with_its_event(table: Any, data: st.DataObject) -> None:
    events = closed(table)
    n = data.draw(st.integers(1, len(events)))
    place = data.draw(st.integers(0, len(events[n - 1].data) - 1))
    items = spoil(events, n, place, data.draw(st.integers(1, 255)))
    verdict = audit(events[0].game_id, items, head(events))
    assert verdict.verdict == NOT_PROVEN
    assert verdict.event == n
    assert n in {line.event for line in verdict.checks if line.result == FAIL and line.id in ("V2", "V3")}


def test_the_last_event_changed_is_found_by_the_head_that_was_acknowledged(table: Any) -> None:
    events = closed(table)
    last = events[-1]
    later = Event.write(last.game_id, last.seq, last.prev, last.t_ms + 1, last.kind, last.seat, last.body)
    verdict = examine([*events[:-1], later], head=head(events))
    assert verdict.code == "V3"
    assert verdict.event == last.seq
    assert "acknowledged" in of(verdict, "V3").detail
    assert examine([*events[:-1], later]).verdict == VERIFIED_WITH_LIMITS  # without the head nobody can know: a limit


def test_missing_events_are_named_in_the_middle_and_at_the_end(table: Any) -> None:
    events = closed(table)
    gap = examine([*events[:50], *events[52:]], head=head(events))
    assert (gap.verdict, gap.code, gap.event) == (NOT_PROVEN, "V3", 51)
    cut = examine(events[:-3], head=head(events))
    assert (cut.verdict, cut.code, cut.event) == (NOT_PROVEN, "V3", len(events) - 2)
    assert "are missing" in of(cut, "V3").detail


def test_an_event_of_another_game_or_number_is_named(table: Any, game: Any) -> None:
    events = closed(table)
    foreign = game("foreign").events[40]
    verdict = examine([*events[:40], foreign, *events[41:]])
    assert (verdict.code, verdict.event) == ("V3", 41)
    assert foreign.game_id.hex() in of(verdict, "V3").detail
    swapped = examine([*events[:40], events[41], events[40], *events[42:]])
    assert (swapped.verdict, swapped.code) == (NOT_PROVEN, "V3")


def test_an_entry_that_the_log_never_wrote_fails_the_chain(table: Any) -> None:
    events = closed(table)
    stray = Damage("9-1", "the entry is none of the log's", b"x")
    verdict = audit(events[0].game_id, [*events[:9], stray, *events[9:]])
    assert (verdict.verdict, verdict.code) == (NOT_PROVEN, "V3")
    assert "9-1" in of(verdict, "V3").detail


# -- forgeries: everything is chained anew, as an operator could -----------------------------------------------------


def failing(verdict: Verdict) -> list[tuple[str, int | None]]:
    return [(line.id, line.event) for line in verdict.checks if line.result == FAIL]


def first(events: list[Event], action: str) -> Event:
    return next(e for e in events if e.kind == "act" and e.body["a"][0] == action)


def changed(seq: int, **body: Any) -> Any:
    def change(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.seq == seq:
            fields["body"] = {**event.body, **body}
        return fields

    return change


def test_a_forged_die_is_not_what_the_seeds_give(table: Any, forge: Any) -> None:
    events = closed(table)
    roll = first(events, "roll-dice")
    j, link, draws = roll.body["x"]
    better = [[draws[0][0], 6, draws[0][2] % 6 + 1], *draws[1:]]
    verdict = examine(forge(events, changed(roll.seq, x=[j, link, better])))
    assert verdict.verdict == NOT_PROVEN
    assert ("V9", roll.seq) in failing(verdict)
    assert ("V12", roll.seq) in failing(verdict)
    assert of(verdict, "V3").result == PASS
    assert f"draw {j}.0" in of(verdict, "V9").detail


def test_a_forged_link_does_not_lead_to_the_commitment(table: Any, forge: Any) -> None:
    events = closed(table)
    roll = first(events, "roll-dice")
    j, _, draws = roll.body["x"]
    assert ("V9", roll.seq) in failing(examine(forge(events, changed(roll.seq, x=[j, bytes(32), draws]))))


def test_a_forged_tail_does_not_lead_to_the_commitment(table: Any, forge: Any) -> None:
    events = closed(table)
    assert failing(examine(forge(events, changed(len(events), tail=bytes(32))))) == [("V10", len(events))]


def test_only_a_lost_key_excuses_a_close_without_the_end_of_the_chain(table: Any, forge: Any) -> None:
    def without_tail(status: str, reason: str) -> Any:
        def change(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
            if event.kind == "close":
                rest = {key: value for key, value in event.body.items() if key != "tail"}
                fields["body"] = {**rest, "status": status, "reason": reason}
            return fields

        return change

    events = closed(table)
    lost = examine(forge(events, without_tail("void", "key-lost")))
    assert (lost.verdict, of(lost, "V10").result) == (VERIFIED_WITH_LIMITS, NOT_CHECKED)
    for status, reason in (("abandoned", "key-lost"), ("void", "restored")):
        assert failing(examine(forge(events, without_tail(status, reason)))) == [("V10", len(events))]


def test_an_event_has_the_actor_of_its_kind_and_a_signature_only_with_signed_bytes(table: Any, forge: Any) -> None:
    events = closed(table)
    act = first(events, "move")

    def sat(seat: int | None, at: int) -> Any:
        return lambda event, fields: {**fields, "seat": seat} if event.seq == at else fields

    assert ("V2", 1) in failing(examine(forge(events, sat(1, 1))))
    assert ("V2", len(events)) in failing(examine(forge(events, sat(2, len(events)))))
    assert ("V2", act.seq) in failing(examine(forge(events, sat(None, act.seq))))
    assert failing(examine(forge(events, changed(act.seq, g=bytes(64))))) == [("V2", act.seq)]
    assert failing(examine(forge(events, changed(act.seq, a=b"\x90"))))[0] == ("V2", act.seq)
    assert failing(examine(forge(events, changed(1, watching="delayed:soon"))))[0] == ("V2", 1)


def test_a_resign_event_asks_for_nothing_else(table: Any, forge: Any) -> None:
    played = table("resigned").open(3).wander(20)
    draft = played.draft()
    draft.resign(played.position.to_act[0] % 3 + 1)
    played.keep(draft)
    at = next(event.seq for event in played.events if event.kind == "resign")
    assert failing(examine(played.events)) == []
    assert failing(examine(forge(played.events, changed(at, a=["end-turn", {}])))) == [("V2", at)]


def test_a_forged_fingerprint_or_final_state_is_not_what_the_fold_gives(table: Any, forge: Any) -> None:
    events = closed(table)
    act = first(events, "end-turn")
    verdict = examine(forge(events, changed(act.seq, f=bytes(8))))
    assert failing(verdict) == [("V12", act.seq)]
    assert act.body["f"].hex() in of(verdict, "V12").detail
    final = examine(forge(events, changed(len(events), state_hash=bytes(32))))
    assert failing(final) == [("V12", len(events))]


def test_a_forged_action_is_illegal_by_its_rule(table: Any, forge: Any) -> None:
    events = closed(table)
    act = first(events, "end-turn")
    verdict = examine(forge(events, changed(act.seq, a=["use-fountain", {}])))
    line = of(verdict, "V12")
    assert (line.result, line.event) == (FAIL, act.seq)
    assert line.rule


def test_an_event_left_out_and_chained_over_is_found_by_its_number(table: Any, forge: Any) -> None:
    events = closed(table)
    verdict = examine(forge(events, lambda event, fields: None if event.seq == 60 else fields))
    assert ("V3", 60) in failing(verdict)


def test_an_event_left_out_and_numbered_over_is_found_by_the_fold(table: Any, forge: Any) -> None:
    events = closed(table)
    gone = first(events, "roll-dice").seq

    def close_ranks(event: Event, fields: dict[str, Any]) -> dict[str, Any] | None:
        if event.seq > gone:
            fields["seq"] -= 1
        return None if event.seq == gone else fields

    verdict = examine(forge(events, close_ranks))
    assert of(verdict, "V3").result == PASS
    assert ("V12", gone) in failing(verdict)


def test_a_clock_that_runs_back_is_named(table: Any, forge: Any) -> None:
    events = closed(table)

    def back(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.seq == 70:
            fields["t_ms"] -= 60_000
        return fields

    assert failing(examine(forge(events, back))) == [("V3", 70)]


def test_another_table_than_was_joined_is_named(table: Any, forge: Any) -> None:
    events = closed(table)
    lock = next(e for e in events if e.kind == "lock")
    setup = {**lock.body["setup"], "seats": list(reversed(lock.body["setup"]["seats"]))}
    assert ("V12", lock.seq) in failing(examine(forge(events, changed(lock.seq, setup=setup))))


def test_a_body_without_what_its_kind_needs_fails_the_format(table: Any, forge: Any) -> None:
    events = closed(table)

    def bare(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.seq == 30:
            fields["body"] = {}
        return fields

    assert ("V2", 30) in failing(examine(forge(events, bare)))


def test_a_turn_claimed_too_early_is_named(table: Any) -> None:
    played = table("claims").open(2, turn_seconds=60)
    draft = played.draft()
    draft.time_out(played.position.to_act[0])
    played.keep(draft)
    verdict = examine(played.events)
    assert failing(verdict) == [("V13", len(played.events))]
    played.now_ms += 60_000
    patient = table("claims").open(2, turn_seconds=60)
    patient.now_ms += 60_000
    draft = patient.draft()
    draft.time_out(patient.position.to_act[0])
    patient.keep(draft)
    assert failing(examine(patient.events)) == []


def test_a_seat_handed_over_is_a_limit(table: Any) -> None:
    played = table("custody").open(2)
    draft = played.draft()
    draft.hand_over(2, ("delver", 1))
    played.keep(draft)
    limits = {limit.id: limit.text for limit in examine(played.events).limits}
    assert "From event 6 on seat 2" in limits["handed-over"]


# -- beyond this version ---------------------------------------------------------------------------------------------


def test_a_game_of_unknown_rules_is_undetermined_and_its_chain_and_dice_are_still_checked(
    table: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = closed(table)
    monkeypatch.delitem(RULESETS, "donjon@1")
    verdict = examine(events)
    assert (verdict.verdict, verdict.code, verdict.event) == (UNDETERMINED, "V12", 1)
    assert of(verdict, "V12").result == NOT_CHECKED
    assert [of(verdict, check).result for check in ("V2", "V3", "V9", "V10")] == [PASS] * 4


def test_rules_of_the_same_name_and_another_hash_are_unknown_rules(table: Any, forge: Any) -> None:
    verdict = examine(forge(closed(table), changed(1, rules_hash=bytes(32))))
    assert (verdict.verdict, verdict.code, verdict.event) == (UNDETERMINED, "V12", 1)
    assert [of(verdict, check).result for check in ("V2", "V3", "V9", "V10")] == [PASS] * 4


def test_the_first_draws_are_recomputed_under_unknown_rules_too(table: Any, forge: Any) -> None:
    played = table("dealt").open(3, heroes=(None, None, None)).wander(20)
    seeded = next(event for event in played.events if event.kind == "seeded")
    j, link, draws = seeded.body["x"]
    purpose, total, v, name = draws[0]
    other = [[purpose, total, (v + 1) % total, name], *draws[1:]]
    events = forge(played.events, changed(seeded.seq, x=[j, link, other]))
    verdict = examine(forge(events, changed(1, rules_hash=bytes(32))))
    assert failing(verdict) == [("V9", seeded.seq)]


def test_an_unknown_kind_leaves_the_refold_undetermined_from_there(table: Any) -> None:
    events = closed(table)[:-1]
    last = events[-1]
    events = [*events, Event.write(last.game_id, last.seq + 1, last.hash, last.t_ms, "prophecy", None, {})]
    verdict = examine(events)
    assert (verdict.verdict, verdict.event) == (UNDETERMINED, last.seq + 1)


def test_an_absurdly_long_chain_is_refused_and_not_recomputed(table: Any, forge: Any) -> None:
    events = closed(table)
    verdict = examine(forge(events, changed(1, chain_len=2**60)))
    assert ("V2", 1) in failing(verdict)
    assert of(verdict, "V9").result == NOT_CHECKED


def test_nothing_at_all_is_no_game() -> None:
    verdict = audit(bytes(16), [])
    assert verdict.verdict == UNDETERMINED
    assert verdict.events == 0
