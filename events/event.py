"""The event: one accepted act, written once, chained to the one before it (docs/event-format.md, 'Envelope')."""

from functools import cached_property
from typing import Any, Literal, Self

import msgspec
from msgspec import UNSET, UnsetType
from msgspec.structs import astuple

from events import codec
from events.bodies import Act, Bytes16, Bytes32, Positive, Unsigned
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


class Event(msgspec.Struct, frozen=True, eq=False, dict=True):
    """One event. ``data`` are the stored bytes, and the truth; everything else is read from them.

    ``seat`` is None where the server acted; ``t_ms`` is the server's clock, milliseconds since 1970, never decreasing;
    ``act`` is the body of an act, typed, where it was read with the event (which is what most events are read for).
    """

    game_id: bytes
    seq: int
    prev: bytes
    t_ms: int
    kind: str
    seat: int | None
    act: Act | None
    data: bytes
    hash: bytes

    def __eq__(self, other: object) -> bool:
        return self.data == other.data if isinstance(other, Event) else NotImplemented

    def __hash__(self) -> int:
        return hash(self.data)

    @cached_property
    def body(self) -> dict[str, Any]:
        """What an event of its kind holds, as plain data."""
        body: dict[str, Any] = _fields(self.data)[7]
        return body

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
        return cls(game_id, seq, prev, t_ms, kind, seat, None, data, event_hash(data))

    @classmethod
    def read(cls, data: bytes) -> Self:
        """Read stored bytes. Unknown kinds and body keys are carried.

        :raises Malformed: the bytes are not MP-C1 or not an envelope of format 1.
        """
        if (known := _read_act(data)) is not None:
            _, game_id, seq, prev, t_ms, kind, seat, act = astuple(known)
            return cls(game_id, seq, prev, t_ms, kind, seat, act, data, event_hash(data))
        try:
            fields = codec.decode(data)
        except codec.NotCanonical as error:
            raise Malformed(str(error)) from error
        _check_envelope(fields)
        _, game_id, seq, prev, t_ms, kind, seat, _ = fields
        return cls(game_id, seq, prev, t_ms, kind, seat, None, data, event_hash(data))


_Plain = codec.Scalar | list[codec.Scalar] | dict[str, codec.Scalar]


class _Body(Act, frozen=True):
    """The body of an act in which every value is of a type that MP-C1 knows."""

    a: bytes | tuple[str, dict[str, codec.Scalar | list[_Plain] | dict[str, _Plain]]]
    x: tuple[Unsigned, Bytes32, list[list[int | str]]] | UnsetType = UNSET


class _ActEvent(msgspec.Struct, array_like=True, forbid_unknown_fields=True, gc=False):
    """What `_check_envelope` accepts, of an act that is one."""

    version: Literal[1]
    game_id: Bytes16
    seq: Positive
    prev: Bytes32
    t_ms: Unsigned
    kind: Literal["act"]
    seat: Positive | None
    body: _Body


_read_act = codec.reader(_ActEvent)
_fields = msgspec.msgpack.Decoder(list[Any]).decode


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
