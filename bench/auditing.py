"""Audits: what a verdict on a bundle of 500 events costs, and of that the signatures, the dice chain and the refold."""

import hashlib
import random
import time
from collections.abc import Callable

import msgspec

from bench import figures
from bench.figures import Figure, beside, say
from bench.games import RULES
from engine.protocol import name_and_args
from events import seeds
from events.bodies import Create
from events.event import Event
from events.notes import Signer
from events.seat import SeatKey
from events.signing import SignedAction
from events.tlog import merkle
from events.tlog.checkpoint import Checkpoint
from events.tlog.entries import Closed, Opened
from events.tlog.policy import Policy
from events.tlog.proof import Continuation, Inclusion
from replay import bundle
from replay.audit import VERIFIED_WITH_LIMITS, Trust, audit_bundle
from replay.fingerprint import rules_hash
from replay.position import Position
from service.drafts import Draft

EVENTS = 500
SEATS = 3
ORIGIN = "bench.invalid/log"


def measure() -> list[Figure]:
    """Figures of verdicts on a custodial game and on one that three players sign."""
    say("auditing: two games are played")
    log, receipts = Signer.create(ORIGIN), Signer.create(ORIGIN + "/receipts")
    trust = Trust(policy=Policy((log.verifier,), receipts=receipts.verifier).text)
    games = {signed: played(signed) for signed in (False, True)}
    packed = {signed: _packed(game, log, receipts) for signed, game in games.items()}
    tail = games[False][-1].body["tail"]
    kinds: dict[str, Callable[[], object]] = {
        "custodial": lambda: _judge(packed[False], trust),
        "refold": lambda: _refold(games[False]),
        "signed": lambda: _judge(packed[True], trust),
        "signatures": lambda: _verify(games[True]),
        "chain": lambda: seeds.Chain(games[False][0].game_id, seeds.SERVER, tail),
    }
    taken: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(figures.ROUNDS):
        say(f"auditing: round {number + 1} of {figures.ROUNDS}")
        for kind, run in kinds.items():
            begun = time.perf_counter()
            run()
            taken[kind].append(1000 * (time.perf_counter() - begun))
    return [
        beside(
            "verdict on a bundle, custodial, 500 events", "ms", taken["custodial"], taken["refold"],
            "reading and refolding its events", 100, at_most=True, absolute=True,
        ),
        beside(
            "verdict on a bundle, signed by three, 500 events", "ms", taken["signed"], taken["signatures"],
            "its signatures alone", 300, at_most=True, absolute=True,
        ),
        beside(
            "the server's chain, 4,096 links, from its end", "ms", taken["chain"], taken["custodial"],
            "the whole verdict, custodial",
        ),
    ]  # fmt: skip


def played(signed: bool) -> list[Event]:
    """A game of ``EVENTS`` events, played by whim and then broken off; ``signed``: all seats are in self-custody."""
    source = random.Random(f"audit {signed}")
    game_id, secret = source.randbytes(16), source.randbytes(32)
    chain = seeds.Chain(game_id, seeds.SERVER, hashlib.sha256(game_id).digest())
    position, events, keys = Position(game_id), list[Event](), dict[int, SeatKey]()

    def draft() -> Draft:
        return Draft(position, 1_800_000_000_000 + 1000 * len(events), chain)

    def keep(made: Draft) -> Position:
        events.extend(made.events)
        return made.position

    options = msgspec.to_builtins(msgspec.convert({"stalemate_rounds": 1000}, RULES.options))
    made = draft()
    made.create(
        Create(
            rules=RULES.id, rules_hash=rules_hash(RULES), seats=SEATS, options=options,
            visibility="public", watching="open", commit=chain.commitment, chain_len=chain.length, key_id="bench",
            build="bench",
        )
    )  # fmt: skip
    position = keep(made)
    for seat, hero in enumerate(("aderyn", "tala", "horan"), 1):
        made, choice = draft(), {"hero": hero}
        keys[seat] = SeatKey(secret, game_id, seat, position.version, chain.length)
        sealed = keys[seat].join(position.head, choice) if signed else None
        made.join(seat, source.randbytes(16), choice, sealed=sealed)
        position = keep(made)
    made = draft()
    made.start()
    position = keep(made)
    for seat in position.to_reveal:
        made = draft()
        made.reveal(keys[seat].sign("reveal", 1, position.version, position.head))
        position = keep(made)
    while len(events) < EVENTS - 1 and position.to_act:
        seat = position.to_act[0]
        legal = [offer.action for offer in RULES.legal(position.state, seat)]
        action = source.choice([one for one in legal if name_and_args(one)[0] != "end-turn"] or legal)
        name, args = name_and_args(action)
        number = position.seats[seat - 1].signed
        sealed = keys[seat].sign("act", number, position.version, position.head, name, args) if signed else None
        made = draft()
        made.act(seat, action, sealed=sealed)
        position = keep(made)
    assert len(events) == EVENTS - 1, "the dragon was slain too early"
    made = Draft(position, position.t_ms + 1000 * position.options.idle_seconds, chain)
    made.close("abandoned", "idle")
    keep(made)
    return events


def _packed(events: list[Event], log: Signer, receipts: Signer) -> bytes:
    """The bundle of a game whose log holds nothing but it."""
    entries = [Opened.of(events[0]).write(), Closed.of(events[-1]).write()]
    leaves = [merkle.leaf_hash(entry) for entry in entries]
    root = merkle.node_hash(*leaves)
    first, last = (Checkpoint(ORIGIN, size, top).sign(log) for size, top in ((1, leaves[0]), (2, root)))
    files = {
        bundle.OPEN_ENTRY: entries[0],
        bundle.OPEN_PROOF: Inclusion(0, (), first).write(),
        bundle.CLOSE_ENTRY: entries[1],
        bundle.CLOSE_PROOF: Inclusion(1, (leaves[0],), last).write(),
        bundle.CONSISTENCY: Continuation(1, (leaves[1],), last).write(),
    }
    return bundle.write(events[0].game_id, ORIGIN, (event.data for event in events), files, receipts)


def _judge(data: bytes, trust: Trust) -> None:
    verdict = audit_bundle(data, trust)
    assert verdict.verdict == VERIFIED_WITH_LIMITS, verdict


def _refold(events: list[Event]) -> None:
    position = Position(events[0].game_id)
    for event in events:
        position.advance(Event.read(event.data))


def _verify(events: list[Event]) -> None:
    keys = {event.seat: event.body["pk"] for event in events if event.kind == "join"}
    for event in events:
        if isinstance(signed := event.body.get("a"), bytes):
            assert SignedAction.read(signed).signed_by(keys[event.seat], event.body["g"])
