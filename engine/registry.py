"""The games on offer: every ruleset by its id, and the bots that play each game."""

from typing import Any, Final

from engine.donjon import DONJON_1
from engine.donjon.bots import Delver, Wanderer
from engine.protocol import Bot, Rules

RULESETS: Final[dict[str, Rules[Any]]] = {rules.id: rules for rules in (DONJON_1,)}
BOTS: Final[dict[str, dict[str, Bot]]] = {"donjon": {bot.name: bot for bot in (Delver(), Wanderer())}}
"""By game name (``donjon``), then by bot name; the first bot of a game plays on for an absent seat."""


def game_name(ruleset: str) -> str:
    """``donjon@1`` -> ``donjon``."""
    return ruleset.partition("@")[0]
