"""How Dungeon Roll is told and drawn in text.

Dice are told by what they show, counted: two goblins and a chest. A token is told by its name, the hero in person by
the face that the hero stands for.
"""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, ClassVar, Final, NamedTuple

from msgspec import UNSET, UnsetType

from engine.dungeon_roll import actions as act
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.capability import face_of
from engine.dungeon_roll.components import (
    DELVES,
    DUNGEON_FACES,
    PARTY_FACES,
    RANKS,
    TREASURES,
)
from engine.dungeon_roll.heroes import HEROES, Power, Side
from engine.dungeon_roll.offers import FORMS
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import score
from engine.protocol import Action, Happening, kebab
from replay.telling import Part, Telling, capital

FACES: Final = (*PARTY_FACES, *DUNGEON_FACES)
SIDES: Final[dict[str, Side]] = {
    side.name: side for hero in HEROES.values() for side in (hero.novice, hero.master) if side
}
"""Every side of a hero's card by its name, heroes in the order in which they are listed everywhere."""
LEGENDS: Final = tuple(name for name, hero in HEROES.items() if hero.master is None)
"""Heroes who have a name of their own, and a longer one with what they are: ``cassandra-in-full``."""
PHASES: Final = (
    "opening", "choosing-hero", "delve-start", "forming", "monster", "loot", "dragon", "regroup", "discarding",
    "game-over",
)  # fmt: skip
NOUNS: Final = (
    "game", "hero", "specialty", "ultimate", "exhausted", "novice-side", "master-side", "party", "companion",
    "party-die", "dungeon-die", "monster", "loot", "dungeon", "lair", "graveyard", "supply", "reserve", "level",
    "delve", "tavern", "glory", "experience", "treasure", "treasure-token", "score", "rank", "shared-victory",
)  # fmt: skip
"""What pages, pictures and the text board name besides the ids of the game's own material."""


def phase(name: str) -> str:
    """The term of a phase: its id may be that of a face."""
    return f"phase-{name}"


def rank(name: str) -> str:
    """The term of a solo rank: its id may be that of a face."""
    return f"rank-{name}"


USER: Final = ("", "token", "hero")
"""Who is used: a die or a temporary companion, a token, the hero in person."""
SPECIALTY: Final = ("", "dice", "pay", "dice-pay")
ULTIMATE: Final = ("", "named", "dice", "faces", "dice-faces", "pay", "faces-pay")
"""What the label of a power says of its use."""


