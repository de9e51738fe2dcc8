"""The list of games: a projection of the feeds, which can be thrown away and built again (`annals reindex`).

Every key lies under the one tag ``{index}``. A row is written by a script only if it is of a later version than the
one that stands there, so several processes may bring the index up to date at the same time; whoever answers with a
list does so first, and so finds what it wrote itself. Lists are sorted sets of equal scores: a member begins with the
time of creation, so that a cursor, the last member shown, stays good for ever.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Final

import msgspec
import redis
import structlog
from msgspec import UNSET

from events.log import SHARDS, Archived, Damaged, EventLog
from events.redis_client import Wire
from replay.case import CLOSED, Case, Effective, effective
from service.disputes.casebook import Casebook, CaseNotFound
from service.positions import Game, NotFound, Positions

_CURSORS: Final = "{index}:cursors"
_KEY_IDS: Final = "{index}:key-ids"
_TO_ARCHIVE: Final = "to-archive"

# KEYS row; ARGV 1 version, 2 row, 3 member, then the lists that the game belongs to
_PUT: Final = """
local old = redis.call('HMGET', KEYS[1], 'version', 'lists')
if old[1] and tonumber(old[1]) >= tonumber(ARGV[1]) then return 0 end
local stays = {}
for i = 4, #ARGV do stays[ARGV[i]] = true end
if old[2] then
  for name in string.gmatch(old[2], '%S+') do
    if not stays[name] then redis.call('ZREM', '{index}:list:' .. name, ARGV[3]) end
  end
end
for i = 4, #ARGV do redis.call('ZADD', '{index}:list:' .. ARGV[i], 0, ARGV[3]) end
redis.call('HSET', KEYS[1], 'version', ARGV[1], 'row', ARGV[2], 'lists', table.concat(ARGV, ' ', 4))
return 1
"""

# KEYS cursors; ARGV shard, cursor, ... A cursor never moves back.
_MOVE: Final = """
local function after(a, b)
  local am, as = string.match(a, '^(%d+)-?(%d*)$')
  local bm, bs = string.match(b, '^(%d+)-?(%d*)$')
  am, as, bm, bs = tonumber(am), tonumber(as) or 0, tonumber(bm), tonumber(bs) or 0
  return am > bm or (am == bm and as > bs)
end
for i = 1, #ARGV, 2 do
  local old = redis.call('HGET', KEYS[1], ARGV[i])
  if not old or after(ARGV[i + 1], old) then redis.call('HSET', KEYS[1], ARGV[i], ARGV[i + 1]) end
