"""Kept positions: with them or without all is the same; what is not what was written is dropped, and told."""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from structlog.testing import capture_logs

from bench.games import endless
from events.event import Event
from events.redis_client import ephemeral
from events.redis_log import RedisLog
from replay.position import Position
from service.positions import NoSuchPosition, Positions
from service.running.observe import SNAPSHOTS_DROPPED
from service.snapshots import EVERY, Snapshots

EVENTS = 5 * EVERY + 7


@pytest.fixture(scope="module")
def events() -> list[Event]:
    return endless(7, 3, EVENTS)


@pytest.fixture
def log(events: list[Event]) -> RedisLog:
    made = RedisLog(ephemeral())
    made.append(events)
    return made


@pytest.fixture
def kept(tmp_path: Path, log: RedisLog, events: list[Event]) -> Path:
    """The file of the game's kept positions, as who folds it leaves it."""
    Positions(log, snapshots=Snapshots(tmp_path)).load(events[0].game_id)
    (file,) = (path for path in tmp_path.rglob("*") if path.is_file())
    return file


@pytest.fixture
def dropped() -> Iterator[Callable[[], list[Any]]]:
    """What was told of dropped files; the metric counts as many."""
    before = SNAPSHOTS_DROPPED._value.get()
    with capture_logs() as told:

        def of() -> list[Any]:
            found = [entry["error"] for entry in told if entry["event"] == "snapshots-dropped"]
            assert SNAPSHOTS_DROPPED._value.get() - before == len(found)
            return found

        yield of


def facts(position: Position) -> dict[str, Any]:
    return {name: getattr(position, name) for name in Position.__slots__ if name not in ("report", "packed")}


