"""Le Donjon as a ruleset. At its heart the table of rules 2.2 and 2.3: which action is legal when."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Annotated, ClassVar, Final, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from engine.chance import Chance, Loaded
from engine.donjon import actions as act
from engine.donjon import components, fights, heroes, movement, offers, treasure, turns
from engine.donjon import happenings as told
from engine.donjon.frozen import TRANSCRIPTS
from engine.donjon.state import Hero, Phase, State, Table, Tile
from engine.protocol import Action, Happening, Illegal, Legal, Options, Outcome, SeatSetup
from engine.turns import OPENING, Cited, Handler, TurnTaking, dealt, during, first_seat, nothing_else


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


class Donjon(TurnTaking[State]):
    """Le Donjon, first version."""

    id = "donjon@1"
    seats = range(2, 7)
    options = DonjonOptions
    choice = DonjonChoice
    state = State
    actions = act.ACTIONS
    happenings = told.HAPPENINGS
    purposes: ClassVar[Mapping[str, str]] = {
        **OPENING,
        "tile": "discovering: one tile out of the pile",
        "orientation": "discovering, after the tile: its rotation, of those that connect back",
        "token": "entering a new room, after its tile was turned: one token out of the bag",
        "fight": "rolling: two dice, four for Horan, pair by pair",
        "reroll": "rolling, after both dice of Victorius: his first die until it is no 1, then his second",
    }
    components = components.COMPONENTS
    transcripts = TRANSCRIPTS["donjon@1"]
    cited = Cited(over="6.1", turn="2.2", absence="9.1", leaving="9.3")
    waits = "next"
    public = (
        "active", "bag", "ending", "fight", "heroes", "mp", "phase", "pile", "placing", "progress", "safe", "steps",
        "table", "things", "tiles", "turn",
    )  # fmt: skip

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

    def set_up(self, options: DonjonOptions, seats: Sequence[SeatSetup]) -> State:
        chosen = [msgspec.convert(seat.choice, DonjonChoice).hero for seat in seats]
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

    def open(self, state: State, chance: Chance) -> list[Happening]:
        """Rules 1.3."""
        out: list[Happening] = []
        for seat, hero in dealt(chance, components.HEROES, self.cast(state)):
            state.heroes[seat - 1].name = msgspec.convert(hero, components.HeroName)
            out.append(told.HeroDealt(seat, hero))
        state.active = first_seat(chance, len(state.heroes))
        return [*out, told.GameBegun(state.active, tuple(self.cast(state))), turns.begin_turn(state)]

    def natural(self, state: State) -> Iterable[Legal]:
        return offers.natural(state)

    def wrong_phase(self, state: State, phases: frozenset[str]) -> Illegal:
        return turns.wrong_phase(state, phases)

    def players(self, state: State) -> Sequence[Hero]:
        return state.heroes

    def miss(self, state: State) -> list[Happening]:
        """Rules 9.1, 9.2."""
        late = told.TimedOut(state.active, state.hero.name, state.phase)
        settled = self.settle(state)
        return [late, *settled, *self.handlers[act.EndTurn].carry_out(state, act.EndTurn(), Loaded())]

    def leave(self, state: State, seat: int) -> list[Happening]:
        """Rules 9.3, 9.4."""
        hero = state.heroes[seat - 1]
        out = self.settle(state) if seat == state.active else []
        hero.withdrawn = True
        out.append(told.SeatWithdrew(seat, hero.name, hero.at, hero.gold))
        if all(hero.withdrawn for hero in state.heroes):
            return [*out, turns.finish(state, "withdrawal")]
        return out + turns.next_turn(state) if seat == state.active else out

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

    def cast(self, state: State) -> list[str]:
        return [hero.name for hero in state.heroes]


DONJON_1: Final = Donjon()
