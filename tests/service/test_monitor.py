"""The monitor: a log that behaves, one that does not, and what cannot be told."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import pytest
from click.testing import CliRunner

from events.hashing import sha256
from events.notes import COSIGNATURE, Signer, Verifier, cosign
from events.tlog import merkle
from events.tlog.checkpoint import Checkpoint, decode_hash
from events.tlog.entries import ADD, RETIRE, Closed, Key, Link, Opened, read_entry
from events.tlog.policy import Policy
from events.tlog.proof import Continuation, Inclusion
from events.tlog.tiles import Missing, bundles_of, pack, tiles_of
from service.cli import main
from service.proofs.monitor import (
    CANNOT_SAY,
    LIMITS,
    NOT_AS_SIGNED,
    PROVEN,
    SOUND,
    Memory,
    Report,
    look,
    reader,
    run_monitor,
)
from service.proofs.sequencer import sequencer_of

KEY = Signer.of("play.example/gamelog", b"\x01" * 32)
DAY = 86_400_000
NOW = 1_800_000_000_000


def opened(game: int, commit: bytes = b"\x01") -> bytes:
    return Opened(game.to_bytes(16, "big"), b"\x02" * 32, commit * 32, None, NOW - DAY * game).write()


def closed(game: int, status: str = "finished") -> bytes:
    return Closed(game.to_bytes(16, "big"), 9, b"\x03" * 32, status, None, NOW).write()


class Forger:
    """A log with every file in memory, and its key at hand: it can sign whatever it likes."""

    def __init__(self, *entries: bytes) -> None:
        self.entries = list(entries)
        self.keys: list[Signer] = [KEY]
        self.files: dict[str, bytes] = {}
        self.publish()

    def publish(self, *entries: bytes) -> "Forger":
        """Add entries, write every tile, and sign."""
        self.entries += entries
        hashes, level, size = [merkle.leaf_hash(entry) for entry in self.entries], 0, len(self.entries)
        for bundle in bundles_of(0, size):
            self.files[bundle.path] = pack(self.entries[bundle.index * 256 : bundle.index * 256 + bundle.width])
        while hashes:
            for tile in tiles_of(size):
                if tile.level == level:
                    start = tile.index * 256
                    self.files[tile.path] = b"".join(hashes[start : start + tile.width])
            hashes = [merkle.complete(b"".join(hashes[at : at + 256])) for at in range(0, len(hashes) - 255, 256)]
            level += 1
        growing = merkle.Growing()
        for entry in self.entries:
            growing.add(merkle.leaf_hash(entry))
        self.files["checkpoint"] = Checkpoint(KEY.name, size, growing.root()).sign(*self.keys)
        self.files["policy"] = Policy(tuple(key.verifier for key in self.keys)).text.encode()
        return self

    def __call__(self, path: str) -> bytes:
        if path not in self.files:
            raise Missing(path)
        return self.files[path]


def seen(log: Callable[[str], bytes], memory: Memory, policy: Policy | None = None, days: float = 14) -> Report:
    return look(log, memory, policy or Policy((KEY.verifier,)), NOW, int(days * DAY))


# -- a log that behaves ----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("steps", [(1, 2, 3), (255, 1, 1), (256, 300), (0, 5)])
def test_a_log_that_grows_is_sound(steps: Sequence[int]) -> None:
    log, memory, count = Forger(), Memory(), 0
    for step in steps:
        log.publish(*(opened(count + number) for number in range(step)))
        count += step
        report = seen(log, memory)
        assert report.code == SOUND, report.lines
        assert report.checkpoint is not None
        assert report.checkpoint.size == count
        assert len(memory.open) == count
        assert seen(log, memory).code == SOUND


def test_games_that_were_opened_long_ago_and_not_closed_are_listed() -> None:
    log, memory = Forger(opened(1), opened(20), opened(30), opened(40)), Memory()
    log.publish(closed(30), closed(1, "abandoned"))
    report = seen(log, memory)
    assert report.code == SOUND
    assert "4 games opened, 2 still open; 1 abandoned, 1 finished" in report.lines
    assert [line for line in report.lines if line.startswith("ORPHAN")] == [
        f"ORPHAN: game {40:032x} was opened 40.0 days ago and never closed",
        f"ORPHAN: game {20:032x} was opened 20.0 days ago and never closed",
    ]
    assert len([line for line in seen(log, memory, days=30).lines if line.startswith("ORPHAN")]) == 1
    log.publish(closed(40), closed(20))
    assert not any(line.startswith("ORPHAN") for line in seen(log, memory).lines)


def test_an_older_checkpoint_that_the_newer_continues_is_only_old() -> None:
    log, memory = Forger(opened(1), opened(2)), Memory()
    old = log.files["checkpoint"]
    log.publish(opened(3))
    seen(log, memory)
    note = memory.note
    log.files["checkpoint"] = old
    report = seen(log, memory)
    assert report.code == SOUND
    assert "the log shows an older checkpoint than before (2 entries, not 3)" in report.lines
    assert memory.note == note


def test_keys_that_the_log_adds_are_followed_and_those_it_retires_are_not() -> None:
    log, memory = Forger(opened(1)), Memory()
    seen(log, memory)
    new = Signer.create(KEY.name)
    log.keys = [KEY, new]
    log.publish(Key(ADD, new.vkey, NOW).write())
    assert seen(log, memory).code == SOUND
    log.publish(Key(RETIRE, KEY.vkey, NOW).write())
    assert seen(log, memory).code == SOUND
    log.keys = [new]
    log.publish(opened(2))
    report = seen(log, memory)
    assert report.code == SOUND
    assert f"key {new.vkey} was added" in report.lines
    log.keys = [KEY]
    log.publish(opened(3))
    assert seen(log, memory).code == CANNOT_SAY


def test_witnesses_are_counted_as_the_policy_asks() -> None:
    log = Forger(opened(1))
    witness = Signer.create("witness.example/w", COSIGNATURE)
    policy = Policy.parse(f"log {KEY.vkey}\nwitness w {witness.vkey}\nquorum w\n")
    report = seen(log, Memory(), policy)
    assert report.code == LIMITS
    assert any("a split view is not excluded" in line for line in report.lines)
    log.files["checkpoint"] = cosign(log.files["checkpoint"], witness, NOW // 1000)
    report = seen(log, Memory(), policy)
    assert (report.code, "witnessed by w" in report.lines) == (SOUND, True)


def test_a_log_that_follows_another_says_so_first() -> None:
    link = Link("old.example/log", 5, b"\x07" * 32).write()
    assert seen(Forger(link, opened(1)), Memory()).code == SOUND
    assert seen(Forger(opened(1), link), Memory()).code == PROVEN


# -- a log that does not ---------------------------------------------------------------------------------------------


def test_two_trees_of_one_size_are_a_proof() -> None:
    log, memory = Forger(opened(1), opened(2)), Memory()
    seen(log, memory)
    first = log.files["checkpoint"]
    other = Forger(opened(1), opened(3))
    report = seen(other, memory)
    assert report.code == PROVEN
    text = "\n".join(report.lines)
    assert "two trees of 2 entries were signed" in text
    assert first.decode() in text + "\n"
    assert other.files["checkpoint"].decode() in text + "\n"
    assert memory.note == first.decode()  # what it showed before is kept


def test_a_tree_that_does_not_begin_with_the_one_before_is_a_proof() -> None:
    log, memory = Forger(opened(1), opened(2), opened(3)), Memory()
    seen(log, memory)
    first = log.files["checkpoint"].decode()
    other = Forger(opened(1), opened(9), opened(3), opened(4), opened(5))
    report = seen(other, memory)
    assert report.code == PROVEN
    text = "\n".join(report.lines) + "\n"
    assert first in text
    way = Continuation.read(text[text.index("old 3\n") :].encode())
    policy = Policy((KEY.verifier,))
    new, old = policy.open(way.checkpoint).checkpoint, policy.open(first.encode()).checkpoint
    (leads,) = [decode_hash(line.split()[-1].rstrip(":")) for line in text.split("\n") if line.endswith("=:")]
    way.check(leads, new)  # what a stranger checks: the hashes lead to the new root, and not from the old one
    assert leads != old.root
    assert old.size == way.old


def test_a_smaller_tree_that_the_one_before_does_not_continue_is_a_proof() -> None:
    log, memory = Forger(opened(1), opened(2), opened(3), opened(4)), Memory()
    seen(log, memory)
    log.files["checkpoint"] = Forger(opened(1), opened(9)).files["checkpoint"]
    report = seen(log, memory)
    assert report.code == PROVEN
    assert any("does not begin with the one of 2" in line for line in report.lines)


@pytest.mark.parametrize(
    ("entries", "what", "shown"),
    [
        ((opened(1), opened(1, b"\x09")), "was opened twice", 2),
        ((opened(1), closed(1), opened(1)), "was opened twice", 2),
        ((opened(1), closed(1), closed(1, "void")), "was closed twice", 2),
        ((opened(1), closed(2)), "was closed and not opened", 1),
        ((opened(1), b"rubbish"), "is none", 1),
    ],
)
def test_entries_that_contradict_each_other_are_shown_with_their_proofs(
    entries: tuple[bytes, ...], what: str, shown: int
) -> None:
    log, memory = Forger(*entries), Memory()
    report = seen(log, memory)
    assert report.code == PROVEN
    assert any(what in line for line in report.lines)
    texts = ("\n".join(report.lines) + "\n").split("c2sp.org/tlog-proof@v1\n")[1:]
    assert len(texts) == shown
    for text in texts:
        proof = Inclusion.read(f"c2sp.org/tlog-proof@v1\n{text.rstrip()}\n".encode())
        assert proof.extra is not None
        proof.check(proof.extra, Policy((KEY.verifier,)).open(proof.checkpoint).checkpoint)
    assert memory == Memory()


# -- what cannot be told ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("path", ["tile/entries/001.p/44", "tile/0/001.p/44", "tile/1/000.p/1"])
@pytest.mark.parametrize("how", ["flipped", "short", "missing"])
def test_files_that_are_not_what_was_signed_prove_nothing(path: str, how: str) -> None:
    log, memory = Forger(), Memory()
    seen(log, memory)
    log.publish(*(opened(number) for number in range(300)))
    data = log.files[path]
    if how == "missing":
        del log.files[path]
    else:
        log.files[path] = data[:-40] if how == "short" else data[:20] + bytes((data[20] ^ 1,)) + data[21:]
    report = seen(log, memory)
    assert report.code == NOT_AS_SIGNED, report.lines
    assert memory.subtrees == []


def test_a_changed_file_of_a_larger_tree_is_no_proof_against_it() -> None:
    log, memory = Forger(opened(1), opened(2)), Memory()
    seen(log, memory)
    other = Forger(opened(1), opened(3), opened(4))
    other.files["checkpoint"] = log.publish(opened(4)).files["checkpoint"]
    report = seen(other, memory)
    assert report.code == NOT_AS_SIGNED
    assert not any("PROOF" in line for line in report.lines)


def test_a_checkpoint_of_a_stranger_or_of_another_log_says_nothing() -> None:
    log, memory = Forger(opened(1)), Memory()
    seen(log, memory)
    log.files["checkpoint"] = Checkpoint(KEY.name, 1, sha256(b"")).sign(Signer.create(KEY.name))
    assert seen(log, memory).code == CANNOT_SAY
    other = Signer.of("other.example/log", KEY.seed)
    log.files["checkpoint"] = Checkpoint(other.name, 1, sha256(b"")).sign(other)
    policy = Policy((KEY.verifier, other.verifier))
    assert seen(log, memory, policy).code == NOT_AS_SIGNED
    log.files["checkpoint"] = b"rubbish"
    assert seen(log, memory).code == NOT_AS_SIGNED
    del log.files["checkpoint"]
    assert seen(log, memory).code == CANNOT_SAY


# -- the command -----------------------------------------------------------------------------------------------------


@pytest.fixture
def published(house: Any, tmp_path: Path) -> Iterator[Callable[[], Path]]:
    """The log of the house, brought up to date when called."""
    house.deps.config = replace(house.deps.config, log_dir=str(tmp_path / "log"))
    sequencer = sequencer_of(house.deps)
    assert sequencer is not None

    def publish() -> Path:
        while sequencer.step():
            pass
        return tmp_path / "log"

    yield publish
    sequencer.close()


def test_the_log_of_a_service_is_followed_by_its_address(
    house: Any, published: Callable[[], Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    ada = house.player()
    table = ada.opens()
    published()

    def client() -> httpx.Client:
        return httpx.Client(transport=httpx.WSGITransport(app=house.app))

    def run(log: str, key: str | None = None) -> int:
        return run_monitor(log, None, key, tmp_path / "memory.json", 14.0, None, False, client)

    assert run("http://play.example") == SOUND
    first = capsys.readouterr().out
    assert "keys taken from the log itself" in first
    assert "test.example/games: 1 entries" in first
    ada.opens()
    published()
    assert run("http://play.example/v1/log/", house.deps.signing.log.vkey) == SOUND
    second = capsys.readouterr().out
    assert "keys taken" not in second
    assert "2 games opened, 2 still open; none ended" in second
    assert table.id in Memory.load(tmp_path / "memory.json").open
    assert run("http://play.example/elsewhere") == CANNOT_SAY


def test_the_log_in_a_folder_is_followed_by_the_command(
    house: Any, published: Callable[[], Path], tmp_path: Path
) -> None:
    house.player().opens()
    folder, memory = published(), tmp_path / "memory.json"
    runner = CliRunner()
    arguments = ["monitor", str(folder), "--memory", str(memory), "--key", house.deps.signing.log.vkey]
    done = runner.invoke(main, arguments)
    assert (done.exit_code, "1 still open" in done.output) == (SOUND, True)
    note = Memory.load(memory).note
    forged = Checkpoint(house.deps.signing.origin, 1, sha256(b"x")).sign(house.deps.signing.log)
    (folder / "checkpoint").write_bytes(forged)
    done = runner.invoke(main, arguments)
    assert done.exit_code == PROVEN
    assert forged.decode() in done.output
    assert note in done.output
    assert Memory.load(memory).note == note
    done = runner.invoke(main, [*arguments[:2], "--memory", str(memory), "--key", "no key"])
    assert done.exit_code == 64
    memory.write_text("rubbish")
    assert runner.invoke(main, arguments).exit_code == CANNOT_SAY


def test_a_policy_of_more_than_the_log_can_be_given_in_a_file(
    house: Any, published: Callable[[], Path], tmp_path: Path
) -> None:
    house.player().opens()
    folder = published()
    witness = Signer.create("witness.example/w", COSIGNATURE)
    policy = tmp_path / "policy"
    policy.write_text(f"log {house.deps.signing.log.vkey}\nwitness w {witness.vkey}\nquorum w\n")
    arguments = ["monitor", str(folder), "--memory", str(tmp_path / "m.json"), "--policy", str(policy)]
    assert CliRunner().invoke(main, arguments).exit_code == SOUND
    assert CliRunner().invoke(main, [*arguments, "--strict"]).exit_code == LIMITS
    policy.write_text("quorum w\n")
    assert CliRunner().invoke(main, arguments).exit_code == 64


def test_an_address_that_does_not_answer_says_nothing(tmp_path: Path) -> None:
    def client() -> httpx.Client:
        def refuse(request: httpx.Request) -> httpx.Response:
            raise httpx.ConnectError("refused", request=request)

        return httpx.Client(transport=httpx.MockTransport(refuse))

    for log in ("http://play.example", "https://play.example/v1/log"):
        assert run_monitor(log, None, KEY.vkey, tmp_path / "m.json", 14.0, None, False, client) == CANNOT_SAY

    def large(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=bytes(20_000_000))

    huge = reader("http://play.example", lambda: httpx.Client(transport=httpx.MockTransport(large)))
    assert look(huge, Memory(), Policy((KEY.verifier,)), NOW, DAY).code == CANNOT_SAY


def test_keys_are_changed_by_commands(tmp_path: Path) -> None:
    from service.config import Config
    from service.proofs.log_keys import log_signers
    from service.proofs.sequencer import Sequencer
    from service.proofs.signing_keys import SigningKeys

    class Nothing:
        def begin(self) -> None: ...
        def changed(self) -> list[bytes]:
            return []

        def ends(self, game_ids: Sequence[bytes], first: bool) -> list[Any]:
            return []

        def done(self) -> None: ...
        def remembered(self) -> bytes | None:
            return None

        def remember(self, note: bytes, before: bytes | None) -> bool:
            return True

    config = Config(data=tmp_path)
    signing = SigningKeys.create(config)
    sequencer = Sequencer(config.log_path, Nothing(), lambda: log_signers(config, signing))
    sequencer.step()

    def run(*words: str) -> tuple[int, str]:
        done = CliRunner().invoke(main, ["log", *words, "--data", str(tmp_path)], env={"ANNALS_ORIGIN": ""})
        return done.exit_code, done.output

    assert run("retire")[0] == 1
    code, told = run("rotate")
    assert code == 0
    new = Verifier.parse(told.split("\n")[0])
    assert run("rotate")[0] == 1
    assert sequencer.step() == 1
    assert run("retire")[0] == 0
    assert sequencer.step() == 1
    code, told = run("retire")
    assert (code, told.split()[0]) == (0, new.vkey)
    assert run("restart", "new.example/log")[0] == 1  # it is being written
    sequencer.close()
    code, told = run("restart", "new.example/log")
    assert code == 0
    assert told.startswith("new.example/log+")
    pending = read_entry((tmp_path / "log" / "pending" / "0-link.entry").read_bytes())
    assert isinstance(pending, Link)
    assert pending.size == 2
