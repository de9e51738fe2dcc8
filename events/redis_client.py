"""The one way in which this service talks to Redis.

The client of redis-py by default sends a command again when no answer came, and so writes it twice; here nothing is
ever sent twice. Replies are bytes in the shape of RESP2. The same calls go to one server, to the master that sentinels
name (`events.redis_sentinel`), or to the nodes of a cluster (`events.redis_cluster`).
"""

import os
import re
import time
from collections import deque
from collections.abc import Iterator, Sequence
from typing import Any, Final

import redis
from redis.backoff import NoBackoff
from redis.connection import parse_url
from redis.retry import Retry

from events.log import OutcomeUnknown, Unavailable

CLEAN_S: Final = 0.01
"""How long a connection that was left clean is taken to be so, in seconds: if the server dies meanwhile, one exchange
fails that might have found out before."""
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
FSYNC: Final = ("off", "no", "everysec", "always")
"""When a server puts a write on disk, from never to before it answers."""
_REFUSED_CODES = ("BUSY ", "MISCONF ", "NOREPLICAS ")


class Pool(redis.ConnectionPool):
    """The library's pool, with a shorter way back and forth for a connection that is known to be clean.

    What the library does for each use of a connection, a look at the socket among it, takes longer than the exchange
    itself, under gevent twice as long. Here only one that lay idle for a while is looked at before it is used again.
    """

    def __init__(self, **options: Any) -> None:
        super().__init__(**options)
        self._clean = deque[tuple[float, int, Any]]()

    def take(self) -> Any:
        """A connection.

        :raises redis.RedisError, OSError: there is none.
        """
        now, here = time.monotonic(), os.getpid()
        while self._clean:
            try:
                since, process, connection = self._clean.pop()
            except IndexError:  # another thread was faster
                break
            if now - since < CLEAN_S and process == here:
                return connection
            self.release(connection)
        return self.get_connection()

    def give(self, connection: Any) -> None:
        """Take back a connection on which every reply was read."""
        self._clean.append((time.monotonic(), os.getpid(), connection))


def connect(url: str, max_connections: int = 1_000, timeout_s: float = SOCKET_TIMEOUT_S) -> redis.Redis:
    """A client of the database at ``url``, which waits for an answer up to ``timeout_s`` seconds. Nothing is sent yet.

    One server: ``redis://``, ``rediss://`` (TLS) or ``unix://``. A cluster: ``redis+cluster://HOST:PORT,HOST:PORT...``,
    some of its nodes. Sentinels: ``redis+sentinel://HOST:PORT,HOST:PORT.../NAME``, which say who NAME's master is.
    The latter two speak TLS as ``rediss+...``.

    :raises ValueError: the address is none of these.
    """
    options: dict[str, Any] = {"max_connections": max_connections, "socket_timeout": timeout_s}
    options["socket_connect_timeout"] = timeout_s
    scheme, _, rest = url.partition("://")
    base, _, kind = scheme.partition("+")
    if kind == "cluster":
        from events.redis_cluster import Cluster

        return Cluster(*_several(base, rest, options))
    if kind == "sentinel":
        from events.redis_sentinel import MasterPool

        hosts, address = _several(base, rest, options, named=True)
        return redis.Redis(connection_pool=MasterPool(hosts, address.pop("name"), address))
    address = parse_url(url)  # type: ignore[no-untyped-call] # the library types the rest
    return redis.Redis(connection_pool=Pool(**{**address, **_FIXED, **options}))


def _several(
    base: str, rest: str, options: dict[str, Any], *, named: bool = False
) -> tuple[list[tuple[str, int]], dict[str, Any]]:
    """The hosts and ports of an address that has several, and what is common to their connections.

    :raises ValueError: it is none.
    """
    authority, slash, path = rest.partition("/")
    credentials, at, hosts = authority.rpartition("@")
    name, question, query = path.partition("?")
    name, _, database = name.partition("/")
    if named != bool(name) or base not in ("redis", "rediss"):
        raise ValueError(f"an address of {'sentinels ends with /NAME' if named else 'a cluster ends with its nodes'}")
    found: list[tuple[str, int]] = []
    address: dict[str, Any] = {}
    for host in hosts.split(","):
        one = f"{base}://{credentials}{at}{host}{slash}{database}{question}{query}"
        address = {"port": 26_379 if named else 6_379} | parse_url(one)  # type: ignore[no-untyped-call]
        if not host or "host" not in address:
            raise ValueError(f"{host!r} is not HOST:PORT")
        found.append((address.pop("host"), address.pop("port")))
    if named:
        address["name"] = name
    return found, {**address, **_FIXED, **options}


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
        told = Wire(client).each(("CONFIG", "GET", "appendonly"), ("CONFIG", "GET", "appendfsync"))
        found = [policy.decode() if enabled == b"yes" else "off" for (_, enabled), (_, policy) in told]
    except (redis.ResponseError, ValueError):  # refused by an ACL, renamed away, or answered with nothing
        return "unknown"
    return min(found, key=FSYNC.index)


