"""The fingerprint of a state and the hash of a ruleset (docs/event-format.md, 'Fingerprint' and 'Rulesets')."""

from copy import copy
from functools import cache
from typing import Any, Final, get_args, get_origin, get_type_hints

import msgspec

from engine.protocol import Rules
from events import codec
from events.hashing import sha256, sized, tag

_STATE, _RULES = tag("state"), tag("rules")
_ROOM: Final = 4_096
"""Bytes that are set aside for a state: it grows where it has to."""
_encoder = msgspec.msgpack.Encoder(order="sorted")


Packed = dict[str, tuple[dict[str, Any], msgspec.Raw]]
"""The large parts of a state as they were last packed: by field, a copy of the part and its bytes."""


def canonical(state: msgspec.Struct) -> bytes:
    """The MP-C1 bytes of a rules state, at most 1 MiB.

    The state's types admit nothing else (a test walks them), so the fast encoder is canonical here.
    """
    return bytes(_canonical(state, b"", None))


def state_hash(rules_id: str, state: msgspec.Struct, packed: Packed | None = None) -> bytes:
    """``S``, 32 bytes; the fingerprint ``f`` is its first 8.

    With ``packed``, in which it also keeps them, a part that equals the one that was packed before is not packed anew.
    """
    return sha256(_canonical(state, _prefix(rules_id), packed))


def _canonical(state: msgspec.Struct, before: bytes, packed: Packed | None) -> bytearray:
    """The bytes of a state behind others."""
    size = len(before)
    if packed is not None and (large := _large(type(state))):
        state = copy(state)
        for name in large:
            part = getattr(state, name)
            known = packed.get(name)
            if known is None or known[0] != part:
                known = packed[name] = (part.copy(), msgspec.Raw(_encoder.encode(part)))
            setattr(state, name, known[1])  # it is packed as it is
    data = bytearray(_ROOM)
    data[:size] = before
    _encoder.encode_into(state, data, size)
    if len(data) - size > codec.STATE_LIMIT:
        raise codec.NotCanonical(f"a state of {len(data) - size} bytes, at most {codec.STATE_LIMIT} are allowed")
    return data


@cache
def _large(kind: type[msgspec.Struct]) -> tuple[str, ...]:
    """The fields that hold many things which never change by themselves, only for others: dicts of frozen structs of
    strings. Two of them that are equal have equal bytes."""
    return tuple(name for name, hint in get_type_hints(kind).items() if _settled(hint))


def _settled(hint: Any) -> bool:
    if get_origin(hint) is not dict or not isinstance(value := get_args(hint)[1], type):
        return False
    if not issubclass(value, msgspec.Struct) or not value.__struct_config__.frozen:
        return False
    return all(part is str for part in get_type_hints(value).values())


@cache
def _prefix(rules_id: str) -> bytes:
    return _STATE + sized(rules_id.encode())


def rules_hash(rules: Rules[Any]) -> bytes:
    """What a game is played under: the ruleset's id, its material and its golden transcripts."""
    return sha256(_RULES + sized(rules.id.encode()) + codec.encode(rules.components) + rules.transcripts)
