"""The archive: one file a closed game, out of which its stored bytes come back (docs/archive.md has every byte).

What follows from something else is left out: the id, number and hash of the event before, which is the chain; the links
of the dice chains, of each of which the last one leads to all before it; of what a seat signed whatever its event says
too. An event for which that does not give its bytes back is kept as it is, so every chain of events can be packed.
Nobody has to trust a file: what comes out of it hashes to the head, or nothing comes out.
"""

import sys
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import Any, Final, Self

import msgpack
import msgspec

from events import codec, seeds
from events.event import Event, genesis
from events.files import link, make_folder, sync_folder, write_file
from events.signing import NotAnAction, SignedAction

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

FORMAT: Final = 1
LIMIT: Final = 1 << 26
"""Most bytes of the rows of one game, before they are compressed."""
SUFFIX: Final = ".annals-archive"
MARK: Final = "annals-archive"
"""A file that every archive has: without it the folder is another one, or not there now."""

_MAGIC: Final = b"annals:"
_HEADER: Final = 68
_LEVEL: Final = 19
_RECENT: Final = 4
_BYTES: Final = 1
"""The extension type that stands for bytes in a row; its data is how many to take out of the file's last part."""
_ROLL, _SIGNED, _COMMIT = 1, 2, 4
"""What is left out of a body: number and link of ``x``, all of ``a`` but name and args, ``commit``."""


_UNREADABLE: Final = (
    ValueError, TypeError, LookupError, OverflowError, RecursionError, msgpack.UnpackException, zstd.ZstdError,
)  # fmt: skip


class BadArchive(ValueError):
    """The bytes are not the archive of a game, or not of the one they say."""


class NotPackable(ValueError):
    """These events cannot be packed, and why."""


class NoArchive(OSError):
    """The folder of the archive is not there, or not an archive: perhaps it is not mounted."""


class Header(msgspec.Struct, frozen=True):
    """What a file says first: whose it is, how many events it holds and the hash of the last."""

    game_id: bytes
    version: int
    head: bytes
    rows: int
    """Bytes of the rows."""
    packed: int
    """Bytes of the rows, compressed."""

    @classmethod
    def read(cls, data: bytes) -> Self:
        """The header at the beginning of ``data``.

        :raises BadArchive: there is none of this format.
        """
        if len(data) < _HEADER or not data.startswith(_MAGIC):
            raise BadArchive("not the archive of a game")
        if data[7] != FORMAT:
            raise BadArchive(f"format {data[7]}, which this version does not know")
        numbers = [int.from_bytes(data[at : at + 4], "big") for at in (24, 60, 64)]
        return cls(data[8:24], numbers[0], data[28:60], numbers[1], numbers[2])

    def write(self) -> bytes:
        """The 68 bytes."""
        numbers = (number.to_bytes(4, "big") for number in (self.version, self.rows, self.packed))
        version, rows, packed = numbers
        return _MAGIC + bytes((FORMAT,)) + self.game_id + version + self.head + rows + packed


def pack(events: Sequence[Event]) -> bytes:
    """The file of a game's events, from the first on.

    :raises NotPackable: they are none, not one chain from its beginning, or too large.
    """
    if not events:
        raise NotPackable("no events")
    blob = bytearray()
    try:
        rows = b"".join(_rows(events, blob))
    except OverflowError as error:  # a clock that went back by more than a number can say
        raise NotPackable(str(error)) from error
    if len(rows) > LIMIT:
        raise NotPackable(f"{len(rows)} bytes of rows, at most {LIMIT} are archived")
    frame, last = zstd.compress(rows, level=_LEVEL), events[-1]
    return Header(last.game_id, last.seq, last.hash, len(rows), len(frame)).write() + frame + blob


def _rows(events: Sequence[Event], blob: bytearray) -> Iterator[bytes]:
    game_id, chains = events[0].game_id, _chains_of(events)
    yield _packed([[owner, len(links) - 1, links[-1]] for owner, links in chains], blob)
    folded = _Folded(game_id, chains)
    for event in events:
        if (event.game_id, event.seq, event.prev) != (game_id, folded.seq, folded.prev):
            raise NotPackable(f"event {event.seq} does not follow from event {folded.seq - 1}")
        whole = [event.t_ms - folded.t_ms, event.kind, event.seat, 0, event.body]
        row = next((row for row in (folded.reduce(event), whole) if row and folded.restore(*row) == event.data), None)
        if row is None:
            raise NotPackable(f"event {event.seq} is not the canonical encoding of what it holds")
        yield _packed(row, blob)
        folded.take(event)


