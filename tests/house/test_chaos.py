"""The harnesses of faults, in small: one fault under a little load, the wire that is cut, the clock that is set."""

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from bench import soak
from bench.chaos import __main__ as chaos
from bench.chaos import skewed
from bench.chaos.faults import FAULTS
from bench.chaos.proxy import Proxy

pytestmark = pytest.mark.skipif(not Path("/proc").is_dir(), reason="processes are found and counted through /proc")


def test_a_database_that_is_killed_under_load_breaks_no_promise() -> None:
    fault = next(fault for fault in FAULTS if fault.name == "database")
    outcome = chaos.suffer(replace(fault, rounds=1), seconds=0.2, clients=3)
    assert outcome.lines == []
    assert outcome.judgement.acknowledged > 0
    assert outcome.judgement.whole == outcome.judgement.games >= 3
    assert outcome.judgement.streamed > 0
    (row,) = chaos.table([outcome]).splitlines()[2:]
    assert f"| {outcome.judgement.acknowledged:,} |" in row


@pytest.fixture
def wire(tmp_path: Path) -> Iterator[tuple[Proxy, list[bytes]]]:
    """A proxy before something that says back what it hears, and what that heard."""
    path, heard = tmp_path / "echo", list[bytes]()
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()

    def speak(one: socket.socket) -> None:
        with one:
            while data := one.recv(100):
                heard.append(data)
                one.sendall(data)

    def listen() -> None:
        while True:
            try:
                one, _ = listener.accept()
            except OSError:
                return
            threading.Thread(target=speak, args=(one,), daemon=True).start()

    threading.Thread(target=listen, daemon=True).start()
    with Proxy(path).running() as proxy:
        yield proxy, heard
    listener.close()


def connected(proxy: Proxy) -> socket.socket:
    host, _, port = proxy.url.removeprefix("redis://").partition(":")
    return socket.create_connection((host, int(port)), timeout=20)


def test_a_wire_carries_loses_holds_back_and_is_cut(wire: tuple[Proxy, list[bytes]]) -> None:
    proxy, heard = wire
    with connected(proxy) as one:
        one.sendall(b"open")
        assert one.recv(100) == b"open"
        proxy.set("silent")
        one.sendall(b"answered to nobody")
        proxy.set("open")
        assert one.recv(100) in (b"", b"answered to nobody")  # lost, or it was faster than the cut
    with connected(proxy) as one:
        one.sendall(b"open")
        assert one.recv(100) == b"open"
        proxy.set("deaf")
        one.sendall(b"held back")
        one.settimeout(0.2)
        with pytest.raises(TimeoutError):
            one.recv(100)
        assert b"held back" not in heard
        one.settimeout(20)
        proxy.set("open")
        assert one.recv(100) == b"held back"
        proxy.set("cut")
        assert one.recv(100) == b""
    with connected(proxy) as one:
        assert one.recv(100) == b""


def test_a_clock_is_set_for_a_process_from_outside(tmp_path: Path) -> None:
    (tmp_path / "sitecustomize.py").write_text(Path(skewed.__file__).read_text())
    clock = tmp_path / "clock"
    clock.write_bytes((-3_600_000_000_000).to_bytes(8, "little", signed=True))
    program = "import os, time; print(time.time(), time.time_ns() / 1e9, os.stat('.').st_atime)"
    environment = os.environ | {"PYTHONPATH": str(tmp_path), "CHAOS_CLOCK": str(clock)}
    command = [sys.executable, "-c", f"{program}; print(__import__('datetime').datetime.now().timestamp())"]
    shifted = subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.split()
    plain = subprocess.run(command, capture_output=True, text=True, check=True).stdout.split()
    for late, now in zip(shifted[:2], plain[:2], strict=True):
        assert 3_500 < float(now) - float(late) < 3_700


def minutes(count: int, **last: float) -> list[soak.Minute]:
    """Minutes of a service at rest; ``last``: what is different about the last half."""
    taken = []
    for number in range(1, count + 1):
        late = last if number > count / 2 else {}
        parts = ("supervisor", "web server", "worker", "clerk")
        taken.append(
            soak.Minute(
                number, 50, 10 * late.get("p50", 1), 20 * late.get("p99", 1), 2,
                dict.fromkeys(parts, 80 * late.get("rss", 1)),
                {part: int(20 * late.get("files", 1)) for part in parts},
                1000 * number, number * late.get("database", 1),
            )
        )  # fmt: skip
    return taken


def test_a_soak_fails_by_what_grew_and_by_nothing_else() -> None:
    assert soak.grown(minutes(20)) == []
    assert soak.grown(minutes(20, rss=1.05, files=1.1, p50=1.4, p99=1.9, database=1.05)) == []
    assert soak.grown(minutes(3, rss=9)) == [], "too short to tell"
    for what, told in {"rss": "memory of the worker", "files": "open files of the clerk", "database": "of the database",
                       "p50": "median latency", "p99": "p99 latency"}.items():  # fmt: skip
        assert any(told in line for line in soak.grown(minutes(20, **{what: 3.0})))
    assert soak.table(minutes(20)).count("\n") == 21
