"""Games in the archive over REST: whoever asks gets the same bytes, before, in between and after."""

import os
import secrets
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from events.archiving_log import CannotArchive
from events.embedded import open_database
from events.event import Event
from events.log import Damage, Unavailable, whole
from events.notes import Signer
from events.redis_log import Keys
from replay.audit import Trust, audit_bundle
from replay.validate import run_validate
from service import clerk, commands
from service.app import create_app
from service.bootstrap import bootstrap
from service.clients.self_custody import MEDIA_TYPE
from service.config import Config
from service.keeping import by_hand
from service.keeping.archiver import Archiver, NotLogged, archive_game, archiver_of, old_games
from service.proofs.sequencer import sequencer_of
from service.running.observe import ARCHIVE_FAILURES, GAMES_ARCHIVED


@pytest.fixture
def settings(tmp_path: Path) -> dict[str, Any]:
    return {"archive_dir": str(tmp_path / "archive"), "log_dir": str(tmp_path / "log"), "data": tmp_path}


@pytest.fixture
def kept(house: Any, settings: dict[str, Any]) -> Any:
    """A house with an archive and a log of games."""
    house.deps = house.bootstrap(**settings)
    house.app = create_app(house.deps)
    return house


@pytest.fixture
def publish(kept: Any) -> Callable[[], None]:
    def publish() -> None:
        sequencer = sequencer_of(kept.deps)
        assert sequencer is not None
        while sequencer.step():
            pass
        sequencer.close()

    return publish


def idle(table: Any, players: list[Any]) -> Any:
    """Play a game of Le Donjon to its stalemate; the first act has a key."""
    key = {"Idempotency-Key": "first"}
    while to_act := table.shown()["to_act"]:
        done = table.act({"type": "end-turn"}, table.version, players[to_act[0] - 1], **key)
        assert done.status_code == 201, done.text
        key = {}
    return table


def stalemate(house: Any) -> Any:
    ada, bob = house.player("Ada"), house.player("Bob")
    table = ada.opens(options={"stalemate_rounds": 1})
    assert table.seat(bob).status_code == 201
    table.seated = [ada, bob]
    return idle(table.starts(), [ada, bob])


def delve(house: Any) -> Any:
    table = house.player().opens(1, ruleset="dungeon-roll@1").starts().plays(12)
    if table.shown()["to_act"]:
        assert table.creator.post(f"{table.path}/seats/1/resign").status_code == 201
    return table


def signed(house: Any) -> Any:
    ada = house.player("Ada")
    table = ada.opens(2, sit=False, options={"stalemate_rounds": 1})
    seat = house.holder(table, ada).joins(1, hero="tala")
    assert table.seat(ada, bot="wanderer").status_code == 201
    table.starts()
    seat.holder.reveal()
    for _ in range(3):
        if table.shown()["to_act"] == [1]:
            seat.moves()
        elif table.shown()["to_act"]:
            clerk.act(house.deps, bytes.fromhex(table.id))
    if table.shown()["to_act"]:
        seat.holder.catch_up()
        seat.holder.resign()
    while table.shown()["to_act"]:
        clerk.act(house.deps, bytes.fromhex(table.id))
    house.clock.pass_seconds(100)
    if not house.deps.positions.load(bytes.fromhex(table.id)).position.closed:
        commands.close_finished(house.deps, bytes.fromhex(table.id))
    return table


def abandoned(house: Any) -> Any:
    table = house.player().opens()
    assert table.seat(table.creator).status_code == 201
    table.starts().plays(5)
    commands.void(house.deps, bytes.fromhex(table.id), "restored")
    return table


KINDS = {"stalemate": stalemate, "delve": delve, "signed": signed, "void": abandoned}


