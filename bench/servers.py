"""The service as `annals serve` runs it, and the bare endpoint beside it on the same database, for a block."""

import json
import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, Self, TypeVar

import redis

from bench import bare
from bench.load import Address
from bench.processes import PROC, descendants
from engine.registry import RULESETS
from events.embedded import Embedded
from events.redis_client import connect
from service.config import Config
from service.running import serve

Told = TypeVar("Told")
_ROOT: Final = Path(__file__).resolve().parents[1]
_START_S: Final = 60
_STOP_S: Final = 30


@dataclass(frozen=True)
class Servers:
    """Two addresses on one database, the master key of every game's dice, and which process is what."""

    service: Address
    bare: Address
    database: redis.Redis
    url: str
    master: bytes
    keys: str
    """The keyring, as ANNALS_KEYS holds it."""
    bare_environment: Mapping[str, str]
    pids: Mapping[str, list[int]]
    """Processes by part: web, clerk, database, bare web."""


@contextmanager
def servers(entry: bytes) -> Iterator[Servers]:
    """Start both, durable as by default; the bare one appends ``entry``.

    :raises RuntimeError: one does not come up.
    """
    master = secrets.token_bytes(32)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="annals-bench-")))
        keys, workers = f"bench={master.hex()}", Config().workers
        ours = stack.enter_context(served(folder, ANNALS_KEYS=keys, ANNALS_DEMO="no"))
        service, url = ours.process, Embedded(ours.data).url
        database = stack.enter_context(connect(url))

        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2_048))
        leash, hold = os.pipe()
        stack.callback(os.close, hold)
        appended = {"REDIS_URL": url, bare.ENTRY: entry.hex()}
        environment = _clean() | appended | {serve.LISTENER: str(listener.fileno()), serve.LEASH: str(leash)}
        settings = "python:service.running.worker"
        command = [sys.executable, "-m", "gunicorn", "--config", settings, "bench.bare:application()"]
        handed = (listener.fileno(), leash)
        beside = stack.enter_context(_running(command, environment, folder / "bare.log", handed))
        os.close(leash)
        _until(
            beside,
            folder / "bare.log",
            lambda: not PROC.is_dir() or len(descendants(beside.pid, "gunicorn")) == workers,
        )
        yield Servers(
            service=ours.at,
            bare=listener.getsockname(),
            database=database,
            url=url,
            master=master,
            keys=keys,
            bare_environment=appended,
            pids={
                "web": descendants(service.pid, "gunicorn"),
                "clerk": descendants(service.pid, "clerk"),
                "database": [int(database.info("server")["process_id"])],
                "bare web": descendants(beside.pid, "gunicorn"),
            },
        )


@dataclass(frozen=True)
class Served:
    """A service of its own: where it listens, where it keeps what it has, what it says, its first process."""

    at: Address
    data: Path
    log: Path
    process: "subprocess.Popen[bytes]"

    @property
    def address(self) -> str:
        """``http://127.0.0.1:8000``"""
        return f"http://{self.at[0]}:{self.at[1]}"

    def until(self, told: Callable[[], Told | None], seconds: float = _START_S) -> Told:
        """What is told in the end.

        :raises RuntimeError: the service ended, or it took too long.
        """
        return _until(self.process, self.log, told, seconds)

    def finished(self, ruleset: str = "") -> list[dict[str, Any]]:
        """The newest finished games."""
        which = f"&ruleset={ruleset}" if ruleset else ""
        with urllib.request.urlopen(f"{self.address}/v1/games?status=finished&limit=100{which}") as answer:
            games: list[dict[str, Any]] = json.load(answer)["games"]
        return games

    def grant(self, player: str, role: str) -> None:
        """Give a player a role, as who runs the service does it."""
        command = [sys.executable, "-m", "service", "grant", player, role, "--data", str(self.data)]
        subprocess.run(command, env=_clean(), check=True, capture_output=True, timeout=60)

    def with_demo(self) -> Self:
        """Once a finished game of each kind is there: the demo is loaded while the service answers."""
        self.until(lambda: all(map(self.finished, RULESETS)), 120)
        return self


@contextmanager
def served(folder: Path, *arguments: str, **settings: str) -> Iterator[Served]:
    """``annals serve`` on a port of its own, with its data in a folder; ``settings``: its environment, and no other.

    :raises RuntimeError: it does not come up.
    """
    data, log = folder / "data", folder / "service.log"
    command = [sys.executable, "-m", "service", "serve", "--port", "0", "--data", str(data), *arguments]
    with _running(command, _clean() | settings, log) as process:
        told = _until(process, log, lambda: re.search(r"http://([\d.]+):(\d+)/docs", log.read_text()))
        yield Served((told[1], int(told[2])), data, log, process)


def _clean() -> dict[str, str]:
    """This environment without what a service would read; and this checkout to import."""
    kept = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "REDIS_URL"))}
    return kept | {"PYTHONPATH": str(_ROOT), "ANNALS_RATE_LIMITS": "off"}


@contextmanager
def _running(
    command: list[str], environment: Mapping[str, str], log: Path, handed: tuple[int, ...] = ()
) -> Iterator["subprocess.Popen[bytes]"]:
    with log.open("wb") as output:
        process = subprocess.Popen(command, env=environment, stdout=output, stderr=output, pass_fds=handed)
    try:
        yield process
    finally:
        process.terminate()
        try:
            process.wait(_STOP_S)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def _until(
    process: "subprocess.Popen[bytes]", log: Path, told: Callable[[], Told | None], seconds: float = _START_S
) -> Told:
    deadline = time.monotonic() + seconds
    while process.poll() is None and time.monotonic() < deadline:
        if found := told():
            return found
        time.sleep(0.05)
    raise RuntimeError(f"the service does not come up: {log.read_text()[-2000:]}")
