"""``annals validate``: refold every stored game and case, and say of each whether it is still what was written.

Run it before a release: it names the games that changed rules would break.
"""

import re
import signal
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import closing
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn
from rich.text import Text

from events.case_bodies import opens_case
from events.event import Event
from events.log import Archived, Damage, EventLog, whole
from replay.case import fold_case
from replay.position import DIVERGED, EXACT, UNVERIFIED, Diverged, Position
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
    log: EventLog,
    targets: Sequence[str] = (),
    *,
    quiet: bool = False,
    console: Console | None = None,
    reopen: Callable[[], EventLog] | None = None,
    workers: int = 1,
) -> int:
    """The body of ``annals validate``: every game of the log, or those named (ids or files). Answers the exit code:
    0 all exact, 1 some unverified, 2 some diverged or unreadable, 130 interrupted. ``quiet`` lists only what is not
    exact. With ``reopen``, which opens the log once more, so many ``workers`` share the games: processes of their own.
    """
    console = console or Console(highlight=False)
    names = list(targets) or sorted(game_id.hex() for game_id in log.games())
    workers = 1 if reopen is None else max(1, min(workers, len(names) // _WORTH))
    counts: dict[str, int] = {}
    done, events, begun, interrupted = 0, 0, time.monotonic(), False
    columns = (
        TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TextColumn("{task.fields[pace]}"),
        TimeRemainingColumn(),
    )  # fmt: skip
    with Progress(*columns, console=console, transient=True, disable=not console.is_terminal) as progress:
        task = progress.add_task("games", total=len(names), pace="")
        try:
            with closing(_lines(log, names, reopen, workers)) as lines:
                for line in lines:
                    counts[line.grade] = counts.get(line.grade, 0) + 1
                    done, events = done + 1, events + line.events
                    pace = events / max(time.monotonic() - begun, 1e-3)
                    progress.update(task, advance=1, pace=f"{pace:,.0f} events/s")
                    if not quiet or line.grade != EXACT:
                        console.print(_told(line), soft_wrap=True)
        except KeyboardInterrupt:
            interrupted = True
    told = ", ".join(f"{count} {grade}" for grade, count in sorted(counts.items())) or "none"
    console.print(f"{done} games, {events} events: {told}", soft_wrap=True)
    if interrupted:
        console.print(f"interrupted: {len(names) - done} games were not looked at", soft_wrap=True)
        return 130
    return max((CODES[grade] for grade in counts), default=0)


def _lines(
    log: EventLog, names: Sequence[str], reopen: Callable[[], EventLog] | None, workers: int
) -> Generator[Line, None, None]:  # fmt: skip
    """The games in the order of their names. Closed before the end, it waits for no more than what is being read."""
    if workers == 1 or reopen is None:
        yield from (_line(log, name) for name in names)
        return
    pool = ProcessPoolExecutor(workers, get_context("spawn"), _begin, (reopen,))
    try:
        yield from pool.map(_line_of_mine, names, chunksize=_CHUNK)
    finally:
        pool.shutdown(cancel_futures=True)


_WORTH: Final = 32
"""Games for which another process is worth its start."""
_CHUNK: Final = 8
_mine: list[EventLog] = []
"""The log of this process, where it is a worker."""


def _begin(reopen: Callable[[], EventLog]) -> None:
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the one who asked is told, and ends this process
    _mine.append(reopen())


def _line_of_mine(name: str) -> Line:
    return _line(_mine[0], name)


def _line(log: EventLog, name: str) -> Line:
    try:
        if (count := _exact(log, name)) is not None:
            return Line(name, EXACT, count)
        replay = open_replay(name, lambda: log)
        first = replay.event(1)
        if first is not None and opens_case(first):
            return _case(log, name, replay)
        return judged(name, replay)
    except Archived as archived:
        return Line(name, ARCHIVED, archived.version)
    except (OSError, LookupError) as error:
        return Line(name, UNREADABLE, 0, str(error))


def _exact(log: EventLog, name: str) -> int | None:
    """How many events a game of the log has, where every one of them is as it was written: nothing is kept of them.
    None: look closer."""
    if not _ID.fullmatch(name):
        return None
    position = Position(bytes.fromhex(name))
    for item in whole(log, position.game_id):
        if isinstance(item, Damage) or opens_case(item):
            return None
        try:
            position.advance(item)
        except Diverged:
            return None
    return position.version if position.version and position.grade == EXACT else None


_ID: Final = re.compile("[0-9a-f]{32}")


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
