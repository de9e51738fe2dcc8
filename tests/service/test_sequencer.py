"""The one writer of the log of games: what it writes, what it survives, and what it never signs."""

import os
import shutil
import signal
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from prometheus_client import REGISTRY

from events.event import Event, genesis
from events.log import Unavailable
from events.notes import Signer, Verifier, open_note
from events.tlog import merkle
from events.tlog.checkpoint import Checkpoint, open_checkpoint
from events.tlog.entries import ADD, RETIRE, Closed, Key, Link, Opened, read_entry
from events.tlog.policy import Policy
from events.tlog.tiles import Missing, Tile, pack
from service.config import Config
from service.proofs import log_folder
from service.proofs.log_folder import LogFolder, checkpoint_of
from service.proofs.log_keys import CannotChange, log_signers, restart, retire, rotate
from service.proofs.sequencer import Busy, FeedSource, Refused, Sequencer
from service.proofs.signing_keys import SigningKeys

KEY = Signer.of("play.example/gamelog", b"\x01" * 32)


def event(game: int, seq: int, kind: str) -> Event:
    game_id = bytes((game % 3,)) + game.to_bytes(15, "big")
    return Event.write(game_id, seq, genesis(game_id), 1_800_000_000_000 + game, kind, None, {"status": "finished"})


class Games:
    """Games that a test opens and closes, offered as the database would."""

    def __init__(self) -> None:
        self.first: dict[bytes, Event] = {}
        self.last: dict[bytes, Event] = {}
        self.offered: dict[bytes, None] = {}
        self.fresh: list[bytes] = []
        self.note: bytes | None = None
        self.down = False

    def opens(self, *games: int) -> "Games":
        for game in games:
            made = event(game, 1, "create")
            self.first[made.game_id] = self.last[made.game_id] = made
            self.fresh.append(made.game_id)
        return self

    def closes(self, *games: int) -> "Games":
        for game in games:
            made = event(game, 9, "close")
            self.last[made.game_id] = made
            self.fresh.append(made.game_id)
        return self

    def begin(self) -> None:
        self._check()
        self.offered = dict.fromkeys(self.first)
        self.fresh.clear()

    def changed(self) -> Sequence[bytes]:
        self._check()
        self.offered |= dict.fromkeys(self.fresh)
        self.fresh.clear()
        return list(self.offered)

    def ends(self, game_ids: Sequence[bytes], first: bool) -> list[Event | None]:
        self._check()
        return [(self.first if first else self.last).get(game_id) for game_id in game_ids]

    def done(self) -> None:
        self._check()
        self.offered.clear()

    def remembered(self) -> bytes | None:
        self._check()
        return self.note

    def remember(self, note: bytes, before: bytes | None) -> bool:
        self._check()
        if self.note not in (None, before, note):
            return False
        self.note = note
        return True

    def _check(self) -> None:
        if self.down:
            raise Unavailable("down")


class Died(BaseException):
    """As good as kill -9: nothing above expects it."""


