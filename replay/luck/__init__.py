"""Luck: what the dice gave, against what fair dice would have given. Never a verdict (docs/luck.md).

If an audit passes, the draws are the function of values that were committed before; no number here can add to that or
take it away. What each game rolls for is said by one module a game, found by the game's name.
"""

from typing import Final

from replay.luck.donjon import DonjonLots
from replay.luck.dungeon_roll import DungeonRollLots
from replay.luck.rolls import Lots

LOTS: Final[dict[str, Lots]] = {"donjon": DonjonLots(), "dungeon-roll": DungeonRollLots()}
NONE: Final = Lots()


def lots(game: str) -> Lots:
    """The luck of a game, by its name (``donjon``)."""
    return LOTS.get(game, NONE)
