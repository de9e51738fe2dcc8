"""Disputes: an event is disputed, the other seats answer, an auditor rules. The auditor's desk is the list of them."""

from collections.abc import Iterator, Sequence
from typing import Any, Final
from urllib.parse import urlencode

import msgspec
from flask import Response, request
from msgspec import UNSET

from engine.protocol import Outcome
from events.case_bodies import Result
from events.event import Event, event_hash
from events.log import Archived, Damage, Damaged, whole
from replay.case import CORRECTED, Case, Statement, effective
from replay.words import Context, words
from service.access import (
    NotAnAuditor,
    NotTheAuthor,
    View,
    acting_seat,
    delay_ms,
    disputing,
    may_rule,
    reads_statements,
)
from service.api import case_shapes, present, shapes
from service.api.routing import Api, Call, after_writing, reply
from service.api.tables import seen
from service.clients import self_custody
from service.disputes import cases
from service.disputes.casebook import CaseNotFound
from service.index import case_row_of, seen_cases
from service.positions import NotFound
from service.proofs import bundles

api = Api()
AROUND: Final = 3
"""Events before and behind the disputed one that a case shows."""
_STORED: Final = self_custody.MEDIA_TYPE
_CASE: Final = ("case-not-found", "watching-forbidden")
_WRITES: Final = (*_CASE, "wrong-case-state", "case-not-sound", "outcome-unknown")


def found(call: Call, case_id: bytes) -> tuple[Case, View]:
    """A case, and its game as far as the caller may see it.

    :raises CaseNotFound: the caller may not know of it.
    """
    case = call.deps.cases.load(case_id)
    assert case.about is not None, "else there is none"
    try:
        view = seen(call, case.about[0]).watched()
    except (NotFound, Archived, Damaged) as error:
        raise CaseNotFound(case_id.hex()) from error
    if case.about[1] > view.version:
        raise CaseNotFound(case_id.hex())
    return case, view


# -- disputes of a game ----------------------------------------------------------------------------------------------


@api.route(
    "POST",
    "/v1/games/<id:game_id>/disputes",
    tag="disputes",
    auth="player",
    body=case_shapes.NewDispute,
    returns=case_shapes.CaseWritten,
    status=201,
    problems=(
        "game-not-found", "watching-forbidden", "wrong-status", "event-not-found", "not-a-party", "not-your-seat",
        "seat-withdrew", "already-disputed", "too-many-disputes", "too-late", "archived", "outcome-unknown",
    ),
    headers=("Location",),
)  # fmt: skip
def open_dispute(call: Call, game_id: bytes) -> Response:
    """Dispute an event of a game: a case is opened, and the service's own verdict on the game attached to it.

    For a seat that has not withdrawn, and for auditors. Each event can be disputed once, a player may have 3 disputes
    at one game that are not closed, and a game can be disputed for so many days after its end. The other seats are
    asked to answer. The game goes on, unless its option `dispute_pauses` says that it waits for the ruling.
    """
    deps, body = call.deps, call.body
    view = seen(call, game_id).watched()
    withdrawn = _withdrawn(call, game_id) if view.seats else set[int]()
    asked = None if body.seat is UNSET else body.seat
    party = disputing(view.game.position, call.caller, withdrawn, asked)
    case = cases.dispute(deps, view.game, party, body.event, body.text)
    return _written(call, case, view, 201)


def _withdrawn(call: Call, game_id: bytes) -> set[int]:
    """The seats that left a running game for good."""
    items = whole(call.deps.log, game_id)
    return {item.seat for item in items if isinstance(item, Event) and item.kind == "resign" and item.seat is not None}


