"""`annals monitor`: follow a log of games from outside, believing nothing that was not computed here.

It keeps the last checkpoint that it verified. A new one must be signed by a key it trusts; its root is computed anew
from every entry; its tree must begin with the one before. If the log signed two trees that cannot both be, what it
signed is printed: a proof of misbehaviour that any stranger can check.
"""

import time
from collections.abc import Callable, Iterable
from copy import deepcopy
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

import click
import httpx
import msgspec

from events.files import sync_folder, write_file
from events.notes import BadKey, BadNote, Unverified, Verifier
from events.tlog import merkle
from events.tlog.checkpoint import BadCheckpoint, Checkpoint, Signed, encode_hash, open_checkpoint
from events.tlog.entries import ADD, BadEntry, Closed, Key, Link, Opened, read_entry
from events.tlog.policy import NONE, BadPolicy, Policy
from events.tlog.proof import Continuation, Inclusion
from events.tlog.tiles import BadTile, Fetch, Missing, Tree

SOUND: Final = 0
PROVEN: Final = 2
"""The log signed what cannot be."""
LIMITS: Final = 3
"""Sound, but not as many witnesses as the policy asks for (with ``--strict``)."""
NOT_AS_SIGNED: Final = 4
"""What is served is not what was signed; that may be a broken disk, and proves nothing."""
CANNOT_SAY: Final = 5
"""The log does not answer, or nobody known signed it."""

_LIMIT: Final = 16_842_752
"""Most bytes of a file: a full bundle of the largest entries."""
_DAY_MS: Final = 86_400_000


class CannotRead(Exception):
    """The log does not answer, or with what it cannot have."""


class Misbehaviour(Exception):
    """The log signed what cannot be. ``evidence`` shows it to anybody."""

    def __init__(self, what: str, evidence: str) -> None:
        super().__init__(what)
        self.evidence = evidence


class Memory(msgspec.Struct, kw_only=True):
    """What the monitor keeps between two looks at one log."""

    note: str = ""
    """The last checkpoint that was verified, a signed note."""
    subtrees: list[bytes] = []
    """The complete subtrees of its tree, by which the next entries are added."""
    policy: str = ""
    """What the log said of its keys at the first look, where nobody gave a policy."""
    added: list[str] = []
    retired: list[str] = []
    """Keys that the log itself added and retired, under keys that were trusted."""
    open: dict[str, tuple[int, int]] = {}
    """Games that were opened and not closed: leaf and time (ms since 1970) by id."""
    closed: dict[str, tuple[int, int]] = {}
    """The leaves of beginning and end of every game that was closed."""
    statuses: dict[str, int] = {}
    """How many games ended so."""

    @classmethod
    def load(cls, path: Path) -> "Memory":
        """Read what was kept; of a file that is not there: nothing.

        :raises CannotRead: the file is not a monitor's memory.
        """
        try:
            return msgspec.json.decode(path.read_bytes(), type=cls)
        except FileNotFoundError:
            return cls()
        except (msgspec.DecodeError, OSError) as error:
            raise CannotRead(f"{path} is not a monitor's memory: {error}") from error

    def keep(self, path: Path) -> None:
        """Put it on disk, whole or not at all."""
        write_file(path, msgspec.json.encode(self))
        sync_folder(path.parent)


@dataclass(slots=True)
class Report:
    """What a look at the log showed, in lines, and the exit code that goes with it."""

    code: int
    lines: list[str] = field(default_factory=list)
    checkpoint: Checkpoint | None = None


# -- looking ---------------------------------------------------------------------------------------------------------


def look(fetch: Fetch, memory: Memory, policy: Policy | None, now_ms: int, patience_ms: int) -> Report:
    """Look at a log once. ``memory`` moves on if everything holds, and stays as it is if anything does not.

    ``policy``: whom to believe; without one, what the log claims at the first look. ``patience_ms``: how long a game
    may be open before it is listed.
    """
    lines: list[str] = []
    try:
        policy = policy or _claimed(fetch, memory, lines)
        signed = _verified(fetch("checkpoint"), policy, memory)
    except Unverified as error:
        return Report(CANNOT_SAY, [f"CANNOT SAY: the checkpoint is signed by no key that is trusted: {error}"])
    except (BadNote, BadCheckpoint, BadPolicy) as error:
        return Report(NOT_AS_SIGNED, [f"NOT AS SIGNED: {error}"])
    except (CannotRead, Missing) as error:
        return Report(CANNOT_SAY, [f"CANNOT SAY: {error}"])
    now = signed.checkpoint
    lines.append(f"{now.origin}: {now.size} entries, root {encode_hash(now.root)}")
    try:
        fresh = _followed(fetch, memory, signed, lines)
    except Misbehaviour as error:
        return Report(PROVEN, [*lines, f"PROOF OF MISBEHAVIOUR: {error}", error.evidence.rstrip("\n")], now)
    except (Missing, BadTile) as error:
        return Report(NOT_AS_SIGNED, [*lines, f"NOT AS SIGNED: {error!r}"], now)
    except CannotRead as error:
        return Report(CANNOT_SAY, [*lines, f"CANNOT SAY: {error}"], now)
    for name in Memory.__struct_fields__:
        setattr(memory, name, getattr(fresh, name))
    code = SOUND
    if policy.quorum != NONE:
        names = policy.witnessed(signed)
        if policy.met(signed):
            lines.append(f"witnessed by {', '.join(names)}")
        else:
            lines.append(f"LIMIT: not witnessed as the policy asks ({len(names)}): a split view is not excluded")
            code = LIMITS
    lines += _told(memory, now_ms, patience_ms)
    return Report(code, lines, now)


