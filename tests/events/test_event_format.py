"""docs/event-format.md is true: its whole game is derived here from the page's own words, by hashlib alone."""

import hashlib
import hmac
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from events import codec, seeds
from events.bodies import BODIES, plain, read_body
from events.case_bodies import CASE_BODIES, hidden, read_case_body
from events.event import CASE_KINDS, GAME_KINDS, Event, event_hash, genesis
from events.log import idempotency_key
from events.redis_log import Keys, feed_key
from replay.case import fold_case

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "event-format.md").read_text()


def blocks(language: str) -> list[str]:
    return re.findall(rf"^```{language}\n(.*?)^```$", PAGE, re.MULTILINE | re.DOTALL)


def values() -> dict[str, bytes]:
    lines = (line.split() for block in blocks("values") for line in block.splitlines())
    return {name: bytes.fromhex(text) for name, text in lines}


V = values()
BYTES = [bytes.fromhex(block) for block in blocks("event")]
HASHES = [bytes.fromhex(block) for block in blocks("hash")]
EVENTS = [Event.read(data) for data in BYTES]
CREATE, JOIN, BOT, LOCK, SEEDED, ACT, CLOSE = EVENTS
CASE = [Event.read(bytes.fromhex(block)) for block in blocks("case")]


def tag(name: str) -> bytes:
    return b"annals/1:" + name.encode() + b"\0"


def sized(data: bytes) -> bytes:
    return len(data).to_bytes(2, "big") + data


def sha256(data: bytes) -> bytes:
    return hashlib.sha256(data).digest()


def mac(key: bytes, data: bytes) -> bytes:
    return hmac.new(key, data, "sha256").digest()


class Dice:
    def __init__(self, mix: bytes) -> None:
        self._bytes = self._stream(mix)

    @staticmethod
    def _stream(mix: bytes) -> Iterator[int]:
        for b in range(1_000):
            yield from mac(mix, tag("dice") + b.to_bytes(4, "big"))

    def below(self, n: int) -> int:
        k = next(k for k in range(1, 9) if 256**k >= n)
        while True:
            v = int.from_bytes(bytes(next(self._bytes) for _ in range(k)), "big")
            if v < 256**k - 256**k % n:
                return v % n


def test_the_game_has_create_act_with_draws_and_close() -> None:
    assert [event.kind for event in EVENTS] == ["create", "join", "join", "lock", "seeded", "act", "close"]
    assert len(ACT.body["x"][2]) == 2
    assert [(event.seq, event.game_id) for event in EVENTS] == [(seq, V["id"]) for seq in range(1, 8)]


def test_each_event_encoded_again_is_its_bytes_and_has_the_hash_it_says() -> None:
    assert len(HASHES) == len(BYTES) == 7
    for event, data, digest in zip(EVENTS, BYTES, HASHES, strict=True):
        fields = (event.game_id, event.seq, event.prev, event.t_ms, event.kind, event.seat, event.body)
        assert Event.write(*fields) == event
        assert event.data == data
        assert codec.encode(codec.decode(data)) == data
        assert digest == event.hash == event_hash(data) == sha256(tag("event") + data)
        assert re.search(rf"\*\*Event {event.seq}, `{event.kind}`\*\*, {len(data)} bytes\.", PAGE)


def test_the_chain_holds_from_the_genesis_hash_on() -> None:
    assert V["genesis"] == genesis(V["id"]) == sha256(tag("genesis") + sized(V["id"]))
    assert [event.prev for event in EVENTS] == [V["genesis"], *HASHES[:-1]]
    assert [event.t_ms for event in EVENTS] == sorted(event.t_ms for event in EVENTS)


def test_every_body_is_of_its_kind() -> None:
    for event in EVENTS:
        assert codec.encode(plain(read_body(event.kind, event.body))) == codec.encode(event.body)
    assert BOT.body["bot"] == ["tosser", 1]
    assert (JOIN.body["player"], BOT.body["player"]) == (V["player"], V["bot_player"])


