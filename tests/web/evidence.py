"""Games of a made-up ruleset with everything that is signed about them: what both verifiers are given to judge.

Nothing here knows rules: the events are sealed by hand, so that they can be as wrong as a test wants them.
"""

from collections.abc import Mapping
from hashlib import sha256
from typing import Any, Self

from engine.chance import Committed
from events import codec, seeds
from events.event import Event, genesis
from events.notes import COSIGNATURE, Signer, cosign
from events.seat import SeatKey
from events.tlog import entries, merkle
from events.tlog.checkpoint import Checkpoint
from events.tlog.policy import Policy
from events.tlog.proof import Continuation, Inclusion
from replay import bundle

ORIGIN = "games.example/log"
LOG = Signer.of(ORIGIN, b"L" * 32)
RECEIPTS = Signer.of(f"{ORIGIN}/receipts", b"R" * 32)
WITNESS = Signer.of("witness.example", b"W" * 32, COSIGNATURE)
START_MS = 1_800_000_000_000
CHAIN = 12


def policy(quorum: str = "none", receipts: Signer | None = RECEIPTS, log: Signer = LOG) -> str:
    """Whom an auditor believes."""
    witnesses = {"w": Signer.parse(WITNESS.skey).verifier}
    return Policy((log.verifier,), witnesses, {}, quorum, None if receipts is None else receipts.verifier).text


class Game:
    """A game's events, one after the other; `change` seals another one than an honest server would."""

    def __init__(self, name: str = "game", chain_len: int = CHAIN) -> None:
        self.id = sha256(name.encode()).digest()[:16]
        self.chain = seeds.Chain(self.id, seeds.SERVER, sha256(b"tail" + name.encode()).digest(), chain_len)
        self.events: list[bytes] = []
        self.head, self.now_ms = genesis(self.id), START_MS
        self.keys: dict[int, SeatKey] = {}
        self.signed: dict[int, int] = {}
        self.links: dict[int, bytes] = {}
        self.commitments: dict[int, bytes] = {}
        self.j = self.revealed = 0
        self.mix = b""

    @property
    def version(self) -> int:
        return len(self.events)

    def add(self, kind: str, seat: int | None, body: Mapping[str, Any], seconds: float = 1) -> Self:
        """Seal the next event."""
        self.now_ms += int(seconds * 1000)
        event = Event.write(self.id, self.version + 1, self.head, self.now_ms, kind, seat, dict(body))
        self.events.append(event.data)
        self.head = event.hash
        return self

    def create(self, seats: int = 2, **changes: Any) -> Self:
        body = {
            "rules": "coin@1", "rules_hash": b"r" * 32, "seats": seats, "options": {"turn_seconds": 30},
            "visibility": "public", "watching": "open", "commit": self.chain.commitment,
            "chain_len": self.chain.length, "key_id": "k1", "build": "test",
        }  # fmt: skip
        return self.add("create", None, {**body, **changes})

    def join(self, seat: int, custody: str = "server", cp: tuple[int, bytes] | None = None, **changes: Any) -> Self:
        body: dict[str, Any] = {"player": bytes([seat]) * 16, "choice": {"side": "heads"}, "custody": custody}
        if custody == "self":
            key = self.keys[seat] = SeatKey(bytes([seat]) * 32, self.id, seat, self.version, self.chain.length)
            sealed = key.join(self.head, body["choice"], cp)
            body |= {"pk": key.public, "a": sealed.action.data, "g": sealed.signature}
            self.signed[seat], self.links[seat] = 1, sealed.action.r
        return self.add("join", seat, {**body, **changes})

    def sign(self, kind: str, seat: int, **how: Any) -> dict[str, Any]:
        """``a`` and ``g`` of the seat's next action."""
        number = self.signed[seat]
        self.signed[seat] = number + 1
        how = {"head_seq": self.version, "head": self.head, "pseq": number} | how
        sealed = self.keys[seat].sign(kind, **how)
        self.links[seat] = sealed.action.r
        return {"a": sealed.action.data, "g": sealed.signature}

    def lock(self) -> Self:
        self.commitments = dict(self.links)
        table = {"options": {"turn_seconds": 30}, "seats": [{"choice": {"side": "heads"}}]}
        return self.add("lock", None, {"setup": table})

    def reveal(self, seat: int) -> Self:
        return self.add("reveal", seat, self.sign("reveal", seat))

    def draws(self, *sides: int) -> list[list[Any]]:
        chance = Committed(lambda: seeds.blocks(self.mix))
        for number, n in enumerate(sides):
            if n > 6:
                chance.pick({f"card-{i}": 1 for i in range(n)}, f"pick-{number}")
            else:
                chance.die(n, f"die-{number}")
        return chance.draws

    def seeded(self, *sides: int, **changes: Any) -> Self:
        self.revealed = 1
        link = self.chain.link(1)
        owners = {seeds.SERVER: self.chain.commitment} | self.commitments
        self.mix = seeds.setup_mix(self.id, owners, {seeds.SERVER: link} | self.links)
        return self.add("seeded", None, {"x": [0, link, self.draws(*sides)], "f": b"f" * 8, **changes})

    def act(self, seat: int, *sides: int, **changes: Any) -> Self:
        signs = seat in self.keys
        how = self.sign("act", seat, name="toss", args={"bet": 1}) if signs else {"a": ["toss", {"bet": 1}]}
        body: dict[str, Any] = {**how, "f": b"f" * 8}
        link = self.links[seat] if signs else None
        server = self.chain.link(self.revealed + 1) if sides else None
        if signs or sides:
            self.j += 1
            self.mix = seeds.roll_mix(self.mix, self.j, seat, link, server)
        if server is not None:
            self.revealed += 1
            body["x"] = [self.j, server, self.draws(*sides)]
        return self.add("act", seat, {**body, **changes})

    def resign(self, seat: int) -> Self:
        how = self.sign("resign", seat) if seat in self.keys else {"a": ["resign", {}]}
        if seat in self.keys:
            self.j += 1
            self.mix = seeds.roll_mix(self.mix, self.j, seat, self.links[seat], None)
        return self.add("resign", seat, {**how, "f": b"f" * 8})

    def sign_off(self, seat: int, cp: tuple[int, bytes] | None = None) -> Self:
        how = self.sign("signoff", seat, cp=cp)
        self.j += 1
        self.mix = seeds.roll_mix(self.mix, self.j, seat, self.links[seat], None)
        return self.add("signoff", seat, how)

    def close(self, status: str = "finished", **changes: Any) -> Self:
        tail = self.chain.link(self.chain.length)
        return self.add("close", None, {"status": status, "tail": tail, "state_hash": b"s" * 32, **changes})


