"""``annals diff``: two positions of a game, two games, or a game under other rules, as lines of text."""

import json
from collections.abc import Callable, Iterable
from typing import Any

import msgspec
from msgspec import UNSET

from engine.registry import RULESETS
from events.log import EventLog
from replay.diff import Side, between, parting, under
from replay.replay import Change
from replay.terminal import open_replay


def run_diff(
    target: str,
    other: str | None,
    log: Callable[[], EventLog],
    *,
    old: int | None = None,
    new: int | None = None,
    ruleset: str | None = None,
    lang: str = "en",
    write: Callable[[str], None] = print,
) -> int:
    """The body of ``annals diff``. ``log`` is opened once, and only for a game that is no file. Answers the exit code:
    0 nothing is different, 1 something is.

    :raises OSError: a file cannot be read.
    :raises LookupError: there is no such game, position or ruleset.
    :raises ValueError: what is asked for does not go together.
    """
    if (other is not None) + (ruleset is not None) + (old is not None or new is not None) > 1:
        raise ValueError("either another game, or other rules, or two positions")
    opened: list[EventLog] = []

    def once() -> EventLog:
        if not opened:
            opened.append(log())
        return opened[0]

    replay = open_replay(target, once)
    if other is not None:
        lines = _parting(parting(replay, open_replay(other, once), lang))
    elif ruleset is not None:
        if ruleset not in RULESETS:
            raise LookupError(f"{ruleset} is none of {', '.join(RULESETS)}")
        lines = _under(under(replay, RULESETS[ruleset], lang))
    else:
        lines = _changes(between(replay, old or 0, len(replay) if new is None else new))
    for line in lines:
        write(line)
    return 1 if lines else 0


def _changes(changes: Iterable[Change], indent: str = "") -> list[str]:
    return [f"{indent}{change.path}: {_shown(change.old)} -> {_shown(change.new)}" for change in changes]


def _shown(value: Any) -> str:
    return "-" if value is UNSET else json.dumps(msgspec.to_builtins(value), ensure_ascii=False)


def _parting(parted: Any) -> list[str]:
    lines = _changes(parted.setup)
    if parted.first is None or parted.second is None:
        return lines
    lines.append(f"the same in {parted.common} events of play, up to {parted.upto[0]} and {parted.upto[1]}")
    return [*lines, *_side("<", parted.first), *_side(">", parted.second), *_changes(parted.changes, "  ")]


def _side(mark: str, side: Side) -> list[str]:
    if side.over:
        return [f"{mark} {side.version}: no more"]
    return [f"{mark} {side.version}: {side.words}", *(f"{mark}   {draw}" for draw in side.draws)]


def _under(report: Any) -> list[str]:
    lines = []
    for one in report.otherwise:
        rule = f" ({one.rule})" if one.rule else ""
        lines += [f"{one.version}: {one.words}", f"  {one.sort}: {one.other}{rule}", *_changes(one.changes, "  ")]
    return lines