def unpack(data: bytes) -> list[Event]:
    """The events of a file, whose chain was computed anew and ends in the head that the file names.

    :raises BadArchive: it is damaged, or none of this format.
    """
    header = Header.read(data)
    if header.rows > LIMIT:
        raise BadArchive(f"{header.rows} bytes of rows, at most {LIMIT} are read")
    try:
        events = list(islice(_events(header, data), header.version + 1))
    except BadArchive:
        raise
    except _UNREADABLE as error:
        raise BadArchive(f"the file cannot be read: {error or type(error).__name__}") from error
    if len(events) != header.version or not events or events[-1].hash != header.head:
        raise BadArchive("what is in the file does not hash to the head that it names")
    return events


def _events(header: Header, data: bytes) -> Iterator[Event]:
    stop = _HEADER + header.packed
    unpacked = zstd.ZstdDecompressor()
    rows = unpacked.decompress(data[_HEADER:stop], max_length=header.rows + 1)
    if len(rows) != header.rows or not unpacked.eof or unpacked.unused_data:
        raise BadArchive("the rows are not as long as the file says")
    blob, at = data[stop:], 0

    def taken(code: int, count: bytes) -> bytes:
        nonlocal at
        start, at = at, at + int.from_bytes(count, "big")
        if code != _BYTES or at > len(blob):
            raise BadArchive("a row asks for bytes that are not in the file")
        return blob[start:at]

    unpacker = msgpack.Unpacker(
        raw=False,
        strict_map_key=True,
        ext_hook=taken,
        max_buffer_size=LIMIT,
        max_array_len=codec.EVENT_LIMIT,
        max_map_len=codec.EVENT_LIMIT,
        max_ext_len=4,
    )
    unpacker.feed(rows)
    heads = unpacker.unpack()
    if sum(k for _, k, _ in heads) > 2 * header.version:  # the server's and a seat's; asked before they are computed
        raise BadArchive("more links than events")
    folded = _Folded(header.game_id, [(owner, _links(header.game_id, owner, k, top)) for owner, k, top in heads])
    for row in unpacker:
        if (restored := folded.restore(*row)) is None:
            raise BadArchive(f"event {folded.seq} does not follow")
        event = Event.read(restored)
        folded.take(event)
        yield event
    if at != len(blob) or unpacker.tell() != len(rows):
        raise BadArchive("the file is longer than what is in it")


def _packed(value: Any, blob: bytearray) -> bytes:
    """A value with its bytes taken out: they are dice, hashes and names, which nothing compresses."""

    def out(value: Any) -> Any:
        match value:
            case bytes():
                blob.extend(value)
                return msgpack.ExtType(_BYTES, len(value).to_bytes(1 if len(value) < 256 else 2, "big"))
            case list() | tuple():
                return [out(item) for item in value]
            case dict():
                return {key: out(item) for key, item in value.items()}
        return value

    packed: bytes = msgpack.packb(out(value))
    return packed


# -- what follows from something else --------------------------------------------------------------------------------

_Chain = tuple[int, list[bytes]]
"""An owner and the links c[0], c[1], ... that it revealed."""


