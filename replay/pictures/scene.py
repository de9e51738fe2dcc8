"""What the pictures of all games of turns draw from: the state, what is legal, who won, and the game's words."""

from collections.abc import Sequence
from typing import Any, ClassVar, Final, Generic, TypeVar

from markupsafe import Markup

from engine.protocol import Happening, Legal, Rules
from engine.turns import TurnState
from replay.pictures.shared import WIDTH, Sheet, folded, place, tag, title, write
from replay.telling import capital
from replay.words import Context, words

T = TypeVar("T", bound=TurnState)

TOLD: Final = 42
"""The height of the strip that tells what has just happened: always the same, so that nothing below it jumps."""
LINES: Final = ((11.0, 2, 12.5), (9.5, 3, 10.5), (9.0, 4, 9.6))
"""How it is written: font size, most lines, from one line to the next; the last where all else is too large."""


class Scene(Generic[T]):
    """A position to be drawn, with the drawings its picture takes along."""

    game: ClassVar[str]
    """The game's name: ``donjon``."""
    elsewhere: ClassVar[tuple[type[Happening], ...]] = ()
    """What the picture shows in another place too: left out first, in this order, of what is too long to be told."""

    def __init__(
        self,
        rules: Rules[Any],
        state: T,
        language: str,
        happened: Sequence[Happening],
        before: Sequence[Happening] = (),
    ) -> None:
        self.rules, self.state, self.happened, self.before = rules, state, happened, before
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

    # -- what has just happened ------------------------------------------------------------------------------------

    def told(self, y: float) -> tuple[Markup, float]:
        """What the last event brought about, in words, from ``y`` on; and its height, nothing where nothing did.

        Of an event that is too long to be told in full, what stands `elsewhere` is left out, then what happened first.
        """
        if not self.happened:
            return Markup(""), 0
        said = [(happening, self.words.happening(happening, self.context)) for happening in self.happened]
        join, room = self.words.grammar.space.join, WIDTH - 20
        whole = join(text for _, text in said)
        laid = ((size, most, step, folded(whole, size, room)) for size, most, step in LINES)
        size, most, step, lines = min(laid, key=lambda one: max(len(one[3]) - one[1], 0))
        spare, mark = [one for sort in self.elsewhere for one in said if isinstance(one[0], sort)], ""
        while len(lines) > most and len(said) > 1:
            if spare:
                said.remove(spare.pop(0))
            else:
                del said[0]
                mark = "… "
            lines = folded(mark + join(text for _, text in said), size, room)
        if len(lines) > most:
            lines[most - 1 :] = [lines[most - 1] + " …"]
        top = (TOLD - step * (len(lines) - 1) + 0.72 * size) / 2
        parts = [write(line, WIDTH / 2, top + i * step, size, "m", room) for i, line in enumerate(lines)]
        return tag("g", title(whole), *parts, id="told", transform=place(0, y)), TOLD

    def say(self, message: str, **facts: Any) -> str:
        """A message of the pictures' own catalogue."""
        return self.words.text(f"pictures.{self.game}.{message}", facts, self.context)

    def term(self, name: str) -> str:
        """A term as it stands at the start of a line."""
        term = self.words.term(name, self.game)
        return capital(term.text) if term else name