end
return 1
"""


class Row(msgspec.Struct, frozen=True):
    """What a list shows of a game. Names are looked up when it is shown; ids are hex."""

    game_id: str
    ruleset: str
    status: str
    version: int
    head: str
    created_ms: int
    updated_ms: int
    visibility: str
    watching: str
    closed: bool
    seats: list["RowSeat"]
    to_act: list[int]
    outcome: dict[str, Any] | None
    forked_from: tuple[str, int] | None
    effective: "RowEffective | None" = None
    """Where a ruling made it another than what was recorded."""


class RowSeat(msgspec.Struct, frozen=True):
    """A seat in a list."""

    player_id: str | None
    bot: tuple[str, int] | None
    hero: str | None
    custody: str


class RowEffective(msgspec.Struct, frozen=True):
    """What counts of a game after what was ruled about it."""

    status: str
    outcome: dict[str, Any] | None
    case_id: str
    ruling: str
    resumed: str | None


class CaseRow(msgspec.Struct, frozen=True):
    """What a list shows of a case; ids are hex."""

    case_id: str
    game_id: str
    event: int
    state: str
    grade: str
    version: int
    created_ms: int
    updated_ms: int
    until_ms: int
    ruling: str | None


class CasePage(msgspec.Struct, frozen=True):
    """Cases, oldest first, and the cursor of the next page."""

    rows: list[CaseRow]
    next: str | None


class Page(msgspec.Struct, frozen=True):
    """Rows, newest game first, and the cursor of the next page."""

    rows: list[Row]
    next: str | None


class BadCursor(ValueError):
    """Not a cursor that a list gave out."""


_log = structlog.get_logger()
_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(Row).decode
_WALK: Final = 200


class Index:
    """The lists of games, in Redis."""

    def __init__(self, client: redis.Redis, log: EventLog, positions: Positions, cases: Casebook | None = None) -> None:
        self._wire, self._log, self._positions = Wire(client), log, positions
        self._cases = Casebook(client, log) if cases is None else cases

    # -- writing ---------------------------------------------------------------------------------------------------

    def catch_up(self) -> int:
        """Bring the lists up to date with the feeds. Answers with the number of games looked at."""
        done = 0
        cursors = self.cursors()
        while True:
            page = self._log.follow(cursors, block_ms=0)
            if not page.lines and page.cursors == cursors:
                return done
            for game_id in dict.fromkeys(line.game_id for line in page.lines):
                self.put_game(game_id)
                done += 1
            moved = {shard: cursor for shard, cursor in page.cursors.items() if cursors[shard] != cursor}
            self._script(_MOVE, [_CURSORS], [part for pair in moved.items() for part in pair])
            cursors = page.cursors

    def rebuild(self) -> Iterator[bytes]:
        """Throw the index away and build it from the log: each game's id once it is done."""
        ends = self._log.feed_ends()
        self.clear()
        for game_id in self._log.games():
            self.put_game(game_id)
            yield game_id
        self._script(_MOVE, [_CURSORS], [part for pair in ends.items() for part in pair])

    def clear(self) -> None:
        """Forget everything."""
        for names in self._wire.scan("{index}:*"):
            if names:
                self._wire.call(("DEL", *names))

    def put_game(self, game_id: bytes) -> None:
        """Write the row of one game as it stands."""
        try:
            game = self._positions.load(game_id)
        except NotFound:
            self._put_case(game_id)
            return
        except (Damaged, Archived) as error:  # its row stays as it was, and the lists of all others go on
            _log.error("game-not-listed", game_id=game_id.hex(), error=str(error))
            return
        cases = self._cases.of_game(game_id)
        if (row := row_of(game, cases)) is None:
            return
        create = game.position.create
        assert create is not None
        self._wire.call(("SADD", _KEY_IDS, create.key_id))
        lists = list(_lists(row, create.key_id))
        known = row.version + sum(case.version for case in cases)  # both only grow
        self._script(_PUT, [_row_key(row.game_id)], [known, _encode(row), _member(row), *lists])

    def _put_case(self, case_id: bytes) -> None:
        """Write the row of a case, and what it makes of its game's."""
        try:
            case = self._cases.load(case_id)
        except CaseNotFound:
            return  # a feed line is no proof
        except (Damaged, Archived) as error:
            _log.error("case-not-listed", case_id=case_id.hex(), error=str(error))
            return
        self._cases.enter(case)
        row = case_row_of(case)
        lists = [f"cases:{row.state}", *([] if row.state == CLOSED else ["cases:unclosed"])]
        self._script(_PUT, [_case_key(row.case_id)], [row.version, _encode(row), _case_member(row), *lists])
        if case.game_id is not None and case.game_id != case_id:
            try:
                self._positions.load(case.game_id)
            except (NotFound, Damaged, Archived):
                return
            self.put_game(case.game_id)

    # -- reading ---------------------------------------------------------------------------------------------------

    def games(
        self,
        *,
        status: str | None = None,
        ruleset: str | None = None,
        player: str | None = None,
        forked_from: str | None = None,
        to_act: bool = False,
        private: bool = False,
        limit: int = 20,
        cursor: str | None = None,
    ) -> Page:
        """A page of games: of everybody's public ones, or of one player's (``private``: all of them).

        ``to_act``: only those that wait for the player.

        :raises BadCursor: the cursor is none.
        """
        wanted = "playing" if to_act else status or "*"
        if player is not None:
            name = f"player:{player}:{wanted}"
        elif forked_from is not None:
            name = f"forks:{forked_from}"
        else:
            name = f"all:{wanted}:{ruleset or '*'}"
        rows, take = list[Row](), limit + 1
        bound = "+" if cursor is None else f"({_read_cursor(cursor)}"
        while True:
            (members,) = self._wire.call(("ZRANGE", _list_key(name), bound, "-", "BYLEX", "REV", "LIMIT", 0, take))
            if not members:
                return Page(rows, None)
            take = min(2 * take, _WALK)  # of the next page, where many are passed over
            found = self._rows(members)
            for member, row in zip(members, found, strict=True):
                bound = f"({member.decode()}"
                if row is None or not (private or row.visibility == "public"):
                    continue
                if status is not None and row.status != status:
                    continue
                if ruleset is not None and row.ruleset != ruleset:
                    continue
                if to_act and not waits_for(row, player):
                    continue
                if len(rows) == limit:
                    return Page(rows, _cursor(rows[-1]))
                rows.append(row)

    def row(self, game_id: bytes) -> Row | None:
        """The row of one game."""
        return self._rows([b"0" * 12 + game_id.hex().encode()])[0]

    def open_games(self) -> Iterator[Row]:
        """Every game that is open or being played, public or not, oldest first."""
        return self._walk("unclosed")

    def closed_games(self) -> Iterator[Row]:
        """Every game that is over and was not moved to the archive, public or not, oldest first."""
        return self._walk(_TO_ARCHIVE)

    def mark_archived(self, game_id: bytes, archived: bool) -> None:
        """A closed game lies in the archive now, or no more."""
        if (row := self.row(game_id)) is not None and row.closed:
            key, member = _list_key(_TO_ARCHIVE), _member(row)
            self._wire.call(("ZREM", key, member) if archived else ("ZADD", key, 0, member))

    def _walk(self, name: str) -> Iterator[Row]:
        bound = "-"
        while True:
            (members,) = self._wire.call(("ZRANGE", _list_key(name), bound, "+", "BYLEX", "LIMIT", 0, _WALK))
            if not members:
                return
            yield from (row for row in self._rows(members) if row is not None)
            bound = f"({members[-1].decode()}"

    def cases(self, state: str | None = None, limit: int = 20, cursor: str | None = None) -> CasePage:
        """A page of cases, oldest first: those in a state, else those that are not closed.

        :raises BadCursor: the cursor is none.
        """
        bound = "-" if cursor is None else f"({_read_cursor(cursor)}"
        name = _list_key(f"cases:{state or 'unclosed'}")
        (members,) = self._wire.call(("ZRANGE", name, bound, "+", "BYLEX", "LIMIT", 0, limit + 1))
        rows = []
        for member in members[:limit]:
            case_id = member[12:].decode()
            (data,) = self._wire.call(("HGET", _case_key(case_id), "row"))
            rows.append(self._read_case(case_id, data))
        following = _case_member(rows[-1]) if len(members) > limit and rows[-1] is not None else None
        return CasePage([row for row in rows if row is not None], following)

    def open_cases(self) -> Iterator[CaseRow]:
        """Every case that is not closed, oldest first."""
        cursor: str | None = None
        while True:
            page = self.cases(limit=_WALK, cursor=cursor)
            yield from page.rows
            if (cursor := page.next) is None:
                return

    def _read_case(self, case_id: str, data: bytes | None) -> CaseRow | None:
        try:
            return None if data is None else msgspec.json.decode(data, type=CaseRow)
        except msgspec.DecodeError as error:
            _log.warning("row-not-read", case_id=case_id, error=str(error))
            return case_row_of(self._cases.load(bytes.fromhex(case_id)))

    def key_ids(self) -> set[str]:
        """The ids of the master keys that games which are not closed use."""
        (names,) = self._wire.call(("SMEMBERS", _KEY_IDS))
        ids = sorted(name.decode() for name in names)
        counts = self._wire.call(*(("ZCARD", _list_key(f"key:{_short(name)}")) for name in ids)) if ids else []
        return {name for name, count in zip(ids, counts, strict=True) if count}

    # -- how -------------------------------------------------------------------------------------------------------

    def _rows(self, members: Iterable[bytes]) -> list[Row | None]:
        names = [member[12:].decode() for member in members]
        rows = self._wire.call(*(("HGET", _row_key(name), "row") for name in names))
        return [None if data is None else self._read(name, data) for name, data in zip(names, rows, strict=True)]

    def _read(self, name: str, data: bytes) -> Row | None:
        """A row as it was written; one that cannot be read, perhaps of another build, is made from the log."""
        try:
            return _decode(data)
        except msgspec.DecodeError as error:
            _log.warning("row-not-read", game_id=name, error=str(error))
            try:
                return row_of(self._positions.load(bytes.fromhex(name)))
            except (NotFound, Damaged, Archived):
                return None

    def cursors(self) -> dict[str, str]:
        """How far each shard's feed has been read."""
        values = self._wire.call(("HMGET", _CURSORS, *SHARDS))[0]
        return {shard: (value or b"0").decode() for shard, value in zip(SHARDS, values, strict=True)}

    def _script(self, source: str, keys: list[str], arguments: list[str | bytes | int]) -> Any:
        if not arguments:
            return None
        sha = hashlib.sha1(source.encode(), usedforsecurity=False).hexdigest()
        try:
            return self._wire.call(("EVALSHA", sha, len(keys), *keys, *arguments))[0]
        except redis.exceptions.NoScriptError:
            return self._wire.call(("EVAL", source, len(keys), *keys, *arguments))[0]


