"""Answers that travel packed to whoever unpacks them."""

import gzip

from flask import Response, request

_VARY = "Accept, Accept-Encoding, Accept-Language, Authorization, Cookie"
"""What every answer depends on, and whether it is packed."""
_WORTH_IT = 1_000
"""Fewer bytes are hardly fewer packed."""


def unpacks() -> bool:
    """Does the caller unpack what is packed?"""
    return bool(request.accept_encodings.quality("gzip"))


def packed(response: Response) -> Response:
    """The same, packed where the caller unpacks it. Nothing secret may stand in it beside what somebody else chose: the
    length of what is packed tells of what it says twice."""
    response.headers["Vary"] = _VARY
    if unpacks() and (response.content_length or 0) >= _WORTH_IT:
        response.set_data(gzip.compress(response.get_data(), 3, mtime=0))
        response.content_encoding = "gzip"
    return response
