"""The log of games over HTTP: its files as C2SP tlog-tiles has them, and proofs for those who do not compute them."""

import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any, Final, TypeVar

from flask import Response
from msgspec import UNSET

from events.tlog.policy import Policy
from events.tlog.proof import Inclusion
from events.tlog.tiles import BadTile, Missing
from service.api import shapes
from service.api.problems import Problem
from service.api.routing import Api, Call
from service.api.tables import seen
from service.proofs.log_folder import Kind, LogFolder, NoLog, log_at

api = Api()
TEXT: Final = "text/plain"
OCTETS: Final = "application/octet-stream"
_LOOK_S: Final = 0.1
_NOW: Final = "public, max-age=1"
_FOREVER: Final = "max-age=31536000, immutable"

Found = TypeVar("Found")


@api.route(
    "GET",
    "/v1/log/checkpoint",
    tag="log",
    auth="nobody",
    returns=None,
    problems=("not-logged-yet",),
    media={TEXT: str},
)
def show_checkpoint(call: Call) -> Response:
    """The log of games as it stands: origin, number of entries, root, signed (C2SP tlog-checkpoint)."""
    return _text(_found(lambda: _log(call).note()), _NOW)


@api.route(
    "GET",
    "/v1/log/tile/<tile:tile>",
    tag="log",
    auth="nobody",
    returns=None,
    problems=("not-logged-yet",),
    media={OCTETS: bytes},
)
def show_tile(call: Call, tile: str) -> Response:
    """A tile of hashes, or with `entries/` a bundle of entries (C2SP tlog-tiles). It never changes.

    A partial tile may be gone once the full one is there; its hashes are the first ones of that.
    """
    try:
        data = _found(lambda: _log(call).tile(f"tile/{tile}"))
    except (Missing, BadTile) as error:
        raise Problem("not-found") from error
    return Response(data, headers={"Cache-Control": f"public, {_FOREVER}"}, content_type=OCTETS)


@api.route("GET", "/v1/log/policy", tag="log", auth="nobody", returns=None, media={TEXT: str})
def show_policy(call: Call) -> Response:
    """The keys that this service says are its own (C2SP tlog-policy; the receipts key in a comment).

    What a server says of itself proves nothing: get the same from elsewhere, and keep it.
    """
    try:
        text = _log(call).read("policy")
    except Missing:
        signing = call.deps.signing
        logs = () if signing.log is None else (signing.log.verifier,)
        text = Policy(logs, receipts=signing.receipts.verifier).text.encode()
    return _text(text, _NOW)


@api.route(
    "GET",
    "/v1/log/consistency",
    tag="log",
    auth="nobody",
    query=shapes.ConsistencyQuery,
    returns=None,
    problems=("not-logged-yet",),
    media={TEXT: str},
)
def show_consistency(call: Call) -> Response:
    """The proof that the log begins with the `from` entries that it had before, and the checkpoint that it leads to.

    The published checkpoint, or the first one of at least `to` entries. The text is the body of a witness's
    `add-checkpoint` (C2SP tlog-witness).
    """
    old, new = call.query.from_size, None if call.query.to is UNSET else call.query.to
    try:
        proof = _found(lambda: _log(call).consistency(old, new))
    except IndexError as error:
        raise Problem("not-logged-yet", headers={"Retry-After": "1"}) from error
    return _text(proof.write(), _NOW)


_PROOF: Final[dict[str, Any]] = {
    "tag": "log",
    "query": shapes.ProofQuery,
    "returns": None,
    "problems": ("game-not-found", "not-logged-yet"),
    "media": {TEXT: str},
}


@api.route("GET", "/v1/games/<id:game_id>/proofs/open", **_PROOF)
def show_open_proof(call: Call, game_id: bytes) -> Response:
    """The proof that the game's beginning is in the log (C2SP tlog-proof); the entry itself is its `extra` line.

    It leads to the first checkpoint that held the entry, and never changes; with `at=latest` to the published one. The
    log takes in what happened once a second: `wait=5` waits so long for it.
    """
    return _proof(call, "open", game_id)


@api.route("GET", "/v1/games/<id:game_id>/proofs/close", **_PROOF)
def show_close_proof(call: Call, game_id: bytes) -> Response:
    """The same of the game's end."""
    return _proof(call, "close", game_id)


def _proof(call: Call, kind: Kind, game_id: bytes) -> Response:
    seen(call, game_id)
    latest = call.query.at == "latest"
    until = time.monotonic() + call.query.wait
    while (proof := _logged(call, kind, game_id, latest)) is None:
        if time.monotonic() >= until:
            raise _not_yet()
        time.sleep(_LOOK_S)
    return _text(proof.write(), "private, no-cache" if latest else f"private, {_FOREVER}")


def _logged(call: Call, kind: Kind, game_id: bytes, latest: bool) -> Inclusion | None:
    with suppress(NoLog):
        return _log(call).proof(kind, game_id, latest)
    return None


def _log(call: Call) -> LogFolder:
    return log_at(call.deps.config.log_path)


def _found(read: Callable[[], Found]) -> Found:
    try:
        return read()
    except NoLog as error:
        raise _not_yet() from error


def _not_yet() -> Problem:
    return Problem("not-logged-yet", headers={"Retry-After": "1"})


def _text(data: bytes, cache: str) -> Response:
    return Response(data, headers={"Cache-Control": cache}, content_type=f"{TEXT}; charset=utf-8")
