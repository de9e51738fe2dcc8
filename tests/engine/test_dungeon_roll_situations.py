"""The acceptance situations of Dungeon Roll, each under its number, in the order of the rules."""

import pytest

from tests.engine.dungeon_roll import RULES, Delving


@pytest.fixture
def delve() -> Delving:
    return Delving()


# Level and dice


def test_situation_1_a_dragon_alone_on_level_1_means_regroup_at_once(delve):
    delve.given_start("minstrel")
    delve.when("begin-delve", *["thief"] * 7, "dragon")
    delve.then(dice="", lair=1, phase="regroup")
    delve.when("retire")
    delve.then(xp=1, delves=1, phase="delve-start")


def test_situation_3_level_9_rolls_seven_dice(delve):
    delve.given(level=8, party="thief")
    delve.when("seek-glory", *["goblin"] * 7)
    delve.then(level=9, dice="goblin " * 7)


def test_situation_4_the_lair_is_kept_and_leaves_fewer_dice(delve):
    delve.given(level=4, lair=2, party="thief")
    delve.when("seek-glory", *["chest"] * 5)
    delve.then(level=5, lair=2, dice="chest " * 5)


def test_level_7_with_two_dice_in_the_lair_rolls_five(delve):
    delve.given(level=6, lair=2)
    delve.when("seek-glory", *["potion"] * 5)
    delve.then(level=7, phase="loot")


def test_situation_5_the_dragon_comes_on_the_level_where_its_third_die_was_rolled(delve):
    delve.given("spellsword", "fighter", level=5, lair=2)
    delve.when("seek-glory", "dragon", "goblin", "goblin", "chest", "goblin")
    delve.then(lair=3, phase="monster")
    delve.when("attack", companion="fighter", monsters=["goblin"] * 3)
    delve.then(phase="loot")
    delve.when("proceed")
    delve.then(phase="dragon", lair=3)


def test_situation_6_monsters_come_before_the_dragon(delve):
    delve.given("spellsword", "fighter cleric thief", "goblin", level=5, lair=3)
    assert delve.refused("fight-dragon", companions=["fighter", "cleric", "thief"]) == "monsters-first"


# Fighting


def test_situation_8_any_number_may_be_fewer_than_all(delve):
    delve.given("knight", "fighter", "goblin goblin goblin goblin")
    delve.when("attack", companion="fighter", monsters=["goblin", "goblin"])
    delve.then(dice="goblin goblin", phase="monster", graveyard=7)


def test_situation_9_a_fighter_defeats_one_skeleton(delve):
    delve.given("knight", "fighter", "skeleton skeleton")
    assert delve.refused("attack", companion="fighter", monsters=["skeleton"] * 2) == "too-many-monsters"
    delve.when("attack", companion="fighter", monsters=["skeleton"])
    delve.then(dice="skeleton")


@pytest.mark.parametrize("monster", ["goblin", "skeleton"])
def test_situation_10_a_mage_defeats_a_goblin_or_a_skeleton(delve, monster):
    delve.given("knight", "mage", "goblin skeleton")
    delve.when("attack", companion="mage", monsters=[monster])
    delve.then(dice="skeleton" if monster == "goblin" else "goblin")


def test_situation_11_a_champion_defeats_one_type(delve):
    delve.given("knight", "champion", "goblin goblin ooze ooze")
    all_four = ["goblin", "goblin", "ooze", "ooze"]
    assert delve.refused("attack", companion="champion", monsters=all_four) == "too-many-monsters"
    delve.when("attack", companion="champion", monsters=["ooze", "ooze"])
    delve.then(dice="goblin goblin")


def test_a_champion_defeats_any_types_where_the_table_says_so(delve):
    delve.given("knight", "champion", "goblin goblin ooze ooze", options={"champion": "any-types"})
    delve.when("attack", companion="champion", monsters=["goblin", "goblin", "ooze", "ooze"])
    delve.then(phase="regroup")


def test_situation_13_the_last_monster_gone_the_loot_comes_by_itself(delve):
    delve.given("knight", "fighter", "goblin chest")
    assert delve.when("attack", companion="fighter", monsters=["goblin"]) == ["monsters-defeated", "phase-entered"]
    delve.then(phase="loot")


