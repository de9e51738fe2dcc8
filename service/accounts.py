"""Players, their tokens and roles: personal data, kept beside the log and never in it.

A token is shown once and stored as its SHA-256. Keys carry the hash tag of their shard, like those of games:
``{sX}:player:<id>`` (name, created, roles), ``{sX}:tokens:<id>`` (token id -> digest and time) and
``{sX}:token:<digest>`` (whose it is).
"""

import hashlib
import secrets
import time
import unicodedata
from collections.abc import Iterable
from typing import Final, TypeVar

import msgspec
import redis

from events.redis_client import Command, Wire
from service.clock import Clock

TOKEN_PREFIX: Final = "annals_"
NAME_LIMIT: Final = 40
"""Longest name, in characters."""
TOKEN_LIMIT: Final = 20
"""Most tokens that a player may hold at one time."""
ROLES: Final = ("auditor", "operator")
REMEMBERED_S: Final = 1.0
"""How long `Accounts.recent` may answer from memory, in seconds: so long a revoked token may still play."""
_NAMES_S: Final = 30.0
_MEMORY: Final = 10_000

Key = TypeVar("Key")
Value = TypeVar("Value")


class BadName(ValueError):
    """Not a name to be shown to others, and why."""


class TooManyTokens(Exception):
    """The player holds as many tokens as one may."""


class UnknownPlayer(LookupError):
    """There is no such player."""


class Token(msgspec.Struct, frozen=True):
    """What is known of a token: never the token itself."""

    token_id: str
    created_ms: int


class Player(msgspec.Struct, frozen=True):
    """A person who plays. ``roles`` are of ROLES."""

    player_id: bytes
    name: str
    created_ms: int
    roles: frozenset[str]


class Accounts:
    """The players of a service, in Redis."""

    def __init__(self, client: redis.Redis, clock: Clock) -> None:
        self._wire, self._clock = Wire(client), clock
        self._recent: dict[str, tuple[float, bytes]] = {}
        self._names: dict[bytes, tuple[float, str]] = {}

    def register(self, name: str) -> tuple[Player, str]:
        """A new player, and its first token.

        :raises BadName: the name is not to be shown.
        """
        player = Player(secrets.token_bytes(16), clean_name(name), self._clock(), frozenset())
        self._wire.call(("HSET", _player(player.player_id), "name", player.name, "created", player.created_ms))
        _, token = self.issue(player.player_id)
        return player, token

    def player(self, player_id: bytes) -> Player:
        """All that is kept of a player.

        :raises UnknownPlayer: there is none.
        """
        (values,) = self._wire.call(("HMGET", _player(player_id), "name", "created", "roles"))
        name, created, roles = values
        if created is None:
            raise UnknownPlayer(player_id.hex())
        return Player(player_id, (name or b"").decode(), int(created), frozenset((roles or b"").decode().split()))

    def known(self, player_id: bytes) -> Player | None:
        """The same, or None."""
        try:
            return self.player(player_id)
        except UnknownPlayer:
            return None

    def names(self, player_ids: Iterable[bytes]) -> dict[bytes, str]:
        """The names of players, empty for one who has none (any more). At most 30 s old."""
        now, found, missing = time.monotonic(), dict[bytes, str](), dict[bytes, Command]()
        for one in player_ids:
            until, found[one] = self._names.get(one, (0.0, ""))
            if until < now:
                missing[one] = "HGET", _player(one), "name"
        if missing:
            for one, name in zip(missing, self._wire.call(*missing.values()), strict=True):
                found[one] = (name or b"").decode()
                _remember(self._names, one, (now + _NAMES_S, found[one]))
        return found

    def erase(self, player_id: bytes) -> int | None:
        """Forget all that is kept of a player: how many tokens went with it, or None where there was nobody.

        A worker that showed the name within the last 30 s may show it for so long.
        """
        values, created = self._wire.call(("HVALS", _tokens(player_id)), ("HGET", _player(player_id), "created"))
        self._wire.call(("DEL", _player(player_id)))
        digests = [value.split()[0].decode() for value in values]
        for digest in digests:
            self._wire.call(("DEL", _token(digest)))
            self._recent.pop(digest, None)
        self._wire.call(("DEL", _tokens(player_id)))
        self._names.pop(player_id, None)
        return None if created is None and not digests else len(digests)

    # -- roles -----------------------------------------------------------------------------------------------------

    def roles(self, player_id: bytes) -> frozenset[str]:
        """The roles of a player."""
        (roles,) = self._wire.call(("HGET", _player(player_id), "roles"))
        return frozenset((roles or b"").decode().split())

    def grant(self, player_id: bytes, role: str) -> Player:
        """Give a player a role.

        :raises UnknownPlayer: there is none.
        :raises ValueError: there is no such role.
        """
        if role not in ROLES:
            raise ValueError(f"{role!r} is none of {', '.join(ROLES)}")
        player = self.player(player_id)
        roles = sorted(player.roles | {role})
        self._wire.call(("HSET", _player(player_id), "roles", " ".join(roles)))
        return self.player(player_id)

    # -- tokens ----------------------------------------------------------------------------------------------------

    def issue(self, player_id: bytes) -> tuple[Token, str]:
        """A new token of a player: what is kept of it, and the token, which is nowhere else.

        :raises TooManyTokens: revoke one first.
        """
        if len(self.tokens(player_id)) >= TOKEN_LIMIT:
            raise TooManyTokens
        secret = TOKEN_PREFIX + secrets.token_urlsafe(32)
        token = Token(secrets.token_hex(8), self._clock())
        digest = _digest(secret)
        self._wire.call(("HSET", _tokens(player_id), token.token_id, f"{digest} {token.created_ms}"))
        self._wire.call(("HSET", _token(digest), "player", player_id, "id", token.token_id))
        return token, secret

    def tokens(self, player_id: bytes) -> list[Token]:
        """The tokens that a player holds, oldest first."""
        (reply,) = self._wire.call(("HGETALL", _tokens(player_id)))
        listed = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
        tokens = [Token(name.decode(), int(value.split()[1])) for name, value in listed]
        return sorted(tokens, key=lambda token: (token.created_ms, token.token_id))

    def revoke(self, player_id: bytes, token_id: str) -> bool:
        """Let a token of a player be worth nothing from now on. False: the player holds no such token."""
        (value,) = self._wire.call(("HGET", _tokens(player_id), token_id))
        if value is None:
            return False
        digest = value.split()[0].decode()
        self._wire.call(("DEL", _token(digest)))
        self._wire.call(("HDEL", _tokens(player_id), token_id))
        self._recent.pop(digest, None)
        return True

    def identify(self, token: str) -> bytes | None:
        """Whose token it is, as of now."""
        digest = _digest(token)
        (player_id,) = self._wire.call(("HGET", _token(digest), "player"))
        if player_id is None:
            self._recent.pop(digest, None)
            return None
        _remember(self._recent, digest, (time.monotonic() + REMEMBERED_S, player_id))
        return bytes(player_id)

    def recent(self, token: str) -> bytes | None:
        """Whose token it is, or was a second ago: without asking the database for each move of a fast game."""
        known = self._recent.get(_digest(token))
        return known[1] if known is not None and known[0] >= time.monotonic() else self.identify(token)

    def token_id(self, token: str) -> str | None:
        """The id of a token."""
        (name,) = self._wire.call(("HGET", _token(_digest(token)), "id"))
        return None if name is None else name.decode()


