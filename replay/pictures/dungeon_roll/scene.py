"""What every part of the picture of Dungeon Roll draws from: the state, its words, dice, tokens and crests."""

from functools import cached_property, lru_cache
from typing import Any, Final

from markupsafe import Markup

from engine.bags import Bag
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.components import DELVES, DUNGEON_FACES, PARTY_FACES, TREASURES
from engine.dungeon_roll.delving import heroes_left
from engine.dungeon_roll.heroes import HEROES, Side
from engine.dungeon_roll.offers import forms
from engine.dungeon_roll.state import Seat, State
from engine.dungeon_roll.turns import next_seat, score
from engine.protocol import Form, Rules
from replay.pictures import scene
from replay.pictures.dungeon_roll.powers import of_specialty, of_ultimate
from replay.pictures.shared import place, tag, title, wide, write
from replay.telling import Verbatim
from replay.words import Context, words

GAME: Final = "dungeon-roll"
DRAWN: Final = {
    "skeleton": "skull",
    "chest": "closed-chest",
    "vorpal-sword": "sword",
    "scepter-of-power": "scepter",
    "thieves-tools": "lockpicks",
    "ring-of-invisibility": "ring",
    "dragon-scales": "scales",
    "dragon-bait": "bait",
    "town-portal": "portal",
}
"""The drawings of faces and tokens that are not called what they show."""
EMBLEMS: Final = {
    "spellsword": "sword",
    "mercenary": "coin",
    "occultist": "skull",
    "knight": "fighter",
    "crusader": "cleric",
    "minstrel": "lute",
    "enchantress": "heart",
    "half-goblin": "goblin",
    "cassandra": "paw",
    "marpesia": "bow",
    "toulak": "bull",
    "amar-suen": "champion",
    "tristan": "swords",
    "loeg-yllavyre": "dragon",
    "alexandra": "book",
    "szopin": "axe",
    "viking": "horned-helmet",
    "alchemist": "potion",
    "scout": "eye",
    "sorceress": "flame",
    "archaeologist": "vase",
    "leprechaun": "clover",
    "dwarf": "hammer",
    "tracker": "boot",
    "guild-leader": "key",
    "time-traveler": "hourglass",
}
SHIELDS: Final = {
    "novice": ("steel", "M-27-29H27V5C27 20 13 28 0 33C-13 28-27 20-27 5Z"),
    "master": ("gold", "M-30-24C-18-24-8-28 0-33C8-28 18-24 30-24C31-4 26 20 0 33C-26 20-31-4-30-24Z"),
    "legend": ("pale", "M0-33L29-17V17L0 33L-29 17V-17Z"),
}
"""A crest by the side that is up: colour and outline."""
FACES: Final = (*PARTY_FACES, *DUNGEON_FACES)
RIM: Final = 2.6
"""How far the rim around what may be tapped stands out, without its outline."""


