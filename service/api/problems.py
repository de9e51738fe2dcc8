"""Problems: every refusal as `application/problem+json` (RFC 9457), from one catalogue (docs/problems.md).

A problem's ``type`` is ``/problems/<code>``, which this service also serves as a page. Its words are in service/locale.
"""

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Final

import msgspec
from flask import Response
from werkzeug.exceptions import HTTPException

from engine.protocol import Illegal
from events.log import Archived, Damaged, OutcomeUnknown, Unavailable
from replay.page import moment as _moment
from replay.position import NotYourTurn
from replay.words import Words, add_folder, words
from service import access, accounts, commands, limits
from service.access import NotAllowed, NotYourSeat, WatchingForbidden, WhichSeat
from service.disputes import cases
from service.disputes.casebook import CaseNotFound
from service.drafts import MustSign, WrongSignature, WrongStatus
from service.index import BadCursor
from service.positions import NoSuchPosition, NotFound

add_folder(Path(__file__).parents[1] / "locale")

CATALOGUE: Final[Mapping[str, int]] = {
    # the request cannot be read
    "bad-query": 400,
    "bad-header": 400,
    "unreadable": 400,
    "malformed-json": 400,
    "expectations-differ": 400,
    "which-seat": 400,
    "method-not-allowed": 405,
    "too-slow": 408,
    "body-too-large": 413,
    "unsupported-media-type": 415,
    "invalid-body": 422,
    "precondition-required": 428,
    # who asks
    "token-missing": 401,
    "token-invalid": 401,
    "not-your-seat": 403,
    "not-the-creator": 403,
    "watching-forbidden": 403,
    "not-a-party": 403,
    "seat-withdrew": 403,
    "not-asked": 403,
    "not-an-auditor": 403,
    "own-case": 403,
    "not-the-author": 403,
    # what is not there
    "not-found": 404,
    "game-not-found": 404,
    "position-not-found": 404,
    "path-not-found": 404,
    "ruleset-not-found": 404,
    "player-not-found": 404,
    "token-not-found": 404,
    "seat-not-found": 404,
    "not-logged-yet": 404,
    "event-not-found": 404,
    "case-not-found": 404,
    "text-not-found": 404,
    # not now
    "not-your-turn": 409,
    "wrong-status": 409,
    "seat-taken": 409,
    "seats-open": 409,
    "no-clock": 409,
    "too-early": 409,
    "cannot-fork": 409,
    "too-many-tokens": 409,
    "record-not-sound": 409,
    "archived": 409,
    "game-paused": 409,
    "already-disputed": 409,
    "too-many-disputes": 409,
    "too-late": 409,
    "already-answered": 409,
    "wrong-case-state": 409,
    "case-not-sound": 409,
    "cannot-rule": 409,
    "stale": 412,
    # not so
    "illegal": 422,
    "bad-choice": 422,
    "bad-name": 422,
    "unknown-ruleset": 422,
    "other-game": 422,
    "unknown-bot": 422,
    "idempotency-key-reused": 422,
    "signature-required": 422,
    "signature-unexpected": 422,
    "signature-wrong": 422,
    # not so often
    "too-many-requests": 429,
    "too-many-streams": 429,
    # not our day
    "internal": 500,
    "unavailable": 503,
    "outcome-unknown": 503,
    "key-missing": 503,
}
"""Every problem's code with its status."""

MEDIA_TYPE: Final = "application/problem+json"
_encode = msgspec.json.Encoder().encode


class Problem(Exception):
    """A request is refused. ``facts`` fill in the words, ``members`` are added to the JSON."""

    def __init__(
        self,
        code: str,
        facts: Mapping[str, Any] = {},  # never changed
        members: Mapping[str, Any] = {},
        headers: Mapping[str, str] = {},
    ) -> None:
        super().__init__(code)
        self.code, self.facts, self.members, self.headers = code, facts, members, headers

    @property
    def status(self) -> int:
        return CATALOGUE[self.code]


def type_of(code: str) -> str:
    """The ``type`` member of a code."""
    return f"/problems/{code}"


def title(code: str, language: str) -> str:
    """What the problem is called."""
    return words(language).text(f"service.problem.{code}", {})


def meaning(code: str, language: str) -> str:
    """What it means and what to do, without a case in hand."""
    return words(language).text(f"service.meaning.{code}", {})


