"""The keys that sign: made once, kept by themselves, told to nobody; and what a start without its keys does."""

import os
import shutil
import stat
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import redis

from events.embedded import open_database
from events.notes import Signer, Verifier, open_note, sign_note
from events.redis_client import ephemeral
from service.bootstrap import bootstrap, signing
from service.config import Config
from service.keys import BadKeyring, Keyring
from service.proofs.signing_keys import RECEIPTS, SigningKeys
from service.running.serve import CannotServe, _keys

ROOT = Path(__file__).resolve().parents[2]
ORIGIN = "play.example/gamelog"
NewDatabase = Callable[[], redis.Redis]


def at(folder: Path, **settings: Any) -> Config:
    return Config(data=folder, **settings)


def test_keys_are_made_once_each_in_a_file_of_its_own_with_mode_0600(tmp_path: Path) -> None:
    made = SigningKeys.create(at(tmp_path / "data", origin=ORIGIN))
    assert made.origin == ORIGIN
    assert made.log is not None
    assert (made.log.name, made.receipts.name) == (ORIGIN, ORIGIN + RECEIPTS)
    assert made.log.seed != made.receipts.seed
    assert sorted(os.listdir(tmp_path / "data")) == ["log.key", "receipts.key"]
    for name in ("log.key", "receipts.key"):
        assert stat.S_IMODE((tmp_path / "data" / name).stat().st_mode) == 0o600
    assert stat.S_IMODE((tmp_path / "data").stat().st_mode) == 0o700
    again = SigningKeys.create(at(tmp_path / "data"))
    assert (again.log, again.receipts, again.kept) == (made.log, made.receipts, True)


def test_starts_at_the_same_time_agree_on_the_keys(tmp_path: Path) -> None:
    with ThreadPoolExecutor(8) as pool:
        made = list(pool.map(lambda _: SigningKeys.create(at(tmp_path)), range(8)))
    assert len({keys.origin for keys in made}) == 1
    assert len({keys.receipts.seed for keys in made}) == 1
    assert len({keys.log.seed for keys in made if keys.log is not None}) == 1
    assert sorted(os.listdir(tmp_path)) == ["log.key", "receipts.key"]


def test_an_origin_that_nobody_named_is_nobodys_and_stays(tmp_path: Path) -> None:
    made = SigningKeys.create(at(tmp_path))
    assert made.origin.startswith("annals.invalid/")
    assert len(made.origin) == len("annals.invalid/") + 8
    assert SigningKeys.create(at(tmp_path)).origin == made.origin
    with pytest.raises(BadKeyring, match="ANNALS_ORIGIN"):
        SigningKeys.create(at(tmp_path, origin=ORIGIN))


def test_the_keys_lie_beside_the_keyring_apart_from_the_log(tmp_path: Path) -> None:
    SigningKeys.create(at(tmp_path / "data", keys_file=str(tmp_path / "keys" / "keyring")))
    assert sorted(os.listdir(tmp_path / "keys")) == ["log.key", "receipts.key"]
    assert not (tmp_path / "data").exists()


def test_settings_go_before_files(tmp_path: Path) -> None:
    SigningKeys.create(at(tmp_path))
    log, receipts = Signer.create(ORIGIN), Signer.create(ORIGIN + RECEIPTS)
    found = SigningKeys.find(at(tmp_path, log_key=log.skey, receipts_key=receipts.skey))
    assert found is not None
    assert (found.origin, found.log, found.receipts) == (ORIGIN, log, receipts)


def test_where_the_receipts_key_comes_from_the_settings_another_host_signs_the_log(tmp_path: Path) -> None:
    made = SigningKeys.create(at(tmp_path / "none", receipts_key=Signer.create(ORIGIN + RECEIPTS).skey))
    assert (made.origin, made.log) == (ORIGIN, None)
    assert not (tmp_path / "none").exists()


def test_a_log_key_from_the_settings_names_the_receipts_key_that_is_made(tmp_path: Path) -> None:
    made = SigningKeys.create(at(tmp_path, log_key=Signer.create(ORIGIN).skey))
    assert made.receipts.name == ORIGIN + RECEIPTS
    assert os.listdir(tmp_path) == ["receipts.key"]


@pytest.mark.parametrize(
    ("log", "receipts", "why"),
    [
        (Signer.create(ORIGIN).skey, Signer.create("other.example/receipts").skey, "log key is of"),
        ("", Signer.create(ORIGIN).skey, "does not end with /receipts"),
        ("", "PRIVATE+KEY+play.example/gamelog/receipts+00000000+AXNlY3JldA==", "ANNALS_RECEIPTS_KEY"),
        ("secret", "", "ANNALS_LOG_KEY"),
    ],
    ids=["two origins", "a name without receipts", "another id", "no key"],
)
def test_keys_that_do_not_go_together_or_are_none_are_refused(
    tmp_path: Path, log: str, receipts: str, why: str
) -> None:
    with pytest.raises(BadKeyring, match=why) as refused:
        SigningKeys.create(at(tmp_path, log_key=log, receipts_key=receipts))
    for secret in filter(None, (log, receipts)):
        assert secret not in str(refused.value)
        assert secret.split("+", 4)[-1] not in str(refused.value)


