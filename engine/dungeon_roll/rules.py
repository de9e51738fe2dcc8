"""Dungeon Roll as a ruleset. At its heart the tables of rules 2: which action is legal when."""

from collections.abc import Callable, Mapping
from typing import Any, ClassVar, Final, NamedTuple

import msgspec
from msgspec import UNSET

from engine.chance import Chance, Loaded
from engine.dungeon_roll import actions as act
from engine.dungeon_roll import components, delving, offers, powers, tokens, turns
from engine.dungeon_roll import happenings as told
from engine.dungeon_roll.frozen import TRANSCRIPTS
from engine.dungeon_roll.state import (
    Champion,
    Delve,
    HeroChoice,
    HeroSet,
    Phase,
    ScrollPhases,
    Seat,
    State,
    Table,
    duplicate,
)
from engine.protocol import Action, Form, Happening, Illegal, Legal, Options, Outcome, Refusal, Rules, Setup


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


When = Callable[[State], frozenset[Phase]]


class Handler(NamedTuple):
    """One action: the phases in which it is legal, what else may forbid it, and what it does."""

    when: When
    refuse: Callable[[State, Any], Illegal | None]
    carry_out: Callable[[State, Any, Chance], list[Happening]]


def during(*phases: Phase) -> When:
    always = frozenset(phases)
    return lambda state: always


def nothing_else(state: State, action: Action) -> None:
    """No further condition."""


def with_scrolls(state: State) -> frozenset[Phase]:
    """6.1.1: a table option."""
    return frozenset(("monster",) if state.table.scroll_phases == "monster" else ("monster", "loot", "dragon"))


def with_loot(state: State) -> frozenset[Phase]:
    """2.6, and among monsters for those who may (3.1.8)."""
    early = state.seat.hero and state.seat.side.loot_among_monsters
    return frozenset(("monster", "loot") if early else ("loot",))


def with_specialty(state: State) -> frozenset[Phase]:
    """3: the phases of the power, where there is one."""
    power = state.seat.side.specialty if state.seat.hero else None
    return frozenset(power.phases if power else turns.DELVING)


def with_ultimate(state: State) -> frozenset[Phase]:
    """3: the phases of the power."""
    return frozenset(state.seat.side.ultimate.phases if state.seat.hero else turns.DELVING)


delving_at_all: Final = during(*turns.DELVING)


