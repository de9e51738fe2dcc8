"""Turns (rules 2.2, 2.5) and how the game ends (rules 6)."""

from typing import Final

from msgspec import UNSET

from engine.donjon import happenings as told
from engine.donjon.actions import EndTurn
from engine.donjon.components import MOVEMENT_POINTS
from engine.donjon.state import Ending, Phase, State
from engine.protocol import Happening, Illegal
from engine.turns import after

START_ONLY: Final = frozenset({"turn-start"})
FREE: Final = frozenset({"turn-start", "exploring"})
UNTIL_NEXT: Final = FREE | frozenset({"turn-over"})

PENDING: Final[dict[Phase, str]] = {
    "placing": "pending-placement",
    "trap-pending": "pending-trap",
    "encounter": "pending-encounter",
    "combat-pending": "pending-fight",
    "combat-decision": "pending-boost",
    "loot": "pending-loot",
    "reincarnation": "pending-reincarnation",
}
"""What must be settled before anything else, and before Next (rules 2.2)."""


def wrong_phase(state: State, phases: frozenset[str]) -> Illegal:
    """Why an action that belongs to ``phases`` must wait, or comes too late."""
    if reason := PENDING.get(state.phase):
        return Illegal(reason, "2.2", phase=state.phase)
    if state.phase == "turn-over" and "turn-start" in phases:
        return Illegal("turn-over", "2.5.3")
    if phases == START_ONLY:
        return Illegal("not-at-turn-start", "8.20")
    return Illegal("nothing-pending", "2.2", phase=state.phase)


def over(state: State) -> None:
    """2.5.3: nothing is left to do but Next."""
    state.phase, state.mp = "turn-over", 0


def end_turn(state: State, action: EndTurn, chance: object) -> list[Happening]:
    """2.5.5: Next."""
    return [told.TurnEnded(state.active, state.hero.name, state.turn), *next_turn(state)]


def next_turn(state: State) -> list[Happening]:
    """2.5.1-2.5.2: the next seat that still plays; stunned heroes come to, and miss theirs."""
    out: list[Happening] = []
    while True:
        if stalemate(state):
            return [*out, finish(state, "stalemate")]
        state.active = following(state)
        if state.hero.hp:
            return [*out, begin_turn(state)]
        out.append(skip_turn(state))


def begin_turn(state: State) -> Happening:
    """2.5.1: the active hero may act."""
    state.turn += 1
    state.mp, state.steps, state.safe, state.phase = MOVEMENT_POINTS, 0, state.hero.at, "turn-start"
    return told.TurnBegan(state.active, state.hero.name, state.turn, state.mp)


def skip_turn(state: State) -> Happening:
    """2.5.2: the active hero comes to, and does nothing else in this turn."""
    state.turn += 1
    state.hero.hp = 1
    return told.TurnSkipped(state.active, state.hero.name, state.turn, state.hero.hp)


def following(state: State) -> int:
    """The next seat in seat order that did not withdraw; there must be one."""
    heroes = state.heroes
    return next(seat for seat in after(state.active, len(heroes)) if not heroes[seat - 1].withdrawn)


def stalemate(state: State) -> bool:
    """6.5: so many rounds in a row without progress; a round is one turn of every seat that still plays."""
    rounds, since = state.table.stalemate_rounds, state.turn - state.progress
    if not 0 < rounds <= since:  # whoever plays, not even one round was as long
        return False
    return rounds * sum(not hero.withdrawn for hero in state.heroes) <= since


def finish(state: State, ending: Ending) -> Happening:
    """6.2: the game is over."""
    state.ending, state.phase, state.mp = ending, "game-over", 0
    state.fight = state.placing = UNSET
    return told.GameOver(ending, tuple(winners(state)), tuple(hero.gold for hero in state.heroes))


def winners(state: State) -> list[int]:
    """6.2: the seats with most gold share the victory."""
    most = max(hero.gold for hero in state.heroes)
    return [seat for seat, hero in enumerate(state.heroes, 1) if hero.gold == most]
