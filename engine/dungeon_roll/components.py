"""What is in the box of Dungeon Roll, heroes aside: dice, treasure tokens, limits, solo ranks."""

from collections.abc import Mapping

COMPANIONS = ("fighter", "cleric", "mage", "thief", "champion")
PARTY_FACES = (*COMPANIONS, "scroll")
MONSTERS = ("goblin", "skeleton", "ooze")
DUNGEON_FACES = (*MONSTERS, "chest", "potion", "dragon")

PARTY_DICE = 7
DUNGEON_DICE = 7
DELVES = 3
TOP_LEVEL = 10
DRAGON_DICE = 3
DRAGON_COMPANIONS = 3
MASTER_XP = 5

TREASURES = {
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

ACTS_AS = {
    "scepter-of-power": "mage",
    "scroll": "scroll",
    "talisman": "cleric",
    "thieves-tools": "thief",
    "vorpal-sword": "fighter",
}
"""The face of a party die that a token stands for when it is used."""

RANKS = (
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
