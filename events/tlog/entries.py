"""What the log of games holds: MP-C1 arrays, one for each game opened, closed, each key, and a log before this one.

No entry names a person: ids are random, the rest are hashes (docs/event-format.md, 'The log of games').
"""

from dataclasses import dataclass
from typing import Any, Final

from events import codec
from events.event import Event
from events.notes import BadKey, Verifier

FORMAT: Final = 1
ADD: Final = "add"
RETIRE: Final = "retire"


class BadEntry(ValueError):
    """Bytes that are no entry of the log, and why."""


@dataclass(frozen=True, slots=True)
class Opened:
    """``["open", 1, id, hash of event 1, commit | nil, rules_hash | nil, t_ms]``; nil where a case has none."""

    game_id: bytes
    hash: bytes
    commit: bytes | None
    rules_hash: bytes | None
    t_ms: int

    @classmethod
    def of(cls, first: Event) -> "Opened":
        """The entry of a game, or case, from its first event.

        :raises BadEntry: the event is not the first, or is no `create`.
        """
        if first.seq != 1 or first.kind != "create":
            raise BadEntry(f"event {first.seq} ({first.kind}) opens nothing")
        return cls(first.game_id, first.hash, _hash(first, "commit"), _hash(first, "rules_hash"), first.t_ms)

    def write(self) -> bytes:
        """The entry's bytes."""
        return codec.encode(["open", FORMAT, self.game_id, self.hash, self.commit, self.rules_hash, self.t_ms])


@dataclass(frozen=True, slots=True)
class Closed:
    """``["close", 1, id, number of events, hash of the last, status | nil, tail | nil, t_ms]``."""

    game_id: bytes
    version: int
    head: bytes
    status: str | None
    tail: bytes | None
    t_ms: int

    @classmethod
    def of(cls, last: Event) -> "Closed":
        """The entry of a game, or case, from its last event.

        :raises BadEntry: the event is no `close`.
        """
        if last.kind != "close":
            raise BadEntry(f"event {last.seq} ({last.kind}) closes nothing")
        status = last.body.get("status")
        return cls(
            last.game_id,
            last.seq,
            last.hash,
            status if isinstance(status, str) else None,
            _hash(last, "tail"),
            last.t_ms,
        )

    def write(self) -> bytes:
        """The entry's bytes."""
        return codec.encode(["close", FORMAT, self.game_id, self.version, self.head, self.status, self.tail, self.t_ms])


@dataclass(frozen=True, slots=True)
class Key:
    """``["key", 1, "add" | "retire", vkey, t_ms]``: from here on a key signs checkpoints, or does no more."""

    change: str
    vkey: str
    t_ms: int

    def write(self) -> bytes:
        """The entry's bytes."""
        return codec.encode(["key", FORMAT, self.change, self.vkey, self.t_ms])


@dataclass(frozen=True, slots=True)
class Link:
    """``["link", 1, old origin, old size, old root]``: the first leaf of a log that follows upon another."""

    origin: str
    size: int
    root: bytes

    def write(self) -> bytes:
        """The entry's bytes."""
        return codec.encode(["link", FORMAT, self.origin, self.size, self.root])


Entry = Opened | Closed | Key | Link


def read_entry(data: bytes) -> Entry:
    """Read an entry.

    :raises BadEntry: the bytes are none of format 1.
    """
    try:
        fields = codec.decode(data)
    except codec.NotCanonical as error:
        raise BadEntry(str(error)) from error
    if type(fields) is not list or len(fields) < 2 or type(fields[1]) is not int or fields[1] != FORMAT:
        raise BadEntry("not an entry of format 1")
    match fields:
        case ["open", _, game_id, head, commit, rules_hash, t_ms]:
            _check(_bytes(game_id, 16), _bytes(head), _optional(commit), _optional(rules_hash), _number(t_ms))
            return Opened(game_id, head, commit, rules_hash, t_ms)
        case ["close", _, game_id, version, head, status, tail, t_ms]:
            _check(
                _bytes(game_id, 16),
                _number(version) and version >= 1,
                _bytes(head),
                status is None or type(status) is str,
                _optional(tail),
                _number(t_ms),
            )
            return Closed(game_id, version, head, status, tail, t_ms)
        case ["key", _, "add" | "retire" as change, vkey, t_ms]:
            _check(type(vkey) is str, _number(t_ms))
            try:
                Verifier.parse(vkey)
            except BadKey as error:
                raise BadEntry(f"not a verifier key: {error}") from error
            return Key(change, vkey, t_ms)
        case ["link", _, origin, size, root]:
            _check(type(origin) is str, _number(size), _bytes(root))
            return Link(origin, size, root)
    raise BadEntry(f"not an entry that this log holds: {str(fields[0])[:32]!r} with {len(fields)} fields")


def _check(*sound: bool) -> None:
    if not all(sound):
        raise BadEntry("a field of the entry is not of its type")


def _bytes(value: Any, length: int = 32) -> bool:
    return type(value) is bytes and len(value) == length


def _optional(value: Any) -> bool:
    return value is None or _bytes(value)


def _number(value: Any) -> bool:
    return type(value) is int and value >= 0


def _hash(event: Event, name: str) -> bytes | None:
    value = event.body.get(name)
    return value if _bytes(value) else None
