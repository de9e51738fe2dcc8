"""Treasure tokens that are used by themselves (rules 2.10); those that stand for a companion act like one."""

from engine.bags import without
from engine.chance import Chance
from engine.dungeon_roll import actions as act
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.components import MONSTERS
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import end_delve
from engine.dungeon_roll.zones import empty_lair, into_lair, restore, revive, who
from engine.protocol import Action, Happening, Illegal


def refuse_token(state: State, token: str) -> Illegal | None:
    if not state.seat.treasures.get(token):
        return Illegal("no-such-token", "2.10", token=token)
    return None


def use(state: State, token: str) -> Happening:
    """The token leaves the hand; nothing that is used by itself draws, so it is in the supply at once."""
    seat = state.seat
    seat.treasures = without(seat.treasures, token)
    restore(state, token)
    return told.TreasureUsed(*who(state), token)


def refuse_ring(state: State, action: Action) -> Illegal | None:
    if refusal := refuse_token(state, "ring-of-invisibility"):
        return refusal
    return None if state.delve.lair else Illegal("lair-empty", "2.10")


def use_ring(state: State, action: act.UseRing, chance: Chance) -> list[Happening]:
    return [use(state, "ring-of-invisibility"), empty_lair(state, "ring-of-invisibility")]


def refuse_elixir(state: State, action: Action) -> Illegal | None:
    if refusal := refuse_token(state, "elixir"):
        return refusal
    return None if state.delve.graveyard else Illegal("graveyard-empty", "2.10")


def use_elixir(state: State, action: act.UseElixir, chance: Chance) -> list[Happening]:
    return [use(state, "elixir"), revive(state, [action.face])]


def refuse_bait(state: State, action: Action) -> Illegal | None:
    if refusal := refuse_token(state, "dragon-bait"):
        return refusal
    return None if state.delve.showing(*MONSTERS) else Illegal("no-monsters", "2.10", phase=state.phase)


def use_bait(state: State, action: act.UseBait, chance: Chance) -> list[Happening]:
    return [use(state, "dragon-bait"), into_lair(state, state.delve.showing(*MONSTERS))]


def refuse_portal(state: State, action: Action) -> Illegal | None:
    return refuse_token(state, "town-portal")


def use_portal(state: State, action: act.UsePortal, chance: Chance) -> list[Happening]:
    return [use(state, "town-portal"), *end_delve(state, "portal", state.delve.level)]
