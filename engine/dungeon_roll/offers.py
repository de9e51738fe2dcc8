"""What a person may click, and the forms from which every other action is built."""

import itertools
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

from msgspec import UNSET

from engine.dungeon_roll import actions as act
from engine.dungeon_roll.capability import able, all_different, chests_at_once, companions, face_of, fighters
from engine.dungeon_roll.components import MONSTERS, PARTY_FACES, TREASURES
from engine.dungeon_roll.delving import heroes_left, most_potions
from engine.dungeon_roll.heroes import Power
from engine.dungeon_roll.powers import EFFECTS, payable, pool
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import DELVING, cheapest
from engine.protocol import Action, Field, Form, Legal, kebab

CHEST_TARGET: Final = "chests"
POTION_TARGET: Final = "potions"


def target_of(companion: str) -> str:
    """The element of the picture that is a companion: a die, a token, a temporary companion."""
    if companion in TREASURES:
        return f"treasure-{companion}"
    return "temp-hero" if companion == "hero" else companion


# What a person may think of


def natural(state: State) -> Iterable[Legal]:
    """What the active seat may think of clicking, legal or not, ready-made, each once: of every kind of action that is
    legal at least one is."""
    return {offer.action: offer for offer in ready_made(state)}.values()


def ready_made(state: State) -> Iterator[Legal]:
    match state.phase:
        case "choosing-hero":
            yield from (Legal(act.ChooseHero(name), f"hero-{name}") for name in heroes_left(state))
        case "delve-start":
            yield Legal(act.BeginDelve(), "begin", chance=True)
        case "forming":
            yield from forming(state)
        case "discarding":
            tokens = [token for token, n in cheapest(state.seat, state.discards).items() for _ in range(n)]
            yield made(act.DiscardTreasures, "treasures", tokens=tokens)
        case _ if state.phase in DELVING:
            yield from fights(state)
            yield from scrolls(state)
            yield from loot(state)
            yield from dragon_fights(state)
            yield from tokens_used(state)
            yield from powers_used(state)
            yield Legal(act.Proceed(), "proceed")
            yield Legal(act.Flee(), "flee")
            yield Legal(act.Retire(), "retire")
            yield Legal(act.SeekGlory(), "seek-glory", chance=True)


def made(action: Callable[..., Action], target: str, chance: bool = False, **args: Any) -> Legal:
    """An action with its lists as tuples."""
    plain = {name: tuple(value) if isinstance(value, list) else value for name, value in args.items()}
    return Legal(action(**plain), target, chance)


def forming(state: State) -> Iterator[Legal]:
    """Nothing rolled again, or all of it; the dice as they lie."""
    party = sorted(state.delve.party)
    match state.seat.side.forming:
        case "reroll":
            yield Legal(act.RerollParty(), "keep-party", chance=True)
            yield made(act.RerollParty, "reroll-party", chance=True, dice=party)
        case "assign":
            dice = sorted(state.delve.reserve["0"])
            yield made(act.AssignDice, "reserve", level_1=dice[:1], level_2=dice[1:3], level_3=dice[3:])
        case _:
            yield made(act.SetScrolls, "party", chance=True, dice=party[:2])


def one_of_a_face(state: State, those: list[str]) -> Iterator[tuple[str, str]]:
    """One of each face among the dice, the temporary companions, and the tokens: the others make no difference."""
    seen = set()
    for companion in those:
        face = face_of(state, companion)
        key = face, companion in TREASURES, companion in state.delve.temps
        if key not in seen:
            seen.add(key)
            yield companion, face


def fights(state: State) -> Iterator[Legal]:
    """Each companion against each type of monster, as many as it can take."""
    dice = state.delve.dice
    monsters = state.delve.showing(*MONSTERS)
    draws = state.seat.side.after_two in ("reroll-champion", "treasure")
    for companion, face in one_of_a_face(state, companions(state)):
        for kind in MONSTERS:
            beaten: list[str] = []
            for die in sorted(monsters, key=lambda die: (dice[die] != kind, die)):
                if dice[die] != kind and not beaten:
                    break
                if not beaten or able(state, face, [dice[one] for one in (*beaten, die)]):
                    beaten.append(die)
            if beaten:
                yield made(act.Attack, target_of(companion), draws, companion=companion, monsters=sorted(beaten))


