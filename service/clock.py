"""The server's clock."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Milliseconds since 1970."""


def system_clock() -> int:
    """The machine's own."""
    return time.time_ns() // 1_000_000
