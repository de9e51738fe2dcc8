"""The replay cursor: positions, steps, what they cost, what they may know, and what it says of a damaged record."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine.registry import RULESETS
from events import codec
from events.event import Event, genesis
from events.hashing import sha256, sized, tag
from events.log import Damage
from replay import file
from replay.page import replay_page
from replay.position import Diverged, Position
from replay.replay import KEYFRAME, SHORTLY, NoSuchPosition, Replay, differences


def folded(events: list[Event], n: int) -> Position:
    position = Position(events[0].game_id)
    for event in events[:n]:
        position.advance(event)
    return position


def same(one: Position, other: Position) -> bool:
    return (one.version, one.head, one.fingerprint, one.status) == (
        other.version, other.head, other.fingerprint, other.status,
    )  # fmt: skip


# -- positions -----------------------------------------------------------------------------------------------------


def test_every_position_is_the_fold_of_its_events_in_whatever_order_they_are_asked_for(game: Any) -> None:
    events = game("positions").events
    truth = [folded(events, n) for n in range(len(events) + 1)]
    replay = Replay(events[0].game_id, events)
    order = [*range(0, len(events) + 1, 17), len(events), 3, 200, 64, 63, 65, 0, *range(130, 60, -1)]
    for n in order:
        assert same(replay.at(n), truth[n])
    assert replay.grade.name == "EXACT"


def test_whoever_holds_the_json_of_a_position_can_compute_its_fingerprint(game: Any) -> None:
    events = game("recomputed").events
    for event in events:
        shown = folded(events, event.seq).view()
        if shown is not None and "f" in event.body:
            packed = codec.encode(json.loads(json.dumps(shown)), codec.STATE_LIMIT)
            whole = sha256(tag("state") + sized(b"donjon@1") + packed)
            assert whole[:8] == event.body["f"]


def test_forward_to_the_end_and_back_to_the_beginning_shows_the_same_positions(game: Any) -> None:
    events = game("there and back").events
    replay = Replay(events[0].game_id, events)
    seen = [replay.at(0)] + [replay.forward() for _ in events]
    assert replay.version == len(events)
    for n in range(len(events) - 1, -1, -1):
        assert same(replay.back(), seen[n])


def test_a_step_back_costs_no_more_folds_than_a_step_forward(game: Any) -> None:
    events = game("cost").events
    replay = Replay(events[0].game_id, events)
    for _ in events:
        replay.forward()
    assert replay.folds == len(events)
    for _ in events:
        replay.back()
    assert replay.folds <= 2 * len(events)


def test_going_to_and_fro_in_one_place_folds_nothing_again(game: Any) -> None:
    events = game("cost").events
    replay = Replay(events[0].game_id, events)
    replay.jump(100)
    replay.back()
    before = replay.folds
    for _ in range(20):
        replay.forward()
        replay.back()
    assert replay.folds - before <= 1


def test_a_jump_anywhere_costs_at_most_one_stretch_of_folds(game: Any) -> None:
    events = game("cost").events
    replay = Replay(events[0].game_id, events)
    replay.at(len(events))
    for n in (5, 180, 61, 127, 128, 239, 1):
        before = replay.folds
        replay.at(n)
        assert replay.folds - before < KEYFRAME


def test_nothing_is_folded_beyond_what_is_asked_for(game: Any) -> None:
    events = game("cost").events
    asked: list[Callable[[Replay], object]] = [
        lambda replay: list(replay.steps("en", upto=30)),
        lambda replay: list(replay.chapters("en", upto=30)),
        lambda replay: replay.grade_at(30),
        lambda replay: replay.at(30),
        lambda replay: replay.happenings(30),
    ]
    for ask in asked:
        replay = Replay(events[0].game_id, events)
        ask(replay)
        assert replay.folds == 30


def test_a_replay_of_a_live_game_goes_on_with_what_was_written_since(game: Any) -> None:
    events = game("live").events
    replay = Replay(events[0].game_id, events[:50])
    replay.jump(50)
    replay.extend(events[50:])
    assert same(replay.jump(len(events)), folded(events, len(events)))
    assert same(replay.at(50), folded(events, 50))
    assert replay.grade.name == "EXACT"


def test_there_is_nothing_before_the_beginning_or_after_the_end(game: Any) -> None:
    events = game("edges").events
    replay = Replay(events[0].game_id, events)
    with pytest.raises(NoSuchPosition):
        replay.back()
    with pytest.raises(NoSuchPosition):
        replay.at(len(events) + 1)
    with pytest.raises(NoSuchPosition):
        replay.happenings(0)
    replay.jump(len(events))
    with pytest.raises(NoSuchPosition):
        replay.forward()
    assert replay.version == len(events)


# -- steps, finding, chapters, differences -------------------------------------------------------------------------


def test_steps_are_events_with_their_happenings_in_order(game: Any, names: dict[bytes, str]) -> None:
    replay = Replay(game("steps").game_id, game("steps").events)
    steps = list(replay.steps("en", names))
    assert [step.version for step in steps] == sorted(step.version for step in steps)
    assert {step.version for step in steps} == set(range(1, len(replay) + 1))
    for step in steps:
        assert 1 <= step.index <= step.of == max(1, len(replay.happenings(step.version)))
        assert step.words
        assert step.grade == "EXACT"
        if step.happening is not None:
            assert step.rule == step.happening.rule != ""
            assert step.happening == replay.happenings(step.version)[step.index - 1]
    assert steps[0].words == "A table of Le Donjon is opened for 3."
    assert steps[1].words == "Ada takes seat 1 as Xanros."


def test_what_happened_before_an_event_ends_with_the_event_before_it(game: Any) -> None:
    replay = Replay(game("steps").game_id, game("steps").events)
    assert replay.before(1) == []
    for n in (2, 20, len(replay)):
        told = [replay.happenings(k) for k in range(max(n - SHORTLY, 1), n)]
        assert replay.before(n) == [one for happened in told for one in happened]


def test_find_gives_the_steps_of_a_seat_an_action_and_a_happening(game: Any) -> None:
    replay = Replay(game("find").game_id, game("find").events)
    lost = list(replay.find(happening="fight-lost", seat=2))
    assert lost
    assert all(type(step.happening).__name__ == "FightLost" and step.seat == 2 for step in lost)
    rolled = {step.version for step in replay.find(action="roll-dice")}
    assert rolled == {e.seq for e in game("find").events if e.kind == "act" and e.body["a"][0] == "roll-dice"}
    assert [step.version for step in replay.find(kind="seeded", happening="game-begun")] == [6]
    assert list(replay.find(happening="fight-lost", seat=2, after=lost[0].version))[0:1] == lost[1:2]


def test_chapters_are_turns_fights_treasures_knock_outs_and_the_dragon(game: Any) -> None:
    table = game("chapters", seats=4, events=3000)
    replay = Replay(table.game_id, table.events)
    chapters = list(replay.chapters("en"))
    assert {"opening", "turn", "fight", "treasure", "knock-out", "dragon"} <= {chapter.kind for chapter in chapters}
    turns = [chapter for chapter in chapters if chapter.kind == "turn"]
    assert len(turns) == table.position.state.turn
    assert turns[0].title.startswith("Turn 1: ")
    assert [chapter.version for chapter in chapters] == sorted(chapter.version for chapter in chapters)
    for chapter in chapters:
        assert "{" not in chapter.title
        assert replay.steps_of(chapter.version)[chapter.index - 1].seat == chapter.seat or chapter.seat is None


def test_the_difference_of_two_positions_names_each_changed_value_by_its_path(game: Any) -> None:
    replay = Replay(game("diff").game_id, game("diff").events)
    first_move = next(step.version for step in replay.find(happening="hero-moved"))
    changes = {change.path: change for change in replay.diff(first_move - 1, first_move)}
    seat = replay.at(first_move - 1).to_act[0]
    assert changes["/state/mp"].old == 4
    assert changes["/state/mp"].new == 3
    assert changes[f"/state/heroes/{seat - 1}/at"].old == "0,0"
    revealed = [change for path, change in changes.items() if path.startswith("/state/tiles/")]
    assert len(revealed) == 1
    assert revealed[0].old is msgspec.UNSET
    assert replay.diff(10, 10) == []


def test_differences_escape_their_paths_and_tell_what_came_and_went() -> None:
    changes = list(differences({"a/b": 1, "c~": [1, 2], "x": True}, {"a/b": 2, "c~": [1], "x": 1, "n": None}))
    assert [(change.path, change.old, change.new) for change in changes] == [
        ("/a~1b", 1, 2),
        ("/c~0/1", 2, msgspec.UNSET),
        ("/x", True, 1),
        ("/n", msgspec.UNSET, None),
    ]
    assert msgspec.to_builtins(changes[1]) == {"path": "/c~0/1", "old": 2}


# -- files ---------------------------------------------------------------------------------------------------------


def test_a_game_written_to_a_file_is_the_same_game_when_read(game: Any, tmp_path: Path) -> None:
    events = game("file").events
    path = tmp_path / "game.annals"
    assert file.write(path, events) == len(events)
    replay = Replay.read(path)
    assert replay.game_id == events[0].game_id
    assert replay.at(len(events)).head == events[-1].hash
    assert replay.grade.name == "EXACT"


def test_a_file_that_ends_within_an_event_is_read_up_to_there(game: Any, tmp_path: Path) -> None:
    events = game("file").events
    path = tmp_path / "torn.annals"
    file.write(path, events[:20])
    path.write_bytes(path.read_bytes()[:-5])
    replay = Replay.read(path)
    assert len(replay) == 20
    assert same(replay.at(19), folded(events, 19))
    assert (replay.grade.name, replay.grade.at) == ("DIVERGED", 20)
    assert "ends within the event" in replay.damage[0].reason
    assert replay.steps_of(20)[0].words == "Event 20 cannot be read."


def test_a_file_without_any_event_is_no_game(tmp_path: Path) -> None:
    path = tmp_path / "noise.annals"
    path.write_bytes(b"\xff" * 100)
    with pytest.raises(LookupError):
        Replay.read(path)


# -- damage --------------------------------------------------------------------------------------------------------


def test_a_missing_event_is_named_and_the_rest_is_still_shown(game: Any) -> None:
    events = game("missing").events
    replay = Replay(events[0].game_id, events[:30] + events[31:])
    assert len(replay) == len(events)
    assert replay.grade_at(30).name == "EXACT"
    assert (replay.grade.name, replay.grade.at) == ("DIVERGED", 31)
    assert "31 is missing" in replay.findings[0].detail
    assert replay.event(31) is None
    assert replay.at(30).grade == "EXACT"
    assert replay.at(31).grade == replay.at(len(replay)).grade == "DIVERGED"
    assert len(list(replay.steps())) >= len(events)


def test_an_entry_that_cannot_be_read_keeps_its_place(game: Any) -> None:
    events = game("unreadable").events
    items: list[Event | Damage] = [*events[:10], Damage("11-0", "not an event: noise", b"noise"), *events[11:]]
    replay = Replay(events[0].game_id, items)
    assert len(replay) == len(events)
    assert (replay.grade.name, replay.grade.at) == ("DIVERGED", 11)
    assert replay.findings[0].check == "format"
    assert replay.event(12) is not None
    assert replay.event(12).seq == 12  # type: ignore[union-attr]


def test_strict_raises_at_the_first_thing_that_does_not_hold(game: Any) -> None:
    events = game("missing").events
    replay = Replay(events[0].game_id, events[:30] + events[31:], strict=True)
    replay.at(30)
    with pytest.raises(Diverged) as raised:
        replay.at(31)
    assert raised.value.finding.event == 31


def altered(body: dict[str, Any], **changes: Any) -> dict[str, Any]:
    return {**body, **changes}


def test_a_changed_die_diverges_where_it_fell(game: Any, forge: Any) -> None:
    events = game("die").events
    rolled = next(e for e in events if e.kind == "act" and e.body["a"][0] == "roll-dice")

    def other_die(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.seq == rolled.seq:
            j, link, draws = event.body["x"]
            first = [draws[0][0], draws[0][1], draws[0][2] % 6 + 1]
            fields["body"] = altered(event.body, x=[j, link, [first, *draws[1:]]])
        return fields

    replay = Replay(rolled.game_id, forge(events, other_die))
    assert (replay.grade.name, replay.grade.at) == ("DIVERGED", rolled.seq)
    assert replay.at(rolled.seq - 1).grade == "EXACT"
    assert replay.at(rolled.seq).grade == "DIVERGED"
    assert [step.grade for step in replay.steps_of(rolled.seq)][0:1] == ["DIVERGED"]


def test_an_action_that_was_not_legal_is_named_with_its_rule(game: Any, forge: Any) -> None:
    events = game("illegal").events
    first = next(e for e in events if e.kind == "act")

    def nonsense(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.seq == first.seq:
            fields["body"] = {"a": ["open-chest", {}], "f": event.body["f"]}
        return fields

    replay = Replay(first.game_id, forge(events, nonsense))
    assert replay.grade.at == first.seq
    assert replay.grade.finding is not None
    assert (replay.grade.finding.check, replay.grade.finding.rule) == ("legality", "2.3.7")


def test_a_wrong_fingerprint_is_shown_with_both_values(game: Any, forge: Any) -> None:
    events = game("fingerprint").events

    def other(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.seq == 40:
            fields["body"] = altered(event.body, f=bytes(8))
        return fields

    grade = Replay(events[0].game_id, forge(events, other)).grade
    assert (grade.name, grade.at) == ("DIVERGED", 40)
    assert grade.finding is not None
    assert grade.finding.stored == "00" * 8
    assert grade.finding.folded == events[39].body["f"].hex()
    assert str(grade).startswith("DIVERGED(at=40")


def test_an_event_of_an_unknown_kind_is_carried_and_the_rest_is_unverified(game: Any) -> None:
    events = game("unknown").events[:20]
    last = events[-1]
    later = Event.write(last.game_id, 21, last.hash, last.t_ms, "prophecy", None, {"text": 1})
    replay = Replay(last.game_id, [*events, later])
    assert replay.grade_at(20).name == "EXACT"
    assert (replay.grade.name, replay.grade.at) == ("UNVERIFIED", 21)
    assert replay.steps_of(21, "fr")[0].words == "Un événement d'une sorte inconnue\u00a0: prophecy."
    assert replay.at(21).state is None


def test_a_game_of_an_unknown_ruleset_is_unverified_from_its_first_event(
    game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    events = game("ruleset").events
    monkeypatch.delitem(RULESETS, "donjon@1")
    replay = Replay(events[0].game_id, events)
    assert (replay.grade.name, replay.grade.at) == ("UNVERIFIED", 1)
    assert replay.at(30).state is None
    assert all(step.words for step in replay.steps("ja"))


@settings(max_examples=60, deadline=None)
@given(st.data())
def test_no_single_changed_byte_crashes_a_replay_or_passes_as_exact(game: Any, data: st.DataObject) -> None:
    events = game("bytes", events=60).events
    n = data.draw(st.integers(0, len(events) - 2))
    raw = bytearray(events[n].data)
    raw[data.draw(st.integers(0, len(raw) - 1))] ^= data.draw(st.integers(1, 255))
    items: list[Event | Damage] = list(events)
    try:
        items[n] = Event.read(bytes(raw))
    except ValueError as error:
        items[n] = Damage(f"{n + 1}-0", str(error), bytes(raw))
    replay = Replay(events[0].game_id, items)
    assert replay.grade.name == "DIVERGED"
    assert replay.grade.at in (n + 1, n + 2)
    assert replay.at(n).grade == "EXACT"
    assert all(step.words for step in replay.steps("fr"))


def test_an_empty_game_has_one_position(game: Any) -> None:
    replay = Replay(bytes(16))
    assert len(replay) == 0
    assert replay.at(0).head == genesis(bytes(16))
    assert replay.grade.name == "EXACT"
    assert list(replay.steps()) == list(replay.chapters()) == []


# -- spoilers ------------------------------------------------------------------------------------------------------


@settings(max_examples=25, deadline=None)
@given(
    shared=st.integers(6, 120),
    suffix=st.sampled_from(["left", "right"]),
    after=st.integers(0, 120),
    limit=st.integers(1, 60),
    language=st.sampled_from(["en", "fr", "ja"]),
    end=st.sampled_from(["play", "resign", "close", "damage", "stop"]),
)
def test_two_games_with_the_same_beginning_give_the_same_bytes(
    table: Any, names: dict[bytes, str], shared: int, suffix: str, after: int, limit: int, language: str, end: str
) -> None:
    def fork(whim: int, end: str) -> Replay:
        played = table(f"spoilers {suffix}").open(3).wander(shared)
        played.whim += whim
        if end == "play":
            played.wander(shared + 60)
        elif not played.position.closed and end != "stop":
            draft = played.draft()
            if end == "resign":
                draft.resign(played.position.to_act[0])
            elif end == "close":
                draft.close("abandoned", "absent")
            played.keep(draft)
        items: list[Event | Damage] = list(played.events)
        if end == "damage":
            items += [Damage(f"{len(items) + 1}-0", "the entry is not one field e")]
        return Replay(played.game_id, items)

    one, other = fork(1, "play"), fork(2, end)
    at = min(shared, len(one), len(other))
    after = min(after, at)
    list(one.steps())  # what was folded before must make no difference
    pages = [
        json.dumps(replay_page(replay, at, after, limit, language, names=names), ensure_ascii=False)
        for replay in (one, other)
    ]
    assert pages[0] == pages[1]


def test_a_page_without_spoilers_tells_neither_length_nor_outcome_nor_later_chapters(game: Any) -> None:
    table = game("page")
    page = replay_page(Replay(table.game_id, table.events), at=50, after=40)
    assert page["steps"][0]["version"] == 41
    assert max(step["version"] for step in page["steps"]) == 50
    assert max(chapter["version"] for chapter in page["chapters"]) <= 50
    assert page["next"] is None
    assert {"length", "outcome"}.isdisjoint(page)
    assert page["steps"][0]["at"].endswith("Z")


def test_a_page_with_spoilers_tells_all_of_it(game: Any) -> None:
    table = game("page")
    page = replay_page(Replay(table.game_id, table.events), limit=10, spoilers=True)
    assert page["length"] == len(table.events)
    assert page["next"] == 10
    assert max(chapter["version"] for chapter in page["chapters"]) > 50
    assert "outcome" in page


def test_a_page_goes_no_further_than_asked_and_not_beyond_the_game(game: Any) -> None:
    table = game("page")
    replay = Replay(table.game_id, table.events)
    assert replay_page(replay, limit=7)["position"] == 7
    assert replay_page(replay, at=30, limit=7)["next"] == 7
    with pytest.raises(NoSuchPosition):
        replay_page(replay, at=len(table.events) + 1)
    with pytest.raises(NoSuchPosition):
        replay_page(replay, at=5, after=6)