def asked_of(path: str, version: int) -> list[tuple[str, dict[str, str]]]:
    """Every GET of a game that is over."""
    middle = version // 2
    plain = [
        "", "/state", "/actions", "/events", f"/events?after={middle}&limit=3", "/replay", "/replay?spoilers=1",
        "/audit", "/audit?lang=fr", "/bundle", "/disputes", "/luck", "/luck.svg", "/refusals",
        "/proofs/open", "/proofs/close",
        f"/receipts/{version}", "/receipts/1", f"/diff?old={middle}&new={version}", f"/positions/{middle}.svg",
        f"/positions/{middle}.png?theme=dark", f"/positions/{middle}/why?path=/",
    ]  # fmt: skip
    plain += [f"/positions/{at}" for at in (0, 1, middle, version)]
    plain += [f"/receipts/{middle}"]
    asked: list[tuple[str, dict[str, str]]] = [(f"/v1{path}{end}", {}) for end in plain]
    asked += [(f"/v1{path}/events", {"Accept": MEDIA_TYPE}), (f"/v1{path}/events", {"Accept": "text/event-stream"})]
    asked += [(f"{path}{end}", {}) for end in ("", f"/at/{middle}", "/audit", "/replay")]
    asked += [("/v1/games", {}), ("/v1/games?status=finished", {}), ("/v1/library", {}), ("/v1/luck", {})]
    return asked


def answers(house: Any, settings: dict[str, Any], table: Any) -> dict[str, Any]:
    """What a worker without any memory answers."""
    house.deps = house.bootstrap(**settings)
    client = create_app(house.deps).test_client()
    path = table.path.removeprefix("/v1")
    version = house.deps.log.head(bytes.fromhex(table.id)).version
    given: dict[str, Any] = {}
    for address, headers in asked_of(path, version):
        sent = {"Authorization": f"Bearer {table.creator.token}", **headers}
        answer = client.get(address, headers=sent)
        given[f"{address} {headers}"] = (
            answer.status_code,
            answer.headers.get("ETag"),
            answer.content_type,
            answer.data,
        )
    return given


@pytest.mark.parametrize("kind", KINDS)
def test_every_answer_is_the_same_before_in_and_after_the_archive(
    kept: Any, settings: dict[str, Any], publish: Callable[[], None], kind: str
) -> None:
    table = KINDS[kind](kept)
    publish()
    game_id = bytes.fromhex(table.id)
    before = answers(kept, settings, table)
    statuses = {name: status for name, (status, *_) in before.items()}
    assert {name: status for name, status in statuses.items() if status not in (200, 404, 409)} == {}
    assert sum(status == 200 for status in statuses.values()) > 25, statuses
    assert archive_game(kept.deps, game_id) is True
    keys = Keys.of(game_id)
    assert kept.redis.exists(keys.stream, keys.idem) == 0
    there = answers(kept, settings, table)
    assert {name: value for name, value in there.items() if value != before[name]} == {}
    assert kept.deps.archiving.bring_back(game_id) is True
    after = answers(kept, settings, table)
    assert {name: value for name, value in after.items() if value != before[name]} == {}


def test_old_answers_are_given_again(kept: Any, settings: dict[str, Any], publish: Callable[[], None]) -> None:
    ada, bob = kept.player("Ada"), kept.player("Bob")
    table = ada.opens(options={"stalemate_rounds": 1})
    table.seat(bob)
    table.starts()
    first = table.shown()["to_act"][0]
    who, version = (ada, bob)[first - 1], table.version
    asked = {"json": {"action": {"type": "end-turn"}, "expected_version": version}}
    done = who.post(f"{table.path}/actions", {"Idempotency-Key": "once"}, **asked)
    assert done.status_code == 201
    idle(table, [ada, bob])
    publish()
    archive_game(kept.deps, bytes.fromhex(table.id))
    kept.app = create_app(kept.bootstrap(**settings))
    who = who.at(kept.nobody)
    again = who.post(f"{table.path}/actions", {"Idempotency-Key": "once"}, **asked)
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")
    assert again.json["receipt"] == done.json["receipt"]
    other = who.post(f"{table.path}/actions", {"Idempotency-Key": "twice"}, **asked)
    assert other.status_code in (409, 412)


