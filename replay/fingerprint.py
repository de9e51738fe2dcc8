"""The fingerprint of a state and the hash of a ruleset (docs/event-format.md, 'Fingerprint' and 'Rulesets')."""

from collections.abc import Mapping
from functools import cache
from typing import Any, get_args, get_origin, get_type_hints

import msgspec

from engine.protocol import Rules
from events import codec
from events.hashing import sha256, sized, tag

_STATE, _RULES = tag("state"), tag("rules")
_encode = msgspec.msgpack.Encoder(order="sorted").encode

Packed = dict[str, tuple[Mapping[str, Any], msgspec.Raw]]
"""The large parts of a state as they were last packed: by field, the part and its bytes."""


def canonical(state: msgspec.Struct) -> bytes:
    """The MP-C1 bytes of a rules state.

    The state's types admit nothing else (a test walks them), so the fast encoder is canonical here.
    """
    return _encode(state)


def state_hash(rules_id: str, state: msgspec.Struct, packed: Packed | None = None) -> bytes:
    """``S``, 32 bytes, of a state of at most 1 MiB; the fingerprint ``f`` is its first 8.

    With ``packed``, in which it also keeps them, a part that was packed before is not packed anew.
    """
    prefix, large = _known(rules_id, type(state))
    if packed is not None and large:
        state = state.__copy__()  # type: ignore[attr-defined]  # as copy.copy does it, in half the time
        for name in large:
            part = getattr(state, name)
            known = packed.get(name)
            if known is None or known[0] is not part:  # a Mapping never changes: another one takes its place
                known = packed[name] = (part, msgspec.Raw(_encode(part)))
            setattr(state, name, known[1])  # it is packed as it is
    data = _encode(state)
    if len(data) > codec.STATE_LIMIT:
        raise codec.NotCanonical(f"a state of {len(data)} bytes, at most {codec.STATE_LIMIT} are allowed")
    return sha256(prefix + data)


@cache
def _known(rules_id: str, kind: type[msgspec.Struct]) -> tuple[bytes, tuple[str, ...]]:
    """What a state is hashed behind, and its fields that hold many things: mappings to structs."""
    hints = get_type_hints(kind).items()
    return _STATE + sized(rules_id.encode()), tuple(name for name, hint in hints if _is_large(hint))


def _is_large(hint: Any) -> bool:
    return get_origin(hint) is Mapping and issubclass(get_args(hint)[1], msgspec.Struct)


@cache
def rules_hash(rules: Rules[Any]) -> bytes:
    """What a game is played under: the ruleset's id, its material and its golden transcripts."""
    return sha256(_RULES + sized(rules.id.encode()) + codec.encode(rules.components) + rules.transcripts)
