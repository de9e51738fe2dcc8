"""Below the map: whose turn it is, the fight or what else is pending, what is offered, and the heroes."""

from collections import Counter
from collections.abc import Iterator
from typing import Final

import msgspec
from markupsafe import Markup

from engine.donjon import happenings as told
from engine.donjon.actions import PlaceTile
from engine.donjon.components import (
    ATTACK_SCROLL,
    CLOSED_CHEST,
    HEALING_SCROLL,
    HEROES,
    HIT_POINTS,
    MONSTERS,
    MOVEMENT_POINTS,
    WEAPONS,
)
from engine.donjon.movement import ways_to_place
from engine.donjon.state import Hero
from engine.protocol import Happening
from replay.pictures.donjon.scene import FEATURES, Scene
from replay.pictures.shared import EDGE, WIDTH, card, die, figure, folded, joined, place, tag, title, wrapped, write

FRAME, ROW = 122, 43
"""Heights of the frame of the turn and of a hero's row."""
BUTTONS: Final = {
    "fight": "swords",
    "trap": "trap",
    "offer-attack-scroll": ATTACK_SCROLL,
    "offer-sacrifice": "heart",
    "offer-accept": "",
    "loot": "",
    "leave-loot": "",
    "decline": "stun",
    "item": "",
    "chest": CLOSED_CHEST,
    "fountain": "fountain",
    "scroll-healing": HEALING_SCROLL,
}
"""Targets that are no element of the map, each with its drawing (``loot`` and ``item`` show what it is)."""
SLAIN: Final = {monster.reward: name for name, monster in MONSTERS.items()}
"""Whose item this was."""
VERDICTS: Final[dict[type[Happening], str]] = {
    told.FightWon: "won",
    told.FightTied: "tied",
    told.FightLost: "lost",
}
BOOSTS: Final[dict[type[Happening], str]] = {told.HitPointSacrificed: "heart", told.ScrollUsed: ATTACK_SCROLL}
"""What a hero adds to its dice, each with its drawing."""


Pair = tuple[tuple[int, ...], ...]


class Roll(msgspec.Struct):
    """A fight with its dice: one that waits for a decision, or one that was just fought.

    ``pairs``: every face each die showed; ``added``: what adds to them, as (drawing, how much).
    """

    monster: str
    pairs: list[Pair]
    kept: int
    added: list[tuple[str, int]]
    total: int
    verdict: str = ""


# -- the frame of the turn ---------------------------------------------------------------------------------------------


