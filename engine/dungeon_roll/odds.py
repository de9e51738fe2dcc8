"""What a party is worth against what is still to come, by the exact odds of every roll of dungeon dice.

A party is reduced to how many it has of each `KINDS`, a level to how many dice show each face. Who can defeat what is
asked of the rules (`engine.dungeon_roll.capability`), so it holds for every hero, both sides and all table options.
"""

import itertools
from collections import defaultdict
from collections.abc import Iterator
from functools import cache, lru_cache
from math import factorial
from typing import Final, NamedTuple

from engine.dungeon_roll.capability import able, acts_as, all_different, chests_at_once
from engine.dungeon_roll.components import ACTS_AS, DUNGEON_DICE, DUNGEON_FACES, MONSTERS, PARTY_FACES, TOP_LEVEL
from engine.dungeon_roll.heroes import Power
from engine.dungeon_roll.state import Champion, Delve, Seat, State, Table


class Kind(NamedTuple):
    """Something of which a party has so many: a die, a token, a temporary companion, the hero, the hero's power."""

    name: str
    face: str
    sort: str


KINDS: Final = (
    *(Kind(face, face, "die") for face in PARTY_FACES),
    *(Kind(token, face, "token") for token, face in ACTS_AS.items()),
    *(Kind(token, "", "token") for token in ("elixir", "ring-of-invisibility", "dragon-bait", "town-portal")),
    *(Kind(face, face, "temp") for face in ("fighter", "thief", "dragon")),
    Kind("hero", "fighter", "hero"),
    Kind("ultimate", "", "power"),
)
DIE: Final = {kind.face: number for number, kind in enumerate(KINDS) if kind.sort == "die"}
TOKEN: Final = {kind.name: number for number, kind in enumerate(KINDS) if kind.sort == "token"}
TEMP: Final = {kind.face: number for number, kind in enumerate(KINDS) if kind.sort == "temp"}
ELIXIR, RING, BAIT, PORTAL = (TOKEN[name] for name in ("elixir", "ring-of-invisibility", "dragon-bait", "town-portal"))
HERO: Final = len(KINDS) - 2
"""In person: a Fighter, or the twin, which is the same."""
ULTIMATE: Final = len(KINDS) - 1
ONE: Final = tuple(1 << 4 * number for number in range(len(KINDS)))
"""A party is an int with four bits for each kind: ``party - ONE[kind]`` has one less."""

Monsters = tuple[int, int, int]
"""Goblins, Skeletons, Oozes."""
NONE: Final[Monsters] = (0, 0, 0)
NEVER: Final = 1e9

# What things are worth, in experience

A_TREASURE: Final = 1.5
"""To be drawn: 1, sometimes 2, and its use."""
A_DRAGON: Final = 1 + A_TREASURE

# and in companions: what a Fighter is against four monsters is 1

A_SCROLL: Final = 0.7
A_TOKEN: Final = 0.8
"""By how much the token of a companion is as good as its die."""
A_POINT: Final = 0.9
"""The point of a token that is used."""
OTHERS: Final = {"elixir": 0.8, "ring-of-invisibility": 0.4, "dragon-bait": 0.4, "town-portal": 0.0}
A_POWER: Final = {
    "hero-joins": 1.1, "discard": 1.0, "sweep": 1.4, "discard-types": 1.4, "one-of-each": 1.4, "rally": 1.0,
    "enlist": 1.0, "transmute": 1.0, "into-lair": 1.0, "reroll": 0.9, "revive": 1.0, "set": 0.9, "slay": 0.7,
    "harvest": 2.0, "leave": 1.0, "seek-treasure": 0.0,
}  # fmt: skip
"""An ultimate that can be used."""


class Roll(NamedTuple):
    """What dungeon dice show, and how likely."""

    odds: float
    monsters: Monsters
    chests: int
    potions: int
    dragons: int


