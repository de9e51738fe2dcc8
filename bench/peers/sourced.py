# mypy: ignore-errors
"""Run by the interpreter that has `eventsourcing`: rebuilds an aggregate, and says how many events a second.

The aggregate holds what a state of ours holds, and each of its events changes as much of it as one of ours. One line of
input, the number of events, is answered by one line: in memory, in SQLite.
"""

import os
import sys
import tempfile
import time
from pathlib import Path
from uuid import UUID

from eventsourcing.application import Application
from eventsourcing.domain import Aggregate, event

SIDES = ((0, -1), (1, 0), (0, 1), (-1, 0))
HERO = {"at": "0,0", "gold": 0, "hp": 5, "key": False, "name": "", "scrolls": [], "weapons": [], "withdrawn": False}


class Game(Aggregate):
    """Six heroes on a growing map."""

    @event("Created")
    def __init__(self) -> None:
        self.tiles = {"0,0": ["nesw", "start"]}
        self.heroes = [dict(HERO) for _ in range(6)]
        self.active = 1

    @event("Stepped")
    def step(self, seat: int, to: str, tile: str, rolled: list[int]) -> None:
        if seat != self.active:
            raise ValueError("not your turn")
        self.tiles.setdefault(to, ["nes", tile])
        hero = self.heroes[seat - 1]
        hero["at"] = to
        hero["gold"] += sum(rolled) > 9
        self.active = seat % 6 + 1


class Games(Application):
    pass


def opened(module: str, folder: str) -> tuple[Games, UUID, int]:
    storage = {"SQLITE_DBNAME": str(Path(folder, "games.db"))} if module.endswith("sqlite") else {}
    games, game = Games(env={"PERSISTENCE_MODULE": module, **storage}), Game()
    return games, game, 0


def rebuilt(games: Games, name: UUID, events: int) -> float:
    begun = time.perf_counter()
    games.repository.get(name)
    return events / (time.perf_counter() - begun)


def main() -> None:
    os.environ.pop("PERSISTENCE_MODULE", None)
    with tempfile.TemporaryDirectory() as folder:
        kinds = ("eventsourcing.popo", "eventsourcing.sqlite")
        kept: dict[tuple[str, int], tuple[Games, UUID]] = {}
        for line in sys.stdin:
            count = int(line)
            for kind in kinds:
                if (kind, count) not in kept:
                    games, game, _ = opened(kind, folder)
                    for number in range(count - 1):
                        x, y = SIDES[number % 4]
                        game.step(number % 6 + 1, f"{x + number % 60},{y}", "room", [number % 6, 3])
                    games.save(game)
                    kept[kind, count] = games, game.id
            print(*(rebuilt(*kept[kind, count], count) for kind in kinds), flush=True)


if __name__ == "__main__":
    main()
