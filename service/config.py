"""Every setting of the service, read from environment variables (docs/configuration.md holds the table)."""

import math
from collections.abc import Mapping
from dataclasses import MISSING, dataclass, field, fields
from pathlib import Path
from typing import Any, Final, Literal, get_args

Durability = Literal["always", "everysec", "none"]


class BadSetting(ValueError):
    """An environment variable holds what its setting cannot be."""


def _of(variable: str, about: str) -> dict[str, str]:
    return {"variable": variable, "about": about}


@dataclass(frozen=True, slots=True)
class Config:
    """One field a setting; its environment variable and meaning stand in the field's metadata."""

    redis_url: str = field(
        default="", metadata=_of("REDIS_URL", "address of the database; empty: an embedded one is started")
    )
    data: Path = field(
        default=Path(".annals"), metadata=_of("ANNALS_DATA", "directory of the embedded database and of the keyring")
    )
    ephemeral: bool = field(
        default=False, metadata=_of("ANNALS_EPHEMERAL", "keep everything in memory and lose it at exit")
    )
    durability: Durability = field(
        default="always",
        metadata=_of("ANNALS_DURABILITY", "when the database must put writes on disk: always, everysec or none"),
    )
    replicas: int = field(
        default=0, metadata=_of("ANNALS_REPLICAS", "replicas that must have an action before it is acknowledged")
    )
    keys: str = field(
        default="",
        repr=False,
        metadata=_of("ANNALS_KEYS", "the keyring itself instead of a file: `id=64 hex digits`, by commas"),
    )
    keys_file: str = field(
        default="",
        metadata=_of("ANNALS_KEYS_FILE", "the keyring's file, mode 0600; empty: `keyring` in ANNALS_DATA"),
    )
    origin: str = field(
        default="",
        metadata=_of(
            "ANNALS_ORIGIN", "name of the log of games, given to its keys when they are made; empty: by chance"
        ),
    )
    log_key: str = field(
        default="",
        repr=False,
        metadata=_of("ANNALS_LOG_KEY", "the key that signs the log of games; empty: `log.key` beside the keyring"),
    )
    log_dir: str = field(
        default="", metadata=_of("ANNALS_LOG_DIR", "folder of the log of games; empty: `log` in ANNALS_DATA")
    )
    receipts_key: str = field(
        default="",
        repr=False,
        metadata=_of(
            "ANNALS_RECEIPTS_KEY", "the key that signs receipts and refusals; empty: `receipts.key` beside the keyring"
        ),
    )
    refusals_days: int = field(
        default=30, metadata=_of("ANNALS_REFUSALS_DAYS", "how long signed refusals are kept, in days")
    )
    dispute_days: int = field(
        default=30, metadata=_of("ANNALS_DISPUTE_DAYS", "how long after its end a game may be disputed, in days")
    )
    answer_days: int = field(
        default=7, metadata=_of("ANNALS_ANSWER_DAYS", "how long the other seats may answer a dispute, in days")
    )
    archive_dir: str = field(
        default="",
        metadata=_of("ANNALS_ARCHIVE_DIR", "folder of the archive of closed games; empty: `archive` in ANNALS_DATA"),
    )
    archive_after_days: int = field(
        default=0,
        metadata=_of(
            "ANNALS_ARCHIVE_AFTER_DAYS", "how long after its end a game is moved to the archive, in days; 0: never"
        ),
    )
    host: str = field(default="127.0.0.1", metadata=_of("ANNALS_HOST", "address that the service listens on"))
    port: int = field(default=8000, metadata=_of("ANNALS_PORT", "port that the service listens on"))
    workers: int = field(default=2, metadata=_of("ANNALS_WORKERS", "processes that answer requests"))
    bot_pause_ms: int = field(
        default=1000,
        metadata=_of("ANNALS_BOT_PAUSE_MS", "pause before a bot's action where only bots play, in milliseconds"),
    )
    heartbeat_s: float = field(
        default=15.0, metadata=_of("ANNALS_HEARTBEAT_S", "longest silence of a live stream, in seconds, at most 15")
    )
    cache_games: int = field(
        default=1000, metadata=_of("ANNALS_CACHE_GAMES", "games that each worker keeps folded in memory")
    )
    rate_limits: bool = field(
        default=True, metadata=_of("ANNALS_RATE_LIMITS", "limit how often one may ask (security.md has the table)")
    )
    proxies: int = field(
        default=0,
        metadata=_of("ANNALS_PROXIES", "reverse proxies in front, whose X-Forwarded-* headers are believed"),
    )
    patience_s: float = field(
        default=30.0,
        metadata=_of("ANNALS_PATIENCE_S", "how long a client may take to send a request, or read nothing, in seconds"),
    )
    log_level: str = field(default="info", metadata=_of("ANNALS_LOG_LEVEL", "debug, info, warning or error"))
    demo: bool = field(default=True, metadata=_of("ANNALS_DEMO", "load the demo games into an empty database"))

    @classmethod
    def read(cls, environment: Mapping[str, str], **overrides: Any) -> "Config":
        """The settings of an environment; ``overrides`` (by field name) come from the command line.

        :raises BadSetting: a variable's value is not to be had.
        """
        values: dict[str, Any] = {}
        for setting in fields(cls):
            assert setting.default is not MISSING
            if (text := environment.get(setting.metadata["variable"])) is not None:
                values[setting.name] = _parse(setting.metadata["variable"], setting.default, text.strip())
        config = cls(**values | overrides)
        config._check()
        return config

    def _check(self) -> None:
        if self.durability not in get_args(Durability):
            raise BadSetting(f"ANNALS_DURABILITY is {self.durability!r}, not one of {', '.join(get_args(Durability))}")
        for name, low, high in _RANGES:
            if not low <= getattr(self, name) <= high:
                variable = next(setting.metadata["variable"] for setting in fields(self) if setting.name == name)
                raise BadSetting(f"{variable} is {getattr(self, name)}, not within {low} and {high}")

    @property
    def keyring_path(self) -> Path:
        """Where the keyring's file is."""
        return Path(self.keys_file) if self.keys_file else self.data / "keyring"

    @property
    def key_folder(self) -> Path:
        """Where the files of the signing keys are: beside the keyring, apart from the log where that is."""
        return self.keyring_path.parent

    @property
    def log_path(self) -> Path:
        """Where the log of games is."""
        return Path(self.log_dir) if self.log_dir else self.data / "log"

    @property
    def snapshots_path(self) -> Path:
        """Where positions on the way through games are kept, if there is a data directory: a cache."""
        return self.data / "snapshots"

    @property
    def archive_path(self) -> Path:
        """Where the archive of closed games is."""
        return Path(self.archive_dir) if self.archive_dir else self.data / "archive"


