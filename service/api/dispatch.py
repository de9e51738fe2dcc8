"""The Flask application, and a shorter way to the one route that has to be fast.

Flask spends half of its time for a request on finding out which route is meant, in general and with care. Here the
address of an act is recognised by one expression; whatever is unusual about such a request goes the long way. Hooks,
handlers and answers are the same: only the search is left out.
"""

import re
from typing import TYPE_CHECKING, Any, Final

from flask import Flask
from flask.ctx import RequestContext
from flask.sessions import NullSession

if TYPE_CHECKING:
    from _typeshed.wsgi import WSGIEnvironment

_ACTIONS: Final = re.compile(r"/v1/games/([0-9a-f]{32})/actions", re.ASCII).fullmatch
_ORDINARY_HOST: Final = re.compile(r"[A-Za-z0-9.-]{1,60}(?::[0-9]{1,5})?", re.ASCII).fullmatch
_ENDPOINT: Final = "act"
_NO_SESSION: Final = NullSession()


class Application(Flask):
    """Flask, which knows an act when it sees one."""

    def request_context(self, environ: "WSGIEnvironment") -> RequestContext:
        if (
            environ["REQUEST_METHOD"] == "POST"
            and (found := _ACTIONS(environ["PATH_INFO"])) is not None
            and not environ.get("SCRIPT_NAME")
            and "HTTP_UPGRADE" not in environ
            and _ORDINARY_HOST(environ.get("HTTP_HOST", ""))
        ):
            return _Known(self, environ, {"game_id": found[1]})
        return super().request_context(environ)

    def ensure_sync(self, func: Any) -> Any:
        """No handler is a coroutine."""
        return func


class _Known(RequestContext):
    """The context of a request whose route is known: nothing is looked for when it is pushed."""

    def __init__(self, app: Application, environ: "WSGIEnvironment", ids: dict[str, str]) -> None:
        self.app = app
        self.request = request = app.request_class(environ)
        request.json_module = app.json
        request.url_rule = next(app.url_map.iter_rules(_ENDPOINT))
        request.view_args = ids
        self.url_adapter = None
        self.flashes = None
        self._session = _NO_SESSION
        self._after_request_functions = []
        self._cv_tokens = []
