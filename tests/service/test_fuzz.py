"""Schemathesis over the whole API: whatever is sent, the answer is one that the description promises."""

import re
from collections.abc import Callable
from typing import Any

import pytest
import redis
import schemathesis
from hypothesis import HealthCheck, Phase, given, settings
from schemathesis.checks import not_a_server_error
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import (
    content_type_conformance,
    negative_data_rejection,
    response_headers_conformance,
    response_schema_conformance,
    status_code_conformance,
)

from service.api.meta import everything

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
ANY_BYTES = ("judge_bundle",)
"""Whatever a part of the form holds is judged."""


@pytest.fixture(scope="module")
def place(new_database: Callable[[], redis.Redis]) -> Any:
    """A service with an open, a running and a finished game, and somebody who sits at all of them."""
    from service.app import create_app
    from service.bootstrap import bootstrap
    from service.config import Config

    deps = bootstrap(Config(keys=f"test={'11' * 32}", rate_limits=False), new_database())
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
    yield client.application, headers, games
    deps.close()


@pytest.fixture(scope="module")
def api(place: Any) -> Any:
    return schemathesis.openapi.from_wsgi("/openapi.json", place[0])


@pytest.mark.parametrize("mode", list(GenerationMode), ids=lambda mode: str(mode.value))
@pytest.mark.parametrize("operation", [route.name for route in everything.routes if route.name not in ENDLESS + DEEP])
def test_whatever_is_sent_the_answer_is_one_that_is_promised(
    api: Any, place: Any, operation: str, mode: GenerationMode
) -> None:
    _, headers, games = place
    described = api.find_operation_by_id(operation)

    @given(case=described.as_strategy(generation_mode=mode))
    @settings(
        max_examples=20,
        deadline=None,
        derandomize=True,
        database=None,
        phases=(Phase.explicit, Phase.generate),
        suppress_health_check=list(HealthCheck),
    )
    def send(case: Any) -> None:
        game_id = str((case.path_parameters or {}).get("game_id", ""))
        if re.fullmatch("[0-9a-f]{32}", game_id):  # one that is there
            case.path_parameters["game_id"] = games[int(game_id[0], 16) % len(games)]
        answer = case.call(headers=headers)
        judged = operation not in ANY_BYTES and answer.status_code != 413  # of that size nobody looks at the form
        checks = [check for check in CHECKS if check is not negative_data_rejection or judged]
        case.validate_response(answer, checks=checks, headers=headers)

    send()
