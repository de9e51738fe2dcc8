"""What companions are able to do (rules 2.11): the formulas, each written once for all heroes."""

import itertools
from collections import Counter
from collections.abc import Iterable, Sequence

from engine.dungeon_roll.components import ACTS_AS, FAVOURITE, OPENS_ALL
from engine.dungeon_roll.heroes import ANY_NUMBER
from engine.dungeon_roll.state import State


def face_of(state: State, companion: str) -> str:
    """The face of an active die, a temporary companion or a token in hand; empty where it is none of these."""
    delve = state.delve
    if face := delve.party.get(companion) or delve.temps.get(companion):
        return face
    return ACTS_AS.get(companion, "") if state.seat.treasures.get(companion) else ""


def acts_as(state: State, face: str) -> list[str]:
    """The companions that a face may stand for: its own, its twin, what a Scroll may be. None for a mere Scroll."""
    side = state.seat.side
    if face == "scroll":
        return list(side.scrolls_as)
    return list(side.twins) if face in side.twins else [face]


def most_of(state: State, face: str, monster: str) -> int:
    """How many of one type of monster a companion defeats: the paper's cap."""
    if face == "champion":
        return 1 if state.seat.side.champions_of_one else ANY_NUMBER
    return ANY_NUMBER if FAVOURITE.get(face) == monster else 1


def extra(state: State, face: str) -> int:
    """How many monsters of any type a companion defeats besides."""
    side = state.seat.side
    return int(face in side.extra or (side.extra_while_exhausted and state.delve.exhausted))


def able(state: State, face: str, monsters: Sequence[str]) -> bool:
    """May a companion that shows ``face`` defeat these monsters (their faces, at least one) at once?

    They split into a base part of one type, as many as the companion can take, and the extra part. At a table where
    Champions defeat any types (rules 6.1.2), the base part of a Champion is as mixed as one likes.
    """
    count = Counter(monsters)
    for acting in acts_as(state, face):
        if acting == "champion" and state.table.champion == "any-types" and most_of(state, acting, "") > 1:
            return True
        spare = extra(state, acting)
        if any(len(monsters) - min(n, most_of(state, acting, monster)) <= spare for monster, n in count.items()):
            return True
    return False


def chests_at_once(state: State, face: str) -> int:
    """How many chests a companion that shows ``face`` opens at once."""
    acting = set(acts_as(state, face))
    if acting & OPENS_ALL and not (acting == {"champion"} and state.seat.side.champions_of_one):
        return ANY_NUMBER
    return 1 if acting else 0


def all_different(state: State, faces: Iterable[str]) -> bool:
    """Can each of these companions stand for a type so that all types differ? (Against the Dragon.)"""
    choices = [acts_as(state, face) for face in faces]
    return any(len(set(types)) == len(types) for types in itertools.product(*choices))


def companions(state: State) -> list[str]:
    """Whoever could be used: active dice, temporary companions, tokens in hand; Scrolls included."""
    tokens = [token for token in state.seat.treasures if token in ACTS_AS]
    return [*sorted(state.delve.party), *sorted(state.delve.temps), *sorted(tokens)]


def fighters(state: State) -> list[str]:
    """Those of them who can fight."""
    return [one for one in companions(state) if acts_as(state, face_of(state, one))]
