"""The ceiling: a Flask endpoint that reads a small JSON body and appends one entry by one script. No game, no rules."""

import os
from typing import Any, Final

import msgspec
from flask import Flask, Response, request

from events.redis_client import connect

SCRIPT: Final = """
local last = redis.call('XREVRANGE', KEYS[1], '+', '-', 'COUNT', 1)
local version = 0
if last[1] then version = tonumber(string.match(last[1][1], '^(%d+)')) end
if version ~= tonumber(ARGV[1]) then return {0, version} end
redis.call('XADD', KEYS[1], (version + 1) .. '-0', 'e', ARGV[2])
return {1, version + 1}
"""
ENTRY: Final = bytes(130)
"""About an event."""


class Request(msgspec.Struct):
    """What the endpoint is sent: the same body as an action."""

    expected_version: int
    action: dict[str, Any]


def application() -> Flask:
    """The application, as Gunicorn wants it."""
    app = Flask("bench.bare", static_folder=None)
    script = connect(os.environ["REDIS_URL"]).register_script(SCRIPT)
    decoder = msgspec.json.Decoder(Request)

    @app.post("/append/<name>")
    def append(name: str) -> Response:
        body = decoder.decode(request.get_data())
        done, version = script(keys=[f"bare:{name}"], args=[body.expected_version, ENTRY])
        answer = msgspec.json.encode({"version": version})
        return Response(answer, 201 if done else 412, mimetype="application/json")

    return app
