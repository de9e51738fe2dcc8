"""Hidden Card, a game for tests: two seats, hands that only their owners see, and an action with a form.

Each seat is dealt two of twelve cards. In turn a seat draws one, changes some of its own, or knocks; after a knock, or
when the deck is empty, the higher hand wins.
"""

from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta

from engine.chance import Chance
from engine.protocol import (
    Action,
    Bot,
    Field,
    Form,
    Happening,
    Illegal,
    Legal,
    Options,
    Outcome,
    Refusal,
    Rules,
    Setup,
    kebab,
)

CARDS: Final = {f"card-{value:02}": value for value in range(1, 13)}


class Draw(Action, frozen=True):
    """A card from the deck."""


class Change(Action, frozen=True):
    """Own cards for as many from the deck."""

    cards: Annotated[tuple[str, ...], Meta(min_length=1, max_length=2)]


class Knock(Action, frozen=True):
    """Show all hands."""


class Dealt(Happening, frozen=True):
    """A seat has so many cards now, no matter which."""

    rule: ClassVar[str] = "1"
    seat: int
    cards: int


class Left(Happening, frozen=True):
    """A seat is gone: the other wins."""

    rule: ClassVar[str] = "1"
    seat: int


class Shown(Happening, frozen=True):
    """The end."""

    rule: ClassVar[str] = "1"
    hands: tuple[tuple[str, ...], ...]


class State(msgspec.Struct):
    active: int
    deck: list[str]
    gone: list[int]
    hands: list[list[str]]
    open: bool


class NoChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Nothing to choose."""


class HiddenCard(Rules[State]):
    id = "hidden-card@1"
    seats = range(2, 3)
    options = Options
    choice = NoChoice
    state = State
    actions: ClassVar[Mapping[str, type[Action]]] = {kebab(a.__name__): a for a in (Draw, Change, Knock)}
    happenings: ClassVar[Mapping[str, type[Happening]]] = {kebab(h.__name__): h for h in (Dealt, Left, Shown)}
    purposes: ClassVar[Mapping[str, str]] = {"card": "one card out of the deck"}
    components = CARDS
    transcripts = bytes(32)

    def initial(self, setup: Setup) -> State:
        return State(0, sorted(CARDS), [], [[] for _ in setup.seats], False)

    def begin(self, state: State, chance: Chance) -> list[Happening]:
        state.active = 1
        return [self.deal(state, seat, chance) for seat in (1, 2) for _ in range(2)]

    def deal(self, state: State, seat: int, chance: Chance) -> Happening:
        card = chance.pick(dict.fromkeys(state.deck, 1), "card")
        state.deck.remove(card)
        state.hands[seat - 1].append(card)
        return Dealt(seat, len(state.hands[seat - 1]))

    def to_act(self, state: State) -> list[int]:
        return [] if state.open else [state.active]

    def legal(self, state: State, seat: int) -> list[Legal]:
        if seat not in self.to_act(state):
            return []
        return [Legal(Draw(), "deck", chance=True), Legal(Knock(), "next")]

    def forms(self, state: State, seat: int) -> list[Form]:
        if seat not in self.to_act(state):
            return []
        return [Form("change", {"cards": Field(1, 2, list(state.hands[seat - 1]))}, "hand", chance=True)]

    def refusals(self, state: State, seat: int) -> list[Refusal]:
        return [] if seat in self.to_act(state) else [Refusal("next", "not-your-turn", "1")]

    def apply(self, state: State, seat: int, action: Action, chance: Chance) -> list[Happening]:
        if seat not in self.to_act(state):
            raise Illegal("not-your-turn", "1")
        hand, out = state.hands[seat - 1], list[Happening]()
        if isinstance(action, Change):
            if len(set(action.cards) & set(hand)) < len(action.cards):
                raise Illegal("not-your-card", "1")
            if len(action.cards) > len(state.deck):
                raise Illegal("deck-too-small", "1")
            for card in action.cards:
                hand.remove(card)
        for _ in getattr(action, "cards", [1] * isinstance(action, Draw)):
            out.append(self.deal(state, seat, chance))
        state.active = 3 - seat
        return out + (self.show(state) if isinstance(action, Knock) or not state.deck else [])

    def show(self, state: State) -> list[Happening]:
        state.open = True
        return [Shown(tuple(tuple(hand) for hand in state.hands))]

    def time_out(self, state: State, seat: int) -> list[Happening]:
        if seat not in self.to_act(state):
            raise Illegal("not-your-turn", "1")
        return self.show(state)

    def withdraw(self, state: State, seat: int) -> list[Happening]:
        if state.open:
            raise Illegal("game-over", "1")
        state.gone.append(seat)
        return [Left(seat), *self.show(state)]

    def outcome(self, state: State) -> Outcome | None:
        if not state.open:
            return None
        scores = [sum(CARDS[card] for card in hand) for hand in state.hands]
        return Outcome("shown", [seat for seat in (1, 2) if scores[seat - 1] == max(scores)], scores)

    def view(self, state: State, viewer: int | None) -> dict[str, Any]:
        seen = {viewer} if not state.open else {1, 2}
        hands = [list(hand) if seat in seen else len(hand) for seat, hand in enumerate(state.hands, 1)]
        return {"active": state.active, "deck": len(state.deck), "hands": hands, "open": state.open}

    def copy(self, state: State) -> State:
        return State(state.active, list(state.deck), list(state.gone), [list(hand) for hand in state.hands], state.open)


def secrets(state: State, viewer: int | None) -> set[str]:
    """The cards that a viewer must not know: those in other hands while they are closed, and those in the deck."""
    closed = [hand for seat, hand in enumerate(state.hands, 1) if seat != viewer and not state.open]
    return set(state.deck).union(*closed)


class Gambler(Bot):
    """Knocks or draws."""

    name = "gambler"
    levels = range(1, 2)

    def choose(self, rules: Rules[Any], state: Any, seat: int, level: int, below: Any) -> Action:
        return (Draw(), Knock())[below(2)]


HIDDEN_CARD: Final = HiddenCard()
