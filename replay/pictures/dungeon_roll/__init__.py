"""Dungeon Roll: the table on top, below it what is pending and offered, the hero's card, and the seats in their order.

Element ids: ``party-N`` and ``dungeon-N`` every die, wherever it lies; ``temp-N`` and ``temp-hero`` temporary
companions; ``monsters``, ``chests``, ``potions`` the dice of the level by kind, ``reserve`` and ``reserve-LEVEL`` those
that wait; ``dragon`` and ``lair``; ``party``, ``graveyard``, ``removed``, ``scrolls``; ``treasures`` in hand, each kind
``treasure-KIND``, and ``treasure-supply``;
``level``, ``phase-NAME``; ``hero-NAME`` one that may be chosen; ``specialty``, ``ultimate``, ``xp`` on the hero's card;
``panel-SEAT``; ``told`` what has just happened, in words; and the buttons: ``begin``, ``keep-party``, ``reroll-party``,
``proceed``, ``flee``, ``retire``, ``seek-glory``. The four of a delve always stand there, as outlines where they are
refused; where no delve begins, ``begin`` is the line that says what the game waits for. A golden rim is around every
die, hero, treasure and power that a legal action uses or may name.
"""

from collections.abc import Sequence
from typing import Any

from engine.dungeon_roll.state import State
from engine.protocol import Happening, Rules
from replay.pictures.dungeon_roll.board import Board
from replay.pictures.dungeon_roll.panel import Panel
from replay.pictures.dungeon_roll.scene import Scene
from replay.pictures.shared import Theme

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
    board = Board(scene)
    parts = [board.draw(MARGIN, MARGIN)] if state.active else []
    y = board.height + MARGIN if board.height else 0
    told, high = scene.told(y)
    below, y = Panel(scene).draw(y + (high or MARGIN))
    parts.append(told)
    name = f"{scene.term('game')} · {scene.headline()}"
    description = " ".join(scene.about(seat) for seat, _ in enumerate(state.seats, 1))
    return scene.sheet.picture(y + MARGIN, name, description, theme, scene.words.language, *parts, *below)
