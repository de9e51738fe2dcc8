"""The one way in which this service talks to Redis.

The client of redis-py by default sends a command again when no answer came, and so writes it twice; here nothing is
ever sent twice. Replies are bytes in the shape of RESP2.
"""

import re
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from events.log import OutcomeUnknown, Unavailable

SOCKET_TIMEOUT_S = 5.0
"""How long an answer may take, in seconds; every blocking command must ask for less."""

Command = tuple[str | bytes | int, ...]

_FIXED: Final[dict[str, Any]] = {
    "protocol": 2,
    "decode_responses": False,
    "retry": Retry(NoBackoff(), 0),
    "retry_on_timeout": False,
    "driver_info": None,
}
_REFUSED = (
    redis.BusyLoadingError,
    redis.ReadOnlyError,
    redis.OutOfMemoryError,
    redis.exceptions.ClusterDownError,  # a replica that lost its master among them
    redis.exceptions.TryAgainError,
)
_REFUSED_CODES = ("BUSY ", "MISCONF ", "NOREPLICAS ")


def connect(url: str, max_connections: int = 1_000, timeout_s: float = SOCKET_TIMEOUT_S) -> redis.Redis:
    """A client of the server at ``redis://``, ``rediss://`` or ``unix://``, which waits for an answer up to
    ``timeout_s`` seconds. Nothing is sent yet.

    :raises ValueError: the address is none of these.
    """
    address: dict[str, Any] = parse_url(url)  # type: ignore[no-untyped-call] # the library types the rest
    options = {**address, **_FIXED, "max_connections": max_connections, "socket_timeout": timeout_s}
    return redis.Redis(connection_pool=redis.ConnectionPool(**options))


def ephemeral() -> redis.Redis:
    """A client of a new database in the memory of this process, gone with it.

    :raises ModuleNotFoundError: the extra ``ephemeral`` (fakeredis) is not installed.
    """
    import fakeredis

    client: redis.Redis = fakeredis.FakeRedis(server=fakeredis.FakeServer(), protocol=2)
    return client


def fsync_policy(client: redis.Redis) -> str:
    """When the server puts a write on disk: ``always``, ``everysec``, ``no``, ``off`` (keeps no append-only file), or
    ``unknown`` where it does not tell.

    :raises Unavailable: no answer.
    """
    try:
        ((_, enabled), (_, policy)) = Wire(client).call(
            ("CONFIG", "GET", "appendonly"), ("CONFIG", "GET", "appendfsync")
        )
    except (redis.ResponseError, ValueError):  # refused by an ACL, renamed away, or answered with nothing
        return "unknown"
    return str(policy.decode()) if enabled == b"yes" else "off"


def replicas(client: redis.Redis) -> int | None:
    """How many replicas a server has, or None where it does not tell.

    :raises Unavailable: no answer.
    """
    try:
        (told,) = Wire(client).call(("INFO", "replication"))
    except redis.ResponseError:  # refused by an ACL, or renamed away
        return None
    found = re.search(rb"^connected_slaves:(\d+)", told, re.MULTILINE)
    return None if found is None else int(found[1])


class Wire:
    """Commands and their replies, as the server sends them, over the connections of a client."""

    def __init__(self, client: redis.Redis) -> None:
        self._pool = client.connection_pool

    def call(self, *commands: Command) -> list[Any]:
        """Send ``commands`` together, each once, and return their replies.

        :raises Unavailable: they were not sent, or the server refuses them in the state it is in.
        :raises OutcomeUnknown: they were sent, and an answer is missing.
        :raises redis.ResponseError: the server says one of them is wrong.
        """
        try:
            connection: Any = self._pool.get_connection()
        except (redis.RedisError, OSError) as error:
            raise Unavailable(f"no connection: {error}") from error
        replies: list[Any] = []
        refusal: redis.ResponseError | None = None
        try:
            connection.send_packed_command(connection.pack_commands(commands))
            for _ in commands:
                try:
                    replies.append(connection.read_response())
                except redis.ResponseError as error:  # the other replies are still to be read
                    refusal = refusal or error
        except redis.BusyLoadingError as error:
            raise Unavailable(str(error)) from error
        except (redis.RedisError, OSError) as error:
            raise OutcomeUnknown(f"no answer: {error}") from error
        finally:
            self._pool.release(connection)
        if refusal is None:
            return replies
        if isinstance(refusal, _REFUSED) or str(refusal).startswith(_REFUSED_CODES):
            raise Unavailable(str(refusal)) from refusal
        raise refusal