def test_situation_14_a_talisman_is_a_cleric_and_goes_back_to_the_supply(delve):
    delve.given("knight", "", "skeleton skeleton skeleton", tokens="talisman")
    delve.then(graveyard=7)
    delve.when("attack", companion="talisman", monsters=["skeleton"] * 3)
    delve.then(dice="", tokens="", graveyard=7)
    assert delve.state.supply["talisman"] == 3


# Scrolls


def test_situation_15_a_scroll_rolls_what_it_names_once(delve):
    delve.given("knight", "fighter thief scroll", "goblin chest potion")
    delve.when("use-scroll", "ooze", "skeleton", "mage", scroll="scroll", dice=["goblin", "chest", "fighter"])
    delve.then(dice="ooze skeleton potion", party="mage thief", graveyard=5)


def test_situation_16_a_scroll_never_reaches_the_lair(delve):
    delve.given("knight", "scroll", "goblin", lair=2)
    assert delve.refused("use-scroll", scroll="scroll", dice=["dungeon-1"]) == "in-lair"


def test_situation_18_a_scroll_must_name_a_die(delve):
    delve.given("knight", "scroll", "goblin")
    assert delve.refused("use-scroll", scroll="scroll", dice=[]) == "no-die-named"


def test_situation_19_a_scroll_rolls_another_scroll(delve):
    delve.given("knight", "scroll scroll", "goblin")
    assert delve.refused("use-scroll", scroll="party-1", dice=["party-1"]) == "scroll-rolls-others"
    delve.when("use-scroll", "champion", scroll="party-1", dice=["party-2"])
    delve.then(party="champion")


def test_situation_20_a_skeleton_in_service_cannot_be_rolled(delve):
    delve.given("occultist", "scroll", "skeleton goblin")
    delve.when("use-ultimate", dice=["skeleton"])
    delve.then(temps="fighter", dice="goblin")
    with pytest.raises(Exception, match="malformed"):
        delve.when("use-scroll", scroll="scroll", dice=["temp-1"])
    assert delve.refused("use-scroll", scroll="scroll", dice=["dungeon-1"]) == "not-in-play"


@pytest.mark.parametrize("phases", ["monster", "monster-loot-dragon"])
def test_scrolls_roll_in_other_phases_where_the_table_says_so(delve, phases):
    delve.given("knight", "scroll", "chest", options={"scroll_phases": phases})
    if phases == "monster":
        assert delve.refused("use-scroll", scroll="scroll", dice=["chest"]) == "no-monsters"
    else:
        delve.when("use-scroll", "goblin", scroll="scroll", dice=["chest"])
        delve.then(phase="monster")


# Loot


def test_situation_21_a_thief_opens_every_chest(delve):
    delve.given("knight", "thief", "chest chest chest")
    delve.when("open-chests", "elixir", "dragon-scales", "dragon-scales", companion="thief", chests=["chest"] * 3)
    delve.then(tokens="dragon-scales dragon-scales elixir", graveyard=7, phase="regroup")


def test_situation_23_loot_can_be_left_for_nothing(delve):
    delve.given("knight", "fighter fighter cleric cleric mage", "chest chest")
    delve.when("proceed")
    delve.then(dice="", party="fighter fighter cleric cleric mage", phase="regroup", tokens="")


def test_situation_24_an_empty_supply_pays_in_experience(delve):
    delve.given("knight", "champion", "chest chest chest", supply="elixir")
    delve.when("open-chests", companion="champion", chests=["chest"] * 3)
    delve.then(tokens="elixir", xp=2)


def test_situation_25_a_scroll_quaffs_and_comes_back_as_a_champion(delve):
    delve.given("knight", "scroll", "potion", graveyard=0)
    delve.when("quaff-potions", drinker="scroll", faces=["champion"])
    delve.then(party="champion", graveyard=0)
    assert delve.happened("dice-revived").dice == {"party-1": "champion"}


def test_situation_26_nobody_is_revived_who_is_not_dead(delve):
    delve.given("knight", "mage", "potion potion", graveyard=0)
    assert delve.refused("quaff-potions", drinker="mage", faces=["thief", "thief"]) == "graveyard-too-small"
    delve.when("quaff-potions", drinker="mage", faces=["thief"])
    delve.then(party="thief", dice="potion")


