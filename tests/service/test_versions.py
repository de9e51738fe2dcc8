"""Versions: stale acts, entity tags, races, and retries that are answered once and for ever."""

from functools import partial
from typing import Any

import pytest

from events.log import Conflict


def test_a_stale_act_is_told_what_it_missed(table: Any, house: Any) -> None:
    version = table.version
    first = table.first_legal().json
    answer = table.act({"type": "end-turn"}, version)
    assert table.problem(answer) == "412 stale"
    problem = answer.json
    assert (problem["expected"], problem["version"], problem["head"]) == (version, version + 1, first["head"])
    (missed,) = problem["events"]
    assert missed == {name: first[name] for name in missed}
    assert answer.headers["ETag"] == f'"{version + 1}"'


def test_an_act_for_a_version_to_come_is_stale_and_missed_nothing(table: Any) -> None:
    answer = table.act({"type": "end-turn"}, table.version + 5)
    assert table.problem(answer) == "412 stale"
    assert answer.json["events"] == []


@pytest.mark.parametrize("tag", ['"{}"', '"{}.g"', '"{}.s1.en"', ' "{}.en.p0123456789ab" '])
def test_if_match_with_any_variant_of_the_version_is_an_expectation(table: Any, tag: str) -> None:
    legal = table.legal()
    done = table.act(legal["actions"][0]["action"], None, If_Match=tag.format(legal["version"]))
    assert done.status_code == 201


def test_a_stale_entity_tag_is_refused(table: Any) -> None:
    version = table.version
    assert table.problem(table.act({"type": "end-turn"}, None, If_Match=f'"{version - 1}"')) == "412 stale"


def test_without_an_expectation_nothing_is_done(table: Any) -> None:
    version = table.version
    assert table.problem(table.act({"type": "end-turn"}, None)) == "428 precondition-required"
    assert table.problem(table.act({"type": "end-turn"}, None, If_Match="*")) == "428 precondition-required"
    assert table.version == version


def test_two_unequal_expectations_are_refused_and_two_equal_ones_are_not(table: Any) -> None:
    legal = table.legal()
    action, version = legal["actions"][0]["action"], legal["version"]
    assert table.problem(table.act(action, version, If_Match=f'"{version - 1}"')) == "400 expectations-differ"
    assert table.act(action, version, If_Match=f'"{version}.g"').status_code == 201


@pytest.mark.parametrize("tag", ['W/"5"', "5", '"x"', '"5', '"5", "6"', '"-1"', '""', '"5.é"', '"99999999999"'])
def test_what_is_not_one_strong_tag_of_a_version_is_refused(table: Any, tag: str) -> None:
    assert table.problem(table.act({"type": "end-turn"}, None, If_Match=tag)) == "400 bad-header"


# -- 304 -------------------------------------------------------------------------------------------------------------

READS = ["", "/state", "/actions", "/state?seat=1", "/positions/4", "/positions/4?seat=1", "/positions/4.svg"]


@pytest.mark.parametrize("path", READS)
def test_what_is_held_already_is_not_sent_again(table: Any, path: str) -> None:
    first = table.creator.get(table.path + path)
    assert first.status_code == 200
    again = table.creator.get(table.path + path, {"If-None-Match": f'"0.x", W/{first.headers["ETag"]}'})
    assert again.status_code == 304
    assert again.data == b""
    assert again.headers["ETag"] == first.headers["ETag"]


@pytest.mark.parametrize("path", ["", "/state", "/actions", "/positions/4", "/positions/4.svg"])
def test_not_modified_is_answered_before_anything_is_folded(house: Any, table: Any, path: str) -> None:
    ada = table.creator
    tag = ada.get(table.path + path).headers["ETag"]
    elsewhere = house.bootstrap()
    elsewhere.positions.load = elsewhere.positions.at = None  # another worker, which has never seen the game
    from service.app import create_app

    other = type(ada)(create_app(elsewhere).test_client(), ada.token, ada.id)
    assert other.get(table.path + path, {"If-None-Match": tag}).status_code == 304


