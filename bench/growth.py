"""How costs grow: with the number of games, and with the length of one. Lists, state, append and position stay flat.

Games are made through drafts, as the service makes them, and written to a database of their own. The many are short:
opened, joined, begun, and left by all of their seats.
"""

import hashlib
import random
import secrets
import tempfile
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Final

import msgspec

from bench import figures
from bench.figures import Figure, beside, say
from bench.games import RULES, endless, walks
from engine.protocol import name_and_args
from events import seeds
from events.bodies import Create
from events.embedded import Embedded
from events.event import Event
from events.redis_client import connect
from events.redis_log import Keys, RedisLog
from replay.fingerprint import rules_hash
from replay.position import Position
from service import commands
from service.bootstrap import Deps, bootstrap
from service.clerk import Clerk
from service.config import Config
from service.drafts import Draft
from service.positions import Positions
from service.proofs.signing_keys import SigningKeys
from service.snapshots import Snapshots

GAMES: Final = (100, 1_000, 10_000, 100_000)
EVENTS: Final = (10, 100, 1_000, 10_000)
_TIMES: Final = 40
_MASTER: Final = bytes(range(32))
_LINKS: Final = 8
"""The chain of a short game: who has nothing to roll needs no long one."""
_BATCH: Final = 200


def measure(games: Sequence[int] = GAMES, events: Sequence[int] = EVENTS) -> list[Figure]:
    """The figures."""
    return [*_by_number(games), *_by_length(events)]


# -- with the number of games ----------------------------------------------------------------------------------------


def _by_number(counts: Sequence[int]) -> list[Figure]:
    with tempfile.TemporaryDirectory(prefix="annals-bench-") as folder, Embedded(Path(folder), "no") as database:
        client = connect(database.url)
        receipts = SigningKeys.fresh().receipts.skey
        keys = f"bench={_MASTER.hex()}"
        config = Config(redis_url=database.url, data=Path(folder), keys=keys, receipts_key=receipts, rate_limits=False)
        deps = bootstrap(config)
        live = _live(deps)
        taken: dict[str, list[list[float]]] = {}
        used, made, rates = [client.info("memory")["used_memory"]], 0, list[float]()
        with ProcessPoolExecutor(2, get_context("spawn")) as pool:
            for count in counts:
                say(f"growth: {count:,} games")
                batches = [range(start, min(start + _BATCH, count)) for start in range(made, count, _BATCH)]
                for batch in pool.map(_short_games, batches):
                    for data in batch:
                        events = [Event.read(one) for one in data]
                        deps.log.append(events)
                begun, new, made = time.perf_counter(), count - made, count
                deps.index.catch_up()
                rates.append(new / (time.perf_counter() - begun))
                used.append(client.info("memory")["used_memory"])
                for name, took in _costs(deps, live).items():
                    taken.setdefault(name, []).append(took)
    rows = []
    for name, series in taken.items():
        for count, took in zip(counts[1:], series[1:], strict=True):
            rows.append(
                beside(f"{name}, {count:,} games", "ms", took, series[0], f"the same, {counts[0]} games", 1.5, True)
            )
    each = (used[-1] - used[0]) / counts[-1]
    return [
        *rows,
        Figure("database a short game with its row and lists", each / 1000, "kB"),
        Figure(
            f"entered into the lists, the last of {counts[-1]:,} games", rates[-1], "games/s", rates[0],
            f"the first {counts[0]}",
        ),
    ]  # fmt: skip


def _short_games(numbers: range) -> list[list[bytes]]:
    """Games that are opened, joined by two, begun, and left by both: their events' bytes."""
    return [[event.data for event in _short_game(number)] for number in numbers]


def _short_game(number: int) -> list[Event]:
    source = random.Random(number)
    game_id = source.randbytes(16)
    chain = seeds.Chain(game_id, seeds.SERVER, hashlib.sha256(game_id).digest(), _LINKS)
    events = list[Event]()
    position, now = Position(game_id), 1_700_000_000_000 + 1_000 * number
    draft = Draft(position, now, chain)
    draft.create(_create(chain))
    for seat in (1, 2):
        draft.join(seat, source.randbytes(16), {})
    draft.start()
    events += draft.events
    for seat in (1, 2):
        draft = Draft(draft.position, now + seat, chain)
        draft.resign(seat)
        events += draft.events
    return events


