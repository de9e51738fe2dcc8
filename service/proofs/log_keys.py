"""The keys of the log over its life: a second one is added, both sign for a time, the first is retired.

    log.key            the key that signs
    log.next.key       the one that follows it; it signs once the log holds `key add`
    log.<id>.retired   keys that were

A log whose key is not its own any more is given up for a new one, of another origin, whose first leaf says which log
it follows (`restart`).
"""

import os
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from events.files import make_folder, sync_folder, write_file
from events.notes import BadKey, Signer
from events.tlog.entries import ADD, RETIRE, Key, Link, read_entry
from service.keys import BadKeyring, read_private, write_private
from service.proofs import log_folder
from service.proofs.log_folder import LogFolder, NoLog, checkpoint_of
from service.proofs.sequencer import Busy, take_lock
from service.proofs.signing_keys import LOG_FILE, RECEIPTS, RECEIPTS_FILE, SigningKeys

if TYPE_CHECKING:
    from service.config import Config

NEXT_FILE: Final = "log.next.key"
GIVEN_UP: Final = "given-up."
"""Beginning of the names of folders that hold logs before this one, in its folder."""


class CannotChange(Exception):
    """The keys of the log cannot be changed so, and why."""


def log_signers(config: "Config", signing: SigningKeys) -> Sequence[Signer]:
    """The log's keys at hand, the current one first.

    :raises BadKeyring: a key cannot be used.
    """
    if config.log_key or not signing.kept:
        return () if signing.log is None else (signing.log,)
    current, following = (_read(config.key_folder / name) for name in (LOG_FILE, NEXT_FILE))
    return tuple(signer for signer in (current, following) if signer is not None)


def rotate(config: "Config", now_ms: int) -> str:
    """Make the next key and ask the sequencer to add it: the new vkey, which whoever pins keys must be told.

    :raises CannotChange: there is a next key already, or the current one is not in a file.
    :raises BadKeyring: a key cannot be used.
    """
    current = _current(config)
    path = config.key_folder / NEXT_FILE
    if os.path.lexists(path):
        raise CannotChange(f"{path} is there already: retire the old key first")
    write_private(path, Signer.create(current.name).skey + "\n")
    following = _read(path)
    assert following is not None
    _wish(config.log_path, Key(ADD, following.vkey, now_ms))
    return following.vkey


def retire(config: "Config", now_ms: int) -> str | None:
    """Ask the sequencer to retire the current key in favour of the next one. Once the log says so: put the next one in
    its place, and answer with its vkey; before, answer None.

    :raises CannotChange: no next key has been added to the log.
    :raises BadKeyring: a key cannot be used.
    """
    current, following = _current(config), _read(config.key_folder / NEXT_FILE)
    changes = _changes(config.log_path)
    if following is None or (ADD, following.vkey) not in changes:
        raise CannotChange("no next key has been added to the log: annals log rotate, and wait until it is published")
    if (RETIRE, current.vkey) not in changes:
        _wish(config.log_path, Key(RETIRE, current.vkey, now_ms))
        return None
    folder = config.key_folder
    (folder / LOG_FILE).rename(folder / f"log.{current.verifier.key_id.hex()}.retired")
    (folder / NEXT_FILE).rename(folder / LOG_FILE)
    sync_folder(folder)
    return following.vkey


def restart(config: "Config", origin: str) -> SigningKeys:
    """Give the log up, and begin another: new keys under a new origin, an empty folder, and the link as first leaf.

    The service must not be running. The old log is put aside in the folder, the old keys beside the new ones.

    :raises CannotChange: the origin is the old one or not a name, or something is in the way.
    :raises BadKeyring: a key cannot be used.
    """
    try:
        lock = take_lock(config.log_path)
    except Busy as error:
        raise CannotChange("the service is running, and writes this log: stop it first") from error
    try:
        return _restart(config, origin)
    finally:
        os.close(lock)


def _restart(config: "Config", origin: str) -> SigningKeys:
    old, folder = LogFolder(config.log_path), config.key_folder
    if config.log_key or config.receipts_key:
        raise CannotChange("the keys come from the settings: change them there")
    try:
        last = checkpoint_of(old.note())
        Signer.create(origin)
    except NoLog as error:
        raise CannotChange(f"there is no log in {config.log_path}") from error
    except BadKey as error:
        raise CannotChange(str(error)) from error
    if config.origin not in ("", origin):
        raise CannotChange(f"ANNALS_ORIGIN is {config.origin}: set it to {origin} first")
    if origin == last.origin:
        raise CannotChange(f"{origin} is the old log's name: no two logs may have one")
    aside = config.log_path / f"{GIVEN_UP}{last.size}-{last.root.hex()[:8]}"
    if aside.exists():
        raise CannotChange(f"{aside} is in the way")
    link = Link(last.origin, last.size, last.root)
    for name in (LOG_FILE, NEXT_FILE, RECEIPTS_FILE):
        path = folder / name
        if (signer := _read(path)) is not None:
            path.rename(folder / f"{name.removesuffix('.key')}.{signer.verifier.key_id.hex()}.retired")
    aside.mkdir()
    staying = (aside.name, log_folder.LOCK, log_folder.ERASED)
    for path in list(config.log_path.iterdir()):  # not the folder itself: it may be where a volume is mounted
        if path.name not in staying and not path.name.startswith(GIVEN_UP):
            path.rename(aside / path.name)
    sync_folder(aside)
    sync_folder(config.log_path)
    write_private(folder / LOG_FILE, Signer.create(origin).skey + "\n")
    write_private(folder / RECEIPTS_FILE, Signer.create(origin + RECEIPTS).skey + "\n")
    _wish(config.log_path, link)
    made = SigningKeys.find(config)
    assert made is not None
    return made


def _wish(path: Path, entry: Key | Link) -> None:
    """Leave an entry for the sequencer."""
    folder = path / log_folder.PENDING
    make_folder(folder)
    name = f"{entry.change}-{entry.vkey.split('+')[1]}" if isinstance(entry, Key) else "0-link"
    write_file(folder / f"{name}.entry", entry.write())
    sync_folder(folder)


def _changes(path: Path) -> set[tuple[str, str]]:
    """(change, vkey) of every `key` entry of the published log.

    :raises CannotChange: there is no log.
    """
    folder = LogFolder(path)
    try:
        size = checkpoint_of(folder.note()).size
    except NoLog as error:
        raise CannotChange(f"there is no log in {path}") from error
    entries = (read_entry(data) for _, data in folder.tree(size).entries(0))
    return {(entry.change, entry.vkey) for entry in entries if isinstance(entry, Key)}


def _current(config: "Config") -> Signer:
    if config.log_key:
        raise CannotChange("the log key comes from ANNALS_LOG_KEY: change it there")
    if (signer := _read(config.key_folder / LOG_FILE)) is None:
        raise CannotChange(f"there is no {LOG_FILE} in {config.key_folder}")
    return signer


def _read(path: Path) -> Signer | None:
    if not os.path.lexists(path):
        return None
    try:
        return Signer.parse(read_private(path, "signing key").strip())
    except BadKey:
        raise BadKeyring(f"{path} does not hold a signing key PRIVATE+KEY+...") from None  # the cause may quote it
