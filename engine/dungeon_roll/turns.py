"""The course of a game: delves, levels, phases (rules 2.0 to 2.9), and its end (rules 4)."""

from collections import Counter
from collections.abc import Mapping
from typing import Final

from msgspec import UNSET

from engine.chance import Chance
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.components import (
    DELVES,
    DUNGEON_DICE,
    MONSTERS,
    TOP_LEVEL,
    TREASURES,
    solo_rank,
    treasure_value,
)
from engine.dungeon_roll.state import Delve, Ending, Phase, Seat, State
from engine.dungeon_roll.zones import draw_treasures, empty_lair, gain, give_back, lay_out, refresh, rolled, who
from engine.protocol import Happening, Illegal
from engine.turns import after

DELVING: Final = ("monster", "loot", "dragon", "regroup")
ORDER: Final[tuple[str, ...]] = ("choosing-hero", "delve-start", "forming", *DELVING)
PENDING: Final[Mapping[str, str]] = {
    "choosing-hero": "hero-to-choose",
    "delve-start": "delve-to-begin",
    "forming": "party-to-form",
    "monster": "monsters-first",
    "loot": "loot-first",
    "dragon": "dragon-first",
    "discarding": "treasures-to-discard",
}
"""What has to come first."""
PAST: Final[Mapping[str, str]] = {
    "choosing-hero": "hero-chosen",
    "delve-start": "delve-under-way",
    "forming": "party-formed",
    "monster": "no-monsters",
    "loot": "no-loot",
    "dragon": "no-dragon",
    "discarding": "nothing-to-discard",
}
"""What is over, or is not there."""


def wrong_phase(state: State, phases: frozenset[str]) -> Illegal:
    """Why an action that belongs to ``phases`` must wait, or has nothing to act upon."""
    here = state.phase
    if here == "discarding" or "discarding" in phases:
        reason = PENDING[here] if here == "discarding" else PAST["discarding"]
    else:
        last = max(phases, key=ORDER.index)
        reason = PENDING[here] if ORDER.index(last) > ORDER.index(here) else PAST[last]
    return Illegal(reason, "2.0", phase=here)


# Heroes


def choose_hero(state: State, hero: str) -> list[Happening]:
    """2.1: the active seat takes a hero; the next seat without one is up, or the first delve."""
    state.seat.hero = hero
    return [told.HeroChosen(state.active, hero), *next_seat(state)]


# A delve begins


def begin_delve(state: State, chance: Chance) -> list[Happening]:
    """2.3: the party is formed, and level 1 entered unless there is something to decide."""
    seat, side = state.seat, state.seat.side
    delve = state.delve = Delve(exhausted=side.begins_exhausted)
    out: list[Happening] = [told.DelveBegan(*who(state), seat.delves + 1)]
    dice = [f"party-{n}" for n in range(1, side.party_dice + 1)]
    if side.fixed_party:
        delve.party = dict(zip(dice, side.fixed_party, strict=False))
        delve.removed = dice[len(side.fixed_party) :]
        out.append(told.PartyTaken(*who(state), dict(delve.party), tuple(delve.removed)))
    else:
        active = dice[: len(dice) - side.buried]
        delve.party, delve.graveyard = rolled(active, chance), dice[len(active) :]
        out.append(told.PartyRolled(*who(state), dict(delve.party)))
    if delve.graveyard:
        out.append(told.PartyBuried(*who(state), tuple(delve.graveyard)))
    changed = {die: into for die, face in delve.party.items() if (into := side.party_becomes.get(face))}
    if changed:
        delve.party |= changed
        out.append(told.PartyChanged(*who(state), changed))
    out += draw_treasures(state, side.first_treasures, chance, instead=False)
    if not side.forming:
        return out + enter_level(state, chance)
    state.phase = "forming"
    if side.forming == "assign":
        delve.reserve["0"] = rolled(delve.supply[:6], chance)
        out.append(told.ReserveRolled(*who(state), dict(delve.reserve["0"])))
    return out


def enter_level(state: State, chance: Chance) -> list[Happening]:
    """2.4: the next level: its dice are rolled, or laid out where they were rolled before."""
    delve = state.delve
    delve.level += 1
    delve.specialty_used = False
    faces = delve.reserve.pop(str(delve.level), None)
    if faces is None:
        faces = rolled(delve.supply[: min(delve.level, DUNGEON_DICE - len(delve.lair))], chance)
    began = told.LevelBegan(*who(state), delve.level, dict(faces), len(delve.lair))
    state.phase = "monster"
    return [began, *lay_out(state, faces), *settle(state, entered=True)]


# Phases


def phase_of(state: State) -> Phase:
    """2.0: the first phase in which there is something to decide."""
    delve, side = state.delve, state.seat.side
    if delve.showing(*MONSTERS) or (state.phase == "monster" and waiting(state)):
        return "monster"
    if delve.dice:
        return "loot"
    return "dragon" if len(delve.lair) >= side.dragon_at else "regroup"


def waiting(state: State) -> bool:
    """2.5: the Monster phase without a monster, in which a Scout may still leave before the Dragon comes."""
    side, delve = state.seat.side, state.delve
    return side.waits_with_dragons and not delve.exhausted and len(delve.lair) >= side.dragon_at


