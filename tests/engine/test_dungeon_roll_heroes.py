"""The heroes of Dungeon Roll one by one, both sides, in the order of the box: base, pack 2, pack 1, promos."""

import pytest

from engine.dungeon_roll.components import PARTY_FACES
from engine.dungeon_roll.heroes import HEROES
from engine.protocol import Illegal
from tests.engine.dungeon_roll import RULES, Delving


@pytest.fixture
def delve() -> Delving:
    return Delving()


def test_there_are_26_heroes_and_44_sides_in_the_order_of_the_box():
    assert list(HEROES) == [
        "spellsword", "mercenary", "occultist", "knight", "crusader", "minstrel", "enchantress", "half-goblin",
        "cassandra", "marpesia", "toulak", "amar-suen", "tristan", "loeg-yllavyre", "alexandra", "szopin",
        "viking", "alchemist", "scout", "sorceress", "archaeologist", "leprechaun", "dwarf", "tracker",
        "guild-leader", "time-traveler",
    ]  # fmt: skip
    assert sum(1 + (hero.master is not None) for hero in HEROES.values()) == 44


# Base game

TWINS = [
    ("spellsword", "fighter", "mage"), ("battlemage", "fighter", "mage"),
    ("occultist", "cleric", "mage"), ("necromancer", "cleric", "mage"),
    ("crusader", "fighter", "cleric"), ("paladin", "fighter", "cleric"),
    ("minstrel", "thief", "mage"), ("bard", "thief", "mage"),
]  # fmt: skip
FAVOURITES = {"fighter": "goblin", "cleric": "skeleton", "mage": "ooze"}


@pytest.mark.parametrize(("hero", "one", "other"), TWINS)
def test_twins_take_what_either_can(delve, hero, one, other):
    for face in (one, other):
        for favourite in FAVOURITES:
            monster = FAVOURITES[favourite]
            delve.given(hero, face, f"{monster} {monster}")
            if favourite in (one, other):
                delve.when("attack", companion=face, monsters=[monster] * 2)
            else:
                assert delve.refused("attack", companion=face, monsters=[monster] * 2) == "too-many-monsters"


def test_twins_act_as_one_face_at_a_time(delve):
    delve.given("spellsword", "fighter", "goblin ooze")
    assert delve.refused("attack", companion="fighter", monsters=["goblin", "ooze"]) == "too-many-monsters"


def test_a_minstrels_mage_opens_every_chest_and_a_token_has_the_power_too(delve):
    delve.given("minstrel", "mage", "chest chest", tokens="scepter-of-power")
    delve.when("open-chests", "elixir", "elixir", companion="scepter-of-power", chests=["chest"] * 2)
    delve.then(tokens="elixir elixir", party="mage")


@pytest.mark.parametrize(("hero", "faces"), [("spellsword", "fighter mage"), ("crusader", "fighter cleric")])
def test_the_hero_joins_the_party_and_stays_at_regroup(delve, hero, faces):
    for face in faces.split():
        delve.given(hero, "thief", "goblin goblin", level=2)
        assert delve.refused("use-ultimate") == "no-face-named"
        assert delve.refused("use-ultimate", faces=["thief"]) == "wrong-face"
        delve.when("use-ultimate", faces=[face])
        delve.then(temps=face, party="thief", exhausted=True)
        assert delve.refused("use-ultimate", faces=[face]) == "exhausted"
        delve.when("attack", companion="thief", monsters=["goblin"])
        delve.when("attack", companion="hero", monsters=["goblin"])
        delve.then(temps="", phase="regroup", graveyard=7)


def test_the_hero_in_person_waits_for_the_next_level(delve):
    delve.given("spellsword", "fighter", "goblin")
    delve.when("use-ultimate", faces=["mage"])
    delve.when("attack", companion="fighter", monsters=["goblin"])
    delve.then(temps="mage", phase="regroup")


def test_arcane_fury_leaves_an_empty_level(delve):
    delve.given("battlemage", "thief", "goblin chest potion", lair=3)
    delve.when("use-ultimate")
    delve.then(dice="", lair=0, xp=5, tokens="", phase="regroup")


