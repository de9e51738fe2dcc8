"""Bundles to audit, built in code: honest ones, unfinished ones, crooked ones and spoiled ones, each with its verdict.

``python -m tests.audit.corpus FOLDER`` writes them all to files, for another verifier to judge.
"""

import json
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from functools import cache
from hashlib import sha256
from pathlib import Path
from typing import Any

import msgspec
from msgspec import UNSET

from engine.protocol import Action, name_and_args
from engine.registry import RULESETS
from events import seeds
from events.bodies import Create
from events.event import Event, genesis
from events.notes import COSIGNATURE, Signer, Verifier, cosign, sign_note
from events.seat import SeatKey
from events.tlog import merkle
from events.tlog.checkpoint import Checkpoint
from events.tlog.entries import Closed, Opened
from events.tlog.policy import Policy
from events.tlog.proof import Continuation, Inclusion
from replay import bundle
from replay.audit import (
    NOT_PROVEN,
    REFUTED,
    UNDETERMINED,
    VERIFIED,
    VERIFIED_WITH_LIMITS,
    Trust,
    final_state,
    seen_checkpoint,
)
from replay.fingerprint import rules_hash
from replay.position import Position
from service.drafts import Draft
from service.proofs.receipts import Notary
from service.proofs.signing_keys import SigningKeys

START_MS = 1_800_000_000_000
ORIGIN = "play.example/gamelog"
HEROES = ("aderyn", "xanros", "horan", "tala")


def secret(name: str) -> bytes:
    return sha256(name.encode()).digest()


def receipt_by(signer: Signer, event: Event) -> bytes:
    notary = Notary(SigningKeys(ORIGIN, None, signer))
    return notary.receipt(event.game_id, event.seq, event.hash).encode()


