"""What the service has signed about a game: receipts of its events, and refusals."""

from contextlib import suppress
from typing import Final

from flask import Response, request
from werkzeug.exceptions import HTTPException

from events.event import Event
from events.log import Archived, Damaged, Unavailable
from replay.position import DIVERGED
from service.access import View
from service.api import present, shapes
from service.api.problems import Problem
from service.api.routing import Api, Call, read_body, reply
from service.api.tables import at, seen
from service.commands import Unsound
from service.positions import NotFound

api = Api()
NOTE: Final = "text/plain"


@api.route(
    "GET",
    "/v1/games/<id:game_id>/receipts/<version:seq>",
    tag="record",
    returns=shapes.ReceiptOut,
    problems=("game-not-found", "watching-forbidden", "position-not-found", "record-not-sound"),
    media={NOTE: str},
)
def show_receipt(call: Call, game_id: bytes, seq: int) -> Response:
    """The receipt of an event: the service signs that it stands at this number with this hash.

    Whoever acts is given one at once. With `Accept: text/plain` it comes as the bare note, to keep in a file.
    """
    view = seen(call, game_id).watched()
    if not 1 <= seq <= view.version:
        raise Problem("position-not-found")
    items = call.deps.log.read(game_id, seq - 1, 1).items
    if view.game.position.grade == DIVERGED or not items or not isinstance(items[0], Event):
        raise Unsound(view.game)  # nothing is sworn to of a record that does not hold
    written = items[0]
    receipt = call.deps.notary.receipt(game_id, written.seq, written.hash)
    if request.accept_mimetypes.best_match(["application/json", NOTE], default="application/json") == NOTE:
        return Response(receipt, headers={"Cache-Control": "private, no-cache"}, content_type=f"{NOTE}; charset=utf-8")
    return reply(shapes.ReceiptOut(game_id=game_id.hex(), seq=seq, hash=written.hash.hex(), receipt=receipt))


@api.route(
    "GET",
    "/v1/games/<id:game_id>/refusals",
    tag="record",
    auth="player",
    returns=shapes.RefusalList,
    problems=("game-not-found",),
)
def show_refusals(call: Call, game_id: bytes) -> Response:
    """The signed refusals that the caller was given at this game, oldest first; for auditors and operators all.

    Kept for as many days as the service says (30 unless it was told otherwise), so many of each caller.
    """
    view = seen(call, game_id)
    if call.caller.sees_all and not view.by_role:  # what is by role is written down already
        call.deps.accesses.note(game_id, call.player, request.endpoint or "")
    kept = call.deps.refusals.of(game_id, None if call.caller.sees_all else call.player)
    return reply(
        shapes.RefusalList(
            refusals=[
                shapes.RefusalOut(at=present.rfc3339(one.t_ms), player_id=one.player.hex(), refusal=one.note)
                for one in kept
            ]
        )
    )


def refusal(call: Call, game_id: bytes, problem: Problem) -> str | None:
    """The signed refusal of a call that would have written on a game; it is kept, too.

    None for a dry run, for who may not know of the game, and where the request could not be read to its end.
    """
    if request.args.get("check") == "1" or problem.code in ("body-too-large", "too-slow"):
        return None
    try:
        view = seen(call, game_id)
        version, head = _head(call, view)
        body = read_body() if call.data is None else call.data
    except (NotFound, Unavailable, Archived, Damaged, Problem, HTTPException):
        return None
    note = call.deps.notary.refusal(game_id, body, version, head, problem.code)
    holder = bool(view.seats) or call.deps.creators.get(game_id) == call.player
    with suppress(Unavailable):  # the caller has it all the same
        call.deps.refusals.keep(game_id, call.player, holder, note)
    return note


def _head(call: Call, view: View) -> tuple[int, bytes]:
    """Version and head as this caller may know them; of a record that does not hold, where it still does."""
    if view.game.position.grade == DIVERGED and (bad := view.game.first_bad) is not None and bad <= view.version:
        position = call.deps.positions.at(view.game.id, bad - 1)
    else:
        position = at(call, view)
    return position.version, position.head
