"""The audit bundle: everything a server can show about one game, in one file (docs/audit-bundle.md).

Written without compression and without times, so that equal evidence gives equal bytes. Read as hostile input: nothing
is extracted, every byte of the container has one meaning, and what is unpacked is bounded before it is unpacked.
"""

import base64
import io
import re
import struct
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Annotated, Final, Literal, Self

import msgspec
import rfc8785

from events.event import Event
from events.hashing import sha256
from events.log import Damage
from events.notes import Opened, Signer, Verifier, open_note, sign_note
from replay import file

SUFFIX: Final = ".audit.zip"
FORMAT: Final = "annals/1 bundle"
ENTRY_LIMIT: Final = 256
UNPACKED_LIMIT: Final = 64 * 1024 * 1024
"""Most bytes of all entries together."""
MANIFEST_LIMIT: Final = 65_536

MANIFEST, NOTE, EVENTS, STATE, KEYS, README = (
    "manifest.json", "manifest.note", "events.bin", "state.json", "keys.txt", "README.txt",
)  # fmt: skip
OPEN_ENTRY, OPEN_PROOF, CLOSE_ENTRY, CLOSE_PROOF = (
    "open.entry", "open.tlog-proof", "close.entry", "close.tlog-proof",
)  # fmt: skip
CONSISTENCY: Final = "consistency.txt"
GOSSIP: Final = "gossip/"
RECEIPTS: Final = "receipts/"
_NAMES: Final = re.compile(
    r"manifest\.json|manifest\.note|events\.bin|(open|close)\.(entry|tlog-proof)|consistency\.txt"
    r"|gossip/[0-9]{4}\.txt|receipts/[A-Za-z0-9._-]{1,64}\.note|state\.json|report\.json|keys\.txt|README\.txt"
)

_LOCAL: Final = struct.Struct("<4s5H3I2H")
_CENTRAL: Final = struct.Struct("<4s6H3I5H2I")
_END: Final = struct.Struct("<4s4H2IH")
_LOCAL_MARK, _CENTRAL_MARK, _END_MARK = b"PK\3\4", b"PK\1\2", b"PK\5\6"
_VERSION: Final = 20
_FLAGS: Final = 0x0806
"""Flags that change nothing here: how hard the packer tried, and that names are UTF-8."""
_STORED, _DEFLATED = 0, 8
_DATE: Final = 0x21
"""1980-01-01, the first day that a zip file knows."""


class BadBundle(ValueError):
    """The bytes are not an audit bundle; the message says why. That accuses nobody."""


