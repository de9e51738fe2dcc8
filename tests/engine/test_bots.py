"""Bots: they want only what is legal, their games end, and the delver plays as one would who knows the game."""

import random
from statistics import median

import pytest

from bench.selfplay import table
from engine.donjon import DONJON_1
from engine.donjon.actions import (
    AcceptResult,
    EndTurn,
    Fight,
    LeaveLoot,
    Move,
    OpenChest,
    PickUp,
    Reincarnate,
    Sacrifice,
    Swap,
    TakeLoot,
    UseAttackScroll,
    UseFountain,
    UseHealingScroll,
)
from engine.donjon.bots import LEVELS, Delver, odds
from engine.protocol import name_and_args
from engine.registry import BOTS, RULESETS, game_name

EVERY = [
    pytest.param(rules, bot, level, id=f"{rules.id}-{bot.name}-{level}")
    for rules in RULESETS.values()
    for bot in BOTS[game_name(rules.id)].values()
    for level in bot.levels
]
DELVER = ("delver", 2)


@pytest.mark.parametrize("rules", RULESETS.values(), ids=list(RULESETS))
def test_every_game_has_a_bot_that_can_play_on_for_an_absent_seat(rules):
    assert BOTS[game_name(rules.id)]


@pytest.mark.parametrize(("rules", "bot", "level"), EVERY)
def test_a_bot_wants_only_what_is_legal_and_changes_nothing_itself(rules, bot, level, play, packed, committed):
    whims = random.Random(1)

    def watch(state, legal):
        for seat in rules.to_act(state):
            before = packed(state)
            wanted = bot.choose(rules, state, seat, level, whims.randrange)
            if wanted not in [offer.action for offer in rules.legal(state, seat)]:
                assert name_and_args(wanted)[0] in {form.type for form in rules.forms(state, seat)}
                rules.apply(rules.copy(state), seat, wanted, committed("tried out"))
            assert packed(state) == before

    for seats in rules.seats:
        play(rules, seats, 7, watch)


def test_the_delver_wants_only_what_is_legal_at_every_table(table, play):
    whims = random.Random(2)

    def watch(state, legal):
        for seat in DONJON_1.to_act(state):
            wanted = Delver().choose(DONJON_1, state, seat, 2, whims.randrange)
            assert wanted in [offer.action for offer in legal]

    for seats in DONJON_1.seats:
        play(DONJON_1, seats, 8, watch, **table)


@pytest.mark.parametrize(("rules", "bot", "level"), EVERY)
def test_a_bot_has_no_whims_but_those_it_is_given(rules, bot, level, play):
    def watch(state, legal):
        for seat in rules.to_act(state):
            first, second = (bot.choose(rules, state, seat, level, random.Random(3).randrange) for _ in range(2))
            assert first == second

    play(rules, rules.seats[0], 9, watch)


@pytest.mark.parametrize("seats", DONJON_1.seats)
def test_delvers_end_every_game_with_the_dragon(seats):
    games = [table(DONJON_1.id, [DELVER] * seats, seed) for seed in range(60)]
    assert {game.outcome.ending for game in games} == {"dragon"}
    assert median(game.turns for game in games) <= 130


def test_the_delver_beats_the_wanderer_nine_times_in_ten():
    games = [table(DONJON_1.id, [DELVER, ("wanderer", 1)], seed) for seed in range(100)]
    assert sum(game.outcome.winners == [1 + seed % 2] for seed, game in enumerate(games)) >= 90


def test_odds_are_those_of_every_possible_roll():
    assert odds("tala", 9) == 10 / 36
    assert odds("victorius", 9) == 10 / 25
    assert odds("horan", 12) == pytest.approx(1 - (35 / 36) ** 2)
    assert odds("tala", -3) == odds("tala", 2) == 1
    assert odds("horan", 14) == odds("horan", 13) == 0


def wants(donjon, level=2):
    assert LEVELS[level].whims == 0
    wanted = Delver().choose(DONJON_1, donjon.state, donjon.state.active, level, random.Random(4).randrange)
    assert wanted in [offer.action for offer in DONJON_1.legal(donjon.state, donjon.state.active)]
    return wanted


WEST_ROOM = {"-1,0": "room ew"}


