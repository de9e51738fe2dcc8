"""Invariants I1 to I6 of Dungeon Roll after every event of random games, for every hero and both sides."""

import random
from collections import Counter

import msgspec
import pytest

from engine.chance import Committed, Recorded
from engine.dungeon_roll.components import DUNGEON_FACES, PARTY_FACES, TREASURES
from engine.dungeon_roll.heroes import HEROES
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import DELVING
from engine.protocol import Illegal
from tests.engine.dungeon_roll import RULES, SIDES, opening

TABLES = [
    {},
    {"scroll_phases": "monster-loot-dragon"},
    {"champion": "any-types"},
]


def invariant(state: State) -> None:
    """I1 to I4, and what the phase says."""
    delve, seat = state.delve, state.seat
    held = sum((Counter(one.treasures) for one in state.seats), Counter(state.supply))
    assert held == Counter(TREASURES)  # I3
    assert all(n > 0 for bag in (state.supply, *(one.treasures for one in state.seats)) for n in bag.values())
    if state.phase not in (*DELVING, "forming"):
        assert state.phase == "discarding" or delve == type(delve)()
        return
    party = [*delve.party, *delve.graveyard, *delve.removed]
    assert sorted(party) == [f"party-{n}" for n in range(1, seat.side.party_dice + 1)]  # I1
    reserve = [die for dice in delve.reserve.values() for die in dice]
    assert len({*delve.dice, *delve.lair, *reserve, *delve.supply}) == 7  # I2
    assert len(delve.dice) + len(delve.lair) + len(reserve) + len(delve.supply) == 7
    assert set(delve.dice.values()) <= set(DUNGEON_FACES) - {"dragon"}  # I4
    assert set(delve.party.values()) <= set(PARTY_FACES)
    monsters = set(delve.dice.values()) & {"goblin", "skeleton", "ooze"}
    match state.phase:
        case "monster":
            assert monsters or (seat.hero == "scout" and len(delve.lair) >= 3)
        case "loot":
            assert delve.dice
            assert not monsters
        case "dragon":
            assert not delve.dice
            assert len(delve.lair) >= seat.side.dragon_at
        case "regroup":
            assert not delve.dice
            assert len(delve.lair) < seat.side.dragon_at
            assert not set(delve.temps) - {"hero"}


def steps(before: State, after: State, told: list[str]) -> None:
    """I5, I6."""
    for was, now in zip(before.seats, after.seats, strict=True):
        assert now.xp >= was.xp
        assert (now.xp == was.xp) or "experience-gained" in told
        assert now.master >= was.master
        hero = HEROES[now.hero]
        assert now.master == (now.xp >= 5 and hero.master is not None)


@pytest.mark.parametrize("table", TABLES, ids=["defaults", "scrolls-in-all-phases", "champion-literal"])
@pytest.mark.parametrize("side", SIDES)
def test_invariants_hold_after_every_event_of_random_games(side, table, built, committed):
    phases = set()
    for seed in range(3):
        whims = random.Random(f"{side}{seed}")
        state = opening(side, *["tracker"][: seed % 2], **table)
        setup_bytes = msgspec.msgpack.encode(state)
        chance: Committed = committed(f"{seed}:0")
        RULES.begin(state, chance)
        events = [(0, None, chance.draws)]
        while to_act := RULES.to_act(state):
            seat = to_act[0]
            offers = RULES.legal(state, seat) + built(RULES, state, seat, whims)
            going_on = [offer for offer in offers if type(offer.action).__name__ not in ("Flee", "Retire", "UsePortal")]
            if going_on and whims.random() < 0.85:
                offers = going_on
            before = RULES.copy(state)
            chance = committed(f"{seed}:{len(events)}")
            action = whims.choice(offers).action
            try:
                told = RULES.apply(state, seat, action, chance)
            except Illegal:
                continue
            events.append((seat, action, chance.draws))
            invariant(state)
            steps(before, state, [str(type(one).__struct_config__.tag) for one in told])
            phases.add(state.phase)
            assert len(events) < 2_000
        again = msgspec.msgpack.decode(setup_bytes, type=State)
        for seat, action, draws in events:
            recorded = Recorded(draws)
            if action is None:
                RULES.begin(again, recorded)
            else:
                RULES.apply(again, seat, action, recorded)
            recorded.finish()
        assert again == state
    assert phases >= {"delve-start", "monster", "loot", "regroup", "game-over"}


def test_a_fork_in_the_middle_of_a_delve_goes_on(play):
    game = play(RULES, 2, 5)
    middle = game.folded(len(game.steps) // 2)
    data = msgspec.json.decode(msgspec.json.encode(middle))
    fork = RULES.initial(msgspec.structs.replace(game.setup, state=data))
    assert RULES.begin(fork, Recorded([])) == []
    assert fork == middle