def scrolls(state: State) -> Iterator[Legal]:
    """All monsters rolled again, or the whole level, or the rest of the party."""
    delve = state.delve
    for scroll, face in one_of_a_face(state, companions(state)):
        if face == "scroll" and scroll not in delve.temps:
            party = [die for die in sorted(delve.party) if die != scroll]
            for dice in (delve.showing(*MONSTERS), sorted(delve.dice), party):
                if dice:
                    yield made(act.UseScroll, target_of(scroll), chance=True, scroll=scroll, dice=dice)


def loot(state: State) -> Iterator[Legal]:
    """Each companion at the chests, as many as it opens; each drinker, for Champions."""
    chests, potions = state.delve.showing("chest"), state.delve.showing("potion")
    for companion, face in one_of_a_face(state, companions(state)):
        if chests:
            opened = chests[: max(1, chests_at_once(state, face))]
            yield made(act.OpenChests, CHEST_TARGET, chance=True, companion=companion, chests=opened)
        if potions:
            faces = ["champion"] * max(1, min(len(potions), most_potions(state, companion)))
            yield made(act.QuaffPotions, POTION_TARGET, drinker=companion, faces=faces)


def dragon_fights(state: State) -> Iterator[Legal]:
    """Companions that defeat the Dragon, once for each choice of faces; those of the party before tokens."""
    needed, seen = state.seat.side.dragon_companions, set()
    hand = state.seat.treasures
    those = [one for one in fighters(state) for _ in range(min(needed, hand.get(one, 1) if one in TREASURES else 1))]
    if len(state.delve.lair) < state.seat.side.dragon_at:
        return
    for chosen in itertools.combinations(those, needed):
        faces = sorted(face_of(state, one) for one in chosen)
        key = tuple(faces), sum(one in TREASURES for one in chosen)
        if key not in seen and all_different(state, faces):
            seen.add(key)
            yield made(act.FightDragon, "dragon", chance=True, companions=list(chosen))
    if not seen and those:
        yield made(act.FightDragon, "dragon", chance=True, companions=those[:needed])


def tokens_used(state: State) -> Iterator[Legal]:
    """The tokens in hand that are used by themselves."""
    hand = state.seat.treasures
    if "ring-of-invisibility" in hand:
        yield Legal(act.UseRing(), "treasure-ring-of-invisibility")
    if "elixir" in hand:
        yield from (made(act.UseElixir, "treasure-elixir", face=face) for face in PARTY_FACES)
    if "dragon-bait" in hand:
        yield Legal(act.UseBait(), "treasure-dragon-bait")
    if "town-portal" in hand:
        yield Legal(act.UsePortal(), "treasure-town-portal")


def powers_used(state: State) -> Iterator[Legal]:
    """The hero's powers with as much as they can be used for."""
    side = state.seat.side
    if side.specialty:
        yield from uses(state, act.UseSpecialty, "specialty", side.specialty)
    yield from uses(state, act.UseUltimate, "ultimate", side.ultimate)


def uses(state: State, action: Callable[..., Action], target: str, power: Power) -> Iterator[Legal]:
    fields, draws = power_fields(state, power), EFFECTS[power.effect].draws
    pays = payable(state, power) if power.pay else []
    pay = pays[0] if pays else UNSET
    dice = pool(state, power, pays[0] if pays else "")[: fields["dice"].maximum] if "dice" in fields else []
    if power.effect == "set":
        for face in power.faces:
            for die in dice[:1]:
                yield made(action, target, draws, dice=[die], faces=[face], pay=pay)
        return
    if "faces" not in fields:
        yield made(action, target, draws, dice=dice, pay=pay)
    elif fields["faces"].repeats > 1:
        yield made(action, target, draws, faces=["champion"] * fields["faces"].minimum, pay=pay)
    elif fields["faces"].maximum == 1:
        yield from (made(action, target, draws, faces=[face], pay=pay) for face in fields["faces"].ids)
    else:
        yield made(action, target, draws, faces=fields["faces"].ids[: fields["faces"].maximum], pay=pay)


