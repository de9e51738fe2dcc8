"""The odds of a fight, by rolling every possible roll through the rules themselves."""

from collections import Counter
from fractions import Fraction
from itertools import product

import pytest

from engine.chance import Loaded
from engine.donjon import heroes
from engine.donjon.components import MONSTERS
from engine.donjon.state import Hero

BONUSES = (0, 1, 2, 3, 4, 6, 9)
TABLE = """
 5   26/4/6   30/3/3   33/2/1   35/1/0   36/0/0   36/0/0  36/0/0
 8  10/5/21  15/6/15  21/5/10   26/4/6   30/3/3   35/1/0  36/0/0
10   3/3/30   6/4/26  10/5/21  15/6/15  21/5/10   30/3/3  36/0/0
12   0/1/35   1/2/33   3/3/30   6/4/26  10/5/21  21/5/10  33/2/1
15   0/0/36   0/0/36   0/0/36   0/1/35   1/2/33   6/4/26  21/5/10
"""
ODDS = [
    (int(strength), bonus, tuple(map(int, odds.split("/"))))
    for strength, *row in (line.split() for line in TABLE.strip().splitlines())
    for bonus, odds in zip(BONUSES, row, strict=True)
]
WITHOUT_SCROLLS = [row for row in ODDS if row[1] != 9]  # three attack scrolls count for Argentus only
CARRIED = {0: ([], []), 1: (["dagger"], []), 2: (["sword"], []), 3: (["axe"], []), 4: (["axe", "dagger"], []),
           6: (["axe", "axe"], []), 9: (["axe", "axe"], ["attack-scroll"] * 3)}  # fmt: skip


def outcomes(donjon, hero, strength, bonus, rolls, first_step=False):
    """How often each roll wins, ties and loses, told by the rules."""
    monster = next(name for name, monster in MONSTERS.items() if monster.strength == strength)
    weapons, scrolls = CARRIED[bonus]
    counts = Counter()
    donjon.given(
        hero, weapons=weapons, scrolls=scrolls, tiles={"1,0": "room nesw"}, things={"1,0": monster},
        steps=0 if first_step else 1, phase="exploring",
    )  # fmt: skip
    donjon.when("move", to=[1, 0])
    if donjon.state.phase == "encounter":
        donjon.when("fight")
    ready = donjon.state
    for roll, weight in rolls:
        donjon.state = donjon.rules.copy(ready)
        (outcome,) = {"fight-won", "fight-tied", "fight-lost"} & set(donjon.when("roll-dice", *roll))
        counts[outcome] += weight
    return counts["fight-won"], counts["fight-tied"], counts["fight-lost"]


TWO_DICE = [(roll, 1) for roll in product(range(1, 7), repeat=2)]


@pytest.mark.parametrize(("strength", "bonus", "odds"), ODDS)
def test_the_odds_of_a_plain_hero(donjon, strength, bonus, odds):
    assert outcomes(donjon, "argentus", strength, bonus, TWO_DICE) == odds  # his power is the +3 of his scrolls


@pytest.mark.parametrize(("strength", "bonus", "odds"), WITHOUT_SCROLLS)
def test_aderyns_ties_are_wins(donjon, strength, bonus, odds):
    wins, ties, losses = odds
    assert outcomes(donjon, "aderyn", strength, bonus, TWO_DICE) == (wins + ties, 0, losses)


@pytest.mark.parametrize(("strength", "bonus", "odds"), WITHOUT_SCROLLS)
def test_talas_first_step_is_worth_one_more(donjon, strength, bonus, odds):
    assert outcomes(donjon, "tala", strength, bonus, TWO_DICE) == odds
    stronger = tuple(
        sum(1 for (a, b), _ in TWO_DICE if (a + b + bonus + 1 > strength, a + b + bonus + 1 == strength) == case)
        for case in ((True, False), (False, True), (False, False))
    )
    assert outcomes(donjon, "tala", strength, bonus, TWO_DICE, first_step=True) == stronger


def chains(ones):
    """Every die of Victorius with at most ``ones`` ones before its last face, and its probability."""
    for n in range(ones + 1):
        for face in range(2, 7):
            yield (1,) * n + (face,), Fraction(1, 6) ** (n + 1)


def test_a_die_of_victorius_is_even_between_two_and_six():
    """With ever more ones allowed each face comes ever nearer to 1/5: what is missing is what is still rolling."""
    for ones in (0, 1, 5, 12):
        faces = Counter()
        for faces_shown, probability in chains(ones):
            faces[faces_shown[-1]] += probability
        still_rolling = Fraction(1, 6) ** (ones + 1)
        assert faces == dict.fromkeys(range(2, 7), (1 - still_rolling) / 5)


def test_the_rules_roll_those_dice_for_victorius():
    for first, second in product((chain for chain, _ in chains(3)), repeat=2):
        chance = Loaded(first[0], second[0], *first[1:], *second[1:])
        assert heroes.roll(Hero("0,0", name="victorius"), chance) == ((first, second),)
        chance.finish()


@pytest.mark.parametrize(("strength", "bonus", "odds"), WITHOUT_SCROLLS)
def test_the_odds_of_victorius_are_those_of_two_even_dice_from_two_to_six(donjon, strength, bonus, odds):
    rolls = []
    for (first, p), (second, q) in product(chains(1), repeat=2):
        rolls.append(((first[0], second[0], *first[1:], *second[1:]), p * q))
    decided = sum(weight for _, weight in rolls)
    found = tuple(share / decided for share in outcomes(donjon, "victorius", strength, bonus, rolls))
    even = Counter()
    for a, b in product(range(2, 7), repeat=2):
        total = a + b + bonus
        even["win" if total > strength else "tie" if total == strength else "loss"] += Fraction(1, 25)
    assert found == (even["win"], even["tie"], even["loss"])


def test_horan_keeps_the_better_pair_in_all_1296_rolls():
    sums = Counter(a + b for a, b in product(range(1, 7), repeat=2))
    kept = Counter()
    for roll in product(range(1, 7), repeat=4):
        chance = Loaded(*roll)
        pairs = [[first[-1], second[-1]] for first, second in heroes.roll(Hero("0,0", name="horan"), chance)]
        chance.finish()
        assert pairs == [list(roll[:2]), list(roll[2:])]
        kept[sum(pairs[heroes.better(pairs)])] += 1
    at_most = {total: sum(count for other, count in sums.items() if other <= total) for total in range(1, 13)}
    assert kept == {total: at_most[total] ** 2 - at_most[total - 1] ** 2 for total in range(2, 13)}


@pytest.mark.parametrize("strength", [5, 8, 12])
def test_the_odds_of_horan(donjon, strength):
    rolls = [(roll, 1) for roll in product(range(1, 7), repeat=4)]
    (win, tie, loss) = outcomes(donjon, "horan", strength, 0, rolls)
    losing = sum(1 for (a, b), _ in TWO_DICE if a + b < strength)
    not_winning = sum(1 for (a, b), _ in TWO_DICE if a + b <= strength)
    assert (win, tie, loss) == (1296 - not_winning**2, not_winning**2 - losing**2, losing**2)
