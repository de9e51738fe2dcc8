"""Below the table: what is pending, what is offered, the hero's card with both powers, and all seats in order."""

from collections.abc import Iterator
from typing import Final

from markupsafe import Markup

from engine.bags import Bag
from engine.dungeon_roll.components import DELVES, MASTER_XP, treasure_value
from engine.dungeon_roll.heroes import HEROES, Side
from engine.dungeon_roll.turns import DELVING, score
from replay.pictures.dungeon_roll.scene import GAME, Scene, in_order, standing
from replay.pictures.shared import EDGE, WIDTH, card, folded, joined, place, tag, title, wide, wrapped, write
from replay.telling import Verbatim

HEADS, ROW = 14, 44
"""The heights of the heads of the columns and of a seat's row."""
LINE: Final = 13.5
"""From one line of a power to the next."""
BUTTONS: Final = {
    "proceed": "closed-chest",
    "flee": "boot",
    "retire": "mug",
    "seek-glory": "stairs",
    "begin": "door",
    "keep-party": "",
    "reroll-party": "scroll",
}
"""What is offered as a button, each with its drawing."""


class Panel:
    """The frame of the turn, and the hero's card."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.state = scene, scene.state

    def draw(self, y: float) -> tuple[list[Markup], float]:
        """All of it from ``y`` of the picture on, and where it ends."""
        parts = []
        if self.state.active:
            frame, height = self.frame()
            parts.append(tag("g", frame, id="frame", transform=place(0, y)))
            y += height
        if self.scene.playing and self.state.seat.hero:
            card, height = self.card()
            parts.append(tag("g", *card, id="card", transform=place(0, y)))
            y += height
        parts.append(tag("g", *heads(self.scene), transform=place(0, y)))
        y += HEADS
        for seat, _ in enumerate(self.state.seats, 1):
            parts.append(row(self.scene, seat, y))
            y += ROW
        for note in notes(self.scene):
            for line in folded(note, 11, WIDTH - 28):
                parts.append(write(line, 14, y + 11, 11, "", WIDTH - 28))
                y += LINE
        return parts, y

    # -- the turn --------------------------------------------------------------------------------------------------

    def frame(self) -> tuple[Markup, float]:
        """What the game waits for, or how it ended; and the buttons."""
        scene = self.scene
        if not scene.playing:
            ending, won = scene.ended()
            lines, end = wrapped(won, 62, 28, 15, WIDTH - 74)
            star = scene.sheet.use("star", 32, 32, 0.8)
            box = card(64, lit=True)
            return joined(box, star, lines, write(ending, 62, end + 18, 12, "", WIDTH - 74)), 70
        buttons = [target for target in BUTTONS if target in self.shown()]
        height = 28 + (36 if buttons else 0)
        parts = [
            card(height),
            tag(
                "g",
                title(scene.pending()),
                write(scene.pending(), WIDTH / 2, 19, 13, "b m", WIDTH - 24),
                id=None if "begin" in buttons else "begin",
            ),
        ]
        return joined(*parts, *self.buttons(buttons)), height + 4

    def shown(self) -> set[str]:
        """The buttons of this phase: in a delve all four ways on and out, those that are refused as outlines."""
        offered = set(self.scene.legal)
        return offered | {"proceed", "flee", "retire", "seek-glory"} if self.state.phase in DELVING else offered

    def buttons(self, targets: list[str]) -> Iterator[Markup]:
        """A row of buttons, each as wide as its word asks for; only an outline, without a word, where it is refused."""
        scene, room = self.scene, WIDTH - 2 * EDGE - 12 - 5 * (len(targets) - 1)
        labels = {target: scene.say(f"button.{target}", level=self.state.delve.level) for target in targets}
        asked = {
            target: 13.5 * wide(labels[target]) + (36 if BUTTONS[target] else 16) if target in scene.legal else 34
            for target in targets
        }
        share = min(room / (sum(asked.values()) or 1), 1.3)
        x = (WIDTH - share * sum(asked.values()) - 5 * (len(targets) - 1)) / 2
        for target, label in labels.items():
            width = share * asked[target]
            yield self.button(target, label, x, width)
            x += width + 5

    def button(self, target: str, label: str, x: float, width: float) -> Markup:
        """One of the offers."""
        legal, icon = target in self.scene.legal, BUTTONS[target]
        shift = 28 if icon else 6
        drawn = self.scene.sheet.use(icon, 16 if legal else width / 2, 15, 0.34) if icon else Markup("")
        box = tag("rect", class_="button" if legal else "refused", x=0, y=0, width=round(width, 2), height=30, rx=8)
        inside = (
            (drawn, write(label, (shift + width - 5) / 2, 20, 12.5, "label b m", width - shift - 5))
            if legal
            else (tag("g", drawn, class_="lost"),)
        )
        return tag("g", title(label), box, *inside, id=target, transform=place(x, 29))

    # -- the hero's card -------------------------------------------------------------------------------------------

    def card(self) -> tuple[list[Markup], float]:
        """Crest, name, side, experience; specialty and ultimate in words, and whether they are used."""
        scene, seat, delve = self.scene, self.state.seat, self.state.delve
        side, sort = seat.side, standing(seat)
        novice, master = HEROES[seat.hero].novice, HEROES[seat.hero].master
        y = 60.0
        boxes = []
        for target, head, said, chip in self.powers(side):
            box, high = self.power(target, head, said, chip, y)
            boxes.append(box)
            y += high + 7
        if delve.rage:
            boxes.append(write(scene.say("rage"), 14, y + 11, 11, "b", WIDTH - 28))
            y += 17
        box = card(y, lit=True, corner=8)
        steps = scene.sheet.pips("star", "no-star", min(seat.xp, MASTER_XP), MASTER_XP, 74, 46, 14, 0.21)
        sides = scene.say("master-of", hero=novice.name) if sort == "master" else scene.say(f"side.{sort}")
        if master and not seat.master:
            sides += " · " + scene.say("master-at", count=MASTER_XP, hero=Verbatim(scene.term(master.name)))
        parts = [
            box,
            scene.crest(seat.hero, sort, 36, 30, 0.78),
            write(scene.hero(seat), 68, 20, 17, "b", 206),
            write(sides, 68, 36, 11, "", 206),
            *([steps] if master else []),
            tag(
                "g",
                title(scene.say("xp", xp=seat.xp)),
                scene.sheet.use("star", 290, 26, 0.5),
                write(str(seat.xp), 328, 35, 26, "b m", 42),
                write(scene.term("experience"), 318, 51, 10.5, "m", 60),
                id="xp",
            ),
        ]
        return [*parts, *boxes], y + 6

    def powers(self, side: Side) -> Iterator[tuple[str, str, str, str]]:
        """Target, heading, words and state of both powers."""
        scene, delve = self.scene, self.state.delve
        used = "used-level" if delve.specialty_used else ""
        yield "specialty", scene.term("specialty"), scene.specialty(side), used
        exhausted = delve.exhausted if scene.delving else side.begins_exhausted
        state = "" if self.state.seat.delves == DELVES else "used" if exhausted else "ready"
        yield "ultimate", scene.term(side.ultimate.name), scene.ultimate(side), state

    def power(self, target: str, head: str, said: str, chip: str, y: float) -> tuple[Markup, float]:
        """A power in a box as high as its words: what is used up is struck out."""
        scene = self.scene
        used = chip.startswith("used")
        lines = folded(said, 11, WIDTH - 44)
        high = 22 + LINE * len(lines)
        parts = [
            scene.rim(target, 10, 0, WIDTH - 20, high, 6),
            title(scene.named(head, said) + (f" ({scene.say(chip)})" if chip else "")),
            tag("rect", class_="refused" if used else "slot held", x=10, y=0, width=WIDTH - 20, height=high, rx=6),
            scene.sheet.use("flame" if target == "ultimate" else "book", 23, 12, 0.24),
            write(head, 34, 16, 12.5, "b" if used else "b label", 200),
        ]
        if chip:
            label = scene.say(chip)
            parts.append(tag("rect", class_="i" if used else "bonus", x=258, y=4, width=84, height=16, rx=8))
            parts.append(write(label, 300, 16, 11, f"b m {'white' if used else 'label'}", 76))
        ink = "" if used else "label"
        parts += [write(line, 18, 31 + i * LINE, 11, ink, WIDTH - 36) for i, line in enumerate(lines)]
        return tag("g", *parts, id=target, transform=place(0, y)), high


# -- the seats ---------------------------------------------------------------------------------------------------------


def heads(scene: Scene) -> Iterator[Markup]:
    """What the columns of the seats are; before them how many treasures are left to be drawn."""
    supply = scene.say("treasure-supply", left=sum(scene.state.supply.values()))
    yield write(scene.say("seat"), 14, 10, 10, "m", 24)
    yield tag("g", title(supply), write(supply, 50, 10, 10.5, "", 120), id="treasure-supply")
    yield write(scene.term("delve"), 198, 10, 10, "m", 52)
    yield write(scene.term("experience"), 255, 10, 10, "m", 58)
    yield write(scene.term("score"), 328, 10, 10, "m", 50)


def row(scene: Scene, number: int, y: float) -> Markup:
    """A seat: whether it is up, or next; hero and side, delves done, experience, treasures by kind, score."""
    seat = scene.state.seats[number - 1]
    active, won = scene.playing and number == scene.state.active, number in scene.winners
    lead = "▸" if active else "▹" if number == scene.following else ""
    parts = [
        title(scene.about(number)),
        card(ROW - 3, lit=active or won),
        write(f"{lead}{number}", 14, 25, 12, "b m" if lead or won else "dim b m"),
    ]
    if seat.hero:
        crest = scene.crest(seat.hero, standing(seat), 40, 20, 0.48)
        parts.append(tag("g", crest, class_="lost") if seat.withdrawn else crest)
    else:
        parts.append(scene.sheet.use("nobody", 40, 20, 0.5))
    parts.append(write(scene.hero(seat), 62, 15, 12.5, "b", 114))
    parts.append(delves(scene, number))
    if seat.withdrawn:
        parts.append(write(scene.say("status.left-game"), 290, 16, 10.5, "b m", 34))
    if owed := scene.owed(number):
        parts.append(tag("rect", class_="bonus", x=275, y=4, width=26, height=15, rx=7))
        parts.append(write(f"↩{owed}", 288, 15.5, 11, "b m label", 22))
    parts += [
        scene.sheet.use("star", 244, 11.5, 0.26),
        write(str(seat.xp), 263, 16, 13, "b m", 20),
        *tokens(scene, seat.treasures),
        write(f"({score(seat)})" if owed else str(score(seat)), 329, 21, 16 if owed else 18, "b m", 44),
        write(f"{seat.xp} + {treasure_value(seat.treasures)}", 328, 35, 10.5, "m", 46),
    ]
    if won:
        parts.append(scene.sheet.use("champion", 290, 12, 0.26))
    return tag("g", *parts, id=f"panel-{number}", transform=place(0, y))


def delves(scene: Scene, number: int) -> Markup:
    """Which delves a seat has done, and the one it is in."""
    seat = scene.state.seats[number - 1]
    now = scene.playing and number == scene.state.active and scene.delving
    pips = []
    for i in range(DELVES):
        done = i < seat.delves
        class_ = None if done else "button" if i == seat.delves and now else "refused"
        pips.append(tag("circle", class_=class_, cx=186 + i * 12, cy=11.5, r=4))
    return tag("g", title(scene.say("delves-done", count=seat.delves, delves=DELVES)), *pips)


def tokens(scene: Scene, treasures: Bag) -> Iterator[Markup]:
    """The treasures of a seat, small, each kind with its number."""
    hand = in_order(treasures)
    step = min(34.0, 238 / max(len(hand), 1))
    for i, (token, count) in enumerate(hand.items()):
        x = 62 + i * step
        yield scene.symbol(token, x + 7, 29, 0.24)
        yield write(str(count), x + min(19.5, step - 6), 34, 10.5, "b m", 8)
    if not hand:
        yield write(scene.say("no-treasures"), 62, 33, 10.5, "", 190)


def notes(scene: Scene) -> Iterator[str]:
    """The table options that differ from what is usual, where they matter in a delve."""
    usual, table = scene.rules.options(), scene.state.table
    for option in ("champion", "scroll_phases"):
        if (value := getattr(table, option)) != getattr(usual, option):
            named = (scene.words.raw(f"{GAME}.option.{message}") for message in (option, f"{option}.{value}"))
            yield scene.named(*named)
