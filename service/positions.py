"""Each worker's memory of games: positions as they were last seen, brought up to date from the log when asked.

Nothing here is the truth; a worker that forgets everything only takes longer. A position that was handed out is never
changed: whoever goes on from it, goes on with a copy.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Final

from engine.protocol import Happening
from events import seeds
from events.case_bodies import opens_case
from events.event import Event
from events.log import PAGE_LIMIT, Damage, EventLog, Head, whole
from replay.position import Diverged, Finding, Position
from replay.replay import NoSuchPosition, Replay
from service.snapshots import LATEST, Snapshot, Snapshots, times_of

__all__ = ["Game", "NoSuchPosition", "NotFound", "Positions"]


_LONG: Final = 1_000
"""In a longer game a position is folded by itself; a replay of it all would take longer than anybody waits."""


class NotFound(LookupError):
    """There is no such game, or none that the caller may know of."""


@dataclass(slots=True)
class Game:
    """A game as a worker knows it. ``times``: when each event was written, in milliseconds since 1970."""

    position: Position
    times: list[int] = field(default_factory=list)
    chain: seeds.Chain | None = None
    """The server's dice chain, once somebody has drafted here."""

    @property
    def id(self) -> bytes:
        return self.position.game_id

    @property
    def version(self) -> int:
        return self.position.version

    @property
    def first_bad(self) -> int | None:
        """The first event that does not hold, or whose meaning is not known."""
        position = self.position
        return position.unverified_from if position.diverged is None else position.diverged.event

    def advanced(self, position: Position, events: list[Event]) -> "Game":
        """The game after events that were just appended."""
        return Game(position, self.times + [event.t_ms for event in events], self.chain)


