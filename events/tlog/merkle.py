"""The Merkle tree of RFC 6962 and RFC 9162: hashes, roots, proofs of inclusion and of consistency.

A tree is known by its nodes: node (level, n) is the hash of the ``2**level`` leaves from ``n * 2**level`` on, all of
which exist. Whoever stores a tree hands in a function that finds them.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Final

from events.hashing import sha256

EMPTY_ROOT: Final = sha256(b"")
"""The root of a tree without leaves."""
HASH_LENGTH: Final = 32
PATH_LIMIT: Final = 64
"""Most hashes of a proof in a tree of fewer than 2**64 leaves."""

Nodes = Callable[[int, int], bytes]
"""(level, n) to the hash of that complete subtree."""


class BadProof(ValueError):
    """The proof does not lead to the root, and why."""


def leaf_hash(entry: bytes) -> bytes:
    """The hash of a leaf: ``H(0x00 || entry)``."""
    return sha256(b"\x00" + entry)


def node_hash(left: bytes, right: bytes) -> bytes:
    """The hash of an inner node: ``H(0x01 || left || right)``."""
    return sha256(b"\x01" + left + right)


# -- making ----------------------------------------------------------------------------------------------------------


def root(size: int, nodes: Nodes) -> bytes:
    """The root of the tree of the first ``size`` leaves (RFC 9162, 2.1.1)."""
    return _range(0, size, nodes) if size else EMPTY_ROOT


def inclusion(index: int, size: int, nodes: Nodes) -> list[bytes]:
    """The proof that leaf ``index`` is in the tree of ``size`` leaves, from the leaf upwards (RFC 9162, 2.1.3.1).

    :raises IndexError: the tree has no such leaf.
    """
    if not 0 <= index < size:
        raise IndexError(f"leaf {index} of a tree of {size}")
    path: list[bytes] = []
    low, high = 0, size
    while high - low > 1:
        middle = low + _split(high - low)
        if index < middle:
            path.append(_range(middle, high, nodes))
            high = middle
        else:
            path.append(_range(low, middle, nodes))
            low = middle
    return path[::-1]


def consistency(old: int, new: int, nodes: Nodes) -> list[bytes]:
    """The proof that the tree of ``new`` leaves begins with the ``old`` ones of before (RFC 9162, 2.1.4.1).

    Empty if the sizes are equal or ``old`` is 0, where there is nothing to show.

    :raises IndexError: the old tree is larger than the new one.
    """
    if not 0 <= old <= new:
        raise IndexError(f"a tree of {old} leaves before one of {new}")
    if old in (0, new):
        return []
    path: list[bytes] = []
    low, high, whole = 0, new, True
    while old != high:
        middle = low + _split(high - low)
        if old <= middle:
            path.append(_range(middle, high, nodes))
            high = middle
        else:
            path.append(_range(low, middle, nodes))
            low, whole = middle, False
    return ([] if whole else [_range(low, high, nodes)]) + path[::-1]


def complete(hashes: bytes) -> bytes:
    """The hash of a complete subtree from those of its parts in order, a power of two of them, one after another."""
    parts = [hashes[start : start + HASH_LENGTH] for start in range(0, len(hashes), HASH_LENGTH)]
    while len(parts) > 1:
        parts = [node_hash(*pair) for pair in zip(parts[::2], parts[1::2], strict=True)]
    return parts[0]


def _split(size: int) -> int:
    """The largest power of two below ``size`` (at least 2)."""
    return 1 << (size - 1).bit_length() - 1


def _range(low: int, high: int, nodes: Nodes) -> bytes:
    """The hash of the leaves low .. high - 1, which are a subtree of some tree."""
    parts = [nodes(level, low >> level) for level, low in _complete(low, high)]
    return _fold(parts)


def _complete(low: int, high: int) -> Iterator[tuple[int, int]]:
    """(level, first leaf) of the complete subtrees that make up a range, from the largest down."""
    while low < high:
        level = (high - low).bit_length() - 1
        yield level, low
        low += 1 << level


def _fold(parts: Sequence[bytes]) -> bytes:
    whole = parts[-1]
    for part in reversed(parts[:-1]):
        whole = node_hash(part, whole)
    return whole


class Growing:
    """A tree that leaves are added to, known by nothing but its complete subtrees: at most 64 hashes."""

    def __init__(self, size: int = 0, subtrees: Iterable[bytes] = ()) -> None:
        """``subtrees``: as `subtrees` gave them for that size.

        :raises ValueError: so many subtrees do not make up that size.
        """
        self.size, self.subtrees = size, list(subtrees)
        if len(self.subtrees) != size.bit_count() or any(len(part) != HASH_LENGTH for part in self.subtrees):
            raise ValueError(f"{len(self.subtrees)} subtrees do not make up {size} leaves")

    @classmethod
    def of(cls, size: int, nodes: Nodes) -> "Growing":
        """The tree of the first ``size`` leaves of one that is stored."""
        return cls(size, [nodes(level, low >> level) for level, low in _complete(0, size)])

    def add(self, leaf: bytes) -> None:
        """Add a leaf's hash."""
        below = self.size
        while below & 1:
            leaf = node_hash(self.subtrees.pop(), leaf)
            below >>= 1
        self.subtrees.append(leaf)
        self.size += 1

    def root(self) -> bytes:
        """The root as it stands."""
        return _fold(self.subtrees) if self.subtrees else EMPTY_ROOT


