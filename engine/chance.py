"""Chance is a player: the rules ask it for each random result, and say what for.

Three of them play: `Committed` derives draws from the byte stream of an event and records them (live play), `Recorded`
answers with the draws of a stored event and checks them against what the rules ask (replay), `Loaded` answers as a test
tells it to. A draw is ``[purpose, sides, value]`` for a die, ``[purpose, total, v, id]`` for a pick.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from typing import Any, Protocol

Draw = list[Any]


class Chance(Protocol):
    """What the rules may ask for. A single possibility is no draw."""

    def die(self, sides: int, purpose: str) -> int:
        """A face, 1 to ``sides``, each as likely as the others."""

    def pick(self, counts: Mapping[str, int], purpose: str) -> str:
        """One id out of a bag that holds each id ``counts[id]`` times; the bag itself is left as it is."""


class WrongDraw(Exception):
    """The rules asked for another draw than the one at hand."""


class Committed:
    """Draws from the byte stream of one event, by rejection, so that no result is likelier than another.

    ``stream`` is called once, at the first draw, and yields blocks of bytes; ``draws`` is the record.
    """

    def __init__(self, stream: Callable[[], Iterator[bytes]]) -> None:
        self._stream = stream
        self._bytes: Iterator[int] | None = None
        self.draws: list[Draw] = []

    def die(self, sides: int, purpose: str) -> int:
        if sides == 1:
            return 1
        value = 1 + self._below(sides)
        self.draws.append([purpose, sides, value])
        return value

    def pick(self, counts: Mapping[str, int], purpose: str) -> str:
        bag = possible(counts)
        if len(bag) == 1:
            return bag[0][0]
        total = sum(count for _, count in bag)
        v = self._below(total)
        chosen = at(bag, v)
        self.draws.append([purpose, total, v, chosen])
        return chosen

    def _below(self, n: int) -> int:
        if self._bytes is None:
            self._bytes = chain.from_iterable(self._stream())
        return below(n, self._bytes)


class Recorded:
    """The draws of a stored event, in order; each must be the one the rules ask for."""

    def __init__(self, draws: Sequence[Draw]) -> None:
        self._draws = draws
        self._used = 0

    def die(self, sides: int, purpose: str) -> int:
        if sides == 1:
            return 1
        draw = self._next(purpose)
        if len(draw) != 3 or draw[1] != sides or type(draw[2]) is not int or not 1 <= draw[2] <= sides:
            raise WrongDraw(f"the rules ask for a die of {sides} ({purpose}), the record has {draw}")
        return draw[2]

    def pick(self, counts: Mapping[str, int], purpose: str) -> str:
        if min(counts.values(), default=0) < 1:
            counts = dict(possible(counts))
        if len(counts) == 1:
            return next(iter(counts))
        draw = self._next(purpose)
        total = sum(counts.values())
        if (
            len(draw) != 4
            or draw[1] != total
            or type(draw[2]) is not int
            or type(chosen := draw[3]) is not str
            or not 0 <= draw[2] - before(counts, chosen) < counts.get(chosen, 0)
        ):
            raise WrongDraw(f"the rules pick one of {total} ({purpose}), the record has {draw}")
        return chosen

    def finish(self) -> None:
        """Every draw must have been asked for.

        :raises WrongDraw: some were not.
        """
        if self._used != len(self._draws):
            raise WrongDraw(f"the rules used {self._used} of {len(self._draws)} draws")

    def _next(self, purpose: str) -> Draw:
        if self._used == len(self._draws):
            raise WrongDraw(f"the rules ask for a draw ({purpose}) that the record does not have")
        draw = self._draws[self._used]
        if type(draw) is not list or not draw or draw[0] != purpose:
            raise WrongDraw(f"the rules ask for {purpose!r}, the record has {draw}")
        self._used += 1
        return draw


class Loaded:
    """Results in the order a test gives them: ints for dice, ids for picks. `draws` records them as live play would."""

    def __init__(self, *results: int | str) -> None:
        self._results = list(results)
        self.draws: list[Draw] = []

    def die(self, sides: int, purpose: str) -> int:
        if sides == 1:
            return 1
        value = self._next(purpose)
        if not isinstance(value, int) or not 1 <= value <= sides:
            raise WrongDraw(f"{value!r} is not a face of a die of {sides} ({purpose})")
        self.draws.append([purpose, sides, value])
        return value

    def pick(self, counts: Mapping[str, int], purpose: str) -> str:
        bag = possible(counts)
        if len(bag) == 1:
            return bag[0][0]
        value = self._next(purpose)
        v = 0
        for name, count in bag:
            if name == value:
                self.draws.append([purpose, sum(n for _, n in bag), v, name])
                return name
            v += count
        raise WrongDraw(f"{value!r} is not in the bag {dict(bag)} ({purpose})")

    def finish(self) -> None:
        """Every loaded result must have been asked for.

        :raises WrongDraw: some were not.
        """
        if self._results:
            raise WrongDraw(f"never asked for: {self._results}")

    def _next(self, purpose: str) -> int | str:
        if not self._results:
            raise WrongDraw(f"the rules ask for a draw ({purpose}) that the test did not load")
        return self._results.pop(0)


def equally(chance: Chance, names: Iterable[str], purpose: str) -> str:
    """One of the names, each as likely as the others."""
    return chance.pick(dict.fromkeys(names, 1), purpose)


def possible(counts: Mapping[str, int]) -> list[tuple[str, int]]:
    """The ids that can come out of a bag, with their counts, sorted by their UTF-8 bytes.

    :raises ValueError: the bag is empty.
    """
    bag = sorted([entry for entry in counts.items() if entry[1] > 0])  # code points are in the order of UTF-8 bytes
    if not bag:
        raise ValueError("nothing to pick from")
    return bag


def at(bag: Sequence[tuple[str, int]], v: int) -> str:
    """The id at place ``v`` of a sorted bag."""
    for name, count in bag:
        v -= count
        if v < 0:
            return name
    raise ValueError("beyond the end of the bag")


def before(counts: Mapping[str, int], name: str) -> int:
    """The first place of an id in the sorted bag, as `at` counts them. No count is less than 1."""
    return sum([count for other, count in counts.items() if other < name])


def below(n: int, stream: Iterator[int]) -> int:
    """An int in [0, n): k bytes big endian, k least with 256**k >= n, thrown away above the last whole multiple."""
    k = 1
    while 256**k < n:
        k += 1
    limit = 256**k - 256**k % n
    while True:
        v = 0
        for _ in range(k):
            v = v << 8 | next(stream)
        if v < limit:
            return v % n


def derives(draws: Sequence[Draw], blocks: Iterator[bytes]) -> Iterator[tuple[int, Any, int]]:
    """Recompute the draws of one event from its byte stream: (number, stored, derived) of each that differs."""
    stream = chain.from_iterable(blocks)
    for number, draw in enumerate(draws):
        if len(draw) not in (3, 4) or type(draw[1]) is not int or not 1 <= draw[1] < 2**32:
            yield number, draw, 0
            return
        derived = below(draw[1], stream) + (1 if len(draw) == 3 else 0)
        if draw[2] != derived:
            yield number, draw[2], derived
