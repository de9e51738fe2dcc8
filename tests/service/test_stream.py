"""The hub of live streams, in plain threads on a database in memory."""

import json
import random
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pytest
import redis

from engine.protocol import Happening
from events.event import Event
from events.log import EventLog, FeedPage, Page, Unavailable
from replay.position import Position
from service import commands
from service.bootstrap import Deps, bootstrap
from service.config import Config
from service.positions import Positions
from service.stream import HEARTBEAT, WINDOW, Hub

KEYS = "test=" + "5a" * 32
ALICE, BOB, CARL = (bytes([n]) * 16 for n in (1, 2, 3))


class FakeClock:
    now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms


class CountingLog:
    """A log that counts what is asked of it, and can be out of reach."""

    def __init__(self, log: EventLog) -> None:
        self._log = log
        self.reads: list[bytes] = []
        self.down = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._log, name)

    def _reach(self) -> None:
        if self.down:
            raise Unavailable("out of reach, says the test")

    def read(self, game_id: bytes, after: int = 0, limit: int = 500) -> Page:
        self._reach()
        self.reads.append(game_id)
        return self._log.read(game_id, after, limit)

    def follow(self, cursors: Any, block_ms: int = 50) -> FeedPage:
        self._reach()
        return self._log.follow(cursors, 50)


@dataclass
class Room:
    """A service in memory: its clock, its hub, and how to play in it."""

    deps: Deps
    clock: FakeClock
    log: CountingLog
    hub: Hub
    rendered: list[tuple[int, str]]

    def table(self, watching: str = "open", players: Sequence[bytes] = (ALICE, BOB), name: str = "t") -> bytes:
        table = commands.Table("donjon@1", len(players), {}, "public", watching, sit=None)
        game, _ = commands.create(self.deps, players[0], table, name)
        for player in players:
            commands.join(self.deps, game.id, player, None, {}, None)
        return game.id

    def started(self, watching: str = "open", players: Sequence[bytes] = (ALICE, BOB), name: str = "t") -> bytes:
        game_id = self.table(watching, players, name)
        commands.start(self.deps, game_id)
        self.clock.now_ms += 1
        return game_id

    def act(self, game_id: bytes, times: int = 1, until: Callable[[Position], bool] = lambda _: False) -> None:
        """Any legal actions, of whoever is to act."""
        whim = random.Random(7)
        for _ in range(times):
            position = self.position(game_id)
            if position.closed or until(position):
                return
            assert position.rules is not None
            seat = position.to_act[0]
            action = whim.choice(position.rules.legal(position.state, seat)).action
            commands.submit(self.deps, game_id, seat, action, position.version, None)

    def resign_all(self, game_id: bytes) -> None:
        for seat, _ in self.position(game_id).seat_items():
            if not self.position(game_id).closed:
                commands.resign(self.deps, game_id, seat)

    def position(self, game_id: bytes) -> Position:
        return self.deps.positions.load(game_id).position

    def watch(self, game_id: bytes, after: int = 0, delay_ms: int | None = 0) -> "Watcher":
        return Watcher(self.hub.watch(game_id, after, "en", delay_ms))


@dataclass(frozen=True)
class Message:
    """One frame, read."""

    event: str
    id: int | None
    data: Any


class Watcher:
    """Reads a stream in a thread of its own."""

    def __init__(self, frames: Iterator[bytes]) -> None:
        self._frames = frames
        self.raw: list[bytes] = []
        self.messages: list[Message] = []
        self.ended = False
        self._news = threading.Condition()
        self._leave = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        for chunk in self._frames:
            with self._news:
                self.raw.append(chunk)
                self.messages += read(chunk)
                self._news.notify_all()
            if self._leave.is_set():
                break
        self._frames.close()  # type: ignore[attr-defined] # a generator
        with self._news:
            self.ended = True
            self._news.notify_all()

    @property
    def seqs(self) -> list[int]:
        return [message.id for message in self.messages if message.id is not None]

    @property
    def events(self) -> list[str]:
        return [message.event for message in self.messages]

    def until(self, condition: Callable[["Watcher"], bool]) -> None:
        with self._news:
            assert self._news.wait_for(lambda: condition(self), timeout=20), f"got {self.messages[-5:]}"

    def leave(self) -> None:
        """Go at the next frame."""
        self._leave.set()
        self.until(lambda watcher: watcher.ended)


