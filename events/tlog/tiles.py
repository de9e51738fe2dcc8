"""A tree as files (C2SP tlog-tiles): tiles of 256 hashes, bundles of 256 entries, and how a path names them."""

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final

from events.tlog import merkle
from events.tlog.merkle import HASH_LENGTH

WIDTH: Final = 256
"""Hashes of a full tile, entries of a full bundle."""
ENTRY_LIMIT: Final = 65_535
"""Most bytes of an entry."""
_HEIGHT: Final = 8
_LEVEL_LIMIT: Final = 63
_PATH: Final = re.compile(
    r"tile/(entries|[0-9]|[1-5][0-9]|6[0-3])/((?:x[0-9]{3}/)*[0-9]{3})(?:\.p/([1-9][0-9]{0,2}))?", re.ASCII
)

Fetch = Callable[[str], bytes]
"""A path to the bytes of that file; `Missing` where there is none."""


class Missing(LookupError):
    """There is no file of that path."""


class BadTile(ValueError):
    """A path that names no tile, or a file that is not what its path says."""


@dataclass(frozen=True, slots=True)
class Tile:
    """A tile, or a bundle of entries (``level`` None). ``width``: how many hashes or entries it holds, 1 to 256."""

    level: int | None
    index: int
    width: int = WIDTH

    @property
    def path(self) -> str:
        """``tile/<level>/<index>[.p/<width>]``, the index in groups of three digits."""
        groups = [f"{self.index % 1000:03}"]
        rest = self.index // 1000
        while rest:
            groups.insert(0, f"x{rest % 1000:03}")
            rest //= 1000
        kind = "entries" if self.level is None else str(self.level)
        return f"tile/{kind}/{'/'.join(groups)}" + ("" if self.width == WIDTH else f".p/{self.width}")

    @classmethod
    def parse(cls, path: str) -> "Tile":
        """The tile of a path.

        :raises BadTile: the path names none, or not in the one way.
        """
        if (match := _PATH.fullmatch(path)) is None:
            raise BadTile(f"{path!r} is not the path of a tile")
        kind, digits, width = match.groups()
        tile = cls(
            None if kind == "entries" else int(kind),
            int(digits.replace("x", "").replace("/", "")),
            WIDTH if width is None else int(width),
        )
        if tile.width > WIDTH or tile.path != path:
            raise BadTile(f"{path!r} is not the path of a tile")
        return tile

    @property
    def whole(self) -> "Tile":
        """The full tile of which this is the beginning."""
        return Tile(self.level, self.index)

    def within(self, size: int) -> bool:
        """Does a tree of ``size`` leaves have all of it?"""
        return self.index * WIDTH + self.width <= size >> _HEIGHT * (self.level or 0)


