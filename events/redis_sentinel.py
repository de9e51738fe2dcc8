"""Connections to the master that sentinels name (Redis documentation, 'Guidelines for Redis clients with support for
Redis Sentinel').

Each new connection asks who the master is, and asks that server whether it is one. After a failover the old ones are
useless: whoever finds one to be so closes all that are idle.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Final

import redis
from redis.exceptions import ConnectionError, ReadOnlyError

from events.log import Unavailable
from events.redis_client import receive, send

_ANSWER_S: Final = 0.5
"""How long one sentinel may take before the next is asked."""
_OWN: Final = ("db", "username", "password")
"""Options that are the master's, and not its sentinels'."""


class MasterPool(redis.ConnectionPool):
    """The connections to a master, whoever it is."""

    def __init__(self, sentinels: Sequence[tuple[str, int]], name: str, options: dict[str, Any]) -> None:
        """``name``: what the sentinels call it; ``options``: as `redis.ConnectionPool` takes them, and
        ``sentinel_username`` and ``sentinel_password``."""
        kept = {key: value for key, value in options.items() if not key.startswith("sentinel_")}
        self._sentinels, self._name = list(sentinels), name
        self._asking: dict[str, Any] = {key: value for key, value in kept.items() if key not in _OWN}
        self._asking |= {"socket_timeout": _ANSWER_S, "socket_connect_timeout": _ANSWER_S}
        for key in ("username", "password"):
            if (value := options.get(f"sentinel_{key}")) is not None:
                self._asking[key] = value
        secure = kept.get("connection_class", redis.Connection) is redis.SSLConnection
        kept |= {
            "connection_class": _SecureToMaster if secure else _ToMaster,
            "ask": self.master,
            "lost": partial(self.disconnect, inuse_connections=False),
        }
        super().__init__(**kept)

    def master(self) -> tuple[str, int]:
        """Host and port of the master, from the first sentinel that answers.

        :raises Unavailable: none of them knows.
        """
        failure = "none of them knows its master"
        for sentinel in list(self._sentinels):
            pool = redis.ConnectionPool(host=sentinel[0], port=sentinel[1], **self._asking)
            try:
                (reply,) = receive(pool, send(pool, [("SENTINEL", "GET-MASTER-ADDR-BY-NAME", self._name)]), 1)
            except Unavailable as error:
                failure = str(error)
                continue
            finally:
                pool.disconnect()
            if isinstance(reply, list):
                if self._sentinels[0] != sentinel:
                    self._sentinels.sort(key=lambda one: one != sentinel)  # to be asked first from now on
                return reply[0].decode(), int(reply[1])
        raise Unavailable(f"no sentinel names the master of {self._name}: {failure}")


class _Following:
    """What a connection to the master does beside what a connection does."""

    def __init__(self, *, ask: Callable[[], tuple[str, int]], lost: Callable[[], None], **options: Any) -> None:
        self._ask, self._lost = ask, lost
        super().__init__(**options)

    def _connect(self) -> Any:
        self.host, self.port = self._ask()
        return super()._connect()  # type: ignore[misc]

    def on_connect_check_health(self, check_health: bool = True) -> None:
        super().on_connect_check_health(check_health)  # type: ignore[misc]
        self.send_command("ROLE", check_health=False)  # type: ignore[attr-defined]
        if self.read_response()[0] != b"master":
            raise ConnectionError(f"{self.host}:{self.port} is no master any more")

    def read_response(self, *args: Any, **options: Any) -> Any:
        try:
            return super().read_response(*args, **options)  # type: ignore[misc]
        except ReadOnlyError:
            self.mark_for_reconnect()  # type: ignore[attr-defined]
            self._lost()
            raise
        except (redis.ConnectionError, redis.TimeoutError):
            self._lost()
            raise


class _ToMaster(_Following, redis.Connection):
    """A connection to the master."""


class _SecureToMaster(_Following, redis.SSLConnection):
    """One over TLS."""