class House:
    """A server's keys and its log of games, held in memory; every batch of entries is a checkpoint."""

    def __init__(self) -> None:
        self.log = Signer.of(ORIGIN, secret("log"))
        self.receipts = Signer.of(ORIGIN + "/receipts", secret("receipts"))
        self.witness = Signer.of("witness.example", secret("witness"), COSIGNATURE)
        self.entries: list[bytes] = []
        for n in range(5):
            self.add(f"entry {n} of somebody else".encode())

    def add(self, entry: bytes) -> int:
        self.entries.append(entry)
        return len(self.entries) - 1

    def nodes(self, level: int, n: int) -> bytes:
        leaves = [merkle.leaf_hash(entry) for entry in self.entries[n << level : (n + 1) << level]]
        while len(leaves) > 1:
            leaves = [merkle.node_hash(*leaves[at : at + 2]) for at in range(0, len(leaves), 2)]
        return leaves[0]

    def root(self, size: int | None = None) -> bytes:
        return merkle.root(len(self.entries) if size is None else size, self.nodes)

    def checkpoint(self, size: int | None = None, root: bytes | None = None) -> bytes:
        size = len(self.entries) if size is None else size
        note = Checkpoint(ORIGIN, size, root or self.root(size)).sign(self.log)
        return cosign(note, self.witness, START_MS // 1000)

    def proof(self, index: int, size: int) -> bytes:
        path = merkle.inclusion(index, size, self.nodes)
        return Inclusion(index, tuple(path), self.checkpoint(size), self.entries[index]).write()

    def continuation(self, old: int, new: int) -> bytes:
        return Continuation(old, tuple(merkle.consistency(old, new, self.nodes)), self.checkpoint(new)).write()

    def policy(self, quorum: bool = True, receipts: bool = True) -> str:
        witnesses: dict[str, Verifier] = {"friend": self.witness.verifier}
        key = self.receipts.verifier if receipts else None
        return Policy((self.log.verifier,), witnesses, quorum="friend" if quorum else "none", receipts=key).text

    def receipt(self, event: Event) -> bytes:
        return receipt_by(self.receipts, event)

    def refusal(self, event: Event, request: bytes, code: str) -> bytes:
        notary = Notary(SigningKeys(ORIGIN, None, self.receipts))
        return notary.refusal(event.game_id, request, event.seq, event.hash, code).encode()


class Game:
    """One game being played, a second an event; ``signing`` are the seats in self-custody."""

    def __init__(
        self, house: House, name: str, signing: Iterable[int] = (), chain_len: int = 300, ruleset: str = "donjon@1"
    ) -> None:
        self.house, self.name, self.signing = house, name, set(signing)
        self.game_id = secret(name)[:16]
        self.rules = RULESETS[ruleset]
        self.chain = seeds.Chain(self.game_id, 0, secret("tail " + name), chain_len)
        self.position = Position(self.game_id)
        self.events: list[Event] = []
        self.keys: dict[int, SeatKey] = {}
        self.now_ms = START_MS
        self.whim = int.from_bytes(self.game_id, "big")
        self.opened = self.closed = -1
        self.open_size = 0

    def draft(self, wait_s: float = 1) -> Draft:
        self.now_ms += int(wait_s * 1000)
        return Draft(self.position, self.now_ms, self.chain)

    def keep(self, draft: Draft) -> "Game":
        self.position = draft.position
        self.events += draft.events
        if self.position.closed:
            self.closed = self.house.add(Closed.of(self.events[-1]).write())
            self.house.add(b"and then another game")
        return self

    def create(self, seats: int = 3, forked_from: Any = UNSET, **options: Any) -> "Game":
        draft = self.draft()
        complete = msgspec.to_builtins(msgspec.convert(options, self.rules.options))
        draft.create(
            Create(
                rules=self.rules.id, rules_hash=rules_hash(self.rules), seats=seats, options=complete,
                visibility="public", watching="open", commit=self.chain.commitment, chain_len=self.chain.length,
                key_id="k1", build="test", forked_from=forked_from,
            )
        )  # fmt: skip
        self.keep(draft)
        self.opened = self.house.add(Opened.of(self.events[0]).write())
        self.open_size = len(self.house.entries)
        return self

    def sit(self, seat: int, cp: tuple[int, bytes] | bool | None = True, hero: str | None = None) -> "Game":
        draft, player = self.draft(), secret(f"{self.name} player {seat}")[:16]
        choice = {"hero": hero or HEROES[seat - 1]}
        if seat not in self.signing:
            draft.join(seat, player, choice)
            return self.keep(draft)
        key = SeatKey(secret("account"), self.game_id, seat, self.position.version, self.chain.length)
        self.keys[seat] = key
        seen = (len(self.house.entries), self.house.root()) if cp is True else cp or None
        draft.join(seat, player, choice, sealed=key.join(self.position.head, choice, seen))
        return self.keep(draft)

    def sealed(self, seat: int, kind: str, action: Action | None = None, cp: tuple[int, bytes] | None = None) -> Any:
        name, args = (None, None) if action is None else name_and_args(action)
        position = self.position
        pseq = position.seats[seat - 1].signed
        return self.keys[seat].sign(kind, pseq, position.version, position.head, name, args, cp)

    def start(self, state: dict[str, Any] | None = None) -> "Game":
        draft = self.draft()
        draft.start(state)
        self.keep(draft)
        for seat in self.position.to_reveal:
            draft = self.draft()
            draft.reveal(self.sealed(seat, "reveal"))
            self.keep(draft)
        return self

    def act(self, action: Action) -> "Game":
        draft, seat = self.draft(), self.position.to_act[0]
        draft.act(
            seat, action, sealed=self.sealed(seat, "act", action) if self.position.seats[seat - 1].signs else None
        )
        return self.keep(draft)

    def below(self, n: int) -> int:
        self.whim = (self.whim * 6364136223846793005 + 1442695040888963407) % 2**64
        return (self.whim >> 33) % n

    def wander(self, events: int, keen: bool = True) -> "Game":
        """Play by whim until so many events were written; not ``keen``: only end turns, until the game is over."""
        while len(self.events) < events and self.position.to_act:
            legal = self.rules.legal(self.position.state, self.position.to_act[0])
            ends = [offer for offer in legal if name_and_args(offer.action)[0] == "end-turn"]
            offers = [offer for offer in legal if offer not in ends] if keen and self.below(6) else ends
            offers = offers or legal
            self.act(offers[self.below(len(offers))].action)
        return self

    def finish(self, sign_off: bool = True) -> "Game":
        self.wander(10**6, keen=False)
        for seat in self.position.to_sign_off if sign_off else []:
            draft = self.draft()
            draft.sign_off(self.sealed(seat, "signoff", cp=(len(self.house.entries), self.house.root())))
            self.keep(draft)
        return self if self.position.closed else self.close("finished", 61)

    def close(self, status: str, wait_s: float, reason: str | None = None) -> "Game":
        draft = self.draft(wait_s)
        draft.close(status, reason)
        return self.keep(draft)

    def draws(self, n: int = 0) -> Event:
        """The n-th act with draws."""
        return [event for event in self.events if event.kind == "act" and "x" in event.body][n]


def rechained(events: Iterable[Event], change: Callable[[Event, dict[str, Any]], dict[str, Any] | None]) -> list[Event]:
    """The events with some changed and each chained anew, as an operator could: ``change`` gets an event and its
    fields, and gives new ones, or None to leave it out."""
    forged: list[Event] = []
    for event in events:
        fields = {name: getattr(event, name) for name in ("seq", "t_ms", "kind", "seat", "body")}
        if (changed := change(event, fields)) is None:
            continue
        changed["prev"] = forged[-1].hash if forged else genesis(event.game_id)
        forged.append(Event.write(event.game_id, **changed))
    return forged


def evidence(game: Game, house: House | None = None) -> dict[str, bytes]:
    """What a server adds to the events."""
    house = house or game.house
    files: dict[str, bytes] = {"keys.txt": f"{house.log.vkey}\n{house.receipts.vkey}\n".encode()}
    newest = len(house.entries)
    if game.opened >= 0:
        files["open.entry"] = house.entries[game.opened]
        files["open.tlog-proof"] = house.proof(game.opened, game.open_size)
        if game.open_size != newest:
            files["consistency.txt"] = house.continuation(game.open_size, newest)
    if game.closed >= 0:
        files["close.entry"] = house.entries[game.closed]
        files["close.tlog-proof"] = house.proof(game.closed, newest)
    sizes = {cp[0] for event in game.events if (cp := seen_checkpoint(event)) is not None}
    for n, size in enumerate(sorted(sizes - {0, newest})):
        files[f"gossip/{n:04}.txt"] = house.continuation(size, newest)
    if game.position.closed and game.position.state is not None:
        files["state.json"] = final_state(game.position)
    return files


def packed(
    game: Game,
    events: Iterable[Event | bytes] | None = None,
    drop: Iterable[str] = (),
    signed: bool = True,
    house: House | None = None,
    **changed: bytes,  # by name, __ for its dot
) -> bytes:
    """The bundle of a game, with other events or files than the honest ones if asked for."""
    files = evidence(game, house) | {name.replace("__", "."): data for name, data in changed.items()}
    data = [event if isinstance(event, bytes) else event.data for event in (game.events if events is None else events)]
    kept = {name: content for name, content in files.items() if not name.startswith(tuple(drop) or ("-",))}
    return bundle.write(game.game_id, ORIGIN, data, kept, game.house.receipts if signed else None)


@dataclass
class Case:
    """A bundle with what an auditor brings along, and what must come out of it."""

    data: bytes
    policy: str | None
    verdict: str
    code: str | None = None
    who: str | None = None
    limits: tuple[str, ...] = ()
    """Limits that must be among those named."""
    receipts: Mapping[str, bytes] = field(default_factory=dict)
    requests: Mapping[str, bytes] = field(default_factory=dict)
    says: str = ""
    """What the deciding check, or V10, must tell."""
    without_rules: tuple[str, str | None] | None = None
    """Verdict and code where the rules are not folded, if they are others."""

    @property
    def trust(self) -> Trust:
        return Trust(policy=self.policy, receipts=self.receipts, requests=self.requests)


# -- games -----------------------------------------------------------------------------------------------------------


def custodial(name: str = "custodial", events: int = 120) -> Game:
    game = Game(House(), name).create(3, stalemate_rounds=4)
    for seat in (1, 2, 3):
        game.sit(seat)
    return game.start().wander(events)


def own(name: str = "own", events: int = 60, signing: Iterable[int] = (1, 2, 3), **options: Any) -> Game:
    """Two or three players who sign."""
    game = Game(House(), name, signing).create(3, **{"stalemate_rounds": 4, **options})
    for seat in (1, 2, 3):
        game.sit(seat)
    return game.start().wander(events)


def receipts(game: Game, *numbers: int) -> dict[str, bytes]:
    return {f"receipts/{n:04}.note": game.house.receipt(game.events[n - 1]) for n in numbers}


def relogged(game: Game, events: list[Event]) -> House:
    """The log that an operator makes up for other events: opened and closed at the same places."""
    house = House()
    house.entries = list(game.house.entries)
    house.entries[game.opened] = Opened.of(events[0]).write()
    if game.closed >= 0:
        house.entries[game.closed] = Closed.of(events[-1]).write()
    return house


# -- cases -----------------------------------------------------------------------------------------------------------

CASES: dict[str, Callable[[], Case]] = {}


def case(build: Callable[[], Case]) -> Callable[[], Case]:
    CASES[build.__name__.replace("_", "-")] = cache(build)
    return CASES[build.__name__.replace("_", "-")]


@case
def own_finished() -> Case:
    game = own().finish()
    return Case(packed(game), game.house.policy(), VERIFIED, receipts=receipts(game, 5, 40))


@case
def custodial_finished() -> Case:
    game = custodial().finish()
    limits = ("custodial", "seeds", "no-receipts")
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=limits)