def test_a_delver_with_a_key_goes_to_the_chest_and_opens_it(donjon):
    donjon.given("tala", key=True, tiles={"-1,0": "corridor ew", "-2,0": "room ew"}, things={"-2,0": "closed-chest"})
    assert wants(donjon) == Move((-1, 0))
    donjon.when("move", to=[-1, 0])
    donjon.when("move", to=[-2, 0])
    assert wants(donjon) == OpenChest()


def test_a_delver_opens_a_chest_with_its_last_step_too(donjon):
    donjon.given("tala", key=True, tiles=WEST_ROOM, things={"-1,0": "closed-chest"}, at="-1,0", mp=0, phase="exploring")
    assert wants(donjon) == OpenChest()


def test_a_delver_attacks_what_it_can_beat_and_not_what_it_cannot(donjon):
    tiles = {"0,0": "start ew", "-1,0": "room ew", "1,0": "room ew"}
    donjon.given("tala", tiles=tiles, things={"-1,0": "dragon", "1,0": "giant-rat"}, pile={})
    assert wants(donjon) == Move((1, 0))
    donjon.given("tala", tiles=tiles, things={"-1,0": "dragon"}, pile={})
    assert wants(donjon) == EndTurn()


def test_a_delver_slays_the_dragon_when_the_hoard_makes_it_win(donjon):
    tiles = {"0,0": "start w", "-1,0": "room e"}
    armed = {"weapons": ["axe", "axe"], "tiles": tiles, "things": {"-1,0": "dragon"}, "pile": {}}
    donjon.given("tala", others={"horan": {"gold": 2}}, **armed)
    assert wants(donjon) == Move((-1, 0))
    donjon.given("tala", others={"horan": {"gold": 4}}, **armed)
    assert wants(donjon) == EndTurn()


def test_a_delver_slays_the_dragon_for_another_rather_than_wait_for_ever(donjon):
    armed = {"weapons": ["axe", "axe"], "things": {"-1,0": "dragon"}, "pile": {}}
    donjon.given("tala", others={"horan": {"gold": 4}}, tiles={"0,0": "start w", "-1,0": "room e"}, **armed)
    donjon.state.turn = 2 * LEVELS[2].daring + 1
    assert wants(donjon) == Move((-1, 0))


def test_a_delver_with_few_hit_points_goes_to_a_fountain(donjon):
    donjon.given("tala", hp=1, tiles={"0,0": "start w", "-1,0": "corridor ew"}, at="-1,0", pile={})
    assert wants(donjon) == Move((0, 0))
    donjon.when("move", to=[0, 0])
    assert wants(donjon) == UseFountain()


def test_a_delver_with_few_hit_points_reads_a_healing_scroll(donjon):
    donjon.given("tala", hp=2, scrolls=["healing-scroll"])
    assert wants(donjon) == UseHealingScroll()
    donjon.given("tala", hp=3, scrolls=["healing-scroll"])
    assert wants(donjon) != UseHealingScroll()


def test_a_delver_walks_round_a_trap(donjon):
    donjon.given(
        "horan", key=True, pile={}, things={"-1,-1": "closed-chest"},
        tiles={"0,0": "start nw", "0,-1": "trap sw", "-1,0": "corridor ne", "-1,-1": "room se"},
    )  # fmt: skip
    assert wants(donjon) == Move((-1, 0))


def fighting(donjon, hero, monster, *dice, **facts):
    donjon.given(hero, tiles=WEST_ROOM, things={"-1,0": monster}, **facts)
    donjon.when("move", to=[-1, 0])
    if donjon.state.phase == "encounter":
        donjon.when("fight")
    donjon.when("roll-dice", *dice)


def test_a_delver_spends_scrolls_where_they_win_and_keeps_them_where_they_do_not(donjon):
    fighting(donjon, "horan", "skeleton-turnkey", 3, 4, 1, 1, scrolls=["attack-scroll"] * 2)
    assert wants(donjon) == UseAttackScroll()
    donjon.when("use-attack-scroll")
    assert wants(donjon) == UseAttackScroll()
    fighting(donjon, "horan", "skeleton-turnkey", 3, 3, 1, 1, scrolls=["attack-scroll"] * 2)
    assert wants(donjon) == AcceptResult()


def test_a_delver_saves_its_last_hit_point_with_a_scroll(donjon):
    fighting(donjon, "tala", "skeleton-king", 4, 4, hp=1, scrolls=["attack-scroll"])
    assert wants(donjon) == UseAttackScroll()
    fighting(donjon, "tala", "skeleton-king", 4, 4, hp=5, scrolls=["attack-scroll"])
    assert wants(donjon) == AcceptResult()


