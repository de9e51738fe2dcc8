"""The fingerprint of a state and the hash of a ruleset (docs/event-format.md, 'Fingerprint' and 'Rulesets')."""

from functools import cache
from typing import Any

import msgspec

from engine.protocol import Rules
from events import codec
from events.hashing import sha256, sized, tag

_STATE, _RULES = tag("state"), tag("rules")
_encoder = msgspec.msgpack.Encoder(order="sorted")


def canonical(state: msgspec.Struct) -> bytes:
    """The MP-C1 bytes of a rules state, at most 1 MiB.

    The state's types admit nothing else (a test walks them), so the fast encoder is canonical here.
    """
    data = _encoder.encode(state)
    if len(data) > codec.STATE_LIMIT:
        raise codec.NotCanonical(f"a state of {len(data)} bytes, at most {codec.STATE_LIMIT} are allowed")
    return data


def state_hash(rules_id: str, state: msgspec.Struct) -> bytes:
    """``S``, 32 bytes; the fingerprint ``f`` is its first 8."""
    return sha256(_prefix(rules_id) + canonical(state))


@cache
def _prefix(rules_id: str) -> bytes:
    return _STATE + sized(rules_id.encode())


def rules_hash(rules: Rules[Any]) -> bytes:
    """What a game is played under: the ruleset's id, its material and its golden transcripts."""
    return sha256(_RULES + sized(rules.id.encode()) + codec.encode(rules.components) + rules.transcripts)
