"""Differences: between two positions of a game, between two games up to where they part, and between what two versions
of the rules say of one game. Always a report: what was played stays as it is.
"""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET

from engine.chance import Recorded, WrongDraw
from engine.protocol import Happening, Illegal, Rules
from events.event import Event
from replay.facts import facts
from replay.position import Position
from replay.replay import Change, Replay, differences
from replay.why import asked_of, draws_of
from replay.words import Context, words

PLAYED: Final = ("seeded", "act", "timeout", "resign")
"""The kinds of event in which the rules have a say."""

# -- two positions ---------------------------------------------------------------------------------------------------


def between(replay: Replay, old: int, new: int, viewer: int | None = None) -> list[Change]:
    """What is different between two positions, as a seat or a watcher (None) may see them; paths as in `facts`.

    :raises NoSuchPosition: the game has not come so far.
    """
    return _changes(replay.at(old), replay.at(new), viewer)


def _changes(old: Position, new: Position, viewer: int | None = None) -> list[Change]:
    return _differ(_told(old, viewer), _told(new, viewer))


def _told(position: Position, viewer: int | None) -> dict[str, Any]:
    """What a position says: its state, whose turn it is, how it ended."""
    return {
        **(position.view(viewer) or {}),
        "status": position.status,
        "to_act": position.to_act,
        "outcome": msgspec.to_builtins(position.outcome),
    }


def _differ(old: Any, new: Any) -> list[Change]:
    if old == new:
        return []
    return [
        Change(change.path.removeprefix("/"), change.old, change.new) for change in differences(facts(old), facts(new))
    ]


# -- two games -------------------------------------------------------------------------------------------------------


class Side(msgspec.Struct, frozen=True):
    """What one game went on with: an event, in words, with its draws in words; "" and none where it has no more."""

    version: int
    words: str
    draws: list[str]
    over: bool = False


class Parting(msgspec.Struct, frozen=True):
    """How far two games are the same.

    ``common``: in so many of their events of play (a draw, an action, a time-out, a resignation) they agree, as far as
    versions ``upto`` of each. ``first`` and ``second``: what each went on with, None where they never part. ``setup``:
    what is different about the tables; ``changes``: what was different in the state right after they parted.
    """

    common: int
    upto: tuple[int, int]
    setup: list[Change]
    first: Side | None = None
    second: Side | None = None
    changes: list[Change] = []


def parting(
    first: Replay,
    second: Replay,
    language: str = "en",
    names: Mapping[bytes, str] | None = None,
    upto: tuple[int | None, int | None] = (None, None),
) -> Parting:
    """Where two games part: by the events of play, whoever sat there, whatever the dice were committed to.

    A fork is held against its source from the position on at which it began. ``upto``: how far each may be looked at.

    :raises NoSuchPosition: a game has not come so far.
    """
    ends = len(first) if upto[0] is None else upto[0], len(second) if upto[1] is None else upto[1]
    starts = _starts(first, second)
    plays = [
        [n for n in range(start + 1, end + 1) if (event := game.event(n)) is not None and event.kind in PLAYED]
        for game, start, end in zip((first, second), starts, ends, strict=True)
    ]
    setup = _differ(_table(first.at(ends[0])), _table(second.at(ends[1])))
    common, reached = 0, starts
    for mine, theirs in zip(*plays, strict=False):
        here, there = first.at(mine), second.at(theirs)
        changes = _changes(here, there)
        if changes or _asked(first.event(mine)) != _asked(second.event(theirs)):
            sides = _side(first, mine, language, names), _side(second, theirs, language, names)
            return Parting(common, reached, setup, *sides, changes)
        common, reached = common + 1, (mine, theirs)
    if len(plays[0]) == len(plays[1]):
        return Parting(common, ends, setup)
    one, other = (
        _side(game, versions[common], language, names) if common < len(versions) else Side(end, "", [], over=True)
        for game, versions, end in zip((first, second), plays, ends, strict=True)
    )
    return Parting(common, reached, setup, one, other)


def _starts(first: Replay, second: Replay) -> tuple[int, int]:
    """Behind which event each game is compared: a fork behind its opening, its source behind the position taken."""
    for game, source in ((first, second), (second, first)):
        create = game.at(min(1, len(game))).create
        if create is not None and create.forked_from is not UNSET and create.forked_from[0] == source.game_id:
            events = (game.event(n) for n in range(1, len(game) + 1))
            begun = next((event.seq for event in events if event is not None and event.kind == "seeded"), len(game))
            taken = create.forked_from[1]
            return (begun, taken) if game is first else (taken, begun)
    return 0, 0


