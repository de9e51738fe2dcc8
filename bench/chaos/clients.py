"""The load: clients that do as docs/api.md tells them, and write down all that they sent, were told and were shown.

Each is a thread with connections of its own. A request that got no answer, or 503, is sent again as it was, with the
same idempotency key, for as long as it takes.
"""

import http.client
import itertools
import math
import random
import threading
import time
from collections import Counter
from collections.abc import Callable, Container, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec

from bench.history import Outcome, Read, Sent, Watched

TIMEOUT_S: Final = 10.0
"""How long a client waits for an answer."""
MOST_PAUSE_S: Final = 1.0
LOOK_S: Final = 0.03
"""Between two looks at a table where somebody else is to act."""
BOT: Final = "delver"
TWICE: Final = 0.03
"""How often an action is sent on two connections at the same time."""
EXPECTED: Final = frozenset(("stale", "not-your-turn", "wrong-status", "illegal"))
"""Refusals that any client may meet: others moved first, or the rules say no."""


class Gone(Exception):
    """No answer. ``sent``: perhaps the request was read."""

    def __init__(self, why: str, sent: bool) -> None:
        super().__init__(why)
        self.sent = sent


@dataclass(frozen=True, slots=True)
class Answer:
    """What came back."""

    status: int
    headers: Mapping[str, str]
    data: bytes

    @property
    def code(self) -> str:
        """The code of a problem; of what is none, its status."""
        if self.headers.get("content-type") != "application/problem+json":
            return f"{self.status}"
        return str(msgspec.json.decode(self.data)["code"])

    def json(self) -> Any:
        return msgspec.json.decode(self.data)


