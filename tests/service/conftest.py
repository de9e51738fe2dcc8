"""The words in which the tests of the service speak: a house with a service in it, players, tables and seats."""

import atexit
import os
import random
import secrets
import threading
import zlib
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import redis
from flask.testing import FlaskClient
from werkzeug.test import TestResponse

from bench.clusters import Cluster, cluster
from events.notes import Signer
from events.redis_client import connect, ephemeral
from events.seat import new_secret
from service.app import create_app
from service.bootstrap import Deps, bootstrap
from service.clients.self_custody import MEDIA_TYPE, SelfCustody
from service.config import Config

MASTER = "11" * 32
ORIGIN = "test.example/games"
LOG_KEY = Signer.of(ORIGIN, b"\x22" * 32).skey
RECEIPTS_KEY = Signer.of(ORIGIN + "/receipts", b"\x33" * 32).skey
NOWHERE = Path("/nonexistent/annals")
"""No data directory: what `make run` keeps in this checkout has other keys, another log of games, and snapshots."""


class HandClock:
    """A clock that stands still until a test moves it."""

    def __init__(self) -> None:
        self.now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms

    def pass_seconds(self, seconds: float) -> None:
        self.now_ms += int(seconds * 1000)


@cache
def _cluster() -> Cluster:
    stack = ExitStack()
    atexit.register(stack.close)
    return stack.enter_context(cluster())


def database() -> redis.Redis:
    """An empty database: in memory, or, with ANNALS_TEST_REDIS=cluster, a real cluster of three masters and replicas.

    A process has one such cluster, and whoever asks for it empties it: several share a run with --dist=loadfile.
    """
    if os.environ.get("ANNALS_TEST_REDIS") != "cluster":
        return ephemeral()
    made = _cluster()
    made.flush()
    return connect(made.url)


class House:
    """One service over one database in memory; `worker` opens another process's door to the same database."""

    def __init__(self) -> None:
        self.clock = HandClock()
        self.redis = database()
        self.deps = self.bootstrap()
        self.app = create_app(self.deps)

    def bootstrap(self, **settings: Any) -> Deps:
        keys = {"keys": f"test={MASTER}", "log_key": LOG_KEY, "receipts_key": RECEIPTS_KEY, "data": NOWHERE}
        return bootstrap(Config(**(keys | {"rate_limits": False} | settings)), self.redis, self.clock)

    def worker(self) -> "Caller":
        """A caller without a token at another worker of the same service."""
        return Caller(create_app(self.bootstrap()).test_client())

    @property
    def nobody(self) -> "Caller":
        """A caller without a token."""
        return Caller(self.app.test_client())

    def player(self, name: str = "Ada") -> "Caller":
        """A new player."""
        return self.nobody.register(name)

    def holder(self, table: "Table", caller: "Caller", secret: bytes | None = None) -> "Seated":
        """A player who keeps the keys of a seat."""
        return Seated(table, caller, secret)

    def stored(self) -> bytes:
        """Every key and every value of the database, one after the other."""
        read: dict[bytes, Callable[[bytes], Any]] = {
            b"string": self.redis.get,
            b"hash": self.redis.hgetall,
            b"list": lambda name: self.redis.lrange(name, 0, -1),
            b"set": self.redis.smembers,
            b"zset": lambda name: self.redis.zrange(name, 0, -1),
            b"stream": self.redis.xrange,
        }
        return b"\n".join(name + b" " + _flat(read[self.redis.type(name)](name)) for name in self.redis.scan_iter())

    def auditor(self, role: str = "auditor") -> "Caller":
        """A new player with a role."""
        caller = self.player("Audrey")
        self.deps.accounts.grant(bytes.fromhex(caller.id), role)
        return caller


def _flat(value: Any) -> bytes:
    """Every byte of a reply."""
    if isinstance(value, dict):
        value = [*value.keys(), *value.values()]
    if isinstance(value, list | tuple | set):
        return b" ".join(map(_flat, value))
    return value if isinstance(value, bytes) else str(value).encode()


