"""What there is to tell (derived when folding, never stored): each carries all that its sentence and picture need.

``hero`` is the name of the side that was up. ``dice``: id -> face. ``rule`` is the paragraph of
docs/rules/dungeon-roll.md that it follows.
"""

from typing import ClassVar, Final, Literal

from msgspec import UNSET, UnsetType

from engine import happenings as shared
from engine.happenings import OfHero
from engine.protocol import Happening, by_name

Dice = dict[str, str]
Source = Literal["level", "dragon", "supply"]
Cause = Literal["retire", "cleared", "portal", "flee", "hero", "absence"]


# The course of the game


class HeroDealt(OfHero, frozen=True):
    """A seat is dealt a hero."""

    rule: ClassVar[str] = "2.1"


class HeroChosen(OfHero, frozen=True):
    """A seat takes a hero."""

    rule: ClassVar[str] = "2.1"


class GameBegun(shared.GameBegun, frozen=True):
    """The first seat is drawn; ``heroes`` in seat order, empty where they are yet to be chosen."""

    rule: ClassVar[str] = "2.1"


class DelveBegan(OfHero, frozen=True):
    """``delve``: the how-manieth of the seat, 1 to 3."""

    rule: ClassVar[str] = "2.3"
    delve: int


class DelveEnded(OfHero, frozen=True):
    """``cause``, the ``level`` reached, and the experience it brings."""

    rule: ClassVar[str] = "2.9"
    delve: int
    cause: Cause
    level: int
    xp: int


class TimedOut(shared.TimedOut, frozen=True):
    """An absent seat's turn is settled to its cost; ``phase``: what for; ``hero``: empty if it had none yet."""

    rule: ClassVar[str] = "7.1"


class SeatWithdrew(OfHero, frozen=True):
    """A seat leaves for good, and keeps its experience and its treasures. ``hero``: empty if it had none yet."""

    rule: ClassVar[str] = "7.3"


class GameOver(shared.GameOver, frozen=True):
    """The end: its name, the seats that win, score and tokens of every seat in seat order; alone, the rank."""

    rule: ClassVar[str] = "4"
    tokens: tuple[int, ...]
    rank: str | UnsetType = UNSET


# Forming the party


class PartyRolled(OfHero, frozen=True):
    """The party dice."""

    rule: ClassVar[str] = "2.3"
    dice: Dice


class PartyTaken(OfHero, frozen=True):
    """A party that is not rolled; ``removed``: dice that are out of this delve."""

    rule: ClassVar[str] = "2.3"
    dice: Dice
    removed: tuple[str, ...]


class PartyBuried(OfHero, frozen=True):
    """Dice that begin in the graveyard."""

    rule: ClassVar[str] = "2.3"
    dice: tuple[str, ...]


class PartyChanged(OfHero, frozen=True):
    """Party dice that show another face now because the hero has them do so."""

    rule: ClassVar[str] = "2.3"
    dice: Dice


class ReserveRolled(OfHero, frozen=True):
    """Dungeon dice rolled in advance."""

    rule: ClassVar[str] = "2.3"
    dice: Dice


class ReserveAssigned(OfHero, frozen=True):
    """The dice that wait on the levels 1, 2 and 3."""

    rule: ClassVar[str] = "2.3"
    levels: tuple[Dice, Dice, Dice]


# Levels and phases


class LevelBegan(OfHero, frozen=True):
    """A level is entered: its dice are rolled, or laid out from the reserve; ``lair``: dice there before."""

    rule: ClassVar[str] = "2.4"
    level: int
    dice: Dice
    lair: int


class DiceConverted(OfHero, frozen=True):
    """Dungeon dice change because of the hero: now they show ``into``."""

    rule: ClassVar[str] = "2.4"
    dice: tuple[str, ...]
    before: str
    into: str


class DragonsMoved(OfHero, frozen=True):
    """Dice that show a Dragon go to the lair, where there are so many now."""

    rule: ClassVar[str] = "2.4"
    dice: tuple[str, ...]
    lair: int


class PhaseEntered(OfHero, frozen=True):
    """Monster, loot, dragon or regroup."""

    rule: ClassVar[str] = "2.0"
    level: int
    phase: str


class LevelCleared(OfHero, frozen=True):
    """Nothing is left on this level."""

    rule: ClassVar[str] = "2.8"
    level: int


class GlorySought(OfHero, frozen=True):
    """On to another level."""

    rule: ClassVar[str] = "2.8"
    level: int


class Fled(OfHero, frozen=True):
    """The dungeon is left in haste."""

    rule: ClassVar[str] = "2.9"
    level: int
    phase: str


# Dice


class MonstersDefeated(OfHero, frozen=True):
    """One companion defeats monsters. ``companion``: die, token or temporary companion; ``face``: what it shows."""

    rule: ClassVar[str] = "2.5"
    companion: str
    face: str
    monsters: Dice


class ScrollUsed(OfHero, frozen=True):
    """``scroll``: a die or the token."""

    rule: ClassVar[str] = "2.5"
    scroll: str


class DiceRerolled(OfHero, frozen=True):
    """``before`` and ``dice``: what they showed, and what they show now."""

    rule: ClassVar[str] = "2.5"
    before: Dice
    dice: Dice


