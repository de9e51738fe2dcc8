"""Luck: of a game's seats, of a player, of all dice. It is never a verdict."""

from typing import Any, Final

import msgspec
from flask import Response
from msgspec import UNSET

from replay.luck.drawing import draw
from replay.luck.report import AllLuck, GameLuck, game_luck
from service.accounts import UnknownPlayer
from service.api import shapes
from service.api.problems import Problem
from service.api.record import SVG, people
from service.api.routing import Api, Call, not_modified, reply, tagged, unchanged
from service.api.tables import seen

api = Api()
REGISTERED: Final = "docs/luck.md"


@api.route(
    "GET",
    "/v1/games/<id:game_id>/luck",
    tag="record",
    query=shapes.AtQuery,
    returns=shapes.LuckOut,
    problems=("game-not-found", "watching-forbidden", "position-not-found"),
    headers=("ETag",),
    takes=("If-None-Match",),
    statuses={304: ("It has not changed.", None)},
)
def show_luck(call: Call, game_id: bytes) -> Response:
    """What the dice of a game gave each seat, against what fair dice would have given: never a verdict.

    For each seat its rolls by each measure of the game, with the exact odds of as much or as little, what so many rolls
    could have shown, and lines over time of luck and score. `at` is the position up to which to look.
    """
    found = _report(call, game_id)
    if isinstance(found, Response):
        return found
    report, headers = found
    shown = shapes.LuckOut(
        game_id=game_id.hex(),
        version=report.version,
        ruleset=report.ruleset,
        draws=report.draws,
        recomputed=report.recomputed,
        tests=report.tests,
        registered=REGISTERED,
        seats=[
            shapes.SeatLuckOut(
                seat=seat.seat,
                name=seat.name,
                measures=[_plain(one, shapes.MeasuredOut) for one in seat.measures],
                rolls=[
                    shapes.RollOut(
                        version=roll.version,
                        measure=roll.measure,
                        got=roll.got,
                        expected=float(roll.lot.mean),
                        low=roll.lot.low,
                        weights=list(roll.lot.weights),
                    )
                    for roll in seat.rolls
                ],
            )
            for seat in report.seats
        ],
        lines=[_plain(line, shapes.LuckLineOut) for line in report.lines],
        dice=[_plain(one, shapes.TestedOut) for one in report.faces],
        words=report.words,
    )
    return reply(shown, headers=headers, language=call.language)


@api.route(
    "GET",
    "/v1/games/<id:game_id>/luck.svg",
    tag="record",
    query=shapes.LuckPictureQuery,
    returns=None,
    problems=("game-not-found", "watching-forbidden", "position-not-found"),
    headers=("ETag",),
    media={SVG: str},
    takes=("If-None-Match",),
    statuses={304: ("It has not changed.", None)},
)
def draw_luck(call: Call, game_id: bytes) -> Response:
    """The same as a picture: for each seat a line of its luck, and one of its score."""
    found = _report(call, game_id, call.query.theme)
    if isinstance(found, Response):
        return found
    report, headers = found
    style = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    headers |= {"Content-Language": call.language, "Content-Security-Policy": style}
    svg = draw(report, call.language, call.query.theme)
    return Response(svg, headers=headers, content_type=f"{SVG}; charset=utf-8")


def _report(call: Call, game_id: bytes, *variant: str) -> Response | tuple[GameLuck, dict[str, str]]:
    """304 where the caller has it already; else the report, and the headers of the answer."""
    view = seen(call, game_id).watched()
    version = view.version if call.query.at is UNSET else call.query.at
    if version > view.version:
        raise Problem("position-not-found")
    tag = tagged(version, "luck", call.language, *variant)
    headers = {"ETag": tag, "Cache-Control": "private, no-cache"}
    if unchanged(tag):
        return not_modified(tag)
    with call.deps.positions.replay(game_id, version) as replay:
        names = call.deps.accounts.names(people(replay))
        return game_luck(replay, version, call.language, names), headers


@api.route(
    "GET",
    "/v1/players/<id:player_id>/luck",
    tag="players",
    returns=shapes.AllLuckOut,
    problems=("player-not-found",),
)
def show_player_luck(call: Call, player_id: bytes) -> Response:
    """The luck of a player over their public games that are over; for the player themselves over all of them."""
    try:
        call.deps.accounts.player(player_id)
    except UnknownPlayer as error:
        raise Problem("player-not-found") from error
    private = call.caller.player == player_id
    found = call.deps.luck.of_player(call.deps, player_id, call.language, private=private)
    return _all(call, found)


@api.route("GET", "/v1/luck", tag="service", returns=shapes.AllLuckOut)
def show_all_luck(call: Call) -> Response:
    """All dice of the public games that are over, with the tests that docs/luck.md lists. Counted little by little.

    `left`: how many games are still to be counted, the next time somebody asks.
    """
    return _all(call, call.deps.luck.of_service(call.deps, call.language))


def _all(call: Call, found: AllLuck) -> Response:
    shown = shapes.AllLuckOut(
        games=found.games,
        left=found.left,
        tests=found.tests,
        registered=REGISTERED,
        measures={game: [_plain(one, shapes.MeasuredOut) for one in of] for game, of in found.measures.items()},
        dice=[_plain(one, shapes.TestedOut) for one in found.dice],
        words=found.words,
    )
    return reply(shown, language=call.language)


def _plain(value: Any, shape: Any) -> Any:
    return msgspec.convert(msgspec.to_builtins(value), shape)
