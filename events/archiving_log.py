"""The log as its readers see it: the streams of games on Redis, and behind them the archive of those that were let go.

Whoever reads, replays, audits or exports does not know where the bytes lie. A game is let go by one script, once its
file was read back and hashes to the head, and it is brought back by one that fills the stream before it says so. Of a
file that is missing or damaged comes `Damage`, never an event.
"""

from collections.abc import Callable, Sequence
from typing import Final

import redis

from events.archive import Archive, BadArchive, NotPackable, unpack
from events.case_bodies import opens_case
from events.event import Event
from events.log import (
    PAGE_LIMIT,
    AlreadyDone,
    Appended,
    Archived,
    Damage,
    Damaged,
    Head,
    Page,
    Unavailable,
    field_of,
    idempotency_field,
)
from events.redis_log import Keys, RedisLog, _known, _Script

_PORTION: Final = 500

# KEYS stream, meta, idem; ARGV version, head, bytes of the last event
_LET_GO: Final = """
local meta = redis.call('HMGET', KEYS[2], 'version', 'head', 'archived')
if meta[3] then return 'archived' end
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if meta[1] ~= ARGV[1] or meta[2] ~= ARGV[2] or redis.call('XLEN', KEYS[1]) ~= tonumber(ARGV[1])
  or not last or last[1] ~= ARGV[1] .. '-0' or #last[2] ~= 2 or last[2][2] ~= ARGV[3] then
  return 'moved'
end
redis.call('HLEN', KEYS[3])
redis.call('HSET', KEYS[2], 'archived', 1)
redis.call('UNLINK', KEYS[1], KEYS[3])
return 'ok'
"""

# KEYS stream, meta, idem; ARGV version, head, number of the first event, then for each event: bytes, field of idem.
# The first portion clears away what somebody left who died; the last one lets the stream count again.
_BRING_BACK: Final = """
local meta = redis.call('HMGET', KEYS[2], 'version', 'head', 'archived')
if not meta[3] or meta[1] ~= ARGV[1] or meta[2] ~= ARGV[2] then return 'moved' end
local seq = tonumber(ARGV[3])
if seq == 1 then redis.call('UNLINK', KEYS[1], KEYS[3]) end
if redis.call('XLEN', KEYS[1]) ~= seq - 1 then return 'moved' end
for i = 4, #ARGV, 2 do
  redis.call('XADD', KEYS[1], string.format('%d-0', seq), 'e', ARGV[i])
  if ARGV[i + 1] ~= '' then redis.call('HSETNX', KEYS[3], ARGV[i + 1], string.format('%d', seq)) end
  seq = seq + 1
end
if seq - 1 == tonumber(ARGV[1]) then redis.call('HDEL', KEYS[2], 'archived') end
return 'ok'
"""

# KEYS stream, meta, idem, feed; ARGV version, head, game id. Only where nothing is known of the game.
_ADOPT: Final = """
if redis.call('EXISTS', KEYS[1], KEYS[2], KEYS[3]) > 0 then return 'moved' end
redis.call('XLEN', KEYS[4])
redis.call('HSET', KEYS[2], 'version', ARGV[1], 'head', ARGV[2], 'archived', 1)
redis.call('XADD', KEYS[4], '*', 'g', ARGV[3], 'v', ARGV[1], 'n', ARGV[1])
return 'ok'
"""


class CannotArchive(Exception):
    """The game is not to be let go, and why; its stream is as it was."""


class CannotRestore(Exception):
    """The game cannot be brought back, and why; what is known of it is as it was."""