@dataclass
class Caller:
    """Somebody who calls the API, with a token or without."""

    client: FlaskClient
    token: str | None = None
    id: str = ""

    def register(self, name: str) -> "Caller":
        made = self.post("/v1/players", json={"name": name})
        assert made.status_code == 201, made.text
        return Caller(self.client, made.json["token"], made.json["player_id"])

    def at(self, other: "Caller") -> "Caller":
        """The same player at another worker's door."""
        return Caller(other.client, self.token, self.id)

    def request(self, method: str, path: str, headers: dict[str, str] | None = None, **rest: Any) -> TestResponse:
        sent = dict(headers or {})
        if self.token is not None:
            sent.setdefault("Authorization", f"Bearer {self.token}")
        return self.client.open(path, method=method, headers=sent, **rest)

    def get(self, path: str, headers: dict[str, str] | None = None, **rest: Any) -> TestResponse:
        return self.request("GET", path, headers, **rest)

    def post(self, path: str, headers: dict[str, str] | None = None, **rest: Any) -> TestResponse:
        return self.request("POST", path, headers, **rest)

    def delete(self, path: str, headers: dict[str, str] | None = None, **rest: Any) -> TestResponse:
        return self.request("DELETE", path, headers, **rest)

    def opens(self, seats: int = 2, **body: Any) -> "Table":
        """Open a table of Le Donjon."""
        headers = body.pop("headers", {})
        made = self.post("/v1/games", headers, json={"ruleset": "donjon@1", "seats": seats, **body})
        assert made.status_code == 201, made.text
        return Table(self, made.json["links"]["self"])


@dataclass
class Table:
    """A game as its creator holds it."""

    creator: Caller
    path: str
    seated: list[Caller] = field(default_factory=list)

    @property
    def id(self) -> str:
        return self.path.rpartition("/")[2]

    def seat(self, caller: Caller, **body: Any) -> TestResponse:
        """Sit down (or let a bot)."""
        return caller.post(f"{self.path}/seats", json=body)

    def starts(self) -> "Table":
        """Everybody sits: begin."""
        begun = self.creator.post(f"{self.path}/start")
        assert begun.status_code == 200, begun.text
        return self

    def shown(self, caller: Caller | None = None) -> dict[str, Any]:
        """The game as a caller (its creator) sees it."""
        answer = (caller or self.creator).get(self.path)
        assert answer.status_code == 200, answer.text
        return answer.json

    @property
    def version(self) -> int:
        return self.shown()["version"]

    def legal(self, caller: Caller | None = None, query: str = "") -> dict[str, Any]:
        answer = (caller or self.creator).get(f"{self.path}/actions{query}")
        assert answer.status_code == 200, answer.text
        return answer.json

    def act(
        self, action: dict[str, Any], version: int | None, caller: Caller | None = None, query: str = "", **headers: str
    ) -> TestResponse:
        """Post an action; headers are named with underscores."""
        body: dict[str, Any] = {"action": action}
        if version is not None:
            body["expected_version"] = version
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return (caller or self.creator).post(f"{self.path}/actions{query}", named, json=body)

    def first_legal(self, caller: Caller | None = None, query: str = "", **headers: str) -> TestResponse:
        """Do the first thing that is legal: explore where one can, so that the game moves on."""
        legal = self.legal(caller, query)
        return self.act(legal["actions"][0]["action"], legal["version"], caller, query, **headers)

    def plays(self, moves: int) -> "Table":
        """That many accepted actions, or as many as there are; all seats are the creator's."""
        for _ in range(moves):
            if not self.shown()["to_act"]:
                break  # the dragon may be slain early
            done = self.first_legal()
            assert done.status_code == 201, done.text
        return self

    def problem(self, answer: TestResponse) -> str:
        return refused(answer)


