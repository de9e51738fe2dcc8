"""Lists of games: paging, filters, and the index that can be thrown away."""

from typing import Any

import pytest

from service.index import Index


def ids(answer: Any) -> list[str]:
    assert answer.status_code == 200, answer.text
    return [game["game_id"] for game in answer.json["games"]]


def test_pages_lead_through_every_game_once_newest_first(house: Any) -> None:
    ada = house.player()
    tables = []
    for number in range(7):
        tables.append(ada.opens().id)
        if number % 3 == 0:
            house.clock.pass_seconds(1)
    found, path = [], "/v1/games?limit=2"
    while path:
        page = house.nobody.get(path)
        found += ids(page)
        link = page.headers.get("Link")
        assert (link is None) == (page.json["next"] is None)
        path = link.partition(">")[0].strip("<") if link else ""
        assert not link or link.endswith('>; rel="next"')
    assert sorted(found) == sorted(tables)
    assert found[-1] == tables[0]
    assert len(found) == 7


def test_a_cursor_stays_good_while_games_are_opened_and_finished(house: Any) -> None:
    ada = house.player()
    old = [ada.opens().id for _ in range(4)]
    first = house.nobody.get("/v1/games?limit=2")
    house.clock.pass_seconds(1)
    ada.opens()
    second = house.nobody.get(f"/v1/games?limit=2&cursor={first.json['next']}")
    assert sorted(ids(first) + ids(second)) == sorted(old)


def test_the_filters_of_a_page_go_on_to_the_next(house: Any) -> None:
    ada = house.player()
    for _ in range(3):
        ada.opens()
    link = house.nobody.get(f"/v1/games?limit=1&status=open&player={ada.id}").headers["Link"]
    assert "status=open" in link
    assert f"player={ada.id}" in link


@pytest.mark.parametrize(
    "query",
    ["cursor=x", "cursor=" + "g" * 44, "limit=0", "limit=101", "limit=x", "status=lost", "player=x", "lang=de"],
)
def test_a_query_that_is_none_is_refused(house: Any, refusal: Any, query: str) -> None:
    answer = house.nobody.get(f"/v1/games?{query}")
    assert refusal(answer) == "400 bad-query"
    assert answer.json["errors"][0]["parameter"] == query.partition("=")[0]


def test_games_are_found_by_status_ruleset_and_player(house: Any) -> None:
    ada, bob = house.player(), house.player("Bob")
    waiting, playing = ada.opens(), bob.opens()
    playing.seat(ada)
    playing.starts()
    over = ada.opens(options={"stalemate_rounds": 1})
    over.seat(ada)
    over.starts()
    while over.shown()["status"] == "playing":
        over.act({"type": "end-turn"}, over.version)
    nobody = house.nobody
    assert ids(nobody.get("/v1/games?status=open")) == [waiting.id]
    assert ids(nobody.get("/v1/games?status=playing")) == [playing.id]
    assert ids(nobody.get("/v1/games?status=finished")) == [over.id]
    assert ids(nobody.get(f"/v1/games?player={bob.id}")) == [playing.id]
    assert sorted(ids(nobody.get(f"/v1/games?player={ada.id}"))) == sorted([waiting.id, playing.id, over.id])
    assert ids(nobody.get(f"/v1/games?player={ada.id}&status=finished")) == [over.id]
    assert len(ids(nobody.get("/v1/games?ruleset=donjon@1"))) == len(ids(nobody.get("/v1/games?ruleset=donjon"))) == 3
    assert ids(nobody.get("/v1/games?ruleset=chess@1")) == []
    assert ids(nobody.get(f"/v1/games?player={ada.id}&ruleset=chess@1")) == []


def test_what_one_wrote_one_finds_at_every_worker(house: Any) -> None:
    ada = house.player()
    other = house.worker()
    for _ in range(3):
        table = ada.opens()
        assert table.id in ids(other.get("/v1/games"))
        table.seat(ada)
        table.starts()
        assert table.id in ids(other.get("/v1/games?status=playing"))


def test_a_list_shows_names_and_outcomes(house: Any) -> None:
    table = house.player("Ada").opens(options={"stalemate_rounds": 1})
    table.seat(table.creator, bot="wanderer")
    (row,) = house.nobody.get("/v1/games").json["games"]
    assert [seat["name"] for seat in row["seats"]] == ["Ada", "wanderer"]
    table.creator.delete(f"{table.path}/seats/2")
    table.seat(table.creator)
    table.starts()
    while table.shown()["status"] == "playing":
        table.act({"type": "end-turn"}, table.version)
    (row,) = house.nobody.get("/v1/games").json["games"]
    assert row["outcome"] == table.shown()["outcome"]
    assert row["head"] == table.shown()["head"]


def test_the_index_can_be_thrown_away_and_built_again(house: Any) -> None:
    ada = house.player()
    for visibility in ("public", "unlisted", "private"):
        table = ada.opens(visibility=visibility)
        table.seat(ada)
        table.starts().plays(2)
    before = [ada.get(path).json for path in ("/v1/games", "/v1/games?player=me", "/v1/games?to_act=me", "/v1/me")]
    house.deps.index.clear()
    assert not house.redis.keys("{index}*")
    assert len(list(house.deps.index.rebuild())) == 3
    assert [
        ada.get(path).json for path in ("/v1/games", "/v1/games?player=me", "/v1/games?to_act=me", "/v1/me")
    ] == before


def test_a_late_process_does_not_overwrite_a_row_with_an_older_one(house: Any) -> None:
    table = house.player().opens()
    behind = house.bootstrap()
    old = behind.positions.load(bytes.fromhex(table.id))
    table.seat(table.creator)
    table.starts()
    assert ids(house.nobody.get("/v1/games?status=playing")) == [table.id]
    behind.positions.load = lambda game_id: old
    Index(house.redis, house.deps.log, behind.positions).put_game(bytes.fromhex(table.id))
    assert ids(house.nobody.get("/v1/games?status=playing")) == [table.id]
    assert ids(house.nobody.get("/v1/games?status=open")) == []


def test_master_keys_in_use_are_known_until_their_games_are_closed(house: Any) -> None:
    table = house.player().opens(options={"stalemate_rounds": 1})
    table.seat(table.creator)
    house.deps.index.catch_up()
    assert house.deps.index.key_ids() == {"test"}
    assert house.deps.missing_keys() == []
    stranger = house.bootstrap()
    stranger.keyring = type(stranger.keyring).parse(f"other={'22' * 32}")
    assert stranger.missing_keys() == ["test"]
    table.starts()
    while table.shown()["status"] == "playing":
        table.act({"type": "end-turn"}, table.version)
    house.deps.index.catch_up()
    assert stranger.missing_keys() == []


def test_the_open_games_are_listed_for_those_who_look_after_them(house: Any) -> None:
    ada = house.player()
    tables = [ada.opens(visibility=visibility).id for visibility in ("public", "unlisted", "private")]
    house.deps.index.catch_up()
    assert sorted(row.game_id for row in house.deps.index.open_games()) == sorted(tables)
