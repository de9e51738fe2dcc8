"""Play: the state, what a seat may do, doing it, resigning, claiming an absent seat's turn."""

import re
from collections.abc import Callable
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Union

import msgspec
from flask import Response, request
from msgspec import UNSET

from engine.protocol import Action, Illegal, Rules
from engine.registry import RULESETS
from events.signing import Sealed
from replay.position import OPEN, NotYourTurn, Position
from replay.words import Context, words
from service import commands
from service.access import NotYourSeat, View, WhichSeat, acting_seat
from service.api import present, problems, shapes
from service.api.problems import Problem
from service.api.routing import Answer, Api, Call, address, after_writing, not_modified, reply, sent, tagged, unchanged
from service.api.signed import sealed_of
from service.api.tables import at, idempotency_key, seen
from service.commands import Accepted, Stale
from service.positions import Game

if TYPE_CHECKING:
    from service.bootstrap import Deps

api = Api()
MISSED: Final = 64
"""Most events that a stale act is told of."""
_IF_MATCH = re.compile(r'"(\d{1,9})(?:\.[\w.-]*)?"', re.ASCII)
_SIGNED: Final = ("signature-required", "signature-unexpected", "signature-wrong")
_NOT_PLAYED: Final = (
    "game-not-found", "wrong-status", "not-your-seat", "which-seat", "record-not-sound", "archived", "key-missing",
    "outcome-unknown", "game-paused",
)  # fmt: skip


def asked_seat(call: Call) -> int | None:
    """``?seat=``."""
    return None if call.query.seat is UNSET else call.query.seat


def _held(call: Call, game_id: bytes, version: int) -> str:
    """The entity tag of what this caller is shown of a version: it can be told without folding."""
    seat = asked_seat(call)
    player = call.caller.player
    return tagged(
        version,
        None if seat is None else f"s{seat}",
        call.language,
        None if player is None else f"p{player.hex()[:12]}",
    )


def _fresh(call: Call, game_id: bytes) -> Response | tuple[View, str]:
    """304 before anything is folded, where that can be; else the view and its tag."""
    deps = call.deps
    if "If-None-Match" in request.headers and deps.positions.is_open_to_all(game_id):
        tag = _held(call, game_id, deps.log.head(game_id).version)
        if unchanged(tag):
            return not_modified(tag)
    view = seen(call, game_id).watched()
    tag = _held(call, game_id, view.version)
    return not_modified(tag) if unchanged(tag) else (view, tag)


@api.route(
    "GET",
    "/v1/games/<id:game_id>/state",
    tag="play",
    query=shapes.SeatQuery,
    returns=shapes.StateOut,
    problems=("game-not-found", "watching-forbidden", "not-your-seat"),
    headers=("ETag",),
    takes=("If-None-Match",),
    statuses={304: ("The game has not moved on.", None)},
)
def show_state(call: Call, game_id: bytes) -> Response:
    """The state as the caller may see it, with the legal actions of the caller's seat."""
    fresh = _fresh(call, game_id)
    if isinstance(fresh, Response):
        return fresh
    view, tag = fresh
    position, seat = at(call, view), view.seat(asked_seat(call))
    context = Context.of(position, present.player_names(call.deps, position))
    shown = shapes.StateOut(
        version=position.version,
        status=position.status,  # type: ignore[arg-type] # one of STATUSES
        seat=seat,
        to_act=position.to_act,
        state=state_of(position, seat),
        fingerprint=None if (fingerprint := position.fingerprint) is None else fingerprint.hex(),
        grade=position.grade,  # type: ignore[arg-type] # one of three
        actions=present.actions(position, seat, context, call.language),
        choices=present.choices(position, seat, context, call.language),
    )
    return reply(shown, headers={"ETag": tag}, language=call.language)


def state_of(position: Position, seat: int | None) -> dict[str, Any] | None:
    """The state as a seat, or a watcher, may see it; None where there is none."""
    return None if position.rules is None or position.state is None else position.rules.view(position.state, seat)


