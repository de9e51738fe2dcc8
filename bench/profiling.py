"""Why the figures are what they are: where the processor time of an accepted action, and of a folded event, goes.

Stages are functions, timed from where they begin to where they end, less the stages within them; timing one costs about
a microsecond. Waiting for the database does not count.
"""

import io
import sys
import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from contextlib import ExitStack, redirect_stderr
from inspect import getattr_static
from pathlib import Path
from typing import Any, Final
from unittest.mock import patch

from flask import Flask

import events.event
import replay.position
import service.api.play
import service.api.routing
from bench import bare
from bench.figures import Profile
from bench.games import RULES, Copied, Plan
from bench.servers import Servers
from events import codec, seeds
from events.event import Event
from events.redis_client import Wire
from events.redis_log import RedisLog
from replay.position import Position
from replay.words import Words
from service import commands
from service.app import create_app
from service.bootstrap import Deps, bootstrap
from service.config import Config
from service.proofs.receipts import Notary
from service.proofs.signing_keys import SigningKeys
from service.running import logs, observe

Stages = list[tuple[str, Any, str]]
"""(what it is called, where the function is, its name there)."""

_RULES: Final = ("the rules, with their draws", type(RULES), "apply")
_FINGERPRINT: Final = ("the fingerprint: packing and hashing the state", replay.position, "state_hash")
_DATABASE: Final = ("the call to the database", Wire, "call")
_ACTION: Final[Stages] = [
    ("the request: who asks", service.api.routing, "_caller"),
    ("the request: its body", service.api.routing, "_body"),
    ("the command path between the others", commands, "submit"),
    ("a copy of the position to draft on", Position, "copy"),
    _RULES,
    _FINGERPRINT,
    ("sealing the event: canonical bytes, hash", Event, "write"),
    ("the append around the call to the database", RedisLog, "append"),
    _DATABASE,
    ("chain and dice: the server's links", seeds.Chain, "link"),
    ("chain and dice: mixing, and the bytes of the draws", seeds, "hmac_sha256"),
    ("chain and dice: the event's hash", events.event, "event_hash"),
    ("the receipt: its text and signature", Notary, "receipt"),
    ("the answer: words", Words, "event"),
    ("the answer: JSON", service.api.play, "_accepted"),
    ("metrics and the log line", observe, "answered"),
]
_FOLD: Final[Stages] = [
    ("reading: canonical form", codec, "decode"),
    ("reading: envelope, hash", Event, "read"),
    ("the body, typed", replay.position, "read_body"),
    _RULES,
    _FINGERPRINT,
]


class _Clock:
    """Adds up processor time by stage."""

    def __init__(self, rest: str) -> None:
        self.spent: defaultdict[str, float] = defaultdict(float)
        self._stack, self._since = [rest], 0.0

    def timed(self, stage: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, with its time going to a stage."""

        def call(*arguments: Any, **more: Any) -> Any:
            self._mark()
            self._stack.append(stage)
            try:
                return function(*arguments, **more)
            finally:
                self._mark()
                self._stack.pop()

        return call

    def run(self, work: Callable[[], object], stages: Stages) -> None:
        """Do the work with its stages timed."""
        with ExitStack() as patches:
            for stage, owner, name in stages:
                function = self.timed(stage, getattr(owner, name))
                bound = isinstance(getattr_static(owner, name), classmethod)
                patches.enter_context(patch.object(owner, name, staticmethod(function) if bound else function))
            self.spent.clear()  # of what hooks did before
            self._since = time.process_time()
            work()
            self._mark()

    def profile(self, name: str, times: int) -> Profile:
        """What was added up, in microseconds each time, the longest first."""
        each = {stage: seconds / times * 1e6 for stage, seconds in self.spent.items()}
        return Profile(name, dict(sorted(each.items(), key=lambda stage: -stage[1])))

    def _mark(self) -> None:
        now = time.process_time()
        self.spent[self._stack[-1]] += now - self._since
        self._since = now


def application(servers: Servers) -> tuple[Deps, Flask]:
    """The service in this process, on the database of ``servers``."""
    signing = SigningKeys.fresh().receipts.skey
    nowhere = Path("/nonexistent/annals")  # what `make run` keeps in this folder has other keys
    config = Config(redis_url=servers.url, data=nowhere, keys=servers.keys, receipts_key=signing, rate_limits=False)
    deps = bootstrap(config)
    return deps, create_app(deps)


def actions(servers: Servers, plans: Sequence[Plan], count: int) -> list[Profile]:
    """An accepted action, and a request to the bare endpoint, from WSGI in, without the web server."""
    deps, ours = application(servers)
    with redirect_stderr(io.StringIO()), patch.dict("os.environ", servers.bare_environment):
        logs.configure(deps.config.log_level, "bench")
        ceiling = bare.application()
        clock, floor = _Clock("around all this: the route, limits, headers"), _Clock("Flask, with all of it")
        copied = Copied()
        serve(ours, (request for plan in plans for request in plan.take(1)))
        serve(ceiling, copied.take(10))
        asked = [request for plan in plans for request in plan.take(count)]
        clock.run(lambda: serve(ours, asked), _ACTION)
        floor.run(lambda: serve(ceiling, copied.take(len(asked))), [_DATABASE])
    deps.redis.close()
    return [
        clock.profile("an accepted action, without the web server", len(asked)),
        floor.profile("a bare request likewise", len(asked)),
    ]


def refolds(refold: Callable[[Sequence[bytes]], None], stored: Sequence[Sequence[bytes]]) -> Profile:
    """An event of whole games that are folded from their bytes."""

    def work() -> None:
        for game in stored:
            refold(game)

    clock = _Clock("the fold around them: chain, order, draws, mixing")
    clock.run(work, _FOLD)
    return clock.profile("an event of a refold", sum(map(len, stored)))


def serve(app: Any, requests: Iterable[bytes]) -> None:
    """Let a WSGI application answer requests, each with 201."""
    for request in requests:
        said: list[str] = []
        answer = b"".join(app.wsgi_app(_environ(request), lambda status, *_, said=said: said.append(status)))
        assert said[0].startswith("201"), answer


def _environ(request: bytes) -> dict[str, Any]:
    """What a web server makes of a request (PEP 3333)."""
    head, _, body = request.partition(b"\r\n\r\n")
    (method, target, protocol), *lines = (line.split() for line in head.decode().split("\r\n"))
    path, _, query = target.partition("?")
    headers = {name[:-1].upper().replace("-", "_"): " ".join(value) for name, *value in lines}
    named = {name if name.startswith("CONTENT_") else f"HTTP_{name}": value for name, value in headers.items()}
    return named | {
        "REQUEST_METHOD": method, "SCRIPT_NAME": "", "PATH_INFO": path, "QUERY_STRING": query,
        "SERVER_PROTOCOL": protocol, "SERVER_NAME": "bench", "SERVER_PORT": "80", "REMOTE_ADDR": "127.0.0.1",
        "wsgi.version": (1, 0), "wsgi.url_scheme": "http", "wsgi.input": io.BytesIO(body), "wsgi.errors": sys.stderr,
        "wsgi.multithread": False, "wsgi.multiprocess": True, "wsgi.run_once": False,
    }  # fmt: skip
