"""Le Donjon as a ruleset. At its heart the table of rules 2.2 and 2.3: which action is legal when."""

from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Final, Literal, NamedTuple

import msgspec
from msgspec import UNSET, Meta, UnsetType

from engine.chance import Chance, Loaded
from engine.donjon import actions as act
from engine.donjon import components, fights, heroes, movement, offers, treasure, turns
from engine.donjon import happenings as told
from engine.donjon.frozen import TRANSCRIPTS
from engine.donjon.state import Hero, Phase, State, Table, Tile, duplicate
from engine.protocol import Action, Happening, Illegal, Legal, Options, Outcome, Refusal, Rules, Setup


class DonjonOptions(Options, frozen=True, kw_only=True):
    """Table options (rules 7).

    ``orientation``: who turns a new tile; ``traps``: how many of the corridors are traps; ``actions_at_zero``: items,
    chests and fountains may be used without movement left; ``victorius_keeps_moving``: even when he takes the loot of a
    fight in which he rolled a six; ``stalemate_rounds``: so many rounds in a row without progress end the game, 0 is
    never.
    """

    orientation: Literal["random", "player"] = "random"
    traps: Annotated[int, Meta(ge=0, le=components.MOST_TRAPS)] = components.TRAPS
    actions_at_zero: bool = True
    victorius_keeps_moving: bool = False
    stalemate_rounds: Annotated[int, Meta(ge=0, le=1_000)] = 30


class DonjonChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The hero a seat wants; without one it is dealt one of those left."""

    hero: components.HeroName | UnsetType = UNSET


class Handler(NamedTuple):
    """One action: the phases in which it is legal, what else may forbid it, and its rule."""

    phases: frozenset[Phase]
    refuse: Callable[[State, Any], Illegal | None]
    carry_out: Callable[[State, Any, Chance], list[Happening]]


def during(*phases: Phase) -> frozenset[Phase]:
    return frozenset(phases)


def nothing_else(state: State, action: Action) -> None:
    """No further condition."""


class Donjon(Rules[State]):
    """Le Donjon, first version."""

    id = "donjon@1"
    seats = range(2, 7)
    options = DonjonOptions
    choice = DonjonChoice
    state = State
    actions = act.ACTIONS
    happenings = told.HAPPENINGS
    purposes: ClassVar[Mapping[str, str]] = {
        "hero": "opening: for each seat without a hero, in seat order, one of the heroes left",
        "first-seat": "opening, after the heroes: the seat that begins",
        "tile": "discovering: one tile out of the pile",
        "orientation": "discovering, after the tile: its rotation, of those that connect back",
        "token": "entering a new room, after its tile was turned: one token out of the bag",
        "fight": "rolling: two dice, four for Horan, pair by pair",
        "reroll": "rolling, after both dice of Victorius: his first die until it is no 1, then his second",
    }
    components = components.COMPONENTS
    transcripts = TRANSCRIPTS["donjon@1"]

    handlers: ClassVar[dict[type[Action], Handler]] = {
        act.Move: Handler(during("turn-start", "exploring", "encounter"), movement.refuse_move, movement.move),
        act.PlaceTile: Handler(during("placing"), movement.refuse_place_tile, movement.place_tile),
        act.ResolveTrap: Handler(during("trap-pending"), nothing_else, movement.resolve_trap),
        act.Fight: Handler(during("encounter"), nothing_else, fights.attack),
        act.RollDice: Handler(during("combat-pending"), nothing_else, fights.roll_dice),
        act.UseAttackScroll: Handler(
            during("combat-decision"), fights.refuse_use_attack_scroll, fights.use_attack_scroll
        ),
        act.Sacrifice: Handler(during("combat-decision"), fights.refuse_sacrifice, fights.sacrifice),
        act.AcceptResult: Handler(during("combat-decision"), nothing_else, fights.accept_result),
        act.TakeLoot: Handler(during("loot"), treasure.refuse_take_loot, treasure.take_loot),
        act.LeaveLoot: Handler(during("loot"), nothing_else, treasure.leave_loot),
        act.PickUp: Handler(during("turn-start", "exploring"), treasure.refuse_pick_up, treasure.pick_up),
        act.OpenChest: Handler(during("turn-start", "exploring"), treasure.refuse_open_chest, treasure.open_chest),
        act.UseFountain: Handler(
            during("turn-start", "exploring"), treasure.refuse_use_fountain, treasure.use_fountain
        ),
        act.UseHealingScroll: Handler(
            during("turn-start", "exploring", "turn-over"),
            treasure.refuse_use_healing_scroll,
            treasure.use_healing_scroll,
        ),
        act.Swap: Handler(during("turn-start"), heroes.refuse_swap, heroes.swap),
        act.Reincarnate: Handler(during("reincarnation"), heroes.refuse_reincarnate, heroes.reincarnate),
        act.DeclineReincarnation: Handler(during("reincarnation"), nothing_else, heroes.decline_reincarnation),
        act.EndTurn: Handler(during("turn-start", "exploring", "turn-over"), nothing_else, turns.end_turn),
    }  # fmt: skip

    absent: ClassVar[Mapping[Phase, Action]] = {
        "trap-pending": act.ResolveTrap(),
        "loot": act.LeaveLoot(),
        "reincarnation": act.DeclineReincarnation(),
    }
    """What an absent seat is taken to answer (rules 9.2)."""

    def admit(self, options: Options, seated: Mapping[int, msgspec.Struct], choice: msgspec.Struct) -> None:
        assert isinstance(choice, DonjonChoice)
        for seat, other in seated.items():
            if choice.hero is not UNSET and isinstance(other, DonjonChoice) and other.hero == choice.hero:
                raise Illegal("hero-taken", "1.3", hero=choice.hero, seat=seat)

    def initial(self, setup: Setup) -> State:
        if setup.state is not UNSET:
            return msgspec.convert(setup.state, State)
        options = msgspec.convert(setup.options, DonjonOptions)
        chosen = [msgspec.convert(seat.choice, DonjonChoice).hero for seat in setup.seats]
        return State(
            active=0,
            bag=dict(components.TOKENS),
            ending="",
            heroes=[Hero(components.START, name=hero or "") for hero in chosen],
            mp=0,
            phase="opening",
            pile=components.pile(options.traps),
            progress=0,
            safe=components.START,
            steps=0,
            table=Table(
                options.actions_at_zero, options.orientation, options.stalemate_rounds, options.victorius_keeps_moving
            ),
            things={},
            tiles={components.START: Tile(components.EXITS["x"], "start")},
            turn=0,
        )

    def begin(self, state: State, chance: Chance) -> list[Happening]:
        """Rules 1.3. A fork is past its opening: it goes on where it stands."""
        if state.phase != "opening":
            return []
        out: list[Happening] = []
        for seat, hero in enumerate(state.heroes, 1):
            if not hero.name:
                taken = {other.name for other in state.heroes}
                dealt = chance.pick({name: 1 for name in components.HEROES if name not in taken}, "hero")
                hero.name = msgspec.convert(dealt, components.HeroName)
                out.append(told.HeroDealt(seat, hero.name))
        state.active = int(chance.pick({str(seat): 1 for seat, _ in enumerate(state.heroes, 1)}, "first-seat"))
        names = tuple(hero.name for hero in state.heroes)
        return [*out, told.GameBegun(state.active, names), turns.begin_turn(state)]

    def to_act(self, state: State) -> list[int]:
        return [] if state.phase in ("opening", "game-over") else [state.active]

    def refuse(self, state: State, seat: int, action: Action) -> Illegal | None:
        """Why the seat may not do it now, or None."""
        if state.ending:
            return Illegal("game-over", "6.1", ending=state.ending)
        if seat != state.active:
            return Illegal("not-your-turn", "2.2", active=state.active)
        handler = self.handlers[type(action)]
        if state.phase not in handler.phases:
            return turns.wrong_phase(state, handler.phases)
        return handler.refuse(state, action)

    def apply(self, state: State, seat: int, action: Action, chance: Chance) -> list[Happening]:
        if refusal := self.refuse(state, seat, action):
            raise refusal
        return self.handlers[type(action)].carry_out(state, action, chance)

    def legal(self, state: State, seat: int) -> list[Legal]:
        if seat not in self.to_act(state):
            return []
        return [offer for offer in offers.natural(state) if self.refuse(state, seat, offer.action) is None]

    def refusals(self, state: State, seat: int) -> list[Refusal]:
        if not self.to_act(state):
            return []
        if seat != state.active:
            return [Refusal("next", "not-your-turn", "2.2", {"active": state.active})]
        legal = {offer.target for offer in self.legal(state, seat)}
        refused: dict[str, Refusal] = {}
        for offer in offers.natural(state):
            if offer.target not in legal and (why := self.refuse(state, seat, offer.action)):
                refused.setdefault(offer.target, Refusal(offer.target, why.reason, why.rule, why.details))
        return list(refused.values())

    def time_out(self, state: State, seat: int) -> list[Happening]:
        """Rules 9.1, 9.2.

        :raises Illegal: the seat is not to act.
        """
        if refusal := self.refuse_absence(state, seat):
            raise refusal
        late = told.TimedOut(seat, state.hero.name, state.phase)
        settled = self.settle(state)
        return [late, *settled, *self.handlers[act.EndTurn].carry_out(state, act.EndTurn(), Loaded())]

    def withdraw(self, state: State, seat: int) -> list[Happening]:
        """Rules 9.3, 9.4.

        :raises Illegal: the game is over, or the seat withdrew before.
        """
        if state.ending:
            raise Illegal("game-over", "6.1", ending=state.ending)
        hero = state.heroes[seat - 1]
        if hero.withdrawn:
            raise Illegal("seat-withdrew", "9.3", seat=seat)
        out = self.settle(state) if seat == state.active else []
        hero.withdrawn = True
        out.append(told.SeatWithdrew(seat, hero.name, hero.at, hero.gold))
        if all(hero.withdrawn for hero in state.heroes):
            return [*out, turns.finish(state, "withdrawal")]
        return out + turns.next_turn(state) if seat == state.active else out

    def refuse_absence(self, state: State, seat: int) -> Illegal | None:
        if state.ending:
            return Illegal("game-over", "6.1", ending=state.ending)
        return None if seat == state.active else Illegal("not-your-turn", "9.1", active=state.active)

    def settle(self, state: State) -> list[Happening]:
        """9.2: what is pending ends to the active seat's cost, without draws."""
        out: list[Happening] = []
        if state.phase == "placing":
            out += movement.return_tile(state)
        elif state.phase in ("encounter", "combat-pending", "combat-decision"):
            out += fights.forfeit(state)
        while answer := self.absent.get(state.phase):
            out += self.handlers[type(answer)].carry_out(state, answer, Loaded())
        return out

    def outcome(self, state: State) -> Outcome | None:
        if not state.ending:
            return None
        return Outcome(state.ending, turns.winners(state), [hero.gold for hero in state.heroes])

    def view(self, state: State, viewer: int | None) -> dict[str, Any]:
        """Everything is public: the pile and the bag are counts, no order is decided before it is drawn."""
        return {name: msgspec.to_builtins(part) for name in PUBLIC if (part := getattr(state, name)) is not UNSET}

    def cast(self, state: State) -> list[str]:
        return [hero.name for hero in state.heroes]

    def copy(self, state: State) -> State:
        return duplicate(state)


PUBLIC: Final = (
    "active", "bag", "ending", "fight", "heroes", "mp", "phase", "pile", "placing", "progress", "safe", "steps",
    "table", "things", "tiles", "turn",
)  # fmt: skip
"""What a viewer may see: an allow-list, so that a field added later is hidden until somebody decides."""

DONJON_1: Final = Donjon()
