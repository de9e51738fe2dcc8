"""A backup: everything that nobody could make again, in a folder that is whole or not there (docs/archive.md).

    MANIFEST.json     what this is, when it was made, and the digests of the two files after it
    index             of every game and case: id, version u32, head, 1 if it was archived (53 bytes each)
    beside            what lies beside the log, without what is derived: players, texts, who opened which table ...
    erased            ids of what was erased before, a line each (`service.keeping.erased`)
    streams/          an archive (`events.archive`) of all games and cases, those being played too
    log/              the log of games, copied last: it must not be behind what it speaks of

No key is in it: neither master keys nor those that sign. Each game is as it was at one moment; every file is read back
and hashed before the backup counts.
"""

import hashlib
import os
import shutil
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgpack
import msgspec

from events.archive import Archive, BadArchive, Header, NotPackable, unpack
from events.event import Event
from events.files import link, sync_folder, write_file
from events.hashing import u32
from events.log import Damage, Head, whole
from events.redis_client import Command, Wire
from events.tlog import merkle
from events.tlog.tiles import Missing
from service.keeping import erased
from service.proofs import log_folder
from service.proofs.log_folder import LogFolder, NoLog, checkpoint_of

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

if TYPE_CHECKING:
    from service.bootstrap import Deps

FORMAT: Final = 1
MANIFEST: Final = "MANIFEST.json"
INDEX: Final = "index"
BESIDE: Final = "beside"
STREAMS: Final = "streams"
LOG: Final = "log"
PARTIAL: Final = ".partial"
RECORD: Final = 53

TAGS: Final = ("{s?}:*", "{log}:*", "{signing}:*", "{demo}:*")
"""Where keys lie that nobody could make again."""
DERIVED: Final = frozenset((b"ev", b"meta", b"idem", b"feed", b"cases", b"limit"))
"""What these are named that are made from the log, or forgotten soon."""
_TRIES: Final = 5
_FIRST: Final = (log_folder.CHECKPOINT, log_folder.SIGNED)
"""Never is what was published past what was signed, nor what was signed past the tiles."""


class BadBackup(Exception):
    """The folder holds no whole backup, and why."""


class Manifest(msgspec.Struct, frozen=True):
    """What a backup says of itself. Times are milliseconds since 1970."""

    format: int
    build: str
    begun_ms: int
    ended_ms: int
    streams: int
    events: int
    index: str
    """SHA-256 of the file `index`, in hex."""
    beside: str
    log_size: int | None
    """Entries of the log of games; None: there is none."""


class Record(msgspec.Struct, frozen=True):
    """A game or case in a backup."""

    stream_id: bytes
    version: int
    head: bytes
    archived: bool

    def write(self) -> bytes:
        """The 53 bytes."""
        return self.stream_id + u32(self.version) + self.head + bytes((self.archived,))


@dataclass(slots=True)
class Backup:
    """A whole backup, to be read."""

    path: Path
    manifest: Manifest
    archive: Archive = field(init=False)

    def __post_init__(self) -> None:
        self.archive = Archive(self.path / STREAMS)

    @classmethod
    def open(cls, path: Path) -> "Backup":
        """
        :raises BadBackup: there is none, or its lists are not those that were written.
        """
        try:
            manifest = msgspec.json.decode((path / MANIFEST).read_bytes(), type=Manifest)
            found = (_digest(path / INDEX), _digest(path / BESIDE))
        except FileNotFoundError as error:
            raise BadBackup(f"{path} is no whole backup: {error.filename} is missing") from error
        except msgspec.DecodeError as error:
            raise BadBackup(f"{path / MANIFEST}: {error}") from error
        if manifest.format != FORMAT:
            raise BadBackup(f"format {manifest.format}, which this version does not know")
        if found != (manifest.index, manifest.beside):
            raise BadBackup(f"{path}: its lists are not those that were written")
        return cls(path, manifest)

    def records(self) -> Iterator[Record]:
        """Every game and case."""
        with (self.path / INDEX).open("rb") as file:
            while data := file.read(RECORD):
                yield Record(data[:16], int.from_bytes(data[16:20], "big"), data[20:52], data[52] == 1)

    def events(self, record: Record) -> list[Event]:
        """The events of a game or case, hashed anew.

        :raises BadBackup: its file is missing or damaged.
        """
        try:
            events = unpack(self.archive.data(record.stream_id))
        except (BadArchive, LookupError) as error:
            raise BadBackup(f"{record.stream_id.hex()}: {error}") from error
        if (len(events), events[-1].hash, events[0].game_id) != (record.version, record.head, record.stream_id):
            raise BadBackup(f"{record.stream_id.hex()}: the file holds another history")
        return events

    def beside(self) -> Iterator[tuple[bytes, bytes, Any, int | None]]:
        """(key, type, value, time of its end in ms since 1970) of what lay beside the log."""
        with zstd.open(self.path / BESIDE, "rb") as file:
            rows = iter(msgpack.Unpacker(file, raw=True))
            next(rows)
            yield from rows

    @property
    def log(self) -> LogFolder | None:
        """The log of games, if there was one."""
        return None if self.manifest.log_size is None else LogFolder(self.path / LOG)