class _Folded:
    """What is known of a game before its next event, and so need not be said by that."""

    def __init__(self, game_id: bytes, chains: Sequence[_Chain]) -> None:
        self.game_id, self.seq, self.prev, self.t_ms = game_id, 1, genesis(game_id), 0
        self._chains: dict[int, list[list[bytes]]] = {}
        for owner, links in chains:
            self._chains.setdefault(owner, []).append(links)
        self._revealed: dict[int, tuple[list[bytes], int]] = {}
        self._rolls: int | None = None

    def reduce(self, event: Event) -> list[Any] | None:
        """The row of an event of which something follows."""
        body, left_out = dict(event.body), 0
        if event.kind == "create" and "commit" in body and self._chains.get(seeds.SERVER):
            del body["commit"]
            left_out |= _COMMIT
        if _is_roll(body.get("x")):
            body["x"] = body["x"][2]
            left_out |= _ROLL
        if (signed := _signed(event)) is not None:
            body["a"] = [signed.name, signed.args]
            left_out |= _SIGNED
        return [event.t_ms - self.t_ms, event.kind, event.seat, left_out, body] if left_out else None

    def restore(self, wait_ms: int, kind: str, seat: int | None, left_out: int, body: dict[str, Any]) -> bytes | None:
        """The bytes of the next event; None where what was left out does not follow."""
        body = dict(body)
        try:
            if left_out & _COMMIT:
                body["commit"] = self._chains[seeds.SERVER][0][0]
            if left_out & _ROLL:
                body["x"] = [self._rolls or 0, self._link(seeds.SERVER, kind), body["x"]]
            if left_out & _SIGNED and seat is not None:
                name, args = body["a"]
                pseq, link = self._next(seat, kind)[1], self._link(seat, kind)
                signed = [1, kind, self.game_id, seat, pseq, self.seq - 1, self.prev, name, args, link]
                body["a"] = codec.encode(signed)
            return codec.encode([1, self.game_id, self.seq, self.prev, self.t_ms + wait_ms, kind, seat, body])
        except (LookupError, codec.NotCanonical):
            return None

    def take(self, event: Event) -> None:
        """The event is written."""
        self.seq, self.prev, self.t_ms = event.seq + 1, event.hash, event.t_ms
        rolled, signed = _is_roll(event.body.get("x")), _signed(event)
        if rolled:
            self._reveal(seeds.SERVER, event.kind)
        if signed is not None:
            self._reveal(signed.seat, event.kind)
        if rolled or (signed is not None and self._rolls is not None):
            self._rolls = (self._rolls or 0) + 1

    def _next(self, owner: int, kind: str) -> tuple[list[bytes], int]:
        """The chain of an owner's next link, and its number."""
        if owner == seeds.SERVER:
            return self._revealed.get(owner) or (self._chains[owner][0], 1)
        if kind == "join":
            return self._chains[owner][0], 0
        return self._revealed[owner]

    def _link(self, owner: int, kind: str) -> bytes:
        links, number = self._next(owner, kind)
        return links[number]

    def _reveal(self, owner: int, kind: str) -> None:
        try:
            links, number = self._next(owner, kind)
        except LookupError:  # none of the chains of this game: nothing of it is left out
            return
        if kind == "join":
            self._chains[owner] = self._chains[owner][1:]
        self._revealed[owner] = links, number + 1


def _is_roll(x: Any) -> bool:
    return isinstance(x, list | tuple) and len(x) == 3 and type(x[1]) is bytes and isinstance(x[2], list | tuple)


def _signed(event: Event) -> SignedAction | None:
    """What a seat signed of its own event."""
    if event.seat is None or type(data := event.body.get("a")) is not bytes:
        return None
    try:
        signed = SignedAction.read(data)
    except NotAnAction:
        return None
    return signed if (signed.kind, signed.seat) == (event.kind, event.seat) else None


def _chains_of(events: Sequence[Event]) -> list[_Chain]:
    """The dice chains of a game, each as far as its links lead to one another: the server's, and one a signed join."""
    chains: list[_Chain] = []
    growing: dict[int, list[bytes]] = {}

    def begin(owner: int, link: bytes) -> None:
        growing[owner] = [link]
        chains.append((owner, growing[owner]))

    def grow(game_id: bytes, owner: int, link: bytes) -> None:
        links = growing.get(owner)
        if links and seeds.lower(game_id, owner, len(links), link) == links[-1]:
            links.append(link)
        else:
            growing.pop(owner, None)

    for event in events:
        commit = event.body.get("commit")
        if event.kind == "create" and event.seq == 1 and type(commit) is bytes:
            begin(seeds.SERVER, commit)
        if _is_roll(event.body.get("x")):
            grow(event.game_id, seeds.SERVER, event.body["x"][1])
        if (signed := _signed(event)) is not None:
            if signed.kind == "join":
                begin(signed.seat, signed.r)
            else:
                grow(event.game_id, signed.seat, signed.r)
    return chains


