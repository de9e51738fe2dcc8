"""The map, fitted to what is discovered."""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any, Final

from markupsafe import Markup

from engine.donjon.grid import OPPOSITE, coordinates, neighbours
from engine.donjon.movement import ways_to_place
from engine.protocol import Rules
from replay.games.donjon import openings
from replay.pictures.donjon import plan
from replay.pictures.donjon.plan import CELL
from replay.pictures.donjon.scene import FEATURES, Scene
from replay.pictures.shared import number, place, tag, title
from replay.words import Context, words

PART, EMPTY, INWARD = 62, 12, 19
"""Beyond the outermost tiles: what is shown of hidden cells, or of nothing; how far their marks move to be seen."""
TALLEST, LEAST, LARGEST = 580, 150, 80
"""Most and least room for the map's height, and most for one cell, in units of the picture."""
READABLE: Final = 27
"""Where a cell is smaller than this, what stands on it is drawn larger, to be read all the same."""
OPENING: Final = {
    "n": "M{0} {1}m32 0h36",
    "s": "M{0} {1}m32 100h36",
    "w": "M{0} {1}m0 32v36",
    "e": "M{0} {1}m100 32v36",
}
"""The opening on each side of a cell, as a path."""


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
            tag("g", *self.heroes(), *map(self.thing, self.state.things), pointer_events="none"),
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
        return tag("g", title(", ".join(said)), *parts, id=f"tile-{at.replace(',', '-')}")

    def hidden(self, at: str) -> Markup:
        """A cell without a tile: with a question mark where an exit leads there."""
        x, y = corner(at)
        sheet = self.scene.sheet
        parts = [tag("use", href=sheet.define("hit", plan.HIT), x=x, y=y)]
        name = "wall"
        if at in self.frontier:
            name = "hidden" if self.state.pile else "sealed"
            mark = plan.UNKNOWN if self.state.pile else plan.SEALED
            inward_x = INWARD if x < self.left else -INWARD if x + CELL > self.right else 0
            inward_y = INWARD if y < self.top else -INWARD if y + CELL > self.bottom else 0
            parts.append(tag("use", href=sheet.define(f"cell-{name}", mark), x=x + inward_x, y=y + inward_y))
        return tag("g", title(self.scene.say(name, at=at)), *parts, id=f"tile-{at.replace(',', '-')}")

    def edges(self) -> Markup:
        """Where two tiles meet: a sill where one can pass, a wall of bricks where only one of them has an exit."""
        sills: list[str] = []
        bricks: list[str] = []
        for at, tile in self.state.tiles.items():
            for cell, side in neighbours(at).items():
                if side in tile.exits and (other := self.state.tiles.get(cell)):
                    if OPPOSITE[side] not in other.exits:
                        bricks.append(OPENING[side].format(*corner(at)))
                    elif side in "ne":
                        sills.append(OPENING[side].format(*corner(at)))
        drawn = (("sill", sills), ("bar", bricks), ("brick", bricks))
        parts = [tag("path", class_=name, d="".join(paths)) for name, paths in drawn if paths]
        return tag("g", *parts, pointer_events="none")

    def drawn_tile(self) -> Iterator[Markup]:
        """The tile that waits to be turned, faintly, where it will lie."""
        if placing := self.state.placing:
            x, y = corner(placing.at)
            kind = placing.tile.partition("-")[0]
            exits = next(iter(ways_to_place(self.state).values()))
            parts = [tag("use", href=self.scene.floor(kind, exits), x=x, y=y, opacity=0.55)]
            if feature := FEATURES.get(kind):
                parts.append(self.scene.sheet.use(feature, x + 50, y + 50, 0.9))
            yield tag("g", title(self.scene.term(kind)), *parts, id="drawn-tile", pointer_events="none")

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
        if not crowd:
            return x + 50, y + 50, 0.95
        return (x + 66, y + 30, 0.74) if crowd == 1 else (x + 50, y + 18, 0.62)

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
            grown = self.grown if len(crowd) == 1 else min(self.grown, 1.3)
            spread = 1 + (grown - 1) * 0.6
            yield tag(
                "g",
                title(self.scene.about(seat, hero)),
                *self.scene.figure(seat, hero),
                id=f"hero-{seat}",
                transform=place(x + 50 + dx * spread, y + 50 + dy * spread, scale * grown),
            )


def corner(at: str) -> tuple[int, int]:
    """The upper left corner of a cell in the map's coordinates."""
    x, y = coordinates(at)
    return x * CELL, y * CELL


def standing(index: int, crowd: int, full: bool) -> tuple[float, float, float]:
    """Where one of a crowd stands on a tile (from its centre) and how large; lower where the tile holds something."""
    if crowd == 1:
        return (-15, 16, 0.8) if full else (0, 2, 1.05)
    if crowd == 2:
        return (-24 + 48 * index, 22 if full else 2, 0.82)
    if crowd == 3 and not full:
        return ((-25, 25, 0)[index], (20, 20, -22)[index], 0.74)
    if crowd <= 4 and not full:
        return (-25 + 50 * (index % 2), -22 + 44 * (index // 2), 0.72)
    columns = 3 if crowd > 3 or full else 2
    return (-33 + 33 * (index % columns), (22 if crowd <= 3 else -8 + 36 * (index // columns)), 0.62)


@lru_cache(maxsize=4096)
def about_tile(rules: Rules[Any], language: str, kind: str, at: str, exits: str) -> str:
    """A tile in words, without what is on it: said again in every picture of a game."""
    facts = {"kind": kind, "at": at, "exits": openings(exits)}
    return words(language).text("pictures.donjon.tile", facts, Context(rules))
