"""The log of games over HTTP, as a stranger uses it: nothing is believed that was not computed."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from events.notes import Verifier
from events.tlog.checkpoint import Checkpoint
from events.tlog.entries import Closed, Opened, read_entry
from events.tlog.policy import Policy
from events.tlog.proof import Continuation, Inclusion
from events.tlog.tiles import Missing, Tree
from service.proofs.sequencer import sequencer_of


@pytest.fixture
def publish(house: Any, tmp_path: Path) -> Callable[[], None]:
    """Bring the log of the house up to date."""
    house.deps.config = replace(house.deps.config, log_dir=str(tmp_path / "log"))

    def publish() -> None:
        sequencer = sequencer_of(house.deps)
        assert sequencer is not None
        while sequencer.step():
            pass
        sequencer.close()

    return publish


def get(house: Any, path: str) -> bytes:
    answer = house.nobody.get(path)
    assert answer.status_code == 200, answer.text
    data: bytes = answer.data
    return data


def policy(house: Any) -> Policy:
    return Policy.parse(get(house, "/v1/log/policy"))


def fetch(house: Any) -> Callable[[str], bytes]:
    def fetch(path: str) -> bytes:
        answer = house.nobody.get(f"/v1/log/{path}")
        if answer.status_code == 404:
            raise Missing(path)
        data: bytes = answer.data
        return data

    return fetch


def checkpoint(house: Any) -> Checkpoint:
    return policy(house).open(get(house, "/v1/log/checkpoint")).checkpoint


def over(house: Any, ada: Any) -> Any:
    table = ada.opens(options={"stalemate_rounds": 1})
    table.seat(ada)
    table.starts()
    while table.shown()["status"] == "playing":
        assert table.act({"type": "end-turn"}, table.version).status_code == 201
    return table


def test_a_stranger_recomputes_the_log_from_its_tiles(house: Any, publish: Callable[[], None]) -> None:
    ada = house.player()
    for _ in range(3):
        ada.opens()
    publish()
    now = checkpoint(house)
    tree = Tree(now.size, fetch(house))
    assert (now.size, tree.root()) == (3, now.root)
    assert all(isinstance(read_entry(data), Opened) for _, data in tree.entries(0))
    answer = house.nobody.get("/v1/log/checkpoint")
    assert answer.content_type == "text/plain; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=1"
    tile = house.nobody.get("/v1/log/tile/0/000.p/3")
    assert tile.content_type == "application/octet-stream"
    assert "immutable" in tile.headers["Cache-Control"]
    assert "public" in tile.headers["Cache-Control"]


def test_a_game_is_shown_to_have_begun_and_ended_so(house: Any, publish: Callable[[], None]) -> None:
    ada = house.player()
    ada.opens()
    publish()
    old = checkpoint(house)
    table = over(house, ada)
    publish()
    now = checkpoint(house)
    keys = policy(house)
    events = list(house.deps.log.read(bytes.fromhex(table.id)).events)
    for kind, expected in (("open", Opened.of(events[0])), ("close", Closed.of(events[-1]))):
        for query in ("", "?at=first", "?at=latest"):
            proof = Inclusion.read(get(house, f"{table.path}/proofs/{kind}{query}"))
            signed = keys.open(proof.checkpoint).checkpoint
            assert proof.extra == expected.write()
            proof.check(expected.write(), signed)
            assert signed.size <= now.size
            assert query != "?at=latest" or signed == now
    way = Continuation.read(get(house, f"/v1/log/consistency?from={old.size}"))
    way.check(old.root, keys.open(way.checkpoint).checkpoint)
    assert keys.open(way.checkpoint).checkpoint == now
    part = Continuation.read(get(house, f"/v1/log/consistency?from={old.size}&to={old.size + 1}"))
    assert keys.open(part.checkpoint).checkpoint.size == old.size + 1
    assert Continuation.read(get(house, "/v1/log/consistency")).old == 0


def test_what_is_not_in_the_log_yet_is_told_so(house: Any, publish: Callable[[], None], refusal: Any) -> None:
    ada = house.player()
    table = ada.opens()
    for path in ("/v1/log/checkpoint", "/v1/log/consistency?from=0", "/v1/log/tile/0/000"):
        assert refusal(house.nobody.get(path)) == "404 not-logged-yet"
    assert refusal(house.nobody.get(f"{table.path}/proofs/open")) == "404 not-logged-yet"
    assert policy(house).logs == (house.deps.signing.log.verifier,)
    publish()
    assert house.nobody.get(f"{table.path}/proofs/open").status_code == 200
    answer = house.nobody.get(f"{table.path}/proofs/close")
    assert refusal(answer) == "404 not-logged-yet"
    assert answer.headers["Retry-After"] == "1"
    for query in ("from=2", "from=0&to=2", "from=1&to=0"):
        assert refusal(house.nobody.get(f"/v1/log/consistency?{query}")) == "404 not-logged-yet"
    for query in ("from=-1", "from=x", "old=1", "from=1000000000000"):
        assert refusal(house.nobody.get(f"/v1/log/consistency?{query}")) == "400 bad-query"
    assert refusal(house.nobody.get(f"/v1/games/{'f' * 32}/proofs/open")) == "404 game-not-found"


@pytest.mark.parametrize(
    "path",
    [
        "tile/0/000",
        "tile/0/000.p/2",
        "tile/1/000.p/1",
        "tile/0/0",
        "tile/0/x000/001",
        "tile/64/000",
        "tile/0/000.p/256",
        "tile/entries/000.p/2",
        "tile/../signed",
        "tile/0/../../signed",
        "tile/%2e%2e/signed",
        "signed",
        "lock",
        "index/00",
        "pending/x.entry",
    ],
)
def test_nothing_else_of_the_folder_is_served(house: Any, publish: Callable[[], None], path: str) -> None:
    house.player().opens()
    publish()
    assert house.nobody.get(f"/v1/log/{path}").status_code == 404


def test_a_tile_that_was_not_published_is_not_served(house: Any, publish: Callable[[], None], tmp_path: Path) -> None:
    house.player().opens()
    publish()
    tiles = tmp_path / "log" / "tile" / "0" / "000.p"
    (tiles / "2").write_bytes(bytes(64))
    assert house.nobody.get("/v1/log/tile/0/000.p/2").status_code == 404
    assert house.nobody.get("/v1/log/tile/0/000.p/1").status_code == 200


def test_the_policy_pins_the_receipts_key_too(house: Any, publish: Callable[[], None]) -> None:
    publish()
    claimed = policy(house)
    assert claimed.receipts == house.deps.signing.receipts.verifier
    assert claimed.quorum == "none"
    assert Verifier.parse(claimed.logs[0].vkey).name == checkpoint(house).origin


def test_the_log_of_a_private_game_tells_nobody_whose_it_is(house: Any, publish: Callable[[], None]) -> None:
    ada = house.player("Ada Lovelace")
    table = ada.opens(visibility="private")
    publish()
    assert house.nobody.get(f"{table.path}/proofs/open").status_code == 404
    assert ada.get(f"{table.path}/proofs/open").status_code == 200
    assert "private" in ada.get(f"{table.path}/proofs/open").headers["Cache-Control"]
    (data,) = (data for _, data in Tree(1, fetch(house)).entries(0))
    for secret in (ada.id.encode(), bytes.fromhex(ada.id), b"Ada"):
        assert secret not in data
