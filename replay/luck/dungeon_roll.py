"""The luck of Dungeon Roll: the faces that matter.

Monsters are what a level costs, Champions and Scrolls what a party is good for whatever comes; each die has six faces,
each as likely as the others.
"""

from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, Final

from engine.dungeon_roll.components import DUNGEON_FACES, MONSTERS, PARTY_FACES
from engine.dungeon_roll.state import State
from engine.dungeon_roll.turns import score
from engine.protocol import Happening
from replay.luck.exact import chance_of, times
from replay.luck.rolls import Lots, Roll

MATTER: Final[dict[str, tuple[str, frozenset[str], int]]] = {
    "monsters": ("dungeon", frozenset(MONSTERS), len(DUNGEON_FACES)),
    "dragons": ("dungeon", frozenset({"dragon"}), len(DUNGEON_FACES)),
    "champions": ("party", frozenset({"champion"}), len(PARTY_FACES)),
    "scrolls": ("party", frozenset({"scroll"}), len(PARTY_FACES)),
}
"""Measure -> the dice it is about, the faces it counts, and how many faces there are."""


class DungeonRollLots(Lots):
    """Dungeon Roll. Dice that a hero turns to another face afterwards are counted as they fell."""

    measures: ClassVar = {"monsters": -1, "dragons": -1, "champions": 1, "scrolls": 1}
    dice: ClassVar = {"party": len(PARTY_FACES), "dungeon": len(DUNGEON_FACES)}

    def rolls(
        self, version: int, seat: int | None, draws: Sequence[Sequence[Any]], happenings: Sequence[Happening]
    ) -> Iterator[Roll]:
        for measure, (purpose, faces, sides) in MATTER.items():
            shown = [draw[3] in faces for draw in draws if draw[0] == purpose and len(draw) == 4]
            if seat is not None and shown:
                yield Roll(version, seat, measure, sum(shown), times(chance_of(len(faces), sides), len(shown)))

    def scores(self, state: State) -> list[int]:
        return [score(seat) for seat in state.seats]