def test_situation_28_a_token_that_drinks_adds_nobody_to_the_graveyard(delve):
    delve.given("knight", "mage", "potion potion", graveyard=1, tokens="talisman")
    assert delve.refused("quaff-potions", drinker="talisman", faces=["thief", "thief"]) == "graveyard-too-small"
    delve.when("quaff-potions", drinker="talisman", faces=["thief"])
    delve.then(party="mage thief", graveyard=0)


@pytest.mark.parametrize("hero", ["knight", "half-goblin", "chieftain"])
def test_situation_29_potions_wait_for_the_monsters_to_be_gone(delve, hero):
    delve.given(hero, "mage", "goblin potion")
    if hero == "knight":
        assert delve.refused("quaff-potions", drinker="mage", faces=["thief"]) == "monsters-first"
    else:
        delve.when("quaff-potions", drinker="mage", faces=["thief"])
        delve.then(phase="monster", dice="goblin", party="thief")


@pytest.mark.parametrize("hero", ["knight", "half-goblin", "chieftain"])
def test_situation_30_chests_wait_for_the_monsters_to_be_gone(delve, hero):
    delve.given(hero, "mage", "goblin chest")
    if hero == "knight":
        assert delve.refused("open-chests", companion="mage", chests=["chest"]) == "monsters-first"
    else:
        delve.when("open-chests", "elixir", companion="mage", chests=["chest"])
        delve.then(phase="monster", dice="goblin", tokens="elixir")


# The Dragon


def test_situation_31_three_different_companions_defeat_the_dragon(delve):
    delve.given("knight", "fighter cleric mage", lair=3, graveyard=0)
    delve.when("fight-dragon", "elixir", companions=["fighter", "cleric", "mage"])
    delve.then(xp=1, tokens="elixir", lair=0, graveyard=3, phase="regroup")


def test_situation_33_two_fighters_are_different_for_a_spellsword_only(delve):
    delve.given("knight", "fighter fighter cleric", lair=3)
    both = ["fighter", "fighter", "cleric"]
    assert delve.refused("fight-dragon", companions=both) == "companions-not-different"
    delve.given("spellsword", "fighter fighter cleric", lair=3)
    delve.when("fight-dragon", "elixir", companions=both)
    delve.then(phase="regroup")


def test_situation_34_even_a_spellsword_has_two_types_for_three(delve):
    delve.given("spellsword", "fighter fighter mage", lair=3)
    assert delve.refused("fight-dragon", companions=["fighter", "fighter", "mage"]) == "companions-not-different"


def test_situation_35_a_vorpal_sword_is_a_fighter_too(delve):
    delve.given("knight", "fighter champion", lair=3, tokens="vorpal-sword talisman")
    with_sword = ["fighter", "champion", "vorpal-sword"]
    assert delve.refused("fight-dragon", companions=with_sword) == "companions-not-different"
    delve.when("fight-dragon", "elixir", companions=["fighter", "champion", "talisman"])
    delve.then(tokens="elixir vorpal-sword", phase="regroup")


def test_situation_36_a_scroll_does_not_fight_but_for_an_enchantress(delve):
    three = ["fighter", "cleric", "scroll"]
    delve.given("knight", "fighter cleric scroll", lair=3)
    assert delve.refused("fight-dragon", companions=three) == "scroll-is-no-companion"
    delve.given("enchantress", "fighter cleric scroll", lair=3)
    delve.when("fight-dragon", "elixir", companions=three)
    delve.then(phase="regroup")


def test_a_dragon_in_hand_cannot_be_drawn_by_the_fight_it_paid_for(delve):
    delve.given("knight", "fighter cleric", lair=3, tokens="scepter-of-power", supply="")
    delve.when("fight-dragon", companions=["fighter", "cleric", "scepter-of-power"])
    delve.then(tokens="", xp=2, supply={"scepter-of-power": 1})


def test_situation_38_who_flees_the_dragon_keeps_what_was_won_before(delve):
    delve.given("knight", "fighter", level=6, lair=3, tokens="elixir", xp=2)
    delve.when("flee")
    delve.then(xp=2, tokens="elixir", delves=1)
    assert delve.happened("delve-ended").cause == "flee"


def test_situation_39_a_ring_empties_the_lair_for_nothing(delve):
    delve.given("knight", "fighter", level=3, lair=3, tokens="ring-of-invisibility")
    delve.when("use-ring")
    delve.then(lair=0, xp=0, tokens="", phase="regroup")
    delve.when("retire")
    delve.then(xp=3)


