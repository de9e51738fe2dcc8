"""The log of games as it lies in its folder, for whoever reads it: requests, exports, monitors.

    checkpoint     the published checkpoint          } exactly as C2SP tlog-tiles
    tile/...       tiles and bundles of entries      }
    policy         what this service claims of its own keys (C2SP tlog-policy)
    signed         every checkpoint that was ever signed: u32 length || note, again and again
    index/<xx>     of the ids that begin with that byte: id, kind, leaf (25 bytes each); can be made anew
    pending/       entries that commands wish to be added
    lock           whoever writes holds it
    restored       the folder came out of a backup: nothing more is signed in it
    erased         ids of what was erased (service/keeping/erased.py): not of the log, but as well kept

One process writes (service/proofs/sequencer.py). A reader trusts nothing beyond the published checkpoint.
"""

import os
import threading
from array import array
from bisect import bisect_left
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path
from typing import Final, Literal

from events.notes import BadNote, split_note
from events.tlog import merkle
from events.tlog.checkpoint import BadCheckpoint, Checkpoint
from events.tlog.proof import Continuation, Inclusion
from events.tlog.tiles import Missing, Tile, Tree

Kind = Literal["open", "close"]
"""Which of a game's two entries."""

CHECKPOINT: Final = "checkpoint"
POLICY: Final = "policy"
SIGNED: Final = "signed"
INDEX: Final = "index"
PENDING: Final = "pending"
LOCK: Final = "lock"
RESTORED: Final = "restored"
ERASED: Final = "erased"

RECORD: Final = 25
_KINDS: Final[dict[Kind, bytes]] = {"open": b"o", "close": b"c"}


class NoLog(LookupError):
    """There is no log in this folder, or none that was published."""


@dataclass(slots=True)
class Journal:
    """The checkpoints that were signed, as far as the file was read: their sizes, and where each note lies."""

    path: Path
    sizes: "array[int]" = field(default_factory=lambda: array("Q"))
    starts: "array[int]" = field(default_factory=lambda: array("Q"))
    end: int = 0
    """Bytes that hold whole records."""

    inode: int = 0
    lock: threading.Lock = field(default_factory=threading.Lock)

    def catch_up(self) -> None:
        """Read what was written since."""
        with self.lock:
            self._catch_up()

    def _catch_up(self) -> None:
        try:
            with self.path.open("rb") as file:
                if (found := os.fstat(file.fileno()).st_ino) != self.inode:  # another log took the place of this one
                    self.sizes, self.starts, self.end, self.inode = array("Q"), array("Q"), 0, found
                file.seek(self.end)
                data = file.read()
        except FileNotFoundError:
            return
        at = 0
        while at + 4 <= len(data):
            stop = at + 4 + int.from_bytes(data[at : at + 4], "big")
            if stop > len(data):
                return  # the record is being written, or was when somebody died
            try:
                size = checkpoint_of(data[at + 4 : stop]).size
            except (BadNote, BadCheckpoint):
                return  # so is this: its length came to the disk before it did
            self.sizes.append(size)
            self.starts.append(self.end + 4)
            self.end += stop - at
            at = stop

    def note(self, number: int) -> bytes:
        """A note by its place in the journal; -1 is the last."""
        number = number % len(self.starts)
        stop = self.starts[number + 1] - 4 if number + 1 < len(self.starts) else self.end
        with self.path.open("rb") as file:
            file.seek(self.starts[number])
            return file.read(stop - self.starts[number])

    def first(self, size: int) -> bytes:
        """The first note of a tree of at least ``size`` leaves.

        :raises LookupError: none was signed.
        """
        if (number := bisect_left(self.sizes, size)) == len(self.sizes):
            raise LookupError(f"no checkpoint of {size} leaves was signed")
        return self.note(number)


class LogFolder:
    """The log in a folder."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.journal = Journal(path / SIGNED)

    def read(self, name: str) -> bytes:
        """A file's bytes.

        :raises Missing: there is none.
        """
        try:
            return (self.path / name).read_bytes()
        except (FileNotFoundError, NotADirectoryError):
            raise Missing(name) from None

    def note(self) -> bytes:
        """The published checkpoint, a signed note.

        :raises NoLog: none was published.
        """
        try:
            return self.read(CHECKPOINT)
        except Missing:
            raise NoLog(str(self.path)) from None

    def tree(self, size: int) -> Tree:
        """The tree of the first ``size`` leaves."""
        return Tree(size, self.read)

    def tile(self, path: str) -> bytes:
        """The bytes of a tile or bundle of the published tree.

        :raises events.tlog.tiles.BadTile: it is not the path of one.
        :raises Missing: the published tree has it not, or not any more.
        :raises NoLog: none was published.
        """
        if not Tile.parse(path).within(checkpoint_of(self.note()).size):
            raise Missing(path)
        return self.read(path)

    def find(self, kind: Kind, game_id: bytes) -> int | None:
        """The leaf of a game's entry, published or not; None: the index has none."""
        try:
            data = self.read(f"{INDEX}/{game_id[:1].hex()}")
        except Missing:
            return None
        wanted, at = game_id + _KINDS[kind], 0
        while (at := data.find(wanted, at)) >= 0:
            if at % RECORD == 0 and at + RECORD <= len(data):
                return int.from_bytes(data[at + 17 : at + RECORD], "big")
            at += 1
        return None

    def proof(self, kind: Kind, game_id: bytes, latest: bool = False) -> Inclusion | None:
        """The proof of a game's entry, which is its ``extra``; None: it is not logged yet.

        It is against the first checkpoint that was signed with the entry, and so always the same; with ``latest``
        against the published one.

        :raises NoLog: there is no log here.
        """
        note = self.note()
        published = checkpoint_of(note).size
        index = self.find(kind, game_id)
        if index is None or index >= published:
            return None
        if not latest:
            self.journal.catch_up()
            note = self.journal.first(index + 1)
        tree = self.tree(checkpoint_of(note).size)
        return Inclusion(index, tuple(tree.inclusion(index)), note, tree.entry(index))

    def root(self, size: int) -> bytes:
        """The root of the first ``size`` leaves.

        :raises IndexError: so many were not published.
        :raises NoLog: there is no log here.
        """
        published = checkpoint_of(self.note()).size
        if size > published:
            raise IndexError(f"the published tree has {published} leaves")
        return merkle.root(size, self.tree(published).node)

    def consistency(self, old: int, new: int | None = None) -> Continuation:
        """The proof that the published checkpoint (or the first signed of at least ``new`` leaves) continues a tree of
        ``old`` leaves.

        :raises IndexError: the tree of ``old`` leaves is larger, or ``new`` larger than what was published.
        :raises NoLog: there is no log here.
        """
        note = self.note()
        if new is not None:
            if new > checkpoint_of(note).size:
                raise IndexError(f"no checkpoint of {new} leaves was published")
            self.journal.catch_up()
            note = self.journal.first(new)
        size = checkpoint_of(note).size
        return Continuation(old, tuple(merkle.consistency(old, size, self.tree(size).node)), note)


@lru_cache(maxsize=8)
def log_at(path: Path) -> LogFolder:
    """The log in a folder, the same object for all of a process: it remembers what it read of the journal."""
    return LogFolder(path)


def record(kind: Kind, game_id: bytes, leaf: int) -> bytes:
    """A line of the index."""
    return game_id + _KINDS[kind] + leaf.to_bytes(8, "big")


def checkpoint_of(note: bytes) -> Checkpoint:
    """What a note of this log says. Its signatures are not looked at: it comes from our own folder."""
    return Checkpoint.parse(split_note(note)[0])
