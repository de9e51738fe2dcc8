"""The bodies of a game's events, one struct a kind (docs/event-format.md, 'Kinds').

Optional keys are absent, never nil. A key that is not listed here is kept and hashed with the event and has no meaning.
"""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, UnsetType

from events.seeds import CHAIN_LIMIT

Bytes8 = Annotated[bytes, msgspec.Meta(min_length=8, max_length=8)]
Bytes16 = Annotated[bytes, msgspec.Meta(min_length=16, max_length=16)]
Bytes32 = Annotated[bytes, msgspec.Meta(min_length=32, max_length=32)]
Bytes64 = Annotated[bytes, msgspec.Meta(min_length=64, max_length=64)]
Positive = Annotated[int, msgspec.Meta(ge=1)]
Unsigned = Annotated[int, msgspec.Meta(ge=0)]

WATCHING = "^(open|none|delayed:[1-9][0-9]{0,4})$"
"""Who may look on while a game is played, ``delayed`` by so many seconds."""

Custody = Literal["self", "server"]
BotName = tuple[str, int]
"""A bot by name and level."""
Asked = bytes | tuple[str, dict[str, Any]]
"""An action: native ``[name, args]``, or the bytes a seat signed."""
Drawn = tuple[Unsigned, Bytes32, list[list[Any]]]
"""``[j, the server's link, the draws in order]``."""


class Body(msgspec.Struct, frozen=True, kw_only=True):
    """What one kind of event holds."""


class Create(Body, frozen=True):
    """A table is opened. ``commit`` is the server's c[0], ``key_id`` names the master key, ``build`` is a claim."""

    rules: str
    rules_hash: Bytes32
    seats: Annotated[int, msgspec.Meta(ge=1, le=255)]
    options: dict[str, Any]
    visibility: Literal["public", "unlisted", "private"]
    watching: Annotated[str, msgspec.Meta(pattern=WATCHING)]
    commit: Bytes32
    chain_len: Annotated[int, msgspec.Meta(ge=1, le=CHAIN_LIMIT)]
    key_id: str
    build: str
    forked_from: tuple[Bytes16, Positive, Bytes32, Bytes32] | UnsetType = UNSET
    """``[game_id, seq, hash, S]`` of the position played on from."""


class Join(Body, frozen=True):
    """A player sits down. A bot's seat has ``bot``, and a fresh random player id. A seat in self-custody signs with the
    key ``pk``; the link in the signed bytes ``a`` is its commitment."""

    player: Bytes16
    choice: dict[str, Any]
    custody: Custody
    bot: BotName | UnsetType = UNSET
    pk: Bytes32 | UnsetType = UNSET
    a: bytes | UnsetType = UNSET
    g: Bytes64 | UnsetType = UNSET


class Leave(Body, frozen=True):
    """A seat is free again, before the start."""

    a: bytes | UnsetType = UNSET
    g: Bytes64 | UnsetType = UNSET


class Lock(Body, frozen=True):
    """Nobody sits down any more; ``setup`` is every input of the fold."""

    setup: dict[str, Any]


class Reveal(Body, frozen=True):
    """A seat in self-custody reveals the first link of its chain, after the lock."""

    a: bytes
    g: Bytes64


class Seeded(Body, frozen=True):
    """The server reveals its first link, and the rules begin."""

    x: Drawn
    f: Bytes8


class Act(Body, frozen=True):
    """A move. ``x`` is there if and only if there were draws; ``k`` is the idempotency key's mark."""

    a: Asked
    f: Bytes8
    x: Drawn | UnsetType = UNSET
    k: Bytes8 | UnsetType = UNSET
    g: Bytes64 | UnsetType = UNSET


class Timeout(Body, frozen=True):
    """The envelope's seat was absent too long; the rules settle what was pending. After the lock, where the seat did
    not reveal its link, it is freed and the table is open again: then there is no ``f``."""

    f: Bytes8 | UnsetType = UNSET


class Resign(Body, frozen=True):
    """A seat leaves a running game for good."""

    a: Asked
    f: Bytes8
    g: Bytes64 | UnsetType = UNSET


class Handover(Body, frozen=True):
    """Kind ``custody``: ``seat`` plays unsigned from here on, by a player or a bot."""

    seat: Positive
    by: bytes | BotName  # not Bytes16: msgspec reads astray where a bounded type and a fixed tuple share a union

    def __post_init__(self) -> None:
        if isinstance(self.by, bytes) and len(self.by) != 16:
            raise ValueError("a player id has 16 bytes")


class Signoff(Body, frozen=True):
    """A seat in self-custody vouches for how the game ended: what it signs follows on the last move."""

    a: bytes
    g: Bytes64


class Close(Body, frozen=True):
    """The last event. ``tail`` is the secret end of the server's chain, absent only where its key was lost;
    ``state_hash`` is the whole fingerprint."""

    status: Literal["finished", "abandoned", "void"]
    tail: Bytes32 | UnsetType = UNSET
    state_hash: Bytes32 | UnsetType = UNSET
    reason: str | UnsetType = UNSET


BODIES: dict[str, type[Body]] = {
    "create": Create,
    "join": Join,
    "leave": Leave,
    "lock": Lock,
    "reveal": Reveal,
    "seeded": Seeded,
    "act": Act,
    "timeout": Timeout,
    "resign": Resign,
    "custody": Handover,
    "signoff": Signoff,
    "close": Close,
}
"""Every kind of event of a game."""


def read_body(kind: str, body: dict[str, Any]) -> Body:
    """The typed body of an event of a known kind.

    :raises msgspec.ValidationError: a key is missing or of another type.
    """
    return msgspec.convert(body, BODIES[kind], builtin_types=(bytes,))


def plain(body: Body) -> dict[str, Any]:
    """The body as it is written."""
    data: dict[str, Any] = msgspec.to_builtins(body, builtin_types=(bytes,))
    return data
