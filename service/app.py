"""The Flask application: routes, errors, headers. Everything it works with is handed in."""

from typing import TYPE_CHECKING

import structlog
from jinja2 import ChoiceLoader, PackageLoader

from service.api import audits, cases, evidence, fortunes, log, meta, play, players, reasons, record, rulesets, tables
from service.api.dispatch import Application
from service.api.routing import BODY_LIMIT, install_errors, install_headers
from service.web import pages

if TYPE_CHECKING:
    from service.bootstrap import Deps

_log = structlog.get_logger()
_PARTS = (players, rulesets, tables, play, record, reasons, fortunes, audits, evidence, cases, log, meta, pages)
meta.everything.routes[:] = [route for part in _PARTS for route in part.api.routes]


def create_app(deps: "Deps") -> Application:
    """The application over these dependencies."""
    app = Application("service", template_folder="templates", static_folder=None)
    app.config["MAX_CONTENT_LENGTH"] = BODY_LIMIT + 1  # a chunked body is cut off there without a word: one too many
    app.url_map.strict_slashes = True
    app.url_map.redirect_defaults = False
    app.jinja_env.autoescape = True
    app.jinja_loader = ChoiceLoader([PackageLoader("service"), PackageLoader("service", "web/templates")])
    meta.everything.install(app, deps)
    install_headers(app)
    install_errors(app, _told, lambda error, language: play.stale(deps, error, language), evidence.refusal)
    return app


def _told(error: Exception) -> None:
    """What nobody foresaw goes to the log, and nowhere else."""
    _log.error("unforeseen", exc_info=error)