def read(chunk: bytes) -> Iterator[Message]:
    for block in chunk.decode().split("\n\n"):
        fields = dict(line.split(": ", 1) for line in block.splitlines() if ": " in line)
        if "data" in fields:
            number = int(fields["id"]) if "id" in fields else None
            yield Message(fields.get("event", "message"), number, json.loads(fields["data"]))


@pytest.fixture
def room(new_database: Callable[[], redis.Redis]) -> Iterator[Room]:
    clock = FakeClock()
    deps = bootstrap(Config.read({}, ephemeral=True, keys=KEYS), new_database(), clock)
    rendered: list[tuple[int, str]] = []

    def render(position: Position, event: Event, happenings: list[Happening], language: str) -> bytes:
        assert position.version == event.seq
        rendered.append((event.seq, language))
        return json.dumps({"seq": event.seq, "happenings": len(happenings), "lang": language}).encode()

    log = CountingLog(deps.log)
    hub = Hub(log, Positions(log), render, clock, heartbeat_s=0.2)
    yield Room(deps, clock, log, hub, rendered)
    hub.close()


def test_nobody_reads_the_feeds_for_nobody(room: Room) -> None:
    first, second = room.started(), room.started(name="u")
    watchers = [room.watch(first), room.watch(second)]
    own = Watcher(room.hub.watch_own(ALICE, [first]))
    for watcher in (*watchers, own):
        watcher.until(lambda w: bool(w.seqs or w.events))
    reader = room.hub._reader
    assert reader is not None
    assert reader.is_alive()
    for watcher in (*watchers, own):
        watcher.leave()
    reader.join(20)
    assert not reader.is_alive()
    room.act(first, 3)
    late = room.watch(first)
    late.until(lambda w: len(w.seqs) == room.position(first).version)
    room.act(first, 3)
    late.until(lambda w: len(w.seqs) == room.position(first).version)


def test_a_watcher_gets_what_was_and_then_what_comes_each_event_once(room: Room) -> None:
    game_id = room.started()
    room.act(game_id, 5)
    before = room.position(game_id).version
    watcher = room.watch(game_id)
    watcher.until(lambda w: len(w.seqs) == before)
    room.act(game_id, 10)
    now = room.position(game_id).version
    watcher.until(lambda w: len(w.seqs) >= now)
    assert watcher.seqs == list(range(1, now + 1))
    assert all(message.data["seq"] == message.id for message in watcher.messages)


def test_a_stream_opens_with_how_soon_to_come_back(room: Room) -> None:
    watcher = room.watch(room.table())
    watcher.until(lambda w: bool(w.raw))
    assert watcher.raw[0].startswith(b"retry: ")


def test_watchers_who_come_and_go_while_others_write_miss_nothing_and_get_nothing_twice(room: Room) -> None:
    game_id = room.started()
    writer = threading.Thread(target=room.act, args=(game_id, 150))
    writer.start()
    got: list[int] = []
    while writer.is_alive() or got[-1] < room.position(game_id).version:
        watcher = room.watch(game_id, after=got[-1] if got else 0)
        watcher.until(lambda w: len(w.seqs) >= 3 or not writer.is_alive())
        watcher.leave()
        got += watcher.seqs
    writer.join()
    assert got == list(range(1, room.position(game_id).version + 1))


