"""The log on Redis: one stream a game, one script that appends (docs/event-format.md, 'Append').

The stream is the truth. Beside it stand ``meta`` (version and head), ``idem`` (which key was answered by which event)
and the shard's ``feed``; all are written by the same script, and meta and idem can be rebuilt from the stream.
"""

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Any, Final

import msgspec
import redis

from events.event import Event, Malformed, event_hash, genesis
from events.log import (
    BLOCK_LIMIT_MS,
    MISSED_LIMIT,
    PAGE_LIMIT,
    SHARDS,
    AlreadyDone,
    Appended,
    Archived,
    Conflict,
    Damage,
    Damaged,
    FeedLine,
    FeedPage,
    Head,
    OutcomeUnknown,
    Page,
    Unavailable,
    field_of,
    idempotency_field,
)
from events.redis_client import Command, Wire

COPY_LIMIT_MS: Final = 1_000
"""Longest that an append waits for its replicas, in milliseconds."""
_FIELD = b"e"
_FEED_PAGE = 1_000
_LAST_PART = 2**64 - 1

# KEYS stream, meta, idem, feed
# ARGV 1 expected version, 2 expected head, 3 new version, 4 new head, 5 game id, 6 number of events,
#      7 id of the first event missed in a conflict, 8 how many of them, then for each event: seq, bytes, field of idem
# A script that fails keeps what it wrote: so every check, also of the keys' types, stands before the first write.
APPEND: Final = """
local meta = redis.call('HMGET', KEYS[2], 'version', 'head', 'archived')
if meta[3] then return {'archived', meta[1] or '', meta[2] or ''} end
for i = 9, #ARGV, 3 do
  if ARGV[i + 2] ~= '' then
    local seq = redis.call('HGET', KEYS[3], ARGV[i + 2])
    if seq then return {'done', seq, redis.call('XRANGE', KEYS[1], seq .. '-0', seq .. '-0')} end
  end
end
local version = meta[1] or '0'
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if (last and last[1] or '0-0') ~= version .. '-0' or redis.call('XLEN', KEYS[1]) ~= tonumber(version)
  or (last and #(meta[2] or '') ~= 32) then
  return {'rebuild'}
end
if version ~= ARGV[1] or (last and meta[2] ~= ARGV[2]) then
  return {'conflict', version, meta[2] or '', redis.call('XRANGE', KEYS[1], ARGV[7], '+', 'COUNT', ARGV[8])}
end
redis.call('HLEN', KEYS[3])
redis.call('XLEN', KEYS[4])
for i = 9, #ARGV, 3 do redis.call('XADD', KEYS[1], ARGV[i] .. '-0', 'e', ARGV[i + 1]) end
redis.call('HSET', KEYS[2], 'version', ARGV[3], 'head', ARGV[4])
for i = 9, #ARGV, 3 do
  if ARGV[i + 2] ~= '' then redis.call('HSET', KEYS[3], ARGV[i + 2], ARGV[i]) end
end
redis.call('XADD', KEYS[4], '*', 'g', ARGV[5], 'v', ARGV[3], 'n', ARGV[6])
return {'ok'}
"""

# KEYS stream, meta, idem; ARGV version, head, then fields of idem and seqs. Writes only if the stream still ends there.
REBUILD: Final = """
if redis.call('HEXISTS', KEYS[2], 'archived') == 1 then return 0 end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if (last and last[1] or '0-0') ~= ARGV[1] .. '-0' then return 0 end
redis.call('DEL', KEYS[2], KEYS[3])
if last then redis.call('HSET', KEYS[2], 'version', ARGV[1], 'head', ARGV[2]) end
for i = 3, #ARGV, 2 do redis.call('HSET', KEYS[3], ARGV[i], ARGV[i + 1]) end
return 1
"""


class Keys(msgspec.Struct, frozen=True):
    """The keys of one game, all in one hash slot."""

    stream: str
    meta: str
    idem: str
    feed: str

    @classmethod
    def of(cls, game_id: bytes) -> "Keys":
        name, shard = game_id.hex(), shard_of(game_id)
        return cls(f"{shard}:ev:{name}", f"{shard}:meta:{name}", f"{shard}:idem:{name}", feed_key(name[0]))


def shard_of(some_id: bytes) -> str:
    """The hash tag of every key of a game or case: all of them are in one slot of a cluster."""
    return "{s" + some_id.hex()[0] + "}"


def feed_key(shard: str) -> str:
    """The feed of a shard."""
    return "{s" + shard + "}:feed"