def test_situation_40_bait_brings_the_dragon_after_the_loot(delve):
    delve.given("knight", "fighter cleric mage thief", "goblin ooze chest", lair=2, tokens="dragon-bait")
    delve.when("use-bait")
    delve.then(lair=4, dice="chest", phase="loot")
    delve.when("proceed")
    delve.when("fight-dragon", "elixir", companions=["fighter", "cleric", "mage"])
    delve.then(lair=0, xp=1, tokens="elixir", phase="regroup")


def test_situation_41_bait_needs_a_monster(delve):
    delve.given("knight", "fighter", "chest", tokens="dragon-bait")
    assert delve.refused("use-bait") == "no-monsters"


# The end of a delve


def test_situation_43_level_10_cleared_is_the_end(delve):
    delve.given("knight", "fighter", "goblin", level=10)
    delve.when("attack", companion="fighter", monsters=["goblin"])
    delve.then(xp=10, delves=1, phase="delve-start", master=True)
    assert delve.happened("delve-ended").cause == "cleared"
    assert delve.refused("seek-glory") == "delve-to-begin"


def test_situation_44_the_dragons_experience_stays(delve):
    delve.given("knight", "fighter cleric mage", level=4, lair=3)
    delve.when("fight-dragon", "elixir", companions=["fighter", "cleric", "mage"])
    delve.when("seek-glory", *["goblin"] * 5)
    delve.when("flee")
    delve.then(xp=1, tokens="elixir")


def test_situation_45_a_delve_is_worth_its_last_level(delve):
    delve.given("knight", "fighter", level=6)
    delve.when("retire")
    delve.then(xp=6)


def test_situation_46_seeking_glory_changes_nothing_in_the_party(delve):
    delve.given("knight", "fighter mage mage thief", level=1)
    delve.when("seek-glory", "goblin", "goblin")
    delve.then(party="fighter mage mage thief", graveyard=3, level=2)
    assert [draw[0] for draw in delve.draws] == ["dungeon", "dungeon"]


# Heroes


def test_situation_48_a_hero_is_promoted_at_once_and_stays_exhausted(delve):
    delve.given("spellsword", "fighter cleric thief", lair=3, xp=4, exhausted=True)
    delve.when("fight-dragon", "elixir", companions=["fighter", "cleric", "thief"])
    delve.then(xp=5, master=True, exhausted=True)
    assert delve.happened("hero-leveled-up").into == "battlemage"


def test_situation_49_tokens_are_no_experience(delve):
    delve.given("spellsword", "thief", "chest", xp=3, tokens="elixir elixir elixir")
    delve.when("open-chests", "talisman", companion="thief", chests=["chest"])
    delve.then(master=False, xp=3)


def test_situation_50_a_knights_scrolls_are_champions_when_the_party_is_formed(delve):
    delve.given_start("knight")
    delve.when("begin-delve", "scroll", "scroll", *["mage"] * 5, "goblin")
    delve.then(party="champion champion mage mage mage mage mage")
    delve.given("knight", "mage", "potion")
    delve.when("quaff-potions", drinker="mage", faces=["scroll"])
    delve.then(party="scroll")


def test_situation_51_a_mercenary_rolls_again_once(delve):
    delve.given_start("mercenary")
    delve.when("begin-delve", *["scroll"] * 7)
    delve.then(phase="forming", level=0)
    delve.when("reroll-party", "mage", "thief", "goblin", dice=["party-2", "party-5"])
    delve.then(party="mage scroll scroll scroll scroll scroll thief", phase="monster", level=1)
    assert delve.refused("reroll-party", dice=["party-1"]) == "party-formed"


def test_situation_53_a_bards_champion_takes_one_more(delve):
    delve.given("bard", "champion", "ooze ooze ooze goblin goblin")
    two_and_two = ["ooze", "ooze", "goblin", "goblin"]
    assert delve.refused("attack", companion="champion", monsters=two_and_two) == "too-many-monsters"
    delve.when("attack", companion="champion", monsters=["ooze", "ooze", "ooze", "goblin"])
    delve.then(dice="goblin")


def test_situation_54_no_song_without_an_audience(delve):
    delve.given("minstrel", "thief", "goblin")
    assert delve.refused("use-ultimate") == "no-effect"
    delve.then(exhausted=False)


