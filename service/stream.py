"""Live streams: many watchers of one game cost one reader of the feeds a worker, and one read of each new event.

    feeds ── reader ── Channel (one a watched game: folds each event once, writes its frame once a variant)
                          ├─ watcher
                          └─ watcher ...

A watcher has no queue: it has a cursor into the channel's last frames, so a slow one costs nothing but its own delay,
and one that fell behind them reads on from the log. To those who have seen everything so far, and only wait, the reader
sends a new frame itself: to wake each of thousands would take several times as long. Frames are those of Server-Sent
Events (WHATWG HTML, 9.2).
Everything waits with the primitives of `threading`, so that it works in threads and, patched, under gevent.
"""

import threading
import time
from bisect import bisect_right
from collections import Counter, deque
from collections.abc import Callable, Generator, Hashable, Iterable, Iterator
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
import structlog
from flask import Response, request

from engine.protocol import Happening
from events.event import Event
from events.log import Archived, Damage, EventLog, Unavailable, whole
from replay.position import Finding, Position
from service.access import Caller, View, delay_ms
from service.clock import Clock
from service.limits import address_of
from service.positions import NotFound, Positions
from service.running.observe import DELIVERY_SECONDS, WATCHERS

if TYPE_CHECKING:
    from service.bootstrap import Deps

Variant = Hashable
"""For whom a frame is written: equal variants get equal bytes."""
Place = AbstractContextManager[object]
"""What is held as long as a stream is open."""
Render = Callable[[Position, Event, list[Happening], Any], bytes]
"""The JSON of an event for a variant, from the position after it and what happened."""

RETRY_MS: Final = 1_000
WINDOW: Final = 256
"""Frames that a channel keeps."""
CHUNK: Final = 64
"""Frames that are written at once while a watcher catches up."""
MOST_OWN_GAMES: Final = 500
"""Games of one player that one `/v1/me/stream` follows."""
_NO_PLACE: Final = nullcontext()
_RECHECK_S: Final = 1.0
_AT_ONCE: Final = 128
"""Watchers to whom a frame is sent before others have a turn."""

_log = structlog.get_logger()


def frame(data: bytes, *, id: int | None = None, event: str | None = None) -> bytes:
    """One event of the stream; ``data`` has no line break."""
    head = b"" if id is None else b"id: %d\n" % id
    if event is not None:
        head += b"event: %s\n" % event.encode()
    return head + b"data: " + data + b"\n\n"


HEARTBEAT: Final = b":\n\n"
_OPENING: Final = b"retry: %d\n\n" % RETRY_MS


@dataclass(slots=True)
class _Shown:
    """One event as its channel keeps it: where the game stood after it, and its frames by variant."""

    version: int
    kind: str
    to_act: tuple[int, ...]
    frames: dict[Variant, bytes]


class Line(Protocol):
    """The connection of a watcher, past the web server."""

    def send_now(self, data: bytes) -> int:
        """Send without waiting: how many bytes went out.

        :raises OSError: the connection is gone.
        """

    def sendall(self, data: bytes) -> None:
        """Send everything, waiting for as long as the other side takes, up to its timeout.

        :raises OSError: the connection is gone, or the other side reads nothing.
        """


class Connection(Line, Protocol):
    """One that leaves the web server with a live stream."""

    def hand_over(self, frames: Generator[bytes]) -> Iterator[bytes]:
        """The body for the server to send: the beginning; the rest is sent when it has let go of the request."""


@dataclass(slots=True, eq=False)
class _Watcher:
    """One watcher of a game: what they have seen, and, where frames may be sent to them past the server, how."""

    cursor: int
    variant: Variant
    line: Line | None
    chunked: bool
    wake: threading.Event = field(default_factory=threading.Event)
    waiting: bool = False
    """Nothing is being sent to them, and nothing was left over."""
    rest: bytes = b""
    """What was left over, as it goes on the line."""


