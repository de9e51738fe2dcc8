"""The games on offer: every ruleset by its id, and the bots that play each game."""

from typing import Any, Final

from engine.bots import Wanderer
from engine.donjon import DONJON_1
from engine.donjon import bots as donjon
from engine.dungeon_roll import DUNGEON_ROLL_1
from engine.dungeon_roll import bots as dungeon_roll
from engine.protocol import Bot, Rules

RULESETS: Final[dict[str, Rules[Any]]] = {rules.id: rules for rules in (DONJON_1, DUNGEON_ROLL_1)}
BOTS: Final[dict[str, dict[str, Bot]]] = {
    "donjon": {bot.name: bot for bot in (donjon.Delver(), Wanderer())},
    "dungeon-roll": {bot.name: bot for bot in (dungeon_roll.Delver(), Wanderer())},
}
"""By game name (``donjon``), then by bot name; the first bot of a game plays on for an absent seat."""


def game_name(ruleset: str) -> str:
    """``donjon@1`` -> ``donjon``."""
    return ruleset.partition("@")[0]
