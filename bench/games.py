"""Games to measure with: finished ones of bots, made here, and ones whose next actions are known beforehand."""

import hashlib
import random
import secrets
import urllib.request
from collections.abc import Callable, Mapping
from typing import Any, Final

import msgspec

from bench.load import Address, request
from bench.servers import Servers
from engine.donjon.actions import EndTurn, Move
from engine.donjon.components import MONSTERS
from engine.donjon.grid import named
from engine.protocol import Action, name_and_args
from engine.registry import BOTS, RULESETS
from events import seeds
from events.bodies import Create
from events.event import Event
from events.redis_log import RedisLog
from replay.fingerprint import rules_hash
from replay.position import Position
from service.drafts import Draft

RULES = RULESETS["donjon@1"]
BOT = BOTS["donjon"]["delver"]
SEATS = 6
"""Of the games that are played over HTTP."""


Chooser = Callable[[Position, random.Random], tuple[int, Action]]
"""The seat that acts, and what it does."""


def finished(seed: int, seats: int) -> list[Event]:
    """A finished game of delvers, from a seed; each action with the mark of an idempotency key."""
    return _played(f"{seed}", seats, {}, _chosen)


def endless(seed: int, seats: int, events: int) -> list[Event]:
    """A game of so many events that goes on: once a part of the dungeon is known, everybody only walks about in it.

    The rules let it, at a table that has no stalemate.
    """
    return _played(f"endless {seed}", seats, ENDLESS, walks, events)


ENDLESS: Final[Mapping[str, Any]] = {"stalemate_rounds": 0}


def walks(position: Position, source: random.Random) -> tuple[int, Action]:
    """As a delver acts at first, and then to and fro where no monster is."""
    state, seat = position.state, position.to_act[0]
    if position.version < _KNOWN or state.phase not in ("turn-start", "exploring", "turn-over"):
        return _chosen(position, source)
    offers = [offer.action for offer in RULES.legal(state, seat)]
    steps = [one for one in offers if isinstance(one, Move) and _is_quiet(state, named(one.to))]
    ends = [one for one in offers if isinstance(one, EndTurn)]
    return seat, source.choice(steps or ends or offers)


_KNOWN: Final = 60
"""Events after which enough of the dungeon is known."""


def _is_quiet(state: Any, cell: str) -> bool:
    return cell in state.tiles and state.tiles[cell].kind != "trap" and state.things.get(cell) not in MONSTERS


def _played(seed: str, seats: int, options: Mapping[str, Any], chosen: Chooser, most: int | None = None) -> list[Event]:
    source = random.Random(seed)
    game_id = source.randbytes(16)
    chain = seeds.Chain(game_id, seeds.SERVER, hashlib.sha256(game_id).digest())
    draft = Draft(Position(game_id), 1_800_000_000_000, chain)
    draft.create(
        Create(
            rules=RULES.id,
            rules_hash=rules_hash(RULES),
            seats=seats,
            options=msgspec.to_builtins(msgspec.convert(options, RULES.options)),
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
    events, position = draft.events, draft.position
    while not position.closed and (most is None or len(events) < most):
        seat, action = chosen(position, source)
        draft = Draft(position, position.t_ms + source.randrange(20_000), chain)
        draft.act(seat, action, source.randbytes(8))
        events += draft.events
        position = draft.position
    return events


class Plan:
    """A game of the service and the requests that will play it for at least ``actions``.

    They can be known beforehand, because whoever holds the master key knows the dice to come.
    """

    def __init__(
        self, servers: Servers, actions: int, options: Mapping[str, Any] = {}, chosen: Chooser | None = None
    ) -> None:
        self._servers, self._options, self._chooser = servers, options, chosen or _chosen
        token = _call(servers.service, "/v1/players", {"name": "bench"})["token"]
        self.headers = {"Authorization": f"Bearer {token}"}
        self.requests: list[bytes] = []
        while len(self.requests) < actions:  # else it was over too soon
            self.game = _opened(servers.service, self.headers, options)
            self._rehearse(actions)

    def take(self, count: int) -> list[bytes]:
        """The next requests."""
        taken, self.requests = self.requests[:count], self.requests[count:]
        return taken

    def _rehearse(self, actions: int) -> None:
        game_id, source = bytes.fromhex(self.game), random.Random(self.game)
        chain = seeds.Chain(game_id, seeds.SERVER, seeds.server_tail(self._servers.master, game_id))
        position, self.requests = Position(game_id), []
        for event in RedisLog(self._servers.database).read(game_id).events:
            position.advance(event)
        self.version = position.version
        while not position.closed and len(self.requests) < actions:
            seat, action = self._chooser(position, source)
            name, args = name_and_args(action)
            body = msgspec.json.encode({"action": {"type": name, **args}, "expected_version": position.version})
            headers = self.headers | {"Idempotency-Key": secrets.token_hex(16)}
            self.requests.append(request("POST", f"/v1/games/{self.game}/actions?seat={seat}", headers, body))
            draft = Draft(position, position.t_ms, chain)
            draft.act(seat, action)
            position = draft.position


class Copied:
    """As many requests to the bare endpoint, of the same headers and the size of an action's."""

    def __init__(self) -> None:
        self._name, self._version = secrets.token_hex(16), 0

    def take(self, count: int) -> list[bytes]:
        """The next requests."""
        self._version += count
        return [self._request(version) for version in range(self._version - count, self._version)]

    def _request(self, version: int) -> bytes:
        body = msgspec.json.encode({"action": {"type": "move", "to": [1, 0]}, "expected_version": version})
        headers = {"Authorization": f"Bearer {secrets.token_hex(25)}", "Idempotency-Key": secrets.token_hex(16)}
        return request("POST", f"/append/{self._name}", headers, body)


def _chosen(position: Position, source: random.Random) -> tuple[int, Action]:
    seat = position.to_act[0]
    return seat, BOT.choose(RULES, position.state, seat, BOT.levels[-1], source.randrange)


def _opened(address: Address, headers: dict[str, str], options: Mapping[str, Any]) -> str:
    """A game that one player begins on all its seats."""
    table = {"ruleset": RULES.id, "seats": SEATS, "options": options}
    game: str = _call(address, "/v1/games", table, headers)["game_id"]
    for _ in range(SEATS - 1):
        _call(address, f"/v1/games/{game}/seats", {}, headers)
    _call(address, f"/v1/games/{game}/start", {}, headers)
    return game


def _call(address: Address, path: str, body: dict[str, Any], headers: dict[str, str] | None = None) -> Any:
    asked = urllib.request.Request(
        f"http://{address[0]}:{address[1]}{path}",
        msgspec.json.encode(body),
        {"Content-Type": "application/json"} | (headers or {}),
    )
    with urllib.request.urlopen(asked) as answer:
        return msgspec.json.decode(answer.read())
