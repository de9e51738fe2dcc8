"""Players, tokens, roles."""

from typing import Any

import pytest

from service.accounts import TOKEN_LIMIT, UnknownPlayer


def test_a_token_is_shown_once_and_stored_hashed(house: Any) -> None:
    ada = house.player("Ada")
    assert ada.token.startswith("annals_")
    hashes = [name for name in house.redis.scan_iter() if house.redis.type(name) == b"hash"]
    stored = b"".join(name + repr(house.redis.hgetall(name)).encode() for name in hashes)
    assert ada.id.encode() in stored
    assert ada.token.encode() not in stored
    assert ada.token.removeprefix("annals_").encode() not in stored
    assert ada.token not in ada.get("/v1/me").text + ada.get("/v1/me/tokens").text


def test_who_am_i(house: Any) -> None:
    me = house.player("  Ada \t Lovelace ").get("/v1/me").json
    assert (me["name"], me["roles"], me["seats"], me["to_act"]) == ("Ada Lovelace", [], [], [])


@pytest.mark.parametrize("name", ["é", "日本 の ひと", "x" * 40, "O'Neill <b>", "👩‍🚀".replace("\u200d", "")])
def test_a_name_may_be_in_any_script(house: Any, name: str) -> None:
    assert house.player(name).get("/v1/me").json["name"] == name


@pytest.mark.parametrize("name", ["", "   ", "x" * 41, "a\u0000b", "a\u202eb", "\u200b", "a\ue000", "\ud800"])
def test_a_name_that_cannot_be_shown_is_refused(house: Any, refusal: Any, name: str) -> None:
    answer = house.nobody.post("/v1/players", json={"name": name})
    assert refusal(answer) in ("422 bad-name", "422 invalid-body", "400 malformed-json")


@pytest.mark.parametrize("header", ["Bearer", "Bearer ", "Bearer annals_wrong", "Basic YTpi", "annals_x", "Bearer é"])
def test_a_token_that_is_none_is_refused_where_one_is_needed_and_where_not(
    house: Any, refusal: Any, header: str
) -> None:
    for path in ("/v1/me", "/v1/games"):
        answer = house.nobody.get(path, {"Authorization": header})
        assert refusal(answer) == "401 token-invalid"
        assert answer.headers["WWW-Authenticate"].startswith("Bearer")


def test_without_a_token_there_is_no_me(house: Any, refusal: Any) -> None:
    answer = house.nobody.get("/v1/me")
    assert refusal(answer) == "401 token-missing"
    assert answer.headers["WWW-Authenticate"] == "Bearer"


def test_tokens_are_listed_and_revoked(house: Any, refusal: Any) -> None:
    ada = house.player()
    made = ada.post("/v1/me/tokens").json
    phone = type(ada)(ada.client, made["token"], ada.id)
    assert phone.get("/v1/me").json["player_id"] == ada.id
    tokens = ada.get("/v1/me/tokens").json["tokens"]
    assert {token["token_id"] == made["token_id"]: token["current"] for token in tokens} == {False: True, True: False}
    assert ada.delete(f"/v1/me/tokens/{made['token_id']}").status_code == 204
    assert refusal(phone.get("/v1/me")) == "401 token-invalid"
    assert refusal(ada.delete(f"/v1/me/tokens/{made['token_id']}")) == "404 token-not-found"
    assert ada.get("/v1/me").status_code == 200


def test_a_revoked_token_plays_no_more(table: Any, house: Any) -> None:
    ada = table.creator
    (token,) = ada.get("/v1/me/tokens").json["tokens"]
    table.first_legal()
    assert ada.delete(f"/v1/me/tokens/{token['token_id']}").status_code == 204
    body = {"action": {"type": "end-turn"}, "expected_version": 6}
    assert table.problem(ada.post(f"{table.path}/actions", json=body)) == "401 token-invalid"


def test_nobody_revokes_somebody_elses_token(house: Any, refusal: Any) -> None:
    ada, eve = house.player(), house.player("Eve")
    (token,) = ada.get("/v1/me/tokens").json["tokens"]
    assert refusal(eve.delete(f"/v1/me/tokens/{token['token_id']}")) == "404 token-not-found"
    assert ada.get("/v1/me").status_code == 200


def test_a_player_holds_so_many_tokens_and_no_more(house: Any, refusal: Any) -> None:
    ada = house.player()
    for _ in range(TOKEN_LIMIT - 1):
        assert ada.post("/v1/me/tokens").status_code == 201
    assert refusal(ada.post("/v1/me/tokens")) == "409 too-many-tokens"


def test_roles_are_granted_one_by_one(house: Any) -> None:
    ada = house.player()
    for role in ("operator", "auditor"):
        house.deps.accounts.grant(bytes.fromhex(ada.id), role)
    assert ada.get("/v1/me").json["roles"] == ["auditor", "operator"]
    with pytest.raises(ValueError, match="emperor"):
        house.deps.accounts.grant(bytes.fromhex(ada.id), "emperor")
    with pytest.raises(UnknownPlayer):
        house.deps.accounts.grant(bytes(16), "auditor")


def test_no_name_is_in_any_event(house: Any) -> None:
    table = house.player("Wolfeschlegelsteinhausen").opens()
    table.seat(table.creator)
    table.starts().plays(3)
    stored = b"".join(item.data for item in house.deps.log.read(bytes.fromhex(table.id)).events)
    assert b"Wolfe" not in stored
    assert "Wolfe" in house.nobody.get(f"{table.path}/events").text


# -- where I sit -----------------------------------------------------------------------------------------------------


def test_me_says_where_i_sit_and_where_it_is_my_turn(house: Any) -> None:
    ada, bob = house.player(), house.player("Bob")
    waiting = ada.opens()
    table = ada.opens()
    table.seat(bob)
    table.starts()
    (due,) = table.shown()["to_act"]
    for caller, seat in ((ada, 1), (bob, 2)):
        me = caller.get("/v1/me").json
        sits = {"game_id": table.id, "ruleset": "donjon@1", "seat": seat, "status": "playing", "to_act": seat == due}
        assert sits in me["seats"]
        assert me["to_act"] == ([table.id] if seat == due else [])
    assert waiting.id in [seat["game_id"] for seat in ada.get("/v1/me").json["seats"]]


def test_the_list_of_games_that_wait_for_me_follows_each_act(house: Any) -> None:
    ada, bob = house.player(), house.player("Bob")
    table = ada.opens()
    table.seat(bob)
    table.starts()
    players = {1: ada, 2: bob}
    for _ in range(6):
        (due,) = table.shown()["to_act"]
        assert [game["game_id"] for game in players[due].get("/v1/games?to_act=me").json["games"]] == [table.id]
        assert players[3 - due].get("/v1/games?to_act=me").json["games"] == []
        legal = table.legal(players[due])
        end = next((one for one in legal["actions"] if one["target"] == "next"), legal["actions"][-1])
        assert table.act(end["action"], legal["version"], players[due]).status_code == 201


def test_games_that_wait_for_me_are_asked_for_with_a_token(house: Any, refusal: Any) -> None:
    assert refusal(house.nobody.get("/v1/games?to_act=me")) == "401 token-missing"
    assert refusal(house.nobody.get("/v1/games?player=me")) == "401 token-missing"
    assert refusal(house.player().get(f"/v1/games?to_act=me&player={'0' * 32}")) == "400 bad-query"
