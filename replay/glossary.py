"""The glossary (docs/glossary.md): every term with its word in each language, and where the French one comes from.

``python -m replay.glossary > docs/glossary.md`` writes it anew from the catalogues.
"""

from babel.messages.pofile import read_po

from engine.registry import RULESETS, game_name
from replay.games import telling
from replay.words import LANGUAGES, LOCALE, Term, words

OWNER, CHOSEN = "owner's text", "chosen"
COLUMNS = "| term | English | français | 日本語 | French word from |\n|---|---|---|---|---|\n"
HEAD = """# Glossary

What the things of each game are called, from the catalogues in `replay/locale`: do not edit this page, it is written by
`python -m replay.glossary`. *owner's text*: the French word stands in the text of the game's owner; *chosen*: it does
not, and was chosen to fit. English and Japanese words were all chosen.
"""


def render() -> str:
    """The page as Markdown."""
    parts = [HEAD]
    for game in sorted({game_name(ruleset) for ruleset in RULESETS}):
        sources = origins(game)
        parts.append(f"\n## {words('en').raw(f'{game}.term.game')}\n\n{COLUMNS}")
        for term in sorted(telling(game).terms):
            english, french, japanese = (words(language).term(term, game) or Term(term) for language in LANGUAGES)
            gender = f" ({french.gender})" if french.gender else ""
            source = sources.get(term, CHOSEN)
            parts.append(f"| `{term}` | {english.text} | {french.text}{gender} | {japanese.text} | {source} |\n")
    return "".join(parts)


def origins(game: str) -> dict[str, str]:
    """Term -> the source that its French message names."""
    path = LOCALE / "fr" / "LC_MESSAGES" / f"{game}.po"
    prefix = f"{game}.term."
    with path.open("rb") as file:
        return {
            str(message.id).removeprefix(prefix): " ".join(message.auto_comments)
            for message in read_po(file)
            if str(message.id).startswith(prefix) and message.auto_comments
        }


if __name__ == "__main__":
    print(render(), end="")
