"""`annals archive`, `annals backup` and `annals restore`: what is done by hand, and told in lines."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import click

from events.archiving_log import CannotArchive, CannotRestore
from service.commands import BUILD
from service.keeping.archiver import archive_game, old_games
from service.keeping.backup import Backup, make_backup
from service.keeping.restoring import restore
from service.proofs.log_folder import RESTORED

if TYPE_CHECKING:
    from service.bootstrap import Deps


def run_archive(deps: "Deps", games: Sequence[bytes], days: float | None) -> int:
    """Move games to the archive, or all that ended so many days ago: 0, or 1 where one was left alone.

    :raises OSError: the archive cannot be written.
    :raises events.log.Unavailable: the database does not answer.
    """
    deps.index.catch_up()
    wanted = games if days is None else (bytes.fromhex(row.game_id) for row in old_games(deps, days))
    return _each(wanted, lambda game_id: archive_game(deps, game_id), "archived", CannotArchive)


def run_bring_back(deps: "Deps", games: Sequence[bytes]) -> int:
    """Move games back into their streams, by default all that are archived: 0, or 1 where one was left alone.

    :raises events.log.Unavailable: the database or the archive does not answer.
    """
    log = deps.archiving
    wanted = games or (game_id for game_id in log.games() if log.head(game_id).archived)

    def bring_back(game_id: bytes) -> bool:
        moved = log.bring_back(game_id)
        deps.index.mark_archived(game_id, archived=False)
        return moved

    return _each(wanted, bring_back, "brought back", CannotRestore)


def _each(
    games: Iterable[bytes], move: Callable[[bytes], bool], what: str, refusal: type[CannotArchive | CannotRestore]
) -> int:
    done, left = 0, 0
    for game_id in games:
        try:
            moved = move(game_id)
        except refusal as error:
            left += 1
            click.echo(f"{game_id.hex()}  left alone: {error}", err=True)
            continue
        done += moved
        click.echo(f"{game_id.hex()}  {what if moved else 'is there already'}")
    click.echo(f"{done} games {what}")
    return 1 if left else 0


def run_backup(deps: "Deps", folder: Path, since: Path | None) -> int:
    """Write a backup: 0, or 1 where games were left out because their record is damaged.

    :raises service.keeping.backup.BadBackup, OSError, events.log.Unavailable: there is none.
    """
    made = make_backup(deps, folder, BUILD, since)
    for stream_id, why in made.damaged:
        click.echo(f"{stream_id.hex()}  left out: {why}", err=True)
    manifest = made.manifest
    log = "no log of games" if manifest.log_size is None else f"a log of games of {manifest.log_size} entries"
    linked = f", {made.linked} of them as in the one before" if since is not None else ""
    click.echo(f"{manifest.streams} games and cases{linked}, {manifest.events} events, {log}: {folder}")
    click.echo("The keys are not in it: keep them somewhere else.")
    return 1 if made.damaged else 0


def run_restore(deps: "Deps", folder: Path, until_ms: int | None, audit: bool, lists: Sequence[Path] = ()) -> int:
    """Bring a backup back: 0, or 1 where something of it is not there or not sound.

    :raises service.keeping.restoring.NotEmpty, service.keeping.backup.BadBackup: it cannot be.
    :raises OSError, events.log.Unavailable: it could not be.
    """
    backup = Backup.open(folder)
    with click.progressbar(length=backup.manifest.streams, label="games and cases", show_pos=True) as bar:
        restored = restore(deps, backup, until_ms, audit, lambda _: bar.update(1), lists)
    click.echo(f"{restored.streams} games and cases, {restored.events} events; {restored.archived} are in the archive")
    if until_ms is not None:
        click.echo(f"{restored.cut} of the backup end earlier or were left out")
    if restored.erased:
        click.echo(f"{restored.erased} players and texts that had been erased since are erased again")
    for game_id in restored.voided:
        click.echo(f"{game_id.hex()}  void, restored")
    for what, found in (("stays open", restored.waiting), ("unsound", restored.unsound), ("lost", restored.lost)):
        for game_id, why in found:
            click.echo(f"{game_id.hex()}  {what}: {why}", err=True)
    if restored.log_copied:
        click.echo(
            "The log of games came out of the backup. If it was signed again since: annals log restart NEW-ORIGIN; if "
            f"you know that it was not, remove {deps.config.log_path / RESTORED}. Until then nothing is signed in it."
        )
    return 1 if restored.unsound or restored.lost else 0


def time_of(text: str) -> int:
    """A time in ISO 8601 as milliseconds since 1970, rounded down; UTC where it names no other.

    :raises ValueError: it is none.
    """
    found = datetime.fromisoformat(text)
    found = found.replace(tzinfo=UTC) if found.tzinfo is None else found
    return (found - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(milliseconds=1)
