"""The pictures of the rules' pages: drawn by what draws positions, so that rules and games look alike.

A page has one sheet of drawings, which all its pictures refer to. What a picture shows is said beside it in words, by a
caption or by names; it is hidden from screen readers where the words say everything.
"""

import re
from collections.abc import Callable, Iterable
from typing import Any, Final

from markupsafe import Markup

from engine.donjon.components import EXITS, TOKENS
from engine.donjon.state import Hero, Tile
from engine.donjon.state import State as DonjonState
from engine.donjon.state import Table as DonjonTable
from engine.dungeon_roll.components import DUNGEON_FACES, PARTY_FACES, TREASURES
from engine.dungeon_roll.heroes import HEROES
from engine.dungeon_roll.state import Delve, Seat
from engine.dungeon_roll.state import State as DungeonRollState
from engine.dungeon_roll.state import Table as DungeonRollTable
from engine.registry import RULESETS
from replay.pictures.donjon.board import Board
from replay.pictures.donjon.scene import FEATURES
from replay.pictures.donjon.scene import Scene as DonjonScene
from replay.pictures.dungeon_roll.board import PHASES
from replay.pictures.dungeon_roll.scene import Scene as DungeonRollScene
from replay.pictures.shared import Sheet, die, joined, place, tag, write

_SHAPES: Final = {"start": "x", "corridor": "i", "trap": "t", "portal": "i", "fountain": "l", "room": "t"}
"""Every kind of tile in one of the shapes that it has."""

_BACK: Final = tag("circle", class_="held", r=56)
"""What lies on it is seen in the dark too."""


class Pictures:
    """The pictures of one game's rules in one language."""

    def __init__(self) -> None:
        self.sheet = Sheet()
        self.known: dict[str, Callable[..., Markup]] = {}

    def draw(self, name: str, caption: str) -> Markup:
        """A picture by its name, which may have arguments behind it.

        :raises KeyError: there is no such picture.
        """
        called, *args = name.split()
        return self.known[called](*args, **({"caption": caption} if caption else {}))

    def definitions(self) -> Markup:
        """What the pictures refer to; to stand once on the page."""
        return tag("svg", self.sheet.definitions(), class_="sheet-of-drawings", width=0, height=0, aria_hidden="true")


def of(game: str, language: str) -> Pictures:
    """The pictures of a game's rules; of a game that has none, none can be drawn."""
    drawn: dict[str, Callable[[str], Pictures]] = {"donjon": Donjon, "dungeon-roll": DungeonRoll}
    return drawn[game](language) if game in drawn else Pictures()


def _svg(box: str, *parts: Markup, label: str = "") -> Markup:
    """A drawing that follows light and dark; without the ids by which a position's parts are found."""
    drawn = Markup(re.sub(r' id="[^"]*"', "", joined(*parts)))
    named = {"role": "img", "aria_label": label} if label else {"aria_hidden": "true"}
    return tag("svg", drawn, viewBox=box, class_="picture", data_theme="auto", **named)


def _plate(height: float) -> Markup:
    """What a row of drawings lies on."""
    return tag("rect", class_="held", x=1, y=1, width=358, height=height - 2, rx=8)


def _captioned(box: str, *parts: Markup, caption: str) -> Markup:
    return tag("figure", _svg(box, *parts), tag("figcaption", caption))


def _named(things: Iterable[tuple[Markup, str]], box: str, kind: str = "ul") -> Markup:
    """Drawings in a row, each with its name below it."""
    return tag(kind, *(tag("li", _svg(box, drawn), tag("span", name)) for drawn, name in things), class_="drawings")