def _detail(problem: Problem, said: Words) -> str:
    """What it means in this case, where there is more to say than what it always means."""
    message = f"service.detail.{problem.code}"
    known = said.raw(message) != message
    return said.text(message if known else f"service.meaning.{problem.code}", problem.facts)


def render(problem: Problem, language: str) -> Response:
    """The problem as a response, in a language."""
    said = words(language)
    body = {
        **problem.members,
        "type": type_of(problem.code),
        "title": said.text(f"service.problem.{problem.code}", {}),
        "status": problem.status,
        "detail": _detail(problem, said),
        "code": problem.code,
    }
    headers = {"Cache-Control": "no-store", "Content-Language": language, **problem.headers}
    return Response(_encode(body), problem.status, headers, content_type=MEDIA_TYPE)


# -- from what went wrong to what is said ----------------------------------------------------------------------------


def _wrong_status(error: WrongStatus) -> Problem:
    facts = {"status": error.status, "needed": error.needed}
    return Problem("wrong-status", facts, {"game_status": error.status, "needed": error.needed})


def _seat_taken(error: commands.SeatTaken) -> Problem:
    members: dict[str, Any] = {"free": error.free}
    return Problem("seat-taken", {"free": len(error.free)}, members)


def _too_early(error: commands.TooEarly) -> Problem:
    if error.wait_ms is None:
        return Problem("no-clock")
    seconds = -(-error.wait_ms // 1000)
    return Problem("too-early", {"seconds": seconds}, {"wait_ms": error.wait_ms}, {"Retry-After": str(seconds)})


def _too_many(error: limits.TooMany) -> Problem:
    seconds, rate = max(1, math.ceil(error.wait_s)), error.rate
    headers = {
        "Retry-After": str(seconds),
        "RateLimit-Policy": f'"{error.kind}";q={rate.burst};w={rate.window_s}',
        "RateLimit": f'"{error.kind}";r=0;t={seconds}',
    }
    return Problem("too-many-requests", {"seconds": seconds}, {"limit": error.kind}, headers)


def _unavailable(error: Unavailable) -> Problem:
    return Problem("unavailable", headers={"Retry-After": "1"})


def _bad_choice(error: commands.BadChoice) -> Problem:
    pointer, detail = pointer_of(error.detail, f"/{error.field}")
    return Problem("bad-choice", {}, {"errors": [{"pointer": pointer, "detail": detail}]})


def _bad_name(error: accounts.BadName) -> Problem:
    return Problem("bad-name", {"limit": accounts.NAME_LIMIT}, {"errors": [{"pointer": "/name", "detail": str(error)}]})


_MAPPED: Final[dict[type[Exception], Callable[[Any], Problem]]] = {
    NotFound: lambda error: Problem("game-not-found"),
    NoSuchPosition: lambda error: Problem("position-not-found"),
    WatchingForbidden: lambda error: Problem("watching-forbidden"),
    NotYourSeat: lambda error: Problem("not-your-seat", {}, {"seat": error.seat}),
    WhichSeat: lambda error: Problem("which-seat", {}, {"seats": error.seats}),
    NotAllowed: lambda error: Problem("not-the-creator"),
    NotYourTurn: lambda error: Problem("not-your-turn"),
    WrongStatus: _wrong_status,
    MustSign: lambda error: Problem(
        "signature-required" if error.signs else "signature-unexpected", {"seat": error.seat}, {"seat": error.seat}
    ),
    WrongSignature: lambda error: Problem(
        "signature-wrong",
        {"detail": error.finding.detail},
        {"check": error.finding.check, "given": error.finding.stored, "expected": error.finding.folded},
    ),
    BadCursor: lambda error: Problem(
        "bad-query", {}, {"errors": [{"parameter": "cursor", "detail": "not a cursor of this list"}]}
    ),
    limits.TooMany: _too_many,
    limits.TooSlow: lambda error: Problem("too-slow", headers={"Connection": "close"}),
    limits.TooManyStreams: lambda error: Problem(
        "too-many-streams", {"limit": error.limit}, {"limit": error.limit}, {"Retry-After": "10"}
    ),
    accounts.BadName: _bad_name,
    accounts.UnknownPlayer: lambda error: Problem("player-not-found"),
    accounts.TooManyTokens: lambda error: Problem("too-many-tokens", {"limit": accounts.TOKEN_LIMIT}),
    commands.SeatTaken: _seat_taken,
    commands.NoSuchSeat: lambda error: Problem("seat-not-found", {"seats": error.seats}),
    commands.SeatsOpen: lambda error: Problem("seats-open", {"free": len(error.free)}, {"free": error.free}),
    commands.TooEarly: _too_early,
    commands.CannotFork: lambda error: Problem("cannot-fork", {}, {"reason": error.why}),
    commands.UnknownRuleset: lambda error: Problem("unknown-ruleset", {"ruleset": str(error)}),
    commands.BadChoice: _bad_choice,
    commands.KeyReused: lambda error: Problem("idempotency-key-reused"),
    commands.Unsound: lambda error: Problem(
        "record-not-sound", {}, {"grade": error.game.position.grade, "event": error.game.first_bad}
    ),
    commands.MasterMissing: lambda error: Problem("key-missing", headers={"Retry-After": "60"}),
    commands.Paused: lambda error: Problem("game-paused", {}, {"case_id": error.case_id.hex()}),
    access.NotAParty: lambda error: Problem("not-a-party"),
    access.SeatWithdrew: lambda error: Problem("seat-withdrew", {"seat": error.seat}, {"seat": error.seat}),
    access.NotAnAuditor: lambda error: Problem("not-an-auditor"),
    access.OwnCase: lambda error: Problem("own-case"),
    access.NotTheAuthor: lambda error: Problem("not-the-author"),
    CaseNotFound: lambda error: Problem("case-not-found"),
    cases.NotAsked: lambda error: Problem("not-asked"),
    cases.TextNotFound: lambda error: Problem("text-not-found"),
    cases.NoSuchEvent: lambda error: Problem("event-not-found", {}, {"version": error.version}),
    cases.AlreadyDisputed: lambda error: Problem("already-disputed", {}, {"case_id": error.case_id.hex()}),
    cases.TooManyDisputes: lambda error: Problem("too-many-disputes"),
    cases.TooLate: lambda error: Problem("too-late", {}, {"until": _moment(error.until_ms)}),
    cases.AlreadyAnswered: lambda error: Problem("already-answered"),
    cases.WrongState: lambda error: Problem(
        "wrong-case-state",
        {"state": error.state, "needed": error.needed},
        {"state": error.state, "needed": error.needed},
    ),
    cases.CaseUnsound: lambda error: Problem(
        "case-not-sound", {}, {"grade": error.case.grade, "event": error.case.first_bad}
    ),
    cases.CannotRule: lambda error: Problem("cannot-rule", {}, {"reason": error.why}),
    Archived: lambda error: Problem("archived"),
    Damaged: lambda error: Problem("record-not-sound", {}, {"grade": "DIVERGED", "event": None}),
    OutcomeUnknown: lambda error: Problem("outcome-unknown", headers={"Retry-After": "1"}),
    Unavailable: _unavailable,
}


def problem_of(error: Exception, language: str) -> Problem | None:
    """The problem that an error is told as; None where nobody foresaw it. `Stale` needs the log: see play.py."""
    if isinstance(error, Problem):
        return error
    if isinstance(error, Illegal):
        return illegal(error, language, words(language).refusal(error.reason, error.details))
    if isinstance(error, HTTPException):
        return _http(error)
    mapped = next((_MAPPED[kind] for kind in type(error).__mro__ if kind in _MAPPED), None)
    return None if mapped is None else mapped(error)


def illegal(error: Illegal, language: str, message: str, **members: Any) -> Problem:
    """What the rules refuse: reason code, message, rule paragraph, and what the message names."""
    facts = {"reason": error.reason, "message": message, "rule": error.rule, "details": error.details}
    return Problem("illegal", {"message": message, "rule": error.rule}, {**facts, **members})


def _http(error: HTTPException) -> Problem | None:
    headers = {name: value for name, value in error.get_headers() if name in ("Allow", "Retry-After")}
    match error.code:
        case 404:
            return Problem("not-found")
        case 405:
            return Problem("method-not-allowed", headers=headers)
        case 413:
            return Problem("body-too-large")
        case 415:
            return Problem("unsupported-media-type")
        case 400:
            return Problem("bad-query")
    return None


def pointer_of(message: str, root: str = "") -> tuple[str, str]:
    """msgspec's ``... - at `$.options.traps` `` as (JSON pointer, what is wrong)."""
    detail, _, path = message.partition(" - at `$")
    steps = path.rstrip("`").replace("[...]", "").replace("[", ".").replace("]", "").split(".")
    return root + "".join(f"/{step}" for step in steps if step), detail
