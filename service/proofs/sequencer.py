"""The sequencer: the one writer of the log of games (docs/event-format.md, 'The log of games').

A round collects entries, writes tiles and bundles (each in a new file, put on disk and then renamed), reads them back,
computes the root a second time and compares, checks that the new tree begins with the one signed last, signs, puts the
signed checkpoint on disk, tells the database, and only then publishes it. Between any two of these steps the process
may die: what was not signed is written again, what was signed is published. A log dies of one checkpoint that does not
continue the last, so whatever does not fit makes the sequencer refuse, and never go on from less.
"""

import fcntl
import os
import shutil
import threading
from collections.abc import Callable, Iterator, Sequence
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Protocol

import redis
import structlog

from events.event import Event, Malformed, genesis
from events.files import make_folder, sync_folder, write_file
from events.hashing import u32
from events.log import SHARDS, EventLog, Unavailable
from events.notes import BadNote, Signer, Verifier, open_note
from events.redis_client import Command, Wire
from events.redis_log import Keys, feed_key
from events.tlog import merkle
from events.tlog.checkpoint import BadCheckpoint, Checkpoint
from events.tlog.entries import ADD, BadEntry, Closed, Key, Link, Opened, read_entry
from events.tlog.policy import Policy
from events.tlog.tiles import WIDTH, BadTile, Missing, Tile, Tree, bundles_of, pack, tiles_of, unpack
from service.proofs import log_folder
from service.proofs.log_folder import Kind, LogFolder, checkpoint_of
from service.running.observe import LOG_FAILURES, LOG_STUCK

if TYPE_CHECKING:
    from service.bootstrap import Deps

GROUP: Final = "sequencer"
REMEMBERED: Final = "{log}:signed"
"""The last signed checkpoint, kept with the database too: a folder that was restored from a backup is behind it."""
BATCH: Final = 4_096
"""Most entries of a round."""
PAUSE_S: Final = 1.0
"""Between two rounds: witnesses must be able to follow (and checkpoints stay few)."""
REFUSED_S: Final = 60.0
_LINES: Final = 256
_SCAN: Final = 500

# KEYS remembered; ARGV note, the one before. A database that lost the key is told anew.
_REMEMBER: Final = """
local known = redis.call('GET', KEYS[1])
if known and known ~= ARGV[2] and known ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1])
return 1
"""

_log = structlog.get_logger()


class Busy(Exception):
    """Another process writes this log."""


class Refused(Exception):
    """The sequencer does not sign, and why: its folder, keys or database are not those of the last checkpoint."""


class Source(Protocol):
    """Where games come from. Each verb may raise `events.log.Unavailable`."""

    def begin(self) -> None:
        """Offer every game once, and from then on those that are written to."""

    def changed(self) -> Sequence[bytes]:
        """Ids of games to look at: the same again until `done`, and more."""

    def ends(self, game_ids: Sequence[bytes], first: bool) -> list[Event | None]:
        """The first or the last event of each; None where it cannot be read."""

    def done(self) -> None:
        """All that `changed` offered is in the log, as far as it belongs there."""

    def remembered(self) -> bytes | None:
        """The signed checkpoint that the database was told last."""

    def remember(self, note: bytes, before: bytes | None) -> bool:
        """Tell the database; False, and nothing is changed, if it remembers another than ``before``."""


def _stuck(reason: str) -> float:
    """Nothing is signed, and it will not be different in a second: how long until the next try, in seconds."""
    LOG_FAILURES.labels(reason).inc()
    LOG_STUCK.set(1)
    return REFUSED_S


def _pass(step: str) -> None:
    """What happens at a boundary between two steps: nothing, but in tests."""


