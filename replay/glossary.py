"""The glossary (docs/glossary.md): every term with its word in each language, and where the owner's words stand.

``python -m replay.glossary > docs/glossary.md`` writes it anew from the catalogues.
"""

from babel.messages.pofile import read_po

from replay.games import TELLINGS, telling
from replay.words import LANGUAGES, LOCALE, Term, words

OWNER, CHOSEN = "owner's text", "chosen"
NAMES = {"en": "English", "fr": "French", "ja": "Japanese"}
COLUMNS = "| term | English | français | 日本語 | {} word from |\n|---|---|---|---|---|\n"
HEAD = """# Glossary

What the things of each game are called, from the catalogues in `replay/locale`: do not edit this page, it is written by
`python -m replay.glossary`. The text of a game's owner is in one language, French for Le Donjon, Japanese for Dungeon
Roll. *owner's text*: the word in that language stands in the text; *chosen*: it does not, and was chosen to fit. In
English, Dungeon Roll's heroes, powers and tokens have the names of the game; all other words were chosen.
"""


def render() -> str:
    """The page as Markdown."""
    parts = [HEAD]
    for game in TELLINGS:
        sources = origins(game)
        title = words("en").term("game", game) or Term(game)
        parts.append(f"\n## {title.text}\n\n{COLUMNS.format(NAMES[telling(game).owner])}")
        for term in telling(game).terms:
            english, french, japanese = (words(language).term(term, game) or Term(term) for language in LANGUAGES)
            gender = f" ({french.gender})" if french.gender else ""
            source = sources.get(term, CHOSEN)
            parts.append(f"| `{term}` | {english.text} | {french.text}{gender} | {japanese.text} | {source} |\n")
    return "".join(parts)


def origins(game: str) -> dict[str, str]:
    """Term -> the source that its message in the owner's language names."""
    path = LOCALE / telling(game).owner / "LC_MESSAGES" / f"{game}.po"
    prefix = f"{game}.term."
    with path.open("rb") as file:
        return {
            str(message.id).removeprefix(prefix): " ".join(message.auto_comments)
            for message in read_po(file)
            if str(message.id).startswith(prefix) and message.auto_comments
        }


if __name__ == "__main__":
    print(render(), end="")
