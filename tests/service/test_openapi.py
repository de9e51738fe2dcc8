"""The description of the API: valid, complete, and kept by what the service does."""

import hashlib
import json
import re
from pathlib import Path
from typing import Any

import pytest
from markupsafe import escape
from openapi_spec_validator import OpenAPIV31SpecValidator

from service.api import problems
from service.api.meta import everything

DOCS = Path(__file__).parents[2] / "docs"


@pytest.fixture
def described(house: Any) -> Any:
    return house.nobody.get("/openapi.json").json


def test_it_is_valid_openapi_31(described: Any) -> None:
    assert described["openapi"] == "3.1.0"
    assert [error.message for error in OpenAPIV31SpecValidator(described).iter_errors()] == []


def test_no_reference_leads_nowhere(described: Any) -> None:
    for reference in set(re.findall(r'"\$ref": "#/([^"]+)"', json.dumps(described))):
        node = described
        for step in reference.split("/"):
            node = node[step]


def test_every_route_is_described_and_nothing_else(house: Any, described: Any) -> None:
    routes = {
        (method, re.sub(r"<(?:[^:>]+:)?(\w+)>", r"{\1}", rule.rule))
        for rule in house.app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    written = {(method.upper(), path) for path, methods in described["paths"].items() for method in methods}
    assert routes == written


def test_every_operation_says_what_it_does_and_has_a_name_of_its_own(described: Any) -> None:
    operations = [one for methods in described["paths"].values() for one in methods.values()]
    assert all(operation["summary"].endswith((".", "?")) for operation in operations)
    assert len({operation["operationId"] for operation in operations}) == len(operations)
    tags = {tag["name"] for tag in described["tags"]}
    assert {tag for operation in operations for tag in operation["tags"]} == tags


def test_every_problem_is_listed_and_can_happen_somewhere(described: Any) -> None:
    assert set(described["x-problems"]) == set(problems.CATALOGUE)
    problem = described["components"]["schemas"]["ProblemOut"]["properties"]
    assert set(problem["code"]["enum"]) == set(problems.CATALOGUE)
    told = {code for route in everything.routes for code in route.refused_as}
    assert told == set(problems.CATALOGUE)


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_every_problem_has_words_in_every_language(house: Any, language: str) -> None:
    for code, status in problems.CATALOGUE.items():
        page = house.nobody.get(f"/problems/{code}?lang={language}")
        assert page.status_code == 200
        assert page.headers["Content-Language"] == language
        assert str(status) in page.text
        assert "service." not in page.text.replace("service.css", "")
        assert escape(problems.title(code, language)) in page.text
    assert len({problems.title("stale", other) for other in ("en", "fr", "ja")}) == 3


@pytest.mark.parametrize("language", ["fr", "ja"])
def test_no_translation_lacks_or_invents_a_placeholder(language: str) -> None:
    from replay.words import words

    for code in problems.CATALOGUE:
        for kind in ("problem", "meaning", "detail"):
            message = f"service.{kind}.{code}"
            english, other = words("en").raw(message), words(language).raw(message)
            assert (english == message) == (other == message), message
            assert set(re.findall(r"{(\w+)", other)) == set(re.findall(r"{(\w+)", english)), message


def test_the_catalogue_in_the_docs_is_this_one() -> None:
    written = (DOCS / "problems.md").read_text()
    rows = re.findall(r"^\| (\d{3}) \| `([a-z-]+)` \| (.*) \| (.*) \|$", written, re.MULTILINE)
    expected = [
        (str(status), code, problems.title(code, "en"), problems.meaning(code, "en"))
        for code, status in problems.CATALOGUE.items()
    ]
    assert rows == expected


def test_the_page_for_people_needs_no_other_host_and_no_script(house: Any, described: Any) -> None:
    page = house.nobody.get("/docs")
    assert page.content_type == "text/html; charset=utf-8"
    assert "script" not in page.headers["Content-Security-Policy"]
    assert "<script" not in page.text
    assert not re.search(r'(?:src|href)="(?!/|#)', page.text)
    assert not re.search(r' style="|<style', page.text)
    for path, methods in described["paths"].items():
        assert path.replace("'", "&#39;") in page.text
        for operation in methods.values():
            assert f'id="{operation["operationId"]}"' in page.text
    for target in re.findall(r'href="#([^"]+)"', page.text):
        assert f'id="{target}"' in page.text
    style = house.nobody.get("/docs.css")
    assert style.content_type == "text/css; charset=utf-8"
    assert b"url(" not in style.data


def test_rulesets_publish_schemas_that_their_own_actions_keep(house: Any, table: Any) -> None:
    from jsonschema import Draft202012Validator

    ruleset = house.nobody.get("/v1/rulesets/donjon@1").json
    for name in ("actions", "happenings"):
        for schema in ruleset[name].values():
            Draft202012Validator.check_schema(schema)
    Draft202012Validator(ruleset["options"]).validate(table.shown()["options"])
    assert ruleset["rules_hash"] == house.nobody.get(f"{table.path}/events").json["events"][0]["facts"]["rules_hash"]
    for _ in range(20):
        legal = table.legal()
        for one in legal["actions"]:
            Draft202012Validator(ruleset["actions"][one["action"]["type"]]).validate(one["action"])
        Draft202012Validator(ruleset["choices"]).validate(legal["choices"])
        if table.shown()["to_act"]:
            table.plays(1)
    for step in house.nobody.get(f"{table.path}/replay").json["steps"]:
        if step["happening"] is not None:
            Draft202012Validator(ruleset["happenings"][step["happening"]["type"]]).validate(step["happening"])


@pytest.mark.parametrize("ruleset", ["donjon@1", "dungeon-roll@1"])
def test_the_rules_in_words_are_those_whose_hash_the_ruleset_names(house: Any, refusal: Any, ruleset: str) -> None:
    texts = house.nobody.get(f"/v1/rulesets/{ruleset}").json["texts"]
    assert list(texts) == ["en", "fr", "ja"]
    for language, text in texts.items():
        answer = house.nobody.get(text["href"])
        assert hashlib.sha256(answer.data).hexdigest() == text["sha256"]
        assert answer.headers["Content-Language"] == language
        assert "\n### 1.1 " in answer.text
        assert house.nobody.get(text["href"], {"If-None-Match": answer.headers["ETag"]}).status_code == 304
    assert refusal(house.nobody.get("/v1/rulesets/chess/text")) == "404 ruleset-not-found"


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_rulesets_are_listed_with_their_titles(house: Any, language: str) -> None:
    one, other = house.nobody.get(f"/v1/rulesets?lang={language}").json["rulesets"]
    assert (one["ruleset"], one["game"]) == ("donjon@1", "donjon")
    assert (other["ruleset"], other["game"]) == ("dungeon-roll@1", "dungeon-roll")
    assert one["seats"] == {"minimum": 2, "maximum": 6}
    assert other["seats"] == {"minimum": 1, "maximum": 4}
    assert one["title"] != other["title"]
    shown = house.nobody.get(one["links"]["self"])
    assert house.nobody.get("/v1/rulesets/donjon").json == house.nobody.get("/v1/rulesets/donjon@1").json
    again = house.nobody.get(one["links"]["self"], {"If-None-Match": shown.headers["ETag"]})
    assert again.status_code == 304


def test_a_ruleset_that_is_not_there_is_not_found(house: Any, refusal: Any) -> None:
    for name in ("chess", "chess@1", "donjon@99"):
        assert refusal(house.nobody.get(f"/v1/rulesets/{name}")) == "404 ruleset-not-found"


# -- what the service answers is what it describes -------------------------------------------------------------------


def test_every_answer_of_a_whole_game_is_as_described(house: Any, described: Any) -> None:
    from jsonschema import Draft202012Validator

    ada = house.player()
    table = ada.opens(options={"stalemate_rounds": 1})
    path = {"/v1/games/{game_id}" + rest for rest in ("", "/state", "/actions", "/events", "/replay", "/audit")}
    for phase in ("open", "playing", "over"):
        if phase == "playing":
            table.seat(ada, bot="wanderer")
            ada.delete(f"{table.path}/seats/2")
            table.seat(ada)
            table.starts().plays(5)
        if phase == "over":
            while table.shown()["status"] == "playing":
                legal = table.legal()
                assert table.act(legal["actions"][-1]["action"], legal["version"]).status_code == 201
        templates = [*path, "/v1/games/{game_id}/positions/{version}", "/v1/games", "/v1/me", "/v1/me/tokens"]
        for template in [*templates, "/v1/rulesets", "/v1/library"]:
            answer = ada.get(template.replace("{game_id}", table.id).replace("{version}", str(table.version)))
            assert answer.status_code == 200, answer.text
            content = described["paths"][template]["get"]["responses"]["200"]["content"]["application/json"]
            schema = {**content["schema"], "components": described["components"]}
            Draft202012Validator(schema).validate(answer.json)
