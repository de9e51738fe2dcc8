"""Accepted actions over HTTP, everything on and durable, beside the bare endpoint and a plain XADD, round by round."""

import os
import secrets
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

import msgspec
import redis

from bench.bare import ENTRY
from bench.figures import Figure, say
from bench.load import Run, drive, post
from engine.protocol import name_and_args
from engine.registry import BOTS
from events import seeds
from events.embedded import Embedded
from events.redis_client import connect
from events.redis_log import RedisLog
from replay.position import Position
from service.drafts import Draft

ROUNDS: Final = 5
CLIENTS: Final = 16
_SEATS: Final = 4
_START_S: Final = 60


class Plan:
    """One game and the requests that will play it, known beforehand because the bench holds the master key."""

    def __init__(self, client: redis.Redis, port: int, master: bytes, actions: int) -> None:
        self.port, self._log = port, RedisLog(client)
        token = self._call("/v1/players", {"name": "bench"})["token"]
        self.headers = {"Authorization": f"Bearer {token}"}
        while True:
            table = self._call("/v1/games", {"ruleset": "donjon@1", "seats": _SEATS}, self.headers)
            self.game: str = table["game_id"]
            for _ in range(_SEATS - 1):
                self._call(f"/v1/games/{self.game}/seats", {}, self.headers)
            self._call(f"/v1/games/{self.game}/start", {}, self.headers)
            self.requests = list(self._played(master, actions))
            if len(self.requests) == actions:
                return

    def take(self, count: int) -> list[bytes]:
        """The next requests."""
        taken, self.requests = self.requests[:count], self.requests[count:]
        return taken

    def _played(self, master: bytes, actions: int) -> Iterator[bytes]:
        game_id = bytes.fromhex(self.game)
        chain = seeds.Chain(game_id, seeds.SERVER, seeds.server_tail(master, game_id))
        position = Position(game_id)
        for event in self._log.read(game_id).events:
            position.advance(event)
        bot = BOTS["donjon"]["delver"]
        for number in range(actions):
            if position.closed:
                return
            seat = position.to_act[0]
            action = bot.choose(position.rules, position.state, seat, 2, secrets.randbelow)  # type: ignore[arg-type]
            name, args = name_and_args(action)
            body = {"action": {"type": name, **args}, "expected_version": position.version}
            headers = self.headers | {"Idempotency-Key": f"bench-{number}"}
            yield post(f"/v1/games/{self.game}/actions?seat={seat}", msgspec.json.encode(body), headers)
            draft = Draft(position, position.t_ms, chain)
            draft.act(seat, action)
            position = draft.position

    def _call(self, path: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
        asked = urllib.request.Request(
            f"http://127.0.0.1:{self.port}{path}",
            msgspec.json.encode(body),
            {"Content-Type": "application/json"} | (headers or {}),
        )
        with urllib.request.urlopen(asked) as answer:
            return msgspec.json.decode(answer.read())




@contextmanager
def web(application: str, port: int, url: str, master: bytes, logs: Path) -> Iterator[None]:
    """Gunicorn with the settings of `annals serve` around one of the two applications."""
    environment = os.environ | {
        "REDIS_URL": url,
        "ANNALS_KEYS": f"bench={master.hex()}",
        "ANNALS_PORT": str(port),
        "ANNALS_DEMO": "no",
    }
    with (logs / f"{port}.log").open("wb") as log:
        command = [sys.executable, "-m", "gunicorn", "--config", "python:service.worker", application]
        process = subprocess.Popen(command, env=environment, stdout=log, stderr=log)
    try:
        _wait_for(port, process)
        yield
    finally:
        process.terminate()
        process.wait(30)


def _wait_for(port: int, process: "subprocess.Popen[bytes]") -> None:
    deadline = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline:
        with socket.socket() as probe:
            probe.settimeout(0.2)
            if probe.connect_ex(("127.0.0.1", port)) == 0:
                return
    raise RuntimeError("the server does not come up")


def measure(scale: int) -> list[Figure]:
    """Figures of actions over HTTP; ``scale``: requests of each client in a round."""
    master = secrets.token_bytes(32)
    say("actions over HTTP: games are prepared")
    with tempfile.TemporaryDirectory(prefix="annals-bench-") as directory:
        database = Embedded(Path(directory) / "data", fsync="always").start()
        client = connect(database.url)
        ours, bare = _free_port(), _free_port()
        try:
            with (
                web("service.worker:application()", ours, database.url, master, Path(directory)),
                web("bench.bare:application()", bare, database.url, master, Path(directory)),
                ProcessPoolExecutor(1, get_context("spawn")) as pool,
            ):
                return _rounds(client, (ours, bare), master, scale, pool)
        finally:
            database.stop()


def _rounds(
    client: redis.Redis, ports: tuple[int, int], master: bytes, scale: int, pool: ProcessPoolExecutor
) -> list[Figure]:
    ours, bare = ports
    plans = [Plan(client, ours, master, (ROUNDS + 1) * scale) for _ in range(CLIENTS)]
    relaxed = [Plan(client, ours, master, (ROUNDS + 1) * scale) for _ in range(CLIENTS)]
    alone = [Plan(client, ours, master, (ROUNDS + 1) * scale)]
    streams = [_Bare(f"many-{number}") for number in range(CLIENTS)]
    single = [_Bare("one")]

    def load(port: int, sources: Sequence["Plan | _Bare"]) -> Run:
        return pool.submit(drive, ("127.0.0.1", port), [source.take(scale) for source in sources]).result()

    def without_waiting(port: int, sources: Sequence["Plan | _Bare"]) -> Run:
        client.config_set("appendfsync", "everysec")
        try:
            return load(port, sources)
        finally:
            client.config_set("appendfsync", "always")

    kinds: dict[str, Callable[[], Run]] = {
        "ours": lambda: load(ours, plans),
        "bare": lambda: load(bare, streams),
        "ours everysec": lambda: without_waiting(ours, relaxed),
        "ours alone": lambda: load(ours, alone),
        "bare alone": lambda: load(bare, single),
        "xadd": lambda: _xadd(client, scale * 4),
    }
    runs: dict[str, list[Run]] = {kind: [] for kind in kinds}
    for number in range(ROUNDS + 1):
        say(f"actions over HTTP: round {number} of {ROUNDS}" + ("" if number else " (warm-up)"))
        for kind, run in kinds.items():
            done = run()
            if number:
                runs[kind].append(done)
    rate = {kind: statistics.median(run.rate for run in of) for kind, of in runs.items()}
    memory = [_bytes_per_event(client, plan.game) for plan in plans]
    stated = "bare Flask + one script append, same server and client"
    late = _at(runs["ours"], 99), _at(runs["bare"], 99)
    late_alone = _at(runs["ours alone"], 99), _at(runs["bare alone"], 99)
    return [
        Figure("accepted actions, 16 clients", rate["ours"], "/s", rate["bare"], stated, 0.7),
        Figure("the same, 1 client", rate["ours alone"], "/s", rate["bare alone"], stated, 0.7),
        Figure("the same, 16 clients", rate["ours"], "/s", rate["xadd"], "XADD by one redis-py client, no HTTP"),
        Figure("latency p50, 16 clients", _at(runs["ours"], 50), "ms", _at(runs["bare"], 50), stated, None, True),
        Figure("latency p99, 16 clients", late[0], "ms", late[1], stated, 2, True),
        Figure("latency p99, 1 client", late_alone[0], "ms", late_alone[1], stated, 2, True),
        Figure(
            "accepted actions with fsync always", rate["ours"], "/s", rate["ours everysec"], "ours with everysec", 0.6
        ),
        Figure("Redis memory an event, all keys of the game", statistics.median(memory), "B", target=260, at_most=True),
    ]


class _Bare:
    """Requests to the bare endpoint, of the size of an action's."""

    def __init__(self, name: str) -> None:
        self._name, self._version = name, 0

    def take(self, count: int) -> list[bytes]:
        taken = []
        for _ in range(count):
            body = {"action": {"type": "move", "to": [1, 0]}, "expected_version": self._version}
            taken.append(post(f"/append/{self._name}", msgspec.json.encode(body), {}))
            self._version += 1
        return taken


def _xadd(client: redis.Redis, count: int) -> Run:
    begun = time.perf_counter()
    for _ in range(count):
        client.execute_command("XADD", "plain", "*", "e", ENTRY)  # type: ignore[no-untyped-call]
    return Run(count / (time.perf_counter() - begun), [])


def _at(runs: Sequence[Run], percentile: int) -> float:
    """The median over the runs of a percentile of latency."""
    return statistics.median(sorted(run.latencies)[len(run.latencies) * percentile // 100] for run in runs)


def _bytes_per_event(client: redis.Redis, game: str) -> float:
    tag = f"{{s{game[0]}}}"
    keys = [f"{tag}:{part}:{game}" for part in ("ev", "meta", "idem")]
    used = sum(int(client.memory_usage(key, samples=0) or 0) for key in keys)
    return used / int(client.xlen(keys[0]))


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
