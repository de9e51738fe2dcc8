"""The load: requests made beforehand, sent over kept-alive sockets by a process of its own, each client in turn."""

import selectors
import socket
import time
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

_TIMEOUT_S = 60.0


@dataclass(frozen=True)
class Run:
    """What a load took: requests a second, and the latency of each in milliseconds."""

    rate: float
    latencies: list[float]


class Refused(RuntimeError):
    """A request was not answered with the status it should have been."""


@dataclass
class _Client:
    sock: socket.socket
    requests: Sequence[bytes]
    sent: int = 0
    since: float = 0.0
    got: bytes = b""


def drive(address: tuple[str, int], clients: Sequence[Sequence[bytes]], status: int = 201) -> Run:
    """Each client sends its requests one after the other; all clients at the same time.

    :raises Refused: an answer has another status.
    """
    latencies: list[float] = []
    with selectors.DefaultSelector() as selector:
        for requests in clients:
            sock = socket.create_connection(address, timeout=_TIMEOUT_S)
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            selector.register(sock, selectors.EVENT_READ, _Client(sock, requests))
        begun = time.perf_counter()
        for key in list(selector.get_map().values()):
            _send(key.data)
        while selector.get_map():
            ready = selector.select(_TIMEOUT_S)
            if not ready:
                raise Refused("no answer")
            for key, _ in ready:
                client = key.data
                client.got += client.sock.recv(65_536)
                if not _whole(client.got):
                    continue
                latencies.append((time.perf_counter() - client.since) * 1000)
                if int(client.got[9:12]) != status:
                    raise Refused(client.got.decode(errors="replace"))
                if client.sent == len(client.requests):
                    selector.unregister(client.sock)
                    client.sock.close()
                else:
                    _send(client)
        seconds = time.perf_counter() - begun
    return Run(sum(map(len, clients)) / seconds, latencies)


def post(path: str, body: bytes, headers: dict[str, Any]) -> bytes:
    """The bytes of a request."""
    lines = [f"POST {path} HTTP/1.1", "Host: bench", "Content-Type: application/json", f"Content-Length: {len(body)}"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    return "\r\n".join(lines).encode() + b"\r\n\r\n" + body


def _send(client: _Client) -> None:
    client.got = b""
    client.since = time.perf_counter()
    client.sock.sendall(client.requests[client.sent])
    client.sent += 1


def _whole(answer: bytes) -> bool:
    head, end, body = answer.partition(b"\r\n\r\n")
    if not end:
        return False
    for line in head.split(b"\r\n")[1:]:
        name, _, value = line.partition(b":")
        if name.lower() == b"content-length":
            return len(body) >= int(value)
    raise Refused("an answer without a length")
