"""The map, fitted to what is discovered."""

from collections.abc import Iterator
from functools import lru_cache
from math import hypot
from typing import Any, Final

from markupsafe import Markup

from engine.donjon import happenings as told
from engine.donjon.grid import OPPOSITE, coordinates, neighbours
from engine.donjon.movement import ways_to_place
from engine.donjon.offers import tile_target
from engine.protocol import Rules
from replay.games.donjon import openings
from replay.pictures.donjon import plan
from replay.pictures.donjon.plan import CELL
from replay.pictures.donjon.scene import FEATURES, SHINE, Scene
from replay.pictures.shared import number, place, tag, title
from replay.words import Context, words

PART, EMPTY = 88, 12
"""Beyond the outermost tiles: what is shown of hidden cells, or of nothing."""
TALLEST, LEAST, LARGEST = 580, 150, 80
"""Most and least room for the map's height, and most for one cell, in units of the picture."""
READABLE: Final = 27
"""Where a cell is smaller than this, the numbers on it are drawn larger, to be read all the same."""
POINTED: Final = 14
"""An active hero whose coin is smaller than this has a pointer."""
LETTER: Final = 36
"""The size of a hero's letter, whose foot stays where it is when it grows."""
BRICKS: Final = {"n": (31, 10, "h38"), "s": (31, 90, "h38"), "w": (10, 31, "v38"), "e": (90, 31, "v38")}
"""On each side of a cell against which an exit of the cell beside it leads: where the bricks begin, well within it so
that the exit is seen to be the other's, and how they run."""
TICKS: Final = {"n": (50, 5, "v13"), "s": (50, 95, "v-13"), "w": (5, 50, "h13"), "e": (95, 50, "h-13")}
"""On each side of a hidden cell from which an exit leads into it: the tick."""
FRESH: Final = (told.TileRevealed, told.TokenRevealed, told.LootDropped)
"""What brings something new to a cell."""
STEPS: Final = (told.HeroMoved, told.Retreated, told.Reincarnated)
"""What takes somebody from one cell to another."""


