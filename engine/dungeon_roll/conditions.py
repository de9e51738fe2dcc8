"""Conditions that many actions share: each broken one has a code and a paragraph of its own."""

from collections import Counter
from collections.abc import Collection, Sequence

from engine.dungeon_roll.capability import acts_as, face_of
from engine.dungeon_roll.components import TREASURES
from engine.dungeon_roll.state import State
from engine.protocol import Illegal


def whereabouts(state: State, die: str, wrong: str, rule: str) -> Illegal:
    """Why a die is not to be had: it lies elsewhere, or it is the ``wrong`` one for what is wanted."""
    delve = state.delve
    if die in delve.lair:
        return Illegal("in-lair", "2.0.5", die=die)
    if die in delve.graveyard:
        return Illegal("in-graveyard", "2.0.2", die=die)
    if die not in delve.party and die not in delve.dice:
        return Illegal("not-in-play", "2.0.2", die=die)
    return Illegal(wrong, rule, die=die)


def refuse_dice(
    state: State, dice: Sequence[str], allowed: Collection[str], wrong: str, rule: str, most: int
) -> Illegal | None:
    """1 to ``most`` different dice out of those ``allowed``."""
    if not dice:
        return Illegal("no-die-named", rule)
    if len(set(dice)) < len(dice):
        return Illegal("named-twice", rule)
    for die in dice:
        if die not in allowed:
            return whereabouts(state, die, wrong, rule)
    if len(dice) > most:
        return Illegal("too-many-dice", rule, most=most)
    return None


def refuse_companion(state: State, companion: str) -> Illegal | None:
    """Somebody who can be used: an active die, a temporary companion, a token in hand that stands for a face."""
    if face_of(state, companion):
        return None
    if companion in TREASURES:
        reason = "no-companion" if state.seat.treasures.get(companion) else "no-such-token"
        return Illegal(reason, "2.10", token=companion)
    if companion.startswith("party"):
        return whereabouts(state, companion, "no-companion", "2.0.2")
    return Illegal("no-such-companion", "2.8", companion=companion)


def refuse_fighter(state: State, companion: str) -> Illegal | None:
    """Somebody who can be used, and is more than a Scroll."""
    if refusal := refuse_companion(state, companion):
        return refusal
    if not acts_as(state, face_of(state, companion)):
        return Illegal("scroll-is-no-companion", "1.1")
    return None


def refuse_tokens(state: State, tokens: Sequence[str]) -> Illegal | None:
    """As many of each kind as the seat has."""
    for token, count in Counter(tokens).items():
        if state.seat.treasures.get(token, 0) < count:
            return Illegal("no-such-token", "2.10", token=token)
    return None