@dataclass(slots=True)
class Made:
    """What came of making a backup: ``linked`` games were as in the one before, ``damaged`` ones could not be kept."""

    manifest: Manifest
    linked: int
    damaged: list[tuple[bytes, str]]


def make_backup(deps: "Deps", path: Path, build: str, since: Path | None = None) -> Made:
    """Write a backup into a folder that is not there yet; ``since``: an older one, to whose files of games that are as
    they were then the new one links.

    :raises BadBackup: something is in the way, or ``since`` is no backup, or the log of games cannot be copied.
    :raises OSError: it cannot be written.
    :raises events.log.Unavailable: the database does not answer.
    """
    older = None if since is None else Backup.open(since)
    partial = path.with_name(path.name + PARTIAL)
    if path.exists():
        raise BadBackup(f"{path} is there already")
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        partial.mkdir(mode=0o700)  # it names people
    except FileExistsError as error:
        raise BadBackup(f"{partial} is there already: it is being written, or was cut short: remove it") from error
    begun_ms = deps.clock()
    made = _streams(deps, partial, older)
    _beside(deps, partial / BESIDE)
    erased.keep(partial / log_folder.ERASED, erased.known(deps))
    size = _log_of_games(deps.config.log_path, partial / LOG, older)
    manifest = Manifest(
        FORMAT, build, begun_ms, deps.clock(), made.streams, made.events, _digest(partial / INDEX),
        _digest(partial / BESIDE), size,
    )  # fmt: skip
    write_file(partial / MANIFEST, msgspec.json.format(msgspec.json.encode(manifest)) + b"\n")
    os.sync()  # every file at once: one by one takes a disk many times as long
    partial.rename(path)
    sync_folder(path.parent)
    return Made(manifest, made.linked, made.damaged)


# -- games and cases -------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Streams:
    streams: int = 0
    events: int = 0
    linked: int = 0
    damaged: list[tuple[bytes, str]] = field(default_factory=list)


def _streams(deps: "Deps", partial: Path, older: Backup | None) -> _Streams:
    archive, told = Archive(partial / STREAMS, sync=False), _Streams()
    with (partial / INDEX).open("wb") as index:
        for stream_id in deps.log.games():
            head = deps.log.head(stream_id)
            try:
                header = _linked(archive, older, stream_id, head)
                if header is not None:
                    told.linked += 1
                else:
                    header = archive.put(_sound(deps, stream_id))
            except (NotPackable, BadArchive) as error:
                told.damaged.append((stream_id, str(error)))
                continue
            index.write(Record(stream_id, header.version, header.head, head.archived).write())
            told.streams += 1
            told.events += header.version
    return told


def _linked(archive: Archive, older: Backup | None, stream_id: bytes, head: Head) -> Header | None:
    """The file of the older backup, if the game is as it was then."""
    if older is None:
        return None
    place = older.archive.place(stream_id)
    try:
        with place.open("rb") as file:
            header = Header.read(file.read(68))
    except FileNotFoundError:
        return None
    if (header.version, header.head) != (head.version, head.head):
        return None
    archive.link(place, header)
    return header


def _sound(deps: "Deps", stream_id: bytes) -> list[Event]:
    """The events of a game as it stands at this moment.

    :raises NotPackable: its record is damaged.
    """
    events: list[Event] = []
    for item in whole(deps.log, stream_id):
        if isinstance(item, Damage):
            raise NotPackable(f"{item.place}: {item.reason}")
        events.append(item)
    return events


# -- beside the log --------------------------------------------------------------------------------------------------