MOST_KNOWN: Final = 8_000
"""So much is kept of what was found out about parties: there are too many of them for a clerk that runs for months."""
ENOUGH: Final = 2
"""Chests and Potions beyond so many make little difference."""


@cache
def rolls(dice: int, becomes: tuple[tuple[str, str], ...] = ()) -> tuple[Roll, ...]:
    """Every result of so many dungeon dice, for a hero who converts some faces."""
    into = dict(becomes)
    place = {face: DUNGEON_FACES.index(into.get(face, face)) for face in DUNGEON_FACES}
    found = defaultdict[tuple[int, ...], float](float)
    for chosen in itertools.combinations_with_replacement(DUNGEON_FACES, dice):
        ways, shown = factorial(dice), [0] * len(DUNGEON_FACES)
        for face in DUNGEON_FACES:
            count = chosen.count(face)
            ways //= factorial(count)
            shown[place[face]] += count
        shown[3], shown[4] = min(shown[3], ENOUGH), min(shown[4], ENOUGH)
        found[tuple(shown)] += ways / 6**dice
    return tuple(Roll(odds, (g, s, o), c, q, d) for (g, s, o, c, q, d), odds in found.items())


Loot = tuple[tuple[float, int, int], ...]
"""Odds, chests, potions."""


@cache
def levels(dice: int, becomes: tuple[tuple[str, str], ...] = ()) -> tuple[tuple[Monsters, int, Loot], ...]:
    """The same results, together where they differ in the loot only: monsters, dragons, and the chances of loot."""
    found = defaultdict[tuple[Monsters, int], list[tuple[float, int, int]]](list)
    for roll in rolls(dice, becomes):
        found[roll.monsters, roll.dragons].append((roll.odds, roll.chests, roll.potions))
    return tuple((monsters, dragons, tuple(loot)) for (monsters, dragons), loot in found.items())


@lru_cache(MOST_KNOWN)
def present(party: int) -> tuple[int, ...]:
    """The kinds of which a party has any."""
    return tuple(number for number in range(len(KINDS)) if party >> 4 * number & 15)


@lru_cache(64)
def odds_of(hero: str, master: bool, exhausted: bool, champion: Champion) -> "Odds":
    """The odds for one side of a hero's card."""
    return Odds(hero, master, exhausted, champion)


