"""Real servers that stand in for one another, on loopback, for a block: a cluster, and a server that sentinels watch.

Both run the program that `events.embedded` finds, each server as a child with a folder of its own, so that a test may
kill, pause or cut off any of them. Timings are short: a failover takes about two seconds.
"""

import os
import re
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final, TypeVar

import redis

from events.embedded import Fsync, find_server
from events.log import Unavailable
from events.redis_client import Wire, connect

Told = TypeVar("Told")
HOST: Final = "127.0.0.1"
SLOTS: Final = 16_384
MASTER: Final = "annals"
"""What the sentinels call the server that they watch."""
_START_S: Final = 30.0
_POLL_S: Final = 0.02


@dataclass(eq=False)
class Node:
    """One server: a child of this process, on a port of its own."""

    port: int
    folder: Path
    options: Sequence[str]
    sentinel: bool = False
    process: "subprocess.Popen[bytes] | None" = None
    _client: redis.Redis | None = None

    @property
    def address(self) -> str:
        """``host:port``."""
        return f"{HOST}:{self.port}"

    def call(self, *command: str | bytes | int) -> Any:
        """What this very server answers to a command.

        :raises Unavailable: nothing.
        """
        if self._client is None:
            self._client = connect(f"redis://{self.address}", timeout_s=2.0)
        return Wire(self._client).call(command)[0]

    def info(self, section: str) -> dict[str, str]:
        """A section of INFO.

        :raises Unavailable: no answer.
        """
        return dict(re.findall(r"^(\w+):(.*?)\r?$", self.call("INFO", section).decode(), re.MULTILINE))

    def start(self) -> None:
        """Start it, again if it ended, with the data that it has; returns at once."""
        self.folder.mkdir(exist_ok=True)
        words = [str(self.folder / "sentinel.conf"), "--sentinel"] if self.sentinel else list(self.options)
        command = [str(find_server()), *words, "--port", str(self.port), "--bind", HOST, "--dir", str(self.folder)]
        with (self.folder / "log").open("ab") as log:
            self.process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=log, stderr=log)

    def answers(self) -> bool:
        """Does it answer, having loaded its data?"""
        try:
            return bool(self.call("PING") == b"PONG")
        except Unavailable:
            return False

    def kill(self) -> None:
        """kill -9."""
        if self.process is not None:
            self.process.kill()
            self.process.wait()
            self.process = None

    def pause(self) -> None:
        """It hangs from now on: connections stand, and nothing is answered."""
        assert self.process is not None
        self.process.send_signal(signal.SIGSTOP)

    def resume(self) -> None:
        """It goes on from where it hung."""
        assert self.process is not None
        self.process.send_signal(signal.SIGCONT)

    def close(self) -> None:
        """End it for good."""
        if self.process is not None:
            with suppress(ProcessLookupError):
                self.process.send_signal(signal.SIGCONT)
        self.kill()
        if self._client is not None:
            self._client.close()


# -- a cluster -------------------------------------------------------------------------------------------------------


@dataclass
class Cluster:
    """The nodes of one cluster, masters of the beginning first, then their replicas in the same order."""

    nodes: list[Node]

    @property
    def url(self) -> str:
        """The address for `events.redis_client.connect`."""
        return "redis+cluster://" + ",".join(node.address for node in self.nodes)

    def masters(self) -> list[Node]:
        """Who holds slots now, as the masters themselves say it."""
        return [node for node in self.nodes if _role(node) == "master" and self._slots(node)]

    def master_of(self, key: str) -> Node:
        """The node that answers for a key now."""
        for node in self.nodes:
            with suppress(Unavailable, redis.ResponseError):
                node.call("EXISTS", key)
                return node
        raise Unavailable(f"nobody answers for {key}")

    def whole(self) -> bool:
        """Does every node that runs see all slots held, and every master a replica?"""
        running = [node for node in self.nodes if node.process is not None]
        try:
            told = [node.call("CLUSTER", "INFO").decode() for node in running]
            return all("cluster_state:ok" in one and f"cluster_slots_ok:{SLOTS}" in one for one in told)
        except Unavailable:
            return False

    def replicated(self) -> bool:
        """Has every master a replica that follows it?"""
        try:
            return all(int(node.info("replication")["connected_slaves"]) > 0 for node in self.masters())
        except Unavailable:
            return False

    def flush(self) -> None:
        """Forget all data."""
        for node in self.masters():
            node.call("FLUSHALL")

    def _slots(self, node: Node) -> bool:
        myself = node.call("CLUSTER", "MYID")
        lines = node.call("CLUSTER", "NODES").splitlines()
        return any(line.startswith(myself) and len(line.split()) > 8 for line in lines)