@dataclass(slots=True, eq=False)
class Channel:
    """A watched game: its position, kept at the head, and its last frames."""

    position: Position
    times: list[int]
    version: int
    """What the watchers may have; the position is ahead of it while a frame is being written."""
    closed: bool = False
    """The version is the last one. Set after it, so to be read before it."""
    window: deque[_Shown] = field(default_factory=lambda: deque(maxlen=WINDOW))
    variants: Counter[Variant] = field(default_factory=Counter)
    wakes: set[threading.Event] = field(default_factory=set)
    direct: set[_Watcher] = field(default_factory=set)
    """Those of its watchers to whom frames may be sent past the server."""
    lock: Any = field(default_factory=lambda: threading.Lock())
    checked: float = 0.0
    behind: bool = True
    """Not everything that was written has been read."""

    def visible(self, now_ms: int, delay_ms: int | None) -> tuple[bool, int, float | None]:
        """(is it the end, the newest version to show, seconds until there is another).

        Only what was written between the start and the close of a game is held back (None: until the close).
        """
        if (closed := self.closed) or delay_ms == 0 or not self.position.started_ms:
            return closed, self.version, None
        times = self.times
        version = min(self.version, len(times))  # fewer times than events where some cannot be read
        seen = bisect_right(times, self.position.started_ms, hi=version)
        if delay_ms is None:
            return False, seen, None
        seen = max(seen, bisect_right(times, now_ms - delay_ms, hi=version))
        return False, seen, (times[seen] + delay_ms - now_ms) / 1000 if seen < version else None

    def since(self, cursor: int, upto: int, variant: Variant) -> list[bytes] | None:
        """The frames after ``cursor`` up to version ``upto``, None where the channel does not have them (any more)."""
        start = cursor - (self.window[0].version - 1) if self.window else -1
        if start < 0:
            return None
        shown = [self.window[place] for place in range(start, min(start + upto - cursor, len(self.window)))]
        frames = [one.frames.get(variant) for one in shown]
        if len(frames) != upto - cursor or None in frames:
            return None
        return frames  # type: ignore[return-value]


