"""The service about itself: its description, its documentation, its problems, its position library."""

from functools import cache
from pathlib import Path
from typing import Any, Final

from flask import Response, render_template
from msgspec import UNSET
from prometheus_client import CONTENT_TYPE_LATEST

from service import stream
from service.api import openapi, problems, shapes
from service.api.packing import packed
from service.api.problems import Problem
from service.api.routing import Api, Call, reply
from service.api.rulesets import resolve
from service.running import demo, observe

api = Api()
everything = Api()
"""All routes of the service; filled by service/app.py."""
_DAY: Final = "public, max-age=3600"
_FRESH: Final = {"Cache-Control": "no-store"}
_PAGE: Final = {
    "Cache-Control": _DAY,
    "Content-Security-Policy": "default-src 'none'; style-src 'self'; img-src 'self'; base-uri 'none'; "
    "form-action 'none'; frame-ancestors 'none'",
}


@cache
def _described() -> dict[str, Any]:
    return openapi.document(everything)


@api.route("GET", "/openapi.json", tag="service", auth="nobody", returns=dict)
def show_openapi(call: Call) -> Response:
    """This description: OpenAPI 3.1."""
    return reply(_described(), headers={"Cache-Control": _DAY})


@api.route("GET", "/v1/library", tag="service", auth="nobody", query=shapes.LibraryQuery, returns=shapes.Library)
def show_library(call: Call) -> Response:
    """The position library: for every decision state of every game, positions of finished games to play on from.

    Empty where the demo was not loaded.
    """
    wanted = None if call.query.ruleset is UNSET else resolve(call.query.ruleset) or call.query.ruleset
    entries = [
        shapes.LibraryEntry(
            ruleset=entry.ruleset,
            state=entry.state,
            game_id=entry.game_id,
            version=entry.version,
            seat=entry.seat,
            actions=entry.actions,
            links={
                "position": f"/v1/games/{entry.game_id}/positions/{entry.version}",
                "forks": f"/v1/games/{entry.game_id}/forks",
            },
        )
        for entry in demo.library(call.deps)
        if wanted in (None, entry.ruleset)
    ]
    return reply(shapes.Library(positions=entries))


@api.route(
    "GET",
    "/v1/me/stream",
    tag="players",
    auth="player",
    returns=None,
    media={stream.MEDIA_TYPE: str},
    problems=("too-many-streams",),
)
def stream_me(call: Call) -> Response:
    """What concerns me, as it happens: `started`, `your-turn` and `finished` of the games where I sit.

    Begins with a `your-turn` for each game that waits for me, so who comes back misses nothing.
    """
    call.deps.index.catch_up()
    return stream.own_stream(call.deps, call.player)


# -- is it well? -----------------------------------------------------------------------------------------------------


@api.route("GET", "/healthz", tag="service", auth="nobody", returns=shapes.Alive)
def show_health(call: Call) -> Response:
    """Is the process alive?"""
    return reply(shapes.Alive(status="ok"), headers=_FRESH)


@api.route(
    "GET",
    "/readyz",
    tag="service",
    auth="nobody",
    returns=observe.Readiness,
    headers=("Retry-After",),
    statuses={503: ("Not ready: `checks` says why.", observe.Readiness)},
)
def show_readiness(call: Call) -> Response:
    """Are requests worth sending here? The database must answer and keep what it acknowledges, no key be missing."""
    state = observe.readiness(call.deps)
    return reply(state, 200, _FRESH) if state.ready else reply(state, 503, {**_FRESH, "Retry-After": "1"})


@api.route("GET", "/metrics", tag="service", auth="nobody", returns=None, media={"text/plain": str})
def show_metrics(call: Call) -> Response:
    """Figures for Prometheus."""
    return Response(observe.metrics(), headers=_FRESH, content_type=CONTENT_TYPE_LATEST)


# -- pages -----------------------------------------------------------------------------------------------------------


@api.route("GET", "/docs", tag="service", auth="nobody", returns=None, media={"text/html": str})
def show_docs(call: Call) -> Response:
    """This description as a page for people."""
    described = _described()
    operations = [
        {"method": method.upper(), "path": path, **operation}
        for path, methods in described["paths"].items()
        for method, operation in methods.items()
    ]
    page = render_template(
        "docs.html",
        info=described["info"],
        tags=[
            {**tag, "operations": [one for one in operations if tag["name"] in one["tags"]]}
            for tag in described["tags"]
        ],
        schemas=described["components"]["schemas"],
        problems=[
            {"code": code, "status": status, "title": problems.title(code, call.language)}
            for code, status in problems.CATALOGUE.items()
        ],
        language=call.language,
    )
    headers = _PAGE | {"Content-Language": call.language}
    return packed(Response(page, headers=headers, content_type="text/html; charset=utf-8"))


@api.route("GET", "/docs.css", tag="service", auth="nobody", returns=None, media={"text/css": str})
def show_style(call: Call) -> Response:
    """The look of the documentation."""
    style = Path(__file__).with_name("docs.css").read_bytes()
    return Response(style, headers={"Cache-Control": _DAY}, content_type="text/css; charset=utf-8")


@api.route(
    "GET",
    "/problems/<slug:code>",
    tag="service",
    auth="nobody",
    returns=None,
    media={"text/html": str},
    problems=("not-found",),
)
def show_problem(call: Call, code: str) -> Response:
    """What a problem's type means."""
    if code not in problems.CATALOGUE:
        raise Problem("not-found")
    page = render_template(
        "problem.html",
        code=code,
        status=problems.CATALOGUE[code],
        title=problems.title(code, call.language),
        meaning=problems.meaning(code, call.language),
        language=call.language,
    )
    headers = _PAGE | {"Content-Language": call.language}
    return packed(Response(page, headers=headers, content_type="text/html; charset=utf-8"))
