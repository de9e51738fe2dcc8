"""Situations 51 to 54: turns, and how a game opens and ends."""

import msgspec
import pytest

from engine.chance import Loaded, Recorded, WrongDraw
from engine.donjon import DONJON_1
from engine.protocol import Illegal, SeatSetup, Setup

ROOM_EAST = {"1,0": "room nesw"}


def test_a_stunned_heros_turn_is_skipped_without_an_action(donjon):  # 51
    donjon.given("tala", others={"horan": {"hp": 0}, "aderyn": {"hp": 0}, "xanros": {}})
    assert donjon.when("end-turn") == ["turn-ended", "turn-skipped", "turn-skipped", "turn-began"]
    donjon.then(active=4, phase="turn-start", mp=4, steps=0, turn=4)
    donjon.then(seat=2, hp=1)
    donjon.then(seat=3, hp=1)


def test_a_stunned_hero_who_is_alone_skips_one_turn_too(donjon):  # 51, its kind
    donjon.given("tala", hp=0, phase="turn-over", mp=0, others={"horan": {"withdrawn": True}})
    assert donjon.when("end-turn") == ["turn-ended", "turn-skipped", "turn-began"]
    donjon.then(active=1, hp=1)


def test_who_is_not_up_may_do_nothing(donjon):  # 52
    donjon.given("tala")
    for action in ("end-turn", "roll-dice", "use-fountain"):
        assert donjon.refused(action, by=2) == "not-your-turn"
    assert donjon.offered(seat=2) == []
    assert donjon.explained(seat=2) == {"next": "not-your-turn"}


@pytest.mark.parametrize(
    ("pending", "given", "steps"),
    [
        ("pending-placement", {"pile": {"room-l": 1}, "options": {"orientation": "player"}}, [("move",)]),
        ("pending-trap", {"tiles": {"1,0": "trap nesw"}}, [("move",)]),
        ("pending-encounter", {"hero": "aderyn", "tiles": ROOM_EAST, "things": {"1,0": "mummy"}}, [("move",)]),
        ("pending-fight", {"tiles": ROOM_EAST, "things": {"1,0": "mummy"}}, [("move",)]),
        ("pending-boost", {"tiles": ROOM_EAST, "things": {"1,0": "mummy"}}, [("move",), ("roll-dice", 2, 2)]),
        ("pending-loot", {"tiles": ROOM_EAST, "things": {"1,0": "mummy"}}, [("move",), ("roll-dice", 6, 6)]),
        (
            "pending-reincarnation",
            {"hero": "horan", "hp": 1, "tiles": {"1,0": "trap ew"}},
            [("move",), ("resolve-trap",)],
        ),
    ],
)
def test_next_waits_for_what_is_pending_and_says_so(donjon, pending, given, steps):  # 52
    donjon.given(**({"hero": "xanros", "hp": 4, "scrolls": ["healing-scroll"]} | given))
    for action, *draws in steps:
        donjon.when(action, *draws, **({"to": [1, 0]} if action == "move" else {}))
    assert donjon.refused("end-turn") == pending
    assert donjon.explained()["next"] == pending
    assert donjon.refused("swap", seat=2) == pending
    for free in ("pick-up", "open-chest", "use-fountain", "use-healing-scroll"):
        assert donjon.refused(free) == pending


def test_a_living_heros_turn_never_ends_by_itself(donjon):  # 53
    donjon.given("tala", mp=1, steps=3, phase="exploring", tiles={"1,0": "corridor ew"})
    donjon.when("move", to=[1, 0])
    donjon.then(active=1, mp=0, phase="exploring")


def test_a_turn_may_be_ended_early(donjon):  # 53, its kind
    donjon.given("tala")
    donjon.when("end-turn")
    donjon.then(active=2)


def test_a_replay_draws_nothing_new(donjon):  # 54
    donjon.given("horan", pile={"room-l": 1, "room-t": 1}, bag={"mummy": 1, "dragon": 1})
    donjon.when("move", "room-l", "180", "dragon", to=[1, 0])
    live, draws = donjon.state, donjon.draws
    assert [draw[0] for draw in draws] == ["tile", "orientation", "token"]
    donjon.given("horan", pile={"room-l": 1, "room-t": 1}, bag={"mummy": 1, "dragon": 1})
    chance = Recorded(draws)
    donjon.rules.apply(donjon.state, 1, donjon.rules.parse("move", {"to": [1, 0]}), chance)
    chance.finish()
    assert donjon.state == live


# How a game opens


def opened(*choices, draws=()):
    setup = Setup(msgspec.to_builtins(DONJON_1.options()), [SeatSetup(choice) for choice in choices])
    state = DONJON_1.initial(setup)
    chance = Loaded(*draws)
    happenings = DONJON_1.begin(state, chance)
    chance.finish()
    return state, happenings, chance.draws


