"""Situations 16 to 25: fights."""

import pytest


@pytest.fixture
def fight(donjon):
    """The active hero, in a given shape, walks east into a room with a monster; then the dice."""

    def enter(hero, monster, *dice, **given):
        others = {name: {} for name in ("tala", "argentus") if name != hero}
        tiles = {"-1,0": "corridor ew", "1,0": "room nesw"}
        donjon.given(hero, tiles=tiles, things={"1,0": monster}, others=others, **({"steps": 1, "mp": 3} | given))
        donjon.when("move", to=[1, 0])
        if dice:
            donjon.when("roll-dice", *dice)
        return donjon

    return enter


def test_a_tie_moves_the_hero_back_without_harm(fight):  # 16
    donjon = fight("argentus", "skeleton-warrior", 4, 3, weapons=["sword"])
    assert [type(happening).__name__ for happening in donjon.told] == ["DiceRolled", "FightTied", "Retreated"]
    donjon.then(phase="turn-over", hp=5, at="0,0", things={"1,0": "skeleton-warrior"})
    assert donjon.happened("dice-rolled").total == 9


def test_an_attack_scroll_turns_a_tie_into_a_win(fight):  # 17
    donjon = fight("victorius", "skeleton-warrior", 4, 3, weapons=["sword"], scrolls=["attack-scroll"])
    donjon.then(phase="combat-decision", at="1,0")
    assert donjon.offered() == ["use-attack-scroll", "accept-result"]
    assert donjon.when("use-attack-scroll") == ["scroll-used", "fight-won", "loot-dropped"]
    donjon.then(scrolls=[], phase="loot", things={"1,0": "sword"})
    assert donjon.happened("fight-won").total == 10


def test_a_scroll_that_is_kept_leaves_the_tie_a_tie(fight):  # 18
    donjon = fight("victorius", "skeleton-warrior", 4, 3, weapons=["sword"], scrolls=["attack-scroll"])
    assert donjon.when("accept-result") == ["fight-tied", "retreated"]
    donjon.then(scrolls=["attack-scroll"], phase="turn-over", at="0,0", hp=5)


def test_scrolls_are_asked_for_one_at_a_time(fight):  # 19
    donjon = fight("victorius", "skeleton-turnkey", 3, 3, scrolls=["attack-scroll"] * 3)
    assert donjon.when("use-attack-scroll") == ["scroll-used", "boost-offered"]  # 7: a defeat by one
    donjon.then(phase="combat-decision")
    assert donjon.when("use-attack-scroll") == ["scroll-used", "boost-offered"]  # 8: a tie
    assert donjon.when("use-attack-scroll") == ["scroll-used", "fight-won", "loot-dropped"]
    donjon.then(scrolls=[])


def test_useless_scrolls_are_offered_and_the_last_one_settles_the_fight(fight):  # 19, its kind
    donjon = fight("victorius", "dragon", 2, 2, scrolls=["attack-scroll", "healing-scroll"])
    donjon.then(phase="combat-decision")
    assert donjon.when("use-attack-scroll") == ["scroll-used", "fight-lost", "retreated"]
    donjon.then(scrolls=["healing-scroll"], hp=4)


def test_a_scroll_may_turn_a_defeat_into_a_tie(fight):  # 19, its kind
    donjon = fight("victorius", "skeleton-turnkey", 4, 3, scrolls=["attack-scroll"])
    assert donjon.when("use-attack-scroll") == ["scroll-used", "fight-tied", "retreated"]
    donjon.then(hp=5)


def test_a_win_on_the_dice_asks_for_no_scroll(fight):  # 20
    donjon = fight("victorius", "giant-rat", 4, 3, scrolls=["attack-scroll"])
    donjon.then(phase="loot", scrolls=["attack-scroll"])


def test_a_healing_scroll_is_no_boost(fight):  # 20, its kind
    donjon = fight("victorius", "giant-rat", 2, 3, scrolls=["healing-scroll"])
    donjon.then(phase="turn-over", at="0,0")


