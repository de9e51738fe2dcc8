"""Files that are there whole or not at all, whatever dies: written under another name, put on disk, renamed."""

import os
import secrets
import shutil
from collections.abc import Callable
from pathlib import Path


def write_file(
    path: Path, data: bytes, sync: bool = True, alone: bool = True, at: Callable[[str], None] = lambda step: None
) -> None:
    """Put a file on disk under another name, and give it its own only then. Its folder is the caller's to sync.

    ``alone``: nobody else writes this file at the same time. ``at`` is told each step. What a crash leaves behind ends
    in ``.new``.

    :raises OSError: it cannot be written; then nothing is left of it.
    """
    fresh = path.with_name(f"{path.name}{'' if alone else '.' + secrets.token_hex(4)}.new")
    try:
        with fresh.open("wb") as file:
            file.write(data)
            at("written")
            if sync:
                file.flush()
                os.fsync(file.fileno())
        at("on disk")
        fresh.rename(path)
        at("renamed")
    except OSError:
        fresh.unlink(missing_ok=True)
        raise


def make_folder(path: Path) -> None:
    """Make a folder, and put its name on disk."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """Put the names in a folder on disk."""
    handle = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def link(source: Path, target: Path) -> None:
    """The same file under another name; a copy of it where a file cannot have two."""
    try:
        os.link(source, target)
    except OSError:
        shutil.copyfile(source, target)
