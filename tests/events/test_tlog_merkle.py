"""The tree against what others published of theirs, and against itself in every small size."""

import base64
import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from events.tlog.merkle import (
    EMPTY_ROOT,
    BadProof,
    Growing,
    check_consistency,
    check_inclusion,
    consistency,
    inclusion,
    leaf_hash,
    node_hash,
    root,
)

VECTORS = Path(__file__).parents[3] / "shared" / "vectors"

LEAVES = [
    bytes.fromhex(leaf)
    for leaf in (
        "",
        "00",
        "10",
        "2021",
        "3031",
        "40414243",
        "5051525354555657",
        "606162636465666768696a6b6c6d6e6f",
    )
]
ROOTS = [
    bytes.fromhex(one)
    for one in (
        "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d",
        "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125",
        "aeb6bcfe274b70a14fb067a5e5578264db0fa9b51af5e0ba159158f329e06e77",
        "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7",
        "4e3bbb1f7b478dcfe71fb631631519a3bca12c9aefca1612bfce4c13a86264d4",
        "76e67dadbcdf1e10e1b74ddc608abd2f98dfb16fbce75277b5232a127f2087ef",
        "ddb89be403809e325750d3d263cd78929c2942b7942a34b77e122c9594a74c8c",
        "5dc9da79a70659a9ad559cb701ded9a2ab9d823aad2f4960cfe370eff4604328",
    )
]
A = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
B = "5f083f0a1a33ca076a95279832580db3e0ef4584bdff1f54c8a360f50de3031e"
C = "bc1a0643b12e4d2d7c77918f44e0f4f79a838b6cf9ec5b5c283e1f4d88599e6b"
D = "ca854ea128ed050b41b35ffc1b87b8eb2bde461e9e3b5596ece6b9d5975a0ae0"
E = "d37ee418976dd95753c1c73862b9398fa2a2cf9b4ff0fdfe8b30cd95209614b7"
F = "96a296d224f285c67bee93c30f8a309157f0daa35dc5b87e410b78630a09cfc7"
G = "6b47aaf29ee3c2af9af889bc1fb9254dabd31177f16232dd6aab035ca39bf6e4"
H = "0ebc5d3437fbe2db158b9f126a1d118e308181031d0a949f8dededebc558ef6a"
I = "fac54203e7cc696cf0dfcb42c92a1d9dbaf70ad9e621f4bd8d98662f00e3c125"  # noqa: E741 # the ninth
INCLUSIONS = {(0, 8): [F, B, G], (5, 8): [C, D, E], (2, 3): [I], (1, 5): [A, B, C]}
CONSISTENCIES = {(6, 8): [H, D, E], (2, 5): [B, C], (1, 8): [F, B, G], (1, 1): [], (8, 8): []}


class Stored:
    """A tree of leaves in memory."""

    def __init__(self, entries: list[bytes]) -> None:
        self.leaves = [leaf_hash(entry) for entry in entries]

    def node(self, level: int, index: int) -> bytes:
        if level == 0:
            return self.leaves[index]
        return node_hash(self.node(level - 1, 2 * index), self.node(level - 1, 2 * index + 1))


def numbered(count: int) -> Stored:
    return Stored([str(number).encode() for number in range(count)])


def hexed(parts: list[bytes]) -> list[str]:
    return [part.hex() for part in parts]


def published(name: str) -> Any:
    path = VECTORS / name
    if not path.exists():
        pytest.skip("the published vectors lie beside the repository, and are not there")
    return json.loads(path.read_text())


def test_leaves_and_nodes_are_hashed_as_rfc_6962_says() -> None:
    assert EMPTY_ROOT.hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    assert leaf_hash(b"").hex() == A
    assert leaf_hash(b"L123456").hex() == "395aa064aa4c29f7010acfe3f25db9485bbd4b91897b6ad7ad547639252b4d56"
    assert node_hash(b"N123", b"N456").hex() == "aa217fe888e47007fa15edab33c2b492a722cb106c64667fc2b044444de66bbb"


