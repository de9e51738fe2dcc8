"""How each game is told: one module a game, found by the game's name."""

from typing import Final

from replay.games.donjon import DonjonTelling
from replay.games.dungeon_roll import DungeonRollTelling
from replay.telling import Telling

TELLINGS: Final[dict[str, Telling]] = {"donjon": DonjonTelling(), "dungeon-roll": DungeonRollTelling()}
PLAIN: Final = Telling()


def telling(game: str) -> Telling:
    """How a game is told, by its name (``donjon``); plainly where nothing better is known."""
    return TELLINGS.get(game, PLAIN)