def test_situation_55_a_song_sends_the_dragon_away_for_nothing(delve):
    delve.given("minstrel", "thief", lair=3)
    delve.when("use-ultimate")
    delve.then(lair=0, xp=0, tokens="", phase="regroup", exhausted=True)


def test_situation_56_a_goblin_who_joined_leaves_at_regroup(delve):
    delve.given("half-goblin", "fighter", "goblin goblin")
    delve.when("use-ultimate", dice=["goblin"])
    delve.then(temps="thief", dice="goblin")
    delve.when("attack", companion="fighter", monsters=["goblin"])
    delve.then(temps="", phase="regroup")
    assert delve.happened("companions-left").companions == {"temp-1": "thief"}


def test_situation_58_an_enchantresss_scroll_opens_every_chest(delve):
    delve.given("enchantress", "scroll", "chest chest chest")
    delve.when("open-chests", "elixir", "elixir", "elixir", companion="scroll", chests=["chest"] * 3)
    delve.then(tokens="elixir elixir elixir", phase="regroup")


def test_situation_59_an_alchemists_chests_are_potions(delve):
    delve.given("alchemist", "mage", level=1)
    delve.when("seek-glory", "chest", "goblin")
    delve.then(dice="potion goblin")
    assert delve.happened("dice-converted").before == "chest"


def test_situation_60_a_sorceresss_lair_empties_itself(delve):
    delve.given("sorceress", "scroll mage", "goblin ooze", lair=2)
    delve.when("use-scroll", "dragon", scroll="scroll", dice=["goblin"])
    delve.then(lair=0, phase="monster", dice="ooze")


def test_situation_61_a_scout_turns_back_a_level(delve):
    delve.given("scout", "mage", "goblin", level=3)
    delve.when("use-ultimate")
    delve.then(xp=2, delves=1)
    assert delve.happened("delve-ended").cause == "hero"


def test_situation_63_marpesias_dragon_comes_late(delve):
    delve.given("marpesia", "mage", "potion", lair=3)
    delve.when("proceed")
    delve.then(phase="regroup", lair=3)
    delve.given("marpesia", "mage", "potion", lair=4)
    delve.when("proceed")
    delve.then(phase="dragon")


def test_situation_64_a_time_travelers_party_is_always_the_same(delve):
    delve.given_start("time-traveler")
    delve.when("begin-delve", "goblin")
    delve.then(party="fighter cleric mage thief scroll champion champion")


def test_situation_65_an_archaeologist_gives_back_six(delve):
    delve.given("archaeologist", "mage", delves=2, tokens="elixir elixir talisman town-portal")
    delve.when("retire")
    delve.then(tokens="", xp=1, ending="delves")
    assert RULES.outcome(delve.state).scores == [1]


@pytest.mark.parametrize("hero", ["cassandra", "marpesia", "toulak", "amar-suen", "tristan", "loeg-yllavyre"])
def test_situation_66_legends_never_change(delve, hero):
    delve.given(hero, "mage", level=6)
    delve.when("retire")
    delve.then(xp=6, master=False)


# Scoring


def test_situation_68_equals_share_the_victory(delve):
    delve.given("knight", "mage", level=2, delves=2, tokens="elixir", others=["bard"])
    other = delve.state.seats[1]
    other.delves, other.xp, other.treasures = 3, 2, {"talisman": 1}
    delve.when("retire")
    assert RULES.outcome(delve.state).winners == [1, 2]
    assert RULES.outcome(delve.state).facts == {}


def test_of_equal_scores_fewer_tokens_win(delve):
    delve.given("knight", "mage", level=2, delves=2, tokens="elixir", others=["bard"])
    other = delve.state.seats[1]
    other.delves, other.xp, other.treasures = 3, 3, {}
    delve.when("retire")
    assert RULES.outcome(delve.state).winners == [2]
    assert RULES.outcome(delve.state).scores == [3, 3]


def test_situation_69_a_solo_score_is_a_rank(delve):
    delve.given("knight", "mage", level=7, delves=2, xp=16)
    delve.when("retire")
    assert RULES.outcome(delve.state).facts == {"rank": "village-hero"}


def test_situation_70_scales_count_in_pairs(delve):
    delve.given("knight", "mage", level=1, delves=2, tokens="dragon-scales dragon-scales dragon-scales")
    delve.when("retire")
    assert RULES.outcome(delve.state).scores == [1 + 5]
