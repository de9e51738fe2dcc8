"""``annals replay``: a stored game in the terminal, step by step, with a board.

`Player` is all of it but the terminal: keys go in, a picture of the screen comes out. It never looks ahead of where the
viewer is, so it never shows how long a game is or how it ended.
"""

import os
import re
import select
import sys
import termios
import time
import tty
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from rich.cells import cell_len
from rich.console import Console, Group, RenderableType
from rich.live import Live
from rich.panel import Panel
from rich.text import Text

from engine.registry import game_name
from events.log import EventLog
from replay import file
from replay.games import telling
from replay.position import DIVERGED, EXACT, UNVERIFIED
from replay.replay import Chapter, NoSuchPosition, Replay, Step
from replay.telling import Verbatim
from replay.words import LANGUAGES, words

CODES: Final = {EXACT: 0, UNVERIFIED: 1, DIVERGED: 2}
"""Exit code of each grade."""
SPEEDS: Final = (0.25, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
"""Steps a second."""
TOLD: Final = 8
"""How many of the last steps stay on the screen."""
KEYS: Final[dict[str, tuple[str, ...]]] = {
    "forward": ("right", "l", "j"),
    "back": ("left", "h", "k"),
    "next-chapter": ("down", "n"),
    "previous-chapter": ("up", "p"),
    "start": ("home",),
    "end": ("end",),
    "jump": ("g",),
    "play": (" ",),
    "faster": ("+",),
    "slower": ("-",),
    "language": ("t",),
    "quit": ("q", "escape"),
}
"""What each key does."""
SHOWN: Final = {"right": "→", "left": "←", "down": "↓", "up": "↑", " ": "␣", "home": "⇱", "end": "⇲"}
ESCAPES: Final = {
    b"\x1b[C": "right", b"\x1b[D": "left", b"\x1b[B": "down", b"\x1b[A": "up",
    b"\x1bOC": "right", b"\x1bOD": "left", b"\x1bOB": "down", b"\x1bOA": "up",
    b"\x1b[H": "home", b"\x1b[F": "end", b"\x1bOH": "home", b"\x1bOF": "end", b"\x1b[1~": "home", b"\x1b[4~": "end",
    b"\x1b": "escape", b"\r": "enter", b"\n": "enter", b"\x7f": "backspace", b"\x08": "backspace",
    b"\x03": "q", b"\x04": "q",
}  # fmt: skip
"""What a terminal sends for a key (ECMA-48, xterm)."""

Names = Callable[[Replay], Mapping[bytes, str]]


class Player:
    """A viewer's place in a game. ``press`` takes keys, ``tick`` is called when a playing step is due."""

    def __init__(
        self, replay: Replay, language: str = "en", speed: float = 1.0, names: Mapping[bytes, str] | None = None
    ) -> None:
        self.replay, self.names = replay, names or {}
        self.say = words(language)
        self.version, self.index = 0, 0
        self.speed = min(SPEEDS, key=lambda known: abs(known - speed))
        self.playing = self.done = False
        self.typed: str | None = None
        """The number being typed for a jump; None while none is."""
        self.message = ""

    # -- moving --------------------------------------------------------------------------------------------------------

    def press(self, key: str) -> None:
        """One key, by its character or name."""
        self.message = ""
        if self.typed is not None:
            self._type(key)
            return
        command = next((command for command, keys in KEYS.items() if key in keys), None)
        if command not in (None, "play", "faster", "slower", "language"):
            self.playing = False
        if command is not None:
            getattr(self, f"_{command.replace('-', '_')}")()

    def tick(self) -> None:
        """The next step, while playing; at the end it stops."""
        if self.playing and not self._forward():
            self.playing = False

    def jump(self, version: int, index: int = 1) -> None:
        """To a step of event ``version``; 0 is before the first.

        :raises NoSuchPosition: there is no such event.
        """
        if version == 0:
            self.version, self.index = 0, 0
            return
        steps = self._steps(version)
        self.version, self.index = version, min(index, len(steps))

    def _forward(self) -> bool:
        if self.version and self.index < len(self._steps(self.version)):
            self.index += 1
            return True
        return self._to(self.version + 1, 1)

    def _back(self) -> None:
        if self.index > 1:
            self.index -= 1
        elif self.version > 1:
            self._to(self.version - 1, len(self._steps(self.version - 1)))
        else:
            self.jump(0)
            self.message = self.say.raw("table.player.start")

    def _to(self, version: int, index: int) -> bool:
        try:
            self.jump(version, index)
        except NoSuchPosition:
            self.message = self.say.raw("table.player.end")
            return False
        return True

    def _next_chapter(self) -> None:
        here = (self.version, self.index)
        chapters = self.replay.chapters(self.say.language)
        following = next((chapter for chapter in chapters if (chapter.version, chapter.index) > here), None)
        if following is None:
            self._end()
        else:
            self.jump(following.version, following.index)

    def _previous_chapter(self) -> None:
        here = (self.version, self.index)
        before = [c for c in self.replay.chapters(self.say.language, self.version) if (c.version, c.index) < here]
        if before:
            self.jump(before[-1].version, before[-1].index)
        else:
            self.jump(0)

    def _start(self) -> None:
        self.jump(0)

    def _end(self) -> None:
        if len(self.replay):
            self.jump(len(self.replay), len(self._steps(len(self.replay))))
        self.message = self.say.raw("table.player.end")

    def _jump(self) -> None:
        self.typed = ""

    def _type(self, key: str) -> None:
        assert self.typed is not None
        if key.isdecimal():
            self.typed += key
        elif key == "backspace":
            self.typed = self.typed[:-1]
        elif key == "enter":
            typed, self.typed = self.typed, None
            try:
                self.jump(int(typed or "0"))
            except NoSuchPosition:
                self.message = self.say.text("table.player.nowhere", {"text": int(typed)})
        else:
            self.typed = None

    def _play(self) -> None:
        self.playing = not self.playing

    def _faster(self) -> None:
        self.speed = SPEEDS[min(SPEEDS.index(self.speed) + 1, len(SPEEDS) - 1)]

    def _slower(self) -> None:
        self.speed = SPEEDS[max(SPEEDS.index(self.speed) - 1, 0)]

    def _language(self) -> None:
        self.say = words(LANGUAGES[(LANGUAGES.index(self.say.language) + 1) % len(LANGUAGES)])

    def _quit(self) -> None:
        self.done = True

    # -- showing -------------------------------------------------------------------------------------------------------

    def told(self) -> list[Step]:
        """The last steps up to here."""
        steps: list[Step] = []
        version = self.version
        while version > 0 and len(steps) < TOLD:
            here = self._steps(version)
            steps = (here[: self.index] if version == self.version else here) + steps
            version -= 1
        return steps[-TOLD:]

    def chapter(self) -> Chapter | None:
        """The chapter that the viewer is in."""
        here = (self.version, self.index)
        began = [c for c in self.replay.chapters(self.say.language, self.version) if (c.version, c.index) <= here]
        return next((chapter for chapter in reversed(began) if chapter.kind == "turn"), began[-1] if began else None)

    def screen(self, width: int = 100, height: int = 40) -> RenderableType:
        """Everything on the screen."""
        told = self.told()[-max(3, height // 5) :]
        lines = [Text(self._title(), style="bold", no_wrap=True, overflow="ellipsis")]
        if (grade := self.replay.grade_at(self.version)).name != EXACT:
            note = self.say.text(f"table.grade.{grade.name}", {"number": grade.at})
            lines.append(Text(note, style="bold red" if grade.name == DIVERGED else "yellow"))
            if grade.finding is not None:
                lines.append(Text(grade.finding.detail, style="red"))
        story = Text("\n").join(
            Text.assemble((f"{step.version:>5} ", "dim"), (step.words, "bold" if step is told[-1] else "dim"))
            for step in told
        )
        keys = self._help()
        footer = [Text(self._status(), style="cyan"), Text(keys, style="dim")]
        used = len(lines) + len(told) + 2 + 1 + cell_len(keys) // width + 1
        board = Text("\n".join(self.board(width - 4, height - used)), no_wrap=True)
        return Group(*lines, Panel(board, expand=False), story, *footer)

    def board(self, width: int, height: int) -> list[str]:
        """The text board, cut to size around what happens."""
        position = self.replay.at(self.version)
        if position.rules is None or position.state is None:
            return []
        game = game_name(position.rules.id)
        view = position.rules.view(position.state, None)

        def name(term: str) -> str:
            noun = self.say.term(term, game)
            return noun.text if noun else term

        lines = telling(game).board(view, name)
        divider = len(lines) - 1 - lines[::-1].index("") if "" in lines else len(lines)  # the last empty line
        column, row = telling(game).focus(view)
        height = max(4, height - (len(lines) - divider))
        return [*cut(lines[:divider], column, row, width, height), *(line[:width] for line in lines[divider:])]

    def _title(self) -> str:
        chapter = self.chapter()
        here = self.say.text("table.player.at", {"number": self.version})
        return " · ".join([here, *([chapter.title] if chapter else [])])

    def _status(self) -> str:
        if self.typed is not None:
            return f"{self.say.raw('table.player.jump')} {self.typed}_"
        playing = self.say.text("table.player.playing", {"speed": f"{self.speed:g}"}) if self.playing else ""
        return self.message or playing

    def _help(self) -> str:
        return "  ".join(
            f"{SHOWN.get(keys[0], keys[0])} {self.say.raw(f'table.key.{command}')}" for command, keys in KEYS.items()
        )

    def _steps(self, version: int) -> list[Step]:
        return self.replay.steps_of(version, self.say.language, self.names)


def cut(lines: list[str], column: int, row: int, width: int, height: int) -> list[str]:
    """A window of ``lines`` that has the place at ``column`` and ``row`` as near its middle as it can."""
    widest = max(map(len, lines), default=0)
    left = max(0, min(column - width // 2, widest - width))
    top = max(0, min(row - height // 2, len(lines) - height))
    return [line[left : left + width].rstrip() for line in lines[top : top + height]]


# -- the terminal ------------------------------------------------------------------------------------------------------


def open_replay(target: str, log: Callable[[], EventLog], *, strict: bool = False) -> Replay:
    """A game by the name of a file or by its id (32 hex digits, or an address that holds them).

    :raises OSError: the file cannot be read.
    :raises LookupError: there is no such game.
    """
    path = Path(target)
    if path.suffix == file.SUFFIX or path.is_file():
        return Replay.read(path, strict=strict)
    found = re.findall(r"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])", target.lower())
    if not found:
        raise LookupError(f"{target!r} is neither a file nor a game")
    return Replay.load(log(), bytes.fromhex(found[-1]), strict=strict)


def run_replay(
    target: str,
    log: Callable[[], EventLog],
    *,
    language: str = "en",
    at: int = 0,
    speed: float = 1.0,
    play: bool = False,
    plain: bool = False,
    strict: bool = False,
    names: Names | None = None,
    console: Console | None = None,
) -> int:
    """The body of ``annals replay GAME_OR_FILE``. ``log`` is opened only if the game is no file.

    Where standard output is no terminal, or with ``plain``, all steps are printed. Answers the exit code: 0 EXACT,
    1 UNVERIFIED, 2 DIVERGED, as far as the game was shown.

    :raises OSError: the file cannot be read.
    :raises LookupError: there is no such game, or no event ``at``.
    :raises Diverged: something does not hold, with ``strict``.
    """
    console = console or Console(highlight=False)
    replay = open_replay(target, log, strict=strict)
    known = names(replay) if names else {}
    if plain or not (console.is_terminal and sys.stdin.isatty()):
        return print_steps(replay, console, language, known, at)
    player = Player(replay, language, speed, known)
    player.jump(at)
    player.playing = play
    watch(player, console)
    return CODES[replay.grade_at(player.version).name]


def print_steps(
    replay: Replay, console: Console, language: str = "en", names: Mapping[bytes, str] | None = None, after: int = 0
) -> int:
    """Every step on a line: event, sentence, rule paragraph; then the grade. Answers the exit code."""
    say = words(language)
    grade = EXACT
    for step in replay.steps(language, names, after):
        if step.grade != grade:
            grade = step.grade
            _print_grade(replay, console, language, step.version)
        rule = f"  §{step.rule}" if step.rule else ""
        console.print(Text(f"{step.version:>5}  {step.words}{rule}"), soft_wrap=True)
    whole = replay.grade
    if whole.name == EXACT:
        console.print(Text(say.raw("table.grade.EXACT")), soft_wrap=True)
    for damage in replay.damage:
        detail = f"{damage.place}: {damage.reason}"
        console.print(Text(say.text("table.player.damage", {"detail": Verbatim(detail)})), soft_wrap=True)
    return CODES[whole.name]


def _print_grade(replay: Replay, console: Console, language: str, version: int) -> None:
    grade = replay.grade_at(version)
    console.print(Text(words(language).text(f"table.grade.{grade.name}", {"number": grade.at})), soft_wrap=True)
    if grade.finding is not None:
        console.print(Text(f"       {grade.finding.detail}"), soft_wrap=True)


def watch(player: Player, console: Console) -> None:
    """Show a player on the terminal and give it the keys that are pressed, until it is done."""
    with _keys() as read, Live(console=console, screen=True, auto_refresh=False) as live:
        due = time.monotonic()
        while not player.done:
            live.update(player.screen(console.width, console.height), refresh=True)
            waiting = max(0.0, due - time.monotonic()) if player.playing else None
            key = read(waiting)
            if key is not None:
                player.press(key)
            if player.playing and time.monotonic() >= due:
                if key is None:
                    player.tick()
                due = time.monotonic() + 1 / player.speed


def keys_in(data: bytes) -> list[str]:
    """The keys of what a terminal sent at once."""
    keys: list[str] = []
    while data:
        known = max((code for code in ESCAPES if data.startswith(code)), key=len, default=b"")
        if known:
            keys.append(ESCAPES[known])
            data = data[len(known) :]
        else:
            text = data.decode("utf-8", "replace")
            keys.append(text[0])
            data = text[1:].encode()
    return keys


@contextmanager
def _keys() -> Iterator[Callable[[float | None], str | None]]:
    """Single keys from standard input: a function that waits for the next one, at most so many seconds."""
    stdin = sys.stdin.fileno()
    before = termios.tcgetattr(stdin)

    pressed: list[str] = []

    def read(seconds: float | None) -> str | None:
        if not pressed and select.select([stdin], [], [], seconds)[0]:
            pressed.extend(keys_in(os.read(stdin, 1024)) or ["q"])
        return pressed.pop(0) if pressed else None

    tty.setcbreak(stdin)
    try:
        yield read
    finally:
        termios.tcsetattr(stdin, termios.TCSADRAIN, before)
