"""Copies of states: plain typed data, so that its types say what has to be copied and what may stay shared."""

import types
import typing
from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

import msgspec

Copier = Callable[[Any], Any]


@cache
def copier(kind: Any) -> Copier | None:
    """How a value of a type is copied so that nothing mutable is shared; None: it is immutable.

    Structs, frozen ones apart, dicts and lists are mutable; a frozen struct and a Mapping hold nothing that is.
    """
    origin, args = typing.get_origin(kind), typing.get_args(kind)
    if origin is typing.Annotated:
        return copier(args[0])
    if origin in (typing.Union, types.UnionType):
        return _either([one for one in args if copier(one)])
    if origin is Mapping:
        assert copier(args[1]) is None, "what never changes holds nothing that does"
        return None
    if origin is dict:
        return _dict(copier(args[1]))
    if origin is list:
        return _list(copier(args[0]))
    if isinstance(kind, type) and issubclass(kind, msgspec.Struct) and not kind.__struct_config__.frozen:
        return _struct(kind)
    return None


def _dict(inner: Copier | None) -> Copier:
    return dict.copy if inner is None else lambda value: {name: inner(part) for name, part in value.items()}


def _list(inner: Copier | None) -> Copier:
    return list.copy if inner is None else lambda value: [inner(part) for part in value]


def _either(mutable: list[Any]) -> Copier | None:
    """Of several types at most one is mutable: what is not of it stays as it is."""
    if not mutable:
        return None
    (kind,) = mutable
    whole, inner = typing.get_origin(kind) or kind, copier(kind)
    assert inner
    return lambda value: inner(value) if isinstance(value, whole) else value


def _struct(kind: type[msgspec.Struct]) -> Copier:
    hints = typing.get_type_hints(kind, include_extras=True)
    parts = [(name, inner) for name in kind.__struct_fields__ if (inner := copier(hints[name]))]

    def twin(value: Any) -> Any:
        other = value.__copy__()  # as copy.copy does it, in half the time
        for name, inner in parts:
            setattr(other, name, inner(getattr(value, name)))
        return other

    return twin
