"""Backups: what comes back is what was there, nothing that was going on goes on, and a receipt still is evidence."""

import shutil
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from events.embedded import open_database
from events.event import Event
from events.log import whole
from events.redis_client import ephemeral
from events.redis_log import Keys, shard_of
from replay.audit import Trust, audit_bundle
from service import commands
from service.app import create_app
from service.bootstrap import bootstrap
from service.cli import main
from service.config import Config
from service.keeping import backup as keeping
from service.keeping import erased
from service.keeping.archiver import archive_game
from service.keeping.backup import Backup, BadBackup, make_backup
from service.keeping.by_hand import run_backup, run_restore, time_of
from service.keeping.restoring import NotEmpty, restore
from service.proofs.log_folder import ERASED, RESTORED, log_at
from service.proofs.sequencer import Refused, sequencer_of


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {"archive_dir": str(tmp_path / "archive"), "log_dir": str(tmp_path / "log")}


@pytest.fixture
def kept(house: Any, settings: dict[str, Any]) -> Any:
    house.deps = house.bootstrap(**settings)
    house.app = create_app(house.deps)
    return house


def publish(house: Any) -> None:
    sequencer = sequencer_of(house.deps)
    assert sequencer is not None
    while sequencer.step():
        pass
    sequencer.close()


def playing(house: Any, moves: int = 4) -> Any:
    table = house.player("Ada").opens(options={"stalemate_rounds": 5})
    assert table.seat(house.player("Bob")).status_code == 201
    table.seated = [table.creator]
    table.starts()
    return table if moves == 0 else on(house, table, moves)


def on(house: Any, table: Any, moves: int = 10**6) -> Any:
    """Turns are ended, by whoever's turn it is, until there is a stalemate."""
    game_id = bytes.fromhex(table.id)
    for _ in range(moves):
        position = house.deps.positions.load(game_id).position
        if not position.to_act:
            break
        house.clock.pass_seconds(1)
        commands.submit(house.deps, game_id, position.to_act[0], end_turn(position), position.version, None)
    return table


def end_turn(position: Any) -> Any:
    return position.rules.parse("end-turn", {})


def stored(house: Any, table: Any) -> list[Any]:
    return list(whole(house.deps.log, bytes.fromhex(table.id)))


class Anew:
    """The same service, keys and all, on a database that is empty."""

    def __init__(self, house: Any, settings: dict[str, Any]) -> None:
        self.redis, self.clock = ephemeral(), house.clock
        config = house.deps.config
        keys = {
            "keys": config.keys,
            "log_key": config.log_key,
            "receipts_key": config.receipts_key,
            "data": config.data,
        }
        self.deps = bootstrap(Config(**{**keys, **settings}), self.redis, house.clock)
        self.client = create_app(self.deps).test_client()

    def get(self, path: str, caller: Any = None) -> Any:
        headers = {} if caller is None else {"Authorization": f"Bearer {caller.token}"}
        return self.client.get(path, headers=headers)


@pytest.fixture
def anew(kept: Any, tmp_path: Path) -> Iterator[Anew]:
    made = Anew(kept, {"archive_dir": str(tmp_path / "archive2"), "log_dir": str(tmp_path / "log2")})
    yield made
    made.deps.close()


def test_what_comes_back_is_what_was_there(kept: Any, anew: Anew, tmp_path: Path) -> None:
    over, archived, running, opened = on(kept, playing(kept)), on(kept, playing(kept)), playing(kept), playing(kept, 0)
    table = kept.player("Cleo").opens()
    kept.deps.index.catch_up()
    made = over.creator.post(f"{over.path}/disputes", json={"event": 7, "text": "That was my turn."})
    assert made.status_code == 201, made.text
    case = f"/v1/cases/{made.json['case_id']}"
    told_case = over.creator.get(case).text
    publish(kept)
    archive_game(kept.deps, bytes.fromhex(archived.id))
    before = {one.id: stored(kept, one) for one in (over, archived, running, opened, table)}
    told = make_backup(kept.deps, tmp_path / "backup", "test")
    assert (told.manifest.streams, told.linked, told.damaged) == (6, 0, [])
    back = restore(anew.deps, Backup.open(tmp_path / "backup"), audit=True)
    assert (back.streams, back.archived, back.cut, back.unsound, back.lost) == (6, 1, 0, [], [])
    assert {one.hex() for one in back.voided} == {running.id, opened.id, table.id}
    for one in (over, archived):
        assert stored(anew, one) == before[one.id]
        assert anew.get(f"{one.path}/audit").json["verdict"] == "VERIFIED WITH LIMITS"
    for one in (running, opened, table):
        *events, last = stored(anew, one)
        assert events == before[one.id]
        assert (last.kind, last.body["status"], last.body["reason"]) == ("close", "void", "restored")
        assert anew.get(one.path).json["grade"] == "EXACT"
    assert anew.deps.log.head(bytes.fromhex(archived.id)).archived
    assert not anew.redis.exists(Keys.of(bytes.fromhex(archived.id)).stream)
    assert anew.get("/v1/me", over.creator).json["name"] == "Ada"
    assert "That was my turn." in told_case
    assert anew.get(case, over.creator).text == told_case
    assert len(anew.get("/v1/games").json["games"]) == 5
    key = f"{shard_of(bytes.fromhex(over.creator.id))}:player:{over.creator.id}"
    assert anew.redis.hgetall(key) == kept.redis.hgetall(key) != {}


