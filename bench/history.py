"""The history checker: was every promise kept that the service made to its clients?

A game is a register to which events are appended. What each client saw (what it sent under which key, what it was
answered, what it read, what it was streamed) is held against the entries that the database has in the end. The
entries are walked here on their own account, and then given to `replay.audit` together with the receipts.
"""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Final, Literal

import msgspec

from events.event import Event, Malformed, genesis
from events.log import Damage, Head, idempotency_key
from replay.audit import FAIL, REFUTED, Trust, audit
from replay.position import EXACT
from replay.replay import Replay

Outcome = Literal["acknowledged", "refused", "unavailable", "unknown"]
"""What a client was told of one request: done; no; nothing was written; or nothing, or that nobody knows."""
TOLD_LIMIT: Final = 20
"""Most lines of one game."""


class Sent(msgspec.Struct, kw_only=True, frozen=True):
    """One request that writes, as often as it was sent: each time is one of these. Times are of one monotonic clock."""

    client: str
    game: bytes
    began: float
    ended: float
    outcome: Outcome
    code: str = ""
    """The problem's code, or what broke."""
    seat: int | None = None
    key: str | None = None
    """The idempotency key of an act."""
    seq: int | None = None
    hash: bytes = b""
    version: int | None = None
    head: bytes = b""
    again: bool = False
    """It was answered as one that had been done before."""
    receipt: str = ""


class Read(msgspec.Struct, kw_only=True, frozen=True):
    """A version that a client was shown, with the hash of its last event where that was said."""

    client: str
    game: bytes
    began: float
    ended: float
    version: int
    head: bytes = b""


class Watched(msgspec.Struct, kw_only=True):
    """What one watcher was streamed from version ``after`` on, over all its connections. ``over``: to the end."""

    client: str
    game: bytes
    after: int
    events: list[tuple[int, bytes]] = msgspec.field(default_factory=list)
    over: bool = False


class Stored(msgspec.Struct, frozen=True):
    """What the database has of a game: (place, bytes) of each entry in its order, and what stands beside them."""

    entries: Sequence[tuple[str, bytes]]
    version: int
    head: bytes


class Judgement(msgspec.Struct):
    """What was found. ``lines`` is empty where every promise was kept.

    Actions are counted, not requests: one that was sent four times under one key is one.
    """

    games: int = 0
    events: int = 0
    acknowledged: int = 0
    refused: Counter[str] = msgspec.field(default_factory=Counter)
    """Actions by the code of their last answer."""
    unknown: int = 0
    """Actions of which no client ever learned whether they were done."""
    unknown_done: int = 0
    lost: int = 0
    doubled: int = 0
    whole: int = 0
    """Games whose chain is whole, and whose record is EXACT and stands the audit."""
    streamed: int = 0
    lines: list[str] = msgspec.field(default_factory=list)

    @property
    def holds(self) -> bool:
        return not self.lines


def judge(
    seen: Iterable[Sent | Read | Watched], stored: Mapping[bytes, Stored], policy: str | None = None
) -> Judgement:
    """Hold what clients saw against what is stored. ``policy``: the text that names the key of receipts.

    Every game that a client saw must be stored; the keys at a game's seats must all be those of ``seen``.
    """
    result = Judgement()
    games: dict[bytes, _Game] = {game_id: _Game(game_id, one, result) for game_id, one in stored.items()}
    for one in seen:
        if one.game not in games:
            games[one.game] = _Game(one.game, Stored((), 0, genesis(one.game)), result)
        match one:
            case Sent():
                games[one.game].sent.append(one)
            case Read():
                games[one.game].reads.append(one)
            case Watched():
                games[one.game].watched.append(one)
    for game in games.values():
        game.judge(policy)
    return result


