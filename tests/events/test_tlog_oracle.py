"""The log against a second implementation that nobody here wrote, `aics-tlog`: both must say the same, both ways."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events.notes import COSIGNATURE, BadNote, Signer, Verifier, cosign, open_note
from events.tlog import merkle
from events.tlog.checkpoint import Checkpoint, open_checkpoint
from events.tlog.tiles import BadTile, Missing, Tile, Tree, bundles_of, pack, tiles_of, unpack

aics: Any = pytest.importorskip("aics_tlog", reason="the independent implementation needs Python 3.12")

LOG = Signer.of("play.example/gamelog", b"\x01" * 32)
WITNESS = Signer.of("witness.example/w", b"\x02" * 32, COSIGNATURE)


def entries(count: int) -> list[bytes]:
    return [b"entry %d" % number for number in range(count)]


def nodes(theirs: Any) -> merkle.Nodes:
    """The nodes of their tree, by our numbers."""
    return lambda level, index: aics.MerkleTree(
        theirs.leaf_data(number) for number in range(index << level, (index + 1) << level)
    ).root()


@pytest.mark.parametrize("size", range(1, 34))
def test_roots_and_proofs_of_small_trees_are_equal(size: int) -> None:
    theirs = aics.MerkleTree(entries(size))
    ours = nodes(theirs)
    assert merkle.root(size, ours) == theirs.root()
    for index in range(size):
        assert merkle.inclusion(index, size, ours) == theirs.inclusion_proof(index)
    for old in range(1, size + 1):
        assert merkle.consistency(old, size, ours) == theirs.consistency_proof(old)


@given(st.data())
@settings(max_examples=200)
def test_what_one_accepts_the_other_accepts(data: st.DataObject) -> None:
    size = data.draw(st.integers(1, 40))
    theirs = aics.MerkleTree(entries(size))
    index, old = data.draw(st.integers(0, size)), data.draw(st.integers(1, size))
    proof = theirs.inclusion_proof(min(index, size - 1)), theirs.consistency_proof(old)
    changed = [list(one) for one in proof]
    for one in changed:
        change = data.draw(st.sampled_from(("none", "drop", "repeat", "swap", "flip")))
        if one and change == "drop":
            one.pop(data.draw(st.integers(0, len(one) - 1)))
        elif one and change == "repeat":
            one.append(one[-1])
        elif one and change == "swap":
            one.reverse()
        elif one and change == "flip":
            one[0] = bytes((one[0][0] ^ 1,)) + one[0][1:]
    leaf, root, before = merkle.leaf_hash(b"entry %d" % index), theirs.root(), theirs.root(old)
    assert accepts(merkle.check_inclusion, leaf, index, size, changed[0], root) == bool(
        aics.verify_inclusion(leaf, index, size, changed[0], root)
    )
    assert accepts(merkle.check_consistency, old, size, changed[1], before, root) == bool(
        aics.verify_consistency(old, size, before, root, changed[1])
    )


def accepts(check: Any, *arguments: Any) -> bool:
    try:
        check(*arguments)
    except merkle.BadProof:
        return False
    return True


@pytest.mark.parametrize("size", [1, 255, 256, 257, 513, 66_000])
def test_files_are_equal_byte_for_byte(size: int) -> None:
    files = aics.tiles.materialise_tiles(entries(size))
    ours = {tile.path for tile in (*tiles_of(size), *bundles_of(0, size))}
    assert {path.removeprefix("/") for path in files} == ours

    def fetch(path: str) -> bytes:
        if path not in files:
            raise Missing(path)
        data: bytes = files[path]
        return data

    tree = Tree(size, fetch)
    assert tree.root() == aics.MerkleTree(entries(size)).root()
    assert [entry for _, entry in tree.entries(max(0, size - 300))] == entries(size)[max(0, size - 300) :]
    for bundle in bundles_of(0, size):
        start = bundle.index * 256
        assert pack(entries(size)[start : start + bundle.width]) == files[bundle.path]


@given(st.text("0123456789x/.penttilris-", max_size=24))
def test_no_path_is_a_tile_for_one_only(rest: str) -> None:
    path = f"tile/{rest}"
    try:
        aics.tiles.parse_tile_path(path)
    except ValueError:
        theirs = False
    else:
        theirs = True
    try:
        mine = Tile.parse(path).level is not None
    except BadTile:
        mine = False
    assert mine == theirs


@given(st.binary(max_size=40))
def test_no_bytes_are_a_bundle_for_one_only(data: bytes) -> None:
    try:
        theirs = aics.tiles.parse_entry_bundle(data)
    except ValueError:
        theirs = None
    try:
        mine = unpack(data)
    except BadTile:
        mine = None
    assert mine == theirs


def test_checkpoints_and_cosignatures_are_theirs_too() -> None:
    checkpoint = Checkpoint(LOG.name, 3, aics.MerkleTree(entries(3)).root())
    note = cosign(checkpoint.sign(LOG), WITNESS, 1_800_000_000)
    log, witness = aics.parse_vkey(LOG.vkey), aics.parse_vkey(WITNESS.vkey)
    assert aics.format_vkey(log) == LOG.vkey
    found = aics.verify_checkpoint(aics.parse_note(note), log, [witness], 1, now=1_800_000_001)
    assert (found.ok, found.size, found.root, found.witnesses) == (True, 3, checkpoint.root, [WITNESS.name])
    assert open_checkpoint(note, [LOG.verifier, WITNESS.verifier]).checkpoint == checkpoint


def test_a_key_that_they_made_signs_what_we_open() -> None:
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey

    private = Ed25519PrivateKey.from_private_bytes(LOG.seed)
    checkpoint = aics.Checkpoint(LOG.name, 7, bytes(range(32)))
    note = aics.sign_checkpoint(checkpoint, private, LOG.name).to_bytes()
    assert note == Checkpoint(LOG.name, 7, bytes(range(32))).sign(LOG)
    assert open_checkpoint(note, [LOG.verifier]).checkpoint.size == 7


@given(st.data())
@settings(max_examples=200)
def test_no_changed_note_is_good_for_one_only(data: st.DataObject) -> None:
    note = bytearray(Checkpoint(LOG.name, 3, bytes(32)).sign(LOG))
    at = data.draw(st.integers(0, len(note) - 1))
    note[at] = data.draw(st.integers(0, 255))
    try:
        theirs = aics.verify_checkpoint(aics.parse_note(bytes(note)), aics.parse_vkey(LOG.vkey)).ok
    except ValueError:
        theirs = False
    try:
        mine = bool(open_note(bytes(note), [LOG.verifier]).signers)
    except BadNote:
        mine = False
    assert mine == theirs


@pytest.mark.parametrize(
    "vkey",
    [LOG.vkey, WITNESS.vkey, LOG.vkey[:-2] + "==", LOG.vkey.upper(), "x+00000000+AQ==", "a b" + LOG.vkey, ""],
)
def test_keys_are_read_alike(vkey: str) -> None:
    def reads(parse: Any) -> bool:
        try:
            parse(vkey)
        except ValueError:
            return False
        return True

    assert reads(Verifier.parse) == reads(aics.parse_vkey)


def test_a_log_on_disk_is_audited_by_them(tmp_path: Path) -> None:
    sequencer = pytest.importorskip("service.proofs.sequencer")
    from events.event import Event, genesis

    class Games:
        """Games in memory, all of them offered all the time."""

        def __init__(self) -> None:
            self.firsts: dict[bytes, Event] = {}

        def begin(self) -> None: ...
        def done(self) -> None: ...
        def changed(self) -> list[bytes]:
            return list(self.firsts)

        def ends(self, game_ids: list[bytes], first: bool) -> list[Event | None]:
            return [self.firsts[one] for one in game_ids]

        def remembered(self) -> bytes | None:
            return None

        def remember(self, note: bytes, before: bytes | None) -> bool:
            return True

    games = Games()
    writer = sequencer.Sequencer(tmp_path, games, lambda: [LOG])
    for step in (1, 2, 300, 256, 17):
        for _ in range(step):
            game_id = len(games.firsts).to_bytes(16, "big")
            games.firsts[game_id] = Event.write(game_id, 1, genesis(game_id), 5, "create", None, {})
        while writer.step():
            pass
        found = aics.verify_checkpoint(
            aics.parse_note((tmp_path / "checkpoint").read_bytes()), aics.parse_vkey(LOG.vkey)
        )
        assert found.ok
        assert found.size == len(games.firsts)
        audit = aics.audit_tiles(aics.FileSystemTileReader(tmp_path), found.size, found.root)
        assert audit
        for index in (0, found.size // 2, found.size - 1):
            proof = aics.inclusion_proof_from_tiles(aics.FileSystemTileReader(tmp_path), index, found.size)
            mine = writer.folder.tree(found.size)
            assert mine.inclusion(index) == proof
            assert aics.verify_leaf_inclusion(mine.entry(index), index, found.size, proof, found.root)
    writer.close()
