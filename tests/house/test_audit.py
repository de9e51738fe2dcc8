"""The audit of dependencies: red for a known weakness, honest where nobody answers."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
LOCK = "flask==3.1.3 \\\n    --hash=sha256:00\n# via annals\nfakeredis[lua]==2.41 ; python_version >= '3.11' \\\n"

Answer = Callable[[dict[str, Any]], Any]


class Advisories:
    """A database of advisories on this machine, which answers as it is told."""

    def __init__(self) -> None:
        self.answer: Answer = lambda asked: {"results": [{} for _ in asked["queries"]]}
        self.asked: dict[str, Any] = {}
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                outer.asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                told = outer.answer(outer.asked)
                self.send_response(200 if told is not None else 503)
                self.end_headers()
                self.wfile.write(json.dumps(told).encode() if not isinstance(told, bytes) else told)

            def log_message(self, *_: Any) -> None:
                pass

        self.server = HTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self.server.server_port}/"


@pytest.fixture
def advisories() -> Iterator[Advisories]:
    made = Advisories()
    thread = threading.Thread(target=made.server.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield made
    made.server.shutdown()
    thread.join()
    made.server.server_close()


def audit(folder: Path, address: str) -> tuple[int, str]:
    lock = folder / "lock.txt"
    lock.write_text(LOCK)
    run = subprocess.run(
        [sys.executable, "requirements/audit.py", str(lock)],
        cwd=ROOT,
        env=os.environ | {"ANNALS_ADVISORIES": address, "no_proxy": "127.0.0.1"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    return run.returncode, run.stdout + run.stderr


def test_every_pinned_version_is_asked_about_and_none_known_is_well(advisories: Advisories, tmp_path: Path) -> None:
    status, said = audit(tmp_path, advisories.address)
    assert (status, said) == (0, "Dependencies audited: 2 pinned versions, 0 with a known weakness.\n")
    assert [(one["package"]["name"], one["version"]) for one in advisories.asked["queries"]] == [
        ("fakeredis", "2.41"), ("flask", "3.1.3")
    ]  # fmt: skip


def test_a_known_weakness_is_red(advisories: Advisories, tmp_path: Path) -> None:
    advisories.answer = lambda asked: {"results": [{}, {"vulns": [{"id": "GHSA-xxxx", "modified": "2026-01-01"}]}]}
    status, said = audit(tmp_path, advisories.address)
    assert status == 1
    assert "flask 3.1.3 has a known weakness: GHSA-xxxx" in said


@pytest.mark.parametrize("told", [None, b"<html>", b"[]", {"results": []}, {"results": None}], ids=str)
def test_an_answer_that_is_none_is_no_audit_and_says_so(advisories: Advisories, tmp_path: Path, told: Any) -> None:
    advisories.answer = lambda asked: told
    status, said = audit(tmp_path, advisories.address)
    assert status == 0
    assert said.startswith("Dependencies NOT AUDITED: no advisory database")


def test_where_nobody_answers_nothing_is_claimed(advisories: Advisories, tmp_path: Path) -> None:
    status, said = audit(tmp_path, "http://127.0.0.1:9/")
    assert status == 0
    assert said.startswith("Dependencies NOT AUDITED: no advisory database")


def test_make_check_audits() -> None:
    makefile = (ROOT / "Makefile").read_text()
    check = makefile.partition("\ncheck: ")[2].partition("\n\n")[0]
    assert "requirements/audit.py" in check