def test_calculated_strike_takes_one_or_two_of_any_type(delve):
    delve.given("mercenary", "thief", "goblin ooze ooze")
    assert delve.refused("use-ultimate", dice=["goblin", "ooze", "ooze"]) == "too-many-dice"
    assert delve.refused("use-ultimate") == "no-die-named"
    delve.when("use-ultimate", dice=["goblin", "ooze"])
    delve.then(dice="ooze")
    delve.given("mercenary", "thief", "goblin")
    delve.when("use-ultimate", dice=["goblin"])
    delve.then(phase="regroup")


def test_a_mercenary_may_keep_the_party_and_a_commander_is_not_asked(delve):
    delve.given_start("mercenary")
    delve.when("begin-delve", *["mage"] * 7)
    delve.when("reroll-party", "chest")
    delve.then(party="mage " * 7, phase="loot")
    delve.given_start("commander")
    delve.when("begin-delve", *["mage"] * 7, "chest")
    delve.then(phase="loot")


@pytest.mark.parametrize(
    ("dice", "monsters", "legal"),
    [
        ("skeleton ooze", "skeleton ooze", True),
        ("skeleton skeleton", "skeleton skeleton", True),
        ("goblin goblin goblin goblin skeleton", "goblin goblin goblin goblin skeleton", True),
        ("skeleton skeleton ooze", "skeleton skeleton ooze", False),
    ],
)
@pytest.mark.parametrize("fighter", ["fighter", "vorpal-sword"])
def test_a_commanders_fighter_takes_one_more(delve, dice, monsters, legal, fighter):
    delve.given("commander", "fighter", dice, tokens="vorpal-sword")
    if legal:
        delve.when("attack", companion=fighter, monsters=monsters.split())
        delve.then(phase="regroup")
    else:
        assert delve.refused("attack", companion=fighter, monsters=monsters.split()) == "too-many-monsters"


def test_battlefield_presence_brings_monsters_back(delve):
    delve.given("commander", "thief mage", "chest potion")
    delve.when("use-ultimate", "goblin", "champion", dice=["chest", "thief"])
    delve.then(dice="goblin potion", party="champion mage", phase="monster")


def test_the_dead_serve_until_regroup(delve):
    delve.given("occultist", "thief", "skeleton skeleton")
    assert delve.refused("use-ultimate", dice=["skeleton", "skeleton"]) == "too-many-dice"
    delve.given("necromancer", "thief cleric", "skeleton skeleton goblin chest", lair=3)
    assert delve.refused("use-ultimate", dice=["goblin"]) == "wrong-die"
    delve.when("use-ultimate", dice=["skeleton", "skeleton"])
    delve.then(temps="fighter fighter", dice="goblin chest")
    delve.when("attack", companion="temp-1", monsters=["goblin"])
    delve.when("proceed")
    delve.when("fight-dragon", "elixir", companions=["temp-2", "cleric", "thief"])
    delve.then(temps="", graveyard=7, xp=6)


def test_battlecry_makes_dragons_and_a_slayer_needs_two(delve):
    delve.given("knight", "fighter cleric mage", "goblin ooze chest", lair=1)
    delve.when("use-ultimate")
    delve.then(lair=3, dice="chest", phase="loot")
    delve.given("dragon-slayer", "fighter cleric mage", lair=3)
    three = ["fighter", "cleric", "mage"]
    assert delve.refused("fight-dragon", companions=three) == "wrong-number-of-companions"
    delve.when("fight-dragon", "elixir", companions=["fighter", "cleric"])
    delve.then(party="mage", xp=6)


def test_divine_intervention_does_everything_for_a_treasure(delve):
    delve.given("paladin", "thief", "goblin chest potion potion", lair=3, graveyard=1, tokens="elixir")
    assert delve.refused("use-ultimate", faces=["mage"]) == "nothing-paid"
    assert delve.refused("use-ultimate", faces=["mage", "mage"], pay="elixir") == "wrong-number-of-faces"
    assert delve.refused("use-ultimate", faces=["mage"], pay="talisman") == "no-such-token"
    delve.when("use-ultimate", "talisman", faces=["mage"], pay="elixir")
    delve.then(party="mage thief", tokens="talisman", lair=0, dice="", xp=5, phase="regroup")
    assert delve.state.supply["elixir"] == 3