@api.route(
    "GET",
    "/v1/games/<id:game_id>/disputes",
    tag="disputes",
    returns=case_shapes.CaseList,
    problems=("game-not-found", "watching-forbidden"),
)
def list_disputes(call: Call, game_id: bytes) -> Response:
    """The disputes of a game, oldest first."""
    view = seen(call, game_id).watched()
    known = seen_cases(call.deps.cases.of_game(game_id), view.version)
    return reply(case_shapes.CaseList(cases=[present.case_brief(case_row_of(case)) for case in known], next=None))


# -- the desk --------------------------------------------------------------------------------------------------------


@api.route(
    "GET",
    "/v1/cases",
    tag="disputes",
    auth="player",
    query=case_shapes.CasesQuery,
    returns=case_shapes.CaseList,
    problems=("not-an-auditor",),
    headers=("Link",),
)
def list_cases(call: Call) -> Response:
    """The auditor's desk: the cases that wait, those that have waited longest first. For auditors and operators."""
    if not call.caller.sees_all:
        raise NotAnAuditor
    query, deps = call.query, call.deps
    deps.index.catch_up()
    page = deps.index.cases(
        None if query.state is UNSET else query.state, query.limit, None if query.cursor is UNSET else query.cursor
    )
    headers = {}
    if page.next is not None:
        asked = {name: value for name, value in request.args.items() if name != "cursor"} | {"cursor": page.next}
        headers["Link"] = f'</v1/cases?{urlencode(asked)}>; rel="next"'
    shown = case_shapes.CaseList(cases=[present.case_brief(row) for row in page.rows], next=page.next)
    return reply(shown, headers=headers)


@api.route(
    "GET",
    "/v1/cases/<id:case_id>",
    tag="disputes",
    returns=case_shapes.CaseOut,
    problems=_CASE,
)
def show_case(call: Call, case_id: bytes) -> Response:
    """A case: the event, who knew and did what when, what was said and ruled, what counts now.

    Whoever may see the game may see that it is disputed and what was ruled, with the reasons. What the parties said is
    shown to the seats, to auditors and to operators; `access` says which of the latter read what is not public.
    """
    case, view = found(call, case_id)
    return reply(_shown(call, case, view), language=call.language)


@api.route(
    "GET",
    "/v1/cases/<id:case_id>/events",
    tag="disputes",
    query=case_shapes.CaseEventsQuery,
    returns=case_shapes.CaseEvents,
    problems=_CASE,
    media={_STORED: bytes},
)
def show_case_events(call: Call, case_id: bytes) -> Response:
    """The events of a case: a chain of its own. Texts are not in them, only their salted hashes.

    With `Accept: application/vnd.annals.events` the stored bytes, each event behind its length as u32 big endian.
    """
    found(call, case_id)
    after, limit = (0 if call.query.after is UNSET else call.query.after), call.query.limit
    events = [item for item in whole(call.deps.log, case_id, after) if isinstance(item, Event)]
    if request.accept_mimetypes.best_match(["application/json", _STORED], default="application/json") == _STORED:
        framed = self_custody.framed(event.data for event in events[:limit])
        return Response(framed, headers={"Cache-Control": "private, no-cache"}, content_type=_STORED)
    shown = [
        case_shapes.CaseEventOut(
            seq=event.seq,
            kind=event.kind,
            seat=event.seat,
            at=present.rfc3339(event.t_ms),
            prev=event.prev.hex(),
            hash=event.hash.hex(),
            facts=present.hexed(event.body),
        )
        for event in events[:limit]
    ]
    return reply(case_shapes.CaseEvents(events=shown, next=shown[-1].seq if len(events) > limit else None))


@api.route(
    "GET",
    "/v1/cases/<id:case_id>/audit",
    tag="disputes",
    returns=shapes.VerdictOut,
    problems=_CASE,
)
def show_case_audit(call: Call, case_id: bytes) -> Response:
    """Does the record of the case hold? Form, chain, order, deadlines and the log of games, looked at anew."""
    case, _ = found(call, case_id)
    assert case.about is not None
    disputed = _stored_hash(call, case.about[0], case.about[1])
    return reply(bundles.case_verdict(call.deps, case_id, call.language, disputed), language=call.language)


