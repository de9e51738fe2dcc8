"""What is in the box of Dungeon Roll, heroes aside (rules 1): dice, treasure tokens, limits, solo ranks."""

from collections.abc import Mapping
from typing import Any, Final, Literal

import msgspec

from engine.dungeon_roll.heroes import HEROES, SETS

COMPANIONS: Final = ("fighter", "cleric", "mage", "thief", "champion")
PARTY_FACES: Final = (*COMPANIONS, "scroll")
MONSTERS: Final = ("goblin", "skeleton", "ooze")
LOOT: Final = ("chest", "potion")
DUNGEON_FACES: Final = (*MONSTERS, *LOOT, "dragon")
FAVOURITE: Final = {"fighter": "goblin", "cleric": "skeleton", "mage": "ooze"}
"""The monster of which a companion defeats any number (rules 1.1)."""
OPENS_ALL: Final = frozenset({"thief", "champion"})
"""Whoever opens any number of chests (rules 1.1)."""

Face = Literal[
    "fighter", "cleric", "mage", "thief", "champion", "scroll",
    "goblin", "skeleton", "ooze", "chest", "potion", "dragon",
]  # fmt: skip
PartyFace = Literal["fighter", "cleric", "mage", "thief", "champion", "scroll"]
PartyDie = Literal["party-1", "party-2", "party-3", "party-4", "party-5", "party-6", "party-7", "party-8"]
DungeonDie = Literal["dungeon-1", "dungeon-2", "dungeon-3", "dungeon-4", "dungeon-5", "dungeon-6", "dungeon-7"]
Die = PartyDie | DungeonDie
Temporary = Literal["hero", "temp-1", "temp-2", "temp-3", "temp-4", "temp-5", "temp-6", "temp-7"]
"""A temporary companion: the hero in person, or what was a monster or a dragon."""
Token = Literal[
    "dragon-bait", "dragon-scales", "elixir", "ring-of-invisibility", "scepter-of-power", "scroll", "talisman",
    "thieves-tools", "town-portal", "vorpal-sword",
]  # fmt: skip
Companion = PartyDie | Token | Temporary
"""Whoever may be used in a fight, at a chest, for a potion: named by die, by kind of token, or by place."""

PARTY_DICE: Final = 7
DUNGEON_DICE: Final = 7
DELVES: Final = 3
TOP_LEVEL: Final = 10
MASTER_XP: Final = 5
SEATS: Final = range(1, 5)

TREASURES: Final[dict[str, int]] = {
    "dragon-bait": 4,
    "dragon-scales": 6,
    "elixir": 3,
    "ring-of-invisibility": 4,
    "scepter-of-power": 3,
    "scroll": 3,
    "talisman": 3,
    "thieves-tools": 3,
    "town-portal": 4,
    "vorpal-sword": 3,
}
"""Every treasure token with how many the supply holds at the start, 36 in all."""

ACTS_AS: Final[dict[str, str]] = {
    "scepter-of-power": "mage",
    "scroll": "scroll",
    "talisman": "cleric",
    "thieves-tools": "thief",
    "vorpal-sword": "fighter",
}
"""The face of a party die that a token stands for when it is used."""

RANKS: Final = (
    (35, "hero-of-ages"),
    (30, "champion"),
    (24, "seasoned-explorer"),
    (16, "village-hero"),
    (0, "dragon-fodder"),
)
"""The least score of each solo rank, best first."""


def treasure_value(tokens: Mapping[str, int]) -> int:
    """Points of the unused tokens: 1 each, 1 more for a town portal, 2 more for each pair of dragon scales."""
    return sum(tokens.values()) + tokens.get("town-portal", 0) + 2 * (tokens.get("dragon-scales", 0) // 2)


def solo_rank(score: int) -> str:
    """The rank of a player who delved alone."""
    return next(rank for least, rank in RANKS if score >= least)


COMPONENTS: Final[dict[str, Any]] = {
    "party_faces": list(PARTY_FACES),
    "dungeon_faces": list(DUNGEON_FACES),
    "favourite": FAVOURITE,
    "opens_all": sorted(OPENS_ALL),
    "treasures": TREASURES,
    "acts_as": ACTS_AS,
    "ranks": [list(rank) for rank in RANKS],
    "party_dice": PARTY_DICE,
    "dungeon_dice": DUNGEON_DICE,
    "delves": DELVES,
    "top_level": TOP_LEVEL,
    "master_xp": MASTER_XP,
    "heroes": msgspec.to_builtins(HEROES),
    "sets": {name: list(heroes) for name, heroes in SETS.items()},
}
"""All of it as plain data, part of the rules hash."""
