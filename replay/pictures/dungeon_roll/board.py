"""The table: level and phase, the dungeon with the dragon's lair, party and graveyard, the treasures in hand."""

from collections.abc import Iterator
from typing import Final

from markupsafe import Markup

from engine.dungeon_roll.actions import UseScroll
from engine.dungeon_roll.components import DELVES, LOOT, MONSTERS
from engine.dungeon_roll.delving import heroes_left
from engine.dungeon_roll.heroes import HEROES, Side
from replay.pictures.dungeon_roll.scene import FACES, Scene, in_order, standing
from replay.pictures.shared import folded, joined, place, tag, title, write

SIDE_BY_SIDE: Final = 352
"""The table is so many units wide."""
TOP, DIE, STEP = 42, 39.5, 46
"""The height of the strip with level and phase; a die, and from one to the next: between them is room for two rims."""
LAIR: Final = 112
"""The width of the lair."""
PHASES: Final = {"monster": "swords", "loot": "closed-chest", "dragon": "dragon", "regroup": "campfire"}
"""The phases of a level, each with its drawing."""
FEW: Final = 10
"""No more heroes than these are shown with their powers to somebody who chooses."""
SLOT: Final = 69
"""The width of a treasure."""


class Board:
    """The table of the seat that delves."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.state, self.delve = scene, scene.state, scene.state.delve
        self.parts: list[Markup] = []
        self.height = 0.0

    def draw(self, x: float, y: float) -> Markup:
        """The table with its upper left corner at x,y of the picture. `height` is known afterwards."""
        if self.scene.delving:
            self.lay(self.top(), TOP)
            self.dungeon()
            self.party()
        elif self.state.phase == "choosing-hero":
            self.choice()
        elif self.scene.playing:
            self.before()
        if self.state.seat.hero and not self.state.ending:
            self.treasures()
        return tag(
            "svg",
            *self.parts,
            id="map",
            x=x,
            y=y,
            width=SIDE_BY_SIDE,
            height=self.height,
            viewBox=f"0 0 {SIDE_BY_SIDE} {self.height:g}",
        )

    def lay(self, part: Markup, height: float) -> None:
        """A part of the table below what lies there."""
        self.parts.append(tag("g", part, transform=place(0, self.height)) if self.height else part)
        self.height += height

    # -- level and phase -------------------------------------------------------------------------------------------

    def top(self) -> Markup:
        """The level on its die, which delve it is, and the four phases with the one that is on, or goes on later."""
        scene, delve = self.scene, self.delve
        number = self.state.seat.delves + 1
        said = scene.say("level", level=delve.level) if delve.level else scene.say("before-level")
        parts = [
            tag(
                "g",
                title(said),
                scene.sheet.use("level-die", 20, 19, 0.6),
                write(str(delve.level or "–"), 20, 21, 17, "num label", 26),
                write(said if delve.level else scene.say("no-level"), 43, 17, 13, "b", 66),
                id="level",
            ),
            write(scene.say("delve-short", delve=number, delves=DELVES), 43, 32, 11, "", 66),
        ]
        x = 112.0
        resumes = self.state.resume if self.state.phase == "discarding" else ""
        for phase, icon in PHASES.items():
            on, lit = phase == self.state.phase, phase in (self.state.phase, resumes)
            wide = 120 if on else 38
            inside = [scene.sheet.use(icon, 19 if on else wide / 2, 17, 0.4)]
            if on:
                inside.append(write(scene.say(f"phase-name.{phase}"), 36 + 39, 22, 14, "b m", 78))
            parts.append(
                tag(
                    "g",
                    title(scene.say(f"phase-name.{phase}")),
                    tag("rect", class_="card active" if lit else "refused", x=0, y=2, width=wide - 3, height=32, rx=8),
                    tag("g", *inside, class_=None if lit else "lost"),
                    id=f"phase-{phase}",
                    transform=place(x, 0),
                )
            )
            x += wide
        if self.state.phase not in PHASES:
            said = scene.say(f"phase-name.{self.state.phase}")
            parts.append(write(said, 312, 23, 12, "b m", 76))
        return joined(*parts)

    # -- the dungeon -----------------------------------------------------------------------------------------------

    def dungeon(self) -> None:
        """The dice of the level by what they show, those that wait for later levels, the supply, and the lair."""
        scene, delve = self.scene, self.delve
        dice = sorted(delve.dice, key=lambda die: (FACES.index(delve.dice[die]), die))
        groups = {
            "monsters": [die for die in dice if delve.dice[die] in MONSTERS],
            **{f"{face}s": [die for die in dice if delve.dice[die] == face] for face in LOOT},
        }
        wide = SIDE_BY_SIDE - LAIR - 4
        parts = [tag("rect", class_="s rock", x=1, y=1, width=wide - 2, height=128, rx=10)]
        index = 0
        for name, group in groups.items():
            shown = []
            for die in group:
                shown.append(scene.die(delve.dice[die], *spot(index), DIE, die, name))
                index += 1
            if group:
                faces = [delve.dice[die] for die in group]
                said = scene.counted({face: faces.count(face) for face in dict.fromkeys(faces)})
                parts.append(tag("g", title(said), *shown, id=name))
        if not index and not delve.reserve.get("0"):
            said = scene.say("cleared" if self.state.phase != "forming" else "not-yet")
            parts.append(write(said, wide / 2, 32 if delve.reserve else 92, 13, "b m", wide - 20))
            if not delve.reserve and (icon := PHASES.get(self.state.phase)):
                parts.append(scene.sheet.use(icon, wide / 2, 43, 1.05))
        if first := delve.reserve.get("0"):
            order = sorted(first, key=lambda die: (FACES.index(first[die]), die))
            shown = [scene.die(first[die], *spot(i), DIE, die) for i, die in enumerate(order)]
            parts.append(tag("g", title(scene.say("reserve")), *shown, id="reserve"))
            parts.append(self.levels())
        parts.append(self.waiting())
        lair = tag("g", *self.lair(), transform=place(wide + 4, 0))
        self.lay(joined(*parts, lair), 134)

    def levels(self) -> Markup:
        """The places on the first levels for which the dice of a Scout are chosen."""
        scene, x = self.scene, 62.0
        parts = [write(scene.say("reserve"), x, 68, 11, "b", 170)]
        asked = scene.forms["assign-dice"].fields.values() if "assign-dice" in scene.forms else ()
        for level, field in enumerate(asked, 1):
            parts.append(write(f"{level}:", x, 88, 13, "b"))
            parts += [tag("rect", class_="refused", x=x + 16 + i * 17, y=76, width=15, height=15, rx=3)
                      for i in range(field.minimum)]  # fmt: skip
            x += 24 + 17 * field.minimum
        return joined(*parts)

    def waiting(self) -> Markup:
        """Below the level's dice: of a Scout those of later levels; the supply of blank dice."""
        scene, delve = self.scene, self.delve
        parts: list[Markup] = []
        x = 9.0
        for level, dice in sorted(delve.reserve.items()):
            if level == "0":
                continue
            said = scene.say("level", level=int(level))
            shown = [write(f"{said}:", x, 63, 11, "b", 90)]
            for i, die in enumerate(sorted(dice, key=lambda die: (FACES.index(dice[die]), die))):
                shown.append(scene.die(dice[die], x + i * 31, 68, 30, die))
            parts.append(tag("g", title(said), *shown, id=f"reserve-{level}"))
            x += max(31 * len(dice), 62) + 20
        supply = delve.supply
        parts.append(write(scene.say("supply", count=len(supply)), 10, 120, 11, "", 108))
        blanks = [
            scene.blank(122 + i * 16, 109, 13, die, scene.say("in-supply"), "night") for i, die in enumerate(supply)
        ]
        return joined(*parts, *blanks)

    def lair(self) -> Iterator[Markup]:
        """The Dragon: asleep while there are too few dice; of so many, how many are there."""
        scene, delve = self.scene, self.delve
        least = self.state.seat.side.dragon_at
        awake = len(delve.lair) >= least
        count = scene.say("lair", count=len(delve.lair), least=least)
        yield tag("rect", class_="s rock", x=1, y=1, width=LAIR - 2, height=128, rx=10)
        head = scene.sheet.use("dragon", 29, 29, 0.72)
        parts = [
            title(f"{count} {scene.say('awake' if awake else 'asleep')}"),
            scene.rim("dragon", 7, 7, LAIR - 14, 45, 7),
            tag("rect", class_="card active" if awake else "hit", x=7, y=7, width=LAIR - 14, height=45, rx=7),
            head if awake else tag("g", head, class_="lost"),
            write(f"{len(delve.lair)}/{least}", 80, 29, 20, "b m", 48),
            write(scene.say("awake" if awake else "asleep"), 80, 45, 11, "b m" if awake else "m", 48),
        ]
        yield tag("g", *parts, id="dragon")
        dice = [scene.die("dragon", 6 + i % 4 * 26.5, 58 + i // 4 * 26, 20.5, die) for i, die in enumerate(delve.lair)]
        empty = [
            tag("rect", class_="refused", x=6 + i % 4 * 26.5, y=58 + i // 4 * 26, width=20.5, height=20.5, rx=5)
            for i in range(len(delve.lair), least)
        ]
        yield tag("g", title(count), *dice, *empty, id="lair")
        said = scene.say("slain", level=delve.dragon_at) if delve.dragon_at else scene.say("lair-name")
        yield write(said, LAIR / 2, 121, 10.5, "m", LAIR - 12)

    # -- the party -------------------------------------------------------------------------------------------------

    def party(self) -> None:
        """Active dice by what they show, temporary companions, the graveyard, and dice out of this delve."""
        scene, delve = self.scene, self.delve
        dice = sorted(delve.party, key=lambda die: (FACES.index(delve.party[die]), die))
        temps = sorted(delve.temps, key=lambda temp: (temp != "hero", temp))
        each = len(dice) + len(temps)
        step = 49 if each <= 7 else 43
        size = 42 if each <= 7 else 36.5
        row = 7 if each <= 7 else 8
        shown = [scene.die(delve.party[die], 6 + i * step, 7, size, die) for i, die in enumerate(dice)]
        friends = []
        for i, temp in enumerate(temps, len(dice)):
            x, y = 6 + i % row * step, 7 + i // row * 46
            identity = "temp-hero" if temp == "hero" else temp
            friends.append(scene.companion(delve.temps[temp], x, y, size, identity))
        rows = 1 if each <= row else 2
        deep = 46 * rows + 8
        faces = [delve.party[die] for die in dice]
        said = scene.counted({face: faces.count(face) for face in dict.fromkeys(faces)}) or scene.say("no-party")
        parts = [
            tag("rect", class_="card", x=1, y=0.5, width=SIDE_BY_SIDE - 2, height=deep + 30, rx=8),
            tag("g", title(said), tag("rect", class_="hit", x=2, y=2, width=348, height=deep - 2), *shown, id="party"),
            *friends,
        ]
        if not each:
            parts.append(write(scene.say("no-party"), SIDE_BY_SIDE / 2, 33, 13, "dim m", 330))
        parts += self.aside(deep + 3)
        self.lay(joined(*parts), deep + 34)

    def aside(self, y: float) -> Iterator[Markup]:
        """The graveyard, what is out of this delve, and where a Scroll is used."""
        scene, delve = self.scene, self.delve
        count = len(delve.graveyard)
        said = scene.say("graveyard", count=count)
        x, aside = 52.0, len(delve.removed)
        scrolls = [o for offers in scene.legal.values() for o in offers if isinstance(o.action, UseScroll)]
        left = 236 if aside else 200
        room = left - x - (17 * aside + 66 if aside else 6)
        step = min(20, room / count) if scrolls and count else 20  # closer together where a button stands behind them
        blanks = [scene.blank(x + i * step, y + 5, 13, die, said, "die lost") for i, die in enumerate(delve.graveyard)]
        yield tag(
            "g",
            title(said),
            scene.sheet.use("tomb", 18, y + 11, 0.36),
            write(str(count), 39, y + 17, 16, "b m"),
            *blanks,
            id="graveyard",
        )
        x += count * step + 8
        if delve.removed:
            out = scene.say("removed", count=len(delve.removed))
            shown = [scene.blank(x + i * 17, y + 4, 15, die, out, "refused") for i, die in enumerate(delve.removed)]
            x += len(delve.removed) * 17 + 4
            yield tag("g", title(out), *shown, write(out, x, y + 16, 11, "", 46), id="removed")
        elif not count:
            yield write(scene.say("graveyard-empty"), x - 8, y + 16, 11, "dim", 110)
        if scrolls:
            label = scene.say("button.scrolls")
            yield tag(
                "g",
                title(label),
                tag("rect", class_="button", x=left, y=y - 1, width=346 - left, height=25, rx=8),
                scene.sheet.use("scroll", left + 15, y + 11, 0.3),
                write(label, left / 2 + 185, y + 16, 12, "label b m", 312 - left),
                id="scrolls",
            )

    # -- treasures -------------------------------------------------------------------------------------------------

    def treasures(self) -> None:
        """The tokens in hand, each kind with its number."""
        scene, hand = self.scene, in_order(self.state.seat.treasures)
        said = scene.say("treasures", count=sum(hand.values()))
        parts = [write(said, 6, 13, 11.5, "b", 200)]
        inside = [title(scene.counted(hand) or said)]
        for i, (token, count) in enumerate(hand.items()):
            inside.append(self.treasure(token, count, 5 + i % 5 * SLOT, 22 + i // 5 * 48))
        rows = -(-len(hand) // 5)
        if not hand:
            inside.append(tag("rect", class_="hit", x=2, y=0, width=348, height=16))
        self.lay(joined(*parts, tag("g", *inside, id="treasures")), 20 + 48 * rows)

    def treasure(self, token: str, count: int, x: float, y: float) -> Markup:
        """A kind of token: drawing, number, name in short."""
        scene, wide = self.scene, SLOT - 7
        return scene.rim(f"treasure-{token}", x, y, wide, 41, 6) + tag(
            "g",
            title(f"{scene.term(token)} ×{count}"),
            tag("rect", class_="slot held", x=0, y=0, width=wide, height=41, rx=6),
            scene.symbol(token, 18, 14.5, 0.38),
            write(f"×{count}", 46, 20, 14, "b m label" if count > 1 else "m label", 28),
            write(scene.say(f"short.{token}"), wide / 2, 37.5, 10.5, "m label", wide - 5),
            id=f"treasure-{token}",
            transform=place(x, y),
        )

    # -- before a delve --------------------------------------------------------------------------------------------

    def choice(self) -> None:
        """The heroes that nobody has, to choose from; with their powers, unless there are too many of them."""
        names = heroes_left(self.state)
        if len(names) <= FEW:
            for name in names:
                self.lay(*self.full(name))
            return
        cards = [tag("g", *self.compact(name), id=f"hero-{name}", transform=place(4 + i % 2 * 176, 4 + i // 2 * 40))
                 for i, name in enumerate(names)]  # fmt: skip
        self.lay(joined(*cards), 4 + 40 * -(-len(names) // 2))

    def compact(self, name: str) -> Iterator[Markup]:
        """A hero to choose: crest and name."""
        scene, hero = self.scene, HEROES[name]
        yield title(f"{scene.term(name)}. {scene.specialty(hero.novice)} {self.about_ultimate(hero.novice)}")
        yield scene.rim(f"hero-{name}", 0, 0, 168, 32, 7)
        yield tag("rect", class_="card", x=0, y=0, width=168, height=32, rx=7)
        yield scene.crest(name, "novice" if hero.master else "legend", 20, 16, 0.42)
        yield write(scene.term(name), 40, 20.5, 13, "b", 122)

    def full(self, name: str) -> tuple[Markup, float]:
        """A hero to choose: crest, name, both powers in words; and how high it is."""
        scene, hero = self.scene, HEROES[name]
        powers = scene.specialty(hero.novice), self.about_ultimate(hero.novice)
        lines = [line for power in powers for line in folded(power, 11, SIDE_BY_SIDE - 62)]
        high = max(26 + 14 * len(lines), 50)
        parts = [
            title(f"{scene.term(name)}. {' '.join(powers)}"),
            scene.rim(f"hero-{name}", 4, 3.5, SIDE_BY_SIDE - 8, high - 3, 7),
            tag("rect", class_="card", x=4, y=3.5, width=SIDE_BY_SIDE - 8, height=high - 3, rx=7),
            scene.crest(name, "novice" if hero.master else "legend", 26, min(high / 2, 30), 0.62),
            write(scene.term(name), 54, 17, 13.5, "b", SIDE_BY_SIDE - 62),
            *(write(line, 54, 32 + 14 * i, 11, "", SIDE_BY_SIDE - 60) for i, line in enumerate(lines)),
        ]
        return tag("g", *parts, id=f"hero-{name}"), high + 6

    def about_ultimate(self, side: Side) -> str:
        """A hero's ultimate by name and in words."""
        return self.scene.named(self.scene.term(side.ultimate.name), self.scene.ultimate(side))

    def before(self) -> None:
        """Between two delves: the door."""
        scene = self.scene
        number = self.state.seat.delves + (0 if self.state.phase == "discarding" else 1)
        sort = standing(self.state.seat)
        name = scene.hero(self.state.seat)
        parts = [
            tag("rect", class_="s rock", x=1, y=1, width=SIDE_BY_SIDE - 2, height=84, rx=10),
            scene.sheet.use("door", 60, 43, 1.0),
            scene.crest(self.state.seat.hero, sort, 132, 42, 0.9),
            write(name, 172, 40, 17, "b", 170),
            write(scene.say("delve", delve=number, delves=DELVES), 172, 58, 12, "", 170),
        ]
        self.lay(joined(*parts), 90)


def spot(index: int) -> tuple[float, float]:
    """Where a die of the level lies: five in a row."""
    return 6 + index % 5 * STEP, 7 + index // 5 * 48
