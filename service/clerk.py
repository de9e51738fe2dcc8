"""The clerk: what has to happen without anybody asking. Bots act, the absent and idle are dealt with, lists are kept.

Everything to do later stands on one agenda in the database, a sorted set of games by the time (ms) at which each next
needs somebody. Feed lines, shared out among clerks by a consumer group, put games there; whoever finds a game due puts
it off for a while, so that no other does the same, and does it. A clerk that dies leaves its games on the agenda, and
its unread lines to be claimed. Nothing can happen twice: appends say which version they follow.
"""

import os
import secrets
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import TYPE_CHECKING, Any, Final

import redis
import structlog

from engine.protocol import Illegal
from engine.registry import BOTS, game_name
from events.log import SHARDS, Archived, Damaged, Unavailable
from events.redis_client import Command, Wire
from events.redis_log import feed_key
from replay.position import ABANDONED, EXACT, PLAYING, NotYourTurn, Position
from service import commands
from service.disputes import cases
from service.disputes.casebook import CaseNotFound
from service.drafts import Draft, WrongStatus
from service.positions import Game, NotFound
from service.running.observe import BOT_ACTIONS, GAMES_CLOSED

if TYPE_CHECKING:
    from service.bootstrap import Deps

GROUP: Final = "clerk"
AGENDA: Final = "{clerk}:agenda"
LEASE_MS: Final = 5_000
"""How long a game that was due is left alone by other clerks, in milliseconds."""
BURST: Final = 200
"""Most actions that bots take at one table in a row."""
BLOCK_MS: Final = 1_000
"""Longest wait for something to do, in milliseconds: so long a stop may take."""
_BATCH: Final = 64
_LATER_MS: Final = 60_000
_GATHER_S: Final = 0.02
"""Pause after lines came, so that under load a round deals with many at once."""
_GATHER_MOST_S: Final = 0.2
_REST: Final = 3
"""A round that took long is followed by a pause of so many times its length: players need the processor more."""
_LIST_S: Final = 0.25
"""How often the lists are brought up to date at most; who asks for one brings it up to date himself."""
_CLAIM_S: Final = 5.0
_CLAIM_IDLE_MS: Final = 10_000
_TRIM_S: Final = 60.0
_GONE_MS: Final = 3_600_000

Lines = tuple[bytes, list[Any]]
"""A feed's key, and entries of it."""

_log = structlog.get_logger()


