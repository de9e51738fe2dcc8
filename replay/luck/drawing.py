"""The luck of a game as a picture: for each seat a line beyond what fair dice give on average, and one of its score."""

from collections.abc import Callable, Sequence
from typing import Any, Final

from markupsafe import Markup

from engine.registry import game_name
from replay.luck import lots
from replay.luck.report import GameLuck, Line, number
from replay.pictures.shared import WIDTH, Sheet, Theme, joined, tag, write
from replay.telling import Verbatim, capital
from replay.words import Words, words

LEFT: Final = 34.0
RIGHT: Final = WIDTH - 36.0
ROW: Final = 20.0
DASHES: Final = (None, "8 3", "2 2.5", "9 3 2 3", "1.5 4", "14 4")
Point = tuple[int, float]


def draw(report: GameLuck, language: str, theme: Theme = "auto") -> str:
    """A report as an SVG, 360 units wide. The same report always gives the same bytes."""
    said, sheet = words(language), Sheet()
    game = game_name(report.ruleset)
    term = said.term("game", game)
    title = f"{term.text if term else game} · {said.raw('luck.picture.title')}"
    body = [write(title, WIDTH / 2, 24, 15, "b m", WIDTH - 20)]
    y = 40.0
    if any(line.luck for line in report.lines):
        measure = said.raw(f"luck.measure.{game}.{next(iter(lots(game).measures))}")
        headings = [measure, said.raw("luck.picture.luck")]
        luck = [[(0, 0.0), *line.luck, *_held(line.luck, report.version)] for line in report.lines]
        body.append(_panel(headings, y, 120, luck, report.version, lambda value: number(value, 1, language)))
        y += 182
    else:
        body.append(write(said.raw("luck.picture.nothing"), WIDTH / 2, y + 14, 12, "dim m", WIDTH - 20))
        y += 30
    scores = [_stairs(line.score, report.version) for line in report.lines]
    score = [said.raw("luck.picture.score")]
    body.append(_panel(score, y, 84, scores, report.version, lambda value: number(value, 0, language)))
    y += 132
    for line in report.lines:
        body.append(_key(line, y, said))
        y += ROW
    described = " ".join([*(_told(line, said) for line in report.lines), *report.words])
    return sheet.picture(y + 4, title, described, theme, said.language, *body)


def _held(line: Sequence[Point], end: int) -> list[Point]:
    return [(end, line[-1][1])] if line else []


def _stairs(line: Sequence[tuple[int, int]], end: int) -> list[Point]:
    """A score stays what it is until it changes."""
    points: list[Point] = []
    for version, value in line:
        points += [(version, points[-1][1]), (version, float(value))] if points else [(version, float(value))]
    return [*points, *_held(points, end)]


def _panel(
    headings: Sequence[str],
    y: float,
    height: float,
    lines: Sequence[Sequence[Point]],
    end: int,
    shown: Callable[[float], Any],
) -> Markup:
    """Lines in a frame: the headings above it, the least and greatest value and nought beside it, events below."""
    values = [value for line in lines for _, value in line] or [0.0]
    low, high = min(0.0, *values), max(0.0, *values)
    high = high if high > low else low + 1
    top = y + 4 + 14 * len(headings)
    foot = top + height

    def across(version: float) -> float:
        return LEFT + (RIGHT - LEFT) * version / max(end, 1)

    def down(value: float) -> float:
        return foot - 6 - (height - 12) * (value - low) / (high - low)

    parts = [
        *(write(said, LEFT, y + 10 + 14 * n, 10.5, "", WIDTH - LEFT - 4) for n, said in enumerate(headings)),
        tag("rect", class_="floor", x=LEFT, y=top, width=RIGHT - LEFT, height=height, rx=4),
        tag("path", class_="seam", d=f"M{LEFT:.1f} {down(0):.1f}H{RIGHT:.1f}"),
    ]
    parts += [
        write(str(shown(value)), LEFT - 4, down(value) + 3.5, 9.5, "e dim", LEFT - 6)
        for value in dict.fromkeys((low, 0.0, high))
    ]
    parts.append(write("0", LEFT, foot + 13, 9.5, "dim m"))
    parts.append(write(str(end), RIGHT, foot + 13, 9.5, "dim m"))
    for seat, line in enumerate(lines, 1):
        if line:
            path = "L".join(f"{across(version):.1f} {down(value):.1f}" for version, value in line)
            parts.append(_line(seat, f"M{path}"))
    ends = {seat: down(line[-1][1]) + 3.5 for seat, line in enumerate(lines, 1) if line}
    above = -20.0
    while ends:
        at = min(ends.values())
        together = [seat for seat, here in ends.items() if here < at + 5]
        ends = {seat: here for seat, here in ends.items() if seat not in together}
        above = max(at, above + 9)
        named = "·".join(map(str, together[:2] if len(together) > 3 else together))
        parts.append(write(named + ("…" if len(together) > 3 else ""), RIGHT + 3, above, 10, "b", WIDTH - RIGHT - 4))
    return joined(*parts)


def _line(seat: int, path: str) -> Markup:
    """Seats are told apart by dashes too, not by colour alone."""
    style = (seat - 1) % len(DASHES)
    return tag("path", class_=f"n of-{style + 1}", d=path, stroke_width=2.2, stroke_dasharray=DASHES[style])


def _key(line: Line, y: float, said: Words) -> Markup:
    sample = tag("rect", class_="floor", x=LEFT, y=y - 9, width=38, height=12, rx=3)
    stroke = _line(line.seat, f"M{LEFT + 3:.1f} {y - 3:.1f}h32")
    number_of = write(str(line.seat), LEFT - 12, y, 11, "b m")
    return joined(number_of, sample, stroke, write(_told(line, said), LEFT + 46, y, 11, "", WIDTH - LEFT - 56))


def _told(line: Line, said: Words) -> str:
    language = said.language
    luck, score = line.luck[-1][1] if line.luck else 0.0, line.score[-1][1] if line.score else 0
    sign = "+" if luck > 0 else ""
    facts = {
        "name": Verbatim(capital(line.name)),
        "luck": Verbatim(sign + number(luck, 1, language)),
        "score": score,
    }
    return said.text("luck.picture.line", facts)