class Positions:
    """The games that one worker remembers, at most ``limit`` of them: the least lately used is forgotten."""

    def __init__(self, log: EventLog, limit: int = 1_000, snapshots: Snapshots | None = None) -> None:
        self._log, self._limit = log, limit
        self._snapshots = snapshots or Snapshots(None)
        self._games: dict[bytes, Game] = {}
        self._replays: dict[bytes, Replay] = {}
        self._asked = set[bytes]()
        """Games of which a position was asked for: if another is, their replay is worth what it takes."""
        self._open: dict[bytes, bool] = {}

    def remembered(self, game_id: bytes) -> Game | None:
        """The game as it was last seen: it may have moved on since."""
        if (game := self._games.pop(game_id, None)) is not None:
            self._games[game_id] = game
        return game

    def load(self, game_id: bytes) -> Game:
        """The game as it stands now.

        :raises NotFound: there is none.
        """
        return self.at_head(game_id, self._log.head(game_id))

    def at_head(self, game_id: bytes, head: Head) -> Game:
        """The game at least as far as a head that was just read.

        :raises NotFound: there is none.
        """
        if head.version == 0:
            raise NotFound(game_id.hex())
        game = self.remembered(game_id)
        if game is not None and (game.version, game.position.head) == (head.version, head.head):
            return game
        behind = game is not None and game.version < head.version and game.position.diverged is None
        game = self._catch_up(game_id, game if behind else None, head.version)
        if game.position.create is None and game.position.diverged is None:
            raise NotFound(game_id.hex())
        self.keep(game)
        return game

    def keep(self, game: Game) -> None:
        """Remember a game, unless it is already remembered further on."""
        known = self._games.pop(game.id, None)
        self._games[game.id] = game if known is None or known.version <= game.version else known
        while len(self._games) > self._limit:
            self._games.pop(next(iter(self._games)), None)

    def at(self, game_id: bytes, version: int) -> Position:
        """The position after ``version`` events. Not to be changed.

        :raises NotFound: there is no such game.
        :raises NoSuchPosition: it has not come so far.
        """
        game, replay = self._games.get(game_id), self._replays.get(game_id)
        if game is not None and game.version == version:
            return game.position
        if version and (replay is None or version > len(replay)):
            records = self._snapshots.records(game_id)
            if game_id not in self._asked or (records and records[-1].version > _LONG):
                if len(self._asked) >= self._limit:
                    self._asked.clear()
                self._asked.add(game_id)
                if (found := self._near(game_id, version, records)) is not None:
                    return found
        with self.replay(game_id, max(version, 1)) as replay:
            return replay.at(version)

    def _near(self, game_id: bytes, version: int, kept: list[Snapshot]) -> Position | None:
        """The position after ``version`` events, folded from the last one before it that is kept; None: it is not to be
        had so."""
        before = [record for record in kept if record.version <= version]
        for records in (before[-1:], []):
            game = self._from(game_id, records, version)
            if game is not None:
                return game.position if game.version == version else None
        return None

    def _from(self, game_id: bytes, records: list[Snapshot], upto: int) -> Game | None:
        """A game up to a version, or to its end before that, from the last of its records, or from the beginning; None
        where that record is none of this game, or something does not hold: then all of it has to be looked at. It has
        its times, and more positions of it are kept on the way, if it is given all of its records."""
        position = None if records else Position(game_id)
        times, after = times_of(records), records[-1].version - 1 if records else 0
        complete = len(times) == (records[-1].version if records else 0)
        while after < upto:
            page = self._log.read(game_id, after, min(PAGE_LIMIT, upto - after))
            if page.damage or (after == 0 and page.events and opens_case(page.events[0])):
                return None
            for event in page.events:
                if position is None:
                    if (position := self._snapshots.unpack(records[-1], event)) is None:
                        return None
                    continue
                try:
                    position.advance(event)
                except Diverged:
                    return None
                times.append(event.t_ms)
                if complete:
                    self._snapshots.offer(position, event, times)
            if page.next is None:
                break
            after = page.next
        return None if position is None else Game(position, times)

    def walk(self, game_id: bytes, after: int, upto: int) -> Iterator[tuple[Position, Event, list[Happening]]]:
        """(position after it, event, what happened) of the events ``after + 1`` to ``upto`` that can be read."""
        for version in range(after + 1, upto + 1):
            with self.replay(game_id, version) as replay:
                event, position, happenings = replay.event(version), replay.at(version), replay.happenings(version)
            if event is not None:
                yield position, event, happenings

    @contextmanager
    def replay(self, game_id: bytes, version: int | None = None) -> Iterator[Replay]:
        """A replay that reaches at least to ``version``, or to the game's end as it stands, for the time of the block.

        It is the block's own for that time: who comes meanwhile gets another.

        :raises NotFound: there is no such game.
        """
        replay = self._replays.pop(game_id, None) or Replay(game_id)
        if replay.damage:
            replay = Replay(game_id)
        if version is None or version > len(replay):
            replay.extend(whole(self._log, game_id, len(replay)))
        if not replay:
            raise NotFound(game_id.hex())
        try:
            yield replay
        finally:
            self._replays[game_id] = replay
            while len(self._replays) > max(4, self._limit // 32):  # a long game's events take a megabyte
                self._replays.pop(next(iter(self._replays)), None)

    def is_open_to_all(self, game_id: bytes) -> bool:
        """May anybody read the game as it stands? Decided by its first event, without folding.

        :raises NotFound: there is no such game.
        """
        if (known := self._open.get(game_id)) is None:
            game = self._games.get(game_id)
            if game is not None and game.position.create is not None:
                known = game.position.create.visibility != "private" and game.position.create.watching == "open"
            else:
                events = self._log.read(game_id, 0, 1).events
                if not events:
                    raise NotFound(game_id.hex())
                body = events[0].body
                known = body.get("visibility") in ("public", "unlisted") and body.get("watching") == "open"
            if len(self._open) >= 10 * self._limit:
                self._open.clear()
            self._open[game_id] = known
        return known

    def _catch_up(self, game_id: bytes, known: Game | None, upto: int) -> Game:
        if known is None:
            records = [record for record in self._snapshots.records(game_id) if record.version <= upto]
            if records and (game := self._from(game_id, records, LATEST)) is not None:
                return game
            position, times, chain = Position(game_id), list[int](), None
        else:
            position, times, chain = known.position.copy(), known.times[:], known.chain
        position.report = _ignore
        after: int | None = position.version
        while after is not None:
            page = self._log.read(game_id, after, PAGE_LIMIT)
            if after == 0 and page.events and opens_case(page.events[0]):
                raise NotFound(game_id.hex())
            for item in page.items:
                if isinstance(item, Damage):
                    position.miss(int(item.place.partition("-")[0]), "format", item.reason)
                    continue
                position.advance(item)
                times.append(item.t_ms)
                self._snapshots.offer(position, item, times)
            after = page.next
        position.report = _strict
        return Game(position, times, chain)


def _strict(finding: Finding) -> None:
    raise Diverged(finding)


def _ignore(finding: Finding) -> None:
    """What does not hold is told by the game's grade; here the fold goes on."""
