"""Folding: the rules alone, a whole game from its stored bytes, and its audit, in one process."""

import hashlib
import random
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import msgspec

from bench.figures import Figure, say
from engine.chance import Recorded
from engine.registry import BOTS, RULESETS
from events import codec, seeds
from events.bodies import Act, Create, read_body
from events.event import Event
from replay.audit import audit
from replay.fingerprint import rules_hash
from replay.position import Position
from service.drafts import Draft

ROUNDS = 5


def bot_game(seed: int, seats: int = 4) -> list[Event]:
    """A finished game of delvers, from a seed."""
    source = random.Random(seed)
    game_id, rules = source.randbytes(16), RULESETS["donjon@1"]
    chain = seeds.Chain(game_id, seeds.SERVER, seeds.server_tail(hashlib.sha256(game_id).digest(), game_id))
    draft = Draft(Position(game_id), 1_800_000_000_000, chain)
    draft.create(
        Create(
            rules=rules.id,
            rules_hash=rules_hash(rules),
            seats=seats,
            options=msgspec.to_builtins(rules.options()),
            visibility="public",
            watching="open",
            commit=chain.commitment,
            chain_len=chain.length,
            key_id="bench",
            build="bench",
        )
    )
    for seat in range(1, seats + 1):
        draft.join(seat, source.randbytes(16), {})
    draft.start()
    events, position = list(draft.events), draft.position
    bot = BOTS["donjon"]["delver"]
    while not position.closed:
        seat = position.to_act[0]
        draft = Draft(position, position.t_ms + 1000, chain)
        draft.act(seat, bot.choose(rules, position.state, seat, 2, source.randrange))
        events += draft.events
        position = draft.position
    return events


def measure(scale: int) -> list[Figure]:
    """Figures of folding over ``scale`` games."""
    say("folding: games are played")
    games = [bot_game(seed) for seed in range(scale)]
    stored = [[event.data for event in game] for game in games]
    count = sum(map(len, games))
    applied = _acts(games)
    rates: dict[str, list[float]] = {"apply": [], "refold": [], "audit": [], "decode": []}
    for number in range(ROUNDS):
        say(f"folding: round {number + 1} of {ROUNDS}")
        rates["apply"].append(sum(len(acts) for _, acts in applied) / _timed(lambda: _apply(applied)))
        rates["refold"].append(count / _timed(lambda: _each(_refold, stored)))
        rates["audit"].append(count / _timed(lambda: _each(_audit, games)))
        rates["decode"].append(count / _timed(lambda: [codec.decode(data) for game in stored for data in game]))
    rate = {kind: statistics.median(of) for kind, of in rates.items()}
    size = statistics.mean(len(data) for game in stored for data in game)
    return [
        Figure("folds: the rules alone, with recorded draws", rate["apply"], "/s", target=100_000),
        Figure("refold from stored bytes, every fingerprint checked", rate["refold"], "/s", target=100_000),
        Figure("the same", rate["refold"], "/s", rate["decode"], "strict decoding of the same bytes alone"),
        Figure("audit: chain, legality, fingerprints, every die", rate["audit"], "/s", target=25_000),
        Figure("canonical bytes an event", size, "B"),
    ]


def _acts(games: Sequence[Sequence[Event]]) -> list[tuple[Any, list[tuple[int, Any, list[Any]]]]]:
    """(state at the start, its acts with their draws) of each game."""
    out = []
    for game in games:
        position = Position(game[0].game_id)
        acts: list[tuple[int, Any, list[Any]]] = []
        opening = None
        for event in game:
            position.advance(event)
            if event.kind == "seeded":
                assert position.rules is not None
                opening = position.rules.copy(position.state)
            if event.kind == "act":
                body = read_body("act", event.body)
                assert isinstance(body, Act)
                assert position.rules is not None
                draws = [] if body.x is msgspec.UNSET else body.x[2]
                acts.append((event.seat or 0, position.rules.parse(*body.a), draws))
        out.append((opening, acts))
    return out


def _apply(applied: Sequence[tuple[Any, list[tuple[int, Any, list[Any]]]]]) -> None:
    rules = RULESETS["donjon@1"]
    for opening, acts in applied:
        state = rules.copy(opening)
        for seat, action, draws in acts:
            rules.apply(state, seat, action, Recorded(draws))


def _refold(game: Sequence[bytes]) -> None:
    position = Position(Event.read(game[0]).game_id)
    for data in game:
        position.advance(Event.read(data))


def _audit(game: Sequence[Event]) -> None:
    events = [Event.read(event.data) for event in game]
    verdict = audit(events[0].game_id, events)
    assert all(check.result != "FAIL" for check in verdict.checks), verdict


def _each(work: Callable[[Any], None], games: Sequence[Any]) -> None:
    for game in games:
        work(game)


def _timed(work: Callable[[], object]) -> float:
    begun = time.perf_counter()
    work()
    return time.perf_counter() - begun
