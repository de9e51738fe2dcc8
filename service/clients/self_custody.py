"""A player's own side of a game in self-custody: checks everything that the server says, and signs over it.

The client folds the stored bytes of the game by itself, so it knows of each event, the moment it is made, whether it
extends the history that was signed before, whether its roll follows from what was committed, and whether it is legal.
Nothing is signed over a history that does not hold.
"""

import base64
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final

import msgspec

from events.event import Event
from events.seat import SeatKey
from events.signing import Sealed, SignedAction
from events.tlog.entries import Opened
from events.tlog.policy import Policy
from events.tlog.proof import Inclusion
from replay.position import Position

MEDIA_TYPE: Final = "application/vnd.annals.events"
"""Events as they are stored: each a length as u32 big endian, and the bytes."""

Checkpoint = tuple[int, bytes]
"""Size and root of the log of games."""


class NotSeated(Exception):
    """The seat is not held by a key of this secret, or none is held yet."""

    def __init__(self, seat: int | None = None) -> None:
        super().__init__("no seat is held yet" if seat is None else f"seat {seat} is not held with this secret")


class SelfCustody:
    """One seat of one game. ``fetch(after)`` gets the events behind a version as `MEDIA_TYPE`, ``post(path, body)``
    sends JSON to a path below the game's own and answers with JSON, or raises."""

    def __init__(
        self,
        game_id: bytes,
        secret: bytes,
        fetch: Callable[[int], bytes],
        post: Callable[[str, Mapping[str, Any]], Any],
    ) -> None:
        self.position = Position(game_id, check_dice=True)
        self._secret, self._fetch, self._post = secret, fetch, post
        self._first: Event | None = None
        self._joined: dict[int, int] = {}
        self._key: SeatKey | None = None

    def catch_up(self) -> Position:
        """Take over what happened meanwhile.

        :raises replay.position.Diverged: the server's history does not hold, or does not extend the one known here.
        :raises events.event.Malformed: it is no history at all.
        """
        for data in unframed(self._fetch(self.position.version)):
            event = Event.read(data)
            self.position.advance(event)
            self._first = self._first or event
            if event.kind == "join" and event.seat is not None and isinstance(event.body.get("a"), bytes):
                self._joined[event.seat] = SignedAction.read(event.body["a"]).head_seq
        return self.position

    def opened_in_log(self, proof: bytes, policy: Policy) -> Checkpoint:
        """The checkpoint to sign in `join`: a log that the policy trusts says that this table was opened, with the
        server's commitment to its dice, before anybody sat down.

        :raises ValueError: the proof does not hold (`BadNote`, `BadProof`, `BadCheckpoint`).
        """
        self.catch_up()
        assert self._first is not None
        inclusion = Inclusion.read(proof)
        checkpoint = policy.open(inclusion.checkpoint).checkpoint
        inclusion.check(Opened.of(self._first).write(), checkpoint)
        return checkpoint.size, checkpoint.root

    def join(self, seat: int, choice: Mapping[str, Any], cp: Checkpoint | None = None) -> Any:
        """Sit down. ``cp``: the checkpoint of the log of games, verified to cover the opening of this table.

        :raises msgspec.ValidationError: it is no choice of the ruleset.
        """
        position = self.catch_up()
        assert position.create is not None
        if position.rules is not None:  # what is signed is complete
            choice = msgspec.to_builtins(msgspec.convert(choice, position.rules.choice))
        self._key = SeatKey(self._secret, position.game_id, seat, position.version, position.create.chain_len)
        return self._send("seats", self._key.join(position.head, dict(choice), cp))

    def resume(self, seat: int) -> None:
        """Go on, perhaps on another device, with a seat that was taken with this secret.

        :raises NotSeated: it was not.
        """
        position = self.catch_up()
        assert position.create is not None
        if seat not in self._joined:
            raise NotSeated(seat)
        key = SeatKey(self._secret, position.game_id, seat, self._joined[seat], position.create.chain_len)
        if position.seats[seat - 1].pk != key.public:
            raise NotSeated(seat)
        self._key = key

    @property
    def seat(self) -> int:
        """The seat's number.

        :raises NotSeated: nobody sat down yet.
        """
        if self._key is None:
            raise NotSeated
        return self._key.seat

    def reveal(self) -> Any:
        """Reveal the first link, once the table is started."""
        return self._send("reveal", self._signed("reveal"))

    def act(self, name: str, args: Mapping[str, Any]) -> Any:
        """Make a move."""
        return self._send("actions", self._signed("act", name, args))

    def resign(self) -> Any:
        """Leave the game for good."""
        return self._send(f"seats/{self.seat}/resign", self._signed("resign"))

    def sign_off(self, cp: Checkpoint | None = None) -> Any:
        """Vouch for how the game ended."""
        return self._send("signoff", self._signed("signoff", cp=cp))

    def _signed(
        self, kind: str, name: str | None = None, args: Mapping[str, Any] | None = None, cp: Checkpoint | None = None
    ) -> Sealed:
        position = self.catch_up()
        number = position.seats[self.seat - 1].signed
        assert self._key is not None
        return self._key.sign(kind, number, position.version, position.head, name, dict(args or {}), cp)

    def _send(self, path: str, sealed: Sealed) -> Any:
        body = {"signed": base64.b64encode(sealed.action.data), "signature": base64.b64encode(sealed.signature)}
        return self._post(path, {name: value.decode() for name, value in body.items()})


def framed(events: Iterator[bytes]) -> Iterator[bytes]:
    """Events as `MEDIA_TYPE`."""
    for data in events:
        yield len(data).to_bytes(4, "big") + data


def unframed(data: bytes) -> Iterator[bytes]:
    """The events in `MEDIA_TYPE`.

    :raises ValueError: it is cut off.
    """
    at = 0
    while at < len(data):
        size = int.from_bytes(data[at : at + 4], "big")
        if at + 4 + size > len(data):
            raise ValueError("the events are cut off")
        yield data[at + 4 : at + 4 + size]
        at += 4 + size
