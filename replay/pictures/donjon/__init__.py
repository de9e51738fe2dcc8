"""Le Donjon: the map on top, fitted to what is discovered; below it the turn and what is pending; then the heroes.

Element ids: ``tile-X-Y`` every cell of the map, hidden ones too; ``thing-X-Y`` a monster, chest or item; ``hero-SEAT``
on the map, ``panel-SEAT`` below it; ``choices`` and ``news`` what marks the cells that may be chosen, and what has just
happened there; ``told`` the same in words; ``pointer`` at an active hero who is drawn small; ``retreat`` where it would
retreat to; ``die-N``; ``moves``, ``pile``; and whatever else the targets of the legal actions name: ``fight``,
``trap``, ``chest``, ``item``, ``fountain``, ``loot``, ``leave-loot``, ``offer-...``, ``next``, ... The frame's
buttons show what is legal for the active seat, as outlines what it would naturally ask for and may not.

Heroes and things let the pointer through to their tile: a page gives ``pointer-events`` back where one is a target.
"""

from collections.abc import Sequence
from typing import Any

from engine.donjon.state import State
from engine.protocol import Happening, Rules
from replay.pictures.donjon.board import Board
from replay.pictures.donjon.panel import FRAME, ROW, Frame, row
from replay.pictures.donjon.scene import Scene
from replay.pictures.shared import WIDTH, Theme

MARGIN = 4


def draw(
    rules: Rules[Any],
    state: State,
    viewer: int | None,
    language: str,
    theme: Theme,
    happened: Sequence[Happening],
    before: Sequence[Happening],
) -> str:
    """The picture of a position. Nothing in this game is hidden: every viewer sees the same."""
    scene = Scene(rules, state, language, happened, before)
    board = Board(scene, WIDTH - 2 * MARGIN)
    parts = [board.draw(MARGIN, MARGIN)]
    y = board.height + MARGIN
    told, high = scene.told(y)
    parts.append(told)
    y += high or MARGIN
    if state.active:
        parts.append(Frame(scene).draw(y))
        y += FRAME
    seats = range(1, len(state.heroes) + 1)
    parts += [row(scene, seat, y + (seat - 1) * ROW) for seat in seats]
    y += len(seats) * ROW + MARGIN
    name = f"{scene.term('game')} · {scene.headline()}"
    description = " ".join(scene.about(seat, state.heroes[seat - 1]) for seat in seats)
    return scene.sheet.picture(y, name, description, theme, scene.words.language, *parts)
