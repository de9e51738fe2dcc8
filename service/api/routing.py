"""From a route's declaration to Flask and to OpenAPI: what it takes, answers and refuses is written once.

A handler is a function of a `Call` and the ids in its path. Its body and query are msgspec structs, decoded strictly
before it is called; what it raises becomes a problem (problems.py).
"""

import inspect
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from functools import lru_cache
from http import HTTPStatus
from typing import TYPE_CHECKING, Any, Final, Literal, cast

import msgspec
from flask import Flask, Response, request
from werkzeug.datastructures import ETags, LanguageAccept
from werkzeug.exceptions import HTTPException
from werkzeug.http import parse_accept_header
from werkzeug.routing import BaseConverter

from events.log import OutcomeUnknown, Unavailable
from replay.words import LANGUAGES
from service.access import Caller
from service.api import problems
from service.api.problems import Problem
from service.api.shapes import Open, Query
from service.commands import Stale
from service.limits import KINDS, TooMany, address_of
from service.web import session

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

    from service.bootstrap import Deps

Auth = Literal["nobody", "anybody", "player", "recent player"]
"""Who may call: ``nobody`` looks at no token; ``anybody`` may have one; the others must, and ``recent player`` may be
remembered for a second, for the one route that has to be fast."""

Handler = Callable[..., "Response | Answer"]

JSON: Final = "application/json"
BODY_LIMIT: Final = 65_536
_QUERIES: Final = 100
"""Most queries of a route that are remembered, read: there are few ways to ask."""
EXPOSED: Final = "ETag, Link, Location, Retry-After, RateLimit, RateLimit-Policy, Idempotency-Replayed"
_encoder = msgspec.json.Encoder()
_environ: ContextVar["WSGIEnvironment"] = ContextVar("environ")
"""That of the request which is being answered."""
_ASKED_FOR: Final = "annals.asked"
"""Where it keeps the call that would write, and the game's id."""


@dataclass(slots=True)
class Call:
    """One request, read: who asks, in which language, and what for."""

    deps: "Deps"
    caller: Caller
    language: str
    query: Any = None
    body: Any = None
    data: bytes | None = None
    """The body as it came, where it was read."""

    @property
    def player(self) -> bytes:
        """The player who asks; only where the route needs one."""
        assert self.caller.player is not None
        return self.caller.player


@dataclass(frozen=True, slots=True)
class Route:
    """One operation of the API."""

    method: str
    path: str
    handler: Handler
    tag: str
    auth: Auth
    query: type[msgspec.Struct]
    body: type[msgspec.Struct] | None
    body_optional: bool
    returns: Any
    status: int
    problems: tuple[str, ...]
    headers: tuple[str, ...]
    media: Mapping[str, Any]
    """Further media types of the answer, with what they hold."""
    takes: tuple[str, ...]
    """Request headers that mean something here."""
    statuses: Mapping[int, tuple[str, Any]]
    """Further statuses of success: what they say, and the shape of their JSON or None."""
    accepts: Mapping[str, Any]
    """Bodies that are no JSON: JSON Schemas by media type. The handler reads them."""

    @property
    def name(self) -> str:
        return self.handler.__name__

    @property
    def summary(self) -> str:
        return (inspect.getdoc(self.handler) or "").partition("\n\n")[0].replace("\n", " ")

    @property
    def description(self) -> str:
        return (inspect.getdoc(self.handler) or "").partition("\n\n")[2]

    @property
    def template(self) -> str:
        """The path as OpenAPI writes it."""
        return re.sub(r"<(?:[^:>]+:)?(\w+)>", r"{\1}", self.path)

    @property
    def parameters(self) -> list[tuple[str, str]]:
        """(name, converter) of the ids in the path."""
        return [(name, converter or "string") for converter, name in re.findall(r"<(?:([^:>]+):)?(\w+)>", self.path)]

    @property
    def limit(self) -> str | None:
        """Which limit a call takes a token of; None: it may come as often as it likes."""
        return KINDS.get(self.name, "reads" if self.auth != "nobody" else None)

    @property
    def writes_on(self) -> str | None:
        """The name of the path's id of the game on which the operation writes."""
        writes = self.method not in ("GET", "HEAD") and ("game_id", "id") in self.parameters
        return "game_id" if writes else None

    @property
    def refused_as(self) -> list[str]:
        """The codes of every problem that the operation may answer with."""
        codes = {*self.problems, "internal", "method-not-allowed", "unreadable"}
        if self.auth != "nobody":
            codes |= {"token-invalid", "unavailable"}
        if self.method not in ("GET", "HEAD"):
            codes |= {"outcome-unknown"}
        if self.auth in ("player", "recent player"):
            codes |= {"token-missing"}
        if self.body is not None:
            codes |= {"malformed-json"}
        if self.body is not None or self.accepts:
            codes |= {"invalid-body", "unsupported-media-type", "body-too-large", "too-slow"}
        if self.parameters:
            codes |= {"not-found"}
        if self.limit is not None:
            codes |= {"too-many-requests"}
        return sorted(codes | {"bad-query"})