def _links(game_id: bytes, owner: int, k: int, top: bytes) -> list[bytes]:
    """c[0] to c[k] from c[k]."""
    links = [top]
    for number in range(k, 0, -1):
        links.append(seeds.lower(game_id, owner, number, links[-1]))
    return links[::-1]


# -- the folder ------------------------------------------------------------------------------------------------------


class Archive:
    """The files of an archive, in folders of two hex digits: the first of their games' ids."""

    def __init__(self, path: Path, at: Callable[[str], None] = lambda step: None, sync: bool = True) -> None:
        """``at`` is told each step of a write; a test may raise there what a power cut would. Without ``sync`` nothing
        is put on disk: whoever writes many files does that once."""
        self.path, self._at, self._sync = path, at, sync
        self._recent: dict[bytes, tuple[tuple[int, ...], list[Event]]] = {}
        self._lock = threading.Lock()

    def place(self, game_id: bytes) -> Path:
        """Where a game's file is, or would be."""
        return self.path / game_id[:1].hex() / (game_id.hex() + SUFFIX)

    def put(self, events: Sequence[Event]) -> Header:
        """Write a game's file, put it on disk, read it back and compute its chain anew.

        :raises NotPackable: the events are none, not one chain from its beginning, or too large.
        :raises BadArchive: what is read is not what was written.
        :raises OSError: the file cannot be written.
        """
        return self.put_bytes(pack(events), events)

    def put_bytes(self, data: bytes, events: Sequence[Event] | None = None) -> Header:
        """Write a game's file as `pack` made it, as `put` does.

        :raises BadArchive: it is none, or what is read is not what was written.
        :raises OSError: it cannot be written.
        """
        header = Header.read(data)
        path = self.place(header.game_id)
        self._prepare(path.parent)
        write_file(path, data, self._sync, alone=False, at=self._at)
        if self._sync:
            sync_folder(path.parent)
        self._at("named on disk")
        again = unpack(path.read_bytes())
        if events is not None and [event.data for event in again] != [event.data for event in events]:
            raise BadArchive(f"{path.name} does not hold what was written")
        self._at("read back")
        return header

    def get(self, game_id: bytes) -> list[Event]:
        """The events of a game. Not to be changed.

        :raises LookupError: there is no file of it.
        :raises BadArchive: the file is damaged, or of another game.
        :raises OSError: the archive cannot be read: perhaps it is not there now.
        """
        path = self.place(game_id)
        try:
            found = path.stat()
        except FileNotFoundError:
            if not (self.path / MARK).exists():
                raise NoArchive(f"there is no archive in {self.path}") from None
            raise LookupError(f"the archive has no file {path.name}") from None
        stamp = (found.st_ino, found.st_mtime_ns, found.st_size)
        known = self._recent.get(game_id)
        if known is not None and known[0] == stamp:
            return known[1]
        events = unpack(path.read_bytes())
        if events[0].game_id != game_id:
            raise BadArchive(f"{path.name} holds game {events[0].game_id.hex()}")
        with self._lock:  # a long game is read page by page, and unpacked once
            self._recent[game_id] = stamp, events
            while len(self._recent) > _RECENT:
                del self._recent[next(iter(self._recent))]
        return events

    def link(self, file: Path, header: Header) -> None:
        """Take a file of another archive, without a copy where that can be."""
        path = self.place(header.game_id)
        self._prepare(path.parent)
        link(file, path)

    def data(self, game_id: bytes) -> bytes:
        """The bytes of a game's file.

        :raises LookupError: there is none.
        """
        try:
            return self.place(game_id).read_bytes()
        except FileNotFoundError:
            raise LookupError(game_id.hex()) from None

    def games(self) -> Iterator[bytes]:
        """The games that have a file, in no order."""
        for path in self.path.glob(f"[0-9a-f][0-9a-f]/*{SUFFIX}"):
            name = path.name.removesuffix(SUFFIX)
            if len(name) == 32 and name.startswith(path.parent.name):
                yield bytes.fromhex(name)

    def _prepare(self, folder: Path) -> None:
        if not (self.path / MARK).exists():
            make_folder(self.path)
            (self.path / MARK).write_text("annals archive 1\n")
            sync_folder(self.path)
        make_folder(folder)
