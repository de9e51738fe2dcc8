"""Tables: opening, finding, joining and starting games; playing on from one that is over."""

import re
from urllib.parse import urlencode

import msgspec
from flask import Response, request
from msgspec import UNSET

from engine.registry import BOTS, game_name
from events.bodies import BotName
from events.signing import Sealed
from replay.position import Position
from service import commands
from service.access import NotAllowed, NotYourSeat, View, look
from service.accounts import UnknownPlayer
from service.api import present, shapes
from service.api.problems import Problem
from service.api.routing import Api, Call, after_writing, not_modified, reply, sent, tagged, unchanged
from service.api.rulesets import resolve
from service.api.signed import sealed_of
from service.index import Row, row_of
from service.positions import Game

api = Api()
KEY_LIMIT = 200
_VISIBLE = re.compile(f"[!-~]{{1,{KEY_LIMIT}}}").fullmatch


def seen(call: Call, game_id: bytes) -> View:
    """A game as far as the caller may see it.

    :raises NotFound: not at all.
    """
    game, deps = call.deps.positions.load(game_id), call.deps
    creator = deps.creators.get(game_id) if call.caller.player is not None else None
    view = look(game, call.caller, creator, deps.clock())
    if view.by_role and call.caller.player is not None:
        deps.accesses.note(game_id, call.caller.player, request.endpoint or "")
    return view


def ruled_tag(call: Call, game_id: bytes) -> str | None:
    """What an entity tag says of a game's disputes, where there are any: they change what is shown of it, too."""
    known = sum(case.version for case in call.deps.cases.of_game(game_id))
    return f"d{known}" if known else None


def at(call: Call, view: View) -> Position:
    """The newest position that a view shows."""
    game = view.game
    return game.position if view.version == game.version else call.deps.positions.at(game.id, view.version)


def idempotency_key() -> str | None:
    """The Idempotency-Key of the request.

    :raises Problem: it is empty, too long, or not visible ASCII.
    """
    key = sent("HTTP_IDEMPOTENCY_KEY")
    if key is None:
        return None
    if not _VISIBLE(key):
        detail = f"1 to {KEY_LIMIT} visible ASCII characters"
        raise Problem("bad-header", {}, {"errors": [{"header": "Idempotency-Key", "detail": detail}]})
    return key


# -- finding ---------------------------------------------------------------------------------------------------------


@api.route(
    "GET",
    "/v1/games",
    tag="games",
    query=shapes.GamesQuery,
    returns=shapes.GameList,
    problems=("token-missing",),
    headers=("Link",),
)
def list_games(call: Call) -> Response:
    """Games, newest first.

    Everybody's public ones; with `player=me` or `to_act=me` the caller's own, whatever their visibility.
    `Link: rel=next` and `next` lead to the next page.
    """
    query, deps = call.query, call.deps
    player = None if query.player is UNSET else query.player
    if player == "me" or query.to_act is not UNSET:
        if call.caller.player is None:
            raise Problem("token-missing", headers={"WWW-Authenticate": "Bearer"})
        mine = call.player.hex()
        if player not in (None, "me", mine):
            raise Problem("bad-query", {}, {"errors": [{"parameter": "to_act", "detail": "goes with player=me only"}]})
        player = mine
    private = player is not None and call.caller.player is not None and player == call.player.hex()
    deps.index.catch_up()
    page = deps.index.games(
        status=None if query.status is UNSET else query.status,
        ruleset=None if query.ruleset is UNSET else resolve(query.ruleset) or query.ruleset,
        player=player,
        forked_from=None if query.forked_from is UNSET else query.forked_from,
        to_act=query.to_act is not UNSET,
        private=private,
        limit=query.limit,
        cursor=None if query.cursor is UNSET else query.cursor,
    )
    rows = [_shown(call, row) for row in page.rows]
    players = {seat.player_id for row in rows for seat in row.seats if seat.player_id and seat.bot is None}
    names = {one.hex(): name for one, name in deps.accounts.names(bytes.fromhex(one) for one in players).items()}
    headers = {}
    if page.next is not None:
        asked = {name: value for name, value in request.args.items() if name != "cursor"} | {"cursor": page.next}
        headers["Link"] = f'</v1/games?{urlencode(asked)}>; rel="next"'
    return reply(shapes.GameList(games=[present.row(row, names) for row in rows], next=page.next), headers=headers)


def _shown(call: Call, row: Row) -> Row:
    """A row as the caller may see it: of a table that is watched with a delay, the one of then."""
    if row.watching == "open" or row.closed or row.status == "open":
        return row
    player = call.caller.player
    if player is not None and any(seat.player_id == player.hex() for seat in row.seats):
        return row
    view = seen(call, bytes.fromhex(row.game_id))
    if view.version == row.version:
        return row
    return row_of(Game(at(call, view)), call.deps.cases.of_game(view.game.id)) or row


