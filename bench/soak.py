"""``python -m bench.soak``: both games played for long, by people and bots, watched, with a fault now and then.

A table of every minute: what was acknowledged, its latency beside that of a request that does nothing, the memory and
open files of every process, and what an event costs the database. Exit status 1 if a promise was broken, or if memory,
open files or latency grew from the second quarter to the last.
"""

import argparse
import os
import re
import signal
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final

from bench.chaos.__main__ import machine
from bench.chaos.clients import Gone, Link, Load
from bench.chaos.faults import FAULTS, Scene
from bench.chaos.site import Site, stored
from bench.history import Judgement, judge
from bench.processes import PROC

PAGE: Final = Path("docs/reliability.md")
CACHE_GAMES: Final = 12
"""Games that each worker keeps: so few that their memory is full long before the end, and what grows then is a leak."""
MOST_GROWTH: Final = 1.1
MOST_SLOWER: Final = 1.5
_STEADY: Final = ("supervisor", "web server", "worker", "clerk")
"""Processes that nothing happens to after the first quarter."""
_STRIKES: Final = ("clerk", "worker", "database", "worker", "database")
"""In turns; the clerk is ended once, early, and of the workers always the younger one."""


@dataclass
class Minute:
    """What was measured of one minute."""

    number: int
    rate: float
    """Acknowledged actions a second."""
    p50_ms: float
    p99_ms: float
    idle_ms: float
    """The median of a request that does nothing, likewise."""
    rss: dict[str, float] = field(default_factory=dict)
    """Resident MiB, by part of the service."""
    files: dict[str, int] = field(default_factory=dict)
    events: int = 0
    database_mib: float = 0.0
    fault: str = ""


class Idle(threading.Thread):
    """Asks for what costs nothing, so that a machine that is busy elsewhere can be told from a service that is slow."""

    def __init__(self, site: Site) -> None:
        super().__init__(daemon=True)
        self._site, self.stopping = site, threading.Event()
        self.took: list[float] = []

    def run(self) -> None:
        link = Link(self._site.host, self._site.port)
        while not self.stopping.wait(0.1):
            began = time.monotonic()
            try:
                link.call("GET", "/healthz", {})
            except Gone:
                continue
            self.took.append((time.monotonic() - began) * 1000)
        link.close()

    def take(self) -> float:
        """The median since the last time, in milliseconds."""
        took, self.took = self.took, []
        return statistics.median(took) if took else 0.0


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.soak", description=__doc__)
    parser.add_argument("--minutes", type=int, default=20)
    parser.add_argument("--clients", type=int, default=10)
    parser.add_argument("--watchers", type=int, default=8)
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    asked = parser.parse_args()
    minutes, found, lines = soak(asked.minutes, asked.clients, asked.watchers)
    text = f"{table(minutes)}\n\n{summary(found)}"
    print(text)
    for line in lines:
        print(f"! {line}")
    if asked.write:
        write(text)
    sys.exit(bool(lines))


def soak(
    minutes: int, clients: int, watchers: int, minute_s: float = 60.0
) -> tuple[list[Minute], Judgement, list[str]]:
    """Run it. Answers with every minute, the checker's judgement, and what was not as promised."""
    taken: list[Minute] = []
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="annals-soak-", ignore_cleanup_errors=True))
        )
        site = Site(folder, environment={"ANNALS_CACHE_GAMES": str(CACHE_GAMES)})
        stack.callback(site.stop)
        site.start()
        load = Load(site.host, site.port, clients, watchers, stay_s=20.0).begin()
        idle = Idle(site)
        idle.start()
        scene = Scene(site, load)
        elder = min(site.workers())  # is never ended, so that its memory tells of the whole time
        strikes = list(_STRIKES)
        begun = time.monotonic()
        for number in range(1, minutes + 1):
            fault = ""
            if number % 3 == 2 and number < minutes and strikes:
                _strike(scene, fault := strikes.pop(0), elder)
            threading.Event().wait(max(0.0, begun + number * minute_s - time.monotonic()))
            taken.append(one := _minute(number, site, load, idle, elder, minute_s))
            one.fault = fault
            print(_row(one), file=sys.stderr, flush=True)
        lines = load.end()
        idle.stopping.set()
        policy = site.get("/v1/log/policy").decode()
        with site.client() as client:
            found = judge(load.told.seen, stored(client, load.told.ends), policy)
    lines += found.lines
    lines += [f"{count} unclear answers: {what}" for what, count in sorted(load.told.unclear.items())]
    return taken, found, lines + grown(taken)


def _strike(scene: Scene, name: str, elder: int) -> None:
    if name == "worker":
        for pid in set(scene.site.workers()) - {elder}:
            os.kill(pid, signal.SIGKILL)
    else:
        next(fault for fault in FAULTS if fault.name == name).strike(scene)


