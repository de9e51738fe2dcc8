"""Differences between positions, between games up to where they part, and between what two rulesets say."""

from typing import Any

import pytest
from msgspec import UNSET

from engine.donjon import DONJON_1, Donjon, fights, movement
from engine.donjon.actions import LeaveLoot, ResolveTrap, RollDice
from engine.donjon.components import WEAPONS
from engine.donjon.state import Tile
from engine.dungeon_roll import DUNGEON_ROLL_1
from engine.protocol import Illegal
from events.event import Event
from replay.diff import between, parting, under
from replay.replay import NoSuchPosition, Replay
from replay.why import why


def spring_once(state: Any, action: Any, chance: Any) -> Any:
    at = state.hero.at
    happenings = movement.resolve_trap(state, action, chance)
    state.tiles = {**state.tiles, at: Tile(state.tiles[at].exits, "corridor")}
    return happenings


class DonjonTwo(Donjon):
    """Le Donjon, where a trap springs once."""

    id = "donjon@2"
    handlers = Donjon.handlers | {ResolveTrap: Donjon.handlers[ResolveTrap]._replace(carry_out=spring_once)}


class DonjonGreedy(Donjon):
    """Le Donjon, where loot may not be left."""

    id = "donjon@3"
    handlers = Donjon.handlers | {
        LeaveLoot: Donjon.handlers[LeaveLoot]._replace(refuse=lambda state, action: Illegal("pending-loot", "2.2")),
    }


class DonjonThreeDice(Donjon):
    """Le Donjon, where everybody rolls as Horan does."""

    id = "donjon@4"


def replay_of(played: Any, upto: int | None = None) -> Replay:
    return Replay(played.game_id, played.events[:upto])


# -- positions -------------------------------------------------------------------------------------------------------


def test_a_difference_is_named_by_the_path_that_why_understands(game: Any) -> None:
    replay = replay_of(game("diff", events=200))
    before, after = 60, 150
    changes = between(replay, before, after)
    assert changes
    for change in changes:
        if change.path.partition("/")[0] in replay.at(after).view():
            assert why(replay, after, change.path).value == change.new
    paths = [change.path for change in changes]
    assert len(set(paths)) == len(paths)


def test_no_difference_is_an_empty_list_and_backwards_is_the_mirror(game: Any) -> None:
    replay = replay_of(game("diff", events=200))
    assert between(replay, 50, 50) == []
    there, back = between(replay, 50, 90), between(replay, 90, 50)
    assert {(change.path, change.old, change.new) for change in there} == {
        (change.path, change.new, change.old) for change in back
    }
    with pytest.raises(NoSuchPosition):
        between(replay, 1, 9_999)


def test_an_item_taken_shows_as_one_more_of_its_name(game: Any) -> None:
    replay = replay_of(game("hurt", events=400))
    taken = next(step for step in replay.find(happening="loot-taken") if step.happening.item != "key")
    sort = "weapons" if taken.happening.item in WEAPONS else "scrolls"
    changes = {change.path: change for change in between(replay, taken.version - 1, taken.version)}
    change = changes[f"heroes/{taken.seat}/{sort}/{taken.happening.item}"]
    assert (0 if change.old is UNSET else change.old) + 1 == change.new


# -- games -----------------------------------------------------------------------------------------------------------


def test_two_games_with_one_beginning_part_where_they_were_played_on_otherwise(table: Any) -> None:
    first = table("twins").open(2).wander(60)
    second = table("twins").open(2).wander(59)
    position = second.position
    before = first.events[59].body["a"][0]
    other = next(
        offer.action
        for offer in second.rules.legal(position.state, position.to_act[0])
        if type(offer.action).__struct_config__.tag != before or before == "move"
    )
    second.act(other)
    parted = parting(replay_of(first), replay_of(second))
    if first.events[59].body["a"] == second.events[59].body["a"]:
        pytest.fail("the test must play on otherwise")
    assert parted.upto == (59, 59)
    assert parted.first is not None
    assert parted.second is not None
    assert parted.first.version == parted.second.version == 60
    assert parted.first.words != parted.second.words
    assert parted.setup == []
    assert parted.changes


