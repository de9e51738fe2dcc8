"""Dungeon Roll as a ruleset. At its heart the tables of rules 2: which action is legal when."""

from collections.abc import Iterable, Mapping, Sequence
from typing import ClassVar, Final

import msgspec

from engine.chance import Chance, Loaded
from engine.dungeon_roll import actions as act
from engine.dungeon_roll import components, delving, offers, powers, tokens, turns
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.frozen import TRANSCRIPTS
from engine.dungeon_roll.state import Champion, Delve, HeroChoice, HeroSet, ScrollPhases, Seat, State, Table
from engine.protocol import Action, Form, Happening, Illegal, Legal, Options, Outcome, SeatSetup
from engine.turns import OPENING, Cited, Handler, TurnTaking, dealt, during, first_seat, nothing_else


class DungeonRollOptions(Options, frozen=True, kw_only=True):
    """Table options (rules 6.1).

    ``scroll_phases``: when Scrolls may roll dice again; ``champion``: whether a Champion's monsters must be of one
    type; ``heroes``: the set from which they come; ``hero_choice``: they are dealt, or chosen in seat order.
    """

    scroll_phases: ScrollPhases = "monster"
    champion: Champion = "one-type"
    heroes: HeroSet = "base"
    hero_choice: HeroChoice = "random"


class DungeonRollChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing is chosen before the game."""


def with_scrolls(state: State) -> frozenset[str]:
    """6.1.1: a table option."""
    return frozenset(("monster",) if state.table.scroll_phases == "monster" else ("monster", "loot", "dragon"))


def with_loot(state: State) -> frozenset[str]:
    """2.6, and among monsters for those who may (3.1.8)."""
    early = state.seat.hero and state.seat.side.loot_among_monsters
    return frozenset(("monster", "loot") if early else ("loot",))


def with_specialty(state: State) -> frozenset[str]:
    """3: the phases of the power, where there is one."""
    power = state.seat.side.specialty if state.seat.hero else None
    return frozenset(power.phases if power else turns.DELVING)


def with_ultimate(state: State) -> frozenset[str]:
    """3: the phases of the power."""
    return frozenset(state.seat.side.ultimate.phases if state.seat.hero else turns.DELVING)


delving_at_all: Final = during(*turns.DELVING)


class DungeonRoll(TurnTaking[State]):
    """Dungeon Roll, first version."""

    id = "dungeon-roll@1"
    seats = components.SEATS
    options = DungeonRollOptions
    choice = DungeonRollChoice
    state = State
    actions = act.ACTIONS
    happenings = told.HAPPENINGS
    purposes: ClassVar[Mapping[str, str]] = {
        **OPENING,
        "party": "a party die; several in the order of their numbers, and after the dungeon dice of the same roll",
        "dungeon": "a dungeon die; several in the order of their numbers, before the party dice of the same roll",
        "treasure": "one token out of the supply; several one after the other",
    }
    components = components.COMPONENTS
    transcripts = TRANSCRIPTS["dungeon-roll@1"]
    cited = Cited(over="4", turn="2.2", absence="7.1", leaving="7.3")
    waits = "begin"
    public = ("active", "delve", "discards", "ending", "phase", "resume", "seats", "supply", "table")

    handlers: ClassVar[dict[type[Action], Handler]] = {
        act.ChooseHero: Handler(during("choosing-hero"), delving.refuse_choose_hero, delving.choose),
        act.BeginDelve: Handler(during("delve-start"), nothing_else, delving.begin),
        act.RerollParty: Handler(during("forming"), delving.refuse_reroll_party, delving.reroll_party),
        act.AssignDice: Handler(during("forming"), delving.refuse_assign_dice, delving.assign_dice),
        act.SetScrolls: Handler(during("forming"), delving.refuse_set_scrolls, delving.set_scrolls),
        act.Attack: Handler(during("monster"), delving.refuse_attack, delving.attack),
        act.UseScroll: Handler(with_scrolls, delving.refuse_use_scroll, delving.use_scroll),
        act.OpenChests: Handler(with_loot, delving.refuse_open_chests, delving.open_chests),
        act.QuaffPotions: Handler(with_loot, delving.refuse_quaff_potions, delving.quaff_potions),
        act.FightDragon: Handler(during("dragon"), delving.refuse_fight_dragon, delving.fight_dragon),
        act.UseRing: Handler(delving_at_all, tokens.refuse_ring, tokens.use_ring),
        act.UseElixir: Handler(delving_at_all, tokens.refuse_elixir, tokens.use_elixir),
        act.UseBait: Handler(during("monster"), tokens.refuse_bait, tokens.use_bait),
        act.UsePortal: Handler(delving_at_all, tokens.refuse_portal, tokens.use_portal),
        act.UseSpecialty: Handler(with_specialty, powers.refuse_specialty, powers.use_specialty),
        act.UseUltimate: Handler(with_ultimate, powers.refuse_ultimate, powers.use_ultimate),
        act.DiscardTreasures: Handler(
            during("discarding"), delving.refuse_discard_treasures, delving.discard_treasures
        ),
        act.Proceed: Handler(during("monster", "loot"), delving.refuse_proceed, delving.proceed),
        act.Flee: Handler(delving_at_all, delving.refuse_flee, delving.flee),
        act.Retire: Handler(during("regroup"), delving.refuse_retire, delving.retire),
        act.SeekGlory: Handler(during("regroup"), nothing_else, delving.seek_glory),
    }  # fmt: skip

    def set_up(self, options: DungeonRollOptions, seats: Sequence[SeatSetup]) -> State:
        return State(
            active=0,
            delve=Delve(),
            discards=0,
            ending="",
            phase="opening",
            resume="opening",
            seats=[Seat() for _ in seats],
            supply=dict(components.TREASURES),
            table=Table(options.champion, options.hero_choice, options.heroes, options.scroll_phases),
        )

    def open(self, state: State, chance: Chance) -> list[Happening]:
        """Rules 2.1."""
        out: list[Happening] = []
        if state.table.hero_choice == "random":
            for seat, hero in dealt(chance, delving.heroes_left(state), self.cast(state)):
                state.seats[seat - 1].hero = hero
                out.append(told.HeroDealt(seat, hero))
        state.active = first_seat(chance, len(state.seats))
        state.phase = "delve-start" if all(self.cast(state)) else "choosing-hero"
        return [*out, told.GameBegun(state.active, tuple(self.cast(state)))]

    def natural(self, state: State) -> Iterable[Legal]:
        return offers.natural(state)

    def wrong_phase(self, state: State, phases: frozenset[str]) -> Illegal:
        return turns.wrong_phase(state, phases)

    def players(self, state: State) -> Sequence[Seat]:
        return state.seats

    def apply(self, state: State, seat: int, action: Action, chance: Chance) -> list[Happening]:
        before = state.phase
        out = super().apply(state, seat, action, chance)
        settles = state.phase in turns.DELVING and before in (*turns.DELVING, "discarding")
        return out + turns.settle(state) if settles else out

    def forms(self, state: State, seat: int) -> list[Form]:
        return list(offers.forms(state, legal)) if (legal := self.legal(state, seat)) else []

    def element(self, field: str, name: str | int) -> str:
        return "" if field == "faces" else offers.target_of(str(name))

    def miss(self, state: State) -> list[Happening]:
        """Rules 7.1, 7.2."""
        late = told.TimedOut(state.active, named(state.seat), state.phase)
        return [late, *self.settle(state)]

    def leave(self, state: State, seat: int) -> list[Happening]:
        """Rules 7.3, 7.4."""
        leaver = state.seats[seat - 1]
        leaver.withdrawn = True
        out: list[Happening] = [told.SeatWithdrew(seat, named(leaver)), *turns.give_up(state, seat)]
        if seat != state.active:
            return out
        return out + (turns.next_seat(state) if state.phase in WAITING else self.settle(state))

    def settle(self, state: State) -> list[Happening]:
        """7.2: what is pending ends to the active seat's cost, without draws, and the next seat is up."""
        if state.phase == "choosing-hero":
            return turns.choose_hero(state, delving.heroes_left(state)[0])
        seat, out = state.seat, list[Happening]()
        over = seat.delves + (state.resume != "delve-start")
        while seat.delves < over or state.phase == "discarding":
            match state.phase:
                case "discarding":
                    out += turns.discarded(state, turns.cheapest(seat, state.discards))
                    if seat.delves == over:
                        break
                case "loot":
                    out += delving.proceed(state, act.Proceed(), Loaded()) + turns.settle(state)
                case "monster" | "dragon":
                    out += delving.flee(state, act.Flee(), Loaded())
                case "regroup" if delving.refuse_retire(state, act.Retire()) is None:
                    out += delving.retire(state, act.Retire(), Loaded())
                case _:
                    out += turns.end_delve(state, "absence", 0)
        return out

    def outcome(self, state: State) -> Outcome | None:
        if not state.ending:
            return None
        rank = turns.rank(state)
        scores = [turns.score(seat) for seat in state.seats]
        return Outcome(state.ending, turns.winners(state), scores, {"rank": rank} if rank else {})

    def cast(self, state: State) -> list[str]:
        return [seat.hero for seat in state.seats]


def named(seat: Seat) -> str:
    """The name of the side that is up; empty before there is a hero."""
    return seat.side.name if seat.hero else ""


WAITING: Final = ("choosing-hero", "delve-start")

DUNGEON_ROLL_1: Final = DungeonRoll()
