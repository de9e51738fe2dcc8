"""What a seat in self-custody sends: the bytes that it signed and the signature, both in base64."""

import base64
from typing import Any

from msgspec import UNSET

from events.signing import NotAnAction, Sealed, SignedAction
from service.api.problems import Problem


def sealed_of(body: Any, kind: str, seat: int | None = None) -> Sealed | None:
    """The signed action of a request's body, not verified yet; None where nothing was signed.

    :raises Problem: only one of the two members is there, they cannot be read, or something else was signed.
    """
    if body.signed is UNSET and body.signature is UNSET:
        return None
    if body.signed is UNSET or body.signature is UNSET:
        raise _wrong("/signed" if body.signed is UNSET else "/signature", "`signed` and `signature` go together")
    signature = _decoded("/signature", body.signature)
    if len(signature) != 64:
        raise _wrong("/signature", "64 bytes")
    try:
        action = SignedAction.read(_decoded("/signed", body.signed))
    except NotAnAction as error:
        raise _wrong("/signed", str(error)) from error
    if action.kind != kind:
        raise _wrong("/signed", f"a {kind}, not a {action.kind}")
    if seat is not None and action.seat != seat:
        raise _wrong("/signed", f"signed by seat {seat}, not by seat {action.seat}")
    return Sealed(action, signature)


def _decoded(pointer: str, text: str) -> bytes:
    try:
        return base64.b64decode(text, validate=True)
    except ValueError as error:  # not base64, or not even ASCII
        raise _wrong(pointer, "base64 with its padding") from error


def _wrong(pointer: str, detail: str) -> Problem:
    return Problem("invalid-body", {}, {"errors": [{"pointer": pointer, "detail": detail}]})