def test_an_archived_game_is_forked_and_disputed(
    kept: Any, settings: dict[str, Any], publish: Callable[[], None]
) -> None:
    table = stalemate(kept)
    publish()
    archive_game(kept.deps, bytes.fromhex(table.id))
    kept.app = create_app(kept.bootstrap(**settings))
    ada, bob = (player.at(kept.nobody) for player in table.seated)
    fork = ada.post(f"{table.path}/forks", json={"version": 6})
    assert fork.status_code == 201, fork.text
    path = fork.json["links"]["self"]
    assert bob.post(f"{path}/seats").status_code == 201
    assert ada.post(f"{path}/start").status_code == 200
    assert ada.get(f"{path}/state").json["state"] == ada.get(f"{table.path}/positions/6").json["state"]
    made = ada.post(f"{table.path}/disputes", json={"event": 7, "text": "That was my turn."})
    assert made.status_code == 201, made.text
    case = f"/v1/cases/{made.json['case_id']}"
    assert bob.post(f"{case}/answers", json={"text": "It was not."}).status_code == 201
    audrey = kept.auditor()
    assert audrey.post(f"{case}/ruling", json={"ruling": "void", "text": "Because."}).status_code == 201
    assert ada.get(table.path).json["effective"]["status"] == "void"
    assert ada.get(f"{case}/audit").status_code == 200
    publish()
    with pytest.raises(CannotArchive, match="only closed games"):
        kept.deps.archiving.let_go(bytes.fromhex(made.json["case_id"]))


def test_only_what_stands_in_the_log_of_games_is_archived(kept: Any, publish: Callable[[], None]) -> None:
    first = stalemate(kept)
    assert archive_game(kept.deps, bytes.fromhex(first.id)) is True  # there is no log of games
    second = stalemate(kept)
    publish()
    assert archive_game(kept.deps, bytes.fromhex(second.id)) is True
    third = stalemate(kept)
    with pytest.raises(NotLogged):
        archive_game(kept.deps, bytes.fromhex(third.id))
    kept.deps = kept.bootstrap(archive_dir=kept.deps.config.archive_dir, log_dir="/nowhere")
    with pytest.raises(NotLogged):  # the log of games is somewhere else
        archive_game(kept.deps, bytes.fromhex(third.id))


def test_a_log_of_games_that_is_begun_anew_holds_the_archived_games(
    kept: Any, settings: dict[str, Any], publish: Callable[[], None], tmp_path: Path
) -> None:
    table = stalemate(kept)
    publish()
    archive_game(kept.deps, bytes.fromhex(table.id))
    kept.redis.delete("{log}:signed")
    kept.deps = kept.bootstrap(**{**settings, "log_dir": str(tmp_path / "new")})
    kept.app = create_app(kept.deps)
    sequencer = sequencer_of(kept.deps)
    assert sequencer is not None
    while sequencer.step():
        pass
    sequencer.close()
    for end in ("open", "close"):
        assert kept.nobody.get(f"{table.path}/proofs/{end}").status_code == 200


