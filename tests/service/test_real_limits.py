"""What a real server refuses, at each boundary; and that who is slow, or many, is nobody else's trouble."""

import http.client
import json
import re
import socket
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.servers import Served, served
from service import limits
from service.api.routing import BODY_LIMIT

PATIENCE_S = 1.0
LINE, FIELD, FIELDS = 4_094, 8_188, 100
"""How long a request line may be, how long a header with its name, and how many of them there may be."""

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found through /proc")


@pytest.fixture(scope="module")
def service() -> Iterator[Served]:
    """One worker, so that whoever blocks it blocks everybody."""
    with tempfile.TemporaryDirectory(prefix="annals-") as folder:
        settings = {"ANNALS_DEMO": "no", "ANNALS_HEARTBEAT_S": "0.3", "ANNALS_PATIENCE_S": str(PATIENCE_S)}
        with served(Path(folder), "--workers", "1", ANNALS_RATE_LIMITS="on", **settings) as one:
            until(lambda: httpx.get(f"{one.address}/readyz").status_code == 200)
            yield one


@pytest.fixture(scope="module")
def ada(service: Served) -> str:
    """A player's token."""
    token: str = httpx.post(f"{service.address}/v1/players", json={"name": "Ada"}).json()["token"]
    return token


def until(told: Callable[[], Any], seconds: float = 60) -> Any:
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not (found := told()):
        assert time.monotonic() < deadline, "it did not happen"
        pause.wait(0.02)
    return found


@pytest.fixture
def connect(service: Served) -> Iterator[Callable[..., socket.socket]]:
    """Connections to the service, closed at the end."""
    with ExitStack() as stack:

        def made(sent: bytes = b"", buffer: int = 0) -> socket.socket:
            connection = stack.enter_context(socket.socket())
            if buffer:
                connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, buffer)
            connection.settimeout(30)
            connection.connect(service.at)
            connection.sendall(sent)
            return connection

        yield made


def answered(connection: socket.socket) -> tuple[int, dict[str, str], bytes]:
    """(status, headers, body) of the next answer."""
    answer = http.client.HTTPResponse(connection)
    answer.begin()
    return answer.status, dict(answer.getheaders()), answer.read()


def well(service: Served) -> None:
    """Somebody else is answered, quickly enough not to have waited for anybody's patience."""
    assert httpx.get(f"{service.address}/v1/games", timeout=10).status_code == 200


# -- how much --------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(("over", "status"), [(0, 404), (1, 400)])
def test_a_request_line_has_a_longest_length(connect: Any, over: int, status: int) -> None:
    line = b"GET /static/ HTTP/1.1"
    line = line.replace(b"static/", b"static/" + b"x" * (LINE - len(line) + over))
    assert len(line) == LINE + over
    found, headers, body = answered(connect(line + b"\r\nHost: h\r\n\r\n"))
    assert found == status
    if status == 400:
        assert json.loads(body)["code"] == "unreadable"
        assert headers["Content-Type"] == "application/problem+json"
        assert headers["X-Content-Type-Options"] == "nosniff"
        assert headers["Referrer-Policy"] == "no-referrer"


@pytest.mark.parametrize(("over", "status"), [(0, 200), (1, 400)])
def test_a_header_has_a_longest_length(connect: Any, over: int, status: int) -> None:
    field = b"X-Long: "
    field += b"x" * (FIELD - len(field) + over)
    found, _, body = answered(connect(b"GET /healthz HTTP/1.1\r\nHost: h\r\n" + field + b"\r\n\r\n"))
    assert found == status, body


@pytest.mark.parametrize(("over", "status"), [(0, 200), (1, 400)])
def test_there_are_so_many_headers_and_no_more(connect: Any, over: int, status: int) -> None:
    fields = b"".join(b"X-%d: 1\r\n" % number for number in range(FIELDS - 1 + over))
    found, _, body = answered(connect(b"GET /healthz HTTP/1.1\r\nHost: h\r\n" + fields + b"\r\n"))
    assert found == status, body


@pytest.mark.parametrize("chunked", [False, True], ids=["sized", "chunked"])
@pytest.mark.parametrize(("over", "status"), [(0, 422), (1, 413)])
def test_a_body_has_a_largest_size(connect: Any, over: int, status: int, chunked: bool) -> None:
    body = json.dumps({"name": "x"}).encode()
    body = body.replace(b"x", b"x" * (BODY_LIMIT - len(body) + 1 + over))
    assert len(body) == BODY_LIMIT + over
    head = b"POST /v1/players HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    if chunked:
        sent = head + b"Transfer-Encoding: chunked\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    else:
        sent = head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)
    found, _, said = answered(connect(sent))
    assert found == status
    assert json.loads(said)["code"] == ("invalid-body" if status == 422 else "body-too-large")


