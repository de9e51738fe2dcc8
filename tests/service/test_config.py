"""Settings and the keyring."""

import os
import re
import stat
from pathlib import Path
from typing import Any

import pytest

from service.bootstrap import bootstrap, keyring
from service.config import BadSetting, Config, documented
from service.keys import BadKeyring, Keyring

DOCS = Path(__file__).parents[2] / "docs" / "configuration.md"


def test_the_table_in_the_docs_is_this_one() -> None:
    rows = re.findall(r"^\| `(\w+)` \| (?:`(.*)`)? ?\| (.*) \|$", DOCS.read_text(), re.MULTILINE)
    assert rows == documented()


def test_without_variables_everything_has_a_default() -> None:
    config = Config.read({})
    assert config == Config()
    assert (config.host, config.port, config.durability, config.data) == ("127.0.0.1", 8000, "always", Path(".annals"))


def test_variables_are_read_and_options_go_before_them() -> None:
    environment = {"ANNALS_PORT": " 9000 ", "ANNALS_EPHEMERAL": "yes", "ANNALS_DATA": "/d", "ANNALS_HEARTBEAT_S": "2.5"}
    config = Config.read(environment, port=9001)
    assert (config.port, config.ephemeral, config.data, config.heartbeat_s) == (9001, True, Path("/d"), 2.5)


@pytest.mark.parametrize(
    ("variable", "value"),
    [
        ("ANNALS_PORT", "http"),
        ("ANNALS_PORT", "65536"),
        ("ANNALS_PORT", "-1"),
        ("ANNALS_EPHEMERAL", "perhaps"),
        ("ANNALS_DURABILITY", "sometimes"),
        ("ANNALS_WORKERS", "0"),
        ("ANNALS_HEARTBEAT_S", "16"),
        ("ANNALS_HEARTBEAT_S", "nan"),
        ("ANNALS_BOT_PAUSE_MS", "1.5"),
    ],
)
def test_a_setting_that_cannot_be_is_refused_by_name(variable: str, value: str) -> None:
    with pytest.raises(BadSetting, match=variable):
        Config.read({variable: value})


def test_without_a_database_nothing_is_put_together() -> None:
    with pytest.raises(ValueError, match="REDIS_URL"):
        bootstrap(Config(keys=f"a={'00' * 32}"))


# -- the keyring -----------------------------------------------------------------------------------------------------


def test_a_keyring_is_read_first_key_first() -> None:
    ring = Keyring.parse(f"# old ones below\n\nnew = {'AB' * 32}\nold={'cd' * 32}\n")
    assert ring.current == "new"
    assert ring.masters == {"new": b"\xab" * 32, "old": b"\xcd" * 32}


@pytest.mark.parametrize(
    "text",
    [
        "",
        "# nothing",
        "a",
        "a=xyz",
        f"a={'00' * 31}",
        f"={'00' * 32}",
        f"é={'00' * 32}",
        f"a={'00' * 32},a={'11' * 32}",
    ],
)
def test_what_is_no_keyring_is_refused(text: str) -> None:
    with pytest.raises(BadKeyring):
        Keyring.parse(text)


def test_no_key_is_ever_shown() -> None:
    ring = Keyring.parse(f"a={'ab' * 32}")
    assert "ab" * 4 not in repr(ring) + str(ring) + f"{ring}"
    with pytest.raises(BadKeyring) as caught:
        Keyring.parse(f"a={'ab' * 32},a={'ab' * 32}")
    assert "ab" * 4 not in str(caught.value)


def test_a_keyring_is_made_once_with_mode_0600(tmp_path: Path) -> None:
    config = Config(data=tmp_path / "data")
    first = Keyring.create(config.keyring_path)
    assert stat.S_IMODE(config.keyring_path.stat().st_mode) == 0o600
    assert keyring(config).masters == first.masters
    assert Keyring.create(config.keyring_path).masters == first.masters
    assert os.listdir(tmp_path / "data") == ["keyring"]


def test_a_keyring_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "keyring"
    Keyring.create(path)
    path.chmod(0o640)
    with pytest.raises(BadKeyring, match="chmod 600"):
        Keyring.load(path)


def test_a_keyring_that_is_not_there_is_said(tmp_path: Path) -> None:
    with pytest.raises(BadKeyring, match="no keyring"):
        Keyring.load(tmp_path / "keyring")


def test_the_variable_goes_before_the_file(tmp_path: Path) -> None:
    config = Config(data=tmp_path, keys=f"a={'00' * 32}")
    assert keyring(config).current == "a"
    assert os.listdir(tmp_path) == []


def test_readiness_names_a_key_that_is_missing(house: Any) -> None:
    from service.app import create_app

    table = house.player().opens()
    assert house.nobody.get("/v1/games").json["games"][0]["game_id"] == table.id
    poor = house.bootstrap(durability="none")
    client = create_app(poor).test_client()
    assert client.get("/readyz").status_code == 200
    poor.keyring = Keyring.parse(f"other={'22' * 32}")
    answer = client.get("/readyz")
    assert answer.status_code == 503
    assert {"name": "keyring", "ok": False, "detail": "missing: test"} in answer.json["checks"]
    assert client.get("/healthz").json == {"status": "ok"}
