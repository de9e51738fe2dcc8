"""Closed games are moved to the archive, one at a time: by themselves beside the clerk, or with `annals archive`.

Who decides is here, how a game is moved in `events.archiving_log`. A game is moved once its end stands in the log of
games, where there is one: the archive is no place in which to change what nobody has signed for yet.
"""

import threading
import time
from collections.abc import Iterator
from typing import TYPE_CHECKING, Final

import redis
import structlog

from events.archiving_log import CannotArchive
from events.log import Damaged, Unavailable
from events.redis_client import Wire
from service.proofs.log_folder import NoLog, checkpoint_of, log_at
from service.proofs.sequencer import REMEMBERED
from service.running.observe import ARCHIVE_FAILURES, GAMES_ARCHIVED

if TYPE_CHECKING:
    from service.bootstrap import Deps
    from service.index import Row

DAY_MS: Final = 86_400_000
LOOK_S: Final = 60.0
"""Between two looks for games that are old enough."""
FIRST_S: Final = 2.0
"""Before the first one."""
_SHARE: Final = 4
"""After each game so many times the time that it took is left to those who play."""
_SOON_S: Final = 300.0
_LATER_S: Final = 3_600.0

_log = structlog.get_logger()


class NotLogged(CannotArchive):
    """The end of the game is not in the log of games yet."""


def archive_game(deps: "Deps", game_id: bytes) -> bool:
    """Move a closed game to the archive. False: it is there already.

    :raises NotLogged: its end is not in the log of games yet.
    :raises CannotArchive: it is not closed, or its record is damaged.
    :raises OSError: the archive cannot be written.
    :raises events.log.Unavailable: the database does not answer.
    """
    if not _is_logged(deps, game_id):
        raise NotLogged("its end is not in the log of games yet")
    try:
        moved = deps.archiving.let_go(game_id)
    except Damaged as error:
        raise CannotArchive(str(error)) from error
    deps.index.mark_archived(game_id, archived=True)
    if moved:
        GAMES_ARCHIVED.inc()
    return moved


def old_games(deps: "Deps", days: float) -> "Iterator[Row]":
    """The closed games that are not in the archive and ended so many days ago, those first that were opened first."""
    before = deps.clock() - int(days * DAY_MS)
    for row in deps.index.closed_games():
        if row.created_ms > before:
            return
        if row.updated_ms <= before:
            yield row


def _is_logged(deps: "Deps", game_id: bytes) -> bool:
    folder = log_at(deps.config.log_path)
    try:
        published = checkpoint_of(folder.note()).size
    except NoLog:
        (remembered,) = Wire(deps.redis).call(("GET", REMEMBERED))
        return remembered is None  # else there is a log of games, and it is not here
    leaf = folder.find("close", game_id)
    return leaf is not None and leaf < published


class Archiver:
    """Moves games as they come of age, in a thread of its own."""

    def __init__(self, deps: "Deps") -> None:
        self._deps, self._days = deps, deps.config.archive_after_days
        self._later: dict[str, float] = {}

    def run(self, stopping: threading.Event) -> None:
        """Work until told to stop, through every failure of the database and the disk."""
        waiting = FIRST_S
        while not stopping.wait(waiting):
            waiting = LOOK_S
            try:
                self.look(stopping)
            except (Unavailable, redis.ResponseError) as error:
                _log.warning("archive-waits-for-the-database", error=str(error))
            except OSError as error:
                ARCHIVE_FAILURES.inc()
                _log.error("archive-cannot-be-written", error=str(error), folder=str(self._deps.config.archive_path))
            except Exception:  # noqa: BLE001 # it must not end for good by what nobody foresaw
                ARCHIVE_FAILURES.inc()
                _log.exception("archive-look-failed")

    def look(self, stopping: threading.Event) -> int:
        """Move all games that are old enough; how many were.

        :raises events.log.Unavailable: the database does not answer.
        :raises OSError: the archive cannot be written.
        """
        count = 0
        self._deps.index.catch_up()
        for row in old_games(self._deps, self._days):
            begun = time.monotonic()
            if self._later.get(row.game_id, 0) > begun:
                continue
            self._later.pop(row.game_id, None)
            try:
                count += archive_game(self._deps, bytes.fromhex(row.game_id))
            except NotLogged:
                self._later[row.game_id] = begun + _SOON_S
                continue
            except CannotArchive as error:
                ARCHIVE_FAILURES.inc()
                self._later[row.game_id] = begun + _LATER_S
                _log.error("game-not-archived", game_id=row.game_id, error=str(error))
            if stopping.wait(_SHARE * (time.monotonic() - begun)):
                break
        if count:
            _log.info("games-archived", count=count)
        return count


def archiver_of(deps: "Deps") -> Archiver | None:
    """The archiver of a process, where games are to be archived by themselves: not out of a memory that is lost."""
    return Archiver(deps) if deps.config.archive_after_days and not deps.config.ephemeral else None
