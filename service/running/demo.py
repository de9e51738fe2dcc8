"""The demo: finished games to step through, one that bots play now, and the library of positions to play on from.

It is loaded once, into an empty database. Every table has an idempotency key, so a load that was cut short is taken up
where it ended. The finished games were played by bots ahead of time, on a clock that is made up, and are written as a
whole: their dice and their chain are as good as any, their times only look like an evening at the table.
"""

import secrets
import time
import typing
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
import structlog

from engine.protocol import Rules
from engine.registry import BOTS, RULESETS, game_name
from events.event import Event, genesis
from events.log import Appended, Conflict, EventLog, Head, Page, Unavailable
from events.redis_client import Wire
from replay.position import OPEN, Position
from service import clerk, commands
from service.drafts import WrongStatus
from service.positions import Positions

if TYPE_CHECKING:
    from service.bootstrap import Deps

CREATOR: Final = b"the demo, nobody"
"""Who opened the demo's tables: no player."""
MOST_EXTRA: Final = 40
"""Further games that may be played until every decision state has occurred."""
STATE: Final = "{demo}:state"
"""Key that says whether the demo belongs into this database: ``loading`` or ``loaded``, absent where it does not."""
_LIVE: Final = "{demo}:live"
_LIBRARY: Final = "{demo}:library"
_DAY_MS: Final = 86_400_000
_OPENING_MS: Final = 10_000

_log = structlog.get_logger()


class Planned(msgspec.Struct, frozen=True):
    """A table of the demo: its ruleset, what each seat chooses, and the options that differ from the defaults."""

    ruleset: str
    choices: tuple[dict[str, Any], ...]
    options: Mapping[str, Any] = {}


def _heroes(*names: str) -> tuple[dict[str, Any], ...]:
    return tuple({"hero": name} for name in names)


TABLES: Final[Mapping[str, Planned]] = {
    "two": Planned("donjon@1", _heroes("aderyn", "horan")),
    "three": Planned("donjon@1", _heroes("tala", "xanros", "victorius"), {"orientation": "player"}),
    "four": Planned("donjon@1", _heroes("argentus", "aderyn", "xanros", "tala")),
    "five": Planned("donjon@1", _heroes("horan", "victorius", "tala", "argentus", "aderyn"), {"traps": 8}),
    "six": Planned("donjon@1", _heroes("victorius", "argentus", "aderyn", "xanros", "horan", "tala")),
    "alone": Planned("dungeon-roll@1", ({},)),
    "chosen": Planned("dungeon-roll@1", ({},) * 2, {"hero_choice": "choice", "heroes": "pack-2"}),
    "every-hero": Planned("dungeon-roll@1", ({},) * 4, {"heroes": "all"}),
}
"""The finished games, by name."""
EXTRA: Final[Mapping[str, Planned]] = {
    "donjon@1": Planned("donjon@1", _heroes("horan", "aderyn", "xanros"), {"orientation": "player", "traps": 20}),
    "dungeon-roll@1": Planned("dungeon-roll@1", ({},) * 4, {"heroes": "pack-1"}),
}
"""What is played on, table by table, for decision states that are still missing."""


LIVE: Final = Planned("donjon@1", ({},) * 4)
"""The table that is played now."""


class Entry(msgspec.Struct, frozen=True):
    """A position of the library: fork the game there to meet this decision. ``state``: which one it is."""

    ruleset: str
    state: str
    game_id: str
    version: int
    seat: int
    actions: list[str]
    """The types of action that the seat may choose from."""


# -- loading -----------------------------------------------------------------------------------------------------------


def keep(deps: "Deps") -> None:
    """Load the demo if it is due, then keep a live game going, for as long as the process lives."""
    while True:
        try:
            if load(deps):
                live(deps)
        except (Unavailable, Conflict, WrongStatus, commands.SeatTaken) as error:
            _log.warning("demo-waits", error=str(error))
        time.sleep(2)


def load(deps: "Deps") -> bool:
    """Play the finished games and list the library, unless that was done; False: they do not belong here."""
    wire = Wire(deps.redis)
    (state,) = wire.call(("GET", STATE))
    if state != b"loading":
        return bool(state == b"loaded")
    started = time.perf_counter()
    games = [_finish(deps, name, planned, age) for age, (name, planned) in enumerate(TABLES.items(), 1)]
    entries = {(entry.ruleset, entry.state): entry for game_id in games for entry in survey(deps, game_id)}
    for number in range(MOST_EXTRA):
        missing = [rules.id for rules in RULESETS.values() if decision_states(rules) - _found(entries, rules.id)]
        wanted = [ruleset for ruleset in missing if ruleset in EXTRA]
        if not wanted:
            break
        for ruleset in wanted:
            game_id = _finish(deps, f"extra-{ruleset}-{number}", EXTRA[ruleset], len(TABLES) + 1 + number)
            entries = {(entry.ruleset, entry.state): entry for entry in survey(deps, game_id)} | entries
    wire.call(("SET", _LIBRARY, msgspec.json.encode(list(entries.values()))), ("SET", STATE, "loaded"))
    _log.info("demo-loaded", positions=len(entries), seconds=round(time.perf_counter() - started, 2))
    return True