class RedisLog:
    """An `events.log.EventLog` on one Redis or Valkey server, 7.0 or newer."""

    def __init__(self, client: redis.Redis, replicas: int = 0) -> None:
        """``replicas``: how many of them must have an append before it is acknowledged."""
        self._wire, self._replicas = Wire(client), replicas
        self._append = _Script(self._wire, APPEND)
        self._rebuild = _Script(self._wire, REBUILD)

    def append(self, events: Sequence[Event]) -> Appended | AlreadyDone:
        """See `events.log.EventLog.append`."""
        _check_chain(events)
        first, last = events[0], events[-1]
        keys = Keys.of(first.game_id)
        arguments: list[str | bytes | int] = [
            first.seq - 1, first.prev, last.seq, last.hash, first.game_id, len(events), f"{first.seq}-0", MISSED_LIMIT,
        ]  # fmt: skip
        fields = [field_of(event) for event in events]
        for event, field in zip(events, fields, strict=True):
            arguments += [event.seq, event.data, field or b""]
        for _ in range(3):  # again after a rebuild only; more than once if others rebuild or write at the same time
            try:
                (answer, *details), *copies = self._append(
                    (keys.stream, keys.meta, keys.idem, keys.feed), arguments, *self._copied()
                )
            except redis.ResponseError as error:
                raise _damaged(keys, error) from error
            if answer == b"ok":
                self._enough(copies)
                return Appended(last.seq, last.hash)
            if answer == b"done":
                done = _answering(*details)
                self._copy_again(keys, done)
                return AlreadyDone(done)
            if answer == b"archived":
                raise Archived(int(details[0] or 0), details[1])
            if answer == b"conflict":
                return self._missed(first, fields, *details)
            self.rebuild(first.game_id)
        raise Unavailable("the game is being rebuilt")

    def read(self, game_id: bytes, after: int = 0, limit: int = PAGE_LIMIT) -> Page:
        """See `events.log.EventLog.read`."""
        if after < 0 or limit < 1:
            raise ValueError(f"after {after} and limit {limit}: at least 0 and 1")
        keys = Keys.of(game_id)
        # The head is asked for first: an append between the commands then only adds to what it speaks of. The entry
        # before the page is read for its hash, the one after it to know whether there is a next page.
        meta, before, entries = self._call(
            keys,
            ("HMGET", keys.meta, "version", "head", "archived"),
            ("XRANGE", keys.stream, f"{after}-0", f"{after}-0"),
            ("XRANGE", keys.stream, f"({after}-{_LAST_PART}" if after else "-", "+", "COUNT", limit + 1),
        )
        known = _known(game_id, meta)
        if known is not None and known.archived:
            raise Archived(known.version, known.head)
        walk = _Walk(game_id, after, known, before)
        if len(entries) <= limit:
            return Page(walk.items(entries, end=True), None)
        last = _seq(entries[limit - 1])
        if _seq(entries[limit]) == last:  # entries that are none of the log's may share a number: all on one page
            bounds = (b"(" + entries[limit - 1][0], f"{last}-{_LAST_PART}")
            (entries[limit:],) = self._call(keys, ("XRANGE", keys.stream, *bounds))
        else:
            del entries[limit:]
        return Page(walk.items(entries), last)

    def head(self, game_id: bytes) -> Head:
        """See `events.log.EventLog.head`."""
        keys = Keys.of(game_id)
        meta, length = self._call(keys, ("HMGET", keys.meta, "version", "head", "archived"), ("XLEN", keys.stream))
        known = _known(game_id, meta)
        if known is not None:
            return known
        return self.rebuild(game_id) if length else Head(0, genesis(game_id))

    def answered(self, game_id: bytes, seat: int, k: bytes) -> int | None:
        """See `events.log.EventLog.answered`."""
        keys = Keys.of(game_id)
        (seq,) = self._call(keys, ("HGET", keys.idem, idempotency_field(seat, k)))
        return None if seq is None else int(seq)

    def rebuild(self, game_id: bytes) -> Head:
        """See `events.log.EventLog.rebuild`."""
        keys = Keys.of(game_id)
        for _ in range(3):
            version, head, index = 0, genesis(game_id), dict[bytes, int]()
            position: int | None = 0
            while position is not None:
                page = self.read(game_id, position)
                for item in page.items:
                    if isinstance(item, Damage):
                        raise Damaged(item)
                    version, head = item.seq, item.hash
                    if (field := field_of(item)) is not None:
                        index.setdefault(field, item.seq)
                position = page.next
            arguments: list[str | bytes | int] = [version, head]
            for field, seq in index.items():
                arguments += [field, seq]
            (written,) = self._rebuild((keys.stream, keys.meta, keys.idem), arguments)
            if written:  # 0: somebody wrote meanwhile
                return Head(version, head)
        raise Unavailable("the game is written to while it is being rebuilt")

    def games(self) -> Iterator[bytes]:
        """See `events.log.EventLog.games`."""
        seen: set[bytes] = set()
        for names in self._wire.scan("{s?}:*"):
            for name in names:
                parts = name.split(b":")
                if len(parts) == 3 and parts[1] in (b"ev", b"meta") and len(parts[2]) == 32:
                    game_id = bytes.fromhex(parts[2].decode())
                    if game_id not in seen:
                        seen.add(game_id)
                        yield game_id

    def feed_ends(self) -> dict[str, str]:
        """See `events.log.EventLog.feed_ends`."""
        commands: list[Command] = [("XREVRANGE", feed_key(shard), "+", "-", "COUNT", 1) for shard in SHARDS]
        lasts = self._wire.call(*commands)
        return {shard: last[0][0].decode() if last else "0" for shard, last in zip(SHARDS, lasts, strict=True)}

    def follow(self, cursors: Mapping[str, str], block_ms: int = BLOCK_LIMIT_MS) -> FeedPage:
        """See `events.log.EventLog.follow`."""
        if not 0 <= block_ms <= BLOCK_LIMIT_MS:
            raise ValueError(f"block_ms {block_ms} is not between 0 and {BLOCK_LIMIT_MS}")
        block: Command = ("BLOCK", block_ms) if block_ms else ()  # to Redis 0 means for ever
        shards = {feed_key(shard).encode(): shard for shard in cursors}
        (reply,) = self._wire.call(("XREAD", "COUNT", _FEED_PAGE, *block, "STREAMS", *shards, *cursors.values()))
        lines: list[FeedLine] = []
        moved = dict(cursors)
        for name, entries in reply or ():
            moved[shards[name]] = entries[-1][0].decode()
            lines += filter(None, (_feed_line(fields) for _, fields in entries))
        return FeedPage(tuple(lines), moved)

    def _missed(
        self, first: Event, fields: list[bytes | None], version: bytes, head: bytes, entries: list[Any]
    ) -> AlreadyDone:
        missed = _Walk(first.game_id, first.seq - 1, None).items(entries)
        for item in missed:  # the index of keys may have been lost: the events themselves know
            if isinstance(item, Event) and (field := field_of(item)) is not None and field in fields:
                self._copy_again(Keys.of(first.game_id), item)
                return AlreadyDone(item)
        raise Conflict(int(version), head or genesis(first.game_id), missed)

    def _copied(self) -> tuple[Command, ...]:
        """Asks how many replicas have what was written before it on the same connection."""
        return (("WAIT", self._replicas, COPY_LIMIT_MS),) if self._replicas else ()

    def _enough(self, copies: Sequence[Any]) -> None:
        """
        :raises OutcomeUnknown: fewer replicas have the append than must: it would not outlive this server.
        """
        if copies and copies[0] < self._replicas:
            raise OutcomeUnknown(f"{copies[0]} of {self._replicas} replicas have the append")

    def _copy_again(self, keys: Keys, done: Event) -> None:
        """Before an old answer is given again: another connection wrote it, so WAIT needs something to follow."""
        field = field_of(done)
        if self._replicas and field is not None:
            _, *copies = self._call(keys, ("HSET", keys.idem, field, done.seq), *self._copied())
            self._enough(copies)

    def _call(self, keys: Keys, *commands: Command) -> list[Any]:
        try:
            return self._wire.call(*commands)
        except redis.ResponseError as error:
            raise _damaged(keys, error) from error


