"""A position as bytes, to go on from without folding what led to it. A cache, and no evidence.

Only positions of games in play are kept, whose record was exact so far. Whoever reads one back holds it against the
event that it claims to follow: the event's hash must be the head, its fingerprint that of the state. An audit never
looks at one.
"""

from typing import Any, Final

import msgspec

from engine.protocol import Setup
from engine.registry import RULESETS
from events.bodies import Create
from events.event import Event
from replay.fingerprint import rules_hash
from replay.position import EXACT, PLAYING, Dice, Position, Seat

FORMAT: Final = 1
"""Of another one nothing is read: it is made again."""


class NoSnapshot(ValueError):
    """The bytes are not the position after an event of the log, and why."""


class _Kept(msgspec.Struct, array_like=True):
    """Every field of a position that is not the default of a game in play."""

    format: int
    game_id: bytes
    version: int
    head: bytes
    t_ms: int
    started_ms: int
    created_ms: int
    create: Create
    seats: list[Seat]
    setup: Setup
    state: msgspec.Raw
    dice: Dice


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(_Kept).decode
_states: Final[dict[str, msgspec.msgpack.Decoder[Any]]] = {}


def is_kept(position: Position, event: Event) -> bool:
    """May the position, which is the one after the event, be kept?"""
    return (
        position.status == PLAYING
        and not position.closed
        and position.grade == EXACT
        and position.state is not None
        and position.rules is not None
        and RULESETS.get(position.rules.id) is position.rules
        and "f" in event.body
    )


def pack(position: Position) -> bytes:
    """The bytes of a position that `is_kept`."""
    assert position.create is not None
    assert position.setup is not None
    kept = _Kept(
        FORMAT, position.game_id, position.version, position.head, position.t_ms, position.started_ms,
        position.created_ms, position.create, position.seats, position.setup, msgspec.Raw(_encode(position.state)),
        position.dice,
    )  # fmt: skip
    return _encode(kept)


def unpack(data: bytes, event: Event) -> Position:
    """The position after an event.

    :raises NoSnapshot: the bytes are not that position.
    """
    try:
        kept = _decode(data)
    except msgspec.MsgspecError as error:
        raise NoSnapshot(str(error)) from error
    rules = RULESETS.get(kept.create.rules)
    if kept.format != FORMAT or rules is None or rules_hash(rules) != kept.create.rules_hash:
        raise NoSnapshot("made by another version, or under rules that are not these")
    if (kept.game_id, kept.version, kept.head) != (event.game_id, event.seq, event.hash):
        raise NoSnapshot(f"it follows another event {kept.version}")
    if (decoder := _states.get(rules.id)) is None:
        decoder = _states[rules.id] = msgspec.msgpack.Decoder(rules.state)
    try:
        state, options = decoder.decode(kept.state), msgspec.convert(kept.create.options, rules.options)
    except msgspec.MsgspecError as error:
        raise NoSnapshot(str(error)) from error
    position = Position(
        kept.game_id, version=kept.version, head=kept.head, t_ms=kept.t_ms, started_ms=kept.started_ms,
        created_ms=kept.created_ms, status=PLAYING, create=kept.create, rules=rules, options=options,
        seats=kept.seats, setup=kept.setup, state=state, dice=kept.dice,
    )  # fmt: skip
    if position.fingerprint != event.body.get("f"):
        raise NoSnapshot("its state has another fingerprint than the event")
    return position
