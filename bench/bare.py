"""The ceiling: a Flask endpoint that reads an action's body and appends one entry by one script. No game, no rules.

Gunicorn runs it with the settings of the service.
"""

import os
from types import SimpleNamespace
from typing import Any, Final

import msgspec
from flask import Flask, Response, request

from events.redis_client import Wire, connect

ENTRY: Final = "BENCH_ENTRY"
"""The environment variable that holds what is appended, in hex: the bytes of an event."""
# KEYS stream; ARGV expected version, its successor, entry
SCRIPT: Final = """
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)[1]
if (last and last[1] or '0-0') ~= ARGV[1] .. '-0' then return 0 end
redis.call('XADD', KEYS[1], ARGV[2] .. '-0', 'e', ARGV[3])
return 1
"""


class Body(msgspec.Struct):
    """The same body as that of an action."""

    expected_version: int
    action: dict[str, Any]


def application() -> Flask:
    """The application of one worker."""
    app = Flask("bench.bare", static_folder=None)
    wire, entry = Wire(connect(os.environ["REDIS_URL"])), bytes.fromhex(os.environ[ENTRY])
    (sha,) = wire.call(("SCRIPT", "LOAD", SCRIPT))
    decode = msgspec.json.Decoder(Body).decode

    @app.post("/append/<name>")
    def append(name: str) -> Response:
        version = decode(request.get_data()).expected_version
        (done,) = wire.call(("EVALSHA", sha, 1, f"bare:{name}", version, version + 1, entry))
        answer = msgspec.json.encode({"version": version + 1})
        return Response(answer, 201 if done else 412, mimetype="application/json")

    app.extensions["annals"] = SimpleNamespace(close=lambda: None)  # what the worker closes when it stops
    return app