def reads(log: RedisLog, monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """How many events each read of the log gives from now on."""
    counts: list[int] = []
    read = log.read

    def counted(*asked: Any, **more: Any) -> Any:
        page = read(*asked, **more)
        counts.append(len(page.items))
        return page

    monkeypatch.setattr(log, "read", counted)
    return counts


def test_every_position_is_the_same_with_kept_ones_and_without(
    log: RedisLog, kept: Path, events: list[Event], dropped: Any
) -> None:
    game_id = events[0].game_id
    position = Position(game_id)
    wanted = [facts(position.copy())]
    for event in events:
        position.advance(event)
        wanted.append(facts(position.copy()))
    for version in (0, 1, 5, EVERY - 1, EVERY, EVERY + 1, 2 * EVERY, 3 * EVERY + 30, EVENTS - 1, EVENTS):
        with_them = Positions(log, snapshots=Snapshots(kept.parents[1])).at(game_id, version)
        without = Positions(log).at(game_id, version)
        assert facts(with_them) == facts(without) == wanted[version], version
    assert dropped() == []
    with pytest.raises(NoSuchPosition):
        Positions(log, snapshots=Snapshots(kept.parents[1])).at(game_id, EVENTS + 1)


def test_a_game_is_loaded_from_its_last_kept_position_with_all_its_times(
    log: RedisLog, kept: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = reads(log, monkeypatch)
    game = Positions(log, snapshots=Snapshots(kept.parents[1])).load(events[0].game_id)
    assert sum(counts) == EVENTS - 5 * EVERY + 1
    assert game.times == [event.t_ms for event in events]
    assert (game.version, game.position.head) == (EVENTS, events[-1].hash)


def test_a_position_in_the_middle_reads_few_events(
    log: RedisLog, kept: Path, events: list[Event], monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = reads(log, monkeypatch)
    Positions(log, snapshots=Snapshots(kept.parents[1])).at(events[0].game_id, 3 * EVERY + 20)
    assert sum(counts) <= EVERY


def test_deleted_files_are_made_again(log: RedisLog, kept: Path, events: list[Event]) -> None:
    before = kept.read_bytes()
    kept.unlink()
    Positions(log, snapshots=Snapshots(kept.parents[1])).load(events[0].game_id)
    assert kept.read_bytes() == before


def test_two_who_fold_the_same_game_keep_each_position_once(log: RedisLog, kept: Path, events: list[Event]) -> None:
    folder = kept.parents[1]
    first, second = Snapshots(folder), Snapshots(folder)
    kept.unlink()
    position, times = Position(events[0].game_id), list[int]()
    for event in events:
        position.advance(event)
        times.append(event.t_ms)
        first.offer(position, event, times)
        second.offer(position, event, times)
    versions = [record.version for record in first.records(events[0].game_id)]
    assert versions == [EVERY * number for number in range(1, 6)]


@pytest.mark.parametrize("place", [3, 18, 40, 700, -1])
def test_a_file_with_one_bit_changed_is_dropped_and_told(
    log: RedisLog, kept: Path, events: list[Event], dropped: Any, place: int
) -> None:
    spoiled = bytearray(kept.read_bytes())
    spoiled[place] ^= 4
    kept.write_bytes(spoiled)
    position = Positions(log, snapshots=Snapshots(kept.parents[1])).at(events[0].game_id, 3 * EVERY + 20)
    assert facts(position) == facts(Positions(log).at(events[0].game_id, 3 * EVERY + 20))
    assert len(dropped()) == 1


def test_a_file_that_was_cut_off_is_dropped_and_told(
    log: RedisLog, kept: Path, events: list[Event], dropped: Any
) -> None:
    kept.write_bytes(kept.read_bytes()[:-1])
    game = Positions(log, snapshots=Snapshots(kept.parents[1])).load(events[0].game_id)
    assert (game.version, game.position.grade) == (EVENTS, "EXACT")
    assert len(dropped()) == 1


def test_a_state_of_another_fingerprint_is_dropped_though_its_file_is_sound(
    tmp_path: Path, log: RedisLog, events: list[Event], dropped: Any
) -> None:
    """Whoever forges a file forges its digests too; the event that it follows says what the state must hash to."""
    liar, position, times = Snapshots(tmp_path), Position(events[0].game_id), list[int]()
    for event in events[: EVERY + 2]:
        position.advance(event)
        times.append(event.t_ms)
        forged = position.copy()
        if forged.state is not None:
            forged.state.heroes[0].gold += 10
        liar.offer(forged, event, times)
    found = Positions(log, snapshots=Snapshots(tmp_path)).at(events[0].game_id, EVERY + 10)
    assert facts(found) == facts(Positions(log).at(events[0].game_id, EVERY + 10))
    assert dropped() == ["its state has another fingerprint than the event"]


def test_a_position_of_another_history_is_dropped(log: RedisLog, kept: Path, events: list[Event], dropped: Any) -> None:
    """As after a restore: the game went on otherwise from where the backup was taken."""
    name = events[0].game_id
    other = endless(8, 3, 2 * EVERY)
    elsewhere = RedisLog(ephemeral())
    elsewhere.append(other)
    (kept.parents[1] / other[0].game_id.hex()[:2]).mkdir(exist_ok=True)
    kept.rename(kept.parents[1] / other[0].game_id.hex()[:2] / other[0].game_id.hex())
    game = Positions(elsewhere, snapshots=Snapshots(kept.parents[1])).load(other[0].game_id)
    assert (game.id, game.version) == (other[0].game_id, 2 * EVERY)
    assert game.id != name
    assert dropped() == [f"it follows another event {2 * EVERY}"]


def test_where_nothing_can_be_written_all_goes_on(tmp_path: Path, log: RedisLog, events: list[Event]) -> None:
    (tmp_path / "file").write_text("in the way")
    with capture_logs() as told:
        game = Positions(log, snapshots=Snapshots(tmp_path / "file")).load(events[0].game_id)
    assert game.version == EVENTS
    assert [entry["event"] for entry in told] == ["snapshots-off"]