@dataclass(slots=True)
class Api:
    """The routes of the service, in the order in which they were declared."""

    routes: list[Route] = field(default_factory=list)

    def route(
        self,
        method: str,
        path: str,
        *,
        tag: str,
        returns: Any,
        auth: Auth = "anybody",
        query: type[msgspec.Struct] = Query,
        body: type[msgspec.Struct] | None = None,
        body_optional: bool = False,
        status: int = 200,
        problems: tuple[str, ...] = (),
        headers: tuple[str, ...] = (),
        media: Mapping[str, Any] = {},  # never changed
        takes: tuple[str, ...] = (),
        statuses: Mapping[int, tuple[str, Any]] = {},
        accepts: Mapping[str, Any] = {},
    ) -> Callable[[Handler], Handler]:
        """Declare the decorated function as the handler of a route."""

        def declare(handler: Handler) -> Handler:
            self.routes.append(
                Route(
                    method=method,
                    path=path,
                    handler=handler,
                    tag=tag,
                    auth=auth,
                    query=query,
                    body=body,
                    body_optional=body_optional,
                    returns=returns,
                    status=status,
                    problems=problems,
                    headers=headers,
                    media=media,
                    takes=takes,
                    statuses=statuses,
                    accepts=accepts,
                )
            )
            return handler

        return declare

    def install(self, app: Flask, deps: "Deps") -> None:
        """Put every route into an application."""
        app.url_map.converters |= _CONVERTERS
        app.url_map.merge_slashes = False
        for route in self.routes:
            app.add_url_rule(route.path, route.name, _view(route, deps), methods=[route.method])


class _Id(BaseConverter):
    """32 lower-case hex digits: handlers are given the 16 bytes, logs the digits."""

    regex = "[0-9a-f]{32}"


class _Ruleset(BaseConverter):
    regex = "[a-z][a-z-]*(?:@[0-9]{1,4})?"


class _Version(BaseConverter):
    """A whole number without leading zeros."""

    regex = "0|[1-9][0-9]{0,8}"

    def to_python(self, value: str) -> int:
        return int(value)


class _TokenId(BaseConverter):
    regex = "[0-9a-f]{16}"


class _Slug(BaseConverter):
    regex = "[a-z][a-z0-9-]*"


class _Tile(BaseConverter):
    """The path of a tile, behind ``tile/`` (C2SP tlog-tiles)."""

    regex = r"(?:entries|[0-9]|[1-5][0-9]|6[0-3])/(?:x[0-9]{3}/)*[0-9]{3}(?:\.p/[1-9][0-9]{0,2})?"
    part_isolating = False


_CONVERTERS: Final[dict[str, type[BaseConverter]]] = {
    "id": _Id,
    "ruleset": _Ruleset,
    "version": _Version,
    "token": _TokenId,
    "slug": _Slug,
    "tile": _Tile,
}
PATTERNS: Final = {
    "id": {"type": "string", "pattern": f"^{_Id.regex}$"},
    "ruleset": {"type": "string", "pattern": f"^{_Ruleset.regex}$"},
    "version": {"type": "integer", "minimum": 0, "maximum": 999_999_999},
    "token": {"type": "string", "pattern": f"^{_TokenId.regex}$"},
    "slug": {"type": "string", "pattern": f"^{_Slug.regex}$"},
    "tile": {"type": "string", "pattern": f"^{_Tile.regex}$"},
    "string": {"type": "string"},
}


# -- reading ---------------------------------------------------------------------------------------------------------


