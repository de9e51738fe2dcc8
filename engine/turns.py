"""Games in which one seat acts at a time. The heart of such a game is a table: which action is legal when.

The table answers everything that is asked of the rules: what is legal, what is refused and why, what an action does.
"""

from abc import abstractmethod
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, NamedTuple, Protocol, TypeVar, cast

import msgspec
from msgspec import UNSET

from engine.chance import Chance, equally
from engine.protocol import Action, Happening, Illegal, Legal, Refusal, Rules, SeatSetup, Setup

OPENING: Final[Mapping[str, str]] = {
    "hero": "opening: for each seat without a hero, in seat order, one of the heroes left",
    "first-seat": "opening, after the heroes: the seat that begins",
}
"""The purposes of the draws of `dealt` and `first_seat`."""


class TurnState(msgspec.Struct):
    """The state of such a game: which seat is ``active``, its ``ending``, empty while it is played, its ``phase``.

    A game writes these fields down among its own, because they are stored in alphabetical order.
    """

    if TYPE_CHECKING:
        active: int
        ending: str
        phase: str


class Player(Protocol):
    """A seat of such a game."""

    withdrawn: bool


When = Callable[[Any], frozenset[str]]


class Handler(NamedTuple):
    """One action: the phases in which it is legal, what else may forbid it, and what it does."""

    when: When
    refuse: Callable[[Any, Any], Illegal | None]
    carry_out: Callable[[Any, Any, Chance], list[Happening]]


class Cited(NamedTuple):
    """The paragraphs of the rules that say when a game is over, whose turn it is, what follows for who is absent, and
    who leaves."""

    over: str
    turn: str
    absence: str
    leaving: str


def during(*phases: str) -> When:
    """Always in these phases."""
    always = frozenset(phases)
    return lambda state: always


def nothing_else(state: object, action: Action) -> None:
    """No further condition."""


def after(seat: int, seats: int) -> Iterator[int]:
    """Every seat once, round the table: first the one that follows, last the seat itself."""
    return (number % seats + 1 for number in range(seat, seat + seats))


def left(heroes: Iterable[str], held: Iterable[str]) -> list[str]:
    """The heroes that nobody has."""
    taken = set(held)
    return [hero for hero in heroes if hero not in taken]


def dealt(chance: Chance, heroes: Iterable[str], held: Sequence[str]) -> Iterator[tuple[int, str]]:
    """(seat, hero): for each seat without a hero (empty in ``held``), in seat order, one of the heroes left."""
    free = left(heroes, held)
    for seat, hero in enumerate(held, 1):
        if not hero:
            yield seat, (drawn := equally(chance, free, "hero"))
            free.remove(drawn)


def first_seat(chance: Chance, seats: int) -> int:
    """The seat that begins."""
    return int(equally(chance, map(str, range(1, seats + 1)), "first-seat"))


T = TypeVar("T", bound=TurnState)