class Donjon(Pictures):
    """Le Donjon."""

    def __init__(self, language: str) -> None:
        super().__init__()
        self.language = language
        self.scene = self._scene(active=0)
        self.known = {
            "tiles": self.tiles, "tokens": self.tokens, "joined": self.joined, "hero": self.hero,
            "fight": self.fight, "slots": self.slots,
        }  # fmt: skip

    def _scene(self, **parts: Any) -> DonjonScene:
        state: dict[str, Any] = {
            "active": 1, "bag": {}, "ending": "", "heroes": [Hero(at="0,0", name="tala")], "mp": 4,
            "pile": {"room-t": 1}, "phase": "turn-start", "progress": 0, "safe": "0,0", "steps": 0, "things": {},
            "turn": 1, "table": DonjonTable(
                actions_at_zero=True, orientation="random", stalemate_rounds=30, victorius_keeps_moving=False
            ),
            "tiles": {"0,0": Tile("nesw", "start")},
        } | parts  # fmt: skip
        scene = DonjonScene(RULESETS["donjon@1"], DonjonState(**state), self.language, ())
        scene.sheet = self.sheet
        return scene

    def tiles(self) -> Markup:
        """The four shapes, then every kind."""
        scene = self.scene
        shapes = ((tag("use", href=scene.floor("corridor", exits)), shape.upper()) for shape, exits in EXITS.items())
        kinds = (
            (
                tag("use", href=scene.floor(kind, EXITS[shape]))
                + (self.sheet.use(FEATURES[kind], 50, 50, 0.9) if kind in FEATURES else Markup("")),
                scene.term(kind),
            )
            for kind, shape in _SHAPES.items()
        )
        return _named((*shapes, *kinds), "-3 -3 106 106")

    def tokens(self) -> Markup:
        """Everything that is in the bag."""
        return _named(((_BACK + self.scene.token(name), self.scene.term(name)) for name in TOKENS), "-58 -58 116 116")

    def joined(self, caption: str) -> Markup:
        """A hero between a joined tile, a walled one and the dark."""
        scene = self._scene(
            tiles={"0,0": Tile("new", "corridor"), "1,0": Tile("sw", "room"), "0,-1": Tile("ew", "corridor")},
            things={"1,0": "closed-chest"},
        )
        board = Board(scene, 240)
        drawn = board.draw(0, 0)
        paper = tag("rect", class_="sheet", width=240, height=board.height, rx=8)
        return _captioned(f"0 0 240 {board.height}", paper, drawn, caption=caption)

    def hero(self, name: str) -> Markup:
        """A portrait."""
        return tag("div", _svg("-34 -34 68 68", self.sheet.use(name)), class_="portrait")

    def fight(self, caption: str) -> Markup:
        """Two dice and a sword against a skeleton warrior."""
        parts = (
            _plate(84),
            die(3, 14, 20, 44), die(4, 86, 20, 44),
            write("+", 72, 52, 24, "b m label"), write("+", 144, 52, 24, "b m label"),
            tag("g", self.scene.token("sword"), transform=place(174, 42, 0.58)),
            write("=", 220, 51, 24, "b m label"), write("9", 243, 52, 30, "b m label"),
            tag("g", self.scene.token("skeleton-warrior"), transform=place(316, 42, 0.7)),
            self.sheet.use("swords", 269, 42, 0.34),
        )  # fmt: skip
        return _captioned("0 0 360 84", *parts, caption=caption)

    def slots(self, caption: str) -> Markup:
        """All that can be carried at once."""
        parts = [_plate(72)]
        slots = ((8, "sword"), (63, "axe"), (126, "attack-scroll"), (181, "attack-scroll"), (236, "healing-scroll"),
                 (299, "key"))  # fmt: skip
        for x, item in slots:
            parts.append(tag("rect", class_="slot", x=x, y=10, width=52, height=52, rx=6))
            parts.append(tag("g", self.scene.token(item), transform=place(x + 26, 36, 0.56)))
        return _captioned("0 0 360 72", *parts, caption=caption)


class DungeonRoll(Pictures):
    """Dungeon Roll."""

    def __init__(self, language: str) -> None:
        super().__init__()
        state = DungeonRollState(
            active=0, delve=Delve(), discards=0, ending="", phase="opening", resume="delve-start", seats=[Seat()],
            supply={}, table=DungeonRollTable(
                champion="one-type", hero_choice="random", heroes="base", scroll_phases="monster"
            ),
        )  # fmt: skip
        self.scene = DungeonRollScene(RULESETS["dungeon-roll@1"], state, language, ())
        self.scene.sheet = self.sheet
        self.known = {
            "party-faces": lambda: self.faces(PARTY_FACES), "dungeon-faces": lambda: self.faces(DUNGEON_FACES),
            "treasures": self.treasures, "phases": self.phases, "lair": self.lair, "crests": self.crests,
        }  # fmt: skip

    def _die(self, face: str, x: float = 0, y: float = 0) -> Markup:
        return tag("use", href=self.scene.face(face), x=x or None, y=y or None)

    def faces(self, faces: Iterable[str]) -> Markup:
        """The faces of a die."""
        return _named(((self._die(face), self.scene.term(face)) for face in faces), "-24 -24 48 48")

    def treasures(self) -> Markup:
        """Every kind of token."""
        drawn = ((_BACK + self.scene.symbol(name, 0, 0, 1.2), self.scene.term(name)) for name in TREASURES)
        return _named(drawn, "-58 -58 116 116")

    def phases(self) -> Markup:
        """The phases of a level, in order."""
        drawn = (
            (_BACK + self.sheet.use(icon, scale=1.2), self.scene.term(f"phase-{phase}"))
            for phase, icon in PHASES.items()
        )
        return _named(drawn, "-58 -58 116 116", "ol")

    def lair(self, caption: str) -> Markup:
        """Three dragons, and three companions that are different."""
        parts = [
            tag("rect", class_="held", x=1, y=1, width=358, height=62, rx=8),
            self.sheet.use("swords", 180, 32, 0.5),
        ]
        parts += [self._die("dragon", 32 + i * 48, 32) for i in range(3)]
        parts += [self._die(face, 232 + i * 48, 32) for i, face in enumerate(("fighter", "mage", "thief"))]
        return _captioned("0 0 360 64", *parts, caption=caption)

    def crests(self, hero: str) -> Markup:
        """A hero's crest with its Novice and Master side, or its only one."""
        sides = ("novice", "master") if HEROES[hero].master else ("legend",)
        drawn = (_svg("-36 -36 72 72", self.scene.crest(hero, side, 0, 0, 1)) for side in sides)
        return tag("div", *drawn, class_="portrait")
