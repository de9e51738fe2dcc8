"""What `choices` hold of Dungeon Roll: whatever is built from a form is accepted or refused with the code of one named
condition, and whatever a brute-force enumeration finds legal is listed or can be built from a form."""

import itertools
import random
import re
from pathlib import Path
from typing import Any, get_args

import msgspec
import pytest

from engine.chance import Loaded, WrongDraw
from engine.dungeon_roll import actions as act
from engine.dungeon_roll.components import Companion, DungeonDie, Face, PartyDie, PartyFace, Token
from engine.dungeon_roll.heroes import HEROES
from engine.protocol import Form, Illegal, name_and_args
from tests.engine.dungeon_roll import RULES, SIDES, Delving, opening

PAPER = Path(__file__).parents[2] / "docs" / "rules" / "dungeon-roll.md"
PARAGRAPHS = set(re.findall(r"^#{2,4} (\d+(?:\.\d+)*) ", PAPER.read_text(encoding="utf-8"), re.MULTILINE))

WITHIN = {
    "reroll-party": set(),
    "assign-dice": {"named-twice"},
    "set-scrolls": set(),
    "attack": {"too-many-monsters"},
    "use-scroll": {"scroll-rolls-others"},
    "open-chests": {"too-many-chests"},
    "quaff-potions": {"graveyard-too-small"},
    "fight-dragon": {"companions-not-different", "named-twice", "no-such-token"},
    "use-specialty": {"named-twice"},
    "use-ultimate": {"one-die-of-a-kind", "one-face-for-each-die", "wrong-face", "same-face"},
    "discard-treasures": {"no-such-token"},
}
"""Why an action that was built from its form may still be refused: the conditions between fields."""

PARTY, DUNGEON, ANYBODY = get_args(PartyDie), get_args(DungeonDie), sum(map(get_args, get_args(Companion)), ())
KINDS, FACES, PARTY_FACES = get_args(Token), get_args(Face), get_args(PartyFace)


def positions(side: str, seeds: int, built: Any, committed: Any, rate: float, **table: Any) -> Any:
    """Positions of random games of a hero, some of all."""
    for seed in range(seeds):
        whims = random.Random(f"{side}{seed}")
        state = opening(side, **table)
        RULES.begin(state, committed(f"{seed}:0"))
        for _ in range(400):
            if not RULES.to_act(state):
                break
            if state.phase != "delve-start" and whims.random() < rate:
                yield state, whims
            offers = RULES.legal(state, 1) + built(RULES, state, 1, whims)
            bold = [one for one in offers if type(one.action).__name__ not in ("Flee", "Retire", "UsePortal")]
            try:
                RULES.apply(state, 1, whims.choice(bold or offers).action, committed(f"{seed}:{whims.random()}"))
            except Illegal:
                continue


@pytest.mark.parametrize("side", SIDES)
def test_what_is_built_from_a_form_is_accepted_or_refused_for_a_named_condition(side, built, committed):
    for state, whims in positions(side, 6, built, committed, 0.5):
        for _ in range(5):
            for offer in built(RULES, state, 1, whims):
                copy, before = RULES.copy(state), msgspec.msgpack.encode(state)
                name, refusal = name_and_args(offer.action)[0], None
                try:
                    RULES.apply(copy, 1, offer.action, Loaded())
                except Illegal as error:
                    refusal = error
                except WrongDraw:
                    assert offer.chance
                if refusal:
                    assert refusal.reason in WITHIN[name], (name, refusal.reason, offer.action)
                    assert refusal.rule in PARAGRAPHS
                    assert msgspec.msgpack.encode(copy) == before


def chosen(ids: tuple[str, ...], *lengths: int) -> list[tuple[str, ...]]:
    """Every choice of so many ids."""
    return [some for length in lengths for some in itertools.combinations(ids, length)]


