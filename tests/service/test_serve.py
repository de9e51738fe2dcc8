"""The real command: what it starts, serves, survives and stops. Every test but a few has a service of its own."""

import json
import os
import re
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from itertools import pairwise
from pathlib import Path
from typing import Any, TypeVar

import httpx
import pytest

from bench.processes import PROC, Process, started_for
from events.embedded import Embedded
from events.redis_client import connect
from service.running import serve

ROOT = Path(__file__).resolve().parents[2]
T = TypeVar("T")

pytestmark = pytest.mark.skipif(not PROC.is_dir(), reason="processes are found and counted through /proc")


def until(what: Callable[[], T], seconds: float = 60.0, why: str = "") -> T:
    """Wait until something is true, looking often."""
    deadline = time.monotonic() + seconds
    pause = threading.Event()
    while not (value := what()):
        assert time.monotonic() < deadline, why or "it did not happen"
        pause.wait(0.02)
    return value


class Service:
    """`annals serve` on a data directory."""

    def __init__(self, data: Path, *arguments: str, **environment: str) -> None:
        self.data = data
        self._command = [sys.executable, "-m", "service", "serve", "--port", "0", "--data", str(data), *arguments]
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "REDIS_URL"))}
        self._environment = clean | {"PYTHONPATH": str(ROOT), "ANNALS_BOT_PAUSE_MS": "20"}
        self._environment |= {"ANNALS_HEARTBEAT_S": "0.5"} | environment
        self.process: subprocess.Popen[bytes] | None = None
        self.url = ""

    def start(self) -> "Service":
        folder = self.data.parent
        with (folder / "said").open("w") as said, (folder / "log").open("a") as log:
            self.process = subprocess.Popen(
                self._command, env=self._environment, cwd=folder, stdout=said, stderr=log, start_new_session=True
            )
        until(lambda: "Ctrl-C" in self.said or self.process.poll() is not None, 60)  # type: ignore[union-attr]
        assert self.process.poll() is None, self.log()
        self.url = re.findall(r"http://127\.0\.0\.1:\d+", self.said)[0]
        return self

    @property
    def said(self) -> str:
        return (self.data.parent / "said").read_text()

    def log(self) -> str:
        return (self.data.parent / "log").read_text()[-3_000:]

    @property
    def pid(self) -> int:
        assert self.process is not None
        return self.process.pid

    def processes(self) -> list[Process]:
        """Everything that was started for this data directory, by whomever."""
        return started_for(self.data)

    def of(self, word: str) -> list[Process]:
        return [process for process in self.processes() if word in process.command]

    def workers(self) -> list[Process]:
        master = self.web_master()
        return [process for process in self.of("gunicorn") if process.parent == master.pid]

    def web_master(self) -> Process:
        return next(process for process in self.of("gunicorn") if process.parent == self.pid)

    def stop(self, number: int = signal.SIGTERM) -> tuple[int, float]:
        """(exit status, seconds it took)."""
        assert self.process is not None
        started = time.monotonic()
        self.process.send_signal(number)
        status = self.process.wait(30)
        return status, time.monotonic() - started

    def kill_all(self) -> None:
        """kill -9 of everything."""
        assert self.process is not None
        while left := self.processes():
            for process in left:
                with suppress(ProcessLookupError):
                    os.kill(process.pid, signal.SIGKILL)
            self.process.poll()

    def client(self) -> httpx.Client:
        return httpx.Client(base_url=self.url, timeout=httpx.Timeout(10, read=30))


@contextmanager
def serving(*arguments: str, **environment: str) -> Iterator[Service]:
    with tempfile.TemporaryDirectory(prefix="annals-") as folder:
        service = Service(Path(folder) / "data", *arguments, **environment)
        try:
            yield service.start()
        finally:
            service.kill_all()
            if service.process is not None:
                service.process.wait(60)


@pytest.fixture
def service() -> Iterator[Service]:
    with serving("--no-demo") as one:
        yield one