@api.route(
    "GET",
    "/v1/games/<id:game_id>",
    tag="games",
    returns=shapes.GameOut,
    problems=("game-not-found",),
    headers=("ETag",),
    takes=("If-None-Match",),
    statuses={304: ("The game has not moved on.", None)},
)
def show_game(call: Call, game_id: bytes) -> Response:
    """A game: status, seats, version, head, whose turn, outcome, links."""
    deps = call.deps
    ruled = ruled_tag(call, game_id)
    if deps.positions.is_open_to_all(game_id):
        tag = tagged(deps.log.head(game_id).version, "g", ruled)
        if unchanged(tag):
            return not_modified(tag)
    view = seen(call, game_id)
    tag = tagged(view.version, "g", ruled)
    if unchanged(tag):
        return not_modified(tag)
    return reply(present.game(deps, view.game, at(call, view)), headers={"ETag": tag})


# -- opening ---------------------------------------------------------------------------------------------------------


@api.route(
    "POST",
    "/v1/games",
    tag="games",
    auth="player",
    body=shapes.NewGame,
    returns=shapes.GameWritten,
    status=201,
    problems=("unknown-ruleset", "bad-choice", "illegal", "idempotency-key-reused", "bad-header", "outcome-unknown"),
    headers=("Location", "ETag", "Idempotency-Replayed"),
    takes=("Idempotency-Key",),
)
def open_game(call: Call) -> Response:
    """Open a table.

    The answer holds the server's commitment to its dice. The caller takes seat 1 unless `sit` is false. With an
    Idempotency-Key a retry finds the game that was made, however late it comes.
    """
    body, choice = call.body
    if (ruleset := resolve(body.ruleset)) is None:
        raise Problem("unknown-ruleset", {"ruleset": body.ruleset})
    if choice and not body.sit:
        name = next(iter(choice))
        raise Problem("bad-choice", {}, {"errors": [{"pointer": f"/{name}", "detail": "nobody sits down"}]})
    table = commands.Table(
        ruleset, body.seats, body.options, body.visibility, body.watching, choice if body.sit else None
    )
    game, again = commands.create(call.deps, call.player, table, idempotency_key())
    return _made(call, game, again)


def _made(call: Call, game: Game, again: bool = False) -> Response:
    headers = {"Location": f"/v1/games/{game.id.hex()}", "ETag": tagged(game.version, "g")}
    if again:
        headers["Idempotency-Replayed"] = "true"
    return reply(_written(call, game, game.position), 201, headers)


def _written(call: Call, game: Game, position: Position) -> shapes.GameWritten:
    """The game as it was just written, with the receipt of its last event."""
    receipt = call.deps.notary.receipt(game.id, position.version, position.head)
    with after_writing():
        shown = present.game(call.deps, game, position)
    return shapes.GameWritten(**msgspec.structs.asdict(shown), receipt=receipt)


@api.route(
    "POST",
    "/v1/games/<id:game_id>/forks",
    tag="games",
    auth="player",
    body=shapes.NewFork,
    returns=shapes.GameWritten,
    status=201,
    problems=(
        "game-not-found", "position-not-found", "cannot-fork", "watching-forbidden", "idempotency-key-reused",
        "bad-header", "outcome-unknown",
    ),
    headers=("Location", "ETag", "Idempotency-Replayed"),
    takes=("Idempotency-Key",),
)  # fmt: skip
def fork_game(call: Call, game_id: bytes) -> Response:
    """Play on from a position of a finished game: a new table with new dice, and a pointer to where it comes from.

    Who sits down there takes over the hero of that seat as it stood. With an Idempotency-Key a retry finds the table
    that was made.
    """
    body = call.body
    view = seen(call, game_id).watched()
    visibility = None if body.visibility is UNSET else body.visibility
    game, again = commands.fork(
        call.deps, call.player, view.game, body.version, visibility, body.watching, body.sit, idempotency_key()
    )
    return _made(call, game, again)


# -- seats -----------------------------------------------------------------------------------------------------------


