"""Written by `make golden`: what is frozen of each version of this game (docs/rulesets.md)."""

from typing import Final

TRANSCRIPTS: Final[dict[str, bytes]] = {
    "dungeon-roll@1": bytes.fromhex("e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"),
}
"""SHA-256 of the golden transcripts, part of the rules hash."""
