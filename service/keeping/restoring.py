"""A backup comes back into an empty database, as it was when it was made or at an earlier time.

What was acknowledged after that time is lost, and players may hold receipts for it. So no game that was open or being
played goes on: its dice to come may be known. Each is closed, void and restored; whoever holds a receipt that says
more has evidence. A log of games that is still there is left as it is; one that comes out of the backup may be behind
what was signed, and nothing more is signed in it.
"""

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Final

from events.case_bodies import opens_case
from events.event import Event
from events.log import AlreadyDone
from events.redis_client import Wire
from events.tlog.entries import Closed, Opened, read_entry
from replay.audit import REFUTED, Trust, audit_events
from service import commands
from service.drafts import WrongStatus
from service.erasure import forget_again
from service.keeping import erased
from service.keeping.backup import Backup, BadBackup, check_log, copy_log, names_beside, restore_beside
from service.positions import NotFound
from service.proofs import log_folder
from service.proofs.log_folder import LogFolder, NoLog, checkpoint_of

if TYPE_CHECKING:
    from service.bootstrap import Deps

_PORTION: Final = 200


class NotEmpty(Exception):
    """The database holds something: a backup comes into an empty one."""


@dataclass(slots=True)
class Restored:
    """What came of a restore. Ids are of games and cases."""

    streams: int = 0
    events: int = 0
    archived: int = 0
    cut: int = 0
    """Games and cases of which events were left out, or all of them."""
    voided: list[bytes] = field(default_factory=list)
    waiting: list[tuple[bytes, str]] = field(default_factory=list)
    """Games that could not be closed, and why."""
    unsound: list[tuple[bytes, str]] = field(default_factory=list)
    """Games that a full audit found unsound."""
    erased: int = 0
    """Players and texts that came back with the backup, and were erased again."""
    log_copied: bool = False
    lost: list[tuple[bytes, str]] = field(default_factory=list)
    """What the log of games says of games that are not, or not so, in the database: it was signed, and is lost."""


def restore(
    deps: "Deps",
    backup: Backup,
    until_ms: int | None = None,
    audit: bool = False,
    told: Callable[[bytes], None] = lambda stream_id: None,
    lists: Iterable[Path] = (),
) -> Restored:
    """Bring a backup back; ``until_ms``: without the events after that time. ``audit``: every game is judged as an
    auditor would, dice and signatures too. ``lists``: files of what was erased since, besides those of the log of
    games, of the backup, and of the backups beside it.

    :raises NotEmpty: the database is not empty.
    :raises service.keeping.backup.BadBackup: a file is missing or damaged; what was written so far stays.
    :raises OSError: a list cannot be read, or the archive or the log of games not written.
    :raises events.log.Unavailable: the database does not answer.
    """
    if any(True for _ in deps.log.games()) or any(True for _ in names_beside(Wire(deps.redis))):
        raise NotEmpty("the database is not empty: a backup comes into an empty one")
    beside = {backup.path.absolute().parent, backup.path.resolve().parent}  # of a path like `.`, and behind a link
    lists = (*lists, *(path for folder in beside for path in folder.glob(f"*/{log_folder.ERASED}")))
    listed = erased.known(deps).union(*map(erased.read, lists))
    restored = Restored()
    for record in backup.records():
        events = backup.events(record)
        kept = [event for event in events if until_ms is None or event.t_ms <= until_ms]
        restored.cut += len(kept) < len(events)
        if not kept:
            continue
        if audit and (wrong := _judged(kept)) is not None:
            restored.unsound.append((record.stream_id, wrong))
        if record.archived and len(kept) == len(events):
            deps.archiving.adopt(record.stream_id, backup.archive.data(record.stream_id))
            restored.archived += 1
        else:
            for start in range(0, len(kept), _PORTION):
                if isinstance(deps.log.append(kept[start : start + _PORTION]), AlreadyDone):
                    raise BadBackup(f"{record.stream_id.hex()}: a seat used one key twice")
        restored.streams += 1
        restored.events += len(kept)
        told(record.stream_id)
    restore_beside(deps, backup)
    restored.log_copied = _log_of_games(deps.config.log_path, backup)
    for _ in deps.index.rebuild():
        pass
    _close(deps, restored)
    deps.index.catch_up()
    restored.erased = forget_again(deps, listed | erased.known(deps))
    restored.lost = list(_lost(deps))
    return restored


def _close(deps: "Deps", restored: Restored) -> None:
    """No game that was open or being played goes on."""
    for row in list(deps.index.open_games()):
        game_id = bytes.fromhex(row.game_id)
        try:
            commands.void(deps, game_id, commands.RESTORED)
        except (WrongStatus, NotFound) as error:
            restored.waiting.append((game_id, f"it is over, and closes by itself ({error})"))
        except (commands.MasterMissing, commands.Unsound) as error:
            restored.waiting.append((game_id, str(error) or type(error).__name__))
        else:
            restored.voided.append(game_id)


def _judged(events: list[Event]) -> str | None:
    """What a full audit finds wrong with a game, or None."""
    if opens_case(events[0]):
        return None
    verdict = audit_events(events, Trust())
    return f"{verdict.code} at event {verdict.event}" if verdict.verdict == REFUTED else None


def _log_of_games(folder: Path, backup: Backup) -> bool:
    """Put the log of games of a backup where there is none, and see to it that nothing is signed in it."""
    if (folder / log_folder.CHECKPOINT).exists() or backup.log is None:
        return False
    folder.mkdir(parents=True, exist_ok=True)
    (folder / log_folder.RESTORED).write_text(
        f"This folder came out of a backup of {backup.manifest.ended_ms} ms. More may have been signed since.\n"
    )
    copy_log(backup.path / "log", folder)
    check_log(folder)
    return True


def _lost(deps: "Deps") -> Iterator[tuple[bytes, str]]:
    """What the log of games says, and the database does not."""
    log = LogFolder(deps.config.log_path)
    try:
        size = checkpoint_of(log.note()).size
    except NoLog:
        return
    for _, data in log.tree(size).entries(0):
        match read_entry(data):
            case Opened(game_id=game_id) if not deps.log.head(game_id).version:
                yield game_id, "it was opened, and is not there"
            case Closed(game_id=game_id, version=version, head=head) if deps.log.head(game_id).head != head:
                yield game_id, f"it was closed at version {version}, and that is not there"