@api.route(
    "GET",
    "/v1/games/<id:game_id>/actions",
    tag="play",
    query=shapes.SeatQuery,
    returns=shapes.Actions,
    problems=("game-not-found", "watching-forbidden", "not-your-seat"),
    headers=("ETag",),
    takes=("If-None-Match",),
    statuses={304: ("The game has not moved on.", None)},
)
def show_actions(call: Call, game_id: bytes) -> Response:
    """What the caller's seat may do now, and why it may not do what one would naturally click.

    `target` names the element of the picture. `choices` are parametric actions: what may go into which field.
    """
    fresh = _fresh(call, game_id)
    if isinstance(fresh, Response):
        return fresh
    view, tag = fresh
    position, seat = at(call, view), view.seat(asked_seat(call))
    context = Context.of(position, present.player_names(call.deps, position))
    shown = shapes.Actions(
        version=position.version,
        seat=seat,
        actions=present.actions(position, seat, context, call.language),
        choices=present.choices(position, seat, context, call.language),
        refused=present.refused(position, seat, context, call.language),
    )
    return reply(shown, headers={"ETag": tag}, language=call.language)


# -- acting ----------------------------------------------------------------------------------------------------------


@api.route(
    "POST",
    "/v1/games/<id:game_id>/actions",
    tag="play",
    auth="recent player",
    query=shapes.ActQuery,
    body=shapes.NewAction,
    returns=shapes.Acted,
    status=201,
    problems=(
        *_NOT_PLAYED, "not-your-turn", "illegal", "stale", "precondition-required", "expectations-differ",
        "idempotency-key-reused", "bad-header", *_SIGNED,
    ),
    headers=("ETag", "Idempotency-Replayed"),
    takes=("If-Match", "Idempotency-Key"),
    statuses={200: ("The dry run's answer: it would be accepted.", shapes.Checked)},
)  # fmt: skip
def act(call: Call, game_id: bytes) -> Response | Answer:
    """Act: the event, once it is durable, with the game after it.

    Say which version the action is meant for, by `expected_version` or If-Match. With an Idempotency-Key a retry gets
    the same answer, however late. `check=1` only asks whether it would be accepted.

    A seat in self-custody sends what it signed, which says all of this, as `signed` with its `signature`.
    """
    if (sealed := sealed_of(call.body, "act")) is not None:
        return _act_signed(call, game_id, sealed)
    if call.body.action is UNSET:
        raise _without("action")
    deps, key, expected = call.deps, idempotency_key(), _expected(call.body.expected_version)
    game, asked = deps.positions.remembered(game_id), asked_seat(call)
    # Seats change hands until the start; and whose turn it is, where the caller holds several, is not what it was.
    if game is None or game.position.status == OPEN or (asked is None and game.version < expected):
        game = seen(call, game_id).game
    try:
        seat = acting_seat(game.position, call.caller, asked)
    except (NotYourSeat, WhichSeat):  # as far as was remembered
        game = seen(call, game_id).game
        try:
            seat = acting_seat(game.position, call.caller, asked)
        except (NotYourSeat, WhichSeat):
            if (before := _before(call, game, key)) is None:
                raise
            return _accepted(call, before)
    rules = game.position.rules
    if rules is None:
        raise commands.Unsound(game)
    try:
        action = parse(rules, call.body.action)
        if call.query.check == "1":
            deps.limits.admit("reads", call.player, address(deps))
            game = deps.positions.load(game_id)
            commands.not_paused(deps, game.position)
            commands.check(game, seat, action, expected)
            return reply(shapes.Checked(version=game.version, seat=seat, legal=True))
        done = commands.submit(deps, game_id, seat, action, expected, key, call.player)
    except Stale:
        if (before := _before(call, game, key)) is None:
            raise
        return _accepted(call, before)
    except Illegal as error:
        raise _illegal(call, game_id, seat, error) from error
    return _accepted(call, done)


def _without(member: str) -> Problem:
    detail = f"Object missing required field `{member}`"
    return Problem("invalid-body", {}, {"errors": [{"pointer": "", "detail": detail}]})


def _act_signed(call: Call, game_id: bytes, sealed: Sealed) -> Answer:
    if call.body.action is not UNSET or call.body.expected_version is not UNSET:
        raise Problem("invalid-body", {}, {"errors": [{"pointer": "/signed", "detail": "nothing goes beside it"}]})
    game, signed = seen(call, game_id).game, sealed.action
    seat = acting_seat(game.position, call.caller, signed.seat)
    if game.position.rules is None:
        raise commands.Unsound(game)
    try:
        action = game.position.rules.parse(str(signed.name), signed.args)
        return _accepted(call, commands.act_signed(call.deps, game_id, action, sealed, call.player))
    except Illegal as error:
        raise _illegal(call, game_id, seat, error) from error