class Scene(scene.Scene[State]):
    """A position of Dungeon Roll."""

    game = GAME
    elsewhere = (told.PhaseEntered, told.LevelCleared, told.GameOver, told.LevelBegan)

    @cached_property
    def forms(self) -> dict[str, Form]:
        """From what the actions that are legal now are built, by their type."""
        legal = [offer for offers in self.legal.values() for offer in offers]
        return {form.type: form for form in forms(self.state, legal)}

    @cached_property
    def picks(self) -> set[str]:
        """The elements at which legal actions begin, and those which their forms name."""
        fields = [field for form in self.forms.values() for field in form.fields.items()]
        named = (self.rules.element(name, one) for name, field in fields for one in field.ids)
        return {*self.legal, *filter(None, named)}

    def rim(self, identity: str, x: float, y: float, width: float, height: float, corner: float) -> Markup:
        """Behind what may be tapped now, `RIM` larger than it on each side; else nothing."""
        if identity not in self.picks:
            return Markup("")
        box = {"x": x - RIM, "y": y - RIM, "width": width + 2 * RIM, "height": height + 2 * RIM}
        return tag("rect", class_="pick", rx=corner + RIM, **box)

    @property
    def rank(self) -> str:
        return str(self.outcome.facts.get("rank", "")) if self.outcome else ""

    @property
    def delving(self) -> bool:
        """Is a delve under way, so that there are dice on the table?"""
        return self.state.delve.level > 0 or self.state.phase == "forming"

    # -- words -----------------------------------------------------------------------------------------------------

    def named(self, name: str, said: str) -> str:
        """``Bard Song: removes all dice of the lair.``"""
        return self.say("note", option=Verbatim(name), value=Verbatim(said[:1].lower() + said[1:]))

    def hero(self, seat: Seat) -> str:
        """The name of the side that is up."""
        return self.term(seat.side.name) if seat.hero else self.say("no-hero")

    def counted(self, things: dict[str, int]) -> str:
        """How many of which faces or tokens."""
        parts = (("token" if name in TREASURES and name != "scroll" else "face", name) for name in things)
        said = [self.words.text(f"{GAME}.part.{sort}.{name}", {"count": things[name]}) for sort, name in parts]
        return self.words.together(said)

    def about(self, number: int) -> str:
        """All that is public about a seat, in one sentence."""
        seat = self.state.seats[number - 1]
        said = self.say(
            "about", seat=number, hero=Verbatim(self.hero(seat)),
            side=Verbatim(self.say(f"side.{standing(seat)}")), xp=seat.xp,
            delves=seat.delves, tokens=sum(seat.treasures.values()), score=score(seat),
        )  # fmt: skip
        if seat.treasures:
            said += self.say("carries", things=Verbatim(self.counted(in_order(seat.treasures))))
        if owed := self.owed(number):
            said += self.say("owes", count=owed)
        if number == self.following:
            said += self.say("follows")
        return said + (self.say("left-game") if seat.withdrawn else "") + self.say("stop")

    def pending(self) -> str:
        """What the game waits for, in one sentence."""
        state = self.state
        phase: str = state.phase
        if phase == "forming":
            phase = f"forming.{state.seat.side.forming}"
        elif phase == "monster" and not state.delve.dice:
            phase = "waiting"
        hero = self.hero(state.seat) if state.seat.hero else self.words.seat(state.active, self.context)
        return self.say(
            f"phase.{phase}",
            hero=Verbatim(hero),
            level=state.delve.level,
            count=state.discards,
            delve=state.seat.delves + 1,
        )

    def headline(self) -> str:
        """The position in one line."""
        if not self.state.active:
            return self.words.raw("pictures.opening")
        if self.state.ending:
            return " · ".join(self.ended())
        return self.pending()

    def ended(self) -> tuple[str, str]:
        """How the game ended, and who won: alone, with which rank."""
        ending = self.words.ending(self.state.ending, self.context)
        if self.rank:
            rank = Verbatim(self.term(f"rank-{self.rank}"))
            return ending, self.say("rank", rank=rank, score=score(self.state.seats[0]))
        names = [self.hero(self.state.seats[seat - 1]) for seat in self.winners]
        return ending, self.say("winners", winners=Verbatim(self.words.together(names)), count=len(names))

    @cached_property
    def following(self) -> int:
        """The seat that is up when the active one has chosen or delved, as the rules say; 0: none."""
        if not self.playing:
            return 0
        later = self.rules.copy(self.state)
        if later.phase == "choosing-hero":
            later.seat.hero = heroes_left(later)[0]
        else:
            later.seat.delves, later.phase = min(later.seat.delves + 1, DELVES), "delve-start"
        next_seat(later)
        return 0 if later.ending or later.active == self.state.active else later.active

    def owed(self, number: int) -> int:
        """How many of its treasures a seat must still give back after its last delve."""
        seat, state = self.state.seats[number - 1], self.state
        if state.phase == "discarding" and number == state.active and seat.delves == DELVES:
            return state.discards
        done = not seat.hero or seat.withdrawn or seat.delves == DELVES
        return 0 if done else min(seat.side.discards_at_end, sum(seat.treasures.values()))

    # -- parts -----------------------------------------------------------------------------------------------------

    def symbol(self, name: str, x: float = 0, y: float = 0, scale: float = 1.0) -> Markup:
        """The drawing of a face or token."""
        return self.sheet.use(DRAWN.get(name, name), x, y, scale)

    def die(self, face: str, x: float, y: float, size: float, identity: str, group: str = "") -> Markup:
        """A die that shows a face, its upper left corner at x,y: white of the party, black of the dungeon.

        ``group``: the element that is tapped in its stead, with the others of its kind.
        """
        return self.rim(identity if identity in self.picks else group, x, y, size, size, 8) + tag(
            "g",
            title(self.term(face)),
            tag("use", href=self.face(face), transform=place(0, 0, size / 44)),
            id=identity,
            transform=place(x + size / 2, y + size / 2),
        )

    def face(self, face: str) -> str:
        """The reference to a die with a face, 44 wide around 0,0: a drawing and a letter."""
        black = face in DUNGEON_FACES
        letter = self.say(f"letter.{face}")
        cjk = letter > "\u2e80"
        width, size = (16.0, 13.5) if cjk else (13.2 * wide(letter) + 3, 12.3)
        return self.sheet.define(
            f"face-{face}",
            tag(
                "g",
                tag("rect", class_="night" if black else "die", x=-21, y=-21, width=42, height=42, rx=8),
                self.symbol(face, -1.5, -2.5, 0.62 if face == "skeleton" else 0.54),
                tag("rect", class_="bone" if black else "i", x=20 - width, y=5, width=width, height=15, rx=4),
                write(letter, 20 - width / 2, 17, size, f"b m {'label' if black else 'white'}"),
                id=f"face-{face}",
            ),
        )

    def companion(self, face: str, x: float, y: float, size: float, identity: str) -> Markup:
        """A temporary companion: round, so that nobody takes it for a die."""
        label = tag("circle", class_="s pale", r=20, stroke_dasharray="6 4")
        letter = self.say(f"letter.{face}")
        return self.rim(identity, x, y, size, size, size / 2) + tag(
            "g",
            title(self.say("temporary", face=face)),
            tag(
                "g",
                label,
                self.symbol(face, 0, -3, 0.46),
                tag("rect", class_="i", x=-9, y=8, width=18, height=14, rx=7),
                write(letter, 0, 18.5, 11, "b m white", 15),
                transform=place(0, 0, size / 44),
            ),
            id=identity,
            transform=place(x + size / 2, y + size / 2),
        )

    def blank(self, x: float, y: float, size: float, identity: str, said: str, class_: str = "die") -> Markup:
        """A small die that lies aside; crossed out and fallen over, where it is one of the graveyard."""
        dead = "lost" in class_
        return tag(
            "g",
            title(said),
            tag("rect", class_=class_, x=-size / 2, y=-size / 2, width=size, height=size, rx=size / 5),
            tag("path", class_="strike", d="M-4-4L4 4M4-4L-4 4") if dead else "",
            id=identity,
            transform=place(x + size / 2, y + size / 2, turned=20 if dead else 0),
        )

    def crest(self, hero: str, sort: str, x: float, y: float, scale: float) -> Markup:
        """A hero's emblem on a shield whose outline is that of the side which is up."""
        class_, outline = SHIELDS[sort]
        return tag(
            "g",
            tag("path", class_=f"s {class_}", d=outline),
            self.sheet.use(EMBLEMS[hero], 0, -1, 0.68),
            transform=place(x, y, scale),
        )

    # -- powers ----------------------------------------------------------------------------------------------------

    def specialty(self, side: Side) -> str:
        """What the hero's specialty is."""
        return power_of(self.rules, self.words.language, side.name, False)

    def ultimate(self, side: Side) -> str:
        """What the hero's ultimate does."""
        return power_of(self.rules, self.words.language, side.name, True)


SIDES: Final = {side.name: side for hero in HEROES.values() for side in (hero.novice, hero.master) if side}


@lru_cache(maxsize=1024)
def power_of(rules: Rules[Any], language: str, side: str, ultimate: bool) -> str:
    """A power in sentences, said again in every picture of a game; after a price and its colon the sentence goes on."""
    said, context, paid = words(language), Context(rules), False
    clauses = []
    for message, facts in of_ultimate(SIDES[side].ultimate) if ultimate else of_specialty(SIDES[side]):
        clause = said.text(f"pictures.{GAME}.power.{message}", facts, context)
        clauses.append(clause[:1].lower() + clause[1:] if paid else clause)
        paid = message.startswith("pay.")
    return said.grammar.space.join(clauses)


def standing(seat: Seat) -> str:
    """Which side of the card is up."""
    if not seat.hero or HEROES[seat.hero].master:
        return "master" if seat.master else "novice"
    return "legend"


def in_order(treasures: Bag) -> dict[str, int]:
    """Tokens in the order of the box."""
    return {token: treasures[token] for token in TREASURES if token in treasures}
