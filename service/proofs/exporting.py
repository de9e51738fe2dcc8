"""`annals export`: a game's bundle, from a service by its address or from the database."""

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

import httpx

from events.log import whole
from service.proofs import bundles

if TYPE_CHECKING:
    from service.bootstrap import Deps

TIMEOUT_S = 60.0


class NoBundle(Exception):
    """There is nothing to export, and why."""


def from_server(address: str, token: str | None = None) -> bytes:
    """The bundle of the game at an address of a service: of its page or of its API.

    :raises NoBundle: the service does not answer, or gives none.
    """
    parts = urlsplit(address)
    game = next((part for part in reversed(parts.path.split("/")) if len(part) == 32), None)
    if game is None:
        raise NoBundle(f"{address} does not end with a game's id")
    prefix = parts.path.partition("/games/")[0].removesuffix("/v1")
    url = f"{parts.scheme}://{parts.netloc}{prefix}/v1/games/{game}/bundle"
    try:
        answer = httpx.get(url, headers={"Authorization": f"Bearer {token}"} if token else {}, timeout=TIMEOUT_S)
        answer.raise_for_status()
    except httpx.HTTPError as error:
        raise NoBundle(str(error)) from error
    return answer.content


def from_database(deps: "Deps", game_id: bytes) -> bytes:
    """The bundle of a game of the database.

    :raises NoBundle: there is no such game.
    """
    items = list(whole(deps.log, game_id))
    if not items:
        raise NoBundle(f"there is no game {game_id.hex()}")
    return bundles.bundle_of(deps, game_id, items)
