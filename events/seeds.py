"""Where dice come from: committed hash chains, their mixing, and the byte stream of one event.

Everything here is a function of values that were committed before the game began (docs/event-format.md, 'Chance').
An owner is the server (0) or a seat (1..n). An owner's chain runs from a secret tail ``c[n]`` down to the public
commitment ``c[0]``; links are revealed upwards, and each is checked against the one before.
"""

import hashlib
from collections.abc import Iterator, Mapping
from functools import lru_cache
from math import isqrt

from events.hashing import hmac_sha256, sha256, sized, tag, u8, u32

SERVER = 0
CHAIN_LENGTH = 4_096
CHAIN_LIMIT = 65_536
"""Longest chain that a stored game may claim: whoever reads it has to compute it."""

_CHAIN, _TAIL, _SETUP, _ROLL, _DICE, _GAME_ID = map(tag, ("chain", "tail", "setup", "roll", "dice", "game-id"))


def lower(game_id: bytes, owner: int, k: int, link: bytes) -> bytes:
    """``c[k-1]`` from ``c[k]``."""
    return sha256(_above(game_id, owner) + u32(k) + link)


@lru_cache(1_024)
def _above(game_id: bytes, owner: int) -> bytes:
    """What stands before every link of a chain that is hashed to the one below."""
    return _CHAIN + sized(game_id) + u8(owner)


def server_tail(master: bytes, game_id: bytes) -> bytes:
    """The secret end of the server's chain of one game."""
    return hmac_sha256(master, _TAIL + sized(game_id))


def keyed_game_id(master: bytes, player_id: bytes, key: str) -> bytes:
    """The id of a game created under an idempotency key: a retry finds the game it made before."""
    return hmac_sha256(master, _GAME_ID + sized(player_id) + sized(key.encode()))[:16]


class Chain:
    """One owner's whole chain, from its tail; keeps about twice the square root of its links in memory."""

    def __init__(self, game_id: bytes, owner: int, tail: bytes, length: int = CHAIN_LENGTH) -> None:
        self.game_id, self.owner, self.length = game_id, owner, length
        self._stride = max(1, isqrt(length))
        self._marks: dict[int, bytes] = {length: tail}
        link, begun, k = tail, hashlib.sha256(_above(game_id, owner)), length
        while k:
            mark = (k - 1) // self._stride * self._stride
            for number in range(k, mark, -1):  # as `lower` does it, in half the time
                rest = begun.copy()
                rest.update(number.to_bytes(4, "big") + link)
                link = rest.digest()
            self._marks[mark] = link
            k = mark
        self._near: dict[int, bytes] = {}

    @property
    def commitment(self) -> bytes:
        """``c[0]``."""
        return self._marks[0]

    def link(self, k: int) -> bytes:
        """``c[k]``.

        :raises IndexError: the chain has no such link.
        """
        if not 0 <= k <= self.length:
            raise IndexError(f"link {k} of a chain of {self.length}")
        if (near := self._near.get(k)) is not None:
            return near
        mark = min(-(-k // self._stride) * self._stride, self.length)
        link = self._marks[mark]
        near_by = {mark: link}
        for step in range(mark, k, -1):
            link = lower(self.game_id, self.owner, step, link)
            near_by[step - 1] = link
        self._near = near_by  # links are asked for upwards, one after the other
        return link


def setup_mix(game_id: bytes, commitments: Mapping[int, bytes], first_links: Mapping[int, bytes]) -> bytes:
    """``M_0`` from every contributing owner's ``c[0]`` and ``c[1]``, the server first, then seats ascending."""
    owners = sorted(commitments)
    salt = sha256(_SETUP + sized(game_id) + b"".join(u8(owner) + commitments[owner] for owner in owners))
    return hmac_sha256(salt, b"".join(u8(owner) + first_links[owner] for owner in owners))


def roll_mix(mix: bytes, j: int, seat: int, seat_link: bytes | None, server_link: bytes | None) -> bytes:
    """``M_j`` from ``M_(j-1)`` and the links that this event reveals."""
    return hmac_sha256(mix, _ROLL + u32(j) + u8(seat) + sized(seat_link or b"") + sized(server_link or b""))


def blocks(mix: bytes) -> Iterator[bytes]:
    """The byte stream of one event, 32 bytes at a time."""
    b = 0
    while True:
        yield hmac_sha256(mix, _DICE + u32(b))
        b += 1
