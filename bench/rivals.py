"""Peers: boardgame.io with its own server and client, and the library `eventsourcing`, each beside ours in turns.

They are installed for the run, from whatever registries the machine is set up for, into a directory that is gone
afterwards. What cannot be had is skipped, and said.
"""

import json
import os
import shutil
import socket
import subprocess
import tempfile
import time
import venv
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager
from functools import partial
from itertools import repeat
from multiprocessing import get_context
from pathlib import Path
from typing import Any, Final

from bench import figures, folding
from bench.figures import Figure, Profile, beside, percentile, say
from bench.games import ENDLESS, Copied, Plan, finished, walks
from bench.load import Run, drive
from bench.servers import Servers, servers

_FOLDER: Final = Path(__file__).parent / "peers"
BOARDGAME: Final = "boardgame.io@0.50.2"
_BESIDE_IT: Final = ("koa-compose@4.1.0", "node-persist@3.1.0")
"""Newer ones break it."""
SOURCING: Final = "eventsourcing==9.5.6"
CLIENTS: Final = (1, 16, 64)
_INSTALL_S: Final = 300
_EARLY, _LATE = 10, 1_000
_WINDOW: Final = 5
"""Actions before and behind one of which the median is taken."""
_LONG: Final = 3
_BARE: Final = "bare Flask + one script append"


class Skipped(RuntimeError):
    """A peer is not to be had here, and why."""


def measure(scale: int) -> tuple[list[Figure], list[Profile], list[str]]:
    """Figures beside the peers, no profiles, and why any are missing. ``scale``: actions of each client in a round."""
    skipped: list[str] = []
    taken: list[Figure] = []
    with tempfile.TemporaryDirectory(prefix="annals-bench-peers-") as folder:
        for part in (_boardgame, _sourcing):
            try:
                part(Path(folder), scale, taken, skipped)
            except Skipped as reason:
                say(f"skipped: {reason}")
                skipped.append(str(reason))
    return taken, [], skipped


# -- boardgame.io ----------------------------------------------------------------------------------------------------


def _boardgame(folder: Path, scale: int, taken: list[Figure], skipped: list[str]) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if npm is None or node is None:
        raise Skipped(f"{BOARDGAME}: node and npm are not installed")
    say(f"peers: {BOARDGAME} is installed")
    flags = ("--no-audit", "--no-fund", "--no-package-lock", "--ignore-scripts", "--prefix", str(folder))
    _installed(BOARDGAME, [npm, "install", *flags, BOARDGAME, *_BESIDE_IT])
    for script in _FOLDER.glob("*.cjs"):
        shutil.copy(script, folder)
    with ExitStack() as stack:
        running = stack.enter_context(servers(finished(0, 4)[100].data))
        pool = stack.enter_context(ProcessPoolExecutor(1, get_context("spawn")))
        peers = {
            kind: stack.enter_context(_peer(node, folder, *storage))
            for kind, storage in (("memory", ()), ("flat", (str(folder / "flat"),)))
        }
        rounds = _Rounds(running, pool, peers, scale, skipped)
        taken += [*rounds.rates(), *rounds.growth()]


class _Peer:
    """boardgame.io's server, and a process of clients."""

    def __init__(self, load: "subprocess.Popen[str]") -> None:
        self._load = load

    def run(self, kind: str, clients: int, count: int, warm: int = 1) -> Run:
        assert self._load.stdin is not None
        assert self._load.stdout is not None
        job = {"kind": kind, "clients": clients, "count": count, "warm": warm}
        self._load.stdin.write(json.dumps(job) + "\n")
        self._load.stdin.flush()
        if not (line := self._load.stdout.readline()):
            raise Skipped(f"{BOARDGAME}: its server fell over ({kind} clients: {clients}, moves of each: {count})")
        told = json.loads(line)
        return Run(told["rate"], told["latencies"], {})