class ArchivingLog(RedisLog):
    """An `events.log.EventLog` whose closed games may lie in an archive."""

    def __init__(
        self,
        client: redis.Redis,
        archive: Archive,
        replicas: int = 0,
        at: Callable[[str], None] = lambda step: None,
    ) -> None:
        """``at`` is told each step between Redis and the archive; a test may raise there what a crash would."""
        super().__init__(client, replicas)
        self.archive, self._at = archive, at
        self._let_go = _Script(self._wire, _LET_GO)
        self._bring_back = _Script(self._wire, _BRING_BACK)
        self._adopt = _Script(self._wire, _ADOPT)

    # -- reading -----------------------------------------------------------------------------------------------------

    def append(self, events: Sequence[Event]) -> Appended | AlreadyDone:
        """See `events.log.EventLog.append`; a key that an archived game answered is answered again."""
        try:
            return super().append(events)
        except Archived as archived:
            fields = {field for event in events if (field := field_of(event)) is not None}
            for event in self._kept(events[0].game_id, archived) if fields else ():
                if field_of(event) in fields:
                    return AlreadyDone(event)
            raise

    def read(self, game_id: bytes, after: int = 0, limit: int = PAGE_LIMIT) -> Page:
        """See `events.log.EventLog.read`; never raises `Archived`."""
        try:
            return super().read(game_id, after, limit)
        except Archived as archived:
            try:
                events = self._kept(game_id, archived)
            except Damaged as damaged:
                lost = Damage(f"{after + 1}-0", damaged.damage.reason)
                return Page((lost,) if after < archived.version else (), None)
            items = tuple(events[after : after + limit])
            return Page(items, after + limit if after + limit < len(events) else None)

    def answered(self, game_id: bytes, seat: int, k: bytes) -> int | None:
        """See `events.log.EventLog.answered`.

        :raises Damaged: the game is archived, and its file is missing or damaged.
        """
        keys, field = Keys.of(game_id), idempotency_field(seat, k)
        seq, meta = self._call(keys, ("HGET", keys.idem, field), ("HMGET", keys.meta, "version", "head", "archived"))
        if seq is not None:
            return int(seq)
        known = _known(game_id, meta)
        if known is None or not known.archived:
            return None
        events = self._kept(game_id, Archived(known.version, known.head))
        return next((event.seq for event in events if field_of(event) == field), None)

    def rebuild(self, game_id: bytes) -> Head:
        """See `events.log.EventLog.rebuild`; of an archived game only its file is looked through."""
        keys = Keys.of(game_id)
        (meta,) = self._call(keys, ("HMGET", keys.meta, "version", "head", "archived"))
        known = _known(game_id, meta)
        if known is None or not known.archived:
            return super().rebuild(game_id)
        self._kept(game_id, Archived(known.version, known.head))
        return known

    def _kept(self, game_id: bytes, archived: Archived) -> list[Event]:
        """The events of an archived game.

        :raises Damaged: its file is missing or damaged.
        :raises Unavailable: the archive is not there.
        """
        try:
            events = self.archive.get(game_id)
        except (LookupError, BadArchive) as error:
            raise Damaged(Damage("1-0", f"the events are in the archive, and {_of(error)}")) from error
        except OSError as error:
            raise Unavailable(f"the archive cannot be read: {error}") from error
        if (len(events), events[-1].hash) != (archived.version, archived.head):
            raise Damaged(Damage("1-0", "the events are in the archive, and its file ends in another head"))
        return events

    # -- letting go and bringing back --------------------------------------------------------------------------------

    def let_go(self, game_id: bytes) -> bool:
        """Move a closed game to the archive. False: it is there already.

        :raises CannotArchive: it is not a closed game, its record is damaged, or it changed meanwhile.
        :raises OSError: the archive cannot be written.
        :raises Unavailable: the database does not answer. Whatever was done, the game is whole in one of the two.
        """
        known = self.head(game_id)
        if known.archived:
            return False
        if (events := self._stream(game_id)) is None:
            return False
        last = events[-1] if events else None
        if last is None or (last.seq, last.hash) != (known.version, known.head):
            raise CannotArchive("the stream does not end in its head")
        if opens_case(events[0]) or events[0].kind != "create" or last.kind != "close":
            raise CannotArchive("only closed games are archived")
        self._at("read")
        try:
            self.archive.put(events)
        except (NotPackable, BadArchive) as error:
            raise CannotArchive(str(error)) from error
        self._at("archived")
        keys = Keys.of(game_id)
        answer, *_ = self._let_go((keys.stream, keys.meta, keys.idem), (last.seq, last.hash, last.data))
        if answer == b"moved":
            raise CannotArchive("the stream changed while it was archived")
        self._at("let go")
        return bool(answer == b"ok")

    def bring_back(self, game_id: bytes) -> bool:
        """Move an archived game back into its stream; its file stays. False: the game is not archived.

        :raises CannotRestore: its file is missing or damaged, or somebody else brings it back.
        :raises Unavailable: the database or the archive does not answer. The game stays archived until it is whole.
        """
        known = self.head(game_id)
        if not known.archived:
            return False
        try:
            events = self._kept(game_id, Archived(known.version, known.head))
        except Damaged as error:
            raise CannotRestore(error.damage.reason) from error
        keys = Keys.of(game_id)
        for start in range(0, len(events), _PORTION):
            arguments: list[str | bytes | int] = [known.version, known.head, start + 1]
            for event in events[start : start + _PORTION]:
                arguments += [event.data, field_of(event) or b""]
            answer, *_ = self._bring_back((keys.stream, keys.meta, keys.idem), arguments)
            if answer != b"ok":
                raise CannotRestore("somebody else brings it back")
            self._at(f"brought back {min(start + _PORTION, len(events))}")
        return True

    def adopt(self, game_id: bytes, data: bytes) -> None:
        """Take a file as the archived game that it holds, where nothing is known of it.

        :raises CannotRestore: something is, or the file is damaged.
        :raises OSError: the archive cannot be written.
        """
        keys = Keys.of(game_id)
        (known,) = self._call(keys, ("EXISTS", keys.stream, keys.meta, keys.idem))
        if known:
            raise CannotRestore("the game is there already")
        try:
            if unpack(data)[0].game_id != game_id:
                raise CannotRestore("the file is of another game")
            header = self.archive.put_bytes(data)
        except BadArchive as error:
            raise CannotRestore(str(error)) from error
        names = (keys.stream, keys.meta, keys.idem, keys.feed)
        answer, *_ = self._adopt(names, (header.version, header.head, game_id))
        if answer != b"ok":
            raise CannotRestore("the game is there already")

    def _stream(self, game_id: bytes) -> list[Event] | None:
        """All events of a stream; None: somebody else has just archived it.

        :raises CannotArchive: the record is damaged.
        """
        events: list[Event] = []
        position: int | None = 0
        while position is not None:
            try:
                page = super().read(game_id, position)
            except Archived:
                return None
            if page.damage:
                raise CannotArchive(f"{page.damage[0].place}: {page.damage[0].reason}")
            events += page.events
            position = page.next
        return events


def _of(error: Exception) -> str:
    return str(error.args[0]) if error.args else type(error).__name__