class Creators:
    """Who opened each table: kept beside the log, in ``{sX}:about:<game id>``, written before the table is."""

    def __init__(self, client: redis.Redis) -> None:
        self._wire = Wire(client)
        self._known: dict[bytes, bytes] = {}

    def put(self, game_id: bytes, player_id: bytes) -> None:
        """Write down who is about to open a table."""
        self._wire.call(("HSET", _about(game_id), "creator", player_id))
        _remember(self._known, game_id, player_id)

    def get(self, game_id: bytes) -> bytes | None:
        """Who opened it; None where that is not known."""
        if (known := self._known.get(game_id)) is None:
            (creator,) = self._wire.call(("HGET", _about(game_id), "creator"))
            if creator is None:
                return None
            known = bytes(creator)
            _remember(self._known, game_id, known)
        return known


def clean_name(name: str) -> str:
    """A name as it is kept: NFC, without surrounding or doubled spaces.

    :raises BadName: it is empty, longer than 40 characters, or has control, private or unassigned characters.
    """
    name = " ".join(unicodedata.normalize("NFC", name).split())
    if not 1 <= len(name) <= NAME_LIMIT:
        raise BadName(f"a name has 1 to {NAME_LIMIT} characters")
    if any(unicodedata.category(character) in ("Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp") for character in name):
        raise BadName("a name has only characters that can be seen")
    return name


def _digest(token: str) -> str:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).hexdigest()


def _player(player_id: bytes) -> str:
    name = player_id.hex()
    return f"{{s{name[0]}}}:player:{name}"


def _tokens(player_id: bytes) -> str:
    name = player_id.hex()
    return f"{{s{name[0]}}}:tokens:{name}"


def _token(digest: str) -> str:
    return f"{{s{digest[0]}}}:token:{digest}"


def _about(game_id: bytes) -> str:
    name = game_id.hex()
    return f"{{s{name[0]}}}:about:{name}"


def _remember(memory: dict[Key, Value], key: Key, value: Value) -> None:
    if len(memory) >= _MEMORY:
        memory.clear()
    memory[key] = value