def _found(entries: Mapping[tuple[str, str], Entry], ruleset: str) -> set[str]:
    return {state for found, state in entries if found == ruleset}


def library(deps: "Deps") -> list[Entry]:
    """The position library: at least one entry for each decision state of each game, empty without the demo."""
    (data,) = Wire(deps.redis).call(("GET", _LIBRARY))
    return [] if data is None else msgspec.json.decode(data, type=list[Entry])


def _finish(deps: "Deps", name: str, planned: Planned, days_ago: int) -> bytes:
    """A table of the demo, played to its end by bots and then written; or the one that was."""
    paper, made_up = _Paper(), _MadeUpClock(deps.clock() - days_ago * _DAY_MS)
    log = typing.cast(EventLog, paper)
    config = replace(deps.config, bot_pause_ms=0)
    then = replace(deps, config=config, log=log, positions=Positions(log), clock=made_up)
    game_id = _open(then, planned, f"demo-{name}")
    if deps.log.head(game_id).version:
        return game_id
    _start(then, game_id, planned)
    while not then.positions.load(game_id).position.closed:
        made_up.think()
        clerk.act(then, game_id)
    deps.log.append(paper.events)
    return game_id


class _Paper:
    """A log of one game on scrap paper: what `commands` needs of an `EventLog` to play alone."""

    def __init__(self) -> None:
        self.events: list[Event] = []

    def append(self, events: Sequence[Event]) -> Appended:
        self.events += events
        return Appended(events[-1].seq, events[-1].hash)

    def read(self, game_id: bytes, after: int = 0, limit: int = 0) -> Page:
        return Page(tuple(self.events[after:]), None)

    def head(self, game_id: bytes) -> Head:
        return Head(len(self.events), self.events[-1].hash if self.events else genesis(game_id))


def _open(deps: "Deps", planned: Planned, key: str | None) -> bytes:
    table = commands.Table(planned.ruleset, len(planned.choices), planned.options, "public", "open", sit=None)
    game, _ = commands.create(deps, CREATOR, table, key)
    return game.id


def _start(deps: "Deps", game_id: bytes, planned: Planned) -> None:
    """Let bots take the seats of a table, and start it, as far as that is not done yet."""
    bot = next(iter(BOTS[game_name(planned.ruleset)].values()))
    position = deps.positions.load(game_id).position
    for number, seat in position.seat_items():
        if seat.player is None:
            level = bot.levels[-1 - number % len(bot.levels)]
            commands.join(deps, game_id, CREATOR, number, planned.choices[number - 1], (bot.name, level))
    if position.status == OPEN:
        commands.start(deps, game_id)


@dataclass(slots=True)
class _MadeUpClock:
    """A clock that moves on while somebody thinks."""

    now_ms: int

    def __call__(self) -> int:
        return self.now_ms

    def think(self) -> None:
        self.now_ms += 1_200 + secrets.randbelow(4_800)


# -- the library -------------------------------------------------------------------------------------------------------


def survey(deps: "Deps", game_id: bytes) -> Iterator[Entry]:
    """The first position of a game for each decision state that occurs in it."""
    seen: set[str] = set()
    for position, _, _ in deps.positions.walk(game_id, 0, deps.positions.load(game_id).version):
        state = getattr(position.state, "phase", "")
        if state and state not in seen and position.to_act:
            seen.add(state)
            yield _entry(position, state)


def _entry(position: Position, state: str) -> Entry:
    rules, seat = position.rules, position.to_act[0]
    assert rules is not None
    types = {type(legal.action).__struct_config__.tag for legal in rules.legal(position.state, seat)}
    types |= {form.type for form in rules.forms(position.state, seat)}
    return Entry(rules.id, state, position.game_id.hex(), position.version, seat, sorted(map(str, types)))


def decision_states(rules: Rules[Any]) -> set[str]:
    """The states in which a game of this ruleset can wait for a seat, by the names of its ``phase``."""
    phases: Sequence[str] = typing.get_args(typing.get_type_hints(rules.state).get("phase", Literal[()]))
    return set(phases) - {"opening", "game-over"}


# -- the live game -----------------------------------------------------------------------------------------------------


def live(deps: "Deps") -> bytes | None:
    """The game that bots play at a pace to watch, or the next one when it is over; None: another clerk opens it."""
    wire = Wire(deps.redis)
    (known,) = wire.call(("GET", _LIVE))
    if known is None or deps.positions.load(known).position.closed:
        if wire.call(("SET", f"{_LIVE}:opening", 1, "NX", "PX", _OPENING_MS)) == [None]:
            return None
        known = _open(deps, LIVE, None)
        wire.call(("SET", _LIVE, known), ("DEL", f"{_LIVE}:opening"))
    _start(deps, known, LIVE)
    return bytes(known)
