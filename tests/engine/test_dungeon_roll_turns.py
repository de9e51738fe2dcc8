"""Turns, choosing heroes, absence and leaving at every phase of Dungeon Roll."""

import pytest

from engine.chance import Loaded
from engine.dungeon_roll.heroes import SETS
from engine.protocol import Illegal, SeatSetup, Setup
from tests.engine.dungeon_roll import RULES, Delving, opening


@pytest.fixture
def delve() -> Delving:
    return Delving()


def test_seats_delve_in_turn_three_times_each(delve):
    delve.state = opening("viking", "viking", "viking")
    RULES.begin(delve.state, Loaded("2"))
    order = []
    for _ in range(9):
        order.append(delve.state.active)
        assert RULES.to_act(delve.state) == [delve.state.active]
        delve.when("begin-delve", "dragon")
        delve.when("retire")
    assert order == [2, 3, 1] * 3
    assert RULES.to_act(delve.state) == []
    assert RULES.outcome(delve.state).winners == [1, 2, 3]


def test_heroes_are_chosen_in_seat_order_beginning_with_the_first_seat(delve):
    delve.state = opening("", "", "", hero_choice="choice")
    RULES.begin(delve.state, Loaded("2"))
    delve.then(phase="choosing-hero", active=2)
    assert delve.refused("begin-delve") == "hero-to-choose"
    assert delve.refused("choose-hero", hero="viking") == "no-such-hero"
    delve.when("choose-hero", hero="knight")
    assert delve.refused("choose-hero", hero="knight") == "hero-taken"
    delve.when("choose-hero", hero="minstrel")
    delve.when("choose-hero", hero="crusader")
    delve.then(phase="delve-start", active=2)
    assert RULES.cast(delve.state) == ["crusader", "knight", "minstrel"]
    assert delve.refused("choose-hero", hero="spellsword") == "hero-chosen"


@pytest.mark.parametrize("heroes", SETS)
@pytest.mark.parametrize("seats", RULES.seats)
def test_every_set_has_a_hero_for_every_seat(heroes, seats, play):
    game = play(RULES, seats, 1, enough=1, heroes=heroes)
    cast = RULES.cast(game.state)
    assert len(set(cast)) == seats
    assert set(cast) <= set(SETS[heroes]) or (heroes == "promos" and seats > 2)


def test_only_the_seat_whose_turn_it_is_may_act(delve):
    delve.given("knight", "mage", "goblin", others=["bard"])
    assert delve.refused("flee", by=2) == "not-your-turn"
    assert [refusal.code for refusal in RULES.refusals(delve.state, 2)] == ["not-your-turn"]
    with pytest.raises(Illegal) as caught:
        RULES.time_out(delve.state, 2)
    assert caught.value.reason == "not-your-turn"


def test_refusals_name_what_has_to_come_first(delve):
    delve.given("knight", "mage", "goblin chest potion", tokens="ring-of-invisibility")
    codes = {refusal.target: refusal.code for refusal in RULES.refusals(delve.state, 1)}
    assert codes["chests"] == codes["potions"] == codes["retire"] == codes["proceed"] == "monsters-first"
    assert codes["treasure-ring-of-invisibility"] == "lair-empty"
    delve.given("knight", "mage", "chest")
    codes = {refusal.target: refusal.code for refusal in RULES.refusals(delve.state, 1)}
    assert (codes["flee"], codes["seek-glory"]) == ("nothing-to-flee-from", "loot-first")


# Absence: what is pending, and what becomes of it

ABSENT = {
    "monster": ({"party": "mage", "dice": "goblin chest", "level": 3}, "flee", 0),
    "loot": ({"party": "mage", "dice": "chest", "level": 3}, "retire", 3),
    "loot-then-dragon": ({"party": "mage", "dice": "chest", "level": 3, "lair": 3}, "flee", 0),
    "dragon": ({"party": "mage", "level": 3, "lair": 3}, "flee", 0),
    "regroup": ({"party": "mage", "level": 3}, "retire", 3),
    "loot-of-level-10": ({"party": "mage", "dice": "chest", "level": 10}, "cleared", 10),
}


@pytest.mark.parametrize("case", ABSENT)
@pytest.mark.parametrize("verb", ["time_out", "withdraw"])
def test_an_absent_seats_delve_is_settled_without_dice(delve, case, verb):
    given, cause, xp = ABSENT[case]
    delve.given("knight", others=["bard"], tokens="elixir", **given)
    delve.told = getattr(RULES, verb)(delve.state, 1)
    ended = delve.happened("delve-ended")
    assert (ended.cause, ended.xp) == (cause, xp)
    delve.then(xp=xp, tokens="elixir", active=2, phase="delve-start", delves=1)


def test_a_delve_that_nobody_begins_is_forfeited(delve):
    delve.given_start("knight")
    for _ in range(3):
        delve.told = RULES.time_out(delve.state, 1)
        assert delve.happened("delve-ended").cause == "absence"
    delve.then(ending="delves", xp=0)


