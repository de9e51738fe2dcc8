"""Forgetting a person: name, roles, tokens, and what they wrote in disputes. No chain is touched.

What is left are random ids and hashes, which name nobody any more: the events of games and cases stay as they are, and
with them every head, bundle and verdict.
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING

import msgspec

from replay.case import STATES, Case
from service.accounts import UnknownPlayer
from service.disputes import cases
from service.disputes.casebook import CaseNotFound
from service.keeping import erased

if TYPE_CHECKING:
    from service.bootstrap import Deps

_PAGE = 100


class Forgotten(msgspec.Struct, frozen=True):
    """How many texts and tokens are gone."""

    texts: int
    tokens: int


def forget(deps: "Deps", player_id: bytes) -> Forgotten:
    """Erase a player. Interrupted, it is to be called again: the tokens, which allow that, go last.

    :raises UnknownPlayer: there is none, or none any more.
    :raises events.log.Unavailable: the database does not answer; perhaps a part is erased.
    """
    erased.note(deps, [player_id])
    deps.index.catch_up()
    roles = deps.accounts.roles(player_id)
    texts = 0
    for case in _everywhere(deps) if roles else _where_seated(deps, player_id):
        for said in case.statements:
            if said.player == player_id:
                texts += cases.erase(deps, case, said.seq)
    tokens = deps.accounts.erase(player_id)
    if tokens is None:
        raise UnknownPlayer(player_id.hex())
    return Forgotten(texts, tokens)


def forget_again(deps: "Deps", entries: Iterable[bytes]) -> int:
    """Erase what came back with a backup: how many players and texts of ``entries`` (`service.keeping.erased`) did.

    :raises events.log.Unavailable: the database does not answer; perhaps a part is erased.
    """
    wanted, count = sorted(entries, key=len, reverse=True), 0  # texts first, each counted once
    erased.note(deps, wanted)
    for entry in wanted:
        if len(entry) == erased.TEXT:
            count += deps.cases.erase(entry[:16], entry[16:])
        else:
            with suppress(UnknownPlayer):
                forget(deps, entry)
                count += 1
    return count


def _where_seated(deps: "Deps", player_id: bytes) -> Iterator[Case]:
    """The cases of every game at which a player sits."""
    cursor = None
    while True:
        page = deps.index.games(player=player_id.hex(), private=True, limit=_PAGE, cursor=cursor)
        for row in page.rows:
            yield from deps.cases.of_game(bytes.fromhex(row.game_id))
        if (cursor := page.next) is None:
            return


def _everywhere(deps: "Deps") -> Iterator[Case]:
    """Every case: who had a role may have ruled on any."""
    for state in STATES:
        cursor, more = None, True
        while more:
            page = deps.index.cases(state, _PAGE, cursor)
            for row in page.rows:
                with suppress(CaseNotFound):
                    yield deps.cases.load(bytes.fromhex(row.case_id))
            cursor, more = page.next, page.next is not None