def test_the_reference_tree_has_its_roots() -> None:
    tree, growing = Stored(LEAVES), Growing()
    assert root(0, tree.node) == growing.root() == EMPTY_ROOT
    for size, expected in enumerate(ROOTS, 1):
        growing.add(leaf_hash(LEAVES[size - 1]))
        assert root(size, tree.node) == growing.root() == expected
        assert Growing.of(size, tree.node).subtrees == growing.subtrees


@pytest.mark.parametrize(("index", "size"), INCLUSIONS)
def test_the_reference_tree_has_its_proofs_of_inclusion(index: int, size: int) -> None:
    proof = inclusion(index, size, Stored(LEAVES).node)
    assert hexed(proof) == INCLUSIONS[index, size]
    check_inclusion(leaf_hash(LEAVES[index]), index, size, proof, ROOTS[size - 1])


@pytest.mark.parametrize(("old", "new"), CONSISTENCIES)
def test_the_reference_tree_has_its_proofs_of_consistency(old: int, new: int) -> None:
    proof = consistency(old, new, Stored(LEAVES).node)
    assert hexed(proof) == CONSISTENCIES[old, new]
    check_consistency(old, new, proof, ROOTS[old - 1], ROOTS[new - 1])


def test_a_small_tree_of_the_go_checksum_database_has_its_root() -> None:
    assert base64.b64encode(leaf_hash(b"hello world")) == b"TszzRgjTG6xce+z2AG31kAXYKBgQVtCSCE40HmuwBb0="


def test_every_proof_of_every_small_tree_holds_and_for_nothing_else() -> None:
    tree = numbered(40)
    roots = [root(size, tree.node) for size in range(41)]
    for size in range(1, 41):
        for index in range(size):
            proof = inclusion(index, size, tree.node)
            check_inclusion(tree.leaves[index], index, size, proof, roots[size])
            for other in {(index + 1) % size, index ^ 1, size - 1} - {index}:
                with pytest.raises(BadProof):
                    check_inclusion(tree.leaves[index], other, size, proof, roots[size])
            for broken in (proof[:-1], [*proof, proof[-1]]) if proof else ([roots[size]],):
                with pytest.raises(BadProof):
                    check_inclusion(tree.leaves[index], index, size, broken, roots[size])
        for old in range(size + 1):
            proof = consistency(old, size, tree.node)
            check_consistency(old, size, proof, roots[old], roots[size])
            wrong = roots[old - 1] if old else roots[1]
            with pytest.raises(BadProof):
                check_consistency(old, size, proof, wrong, roots[size])
            if 0 < old < size:
                for broken in (proof[:-1], proof[1:], [*proof, proof[-1]], proof[::-1] if len(proof) > 1 else []):
                    with pytest.raises(BadProof):
                        check_consistency(old, size, broken, roots[old], roots[size])
            else:
                with pytest.raises(BadProof):
                    check_consistency(old, size, [roots[1]], roots[old], roots[size])


