"""The one client: nothing is sent twice, and every failure says what is known."""

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from unittest.mock import patch

import pytest
import redis

from events import redis_client
from events.embedded import Embedded
from events.log import BLOCK_LIMIT_MS, OutcomeUnknown, Unavailable
from events.redis_client import SOCKET_TIMEOUT_S, Wire, connect, fsync_policy, replicas


@pytest.fixture
def listener(data: Path) -> Iterator[socket.socket]:
    """A server of our own making, at ``<data>/fake.sock``."""
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(str(data / "fake.sock"))
        server.listen()
        yield server


def test_replies_come_as_the_server_sends_them(client: redis.Redis) -> None:
    wire = Wire(client)
    h, s = "{t}:h", "{t}:s"
    client.delete(h, s)
    replies = wire.call(
        ("HSET", h, b"\xff\x00", b"\xfe", "n", 7), ("HGETALL", h), ("XADD", s, "1-0", "e", b"\x80"),
        ("XRANGE", s, "-", "+"), ("XREAD", "STREAMS", s, "0"), ("HMGET", h, "n", "none"),
    )  # fmt: skip
    assert replies == [
        2, [b"\xff\x00", b"\xfe", b"n", b"7"], b"1-0", [[b"1-0", [b"e", b"\x80"]]],
        [[b"{t}:s", [[b"1-0", [b"e", b"\x80"]]]]], [b"7", None],
    ]  # fmt: skip
    client.delete(h, s)


def test_an_address_cannot_change_how_the_client_speaks(server: Embedded) -> None:
    client = connect(server.url + "?protocol=3&decode_responses=yes&socket_timeout=1&retry_on_timeout=yes")
    kwargs = client.connection_pool.connection_kwargs
    assert (kwargs["protocol"], kwargs["decode_responses"], kwargs["retry_on_timeout"]) == (2, False, False)
    assert kwargs["socket_timeout"] == SOCKET_TIMEOUT_S
    assert kwargs["retry"].get_retries() == 0
    assert Wire(client).call(("PING",)) == [b"PONG"]
    client.close()


def test_a_wait_ends_before_the_client_gives_up() -> None:
    assert BLOCK_LIMIT_MS < 1_000 * SOCKET_TIMEOUT_S


@pytest.mark.parametrize("url", ["", "localhost", "http://localhost", "redis+sentinel://localhost", "redis+cluster://"])
def test_an_address_that_is_none_is_refused(url: str) -> None:
    with pytest.raises(ValueError):
        connect(url)


def test_an_error_in_one_command_leaves_the_connection_in_step(client: redis.Redis) -> None:
    wire = Wire(client)
    client.set("text", "value")
    for _ in range(3):
        with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
            wire.call(("GET", "text"), ("HGET", "text", "field"), ("GET", "text"), ("HGET", "text", "field"))
        assert wire.call(("GET", "text"), ("STRLEN", "text")) == [b"value", 5]
    client.delete("text")


@pytest.mark.parametrize("reply", [b"", b"$100\r\nhalf of", b"*2\r\n:1\r\n"])
def test_a_command_without_an_answer_is_sent_once_and_its_outcome_is_unknown(
    data: Path, listener: socket.socket, reply: bytes
) -> None:
    received: list[bytes] = []

    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            received.append(connection.recv(4_096))
            connection.sendall(reply)

    client = connect(f"unix://{data}/fake.sock")
    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(OutcomeUnknown):
        Wire(client).call(("XADD", "s", "*", "e", "x"))
    thread.join()
    listener.setblocking(False)
    with pytest.raises(BlockingIOError):
        listener.accept()
    assert received == [b"*5\r\n$4\r\nXADD\r\n$1\r\ns\r\n$1\r\n*\r\n$1\r\ne\r\n$1\r\nx\r\n"]
    client.close()