def test_a_paladin_needs_a_die_to_work_on(delve):
    delve.given("paladin", "thief", tokens="elixir")
    assert delve.refused("use-ultimate", pay="elixir") == "no-dragon"


@pytest.mark.parametrize(("hero", "most"), [("enchantress", 1), ("beguiler", 2)])
def test_charmed_monsters_are_a_potion(delve, hero, most):
    delve.given(hero, "thief", "goblin ooze")
    if most == 1:
        assert delve.refused("use-ultimate", dice=["goblin", "ooze"]) == "too-many-dice"
        delve.when("use-ultimate", dice=["goblin"])
        delve.then(dice="potion ooze", phase="monster")
    else:
        delve.when("use-ultimate", dice=["goblin", "ooze"])
        delve.then(dice="potion", phase="loot")


def test_three_scrolls_are_three_companions_for_an_enchantress(delve):
    delve.given("enchantress", "scroll scroll", lair=3, tokens="scroll")
    delve.when("fight-dragon", "elixir", companions=["party-1", "party-2", "token:scroll"])
    delve.then(xp=1, tokens="elixir", phase="regroup")


def test_an_enchantresss_scroll_fights_anything_and_still_rolls(delve):
    delve.given("enchantress", "scroll scroll", "ooze ooze goblin")
    delve.when("attack", companion="party-1", monsters=["ooze", "ooze"])
    delve.when("use-scroll", "chest", scroll="party-2", dice=["goblin"])
    delve.then(phase="loot")


def test_a_chieftain_pulls_rank_on_two(delve):
    delve.given("chieftain", "mage", "goblin goblin chest chest")
    delve.when("use-ultimate", dice=["goblin", "goblin"])
    delve.then(temps="thief thief", phase="loot")
    delve.when("open-chests", "elixir", "elixir", companion="temp-1", chests=["chest", "chest"])
    delve.then(temps="", tokens="elixir elixir", phase="regroup")


# Pack 2


def test_cassandra_begins_exhausted_and_potions_refresh_her(delve):
    delve.given_start("cassandra")
    delve.when("begin-delve", *["mage"] * 7, "goblin")
    delve.then(exhausted=True)
    assert delve.refused("use-ultimate", dice=["dungeon-1"]) == "exhausted"
    delve.given("cassandra", "mage thief", "potion chest", exhausted=True)
    delve.when("quaff-potions", drinker="thief", faces=["champion"])
    delve.then(exhausted=False)
    delve.when("use-ultimate", dice=["chest"])
    delve.then(exhausted=True, dice="", phase="regroup")


@pytest.mark.parametrize("exhausted", [True, False])
def test_everybody_takes_one_more_while_cassandra_is_exhausted(delve, exhausted):
    delve.given("cassandra", "thief", "goblin ooze", exhausted=exhausted)
    if exhausted:
        delve.when("attack", companion="thief", monsters=["goblin", "ooze"])
    else:
        assert delve.refused("attack", companion="thief", monsters=["goblin", "ooze"]) == "too-many-monsters"


def test_marpesias_champions_are_modest(delve):
    delve.given("marpesia", "champion", "goblin goblin")
    assert delve.refused("attack", companion="champion", monsters=["goblin"] * 2) == "too-many-monsters"
    delve.given("marpesia", "champion", "chest chest")
    assert delve.refused("open-chests", companion="champion", chests=["chest"] * 2) == "too-many-chests"
    delve.given("marpesia", "champion", "goblin ooze", options={"champion": "any-types"})
    assert delve.refused("attack", companion="champion", monsters=["goblin", "ooze"]) == "too-many-monsters"


