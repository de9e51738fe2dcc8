"""The pages of the service, and the session of a browser. What they show they fetch from the public API."""

import base64
import hashlib
from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from flask import Response, render_template, request

from replay.pictures import STYLE
from replay.words import LANGUAGES, words
from service.api import shapes
from service.api.problems import Problem
from service.api.routing import Api, Call, reply
from service.web import session

api = Api()
_STATIC: Final = Path(__file__).with_name("static")
_TYPES: Final = {".mjs": "text/javascript; charset=utf-8", ".css": "text/css; charset=utf-8"}
_LANGUAGE: Final = "lang"
_PICTURE_STYLE: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{_PICTURE_STYLE}'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No inline script, no style attribute; the one style element is that of every picture."""
WORDS: Final = (
    "title", "open", "playing", "finished", "none", "guest", "name", "play", "create", "seats", "hero", "bots",
    "sit", "start", "waiting", "watch", "your-turn", "turn-of", "over", "lost", "log", "choose", "replay", "table",
    "first", "back", "forward", "last", "run", "stop", "chapters", "moment", "failed", "language", "any", "bot",
    "picture", "close", "winner", "end",
)  # fmt: skip


@cache
def _words(language: str) -> dict[str, str]:
    said = words(language)
    return {name: said.raw(f"web.{name}") for name in WORDS}


def _page(call: Call, template: str, script: str, **shown: Any) -> Response:
    asked = request.args.get(_LANGUAGE)
    remembered = request.cookies.get(_LANGUAGE, "")
    language = call.language if asked is not None or remembered not in LANGUAGES else remembered
    token = session.cookie_token()
    said = _words(language)
    page = render_template(
        template,
        language=language,
        languages=LANGUAGES,
        words=said,
        told=msgspec.json.encode(said).decode(),
        csrf=None if token is None else session.csrf(token),
        script=script,
        path=request.path,
        **shown,
    )
    headers = {"Cache-Control": "private, no-cache", "Content-Security-Policy": POLICY, "Content-Language": language}
    response = Response(page, headers=headers, content_type="text/html; charset=utf-8")
    if asked is not None:
        response.set_cookie(_LANGUAGE, language, max_age=31_536_000, samesite="Lax", secure=request.is_secure)
    return response


@api.route("GET", "/", tag="service", auth="nobody", returns=None, media={"text/html": str})
def show_lobby(call: Call) -> Response:
    """The lobby: tables to join, games to watch and to look at again."""
    return _page(call, "lobby.html", "lobby.mjs")


@api.route("GET", "/games/<id:game_id>", tag="service", auth="nobody", returns=None, media={"text/html": str})
def show_table(call: Call, game_id: bytes) -> Response:
    """The table of a game: play, or watch as it happens."""
    return _page(call, "table.html", "table.mjs", game=game_id.hex())


@api.route("GET", "/games/<id:game_id>/replay", tag="service", auth="nobody", returns=None, media={"text/html": str})
def show_room(call: Call, game_id: bytes) -> Response:
    """The replay room of a game, at its beginning."""
    return _page(call, "replay.html", "replay.mjs", game=game_id.hex(), at=0)


@api.route(
    "GET",
    "/games/<id:game_id>/at/<version:version>",
    tag="service",
    auth="nobody",
    returns=None,
    media={"text/html": str},
)
def show_moment(call: Call, game_id: bytes, version: int) -> Response:
    """The replay room of a game, at a position."""
    return _page(call, "replay.html", "replay.mjs", game=game_id.hex(), at=version)


@api.route(
    "POST",
    "/session",
    tag="players",
    auth="nobody",
    body=shapes.NewPlayer,
    returns=shapes.PageSession,
    status=201,
    problems=("bad-name", "unavailable"),
)
def open_session(call: Call) -> Response:
    """Become a player in this browser: the token is kept in a cookie that no script can read.

    Calls that change something need the answer's `csrf` in an X-CSRF-Token header beside the cookie.
    """
    player, token = call.deps.accounts.register(call.body.name)
    shown = shapes.PageSession(player_id=player.player_id.hex(), name=player.name, csrf=session.csrf(token))
    response = reply(shown, 201)
    session.keep(response, token)
    return response


@api.route(
    "GET",
    "/static/<string:name>",
    tag="service",
    auth="nobody",
    returns=None,
    media={"text/javascript": str, "text/css": str},
    problems=("not-found",),
)
def show_static(call: Call, name: str) -> Response:
    """A file of the pages."""
    known = {path.name: path for path in _STATIC.iterdir() if path.suffix in _TYPES}
    if name not in known:
        raise Problem("not-found")
    path = known[name]
    response = Response(
        path.read_bytes(), headers={"Cache-Control": "public, no-cache"}, content_type=_TYPES[path.suffix]
    )
    response.add_etag()
    response.make_conditional(request)
    return response
