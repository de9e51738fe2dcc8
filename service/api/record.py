"""The record: events, positions, the replay, and the audit's verdict."""

from collections.abc import Iterator
from itertools import chain, islice
from typing import Any, Final

import msgspec
from flask import Response, request
from msgspec import UNSET

from engine.registry import game_name
from events.event import Event
from events.log import whole
from replay import file
from replay.case import effective
from replay.page import replay_page
from replay.pictures import DRAWINGS, export, picture
from replay.replay import Replay
from service import animations, stream
from service.access import View
from service.api import present, shapes
from service.api.packing import packed, unpacks
from service.api.play import state_of
from service.api.problems import Problem
from service.api.routing import Api, Call, not_modified, reply, tagged, unchanged
from service.api.tables import seen
from service.clients import self_custody
from service.drafts import WrongStatus
from service.index import seen_cases

api = Api()
NDJSON: Final = "application/x-ndjson"
SVG: Final = "image/svg+xml"
PNG: Final = "image/png"
SSE: Final = stream.MEDIA_TYPE
STORED: Final = self_custody.MEDIA_TYPE
FOREVER: Final = "max-age=31536000, immutable"
PAGE: Final = 100
_encoder = msgspec.json.Encoder()


# -- events ----------------------------------------------------------------------------------------------------------


@api.route(
    "GET",
    "/v1/games/<id:game_id>/events",
    tag="record",
    query=shapes.EventsQuery,
    returns=shapes.Events,
    problems=("game-not-found", "watching-forbidden", "bad-header", "too-many-streams"),
    headers=("Link",),
    media={NDJSON: shapes.EventOut, SSE: str, STORED: bytes},
    takes=("Last-Event-ID",),
)
def show_events(call: Call, game_id: bytes) -> Response:
    """The events, each with its words in the language asked for.

    As a JSON page; with `Accept: application/x-ndjson` all of them, one a line; with `Accept: text/event-stream` as
    they happen, resumed behind `after` or `Last-Event-ID`, until an `end` event once the game is over; with
    `Accept: application/vnd.annals.events` the stored bytes, each event behind its length as u32 big endian.
    """
    view = seen(call, game_id).watched()
    after, limit = _after(call), call.query.limit
    match request.accept_mimetypes.best_match(["application/json", NDJSON, SSE, STORED], default="application/json"):
        case stream.MEDIA_TYPE:
            return stream.game_stream(call.deps, view, call.caller, after, call.language)
        case "application/x-ndjson":
            lines = (_encoder.encode(event) + b"\n" for event in _events(call, view, after, limit))
            headers = {"Cache-Control": "private, no-cache", "Content-Language": call.language}
            begun = chain((next(lines, b""),), lines)  # what fails at once is still told as a problem
            return Response(begun, headers=headers, content_type=NDJSON)
        case self_custody.MEDIA_TYPE:
            stored = b"".join(self_custody.framed(_stored(call, view, after, limit)))
            return packed(Response(stored, headers={"Cache-Control": "private, no-cache"}, content_type=STORED))
    limit = PAGE if limit is UNSET else limit
    events = list(_events(call, view, after, limit))
    upto = min(view.version, after + limit)
    following = upto if upto < view.version else None
    headers = {}
    if following is not None:
        query = f"after={following}&limit={limit}" + ("" if call.query.lang is UNSET else f"&lang={call.query.lang}")
        headers["Link"] = f'</v1/games/{game_id.hex()}/events?{query}>; rel="next"'
    return packed(reply(shapes.Events(events=events, next=following), headers=headers, language=call.language))


def _after(call: Call) -> int:
    """Behind which event to begin. A browser that comes back sends its first address again: Last-Event-ID goes before.

    :raises Problem: Last-Event-ID is none of this stream's.
    """
    header = request.headers.get("Last-Event-ID", "").strip()
    if not header:
        return 0 if call.query.after is UNSET else int(call.query.after)
    if not (header.isascii() and header.isdecimal() and len(header) <= 9):
        detail = "the id of an event of this stream"
        raise Problem("bad-header", {}, {"errors": [{"header": "Last-Event-ID", "detail": detail}]})
    return int(header)


def _events(call: Call, view: View, after: int, limit: Any) -> Iterator[shapes.EventOut]:
    deps = call.deps
    upto = view.version if limit is UNSET else min(view.version, after + limit)
    for then, event, happenings in deps.positions.walk(view.game.id, after, upto):
        yield present.event(then, event, happenings, present.player_names(deps, then), call.language)