def tiles_of(size: int) -> Iterator[Tile]:
    """Every tile of a tree of ``size`` leaves, level by level, without the bundles."""
    level = 0
    while count := size >> _HEIGHT * level:
        yield from (Tile(level, index, min(WIDTH, count - index * WIDTH)) for index in range(-(-count // WIDTH)))
        level += 1


def bundles_of(low: int, high: int) -> Iterator[Tile]:
    """The bundles that hold the entries low .. high - 1, each as wide as it is in a tree of ``high`` leaves."""
    for index in range(low // WIDTH, -(-high // WIDTH)):
        yield Tile(None, index, min(WIDTH, high - index * WIDTH))


def pack(entries: Iterable[bytes]) -> bytes:
    """Entries as a bundle: each behind its length as u16 big endian.

    :raises ValueError: an entry has more than 65,535 bytes.
    """
    parts: list[bytes] = []
    for entry in entries:
        if len(entry) > ENTRY_LIMIT:
            raise ValueError(f"an entry of {len(entry)} bytes, at most {ENTRY_LIMIT} are allowed")
        parts += (len(entry).to_bytes(2, "big"), entry)
    return b"".join(parts)


def unpack(data: bytes) -> list[bytes]:
    """The entries of a bundle.

    :raises BadTile: the bytes are not one.
    """
    entries: list[bytes] = []
    at = 0
    while at < len(data):
        start = at + 2
        at = start + int.from_bytes(data[at:start], "big")
        if start > len(data) or at > len(data):
            raise BadTile("a bundle ends within an entry")
        entries.append(data[start:at])
    return entries


class Tree:
    """A tree of ``size`` leaves that is read from its files. What was read is remembered."""

    def __init__(self, size: int, fetch: Fetch) -> None:
        self.size, self._fetch = size, fetch
        self._tiles: dict[tuple[int, int], bytes] = {}

    def node(self, level: int, index: int) -> bytes:
        """The hash of a complete subtree; see `merkle.Nodes`.

        :raises Missing: its tile is not there.
        :raises BadTile: its tile is not one.
        """
        height, inner = divmod(level, _HEIGHT)
        first = index << inner
        tile, at = divmod(first, WIDTH)
        hashes = self.tile(height, tile)
        end = (at + (1 << inner)) * HASH_LENGTH
        if end > len(hashes):
            raise IndexError(f"node ({level}, {index}) is not complete in a tree of {self.size}")
        return merkle.complete(hashes[at * HASH_LENGTH : end])

    def tile(self, level: int, index: int) -> bytes:
        """The hashes of a tile, as many as the tree has.

        :raises Missing: it is not there.
        :raises BadTile: it is not one.
        """
        if (known := self._tiles.get((level, index))) is None:
            if level > _LEVEL_LIMIT:
                raise IndexError(f"a tile of level {level}")
            width = min(WIDTH, (self.size >> _HEIGHT * level) - index * WIDTH)
            if width < 1:
                raise IndexError(f"a tree of {self.size} has no tile ({level}, {index})")
            tile = Tile(level, index, width)
            known = self._read(tile)
            if len(known) < width * HASH_LENGTH or len(known) % HASH_LENGTH:
                raise BadTile(f"{tile.path} has not {width} hashes")
            known = self._tiles[level, index] = known[: width * HASH_LENGTH]
        return known

    def leaf(self, index: int) -> bytes:
        """The hash of a leaf, as its tile has it."""
        return self.node(0, index)

    def root(self) -> bytes:
        """The root, as the tiles have it."""
        return merkle.root(self.size, self.node)

    def inclusion(self, index: int) -> list[bytes]:
        """See `merkle.inclusion`."""
        return merkle.inclusion(index, self.size, self.node)

    def consistency(self, old: int) -> list[bytes]:
        """See `merkle.consistency`."""
        return merkle.consistency(old, self.size, self.node)

    def entries(self, low: int, high: int | None = None) -> Iterator[tuple[int, bytes]]:
        """(leaf number, entry) of the entries low .. high - 1 (to the end), each compared with its leaf's hash.

        :raises Missing: a bundle or tile is not there.
        :raises BadTile: a bundle has too few entries, or one that does not have the hash of its leaf.
        """
        high = self.size if high is None else high
        for bundle in bundles_of(low, self.size):
            start = bundle.index * WIDTH
            if start >= high:
                return
            entries = unpack(self._read(bundle))
            if len(entries) < bundle.width:
                raise BadTile(f"{bundle.path} has not {bundle.width} entries")
            for number in range(max(low, start), min(high, start + bundle.width)):
                entry = entries[number - start]
                if merkle.leaf_hash(entry) != self.leaf(number):
                    raise BadTile(f"entry {number} has not the hash of its leaf")
                yield number, entry

    def entry(self, index: int) -> bytes:
        """One entry.

        :raises Missing: see `entries`.
        :raises BadTile: see `entries`.
        """
        ((_, entry),) = self.entries(index, index + 1)
        return entry

    def _read(self, tile: Tile) -> bytes:
        """A tile's bytes; those of the full one where the partial one has been cleared away."""
        try:
            return self._fetch(tile.path)
        except Missing:
            if tile.width == WIDTH:
                raise
            return self._fetch(tile.whole.path)
