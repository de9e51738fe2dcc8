"""Why a value is what it is: the events that made it, in words, with draws and rules, in every game."""

from collections.abc import Iterator
from typing import Any

import pytest
from msgspec import UNSET

from replay.facts import NoSuchPath, facts, named, path_of, steps_of, value_at
from replay.replay import NoSuchPosition, Replay
from replay.why import why


def leaves(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """(path, value) of everything in named facts that is no container."""
    if isinstance(value, dict) and value:
        for name, part in value.items():
            yield from leaves(part, f"{path}/{path_of([name])}")
    elif not isinstance(value, dict):
        yield path, value


@pytest.fixture(scope="session")
def told(game: Any, table: Any) -> Any:
    """A replay of a game played by whim, by the game's name."""
    kept: dict[str, Replay] = {}

    def play(name: str) -> Replay:
        if name not in kept:
            if name == "donjon":
                played = game("why", events=150)
            else:
                played = table("why we roll", "dungeon-roll@1").open(2, (None, None)).wander(110)
            kept[name] = Replay(played.game_id, played.events)
        return kept[name]

    return play


@pytest.mark.parametrize("name", ["donjon", "dungeon-roll"])
def test_every_number_of_a_state_can_be_asked_about_and_the_last_cause_made_it(told: Any, name: str) -> None:
    replay = told(name)
    for version in (len(replay) // 3, len(replay) - 1):
        asked = list(leaves(facts(replay.at(version).view())))
        assert len(asked) > 30
        for path, value in asked:
            answer = why(replay, version, path)
            assert answer.value == value
            assert answer.causes[-1].new == value
            assert answer.causes[0].old is UNSET or answer.earlier
            assert [cause.old for cause in answer.causes[1:]] == [cause.new for cause in answer.causes[:-1]]
            assert all(cause.steps for cause in answer.causes)


@pytest.mark.parametrize("name", ["donjon", "dungeon-roll"])
def test_nothing_else_changed_the_value(told: Any, name: str) -> None:
    replay = told(name)
    end = len(replay)
    for path in ("seats/1", "phase", "active"):
        named_causes = {cause.event.seq for cause in why(replay, end, path, limit=10_000).causes}
        for version in range(1, end + 1):
            steps = named(replay.at(version), steps_of(path))
            before, after = (value_at(replay.at(n).view() or {}, steps) for n in (version - 1, version))
            assert (before != after) == (version in named_causes)


def test_a_lost_hit_point_is_told_with_its_words_its_dice_and_its_rule(game: Any) -> None:
    played = game("hurt", events=400)
    replay = Replay(played.game_id, played.events)
    lost = next(replay.find(happening="fight-lost"))
    answer = why(replay, lost.version, f"seats/{lost.seat}/hp")
    cause = answer.causes[-1]
    assert cause.event.seq == lost.version
    assert cause.old - cause.new == 1
    assert lost.words in [step.words for step in cause.steps]
    assert "4.6.3" in cause.rules
    rolled = next(cause for cause in reversed(why(replay, lost.version, "phase").causes) if cause.draws)
    assert all("6" in draw for draw in rolled.draws)
    assert rolled.asked
    french = why(replay, lost.version, f"heroes/{lost.seat}/hp", language="fr").causes[-1]
    assert french.steps[0].words != cause.steps[0].words


def test_seats_are_called_so_in_every_game_and_by_the_games_own_name_too(told: Any) -> None:
    replay = told("donjon")
    by_seat, by_hero = (why(replay, len(replay), f"{name}/2/at") for name in ("seats", "/heroes"))
    assert by_seat.path == by_hero.path == "heroes/2/at"
    assert [cause.event.seq for cause in by_seat.causes] == [cause.event.seq for cause in by_hero.causes]


def test_what_is_carried_is_asked_about_by_its_name_and_counted(game: Any) -> None:
    played = game("hurt", events=400)
    replay = Replay(played.game_id, played.events)
    taken = next(step for step in replay.find(happening="loot-taken") if "key" not in step.happening.item)
    sort = "weapons" if taken.happening.item in ("dagger", "sword", "axe") else "scrolls"
    answer = why(replay, taken.version, f"seats/{taken.seat}/{sort}/{taken.happening.item}")
    assert answer.value >= 1
    assert answer.causes[-1].event.seq == taken.version


def test_a_value_that_is_no_more_still_has_its_causes(game: Any) -> None:
    played = game("hurt", events=400)
    replay = Replay(played.game_id, played.events)
    won = next(replay.find(happening="fight-won"))
    answer = why(replay, won.version, f"things/{won.happening.at}")
    assert answer.value in (UNSET, "dagger", "healing-scroll", "attack-scroll", "key", "sword", "axe")
    assert answer.causes[0].new == won.happening.monster
    cleared = why(replay, len(replay), "fight/bonus")
    assert {cause.new for cause in cleared.causes} & {0, 1, 2, 3}


def test_a_container_is_asked_about_as_a_whole_and_the_latest_causes_come_first_to_be_kept(told: Any) -> None:
    replay = told("donjon")
    whole = why(replay, len(replay), "tiles", limit=10_000)
    few = why(replay, len(replay), "tiles", limit=2)
    assert few.causes == whole.causes[-2:]
    assert few.earlier == len(whole.causes) - 2
    assert whole.earlier == 0


@pytest.mark.parametrize(
    ("path", "at"),
    [
        ("seats/9/hp", "heroes"),
        ("seats/1/wings", "heroes/1"),
        ("mp/0", "mp"),
        ("nothing", ""),
        ("seats/0/hp", "heroes"),
    ],
)
def test_a_path_that_leads_nowhere_says_how_far_it_leads_and_what_is_there(told: Any, path: str, at: str) -> None:
    replay = told("donjon")
    with pytest.raises(NoSuchPath) as caught:
        why(replay, len(replay), path)
    assert caught.value.at == at
    there = value_at(replay.at(len(replay)).view(), steps_of(at))
    assert caught.value.known == (sorted(there) if isinstance(there, dict) else [])


def test_before_the_start_and_beyond_the_end_there_is_nothing_to_ask(told: Any) -> None:
    replay = told("donjon")
    for path in ("mp", "", "/"):
        with pytest.raises(NoSuchPath):
            why(replay, 1, path)
    with pytest.raises(NoSuchPosition):
        why(replay, len(replay) + 1, "mp")
    assert why(replay, len(replay), "").path == ""


def test_a_name_with_a_slash_is_written_as_in_a_json_pointer() -> None:
    assert steps_of("a~1b/~0c/d") == ["a/b", "~c", "d"]
    assert path_of(["a/b", "~c", "d"]) == "a~1b/~0c/d"


def test_what_comes_later_changes_no_answer(told: Any) -> None:
    replay = told("donjon")
    half = len(replay) // 2
    short = Replay(replay.game_id, [replay.event(n) for n in range(1, half + 1)])
    assert why(short, half, "seats/1") == why(replay, half, "seats/1")
