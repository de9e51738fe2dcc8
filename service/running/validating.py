"""``annals validate`` over the cores of a machine."""

from collections.abc import Sequence
from dataclasses import replace
from functools import partial

from events.embedded import Embedded
from events.log import EventLog
from replay.validate import run_validate
from service.bootstrap import Deps, bootstrap
from service.config import Config


def validate(deps: Deps, games: Sequence[str], *, quiet: bool, workers: int) -> int:
    """Refold the games of a database, or those named, and answer the exit code: see `replay.validate.run_validate`."""
    config = deps.config
    if not config.redis_url:
        config = replace(config, redis_url=Embedded(config.data).url)
    return run_validate(deps.log, games, quiet=quiet, reopen=partial(_log, config), workers=workers)


def _log(config: Config) -> EventLog:
    return bootstrap(config, reading=True).log
