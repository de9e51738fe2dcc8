"""What the service signs for its clients: receipts of what it wrote, and refusals of what it did not.

Both are C2SP signed notes of the receipts key. A receipt names an event by its number and hash: two with the same
number and different hashes, or one that is not on the chain shown later, convict the service. A refusal names the
request by its hash and the game by its head. Neither holds a time, so a repeated answer is byte-equal. They are read
by `replay.receipts`.
"""

import hashlib
from binascii import b2a_base64
from dataclasses import dataclass
from typing import Final

import redis
from nacl.bindings import crypto_sign, crypto_sign_BYTES, crypto_sign_seed_keypair

from events.redis_client import Command, Wire
from events.redis_log import shard_of
from replay.receipts import RECEIPT, REFUSAL
from service.clock import Clock
from service.proofs.signing_keys import SigningKeys

OWN_LIMIT: Final = 100
"""Most refusals that are kept of one who has a seat at a game; the oldest go first."""
STRANGER_LIMIT: Final = 10
"""Most that are kept of one who has none."""
STRANGERS_LIMIT: Final = 64
"""A further caller without a seat has none kept once so many callers have some."""
_DAY_MS: Final = 86_400_000


class Notary:
    """Signs with the receipts key."""

    def __init__(self, keys: SigningKeys) -> None:
        signer = keys.receipts
        self._origin = keys.origin
        _, self._secret = crypto_sign_seed_keypair(signer.seed)  # made once: that takes as long as a signature
        self._line = f"\n— {signer.name} "
        self._key_id = signer.verifier.key_id

    def receipt(self, game_id: bytes, seq: int, event_hash: bytes) -> str:
        """The receipt of event ``seq`` of a game, whose hash (32 bytes) it names, as the text of a signed note."""
        return self._note(f"{RECEIPT}\n{self._origin}\n{game_id.hex()}\n{seq}\n{_base64(event_hash)}\n")

    def refusal(self, game_id: bytes, request: bytes, head_seq: int, head: bytes, code: str) -> str:
        """The refusal of a request of that body, with the problem's code, at that head of the game."""
        digest = _base64(hashlib.sha256(request).digest())
        return self._note(
            f"{REFUSAL}\n{self._origin}\n{game_id.hex()}\n{digest}\n{head_seq}\n{_base64(head)}\n{code}\n"
        )

    def _note(self, text: str) -> str:
        """As `events.notes.sign_note`, for texts that are known to be ones."""
        signature = crypto_sign(text.encode(), self._secret)[:crypto_sign_BYTES]  # (signature, text)
        return f"{text}{self._line}{_base64(self._key_id + signature)}\n"


def _base64(data: bytes) -> str:
    return b2a_base64(data, newline=False).decode()


# -- kept refusals ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Refused:
    """A refusal that is kept: when it was given, in milliseconds since 1970, to whom (16 bytes), and the note."""

    t_ms: int
    player: bytes
    note: str


class Refusals:
    """The refusals of the last days, in Redis beside the log of their game, in its hash slot.

    ``{sX}:refused:<game>`` has the callers, ``{sX}:refusals:<game>:<player>`` the notes of one, both by time.
    """

    def __init__(self, client: redis.Redis, clock: Clock, days: int) -> None:
        self._wire, self._clock, self._keep_ms = Wire(client), clock, days * _DAY_MS

    def keep(self, game_id: bytes, player: bytes, holder: bool, note: str) -> bool:
        """Keep a refusal; one that is kept already only becomes newer. False: too many strangers were refused here.

        ``holder``: the caller has a seat, or opened the table. Of others fewer are kept, so that no crowd can crowd
        out those who play.

        :raises events.log.Unavailable: the database does not answer.
        """
        now, callers = self._clock(), _callers(game_id)
        oldest = f"({now - self._keep_ms}"
        if not holder:
            known, count = self._wire.call(
                ("ZREMRANGEBYSCORE", callers, "-inf", oldest), ("ZSCORE", callers, player), ("ZCARD", callers)
            )[1:]
            if known is None and count >= STRANGERS_LIMIT:
                return False
        most, notes = OWN_LIMIT if holder else STRANGER_LIMIT, _notes(game_id, player)
        self._wire.call(
            ("ZADD", notes, now, note),
            ("ZREMRANGEBYSCORE", notes, "-inf", oldest),
            ("ZREMRANGEBYRANK", notes, 0, -most - 1),
            ("PEXPIRE", notes, self._keep_ms),
            ("ZADD", callers, now, player),
            ("PEXPIRE", callers, self._keep_ms),
        )
        return True

    def of(self, game_id: bytes, player: bytes | None = None) -> list[Refused]:
        """The refusals of a game that are kept, oldest first: those of one caller, or of all.

        :raises events.log.Unavailable: the database does not answer.
        """
        players = [player] if player is not None else self._wire.call(("ZRANGE", _callers(game_id), 0, -1))[0]
        if not players:
            return []
        oldest = self._clock() - self._keep_ms
        commands: list[Command] = [("ZRANGE", _notes(game_id, one), 0, -1, "WITHSCORES") for one in players]
        kept = [
            Refused(int(t_ms), one, note.decode())
            for one, found in zip(players, self._wire.call(*commands), strict=True)
            for note, t_ms in zip(found[::2], found[1::2], strict=True)
            if int(t_ms) >= oldest
        ]
        return sorted(kept, key=lambda refused: (refused.t_ms, refused.note))


def _callers(game_id: bytes) -> str:
    return f"{shard_of(game_id)}:refused:{game_id.hex()}"


def _notes(game_id: bytes, player: bytes) -> str:
    return f"{shard_of(game_id)}:refusals:{game_id.hex()}:{player.hex()}"
