"""MP-C1: the one canonical form of MessagePack in which everything stored is written.

MessagePack itself allows many encodings of one value; here exactly one is accepted, so that equal facts have equal
bytes and equal hashes. Allowed are nil, bool, int in [-2**63, 2**64), str, bin, array and map with str keys in strictly
ascending order of their UTF-8 bytes; every head in its shortest form; no float, no extension; depth at most 16.
"""

from typing import Any

import msgpack

EVENT_LIMIT = 65_535
"""Most bytes of one event: the entry limit of C2SP tlog-tiles."""
STATE_LIMIT = 1_048_576
"""Most bytes of one canonical state."""
MAX_DEPTH = 16

_INT_MIN, _INT_END = -(2**63), 2**64


class NotCanonical(ValueError):
    """The value has no MP-C1 form, or the bytes are not it."""


def encode(value: Any, limit: int = EVENT_LIMIT) -> bytes:
    """The MP-C1 bytes of ``value`` (tuples count as arrays).

    :raises NotCanonical: a type, key, depth or size outside MP-C1.
    """
    data: bytes = msgpack.packb(_sorted(value, 1), use_bin_type=True)
    if len(data) > limit:
        raise NotCanonical(f"{len(data)} bytes, at most {limit} are allowed")
    return data


def decode(data: bytes, limit: int = EVENT_LIMIT) -> Any:
    """The value whose MP-C1 bytes are ``data``; arrays come back as lists.

    :raises NotCanonical: anything but the one canonical encoding, trailing bytes included.
    """
    if len(data) > limit:
        raise NotCanonical(f"{len(data)} bytes, at most {limit} are allowed")
    try:
        value = msgpack.unpackb(
            data, raw=False, strict_map_key=True, object_pairs_hook=_ordered, ext_hook=_refuse_extension
        )
        _check(value, 1)
    except NotCanonical:
        raise
    except (ValueError, TypeError, RecursionError) as error:  # msgpack's own errors are ValueErrors
        raise NotCanonical(f"not MessagePack: {error or type(error).__name__}") from error
    if msgpack.packb(value, use_bin_type=True) != data:
        raise NotCanonical("not in shortest form")
    return value


def _sorted(value: Any, depth: int) -> Any:
    kind = type(value)
    if kind is str or kind is bytes or kind is bool or value is None:
        return value
    if kind is int:
        if not _INT_MIN <= value < _INT_END:
            raise NotCanonical(f"integer {value} does not fit in 64 bits")
        return value
    if depth > MAX_DEPTH:
        raise NotCanonical(f"nested deeper than {MAX_DEPTH}")
    if kind is dict:
        if not all(type(key) is str for key in value):
            raise NotCanonical("map keys must be strings")
        return {key: _sorted(value[key], depth + 1) for key in sorted(value, key=str.encode)}
    if kind is list or kind is tuple:
        return [_sorted(item, depth + 1) for item in value]
    raise NotCanonical(f"{kind.__name__} has no canonical form")


def _check(value: Any, depth: int) -> None:
    kind = type(value)
    if kind is dict or kind is list:
        if depth > MAX_DEPTH:
            raise NotCanonical(f"nested deeper than {MAX_DEPTH}")
        for item in value.values() if kind is dict else value:
            _check(item, depth + 1)
    elif not (kind is int or kind is str or kind is bytes or kind is bool or value is None):
        raise NotCanonical(f"{kind.__name__} is not allowed")


def _ordered(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    last: bytes | None = None
    for key, _ in pairs:
        if type(key) is not str:
            raise NotCanonical("map keys must be strings")
        raw = key.encode()
        if last is not None and raw <= last:
            raise NotCanonical(f"map key {key!r} is out of order or repeated")
        last = raw
    return dict(pairs)


def _refuse_extension(code: int, data: bytes) -> Any:
    raise NotCanonical(f"extension type {code} is not allowed")
