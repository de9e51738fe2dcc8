"""Written by `make golden`: what is frozen of each version of this game (docs/rulesets.md)."""

from typing import Final

TRANSCRIPTS: Final[dict[str, bytes]] = {
    "dungeon-roll@1": bytes.fromhex("a4ed2c79096e122ebb75d55106305b03af1335a9549aa81e017975d16ddef30c"),
}
"""SHA-256 of the golden transcripts, part of the rules hash."""