def every_action(whims: random.Random) -> Any:
    """Any action there is, by brute force, as far as that is bearable: every id of every field, few in each list."""
    dice = chosen((*PARTY, *DUNGEON), 0, 1, 2)
    yield from (act.Attack(one, some) for one in ANYBODY for some in chosen(DUNGEON, 0, 1, 2, 3, 7))
    yield from (act.UseScroll(one, some) for one in ANYBODY for some in dice)
    yield from (act.OpenChests(one, some) for one in ANYBODY for some in chosen(DUNGEON, 0, 1, 2, 3))
    faces = [some for n in (0, 1, 2) for some in itertools.product(PARTY_FACES, repeat=n)]
    yield from (act.QuaffPotions(one, some) for one in ANYBODY for some in faces)
    yield from (act.FightDragon(some) for some in itertools.combinations_with_replacement(ANYBODY, 2))
    yield from (act.FightDragon(some) for some in itertools.combinations_with_replacement(ANYBODY, 3))
    yield from (act.RerollParty(some) for some in chosen(PARTY, 0, 1, 2, 8))
    yield from (act.SetScrolls(some) for some in chosen(PARTY, 1, 2, 3))
    yield from (act.DiscardTreasures(some) for n in (1, 2, 6) for some in replaced(KINDS, n, whims))
    yield from (act.UseElixir(face) for face in PARTY_FACES)
    shuffled = [whims.sample(DUNGEON[:6], 6) for _ in range(20)]
    yield from (act.AssignDice(tuple(one[:1]), tuple(one[1:3]), tuple(one[3:])) for one in shuffled)
    for use in (act.UseSpecialty, act.UseUltimate):
        pays = [{}, *({"pay": one} for one in ANYBODY)]
        yield from (use(dice=some, **pay) for some in dice for pay in pays)
        yield from (use(dice=some, faces=(face,)) for some in dice for face in FACES)
        yield from (use(faces=some, **pay) for some in chosen(FACES, 1, 2) for pay in pays)
        yield from (use(dice=some, faces=two) for some in dice if len(some) == 2 for two in pairs(whims))
        yield from (use(faces=tuple(some), pay=kind) for some in faces for kind in KINDS)
        yield use(dice=(*PARTY, *DUNGEON))
    plain = [action for action in act.ACTIONS.values() if not action.__struct_fields__]
    yield from (action() for action in plain)
    yield from (act.ChooseHero(name) for name in HEROES)


def replaced(ids: tuple[str, ...], length: int, whims: random.Random) -> list[tuple[str, ...]]:
    """Choices with repetition; of many, some."""
    every = list(itertools.combinations_with_replacement(ids, length))
    return every if len(every) < 300 else whims.sample(every, 300)


def pairs(whims: random.Random) -> list[tuple[str, str]]:
    return whims.sample(list(itertools.product(FACES, repeat=2)), 20)


def buildable(form: Form, args: dict[str, Any]) -> bool:
    """Can these args come out of this form?"""
    left = dict(args)
    for name, field in form.fields.items():
        value = left.pop(name, [])
        if field.single:
            if value not in field.ids:
                return False
            continue
        if not field.minimum <= len(value) <= field.maximum or not set(value) <= set(field.ids):
            return False
        if any(value.count(one) > field.repeats for one in value):
            return False
    return not any(left.values())


@pytest.mark.parametrize("side", SIDES)
def test_whatever_is_legal_is_listed_or_can_be_built(side, built, committed):
    accepted = 0
    for state, whims in itertools.islice(positions(side, 3, built, committed, 0.12), 3):
        listed = [offer.action for offer in RULES.legal(state, 1)]
        forms = {form.type: form for form in RULES.forms(state, 1)}
        for action in every_action(whims):
            if RULES.refuse(state, 1, action) is None:
                name, args = name_and_args(action)
                plain = msgspec.json.decode(msgspec.json.encode(args))
                assert action in listed or buildable(forms[name], plain), action
                accepted += 1
    assert accepted


def test_every_ready_made_action_with_args_can_be_built_too(built, committed):
    for side in SIDES:
        for state, _ in positions(side, 2, built, committed, 0.5):
            forms = {form.type: form for form in RULES.forms(state, 1)}
            for offer in RULES.legal(state, 1):
                name, args = name_and_args(offer.action)
                if name in forms:
                    assert buildable(forms[name], msgspec.json.decode(msgspec.json.encode(args))), offer


@pytest.mark.parametrize("side", SIDES)
def test_every_paragraph_that_a_hero_cites_is_in_the_rules(side):
    assert HEROES[SIDES[side][0]].rule in PARAGRAPHS


def test_forms_say_how_much_of_what():
    delve = Delving()
    delve.given("enchantress", "scroll fighter", "goblin ooze chest", tokens="scroll talisman elixir")
    forms = {form.type: msgspec.to_builtins(form.fields) for form in RULES.forms(delve.state, 1)}
    assert sorted(forms) == ["attack", "use-scroll", "use-ultimate"]
    assert forms["attack"] == {
        "companion": {
            "minimum": 1,
            "maximum": 1,
            "ids": ["party-1", "party-2", "scroll", "talisman"],
            "repeats": 1,
            "single": True,
        },
        "monsters": {"minimum": 1, "maximum": 2, "ids": ["dungeon-1", "dungeon-2"], "repeats": 1, "single": False},
    }
    assert forms["use-ultimate"] == {
        "dice": {"minimum": 1, "maximum": 1, "ids": ["dungeon-1", "dungeon-2"], "repeats": 1, "single": False}
    }


def test_potions_may_revive_the_same_face_more_than_once():
    delve = Delving()
    delve.given("knight", "mage", "potion potion", graveyard=3)
    (form,) = [form for form in RULES.forms(delve.state, 1) if form.type == "quaff-potions"]
    faces = form.fields["faces"]
    assert (faces.minimum, faces.maximum, faces.repeats) == (1, 2, 2)
    delve.when("quaff-potions", drinker="mage", faces=["champion", "champion"])
    delve.then(party="champion champion")