def test_fifty_watchers_cost_one_read_and_one_writing_of_each_event(room: Room) -> None:
    game_id = room.started()
    version = room.position(game_id).version
    watchers = [room.watch(game_id, after=version) for _ in range(50)]
    for watcher in watchers:
        watcher.until(lambda w: HEARTBEAT in w.raw)
    room.log.reads.clear()
    room.act(game_id, 10)
    now = room.position(game_id).version
    for watcher in watchers:
        watcher.until(lambda w: len(w.seqs) == now - version)
        assert watcher.seqs == list(range(version + 1, now + 1))
    assert sorted(room.rendered) == [(seq, "en") for seq in range(version + 1, now + 1)]
    assert len(room.log.reads) <= now - version + 2, "reads may be fewer than events, and one more a quiet while"


def test_each_language_is_written_once(room: Room) -> None:
    game_id = room.started()
    version = room.position(game_id).version
    watchers = [Watcher(room.hub.watch(game_id, version, language)) for language in ("en", "fr", "fr")]
    for watcher in watchers:
        watcher.until(lambda w: HEARTBEAT in w.raw)
    room.act(game_id, 1)
    for watcher in watchers:
        watcher.until(lambda w: bool(w.seqs))
    assert [watcher.messages[0].data["lang"] for watcher in watchers] == ["en", "fr", "fr"]
    assert sorted(room.rendered) == [(version + 1, "en"), (version + 1, "fr")]


def test_a_watcher_that_fell_behind_the_last_frames_reads_on_from_the_log(room: Room) -> None:
    game_id = room.started()
    version = room.position(game_id).version
    slow = room.hub.watch(game_id, version, "en")
    next(slow)
    fast = room.watch(game_id, version)
    room.act(game_id, 1)
    got = list(read(next(slow)))
    room.act(game_id, WINDOW + 20)
    now = room.position(game_id).version
    assert now - version > WINDOW
    fast.until(lambda w: w.seqs[-1:] == [now])
    while got[-1].id != now:
        got += read(next(slow))
    assert [message.id for message in got] == list(range(version + 1, now + 1))
    assert len(room.hub._channels[game_id].window) == WINDOW


def test_a_quiet_stream_has_a_heartbeat(room: Room) -> None:
    watcher = room.watch(room.table())
    watcher.until(lambda w: w.raw.count(HEARTBEAT) >= 2)


def test_who_resumes_behind_what_is_not_there_yet_has_a_heartbeat_else_nobody_would_see_them_go(room: Room) -> None:
    watcher = room.watch(room.table(), after=1_000)
    watcher.until(lambda w: w.raw.count(HEARTBEAT) >= 2)


def test_a_game_that_is_closed_ends_its_streams_with_an_end_event(room: Room) -> None:
    game_id = room.started()
    watcher = room.watch(game_id)
    room.resign_all(game_id)
    watcher.until(lambda w: w.ended)
    closed = room.position(game_id)
    assert watcher.seqs == list(range(1, closed.version + 1))
    assert watcher.messages[-1].event == "end"
    assert watcher.messages[-1].data == {"game_id": game_id.hex(), "version": closed.version, "status": "finished"}


def test_a_closed_game_is_streamed_to_its_end_and_ends(room: Room) -> None:
    game_id = room.started()
    room.resign_all(game_id)
    watcher = room.watch(game_id, after=2)
    watcher.until(lambda w: w.ended)
    assert watcher.seqs == list(range(3, room.position(game_id).version + 1))
    assert watcher.events[-1] == "end"


def test_who_resumes_after_the_last_event_of_a_closed_game_gets_the_end_alone(room: Room) -> None:
    game_id = room.started()
    room.resign_all(game_id)
    watcher = room.watch(game_id, after=room.position(game_id).version)
    watcher.until(lambda w: w.ended)
    assert watcher.events == ["end"]


def test_a_delayed_watcher_sees_an_event_when_its_delay_is_over(room: Room) -> None:
    game_id = room.started("delayed:60")
    start = room.position(game_id).version
    watcher = room.watch(game_id, delay_ms=60_000)
    watcher.until(lambda w: len(w.seqs) == start)
    room.act(game_id, 1)
    room.clock.now_ms += 30_000
    room.act(game_id, 1)
    quiet = len(watcher.raw)
    watcher.until(lambda w: w.raw[quiet:].count(HEARTBEAT) >= 2)
    assert len(watcher.seqs) == start
    room.clock.now_ms += 30_000
    watcher.until(lambda w: w.seqs[-1:] == [start + 1])
    quiet = len(watcher.raw)
    watcher.until(lambda w: w.raw[quiet:].count(HEARTBEAT) >= 2)
    assert watcher.seqs == list(range(1, start + 2))


