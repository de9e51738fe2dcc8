"""Cells, sides and turned tiles. A cell is named ``"x,y"``; sides are ``n e s w``; north of ``"0,0"`` is ``"0,-1"``."""

from functools import cache
from typing import Final, Literal

from engine.donjon.components import EXITS

Rotation = Literal[0, 90, 180, 270]
ROTATIONS: Final[tuple[Rotation, ...]] = (0, 90, 180, 270)
SIDES: Final = "nesw"
OPPOSITE: Final[dict[str, str]] = {"n": "s", "e": "w", "s": "n", "w": "e"}
TOWARDS: Final[dict[str, tuple[int, int]]] = {"n": (0, -1), "e": (1, 0), "s": (0, 1), "w": (-1, 0)}


def named(to: tuple[int, int]) -> str:
    """``(3, -1)`` -> ``"3,-1"``."""
    return f"{to[0]},{to[1]}"


@cache
def coordinates(cell: str) -> tuple[int, int]:
    """``"3,-1"`` -> ``(3, -1)``."""
    x, _, y = cell.partition(",")
    return int(x), int(y)


@cache
def neighbours(cell: str) -> dict[str, str]:
    """The four cells around, each with the side on which it lies, clockwise from north."""
    x, y = coordinates(cell)
    return {named((x + dx, y + dy)): side for side, (dx, dy) in TOWARDS.items()}


def turned(exits: str, rotation: int) -> str:
    """The exits of a tile turned clockwise by ``rotation`` degrees, in the order of ``nesw``."""
    moved = {SIDES[(SIDES.index(side) + rotation // 90) % 4] for side in exits}
    return "".join(side for side in SIDES if side in moved)


@cache
def connecting(shape: str, side: str) -> dict[Rotation, str]:
    """The distinct ways to lay a tile with an exit on ``side``: rotation -> exits, the smallest rotation of each."""
    ways: dict[Rotation, str] = {}
    for rotation in ROTATIONS:
        exits = turned(EXITS[shape], rotation)
        if side in exits and exits not in ways.values():
            ways[rotation] = exits
    return ways