class Board:
    """The map: every tile, hidden cells behind an open exit, other hidden cells beside the active hero."""

    def __init__(self, scene: Scene, width: float) -> None:
        self.scene, self.state = scene, scene.state
        state = self.state
        self.frontier = list(
            dict.fromkeys(
                cell
                for at, tile in state.tiles.items()
                for cell, side in neighbours(at).items()
                if side in tile.exits and cell not in state.tiles
            )
        )
        around = neighbours(state.hero.at) if scene.playing else ()
        self.walled = [cell for cell in around if cell not in state.tiles and cell not in self.frontier]
        self._fit()
        self.width = width
        self.scale = min(width / self.extent[0], TALLEST / self.extent[1], LARGEST / CELL)
        self.height = round(max(self.extent[1] * self.scale, LEAST))
        self.grown = min(max(READABLE / CELL / self.scale, 1.0), 1.6)
        self.sprung = {one.at for one in scene.happened if isinstance(one, told.TrapSprung)}
        self.open = bool(state.pile) and not state.ending

    def _fit(self) -> None:
        """The map ends with the tiles; of hidden cells beyond them no more than a part is shown."""
        shown = (*self.state.tiles, self.state.placing.at) if self.state.placing else self.state.tiles
        xs, ys = zip(*map(coordinates, shown), strict=True)
        all_xs, all_ys = zip(*map(coordinates, (*self.state.tiles, *self.frontier, *self.walled)), strict=True)
        self.left = min(xs) * CELL - (PART if min(all_xs) < min(xs) else EMPTY)
        self.top = min(ys) * CELL - (PART if min(all_ys) < min(ys) else EMPTY)
        self.right = (max(xs) + 1) * CELL + (PART if max(all_xs) > max(xs) else EMPTY)
        self.bottom = (max(ys) + 1) * CELL + (PART if max(all_ys) > max(ys) else EMPTY)
        self.extent = self.right - self.left, self.bottom - self.top

    def draw(self, x: float, y: float) -> Markup:
        """The map with its upper left corner at x,y of the picture."""
        return tag(
            "svg",
            *map(self.tile, self.state.tiles),
            *map(self.hidden, (*self.frontier, *self.walled)),
            self.edges(),
            *self.drawn_tile(),
            self.news(),
            tag(
                "g",
                *self.heroes(),
                *map(self.thing, self.state.things),
                font_size=round(LETTER * min(self.grown, 1.5)),
                pointer_events="none",
            ),
            self.choices(),
            *self.pointer(),
            *self.retreat(),
            id="map",
            x=x,
            y=y,
            width=self.width,
            height=self.height,
            viewBox=" ".join(map(number, (self.left, self.top, *self.extent))),
        )

    # -- tiles -----------------------------------------------------------------------------------------------------

    def tile(self, at: str) -> Markup:
        """A tile, with what is built into it. Its name says all that is on it."""
        state, tile = self.state, self.state.tiles[at]
        x, y = corner(at)
        parts = [tag("use", href=self.scene.floor(tile.kind, tile.exits), x=x, y=y)]
        if at in self.sprung:
            parts.append(self.scene.sheet.use("burst", *self.spot(at)))
        if feature := FEATURES.get(tile.kind):
            parts.append(self.scene.sheet.use(feature, *self.spot(at)))
        said = [about_tile(self.scene.rules, self.scene.words.language, tile.kind, at, tile.exits)]
        if at in state.things:
            said.append(self.scene.thing(state.things[at]))
        said += [self.scene.term(hero.name) for hero in state.heroes if hero.at == at and hero.name]
        return tag("g", title(", ".join(said)), *parts, id=tile_target(at))

    def hidden(self, at: str) -> Markup:
        """A cell without a tile: where an exit leads there with a question mark, or a cross where no tile will come."""
        x, y = corner(at)
        sheet = self.scene.sheet
        parts = [tag("use", href=sheet.define("hit", plan.HIT), x=x, y=y)]
        name = "wall"
        if at in self.frontier:
            name, mark = ("hidden", plan.UNKNOWN) if self.open else ("sealed", plan.SEALED)
            parts.append(tag("use", href=sheet.define(f"cell-{name}", mark), x=x, y=y))
        return tag("g", title(self.scene.say(name, at=at)), *parts, id=tile_target(at))

    def edges(self) -> Markup:
        """Where an exit leads into a hidden cell: a tick; against a side of a tile that has none there: bricks."""
        ticks, bricks = "", ""
        for at, tile in self.state.tiles.items():
            for cell, side in neighbours(at).items():
                if side not in tile.exits:
                    continue
                if cell not in self.state.tiles:
                    ticks += stroke(cell, *TICKS[OPPOSITE[side]])
                elif OPPOSITE[side] not in self.state.tiles[cell].exits:
                    bricks += stroke(cell, *BRICKS[OPPOSITE[side]])
        wall = self.scene.sheet.define("bricked", tag("path", id="bricked", d=bricks))
        parts = [tag("use", href=wall, class_=name) for name in ("mortar", "brick")]
        return tag("g", tag("path", class_="tick", d=ticks), *parts, pointer_events="none")

    def drawn_tile(self) -> Iterator[Markup]:
        """The tile that waits to be turned where it will lie: faint in a broken frame, under the sign for turning."""
        if placing := self.state.placing:
            x, y = corner(placing.at)
            kind = placing.tile.partition("-")[0]
            exits = next(iter(ways_to_place(self.state).values()))
            parts = [
                tag("rect", class_="sheet", x=x, y=y, width=CELL, height=CELL),
                tag("use", href=self.scene.floor(kind, exits), x=x, y=y, opacity=0.6),
                self.scene.preview(x, y),
            ]
            if feature := FEATURES.get(kind):
                parts.append(self.scene.sheet.use(feature, x + 50, y + 50, 0.9))
            parts.append(self.scene.sheet.use("turn", x + 50, y + 50, 0.6))
            yield tag("g", title(self.scene.term(kind)), *parts, id="drawn-tile", pointer_events="none")

    def news(self) -> Markup:
        """What the last event changed: dots along each step, a double arrow between two who changed places; a frame
        where something is new."""
        happened = self.scene.happened
        new = {at: None for one in happened if isinstance(one, FRESH) and (at := one.at) in self.state.tiles}
        parts = [self.mark("fresh", at) for at in new]
        steps = [one for one in happened if isinstance(one, STEPS) and one.origin != one.to]
        if steps:
            ends = [(corner(one.origin), corner(one.to)) for one in steps]
            line = "".join(f"M{x0 + 50} {y0 + 50}L{x1 + 50} {y1 + 50}" for (x0, y0), (x1, y1) in ends)
            parts += [tag("path", class_=name, d=line) for name in ("dots", "trail")]
        for one in happened:
            if isinstance(one, told.Swapped):
                line = exchange(one.origin, one.to)
                parts += [tag("path", class_=name, d=line) for name in ("casing", "fresh")]
        return tag("g", *parts, id="news", pointer_events="none")

    def choices(self) -> Markup:
        """A frame around every cell that the active seat may choose now: to step there, to rise there, to swap."""
        tiles = (*self.state.tiles, *self.frontier, *self.walled)
        cells = [at for at in tiles if tile_target(at) in self.scene.legal]
        cells += [hero.at for seat, hero in enumerate(self.state.heroes, 1) if f"hero-{seat}" in self.scene.legal]
        marks = [self.mark("choice", at) for at in dict.fromkeys(cells)]
        return tag("g", *marks, id="choices", pointer_events="none")

    def mark(self, name: str, at: str) -> Markup:
        """The corners of a cell; closer around the mark of a hidden one."""
        href = self.scene.sheet.define(f"mark-{name}", plan.MARKS[name])
        x, y = corner(at)
        if at in self.state.tiles:
            return tag("use", href=href, x=x, y=y)
        return tag("use", href=href, transform=place(x + 16, y + 16, 0.68))

    # -- what is on them -------------------------------------------------------------------------------------------

    def thing(self, at: str) -> Markup:
        """A monster, chest or item with its number."""
        name = self.state.things[at]
        token = tag("g", self.scene.token(name, self.grown), id=f"token-{name}")
        return tag(
            "g",
            title(self.scene.thing(name)),
            tag("use", href=self.scene.sheet.define(f"token-{name}", token)),
            id=f"thing-{at.replace(',', '-')}",
            transform=place(*self.spot(at)),
        )

    def spot(self, at: str) -> tuple[float, float, float]:
        """Where the content of a tile is drawn, and how large: out of the way of heroes."""
        x, y = corner(at)
        crowd = sum(hero.at == at for hero in self.state.heroes)
        dx, dy, scale = CONTENT[min(crowd, 4)]
        return x + dx, y + dy, scale

    def heroes(self) -> Iterator[Markup]:
        """The heroes; the active one first, so that its light falls on nobody beside it."""
        for seat in sorted(range(1, len(self.state.heroes) + 1), key=lambda seat: seat != self.state.active):
            hero = self.state.heroes[seat - 1]
            yield tag(
                "g",
                title(self.scene.about(seat, hero)),
                *self.scene.figure(seat, hero),
                id=f"hero-{seat}",
                transform=place(*self.stands(seat)),
            )

    def full(self, at: str) -> bool:
        """Does a tile hold something beside which heroes must stand?"""
        return at in self.state.things or self.state.tiles[at].kind in FEATURES

    def stands(self, seat: int) -> tuple[float, float, float]:
        """Where a hero is drawn, and how large."""
        at = self.state.heroes[seat - 1].at
        crowd = [other for other, hero in enumerate(self.state.heroes, 1) if hero.at == at]
        dx, dy, scale = standing(crowd.index(seat), len(crowd), self.full(at))
        x, y = corner(at)
        return x + dx, y + dy, scale

    def pointer(self) -> Iterator[Markup]:
        """At the active hero where its coin is small: aslant, from where the pointer covers the least."""
        if not self.scene.playing:
            return
        x, y, size = self.stands(self.state.active)
        if 64 * size * self.scale >= POINTED:
            return
        column, line = coordinates(self.state.hero.at)
        full = self.full(self.state.hero.at)
        far = SHINE * size + 11 / self.scale

        def covered(way: tuple[int, int]) -> int:
            """More where it would leave the map, then on what the tile holds, then on tiles and on marks of cells."""
            dx, dy = way
            reach = x + far * dx * ASLANT, y + far * dy * ASLANT
            within = self.left <= reach[0] <= self.right and self.top <= reach[1] <= self.bottom
            beside = (f"{column + dx},{line + dy}", f"{column + dx},{line}", f"{column},{line + dy}")
            on_cells = sum(2 if cell in self.state.tiles else cell in self.frontier for cell in beside)
            return 32 * (not within) + 4 * full * (dx - dy) + on_cells

        dx, dy = way = min(TURNED, key=covered)
        far = SHINE * size * ASLANT
        where = place(x + far * dx, y + far * dy, 1 / self.scale, TURNED[way])
        yield tag("path", class_="pointer", d=plan.POINTER, transform=where, id="pointer", pointer_events="none")

    def retreat(self) -> Iterator[Markup]:
        """While a monster is to be fought: the tile to which the active hero would retreat."""
        if safe := self.scene.retreat:
            x, y = corner(safe)
            size = max(0.4, 11 / 56 / self.scale)
            inward = min(4 + 28 * size, 38 - 28 * size)  # over the corner, where nothing opens
            sign = self.scene.sheet.use("retreat", x + inward, y + inward, size)
            yield tag("g", title(self.scene.say("retreat", at=safe)), sign, id="retreat", pointer_events="none")


