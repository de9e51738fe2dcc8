"""What holds in every position of every game of Le Donjon: random play to the end, every table, two to six seats."""

import pytest

from engine.donjon import DONJON_1
from engine.donjon.components import CLOSED_CHEST, EXITS, HEROES, MONSTERS, SORTS, pile
from engine.donjon.grid import OPPOSITE, neighbours, turned
from engine.protocol import Illegal

RESTING = {"turn-start", "exploring", "turn-over"}
SHAPES = {turned(exits, rotation): shape for shape, exits in EXITS.items() for rotation in (0, 90, 180, 270)}


def reachable(tiles):
    """The cells that open edges join to the start tile."""
    found, waiting = {"0,0"}, ["0,0"]
    while waiting:
        here = waiting.pop()
        for there, side in neighbours(here).items():
            joined = there in tiles and side in tiles[here].exits and OPPOSITE[side] in tiles[there].exits
            if joined and there not in found:
                found.add(there)
                waiting.append(there)
    return found


def holds(state, whole_pile):
    tiles, things = state.tiles, state.things
    assert len(tiles) + sum(state.pile.values()) + bool(state.placing) == 80
    rooms = [at for at, tile in tiles.items() if tile.kind == "room"]
    assert len(rooms) == 53 - sum(state.bag.values())
    assert set(things) <= set(rooms)
    assert all(thing in MONSTERS or thing == CLOSED_CHEST or thing in SORTS for thing in things.values())
    drawn = dict(state.pile)
    for at, tile in tiles.items():
        if at != "0,0":
            name = f"{tile.kind}-{SHAPES[tile.exits]}"
            drawn[name] = drawn.get(name, 0) + 1
    if state.placing:
        drawn[state.placing.tile] = drawn.get(state.placing.tile, 0) + 1
    assert drawn == whole_pile
    assert all(count > 0 for count in [*state.pile.values(), *state.bag.values()])
    assert reachable(tiles) == set(tiles)

    assert 0 <= state.mp <= 4
    assert state.turn - state.progress >= 0 or state.table.stalemate_rounds == 0
    assert sum(hero.gold for hero in state.heroes) <= 15
    assert len({hero.name for hero in state.heroes}) == len(state.heroes)
    for seat, hero in enumerate(state.heroes, 1):
        assert hero.name in HEROES
        assert 0 <= hero.hp <= 5
        assert len(hero.weapons) <= 2
        assert len(hero.scrolls) <= 3
        assert all(SORTS[weapon] == "weapon" for weapon in hero.weapons)
        assert all(SORTS[scroll] == "scroll" for scroll in hero.scrolls)
        assert hero.at in tiles
        if seat != state.active or state.phase in RESTING:
            assert things.get(hero.at) not in MONSTERS
    assert things.get(state.safe) not in MONSTERS

    assert bool(state.placing) is (state.phase == "placing")
    assert bool(state.fight) is (state.phase in ("combat-decision", "loot"))
    assert bool(state.ending) is (state.phase == "game-over")
    if state.phase in ("encounter", "combat-pending", "combat-decision"):
        assert things[state.hero.at] in MONSTERS
        assert state.phase == "encounter" or state.hero.hp > 0 or state.hero.name == "xanros"
    if state.phase == "encounter":
        assert state.hero.name == "aderyn"
        assert state.mp
    if state.phase == "trap-pending":
        assert tiles[state.hero.at].kind == "trap"
        assert state.hero.name != "tala"
    if state.phase == "reincarnation":
        assert (state.hero.name, state.hero.hp) == ("horan", 0)
    if state.phase in ("turn-start", "exploring"):
        assert state.hero.hp > 0


@pytest.mark.parametrize("seats", DONJON_1.seats)
def test_the_invariants_hold_in_every_position(play, table, seats):
    whole_pile = pile(table.get("traps", 4))
    phases = set()

    def watch(state, legal):
        phases.add(state.phase)
        holds(state, whole_pile)

    endless = table.get("stalemate_rounds") == 0
    game = play(DONJON_1, seats, seats, watch, enough=3_000 if endless else 0, **table)
    assert game.folded() == game.state
    assert endless or game.state.ending in ("dragon", "exhaustion", "stalemate")
    assert ("placing" in phases) is (table.get("orientation") == "player")
    assert "trap-pending" not in phases or table.get("traps") != 0


def test_every_ending_but_exhaustion_is_seen_in_random_play(play):
    """Exhaustion was never seen on a map laid at random; its test lays one by hand."""
    endings = {play(DONJON_1, 5, seed, stalemate_rounds=rounds).state.ending for seed in range(8) for rounds in (2, 30)}
    assert endings == {"dragon", "stalemate"}


@pytest.mark.parametrize("seats", [2, 6])
def test_no_unlisted_action_is_accepted(play, seats):
    """`legal` is complete: what it does not list is refused, whatever the args."""
    parse = DONJON_1.parse
    whatever = [parse("move", {"to": [x, y]}) for x in range(-3, 4) for y in range(-3, 4)]
    whatever += [parse("reincarnate", {"at": [x, y]}) for x in range(-3, 4) for y in range(-3, 4)]
    whatever += [parse("place-tile", {"rotation": rotation}) for rotation in (0, 90, 180, 270)]
    whatever += [parse("swap", {"seat": seat}) for seat in range(1, 7)]
    drops = ({}, *({"drop": item} for item in SORTS if item != "key"))
    whatever += [parse(name, drop) for name in ("take-loot", "pick-up") for drop in drops]
    fixed = set(DONJON_1.actions) - {"move", "reincarnate", "place-tile", "swap", "take-loot", "pick-up"}
    whatever += [parse(name, {}) for name in sorted(fixed)]
    positions = 0

    def watch(state, legal):
        nonlocal positions
        positions += 1
        if positions % 7 == 0:
            listed = [offer.action for offer in legal]
            accepted = [
                action for action in whatever if DONJON_1.refuse(state, max(state.active, 1), action) is None
            ]  # fmt: skip
            assert all(action in listed for action in accepted)
            known = [action for action in listed if action in whatever]
            assert all(action in accepted for action in known)

    for orientation in ("random", "player"):
        play(DONJON_1, seats, 7, watch, orientation=orientation)
    assert positions > 200


def test_a_game_over_refuses_everything(play):
    game = play(DONJON_1, 3, 1)
    for name in DONJON_1.actions:
        args = {
            "move": {"to": [0, 0]},
            "swap": {"seat": 2},
            "reincarnate": {"at": [0, 0]},
            "place-tile": {"rotation": 0},
        }
        for seat in (1, 2, 3):
            with pytest.raises(Illegal) as caught:
                DONJON_1.apply(game.state, seat, DONJON_1.parse(name, args.get(name, {})), None)
            assert caught.value.reason == "game-over"
