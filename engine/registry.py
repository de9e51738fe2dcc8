"""The games on offer: every ruleset by its id, and the bots that play each game."""

from typing import Any

from engine.protocol import Bot, Rules

RULESETS: dict[str, Rules[Any]] = {}
BOTS: dict[str, dict[str, Bot]] = {}
"""By game name (``donjon``), then by bot name; the first bot of a game plays on for an absent seat."""


def register(rules: Rules[Any], *bots: Bot) -> None:
    """Put a ruleset, and the bots that play its game, on offer."""
    RULESETS[rules.id] = rules
    BOTS.setdefault(game_name(rules.id), {}).update({bot.name: bot for bot in bots})


def game_name(ruleset: str) -> str:
    """``donjon@1`` -> ``donjon``."""
    return ruleset.partition("@")[0]