class DungeonRollTelling(Telling):
    """Dungeon Roll."""

    owner: ClassVar = "ja"
    endings: ClassVar = ("delves", "withdrawal")
    variants: ClassVar = {
        "happening.game-begun": ("", "choosing"),
        "happening.delve-ended": ("retire", "cleared", "portal", "flee", "hero", "absence"),
        "happening.timed-out": ("", "no-hero"),
        "happening.seat-withdrew": ("", "no-hero"),
        "happening.game-over": tuple(f"{ending}{how}" for ending in endings for how in ("", "-shared", "-alone")),
        "happening.party-taken": ("", "removed"),
        "happening.level-began": ("", "lair"),
        "happening.phase-entered": ("monster", "loot", "dragon", "regroup"),
        "happening.fled": ("monster", "dragon"),
        "happening.monsters-defeated": USER,
        "happening.scroll-used": ("", "token"),
        "happening.dice-revived": ("", "rolled"),
        "happening.companions-joined": ("", "hero"),
        "happening.chests-opened": (*USER, "power"),
        "happening.potions-quaffed": (*USER, "power"),
        "happening.dragon-defeated": ("", "power"),
        "happening.treasure-drawn": ("", "last"),
        "happening.treasure-paid": ("", "die"),
        "happening.experience-gained": ("level", "dragon", "supply"),
        "action.reroll-party": ("", "keep", "faces"),
        "action.assign-dice": ("", "faces"),
        "action.set-scrolls": ("", "faces"),
        "action.attack": ("", "face", "token", "hero"),
        "action.use-scroll": ("", "face", "token"),
        "action.open-chests": ("", "face", "token", "hero"),
        "action.quaff-potions": ("", "face", "token", "hero"),
        "action.fight-dragon": ("", "party"),
        "action.use-portal": ("", "level"),
        "action.use-specialty": SPECIALTY,
        "action.use-ultimate": ULTIMATE,
        "action.proceed": ("", "loot"),
        "action.retire": ("", "level"),
        "action.seek-glory": ("", "level"),
    }
    more: ClassVar = (
        {f"happening.{name}": ("count", "faces") for name in (
            "party-rolled", "party-taken", "party-changed", "reserve-rolled", "level-began", "monsters-defeated",
            "dice-discarded", "dice-revived", "companions-left", "loot-left",
        )}
        | {f"happening.{name}": ("was", "now") for name in ("dice-converted", "dice-rerolled", "dice-set")}
        | {f"happening.{name}": ("count",) for name in (
            "party-buried", "dragons-moved", "scrolls-buried", "chests-opened", "potions-quaffed",
        )}
        | {
            "happening.game-over": ("standings", "score"),
            "happening.reserve-assigned": ("one", "two", "three"),
            "happening.companions-joined": ("count", "faces", "face"),
            "happening.dragon-defeated": ("party",),
            "action.reroll-party": ("count", "faces"),
            "action.assign-dice": ("one", "two", "three"),
            "action.set-scrolls": ("count", "faces"),
            "action.attack": ("count", "faces", "face"),
            "action.use-scroll": ("count", "faces"),
            "action.open-chests": ("count", "face"),
            "action.quaff-potions": ("count", "face"),
            "action.fight-dragon": ("count", "party"),
            "action.use-ring": ("token",),
            "action.use-elixir": ("token",),
            "action.use-bait": ("token",),
            "action.use-portal": ("token", "level"),
            "action.use-specialty": ("power", "was", "now"),
            "action.use-ultimate": ("power", "was", "now"),
            "action.proceed": ("faces",),
            "action.retire": ("level",),
            "action.seek-glory": ("level",),
        }
    )  # fmt: skip
    parts: ClassVar = (
        {f"part.face.{face}": ("count",) for face in FACES}
        | {f"part.token.{token}": ("count",) for token in TREASURES}
        | {
            "part.standing": ("seat", "score"),
            "part.standing-tied": ("seat", "score", "tokens"),
            "part.die": ("face", "number"),
            "part.in-person": ("face",),
        }
    )
    terms: ClassVar = tuple(
        dict.fromkeys((
            *(term for side in SIDES for term in ((side, f"{side}-in-full") if side in LEGENDS else (side,))),
            *(side.ultimate.name for side in SIDES.values()),
            *FACES, *TREASURES, *map(phase, PHASES), *(rank(name) for _, name in reversed(RANKS)), *NOUNS,
        ))
    )  # fmt: skip
    shown: ClassVar = (*SIDES, *(rank(name) for _, name in RANKS))
    forms: ClassVar = tuple(kebab(action.__name__) for action in FORMS)
    refusals: ClassVar = {
        "companions-not-different": (),
        "delve-to-begin": (),
        "delve-under-way": (),
        "dragon-first": (),
        "exhausted": (),
        "game-over": ("ending",),
        "graveyard-empty": (),
        "graveyard-too-small": ("dice",),
        "hero-chosen": (),
        "hero-taken": ("hero",),
        "hero-to-choose": (),
        "in-graveyard": (),
        "in-lair": (),
        "lair-empty": (),
        "loot-first": (),
        "monsters-first": (),
        "named-twice": (),
        "no-champion": (),
        "no-chest": (),
        "no-companion": (),
        "no-die-named": (),
        "no-dragon": (),
        "no-effect": (),
        "no-face-named": (),
        "no-loot": (),
        "no-monsters": (),
        "no-potion": (),
        "no-such-companion": (),
        "no-such-hero": (),
        "no-such-monster": ("face",),
        "no-such-power": (),
        "no-such-token": ("token",),
        "not-a-chest": (),
        "not-a-monster": (),
        "not-a-scroll": ("face",),
        "not-asked-for": (),
        "not-exhausted": (),
        "not-in-play": (),
        "not-payable": (),
        "not-your-power": ("hero",),
        "not-your-turn": ("active",),
        "nothing-paid": (),
        "nothing-to-discard": (),
        "nothing-to-flee-from": (),
        "one-die-of-a-kind": (),
        "one-face-for-each-die": (),
        "party-formed": (),
        "party-to-form": (),
        "rage-forbids-retiring": (),
        "same-face": ("face",),
        "scroll-is-no-companion": (),
        "scroll-rolls-others": (),
        "seat-withdrew": ("seat",),
        "supply-empty": (),
        "too-few-dice": ("least",),
        "too-many-chests": ("face",),
        "too-many-dice": ("most",),
        "too-many-faces": ("most",),
        "too-many-monsters": ("face",),
        "too-many-potions": ("potions",),
        "treasures-to-discard": (),
        "used-on-this-level": (),
        "wrong-die": (),
        "wrong-face": ("face",),
        "wrong-number-of-companions": ("needed",),
        "wrong-number-of-dice": ("level",),
        "wrong-number-of-faces": ("needed",),
        "wrong-number-of-tokens": ("needed",),
    }
    chapters: ClassVar = {
        "game-begun": "opening",
        "delve-began": "turn",
        "level-began": "level",
        "dragon-defeated": "dragon-slain",
        "fled": "flight",
        "hero-leveled-up": "master",
        "game-over": "end",
    }
    rare_chapters: ClassVar = {"phase-entered": "dragon"}

    def variant(self, told: Happening | Action, state: Any) -> str:
        if isinstance(told, Happening):
            return VARIANTS.get(type(told), _no_variant)(told)
        return label(told, state).variant

    def scores(self, state: Any) -> list[int]:
        return [score(seat) for seat in state.seats] if isinstance(state, State) else []

    def margin(self, happening: Happening, state: Any) -> int | None:
        """A level that is cleared is as close as few companions are left."""
        if isinstance(happening, told.LevelCleared) and happening.level > 1 and isinstance(state, State):
            return len(state.delve.party) + len(state.delve.temps)
        return None

    def facts(self, told: Happening | Action, state: Any) -> dict[str, Any]:
        if isinstance(told, Happening):
            return FACTS.get(type(told), _no_facts)(told)
        return dict(label(told, state).facts)

    def seat(self, seat: int, state: Any) -> str:
        known = isinstance(state, State) and seat <= len(state.seats) and state.seats[seat - 1].hero
        return state.seats[seat - 1].side.name if known else ""

    def piece(self, field: str, name: str | int, state: Any) -> Any:
        """A die by what it shows and its number, a temporary companion by its face."""
        kind, _, number = str(name).partition("-")
        if kind not in ("party", "dungeon", "temp", "hero") or not isinstance(state, State):
            return name
        face = shown(state).get(str(name)) or state.delve.temps.get(str(name)) or name
        if kind == "hero":
            return Part("dungeon-roll.part.in-person", {"face": face})
        return Part("dungeon-roll.part.die", {"face": face, "number": int(number)}) if kind != "temp" else face

    def chapter(self, happening: Happening) -> str:
        if isinstance(happening, told.PhaseEntered):
            return "dragon" if happening.phase == "dragon" else ""
        return super().chapter(happening)

    def board(self, view: Mapping[str, Any], name: Callable[[str], str] = str) -> list[str]:
        return board(view, name)