@case
def two_players_and_a_bot_finished() -> Case:
    game = own("bot", signing=(1, 3)).finish()
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("custodial",))


@case
def without_a_policy() -> Case:
    game = own("own").finish()
    return Case(packed(game), None, VERIFIED_WITH_LIMITS, limits=("no-log", "no-receipts"))


@case
def without_witnesses() -> Case:
    game = own("own").finish()
    return Case(packed(game), game.house.policy(quorum=False), VERIFIED_WITH_LIMITS, limits=("no-witness",))


@case
def never_logged() -> Case:
    game = custodial().finish()
    data = packed(game, drop=("open", "close", "consistency"))
    return Case(data, game.house.policy(), VERIFIED_WITH_LIMITS, limits=("no-log",))


@case
def unfinished() -> Case:
    game = own("unfinished")
    limits = ("not-closed", "no-receipts")
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=limits)


@case
def closed_and_not_logged_yet() -> Case:
    game = own("own").finish()
    size = game.closed
    game.house.entries = game.house.entries[:size]
    game.closed = -1
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("close-not-logged",))


@case
def opened_and_closed_in_one_batch() -> Case:
    game = custodial().finish()
    game.open_size = len(game.house.entries)
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("opened-late",))


@case
def joined_without_a_checkpoint() -> Case:
    game = Game(House(), "no checkpoint", (1, 2)).create(2, stalemate_rounds=4)
    game.sit(1, cp=None).sit(2).start().wander(30).finish()
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("no-checkpoint",))