def _stored(call: Call, view: View, after: int, limit: Any) -> Iterator[bytes]:
    """The bytes of the events, as far as they can be read: what is damaged breaks the chain for whoever checks it."""
    upto = view.version if limit is UNSET else min(view.version, after + limit)
    for event in islice(whole(call.deps.log, view.game.id, after), max(0, upto - after)):
        if isinstance(event, Event):
            yield event.data


# -- positions -------------------------------------------------------------------------------------------------------


@api.route(
    "GET",
    "/v1/games/<id:game_id>/positions/<version:version>",
    tag="record",
    query=shapes.SeatQuery,
    returns=shapes.PositionOut,
    problems=("game-not-found", "watching-forbidden", "position-not-found", "not-your-seat"),
    headers=("ETag",),
    takes=("If-None-Match",),
    statuses={304: ("It never changes.", None)},
)
def show_position(call: Call, game_id: bytes, version: int) -> Response:
    """The game after `version` events: it never changes, and may be kept for ever. Position 0 is empty.

    What a watcher may see; with `seat=`, what the caller's seat may see.
    """
    kept = _kept(call, game_id, version)
    if isinstance(kept, Response):
        return kept
    headers, seat = kept
    position = call.deps.positions.at(game_id, version)
    shown = shapes.PositionOut(
        version=version,
        status=position.status,  # type: ignore[arg-type] # one of STATUSES
        to_act=position.to_act,
        state=state_of(position, seat),
        fingerprint=None if (fingerprint := position.fingerprint) is None else fingerprint.hex(),
        grade=position.grade,  # type: ignore[arg-type] # one of three
    )
    return reply(shown, headers=headers)


@api.route(
    "GET",
    "/v1/games/<id:game_id>/positions/<version:version>.svg",
    tag="record",
    query=shapes.PictureQuery,
    returns=None,
    problems=("game-not-found", "watching-forbidden", "position-not-found", "not-your-seat"),
    headers=("ETag",),
    media={SVG: str},
    takes=("If-None-Match",),
    statuses={304: ("It never changes.", None)},
)
def draw_position(call: Call, game_id: bytes, version: int) -> Response:
    """The same as a picture. The `target` of a legal action is the id of an element of it."""
    drawn = _drawn(call, game_id, version, SVG)
    if isinstance(drawn, Response):
        return drawn
    svg, headers = drawn
    headers["Content-Security-Policy"] = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'"
    return packed(Response(svg, headers=headers, content_type=f"{SVG}; charset=utf-8"))


@api.route(
    "GET",
    "/v1/games/<id:game_id>/positions/<version:version>.png",
    tag="record",
    query=shapes.PictureQuery,
    returns=None,
    problems=("game-not-found", "watching-forbidden", "position-not-found", "not-your-seat"),
    headers=("ETag",),
    media={PNG: bytes},
    takes=("If-None-Match",),
    statuses={304: ("It never changes.", None)},
)
def draw_raster(call: Call, game_id: bytes, version: int) -> Response:
    """The same for places that show no SVG, 1080 pixels wide. Not there where the extra `export` is not installed."""
    if not export.available():
        raise Problem("not-found")
    drawn = _drawn(call, game_id, version, PNG)
    if isinstance(drawn, Response):
        return drawn
    svg, headers = drawn
    return Response(export.png(svg), headers=headers, content_type=PNG)


def _drawn(call: Call, game_id: bytes, version: int, media: str) -> Response | tuple[str, dict[str, str]]:
    """304 where the caller has the picture already; else it as an SVG, and the headers of the answer."""
    theme, step = call.query.theme, call.query.step
    part = () if step is UNSET else (f"step{step}",)
    form = "png" if media == PNG else "gzip" if unpacks() else None
    kept = _kept(call, game_id, version, theme, call.language, *part, *([form] if form else []))
    if isinstance(kept, Response):
        return kept
    headers, seat = kept
    with call.deps.positions.replay(game_id, version) as replay:
        position = replay.at(version)
        happened, before = (replay.happenings(version), replay.before(version)) if version else ([], [])
        if step is not UNSET and step < len(happened):
            position, happened = replay.at(version - 1), happened[:step]
        if position.rules is None or game_name(position.rules.id) not in DRAWINGS:
            raise Problem("position-not-found")
        drawn = picture(
            position.rules, position.state, seat, call.language, theme=theme, happened=happened, before=before
        )
    return drawn, headers | {"Content-Language": call.language}