# Forms


def power_fields(state: State, power: Power) -> dict[str, Field]:
    """What a power asks for."""
    fields = EFFECTS[power.effect].fields(state, power)
    return fields | {"pay": one_of(payable(state, power))} if power.pay else fields


def one_of(ids: list[str]) -> Field:
    return Field(1, 1, list[str | int](ids), single=True)


def some_of(ids: list[str], least: int = 1, most: int = 0, repeats: int = 1) -> Field:
    return Field(least, most or max(least, len(ids)), list[str | int](ids), repeats)


def form_of_attack(state: State) -> dict[str, Field]:
    return {"companion": one_of(fighters(state)), "monsters": some_of(state.delve.showing(*MONSTERS))}


def form_of_scroll(state: State) -> dict[str, Field]:
    those = [one for one in companions(state) if face_of(state, one) == "scroll"]
    return {"scroll": one_of(those), "dice": some_of([*sorted(state.delve.dice), *sorted(state.delve.party)])}


def form_of_chests(state: State) -> dict[str, Field]:
    return {"companion": one_of(fighters(state)), "chests": some_of(state.delve.showing("chest"))}


def form_of_potions(state: State) -> dict[str, Field]:
    those = companions(state)
    most = min(len(state.delve.showing("potion")), max((most_potions(state, one) for one in those), default=0))
    return {"drinker": one_of(those), "faces": some_of(list(PARTY_FACES), 1, max(1, most), max(1, most))}


def form_of_dragon(state: State) -> dict[str, Field]:
    those, needed = fighters(state), state.seat.side.dragon_companions
    most = max((state.seat.treasures.get(one, 1) for one in those if one in TREASURES), default=1)
    return {"companions": some_of(those, needed, needed, min(needed, most))}


def form_of_rerolls(state: State) -> dict[str, Field]:
    return {"dice": some_of(sorted(state.delve.party), 0)}


def form_of_assignment(state: State) -> dict[str, Field]:
    dice = sorted(state.delve.reserve["0"])
    return {f"level_{level}": some_of(dice, level, level) for level in (1, 2, 3)}


def form_of_scrolls(state: State) -> dict[str, Field]:
    return {"dice": some_of(sorted(state.delve.party), 2, 2)}


def form_of_discards(state: State) -> dict[str, Field]:
    hand = state.seat.treasures
    return {"tokens": some_of(sorted(hand), state.discards, state.discards, max(hand.values()))}


def form_of_specialty(state: State) -> dict[str, Field]:
    power = state.seat.side.specialty
    assert power
    return power_fields(state, power)


def form_of_ultimate(state: State) -> dict[str, Field]:
    return power_fields(state, state.seat.side.ultimate)


FORMS: Final[dict[type[Action], tuple[str, Callable[[State], dict[str, Field]]]]] = {
    act.RerollParty: ("party", form_of_rerolls),
    act.AssignDice: ("reserve", form_of_assignment),
    act.SetScrolls: ("party", form_of_scrolls),
    act.Attack: ("monsters", form_of_attack),
    act.UseScroll: ("scrolls", form_of_scroll),
    act.OpenChests: (CHEST_TARGET, form_of_chests),
    act.QuaffPotions: (POTION_TARGET, form_of_potions),
    act.FightDragon: ("dragon", form_of_dragon),
    act.UseSpecialty: ("specialty", form_of_specialty),
    act.UseUltimate: ("ultimate", form_of_ultimate),
    act.DiscardTreasures: ("treasures", form_of_discards),
}
"""For each action that is built from a form, the element of the picture where it begins, and its fields."""


def forms(state: State, legal: list[Legal]) -> Iterator[Form]:
    """The forms of all kinds of actions of which at least one is legal. One without fields is no form."""
    chance = {type(offer.action): offer.chance for offer in legal}
    for action, (target, fields) in FORMS.items():
        if action in chance and (asked := fields(state)):
            yield Form(kebab(action.__name__), asked, target, chance[action])