class Sequencer:
    """The writer of the log in one folder. ``signers``: keys whose name is the log's origin, the current one first."""

    def __init__(
        self,
        folder: Path,
        source: Source,
        signers: Callable[[], Sequence[Signer]],
        receipts: Verifier | None = None,
        at: Callable[[str], None] = _pass,
    ) -> None:
        self.folder = LogFolder(folder)
        self._source, self._signers, self._receipts, self._at = source, signers, receipts, at
        self._keys: Sequence[Signer] = ()
        self._lock: int | None = None
        self._tree: merkle.Growing | None = None
        self._added: set[str] = set()
        self._retired: set[str] = set()
        self._again: dict[bytes, None] = {}
        self._remembered: bytes | None = None

    # -- its life ----------------------------------------------------------------------------------------------------

    def run(self, stopping: threading.Event) -> None:
        """Work until told to stop: a round a second, through every failure of the database, and one in the end."""
        waiting, over = 0.0, False
        while not over:
            over = stopping.wait(waiting)
            waiting = PAUSE_S
            try:
                self.step()
                LOG_STUCK.set(0)
            except Busy:  # looked after by somebody else, until they die
                LOG_STUCK.set(0)
            except (Unavailable, redis.ResponseError) as error:
                LOG_FAILURES.labels("database").inc()
                _log.warning("log-waits-for-the-database", error=str(error))
            except Refused as error:
                waiting = _stuck("refused")
                _log.error("log-refuses-to-sign", error=str(error), folder=str(self.folder.path))
            except OSError as error:
                waiting = _stuck("unwritable")
                _log.error("log-cannot-be-written", error=str(error), folder=str(self.folder.path))
            except Exception:  # noqa: BLE001 # the log must not end for good by what nobody foresaw
                waiting = _stuck("failed")
                _log.exception("log-round-failed")
        self.close()

    def close(self) -> None:
        """Give the folder free."""
        self._tree = None
        if self._lock is not None:
            os.close(self._lock)
            self._lock = None

    def step(self) -> int:
        """One round: how many entries were added.

        :raises Busy: another process writes this log.
        :raises Refused: it would sign what does not continue the last checkpoint.
        :raises events.log.Unavailable: the database does not answer; nothing is lost.
        """
        tree = self._begin() if self._tree is None else self._tree
        entries = self._collect(tree)
        if entries:
            self._tree = None  # until the round is over: whatever goes wrong, the next one begins with what is on disk
            self._tree = self._append(tree, entries)
        self._source.done()
        self._at("done")
        return len(entries)

    # -- beginning ---------------------------------------------------------------------------------------------------

    def _begin(self) -> merkle.Growing:
        """Take the folder, and recompute the tree that was signed last from what lies in it."""
        self._take_lock()
        if self._has(log_folder.RESTORED):
            raise Refused(
                "the folder came out of a backup, and more may have been signed since. Go on with a new origin: annals "
                f"log restart. If nothing was: remove the file {log_folder.RESTORED} in it"
            )
        self._keys = self._signers()
        if not self._keys:
            raise Refused("there is no log key")
        last = self._last_signed()
        self._remembered = self._source.remembered()  # asked first: without the database the rest is of no use
        if last is None:
            tree = merkle.Growing()
            self._added, self._retired = set(), set()
            self._check_remembered(Checkpoint(self._origin, 0, tree.root()))
            self._write_index({})
            self._finish(tree, self._in_force())
        else:
            note, signed = last
            tree = self._recompute(signed)
            self._check_remembered(signed)
            self._clear_unsigned(signed.size)
            self._remember(note)
            self._publish(note)
        self._again.clear()
        self._source.begin()
        self._tree = tree
        return tree

    def _take_lock(self) -> None:
        if self._lock is not None:
            return
        self._lock = take_lock(self.folder.path)

    def _last_signed(self) -> tuple[bytes, Checkpoint] | None:
        """The last checkpoint that was signed; what somebody who died wrote of another is cut off.

        :raises Refused: it is not of our keys, or the published one is newer.
        """
        self.folder.journal = journal = log_folder.Journal(self.folder.path / log_folder.SIGNED)
        journal.catch_up()
        try:
            published = checkpoint_of(self.folder.note()) if self._has(log_folder.CHECKPOINT) else None
        except (BadNote, BadCheckpoint) as error:
            raise Refused(f"the checkpoint in the folder cannot be read: {error}") from error
        if not journal.sizes:
            if published is not None:
                raise Refused("a checkpoint was published, and the journal of those signed is gone")
            return None
        if journal.path.stat().st_size > journal.end:
            with journal.path.open("r+b") as file:
                file.truncate(journal.end)
                os.fsync(file.fileno())
        note = journal.note(-1)
        try:
            signed = Checkpoint.parse(open_note(note, [signer.verifier for signer in self._keys]).text)
        except BadNote as error:
            raise Refused(f"the last checkpoint was signed by another key: {error}") from error
        if signed.origin != self._origin:
            raise Refused(f"the folder holds the log {signed.origin}, the key is of {self._origin}")
        if published is not None and published.size > signed.size:
            raise Refused(f"{published.size} leaves were published, {signed.size} are in the journal of those signed")
        return note, signed

    def _recompute(self, signed: Checkpoint) -> merkle.Growing:
        """The tree of a checkpoint, from its entries: each against its leaf, each tile against the one below.

        :raises Refused: the files are not that tree.
        """
        stored, tree = self.folder.tree(signed.size), merkle.Growing()
        self._added, self._retired = set(), set()
        index: dict[str, bytearray] = {}
        try:
            for number, data in stored.entries(0):
                tree.add(merkle.leaf_hash(data))
                self._note(data, number, index)
            _check_levels(stored)
            roots = (tree.root(), stored.root())
        except (Missing, BadTile, BadEntry) as error:
            raise Refused(f"the folder does not hold the tree that was signed last: {error!r}") from error
        if roots != (signed.root, signed.root):
            raise Refused(f"the {signed.size} entries in the folder have not the root that was signed last")
        self._write_index(index)
        return tree

    def _check_remembered(self, signed: Checkpoint) -> None:
        """
        :raises Refused: the database knows of a checkpoint that this folder does not hold.
        """
        if self._remembered is None:
            return
        try:
            known = checkpoint_of(self._remembered)
        except (BadNote, BadCheckpoint) as error:
            raise Refused(f"the checkpoint that the database remembers cannot be read: {error}") from error
        if known.origin != self._origin:
            return  # of a log before this one
        tree = self.folder.tree(signed.size)
        if known.size > signed.size or merkle.root(known.size, tree.node) != known.root:
            raise Refused(
                f"a checkpoint of {known.size} leaves was signed that the folder does not hold ({signed.size} leaves): "
                "it was restored from a backup, or is another one. Go on with a new origin: annals log restart"
            )

    def _remember(self, note: bytes) -> None:
        """
        :raises Refused: somebody else signs this log, in another folder.
        """
        if not self._source.remember(note, self._remembered):
            raise Refused("another process signs this log, in a folder of its own: one of the two must end for good")
        self._remembered = note

    # -- a round -----------------------------------------------------------------------------------------------------

    def _collect(self, tree: merkle.Growing) -> list[bytes]:
        """Entries to be added, none of which the log has."""
        entries = self._wished(tree.size)
        ids = list(dict.fromkeys([*self._again, *self._source.changed()]))
        again: dict[bytes, None] = {}
        opening = [game_id for game_id in ids if self.folder.find("open", game_id) is None]
        opened: set[bytes] = set()
        for first in self._events(opening, first=True):
            try:
                entries.append(Opened.of(first).write())
            except BadEntry as error:
                _log.error("game-not-logged", game_id=first.game_id.hex(), error=str(error))
                continue
            opened.add(first.game_id)
        closing = [game_id for game_id in ids if self.folder.find("close", game_id) is None]
        missing = set(opening) - opened
        for last in self._events(closing, first=False):
            if last.kind != "close" or last.game_id in missing:
                continue
            if last.game_id in opened:  # a checkpoint comes between the two, so that `open` was public before
                again[last.game_id] = None
            else:
                entries.append(Closed.of(last).write())
        self._again = again
        self._at("collected")
        return entries

    def _events(self, game_ids: Sequence[bytes], first: bool) -> Iterator[Event]:
        for start in range(0, len(game_ids), _SCAN):
            for event in self._source.ends(game_ids[start : start + _SCAN], first):
                if event is not None:
                    yield event

    def _wished(self, size: int) -> list[bytes]:
        """Entries of keys, and of a log before this one, that commands left in the folder."""
        wished: list[bytes] = []
        for path in self._pending():
            data = path.read_bytes()
            try:
                entry = read_entry(data)
            except BadEntry as error:
                raise Refused(f"{path} holds no entry: {error}") from error
            known = self._added if isinstance(entry, Key) and entry.change == ADD else self._retired
            if isinstance(entry, Key) and entry.vkey not in known:
                wished.append(data)
            elif isinstance(entry, Link) and size == 0:
                wished.insert(0, data)
            else:
                path.unlink()  # somebody died after it was added
        return wished

    def _append(self, tree: merkle.Growing, entries: Sequence[bytes]) -> merkle.Growing:
        """Add entries, sign and publish.

        :raises Refused: what is on disk is not what was to be written.
        """
        before = Checkpoint(self._origin, tree.size, tree.root())
        grown = merkle.Growing(tree.size, tree.subtrees)
        for entry in entries:
            grown.add(merkle.leaf_hash(entry))
        self._write_tiles(tree.size, entries)
        self._check_written(before, grown, entries)
        self._at("compared")
        signers = self._in_force()
        index: dict[str, bytearray] = {}
        for number, entry in enumerate(entries, before.size):
            self._note(entry, number, index)
        if any(isinstance(read_entry(entry), Key) for entry in entries):
            self._keys = self._signers()
        signers += [signer for signer in self._in_force() if signer not in signers]
        self._finish(grown, signers)
        for name, records in index.items():
            with (self.folder.path / log_folder.INDEX / name).open("ab") as file:
                file.write(records)
            self._at(f"indexed {name}")
        for path in self._pending():
            if path.read_bytes() in entries:
                path.unlink()
        self._clear_partial(before.size, grown.size)
        self._at("cleared")
        return grown

    def _write_tiles(self, old: int, entries: Sequence[bytes]) -> None:
        """Every tile and bundle that ``entries`` change, in new files; the ones that were signed stay as they are."""
        size, folders = old + len(entries), set[Path]()
        for bundle in bundles_of(old, size):
            start = bundle.index * WIDTH
            kept = unpack(self._before(Tile(None, bundle.index, old - start)))[: old - start] if old > start else []
            added = entries[max(0, start - old) : start + bundle.width - old]
            self._write(bundle, pack([*kept, *added]), folders)
        level, hashes = 0, [merkle.leaf_hash(entry) for entry in entries]
        while hashes:
            count, full = old >> 8 * level, list[bytes]()
            for index in range(count // WIDTH, -(-(count + len(hashes)) // WIDTH)):
                start = index * WIDTH
                tile = Tile(level, index, min(WIDTH, count + len(hashes) - start))
                kept_hashes = self.folder.tree(old).tile(level, index) if count > start else b""
                data = kept_hashes + b"".join(hashes[max(0, start - count) : start + tile.width - count])
                self._write(tile, data, folders)
                if tile.width == WIDTH:
                    full.append(merkle.complete(data))
            level, hashes = level + 1, full
        for path in folders:
            sync_folder(path)
        self._at("tiles on disk")

    def _before(self, bundle: Tile) -> bytes:
        try:
            return self.folder.read(bundle.path)
        except Missing:
            return self.folder.read(bundle.whole.path)

    def _write(self, tile: Tile, data: bytes, folders: set[Path]) -> None:
        path = self.folder.path / tile.path
        make_folder(path.parent)
        write_file(path, data)
        folders.add(path.parent)
        self._at(f"wrote {tile.path}")

    def _check_written(self, before: Checkpoint, grown: merkle.Growing, entries: Sequence[bytes]) -> None:
        """Read the files back, and compute the root and the way from the last checkpoint from them alone.

        :raises Refused: they are not what was to be written.
        """
        stored = self.folder.tree(grown.size)
        try:
            read = [entry for _, entry in stored.entries(before.size)]
            merkle.check_consistency(
                before.size, grown.size, stored.consistency(before.size), before.root, stored.root()
            )
            kept = merkle.root(before.size, stored.node)
        except (Missing, BadTile, merkle.BadProof) as error:
            raise Refused(f"what was written is not what is read: {error}") from error
        if read != list(entries) or stored.root() != grown.root() or kept != before.root:
            raise Refused("what was written is not what is read")

    def _finish(self, tree: merkle.Growing, signers: Sequence[Signer]) -> None:
        """Sign a tree, keep the checkpoint, tell the database, publish."""
        if not signers:
            raise Refused("every key at hand is retired")
        note = Checkpoint(self._origin, tree.size, tree.root()).sign(*signers)
        path = self.folder.path / log_folder.SIGNED
        with path.open("ab") as file:
            file.write(u32(len(note)) + note)
            file.flush()
            os.fsync(file.fileno())
        sync_folder(path.parent)
        self._at("signed")
        self._remember(note)
        self._at("remembered")
        self._publish(note)

    def _publish(self, note: bytes) -> None:
        """Let everybody see a checkpoint, and who signs this log."""
        self._replace(log_folder.CHECKPOINT, note)
        self._at("published")
        self._replace(log_folder.POLICY, self._claim().encode())
        make_folder(self.folder.path / log_folder.INDEX)

    def _claim(self) -> str:
        """The policy: keys in force, and those that were, without which checkpoints of their time say nothing."""
        retired = tuple(Verifier.parse(vkey) for vkey in sorted(self._retired))
        logs = (*(signer.verifier for signer in self._in_force()), *retired)
        return Policy(tuple(dict.fromkeys(logs)), receipts=self._receipts).text

    def _replace(self, name: str, data: bytes) -> None:
        if not self._has(name) or self.folder.read(name) != data:
            write_file(self.folder.path / name, data)
            sync_folder(self.folder.path)

    def _clear_unsigned(self, size: int) -> None:
        """Remove tiles that somebody wrote who died before signing: other entries may take those places."""
        level, count = 0, size
        while True:
            for kind in (level, None) if level == 0 else (level,):
                index, width = divmod(count, WIDTH)
                while self._clear_beyond(self.folder.path / Tile(kind, index).path, width):
                    index, width = index + 1, 0
            if count == 0:
                return
            level, count = level + 1, count >> 8

    def _clear_beyond(self, path: Path, width: int) -> bool:
        """Remove a full tile, and partial ones of more than ``width``; was there anything of it?"""
        partial = path.with_name(f"{path.name}.p")
        if not (found := partial.is_dir()) and not path.exists():
            return False
        path.unlink(missing_ok=True)
        for one in list(partial.iterdir()) if found else ():
            if not one.name.isdigit() or int(one.name) > width:
                one.unlink()
        if found and not width:
            partial.rmdir()
        return True

    def _clear_partial(self, old: int, size: int) -> None:
        """Remove the partial tiles and bundles whose full ones are published."""
        level = 0
        while (count := size >> 8 * level) >= WIDTH:
            for index in range((old >> 8 * level) // WIDTH, count // WIDTH):
                kinds = (Tile(level, index), *((Tile(None, index),) if level == 0 else ()))
                for tile in kinds:
                    shutil.rmtree(self.folder.path / f"{tile.path}.p", ignore_errors=True)
            level += 1

    # -- what it knows -----------------------------------------------------------------------------------------------

    @property
    def _origin(self) -> str:
        return self._keys[0].name

    def _in_force(self) -> list[Signer]:
        """The keys that sign: the first, and those the log says were added, none that it says was retired."""
        return [
            signer
            for signer in self._keys
            if signer.vkey not in self._retired and (signer is self._keys[0] or signer.vkey in self._added)
        ]

    def _note(self, data: bytes, number: int, index: dict[str, bytearray]) -> None:
        """Take an entry of the log to account."""
        match read_entry(data):
            case Opened(game_id=game_id):
                self._enter(index, "open", game_id, number)
            case Closed(game_id=game_id):
                self._enter(index, "close", game_id, number)
            case Key(change=change, vkey=vkey):
                (self._added if change == ADD else self._retired).add(vkey)

    def _enter(self, index: dict[str, bytearray], kind: Kind, game_id: bytes, number: int) -> None:
        index.setdefault(game_id[:1].hex(), bytearray()).extend(log_folder.record(kind, game_id, number))

    def _write_index(self, index: dict[str, bytearray]) -> None:
        folder = self.folder.path / log_folder.INDEX
        make_folder(folder)
        for path in folder.iterdir():
            if path.name not in index:
                path.unlink()
        for name, records in index.items():
            write_file(folder / name, bytes(records), sync=False)  # what can be made anew need not outlive a power cut

    def _pending(self) -> list[Path]:
        folder = self.folder.path / log_folder.PENDING
        return sorted(path for path in folder.iterdir() if path.suffix == ".entry") if folder.is_dir() else []

    def _has(self, name: str) -> bool:
        return (self.folder.path / name).exists()


# -- games in the database -------------------------------------------------------------------------------------------


class FeedSource:
    """Games from the feeds of the database, which the group `sequencer` reads."""

    def __init__(self, client: redis.Redis, log: EventLog) -> None:
        """``log``: every game, whatever the feeds and streams still hold."""
        self._wire, self._log = Wire(client), log
        self._all: Iterator[bytes] = iter(())
        self._lines: dict[bytes, list[bytes]] = {}
        self._ids: dict[bytes, None] = {}

    def begin(self) -> None:
        """See `Source.begin`."""
        for shard in SHARDS:
            try:
                self._wire.call(("XGROUP", "CREATE", feed_key(shard), GROUP, "$", "MKSTREAM"))
            except redis.ResponseError as error:
                if "BUSYGROUP" not in str(error):
                    raise
        self._lines.clear()
        self._ids.clear()
        while self._read("0"):  # what was read before somebody died
            self.done()  # their games are among all games
        self._all = iter(self._log.games())

    def changed(self) -> Sequence[bytes]:
        """See `Source.changed`."""
        if len(self._ids) < BATCH // 2:
            try:
                for game_id in islice(self._all, _SCAN):
                    self._ids[game_id] = None
            except Unavailable:
                self._all = iter(self._log.games())  # what was under way has ended, and would offer no more
                raise
            self._read(">")
        return list(self._ids)

    def ends(self, game_ids: Sequence[bytes], first: bool) -> list[Event | None]:
        """See `Source.ends`."""
        if not game_ids:
            return []
        verb, *bounds = ("XRANGE", "-", "+") if first else ("XREVRANGE", "+", "-")
        commands: list[Command] = [(verb, Keys.of(one).stream, *bounds, "COUNT", 1) for one in game_ids]
        replies = self._wire.call(*commands)
        return [
            _event(game_id, reply) if reply else self._archived(game_id, first)
            for game_id, reply in zip(game_ids, replies, strict=True)
        ]

    def _archived(self, game_id: bytes, first: bool) -> Event | None:
        """The end of a game that has no stream: a log that is begun anew holds the archived ones too."""
        version = self._log.head(game_id).version  # 0: a feed line is no proof
        items = self._log.read(game_id, 0 if first else version - 1, 1).items if version else ()
        return items[0] if items and isinstance(items[0], Event) else None

    def done(self) -> None:
        """See `Source.done`."""
        if self._lines:
            acknowledged: list[Command] = [("XACK", key, GROUP, *entries) for key, entries in self._lines.items()]
            self._wire.call(*acknowledged)
        self._lines.clear()
        self._ids.clear()

    def remembered(self) -> bytes | None:
        """See `Source.remembered`."""
        (note,) = self._wire.call(("GET", REMEMBERED))
        return note if note is None else bytes(note)

    def remember(self, note: bytes, before: bytes | None) -> bool:
        """See `Source.remember`."""
        (told,) = self._wire.call(("EVAL", _REMEMBER, 1, REMEMBERED, note, before or b""))
        return bool(told)

    def _read(self, after: str) -> int:
        keys = [feed_key(shard) for shard in SHARDS]
        command: Command = (
            "XREADGROUP",
            "GROUP",
            GROUP,
            GROUP,
            "COUNT",
            _LINES,
            "STREAMS",
            *keys,
            *(after for _ in keys),
        )
        (reply,) = self._wire.call(command)
        count = 0
        for key, entries in reply or ():
            for entry, fields in entries:
                count += 1
                self._lines.setdefault(key, []).append(entry)
                values: dict[bytes, Any] = dict(zip(fields[::2], fields[1::2], strict=False)) if fields else {}
                if len(game_id := values.get(b"g", b"")) == 16:
                    self._ids[game_id] = None
        return count


def _event(game_id: bytes, reply: Any) -> Event | None:
    """An event as it lies in its stream; None, and a line in our log, where it is none of this game."""
    place, fields = reply[0]
    try:
        event = Event.read(fields[1])
    except (Malformed, IndexError) as error:
        _log.error("event-not-logged", game_id=game_id.hex(), place=place.decode(), error=str(error))
        return None
    sound = event.game_id == game_id and place == b"%d-0" % event.seq
    if not sound or (event.seq == 1 and event.prev != genesis(game_id)):
        _log.error("event-not-logged", game_id=game_id.hex(), place=place.decode(), error="not an event of this game")
        return None
    return event


def take_lock(folder: Path) -> int:
    """Become the one writer of a log: an open file, which is to be closed in the end.

    :raises Busy: another process is.
    """
    folder.mkdir(parents=True, exist_ok=True)
    handle = os.open(folder / log_folder.LOCK, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError as error:
        os.close(handle)
        raise Busy(str(folder)) from error
    return handle


def _check_levels(stored: Tree) -> None:
    """
    :raises BadTile: a tile is not made of the full tiles below it.
    """
    for tile in tiles_of(stored.size):
        if tile.level:
            below = range(tile.index * WIDTH, tile.index * WIDTH + tile.width)
            made = b"".join(merkle.complete(stored.tile(tile.level - 1, index)) for index in below)
            if stored.tile(tile.level, tile.index) != made:
                raise BadTile(f"{tile.path} is not made of the tiles below it")


def sequencer_of(deps: "Deps") -> Sequencer | None:
    """The sequencer of a process, if it is to have one: it has the log's key, and a folder that is kept."""
    from service.proofs.log_keys import log_signers

    if deps.signing.log is None or not (deps.signing.kept or deps.config.log_dir):
        return None
    source = FeedSource(deps.redis, deps.log)
    return Sequencer(
        deps.config.log_path, source, lambda: log_signers(deps.config, deps.signing), deps.signing.receipts.verifier
    )