@pytest.fixture(scope="module")
def shown() -> Iterator[Service]:
    """One service with its demo for every test that only looks on or plays."""
    with serving() as one:
        until(lambda: httpx.get(f"{one.url}/v1/games?status=playing").json()["games"], why="no demo")
        yield one


@dataclass
class Player:
    """Plays one table to its end, through everything that happens to the service; remembers what it was told."""

    service: Service
    token: str = ""
    game: str = ""
    acknowledged: list[tuple[int, str]] = field(default_factory=list)
    refused: list[int] = field(default_factory=list)
    accepted: int = 0
    seats: int = 2

    def call(self, method: str, path: str, **rest: Any) -> httpx.Response:
        """Sent again with the same key for as long as there is no answer."""
        key = f"{path}-{len(self.acknowledged)}-{time.monotonic_ns()}"
        headers = {"Authorization": f"Bearer {self.token}", "Idempotency-Key": key} if self.token else {}

        def once() -> httpx.Response | None:
            try:
                response = httpx.request(method, self.service.url + path, headers=headers, timeout=30, **rest)
            except httpx.TransportError:
                return None
            return None if response.status_code == 503 else response

        return until(once, 60, f"no answer to {method} {path}: {self.service.log()}")

    def sits_down(self, seats: int = 2) -> "Player":
        self.seats = seats
        self.token = self.token or self.call("POST", "/v1/players", json={"name": "Ada"}).json()["token"]
        made = self.call("POST", "/v1/games", json={"ruleset": "donjon@1", "seats": seats})
        self.game = made.json()["links"]["self"]
        for _ in range(seats - 1):
            assert self.call("POST", f"{self.game}/seats", json={"bot": "delver"}).status_code == 201
        assert self.call("POST", f"{self.game}/start").status_code == 200
        return self

    def acts(self) -> bool:
        """One action, when it is our turn; False: the game is over."""
        shown = self.call("GET", self.game).json()
        if shown["status"] != "playing":
            return False
        if 1 not in shown["to_act"]:
            until(lambda: 1 in (now := self.call("GET", self.game).json())["to_act"] or now["status"] != "playing")
            return True
        legal = self.call("GET", f"{self.game}/actions").json()
        body = {"action": legal["actions"][-1]["action"], "expected_version": legal["version"]}
        done = self.call("POST", f"{self.game}/actions", json=body)
        if done.status_code == 201:
            self.acknowledged.append((done.json()["seq"], done.json()["hash"]))
            self.accepted += 1
        else:
            self.refused.append(done.status_code)
        return True

    def acts_until(self, count: int) -> None:
        """So many actions, at another table when the game is over."""
        target = self.accepted + count
        while self.accepted < target:
            if not self.acts():
                self.check()
                self.acknowledged = []
                self.sits_down(self.seats)

    def check(self) -> None:
        """Whatever was acknowledged is there, in a dense chain that folds exactly."""
        shown = self.call("GET", self.game).json()
        events: list[dict[str, Any]] = []
        while len(events) < shown["version"]:
            events += self.call("GET", f"{self.game}/events?after={len(events)}&limit=500").json()["events"]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert all(after["prev"] == before["hash"] for before, after in pairwise(events))
        stored = {event["seq"]: event["hash"] for event in events}
        assert [(seq, stored.get(seq)) for seq, _ in self.acknowledged] == self.acknowledged
        assert shown["grade"] == "EXACT"
        assert set(self.refused) <= {409, 412}, "at most: the turn was over meanwhile"


# -- starting and stopping ---------------------------------------------------------------------------------------------


def test_it_says_what_to_open_and_three_curl_lines_that_work(shown: Service) -> None:
    said = shown.said
    for page in ("/docs", "/v1/games"):
        assert f"{shown.url}{page}" in said
        assert httpx.get(shown.url + page).status_code == 200
    lines = [line.partition("curl ")[2] for line in said.splitlines() if "curl " in line]
    assert len(lines) == 3
    if shutil.which("curl") is None:
        pytest.skip("there is no curl on this machine")
    for line in lines:
        done = subprocess.run(
            ["curl", "-sS", "--fail", *shlex.split(line)], capture_output=True, text=True, timeout=30, check=False
        )
        assert done.returncode == 0, done.stderr
        json.loads(done.stdout)