@contextmanager
def cluster(masters: int = 3, replicas: int = 1, fsync: Fsync = "always", timeout_ms: int = 1_000) -> Iterator[Cluster]:
    """A cluster of ``masters``, each with ``replicas``, for a block.

    ``timeout_ms``: how long a node may be silent before the others hold it for dead.

    :raises RuntimeError: it does not come up.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="annals-cluster-")))
        count = masters * (1 + replicas)
        ports = free_ports(2 * count)
        options = (
            *_persistent(fsync), "--cluster-enabled", "yes", "--cluster-node-timeout", str(timeout_ms),
            "--cluster-require-full-coverage", "no", "--cluster-replica-validity-factor", "0",
        )  # fmt: skip
        made = Cluster([
            Node(ports[2 * number], folder / str(number), (*options, "--cluster-port", str(ports[2 * number + 1])))
            for number in range(count)
        ])  # fmt: skip
        for node in made.nodes:
            stack.callback(node.close)
            node.start()
        until(lambda: all(node.answers() for node in made.nodes), "the nodes of the cluster answer")
        share = SLOTS / masters
        for number, node in enumerate(made.nodes):
            node.call("CLUSTER", "SET-CONFIG-EPOCH", number + 1)
            if number < masters:
                node.call("CLUSTER", "ADDSLOTSRANGE", round(number * share), round((number + 1) * share) - 1)
            for other, port in zip(made.nodes[:number], ports[1::2], strict=False):
                node.call("CLUSTER", "MEET", HOST, other.port, port)
        for number in range(masters, count):
            node, master = made.nodes[number], made.nodes[number % masters].call("CLUSTER", "MYID")
            until(lambda node=node, master=master: _replicates(node, master), "a node follows its master")  # type: ignore[misc]
        until(lambda: made.whole() and (not replicas or made.replicated()), "the cluster is whole")
        yield made


def _replicates(node: Node, master: bytes) -> bool:
    try:
        return bool(node.call("CLUSTER", "REPLICATE", master) == b"OK")
    except redis.ResponseError:  # it has not heard of it yet
        return False


# -- sentinels -------------------------------------------------------------------------------------------------------


@dataclass
class Watched:
    """A server, its replicas, and sentinels that put one of these in its place."""

    nodes: list[Node]
    sentinels: list[Node] = field(default_factory=list)

    @property
    def url(self) -> str:
        """The address for `events.redis_client.connect`."""
        return f"redis+sentinel://{','.join(node.address for node in self.sentinels)}/{MASTER}"

    def master(self) -> Node:
        """Whom the sentinels that run name.

        :raises Unavailable: one of them does not answer, or they do not agree (yet).
        """
        running = [sentinel for sentinel in self.sentinels if sentinel.process is not None]
        named = {int(one.call("SENTINEL", "GET-MASTER-ADDR-BY-NAME", MASTER)[1]) for one in running}
        if len(named) != 1:
            raise Unavailable(f"the sentinels name {len(named)} masters")
        (port,) = named
        return next(node for node in self.nodes if node.port == port)

    def follow(self, node: Node) -> None:
        """Let a server that was one before be a replica of today's master; start it if it ended.

        The sentinels would see to that too, some ten seconds later.
        """
        if node.process is None:
            node.start()
        until(node.answers, "the server answers")
        until(lambda: node.call("REPLICAOF", HOST, self.master().port) == b"OK", "it follows")

    def replicated(self) -> bool:
        """Have all servers that run but one a link to the master that the sentinels name?"""
        running = [node for node in self.nodes if node.process is not None]
        try:
            master = self.master()
            told = master.info("replication")
            return told["role"] == "master" and int(told["connected_slaves"]) == len(running) - 1
        except Unavailable:
            return False


@contextmanager
def watched(replicas: int = 1, sentinels: int = 3, fsync: Fsync = "always", timeout_ms: int = 500) -> Iterator[Watched]:
    """A server with ``replicas`` that ``sentinels`` watch, for a block.

    ``timeout_ms``: how long the server may be silent before a sentinel holds it for dead.

    :raises RuntimeError: they do not come up.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="annals-sentinel-")))
        ports = free_ports(1 + replicas + sentinels)
        made = Watched([
            Node(port, folder / f"server-{port}", (*_persistent(fsync), "--repl-diskless-sync-delay", "0"))
            for port in ports[: 1 + replicas]
        ])  # fmt: skip
        for node in made.nodes:
            stack.callback(node.close)
            node.start()
        until(lambda: all(node.answers() for node in made.nodes), "the servers answer")
        first = made.nodes[0]
        for node in made.nodes[1:]:
            node.call("REPLICAOF", HOST, first.port)
        for port in ports[1 + replicas :]:
            made.sentinels.append(node := Node(port, folder / f"sentinel-{port}", (), sentinel=True))
            node.folder.mkdir()
            (node.folder / "sentinel.conf").write_text(
                f"sentinel monitor {MASTER} {HOST} {first.port} {sentinels // 2 + 1}\n"
                f"sentinel down-after-milliseconds {MASTER} {timeout_ms}\n"
                f"sentinel failover-timeout {MASTER} {6 * timeout_ms}\n"
            )
            stack.callback(node.close)
            node.start()
        until(lambda: all(_knows(node, replicas, sentinels) for node in made.sentinels), "the sentinels know all")
        until(made.replicated, "the replicas follow")
        yield made


