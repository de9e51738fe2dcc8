"""The service as `annals serve` runs it, and the bare endpoint beside it on the same database, for a block."""

import os
import re
import secrets
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final, TypeVar

import redis

from bench import bare
from bench.load import Address
from bench.processes import PROC, descendants
from events.embedded import Embedded
from events.redis_client import connect
from service.config import Config
from service.running import serve

Told = TypeVar("Told")
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
        data = folder / "data"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "REDIS_URL"))}
        clean |= {"ANNALS_KEYS": (keys := f"bench={master.hex()}"), "ANNALS_DEMO": "no"}
        ours = [sys.executable, "-m", "service", "serve", "--port", "0", "--data", str(data)]
        workers = Config().workers
        service = stack.enter_context(_running(ours, clean, folder / "service.log"))
        told = _until(service, lambda: re.search(r"http://([\d.]+):(\d+)/docs", (folder / "service.log").read_text()))
        url = Embedded(data).url
        database = stack.enter_context(connect(url))

        listener = stack.enter_context(socket.create_server(("127.0.0.1", 0), backlog=2_048))
        leash, hold = os.pipe()
        stack.callback(os.close, hold)
        appended = {"REDIS_URL": url, bare.ENTRY: entry.hex()}
        environment = clean | appended | {serve.LISTENER: str(listener.fileno()), serve.LEASH: str(leash)}
        settings = "python:service.running.worker"
        command = [sys.executable, "-m", "gunicorn", "--config", settings, "bench.bare:application()"]
        handed = (listener.fileno(), leash)
        beside = stack.enter_context(_running(command, environment, folder / "bare.log", handed))
        os.close(leash)
        _until(beside, lambda: not PROC.is_dir() or len(descendants(beside.pid, "gunicorn")) == workers)
        yield Servers(
            service=(told[1], int(told[2])),
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


def _until(process: "subprocess.Popen[bytes]", told: Callable[[], Told | None]) -> Told:
    deadline = time.monotonic() + _START_S
    while process.poll() is None and time.monotonic() < deadline:
        if found := told():
            return found
        time.sleep(0.05)
    raise RuntimeError("the service does not come up")
