"""Bots of Dungeon Roll: they want only what is legal, with every hero; and the delver plays as one who can reckon."""

import random
from statistics import mean

import pytest

from bench.delving import score
from engine.bots import Wanderer
from engine.dungeon_roll import actions as act
from engine.dungeon_roll.bots import Delver
from engine.dungeon_roll.heroes import BASE
from engine.dungeon_roll.odds import A_FIGHTER_TAKES, DIE, ONE, odds_of, rolls
from tests.engine.dungeon_roll import RULES, SIDES, Delving, opening

LEVELS = [pytest.param(bot, level, id=f"{bot.name}-{level}") for bot in (Delver(), Wanderer()) for level in bot.levels]
TABLES = [{}, {"scroll_phases": "monster-loot-dragon"}, {"champion": "any-types"}]


def to_the_end(bot, level, committed, seed, *sides, **options):
    """A game of this bot with these sides in every seat; an illegal action raises."""
    whims, chance = random.Random(seed), committed(f"{seed}")
    state = opening(*sides, **options)
    RULES.begin(state, chance)
    while to_act := RULES.to_act(state):
        wanted = bot.choose(RULES, state, to_act[0], level, whims.randrange)
        RULES.apply(state, to_act[0], wanted, chance)
    return RULES.outcome(state)


@pytest.mark.parametrize(("bot", "level"), LEVELS)
@pytest.mark.parametrize("side", SIDES)
def test_every_bot_plays_every_hero_alone_to_the_end(bot, level, side, committed):
    for seed, table in enumerate(TABLES):
        assert to_the_end(bot, level, committed, seed, side, **table).ending == "delves"


@pytest.mark.parametrize(("bot", "level"), LEVELS)
def test_every_bot_plays_with_four_at_the_table(bot, level, committed):
    sides = list(SIDES)
    for first in range(0, len(sides), 4):
        four = (sides[first : first + 4] * 4)[:4]
        outcome = to_the_end(bot, level, committed, first, *four)
        assert outcome.ending == "delves"
        assert len(outcome.scores) == 4


@pytest.mark.parametrize(("bot", "level"), LEVELS)
def test_every_bot_chooses_its_hero_where_heroes_are_chosen(bot, level, committed):
    outcome = to_the_end(bot, level, committed, 1, "", "", "", heroes="all", hero_choice="choice")
    assert outcome.ending == "delves"


@pytest.mark.parametrize(("bot", "level"), LEVELS)
def test_a_bot_changes_nothing_itself_and_has_no_whims_but_those_it_is_given(bot, level, committed, packed):
    chance = committed("whims")
    state = opening("guild-master", "szopin")
    RULES.begin(state, chance)
    while to_act := RULES.to_act(state):
        before = packed(state)
        first, second = (
            bot.choose(RULES, state, to_act[0], level, random.Random(3).randrange) for _ in range(2)
        )  # fmt: skip
        assert first == second
        assert packed(state) == before
        RULES.apply(state, to_act[0], random.choice([first]), chance)


def test_the_delver_weighing_the_odds_beats_going_home_at_a_fixed_level_and_greed():
    def average(player):
        return mean(score(player, hero, seed)[0] for hero in BASE for seed in range(25))

    delver = average("delver at level 2")
    assert delver > 20
    for player in ("home after 4", "home after 5", "home after 6", "greedy"):
        assert delver > average(player)


def test_an_easier_level_is_weaker_and_the_wanderer_weaker_still():
    normal, easy, wanderer = (
        mean(score(player, hero, seed)[0] for hero in BASE for seed in range(15))
        for player in ("delver at level 2", "delver at level 1", "wanderer")
    )
    assert normal > easy + 4
    assert easy > wanderer + 2


def test_odds_of_a_roll_are_exact():
    assert sum(roll.odds for roll in rolls(7)) == pytest.approx(1)
    assert {roll.monsters: roll.odds for roll in rolls(1) if any(roll.monsters)} == pytest.approx(
        {(1, 0, 0): 1 / 6, (0, 1, 0): 1 / 6, (0, 0, 1): 1 / 6}
    )
    assert sum(roll.odds * roll.dragons for roll in rolls(6)) == pytest.approx(1)
    assert sum(roll.odds for roll in rolls(2, (("skeleton", "potion"),)) if roll.monsters[1]) == 0
    assert A_FIGHTER_TAKES > 0


