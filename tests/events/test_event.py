"""The envelope and the chain."""

import hashlib
from typing import Any
from unittest.mock import patch

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

import events.event
from events import codec
from events.bodies import BODIES, plain, read_body
from events.codec import NotCanonical, encode
from events.event import CASE_KINDS, GAME_KINDS, Event, Malformed, event_hash, genesis

GAME = bytes(range(16))
PREV = bytes(32)


def fields(**changes: Any) -> list[Any]:
    names = ("version", "game_id", "seq", "prev", "t_ms", "kind", "seat", "body")
    sound = dict(zip(names, (1, GAME, 1, PREV, 0, "act", 1, {}), strict=True))
    return list({**sound, **changes}.values())


def test_genesis_is_the_hash_of_its_tag_and_the_sized_id() -> None:
    assert genesis(GAME) == hashlib.sha256(b"annals/1:genesis\0" + b"\0\x10" + GAME).digest()


def test_an_events_hash_is_that_of_its_tag_and_its_stored_bytes() -> None:
    event = Event.write(GAME, 1, genesis(GAME), 7, "act", 2, {"a": ["pass", {}]})
    assert event.hash == event_hash(event.data) == hashlib.sha256(b"annals/1:event\0" + event.data).digest()


def test_the_bytes_of_an_event_are_these() -> None:
    event = Event.write(GAME, 300, bytes(32), 1_700_000_000_000, "act", 2, {"k": b"12345678", "a": ["end-turn", {}]})
    assert (
        event.data.hex(" ")
        == bytes.fromhex(
            "98 01"  # an array of 8, format 1
            "c410" + GAME.hex() + "cd012c"  # the id, seq 300
            "c420" + bytes(32).hex() + "cf0000018bcfe56800"  # prev, t_ms
            "a3616374 02"  # kind, seat
            "82 a161 92 a8656e642d7475726e 80 a16b c4083132333435363738"  # body, keys in order
        ).hex(" ")
    )


@given(
    seq=st.integers(1, 2**64 - 1),
    t_ms=st.integers(0, 2**64 - 1),
    kind=st.text(st.characters(exclude_categories=("Cs",)), max_size=12),
    seat=st.none() | st.integers(1, 255),
    body=st.dictionaries(st.text("abcxyzé", max_size=4), st.none() | st.integers(0, 9) | st.binary(max_size=4)),
)
def test_what_is_written_is_read_back(seq: int, t_ms: int, kind: str, seat: int | None, body: dict[str, Any]) -> None:
    event = Event.write(GAME, seq, PREV, t_ms, kind, seat, body)
    assert Event.read(event.data) == event


def test_an_unknown_kind_and_unknown_keys_are_carried() -> None:
    event = Event.write(GAME, 1, PREV, 0, "weather", None, {"zz": [1, {"q": None}], "f": b"f"})
    read = Event.read(event.data)
    assert (read.kind, read.body, read.data) == ("weather", {"f": b"f", "zz": [1, {"q": None}]}, event.data)


@pytest.mark.parametrize(
    "changes",
    [
        {"version": 2}, {"version": True}, {"version": None}, {"game_id": GAME[1:]}, {"game_id": GAME.hex()},
        {"seq": 0}, {"seq": -1}, {"seq": True}, {"seq": "1"}, {"prev": b""}, {"prev": None}, {"t_ms": -1},
        {"t_ms": False}, {"t_ms": None}, {"kind": b"act"}, {"kind": None}, {"seat": 0}, {"seat": -1},
        {"seat": True}, {"seat": "1"}, {"body": None}, {"body": []}, {"more": 1},
    ],
)  # fmt: skip
def test_an_envelope_that_is_not_of_format_1_is_refused(changes: dict[str, Any]) -> None:
    with pytest.raises(Malformed):
        Event.read(encode(fields(**changes)))


@pytest.mark.parametrize("value", [None, {}, [], 1, [1, GAME], "event"])
def test_what_is_not_an_array_of_eight_is_refused(value: Any) -> None:
    with pytest.raises(Malformed):
        Event.read(encode(value))


@pytest.mark.parametrize("data", [b"", b"\xc1", b"\x98\x01", encode(fields()) + b"\0", encode(fields())[:-1]])
def test_what_is_not_canonical_is_refused(data: bytes) -> None:
    with pytest.raises(Malformed):
        Event.read(data)