class Clerk:
    """One clerk, to be run in a thread or a process of its own."""

    def __init__(self, deps: "Deps") -> None:
        self._deps = deps
        self._wire = Wire(deps.redis)
        self._name = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._stopping = threading.Event()
        self._claimed = self._trimmed = time.monotonic()
        self._listed, self._unlisted = 0.0, False
        self._ready = False
        self._latest_ms = 0
        """The latest that this clerk's clock has shown."""

    def stop(self) -> None:
        """Ask it to end; it does within the time of one blocking read."""
        self._stopping.set()

    def run(self) -> None:
        """Work until told to stop, through every failure of the database."""
        while not self._stopping.is_set():
            try:
                if self._clock_went_back() or not self._ready:
                    self.begin()
                self.work()
            except Unavailable as error:
                _log.warning("database-unavailable", error=str(error))
                self._stopping.wait(0.25)
            except redis.ResponseError as error:  # a feed was lost, and its group with it
                _log.warning("begins-again", error=str(error))
                self._ready = False
                self._stopping.wait(0.25)

    def _clock_went_back(self) -> bool:
        """Then what stands on the agenda is meant for a time that will not come for long."""
        before, now = self._latest_ms, self._deps.clock()
        self._latest_ms = now if now < before - BLOCK_MS else max(before, now)
        return self._latest_ms < before

    def begin(self) -> None:
        """Join the group, and look through every game that is not closed: a crash may have left any of them."""
        for shard in SHARDS:
            try:
                self._wire.call(("XGROUP", "CREATE", feed_key(shard), GROUP, "$", "MKSTREAM"))
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
        self._deps.index.catch_up()
        rows = self._deps.index.open_games()
        while page := list(islice(rows, 200)):
            (known,) = self._wire.call(("ZMSCORE", AGENDA, *(bytes.fromhex(row.game_id) for row in page)))
            for row, when in zip(page, known, strict=True):
                if when is None or any(row.seats[seat - 1].bot for seat in row.to_act):
                    self._plan(bytes.fromhex(row.game_id))
        for case in self._deps.index.open_cases():
            self._plan(bytes.fromhex(case.case_id))
        self._ready = True

    def work(self, block_ms: int = BLOCK_MS) -> None:
        """One round: wait for lines or for a game to be due, and do what there is to do."""
        lines = self._read(self._until_due(block_ms))
        begun = time.monotonic()
        if time.monotonic() - self._claimed > _CLAIM_S:
            self._claimed = time.monotonic()
            lines += self._claim()
        self._take(lines)
        for game_id in self._due():
            self._attend(game_id)
        self._unlisted = self._unlisted or bool(lines)
        if self._unlisted and time.monotonic() - self._listed > _LIST_S:
            self._deps.index.catch_up()
            self._listed, self._unlisted = time.monotonic(), False
        if lines:
            self._stopping.wait(min(max(_GATHER_S, _REST * (time.monotonic() - begun)), _GATHER_MOST_S))
        if time.monotonic() - self._trimmed > _TRIM_S:
            self._trimmed = time.monotonic()
            self.trim()

    # -- the feeds -------------------------------------------------------------------------------------------------

    def _read(self, wait_ms: int) -> list[Lines]:
        """Lines that fall to this clerk, waiting for the first of them."""
        block: tuple[str | int, ...] = ("BLOCK", wait_ms) if wait_ms else ()
        keys = [feed_key(shard) for shard in SHARDS]
        command = (
            "XREADGROUP",
            "GROUP",
            GROUP,
            self._name,
            "COUNT",
            200,
            *block,
            "STREAMS",
            *keys,
            *(">" for _ in keys),
        )
        (reply,) = self._wire.call(command)
        return [(key, entries) for key, entries in reply or ()]

    def _claim(self) -> list[Lines]:
        """Lines that another clerk read, and did nothing about."""
        keys = [feed_key(shard).encode() for shard in SHARDS]
        claim: list[Command] = [
            ("XAUTOCLAIM", key, GROUP, self._name, _CLAIM_IDLE_MS, "0-0", "COUNT", 200) for key in keys
        ]
        return [(key, reply[1]) for key, reply in zip(keys, self._wire.call(*claim), strict=True) if reply[1]]

    def _take(self, lines: list[Lines]) -> None:
        """Put the games of the lines on the agenda; only then are the lines done with."""
        games = {
            dict(zip(fields[::2], fields[1::2], strict=False)).get(b"g", b"")
            for _, entries in lines
            for _, fields in entries
            if fields  # None: the line was trimmed meanwhile
        }
        for game_id in games:
            if len(game_id) == 16:
                self._plan(game_id)
        if lines:
            self._wire.call(*(("XACK", key, GROUP, *(entry for entry, _ in entries)) for key, entries in lines))

    def trim(self) -> None:
        """Drop the feed lines that every group and the index have done with, and clerks that are long gone."""
        cursors = self._deps.index.cursors()
        for shard in SHARDS:
            key = feed_key(shard)
            (groups,) = self._wire.call(("XINFO", "GROUPS", key))
            bounds = [cursors[shard]]
            for values in groups:
                group = _pairs(values)
                ((_, oldest, _, _),) = self._wire.call(("XPENDING", key, group[b"name"]))
                bounds.append((oldest or group[b"last-delivered-id"]).decode())
            self._wire.call(("XTRIM", key, "MINID", "=", min(bounds, key=_entry)))
            (consumers,) = self._wire.call(("XINFO", "CONSUMERS", key, GROUP))
            for consumer in map(_pairs, consumers):
                if consumer[b"pending"] == 0 and consumer[b"idle"] > _GONE_MS:
                    self._wire.call(("XGROUP", "DELCONSUMER", key, GROUP, consumer[b"name"]))

    # -- the agenda ------------------------------------------------------------------------------------------------

    def _put(self, game_id: bytes, when_ms: int) -> None:
        self._wire.call(("ZADD", AGENDA, when_ms, game_id))

    def _until_due(self, most_ms: int) -> int:
        """How long to wait for feed lines, in milliseconds: until the first game is due."""
        (first,) = self._wire.call(("ZRANGE", AGENDA, 0, 0, "WITHSCORES"))
        if not first:
            return most_ms
        return max(0, min(most_ms, int(float(first[1])) - self._deps.clock()))

    def _due(self) -> Iterator[bytes]:
        """Games that are due now, each put off so that no other clerk takes it meanwhile."""
        now = self._deps.clock()
        (games,) = self._wire.call(("ZRANGE", AGENDA, "-inf", now, "BYSCORE", "LIMIT", 0, _BATCH))
        for game_id in games:
            if self._stopping.is_set():
                return
            self._put(game_id, now + LEASE_MS)
            yield game_id

    def _plan(self, game_id: bytes) -> None:
        """Write down when a game next needs somebody; a game that needs nobody any more is struck off."""
        try:
            game = self._deps.positions.load(game_id)
            when, now = self._game_due(game), self._deps.clock()
            if game.position.t_ms > now and bot_seat(game.position) is not None and only_bots(game.position):
                when = now + self._deps.config.bot_pause_ms  # the clock was set back: the last event is no measure
        except NotFound:
            when = self._case_due(game_id)
        except (Archived, Damaged):
            when = None
        if when is None:
            self._strike(game_id)
        else:
            self._put(game_id, when)

    def _game_due(self, game: Game) -> int | None:
        """When a game next needs the clerk; never as long as a dispute pauses it."""
        deps = self._deps
        try:
            commands.not_paused(deps, game.position)
        except commands.Paused:
            return None
        since = commands.last_ms(deps, game.position)
        return next_due(game, deps.config.bot_pause_ms, since, deps.clock())

    def _case_due(self, case_id: bytes) -> int | None:
        """When a case next needs the clerk. What was written there may have paused its game, or let it go on."""
        try:
            case = self._deps.cases.load(case_id)
        except (CaseNotFound, Archived, Damaged):
            return None
        if case.game_id is not None:
            with suppress(NotFound, Archived, Damaged):
                if (when := self._game_due(self._deps.positions.load(case.game_id))) is not None:
                    self._put(case.game_id, when)
        return cases.next_due(case)

    def _strike(self, game_id: bytes) -> None:
        self._wire.call(("ZREM", AGENDA, game_id))

    # -- what is due -----------------------------------------------------------------------------------------------

    def _attend(self, game_id: bytes) -> None:
        """Do what is due at a game, and plan on. What goes wrong there is logged, and keeps nobody else waiting."""
        try:
            for _ in range(BURST):
                if not self._act(game_id):
                    break
            self._plan(game_id)
        except Unavailable:
            raise
        except Exception:  # noqa: BLE001 # one game that cannot go on must not stop all others
            _log.exception("game-left-alone", game_id=game_id.hex(), for_ms=_LATER_MS)
            self._put(game_id, self._deps.clock() + _LATER_MS)

    def _act(self, game_id: bytes) -> bool:
        """One act that is due now; False: there is none."""
        deps = self._deps
        try:
            game = deps.positions.load(game_id)
        except NotFound:
            return cases.attend(deps, game_id)
        now = deps.clock()
        if (when := self._game_due(game)) is None or when > now:
            return False
        position = game.position
        since = commands.last_ms(deps, position)
        try:
            if bot_seat(position) is not None:
                act(deps, game_id)
                return position.t_ms <= now or not only_bots(position)  # else they pause by the agenda alone
            if position.to_sign_off:
                commands.close_finished(deps, game_id)
            elif position.to_reveal or ((when := _turn_due(position, since)) is not None and when <= now):
                commands.time_out(deps, game_id)
            else:
                self._close_idle(game_id)
        except commands.Paused:
            return False
        except (WrongStatus, NotYourTurn, commands.TooEarly, Nothing):
            return True  # somebody was faster: look again
        return True

    def _close_idle(self, game_id: bytes) -> None:
        def decide(game: Game) -> Draft:
            if _idle_due(game.position, commands.last_ms(self._deps, game.position)) > self._deps.clock():
                raise Nothing
            draft = commands.drafted(self._deps, game)
            draft.close(ABANDONED, "idle")
            return draft

        commands.change(self._deps, game_id, decide)
        GAMES_CLOSED.inc()
        _log.info("idle-table-closed", game_id=game_id.hex())


