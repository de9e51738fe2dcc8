"""What a game gives for being told, besides its catalogue: variants of messages, chapters, a text board."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from engine.protocol import Action, Happening


class Verbatim(str):
    """Text that is no term: the name of a person is never translated."""

    __slots__ = ()


def capital(said: str) -> str:
    """As at the start of a sentence."""
    return said[:1].upper() + said[1:]


class Part(msgspec.Struct, frozen=True):
    """A fact that is told by a message of its own."""

    message: str
    facts: Mapping[str, Any]


class Telling:
    """How a game is told. The defaults tell any game plainly; a game overrides what it can say better.

    A message may come in variants, ``<message>.<variant>``, and may name facts besides the fields of what it tells.
    Both depend on nothing but the happening and the state after its event, or the action and the state before it.
    """

    owner: ClassVar[str] = "en"
    """The language of the owner's own text: its catalogue says of each term where the word comes from."""
    variants: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Message (``happening.hero-moved``) -> its variants, where it has any; "" is the message itself."""
    more: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Message -> the facts that `facts` adds."""
    parts: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Message (``part.standing``) of a `Part` -> its facts."""
    terms: ClassVar[Sequence[str]] = ()
    """Every id that a placeholder may hold, in the order of the glossary."""
    shown: ClassVar[Sequence[str]] = ()
    """The terms that pages show outside of pictures and sentences: heroes, ranks."""
    refusals: ClassVar[Mapping[str, Sequence[str]]] = {}
    """Every refusal code, with the details that its message may name."""
    forms: ClassVar[Sequence[str]] = ()
    """The actions that are built from a form."""
    endings: ClassVar[Sequence[str]] = ()
    """Every ending that an outcome may name."""
    chapters: ClassVar[Mapping[str, str]] = {}
    """Happening -> the kind of chapter that begins with it."""
    rare_chapters: ClassVar[Mapping[str, str]] = {}
    """The same for happenings of which only some begin one: `chapter` decides."""

    def variant(self, told: Happening | Action, state: Any) -> str:
        """Which variant of its message tells it."""
        return ""

    def facts(self, told: Happening | Action, state: Any) -> dict[str, Any]:
        """More facts for its message."""
        return {}

    def seat(self, seat: int, state: Any) -> str:
        """The term by which the game calls a seat (its hero), "" where it has none."""
        return ""

    def piece(self, field: str, name: str | int, state: Any) -> Any:
        """What an id in a field of a form is called: a term, a `Part`, or `Verbatim` text."""
        return name

    def chapter(self, happening: Happening) -> str:
        """The kind of chapter that begins with a happening, or ""."""
        return self.chapters.get(str(type(happening).__struct_config__.tag), "")

    def scores(self, state: Any) -> list[int]:
        """What counts in the end, as it stands now, of each seat in seat order; empty where nothing counts."""
        return []

    def margin(self, happening: Happening, state: Any) -> int | None:
        """By how little something was decided, 0 the closest; None for what decides nothing."""
        return None

    def board(self, view: Mapping[str, Any], name: Callable[[str], str] = str) -> list[str]:
        """A view of the state as lines of text; ``name`` puts a term into words. What stands behind the last empty line
        is always shown, the rest is a map that may be cut."""
        return [f"{name}: {value}" for name, value in view.items()]

    def focus(self, view: Mapping[str, Any]) -> tuple[int, int]:
        """The column and row of the board at which the action is."""
        return 0, 0
