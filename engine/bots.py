"""What can play any game: whatever is legal."""

from typing import Any

from engine.protocol import Action, Below, Bot, Rules


def anything(rules: Rules[Any], state: Any, seat: int, below: Below) -> Action:
    """One of the legal actions that are listed, each as likely as the others."""
    legal = rules.legal(state, seat)
    return legal[below(len(legal))].action


class Wanderer(Bot):
    """Does any legal thing that is offered."""

    name = "wanderer"
    levels = range(1, 2)

    def choose(self, rules: Rules[Any], state: Any, seat: int, level: int, below: Below) -> Action:
        return anything(rules, state, seat, below)