@pytest.mark.parametrize("harm", ["missing", "flipped"])
def test_a_broken_archive_is_said_so_everywhere_and_never_answers_wrong(
    kept: Any, settings: dict[str, Any], publish: Callable[[], None], harm: str, capsys: Any
) -> None:
    table, sound = stalemate(kept), stalemate(kept)
    publish()
    for one in (table, sound):
        archive_game(kept.deps, bytes.fromhex(one.id))
    path = kept.deps.archiving.archive.place(bytes.fromhex(table.id))
    data = bytearray(path.read_bytes())
    path.unlink()
    if harm == "flipped":
        data[100] ^= 1
        path.write_bytes(data)
    kept.deps = kept.bootstrap(**settings)
    kept.app = create_app(kept.deps)
    ada = table.creator.at(kept.nobody)
    audit = ada.get(f"{table.path}/audit")
    assert audit.status_code == 200
    assert audit.json["verdict"] not in ("VERIFIED", "VERIFIED WITH LIMITS")
    chain = next(check for check in audit.json["checks"] if check["id"] == "V3")
    assert (chain["result"], chain["event"]) == ("FAIL", 1)
    assert "missing" in chain["detail"]
    (item,) = kept.deps.log.read(bytes.fromhex(table.id)).items
    assert isinstance(item, Damage)
    assert audit_bundle(ada.get(f"{table.path}/bundle").data, Trust()).verdict == "NOT PROVEN"
    for end in ("", "/state", "/events", "/replay", "/positions/3"):
        answer = ada.get(table.path + end)
        told = answer.json if answer.status_code == 200 else {}
        assert told.get("grade", "DIVERGED") == "DIVERGED", (end, told)
        assert not told.get("events"), end
    assert ada.get(sound.path).json["grade"] == "EXACT"
    assert run_validate(kept.deps.log, [table.id]) == 2
    assert run_validate(kept.deps.log, [sound.id]) == 0
    assert by_hand.run_bring_back(kept.deps, [bytes.fromhex(table.id)]) == 1


def test_an_archive_that_is_not_there_is_told_to_try_again(
    kept: Any, settings: dict[str, Any], publish: Callable[[], None], tmp_path: Path, refusal: Any
) -> None:
    table = stalemate(kept)
    publish()
    archive_game(kept.deps, bytes.fromhex(table.id))
    kept.app = create_app(kept.bootstrap(**{**settings, "archive_dir": str(tmp_path / "unmounted")}))
    answer = table.creator.at(kept.nobody).get(table.path)
    assert refusal(answer) == "503 unavailable"
    assert "Retry-After" in answer.headers


# -- who archives ----------------------------------------------------------------------------------------------------


def test_the_archiver_moves_what_ended_long_enough_ago(kept: Any, settings: dict[str, Any]) -> None:
    assert archiver_of(kept.deps) is None
    old = stalemate(kept)
    kept.clock.pass_seconds(5 * 86_400)
    young, running = stalemate(kept), kept.player().opens()
    kept.clock.pass_seconds(4 * 86_400)
    kept.deps.index.catch_up()
    kept.deps.config = kept.bootstrap(**settings, archive_after_days=7).config
    archiver = archiver_of(kept.deps)
    assert archiver is not None
    before = GAMES_ARCHIVED._value.get()
    assert archiver.look(threading.Event()) == 1
    assert GAMES_ARCHIVED._value.get() == before + 1
    archived = {table.id: kept.deps.log.head(bytes.fromhex(table.id)).archived for table in (old, young, running)}
    assert archived == {old.id: True, young.id: False, running.id: False}
    assert [row.game_id for row in old_games(kept.deps, 0)] == [young.id]
    assert archiver.look(threading.Event()) == 0
    list(kept.deps.index.rebuild())
    kept.clock.pass_seconds(4 * 86_400)
    assert archiver.look(threading.Event()) == 1
    assert list(old_games(kept.deps, 0)) == []


