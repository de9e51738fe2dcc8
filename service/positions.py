"""Each worker's memory of games: positions as they were last seen, brought up to date from the log when asked.

Nothing here is the truth; a worker that forgets everything only takes longer. A position that was handed out is never
changed: whoever goes on from it, goes on with a copy.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

from engine.protocol import Happening
from events import seeds
from events.case_bodies import opens_case
from events.event import Event
from events.log import PAGE_LIMIT, Damage, EventLog, Head, whole
from replay.position import Diverged, Finding, Position
from replay.replay import NoSuchPosition, Replay

__all__ = ["Game", "NoSuchPosition", "NotFound", "Positions"]


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

    def __init__(self, log: EventLog, limit: int = 1_000) -> None:
        self._log, self._limit = log, limit
        self._games: dict[bytes, Game] = {}
        self._replays: dict[bytes, Replay] = {}
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
        game = self._catch_up(game_id, game if behind else None)
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
        with self.replay(game_id) as replay:
            return replay.at(version)

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

    def _catch_up(self, game_id: bytes, known: Game | None) -> Game:
        if known is None:
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
            after = page.next
        position.report = _strict
        return Game(position, times, chain)


def _strict(finding: Finding) -> None:
    raise Diverged(finding)


def _ignore(finding: Finding) -> None:
    """What does not hold is told by the game's grade; here the fold goes on."""