class Link:
    """One kept-alive connection, made again when it broke."""

    def __init__(self, host: str, port: int) -> None:
        self._host, self._port = host, port
        self._connection: http.client.HTTPConnection | None = None

    def send(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> None:
        """
        :raises Gone: it could not be sent.
        """
        if self._connection is None:
            connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
            try:
                connection.connect()
            except OSError as error:
                raise Gone(type(error).__name__, sent=False) from error
            self._connection = connection
        try:
            self._connection.request(method, path, body, dict(headers))
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Gone(type(error).__name__, sent=True) from error

    def answer(self) -> Answer:
        """
        :raises Gone: none came.
        """
        assert self._connection is not None
        try:
            with self._connection.getresponse() as response:
                data = response.read()
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise Gone(type(error).__name__, sent=True) from error
        return Answer(response.status, {name.lower(): value for name, value in response.getheaders()}, data)

    def call(self, method: str, path: str, headers: Mapping[str, str], body: bytes | None = None) -> Answer:
        """
        :raises Gone: no answer came.
        """
        self.send(method, path, headers, body)
        return self.answer()

    def close(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


@dataclass(frozen=True)
class Kind:
    """A sort of table: who sits there, and how many threads of one player act at the same time."""

    name: str
    ruleset: str
    people: int
    bots: int = 0
    hands: int = 1
    options: Mapping[str, Any] = field(default_factory=dict)
    watching: str = "open"


KINDS: Final = (
    Kind("two at one screen", "donjon@1", 2),
    Kind("beside a bot", "donjon@1", 1, bots=1),
    Kind("rivals", "donjon@1", 3, hands=2),
    Kind("delving", "dungeon-roll@1", 2),
    Kind("delving beside a bot", "dungeon-roll@1", 1, bots=1),
    Kind("watched later", "donjon@1", 2, watching="delayed:1"),
)


@dataclass
class Told:
    """What clients have in common: the record, and what the service may be held to besides."""

    seen: list[Sent | Read | Watched] = field(default_factory=list)
    acknowledged: list[Sent] = field(default_factory=list)
    """Those of them that were acknowledged, in the order in which they were answered."""
    unclear: Counter[str] = field(default_factory=Counter)
    """Answers that tell a client nothing it could go by."""
    broken: Counter[str] = field(default_factory=Counter)
    """Requests without an answer, by what broke."""
    told: Counter[str] = field(default_factory=Counter)
    """Problems by code, each time one was answered."""
    ends: dict[bytes, int] = field(default_factory=dict)
    """The newest version of each game that a client was told of."""
    public: dict[bytes, str] = field(default_factory=dict)
    """Tables to be watched, newest last, with their paths."""
    lock: threading.Lock = field(default_factory=threading.Lock)

    def problem(self, answer: Answer, expected: bool) -> None:
        """Count a refusal, and whether it is one that a client understands."""
        with self.lock:
            self.told[answer.code] += 1
            if not expected or answer.code.isdigit():
                self.unclear[f"{answer.status} {answer.code}"] += 1


class Load:
    """Clients and watchers at work, from `begin` to `end`."""

    def __init__(
        self,
        host: str,
        port: int,
        clients: int = 12,
        watchers: int = 4,
        seed: int = 0,
        without: Container[str] = (),
        stay_s: float = math.inf,
    ) -> None:
        self.told = Told()
        kinds = [kind for kind in KINDS if kind.name not in without]
        self.stopping, self.giving_up = threading.Event(), threading.Event()
        self.players = [Player(f"c{n}", self, host, port, kinds[n % len(kinds)], seed + n) for n in range(clients)]
        self.watchers = [Watcher(f"w{n}", self, host, port, seed + n, stay_s) for n in range(watchers)]

    def begin(self) -> "Load":
        for thread in (*self.players, *self.watchers):
            thread.start()
        return self

    def end(self, grace_s: float = 60.0) -> list[str]:
        """Let clients finish what they are at, and watchers see the end of it. Answers with what did not come about."""
        self.stopping.set()
        deadline = time.monotonic() + grace_s
        for player in self.players:
            player.join(max(0.0, deadline - time.monotonic()))
        left = [f"{player.name} was not answered in {grace_s:.0f} s" for player in self.players if player.is_alive()]
        pause = threading.Event()
        while (behind := self._behind()) and time.monotonic() < deadline:
            pause.wait(LOOK_S)
        left += behind
        self.giving_up.set()
        for thread in (*self.players, *self.watchers):
            thread.join(TIMEOUT_S + 5)
        return left

    def acknowledged(self, since: float = 0.0) -> list[Sent]:
        """Requests that were acknowledged from some time on, the newest first."""
        return list(itertools.takewhile(lambda one: one.ended >= since, reversed(self.told.acknowledged)))

    def _behind(self) -> list[str]:
        behind = []
        for watcher in self.watchers:
            if (watched := watcher.watched) is not None and not watched.over:
                seen, end = watched.after + len(watched.events), self.told.ends.get(watched.game, 0)
                if seen < end:
                    behind.append(f"{watcher.name} was streamed {seen} of {end} events")
        return behind


class Player(threading.Thread):
    """One player, who opens table after table and plays there until it is over."""

    def __init__(self, name: str, load: Load, host: str, port: int, kind: Kind, seed: int) -> None:
        super().__init__(name=name, daemon=True)
        self.kind, self._load, self._told = kind, load, load.told
        self._host, self._port = host, port
        self._random = random.Random(seed)
        self._link = Link(host, port)
        self._headers: dict[str, str] = {}

    def run(self) -> None:
        try:
            self._run()
        finally:
            self._link.close()

    def _run(self) -> None:
        registered = self._until_answered(self._link, "POST", "/v1/players", {"name": self.name})
        if registered is None:
            return
        self._headers = {"Authorization": f"Bearer {registered.json()['token']}"}
        while not self._load.stopping.is_set():
            game = self._table()
            if game is None:
                break
            others = [
                threading.Thread(target=self._other_hand, args=(game, number), daemon=True)
                for number in range(1, self.kind.hands)
            ]
            for other in others:
                other.start()
            self._play(game, 0, self._link)
            for other in others:
                other.join()

    # -- a table -----------------------------------------------------------------------------------------------------

    def _table(self) -> str | None:
        """The path of a new game that has begun; None: it was time to stop."""
        kind, link = self.kind, self._link
        body = {"ruleset": kind.ruleset, "seats": kind.people + kind.bots, "options": kind.options}
        made = self._until_answered(
            link, "POST", "/v1/games", {**body, "watching": kind.watching}, {"Idempotency-Key": self._key()}
        )
        if made is None:
            return None
        path = str(made.json()["links"]["self"])
        while (shown := self._until_answered(link, "GET", path)) is not None:
            game = shown.json()
            if game["status"] != "open":
                with self._told.lock:
                    self._told.public[bytes.fromhex(game["game_id"])] = path
                return path
            free = [seat["seat"] for seat in game["seats"] if seat["player_id"] is None]
            if free:  # a retry may meet what it did itself: the table is looked at again, not the answer
                bot = {"bot": BOT} if free[0] > kind.people else {}
                self._until_answered(link, "POST", f"{path}/seats", {"seat": free[0], **bot})
            else:
                self._until_answered(link, "POST", f"{path}/start", {})
        return None

    def _other_hand(self, path: str, hand: int) -> None:
        link = Link(self._host, self._port)
        try:
            self._play(path, hand, link)
        finally:
            link.close()

    def _play(self, path: str, hand: int, link: Link) -> None:
        client = self.name if hand == 0 else f"{self.name}.{hand}"
        game_id = bytes.fromhex(path.rpartition("/")[2])
        tag, looks = "", 0
        while not self._load.stopping.is_set():
            looks += 1
            if looks % 16 == 0:
                shown = self._look(link, client, game_id, path)
                if shown is None or shown["status"] != "playing":
                    return
            headers = {"If-None-Match": tag} if tag else {}
            began = time.monotonic()
            answer = self._until_answered(link, "GET", f"{path}/actions", headers=headers)
            if answer is None:
                return
            if answer.status == 304:
                self._load.stopping.wait(LOOK_S)
                continue
            offered = answer.json()
            tag = answer.headers["etag"]
            self._saw(
                Read(client=client, game=game_id, began=began, ended=time.monotonic(), version=offered["version"])
            )
            action = self._choose(offered)
            if action is None:
                shown = self._look(link, client, game_id, path)
                if shown is None or shown["status"] != "playing":
                    return
                self._load.stopping.wait(LOOK_S)
            elif self._act(link, client, game_id, path, offered["seat"], action, offered["version"]):
                return
            else:
                tag = ""

    def _look(self, link: Link, client: str, game_id: bytes, path: str) -> Any:
        began = time.monotonic()
        answer = self._until_answered(link, "GET", path)
        if answer is None:
            return None
        shown = answer.json()
        self._saw(
            Read(
                client=client, game=game_id, began=began, ended=time.monotonic(),
                version=shown["version"], head=bytes.fromhex(shown["head"]),
            )
        )  # fmt: skip
        return shown

    def _choose(self, offered: Mapping[str, Any]) -> dict[str, Any] | None:
        """Any action that is offered; a choice is filled in with as little as it may be."""
        actions = [one["action"] for one in offered["actions"]]
        for choice in offered["choices"]:
            action: dict[str, Any] = {"type": choice["type"]}
            for name, wanted in choice["fields"].items():
                taken = self._random.sample(wanted["ids"], min(max(wanted["minimum"], 1), len(wanted["ids"])))
                if taken or wanted["minimum"]:
                    action[name] = taken[0] if wanted["single"] and taken else taken
            actions.append(action)
        return self._random.choice(actions) if actions else None

    def _act(
        self, link: Link, client: str, game_id: bytes, path: str, seat: int, action: dict[str, Any], version: int
    ) -> bool:
        """Send an action until it is answered; True: the game is over."""
        key = self._key()
        body = msgspec.json.encode({"action": action, "expected_version": version})
        headers = self._headers | {"Idempotency-Key": key, "Content-Type": "application/json"}
        target, pause = f"{path}/actions?seat={seat}", 0.05
        twice = Link(self._host, self._port) if self._random.random() < TWICE else None
        while not self._load.giving_up.is_set():
            links = [link] if twice is None else [link, twice]
            started: list[tuple[Link, float]] = []
            answers: list[Answer | Gone] = []
            for one in links:
                began = time.monotonic()
                try:
                    one.send("POST", target, headers, body)
                    started.append((one, began))
                except Gone as gone:
                    answers.append(gone)
                    self._sent(client, game_id, seat, key, began, gone)
            for one, began in started:
                try:
                    answers.append(one.answer())
                except Gone as gone:
                    answers.append(gone)
                self._sent(client, game_id, seat, key, began, answers[-1])
            if twice is not None:
                twice.close()
                twice = None
            final = [one for one in answers if isinstance(one, Answer) and one.status != 503]
            if final:
                return final[0].status == 201 and final[0].json()["status"] != "playing"
            self._wait(pause)
            pause = min(2 * pause, MOST_PAUSE_S)
        return True

    def _sent(self, client: str, game_id: bytes, seat: int, key: str, began: float, answer: Answer | Gone) -> None:
        ended = time.monotonic()
        if isinstance(answer, Gone):
            outcome: Outcome = "unknown" if answer.sent else "unavailable"
            with self._told.lock:
                self._told.broken[str(answer)] += 1
            self._saw(
                Sent(
                    client=client, game=game_id, began=began, ended=ended, outcome=outcome, code=str(answer),
                    seat=seat, key=key,
                )
            )  # fmt: skip
        elif answer.status == 201:
            done = answer.json()
            self._saw(
                Sent(
                    client=client, game=game_id, began=began, ended=ended, outcome="acknowledged", seat=seat, key=key,
                    seq=done["seq"], hash=bytes.fromhex(done["hash"]), version=done["version"],
                    head=bytes.fromhex(done["head"]), again="idempotency-replayed" in answer.headers,
                    receipt=done["receipt"],
                )
            )  # fmt: skip
        else:
            outcome = "refused"
            if answer.status == 503:
                outcome = "unavailable" if answer.code == "unavailable" else "unknown"
                clear = answer.code in ("unavailable", "outcome-unknown") and "retry-after" in answer.headers
            else:
                clear = answer.code in EXPECTED
            self._told.problem(answer, clear)
            self._saw(
                Sent(
                    client=client, game=game_id, began=began, ended=ended, outcome=outcome, code=answer.code,
                    seat=seat, key=key,
                )
            )  # fmt: skip

    # -- what they share ---------------------------------------------------------------------------------------------

    def _until_answered(
        self,
        link: Link,
        method: str,
        path: str,
        body: Mapping[str, Any] | None = None,
        headers: Mapping[str, str] = {},  # never changed
    ) -> Answer | None:
        """The answer to a request that may be sent again; None: it was time to give up."""
        data = None if body is None else msgspec.json.encode(body)
        headers = {**self._headers, **headers} | ({} if data is None else {"Content-Type": "application/json"})
        pause = 0.05
        while not self._load.giving_up.is_set() and not (method == "GET" and self._load.stopping.is_set()):
            try:
                answer = link.call(method, path, headers, data)
            except Gone as gone:
                with self._told.lock:
                    self._told.broken[str(gone)] += 1
            else:
                if answer.status < 400:
                    return answer
                again = answer.status == 503
                known = answer.code == "unavailable" or (method == "POST" and answer.code == "outcome-unknown")
                self._told.problem(answer, known or answer.status == 409)
                if not again:
                    return answer if method == "POST" else None
            self._wait(pause)
            pause = min(2 * pause, MOST_PAUSE_S)
        return None

    def _wait(self, pause_s: float) -> None:
        self._load.giving_up.wait(pause_s * (0.5 + self._random.random() / 2))  # apart, so that not all come at once

    def _key(self) -> str:
        return f"{self.name}-{self._random.getrandbits(64):016x}"

    def _saw(self, one: Sent | Read) -> None:
        with self._told.lock:
            self._told.seen.append(one)
            if isinstance(one, Sent) and one.outcome == "acknowledged":
                self._told.acknowledged.append(one)
            version = one.version
            if version is not None and version > self._told.ends.get(one.game, 0):
                self._told.ends[one.game] = version


class Watcher(threading.Thread):
    """Watches one game after the other by Server-Sent Events, and resumes wherever it was cut off. Leaves a game when
    it is over, or has stayed ``stay_s`` seconds."""

    def __init__(self, name: str, load: Load, host: str, port: int, seed: int, stay_s: float) -> None:
        super().__init__(name=name, daemon=True)
        self._stay_s = stay_s
        self.watched: Watched | None = None
        self.resumed = 0
        self._load, self._told, self._host, self._port = load, load.told, host, port
        self._random = random.Random(seed)

    def run(self) -> None:
        while not self._load.stopping.is_set():
            with self._told.lock:
                tables = list(self._told.public.items())[-12:]
            if not tables:
                self._load.stopping.wait(LOOK_S)
                continue
            game_id, path = self._random.choice(tables)
            self._watch(Watched(client=self.name, game=game_id, after=0), path)

    def _watch(self, watched: Watched, path: str) -> None:
        with self._told.lock:
            self._told.seen.append(watched)
        self.watched = watched
        headers = {"Accept": "text/event-stream"}
        leaving = time.monotonic() + self._stay_s

        def gone() -> bool:
            left = time.monotonic() > leaving and not self._load.stopping.is_set()
            return watched.over or left or self._load.giving_up.is_set()

        while not gone():
            connection = http.client.HTTPConnection(self._host, self._port, timeout=TIMEOUT_S)
            last = str(watched.after + len(watched.events))
            try:
                connection.request("GET", f"{path}/events", headers=headers | {"Last-Event-ID": last})
                with connection.getresponse() as response:
                    if response.status == 200:
                        self._follow(watched, response, gone)
                    elif response.status != 503:
                        with self._told.lock:
                            self._told.unclear[f"a stream: {response.status}"] += 1
            except (OSError, http.client.HTTPException):
                pass  # resumed below
            finally:
                connection.close()
            if not gone():
                self.resumed += 1
                self._load.giving_up.wait(0.2)

    def _follow(self, watched: Watched, response: http.client.HTTPResponse, gone: Callable[[], bool]) -> None:
        for kind, number, data in messages(response):
            if kind == "end":
                watched.over = True
                return
            if number is not None:
                watched.events.append((number, bytes.fromhex(msgspec.json.decode(data)["hash"])))
            if gone():
                return


def messages(response: http.client.HTTPResponse) -> Iterator[tuple[str, int | None, bytes]]:
    """(event type, id, data) of the messages in a stream of Server-Sent Events; a heartbeat is one without data."""
    kind, number, data = "message", None, b""
    while line := response.readline():
        name, _, value = line.rstrip(b"\n").partition(b":")
        value = value.removeprefix(b" ")
        if not line.strip():
            yield kind, number, data
            kind, number, data = "message", None, b""
        elif name == b"data":
            data = value
        elif name == b"event":
            kind = value.decode()
        elif name == b"id":
            number = int(value)
