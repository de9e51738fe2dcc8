"""The names of a ruleset as stored games hold them: actions, args, options, choices, draws, happenings, state."""

import json
from collections.abc import Iterator
from typing import Any

import msgspec
from msgspec import inspect

from engine.protocol import Rules


def names(rules: Rules[Any]) -> str:
    """One line for each, in the order in which the rules list them."""
    return "".join(f"{line}\n" for line in lines(rules))


def lines(rules: Rules[Any]) -> Iterator[str]:
    yield f"{rules.id}, {rules.seats[0]} to {rules.seats[-1]} seats"
    yield "\nACTIONS, with their args"
    for name, action in rules.actions.items():
        yield " ".join([name, *fields(action)])
    yield "\nOPTIONS, with their defaults"
    yield from fields(rules.options)
    yield "\nCHOICE of a seat"
    yield from fields(rules.choice)
    yield "\nDRAWS in their order, by purpose"
    for purpose, text in rules.purposes.items():
        yield f"{purpose}: {text}"
    yield "\nHAPPENINGS, with the rule they follow"
    for name, happening in rules.happenings.items():
        yield " ".join([name, f"({happening.rule})", *fields(happening)])
    yield "\nSTATE"
    for struct in structs(inspect.type_info(rules.state), {}).values():
        packed = "as an array: " if struct.__struct_config__.array_like else ""
        yield f"{struct.__name__} {packed}{' '.join(fields(struct))}"
    yield "\nCOMPONENTS"
    for name, part in rules.components.items():
        yield f"{name} {json.dumps(part, separators=(',', ':'))}"


def fields(struct: type[msgspec.Struct]) -> Iterator[str]:
    """``traps:int[0..20]=4``, ``drop?:str`` where it may be left out."""
    info = inspect.type_info(struct)
    assert isinstance(info, inspect.StructType)
    for field in info.fields:
        default = field.default if field.default_factory is msgspec.NODEFAULT else field.default_factory()
        told = "" if default is msgspec.NODEFAULT else f"={json.dumps(default)}"
        left_out = "?" if default is msgspec.NODEFAULT and not field.required else ""
        yield f"{field.encode_name}{left_out}:{short(field.type)}{told}"


def short(info: inspect.Type) -> str:
    """A type in few characters.

    :raises TypeError: it is no plain data.
    """
    match info:
        case inspect.IntType(ge=ge, le=le):
            return "int" if ge is None and le is None else f"int[{ge}..{le}]"
        case inspect.BoolType():
            return "bool"
        case inspect.StrType():
            return "str"
        case inspect.LiteralType(values=values):
            return "|".join(str(value) or "''" for value in values)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            return f"[{short(item)}...]"
        case inspect.TupleType(item_types=items):
            return f"[{','.join(map(short, items))}]"
        case inspect.DictType(key_type=key, value_type=value):
            return f"{{{short(key)}:{short(value)}}}"
        case inspect.StructType(cls=cls):
            return cls.__name__
        case inspect.UnionType(types=types):
            return "|".join(map(short, types))
        case inspect.Metadata(type=inner):
            return short(inner)
    raise TypeError(f"no plain data: {info}")


def structs(info: inspect.Type, found: dict[str, type[msgspec.Struct]]) -> dict[str, type[msgspec.Struct]]:
    """Every struct of a state, outermost first."""
    if isinstance(info, inspect.StructType):
        if info.cls.__name__ not in found:
            found[info.cls.__name__] = info.cls
            for field in info.fields:
                structs(field.type, found)
        return found
    parts = [getattr(info, name, ()) for name in ("item_type", "item_types", "key_type", "value_type", "types", "type")]
    for part in parts:
        for one in part if isinstance(part, tuple) else (part,):
            structs(one, found)
    return found