def replicas(client: redis.Redis) -> int | None:
    """How many replicas a server has, of several masters the one that has fewest, or None where it does not tell.

    :raises Unavailable: no answer.
    """
    try:
        told = Wire(client).each(("INFO", "replication"))
    except redis.ResponseError:  # refused by an ACL, or renamed away
        return None
    found = [re.search(rb"^connected_slaves:(\d+)", one, re.MULTILINE) for (one,) in told]
    return min((int(one[1]) for one in found if one is not None), default=None)


def send(pool: Any, commands: Sequence[Command]) -> Any:
    """Send ``commands`` over a connection of a pool, which is to be given to `receive`.

    :raises Unavailable: they were not sent.
    :raises OutcomeUnknown: perhaps some were.
    """
    try:
        connection = pool.take() if isinstance(pool, Pool) else pool.get_connection()
    except (redis.RedisError, OSError) as error:
        raise Unavailable(f"no connection: {error}") from error
    try:
        connection.send_packed_command(connection.pack_commands(commands))
    except (redis.RedisError, OSError) as error:
        pool.release(connection)
        raise OutcomeUnknown(f"no answer: {error}") from error
    except BaseException:
        connection.disconnect()
        pool.release(connection)
        raise
    return connection


def receive(pool: Any, connection: Any, count: int) -> list[Any]:
    """The replies to ``count`` commands that were sent, errors among them; gives the connection back.

    :raises Unavailable: the server is starting.
    :raises OutcomeUnknown: an answer is missing.
    """
    replies: list[Any] = []
    give = pool.release
    try:
        for _ in range(count):
            try:
                replies.append(connection.read_response())
            except redis.ResponseError as error:  # the other replies are still to be read
                replies.append(error)
        if isinstance(pool, Pool) and connection.is_connected:
            give = pool.give
    except redis.BusyLoadingError as error:
        raise Unavailable(str(error)) from error
    except (redis.RedisError, OSError) as error:
        raise OutcomeUnknown(f"no answer: {error}") from error
    except BaseException:  # the one who waited was told to stop: what comes now is nobody's answer
        connection.disconnect()
        raise
    finally:
        give(connection)
    return replies


class Wire:
    """Commands and their replies, as the server sends them, over the connections of a client."""

    def __init__(self, client: redis.Redis) -> None:
        from events.redis_cluster import Cluster

        self._pool = client.connection_pool
        self._cluster = client if isinstance(client, Cluster) else None

    def call(self, *commands: Command) -> list[Any]:
        """Send ``commands`` together, each once, and return their replies.

        On a cluster each goes where its keys are, all of which must be in one slot but for those of XREAD and
        XREADGROUP; what has no key (WAIT) follows the command before it. The order is kept for keys of one slot.

        :raises Unavailable: they were not sent, or the server refuses one of them in the state it is in.
        :raises OutcomeUnknown: they were sent, and an answer is missing.
        :raises redis.ResponseError: the server says one of them is wrong.
        """
        return checked(self.replies(*commands))

    def replies(self, *commands: Command) -> list[Any]:
        """The same, but an error with which the server answers one of them stands in its place (`checked` raises it).

        :raises Unavailable, OutcomeUnknown: as `call`.
        """
        if self._cluster is not None:
            return self._cluster.exchange(commands)
        connection = send(self._pool, commands)
        return receive(self._pool, connection, len(commands))

    def each(self, *commands: Command) -> list[list[Any]]:
        """The replies to ``commands`` of every server that holds data of its own: one, or the masters of a cluster.

        :raises Unavailable, redis.ResponseError: as `call`.
        """
        if self._cluster is None:
            return [self.call(*commands)]
        return [checked(replies) for replies in self._cluster.exchange_each(commands)]

    def scan(self, match: str) -> Iterator[list[bytes]]:
        """The names of all keys of a pattern, some perhaps twice, in portions.

        :raises Unavailable: as `call`; in a cluster also when slots moved meanwhile, so that some may be missing.
        """
        if self._cluster is not None:
            yield from self._cluster.scan_all(match)
            return
        cursor = b"0"
        while True:
            ((cursor, names),) = self.call(("SCAN", cursor, "MATCH", match, "COUNT", 1_000))
            yield names
            if cursor == b"0":
                return


def checked(replies: list[Any]) -> list[Any]:
    """Replies among which no error is.

    :raises Unavailable, redis.ResponseError: the first error.
    """
    for reply in replies:
        if isinstance(reply, redis.ResponseError):
            if isinstance(reply, _REFUSED) or str(reply).startswith(_REFUSED_CODES):
                raise Unavailable(str(reply)) from reply
            raise reply
    return replies