def test_nothing_is_delayed_once_the_game_is_over(room: Room) -> None:
    game_id = room.started("delayed:3600")
    watcher = room.watch(game_id, delay_ms=3_600_000)
    room.act(game_id, 10)
    room.resign_all(game_id)
    watcher.until(lambda w: w.ended)
    assert watcher.seqs == list(range(1, room.position(game_id).version + 1))


def test_a_table_that_lets_nobody_watch_shows_its_start_and_then_its_end(room: Room) -> None:
    game_id = room.table("none")
    watcher = room.watch(game_id, delay_ms=None)
    commands.start(room.deps, game_id)
    room.clock.now_ms += 1
    start = room.position(game_id).version
    room.act(game_id, 5)
    watcher.until(lambda w: len(w.seqs) == start)
    quiet = len(watcher.raw)
    watcher.until(lambda w: w.raw[quiet:].count(HEARTBEAT) >= 2)
    assert len(watcher.seqs) == start
    room.resign_all(game_id)
    watcher.until(lambda w: w.ended)
    assert watcher.seqs == list(range(1, room.position(game_id).version + 1))


def test_the_last_watcher_to_leave_frees_the_game(room: Room) -> None:
    game_id = room.started()
    watchers = [room.watch(game_id) for _ in range(2)]
    for watcher in watchers:
        watcher.until(lambda w: bool(w.seqs))
    watchers[0].leave()
    assert game_id in room.hub._channels
    watchers[1].leave()
    assert game_id not in room.hub._channels


def test_closing_the_hub_ends_every_stream_without_an_end_event(room: Room) -> None:
    game_id = room.started()
    watcher, own = room.watch(game_id), Watcher(room.hub.watch_own(ALICE, [game_id]))
    watcher.until(lambda w: bool(w.seqs))
    own.until(lambda w: bool(w.raw))
    room.hub.close()
    watcher.until(lambda w: w.ended)
    own.until(lambda w: w.ended)
    assert "end" not in watcher.events


def test_a_stream_goes_on_where_it_was_when_the_database_comes_back(room: Room) -> None:
    game_id = room.started()
    watcher = room.watch(game_id)
    watcher.until(lambda w: len(w.seqs) == room.position(game_id).version)
    room.log.down = True
    room.act(game_id, 5)
    quiet = len(watcher.raw)
    watcher.until(lambda w: w.raw[quiet:].count(HEARTBEAT) >= 1)
    room.log.down = False
    now = room.position(game_id).version
    watcher.until(lambda w: len(w.seqs) == now)
    assert watcher.seqs == list(range(1, now + 1))


def test_who_sees_later_misses_nothing_that_was_written_while_the_database_was_away(room: Room) -> None:
    game_id = room.started(watching="delayed:60")
    late, now = room.watch(game_id, delay_ms=60_000), room.watch(game_id)
    now.until(lambda w: len(w.seqs) == room.position(game_id).version)
    for down in (False, True, False):  # frames of the first events and of the last are kept
        room.log.down = down
        room.act(game_id, 8)
        if down:
            quiet = len(now.raw)
            now.until(lambda w, quiet=quiet: HEARTBEAT in w.raw[quiet:])
            room.log.down = False
        now.until(lambda w: len(w.seqs) == room.position(game_id).version)
        room.clock.now_ms += 1_000
    end = room.position(game_id).version
    room.clock.now_ms += 58_000  # less than the delay of the last ones
    late.until(lambda w: len(w.seqs) >= end - 8)
    room.clock.now_ms += 60_000
    late.until(lambda w: len(w.seqs) >= end)
    assert late.seqs == now.seqs == list(range(1, end + 1))