@given(st.data())
def test_any_one_bit_of_a_proof_counts(data: st.DataObject) -> None:
    tree = numbered(130)
    size = data.draw(st.integers(2, 130))
    index, old = data.draw(st.integers(0, size - 1)), data.draw(st.integers(1, size - 1))
    start, end = root(old, tree.node), root(size, tree.node)
    for path, check in (
        (inclusion(index, size, tree.node), lambda p: check_inclusion(tree.leaves[index], index, size, p, end)),
        (consistency(old, size, tree.node), lambda p: check_consistency(old, size, p, start, end)),
    ):
        check(path)
        at, bit = data.draw(st.integers(0, len(path) - 1)), data.draw(st.integers(0, 255))
        flipped = bytes(byte ^ (1 << bit % 8 if place == bit // 8 else 0) for place, byte in enumerate(path[at]))
        with pytest.raises(BadProof):
            check([*path[:at], flipped, *path[at + 1 :]])


def test_hashes_of_another_length_are_refused() -> None:
    tree = numbered(3)
    proof, end = inclusion(0, 3, tree.node), root(3, tree.node)
    for spoilt in ([proof[0][:-1], proof[1]], [proof[0] + b"\0", proof[1]], [b"", *proof], [end] * 100):
        with pytest.raises(BadProof):
            check_inclusion(tree.leaves[0], 0, 3, spoilt, end)


def test_sizes_that_cannot_be_are_refused() -> None:
    tree = numbered(4)
    for index, size in ((4, 4), (-1, 4), (0, 0)):
        with pytest.raises(IndexError):
            inclusion(index, size, tree.node)
        with pytest.raises(BadProof):
            check_inclusion(tree.leaves[0], index, size, [], EMPTY_ROOT)
    with pytest.raises(IndexError):
        consistency(4, 3, tree.node)
    with pytest.raises(BadProof):
        check_consistency(4, 3, [], root(4, tree.node), root(3, tree.node))
    for size, parts in ((3, 1), (4, 2), (0, 1)):
        with pytest.raises(ValueError):
            Growing(size, [EMPTY_ROOT] * parts)


def test_a_leaf_and_a_node_of_the_same_bytes_differ() -> None:
    tree = numbered(2)
    assert leaf_hash(tree.leaves[0] + tree.leaves[1]) != root(2, tree.node)


def test_a_tree_never_has_the_root_of_one_with_its_last_leaf_twice() -> None:
    roots = {root(size, Stored([b"x"] * size).node) for size in range(1, 20)}
    assert len(roots) == 19


def test_growing_remembers_no_more_than_it_must() -> None:
    tree = numbered(300)
    growing = Growing()
    for before, after in pairwise(range(301)):
        growing.add(tree.leaves[before])
        assert len(growing.subtrees) == after.bit_count()
        growing = Growing(growing.size, growing.subtrees)
    assert growing.root() == root(300, tree.node)


# -- what others published -------------------------------------------------------------------------------------------


def decoded(parts: list[str] | None) -> list[bytes]:
    return [base64.b64decode(part) for part in parts or ()]


def test_the_published_probes_of_inclusion_are_accepted_and_refused() -> None:
    probes = published("transparency-dev-merkle.json")["inclusion"]
    assert len(probes) == 98
    for probe in probes.values():
        leaf, expected = base64.b64decode(probe["leafHash"]), base64.b64decode(probe["root"])
        arguments = (leaf, probe["leafIdx"], probe["treeSize"], decoded(probe["proof"]), expected)
        if probe["wantErr"]:
            with pytest.raises(BadProof):
                check_inclusion(*arguments)
        else:
            check_inclusion(*arguments)


def test_the_published_probes_of_consistency_are_accepted_and_refused() -> None:
    probes = published("transparency-dev-merkle.json")["consistency"]
    assert len(probes) == 98
    for probe in probes.values():
        roots = base64.b64decode(probe["root1"]), base64.b64decode(probe["root2"])
        arguments = (probe["size1"], probe["size2"], decoded(probe["proof"]), *roots)
        if probe["wantErr"] or any(len(one) != 32 for one in roots):  # one probe calls 12 bytes a hash
            with pytest.raises(BadProof):
                check_consistency(*arguments)
        else:
            check_consistency(*arguments)


def test_a_real_log_of_a_billion_leaves_checks() -> None:
    log = published("ct-argon2020.json")
    size, end = log["sth"]["tree_size"], base64.b64decode(log["sth"]["sha256_root_hash"])
    leaf = leaf_hash(base64.b64decode(log["entries"]["entries"][0]["leaf_input"]))
    assert leaf.hex() == "9c2b3799f232761f71e022b243ebb6c6d9a9c66160800e4c2f2987c0d41294b8"
    path = log["proof"]
    check_inclusion(leaf, int(path["leaf_index"]), size, decoded(path["audit_path"]), end)
    with pytest.raises(BadProof):
        check_inclusion(leaf, int(path["leaf_index"]) + 1, size, decoded(path["audit_path"]), end)
    proof = decoded(log["consistency"]["consistency"])
    check_consistency(log["old_size"], size, proof, base64.b64decode(log["old_root"]), end)
    with pytest.raises(BadProof):
        check_consistency(log["old_size"] + 1, size, proof, base64.b64decode(log["old_root"]), end)