class Hub:
    """The live streams of one worker."""

    def __init__(
        self, log: EventLog, positions: Positions, render: Render, clock: Clock, heartbeat_s: float = 15.0
    ) -> None:
        self._event_log, self._positions, self._render, self._clock = log, positions, render, clock
        self._heartbeat_s = heartbeat_s * 0.9  # the promise is an upper bound
        self._channels: dict[bytes, Channel] = {}
        self._own: set[_Own] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._reader: threading.Thread | None = None
        self._streams = 0
        self._cursors: dict[str, str] = {}

    # -- watching ----------------------------------------------------------------------------------------------------

    def watch(
        self,
        game_id: bytes,
        after: int,
        variant: Variant,
        delay_ms: int | None = 0,
        line: Line | None = None,
        chunked: bool = False,
        place: Place = _NO_PLACE,
    ) -> Generator[bytes]:
        """The frames of the events after version ``after``, then those to come, until the game is closed.

        While it is played, each event comes ``delay_ms`` after it was written, or (None) not before the close. Frames
        may go out on ``line`` instead, ``chunked`` as HTTP/1.1 has it, while the iterator is waited for. The ``place``
        is held as long as it lives.
        """
        with place:
            yield _OPENING
            if not self._start():
                return
            try:
                watcher = _Watcher(after, variant, line if delay_ms == 0 else None, chunked)
                channel = self._admit(game_id, watcher)
                try:
                    while not self._closing.is_set():
                        watcher.wake.clear()
                        if watcher.rest and line is not None:
                            rest, watcher.rest = watcher.rest, b""
                            line.sendall(rest)
                        closed, upto, due_s = channel.visible(self._clock(), delay_ms)
                        if watcher.cursor < upto:
                            for version, chunk in self._chunks(channel, watcher.cursor, upto, variant):
                                yield chunk
                                watcher.cursor = version
                        elif closed:
                            yield _end(channel.position)
                            return
                        elif not self._woken(watcher, self._patience(channel, due_s)):
                            self._check(channel)
                            quiet = watcher.cursor >= upto and not watcher.rest  # ahead: of a log that was restored
                            if quiet and (due_s is None or due_s >= self._heartbeat_s):
                                yield HEARTBEAT
                finally:
                    self._dismiss(game_id, channel, watcher)
            finally:
                self._stop()

    def _woken(self, watcher: _Watcher, patience_s: float) -> bool:
        watcher.waiting = True
        try:
            return watcher.wake.wait(patience_s)
        finally:
            watcher.waiting = False

    def watch_own(self, player: bytes, games: Iterable[bytes], place: Place = _NO_PLACE) -> Generator[bytes]:
        """For a player: `started`, `your-turn` and `finished` of the games where they sit, now and from now on.

        Begins with a `your-turn` for each seat of theirs that is to act: whoever comes back misses nothing.
        """
        with place:
            yield _OPENING
            own = _Own(player, dict.fromkeys(games, False))
            with self._lock:
                self._own.add(own)
            WATCHERS.inc()
            started = False
            try:
                if not (started := self._start()):
                    return
                while not self._closing.is_set():
                    own.wake.clear()
                    for game_id, new in own.take():
                        if len(own.seen) < MOST_OWN_GAMES:
                            yield from self._enter(own, game_id, new=new)
                    chunk = b"".join(frame for game_id in list(own.seen) for frame in self._news(own, game_id))
                    if chunk:
                        yield chunk
                    elif not own.found and not own.wake.wait(self._heartbeat_s):
                        for channel, _ in own.seen.values():
                            self._check(channel)
                        yield HEARTBEAT
            finally:
                WATCHERS.dec()
                if started:
                    self._stop()
                with self._lock:
                    self._own.discard(own)
                for game_id in list(own.seen):
                    self._leave(game_id, own.seen.pop(game_id)[0], None, own.wake)

    def close(self) -> None:
        """End all streams; their clients come back by themselves, elsewhere."""
        self._closing.set()
        with self._lock:
            wakes = [wake for channel in self._channels.values() for wake in channel.wakes]
            wakes += [own.wake for own in self._own]
        for wake in wakes:
            wake.set()

    def _patience(self, channel: Channel, due_s: float | None) -> float:
        if channel.behind:
            return _RECHECK_S
        return self._heartbeat_s if due_s is None else min(self._heartbeat_s, max(due_s, 0.001))

    def _chunks(self, channel: Channel, cursor: int, upto: int, variant: Variant) -> Iterator[tuple[int, bytes]]:
        """(version, frames up to it) from ``cursor`` to ``upto``: out of the channel, or else out of the log, as far as
        it can be read; who stays is told the rest when the database is back."""
        if (frames := channel.since(cursor, upto, variant)) is not None:
            yield upto, b"".join(frames)
            return
        chunk: list[bytes] = []
        try:
            for position, event, happenings in self._positions.walk(channel.position.game_id, cursor, upto):
                chunk.append(frame(self._render(position, event, happenings, variant), id=event.seq))
                if len(chunk) == CHUNK:
                    yield (cursor := event.seq), b"".join(chunk)
                    chunk = []
            yield upto, b"".join(chunk)
        except Unavailable:
            self._closing.wait(_RECHECK_S)
            yield cursor, HEARTBEAT

    # -- channels ----------------------------------------------------------------------------------------------------

    def _admit(self, game_id: bytes, watcher: _Watcher) -> Channel:
        channel = self._join(game_id, watcher.variant, watcher.wake)
        if watcher.line is not None:
            channel.direct.add(watcher)
        WATCHERS.inc()
        return channel

    def _dismiss(self, game_id: bytes, channel: Channel, watcher: _Watcher) -> None:
        WATCHERS.dec()
        channel.direct.discard(watcher)
        self._leave(game_id, channel, watcher.variant, watcher.wake)

    def _join(self, game_id: bytes, variant: Variant | None, wake: threading.Event) -> Channel:
        with self._lock:
            if (channel := self._channels.get(game_id)) is None:
                game = self._positions.remembered(game_id)
                position = Position(game_id) if game is None else game.position.copy()
                position.report = _ignore
                times = [] if game is None else game.times[:]
                channel = self._channels[game_id] = Channel(position, times, position.version, position.closed)
            channel.wakes.add(wake)
            if variant is not None:
                channel.variants[variant] += 1
        if channel.behind:
            self._refresh(channel)
        return channel

    def _leave(self, game_id: bytes, channel: Channel, variant: Variant | None, wake: threading.Event) -> None:
        with self._lock:
            channel.wakes.discard(wake)
            if variant is not None:
                channel.variants[variant] -= 1
                if channel.variants[variant] == 0:
                    del channel.variants[variant]
            if not channel.wakes and self._channels.get(game_id) is channel:
                del self._channels[game_id]

    def _refresh(self, channel: Channel) -> None:
        """Read what is new of a game, fold it, and wake its watchers."""
        before = channel.version
        try:
            with channel.lock:
                live = not channel.behind
                if not live:
                    channel.window.clear()  # what is folded now gets no frames, and those that are kept follow on
                for item in whole(self._event_log, channel.position.game_id, channel.position.version):
                    if not isinstance(item, Damage):
                        self._show(channel, item, live=live)
                self._shown(channel)  # also what was folded when its frames could not be written
                channel.behind = False
        except (Unavailable, Archived):
            channel.behind = True
        if channel.version > before:
            served = self._send(channel, before)
            for wake in channel.wakes - served:
                wake.set()

    def _send(self, channel: Channel, before: int) -> set[threading.Event]:
        """Send the frames behind version ``before`` to those who wait for nothing else. Answers whom not to wake."""
        served = set[threading.Event]()
        version, ready = channel.version, dict[tuple[Variant, bool], bytes]()
        if channel.closed:  # its end is told by the watcher's own iterator
            return served
        for number, watcher in enumerate(list(channel.direct), 1):
            if number % _AT_ONCE == 0:
                time.sleep(0)  # players' requests come in between
            if not watcher.waiting or watcher.cursor != before or watcher.line is None:
                continue
            kind = watcher.variant, watcher.chunked
            if (data := ready.get(kind)) is None:
                data = b"".join(channel.since(before, version, watcher.variant) or ())
                if data and watcher.chunked:
                    data = b"%x\r\n%b\r\n" % (len(data), data)
                ready[kind] = data
            if not data:
                continue
            try:
                sent = watcher.line.send_now(data)
            except OSError:  # woken, it finds out by itself
                continue
            watcher.cursor, watcher.rest = version, data[sent:]
            if sent == len(data):
                served.add(watcher.wake)
        return served

    def _show(self, channel: Channel, event: Event, *, live: bool) -> None:
        """Fold one event; a live one gets its frames, what was written before is read from the log by who asks."""
        position = channel.position
        happenings = position.advance(event)
        channel.times.append(event.t_ms)
        if live:
            frames = {
                variant: frame(self._render(position, event, happenings, variant), id=event.seq)
                for variant in list(channel.variants)
            }
            channel.window.append(_Shown(event.seq, event.kind, tuple(position.to_act), frames))
            DELIVERY_SECONDS.observe(max(0.0, (self._clock() - event.t_ms) / 1000))
        self._shown(channel)

    def _shown(self, channel: Channel) -> None:
        channel.version = channel.position.version
        channel.closed = channel.position.closed

    def _check(self, channel: Channel) -> None:
        """Has the feed kept something from us? One question a game, not one a watcher."""
        if not channel.behind and time.monotonic() - channel.checked < self._heartbeat_s:
            return
        channel.checked = time.monotonic()
        self._refresh(channel)

    # -- the reader --------------------------------------------------------------------------------------------------

    def _start(self) -> bool:
        """Have a reader for one stream more, whose cursors are older than whatever is loaded from now on. False: the
        database does not say where the feeds end; the stream ends, and its client comes back."""
        with self._lock:
            if self._reader is None or not self._reader.is_alive():
                try:
                    self._cursors = self._event_log.feed_ends()
                except Unavailable as error:
                    _log.warning("feeds-unavailable", error=str(error))
                    return False
                self._reader = threading.Thread(target=self._read_feeds, name="feeds", daemon=True)
                self._reader.start()
            self._streams += 1
        return True

    def _stop(self) -> None:
        """A stream less. Without any the reader ends: it would cost every action of every game."""
        with self._lock:
            self._streams -= 1

    def _read_feeds(self) -> None:
        while not self._closing.is_set():
            try:
                page = self._event_log.follow(self._cursors)
            except Unavailable as error:
                _log.warning("feeds-unavailable", error=str(error))
                self._closing.wait(0.25)
                continue
            with self._lock:
                if not self._streams:
                    self._reader = None
                    return
            self._cursors = page.cursors
            for game_id in dict.fromkeys(line.game_id for line in page.lines):
                try:
                    if (channel := self._channels.get(game_id)) is not None:
                        self._refresh(channel)
                    if self._own:
                        self._tell_own(game_id)
                except Exception:  # noqa: BLE001 # one game that cannot be read must not end all other streams
                    _log.exception("game-not-streamed", game_id=game_id.hex())

    # -- a player's own games ----------------------------------------------------------------------------------------

    def _tell_own(self, game_id: bytes) -> None:
        """Somebody who watches their own games may just have sat down at this one."""
        with self._lock:
            watching = [own for own in self._own if game_id not in own.seen and game_id not in own.strangers]
        if not watching:
            return
        try:
            position = self._positions.load(game_id).position
        except (Unavailable, NotFound):
            return
        for own in watching:
            if position.seats_of(own.player):
                own.find(game_id)
            elif position.setup is not None:  # nobody sits down any more
                own.strangers.add(game_id)

    def _enter(self, own: "_Own", game_id: bytes, *, new: bool) -> list[bytes]:
        channel = self._join(game_id, None, own.wake)
        with channel.lock:
            own.seen[game_id] = (channel, channel.version)
            news = own.greet(channel.position, new=new)
            closed = channel.position.closed
        if closed:
            self._part(own, game_id)
        return news

    def _part(self, own: "_Own", game_id: bytes) -> None:
        own.strangers.add(game_id)
        channel, _ = own.seen.pop(game_id)
        self._leave(game_id, channel, None, own.wake)

    def _news(self, own: "_Own", game_id: bytes) -> list[bytes]:
        channel, cursor = own.seen[game_id]
        if channel.version == cursor:
            return []
        with channel.lock:
            shown = [one for one in channel.window if one.version > cursor]
            own.seen[game_id] = (channel, channel.version)
            news = own.news(channel.position, shown, missed=len(shown) < channel.version - cursor)
            closed = channel.position.closed
        if closed:
            self._part(own, game_id)
        return news