# -- checking --------------------------------------------------------------------------------------------------------


def check_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes], expected: bytes) -> None:
    """Check that a leaf's hash stands at ``index`` in the tree with that size and root (RFC 9162, 2.1.3.2).

    :raises BadProof: it is not shown.
    """
    _check_hashes(leaf, expected, *proof)
    if not 0 <= index < size:
        raise BadProof(f"a tree of {size} leaves has no leaf {index}")
    if root_from_inclusion(leaf, index, size, proof) != expected:
        raise BadProof("the proof of inclusion does not lead to the root")


def root_from_inclusion(leaf: bytes, index: int, size: int, proof: Sequence[bytes]) -> bytes:
    """The root to which a proof of inclusion leads.

    :raises BadProof: it is longer or shorter than such a proof.
    """
    at, last, found = index, size - 1, leaf
    for part in proof:
        if last == 0:
            raise BadProof("the proof of inclusion is too long")
        if at & 1 or at == last:
            found = node_hash(part, found)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            found = node_hash(found, part)
        at, last = at >> 1, last >> 1
    if last:
        raise BadProof("the proof of inclusion is too short")
    return found


def check_consistency(old: int, new: int, proof: Sequence[bytes], old_root: bytes, new_root: bytes) -> None:
    """Check that the larger tree begins with the smaller one (RFC 9162, 2.1.4.2).

    :raises BadProof: it is not shown.
    """
    _check_hashes(old_root, new_root, *proof)
    if not 0 <= old <= new:
        raise BadProof(f"a tree of {old} leaves does not come before one of {new}")
    if old == new or old == 0:
        if proof:
            raise BadProof("there is nothing to prove, and yet a proof")
        if old == new and old_root != new_root:
            raise BadProof("two trees of one size with two roots")
        if old == 0 and old_root != EMPTY_ROOT:
            raise BadProof("not the root of a tree without leaves")
        return
    before, after = roots_from_consistency(old, new, proof, old_root)
    if after != new_root:
        raise BadProof("the proof of consistency does not lead to the new root")
    if before != old_root:
        raise BadProof("the proof of consistency does not lead to the old root")


def roots_from_consistency(old: int, new: int, proof: Sequence[bytes], old_root: bytes) -> tuple[bytes, bytes]:
    """The roots of the old and of the new tree (0 < old < new) to which a proof of consistency leads.

    Where the old tree is a complete subtree the proof leaves its root out, and ``old_root`` takes its place.

    :raises BadProof: it is longer or shorter than such a proof.
    """
    parts = list(proof)
    at, last = old - 1, new - 1
    while at & 1:
        at, last = at >> 1, last >> 1
    if at == 0:
        parts.insert(0, old_root)
    if not parts:
        raise BadProof("the proof of consistency is too short")
    before = after = parts[0]
    for part in parts[1:]:
        if last == 0:
            raise BadProof("the proof of consistency is too long")
        if at & 1 or at == last:
            before, after = node_hash(part, before), node_hash(part, after)
            while not at & 1 and at:
                at, last = at >> 1, last >> 1
        else:
            after = node_hash(after, part)
        at, last = at >> 1, last >> 1
    if last:
        raise BadProof("the proof of consistency is too short")
    return before, after


def _check_hashes(*hashes: bytes) -> None:
    if len(hashes) > PATH_LIMIT + 3:
        raise BadProof("more hashes than a proof may have")
    if any(len(one) != HASH_LENGTH for one in hashes):
        raise BadProof("a hash has not 32 bytes")
