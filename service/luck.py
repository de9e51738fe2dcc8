"""The luck of many games, as far as a worker has looked at them: games that are over never change, so each is counted
once. Nothing here is the truth; a worker that forgets everything only counts again."""

from collections.abc import Iterator
from threading import Lock
from typing import TYPE_CHECKING, Final, NamedTuple

from engine.registry import game_name
from events.event import Event
from events.log import Archived, whole
from replay.luck import lots
from replay.luck.report import AllLuck, Tally, played, player_luck, service_luck, tally
from replay.luck.rolls import Roll
from replay.replay import Replay
from service.index import Row

if TYPE_CHECKING:
    from service.bootstrap import Deps

EVENTS_AT_ONCE: Final = 20_000
"""So many events are read for one answer; the next one goes on from there."""
GAMES_OF_PLAYER: Final = 100
"""So many of a player's games are looked at, the latest ones."""
KEPT_GAMES: Final = 500
FRESH_MS: Final = 60_000
"""So long an answer about the service stays as it is."""


class Luck:
    """What one worker has counted so far."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._counted: set[str] = set()
        self._total = Tally()
        self._left = 0
        self._asked_ms: int | None = None
        self._games: dict[str, Fortune] = {}

    # -- the service -------------------------------------------------------------------------------------------------

    def of_service(self, deps: "Deps", language: str) -> AllLuck:
        """All dice of the public games that are over."""
        with self._lock:
            now = deps.clock()
            if self._asked_ms is None or self._left or now - self._asked_ms >= FRESH_MS:
                self._go_on(deps)
                self._asked_ms = now
            return service_luck(self._total, self._left, language)

    def _go_on(self, deps: "Deps") -> None:
        deps.index.catch_up()
        events, self._left = 0, 0
        for row in _over(deps, None, private=False):
            if row.game_id in self._counted:
                continue
            if events >= EVENTS_AT_ONCE:
                self._left += 1
                continue
            self._counted.add(row.game_id)
            events += row.version
            self._total.add(tally(_events(deps, row)))

    # -- a player ----------------------------------------------------------------------------------------------------

    def of_player(self, deps: "Deps", player: bytes, language: str, *, private: bool) -> AllLuck:
        """The games of a player that are over: the public ones, or all of them (``private``)."""
        deps.index.catch_up()
        counted, left, events = Tally(), 0, 0
        rolled: list[tuple[str, list[Roll]]] = []
        for row in _over(deps, player.hex(), private=private):
            known = self._recall(row.game_id)
            if len(rolled) == GAMES_OF_PLAYER or (known is None and events >= EVENTS_AT_ONCE):
                left += 1
                continue
            if known is None:
                known = _fortune(deps, row)
                events += row.version
            self._keep(row.game_id, known)
            seats = [n for n, seat in enumerate(row.seats, 1) if seat.player_id == player.hex() and seat.bot is None]
            rolled.append((game_name(row.ruleset), [roll for roll in known.rolls if roll.seat in seats]))
            for seat in seats:
                counted.add(known.tallies[seat])
        counted.games = len(rolled)
        return player_luck(rolled, counted, left, language)

    def _recall(self, game_id: str) -> "Fortune | None":
        with self._lock:
            return self._games.pop(game_id, None)

    def _keep(self, game_id: str, known: "Fortune") -> None:
        with self._lock:
            self._games[game_id] = known
            while len(self._games) > KEPT_GAMES:
                del self._games[next(iter(self._games))]


class Fortune(NamedTuple):
    """What the dice of one game gave: its rolls, and the draws of each seat."""

    rolls: list[Roll]
    tallies: dict[int, Tally]


def _fortune(deps: "Deps", row: Row) -> Fortune:
    game, events = game_name(row.ruleset), list(_events(deps, row))
    replay = Replay(bytes.fromhex(row.game_id), events)
    rolls = [
        roll
        for version, event, draws, _ in played(replay, len(replay))
        for roll in lots(game).rolls(version, event.seat, draws, replay.happenings(version))
    ]
    return Fortune(rolls, {seat: tally(events, seat) for seat in range(1, len(row.seats) + 1)})


def _over(deps: "Deps", player: str | None, *, private: bool) -> Iterator[Row]:
    """Every game that is over, newest first."""
    cursor = None
    while True:
        page = deps.index.games(player=player, private=private, limit=200, cursor=cursor)
        yield from (row for row in page.rows if row.closed)
        if (cursor := page.next) is None:
            return


def _events(deps: "Deps", row: Row) -> Iterator[Event]:
    """What can be read of a game; nothing of one that is in the archive."""
    try:
        yield from (item for item in whole(deps.log, bytes.fromhex(row.game_id)) if isinstance(item, Event))
    except Archived:
        return
