"""``annals validate``: refold every stored game and case, and say of each whether it is still what was written.

Run it before a release: it names the games that changed rules would break.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from events.case_bodies import opens_case
from events.event import Event
from events.log import Archived, Damage, EventLog
from replay.case import fold_case
from replay.position import DIVERGED, EXACT, UNVERIFIED
from replay.replay import Grade, Replay
from replay.terminal import open_replay

ARCHIVED, UNREADABLE = "ARCHIVED", "UNREADABLE"
CODES: Final = {EXACT: 0, ARCHIVED: 0, UNVERIFIED: 1, DIVERGED: 2, UNREADABLE: 2}
"""Exit code of each grade; of several games the highest."""
STYLES: Final = {EXACT: "green", ARCHIVED: "dim", UNVERIFIED: "yellow", DIVERGED: "bold red", UNREADABLE: "bold red"}


class Line(msgspec.Struct, frozen=True):
    """What was found of one game."""

    name: str
    grade: str
    events: int
    detail: str = ""


def validate(log: EventLog, games: Iterable[bytes]) -> Iterator[Line]:
    """Refold games of a log, one after the other."""
    for game_id in games:
        yield _line(log, game_id.hex())


def judged(name: str, replay: Replay) -> Line:
    """A game with its grade."""
    grade = replay.grade
    return Line(name, grade.name, len(replay), detail(grade))


def detail(grade: Grade) -> str:
    """Where a game is not exact, and why."""
    if grade.finding is None:
        return "" if grade.at is None else f"event {grade.at}: its meaning is not known here"
    found = grade.finding
    sides = f" (stored {found.stored}, folded {found.folded})" if found.folded else ""
    return f"event {grade.at}: {found.detail}{sides}"


def run_validate(
    log: EventLog, targets: Sequence[str] = (), *, quiet: bool = False, console: Console | None = None
) -> int:  # fmt: skip
    """The body of ``annals validate``: every game of the log, or those named (ids or files). Answers the exit code:
    0 all exact, 1 some unverified, 2 some diverged or unreadable. ``quiet`` lists only what is not exact.
    """
    console = console or Console(highlight=False)
    names = list(targets) or sorted(game_id.hex() for game_id in log.games())
    counts: dict[str, int] = {}
    events = 0
    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        for name in progress.track(names, description="games"):
            line = _line(log, name)
            counts[line.grade] = counts.get(line.grade, 0) + 1
            events += line.events
            if not quiet or line.grade != EXACT:
                console.print(_told(line), soft_wrap=True)
    told = ", ".join(f"{count} {grade}" for grade, count in sorted(counts.items())) or "none"
    console.print(f"{len(names)} games, {events} events: {told}", soft_wrap=True)
    return max((CODES[grade] for grade in counts), default=0)


def _line(log: EventLog, name: str) -> Line:
    try:
        replay = open_replay(name, lambda: log)
        first = replay.event(1)
        if first is not None and opens_case(first):
            return _case(log, name, replay)
        return judged(name, replay)
    except Archived as archived:
        return Line(name, ARCHIVED, archived.version)
    except (OSError, LookupError) as error:
        return Line(name, UNREADABLE, 0, str(error))


def _case(log: EventLog, name: str, replay: Replay) -> Line:
    """A case with its grade; one of the log must also end with the event that was acknowledged."""
    items: list[Event | Damage] = [*replay.damage]
    items += [event for n in range(1, len(replay) + 1) if (event := replay.event(n)) is not None]
    case = fold_case(replay.game_id, items, None if Path(name).is_file() else log.head(replay.game_id))
    found = case.findings[0] if case.findings else None
    return Line(name, case.grade, len(replay), detail(Grade(case.grade, case.first_bad, found)))


def _told(line: Line) -> Text:
    grade = (f"{line.grade:<10}", STYLES[line.grade])
    return Text.assemble(line.name, "  ", grade, f" {line.events:>6} events", f"  {line.detail}".rstrip())
