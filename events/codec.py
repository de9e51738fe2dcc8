"""MP-C1: the one canonical form of MessagePack in which everything stored is written.

MessagePack itself allows many encodings of one value; here exactly one is accepted, so that equal facts have equal
bytes and equal hashes. Allowed are nil, bool, int in [-2**63, 2**64), str, bin, array and map with str keys in strictly
ascending order of their UTF-8 bytes; every head in its shortest form; no float, no extension; depth at most 16.
"""

from collections.abc import Callable
from typing import Any, TypeVar

import msgpack
import msgspec

EVENT_LIMIT = 65_535
"""Most bytes of one event: the entry limit of C2SP tlog-tiles."""
STATE_LIMIT = 1_048_576
"""Most bytes of one canonical state."""
MAX_DEPTH = 16

T = TypeVar("T")
Scalar = int | str | bool | None
"""What a value may be that holds no others, bytes apart (which msgspec cannot tell from str in a union)."""
_SCALARS = frozenset((int, str, bytes, bool, type(None)))
_sorted = msgspec.msgpack.Encoder(order="sorted").encode  # by UTF-8 bytes, heads in shortest form


class NotCanonical(ValueError):
    """The value has no MP-C1 form, or the bytes are not it."""


def encode(value: Any, limit: int = EVENT_LIMIT) -> bytes:
    """The MP-C1 bytes of ``value`` (tuples count as arrays).

    :raises NotCanonical: a type, key, depth or size outside MP-C1.
    """
    check(value)
    try:
        data = _sorted(value)
    except (OverflowError, UnicodeEncodeError) as error:  # an int beyond 64 bits, a lone surrogate
        raise NotCanonical(str(error)) from error
    return _within(data, limit)


def decode(data: bytes, limit: int = EVENT_LIMIT) -> Any:
    """The value whose MP-C1 bytes are ``data``; arrays come back as lists.

    :raises NotCanonical: anything but the one canonical encoding, trailing bytes included.
    """
    try:
        value = msgpack.unpackb(_within(data, limit), raw=False, strict_map_key=True, ext_hook=_refuse_extension)
        check(value)
        again = _sorted(value)
    except NotCanonical:
        raise
    except (ValueError, TypeError, RecursionError) as error:  # msgpack's own errors are ValueErrors
        raise NotCanonical(f"not MessagePack: {error or type(error).__name__}") from error
    if again != data:  # a longer head than needed, keys out of order, a key twice
        raise NotCanonical("not the canonical encoding of its value")
    return value


def reader(shape: type[T]) -> Callable[[bytes], T | None]:
    """A function that reads the canonical bytes of one shape, in a third of the time of `decode`; None for whatever it
    does not read, of which `decode` has the last word. No type of the shape may admit what MP-C1 does not know.
    """
    decoded = msgspec.msgpack.Decoder(shape).decode

    def read(data: bytes) -> T | None:
        if len(data) > EVENT_LIMIT:
            return None
        try:
            value = decoded(data)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
            return None
        return value if _sorted(value) == data else None

    return read


def _within(data: bytes, limit: int) -> bytes:
    if len(data) > limit:
        raise NotCanonical(f"{len(data)} bytes, at most {limit} are allowed")
    return data


def check(value: Any, depth: int = 1) -> None:
    """Is everything in a value, which itself is ``depth`` deep, of a type that MP-C1 knows?

    :raises NotCanonical: it is not, or it is nested too deeply.
    """
    kind = type(value)
    if kind in _SCALARS:
        return
    if depth > MAX_DEPTH:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH}")
    if kind is dict:
        for key, item in value.items():
            if type(key) is not str:
                raise NotCanonical("map keys must be strings")
            if type(item) not in _SCALARS:
                check(item, depth + 1)
    elif kind is list or kind is tuple:
        for item in value:
            if type(item) not in _SCALARS:
                check(item, depth + 1)
    else:
        raise NotCanonical(f"{kind.__name__} is not allowed")


def _refuse_extension(code: int, data: bytes) -> Any:
    raise NotCanonical(f"extension type {code} is not allowed")
