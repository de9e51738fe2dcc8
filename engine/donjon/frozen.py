"""Written by `make golden`: what is frozen of each version of this game (docs/rulesets.md)."""

from typing import Final

TRANSCRIPTS: Final[dict[str, bytes]] = {
    "donjon@1": bytes.fromhex("c3f353e12e1d39d4770ec4c99c15a13a2e85a9eab75c512b0de6afcc20bbe31a"),
}
"""SHA-256 of the golden transcripts, part of the rules hash."""
