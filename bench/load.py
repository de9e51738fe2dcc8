"""The load: requests made beforehand, sent over kept-alive sockets by a process of its own, each client in turn."""

import gc
import re
import selectors
import socket
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from bench.processes import seconds

Address = tuple[str, int]
_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Run:
    """What a load took: requests a second, the latency of each in milliseconds."""

    rate: float
    latencies: list[float]
    seconds: dict[str, float]
    """Processor time meanwhile, by part of the service."""


class Refused(RuntimeError):
    """A request was not answered with the status it should have been."""


@dataclass
class _Client:
    sock: socket.socket
    requests: Sequence[bytes]
    sent: int = 0
    since: float = 0.0
    got: bytes = b""

    def send(self) -> None:
        self.got = b""
        self.since = time.perf_counter()
        self.sock.sendall(self.requests[self.sent])
        self.sent += 1

    def answered(self) -> bool:
        """Take in what has come: is it the whole answer?

        :raises Refused: it is, and does not say 201.
        """
        self.got += (more := self.sock.recv(65_536))
        if not more:
            raise Refused(f"the connection was closed after {self.got!r}")
        if not _whole(self.got):
            return False
        if self.got[9:12] != b"201":
            raise Refused(self.got.decode(errors="replace"))
        return True


def drive(address: Address, clients: Sequence[Sequence[bytes]], pids: Mapping[str, list[int]]) -> Run:
    """Each client sends its requests one after the other, all clients at the same time.

    A client's first request is not counted: it brings a game that is new to a worker into its memory. The rate is that
    of the time in which every client had something to send.

    :raises Refused: an answer is not 201.
    """
    gc.disable()
    latencies: list[float] = []
    with selectors.DefaultSelector() as selector:
        for requests in clients:
            client = _Client(_connected(address), requests)
            selector.register(client.sock, selectors.EVENT_READ, client)
            client.send()
            while not client.answered():
                pass
        before = _seconds(pids)
        begun, ended = time.perf_counter(), 0.0
        for key in list(selector.get_map().values()):
            key.data.send()
        while selector.get_map():
            ready = selector.select(_TIMEOUT_S)
            if not ready:
                raise Refused("no answer")
            for key, _ in ready:
                client = key.data
                if not client.answered():
                    continue
                now = time.perf_counter()
                latencies.append((now - client.since) * 1000)
                if not ended and client.sent == len(client.requests):
                    ended, counted = now, len(latencies)
                if client.sent < len(client.requests):
                    client.send()
                else:
                    selector.unregister(client.sock)
                    client.sock.close()
    spent = {part: after - before[part] for part, after in _seconds(pids).items()}
    return Run(counted / (ended - begun), latencies, spent)


def exchange(address: Address, request: bytes) -> None:
    """One request on a connection of its own.

    :raises Refused: its answer is not 201.
    """
    with _connected(address) as sock:
        client = _Client(sock, [request])
        client.send()
        while not client.answered():
            pass


def watch(address: Address, stream: bytes, requests: Sequence[bytes], first: int) -> tuple[list[float], list[float]]:
    """Act one request at a time, and look on by an event stream: milliseconds from sending an action to its answer,
    and to its frame at the watcher. The first request makes event ``first``, and is not counted.

    :raises Refused: an answer is not 201, or a frame does not come.
    """
    gc.disable()
    answers: list[float] = []
    frames: list[float] = []
    actor, watcher = _Client(_connected(address), requests), _connected(address)
    watcher.sendall(stream)
    with selectors.DefaultSelector() as selector, actor.sock, watcher:
        selector.register(actor.sock, selectors.EVENT_READ, answers)
        selector.register(watcher, selectors.EVENT_READ, frames)
        seen = b""
        for number in range(len(requests)):
            awaited = re.compile(rb"\nid: %d\n" % (first + number))
            actor.send()
            while min(len(answers), len(frames)) <= number:
                ready = selector.select(_TIMEOUT_S)
                if not ready:
                    raise Refused(f"no frame of event {first + number}")
                for key, _ in ready:
                    if key.data is answers:
                        come = actor.answered()
                    else:
                        seen += watcher.recv(65_536)
                        come = awaited.search(seen) is not None
                    if come:
                        key.data.append((time.perf_counter() - actor.since) * 1000)
            seen = seen[-100:]
    return answers[1:], frames[1:]


def request(method: str, path: str, headers: dict[str, Any], body: bytes = b"") -> bytes:
    """The bytes of a request."""
    lines = [f"{method} {path} HTTP/1.1", "Host: bench", *(f"{name}: {value}" for name, value in headers.items())]
    if body:
        lines += ["Content-Type: application/json", f"Content-Length: {len(body)}"]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _seconds(pids: Mapping[str, list[int]]) -> dict[str, float]:
    return {part: sum(map(seconds, numbers)) for part, numbers in pids.items()}


def _connected(address: Address) -> socket.socket:
    sock = socket.create_connection(address, timeout=_TIMEOUT_S)
    sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    return sock


def _whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    raise Refused("an answer without a length")
