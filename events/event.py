"""The event: one accepted act, written once, chained to the one before it (docs/event-format.md, 'Envelope')."""

from typing import Annotated, Any, Literal, Self

import msgspec

from events import codec
from events.hashing import sha256, sized, tag

GAME_KINDS = frozenset(
    ("create", "join", "leave", "lock", "reveal", "seeded", "act", "timeout", "resign", "custody", "signoff", "close")
)
CASE_KINDS = frozenset(("create", "dispute", "answer", "ruling", "close"))

_EVENT = tag("event")
_GENESIS = tag("genesis")


class Malformed(ValueError):
    """Bytes that are not an event, and why."""


def genesis(game_id: bytes) -> bytes:
    """``prev`` of a stream's first event."""
    return sha256(_GENESIS + sized(game_id))


def event_hash(data: bytes) -> bytes:
    """The hash of an event's stored bytes: ``prev`` of the next one."""
    return sha256(_EVENT + data)


class Event(msgspec.Struct, frozen=True):
    """One event. ``data`` are the stored bytes, and the truth; the other fields are read from them.

    ``seat`` is None where the server acted; ``t_ms`` is the server's clock, milliseconds since 1970, never decreasing.
    """

    game_id: bytes
    seq: int
    prev: bytes
    t_ms: int
    kind: str
    seat: int | None
    body: dict[str, Any]
    data: bytes
    hash: bytes

    @classmethod
    def write(
        cls, game_id: bytes, seq: int, prev: bytes, t_ms: int, kind: str, seat: int | None, body: dict[str, Any]
    ) -> Self:
        """Seal an event.

        :raises codec.NotCanonical: the body has no canonical form or the event is larger than 65,535 bytes.
        :raises Malformed: a field of the envelope is not what `read` accepts.
        """
        fields = [1, game_id, seq, prev, t_ms, kind, seat, body]
        _check_envelope(fields)
        data = codec.encode(fields)
        return cls(game_id, seq, prev, t_ms, kind, seat, body, data, event_hash(data))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Read stored bytes. Unknown kinds and body keys are carried.

        :raises Malformed: the bytes are not MP-C1 or not an envelope of format 1.
        """
        try:
            if (known := _read(data)) is None:
                fields = codec.decode(data)
                _check_envelope(fields)
            else:
                fields = msgspec.structs.astuple(known)
                codec.check(fields[7], 2)
        except codec.NotCanonical as error:
            raise Malformed(str(error)) from error
        _, game_id, seq, prev, t_ms, kind, seat, body = fields
        return cls(game_id, seq, prev, t_ms, kind, seat, body, data, event_hash(data))


class _Envelope(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """What `_check_envelope` accepts."""

    version: Literal[1]
    game_id: Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
    seq: Annotated[int, msgspec.Meta(ge=1)]
    prev: Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
    t_ms: Annotated[int, msgspec.Meta(ge=0)]
    kind: str
    seat: Annotated[int, msgspec.Meta(ge=1)] | None
    body: dict[str, Any]


_read = codec.reader(_Envelope)


def _check_envelope(fields: Any) -> None:
    if type(fields) is not list or len(fields) != 8:
        raise Malformed("an event is an array of 8")
    version, game_id, seq, prev, t_ms, kind, seat, body = fields
    if type(version) is not int or version != 1:
        raise Malformed(f"format {version!r} is not 1")
    if type(game_id) is not bytes or len(game_id) != 16:
        raise Malformed("the id is not 16 bytes")
    if type(seq) is not int or seq < 1:
        raise Malformed("seq is not a number from 1")
    if type(prev) is not bytes or len(prev) != 32:
        raise Malformed("prev is not 32 bytes")
    if type(t_ms) is not int or t_ms < 0:
        raise Malformed("the time is not a number from 0")
    if type(kind) is not str:
        raise Malformed("the kind is not a string")
    if seat is not None and (type(seat) is not int or seat < 1):
        raise Malformed("the seat is neither nil nor a number from 1")
    if type(body) is not dict:
        raise Malformed("the body is not a map")
