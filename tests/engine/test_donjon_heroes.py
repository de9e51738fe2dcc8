"""Situations 32 to 50: the heroes' powers."""

import pytest

ROOM_EAST = {"1,0": "room nesw"}


def test_victorius_rolls_every_one_again(donjon):  # 32
    donjon.given("victorius", tiles=ROOM_EAST, things={"1,0": "dragon"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 1, 1, 1, 6, 4)
    rolled = donjon.happened("dice-rolled")
    assert rolled.pairs == (((1, 1, 6), (1, 4)),)
    assert rolled.kept == (6, 4)
    assert donjon.draws == [
        ["fight", 6, 1], ["fight", 6, 1], ["reroll", 6, 1], ["reroll", 6, 6], ["reroll", 6, 4],
    ]  # fmt: skip
    donjon.then(phase="exploring", mp=3, hp=4, at="0,0")  # the 6 counts


@pytest.mark.parametrize(("dice", "hp"), [((6, 2), 5), ((6, 1, 2), 5), ((6, 3), 5), ((6, 1, 6), 5), ((2, 6), 5)])
def test_victorius_goes_on_with_a_six_whatever_comes_of_the_fight(donjon, dice, hp):  # 33
    donjon.given("victorius", tiles=ROOM_EAST, things={"1,0": "skeleton-turnkey"}, key=True)
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", *dice)
    donjon.then(phase="exploring", mp=3, hp=hp)
    total = donjon.happened("dice-rolled").total
    donjon.then(at="1,0" if total > 8 else "0,0")


def test_victorius_comes_back_for_another_fight_with_its_own_six(donjon):  # 33, its kind
    donjon.given("victorius", tiles=ROOM_EAST, things={"1,0": "dragon"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 6, 2)
    donjon.when("move", to=[1, 0])
    donjon.then(phase="combat-pending", mp=2)
    donjon.when("roll-dice", 5, 5)
    donjon.then(phase="turn-over", hp=3)


def test_victorius_without_movement_keeps_what_lies_on_the_tile(donjon):  # 33, its kind
    donjon.given("victorius", mp=1, tiles=ROOM_EAST, things={"1,0": "wailing-soul"}, weapons=["axe"], phase="exploring")
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 6, 6)
    donjon.then(phase="exploring", mp=0)
    assert donjon.offered() == ["end-turn"]


def test_a_six_does_not_keep_a_stunned_victorius_going(donjon):  # 34
    donjon.given("victorius", hp=1, tiles=ROOM_EAST, things={"1,0": "dragon"})
    donjon.when("move", to=[1, 0])
    assert donjon.when("roll-dice", 6, 2)[-1] == "knocked-out"
    donjon.then(hp=0, phase="turn-over")


def test_victorius_with_a_six_stops_for_loot_only_if_he_takes_it(donjon):  # 35
    for answer, phase, mp in (("take-loot", "turn-over", 0), ("leave-loot", "exploring", 3)):
        donjon.given("victorius", tiles=ROOM_EAST, things={"1,0": "giant-rat"})
        donjon.when("move", to=[1, 0])
        donjon.when("roll-dice", 6, 2)
        donjon.then(phase="loot")
        donjon.when(answer)
        donjon.then(phase=phase, mp=mp)
    donjon.given("victorius", weapons=["axe"], tiles=ROOM_EAST, things={"1,0": "wailing-soul"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 6, 6)
    donjon.then(phase="exploring", mp=3, gold=1)


def test_victorius_who_left_the_loot_may_pick_it_up_at_the_cost_of_his_turn(donjon):  # 35, its kind
    donjon.given("victorius", tiles=ROOM_EAST, things={"1,0": "giant-rat"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 6, 2)
    donjon.when("leave-loot")
    donjon.when("pick-up")
    donjon.then(phase="turn-over", weapons=["dagger"])


def test_at_some_tables_victorius_takes_the_loot_and_goes_on(donjon):  # 35, table option
    for dice, phase in (((6, 2), "exploring"), ((4, 4), "turn-over")):
        donjon.given(
            "victorius", tiles=ROOM_EAST, things={"1,0": "giant-rat"}, options={"victorius_keeps_moving": True}
        )
        donjon.when("move", to=[1, 0])
        donjon.when("roll-dice", *dice)
        donjon.when("take-loot")
        donjon.then(phase=phase, weapons=["dagger"])


def test_the_scrolls_of_argentus_always_count_and_are_never_spent(donjon):  # 36
    scrolls = ["attack-scroll", "healing-scroll", "attack-scroll"]
    donjon.given("argentus", scrolls=list(scrolls), tiles=ROOM_EAST, things={"1,0": "skeleton-turnkey"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 3, 4)
    assert donjon.happened("dice-rolled").scrolls == 2
    donjon.then(phase="loot", scrolls=scrolls)
    donjon.given("argentus", scrolls=list(scrolls), tiles=ROOM_EAST, things={"1,0": "skeleton-turnkey"})
    donjon.when("move", to=[1, 0])
    assert donjon.when("roll-dice", 3, 3) == ["dice-rolled", "fight-tied", "retreated"]
    donjon.then(phase="turn-over", scrolls=scrolls)


def test_argentus_retreats_through_the_wall_he_came_by(donjon):  # 36, its kind
    donjon.given("argentus", tiles={"1,0": "room ns"}, things={"1,0": "dragon"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 1, 1)
    donjon.then(at="0,0", hp=4)


def test_aderyn_fights_or_goes_on(donjon):  # 37
    tiles = {"1,0": "room nesw", "2,0": "room nesw"}
    things = {"1,0": "mummy", "2,0": "skeleton-turnkey"}
    donjon.given("aderyn", tiles=tiles, things=things, scrolls=["healing-scroll"], hp=4)
    assert donjon.when("move", to=[1, 0]) == ["hero-moved", "encounter"]
    donjon.then(phase="encounter", mp=3)
    for action in ("end-turn", "pick-up", "use-healing-scroll"):
        assert donjon.refused(action) == "pending-encounter"
    assert donjon.offered()[0] == "fight"
    assert donjon.when("move", to=[2, 0]) == ["sneaked-past", "hero-moved", "encounter"]
    donjon.then(mp=2, at="2,0")
    assert donjon.when("fight") == ["fight-began"]
    donjon.when("roll-dice", 4, 4)
    donjon.then(phase="loot")
    assert donjon.happened("fight-won").total == 8


def test_aderyn_wins_a_tie_against_the_dragon(donjon):  # 37, its kind
    donjon.given("aderyn", weapons=["axe", "axe"], tiles=ROOM_EAST, things={"1,0": "dragon"})
    donjon.when("move", to=[1, 0])
    donjon.when("fight")
    donjon.when("roll-dice", 4, 5)
    donjon.then(ending="dragon", gold=3)


def test_aderyn_is_not_offered_scrolls_on_a_tie(donjon):  # 37, its kind
    donjon.given("aderyn", scrolls=["attack-scroll"], tiles=ROOM_EAST, things={"1,0": "mummy"})
    donjon.when("move", to=[1, 0])
    donjon.when("fight")
    donjon.when("roll-dice", 4, 3)
    donjon.then(phase="loot", scrolls=["attack-scroll"])


def test_aderyn_discovers_on_from_a_monster(donjon):  # 37, its kind
    donjon.given("aderyn", tiles=ROOM_EAST, things={"1,0": "mummy"}, pile={"corridor-x": 1})
    donjon.when("move", to=[1, 0])
    assert donjon.when("move", to=[2, 0]) == ["tile-revealed", "sneaked-past", "hero-moved"]
    donjon.then(at="2,0", phase="exploring", safe="2,0")


def test_aderyn_without_movement_must_fight(donjon):  # 38
    donjon.given("aderyn", mp=1, steps=3, phase="exploring", tiles=ROOM_EAST, things={"1,0": "mummy"})
    assert donjon.when("move", to=[1, 0]) == ["hero-moved", "fight-began"]
    assert donjon.offered() == ["roll-dice"]


def test_aderyn_retreats_past_the_monsters_she_sneaked_by(donjon):  # 39
    tiles = {"1,0": "corridor ew", "2,0": "room ew", "3,0": "room ew"}
    donjon.given("aderyn", tiles=tiles, things={"2,0": "giant-rat", "3,0": "dragon"})
    for x in (1, 2, 3):
        donjon.when("move", to=[x, 0])
    donjon.when("fight")
    donjon.when("roll-dice", 2, 2)
    donjon.then(at="1,0", hp=4, phase="turn-over")


def test_xanros_gives_his_last_hit_points_for_a_tie(donjon):  # 40
    donjon.given("xanros", hp=2, tiles=ROOM_EAST, things={"1,0": "skeleton-turnkey"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 3, 3)
    assert donjon.offered() == ["sacrifice", "accept-result"]
    assert donjon.when("sacrifice") == ["hit-point-sacrificed", "boost-offered"]
    assert donjon.when("sacrifice") == ["hit-point-sacrificed", "fight-tied", "retreated", "knocked-out"]
    donjon.then(hp=0, at="0,0", phase="turn-over")


def test_xanros_gives_his_last_hit_point_for_a_win_and_gets_the_loot(donjon):  # 40
    donjon.given("xanros", hp=3, tiles=ROOM_EAST, things={"1,0": "skeleton-turnkey"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 3, 3)
    donjon.when("sacrifice")
    donjon.when("sacrifice")
    assert donjon.when("sacrifice") == ["hit-point-sacrificed", "fight-won", "loot-dropped"]
    donjon.then(hp=0, phase="loot")
    assert donjon.when("take-loot") == ["loot-taken", "knocked-out"]
    donjon.then(key=True, phase="turn-over", at="1,0")
    donjon.when("end-turn")
    assert donjon.when("end-turn") == ["turn-ended", "turn-skipped", "turn-began"]


def test_xanros_mixes_scrolls_and_hit_points_and_loses_nothing_below_zero(donjon):  # 40, its kind
    donjon.given("xanros", hp=1, scrolls=["attack-scroll"], tiles=ROOM_EAST, things={"1,0": "dragon"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 3, 3)
    assert donjon.offered() == ["use-attack-scroll", "sacrifice", "accept-result"]
    donjon.when("sacrifice")
    assert donjon.offered() == ["use-attack-scroll", "accept-result"]
    assert donjon.refused("sacrifice") == "no-hit-point"
    assert donjon.when("use-attack-scroll") == ["scroll-used", "fight-lost", "retreated", "knocked-out"]
    donjon.then(hp=0)


def test_xanros_beats_the_dragon_with_his_last_hit_point(donjon):  # 41
    donjon.given("xanros", hp=1, weapons=["axe", "axe"], tiles=ROOM_EAST, things={"1,0": "dragon"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 4, 5)
    donjon.when("sacrifice")
    donjon.then(hp=0, gold=3, ending="dragon")
    assert donjon.rules.outcome(donjon.state).winners == [1]


def test_the_swap_is_the_very_first_action_of_a_turn(donjon):  # 42
    others = {"tala": {"at": "1,0"}}
    donjon.given("xanros", tiles={"1,0": "corridor ew", "0,1": "corridor ns"}, others=others)
    donjon.when("move", to=[0, 1])
    assert donjon.refused("swap", seat=2) == "not-at-turn-start"
    donjon.given("xanros", hp=3, scrolls=["healing-scroll"], tiles={"1,0": "corridor ew"}, others=others)
    donjon.when("use-healing-scroll")
    assert donjon.explained()["hero-2"] == "not-at-turn-start"


def test_the_swap_spends_all_movement_but_leaves_what_lies_there(donjon):  # 42, its kind
    donjon.given(
        "xanros", tiles={"1,0": "room ew"}, things={"1,0": "dagger"}, others={"tala": {"at": "1,0"}, "horan": {}}
    )
    assert "swap 2" in donjon.offered()
    donjon.when("swap", seat=2)
    donjon.then(at="1,0", mp=0, phase="exploring", safe="1,0")
    donjon.then(seat=2, at="0,0")
    assert donjon.offered() == ["pick-up", "end-turn"]


def test_heroes_on_the_same_tile_do_not_swap(donjon):  # 43
    donjon.given("xanros")
    assert donjon.refused("swap", seat=2) == "same-tile"
    assert donjon.refused("swap", seat=1) == "same-tile"
    assert donjon.refused("swap", seat=3) == "no-such-seat"
    assert donjon.explained()["hero-2"] == "same-tile"


def test_only_xanros_swaps_and_sacrifices(donjon):  # 43, its kind
    donjon.given("tala", others={"horan": {"at": "1,0"}}, tiles=ROOM_EAST)
    assert donjon.refused("swap", seat=2) == "not-your-power"
    donjon.given("tala", scrolls=["attack-scroll"], tiles=ROOM_EAST, things={"1,0": "dragon"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 2, 2)
    assert donjon.refused("sacrifice") == "not-your-power"


def test_a_swap_springs_no_trap(donjon):  # 44
    donjon.given("xanros", tiles={"1,0": "trap ew"}, others={"tala": {}, "horan": {"at": "1,0"}})
    assert donjon.when("swap", seat=3) == ["swapped"]
    donjon.then(at="1,0", hp=5, phase="exploring")
    donjon.then(seat=3, at="0,0", hp=5)


def test_a_stunned_hero_is_swapped_and_stays_stunned(donjon):  # 45
    donjon.given("xanros", tiles={"1,0": "corridor ew"}, others={"tala": {"at": "1,0", "hp": 0}})
    donjon.when("swap", seat=2)
    donjon.then(seat=2, at="0,0", hp=0)
    assert donjon.when("end-turn") == ["turn-ended", "turn-skipped", "turn-began"]
    donjon.then(active=1)


def test_a_hero_whose_seat_withdrew_stays_where_it_is(donjon):  # 45, its kind
    donjon.given("xanros", tiles={"1,0": "corridor ew"}, others={"tala": {"at": "1,0", "withdrawn": True}})
    assert donjon.refused("swap", seat=2) == "seat-withdrew"


def test_horan_keeps_the_better_of_two_pairs(donjon):  # 46
    donjon.given("horan", tiles=ROOM_EAST, things={"1,0": "mummy"})
    donjon.when("move", to=[1, 0])
    assert donjon.when("roll-dice", 2, 3, 6, 1) == ["dice-rolled", "fight-tied", "retreated"]
    rolled = donjon.happened("dice-rolled")
    assert rolled.pairs == (((2,), (3,)), ((6,), (1,)))
    assert rolled.kept == (6, 1)
    assert rolled.total == 7


def test_horan_keeps_the_first_of_two_equal_pairs(donjon):  # 46, its kind
    donjon.given("horan", tiles=ROOM_EAST, things={"1,0": "mummy"})
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 5, 3, 4, 4)
    assert donjon.happened("dice-rolled").kept == (5, 3)


@pytest.fixture
def fallen(donjon):
    """Horan, with his last hit point lost to a monster; two fountains are on the table beside the start."""
    tiles = ROOM_EAST | {"0,1": "fountain ne", "0,2": "fountain ns"}
    donjon.given("horan", hp=1, at="0,1", tiles=tiles | {"1,1": "room ew"}, things={"1,1": "dragon"})
    donjon.when("move", to=[1, 1])
    donjon.when("roll-dice", 1, 1, 2, 2)
    return donjon


def test_horan_comes_back_at_any_fountain(fallen):  # 47
    fallen.then(phase="reincarnation", hp=0, at="0,1")
    assert fallen.happened("reincarnation-offered").fountains == ("0,0", "0,1", "0,2")
    offers = ["reincarnate 0,0", "reincarnate 0,1", "reincarnate 0,2", "decline-reincarnation"]
    assert fallen.offered() == offers
    assert fallen.refused("end-turn") == "pending-reincarnation"
    assert fallen.refused("reincarnate", at=[1, 0]) == "no-fountain"
    assert fallen.refused("reincarnate", at=[9, 9]) == "no-fountain"
    fallen.when("reincarnate", at=[0, 2])
    fallen.then(hp=5, at="0,2", phase="turn-over")
    fallen.when("end-turn")
    fallen.when("end-turn")
    fallen.then(active=1, phase="turn-start", hp=5)


def test_horan_may_decline_and_is_stunned_where_he_retreated_to(fallen):  # 47
    assert fallen.when("decline-reincarnation") == ["knocked-out"]
    fallen.then(hp=0, at="0,1", phase="turn-over")
    fallen.when("end-turn")
    assert "turn-skipped" in fallen.when("end-turn")


def test_horan_comes_back_after_a_trap(donjon):  # 48
    donjon.given("horan", hp=1, tiles={"1,0": "trap ew"})
    donjon.when("move", to=[1, 0])
    assert donjon.when("resolve-trap") == ["trap-sprung", "reincarnation-offered"]
    donjon.when("reincarnate", at=[0, 0])
    donjon.then(hp=5, at="0,0")


def test_horan_is_stunned_where_no_fountain_is_known(donjon):  # 48, its kind
    donjon.given("horan", hp=1, at="1,0", tiles={"0,0": "corridor nesw", "1,0": "corridor ew", "2,0": "trap ew"})
    donjon.when("move", to=[2, 0])
    assert donjon.when("resolve-trap") == ["trap-sprung", "knocked-out"]


def test_talas_first_step_into_a_fight_adds_one(donjon):  # 49
    donjon.given("tala", pile={"room-x": 1}, bag={"skeleton-warrior": 1})
    donjon.when("move", to=[1, 0])
    assert donjon.when("roll-dice", 4, 5) == ["dice-rolled", "fight-won", "loot-dropped"]
    assert donjon.happened("dice-rolled").first_step == 1


@pytest.mark.parametrize("first", ["corridor ew", "trap ew", "portal ew"])
def test_talas_first_step_elsewhere_uses_the_bonus_up(donjon, first):  # 49
    donjon.given("tala", tiles={"1,0": first, "2,0": "room ew"}, things={"2,0": "skeleton-warrior"})
    donjon.when("move", to=[1, 0])
    donjon.when("move", to=[2, 0])
    assert donjon.when("roll-dice", 4, 5) == ["dice-rolled", "fight-tied", "retreated"]
    assert donjon.happened("dice-rolled").first_step == 0


def test_a_healing_scroll_is_no_step_of_talas(donjon):  # 50
    donjon.given("tala", hp=3, scrolls=["healing-scroll"], tiles=ROOM_EAST, things={"1,0": "skeleton-warrior"})
    donjon.when("use-healing-scroll")
    donjon.when("move", to=[1, 0])
    donjon.when("roll-dice", 4, 5)
    assert donjon.happened("dice-rolled").first_step == 1
    donjon.then(phase="loot")