def case_row_of(case: Case) -> CaseRow:
    """The row of a case as it stands."""
    assert case.about is not None
    return CaseRow(
        case_id=case.case_id.hex(),
        game_id=case.about[0].hex(),
        event=case.about[1],
        state=case.state,
        grade=case.grade,
        version=case.version,
        created_ms=case.created_ms,
        updated_ms=case.t_ms,
        until_ms=0 if case.dispute is None else case.dispute.until,
        ruling=None if case.ruling is None else case.ruling.ruling,
    )


def seen_cases(cases: Sequence[Case], version: int) -> list[Case]:
    """The cases about events up to a version: who sees no further knows of no others."""
    return [case for case in cases if case.about is not None and case.about[1] <= version]


def _row_effective(effect: Effective) -> RowEffective | None:
    if effect.case_id is None or effect.ruling is None:
        return None
    return RowEffective(
        effect.status,
        None if effect.outcome is None else msgspec.to_builtins(effect.outcome),
        effect.case_id.hex(),
        effect.ruling,
        None if effect.resumed is None else effect.resumed.hex(),
    )


def row_of(game: Game, cases: Sequence[Case] = ()) -> Row | None:
    """The row of a game as it stands; None where not even its first event can be read."""
    position, create = game.position, game.position.create
    if create is None:
        return None
    heroes = heroes_of(position)
    return Row(
        game_id=game.id.hex(),
        ruleset=create.rules,
        status=position.status,
        version=position.version,
        head=position.head.hex(),
        created_ms=position.created_ms,
        updated_ms=position.t_ms,
        visibility=create.visibility,
        watching=create.watching,
        closed=position.closed,
        seats=[
            RowSeat(None if seat.player is None else seat.player.hex(), seat.bot, heroes[number - 1], seat.custody)
            for number, seat in position.seat_items()
        ],
        to_act=position.to_act,
        outcome=None if position.outcome is None else msgspec.to_builtins(position.outcome),
        forked_from=None if create.forked_from is UNSET else (create.forked_from[0].hex(), create.forked_from[1]),
        effective=_row_effective(effective(position.status, position.outcome, seen_cases(cases, position.version))),
    )


