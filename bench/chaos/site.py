"""A service as `annals serve` runs it, whose processes can be found, and ended."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from pathlib import Path
from typing import Final, TypeVar

import redis
from prometheus_client.mmap_dict import MmapedDict

from bench.history import Stored
from bench.processes import PROC, Process, started_for
from events.embedded import Embedded
from events.redis_client import Wire, connect
from events.redis_log import Keys

Told = TypeVar("Told")
_START_S: Final = 60.0
_LOOK_S: Final = 0.02


class NotSo(RuntimeError):
    """What was waited for did not come about."""


def until(what: Callable[[], Told], why: str, seconds: float = _START_S) -> Told:
    """Wait until something is true, looking often.

    :raises NotSo: it did not become so in time.
    """
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not (value := what()):
        if time.monotonic() > deadline:
            raise NotSo(why)
        pause.wait(_LOOK_S)
    return value


class Site:
    """`annals serve` on a directory of its own, with an embedded database unless ``url`` names another."""

    def __init__(self, folder: Path, url: str = "", environment: Mapping[str, str] = {}, workers: int = 2) -> None:
        self.folder, self.data = folder, folder / "data"
        self._url = url
        with socket.create_server(("127.0.0.1", 0)) as probe:
            self.port: int = probe.getsockname()[1]  # the same after a start anew, so that clients find it
        self.host = "127.0.0.1"
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "REDIS_URL"))}
        settings = {
            "ANNALS_DEMO": "no", "ANNALS_BOT_PAUSE_MS": "20", "ANNALS_HEARTBEAT_S": "1", "ANNALS_LOG_LEVEL": "warning",
            "ANNALS_WORKERS": str(workers), "ANNALS_RATE_LIMITS": "no",
        }  # fmt: skip
        self._environment = clean | settings | ({"REDIS_URL": url} if url else {}) | dict(environment)
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def log(self) -> Path:
        """What the service said on standard error."""
        return self.folder / "log"

    @property
    def address(self) -> str:
        return f"http://{self.host}:{self.port}"

    def start(self) -> "Site":
        """Start it, and wait until it says that it is ready.

        :raises NotSo: it does not come up.
        """
        command = [sys.executable, "-m", "service", "serve", "--port", str(self.port), "--data", str(self.data)]
        said = self.folder / "said"
        with said.open("wb") as output, self.log.open("ab") as log:
            self.process = process = subprocess.Popen(
                command, env=self._environment, stdout=output, stderr=log, start_new_session=True
            )
        until(lambda: "Ctrl-C" in said.read_text() or process.poll() is not None, "the service is not ready")
        if process.poll() is not None:
            raise NotSo(f"the service ended: {self.log.read_text()[-2_000:]}")
        return self

    def stop(self) -> None:
        """End everything by force, and wait until it is gone."""
        while left := self.processes():
            for one in left:
                with suppress(ProcessLookupError):
                    os.kill(one.pid, signal.SIGKILL)
            if self.process is not None:
                self.process.poll()
        if self.process is not None:
            self.process.wait()

    # -- its processes -----------------------------------------------------------------------------------------------

    def processes(self) -> list[Process]:
        """Everything that was started for this directory."""
        return started_for(self.data)

    @property
    def supervisor(self) -> int:
        assert self.process is not None
        return self.process.pid

    def master(self) -> int:
        """The process of Gunicorn that watches over the workers."""
        web = [one for one in self.processes() if "gunicorn" in one.command]
        masters = [one.pid for one in web if one.parent not in {other.pid for other in web}]
        return until(lambda: masters, "there is no web server")[0]

    def workers(self) -> list[int]:
        """The processes that answer requests."""
        web = [one for one in self.processes() if "gunicorn" in one.command]
        return [one.pid for one in web if one.parent in {other.pid for other in web}]

    def serving(self) -> set[int]:
        """Workers that have answered a request: each counts them in a file of its own. Asks for some more itself."""
        found = set()
        for pid in self.workers():
            with suppress(OSError, ValueError):  # nobody answers; or it has just ended, or just begun
                self.get("/healthz")
                environment = (PROC / str(pid) / "environ").read_bytes()
                variables = dict(part.partition(b"=")[::2] for part in environment.split(b"\0"))
                file = Path(os.fsdecode(variables[b"PROMETHEUS_MULTIPROC_DIR"])) / f"counter_{pid}.db"
                counted = MmapedDict.read_all_values_from_file(file)  # type: ignore[no-untyped-call]
                if any("annals_requests_total" in name and value for name, value, *_ in counted):
                    found.add(pid)
        return found

    def clerk(self) -> int:
        """The process of clerk and sequencer."""
        return until(lambda: [one.pid for one in self.processes() if "service clerk" in one.command], "no clerk")[0]

    def database(self) -> int:
        """The embedded database."""
        return until(lambda: [one.pid for one in self.processes() if "redis.sock" in one.command], "no database")[0]

    # -- what it says ------------------------------------------------------------------------------------------------

    def get(self, path: str) -> bytes:
        """What is at a path.

        :raises OSError: nothing, or a problem.
        """
        with urllib.request.urlopen(self.address + path, timeout=10) as answer:
            data: bytes = answer.read()
            return data

    def ready(self) -> bool:
        """Does it say so?"""
        try:
            return bool(self.get("/readyz"))
        except OSError:
            return False

    def client(self) -> redis.Redis:
        """A client of its database, past every proxy."""
        return connect(self._url or Embedded(self.data).url)


def stored(client: redis.Redis, game_ids: Iterable[bytes]) -> dict[bytes, Stored]:
    """The entries of games as the database has them, read without the product's own reader."""
    found = {}
    for game_id in game_ids:
        keys = Keys.of(game_id)
        entries, (version, head) = Wire(client).call(
            ("XRANGE", keys.stream, "-", "+"), ("HMGET", keys.meta, "version", "head")
        )
        found[game_id] = Stored(
            [(place.decode(), fields[1]) for place, fields in entries], int(version or 0), head or b""
        )
    return found
