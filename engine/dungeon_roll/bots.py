"""A player of Dungeon Roll: the delver, who reckons.

The delver compares all it could do next by the experience it may expect from there on: `Plan` tries whatever needs no
dice to the end of the level, `odds` says what a party is worth after it and what dice may bring.
What a power does is tried out with the rules themselves.
"""

import itertools
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

from msgspec import UNSET

from engine.bots import anything
from engine.dungeon_roll import actions as act
from engine.dungeon_roll.components import COMPANIONS, MONSTERS, PARTY_FACES, treasure_value
from engine.dungeon_roll.delving import heroes_left
from engine.dungeon_roll.heroes import ANY_NUMBER, Power
from engine.dungeon_roll.odds import (
    A_DRAGON,
    A_TREASURE,
    BAIT,
    DIE,
    ELIXIR,
    HERO,
    KINDS,
    NONE,
    ONE,
    PORTAL,
    RING,
    TEMP,
    TOKEN,
    ULTIMATE,
    Monsters,
    Odds,
    Roll,
    odds_of,
    present,
    rolls,
)
from engine.dungeon_roll.powers import limit, payable, pool
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import DELVING
from engine.protocol import Action, Below, Bot, Rules


class Level(NamedTuple):
    """``whims``: one decision in so many is any legal action instead, 0 is none."""

    whims: int


LEVELS: Final = {1: Level(whims=4), 2: Level(whims=0)}

A_SPARE_TOKEN: Final = 0.3
"""A token that waits for another delve is worth more than its point."""
A_MARGIN: Final = 0.05
"""Dice are rolled, and powers spent, for so much at least."""
CLEAR: Final = 2.0
"""By so much going on is better beyond doubt."""
DOUBT: Final = 0.5
"""The odds see it a little too well: going on must be better by so much."""
MOST_TRIED: Final = 24
"""So many ways to use a power are tried out at a time."""
FAVOURITES: Final = (
    "knight", "enchantress", "viking", "guild-leader", "time-traveler", "crusader", "alexandra", "spellsword", "szopin",
    "minstrel", "mercenary", "toulak", "marpesia", "amar-suen", "half-goblin", "tracker", "alchemist", "sorceress",
    "tristan", "cassandra", "loeg-yllavyre", "occultist", "scout", "leprechaun", "dwarf", "archaeologist",
)  # fmt: skip
"""The heroes, best first."""


class Delver(Bot):
    """Fights as cheaply as it can, keeps dice for the Dragon, and goes on as long as the odds are for it."""

    name = "delver"
    levels = range(1, 3)

    def choose(self, rules: Rules[Any], state: Any, seat: int, level: int, below: Below) -> Action:
        whims = LEVELS[level].whims
        if whims and below(whims) == 0:
            return anything(rules, state, seat, below)
        return Mind(rules, state).choose()


class Guess:
    """Chance for trying out: counts the treasures that would be drawn, and draws those that are of no use."""

    def __init__(self) -> None:
        self.treasures = 0

    def die(self, sides: int, purpose: str) -> int:
        raise NotImplementedError

    def pick(self, counts: Mapping[str, int], purpose: str) -> str:
        assert purpose == "treasure", "what rolls dice is not tried out"
        self.treasures += 1
        return min(counts, key=lambda token: (token != "dragon-scales", token))


class Stand(NamedTuple):
    """A party in a level, reduced to what matters: `engine.dungeon_roll.odds`."""

    party: int
    monsters: Monsters
    chests: int
    potions: int
    lair: int
    graveyard: int


DICE: Final = len(PARTY_FACES)
"""The kinds before it are dice: these are buried when they are used."""
MOST_KNOWN: Final = 8_000
Step = tuple[Any, ...]
"""What a plan does first: ``("attack", kind, what is left of the monsters)`` and the like."""


@lru_cache(32)
def plan_of(odds: Odds, level: int, goes_on: bool, retires: bool, spare: float) -> "Plan":
    """What was found out once is kept, but not for ever: ``spare`` has many values, and a clerk runs for months."""
    return Plan(odds, level, goes_on, retires, spare)


