"""Schemathesis over the whole API: whatever is sent, the answer is one that the description promises."""

import os
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import msgspec
import pytest
import redis
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from engine.protocol import Action, Illegal
from engine.registry import RULESETS
from service.api.meta import everything
from service.api.play import parse
from service.api.problems import Problem
from service.api.shapes import NewAction

CHECKS = [
    not_a_server_error,
    status_code_conformance,
    content_type_conformance,
    response_headers_conformance,
    response_schema_conformance,
    negative_data_rejection,
]
ENDLESS = ("stream_me",)
DEEP = ("show_tile",)
"""Its path parameter holds slashes, which OpenAPI has no way to say; test_log.py sends it what is no tile."""
LAST = ("erase_me",)
"""Whoever calls this calls nothing any more."""
LONG = "ANNALS_FUZZ" in os.environ
"""`make fuzz`: more of it, and another one each time."""
EXAMPLES = int(os.environ.get("ANNALS_FUZZ", "20"))
ANY_BYTES = ("judge_bundle",)
"""Whatever a part of the form holds is judged."""


@pytest.fixture(scope="module")
def place(new_database: Callable[[], redis.Redis]) -> Any:
    """A service with an open, a running and a finished game, a dispute, and somebody who sits at all of them.

    Answers with the application, the player's headers, and what there is by the name of a path's parameter.
    """
    from service.app import create_app
    from service.bootstrap import bootstrap
    from service.config import Config

    deps = bootstrap(
        Config(keys=f"test={'11' * 32}", data=Path("/nonexistent/annals"), rate_limits=False), new_database()
    )
    client = create_app(deps).test_client()
    made = client.post("/v1/players", json={"name": "Ada"}).json
    headers = {"Authorization": f"Bearer {made['token']}"}
    games = []
    for started in (False, True, True):
        body = {"ruleset": "donjon@1", "seats": 2, "options": {"stalemate_rounds": 1}}
        game = client.post("/v1/games", json=body, headers=headers).json["links"]["self"]
        games.append(game.rpartition("/")[2])
        if started:
            client.post(f"{game}/seats", headers=headers)
            client.post(f"{game}/start", headers=headers)
    while (shown := client.get(game, headers=headers).json)["to_act"]:
        body = {"action": {"type": "end-turn"}, "expected_version": shown["version"]}
        client.post(f"{game}/actions", json=body, headers=headers)
    case = client.post(f"{game}/disputes", json={"event": 5, "text": "Not so."}, headers=headers).json["case_id"]
    there = {"game_id": games, "other_id": games, "case_id": [case], "player_id": [made["player_id"]]}
    yield client.application, headers, there
    deps.close()


@pytest.fixture(scope="module")
def api(place: Any) -> Any:
    return schemathesis.openapi.from_wsgi("/openapi.json", place[0])


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
@pytest.mark.parametrize("operation", [route.name for route in everything.routes if route.name not in ENDLESS + DEEP])
def test_whatever_is_sent_the_answer_is_one_that_is_promised(
    api: Any, place: Any, operation: str, mode: GenerationMode
) -> None:
    application, headers, there = place
    described = api.find_operation_by_id(operation)
    if operation in LAST:  # somebody who is not missed
        made = application.test_client().post("/v1/players", json={"name": "Eve"}).json
        headers = {"Authorization": f"Bearer {made['token']}"}

    @given(case=described.as_strategy(generation_mode=mode))
    @settings(
        max_examples=EXAMPLES,
        deadline=None,
        derandomize=not LONG,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        for name, value in list((case.path_parameters or {}).items()):
            if name in there and re.fullmatch("[0-9a-f]{32}", str(value)):  # mostly one that is there
                known = [*there[name], *there[name], value]
                case.path_parameters[name] = known[int(value[0], 16) % len(known)]
        if isinstance(case.query, dict) and str(case.query.get("wait", "")).isdecimal():
            case.query["wait"] = min(int(case.query["wait"]), 1)  # patience is another test's matter
        answer = case.call(headers=headers | {"Accept-Encoding": "identity"})  # its client unpacks nothing
        judged = operation not in ANY_BYTES and answer.status_code != 413  # of that size nobody looks at the form
        checks = [check for check in CHECKS if check is not negative_data_rejection or judged]
        case.validate_response(answer, checks=checks, headers=headers)

    send()


# -- actions ---------------------------------------------------------------------------------------------------------


def members(ruleset: str) -> Any:
    """JSON of any kind, that mostly has the members of some action."""
    actions = RULESETS[ruleset].actions
    fields = sorted({name for action in actions.values() for name in action.__struct_fields__})
    leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8)
    values = st.recursive(leaves | st.sampled_from(fields + sorted(actions)), lambda inner: (
        st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(fields) | st.text(max_size=4), inner, max_size=3)
    ), max_leaves=12)  # fmt: skip
    named = st.dictionaries(st.sampled_from(fields) | st.text(max_size=6), values, max_size=5)
    return values | st.builds(lambda fields, kind: {**fields, "type": kind}, named, st.sampled_from(sorted(actions)))


@pytest.mark.parametrize("ruleset", sorted(RULESETS))
@given(data=st.data())
@settings(max_examples=300 if LONG else 100, deadline=None, derandomize=not LONG, database=None)
def test_whatever_stands_in_an_action_is_a_typed_action_or_refused(ruleset: str, data: st.DataObject) -> None:
    sent = msgspec.json.encode(data.draw(members(ruleset)))
    rules = RULESETS[ruleset]
    try:
        action = parse(rules, msgspec.Raw(sent))
    except (Illegal, Problem):  # and nothing else, which would be a failure of ours
        return
    assert isinstance(action, Action)
    assert parse(rules, msgspec.Raw(msgspec.json.encode(action))) == action


@pytest.mark.parametrize("ruleset", sorted(RULESETS))
@given(sent=st.binary(max_size=60) | st.text(max_size=30).map(lambda text: f'"{text}"'.encode()))
@settings(max_examples=300 if LONG else 50, deadline=None, derandomize=not LONG, database=None)
def test_bytes_in_the_place_of_an_action_are_refused(ruleset: str, sent: bytes) -> None:
    for inside in (sent, b'{"type": ' + sent + b"}", b'{"type": "move", "to": ' + sent + b"}"):
        try:
            read = msgspec.json.decode(b'{"expected_version": 1, "action": ' + inside + b"}", type=NewAction)
        except (msgspec.DecodeError, UnicodeDecodeError):  # as of any body
            continue
        if read.action is not msgspec.UNSET:
            with pytest.raises((Illegal, Problem)):
                parse(RULESETS[ruleset], read.action)
