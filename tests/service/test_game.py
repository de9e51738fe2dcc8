"""The life of a game over REST, from registering to its end."""

import random
from typing import Any

import msgspec
import pytest

from engine.registry import BOTS, RULESETS
from service import commands


def test_a_whole_game_from_registering_to_its_end(house: Any) -> None:
    ada, bob = house.player("Ada"), house.player("Bob")
    table = ada.opens(hero="tala", options={"stalemate_rounds": 2})
    assert table.shown()["status"] == "open"
    assert table.seat(bob, hero="horan").status_code == 201
    table.starts()
    seats = {1: ada, 2: bob}
    seen: dict[int, Any] = {}
    for _ in range(2_000):
        game = table.shown()
        state = ada.get(f"{table.path}/state").json
        seen[state["version"]] = (state["state"], state["fingerprint"])
        if game["status"] != "playing":
            break
        (due,) = game["to_act"]
        legal = table.legal(seats[due])
        done = table.act(legal["actions"][-1]["action"], legal["version"], seats[due])
        assert done.status_code == 201, done.text
        assert done.json["version"] == int(done.headers["ETag"].strip('"'))
    assert game["status"] == "finished"
    assert game["outcome"]["ending"] == "stalemate"
    assert game["to_act"] == []
    for version, (state, fingerprint) in seen.items():  # each position equals the live state seen then
        position = house.nobody.get(f"{table.path}/positions/{version}").json
        assert (position["state"], position["fingerprint"]) == (state, fingerprint)
    assert table.problem(table.act({"type": "end-turn"}, game["version"])) == "409 wrong-status"


@pytest.mark.parametrize("seats", [2, 4, 6])
def test_a_scripted_game_from_its_creation_to_the_dragon(house: Any, seats: int) -> None:
    rules, player = RULESETS["donjon@1"], BOTS["donjon"]["delver"]
    whims = random.Random(seats)
    for _ in range(5):
        table = house.player("Ada").opens(seats)
        for _ in range(seats - 1):
            table.seat(table.creator)
        table.starts()
        seen: dict[int, Any] = {}
        while (shown := table.creator.get(f"{table.path}/state").json)["to_act"]:
            seen[shown["version"]] = (shown["state"], shown["fingerprint"])
            state = msgspec.convert(shown["state"], rules.state)
            action = player.choose(rules, state, shown["seat"], player.levels[-1], whims.randrange)
            done = table.act(msgspec.to_builtins(action), shown["version"])
            assert done.status_code == 201, done.text
        for version, facts in seen.items():
            position = house.nobody.get(f"{table.path}/positions/{version}").json
            assert (position["state"], position["fingerprint"]) == facts
        game = house.worker().get(table.path).json
        assert (game["status"], game["grade"]) == ("finished", "EXACT")
        assert house.nobody.get(f"{table.path}/audit").json["verdict"] == "VERIFIED WITH LIMITS"
        if game["outcome"]["ending"] == "dragon":
            return
    pytest.fail("in five games nobody slew the dragon")


def test_the_answer_to_an_action_is_the_event_with_the_game_after_it(house: Any, table: Any) -> None:
    before = table.shown()
    legal = table.legal()
    done = table.act(legal["actions"][0]["action"], legal["version"])
    assert done.status_code == 201
    event = done.json
    assert event["seq"] == event["version"] == before["version"] + 1
    assert event["prev"] == before["head"]
    assert event["hash"] == event["head"]
    assert event["action"] == legal["actions"][0]["action"]
    assert [draw["number"] for draw in event["draws"]] == [f"1.{i}" for i in range(len(event["draws"]))]
    assert event["narration"]
    assert done.headers["Content-Language"] == "en"
    (stored,) = house.nobody.get(f"{table.path}/events?after={before['version']}").json["events"]
    assert stored == {name: event[name] for name in stored}


def test_positions_and_events_of_a_game_tell_the_same_story(table: Any, house: Any) -> None:
    table.plays(12)
    events = house.nobody.get(f"{table.path}/events").json["events"]
    assert [event["kind"] for event in events[:5]] == ["create", "join", "join", "lock", "seeded"]
    for event in events:
        position = house.nobody.get(f"{table.path}/positions/{event['seq']}").json
        if event["kind"] in ("seeded", "act"):
            assert position["fingerprint"] == event["fingerprint"]
        else:
            assert position["state"] is None