def test_the_last_hit_point_lost_in_a_fight_costs_one_turn(fight):  # 21
    donjon = fight("tala", "skeleton-king", 2, 2, hp=1)
    assert [type(happening).__name__ for happening in donjon.told][-3:] == ["FightLost", "Retreated", "KnockedOut"]
    donjon.then(hp=0, at="0,0", phase="turn-over")
    donjon.when("end-turn")
    assert donjon.when("end-turn") == ["turn-ended", "turn-skipped", "turn-began"]
    donjon.then(hp=1, active=2)
    donjon.when("end-turn")
    donjon.then(active=1, hp=1, mp=4, phase="turn-start")


def test_a_retreat_to_a_fountain_heals_nobody_until_the_next_turn(fight):  # 22
    donjon = fight("tala", "skeleton-king", 2, 2, hp=3)
    donjon.then(at="0,0", hp=2, phase="turn-over")
    assert donjon.refused("use-fountain") == "turn-over"
    assert donjon.explained()["fountain"] == "turn-over"
    donjon.when("end-turn")
    donjon.when("end-turn")
    donjon.when("use-fountain")
    donjon.then(hp=5, seat=1)


def test_a_monster_that_was_not_beaten_waits_as_strong_as_before(fight):  # 23
    donjon = fight("tala", "mummy", 2, 2)
    donjon.when("end-turn")
    assert donjon.when("move", to=[1, 0]) == ["hero-moved", "fight-began"]
    assert donjon.happened("fight-began").strength == 7


def test_the_dragon_ties_at_15_and_falls_at_16(fight):  # 24
    donjon = fight("argentus", "dragon", 4, 5, weapons=["axe", "axe"])
    donjon.then(phase="turn-over", ending="", gold=0)
    donjon = fight("argentus", "dragon", 5, 5, weapons=["axe", "axe"])
    names = [type(happening).__name__ for happening in donjon.told]
    assert names == ["DiceRolled", "FightWon", "GoldGained", "DragonSlain", "GameOver"]
    donjon.then(gold=3, phase="game-over", ending="dragon", things={})
    assert donjon.rules.to_act(donjon.state) == []
    assert donjon.refused("end-turn") == "game-over"
    outcome = donjon.rules.outcome(donjon.state)
    assert (outcome.ending, outcome.winners, outcome.scores) == ("dragon", [1], [3, 0])


def test_slaying_the_dragon_is_not_winning(fight):  # 24, its kind
    donjon = fight("argentus", "dragon", 5, 5, weapons=["axe", "axe"])
    donjon.state.heroes[1].gold = 4
    assert donjon.rules.outcome(donjon.state).winners == [2]
    donjon.state.heroes[1].gold = 3
    assert donjon.rules.outcome(donjon.state).winners == [1, 2]


def test_a_wailing_soul_pays_at_once(fight):  # 25
    donjon = fight("tala", "wailing-soul", 6, 6, weapons=["dagger"])
    assert [type(happening).__name__ for happening in donjon.told] == ["DiceRolled", "FightWon", "GoldGained"]
    donjon.then(gold=1, phase="turn-over", things={}, at="1,0", key=False)


def test_a_fight_cannot_be_left(fight):
    donjon = fight("victorius", "mummy")
    assert donjon.offered() == ["roll-dice"]
    for action in ("end-turn", "use-fountain", "use-healing-scroll", "pick-up"):
        assert donjon.refused(action) == "pending-fight"
    assert donjon.refused("move", to=[0, 0]) == "pending-fight"
    donjon.when("roll-dice", 2, 2)
    assert donjon.refused("roll-dice") == "nothing-pending"


def test_dice_scrolls_and_results_belong_to_fights(donjon):
    donjon.given("xanros", scrolls=["attack-scroll"])
    for action in ("roll-dice", "use-attack-scroll", "sacrifice", "accept-result", "fight"):
        assert donjon.refused(action) == "nothing-pending"


def test_weapons_add_up(fight):
    donjon = fight("tala", "skeleton-king", 3, 3, weapons=["axe", "sword"])
    rolled = donjon.happened("dice-rolled")
    assert (rolled.weapons, rolled.scrolls, rolled.first_step, rolled.total, rolled.strength) == (5, 0, 0, 11, 10)
    donjon.then(phase="loot")


def test_other_heroes_in_the_room_are_not_touched(fight):
    donjon = fight("victorius", "skeleton-king", 2, 2)
    assert [hero.hp for hero in donjon.state.heroes] == [4, 5, 5]
