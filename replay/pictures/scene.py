"""What the pictures of all games of turns draw from: the state, what is legal, who won, and the game's words."""

from collections.abc import Sequence
from typing import Any, ClassVar, Generic, TypeVar

from engine.protocol import Happening, Legal, Rules
from engine.turns import TurnState
from replay.pictures.shared import Sheet
from replay.telling import capital
from replay.words import Context, words

T = TypeVar("T", bound=TurnState)


class Scene(Generic[T]):
    """A position to be drawn, with the drawings its picture takes along."""

    game: ClassVar[str]
    """The game's name: ``donjon``."""

    def __init__(self, rules: Rules[Any], state: T, language: str, happened: Sequence[Happening]) -> None:
        self.rules, self.state, self.happened = rules, state, happened
        self.sheet = Sheet()
        self.words = words(language)
        self.context = Context(rules, state)
        self.legal: dict[str, list[Legal]] = {}
        """What the active seat may do, by target."""
        if self.playing:
            for legal in rules.legal(state, state.active):
                self.legal.setdefault(legal.target, []).append(legal)
        self.outcome = rules.outcome(state)
        self.winners = self.outcome.winners if self.outcome else []

    @property
    def playing(self) -> bool:
        return bool(self.state.active) and not self.state.ending

    def say(self, message: str, **facts: Any) -> str:
        """A message of the pictures' own catalogue."""
        return self.words.text(f"pictures.{self.game}.{message}", facts, self.context)

    def term(self, name: str) -> str:
        """A term as it stands at the start of a line."""
        term = self.words.term(name, self.game)
        return capital(term.text) if term else name
