"""The fingerprint of a state and the hash of a ruleset (docs/event-format.md, 'Fingerprint' and 'Rulesets')."""

from collections.abc import Callable, Mapping
from functools import cache
from operator import attrgetter
from typing import Any, TypeVar, get_origin, get_type_hints

import msgspec
from msgspec.structs import replace

from engine.protocol import Rules
from events import codec
from events.hashing import sha256, sized, tag

_STATE, _RULES = tag("state"), tag("rules")
S = TypeVar("S", bound=msgspec.Struct)
_encode = msgspec.msgpack.Encoder(order="sorted").encode


class Packed:
    """The lasting parts of a state as they were last packed: what never changes, another takes its place.

    Of two states of a game that follow on each other most are the same.
    """

    __slots__ = ("data", "parts")

    def __init__(self) -> None:
        self.parts: tuple[Any, ...] = ()
        self.data: dict[str, msgspec.Raw] = {}

    def inside(self, state: S) -> S:
        """A state that packs as this one does, in which the lasting parts are packed already."""
        names, parts_of = _lasting(type(state))
        if (parts := parts_of(state)) != self.parts:
            before = self.parts or (None,) * len(names)
            changed = [
                (name, part)
                for name, part, old in zip(names, parts, before, strict=True)
                if part is not old
            ]  # fmt: skip
            self.data = self.data | {name: msgspec.Raw(_encode(part)) for name, part in changed}
            self.parts = parts
        return replace(state, **self.data)


def canonical(state: msgspec.Struct) -> bytes:
    """The MP-C1 bytes of a rules state, at most 1 MiB.

    The state's types admit nothing else (a test walks them), so the fast encoder is canonical here.
    """
    return _within(_encode(state))


def state_hash(rules_id: str, state: msgspec.Struct, packed: Packed | None = None) -> bytes:
    """``S``, 32 bytes; the fingerprint ``f`` is its first 8.

    With ``packed``, in which it also keeps them, parts that were packed before are not packed anew.
    """
    return sha256(_prefix(rules_id) + _within(_encode(state if packed is None else packed.inside(state))))


def _within(data: bytes) -> bytes:
    if len(data) > codec.STATE_LIMIT:
        raise codec.NotCanonical(f"a state of {len(data)} bytes, at most {codec.STATE_LIMIT} are allowed")
    return data


@cache
def _lasting(kind: type[msgspec.Struct]) -> tuple[tuple[str, ...], Callable[[Any], tuple[Any, ...]]]:
    """The names of the lasting parts of a state, mappings and frozen structs, and a function that takes them out."""
    names = tuple(name for name, hint in get_type_hints(kind).items() if _lasts(hint))
    return (names, attrgetter(*names)) if len(names) > 1 else ((), lambda state: ())


def _lasts(hint: Any) -> bool:
    if isinstance(hint, type) and issubclass(hint, msgspec.Struct):
        return hint.__struct_config__.frozen
    return get_origin(hint) is Mapping


@cache
def _prefix(rules_id: str) -> bytes:
    return _STATE + sized(rules_id.encode())


def rules_hash(rules: Rules[Any]) -> bytes:
    """What a game is played under: the ruleset's id, its material and its golden transcripts."""
    return sha256(_RULES + sized(rules.id.encode()) + codec.encode(rules.components) + rules.transcripts)