@pytest.mark.parametrize("path", ["", "/state", "/actions"])
def test_after_an_act_it_is_sent_again(table: Any, path: str) -> None:
    tag = table.creator.get(table.path + path).headers["ETag"]
    table.first_legal()
    again = table.creator.get(table.path + path, {"If-None-Match": tag})
    assert again.status_code == 200
    assert again.headers["ETag"] != tag


def test_seats_languages_and_callers_have_entity_tags_of_their_own(table: Any, house: Any) -> None:
    path = f"{table.path}/state"
    tags = {
        answer.headers["ETag"]
        for answer in (
            table.creator.get(path),
            table.creator.get(f"{path}?seat=1"),
            table.creator.get(f"{path}?seat=2"),
            table.creator.get(f"{path}?lang=fr"),
            house.nobody.get(path),
            house.player("Bob").get(path),
        )
    }
    assert len(tags) == 6
    assert {tag.partition(".")[0] for tag in tags} == {f'"{table.version}'}


def test_a_position_may_be_kept_for_ever_by_everybody(table: Any, house: Any) -> None:
    answer = house.nobody.get(f"{table.path}/positions/4")
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    mine = table.creator.get(f"{table.path}/positions/4?seat=1")
    assert mine.headers["Cache-Control"] == "private, max-age=31536000, immutable"
    assert "Authorization" in mine.headers["Vary"]


def test_a_position_to_come_is_not_there_whatever_one_claims_to_hold(table: Any) -> None:
    answer = table.creator.get(f"{table.path}/positions/999", {"If-None-Match": '"999"'})
    assert table.problem(answer) == "404 position-not-found"


# -- races -----------------------------------------------------------------------------------------------------------


def test_of_two_acts_for_the_same_version_at_two_workers_one_is_accepted(table: Any, house: Any) -> None:
    other = table.creator.at(house.worker())
    for _ in range(5):
        legal = table.legal(other)
        action = legal["actions"][0]["action"]
        answers = [table.act(action, legal["version"], caller) for caller in (table.creator, other)]
        assert [answer.status_code for answer in answers] == [201, 412]
        legal = table.legal(other)
        action = legal["actions"][0]["action"]
        answers = [table.act(action, legal["version"], caller) for caller in (other, table.creator)]
        assert [answer.status_code for answer in answers] == [201, 412]


def test_of_racing_acts_for_the_same_version_exactly_one_is_accepted(table: Any, house: Any, race: Any) -> None:
    callers = [table.creator, *(table.creator.at(house.worker()) for _ in range(3))]
    for _ in range(5):
        legal = table.legal()
        action, version = legal["actions"][0]["action"], legal["version"]
        answers = race(*(partial(table.act, action, version, caller) for caller in callers))
        assert sorted(answer.status_code for answer in answers) == [201, 412, 412, 412]
        assert table.version == version + 1


def test_a_worker_that_is_behind_still_finds_the_version_it_is_asked_for(table: Any, house: Any) -> None:
    other = table.creator.at(house.worker())
    assert table.legal(other)["version"] == table.version
    table.first_legal()
    assert table.first_legal(other).status_code == 201


def test_a_worker_that_is_behind_acts_for_the_seat_whose_turn_it_has_become(table: Any, house: Any) -> None:
    other = table.creator.at(house.worker())
    before = table.legal(other)["seat"]
    while (legal := table.legal())["seat"] == before:
        table.plays(1)
    done = table.act(legal["actions"][0]["action"], legal["version"], other)
    assert (done.status_code, done.json.get("seat")) == (201, legal["seat"])


def test_two_who_race_for_the_last_seat_do_not_both_get_it(house: Any, race: Any) -> None:
    table = house.player().opens()
    players = [house.player("Bob"), house.player("Eve").at(house.worker())]
    answers = race(*(partial(table.seat, player) for player in players))
    assert sorted(answer.status_code for answer in answers) == [201, 409]


