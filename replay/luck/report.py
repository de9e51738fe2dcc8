"""The luck report: of a game's seats, of a player's games, of all dice. JSON-ready, in words, and never a verdict.

Which tests are made is fixed in docs/luck.md, before anybody looks; every report says how many it made.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from math import erfc, sqrt
from typing import Any, Final, Literal

import msgspec
from babel.numbers import format_decimal

from engine.registry import game_name
from events.event import Event
from replay.luck import lots
from replay.luck.exact import (
    chi_square,
    chi_square_tail,
    evidence,
    findable,
    holm,
    multinomial_tail,
    tails,
    wilson,
)
from replay.luck.rolls import Roll
from replay.position import Finding, Position
from replay.replay import Replay
from replay.telling import Verbatim
from replay.why import draws_of
from replay.words import Context, words

FEW: Final = 30
"""From so many dice on the chi-square tail is good enough; below, every table is listed."""
PAIRS_LEAST: Final = 5
"""Least expected count of a pair of faces, else independence is not tested."""
SEEN: Final = 2.801585
"""A shift of so many standard errors is found by a two-sided test at 5% in 80% of cases (1.959964 + 0.841621)."""
Method = Literal["exact", "normal", "chi-square", "none"]


# -- what is counted -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class Tally:
    """The dice and draws of games, counted.

    By kind (``donjon/fight``): how often each face came; pairs of faces that fell one after the other in one event; and
    of what was drawn from a bag, how often it came from the first half of the bag, with what fair draws give.
    """

    faces: dict[str, Counter[int]] = field(default_factory=dict)
    sides: dict[str, int] = field(default_factory=dict)
    pairs: dict[str, Counter[tuple[int, int]]] = field(default_factory=dict)
    places: dict[str, list[Fraction]] = field(default_factory=dict)
    """Kind -> draws from the first half, their expectation, its variance, draws."""
    games: int = 0

    def count(self, game: str, draws: Sequence[Sequence[Any]]) -> None:
        """The draws of one event."""
        dice = lots(game).dice
        rolled: dict[str, list[int]] = {}
        for draw in draws:
            kind = f"{game}/{draw[0]}"
            if draw[0] in dice and draw[1] == dice[draw[0]]:
                face = draw[2] - (len(draw) == 3)
                self.faces.setdefault(kind, Counter())[face] += 1
                self.sides[kind] = draw[1]
                rolled.setdefault(kind, []).append(face)
            elif len(draw) == 4 and draw[1] > 1:
                half = draw[1] // 2
                share = Fraction(half, draw[1])
                place = self.places.setdefault(kind, [Fraction(0)] * 4)
                for i, more in enumerate((Fraction(draw[2] < half), share, share * (1 - share), Fraction(1))):
                    place[i] += more
        for kind, shown in rolled.items():
            self.pairs.setdefault(kind, Counter()).update(zip(shown[::2], shown[1::2], strict=False))

    def add(self, other: "Tally") -> None:
        """What another tally counted."""
        self.games += other.games
        self.sides |= other.sides
        for kind, faces in other.faces.items():
            self.faces.setdefault(kind, Counter()).update(faces)
        for kind, pairs in other.pairs.items():
            self.pairs.setdefault(kind, Counter()).update(pairs)
        for kind, place in other.places.items():
            self.places[kind] = [a + b for a, b in zip(self.places.get(kind, [Fraction(0)] * 4), place, strict=True)]


def tally(events: Iterable[Event], seat: int | None = None) -> Tally:
    """The draws of one game, of all seats or of one; nothing is folded for it."""
    counted, game = Tally(games=1), ""
    for event in events:
        if event.kind == "create" and isinstance(ruleset := event.body.get("rules"), str):
            game = game_name(ruleset)
        if seat is None or event.seat == seat:
            counted.count(game, draws_of(event))
    return counted


# -- what is said of it ----------------------------------------------------------------------------------------------


class Measured(msgspec.Struct, frozen=True):
    """One measure over some rolls: what came, and what fair dice give on average.

    ``at_least``, ``at_most``: the odds that fair dice give as much, or as little; ``lucky``: +1 where more is lucky;
    ``shift``: so much more or less on average would be seen in four of five such series; ``share``: of hits, with its
    95% interval, where each roll is a hit or not.
    """

    measure: str
    name: str
    rolls: int
    got: int
    expected: float
    deviation: float
    at_least: float
    at_most: float
    method: Method
    lucky: int
    shift: float
    share: tuple[float, float, float] | None
    words: list[str]

    @property
    def p(self) -> float:
        """Two-sided."""
        return min(1.0, 2 * min(self.at_least, self.at_most))


class Tested(msgspec.Struct, frozen=True):
    """One test of docs/luck.md on one kind of dice or draws. ``p`` and ``corrected`` are None where nothing was tested.

    ``test``: faces, pairs or places; ``n``: how many; ``findable``: odds of one face that so many would have shown;
    ``evidence``: an e-value that may be looked at as often as one likes.
    """

    kind: str
    test: str
    n: int
    counts: list[int]
    statistic: float | None
    p: float | None
    corrected: float | None
    method: Method
    findable: float | None
    evidence: float | None
    words: list[str]


class Line(msgspec.Struct, frozen=True):
    """A seat over time: what it got beyond expectation, up is lucky, and its score, each as (version, value)."""

    seat: int
    name: str
    luck: list[tuple[int, float]]
    score: list[tuple[int, int]]


class SeatLuck(msgspec.Struct, frozen=True):
    """The luck of one seat."""

    seat: int
    name: str
    measures: list[Measured]
    rolls: list[Roll]


class GameLuck(msgspec.Struct, frozen=True):
    """The luck of a game. ``recomputed``: do all its draws follow from what was committed? ``tests``: how many were
    made here."""

    version: int
    ruleset: str
    draws: int
    recomputed: bool
    tests: int
    seats: list[SeatLuck]
    lines: list[Line]
    faces: list[Tested]
    words: list[str]


def measured(game: str, measure: str, rolls: Sequence[Roll], language: str) -> Measured:
    """One measure over some rolls, at least one."""
    kinds, got = [roll.lot for roll in rolls], sum(roll.got for roll in rolls)
    mean = sum((lot.mean for lot in kinds), Fraction(0))
    deviation = sqrt(float(sum((lot.variance for lot in kinds), Fraction(0))))
    tail = tails(kinds, got)
    hits = sum(len(lot.weights) - 1 for lot in kinds)
    counted = lots(game).measures[measure]
    shift = SEEN * deviation / len(rolls)
    share = None
    n = len(rolls)
    if all(lot.low == 0 for lot in kinds):
        n, shift = hits, SEEN * deviation / hits
        share = (got / hits, *wilson(got, hits))
    more = got >= mean
    odds = float(tail.at_least if more else tail.at_most)
    said, name = words(language), words(language).raw(f"luck.measure.{game}.{measure}")
    facts: dict[str, Any] = {
        "measure": Verbatim(name),
        "got": got,
        "rolls": n,
        "expected": number(float(mean), 1, language),
        "deviation": number(deviation, 1, language),
        "percent": percent(odds, language),
        "games": thousand(odds, language),
        "shift": number(100 * shift if share else shift, 0 if share else 1, language),
        "low": Verbatim("") if share is None else percent(share[1], language),
        "high": Verbatim("") if share is None else percent(share[2], language),
    }
    told = [
        said.text("luck.measured.share" if share else "luck.measured", facts),
        said.text(f"luck.tail.{'more' if more else 'fewer'}", facts),
    ]
    told.append(said.text("luck.method.exact" if tail.exact else "luck.method.normal", facts))
    if share is not None:
        told.append(said.text("luck.interval", facts))
    told.append(said.text("luck.shift.share" if share else "luck.shift", facts))
    return Measured(
        measure, name, n, got, float(mean), deviation, float(tail.at_least), float(tail.at_most),
        "exact" if tail.exact else "normal", counted, shift, share, told,
    )  # fmt: skip


def by_measure(game: str, rolls: Iterable[Roll], language: str) -> list[Measured]:
    """Every measure of a game of which there are rolls."""
    sorted_out: dict[str, list[Roll]] = {}
    for roll in rolls:
        sorted_out.setdefault(roll.measure, []).append(roll)
    return [
        measured(game, measure, sorted_out[measure], language)
        for measure in lots(game).measures
        if measure in sorted_out
    ]


def examined(counted: Tally, language: str) -> list[Tested]:
    """Every test of docs/luck.md on what was counted, corrected for how many there are (Holm)."""
    found = [*_faces(counted), *_pairs(counted), *_places(counted)]
    corrected = holm({f"{one.test} {one.kind}": one.p for one in found if one.p is not None})
    return [
        msgspec.structs.replace(one, corrected=p, words=_told(msgspec.structs.replace(one, corrected=p), language))
        for one in found
        for p in (corrected.get(f"{one.test} {one.kind}"),)
    ]


def _faces(counted: Tally) -> Iterable[Tested]:
    for kind, faces in sorted(counted.faces.items()):
        sides = counted.sides[kind]
        counts = [faces[face] for face in range(sides)]
        n, statistic = sum(counts), float(chi_square(counts))
        few = n < FEW
        p = float(multinomial_tail(counts)) if few else chi_square_tail(statistic, sides - 1)
        seen = None if few else findable(n, sides)
        method: Method = "exact" if few else "chi-square"
        yield Tested(kind, "faces", n, counts, statistic, p, None, method, seen, evidence(counts), [])


def _pairs(counted: Tally) -> Iterable[Tested]:
    for kind, pairs in sorted(counted.pairs.items()):
        sides = counted.sides[kind]
        counts = [pairs[one, other] for one in range(sides) for other in range(sides)]
        if (n := sum(counts)) < PAIRS_LEAST * len(counts):
            yield Tested(kind, "pairs", n, counts, None, None, None, "none", None, None, [])
            continue
        statistic = float(chi_square(counts))
        p = chi_square_tail(statistic, len(counts) - 1)
        yield Tested(kind, "pairs", n, counts, statistic, p, None, "chi-square", None, None, [])


def _places(counted: Tally) -> Iterable[Tested]:
    for kind, (hits, mean, variance, n) in sorted(counted.places.items()):
        counts = [int(hits), int(n - hits)]
        if n < FEW:
            yield Tested(kind, "places", int(n), counts, None, None, None, "none", None, None, [])
            continue
        z = max(0.0, abs(float(hits - mean)) - 0.5) / sqrt(float(variance))
        yield Tested(kind, "places", int(n), counts, z, min(1.0, erfc(z / sqrt(2))), None, "normal", None, None, [])


def _told(one: Tested, language: str) -> list[str]:
    game, _, purpose = one.kind.partition("/")
    said = words(language)
    title = said.term("game", game)
    facts: dict[str, Any] = {
        "game": Verbatim(title.text if title else game),
        "purpose": Verbatim(said.raw(f"{game}.purpose.{purpose}")),
        "n": one.n,
        "counts": Verbatim(" · ".join(map(str, one.counts))),
        "p": Verbatim("") if one.p is None else percent(one.p, language),
        "corrected": Verbatim("") if one.corrected is None else percent(one.corrected, language),
        "findable": Verbatim("") if one.findable is None else percent(one.findable, language),
        "fair": percent(1 / len(one.counts), language),
        "evidence": Verbatim("") if one.evidence is None else number(one.evidence, 2, language),
    }
    if one.p is None:
        return [said.text(f"luck.{one.test}.not-checked", facts)]
    told = [said.text(f"luck.{one.test}", facts), said.text("luck.corrected", facts)]
    if one.findable is not None:
        told.append(said.text("luck.findable", facts))
    if one.evidence is not None:
        told.append(said.text("luck.evidence", facts))
    return told


def game_luck(
    replay: Replay, upto: int | None = None, language: str = "en", names: Mapping[bytes, str] | None = None
) -> GameLuck:
    """The luck of a game so far.

    :raises NoSuchPosition: the game has not come so far.
    """
    end = len(replay) if upto is None else upto
    position = replay.at(end)
    ruleset = "" if position.create is None else position.create.rules
    game, said = game_name(ruleset), words(language)
    context = Context.of(position, names)
    counted, rolls, draws = Tally(games=1), list[Roll](), 0
    scores: dict[int, list[tuple[int, int]]] = {number: [] for number, _ in position.seat_items()}
    for version, event, drawn, then in played(replay, end):
        counted.count(game, drawn)
        draws += len(drawn)
        rolls += lots(game).rolls(version, event.seat, drawn, replay.happenings(version))
        if then.state is not None:
            for seat, score in enumerate(lots(game).scores(then.state), 1):
                line = scores.setdefault(seat, [])
                if not line or line[-1][1] != score:
                    line.append((version, score))
    called = {seat: said.text("luck.seat", {"seat": seat}, context) for seat in scores}
    seats = [
        SeatLuck(seat, called[seat], by_measure(game, mine, language), mine)
        for seat in scores
        for mine in ([roll for roll in rolls if roll.seat == seat],)
    ]
    lines = [
        Line(seat, called[seat], luck_line(game, (roll for roll in rolls if roll.seat == seat)), scores[seat])
        for seat in scores
    ]
    faces = [one for one in examined(counted, language) if one.test == "faces"]
    made = sum(len(seat.measures) for seat in seats) + len(faces)
    sound = recomputed(replay, end)
    ps = {f"{seat.seat} {one.measure}": one.p for seat in seats for one in seat.measures}
    ps |= {one.kind: one.p for one in faces if one.p is not None}
    facts = {"count": draws, "tests": made, "percent": percent(_least(ps), language)}
    told = [
        said.text(f"luck.recomputed.{'yes' if sound else 'no'}", facts),
        *([said.text("luck.tests", facts)] if made else []),
        said.text("luck.no-verdict", facts),
    ]
    return GameLuck(end, ruleset, draws, sound, made, seats, lines, faces, told)


class AllLuck(msgspec.Struct, frozen=True):
    """The luck of many games: of a player's, by game, or of all dice. ``left``: how many games were not looked at."""

    games: int
    left: int
    tests: int
    measures: dict[str, list[Measured]]
    dice: list[Tested]
    words: list[str]