def test_rallying_cry_leaves_scrolls_in_the_graveyard(delve):
    delve.given("marpesia", "mage mage mage mage", level=3)
    delve.when("use-ultimate", "scroll", "champion", "thief")
    delve.then(party="champion mage mage mage mage thief", graveyard=1, phase="regroup")
    assert delve.happened("scrolls-buried").dice == ("party-5",)


def test_toulak_rolls_one_die_again_each_level_and_roars(delve):
    delve.given("toulak", "mage", "goblin chest ooze", lair=1)
    assert delve.refused("use-specialty", dice=["dungeon-1"]) == "in-lair"
    delve.when("use-specialty", "potion", dice=["chest"])
    assert delve.refused("use-specialty", dice=["goblin"]) == "used-on-this-level"
    delve.when("use-ultimate")
    delve.then(dice="potion", phase="loot")
    delve.when("proceed")
    delve.when("seek-glory", "goblin", "goblin")
    delve.when("use-specialty", "ooze", dice=["goblin"])


def test_touch_of_midas_turns_a_type_to_treasure(delve):
    delve.given("amar-suen", "thief", "goblin goblin ooze")
    assert delve.refused("use-ultimate", faces=["skeleton"]) == "no-such-monster"
    delve.when("use-ultimate", "elixir", "talisman", faces=["goblin"])
    delve.then(dice="ooze", tokens="elixir talisman")
    delve.given("amar-suen", "thief", "goblin ooze")
    delve.when("attack", companion="thief", monsters=["goblin", "ooze"])


def test_tristan_earns_treasure_and_spends_it_on_another_try(delve):
    delve.given("tristan", "fighter", "goblin goblin ooze", lair=2)
    delve.when("attack", "elixir", companion="fighter", monsters=["goblin", "goblin"])
    delve.then(tokens="elixir")
    assert delve.refused("use-specialty", pay="elixir") == "not-exhausted"
    delve.when("use-ultimate", "ooze", "dragon", "chest", dice=["dungeon-1", "dungeon-2", "dungeon-5"])
    delve.then(lair=1, dice="chest ooze", exhausted=True)
    delve.when("use-specialty", pay="elixir")
    delve.then(exhausted=False, tokens="")


def test_loeg_sets_scrolls_and_calls_dragons(delve):
    delve.given_start("loeg-yllavyre")
    delve.when("begin-delve", *["mage"] * 7)
    assert delve.refused("set-scrolls", dice=["party-1"]) == "too-few-dice"
    delve.when("set-scrolls", "goblin", dice=["party-1", "party-2"])
    delve.then(party="scroll scroll mage mage mage mage mage", phase="monster")
    assert delve.refused("use-specialty", dice=["goblin"], pay="mage") == "not-payable"
    delve.when("use-specialty", dice=["goblin"], pay="scroll")
    delve.then(lair=1, graveyard=1, phase="regroup")


def test_loeg_commands_the_lair_until_regroup(delve):
    delve.given("loeg-yllavyre", "mage", "goblin chest", lair=3)
    delve.when("use-ultimate")
    delve.then(temps="dragon dragon dragon", lair=0, exhausted=True)
    delve.when("attack", companion="temp-1", monsters=["goblin"])
    delve.when("open-chests", "elixir", companion="temp-2", chests=["chest"])
    delve.then(temps="", phase="regroup")


def test_all_three_types_of_monsters_refresh_loeg(delve):
    delve.given("loeg-yllavyre", "mage", level=2, exhausted=True, lair=1)
    delve.when("seek-glory", "goblin", "skeleton", "ooze")
    delve.then(exhausted=False)
    delve.when("use-ultimate")
    delve.then(exhausted=False, temps="dragon")


def test_alexandras_scrolls_are_champions(delve):
    delve.given("alexandra", "scroll champion fighter", "ooze ooze")
    delve.when("attack", companion="scroll", monsters=["ooze", "ooze"])
    delve.given("alexandra", "scroll champion fighter", lair=3)
    three = ["scroll", "champion", "fighter"]
    assert delve.refused("fight-dragon", companions=three) == "companions-not-different"
    delve.when("use-ultimate", "elixir", pay="scroll")
    delve.then(xp=1, tokens="elixir", party="champion fighter", phase="regroup")