@pytest.mark.parametrize("opening", [b"[", b'{"a":'], ids=["arrays", "objects"])
def test_the_deepest_nesting_that_fits_into_a_body_is_refused_and_harms_nobody(
    service: Served, connect: Any, ada: str, opening: bytes
) -> None:
    begun = b'{"options": {"a": '
    depth = (BODY_LIMIT - len(begun) - 10) // (len(opening) + 1)
    body = begun + opening * depth + (b"1" + b"}" * depth if b"{" in opening else b"]" * depth) + b"}}"
    head = b"POST /v1/games HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\n"
    head += b"Authorization: Bearer %s\r\n" % ada.encode()
    found, _, said = answered(connect(head + b"Content-Length: %d\r\n\r\n%s" % (len(body), body)))
    # As deep as the decoder goes: from Python 3.14 on what fits into a body is read, and refused for what it says.
    assert (found, json.loads(said)["code"]) in {(400, "malformed-json"), (422, "invalid-body")}
    well(service)


# -- how slow --------------------------------------------------------------------------------------------------------


def test_who_sends_headers_byte_by_byte_is_let_go_and_delays_nobody(service: Served, connect: Any) -> None:
    slow = [connect(b"GET /healthz HTTP/1.1\r\nHost: h\r\nX-Slow: ") for _ in range(100)]
    well(service)
    for connection in slow:
        assert until(lambda: cut(connection, b"x"))  # noqa: B023
    well(service)


def cut(connection: socket.socket, dripped: bytes) -> bool:
    """Has the service closed it? It goes on being sent to."""
    try:
        connection.sendall(dripped)
        connection.settimeout(0.05)
        return connection.recv(65_536) == b""
    except TimeoutError:
        return False
    except OSError:
        return True


def test_who_sends_a_body_byte_by_byte_is_told_and_let_go(service: Served, connect: Any) -> None:
    head = b"POST /v1/players HTTP/1.1\r\nHost: h\r\nContent-Type: application/json\r\nContent-Length: 60000\r\n\r\n{"
    slow = [connect(head) for _ in range(20)]
    well(service)
    for connection in slow:
        status, headers, body = answered(connection)
        assert (status, json.loads(body)["code"]) == (408, "too-slow")
        assert headers["Connection"] == "close"
        assert until(lambda: cut(connection, b" "))  # noqa: B023
    well(service)


def test_a_body_that_nobody_wants_is_not_waited_for_longer(service: Served, connect: Any) -> None:
    connection = connect(b"POST /v1/nowhere HTTP/1.1\r\nHost: h\r\nContent-Length: 1000000\r\n\r\nx")
    assert answered(connection)[0] == 404
    assert until(lambda: cut(connection, b" "))
    well(service)


def test_who_reads_nothing_is_let_go_and_what_waits_for_them_is_bounded(service: Served, connect: Any) -> None:
    """Of many answers asked for on one connection no more is made than the system holds for who does not read."""
    asked = b"GET /openapi.json HTTP/1.1\r\nHost: h\r\n\r\n"

    def made() -> float:
        told = httpx.get(f"{service.address}/metrics").text
        return sum(float(n) for n in re.findall(r'annals_requests_total{.*"/openapi.json".*} ([\d.e+]+)', told))

    before = made()
    deaf = [connect(asked * 400, buffer=4_096) for _ in range(5)]
    until(lambda: made() > before)
    well(service)
    seen: list[float] = []

    def still() -> bool:
        seen.append(made())
        return len(seen) > 50 and seen[-1] == seen[-50]  # nothing more is made for a second

    until(still)
    assert seen[-1] - before < 5 * 400
    until(lambda: not open_to(service, deaf))
    well(service)


def open_to(service: Served, connections: list[socket.socket]) -> set[int]:
    """The ports of those connections that the service's side still serves: they are ESTABLISHED for the kernel."""
    ours = {connection.getsockname()[1] for connection in connections}
    found = set()
    for line in Path("/proc/net/tcp").read_text().splitlines()[1:]:
        _, local, remote, state, *_ = line.split()
        if state == "01" and int(local.partition(":")[2], 16) == service.at[1]:
            found.add(int(remote.partition(":")[2], 16))
    return found & ours


# -- how many --------------------------------------------------------------------------------------------------------


def test_one_player_has_so_many_live_streams_open_at_once(service: Served, connect: Any, ada: str) -> None:
    asked = f"GET /v1/me/stream HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {ada}\r\n\r\n".encode()
    streams = [connect(asked) for _ in range(limits.STREAMS_PLAYER)]
    for stream in streams:
        assert b" 200 OK" in stream.recv(1_000)
    status, headers, body = answered(connect(asked))
    assert (status, json.loads(body)["code"]) == (429, "too-many-streams")
    assert headers["Retry-After"] == "10"
    well(service)
    streams[0].close()

    def again() -> bool:
        stream = connect(asked)
        if b" 200 OK" in stream.recv(1_000):
            return True
        stream.close()
        return False

    assert until(again)  # once a heartbeat found that nobody is there
