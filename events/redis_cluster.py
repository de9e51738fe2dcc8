"""A client of a Redis or Valkey cluster (Redis cluster specification): which node gets what, and what it answers.

The map of slots is asked for when it is needed, and again when a node cannot be reached or says that a slot is
elsewhere (MOVED, ASK): such a command was not executed, and follows. What may have been executed is never sent again.
"""

import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

import redis
from redis.crc import REDIS_CLUSTER_HASH_SLOTS, key_slot
from redis.exceptions import AskError, ClusterDownError, MovedError

from events.log import OutcomeUnknown, Unavailable
from events.redis_client import Command, Pool, receive, send

Address = tuple[str, int]

POLL_S: Final = (0.005, 0.025)
"""Pauses of a read that waits, in seconds, the first and the longest: one cannot block on keys of several slots."""
_HOPS: Final = 5
_TOPOLOGY_S: Final = 1.0
"""How long one node may take to tell the map of slots before another is asked."""
_AGAIN_S: Final = 0.05
"""How old the map must be to be asked for again."""
_KEYLESS: Final = frozenset((
    "ACL", "CLIENT", "CLUSTER", "COMMAND", "CONFIG", "DBSIZE", "FLUSHALL", "FLUSHDB", "INFO", "PING", "ROLE", "SCRIPT",
    "TIME", "WAIT", "WAITAOF",
))  # fmt: skip
_WORDS: Final = {b"STREAMS": "STREAMS", b"BLOCK": "BLOCK"}
"""Words that redis-py writes as bytes, and we look for."""
_SECOND: Final = frozenset(("MEMORY", "OBJECT", "XGROUP", "XINFO"))
"""Commands whose key stands after a word of their own."""


@dataclass(slots=True)
class _Unit:
    """A command, and those without a key that follow it, whose replies go to ``place`` and on."""

    slot: int | None
    commands: list[Command]
    place: int
    node: Address | None = None
    """Where it was told to go."""
    asking: bool = False