class DungeonRoll(Rules[State]):
    """Dungeon Roll, first version."""

    id = "dungeon-roll@1"
    seats = components.SEATS
    options = DungeonRollOptions
    choice = DungeonRollChoice
    state = State
    actions = act.ACTIONS
    happenings = told.HAPPENINGS
    purposes: ClassVar[Mapping[str, str]] = {
        "hero": "opening: for each seat without a hero, in seat order, one of the heroes left",
        "first-seat": "opening, after the heroes: the seat that begins",
        "party": "a party die; several in the order of their numbers, and after the dungeon dice of the same roll",
        "dungeon": "a dungeon die; several in the order of their numbers, before the party dice of the same roll",
        "treasure": "one token out of the supply; several one after the other",
    }
    components = components.COMPONENTS
    transcripts = TRANSCRIPTS["dungeon-roll@1"]

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

    def initial(self, setup: Setup) -> State:
        if setup.state is not UNSET:
            return msgspec.convert(setup.state, State)
        options = msgspec.convert(setup.options, DungeonRollOptions)
        return State(
            active=0,
            delve=Delve(),
            discards=0,
            ending="",
            phase="opening",
            resume="opening",
            seats=[Seat() for _ in setup.seats],
            supply=dict(components.TREASURES),
            table=Table(options.champion, options.hero_choice, options.heroes, options.scroll_phases),
        )

    def begin(self, state: State, chance: Chance) -> list[Happening]:
        """Rules 2.1. A fork is past its opening: it goes on where it stands."""
        if state.phase != "opening":
            return []
        out: list[Happening] = []
        dealt = state.table.hero_choice == "random"
        for number, seat in enumerate(state.seats, 1):
            if dealt and not seat.hero:
                seat.hero = chance.pick(dict.fromkeys(delving.heroes_left(state), 1), "hero")
                out.append(told.HeroDealt(number, seat.hero))
        state.active = int(chance.pick({str(seat): 1 for seat, _ in enumerate(state.seats, 1)}, "first-seat"))
        state.phase = "delve-start" if all(seat.hero for seat in state.seats) else "choosing-hero"
        return [*out, told.GameBegun(state.active, tuple(seat.hero for seat in state.seats))]

    def to_act(self, state: State) -> list[int]:
        return [] if state.phase in ("opening", "game-over") else [state.active]

    def refuse(self, state: State, seat: int, action: Action) -> Illegal | None:
        """Why the seat may not do it now, or None."""
        if refusal := self.refuse_seat(state, seat, "2.2"):
            return refusal
        handler = self.handlers[type(action)]
        if state.phase not in (phases := handler.when(state)):
            return turns.wrong_phase(state, phases)
        return handler.refuse(state, action)

    def refuse_seat(self, state: State, seat: int, rule: str) -> Illegal | None:
        if state.ending:
            return Illegal("game-over", "4", ending=state.ending)
        return None if seat == state.active else Illegal("not-your-turn", rule, active=state.active)

    def apply(self, state: State, seat: int, action: Action, chance: Chance) -> list[Happening]:
        if refusal := self.refuse(state, seat, action):
            raise refusal
        before = state.phase
        out = self.handlers[type(action)].carry_out(state, action, chance)
        settles = state.phase in turns.DELVING and before in (*turns.DELVING, "discarding")
        return out + turns.settle(state) if settles else out

    def legal(self, state: State, seat: int) -> list[Legal]:
        if seat not in self.to_act(state):
            return []
        listed = {
            repr(offer.action): offer
            for offer in offers.natural(state)
            if self.refuse(state, seat, offer.action) is None
        }
        return list(listed.values())

    def forms(self, state: State, seat: int) -> list[Form]:
        return list(offers.forms(state, legal)) if (legal := self.legal(state, seat)) else []

    def refusals(self, state: State, seat: int) -> list[Refusal]:
        if not self.to_act(state):
            return []
        if seat != state.active:
            return [Refusal("begin", "not-your-turn", "2.2", {"active": state.active})]
        legal, refused = set[str](), dict[str, Refusal]()
        for offer in offers.natural(state):
            if why := self.refuse(state, seat, offer.action):
                refused.setdefault(offer.target, Refusal(offer.target, why.reason, why.rule, why.details))
            else:
                legal.add(offer.target)
        return [refusal for target, refusal in refused.items() if target not in legal]

    def time_out(self, state: State, seat: int) -> list[Happening]:
        """Rules 7.1, 7.2.

        :raises Illegal: the seat is not to act.
        """
        if refusal := self.refuse_seat(state, seat, "7.1"):
            raise refusal
        late = told.TimedOut(seat, named(state.seat), state.phase)
        return [late, *self.settle(state)]

    def withdraw(self, state: State, seat: int) -> list[Happening]:
        """Rules 7.3, 7.4.

        :raises Illegal: the game is over, or the seat withdrew before.
        """
        if state.ending:
            raise Illegal("game-over", "4", ending=state.ending)
        leaver = state.seats[seat - 1]
        if leaver.withdrawn:
            raise Illegal("seat-withdrew", "7.3", seat=seat)
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

    def view(self, state: State, viewer: int | None) -> dict[str, Any]:
        """Everything is public: the supply is counts, no order is decided before it is drawn."""
        return {name: msgspec.to_builtins(getattr(state, name)) for name in PUBLIC}

    def cast(self, state: State) -> list[str]:
        return [seat.hero for seat in state.seats]

    def copy(self, state: State) -> State:
        return duplicate(state)


def named(seat: Seat) -> str:
    """The name of the side that is up; empty before there is a hero."""
    return seat.side.name if seat.hero else ""


WAITING: Final = ("choosing-hero", "delve-start")
PUBLIC: Final = ("active", "delve", "discards", "ending", "phase", "resume", "seats", "supply", "table")
"""What a viewer may see: an allow-list, so that a field added later is hidden until somebody decides."""

DUNGEON_ROLL_1: Final = DungeonRoll()