class TurnTaking(Rules[T]):
    """A game in which one seat acts at a time: the active one. Its phase is ``opening`` at first and
    ``game-over`` in the end."""

    handlers: ClassVar[Mapping[type[Action], Handler]]
    """Every action: which is legal when, and what it does."""
    cited: ClassVar[Cited]
    waits: ClassVar[str]
    """The element of the picture that tells a seat that it is not its turn."""
    public: ClassVar[Sequence[str]]
    """What a viewer may see: an allow-list, so that a field added later is hidden until somebody decides."""

    # What a game says of itself

    @abstractmethod
    def set_up(self, options: Any, seats: Sequence[SeatSetup]) -> T:
        """The state before the first draw."""

    @abstractmethod
    def open(self, state: T, chance: Chance) -> list[Happening]:
        """The draws that open the game."""

    @abstractmethod
    def natural(self, state: T) -> Iterable[Legal]:
        """What the active seat may think of doing, legal or not: every legal action that can be listed is among
        them, each once."""

    @abstractmethod
    def wrong_phase(self, state: T, phases: frozenset[str]) -> Illegal:
        """Why an action that belongs to ``phases`` must wait, or comes too late."""

    @abstractmethod
    def players(self, state: T) -> Sequence[Player]:
        """Who plays, in seat order."""

    @abstractmethod
    def miss(self, state: T) -> list[Happening]:
        """The active seat is absent: what is pending ends to its cost, and the next seat is up."""

    @abstractmethod
    def leave(self, state: T, seat: int) -> list[Happening]:
        """The seat, which still plays, leaves for good."""

    # What follows for all

    def initial(self, setup: Setup) -> T:
        if setup.state is not UNSET:
            return cast(T, msgspec.convert(setup.state, self.state))
        return self.set_up(msgspec.convert(setup.options, self.options), setup.seats)

    def begin(self, state: T, chance: Chance) -> list[Happening]:
        """A fork is past its opening: it goes on where it stands."""
        return self.open(state, chance) if state.phase == "opening" else []

    def to_act(self, state: T) -> list[int]:
        return [] if state.phase in ("opening", "game-over") else [state.active]

    def refuse(self, state: T, seat: int, action: Action) -> Illegal | None:
        """Why the seat may not do it now, or None."""
        if state.ending or seat != state.active:
            return self.refuse_seat(state, seat, self.cited.turn)
        handler = self.handlers[type(action)]
        if state.phase not in (phases := handler.when(state)):
            return self.wrong_phase(state, phases)
        return handler.refuse(state, action)

    def refuse_seat(self, state: T, seat: int, rule: str) -> Illegal | None:
        """Why it is not for the seat to do anything, or None."""
        if refusal := self.refuse_over(state):
            return refusal
        return None if seat == state.active else Illegal("not-your-turn", rule, active=state.active)

    def refuse_over(self, state: T) -> Illegal | None:
        return Illegal("game-over", self.cited.over, ending=state.ending) if state.ending else None

    def apply(self, state: T, seat: int, action: Action, chance: Chance) -> list[Happening]:
        if refusal := self.refuse(state, seat, action):
            raise refusal
        return self.handlers[type(action)].carry_out(state, action, chance)

    def legal(self, state: T, seat: int) -> list[Legal]:
        if seat not in self.to_act(state):
            return []
        return [offer for offer in self.natural(state) if self.refuse(state, seat, offer.action) is None]

    def refusals(self, state: T, seat: int) -> list[Refusal]:
        if not self.to_act(state):
            return []
        if seat != state.active:
            return [Refusal(self.waits, "not-your-turn", self.cited.turn, {"active": state.active})]
        legal, refused = set[str](), dict[str, Refusal]()
        for offer in self.natural(state):
            if offer.target in legal:
                continue
            if why := self.refuse(state, seat, offer.action):
                refused.setdefault(offer.target, Refusal(offer.target, why.reason, why.rule, why.details))
            else:
                legal.add(offer.target)
        return [refusal for target, refusal in refused.items() if target not in legal]

    def time_out(self, state: T, seat: int) -> list[Happening]:
        """:raises Illegal: the game is over, or the seat is not to act."""
        if refusal := self.refuse_seat(state, seat, self.cited.absence):
            raise refusal
        return self.miss(state)

    def withdraw(self, state: T, seat: int) -> list[Happening]:
        """:raises Illegal: the game is over, or the seat withdrew before."""
        if refusal := self.refuse_over(state):
            raise refusal
        if self.players(state)[seat - 1].withdrawn:
            raise Illegal("seat-withdrew", self.cited.leaving, seat=seat)
        return self.leave(state, seat)

    def view(self, state: T, viewer: int | None) -> dict[str, Any]:
        """Everything in ``public``, to everybody: no order is decided before it is drawn, so piles are counts."""
        return {name: msgspec.to_builtins(part) for name in self.public if (part := getattr(state, name)) is not UNSET}
