"""The pages of the service, and the session of a browser. What they show they fetch from the public API."""

import base64
import gzip
import hashlib
import re
from collections.abc import Callable
from functools import cache, wraps
from pathlib import Path
from typing import Any, Final

import msgspec
from babel.messages.pofile import read_po
from flask import Flask, Response, render_template, request
from markupsafe import Markup
from msgspec import UNSET

from engine.protocol import Options, SeatSetup, Setup
from engine.registry import RULESETS, game_name
from replay import catalogue
from replay.audit import VERDICTS
from replay.games import telling
from replay.pictures import DRAWINGS, STYLE, export
from replay.pictures import picture as draw
from replay.replay import Replay
from replay.words import LANGUAGES, Context, words
from service.access import NotAnAuditor, View
from service.api import case_shapes, cases, present, problems, shapes
from service.api.packing import packed, unpacks
from service.api.problems import Problem
from service.api.routing import Api, Call, reply
from service.api.rulesets import resolve
from service.api.tables import at, seen
from service.web import rules_text, session

api = Api()
_HERE: Final = Path(__file__).parent
_STATIC: Final = _HERE / "static"
_CATALOGUE: Final = _HERE.parent / "locale" / "en" / "LC_MESSAGES" / "web.po"
_TYPES: Final = {".mjs": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml"}
_LANGUAGE: Final = "lang"
_YEAR_S: Final = 31_536_000
_PICTURE_STYLE: Final = base64.b64encode(hashlib.sha256(STYLE.encode()).digest()).decode()
POLICY: Final = (
    f"default-src 'none'; script-src 'self'; style-src 'self' 'sha256-{_PICTURE_STYLE}'; img-src 'self' data:; "
    "connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'"
)
"""No inline script, no style attribute; the one style element is that of every picture."""
_HTML: Final = {"text/html": str}
_PARTS: Final = ("turn", "level", "fight")
"""Chapters by which one may step through a game."""
_PAST: Final = ("game-not-found", "watching-forbidden")


# -- words -----------------------------------------------------------------------------------------------------------


@cache
def messages() -> tuple[str, ...]:
    """The ids of everything that pages say, without ``web.``."""
    with _CATALOGUE.open("rb") as file:
        return tuple(str(message.id).removeprefix("web.") for message in read_po(file) if message.id)


@cache
def spoken(language: str) -> dict[str, str]:
    """Everything that pages say, by id; as ``term.<id>`` the games and the terms they show people; table options."""
    said = words(language)
    told = {name: said.raw(f"web.{name}") for name in messages()}
    shared = {message.removeprefix("table."): said.raw(message) for message in catalogue.table()}
    told |= {
        name: text for name, text in shared.items() if name.startswith("option.") or name == "limit.rules-not-folded"
    }
    told |= {f"verdict.title.{phrase}": shared[f"verdict.{phrase.lower().replace(' ', '-')}"] for phrase in VERDICTS}
    for ruleset, rules in RULESETS.items():
        game = game_name(ruleset)
        for name, term in {game: "game", **{name: name for name in telling(game).shown}}.items():
            if found := said.term(term, game):
                told[f"term.{name}"] = found.text
        own = catalogue.options(rules.options, Options.__struct_fields__)
        told |= {name: said.raw(f"{game}.{name}") for name in own}
    return told


@cache
def _said(language: str) -> str:
    """What an audit says of its checks, by check and result, as JSON: for the verifier that runs in the page."""
    said = words(language)
    found = {f"{check}.{result}" for check, results in catalogue.SAID.items() for result in results}
    return msgspec.json.encode({name: said.raw(f"table.said.{name}") for name in sorted(found)}).decode()


def _language(call: Call) -> str:
    """``lang``, or what was chosen before in this browser, or what it likes best."""
    chosen = request.cookies.get(_LANGUAGE, "")
    return chosen if _LANGUAGE not in request.args and chosen in LANGUAGES else call.language


def warm(app: Flask) -> None:
    """Have at hand what the first page of a worker would wait for: words, templates, files, and how games are drawn."""
    for language in LANGUAGES:
        spoken(language)
        _said(language)
        for rules in RULESETS.values():
            seats = [SeatSetup(choice={}) for _ in range(rules.seats[-1])]
            draw(rules, rules.initial(Setup(msgspec.to_builtins(rules.options()), seats)), None, language)
    for template in app.jinja_env.list_templates():
        app.jinja_env.get_template(template)
    for name in _files():
        _packed_file(name)


# -- what every page has ---------------------------------------------------------------------------------------------


def _page(call: Call, template: str, script: str = "", status: int = 200, **shown: Any) -> Response:
    language, token, player = _language(call), session.cookie_token(), call.caller.player
    told = spoken(language)
    me = None if player is None else call.deps.accounts.known(player)
    page = render_template(
        template,
        language=language,
        languages=LANGUAGES,
        words=told,
        csrf=None if me is None or token is None else session.csrf(token),
        me=me,
        script=script,
        path=request.path,
        static=f"/static/{_edition()}",
        imports=(*_imports(script), f"words-{language}.mjs"),
        rulesets=sorted(RULESETS),
        root=request.url_root.rstrip("/"),
        **shown,
    )
    headers = {"Cache-Control": "private, no-cache", "Content-Security-Policy": POLICY, "Content-Language": language}
    response = Response(page, status, headers, content_type="text/html; charset=utf-8")
    if _LANGUAGE in request.args:
        response.set_cookie(_LANGUAGE, language, max_age=_YEAR_S, samesite="Lax", secure=request.is_secure)
    return response if token else packed(response)


def _told(handler: Callable[..., Response]) -> Callable[..., Response]:
    """What is refused is said on a page, to a browser."""

    @wraps(handler)
    def answer(call: Call, **ids: Any) -> Response:
        try:
            return handler(call, **ids)
        except Exception as error:
            language, asked = _language(call), request.accept_mimetypes.best_match([problems.MEDIA_TYPE, "text/html"])
            if asked != "text/html" or (problem := problems.problem_of(error, language)) is None:
                raise
            title, meaning = problems.title(problem.code, language), problems.meaning(problem.code, language)
            return _page(call, "error.html", status=problem.status, title=title, meaning=meaning)

    return answer


def _game_page(call: Call, view: View, template: str, script: str, **shown: Any) -> Response:
    """A page about a game: named by who plays."""
    game = present.game(call.deps, view.game, at(call, view))
    told = spoken(_language(call))
    return _page(
        call,
        template,
        script,
        game=game,
        game_title=told.get(f"term.{game_name(game.ruleset)}", game.ruleset),
        players=", ".join(_called(seat, told) for seat in game.seats if seat.player_id is not None),
        called={seat.seat: _called(seat, told) for seat in game.seats},
        creator=call.caller.player is not None and call.deps.creators.get(view.game.id) == call.caller.player,
        **shown,
    )


def _called(seat: shapes.SeatOut, told: dict[str, str]) -> str:
    who = f"{seat.name} {seat.bot.level}" if seat.bot else seat.name or "?"
    return f"{told.get(f'term.{seat.hero}', seat.hero)} ({who})" if seat.hero else who


# -- the pages -------------------------------------------------------------------------------------------------------


@api.route("GET", "/", tag="pages", returns=None, media=_HTML, statuses={303: ("Who prefers JSON begins there.", None)})
@_told
def show_lobby(call: Call) -> Response:
    """The lobby: a game at once, tables to join, games to watch and to look at again.

    A client that prefers JSON is led to the description of the API.
    """
    if request.accept_mimetypes.best_match(["text/html", "application/json"], "text/html") == "application/json":
        return Response(status=303, headers={"Location": "/openapi.json"})
    return _page(call, "lobby.html", "lobby.mjs")


@api.route("GET", "/games/<id:game_id>", tag="pages", returns=None, media=_HTML, problems=("game-not-found",))
@_told
def show_table(call: Call, game_id: bytes) -> Response:
    """The table of a game: play, or watch as it happens."""
    return _game_page(call, seen(call, game_id), "table.html", "table.mjs")


@api.route("GET", "/games/<id:game_id>/replay", tag="pages", returns=None, media=_HTML, problems=_PAST)
@_told
def show_room(call: Call, game_id: bytes) -> Response:
    """The replay room of a game, at its beginning."""
    return _room(call, game_id, None)


@api.route(
    "GET",
    "/games/<id:game_id>/at/<version:version>",
    tag="pages",
    returns=None,
    media=_HTML,
    problems=(*_PAST, "position-not-found"),
)
@_told
def show_moment(call: Call, game_id: bytes, version: int) -> Response:
    """The replay room of a game at a moment, with the sentence and the picture that a shared link is shown with."""
    return _room(call, game_id, version)


def _room(call: Call, game_id: bytes, version: int | None) -> Response:
    view = seen(call, game_id).watched()
    if version is not None and version > view.version:
        raise Problem("position-not-found")
    sentence, language = "", _language(call)
    with call.deps.positions.replay(game_id, view.version) as replay:
        shown = version or _first_map(replay, view.version)
        drawn = _inline(replay, shown, language)
        rules = replay.at(shown).rules
    if version:
        for then, event, happenings in call.deps.positions.walk(game_id, version - 1, version):
            names = present.player_names(call.deps, then)
            sentence = words(language).event(event, happenings, Context.of(then, names))
    kind = "png" if export.available() else "svg"
    image = f"/v1/games/{game_id.hex()}/positions/{shown}.{kind}?lang={language}"
    chapters = {} if rules is None else telling(game_name(rules.id)).chapters
    return _game_page(
        call,
        view,
        "replay.html",
        "replay.mjs",
        at=version,
        begins=shown,
        sentence=sentence,
        image=image,
        drawn=drawn,
        parts=[part for part in _PARTS if part in chapters.values()],
    )


def _first_map(replay: Replay, upto: int) -> int:
    """The first position in which there is something to see, or 1."""
    shown = (n for n in range(1, upto + 1) if replay.happenings(n) and replay.at(n).state is not None)
    return next(shown, 1)


def _inline(replay: Replay, version: int, language: str) -> Markup | None:
    """A position's picture as a part of the page, which has the style sheet of pictures."""
    position = replay.at(version)
    if position.rules is None or game_name(position.rules.id) not in DRAWINGS:
        return None
    happened, before = replay.happenings(version), replay.before(version)
    svg = draw(position.rules, position.state, None, language, happened=happened, before=before)
    return Markup(svg.replace(f"<style>{STYLE}</style>", "", 1))


@api.route(
    "GET",
    "/games/<id:game_id>/audit",
    tag="pages",
    query=case_shapes.AuditPageQuery,
    returns=None,
    media=_HTML,
    problems=_PAST,
)
@_told
def show_verdict(call: Call, game_id: bytes) -> Response:
    """The audit of a game, in words; its disputes, and where one is opened."""
    view = seen(call, game_id).watched()
    seats = [seat for seat in view.seats if view.game.position.seats[seat - 1].bot is None]
    event = None if call.query.event is UNSET else call.query.event
    auditor = "auditor" in call.caller.roles
    shown = {"seats": seats, "auditor": auditor, "event": event, "said": _said(_language(call))}
    return _game_page(call, view, "audit.html", "audit.mjs", **shown)


@api.route(
    "GET",
    "/cases/<id:case_id>",
    tag="pages",
    returns=None,
    media=_HTML,
    problems=("case-not-found", "watching-forbidden"),
)
@_told
def show_dispute(call: Call, case_id: bytes) -> Response:
    """A dispute on one page, to be printed: what is disputed and by which rule, what was said and ruled, and why."""
    case, view = cases.found(call, case_id)
    assert case.about is not None, "else it is not found"
    (game_id, seq, _), roles, position = case.about, call.caller.roles, view.game.position
    cited: dict[str, None] = {}
    for _, _, happenings in call.deps.positions.walk(game_id, seq - 1, seq):
        cited |= dict.fromkeys(one.rule for one in happenings if one.rule)
    ruleset = "" if position.rules is None else position.rules.id
    found = (rules_text.paragraph(ruleset, rule, _language(call)) for rule in cited)
    rules = [paragraph for paragraph in found if paragraph and paragraph[1].strip()]  # of a chapter there is no more
    party = bool(view.seats) or (case.dispute is not None and case.dispute.player == call.caller.player)
    shown = {"case": case_id.hex(), "event": seq, "rules": rules, "judge": "auditor" in roles and not party}
    return _game_page(call, view, "case.html", "case.mjs", operator="operator" in roles, **shown)


@api.route("GET", "/desk", tag="pages", returns=None, media=_HTML, problems=("not-an-auditor",))
@_told
def show_desk(call: Call) -> Response:
    """The auditor's desk: the disputes that wait. For auditors and operators."""
    if not call.caller.sees_all:
        raise NotAnAuditor
    return _page(call, "desk.html", "desk.mjs")


@api.route("GET", "/players/<id:player_id>", tag="pages", returns=None, media=_HTML, problems=("player-not-found",))
@_told
def show_player(call: Call, player_id: bytes) -> Response:
    """A player's games."""
    name = call.deps.accounts.names([player_id]).get(player_id)
    if not name:
        raise Problem("player-not-found")
    return _page(call, "player.html", "player.mjs", player=player_id.hex(), name=name)


@api.route("GET", "/rules/<ruleset:ruleset>", tag="pages", returns=None, media=_HTML, problems=("ruleset-not-found",))
@_told
def show_rules(call: Call, ruleset: str) -> Response:
    """The rules of a game: the anchor of each paragraph is its number, which refusals and checks cite."""
    name, language = resolve(ruleset), _language(call)
    text = None if name is None else rules_text.rendered(game_name(name), language)
    if name is None or text is None:
        raise Problem("ruleset-not-found", {"ruleset": ruleset})
    title = spoken(language).get(f"term.{game_name(name)}", name)
    return _page(call, "rules.html", "rules.mjs", game_title=title, text=text, in_english=text.language != language)


# -- session and files -----------------------------------------------------------------------------------------------


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


@cache
def _files() -> dict[str, bytes]:
    files = {path.name: path.read_bytes() for path in _STATIC.iterdir() if path.suffix in _TYPES}
    said = {
        f"words-{language}.mjs": b"export default " + msgspec.json.encode(spoken(language)) for language in LANGUAGES
    }
    return files | said | {"picture.css": STYLE.encode()}


@cache
def _packed_file(name: str) -> bytes:
    return gzip.compress(_files()[name], mtime=0)


@cache
def _edition() -> str:
    """Changes when any file does."""
    told = hashlib.sha256()
    for name, data in sorted(_files().items()):
        told.update(f"{name} {len(data)} ".encode() + data)
    return told.hexdigest()[:16]


@cache
def _imports(script: str) -> tuple[str, ...]:
    """The modules that a script begins with, directly or through others, so that all can be asked for at once."""
    found: list[str] = []
    for name in re.findall(r'^import .* from "\./([\w.]+)";$', _files().get(script, b"").decode(), re.MULTILINE):
        found += [name, *_imports(name)]
    return tuple(dict.fromkeys(found))


@api.route(
    "GET",
    "/static/<string:name>",
    tag="pages",
    auth="nobody",
    returns=None,
    media={"text/javascript": str, "text/css": str, "image/svg+xml": str},
    problems=("not-found",),
)
def show_static(call: Call, name: str) -> Response:
    """A file of the pages; packed for whoever unpacks it."""
    return _file(name, "public, no-cache")


@api.route(
    "GET",
    "/static/<string:edition>/<string:name>",
    tag="pages",
    auth="nobody",
    returns=None,
    media={"text/javascript": str, "text/css": str, "image/svg+xml": str},
    problems=("not-found",),
)
def show_edition(call: Call, edition: str, name: str) -> Response:
    """The same by an address that is another one when any file changes: it may be kept for ever."""
    return _file(name, f"public, max-age={_YEAR_S}, immutable" if edition == _edition() else "public, no-cache")


def _file(name: str, kept: str) -> Response:
    if (data := _files().get(name)) is None:
        raise Problem("not-found")
    kind = f"{_TYPES[Path(name).suffix]}; charset=utf-8"
    headers = {"Cache-Control": kept, "Vary": "Accept-Encoding"}
    if unpacks():
        data, headers["Content-Encoding"] = _packed_file(name), "gzip"
    response = Response(data, headers=headers, content_type=kind)
    response.add_etag()
    response.make_conditional(request)
    return response