def _claimed(fetch: Fetch, memory: Memory, lines: list[str]) -> Policy:
    """The log's own word for its keys, as it was at the first look."""
    if not memory.policy:
        policy = Policy.parse(fetch("policy"))
        memory.policy = policy.text
        lines.append("keys taken from the log itself, and kept from now on: compare them with those of another source")
        lines += [f"  {log.vkey}" for log in policy.logs]
    return Policy.parse(memory.policy)


def _verified(note: bytes, policy: Policy, memory: Memory) -> Signed:
    """A checkpoint under the keys of the policy and those that the log added since, none that it retired."""
    followed = (*policy.logs, *(Verifier.parse(vkey) for vkey in memory.added))
    logs = [log for log in dict.fromkeys(followed) if log.vkey not in memory.retired]
    origin = Checkpoint.parse(_text(memory.note)).origin if memory.note else None
    return open_checkpoint(note, (*logs, *policy.witnesses.values()), origin)


def _followed(fetch: Fetch, memory: Memory, signed: Signed, lines: list[str]) -> Memory:
    """The memory after the new entries.

    :raises Misbehaviour: the log contradicts what it signed before, or itself.
    :raises Missing: a file of the tree is not served.
    :raises BadTile: a file is not what was signed.
    """
    now, tree = signed.checkpoint, Tree(signed.checkpoint.size, fetch)
    old = Checkpoint.parse(_text(memory.note)) if memory.note else None
    if old is not None and old.size >= now.size:
        if old.size == now.size and old.root != now.root:
            evidence = f"{memory.note}\n{signed.note.decode()}"
            raise Misbehaviour(f"two trees of {now.size} entries were signed", evidence)
        if old.size > now.size:
            _connect(Tree(old.size, fetch), signed.note, now, memory.note.encode(), old)
            lines.append(f"the log shows an older checkpoint than before ({now.size} entries, not {old.size})")
        return memory
    fresh = deepcopy(memory)
    growing = merkle.Growing(0 if old is None else old.size, memory.subtrees)
    wrong: tuple[str, list[int]] | None = None
    for number, data in tree.entries(growing.size):
        growing.add(merkle.leaf_hash(data))
        wrong = wrong or _enter(fresh, number, data)
    if growing.root() != now.root:
        if old is not None:
            _connect(tree, memory.note.encode(), old, signed.note, now)
        raise BadTile(f"the {now.size} entries have not the root that was signed")
    if tree.root() != now.root:
        raise BadTile("the tiles have not the root that was signed")
    if wrong is not None:
        raise Misbehaviour(wrong[0], _shown(tree, signed.note, wrong[1]))
    fresh.note, fresh.subtrees = signed.note.decode(), growing.subtrees
    return fresh


def _connect(larger: Tree, old_note: bytes, old: Checkpoint, new_note: bytes, new: Checkpoint) -> None:
    """Check from the tiles of the larger tree that it begins with the smaller one.

    :raises Misbehaviour: it does not.
    :raises BadTile: the tiles are not of the larger tree, so nothing is shown.
    """
    if larger.root() != new.root:
        raise BadTile(f"the tiles have not the root that was signed for {new.size} entries")
    begins = merkle.root(old.size, larger.node)
    if begins != old.root:
        way = Continuation(old.size, tuple(larger.consistency(old.size)), new_note)
        raise Misbehaviour(
            f"the tree of {new.size} entries does not begin with the one of {old.size}",
            f"{old_note.decode()}\nThe hashes lead to the root of the later checkpoint, and for {old.size} entries to "
            f"{encode_hash(begins)}:\n\n{way.write().decode()}",
        )


def _enter(memory: Memory, number: int, data: bytes) -> tuple[str, list[int]] | None:
    """Take an entry to account; what is wrong with it, and the entries that show it."""
    try:
        entry = read_entry(data)
    except BadEntry as error:
        return f"entry {number} is none: {error}", [number]
    match entry:
        case Opened():
            game = entry.game_id.hex()
            if (before := memory.open.get(game) or memory.closed.get(game)) is not None:
                return f"game {game} was opened twice", [before[0], number]
            memory.open[game] = (number, entry.t_ms)
        case Closed():
            game = entry.game_id.hex()
            if (closed := memory.closed.get(game)) is not None:
                return f"game {game} was closed twice", [closed[1], number]
            if (opened := memory.open.pop(game, None)) is None:
                return f"game {game} was closed and not opened", [number]
            memory.closed[game] = (opened[0], number)
            status = entry.status or "case"
            memory.statuses[status] = memory.statuses.get(status, 0) + 1
        case Key(change=change, vkey=vkey):
            (memory.added if change == ADD else memory.retired).append(vkey)
        case Link():
            if number:
                return f"entry {number} says that the log follows another, and is not its first", [number]
    return None