@contextmanager
def _peer(node: str, folder: Path, *storage: str) -> Iterator[_Peer]:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = os.environ | {"NODE_ENV": "production"}
    with ExitStack() as stack:
        pipe: dict[str, Any] = {"cwd": folder, "env": environment, "stdout": subprocess.PIPE, "text": True}
        server = stack.enter_context(_ended(subprocess.Popen([node, "server.cjs", str(port), *storage], **pipe)))
        assert server.stdout is not None
        while (line := server.stdout.readline()) != "listening\n":
            if not line:
                raise RuntimeError("boardgame.io does not come up")
        load = subprocess.Popen([node, "load.cjs", str(port)], stdin=subprocess.PIPE, **pipe)
        yield _Peer(stack.enter_context(_ended(load)))


@contextmanager
def _ended(process: "subprocess.Popen[str]") -> Iterator["subprocess.Popen[str]"]:
    try:
        yield process
    finally:
        process.kill()
        process.communicate()


class _Rounds:
    """Ours, the bare endpoint and boardgame.io in both kinds of storage, in turns."""

    def __init__(
        self,
        running: Servers,
        pool: ProcessPoolExecutor,
        peers: dict[str, _Peer],
        scale: int,
        skipped: list[str],
    ) -> None:
        self._servers, self._pool, self._peers, self._scale, self._skipped = running, pool, peers, scale, skipped

    def rates(self) -> list[Figure]:
        """Actions a second and their latency with one client, 16 and 64."""
        taken: list[Figure] = []
        for clients in CLIENTS:
            each = max(4, self._scale * (8 if clients == 1 else 1)) + 1
            say(f"peers: games for {clients} clients are begun")
            rounds = figures.ROUNDS + 1
            if clients == 1:  # many actions in a round, so a game for each
                plans = iter([[Plan(self._servers, each)] for _ in range(rounds)])
            else:
                plans = repeat([Plan(self._servers, rounds * each) for _ in range(clients)])
            copies = [Copied() for _ in range(clients)]
            kinds: dict[str, Callable[[], Run]] = {
                "ours": lambda plans=plans, each=each: self._drive(next(plans), each),  # type: ignore[misc]
                "bare": partial(self._drive, copies, each),
                "memory raw": partial(self._peers["memory"].run, "raw", clients, each),
                "memory own": partial(self._peers["memory"].run, "own", clients, each),
                "flat raw": partial(self._peers["flat"].run, "raw", clients, each),
            }
            runs: dict[str, list[Run]] = {kind: [] for kind in kinds}
            for number in range(rounds):
                say(f"peers: {clients} clients, round {number} of {figures.ROUNDS}")
                for kind in list(kinds):
                    if (done := self._tried(kinds[kind])) is None:
                        del kinds[kind]
                    elif number:  # the first one warms up
                        runs[kind].append(done)
            taken += self._told(clients, {kind: runs[kind] for kind in kinds})
        return taken

    def _tried(self, run: Callable[[], Run]) -> Run | None:
        """None: the peer fell over, and that is told."""
        try:
            return run()
        except Skipped as reason:
            say(f"skipped: {reason}")
            self._skipped.append(str(reason))
            return None

    def _told(self, clients: int, runs: dict[str, list[Run]]) -> Iterator[Figure]:
        rate = {kind: [run.rate for run in done] for kind, done in runs.items()}
        many = f"{clients} clients" if clients > 1 else "1 client"
        held: tuple[tuple[str, str, float | None], ...] = (
            ("bare", _BARE, 0.7),
            ("memory raw", "boardgame.io in memory, bare sockets", 0.8 if clients == 16 else None),
            ("memory own", "boardgame.io in memory, its own client", None),
            ("flat raw", "boardgame.io with FlatFile, bare sockets", 6 if clients == 16 else None),
        )
        held = tuple(line for line in held if line[0] in runs)
        for kind, against, target in held:
            yield beside(f"accepted actions, {many}", "/s", rate["ours"], rate[kind], against, target)
        for percent in (50, 99):
            late = {kind: [percentile(run.latencies, percent) for run in done] for kind, done in runs.items()}
            for kind, against, _ in held:
                target = 2 if (kind, percent) == ("bare", 99) else None
                yield beside(f"latency p{percent}, {many}", "ms", late["ours"], late[kind], against, target, True)

    def growth(self) -> list[Figure]:
        """How an action late in a game compares with an early one."""
        say(f"peers: action {_LATE} of a game beside its action {_EARLY}")
        count = _LATE + _WINDOW
        plans = [Plan(self._servers, count, ENDLESS, walks) for _ in range(_LONG)]
        peers = {"boardgame.io, memory": self._peers["memory"], "boardgame.io, FlatFile": self._peers["flat"]}
        seen = {"ours": [self._drive([plan], count + 1) for plan in plans]}
        for kind, peer in peers.items():
            runs = list[Run]()
            while len(runs) < len(plans) and (run := self._tried(partial(peer.run, "raw", 1, count))) is not None:
                runs.append(run)
            if len(runs) == len(plans):
                seen[kind] = runs
        early, late = (
            {
                kind: [figures.middle(run.latencies[number - _WINDOW : number + _WINDOW]) for run in runs]
                for kind, runs in seen.items()
            }
            for number in (_EARLY, _LATE)
        )
        return [
            beside(
                f"latency of action {_LATE}, {kind}", "ms", late[kind], early[kind], f"of its action {_EARLY}",
                1 / 0.9 if kind == "ours" else None, True,
            )
            for kind in seen
        ]  # fmt: skip

    def _drive(self, sources: Sequence[Plan | Copied], count: int) -> Run:
        address = self._servers.bare if isinstance(sources[0], Copied) else self._servers.service
        return self._pool.submit(drive, address, [source.take(count) for source in sources], {}).result()


