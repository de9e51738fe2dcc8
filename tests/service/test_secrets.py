"""Recognisable secrets go through every path of a real service, errors too: none is found where it must not be."""

import io
import os
import signal
import socket
import subprocess
import tempfile
import threading
import time
import traceback
import zipfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
import redis
from click.testing import CliRunner

from bench.servers import Served, served
from events.embedded import find_server
from events.notes import Signer
from service import cli

MASTER = "5ec2e7" + "a9" * 29
LOG = Signer.of("play.example/log", b"\x5e" * 32)
RECEIPTS = Signer.of("play.example/log/receipts", b"\x5f" * 32)
PASSWORD = "Passw0rd-of-the-database"
PHRASE = "correct horse battery staple and eight more words"
TEXT = "A text of a dispute, said in confidence"
NAME = "Name Recognisable"
PLACES = ("log", "answers", "database", "files of the database", "bundle", "exports", "command lines")

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are looked at through /proc")


def until(told: Callable[[], Any], seconds: float = 60) -> Any:
    deadline, pause = time.monotonic() + seconds, threading.Event()
    while not (found := told()):
        assert time.monotonic() < deadline, "it did not happen"
        pause.wait(0.05)
    return found


class Planted:
    """What was said where, and the secrets that were planted, each with the places where it may stand."""

    def __init__(self) -> None:
        self.found: dict[str, bytes] = dict.fromkeys(PLACES, b"")
        self.secrets: dict[str, tuple[str, tuple[str, ...]]] = {
            "master key": (MASTER, ()),
            "log key": (LOG.skey.rpartition("+")[2], ()),
            "receipts key": (RECEIPTS.skey.rpartition("+")[2], ()),
            "password": (PASSWORD, ()),
            "phrase": (PHRASE, ()),
            "erased text": (TEXT, ("files of the database",)),  # until the server writes its file anew
            "name": (NAME, ("answers", "database", "files of the database")),
        }

    def add(self, place: str, data: bytes) -> None:
        self.found[place] += data + b"\n"


def everything_in(client: redis.Redis) -> bytes:
    read: dict[bytes, Callable[[bytes], Any]] = {
        b"string": client.get,
        b"hash": client.hgetall,
        b"set": client.smembers,
        b"zset": lambda name: client.zrange(name, 0, -1),
        b"stream": client.xrange,
        b"list": lambda name: client.lrange(name, 0, -1),
    }
    return b"\n".join(name + repr(read[client.type(name)](name)).encode() for name in client.scan_iter())


@pytest.fixture(scope="module")
def planted() -> Iterator[Planted]:
    with tempfile.TemporaryDirectory(prefix="annals-") as folder:
        place = Path(folder)
        path = place / "redis.sock"
        command = [str(find_server()), "--port", "0", "--unixsocket", str(path), "--dir", folder, "--appendonly", "yes"]
        database = subprocess.Popen([*command, "--requirepass", PASSWORD], stdout=subprocess.DEVNULL)
        try:
            until(path.exists)
            settings = {
                "REDIS_URL": f"unix://someone:{PASSWORD}@{path}".replace("someone", ""),
                "ANNALS_KEYS": f"test={MASTER}",
                "ANNALS_LOG_KEY": LOG.skey,
                "ANNALS_RECEIPTS_KEY": RECEIPTS.skey,
                "ANNALS_DEMO": "no",
                "ANNALS_DURABILITY": "none",
                "ANNALS_LOG_LEVEL": "debug",
                "ANNALS_LOG_DIR": str(place / "tree"),
                "ANNALS_HEARTBEAT_S": "0.3",
            }
            told = Planted()
            client = redis.Redis(unix_socket_path=str(path), password=PASSWORD)
            (place / "service").mkdir()
            with served(place / "service", "--workers", "1", **settings) as service:
                until(lambda: httpx.get(f"{service.address}/readyz").status_code == 200)
                game = play(told, service, client)
                export(told, settings, game, place)
                told.add("database", everything_in(client))
                told.add("command lines", command_lines())
                break_everything(told, service, client, database)
            told.add("log", service.log.read_bytes())
            told.add("files of the database", b"".join(one.read_bytes() for one in place.rglob("*.aof")))
            yield told
        finally:
            database.kill()
            database.wait()


def play(told: Planted, service: Served, client: redis.Redis) -> str:
    """A whole game, with everything sent wrongly that can be; its path."""
    with httpx.Client(base_url=service.address, timeout=30) as http:
        return played(told, service, client, http)