def player_luck(
    rolled: Iterable[tuple[str, Sequence[Roll]]], counted: Tally, left: int, language: str = "en"
) -> AllLuck:
    """The luck of a player: (game, rolls) of each of their games, and the draws of their seats; ``left`` further games
    were not looked at."""
    by_game: dict[str, list[Roll]] = {}
    for game, rolls in rolled:
        by_game.setdefault(game, []).extend(rolls)
    measures = {game: by_measure(game, rolls, language) for game, rolls in sorted(by_game.items()) if rolls}
    dice = [one for one in examined(counted, language) if one.test == "faces"]
    ps = {f"{game} {one.measure}": one.p for game, found in measures.items() for one in found}
    return _all("player", counted.games, left, measures, dice, ps, language)


def service_luck(counted: Tally, left: int, language: str = "en") -> AllLuck:
    """All dice and draws that were counted; ``left`` games are still to be."""
    return _all("service", counted.games, left, {}, examined(counted, language), {}, language)


def _all(
    whose: str,
    games: int,
    left: int,
    measures: dict[str, list[Measured]],
    dice: list[Tested],
    ps: dict[str, float],
    language: str,
) -> AllLuck:
    ps = ps | {f"{one.test} {one.kind}": one.p for one in dice if one.p is not None}
    said = words(language)
    facts: dict[str, Any] = {"games": games, "left": left, "tests": len(ps), "percent": percent(_least(ps), language)}
    told = [said.text(f"luck.{whose}", facts), said.text("luck.recomputed.elsewhere", facts)]
    told += [said.text("luck.tests", facts)] if ps else []
    return AllLuck(games, left, len(ps), measures, dice, [*told, said.text("luck.no-verdict", facts)])


