"""Golden transcripts: a whole game in plain text, told event by event, that reads back into the game it tells.

A transcript holds every input of the fold (setup, actions, draws) and what came of it (happenings, what changed in the
state, what is legal next, the fingerprint). `read` finds the inputs, `tell` folds them and writes the text again, so a
ruleset that means something else tells another text. See docs/rulesets.md.
"""

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import msgspec

from engine.chance import Chance, Recorded
from engine.protocol import Happening, Rules, Setup, name_and_args
from replay.fingerprint import state_hash

BEGIN, TIME_OUT, WITHDRAW = "(begin)", "(time-out)", "(withdraw)"
"""Events that are no action of the rules."""


class Step(NamedTuple):
    """One event: its seat (0 opens the game), the name of its action or one of the three above, args, draws."""

    seat: int
    name: str
    args: dict[str, Any]
    draws: list[Any]


class Game(NamedTuple):
    """What a transcript tells: ``title`` is a line of its own, ``ruleset`` an id."""

    title: str
    ruleset: str
    setup: Setup
    steps: Sequence[Step]


def digest(files: Mapping[str, bytes]) -> bytes:
    """SHA-256 over the transcripts of a ruleset by file name: what `Rules.transcripts` holds."""
    hashed = hashlib.sha256()
    for name in sorted(files):
        hashed.update(f"{name} {len(files[name])}\n".encode() + files[name])
    return hashed.digest()


def tell(rules: Rules[Any], game: Game) -> Iterator[str]:
    """The lines of a transcript, without their ends.

    :raises Illegal: an action is refused. :raises WrongDraw: the rules ask for other draws.
    """
    state = rules.initial(game.setup)
    before = flat(msgspec.to_builtins(state))
    yield f"# {game.title}"
    yield ""
    yield f"ruleset {game.ruleset}"
    yield f"options {line(game.setup.options)}"
    for number, seated in enumerate(game.setup.seats, 1):
        yield f"seat {number} {line(msgspec.to_builtins(seated))}"
    if game.setup.state:
        yield f"state {line(game.setup.state)}"
    for number, step in enumerate(game.steps):
        yield ""
        yield " ".join([str(number), f"seat {step.seat}", step.name, *([line(step.args)] if step.args else [])])
        if step.draws:
            yield f"  draws {line(step.draws)}"
        for happening in carry_out(rules, state, step):
            yield "  " + told(happening)
        after = flat(msgspec.to_builtins(state))
        if changed := list(changes(before, after)):
            yield f"  state {'; '.join(changed)}"
        before = after
        for seat in rules.to_act(state):
            yield f"  seat {seat} may " + " | ".join(offers(rules, state, seat))
        yield f"  fingerprint {state_hash(rules.id, state)[:8].hex()}"
    yield ""
    yield f"outcome {line(msgspec.to_builtins(rules.outcome(state)))}"


def text(rules: Rules[Any], game: Game) -> str:
    """A whole transcript."""
    return "".join(f"{one}\n" for one in tell(rules, game))


def read(transcript: str) -> Game:
    """The game that a transcript tells.

    :raises ValueError: it is none.
    """
    facts: dict[str, Any] = {"seats": []}
    title, ruleset = "", ""
    steps: list[Step] = []
    for one in transcript.splitlines():
        key, _, rest = one.partition(" ")
        match key:
            case "#":
                title = rest
            case "ruleset":
                ruleset = rest
            case "options" | "state":
                facts[key] = json.loads(rest)
            case "seat":
                facts["seats"].append(json.loads(rest.partition(" ")[2]))
            case number if number.isdecimal():
                _, seat, name, *args = rest.split(" ", 3)
                steps.append(Step(int(seat), name, json.loads(args[0]) if args else {}, []))
            case "" if one.startswith("  draws "):
                steps[-1].draws.extend(json.loads(one.removeprefix("  draws ")))
    return Game(title, ruleset, msgspec.convert(facts, Setup), steps)


def carry_out(rules: Rules[Any], state: Any, step: Step, chance: Chance | None = None) -> list[Happening]:
    """Apply a step to the state: with its own draws, all of them, where no other chance is given."""
    recorded = Recorded(step.draws)
    if step.name == BEGIN:
        happenings = rules.begin(state, chance or recorded)
    elif step.name == TIME_OUT:
        happenings = rules.time_out(state, step.seat)
    elif step.name == WITHDRAW:
        happenings = rules.withdraw(state, step.seat)
    else:
        happenings = rules.apply(state, step.seat, rules.parse(step.name, step.args), chance or recorded)
    recorded.finish()
    return happenings


def told(happening: Happening) -> str:
    """``hero-moved seat=1 hero=tala``: the name of a happening and its facts."""
    facts = msgspec.to_builtins(happening)
    return " ".join([facts.pop("type"), *(f"{name}={plain(value)}" for name, value in facts.items())])


def flat(value: Any, path: str = "") -> dict[str, Any]:
    """Plain data by path: ``heroes.1.hp``. Lists count from 1; a list of nothing but values is a value itself."""
    parts: Iterable[tuple[Any, Any]]
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, list) and any(isinstance(item, dict | list) for item in value):
        parts = enumerate(value, 1)
    else:
        return {path: value}
    return {
        where: item
        for name, part in parts
        for where, item in flat(part, f"{path}.{name}" if path else str(name)).items()
    }  # fmt: skip


def changes(before: Mapping[str, Any], after: Mapping[str, Any]) -> Iterator[str]:
    """``mp 3``, ``no things.1,0``: what is other than before, by path."""
    for path, value in after.items():
        if path not in before or before[path] != value:
            yield f"{path} {plain(value)}"
    yield from (f"no {path}" for path in before if path not in after)


def offers(rules: Rules[Any], state: Any, seat: int) -> Iterator[str]:
    """``move [0,-1] [1,0]``: each legal action with the args it may have; of a form, how many of what."""
    grouped: dict[str, list[str]] = {}
    for legal in rules.legal(state, seat):
        name, args = name_and_args(legal.action)
        values = line(args) if len(args) > 1 else plain(*args.values()) if args else "-"
        grouped.setdefault(name, []).append(values)
    for name, listed in grouped.items():
        yield name if listed == ["-"] else " ".join([name, *listed])
    for form in rules.forms(state, seat):
        fields = (f"{name} {one.minimum}..{one.maximum} of {line(one.ids)}" for name, one in form.fields.items())
        yield " ".join([form.type, *fields])


def plain(value: Any) -> str:
    """A word as it is, anything else as JSON."""
    return value if isinstance(value, str) and value and " " not in value else line(value)


def line(value: Any) -> str:
    """JSON on one line."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))
