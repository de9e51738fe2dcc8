"""The luck of Le Donjon: the dice of its fights, in pips, and in fights that the dice alone won against their odds."""

from collections.abc import Iterator, Sequence
from functools import cache
from itertools import product
from typing import Any, ClassVar, cast

from engine.donjon.components import HEROES, HeroName
from engine.donjon.happenings import DiceRolled
from engine.donjon.state import State
from engine.protocol import Happening
from replay.luck.exact import Lot, chance_of, lot_of
from replay.luck.rolls import Lots, Roll


@cache
def dice_of(hero: HeroName) -> Lot:
    """The sum of the two dice that count (rules 4.2), over every roll there is: Victorius has no 1 (3.1), Horan the
    better of two pairs (3.5)."""
    powers = HEROES[hero]
    faces = range(2 if powers.rerolls_ones else 1, 7)
    rolled = product(faces, repeat=4 if powers.rolls_two_pairs else 2)
    return lot_of(max(sum(dice[:2]), sum(dice[2:])) for dice in rolled)


@cache
def wins_of(hero: HeroName, needed: int) -> Lot:
    """Do these dice show at least so much together?"""
    dice = dice_of(hero)
    hits = sum(weight for i, weight in enumerate(dice.weights) if dice.low + i >= needed)
    return chance_of(hits, dice.total)


class DonjonLots(Lots):
    """Le Donjon. A scroll or a hit point added later is a choice and no luck: only the dice are asked who won."""

    measures: ClassVar = {"won": 1, "pips": 1}
    dice: ClassVar = {"fight": 6, "reroll": 6}

    def rolls(
        self, version: int, seat: int | None, draws: Sequence[Sequence[Any]], happenings: Sequence[Happening]
    ) -> Iterator[Roll]:
        for happening in happenings:
            if isinstance(happening, DiceRolled):
                hero, shown = cast(HeroName, happening.hero), sum(happening.kept)
                needed = happening.strength + (not HEROES[hero].wins_ties) - (happening.total - shown)
                won = wins_of(hero, needed)
                if 0 not in won.weights:  # a fight that no dice could lose, or win, says nothing
                    yield Roll(version, happening.seat, "won", int(shown >= needed), won)
                yield Roll(version, happening.seat, "pips", shown, dice_of(hero))

    def scores(self, state: State) -> list[int]:
        return [hero.gold for hero in state.heroes]
