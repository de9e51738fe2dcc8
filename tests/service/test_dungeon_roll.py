"""Dungeon Roll over REST: alone and at a full table, by clients that know the game and by one that only reads."""

import random
from typing import Any

import msgspec
import pytest
from jsonschema import Draft202012Validator

from engine.registry import BOTS, RULESETS

RULES, DELVER = RULESETS["dungeon-roll@1"], BOTS["dungeon-roll"]["delver"]


def plays(table: Any, seats: dict[int, Any], whims: random.Random) -> dict[int, Any]:
    """The game to its end by a bot that sees what the API shows: version -> (state, fingerprint) as it was then."""
    seen: dict[int, Any] = {}
    while True:
        game = table.shown()
        if game["status"] != "playing":
            return seen
        (due,) = game["to_act"]
        shown = seats[due].get(f"{table.path}/state").json
        seen[shown["version"]] = (shown["state"], shown["fingerprint"])
        state = msgspec.convert(shown["state"], RULES.state)
        action = DELVER.choose(RULES, state, due, DELVER.levels[-1], whims.randrange)
        done = table.act(msgspec.to_builtins(action), shown["version"], seats[due])
        assert done.status_code == 201, done.text


def test_a_game_alone_by_a_scripted_client(house: Any) -> None:
    ada = house.player("Ada")
    table = ada.opens(1, ruleset="dungeon-roll", options={"heroes": "pack-1"}).starts()
    seen = plays(table, {1: ada}, random.Random(1))
    game = house.worker().get(table.path).json
    assert (game["status"], game["grade"], game["outcome"]["ending"]) == ("finished", "EXACT", "delves")
    assert game["outcome"]["facts"]["rank"]
    for version, facts in seen.items():
        position = house.nobody.get(f"{table.path}/positions/{version}").json
        assert (position["state"], position["fingerprint"]) == facts


def test_a_game_of_four_players_who_choose_their_heroes_by_a_scripted_client(house: Any) -> None:
    players = {seat: house.player(name) for seat, name in enumerate(("Ada", "Bob", "Cid", "Dee"), 1)}
    table = players[1].opens(4, ruleset="dungeon-roll@1", options={"heroes": "all", "hero_choice": "choice"})
    for seat in (2, 3, 4):
        assert table.seat(players[seat]).status_code == 201
    table.starts()
    seen = plays(table, players, random.Random(4))
    game = house.worker().get(table.path).json
    assert (game["status"], game["grade"]) == ("finished", "EXACT")
    assert "rank" not in game["outcome"]["facts"]
    assert len({seat["hero"] for seat in game["seats"]}) == 4
    assert all(seat["hero"] for seat in game["seats"])
    for version, facts in seen.items():
        position = house.nobody.get(f"{table.path}/positions/{version}").json
        assert (position["state"], position["fingerprint"]) == facts


@pytest.mark.parametrize(("language", "seed"), [("en", 1), ("fr", 2), ("ja", 3)])
def test_a_client_that_knows_nothing_but_choices_plays_on(house: Any, language: str, seed: int) -> None:
    """What it builds is accepted, or refused with a code, a message and the paragraph of the rules."""
    whims = random.Random(seed)
    ada = house.player("Ada")
    ruleset = house.nobody.get("/v1/rulesets/dungeon-roll@1").json
    built = accepted = 0
    table: Any = None
    while built < 40 or not accepted:
        if table is None or not table.shown()["to_act"]:
            table = ada.opens(1, ruleset="dungeon-roll@1", options={"heroes": "all"}).starts()
        legal = table.legal(query=f"?lang={language}")
        Draft202012Validator(ruleset["choices"]).validate(legal["choices"])
        for choice in legal["choices"]:
            for said in (choice["label"], *(one["label"] for one in choice["fields"].values())):
                assert said
                assert not said.startswith("dungeon-roll.")
            for field in choice["fields"].values():
                assert len(field["labels"]) == len(field["targets"]) == len(field["ids"])
                assert all(label and not label.startswith(("party-", "dungeon-")) for label in field["labels"])
        if legal["choices"] and whims.random() < 0.7:
            action = filled(whims.choice(legal["choices"]), whims)
            built += 1
        else:
            action = whims.choice(legal["actions"])["action"]
        Draft202012Validator(ruleset["actions"][action["type"]]).validate(action)
        done = table.act(action, legal["version"], query=f"?lang={language}")
        if done.status_code == 201:
            accepted += 1
            continue
        assert table.problem(done) == "422 illegal"
        assert done.json["reason"]
        assert done.json["rule"]
        assert done.json["message"]
        assert done.json["choices"] == legal["choices"]


def filled(choice: Any, whims: random.Random) -> dict[str, Any]:
    """An action out of a choice, with as many ids in each field as it allows."""
    action = {"type": choice["type"]}
    for name, field in choice["fields"].items():
        ids = field["ids"] * field["repeats"]
        most = min(field["maximum"], len(ids))
        chosen = whims.sample(ids, whims.randint(min(field["minimum"], most), most))
        action[name] = chosen[0] if field["single"] else chosen
    return action


def test_a_table_refuses_options_that_the_schema_does_not_know(house: Any) -> None:
    ada = house.player("Ada")
    ruleset = house.nobody.get("/v1/rulesets/dungeon-roll@1").json
    schema = next(iter(ruleset["options"]["$defs"].values()))["properties"]
    assert schema["heroes"]["enum"] == ["all", "base", "pack-1", "pack-2", "promos"]
    assert (schema["heroes"]["default"], schema["hero_choice"]["default"]) == ("base", "random")
    assert (schema["champion"]["default"], schema["scroll_phases"]["default"]) == ("one-type", "monster")
    refused = ada.post("/v1/games", json={"ruleset": "dungeon-roll@1", "seats": 1, "options": {"heroes": "mine"}})
    assert refused.status_code == 422
    assert ada.post("/v1/games", json={"ruleset": "dungeon-roll@1", "seats": 5}).status_code == 422