class Cluster(redis.Redis):
    """A client whose commands each go to the node that has their keys.

    What has no key goes to every master, and the first one's answer is returned. There are no pipelines, transactions
    and subscriptions: use `events.redis_client.Wire`.
    """

    def __init__(self, seeds: Sequence[Address], options: dict[str, Any]) -> None:
        """``seeds``: some of the nodes; ``options``: of every connection, as `redis.ConnectionPool` takes them."""
        self._seeds = list(seeds)
        self._options = options
        self._pools: dict[Address, Pool] = {}
        self._owners: list[Address | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        self._known: list[Address] = []
        self._asked = float("-inf")
        self._stale = True
        self._lock = threading.Lock()
        super().__init__(connection_pool=self._pool(self._seeds[0]))

    # -- as a client of redis-py -------------------------------------------------------------------------------------

    def execute_command(self, *args: Any, **options: Any) -> Any:
        """One command, answered as redis-py does."""
        words = [*str(args[0]).split(), *args[1:]]
        command = tuple(_WORDS.get(word, word) if isinstance(word, bytes) else word for word in words)
        replies = self.exchange([command]) if _slots(command) else [told[0] for told in self.exchange_each([command])]
        for reply in replies:
            if isinstance(reply, redis.ResponseError):
                raise reply
        options.pop("keys", None)
        callbacks: dict[str, Any] = dict(self.response_callbacks)
        callback = callbacks.get(args[0], callbacks.get(str(command[0])))
        return replies[0] if callback is None else callback(replies[0], **options)

    def pipeline(self, *_: Any, **__: Any) -> Any:
        """There is none.

        :raises NotImplementedError: always.
        """
        raise NotImplementedError("a cluster has no pipelines here: Wire.call sends commands together")

    def scan_iter(self, match: Any = None, *_: Any, **__: Any) -> Iterator[Any]:
        """The names of all keys of a pattern, once each.

        :raises Unavailable: slots moved meanwhile.
        """
        return iter(dict.fromkeys(name for portion in self.scan_all(match or "*") for name in portion))

    def keys(self, pattern: Any = "*", **_: Any) -> Any:
        """As `scan_iter`, as a list."""
        return list(self.scan_iter(pattern))

    def close(self) -> None:
        """Close every connection that is not in use."""
        for pool in list(self._pools.values()):
            pool.close()

    # -- commands ----------------------------------------------------------------------------------------------------

    def exchange(self, commands: Sequence[Command]) -> list[Any]:
        """The replies to ``commands``, errors among them. See `events.redis_client.Wire.call`.

        :raises Unavailable: one of them was not sent.
        :raises OutcomeUnknown: an answer is missing.
        """
        parts = [_parts(command) for command in commands]
        if not any(parts):
            return self._exchange(commands)
        wait_ms = max(_wait_ms(command) for command in commands)
        if wait_ms and len(commands) > 1:
            raise ValueError("a read that waits goes alone: it is asked again")
        deadline, pause = time.monotonic() + wait_ms / 1000, POLL_S[0]
        while True:
            flat = [one for command, part in zip(commands, parts, strict=True) for one in part or (command,)]
            found = iter(self._exchange(flat))
            replies = [_merged([next(found) for _ in part]) if part else next(found) for part in parts]
            if any(replies) or time.monotonic() >= deadline:
                return replies
            time.sleep(max(0.0, min(pause, deadline - time.monotonic())))
            pause = min(pause * 1.25, POLL_S[1])

    def exchange_each(self, commands: Sequence[Command]) -> list[list[Any]]:
        """The replies of each master to ``commands``, errors among them.

        :raises Unavailable: one of them was not sent.
        :raises OutcomeUnknown: an answer is missing.
        """
        self._refresh(anew=True)
        replies: list[list[Any]] = []
        for node in self._known:  # one after another: this is for tools, not for requests
            pool = self._pool(node)
            replies.append(receive(pool, send(pool, commands), len(commands)))
        return replies

    def scan_all(self, match: str) -> Iterator[list[bytes]]:
        """The names of all keys of a pattern in portions. See `events.redis_client.Wire.scan`."""
        self._refresh(anew=True)
        owners = self._owners
        for node in self._known:
            pool, cursor = self._pool(node), b"0"
            while True:
                command: Command = ("SCAN", cursor, "MATCH", match, "COUNT", 1_000)
                (reply,) = receive(pool, send(pool, [command]), 1)
                if isinstance(reply, redis.ResponseError):
                    raise reply
                cursor, names = reply
                yield names
                if cursor == b"0":
                    break
        self._refresh(anew=True)
        if self._owners != owners:
            raise Unavailable("slots moved while their keys were being listed")

    def _exchange(self, commands: Sequence[Command]) -> list[Any]:
        replies: list[Any] = [None] * len(commands)
        pending = _units(commands)
        for _ in range(_HOPS):
            pending = self._round(pending, replies)
            if not pending:
                return replies
        raise Unavailable("slots are being moved: redirected too often")

    def _round(self, units: Iterable[_Unit], replies: list[Any]) -> list[_Unit]:
        """Send each unit to its node, and put the replies in their places: the units that are to go elsewhere."""
        groups: dict[Address, list[_Unit]] = {}
        for unit in units:
            groups.setdefault(unit.node or self._owner(unit.slot), []).append(unit)
        elsewhere: list[_Unit] = []
        failure: Unavailable | None = None
        sent: list[tuple[Address, list[_Unit], Any]] = []
        try:
            for node, group in groups.items():
                try:
                    sent.append((node, group, send(self._pool(node), _flat(group))))
                except OutcomeUnknown as error:
                    failure = error
                except Unavailable as error:
                    moved = self._moved(node, group)
                    elsewhere += moved
                    if not moved and failure is None:
                        failure = error
            while sent:
                node, group, connection = sent.pop(0)
                pool = self._pool(node)
                try:
                    found = receive(pool, connection, len(_flat(group)))
                except Unavailable as error:
                    if not isinstance(failure, OutcomeUnknown):
                        failure = error
                else:
                    elsewhere += self._placed(node, group, found, replies)
        finally:
            for node, _, connection in sent:  # we were interrupted: nobody may read what is still to come there
                connection.disconnect()
                self._pool(node).release(connection)
        if failure is not None:
            self._stale = True
            raise failure
        return elsewhere

    def _placed(self, node: Address, group: list[_Unit], found: list[Any], replies: list[Any]) -> Iterator[_Unit]:
        """Put replies in their places: the units that the node sends elsewhere."""
        start = 0
        for unit in group:
            start += unit.asking
            told = found[start : start + len(unit.commands)]
            start += len(unit.commands)
            if not isinstance(told[0], AskError):
                replies[unit.place : unit.place + len(told)] = told
                self._stale = self._stale or isinstance(told[0], ClusterDownError)
                continue
            unit.node = (told[0].host or node[0], told[0].port)
            unit.asking = not isinstance(told[0], MovedError)
            if not unit.asking:
                self._stale = True
            yield unit

    def _moved(self, node: Address, group: list[_Unit]) -> list[_Unit]:
        """Nothing could be sent to a node: its units, if every one of them has another by now."""
        self._stale = True
        self._refresh()
        for unit in group:
            unit.node, unit.asking = None, False
            if self._owner(unit.slot) == node:
                return []
        return group

    # -- who has what ------------------------------------------------------------------------------------------------

    def _owner(self, slot: int | None) -> Address:
        """The master of a slot; of no slot: any master.

        :raises Unavailable: there is none.
        """
        self._refresh()
        owner = self._known[0] if slot is None and self._known else self._owners[slot or 0]
        if owner is None:
            self._stale = True
            raise Unavailable(f"no node has slot {slot or 0}")
        return owner

    def _refresh(self, *, anew: bool = False) -> None:
        """Ask for the map of slots, if it may be out of date, or ``anew``.

        :raises Unavailable: nobody knows it.
        """
        if not (self._stale or anew):
            return
        with self._lock:
            if not anew and (not self._stale or (self._known and time.monotonic() - self._asked < _AGAIN_S)):
                return
            failure: Exception | None = None
            for node in dict.fromkeys([*self._known, *self._seeds]):
                try:
                    self._read_map(node)
                except (Unavailable, redis.ResponseError) as error:
                    failure = error
                    continue
                self._asked, self._stale = time.monotonic(), False
                return
        raise Unavailable(f"no node tells who has which slot: {failure}") from failure

    def _read_map(self, node: Address) -> None:
        options = {**self._options, "socket_timeout": _TOPOLOGY_S, "socket_connect_timeout": _TOPOLOGY_S}
        pool = redis.ConnectionPool(host=node[0], port=node[1], **options)
        try:
            (reply,) = receive(pool, send(pool, [("CLUSTER", "SLOTS")]), 1)
        finally:
            pool.disconnect()
        if isinstance(reply, redis.ResponseError):
            raise reply
        owners: list[Address | None] = [None] * REDIS_CLUSTER_HASH_SLOTS
        for first, last, (host, port, *_), *_ in reply:
            address = ((host or b"").decode() or node[0], int(port))
            owners[first : last + 1] = [address] * (last + 1 - first)
        self._owners, self._known = owners, list(dict.fromkeys(filter(None, owners)))

    def _pool(self, node: Address) -> Pool:
        if (pool := self._pools.get(node)) is None:
            made = Pool(host=node[0], port=node[1], **self._options)
            pool = self._pools.setdefault(node, made)
        return pool


# -- keys of commands ------------------------------------------------------------------------------------------------


def _keys(command: Command) -> Sequence[str | bytes | int]:
    """The keys by which a command finds its node; of several keys in one slot one is enough."""
    name = str(command[0])
    if name in _KEYLESS:
        return ()
    if name in ("XREAD", "XREADGROUP"):
        streams = command[command.index("STREAMS") + 1 :]
        return streams[: len(streams) // 2]
    if name in ("EVAL", "EVALSHA", "EVAL_RO", "EVALSHA_RO"):
        return command[3:4] if command[2] else ()
    return command[2:3] if name in _SECOND else command[1:2]


def _slots(command: Command) -> list[int]:
    """The slots of a command's keys."""
    return [key_slot(key if isinstance(key, bytes) else str(key).encode()) for key in _keys(command)]


def _units(commands: Sequence[Command]) -> list[_Unit]:
    units: list[_Unit] = []
    for place, command in enumerate(commands):
        slots = _slots(command)
        if slots or not units:
            units.append(_Unit(slots[0] if slots else None, [command], place))
        else:
            units[-1].commands.append(command)
    return units


def _flat(group: list[_Unit]) -> list[Command]:
    return [command for unit in group for command in ([("ASKING",)] if unit.asking else []) + unit.commands]


# -- reads of streams in several slots -------------------------------------------------------------------------------


def _parts(command: Command) -> list[Command]:
    """A read of streams in several slots as one command for each, which does not wait; none for any other command."""
    if command[0] not in ("XREAD", "XREADGROUP"):
        return []
    slots = _slots(command)
    if len(set(slots)) < 2:
        return []
    start = command.index("STREAMS")
    head = list(command[:start])
    if "BLOCK" in head:
        at = head.index("BLOCK")
        del head[at : at + 2]
    keys, places = command[start + 1 : start + 1 + len(slots)], command[start + 1 + len(slots) :]
    parts: dict[int, list[tuple[Any, Any]]] = {}
    for slot, key, place in zip(slots, keys, places, strict=True):
        parts.setdefault(slot, []).append((key, place))
    return [
        (*head, "STREAMS", *(key for key, _ in part), *(place for _, place in part)) for part in parts.values()
    ]  # fmt: skip


def _wait_ms(command: Command) -> int:
    return int(command[command.index("BLOCK") + 1]) if _parts(command) and "BLOCK" in command else 0


def _merged(replies: list[Any]) -> Any:
    """The replies to the parts of a read as the one to the whole; an error if there is one."""
    for reply in replies:
        if isinstance(reply, redis.ResponseError):
            return reply
    return [stream for reply in replies for stream in reply or ()] or None
