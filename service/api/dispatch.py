"""The Flask application, and a shorter way to the one route that has to be fast.

Flask spends most of its time for a request on finding out which route is meant, on contexts, and on a response that
may still become any other: in general and with care. Here the address of an act is recognised by one expression, its
handler finds something lighter in the place of the contexts, and what it answers is sent as it is. The handler, limits,
problems, headers, metrics and the line in the log are the same; whatever is unusual about a request goes the long way.
"""

import re
import time
from collections.abc import Iterable
from functools import cached_property
from typing import TYPE_CHECKING, Any, Final

from flask import Flask, Request, Response
from flask.globals import _cv_app, _cv_request, request
from flask.sessions import NullSession
from werkzeug.routing import Rule

from service.running import observe

if TYPE_CHECKING:
    from _typeshed.wsgi import StartResponse, WSGIEnvironment

_ACTIONS: Final = re.compile(r"/v1/games/([0-9a-f]{32})/actions", re.ASCII).fullmatch
_ORDINARY_HOST: Final = re.compile(
    r"(?:[A-Za-z0-9-]{1,60}\.){0,9}[A-Za-z0-9-]{1,60}(?::[0-9]{1,5})?", re.ASCII
).fullmatch
_ENDPOINT: Final = "act"


class Application(Flask):
    """Flask, which knows an act when it sees one."""

    def wsgi_app(self, environ: "WSGIEnvironment", start_response: "StartResponse") -> Iterable[bytes]:
        if (ids := _of_an_act(environ)) is None:
            return super().wsgi_app(environ, start_response)
        started, contexts = time.perf_counter(), _Contexts(self, environ, ids)
        app, asked = _cv_app.set(contexts), _cv_request.set(contexts)  # type: ignore[arg-type] # both in one
        try:
            try:
                answer: Any = self.view_functions[_ENDPOINT](**ids)
            except Exception as error:  # noqa: BLE001 # what Flask would do
                answer = self.handle_user_exception(error)
            observe.answered("POST", self.act_rule.rule, answer, ids, started)
            body: Iterable[bytes] = answer(environ, start_response)
            return body
        finally:
            _cv_request.reset(asked)
            _cv_app.reset(app)

    @cached_property
    def act_rule(self) -> Rule:
        """The rule of the route of an act."""
        return next(self.url_map.iter_rules(_ENDPOINT))

    def full_dispatch_request(self) -> Response:
        started = time.perf_counter()
        response = super().full_dispatch_request()
        route = request.url_rule.rule if request.url_rule else "none"
        observe.answered(request.method, route, response, request.view_args or {}, started)
        return response

    def ensure_sync(self, func: Any) -> Any:
        """No handler is a coroutine."""
        return func


def _of_an_act(environ: "WSGIEnvironment") -> dict[str, Any] | None:
    """The ids in the path, if it is an act that is asked for, and in the usual way."""
    if (
        environ["REQUEST_METHOD"] != "POST"
        or (found := _ACTIONS(environ["PATH_INFO"])) is None
        or environ.get("SCRIPT_NAME")
        or "HTTP_UPGRADE" in environ
        or not _ORDINARY_HOST(environ.get("HTTP_HOST", ""))
    ):
        return None
    return {"game_id": found[1]}


class _Contexts:
    """What is asked of Flask's two contexts while an act is answered. A request is made once somebody asks for it: a
    handler that has nothing to refuse reads the environ."""

    url_adapter = None
    flashes = None
    session: Final = NullSession()

    def __init__(self, app: Application, environ: "WSGIEnvironment", ids: dict[str, Any]) -> None:
        self.app = app
        self._environ, self._ids = environ, ids

    @cached_property
    def g(self) -> Any:
        """What is kept for the time of a request."""
        return self.app.app_ctx_globals_class()

    @cached_property
    def request(self) -> Request:
        """The request, as Flask would have it."""
        request = self.app.request_class(self._environ)
        request.json_module = self.app.json
        request.url_rule, request.view_args = self.app.act_rule, self._ids
        return request