class FileInfo(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What the manifest says of one entry."""

    sha256: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
    size: Annotated[int, msgspec.Meta(ge=0, le=UNPACKED_LIMIT)]


class Manifest(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """``manifest.json``. ``game_id`` is in hex; ``origin`` names the log of games."""

    files: dict[str, FileInfo]
    format: Literal["annals/1 bundle"]
    game_id: Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{32}$")]
    origin: str


@dataclass(frozen=True, slots=True)
class Bundle:
    """A bundle that could be read. ``files`` holds every entry by its name, ``damaged`` says which are not as the
    manifest says."""

    files: dict[str, bytes]
    manifest: Manifest
    damaged: tuple[str, ...] = ()

    @classmethod
    def read(cls, data: bytes, unpacked: int = UNPACKED_LIMIT) -> Self:
        """Read a bundle of at most ``unpacked`` bytes.

        :raises BadBundle: it is not one.
        """
        files = dict(_unzip(data, unpacked))
        for needed in (MANIFEST, EVENTS):
            if needed not in files:
                raise BadBundle(f"there is no {needed}")
        return cls(files, (manifest := _manifest(files[MANIFEST])), tuple(_damaged(files, manifest)))

    @property
    def game_id(self) -> bytes:
        """The id of the game that it claims to be of."""
        return bytes.fromhex(self.manifest.game_id)

    @property
    def origin(self) -> str:
        """The log of games that it claims to be of."""
        return self.manifest.origin

    @property
    def statement(self) -> str:
        """What ``manifest.note`` has to say."""
        return statement(self.origin, self.game_id, self.files[MANIFEST])

    def events(self) -> Iterator[Event | Damage]:
        """The events as they stand in ``events.bin``; a `Damage` stands where the bytes are none."""
        return file.unpack(io.BytesIO(self.files[EVENTS]))

    def under(self, folder: str) -> dict[str, bytes]:
        """The entries whose names begin with ``folder``, in order of their names."""
        return {name: data for name, data in sorted(self.files.items()) if name.startswith(folder)}

    def signed(self, verifier: Verifier) -> Opened | None:
        """``manifest.note`` as the key signed it; None where there is none.

        :raises events.notes.BadNote: it is not signed by this key.
        """
        note = self.files.get(NOTE)
        return None if note is None else open_note(note, [verifier])


def statement(origin: str, game_id: bytes, manifest: bytes) -> str:
    """The text of ``manifest.note``."""
    return f"{FORMAT}\n{origin}\n{game_id.hex()}\n{base64.b64encode(sha256(manifest)).decode()}\n"


def write(
    game_id: bytes,
    origin: str,
    events: Iterable[bytes],
    evidence: Mapping[str, bytes] = {},  # never changed
    signer: Signer | None = None,
) -> bytes:
    """A bundle of stored events and further entries by their names, its manifest signed by the receipts key.

    :raises BadBundle: a name that no bundle has, or more than a bundle holds.
    """
    files = {EVENTS: b"".join(map(file.frame, events)), README: readme(game_id, origin), **evidence}
    listed = {name: FileInfo(sha256(data).hex(), len(data)) for name, data in files.items() if _listed(name)}
    manifest = rfc8785.dumps(msgspec.to_builtins(Manifest(listed, FORMAT, game_id.hex(), origin)))
    files[MANIFEST] = manifest
    if signer is not None:
        files[NOTE] = sign_note(statement(origin, game_id, manifest), signer)
    if bad := next((name for name in files if not _NAMES.fullmatch(name)), None):
        raise BadBundle(f"no bundle has an entry {bad!r}")
    if len(files) > ENTRY_LIMIT or sum(map(len, files.values())) > UNPACKED_LIMIT:
        raise BadBundle(f"more than {ENTRY_LIMIT} entries or {UNPACKED_LIMIT} bytes")
    return zipped(files)


def zipped(files: Mapping[str, bytes]) -> bytes:
    """A zip file of these entries in order of their names, stored."""
    body, directory = bytearray(), bytearray()
    for name, data in sorted(files.items()):
        encoded, offset = name.encode(), len(body)
        shared = (_VERSION, 0, _STORED, 0, _DATE, zlib.crc32(data), len(data), len(data), len(encoded), 0)
        body += _LOCAL.pack(_LOCAL_MARK, *shared) + encoded + data
        directory += _CENTRAL.pack(_CENTRAL_MARK, _VERSION, *shared, 0, 0, 0, 0, offset) + encoded
    count = len(files)
    return bytes(body + directory + _END.pack(_END_MARK, 0, 0, count, count, len(directory), len(body), 0))


def readme(game_id: bytes, origin: str) -> bytes:
    """``README.txt``: how to check the bundle, with our tool and without it."""
    return _README.format(game=game_id.hex(), origin=origin).encode()


# -- reading ---------------------------------------------------------------------------------------------------------


def _manifest(data: bytes) -> Manifest:
    if len(data) > MANIFEST_LIMIT:
        raise BadBundle(f"{MANIFEST} has more than {MANIFEST_LIMIT} bytes")
    try:
        manifest = msgspec.json.decode(data, type=Manifest)
        canonical = rfc8785.dumps(msgspec.to_builtins(manifest))
    except (msgspec.DecodeError, UnicodeError, RecursionError, rfc8785.CanonicalizationError) as error:
        raise BadBundle(f"{MANIFEST}: {error or type(error).__name__}") from error
    if canonical != data:
        raise BadBundle(f"{MANIFEST} is not canonical (RFC 8785)")
    return manifest


def _listed(name: str) -> bool:
    """Does the manifest speak of it?"""
    return name not in (MANIFEST, NOTE) and not name.startswith(RECEIPTS)


def _damaged(files: Mapping[str, bytes], manifest: Manifest) -> Iterator[str]:
    listed = {name for name in files if _listed(name)}
    for name in sorted(listed ^ manifest.files.keys()):
        yield f"{name} is {'not in the manifest' if name in listed else 'missing'}"
    for name in sorted(listed & manifest.files.keys()):
        data, info = files[name], manifest.files[name]
        if (len(data), sha256(data).hex()) != (info.size, info.sha256):
            yield f"{name} is not the one of the manifest"


@dataclass(frozen=True, slots=True)
class _Entry:
    """One line of the central directory."""

    name: str
    shared: tuple[int, ...]
    """What the local header must say as well: version, flags, method, time, date, CRC, two sizes, the name's length."""
    offset: int

    @property
    def method(self) -> int:
        return self.shared[2]

    @property
    def crc(self) -> int:
        return self.shared[5]

    @property
    def packed(self) -> int:
        return self.shared[6]

    @property
    def unpacked(self) -> int:
        return self.shared[7]


def _unzip(data: bytes, limit: int) -> Iterator[tuple[str, bytes]]:
    entries, start = _directory(data, limit)
    place, names = 0, set[str]()
    for entry in entries:
        if entry.name in names:
            raise BadBundle(f"{entry.name} is there twice")
        names.add(entry.name)
        if entry.offset != place:
            raise BadBundle(f"{entry.name} does not begin where the entry before ends")
        begin = place + _LOCAL.size + len(entry.name)
        place = begin + entry.packed
        if place > start:
            raise BadBundle(f"{entry.name} reaches into the directory")
        mark, *header, extra = _LOCAL.unpack_from(data, entry.offset)
        name = data[entry.offset + _LOCAL.size : begin]
        if mark != _LOCAL_MARK or extra or tuple(header) != entry.shared or name != entry.name.encode():
            raise BadBundle(f"{entry.name} has another header than the directory says")
        yield entry.name, _content(entry, data[begin:place])
    if place != start:
        raise BadBundle("something lies between the entries and the directory")


def _directory(data: bytes, limit: int) -> tuple[list[_Entry], int]:
    """The entries that the directory lists, and where it begins."""
    end = len(data) - _END.size
    if end < 0 or len(data) > limit + ENTRY_LIMIT * 1024:
        raise BadBundle("not of the size of a bundle")
    mark, disk, first_disk, here, count, size, start, comment = _END.unpack_from(data, end)
    if mark != _END_MARK or disk or first_disk or comment or here != count:
        raise BadBundle("not a zip file of one part, or something behind its end")
    if not 0 < count <= ENTRY_LIMIT or start + size != end:
        raise BadBundle(f"not 1 to {ENTRY_LIMIT} entries before their directory")
    entries, place = [], start
    for _ in range(count):
        if place + _CENTRAL.size > end:
            raise BadBundle("the directory is cut off")
        mark, _, *shared, extra, comment, disk, _, attributes, offset = _CENTRAL.unpack_from(data, place)
        raw = data[place + _CENTRAL.size : place + _CENTRAL.size + shared[8]]
        place += _CENTRAL.size + shared[8]
        name = raw.decode("ascii", "replace")
        if mark != _CENTRAL_MARK or extra or comment or disk or place > end:
            raise BadBundle("the directory has an entry of another sort than a bundle has")
        if not _NAMES.fullmatch(name):
            raise BadBundle(f"no bundle has an entry {name!r}")
        entries.append(_Entry(name, tuple(shared), offset))
        _check_sort(entries[-1], attributes)
    if place != end:
        raise BadBundle("the directory has another size than it says")
    if sum(entry.unpacked for entry in entries) > limit:
        raise BadBundle(f"more than {limit} bytes when unpacked")
    return entries, start


def _check_sort(entry: _Entry, attributes: int) -> None:
    version, flags, method = entry.shared[:3]
    if version > _VERSION or flags & ~_FLAGS or method not in (_STORED, _DEFLATED):
        raise BadBundle(f"{entry.name} is encrypted, streamed or packed in a way that a bundle is not")
    if attributes >> 28 not in (0, 8) or attributes & 0x10:
        raise BadBundle(f"{entry.name} is no plain file")
    if 0xFFFFFFFF in (entry.packed, entry.unpacked, entry.offset):
        raise BadBundle(f"{entry.name} is a zip64 entry")


def _content(entry: _Entry, packed: bytes) -> bytes:
    content = packed
    if entry.method == _DEFLATED:
        inflate = zlib.decompressobj(-zlib.MAX_WBITS)
        try:
            content = inflate.decompress(packed, entry.unpacked + 1)
        except zlib.error as error:
            raise BadBundle(f"{entry.name}: {error}") from error
        if not inflate.eof or inflate.unused_data:
            raise BadBundle(f"{entry.name} does not end where it says")
    if len(content) != entry.unpacked or zlib.crc32(content) != entry.crc:
        raise BadBundle(f"{entry.name} is damaged")
    return content


_README: Final = """\
Audit bundle of game {game}
from the log of games {origin}

With the tool of this service:

    annals verify {game}.audit.zip --policy POLICY

With its second implementation, which shares no code with the server:

    node verify.mjs {game}.audit.zip --policy POLICY

POLICY is a file in the form of C2SP tlog-policy. Get it, or at least the key in it, from somewhere else than this file
and this server's answers: keys.txt is what the server claims, and nothing is checked against it.

By hand, with sha256sum and any tool for C2SP tlog-proof:

    manifest.json    SHA-256 and size of each file here
    manifest.note    the server's signature over that (C2SP signed-note)
    events.bin       the stored events, each behind its length (4 bytes, big endian)
                     hash = SHA-256("annals/1:event" || 00 || event); each event holds the hash before it
    open.*, close.*  an entry of the log of games and its proof (C2SP tlog-proof): they hold the first and last hash
    consistency.txt  proof that the log only grew from the smaller checkpoint to the newest (RFC 9162, 2.1.4.2)
    gossip/          the same from the checkpoints that the players saw and signed
    state.json       how the game ended, as the server claims it
"""
