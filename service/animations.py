"""Whole replays as animated pictures: made once, one at a time, in a process of their own, and kept for a while.

To draw a hundred positions takes seconds of a processor, and the drawing library lets nothing else run meanwhile, no
other thread either: in a worker it would keep everybody waiting.
"""

import subprocess
import sys
import threading
from collections.abc import Iterable
from typing import Final

from events.log import Unavailable

FORMATS: Final = {"webp": "image/webp", "gif": "image/gif"}
FRAMES: Final = 80
"""Of a longer game, evenly chosen positions are shown."""
KEPT_BYTES: Final = 32 * 1024 * 1024
"""How much of what was made one worker keeps."""
WAITING: Final = 4
"""How many may wait for theirs."""
_PATIENCE_S: Final = 120.0

Variant = tuple[bytes, int, str, str, str]
"""Game, its version, format, language, theme."""


class Animations:
    """What one worker has made, the least lately used forgotten first."""

    def __init__(self, limit: int = KEPT_BYTES) -> None:
        self._limit = limit
        self._kept: dict[Variant, bytes] = {}
        self._making = threading.Lock()
        self._counting = threading.Lock()
        self.free = WAITING
        """How many more may wait."""

    def of(self, variant: Variant, events: Iterable[bytes]) -> bytes:
        """The animation of a game: kept, or made from its stored events, each behind its length.

        :raises Unavailable: too many wait for theirs, or it took too long.
        """
        if (kept := self._known(variant)) is not None:
            return kept
        with self._counting:
            if not self.free:
                raise Unavailable("other animations are being made")
            self.free -= 1
        try:
            with self._making:
                if (kept := self._known(variant)) is None:
                    kept = make(b"".join(events), *variant[2:])
                    self._keep(variant, kept)
                return kept
        finally:
            with self._counting:
                self.free += 1

    def _known(self, variant: Variant) -> bytes | None:
        if (kept := self._kept.pop(variant, None)) is not None:
            self._kept[variant] = kept
        return kept

    def _keep(self, variant: Variant, made: bytes) -> None:
        self._kept[variant] = made
        while sum(map(len, self._kept.values())) > self._limit and len(self._kept) > 1:
            self._kept.pop(next(iter(self._kept)))


def make(game: bytes, format: str, language: str, theme: str) -> bytes:
    """The animation of a game, from its events as an ``.annals`` file has them.

    :raises Unavailable: it took too long.
    :raises subprocess.CalledProcessError: it cannot be made.
    """
    command = [sys.executable, "-m", "replay.pictures.export", format, language, theme, str(FRAMES)]
    try:
        return subprocess.run(command, input=game, capture_output=True, check=True, timeout=_PATIENCE_S).stdout
    except subprocess.TimeoutExpired as error:
        raise Unavailable("an animation took too long") from error
