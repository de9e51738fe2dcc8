"""Situations 1 to 10: steps, tiles, and what may be used on them. Each test names its situation."""

import pytest

ROOM_EAST = {"1,0": "room ew"}


def test_a_side_without_exit_is_a_cul_de_sac_and_costs_nothing(donjon):  # 1
    donjon.given(at="1,0", tiles={"1,0": "corridor ew", "1,-1": "corridor nesw"}, hero="horan")
    assert donjon.refused("move", to=[1, -1]) == "cul-de-sac"  # a tile
    assert donjon.refused("move", to=[1, 1]) == "cul-de-sac"  # a hidden cell
    donjon.then(mp=4, at="1,0")
    assert donjon.explained()["tile-1--1"] == donjon.explained()["tile-1-1"] == "cul-de-sac"


def test_a_tile_that_has_no_exit_back_is_a_cul_de_sac_but_not_for_argentus(donjon):  # 2
    for hero in ("victorius", "argentus"):
        donjon.given(hero, tiles={"1,0": "corridor ns"}, others={"tala": {}})
        if hero == "victorius":
            assert donjon.refused("move", to=[1, 0]) == "cul-de-sac"
        else:
            donjon.when("move", to=[1, 0])
            donjon.then(at="1,0", mp=3, steps=1)
            assert donjon.happened("hero-moved").sort == "astral"


def test_argentus_cannot_walk_through_a_wall_into_the_dark(donjon):  # 2, its kind
    donjon.given("argentus", at="1,0", tiles={"1,0": "corridor ew"})
    assert donjon.refused("move", to=[1, 1]) == "cul-de-sac"


def test_what_is_no_neighbour_is_a_cul_de_sac(donjon):  # 1, its kind
    donjon.given("argentus", tiles={"1,0": "corridor ew", "2,0": "corridor ew", "1,1": "corridor nesw"})
    assert donjon.refused("move", to=[2, 0]) == "cul-de-sac"
    assert donjon.refused("move", to=[1, 1]) == "cul-de-sac"
    assert donjon.refused("move", to=[0, 0]) == "cul-de-sac"


def test_a_discovery_is_one_click_where_chance_turns_the_tile(donjon):
    donjon.given("horan", pile={"corridor-l": 1, "corridor-x": 1})
    assert donjon.when("move", "corridor-l", "90", to=[0, -1]) == ["tile-revealed", "hero-moved"]
    donjon.then(at="0,-1", mp=3, steps=1, phase="exploring", safe="0,-1", pile={"corridor-x": 1}, progress=1)
    assert donjon.state.tiles["0,-1"].exits == "es"
    assert donjon.draws == [["tile", 2, 0, "corridor-l"], ["orientation", 2, 1, "90"]]


def test_an_l_tile_can_be_turned_in_two_ways_by_the_player(donjon):  # 4
    donjon.given("horan", mp=1, steps=3, phase="exploring", pile={"corridor-l": 1}, options={"orientation": "player"})
    assert donjon.when("move", to=[1, 0]) == ["tile-drawn"]
    donjon.then(phase="placing", mp=0, at="0,0")
    assert donjon.offered() == ["place-tile 180", "place-tile 270"]  # exits south and west, or west and north
    assert donjon.refused("place-tile", rotation=0) == "no-exit-back"
    assert donjon.refused("end-turn") == "pending-placement"
    donjon.when("place-tile", rotation=270)
    donjon.then(phase="exploring", mp=0, at="1,0")
    assert donjon.state.tiles["1,0"].exits == "nw"


def test_a_t_tile_can_be_turned_in_three_ways_and_the_others_in_one(donjon):  # 4, its kind
    for shape, ways in {"t": 3, "l": 2}.items():
        donjon.given("horan", pile={f"corridor-{shape}": 1}, options={"orientation": "player"})
        donjon.when("move", to=[0, 1])
        assert len(donjon.offered()) == ways
    for shape, exits in {"i": "ns", "x": "nesw"}.items():
        donjon.given("horan", pile={f"corridor-{shape}": 1}, options={"orientation": "player"})
        donjon.when("move", to=[0, 1])
        donjon.then(at="0,1", phase="exploring")
        assert donjon.state.tiles["0,1"].exits == exits


def test_other_sides_of_a_new_tile_may_end_at_walls(donjon):
    donjon.given("horan", tiles={"1,1": "corridor ew"}, pile={"corridor-x": 1})
    donjon.when("move", to=[1, 0])
    assert donjon.refused("move", to=[1, 1]) == "cul-de-sac"


def test_a_portal_leads_nowhere_until_there_is_another(donjon):  # 5
    donjon.given("horan", at="1,0", tiles={"1,0": "portal ew"})
    assert donjon.refused("move", to=[1, 0]) == "no-other-portal"
    assert donjon.refused("move", to=[5, 5]) == "cul-de-sac"
    assert donjon.explained()["tile-1-0"] == "no-other-portal"
    donjon.given("horan", at="1,0", tiles={"1,0": "portal ew", "5,5": "portal ns"})
    assert "tile-1-0" not in donjon.explained()
    donjon.when("move", to=[5, 5])
    donjon.then(at="5,5", mp=3, phase="exploring")
    assert donjon.happened("hero-moved").sort == "portal"