# -- variants and facts of happenings ----------------------------------------------------------------------------------


def counted(things: Iterable[str], kind: str = "face") -> list[Part]:
    """Things of the same name together, each kind with how many there are, in the order of the box."""
    order = FACES if kind == "face" else tuple(TREASURES)
    count = Counter(things)
    return [Part(f"dungeon-roll.part.{kind}.{one}", {"count": count[one]}) for one in order if count[one]]


def tokens(bag: Mapping[str, int]) -> list[Part]:
    """Treasure tokens, counted."""
    return counted(Counter(bag).elements(), "token")


def user(companion: str) -> str:
    """Who is used: a ``token``, the ``hero`` in person, or a companion who is told by the face."""
    return "token" if companion in TREASURES else "hero" if companion == "hero" else ""


def _no_variant(happening: Any) -> str:
    return ""


def _no_facts(happening: Any) -> dict[str, Any]:
    return {}


def _ending(happening: told.GameOver) -> str:
    if happening.rank is not UNSET:
        return f"{happening.ending}-alone"
    return happening.ending + ("-shared" if len(happening.winners) > 1 else "")


VARIANTS: Final[dict[type[Happening], Callable[[Any], str]]] = {
    told.GameBegun: lambda happening: "" if all(happening.heroes) else "choosing",
    told.DelveEnded: lambda happening: happening.cause,
    told.TimedOut: lambda happening: "" if happening.hero else "no-hero",
    told.SeatWithdrew: lambda happening: "" if happening.hero else "no-hero",
    told.GameOver: _ending,
    told.PartyTaken: lambda happening: "removed" if happening.removed else "",
    told.LevelBegan: lambda happening: "lair" if happening.lair else "",
    told.PhaseEntered: lambda happening: happening.phase,
    told.Fled: lambda happening: happening.phase,
    told.MonstersDefeated: lambda happening: user(happening.companion),
    told.ScrollUsed: lambda happening: user(happening.scroll),
    told.DiceRevived: lambda happening: "rolled" if happening.rolled else "",
    told.CompanionsJoined: lambda happening: "hero" if "hero" in happening.companions else "",
    told.ChestsOpened: lambda happening: user(happening.companion) if happening.companion else "power",
    told.PotionsQuaffed: lambda happening: user(happening.drinker) if happening.drinker else "power",
    told.DragonDefeated: lambda happening: "" if happening.companions else "power",
    told.TreasureDrawn: lambda happening: "" if happening.left else "last",
    told.TreasurePaid: lambda happening: "die" if happening.face else "",
    told.ExperienceGained: lambda happening: happening.source,
}