def test_xanros_gives_hit_points_for_gold_and_not_for_a_sword_too_many(donjon):
    fighting(donjon, "xanros", "wailing-soul", 5, 6)
    assert wants(donjon) == Sacrifice()
    fighting(donjon, "xanros", "skeleton-warrior", 2, 2, weapons=["sword", "sword"])
    assert wants(donjon) == AcceptResult()


def test_xanros_swaps_onto_a_far_chest_and_opens_it(donjon):
    far = {f"{x},0": "corridor ew" for x in range(-1, -9, -1)} | {"-9,0": "room e"}
    donjon.given("xanros", key=True, tiles={"0,0": "start w"} | far, things={"-9,0": "closed-chest"}, pile={},
                 others={"tala": {"at": "-9,0"}})  # fmt: skip
    assert wants(donjon) == Swap(2)
    donjon.when("swap", seat=2)
    assert wants(donjon) == OpenChest()


def test_aderyn_passes_a_monster_on_her_way_and_fights_one_worth_it(donjon):
    tiles = {"0,0": "start w", "-1,0": "room ew", "-2,0": "room e"}
    donjon.given("aderyn", key=True, tiles=tiles, things={"-1,0": "dragon", "-2,0": "closed-chest"}, pile={})
    assert wants(donjon) == Move((-1, 0))
    donjon.when("move", to=[-1, 0])
    assert wants(donjon) == Move((-2, 0))
    donjon.given("aderyn", tiles=tiles, things={"-1,0": "giant-rat"}, pile={})
    donjon.when("move", to=[-1, 0])
    assert wants(donjon) == Fight()


def test_a_delver_exchanges_the_weakest_for_something_better_only(donjon):
    lying = {"tiles": WEST_ROOM, "at": "-1,0", "mp": 0, "phase": "exploring"}
    donjon.given("tala", weapons=["sword", "dagger"], things={"-1,0": "axe"}, **lying)
    assert wants(donjon) == PickUp("dagger")
    donjon.given("tala", weapons=["sword", "sword"], things={"-1,0": "dagger"}, **lying)
    assert wants(donjon) == EndTurn()


def test_a_delver_takes_loot_that_it_can_use(donjon):
    fighting(donjon, "tala", "giant-rat", 4, 4)
    assert wants(donjon) == TakeLoot()
    fighting(donjon, "tala", "giant-rat", 4, 4, weapons=["axe", "axe"])
    assert wants(donjon) == LeaveLoot()


def test_victorius_goes_on_after_a_six_when_a_chest_is_near(donjon):
    tiles = {"0,0": "start w", "-1,0": "room ew", "-2,0": "room e"}
    donjon.given("victorius", key=True, weapons=["dagger"], tiles=tiles, pile={},
                 things={"-1,0": "giant-rat", "-2,0": "closed-chest"})  # fmt: skip
    donjon.when("move", to=[-1, 0])
    donjon.when("roll-dice", 6, 6)
    assert wants(donjon) == LeaveLoot()
    donjon.when("leave-loot")
    assert wants(donjon) == Move((-2, 0))


def test_argentus_takes_the_way_through_the_wall(donjon):
    donjon.given("argentus", key=True, tiles={"0,0": "start e", "-1,0": "room n"}, things={"-1,0": "closed-chest"})
    assert wants(donjon) == Move((-1, 0))


def test_a_delver_jumps_between_portals(donjon):
    tiles = {"0,0": "start w", "-1,0": "portal ew", "7,7": "portal ew", "8,7": "room w"}
    donjon.given("tala", key=True, tiles=tiles, at="-1,0", things={"8,7": "closed-chest"}, pile={})
    assert wants(donjon) == Move((7, 7))


def test_horan_comes_back_where_there_is_most_to_do(donjon):
    tiles = {"0,0": "start w", "-1,0": "trap e", "5,5": "fountain e", "6,5": "room w"}
    donjon.given("horan", hp=1, key=True, tiles=tiles, things={"6,5": "closed-chest"}, pile={})
    donjon.when("move", to=[-1, 0])
    donjon.when("resolve-trap")
    assert wants(donjon) == Reincarnate((5, 5))