class _Script:
    def __init__(self, wire: Wire, source: str) -> None:
        self._wire, self._source = wire, source
        self._sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()

    def __call__(self, keys: Sequence[str], arguments: Sequence[str | bytes | int], *after: Command) -> list[Any]:
        """The script's reply, and those of the commands sent after it."""
        try:
            return self._wire.call(("EVALSHA", self._sha, len(keys), *keys, *arguments), *after)
        except redis.exceptions.NoScriptError:
            return self._wire.call(("EVAL", self._source, len(keys), *keys, *arguments), *after)


class _Walk:
    """Goes through the entries of one game in order and says what each is."""

    def __init__(self, game_id: bytes, after: int, known: Head | None, before: Sequence[Any] = ()) -> None:
        self._game_id, self._known = game_id, known
        self._expected = after + 1
        self._prev = genesis(game_id) if after == 0 else None  # None: not known, so not compared
        if before and (data := _data(before[0])) is not None:
            self._prev = event_hash(data)

    def items(self, entries: Sequence[Any], *, end: bool = False) -> tuple[Event | Damage, ...]:
        """The entries as events and damage; ``end``: the stream has no more."""
        items: list[Event | Damage] = []
        for entry in entries:
            items += self._item(entry)
        if end and self._known is not None and self._known.version >= self._expected:
            items.append(self._gap(self._known.version))
        return tuple(items)

    def _item(self, entry: Any) -> Iterator[Event | Damage]:
        place = entry[0].decode()
        seq, _, part = place.partition("-")
        seq = int(seq)
        data = _data(entry)
        if part != "0" or seq < self._expected or (seq > self._expected and self._foreign(seq, data)):
            yield Damage(place, "the entry is none of the log's", data)
            return
        if seq > self._expected:
            yield self._gap(seq - 1)
        self._expected, prev, self._prev = seq + 1, self._prev, None
        if data is None:
            yield Damage(place, "the entry is not one field e")
            return
        try:
            event = Event.read(data)
        except Malformed as error:
            yield Damage(place, f"not an event: {error}", data)
            return
        if event.game_id != self._game_id:
            yield Damage(place, f"an event of game {event.game_id.hex()}", data)
            return
        if event.seq != seq:
            yield Damage(place, f"the event says that it is number {event.seq}", data)
            return
        if prev is not None and event.prev != prev:
            yield Damage(place, "does not follow from the event before it: prev is another hash", data)
        elif self._known is not None and seq == self._known.version and event.hash != self._known.head:
            yield Damage(place, "not the event that the log acknowledged: the head is another hash", data)
        self._prev = event.hash
        yield event

    def _foreign(self, seq: int, data: bytes | None) -> bool:
        """Is an entry that would leave a gap, and is past the head, something that the script never wrote?"""
        if self._known is not None and seq <= self._known.version:
            return False
        try:
            return data is None or Event.read(data).seq != seq
        except Malformed:
            return True

    def _gap(self, last: int) -> Damage:
        first, self._expected, self._prev = self._expected, last + 1, None
        which = f"event {first} is" if first == last else f"events {first} to {last} are"
        return Damage(f"{first}-0", f"{which} missing")


