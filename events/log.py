"""The log of a game: two verbs, append and read, and a feed that tells who wrote.

A log holds every event for ever, densely numbered from 1, each chained to the one before. Errors are few and named for
the reaction they call for: `Conflict` load again, `Unavailable` try again with the same key, `Archived` read on in the
archive, `Damaged` stop and call for help.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Protocol

import msgspec

from events.event import Event
from events.hashing import sha256, u8

PAGE_LIMIT = 500
"""Entries in a page of `read`, unless asked otherwise."""
MISSED_LIMIT = 64
"""Most events that a `Conflict` carries."""
BLOCK_LIMIT_MS = 4_000
"""Longest that one `follow` may wait, in milliseconds: below the client's socket timeout of 5 s."""
SHARDS = "0123456789abcdef"
"""A game's shard is the first hex digit of its id; each shard has one feed."""


class Damage(msgspec.Struct, frozen=True):
    """Something in the log is not as it was written. ``place`` is the entry, ``<seq>-0``; ``data`` its bytes, if it has
    any."""

    place: str
    reason: str
    data: bytes | None = None


class Appended(msgspec.Struct, frozen=True):
    """The events are written, and the game is at ``version`` with ``head``."""

    version: int
    head: bytes


class AlreadyDone(msgspec.Struct, frozen=True):
    """This seat's key was used before, for ``event``; nothing was written."""

    event: Event


class Head(msgspec.Struct, frozen=True):
    """Where a game stands: the number of its events and the hash of the last (version 0: the genesis hash)."""

    version: int
    head: bytes
    archived: bool = False


class Page(msgspec.Struct, frozen=True):
    """A stretch of a game in order. A `Damage` stands where something is wrong; if its entry can be read the event
    follows it. ``next`` is the ``after`` of the next page, None at the end."""

    items: tuple[Event | Damage, ...]
    next: int | None

    @property
    def events(self) -> list[Event]:
        """The events alone."""
        return [item for item in self.items if isinstance(item, Event)]

    @property
    def damage(self) -> list[Damage]:
        """The damage alone."""
        return [item for item in self.items if isinstance(item, Damage)]


class FeedLine(msgspec.Struct, frozen=True):
    """One append: the events ``first`` to ``version`` of a game."""

    game_id: bytes
    first: int
    version: int


class FeedPage(msgspec.Struct, frozen=True):
    """Feed lines in order of writing within a shard, and the cursors to go on from."""

    lines: tuple[FeedLine, ...]
    cursors: dict[str, str]


class Conflict(Exception):
    """The game stands elsewhere than the events to append say. Reaction: load what was missed and decide again.

    ``missed`` are the events after the expected version, oldest first, at most `MISSED_LIMIT`; it is empty if the game
    is not past that version, which then never was in this log.
    """

    def __init__(self, version: int, head: bytes, missed: tuple[Event | Damage, ...]) -> None:
        super().__init__(f"the game is at version {version}, head {head.hex()}")
        self.version, self.head, self.missed = version, head, missed


class Unavailable(Exception):
    """The log cannot be reached or does not take writes now. Reaction: try again later, with the same key."""


class OutcomeUnknown(Unavailable):
    """The command was sent, but no answer came: it may or may not be written. Reaction: retry with the same key."""


class Archived(Exception):
    """The game is closed and its events are in the archive: nothing can be appended. Reaction: read the archive."""

    def __init__(self, version: int, head: bytes) -> None:
        super().__init__(f"archived at version {version}, head {head.hex()}")
        self.version, self.head = version, head


class Damaged(Exception):
    """The game's record is not sound, so nothing was written. Reaction: stop this game and report ``damage``."""

    def __init__(self, damage: Damage) -> None:
        super().__init__(f"{damage.place}: {damage.reason}")
        self.damage = damage


class EventLog(Protocol):
    """What every log does. Each verb may raise `Unavailable`."""

    def append(self, events: Sequence[Event]) -> Appended | AlreadyDone:
        """Write all of ``events`` or none. The first one's ``seq`` and ``prev`` are the expected version and head; the
        key of idempotency is in the events (`idempotency_field`).

        :raises Conflict: the game is not at that version and head.
        :raises Archived: the game was moved to the archive.
        :raises Damaged: the record is not sound.
        :raises OutcomeUnknown: no answer came.
        :raises ValueError: ``events`` are none, or not one chain of one game.
        """

    def read(self, game_id: bytes, after: int = 0, limit: int = PAGE_LIMIT) -> Page:
        """Up to ``limit`` entries after version ``after``. An unknown game is an empty page.

        :raises Archived: the events are in the archive.
        """

    def head(self, game_id: bytes) -> Head:
        """Version and head; an unknown game is at version 0.

        :raises Damaged: the record must be looked through to know, and is not sound.
        """

    def answered(self, game_id: bytes, seat: int, k: bytes) -> int | None:
        """The seq of the event that a seat's key was used for."""

    def rebuild(self, game_id: bytes) -> Head:
        """Derive all that is kept beside the events anew from them.

        :raises Damaged: the record is not sound; nothing is changed.
        """

    def games(self) -> Iterator[bytes]:
        """Every game's id, once, in no order. Reads the whole list of names: for tools, not for requests."""

    def feed_ends(self) -> dict[str, str]:
        """A cursor for each shard that is after everything written so far."""

    def follow(self, cursors: Mapping[str, str], block_ms: int = BLOCK_LIMIT_MS) -> FeedPage:
        """Lines after ``cursors`` (shard -> cursor, "0" is the beginning), waiting up to ``block_ms`` for the first.

        :raises ValueError: ``block_ms`` is above `BLOCK_LIMIT_MS`.
        """


def whole(log: EventLog, game_id: bytes, after: int = 0) -> Iterator[Event | Damage]:
    """Everything after version ``after``, page by page."""
    position: int | None = after
    while position is not None:
        page = log.read(game_id, position)
        yield from page.items
        position = page.next


def idempotency_key(key: str | bytes) -> bytes:
    """``k``: the first 8 bytes of the hash of a key; for a signed action the key is its bytes."""
    return sha256(key.encode() if isinstance(key, str) else key)[:8]


def idempotency_field(seat: int, k: bytes) -> bytes:
    """How the scope (seat, key) is written in a game's index of keys."""
    return u8(seat) + k


def field_of(event: Event) -> bytes | None:
    """The scope and key that an event answers: the bytes of a signed action, or body ``k``."""
    if event.seat is None or event.seat > 255:
        return None
    action, k = event.body.get("a"), event.body.get("k")
    if type(action) is bytes:
        return idempotency_field(event.seat, idempotency_key(action))
    if type(k) is bytes and len(k) == 8:
        return idempotency_field(event.seat, k)
    return None
