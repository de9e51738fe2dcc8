"""Logs: one JSON object a line on standard error, from our own loggers and from those of libraries alike.

They name routes, statuses and ids; never a header, a body, a token, a key or a name.
"""

import logging
import logging.config
import re
import sys
from collections.abc import Callable
from contextlib import suppress
from datetime import UTC, datetime
from typing import Any, Final

import msgspec
import structlog

_SECRET = re.compile(
    r"(?i:bearer)\s+[^\s\"]+|annals_[\w-]{16,}|PRIVATE\+KEY\+[^\s\"]+|(?<=://)[^\s/@\"]*:[^\s@\"]*(?=@)", re.ASCII
)
"""A token, a signing key, the user and password of an address: wherever in a line they stand, in a traceback too."""
_MARKS = ("earer", "EARER", "annals_", "KEY+", "@")
"""A line without any of these has none: to look for them takes a tenth of the time."""
_SECRET_KEYS = frozenset(("authorization", "token", "master", "tail", "key", "keys", "cookie", "password", "secret"))


def _redact(_: Any, __: str, entry: structlog.typing.EventDict) -> structlog.typing.EventDict:
    """What should never have been handed to a logger under such a name does not leave it."""
    for key in entry:
        if key.lower() in _SECRET_KEYS:
            entry[key] = "[redacted]"
    return entry


def _json(value: Any, **_: Any) -> str:
    line = msgspec.json.encode(value, enc_hook=repr).decode()
    return _SECRET.sub("[redacted]", line) if any(mark in line for mark in _MARKS) else line


class _Stderr:
    """Standard error. What cannot be written there, on a full disk or into a pipe that nobody reads, is lost, and
    nothing else: an action that it tells of is in the log of its game by then, and whoever acted is to be told so."""

    def write(self, text: str) -> None:
        with suppress(OSError):  # there is nobody left to tell
            sys.stderr.write(text)

    def flush(self) -> None:
        with suppress(OSError):
            sys.stderr.flush()


_STDERR: Final[Any] = _Stderr()
_log = structlog.get_logger()
_PROCESS: Final[dict[str, str]] = {}
_LEAN: Final[dict[str, Callable[[str], object]]] = {}
"""What `request` writes with, once it is configured."""


def _name_process(_: Any, __: str, entry: structlog.typing.EventDict) -> structlog.typing.EventDict:
    entry.update(_PROCESS)
    return entry


_PROCESSORS: Final[list[Any]] = [
    structlog.contextvars.merge_contextvars,
    _name_process,
    structlog.processors.add_log_level,
    structlog.processors.TimeStamper(fmt="iso", utc=True),
    structlog.processors.format_exc_info,
    _redact,
]


def configure(level: str, process: str) -> None:
    """Set up both kinds of loggers for a process of this name.

    :raises ValueError: ``level`` is not a level of the `logging` module.
    """
    number = logging.getLevelNamesMapping().get(level.upper())
    if number is None:
        raise ValueError(f"log level {level!r} is none of {', '.join(logging.getLevelNamesMapping()).lower()}")
    structlog.configure(
        processors=[*_PROCESSORS, structlog.processors.JSONRenderer(serializer=_json)],
        wrapper_class=structlog.make_filtering_bound_logger(number),
        logger_factory=structlog.PrintLoggerFactory(file=_STDERR),
    )
    _PROCESS["process"] = process
    _LEAN["write"] = _STDERR.write if number <= logging.INFO else _nothing
    logging.config.dictConfig(library_logging(level))


def request(**entry: Any) -> None:
    """Log an answered request, as ``structlog.get_logger().info("request", **entry)`` does, in a quarter of the time:
    all its keys are known, and the chain of processors has nothing to add but what is added here. Every action has one.
    """
    if (write := _LEAN.get("write")) is None or not structlog.is_configured():
        _log.info("request", **entry)
        return
    entry |= {"event": "request", **_PROCESS, "level": "info", "timestamp": datetime.now(UTC)}
    write(_json(entry) + "\n")  # the end of the line sends it


def _nothing(line: str) -> None:
    """The level that is asked for has no such lines."""


def library_logging(level: str) -> dict[str, Any]:
    """How loggers of the standard library, Gunicorn's among them, write: a dictConfig."""
    return {
        "version": 1,
        "disable_existing_loggers": False,
        "formatters": {
            "json": {
                "()": "structlog.stdlib.ProcessorFormatter",
                "processor": structlog.processors.JSONRenderer(serializer=_json),
                "foreign_pre_chain": [structlog.stdlib.add_logger_name, *_PROCESSORS],
            }
        },
        "handlers": {"stderr": {"class": "logging.StreamHandler", "formatter": "json"}},
        "root": {"handlers": ["stderr"], "level": max(logging.WARNING, logging.getLevelNamesMapping()[level.upper()])},
        "loggers": {
            "gunicorn.error": {"propagate": True, "handlers": [], "level": "WARNING"},
            "gunicorn.access": {"propagate": False, "handlers": [], "level": "CRITICAL"},
        },
    }
