"""A tree as files: their paths, their widths, and what is read back from them."""

import pytest

from events.tlog import merkle
from events.tlog.tiles import BadTile, Missing, Tile, Tree, bundles_of, pack, tiles_of, unpack


def folder(count: int, size: int | None = None) -> dict[str, bytes]:
    """The files of a tree of so many entries, its partial tiles as for ``size``."""
    entries = [b"entry %d" % number for number in range(count)]
    files: dict[str, bytes] = {}
    hashes = [merkle.leaf_hash(entry) for entry in entries]
    for bundle in bundles_of(0, count):
        files[bundle.path] = pack(entries[bundle.index * 256 : bundle.index * 256 + bundle.width])
    level = 0
    while hashes:
        for tile in tiles_of(count):
            if tile.level == level:
                files[tile.path] = b"".join(hashes[tile.index * 256 : tile.index * 256 + tile.width])
        hashes = [folded(hashes[start : start + 256]) for start in range(0, len(hashes) - 255, 256)]
        level += 1
    return files


def folded(hashes: list[bytes]) -> bytes:
    while len(hashes) > 1:
        hashes = [merkle.node_hash(*pair) for pair in zip(hashes[::2], hashes[1::2], strict=True)]
    return hashes[0]


class Files:
    def __init__(self, files: dict[str, bytes]) -> None:
        self.files = files
        self.asked: list[str] = []

    def __call__(self, path: str) -> bytes:
        self.asked.append(path)
        if path not in self.files:
            raise Missing(path)
        return self.files[path]


@pytest.mark.parametrize(
    ("tile", "path"),
    [
        (Tile(0, 1234067), "tile/0/x001/x234/067"),
        (Tile(0, 123456078), "tile/0/x123/x456/078"),
        (Tile(3, 0, 1), "tile/3/000.p/1"),
        (Tile(63, 999), "tile/63/999"),
        (Tile(None, 1000, 255), "tile/entries/x001/000.p/255"),
    ],
)
def test_a_tile_has_one_path(tile: Tile, path: str) -> None:
    assert tile.path == path
    assert Tile.parse(path) == tile


@pytest.mark.parametrize(
    "path",
    [
        "tile/0/123/456/078",
        "tile/-1/000",
        "tile/64/000",
        "tile/00/000",
        "tile/0/0",
        "tile/0/x000/001",
        "tile/0/x001/x234/067.p/0",
        "tile/0/000.p/256",
        "tile/0/000.p/01",
        "tile/0/x001",
        "tile/0/000/",
        "tile/0/../000",
        "tile/entries/",
        "/tile/0/000",
        "tile/0/000\n",
        "tile/0/٠٠٠",
        "checkpoint",
    ],
)
def test_what_is_not_the_path_of_a_tile_is_refused(path: str) -> None:
    with pytest.raises(BadTile):
        Tile.parse(path)


def test_a_tree_of_seventy_thousand_has_the_tiles_that_the_specification_counts() -> None:
    tiles = list(tiles_of(70_000))
    level = {number: [tile for tile in tiles if tile.level == number] for number in range(4)}
    assert [tile.width for tile in level[0]] == [256] * 273 + [112]
    assert [tile.width for tile in level[1]] == [256, 17]
    assert [tile.width for tile in level[2]] == [1]
    assert level[3] == []


def test_a_tree_of_256_has_a_full_tile_and_one_above_it() -> None:
    assert list(tiles_of(256)) == [Tile(0, 0), Tile(1, 0, 1)]
    assert list(tiles_of(0)) == []
    assert [bundle.path for bundle in bundles_of(0, 256)] == ["tile/entries/000"]
    assert [bundle.path for bundle in bundles_of(255, 300)] == ["tile/entries/000", "tile/entries/001.p/44"]


def test_a_tile_is_within_a_tree_that_has_all_its_hashes() -> None:
    assert Tile(0, 273, 112).within(70_000)
    assert not Tile(0, 273, 113).within(70_000)
    assert Tile(1, 1, 17).within(70_000)
    assert not Tile(1, 1, 18).within(70_000)
    assert Tile(None, 273, 112).within(70_000)
    assert not Tile(None, 274, 1).within(70_000)
    assert not Tile(3, 0, 1).within(70_000)


def test_a_bundle_gives_back_its_entries() -> None:
    entries = [b"", b"a", bytes(65_535), b"\x00\x01"]
    assert unpack(pack(entries)) == entries
    assert unpack(b"") == []
    for broken in (b"\0", pack([b"abc"])[:-1], pack([b"abc"]) + b"\0"):
        with pytest.raises(BadTile):
            unpack(broken)
    with pytest.raises(ValueError, match="at most"):
        pack([bytes(65_536)])


@pytest.mark.parametrize("count", [1, 2, 255, 256, 257, 700, 65_536, 65_800])
def test_root_and_proofs_are_read_from_the_files(count: int) -> None:
    tree, growing = Tree(count, Files(folder(count))), merkle.Growing()
    roots = [growing.root()]
    leaves = [merkle.leaf_hash(b"entry %d" % number) for number in range(count)]
    for leaf in leaves:
        growing.add(leaf)
        roots.append(growing.root())
    assert tree.root() == roots[-1]
    for index in {0, count // 2, count - 1}:
        merkle.check_inclusion(leaves[index], index, count, tree.inclusion(index), roots[count])
        assert tree.entry(index) == b"entry %d" % index
    for old in {0, 1, count // 3, 255, 256, count - 1, count}:
        if old <= count:
            merkle.check_consistency(old, count, tree.consistency(old), roots[old], roots[count])
            assert merkle.root(old, tree.node) == roots[old]


def test_entries_are_read_from_any_place() -> None:
    tree = Tree(700, Files(folder(700)))
    assert [number for number, _ in tree.entries(250, 520)] == list(range(250, 520))
    assert dict(tree.entries(699)) == {699: b"entry 699"}
    assert list(tree.entries(700)) == []


def test_an_older_tree_is_read_from_the_full_tiles_of_a_newer_one() -> None:
    newer = Files(folder(520))
    older = Tree(200, newer)
    assert older.root() == Tree(200, Files(folder(200))).root()
    assert older.entry(199) == b"entry 199"
    assert newer.asked[:2] == ["tile/0/000.p/200", "tile/0/000"]


def test_an_entry_that_is_not_what_its_leaf_says_is_found() -> None:
    files = folder(300)
    files["tile/entries/001.p/44"] = files["tile/entries/001.p/44"].replace(b"entry 290", b"entry 29O")
    tree = Tree(300, Files(files))
    with pytest.raises(BadTile, match="entry 290"):
        list(tree.entries(256))
    assert tree.entry(289) == b"entry 289"


def test_tiles_that_are_short_or_missing_are_found() -> None:
    files = folder(300)
    files["tile/0/001.p/44"] = files["tile/0/001.p/44"][:-32]
    with pytest.raises(BadTile, match=r"tile/0/001\.p/44"):
        Tree(300, Files(files)).root()
    files["tile/entries/001.p/44"] = pack([b"one"])
    with pytest.raises(BadTile, match="44 entries"):
        list(Tree(300, Files(files)).entries(256))
    del files["tile/0/001.p/44"]
    with pytest.raises(Missing):
        Tree(300, Files(files)).root()


def test_nodes_that_are_not_complete_are_not_had() -> None:
    tree = Tree(300, Files(folder(300)))
    for level, index in ((0, 300), (8, 1), (9, 0), (2, 75)):
        with pytest.raises(IndexError):
            tree.node(level, index)
    assert tree.node(2, 74)