def _before(call: Call, game: Game, key: str | None) -> Accepted | None:
    """What an earlier request with this key was answered, where the seat it meant is not plain any more."""
    if key is None or game.position.rules is None:
        return None
    try:
        action = parse(game.position.rules, call.body.action)
    except Illegal:
        return None
    return commands.answered_before(call.deps, game.id, call.player, asked_seat(call), action, key)


def _expected(given: Any) -> int:
    """The version that the act is meant for, from the body or If-Match.

    :raises Problem: neither says so, they differ, or the header is not one strong tag of a version.
    """
    header = sent("HTTP_IF_MATCH")
    matched = None
    if header is not None and header.strip() != "*":
        if (found := _IF_MATCH.fullmatch(header.strip())) is None:
            detail = 'one strong entity tag that begins with a version: "12"'
            raise Problem("bad-header", {}, {"errors": [{"header": "If-Match", "detail": detail}]})
        matched = int(found[1])
    if given is UNSET:
        if matched is None:
            raise Problem("precondition-required")
        return matched
    if matched is not None and matched != given:
        raise Problem("expectations-differ", {"body": given, "header": matched})
    return int(given)


@cache
def _actions_of(ruleset: str) -> msgspec.json.Decoder[Action]:
    return msgspec.json.Decoder(Union[tuple(RULESETS[ruleset].actions.values())])  # noqa: UP007