class _Game:
    def __init__(self, game_id: bytes, stored: Stored, result: Judgement) -> None:
        self._id, self._stored, self._result = game_id, stored, result
        self.sent: list[Sent] = []
        self.reads: list[Read] = []
        self.watched: list[Watched] = []
        self._events: dict[int, Event] = {}
        self._told = 0

    def judge(self, policy: str | None) -> None:
        self._result.games += 1
        before = self._told
        self._walk()
        self._audit(policy)
        if self._told == before:
            self._result.whole += 1
        self._promises()
        self._keys()
        self._order()
        for one in self.watched:
            self._stream(one)

    def _bad(self, line: str) -> None:
        self._told += 1
        if self._told <= TOLD_LIMIT:
            self._result.lines.append(f"game {self._id.hex()[:8]}: {line}")

    # -- what is stored ----------------------------------------------------------------------------------------------

    def _walk(self) -> None:
        """Versions are dense from 1, in order, and each entry holds the hash of the one before."""
        prev, time = genesis(self._id), 0
        for number, (place, data) in enumerate(self._stored.entries, 1):
            try:
                event = Event.read(data)
            except Malformed as error:
                self._bad(f"entry {place} is not an event: {error}")
                return
            if place != f"{number}-0" or event.seq != number:
                self._bad(f"entry {number} stands at {place} and says that it is event {event.seq}")
            if event.game_id != self._id:
                self._bad(f"entry {place} is of game {event.game_id.hex()[:8]}")
            if event.prev != prev:
                self._bad(f"the chain breaks at event {number}: it follows {_short(event.prev)}, not {_short(prev)}")
            if event.t_ms < time:
                self._bad(f"event {number} is {time - event.t_ms} ms older than the one before it")
            prev, time = event.hash, event.t_ms
            self._events[number] = event
        self._result.events += len(self._events)
        if (self._stored.version, self._stored.head) != (len(self._events), prev):
            ours = f"{len(self._events)} with {_short(prev)}"
            self._bad(f"it is said to be at {self._stored.version} with {_short(self._stored.head)}, and is at {ours}")

    def _audit(self, policy: str | None) -> None:
        """The verdict of the product's own audit, with the receipts that were given out."""
        items: list[Event | Damage] = []
        for place, data in self._stored.entries:
            try:
                items.append(Event.read(data))
            except Malformed as error:
                items.append(Damage(place, str(error), data))
        if not items:
            return
        grade = Replay(self._id, items).grade
        if grade.name != EXACT:
            self._bad(f"the record is {grade}")
        notes = {f"receipt {n}": one.receipt.encode() for n, one in enumerate(self.sent) if one.receipt}
        verdict = audit(
            self._id,
            items,
            Head(self._stored.version, self._stored.head),
            trust=Trust(policy=policy, receipts=notes if policy else {}, own=True),
        )
        failed = [check for check in verdict.checks if check.result == FAIL]
        for check in failed:
            self._bad(f"the audit: {check.id} {check.name} fails at event {check.event}: {check.detail}")
        if verdict.verdict == REFUTED and not failed:
            self._bad("the audit: REFUTED")

    # -- what was promised -------------------------------------------------------------------------------------------

    def _promises(self) -> None:
        """Every acknowledged version with its hash is there."""
        missing = set[int]()
        for one in self.sent:
            if one.outcome != "acknowledged":
                continue
            for number, digest in ((one.seq, one.hash), (one.version, one.head)):
                if number is None or (found := self._found(number, digest)) is None:
                    continue
                missing.add(number)
                self._bad(f"event {number} was acknowledged to {one.client} with {_short(digest)}, and {found}")
        self._result.lost += len(missing)

    def _found(self, number: int, digest: bytes) -> str | None:
        """What is there instead of an event; None: it is there."""
        if (event := self._events.get(number)) is None:
            return f"is not there: the log ends with {len(self._events)}"
        return None if not digest or event.hash == digest else f"the log has {_short(event.hash)}"

    def _keys(self) -> None:
        """No key is applied twice, and each as its client was told."""
        applied: dict[tuple[int, bytes], list[Event]] = defaultdict(list)
        for event in self._events.values():
            if event.seat is not None and isinstance(mark := event.body.get("k"), bytes):
                applied[event.seat, mark].append(event)
        asked: dict[tuple[int, bytes], list[Sent]] = defaultdict(list)
        for one in self.sent:
            if one.key is not None and one.seat is not None:
                asked[one.seat, idempotency_key(one.key)].append(one)
        for scope, events in applied.items():
            places = ", ".join(str(event.seq) for event in events)
            if len(events) > 1:
                self._result.doubled += 1
                self._bad(f"one key of seat {scope[0]} was applied {len(events)} times: events {places}")
            if scope not in asked:
                self._bad(f"event {places} of seat {scope[0]} has a key that no client sent")
        for scope, attempts in asked.items():
            self._key(sorted(attempts, key=lambda one: one.ended), applied.get(scope, []))

    def _key(self, attempts: Sequence[Sent], events: Sequence[Event]) -> None:
        result, first, last = self._result, attempts[0], attempts[-1]
        what = f"the act of {first.client} on seat {first.seat} with the key {first.key}"
        done = [one for one in attempts if one.outcome == "acknowledged"]
        perhaps = [one for one in attempts if one.outcome == "unknown"]
        refused = [one for one in attempts if one.outcome == "refused"]
        if done:
            result.acknowledged += 1
            if not events:
                self._bad(f"{what} was acknowledged as event {done[0].seq}, and its key is on no event")
            for one in done:
                if events and one.seq != events[0].seq:
                    self._bad(f"{what} was acknowledged as event {one.seq}, and its key is on event {events[0].seq}")
            fresh = [one for one in done if not one.again]
            if len(fresh) > 1:
                self._bad(f"{what} was answered {len(fresh)} times as if it had just been done")
            if not fresh and not perhaps and any(one.outcome == "unavailable" for one in attempts):
                self._bad(f"{what} was done by a request of which {last.client} was told that nothing was written")
        elif refused:
            result.refused[refused[-1].code] += 1
            if events:
                self._bad(f"{what} was refused with {refused[-1].code}, and is event {events[0].seq}")
        elif perhaps:
            result.unknown += 1
            result.unknown_done += bool(events)
        else:
            result.refused[last.code] += 1
            if events:
                self._bad(f"{what}: nothing was written, it was told ({last.code}), and it is event {events[0].seq}")

    def _order(self) -> None:
        """What a client is shown never goes back behind what it was told or shown before, nor is it another history."""
        by_client: dict[str, list[tuple[float, float, int, bytes, bool]]] = defaultdict(list)
        for read in self.reads:
            by_client[read.client].append((read.began, read.ended, read.version, read.head, True))
            if (found := self._found(read.version, read.head)) is not None and read.version > 0:
                self._bad(f"{read.client} was shown version {read.version} with {_short(read.head)}, and {found}")
        for one in self.sent:
            if one.outcome == "acknowledged" and one.version is not None:
                by_client[one.client].append((one.began, one.ended, one.version, one.head, False))
        for client, moments in by_client.items():
            known = sorted((ended, version) for _, ended, version, _, _ in moments)
            at, newest = 0, 0
            for began, _, version, _, is_read in sorted(moments):
                while at < len(known) and known[at][0] <= began:
                    newest = max(newest, known[at][1])
                    at += 1
                if is_read and version < newest:
                    self._bad(f"{client} was shown version {version} after it had been told of version {newest}")

    def _stream(self, one: Watched) -> None:
        """Each event once, in order, as it is stored; to the end, if the end was said."""
        self._result.streamed += len(one.events)
        expected = one.after + 1
        for number, digest in one.events:
            if number != expected:
                kind = "again" if number < expected else "too soon"
                self._bad(f"{one.client} was streamed event {number} {kind}: {expected} was next")
            if (found := self._found(number, digest)) is not None:
                self._bad(f"{one.client} was streamed event {number} with {_short(digest)}, and {found}")
            expected = number + 1
        if one.over and expected != len(self._events) + 1:
            self._bad(f"{one.client} was told that the stream is over at {expected - 1} of {len(self._events)} events")


def _short(digest: bytes) -> str:
    return digest.hex()[:12] or "nothing"
