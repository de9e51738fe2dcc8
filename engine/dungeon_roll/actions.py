"""What a seat may ask for (rules 2): one class an action, stored under its kebab-case name.

Dice are named by id (``party-3``, ``dungeon-1``), tokens by kind, temporary companions by place (``hero``, ``temp-2``).
"""

from typing import Annotated, Final

from msgspec import UNSET, Meta, UnsetType

from engine.dungeon_roll.components import Companion, Die, DungeonDie, Face, PartyDie, PartyFace, Token
from engine.protocol import Action, by_name

DungeonDice = Annotated[tuple[DungeonDie, ...], Meta(max_length=7)]
PartyDice = Annotated[tuple[PartyDie, ...], Meta(max_length=8)]
Dice = Annotated[tuple[Die, ...], Meta(max_length=15)]


class ChooseHero(Action, frozen=True):
    """Take one of the heroes left."""

    hero: Annotated[str, Meta(max_length=32)]


class BeginDelve(Action, frozen=True):
    """Form the party and enter level 1."""


class RerollParty(Action, frozen=True):
    """The Mercenary rolls some of the party again, once; or none."""

    dice: PartyDice = ()


class AssignDice(Action, frozen=True):
    """The Scout says which of six dice wait on which level."""

    level_1: DungeonDice
    level_2: DungeonDice
    level_3: DungeonDice


class SetScrolls(Action, frozen=True):
    """Loeg Yllavyre turns two party dice to Scrolls."""

    dice: PartyDice


class Attack(Action, frozen=True):
    """One companion defeats monsters."""

    companion: Companion
    monsters: DungeonDice


class UseScroll(Action, frozen=True):
    """A Scroll, die or token, rolls other dice again."""

    scroll: Companion
    dice: Dice


class OpenChests(Action, frozen=True):
    """One companion opens chests."""

    companion: Companion
    chests: DungeonDice


class QuaffPotions(Action, frozen=True):
    """One drinker quaffs as many potions as faces are named: so many dice come back from the graveyard."""

    drinker: Companion
    faces: Annotated[tuple[PartyFace, ...], Meta(max_length=7)]


class FightDragon(Action, frozen=True):
    """Different companions defeat the Dragon."""

    companions: Annotated[tuple[Companion, ...], Meta(max_length=3)]


class UseRing(Action, frozen=True):
    """Ring of Invisibility: the lair is emptied."""


class UseElixir(Action, frozen=True):
    """Elixir: one die comes back from the graveyard."""

    face: PartyFace


class UseBait(Action, frozen=True):
    """Dragon Bait: monsters become dragons in the lair."""


class UsePortal(Action, frozen=True):
    """Town Portal: home with the experience of this level."""


class UseSpecialty(Action, frozen=True):
    """The hero's specialty, where it is something to use."""

    dice: Dice = ()
    faces: Annotated[tuple[Face, ...], Meta(max_length=7)] = ()
    pay: Companion | UnsetType = UNSET


class UseUltimate(Action, frozen=True):
    """The hero's ultimate ability."""

    dice: Dice = ()
    faces: Annotated[tuple[Face, ...], Meta(max_length=7)] = ()
    pay: Companion | UnsetType = UNSET


class DiscardTreasures(Action, frozen=True):
    """Give back as many treasures as have to be."""

    tokens: Annotated[tuple[Token, ...], Meta(max_length=7)]


class Proceed(Action, frozen=True):
    """Leave the loot where it lies, or the Monster phase that waited for the Scout."""


class Flee(Action, frozen=True):
    """Leave the dungeon without experience for the level."""


class Retire(Action, frozen=True):
    """Back to the tavern, with experience for the level."""


class SeekGlory(Action, frozen=True):
    """On to the next level."""


ACTIONS: Final[dict[str, type[Action]]] = by_name(
    ChooseHero,
    BeginDelve,
    RerollParty,
    AssignDice,
    SetScrolls,
    Attack,
    UseScroll,
    OpenChests,
    QuaffPotions,
    FightDragon,
    UseRing,
    UseElixir,
    UseBait,
    UsePortal,
    UseSpecialty,
    UseUltimate,
    DiscardTreasures,
    Proceed,
    Flee,
    Retire,
    SeekGlory,
)
