"""Narration: what happened, what may be done and why not, in English, French and Japanese.

Messages are gettext catalogues with symbolic ids (``donjon.happening.fight-won``), one file a game and one for the
table that all games share, read at run time. A message is a format string over the fields of what it tells. Terms
(monsters, items, heroes, ...) are messages too, with their gender behind a bar, and behind another one ``name`` or
``plural`` (`Term`); a placeholder asks for the form that it needs:

``{monster}`` the bare term · ``{monster:le}`` with an article, ``{monster:Du}`` at the start of a sentence ·
``{hero:il|elle}`` by gender · ``{hp:point|points}`` by number · ``{at:cell}`` a place on the map · ``{seat:seat}`` who
sits there, ``{seat:Seat}`` at the start of a sentence. A list is told with each element in that form.

A message that is missing is its id, a placeholder without a fact stands as it is: words never stop a game. The tests
stop the release instead (`replay.catalogue`).
"""

import re
import string
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache, lru_cache
from gettext import GNUTranslations, NullTranslations
from io import BytesIO
from pathlib import Path
from typing import Any, Final, NamedTuple

import msgspec
from babel.lists import format_list
from babel.messages.mofile import write_mo
from babel.messages.pofile import read_po
from msgspec import UNSET

from engine.protocol import Action, Happening, Illegal, Rules
from engine.registry import game_name
from events.bodies import BODIES, Act, Close, Create, Handover, Join, read_body
from events.event import Event
from replay.games import telling
from replay.position import Position
from replay.telling import Part, Verbatim, capital

LANGUAGES: Final = ("en", "fr", "ja")
LOCALE: Final = Path(__file__).with_name("locale")
_folders: list[Path] = [LOCALE]


class Term(NamedTuple):
    """A noun of a language.

    ``gender``: m, f, or empty where the language does not care. ``sort``: ``name`` where it takes no article (Tala),
    ``plural`` where it takes that of the plural (Dragon Scales), else empty.
    """

    text: str
    gender: str = ""
    sort: str = ""


class Context(msgspec.Struct, frozen=True):
    """What words may name besides the fields of what they tell: the game, its state then, and the players' names."""

    rules: Rules[Any] | None = None
    state: Any = None
    names: Mapping[bytes, str] = {}
    players: tuple[bytes | None, ...] = ()
    """Who sits on each seat."""

    @classmethod
    def of(cls, position: Position, names: Mapping[bytes, str] | None = None) -> "Context":
        """The context of a position."""
        players = tuple([seat.player for seat in position.seats])
        return cls(position.rules, position.state, names or {}, players)

    @property
    def game(self) -> str:
        """The game's name: ``donjon``."""
        return game_name(self.rules.id) if self.rules is not None else "table"


def add_folder(folder: Path) -> None:
    """Read catalogues from another folder too (``<folder>/fr/LC_MESSAGES/<domain>.po``)."""
    if folder not in _folders:
        _folders.append(folder)
        for known in (catalogue, words, _in_form):
            known.cache_clear()


@cache
def catalogue(language: str, domain: str) -> NullTranslations:
    """The messages of one domain, from every folder that has it; an empty one where there is none."""
    messages = NullTranslations()
    for folder in _folders:
        path = folder / language / "LC_MESSAGES" / f"{domain}.po"
        if path.is_file():
            found = load(path)
            found.add_fallback(messages)
            messages = found
    return messages


def load(path: Path) -> GNUTranslations:
    """A ``.po`` file, ready to be asked."""
    compiled = BytesIO()
    with path.open("rb") as file:
        write_mo(compiled, read_po(file))
    compiled.seek(0)
    return GNUTranslations(compiled)


@cache
def words(language: str) -> "Words":
    """The words of a language; English where it is not one of `LANGUAGES`."""
    return Words(language if language in LANGUAGES else "en")


_Piece = tuple[str, str | None, str]
"""A part of a message: text, the name of the fact behind it (None at the end), and the form it needs."""