def test_the_chain_of_dice_follows_from_the_master_key() -> None:
    link = mac(V["master"], tag("tail") + sized(V["id"]))
    assert V["tail"] == link == CLOSE.body["tail"]
    links = {4_096: link}
    for k in range(4_096, 0, -1):
        link = sha256(tag("chain") + sized(V["id"]) + b"\0" + k.to_bytes(4, "big") + link)
        links[k - 1] = link
    assert (V["c0"], V["c1"], V["c2"]) == (links[0], links[1], links[2])
    assert (CREATE.body["commit"], CREATE.body["chain_len"]) == (links[0], 4_096)
    assert (SEEDED.body["x"][1], ACT.body["x"][1]) == (links[1], links[2])
    chain = seeds.Chain(V["id"], seeds.SERVER, seeds.server_tail(V["master"], V["id"]))
    assert [chain.link(k) for k in range(4_097)] == [links[k] for k in range(4_097)]


def test_the_draws_follow_from_the_links() -> None:
    salt = sha256(tag("setup") + sized(V["id"]) + b"\0" + V["c0"])
    assert V["M0"] == mac(salt, b"\0" + V["c1"]) == seeds.setup_mix(V["id"], {0: V["c0"]}, {0: V["c1"]})
    assert V["stream0"] == mac(V["M0"], tag("dice") + bytes(4)) == next(seeds.blocks(V["M0"]))
    assert SEEDED.body["x"] == [0, V["c1"], [["first-seat", 2, 1 + Dice(V["M0"]).below(2)]]]

    seat = ACT.seat
    assert seat is not None
    assert seat == SEEDED.body["x"][2][0][2]
    message = tag("roll") + (1).to_bytes(4, "big") + bytes([seat]) + sized(b"") + sized(V["c2"])
    assert V["M1"] == mac(V["M0"], message) == seeds.roll_mix(V["M0"], 1, seat, None, V["c2"])
    assert V["stream1"] == mac(V["M1"], tag("dice") + bytes(4)) == next(seeds.blocks(V["M1"]))
    dice = Dice(V["M1"])
    v = dice.below(2)
    assert ACT.body["x"] == [1, V["c2"], [["coin", 2, v, ["heads", "tails"][v]], ["bonus", 6, 1 + dice.below(6)]]]


def test_the_fingerprints_are_those_of_the_states() -> None:
    first, won = SEEDED.body["x"][2][0][2], ACT.body["x"][2][0][3] == ACT.body["a"][1]["bet"]
    assert V["canon0"] == codec.encode({"next": first, "tosses": 0, "won": None})
    assert V["canon1"] == codec.encode({"next": None, "tosses": 1, "won": won})
    for number in "01":
        assert V[f"S{number}"] == sha256(tag("state") + sized(b"coin@1") + V[f"canon{number}"])
    assert (SEEDED.body["f"], ACT.body["f"], CLOSE.body["state_hash"]) == (V["S0"][:8], V["S1"][:8], V["S1"])
    assert not any("f" in event.body for event in (CREATE, JOIN, BOT, LOCK, CLOSE))


def test_the_hash_of_the_ruleset_is_that_of_its_material_and_transcripts() -> None:
    assert codec.decode(V["material"]) == {"faces": ["heads", "tails"]}
    assert V["transcripts"] == sha256(b"")
    expected = sha256(tag("rules") + sized(b"coin@1") + V["material"] + V["transcripts"])
    assert CREATE.body["rules_hash"] == expected


def test_the_mark_of_the_key_is_eight_bytes_of_its_hash() -> None:
    assert "The idempotency key was `my key`" in PAGE
    assert V["k"] == sha256(b"my key")[:8] == idempotency_key("my key") == ACT.body["k"]