def test_a_key_that_others_may_read_is_refused(tmp_path: Path) -> None:
    SigningKeys.create(at(tmp_path))
    (tmp_path / "receipts.key").chmod(0o640)
    with pytest.raises(BadKeyring, match="chmod 600"):
        SigningKeys.find(at(tmp_path))


def test_no_key_is_in_a_repr_or_in_the_database(tmp_path: Path) -> None:
    config = at(tmp_path, log_key=Signer.create(ORIGIN).skey, receipts_key=Signer.create(ORIGIN + RECEIPTS).skey)
    config = Config(data=tmp_path, keys=f"a={'ab' * 32}", log_key=config.log_key, receipts_key=config.receipts_key)
    deps = bootstrap(config, ephemeral())
    assert deps.signing.log is not None
    deps.signing.remember(deps.redis)
    seeds = (deps.signing.log.seed, deps.signing.receipts.seed)
    told = [repr(deps), repr(config), repr(deps.signing), str(deps.signing)]
    for secret in (config.log_key, config.receipts_key, "ab" * 32, *(seed.hex() for seed in seeds), *map(repr, seeds)):
        assert all(secret not in text for text in told)
    stored = b"".join(b"".join(deps.redis.smembers(key)) for key in deps.redis.scan_iter())
    assert stored == deps.signing.receipts.vkey.encode()
    assert SigningKeys.known(deps.redis) == [deps.signing.receipts.vkey]


def test_the_public_half_opens_what_the_key_signs() -> None:
    keys = SigningKeys.fresh(ORIGIN)
    note = sign_note("said\n", keys.receipts)
    assert open_note(note, [Verifier.parse(keys.receipts.vkey)]).text == "said\n"


# -- starts ----------------------------------------------------------------------------------------------------------


def test_in_memory_the_keys_are_fresh_and_a_service_elsewhere_needs_its_own(tmp_path: Path) -> None:
    assert not signing(at(tmp_path, ephemeral=True)).kept
    with pytest.raises(BadKeyring, match="no receipts key"):
        signing(at(tmp_path))
    with pytest.raises(BadKeyring, match="no receipts key"):
        bootstrap(at(tmp_path, redis_url="redis://127.0.0.1:1", keys=f"a={'ab' * 32}"))
    assert os.listdir(tmp_path) == []


def test_an_empty_database_gets_keys_and_one_with_games_never_gets_others(
    tmp_path: Path, new_database: NewDatabase
) -> None:
    client, config = new_database(), at(tmp_path)
    _keys(client, config, empty=True)
    assert sorted(os.listdir(tmp_path)) == ["keyring", "log.key", "receipts.key"]
    (tmp_path / "keyring").rename(tmp_path / "away")
    with pytest.raises(CannotServe, match=r"their keyring is not at .*annals void key-lost"):
        _keys(client, config, empty=False)
    (tmp_path / "away").rename(tmp_path / "keyring")
    (tmp_path / "receipts.key").unlink()
    with pytest.raises(CannotServe, match="no receipts key is in"):
        _keys(client, config, empty=False)
    assert sorted(os.listdir(tmp_path)) == ["keyring", "log.key"]


def test_games_of_before_there_were_receipts_get_a_key_at_the_next_start(
    tmp_path: Path, new_database: NewDatabase
) -> None:
    Keyring.create(tmp_path / "keyring")
    client = new_database()
    _keys(client, at(tmp_path), empty=False)
    assert len(SigningKeys.known(client)) == 1


def test_a_new_receipts_key_in_the_place_of_the_old_is_remembered_beside_it(
    tmp_path: Path, new_database: NewDatabase
) -> None:
    client = new_database()
    _keys(client, at(tmp_path), empty=True)
    (tmp_path / "receipts.key").unlink()
    origin = SigningKeys.known(client)[0].partition("/receipts+")[0]
    _keys(client, at(tmp_path, receipts_key=Signer.create(origin + RECEIPTS).skey), empty=False)
    assert len(SigningKeys.known(client)) == 2


def test_the_command_keys_new_makes_what_is_missing_and_says_who_signs(tmp_path: Path) -> None:
    data = tmp_path / "data"
    open_database(data).close()
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("ANNALS_", "REDIS_URL"))}

    def run(*arguments: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "service", "keys", "--data", str(data), *arguments]
        return subprocess.run(
            command, env=clean | {"PYTHONPATH": str(ROOT)}, capture_output=True, text=True, check=False, timeout=60
        )

    refused = run()
    assert refused.returncode == 1
    assert "there is no keyring" in refused.stderr
    made = run("--new")
    assert made.returncode == 0, made.stderr
    assert "current" in made.stdout
    assert made.stdout.splitlines()[-1].endswith("  receipts")
    assert run().stdout == made.stdout
    shutil.rmtree(data)


def test_what_the_embedded_database_keeps_nobody_else_may_read(tmp_path: Path) -> None:
    data = tmp_path / "data"
    data.mkdir(mode=0o755)
    data.chmod(0o755)
    database = open_database(data)
    try:
        database.client.set("a", "b")
        found = {path: stat.S_IMODE(path.lstat().st_mode) for path in data.rglob("*")}
    finally:
        database.close()
    assert any("appendonly" in path.name for path in found)
    assert {str(path): oct(mode) for path, mode in found.items() if mode & 0o077} == {}
