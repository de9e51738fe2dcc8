"""Reasons: why a value is what it is, and what is different between positions, games and rulesets. All of it is a
report: nothing is written."""

from typing import Any

import msgspec
from flask import Response
from msgspec import UNSET

from engine.registry import RULESETS, game_name
from replay.diff import Side, between, parting, under
from replay.facts import NoSuchPath
from replay.page import grade_json, step_json
from replay.why import Cause, why
from service.api import present, shapes
from service.api.problems import Problem
from service.api.record import people
from service.api.routing import Api, Call, reply
from service.api.tables import seen

api = Api()
_READ = ("game-not-found", "watching-forbidden", "position-not-found")


@api.route(
    "GET",
    "/v1/games/<id:game_id>/positions/<version:version>/why",
    tag="record",
    query=shapes.WhyQuery,
    returns=shapes.WhyOut,
    problems=(*_READ, "path-not-found", "not-your-seat"),
)
def show_why(call: Call, game_id: bytes, version: int) -> Response:
    """The events that made a value of the state: each with its words, its draws in words, and the rules it follows.

    `path` names the value in the state of the position: `seats/2/hp`, `things/1,0`, `seats/1/weapons` for whatever
    changed in there. What stands in a list by its id is named by that id and counted; what stands there by its place is
    numbered from 1. The list with an entry for each seat may be called `seats` in every game.
    """
    query, view = call.query, seen(call, game_id).watched()
    if version > view.version:
        raise Problem("position-not-found")
    seat = None if query.seat is UNSET else view.seat(query.seat)
    with call.deps.positions.replay(game_id, version) as replay:
        names = call.deps.accounts.names(people(replay))
        try:
            found = why(
                replay, version, query.path, viewer=seat, language=call.language, names=names, limit=query.limit
            )
        except NoSuchPath as error:
            raise Problem(
                "path-not-found",
                {"path": error.path, "known": ", ".join(error.known[:40]) or "-"},
                {"path": error.path, "at": error.at, "known": error.known},
            ) from error
    source = found.forked_from
    shown = shapes.WhyOut(
        version=version,
        path=found.path,
        grade=msgspec.convert(grade_json(found.grade), shapes.GradeOut),
        causes=[_cause(cause) for cause in found.causes],
        earlier=found.earlier,
        forked_from=None if source is None else shapes.Source(game_id=source[0].hex(), version=source[1]),
        value=found.value,
    )
    return reply(shown, language=call.language)


def _cause(cause: Cause) -> shapes.CauseOut:
    fields = present.event_fields(cause.event, "")
    drawn = zip(fields["draws"], cause.draws, strict=False)
    return shapes.CauseOut(
        seq=cause.event.seq,
        kind=cause.event.kind,
        seat=cause.event.seat,
        at=fields["at"],
        asked=cause.asked,
        draws=[shapes.ToldDraw(**msgspec.structs.asdict(draw), words=words) for draw, words in drawn],
        steps=[msgspec.convert(step_json(step), shapes.StepOut) for step in cause.steps],
        rules=cause.rules,
        old=cause.old,
        new=cause.new,
    )


@api.route(
    "GET",
    "/v1/games/<id:game_id>/diff",
    tag="record",
    query=shapes.DiffQuery,
    returns=shapes.DiffOut,
    problems=(*_READ, "not-your-seat"),
)
def show_diff(call: Call, game_id: bytes) -> Response:
    """What is different between two positions of a game. Each `path` can be asked about with `why`.

    Without `new` it is the newest one that may be seen. A part that is not there is left out.
    """
    query, view = call.query, seen(call, game_id).watched()
    new = view.version if query.new is UNSET else query.new
    if max(query.old, new) > view.version:
        raise Problem("position-not-found")
    seat = None if query.seat is UNSET else view.seat(query.seat)
    with call.deps.positions.replay(game_id, view.version) as replay:
        changes = between(replay, query.old, new, seat)
    return reply(shapes.DiffOut(old=query.old, new=new, changes=_changes(changes)))


@api.route(
    "GET",
    "/v1/games/<id:game_id>/divergence/<id:other_id>",
    tag="record",
    returns=shapes.PartingOut,
    problems=_READ,
)
def show_divergence(call: Call, game_id: bytes, other_id: bytes) -> Response:
    """How far two games are the same, and what each went on with where they part.

    Compared are the events of play, whoever sat there. A fork is held against its source from where it began.
    """
    view, other = seen(call, game_id).watched(), seen(call, other_id).watched()
    positions = call.deps.positions
    with positions.replay(game_id, view.version) as first, positions.replay(other_id, other.version) as second:
        names = call.deps.accounts.names(people(first) | people(second))
        parted = parting(first, second, call.language, names, (view.version, other.version))
    shown = shapes.PartingOut(
        common=parted.common,
        upto=list(parted.upto),
        setup=_changes(parted.setup),
        first=_side(parted.first),
        second=_side(parted.second),
        changes=_changes(parted.changes),
    )
    return reply(shown, language=call.language)


def _side(side: Side | None) -> shapes.SideOut | None:
    return None if side is None else msgspec.convert(msgspec.structs.asdict(side), shapes.SideOut)


@api.route(
    "GET",
    "/v1/games/<id:game_id>/under/<ruleset:ruleset>",
    tag="record",
    returns=shapes.UnderOut,
    problems=(*_READ, "ruleset-not-found", "other-game"),
)
def show_under(call: Call, game_id: bytes, ruleset: str) -> Response:
    """What would another version of the rules have said? A report: the game stays what it was.

    Each event of play is put to the other rules at the position at which it was played. From the first one of which
    they say otherwise the game would have been another one.
    """
    view = seen(call, game_id).watched()
    rules, create = RULESETS.get(ruleset), view.game.position.create
    if rules is None:
        raise Problem("ruleset-not-found")
    if create is None or game_name(create.rules) != game_name(rules.id):
        raise Problem("other-game", {"ruleset": rules.id})
    with call.deps.positions.replay(game_id, view.version) as replay:
        names = call.deps.accounts.names(people(replay))
        report = under(replay, rules, call.language, names, view.version)
    shown = shapes.UnderOut(
        ruleset=report.ruleset,
        other=report.other,
        asked=report.asked,
        otherwise=[
            shapes.OtherwiseOut(
                version=one.version,
                sort=one.sort,
                words=one.words,
                other=one.other,
                rule=one.rule or None,
                changes=_changes(one.changes),
            )
            for one in report.otherwise
        ],
    )
    return reply(shown, language=call.language)


def _changes(changes: list[Any]) -> list[shapes.ChangeOut]:
    return [shapes.ChangeOut(path=change.path, old=change.old, new=change.new) for change in changes]