def _view(route: Route, deps: "Deps") -> Handler:
    handler, auth, query_type = route.handler, route.auth, route.query
    queries: dict[str, Any] = {"": query_type()}
    hexed = [name for name, converter in route.parameters if converter == "id"]
    writes_on, limit = route.writes_on, route.limit
    decode = None if route.body is None else _decoder(route.body)

    def view(**ids: Any) -> "Response | Answer":
        call = Call(deps, _caller(deps, auth), "en")
        if limit is not None:
            deps.limits.admit(limit, call.caller.player, address(deps))
        for name in hexed:
            ids[name] = bytes.fromhex(ids[name])
        if writes_on is not None:
            _environ.get()[_ASKED_FOR] = call, ids[writes_on]  # who refuses it now says so in a signed note
        call.language = language()
        call.query = _query(query_type, queries)
        if decode is not None:
            call.data = data = read_body()
            call.body = _body(data, decode, route)
        return handler(call, **ids)

    return view


def _caller(deps: "Deps", auth: Auth) -> Caller:
    if auth == "nobody":
        return Caller()
    header = sent("HTTP_AUTHORIZATION")
    if header is None:
        if (kept := session.cookie_token()) is not None and (holder := _holder(deps, auth, kept)) is not None:
            return Caller(holder, lambda: deps.accounts.roles(holder))
        if auth == "anybody":
            return Caller()
        raise Problem("token-missing", headers={"WWW-Authenticate": "Bearer"})
    scheme, _, token = header.partition(" ")
    player = None
    if scheme.lower() == "bearer" and (token := token.strip()):
        player = _holder(deps, auth, token)
    if player is None:
        raise Problem("token-invalid", headers={"WWW-Authenticate": 'Bearer error="invalid_token"'})
    return Caller(player, lambda: deps.accounts.roles(player))


def _holder(deps: "Deps", auth: Auth, token: str) -> bytes | None:
    return deps.accounts.recent(token) if auth == "recent player" else deps.accounts.identify(token)


def sent(name: str) -> str | None:
    """A header of the request by its WSGI name: many times as fast as through Flask."""
    value: str | None = _environ.get().get(name)
    return value


def address(deps: "Deps") -> str:
    """Where the request comes from, as `limits.address_of` tells it."""
    return address_of(_environ.get(), deps.config.proxies)


def bearer() -> str:
    """The token of the request, on a route that needs one."""
    if (header := sent("HTTP_AUTHORIZATION")) is not None:
        return header.partition(" ")[2].strip()
    return session.cookie_token() or ""


def language() -> str:
    """The language of the answer: ``lang``, or what Accept-Language likes best, or English.

    :raises Problem: there are no words in the language asked for by ``lang``.
    """
    query = sent("QUERY_STRING")
    if query and ("lang" in query or "%" in query) and (asked := request.args.get("lang")) is not None:
        if asked not in LANGUAGES:
            detail = f"one of {', '.join(LANGUAGES)}"
            raise Problem("bad-query", {}, {"errors": [{"parameter": "lang", "detail": detail}]})
        return asked
    return preferred_language()


def preferred_language() -> str:
    """What Accept-Language likes best, or English."""
    header = sent("HTTP_ACCEPT_LANGUAGE")
    return "en" if header is None else _liked_best(header)


@lru_cache(1_000)
def _liked_best(header: str) -> str:
    for tag, quality in parse_accept_header(header, LanguageAccept):  # best first
        if quality > 0 and (spoken := tag.partition("-")[0].lower()) in LANGUAGES:
            return spoken
    return "en"


def _query(form: type[msgspec.Struct], known: dict[str, Any]) -> Any:
    """The parameters of the request; one that is unknown is refused: `chek=1` must not act. ``known``: what was read
    before, by the text of the query."""
    query = sent("QUERY_STRING") or ""
    if (found := known.get(query)) is not None:
        return found
    values = request.args.to_dict()
    if unknown := sorted(values.keys() - set(form.__struct_encode_fields__)):
        detail = f"unknown here; known are {', '.join(form.__struct_encode_fields__)}"
        raise Problem("bad-query", {}, {"errors": [{"parameter": name, "detail": detail} for name in unknown]})
    try:
        found = msgspec.convert(values, form, strict=False)
    except msgspec.ValidationError as error:
        pointer, detail = problems.pointer_of(str(error))
        errors = [{"parameter": pointer.removeprefix("/") or None, "detail": detail}]
        raise Problem("bad-query", {}, {"errors": errors}) from error
    if len(known) < _QUERIES and len(query) < 64:
        known[query] = found
    return found