def test_nothing_is_written_that_could_not_be_read() -> None:
    for wrong in ((GAME[1:], 1, PREV, 0, "act", 1), (GAME, 0, PREV, 0, "act", 1), (GAME, 1, b"", 0, "act", 1),
                  (GAME, 1, PREV, -1, "act", 1), (GAME, 1, PREV, 0, "act", 0)):  # fmt: skip
        with pytest.raises(Malformed):
            Event.write(*wrong, {})
    for body in ({"a": 0.5}, {"a": b"x" * 65_536}):
        with pytest.raises(NotCanonical):
            Event.write(GAME, 1, PREV, 0, "act", 1, body)


def test_any_changed_bit_changes_the_hash_or_is_refused() -> None:
    event = Event.write(GAME, 2, PREV, 5, "act", 1, {"a": ["move", {"to": [1, 0]}], "f": b"12345678"})
    for position in range(8 * len(event.data)):
        data = bytearray(event.data)
        data[position // 8] ^= 1 << position % 8
        try:
            assert Event.read(bytes(data)).hash != event.hash
        except Malformed:
            continue


def test_the_kinds_are_a_closed_list() -> None:
    assert {
        "create", "join", "leave", "lock", "reveal", "seeded", "act", "timeout", "resign", "custody", "signoff", "close"
    } == GAME_KINDS  # fmt: skip
    assert {"create", "dispute", "answer", "ruling", "close"} == CASE_KINDS
    assert set(BODIES) <= GAME_KINDS


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(0, 300) | st.binary(max_size=3) | st.floats() | st.text(max_size=2),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=2) | st.integers(0, 9), inner),
    max_leaves=12,
)
ENVELOPES = st.fixed_dictionaries(
    {},
    optional={
        "version": st.sampled_from((0, 1, 2, True, 1.0)),
        "game_id": st.binary(min_size=15, max_size=17) | st.text(min_size=16, max_size=16),
        "seq": st.integers(-1, 2**64 - 1) | st.booleans() | st.floats(),
        "prev": st.binary(min_size=32, max_size=32) | st.none(),
        "t_ms": st.integers(-1, 2**64 - 1) | st.booleans(),
        "kind": st.text(st.characters(exclude_categories=("Cs",)), max_size=3) | st.binary(max_size=3),
        "seat": st.none() | st.integers(-1, 3) | st.booleans(),
    },
)
ACTS = st.fixed_dictionaries(
    {
        "a": st.binary(max_size=3) | st.tuples(st.text(max_size=2), st.dictionaries(st.text(max_size=2), VALUES)),
        "f": st.binary(min_size=8, max_size=8) | st.text(min_size=8, max_size=8),
    },
    optional={
        "g": st.binary(min_size=63, max_size=64) | st.none(),
        "k": st.binary(min_size=8, max_size=8) | st.none(),
        "x": st.tuples(
            st.integers(-1, 3) | st.floats(),
            st.binary(min_size=32, max_size=32),
            st.lists(st.lists(st.text(max_size=2) | st.integers(), max_size=4) | VALUES, max_size=2),
        ),
        "z": VALUES,
    },
)


@given(ENVELOPES, VALUES | ACTS, st.booleans())
def test_the_fast_reader_accepts_what_the_slow_one_does_and_reads_the_same(
    changes: dict[str, Any], body: Any, sort: bool
) -> None:
    try:
        data = msgspec.msgpack.encode(fields(**changes, body=body), order="sorted" if sort else None)
    except (TypeError, UnicodeEncodeError, OverflowError):
        return  # keys of two types cannot be sorted, a lone surrogate or a number beyond 64 bits cannot be written
    with patch.object(events.event, "_read_act", lambda _: None):
        slow = _told(data)
    assert _told(data) == slow


@given(st.integers(1, 2**64 - 1), st.none() | st.integers(1, 9), ACTS)
def test_the_body_of_an_act_that_is_read_at_once_is_the_one_that_its_plain_data_give(
    seq: int, seat: int | None, body: dict[str, Any]
) -> None:
    try:
        event = Event.read(Event.write(GAME, seq, PREV, 7, "act", seat, body).data)
    except NotCanonical:
        return
    if event.act is not None:
        assert plain(event.act) == plain(read_body("act", event.body))


def test_the_fast_reader_reads_an_event_of_a_game() -> None:
    body = {"a": ["move", {"to": [1, 0]}], "f": b"12345678", "x": [1, PREV, [["die", 6, 1]]]}
    event = Event.write(GAME, 300, PREV, 7, "act", 2, body)
    with patch.object(codec, "decode", side_effect=AssertionError):
        assert Event.read(event.data) == event


def _told(data: bytes) -> str:
    try:
        event = Event.read(data)
    except Malformed as error:
        return str(error)
    return repr((event.game_id, event.seq, event.prev, event.t_ms, event.kind, event.seat, event.body, event.hash))