def test_ctrl_c_stops_everything_within_seconds_and_leaves_nothing(service: Service) -> None:
    player = Player(service).sits_down()
    with (
        service.client() as http,
        http.stream("GET", f"{player.game}/events", headers={"Accept": "text/event-stream"}) as stream,
    ):
        lines = stream.iter_lines()
        next(lines)
        assert http.get("/healthz").status_code == 200  # on a connection that is kept alive
        assert len(service.processes()) >= 5, "supervisor, web server, two workers, clerk, database"
        status, seconds = service.stop(signal.SIGINT)
        assert "event: end" not in list(lines), "it ends whole all the same, else this raises"
    assert status == 0, service.log()
    assert seconds < 30
    assert service.processes() == []
    assert '"level":"error"' not in service.log()


def test_data_is_found_again_after_a_restart(service: Service) -> None:
    player = Player(service).sits_down()
    player.acts_until(5)
    status, _ = service.stop(signal.SIGTERM)
    assert status == 0, service.log()
    assert service.processes() == []
    service.start()
    player.acts_until(5)
    player.check()
    names = {seat["name"] for seat in player.call("GET", player.game).json()["seats"]}
    assert "Ada" in names


def test_a_port_that_is_busy_for_a_moment_is_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    busy = threading.Event()
    monkeypatch.setattr(serve, "_tell", lambda text: busy.set())
    ports: list[int] = []

    def listen(port: int) -> None:
        with serve._listen("127.0.0.1", port) as listener:
            ports.append(listener.getsockname()[1])

    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        thread = threading.Thread(target=listen, args=(port,))
        thread.start()
        assert busy.wait(60)
    thread.join(20)
    assert ports == [port]


