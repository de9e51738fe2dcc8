"""What powers do (rules 3): one entry for each effect of the vocabulary, for all heroes that have it.

An entry says why a use is refused, what it does, which fields its form has, and whether it may draw.
"""

from collections.abc import Callable
from typing import Final, NamedTuple

from msgspec import UNSET

from engine.chance import Chance
from engine.dungeon_roll import actions as act
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.components import LOOT, MONSTERS, PARTY_FACES, TREASURES
from engine.dungeon_roll.conditions import refuse_dice, whereabouts
from engine.dungeon_roll.delving import slay
from engine.dungeon_roll.heroes import Effect, Power
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import end_delve, to_discard
from engine.dungeon_roll.zones import (
    discard,
    draw_treasures,
    empty_lair,
    into_lair,
    place,
    refresh,
    reroll,
    restore,
    revive,
    rolled,
    showing,
    spend,
    who,
)
from engine.protocol import Field, Happening, Illegal

Use = act.UseSpecialty | act.UseUltimate
GROUPS: Final[dict[str, tuple[str, ...]]] = {
    "goblin": ("goblin",),
    "skeleton": ("skeleton",),
    "monsters": MONSTERS,
    "loot": LOOT,
    "level": (*MONSTERS, *LOOT),
}


def pool(state: State, power: Power, pay: str = "") -> list[str]:
    """The dice among which a power works; the one that pays for it is not among them."""
    delve, dice = state.delve, list[str]()
    for group in power.of:
        if group == "lair":
            dice += delve.lair
        elif group == "party":
            dice += sorted(delve.party)
        else:
            dice += delve.showing(*GROUPS[group])
    return [die for die in dice if die != pay]


def champions(state: State) -> list[str]:
    """The Champions among the active dice."""
    return sorted(die for die, face in state.delve.party.items() if face == "champion")


def limit(state: State, power: Power) -> int:
    """How many dice or types may be named at most."""
    if power.most_by == "lair":
        return min(power.most, len(state.delve.lair))
    if power.most_by == "champions":
        return min(power.most, len(champions(state)))
    return power.most


def payable(state: State, power: Power) -> list[str]:
    """What can pay for a power: tokens in hand, Scrolls (dice or token), any party die."""
    party, hand = sorted(state.delve.party.items()), sorted(state.seat.treasures)
    return [die for die, face in party if "party" in power.pay or ("scroll" in power.pay and face == "scroll")] + [
        token for token in hand if "treasure" in power.pay or ("scroll" in power.pay and token == "scroll")
    ]


# Conditions that powers share


def refuse_use(state: State, power: Power, action: Use) -> Illegal | None:
    """What every power asks for: arguments that belong to it, and its price."""
    rule = state.seat.rule
    if power.per_level and state.delve.specialty_used:
        return Illegal("used-on-this-level", rule)
    fields = EFFECTS[power.effect].fields(state, power)
    for name, given in (("dice", action.dice), ("faces", action.faces)):
        if given and name not in fields:
            return Illegal("not-asked-for", rule, field=name)
    if action.pay is UNSET:
        if power.pay:
            return Illegal("nothing-paid", rule)
    elif not power.pay:
        return Illegal("not-asked-for", rule, field="pay")
    elif action.pay not in payable(state, power):
        return refuse_payment(state, action.pay)
    return EFFECTS[power.effect].refuse(state, power, action)


def refuse_payment(state: State, pay: str) -> Illegal:
    """Why something does not pay for a power."""
    if pay in TREASURES and not state.seat.treasures.get(pay):
        return Illegal("no-such-token", "2.10", token=pay)
    if pay.startswith("party"):
        return whereabouts(state, pay, "not-payable", state.seat.rule)
    return Illegal("not-payable", state.seat.rule)


def refuse_named(state: State, power: Power, action: Use) -> Illegal | None:
    """1 to so many dice out of the pool."""
    rule, most = state.seat.rule, limit(state, power)
    if refusal := refuse_empty(state, power, action):
        return refusal
    if not most:
        return Illegal("lair-empty" if power.most_by == "lair" else "no-champion", rule)
    if action.pay is not UNSET and action.pay in action.dice:
        return Illegal("named-twice", rule)
    return refuse_dice(state, action.dice, pool(state, power, paid(action)), "wrong-die", rule, most)


