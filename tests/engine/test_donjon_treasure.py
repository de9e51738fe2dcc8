"""Situations 26 to 31: loot and what a hero carries."""

import pytest

from engine.donjon.components import SORTS


@pytest.fixture
def won(donjon):
    """The active hero has just beaten a monster in the room to the east, with three movement points left."""

    def win(hero, monster, **given):
        donjon.given(hero, tiles={"1,0": "room nesw"}, things={"1,0": monster}, **given)
        donjon.when("move", to=[1, 0])
        donjon.when("roll-dice", *([5, 5] if hero != "horan" else [5, 5, 5, 5]))
        return donjon

    return win


def test_a_third_weapon_takes_the_place_of_another(won):  # 26
    donjon = won("tala", "skeleton-king", weapons=["dagger", "sword"])
    assert donjon.offered() == ["take-loot dagger", "take-loot sword", "leave-loot"]
    assert donjon.refused("take-loot") == "slots-full"
    assert donjon.refused("take-loot", drop="axe") == "drop-not-held"
    donjon.when("take-loot", drop="dagger")
    donjon.then(weapons=["sword", "axe"], things={"1,0": "dagger"}, phase="turn-over")
    assert donjon.happened("loot-taken").dropped == "dagger"


def test_the_axe_may_be_left(won):  # 26
    donjon = won("tala", "skeleton-king", weapons=["dagger", "sword"])
    donjon.when("leave-loot")
    donjon.then(weapons=["dagger", "sword"], things={"1,0": "axe"}, phase="turn-over")


def test_a_fourth_scroll_takes_the_place_of_either_sort_but_never_of_a_weapon(won):  # 27
    scrolls = ["attack-scroll", "healing-scroll", "attack-scroll"]
    donjon = won("victorius", "mummy", weapons=["dagger"], scrolls=scrolls)
    assert donjon.offered() == ["take-loot attack-scroll", "take-loot healing-scroll", "leave-loot"]
    assert donjon.refused("take-loot", drop="dagger") == "drop-not-held"
    donjon.when("take-loot", drop="healing-scroll")
    donjon.then(scrolls=["attack-scroll"] * 3, things={"1,0": "healing-scroll"})


def test_with_a_free_slot_nothing_is_dropped(won):  # 27, its kind
    donjon = won("tala", "giant-rat", weapons=["sword"])
    assert donjon.refused("take-loot", drop="sword") == "slot-free"
    donjon.when("take-loot")
    donjon.then(weapons=["sword", "dagger"], things={}, phase="turn-over")


def test_a_second_key_is_not_offered_and_stays(won):  # 28
    donjon = won("tala", "skeleton-turnkey", key=True)
    assert not donjon.happened("loot-dropped").offered
    donjon.then(phase="turn-over", things={"1,0": "key"})


def test_a_second_key_cannot_be_picked_up_and_says_why(donjon):  # 28
    donjon.given("tala", at="1,0", key=True, tiles={"1,0": "room nesw"}, things={"1,0": "key"})
    assert donjon.refused("pick-up") == "key-already-held"
    assert donjon.explained()["item"] == "key-already-held"


def test_the_first_key_is_taken(won):  # 28, its kind
    donjon = won("tala", "skeleton-turnkey")
    assert donjon.refused("take-loot", drop="dagger") == "slot-free"
    donjon.when("take-loot")
    donjon.then(key=True, things={})


def test_who_has_fought_has_done_even_when_the_loot_is_left(won):  # 29
    donjon = won("tala", "giant-rat")
    donjon.then(mp=3, phase="loot")
    donjon.when("leave-loot")
    donjon.then(phase="turn-over")
    assert donjon.refused("move", to=[0, 0]) == "turn-over"


def test_walking_over_an_item_costs_nothing_more(donjon):  # 30
    donjon.given("tala", weapons=["axe", "axe"], tiles={"1,0": "room nesw"}, things={"1,0": "dagger"})
    donjon.when("move", to=[1, 0])
    donjon.then(mp=3, phase="exploring", things={"1,0": "dagger"})
    donjon.when("move", to=[0, 0])
    donjon.then(mp=2)


def test_an_item_picked_up_without_a_step_ends_the_turn(donjon):  # 31
    donjon.given("tala", at="1,0", tiles={"1,0": "room nesw"}, things={"1,0": "dagger"})
    assert donjon.when("pick-up") == ["item-picked-up"]
    donjon.then(weapons=["dagger"], things={}, phase="turn-over", mp=0, progress=1)


def test_an_item_picked_up_with_full_hands_is_an_exchange(donjon):  # 31, its kind
    donjon.given("tala", at="1,0", weapons=["axe", "dagger"], tiles={"1,0": "room nesw"}, things={"1,0": "sword"})
    assert [offer for offer in donjon.offered() if "pick-up" in offer] == ["pick-up dagger", "pick-up axe"]
    assert "item" not in donjon.explained()
    donjon.when("pick-up", drop="dagger")
    donjon.then(weapons=["axe", "sword"], things={"1,0": "dagger"}, phase="turn-over")
    assert donjon.refused("pick-up", drop="axe") == "turn-over"
    assert donjon.explained()["item"] == "turn-over"


def test_where_nothing_lies_nothing_is_picked_up(donjon):
    donjon.given("tala", at="1,0", tiles={"1,0": "room nesw"}, things={"1,0": "closed-chest"})
    assert donjon.refused("pick-up") == "no-item"
    assert donjon.refused("take-loot") == "nothing-pending"


@pytest.mark.parametrize("hp", [1, 4])
def test_a_healing_scroll_gives_one_hit_point_and_costs_no_movement(donjon, hp):
    donjon.given("tala", hp=hp, scrolls=["attack-scroll", "healing-scroll"])
    donjon.when("use-healing-scroll")
    donjon.then(hp=hp + 1, scrolls=["attack-scroll"], mp=4, phase="exploring", steps=0)


def test_a_healing_scroll_is_refused_in_full_health_and_without_one(donjon):
    donjon.given("tala", scrolls=["healing-scroll"])
    assert donjon.refused("use-healing-scroll") == "full-health"
    assert donjon.explained()["scroll-healing"] == "full-health"
    donjon.given("tala", hp=2, scrolls=["attack-scroll"])
    assert donjon.refused("use-healing-scroll") == "no-healing-scroll"


def test_a_healing_scroll_may_be_read_when_the_turn_is_over_but_not_by_the_stunned(donjon):
    donjon.given("tala", hp=3, phase="turn-over", mp=0, scrolls=["healing-scroll"])
    donjon.when("use-healing-scroll")
    donjon.then(hp=4, phase="turn-over")
    donjon.given("tala", hp=0, phase="turn-over", mp=0, scrolls=["healing-scroll"])
    assert donjon.refused("use-healing-scroll") == "stunned"


def test_every_item_has_a_slot_and_loot_of_every_monster_can_be_taken(won):
    for monster, item in (
        ("giant-rat", "dagger"), ("giant-spider", "healing-scroll"), ("mummy", "attack-scroll"),
        ("skeleton-turnkey", "key"), ("skeleton-warrior", "sword"), ("skeleton-king", "axe"),
    ):  # fmt: skip
        donjon = won("tala", monster)
        donjon.when("take-loot")
        hero = donjon.state.heroes[0]
        assert [*hero.weapons, *hero.scrolls, *(["key"] if hero.key else [])] == [item]
        assert item in SORTS
