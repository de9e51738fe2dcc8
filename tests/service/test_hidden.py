"""What is not for strangers stays so wherever they look: every read of the API and the pages, asked for everything."""

import re
import secrets
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from events.tlog.entries import Closed, Opened, read_entry
from service.api.meta import everything
from service.proofs.sequencer import sequencer_of

READS = [route for route in everything.routes if route.method == "GET"]
OF_A_GAME = [route for route in READS if "game_id" in route.template]
QUERIES = {
    "/v1/games": (
        "", "?status=open", "?status=playing", "?status=finished", "?ruleset=donjon@1", "?player={player_id}",
        "?player={other_player}", "?forked_from={hidden_id}", "?limit=100",
    ),
    "/v1/log/consistency": ("?from=1",),
    "/v1/games/{game_id}/positions/{version}/why": ("?path=seats/1",),
}  # fmt: skip


def played_out(player: Any, **more: Any) -> Any:
    """A game that is over, and disputed."""
    table = player.opens(options={"stalemate_rounds": 1}, **more)
    assert table.seat(player).status_code == 201
    table.starts()
    while table.shown()["status"] == "playing":
        assert table.act({"type": "end-turn"}, table.version).status_code == 201
    made = player.post(f"{table.path}/disputes", json={"event": 5, "text": "A word in confidence."})
    table.case = made.json["case_id"]
    return table


class Scene:
    """A public game, and hidden ones of the same player: one that is over, one being played, one not begun."""

    def __init__(self, house: Any, folder: Path, visibility: str) -> None:
        house.deps.config = replace(house.deps.config, log_dir=str(folder / "log"))
        self.house, self.ada, self.bob = house, house.player("Ada"), house.player("Bob of the hidden table")
        self.public = played_out(self.ada)
        self.over = played_out(self.bob, visibility=visibility)
        playing = self.bob.opens(visibility=visibility)
        playing.seat(self.bob)
        self.hidden = [self.over, playing.starts(), self.bob.opens(visibility=visibility)]
        fork = self.bob.post(f"{self.over.path}/forks", json={"version": 6, "visibility": visibility})
        assert fork.status_code == 201, fork.text
        self.ids = [table.id for table in self.hidden] + [self.over.case, fork.json["game_id"]]
        sequencer = sequencer_of(house.deps)
        while sequencer.step():
            pass
        sequencer.close()
        self.values = {
            "game_id": self.public.id, "other_id": self.public.id, "case_id": self.public.case, "version": "6",
            "seq": "2", "player_id": self.bob.id, "other_player": self.ada.id, "hidden_id": self.over.id,
            "ruleset": "donjon@1", "tile": "0/000.p/1", "code": "stale", "name": "style.css", "edition": "0",
        }  # fmt: skip

    def addresses(self) -> list[str]:
        asked = [
            route.template + query
            for route in READS
            if route.name != "stream_me"
            for query in QUERIES.get(route.template, ("",))
        ]
        return [re.sub(r"{(\w+)}", lambda found: self.values[found[1]], address) for address in asked]


@pytest.fixture(params=["private", "unlisted"])
def scene(request: pytest.FixtureRequest, house: Any, tmp_path: Path) -> Scene:
    return Scene(house, tmp_path, request.param)


def test_no_list_page_picture_or_figure_names_a_hidden_game_to_strangers(scene: Scene) -> None:
    strangers = (scene.house.nobody, scene.ada)
    for who in strangers:
        for address in scene.addresses():
            answer = who.get(address)
            assert answer.status_code < 500, address
            said = answer.data.decode("utf-8", "replace") + str(answer.headers)
            asked = address.partition("?")[2]
            for hidden in scene.ids:
                assert hidden not in said.replace(asked, ""), address


def test_figures_of_luck_do_not_count_hidden_games(scene: Scene) -> None:
    for who in (scene.house.nobody, scene.ada):
        assert who.get(f"/v1/players/{scene.bob.id}/luck").json["games"] == 0
        assert who.get("/v1/luck").json["games"] == 1
    assert scene.bob.get(f"/v1/players/{scene.bob.id}/luck").json["games"] == 1


def test_the_log_of_games_tells_of_a_hidden_game_no_more_than_of_any(scene: Scene) -> None:
    size = int(scene.house.nobody.get("/v1/log/checkpoint").text.split("\n")[1])
    data = scene.house.nobody.get(f"/v1/log/tile/entries/000.p/{size}").data
    entries = []
    while data:
        length = int.from_bytes(data[:2], "big")
        entries.append(read_entry(data[2 : 2 + length]))
        data = data[2 + length :]
    for table in scene.hidden:
        own = [one for one in entries if isinstance(one, Opened | Closed) and one.game_id.hex() == table.id]
        assert [type(one) for one in own] == [Opened, Closed][: 2 if table is scene.over else 1]
        for one in own:
            told = {name: value for name in one.__slots__ if (value := getattr(one, name)) is not None}
            assert set(told) <= {
                "game_id", "hash", "commit", "rules_hash", "t_ms", "version", "head", "status", "tail"
            }  # fmt: skip
            assert bytes.fromhex(scene.bob.id) not in one.write()
            assert b"Bob" not in one.write()


@pytest.mark.parametrize("route", OF_A_GAME, ids=lambda route: route.name)
def test_every_read_of_a_private_game_is_as_if_it_were_not_there(house: Any, route: Any) -> None:
    bob, stranger = house.player("Bob"), house.player("Eve")
    table = bob.opens(visibility="private")
    table.seat(bob)
    table.starts()
    absent = "f" * 32
    for hidden in ({"game_id": table.id, "other_id": table.id}, {"game_id": house.player().opens().id}):
        values = {"version": "1", "seq": "1", "ruleset": "donjon@1", "other_id": table.id} | hidden
        address = re.sub(r"{(\w+)}", lambda found: values[found[1]], route.template)  # noqa: B023
        address += QUERIES.get(route.template, ("",))[0]
        if table.id not in address:
            continue
        for who in (stranger, *(() if route.auth == "player" else (house.nobody,))):
            for accept in ("application/json", "text/html", "text/event-stream"):
                found = who.get(address, {"Accept": accept})
                missing = who.get(address.replace(table.id, absent), {"Accept": accept})
                assert (found.status_code, missing.status_code) == (404, 404), address
                assert found.data.replace(table.id.encode(), b"") == missing.data.replace(absent.encode(), b"")
                assert set(found.headers) == set(missing.headers)


def test_ids_cannot_be_guessed(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[int] = []
    real = secrets.token_bytes
    monkeypatch.setattr(secrets, "token_bytes", lambda length=32: asked.append(length) or real(length))
    ada = house.player()
    assert 16 in asked  # of the system's own randomness
    table = ada.opens()
    assert len(bytes.fromhex(table.id)) == len(bytes.fromhex(ada.id)) == 16
    again = ada.opens(headers={"Idempotency-Key": "mine"})
    other = house.player().opens(headers={"Idempotency-Key": "mine"})
    assert again.id != other.id  # a keyed id depends on the player and the master key, which nobody else knows
