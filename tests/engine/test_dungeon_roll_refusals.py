"""One code for each broken condition of Dungeon Roll, where no situation shows it."""

import pytest

from tests.engine.dungeon_roll import Delving

KNIGHT = {"party": "mage scroll", "dice": "goblin chest potion", "lair": 1}


@pytest.fixture
def delve() -> Delving:
    return Delving()


@pytest.mark.parametrize(
    ("args", "code"),
    [
        ({"companion": "party-7", "monsters": ["goblin"]}, "in-graveyard"),
        ({"companion": "party-8", "monsters": ["goblin"]}, "not-in-play"),
        ({"companion": "temp-1", "monsters": ["goblin"]}, "no-such-companion"),
        ({"companion": "talisman", "monsters": ["goblin"]}, "no-such-token"),
        ({"companion": "elixir", "monsters": ["goblin"]}, "no-companion"),
        ({"companion": "scroll", "monsters": ["goblin"]}, "scroll-is-no-companion"),
        ({"companion": "mage", "monsters": []}, "no-die-named"),
        ({"companion": "mage", "monsters": ["dungeon-2", "dungeon-2"]}, "named-twice"),
        ({"companion": "mage", "monsters": ["chest"]}, "not-a-monster"),
        ({"companion": "mage", "monsters": ["dungeon-1"]}, "in-lair"),
        ({"companion": "mage", "monsters": ["dungeon-7"]}, "not-in-play"),
    ],
)
def test_an_attack_is_refused_for_the_first_condition_it_breaks(delve, args, code):
    delve.given("knight", tokens="elixir", **KNIGHT)
    assert delve.refused("attack", **args) == code


@pytest.mark.parametrize(
    ("action", "args", "code"),
    [
        ("use-scroll", {"scroll": "mage", "dice": ["goblin"]}, "not-a-scroll"),
        ("use-scroll", {"scroll": "scroll", "dice": ["party-6"]}, "in-graveyard"),
        ("use-elixir", {"face": "mage"}, "no-such-token"),
        ("fight-dragon", {"companions": []}, "monsters-first"),
        ("reroll-party", {}, "party-formed"),
        ("discard-treasures", {"tokens": []}, "nothing-to-discard"),
        ("begin-delve", {}, "delve-under-way"),
        ("use-portal", {}, "no-such-token"),
    ],
)
def test_other_actions_among_monsters(delve, action, args, code):
    delve.given("knight", **KNIGHT)
    assert delve.refused(action, **args) == code


@pytest.mark.parametrize(
    ("dice", "action", "args", "code"),
    [
        ("potion", "open-chests", {"companion": "mage", "chests": ["potion"]}, "no-chest"),
        ("chest potion", "open-chests", {"companion": "mage", "chests": ["potion"]}, "not-a-chest"),
        ("chest chest", "open-chests", {"companion": "mage", "chests": ["chest", "chest"]}, "too-many-chests"),
        ("chest", "open-chests", {"companion": "scroll", "chests": ["chest"]}, "scroll-is-no-companion"),
        ("chest", "quaff-potions", {"drinker": "mage", "faces": ["mage"]}, "no-potion"),
        ("potion", "quaff-potions", {"drinker": "mage", "faces": ["mage", "mage"]}, "too-many-potions"),
        ("potion", "quaff-potions", {"drinker": "mage", "faces": []}, "no-face-named"),
        ("chest", "attack", {"companion": "mage", "monsters": ["chest"]}, "no-monsters"),
        ("chest", "use-bait", {}, "no-monsters"),
        ("chest", "retire", {}, "loot-first"),
        ("chest", "fight-dragon", {"companions": ["mage"]}, "loot-first"),
    ],
)
def test_at_the_loot(delve, dice, action, args, code):
    delve.given("knight", "mage scroll", dice)
    assert delve.refused(action, **args) == code


@pytest.mark.parametrize(
    ("action", "args", "code"),
    [
        ("open-chests", {"companion": "mage", "chests": []}, "no-loot"),
        ("proceed", {}, "no-loot"),
        ("retire", {}, "dragon-first"),
        ("fight-dragon", {"companions": ["party-1", "party-1", "party-2"]}, "named-twice"),
        ("fight-dragon", {"companions": ["mage", "cleric", "talisman"]}, "no-such-token"),
        ("fight-dragon", {"companions": ["mage", "cleric"]}, "wrong-number-of-companions"),
    ],
)
def test_before_the_dragon(delve, action, args, code):
    delve.given("knight", "mage cleric", lair=3)
    assert delve.refused(action, **args) == code


def test_two_tokens_of_a_kind_must_be_two(delve):
    delve.given("spellsword", "cleric", lair=3, tokens="vorpal-sword")
    swords = ["vorpal-sword", "vorpal-sword", "cleric"]
    assert delve.refused("fight-dragon", companions=swords) == "no-such-token"
    delve.given("spellsword", "cleric", lair=3, tokens="vorpal-sword vorpal-sword")
    delve.when("fight-dragon", "elixir", companions=swords)
    delve.then(tokens="elixir", phase="regroup")


@pytest.mark.parametrize(
    ("action", "args", "code"),
    [
        ("flee", {}, "nothing-to-flee-from"),
        ("attack", {"companion": "mage", "monsters": []}, "no-monsters"),
        ("fight-dragon", {"companions": []}, "no-dragon"),
        ("use-elixir", {"face": "mage"}, "graveyard-empty"),
        ("use-ring", {}, "lair-empty"),
    ],
)
def test_at_regroup(delve, action, args, code):
    delve.given("knight", "mage", graveyard=0, tokens="elixir ring-of-invisibility")
    assert delve.refused(action, **args) == code


def test_a_party_is_formed_by_whom_it_concerns(delve):
    delve.given_start("mercenary")
    delve.when("begin-delve", *["mage"] * 7)
    assert delve.refused("set-scrolls", dice=["party-1", "party-2"]) == "not-your-power"
    assert delve.refused("assign-dice", level_1=[], level_2=[], level_3=[]) == "not-your-power"
    assert delve.refused("reroll-party", dice=["party-1", "party-1"]) == "named-twice"
    assert delve.refused("reroll-party", dice=["party-8"]) == "not-in-play"
    assert delve.refused("flee") == "party-to-form"


def test_there_is_no_treasure_to_seek_in_an_empty_supply(delve):
    delve.given("archaeologist", "mage", "goblin", supply="")
    assert delve.refused("use-ultimate") == "supply-empty"
    delve.given("archaeologist", "mage", "goblin", supply="elixir")
    delve.when("use-ultimate")
    delve.then(tokens="", phase="monster", exhausted=True)


def test_a_power_is_paid_with_what_there_is(delve):
    delve.given("loeg-yllavyre", "scroll", "goblin", graveyard=6)
    assert delve.refused("use-specialty", dice=["goblin"], pay="party-7") == "in-graveyard"
    assert delve.refused("use-specialty", dice=["goblin"], pay="token:scroll") == "no-such-token"
    assert delve.refused("use-ultimate", pay="scroll") == "not-asked-for"
    delve.given("loeg-yllavyre", "", "goblin", tokens="scroll")
    delve.when("use-specialty", dice=["goblin"], pay="scroll")
    delve.then(tokens="", lair=1)


def test_a_scout_who_waits_has_no_monsters_to_bait(delve):
    delve.given("scout", "mage", lair=3, tokens="dragon-bait")
    delve.then(phase="monster")
    assert delve.refused("use-bait") == "no-monsters"
    delve.when("use-ultimate")
    delve.then(xp=0, delves=1)
