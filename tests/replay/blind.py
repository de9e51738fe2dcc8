"""Positions to be read blind: pictures of 360 px without a word beside them, and apart from them what is true there.

``python -m tests.replay.blind FOLDER [FIRST]`` plays games, from the number ``FIRST`` on (0), and writes
``FOLDER/<game>/NN.png`` for a reader who sees nothing else, and ``FOLDER/facts/<game>/NN.json`` for whoever counts what
was misread: the state as a watcher may see it, what had just happened, the outcome.
"""

import random
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from engine.protocol import Happening, Rules, SeatSetup, Setup
from engine.registry import BOTS, RULESETS, game_name
from replay.pictures import picture
from replay.pictures.export import png
from replay.pictures.shared import WIDTH
from replay.replay import SHORTLY
from tests.replay.parts import Luck

PICTURES, GAMES = 20, 24
OPTIONS: dict[str, list[dict[str, str]]] = {
    "donjon": [{}, {"orientation": "player"}],
    "dungeon-roll": [{"heroes": "all"}, {"heroes": "all"}, {"heroes": "all", "hero_choice": "choice"}],
}
"""Of one game after the other, so that each phase and hero is met."""
WHIM = 0.15
"""How often a seat does any legal thing instead of what its bot thinks best."""


class Sample(NamedTuple):
    """``before``: what happened in the events shortly before."""

    state: Any
    happened: Sequence[Happening]
    game: int
    before: Sequence[Happening] = ()


def played(rules: Rules[Any], seed: int) -> list[Sample]:
    """Every position of a game of bots with whims, at a table of as many seats as the seed says."""
    luck, seats = Luck(seed), rules.seats[seed % len(rules.seats)]
    strong, whim = BOTS[game_name(rules.id)].values()
    tables = OPTIONS[game_name(rules.id)]
    options = msgspec.to_builtins(msgspec.convert(tables[seed % len(tables)], rules.options))
    state = rules.initial(Setup(options, [SeatSetup(choice={}) for _ in range(seats)]))
    happened = rules.begin(state, luck)
    found = [Sample(rules.copy(state), happened, seed)]
    while rules.outcome(state) is None:
        (seat, *_), bot = rules.to_act(state), whim if luck.random.random() < WHIM else strong
        action = bot.choose(rules, state, seat, bot.levels[-1], luck.random.randrange)
        happened = rules.apply(state, seat, action, luck)
        before = [one for sample in found[-SHORTLY:] for one in sample.happened]
        found.append(Sample(rules.copy(state), happened, seed, before))
    return found


def chosen(rules: Rules[Any], first: int = 0) -> list[Sample]:
    """Of every phase in turn, each from a game that was looked at the least so far."""
    by_phase: defaultdict[str, list[Sample]] = defaultdict(list)
    for seed in range(first, first + GAMES):
        for sample in played(rules, seed):
            if sample.happened:
                by_phase[sample.state.phase].append(sample)
    source, taken, seen = random.Random(rules.id), list[Sample](), defaultdict[int, int](int)
    while len(taken) < PICTURES:
        for phase in sorted(by_phase):
            if len(taken) < PICTURES and (left := by_phase[phase]):
                least = min(seen[sample.game] for sample in left)
                sample = left.pop(source.choice([n for n, one in enumerate(left) if seen[one.game] == least]))
                seen[sample.game] += 1
                taken.append(sample)
    source.shuffle(taken)
    return taken


def write(folder: Path, first: int) -> None:
    """The pictures and the facts of every game, of games from this number on."""
    for rules in RULESETS.values():
        shown, told = folder / game_name(rules.id), folder / "facts" / game_name(rules.id)
        for each in (shown, told):
            each.mkdir(parents=True, exist_ok=True)
        for number, sample in enumerate(chosen(rules, first), 1):
            happened = {"happened": sample.happened, "before": sample.before}
            svg = picture(rules, sample.state, None, "en", theme="light", **happened)
            (shown / f"{number:02}.png").write_bytes(png(svg, WIDTH))
            facts = {
                "state": rules.view(sample.state, None),
                "happened": sample.happened,
                "outcome": rules.outcome(sample.state),
            }
            (told / f"{number:02}.json").write_bytes(msgspec.json.format(msgspec.json.encode(facts), indent=1) + b"\n")


if __name__ == "__main__":
    write(Path(sys.argv[1]), int(sys.argv[2]) if len(sys.argv) > 2 else 0)
