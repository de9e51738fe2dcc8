"""``python -m bench``: every figure, printed as one table and written to bench/results.json and docs/performance.md."""

import argparse

from bench import figures, folding, over_http


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--requests", type=int, default=45, help="requests of each client in a round")
    parser.add_argument("--games", type=int, default=10, help="games to fold")
    asked = parser.parse_args()
    print(figures.write([*over_http.measure(asked.requests), *folding.measure(asked.games)]))


if __name__ == "__main__":
    main()