def test_seats_without_a_hero_are_dealt_one_of_those_left_in_seat_order():
    state, told, draws = opened({}, {"hero": "tala"}, {}, draws=("xanros", "aderyn", "3"))
    assert [hero.name for hero in state.heroes] == ["xanros", "tala", "aderyn"]
    assert [type(happening).__name__ for happening in told] == ["HeroDealt", "HeroDealt", "GameBegun", "TurnBegan"]
    assert [draw[:2] for draw in draws] == [["hero", 5], ["hero", 4], ["first-seat", 3]]
    assert (state.active, state.turn, state.phase, state.mp) == (3, 1, "turn-start", 4)


def test_the_last_of_six_heroes_is_no_draw():
    state, _, draws = opened({}, {}, {}, {}, {}, {}, draws=("tala", "horan", "xanros", "aderyn", "argentus", "6"))
    assert state.heroes[5].name == "victorius"
    assert len(draws) == 6


def test_everybody_begins_on_the_start_tile_with_nothing():
    state, _, _ = opened({"hero": "tala"}, {"hero": "horan"}, draws=("2",))
    for hero in state.heroes:
        assert (hero.at, hero.hp, hero.gold, hero.key, hero.weapons, hero.scrolls) == ("0,0", 5, 0, False, [], [])
    assert list(state.tiles) == ["0,0"]
    assert sum(state.pile.values()) == 79
    assert sum(state.bag.values()) == 53


def test_two_seats_may_not_choose_the_same_hero():
    choice = DONJON_1.choice
    DONJON_1.admit(DONJON_1.options(), {1: choice(hero="tala"), 2: choice()}, choice(hero="horan"))
    DONJON_1.admit(DONJON_1.options(), {1: choice()}, choice())
    with pytest.raises(Illegal) as caught:
        DONJON_1.admit(DONJON_1.options(), {1: choice(), 3: choice(hero="tala")}, choice(hero="tala"))
    assert (caught.value.reason, caught.value.details) == ("hero-taken", {"hero": "tala", "seat": 3})


def test_a_hero_that_is_none_cannot_be_chosen():
    with pytest.raises(msgspec.ValidationError):
        msgspec.convert({"hero": "karak"}, DONJON_1.choice)


def test_a_fork_goes_on_where_it_stands(donjon):
    donjon.given("horan", tiles=ROOM_EAST, things={"1,0": "dragon"}, hp=2)
    donjon.when("move", to=[1, 0])
    setup = Setup({}, [], state=msgspec.to_builtins(donjon.state))
    forked = DONJON_1.initial(setup)
    assert DONJON_1.begin(forked, Loaded()) == []
    assert forked == donjon.state
    assert forked is not donjon.state


# How it ends


def test_the_map_closes_and_the_dragon_was_not_found(donjon):
    donjon.given(
        "tala",
        tiles={"0,0": "start e", "1,0": "corridor ew", "3,0": "corridor w"},
        at="1,0",
        pile={"room-i": 1, "corridor-i": 1},
        bag={"mummy": 1, "dragon": 1},
    )
    donjon.when("move", "room-i", "mummy", to=[2, 0])
    donjon.then(phase="game-over", ending="exhaustion")
    assert donjon.rules.outcome(donjon.state).ending == "exhaustion"


@pytest.mark.parametrize(
    "kept_open",
    [
        {"bag": {"mummy": 1}},
        {"pile": {"room-i": 1}},
        {"tiles": {"0,0": "start ne", "1,0": "corridor ew", "3,0": "corridor w"}},
    ],
)
def test_the_game_goes_on_while_the_dragon_is_there_or_the_pile_is_empty_or_the_map_is_open(donjon, kept_open):
    closed = {
        "tiles": {"0,0": "start e", "1,0": "corridor ew", "3,0": "corridor w"},
        "pile": {"room-i": 1, "corridor-i": 1},
        "bag": {"mummy": 1, "dragon": 1},
    }
    donjon.given("tala", at="1,0", **(closed | kept_open))
    draws = [draw for draw, bag in (("room-i", "pile"), ("mummy", "bag")) if len((closed | kept_open)[bag]) > 1]
    donjon.when("move", *draws, to=[2, 0])
    donjon.then(phase="combat-pending", ending="")


def test_rounds_without_progress_end_in_a_stalemate(donjon):
    donjon.given("tala", others={"horan": {}, "aderyn": {"hp": 0}}, options={"stalemate_rounds": 2})
    for _ in range(4):  # of six turns the first skipped one passes by itself
        assert donjon.when("end-turn")[-1] == "turn-began"
    assert donjon.when("end-turn") == ["turn-ended", "game-over"]
    donjon.then(ending="stalemate", turn=6)
    assert donjon.rules.outcome(donjon.state).winners == [1, 2, 3]