@dataclass(slots=True, eq=False)
class _Own:
    """One watcher of the games where a player sits."""

    player: bytes
    found: dict[bytes, bool]
    """Games to enter; True: somebody sat down there after the stream began."""
    seen: dict[bytes, tuple[Channel, int]] = field(default_factory=dict)
    """Games entered: their channel, and the version up to which all was told."""
    acting: dict[bytes, set[int]] = field(default_factory=dict)
    strangers: set[bytes] = field(default_factory=set)
    """Games that are none of theirs, or over."""
    wake: threading.Event = field(default_factory=threading.Event)

    def find(self, game_id: bytes) -> None:
        self.found[game_id] = True
        self.wake.set()

    def take(self) -> list[tuple[bytes, bool]]:
        found = [self.found.popitem() for _ in range(len(self.found))]
        return [(game_id, new) for game_id, new in found if game_id not in self.seen]

    def seats(self, position: Position) -> set[int]:
        """The seats that wait for this player, and not for a bot in their place."""
        return {number for number, seat in position.seat_items() if seat.player == self.player and seat.bot is None}

    def greet(self, position: Position, *, new: bool) -> list[bytes]:
        """What to tell first about a game: is it their turn? For a new one also what came before."""
        news: list[bytes] = []
        seats = self.seats(position)
        acting = self.acting[position.game_id] = seats & set(position.to_act)
        if new and position.started_ms:
            news.append(_told("started", position, sorted(seats)))
        if acting:
            news.append(_told("your-turn", position, sorted(acting)))
        if new and position.closed:
            news.append(_told("finished", position, sorted(seats)))
        return news

    def news(self, position: Position, shown: list[_Shown], *, missed: bool) -> list[bytes]:
        """What to tell about the events ``shown``; ``missed``: there were others before them."""
        news: list[bytes] = []
        seats = self.seats(position)
        if any(one.kind == "seeded" for one in shown):
            news.append(_told("started", position, sorted(seats)))
        acting = self.acting.get(position.game_id, set()) if not missed else set()
        risen: set[int] = set()
        for one in shown:
            now = seats & set(one.to_act)
            risen |= now - acting
            acting = now
        self.acting[position.game_id] = acting
        if turn := risen & acting:
            news.append(_told("your-turn", position, sorted(turn)))
        if position.closed:
            self.acting.pop(position.game_id, None)
            news.append(_told("finished", position, sorted(seats)))
        return news