def test_nothing_secret_and_nothing_derived_is_in_it(kept: Any, tmp_path: Path) -> None:
    over = on(kept, playing(kept))
    running = playing(kept)
    kept.deps.index.catch_up()
    publish(kept)
    make_backup(kept.deps, tmp_path / "backup", "test")
    names = [name for name, *_ in Backup.open(tmp_path / "backup").beside()]
    assert names
    assert not [name for name in names if name.split(b":")[1] in keeping.DERIVED or name.startswith(b"{index}")]
    config = kept.deps.config
    secrets = [config.keys.partition("=")[2], config.log_key, config.receipts_key, over.creator.token]
    planted = [bytes.fromhex(secrets[0]), *(secret.encode() for secret in secrets)]
    chain = commands.dice_chain(kept.deps, bytes.fromhex(running.id), "test")
    planted += [chain.link(chain.length), chain.link(chain.length - 1)]
    everything = [path.read_bytes() for path in (tmp_path / "backup").rglob("*") if path.is_file()]
    everything += [b"".join(b"%r" % (row,) for row in Backup.open(tmp_path / "backup").beside())]
    assert not [secret for secret in planted for data in everything if secret in data]


def test_a_receipt_for_what_was_lost_is_evidence(kept: Any, anew: Anew, tmp_path: Path) -> None:
    """Threat T21: the backup is behind what was acknowledged, and the player can show it to anybody."""
    table = playing(kept, 2)
    game_id = bytes.fromhex(table.id)
    publish(kept)
    make_backup(kept.deps, tmp_path / "backup", "test")
    known = kept.deps.log.head(game_id).version
    on(kept, table, 3)
    receipts = {}
    for seq in range(known - 1, known + 3):
        answer = table.creator.get(f"{table.path}/receipts/{seq}")
        assert answer.status_code == 200, answer.text
        receipts[f"{seq}.note"] = answer.json["receipt"].encode() if answer.is_json else answer.data
    policy = kept.nobody.get("/v1/log/policy").data
    back = restore(anew.deps, Backup.open(tmp_path / "backup"))
    assert back.voided == [game_id]
    bundle = anew.get(f"{table.path}/bundle").data
    older = {name: note for name, note in receipts.items() if int(name.split(".")[0]) <= known}
    assert audit_bundle(bundle, Trust(policy=policy, receipts=older)).verdict != "REFUTED"
    verdict = audit_bundle(bundle, Trust(policy=policy, receipts=receipts))
    assert (verdict.verdict, verdict.code, verdict.who) == ("REFUTED", "V11", "server")
    assert verdict.event == known + 1


def test_a_game_that_ended_after_the_backup_contradicts_the_log_that_is_still_there(
    kept: Any, settings: dict[str, Any], tmp_path: Path
) -> None:
    table, later = playing(kept), None
    publish(kept)
    make_backup(kept.deps, tmp_path / "backup", "test")
    on(kept, table)
    later = on(kept, playing(kept))
    publish(kept)
    checkpoint = kept.nobody.get("/v1/log/checkpoint").data
    anew = Anew(kept, settings)
    back = restore(anew.deps, Backup.open(tmp_path / "backup"))
    assert not back.log_copied
    assert dict(back.lost).keys() == {bytes.fromhex(table.id), bytes.fromhex(later.id)}
    assert anew.get("/v1/log/checkpoint").data == checkpoint
    sequencer = sequencer_of(anew.deps)
    assert sequencer is not None
    sequencer.step()  # the log goes on: nothing before it was changed
    sequencer.close()
    verdict = audit_bundle(anew.get(f"{table.path}/bundle").data, Trust(policy=anew.get("/v1/log/policy").data))
    assert (verdict.verdict, verdict.who) == ("REFUTED", "server")


