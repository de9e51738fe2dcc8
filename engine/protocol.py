"""What every game is made of: the words it speaks, the verbs it answers, and the one error it raises.

A game is one package that offers one or more `Rules`. Its state is plain typed data: msgspec structs, dicts with str
keys, lists, ints, bools and strs, nothing else, so that it packs canonically. Chance is a player: every random result
is asked of a `Chance`, so a replay needs no random generator and folding an event is checking its legality.
"""

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Annotated, Any, ClassVar, Generic, Literal, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from engine.chance import Chance
from engine.copying import copier


def kebab(class_name: str) -> str:
    """``UseAttackScroll`` -> ``use-attack-scroll``: how a class is named in stored actions and happenings."""
    return re.sub(r"(?<!^)([A-Z])", r"-\1", class_name).lower()


class Action(msgspec.Struct, frozen=True, forbid_unknown_fields=True, tag_field="type", tag=kebab):
    """What a seat asks for. A subclass is one action; its fields are the args, complete or left out, never null."""


class Happening(msgspec.Struct, frozen=True, tag_field="type", tag=kebab):
    """A derived fact for telling and drawing. Computed when folding, never stored.

    ``rule`` is the id of the rule paragraph it follows.
    """

    rule: ClassVar[str]


N = TypeVar("N", bound=msgspec.Struct)


def by_name(*classes: type[N]) -> dict[str, type[N]]:
    """Actions or happenings by the names under which they are stored."""
    return {kebab(one.__name__): one for one in classes}


class Illegal(Exception):
    """The rules refuse an action, and nothing has changed.

    ``reason`` is a kebab-case code, ``rule`` the id of the paragraph that says so, ``details`` what the message names.
    """

    def __init__(self, reason: str, rule: str, **details: Any) -> None:
        super().__init__(reason)
        self.reason, self.rule, self.details = reason, rule, details


class Legal(msgspec.Struct, frozen=True):
    """An action the seat may take now. ``target`` is the element of the picture to click; ``chance``: may it draw."""

    action: Action
    target: str
    chance: bool = False


class Form(msgspec.Struct, frozen=True, omit_defaults=True):
    """A parametric action, where listing every one explodes: its fields with what may go into them."""

    type: str
    fields: dict[str, "Field"]
    target: str
    chance: bool = False


class Field(msgspec.Struct, frozen=True):
    """One field of a form, filled in with a list: between ``minimum`` and ``maximum`` (inclusive) of ``ids``.

    ``repeats``: how often one id may stand in the list; ``single``: filled in with one id, not with a list.
    """

    minimum: int
    maximum: int
    ids: list[str | int]
    repeats: int = 1
    single: bool = False


class Refusal(msgspec.Struct, frozen=True):
    """What a person would naturally click, and why it is not to be had now."""

    target: str
    code: str
    rule: str
    details: dict[str, Any] = {}


class Outcome(msgspec.Struct, frozen=True, omit_defaults=True):
    """How a game ended: the ending's name, the winning seats, each seat's score in seat order."""

    ending: str
    winners: list[int]
    scores: list[int]
    facts: dict[str, Any] = {}


Seconds = Annotated[int, msgspec.Meta(ge=0, le=2_592_000)]
Deadline = Annotated[int, msgspec.Meta(ge=10, le=2_592_000)]