def test_the_archiver_works_beside_the_clerk(tmp_path: Path) -> None:
    """The process that `annals serve` starts, with a game that ended ten days ago."""
    made = Config(data=tmp_path, keys=f"test={'11' * 32}", receipts_key=Signer.create("a.example/receipts").skey)
    with closing(open_database(tmp_path)) as database:
        deps = bootstrap(made, database.client, lambda: time.time_ns() // 1_000_000 - 10 * 86_400_000)
        game, _ = commands.create(
            deps, secrets.token_bytes(16), commands.Table("dungeon-roll@1", 1, {}, "public", "open", {}), None
        )
        commands.void(deps, game.id, "restored")
        environment = os.environ | {
            "ANNALS_DATA": str(tmp_path),
            "REDIS_URL": f"unix://{database.client.connection_pool.connection_kwargs['path']}",
            "ANNALS_KEYS": made.keys,
            "ANNALS_RECEIPTS_KEY": made.receipts_key,
            "ANNALS_ARCHIVE_AFTER_DAYS": "7",
            "ANNALS_DEMO": "no",
        }
        with subprocess.Popen([sys.executable, "-m", "service", "clerk"], env=environment) as process:
            try:
                deadline = time.monotonic() + 60
                while not deps.log.head(game.id).archived and process.poll() is None and time.monotonic() < deadline:
                    time.sleep(0.05)
            finally:
                process.terminate()
                process.wait(30)
        assert process.returncode == 0
        assert deps.log.head(game.id).archived
        assert [event.kind for event in whole(deps.log, game.id) if isinstance(event, Event)][-1] == "close"


def test_what_cannot_be_archived_keeps_no_other_game_waiting(kept: Any) -> None:
    bad, good = stalemate(kept), stalemate(kept)
    kept.deps.index.catch_up()
    kept.redis.xdel(Keys.of(bytes.fromhex(bad.id)).stream, "7-0")
    archiver, before = Archiver(kept.deps), ARCHIVE_FAILURES._value.get()
    assert archiver.look(threading.Event()) == 1
    assert ARCHIVE_FAILURES._value.get() == before + 1
    assert archiver.look(threading.Event()) == 0
    assert ARCHIVE_FAILURES._value.get() == before + 1  # it is left alone for a while
    assert kept.deps.log.head(bytes.fromhex(good.id)).archived


def test_the_archiver_outlives_a_full_disk_and_a_lost_database(kept: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    stalemate(kept)
    kept.deps.index.catch_up()
    archiver, looks = Archiver(kept.deps), list[int]()
    failures = [OSError(28, "No space left on device"), Unavailable("gone"), ValueError("nobody foresaw"), None]

    class Looks(threading.Event):
        def wait(self, timeout: float | None = None) -> bool:
            looks.append(1)
            return len(looks) > len(failures)

    def let_go(game_id: bytes) -> bool:
        if (failure := failures[len(looks) - 1]) is not None:
            raise failure
        return let(game_id)

    let = kept.deps.archiving.let_go
    monkeypatch.setattr(kept.deps.archiving, "let_go", let_go)
    archiver.run(Looks())
    assert list(old_games(kept.deps, 0)) == []


def test_games_are_archived_and_brought_back_by_hand(kept: Any, capsys: Any) -> None:
    table, running = stalemate(kept), kept.player().opens()
    one, other = bytes.fromhex(table.id), bytes.fromhex(running.id)
    assert by_hand.run_archive(kept.deps, [one, other], None) == 1
    out, err = capsys.readouterr()
    assert out.splitlines()[-2:] == [f"{table.id}  archived", "1 games archived"]
    assert err.splitlines()[-1:] == [f"{running.id}  left alone: only closed games are archived"]
    assert by_hand.run_archive(kept.deps, [one], None) == 0
    assert f"{table.id}  is there already" in capsys.readouterr().out
    assert by_hand.run_bring_back(kept.deps, []) == 0
    assert capsys.readouterr().out == f"{table.id}  brought back\n1 games brought back\n"
    assert by_hand.run_archive(kept.deps, [], 0) == 0
    assert kept.deps.log.head(one).archived


def test_the_commands_say_what_is_wrong_with_a_call() -> None:
    from service.cli import main

    for call in (
        ["archive"], ["archive", "00" * 16, "--older-than", "3"], ["restore"], ["restore", "--all", "00" * 16],
        ["restore", "--all", "--until", "2026-01-01"], ["restore", "--from", ".", "--until", "yesterday"],
    ):  # fmt: skip
        assert CliRunner().invoke(main, call).exit_code == 2, call