class Works:
    """A folder, its games, and sequencers that come and go."""

    def __init__(self, folder: Path) -> None:
        self.path, self.games = folder, Games()
        self.keys: list[Signer] = [KEY]
        self.alive: list[Sequencer] = []
        self.folder = LogFolder(folder)

    def sequencer(self, at: Callable[[str], None] = lambda step: None) -> Sequencer:
        for old in self.alive:
            old.close()
        self.alive = [Sequencer(self.path, self.games, lambda: self.keys, at=at)]
        return self.alive[0]

    def entries(self) -> list[Any]:
        """What is published, read as a stranger would: the signature, the root from the tiles, every entry."""
        signed = open_checkpoint(self.folder.note(), [key.verifier for key in self.keys], KEY.name).checkpoint
        tree = self.folder.tree(signed.size)
        assert tree.root() == signed.root
        found = [read_entry(data) for _, data in tree.entries(0)]
        growing = merkle.Growing()
        for data in found:
            growing.add(merkle.leaf_hash(data.write()))
        assert growing.root() == signed.root
        return found

    def logged(self) -> list[tuple[str, int]]:
        return [
            ("open" if isinstance(entry, Opened) else "close", int.from_bytes(entry.game_id[1:], "big"))
            for entry in self.entries()
        ]

    def check_files(self) -> None:
        """Every tile and bundle that lies there, of whatever width, is the beginning of what the tree has."""
        size = checkpoint_of(self.folder.note()).size
        tree = self.folder.tree(size)
        for path in (self.path / "tile").rglob("*"):
            if path.is_file() and path.suffix != ".new":
                tile = Tile.parse(str(path.relative_to(self.path)))
                assert tile.within(size), path
                if tile.level is None:
                    start = tile.index * 256
                    assert path.read_bytes() == pack([data for _, data in tree.entries(start, start + tile.width)])
                else:
                    assert path.read_bytes() == tree.tile(tile.level, tile.index)[: 32 * tile.width]

    def check_history(self) -> None:
        """Every checkpoint that was ever signed continues the one before."""
        journal = log_folder.Journal(self.path / log_folder.SIGNED)
        journal.catch_up()
        assert journal.end == journal.path.stat().st_size
        checkpoints = [checkpoint_of(journal.note(number)) for number in range(len(journal.sizes))]
        last = checkpoints[-1]
        tree = self.folder.tree(last.size)
        for one in checkpoints:
            merkle.check_consistency(one.size, last.size, tree.consistency(one.size), one.root, last.root)


@pytest.fixture
def works(tmp_path: Path) -> Iterator[Works]:
    made = Works(tmp_path / "log")
    yield made
    for sequencer in made.alive:
        sequencer.close()


def until_quiet(sequencer: Sequencer) -> int:
    """Rounds until nothing is left to add."""
    total = 0
    while added := sequencer.step():
        total += added
    return total


# -- what it writes --------------------------------------------------------------------------------------------------


def test_a_log_begins_empty_and_signed(works: Works) -> None:
    assert works.sequencer().step() == 0
    assert open_note(works.folder.note(), [KEY.verifier]).text == (
        "play.example/gamelog\n0\n47DEQpj8HBSa+/TImW+5JCeuQeRkm5NMpJWZG3hSuFU=\n"
    )
    assert works.logged() == []


def test_games_are_entered_once_as_they_open_and_close(works: Works) -> None:
    sequencer = works.sequencer()
    works.games.opens(1, 2)
    assert sequencer.step() == 2
    assert sequencer.step() == 0
    works.games.closes(1).opens(3)
    assert sequencer.step() == 2
    works.games.fresh += works.games.first  # the database may offer a game for any reason, any number of times
    assert sequencer.step() == 0
    assert works.logged() == [("open", 1), ("open", 2), ("open", 3), ("close", 1)]
    entries = works.entries()
    assert entries[0] == Opened.of(event(1, 1, "create"))
    assert entries[3] == Closed.of(event(1, 9, "close"))
    works.check_history()


def test_a_checkpoint_comes_between_the_opening_and_the_closing_of_a_game(works: Works) -> None:
    works.games.opens(1, 2).closes(1)
    sequencer = works.sequencer()
    assert sequencer.step() == 2
    assert sequencer.step() == 1
    opened, closed = (works.folder.proof(kind, event(1, 1, "create").game_id) for kind in ("open", "close"))
    assert opened is not None
    assert closed is not None
    assert checkpoint_of(opened.checkpoint).size <= closed.index


def test_nothing_is_written_while_nothing_happens(works: Works) -> None:
    sequencer = works.sequencer()
    works.games.opens(1)
    sequencer.step()
    before = {path: path.stat().st_mtime_ns for path in works.path.rglob("*")}
    sequencer.step()
    assert {path: path.stat().st_mtime_ns for path in works.path.rglob("*")} == before


