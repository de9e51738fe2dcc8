"""What a game says of its own luck: which draws matter, to whom, and what fair dice would have given."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any, ClassVar

import msgspec

from engine.protocol import Happening
from replay.luck.exact import Lot


class Roll(msgspec.Struct, frozen=True):
    """Dice that a seat rolled, by one of its game's measures: it got ``got`` where fair dice give ``lot``."""

    version: int
    seat: int
    measure: str
    got: int
    lot: Lot


class Lots:
    """A game's luck. The defaults are those of a game without any."""

    measures: ClassVar[Mapping[str, int]] = {}
    """Every measure, in the order in which they are told, with what more of it is: 1 lucky, -1 unlucky. The first one
    is drawn."""
    dice: ClassVar[Mapping[str, int]] = {}
    """The purposes of draws that are dice, with their sides: only they are counted by faces. What else is drawn is
    counted by its place in the bag."""

    def rolls(
        self, version: int, seat: int | None, draws: Sequence[Sequence[Any]], happenings: Sequence[Happening]
    ) -> Iterator[Roll]:
        """The rolls of one event."""
        return iter(())

    def scores(self, state: Any) -> list[int]:
        """What each seat has so far, in seat order: the currency in which the game is won."""
        return []
