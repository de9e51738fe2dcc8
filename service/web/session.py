"""A player's token in a browser: a cookie that scripts cannot read, and what an unsafe call must send beside it.

A cookie goes along with every call, whoever made the page that calls. So it counts for a call that changes something
only beside a header that such a page cannot know (OWASP: HMAC-based token pattern). Bearer tokens need none of this.
"""

import hashlib
import hmac
from typing import Final

from flask import Response, request

COOKIE: Final = "annals"
HEADER: Final = "HTTP_X_CSRF_TOKEN"
"""X-CSRF-Token, by its WSGI name."""
_SAFE: Final = frozenset(("GET", "HEAD", "OPTIONS"))
_YEAR_S: Final = 31_536_000


def csrf(token: str) -> str:
    """What an unsafe call must send beside the cookie that holds this token."""
    return hmac.new(token.encode("utf-8", "surrogatepass"), b"annals csrf", hashlib.sha256).hexdigest()


def cookie_token() -> str | None:
    """The token in the request's cookie, where it counts: on a read, or beside its CSRF header."""
    if "HTTP_COOKIE" not in request.environ or (token := request.cookies.get(COOKIE)) is None:
        return None
    if request.method in _SAFE:
        return token
    given = request.environ.get(HEADER, "").encode("utf-8", "surrogatepass")
    return token if hmac.compare_digest(given, csrf(token).encode()) else None


def forget(response: Response) -> None:
    """Let the browser forget the token it keeps, if any."""
    if "HTTP_COOKIE" in request.environ and COOKIE in request.cookies:
        response.delete_cookie(COOKIE, httponly=True, samesite="Strict", secure=request.is_secure, path="/")


def keep(response: Response, token: str) -> None:
    """Let the browser keep a token."""
    response.set_cookie(
        COOKIE, token, max_age=_YEAR_S, httponly=True, samesite="Strict", secure=request.is_secure, path="/"
    )
