"""The servers on which the log must behave the same. One more adapter is one more line in BACKENDS."""

import os
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis

from bench.clusters import cluster
from events.embedded import Embedded, find_server, server_version
from events.redis_client import connect, ephemeral
from events.redis_log import RedisLog

BACKENDS = ("fakeredis", "valkey", "redis-server", "cluster")
REAL = BACKENDS[1:3]


@dataclass
class Backend:
    """A database to test on; ``server`` is None where it is not one process of its own."""

    client: redis.Redis
    server: Embedded | None


def binary(name: str) -> Path:
    if name == "valkey":
        return find_server()
    if (found := shutil.which(name)) is None:
        if os.environ.get("CI") == "true":
            pytest.fail(f"{name} is not installed, and CI must test on it")
        pytest.skip(f"{name} is not installed and could not be")
    if server_version(Path(found)) < (7, 0):
        pytest.skip(f"{found} is older than 7.0")
    return Path(found)


@pytest.fixture
def data() -> Iterator[Path]:
    """A directory with a short name, since the path of a unix socket must be short."""
    with tempfile.TemporaryDirectory(prefix="annals-") as folder:
        yield Path(folder)


@pytest.fixture(scope="session", params=BACKENDS)
def backend(request: pytest.FixtureRequest) -> Iterator[Backend]:
    if request.param == "fakeredis":
        yield Backend(ephemeral(), None)
        return
    if request.param == "cluster":
        with cluster(replicas=0) as made:
            client = connect(made.url)
            yield Backend(client, None)
            client.close()
        return
    program = binary(request.param)
    with tempfile.TemporaryDirectory(prefix="annals-") as folder, Embedded(Path(folder), binary=program) as server:
        client = connect(server.url)
        yield Backend(client, server)
        client.close()


@pytest.fixture(params=REAL)
def program(request: pytest.FixtureRequest) -> Path:
    """A real server's program, for tests that need a server of their own."""
    return binary(request.param)


@pytest.fixture
def client(backend: Backend) -> redis.Redis:
    return backend.client


@pytest.fixture
def server(backend: Backend) -> Embedded:
    """The server itself, for what cannot be done to a database in this process."""
    if backend.server is None:
        pytest.skip("what the test does to a server cannot be done here: it is in this process, or several")
    return backend.server


@pytest.fixture
def log(client: redis.Redis) -> RedisLog:
    return RedisLog(client)