def test_an_event_whose_frame_could_not_be_written_comes_though_nothing_follows_it(
    room: Room, monkeypatch: pytest.MonkeyPatch
) -> None:
    game_id = room.started()
    watcher = room.watch(game_id)
    watcher.until(lambda w: len(w.seqs) == room.position(game_id).version)
    render, failed = room.hub._render, threading.Event()

    def names_are_away(*arguments: Any) -> bytes:
        if not failed.is_set():
            failed.set()
            raise Unavailable("out of reach, says the test")
        return render(*arguments)

    monkeypatch.setattr(room.hub, "_render", names_are_away)
    room.act(game_id, 1)
    watcher.until(lambda w: len(w.seqs) == room.position(game_id).version)
    assert failed.is_set()
    assert watcher.seqs == list(range(1, room.position(game_id).version + 1))


def test_who_has_to_read_what_was_while_the_database_is_away_stays_and_reads_on(room: Room) -> None:
    game_id = room.started()
    version = room.position(game_id).version
    first = room.watch(game_id, after=version)
    first.until(lambda w: HEARTBEAT in w.raw)
    room.log.down = True
    second = room.watch(game_id)
    second.until(lambda w: HEARTBEAT in w.raw)
    room.log.down = False
    second.until(lambda w: len(w.seqs) == version)
    assert not second.ended


def test_what_no_feed_line_tells_is_found_at_the_next_heartbeat(room: Room) -> None:
    game_id = room.started()
    watcher = room.watch(game_id)
    watcher.until(lambda w: len(w.seqs) == room.position(game_id).version)
    room.hub._read_feeds = lambda: None  # type: ignore[method-assign]
    for shard in "0123456789abcdef":
        room.deps.redis.delete(f"{{s{shard}}}:feed")
    room.act(game_id, 1)
    watcher.until(lambda w: len(w.seqs) == room.position(game_id).version)


# -- a player's own games ----------------------------------------------------------------------------------------------


def own_turns(watcher: Watcher, game_id: bytes) -> list[list[int]]:
    return [m.data["seats"] for m in watcher.messages if m.event == "your-turn" and m.data["game_id"] == game_id.hex()]


def test_who_opens_their_own_stream_learns_whose_turn_it_is(room: Room) -> None:
    game_id = room.started()
    acting = room.position(game_id).to_act[0]
    player = (ALICE, BOB)[acting - 1]
    watcher = Watcher(room.hub.watch_own(player, [game_id]))
    watcher.until(lambda w: bool(w.messages))
    assert watcher.messages == [
        Message(
            "your-turn",
            None,
            {
                "game_id": game_id.hex(),
                "version": room.position(game_id).version,
                "status": "playing",
                "seats": [acting],
            },
        )
    ]


def test_a_turn_is_told_when_it_comes_and_not_at_every_action_of_it(room: Room) -> None:
    game_id = room.started()
    first = room.position(game_id).to_act[0]
    other = 3 - first
    watcher = Watcher(room.hub.watch_own((ALICE, BOB)[other - 1], [game_id]))
    watcher.until(lambda w: bool(w.raw))
    room.act(game_id, 500, until=lambda position: position.to_act == [other])
    watcher.until(lambda w: own_turns(w, game_id) == [[other]])
    room.act(game_id, 500, until=lambda position: position.to_act == [first])
    room.act(game_id, 500, until=lambda position: position.to_act == [other])
    watcher.until(lambda w: own_turns(w, game_id) == [[other], [other]])


def test_both_seats_of_one_player_are_told_apart(room: Room) -> None:
    game_id = room.started(players=(ALICE, ALICE))
    first = room.position(game_id).to_act[0]
    watcher = Watcher(room.hub.watch_own(ALICE, [game_id]))
    watcher.until(lambda w: own_turns(w, game_id) == [[first]])
    room.act(game_id, 500, until=lambda position: position.to_act == [3 - first])
    watcher.until(lambda w: own_turns(w, game_id) == [[first], [3 - first]])