# -- eventsourcing ---------------------------------------------------------------------------------------------------


def _sourcing(folder: Path, _scale: int, taken: list[Figure], _skipped: list[str]) -> None:
    say(f"peers: {SOURCING} is installed")
    try:
        venv.create(folder / "python", with_pip=True)
    except (OSError, subprocess.CalledProcessError) as error:
        raise Skipped(f"{SOURCING}: no virtual environment can be made: {error}") from error
    python = folder / "python" / "bin" / "python"
    _installed(SOURCING, [str(python), "-m", "pip", "install", "--quiet", "--no-input", SOURCING])
    games = [[event.data for event in finished(seed, 6)] for seed in range(2)]
    count = sum(map(len, games)) // len(games)
    command = [str(python), str(_FOLDER / "sourced.py")]
    with _ended(subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)) as peer:
        assert peer.stdin is not None
        assert peer.stdout is not None
        ours, memory, sqlite = list[float](), list[float](), list[float]()
        for number in range(figures.ROUNDS + 1):
            peer.stdin.write(f"{count}\n")
            peer.stdin.flush()
            told = [float(part) for part in peer.stdout.readline().split()]
            begun = time.perf_counter()
            for game in games:
                folding.refold(game)
            took = time.perf_counter() - begun
            if number:
                ours.append(sum(map(len, games)) / took)
                memory.append(told[0])
                sqlite.append(told[1])
    against = f"eventsourcing rebuilding an aggregate of {count} events"
    taken += [
        beside("refold from stored bytes, every fingerprint", "/s", ours, memory, f"{against}, POPO", 4),
        beside("refold from stored bytes, every fingerprint", "/s", ours, sqlite, f"{against}, SQLite", 4),
    ]


def _installed(what: str, command: list[str]) -> None:
    """
    :raises Skipped: it is not to be had.
    """
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=_INSTALL_S, check=False)
    except subprocess.TimeoutExpired as error:
        raise Skipped(f"{what}: not installed within {_INSTALL_S} s") from error
    if done.returncode:
        last = (done.stderr.strip() or done.stdout.strip() or "no word").splitlines()[-1]
        raise Skipped(f"{what}: it cannot be installed ({last[:120]})")
