"""The cases of the service: where they are found, the texts beside them, and who read what is not public.

Cases are streams of the log like games. Beside the log stand, each in the slot of its game or case and all but the
texts to be made again: ``{sX}:cases:<game>`` (disputed event -> case), ``{sX}:texts:<case>`` (hash of a text -> salt
and text) and ``{sX}:access:<game>`` (who read what, when first and last, how often).
"""

import secrets
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

import msgspec
import redis

from events.case_bodies import SALT, hidden, opens_case
from events.event import Event
from events.log import EventLog, whole
from events.redis_client import Wire
from events.redis_log import shard_of
from replay.case import Case, fold_case
from service.clock import Clock

_MEMORY: Final = 1_000


class CaseNotFound(LookupError):
    """There is no such case, or none that the caller may know of."""


class Text(msgspec.Struct, frozen=True):
    """A text that lies beside the log, with its salt (32 bytes)."""

    text: str
    salt: bytes

    @property
    def h(self) -> bytes:
        """What stands for it in its event."""
        return hidden(self.salt, self.text)


@dataclass(frozen=True, slots=True)
class Access:
    """Somebody with a role read what is not public: ``what`` names the call."""

    player: bytes
    what: str
    first_ms: int
    last_ms: int
    times: int


class Casebook:
    """Every case, by its id, by its game and by the event that it is about."""

    def __init__(self, client: redis.Redis, log: EventLog) -> None:
        self._wire, self._log = Wire(client), log
        self._known: dict[bytes, Case] = {}

    def load(self, case_id: bytes) -> Case:
        """A case as it stands now. Not to be changed.

        :raises CaseNotFound: there is none.
        """
        head = self._log.head(case_id)
        if not head.version:
            raise CaseNotFound(case_id.hex())
        case = self._known.get(case_id)
        if case is not None and (case.version, case.head) == (head.version, head.head):
            return case
        items = list(whole(self._log, case_id))
        first = items[0] if items else None
        if isinstance(first, Event) and not opens_case(first):
            raise CaseNotFound(case_id.hex())
        case = fold_case(case_id, items)
        if case.about is None:
            raise CaseNotFound(case_id.hex())
        if len(self._known) >= _MEMORY:
            self._known.clear()
        self._known[case_id] = case
        return case

    def of_game(self, game_id: bytes) -> list[Case]:
        """The cases of a game, in the order in which they were opened."""
        (ids,) = self._wire.call(("HVALS", _cases(game_id)))
        cases = []
        for case_id in ids:
            try:
                case = self.load(bytes(case_id))
            except CaseNotFound:  # its place is taken, and nothing written yet
                continue
            if case.game_id == game_id:
                cases.append(case)
        return sorted(cases, key=lambda case: (case.created_ms, case.case_id))

    def reserve(self, game_id: bytes, seq: int) -> bytes:
        """The id of the case about an event: whoever comes first draws it, and an event has no second one."""
        key, field = _cases(game_id), str(seq)
        self._wire.call(("HSETNX", key, field, secrets.token_bytes(16)))
        (case_id,) = self._wire.call(("HGET", key, field))
        return bytes(case_id)

    def enter(self, case: Case) -> None:
        """Write down of which game a case is, where that was lost."""
        assert case.about is not None
        game_id, seq, _ = case.about
        self._wire.call(("HSETNX", _cases(game_id), str(seq), case.case_id))

    # -- texts -----------------------------------------------------------------------------------------------------

    def keep(self, case_id: bytes, text: str) -> Text:
        """Keep a text under a fresh salt, before the event that holds its hash is written."""
        kept = Text(text, secrets.token_bytes(SALT))
        self._wire.call(("HSET", _texts(case_id), kept.h, kept.salt + text.encode()))
        return kept

    def texts(self, case_id: bytes, hashes: Iterable[bytes]) -> dict[bytes, Text]:
        """The texts that are there by their hashes; whoever changed one beside the log is found out here."""
        wanted = list(hashes)
        if not wanted:
            return {}
        (values,) = self._wire.call(("HMGET", _texts(case_id), *wanted))
        return {
            h: Text(value[SALT:].decode("utf-8", "replace"), value[:SALT])
            for h, value in zip(wanted, values, strict=True)
            if value is not None and len(value) >= SALT
        }

    def erase(self, case_id: bytes, h: bytes) -> bool:
        """Forget a text and its salt. False: it was not there."""
        (gone,) = self._wire.call(("HDEL", _texts(case_id), h))
        return bool(gone)


class Accesses:
    """Who read what is not public at a game, by a role and not by a seat."""

    def __init__(self, client: redis.Redis, clock: Clock) -> None:
        self._wire, self._clock = Wire(client), clock

    def note(self, game_id: bytes, player: bytes, what: str) -> None:
        """Write down that somebody is about to read something."""
        key, now, field = _access(game_id), self._clock(), player + b":" + what.encode()
        self._wire.call(
            ("HSETNX", key, b"first:" + field, now),
            ("HSET", key, b"last:" + field, now),
            ("HINCRBY", key, b"times:" + field, 1),
        )

    def of(self, game_id: bytes) -> list[Access]:
        """Everything that was written down about a game, by the time of first reading."""
        (reply,) = self._wire.call(("HGETALL", _access(game_id)))
        pairs = reply.items() if isinstance(reply, dict) else zip(reply[::2], reply[1::2], strict=True)
        values = {bytes(name): int(value) for name, value in pairs}
        found = [
            Access(field[:16], field[17:].decode(), first, values[b"last:" + field], values[b"times:" + field])
            for name, first in values.items()
            if name.startswith(b"first:") and (field := name.removeprefix(b"first:"))
        ]
        return sorted(found, key=lambda access: (access.first_ms, access.player, access.what))


def _cases(game_id: bytes) -> str:
    return f"{shard_of(game_id)}:cases:{game_id.hex()}"


def _texts(case_id: bytes) -> str:
    return f"{shard_of(case_id)}:texts:{case_id.hex()}"


def _access(game_id: bytes) -> str:
    return f"{shard_of(game_id)}:access:{game_id.hex()}"
