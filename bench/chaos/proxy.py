"""A wire to the database that can be cut: everything that a service and its database say goes through it."""

import selectors
import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal

Mode = Literal["open", "silent", "deaf", "cut"]
"""``open``: all goes through. ``silent``: what the database answers is lost on the way. ``deaf``: nothing goes through,
and nobody is told. ``cut``: connections are closed, and new ones too."""
_CHUNK: Final = 65_536


@dataclass(eq=False)
class _Pair:
    """One connection: the service's end, and ours to the database."""

    near: socket.socket
    far: socket.socket
    lost: bool = False
    """Something was lost here, so that the rest means nothing: closed once the wire is open again."""
    ends: list[socket.socket] = field(default_factory=list)


class Proxy:
    """One listening socket on loopback, before the unix socket of a database."""

    def __init__(self, database: Path) -> None:
        self._database = str(database)
        self._listener = socket.create_server(("127.0.0.1", 0), backlog=512)
        self._selector = selectors.DefaultSelector()
        self._mode: Mode = "open"
        self._pairs: set[_Pair] = set()
        self._woken, self._wake = socket.socketpair()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="proxy", daemon=True)

    @property
    def url(self) -> str:
        """What REDIS_URL is to be."""
        return f"redis://127.0.0.1:{self._listener.getsockname()[1]}"

    def set(self, mode: Mode) -> None:
        """Let it be so from now on."""
        self._mode = mode
        self._wake.send(b"!")

    @contextmanager
    def running(self) -> Iterator["Proxy"]:
        """Carry bytes for a block."""
        self._selector.register(self._listener, selectors.EVENT_READ, None)
        self._selector.register(self._woken, selectors.EVENT_READ, None)
        self._thread.start()
        try:
            yield self
        finally:
            self._stopping = True
            self._wake.send(b"!")
            self._thread.join()
            for pair in list(self._pairs):
                self._close(pair)
            for one in (self._listener, self._woken, self._wake, self._selector):
                one.close()

    def _run(self) -> None:
        while not self._stopping:
            for key, _ in self._selector.select():
                if key.fileobj is self._woken:
                    self._woken.recv(_CHUNK)
                    for pair in list(self._pairs):
                        if self._mode == "cut" or (self._mode == "open" and pair.lost):
                            self._close(pair)
                        elif self._mode == "open" and not pair.ends:
                            self._listen(pair)
                elif key.fileobj is self._listener:
                    self._accept()
                elif key.data in self._pairs:
                    self._carry(key.data, key.fileobj)  # type: ignore[arg-type] # our sockets only

    def _accept(self) -> None:
        near, _ = self._listener.accept()
        if self._mode == "cut":
            near.close()
            return
        near.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        far = socket.socket(socket.AF_UNIX)
        try:
            far.connect(self._database)
        except OSError:
            near.close()
            far.close()
            return
        pair = _Pair(near, far)
        self._pairs.add(pair)
        self._listen(pair)

    def _listen(self, pair: _Pair) -> None:
        pair.ends = [pair.near, pair.far]
        for end in pair.ends:
            self._selector.register(end, selectors.EVENT_READ, pair)

    def _carry(self, pair: _Pair, end: socket.socket) -> None:
        if self._mode == "deaf":  # bytes stay where they are; what comes later waits behind them
            for one in pair.ends:
                self._selector.unregister(one)
            pair.ends = []
            return
        other = pair.far if end is pair.near else pair.near
        try:
            data = end.recv(_CHUNK)
            if not data:
                self._close(pair)
            elif self._mode == "silent" and end is pair.far:
                pair.lost = True
            else:
                other.sendall(data)
        except OSError:
            self._close(pair)

    def _close(self, pair: _Pair) -> None:
        for end in pair.ends:
            self._selector.unregister(end)
        pair.ends = []
        pair.near.close()
        pair.far.close()
        self._pairs.discard(pair)