def settle(state: State, *, entered: bool = False) -> list[Happening]:
    """What follows by itself after every action of a delve: the lair overflows, phases end, heroes are refreshed."""
    delve, side, out = state.delve, state.seat.side, list[Happening]()
    if 0 < side.lair_emptied_at <= len(delve.lair):
        out.append(empty_lair(state, side.name))
    phase = phase_of(state)
    if phase != state.phase or entered:
        state.phase = phase
        out.append(told.PhaseEntered(*who(state), delve.level, phase))
        if phase == "regroup":
            return out + regroup(state)
    faces = set(delve.dice.values())
    if phase == "monster" and side.refreshed_by == "all-monsters" and delve.exhausted and faces.issuperset(MONSTERS):
        out += refresh(state)
    return out


def regroup(state: State) -> list[Happening]:
    """2.8: companions that were monsters go; at the top level the delve is over."""
    delve, out = state.delve, list[Happening]()
    if left := {temp: face for temp, face in sorted(delve.temps.items()) if temp != "hero"}:
        delve.temps = {temp: face for temp, face in delve.temps.items() if temp == "hero"}
        out.append(told.CompanionsLeft(*who(state), left))
    out.append(told.LevelCleared(*who(state), delve.level))
    if delve.level == TOP_LEVEL:
        out += end_delve(state, "cleared", delve.level)
    return out


# A delve ends


def end_delve(state: State, cause: told.Cause, xp: int) -> list[Happening]:
    """2.9: experience for the level; after a seat's last delve its hero may have to give back treasures."""
    seat, level = state.seat, state.delve.level
    name, number = seat.side.name, seat.delves + 1
    out = gain(state, xp, "level") if xp else []
    out.append(told.DelveEnded(state.active, name, number, cause, level, xp))
    seat.delves, state.delve = number, Delve()
    if number == DELVES and not seat.withdrawn:
        out += to_discard(state, seat.side.discards_at_end, "delve-start")
        if state.phase == "discarding":
            return out
    return out + next_seat(state)


def to_discard(state: State, count: int, resume: Phase) -> list[Happening]:
    """So many treasures must be given back: at once where there is no choice, else the seat decides."""
    hand = state.seat.treasures
    if sum(hand.values()) <= count:
        return give_back(state, dict(sorted(hand.items())))
    if count:
        state.phase, state.resume, state.discards = "discarding", resume, count
    return []


def cheapest(seat: Seat, count: int) -> dict[str, int]:
    """So many tokens in the order of the box: what an absent seat gives back (7.2)."""
    tokens = [token for token in TREASURES for _ in range(seat.treasures.get(token, 0))]
    return dict(sorted(Counter(tokens[:count]).items()))


def give_up(state: State, number: int) -> list[Happening]:
    """7.3: a hero who gives back treasures at the end of the game does so now, unless it is done."""
    seat = state.seats[number - 1]
    if not seat.hero or seat.delves == DELVES:
        return []
    return give_back(state, cheapest(seat, seat.side.discards_at_end), number)


def discarded(state: State, tokens: dict[str, int]) -> list[Happening]:
    """The treasures are given back, and the delve goes on, or the next seat is up."""
    out = give_back(state, tokens)
    state.phase, state.resume, state.discards = state.resume, "opening", 0
    return out + next_seat(state) if state.phase == "delve-start" else out


def next_seat(state: State) -> list[Happening]:
    """2.2: the next seat round the table that has something to do; none: the game is over."""
    seats = state.seats
    choosing = state.phase == "choosing-hero"
    for number in after(state.active, len(seats)):
        seat = seats[number - 1]
        if seat.withdrawn or (seat.hero if choosing else seat.delves == DELVES):
            continue
        state.active, state.phase = number, "choosing-hero" if choosing else "delve-start"
        return []
    if choosing:
        state.phase = "delve-start"
        return next_seat(state)
    return [finish(state, "withdrawal" if all(seat.withdrawn for seat in seats) else "delves")]


# The end


def finish(state: State, ending: Ending) -> Happening:
    """4: the game is over."""
    state.ending, state.phase, state.delve = ending, "game-over", Delve()
    state.discards, state.resume = 0, "opening"
    scores = tuple(map(score, state.seats))
    tokens = tuple(sum(seat.treasures.values()) for seat in state.seats)
    return told.GameOver(ending, tuple(winners(state)), scores, tokens, rank(state) or UNSET)


def score(seat: Seat) -> int:
    """4: experience, and the value of the tokens."""
    return seat.xp + treasure_value(seat.treasures)


def winners(state: State) -> list[int]:
    """4: the highest score; of those the fewest tokens; then the victory is shared."""
    ranked = [(score(seat), -sum(seat.treasures.values())) for seat in state.seats]
    return [number for number, rank in enumerate(ranked, 1) if rank == max(ranked)]


def rank(state: State) -> str:
    """4: the rank of a player who delved alone."""
    return solo_rank(score(state.seats[0])) if len(state.seats) == 1 else ""
