"""The commands on a case: to dispute an event, answer, rule, withdraw; what follows from a ruling; the deadline.

As on games: load, decide, append, and decide again where somebody was faster. Who may do what is decided in
service/access.py; what is refused here are the rules of a case (docs/disputes.md).
"""

import secrets
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Final

from msgspec import UNSET

from events.bodies import Body, plain
from events.case_bodies import (
    CORRECT,
    RESUME,
    VOID,
    Answer,
    Closing,
    Dispute,
    Hidden,
    Opening,
    Result,
    Ruling,
)
from events.event import Event, event_hash, genesis
from events.log import Conflict, Damage, Unavailable, whole
from replay.case import ANSWERED, CLOSED, OPEN, RULED, Case
from replay.position import EXACT, FINISHED, PLAYING
from replay.position import OPEN as TABLE_OPEN
from service import commands
from service.access import Party
from service.disputes.casebook import CaseNotFound
from service.drafts import WrongStatus
from service.keeping import erased
from service.positions import Game
from service.proofs import bundles

if TYPE_CHECKING:
    from service.bootstrap import Deps

OPEN_LIMIT: Final = 3
"""Most disputes of one player at one game that are not closed."""
TEXT_LIMIT: Final = 4_000
"""Longest text, in characters."""
_DAY_MS: Final = 86_400_000
_TRIES: Final = 16


class NoSuchEvent(LookupError):
    """The game has no such event."""

    def __init__(self, seq: int, version: int) -> None:
        super().__init__(f"event {seq} of {version}")
        self.seq, self.version = seq, version


class AlreadyDisputed(Exception):
    """There is a case about the event."""

    def __init__(self, case_id: bytes) -> None:
        super().__init__(case_id.hex())
        self.case_id = case_id


class TooManyDisputes(Exception):
    """The player has as many disputes at this game as one may."""


class TooLate(Exception):
    """The time to dispute or to answer is over, since ``until_ms``."""

    def __init__(self, until_ms: int) -> None:
        super().__init__(f"since {until_ms}")
        self.until_ms = until_ms


class AlreadyAnswered(Exception):
    """The seat has answered."""


class NotAsked(Exception):
    """The caller holds no seat that may answer."""


class WrongState(Exception):
    """The case is not in the state that the act needs."""

    def __init__(self, state: str, needed: str) -> None:
        super().__init__(f"the case is {state}, not {needed}")
        self.state, self.needed = state, needed


class CaseUnsound(Exception):
    """The record of the case does not hold, so nothing may be added to it."""

    def __init__(self, case: Case) -> None:
        super().__init__(f"the record is {case.grade}")
        self.case = case


class CannotRule(Exception):
    """What is ruled does not go with the game. ``why``: no-result, bad-result, not-whole, or what cannot be forked."""

    def __init__(self, why: str) -> None:
        super().__init__(why)
        self.why = why


class TextNotFound(LookupError):
    """The case has no such statement."""


# -- the verbs -------------------------------------------------------------------------------------------------------


def dispute(deps: "Deps", game: Game, party: Party, seq: int, text: str) -> Case:
    """Dispute event ``seq`` of a game, as a seat or as an auditor. The service's own verdict is attached.

    :raises NoSuchEvent, AlreadyDisputed, TooManyDisputes, TooLate, WrongStatus, Unavailable: then nothing was written.
    """
    position, now = game.position, deps.clock()
    if position.status == TABLE_OPEN and not position.closed:
        raise WrongStatus(position.status, PLAYING)
    disputed = _hash(deps, game, seq)
    until = position.t_ms + deps.config.dispute_days * _DAY_MS
    if position.closed and now > until:
        raise TooLate(until)
    others = deps.cases.of_game(game.id)
    if (known := next((case for case in others if case.about is not None and case.about[1] == seq), None)) is not None:
        raise AlreadyDisputed(known.case_id)
    own = [case for case in others if case.state != CLOSED and case.dispute and case.dispute.player == party.player]
    if party.seat is not None and len(own) >= OPEN_LIMIT:
        raise TooManyDisputes
    items = list(whole(deps.log, game.id))
    verdict = bundles.verdict(deps, game.id, items, deps.log.head(game.id), "en")
    case_id = deps.cases.reserve(game.id, seq)
    asked = [n for n, seat in position.seat_items() if seat.player not in (None, party.player) and seat.bot is None]
    about = plain(Opening(about=(game.id, seq, disputed)))
    opening = Event.write(case_id, 1, genesis(case_id), now, "create", None, about)
    with _kept(deps, case_id, text) as h:
        body = Dispute(
            player=party.player,
            text=Hidden(h),
            asked=asked,
            until=now + deps.config.answer_days * _DAY_MS,
            verdict=verdict.verdict,
            code=verdict.code or UNSET,
        )
        event = Event.write(case_id, 2, opening.hash, now, "dispute", party.seat, plain(body))
        try:
            deps.log.append([opening, event])
        except Conflict as error:
            raise AlreadyDisputed(case_id) from error
    return deps.cases.load(case_id)


