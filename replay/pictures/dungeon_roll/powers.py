"""The powers of heroes in words, put together from the data of their cards: a message for each thing a card can say."""

from collections import Counter
from collections.abc import Iterator
from typing import Any

from engine.dungeon_roll.components import COMPANIONS
from engine.dungeon_roll.heroes import ANY_NUMBER, Power, Side

Clause = tuple[str, dict[str, Any]]


def of_specialty(side: Side) -> Iterator[Clause]:
    """What always holds on a side, what it does when the party is formed, and the specialty that can be used."""
    yield from of_forming(side)
    if side.twins:
        yield "twins", {"one": side.twins[0], "other": side.twins[1]}
    if side.scrolls_as:
        everybody = len(side.scrolls_as) == len(COMPANIONS)
        yield ("scrolls-as-any", {}) if everybody else ("scrolls-as", {"face": side.scrolls_as[0]})
    for face in side.extra:
        yield "extra", {"face": face}
    if side.extra_while_exhausted:
        yield "extra-while-exhausted", {}
    if side.champions_of_one:
        yield "champions-of-one", {}
    if side.after_two:
        yield f"after-two.{side.after_two}", {}
    for face, into in side.dungeon_becomes.items():
        yield "dungeon-becomes", {"face": face, "into": into}
    if side.lair_emptied_at:
        yield "lair-emptied-at", {"count": side.lair_emptied_at}
    if side.loot_among_monsters:
        yield "loot-among-monsters", {}
    if side.dragon_at != 3:
        yield "dragon-at", {"count": side.dragon_at}
    if side.dragon_companions != 3:
        yield "dragon-companions", {"count": side.dragon_companions}
    if side.refreshed_by:
        yield f"refreshed-by.{side.refreshed_by}", {}
    if side.specialty:
        yield from of_ultimate(side.specialty)
    if side.discards_at_end:
        everything = side.discards_at_end > 7
        yield ("discards-all", {}) if everything else ("discards-at-end", {"count": side.discards_at_end})


def of_forming(side: Side) -> Iterator[Clause]:
    """What a side does when the party is formed."""
    if side.party_dice > 7:
        yield "party-dice", {"count": side.party_dice}
    if side.fixed_party:
        faces = Counter(side.fixed_party)
        yield ("one-face", {"count": len(side.fixed_party), "face": side.fixed_party[0]}) if len(faces) == 1 else (
            "every-face", {"again": faces.most_common(1)[0][0]}
        )  # fmt: skip
    for face, into in side.party_becomes.items():
        yield "party-becomes", {"face": face, "into": into}
    if side.buried:
        yield "buried", {"count": side.buried}
    if side.first_treasures:
        yield "first-treasures", {"count": side.first_treasures}
    if side.begins_exhausted:
        yield "begins-exhausted", {}
    if side.forming:
        yield f"forming.{side.forming}", {}


def of_ultimate(power: Power) -> Iterator[Clause]:
    """What a power costs and does, and how often."""
    if power.pay:
        yield "pay." + "-or-".join(power.pay), {}
    yield effect(power)
    if power.scrolls_return:
        yield "scrolls-return", {}
    if power.binds:
        yield "binds", {}
    if power.per_level:
        yield "per-level", {}


def effect(power: Power) -> Clause:
    """What a power does."""
    what = "-".join(power.of)
    most = "any" if power.most == ANY_NUMBER else "one" if power.most == 1 else "some"
    facts: dict[str, Any] = {"most": power.most, "count": power.count, "into": power.into}
    match power.effect:
        case "hero-joins":
            return "hero-joins", {"one": power.faces[0], "other": power.faces[1]}
        case "discard" if power.most_by:
            return f"discard.by-{power.most_by}", facts
        case "discard" | "sweep" | "reroll":
            return f"{power.effect}.{what}" + ("" if power.effect == "sweep" else f".{most}"), facts
        case "discard-types":
            return f"discard-types.{'by-lair' if power.most_by else 'treasure'}", facts
        case "enlist":
            return (f"enlist.{most}", facts | {"group": power.of[0]}) if power.most else ("enlist.lair", facts)
        case "transmute":
            return f"transmute.{most}", facts
        case "into-lair":
            return "into-lair.one" if power.most else "into-lair", facts
        case "revive":
            return ("revive.all" if power.count > 4 else "revive"), facts
        case "leave":
            return ("leave.less" if power.count else "leave"), facts
        case "seek-treasure":
            return "seek-treasure", facts | {"discards": power.discards}
        case "set":
            return f"set.{most}", facts
    return power.effect, facts
