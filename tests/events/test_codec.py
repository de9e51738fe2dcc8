"""MP-C1: one encoding for each value, and nothing else is read."""

import json
from pathlib import Path
from typing import Any

import msgpack
import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from events import codec
from events.codec import NotCanonical, decode, encode

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors" / "msgpack-test-suite.json"

TEXT = st.text(st.characters(exclude_categories=("Cs",)), max_size=40)
SCALARS = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | TEXT | st.binary(max_size=40)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=20) | st.dictionaries(TEXT, inner, max_size=20), max_leaves=30
)
BYTES = st.binary(max_size=60) | VALUES.map(msgpack.packb) | st.floats().map(msgpack.packb)


def test_of_every_published_case_one_encoding_is_read_and_it_is_the_one_written() -> None:
    if not VECTORS.exists():
        pytest.skip("the published msgpack-test-suite is not beside the project")
    values = encodings = 0
    for cases in json.loads(VECTORS.read_text()).values():
        for case in cases if isinstance(cases, list) else ():
            ((kind, told),) = ((key, value) for key, value in case.items() if key != "msgpack")
            candidates = [bytes.fromhex(text.replace("-", "")) for text in case["msgpack"]]
            read = [data for data in candidates if _is_read(data)]
            values, encodings = values + 1, encodings + len(candidates)
            if kind in ("timestamp", "ext") or isinstance(told, float):
                assert read == [], case
            else:
                assert read == [encode(_value(kind, told))], case
    assert (values, encodings) == (61, 205)


def _value(kind: str, told: Any) -> Any:
    if kind == "binary":
        return bytes.fromhex(told.replace("-", ""))
    if kind == "array" and isinstance(told, str):  # "1..15"
        first, _, last = told.partition("..")
        return list(range(int(first), int(last) + 1))
    return int(told) if kind == "bignum" else told


def _is_read(data: bytes) -> bool:
    try:
        decode(data)
    except NotCanonical:
        return False
    return True


@given(VALUES)
def test_what_is_written_is_read_back(value: Any) -> None:
    data = encode(value, limit=codec.STATE_LIMIT)
    read = decode(data, limit=codec.STATE_LIMIT)
    assert (read, encode(read, limit=codec.STATE_LIMIT)) == (value, data)
    assert _types(read) == _types(value)


def _types(value: Any) -> Any:
    if isinstance(value, list):
        return [_types(item) for item in value]
    if isinstance(value, dict):
        return {key: _types(item) for key, item in value.items()}
    return type(value)


@given(VALUES)
def test_msgpack_and_msgspec_write_the_same_bytes(value: Any) -> None:
    data = encode(value, limit=codec.STATE_LIMIT)
    assert msgpack.packb(_in_order(value), use_bin_type=True) == data
    assert msgspec.msgpack.encode(value, order="sorted") == data


def _in_order(value: Any) -> Any:
    if isinstance(value, list):
        return [_in_order(item) for item in value]
    if isinstance(value, dict):
        return {key: _in_order(value[key]) for key in sorted(value, key=str.encode)}
    return value


@given(BYTES)
@settings(max_examples=300)
def test_bytes_are_the_encoding_of_their_value_or_refused(data: bytes) -> None:
    try:
        value = decode(data)
    except NotCanonical:
        return
    assert encode(value) == data


