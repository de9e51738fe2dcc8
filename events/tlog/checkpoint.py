"""Checkpoints: what a log says of itself at a size, as a signed note of three lines (C2SP tlog-checkpoint)."""

import base64
import binascii
import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

from events.notes import ED25519, Opened, Signer, Unverified, Verifier, open_note, sign_note
from events.tlog.merkle import EMPTY_ROOT, HASH_LENGTH

SIZE_LIMIT: Final = 2**63
"""Sizes are below: no log will ever have so many entries."""
_NUMBER: Final = re.compile(r"0|[1-9][0-9]{0,18}", re.ASCII)


class BadCheckpoint(ValueError):
    """The text is not a checkpoint, or not of the log that was asked for."""


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A log (``origin``), its number of leaves, and their root (32 bytes)."""

    origin: str
    size: int
    root: bytes

    @property
    def text(self) -> str:
        """The note's text: origin, size and root, a line each."""
        return f"{self.origin}\n{self.size}\n{encode_hash(self.root)}\n"

    @classmethod
    def parse(cls, text: str) -> "Checkpoint":
        """Read a note's text. Extension lines are not for this log: they are refused.

        :raises BadCheckpoint: it is not a checkpoint.
        """
        lines = text.split("\n")
        if len(lines) != 4 or lines[3]:
            raise BadCheckpoint("a checkpoint has exactly three lines")
        origin, size, root = lines[:3]
        if not origin:
            raise BadCheckpoint("a checkpoint names its log")
        checkpoint = cls(origin, decode_number(size), decode_hash(root))
        if not checkpoint.size and checkpoint.root != EMPTY_ROOT:
            raise BadCheckpoint("a tree without leaves has another root")
        return checkpoint

    def sign(self, *signers: Signer) -> bytes:
        """The signed note."""
        return sign_note(self.text, *signers)


@dataclass(frozen=True, slots=True)
class Signed:
    """A checkpoint that was verified: the note it came in, and who signed."""

    checkpoint: Checkpoint
    note: bytes
    opened: Opened


def open_checkpoint(note: bytes, verifiers: Iterable[Verifier], origin: str | None = None) -> Signed:
    """Verify a checkpoint: it is signed by a key (type Ed25519) among the verifiers whose name is its origin. Other
    verifiers are witnesses; a bad signature of any spoils it.

    :raises BadNote: see `events.notes.open_note`; `Unverified` too where only witnesses signed.
    :raises BadCheckpoint: not a checkpoint, or of another origin than ``origin``.
    """
    opened = open_note(note, verifiers)
    checkpoint = Checkpoint.parse(opened.text)
    if origin is not None and checkpoint.origin != origin:
        raise BadCheckpoint(f"a checkpoint of {checkpoint.origin}, not of {origin}")
    if not any(signer.kind == ED25519 and signer.name == checkpoint.origin for signer in opened.signers):
        raise Unverified(tuple(signer.name for signer in opened.signers))
    return Signed(checkpoint, note, opened)


def decode_number(text: str) -> int:
    """A number in decimal, without leading zeros.

    :raises BadCheckpoint: it is none, or beyond every log.
    """
    if _NUMBER.fullmatch(text) is None or int(text) >= SIZE_LIMIT:
        raise BadCheckpoint(f"{text[:32]!r} is not a number of entries")
    return int(text)


def encode_hash(value: bytes) -> str:
    """A hash in base64."""
    return base64.b64encode(value).decode()


def decode_hash(text: str) -> bytes:
    """A hash of 32 bytes from its one base64 text.

    :raises BadCheckpoint: it is none.
    """
    try:
        value = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadCheckpoint("a hash is not base64") from error
    if len(value) != HASH_LENGTH or encode_hash(value) != text:
        raise BadCheckpoint("a hash is not 32 bytes in canonical base64")
    return value