class Words:
    """Everything that can be said in one language."""

    def __init__(self, language: str) -> None:
        self.language = language
        self.grammar = GRAMMARS[language]
        self._terms: dict[tuple[str, str], Term | None] = {}
        self._messages: dict[str, tuple[_Piece, ...]] = {}

    # -- what is told ----------------------------------------------------------------------------------------------

    def happening(self, happening: Happening, context: Context = Context()) -> str:  # noqa: B008 # it is frozen
        """One happening as a sentence."""
        return self._told("happening", happening, context)

    def event(
        self, event: Event, happenings: Sequence[Happening] = (), context: Context = Context()  # noqa: B008
    ) -> str:  # fmt: skip
        """A whole event: what happened in it, or what it was where the rules have nothing to tell."""
        if happenings:
            return self.grammar.space.join([self.happening(happening, context) for happening in happenings])
        return self._bare(event, context)

    def action(self, action: Action, context: Context = Context()) -> str:  # noqa: B008
        """An action as the label of a button. With a state it says more."""
        return self._told("action", action, context)

    def form(self, form: str, context: Context) -> str:
        """What is built from a form, by the name of its action."""
        return self.text(f"{context.game}.form.{form}", {}, context)

    def field(self, field: str, context: Context) -> str:
        """What goes into a field of a form."""
        return self.text(f"{context.game}.field.{field}", {}, context)

    def piece(self, field: str, name: str | int, context: Context) -> str:
        """What an id in a field of a form is called."""
        return capital(self._put(telling(context.game).piece(field, name, context.state), "", context))

    def refusal(self, code: str, details: Mapping[str, Any], context: Context = Context()) -> str:  # noqa: B008
        """Why something may not be done now."""
        for domain in (context.game, "table"):
            if (message := f"{domain}.refusal.{code}") != self.raw(message):
                return self.text(message, details, context)
        return code

    def chapter(self, kind: str, happening: Happening, context: Context = Context()) -> str:  # noqa: B008
        """The title of a chapter that begins with a happening."""
        return self.text(f"{context.game}.chapter.{kind}", fields(happening)[1], context)

    def draw(self, draw: Sequence[Any], context: Context = Context()) -> str:  # noqa: B008
        """A draw with what it was for: a die ``[purpose, sides, value]`` or a pick ``[purpose, total, v, id]``."""
        purpose = self.text(f"{context.game}.purpose.{draw[0]}", {}, context)
        facts = {"purpose": Verbatim(purpose), "total": draw[1], "value": draw[-1]}
        return self.text(f"table.draw.{'die' if len(draw) == 3 else 'pick'}", facts, context)

    def ending(self, ending: str, context: Context = Context()) -> str:  # noqa: B008
        """The name of an ending."""
        return self.text(f"{context.game}.ending.{ending}", {}, context)

    def problem(self, code: str, facts: Mapping[str, Any]) -> str:
        """A message of the service's own catalogue, ``service.problem.<code>``."""
        return self.text(f"service.problem.{code}", facts)

    # -- how it is told --------------------------------------------------------------------------------------------

    def raw(self, message: str) -> str:
        """The message as it stands in the catalogue; its id where there is none."""
        return catalogue(self.language, message.partition(".")[0]).gettext(message)

    def text(
        self,
        message: str,
        facts: Mapping[str, Any],
        context: Context = Context(),  # noqa: B008
        told: msgspec.Struct | None = None,
    ) -> str:
        """A message with its facts put in; ``told`` has in its fields what is not among them."""
        said = ""
        for text, name, form in self._messages.get(message) or self._taken_apart(message):
            said += text
            if name is None:
                continue
            value = UNSET  # a message can look at facts by their names, not into objects
            if name in facts:
                value = facts[name]
            elif told is not None and name in told.__struct_fields__:
                value = getattr(told, name)
            said += f"{{{name}}}" if value is UNSET else self._put(value, form, context)
        return said

    def term(self, name: str, game: str = "table") -> Term | None:
        """The noun for an id, if it is one."""
        key = game, name
        if key not in self._terms:
            self._terms[key] = None
            for domain in (game, "table"):
                if (raw := self.raw(message := f"{domain}.term.{name}")) != message:
                    self._terms[key] = Term(*raw.split("|"))
                    break
        return self._terms[key]

    def seat(self, seat: int, context: Context) -> str:
        """Who sits there: as the game calls them, by the player's name, or by the number."""
        called = telling(context.game).seat(seat, context.state)
        if called and self.term(called, context.game):
            return _in_form(self.language, context.game, called, _DEFINITE)
        player = context.players[seat - 1] if 0 < seat <= len(context.players) else None
        if player is not None and player in context.names:
            return context.names[player]
        return self.text("table.seat", {"number": seat})

    def together(self, parts: Sequence[str]) -> str:
        """``a, b and c``."""
        return _together(self.language, tuple(parts))

    def _told(self, sort: str, told: Happening | Action, context: Context) -> str:
        game = context.game
        name = type(told).__struct_config__.tag
        teller = telling(game)
        variant = teller.variant(told, context.state)
        message = f"{game}.{sort}.{name}.{variant}" if variant else f"{game}.{sort}.{name}"
        return self.text(message, teller.facts(told, context.state), context, told)

    def _taken_apart(self, message: str) -> "tuple[_Piece, ...]":
        """A message taken apart: once, if there is one."""
        if (raw := self.raw(message)) == message:
            return ((message, None, ""),)
        parts = string.Formatter().parse(raw)
        self._messages[message] = pieces = tuple((text, name, form or "") for text, name, form, _ in parts)
        return pieces

    def _put(self, value: Any, form: str, context: Context) -> str:
        """A fact in the form that is asked for."""
        if isinstance(value, list | tuple) and not (form == "cell" and isinstance(value[0], int)):
            return self.together([self._put(part, form, context) for part in value])
        if isinstance(value, Part):
            return self.text(value.message, value.facts, context)
        if isinstance(value, Verbatim):
            return value
        if form == "cell":
            return cell(value)
        if form in ("seat", "Seat"):
            said = self.seat(value, context)
            return capital(said) if form == "Seat" else said
        if isinstance(value, int):
            return self._number(value, form)
        return _in_form(self.language, context.game, str(value), form)

    def _number(self, value: int, form: str) -> str:
        if "|" in form:
            singular, _, plural = form.partition("|")
            return singular if self.grammar.is_singular(value) else plural
        return str(value).replace("-", "\u2212")

    def _player(self, player: bytes, bot: Any, context: Context) -> str:
        if bot not in (None, UNSET):
            return Verbatim(self.text("table.bot", {"name": Verbatim(bot[0]), "level": bot[1]}))
        return Verbatim(context.names.get(player) or self.raw("table.somebody"))

    def _bare(self, event: Event, context: Context) -> str:
        """An event of which the rules tell nothing."""
        if event.kind not in BODIES:
            return self.text("table.event.unknown", {"kind": Verbatim(event.kind)})
        try:
            body = read_body(event.kind, event.body)
        except msgspec.ValidationError:
            return self.text("table.event.unreadable", {"number": event.seq})
        message, facts = f"table.event.{event.kind}", dict[str, Any](seat=event.seat)
        match body:
            case Create():
                game = game_name(body.rules)
                title = self.term("game", game)
                facts |= {"game": Verbatim(title.text if title else game), "seats": body.seats}
                if body.forked_from is not UNSET:
                    message, facts = f"{message}.fork", facts | {"number": body.forked_from[1]}
            case Join():
                facts |= {"player": self._player(body.player, body.bot, context)}
                if body.choice and (chosen := f"{context.game}.event.join") != self.raw(chosen):
                    message, facts = chosen, facts | body.choice
            case Act():
                facts |= {"action": Verbatim(self._asked(body, context))}
            case Handover() if isinstance(body.by, bytes):
                facts |= {"seat": body.seat, "player": self._player(body.by, None, context)}
            case Handover():
                facts |= {"seat": body.seat, "player": self._player(b"", body.by, context)}
            case Close():
                message = f"{message}.{body.status}"
                if body.reason is not UNSET:
                    reason = self.raw(known := f"table.reason.{body.reason}")
                    said = body.reason if reason == known else reason
                    message, facts = f"{message}.because", facts | {"reason": Verbatim(said)}
        return self.text(message, facts, context)

    def _asked(self, body: Act, context: Context) -> str:
        if context.rules is None or isinstance(body.a, bytes):
            return "" if isinstance(body.a, bytes) else body.a[0]
        try:
            # the state is that after the event: of the one before, in which the label would be right, nothing is known
            return self.action(context.rules.parse(*body.a), msgspec.structs.replace(context, state=None))
        except Illegal:
            return body.a[0]