def test_a_game_joined_later_is_told_from_its_start_to_its_end(room: Room) -> None:
    watcher = Watcher(room.hub.watch_own(BOB, []))
    watcher.until(lambda w: bool(w.raw))
    game_id = room.table()
    commands.start(room.deps, game_id)
    watcher.until(lambda w: "started" in w.events)
    room.resign_all(game_id)
    watcher.until(lambda w: w.events[-1:] == ["finished"])
    assert watcher.messages[-1].data["status"] == "finished"
    watcher.until(lambda w: not room.hub._channels)


def test_a_bot_in_a_players_place_is_not_the_players_turn(room: Room) -> None:
    game_id = room.started()
    acting = room.position(game_id).to_act[0]

    def hand_over(game: Any) -> Any:
        draft = commands.drafted(room.deps, game)
        draft.hand_over(acting, ("wanderer", 1))
        return draft

    commands.change(room.deps, game_id, hand_over)
    watcher = Watcher(room.hub.watch_own((ALICE, BOB)[acting - 1], [game_id]))
    watcher.until(lambda w: HEARTBEAT in w.raw)
    assert watcher.messages == []


def test_strangers_games_are_looked_at_no_more_once_they_have_started(room: Room) -> None:
    watcher = Watcher(room.hub.watch_own(CARL, []))
    watcher.until(lambda w: bool(w.raw))
    game_id = room.started()
    (own,) = room.hub._own
    watcher.until(lambda w: game_id in own.strangers)
    room.act(game_id, 5)
    watcher.until(lambda w: HEARTBEAT in w.raw)
    assert watcher.messages == []
    assert game_id not in room.hub._channels


# -- over HTTP ---------------------------------------------------------------------------------------------------------

SSE = {"Accept": "text/event-stream"}


def stream_of(answer: Any) -> Watcher:
    assert answer.status_code == 200, answer.text
    assert answer.content_type == "text/event-stream; charset=utf-8"
    assert answer.headers["Cache-Control"] == "no-store"
    assert answer.headers["X-Accel-Buffering"] == "no"
    return Watcher(iter(answer.response))


def test_the_data_of_a_frame_is_the_event_as_the_page_shows_it(table: Any) -> None:
    page = table.creator.get(f"{table.path}/events?lang=fr").json["events"]
    watcher = stream_of(table.creator.get(f"{table.path}/events?lang=fr", SSE))
    watcher.until(lambda w: len(w.seqs) == len(page))
    assert [message.data for message in watcher.messages] == page
    version = table.version
    table.plays(2)
    watcher.until(lambda w: len(w.seqs) == version + 2)
    page = table.creator.get(f"{table.path}/events?lang=fr").json["events"]
    assert [message.data for message in watcher.messages] == page, "a live frame is no other than one read later"


def test_last_event_id_goes_before_after(table: Any) -> None:
    watcher = stream_of(table.creator.get(f"{table.path}/events?after=1", {**SSE, "Last-Event-ID": "3"}))
    watcher.until(lambda w: bool(w.seqs))
    assert watcher.seqs[0] == 4


def test_seats_see_at_once_what_watchers_see_later(house: Any) -> None:
    table = house.player().opens(watching="delayed:60")
    assert table.seat(table.creator).status_code == 201
    table.starts()
    house.clock.pass_seconds(1)
    start = table.version
    seated = stream_of(table.creator.get(f"{table.path}/events", SSE))
    auditor = stream_of(house.auditor().get(f"{table.path}/events", SSE))
    looking_on = stream_of(house.nobody.get(f"{table.path}/events", SSE))
    table.plays(3)
    for watcher in (seated, auditor):
        watcher.until(lambda w: len(w.seqs) == start + 3)
    looking_on.until(lambda w: len(w.seqs) == start)
    for seat in (1, 2):
        table.creator.post(f"{table.path}/seats/{seat}/resign")
    looking_on.until(lambda w: w.ended)
    assert looking_on.seqs == list(range(1, table.version + 1))