def refuse_empty(state: State, power: Power, action: Use) -> Illegal | None:
    """There is something to work upon."""
    return None if pool(state, power, paid(action)) else Illegal("no-effect", state.seat.rule)


def paid(action: Use) -> str:
    return "" if action.pay is UNSET else action.pay


def nothing_else(state: State, power: Power, action: Use) -> None:
    """No further condition."""


def dice_field(state: State, power: Power) -> dict[str, Field]:
    ids = pool(state, power)
    return {"dice": Field(1, max(1, min(limit(state, power), len(ids))), list[str | int](ids))}


def no_field(state: State, power: Power) -> dict[str, Field]:
    return {}


# Effects


def refuse_hero_joins(state: State, power: Power, action: Use) -> Illegal | None:
    return refuse_faces(state, action, power.faces, 1)


def refuse_faces(state: State, action: Use, allowed: tuple[str, ...], most: int) -> Illegal | None:
    """1 to so many different faces out of those allowed."""
    rule = state.seat.rule
    if not action.faces:
        return Illegal("no-face-named", rule)
    if len(set(action.faces)) < len(action.faces):
        return Illegal("named-twice", rule)
    for face in action.faces:
        if face not in allowed:
            return Illegal("wrong-face", rule, face=face)
    return Illegal("too-many-faces", rule, most=most) if len(action.faces) > most else None


