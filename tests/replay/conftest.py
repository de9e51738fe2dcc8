"""Real games for the tests of the replay room, made as live play makes them."""

from collections.abc import Callable, Iterable
from functools import cache
from hashlib import sha256
from typing import Any

import msgspec
import pytest
from msgspec import UNSET

from engine.protocol import Action
from engine.registry import RULESETS
from events import seeds
from events.bodies import Create
from events.event import Event, genesis
from replay.fingerprint import rules_hash
from replay.position import Position
from service.drafts import Draft

START_MS = 1_800_000_000_000
PLAYERS = [bytes([seat]) * 16 for seat in range(1, 7)]
NAMES = dict(zip(PLAYERS, ("Ada", "Bruno", "Chiyo", "Dora", "Emil", "Fen"), strict=True))
HEROES = ("victorius", "argentus", "aderyn", "xanros", "horan", "tala")
Choose = Callable[[Any, int, list[Any]], Action | None]


class Table:
    """One game being played, a second an event."""

    def __init__(self, name: str = "game", ruleset: str = "donjon@1", chain_len: int = 1024) -> None:
        self.game_id = sha256(name.encode()).digest()[:16]
        self.chain = seeds.Chain(self.game_id, 0, sha256(b"tail " + name.encode()).digest(), chain_len)
        self.position = Position(self.game_id)
        self.events: list[Event] = []
        self.now_ms = START_MS
        self.rules = RULESETS[ruleset]
        self.whim = int.from_bytes(self.game_id, "big")

    def draft(self) -> Draft:
        self.now_ms += 1000
        return Draft(self.position, self.now_ms, self.chain)

    def keep(self, draft: Draft) -> None:
        self.position = draft.position
        self.events += draft.events

    def open(self, seats: int = 2, heroes: Iterable[str | None] = HEROES, **options: Any) -> "Table":
        draft = self.draft()
        complete = msgspec.to_builtins(msgspec.convert(options, self.rules.options))
        draft.create(
            Create(
                rules=self.rules.id, rules_hash=rules_hash(self.rules), seats=seats, options=complete,
                visibility="public", watching="open", commit=self.chain.commitment, chain_len=self.chain.length,
                key_id="k1", build="test", forked_from=UNSET,
            )
        )  # fmt: skip
        for seat, hero in zip(range(1, seats + 1), heroes, strict=False):
            draft.join(seat, PLAYERS[seat - 1], {"hero": hero} if hero else {})
        draft.start()
        self.keep(draft)
        return self

    def below(self, n: int) -> int:
        """A whim of the players, the same for the same table."""
        self.whim = (self.whim * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.whim >> 33) % n

    def act(self, action: Action) -> None:
        draft = self.draft()
        draft.act(self.position.to_act[0], action)
        self.keep(draft)

    def wander(self, events: int) -> "Table":
        """Play on by whim until so many events were written or the game is over."""
        while len(self.events) < events and not self.position.closed:
            legal = self.rules.legal(self.position.state, self.position.to_act[0])
            keen = [offer for offer in legal if offer.action.__class__.__name__ != "EndTurn"]
            offers = keen if keen and self.below(6) else legal
            self.act(offers[self.below(len(offers))].action)
        return self


@cache
def wandered(name: str, seats: int = 3, events: int = 240, options: tuple[tuple[str, Any], ...] = ()) -> Table:
    """A game played by whim; the same one for every test that asks."""
    return Table(name).open(seats, HEROES[-seats:], **dict(options)).wander(events)


@pytest.fixture(scope="session")
def table() -> Callable[..., Table]:
    return Table


@pytest.fixture(scope="session")
def game() -> Callable[..., Table]:
    return wandered


@pytest.fixture(scope="session")
def names() -> dict[bytes, str]:
    return NAMES


def rechain(events: Iterable[Event], change: Callable[[Event, dict[str, Any]], dict[str, Any] | None]) -> list[Event]:
    """The events with some changed, each chained anew to the one before, as a forger with the log in hand would.

    ``change`` gets an event and its envelope fields, and gives new ones, or None to leave the event out.
    """
    forged: list[Event] = []
    for event in events:
        fields = {name: getattr(event, name) for name in ("seq", "t_ms", "kind", "seat", "body")}
        changed = change(event, fields)
        if changed is None:
            continue
        changed["prev"] = forged[-1].hash if forged else genesis(event.game_id)
        forged.append(Event.write(event.game_id, **changed))
    return forged


@pytest.fixture(scope="session")
def forge() -> Callable[..., list[Event]]:
    return rechain