# -- hearing and ruling ----------------------------------------------------------------------------------------------


@api.route(
    "POST",
    "/v1/cases/<id:case_id>/answers",
    tag="disputes",
    auth="player",
    body=case_shapes.NewAnswer,
    returns=case_shapes.CaseWritten,
    status=201,
    problems=(*_WRITES, "not-asked", "not-your-seat", "already-answered", "too-late"),
)
def answer_dispute(call: Call, case_id: bytes) -> Response:
    """Answer a dispute, once for each seat that was asked, until its deadline."""
    case, view = found(call, case_id)
    seats: Sequence[int] = view.seats
    if call.body.seat is not UNSET:
        seats = [acting_seat(view.game.position, call.caller, call.body.seat)]
    case = cases.answer(call.deps, case.case_id, call.player, seats, call.body.text)
    return _written(call, case, view, 201)


@api.route(
    "POST",
    "/v1/cases/<id:case_id>/ruling",
    tag="disputes",
    auth="player",
    body=case_shapes.NewRuling,
    returns=case_shapes.CaseWritten,
    status=201,
    problems=(*_WRITES, "not-an-auditor", "own-case", "cannot-rule", "position-not-found", "record-not-sound",
              "key-missing"),
)  # fmt: skip
def rule_case(call: Call, case_id: bytes) -> Response:
    """Rule, once everybody who was asked has answered or let the deadline pass. For auditors who are no party.

    `uphold`: what was recorded counts. `void`: nothing does; a game that is still played ends. `correct`: another
    result counts. `resume`: a new game goes on from `version`, in which everybody has the seat they had there; the
    disputed game is void. The record of the disputed game stays as it is.
    """
    case, view = found(call, case_id)
    body = call.body
    may_rule(view.game.position, call.caller, None if case.dispute is None else case.dispute.player)
    result = None if body.result is UNSET else Result(sorted(set(body.result.winners)), body.result.scores)
    version = None if body.version is UNSET else body.version
    case = cases.rule(call.deps, case_id, call.player, body.ruling, body.text, result, version)
    return _written(call, case, view, 201)


@api.route(
    "POST",
    "/v1/cases/<id:case_id>/withdraw",
    tag="disputes",
    auth="player",
    returns=case_shapes.CaseWritten,
    problems=(*_WRITES, "not-the-author"),
)
def withdraw_dispute(call: Call, case_id: bytes) -> Response:
    """Withdraw a dispute before it is ruled. For who disputed the event."""
    case, view = found(call, case_id)
    if case.dispute is None or case.dispute.player != call.player:
        raise NotTheAuthor
    return _written(call, cases.withdraw(call.deps, case_id, call.player), view, 200)


@api.route(
    "DELETE",
    "/v1/cases/<id:case_id>/texts/<version:seq>",
    tag="disputes",
    auth="player",
    returns=case_shapes.Erased,
    problems=(*_CASE, "not-the-author", "text-not-found"),
)
def erase_text(call: Call, case_id: bytes, seq: int) -> Response:
    """Erase the text of a statement for ever; its salted hash stays in the chain. For its author and for operators."""
    case, _ = found(call, case_id)
    said = next((said for said in case.statements if said.seq == seq), None)
    if said is None:
        raise cases.TextNotFound(str(seq))
    if said.player != call.player and "operator" not in call.caller.roles:
        raise NotTheAuthor
    cases.erase(call.deps, case, seq)
    return reply(case_shapes.Erased(case_id=case_id.hex(), seq=seq, erased=True))


# -- what is shown ---------------------------------------------------------------------------------------------------


