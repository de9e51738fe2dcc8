"""``annals validate`` over stored games of both kinds, by one process and by one a core; bots' games a second."""

import hashlib
import io
import random
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import cpu_count, get_context
from pathlib import Path
from typing import Final

import msgspec
from rich.console import Console

from bench import figures, selfplay
from bench.figures import Figure, beside, say
from engine.registry import BOTS, RULESETS, game_name
from events import seeds
from events.bodies import Create
from events.embedded import Embedded
from events.event import Event
from events.log import EventLog
from events.redis_client import connect
from events.redis_log import RedisLog
from replay.fingerprint import rules_hash
from replay.position import Position
from replay.validate import run_validate
from service.drafts import Draft

_SEEDS: Final = 3
"""Bots' games of each table, for their pace."""


def measure(games: int) -> list[Figure]:
    """The figures, over that many different games."""
    return [*_validated(games), *_played()]


def _validated(games: int) -> list[Figure]:
    cores = cpu_count()
    with tempfile.TemporaryDirectory(prefix="annals-bench-") as folder, Embedded(Path(folder), "no") as database:
        say(f"validating: {games:,} games of bots are played")
        log, events = RedisLog(connect(database.url)), 0
        with ProcessPoolExecutor(cores, get_context("spawn")) as pool:
            for number, data in enumerate(pool.map(_game, range(games), chunksize=4), 1):
                log.append([Event.read(one) for one in data])
                events += len(data)
                if number % 500 == 0:
                    say(f"validating: {number:,} games, {events:,} events")
        rates: dict[int, list[float]] = {1: [], cores: []}
        for number in range(1 if games > 1_000 else figures.ROUNDS):
            for workers in rates:
                say(f"validating: {workers} at work, round {number + 1}")
                begun = time.perf_counter()
                told = io.StringIO()
                reopen = partial(_reopened, database.url)
                console = Console(file=told)
                code = run_validate(log, quiet=True, console=console, reopen=reopen, workers=workers)
                assert code == 0, told.getvalue()
                rates[workers].append(events / (time.perf_counter() - begun))
    return [
        beside(
            f"annals validate, {games:,} stored games, {events:,} events, {cores} processes", "events/s", rates[cores],
            rates[1], "with one process",
        )
    ]  # fmt: skip


def _reopened(url: str) -> EventLog:
    return RedisLog(connect(url))


def _game(seed: int) -> list[bytes]:
    """The events of a bots' game: every other one is Dungeon Roll's; of every number of seats."""
    rules = list(RULESETS.values())[seed % len(RULESETS)]
    source, seats = random.Random(seed), rules.seats[seed // 2 % len(rules.seats)]
    bot = next(iter(BOTS[game_name(rules.id)].values()))
    game_id = source.randbytes(16)
    chain = seeds.Chain(game_id, seeds.SERVER, hashlib.sha256(game_id).digest(), 1_024)
    draft = Draft(Position(game_id), 1_800_000_000_000, chain)
    draft.create(
        Create(
            rules=rules.id, rules_hash=rules_hash(rules), seats=seats,
            options=msgspec.to_builtins(rules.options()), visibility="public", watching="open",
            commit=chain.commitment, chain_len=chain.length, key_id="bench", build="bench",
        )
    )  # fmt: skip
    for seat in range(1, seats + 1):
        draft.join(seat, source.randbytes(16), {})
    draft.start()
    events, position = draft.events, draft.position
    while not position.closed:
        seat = position.to_act[0]
        action = bot.choose(rules, position.state, seat, bot.levels[seed % len(bot.levels)], source.randrange)
        draft = Draft(position, position.t_ms + source.randrange(20_000), chain)
        draft.act(seat, action)
        events += draft.events
        position = draft.position
    return [event.data for event in events]


def _played() -> list[Figure]:
    """Whole games of bots a second and core: each bot and level against itself, two seats (one where it is alone)."""
    rows: list[Figure] = []
    for rules in RULESETS.values():
        for bot in BOTS[game_name(rules.id)].values():
            for level in bot.levels:
                say(f"self-play: {rules.id}, {bot.name} at level {level}")
                begun, played = time.process_time(), list[selfplay.Played]()
                for seed in range(_SEEDS):
                    played.append(selfplay.play(rules, [(bot, level)] * 2, seed))
                took = time.process_time() - begun
                decisions = sum(game.decisions.total() for game in played)
                rows.append(
                    Figure(
                        f"self-play, {rules.id}, {bot.name} at level {level}, two seats",
                        len(played) / took,
                        "games/s",
                    )
                )
                rows.append(Figure("… its decisions, each with its rules", decisions / took, "/s"))
    return rows
