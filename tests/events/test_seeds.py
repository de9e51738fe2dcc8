"""Committed dice, against values computed here by plain hashlib from the words of docs/event-format.md."""

import hashlib
import hmac
from itertools import islice

import pytest

from events import seeds
from events.hashing import hmac_sha256, sha256, sized, tag, u8, u32
from events.seeds import CHAIN_LENGTH, Chain

GAME = bytes.fromhex("00112233445566778899aabbccddeeff")
TAIL = hashlib.sha256(b"a tail for tests").digest()


def plain_lower(owner: int, k: int, link: bytes) -> bytes:
    return hashlib.sha256(
        b"annals/1:chain\x00" + b"\x00\x10" + GAME + bytes([owner]) + k.to_bytes(4, "big") + link
    ).digest()


def plain_chain(owner: int, tail: bytes, length: int) -> list[bytes]:
    links = [tail]
    for k in range(length, 0, -1):
        links.append(plain_lower(owner, k, links[-1]))
    return links[::-1]


@pytest.mark.parametrize("length", [1, 2, 3, 15, 16, 17, 100, CHAIN_LENGTH])
@pytest.mark.parametrize("owner", [0, 1, 255])
def test_every_link_is_that_of_a_chain_computed_plainly(owner: int, length: int) -> None:
    links = plain_chain(owner, TAIL, length)
    chain = Chain(GAME, owner, TAIL, length)
    assert chain.commitment == links[0]
    assert [chain.link(k) for k in range(length + 1)] == links


def test_each_link_is_checked_against_the_one_before() -> None:
    chain = Chain(GAME, 3, TAIL, 50)
    for k in range(1, 51):
        assert seeds.lower(GAME, 3, k, chain.link(k)) == chain.link(k - 1)
    assert seeds.lower(GAME, 2, 1, chain.link(1)) != chain.commitment
    assert seeds.lower(GAME, 3, 2, chain.link(1)) != chain.commitment
    assert seeds.lower(bytes(16), 3, 1, chain.link(1)) != chain.commitment


def test_a_chain_ends() -> None:
    chain = Chain(GAME, 0, TAIL, 10)
    for k in (-1, 11):
        with pytest.raises(IndexError):
            chain.link(k)


def test_a_chain_has_4096_links() -> None:
    assert CHAIN_LENGTH == 4_096
    assert Chain(GAME, 0, TAIL).length == 4_096


def test_the_servers_tail_is_the_master_keys_mark_of_the_game() -> None:
    message = b"annals/1:tail\x00" + b"\x00\x10" + GAME
    assert seeds.server_tail(b"master", GAME) == hmac.new(b"master", message, "sha256").digest()


def test_the_id_of_a_keyed_game_is_the_master_keys_mark_of_player_and_key() -> None:
    player, key = bytes(range(16)), "clé"
    message = b"annals/1:game-id\x00" + b"\x00\x10" + player + b"\x00\x04" + key.encode()
    assert seeds.keyed_game_id(b"master", player, key) == hmac.new(b"master", message, "sha256").digest()[:16]


def test_the_setup_mixes_the_servers_first_link_and_then_the_seats_in_order() -> None:
    commitments = {owner: hashlib.sha256(b"c0 %d" % owner).digest() for owner in (4, 0, 2)}
    links = {owner: hashlib.sha256(b"c1 %d" % owner).digest() for owner in (2, 4, 0)}
    salt = hashlib.sha256(
        b"annals/1:setup\x00\x00\x10" + GAME + b"\x00" + commitments[0] + b"\x02" + commitments[2]
        + b"\x04" + commitments[4]
    ).digest()  # fmt: skip
    message = b"\x00" + links[0] + b"\x02" + links[2] + b"\x04" + links[4]
    assert seeds.setup_mix(GAME, commitments, links) == hmac.new(salt, message, "sha256").digest()


def test_a_game_without_a_contributing_seat_has_a_setup_too() -> None:
    salt = hashlib.sha256(b"annals/1:setup\x00\x00\x10" + GAME + b"\x00" + TAIL).digest()
    expected = hmac.new(salt, b"\x00" + PREV, "sha256").digest()
    assert seeds.setup_mix(GAME, {0: TAIL}, {0: PREV}) == expected


PREV = hashlib.sha256(b"another link").digest()


@pytest.mark.parametrize("seat_link", [None, hashlib.sha256(b"r").digest()])
@pytest.mark.parametrize("server_link", [None, hashlib.sha256(b"s").digest()])
def test_a_roll_mixes_number_seat_and_the_links_that_are_there(
    seat_link: bytes | None, server_link: bytes | None
) -> None:
    parts = [b"\x00\x20" + link if link else b"\x00\x00" for link in (seat_link, server_link)]
    message = b"annals/1:roll\x00" + (77).to_bytes(4, "big") + b"\x05" + parts[0] + parts[1]
    expected = hmac.new(PREV, message, "sha256").digest()
    assert seeds.roll_mix(PREV, 77, 5, seat_link, server_link) == expected


def test_the_byte_stream_is_the_mix_counted_up() -> None:
    blocks = [hmac.new(PREV, b"annals/1:dice\x00" + b.to_bytes(4, "big"), "sha256").digest() for b in range(3)]
    assert list(islice(seeds.blocks(PREV), 3)) == blocks


def test_the_notation_is_that_of_the_paper() -> None:
    assert tag("x") == b"annals/1:x\x00"
    assert sized(b"") == b"\x00\x00"
    assert sized(b"ab") == b"\x00\x02ab"
    assert (u8(255), u32(1)) == (b"\xff", b"\x00\x00\x00\x01")
    for function, number in ((u8, 256), (u8, -1), (u32, 2**32)):
        with pytest.raises(OverflowError):
            function(number)
    with pytest.raises(OverflowError):
        sized(bytes(65_536))


@pytest.mark.parametrize("length", [0, 1, 32, 63, 64, 65, 200])
def test_hmac_gives_what_the_standard_library_does(length: int) -> None:
    key = bytes(range(length))
    for data in (b"", b"data", bytes(1_000)):
        assert hmac_sha256(key, data) == hmac.digest(key, data, "sha256")


def test_sha256_and_hmac_give_the_published_values() -> None:
    assert sha256(b"").hex() == "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"
    # RFC 4231, cases 1, 2 and 6
    assert (
        hmac_sha256(b"\x0b" * 20, b"Hi There").hex()
        == "b0344c61d8db38535ca8afceaf0bf12b881dc200c9833da726e9376c2e32cff7"
    )
    assert (
        hmac_sha256(b"Jefe", b"what do ya want for nothing?").hex()
        == "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    )
    assert (
        hmac_sha256(b"\xaa" * 131, b"Test Using Larger Than Block-Size Key - Hash Key First").hex()
        == "60e431591ee0b67f0d8a26aacbf5b77f8e0bc6213728c5140546040f0ee37f54"
    )
