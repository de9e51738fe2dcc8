"""Pictures: a position as one SVG, drawn on the server, with ids that actions, pages and disputes can name.

A game's drawing is one module here, registered in `DRAWINGS`; what games share in look stands in `shared`.
"""

from collections.abc import Callable, Sequence
from typing import Any, Final

from engine.protocol import Happening, Rules
from engine.registry import game_name
from replay.pictures import donjon, dungeon_roll
from replay.pictures.shared import STYLE, THEMES, WIDTH, Sheet, Theme, write
from replay.words import words

__all__ = ["DRAWINGS", "STYLE", "THEMES", "Theme", "picture"]

Drawing = Callable[[Rules[Any], Any, int | None, str, Theme, Sequence[Happening], Sequence[Happening]], str]

DRAWINGS: Final[dict[str, Drawing]] = {"donjon": donjon.draw, "dungeon-roll": dungeon_roll.draw}


def picture(
    rules: Rules[Any],
    state: Any,
    viewer: int | None,
    lang: str,
    *,
    theme: Theme = "auto",
    happened: Sequence[Happening] = (),
    before: Sequence[Happening] = (),
) -> str:
    """A position as an SVG, 360 units wide. The same arguments always give the same bytes.

    ``state``: the rules' state, None before the start; ``viewer``: the seat that looks, None for a watcher; ``theme``:
    ``auto`` follows the reader's preference; ``happened``: what the last event brought about, ``before``: what the
    events shortly before it did (`Replay.before`), so that the dice of a fight that is over are still to be seen. A
    target of a legal action is the id of an element.

    :raises KeyError: the game has no drawing.
    """
    game = game_name(rules.id)
    if state is None:
        return _closed_door(game, lang, theme)
    return DRAWINGS[game](rules, state, viewer, lang, theme, happened, before)


def _closed_door(game: str, lang: str, theme: Theme) -> str:
    """What there is to see of a game before its start."""
    said, sheet, middle = words(lang), Sheet(), WIDTH / 2
    term = said.term("game", game)
    name, waiting = term.text if term else game, said.raw("pictures.opening")
    lines = write(name, middle, 182, 22, "b m", WIDTH - 20), write(waiting, middle, 206, 13, "dim m", WIDTH - 20)
    return sheet.picture(
        226, f"{name} · {waiting}", "", theme, said.language, sheet.use("door", middle, 84, 2.2), *lines
    )