@case
def nobody_signed_the_end() -> Case:
    game = own("own").finish(sign_off=False)
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("no-signoff",))


@case
def handed_over_to_a_bot() -> Case:
    game = own("custody")
    draft = game.draft()
    draft.hand_over(2, ("delver", 1))
    game.keep(draft).wander(80).finish()
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("handed-over", "custodial"))


@case
def a_seat_freed_that_never_revealed() -> Case:
    game = Game(House(), "freed", (1, 2)).create(2, stalemate_rounds=4)
    game.sit(1).sit(2)
    draft = game.draft()
    draft.start()
    game.keep(draft)
    draft = game.draft()
    draft.reveal(game.sealed(1, "reveal"))
    game.keep(draft)
    draft = game.draft(120)
    draft.unlock(2)
    game.keep(draft)
    game.sit(2).start().wander(40).finish()
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("no-receipts",))


@case
def abandoned() -> Case:
    game = custodial("abandoned", 150)
    while not any(name_and_args(offer.action)[0] == "roll-dice" for offer in game.rules.legal(
        game.position.state, game.position.to_act[0]
    )):  # fmt: skip
        game.wander(len(game.events) + 1)
    game.close("abandoned", 604_800, "idle")
    return Case(
        packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("custodial",), says="it would have drawn"
    )


@case
def abandoned_with_a_signed_request() -> Case:
    game = own("pending", 150)
    while True:
        seat = game.position.to_act[0]
        legal = game.rules.legal(game.position.state, seat)
        rolls = [offer.action for offer in legal if name_and_args(offer.action)[0] == "roll-dice"]
        if rolls:
            break
        game.wander(len(game.events) + 1)
    sealed = game.sealed(seat, "act", rolls[0])
    request = msgspec.json.encode({"signed": sealed.action.data, "signature": sealed.signature})
    refusal = game.house.refusal(game.events[-1], request, "unavailable")
    game.close("abandoned", 604_800, "idle")
    return Case(
        packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("no-signoff",), says="it would have drawn",
        receipts={"refusal.note": refusal}, requests={"request.json": request},
    )  # fmt: skip