def test_in_a_log_that_came_out_of_a_backup_nothing_is_signed(kept: Any, anew: Anew, tmp_path: Path) -> None:
    on(kept, playing(kept))
    publish(kept)
    make_backup(kept.deps, tmp_path / "backup", "test")
    back = restore(anew.deps, Backup.open(tmp_path / "backup"))
    assert back.log_copied
    folder = Path(anew.deps.config.log_dir)
    assert anew.get("/v1/log/checkpoint").data == kept.nobody.get("/v1/log/checkpoint").data
    sequencer = sequencer_of(anew.deps)
    assert sequencer is not None
    with pytest.raises(Refused, match="came out of a backup"):
        sequencer.step()
    (folder / RESTORED).unlink()  # somebody knows that nothing was signed since
    on(kept, playing(kept))
    assert sequencer.step() == 0
    sequencer.close()


def test_a_point_in_time_comes_back_without_what_came_after(kept: Any, anew: Anew, tmp_path: Path) -> None:
    over, running = on(kept, playing(kept)), playing(kept)
    at = kept.clock.now_ms
    kept.clock.pass_seconds(60)
    on(kept, running)
    late = playing(kept)
    publish(kept)
    archive_game(kept.deps, bytes.fromhex(running.id))
    make_backup(kept.deps, tmp_path / "backup", "test")
    before = [event for event in stored(kept, running) if event.t_ms <= at]
    back = restore(anew.deps, Backup.open(tmp_path / "backup"), until_ms=at)
    assert (back.streams, back.cut, back.archived) == (2, 2, 0)
    assert back.voided == [bytes.fromhex(running.id)]
    *events, last = stored(anew, running)
    assert events == before
    assert last.body["reason"] == "restored"
    assert stored(anew, over) == stored(kept, over)
    assert anew.get(late.path).status_code == 404
    assert bytes.fromhex(late.id) in dict(back.lost)


def test_a_game_whose_outcome_stands_is_not_voided(kept: Any, anew: Anew, tmp_path: Path) -> None:
    """It waits for signatures and for no dice: the clerk closes it as it would have."""
    ada = kept.player("Ada")
    table = ada.opens(2, sit=False, options={"stalemate_rounds": 1})
    seat = kept.holder(table, ada).joins(1, hero="tala")
    other = kept.holder(table, kept.player("Bob")).joins(2, hero="aderyn")
    table.starts()
    for one in (seat, other):
        one.holder.reveal()
    seats = {1: seat, 2: other}
    while to_act := table.shown()["to_act"]:
        assert seats[to_act[0]].moves({"type": "end-turn"}).status_code == 201
    assert table.shown()["to_sign_off"] == [1, 2]
    make_backup(kept.deps, tmp_path / "backup", "test")
    back = restore(anew.deps, Backup.open(tmp_path / "backup"))
    assert (back.voided, [game_id for game_id, _ in back.waiting]) == ([], [bytes.fromhex(table.id)])
    kept.clock.pass_seconds(100)
    commands.close_finished(anew.deps, bytes.fromhex(table.id))
    shown = anew.get(table.path).json
    assert (shown["status"], shown["grade"]) == ("finished", "EXACT")


def test_games_as_they_were_are_linked_to_the_backup_before(kept: Any, tmp_path: Path) -> None:
    over, running = on(kept, playing(kept)), playing(kept)
    publish(kept)
    make_backup(kept.deps, tmp_path / "monday", "test")
    on(kept, running, 1)
    young = playing(kept)
    publish(kept)
    told = make_backup(kept.deps, tmp_path / "tuesday", "test", tmp_path / "monday")
    assert (told.linked, told.manifest.streams) == (1, 3)
    monday, tuesday = (Backup.open(tmp_path / day) for day in ("monday", "tuesday"))
    one = bytes.fromhex(over.id)
    assert monday.archive.place(one).stat().st_ino == tuesday.archive.place(one).stat().st_ino
    shutil.rmtree(tmp_path / "monday")
    for record in tuesday.records():
        assert tuesday.events(record)[-1].hash == kept.deps.log.head(record.stream_id).head
    assert {record.stream_id.hex() for record in tuesday.records()} == {over.id, running.id, young.id}