class Nothing(Exception):
    """What was due has been done by somebody else."""


def next_due(game: Game, bot_pause_ms: int, since_ms: int | None = None, now_ms: int | None = None) -> int | None:
    """When a game next needs the clerk (ms since 1970): a bot to act, a turn to claim, an idle table to close, a seat
    in self-custody that is not waited for any more. ``since_ms``: it waits from then on, not from its last event.
    ``now_ms``: no bot waits until then for a clock that was set back behind the last event."""
    position = game.position
    since = position.t_ms if since_ms is None else since_ms
    if position.closed or position.create is None or position.grade != EXACT:
        return None
    if bot_seat(position) is not None:
        if now_ms is not None and position.t_ms > now_ms:
            return now_ms
        return position.t_ms + (bot_pause_ms if only_bots(position) else 0)
    if (due := commands.signing_due_ms(position)) is not None:
        return due
    turn, idle = _turn_due(position, since), _idle_due(position, since)
    return idle if turn is None else min(turn, idle)


def bot_seat(position: Position) -> int | None:
    """The first seat to act that a bot plays."""
    if position.status != PLAYING:
        return None
    return next((seat for seat in position.to_act if position.seats[seat - 1].bot is not None), None)


def only_bots(position: Position) -> bool:
    """Does no person sit at the table?"""
    return all(seat.bot is not None for seat in position.seats)