def parse(rules: Rules[Any], data: msgspec.Raw) -> Action:
    """The typed action of a request.

    :raises Illegal: ``unknown-action`` or ``malformed-action``.
    :raises Problem: it is no JSON object with a type.
    """
    try:
        return _actions_of(rules.id).decode(data)
    except (msgspec.DecodeError, RecursionError):
        pass  # told in the words of the rules, or below
    try:
        members = msgspec.json.decode(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:  # not UTF-8, too large, or too deep
        errors = [{"pointer": "/action", "detail": "it cannot be read"}]
        raise Problem("malformed-json", {}, {"errors": errors}) from error
    if not isinstance(members, dict) or not isinstance(members.get("type"), str):
        detail = "an object with a string `type`"
        raise Problem("invalid-body", {}, {"errors": [{"pointer": "/action", "detail": detail}]})
    return rules.parse(members.pop("type"), members)


def _accepted(call: Call, done: Accepted) -> Answer:
    position = done.position
    with after_writing():
        names = present.player_names(call.deps, position)
    said = words(call.language).event(done.event, done.happenings, Context.of(position, names))
    shown = shapes.Acted(
        **present.event_fields(done.event, said),
        version=position.version,
        head=position.head.hex(),
        status=position.status,  # type: ignore[arg-type]
        to_act=position.to_act,
        outcome=present.outcome(position.outcome),
        receipt=call.deps.notary.receipt(position.game_id, position.version, position.head),
    )
    headers = {"ETag": tagged(position.version)}
    if done.again:
        headers["Idempotency-Replayed"] = "true"
    return Answer(shown, 201, headers, call.language)


def _illegal(call: Call, game_id: bytes, seat: int, error: Illegal) -> Problem:
    """What the rules refuse, with what they would allow."""
    position = call.deps.positions.load(game_id).position
    context = Context.of(position, present.player_names(call.deps, position))
    message = words(call.language).refusal(error.reason, error.details, context)
    return problems.illegal(
        error,
        call.language,
        message,
        version=position.version,
        actions=present.actions(position, seat, context, call.language),
        choices=present.choices(position, seat, context, call.language),
    )


def stale(deps: "Deps", error: Stale, language: str) -> Problem:
    """412, with the events that the caller missed. Only who holds a seat comes here, and may see them all."""
    game = error.game
    missed: list[shapes.EventOut] = []
    if error.expected < game.version:
        names = present.player_names(deps, game.position)
        upto = min(game.version, error.expected + MISSED)
        for position, event, happenings in deps.positions.walk(game.id, error.expected, upto):
            missed.append(present.event(position, event, happenings, names, language))
    members = {
        "expected": error.expected,
        "version": game.version,
        "head": game.position.head.hex(),
        "events": missed,
    }
    facts = {"expected": error.expected, "version": game.version}
    return Problem("stale", facts, members, {"ETag": tagged(game.version)})


# -- leaving and absence ---------------------------------------------------------------------------------------------


@api.route(
    "POST",
    "/v1/games/<id:game_id>/seats/<version:seat>/resign",
    tag="play",
    auth="player",
    body=shapes.PerhapsSigned,
    body_optional=True,
    returns=shapes.Acted,
    status=201,
    problems=(*_NOT_PLAYED, *_SIGNED, "seat-not-found", "illegal", "stale"),
    headers=("ETag", "Idempotency-Replayed"),
)
def resign(call: Call, game_id: bytes, seat: int) -> Answer:
    """Leave a running game for good: the seat keeps what it won, blocks nobody, and is skipped from now on.

    A seat in self-custody sends what it signed.
    """
    _own(call, game_id, seat)
    if (sealed := sealed_of(call.body, "resign", seat)) is not None:
        return _accepted(call, commands.resign_signed(call.deps, game_id, sealed, call.player))
    return _accepted(call, commands.resign(call.deps, game_id, seat, call.player))


def _own(call: Call, game_id: bytes, seat: int) -> None:
    """The seat is there, and the caller's.

    :raises NoSuchSeat, NotYourSeat: it is not.
    """
    position = seen(call, game_id).game.position
    if not 1 <= seat <= len(position.seats):
        raise commands.NoSuchSeat(seat, len(position.seats))
    acting_seat(position, call.caller, seat)


@api.route(
    "POST",
    "/v1/games/<id:game_id>/reveal",
    tag="play",
    auth="player",
    body=shapes.SignedBody,
    returns=shapes.Acted,
    status=201,
    problems=(*_NOT_PLAYED, "signature-wrong", "stale", "idempotency-key-reused"),
    headers=("ETag", "Idempotency-Replayed"),
)
def reveal(call: Call, game_id: bytes) -> Answer:
    """Reveal the first link of a seat in self-custody, once the table is started. Behind the last one play begins.

    A seat that does not within `reveal_seconds` is freed, and the table is open again.
    """
    return _sealed(call, game_id, "reveal", commands.reveal)


@api.route(
    "POST",
    "/v1/games/<id:game_id>/signoff",
    tag="play",
    auth="player",
    body=shapes.SignedBody,
    returns=shapes.Acted,
    status=201,
    problems=(*_NOT_PLAYED, "signature-wrong", "stale", "idempotency-key-reused"),
    headers=("ETag", "Idempotency-Replayed"),
)
def sign_off(call: Call, game_id: bytes) -> Answer:
    """Vouch for how a game ended, by a seat in self-custody. Behind the last one the game is closed.

    A game is closed after `signoff_seconds` without an event, whoever signed off.
    """
    return _sealed(call, game_id, "signoff", commands.sign_off)


def _sealed(call: Call, game_id: bytes, kind: str, command: Callable[..., Accepted]) -> Answer:
    sealed = sealed_of(call.body, kind)
    assert sealed is not None, "the body's form asks for both members"
    _own(call, game_id, sealed.action.seat)
    return _accepted(call, command(call.deps, game_id, sealed, call.player))


@api.route(
    "POST",
    "/v1/games/<id:game_id>/seats/<version:seat>/custody",
    tag="play",
    auth="player",
    returns=shapes.Acted,
    status=201,
    problems=(*_NOT_PLAYED, "seat-not-found", "signature-unexpected"),
    headers=("ETag",),
)
def hand_over(call: Call, game_id: bytes, seat: int) -> Answer:
    """Give up self-custody: from here on the caller's seat plays unsigned, as after the loss of its key.

    Every verdict on the game says so.
    """
    _own(call, game_id, seat)
    return _accepted(call, commands.hand_over(call.deps, game_id, seat, call.player))


@api.route(
    "POST",
    "/v1/games/<id:game_id>/timeout",
    tag="play",
    auth="player",
    body=shapes.Absent,
    body_optional=True,
    returns=shapes.Acted,
    status=201,
    problems=(*_NOT_PLAYED, "not-your-turn", "no-clock", "too-early"),
    headers=("ETag",),
)
def claim_turn(call: Call, game_id: bytes) -> Answer:
    """Claim the turn of an absent seat, once the table's `turn_seconds` are over.

    Any seat may. What follows was chosen at creation (`absence`): the turn passes, a bot plays on, or the table is
    abandoned. At a table that was started and waits for links: free a seat that did not reveal its own in
    `reveal_seconds`.
    """
    view = seen(call, game_id)
    if not view.seats:
        view.seat(1)  # who holds no seat may not
    seat = None if call.body.seat is UNSET else call.body.seat
    if seat is not None and view.game.position.status == "playing" and seat not in view.game.position.to_act:
        raise NotYourTurn(seat)
    draft, _ = commands.time_out(call.deps, game_id, seat)
    return _accepted(call, Accepted(draft.events[0], draft.position, draft.happenings))
