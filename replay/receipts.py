"""What a server signs about one moment of a game: receipts of what it took, refusals of what it did not.

Both say which event the game stood at. Two of one number with two hashes prove a fork to anybody.
"""

import base64
import binascii
import re
from typing import Final, Self

import msgspec

from events.notes import BadNote, Verifier, open_note

RECEIPT: Final = "annals/1 receipt"
REFUSAL: Final = "annals/1 refusal"
NOTE_LIMIT: Final = 65_536
_NUMBER: Final = re.compile("0|[1-9][0-9]{0,18}")


class Statement(msgspec.Struct, frozen=True):
    """A verified receipt or refusal: at ``seq`` the game's head was ``hash``.

    A refusal names the ``code`` of the problem that it was, and ``request``, the SHA-256 of the refused body.
    """

    origin: str
    game_id: bytes
    seq: int
    hash: bytes
    code: str | None = None
    request: bytes | None = None

    @classmethod
    def read(cls, note: bytes, verifier: Verifier) -> Self:
        """Read and verify a note.

        :raises BadNote: it is not signed by this key, or no receipt and no refusal.
        """
        if len(note) > NOTE_LIMIT:
            raise BadNote(f"more than {NOTE_LIMIT} bytes")
        lines = open_note(note, [verifier]).text.removesuffix("\n").split("\n")
        match lines:
            case [kind, origin, game, seq, head] if kind == RECEIPT:
                return cls(origin, _game(game), _number(seq), _hash(head))
            case [kind, origin, game, request, seq, head, code] if kind == REFUSAL:
                return cls(origin, _game(game), _number(seq), _hash(head), code, _hash(request))
        raise BadNote("neither a receipt nor a refusal")

    @property
    def name(self) -> str:
        """The receipt for event 12; the refusal (stale) at event 12."""
        return f"the receipt for event {self.seq}" if self.code is None else f"the refusal ({self.code}) at {self.seq}"


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _game(text: str) -> bytes:
    if not re.fullmatch("[0-9a-f]{32}", text):
        raise BadNote("the game's id is not 32 hex digits")
    return bytes.fromhex(text)


def _number(text: str) -> int:
    if not _NUMBER.fullmatch(text):
        raise BadNote("the event's number is none")
    return int(text)


def _hash(text: str) -> bytes:
    try:
        data = base64.b64decode(text, validate=True)
    except (binascii.Error, ValueError) as error:
        raise BadNote("a hash is not base64") from error
    if len(data) != 32 or _base64(data) != text:
        raise BadNote("a hash is not 32 bytes in canonical base64")
    return data