@pytest.mark.parametrize(
    "refusal",
    [
        "LOADING Redis is loading the dataset in memory",
        "READONLY You can't write against a read only replica.",
        "OOM command not allowed when used memory > 'maxmemory'.",
        "MISCONF Errors writing to the AOF file: No space left on device",
        "NOREPLICAS Not enough good replicas to write.",
        "CLUSTERDOWN The cluster is down",
        "MASTERDOWN Link with MASTER is down and replica-serve-stale-data is set to 'no'.",
        "TRYAGAIN Multiple keys request during rehashing of slot",
        "BUSY Redis is busy running a script. You can only call SCRIPT KILL or SHUTDOWN NOSAVE.",
    ],
)
def test_a_server_that_takes_nothing_now_is_unavailable_and_the_outcome_known(
    data: Path, listener: socket.socket, refusal: str
) -> None:
    def serve() -> None:
        connection, _ = listener.accept()
        with connection:
            connection.recv(4_096)
            connection.sendall(f"-{refusal}\r\n".encode())

    client = connect(f"unix://{data}/fake.sock")
    thread = threading.Thread(target=serve)
    thread.start()
    with pytest.raises(Unavailable) as raised:
        Wire(client).call(("SET", "a", "b"))
    assert not isinstance(raised.value, OutcomeUnknown)
    thread.join()
    client.close()


def test_connections_that_died_while_idle_are_not_used(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        client = connect(server.url)
        wire = Wire(client)
        for _ in range(3):
            assert wire.call(("PING",)) == [b"PONG"]
            os.kill(int((data / "redis.pid").read_text()), signal.SIGKILL)
            server.ensure()
        assert wire.call(("PING",)) == [b"PONG"]
        client.close()


def test_when_a_write_is_on_disk_is_told_or_unknown(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        client = connect(server.url)
        assert fsync_policy(client) == "always"
        for policy in ("everysec", "no"):
            client.config_set("appendfsync", policy)
            assert fsync_policy(client) == policy
        client.config_set("appendonly", "no")
        assert fsync_policy(client) == "off"
        client.execute_command("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-config")
        limited = connect(server.url.replace("unix://", "unix://app@") + "?password=secret")
        assert fsync_policy(limited) == "unknown"
        limited.close()
        client.close()


def test_how_many_replicas_there_are_is_told_or_unknown(data: Path, program: Path) -> None:
    with Embedded(data, binary=program) as server:
        client = connect(server.url)
        assert replicas(client) == 0
        client.execute_command("ACL", "SETUSER", "app", "on", ">secret", "~*", "+@all", "-info")
        limited = connect(server.url.replace("unix://", "unix://app@") + "?password=secret")
        assert replicas(limited) is None
        limited.close()
        client.close()


def test_a_database_in_this_process_does_not_tell_when_it_writes() -> None:
    from events.redis_client import ephemeral

    client = ephemeral()
    assert fsync_policy(client) == "unknown"
    client.close()


def test_a_connection_whose_answer_was_not_read_is_not_used_again_as_it_is(server: Embedded) -> None:
    """Whoever is interrupted while it waits leaves an answer behind, which must not be the next one's."""

    class Interrupted(BaseException):
        pass

    client = connect(server.url)
    wire = Wire(client)
    wire.call(("SET", "a", "1"), ("SET", "b", "2"))
    read = patch.object(redis.connection.AbstractConnection, "read_response", side_effect=Interrupted)
    with read, pytest.raises(Interrupted):
        wire.call(("GET", "a"))
    assert wire.call(("GET", "b")) == [b"2"]
    client.close()


def test_a_clean_connection_is_used_again_at_once_and_looked_at_when_it_lay_idle(server: Embedded) -> None:
    client = connect(server.url)
    wire = Wire(client)
    assert wire.call(("PING",)) == [b"PONG"]
    with patch.object(redis.ConnectionPool, "get_connection", side_effect=AssertionError):
        for _ in range(3):
            assert wire.call(("PING",)) == [b"PONG"]
    get = redis.ConnectionPool.get_connection
    with (
        patch.object(redis_client, "CLEAN_S", 0),
        patch.object(redis.ConnectionPool, "get_connection", autospec=True, side_effect=get) as looked,
    ):
        assert wire.call(("PING",)) == [b"PONG"]
    assert looked.call_count == 1
    assert len(client.connection_pool._in_use_connections) == 1
    client.close()
