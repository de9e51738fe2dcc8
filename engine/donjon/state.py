"""The state of a game: plain data, small, because it is packed and hashed after every event.

A cell is named ``"x,y"``: x grows eastwards, y southwards, the start tile is ``"0,0"``. Fields stand in alphabetical
order, the canonical one, so that packing has nothing to sort. An absent part is UNSET and takes no bytes. What is a
Mapping never changes, another takes its place: copies of a state share it.
"""

from collections.abc import Mapping
from typing import Literal

import msgspec
from msgspec import UNSET, UnsetType

from engine.bags import Bag
from engine.donjon.components import HIT_POINTS, HeroName
from engine.turns import TurnState

Phase = Literal[
    "opening",  # before the draws that open the game
    "turn-start",
    "exploring",
    "placing",
    "trap-pending",
    "encounter",
    "combat-pending",
    "combat-decision",
    "loot",
    "reincarnation",
    "turn-over",
    "game-over",
]
Ending = Literal["", "dragon", "exhaustion", "stalemate", "withdrawal"]


class Tile(msgspec.Struct, frozen=True):
    """A tile that lies on the table: its open sides, of ``nesw`` in this order, and its kind."""

    exits: str
    kind: str


class Hero(msgspec.Struct):
    """One seat's hero. ``name`` is empty until it was dealt; ``weapons`` and ``scrolls`` in the order taken."""

    at: str
    gold: int = 0
    hp: int = HIT_POINTS
    key: bool = False
    name: HeroName | Literal[""] = ""
    scrolls: list[str] = []
    weapons: list[str] = []
    withdrawn: bool = False


class Fight(msgspec.Struct):
    """A fight whose dice are on the table.

    ``bonus``: what weapons and the hero's power add; ``boost``: scrolls and hit points added since; ``kept``: which of
    ``pairs`` counts.
    """

    bonus: int
    boost: int
    kept: int
    pairs: list[list[int]]


class Placing(msgspec.Struct, frozen=True):
    """A drawn tile that waits to be turned: its id, and the cell where it will lie."""

    at: str
    tile: str


class Table(msgspec.Struct, frozen=True):
    """The table options on which the fold depends (rules 7)."""

    actions_at_zero: bool
    orientation: Literal["random", "player"]
    stalemate_rounds: int
    victorius_keeps_moving: bool


class State(TurnState):
    """A game of Le Donjon.

    ``active``: the seat whose turn it is (0 before the game is opened); ``bag`` and ``pile``: what is left to draw, id
    -> count, no zeros; ``heroes``: in seat order; ``mp`` and ``steps``: movement points left and steps taken this turn;
    ``progress``: the last turn in which something was discovered, defeated, opened or picked up (6.5); ``safe``: where
    a retreat leads; ``things``: the monster, closed chest or item in a room; ``turn``: turns begun so far.
    """

    active: int
    bag: Bag
    ending: Ending
    heroes: list[Hero]
    mp: int
    phase: Phase
    pile: Bag
    progress: int
    safe: str
    steps: int
    table: Table
    things: Mapping[str, str]
    tiles: Mapping[str, Tile]
    turn: int
    fight: Fight | UnsetType = UNSET
    placing: Placing | UnsetType = UNSET

    @property
    def hero(self) -> Hero:
        """The hero whose turn it is."""
        return self.heroes[self.active - 1]

    def take_thing(self) -> str:
        """What lies where the active hero is leaves the table."""
        left = dict(self.things)
        thing = left.pop(self.hero.at)
        self.things = left
        return thing

    def lay_thing(self, thing: str) -> None:
        """It lies where the active hero is."""
        self.things = {**self.things, self.hero.at: thing}
