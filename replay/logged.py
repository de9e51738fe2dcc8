"""What the log of games says about one game, as far as it can be proved (docs/audit-bundle.md, V4 to V6)."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import Final, Generic, TypeVar

from events.notes import BadNote, Unverified
from events.tlog.checkpoint import BadCheckpoint, Checkpoint, Signed
from events.tlog.entries import BadEntry, Closed, Opened, read_entry
from events.tlog.merkle import EMPTY_ROOT, BadProof
from events.tlog.policy import NONE, Policy
from events.tlog.proof import Continuation, Inclusion
from replay.bundle import CLOSE_ENTRY, CLOSE_PROOF, CONSISTENCY, GOSSIP, OPEN_ENTRY, OPEN_PROOF

AnyProof = TypeVar("AnyProof", Inclusion, Continuation)
AnyEntry = TypeVar("AnyEntry", Opened, Closed)
Seen = tuple[int, bytes]
"""Size and root of a checkpoint that somebody saw."""
_PROOFS: Final = {OPEN_PROOF: OPEN_ENTRY, CLOSE_PROOF: CLOSE_ENTRY}


@dataclass(frozen=True)
class Proved(Generic[AnyEntry]):
    """An entry that is in the log at ``index``, under a verified checkpoint of ``size`` entries."""

    entry: AnyEntry
    index: int
    size: int


class Logged:
    """The proofs among ``files`` (names as in a bundle), checked by a policy; without one nothing is.

    ``unknown`` are those that no key of the policy signed, ``bad_checkpoints`` what fails V4, ``bad_proofs`` what fails
    V5; ``forks`` prove two histories. ``opened`` and ``closed`` are there where they are proved.
    """

    def __init__(self, files: Mapping[str, bytes], policy: Policy | None, origin: str | None = None) -> None:
        self._policy, self._origin = policy, origin
        self.present = any(name in files for name in (*_PROOFS, CONSISTENCY)) or any(
            name.startswith(GOSSIP) for name in files
        )
        self.unknown: list[str] = []
        self.bad_checkpoints: list[str] = []
        self.bad_proofs: list[str] = []
        self.forks: list[str] = []
        self.opened: Proved[Opened] | None = None
        self.closed: Proved[Closed] | None = None
        self.newest: Signed | None = None
        self._verified: dict[str, Signed] = {}
        self._gossip: dict[int, Continuation] = {}
        if policy is not None and self.present:
            self._check(files)

    @property
    def witnessed(self) -> bool:
        """Does the policy ask for witnesses, and have enough of them seen the newest checkpoint?"""
        policy, newest = self._policy, self.newest
        return policy is not None and newest is not None and policy.quorum != NONE and policy.met(newest)

    def unconnected(self, seen: Iterable[Seen]) -> Iterator[tuple[Seen, str]]:
        """The checkpoints that no proof connects with the newest one of the log, and why."""
        if self.newest is None:
            return
        newest = self.newest.checkpoint
        for size, root in seen:
            if (why := self._unconnected(size, root, newest)) is not None:
                yield (size, root), f"a seat saw a log of {size} entries with root {root.hex()}: {why}"

    def _unconnected(self, size: int, root: bytes, newest: Checkpoint) -> str | None:
        if size in (0, newest.size):
            agree = root == (newest.root if size else EMPTY_ROOT)
            return None if agree else f"this one has root {newest.root.hex()} with {newest.size}"
        if (proof := self._gossip.get(size)) is None:
            return f"no proof leads from it to this one of {newest.size}, root {newest.root.hex()}"
        try:
            proof.check(root, newest)
        except BadProof as error:
            return str(error)
        return None

    def _check(self, files: Mapping[str, bytes]) -> None:
        entries: dict[str, Inclusion] = {}
        for name in _PROOFS:
            if name in files and (proof := self._read(name, files[name], Inclusion)) is not None:
                entries[name] = proof
        onward = self._read(CONSISTENCY, files[CONSISTENCY], Continuation) if CONSISTENCY in files else None
        gossip = {
            name: heard
            for name, data in sorted(files.items())
            if name.startswith(GOSSIP) and (heard := self._read(name, data, Continuation)) is not None
        }
        self._find_forks()
        for name in (CONSISTENCY, CLOSE_PROOF, OPEN_PROOF):
            self.newest = self.newest or self._verified.get(name)
        for name, inclusion in entries.items():
            self._include(name, inclusion, files.get(_PROOFS[name]))
        if self.newest is not None:
            self._connect(onward, gossip, self.newest.checkpoint)

    def _read(self, name: str, data: bytes, kind: type[AnyProof]) -> AnyProof | None:
        """A proof whose checkpoint a log of the policy signed."""
        assert self._policy is not None
        try:
            proof = kind.read(data)
            self._verified[name] = self._policy.open(proof.checkpoint, self._origin)
        except BadProof as error:
            self.bad_proofs.append(f"{name}: {error}")
        except Unverified as error:
            self.unknown.append(f"{name}: {error}")
        except (BadNote, BadCheckpoint) as error:
            self.bad_checkpoints.append(f"{name}: {error}")
        else:
            return proof
        return None

    def _find_forks(self) -> None:
        roots: dict[tuple[str, int], tuple[str, bytes]] = {}
        for name, signed in self._verified.items():
            checkpoint = signed.checkpoint
            first, root = roots.setdefault((checkpoint.origin, checkpoint.size), (name, checkpoint.root))
            if root != checkpoint.root:
                self.forks.append(f"the log signed two roots for {checkpoint.size} entries: {first} and {name}")

    def _include(self, name: str, proof: Inclusion, data: bytes | None) -> None:
        checkpoint = self._verified[name].checkpoint
        try:
            proof.check(b"" if data is None else data, checkpoint)
            entry = read_entry(b"" if data is None else data)
        except (BadProof, BadEntry) as error:
            self.bad_proofs.append(f"{name}: {error if data is not None else 'the entry is missing'}")
            return
        if name == OPEN_PROOF and isinstance(entry, Opened):
            self.opened = Proved(entry, proof.index, checkpoint.size)
        elif name == CLOSE_PROOF and isinstance(entry, Closed):
            self.closed = Proved(entry, proof.index, checkpoint.size)
        else:
            self.bad_proofs.append(f"{name}: an entry of another sort")

    def _connect(self, onward: Continuation | None, gossip: Mapping[str, Continuation], newest: Checkpoint) -> None:
        for name in _PROOFS:
            signed = self._verified.get(name)
            if signed is None or (checkpoint := signed.checkpoint) == newest:
                continue
            if onward is None or onward.old != checkpoint.size:
                self.bad_proofs.append(f"{name}: no proof leads from its checkpoint to the newest of {newest.size}")
                continue
            try:
                onward.check(checkpoint.root, newest)
            except BadProof as error:
                self.bad_proofs.append(f"{name}: {error}")
        for name, proof in gossip.items():
            if self._verified[name].checkpoint != newest:
                self.bad_proofs.append(f"{name}: leads to another checkpoint than the newest")
            else:
                self._gossip[proof.old] = proof
