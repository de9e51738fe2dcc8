"""``python -m bench.keeping``: what a game takes in the database and in the archive, and what keeping it costs.

Games of bots, the same ones at every run, are written into an embedded server, archived, read, and kept in a backup
that comes back into another. Bytes do not depend on the machine; times are of the processor, since the disk is
another's. ``keyed``: every act has an idempotency key, 8 bytes that nothing compresses.
"""

import argparse
import hashlib
import random
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import msgspec
import redis

from engine.registry import BOTS, RULESETS, game_name
from events import seeds
from events.archive import pack, unpack
from events.bodies import Create
from events.embedded import open_database
from events.event import Event
from replay.fingerprint import rules_hash
from replay.position import Position
from service.bootstrap import Deps, bootstrap
from service.config import Config
from service.drafts import Draft
from service.keeping.archiver import archive_game
from service.keeping.backup import Backup, make_backup
from service.keeping.restoring import restore

SEATS: Final = {"donjon@1": (2, 3, 4, 6), "dungeon-roll@1": (1, 2, 4)}
_GAME: Final = ("*:ev:*", "*:meta:*", "*:idem:*")
_START_MS: Final = 1_700_000_000_000


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.keeping", description=__doc__)
    parser.add_argument("--games", type=int, default=50, help="of each of the four sorts")
    asked = parser.parse_args()
    print(
        "| games | events | stored, B/event | Redis, B/event | archive, B/event | games/GiB | left, lists too, B/game |"
    )
    print("|---|---|---|---|---|---|---|")
    lines = []
    for ruleset in SEATS:
        for keyed in (False, True):
            games = [played(ruleset, number, keyed) for number in range(asked.games)]
            name = f"{ruleset}{', keyed' if keyed else ''}"
            row, times = measured(games)
            print(f"| {name}: {len(games)} | {row} |", flush=True)
            lines.append(f"| {name} | {times} |")
    print("\nmilliseconds of the processor a game:\n")
    print("| games | pack | unpack | archived | read from Redis | from the archive | backup | next backup | restored |")
    print("|---|---|---|---|---|---|---|---|---|")
    print("\n".join(lines))


def played(ruleset: str, number: int, keyed: bool) -> list[Event]:
    """A game of the ruleset's first bot against itself, to its end."""
    rules, bot = RULESETS[ruleset], next(iter(BOTS[game_name(ruleset)].values()))
    source = random.Random(f"{ruleset} {number}")
    seats, game_id = SEATS[ruleset][number % len(SEATS[ruleset])], source.randbytes(16)
    chain = seeds.Chain(game_id, seeds.SERVER, hashlib.sha256(game_id).digest())
    draft = Draft(Position(game_id), _START_MS + number, chain)
    draft.create(
        Create(
            rules=rules.id, rules_hash=rules_hash(rules), seats=seats, options=msgspec.to_builtins(rules.options()),
            visibility="public", watching="open", commit=chain.commitment, chain_len=chain.length, key_id="bench",
            build="bench",
        )
    )  # fmt: skip
    for seat in range(1, seats + 1):
        draft.join(seat, source.randbytes(16), {}, None if keyed else (bot.name, bot.levels[-1]))
    draft.start()
    events, position = draft.events, draft.position
    while not position.closed:
        seat = position.to_act[0]
        action = bot.choose(rules, position.state, seat, bot.levels[-1], source.randrange)
        draft = Draft(position, position.t_ms + source.randrange(20_000), chain)
        draft.act(seat, action, source.randbytes(8) if keyed else None)
        events, position = events + draft.events, draft.position
    return events


def measured(games: Sequence[list[Event]]) -> tuple[str, str]:
    """The cells of both tables."""
    ids, count = [events[0].game_id for events in games], len(games)
    total = sum(map(len, games))
    with tempfile.TemporaryDirectory(prefix="annals-") as name:
        folder = Path(name)
        with (
            closing(open_database(folder / "one", fsync="no")) as one,
            closing(open_database(folder / "two", fsync="no")) as two,
        ):
            deps, other = (_deps(client, folder / where) for client, where in ((one.client, "1"), (two.client, "2")))
            for events in games:
                for start in range(0, len(events), 50):
                    deps.log.append(events[start : start + 50])
            deps.index.catch_up()
            full = _used(one.client, *_GAME)
            took = {"pack": _ms(games, pack)}
            packed = [pack(events) for events in games]
            took["unpack"] = _ms(packed, unpack)
            read = lambda game_id: list(deps.log.read(game_id, 0, 100_000).items)  # noqa: E731
            from_redis = _ms(ids, read)
            took["archived"] = _ms(ids, lambda game_id: archive_game(deps, game_id))
            took |= {"redis": from_redis, "archive": _ms(ids, read)}
            left = _used(one.client, *_GAME, "{index}:*") / count
            begun = time.process_time()
            make_backup(deps, folder / "monday", "bench")
            took["backup"] = (time.process_time() - begun) * 1e3 / count
            begun = time.process_time()
            make_backup(deps, folder / "tuesday", "bench", folder / "monday")
            took["next"] = (time.process_time() - begun) * 1e3 / count
            begun = time.process_time()
            restore(other, Backup.open(folder / "tuesday"))
            took["restored"] = (time.process_time() - begun) * 1e3 / count
    size = sum(map(len, packed))
    stored = sum(len(event.data) for events in games for event in events)
    cells = [
        f"{total / count:.0f}", f"{stored / total:.0f}", f"{full / total:.0f}", f"{size / total:.1f}",
        f"{2**30 / (size / count):,.0f}", f"{left:.0f}",
    ]  # fmt: skip
    return " | ".join(cells), " | ".join(f"{ms:.1f}" for ms in took.values())


def _deps(client: redis.Redis, data: Path) -> Deps:
    config = replace(Config(), data=data, archive_dir=str(data / "archive"), log_dir=str(data / "log"), ephemeral=True)
    return bootstrap(config, client)


def _used(client: redis.Redis, *patterns: str) -> int:
    """Bytes of all keys of these patterns, by MEMORY USAGE."""
    keys = (key for pattern in patterns for key in client.scan_iter(pattern, count=1_000))
    return sum(int(client.memory_usage(key, samples=0) or 0) for key in keys)


def _ms(things: Sequence[Any], work: Callable[[Any], object]) -> float:
    """Milliseconds of the processor for each."""
    begun = time.process_time()
    for thing in things:
        work(thing)
    return (time.process_time() - begun) * 1e3 / len(things)


if __name__ == "__main__":
    main()