def heroes_of(position: Any) -> list[str | None]:
    """Who each seat plays, as chosen or dealt; None where that is not known (yet)."""
    if position.rules is not None and position.state is not None:
        cast = position.rules.cast(position.state)
        if len(cast) == len(position.seats):  # a forged create may speak of other seats
            return [name or None for name in cast]
    return [seat.choice.get("hero") for seat in position.seats]


def waits_for(row: Row, player: str | None) -> bool:
    """Is the player to act there?"""
    return any(row.seats[seat - 1].player_id == player and row.seats[seat - 1].bot is None for seat in row.to_act)


def _lists(row: Row, key_id: str) -> Iterator[str]:
    if row.visibility == "public":
        for status in ("*", row.status):
            for ruleset in ("*", row.ruleset):
                yield f"all:{status}:{ruleset}"
    for player in dict.fromkeys(seat.player_id for seat in row.seats if seat.player_id and seat.bot is None):
        yield f"player:{player}:*"
        yield f"player:{player}:{row.status}"
    if row.forked_from is not None:
        yield f"forks:{row.forked_from[0]}"
    if row.closed:
        yield _TO_ARCHIVE
    else:
        yield "unclosed"
        yield f"key:{_short(key_id)}"


def _short(key_id: str) -> str:
    return hashlib.sha256(key_id.encode()).hexdigest()[:16]


def _list_key(name: str) -> str:
    return f"{{index}}:list:{name}"


def _row_key(game_id: str) -> str:
    return f"{{index}}:game:{game_id}"


def _case_key(case_id: str) -> str:
    return f"{{index}}:case:{case_id}"


def _case_member(row: CaseRow) -> str:
    return f"{row.created_ms:012x}{row.case_id}"


def _member(row: Row) -> str:
    return f"{row.created_ms:012x}{row.game_id}"


def _cursor(row: Row) -> str:
    return _member(row)


def _read_cursor(cursor: str) -> str:
    if len(cursor) != 44 or set(cursor) - set("0123456789abcdef"):
        raise BadCursor(cursor)
    return cursor
