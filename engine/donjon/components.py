"""What is in the box: tiles, tokens, heroes and numbers (rules 1.1 to 1.3), as tables to hold against the paper."""

from typing import Any, Final, Literal

import msgspec

HeroName = Literal["victorius", "argentus", "aderyn", "xanros", "horan", "tala"]
Shape = Literal["x", "t", "i", "l"]
TileKind = Literal["start", "corridor", "trap", "portal", "fountain", "room"]

# Rules 1.1: exits of each shape before it is turned, and how many tiles of each kind are in the pile (79).
EXITS: Final[dict[str, str]] = {"x": "nesw", "t": "nes", "i": "ns", "l": "ne"}
TILES: Final[dict[str, dict[str, int]]] = {
    "corridor": {"x":  6, "t":  4, "i":  3, "l":  3},  # 16
    "trap":     {"x":  1, "t":  1, "i":  1, "l":  1},  #  4
    "portal":   {"x":  0, "t":  0, "i":  4, "l":  0},  #  4
    "fountain": {"x":  0, "t":  0, "i":  0, "l":  2},  #  2
    "room":     {"x": 14, "t": 13, "i": 13, "l": 13},  # 53
}  # fmt: skip
TRAPS: Final = 4
MOST_TRAPS: Final = 20
START: Final = "0,0"
HEALING_TILES: Final = frozenset({"start", "fountain"})


class Monster(msgspec.Struct, frozen=True):
    """Its strength, how many there are, and what it leaves behind."""

    strength: int
    count: int
    reward: str


# Rules 1.2: one token for each room, 43 monsters and 10 chests (53).
MONSTERS: Final[dict[str, Monster]] = {
    "giant-rat":        Monster( 5,  8, "dagger"),
    "giant-spider":     Monster( 6,  4, "healing-scroll"),
    "mummy":            Monster( 7,  8, "attack-scroll"),
    "skeleton-turnkey": Monster( 8, 12, "key"),
    "skeleton-warrior": Monster( 9,  5, "sword"),
    "skeleton-king":    Monster(10,  3, "axe"),
    "wailing-soul":     Monster(12,  2, "open-chest"),
    "dragon":           Monster(15,  1, "dragon-hoard"),
}  # fmt: skip
CLOSED_CHEST: Final = "closed-chest"
CLOSED_CHESTS: Final = 10
TOKENS: Final[dict[str, int]] = {name: monster.count for name, monster in MONSTERS.items()} | {
    CLOSED_CHEST: CLOSED_CHESTS
}
GOLD: Final[dict[str, int]] = {CLOSED_CHEST: 1, "open-chest": 1, "dragon-hoard": 3}

WEAPONS: Final[dict[str, int]] = {"dagger": 1, "sword": 2, "axe": 3}
ATTACK_SCROLL: Final = "attack-scroll"
HEALING_SCROLL: Final = "healing-scroll"
KEY: Final = "key"
SORTS: Final[dict[str, str]] = {
    "dagger": "weapon", "sword": "weapon", "axe": "weapon",
    ATTACK_SCROLL: "scroll", HEALING_SCROLL: "scroll",
    KEY: "key",
}  # fmt: skip
"""Every item that can be carried, and the sort of slot it takes."""
SLOTS: Final[dict[str, int]] = {"weapon": 2, "scroll": 3, "key": 1}

HIT_POINTS: Final = 5
MOVEMENT_POINTS: Final = 4


class Powers(msgspec.Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a hero can do that others cannot (rules 3); each hero has two of these."""

    rerolls_ones: bool = False
    keeps_moving_on_a_six: bool = False
    attack_scrolls_always_count: bool = False
    walks_through_walls: bool = False
    wins_ties: bool = False
    sneaks_past_monsters: bool = False
    sacrifices_hit_points: bool = False
    swaps_places: bool = False
    rolls_two_pairs: bool = False
    reincarnates: bool = False
    avoids_traps: bool = False
    first_step_bonus: int = 0


HEROES: Final[dict[str, Powers]] = {
    "victorius": Powers(rerolls_ones=True, keeps_moving_on_a_six=True),
    "argentus": Powers(attack_scrolls_always_count=True, walks_through_walls=True),
    "aderyn": Powers(wins_ties=True, sneaks_past_monsters=True),
    "xanros": Powers(sacrifices_hit_points=True, swaps_places=True),
    "horan": Powers(rolls_two_pairs=True, reincarnates=True),
    "tala": Powers(avoids_traps=True, first_step_bonus=1),
}


def pile(traps: int = TRAPS) -> dict[str, int]:
    """The face-down tiles by id (``room-l``), with ``traps`` of the corridors being traps (table option, rules 7.2).

    Traps are dealt to the shapes x, t, i, l in turn, as long as a shape has corridors left: 4 is the table above.
    """
    shares = dict.fromkeys(EXITS, 0)
    corridors = {shape: TILES["corridor"][shape] + TILES["trap"][shape] for shape in EXITS}
    while sum(shares.values()) < traps:
        for shape in EXITS:
            if shares[shape] < corridors[shape] and sum(shares.values()) < traps:
                shares[shape] += 1
    counts = TILES | {"trap": shares, "corridor": {shape: corridors[shape] - shares[shape] for shape in EXITS}}
    return {f"{kind}-{shape}": n for kind, shapes in counts.items() for shape, n in shapes.items() if n}


COMPONENTS: Final[dict[str, Any]] = {
    "exits": EXITS,
    "tiles": TILES,
    "monsters": msgspec.to_builtins(MONSTERS),
    "tokens": TOKENS,
    "gold": GOLD,
    "weapons": WEAPONS,
    "slots": SLOTS,
    "heroes": msgspec.to_builtins(HEROES),
    "hit_points": HIT_POINTS,
    "movement_points": MOVEMENT_POINTS,
}
"""All of it as plain data, part of the rules hash."""
