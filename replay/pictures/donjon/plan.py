"""The tiles of Le Donjon as plans in ink: rock, floor and walls, with openings exactly at the exits."""

from functools import cache
from itertools import pairwise
from typing import Final
from zlib import crc32

from markupsafe import Markup

from engine.donjon.grid import SIDES
from replay.pictures.shared import tag

CELL: Final = 100
"""A cell of the map is so many units wide in the map's own coordinates: cell x,y begins at 100x,100y."""
HALF: Final = 18
"""Half the width of a corridor and of every opening."""
STUDS: Final = "M10 2L18 10L10 18L2 10ZM90 2L98 10L90 18L82 10ZM98 90L90 98L82 90L90 82ZM10 98L2 90L10 82L18 90Z"
"""In the corners of the start, where nobody stands."""
Point = tuple[float, float]


@cache
def floor(form: str, exits: str) -> Markup:
    """A tile as a plan in ink: rock, floor, walls, and openings on the sides of ``exits``. 100 units wide from 0,0."""
    walls = outline(form, exits)
    area = "M" + "L".join(f"{x} {y}" for wall in walls for x, y in wall) + "Z"
    lines = "".join("M" + "L".join(f"{x} {y}" for x, y in wall) for wall in walls)
    parts = [
        tag("use", href="#rock"),
        tag("path", class_="room" if form != "corridor" else "floor", d=area),
    ]
    if form == "room":
        parts.append(tag("path", class_="joint", d="M37 12V88M63 12V88M12 37H88M12 63H88"))
    elif form == "plaza":
        parts.append(tag("circle", class_="joint", cx=50, cy=50, r=36))
        parts.append(tag("path", class_="s gold", d=STUDS))
    parts.append(tag("path", class_="wall", d=lines))
    return tag("g", *parts, id=f"t-{form}-{exits}")


def outline(form: str, exits: str) -> list[list[Point]]:
    """The walls between one opening and the next, clockwise, each a line drawn by a slightly unsteady hand."""
    reach = {"corridor": HALF, "room": 40, "plaza": 44}[form]
    walls: list[list[Point]] = []
    first = SIDES.index(exits[0])
    wall: list[Point] = []
    for quarter in range(first, first + 5):
        if SIDES[quarter % 4] in exits:
            if quarter > first:
                wall += [turn(-HALF, -reach, quarter), turn(-HALF, -50, quarter)]
                walls.append(unsteady(wall, f"{form}{exits}{quarter}"))
            wall = [turn(HALF, -50, quarter), turn(HALF, -reach, quarter)]
        if form == "plaza":
            wall += [turn(reach * 0.55, -reach, quarter), turn(reach, -reach * 0.55, quarter)]
        else:
            wall.append(turn(reach, -reach, quarter))
    return walls


def turn(x: float, y: float, quarters: int) -> Point:
    """A point, turned clockwise about the middle of the tile."""
    for _ in range(quarters % 4):
        x, y = -y, x
    return 50 + x, 50 + y


def unsteady(line: list[Point], seed: str) -> list[Point]:
    """The line with a point more on each long stretch, and every point but the ends a little off."""
    points = [line[0]]
    for (x0, y0), (x1, y1) in pairwise(line):
        if abs(x1 - x0) + abs(y1 - y0) > 30:
            points.append(((x0 + x1) / 2, (y0 + y1) / 2))
        if (x1, y1) != points[-1]:
            points.append((x1, y1))
    inner = [(round(x + off(seed, 2 * i)), round(y + off(seed, 2 * i + 1))) for i, (x, y) in enumerate(points)]
    return [points[0], *inner[1:-1], points[-1]]


def off(seed: str, index: int) -> float:
    """A number between -2 and 2 that is always the same."""
    return (crc32(f"{seed}{index}".encode()) % 41 - 20) / 10


def hatching() -> str:
    """Groups of three short strokes, as engravers shade rock, over a whole tile."""
    strokes = []
    for block in range(25):
        x, y = 20 * (block % 5) + 10, 20 * (block // 5) + 10
        dx, dy = ((7, 4), (4, -7), (0, 8), (7, -3), (8, 1))[crc32(f"h{block}".encode()) % 5]
        for step in (-1, 0, 1):
            sx, sy = x - dy * step * 0.8, y + dx * step * 0.8
            strokes.append(f"M{sx - dx:.0f} {sy - dy:.0f}l{2 * dx} {2 * dy}")
    return "".join(strokes)


ROCK: Final = tag(
    "g",
    tag("path", class_="cliff", d="M0 0H100V100H0Z"),
    tag("path", class_="hatch", d=hatching()),
    tag("path", class_="seam", d="M1 1H99V99H1Z"),
    id="rock",
)
CORNERS: Final = "M4 26V4H26M74 4H96V26M96 74V96H74M26 96H4V74"


def brackets(name: str) -> Markup:
    """Four corners around a cell, which leave its openings free."""
    return tag("g", tag("path", class_="casing", d=CORNERS), tag("path", class_=name, d=CORNERS), id=f"mark-{name}")


MARKS: Final = {name: brackets(name) for name in ("choice", "fresh")}
"""Around a cell that may be chosen now, and around one where something is new."""
HIT: Final = tag("rect", id="hit", class_="hit", width=CELL, height=CELL)
SEALED: Final = tag(
    "g",
    tag("rect", class_="dark", x=23, y=23, width=54, height=54, rx=8),
    tag("path", class_="faint", stroke_width=6, d="M39 39L61 61M61 39L39 61"),
    id="cell-sealed",
)
POINTER: Final = "M0-.5L4.5-10H-4.5Z"
"""In units of the picture, its tip at 0,0 and pointing down."""
UNKNOWN: Final = tag(
    "g",
    tag("rect", class_="dark", x=23, y=23, width=54, height=54, rx=8),
    tag("text", "?", class_="unknown", x=50, y=66),
    id="cell-hidden",
)