def answer(deps: "Deps", case_id: bytes, player: bytes, seats: Sequence[int], text: str) -> Case:
    """A seat that was asked answers; of several seats of the player the first that has not yet.

    :raises NotAsked, AlreadyAnswered, TooLate, WrongState, CaseUnsound, Unavailable: then nothing was written.
    """

    def decide(case: Case) -> tuple[str, int | None, Body]:
        mine = [seat for seat in seats if seat in case.asked]
        if not mine:
            raise NotAsked
        if case.state in (RULED, CLOSED):
            raise WrongState(case.state, OPEN)
        due = [seat for seat in mine if seat not in case.answered]
        if not due:
            raise AlreadyAnswered
        assert case.dispute is not None
        if case.state != OPEN or deps.clock() > case.dispute.until:
            raise TooLate(case.dispute.until)
        return "answer", due[0], Answer(player=player, text=Hidden(h))

    with _kept(deps, case_id, text) as h:
        return _change(deps, case_id, decide)


def rule(
    deps: "Deps",
    case_id: bytes,
    player: bytes,
    ruling: str,
    text: str,
    result: Result | None = None,
    version: int | None = None,
) -> Case:
    """An auditor rules, and what follows is done: a game that is void or resumed ends, the resumed one begins.

    :raises WrongState, CannotRule, CaseUnsound, Unavailable: then nothing was written.
    """
    fork = secrets.token_bytes(16)

    def decide(case: Case) -> tuple[str, int | None, Body]:
        if case.state != ANSWERED:
            raise WrongState(case.state, ANSWERED)
        assert case.about is not None
        _check(deps, deps.positions.load(case.about[0]), ruling, result, version)
        body = Ruling(
            player=player,
            text=Hidden(h),
            ruling=ruling,  # type: ignore[arg-type] # one of RULINGS
            result=result or UNSET,
            resume=UNSET if version is None else (version, fork),
        )
        return "ruling", None, body

    with _kept(deps, case_id, text) as h:
        _change(deps, case_id, decide)
    return carry_out(deps, case_id)


def withdraw(deps: "Deps", case_id: bytes, player: bytes) -> Case:
    """Who disputed the event does so no more.

    :raises WrongState, CaseUnsound, Unavailable: then nothing was written.
    """

    def decide(case: Case) -> tuple[str, int | None, Body]:
        if case.state not in (OPEN, ANSWERED):
            raise WrongState(case.state, OPEN)
        return "close", None, Closing(status="withdrawn", player=player)

    return _change(deps, case_id, decide)


def carry_out(deps: "Deps", case_id: bytes) -> Case:
    """Do what was ruled, and close the case. Whoever comes second finds it done.

    :raises MasterMissing, Unavailable: it can be tried again.
    """
    case = deps.cases.load(case_id)
    if case.state == RULED and case.grade == EXACT:
        assert case.about is not None
        assert case.ruling is not None
        game_id, ruling = case.about[0], case.ruling
        if ruling.ruling in (VOID, RESUME) and deps.positions.load(game_id).position.status == PLAYING:
            with suppress(WrongStatus, commands.Unsound):  # over meanwhile; or nothing can be added to it
                commands.void(deps, game_id, commands.RULED)
        if ruling.resume is not UNSET:
            version, fork = ruling.resume
            commands.resume(deps, deps.positions.load(game_id), version, fork)

        def decide(now: Case) -> tuple[str, int | None, Body]:
            if now.state != RULED:
                raise WrongState(now.state, RULED)
            return "close", None, Closing(status="ruled")

        with suppress(WrongState):  # somebody was faster
            _change(deps, case_id, decide)
    return deps.cases.load(case_id)


