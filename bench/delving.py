"""Does weighing the odds pay in Dungeon Roll? Its bots alone in the dungeon, against players of one idea.

``python -m bench.delving`` plays solo games with each hero, the same ones at every run, and prints the tables of
docs/bots.md; ``--games`` says how many for each hero and player. The players of one idea:

- ``home after N``: fights, loots and spends like the delver, and knows its plan, but whatever the odds it
  goes on before level N and retires after it (or as soon as it can, where a power forbids it);
- ``greedy``: takes what defeats most monsters, every chest, every potion and every Dragon it can, at once and with
  whoever is weakest, and goes on as long as three companions are left.
"""

import argparse
import math
import os
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from statistics import mean, stdev
from typing import Any, Final

from bench.selfplay import play
from engine.bots import Wanderer
from engine.dungeon_roll import DUNGEON_ROLL_1
from engine.dungeon_roll import actions as act
from engine.dungeon_roll.bots import Delver, Mind
from engine.dungeon_roll.components import PARTY_FACES
from engine.dungeon_roll.heroes import SETS
from engine.dungeon_roll.state import State
from engine.protocol import Action, Below, Bot, Rules

ENOUGH: Final = 3
"""Companions with which the greedy player goes on."""
WEAKEST: Final = {face: place for place, face in enumerate(("scroll", *PARTY_FACES[:-1]))}
HASTE: Final = (
    act.OpenChests, act.QuaffPotions, act.FightDragon, act.Attack, act.UseUltimate, act.UseSpecialty, act.UseScroll,
    act.UseRing, act.UseBait, act.UsePortal, act.UseElixir, act.Proceed, act.Flee,
)  # fmt: skip
"""What the greedy player does first."""


class Home(Bot):
    """Retires after a fixed level: its level as a bot."""

    name = "home after"
    levels = range(1, 11)

    def choose(self, rules: Rules[Any], state: State, seat: int, level: int, below: Below) -> Action:
        return Mind(rules, state, level).choose()


class Greedy(Bot):
    """Takes what it can get, at once."""

    name = "greedy"
    levels = range(1, 2)

    def choose(self, rules: Rules[Any], state: State, seat: int, level: int, below: Below) -> Action:
        actions = [offer.action for offer in rules.legal(state, seat)]
        if act.SeekGlory() in actions:
            retires = len(state.delve.party) + len(state.delve.temps) < ENOUGH and act.Retire() in actions
            return act.Retire() if retires else act.SeekGlory()
        return min(actions, key=lambda action: self.haste(state, action))

    def haste(self, state: State, action: Action) -> tuple[int, ...]:
        """What comes first is least: the kind of action, how much it gets, and how weak a companion does it."""
        kind = next((place for place, one in enumerate(HASTE) if isinstance(action, one)), -1)
        match action:
            case act.Attack(companion, dice) | act.OpenChests(companion, dice) | act.QuaffPotions(companion, dice):
                return kind, -len(dice), WEAKEST.get(state.delve.party.get(companion, ""), -1)
        return (kind,)


class WithHero(Bot):
    """A bot that takes a certain hero where heroes are chosen."""

    name = "with hero"

    def __init__(self, bot: Bot, hero: str) -> None:
        self.bot, self.hero = bot, hero

    def choose(self, rules: Rules[Any], state: State, seat: int, level: int, below: Below) -> Action:
        if state.phase == "choosing-hero":
            return act.ChooseHero(self.hero)
        return self.bot.choose(rules, state, seat, level, below)


PLAYERS: Final[dict[str, tuple[Callable[[], Bot], int]]] = {
    "delver at level 2": (Delver, 2),
    "delver at level 1": (Delver, 1),
    "wanderer": (Wanderer, 1),
    "greedy": (Greedy, 1),
    **{f"home after {level}": (Home, level) for level in Home.levels},
}
REFERENCES: Final = [name for name, (bot, _) in PLAYERS.items() if bot in (Home, Greedy)]


def score(player: str, hero: str, seed: int) -> tuple[int, float]:
    """The score of one solo game, and the seconds of processor time that the player thought."""
    bot, level = PLAYERS[player]
    game = play(
        DUNGEON_ROLL_1, [(WithHero(bot(), hero), level)], f"{hero} {seed}", hero_choice="choice", heroes="all"
    )  # fmt: skip
    return game.outcome.scores[0], sum(game.seconds.values())


def half(scores: list[int]) -> float:
    """Half of the 95 % interval of a mean."""
    return 1.96 * stdev(scores) / math.sqrt(len(scores))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--games", type=int, default=2_000, help="for each hero and player")
    parser.add_argument("--heroes", default="base", choices=sorted(SETS))
    parser.add_argument("--players", default="", help="only these, with commas between them")
    parser.add_argument("--workers", type=int, default=os.cpu_count())
    asked = parser.parse_args()
    players = asked.players.split(",") if asked.players else list(PLAYERS)
    found: dict[tuple[str, str], list[int]] = {}
    seconds: dict[str, float] = {}
    heroes = SETS[asked.heroes]
    with ProcessPoolExecutor(asked.workers) as pool:
        for hero in heroes:  # one hero after the other, so that what was reckoned for it is kept
            for player in players:
                games = pool.map(partial(score, player, hero), range(asked.games), chunksize=max(1, asked.games // 16))
                scores, thought = zip(*games, strict=True)
                found[hero, player] = list(scores)
                seconds[player] = seconds.get(player, 0.0) + sum(thought)

    print(f"{asked.games} solo games for each hero and player: mean score, with its 95 % interval\n")
    print("| player |", " | ".join(heroes), "| ms a game |")
    print("|---|" + "---:|" * (len(heroes) + 1))
    for player in players:
        cells = [f"{mean(found[hero, player]):.2f} ± {half(found[hero, player]):.2f}" for hero in heroes]
        thought = 1000 * seconds[player] / asked.games / len(heroes)
        print(f"| {player} |", " | ".join(cells), f"| {thought:.1f} |")

    best = players[0]
    others = [player for player in players if player in REFERENCES]
    if not others:
        return
    print(f"\n{best} against the best of the others\n")
    print("| hero | best of the others | better by, with its 95 % interval |")
    print("|---|---|---:|")
    for hero in heroes:
        rival = max(others, key=lambda player: mean(found[hero, player]))
        mine, theirs = found[hero, best], found[hero, rival]
        print(f"| {hero} | {rival} | {mean(mine) - mean(theirs):.2f} ± {math.hypot(half(mine), half(theirs)):.2f} |")


if __name__ == "__main__":
    main()