def test_nobody_watches_a_private_table_from_outside(house: Any, refusal: Any) -> None:
    table = house.player().opens(visibility="private")
    assert refusal(house.player("Bob").get(f"{table.path}/events", SSE)) == "404 game-not-found"


# -- past the server ---------------------------------------------------------------------------------------------------


class FakeLine:
    """A connection that takes so many bytes at once, then and again fails."""

    def __init__(self, room_for: int = 1_000_000) -> None:
        self.room_for = room_for
        self.got = b""
        self.broken = False
        self.waited: list[bytes] = []

    def send_now(self, data: bytes) -> int:
        if self.broken:
            raise BrokenPipeError
        self.got += data[: self.room_for]
        return min(len(data), self.room_for)

    def sendall(self, data: bytes) -> None:
        self.waited.append(data)
        self.got += data


def direct(room: Room, game_id: bytes, line: FakeLine, chunked: bool = False) -> Watcher:
    """A watcher who has seen everything and waits, and to whom frames can be sent past the server."""
    after = room.position(game_id).version
    watcher = Watcher(room.hub.watch(game_id, after, "en", line=line, chunked=chunked))
    watcher.until(lambda w: HEARTBEAT in w.raw)
    return watcher


def waited_for(condition: Callable[[], bool]) -> None:
    pause = threading.Event()
    for _ in range(2_000):
        if condition():
            return
        pause.wait(0.01)
    raise AssertionError("it does not come to pass")


def test_who_waits_is_sent_new_frames_past_the_server_and_gets_each_once(room: Room) -> None:
    game_id, line = room.started(), FakeLine()
    watcher = direct(room, game_id, line)
    version = room.position(game_id).version
    for _ in range(20):
        room.act(game_id)
    now = room.position(game_id).version

    def seqs() -> list[int | None]:
        return [message.id for message in [*watcher.messages, *read(line.got)]]

    waited_for(lambda: len(seqs()) == now - version)
    assert sorted(number for number in seqs() if number) == list(range(version + 1, now + 1))
    assert line.got
    assert line.waited == []


def test_what_does_not_go_out_at_once_goes_out_behind_it_and_before_all_else(room: Room) -> None:
    game_id, line = room.started(), FakeLine(room_for=10)
    watcher = direct(room, game_id, line)
    version = room.position(game_id).version
    room.act(game_id)
    waited_for(lambda: [message.id for message in read(line.got)] == [version + 1])
    assert len(line.waited) == 1
    room.resign_all(game_id)
    watcher.until(lambda w: w.ended)
    assert watcher.events[-1] == "end"
    seqs = [message.id for message in [*read(line.got), *watcher.messages] if message.id]
    assert sorted(seqs) == list(range(version + 1, room.position(game_id).version + 1))


def test_a_chunk_has_its_length_before_it(room: Room) -> None:
    game_id, line = room.started(), FakeLine()
    direct(room, game_id, line, chunked=True)
    room.act(game_id)
    waited_for(lambda: line.got.endswith(b"\r\n"))
    size, _, rest = line.got.partition(b"\r\n")
    assert len(rest) == int(size, 16) + 2
    assert rest.startswith(b"id: ")


def test_a_connection_that_is_gone_is_found_out_by_who_writes_to_it_next(room: Room) -> None:
    game_id, line = room.started(), FakeLine()
    watcher = direct(room, game_id, line)
    line.broken = True
    version = room.position(game_id).version
    room.act(game_id)
    watcher.until(lambda w: w.seqs == [version + 1])


def test_who_sees_later_is_sent_nothing_past_the_server(room: Room) -> None:
    game_id, line = room.started("delayed:60"), FakeLine()
    watcher = Watcher(room.hub.watch(game_id, room.position(game_id).version, "en", 60_000, line=line))
    watcher.until(lambda w: HEARTBEAT in w.raw)
    room.act(game_id)
    room.clock.now_ms += 60_001
    watcher.until(lambda w: bool(w.seqs))
    assert line.got == b""