def test_position_zero_is_empty(table: Any, house: Any) -> None:
    position = house.nobody.get(f"{table.path}/positions/0").json
    assert position == {
        "version": 0, "status": "open", "to_act": [], "state": None, "fingerprint": None, "grade": "EXACT",
    }  # fmt: skip


def test_a_game_that_nobody_opened_is_not_found(house: Any, refusal: Any) -> None:
    unknown = "0" * 32
    for path in ("", "/state", "/actions", "/events", "/positions/0", "/replay"):
        assert refusal(house.nobody.get(f"/v1/games/{unknown}{path}")) == "404 game-not-found"


@pytest.mark.parametrize("seats", [2, 4, 6])
def test_one_token_plays_all_seats(house: Any, seats: int) -> None:
    table = house.player().opens(seats)
    for _ in range(seats - 1):
        assert table.seat(table.creator).status_code == 201
    table.starts().plays(60)
    acted = {
        event["seat"]
        for event in house.nobody.get(f"{table.path}/events?limit=500").json["events"]
        if event["kind"] == "act"
    }
    assert acted <= set(range(1, seats + 1))
    assert table.version > 60 or table.shown()["status"] == "finished"


def test_who_holds_all_seats_is_shown_the_actions_of_the_one_to_act(table: Any) -> None:
    assert table.legal()["seat"] == table.shown()["to_act"][0]


def test_who_holds_several_seats_may_ask_for_each(table: Any) -> None:
    (due,) = table.shown()["to_act"]
    other = 3 - due
    assert table.legal(query=f"?seat={due}")["actions"]
    waiting = table.legal(query=f"?seat={other}")
    assert waiting["actions"] == []
    assert waiting["refused"][0]["code"] == "not-your-turn"


# -- tables ----------------------------------------------------------------------------------------------------------


def test_opening_a_table_answers_with_the_commitment_to_its_dice(house: Any) -> None:
    made = house.player().post("/v1/games", json={"ruleset": "donjon@1", "seats": 2})
    assert made.status_code == 201
    assert made.headers["Location"] == made.json["links"]["self"]
    assert made.headers["ETag"] == '"2.g"'
    event = house.nobody.get(f"{made.json['links']['events']}?limit=1").json["events"][0]
    assert event["facts"]["commit"] == made.json["commitment"]


def test_a_rulesets_name_alone_means_its_newest_version(house: Any) -> None:
    made = house.player().post("/v1/games", json={"ruleset": "donjon", "seats": 2})
    assert made.json["ruleset"] == "donjon@1"


def test_the_creator_need_not_sit_down(house: Any) -> None:
    table = house.player().opens(sit=False)
    assert [seat["player_id"] for seat in table.shown()["seats"]] == [None, None]


def test_every_option_is_stored_with_its_value(house: Any) -> None:
    options = house.player().opens(options={"traps": 7}).shown()["options"]
    assert options["traps"] == 7
    assert {"turn_seconds", "absence", "idle_seconds", "orientation"} <= set(options)


@pytest.mark.parametrize(
    ("body", "problem"),
    [
        ({"ruleset": "chess@1", "seats": 2}, "422 unknown-ruleset"),
        ({"ruleset": "donjon@99", "seats": 2}, "422 unknown-ruleset"),
        ({"ruleset": "donjon@1", "seats": 1}, "422 bad-choice"),
        ({"ruleset": "donjon@1", "seats": 7}, "422 bad-choice"),
        ({"ruleset": "donjon@1", "seats": 2, "options": {"traps": 99}}, "422 bad-choice"),
        ({"ruleset": "donjon@1", "seats": 2, "options": {"tarps": 1}}, "422 bad-choice"),
        ({"ruleset": "donjon@1", "seats": 2, "hero": "conan"}, "422 bad-choice"),
        ({"ruleset": "donjon@1", "seats": 2, "heroine": "tala"}, "422 bad-choice"),
        ({"ruleset": "donjon@1", "seats": 2, "hero": "tala", "sit": False}, "422 bad-choice"),
        ({"ruleset": "donjon@1", "seats": 0}, "422 invalid-body"),
        ({"ruleset": "donjon@1"}, "422 invalid-body"),
        ({"ruleset": "donjon@1", "seats": "2"}, "422 invalid-body"),
        ({"ruleset": "donjon@1", "seats": 2, "visibility": "secret"}, "422 invalid-body"),
        ({"ruleset": "donjon@1", "seats": 2, "watching": "delayed:0"}, "422 invalid-body"),
        ([], "422 invalid-body"),
    ],
)
def test_a_table_that_cannot_be_is_refused_and_not_opened(house: Any, refusal: Any, body: Any, problem: str) -> None:
    ada = house.player()
    assert refusal(ada.post("/v1/games", json=body)) == problem
    assert ada.get("/v1/games?player=me").json["games"] == []


