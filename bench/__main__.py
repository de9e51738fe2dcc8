"""``python -m bench``: every figure, printed as one table and written to bench/results.json and docs/performance.md."""

import argparse

from bench import auditing, costs, figures, folding, over_http


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--requests", type=int, default=70, help="requests of each of many clients in a round")
    parser.add_argument("--games", type=int, default=15, help="games to fold")
    parser.add_argument("--costs", action="store_true", help="measure only what the evidence costs")
    asked = parser.parse_args()
    print(figures.write(*costs.measure(asked.requests), "costs"))
    if asked.costs:
        return
    taken, profiles = over_http.measure(asked.requests)
    more, beside = folding.measure(asked.games)
    print(figures.write([*taken, *more, *auditing.measure()], [*profiles, *beside]))


if __name__ == "__main__":
    main()