def _minute(number: int, site: Site, load: Load, idle: Idle, elder: int, minute_s: float) -> Minute:
    now = time.monotonic()
    took = sorted((one.ended - one.began) * 1000 for one in load.acknowledged(now - minute_s))
    one = Minute(number, len(took) / minute_s, _percentile(took, 50), _percentile(took, 99), idle.take())
    for name, pid in _parts(site, elder).items():
        one.rss[name], one.files[name] = _memory(pid), _files(pid)
    one.events = sum(load.told.ends.values())
    with site.client() as client:
        one.database_mib = int(client.info("memory")["used_memory"]) / 2**20
    return one


def _parts(site: Site, elder: int) -> dict[str, int]:
    workers = site.workers()
    return {
        "supervisor": site.supervisor,
        "web server": site.master(),
        "worker": elder,
        "other worker": next((pid for pid in workers if pid != elder), elder),
        "clerk": site.clerk(),
        "database": site.database(),
    }


def _memory(pid: int) -> float:
    """Resident MiB."""
    try:
        found = re.search(r"VmRSS:\s+(\d+)", (PROC / str(pid) / "status").read_text())
    except FileNotFoundError:
        return 0.0
    return int(found[1]) / 1024 if found else 0.0


def _files(pid: int) -> int:
    try:
        return len(list((PROC / str(pid) / "fd").iterdir()))
    except FileNotFoundError:
        return 0


def _percentile(took: Sequence[float], percent: int) -> float:
    return took[min(len(took) - 1, len(took) * percent // 100)] if took else 0.0


def grown(minutes: Sequence[Minute]) -> list[str]:
    """What was more in the last quarter than in the second, by more than it may be: medians of the minutes."""
    quarter = len(minutes) // 4
    if not quarter:
        return []
    early, late = minutes[quarter : 2 * quarter], minutes[-quarter:]

    def compare(what: str, measure: Callable[[Minute], float], most: float, slack: float = 0.0) -> list[str]:
        before, after = (statistics.median(map(measure, some)) for some in (early, late))
        return [] if after <= before * most + slack else [f"{what} grew from {before:.1f} to {after:.1f}"]

    lines = []
    for part in _STEADY:
        lines += compare(f"memory of the {part} (MiB)", lambda one, part=part: one.rss[part], MOST_GROWTH)  # type: ignore[misc]
        lines += compare(f"open files of the {part}", lambda one, part=part: one.files[part], MOST_GROWTH, 5)  # type: ignore[misc]
    lines += compare(
        "memory of the database an event (B)", lambda one: one.database_mib * 2**20 / one.events, MOST_GROWTH
    )
    lines += compare(
        "median latency over an idle request's", lambda one: one.p50_ms / max(one.idle_ms, 0.1), MOST_SLOWER
    )
    lines += compare("p99 latency over an idle request's", lambda one: one.p99_ms / max(one.idle_ms, 0.1), 2.0)
    return lines


_HEAD: Final = (
    "| minute | actions /s | p50 | p99 | idle request | supervisor | web server | worker | other worker | clerk "
    "| database | B an event | open files | killed |"
)


def _row(one: Minute) -> str:
    took = f"{one.p50_ms:.0f} ms | {one.p99_ms:.0f} ms | {one.idle_ms:.1f} ms"
    memory = " | ".join(f"{mib:.0f}" for mib in one.rss.values())
    each, files = one.database_mib * 2**20 / max(one.events, 1), sum(one.files.values())
    return f"| {one.number} | {one.rate:.0f} | {took} | {memory} | {each:.0f} | {files} | {one.fault} |"


def table(minutes: Sequence[Minute]) -> str:
    """The table of docs/reliability.md; memory in MiB resident."""
    return "\n".join([_HEAD, "|" + "---:|" * 13 + "---|", *map(_row, minutes)])


def summary(found: Judgement) -> str:
    """What the history checker says of it."""
    refused = ", ".join(f"{count} {code}" for code, count in sorted(found.refused.items()))
    return (
        f"{found.acknowledged:,} actions acknowledged in {found.games} games of {found.events:,} events, "
        f"{found.whole} of them whole; {found.lost} lost, {found.doubled} doubled, {found.unknown} unknown; "
        f"refused: {refused or 'none'}; {found.streamed:,} events streamed."
    )


def write(text: str) -> None:
    """Put the table into docs/reliability.md."""
    command = " ".join(["python -m bench.soak", *(word for word in sys.argv[1:] if word != "--write")])
    filled = f"<!-- soak -->\n`{command}` on {machine()}.\n\n{text}\n<!-- end of soak -->"
    page = PAGE.read_text()
    PAGE.write_text(re.sub("<!-- soak -->.*<!-- end of soak -->", lambda _: filled, page, flags=re.DOTALL))


if __name__ == "__main__":
    main()
