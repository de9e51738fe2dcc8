"""Several services on several servers: any request may go to any of them, and whoever dies is stood in for."""

import os
import re
import signal
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import cycle, pairwise
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.clusters import Cluster, Node, cluster, until, watched
from bench.processes import PROC, descendants
from events.log import Unavailable
from events.notes import Signer
from events.redis_log import Keys
from service.proofs.log_folder import LOCK

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = "several.example/games"
SLOW_S = 90.0
HTTP = httpx.Client(timeout=30)

pytestmark = pytest.mark.skipif(not PROC.is_dir(), reason="processes are found through /proc")


@pytest.fixture(autouse=True, scope="module")
def connections() -> Iterator[None]:
    """Those of all requests of these tests, closed in the end."""
    yield
    HTTP.close()


@dataclass
class Service:
    """`annals serve` with one worker; what it shares with others is in its settings and the database alone."""

    name: str
    folder: Path
    settings: dict[str, str]
    process: "subprocess.Popen[bytes] | None" = None
    url: str = ""

    def start(self) -> None:
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "REDIS_URL"))}
        data = self.folder / self.name
        command = [sys.executable, "-m", "service", "serve", "--no-demo", "--port", "0", "--data", str(data)]
        with self._log.open("wb") as log:
            environment = clean | {"PYTHONPATH": str(ROOT)} | self.settings
            self.process = subprocess.Popen(command, env=environment, cwd=ROOT, stdout=log, stderr=log)

    def ready(self) -> bool:
        assert self.process is not None
        assert self.process.poll() is None, self.said()
        self.url = next(iter(re.findall(r"(http://127\.0\.0\.1:\d+)/docs", self.said())), "")
        return bool(self.url)

    def said(self) -> str:
        return self._log.read_text()

    def processes(self, word: str = "") -> list[int]:
        assert self.process is not None
        return descendants(self.process.pid, word)

    def kill(self) -> None:
        """kill -9 of all its processes, the supervisor first, so that nobody starts any of them again."""
        if self.process is not None and self.process.poll() is None:
            below = self.processes()
            for pid in (self.process.pid, *below):
                os.kill(pid, signal.SIGKILL)
            self.process.wait()

    @property
    def _log(self) -> Path:
        return self.folder / f"{self.name}.log"


@contextmanager
def services(folder: Path, url: str, *names: str) -> Iterator[list[Service]]:
    """One service each, on one database and with one folder for the log of games."""
    settings = {
        "REDIS_URL": url, "ANNALS_REPLICAS": "1", "ANNALS_WORKERS": "1", "ANNALS_BOT_PAUSE_MS": "20",
        "ANNALS_HEARTBEAT_S": "0.5", "ANNALS_KEYS": f"several={'11' * 32}", "ANNALS_LOG_DIR": str(folder / "log"),
        "ANNALS_LOG_KEY": Signer.of(ORIGIN, b"\x22" * 32).skey,
        "ANNALS_RECEIPTS_KEY": Signer.of(ORIGIN + "/receipts", b"\x33" * 32).skey,
    }  # fmt: skip
    with ExitStack() as stack:
        made = [Service(name, folder, settings) for name in names]
        for one in made:
            stack.callback(one.kill)
            one.start()
        until(lambda: all(one.ready() for one in made), "the services are ready", SLOW_S)
        yield made


@dataclass
class Player:
    """Plays a table, each request at the next of several doors; what was acknowledged is remembered."""

    doors: Callable[[], str]
    token: str = ""
    game: str = ""
    acknowledged: dict[int, str] = field(default_factory=dict)
    problems: set[str] = field(default_factory=set)
    asked: int = 0

    def once(self, method: str, path: str, key: str = "", **rest: Any) -> httpx.Response | None:
        """One request; None where it is to be sent again: nobody answered, or with a problem of the day."""
        headers = {"Idempotency-Key": key} if key else {}
        if self.token:
            headers["Authorization"] = f"Bearer {self.token}"
        try:
            answer = HTTP.request(method, self.doors() + path, headers=headers, **rest)
        except httpx.TransportError:
            return None
        if answer.status_code != 503:
            return answer
        assert answer.headers["Content-Type"] == "application/problem+json"
        assert answer.json()["detail"]
        self.problems.add(answer.json()["code"])
        return None

    def call(self, method: str, path: str, **rest: Any) -> Any:
        """The answer to a request, sent with the same key until there is one."""
        self.asked += 1
        key = f"request-{self.asked}" if method == "POST" else ""
        answer = until(lambda: self.once(method, path, key, **rest), f"{method} {path} is answered", SLOW_S)
        assert answer.status_code in (200, 201), answer.text
        return answer.json()

    def sits_down(self, *bots: str) -> "Player":
        self.token = self.call("POST", "/v1/players", json={"name": "Ada"})["token"]
        made = self.call("POST", "/v1/games", json={"ruleset": "donjon@1", "seats": 1 + len(bots)})
        self.game = made["links"]["self"]
        for bot in bots:
            self.call("POST", f"{self.game}/seats", json={"bot": bot})
        self.call("POST", f"{self.game}/start")
        return self

    def turn(self) -> dict[str, Any]:
        """The game, when it is our turn."""

        def ours() -> dict[str, Any] | None:
            shown: dict[str, Any] = self.call("GET", self.game)
            return shown if 1 in shown["to_act"] or shown["status"] != "playing" else None

        return until(ours, "it is our turn", SLOW_S)

    def action(self) -> dict[str, Any]:
        """The body of a request for an action that is legal now."""
        legal = self.call("GET", f"{self.game}/actions")
        return {"action": legal["actions"][-1]["action"], "expected_version": legal["version"]}

    def acts(self, count: int) -> None:
        for _ in range(count):
            if self.turn()["status"] != "playing":
                return
            done = self.call("POST", f"{self.game}/actions", json=self.action())
            self.acknowledged[done["seq"]] = done["hash"]

    def check(self) -> None:
        """What was acknowledged is there, once, in a chain without gaps that folds exactly."""
        shown, events = self.call("GET", self.game), list[dict[str, Any]]()
        while len(events) < shown["version"]:
            events += self.call("GET", f"{self.game}/events?after={len(events)}&limit=500")["events"]
        assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
        assert all(after["prev"] == before["hash"] for before, after in pairwise(events))
        stored = {event["seq"]: event["hash"] for event in events}
        assert {seq: stored.get(seq) for seq in self.acknowledged} == self.acknowledged
        assert shown["grade"] == "EXACT"


