"""Whom and what to forget, by id, where no older backup takes it away (docs/archive.md, 'What was erased').

An entry is the id of a player (16 bytes), or the id of a case and the hash of a text in it (48 bytes). They lie with
the database and, a line of hex each, in the file ``erased`` of the folder of the log of games and of every backup. An
entry stands there before anything is erased, and never goes. It names nobody.
"""

import os
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

import structlog

from events.redis_client import Wire
from service.proofs.log_folder import ERASED

if TYPE_CHECKING:
    from service.bootstrap import Deps

KEY: Final = "{log}:erased"
PLAYER: Final = 16
TEXT: Final = 48

_log = structlog.get_logger()


def note(deps: "Deps", entries: Iterable[bytes]) -> None:
    """Write down what is about to be erased. Where the folder cannot be written the database knows it alone, and the
    next entry brings it along.

    :raises events.log.Unavailable: the database does not answer; nothing may be erased yet.
    """
    if not (wanted := sorted(entries)):
        return
    _, known = Wire(deps.redis).call(("SADD", KEY, *wanted), ("SMEMBERS", KEY))
    folder = deps.config.log_path
    if not folder.is_dir():
        return
    try:
        keep(folder / ERASED, (bytes(entry) for entry in known))
    except OSError as error:
        _log.error("erasure-not-kept-beside-the-log", error=str(error), folder=str(folder))


def known(deps: "Deps") -> set[bytes]:
    """All that was ever noted, with the database or beside the log of games.

    :raises events.log.Unavailable: the database does not answer.
    """
    (entries,) = Wire(deps.redis).call(("SMEMBERS", KEY))
    return {bytes(entry) for entry in entries} | read(deps.config.log_path / ERASED)


def keep(path: Path, entries: Iterable[bytes]) -> None:
    """Add what the file does not hold yet, and put it on disk.

    :raises OSError: it cannot be written.
    """
    if not (missing := sorted(set(entries) - read(path))):
        return
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_CLOEXEC, 0o600)
    with open(handle, "wb", buffering=0) as file:
        file.write(b"\n" + b"".join(entry.hex().encode() + b"\n" for entry in missing))  # a line may be cut off before
        os.fsync(file.fileno())


def read(path: Path) -> set[bytes]:
    """What a file holds; nothing where there is none. Lines that are no entries are passed over."""
    try:
        lines = path.read_bytes().split()
    except (FileNotFoundError, NotADirectoryError):
        return set()
    found = set()
    for line in lines:
        try:
            entry = bytes.fromhex(line.decode("ascii"))
        except ValueError:
            continue
        if len(entry) in (PLAYER, TEXT):
            found.add(entry)
    return found
