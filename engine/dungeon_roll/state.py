"""The state of a game: plain data, small, because it is packed and hashed after every event.

Fields stand in alphabetical order, the canonical one. What can be derived is not kept: a dungeon die that is nowhere
else lies in the supply.
"""

from typing import Literal

import msgspec

from engine.bags import Bag
from engine.dungeon_roll.components import DUNGEON_DICE
from engine.dungeon_roll.heroes import HEROES, Side
from engine.turns import TurnState

Phase = Literal[
    "opening",  # before the draws that open the game
    "choosing-hero",
    "delve-start",
    "forming",
    "monster",
    "loot",
    "dragon",
    "regroup",
    "discarding",
    "game-over",
]
Ending = Literal["", "delves", "withdrawal"]
ScrollPhases = Literal["monster", "monster-loot-dragon"]
Champion = Literal["one-type", "any-types"]
HeroSet = Literal["base", "pack-2", "pack-1", "promos", "all"]
HeroChoice = Literal["random", "choice"]


class Delve(msgspec.Struct):
    """A delve under way; level 0 is before the first one.

    ``dice``: of this level, id -> face; ``dragon_at``: the level where a Dragon was last defeated (0: none);
    ``exhausted``: the ultimate is used up; ``rage``: rules 3.2.7; ``removed``: party dice out of this delve;
    ``reserve``: the Scout's dice for each level, ``"0"`` before they are assigned; ``specialty_used``: on this level;
    ``temps``: temporary companions, id -> face.
    """

    dice: dict[str, str] = {}
    dragon_at: int = 0
    exhausted: bool = False
    graveyard: list[str] = []
    lair: list[str] = []
    level: int = 0
    party: dict[str, str] = {}
    rage: bool = False
    removed: list[str] = []
    reserve: dict[str, dict[str, str]] = {}
    specialty_used: bool = False
    temps: dict[str, str] = {}

    @property
    def supply(self) -> list[str]:
        """The dungeon dice that lie nowhere else, by number."""
        busy = {*self.dice, *self.lair, *(die for dice in self.reserve.values() for die in dice)}
        return [die for n in range(1, DUNGEON_DICE + 1) if (die := f"dungeon-{n}") not in busy]

    def showing(self, *faces: str) -> list[str]:
        """The dice of this level that show one of these faces."""
        return sorted(die for die, face in self.dice.items() if face in faces)


class Seat(msgspec.Struct):
    """A player: ``hero`` is empty until it is known; ``treasures``: kind -> how many, no zeros."""

    delves: int = 0
    hero: str = ""
    master: bool = False
    treasures: Bag = {}
    withdrawn: bool = False
    xp: int = 0

    @property
    def side(self) -> Side:
        """The side of the hero's card that is up."""
        hero = HEROES[self.hero]
        return hero.master if self.master and hero.master else hero.novice

    @property
    def rule(self) -> str:
        """The paragraph of the hero."""
        return HEROES[self.hero].rule


class Table(msgspec.Struct, frozen=True):
    """The table options on which the fold depends (rules 6.1)."""

    champion: Champion
    hero_choice: HeroChoice
    heroes: HeroSet
    scroll_phases: ScrollPhases


class State(TurnState):
    """A game of Dungeon Roll.

    ``active``: the seat whose turn it is (0 before the game is opened); ``discards``: how many treasures the active
    seat has to give back now; ``resume``: where the delve then goes on, ``"delve-start"`` where it is over;
    ``supply``: the treasure tokens nobody has, kind -> how many, no zeros.
    """

    active: int
    delve: Delve
    discards: int
    ending: Ending
    phase: Phase
    resume: Phase
    seats: list[Seat]
    supply: Bag
    table: Table

    @property
    def seat(self) -> Seat:
        """The player whose turn it is."""
        return self.seats[self.active - 1]