def watches(player: Player, count: int) -> list[int]:
    """The ids of a live stream that breaks after every third event and is resumed at the next door."""
    got: list[int] = []
    while len(got) < count:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": str(got[-1] if got else 0)}
        with HTTP.stream("GET", f"{player.doors()}{player.game}/events", headers=headers) as stream:
            seen = 0
            for line in stream.iter_lines():
                if line.startswith("id: "):
                    got.append(int(line[4:]))
                    seen += 1
                if seen == 3 or len(got) == count or line == "event: end":
                    break
    return got


def test_any_request_may_go_to_any_service_on_a_cluster_and_whoever_is_killed_is_stood_in_for(tmp_path: Path) -> None:
    with cluster() as nodes, services(tmp_path, nodes.url, "one", "two") as (one, two):
        doors = cycle((one.url, two.url))
        player = Player(lambda: next(doors)).sits_down("delver")
        player.acts(4)
        body = player.turn() and player.action()
        first, again, third = (player.once("POST", f"{player.game}/actions", "the-same", json=body) for _ in range(3))
        assert first is not None
        assert again is not None
        assert third is not None
        assert (first.status_code, again.json(), third.json()) == (201, first.json(), first.json())
        assert again.headers["Idempotency-Replayed"] == "true"
        player.acknowledged[first.json()["seq"]] = first.json()["hash"]
        version = player.call("GET", player.game)["version"]
        assert watches(player, version) == list(range(1, version + 1))
        listed = player.call("GET", "/v1/games?status=playing")["games"]
        assert [row["links"]["self"] for row in listed] == [player.game]

        keys = Keys.of(bytes.fromhex(player.game.rpartition("/")[2]))
        master = nodes.master_of(keys.stream)
        master.kill()
        replaced = threading.Thread(target=lambda: replace(nodes, keys.stream, master))
        replaced.start()
        player.acts(3)
        replaced.join()

        gone, other = (one, two) if writes_the_log(one, tmp_path) else (two, one)
        (waiting,) = other.processes("clerk")
        os.kill(waiting, signal.SIGSTOP)  # so that all work falls to the one
        player.acts(1)
        player.turn()
        gone.kill()  # its worker, and the process of its clerk and sequencer
        os.kill(waiting, signal.SIGCONT)
        left = Player(lambda: other.url, player.token, player.game, player.acknowledged, player.problems, player.asked)
        left.acts(2)
        left.call("POST", f"{left.game}/seats/1/resign")
        until(lambda: left.call("GET", left.game)["status"] == "finished", "the other clerk plays on alone", SLOW_S)
        left.check()
        proof = f"{other.url}{left.game}/proofs/close"
        until(lambda: HTTP.get(proof).status_code == 200, "the other sequencer enters its end", SLOW_S)
        assert left.call("GET", "/v1/games?status=finished")["games"], "and the lists are kept"
        assert left.problems <= {"unavailable", "outcome-unknown"}


def writes_the_log(service: Service, folder: Path) -> bool:
    """Does a process of a service hold the lock of the log of games?"""
    inode = (folder / "log" / LOCK).stat().st_ino
    holders = [line.split() for line in Path("/proc/locks").read_text().splitlines() if line.endswith(" 0 EOF")]
    pids = {int(words[4]) for words in holders if words[5].endswith(f":{inode}") and words[1] == "FLOCK"}
    return bool(pids & set(service.processes("clerk")))


def replace(nodes: Cluster, key: str, master: Node) -> None:
    """Wait until another has the key, and let its old master come back, as the replica without which nobody acts."""
    until(lambda: answering(lambda: nodes.master_of(key) is not master), "its replica takes over")
    master.start()


def answering(call: Callable[[], bool]) -> bool:
    try:
        return call()
    except Unavailable:
        return False


def test_a_failover_by_sentinels_is_told_as_a_problem_and_then_play_goes_on(tmp_path: Path) -> None:
    with watched(sentinels=1) as servers, services(tmp_path, servers.url, "one") as (one,):
        player = Player(lambda: one.url).sits_down("delver")
        player.acts(3)
        player.turn()
        body = player.action()
        old = servers.master()
        old.kill()
        until(lambda: player.once("POST", f"{player.game}/actions", "meanwhile", json=body) or player.problems, "told")
        assert player.problems <= {"unavailable", "outcome-unknown"}
        until(lambda: answering(lambda: servers.master() is not old), "the replica is named")
        servers.follow(old)
        done = until(lambda: player.once("POST", f"{player.game}/actions", "meanwhile", json=body), "it goes on")
        assert done.status_code == 201, done.text
        again = player.once("POST", f"{player.game}/actions", "meanwhile", json=body)
        assert again is not None
        assert again.json() == done.json()
        player.acknowledged[done.json()["seq"]] = done.json()["hash"]
        player.acts(3)
        player.check()