def test_the_cost_of_monsters_is_the_cheapest_way_that_the_rules_allow():
    def cost(side, party, monsters, dragon=False):
        hero, master = SIDES[side]
        odds = odds_of(hero, master, False, "one-type")
        return odds.cost(sum(ONE[DIE[face]] for face in party.split()), monsters, dragon), odds.weights

    found, weights = cost("mercenary", "fighter mage champion", (3, 0, 0))
    assert found == weights[DIE["fighter"]]
    found, weights = cost("mercenary", "fighter fighter", (3, 0, 2))
    assert found > 1000
    found, weights = cost("spellsword", "fighter fighter", (3, 0, 2))
    assert found == 2 * weights[DIE["fighter"]]
    found, weights = cost("mercenary", "thief cleric champion mage", (1, 0, 0), dragon=True)
    assert found == pytest.approx(sum(weights[DIE[face]] for face in ("thief", "cleric", "champion", "mage")))


@pytest.fixture
def delving():
    return Delving()


def wants(delving):
    return Delver().choose(RULES, delving.state, delving.state.active, 2, random.Random(4).randrange)


def test_the_delver_keeps_three_different_companions_for_the_dragon(delving):
    delving.given("mercenary", "fighter fighter cleric mage", "goblin", level=4, lair=3, exhausted=True)
    wanted = wants(delving)
    assert isinstance(wanted, act.Attack)
    assert wanted.companion in ("party-1", "party-2")
    delving.when("attack", companion=wanted.companion, monsters=list(wanted.monsters))
    wanted = wants(delving)
    assert isinstance(wanted, act.FightDragon)
    assert len(set(wanted.companions)) == 3


def test_the_delver_retires_with_nobody_left_and_seeks_glory_with_everybody(delving):
    delving.given("mercenary", "scroll", level=5, exhausted=True, phase="regroup")
    assert wants(delving) == act.Retire()
    delving.given("mercenary", "fighter cleric mage thief champion champion", level=2, phase="regroup")
    assert wants(delving) == act.SeekGlory()


def test_the_delver_goes_home_through_the_portal_rather_than_flee(delving):
    delving.given("mercenary", "thief", "goblin goblin ooze ooze", level=5, exhausted=True, tokens="town-portal")
    assert wants(delving) == act.UsePortal()


def test_the_delver_reads_a_scroll_where_it_cannot_fight(delving):
    delving.given("mercenary", "scroll thief", "goblin goblin", level=6, exhausted=True)
    wanted = wants(delving)
    assert isinstance(wanted, act.UseScroll)
    assert {"dungeon-1", "dungeon-2"} <= set(wanted.dice)


def test_the_delver_lets_its_hero_strike_rather_than_flee(delving):
    delving.given("mercenary", "", "goblin ooze", level=4, graveyard=7)
    wanted = wants(delving)
    assert isinstance(wanted, act.UseUltimate)
    assert set(wanted.dice) == {"dungeon-1", "dungeon-2"}


def test_the_delver_uses_whoever_is_left_at_the_chests_when_it_goes_home(delving):
    delving.given("mercenary", "thief", "chest chest", level=7, exhausted=True, graveyard=6)
    assert wants(delving) == act.OpenChests("party-1", ("dungeon-1", "dungeon-2"))


def test_the_delver_empties_the_lair_with_a_ring_where_nobody_can_fight(delving):
    delving.given("mercenary", "thief", level=6, lair=3, exhausted=True, tokens="ring-of-invisibility", graveyard=6)
    assert wants(delving) == act.UseRing()


def test_an_elixir_brings_back_who_is_missing_against_the_dragon(delving):
    delving.given("mercenary", "champion thief", level=6, lair=3, exhausted=True, tokens="elixir", graveyard=5)
    assert wants(delving) == act.UseElixir("fighter")


def test_the_scout_lays_monsters_of_a_type_together(delving):
    delving.given("scout", "fighter cleric mage thief champion scroll scroll", phase="forming")
    faces = ("goblin", "skeleton", "ooze", "skeleton", "ooze", "ooze")
    delving.state.delve.reserve = {"0": {f"dungeon-{n}": face for n, face in enumerate(faces, 1)}}
    assert wants(delving) == act.AssignDice(
        ("dungeon-1",), ("dungeon-2", "dungeon-4"), ("dungeon-3", "dungeon-5", "dungeon-6")
    )


def test_treasures_are_given_back_that_are_worth_least(delving):
    delving.given("archaeologist", tokens="town-portal dragon-scales dragon-scales elixir dragon-bait")
    delving.state.phase, delving.state.discards, delving.state.resume = "discarding", 1, "regroup"
    assert wants(delving) == act.DiscardTreasures(("dragon-bait",))