def test_alexandra_studies_for_a_die(delve):
    delve.given("alexandra", "mage thief", "ooze chest", tokens="scroll")
    assert delve.refused("use-specialty", dice=["ooze"], pay="token:scroll") == "not-payable"
    assert delve.refused("use-specialty", dice=["party-1"], pay="party-1") == "named-twice"
    delve.when("use-specialty", "goblin", "champion", dice=["ooze", "thief"], pay="mage")
    delve.then(party="champion", dice="goblin chest", graveyard=6)


def test_szopin_strikes_and_is_refreshed(delve):
    delve.given("szopin", "fighter", "goblin goblin chest", lair=1)
    delve.when("use-ultimate", dice=["dungeon-1", "chest"])
    delve.then(lair=0, dice="goblin goblin", exhausted=True)
    delve.when("attack", companion="fighter", monsters=["goblin", "goblin"])
    delve.then(exhausted=False)


# Pack 1


@pytest.mark.parametrize("hero", ["viking", "undead-viking"])
def test_a_viking_comes_with_five_champions(delve, hero):
    delve.given_start(hero)
    delve.when("begin-delve", "skeleton")
    delve.then(party="champion " * 5, removed=2, graveyard=0, phase="loot" if hero == "undead-viking" else "monster")
    delve.given(hero, "mage", "goblin", lair=2)
    delve.when("use-ultimate")
    delve.then(lair=0)


@pytest.mark.parametrize(("hero", "dice"), [("alchemist", 1), ("thaumaturge", 2), ("berserker", 4)])
def test_dice_of_the_graveyard_are_rolled(delve, hero, dice):
    delve.given(hero, "mage mage", "goblin")
    delve.when("use-ultimate", *["thief"] * dice)
    delve.then(party="mage mage " + "thief " * dice, graveyard=5 - dice)
    delve.given(hero, "mage", "goblin", graveyard=0)
    assert delve.refused("use-ultimate") == "graveyard-empty"


def test_a_scout_lays_out_three_levels(delve):
    delve.given_start("scout")
    delve.when("begin-delve", *["mage"] * 7, "goblin", "dragon", "chest", "dragon", "ooze", "potion")
    level = {f"level_{n}": dice for n, dice in ((1, ["dungeon-3"]), (2, ["dungeon-2", "dungeon-4"]))}
    wrong = {**level, "level_3": ["dungeon-1", "dungeon-5"]}
    assert delve.refused("assign-dice", **wrong) == "wrong-number-of-dice"
    twice = {**level, "level_3": ["dungeon-1", "dungeon-5", "dungeon-2"]}
    assert delve.refused("assign-dice", **twice) == "named-twice"
    delve.when("assign-dice", **level, level_3=["dungeon-1", "dungeon-5", "dungeon-6"])
    delve.then(dice="chest", phase="loot", level=1)
    delve.when("proceed")
    delve.when("seek-glory")
    delve.then(lair=2, phase="regroup", level=2)
    delve.when("seek-glory")
    delve.then(dice="goblin ooze potion", level=3)
    for monster in ("goblin", "ooze"):
        delve.when("attack", companion="mage", monsters=[monster])
    delve.when("proceed")
    delve.when("seek-glory", *["goblin"] * 4)
    delve.then(level=4, lair=2)


def test_a_scout_may_leave_before_the_dragon_comes(delve):
    delve.given("scout", "mage", "goblin", level=5, lair=3)
    delve.when("attack", companion="mage", monsters=["goblin"])
    delve.then(phase="monster")
    assert delve.refused("flee") == "nothing-to-flee-from"
    delve.when("proceed")
    delve.then(phase="dragon")
    assert delve.refused("use-ultimate") == "no-monsters"
    delve.given("dungeoneer", "mage", "goblin", level=5, lair=3)
    delve.when("attack", companion="mage", monsters=["goblin"])
    delve.then(phase="dragon")
    delve.when("use-ultimate")
    delve.then(xp=10, delves=1)