@pytest.mark.parametrize(
    ("things", "action", "draws"),
    [
        ({"0,0": "dagger"}, "pick-up", []),
        ({"0,0": "closed-chest"}, "open-chest", []),
        ({}, "move", ["corridor-x"]),
        ({"1,0": "giant-rat"}, "move", []),
    ],
)
def test_progress_starts_the_count_of_rounds_again(donjon, things, action, draws):
    tiles = ROOM_EAST if "1,0" in things else {}
    donjon.given("tala", key=True, things=things, tiles=tiles, options={"stalemate_rounds": 1})
    donjon.when("end-turn")
    donjon.state.active, donjon.state.turn, donjon.state.progress = 1, 2, 0
    donjon.when(action, *draws, **({"to": [1, 0]} if action == "move" else {}))
    if donjon.state.phase == "combat-pending":
        donjon.when("roll-dice", 6, 6)
        donjon.when("leave-loot")
    assert donjon.when("end-turn")[-1] == "turn-began"
    donjon.then(progress=2, ending="")


def test_an_exchange_of_items_is_no_progress(donjon):
    donjon.given("tala", weapons=["dagger", "dagger"], things={"0,0": "axe"})
    donjon.when("pick-up", drop="dagger")
    donjon.then(progress=0, things={"0,0": "dagger"})
    donjon.given("tala", weapons=["dagger"], things={"0,0": "axe"})
    donjon.when("pick-up")
    donjon.then(progress=1)


def test_zero_rounds_are_never_a_stalemate(donjon):
    donjon.given("tala", options={"stalemate_rounds": 0})
    for _ in range(500):
        donjon.when("end-turn")
    donjon.then(ending="")


def test_a_game_that_is_over_refuses_everything(donjon):
    donjon.given("tala", options={"stalemate_rounds": 1})
    donjon.when("end-turn")
    donjon.when("end-turn")
    donjon.then(phase="game-over")
    assert donjon.refused("end-turn") == "game-over"
    assert donjon.refused("end-turn", by=2) == "game-over"
    assert donjon.offered() == []
    assert donjon.explained() == {}


# Table options


def test_at_some_tables_nothing_is_done_without_movement(donjon):
    strict = {"actions_at_zero": False}
    tiles = {"1,0": "room nesw"}
    for thing, action, target in (("dagger", "pick-up", "item"), ("closed-chest", "open-chest", "chest")):
        donjon.given("tala", key=True, mp=1, phase="exploring", tiles=tiles, things={"1,0": thing}, options=strict)
        donjon.when("move", to=[1, 0])
        assert donjon.refused(action) == donjon.explained()[target] == "no-movement-left"
        assert donjon.offered() == ["end-turn"]
    donjon.given("tala", hp=2, mp=0, phase="exploring", scrolls=["healing-scroll"], options=strict)
    assert donjon.refused("use-fountain") == donjon.explained()["fountain"] == "no-movement-left"
    donjon.when("use-healing-scroll")
    donjon.given("xanros", hp=2, tiles={"1,0": "fountain ew"}, others={"tala": {"at": "1,0"}}, options=strict)
    donjon.when("swap", seat=2)
    assert donjon.refused("use-fountain") == "no-movement-left"


def test_options_have_bounds():
    for bad in ({"traps": 21}, {"traps": -1}, {"orientation": "server"}, {"stalemate_rounds": -1}, {"dice": 3}):
        with pytest.raises(msgspec.ValidationError):
            msgspec.convert(bad, DONJON_1.options)


def test_a_draw_too_few_or_too_many_is_noticed(donjon):
    donjon.given("tala", tiles=ROOM_EAST, things={"1,0": "mummy"})
    donjon.when("move", to=[1, 0])
    with pytest.raises(WrongDraw):
        donjon.when("roll-dice", 3)


def test_a_view_shows_every_part_of_the_state_by_name(donjon):
    donjon.given("tala", tiles={"1,0": "room new"}, things={"1,0": "mummy"}, scrolls=["attack-scroll"])
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 2, 3)
    view = donjon.rules.view(donjon.state, None)
    assert set(view) == set(donjon.state.__struct_fields__) - {"placing"}
    assert view["tiles"]["1,0"] == {"exits": "new", "kind": "room"}
    assert view["fight"] == {"bonus": 1, "boost": 0, "kept": 0, "pairs": [[2, 3]]}
    assert view["heroes"][0] == {
        "at": "1,0", "gold": 0, "hp": 5, "key": False, "name": "tala", "scrolls": ["attack-scroll"], "weapons": [],
        "withdrawn": False,
    }  # fmt: skip
    assert view["table"]["orientation"] == "random"