def _create(chain: seeds.Chain) -> Create:
    return Create(
        rules=RULES.id, rules_hash=rules_hash(RULES), seats=2, options=msgspec.to_builtins(RULES.options()),
        visibility="public", watching="open", commit=chain.commitment, chain_len=chain.length, key_id="bench",
        build="bench",
    )  # fmt: skip


def _live(deps: Deps) -> bytes:
    """A game that is played meanwhile."""
    player = secrets.token_bytes(16)
    table = commands.Table(RULES.id, 2, {"stalemate_rounds": 0}, "public", "open", {})
    game, _ = commands.create(deps, player, table, None)
    commands.join(deps, game.id, player, 2, {}, None)
    commands.start(deps, game.id)
    return game.id


def _costs(deps: Deps, live: bytes) -> dict[str, list[float]]:
    source, page = random.Random(1), deps.index.games(limit=50)
    some = [bytes.fromhex(row.game_id) for row in page.rows if bytes.fromhex(row.game_id) != live]

    def act(_: int) -> None:
        position = deps.positions.load(live).position
        seat, action = walks(position, source)
        commands.submit(deps, live, seat, action, position.version, None)

    kinds: dict[str, Callable[[int], object]] = {
        "a list of 20": lambda _: deps.index.games(limit=20),
        "the last of a list's pages": lambda _: deps.index.games(limit=20, cursor="0" * 11 + "1" + "f" * 32),
        "state of a game nobody has in memory": lambda n: Positions(deps.log).load(some[n % len(some)]),
        "a position in its middle": lambda n: Positions(deps.log).at(some[n % len(some)], 4),
        "an action": act,
        "start of a clerk": lambda _: Clerk(deps).begin(),
    }
    return {name: [_ms(work, number) for number in range(_TIMES)] for name, work in kinds.items()}


# -- with the length of a game ---------------------------------------------------------------------------------------


def _by_length(lengths: Sequence[int]) -> list[Figure]:
    taken: dict[str, list[list[float]]] = {}
    sizes: list[float] = []
    with tempfile.TemporaryDirectory(prefix="annals-bench-") as folder, Embedded(Path(folder), "no") as database:
        log, client = RedisLog(connect(database.url)), connect(database.url)
        for length in lengths:
            say(f"growth: a game of {length:,} events")
            events = endless(length, 3, max(length, 7))
            for start in range(0, len(events), 400):
                log.append(events[start : start + 400])
            game_id = events[0].game_id
            keys = Keys.of(game_id)
            used = sum(client.memory_usage(key, samples=0) or 0 for key in (keys.stream, keys.meta))
            sizes.append(used / len(events))
            for name, took in _long(log, game_id, len(events), Path(folder)).items():
                taken.setdefault(name, []).append(took)
    rows = []
    limits = {"position anywhere, kept ones at hand": 5.0}
    for name, series in taken.items():
        for length, took in zip(lengths, series, strict=True):
            shown = sorted(took)
            rows.append(
                Figure(
                    f"{name}, {length:,} events", figures.middle(shown), "ms", figures.middle(series[0]),
                    f"the same, {lengths[0]} events", limits.get(name), at_most=True, absolute=name in limits,
                )
            )  # fmt: skip
    rows.append(Figure(f"database an event, game of {lengths[-1]:,}", sizes[-1], "B", sizes[1], f"of {lengths[1]}"))
    return rows


def _long(log: RedisLog, game_id: bytes, length: int, folder: Path) -> dict[str, list[float]]:
    source = random.Random(length)
    warm = Positions(log, snapshots=Snapshots(folder))
    position = warm.load(game_id).position
    chain = seeds.Chain(game_id, seeds.SERVER, hashlib.sha256(game_id).digest())

    def cold() -> Positions:
        return Positions(log, snapshots=Snapshots(folder))

    def drafted(_: int) -> None:
        seat, action = walks(position, source)
        draft = Draft(position, position.t_ms, chain)
        draft.act(seat, RULES.parse(*name_and_args(action)))

    kinds: dict[str, Callable[[int], object]] = {
        "position anywhere, kept ones at hand": lambda _: cold().at(game_id, source.randrange(1, length)),
        "state, nobody has it in memory, kept ones at hand": lambda _: cold().load(game_id),
        "state, in memory": lambda _: warm.load(game_id),
        "a drafted action": drafted,
    }
    return {name: [_ms(work, number) for number in range(_TIMES)] for name, work in kinds.items()}


def _ms(work: Callable[[int], object], number: int) -> float:
    begun = time.perf_counter()
    work(number)
    return (time.perf_counter() - begun) * 1000