def test_dragon_breath_and_dragon_fury_count_the_lair(delve):
    delve.given("sorceress", "mage", "goblin goblin ooze", lair=0)
    assert delve.refused("use-ultimate", dice=["goblin"]) == "lair-empty"
    delve.given("sorceress", "mage", "goblin goblin ooze", lair=2)
    assert delve.refused("use-ultimate", dice=["goblin", "goblin", "ooze"]) == "too-many-dice"
    delve.when("use-ultimate", dice=["goblin", "ooze"])
    delve.then(dice="goblin", lair=2)
    delve.given("drake-kin", "mage", "goblin goblin ooze", lair=1)
    assert delve.refused("use-ultimate", faces=["goblin", "ooze"]) == "too-many-faces"
    delve.when("use-ultimate", faces=["goblin"])
    delve.then(dice="ooze", lair=1)


@pytest.mark.parametrize(("hero", "back"), [("archaeologist", 2), ("tomb-raider", 1)])
def test_a_treasure_seeker_draws_two_and_gives_back(delve, hero, back):
    delve.given(hero, "mage", "goblin", tokens="elixir")
    delve.when("use-ultimate", "talisman", "town-portal")
    delve.then(phase="discarding", discards=back)
    assert delve.refused("flee") == "treasures-to-discard"
    assert delve.refused("discard-treasures", tokens=["talisman", "talisman"]) == "no-such-token"
    assert delve.refused("discard-treasures", tokens=[]) == "wrong-number-of-tokens"
    delve.when("discard-treasures", tokens=["elixir", "talisman"][:back])
    delve.then(phase="monster", tokens="talisman town-portal" if back == 1 else "town-portal")


def test_an_archaeologist_begins_with_two_treasures_and_chooses_six_to_give_back(delve):
    delve.given_start("archaeologist")
    delve.when("begin-delve", *["mage"] * 7, "elixir", "talisman", "goblin")
    delve.then(tokens="elixir talisman")
    delve.given("archaeologist", "mage", delves=2, tokens="elixir " * 3 + "town-portal " * 4)
    delve.when("retire")
    delve.then(phase="discarding", discards=6, ending="")
    assert delve.refused("begin-delve") == "treasures-to-discard"
    assert delve.refused("discard-treasures", tokens=["elixir"]) == "wrong-number-of-tokens"
    delve.when("discard-treasures", tokens=["elixir"] * 3 + ["town-portal"] * 3)
    delve.then(tokens="town-portal", ending="delves")
    assert RULES.outcome(delve.state).scores == [1 + 2]


@pytest.mark.parametrize(("hero", "most"), [("leprechaun", 1), ("clurichaun", 2)])
def test_a_leprechaun_has_chests_and_keeps_nothing(delve, hero, most):
    delve.given(hero, "mage", "goblin ooze", delves=2, tokens="elixir town-portal")
    delve.when("use-ultimate", dice=["goblin", "ooze"][:most])
    delve.then(dice="chest ooze" if most == 1 else "chest")
    delve.given(hero, "mage", delves=2, tokens="elixir town-portal", xp=0)
    delve.when("seek-glory", "potion", "potion")
    delve.then(dice="chest chest")
    delve.when("proceed")
    delve.when("retire")
    delve.then(tokens="", ending="delves", xp=2)


def test_a_dwarfs_champion_who_takes_two_is_rolled_again(delve):
    delve.given_start("dwarf")
    delve.when("begin-delve", *["champion"] * 5, "goblin")
    delve.then(graveyard=2)
    delve.given("dwarf", "champion champion", "goblin goblin ooze")
    delve.when("attack", "scroll", companion="party-1", monsters=["goblin", "goblin"])
    delve.then(party="scroll champion", graveyard=5)
    delve.when("attack", companion="champion", monsters=["ooze"])
    delve.then(party="scroll", graveyard=6)


def test_rally_counts_the_champions(delve):
    delve.given("dwarf", "champion champion mage", "goblin goblin ooze")
    assert delve.refused("use-ultimate", dice=["goblin", "goblin", "ooze"]) == "too-many-dice"
    delve.when("use-ultimate", "thief", "cleric", dice=["goblin", "ooze"])
    delve.then(dice="goblin", party="thief cleric mage")
    delve.given("dwarf", "mage", "goblin")
    assert delve.refused("use-ultimate", dice=["goblin"]) == "no-champion"