def _written(call: Call, case: Case, view: View, status: int) -> Response:
    """The case as it was just written, with the receipt of its last event."""
    receipt = call.deps.notary.receipt(case.case_id, case.version, case.head)
    with after_writing():
        brief = _shown(call, case, seen(call, view.game.id))  # a ruling may have ended it
    shown = case_shapes.CaseWritten(**msgspec.structs.asdict(brief), receipt=receipt)
    headers = {"Location": f"/v1/cases/{case.case_id.hex()}"} if case.version <= 2 else {}
    return reply(shown, status, headers, call.language)


def _shown(call: Call, case: Case, view: View) -> case_shapes.CaseOut:
    deps, position = call.deps, view.game.position
    assert case.about is not None
    game_id, seq, disputed = case.about
    brief = present.case_brief(case_row_of(case))
    base = f"/v1/games/{game_id.hex()}"
    links = {
        **brief.links,
        "events": f"/v1/cases/{brief.case_id}/events",
        "audit": f"/v1/cases/{brief.case_id}/audit",
        "game_audit": f"{base}/audit",
        "position_before": f"{base}/positions/{seq - 1}",
        "picture_before": f"{base}/positions/{seq - 1}.svg",
        "position_after": f"{base}/positions/{seq}",
        "picture_after": f"{base}/positions/{seq}.svg",
        "replay": f"{base}/replay?at={seq}",
    }
    if case.ruling is not None and case.ruling.resume is not UNSET:
        links["resumed_as"] = f"/v1/games/{case.ruling.resume[1].hex()}"
    refusals = (
        deps.refusals.of(game_id, None if call.caller.sees_all else call.caller.player) if call.caller.player else []
    )
    author = any(said.player == call.caller.player for said in case.statements)
    readable = reads_statements(position, call.caller, author)
    if call.caller.sees_all and not view.seats and not view.by_role:
        assert call.caller.player is not None
        deps.accesses.note(game_id, call.caller.player, request.endpoint or "")
    accesses = deps.accesses.of(game_id)
    names = deps.accounts.names({said.player for said in case.statements} | {access.player for access in accesses})
    texts = deps.cases.texts(case.case_id, [said.h for said in case.statements])
    whole_game = seen_cases(deps.cases.of_game(game_id), view.version)
    fields = {**msgspec.structs.asdict(brief), "links": links}
    return case_shapes.CaseOut(
        **fields,
        event_hash=disputed.hex(),
        event_fingerprint=_fingerprint(call, game_id, seq),
        event_holds=_stored_hash(call, game_id, seq) == disputed,
        version=case.version,
        head=case.head.hex(),
        seat=case.seat,
        player_id=None if case.dispute is None else case.dispute.player.hex(),
        asked=case.asked,
        to_answer=case.to_answer,
        silent=case.silent or [],
        verdict=_attached(case),
        statements=[_statement(said, texts, names, readable or said.kind == "ruling") for said in case.statements],
        ruled=_ruled(case),
        closed_as=None if case.closing is None else case.closing.status,
        recorded_status=position.status,  # type: ignore[arg-type] # one of STATUSES
        recorded_outcome=present.outcome(position.outcome),
        effective=present.effect(effective(position.status, position.outcome, whole_game)),
        around=list(_around(call, view, seq)),
        known_by=_known_by(call, view, seq),
        refusals=[
            case_shapes.KeptRefusal(at=present.rfc3339(one.t_ms), player_id=one.player.hex(), refusal=one.note)
            for one in refusals
        ],
        access=[
            case_shapes.AccessOut(
                player_id=access.player.hex(),
                name=names.get(access.player, ""),
                what=access.what,
                first_at=present.rfc3339(access.first_ms),
                last_at=present.rfc3339(access.last_ms),
                times=access.times,
            )
            for access in accesses
        ],
    )


def _attached(case: Case) -> case_shapes.AttachedVerdict | None:
    if case.dispute is None:
        return None
    code = None if case.dispute.code is UNSET else case.dispute.code
    return case_shapes.AttachedVerdict(verdict=case.dispute.verdict, code=code)