class GameLog:
    """A log of games in memory."""

    def __init__(self, witness: Signer | None = None) -> None:
        self.witness = witness
        self.entries: list[bytes] = []

    def add(self, *data: bytes) -> int:
        self.entries += data
        return len(self.entries)

    def others(self, count: int = 1) -> Self:
        """Other games are opened."""
        for _ in range(count):
            number = len(self.entries).to_bytes(32, "big")
            self.add(codec.encode(["open", 1, number[:16], number, None, None, START_MS]))
        return self

    def nodes(self, size: int) -> merkle.Nodes:
        leaves = [merkle.leaf_hash(entry) for entry in self.entries[:size]]

        def node(level: int, n: int) -> bytes:
            if not level:
                return leaves[n]
            return merkle.node_hash(node(level - 1, 2 * n), node(level - 1, 2 * n + 1))

        return node

    def seen(self, size: int | None = None) -> tuple[int, bytes]:
        """The checkpoint that a client sees."""
        at = len(self.entries) if size is None else size
        return at, merkle.root(at, self.nodes(at))

    def checkpoint(self, size: int) -> bytes:
        note = Checkpoint(ORIGIN, *self.seen(size)).sign(LOG)
        return note if self.witness is None else cosign(note, self.witness, 1_800_000_000)

    def inclusion(self, index: int, size: int) -> bytes:
        path = merkle.inclusion(index, size, self.nodes(size))
        return Inclusion(index, tuple(path), self.checkpoint(size)).write()

    def continuation(self, old: int, size: int) -> bytes:
        path = merkle.consistency(old, size, self.nodes(size))
        return Continuation(old, tuple(path), self.checkpoint(size)).write()


def open_entry(game: Game) -> bytes:
    return entries.Opened.of(Event.read(game.events[0])).write()


def close_entry(game: Game) -> bytes:
    return entries.Closed.of(Event.read(game.events[-1])).write()


class Case:
    """A game, the log, and the files of a bundle, which a test may spoil before it is zipped."""

    def __init__(
        self,
        name: str = "game",
        signing: tuple[int, ...] = (1, 2),
        chain_len: int = CHAIN,
        witness: Signer | None = None,
    ) -> None:
        self.game, self.log, self.signing = Game(name, chain_len), GameLog(witness=witness), signing
        self.opened_at = self.closed_at = self.opened_size = -1
        self.signer: Signer | None = RECEIPTS
        self.extra: dict[str, bytes] = {}
        self.seen: list[int] = []

    def open(self, seats: int = 2, before: int = 3, **changes: Any) -> Self:
        self.log.others(before)
        self.game.create(seats, **changes)
        self.opened_at = self.log.add(open_entry(self.game)) - 1
        self.opened_size = len(self.log.others(2).entries)
        return self

    def cp(self) -> tuple[int, bytes]:
        """What a client has seen of the log by now."""
        seen = self.log.seen()
        self.seen.append(seen[0])
        self.log.others()
        return seen

    def sit(self, *seats: int) -> Self:
        for seat in seats or (1, 2):
            self.game.join(seat, *(("self", self.cp()) if seat in self.signing else ()))
        return self

    def begin(self, *sides: int) -> Self:
        self.game.lock()
        for seat in self.signing:
            self.game.reveal(seat)
        self.game.seeded(*sides)
        return self

    def play(self) -> Self:
        self.open().sit().begin(2)
        self.game.act(1, 6, 20).act(2).act(1).act(2, 300, 2)
        return self

    def end(self) -> Self:
        for seat in self.signing:
            self.game.sign_off(seat, self.cp())
        self.game.close()
        return self.log_close()

    def log_close(self) -> Self:
        self.closed_at = self.log.add(close_entry(self.game)) - 1
        self.log.others(2)
        return self

    def files(self) -> dict[str, bytes]:
        """The evidence, as an honest server exports it."""
        size, files = len(self.log.entries), dict[str, bytes]()
        if self.opened_at >= 0:
            files["open.entry"] = self.log.entries[self.opened_at]
            files["open.tlog-proof"] = self.log.inclusion(self.opened_at, self.opened_size)
            files["consistency.txt"] = self.log.continuation(self.opened_size, size)
        if self.closed_at >= 0:
            files["close.entry"] = self.log.entries[self.closed_at]
            files["close.tlog-proof"] = self.log.inclusion(self.closed_at, size)
        for number, seen in enumerate(self.seen):
            files[f"gossip/{number:04}.txt"] = self.log.continuation(seen, size)
        return files | self.extra

    def zip(self) -> bytes:
        """The bundle."""
        return bundle.write(self.game.id, ORIGIN, self.game.events, self.files(), self.signer)