@api.route(
    "POST",
    "/v1/games/<id:game_id>/seats",
    tag="seats",
    auth="player",
    body=shapes.NewSeat,
    body_optional=True,
    returns=shapes.GameWritten,
    status=201,
    problems=(
        "game-not-found", "seat-not-found", "seat-taken", "wrong-status", "bad-choice", "illegal", "unknown-bot",
        "player-not-found", "not-the-creator", "record-not-sound", "archived", "key-missing", "outcome-unknown",
        "signature-wrong", "stale", "idempotency-key-reused",
    ),
    headers=("Location", "ETag", "Idempotency-Replayed"),
)  # fmt: skip
def take_seat(call: Call, game_id: bytes) -> Response:
    """Sit down, on the seat named or the first that is free.

    One player may hold several seats. The table's creator may let a bot sit down, and at a private table, which others
    cannot find, another player. Who signs the join keeps custody of the seat: key and dice chain are the player's own.
    """
    body, choice = call.body
    game = seen(call, game_id).game
    if (sealed := sealed_of(body, "join")) is not None:
        return _join_signed(call, game_id, sealed)
    player, bot = call.player, None
    if body.bot is not UNSET:
        _only_creator(call, game)
        bot = _bot(game, body)
    elif body.level is not UNSET:
        raise Problem("unknown-bot", {"bot": ""}, {"errors": [{"pointer": "/level", "detail": "goes with a bot"}]})
    elif body.player is not UNSET:
        player = _guest(call, game, bytes.fromhex(body.player))
    seat = None if body.seat is UNSET else body.seat
    game, taken = commands.join(call.deps, game_id, player, seat, choice, bot)
    headers = {"Location": f"/v1/games/{game_id.hex()}/seats/{taken}", "ETag": tagged(game.version, "g")}
    return reply(_written(call, game, game.position), 201, headers)


def _join_signed(call: Call, game_id: bytes, sealed: Sealed) -> Response:
    body, choice = call.body
    if choice or any(part is not UNSET for part in (body.seat, body.bot, body.level, body.player)):
        raise Problem("invalid-body", {}, {"errors": [{"pointer": "/signed", "detail": "nothing goes beside it"}]})
    done = commands.join_signed(call.deps, game_id, call.player, sealed)
    position = done.position
    headers = {
        "Location": f"/v1/games/{game_id.hex()}/seats/{sealed.action.seat}",
        "ETag": tagged(position.version, "g"),
    }
    if done.again:
        headers["Idempotency-Replayed"] = "true"
    with after_writing():
        game = call.deps.positions.load(game_id)
    return reply(_written(call, game, position), 201, headers)


def _guest(call: Call, game: Game, player: bytes) -> bytes:
    if player != call.player:
        _only_creator(call, game)
        if game.position.create is None or game.position.create.visibility != "private":
            raise NotAllowed
        try:
            call.deps.accounts.player(player)
        except UnknownPlayer as error:
            raise Problem("player-not-found") from error
    return player


def _only_creator(call: Call, game: Game) -> None:
    if call.deps.creators.get(game.id) != call.caller.player:
        raise NotAllowed


def _bot(game: Game, body: shapes.NewSeat) -> BotName:
    assert game.position.create is not None
    bots = BOTS.get(game_name(game.position.create.rules), {})
    bot = bots.get(str(body.bot))
    if bot is None:
        raise Problem("unknown-bot", {"bot": str(body.bot)}, {"bots": sorted(bots)})
    level = bot.levels[-1] if body.level is UNSET else body.level
    if level not in bot.levels:
        detail = f"one of {', '.join(map(str, bot.levels))}"
        raise Problem("unknown-bot", {"bot": bot.name}, {"errors": [{"pointer": "/level", "detail": detail}]})
    return bot.name, level


@api.route(
    "DELETE",
    "/v1/games/<id:game_id>/seats/<version:seat>",
    tag="seats",
    auth="player",
    returns=shapes.GameWritten,
    problems=(
        "game-not-found", "seat-not-found", "not-your-seat", "wrong-status", "record-not-sound", "archived",
        "key-missing", "outcome-unknown",
    ),
    headers=("ETag",),
)  # fmt: skip
def leave_seat(call: Call, game_id: bytes, seat: int) -> Response:
    """Leave a seat before the start; the table's creator may send a bot away."""
    seen(call, game_id)

    def may(game: Game) -> None:
        place = game.position.seats[seat - 1]
        if place.bot is not None and call.deps.creators.get(game_id) == call.player:
            return
        if place.bot is not None or place.player != call.player:
            raise NotYourSeat(seat)

    game = commands.leave(call.deps, game_id, seat, may)
    return reply(_written(call, game, game.position), headers={"ETag": tagged(game.version, "g")})


@api.route(
    "POST",
    "/v1/games/<id:game_id>/start",
    tag="seats",
    auth="player",
    returns=shapes.GameWritten,
    problems=(
        "game-not-found", "not-the-creator", "wrong-status", "seats-open", "record-not-sound", "archived",
        "key-missing", "outcome-unknown",
    ),
    headers=("ETag",),
)  # fmt: skip
def start_game(call: Call, game_id: bytes) -> Response:
    """Begin: nobody sits down any more, the server opens its first link, the rules draw what they draw at the start.

    For the table's creator, once every seat is taken. Where seats are in self-custody play begins once each of them has
    revealed its first link.
    """
    _only_creator(call, seen(call, game_id).game)
    game = commands.start(call.deps, game_id)
    return reply(_written(call, game, game.position), headers={"ETag": tagged(game.version, "g")})