@pytest.mark.parametrize("hero", ["mercenary", "scout", "loeg-yllavyre"])
def test_a_party_that_nobody_forms_is_forfeited(delve, hero):
    delve.given_start(hero)
    delve.when("begin-delve", *["mage"] * 7, *["goblin"] * (6 if hero == "scout" else 0))
    delve.then(phase="forming")
    delve.told = RULES.time_out(delve.state, 1)
    assert delve.happened("delve-ended").level == 0
    delve.then(phase="delve-start", delves=1, xp=0)


def test_a_raging_berserker_who_is_absent_gets_nothing(delve):
    delve.given("berserker", "mage", level=3, rage=True)
    delve.told = RULES.time_out(delve.state, 1)
    assert delve.happened("delve-ended").cause == "absence"
    delve.then(xp=5, delves=1)


def test_treasures_due_are_taken_in_the_order_of_the_box(delve):
    delve.given("archaeologist", "mage", "goblin", tokens="town-portal elixir")
    delve.when("use-ultimate", "dragon-scales", "talisman")
    delve.then(phase="discarding")
    delve.told = RULES.time_out(delve.state, 1)
    delve.then(tokens="talisman town-portal", delves=1, phase="delve-start", discards=0)
    assert delve.happened("fled").phase == "monster"


def test_an_absent_archaeologists_last_delve_ends_with_six_treasures_less(delve):
    for phase in ("regroup", "discarding"):
        delve.given("archaeologist", "mage", delves=2, tokens="elixir " * 3 + "town-portal " * 4)
        if phase == "discarding":
            delve.when("retire")
        RULES.time_out(delve.state, 1)
        delve.then(tokens="town-portal", ending="delves", delves=3)


@pytest.mark.parametrize("active", [1, 2])
def test_a_leprechaun_who_leaves_takes_nothing_along(delve, active):
    delve.given("leprechaun", "mage", "goblin", tokens="elixir", xp=2, others=["bard"])
    if active == 2:
        RULES.time_out(delve.state, 1)
    delve.told = RULES.withdraw(delve.state, 1)
    delve.then(tokens="", xp=2, withdrawn=True, active=2, phase="delve-start")
    assert delve.state.supply["elixir"] == 3


def test_an_archaeologist_who_leaves_in_the_middle_of_giving_back(delve):
    delve.given("archaeologist", "mage", delves=2, tokens="elixir " * 3 + "town-portal " * 4, others=["bard"])
    delve.when("retire")
    delve.told = RULES.withdraw(delve.state, 1)
    delve.then(tokens="town-portal", active=2, phase="delve-start")


def test_who_does_not_choose_gets_the_first_hero_left(delve):
    delve.state = opening("", "", "", hero_choice="choice")
    RULES.begin(delve.state, Loaded("1"))
    delve.when("choose-hero", hero="spellsword")
    RULES.time_out(delve.state, 2)
    RULES.withdraw(delve.state, 3)
    assert RULES.cast(delve.state) == ["spellsword", "mercenary", ""]
    delve.then(phase="delve-start", active=1)


def test_a_leaver_is_passed_over_and_the_last_one_plays_on_alone(delve):
    delve.state = opening("viking", "viking", "viking")
    RULES.begin(delve.state, Loaded("1"))
    RULES.withdraw(delve.state, 2)
    with pytest.raises(Illegal) as caught:
        RULES.withdraw(delve.state, 2)
    assert caught.value.reason == "seat-withdrew"
    delve.then(active=1)
    delve.when("begin-delve", "dragon")
    RULES.withdraw(delve.state, 1)
    order = []
    while RULES.to_act(delve.state):
        order.append(delve.state.active)
        delve.when("begin-delve", "dragon")
        delve.when("retire")
    assert order == [3, 3, 3]
    assert RULES.outcome(delve.state).winners == [3]
    assert RULES.outcome(delve.state).scores == [1, 0, 3]


def test_when_everybody_has_left_the_game_is_over(delve):
    delve.state = opening("", "", hero_choice="choice")
    RULES.begin(delve.state, Loaded("1"))
    RULES.withdraw(delve.state, 1)
    delve.told = RULES.withdraw(delve.state, 2)
    outcome = RULES.outcome(delve.state)
    assert (outcome.ending, outcome.winners, outcome.scores) == ("withdrawal", [1, 2], [0, 0])
    for verb in (RULES.time_out, RULES.withdraw):
        with pytest.raises(Illegal) as caught:
            verb(delve.state, 1)
        assert caught.value.reason == "game-over"


def test_what_a_seat_chooses_when_it_sits_down_is_nothing():
    setup = Setup({}, [SeatSetup({})])
    assert RULES.initial(setup).phase == "opening"
    RULES.admit(RULES.options(), {}, RULES.choice())