def _body(data: bytes, decode: Callable[[bytes], Any], route: Route) -> Any:
    if not data and route.body_optional:
        data = b"{}"
    elif sent("CONTENT_TYPE") != JSON and request.mimetype != JSON:
        raise Problem("unsupported-media-type", members={"accepts": [JSON]}, headers={"Accept": JSON})
    try:
        return decode(data)
    except msgspec.ValidationError as error:
        pointer, detail = problems.pointer_of(str(error))
        raise Problem("invalid-body", {}, {"errors": [{"pointer": pointer, "detail": detail}]}) from error
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        raise Problem("malformed-json", {}, {"errors": [{"pointer": "", "detail": _short(error)}]}) from error


def read_body() -> bytes:
    """The bytes of the body. One of a known and allowed length is read at once, which is ten times as fast.

    :raises Problem: there are too many, or fewer than were announced.
    """
    length = sent("CONTENT_LENGTH") or ""
    known = length.isascii() and length.isdecimal() and sent("HTTP_TRANSFER_ENCODING") is None
    if known and len(length) < 9 and int(length) <= BODY_LIMIT:
        data: bytes = _environ.get()["wsgi.input"].read(int(length))
        if len(data) < int(length):  # whoever sent it is gone: perhaps it was to say something else
            raise Problem("unreadable")
        return data
    data = request.get_data(cache=False)
    if len(data) > BODY_LIMIT:
        raise Problem("body-too-large")
    return data


def _decoder(form: type[msgspec.Struct]) -> Callable[[bytes], Any]:
    """Bytes to the form; of an `Open` form: to (the form, the members that are not its own)."""
    if not issubclass(form, Open):
        return msgspec.json.Decoder(form).decode
    names = frozenset(form.__struct_fields__)
    decode = msgspec.json.Decoder(dict[str, Any]).decode

    def split(data: bytes) -> tuple[msgspec.Struct, dict[str, Any]]:
        members = decode(data)
        own = {name: value for name, value in members.items() if name in names}
        return msgspec.convert(own, form), {name: value for name, value in members.items() if name not in names}

    return split


def _short(error: Exception) -> str:
    return "nested too deeply" if isinstance(error, RecursionError) else str(error)[:200]


# -- answering -------------------------------------------------------------------------------------------------------


@contextmanager
def after_writing() -> Iterator[None]:
    """Around what is read for the answer to an act that is in the log by now.

    :raises OutcomeUnknown: the database does not answer any more: nobody may be told that nothing was written.
    """
    try:
        yield
    except Unavailable as error:
        raise OutcomeUnknown(f"written, and the answer cannot be put together: {error}") from error


def reply(
    body: Any,
    status: int = 200,
    headers: Mapping[str, str] = {},  # never changed
    language: str | None = None,
) -> Response:
    """A JSON answer."""
    return Response(_encoder.encode(body), status, _lines(headers, language), content_type=JSON)


