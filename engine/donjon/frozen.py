"""Written by `make golden`: what is frozen of each version of this game (docs/rulesets.md)."""

from typing import Final

TRANSCRIPTS: Final[dict[str, bytes]] = {
    "donjon@1": bytes.fromhex("5e741573e381341b3a7fafb973f18698eeac7adf5218f7f36fa154061ecba4a7"),
}
"""SHA-256 of the golden transcripts, part of the rules hash."""
