"""No absent person ever freezes a game: time-outs and withdrawals at every decision state of every ruleset.

A game is played at random; in every position that it reaches, each seat that is to act times out, and every seat
withdraws. No draw may be asked for, somebody else must be able to go on, and the game must still come to its end.
"""

import random

import pytest

from engine.donjon import DONJON_1
from engine.donjon.components import MONSTERS
from engine.donjon.happenings import TurnSkipped
from engine.protocol import Illegal
from engine.registry import RULESETS

TABLES = [pytest.param(rules, seats, id=f"{rules.id}-{seats}") for rules in RULESETS.values() for seats in rules.seats]
DECISIONS = {
    "turn-start", "exploring", "placing", "trap-pending", "encounter", "combat-pending", "combat-decision", "loot",
    "reincarnation", "turn-over",
}  # fmt: skip


def still_alive(rules, state):
    """Either there is an outcome, or somebody can act."""
    to_act = rules.to_act(state)
    assert bool(to_act) is (rules.outcome(state) is None)
    assert all(rules.legal(state, seat) or rules.forms(state, seat) for seat in to_act)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_turn_that_runs_out_never_freezes_a_game(rules, seats, play):
    def watch(state, legal):
        for seat in rules.to_act(state):
            late = rules.copy(state)
            assert rules.time_out(late, seat)  # it has no chance to ask, and says what happened
            still_alive(rules, late)
            assert late != state

    play(rules, seats, 1, watch)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_seat_that_leaves_never_freezes_a_game(rules, seats, play):
    def watch(state, legal):
        if not legal:
            return
        for leaver in range(1, seats + 1):
            left = rules.copy(state)
            assert rules.withdraw(left, leaver)
            still_alive(rules, left)
            assert leaver not in rules.to_act(left)
            with pytest.raises(Illegal):
                rules.withdraw(left, leaver)

    play(rules, seats, 2, watch)


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_game_of_nobody_but_absent_players_ends(rules, seats, play):
    from_here = random.Random(3)
    state = opened(rules, seats, play)
    for _ in range(20_000):
        if not (to_act := rules.to_act(state)):
            break
        rules.time_out(state, from_here.choice(to_act))
    assert rules.outcome(state) is not None


@pytest.mark.parametrize(("rules", "seats"), TABLES)
def test_a_game_that_everybody_leaves_is_over(rules, seats, play):
    state = opened(rules, seats, play)
    for seat in range(1, seats + 1):
        assert rules.outcome(state) is None
        rules.withdraw(state, seat)
    assert rules.to_act(state) == []
    outcome = rules.outcome(state)
    assert len(outcome.scores) == seats
    with pytest.raises(Illegal):
        rules.withdraw(state, 1)


def opened(rules, seats, play):
    """A game of which nothing but the opening was played."""
    return play(rules, seats, 4).folded(1)


# Le Donjon


def monsters(state):
    """The cells on which a monster lives."""
    return {at for at, thing in state.things.items() if thing in MONSTERS}


@pytest.mark.parametrize("orientation", ["random", "player"])
def test_le_donjon_is_settled_in_every_decision_state(play, orientation):
    """Both verbs in every phase, every hero, with the invariants of the rules after it."""
    seen = set()

    def watch(state, legal):
        if not legal:
            return
        seen.add(state.phase)
        was, seat = state.hero, state.active
        defeated = state.phase in ("encounter", "combat-pending", "combat-decision") or was.at in monsters(state)
        hp = max(0, was.hp - (defeated or state.phase == "trap-pending"))
        for verb in (DONJON_1.time_out, DONJON_1.withdraw):
            after = DONJON_1.copy(state)
            happenings = verb(after, seat)
            now = after.heroes[seat - 1]
            assert now.hp == hp or any(isinstance(happening, TurnSkipped) for happening in happenings)
            assert (now.at == state.safe) if defeated else (now.at == was.at)
            assert (now.gold, now.key, now.weapons, now.scrolls) == (was.gold, was.key, was.weapons, was.scrolls)
            assert after.bag == state.bag
            assert sum(after.pile.values()) + len(after.tiles) == 80
            assert not {hero.at for hero in after.heroes} & monsters(after)
            assert after.phase in ("turn-start", "game-over")

    for seed in range(12):
        play(DONJON_1, 2 + seed % 5, seed, watch, orientation=orientation)
    assert seen == DECISIONS - (set() if orientation == "player" else {"placing"})


def test_an_absent_horan_declines_and_an_absent_fighter_loses_a_hit_point(donjon):
    donjon.given("horan", hp=1, tiles={"1,0": "room nesw"}, things={"1,0": "mummy"})
    donjon.when("move", to=[1, 0])
    donjon.told = donjon.rules.time_out(donjon.state, 1)
    names = [type(happening).__name__ for happening in donjon.told]
    assert names == [
        "TimedOut", "FightForfeited", "Retreated", "ReincarnationOffered", "KnockedOut", "TurnEnded", "TurnBegan",
    ]  # fmt: skip
    donjon.then(hp=0, at="0,0", active=2, things={"1,0": "mummy"})


def test_an_absent_players_tile_goes_back_into_the_pile(donjon):
    donjon.given("tala", pile={"room-l": 1, "room-t": 1}, options={"orientation": "player"})
    donjon.when("move", "room-l", to=[1, 0])
    donjon.told = donjon.rules.time_out(donjon.state, 1)
    donjon.then(pile={"room-l": 1, "room-t": 1}, active=2, at="0,0", hp=5, progress=0)
    assert donjon.happened("tile-returned").shape == "l"


def test_an_absent_aderyn_who_was_sneaking_does_not_stay_with_the_monster(donjon):
    donjon.given(
        "aderyn", tiles={"1,0": "room nesw"}, things={"1,0": "mummy"}, pile={"room-l": 2},
        options={"orientation": "player"},
    )  # fmt: skip
    donjon.when("move", to=[1, 0])
    donjon.when("move", to=[2, 0])
    donjon.then(phase="placing", at="1,0")
    donjon.rules.time_out(donjon.state, 1)
    donjon.then(at="0,0", hp=4, active=2, pile={"room-l": 2})


def test_a_seat_that_left_keeps_its_gold_its_place_and_its_rank(donjon):
    donjon.given("tala", gold=2, key=True, others={"horan": {"gold": 1}, "xanros": {}})
    donjon.told = donjon.rules.withdraw(donjon.state, 1)
    donjon.then(active=2, gold=2, key=True, withdrawn=True, at="0,0")
    donjon.when("end-turn")
    assert donjon.when("end-turn") == ["turn-ended", "turn-began"]
    donjon.then(active=2)
    donjon.rules.withdraw(donjon.state, 3)
    donjon.then(active=2, phase="turn-start")
    donjon.rules.withdraw(donjon.state, 2)
    outcome = donjon.rules.outcome(donjon.state)
    assert (outcome.ending, outcome.winners, outcome.scores) == ("withdrawal", [1], [2, 1, 0])


def test_the_last_player_plays_on_alone(donjon):
    donjon.given("tala", others={"horan": {}})
    donjon.rules.withdraw(donjon.state, 2)
    donjon.then(active=1, phase="turn-start", ending="")
    assert donjon.when("end-turn") == ["turn-ended", "turn-began"]
    donjon.then(active=1)


def test_only_the_seat_whose_turn_it_is_can_run_out_of_time(donjon):
    donjon.given("tala")
    with pytest.raises(Illegal) as caught:
        donjon.rules.time_out(donjon.state, 2)
    assert caught.value.reason == "not-your-turn"