@pytest.mark.parametrize("sizes", [(1, 255, 1), (256, 256), (300, 300, 300), (1,) * 20, (600, 3)])
def test_tiles_grow_batch_by_batch_as_if_written_at_once(works: Works, sizes: tuple[int, ...]) -> None:
    sequencer, count = works.sequencer(), 0
    for size in sizes:
        works.games.opens(*range(count, count + size))
        count += size
        until_quiet(sequencer)
        assert len(works.logged()) == count
    works.check_history()


def test_partial_tiles_go_when_the_full_one_is_published(works: Works) -> None:
    sequencer = works.sequencer()
    for count in (0, 100, 200):
        works.games.opens(*range(count, count + 100))
        sequencer.step()
    names = {str(path.relative_to(works.path)) for path in works.path.rglob("*") if path.is_file()}
    tiles = {name for name in names if name.startswith("tile/")}
    assert tiles == {
        "tile/0/000",
        "tile/0/001.p/44",
        "tile/1/000.p/1",
        "tile/entries/000",
        "tile/entries/001.p/44",
    }
    assert len(works.logged()) == 300


# -- proofs ----------------------------------------------------------------------------------------------------------


def test_every_game_has_proofs_that_never_change_and_some_of_today(works: Works) -> None:
    sequencer = works.sequencer()
    for count in range(0, 600, 50):
        works.games.opens(*range(count, count + 50)).closes(*range(max(0, count - 50), count))
        until_quiet(sequencer)
    now = open_checkpoint(works.folder.note(), [KEY.verifier]).checkpoint
    for game in (0, 49, 50, 333, 549):
        game_id = event(game, 1, "create").game_id
        for kind, expected in (
            ("open", Opened.of(event(game, 1, "create"))),
            ("close", Closed.of(event(game, 9, "close"))),
        ):
            for latest in (False, True):
                proof = works.folder.proof(kind, game_id, latest)
                assert proof is not None
                assert proof.extra == expected.write()
                signed = open_checkpoint(proof.checkpoint, [KEY.verifier]).checkpoint
                proof.check(proof.extra, signed)
                assert (signed == now) is (latest or signed.size == now.size)
                way = works.folder.consistency(signed.size)
                way.check(signed.root, now)
    before = works.folder.proof("open", event(7, 1, "create").game_id)
    works.games.opens(10_000)
    sequencer.step()
    assert works.folder.proof("open", event(7, 1, "create").game_id) == before


def test_a_way_between_any_two_signed_checkpoints_is_shown(works: Works) -> None:
    sequencer = works.sequencer()
    for game in range(9):
        works.games.opens(game)
        sequencer.step()
    roots = {}
    for size in range(1, 10):
        proof = works.folder.consistency(0, size)
        roots[size] = open_checkpoint(proof.checkpoint, [KEY.verifier]).checkpoint
        assert roots[size].size == size
    for old in range(1, 10):
        for new in range(old, 10):
            works.folder.consistency(old, new).check(roots[old].root, roots[new])
    for old, new in ((10, None), (3, 10), (5, 4)):
        with pytest.raises(IndexError):
            works.folder.consistency(old, new)


def test_what_is_not_published_is_not_proven(works: Works) -> None:
    game_id = event(1, 1, "create").game_id
    with pytest.raises(log_folder.NoLog):
        works.folder.proof("open", game_id)
    works.games.opens(1)

    def die(step: str) -> None:
        if step == "remembered":
            raise Died

    sequencer = works.sequencer()
    sequencer.step()
    sequencer = works.sequencer(die)
    works.games.opens(2)
    with pytest.raises(Died):
        sequencer.step()
    assert works.folder.proof("open", event(2, 1, "create").game_id) is None
    assert works.folder.proof("close", game_id) is None
    with pytest.raises(Missing):
        works.folder.tile("tile/0/000.p/2")
    works.sequencer().step()
    assert works.folder.proof("open", event(2, 1, "create").game_id) is not None
    assert len(works.folder.tile("tile/0/000.p/2")) == 64


