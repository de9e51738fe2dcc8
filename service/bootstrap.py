"""Everything a process of the service works with, made in one place and handed to whoever needs it."""

import secrets
from dataclasses import dataclass, field
from typing import Any

import redis

from events.archive import Archive
from events.archiving_log import ArchivingLog
from events.log import EventLog
from events.redis_client import connect, ephemeral
from service.accounts import Accounts, Creators
from service.animations import Animations
from service.clock import Clock, system_clock
from service.config import Config
from service.disputes.casebook import Accesses, Casebook
from service.index import Index
from service.keys import BadKeyring, Keyring, new_key_id
from service.limits import Limits
from service.luck import Luck
from service.positions import Positions
from service.proofs.receipts import Notary, Refusals
from service.proofs.signing_keys import SigningKeys
from service.snapshots import Snapshots


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
    signing: SigningKeys
    notary: Notary
    refusals: Refusals
    cases: Casebook
    accesses: Accesses
    luck: Luck
    limits: Limits
    animations: Animations = field(default_factory=Animations)
    hub: Any = None

    def missing_keys(self) -> list[str]:
        """The ids of master keys that games in play need and the keyring has not.

        :raises events.log.Unavailable: the database does not answer.
        """
        return sorted(self.index.key_ids() - self.keyring.masters.keys())

    @property
    def archiving(self) -> ArchivingLog:
        """The log, which moves games to the archive and back."""
        assert isinstance(self.log, ArchivingLog)
        return self.log

    def close(self) -> None:
        """End the live streams."""
        if self.hub is not None:
            self.hub.close()


def bootstrap(
    config: Config, client: redis.Redis | None = None, clock: Clock = system_clock, reading: bool = False
) -> Deps:
    """Put a process together on the database of ``config``, or on ``client``. Nothing is sent yet.

    ``reading``: it deals no dice and signs nothing, so keys that are not there are not missed.

    :raises service.keys.BadKeyring: a key is missing, or cannot be used.
    :raises ValueError: there is no address of a database.
    """
    given = client is not None
    if client is None:
        if config.redis_url:
            client = connect(config.redis_url)
        elif config.ephemeral:
            client = ephemeral()
        else:
            raise ValueError("REDIS_URL is not set")
    log = ArchivingLog(client, Archive(config.archive_path), config.replicas)
    kept = Snapshots(config.snapshots_path if not given and config.data.is_dir() else None)
    positions = Positions(log, config.cache_games, kept)
    cases = Casebook(client, log)
    keys = signing(config, given or reading)
    return Deps(
        config=config,
        redis=client,
        log=log,
        keyring=keyring(config, reading),
        clock=clock,
        accounts=Accounts(client, clock),
        creators=Creators(client),
        positions=positions,
        index=Index(client, log, positions, cases),
        signing=keys,
        notary=Notary(keys),
        refusals=Refusals(client, clock, config.refusals_days),
        cases=cases,
        accesses=Accesses(client, clock),
        luck=Luck(),
        limits=Limits(client, config.rate_limits),
    )


def keyring(config: Config, reading: bool = False) -> Keyring:
    """The keyring of the settings. In memory one of its own, and where one only reads, if there is none.

    :raises service.keys.BadKeyring: it is missing, or cannot be used.
    """
    if config.keys:
        return Keyring.parse(config.keys)
    if (config.ephemeral and not config.keys_file) or (reading and not config.keyring_path.exists()):
        return Keyring({new_key_id(): secrets.token_bytes(32)})
    return Keyring.load(config.keyring_path)


def signing(config: Config, alone: bool = False) -> SigningKeys:
    """The signing keys of the settings. Where there are none, fresh ones in memory and ``alone``.

    :raises service.keys.BadKeyring: they are missing, or cannot be used.
    """
    if (found := SigningKeys.find(config)) is not None:
        return found
    if config.ephemeral or alone:
        return SigningKeys.fresh(config.origin)
    raise BadKeyring(f"there is no receipts key in {config.key_folder}, and none in ANNALS_RECEIPTS_KEY")