class Answer:
    """A JSON answer as it is sent. A `Response` could still be changed, and takes twenty times as long."""

    __slots__ = ("_data", "_headers", "status_code")
    is_streamed: Final = False

    def __init__(self, body: Any, status: int, headers: Mapping[str, str], language: str) -> None:
        self._data, self.status_code = _encoder.encode(body), status
        self._headers = _lines(headers, language)
        self._headers += (("Content-Type", JSON), ("Content-Length", str(len(self._data))))

    def __call__(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        start_response(_STATUS[self.status_code], self._headers)
        return (self._data,)


_STATUS: Final = {status.value: f"{status.value} {status.phrase.upper()}" for status in HTTPStatus}


def _lines(headers: Mapping[str, str], language: str | None) -> list[tuple[str, str]]:
    lines = [*headers.items()]
    if "Cache-Control" not in headers:
        lines.append(("Cache-Control", "no-store" if sent("REQUEST_METHOD") == "POST" else "private, no-cache"))
    if language is not None:
        lines.append(("Content-Language", language))
    return lines


def tagged(version: int, *variant: str | None) -> str:
    """A strong entity tag: ``"<version>.<variant>"`` (RFC 9110, 8.8.3)."""
    return '"' + ".".join([str(version), *(part for part in variant if part)]) + '"'


def unchanged(tag: str) -> bool:
    """Does the caller have this representation already (If-None-Match, weak comparison)?"""
    if sent("HTTP_IF_NONE_MATCH") is None:
        return False
    held: ETags = request.if_none_match
    return held.star_tag or held.contains_weak(tag.strip('"'))


def not_modified(tag: str, headers: Mapping[str, str] = {"Cache-Control": "private, no-cache"}) -> Response:
    """304, without a body."""
    return Response(status=304, headers={"ETag": tag, **headers})


def install_errors(
    app: Flask,
    told: Callable[[Exception], None],
    stale: Callable[[Stale, str], Problem],
    sign: Callable[[Call, bytes, Problem], str | None],
) -> None:
    """Let every error be answered as a problem. ``told`` is given what nobody foresaw; its text goes nowhere else.

    ``sign`` gives the signed refusal of a call that would write on a game, or None.
    """

    def answer(error: Exception) -> Response:
        if isinstance(error, HTTPException) and error.code is not None and error.code < 400:
            response = error.get_response()
            assert isinstance(response, Response)
            return response
        if request.method in ("GET", "HEAD") and isinstance(error, OutcomeUnknown):
            error = Unavailable(str(error))  # whoever only reads has nothing to be unsure of
        said = request.args.get("lang")
        spoken = said if said in LANGUAGES else preferred_language()
        try:
            problem = stale(error, spoken) if isinstance(error, Stale) else problems.problem_of(error, spoken)
        except Exception as second:  # noqa: BLE001 # telling of an error must not fail
            error, problem = second, problems.problem_of(second, spoken)
        if problem is None:
            told(error)
            problem = Problem("internal")
        if problem.status < 500 and (asked := _environ.get().get(_ASKED_FOR)) is not None:
            call, game_id = asked
            try:
                call.deps.limits.admit("refusals", call.caller.player, address(call.deps))
            except TooMany as many:
                return problems.render(cast(Problem, problems.problem_of(many, spoken)), spoken)
            try:
                note = sign(call, game_id, problem)
            except Exception as third:  # noqa: BLE001 # a refusal that cannot be signed is still one
                told(third)
                note = None
            if note is not None:
                problem.members = {**problem.members, "refusal": note}
        return problems.render(problem, spoken)

    app.register_error_handler(Exception, answer)


def headers_of(environ: "WSGIEnvironment") -> tuple[tuple[str, str], ...]:
    """The headers that every answer to a request carries, unless it has its own of that name."""
    added = _ADDED.get(environ["REQUEST_METHOD"], _WRITTEN)
    return added + _HTTPS if environ["wsgi.url_scheme"] == "https" else added


def install_headers(app: Flask) -> None:
    """What every answer carries: what it varies by, who may read it from other origins, and how it may be used."""
    inner = app.wsgi_app

    def outer(environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        added = headers_of(environ)

        def start(status: str, headers: list[tuple[str, str]], *error: Any) -> Any:
            names = {name for name, _ in headers}
            headers += [header for header in added if header[0] not in names]
            return start_response(status, headers, *error)

        asked = _environ.set(environ)
        try:
            return inner(environ, start)
        finally:
            _environ.reset(asked)

    app.wsgi_app = outer  # type: ignore[method-assign]


_ALWAYS: Final = (
    ("Vary", "Accept, Accept-Language, Authorization, Cookie"),
    ("X-Content-Type-Options", "nosniff"),
    ("Content-Security-Policy", "default-src 'none'; frame-ancestors 'none'"),
    ("Referrer-Policy", "no-referrer"),
    ("Cross-Origin-Opener-Policy", "same-origin"),
)
_READ: Final = (
    *_ALWAYS,
    ("Access-Control-Allow-Origin", "*"),
    ("Access-Control-Expose-Headers", EXPOSED),
    ("Cross-Origin-Resource-Policy", "cross-origin"),
)
_WRITTEN: Final = (*_ALWAYS, ("Cross-Origin-Resource-Policy", "same-origin"))
_HTTPS: Final = (("Strict-Transport-Security", "max-age=31536000"),)
"""Where the request came by TLS, as far as the proxy in front says so."""
_ASKED: Final = (
    *_READ,
    ("Access-Control-Allow-Methods", "GET, HEAD, OPTIONS"),
    ("Access-Control-Allow-Headers", "Accept, Accept-Language, Authorization, If-None-Match, Last-Event-ID"),
    ("Access-Control-Max-Age", "86400"),
)
_ADDED: Final = {"GET": _READ, "HEAD": _READ, "OPTIONS": _ASKED}
"""By method; only reads, because pages of other hosts may not act."""