class Options(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """Table options that every game has. A game adds its own in a subclass; every option has a default.

    ``turn_seconds``: after so long any seat may claim the turn of an absent one; 0 is never.
    ``absence``: what follows then: the turn passes, a bot plays on, or the table is abandoned.
    ``idle_seconds``: after so long without an event a table is closed as abandoned.
    ``reveal_seconds``, ``signoff_seconds``: deadlines of self-custody seats.
    ``dispute_pauses``: nobody acts while a dispute of the game waits for its ruling.
    """

    turn_seconds: Seconds = 0
    absence: Literal["pass", "bot", "abandon"] = "pass"
    idle_seconds: Deadline = 604_800
    reveal_seconds: Deadline = 120
    signoff_seconds: Deadline = 60
    dispute_pauses: bool = False


class SeatSetup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One seat at the start: what it chose when it sat down, and which bot plays it, by name and level."""

    choice: dict[str, Any]
    bot: tuple[str, int] | UnsetType = UNSET


class Setup(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Every input of the fold. ``options`` are complete; ``state`` is there for a fork, which begins with it."""

    options: dict[str, Any]
    seats: list[SeatSetup]
    state: dict[str, Any] | UnsetType = UNSET


S = TypeVar("S", bound=msgspec.Struct)


class Rules(ABC, Generic[S]):
    """One version of one game's rules. Frozen once a game was played under it: a fix is a new version beside it.

    A verb never keeps anything between calls, and mutates nothing but the state it is given.
    """

    id: ClassVar[str]
    """Name and version: ``donjon@1``."""
    seats: ClassVar[range]
    """How many seats a table may have."""
    options: ClassVar[type[Options]]
    choice: ClassVar[type[msgspec.Struct]]
    """What a seat may choose when it sits down (frozen, forbids unknown fields, every field may be left out)."""
    state: ClassVar[type[msgspec.Struct]]
    actions: ClassVar[Mapping[str, type[Action]]]
    """Every action by its name."""
    happenings: ClassVar[Mapping[str, type[Happening]]]
    """Every happening by its name."""
    purposes: ClassVar[Mapping[str, str]]
    """Every purpose of a draw, and what is drawn."""
    components: ClassVar[Any]
    """The game's material as plain data, part of the rules hash."""
    transcripts: ClassVar[bytes]
    """SHA-256 of the golden transcripts, part of the rules hash."""

    def admit(self, options: Options, seated: Mapping[int, msgspec.Struct], choice: msgspec.Struct) -> None:
        """May a seat sit down with this choice beside those already seated (by seat number)?

        :raises Illegal: no, and why.
        """

    @abstractmethod
    def initial(self, setup: Setup) -> S:
        """The state before the first draw."""

    @abstractmethod
    def begin(self, state: S, chance: Chance) -> list[Happening]:
        """The draws that open the game: first player, dealt heroes."""

    @abstractmethod
    def to_act(self, state: S) -> list[int]:
        """The seats whose action the game waits for; empty once there is an outcome, and only then."""

    @abstractmethod
    def legal(self, state: S, seat: int) -> list[Legal]:
        """Every legal action of the seat that can be listed; empty where it is not to act."""

    def forms(self, state: S, seat: int) -> list[Form]:
        """The legal parametric actions of the seat."""
        return []

    def element(self, field: str, name: str | int) -> str:
        """The element of the picture that stands for an id in a field of a form, empty where none does."""
        return str(name)

    @abstractmethod
    def refusals(self, state: S, seat: int) -> list[Refusal]:
        """What a person would naturally click now and may not, each with its reason."""

    @abstractmethod
    def apply(self, state: S, seat: int, action: Action, chance: Chance) -> list[Happening]:
        """Carry the action out.

        :raises Illegal: the rules refuse it; the state is unchanged and nothing was drawn.
        """

    @abstractmethod
    def time_out(self, state: S, seat: int) -> list[Happening]:
        """Settle what is pending to the absent seat's cost and end its turn, without draws. Only for a seat to act."""

    @abstractmethod
    def withdraw(self, state: S, seat: int) -> list[Happening]:
        """The seat leaves for good, without draws: it keeps what it won, blocks nobody and is skipped from now on."""

    @abstractmethod
    def outcome(self, state: S) -> Outcome | None:
        """How the game ended, or None while it is played."""

    @abstractmethod
    def view(self, state: S, viewer: int | None) -> dict[str, Any]:
        """The state as a seat, or a watcher (None), may see it: an allow-list, as JSON-ready plain data."""

    def cast(self, state: S) -> list[str]:
        """The hero of each seat, in seat order, where a game has heroes and deals them; else empty."""
        return []

    def copy(self, state: S) -> S:
        """A copy that shares nothing mutable with the state."""
        copy = copier(self.state)
        assert copy, "a state is mutable"
        twin: S = copy(state)
        return twin

    def parse(self, name: str, args: Mapping[str, Any]) -> Action:
        """The typed action of a name and its args.

        :raises Illegal: ``unknown-action`` or ``malformed-action``.
        """
        if (action := self.actions.get(name)) is None:
            raise Illegal("unknown-action", "0", action=name, known=sorted(self.actions))
        try:
            return msgspec.convert(args, action)
        except msgspec.ValidationError as error:
            raise Illegal("malformed-action", "0", action=name, expected=str(error)) from error


def name_and_args(action: Action) -> tuple[str, dict[str, Any]]:
    """The stored form of an action: its name and its args as plain data."""
    args = msgspec.to_builtins(action)
    return args.pop("type"), args


Below = Callable[[int], int]


class Bot(ABC):
    """A player of one game. Bots are pure as rules are: their whims come from ``below(n)``, an int in [0, n)."""

    name: ClassVar[str]
    levels: ClassVar[range]

    @abstractmethod
    def choose(self, rules: Rules[Any], state: Any, seat: int, level: int, below: Below) -> Action:
        """The action of a seat that is to act."""
