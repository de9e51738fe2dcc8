"""The description of the API (OpenAPI 3.1), generated from the routes' own declarations."""

import importlib.metadata
from typing import Any, Final

import msgspec
from msgspec import UNSET, UnsetType

from service.api import problems
from service.api.routing import JSON, PATTERNS, Api, Route
from service.api.shapes import Refusal

_TAGS: Final = {
    "players": "Who plays: registering, tokens, where one sits.",
    "rulesets": "The games on offer, with JSON Schemas of all that can be chosen and done.",
    "games": "Opening, finding and playing on from games.",
    "seats": "Sitting down, leaving, starting.",
    "play": "The state, what may be done, doing it.",
    "record": "What happened: events, positions, replay, audit.",
    "disputes": "An event is disputed, the other seats answer, an auditor rules: a chained stream of its own.",
    "log": "The log of games: that a game began and ended so, and was not changed since.",
    "pages": "For people: the lobby, tables, the replay room, audits, rules. Clients of this API like any other.",
    "service": "The service itself.",
}
_HEADERS: Final = {
    "ETag": 'A strong tag that begins with the version: `"12.en"`.',
    "Link": "`rel=next`: the next page.",
    "Retry-After": "When to ask again, in seconds.",
    "RateLimit": "What is left of the limit that was reached, and in how many seconds there is more.",
    "RateLimit-Policy": "The limit that was reached: so many (`q`) in so many seconds (`w`).",
    "Location": "Where what was made is found.",
    "Idempotency-Replayed": "`true`: this is the answer that the key got before.",
}
_LIMITED: Final = ("Retry-After", "RateLimit", "RateLimit-Policy")
_TAKES: Final = {
    "If-Match": "The entity tag of the version that the action is meant for.",
    "If-None-Match": "Entity tags of what the caller has already.",
    "Idempotency-Key": "1 to 200 visible characters of the caller's choice, new for each act.",
    "Last-Event-ID": "The id of the last event that was received.",
}
_INTRODUCTION: Final = (
    "An event-sourced game service with replays. Every error is `application/problem+json`; words come in English, "
    "French and Japanese, by `lang` or Accept-Language."
)


class ProblemOut(msgspec.Struct, frozen=True, kw_only=True, rename={"kind": "type"}):
    """A refusal (RFC 9457). `code` is the last part of `type`; further members depend on it."""

    kind: str
    title: str
    status: int
    detail: str
    code: str


class RefusalProblem(ProblemOut, frozen=True, kw_only=True, rename={"kind": "type"}):
    """A refusal of a call that would have written on a game. `refusal` is there for who may know of that game."""

    refusal: Refusal | UnsetType = UNSET


def document(api: Api) -> dict[str, Any]:
    """The whole description."""
    kinds: list[Any] = [ProblemOut, RefusalProblem]
    for route in api.routes:
        answers = (route.returns, *route.media.values(), *(shape for _, shape in route.statuses.values()))
        kinds += [kind for kind in (route.body, *answers) if kind is not None]
    unique = list(dict.fromkeys(kinds))
    schemas, components = msgspec.json.schema_components(unique, ref_template="#/components/schemas/{name}")
    schema = dict(zip(unique, schemas, strict=True))
    paths: dict[str, dict[str, Any]] = {}
    for route in api.routes:
        paths.setdefault(route.template, {})[route.method.lower()] = _operation(route, schema)
    for kind in ("ProblemOut", "RefusalProblem"):
        components[kind]["properties"]["code"]["enum"] = sorted(problems.CATALOGUE)
    return {
        "openapi": "3.1.0",
        "info": {
            "title": "Annals",
            "version": importlib.metadata.version("annals"),
            "description": _INTRODUCTION,
            "license": {"name": "Apache-2.0", "identifier": "Apache-2.0"},
        },
        "tags": [{"name": name, "description": about} for name, about in _TAGS.items()],
        "paths": paths,
        "components": {
            "schemas": components,
            "securitySchemes": {"token": {"type": "http", "scheme": "bearer"}},
            "parameters": {name: _header(name, about) for name, about in _TAKES.items()},
        },
        "x-problems": {
            code: {"type": problems.type_of(code), "status": status, "title": problems.title(code, "en")}
            for code, status in problems.CATALOGUE.items()
        },
    }


def _header(name: str, about: str) -> dict[str, Any]:
    return {"name": name, "in": "header", "description": about, "schema": {"type": "string"}}


def _operation(route: Route, schema: dict[Any, Any]) -> dict[str, Any]:
    operation: dict[str, Any] = {
        "operationId": route.name,
        "summary": route.summary,
        "description": route.description,
        "tags": [route.tag],
        "parameters": [*_path(route), *_query(route), *_taken(route)],
        "responses": _responses(route, schema),
    }
    if route.auth != "nobody":
        operation["security"] = [{"token": []}] if "player" in route.auth else [{}, {"token": []}]
    if route.body is not None:
        operation["requestBody"] = {
            "required": not route.body_optional,
            "content": {JSON: {"schema": schema[route.body]}},
        }
    if route.accepts:
        content = {media: {"schema": form} for media, form in route.accepts.items()}
        operation["requestBody"] = {"required": True, "content": content}
    return operation


def _told(name: str) -> dict[str, Any]:
    return {"description": _HEADERS[name], "schema": {"type": "string"}}


def _path(route: Route) -> list[dict[str, Any]]:
    return [
        {"name": name, "in": "path", "required": True, "schema": PATTERNS[converter]}
        for name, converter in route.parameters
    ]


def _query(route: Route) -> list[dict[str, Any]]:
    (_,), parts = msgspec.json.schema_components([route.query], ref_template="#/{name}")
    return [
        {"name": name, "in": "query", "required": False, "schema": schema}
        for name, schema in parts[route.query.__name__]["properties"].items()
    ]


def _taken(route: Route) -> list[dict[str, Any]]:
    return [{"$ref": f"#/components/parameters/{name}"} for name in route.takes]


def _responses(route: Route, schema: dict[Any, Any]) -> dict[str, Any]:
    headers = {name: _told(name) for name in route.headers}
    done: dict[str, Any] = {"description": "Done."}
    if route.returns is not None:
        done["content"] = {JSON: {"schema": schema[route.returns]}} | {
            media: {"schema": schema[kind]} for media, kind in route.media.items()
        }
    if headers:
        done["headers"] = headers
    responses: dict[str, Any] = {str(route.status): done}
    for status, (about, shape) in route.statuses.items():
        responses[str(status)] = {"description": about}
        if shape is not None:
            responses[str(status)]["content"] = {JSON: {"schema": schema[shape]}}
    by_status: dict[int, list[str]] = {}
    for code in route.refused_as:
        by_status.setdefault(problems.CATALOGUE[code], []).append(code)
    for status, codes in sorted(by_status.items()):
        signed = route.writes_on is not None and status < 500 and status != 429
        responses[str(status)] = {
            "description": ", ".join(f"`{code}`" for code in codes),
            "content": {problems.MEDIA_TYPE: {"schema": schema[RefusalProblem if signed else ProblemOut]}},
        }
        if status == 429:
            responses[str(status)]["headers"] = {name: _told(name) for name in _LIMITED}
    return responses