def test_a_bad_option_is_pointed_at(house: Any) -> None:
    body = {"ruleset": "donjon@1", "seats": 2, "options": {"traps": "many"}}
    assert house.player().post("/v1/games", json=body).json["errors"][0]["pointer"] == "/options/traps"


def test_a_hero_that_is_taken_is_refused_by_the_rules(house: Any) -> None:
    table = house.player().opens(hero="tala")
    answer = table.seat(house.player("Bob"), hero="tala")
    assert table.problem(answer) == "422 illegal"
    assert (answer.json["reason"], answer.json["rule"]) == ("hero-taken", "1.3")


def test_cannot_take_a_seat_that_is_taken(house: Any) -> None:
    table = house.player().opens(3)
    answer = table.seat(house.player("Bob"), seat=1)
    assert table.problem(answer) == "409 seat-taken"
    assert answer.json["free"] == [2, 3]


def test_cannot_sit_down_at_a_full_table(house: Any) -> None:
    table = house.player().opens()
    table.seat(house.player("Bob"))
    assert table.problem(table.seat(house.player("Eve"))) == "409 seat-taken"


def test_cannot_take_a_seat_that_the_table_has_not(house: Any) -> None:
    assert house.player().opens().problem(house.player().opens().seat(house.player(), seat=9)) == "404 seat-not-found"


def test_a_seat_may_be_left_and_taken_again_before_the_start(house: Any) -> None:
    bob = house.player("Bob")
    table = house.player().opens()
    table.seat(bob)
    left = bob.delete(f"{table.path}/seats/2")
    assert left.status_code == 200
    assert left.json["seats"][1]["player_id"] is None
    assert table.seat(bob, seat=2).status_code == 201


def test_nobody_sits_down_or_leaves_after_the_start(table: Any, house: Any) -> None:
    assert table.problem(table.seat(house.player("Eve"))) == "409 wrong-status"
    assert table.problem(table.creator.delete(f"{table.path}/seats/1")) == "409 wrong-status"
    assert table.problem(table.creator.post(f"{table.path}/start")) == "409 wrong-status"


def test_a_game_with_free_seats_does_not_start_and_names_them(house: Any) -> None:
    table = house.player().opens(3)
    answer = table.creator.post(f"{table.path}/start")
    assert table.problem(answer) == "409 seats-open"
    assert answer.json["free"] == [2, 3]


def test_nothing_can_be_done_before_the_start(house: Any) -> None:
    table = house.player().opens()
    assert table.problem(table.act({"type": "end-turn"}, 2)) == "409 wrong-status"
    assert table.legal() == {"version": 2, "seat": 1, "actions": [], "choices": [], "refused": []}
    assert table.creator.get(f"{table.path}/state").json["state"] is None


def test_bots_sit_down_by_name_and_level(house: Any) -> None:
    table = house.player().opens(4)
    assert table.seat(table.creator, bot="wanderer").status_code == 201
    assert table.seat(table.creator, bot="delver", level=1, seat=4, hero="tala").status_code == 201
    seats = table.shown()["seats"]
    assert seats[1]["bot"]["name"] == seats[1]["name"] == "wanderer"
    assert seats[3]["bot"] == {"name": "delver", "level": 1}
    assert seats[3]["hero"] == "tala"


def test_a_bot_that_is_not_there_is_refused_with_those_that_are(house: Any) -> None:
    table = house.player().opens()
    answer = table.seat(table.creator, bot="deep-blue")
    assert table.problem(answer) == "422 unknown-bot"
    assert "wanderer" in answer.json["bots"]
    assert table.problem(table.seat(table.creator, bot="delver", level=99)) == "422 unknown-bot"
    assert table.problem(table.seat(table.creator, level=1)) == "422 unknown-bot"


def test_dealt_heroes_are_shown_with_their_seats(table: Any) -> None:
    state = table.creator.get(f"{table.path}/state").json["state"]
    assert [seat["hero"] for seat in table.shown()["seats"]] == [hero["name"] for hero in state["heroes"]]


# -- what may be done ------------------------------------------------------------------------------------------------


