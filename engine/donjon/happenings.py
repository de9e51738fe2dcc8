"""What there is to tell (derived when folding, never stored): each carries all that its sentence and picture need.

Cells are named as in the state, ``"x,y"``. ``rule`` is the paragraph of docs/rules/le-donjon.md that it follows.
"""

from typing import ClassVar, Final, Literal

from msgspec import UNSET, UnsetType

from engine import happenings as shared
from engine.happenings import OfHero
from engine.protocol import Happening, by_name

Die = tuple[int, ...]
"""Every face one die showed, rerolls included; the last one counts."""
Pair = tuple[Die, Die]
Remedy = Literal["fountain", "healing-scroll"]


class OfFight(OfHero, frozen=True):
    """Something in a fight: with which monster, and its strength."""

    monster: str
    strength: int


# The course of the game


class HeroDealt(OfHero, frozen=True):
    """A seat that chose no hero is dealt one."""

    rule: ClassVar[str] = "1.3"


class GameBegun(shared.GameBegun, frozen=True):
    """The first seat is drawn; ``heroes`` in seat order."""

    rule: ClassVar[str] = "1.3"


class TurnBegan(OfHero, frozen=True):
    """``turn``: the how-manieth of the game; ``mp``: movement points."""

    rule: ClassVar[str] = "2.5.1"
    turn: int
    mp: int


class TurnSkipped(OfHero, frozen=True):
    """A stunned hero misses its turn and comes to, with ``hp`` hit points."""

    rule: ClassVar[str] = "2.5.2"
    turn: int
    hp: int


class TurnEnded(OfHero, frozen=True):
    """Next."""

    rule: ClassVar[str] = "2.5.5"
    turn: int


class TimedOut(shared.TimedOut, frozen=True):
    """An absent seat's turn is settled to its cost; ``phase``: what the game was waiting for."""

    rule: ClassVar[str] = "9.1"


class SeatWithdrew(OfHero, frozen=True):
    """A seat leaves for good, and keeps its ``gold``."""

    rule: ClassVar[str] = "9.3"
    at: str
    gold: int


class DragonSlain(OfHero, frozen=True):
    """The last fight is won."""

    rule: ClassVar[str] = "6.1"
    at: str


class GameOver(shared.GameOver, frozen=True):
    """The end: its name, the seats with most gold, the gold of every seat in seat order."""

    rule: ClassVar[str] = "6.2"


# Moving


class TileDrawn(OfHero, frozen=True):
    """A tile was drawn for the cell ``at`` and waits to be turned."""

    rule: ClassVar[str] = "2.3.4"
    at: str
    kind: str
    shape: str


class TileReturned(OfHero, frozen=True):
    """The drawn tile goes back into the pile, because nobody turned it."""

    rule: ClassVar[str] = "9.2"
    at: str
    kind: str
    shape: str


class TileRevealed(OfHero, frozen=True):
    """A tile lies on the table now; ``left``: how many are left in the pile."""

    rule: ClassVar[str] = "2.3.4"
    at: str
    kind: str
    exits: str
    left: int


class HeroMoved(OfHero, frozen=True):
    """One step; ``mp``: movement points left."""

    rule: ClassVar[str] = "2.3"
    origin: str
    to: str
    sort: Literal["walk", "astral", "portal", "discover"]
    mp: int


class TokenRevealed(OfHero, frozen=True):
    """What the new room holds: a monster with its ``strength``, or a closed chest (strength 0)."""

    rule: ClassVar[str] = "2.4.2"
    at: str
    token: str
    strength: int


class TrapEntered(OfHero, frozen=True):
    """The trap is about to snap."""

    rule: ClassVar[str] = "2.4.3"
    at: str


class TrapAvoided(OfHero, frozen=True):
    """Tala saw it coming."""

    rule: ClassVar[str] = "3.6"
    at: str


class TrapSprung(OfHero, frozen=True):
    """It cost one hit point; ``hp`` are left."""

    rule: ClassVar[str] = "2.3.10"
    at: str
    hp: int


class Encounter(OfFight, frozen=True):
    """Aderyn may attack, or pass unseen."""

    rule: ClassVar[str] = "3.3"
    at: str


class SneakedPast(OfFight, frozen=True):
    """Aderyn leaves the monster behind."""

    rule: ClassVar[str] = "3.3"
    at: str


class Swapped(OfHero, frozen=True):
    """Xanros, who stood on ``origin``, and the hero of ``other_seat``, who stood on ``to``, changed places."""

    rule: ClassVar[str] = "3.4"
    other_seat: int
    other_hero: str
    origin: str
    to: str


# Fights


class FightBegan(OfFight, frozen=True):
    """No way out."""

    rule: ClassVar[str] = "4.1"
    at: str