def _faces(happening: Any) -> dict[str, Any]:
    return {"faces": counted(happening.dice.values()), "count": len(happening.dice)}


def _changed(happening: Any) -> dict[str, Any]:
    return {"was": counted(happening.before.values()), "now": counted(happening.dice.values())}


def _companions(happening: Any) -> dict[str, Any]:
    faces = list(happening.companions.values())
    return {"faces": counted(faces), "count": len(faces), "face": faces[0]}


def _converted(happening: told.DiceConverted) -> dict[str, Any]:
    count = len(happening.dice)
    return {"was": counted([happening.before] * count), "now": counted([happening.into] * count)}


def _assigned(happening: told.ReserveAssigned) -> dict[str, Any]:
    return dict(zip(("one", "two", "three"), (counted(dice.values()) for dice in happening.levels), strict=True))


def _over(happening: told.GameOver) -> dict[str, Any]:
    """Tokens are told where they decide: between seats with the same, highest score."""
    best = max(happening.scores)
    tied = happening.scores.count(best) > 1
    ranked = sorted(enumerate(happening.scores, 1), key=lambda entry: (-entry[1], happening.tokens[entry[0] - 1]))
    standings = [
        Part(
            f"dungeon-roll.part.standing{'-tied' if tied and score == best else ''}",
            {"seat": seat, "score": score, "tokens": happening.tokens[seat - 1]},
        )
        for seat, score in ranked
    ]
    facts: dict[str, Any] = {"standings": standings, "score": best}
    return facts if happening.rank is UNSET else facts | {"rank": rank(happening.rank)}


FACTS: Final[dict[type[Happening], Callable[[Any], dict[str, Any]]]] = {
    told.GameOver: _over,
    told.PartyRolled: _faces,
    told.PartyTaken: lambda happening: _faces(happening) | {"count": len(happening.removed)},
    told.PartyBuried: lambda happening: {"count": len(happening.dice)},
    told.PartyChanged: _faces,
    told.ReserveRolled: _faces,
    told.ReserveAssigned: _assigned,
    told.LevelBegan: _faces,
    told.DiceConverted: _converted,
    told.DragonsMoved: lambda happening: {"count": len(happening.dice)},
    told.MonstersDefeated: lambda happening: {"faces": counted(happening.monsters.values())},
    told.DiceRerolled: _changed,
    told.DiceDiscarded: _faces,
    told.DiceSet: _changed,
    told.DiceRevived: _faces,
    told.ScrollsBuried: lambda happening: {"count": len(happening.dice)},
    told.CompanionsJoined: _companions,
    told.CompanionsLeft: _companions,
    told.ChestsOpened: lambda happening: {"count": len(happening.chests)},
    told.PotionsQuaffed: lambda happening: {"count": len(happening.potions)},
    told.LootLeft: _faces,
    told.DragonDefeated: lambda happening: {"party": _named(happening.companions)},
    told.TreasuresDiscarded: lambda happening: {"tokens": tokens(happening.tokens)},
}


def _named(companions: Mapping[str, str]) -> list[str]:
    """Companions one by one: a token by its name, everybody else by the face."""
    return [one if one in TREASURES else face for one, face in companions.items()]


# -- labels of actions -------------------------------------------------------------------------------------------------


