"""The rules in words, one file a game and language; events, refusals and checks cite their numbered paragraphs."""

import hashlib
from functools import cache
from pathlib import Path
from typing import Final

from replay.words import LANGUAGES

_PACKED: Final = Path(__file__).with_name("rules")
"""Where a wheel has them."""
_FILES: Final = {"donjon": "le-donjon"}
"""The text of each game by its name, where it is not called so."""


def path(game: str, language: str) -> Path:
    """Where the rules of a game in a language are, if there are any."""
    folder = _PACKED if _PACKED.is_dir() else Path(__file__).parents[1] / "docs" / "rules"
    return folder / f"{_FILES.get(game, game)}{'' if language == 'en' else f'.{language}'}.md"


@cache
def digests(game: str) -> dict[str, bytes]:
    """SHA-256 of the text in each language that there is one in."""
    files = ((language, path(game, language)) for language in LANGUAGES)
    return {language: hashlib.sha256(file.read_bytes()).digest() for language, file in files if file.is_file()}