def played(told: Planted, service: Served, client: redis.Redis, http: httpx.Client) -> str:
    def call(method: str, path: str, **more: Any) -> httpx.Response:
        answer = http.request(method, path, **more)
        told.add("answers", repr(answer.headers).encode() + answer.content)
        return answer

    def person(path: str = "/v1/players", name: str = NAME) -> Any:  # the one answer that shows the token
        return http.post(path, json={"name": name})

    ada = person().json()
    token = ada["token"]
    told.secrets["token"] = (token, ())
    cookie = person("/session", "Bob").cookies["annals"]
    told.secrets["cookie"] = (cookie, ())
    http.cookies.clear()
    auth = {"Authorization": f"Bearer {token}"}
    second = http.post("/v1/me/tokens", headers=auth).json()
    told.secrets["second token"] = (second["token"], ())
    game = call("POST", "/v1/games", headers=auth, json={
        "ruleset": "donjon@1", "seats": 2, "options": {"stalemate_rounds": 1}
    }).json()["links"]["self"]  # fmt: skip
    call("POST", f"{game}/seats", headers=auth, json={})
    call("POST", f"{game}/start", headers=auth)
    while (shown := call("GET", game, headers=auth).json())["status"] == "playing":
        body = {"action": {"type": "end-turn"}, "expected_version": shown["version"]}
        assert call("POST", f"{game}/actions", headers=auth, json=body).status_code == 201
    made = http.post(f"{game}/disputes", headers=auth, json={"event": 5, "text": TEXT})  # who says it is shown it
    case = f"/v1/cases/{made.json()['case_id']}"
    call("GET", case)  # strangers are not shown what was said
    assert http.get(case, headers=auth).json()["statements"][0]["text"] == TEXT
    assert call("DELETE", f"{case}/texts/2", headers=auth).status_code == 200
    call("GET", case, headers=auth)
    # sent wrongly: in addresses, queries, headers and bodies of every kind. (An answer names a member that it refuses.)
    for path in (
        f"/v1/games?token={token}", f"/v1/games/{token}", f"/static/{token}", f"/static/{cookie}/x", f"/rules/{token}",
        f"/problems/{token}", f"/{token}", f"/games/{token}", f"{game}?lang={token}", f"{game}/replay?at={PHRASE}",
    ):  # fmt: skip
        call("GET", path, headers=auth)
        call("GET", path, headers={"Accept": "text/html"})
    for header in (f"Basic {token}", f"bearer  {token} x", token, f"Bearer {token}{token}"):
        call("GET", "/v1/me", headers={"Authorization": header})
    call("GET", "/v1/games", headers={"Cookie": f"annals={cookie}; other={token}"})
    call("POST", "/v1/games", headers={"Cookie": f"annals={cookie}", "X-CSRF-Token": token}, json={})
    for name in ("If-Match", "Idempotency-Key", "Last-Event-ID", "If-None-Match", "Accept-Language", "X-Forwarded-For"):
        call("POST", f"{game}/actions", headers=auth | {name: f'"{token} {PHRASE}"'}, json={"action": {"type": "x"}})
        call("GET", f"{game}/events", headers=auth | {name: f"{token} {PHRASE}"})
    bodies = (
        {"name": NAME, "phrase": PHRASE}, {"name": [PHRASE]}, {"token": token}, {"name": {token: PHRASE}}, [PHRASE],
        {"action": {"type": PHRASE}, "expected_version": 1}, {"action": {"type": "move", "to": PHRASE}},
        {"ruleset": token, "seats": 2}, {"ruleset": "donjon@1", "seats": 2, "hero": PHRASE, "options": {"a": token}},
        {"signed": token, "signature": PHRASE}, {"event": 5, "text": [TEXT]}, {"event": PHRASE, "text": "x"},
    )  # fmt: skip
    paths = ("/v1/players", "/session", "/v1/games", f"{game}/actions", f"{game}/seats", f"{game}/disputes")
    for path in (*paths, f"{case}/answers", f"{case}/ruling"):
        for body in bodies:
            answer = http.post(path, headers=auth, json=body)
            if answer.status_code != 201:
                told.add("answers", repr(answer.headers).encode() + answer.content)
        for kind, wrong in (("application/json", f'{{"phrase": "{PHRASE}", "{token}": {token}'), ("text/plain", token)):
            call("POST", path, headers=auth | {"Content-Type": kind}, content=wrong.encode())
    call("POST", "/v1/audits", files={"bundle": (token, PHRASE.encode()), "policy": token.encode()})
    for raw in (
        f"GET /{token} HTTP/9.9\r\n\r\n", f"{token}\r\n\r\n", f"GET / HTTP/1.1\r\n{token}\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {token}\r\nContent-Length: {PHRASE}\r\n\r\n",
        f"GET / HTTP/1.1\r\nHost: h\r\nX: {token * 300}\r\n\r\n",
    ):  # fmt: skip
        with socket.create_connection(service.at, timeout=30) as connection:
            connection.sendall(raw.encode())
            told.add("answers", connection.recv(65_536))
    # a value of another kind under a key: what nobody foresaw, with a traceback in the log
    eve = person(name="Eve").json()
    client.delete(f"{{s{eve['player_id'][0]}}}:player:{eve['player_id']}")
    client.set(f"{{s{eve['player_id'][0]}}}:player:{eve['player_id']}", "x")
    failed = call("GET", "/v1/me", headers={"Authorization": f"Bearer {eve['token']}"})
    assert (failed.status_code, failed.json()["code"]) == (500, "internal")
    told.secrets["token of who met a failure"] = (eve["token"], ())
    bundle = zipfile.ZipFile(io.BytesIO(http.get(f"{game}/bundle").content))
    told.add("bundle", b"".join(bundle.read(name) for name in bundle.namelist()))
    assert call("DELETE", f"/v1/me/tokens/{second['token_id']}", headers=auth).status_code == 204
    return str(game).rpartition("/")[2]