def close_answering(deps: "Deps", case_id: bytes) -> Case:
    """The deadline is over: the server writes down who was silent.

    :raises WrongState: nobody is waited for, or not so long yet.
    """

    def decide(case: Case) -> tuple[str, int | None, Body]:
        if case.state != OPEN or case.dispute is None or deps.clock() < case.dispute.until:
            raise WrongState(case.state, OPEN)
        return "answer", None, Answer(silent=case.to_answer)

    return _change(deps, case_id, decide)


def erase(deps: "Deps", case: Case, seq: int) -> bool:
    """Forget the text of a statement for ever; its hash stays. False: it was forgotten before.

    :raises TextNotFound: event ``seq`` is no statement.
    """
    said = next((said for said in case.statements if said.seq == seq), None)
    if said is None:
        raise TextNotFound(str(seq))
    erased.note(deps, [case.case_id + said.h])
    return deps.cases.erase(case.case_id, said.h)


# -- the clerk -------------------------------------------------------------------------------------------------------


def next_due(case: Case) -> int | None:
    """When a case next needs the clerk, in milliseconds since 1970: its deadline, or a ruling to be carried out."""
    if case.grade != EXACT or case.dispute is None:
        return None
    if case.state == OPEN:
        return case.dispute.until
    return case.t_ms if case.state == RULED else None


def attend(deps: "Deps", case_id: bytes) -> bool:
    """What is due at a case now; False: nothing is."""
    try:
        case = deps.cases.load(case_id)
    except CaseNotFound:
        return False
    if (when := next_due(case)) is None or when > deps.clock():
        return False
    if case.state == RULED:
        carry_out(deps, case_id)
    else:
        with suppress(WrongState):  # answered meanwhile
            close_answering(deps, case_id)
    return True


# -- how -------------------------------------------------------------------------------------------------------------


@contextmanager
def _kept(deps: "Deps", case_id: bytes, text: str) -> Iterator[bytes]:
    """The hash of a text that is kept from now on; where its event is not written the text goes again."""
    kept = deps.cases.keep(case_id, text)
    try:
        yield kept.h
    except Unavailable:  # perhaps it was written
        raise
    except Exception:
        deps.cases.erase(case_id, kept.h)
        raise


def _change(deps: "Deps", case_id: bytes, decide: Callable[[Case], tuple[str, int | None, Body]]) -> Case:
    """Append what ``decide`` says (kind, seat, body), deciding again for as long as others are faster."""
    for _ in range(_TRIES):
        case = deps.cases.load(case_id)
        if case.grade != EXACT:
            raise CaseUnsound(case)
        kind, seat, body = decide(case)
        now = max(deps.clock(), case.t_ms)
        event = Event.write(case_id, case.version + 1, case.head, now, kind, seat, plain(body))
        with suppress(Conflict):
            deps.log.append([event])
            return deps.cases.load(case_id)
    raise Unavailable("too many others write to this case")


def _hash(deps: "Deps", game: Game, seq: int) -> bytes:
    """The hash of an event's stored bytes, whether they can be read or not."""
    if not 1 <= seq <= game.version:
        raise NoSuchEvent(seq, game.version)
    for item in deps.log.read(game.id, seq - 1, 1).items:
        if isinstance(item, Event) and item.seq == seq:
            return item.hash
        if isinstance(item, Damage) and item.place == f"{seq}-0" and item.data is not None:
            return event_hash(item.data)
    raise NoSuchEvent(seq, game.version)


def _check(deps: "Deps", game: Game, ruling: str, result: Result | None, version: int | None) -> None:
    position = game.position
    if (result is not None) != (ruling == CORRECT) or (version is not None) != (ruling == RESUME):
        raise CannotRule("not-whole")
    if ruling == CORRECT:
        assert result is not None
        if not position.closed or position.status != FINISHED:
            raise CannotRule("no-result")
        seats = range(1, len(position.seats) + 1)
        if len(result.scores) != len(seats) or result.winners != sorted(set(result.winners) & set(seats)):
            raise CannotRule("bad-result")
    if version is not None:
        if position.status == FINISHED and not position.closed:
            raise CannotRule("not-finished")
        try:
            commands.forkable(deps, game, version)
        except commands.CannotFork as error:
            raise CannotRule(error.why) from error