class Plan:
    """The best way through a level that needs no dice, by trying them all.

    ``home``: the experience of retiring in this level's Regroup, None where that is not allowed.
    """

    def __init__(self, odds: Odds, level: int, goes_on: bool, retires: bool, spare: float) -> None:
        self.odds, self.level, self.goes_on, self.retires, self.spare = odds, level, goes_on, retires, spare
        side = self.side = odds.side
        point = 0.0 if side.discards_at_end else 1.0
        self.points = [
            (point + spare + (point if number == PORTAL else 0.0)) * (kind.sort == "token")
            for number, kind in enumerate(KINDS)
        ]
        self._known: dict[Stand, float] = {}

    def base(self, party: int) -> float:
        """The tokens of a party, in points."""
        return sum(self.points[n] * (party >> 4 * n & 15) for n in present(party) if self.points[n])

    def leaf(self, party: int, lair: int) -> float:
        """The level is cleared."""
        worth = float(self.level) if self.retires else 0.0
        if self.goes_on:
            on = self.odds.prospect(self.level, self.odds.strength(party), lair)
            worth = on if self.retires else max(worth, on - 1)
        return worth + self.base(party)

    def value(self, at: Stand) -> float:
        """What the best way is worth."""
        if (known := self._known.get(at)) is None:
            if len(self._known) > MOST_KNOWN:
                self._known.clear()
            known = self._known[at] = max([value for value, _ in self.ways(at)])
        return known

    def best(self, at: Stand) -> tuple[float, Step]:
        """The best way, and its first step."""
        value, step = max(self.ways(at), key=lambda way: way[0])
        if step[0] == "skip":
            _, step = max(self.ways(step[1]), key=lambda way: way[0])
            return value, step if step[0] == "quaff" else ("proceed",)
        return value, step

    def ways(self, at: Stand) -> Iterator[tuple[float, Step]]:
        """All that could be done next, with what it leads to."""
        party, monsters, chests, potions, lair, graveyard = at
        if monsters != NONE:
            yield from self.escapes(at)
            yield from self.fights(at)
            if self.side.loot_among_monsters:
                yield from self.openings(at)
                yield from self.drinks(at)
        elif chests:
            skip = Stand(party, NONE, 0, potions, lair, graveyard)
            yield self.value(skip), ("skip", skip)
            yield from self.openings(at)
        elif potions:
            yield self.value(Stand(party, NONE, 0, 0, lair, graveyard)), ("proceed",)
            yield from self.drinks(at)
        elif lair >= self.side.dragon_at:
            yield from self.escapes(at)
            if party >> 4 * RING & 15:
                yield self.leaf(party - ONE[RING], 0), ("ring",)
            yield from self.dragon_fights(at)
        else:
            yield self.leaf(party, lair), ("proceed",)

    def escapes(self, at: Stand) -> Iterator[tuple[float, Step]]:
        party, monsters, chests, potions, lair, graveyard = at
        yield self.base(party), ("flee",)
        if party >> 4 * PORTAL & 15:
            yield self.level + self.base(party - ONE[PORTAL]), ("portal",)
        if monsters != NONE and party >> 4 * BAIT & 15:
            lair += sum(monsters)
            if 0 < self.side.lair_emptied_at <= lair:
                lair = 0
            yield self.value(Stand(party - ONE[BAIT], NONE, chests, potions, lair, graveyard)), ("bait",)

    def usable(self, at: Stand) -> Iterator[int]:
        """The kinds that can act as companions. An Elixir needs a die that it can bring back."""
        for number in present(at.party):
            if self.odds.faces[number] and (number != ELIXIR or at.graveyard):
                yield number

    def fights(self, at: Stand) -> Iterator[tuple[float, Step]]:
        party, monsters, chests, potions, lair, graveyard = at
        after_two = self.side.after_two
        for number in self.usable(at):
            for way in self.odds.left(number, monsters):
                left, buried, won = party - ONE[number], graveyard + (number < DICE), 0.0
                if after_two and sum(monsters) - sum(way) > 1:
                    if self.odds.stays(number, monsters, way):
                        left, buried = left + ONE[0], graveyard
                    elif after_two == "treasure":
                        won = A_TREASURE
                    elif after_two == "refresh" and not left >> 4 * ULTIMATE & 15:
                        left += ONE[ULTIMATE]
                after = self.value(Stand(left, way, chests, potions, lair, buried))
                yield won + after, ("attack", number, way)

    def openings(self, at: Stand) -> Iterator[tuple[float, Step]]:
        party, monsters, chests, potions, lair, graveyard = at
        for number in self.usable(at):
            if opened := min(chests, self.odds.opens[number]):
                buried = graveyard + (number < DICE)
                after = self.value(Stand(party - ONE[number], monsters, chests - opened, potions, lair, buried))
                yield A_TREASURE * opened + after, ("open", number, opened)

    def drinks(self, at: Stand) -> Iterator[tuple[float, Step]]:
        party, monsters, chests, potions, lair, graveyard = at
        for number in present(party):
            buried = graveyard + (number < DICE)
            back = min(potions, buried) if KINDS[number].face else 0
            if not back:
                continue
            for faces in self.revived(party - ONE[number], back):
                joined = party - ONE[number] + sum([ONE[DIE[face]] for face in faces])
                after = self.value(Stand(joined, monsters, chests, potions - back, lair, buried - back))
                yield after, ("quaff", number, faces)

    def revived(self, party: int, back: int) -> list[tuple[str, ...]]:
        """The faces worth coming back: Champions, or companions of different types."""
        missing = [face for face in reversed(COMPANIONS) if not party >> 4 * DIE[face] & 15]
        mixed = tuple((*missing, *["champion"] * back)[:back])
        champions = ("champion",) * back
        return [champions] if sorted(mixed) == sorted(champions) else [champions, mixed]

    def dragon_fights(self, at: Stand) -> Iterator[tuple[float, Step]]:
        for chosen in self.odds.dragon_slayers(at.party):
            if ELIXIR not in chosen or at.graveyard:
                yield A_DRAGON + self.leaf(at.party - sum([ONE[number] for number in chosen]), 0), ("dragon", chosen)


