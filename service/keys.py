"""The keyring: the master keys from which the dice of every game come. Whoever holds one knows all dice to come.

A keyring is text, one key a line (or comma), ``id = 64 hex digits``; the first is the one that new games use. A retired
key stays until its games are closed.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

MASTER_LENGTH: Final = 32


class BadKeyring(Exception):
    """The keyring cannot be used, and why. The message never holds a key."""


@dataclass(frozen=True, slots=True, repr=False)
class Keyring:
    """Master keys of 32 bytes by their id."""

    masters: dict[str, bytes]

    def __repr__(self) -> str:
        return f"Keyring({', '.join(self.masters)})"

    @property
    def current(self) -> str:
        """The id of the key for new games."""
        return next(iter(self.masters))

    @classmethod
    def parse(cls, text: str) -> "Keyring":
        """Read a keyring; empty lines and lines that begin with # say nothing.

        :raises BadKeyring: a line is no key, an id stands twice, or there is none.
        """
        masters: dict[str, bytes] = {}
        for number, line in enumerate(text.replace(",", "\n").splitlines(), 1):
            entry = line.strip()
            if not entry or entry.startswith("#"):
                continue
            key_id, _, digits = (part.strip() for part in entry.partition("="))
            try:
                master = bytes.fromhex(digits)
            except ValueError:
                master = b""
            if not key_id or not key_id.isascii() or len(key_id) > 64 or len(master) != MASTER_LENGTH:
                raise BadKeyring(f"entry {number} of the keyring is not 'id = 64 hex digits'")
            if key_id in masters:
                raise BadKeyring(f"the keyring has two keys {key_id}")
            masters[key_id] = master
        if not masters:
            raise BadKeyring("the keyring is empty")
        return cls(masters)

    @classmethod
    def load(cls, path: Path) -> "Keyring":
        """Read a keyring's file.

        :raises BadKeyring: there is none, others may read it, or it is not a keyring.
        """
        return cls.parse(read_private(path, "keyring"))

    @classmethod
    def create(cls, path: Path) -> "Keyring":
        """A new keyring of one key in a new file of mode 0600, or the one that is already there.

        :raises BadKeyring: the one that is there cannot be used.
        """
        write_private(path, f"{new_key_id()} = {secrets.token_hex(MASTER_LENGTH)}\n")
        return cls.load(path)


def new_key_id() -> str:
    """A fresh name for a master key."""
    return f"k{secrets.token_hex(4)}"


# -- files that only their owner may read ----------------------------------------------------------------------------


def read_private(path: Path, what: str) -> str:
    """The text of a key's file.

    :raises BadKeyring: there is none, others may read it, or it is not ASCII.
    """
    try:
        with path.open(encoding="ascii") as file:
            mode = os.fstat(file.fileno()).st_mode & 0o777
            text = file.read()
    except FileNotFoundError as error:
        raise BadKeyring(f"there is no {what} at {path}") from error
    except PermissionError as error:
        raise BadKeyring(f"{path} may not be read by this user") from error
    except UnicodeDecodeError:
        raise BadKeyring(f"{path} is not a {what}") from None  # the cause quotes the file
    if mode & 0o077:
        raise BadKeyring(f"{path} may be read by others (mode {mode:o}): chmod 600 {path}")
    return text


def write_private(path: Path, text: str) -> None:
    """Put text into a new file of mode 0600, whole or not at all; one that is already there stays as it is.

    :raises OSError: it cannot be written.
    """
    path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    with os.fdopen(os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w", encoding="ascii") as file:
        file.write(text)
        file.flush()
        os.fsync(file.fileno())
    try:
        os.link(fresh, path)  # whole or not at all, and never over one that is there
    except FileExistsError:
        pass
    finally:
        fresh.unlink()
    folder = os.open(path.parent, os.O_RDONLY)
    try:
        os.fsync(folder)  # the name, too, must outlive a loss of power
    finally:
        os.close(folder)
