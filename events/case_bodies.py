"""The bodies of a case's events, one struct a kind (docs/event-format.md, 'Cases').

A case is a dispute about one event of a game, in a stream of its own. Optional keys are absent, never nil; a key that
is not listed here is kept and hashed with the event and has no meaning.
"""

from typing import Any, Final, Literal

import msgspec
from msgspec import UNSET, UnsetType

from events.bodies import Body, Bytes16, Bytes32, Positive, Unsigned
from events.event import Event
from events.hashing import sha256, sized, tag

UPHOLD: Final = "uphold"
VOID: Final = "void"
CORRECT: Final = "correct"
RESUME: Final = "resume"
RULINGS: Final = (UPHOLD, VOID, CORRECT, RESUME)
SALT: Final = 32
"""Bytes of the salt of a hidden text."""
_HIDDEN: Final = tag("hidden")


def hidden(salt: bytes, text: str) -> bytes:
    """``H(TAG("hidden") || salt || L(text))``: what stands in an event for a text that lies beside the log.

    :raises ValueError: the salt has not 32 bytes.
    :raises OverflowError: the text has more than 65,535 bytes of UTF-8.
    """
    if len(salt) != SALT:
        raise ValueError(f"a salt has {SALT} bytes")
    return sha256(_HIDDEN + salt + sized(text.encode()))


class Hidden(msgspec.Struct, frozen=True):
    """A text by its salted hash: whoever erases the text and its salt leaves the chain whole."""

    h: Bytes32


class Opening(Body, frozen=True):
    """Kind ``create``: ``[game_id, seq, hash]`` of the event that is disputed."""

    about: tuple[Bytes16, Positive, Bytes32]


class Dispute(Body, frozen=True):
    """Somebody disputes the event: a seat, or an auditor (the envelope has no seat).

    ``asked`` are the seats that may answer, ascending, until ``until`` (ms since 1970); ``verdict`` and ``code`` what
    the service's own audit of the game said at that moment.
    """

    player: Bytes16
    text: Hidden
    asked: list[Positive]
    until: Unsigned
    verdict: str
    code: str | UnsetType = UNSET


class Answer(Body, frozen=True):
    """A seat that was asked answers (``player`` and ``text``); or the server closes answering: ``silent`` are the
    seats that let the deadline pass."""

    player: Bytes16 | UnsetType = UNSET
    text: Hidden | UnsetType = UNSET
    silent: list[Positive] | UnsetType = UNSET


class Result(msgspec.Struct, frozen=True):
    """A corrected result: the winning seats, and each seat's score in seat order."""

    winners: list[Positive]
    scores: list[int]


class Ruling(Body, frozen=True):
    """An auditor rules. ``result`` is there for ``correct``; ``resume`` for ``resume``: the version that play goes on
    from, and the id of the game in which it does."""

    player: Bytes16
    text: Hidden
    ruling: Literal["uphold", "void", "correct", "resume"]
    result: Result | UnsetType = UNSET
    resume: tuple[Positive, Bytes16] | UnsetType = UNSET


class Closing(Body, frozen=True):
    """The last event: what was ruled is carried out; or who disputed the event does so no more (``player``)."""

    status: Literal["ruled", "withdrawn"]
    player: Bytes16 | UnsetType = UNSET


CASE_BODIES: Final[dict[str, type[Body]]] = {
    "create": Opening,
    "dispute": Dispute,
    "answer": Answer,
    "ruling": Ruling,
    "close": Closing,
}
"""Every kind of event of a case."""


def opens_case(event: Event) -> bool:
    """Is it the first event of a case, and not of a game?"""
    return event.seq == 1 and event.kind == "create" and "about" in event.body and "rules" not in event.body


def read_case_body(kind: str, body: dict[str, Any]) -> Body:
    """The typed body of an event of a case.

    :raises msgspec.ValidationError: a key is missing or of another type.
    """
    return msgspec.convert(body, CASE_BODIES[kind], builtin_types=(bytes,))