def test_retries_that_race_each_other_are_done_once_and_answered_alike(table: Any, house: Any, race: Any) -> None:
    callers = [table.creator, *(table.creator.at(house.worker()) for _ in range(3))]
    legal = table.legal()
    action, version = legal["actions"][0]["action"], legal["version"]
    answers = race(*(partial(table.act, action, version, caller, Idempotency_Key="k-1") for caller in callers))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.data for answer in answers}) == 1
    assert sorted("Idempotency-Replayed" in answer.headers for answer in answers) == [False, True, True, True]
    assert table.version == version + 1


def test_a_loser_of_a_race_decides_again_on_the_game_as_it_is(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    table = house.player().opens(3)
    append, bob = house.deps.log.append, house.player("Bob")
    outrun = [True]

    def outran(events: Any) -> Any:
        if outrun.pop() if outrun else False:
            table.seat(bob)
        return append(events)

    monkeypatch.setattr(house.deps.log, "append", outran)
    assert table.seat(house.player("Eve")).json["seats"][2]["name"] == "Eve"
    assert table.shown()["seats"][1]["name"] == "Bob"


def test_who_is_always_outrun_is_told_to_come_again(table: Any, house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def outran(events: Any) -> Any:
        raise Conflict(events[0].seq - 1, events[0].prev, ())

    legal = table.legal()
    monkeypatch.setattr(house.deps.log, "append", outran)
    answer = table.act(legal["actions"][0]["action"], legal["version"])
    assert table.problem(answer) == "503 unavailable"
    assert answer.headers["Retry-After"] == "1"


# -- retries ---------------------------------------------------------------------------------------------------------


def test_a_retry_with_the_same_key_is_done_once_and_answered_the_same(table: Any) -> None:
    legal = table.legal()
    action, version = legal["actions"][0]["action"], legal["version"]
    first = table.act(action, version, Idempotency_Key="k-1")
    again = table.act(action, version, Idempotency_Key="k-1")
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.data == first.data
    assert again.headers["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" not in first.headers
    assert again.headers["ETag"] == first.headers["ETag"]
    assert table.version == version + 1


def test_a_retry_is_answered_the_same_after_the_game_has_moved_on(table: Any, house: Any) -> None:
    legal = table.legal()
    action, version = legal["actions"][0]["action"], legal["version"]
    first = table.act(action, version, Idempotency_Key="k-1")
    table.plays(10)
    for caller in (table.creator, table.creator.at(house.worker())):
        again = table.act(action, version, caller, f"?seat={legal['seat']}", Idempotency_Key="k-1")
        assert again.status_code == 201
        assert again.data == first.data


def test_a_retry_of_the_action_that_ended_the_game_is_answered_the_same(house: Any) -> None:
    table = house.player().opens(options={"stalemate_rounds": 1})
    table.seat(table.creator)
    table.starts()
    for number in range(20):
        legal = table.legal()
        last = table.act({"type": "end-turn"}, legal["version"], Idempotency_Key=f"k-{number}")
        assert last.status_code == 201
        if last.json["status"] == "finished":
            break
    assert last.json["version"] == last.json["seq"] + 1, "the game was closed in the same append"
    query = f"?seat={legal['seat']}"
    again = table.act({"type": "end-turn"}, legal["version"], None, query, Idempotency_Key=f"k-{number}")
    assert again.data == last.data


def test_the_same_key_for_another_action_is_refused(table: Any) -> None:
    legal = table.legal()
    actions = [one["action"] for one in legal["actions"]]
    assert table.act(actions[0], legal["version"], Idempotency_Key="k-1").status_code == 201
    answer = table.act(actions[1], legal["version"], None, f"?seat={legal['seat']}", Idempotency_Key="k-1")
    assert table.problem(answer) == "422 idempotency-key-reused"
    now = table.legal(query=f"?seat={legal['seat']}")
    answer = table.act({"type": "end-turn"}, now["version"], None, f"?seat={legal['seat']}", Idempotency_Key="k-1")
    assert table.problem(answer) == "422 idempotency-key-reused"


def test_two_seats_may_use_the_same_key(table: Any) -> None:
    first = table.shown()["to_act"]
    for number in range(40):
        due = table.shown()["to_act"]
        if due != first:
            break
        legal = table.legal()
        choice = next((one for one in legal["actions"] if one["target"] == "next"), legal["actions"][-1])
        done = table.act(choice["action"], legal["version"], Idempotency_Key=f"k-{number}")
        assert done.status_code == 201
    legal = table.legal()
    assert table.act(legal["actions"][0]["action"], legal["version"], Idempotency_Key="k-0").status_code == 201


def test_a_refused_act_does_not_use_its_key_up(table: Any) -> None:
    legal = table.legal()
    assert table.problem(table.act({"type": "fly"}, legal["version"], Idempotency_Key="k-1")) == "422 illegal"
    assert table.act(legal["actions"][0]["action"], legal["version"], Idempotency_Key="k-1").status_code == 201


@pytest.mark.parametrize("key", ["", " ", "a b", "x" * 201, "clé"])
def test_a_key_that_is_none_is_refused(table: Any, key: str) -> None:
    answer = table.act({"type": "end-turn"}, table.version, Idempotency_Key=key)
    assert table.problem(answer) == "400 bad-header"


def test_a_table_opened_twice_with_one_key_is_one_table(house: Any) -> None:
    ada = house.player()
    body = {"ruleset": "donjon@1", "seats": 2, "hero": "tala"}
    first = ada.post("/v1/games", {"Idempotency-Key": "table"}, json=body)
    again = ada.at(house.worker()).post("/v1/games", {"Idempotency-Key": "table"}, json=body)
    assert (first.status_code, again.status_code) == (201, 201)
    assert again.data == first.data
    assert again.headers["Idempotency-Replayed"] == "true"
    assert len(ada.get("/v1/games?player=me").json["games"]) == 1


def test_a_table_opened_twice_at_once_with_one_key_is_one_table(house: Any, race: Any) -> None:
    ada = house.player()
    body = {"ruleset": "donjon@1", "seats": 2}
    callers = [ada, *(ada.at(house.worker()) for _ in range(3))]
    answers = race(*(partial(who.post, "/v1/games", {"Idempotency-Key": "table"}, json=body) for who in callers))
    assert {answer.status_code for answer in answers} == {201}
    assert len({answer.data for answer in answers}) == 1


def test_a_table_opened_again_after_it_was_played_is_answered_as_it_was_then(house: Any) -> None:
    ada = house.player()
    body = {"ruleset": "donjon@1", "seats": 2}
    headers = {"Idempotency-Key": "table"}
    first = ada.post("/v1/games", headers, json=body)
    table = ada.opens(headers=headers)
    table.seat(ada)
    table.starts().plays(3)
    assert ada.post("/v1/games", headers, json=body).data == first.data


def test_another_table_with_the_same_key_is_refused(house: Any, refusal: Any) -> None:
    ada = house.player()
    headers = {"Idempotency-Key": "table"}
    ada.opens(headers=headers)
    for other in ({"seats": 3}, {"hero": "tala"}, {"sit": False}, {"options": {"traps": 0}}, {"visibility": "private"}):
        answer = ada.post("/v1/games", headers, json={"ruleset": "donjon@1", "seats": 2, **other})
        assert refusal(answer) == "422 idempotency-key-reused"


def test_two_players_may_use_the_same_key_for_a_table_each(house: Any) -> None:
    headers = {"Idempotency-Key": "table"}
    assert house.player().opens(headers=headers).id != house.player("Bob").opens(headers=headers).id