class DiceDiscarded(OfHero, frozen=True):
    """Dungeon dice go back to the supply because of the hero."""

    rule: ClassVar[str] = "2.0.4"
    dice: Dice


class DiceSet(OfHero, frozen=True):
    """Dice are turned to a face by the hero."""

    rule: ClassVar[str] = "3"
    before: Dice
    dice: Dice


class DiceRevived(OfHero, frozen=True):
    """Dice come back from the graveyard, with faces chosen or ``rolled``."""

    rule: ClassVar[str] = "2.6"
    dice: Dice
    rolled: bool


class ScrollsBuried(OfHero, frozen=True):
    """Scrolls that were rolled in the graveyard stay there."""

    rule: ClassVar[str] = "3.4.2"
    dice: tuple[str, ...]


class CompanionsJoined(OfHero, frozen=True):
    """Temporary companions, id -> face; ``dice``: the dungeon dice they were."""

    rule: ClassVar[str] = "2.8"
    companions: Dice
    dice: tuple[str, ...]


class CompanionsLeft(OfHero, frozen=True):
    """Temporary companions nobody used go their way."""

    rule: ClassVar[str] = "2.8"
    companions: Dice


class ChestsOpened(OfHero, frozen=True):
    """One companion, or the hero's power (``companion`` empty), opens chests."""

    rule: ClassVar[str] = "2.6"
    companion: str
    face: str
    chests: tuple[str, ...]


class PotionsQuaffed(OfHero, frozen=True):
    """One drinker, or the hero's power (``drinker`` empty), quaffs potions."""

    rule: ClassVar[str] = "2.6"
    drinker: str
    face: str
    potions: tuple[str, ...]


class LootLeft(OfHero, frozen=True):
    """Chests and potions that nobody wanted go back to the supply."""

    rule: ClassVar[str] = "2.6"
    dice: Dice


class LairEmptied(OfHero, frozen=True):
    """So many dice leave the lair, without reward; ``by``: the token or the power."""

    rule: ClassVar[str] = "2.7"
    dice: int
    by: str


class DragonDefeated(OfHero, frozen=True):
    """By ``companions``, id -> face, or by the hero's power; ``lair``: how many dice lay there."""

    rule: ClassVar[str] = "2.7"
    companions: Dice
    lair: int


# Treasure, experience, the hero


class TreasureDrawn(OfHero, frozen=True):
    """One token out of the supply; ``left``: how many are there now."""

    rule: ClassVar[str] = "2.6"
    token: str
    left: int


class TreasureUsed(OfHero, frozen=True):
    """A token is used, and goes back to the supply."""

    rule: ClassVar[str] = "2.10"
    token: str


class TreasurePaid(OfHero, frozen=True):
    """A token, a party die or a Scroll is the price of a power; ``face``: what the die showed, else empty."""

    rule: ClassVar[str] = "2.0.3"
    paid: str
    face: str


class TreasuresDiscarded(OfHero, frozen=True):
    """Tokens go back to the supply, unused: kind -> how many."""

    rule: ClassVar[str] = "2.0.3"
    tokens: dict[str, int]


class ExperienceGained(OfHero, frozen=True):
    """``source``: level, dragon, or supply (there was no treasure left); ``total``: what the seat has now."""

    rule: ClassVar[str] = "2.13"
    source: Source
    amount: int
    total: int


class HeroLeveledUp(OfHero, frozen=True):
    """The card is turned: ``into``, the name on the Master side."""

    rule: ClassVar[str] = "2.13"
    into: str


class SpecialtyUsed(OfHero, frozen=True):
    """Specialties have no names."""

    rule: ClassVar[str] = "3"


class UltimateUsed(OfHero, frozen=True):
    """``power``: its name. The hero is exhausted now."""

    rule: ClassVar[str] = "3"
    power: str


class HeroRefreshed(OfHero, frozen=True):
    """The ultimate ability can be used again."""

    rule: ClassVar[str] = "3.4"


HAPPENINGS: Final[dict[str, type[Happening]]] = by_name(
    HeroDealt,
    HeroChosen,
    GameBegun,
    DelveBegan,
    PartyRolled,
    PartyTaken,
    PartyBuried,
    PartyChanged,
    ReserveRolled,
    ReserveAssigned,
    LevelBegan,
    DiceConverted,
    DragonsMoved,
    PhaseEntered,
    MonstersDefeated,
    ScrollUsed,
    DiceRerolled,
    DiceDiscarded,
    DiceSet,
    DiceRevived,
    ScrollsBuried,
    CompanionsJoined,
    CompanionsLeft,
    ChestsOpened,
    PotionsQuaffed,
    LootLeft,
    LairEmptied,
    DragonDefeated,
    TreasureDrawn,
    TreasureUsed,
    TreasurePaid,
    TreasuresDiscarded,
    ExperienceGained,
    HeroLeveledUp,
    SpecialtyUsed,
    UltimateUsed,
    HeroRefreshed,
    LevelCleared,
    GlorySought,
    Fled,
    DelveEnded,
    TimedOut,
    SeatWithdrew,
    GameOver,
)