def test_a_port_that_is_taken_is_said_plainly(service: Service, tmp_path: Path) -> None:
    port = service.url.rpartition(":")[2]
    command = [sys.executable, "-m", "service", "serve", "--port", port, "--data", str(tmp_path / "other")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert f"port {port}" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.parametrize(
    "sent",
    [
        b"GET / HTTP/9.9\r\n\r\n",
        b"nonsense\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\nAuthorization : Bearer annals_secret\r\n\r\n",
        b"GET /" + b"x" * 10_000 + b" HTTP/1.1\r\nHost: x\r\n\r\n",
        b"GET / HTTP/1.1\r\nHost: x\r\n" + b"A: b\r\n" * 500 + b"\r\n",
        b"POST /v1/games HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: zip\r\n\r\n",
        b"POST /v1/players HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n{}\r\n",
        b"POST /v1/players HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n9\r\n{}",
        b"POST /v1/players HTTP/1.1\r\nHost: x\r\nContent-Type: application/json\r\nContent-Length: 20\r\n\r\n"
        b'{"name": "Ada"}',
    ],
    ids=[
        "a version", "no request", "a space in a header's name", "a long line", "many headers", "a coding",
        "chunks that are none", "a chunk that is cut off", "a body that is cut off where it could end",
    ],
)  # fmt: skip
def test_what_is_no_request_is_refused_as_all_else_is(shown: Service, sent: bytes) -> None:
    host, _, port = shown.url.removeprefix("http://").partition(":")
    with socket.create_connection((host, int(port)), timeout=10) as connection:
        connection.sendall(sent)
        connection.shutdown(socket.SHUT_WR)
        answer = b""
        while part := connection.recv(65_536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert head.startswith(b"HTTP/1.1 400 ")
    assert b"application/problem+json" in head
    assert json.loads(body)["code"] == "unreadable"
    log = (shown.data.parent / "log").read_text()
    assert "annals_secret" not in log
    assert "unforeseen" not in log


def test_a_setting_that_cannot_be_is_said_plainly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service", "serve", "--port", "0", "--data", str(tmp_path / "d")]
    environment = os.environ | {"ANNALS_WORKERS": "many"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "ANNALS_WORKERS" in done.stderr
    assert "Traceback" not in done.stderr


def test_it_serves_from_a_server_that_redis_url_names_and_leaves_that_running() -> None:
    with tempfile.TemporaryDirectory(prefix="annals-") as folder, Embedded(Path(folder)) as server:
        with serving("--no-demo", REDIS_URL=server.url) as one:
            player = Player(one).sits_down()
            player.acts_until(5)
            player.check()
            assert one.of("redis.sock") == []
            assert one.stop(signal.SIGTERM)[0] == 0, one.log()
            assert one.processes() == []
        client = connect(server.url)
        assert client.ping()
        client.close()


def test_a_database_that_cannot_be_is_said_plainly(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service", "serve", "--port", "0", "--data", str(tmp_path / "d")]
    environment = os.environ | {"REDIS_URL": "mysql://somewhere"}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert done.stderr.startswith("annals: ")
    assert "Traceback" not in done.stderr


def test_an_ephemeral_service_plays_and_leaves_nothing_behind() -> None:
    with serving("--ephemeral") as one:
        player = Player(one).sits_down()
        player.acts_until(5)
        player.check()
        assert len(one.processes()) == 1
        until(lambda: httpx.get(f"{one.url}/v1/library").json()["positions"], why="no demo")
        assert messages(one, player.game, 0, lambda got: len(got) >= 5)
        status, seconds = one.stop(signal.SIGINT)
        assert status == 0, one.log()
        assert seconds < 30
        assert not one.data.exists()


# -- kill -9 -----------------------------------------------------------------------------------------------------------


def messages(
    service: Service, game: str, after: int, enough: Callable[[list[int]], bool], token: str = ""
) -> list[int]:
    """The ids of a live stream, resumed whenever it breaks, until there are enough of them or it ends."""
    got: list[int] = []
    deadline = time.monotonic() + 60
    while not enough(got) and time.monotonic() < deadline:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(got[-1] if got else after)}
        try:
            with httpx.stream("GET", service.url + game + "/events", headers=headers, timeout=20) as stream:
                for line in stream.iter_lines():
                    if line.startswith("id: "):
                        got.append(int(line[4:]))
                    if line == "event: end" or enough(got):
                        return got
        except httpx.TransportError:
            threading.Event().wait(0.05)
    return got


def test_killing_a_worker_loses_no_event_and_no_watcher_misses_one(service: Service) -> None:
    player = Player(service).sits_down()
    got: list[int] = []
    watcher = threading.Thread(
        target=lambda: got.extend(messages(service, player.game, 0, lambda ids: len(ids) >= 40)), daemon=True
    )
    watcher.start()
    player.acts_until(5)
    for worker in service.workers():
        os.kill(worker.pid, signal.SIGKILL)
        player.acts_until(5)
    player.acts_until(20)
    watcher.join(60)
    assert got == list(range(1, len(got) + 1))
    assert len(got) >= 40
    player.check()
    until(lambda: len(service.workers()) == 2, why="the workers are not back")


def test_killing_the_web_server_and_the_clerk_is_mended(service: Service) -> None:
    player = Player(service).sits_down()
    player.acts_until(3)
    os.kill(service.web_master().pid, signal.SIGKILL)
    os.kill(service.of("service clerk")[0].pid, signal.SIGKILL)
    player.acts_until(20)
    player.check()


def test_killing_the_database_in_the_middle_of_a_game_loses_nothing_acknowledged(service: Service) -> None:
    player = Player(service).sits_down(seats=3)
    for _ in range(3):
        player.acts_until(10)
        (database,) = service.of("redis.sock")
        os.kill(database.pid, signal.SIGKILL)
    player.acts_until(10)
    player.check()


def test_killing_everything_in_the_middle_of_a_game_loses_nothing_acknowledged(service: Service) -> None:
    player = Player(service).sits_down(seats=3)
    player.acts_until(15)
    service.kill_all()
    assert service.process is not None
    service.process.wait(60)
    service.start()
    player.acts_until(15)
    player.check()
    assert httpx.get(f"{service.url}/readyz").json()["ready"]


def test_bots_go_on_among_themselves_after_everything_was_killed(service: Service) -> None:
    player = Player(service)
    player.token = player.call("POST", "/v1/players", json={"name": "Ada"}).json()["token"]
    body = {"ruleset": "donjon@1", "seats": 2, "sit": False}
    player.game = player.call("POST", "/v1/games", json=body).json()["links"]["self"]
    for _ in range(2):
        player.call("POST", f"{player.game}/seats", json={"bot": "delver"})
    player.call("POST", f"{player.game}/start")
    until(lambda: player.call("GET", player.game).json()["version"] >= 10)
    service.kill_all()
    assert service.process is not None
    service.process.wait(60)
    service.start()
    before = player.call("GET", player.game).json()["version"]

    def went_on() -> bool:
        game = player.call("GET", player.game).json()
        return game["version"] >= before + 10 or game["status"] == "finished"  # bots may kill the dragon early

    until(went_on)
    player.check()


def test_the_log_of_games_goes_on_after_everything_was_killed(service: Service, tmp_path: Path) -> None:
    def logged(player: Player) -> bool:
        return httpx.get(f"{service.url}{player.game}/proofs/open").status_code == 200

    def watched() -> str:
        """What a monitor that remembers says of the log."""
        command = [sys.executable, "-m", "service", "monitor", service.url, "--memory", str(tmp_path / "memory.json")]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    for _ in range(2):
        player = Player(service).sits_down()
        until(lambda player=player: logged(player))
        said = watched()
        service.kill_all()
        assert service.process is not None
        service.process.wait(60)
        service.start()
        assert logged(player)
        assert watched().splitlines()[-1] == said.splitlines()[-1]


def test_when_the_supervisor_alone_is_killed_its_children_follow(service: Service) -> None:
    player = Player(service).sits_down()
    player.acts_until(3)
    os.kill(service.pid, signal.SIGKILL)
    assert service.process is not None
    service.process.wait(60)
    until(lambda: [one for one in service.processes() if "redis.sock" not in one.command] == [], why="orphans")
    service.start()  # adopts the database that was left
    player.acts_until(3)
    player.check()
    status, _ = service.stop(signal.SIGINT)
    assert status == 0
    assert service.processes() == []


# -- clients -----------------------------------------------------------------------------------------------------------


def test_the_bot_of_sixty_lines_plays_a_whole_game(shown: Service) -> None:
    source = ROOT / "docs" / "bot.py"
    assert len(source.read_text().splitlines()) <= 60
    command = [sys.executable, str(source), shown.url, "--new", "donjon@1"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=240, check=False)
    assert done.returncode == 0, done.stderr
    game, _, outcome = done.stdout.partition(" ")
    assert json.loads(outcome)["ending"] in ("dragon", "exhaustion", "stalemate")
    assert httpx.get(f"{shown.url}/v1/games/{game}").json()["grade"] == "EXACT"


def test_the_live_demo_game_moves(shown: Service) -> None:
    playing = f"{shown.url}/v1/games?status=playing"  # for a moment none is, when one is over and the next not begun
    game = until(lambda: httpx.get(playing).json()["games"], why="no live game")[0]["links"]["self"]
    version = httpx.get(shown.url + game).json()["version"]
    got = messages(shown, game, version, lambda ids: len(ids) >= 3)
    assert got[:3] == [version + 1, version + 2, version + 3] or got == []


def gauge(service: Service, name: str) -> float:
    text = httpx.get(f"{service.url}/metrics").text
    return sum(float(line.rpartition(" ")[2]) for line in text.splitlines() if line.startswith(name))


def test_a_watcher_that_is_gone_is_let_go(shown: Service) -> None:
    player = Player(shown)
    player.token = player.call("POST", "/v1/players", json={"name": "Ada"}).json()["token"]
    game = player.call("POST", "/v1/games", json={"ruleset": "donjon@1", "seats": 2}).json()["links"]["self"]
    until(lambda: gauge(shown, "annals_watchers") == 0)
    kept: list[Iterator[str]] = []
    with shown.client() as http, ExitStack() as streams:
        for _ in range(10):
            asked = http.stream("GET", f"{game}/events", headers={"Accept": "text/event-stream"})
            opened = streams.enter_context(asked)
            assert opened.headers["Content-Type"].startswith("text/event-stream")
            assert opened.headers["Cache-Control"] == "no-store"
            assert opened.headers["X-Accel-Buffering"] == "no"
            kept.append(opened.iter_lines())  # an iterator that is dropped closes its stream
            next(kept[-1])
        until(lambda: gauge(shown, "annals_watchers") == 10)
    until(lambda: gauge(shown, "annals_watchers") == 0)


def unchunked(body: bytes) -> bytes:
    """What a body in chunks says, which must be whole, and followed by nothing."""
    said = b""
    while True:
        size, _, body = body.partition(b"\r\n")
        chunk, end, body = body[: int(size, 16)], body[int(size, 16) :][:2], body[int(size, 16) + 2 :]
        assert end == b"\r\n"
        if not chunk:
            assert body == b""
            return said
        said += chunk


@pytest.mark.parametrize("version", ["1.1", "1.0"])
def test_a_live_stream_is_whole_to_its_end_and_ends_with_its_connection(shown: Service, version: str) -> None:
    player = Player(shown).sits_down()
    host, _, port = shown.url.removeprefix("http://").partition(":")
    asked = f"GET {player.game}/events HTTP/{version}\r\nHost: x\r\nAccept: text/event-stream\r\n\r\n"
    with socket.create_connection((host, int(port)), timeout=30) as connection:
        connection.sendall(asked.encode())
        answer = b""
        while b"id: 5\n" not in answer:  # from here on they come as they happen
            answer += connection.recv(65_536)
        player.acts_until(1)
        player.call("POST", f"{player.game}/seats/1/resign")
        while part := connection.recv(65_536):
            answer += part
    head, _, body = answer.partition(b"\r\n\r\n")
    assert b"\r\nConnection: close\r\n" in head + b"\r\n"
    said = (unchunked(body) if version == "1.1" else body).decode()
    events = player.call("GET", player.game).json()["version"]
    assert re.findall("^id: ([0-9]+)$", said, re.MULTILINE) == [str(number + 1) for number in range(events)]
    assert said.startswith("retry: ")
    assert said.split("\n\n")[-2].startswith("event: end\n")


def test_a_player_hears_of_their_turn_on_a_stream_of_their_own(shown: Service) -> None:
    player = Player(shown)
    player.token = player.call("POST", "/v1/players", json={"name": "Ada"}).json()["token"]
    heard: list[str] = []

    def listen() -> None:
        headers = {"Authorization": f"Bearer {player.token}", "Accept": "text/event-stream"}
        with httpx.stream("GET", f"{shown.url}/v1/me/stream", headers=headers, timeout=20) as stream:
            for line in stream.iter_lines():
                if line.startswith("event: "):
                    heard.append(line[7:])
                if line == "event: finished":
                    return

    thread = threading.Thread(target=listen, daemon=True)
    thread.start()
    until(lambda: gauge(shown, "annals_watchers") >= 1)
    player.sits_down()
    until(lambda: "your-turn" in heard)
    player.acts_until(1)
    player.call("POST", f"{player.game}/seats/1/resign")
    thread.join(20)
    assert heard[0] == "started"
    assert heard[-1] == "finished"
    assert set(heard) == {"started", "your-turn", "finished"}


def test_metrics_are_those_of_all_processes(shown: Service) -> None:
    def count(text: str) -> float:
        return sum(
            float(line.rpartition(" ")[2])
            for line in text.splitlines()
            if line.startswith("annals_requests_total") and 'route="/healthz"' in line
        )

    before = count(httpx.get(f"{shown.url}/metrics").text)
    for _ in range(20):  # each on a connection of its own, so that both workers get some
        httpx.get(f"{shown.url}/healthz")
    assert count(httpx.get(f"{shown.url}/metrics").text) == before + 20
    assert "annals_bot_actions_total" in httpx.get(f"{shown.url}/metrics").text, "counted by the clerk's process"


def annals(service: Service, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "REDIS_URL"))}
    environment |= {"PYTHONPATH": str(ROOT), "ANNALS_DATA": str(service.data)}
    command = [sys.executable, "-m", "service", *arguments]
    return subprocess.run(
        command, env=environment, cwd=service.data.parent, capture_output=True, text=True, timeout=120, check=False
    )


def test_commands_work_beside_the_service(shown: Service) -> None:
    player = httpx.post(f"{shown.url}/v1/players", json={"name": "Audrey"}).json()
    granted = annals(shown, "grant", player["player_id"], "auditor")
    assert granted.returncode == 0, granted.stderr
    me = httpx.get(f"{shown.url}/v1/me", headers={"Authorization": f"Bearer {player['token']}"}).json()
    assert me["roles"] == ["auditor"]
    assert annals(shown, "grant", "00" * 16, "auditor").returncode == 1
    keys = annals(shown, "keys")
    assert "current" in keys.stdout
    assert re.search(r"[0-9a-f]{64}", keys.stdout) is None, "no key's bytes"
    reindexed = annals(shown, "reindex")
    assert re.search(r"\d+ games", reindexed.stdout), reindexed.stderr
    assert httpx.get(f"{shown.url}/v1/games?status=finished").json()["games"]
    game = httpx.get(f"{shown.url}/v1/games?status=finished").json()["games"][0]
    exported = annals(shown, "export-events", game["game_id"], "-o", "game.annals")
    assert exported.returncode == 0, exported.stderr
    from_file, from_log = (
        annals(shown, "replay", "game.annals"),
        annals(shown, "replay", shown.url + game["links"]["self"]),
    )
    assert (from_file.returncode, from_log.returncode) == (0, 0), from_file.stderr + from_log.stderr
    lines = [one.stdout.splitlines() for one in (from_file, from_log)]
    different = [pair for pair in zip(*lines, strict=True) if pair[0] != pair[1]]
    assert all("takes seat" in line for pair in different for line in pair), "names are beside the log, not in the file"
    assert len(from_file.stdout.splitlines()) > game["version"]
    validated = annals(shown, "validate", "--quiet")
    assert validated.returncode == 0, validated.stdout + validated.stderr
    assert "EXACT" in validated.stdout
    kept = annals(shown, "void", "key-lost")
    assert (kept.returncode, kept.stdout) == (0, "0 games closed\n"), kept.stderr
    bearer = {"Authorization": f"Bearer {player['token']}"}
    table = httpx.post(f"{shown.url}/v1/games", json={"ruleset": "donjon@1", "seats": 2}, headers=bearer).json()
    void = annals(shown, "void", "restored", table["game_id"])
    assert void.stdout == f"{table['game_id']}  void, restored\n1 games closed\n", void.stderr
    assert httpx.get(shown.url + table["links"]["self"]).json()["status"] == "void"
    assert httpx.get(f"{shown.url}/readyz").status_code == 200, "the database is still there"


def test_a_person_plays_a_whole_game_in_the_terminal(shown: Service) -> None:
    command = [sys.executable, "-m", "service", "play", "--server", shown.url, "--new", "donjon", "--name", "Ada"]
    command += ["--bots", "--lang", "fr"]
    done = subprocess.run(
        command, cwd=ROOT, input="1\n" * 5_000, capture_output=True, text=True, timeout=240, check=False
    )
    assert done.returncode == 0, done.stderr
    assert "won by seat" in done.stdout
    numbers = [int(found) for found in re.findall(r"^ *(\d+)  .*$", done.stdout, re.MULTILINE)]
    assert max(numbers) > 50, "it told what the others did"


def test_a_command_without_data_says_so_and_makes_none(tmp_path: Path) -> None:
    command = [sys.executable, "-m", "service", "validate", "--data", str(tmp_path / "none")]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 1
    assert "no data" in done.stderr
    assert not (tmp_path / "none").exists()
