"""The box of Dungeon Roll, held against the rulebook."""

import pytest

from engine.dungeon_roll.components import (
    ACTS_AS,
    DUNGEON_FACES,
    PARTY_FACES,
    TREASURES,
    solo_rank,
    treasure_value,
)


def test_there_are_thirty_six_tokens_of_ten_kinds() -> None:
    assert (sum(TREASURES.values()), len(TREASURES)) == (36, 10)


def test_both_dice_have_six_different_faces() -> None:
    assert len(set(PARTY_FACES)) == len(set(DUNGEON_FACES)) == 6


def test_a_token_stands_for_a_face_of_the_party_die() -> None:
    assert set(ACTS_AS) <= set(TREASURES)
    assert set(ACTS_AS.values()) <= set(PARTY_FACES)


@pytest.mark.parametrize(("scales", "value"), [(0, 0), (1, 1), (2, 4), (3, 5), (6, 12)])
def test_situation_70_dragon_scales_are_worth_more_in_pairs(scales: int, value: int) -> None:
    assert treasure_value({"dragon-scales": scales}) == value


def test_a_town_portal_kept_is_worth_two() -> None:
    assert treasure_value({"dragon-scales": 4, "town-portal": 1}) == 10


@pytest.mark.parametrize(
    ("score", "rank"),
    [
        (0, "dragon-fodder"),
        (15, "dragon-fodder"),
        (16, "village-hero"),
        (23, "village-hero"),
        (24, "seasoned-explorer"),
        (30, "champion"),
        (35, "hero-of-ages"),
    ],
)
def test_situation_69_a_solo_score_has_a_rank(score: int, rank: str) -> None:
    assert solo_rank(score) == rank