class Label(NamedTuple):
    """The variant of an action's message, and facts for it."""

    variant: str = ""
    facts: Mapping[str, Any] = {}


def shown(state: State) -> dict[str, str]:
    """What every die on the table shows."""
    delve = state.delve
    return delve.reserve.get("0", {}) | delve.dice | delve.party | dict.fromkeys(delve.lair, "dragon")


def label(action: Action, state: Any) -> Label:
    """How an action is labelled: with what dice show, and who is used, where the state is known and has them."""
    known = isinstance(state, State) and 0 < state.active <= len(state.seats) and bool(state.seat.hero)
    return LABELS.get(type(action), _plain)(action, state if known else None)


def _plain(action: Any, state: State | None) -> Label:
    return Label()


def _showing(state: State | None, dice: Sequence[str]) -> list[Part]:
    """The dice by what they show, counted; nothing where one of them is not on the table."""
    faces = shown(state) if state else {}
    return counted(faces[die] for die in dice) if all(die in faces for die in dice) else []


def _using(state: State | None, companion: str) -> Label:
    """Who is used, and the face; a plain label where it is nobody."""
    face = face_of(state, companion) if state else ""
    return Label(user(companion) or "face", {"face": face}) if face else Label()


def _reroll(action: act.RerollParty, state: State | None) -> Label:
    faces = _showing(state, action.dice)
    variant = "faces" if faces else "" if action.dice else "keep"
    return Label(variant, {"count": len(action.dice), "faces": faces})


def _assign(action: act.AssignDice, state: State | None) -> Label:
    levels = [_showing(state, dice) for dice in (action.level_1, action.level_2, action.level_3)]
    return Label("faces" if all(levels) else "", dict(zip(("one", "two", "three"), levels, strict=True)))


def _set_scrolls(action: act.SetScrolls, state: State | None) -> Label:
    faces = _showing(state, action.dice)
    return Label("faces" if faces else "", {"count": len(action.dice), "faces": faces})


def _attack(action: act.Attack, state: State | None) -> Label:
    variant, facts = _using(state, action.companion)
    faces = _showing(state, action.monsters)
    return Label(variant if faces else "", {**facts, "count": len(action.monsters), "faces": faces})


def _scroll(action: act.UseScroll, state: State | None) -> Label:
    faces = _showing(state, action.dice)
    variant = (user(action.scroll) or "face") if faces else ""
    return Label(variant, {"count": len(action.dice), "faces": faces})


def _chests(action: act.OpenChests, state: State | None) -> Label:
    variant, facts = _using(state, action.companion)
    return Label(variant, {**facts, "count": len(action.chests)})


def _potions(action: act.QuaffPotions, state: State | None) -> Label:
    variant, facts = _using(state, action.drinker)
    return Label(variant, {**facts, "count": len(action.faces), "faces": counted(action.faces)})


def _dragon(action: act.FightDragon, state: State | None) -> Label:
    faces = {one: face_of(state, one) if state else "" for one in action.companions}
    party = [one if one in TREASURES else faces[one] for one in action.companions]
    return Label("party" if party and all(faces.values()) else "", {"count": len(party), "party": party})


def _token(name: str) -> Callable[[Any, State | None], Label]:
    return lambda action, state: Label("", {"token": name})


def _portal(action: act.UsePortal, state: State | None) -> Label:
    return Label("level" if state else "", {"token": "town-portal", "level": state.delve.level if state else 0})


def _power(action: act.UseSpecialty | act.UseUltimate, state: State | None, power: Power | None) -> Label:
    """A power by its name, with the dice, faces and price that are named."""
    if state is None or power is None:
        return Label()
    facts: dict[str, Any] = {"power": power.name}
    says = []
    if dice := _showing(state, action.dice):
        says.append("dice")
        facts |= {"dice": dice, "was": dice}
    if action.faces:
        says.append("faces")
        choice = power.effect in ("hero-joins", "discard-types")
        facts |= {"faces": list(action.faces) if choice else counted(action.faces), "now": counted(action.faces)}
    if not isinstance(action.pay, UnsetType) and (price := state.delve.party.get(action.pay, action.pay)):
        says.append("pay")
        facts["pay"] = price
    variant = "-".join(says) or "named"
    return Label(variant if variant in (SPECIALTY if power is state.seat.side.specialty else ULTIMATE) else "", facts)


