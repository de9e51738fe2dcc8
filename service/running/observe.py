"""What the service tells about itself: whether it is alive and ready, and Prometheus metrics.

The metrics of all processes of one `annals serve` are summed through the files in PROMETHEUS_MULTIPROC_DIR, which the
supervisor sets before any of them imports this module.
"""

import os
import time
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, Final, Protocol

import msgspec
from prometheus_client import (
    REGISTRY,
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    generate_latest,
    multiprocess,
)

from events.log import Unavailable
from events.redis_client import fsync_policy, replicas
from service.running import logs

if TYPE_CHECKING:
    from service.bootstrap import Deps

_METHODS: Final = frozenset(("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"))
_FSYNC: Final = ("off", "no", "everysec", "always")
MULTIPROCESS: Final = "PROMETHEUS_MULTIPROC_DIR"
"""The environment variable that prometheus_client reads when it is imported."""

REQUESTS = Counter("annals_requests", "Requests answered.", ("method", "route", "status"))
REQUEST_SECONDS = Histogram(
    "annals_request_seconds",
    "Time to answer, streams excepted.",
    ("route",),
    buckets=(0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5),
)
WATCHERS = Gauge("annals_watchers", "Open live streams.", multiprocess_mode="livesum")
DELIVERY_SECONDS = Histogram(
    "annals_delivery_seconds",
    "From the time in an event to its frame being ready for the watchers.",
    buckets=(0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5),
)
BOT_ACTIONS = Counter("annals_bot_actions", "Actions taken by bots.", ("game",))
LIMITED = Counter("annals_limited", "Requests and streams refused by a limit.", ("limit",))
SNAPSHOTS_DROPPED = Counter("annals_snapshots_dropped", "Files of kept positions that were not what was written.")
GAMES_CLOSED = Counter("annals_idle_games_closed", "Tables closed because nobody came back.")
GAMES_ARCHIVED = Counter("annals_games_archived", "Games moved to the archive.")
ARCHIVE_FAILURES = Counter("annals_archive_failures", "Games, or looks for them, that could not be moved there.")
LOG_FAILURES = Counter("annals_log_failures", "Rounds of the log of games in which nothing was signed.", ("reason",))
LOG_STUCK = Gauge("annals_log_stuck", "1: the log of games signs nothing for now.", multiprocess_mode="livemax")


# -- readiness -----------------------------------------------------------------------------------------------------


class Check(msgspec.Struct, frozen=True):
    """One thing that has to hold before requests are worth sending here."""

    name: str
    ok: bool
    detail: str


class Readiness(msgspec.Struct, frozen=True):
    """What `/readyz` answers."""

    ready: bool
    checks: list[Check]


def readiness(deps: "Deps") -> Readiness:
    """Is the database reachable, does it keep and copy what it acknowledges, do we hold every master key in use?"""
    checks = [_reachable(deps)]
    if checks[0].ok:
        checks += [_durable(deps), *([_copied(deps)] if deps.config.replicas else []), _keyring(deps)]
    return Readiness(all(check.ok for check in checks), checks)


def _reachable(deps: "Deps") -> Check:
    started = time.perf_counter()
    try:
        deps.log.feed_ends()
    except Unavailable as error:
        return Check("database", False, str(error))
    return Check("database", True, f"answers in {(time.perf_counter() - started) * 1000:.1f} ms")


def _durable(deps: "Deps") -> Check:
    wanted = deps.config.durability
    try:
        found = fsync_policy(deps.redis)
    except Unavailable as error:
        return Check("durability", False, str(error))
    detail = f"appendfsync {found}, {wanted} is asked for"
    enough = found == "unknown" or wanted == "none" or _FSYNC.index(found) >= _FSYNC.index(wanted)
    return Check("durability", enough, detail)


def _copied(deps: "Deps") -> Check:
    """Are there as many replicas as an action is waited for? Fewer, and every action's outcome would be unknown."""
    wanted = deps.config.replicas
    try:
        found = replicas(deps.redis)
    except Unavailable as error:
        return Check("replicas", False, str(error))
    told = "unknown" if found is None else str(found)
    return Check("replicas", found is None or found >= wanted, f"{told} connected, {wanted} asked for")


def _keyring(deps: "Deps") -> Check:
    missing = deps.missing_keys()
    return Check("keyring", not missing, f"missing: {', '.join(missing)}" if missing else "complete")


# -- metrics and the log ---------------------------------------------------------------------------------------------


def metrics() -> bytes:
    """The exposition text of every process of this service."""
    if MULTIPROCESS not in os.environ:
        return generate_latest(REGISTRY)
    registry = CollectorRegistry()
    multiprocess.MultiProcessCollector(registry)  # type: ignore[no-untyped-call]
    return generate_latest(registry)


class Told(Protocol):
    """What is told of an answer."""

    @property
    def status_code(self) -> int: ...
    @property
    def is_streamed(self) -> bool: ...


@cache
def _counter(method: str, route: str, status: int) -> Counter:
    return REQUESTS.labels(method, route, status)


@cache
def _timer(route: str) -> Histogram:
    return REQUEST_SECONDS.labels(route)


def answered(method: str, route: str, response: Told, args: Mapping[str, Any], started: float) -> None:
    """Count, time and log a request by its route. ``started``: when it came, by `time.perf_counter`."""
    seconds = time.perf_counter() - started
    if method not in _METHODS:
        method = "other"
    _counter(method, route, response.status_code).inc()
    if not response.is_streamed:
        _timer(route).observe(seconds)
    if route not in ("/healthz", "/readyz", "/metrics"):
        logs.request(method=method, route=route, status=response.status_code, ms=round(seconds * 1000, 2), args=args)
