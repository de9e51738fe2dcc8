"""``python -m bench``: every figure, printed as one table and written to bench/results.json and docs/performance.md."""

import argparse
from collections.abc import Callable
from typing import Final

from bench import auditing, costs, figures, folding, growth, over_http, rivals, validating, watching
from bench.figures import Figure, Profile

Taken = tuple[list[Figure], list[Profile], list[str]]
"""Figures, profiles, and why what is missing is missing."""


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--requests", type=int, default=70, help="requests of each of many clients in a round")
    parser.add_argument("--games", type=int, default=15, help="games to fold")
    parser.add_argument("--stored", type=int, default=200, help="stored games to validate")
    parser.add_argument("--costs", action="store_true", help="measure only what the evidence costs")
    parser.add_argument("--growth", type=int, nargs="?", const=10_000, metavar="MOST", help="measure only growth")
    parser.add_argument("--only", choices=sorted(_PARTS), help="measure one part, and only print it")
    asked = parser.parse_args()
    if asked.only:
        print(figures.told(*_PARTS[asked.only](asked)))
        return
    if asked.growth:
        counts = [count for count in growth.GAMES if count <= asked.growth]
        print(figures.write(growth.measure(counts), [], "growth"))
        return
    print(figures.write(*costs.measure(asked.requests), "costs"))
    if asked.costs:
        return
    taken, profiles, skipped = list[Figure](), list[Profile](), list[str]()
    for measure in _PARTS.values():
        more, beside, missing = measure(asked)
        taken, profiles, skipped = [*taken, *more], [*profiles, *beside], [*skipped, *missing]
        told = figures.write(taken, profiles, skipped=skipped)  # what is there, should the rest fail
    print(told)


_PARTS: Final[dict[str, Callable[[argparse.Namespace], Taken]]] = {
    "http": lambda asked: (*over_http.measure(asked.requests), []),
    "peers": lambda asked: rivals.measure(asked.requests // 2),
    "folding": lambda asked: (*folding.measure(asked.games), []),
    "auditing": lambda _: (auditing.measure(), [], []),
    "validating": lambda asked: (validating.measure(asked.stored), [], []),
    "watching": lambda _: (watching.measure(), [], []),
}


if __name__ == "__main__":
    main()