# -- what it survives ------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def settled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a log of 250 games."""
    works = Works(tmp_path_factory.mktemp("settled") / "log")
    works.games.opens(*range(250))
    until_quiet(works.sequencer())
    works.alive[0].close()
    return works.path


def grows(settled: Path, folder: Path, at: Callable[[str], None] = lambda step: None) -> Works:
    """A copy of that log, about to grow past a full tile, with a game that closes meanwhile."""
    shutil.copytree(settled, folder)
    works = Works(folder)
    works.games.opens(*range(260)).closes(5)
    works.games.note = works.folder.note()
    works.sequencer(at)
    return works


def boundaries(settled: Path, folder: Path) -> list[str]:
    """The names of all steps of that, in order."""
    passed: list[str] = []
    (sequencer,) = grows(settled, folder, passed.append).alive
    until_quiet(sequencer)
    sequencer.close()
    return passed


def test_it_survives_death_between_any_two_steps(settled: Path, tmp_path: Path) -> None:
    steps = boundaries(settled, tmp_path / "whole")
    assert len(steps) > 10
    for number, step in enumerate(steps):
        left = number

        def die(passed: str) -> None:
            nonlocal left
            if left == 0:
                raise Died(passed)
            left -= 1

        works = grows(settled, tmp_path / f"{number}", die)
        with pytest.raises(Died):
            until_quiet(works.alive[0])
        note = works.folder.note()
        until_quiet(works.sequencer())
        assert sorted(works.logged()) == sorted([("close", 5), *(("open", game) for game in range(260))]), step
        works.check_history()
        works.check_files()
        old, new = checkpoint_of(note), checkpoint_of(works.folder.note())
        works.folder.consistency(old.size).check(old.root, new)
        works.alive[0].close()


def test_what_was_written_and_not_signed_gives_way_to_what_comes(works: Works) -> None:
    works.games.opens(*range(250))
    until_quiet(works.sequencer())
    works.games.opens(*range(250, 260))

    def die(step: str) -> None:
        if step == "tiles on disk":
            raise Died

    with pytest.raises(Died):
        works.sequencer(die).step()
    works.games.first = dict(reversed(works.games.first.items()))  # the next collects in another order
    works.games.opens(300)
    until_quiet(works.sequencer())
    assert len(works.logged()) == 261
    works.check_files()
    works.check_history()


