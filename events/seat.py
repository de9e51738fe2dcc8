"""A self-custody seat's own side: its key and dice chain, both derived from one secret, and what it signs with them.

Whoever holds the account secret can play on from any device: the game's log says at which head the seat sat down, and
key and chain follow from that. The server never sees the secret.
"""

import secrets
from typing import Any, Final

from nacl.signing import SigningKey

from events import seeds
from events.hashing import hmac_sha256, sha256, sized, tag, u8, u32
from events.signing import Sealed, SignedAction

SECRET_LENGTH: Final = 32
_PHRASE_BITS: Final = 280
_ALPHABET: Final = "0123456789abcdefghjkmnpqrstvwxyz"
_SPARE: Final = {ord(" "): None, ord("-"): None, ord("\n"): None, ord("o"): "0", ord("i"): "1", ord("l"): "1"}
_ACCOUNT, _SEAT_KEY, _SEAT_TAIL = map(tag, ("account", "seat-key", "seat-tail"))


def new_secret() -> bytes:
    """A fresh account secret."""
    return secrets.token_bytes(SECRET_LENGTH)


def to_phrase(secret: bytes) -> str:
    """An account secret as people keep it: 14 groups of 4 digits and letters (base32 without i, l, o, u), the last of
    which show a slip of the pen."""
    number = int.from_bytes(secret + _check(secret) + b"\0", "big")
    digits = "".join(_ALPHABET[number >> shift & 31] for shift in range(_PHRASE_BITS - 5, -5, -5))
    return "-".join(digits[at : at + 4] for at in range(0, len(digits), 4))


def from_phrase(phrase: str) -> bytes:
    """The account secret in a phrase; spaces, dashes and the size of letters say nothing.

    :raises ValueError: it is none: too short or long, another character, or mistyped.
    """
    digits = phrase.lower().translate(_SPARE)
    if len(digits) * 5 != _PHRASE_BITS or not set(digits) <= set(_ALPHABET):
        raise ValueError(f"an account phrase has {_PHRASE_BITS // 5} digits and letters")
    number = 0
    for digit in digits:
        number = number << 5 | _ALPHABET.index(digit)
    data = number.to_bytes(_PHRASE_BITS // 8, "big")
    secret = data[:SECRET_LENGTH]
    if data[SECRET_LENGTH:] != _check(secret) + b"\0":
        raise ValueError("the account phrase is mistyped")
    return secret


def _check(secret: bytes) -> bytes:
    return sha256(_ACCOUNT + secret)[:2]


def hkdf(secret: bytes, salt: bytes, info: bytes) -> bytes:
    """HKDF with SHA-256 (RFC 5869), one block of 32 bytes."""
    return hmac_sha256(hmac_sha256(salt, secret), info + b"\x01")


class SeatKey:
    """One seat of one game, from the join on that was signed at version ``joined`` (the ``head_seq`` of the join).

    A seat that is left and taken again has another key and another chain.
    """

    def __init__(
        self, secret: bytes, game_id: bytes, seat: int, joined: int, chain_len: int = seeds.CHAIN_LENGTH
    ) -> None:
        where = sized(game_id) + u8(seat) + u32(joined)
        self.game_id, self.seat, self.joined = game_id, seat, joined
        self._key = SigningKey(hkdf(secret, _ACCOUNT, _SEAT_KEY + where))
        self.chain = seeds.Chain(game_id, seat, hkdf(secret, _ACCOUNT, _SEAT_TAIL + where), chain_len)

    @property
    def public(self) -> bytes:
        """The seat's public key, 32 bytes."""
        return bytes(self._key.verify_key)

    def join(self, head: bytes, choice: dict[str, Any], cp: tuple[int, bytes] | None = None) -> Sealed:
        """Sit down right behind the event with hash ``head`` (version ``joined``); ``cp``: size and root of the newest
        checkpoint of the log of games that this client has verified."""
        args: dict[str, Any] = {"pk": self.public, "choice": choice}
        return self.sign("join", 0, self.joined, head, args=args | _checkpoint(cp))

    def sign(
        self,
        kind: str,
        pseq: int,
        head_seq: int,
        head: bytes,
        name: str | None = None,
        args: dict[str, Any] | None = None,
        cp: tuple[int, bytes] | None = None,
    ) -> Sealed:
        """The seat's action number ``pseq``, which reveals link ``pseq`` of its chain."""
        made = SignedAction.write(
            kind,
            self.game_id,
            self.seat,
            pseq,
            head_seq,
            head,
            self.chain.link(pseq),
            name,
            (args or {}) | _checkpoint(cp),
        )
        return made.sign(self._key)


def _checkpoint(cp: tuple[int, bytes] | None) -> dict[str, Any]:
    return {} if cp is None else {"cp": list(cp)}
