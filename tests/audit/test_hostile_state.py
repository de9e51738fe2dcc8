"""A fork begins with a state that somebody else claims: whatever it is, there is a verdict and no crash."""

import copy
import random
from collections.abc import Iterator
from functools import cache
from typing import Any

import msgspec
import pytest

from events.event import Event
from replay.audit import VERDICTS, Trust, audit_bundle
from replay.fingerprint import state_hash
from tests.audit.corpus import Game, House, custodial, packed, rechained

Path = tuple[str | int, ...]


@cache
def fork() -> Game:
    """Forked in the middle of a fight, and broken off at once."""
    source = custodial().position
    game = Game(House(), "hostile fork")
    claimed = (source.game_id, source.version, source.head, source.state_hash())
    game.create(3, forked_from=claimed, stalemate_rounds=4)
    for seat in (1, 2, 3):
        game.sit(seat)
    return game.start(msgspec.to_builtins(source.state)).close("abandoned", 604_800, "idle")


def places(value: Any, path: Path = ()) -> Iterator[Path]:
    """The path to everything in plain data."""
    if path:
        yield path
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in items:
        yield from places(item, (*path, key))


def found(value: Any, path: Path) -> Any:
    for key in path:
        value = value[key]
    return value


def spoiled(state: dict[str, Any], whims: random.Random) -> dict[str, Any]:
    """The state with one part of it changed to another of its type."""
    paths = list(places(state))
    path = whims.choice(paths)
    other: Any = copy.deepcopy(state)
    held, old = found(other, path[:-1]), found(state, path)
    words = [word for each in paths if isinstance(word := found(state, each), str)]
    if isinstance(old, bool) or old is None:
        held[path[-1]] = not old
    elif isinstance(old, int):
        held[path[-1]] = whims.choice((0, -1, old + 1, 2**40))
    elif isinstance(old, str):
        held[path[-1]] = whims.choice(words)
    else:
        held[path[-1]] = type(old)()
    return other


@pytest.mark.parametrize("seed", range(40))
def test_whatever_state_a_fork_claims_there_is_a_verdict(seed: int) -> None:
    game, whims = fork(), random.Random(seed)
    state = msgspec.to_builtins(game.position.state)
    while True:
        claimed = spoiled(state, whims)
        try:
            claim = state_hash(game.rules.id, msgspec.convert(claimed, game.rules.state))
            break
        except msgspec.ValidationError:
            continue

    def change(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        body = event.body
        more = {
            "create": lambda: {"forked_from": [*body["forked_from"][:3], claim]},
            "lock": lambda: {"setup": {**body["setup"], "state": claimed}},
            "seeded": lambda: {"f": claim[:8]},
            "close": lambda: {"state_hash": claim},
        }.get(event.kind)
        return fields if more is None else {**fields, "body": {**body, **more()}}

    events = rechained(game.events, change)
    verdict = audit_bundle(packed(game, events, signed=False), Trust())
    assert verdict.verdict in VERDICTS
    assert verdict.who is None