def test_a_backup_of_games_that_are_being_played_has_each_at_one_moment(
    kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    tables = [playing(kept) for _ in range(3)]
    read, turns = kept.deps.log.read, iter(range(100))

    def read_and_move(game_id: bytes, after: int = 0, limit: int = 500) -> Any:
        page = read(game_id, after, 3)  # a page is short, and somebody acts behind each
        if next(turns) < 6:
            event = read(game_id, kept.deps.log.head(game_id).version - 1).events[-1]
            kept.deps.log.append([following(event)])
        return page

    def following(event: Event) -> Event:
        return Event.write(event.game_id, event.seq + 1, event.hash, event.t_ms, "act", 1, {"a": ["x", {}]})

    monkeypatch.setattr(kept.deps.log, "read", read_and_move)
    make_backup(kept.deps, tmp_path / "backup", "test")
    monkeypatch.undo()
    backup = Backup.open(tmp_path / "backup")
    for record in backup.records():
        events = backup.events(record)
        assert events == [*whole(kept.deps.log, record.stream_id)][: len(events)]
    assert {record.stream_id.hex() for record in backup.records()} == {table.id for table in tables}


def test_what_is_not_whole_does_not_come_back(kept: Any, anew: Anew, tmp_path: Path) -> None:
    table = on(kept, playing(kept))
    folder = tmp_path / "backup"
    make_backup(kept.deps, folder, "test")
    for name in ("MANIFEST.json", "index", "beside"):
        spoiled = tmp_path / f"without-{name}"
        shutil.copytree(folder, spoiled)
        (spoiled / name).unlink()
        with pytest.raises(BadBackup, match="missing"):
            Backup.open(spoiled)
    for name in ("index", "beside"):
        spoiled = tmp_path / f"other-{name}"
        shutil.copytree(folder, spoiled)
        (spoiled / name).write_bytes((spoiled / name).read_bytes() + b"!")
        with pytest.raises(BadBackup, match="not those that were written"):
            Backup.open(spoiled)
    file = Backup.open(folder).archive.place(bytes.fromhex(table.id))
    data = file.read_bytes()
    for harm in (data[:-1], data[:90] + bytes([data[90] ^ 1]) + data[91:]):
        file.write_bytes(harm)
        with pytest.raises(BadBackup, match=table.id):
            restore(anew.deps, Backup.open(folder))
    file.unlink()
    with pytest.raises(BadBackup, match=table.id):
        restore(anew.deps, Backup.open(folder))
    with pytest.raises(BadBackup, match="there already"):
        make_backup(kept.deps, folder, "test")


def test_a_backup_that_was_cut_short_is_none(kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    playing(kept)

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(keeping, "_beside", full)
    with pytest.raises(OSError, match="No space"):
        make_backup(kept.deps, tmp_path / "backup", "test")
    assert not (tmp_path / "backup").exists()
    with pytest.raises(BadBackup):
        Backup.open(tmp_path / "backup.partial")


def test_a_backup_comes_into_an_empty_database_only(kept: Any, tmp_path: Path) -> None:
    playing(kept)
    make_backup(kept.deps, tmp_path / "backup", "test")
    with pytest.raises(NotEmpty):
        restore(kept.deps, Backup.open(tmp_path / "backup"))


def test_a_backup_of_nothing_comes_back_as_nothing(kept: Any, anew: Anew, tmp_path: Path) -> None:
    make_backup(kept.deps, tmp_path / "backup", "test")
    assert restore(anew.deps, Backup.open(tmp_path / "backup")).streams == 0
    assert list(anew.deps.log.games()) == []


def test_a_damaged_game_is_left_out_and_said(kept: Any, tmp_path: Path, capsys: Any) -> None:
    bad, good = on(kept, playing(kept)), on(kept, playing(kept))
    kept.redis.xdel(Keys.of(bytes.fromhex(bad.id)).stream, "7-0")
    assert run_backup(kept.deps, tmp_path / "backup", None) == 1
    assert f"{bad.id}  left out: 7-0: event 7 is missing" in capsys.readouterr().err
    assert [record.stream_id.hex() for record in Backup.open(tmp_path / "backup").records()] == [good.id]


def test_games_whose_key_is_missing_are_told(kept: Any, tmp_path: Path, capsys: Any) -> None:
    table = playing(kept)
    make_backup(kept.deps, tmp_path / "backup", "test")
    anew = Anew(
        kept, {"archive_dir": str(tmp_path / "a"), "log_dir": str(tmp_path / "l"), "keys": "other=" + "22" * 32}
    )
    assert run_restore(anew.deps, tmp_path / "backup", None, audit=False) == 0
    assert f"{table.id}  stays open" in capsys.readouterr().err


def test_the_log_of_games_is_copied_while_it_grows(kept: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for _ in range(3):
        playing(kept, 0)
    publish(kept)
    copied, grown = keeping.copy_log, list[int]()

    def copy_log(source: Path, target: Path, older: Path | None = None) -> None:
        copied(source, target, older)
        if not grown:
            grown.append(1)
            partial = next((target / "tile/0").rglob("000.p/*"))
            partial.unlink()  # as if the sequencer had made it whole between two reads

    monkeypatch.setattr(keeping, "copy_log", copy_log)
    told = make_backup(kept.deps, tmp_path / "backup", "test")
    assert told.manifest.log_size == log_at(Path(kept.deps.config.log_dir)).tree(3).size
    assert grown == [1]


@pytest.mark.parametrize(
    ("text", "ms"),
    [
        ("1970-01-01", 0),
        ("1970-01-01T00:00:01.5", 1_500),
        ("1970-01-01T02:00:00+02:00", 0),
        ("2026-11-30T12:00:00Z", 1_796_040_000_000),
    ],
)
def test_times_are_in_utc_unless_they_say_more(text: str, ms: int) -> None:
    assert time_of(text) == ms


def test_the_commands_work_on_real_databases(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A game in one data directory, and the backup brought back into another, with the keys copied by hand."""
    one, two = tmp_path / "one", tmp_path / "two"
    for variable in ("REDIS_URL", "ANNALS_DATA"):
        monkeypatch.delenv(variable, raising=False)
    one.mkdir()
    two.mkdir()
    runner = CliRunner()
    with closing(open_database(one)) as database:
        assert runner.invoke(main, ["keys", "--new", "--data", str(one)]).exit_code == 0
        deps = bootstrap(replace(Config(), data=one), database.client)
        player, _ = deps.accounts.register("Ada")
        table = commands.Table("dungeon-roll@1", 1, {}, "public", "open", {})
        game, _ = commands.create(deps, player.player_id, table, None)
        made = runner.invoke(main, ["backup", str(tmp_path / "backup"), "--data", str(one)])
        assert made.exit_code == 0, made.output
        assert made.output.startswith("1 games and cases, ")
    for name in ("keyring", "receipts.key", "log.key"):
        shutil.copy(one / name, two / name)
    back = runner.invoke(main, ["restore", "--from", str(tmp_path / "backup"), "--audit", "--data", str(two)])
    assert back.exit_code == 0, back.output
    assert f"{game.id.hex()}  void, restored" in back.output
    again = runner.invoke(main, ["restore", "--from", str(tmp_path / "backup"), "--data", str(two)])
    assert again.exit_code == 1
    assert "not empty" in again.output
    assert runner.invoke(main, ["validate", "--data", str(two)]).exit_code == 0
    assert runner.invoke(main, ["archive", game.id.hex(), "--data", str(two)]).exit_code == 0
    assert (two / "archive" / game.id.hex()[:2] / f"{game.id.hex()}.annals-archive").exists()
    assert runner.invoke(main, ["validate", "--data", str(two)]).exit_code == 0
    assert runner.invoke(main, ["restore", "--all", "--data", str(two)]).exit_code == 0


# -- what was erased ---------------------------------------------------------------------------------------------------

SAID, ANSWERED = "That was my turn.", "It was not."


class Dispute:
    """A game of Ada and Bob that is over, with what each of them said of it."""

    def __init__(self, house: Any) -> None:
        self.bob = house.player("Bob")
        table = house.player("Ada Unforgettable").opens(options={"stalemate_rounds": 1})
        table.seat(self.bob)
        table.starts()
        self.ada = table.creator
        on(house, table)
        house.deps.index.catch_up()
        made = self.ada.post(f"{table.path}/disputes", json={"event": 7, "text": SAID})
        self.path = f"/v1/cases/{made.json['case_id']}"
        assert self.bob.post(f"{self.path}/answers", json={"text": ANSWERED}).status_code == 201

    def forgotten_by(self, anew: Anew, refusal: Any) -> None:
        """Ada and what she said are gone, and the text that Bob erased; the rest is there."""
        assert not anew.redis.exists(f"{shard_of(bytes.fromhex(self.ada.id))}:player:{self.ada.id}")
        said = anew.get(self.path, self.bob).json["statements"]
        assert [(one["kind"], one["erased"]) for one in said] == [("dispute", True), ("answer", True)]
        assert refusal(anew.get("/v1/me", self.ada)) == "401 token-invalid"
        assert anew.get("/v1/me", self.bob).json["name"] == "Bob"
        assert anew.get(f"{self.path}/audit", self.bob).json["verdict"] == "VERIFIED WITH LIMITS"


@pytest.fixture
def dispute(kept: Any, tmp_path: Path) -> Dispute:
    """With a backup from before either erased anything."""
    made = Dispute(kept)
    publish(kept)
    make_backup(kept.deps, tmp_path / "old", "test")
    assert not (tmp_path / "old" / ERASED).exists()
    assert made.bob.delete(f"{made.path}/texts/3").status_code == 200
    assert made.ada.delete("/v1/me").status_code == 204
    return made


@pytest.mark.parametrize(
    "place",
    [
        "beside the log of games", "in a newer backup beside", "beside the working directory",
        "beside what a link names", "in a list that is given",
    ],
)  # fmt: skip
def test_what_was_erased_since_a_backup_is_erased_again(
    kept: Any, dispute: Dispute, tmp_path: Path, place: str, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    listed = tmp_path / "log" / ERASED
    assert len(listed.read_text().split()) == 3
    log, lists, old = tmp_path / "log", tuple[Path, ...](), tmp_path / "old"
    if place != "beside the log of games":
        log = tmp_path / "log2"
    if place in ("in a newer backup beside", "beside the working directory", "beside what a link names"):
        make_backup(kept.deps, tmp_path / "new", "test")
        listed.unlink()
        if place == "beside the working directory":
            monkeypatch.chdir(old)
            old = Path()
        elif place == "beside what a link names":
            (tmp_path / "elsewhere").mkdir()
            (tmp_path / "elsewhere" / "latest").symlink_to(old)
            old = tmp_path / "elsewhere" / "latest"
    elif place == "in a list that is given":
        lists = (listed.rename(tmp_path / "list"),)
    anew = Anew(kept, {"archive_dir": str(tmp_path / "archive2"), "log_dir": str(log)})
    with closing(anew.deps):
        assert restore(anew.deps, Backup.open(old), lists=lists).erased == 3
        dispute.forgotten_by(anew, refusal)
        assert (log / ERASED).stat().st_mode & 0o777 == 0o600
        make_backup(anew.deps, tmp_path / "after", "test")
        assert erased.read(tmp_path / "after" / ERASED) == erased.known(anew.deps) != set()


def test_a_list_of_what_was_erased_that_cannot_be_read_is_told_before_anything_comes_back(
    kept: Any, dispute: Dispute, tmp_path: Path
) -> None:
    folder = tmp_path / "elsewhere" / "log"
    (folder / ERASED).mkdir(parents=True)
    anew = Anew(kept, {"archive_dir": str(tmp_path / "archive2"), "log_dir": str(folder)})
    with closing(anew.deps):
        with pytest.raises(IsADirectoryError):
            restore(anew.deps, Backup.open(tmp_path / "old"))
        assert not list(anew.deps.log.games())
        (folder / ERASED).rmdir()
        assert restore(anew.deps, Backup.open(tmp_path / "old")).erased == 3


def test_a_list_of_what_was_erased_is_read_but_for_lines_that_were_cut_off(tmp_path: Path) -> None:
    listed = tmp_path / ERASED
    assert erased.read(listed) == set()
    player, text = b"p" * 16, b"t" * 48
    erased.keep(listed, [player])
    with listed.open("ab") as file:
        file.write(text.hex().encode()[:33])
    erased.keep(listed, [player, text])
    assert erased.read(listed) == {player, text}
    assert listed.read_text().count(player.hex()) == 1


def test_an_erasure_does_not_wait_for_a_folder_that_cannot_be_written(kept: Any, dispute: Dispute) -> None:
    listed = kept.deps.config.log_path / ERASED
    listed.unlink()
    listed.mkdir()
    assert dispute.bob.delete("/v1/me").status_code == 204
    listed.rmdir()
    erased.note(kept.deps, [b"p" * 16])
    assert erased.read(listed) == erased.known(kept.deps) >= {bytes.fromhex(dispute.bob.id), b"p" * 16}