def test_a_raging_berserker_retires_only_from_a_dragons_level(delve):
    delve.given("berserker", "mage thief", "goblin", level=2)
    delve.when("use-ultimate", *["cleric"] * 4)
    delve.when("attack", companion="mage", monsters=["goblin"])
    assert delve.refused("retire") == "rage-forbids-retiring"
    delve.given("berserker", "mage thief cleric", level=2, lair=3, rage=True)
    delve.when("fight-dragon", "elixir", companions=["mage", "thief", "cleric"])
    delve.when("retire")
    delve.then(delves=1)
    delve.given("berserker", "mage", "goblin", level=10, rage=True)
    delve.when("attack", companion="mage", monsters=["goblin"])
    delve.then(delves=1, xp=15)


def test_a_tracker_follows_one_goblin_each_level(delve):
    delve.given("tracker", "mage", "goblin goblin ooze")
    assert delve.refused("use-specialty", dice=["ooze"]) == "wrong-die"
    delve.when("use-specialty", "chest", dice=["goblin"])
    assert delve.refused("use-specialty", dice=["goblin"]) == "used-on-this-level"
    delve.when("use-ultimate", dice=["ooze"])
    delve.then(dice="goblin chest")


def test_a_rangers_arrows_hit_one_of_each_type(delve):
    delve.given("ranger", "mage", "goblin goblin ooze chest")
    delve.when("use-ultimate")
    delve.then(dice="goblin chest")


# Promos


def test_a_guild_has_eight_dice_and_calls_in_favors(delve):
    delve.given_start("guild-leader")
    delve.when("begin-delve", *["mage"] * 8, "goblin")
    delve.then(party="mage " * 8)
    assert delve.refused("use-ultimate", dice=["goblin"], faces=["goblin"]) == "same-face"
    assert delve.refused("use-ultimate", dice=["goblin"], faces=["mage"]) == "wrong-face"
    assert delve.refused("use-ultimate", dice=["goblin"]) == "one-face-for-each-die"
    assert delve.refused("use-ultimate", dice=["goblin", "mage"], faces=["chest", "thief"]) == "too-many-dice"
    delve.when("use-ultimate", dice=["goblin"], faces=["dragon"])
    delve.then(lair=1, dice="", phase="regroup")


def test_a_guild_master_sets_one_die_of_each_kind_even_in_the_lair(delve):
    delve.given("guild-master", "mage thief", lair=3)
    assert delve.refused("use-ultimate", dice=["mage", "thief"], faces=["thief", "mage"]) == "one-die-of-a-kind"
    delve.when("use-ultimate", dice=["mage", "dungeon-2"], faces=["champion", "chest"])
    delve.then(party="champion thief", lair=2, dice="chest", phase="loot")


def test_future_technology_costs_a_treasure_and_the_lady_may_pay_a_scroll(delve):
    delve.given("time-traveler", "scroll", lair=3)
    assert delve.refused("use-ultimate") == "nothing-paid"
    assert delve.refused("use-ultimate", pay="scroll") == "not-payable"
    delve.given("time-lady", "scroll", lair=3)
    delve.when("use-ultimate", "elixir", pay="scroll")
    delve.then(xp=6, tokens="elixir", lair=0)
    delve.given("time-traveler", "mage", lair=3, tokens="dragon-scales")
    delve.when("use-ultimate", "elixir", pay="dragon-scales")
    delve.then(xp=1, tokens="elixir", phase="regroup")


def test_a_hero_without_something_to_use_says_so(delve):
    delve.given("knight", "mage", "goblin")
    assert delve.refused("use-specialty") == "no-such-power"
    assert delve.refused("use-ultimate", dice=["goblin"]) == "not-asked-for"
    with pytest.raises(Illegal, match="malformed"):
        delve.when("use-ultimate", faces=["nobody"])
    assert len(PARTY_FACES) == 6