def _shown(tree: Tree, note: bytes, numbers: Iterable[int]) -> str:
    """Entries with the proofs that they are in the log."""
    proofs = (Inclusion(number, tuple(tree.inclusion(number)), note, tree.entry(number)) for number in numbers)
    return "\n".join(proof.write().decode() for proof in proofs)


def _told(memory: Memory, now_ms: int, patience_ms: int) -> list[str]:
    """How games ended, and those that did not."""
    counts = ", ".join(f"{count} {status}" for status, count in sorted(memory.statuses.items()))
    lines = [
        f"{len(memory.open) + len(memory.closed)} games opened, {len(memory.open)} still open; {counts or 'none ended'}"
    ]
    lines += [f"key {vkey} was added" for vkey in memory.added]
    lines += [f"key {vkey} was retired" for vkey in memory.retired]
    orphans = sorted((t_ms, game) for game, (_, t_ms) in memory.open.items() if now_ms - t_ms > patience_ms)
    for t_ms, game in orphans:
        lines.append(f"ORPHAN: game {game} was opened {(now_ms - t_ms) / _DAY_MS:.1f} days ago and never closed")
    return lines


def _text(note: str) -> str:
    return note.rpartition("\n\n")[0] + "\n"


# -- reading ---------------------------------------------------------------------------------------------------------


def reader(log: str, client: Callable[[], httpx.Client] | None = None) -> Fetch:
    """How the files of a log are read: from a folder, or from an address (of a service, or of its log)."""
    if "://" not in log:
        return _from_folder(Path(log))
    base = log.rstrip("/")
    if base.count("/") == 2:
        base += "/v1/log"
    http = (client or (lambda: httpx.Client(timeout=30.0, follow_redirects=False)))()
    return lambda path: _from_address(http, f"{base}/{path}")


def _from_folder(folder: Path) -> Fetch:
    def fetch(path: str) -> bytes:
        try:
            with (folder / path).open("rb") as file:
                return _within(file.read(_LIMIT + 1), path)
        except (FileNotFoundError, NotADirectoryError):
            raise Missing(path) from None
        except OSError as error:
            raise CannotRead(str(error)) from error

    return fetch


def _from_address(http: httpx.Client, address: str) -> bytes:
    try:
        with http.stream("GET", address) as answer:
            if answer.status_code == 404:
                raise Missing(address)
            if answer.status_code != 200:
                raise CannotRead(f"{address} answers with {answer.status_code}")
            data = b""
            for chunk in answer.iter_bytes():
                data = _within(data + chunk, address)
            return data
    except httpx.HTTPError as error:
        raise CannotRead(f"{address}: {error or type(error).__name__}") from error


def _within(data: bytes, name: str) -> bytes:
    if len(data) > _LIMIT:
        raise CannotRead(f"{name} has more than {_LIMIT} bytes")
    return data


# -- the command -----------------------------------------------------------------------------------------------------


def run_monitor(
    log: str,
    policy: Path | None,
    key: str | None,
    memory: Path,
    days: float,
    follow: float | None,
    strict: bool,
    client: Callable[[], httpx.Client] | None = None,
) -> int:
    """Look at a log, once or every ``follow`` seconds until it misbehaves, and print what is found: the exit code.

    :raises click.UsageError: policy and key cannot be used.
    """
    trusted = _trusted(policy, key)
    fetch = reader(log, client)
    before: Any = None
    while True:
        try:
            kept = Memory.load(memory)
        except CannotRead as error:
            click.echo(f"CANNOT SAY: {error}", err=True)
            return CANNOT_SAY
        report = look(fetch, kept, trusted, time.time_ns() // 1_000_000, int(days * _DAY_MS))
        if report.code in (SOUND, LIMITS):
            kept.keep(memory)
        if (report.code, report.lines) != before:
            click.echo("\n".join(report.lines))
            before = (report.code, report.lines)
        if follow is None or report.code == PROVEN:
            return SOUND if report.code == LIMITS and not strict else report.code
        time.sleep(follow)


def _trusted(path: Path | None, key: str | None) -> Policy | None:
    if path is not None and key is not None:
        raise click.UsageError("a policy names the key already")
    try:
        if path is not None:
            return Policy.parse(path.read_bytes())
        return None if key is None else Policy((Verifier.parse(key),))
    except (BadPolicy, BadKey) as error:
        raise click.UsageError(f"this is not to be trusted: {error}") from error
