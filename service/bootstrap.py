"""Everything a process of the service works with, made in one place and handed to whoever needs it."""

import secrets
from dataclasses import dataclass
from typing import Any

import redis

from events.log import EventLog
from events.redis_client import connect, ephemeral
from events.redis_log import RedisLog
from service.accounts import Accounts, Creators
from service.clock import Clock, system_clock
from service.config import Config
from service.index import Index
from service.keys import Keyring, new_key_id
from service.positions import Positions


@dataclass(slots=True)
class Deps:
    """What handlers, workers and commands are given. ``hub`` serves the live streams, once one was asked for."""

    config: Config
    redis: redis.Redis
    log: EventLog
    keyring: Keyring
    clock: Clock
    accounts: Accounts
    creators: Creators
    positions: Positions
    index: Index
    hub: Any = None

    def missing_keys(self) -> list[str]:
        """The ids of master keys that games in play need and the keyring has not.

        :raises events.log.Unavailable: the database does not answer.
        """
        return sorted(self.index.key_ids() - self.keyring.masters.keys())

    def close(self) -> None:
        """End the live streams."""
        if self.hub is not None:
            self.hub.close()


def bootstrap(config: Config, client: redis.Redis | None = None, clock: Clock = system_clock) -> Deps:
    """Put a process together on the database of ``config``, or on ``client``. Nothing is sent yet.

    :raises service.keys.BadKeyring: the keyring cannot be used.
    :raises ValueError: there is no address of a database.
    """
    if client is None:
        if config.redis_url:
            client = connect(config.redis_url)
        elif config.ephemeral:
            client = ephemeral()
        else:
            raise ValueError("REDIS_URL is not set")
    log = RedisLog(client, config.replicas)
    positions = Positions(log, config.cache_games)
    return Deps(
        config=config,
        redis=client,
        log=log,
        keyring=keyring(config),
        clock=clock,
        accounts=Accounts(client, clock),
        creators=Creators(client),
        positions=positions,
        index=Index(client, log, positions),
    )


def keyring(config: Config) -> Keyring:
    """The keyring of the settings; a new one where there is none yet (games that need another say so: not ready).

    :raises service.keys.BadKeyring: it cannot be used.
    """
    if config.keys:
        return Keyring.parse(config.keys)
    if config.ephemeral and not config.keys_file:
        return Keyring({new_key_id(): secrets.token_bytes(32)})
    path = config.keyring_path
    return Keyring.load(path) if path.exists() else Keyring.create(path)