class Frame:
    """The turn: what is left of it, what is pending, what is offered."""

    def __init__(self, scene: Scene) -> None:
        self.scene, self.state = scene, scene.state
        self.roll = latest_roll(scene)
        refusals = scene.rules.refusals(self.state, self.state.active) if self.state.phase in FREE else []
        self.refused = [refusal.target for refusal in refusals if refusal.target in BUTTONS]

    def draw(self, y: float) -> Markup:
        """The frame, its upper edge at ``y`` of the picture."""
        parts = [card(FRAME - 4)]
        parts += self.header()
        offers = [target for target in (*self.scene.legal, *self.refused) if not on_the_map(target)]
        if self.roll or self.state.phase in ("encounter", "combat-pending"):
            fight = [self.fight()]
            if "fight" in offers:
                offers.remove("fight")
                fight.append(self.button("fight", 0, 1))
            elif not offers:
                said = self.scene.pending() if self.scene.playing else " · ".join(self.scene.ending())
                fight.append(write(said, WIDTH / 2, 104, 13, "b m", 330))
            parts.append(tag("g", *fight, id="fight"))
        else:
            parts.append(self.near(bool(offers)))
        parts += [tag("g", self.button(t, i, len(offers)), id=t) for i, t in enumerate(offers)]
        return tag("g", *parts, id="frame", transform=place(0, y))

    def header(self) -> Iterator[Markup]:
        """Turn, movement points, pile, where the hero would retreat to, and Next where the turn may end."""
        scene, state = self.scene, self.state
        yield write(scene.say("turn", turn=state.turn), 12, 20, 13, "b", 70)
        if scene.playing:
            boots = scene.sheet.pips("boot", "no-boot", state.mp, MOVEMENT_POINTS, 96, 15, 17, 0.24)
            said = title(scene.say("moves", mp=state.mp))
            yield tag("g", said, boots, write(str(state.mp), 172, 21, 16, "b m"), id="moves")
        left = sum(state.pile.values())
        said = title(scene.say("pile", left=left))
        yield tag("g", said, scene.sheet.use("tiles", 206, 15, 0.36), write(str(left), 221, 20, 13, "b"), id="pile")
        if fled := scene.retreat:
            line = scene.say("retreat", at=fled)
            sign = scene.sheet.use("retreat", 258, 15, 0.32)
            yield tag("g", title(line), sign, write(line, 270, 19, 11, "", 80))
        if "next" in scene.legal:
            label = scene.words.action(scene.legal["next"][0].action, scene.context)
            button = tag("rect", class_="button", x=262, y=4, width=88, height=24, rx=12)
            yield tag("g", title(label), button, write(f"{label} ▸", 306, 20.5, 13, "label b m", 76), id="next")

    def near(self, offers: bool) -> Markup:
        """Where the active hero stands, seen from near, and what the game waits for."""
        scene, state, hero = self.scene, self.state, self.state.hero
        if placing := state.placing:
            return self.turning(placing.tile.partition("-")[0])
        tile = state.tiles[hero.at]
        thing = state.things.get(hero.at, "")
        parts = [tag("use", href=scene.floor(tile.kind, tile.exits))]
        if content := thing or FEATURES.get(tile.kind):
            parts.append(tag("g", scene.token(content), transform=place(66, 34, 0.7)))
        where = place(33, 62, 0.8) if content else place(50, 50, 0.9)
        parts.append(tag("g", *scene.figure(state.active, hero), transform=where))
        if scene.playing:
            first = scene.pending()
            second = scene.term(tile.kind) + (f" · {scene.thing(thing)}" if thing else "")
        else:
            first, second = scene.ending()
        size = 0.5 if offers else 0.76
        x, y = 22 + size * 100, 50 if offers else 68
        lines, end = wrapped(first, x, y, 14, WIDTH - x - 12)
        return joined(
            tag("g", *parts, transform=place(12, 34, size)),
            lines,
            write(second, x, end + 16, 12, "dim", WIDTH - x - 12),
        )

    def turning(self, kind: str) -> Markup:
        """The tile that waits to be laid, and that its way round is still to be chosen."""
        scene = self.scene
        exits = next(iter(ways_to_place(self.state).values()))
        lines, end = wrapped(scene.pending(), 72, 50, 14, WIDTH - 84)
        parts = [
            tag("use", href=scene.floor(kind, exits), opacity=0.6),
            scene.preview(),
            scene.sheet.use("turn", 50, 50, 0.6),
        ]
        return joined(
            tag("g", *parts, transform=place(14, 33, 0.48)),
            lines,
            write(scene.say("preview"), 72, end + 16, 12, "dim", WIDTH - 84),
        )

    # -- fights ----------------------------------------------------------------------------------------------------

    def fight(self) -> Markup:
        """The sum: dice and what adds to them, against the monster's strength."""
        scene, hero, roll = self.scene, self.state.hero, self.roll
        monster = roll.monster if roll else self.state.things[hero.at]
        strength = MONSTERS[monster].strength
        drawn = scene.sheet.use(monster, 327, MIDDLE, 0.72)
        parts = [
            title(scene.say("fight", hero=hero.name, monster=monster, strength=strength)),
            scene.sheet.use(hero.name, 28, MIDDLE, 0.56),
            tag("g", drawn, class_="lost") if roll and roll.verdict == "won" else drawn,
            figure(str(strength), 290, MIDDLE, 15, "strength"),
        ]
        if roll is None:
            count, size = (4, 20) if HEROES[hero.name].rolls_two_pairs else (2, 30)
            parts += [die(None, 54 + i * (size + 2) + i // 2 * 6, MIDDLE - size / 2, size) for i in range(count)]
            left = 60 + count * (size + 2) + count // 4 * 6
            room = 270 - left
            lines = folded(scene.pending(), 11, room)
            top = MIDDLE + 4 - 6.5 * (len(lines) - 1)
            return joined(*parts, *(write(line, left, top + 13 * i, 11, "", room) for i, line in enumerate(lines)))
        dice, x = self.dice(roll) if roll.pairs else self.before(roll)
        added = [one for one in roll.added if one[1]]
        for icon, much in added:
            parts.append(scene.sheet.use(icon, x + 11, MIDDLE - 7, 0.3))
            parts.append(write(f"+{much}", x + 11, MIDDLE + 16, 13, "b m"))
            x += 27 if len(roll.pairs) + len(added) < 4 else 23
        sign = ">" if roll.total > strength else "=" if roll.total == strength else "<"
        parts += [
            dice,
            write(f"= {roll.total}", 252, MIDDLE + 7, 19, "b e"),
            write(sign, 263, MIDDLE + 7, 19, "b m"),
        ]
        if roll.verdict:
            parts.append(write(scene.say(f"verdict.{roll.verdict}"), 240, MIDDLE + 24, 12, "b m", 70))
        return joined(*parts)

    def before(self, roll: Roll) -> tuple[Markup, float]:
        """Where the dice are no longer known, what they and all that was added before came to; and where it ends."""
        sum_before = roll.total - sum(much for _, much in roll.added)
        said = self.scene.say("so-far")
        box = tag("rect", class_="slot held", x=54, y=MIDDLE - 15, width=44, height=30, rx=6)
        number = write(str(sum_before), 76, MIDDLE + 6, 17, "label b m")
        return joined(title(said), box, number, write(said, 76, MIDDLE + 26, 10, "m", 70)), 104

    def dice(self, roll: Roll) -> tuple[Markup, float]:
        """The dice with what they showed before, of two pairs the one that counts underlined; and where they end."""
        size, x = (30, 54) if len(roll.pairs) < 2 else (20, 48)
        parts: list[Markup] = []
        number = 0
        for index, pair in enumerate(roll.pairs):
            faces: list[Markup] = []
            for shown in pair:
                number += 1
                one = [title(" → ".join(map(str, shown))), die(shown[-1], x, MIDDLE - size / 2, size)]
                if len(shown) > 1:
                    again = "→".join(map(str, shown))
                    one.append(write(again, x + size / 2, MIDDLE + size / 2 + 11, 10, "b m", size + 4))
                faces.append(tag("g", *one, id=f"die-{number}"))
                x += size + 2
            if len(roll.pairs) > 1:
                kept, width = index == roll.kept, 2 * size
                line = (
                    f"M{x - width - 3} {MIDDLE + 15}h{width}" if kept else f"M{x - width - 3} {MIDDLE + 11}l{width}-22"
                )
                faces.append(tag("path", class_="kept" if kept else "strike", d=line))
            parts.append(joined(*faces) if index == roll.kept else tag("g", *faces, class_="lost"))
            x += 6
        return joined(*parts), x

    # -- buttons ---------------------------------------------------------------------------------------------------

    def button(self, target: str, index: int, count: int) -> Markup:
        """One of the offers in the row of buttons; only an outline where it is refused."""
        scene, state = self.scene, self.state
        width = min(150.0, (WIDTH - 2 * EDGE - 16 - 6 * (count - 1)) / count)
        x = WIDTH / 2 - (count * width + 6 * (count - 1)) / 2 + index * (width + 6)
        y, height = 85, 29
        refused = target in self.refused
        offers = [offer.action for offer in scene.legal.get(target, ())]
        label = self.label(target)
        said = " / ".join(scene.words.action(offer, scene.context) for offer in offers) or label
        parts = [
            title(said),
            tag("rect", class_="refused" if refused else "button", x=x, y=y, width=width, height=height, rx=8),
        ]
        if offers and isinstance(turned := offers[0], PlaceTile) and state.placing:
            kind, exits = state.placing.tile.partition("-")[0], ways_to_place(state)[turned.rotation]
            drawn = tag("use", href=scene.floor(kind, exits), transform=place(x + 5, y + 1.5, 0.26))
            open_to = " · ".join(scene.say(f"side.{side}") for side in exits)
            return joined(*parts, drawn, write(open_to, x + width / 2 + 14, y + 19, 13, "label b m", width - 36))
        icon = state.things[state.hero.at] if target in ("loot", "item") else BUTTONS.get(target, "")
        shift = 28 if icon else 6
        if icon:
            parts.append(scene.sheet.use(icon, x + 17, y + height / 2, 0.36))
        room = width - shift - 6
        colour = "dim" if refused else "label"
        return joined(*parts, write(label, x + shift + room / 2, y + 19.5, 13, f"{colour} b m", room))

    def label(self, target: str) -> str:
        if target == "fight" and self.state.phase == "combat-pending":
            return self.scene.say("roll")
        if target in BUTTONS:
            return self.scene.say(f"button.{target}")
        return self.scene.words.action(self.scene.legal[target][0].action, self.scene.context)


MIDDLE: Final = 54
"""The line along which a fight stands, in units of the frame."""
FREE: Final = ("turn-start", "exploring")


def on_the_map(target: str) -> bool:
    """Is it an element of the map, or Next, which has its own place?"""
    return target.startswith(("tile-", "hero-")) or target == "next"


def latest_roll(scene: Scene) -> Roll | None:
    """The dice on the table, or those that were just taken from it."""
    state, hero = scene.state, scene.state.hero
    told_of = [*scene.before, *scene.happened]
    rolls = [(at, one) for at, one in enumerate(told_of) if isinstance(one, told.DiceRolled)]
    at, rolled = rolls[-1] if rolls else (0, None)
    ended = next((h for h in reversed(scene.happened) if type(h) in VERDICTS), None)
    verdict = VERDICTS[type(ended)] if ended else ""
    if fight := state.fight:
        thing = state.things[hero.at]
        pairs: list[Pair] = [*rolled.pairs] if rolled else [tuple((face,) for face in pair) for pair in fight.pairs]
        weapons = sum(WEAPONS[weapon] for weapon in hero.weapons)
        powers = HEROES[hero.name]
        boost = "heart" if powers.sacrifices_hit_points else ATTACK_SCROLL
        own = "boot" if powers.first_step_bonus else ATTACK_SCROLL
        added = [("swords", weapons), (own, fight.bonus - weapons), (boost, fight.boost)]
        total = sum(fight.pairs[fight.kept]) + fight.bonus + fight.boost
        won = state.phase == "loot"
        return Roll(SLAIN[thing] if won else thing, pairs, fight.kept, added, total, "won" if won else "")
    if not isinstance(ended, told.FightWon | told.FightTied | told.FightLost):
        return None
    boosts = Counter(BOOSTS[type(h)] for h in told_of[at:] if type(h) in BOOSTS)
    if rolled is None:
        return Roll(ended.monster, [], 0, [*boosts.items()], ended.total, verdict)
    faces = [tuple(die[-1] for die in pair) for pair in rolled.pairs]
    added = [("swords", rolled.weapons), ("boot", rolled.first_step)]
    added += [("heart", boosts["heart"]), (ATTACK_SCROLL, rolled.scrolls + boosts[ATTACK_SCROLL])]
    return Roll(ended.monster, [*rolled.pairs], faces.index(rolled.kept), added, ended.total, verdict)


# -- the heroes --------------------------------------------------------------------------------------------------------


def row(scene: Scene, seat: int, y: float) -> Markup:
    """A hero: seat, name, hit points, what it carries, gold."""
    hero = scene.state.heroes[seat - 1]
    active, won = scene.playing and seat == scene.state.active, seat in scene.winners
    status = "left-game" if hero.withdrawn else "stunned" if scene.stunned(seat, hero) else ""
    step, size = (9, 0.14) if status else (12.5, 0.19)
    parts = [
        title(scene.about(seat, hero)),
        card(ROW - 3, lit=active or won),
        write(f"▸{seat}" if active else str(seat), 14, 25, 12, "b m" if active else "dim b m"),
        tag("g", *scene.figure(seat, hero, lit=False), transform=place(41, 20, 0.5)),
        write(scene.term(hero.name) if hero.name else "?", 64, 16, 13, "b", 70 if won else 84),
        scene.sheet.pips("heart", "no-heart", hero.hp, HIT_POINTS, 70, 28, step, size),
    ]
    if not status:
        parts.append(write(str(hero.hp), 143, 32, 12, "b e"))
    else:
        parts.append(write(scene.say(f"status.{status}"), 148, 32, 10.5, "b e", 36))
    if won:
        parts.append(scene.sheet.use("star", 141, 13, 0.3))
    parts += slots(scene, hero)
    parts += [scene.sheet.use("coin", 332, 20, 0.28), write(str(hero.gold), 348, 26, 16, "b m", 15)]
    return tag("g", *parts, id=f"panel-{seat}", transform=place(0, y))


def slots(scene: Scene, hero: Hero) -> Iterator[Markup]:
    """Two weapons with their bonus, three scrolls, a key; an empty slot is an outline."""
    yield tag("use", href=scene.sheet.define("slots", EMPTY_SLOTS))
    for sort, held in (("weapon", hero.weapons), ("scroll", hero.scrolls), ("key", ["key"] * hero.key)):
        for item, x in zip(held, SLOT_AT[sort], strict=False):
            yield tag("rect", class_="slot held", x=x, y=6, width=SLOT_WIDE[sort], height=28, rx=4)
            if item in WEAPONS:
                yield scene.sheet.use(item, x + 11, 16, 0.29)
                yield write(f"+{WEAPONS[item]}", x + 22, 31, 12, "b m label")
            else:
                yield scene.sheet.use(item, x + 12, 20, 0.34)


SLOT_WIDE: Final = {"weapon": 31, "scroll": 24, "key": 24}
SLOT_AT: Final = {"weapon": (151, 183), "scroll": (219, 244, 269), "key": (298,)}
"""Where the slots of each sort begin in a row."""
EMPTY_SLOTS: Final = tag(
    "g",
    *(
        tag("rect", class_="slot", x=x, y=6, width=SLOT_WIDE[sort], height=28, rx=4)
        for sort, places in SLOT_AT.items()
        for x in places
    ),
    id="slots",
)
