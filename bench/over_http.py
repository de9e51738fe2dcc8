"""Accepted actions over HTTP, everything on and durable, beside the bare endpoint and a plain XADD, round by round."""

import subprocess
import sys
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from typing import Any, Final

from bench import figures, profiling
from bench.figures import Figure, Profile, beside, percentile, say
from bench.games import Copied, Plan, finished
from bench.load import Run, drive, request, watch
from bench.servers import Servers, servers

CLIENTS: Final = 16
_BARE: Final = "bare Flask + one script append, same server and client"


def measure(scale: int) -> tuple[list[Figure], list[Profile]]:
    """Figures of actions over HTTP, and where their time goes. ``scale``: requests of each of many clients in a round;
    one alone sends five times as many."""
    entry = finished(0, 4)[100].data
    with servers(entry) as running, ProcessPoolExecutor(1, get_context("spawn")) as pool:
        return _Rounds(running, pool, entry, scale).measure()


class _Rounds:
    def __init__(self, running: Servers, pool: ProcessPoolExecutor, entry: bytes, scale: int) -> None:
        self._servers, self._pool, self._entry, self._scale = running, pool, entry, scale

    def measure(self) -> tuple[list[Figure], list[Profile]]:
        say("actions over HTTP: games are begun")
        rounds, many, alone = figures.ROUNDS, self._scale + 1, 5 * self._scale + 1
        plans = [Plan(self._servers, (rounds + 2) * many) for _ in range(CLIENTS)]
        relaxed = [Plan(self._servers, (rounds + 1) * many) for _ in range(CLIENTS)]
        singles = [Plan(self._servers, alone) for _ in range(rounds)]
        watched = [Plan(self._servers, many) for _ in range(rounds)]
        copies, copy = [Copied() for _ in range(CLIENTS)], Copied()
        kinds: dict[str, Callable[[int], Any]] = {
            "ours": lambda _: self._load(plans, many),
            "bare": lambda _: self._load(copies, many),
            "ours everysec": lambda _: self._relaxed(relaxed, many),
            "ours alone": lambda number: self._load([singles[number]], alone),
            "bare alone": lambda _: self._load([copy], alone),
            "xadd": lambda _: self._xadd(CLIENTS, 4 * self._scale),
            "xadd alone": lambda _: self._xadd(1, 5 * self._scale),
            "watched": lambda number: self._watch(watched[number], many),
        }
        self._load(plans, many)
        self._load(copies, many)
        self._relaxed(relaxed, many)
        took: dict[str, list[Any]] = {kind: [] for kind in kinds}
        for number in range(rounds):
            say(f"actions over HTTP: round {number + 1} of {rounds}")
            for kind, run in kinds.items():
                took[kind].append(run(number))
        profiles = profiling.actions(self._servers, plans, self._scale)
        return [*self._rates(took), *self._processor_time(took["ours"], took["bare"])], profiles

    def _rates(self, took: dict[str, list[Any]]) -> list[Figure]:
        rate = {kind: [run.rate for run in runs] for kind, runs in took.items() if isinstance(runs[0], Run)}
        late = {(kind, p): [percentile(run.latencies, p) for run in took[kind]] for kind in rate for p in (50, 99)}
        answers, frames = zip(*took["watched"], strict=True)
        many, one = f"{CLIENTS} clients", "1 client"
        return [
            beside(f"accepted actions, {many}", "/s", rate["ours"], rate["bare"], _BARE, 0.7),
            beside(f"accepted actions, {one}", "/s", rate["ours alone"], rate["bare alone"], _BARE, 0.7),
            beside(f"accepted actions, {many}", "/s", rate["ours"], took["xadd"], "XADD by the same library, no HTTP"),
            beside(f"accepted actions, {one}", "/s", rate["ours alone"], took["xadd alone"], "XADD likewise"),
            beside(f"accepted actions, {many}", "/s", rate["ours"], rate["ours everysec"], "ours, everysec", 0.6),
            *(
                beside(f"latency p{p}, {clients}", "ms", late[f"ours{kind}", p], late[f"bare{kind}", p], _BARE, *target)
                for clients, kind in ((many, ""), (one, " alone"))
                for p, *target in ((50, None, True), (99, 2, True))
            ),
            beside(
                "from sending an action to its frame at a watcher, p50", "ms",
                [percentile(each, 50) for each in frames], [percentile(each, 50) for each in answers],
                "to its answer", None, True,
            ),
        ]  # fmt: skip

    def _processor_time(self, ours: Sequence[Run], bare: Sequence[Run]) -> list[Figure]:
        """What an action costs each process, beside what a bare request costs it: why the rates are what they are."""

        def each(runs: Sequence[Run], part: str) -> list[float]:
            return [max(run.seconds[part], 1e-3) / len(run.latencies) * 1e6 for run in runs]  # it counts in ticks

        if not self._servers.pids["web"]:
            return []
        likewise = "a bare request, likewise"
        return [
            beside("processor time an action, web", "µs", each(ours, "web"), each(bare, "bare web"), likewise),
            beside(
                "processor time an action, database", "µs", each(ours, "database"), each(bare, "database"), likewise
            ),
            Figure("processor time an action, clerk meanwhile", figures.middle(each(ours, "clerk")), "µs"),
        ]

    def _load(self, sources: Sequence[Plan | Copied], count: int) -> Run:
        address = self._servers.bare if isinstance(sources[0], Copied) else self._servers.service
        requests = [source.take(count) for source in sources]
        return self._pool.submit(drive, address, requests, self._servers.pids).result()

    def _relaxed(self, plans: Sequence[Plan], count: int) -> Run:
        database = self._servers.database
        database.config_set("appendfsync", "everysec")
        try:
            return self._load(plans, count)
        finally:
            database.config_set("appendfsync", "always")

    def _xadd(self, clients: int, count: int) -> float:
        command = [sys.executable, "-m", "bench.xadd", self._servers.url, str(clients), str(count), self._entry.hex()]
        return float(subprocess.run(command, stdout=subprocess.PIPE, check=True).stdout)

    def _watch(self, plan: Plan, count: int) -> tuple[list[float], list[float]]:
        headers = {"Accept": "text/event-stream", "Last-Event-ID": plan.version}
        stream = request("GET", f"/v1/games/{plan.game}/events", headers)
        address, first = self._servers.service, plan.version + 1
        return self._pool.submit(watch, address, stream, plan.take(count), first).result()
