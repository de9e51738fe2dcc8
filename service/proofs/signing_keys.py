"""The keys with which the service signs: one for the log of games, another for receipts, refusals and bundles.

Both are Ed25519 keys of C2SP signed notes. The log key's name is the origin of the log; the receipts key's is that with
``/receipts`` behind. A key is one line, ``PRIVATE+KEY+<name>+<id>+<base64>``, in a file of mode 0600 or a setting.
"""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import redis

from events.notes import BadKey, Signer
from events.redis_client import Wire
from service.config import Config
from service.keys import BadKeyring, read_private, write_private

RECEIPTS: Final = "/receipts"
LOG_FILE: Final = "log.key"
RECEIPTS_FILE: Final = "receipts.key"
_KNOWN: Final = "{signing}:receipts"


@dataclass(frozen=True, slots=True, repr=False)
class SigningKeys:
    """What a process signs with. ``log`` is None where another host signs the log; ``kept``: do they outlive us?"""

    origin: str
    log: Signer | None
    receipts: Signer
    kept: bool = True

    def __repr__(self) -> str:
        return f"SigningKeys({self.origin!r})"

    @classmethod
    def fresh(cls, origin: str = "") -> "SigningKeys":
        """New keys that nothing keeps."""
        origin = origin or new_origin()
        return cls(origin, Signer.create(origin), Signer.create(origin + RECEIPTS), kept=False)

    @classmethod
    def find(cls, config: Config) -> "SigningKeys | None":
        """The keys of the settings, or of the files beside the keyring; None: there is no receipts key.

        :raises BadKeyring: a key cannot be used, or the two are not of one origin, or not of the one in the settings.
        """
        log = _key(config.log_key, "ANNALS_LOG_KEY", config.key_folder / LOG_FILE)
        receipts = _key(config.receipts_key, "ANNALS_RECEIPTS_KEY", config.key_folder / RECEIPTS_FILE)
        if receipts is None:
            return None
        name = receipts.name
        origin = name.removesuffix(RECEIPTS)
        if origin == name:
            raise BadKeyring(f"the receipts key's name {name!r} does not end with {RECEIPTS}")
        if log is not None and log.name != origin:
            raise BadKeyring(f"the log key is of {log.name!r}, the receipts key of {origin!r}")
        if config.origin not in ("", origin):
            raise BadKeyring(f"ANNALS_ORIGIN is {config.origin!r}, the keys are of {origin!r}")
        return cls(origin, log, receipts)

    @classmethod
    def create(cls, config: Config) -> "SigningKeys":
        """The keys that are there; those that are missing are made, each in a new file of mode 0600.

        No log key is made where the receipts key comes from the settings: then the log is signed elsewhere.

        :raises BadKeyring: a key cannot be used, or kept.
        """
        if (known := cls.find(config)) is not None and (known.log is not None or config.receipts_key):
            return known
        log = _key(config.log_key, "ANNALS_LOG_KEY", config.key_folder / LOG_FILE)
        origin = known.origin if known is not None else log.name if log is not None else config.origin or new_origin()
        try:
            if log is None:
                origin = _made(config.key_folder / LOG_FILE, origin).name  # another start may have been faster
            if known is None:
                _made(config.key_folder / RECEIPTS_FILE, origin + RECEIPTS)
        except OSError as error:
            raise BadKeyring(
                f"the signing keys cannot be kept in {config.key_folder} ({error.strerror}): "
                "set ANNALS_LOG_KEY and ANNALS_RECEIPTS_KEY"
            ) from error
        made = cls.find(config)
        assert made is not None, "it was just written"
        return made

    def remember(self, client: redis.Redis) -> None:
        """Leave the public half of the receipts key with the database.

        :raises events.log.Unavailable: it does not answer.
        """
        Wire(client).call(("SADD", _KNOWN, self.receipts.vkey))

    @staticmethod
    def known(client: redis.Redis) -> list[str]:
        """The public halves of the receipts keys that were ever used with a database.

        :raises events.log.Unavailable: it does not answer.
        """
        (members,) = Wire(client).call(("SMEMBERS", _KNOWN))
        return sorted(member.decode() for member in members)


def new_origin() -> str:
    """A name for a log that was given none. RFC 2606: it is nobody's."""
    return f"annals.invalid/{secrets.token_hex(4)}"


def _made(path: Path, name: str) -> Signer:
    write_private(path, Signer.create(name).skey + "\n")
    return _parsed(read_private(path, "signing key"), str(path))


def _key(text: str, variable: str, path: Path) -> Signer | None:
    """The key of a setting, else of a file; None: neither."""
    if text:
        return _parsed(text, variable)
    return _parsed(read_private(path, "signing key"), str(path)) if os.path.lexists(path) else None


def _parsed(text: str, where: str) -> Signer:
    try:
        return Signer.parse(text.strip())
    except BadKey:
        raise BadKeyring(f"{where} does not hold a signing key PRIVATE+KEY+...") from None  # the cause may quote it