def names_beside(wire: Wire) -> Iterator[bytes]:
    """The keys that nobody could make again, each once."""
    for match in TAGS:
        seen: set[bytes] = set()
        for names in wire.scan(match):
            for name in names:
                if name.split(b":")[1] not in DERIVED and name not in seen:
                    seen.add(name)
                    yield name


_READ: Final[dict[bytes, Command]] = {
    b"string": ("GET",), b"hash": ("HGETALL",), b"set": ("SMEMBERS",), b"list": ("LRANGE", 0, -1),
    b"zset": ("ZRANGE", 0, -1, "WITHSCORES"),
}  # fmt: skip


def _beside(deps: "Deps", path: Path) -> None:
    wire = Wire(deps.redis)
    with zstd.open(path, "wb") as file:
        file.write(msgpack.packb(FORMAT))  # a frame of nothing would not be written at all
        for name in names_beside(wire):
            (kind,) = wire.call(("TYPE", name))
            kind = kind.encode() if isinstance(kind, str) else kind
            if (command := _READ.get(kind)) is None:  # gone meanwhile
                continue
            verb, *rest = command
            value, left_ms = wire.call((verb, name, *rest), ("PTTL", name))
            if isinstance(value, dict):
                value = [part for pair in value.items() for part in pair]
            if value in (None, []):
                continue
            end_ms = deps.clock() + left_ms if left_ms > 0 else None
            value = sorted(value) if isinstance(value, set) else value
            file.write(msgpack.packb([name, kind, value, end_ms]))


_WRITE: Final[dict[bytes, str]] = {b"string": "SET", b"hash": "HSET", b"set": "SADD", b"list": "RPUSH", b"zset": "ZADD"}


def restore_beside(deps: "Deps", backup: Backup) -> int:
    """Write what lay beside the log; how many keys."""
    wire, count = Wire(deps.redis), 0
    for name, kind, value, end_ms in backup.beside():
        if end_ms is not None and end_ms <= deps.clock():
            continue
        values = [value] if isinstance(value, bytes) else value
        if kind == b"zset":
            values = [part for member, score in zip(value[::2], value[1::2], strict=True) for part in (score, member)]
        wire.call((_WRITE[kind], name, *values))
        if end_ms is not None:
            wire.call(("PEXPIREAT", name, end_ms))
        count += 1
    return count


# -- the log of games ------------------------------------------------------------------------------------------------


def _log_of_games(source: Path, target: Path, older: Backup | None) -> int | None:
    """Copy the log of games while it is written to: its size, None where there is none.

    :raises BadBackup: no copy has the root that was signed.
    """
    if not (source / log_folder.CHECKPOINT).exists():
        return None
    for _ in range(_TRIES):
        shutil.rmtree(target, ignore_errors=True)
        copy_log(source, target, None if older is None else older.path / LOG)
        try:
            return check_log(target)
        except (Missing, NoLog):  # a tile was made whole meanwhile, and its parts were cleared away
            time.sleep(0.2)
    raise BadBackup(f"the log of games in {source} cannot be copied")


def copy_log(source: Path, target: Path, older: Path | None = None) -> None:
    """Copy a log of games in the order in which it may be read while it is written."""
    for name in (*_FIRST, *_others(source)):
        path = source / name
        copy = target / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        try:
            data = path.read_bytes()
        except FileNotFoundError:
            continue
        if older is not None and name.startswith("tile/") and _same(older / name, data):
            link(older / name, copy)
        else:
            copy.write_bytes(data)


def check_log(folder: Path) -> int:
    """The size of the published tree, whose root was computed anew from every entry.

    :raises Missing, NoLog: something is missing.
    :raises BadBackup: the root is another.
    """
    log = LogFolder(folder)
    checkpoint = checkpoint_of(log.note())
    tree = merkle.Growing()
    for _, entry in log.tree(checkpoint.size).entries(0):
        tree.add(merkle.leaf_hash(entry))
    if tree.root() != checkpoint.root:
        raise BadBackup(f"the log of games in {folder} has not the root that was signed")
    return checkpoint.size


def _others(source: Path) -> Iterable[str]:
    for path in source.rglob("*"):
        name = path.relative_to(source).as_posix()
        if path.is_file() and name not in (*_FIRST, log_folder.LOCK) and not name.endswith(".new"):
            yield name


def _same(path: Path, data: bytes) -> bool:
    try:
        return path.read_bytes() == data
    except FileNotFoundError:
        return False


def _digest(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