class DiceRolled(OfFight, frozen=True):
    """The roll, and the total before boosts.

    ``pairs``: each pair of dice rolled (Horan: two); ``kept``: the two faces that count; ``weapons``, ``scrolls``
    (Argentus) and ``first_step`` (Tala): what they add.
    """

    rule: ClassVar[str] = "4.3"
    pairs: tuple[Pair, ...]
    kept: tuple[int, int]
    weapons: int
    scrolls: int
    first_step: int
    total: int


class BoostOffered(OfFight, frozen=True):
    """Not winning, with something to add: attack ``scrolls``, ``hit_points`` to sacrifice (Xanros)."""

    rule: ClassVar[str] = "4.5"
    total: int
    scrolls: int
    hit_points: int


class ScrollUsed(OfFight, frozen=True):
    """An attack scroll brought the total to ``total``; ``scrolls`` attack scrolls are left."""

    rule: ClassVar[str] = "4.5"
    total: int
    scrolls: int


class HitPointSacrificed(OfFight, frozen=True):
    """A hit point of Xanros brought the total to ``total``; ``hp`` are left."""

    rule: ClassVar[str] = "4.5"
    total: int
    hp: int


class FightWon(OfFight, frozen=True):
    """``reward``: what the monster leaves; Aderyn also wins with an equal total."""

    rule: ClassVar[str] = "4.6.1"
    at: str
    total: int
    reward: str


class FightTied(OfFight, frozen=True):
    """Nobody is harmed."""

    rule: ClassVar[str] = "4.6.2"
    at: str
    total: int


class FightLost(OfFight, frozen=True):
    """It cost a hit point, if there was one to lose; ``hp`` are left."""

    rule: ClassVar[str] = "4.6.3"
    at: str
    total: int
    hp: int


class FightForfeited(OfFight, frozen=True):
    """An absent hero's fight is lost without dice; ``hp`` are left."""

    rule: ClassVar[str] = "9.2"
    at: str
    hp: int


class Retreated(OfHero, frozen=True):
    """Back to the last tile without a monster."""

    rule: ClassVar[str] = "4.6.4"
    origin: str
    to: str


class KnockedOut(OfHero, frozen=True):
    """No hit point is left: the hero lies stunned."""

    rule: ClassVar[str] = "4.7"
    at: str


class ReincarnationOffered(OfHero, frozen=True):
    """Horan fell, and may come back at one of the ``fountains``."""

    rule: ClassVar[str] = "3.5"
    at: str
    fountains: tuple[str, ...]


class Reincarnated(OfHero, frozen=True):
    """Horan rises at a fountain, with ``hp`` hit points."""

    rule: ClassVar[str] = "3.5"
    origin: str
    to: str
    hp: int


# Treasure


class LootDropped(OfHero, frozen=True):
    """A beaten monster's item lies in the room; not ``offered``: a second key, which stays there."""

    rule: ClassVar[str] = "4.6.1"
    at: str
    item: str
    offered: bool


class LootTaken(OfHero, frozen=True):
    """``dropped``: the item left for it."""

    rule: ClassVar[str] = "2.3.14"
    at: str
    item: str
    dropped: str | UnsetType = UNSET


class LootLeft(OfHero, frozen=True):
    """The item stays for anyone."""

    rule: ClassVar[str] = "2.3.14"
    at: str
    item: str


class ItemPickedUp(OfHero, frozen=True):
    """``dropped``: the item left for it."""

    rule: ClassVar[str] = "2.3.6"
    at: str
    item: str
    dropped: str | UnsetType = UNSET


class ChestOpened(OfHero, frozen=True):
    """The key is spent."""

    rule: ClassVar[str] = "2.3.7"
    at: str


class GoldGained(OfHero, frozen=True):
    """``amount`` of gold out of a ``source`` (closed-chest, open-chest, dragon-hoard); ``gold``: what the hero has."""

    rule: ClassVar[str] = "1.2"
    source: str
    amount: int
    gold: int


class Healed(OfHero, frozen=True):
    """``by``: fountain or healing-scroll; ``hp``: hit points now, ``gained`` of them new."""

    rule: ClassVar[str] = "5.8"
    by: Remedy
    gained: int
    hp: int


HAPPENINGS: Final[dict[str, type[Happening]]] = by_name(
    HeroDealt,
    GameBegun,
    TurnBegan,
    TurnSkipped,
    TurnEnded,
    TimedOut,
    SeatWithdrew,
    DragonSlain,
    GameOver,
    TileDrawn,
    TileReturned,
    TileRevealed,
    HeroMoved,
    TokenRevealed,
    TrapEntered,
    TrapAvoided,
    TrapSprung,
    Encounter,
    SneakedPast,
    Swapped,
    FightBegan,
    DiceRolled,
    BoostOffered,
    ScrollUsed,
    HitPointSacrificed,
    FightWon,
    FightTied,
    FightLost,
    FightForfeited,
    Retreated,
    KnockedOut,
    ReincarnationOffered,
    Reincarnated,
    LootDropped,
    LootTaken,
    LootLeft,
    ItemPickedUp,
    ChestOpened,
    GoldGained,
    Healed,
)
