"""Bots against each other: do their games end, how long are they, who wins, and how fast do they think?

``python -m bench.selfplay`` plays the games of every table below, the same ones at every run, and prints the tables of
docs/bots.md; ``--ruleset`` says of which game, ``--games`` how many a row.
"""

import argparse
import hashlib
import itertools
import math
import os
import random
import time
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from functools import partial
from statistics import median
from typing import Any

import msgspec

from engine.chance import Committed
from engine.protocol import Bot, Outcome, Rules, SeatSetup, Setup
from engine.registry import BOTS, RULESETS, game_name

Player = tuple[str, int]
"""A bot by name and level."""


@dataclass(frozen=True)
class Played:
    """One game: its outcome, how many turns it had (or decisions, where a game does not count turns), the longest
    stretch of rounds without progress (None where a game cannot stand still), what each seat played, how many decisions
    each bot took and how many seconds of processor time."""

    outcome: Outcome
    turns: int
    stretch: float | None
    cast: Sequence[str]
    decisions: Counter[Player] = field(default_factory=Counter)
    seconds: defaultdict[Player, float] = field(default_factory=lambda: defaultdict(float))


def chance(seed: str) -> Committed:
    """Draws from a stream of bytes that depends on the seed only."""

    def blocks() -> Iterator[bytes]:
        for number in itertools.count():
            yield hashlib.sha256(f"{seed}:{number}".encode()).digest()

    return Committed(blocks)


def play(rules: Rules[Any], players: Sequence[tuple[Bot, int]], seed: int | str, **options: Any) -> Played:
    """A game of these bots, with their levels, to its end."""
    drawn, whims = chance(str(seed)), random.Random(seed).randrange
    setup = Setup(msgspec.to_builtins(rules.options(**options)), [SeatSetup({}) for _ in players])
    state = rules.initial(setup)
    rules.begin(state, drawn)
    decisions, seconds = Counter[Player](), defaultdict[Player, float](float)
    stretch = 0.0 if hasattr(state, "progress") else None
    while to_act := rules.to_act(state):
        seat = to_act[0]
        bot, level = players[seat - 1]
        before = time.process_time()
        action = bot.choose(rules, state, seat, level, whims)
        seconds[bot.name, level] += time.process_time() - before
        decisions[bot.name, level] += 1
        rules.apply(state, seat, action, drawn)
        if stretch is not None:
            stretch = max(stretch, (state.turn - state.progress) / len(players))
    outcome = rules.outcome(state)
    assert outcome is not None
    turns = getattr(state, "turn", decisions.total())
    return Played(outcome, turns, stretch, rules.cast(state), decisions, seconds)


def table(ruleset: str, players: Sequence[Player], seed: int) -> Played:
    """One game of a table where the players move one seat on from game to game."""
    bots = BOTS[game_name(ruleset)]
    seated = [(bots[name], level) for name, level in players]
    shift = seed % len(seated)
    return play(RULESETS[ruleset], [*seated[shift:], *seated[:shift]], seed)


def interval(wins: int, games: int) -> str:
    """The share in per cent with its 95 % interval (Wilson)."""
    z, p = 1.96, wins / games
    centre, half = p + z * z / (2 * games), z * math.sqrt(p * (1 - p) / games + z * z / (4 * games * games))
    low, high = ((centre + sign * half) / (1 + z * z / games) for sign in (-1, 1))
    return f"{100 * p:.1f} % ({100 * low:.1f} to {100 * high:.1f})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ruleset", default="donjon@1", choices=sorted(RULESETS))
    parser.add_argument("--games", type=int, default=1_000, help="how many a row")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    rules = RULESETS[asked.ruleset]
    ((strong, bot), *others) = BOTS[game_name(rules.id)].items()
    best = (strong, bot.levels[-1])
    duels = [(name, level) for name, other in others for level in other.levels]
    duels += [(strong, level) for level in bot.levels[:-1]]
    decisions, seconds = Counter[Player](), defaultdict[Player, float](float)

    with ProcessPoolExecutor(asked.workers) as pool:

        def games(*players: Player) -> list[Played]:
            played = list(pool.map(partial(table, rules.id, players), range(asked.games), chunksize=10))
            for game in played:
                decisions.update(game.decisions)
                for player, taken in game.seconds.items():
                    seconds[player] += taken
            return played

        print(f"{rules.id}, {asked.games} games a row, {strong} at level {best[1]} in every seat\n")
        counted = "turns" if "turn" in rules.state.__struct_fields__ else "decisions"
        stands_still = "progress" in rules.state.__struct_fields__
        print(f"| seats | endings | {counted}: median | 99 of 100 within | longest |", end="")
        print(" most rounds without progress |" if stands_still else "")
        print("|---:|---|---:|---:|---:|" + "---:|" * stands_still)
        cast = Counter[str]()
        won = Counter[str]()
        for seats in rules.seats:
            played = games(*[best] * seats)
            turns = sorted(game.turns for game in played)
            endings = Counter(game.outcome.ending for game in played)
            told = ", ".join(f"{ending} {count}" for ending, count in endings.most_common())
            stretch = max((game.stretch for game in played if game.stretch is not None), default=0.0)
            within = turns[math.ceil(0.99 * len(turns)) - 1]
            print(
                f"| {seats} | {told} | {median(turns):g} | {within} | {turns[-1]} |"
                + (f" {stretch:.1f} |" if stands_still else ""),
                flush=True,
            )
            if seats == 1:
                continue
            for game in played:
                cast.update(game.cast)
                won.update(game.cast[seat - 1] for seat in game.outcome.winners if game.cast)
        if cast:
            print("\n| hero | games | won or shared |")
            print("|---|---:|---|")
            for hero in sorted(cast, key=lambda name: -won[name] / cast[name]):
                print(f"| {hero} | {cast[hero]} | {interval(won[hero], cast[hero])} |")

        print(f"\n{strong} at level {best[1]} against one other, seats alternating\n")
        print("| other | games | won alone | shared | lost | won alone, with its 95 % interval |")
        print("|---|---:|---:|---:|---:|---|")
        for other in duels:
            played = games(best, other)
            alone = sum(game.outcome.winners == [1 + seed % 2] for seed, game in enumerate(played))
            shared = sum(len(game.outcome.winners) > 1 for game in played)
            print(
                f"| {other[0]} at level {other[1]} | {len(played)} | {alone} | {shared} "
                f"| {len(played) - alone - shared} | {interval(alone, len(played))} |",
                flush=True,
            )

    print("\n| bot | decisions | decisions a second and core |")
    print("|---|---:|---:|")
    for (name, level), count in sorted(decisions.items()):
        print(f"| {name} at level {level} | {count:,} | {count / seconds[name, level]:,.0f} |")


if __name__ == "__main__":
    main()
