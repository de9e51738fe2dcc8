"""Proofs as text: that an entry is in the log (C2SP tlog-proof), and that one checkpoint continues another.

Neither text is believed for what it says beside the proof: size and root come from the checkpoint, once its signature
holds (`checkpoint.open_checkpoint`).
"""

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from events.notes import BadNote, split_note
from events.tlog.checkpoint import BadCheckpoint, Checkpoint, decode_hash, decode_number, encode_hash
from events.tlog.merkle import PATH_LIMIT, BadProof, check_consistency, check_inclusion, leaf_hash

HEAD: Final = "c2sp.org/tlog-proof@v1"
TEXT_LIMIT: Final = 1_048_576
"""Most bytes of a proof."""


@dataclass(frozen=True, slots=True)
class Inclusion:
    """That entry ``index`` is in the tree of a checkpoint. ``extra`` proves nothing; here it is the entry itself."""

    index: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    """The signed note."""
    extra: bytes | None = None

    def write(self) -> bytes:
        """The text, ``<name>.tlog-proof``."""
        lines = [HEAD]
        if self.extra is not None:
            lines.append(f"extra {base64.b64encode(self.extra).decode()}")
        lines += [f"index {self.index}", *map(encode_hash, self.hashes), "", ""]
        return "\n".join(lines).encode() + self.checkpoint

    @classmethod
    def read(cls, data: bytes) -> "Inclusion":
        """Read a proof. Nothing is verified yet.

        :raises BadProof: not the text of one.
        """
        head, note = _halves(data)
        if head.pop(0) != HEAD:
            raise BadProof(f"does not begin with {HEAD}")
        extra = None
        if head and head[0].startswith("extra "):
            extra = _base64(head.pop(0).removeprefix("extra "))
        if not head or not head[0].startswith("index "):
            raise BadProof("names no index")
        return cls(_number(head.pop(0).removeprefix("index ")), _hashes(head), note, extra)

    def check(self, entry: bytes, checkpoint: Checkpoint) -> None:
        """Check it against a checkpoint that was verified: the one of ``self.checkpoint``.

        :raises BadProof: the entry is not in its tree.
        """
        check_inclusion(leaf_hash(entry), self.index, checkpoint.size, self.hashes, checkpoint.root)


@dataclass(frozen=True, slots=True)
class Continuation:
    """That the tree of a checkpoint begins with the ``old`` leaves of before: the body of a witness's
    ``add-checkpoint`` (C2SP tlog-witness)."""

    old: int
    hashes: tuple[bytes, ...]
    checkpoint: bytes
    """The signed note of the larger tree."""

    def write(self) -> bytes:
        """The text: ``old <size>``, the hashes, an empty line, the checkpoint."""
        return "\n".join([f"old {self.old}", *map(encode_hash, self.hashes), "", ""]).encode() + self.checkpoint

    @classmethod
    def read(cls, data: bytes) -> "Continuation":
        """Read a proof. Nothing is verified yet.

        :raises BadProof: not the text of one.
        """
        head, note = _halves(data)
        if not head[0].startswith("old "):
            raise BadProof("names no old size")
        return cls(_number(head.pop(0).removeprefix("old ")), _hashes(head), note)

    def check(self, old_root: bytes, checkpoint: Checkpoint) -> None:
        """Check it against a checkpoint that was verified: the one of ``self.checkpoint``.

        :raises BadProof: its tree does not begin with the old one.
        """
        check_consistency(self.old, checkpoint.size, self.hashes, old_root, checkpoint.root)


def _halves(data: bytes) -> tuple[list[str], bytes]:
    """The lines before the first empty line, and the note after it."""
    if len(data) > TEXT_LIMIT:
        raise BadProof(f"more than {TEXT_LIMIT} bytes")
    head, empty, note = data.partition(b"\n\n")
    if not empty:
        raise BadProof("no empty line before the checkpoint")
    try:
        split_note(note)
        return head.decode("ascii").split("\n"), note
    except BadNote as error:
        raise BadProof(f"the checkpoint is not a signed note: {error}") from error
    except UnicodeDecodeError as error:
        raise BadProof("not ASCII") from error


def _hashes(lines: Sequence[str]) -> tuple[bytes, ...]:
    if len(lines) > PATH_LIMIT:
        raise BadProof(f"more than {PATH_LIMIT} hashes")
    try:
        return tuple(map(decode_hash, lines))
    except BadCheckpoint as error:
        raise BadProof(str(error)) from error


def _number(text: str) -> int:
    try:
        return decode_number(text)
    except BadCheckpoint as error:
        raise BadProof(str(error)) from error


def _base64(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadProof("the extra data are not base64") from error
    if base64.b64encode(data).decode() != text:
        raise BadProof("the extra data are not in canonical base64")
    return data
