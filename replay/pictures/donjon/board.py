"""The map, fitted to what is discovered."""

from collections.abc import Iterator
from functools import lru_cache
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
from replay.pictures.donjon.scene import FEATURES, Scene
from replay.pictures.shared import number, place, tag, title
from replay.words import Context, words

PART, EMPTY = 80, 12
"""Beyond the outermost tiles: what is shown of hidden cells, or of nothing."""
TALLEST, LEAST, LARGEST = 580, 150, 80
"""Most and least room for the map's height, and most for one cell, in units of the picture."""
READABLE: Final = 27
"""Where a cell is smaller than this, the numbers on it are drawn larger, to be read all the same."""
BRICKS: Final = {
    "n": "M{0} {1}m31 5h38",
    "s": "M{0} {1}m31 95h38",
    "w": "M{0} {1}m5 31v38",
    "e": "M{0} {1}m95 31v38",
}
"""The wall on each side of a cell against which an exit of the cell beside it leads, as a path."""
FRESH: Final = (
    told.TileRevealed, told.TokenRevealed, told.LootDropped, told.LootTaken, told.ItemPickedUp, told.ChestOpened,
    told.TrapSprung, told.KnockedOut,
)  # fmt: skip
"""What changes something at a cell."""
STEPS: Final = (told.HeroMoved, told.Retreated, told.Reincarnated, told.Swapped)
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
        scale = min(width / self.extent[0], TALLEST / self.extent[1], LARGEST / CELL)
        self.height = round(max(self.extent[1] * scale, LEAST))
        self.grown = min(max(READABLE / CELL / scale, 1.0), 1.6)

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
            tag("g", *self.heroes(), *map(self.thing, self.state.things), pointer_events="none"),
            self.choices(),
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
        if feature := FEATURES.get(tile.kind):
            parts.append(self.scene.sheet.use(feature, *self.spot(at)))
        said = [about_tile(self.scene.rules, self.scene.words.language, tile.kind, at, tile.exits)]
        if at in state.things:
            said.append(self.scene.thing(state.things[at]))
        said += [self.scene.term(hero.name) for hero in state.heroes if hero.at == at and hero.name]
        return tag("g", title(", ".join(said)), *parts, id=tile_target(at))

    def hidden(self, at: str) -> Markup:
        """A cell without a tile: with a question mark where an exit leads there."""
        x, y = corner(at)
        sheet = self.scene.sheet
        parts = [tag("use", href=sheet.define("hit", plan.HIT), x=x, y=y)]
        name = "wall"
        if at in self.frontier:
            name = "hidden" if self.state.pile else "sealed"
            mark = plan.UNKNOWN if self.state.pile else plan.SEALED
            parts.append(tag("use", href=sheet.define(f"cell-{name}", mark), x=x, y=y))
        return tag("g", title(self.scene.say(name, at=at)), *parts, id=tile_target(at))

    def edges(self) -> Markup:
        """Where two tiles meet and only one of them has an exit there: a wall of bricks on the side of the other."""
        bricks: list[str] = []
        for at, tile in self.state.tiles.items():
            for cell, side in neighbours(at).items():
                other = self.state.tiles.get(cell)
                if side in tile.exits and other and OPPOSITE[side] not in other.exits:
                    bricks.append(BRICKS[OPPOSITE[side]].format(*corner(cell)))
        parts = [tag("path", class_=name, d="".join(bricks)) for name in ("bar", "brick") if bricks]
        return tag("g", *parts, pointer_events="none")

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
            parts.append(self.scene.sheet.use("turn", x + 50, y + 50, 0.9 if not feature else 0.6))
            yield tag("g", title(self.scene.term(kind)), *parts, id="drawn-tile", pointer_events="none")

    def news(self) -> Markup:
        """What the last event changed: dots along each step, from where it came; a frame where something is new."""
        happened = self.scene.happened
        new = {at: None for one in happened if isinstance(one, FRESH) and (at := one.at) in self.state.tiles}
        parts = [self.mark("fresh", at) for at in new]
        steps = [one for one in happened if isinstance(one, STEPS) and one.origin != one.to]
        if steps:
            ends = [(corner(one.origin), corner(one.to)) for one in steps]
            line = "".join(f"M{x0 + 50} {y0 + 50}L{x1 + 50} {y1 + 50}" for (x0, y0), (x1, y1) in ends)
            parts += [tag("path", class_=name, d=line) for name in ("dots", "trail")]
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
        crowds: dict[str, list[int]] = {}
        for seat, hero in enumerate(self.state.heroes, 1):
            crowds.setdefault(hero.at, []).append(seat)
        for seat in sorted(range(1, len(self.state.heroes) + 1), key=lambda seat: seat != self.state.active):
            hero = self.state.heroes[seat - 1]
            crowd = crowds[hero.at]
            full = hero.at in self.state.things or self.state.tiles[hero.at].kind in FEATURES
            dx, dy, scale = standing(crowd.index(seat), len(crowd), full)
            x, y = corner(hero.at)
            yield tag(
                "g",
                title(self.scene.about(seat, hero)),
                *self.scene.figure(seat, hero),
                id=f"hero-{seat}",
                transform=place(x + dx, y + dy, scale),
            )


def corner(at: str) -> tuple[int, int]:
    """The upper left corner of a cell in the map's coordinates."""
    x, y = coordinates(at)
    return x * CELL, y * CELL


CONTENT: Final = ((50, 50, 0.92), (59, 41, 0.72), (50, 35, 0.58), (50, 34, 0.54), (50, 27, 0.42))
"""Where what a tile holds is drawn, and how large, beside none, one, two, three or more heroes."""
ALONE: Final[dict[int, tuple[tuple[int, int], ...]]] = {
    1: ((50, 50),),
    2: ((35, 38), (65, 62)),
    3: ((33, 36), (67, 36), (50, 67)),
    4: ((32, 34), (68, 34), (32, 67), (68, 67)),
    6: ((27, 36), (50, 36), (73, 36), (27, 66), (50, 66), (73, 66)),
}
BESIDE: Final[dict[int, tuple[tuple[int, int], ...]]] = {
    1: ((34, 66),),
    2: ((31, 67), (69, 67)),
    3: ((27, 70), (50, 70), (73, 70)),
    6: ((27, 51), (50, 51), (73, 51), (27, 74), (50, 74), (73, 74)),
}
"""Where so many heroes stand on a tile, alone and beside what it holds; all within its middle, so that its openings and
walls are seen."""
SCALES: Final = {True: {1: 0.62, 2: 0.52, 3: 0.44, 6: 0.42}, False: {1: 0.95, 2: 0.72, 3: 0.6, 4: 0.56, 6: 0.46}}
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
