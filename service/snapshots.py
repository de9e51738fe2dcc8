"""Positions on the way through each game, kept in files, so that nobody has to fold a long game from its beginning.

A file a game, ``<two digits>/<game id>``, of records that only are added to: a digest, a length, and msgpack
``[version, milliseconds from event to event since the record before, position]``. They are a cache: without them all is
the same, and takes longer. What is not what it should be is deleted, and told.
"""

import fcntl
import hashlib
import os
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import structlog

from events.event import Event
from replay.position import Position
from replay.snapshot import NoSnapshot, is_kept, pack, unpack
from service.running.observe import SNAPSHOTS_DROPPED

EVERY: Final = 64
"""Events from one kept position to the next, at least."""
LATEST: Final = 2**63
"""A version that no game comes to."""
_DIGEST: Final = 16
_HEAD: Final = _DIGEST + 4
_MEMORY: Final = 10_000

_log = structlog.get_logger()


class Snapshot(msgspec.Struct, array_like=True, frozen=True):
    """One record. ``steps``: milliseconds from each event to the next one, from the record before (or from 1970) up to
    event ``version``; ``position``: packed (`replay.snapshot`) and deflated."""

    version: int
    steps: list[int]
    position: bytes


_encode = msgspec.msgpack.Encoder().encode
_decode = msgspec.msgpack.Decoder(Snapshot).decode


class Snapshots:
    """The kept positions of every game, in a folder; None: nothing is kept."""

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._last: dict[bytes, tuple[int, int]] = {}
        """By game: the size of its file when it was last seen, and the version of its last record."""

    def offer(self, position: Position, event: Event, times: list[int]) -> None:
        """Keep a position, the one after the event, if it is time to. ``times``: when each event was written."""
        if self._folder is None or position.version < EVERY or not is_kept(position, event):
            return
        game_id = position.game_id
        size, last = self._last.get(game_id, (-1, 0))
        if size >= 0 and position.version - last < EVERY:
            return
        try:
            self._add(self._file(game_id), position, times)
        except OSError as error:
            _log.warning("snapshots-off", error=str(error))
            self._folder = None

    def records(self, game_id: bytes) -> list[Snapshot]:
        """The records of a game, in order."""
        if self._folder is None:
            return []
        path = self._file(game_id)
        try:
            data = path.read_bytes()
        except OSError:  # most games have none
            return []
        try:
            return list(_read(data))
        except NoSnapshot as error:
            self.drop(game_id, error)
            return []

    def unpack(self, record: Snapshot, event: Event) -> Position | None:
        """The position of a record, which must be the one after the event; else the file goes."""
        try:
            return unpack(zlib.decompress(record.position), event)
        except (NoSnapshot, zlib.error) as error:
            self.drop(event.game_id, error)
            return None

    def drop(self, game_id: bytes, why: Exception) -> None:
        """Forget what is kept of a game, and say so."""
        _log.warning("snapshots-dropped", game_id=game_id.hex(), error=str(why))
        SNAPSHOTS_DROPPED.inc()
        self._last.pop(game_id, None)
        self._file(game_id).unlink(missing_ok=True)

    def _file(self, game_id: bytes) -> Path:
        assert self._folder is not None
        name = game_id.hex()
        return self._folder / name[:2] / name

    def _add(self, path: Path, position: Position, times: list[int]) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        with path.open("a+b") as file:
            fcntl.flock(file, fcntl.LOCK_EX)
            size, last = self._last.get(position.game_id, (-1, 0))
            if os.fstat(file.fileno()).st_size != size:  # another process wrote
                file.seek(0)
                try:
                    *_, last = (0, *(record.version for record in _read(file.read())))
                except NoSnapshot as error:
                    self.drop(position.game_id, error)
                    return
            if position.version - last >= EVERY:
                before = times[last - 1] if last else 0
                steps = [after - ms for ms, after in zip([before, *times[last:]], times[last:], strict=False)]
                data = _encode(Snapshot(position.version, steps, zlib.compress(pack(position), 1)))
                file.write(_digest(data) + len(data).to_bytes(4, "big") + data)
                file.flush()
                last = position.version
            if len(self._last) >= _MEMORY:
                self._last.clear()
            self._last[position.game_id] = os.fstat(file.fileno()).st_size, last


def times_of(records: list[Snapshot]) -> list[int]:
    """When each event was written, up to the version of the last record."""
    times, now = list[int](), 0
    for record in records:
        for step in record.steps:
            now += step
            times.append(now)
    return times


def _read(data: bytes) -> Iterator[Snapshot]:
    """The records of a file.

    :raises NoSnapshot: it is not one.
    """
    at = version = 0
    while at < len(data):
        size = int.from_bytes(data[at + _DIGEST : at + _HEAD], "big")
        body = data[at + _HEAD : at + _HEAD + size]
        if len(body) != size or data[at : at + _DIGEST] != _digest(body):
            raise NoSnapshot(f"the record at byte {at} is not what was written")
        try:
            record = _decode(body)
        except msgspec.MsgspecError as error:
            raise NoSnapshot(str(error)) from error
        if record.version != version + len(record.steps):
            raise NoSnapshot(f"record {record.version} does not follow record {version}")
        version = record.version
        yield record
        at += _HEAD + size


def _digest(data: bytes) -> bytes:
    return hashlib.blake2b(data, digest_size=_DIGEST).digest()