def test_a_walk_wins_over_a_jump(donjon):  # 5, its kind
    donjon.given("horan", at="1,0", tiles={"1,0": "portal ew", "2,0": "portal ew"})
    assert donjon.offered().count("move 2,0") == 1
    donjon.when("move", to=[2, 0])
    assert donjon.happened("hero-moved").sort == "walk"


def test_a_neighbouring_portal_behind_a_wall_is_a_jump_away(donjon):  # 5, its kind
    donjon.given("horan", at="1,0", tiles={"1,0": "portal ew", "1,1": "portal ew"})
    donjon.when("move", to=[1, 1])
    assert donjon.happened("hero-moved").sort == "portal"


def test_a_closed_chest_stops_nobody(donjon):  # 6
    donjon.given("horan", mp=2, steps=2, phase="exploring", tiles=ROOM_EAST, things={"1,0": "closed-chest"})
    donjon.when("move", to=[1, 0])
    donjon.then(mp=1, phase="exploring")
    assert donjon.refused("open-chest") == "no-key"
    assert donjon.explained()["chest"] == "no-key"
    donjon.when("move", "corridor-i", to=[2, 0])
    donjon.then(mp=0, at="2,0")


def test_a_chest_reached_with_the_fourth_step_can_be_opened(donjon):  # 7
    donjon.given(
        "horan", mp=1, steps=3, phase="exploring", key=True, tiles=ROOM_EAST, things={"1,0": "closed-chest"}
    )  # fmt: skip
    donjon.when("move", to=[1, 0])
    donjon.then(mp=0, phase="exploring")
    assert donjon.offered() == ["open-chest", "end-turn"]
    assert donjon.when("open-chest") == ["chest-opened", "gold-gained"]
    donjon.then(gold=1, key=False, phase="turn-over", things={}, progress=1)
    assert donjon.offered() == ["end-turn"]


def test_no_chest_no_opening(donjon):  # 7, its kind
    donjon.given("horan", key=True)
    assert donjon.refused("open-chest") == "no-chest"


def test_nothing_is_discovered_from_an_empty_pile(donjon):  # 9
    donjon.given("horan", pile={})
    assert donjon.refused("move", to=[1, 0]) == "pile-empty"
    donjon.then(mp=4)
    assert donjon.explained()["tile-1-0"] == "pile-empty"


def test_without_movement_there_is_no_step(donjon):  # 9, its kind
    donjon.given("horan", mp=0, steps=4, phase="exploring")
    assert donjon.refused("move", to=[1, 0]) == "no-movement-left"
    assert set(donjon.explained()) == {"tile-0--1", "tile-1-0", "tile-0-1", "tile--1-0", "fountain"}
    assert donjon.offered() == ["end-turn"]


def test_the_start_tile_heals_and_ends_the_turn(donjon):  # 10
    donjon.given("horan", hp=3)
    assert donjon.when("use-fountain") == ["healed"]
    donjon.then(hp=5, phase="turn-over", mp=0)
    donjon.given("horan", hp=5)
    assert donjon.refused("use-fountain") == "full-health"
    donjon.then(phase="turn-start", mp=4)


def test_a_fountain_heals_like_the_start_tile_and_a_corridor_does_not(donjon):  # 10, its kind
    donjon.given("horan", hp=1, at="1,0", tiles={"1,0": "fountain sw"})
    donjon.when("use-fountain")
    donjon.then(hp=5)
    donjon.given("horan", hp=1, at="1,0", tiles={"1,0": "corridor sw"})
    assert donjon.refused("use-fountain") == "no-fountain"


def test_a_new_room_shows_one_token_and_only_once(donjon):
    donjon.given("horan", pile={"room-x": 2}, bag={"closed-chest": 1, "mummy": 1})
    assert donjon.when("move", "closed-chest", to=[1, 0]) == ["tile-revealed", "hero-moved", "token-revealed"]
    donjon.then(things={"1,0": "closed-chest"}, bag={"mummy": 1}, phase="exploring")
    donjon.when("move", to=[0, 0])
    assert donjon.when("move", to=[1, 0]) == ["hero-moved"]
    donjon.then(bag={"mummy": 1})
    donjon.when("move", to=[2, 0])  # a single possibility is no draw
    donjon.then(bag={}, phase="combat-pending")


def test_a_room_is_empty_when_the_bag_is(donjon):
    donjon.given("horan", pile={"room-x": 1}, bag={})
    donjon.when("move", to=[1, 0])
    donjon.then(things={}, phase="exploring")


@pytest.mark.parametrize("to", [[100, 0], [0, -100], [1], [1, 0, 0], ["1", 0], [1.0, 0], None])
def test_a_cell_that_is_none_is_malformed(donjon, to):
    donjon.given("horan")
    assert donjon.refused("move", to=to) == "malformed-action"