def fields(told: Happening | Action) -> tuple[str, dict[str, Any]]:
    """The name of a happening or action, and its fields; what is UNSET is left out."""
    name: str = type(told).__struct_config__.tag  # type: ignore[assignment]
    return name, {field: value for field in told.__struct_fields__ if (value := getattr(told, field)) is not UNSET}


# -- grammar -------------------------------------------------------------------------------------------------------


class Grammar(NamedTuple):
    """What a language does to its nouns: ``articles`` by the lower-case spec that asks for them, the first of them the
    definite one."""

    articles: Mapping[str, Callable[[Term], str]]
    is_singular: Callable[[int], bool]
    space: str

    def definite(self, term: Term) -> str:
        """The noun as one speaks of somebody known."""
        return next(iter(self.articles.values()), lambda known: known.text)(term)


def elides(term: Term) -> bool:
    """Does an article change before the word? Before a vowel; the h of our French words is aspirated."""
    return unicodedata.normalize("NFD", term.text[0].lower())[0] in "aeiou"


def article(elided: str, masculine: str, feminine: str, plural: str, name: str) -> Callable[[Term], str]:
    """An article by its forms; ``elided``: before a vowel, empty where that makes no difference; ``name``: what is left
    of it before a name."""

    def with_article(term: Term) -> str:
        if term.sort == "name":
            form = "d'" if name == "de " and elides(term) else name
        elif term.sort == "plural":
            form = plural
        else:
            form = elided if elided and elides(term) else feminine if term.gender == "f" else masculine
        return form + term.text

    return with_article