def hero_joins(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    state.delve.temps["hero"] = action.faces[0]
    return [told.CompanionsJoined(*who(state), {"hero": action.faces[0]}, ())]


def hero_joins_field(state: State, power: Power) -> dict[str, Field]:
    return {"faces": Field(1, 1, list[str | int](power.faces))}


def discard_dice(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    return discarded(state, *action.dice)


def discarded(state: State, *dice: str) -> list[Happening]:
    faces = showing(state, sorted(dice))
    discard(state, faces)
    return [told.DiceDiscarded(*who(state), faces)]


def sweep(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    dice = [die for die in pool(state, power) if die in state.delve.dice]
    out = discarded(state, *dice) if dice else []
    if "lair" in power.of and state.delve.lair:
        out.append(empty_lair(state, power.name))
    return out


def refuse_discard_types(state: State, power: Power, action: Use) -> Illegal | None:
    rule, most = state.seat.rule, limit(state, power)
    if not most:
        return Illegal("lair-empty", rule)
    if refusal := refuse_faces(state, action, power.faces, most):
        return refusal
    for face in action.faces:
        if not state.delve.showing(face):
            return Illegal("no-such-monster", rule, face=face)
    return None


def discard_types(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    dice = state.delve.showing(*action.faces)
    return discarded(state, *dice) + draw_treasures(state, power.count * len(dice), chance, instead=False)


def discard_types_field(state: State, power: Power) -> dict[str, Field]:
    there = [face for face in power.faces if state.delve.showing(face)]
    return {"faces": Field(1, max(1, min(limit(state, power), len(there))), list[str | int](there))}


def refuse_one_of_each(state: State, power: Power, action: Use) -> Illegal | None:
    return None if state.delve.showing(*MONSTERS) else Illegal("no-effect", state.seat.rule)


def one_of_each(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    return discarded(state, *(dice[0] for face in MONSTERS if (dice := state.delve.showing(face))))


def rally(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    return discarded(state, *action.dice) + reroll(state, champions(state), chance)


def refuse_group(state: State, power: Power, action: Use) -> Illegal | None:
    """Named dice where the power counts them, otherwise all of the pool."""
    return (refuse_named if power.most else refuse_empty)(state, power, action)


def group(state: State, power: Power, action: Use) -> list[str]:
    return sorted(action.dice) if power.most else pool(state, power)


def group_field(state: State, power: Power) -> dict[str, Field]:
    return dice_field(state, power) if power.most else {}


def enlist(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    delve, dice = state.delve, group(state, power, action)
    free = [temp for n in range(1, 8) if (temp := f"temp-{n}") not in delve.temps]
    joined = dict.fromkeys(free[: len(dice)], power.into)
    discard(state, dice)
    delve.temps |= joined
    return [told.CompanionsJoined(*who(state), joined, tuple(dice))]


def transmute(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    first, *others = sorted(action.dice)
    out: list[Happening] = [told.DiceSet(*who(state), showing(state, [first]), {first: power.into})]
    place(state, {first: power.into})
    return out + (discarded(state, *others) if others else [])


def to_lair(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    return [into_lair(state, group(state, power, action))]


def reroll_dice(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    return reroll(state, action.dice, chance)


def refuse_revive(state: State, power: Power, action: Use) -> Illegal | None:
    return None if state.delve.graveyard else Illegal("graveyard-empty", state.seat.rule)


def revive_dice(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    delve = state.delve
    faces = rolled(delve.graveyard[: power.count], chance)
    buried = tuple(die for die, face in faces.items() if power.scrolls_return and face == "scroll")
    back = {die: face for die, face in faces.items() if die not in buried}
    delve.graveyard = [die for die in delve.graveyard if die not in back]
    delve.party |= back
    delve.rage = delve.rage or power.binds
    out: list[Happening] = [told.DiceRevived(*who(state), back, rolled=True)] if back else []
    return [*out, told.ScrollsBuried(*who(state), buried)] if buried else out


def leave(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    return end_delve(state, "hero", state.delve.level - power.count)


def refuse_seek_treasure(state: State, power: Power, action: Use) -> Illegal | None:
    return None if state.supply else Illegal("supply-empty", state.seat.rule)


def seek_treasure(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    out = draw_treasures(state, power.count, chance, instead=False)
    return out + to_discard(state, power.discards, state.phase)


def refuse_set(state: State, power: Power, action: Use) -> Illegal | None:
    """One party die and one dungeon die at most, in all as many as the hero may set, each to a face of its kind."""
    rule, dice = state.seat.rule, action.dice
    if refusal := refuse_named(state, power, action):
        return refusal
    if len({die.startswith("party") for die in dice}) < len(dice):
        return Illegal("one-die-of-a-kind", rule)
    if len(action.faces) != len(dice):
        return Illegal("one-face-for-each-die", rule)
    shown = showing(state, dice)
    for die, face in zip(dice, action.faces, strict=True):
        if (face in PARTY_FACES) != die.startswith("party"):
            return Illegal("wrong-face", rule, face=face)
        if shown[die] == face:
            return Illegal("same-face", rule, face=face)
    return None


def set_dice(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    faces = dict[str, str](sorted(zip(action.dice, action.faces, strict=True)))
    return [told.DiceSet(*who(state), showing(state, faces), faces), *place(state, faces)]


def set_fields(state: State, power: Power) -> dict[str, Field]:
    faces = Field(1, power.most, list[str | int](power.faces))
    return {**dice_field(state, power), "faces": faces}


def slay_dragon(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    return slay(state, {}, chance)


def refuse_refresh(state: State, power: Power, action: Use) -> Illegal | None:
    return None if state.delve.exhausted else Illegal("not-exhausted", state.seat.rule)


def refresh_hero(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    return refresh(state)


def harvested(state: State) -> int:
    """How many dice the potions of this level revive, when nobody has to drink them."""
    return min(len(state.delve.showing("potion")), len(state.delve.graveyard))


def refuse_harvest(state: State, power: Power, action: Use) -> Illegal | None:
    if not state.delve.dice and not state.delve.lair:
        return Illegal("no-effect", state.seat.rule)
    if wrong := [face for face in action.faces if face not in PARTY_FACES]:
        return Illegal("wrong-face", state.seat.rule, face=wrong[0])
    if len(action.faces) != (needed := harvested(state)):
        return Illegal("wrong-number-of-faces", state.seat.rule, needed=needed)
    return None


def harvest(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    delve, out = state.delve, list[Happening]()
    monsters, chests, potions = (delve.showing(*faces) for faces in (MONSTERS, ("chest",), ("potion",)))
    if monsters:
        out += discarded(state, *monsters)
    discard(state, chests + potions)
    if chests:
        out.append(told.ChestsOpened(*who(state), "", "", tuple(chests)))
        out += draw_treasures(state, len(chests), chance, instead=True)
    if potions:
        out.append(told.PotionsQuaffed(*who(state), "", "", tuple(potions)))
    if action.faces:
        out.append(revive(state, action.faces))
    return [*out, empty_lair(state, power.name)] if delve.lair else out


def harvest_field(state: State, power: Power) -> dict[str, Field]:
    needed = harvested(state)
    return {"faces": Field(needed, needed, list[str | int](PARTY_FACES), repeats=needed)} if needed else {}


class Entry(NamedTuple):
    """One effect: its own conditions, what it does, what its form asks for, and whether it may draw."""

    refuse: Callable[[State, Power, Use], Illegal | None]
    carry_out: Callable[[State, Power, Use, Chance], list[Happening]]
    fields: Callable[[State, Power], dict[str, Field]] = no_field
    draws: bool = False


EFFECTS: Final[dict[Effect, Entry]] = {
    "hero-joins": Entry(refuse_hero_joins, hero_joins, hero_joins_field),
    "discard": Entry(refuse_named, discard_dice, dice_field),
    "sweep": Entry(refuse_empty, sweep),
    "discard-types": Entry(refuse_discard_types, discard_types, discard_types_field, draws=True),
    "one-of-each": Entry(refuse_one_of_each, one_of_each),
    "rally": Entry(refuse_named, rally, dice_field, draws=True),
    "enlist": Entry(refuse_group, enlist, group_field),
    "transmute": Entry(refuse_named, transmute, dice_field),
    "into-lair": Entry(refuse_group, to_lair, group_field),
    "reroll": Entry(refuse_named, reroll_dice, dice_field, draws=True),
    "revive": Entry(refuse_revive, revive_dice, draws=True),
    "leave": Entry(nothing_else, leave),
    "seek-treasure": Entry(refuse_seek_treasure, seek_treasure, draws=True),
    "set": Entry(refuse_set, set_dice, set_fields),
    "slay": Entry(nothing_else, slay_dragon, draws=True),
    "refresh": Entry(refuse_refresh, refresh_hero),
    "harvest": Entry(refuse_harvest, harvest, harvest_field, draws=True),
}


def refuse_specialty(state: State, action: act.UseSpecialty) -> Illegal | None:
    """3: the side that is up has one to use."""
    power = state.seat.side.specialty
    return refuse_use(state, power, action) if power else Illegal("no-such-power", state.seat.rule)


def refuse_ultimate(state: State, action: act.UseUltimate) -> Illegal | None:
    """3: once a delve."""
    if state.delve.exhausted:
        return Illegal("exhausted", "3")
    return refuse_use(state, state.seat.side.ultimate, action)


def carry_out(state: State, power: Power, action: Use, chance: Chance) -> list[Happening]:
    """The price first (2.0.1), then the effect."""
    out: list[Happening] = []
    if action.pay is not UNSET:
        out.append(told.TreasurePaid(*who(state), action.pay, state.delve.party.get(action.pay, "")))
        spend(state, action.pay)
    out += EFFECTS[power.effect].carry_out(state, power, action, chance)
    if action.pay is not UNSET:
        restore(state, action.pay)
    return out


def use_specialty(state: State, action: act.UseSpecialty, chance: Chance) -> list[Happening]:
    power = state.seat.side.specialty
    assert power
    state.delve.specialty_used = power.per_level
    return [told.SpecialtyUsed(*who(state)), *carry_out(state, power, action, chance)]


def use_ultimate(state: State, action: act.UseUltimate, chance: Chance) -> list[Happening]:
    power = state.seat.side.ultimate
    state.delve.exhausted = True
    return [told.UltimateUsed(*who(state), power.name), *carry_out(state, power, action, chance)]