def act(deps: "Deps", game_id: bytes) -> None:
    """Let the first bot that a game waits for act.

    :raises Nothing: it waits for none, or not yet.
    """

    def decide(game: Game) -> Draft:
        seat, now = bot_seat(game.position), deps.clock()
        when = next_due(game, deps.config.bot_pause_ms, now_ms=now)
        if seat is None or when is None or when > now:  # asked again when somebody else was faster
            raise Nothing
        draft = commands.drafted(deps, game)
        _let_act(draft, seat)
        return draft

    draft, game = commands.change(deps, game_id, decide)
    assert draft.position.create is not None
    BOT_ACTIONS.labels(game_name(draft.position.create.rules)).inc()
    _log.debug("bot-acted", game_id=game_id.hex(), version=game.version)


def _let_act(draft: Draft, seat: int) -> None:
    """Draft the action of a bot's seat. A bot that is unknown, or that wants what is illegal, plays any legal action.

    :raises LookupError: there is none that can be listed.
    """
    position = draft.position
    rules, bot = position.rules, position.seats[seat - 1].bot
    assert rules is not None
    assert bot is not None
    name, level = bot
    try:
        player = BOTS[game_name(rules.id)][name]
        draft.act(seat, player.choose(rules, rules.copy(position.state), seat, level, secrets.randbelow))
    except (KeyError, Illegal) as error:
        _log.exception("bot-at-a-loss", bot=name, ruleset=rules.id, game_id=position.game_id.hex(), error=repr(error))
        legal = rules.legal(position.state, seat)
        if not legal:
            raise LookupError(f"no legal action of seat {seat} can be listed") from error
        draft.act(seat, secrets.choice(legal).action)


def _turn_due(position: Position, since_ms: int) -> int | None:
    """When a bot at the table claims the turn of an absent person, as any seat may."""
    seconds = position.options.turn_seconds
    if position.status != PLAYING or not seconds or not any(seat.bot for seat in position.seats):
        return None
    return since_ms + seconds * 1000


def _idle_due(position: Position, since_ms: int) -> int:
    return since_ms + position.options.idle_seconds * 1000


def _pairs(values: list[Any]) -> dict[bytes, Any]:
    return dict(zip(values[::2], values[1::2], strict=True))


def _entry(text: str) -> tuple[int, int]:
    ms, _, part = text.partition("-")
    return int(ms), int(part or 0)