def test_a_game_is_the_same_as_itself_and_as_far_as_it_went_before(game: Any) -> None:
    played = game("diff", events=200)
    whole = parting(replay_of(played), replay_of(played))
    assert (whole.first, whole.second, whole.changes) == (None, None, [])
    shorter = parting(replay_of(played), replay_of(played, 120))
    assert shorter.upto == (120, 120)
    assert shorter.second.over
    assert not shorter.first.over
    assert shorter.first.version == 121


def test_tables_that_differ_say_how(table: Any) -> None:
    first, second = table("one table").open(2).wander(30), table("other table").open(2, traps=7).wander(30)
    parted = parting(replay_of(first), replay_of(second), language="fr")
    assert [change.path for change in parted.setup] == ["options/traps"]
    assert parted.common == 0
    assert any(change.path.startswith("pile/") for change in parted.changes)


def test_games_of_different_games_part_at_once(table: Any) -> None:
    first = table("one game").open(2).wander(30)
    second = table("other game", "dungeon-roll@1").open(2, (None, None)).wander(30)
    parted = parting(replay_of(first), replay_of(second))
    assert "ruleset" in [change.path for change in parted.setup]
    assert parted.common == 0


# -- rulesets --------------------------------------------------------------------------------------------------------


def test_under_its_own_rules_a_game_is_what_it_was(game: Any, table: Any) -> None:
    replay = replay_of(game("diff", events=200))
    same = under(replay, DONJON_1)
    assert same.otherwise == []
    assert same.asked == sum(step.kind in ("seeded", "act") and step.index == 1 for step in replay.steps())
    rolled = table("under", "dungeon-roll@1").open(2, (None, None)).wander(80)
    assert under(replay_of(rolled), DUNGEON_ROLL_1).otherwise == []


def test_the_next_version_says_otherwise_exactly_where_a_trap_sprang(game: Any) -> None:
    played = game("trapped", events=400, options=(("traps", 20),))
    replay = replay_of(played)
    sprung = [step.version for step in replay.find(happening="trap-sprung")]
    assert sprung
    report = under(replay, DonjonTwo())
    assert [otherwise.version for otherwise in report.otherwise] == sprung
    for otherwise in report.otherwise:
        assert otherwise.sort == "state"
        (change,) = otherwise.changes
        assert change.path.startswith("tiles/")
        assert (change.old, change.new) == ("trap", "corridor")
    assert (report.ruleset, report.other) == ("donjon@1", "donjon@2")


def test_what_other_rules_refuse_is_said_with_their_words_and_paragraph(game: Any) -> None:
    replay = replay_of(game("hurt", events=400))
    left = [step.version for step in replay.find(action="leave-loot") if step.index == 1]
    assert left
    report = under(replay, DonjonGreedy(), language="fr")
    assert [(one.version, one.sort, one.rule) for one in report.otherwise] == [(n, "refused", "2.2") for n in left]
    assert all(one.other and "pending" not in one.other for one in report.otherwise)


def test_rules_that_want_other_dice_say_so(game: Any) -> None:
    replay = replay_of(game("hurt", events=200))
    rolled = [step.version for step in replay.find(happening="dice-rolled")]
    assert rolled
    rules = DonjonThreeDice()

    def roll_more(state: Any, action: Any, chance: Any) -> Any:
        chance.die(6, "fight")
        return fights.roll_dice(state, action, chance)

    rules.handlers = Donjon.handlers | {RollDice: Donjon.handlers[RollDice]._replace(carry_out=roll_more)}
    assert {(one.version, one.sort) for one in under(replay, rules).otherwise} == {(n, "draws") for n in rolled}


def test_rules_of_another_game_cannot_read_the_position(game: Any) -> None:
    report = under(replay_of(game("diff", events=60)), DUNGEON_ROLL_1)
    assert {otherwise.sort for otherwise in report.otherwise} <= {"unreadable", "state", "draws"}
    assert report.otherwise


def test_a_report_rewrites_nothing(game: Any) -> None:
    played = game("trapped", events=400, options=(("traps", 20),))
    before: list[bytes] = [event.data for event in played.events]
    replay = replay_of(played)
    under(replay, DonjonTwo())
    assert replay.grade.name == "EXACT"
    events: list[Event] = played.events
    assert [event.data for event in events] == before
