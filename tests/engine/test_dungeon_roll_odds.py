"""Exact probabilities of Dungeon Roll, by enumeration of the draw: each value of each draw once."""

import itertools
from collections import Counter
from fractions import Fraction

import pytest

from engine.chance import Committed, Loaded
from engine.dungeon_roll.components import DUNGEON_FACES, PARTY_FACES, TREASURES
from engine.dungeon_roll.heroes import SETS
from engine.dungeon_roll.zones import draw_treasures, dungeon_face, party_face
from tests.engine.dungeon_roll import RULES, Delving, opening


def bytes_of(*values: int) -> Committed:
    """Chance from a stream of these bytes and no more."""
    return Committed(lambda: iter([bytes(values)]))


@pytest.mark.parametrize(("roll", "faces"), [(party_face, PARTY_FACES), (dungeon_face, DUNGEON_FACES)])
def test_every_face_is_as_likely_as_the_others(roll, faces):
    """252 of the 256 values of a byte count, 42 for each face; the others are drawn again."""
    found = Counter(roll(bytes_of(value)) for value in range(252))
    assert found == dict.fromkeys(faces, 42)
    for value in range(252, 256):
        with pytest.raises((StopIteration, RuntimeError)):
            roll(bytes_of(value))
        assert roll(bytes_of(value, 0)) == sorted(faces)[0]


def test_a_treasure_is_as_likely_as_there_are_tokens_of_it():
    found = Counter[str]()
    for value in range(36):
        state = opening("knight")
        RULES.begin(state, Loaded())
        draw_treasures(state, 1, bytes_of(value), instead=True)
        found.update(state.seat.treasures)
    assert found == TREASURES


def test_treasures_are_drawn_without_putting_back():
    found = Counter[tuple[str, str]]()
    for first, second in itertools.product(range(36), range(35)):
        state = opening("knight")
        RULES.begin(state, Loaded())
        chance = bytes_of(first, second)
        draw_treasures(state, 2, chance, instead=True)
        found[chance.draws[0][3], chance.draws[1][3]] += 1
        assert [draw[:2] for draw in chance.draws] == [["treasure", 36], ["treasure", 35]]
    for (one, other), count in found.items():
        wanted = Fraction(TREASURES[one], 36) * Fraction(TREASURES[other] - (one == other), 35)
        assert Fraction(count, 36 * 35) == wanted
    assert len(found) == 100


def test_two_dice_of_a_roll_are_independent():
    found = Counter[tuple[str, ...]]()
    for values in itertools.product(range(6), repeat=2):
        delve = Delving()
        delve.given("knight", level=1)
        chance = bytes_of(*values)
        RULES.apply(delve.state, 1, RULES.parse("seek-glory", {}), chance)
        found[tuple(draw[3] for draw in chance.draws)] += 1
    assert found == dict.fromkeys(itertools.product(sorted(DUNGEON_FACES), repeat=2), 1)


@pytest.mark.parametrize("heroes", SETS)
def test_every_hero_of_the_set_is_dealt_and_every_seat_may_begin(heroes):
    names = SETS[heroes]
    found = Counter[str]()
    for value in range(len(names)):
        state = opening("", heroes=heroes)
        RULES.begin(state, bytes_of(value))
        found[state.seats[0].hero] += 1
    assert found == dict.fromkeys(names, 1)
    first = Counter[int]()
    for value in range(4):
        state = opening("knight", "bard", "viking", "szopin")
        RULES.begin(state, bytes_of(value))
        first[state.active] += 1
    assert first == dict.fromkeys((1, 2, 3, 4), 1)


def test_the_last_token_is_no_draw():
    state = opening("knight")
    RULES.begin(state, Loaded())
    state.supply = {"elixir": 1}
    draw_treasures(state, 2, Loaded(), instead=True)
    assert (state.seat.treasures, state.seat.xp) == ({"elixir": 1}, 1)


# The order of draws, and their purposes


@pytest.mark.parametrize(
    ("hero", "given", "action", "purposes"),
    [
        ("knight", {}, ("begin-delve", {}), "party party party party party party party dungeon"),
        ("dwarf", {}, ("begin-delve", {}), "party party party party party dungeon"),
        ("viking", {}, ("begin-delve", {}), "dungeon"),
        ("archaeologist", {}, ("begin-delve", {}), "party " * 7 + "treasure treasure dungeon"),
        ("scout", {}, ("begin-delve", {}), "party " * 7 + "dungeon " * 6),
        ("mercenary", {}, ("begin-delve", {}), "party " * 7),
        (
            "knight", {"party": "scroll mage", "dice": "goblin chest"},
            ("use-scroll", {"scroll": "scroll", "dice": ["mage", "goblin", "chest"]}), "dungeon dungeon party",
        ),
        (
            "knight", {"party": "thief", "dice": "chest chest"},
            ("open-chests", {"companion": "thief", "chests": ["chest", "chest"]}), "treasure treasure",
        ),
        (
            "knight", {"party": "thief mage cleric", "lair": 3},
            ("fight-dragon", {"companions": ["thief", "mage", "cleric"]}), "treasure",
        ),
    ],
)  # fmt: skip
def test_draws_come_in_this_order(hero, given, action, purposes, committed):
    delve = Delving()
    if given:
        delve.given(hero, **given)
    else:
        delve.given_start(hero)
    chance = committed("order")
    name, args = action
    RULES.apply(delve.state, 1, RULES.parse(name, delve.ids(args)), chance)
    assert [draw[0] for draw in chance.draws] == purposes.split()