def corner(at: str) -> tuple[int, int]:
    """The upper left corner of a cell in the map's coordinates."""
    x, y = coordinates(at)
    return x * CELL, y * CELL


def stroke(at: str, dx: int, dy: int, line: str) -> str:
    """A line in a cell, as a path."""
    x, y = corner(at)
    return f"M{x + dx} {y + dy}{line}"


def exchange(one: str, other: str) -> str:
    """A double arrow between two cells, as a path; it leaves room for who stands there."""
    (x0, y0), (x1, y1) = corner(one), corner(other)
    long = hypot(x1 - x0, y1 - y0)
    dx, dy = (x1 - x0) / long, (y1 - y0) / long

    def end(x: float, y: float, way: int) -> list[str]:
        """The three points of an arrowhead, ``way`` along the line."""
        points = [(along * way, across) for along, across in ((48, -16), (32, 0), (48, 16))]
        return [f"{number(x + 50 + a * dx - c * dy)} {number(y + 50 + a * dy + c * dx)}" for a, c in points]

    first, last = end(x0, y0, 1), end(x1, y1, -1)
    return f"M{'L'.join(first)}M{first[1]}L{last[1]}M{'L'.join(last)}"


TURNED: Final = {(-1, 1): 225, (1, 1): 135, (-1, -1): 315, (1, -1): 45}
"""From a hero to its pointer, and how that is turned: over a corner of its tile, where nothing opens."""
ASLANT: Final = 0.7
"""How far along each axis one unit aslant leads."""
CONTENT: Final = ((50, 50, 0.88), (60, 40, 0.68), (50, 38, 0.58), (50, 36, 0.54), (50, 32, 0.42))
"""Where what a tile holds is drawn, and how large, beside none, one, two, three or more heroes."""
ALONE: Final[dict[int, tuple[tuple[int, int], ...]]] = {
    1: ((50, 50),),
    2: ((39, 39), (61, 61)),
    3: ((35, 36), (65, 36), (50, 64)),
    4: ((34, 34), (66, 34), (34, 66), (66, 66)),
    6: ((30, 36), (50, 36), (70, 36), (30, 66), (50, 66), (70, 66)),
}
BESIDE: Final[dict[int, tuple[tuple[int, int], ...]]] = {
    1: ((37, 63),),
    2: ((33, 66), (67, 66)),
    3: ((30, 69), (50, 69), (70, 69)),
    6: ((30, 50), (50, 50), (70, 50), (30, 70), (50, 70), (70, 70)),
}
"""Where so many heroes stand on a tile, alone and beside what it holds; all within its middle, so that its openings and
walls are seen."""
SCALES: Final = {True: {1: 0.62, 2: 0.52, 3: 0.44, 6: 0.42}, False: {1: 0.95, 2: 0.68, 3: 0.58, 4: 0.54, 6: 0.44}}
"""How large they are there."""


def standing(index: int, crowd: int, full: bool) -> tuple[float, float, float]:
    """Where one of a crowd stands on a tile, from its corner, and how large; ``full``: beside what the tile holds."""
    places = BESIDE if full else ALONE
    most = next(most for most in places if most >= crowd)
    return *places[most][index], SCALES[full][most]


@lru_cache(maxsize=4096)
def about_tile(rules: Rules[Any], language: str, kind: str, at: str, exits: str) -> str:
    """A tile in words, without what is on it: said again in every picture of a game."""
    facts = {"kind": kind, "at": at, "exits": openings(exits)}
    return words(language).text("pictures.donjon.tile", facts, Context(rules))