GRAMMARS: Final[dict[str, Grammar]] = {
    "en": Grammar(
        {
            "the": article("", "the ", "the ", "the ", ""),
            "a": article("an ", "a ", "a ", "", ""),
        },
        lambda n: n == 1,
        " ",
    ),
    "fr": Grammar(
        {
            "le": article("l'", "le ", "la ", "les ", ""),
            "un": article("", "un ", "une ", "des ", ""),
            "du": article("de l'", "du ", "de la ", "des ", "de "),
            "de": lambda term: ("d'" if elides(term) else "de ") + term.text,
            "au": article("à l'", "au ", "à la ", "aux ", "à "),
        },
        lambda n: abs(n) < 2,
        " ",
    ),
    "ja": Grammar({}, lambda n: True, ""),
}


@lru_cache(10_000)
def _together(language: str, parts: tuple[str, ...]) -> str:
    return format_list(list(parts), locale=language)


@lru_cache(10_000)
def _in_form(language: str, game: str, name: str, form: str) -> str:
    """The noun for an id, or the id itself, in the form that is asked for."""
    said = words(language)
    term = said.term(name, game) or Term(name)
    if form == _DEFINITE:
        return said.grammar.definite(term)
    if "|" in form:
        masculine, _, feminine = form.partition("|")
        return feminine if term.gender == "f" else masculine
    article = said.grammar.articles.get(form.lower())
    text = article(term) if article else term.text
    return capital(text) if form[:1].isupper() else text


_DEFINITE: Final = "=the"
"""As one speaks of somebody known, in every language: no message can ask for it."""


def cell(at: Any) -> str:
    """A place on the map, ``"2,-1"`` or ``(2, -1)`` -> ``(2, −1)``."""
    x, _, y = at.partition(",") if isinstance(at, str) else (str(at[0]), ",", str(at[1]))
    return f"({x}, {y})".replace("-", "\u2212")


PLACEHOLDER: Final = re.compile(r"\{(\w+)(?::([^{}]*))?\}")


def placeholders(message: str) -> Iterator[tuple[str, str]]:
    """(name, spec) of every placeholder of a message."""
    for found in PLACEHOLDER.finditer(message):
        yield found[1], found[2] or ""