class Odds:
    """What one hero's party can do, and what that is worth."""

    def __init__(self, hero: str, master: bool, exhausted: bool, champion: Champion) -> None:
        self.asked = State(
            active=1,
            delve=Delve(exhausted=exhausted),
            discards=0,
            ending="",
            phase="monster",
            resume="opening",
            seats=[Seat(hero=hero, master=master)],
            supply={},
            table=Table(champion, "random", "base", "monster"),
        )
        side = self.side = self.asked.seat.side
        self.becomes = tuple(side.dungeon_becomes.items())
        self.faces = [kind.face if kind.face and acts_as(self.asked, kind.face) else "" for kind in KINDS]
        self.faces[ELIXIR] = "champion"
        self.opens = [chests_at_once(self.asked, face) if face else 0 for face in self.faces]
        self.opens[ELIXIR] = 0
        self._kills: dict[tuple[str, Monsters], tuple[Monsters, ...]] = {}
        self._left: dict[tuple[int, Monsters], tuple[Monsters, ...]] = {}
        self._costs: dict[tuple[int, Monsters, bool], float] = {}
        self._different: dict[tuple[str, ...], bool] = {}
        self._slayers: dict[int, tuple[tuple[int, ...], ...]] = {}
        self._strength: dict[int, float] = {}
        self._glory: dict[tuple[int, int, int, int], float] = {}
        self._rows: dict[tuple[int, int], list[float]] = {}
        self.weights = [self._weight(number) for number in range(len(KINDS))]
        point = 0.0 if side.discards_at_end else A_POINT
        self.charge = [point * (kind.sort == "token") for kind in KINDS]
        self.average = sum(self.weights[DIE[face]] for face in PARTY_FACES) / 6
        self.dragonless = any(group == "lair" for group in side.ultimate.of) or side.ultimate.effect in (
            "harvest",
            "slay",
        )
        """The ultimate is a way round the Dragon."""

    # What one can do

    def kills(self, face: str, monsters: Monsters) -> tuple[Monsters, ...]:
        """What is left when a companion with this face did all it can, in each way there is."""
        key = face, monsters
        if (known := self._kills.get(key)) is None:
            known = self._kills[key] = tuple(self._ways(face, monsters))
        return known

    def _ways(self, face: str, monsters: Monsters) -> Iterator[Monsters]:
        def can(taken: list[int]) -> bool:
            named = [monster for monster, n in zip(MONSTERS, taken, strict=True) for _ in range(n)]
            return able(self.asked, face, named)

        if can(list(monsters)):
            yield NONE
            return
        for kind in range(3):
            taken = [0, 0, 0]
            taken[kind] = next((n for n in range(monsters[kind], 0, -1) if can([n * (k == kind) for k in range(3)])), 0)
            if not taken[kind]:
                continue
            more = [
                [n + (k == other) for k, n in enumerate(taken)]
                for other in range(3)
                if other != kind and monsters[other]
            ]
            for full in [ways for ways in more if can(ways)] or [taken]:
                yield (monsters[0] - full[0], monsters[1] - full[1], monsters[2] - full[2])

    def left(self, number: int, monsters: Monsters) -> tuple[Monsters, ...]:
        """What is left after one of a kind was used, where that hits the first type of monster there is.

        A Scroll and a power that rolls again count as if they took away half of the monsters.
        """
        key = number, monsters
        if (known := self._left.get(key)) is None:
            first = next(k for k in range(3) if monsters[k])
            if number == ULTIMATE:
                ways = tuple(self._power(self.side.ultimate, monsters, first))
            elif self.faces[number]:
                ways = self.kills(self.faces[number], monsters)
            elif KINDS[number].face == "scroll":
                ways = (fewer(monsters, max(1, sum(monsters) // 2), first),)
            elif number == BAIT:
                ways = (NONE,)
            else:
                ways = ()
            known = self._left[key] = tuple(way for way in set(ways) if way[first] < monsters[first])
        return known

    def _power(self, power: Power, monsters: Monsters, first: int) -> Iterator[Monsters]:
        match power.effect:
            case "hero-joins":
                for face in power.faces:
                    yield from self.kills(face, monsters)
            case "sweep" | "harvest" | "into-lair" if power.of != ("lair",):
                yield NONE
            case "discard" | "rally" | "transmute" if "loot" not in power.of:
                yield fewer(monsters, 1 if power.most_by else power.most, first)
            case "set":
                yield fewer(monsters, 1, first)
            case "enlist" if power.of in (("goblin",), ("skeleton",)):
                if power.of == (MONSTERS[first],):
                    yield fewer(monsters, min(power.most, monsters[first]), first)
            case "discard-types":
                kept = [0 if k == first else n for k, n in enumerate(monsters)]
                if power.most > 1:
                    kept[kept.index(max(kept))] = 0
                yield (kept[0], kept[1], kept[2])
            case "one-of-each":
                yield (max(0, monsters[0] - 1), max(0, monsters[1] - 1), max(0, monsters[2] - 1))
            case "reroll" | "revive":
                yield fewer(monsters, max(1, sum(monsters) // 2), first)

    def _weight(self, number: int) -> float:
        """What one of a kind is worth: how many monsters of four dice it defeats, against a plain Fighter."""
        kind, side = KINDS[number], self.side
        if kind.sort == "power":
            return A_POWER.get(side.ultimate.effect, 1.0) if side.ultimate.of != ("lair",) else 0.6
        if kind.sort == "temp":
            return 0.0
        if not kind.face:
            return OTHERS[kind.name]
        scale = A_TOKEN if kind.sort == "token" else 1.0
        if not self.faces[number]:
            return A_SCROLL * scale
        taken = 0.0
        for roll in rolls(4):
            if any(roll.monsters):
                least = min(sum(way) for way in self.kills(kind.face, roll.monsters))
                taken += roll.odds * (sum(roll.monsters) - least)
        return scale * taken / A_FIGHTER_TAKES

    def different(self, numbers: tuple[int, ...]) -> bool:
        """May these kinds face the Dragon together? An Elixir is whoever is missing."""
        faces = tuple(sorted(self.faces[number] for number in numbers if number != ELIXIR))
        if (known := self._different.get(faces)) is None:
            known = self._different[faces] = all(faces) and all_different(self.asked, faces)
        return known

    def dragon_slayers(self, party: int) -> tuple[tuple[int, ...], ...]:
        """Every choice of kinds that defeats the Dragon."""
        if (known := self._slayers.get(party)) is None:
            if len(self._slayers) > MOST_KNOWN // 4:
                self._slayers.clear()
            known = self._slayers[party] = tuple(self._dragon_slayers(party))
        return known

    def _dragon_slayers(self, party: int) -> Iterator[tuple[int, ...]]:
        able_kinds = [number for number in present(party) if self.faces[number]]
        for chosen in itertools.combinations_with_replacement(able_kinds, self.side.dragon_companions):
            enough = all(chosen.count(one) <= party >> 4 * one & 15 for one in set(chosen))
            if enough and chosen.count(ELIXIR) < 2 and self.different(chosen):
                yield chosen

    # What that is worth

    def strength(self, party: int) -> float:
        """A party in companions."""
        if (known := self._strength.get(party)) is None:
            if len(self._strength) > MOST_KNOWN // 4:
                self._strength.clear()
            known = self._strength[party] = sum(self.weights[n] * (party >> 4 * n & 15) for n in present(party))
        return known

    def cost(self, party: int, monsters: Monsters, dragon: bool) -> float:
        """The least strength it takes to get rid of monsters, and then of the Dragon; `NEVER` where it cannot be."""
        key = party, monsters, dragon
        known = self._costs.get(key)
        if known is not None:
            return known
        best, weights = NEVER, self.weights
        if monsters == NONE:
            best = self._dragon_cost(party) if dragon else 0.0
        else:
            for number in present(party):
                for way in self.left(number, monsters):
                    after, price = party - ONE[number], weights[number] + self.charge[number]
                    if self.stays(number, monsters, way):
                        after, price = after + ONE[0], price - weights[0]
                    price += self.cost(after, way, dragon)
                    if price < best:
                        best = price
        if len(self._costs) > MOST_KNOWN:
            self._costs.clear()
        self._costs[key] = best
        return best

    def stays(self, number: int, before: Monsters, after: Monsters) -> bool:
        """A Dwarf's Champion is rolled again; it counts as a Fighter then."""
        return (
            self.side.after_two == "reroll-champion"
            and number == DIE["champion"]
            and sum(before) - sum(after) > 1
        )  # fmt: skip

    def _dragon_cost(self, party: int) -> float:
        best = NEVER
        for chosen in self.dragon_slayers(party):
            best = min(best, sum(self.weights[number] + self.charge[number] for number in chosen))
        if party >> 4 * RING & 15:
            best = min(best, self.weights[RING] + 2)
        if self.dragonless and party >> 4 * ULTIMATE & 15:
            best = min(best, self.weights[ULTIMATE] + (0 if self.side.ultimate.effect == "slay" else 2))
        return best

    def outcome(self, level: int, party: int, graveyard: int, roll: Roll, lair: int) -> float:
        """The experience to be had when the dice of a level show this, ``lair`` of them those in the lair by now."""
        return self._outcome(level, party, graveyard, roll.monsters, lair, ((1.0, roll.chests, roll.potions),))

    def _outcome(
        self, level: int, party: int, graveyard: int, monsters: Monsters, lair: int, loot: Loot
    ) -> float:  # fmt: skip
        """The sum of all these chances of loot."""
        side = self.side
        if 0 < side.lair_emptied_at <= lair:
            lair = 0
        dragon = lair >= side.dragon_at
        cost = self.cost(party, monsters, dragon)
        if cost >= NEVER:
            fallen = 0.0
            if side.ultimate.effect == "leave" and party >> 4 * ULTIMATE & 15:
                fallen = level - side.ultimate.count
            elif party >> 4 * PORTAL & 15:
                fallen = level - 2.0
            return fallen * sum(odds for odds, _, _ in loot)
        prospect, strength, points = self.prospect, self.strength(party) - cost, 0.0
        if dragon:
            lair, points = 0, A_DRAGON
        buried, champion, expected = graveyard + 1 + sum(map(bool, monsters)), self.weights[4], 0.0
        for odds, chests, potions in loot:
            left = strength
            if potions and left > 0.4:
                left = max(left, left - 0.8 + min(potions, buried) * champion)
            value = prospect(level, left, lair)
            if chests and left > 0.6:
                opened = A_TREASURE * (1 + 0.6 * (chests - 1))
                value = max(value, prospect(level, left - 1, lair) + opened)
            expected += odds * (points + value)
        return expected

    def glory(self, level: int, party: int, graveyard: int, lair: int, known: Roll | None = None) -> float:
        """The experience to be expected when the party seeks glory after this level, from here on."""
        if known:
            return self.outcome(level + 1, party, graveyard, known, lair + known.dragons)
        key = level, party, graveyard, lair
        if (expected := self._glory.get(key)) is None:
            expected = 0.0
            for monsters, dragons, loot in levels(min(level + 1, DUNGEON_DICE - lair), self.becomes):
                expected += self._outcome(level + 1, party, graveyard, monsters, lair + dragons, loot)
            if len(self._glory) > 50_000:
                self._glory.clear()
            self._glory[key] = expected
        return expected

    def prospect(self, level: int, strength: float, lair: int) -> float:
        """What a party of this strength is worth after a level: home at once, or on, whatever is more.

        It is reckoned level by level from the last one down, with parties of usual companions.
        """
        if level >= TOP_LEVEL:
            return TOP_LEVEL
        row = self._rows.get((level, lair))
        if row is None:
            row = self._row(level, lair)
        return row[min(int(STEPS * strength + 0.5), len(row) - 1)] if strength > 0 else level

    def _row(self, level: int, lair: int) -> list[float]:
        points = [(0.0, float(level))]
        party = 0
        for size, face in enumerate(USUAL, 1):
            party += ONE[DIE[face]]
            worth = max(float(level), self.glory(level, party, max(0, 7 - size), lair))
            points.append((self.strength(party), max(worth, points[-1][1])))
        row, place = [], 0
        for step in range(int(STEPS * points[-1][0]) + 1):
            while points[place + 1][0] < step / STEPS:
                place += 1
            (x, low), (y, high) = points[place], points[place + 1]
            row.append(low + (high - low) * (step / STEPS - x) / (y - x))
        self._rows[level, lair] = row
        return row


USUAL: Final = ("fighter", "champion", "mage", "thief", "cleric", "scroll", "fighter", "cleric")
"""Who is usually left in a party of one, of two, and so on."""
STEPS: Final = 4
"""Strengths are told apart to a quarter of a companion."""


def fewer(monsters: Monsters, n: int, first: int) -> Monsters:
    """``n`` monsters less, of the first type before those of which there are most."""
    left = list(monsters)
    while n and any(left):
        kind = first if left[first] else left.index(max(left))
        left[kind] -= 1
        n -= 1
    return (left[0], left[1], left[2])


A_FIGHTER_TAKES: Final = sum(
    roll.odds * max(roll.monsters[0], int(any(roll.monsters[1:]))) for roll in rolls(4)
)  # fmt: skip
"""Monsters of four dice, on average."""
