"""Audits: a game's verdict and bundle, and the verdict on a bundle from anywhere."""

from typing import Any, Final

import msgspec
from flask import Response, request

from events.event import Event
from events.log import Damage, Head, whole
from replay.audit import Trust, audit_bundle
from replay.bundle import SUFFIX
from service.access import View
from service.api import present, shapes
from service.api.problems import Problem
from service.api.routing import Api, Call, reply
from service.api.tables import seen
from service.index import case_row_of, seen_cases
from service.proofs import bundles

api = Api()
ZIP: Final = "application/zip"
FORM: Final = "multipart/form-data"
UPLOAD_LIMIT: Final = 4_000_000
"""Most bytes of an uploaded bundle with all that comes with it, and of it alone once it is unpacked: a verdict takes at
most about a microsecond a byte."""
_FILE: Final = {"type": "string", "contentMediaType": "application/octet-stream"}
_PARTS: Final[dict[str, Any]] = {
    "type": "object",
    "required": ["bundle"],
    "additionalProperties": False,
    "properties": {
        "bundle": {**_FILE, "description": "The bundle."},
        "policy": {
            **_FILE,
            "description": "Whom to believe, as C2SP tlog-policy. Without it: what this server claims.",
        },
        "receipt": {"type": "array", "items": _FILE, "maxItems": 100, "description": "Receipts and refusals."},
    },
}


@api.route(
    "GET",
    "/v1/games/<id:game_id>/audit",
    tag="record",
    returns=shapes.VerdictOut,
    problems=("game-not-found", "watching-forbidden"),
)
def show_audit(call: Call, game_id: bytes) -> Response:
    """Does the record hold? Chain, order, legality, draws, fingerprints, dice, signatures and the log of games, anew.

    `verdict` is one of five phrases; `checks` says of each check whether it passed; `limits` what this cannot show. A
    server that judges itself proves nothing: take the bundle, and check it elsewhere. `cases` are the disputes of the
    game, whose records are audited by themselves.
    """
    view = seen(call, game_id).watched()
    items, head = _shown(call, view)
    verdict = msgspec.structs.asdict(bundles.verdict(call.deps, game_id, items, head, call.language))
    cases = seen_cases(call.deps.cases.of_game(game_id), view.version)
    shown = {**verdict, "cases": [present.case_brief(case_row_of(case)) for case in cases]}
    return reply(shown, language=call.language)


@api.route(
    "GET",
    "/v1/games/<id:game_id>/bundle",
    tag="record",
    returns=None,
    problems=("game-not-found", "watching-forbidden"),
    media={ZIP: bytes},
)
def show_bundle(call: Call, game_id: bytes) -> Response:
    """Everything this server can show about a game, signed, in one file that is judged without any server."""
    items, _ = _shown(call, seen(call, game_id).watched())
    data = bundles.bundle_of(call.deps, game_id, items)
    headers = {
        "Content-Disposition": f'attachment; filename="{game_id.hex()}{SUFFIX}"',
        "Cache-Control": "private, no-cache",
    }
    return Response(data, headers=headers, content_type=ZIP)


@api.route(
    "POST",
    "/v1/audits",
    tag="record",
    auth="nobody",
    returns=shapes.VerdictOut,
    accepts={ZIP: _FILE, FORM: _PARTS},
)
def judge_bundle(call: Call) -> Response:
    """The verdict on a bundle, from this server or another one.

    As `application/zip` it is judged by the keys that this server claims, and the limit `own-policy` says so; in a form
    its part `policy` says whom to believe.
    """
    request.max_content_length = UPLOAD_LIMIT
    if request.mimetype == ZIP:
        data, trust = request.get_data(), bundles.own_trust(call.deps)
    elif request.mimetype == FORM:
        data, trust = _form(call)
    else:
        raise Problem("unsupported-media-type", members={"accepts": [ZIP, FORM]}, headers={"Accept": f"{ZIP}, {FORM}"})
    return reply(audit_bundle(data, trust, call.language, UPLOAD_LIMIT), language=call.language)


def _form(call: Call) -> tuple[bytes, Trust]:
    """Bundle and trust of a form; a part is a file or a field.

    :raises Problem: a part is missing, unknown or there too often.
    """
    parts: dict[str, list[bytes]] = {}
    for name, file in request.files.items(multi=True):
        parts.setdefault(name, []).append(file.read())
    for name, text in request.form.items(multi=True):
        parts.setdefault(name, []).append(text.encode())
    for name, found in parts.items():
        if name not in _PARTS["properties"] or len(found) > (100 if name == "receipt" else 1):
            raise _wrong(name, "no such part, or too many of them")
    if "bundle" not in parts:
        raise _wrong("bundle", "the part is missing")
    trust = Trust(policy=parts["policy"][0]) if "policy" in parts else bundles.own_trust(call.deps)
    receipts = {f"receipt {number}": note for number, note in enumerate(parts.get("receipt", ()), 1)}
    return parts["bundle"][0], trust.with_receipts(receipts)


def _wrong(name: str, detail: str) -> Problem:
    return Problem("invalid-body", {}, {"errors": [{"pointer": f"/{name}", "detail": detail}]})


def _shown(call: Call, view: View) -> tuple[list[Event | Damage], Head]:
    """What may be seen of the stored events, and the head that belongs to it."""
    log, game_id = call.deps.log, view.game.id
    head = log.head(game_id)
    items: list[Event | Damage] = list(whole(log, game_id))
    if view.version < view.game.version:
        items = [item for item in items if _number(item) <= view.version]
        if events := [item for item in items if isinstance(item, Event)]:
            head = Head(events[-1].seq, events[-1].hash)
    return items, head


def _number(item: Event | Damage) -> int:
    """Of which event it is, or in the place of which."""
    return item.seq if isinstance(item, Event) else int(item.place.partition("-")[0])
