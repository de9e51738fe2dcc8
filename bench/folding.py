"""Folding and storing: the rules alone, a whole game from its stored bytes, its audit, and how large it all is."""

import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import msgspec
import redis

from bench import figures, profiling
from bench.figures import Figure, Profile, beside, say
from bench.games import RULES, finished
from engine.chance import Recorded
from engine.protocol import Action
from events import archive
from events.bodies import Act, read_body
from events.embedded import Embedded
from events.event import Event
from events.redis_client import connect
from events.redis_log import Keys, RedisLog
from replay.audit import FAIL, audit
from replay.position import Position
from service.api.present import event_fields

Acts = list[tuple[int, Action, list[Any]]]
"""(seat, action, recorded draws) of each act of a game."""


def measure(scale: int) -> tuple[list[Figure], list[Profile]]:
    """Figures of folding and storing ``scale`` games, and where the time goes."""
    say("folding: games are played")
    games = [finished(seed, RULES.seats[seed % len(RULES.seats)]) for seed in range(scale)]
    stored = [[event.data for event in game] for game in games]
    count, acts = sum(map(len, games)), [_acts(game) for game in games]
    applied = sum(len(each) for _, each in acts)
    kinds: dict[str, Callable[[], float]] = {
        "fold": lambda: applied / _timed(apply, acts),
        "read": lambda: count / _timed(read, stored),
        "refold": lambda: count / _timed(refold, stored),
        "audit": lambda: count / _timed(_audit, stored),
    }
    rates: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(figures.ROUNDS):
        say(f"folding: round {number + 1} of {figures.ROUNDS}")
        for kind, run in kinds.items():
            rates[kind].append(run())
    reading = "reading the same bytes: strict decoding, hash"
    taken = [
        beside("folds: the rules alone, with recorded draws", "/s", rates["fold"], rates["read"], reading),
        beside(
            "refold from stored bytes, every fingerprint", "/s", rates["refold"], rates["read"], reading,
            100_000, absolute=True,
        ),
        beside(
            "audit: chain, legality, fingerprints, every die", "/s", rates["audit"], rates["refold"], "refold alone",
            25_000, absolute=True,
        ),
        *_sizes(games),
    ]  # fmt: skip
    return taken, [profiling.refolds(refold, stored)]


def apply(opening: Any, acts: Acts) -> None:
    """The acts of a game by the rules alone."""
    state = RULES.copy(opening)
    for seat, action, draws in acts:
        RULES.apply(state, seat, action, Recorded(draws))


def read(stored: Sequence[bytes]) -> None:
    """The events of a game from its bytes."""
    for data in stored:
        Event.read(data)


def refold(stored: Sequence[bytes]) -> None:
    """A game from its bytes, strictly."""
    position = Position(Event.read(stored[0]).game_id)
    for data in stored:
        position.advance(Event.read(data))


def _audit(stored: Sequence[bytes]) -> None:
    events = [Event.read(data) for data in stored]
    verdict = audit(events[0].game_id, events)
    assert all(check.result != FAIL for check in verdict.checks), verdict


def _acts(game: Sequence[Event]) -> tuple[Any, Acts]:
    """(state at the start, its acts) of a game."""
    position = Position(game[0].game_id)
    acts: Acts = []
    opening: Any = None
    for event in game:
        position.advance(event)
        if event.kind == "seeded":
            opening = RULES.copy(position.state)
        if event.kind == "act":
            body = read_body("act", event.body)
            assert isinstance(body, Act)
            assert not isinstance(body.a, bytes)
            acts.append((event.seat or 0, RULES.parse(*body.a), [] if body.x is msgspec.UNSET else body.x[2]))
    return opening, acts


def _sizes(games: Sequence[Sequence[Event]]) -> list[Figure]:
    """Bytes an event over whole games: canonical, as JSON, and in the memory of the database."""
    count = sum(map(len, games))
    canonical = sum(len(event.data) for game in games for event in game) / count
    shown = sum(len(msgspec.json.encode(event_fields(event, ""))) for game in games for event in game) / count
    archived = sum(len(archive.pack(game)) for game in games) / count
    with tempfile.TemporaryDirectory(prefix="annals-bench-") as folder, Embedded(Path(folder), "no") as database:
        client = connect(database.url)
        log = RedisLog(client)
        for game in games:
            for event in game:  # one by one, as they were made: each append is a line of the feed
                log.append([event])
        used = sum(_memory(client, game[0].game_id) for game in games) / count
        feeds = sum(client.memory_usage(f"{{s{shard:x}}}:feed", samples=0) or 0 for shard in range(16)) / count
    return [
        beside(
            "memory of the database an event: stream, meta, keys", "B", [used], [canonical], "its canonical bytes",
            260, at_most=True, absolute=True,
        ),
        Figure("memory of a feed's lines an event, before they are trimmed", feeds, "B"),
        Figure(f"such games, of {count / len(games):,.0f} events, a GiB", 2**30 * len(games) / used / count, ""),
        beside(
            "archive an event", "B", [archived], [canonical], "its canonical bytes", 40, at_most=True, absolute=True
        ),
        beside("canonical bytes an event", "B", [canonical], [shown], "its JSON, without words", None, True),
    ]  # fmt: skip


def _memory(client: redis.Redis, game_id: bytes) -> int:
    keys = Keys.of(game_id)
    return sum(client.memory_usage(key, samples=0) or 0 for key in (keys.stream, keys.meta, keys.idem))


def _timed(work: Callable[..., None], games: Sequence[Any]) -> float:
    begun = time.perf_counter()
    for game in games:
        work(*game) if isinstance(game, tuple) else work(game)
    return time.perf_counter() - begun