@case
def forked() -> Case:
    first = custodial()
    position = first.position
    game = Game(House(), "fork")
    state = msgspec.to_builtins(position.state)
    source = (first.game_id, position.version, position.head, position.state_hash())
    game.create(3, forked_from=source, stalemate_rounds=4)
    for seat in (1, 2, 3):
        game.sit(seat)
    game.start(state).wander(40).finish()
    return Case(packed(game), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("forked",))


# -- crooked: the operator signs anew whatever is the operator's to sign ---------------------------------------------


def crooked(game: Game, events: list[Event], code: str, says: str = "", **more: Any) -> Case:
    house = relogged(game, events)
    return Case(packed(game, events, house=house), house.policy(), REFUTED, code, "server", says=says, **more)


def with_body(seq: int, **body: Any) -> Any:
    def change(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.seq == seq:
            fields["body"] = {name: value for name, value in {**event.body, **body}.items() if value is not None}
        return fields

    return change


def another_die(game: Game, n: int = 0) -> list[Event]:
    roll = game.draws(n)
    j, link, draws = roll.body["x"]
    purpose, sides, value = draws[0][:3]
    better = [[purpose, sides, value % sides + 1, *draws[0][3:]], *draws[1:]]
    return rechained(game.events, with_body(roll.seq, x=[j, link, better]))


@case
def a_die_changed() -> Case:
    game = custodial().finish()
    return crooked(game, another_die(game), "V9", "draw")


@case
def a_die_changed_in_a_signed_game() -> Case:
    game = own().finish()
    return crooked(game, another_die(game), "V8", "follows on another event")


@case
def a_die_changed_by_anybody() -> Case:
    game = custodial().finish()
    return Case(packed(game, another_die(game), drop=("open", "close", "consistency"), signed=False),
                game.house.policy(), NOT_PROVEN, "V9")  # fmt: skip


@case
def a_time_changed_before_a_signed_action() -> Case:
    game = own().finish()

    def later(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "t_ms": event.t_ms + 1} if event.seq == 20 else fields

    return crooked(game, rechained(game.events, later), "V8")


@case
def an_unknown_server_chain() -> Case:
    game = custodial().finish()
    other = seeds.Chain(game.game_id, 0, secret("luckier"), game.chain.length)
    return crooked(game, rechained(game.events, with_body(1, commit=other.commitment)), "V9", "link 1")


@case
def another_tail() -> Case:
    game = custodial().finish()
    return crooked(game, rechained(game.events, with_body(len(game.events), tail=bytes(32))), "V10", "tail")


@case
def an_illegal_action() -> Case:
    game = custodial().finish()
    end = next(event for event in game.events if event.kind == "act" and event.body["a"][0] == "end-turn")
    events = rechained(game.events, with_body(end.seq, a=["use-fountain", {}]))
    return crooked(game, events, "V12", without_rules=(VERIFIED_WITH_LIMITS, None))


@case
def another_final_state() -> Case:
    game = custodial().finish()
    data = packed(game, state__json=b"{}")
    return Case(data, game.house.policy(), REFUTED, "V12", "server", says="state.json",
                without_rules=(VERIFIED_WITH_LIMITS, None))  # fmt: skip


@case
def a_body_that_is_none() -> Case:
    game = custodial().finish()
    return crooked(game, rechained(game.events, with_body(30, f=None)), "V2")


@case
def an_event_left_out() -> Case:
    game = custodial().finish()
    events = rechained(game.events, lambda event, fields: None if event.seq == 60 else fields)
    house, entry = relogged(game, events), Closed.of(events[-1])
    house.entries[game.closed] = replace(entry, version=len(events)).write()
    return Case(packed(game, events, house=house), house.policy(), REFUTED, "V3", "server")


@case
def a_clock_that_runs_back() -> Case:
    game = custodial().finish()

    def back(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        return {**fields, "t_ms": event.t_ms - 60_000} if event.seq == 70 else fields

    return crooked(game, rechained(game.events, back), "V3", "clock")


@case
def a_key_that_fits_any_message() -> Case:
    game = own().finish()
    weak = bytes([1]) + bytes(31)
    join = game.events[1]
    events = rechained(game.events, with_body(join.seq, pk=weak))
    return crooked(game, events, "V7")


@case
def the_end_replaced_where_a_receipt_was_kept() -> Case:
    game = custodial().finish()
    end = len(game.events) - 1
    events = rechained(
        game.events, lambda event, fields: {**fields, "t_ms": event.t_ms + 1} if event.seq > end - 1 else fields
    )
    return crooked(
        game, events, "V11", "another event", receipts={"mine.note": game.house.receipt(game.events[end - 1])}
    )


@case
def two_receipts_in_conflict() -> Case:
    game = custodial().finish()
    other = rechained(
        game.events, lambda event, fields: {**fields, "t_ms": event.t_ms + 1} if event.seq == 50 else fields
    )
    data = packed(game, drop=("open", "close", "consistency"), signed=False)
    notes = {"mine.note": game.house.receipt(game.events[49]), "theirs.note": game.house.receipt(other[49])}
    return Case(data, game.house.policy(), REFUTED, "V11", "server", receipts=notes, says="differ")


@case
def a_receipt_behind_the_closed_end() -> Case:
    game = own("own").finish()
    last = game.events[-1]
    more = Event.write(game.game_id, last.seq + 1, last.hash, last.t_ms, "act", 1, {})
    notes = {"mine.note": game.house.receipt(more)}
    return Case(packed(game, signed=False), game.house.policy(), REFUTED, "V11", "server", receipts=notes)


@case
def a_receipt_behind_an_unfinished_end() -> Case:
    game = own("unfinished")
    events, notes = game.events[:-3], receipts(game, len(game.events))
    return Case(packed(game, events), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("receipt-beyond",),
                receipts=notes)  # fmt: skip


@case
def a_receipt_of_another_key() -> Case:
    game = custodial().finish()
    stranger = Signer.of(ORIGIN + "/receipts", secret("stranger"))
    notes = {"mine.note": receipt_by(stranger, game.events[9])}
    return Case(packed(game), game.house.policy(), NOT_PROVEN, "V11", receipts=notes)


@case
def the_log_has_another_game() -> Case:
    game = custodial().finish()
    return Case(packed(game, another_die(game)), game.house.policy(), REFUTED, "V6", "server")


@case
def the_log_has_another_game_and_anybody_packed_it() -> Case:
    game = custodial().finish()
    return Case(packed(game, another_die(game), signed=False), game.house.policy(), NOT_PROVEN, "V6")


@case
def the_tail_cut_off() -> Case:
    game = custodial().finish()
    return Case(packed(game, game.events[:-5]), game.house.policy(), REFUTED, "V6", "server")


@case
def two_roots_for_one_size() -> Case:
    game = custodial().finish()
    size = len(game.house.entries)
    other = Continuation(game.open_size, (), game.house.checkpoint(size, bytes(32))).write()
    data = packed(game, consistency__txt=other, signed=False)
    return Case(data, game.house.policy(), REFUTED, "V5", "server", says="two roots")


@case
def a_seat_that_saw_another_log() -> Case:
    game = Game(House(), "split", (1, 2)).create(2, stalemate_rounds=4)
    game.sit(1, cp=(len(game.house.entries), bytes(32))).sit(2).start().wander(30).finish()
    return Case(packed(game), game.house.policy(), NOT_PROVEN, "V5", says="a seat saw a log")


@case
def a_seat_that_saw_a_log_without_the_game() -> Case:
    game = Game(House(), "early", (1, 2)).create(2, stalemate_rounds=4)
    game.sit(1, cp=(game.opened, game.house.root(game.opened))).sit(2).start().wander(30).finish()
    return Case(packed(game), game.house.policy(), REFUTED, "V6", "server", says="without this game")


@case
def a_seat_that_saw_the_log_before_this_one() -> Case:
    """The operator has begun a new log since: that convicts nobody."""
    game = Game(House(), "rotated", (1, 2)).create(2, stalemate_rounds=4)
    game.sit(1, cp=(3, secret("root of the old log"))).sit(2).start().wander(30).finish()
    return Case(packed(game), game.house.policy(), NOT_PROVEN, "V5")


@case
def a_turn_claimed_too_early() -> Case:
    game = Game(House(), "claimed").create(2, turn_seconds=60, stalemate_rounds=4).sit(1).sit(2).start().wander(20)
    draft = game.draft(10)
    draft.time_out(game.position.to_act[0])
    game.keep(draft).finish()
    return Case(packed(game), game.house.policy(), REFUTED, "V13", "server", says="turn_seconds")


@case
def an_end_that_could_not_be_signed_in_time() -> Case:
    game = own("own").wander(10**6, keen=False).close("finished", 59)
    return Case(packed(game), game.house.policy(), REFUTED, "V13", "server", says="signoff_seconds")


# -- spoiled: by anybody -----------------------------------------------------------------------------------------------


@case
def no_zip_at_all() -> Case:
    return Case(b"no zip", House().policy(), NOT_PROVEN, "V0")


@case
def a_file_changed_on_the_way() -> Case:
    game = own("own").finish()
    data = packed(game)
    assert data.count(b"Audit bundle of game") == 1
    spoiled = bundle.zipped({**bundle.Bundle.read(data).files, "README.txt": b"trust me"})
    return Case(spoiled, game.house.policy(), NOT_PROVEN, "V0", says="README.txt")


@case
def a_length_that_runs_over_the_end() -> Case:
    game = custodial().finish()
    files = dict(bundle.Bundle.read(packed(game, signed=False)).files)
    del files["manifest.json"]
    at = len(files["events.bin"]) - len(game.events[-1].data)
    files["events.bin"] = files["events.bin"][: at - 1] + b"\xff" + files["events.bin"][at:]
    return Case(bundle.write(game.game_id, ORIGIN, [], files), game.house.policy(), NOT_PROVEN, "V2")


@case
def a_manifest_of_another_key() -> Case:
    game = own("own").finish()
    files = dict(bundle.Bundle.read(packed(game)).files)
    stranger = Signer.of(ORIGIN + "/receipts", secret("stranger"))
    text = bundle.statement(ORIGIN, game.game_id, files["manifest.json"])
    files["manifest.note"] = sign_note(text, stranger)
    return Case(bundle.zipped(files), game.house.policy(), VERIFIED_WITH_LIMITS, limits=("unsigned-export",))


@case
def a_policy_that_is_none() -> Case:
    return Case(packed(own("own").finish()), "log nobody\n", UNDETERMINED, "V1")


@case
def a_policy_of_another_log() -> Case:
    other = Signer.of("elsewhere.example/log", secret("log"))
    return Case(packed(own("own").finish()), Policy((other.verifier,)).text, UNDETERMINED, "V1")


@case
def a_policy_of_another_key() -> Case:
    other = Signer.of(ORIGIN, secret("another log"))
    return Case(packed(own("own").finish()), Policy((other.verifier,)).text, UNDETERMINED, "V4")


@case
def a_checkpoint_badly_signed() -> Case:
    game = custodial().finish()
    proof = bytearray(evidence(game)["close.tlog-proof"])
    at = proof.rindex(b"play.example/gamelog ") + 40
    proof[at] = ord("A") if proof[at] != ord("A") else ord("B")
    return Case(packed(game, **{"close.tlog-proof": bytes(proof)}), game.house.policy(), NOT_PROVEN, "V4")


@case
def a_proof_that_leads_nowhere() -> Case:
    game = custodial().finish()
    proof = Inclusion.read(evidence(game)["close.tlog-proof"])
    other = Inclusion(proof.index, (bytes(32), *proof.hashes[1:]), proof.checkpoint).write()
    return Case(packed(game, **{"close.tlog-proof": other}), game.house.policy(), NOT_PROVEN, "V5")


def main() -> None:
    folder = Path(sys.argv[1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, build in CASES.items():
        made = build()
        (folder / f"{name}.audit.zip").write_bytes(made.data)
        if made.policy is not None:
            (folder / f"{name}.policy").write_text(made.policy)
        for kind, notes in (("receipt", made.receipts), ("request", made.requests)):
            for number, note in enumerate(notes.values()):
                (folder / f"{name}.{kind}.{number}").write_bytes(note)
        expected = made.without_rules or (made.verdict, made.code)
        (folder / f"{name}.json").write_text(json.dumps({"verdict": expected[0], "code": expected[1]}))


if __name__ == "__main__":
    main()
