"""The best moments of a game, and its scores: told of the first n events, they depend on these alone."""

from collections.abc import Callable
from typing import Any

import pytest

from replay.moments import CLOSE, MOST, moments
from replay.page import replay_page
from replay.replay import NoSuchPosition, Replay, name_of

FIGHTS = ("fight-won", "fight-tied", "fight-lost")


@pytest.fixture(scope="module", params=["donjon@1", "dungeon-roll@1"])
def replay(request: pytest.FixtureRequest, table: Callable[..., Any]) -> Replay:
    played = table(f"moments of {request.param}", request.param).open(3, (None,) * 3).wander(3000)
    assert played.position.outcome is not None
    return Replay(played.game_id, played.events)


def test_scores_are_what_counts_in_the_end(replay: Replay) -> None:
    assert replay.scores(0) == replay.scores(1) == []
    assert replay.scores(len(replay)) == replay.at(len(replay)).outcome.scores  # type: ignore[union-attr]
    with pytest.raises(NoSuchPosition):
        replay.scores(len(replay) + 1)


def test_a_moment_begins_before_what_it_is_about_and_its_title_tells_no_outcome(replay: Replay) -> None:
    found = moments(replay)
    assert found
    for moment in found:
        assert 0 < moment.version < len(replay)
        if moment.kind == "close":
            following = range(moment.version + 1, len(replay) + 1)
            assert any((margin := replay.margin(n)) is not None and margin <= CLOSE for n in following)
        else:
            assert moment.seat is None
    assert sum(moment.kind == "close" for moment in found) <= MOST
    assert {moment.title.rpartition(": ")[2] for moment in found} <= {"by a hair", "The lead changes", "A great gain"}


def test_moments_of_the_first_events_depend_on_these_alone(replay: Replay) -> None:
    for n in range(0, len(replay), 37):
        cut = Replay(replay.game_id, [event for v in range(1, n + 1) if (event := replay.event(v))])
        assert moments(replay, "fr", n) == moments(cut, "fr")


def test_a_close_fight_is_one_that_one_point_would_have_turned(replay: Replay) -> None:
    for n in range(1, len(replay) + 1):
        for happening in replay.happenings(n):
            if name_of(happening) in FIGHTS:
                assert replay.margin(n) == abs(happening.total - happening.strength)  # type: ignore[attr-defined]


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_a_page_has_the_moments_that_began_by_then_or_all_of_them(replay: Replay, language: str) -> None:
    whole = replay_page(replay, limit=1, language=language, spoilers=True)
    assert len(whole["moments"]) == len(moments(replay))
    assert not any("{" in moment["title"] or moment["title"].startswith("table.") for moment in whole["moments"])
    middle = len(replay) // 2
    part = replay_page(replay, at=middle, language=language)
    assert part["moments"] == [one for one in part["moments"] if one["version"] < middle]