def _least(ps: Mapping[str, float]) -> float:
    """The least of these, corrected for how many there are."""
    return min(holm(ps).values(), default=1.0)


def played(replay: Replay, end: int) -> Iterable[tuple[int, Event, list[list[Any]], Position]]:
    """(version, event, its draws, the position after it) of every event that can be read."""
    for version in range(1, end + 1):
        if (event := replay.event(version)) is not None:
            yield version, event, draws_of(event), replay.at(version)


def luck_line(game: str, rolls: Iterable[Roll]) -> list[tuple[int, float]]:
    """Beyond expectation so far, by the game's first measure; up is lucky."""
    measures = lots(game).measures
    total, line = Fraction(0), list[tuple[int, float]]()
    for roll in rolls:
        if roll.measure == next(iter(measures)):
            total += measures[roll.measure] * (roll.got - roll.lot.mean)
            line.append((roll.version, float(total)))
    return line


def recomputed(replay: Replay, end: int) -> bool:
    """Do all draws up to an event follow from the committed values that were revealed with them?"""
    found: list[Finding] = []
    position = Position(replay.game_id, report=found.append, check_dice=True)
    for version in range(1, end + 1):
        if (event := replay.event(version)) is None:
            return False
        position.advance(event)
    return position.unverified_from is None and not any(finding.check in ("dice", "draws") for finding in found)


# -- numbers ---------------------------------------------------------------------------------------------------------


def number(value: float, digits: int, language: str) -> Verbatim:
    """A number with so many decimals, as the language writes it."""
    return Verbatim(format_decimal(round(value, digits), f"0.{'0' * digits}" if digits else "0", locale=language))


def percent(odds: float, language: str) -> Verbatim:
    """Odds in per cent: two figures that count, and never 0 or 100 where it is not."""
    value = 100 * odds
    if 0 < value < 0.01:
        return Verbatim("< " + format_decimal(0.01, "0.00", locale=language))
    digits = 2 if value < 1 else 1 if value < 99.95 else 0
    return Verbatim(format_decimal(value, f"0.{'0' * digits}" if digits else "0", locale=language))


def thousand(odds: float, language: str) -> Verbatim:
    """Of a thousand such games, about how many."""
    return Verbatim("< 1" if odds < 0.0005 else format_decimal(round(1000 * odds), locale=language))
