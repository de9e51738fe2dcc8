"""How often one may ask: token buckets of a player and of an address, shared by all workers (docs/security.md).

A bucket is one number in Redis, the time at which it will be full again (GCRA: the "theoretical arrival time" of
ATM Forum TM 4.0), and gone once it is; one script of one key takes tokens out. Nothing here knows Flask. An act of a
seat in a game that is played takes nothing; only its refusals do. If the database does not answer, everybody may go on.
"""

import hashlib
import ipaddress
import time
from collections import Counter
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, NamedTuple

import redis
import structlog

from events.log import OutcomeUnknown, Unavailable
from events.redis_client import Command, Wire, checked
from events.redis_log import shard_of
from service.running.observe import LIMITED

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_log = structlog.get_logger()


class Rate(NamedTuple):
    """``burst`` at once, and one more every ``every_s`` seconds."""

    burst: int
    every_s: float

    @property
    def window_s(self) -> int:
        """How long an empty bucket takes to be full, in whole seconds."""
        return max(1, round(self.burst * self.every_s))


class Limit(NamedTuple):
    """What one player may do, whatever their tokens and wherever they are, and what may come from one address."""

    player: Rate | None
    address: Rate | None
    batch: int = 1
    """So many tokens a worker takes at a time, to ask the database so much less often."""


LIMITS: Final[Mapping[str, Limit]] = {
    "accounts": Limit(None, Rate(40, 10)),
    "tokens": Limit(Rate(30, 30), Rate(300, 3)),
    "tables": Limit(Rate(20, 10), Rate(200, 1)),
    "seats": Limit(Rate(60, 2), Rate(600, 0.2)),
    "disputes": Limit(Rate(20, 15), Rate(200, 1.5)),
    "refusals": Limit(Rate(120, 0.5), Rate(1200, 0.05)),
    "audits": Limit(Rate(60, 1), Rate(600, 0.1)),
    "pictures": Limit(Rate(120, 0.25), Rate(1200, 0.025)),
    "streams": Limit(Rate(60, 1), Rate(600, 0.1)),
    "reads": Limit(Rate(2000, 0.005), Rate(8000, 0.00125), batch=100),
}
STREAMS_PLAYER: Final = 16
"""Live streams that one player may have open at one worker."""
STREAMS_ADDRESS: Final = 256
"""Live streams that may be open from one address at one worker."""

MOVE: Final = "moves"
"""Acts of a seat in its game: never limited, so that nobody loses their turn; what is refused is one of `refusals`."""
_KINDS: Final[Mapping[str, tuple[str, ...]]] = {
    "accounts": ("register", "open_session"),
    "tokens": ("issue_token", "revoke_token", "erase_me"),
    "tables": ("open_game", "fork_game"),
    "seats": ("take_seat", "leave_seat", "start_game"),
    MOVE: ("act", "resign", "reveal", "sign_off", "hand_over", "claim_turn"),
    "disputes": ("open_dispute", "answer_dispute", "rule_case", "withdraw_dispute", "erase_text"),
    "audits": (
        "judge_bundle", "show_audit", "show_bundle", "show_case_audit", "show_under", "show_divergence", "show_diff",
        "show_why", "show_luck", "draw_luck", "show_player_luck", "show_all_luck", "show_consistency",
    ),
    "pictures": ("draw_raster", "show_webp", "show_gif"),
}  # fmt: skip
KINDS: Final = {operation: kind for kind, operations in _KINDS.items() for operation in operations}
"""The limit of each operation that has one of its own; other reads that ask who calls are `reads`."""

# KEYS bucket; ARGV microseconds a token, microseconds that an empty bucket takes to fill, tokens that are asked for.
# Answers the tokens that are given, and the microseconds until there is one where there is none.
_TAKE: Final = """
local time = redis.call('TIME')
local now = time[1] * 1000000 + time[2]
local each, room = tonumber(ARGV[1]), tonumber(ARGV[2])
local full = tonumber(redis.call('GET', KEYS[1]) or '0')
full = math.min(math.max(full, now), now + room)
local given = math.min(tonumber(ARGV[3]), math.floor((now + room - full) / each))
if given < 1 then
  return {0, full + each - now - room}
end
full = full + given * each
redis.call('SET', KEYS[1], string.format('%.0f', full), 'PX', math.ceil((full - now) / 1000))
return {given, 0}
"""
_SHA: Final = hashlib.sha1(_TAKE.encode(), usedforsecurity=False).hexdigest()
_BLIND_S: Final = 1.0
_MEMORY: Final = 10_000


class TooMany(Exception):
    """A limit is used up; there is a token again in ``wait_s`` seconds."""

    def __init__(self, kind: str, rate: Rate, wait_s: float) -> None:
        super().__init__(f"{kind}: wait {wait_s:.3f} s")
        self.kind, self.rate, self.wait_s = kind, rate, wait_s


class TooSlow(Exception):
    """The body of a request did not come in time."""


class TooManyStreams(Exception):
    """As many live streams are open as may be, of this player or from this address."""

    def __init__(self, limit: int) -> None:
        super().__init__(f"{limit} live streams are open")
        self.limit = limit