@given(VALUES, st.data())
def test_no_other_bytes_are_one_bit_away_from_the_same_value(value: Any, draw: st.DataObject) -> None:
    data = bytearray(encode(value, limit=codec.STATE_LIMIT))
    position = draw.draw(st.integers(0, 8 * len(data) - 1))
    data[position // 8] ^= 1 << position % 8
    try:
        other = decode(bytes(data), limit=codec.STATE_LIMIT)
    except NotCanonical:
        return
    assert (other, _types(other)) != (value, _types(value))


def test_a_tuple_is_written_as_an_array() -> None:
    assert encode((1, (2,))) == encode([1, [2]]) == bytes.fromhex("92019102")


def test_keys_stand_in_the_order_of_their_utf8_bytes_which_is_not_that_of_utf16() -> None:
    last, first = "\U0001f602", "\ufb33"
    data = encode({last: 1, first: 2})
    assert data == bytes.fromhex("82 a3efacb3 02 a4f09f9882 01")
    with pytest.raises(NotCanonical):
        decode(bytes.fromhex("82 a4f09f9882 01 a3efacb3 02"))


def test_a_shorter_key_stands_before_the_longer_one_that_it_begins() -> None:
    assert encode({"ab": 1, "a": 2, "": 3}) == bytes.fromhex("83 a0 03 a161 02 a26162 01")


@pytest.mark.parametrize(
    ("data", "what"),
    [
        ("82 a162 01 a161 02", "keys out of order"),
        ("82 a161 01 a161 01", "a key twice"),
        ("cc05", "a number in two bytes where one is enough"),
        ("d005", "a number from 0 in a signed form"),
        ("cd00ff", "u16 where u8 is enough"),
        ("d9 01 61", "str 8 where fixstr is enough"),
        ("c5 0001 61", "bin 16 where bin 8 is enough"),
        ("dc 0001 01", "array 16 where fixarray is enough"),
        ("de 0001 a161 01", "map 16 where fixmap is enough"),
        ("81 d90161 01", "a key in a long form"),
        ("ca 00000000", "float 32"),
        ("cb 0000000000000000", "float 64"),
        ("91 cb 3ff0000000000000", "a float inside"),
        ("d6 ff 00000000", "a timestamp"),
        ("d4 01 00", "an extension"),
        ("c7 01 05 00", "an extension with a length"),
        ("c1", "the byte that is never used"),
        ("81 01 02", "a number as key"),
        ("81 c40161 02", "bytes as key"),
        ("81 c0 02", "nil as key"),
        ("81 91 01 02", "an array as key"),
        ("a1 ff", "a string that is not UTF-8"),
        ("a3 eda080", "a surrogate in UTF-8"),
        ("a2 c080", "UTF-8 in an overlong form"),
        ("01 02", "trailing bytes"),
        ("c0 c0", "two values"),
        ("", "no bytes"),
        ("92 01", "an array cut short"),
        ("a5 6162", "a string cut short"),
        ("dd ffffffff", "an array that says it is huge"),
        ("df ffffffff", "a map that says it is huge"),
        ("c6 ffffffff", "bytes that say they are huge"),
    ],
)
def test_everything_but_the_canonical_encoding_is_refused(data: str, what: str) -> None:
    with pytest.raises(NotCanonical):
        decode(bytes.fromhex(data))


def test_sixteen_levels_are_allowed_and_not_seventeen() -> None:
    assert decode(b"\x91" * 16 + b"\x01") == [[[[[[[[[[[[[[[[1]]]]]]]]]]]]]]]]
    for bomb in (b"\x91" * 16 + b"\x90", b"\x91" * 60_000 + b"\x01", b"\x81\xa1a" * 20_000 + b"\x01"):
        with pytest.raises(NotCanonical):
            decode(bomb)
    value: list[Any] = []
    for _ in range(15):
        value = [value]
    encode(value)
    with pytest.raises(NotCanonical):
        encode([value])


def test_an_event_has_at_most_65535_bytes() -> None:
    largest = b"x" * (65_535 - 3)
    assert len(encode(largest)) == 65_535
    with pytest.raises(NotCanonical):
        encode(largest + b"x")
    with pytest.raises(NotCanonical):
        decode(msgpack.packb(b"x" * 65_533))


class Text(str):
    """Not a str to us: what its methods do is unknown."""


@pytest.mark.parametrize(
    "value",
    [
        1.0, float("nan"), 2**64, -(2**63) - 1, "\ud800", {"\udfff": 1}, {1: 2}, {b"a": 1}, {None: 1}, {1, 2},
        bytearray(b"a"), memoryview(b"a"), object(), [1.5], {"a": {"b": 0.5}}, msgpack.Timestamp(1), Text("a"),
        {Text("a"): 1}, True + 0.0,
    ],
)  # fmt: skip
def test_what_has_no_canonical_form_is_not_written(value: Any) -> None:
    with pytest.raises(NotCanonical):
        encode(value)