def _kept(call: Call, game_id: bytes, version: int, *variant: str) -> Response | tuple[dict[str, str], int | None]:
    """304 where the caller has the position already, without folding; else its headers, and the seat that looks."""
    deps, asked = call.deps, call.query.seat
    tag = tagged(version, None if asked is UNSET else f"s{asked}", *variant)
    shared = {
        "Cache-Control": f"public, {FOREVER}",
        "Vary": "Accept-Language, Accept-Encoding" if variant else "Accept",
    }
    if asked is UNSET and unchanged(tag) and deps.positions.is_open_to_all(game_id):
        if version <= deps.log.head(game_id).version:
            return not_modified(tag, shared)
        raise Problem("position-not-found")
    view = seen(call, game_id).watched()
    if version > view.version:
        raise Problem("position-not-found")
    seat = None if asked is UNSET else view.seat(asked)
    cache = shared if view.public and seat is None else {"Cache-Control": f"private, {FOREVER}"}
    return not_modified(tag, cache) if unchanged(tag) else ({"ETag": tag, **cache}, seat)


# -- the replay ------------------------------------------------------------------------------------------------------


@api.route(
    "GET",
    "/v1/games/<id:game_id>/replay",
    tag="record",
    query=shapes.ReplayQuery,
    returns=shapes.ReplayOut,
    problems=("game-not-found", "watching-forbidden", "position-not-found"),
)
def show_replay(call: Call, game_id: bytes) -> Response:
    """The game told step by step: each event's happenings in words, and chapters to jump to.

    Without `spoilers=1` nothing in the answer depends on what came after the position `at`.
    """
    query, view = call.query, seen(call, game_id).watched()
    with call.deps.positions.replay(game_id, view.version) as whole:
        replay = whole if len(whole) == view.version else _cut(whole, view.version)
        names = call.deps.accounts.names(people(replay))
        page = replay_page(
            replay,
            at=None if query.at is UNSET else query.at,
            after=query.after,
            limit=query.limit,
            language=call.language,
            spoilers=query.spoilers == "1",
            names=names,
        )
        if query.spoilers == "1":
            last = replay.at(len(replay))
            cases = seen_cases(call.deps.cases.of_game(game_id), len(replay))
            page["effective"] = present.effect(effective(last.status, last.outcome, cases))
    return packed(reply(page, language=call.language))


@api.route(
    "GET",
    "/v1/games/<id:game_id>/replay.webp",
    tag="record",
    query=shapes.AnimationQuery,
    returns=None,
    problems=("game-not-found", "watching-forbidden", "wrong-status", "position-not-found"),
    headers=("ETag",),
    media={animations.FORMATS["webp"]: bytes},
    takes=("If-None-Match",),
    statuses={304: ("It never changes.", None)},
)
def show_webp(call: Call, game_id: bytes) -> Response:
    """A game that is over as an animated picture, 360 pixels wide: of a long one, evenly chosen positions.

    It is made when it is first asked for, which takes seconds. Not there where the extra `export` is not installed.
    """
    return _animation(call, game_id, "webp")


@api.route(
    "GET",
    "/v1/games/<id:game_id>/replay.gif",
    tag="record",
    query=shapes.AnimationQuery,
    returns=None,
    problems=("game-not-found", "watching-forbidden", "wrong-status", "position-not-found"),
    headers=("ETag",),
    media={animations.FORMATS["gif"]: bytes},
    takes=("If-None-Match",),
    statuses={304: ("It never changes.", None)},
)
def show_gif(call: Call, game_id: bytes) -> Response:
    """The same for places that show no WebP."""
    return _animation(call, game_id, "gif")


def _animation(call: Call, game_id: bytes, format: str) -> Response:
    view = seen(call, game_id).watched()
    position, theme = view.game.position, call.query.theme
    if not export.available():
        raise Problem("not-found")
    if not position.closed or view.version < position.version:
        raise WrongStatus(position.status, "finished")
    tag = tagged(view.version, format, theme, call.language)
    headers = {"Cache-Control": f"{'public' if view.public else 'private'}, {FOREVER}", "Vary": "Accept-Language"}
    if unchanged(tag):
        return not_modified(tag, headers)
    if position.state is None:
        raise Problem("position-not-found")
    variant = (game_id, view.version, format, call.language, theme)
    made = call.deps.animations.of(variant, map(file.frame, _stored(call, view, 0, UNSET)))
    headers |= {"ETag": tag, "Content-Language": call.language}
    return Response(made, headers=headers, content_type=animations.FORMATS[format])


def people(replay: Replay) -> set[bytes]:
    """Everybody who ever sat down: who left again before the start is named no less than who stayed."""
    events = (replay.event(number) for number in range(1, len(replay) + 1))
    joins = (event.body for event in events if event is not None and event.kind == "join" and "bot" not in event.body)
    return {player for body in joins if isinstance(player := body.get("player"), bytes)}


def _cut(replay: Replay, version: int) -> Replay:
    """The replay as it was at a version: for who may not see further yet."""
    events = (replay.event(number) for number in range(1, version + 1))
    return Replay(replay.game_id, [event for event in events if event is not None])
