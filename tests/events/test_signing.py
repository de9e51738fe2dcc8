"""Signed actions: their bytes, the strictness of Ed25519, and what derives from an account secret."""

import json
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from nacl.signing import SigningKey

from events import codec, seeds
from events.seat import SeatKey, from_phrase, hkdf, to_phrase
from events.signing import ACTION_TYPE, NotAnAction, SignedAction, pae, usable_key, verified

VECTORS = Path(__file__).resolve().parents[3] / "shared" / "vectors"
GAME, HEAD, LINK = b"g" * 16, b"h" * 32, b"r" * 32


def vectors(name: str) -> Any:
    if not (VECTORS / name).is_file():
        pytest.skip(f"the published vectors {name} are not beside the project")
    return json.loads((VECTORS / name).read_text())


def test_the_encoding_that_is_signed_is_the_published_one() -> None:
    expected = b"DSSEv1 29 http://example.com/HelloWorld 11 hello world"  # DSSE protocol.md
    assert pae("http://example.com/HelloWorld", b"hello world") == expected


@pytest.mark.parametrize(
    ("seed", "public", "message", "signature"),
    [  # RFC 8032, 7.1, test 1
        (
            "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60",
            "d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a",
            "",
            "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bacc61e39701cf9b46b"
            "d25bf5f0595bbe24655141438e7a100b",
        ),
    ],
)
def test_ed25519_is_the_one_of_rfc_8032(seed: str, public: str, message: str, signature: str) -> None:
    key = SigningKey(bytes.fromhex(seed))
    assert bytes(key.verify_key).hex() == public
    assert key.sign(bytes.fromhex(message)).signature.hex() == signature
    assert verified(bytes.fromhex(public), bytes.fromhex(message), bytes.fromhex(signature))
    assert not verified(bytes.fromhex(public), b"other", bytes.fromhex(signature))


def test_hkdf_is_the_one_of_rfc_5869() -> None:
    made = hkdf(b"\x0b" * 22, bytes.fromhex("000102030405060708090a0b0c"), bytes.fromhex("f0f1f2f3f4f5f6f7f8f9"))
    assert made.hex() == "3cb25f25faacd57a90434f64d0362f2a2d2d0a90cf1a5a4c5db02d56ecc4c5bf"


def test_a_key_that_fits_every_message_is_refused() -> None:
    identity = b"\x01" + bytes(31)
    assert not usable_key(identity)
    assert not verified(identity, b"anything", identity + bytes(32))


@pytest.mark.parametrize("text", ["edff" + "ff" * 29 + "7f", "edff" + "ff" * 29 + "ff", "ee" + "ff" * 30 + "7f"])
def test_a_key_that_is_not_canonical_is_refused(text: str) -> None:
    assert not usable_key(bytes.fromhex(text))


def test_of_the_published_edge_cases_none_with_a_trick_is_accepted() -> None:
    tricks = {"low_order_A", "low_order_R", "non_canonical_A", "non_canonical_R", "low_order_residue"}
    accepted = [
        case
        for case in vectors("cctv-ed25519vectors.json")
        if verified(bytes.fromhex(case["key"]), case["msg"].encode(), bytes.fromhex(case["sig"]))
    ]
    assert len(accepted) == 43  # what libsodium accepts
    assert [case["number"] for case in accepted if tricks & set(case["flags"] or ())] == []


def test_wycheproof_finds_no_signature_judged_wrongly() -> None:
    for group in vectors("wycheproof-ed25519_test.json")["testGroups"]:
        key = bytes.fromhex(group["publicKey"]["pk"])
        for case in group["tests"]:
            accepted = verified(key, bytes.fromhex(case["msg"]), bytes.fromhex(case["sig"]))
            assert accepted == (case["result"] == "valid"), case["tcId"]