def _told(event: str, position: Position, seats: list[int]) -> bytes:
    facts = {"game_id": position.game_id.hex(), "version": position.version, "status": position.status, "seats": seats}
    return frame(msgspec.json.encode(facts), event=event)


def _end(position: Position) -> bytes:
    facts = {"game_id": position.game_id.hex(), "version": position.version, "status": position.status}
    return frame(msgspec.json.encode(facts), event="end")


def _ignore(finding: Finding) -> None:
    """A stream shows what was written; that it does not hold is said by the game's grade."""


# -- the responses -----------------------------------------------------------------------------------------------------

MEDIA_TYPE: Final = "text/event-stream"


def hub_of(deps: "Deps") -> Hub:
    """The hub of this process, made when it is first asked for."""
    if deps.hub is None:
        from service.api import present

        def render(position: Position, event: Event, happenings: list[Happening], language: str) -> bytes:
            names = present.player_names(deps, position)
            return msgspec.json.encode(present.event(position, event, happenings, names, language))

        deps.hub = Hub(deps.log, deps.positions, render, deps.clock, deps.config.heartbeat_s)
    return deps.hub  # type: ignore[no-any-return]


def game_stream(deps: "Deps", view: View, caller: Caller, after: int, language: str) -> Response:
    """The live stream of a game to somebody who may see it, after version ``after``."""
    create = view.game.position.create
    assert create is not None
    delay = 0 if view.seats or caller.sees_all else delay_ms(create.watching)
    place = deps.limits.stream(caller.player, address_of(request.environ, deps.config.proxies))
    line = _line()
    chunked = request.environ["SERVER_PROTOCOL"] == "HTTP/1.1"
    return _streamed(hub_of(deps).watch(view.game.id, after, language, delay, line, chunked, place), line)


def own_stream(deps: "Deps", player: bytes) -> Response:
    """The live stream of what concerns a player: `/v1/me/stream`."""
    place = deps.limits.stream(player, address_of(request.environ, deps.config.proxies))
    page = deps.index.games(player=player.hex(), status="playing", private=True, limit=MOST_OWN_GAMES)
    open_page = deps.index.games(player=player.hex(), status="open", private=True, limit=MOST_OWN_GAMES)
    games = [bytes.fromhex(row.game_id) for row in (*page.rows, *open_page.rows)]
    return _streamed(hub_of(deps).watch_own(player, games, place), _line())


def _line() -> Connection | None:
    """The connection of the request, where it is one that can be had past the server."""
    connection = request.environ.get("gunicorn.socket")
    return connection if getattr(connection, "plain", False) else None


def _streamed(frames: Generator[bytes], line: Connection | None) -> Response:
    headers = {"Cache-Control": "no-store", "X-Accel-Buffering": "no"}
    kind = f"{MEDIA_TYPE}; charset=utf-8"
    body = frames if line is None else line.hand_over(frames)
    return Response(body, headers=headers, content_type=kind, direct_passthrough=True)