def test_it_survives_kill_9(settled: Path, tmp_path: Path) -> None:
    """The same with a process that the kernel ends, at a few steps."""
    steps = boundaries(settled, tmp_path / "whole")
    for number in range(0, len(steps), max(1, len(steps) // 4)):
        path = tmp_path / f"{number}"
        if (child := os.fork()) == 0:
            left = [number]

            def die(step: str, left: list[int] = left) -> None:
                left[0] -= 1
                if left[0] < 0:
                    os.kill(os.getpid(), signal.SIGKILL)

            try:
                until_quiet(grows(settled, path, die).alive[0])
            finally:
                os._exit(1)
        _, status = os.waitpid(child, 0)
        assert os.WTERMSIG(status) == signal.SIGKILL
        works = Works(path)
        works.games.opens(*range(260)).closes(5)
        works.games.note = works.folder.note()
        until_quiet(works.sequencer())
        assert sorted(works.logged()) == sorted([("close", 5), *(("open", game) for game in range(260))])
        works.check_history()
        works.alive[0].close()


def test_a_record_of_which_only_the_beginning_came_to_the_disk_is_cut_off(works: Works) -> None:
    works.games.opens(1)
    works.sequencer().step()
    for torn in (b"\0", b"\0\0\1\0half of a note", bytes(300)):
        with (works.path / log_folder.SIGNED).open("ab") as file:
            file.write(torn)
        works.games.opens(2)
        works.sequencer().step()
        works.check_history()
    assert works.logged() == [("open", 1), ("open", 2)]


def test_the_database_may_go_away_at_any_time(works: Works) -> None:
    sequencer = works.sequencer()
    works.games.down = True
    with pytest.raises(Unavailable):
        sequencer.step()
    works.games.down = False
    sequencer.step()
    for when in ("collected", "signed", "published", "cleared"):
        works.games.opens(len(works.games.first)).closes(*range(len(works.games.first)))

        def cut(step: str, when: str = when) -> None:
            works.games.down = works.games.down or step == when

        with pytest.raises(Unavailable):
            until_quiet(works.sequencer(cut))
        works.games.down = False
    until_quiet(works.sequencer())
    assert sorted(works.logged()) == sorted((kind, game) for kind in ("open", "close") for game in range(4))
    works.check_history()


def test_only_one_writes(works: Works) -> None:
    first = works.sequencer()
    first.step()
    second = Sequencer(works.path, works.games, lambda: [KEY])
    with pytest.raises(Busy):
        second.step()
    first.close()
    works.games.opens(1)
    assert second.step() == 1
    with pytest.raises(Busy):
        first.step()
    second.close()


def test_the_index_is_made_anew(works: Works) -> None:
    works.games.opens(1, 2, 3).closes(2)
    until_quiet(works.sequencer())
    index = works.path / log_folder.INDEX
    before = {path.name: path.read_bytes() for path in index.iterdir()}
    for path in index.iterdir():
        path.write_bytes(b"rubbish" * 7)
    (index / "ff").write_bytes(b"more")
    until_quiet(works.sequencer())
    assert {path.name: path.read_bytes() for path in index.iterdir()} == before


# -- what it never signs ---------------------------------------------------------------------------------------------


def grown(works: Works, count: int) -> None:
    works.games.opens(*range(count))
    until_quiet(works.sequencer())


def refuses(works: Works, why: str) -> None:
    note = works.folder.note() if (works.path / "checkpoint").exists() else None
    works.games.opens(99_999)
    with pytest.raises(Refused, match=why):
        works.sequencer().step()
    assert (works.folder.note() if note else None) == note


@pytest.mark.parametrize("name", ["tile/entries/000", "tile/0/000", "tile/1/000.p/1", "tile/entries/001.p/44"])
def test_one_flipped_bit_anywhere_is_found_before_anything_is_signed(works: Works, name: str) -> None:
    grown(works, 300)
    path = works.path / name
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 4
    path.write_bytes(data)
    refuses(works, "tree that was signed last|root")


@pytest.mark.parametrize("name", ["tile/entries/000", "tile/0/001.p/44", "tile/1/000.p/1"])
def test_a_missing_file_is_found(works: Works, name: str) -> None:
    grown(works, 300)
    (works.path / name).unlink()
    refuses(works, "tree that was signed last")


def test_a_bit_that_flips_while_it_writes_is_found(works: Works) -> None:
    grown(works, 10)
    works.games.opens(11)

    def flip(step: str) -> None:
        if step == "wrote tile/0/000.p/11":
            path = works.path / "tile/0/000.p/11"
            path.write_bytes(path.read_bytes()[:-1] + b"!")

    before = works.folder.note()
    with pytest.raises(Refused, match="what is read"):
        works.sequencer(flip).step()
    assert works.folder.note() == before
    until_quiet(works.sequencer())
    assert len(works.logged()) == 11
    works.check_history()


def test_a_folder_restored_from_a_backup_is_refused(works: Works, tmp_path: Path) -> None:
    grown(works, 10)
    backup = tmp_path / "backup"
    shutil.copytree(works.path, backup)
    works.games.opens(11)
    until_quiet(works.sequencer())
    works.alive[0].close()
    works.path.rename(tmp_path / "lost")
    backup.rename(works.path)
    refuses(works, "restored from a backup")


@pytest.mark.parametrize(
    ("wrong", "reason"), [(Refused("another tree"), "refused"), (OSError("full"), "unwritable"), (KeyError(), "failed")]
)
def test_a_log_that_signs_nothing_is_told_by_a_metric_until_it_signs_again(
    works: Works, wrong: Exception, reason: str
) -> None:
    def metric(name: str, **labels: str) -> float:
        return REGISTRY.get_sample_value(f"annals_log_{name}", labels) or 0

    def fails(step: str) -> None:
        raise wrong

    stopping = threading.Event()
    stopping.set()  # one round, the last
    failures = metric("failures_total", reason=reason)
    works.games.opens(1)
    works.sequencer(fails).run(stopping)
    assert (metric("stuck"), metric("failures_total", reason=reason)) == (1, failures + 1)
    works.sequencer().run(stopping)
    assert (metric("stuck"), metric("failures_total", reason=reason)) == (0, failures + 1)
    assert works.logged() == [("open", 1)]


def test_an_empty_folder_beside_a_database_that_knows_of_a_log_is_refused(works: Works, tmp_path: Path) -> None:
    grown(works, 10)
    works.path.rename(tmp_path / "lost")
    works.folder = LogFolder(works.path)
    refuses(works, "restored from a backup")


def test_another_tree_of_the_same_size_is_refused(works: Works, tmp_path: Path) -> None:
    grown(works, 10)
    other = Works(tmp_path / "other")
    other.games.opens(*range(20, 32))
    until_quiet(other.sequencer())
    other.games.note = works.folder.note()
    refuses(other, "that the folder does not hold")
    other.alive[0].close()


def test_two_that_sign_one_log_in_two_folders_do_not_both_go_on(works: Works, tmp_path: Path) -> None:
    other = Works(tmp_path / "other")
    other.games = works.games
    works.sequencer().step()
    other.sequencer().step()
    works.games.opens(1)
    works.alive[0].step()
    works.games.opens(2)
    note = other.folder.note()
    for _ in range(3):
        with pytest.raises(Refused, match=r"another process signs this log|that the folder does not hold"):
            other.alive[0].step()
    assert other.folder.note() == note
    until_quiet(works.alive[0])
    assert works.logged() == [("open", 1), ("open", 2)]
    other.alive[0].close()


def test_a_journal_that_is_gone_or_behind_is_refused(works: Works) -> None:
    grown(works, 10)
    path = works.path / log_folder.SIGNED
    whole = path.read_bytes()
    path.unlink()
    refuses(works, "journal of those signed is gone")
    path.write_bytes(whole[: len(whole) // 2])
    refuses(works, "were published, 0 are in the journal")


def test_another_key_does_not_go_on(works: Works) -> None:
    grown(works, 1)
    works.keys = [Signer.create(KEY.name)]
    with pytest.raises(Refused, match="signed by another key"):
        works.sequencer().step()
    works.keys = []
    with pytest.raises(Refused, match="no log key"):
        works.sequencer().step()
    works.keys = [Signer.of("another.example/log", KEY.seed), KEY]
    with pytest.raises(Refused, match="holds the log"):
        works.sequencer().step()


# -- keys ------------------------------------------------------------------------------------------------------------


@pytest.fixture
def kept(works: Works, tmp_path: Path) -> Config:
    """Keys in files, and a sequencer that reads them as the clerk does."""
    signing = SigningKeys.create(Config(data=tmp_path, origin=KEY.name))
    config = Config(data=tmp_path)
    for old in works.alive:
        old.close()
    works.alive = [Sequencer(works.path, works.games, lambda: log_signers(config, signing), signing.receipts.verifier)]
    return config


def who_signed(works: Works, *vkeys: str) -> list[str]:
    known = [Verifier.parse(vkey) for vkey in vkeys]
    return [signer.vkey for signer in open_note(works.folder.note(), known).signers]


def test_a_key_is_followed_by_another(works: Works, kept: Config) -> None:
    (sequencer,) = works.alive
    sequencer.step()
    first = SigningKeys.find(kept)
    assert first is not None
    assert first.log is not None
    old = first.log.vkey
    with pytest.raises(CannotChange, match="rotate"):
        retire(kept, 5)
    new = rotate(kept, 5)
    with pytest.raises(CannotChange, match="retire the old key first"):
        rotate(kept, 5)
    works.games.opens(1)
    assert sequencer.step() == 2
    assert who_signed(works, old, new) == [old, new]
    assert works.folder.read("policy").decode().count("\nlog ") == 2
    assert retire(kept, 6) is None
    assert sequencer.step() == 1
    assert who_signed(works, old, new) == [old, new]  # so that who knows the old one alone sees it retire
    works.games.opens(2)
    sequencer.step()
    assert who_signed(works, old, new) == [new]
    policy = Policy.parse(works.folder.read("policy"))
    assert [log.vkey for log in policy.logs] == [new, old]  # old checkpoints are signed by nobody else
    assert retire(kept, 7) == new
    sequencer.close()
    works.games.opens(3)
    sequencer.step()
    assert who_signed(works, old, new) == [new]
    size = checkpoint_of(works.folder.note()).size
    entries = [read_entry(data) for _, data in works.folder.tree(size).entries(0)]
    assert [entry for entry in entries if isinstance(entry, Key)] == [Key(ADD, new, 5), Key(RETIRE, old, 6)]
    assert not list((works.path / "pending").iterdir())
    found = SigningKeys.find(kept)
    assert found is not None
    assert found.log is not None
    assert found.log.vkey == new
    works.check_history()


def test_a_log_given_up_is_followed_by_one_that_says_so(works: Works, kept: Config, tmp_path: Path) -> None:
    (sequencer,) = works.alive
    works.games.opens(1, 2).closes(2)
    until_quiet(sequencer)
    with pytest.raises(CannotChange, match="stop it first"):
        restart(kept, "play.example/gamelog2")
    sequencer.close()
    old = checkpoint_of(works.folder.note())
    (works.path / "erased").write_text("00" * 16)
    for origin in (KEY.name, "not a name", ""):
        with pytest.raises(CannotChange):
            restart(kept, origin)
    made = restart(kept, "play.example/gamelog2")
    assert made.receipts.name == "play.example/gamelog2/receipts"
    until_quiet(sequencer)
    sequencer.close()
    now = checkpoint_of(works.folder.note())
    assert now.origin == "play.example/gamelog2"
    first, *rest = (read_entry(data) for _, data in works.folder.tree(now.size).entries(0))
    assert first == Link(old.origin, old.size, old.root)
    assert sorted(type(entry).__name__ for entry in rest) == ["Closed", "Opened", "Opened"]
    (aside,) = works.path.glob("given-up.*")
    assert Checkpoint.parse(old.text) == checkpoint_of((aside / "checkpoint").read_bytes())
    assert (works.path / "erased").read_text() == "00" * 16  # what was erased is of no log
    assert sorted(path.name.split(".")[0] for path in tmp_path.glob("*.retired")) == ["log", "receipts"]


def test_a_wish_that_is_no_entry_is_refused(works: Works) -> None:
    grown(works, 1)
    (works.path / "pending").mkdir()
    (works.path / "pending" / "x.entry").write_bytes(b"rubbish")
    refuses(works, "holds no entry")


# -- in the service --------------------------------------------------------------------------------------------------


def test_games_of_the_service_come_into_its_log(house: Any, tmp_path: Path) -> None:
    from service.proofs.sequencer import sequencer_of

    assert sequencer_of(replace(house.deps, signing=SigningKeys.fresh())) is None  # nothing keeps them, nor a folder
    deps = house.bootstrap(log_dir=str(tmp_path / "log"))
    sequencer = sequencer_of(deps)
    assert sequencer is not None
    ada = house.player()
    table = ada.opens(options={"stalemate_rounds": 1})
    until_quiet(sequencer)
    table.seat(ada)
    table.starts()
    while table.shown()["status"] == "playing":
        assert table.act({"type": "end-turn"}, table.version).status_code == 201
    other = ada.opens()
    until_quiet(sequencer)
    folder = LogFolder(tmp_path / "log")
    for kind, expected in (("open", Opened), ("close", Closed)):
        proof = folder.proof(kind, bytes.fromhex(table.id))
        assert proof is not None
        assert proof.extra is not None
        entry = read_entry(proof.extra)
        assert isinstance(entry, expected)
    assert isinstance(entry, Closed)
    assert (entry.version, entry.head.hex()) == (table.version, table.shown()["head"])
    assert folder.proof("open", bytes.fromhex(other.id)) is not None
    assert folder.proof("close", bytes.fromhex(other.id)) is None
    (groups,) = [house.redis.xinfo_groups(name) for name in house.redis.scan_iter("{s" + table.id[0] + "}:feed")]
    assert [group["pending"] for group in groups if group["name"] == b"sequencer"] == [0]
    sequencer.close()


def test_a_log_made_later_holds_the_games_of_before(house: Any, tmp_path: Path) -> None:
    from service.proofs.sequencer import sequencer_of

    ada = house.player()
    tables = [ada.opens() for _ in range(5)]
    for feed in house.redis.scan_iter("{s*}:feed"):
        house.redis.xtrim(feed, maxlen=0)
    sequencer = sequencer_of(house.bootstrap(log_dir=str(tmp_path / "log")))
    assert sequencer is not None
    assert until_quiet(sequencer) == 5
    folder = LogFolder(tmp_path / "log")
    assert all(folder.proof("open", bytes.fromhex(table.id)) for table in tables)
    sequencer.close()


def test_a_walk_through_all_games_that_was_cut_short_begins_again(house: Any, tmp_path: Path) -> None:
    tables = [house.player().opens() for _ in range(4)]
    cut = [True]

    def games() -> Iterator[bytes]:
        yield bytes.fromhex(tables[0].id)
        if cut.pop():
            cut.append(False)
            raise Unavailable("cut")
        cut.append(False)
        yield from (bytes.fromhex(table.id) for table in tables[1:])

    source = FeedSource(house.redis, SimpleNamespace(games=games))  # type: ignore[arg-type] # no more of it is asked
    sequencer = Sequencer(tmp_path, source, lambda: [KEY])
    with pytest.raises(Unavailable):
        sequencer.step()
    assert until_quiet(sequencer) == 4
    sequencer.close()


def test_what_is_no_event_of_its_game_does_not_come_into_the_log(house: Any, tmp_path: Path) -> None:
    from service.proofs.sequencer import sequencer_of

    good, bad = house.player().opens(), house.player().opens()
    stream = "{s" + bad.id[0] + "}:ev:" + bad.id
    house.redis.delete(stream)
    house.redis.xadd(stream, {"e": b"rubbish"}, id="1-0")
    sequencer = sequencer_of(house.bootstrap(log_dir=str(tmp_path / "log")))
    assert sequencer is not None
    assert until_quiet(sequencer) == 1
    assert LogFolder(tmp_path / "log").proof("open", bytes.fromhex(good.id)) is not None
    sequencer.close()


def test_a_reader_follows_while_the_log_is_written(works: Works) -> None:
    """A process that reads all the time never finds a checkpoint whose tree is not there."""
    program = textwrap.dedent(
        """
        import sys
        from pathlib import Path
        from service.proofs.log_folder import LogFolder, NoLog, checkpoint_of
        folder, seen = LogFolder(Path(sys.argv[1])), 0
        while seen < 150:
            try:
                now = checkpoint_of(folder.note())
            except NoLog:
                continue
            assert now.size >= seen
            tree = folder.tree(now.size)
            assert tree.root() == now.root
            if now.size:
                assert tree.entry(now.size - 1)
                folder.consistency(seen)
            seen = now.size
        """
    )
    reader = subprocess.Popen([sys.executable, "-c", program, str(works.path)], cwd=Path(__file__).parents[2])
    sequencer = works.sequencer()
    for game in range(150):
        works.games.opens(game)
        sequencer.step()
    assert reader.wait(60) == 0