def _proceed(action: act.Proceed, state: State | None) -> Label:
    left = counted(state.delve.dice.values()) if state and state.phase == "loot" else []
    return Label("loot" if left else "", {"faces": left})


def _level(further: int) -> Callable[[Any, State | None], Label]:
    return lambda action, state: Label("level", {"level": state.delve.level + further}) if state else Label()


LABELS: Final[dict[type[Action], Callable[[Any, State | None], Label]]] = {
    act.RerollParty: _reroll,
    act.AssignDice: _assign,
    act.SetScrolls: _set_scrolls,
    act.Attack: _attack,
    act.UseScroll: _scroll,
    act.OpenChests: _chests,
    act.QuaffPotions: _potions,
    act.FightDragon: _dragon,
    act.UseRing: _token("ring-of-invisibility"),
    act.UseElixir: _token("elixir"),
    act.UseBait: _token("dragon-bait"),
    act.UsePortal: _portal,
    act.UseSpecialty: lambda action, state: _power(action, state, state.seat.side.specialty if state else None),
    act.UseUltimate: lambda action, state: _power(action, state, state.seat.side.ultimate if state else None),
    act.DiscardTreasures: lambda action, state: Label("", {"tokens": counted(action.tokens, "token")}),
    act.Proceed: _proceed,
    act.Retire: _level(0),
    act.SeekGlory: _level(1),
}


# -- the text board ----------------------------------------------------------------------------------------------------


def board(view: Mapping[str, Any], name: Callable[[str], str] = str) -> list[str]:
    """The delve, a zone on each line, dice with their numbers; then one line a seat.

    ``[3 goblin]`` is ``dungeon-3`` on the line of the dungeon, ``[3 mage]`` is ``party-3`` on that of the party,
    ``[* mage]`` a temporary companion; ``1/3`` dice in the lair of those that bring the Dragon; a hero with ``+`` on
    the Master side, with ``!`` where the ultimate is used up.
    """

    def line(zone: str, *parts: str) -> str:
        return "  ".join((capital(name(zone)), " ".join(parts))).rstrip()

    delve, seats, active = view["delve"], view["seats"], view["active"]
    heading, lines = capital(name(phase(view["phase"]))), []
    if delve["party"] or delve["graveyard"]:
        heading = f"{capital(name('level'))} {delve['level']} · {heading}"
        lair, companions = delve["lair"], sorted(delve["temps"].items())
        awake = side_of(seats[active - 1]).dragon_at
        lines = [
            line("dungeon", *_dice(delve["dice"], name)),
            line("lair", f"{len(lair)}/{awake}", *_dice(dict.fromkeys(lair, "dragon"), name)),
            line("party", *_dice(delve["party"], name), *(f"[* {name(face)}]" for _, face in companions)),
            line("graveyard", str(len(delve["graveyard"]))),
        ]
        lines += [line("reserve", level, *_dice(dice, name)) for level, dice in sorted(delve["reserve"].items())]
    supply = line("treasure", str(sum(view["supply"].values())))
    heroes = [_seat(number, seat, view, name) for number, seat in enumerate(seats, 1)]
    return [heading, *lines, supply, "", *heroes]


def side_of(seat: Mapping[str, Any]) -> Side:
    """The side of a seat's hero that is up; there must be a hero."""
    hero = HEROES[seat["hero"]]
    return hero.master if seat["master"] and hero.master else hero.novice


def _dice(dice: Mapping[str, str], name: Callable[[str], str]) -> list[str]:
    return [f"[{die.rpartition('-')[2]} {name(face)}]" for die, face in sorted(dice.items())]


def _seat(number: int, seat: Mapping[str, Any], view: Mapping[str, Any], name: Callable[[str], str]) -> str:
    active = number == view["active"]
    marks = ("+" if seat["master"] else "") + ("!" if active and view["delve"]["exhausted"] else "")
    hero = capital(name(side_of(seat).name)) + marks if seat["hero"] else "?"
    treasures = [
        name(token) + (f" ×{count}" if count > 1 else "") for token, count in sorted(seat["treasures"].items())
    ]
    parts = [
        f"{'>' if active else ' '}{number} {hero}",
        f"{name('experience')} {seat['xp']}",
        f"{name('delve')} {seat['delves']}/{DELVES}",
        ", ".join(treasures),
    ]
    return " · ".join(filter(None, parts))