def action(**changed: Any) -> list[Any]:
    fields = {
        "version": 1, "kind": "act", "game_id": GAME, "seat": 2, "pseq": 3, "head_seq": 7, "head": HEAD,
        "name": "move", "args": {"to": [1, 0]}, "r": LINK,
    }  # fmt: skip
    return list((fields | changed).values())


def test_an_action_is_read_as_it_was_written() -> None:
    made = SignedAction.write("act", GAME, 2, 3, 7, HEAD, LINK, "move", {"to": [1, 0]})
    assert made.data == codec.encode(action())
    assert SignedAction.read(made.data) == made
    key = SigningKey(b"k" * 32)
    assert made.signed_by(bytes(key.verify_key), made.sign(key).signature)
    assert made.message == b"DSSEv1 %d %s %d %s" % (len(ACTION_TYPE), ACTION_TYPE.encode(), len(made.data), made.data)


@pytest.mark.parametrize(
    "changed",
    [
        {"version": 2}, {"version": True}, {"kind": "close"}, {"game_id": b"g" * 15}, {"seat": 0}, {"seat": 256},
        {"seat": True}, {"pseq": -1}, {"head_seq": 0}, {"head": b"h"}, {"name": None}, {"args": []}, {"r": None},
        {"r": b"r" * 31}, {"kind": "resign"}, {"kind": "resign", "name": None, "args": {"to": 1}},
        {"kind": "signoff", "name": None, "args": {"cp": [1]}}, {"kind": "join", "name": None, "args": {}},
    ],
    ids=str,
)  # fmt: skip
def test_bytes_that_are_no_action_are_refused(changed: dict[str, Any]) -> None:
    with pytest.raises(NotAnAction):
        SignedAction.read(codec.encode(action(**changed)))


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    with suppress(NotAnAction):
        assert SignedAction.read(data).data == data


def test_key_and_chain_follow_from_the_secret_the_game_the_seat_and_the_join() -> None:
    def made(secret: bytes = b"s" * 32, game: bytes = GAME, seat: int = 1, joined: int = 4) -> tuple[bytes, bytes]:
        key = SeatKey(secret, game, seat, joined, 16)
        return key.public, key.chain.commitment

    first = made()
    assert made() == first
    others = [made(b"t" * 32), made(game=b"f" * 16), made(seat=2), made(joined=5)]
    assert len({first, *others}) == 5
    assert len({public for public, _ in (first, *others)}) == 5


def test_a_seat_reveals_one_link_with_each_action() -> None:
    key = SeatKey(b"s" * 32, GAME, 2, 4, 16)
    sealed = key.join(HEAD, {"hero": "tala"}, (9, b"c" * 32))
    join = sealed.action
    assert join.signed_by(key.public, sealed.signature)
    assert join.args == {"pk": key.public, "choice": {"hero": "tala"}, "cp": [9, b"c" * 32]}
    assert (join.pseq, join.head_seq, join.r) == (0, 4, key.chain.commitment)
    act = key.sign("act", 1, 6, HEAD, "move", {"to": [1, 0]}).action
    assert seeds.lower(GAME, 2, 1, act.r) == join.r


@given(st.binary(min_size=32, max_size=32))
def test_a_secret_comes_back_from_its_phrase(secret: bytes) -> None:
    phrase = to_phrase(secret)
    assert len(phrase.split("-")) == 14
    assert from_phrase(phrase) == from_phrase(phrase.upper().replace("-", " ") + "\n") == secret


def test_a_slip_in_a_phrase_is_noticed() -> None:
    phrase = to_phrase(b"s" * 32)
    assert phrase == "edsq-6wvk-edsq-6wvk-edsq-6wvk-edsq-6wvk-edsq-6wvk-edsq-6wvk-edsn-3eg0"
    for wrong in (phrase[:-1], phrase + "0", phrase.replace("e", "f", 1), phrase.replace("e", "u", 1), ""):
        with pytest.raises(ValueError, match="phrase"):
            from_phrase(wrong)