class Limits:
    """The limits of a service, as one worker sees to them."""

    def __init__(self, client: redis.Redis, on: bool, now: Callable[[], float] = time.monotonic) -> None:
        self._wire, self.on, self._now = Wire(client), on, now
        self._known: dict[tuple[str, bytes | None, str], list[tuple[str, Rate]]] = {}
        self._paid: dict[str, int] = {}
        self._shut: dict[str, float] = {}
        self._blind_until = 0.0
        self._open: Counter[str] = Counter()

    def admit(self, kind: str, player: bytes | None, address: str) -> None:
        """Take a token out of each bucket that counts for a caller.

        :raises TooMany: one of them is empty.
        """
        if not self.on or kind == MOVE:
            return
        limit, now, buckets = LIMITS[kind], self._now(), self._buckets(kind, player, address)
        for name, rate in buckets if self._shut else ():
            if (until := self._shut.get(name, now)) > now:
                LIMITED.labels(kind).inc()
                raise TooMany(kind, rate, until - now)
        asked = []
        for name, rate in buckets:
            if (paid := self._paid.get(name, 0)) > 0:
                self._paid[name] = paid - 1
            else:
                asked.append((name, rate))
        if not asked or now < self._blind_until:
            return
        for (name, rate), (given, wait_us) in zip(asked, self._take(asked, limit.batch), strict=True):
            if given < 1:
                _remember(self._shut, name, now + wait_us / 1_000_000)
                LIMITED.labels(kind).inc()
                raise TooMany(kind, rate, wait_us / 1_000_000)
            if given > 1:
                _remember(self._paid, name, given - 1)

    def _buckets(self, kind: str, player: bytes | None, address: str) -> list[tuple[str, Rate]]:
        """The key and the rate of each bucket that counts for a caller."""
        asked = (kind, player, address)
        if (known := self._known.get(asked)) is None:
            limit = LIMITS[kind]
            known = [
                (_bucket(kind, who), rate)
                for who, rate in ((player, limit.player), (_hashed(address), limit.address))
                if who is not None and rate is not None
            ]
            _remember(self._known, asked, known)
        return known

    def _take(self, asked: list[tuple[str, Rate]], tokens: int) -> list[Any]:
        """(tokens given, microseconds until there is one) for each bucket; as many as asked for, where nobody knows."""
        arguments = [
            (1, name, round(rate.every_s * 1e6), round(rate.every_s * 1e6) * rate.burst, tokens) for name, rate in asked
        ]
        by_name: list[Command] = [("EVALSHA", _SHA, *rest) for rest in arguments]
        try:
            replies = self._wire.replies(*by_name)
            # of the buckets' servers one may have lost the script, the other has been paid
            unpaid = [n for n, reply in enumerate(replies) if isinstance(reply, redis.exceptions.NoScriptError)]
            if unpaid:
                by_text: list[Command] = [("EVAL", _TAKE, *arguments[n]) for n in unpaid]
                for n, reply in zip(unpaid, self._wire.replies(*by_text), strict=True):
                    replies[n] = reply
            return checked(replies)
        except (Unavailable, OutcomeUnknown, redis.ResponseError) as error:
            self._blind_until = self._now() + _BLIND_S
            _log.warning("limits-not-counted", error=str(error))
            return [(1, 0)] * len(asked)

    # -- live streams ------------------------------------------------------------------------------------------------

    def stream(self, player: bytes | None, address: str) -> "Stream":
        """Ask for a live stream, which counts from when it is entered.

        :raises TooMany, TooManyStreams: not now.
        """
        names = ("a" + address, *(() if player is None else ("p" + player.hex(),)))
        if self.on:
            self.admit("streams", player, address)
            for name in names:
                most = STREAMS_ADDRESS if name[0] == "a" else STREAMS_PLAYER
                if self._open[name] >= most:
                    LIMITED.labels("open-streams").inc()
                    raise TooManyStreams(most)
        return Stream(self._open, names)


class Stream:
    """A live stream's place among those that are open."""

    __slots__ = ("_counted", "_names")

    def __init__(self, counted: Counter[str], names: tuple[str, ...]) -> None:
        self._counted, self._names = counted, names

    def __enter__(self) -> None:
        self._counted.update(self._names)

    def __exit__(self, *raised: object) -> None:
        self._counted.subtract(self._names)
        for name in self._names:
            if self._counted[name] <= 0:
                del self._counted[name]


def address_of(environ: "WSGIEnvironment", proxies: int) -> str:
    """Who calls, as far as an address tells: an IPv4 address, or the /64 network of an IPv6 address.

    Of X-Forwarded-For only what the last ``proxies`` proxies wrote counts; where there is less, the connection's own.
    """
    address = environ.get("REMOTE_ADDR") or ""
    if proxies:
        told = [part.strip() for part in environ.get("HTTP_X_FORWARDED_FOR", "").split(",")]
        if len(told) >= proxies and told[-proxies]:
            address = told[-proxies]
    if ":" not in address:
        return address
    try:
        found = ipaddress.IPv6Address(address.strip("[]").partition("%")[0])
    except ValueError:
        return address.partition(":")[0]  # an IPv4 address with its port
    if found.ipv4_mapped is not None:
        return str(found.ipv4_mapped)
    return str(ipaddress.IPv6Network((found, 64), strict=False))


def _hashed(address: str) -> bytes:
    return hashlib.sha256(b"annals address " + address.encode("utf-8", "surrogateescape")).digest()[:16]


def _bucket(kind: str, who: bytes) -> str:
    return f"{shard_of(who)}:limit:{kind}:{who.hex()}"


def _remember(memory: dict[Any, Any], name: Any, value: Any) -> None:
    if len(memory) >= _MEMORY:
        memory.clear()
    memory[name] = value