def _ruled(case: Case) -> case_shapes.RulingOut | None:
    ruling = case.ruling
    if ruling is None:
        return None
    result = resume = None
    if isinstance(ruling.result, Result):
        result = present.outcome(Outcome(CORRECTED, ruling.result.winners, ruling.result.scores))
    if ruling.resume is not UNSET:
        resume = case_shapes.ResumedOut(version=ruling.resume[0], game_id=ruling.resume[1].hex())
    return case_shapes.RulingOut(
        ruling=ruling.ruling,
        player_id=ruling.player.hex(),
        at=present.rfc3339(case.ruled_ms),
        result=result,
        resume=resume,
    )


def _statement(said: Statement, texts: dict[bytes, Any], names: dict[bytes, str], readable: bool) -> Any:
    kept = texts.get(said.h)
    shown = kept if readable else None
    return case_shapes.StatementOut(
        seq=said.seq,
        kind=said.kind,  # type: ignore[arg-type] # one of three
        seat=said.seat,
        player_id=said.player.hex(),
        name=names.get(said.player, ""),
        at=present.rfc3339(said.t_ms),
        hash=said.h.hex(),
        readable=readable,
        erased=kept is None,
        text=None if shown is None else shown.text,
        salt=None if shown is None else shown.salt.hex(),
        holds=None if kept is None else kept.h == said.h,
    )


def _around(call: Call, view: View, seq: int) -> Iterator[case_shapes.MomentOut]:
    """The events around the disputed one, in words, and when watchers could see each."""
    position = view.game.position
    create = position.create
    delay = 0 if create is None else delay_ms(create.watching)
    last = min(view.version, seq + AROUND)
    for then, event, happenings in call.deps.positions.walk(view.game.id, max(0, seq - AROUND - 1), last):
        said = words(call.language).event(event, happenings, Context.of(then, present.player_names(call.deps, then)))
        yield case_shapes.MomentOut(
            seq=event.seq,
            kind=event.kind,
            seat=event.seat,
            at=present.rfc3339(event.t_ms),
            watchers_at=None if delay is None else present.rfc3339(event.t_ms + delay),
            words=said,
        )


def _known_by(call: Call, view: View, seq: int) -> list[case_shapes.KnownOut]:
    """For each seat its first own event behind the disputed one."""
    waiting = {number for number, seat in view.game.position.seat_items() if seat.player is not None}
    found: dict[int, Event] = {}
    for item in whole(call.deps.log, view.game.id, seq):
        if not waiting - found.keys() or (isinstance(item, Event) and item.seq > view.version):
            break
        if isinstance(item, Event) and item.seat in waiting and item.kind in ("act", "resign", "signoff"):
            found.setdefault(item.seat or 0, item)
    return [
        case_shapes.KnownOut(
            seat=seat,
            event=found[seat].seq if seat in found else None,
            at=present.rfc3339(found[seat].t_ms) if seat in found else None,
            signed=seat in found and "g" in found[seat].body,
        )
        for seat in sorted(waiting)
    ]


def _stored(call: Call, game_id: bytes, seq: int) -> Event | bytes | None:
    """An event of a game, or its bytes where they cannot be read, if it has any."""
    for item in call.deps.log.read(game_id, seq - 1, 1).items:
        if isinstance(item, Event) and item.seq == seq:
            return item
        if isinstance(item, Damage) and item.place == f"{seq}-0":
            return item.data
    return None


def _stored_hash(call: Call, game_id: bytes, seq: int) -> bytes | None:
    match _stored(call, game_id, seq):
        case Event() as event:
            return event.hash
        case bytes() as data:
            return event_hash(data)
    return None


def _fingerprint(call: Call, game_id: bytes, seq: int) -> str | None:
    stored = _stored(call, game_id, seq)
    f = stored.body.get("f") if isinstance(stored, Event) else None
    return f.hex() if isinstance(f, bytes) and len(f) == 8 else None
