"""Who may see and do what: the one place where it is decided (docs/roles.md has the table).

A game's ``visibility`` says who may know of it, ``watching`` what those may see who do not sit at it while it is
played. Every reader of a game, stream or page, asks `look` for the newest version it may show.
"""

from bisect import bisect_right
from collections.abc import Callable, Collection
from dataclasses import dataclass, field

from replay.position import Position
from service.positions import Game, NotFound


class WatchingForbidden(Exception):
    """The table lets nobody watch while it is played."""


class NotYourSeat(Exception):
    """The caller does not hold the seat."""

    def __init__(self, seat: int | None) -> None:
        super().__init__("the caller holds no seat here" if seat is None else f"the caller does not hold seat {seat}")
        self.seat = seat


class WhichSeat(Exception):
    """The caller holds several seats and did not say which is meant."""

    def __init__(self, seats: list[int]) -> None:
        super().__init__(f"one of {seats}")
        self.seats = seats


class NotAllowed(Exception):
    """The caller may know of the game, but this is for its creator."""


class NotAParty(Exception):
    """The caller neither holds a seat of the game nor is an auditor."""


class SeatWithdrew(Exception):
    """The caller's seat left the game for good, and disputes nothing any more."""

    def __init__(self, seat: int) -> None:
        super().__init__(f"seat {seat} withdrew")
        self.seat = seat


class NotAnAuditor(Exception):
    """This is for auditors (and, where one only reads, operators)."""


class OwnCase(Exception):
    """Nobody rules on a game in which they have a seat, or on what they dispute themselves."""


class NotTheAuthor(Exception):
    """A text is erased by who wrote it, or by an operator."""


def _no_roles() -> frozenset[str]:
    return frozenset()


@dataclass(slots=True)
class Caller:
    """Who asks: a player, or nobody. Roles are looked up only where they matter."""

    player: bytes | None = None
    look_up: Callable[[], frozenset[str]] = _no_roles
    _roles: frozenset[str] | None = field(default=None, init=False)

    @property
    def roles(self) -> frozenset[str]:
        if self._roles is None:
            self._roles = self.look_up()
        return self._roles

    @property
    def sees_all(self) -> bool:
        """Auditors and operators may read every game."""
        return not self.roles.isdisjoint(("auditor", "operator"))


@dataclass(frozen=True, slots=True)
class View:
    """What a caller may see of a game: its events up to ``version``. ``seats``: those the caller holds."""

    game: Game
    version: int
    seats: list[int]
    public: bool
    """Would anybody be shown the same? Then caches may keep it."""
    by_role: bool = False
    """Is it shown to the caller only because they are an auditor or operator? Then it is written down."""
    forbidden: bool = False
    """Nobody may watch now: there is a game, at the version at which play began, and nothing more to see."""

    def watched(self) -> "View":
        """This view, where there is more to be seen than that there is a game.

        :raises WatchingForbidden: there is not.
        """
        if self.forbidden:
            raise WatchingForbidden
        return self

    def seat(self, asked: int | None) -> int | None:
        """The seat whose view is meant: the one asked for, or the one to act of the caller's, or its first.

        :raises NotYourSeat: the caller does not hold the seat asked for.
        """
        if asked is not None:
            if asked not in self.seats:
                raise NotYourSeat(asked)
            return asked
        if len(self.seats) < 2:
            return self.seats[0] if self.seats else None
        due = self.game.position.to_act
        return next((seat for seat in self.seats if seat in due), self.seats[0])


def look(game: Game, caller: Caller, creator: bytes | None, now_ms: int) -> View:
    """How far a caller may see into a game that ``creator`` opened.

    :raises NotFound: the caller may not know of it.
    """
    position, create = game.position, game.position.create
    seats = [] if caller.player is None else position.seats_of(caller.player)
    listed = create is not None and create.visibility != "private"  # a damaged create: nobody knows whose it is
    known = bool(listed or seats or (caller.player is not None and caller.player == creator))
    if not (known or caller.sees_all):
        raise NotFound(game.id.hex())
    hidden = create is not None and create.watching != "open" and position.started_ms > 0 and not position.closed
    if create is None or seats or not hidden or caller.sees_all:
        by_role = not known or bool(hidden and not seats)
        return View(game, game.version, seats, public=listed and not hidden, by_role=by_role)
    start = started_version(game)
    if (delay := delay_ms(create.watching)) is None:
        return View(game, start, seats, public=False, forbidden=True)
    return View(game, max(start, bisect_right(game.times, now_ms - delay)), seats, public=False)


def delay_ms(watching: str) -> int | None:
    """How long after the players watchers see an event, in milliseconds; None: not while the game is played."""
    if watching == "open":
        return 0
    kind, _, seconds = watching.partition(":")
    return int(seconds) * 1000 if kind == "delayed" and seconds.isdecimal() else None


def started_version(game: Game) -> int:
    """The version at which play began: what came before was public when it was written."""
    return max(1, bisect_right(game.times, game.position.started_ms)) if game.position.started_ms else game.version


def acting_seat(position: Position, caller: Caller, asked: int | None) -> int:
    """The seat that an act is for: the one asked for, or the only one, or the one of the caller's that is to act.

    :raises NotYourSeat: the caller does not hold it, or holds none, or a bot plays there.
    :raises WhichSeat: several would do.
    """
    seats = [] if caller.player is None else position.seats_of(caller.player)
    if asked is not None:
        if asked not in seats or position.seats[asked - 1].bot is not None:
            raise NotYourSeat(asked)
        return asked
    seats = [seat for seat in seats if position.seats[seat - 1].bot is None]
    if not seats:
        raise NotYourSeat(None)
    if len(seats) == 1:
        return seats[0]
    due = position.to_act
    mine = [seat for seat in seats if seat in due]
    if len(mine) != 1:
        raise WhichSeat(seats)
    return mine[0]


# -- cases -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Party:
    """Somebody who disputes: as a seat, or as an auditor (no seat)."""

    player: bytes
    seat: int | None


def disputing(position: Position, caller: Caller, withdrawn: Collection[int], asked: int | None) -> Party:
    """As whom a caller disputes an event of a game: a seat of theirs that did not withdraw, or an auditor.

    :raises NotYourSeat: the caller does not hold the seat asked for.
    :raises SeatWithdrew, NotAParty: they may not.
    """
    assert caller.player is not None
    seats = [seat for seat in position.seats_of(caller.player) if position.seats[seat - 1].bot is None]
    if asked is not None:
        if asked not in seats:
            raise NotYourSeat(asked)
        seats = [asked]
    for seat in seats:
        if seat not in withdrawn:
            return Party(caller.player, seat)
    if seats:
        raise SeatWithdrew(seats[0])
    if "auditor" in caller.roles:
        return Party(caller.player, None)
    raise NotAParty


def may_rule(position: Position, caller: Caller, disputer: bytes | None) -> None:
    """
    :raises NotAnAuditor: the caller is none.
    :raises OwnCase: they are a party.
    """
    if "auditor" not in caller.roles:
        raise NotAnAuditor
    if caller.player is None or position.seats_of(caller.player) or caller.player == disputer:
        raise OwnCase


def reads_statements(position: Position, caller: Caller, author: bool) -> bool:
    """May the caller read what was said in a case? Seats, whoever said something, auditors and operators may."""
    return author or (caller.player is not None and bool(position.seats_of(caller.player))) or caller.sees_all