class Mind:
    """One decision of the seat that delves. ``home_at``: it goes home after that level, whatever the odds (0: it weighs
    them)."""

    def __init__(self, rules: Rules[Any], state: State, home_at: int = 0) -> None:
        self.rules, self.state, self.home_at = rules, state, home_at
        self.seat = state.seat

    def choose(self) -> Action:
        state = self.state
        match state.phase:
            case "choosing-hero":
                return act.ChooseHero(min(heroes_left(state), key=FAVOURITES.index))
            case "delve-start":
                return act.BeginDelve()
            case "discarding":
                return act.DiscardTreasures(tuple(self.least_useful(state.discards)))  # type: ignore[arg-type]
        self.odds = self.odds_in(state)
        if state.phase == "forming":
            return self.form()
        self.plan = self.plan_for(state)
        self.at = self.level_of(state)
        if state.phase == "regroup":
            return self.regroup()
        worth, step = self.plan.best(self.at)
        best, chosen = worth, None
        for value, action in self.other_ways(worth):
            if value > best + A_MARGIN:
                best, chosen = value, action
        open_still = state.phase == "monster" and self.at.monsters == NONE
        if chosen is None and open_still and step[0] not in ("portal", "ring"):
            return act.Proceed()  # the Scout's Monster phase stays open (rules 2.5): the step belongs to a later one
        return chosen or self.carry_out(step)

    # The state in the words of the odds

    def odds_in(self, state: State) -> Odds:
        seat = state.seat
        exhausted = seat.side.extra_while_exhausted and state.delve.exhausted
        return odds_of(seat.hero, seat.master, exhausted, state.table.champion)

    def plan_for(self, state: State) -> Plan:
        delve = state.delve
        may = not delve.rage or delve.dragon_at == delve.level
        retires = may and delve.level >= self.home_at
        goes_on = not self.home_at or not retires
        spare = A_SPARE_TOKEN if state.seat.delves < 2 else 0.0
        return plan_of(self.odds_in(state), delve.level, goes_on, retires, spare)

    def level_of(self, state: State) -> Stand:
        delve = state.delve
        shown = Counter(delve.dice.values())
        party = sum(ONE[DIE[face]] for face in delve.party.values())
        for temp, face in delve.temps.items():
            party += ONE[HERO if temp == "hero" else TEMP[face]]
        for token, count in state.seat.treasures.items():
            if token in TOKEN:
                party += ONE[TOKEN[token]] * count
        if not delve.exhausted:
            party += ONE[ULTIMATE]
        monsters = (shown["goblin"], shown["skeleton"], shown["ooze"])
        return Stand(party, monsters, shown["chest"], shown["potion"], len(delve.lair), len(delve.graveyard))

    # Steps of a plan as actions

    def carry_out(self, step: Step) -> Action:
        delve = self.state.delve
        match step:
            case ("flee",):
                return act.Flee()
            case ("portal",):
                return act.UsePortal()
            case ("ring",):
                return act.UseRing()
            case ("bait",):
                return act.UseBait()
            case ("attack", int(number), left):
                if number == ELIXIR:
                    return act.UseElixir("champion")
                named = []
                for face, before, after in zip(MONSTERS, self.at.monsters, left, strict=True):
                    named += delve.showing(face)[: before - after]
                return act.Attack(self.one(number), tuple(named))  # type: ignore[arg-type]
            case ("open", int(number), int(opened)):
                chests = tuple(delve.showing("chest")[:opened])
                return act.OpenChests(self.one(number), chests)  # type: ignore[arg-type]
            case ("quaff", int(number), faces):
                return act.QuaffPotions(self.one(number), faces)  # type: ignore[arg-type]
            case ("dragon", chosen):
                if ELIXIR in chosen:
                    others = [n for n in chosen if n != ELIXIR]
                    return act.UseElixir(next(f for f in COMPANIONS if self.odds.different((*others, DIE[f]))))
                return act.FightDragon(tuple(self.those(chosen)))  # type: ignore[arg-type]
        return act.Proceed()

    def one(self, number: int) -> str:
        return self.those((number,))[0]

    def those(self, numbers: Iterable[int]) -> list[str]:
        """Companions of these kinds."""
        delve, named = self.state.delve, list[str]()
        for number in numbers:
            kind = KINDS[number]
            if kind.sort in ("token", "hero"):
                named.append(kind.name)
                continue
            if kind.sort == "die":
                there = [die for die, face in sorted(delve.party.items()) if face == kind.face]
            else:
                there = [temp for temp, face in sorted(delve.temps.items()) if temp != "hero" and face == kind.face]
            named.append(next(one for one in there if one not in named))
        return named

    # Regroup

    def regroup(self) -> Action:
        """Retire, or seek glory: whatever is more by the odds."""
        state, at, level = self.state, self.at, self.state.delve.level
        if not self.plan.retires:
            return act.SeekGlory()
        on = self.on(self.odds, at)
        power = state.seat.side.ultimate
        if not state.delve.exhausted and "regroup" in power.phases and self.plan.goes_on:
            if power.effect == "seek-treasure" and state.supply:
                return act.UseUltimate()
            if power.effect == "revive" and at.graveyard:
                better = self.on(self.odds, self.with_revived(at, power))
                if better > max(on, level) + A_MARGIN:
                    return act.UseUltimate()
        if not self.plan.goes_on:
            return act.Retire()
        return act.SeekGlory() if on > level + DOUBT else act.Retire()

    def on(self, odds: Odds, at: Stand) -> float:
        """What seeking glory is worth: roughly where that is enough to know, else by every roll of the next level."""
        delve = self.state.delve
        rough = odds.prospect(delve.level, odds.strength(at.party), at.lair)
        if rough > delve.level + CLEAR:
            return rough
        known = delve.reserve.get(str(delve.level + 1))
        return odds.glory(delve.level, at.party, at.graveyard, at.lair, shown_by(known) if known else None)

    # What needs dice, or a power

    def other_ways(self, worth: float) -> Iterator[tuple[float, Action]]:
        state = self.state
        side, delve = state.seat.side, state.delve
        if state.phase == "monster" or state.table.scroll_phases != "monster":
            yield from self.scrolls(worth)
        if not delve.exhausted and state.phase in side.ultimate.phases:
            yield from self.uses(worth, act.UseUltimate, side.ultimate)
        if (power := side.specialty) and state.phase in power.phases and not (power.per_level and delve.specialty_used):
            yield from self.uses(worth, act.UseSpecialty, power)

    def scrolls(self, worth: float) -> Iterator[tuple[float, Action]]:
        """Monsters of some types are rolled again, and Scrolls that are of no use."""
        delve, at = self.state.delve, self.at
        number = next((n for n in (DIE["scroll"], TOKEN["scroll"]) if at.party >> 4 * n & 15), None)
        if number is None or at.monsters == NONE:
            return
        scroll = self.one(number)
        price = self.plan.points[number]
        after = spent(at, number)
        idle = [die for die, face in sorted(delve.party.items()) if self.idle(face) and die != scroll]
        for change, dice in self.rerolls(after, number):
            action = act.UseScroll(scroll, tuple(dice + idle))  # type: ignore[arg-type]
            yield worth + change - price, action

    def idle(self, face: str) -> bool:
        """A party die that is better rolled again."""
        return self.odds.weights[DIE[face]] < self.odds.average - 0.15

    def rerolls(self, after: Stand, paid: int | None = None, groups: Iterable[str] = MONSTERS) -> Iterator[
        tuple[float, list[str]]
    ]:
        """Every choice of types to be rolled again: by how much that is better than fighting as it is, and the dice."""
        delve = self.state.delve
        before = self.without_scrolls(self.at.party)
        now = self.outcome(before, self.at.monsters, self.at.chests, self.at.potions, self.at.lair)
        there = [face for face in groups if (delve.lair if face == "dragon" else delve.showing(face))]
        for size in range(1, len(there) + 1):
            for faces in itertools.combinations(there, size):
                dice = [die for face in faces for die in (delve.lair if face == "dragon" else delve.showing(face))]
                yield self.rerolled(after, faces, len(dice)) - now, dice

    def rerolled(self, after: Stand, faces: Iterable[str], count: int, each: int = ANY_NUMBER) -> float:
        """What is to be expected when all dice of these faces, or so many of each, are rolled again."""
        g, s, o = (max(0, n - each) if face in faces else n for face, n in zip(MONSTERS, after.monsters, strict=True))
        lair = 0 if "dragon" in faces else after.lair
        chests = 0 if "chest" in faces else after.chests
        potions = 0 if "potion" in faces else after.potions
        expected = 0.0
        for roll in rolls(count, self.odds.becomes):
            a, b, c = roll.monsters
            expected += roll.odds * self.outcome(
                after.party, (g + a, s + b, o + c), chests + roll.chests, potions + roll.potions, lair + roll.dragons
            )
        return expected

    def outcome(self, party: int, monsters: Monsters, chests: int, potions: int, lair: int) -> float:
        roll = Roll(1.0, monsters, chests, potions, 0)
        return self.odds.outcome(self.state.delve.level, party, self.at.graveyard, roll, lair)

    def without_scrolls(self, party: int) -> int:
        """Scrolls that could only roll dice again are of no use to whoever fights."""
        for number in (DIE["scroll"], TOKEN["scroll"]):
            if not self.odds.faces[number] and party >> 4 * number & 15:
                party -= ONE[number]
                break
        return party

    def uses(self, worth: float, action: Any, power: Power) -> Iterator[tuple[float, Action]]:
        """The ways to use a power, with what each leads to."""
        state, at = self.state, self.at
        pays = [UNSET]
        if power.pay:
            pays = sorted(payable(state, power), key=self.price)[:1]  # type: ignore[assignment]
            if not pays:
                return
        pay = pays[0]
        match power.effect:
            case "seek-treasure":
                if state.supply:
                    yield worth + 1, action()
            case "revive":
                if at.graveyard:
                    value = self.plan.value(self.with_revived(at, power))
                    if power.binds:
                        value -= 1.0
                    yield value, action()
            case "refresh":
                if state.delve.exhausted and (at.lair >= 2 or worth < state.delve.level) and at.monsters != NONE:
                    yield worth + 2 * A_MARGIN, action(pay=pay)
            case "reroll":
                yield from self.reroll_uses(worth, action, power, pay)
            case "rally":
                yield from self.rallies(action, power)
            case _:
                for tried in itertools.islice(self.arguments(power, pay), MOST_TRIED):
                    used = action(**tried, pay=pay)
                    if self.rules.refuse(state, state.active, used) is None:  # type: ignore[attr-defined]
                        yield self.tried(used), used

    def reroll_uses(self, worth: float, action: Any, power: Power, pay: Any) -> Iterator[tuple[float, Action]]:
        at, delve = self.at, self.state.delve
        after, price = at, 0.0
        if action is act.UseUltimate:
            after = after._replace(party=after.party - ONE[ULTIMATE])
        if pay is not UNSET:
            after = spent(after, DIE[delve.party[pay]])
        if power.most == 1:
            for face in ("goblin",) if power.of == ("goblin",) else MONSTERS:
                if dice := delve.showing(face):
                    now = self.outcome(at.party, at.monsters, at.chests, at.potions, at.lair)
                    yield worth + self.rerolled(after, (face,), 1, each=1) - now, action(dice=tuple(dice[:1]), pay=pay)
            return
        groups = (*MONSTERS, "dragon") if "lair" in power.of and delve.lair else MONSTERS
        idle = [die for die, face in sorted(delve.party.items()) if "party" in power.of and self.idle(face)]
        for change, dice in self.rerolls(after, None, groups):
            named = dice + [die for die in idle if die != pay]
            yield worth + change - price, action(dice=tuple(named), pay=pay)

    def rallies(self, action: Any, power: Power) -> Iterator[tuple[float, Action]]:
        """As many monsters as there are Champions; these are rolled again, and count as Fighters."""
        at, delve = self.at, self.state.delve
        champions = at.party >> 4 * DIE["champion"] & 15
        rolled = list(delve.party.values()).count("champion")
        if not rolled:
            return
        party = at.party - ONE[ULTIMATE] + rolled * (ONE[DIE["fighter"]] - ONE[DIE["champion"]])
        assert champions >= rolled
        for dice in self.choices(pool(self.state, power), limit(self.state, power)):
            gone = Counter(delve.dice[die] for die in dice)
            left = [n - gone[face] for face, n in zip(MONSTERS, at.monsters, strict=True)]
            yield self.plan.value(at._replace(party=party, monsters=(left[0], left[1], left[2]))), action(dice=dice)

    def with_revived(self, at: Stand, power: Power) -> Stand:
        """Dice of the graveyard are rolled: one of each face, as it were."""
        count = min(power.count, at.graveyard)
        faces = [face for face in ("fighter", "mage", "thief", "champion", "cleric", "scroll", "fighter")[:count]
                 if not (power.scrolls_return and face == "scroll")]  # fmt: skip
        party = at.party - ONE[ULTIMATE] + sum(ONE[DIE[face]] for face in faces)
        return at._replace(party=party, graveyard=at.graveyard - len(faces))

    def arguments(self, power: Power, pay: Any) -> Iterator[dict[str, Any]]:
        """The ways to use a power that differ."""
        state, delve = self.state, self.state.delve
        match power.effect:
            case "hero-joins":
                yield {"faces": power.faces[:1]}
            case "discard-types":
                there = [face for face in power.faces if delve.showing(face)]
                for faces in itertools.combinations(there, min(limit(state, power), len(there))):
                    yield {"faces": faces}
            case "harvest":
                back = min(self.at.potions, self.at.graveyard)
                yield from ({"faces": faces} for faces in self.plan.revived(self.at.party, back))
            case "set":
                yield from self.settings(power)
            case _ if power.most:
                yield from ({"dice": dice} for dice in self.choices(pool(state, power, pay or ""), limit(state, power)))
            case _:
                yield {}

    def choices(self, dice: list[str], most: int) -> Iterator[tuple[str, ...]]:
        """So many dice as may be named, in every way that differs by the faces."""
        delve, seen = self.state.delve, set[tuple[str, ...]]()
        for chosen in itertools.combinations(dice, min(most, len(dice))):
            faces = tuple(sorted(delve.dice.get(die, "dragon") for die in chosen))
            if faces not in seen:
                seen.add(faces)
                yield chosen

    def settings(self, power: Power) -> Iterator[dict[str, Any]]:
        """A monster or a Dragon becomes a Potion or a Chest, somebody weak a Champion or who is missing."""
        delve = self.state.delve
        first = {face: die for die, face in sorted(delve.dice.items(), reverse=True) if face in MONSTERS}
        if delve.lair:
            first["dragon"] = delve.lair[0]
        weak = {face: die for die, face in sorted(delve.party.items(), reverse=True)}
        theirs = [(die, into) for face, die in weak.items() for into in ("champion",) if face != into]
        ours = [(die, into) for die in first.values() for into in ("potion", "chest")]
        for die, into in (*ours, *theirs):
            yield {"dice": (die,), "faces": (into,)}
        if power.most > 1:
            for (die, into), (other, face) in itertools.product(ours, theirs[-2:]):
                yield {"dice": (die, other), "faces": (into, face)}

    def tried(self, action: Action) -> float:
        """What the rules make of an action without dice, and what that is worth."""
        state: State = self.rules.copy(self.state)
        guess, number = Guess(), state.active
        seat, delves, xp = state.seat, state.seat.delves, state.seat.xp
        self.rules.apply(state, number, action, guess)
        won = seat.xp - xp + A_TREASURE * guess.treasures
        if state.active == number and state.phase in DELVING and seat.delves == delves:
            at, plan = self.level_of(state), self.plan_for(state)
            return float(won + (plan.leaf(at.party, at.lair) if state.phase == "regroup" else plan.value(at)))
        return float(won + self.plan.base(self.at.party))

    def price(self, pay: str) -> float:
        """How much is lost with a token or a die."""
        if (face := self.state.delve.party.get(pay)) is not None:
            return self.odds.weights[DIE[face]]
        return USEFULNESS.index(pay) / 2

    # Before and after

    def form(self) -> Action:
        """What three heroes decide before level 1."""
        delve, side = self.state.delve, self.state.seat.side
        weight = {die: self.odds.weights[DIE[face]] for die, face in sorted(delve.party.items())}
        match side.forming:
            case "reroll":
                return act.RerollParty(tuple(die for die, w in weight.items() if w < self.odds.average))  # type: ignore[misc]
            case "scrolls":
                weakest = sorted(weight, key=lambda die: (delve.party[die] != "scroll", weight[die], die))
                return act.SetScrolls(tuple(weakest[:2]))  # type: ignore[arg-type]
        party = self.level_of(self.state).party
        dice = delve.reserve["0"]

        def cost(levels: tuple[tuple[str, ...], ...]) -> float:
            total = 0.0
            for named in levels:
                monsters = shown_by({die: dice[die] for die in named}).monsters
                total += self.odds.cost(party, monsters, False)
            return total

        return act.AssignDice(*min(assignments(sorted(dice)), key=cost))  # type: ignore[arg-type]

    def least_useful(self, count: int) -> list[str]:
        """The tokens to give back: those whose points are fewest, then those of least use."""
        hand, given = dict(self.seat.treasures), list[str]()
        for _ in range(count):
            token = min(hand, key=lambda one: (self.loss(hand, one), USEFULNESS.index(one)))
            hand[token] -= 1
            if not hand[token]:
                del hand[token]
            given.append(token)
        return given

    def loss(self, hand: dict[str, int], token: str) -> int:
        return treasure_value(hand) - treasure_value(hand | {token: hand[token] - 1})


USEFULNESS: Final = (
    "dragon-scales", "dragon-bait", "scroll", "ring-of-invisibility", "thieves-tools", "talisman", "vorpal-sword",
    "scepter-of-power", "elixir", "town-portal",
)  # fmt: skip


def spent(at: Stand, number: int) -> Stand:
    """One of a kind was used."""
    return at._replace(party=at.party - ONE[number], graveyard=at.graveyard + (number < DICE))


def shown_by(dice: Mapping[str, str]) -> Roll:
    """Dungeon dice as a roll."""
    shown = Counter(dice.values())
    monsters = (shown["goblin"], shown["skeleton"], shown["ooze"])
    return Roll(1.0, monsters, shown["chest"], shown["potion"], shown["dragon"])


def assignments(dice: list[str]) -> Iterator[tuple[tuple[str, ...], ...]]:
    """Every way to lay out one, two and three of six dice."""
    for one in itertools.combinations(dice, 1):
        rest = [die for die in dice if die not in one]
        for two in itertools.combinations(rest, 2):
            yield one, two, tuple(die for die in rest if die not in two)