_RANGES: Final[tuple[tuple[str, float, float], ...]] = (
    ("port", 0, 65_535),
    ("workers", 1, 256),
    ("replicas", 0, 100),
    ("bot_pause_ms", 0, 3_600_000),
    ("heartbeat_s", 0.05, 15),
    ("cache_games", 1, 10_000_000),
    ("proxies", 0, 16),
    ("patience_s", 0.05, 3_600),
    ("refusals_days", 1, 3_650),
    ("dispute_days", 1, 3_650),
    ("answer_days", 1, 365),
    ("archive_after_days", 0, 36_500),
)
_TRUTHS: Final = dict.fromkeys(("1", "yes", "true", "on"), True) | dict.fromkeys(("0", "no", "false", "off"), False)


def _parse(variable: str, default: Any, text: str) -> Any:
    try:
        if isinstance(default, bool):
            return _TRUTHS[text.lower()]
        value = type(default)(text)
    except (KeyError, ValueError) as error:
        kind = {bool: "yes or no", int: "a whole number", float: "a number"}[type(default)]
        raise BadSetting(f"{variable} is {text!r}, not {kind}") from error
    if isinstance(value, float) and not math.isfinite(value):
        raise BadSetting(f"{variable} is {text!r}, not a number")
    return value


def documented() -> list[tuple[str, str, str]]:
    """(variable, default, meaning) of every setting, as docs/configuration.md shows them."""
    rows = []
    for setting in fields(Config):
        default = setting.default
        shown = ("yes" if default else "no") if isinstance(default, bool) else str(default)
        rows.append((setting.metadata["variable"], shown, setting.metadata["about"]))
    return rows