class Seated:
    """A player with a seat in self-custody: the client of the product, over the test's transport."""

    def __init__(self, table: Table, caller: Caller, secret: bytes | None = None) -> None:
        self.table, self.caller, self.secret = table, caller, secret or new_secret()
        self.holder = SelfCustody(bytes.fromhex(table.id), self.secret, self.fetch, self.post)
        self.answer: Any = None

    def fetch(self, after: int) -> bytes:
        answer = self.caller.get(f"{self.table.path}/events?after={after}", {"Accept": MEDIA_TYPE})
        assert answer.status_code == 200, answer.text
        assert answer.content_type == MEDIA_TYPE
        return answer.data

    def post(self, path: str, body: Mapping[str, Any]) -> Any:
        self.answer = self.caller.post(f"{self.table.path}/{path}", json=body)
        return self.answer.json

    def joins(self, seat: int, **choice: Any) -> "Seated":
        self.holder.join(seat, choice)
        assert self.answer.status_code == 201, self.answer.text
        return self

    def unsent(self, verb: str) -> dict[str, Any]:
        """The body of a request that the seat makes and does not send."""
        made: dict[str, Any] = {}
        self.holder._post = lambda path, body: made.update(body)
        getattr(self.holder, verb)()
        self.holder._post = self.post
        return made

    def move(self) -> dict[str, Any]:
        """The first thing that is legal now."""
        legal = self.table.legal(self.caller, f"?seat={self.holder.seat}")
        found: dict[str, Any] = dict(legal["actions"][0]["action"])
        return found

    def moves(self, action: dict[str, Any] | None = None) -> TestResponse:
        asked = dict(action or self.move())
        self.holder.act(asked.pop("type"), asked)
        return self.answer


def refused(answer: TestResponse) -> str:
    """The code of the problem that an answer is."""
    assert answer.content_type == "application/problem+json", answer.text
    problem = answer.json
    assert problem["status"] == answer.status_code
    assert problem["type"] == f"/problems/{problem['code']}"
    assert "service." not in problem["title"] + problem["detail"]
    return f"{problem['status']} {problem['code']}"


@pytest.fixture(autouse=True)
def the_same_dice_each_time(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids, and with them the dice, come from the test's name: a game that a test plays goes the same way each time.

    ``ANNALS_TEST_DICE`` names other dice, to see that no test leans on these.
    """
    dice = random.Random(zlib.crc32(f"{os.environ.get('ANNALS_TEST_DICE', '')}{request.node.nodeid}".encode()))
    monkeypatch.setattr(secrets, "token_bytes", lambda length=32: dice.randbytes(length))
    monkeypatch.setattr(secrets, "randbelow", dice.randrange)
    monkeypatch.setattr(secrets, "choice", dice.choice)


@pytest.fixture
def house() -> Iterator[House]:
    made = House()
    yield made
    made.deps.close()


@pytest.fixture
def table(house: House) -> Table:
    """A table of two seats, both held by its creator, at play."""
    opened = house.player().opens()
    assert opened.seat(opened.creator).status_code == 201
    return opened.starts()


def at_once(*calls: Callable[[], TestResponse]) -> list[TestResponse]:
    """Every call in a thread of its own, let loose together: the answers as they came."""
    barrier = threading.Barrier(len(calls))
    answers: list[TestResponse] = []

    def run(call: Callable[[], TestResponse]) -> None:
        barrier.wait()
        answers.append(call())

    threads = [threading.Thread(target=run, args=(call,)) for call in calls]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return answers


@pytest.fixture
def race() -> Callable[..., list[TestResponse]]:
    """`at_once`, for tests that cannot import it."""
    return at_once


@pytest.fixture
def refusal() -> Any:
    """`refused`, for tests that cannot import it."""
    return refused


@pytest.fixture(scope="session")
def new_database() -> Callable[[], redis.Redis]:
    """`database`, for tests that cannot import it."""
    return database