def command(told: Planted, settings: dict[str, str], *arguments: str) -> int:
    """A command of the operator's, in this process; what it says is a log."""
    clean: dict[str, str | None] = {name: None for name in os.environ if name.startswith(("ANNALS_", "REDIS_URL"))}
    done = CliRunner().invoke(cli.main, arguments, env=clean | settings)
    told.add("log", done.output.encode() + "".join(traceback.format_exception(done.exception)).encode())
    return done.exit_code


def export(told: Planted, settings: dict[str, str], game: str, place: Path) -> None:
    (place / "exported").mkdir()
    assert command(told, settings, "export", game, "-o", str(place / "exported" / "x.zip")) == 0
    assert command(told, settings, "export-events", game, "-o", str(place / "exported" / "x.annals")) == 0
    bundle = zipfile.ZipFile(place / "exported" / "x.zip")
    told.add("exports", b"".join(bundle.read(name) for name in bundle.namelist()))
    told.add("exports", (place / "exported" / "x.annals").read_bytes())
    assert command(told, settings, "keys") == 0
    for change in (
        {"ANNALS_KEYS": MASTER}, {"ANNALS_KEYS": f"a={MASTER}00"}, {"ANNALS_KEYS": f"a={MASTER},a={MASTER}"},
        {"ANNALS_LOG_KEY": LOG.skey[:-1]}, {"ANNALS_RECEIPTS_KEY": RECEIPTS.skey + "x"},
        {"ANNALS_RECEIPTS_KEY": LOG.skey}, {"REDIS_URL": f"http://u:{PASSWORD}@127.0.0.1/"},
        {"REDIS_URL": f"redis://:{PASSWORD}@127.0.0.1:1/0"}, {"REDIS_URL": f"redis://u:{PASSWORD}@127.0.0.1:x/0"},
        {"REDIS_URL": settings["REDIS_URL"].replace(PASSWORD, f"{PASSWORD}-not")}, {"REDIS_URL": PASSWORD},
        {"REDIS_URL": f"redis+cluster://u:{PASSWORD}@127.0.0.1:1"},
        {"REDIS_URL": f"redis+sentinel://u:{PASSWORD}@127.0.0.1:1/main"},
    ):  # fmt: skip
        assert command(told, settings | change, "validate") != 0 or "KEY" in next(iter(change))


def command_lines() -> bytes:
    """What everybody on the machine may read of our processes; the database's own is the test's."""
    lines = []
    for process in Path("/proc").glob("[0-9]*/cmdline"):
        with suppress(OSError):
            lines.append(process.read_bytes())
    return b"\n".join(line for line in lines if b"service" in line and b"requirepass" not in line)


def break_everything(told: Planted, service: Served, client: redis.Redis, database: "subprocess.Popen[bytes]") -> None:
    """The database hangs up, and everything is asked once more."""
    client.close()
    database.send_signal(signal.SIGKILL)
    database.wait()
    token = told.secrets["token"][0]
    for path in ("/readyz", "/v1/me", "/v1/games", "/"):
        answer = httpx.get(service.address + path, headers={"Authorization": f"Bearer {token}"}, timeout=60)
        assert answer.status_code in (200, 503), path
        told.add("answers", answer.content)
    answer = httpx.post(f"{service.address}/v1/players", json={"name": NAME}, timeout=60)
    assert answer.status_code == 503
    told.add("answers", answer.content)


@pytest.mark.parametrize("place", PLACES)
def test_no_secret_is_found(planted: Planted, place: str) -> None:
    data = planted.found[place]
    assert len(data) > 100
    leaked = {
        what: data[max(0, data.index(secret.encode()) - 200) :][:400]
        for what, (secret, allowed) in planted.secrets.items()
        if place not in allowed and secret.encode() in data
    }
    assert leaked == {}


def test_the_log_tells_of_what_was_planted(planted: Planted) -> None:
    """Or nothing would be shown by its silence."""
    log = planted.found["log"].decode()
    assert '"event":"unforeseen"' in log
    assert "Traceback" in log
    assert "Unreadable request" in log
    assert "[redacted]" in log
    assert log.count('"status":') > 100


def test_hashes_of_tokens_are_all_that_is_kept_of_them(planted: Planted) -> None:
    import hashlib

    digest = hashlib.sha256(planted.secrets["token"][0].encode()).hexdigest()
    assert digest.encode() in planted.found["database"]
    gone = hashlib.sha256(planted.secrets["second token"][0].encode()).hexdigest()
    assert gone.encode() not in planted.found["database"]