def _check_chain(events: Sequence[Event]) -> None:
    if not events:
        raise ValueError("no events to append")
    if events[0].seq == 1 and events[0].prev != genesis(events[0].game_id):
        raise ValueError("event 1 does not follow from the genesis hash")
    for before, event in pairwise(events):
        if (event.game_id, event.seq, event.prev) != (before.game_id, before.seq + 1, before.hash):
            raise ValueError(f"event {event.seq} does not follow from event {before.seq}")


def _answering(seq: bytes, entries: list[Any]) -> Event:
    place = f"{int(seq)}-0"
    data = _data(entries[0]) if entries else None
    if data is None:
        raise Damaged(Damage(place, "the event that answered this key is missing"))
    try:
        return Event.read(data)
    except Malformed as error:
        raise Damaged(Damage(place, f"not an event: {error}", data)) from error


def _damaged(keys: Keys, error: redis.ResponseError) -> Exception:
    """A key of the wrong type, or a stream whose last id is past its last entry, was written by somebody else."""
    if "WRONGTYPE" in str(error) or "equal or smaller" in str(error):
        return Damaged(Damage(keys.stream, str(error)))
    return error


def _known(game_id: bytes, meta: list[bytes | None]) -> Head | None:
    """What meta says, None if it says nothing sound."""
    version, head, archived = meta
    if version is None or head is None or not version.isdigit() or len(head) != 32:
        return None
    return Head(int(version), head, archived is not None)


def _data(entry: Any) -> bytes | None:
    fields = entry[1]
    return fields[1] if len(fields) == 2 and fields[0] == _FIELD else None


def _seq(entry: Any) -> int:
    return int(entry[0].partition(b"-")[0])


def _feed_line(fields: list[bytes]) -> FeedLine | None:
    """A line, None for what the script did not write: feeds wake readers up, they prove nothing."""
    values = dict(zip(fields[::2], fields[1::2], strict=False))
    game_id, version, count = values.get(b"g", b""), values.get(b"v", b""), values.get(b"n", b"")
    if len(game_id) != 16 or not version.isdigit() or not count.isdigit():
        return None
    return FeedLine(game_id, int(version) - int(count) + 1, int(version))
