"""What messages name: the tests hold it against the glossary."""

from collections.abc import Iterator, Mapping
from typing import Any

from engine.protocol import Action, Happening
from replay.games import telling
from replay.telling import Part, Verbatim
from replay.words import fields, placeholders, words


def told_by(game: str, what: Happening | Action, kind: str, state: Any) -> tuple[str, dict[str, Any]]:
    """The message that tells a ``happening`` or an ``action``, and its facts."""
    teller, (name, facts) = telling(game), fields(what)
    variant = teller.variant(what, state)
    return f"{game}.{kind}.{name}{'.' if variant else ''}{variant}", facts | teller.facts(what, state)


def named(message: str, facts: Mapping[str, Any], language: str) -> Iterator[str]:
    """Every id that a message names as a word, with those of its parts."""
    for name, spec in placeholders(words(language).raw(message)):
        values = facts[name] if isinstance(facts[name], list | tuple) else [facts[name]]
        for value in values:
            if isinstance(value, Part):
                yield from named(value.message, value.facts, language)
            elif isinstance(value, str) and not isinstance(value, Verbatim) and spec.lower() not in ("seat", "cell"):
                yield value
