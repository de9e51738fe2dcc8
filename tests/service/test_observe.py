"""What the service tells about itself, and what it keeps to itself."""

import errno
import io
import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import structlog

from events.log import Unavailable
from service.api import play
from service.keys import Keyring
from service.running import logs, observe


class Full(io.StringIO):
    """A file on a disk without room."""

    asked = 0

    def write(self, text: str) -> int:
        self.asked += 1
        raise OSError(errno.ENOSPC, "No space left on device")


@contextmanager
def configured(level: str) -> Iterator[None]:
    """Logs as a process of the service writes them, and afterwards as before."""
    root = logging.getLogger()
    before, at = root.handlers[:], root.level
    logs.configure(level, "test")
    try:
        yield
    finally:
        structlog.reset_defaults()
        logs._LEAN.clear()
        root.handlers[:] = before
        root.setLevel(at)


def test_alive_is_who_answers(house: Any) -> None:
    answer = house.nobody.get("/healthz")
    assert (answer.status_code, answer.json) == (200, {"status": "ok"})
    assert answer.headers["Cache-Control"] == "no-store"


def test_a_service_is_ready_when_its_database_answers_and_its_keys_are_there(house: Any) -> None:
    answer = house.nobody.get("/readyz")
    assert answer.status_code == 200, answer.text
    assert answer.json["ready"]
    assert [check["name"] for check in answer.json["checks"]] == ["database", "durability", "keyring"]


def test_without_its_database_it_is_alive_and_not_ready(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def unreachable() -> None:
        raise Unavailable("out of reach, says the test")

    monkeypatch.setattr(house.deps.log, "feed_ends", unreachable)
    answer = house.nobody.get("/readyz")
    assert answer.status_code == 503
    assert answer.headers["Retry-After"]
    assert not answer.json["ready"]
    assert house.nobody.get("/healthz").status_code == 200


@pytest.mark.parametrize(
    ("found", "wanted", "ready"),
    [
        ("always", "always", True),
        ("everysec", "always", False),
        ("off", "always", False),
        ("everysec", "everysec", True),
        ("always", "everysec", True),
        ("no", "none", True),
        ("unknown", "always", True),
    ],
)
def test_a_database_that_forgets_more_than_was_asked_is_not_ready(
    house: Any, monkeypatch: pytest.MonkeyPatch, found: str, wanted: str, ready: bool
) -> None:
    monkeypatch.setattr(observe, "fsync_policy", lambda client: found)
    deps = house.bootstrap(durability=wanted)
    state = observe.readiness(deps)
    assert state.ready is ready
    assert found in state.checks[1].detail


@pytest.mark.parametrize(("found", "ready"), [(0, False), (1, False), (2, True), (3, True), (None, True)])
def test_a_database_with_fewer_replicas_than_are_waited_for_is_not_ready(
    house: Any, monkeypatch: pytest.MonkeyPatch, found: int | None, ready: bool
) -> None:
    monkeypatch.setattr(observe, "replicas", lambda client: found)
    monkeypatch.setattr(observe, "fsync_policy", lambda client: "always")
    state = observe.readiness(house.bootstrap(replicas=2))
    assert state.ready is ready
    assert [check.name for check in state.checks] == ["database", "durability", "replicas", "keyring"]
    assert "2 asked for" in state.checks[2].detail


def test_a_keyring_that_lacks_the_key_of_a_game_in_play_is_not_ready(house: Any, table: Any) -> None:
    house.deps.index.catch_up()
    house.deps.keyring = Keyring.parse(f"another={'22' * 32}")
    answer = house.nobody.get("/readyz")
    assert answer.status_code == 503
    assert answer.json["checks"][-1] == {"name": "keyring", "ok": False, "detail": "missing: test"}


def test_requests_are_counted_by_route_and_not_by_path(house: Any, table: Any) -> None:
    table.shown()
    text = house.nobody.get("/metrics").text
    assert 'route="/v1/games/<id:game_id>"' in text
    assert table.id not in text


def test_methods_that_nobody_knows_make_no_series_of_their_own(house: Any) -> None:
    house.nobody.request("BREW", "/v1/games")
    assert "BREW" not in house.nobody.get("/metrics").text


def test_logs_are_one_json_object_a_line(capsys: pytest.CaptureFixture[str]) -> None:
    with configured("info"):
        structlog.get_logger().info("said", game_id="ab", number=3)
        logging.getLogger("some.library").warning("also %s", "said")
    ours, theirs = map(json.loads, capsys.readouterr().err.splitlines())
    assert (ours["event"], ours["game_id"], ours["number"], ours["level"]) == ("said", "ab", 3, "info")
    assert (theirs["event"], theirs["level"], theirs["process"]) == ("also said", "warning", "test")


def test_a_secret_that_is_handed_to_a_logger_does_not_leave_it(capsys: pytest.CaptureFixture[str]) -> None:
    with configured("info"):
        structlog.get_logger().info("said", token="annals_x", header="Bearer annals_x", Authorization="annals_x")
        logging.getLogger("some.library").warning("with Bearer annals_x in it")
    assert "annals_x" not in capsys.readouterr().err


def test_no_log_of_a_whole_game_holds_a_token_or_a_name(
    house: Any, refusal: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    with configured("debug"):
        ada = house.player("Adalbert")
        table = ada.opens()
        table.seat(ada)
        table.starts().plays(3)
        assert refusal(ada.get("/v1/games/" + "0" * 32)) == "404 game-not-found"
    told = capsys.readouterr().err
    assert '"route":"/v1/games/<id:game_id>/actions"' in told
    assert ada.token not in told
    assert "Adalbert" not in told


def test_the_line_of_a_request_is_what_structlog_would_write(capsys: pytest.CaptureFixture[str]) -> None:
    entry = {"method": "GET", "route": "/v1/games", "status": 200, "ms": 1.25, "args": {"name": "Bearer annals_x"}}
    with configured("info"):
        logs.request(**entry)
        structlog.get_logger().info("request", **entry)
    lean, whole = capsys.readouterr().err.splitlines()
    assert "[redacted]" in lean
    moment = re.compile(r'"timestamp":"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d{6})?Z"')
    assert moment.sub("", lean) == moment.sub("", whole)
    assert moment.search(lean)


def test_a_level_above_info_leaves_the_lines_of_requests_out(house: Any, capsys: pytest.CaptureFixture[str]) -> None:
    with configured("warning"):
        assert house.nobody.get("/v1/games").status_code == 200
    assert capsys.readouterr().err == ""


def test_a_request_is_told_where_somebody_else_configured_structlog(house: Any) -> None:
    with structlog.testing.capture_logs() as told:
        assert house.nobody.get("/v1/games").status_code == 200
    assert [(entry["event"], entry["route"]) for entry in told] == [("request", "/v1/games")]


def test_what_cannot_be_logged_is_answered_all_the_same(table: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    full = Full()
    monkeypatch.setattr(sys, "stderr", full)
    with configured("debug"):
        assert table.first_legal().status_code == 201
        monkeypatch.setattr(play, "_accepted", None)
        assert table.first_legal().status_code == 500
    assert full.asked >= 4


def test_an_unknown_level_is_refused() -> None:
    with pytest.raises(ValueError, match="log level"):
        logs.configure("loud", "test")