def _knows(sentinel: Node, replicas: int, sentinels: int) -> bool:
    try:
        values = sentinel.call("SENTINEL", "MASTER", MASTER)
    except (Unavailable, redis.ResponseError):
        return False
    told = dict(zip(values[::2], values[1::2], strict=True))
    return (int(told[b"num-slaves"]), int(told[b"num-other-sentinels"])) == (replicas, sentinels - 1)


# -- what both need --------------------------------------------------------------------------------------------------


def until(holds: Callable[[], Told], what: str, seconds: float = _START_S) -> Told:
    """Wait until something holds, and return what it told.

    :raises RuntimeError: it does not in time.
    """
    deadline = time.monotonic() + seconds
    while not (told := holds()):
        if time.monotonic() > deadline:
            raise RuntimeError(f"in {seconds:.0f} s it did not come about that {what}")
        time.sleep(_POLL_S)
    return told


def free_ports(count: int) -> list[int]:
    """Ports that nobody listens on just now, below those that the system gives to connections where it can be."""
    with ExitStack() as stack:
        found: list[int] = []
        while len(found) < count:
            candidate = 20_000 + int.from_bytes(os.urandom(2), "big") % 12_000
            taken = stack.enter_context(socket.socket())
            with suppress(OSError):
                taken.bind((HOST, candidate))
                found.append(candidate)
        return found


def _persistent(fsync: Fsync) -> tuple[str, ...]:
    return (
        "--appendonly", "yes", "--appendfsync", fsync, "--aof-use-rdb-preamble", "no", "--save", "",
        "--stream-node-max-bytes", "1024", "--repl-diskless-sync-delay", "0", "--repl-backlog-size", "16mb",
    )  # fmt: skip


def _role(node: Node) -> str:
    try:
        return str(node.call("ROLE")[0].decode())
    except (Unavailable, redis.ResponseError):
        return "none"
