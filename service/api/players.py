"""Players: registering, tokens, and where the caller sits."""

from flask import Response

from service.accounts import ROLES
from service.api import shapes
from service.api.present import rfc3339
from service.api.problems import Problem
from service.api.routing import Api, Call, bearer, reply
from service.erasure import forget
from service.index import Row, waits_for
from service.web import session

api = Api()


@api.route(
    "POST",
    "/v1/players",
    tag="players",
    auth="nobody",
    body=shapes.NewPlayer,
    returns=shapes.Registered,
    status=201,
    problems=("bad-name", "unavailable"),
    headers=("Location",),
)
def register(call: Call) -> Response:
    """Become a player.

    The token is shown this once: keep it, and send it as `Authorization: Bearer <token>`.
    """
    player, token = call.deps.accounts.register(call.body.name)
    shown = shapes.Registered(player_id=player.player_id.hex(), name=player.name, token=token)
    return reply(shown, 201, {"Location": "/v1/me"})


@api.route("GET", "/v1/me", tag="players", auth="player", returns=shapes.Me, problems=("player-not-found",))
def me(call: Call) -> Response:
    """Who am I, and where do I sit?"""
    deps = call.deps
    player = deps.accounts.player(call.player)
    deps.index.catch_up()
    own = call.player.hex()
    rows: list[Row] = []
    for status in ("open", "playing"):
        cursor = None
        while True:
            page = deps.index.games(player=own, status=status, private=True, limit=100, cursor=cursor)
            rows += page.rows
            if (cursor := page.next) is None:
                break
    shown = shapes.Me(
        player_id=own,
        name=player.name,
        roles=[role for role in ROLES if role in player.roles],
        created_at=rfc3339(player.created_ms),
        seats=[
            shapes.OwnSeat(
                game_id=row.game_id,
                ruleset=row.ruleset,
                seat=number,
                status=row.status,  # type: ignore[arg-type] # one of STATUSES
                to_act=number in row.to_act and seat.bot is None,
            )
            for row in rows
            for number, seat in enumerate(row.seats, 1)
            if seat.player_id == own
        ],
        to_act=[row.game_id for row in rows if waits_for(row, own)],
        links={"games": "/v1/games?player=me", "tokens": "/v1/me/tokens", "stream": "/v1/me/stream"},
    )
    return reply(shown)


@api.route("DELETE", "/v1/me", tag="players", auth="player", returns=None, status=204, problems=("player-not-found",))
def erase_me(call: Call) -> Response:
    """Erase me, for ever: my name, my roles, every token, and what I wrote in disputes.

    The games stay, with seats that nobody can play any more and that have no name: resign first where others wait.
    """
    forget(call.deps, call.player)
    response = Response(status=204)
    session.forget(response)
    return response


@api.route("GET", "/v1/me/tokens", tag="players", auth="player", returns=shapes.Tokens)
def list_tokens(call: Call) -> Response:
    """The tokens I hold (never the tokens themselves)."""
    accounts = call.deps.accounts
    current = accounts.token_id(bearer())
    tokens = [
        shapes.TokenInfo(
            token_id=token.token_id, created_at=rfc3339(token.created_ms), current=token.token_id == current
        )
        for token in accounts.tokens(call.player)
    ]
    return reply(shapes.Tokens(tokens=tokens))


@api.route(
    "POST",
    "/v1/me/tokens",
    tag="players",
    auth="player",
    returns=shapes.NewToken,
    status=201,
    problems=("too-many-tokens",),
)
def issue_token(call: Call) -> Response:
    """Another token for myself, for another device. It is shown this once."""
    token, secret = call.deps.accounts.issue(call.player)
    return reply(shapes.NewToken(token_id=token.token_id, token=secret), 201)


@api.route(
    "DELETE",
    "/v1/me/tokens/<token:token_id>",
    tag="players",
    auth="player",
    returns=None,
    status=204,
    problems=("token-not-found",),
)
def revoke_token(call: Call, token_id: str) -> Response:
    """Let one of my tokens be worth nothing from now on; the one I am calling with too, if it is meant."""
    if not call.deps.accounts.revoke(call.player, token_id):
        raise Problem("token-not-found")
    return Response(status=204)