def test_a_signed_action_is_an_array_of_ten() -> None:
    (block,) = blocks("action")
    data = bytes.fromhex(block)
    link = bytes(range(0x60, 0x80))
    fields = [1, "act", V["id"], ACT.seat, 1, SEEDED.seq, SEEDED.hash, *ACT.body["a"], link]
    assert codec.encode(fields) == data
    assert codec.encode(codec.decode(data)) == data
    assert len("application/vnd.annals.action.v1+msgpack") == 40


def test_the_values_beside_the_bytes_are_those_in_them() -> None:
    shown = re.findall(r"^seat (\S+)  body (.*)$", PAGE, re.MULTILINE)
    events = [*EVENTS, *CASE]
    assert [(seat, body) for seat, body in shown] == [(_shown(event.seat), _shown(event.body)) for event in events]


def _shown(value: Any) -> str:
    if value is None:
        return "nil"
    if isinstance(value, bytes):
        return f"h'{value.hex()}'" if len(value) <= 8 else f"h'{value.hex()[:8]}...{value.hex()[-4:]}'"
    if isinstance(value, str):
        return f'"{value}"'
    if isinstance(value, list):
        return "[" + ", ".join(map(_shown, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key}: {_shown(item)}" for key, item in value.items()) + "}"
    return str(value)


def test_the_table_of_kinds_is_the_closed_list_with_every_key() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.partition("\n## Kinds")[2].partition("\n## ")[0], re.M))
    assert set(rows) == GAME_KINDS
    for kind, body in BODIES.items():
        named = set(re.findall(r"`(\w+)`", rows[kind]))
        assert set(body.__struct_fields__) <= named | {"f"}, kind


def test_the_table_of_kinds_of_a_case_is_the_closed_list_with_every_key() -> None:
    rows = dict(re.findall(r"^\| `(\w+)` \| (.*) \|$", PAGE.partition("\n## Cases")[2].partition("\n## ")[0], re.M))
    assert set(rows) == CASE_KINDS == set(CASE_BODIES)
    for kind, body in CASE_BODIES.items():
        assert set(body.__struct_fields__) <= set(re.findall(r"`(\w+)`", rows[kind])), kind


def test_the_case_is_chained_typed_and_holds_only_hashes_of_its_texts() -> None:
    values = dict(line.split() for line in blocks("case-values")[0].splitlines())
    case_id = bytes.fromhex(values["case"])
    prev = sha256(tag("genesis") + sized(case_id))
    hashes = [bytes.fromhex(block) for block in blocks("case-hash")]
    for number, (event, stored_hash) in enumerate(zip(CASE, hashes, strict=True), 1):
        assert (event.game_id, event.seq, event.prev) == (case_id, number, prev)
        assert stored_hash == event.hash == sha256(tag("event") + event.data)
        assert codec.encode(plain(read_case_body(event.kind, event.body))) == codec.encode(event.body)
        prev = stored_hash
    told = PAGE.partition("\n## A case in hex")[2].partition("```")[0].replace("\n", " ")
    said = re.findall(r'"([A-Z][^"]*\.)"', told)
    spoken = [event for event in CASE if "text" in event.body]
    assert len(said) == len(spoken) == 3
    for number, (text, event) in enumerate(zip(said, spoken, strict=True)):
        salt = bytes.fromhex(values[f"salt{number}"])
        h = sha256(tag("hidden") + salt + sized(text.encode()))
        assert h == bytes.fromhex(values[f"h{number}"]) == event.body["text"]["h"] == hidden(salt, text)
    assert CASE[0].body["about"] == [CREATE.game_id, 6, ACT.hash]
    folded = fold_case(case_id, CASE)
    assert (folded.grade, folded.state) == ("EXACT", "closed")


@pytest.mark.parametrize("name", ["stream", "meta", "idem"])
def test_the_keys_of_a_game_are_those_of_the_log(name: str) -> None:
    game_id = bytes(16)
    key = getattr(Keys.of(game_id), name)
    assert f"`{key.replace(game_id.hex(), '<id in hex>')}`" in PAGE
    assert f"`{feed_key('0')}`" in PAGE