def test_legal_actions_have_labels_targets_and_a_hint_of_chance(table: Any) -> None:
    legal = table.legal()
    north = next(one for one in legal["actions"] if one["action"] == {"type": "move", "to": [0, -1]})
    assert north["target"] == "tile-0--1"
    assert north["chance"] is True
    assert north["label"]


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_what_one_would_click_in_vain_is_explained(table: Any, language: str) -> None:
    refused = next(one for one in table.legal(query=f"?lang={language}")["refused"] if one["target"] == "fountain")
    assert (refused["code"], refused["rule"]) == ("full-health", "2.3.8")
    assert refused["message"] not in ("", "full-health")


def test_in_a_game_that_was_ended_from_outside_there_is_nothing_to_do(table: Any, house: Any) -> None:
    before = table.creator.get(f"{table.path}/actions").json
    assert before["actions"]
    commands.void(house.deps, bytes.fromhex(table.id), "restored")
    after = table.creator.get(f"{table.path}/actions").json
    assert after | {"seat": before["seat"]} == before | {
        "version": before["version"] + 1, "actions": [], "choices": [], "refused": [],
    }  # fmt: skip


def test_an_illegal_action_is_refused_with_reason_rule_words_and_what_is_legal(table: Any) -> None:
    before = table.shown()
    answer = table.act({"type": "use-fountain"}, before["version"])
    assert table.problem(answer) == "422 illegal"
    problem = answer.json
    assert (problem["reason"], problem["rule"]) == ("full-health", "2.3.8")
    assert problem["message"] in problem["detail"]
    assert problem["actions"] == table.legal()["actions"]
    assert table.shown() == before


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        ({"type": "fly"}, "unknown-action"),
        ({"type": "move"}, "malformed-action"),
        ({"type": "move", "to": [0]}, "malformed-action"),
        ({"type": "move", "to": [0, 1_000]}, "malformed-action"),
        ({"type": "end-turn", "please": True}, "malformed-action"),
        ({"type": "move", "to": [5, 5]}, None),
    ],
)
def test_an_action_that_is_none_is_refused(table: Any, action: Any, reason: str | None) -> None:
    answer = table.act(action, table.version)
    assert table.problem(answer) == "422 illegal"
    assert reason in (None, answer.json["reason"])


@pytest.mark.parametrize("action", ["end-turn", [], None, {}, {"type": 5}])
def test_an_action_must_be_an_object_with_a_type(table: Any, action: Any) -> None:
    assert table.problem(table.act(action, table.version)) == "422 invalid-body"


def test_only_the_seat_to_act_acts(house: Any) -> None:
    ada, bob = house.player("Ada"), house.player("Bob")
    table = ada.opens()
    table.seat(bob)
    table.starts()
    (due,) = table.shown()["to_act"]
    waiting = {1: bob, 2: ada}[due]
    assert table.problem(table.act({"type": "end-turn"}, table.version, waiting)) == "409 not-your-turn"


def test_somebody_elses_seat_cannot_be_played(table: Any, house: Any) -> None:
    eve = house.player("Eve")
    assert table.problem(table.act({"type": "end-turn"}, table.version, eve)) == "403 not-your-seat"
    assert table.problem(table.act({"type": "end-turn"}, table.version, eve, "?seat=1")) == "403 not-your-seat"


def test_a_bots_seat_can_be_played_by_no_player(house: Any) -> None:
    table = house.player().opens()
    table.seat(table.creator, bot="wanderer")
    table.starts()
    assert table.problem(table.act({"type": "end-turn"}, table.version, query="?seat=2")) == "403 not-your-seat"


# -- dry runs --------------------------------------------------------------------------------------------------------


def test_a_dry_run_says_whether_and_nothing_else(table: Any) -> None:
    before = table.shown()
    legal = table.legal()
    drawing = next(one["action"] for one in legal["actions"] if one["chance"])
    answer = table.act(drawing, legal["version"], query="?check=1")
    assert answer.status_code == 200
    assert answer.json == {"version": legal["version"], "seat": legal["seat"], "legal": True}
    assert table.shown() == before


def test_a_dry_run_refuses_as_the_act_would(table: Any, house: Any) -> None:
    version = table.version
    assert table.problem(table.act({"type": "use-fountain"}, version, query="?check=1")) == "422 illegal"
    assert table.problem(table.act({"type": "end-turn"}, version - 1, query="?check=1")) == "412 stale"
    assert table.problem(table.act({"type": "end-turn"}, None, query="?check=1")) == "428 precondition-required"
    other = 3 - table.shown()["to_act"][0]
    assert (
        table.problem(table.act({"type": "end-turn"}, version, query=f"?check=1&seat={other}")) == "409 not-your-turn"
    )