def _table(position: Position) -> dict[str, Any]:
    """What was agreed before the start."""
    create = position.create
    return {
        "ruleset": None if create is None else create.rules,
        "options": {} if create is None else create.options,
        "seats": [
            {"choice": seat.choice, "bot": None if seat.bot is None else list(seat.bot)} for seat in position.seats
        ],
    }


def _asked(event: Event | None) -> Any:
    """What an event of play says but for when, by whom and how it was proved."""
    return None if event is None else (event.kind, event.seat, asked_of(event), draws_of(event))


def _side(game: Replay, version: int, language: str, names: Mapping[bytes, str] | None) -> Side:
    event, position, said = game.event(version), game.at(version), words(language)
    assert event is not None
    context = Context.of(position, names)
    told = said.event(event, game.happenings(version), context)
    return Side(version, told, [said.draw(draw, context) for draw in draws_of(event)])


# -- two rulesets ----------------------------------------------------------------------------------------------------


class Otherwise(msgspec.Struct, frozen=True):
    """An event of which other rules say something else, asked at the very position at which it was played.

    ``sort``: they ``refuse`` it, want other ``draws``, come to another ``state``, or cannot read the position at all
    (``unreadable``). ``words``: what was played; ``other``: what the other rules tell of it, or why they refuse it, by
    which paragraph (``rule``). ``changes``: from the state that was played to theirs.
    """

    version: int
    sort: Literal["refused", "draws", "state", "unreadable"]
    words: str
    other: str
    rule: str = ""
    changes: list[Change] = []


class UnderOther(msgspec.Struct, frozen=True):
    """A game under other rules: ``asked`` events of play were put to them, of which they say otherwise of these.

    From the first of them on the game would have been another one; each later one is asked about by itself.
    """

    ruleset: str
    other: str
    asked: int
    otherwise: list[Otherwise]


def under(
    replay: Replay,
    rules: Rules[Any],
    language: str = "en",
    names: Mapping[bytes, str] | None = None,
    upto: int | None = None,
) -> UnderOther:
    """What would these rules have said? Nothing is rewritten: each event is put to them at the position before it.

    :raises NoSuchPosition: the game has not come so far.
    """
    end = len(replay) if upto is None else upto
    found: list[Otherwise] = []
    asked, played_under = 0, ""
    for version in range(1, end + 1):
        event, after = replay.event(version), replay.at(version)
        played_under = played_under if after.create is None else after.create.rules
        if event is None or event.kind not in PLAYED or after.rules is None or after.state is None:
            continue
        asked += 1
        if (otherwise := _put(replay, version, event, rules, language, names)) is not None:
            found.append(otherwise)
    return UnderOther(played_under, rules.id, asked, found)


def _put(
    replay: Replay, version: int, event: Event, rules: Rules[Any], language: str, names: Mapping[bytes, str] | None
) -> Otherwise | None:
    before, after, said = replay.at(version - 1), replay.at(version), words(language)
    assert after.rules is not None
    told = said.event(event, replay.happenings(version), Context.of(after, names))
    try:
        state = _state(before, event, rules)
    except msgspec.ValidationError as error:
        return Otherwise(version, "unreadable", told, str(error))
    context = msgspec.structs.replace(Context.of(after, names), rules=rules, state=state)
    try:
        happenings = _apply(state, event, rules)
    except Illegal as error:
        return Otherwise(version, "refused", told, said.refusal(error.reason, error.details, context), error.rule)
    except WrongDraw as error:
        return Otherwise(version, "draws", told, str(error))
    changes = _differ(_judged(after.rules, after.state), _judged(rules, state))
    if not changes:
        return None
    return Otherwise(version, "state", told, said.event(event, happenings, context), changes=changes)


def _judged(rules: Rules[Any], state: Any) -> dict[str, Any]:
    outcome = msgspec.to_builtins(rules.outcome(state))
    return {**rules.view(state, None), "to_act": rules.to_act(state), "outcome": outcome}


def _state(before: Position, event: Event, rules: Rules[Any]) -> Any:
    """The position before an event as these rules see it.

    :raises msgspec.ValidationError: they cannot.
    """
    if event.kind == "seeded" and before.state is None:
        assert before.setup is not None
        return rules.initial(before.setup)
    return msgspec.convert(msgspec.to_builtins(before.state), rules.state)


def _apply(state: Any, event: Event, rules: Rules[Any]) -> list[Happening]:
    chance = Recorded(draws_of(event))
    match event.kind, asked_of(event):
        case "seeded", _:
            happenings = rules.begin(state, chance)
        case "act", (name, args):
            happenings = rules.apply(state, event.seat or 0, rules.parse(name, args), chance)
        case "timeout", _:
            happenings = rules.time_out(state, event.seat or 0)
        case _:
            happenings = rules.withdraw(state, event.seat or 0)
    chance.finish()
    return happenings
