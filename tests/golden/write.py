"""``make golden``: golden transcripts, their digests, and the names that stored games hold for ever.

A transcript that exists is told anew from the game it holds; one that is planned and missing is played by bots first.
What to play stands in ``<ruleset>/plan.toml``. Whatever changes then shows in the diff.
"""

import hashlib
import itertools
import json
import random
import sys
import tomllib
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import msgspec

from engine.chance import Committed, WrongDraw
from engine.protocol import Illegal, Rules, SeatSetup, Setup, name_and_args
from engine.registry import BOTS, RULESETS, game_name
from replay.transcript import BEGIN, WITHDRAW, Game, Step, carry_out, digest, read, text
from tests.golden.names import names

GOLDEN = Path(__file__).parent
ROOT = GOLDEN.parents[1]

FROZEN = '''"""Written by `make golden`: what is frozen of each version of this game (docs/rulesets.md)."""

from typing import Final

TRANSCRIPTS: Final[dict[str, bytes]] = {{
{entries}
}}
"""SHA-256 of the golden transcripts, part of the rules hash."""
'''


class Planned(msgspec.Struct, forbid_unknown_fields=True):
    """A game to play: heroes or whatever seats choose, each bot by name and level, table options, and at which event
    something else happens than what the bots want: ``move {"to": [1, 0]}``, ``(time-out)``, ``(withdraw) 2``."""

    name: str
    title: str
    seats: list[dict[str, Any]]
    seed: int = 1
    bot: tuple[str, int] | None = None
    options: dict[str, Any] = {}
    at: dict[str, str] = {}
    state: str = ""


def plan(ruleset: str) -> list[Planned]:
    """The games of a ruleset that are told. Empty where nobody wrote any."""
    path = GOLDEN / ruleset / "plan.toml"
    return msgspec.convert(tomllib.loads(path.read_text()), dict[str, list[Planned]])["game"] if path.exists() else []


def transcripts(ruleset: str) -> dict[str, bytes]:
    """The golden files of a ruleset by name."""
    return {path.name: path.read_bytes() for path in sorted((GOLDEN / ruleset).glob("*.txt"))}


def names_file(ruleset: str) -> Path:
    """Where the names of a ruleset are kept."""
    return ROOT / "tests" / "engine" / f"{ruleset}.names.txt"


def frozen_file(rules: Rules[Any]) -> Path:
    """Where the package of a game keeps the digests."""
    return ROOT.joinpath(*type(rules).__module__.split(".")[:2], "frozen.py")


def frozen(game: str) -> str:
    """The text of that file, for all versions of a game."""
    entries = (
        f'    "{ruleset}": bytes.fromhex("{digest(transcripts(ruleset)).hex()}"),'
        for ruleset in sorted(RULESETS)
        if game_name(ruleset) == game
    )
    return FROZEN.format(entries="\n".join(entries))


def play(rules: Rules[Any], planned: Planned) -> Game:
    """A new game, the same for the same plan, rules and bots.

    :raises Illegal: an action of the plan is refused.
    """
    options = msgspec.to_builtins(msgspec.convert(planned.options, rules.options))
    bot = msgspec.UNSET if planned.bot is None else planned.bot
    state = json.loads(planned.state) if planned.state else msgspec.UNSET
    setup = Setup(options=options, seats=[SeatSetup(choice, bot) for choice in planned.seats], state=state)
    whims = random.Random(planned.seed).randrange
    at = rules.initial(setup)
    steps: list[Step] = []
    while True:
        number = len(steps)
        step = wanted(rules, at, setup, planned.at.get(str(number)), whims) if steps else Step(0, BEGIN, {}, [])
        chance = Committed(blocks(f"{planned.seed}:{number}"))
        carry_out(rules, at, step, chance)
        steps.append(step._replace(draws=chance.draws))
        if rules.outcome(at) is not None:
            return Game(planned.title, rules.id, setup, steps)


def wanted(rules: Rules[Any], state: Any, setup: Setup, planned: str | None, whims: Callable[[int], int]) -> Step:
    """What comes next: what was planned, else what the bot of the seat wants."""
    seat = rules.to_act(state)[0]
    if planned is not None:
        name, _, rest = planned.partition(" ")
        return Step(int(rest), name, {}, []) if name == WITHDRAW else Step(seat, name, json.loads(rest or "{}"), [])
    bot = setup.seats[seat - 1].bot
    assert bot, f"nothing is planned for seat {seat}, and it has no bot"
    action = BOTS[game_name(rules.id)][bot[0]].choose(rules, state, seat, bot[1], whims)
    return Step(seat, *name_and_args(action), [])


def blocks(seed: str) -> Callable[[], Iterator[bytes]]:
    """A stream of bytes that depends on the seed only."""
    return lambda: (hashlib.sha256(f"{seed}:{block}".encode()).digest() for block in itertools.count())


def write(path: Path, content: str) -> None:
    if not path.exists() or path.read_text() != content:
        path.write_text(content)
        print(f"wrote {path.relative_to(ROOT)}")


def told_anew(rules: Rules[Any], path: Path) -> str:
    """The transcript of the game that a file holds, under the rules as they are now."""
    try:
        return text(rules, read(path.read_text()))
    except (Illegal, WrongDraw) as error:
        sys.exit(f"{path.relative_to(ROOT)} is no game of {rules.id} any more: {error}. Delete it to play a new one.")


def main(rulesets: Mapping[str, Rules[Any]] = RULESETS) -> None:
    for rules in rulesets.values():
        for planned in plan(rules.id):
            path = GOLDEN / rules.id / f"{planned.name}.txt"
            write(path, told_anew(rules, path) if path.exists() else text(rules, play(rules, planned)))
        write(names_file(rules.id), names(rules))
    for rules in rulesets.values():
        write(frozen_file(rules), frozen(game_name(rules.id)))


if __name__ == "__main__":
    main()
