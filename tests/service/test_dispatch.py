"""The short way to an act and Flask's own: both answer with the same bytes."""

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from flask import Flask
from flask.ctx import RequestContext

from service.api import dispatch
from service.api.dispatch import Application

Answer = tuple[str, list[tuple[str, str]], bytes]


@pytest.fixture
def ways(house: Any) -> Callable[..., Iterator[Answer]]:
    """The answers to a request: (status, headers, body) over the short way, and then over the long one."""

    def answered(caller: Any, path: str, **request: Any) -> Iterator[Answer]:
        for context in (Application.request_context, Flask.request_context):
            with patch.object(Application, "request_context", context):
                answer = caller.post(path, **request)
            yield answer.status, list(answer.headers), answer.data

    return answered


def test_what_is_refused_is_refused_with_the_same_bytes_over_both_ways(table: Any, house: Any, ways: Any) -> None:
    version, stranger = table.version, house.player("Bob")
    action = table.legal()["actions"][0]["action"]
    good = {"action": action, "expected_version": version}
    path, text = f"{table.path}/actions", {"content_type": "application/json"}
    requests: list[tuple[Any, str, dict[str, Any]]] = [
        (table.creator, path, {"json": {**good, "expected_version": version - 1}}),
        (table.creator, path, {"json": {**good, "expected_version": version + 1}}),
        (table.creator, path, {"json": {"action": action}}),
        (table.creator, path, {"json": {"action": action}, "headers": {"If-Match": "*"}}),
        (table.creator, path, {"json": good, "headers": {"If-Match": f'"{version + 3}"'}}),
        (table.creator, path, {"json": good, "headers": {"If-Match": f"W/{version}"}}),
        (table.creator, path, {"json": {**good, "action": {"type": "fly"}}}),
        (table.creator, path, {"json": {**good, "action": {"type": "end-turn", "at": 1}}}),
        (table.creator, path, {"json": {**good, "action": {"type": "resolve-trap"}}}),
        (table.creator, path, {"json": {**good, "action": "move"}}),
        (table.creator, path, {"json": {**good, "spoiled": True}}),
        (table.creator, path, {"json": {"signed": "AA==", "signature": "AA=="}}),
        (table.creator, path, {"data": b"{", **text}),
        (table.creator, path, {"data": b"[" * 60_000, **text}),
        (table.creator, path, {"data": b" " * 70_000, **text}),
        (table.creator, path, {"data": b"{}", "content_type": "text/plain"}),
        (table.creator, path, {"json": good, "headers": {"Idempotency-Key": "é" * 300}}),
        (table.creator, path, {"json": good, "headers": {"Authorization": "Bearer nobody"}}),
        (
            table.creator,
            path,
            {"json": {**good, "action": {"type": "fly"}}, "headers": {"Accept-Language": "ja, fr;q=0.5"}},
        ),
        (table.creator, f"{path}?check=1", {"json": good}),
        (table.creator, f"{path}?check=1&lang=fr", {"json": {**good, "expected_version": 1}}),
        (table.creator, f"{path}?l%61ng=ja", {"json": {**good, "action": {"type": "fly"}}}),
        (table.creator, f"{path}?lang=de", {"json": good}),
        (table.creator, f"{path}?chek=1", {"json": good}),
        (table.creator, f"{path}?seat=9", {"json": good}),
        (table.creator, f"{path}?seat=x", {"json": good}),
        (table.creator, f"{path}/", {"json": good}),
        (table.creator, f"/v1/games/{'0' * 32}/actions", {"json": good}),
        (table.creator, f"/v1/games/{'A' * 32}/actions", {"json": good}),
        (stranger, path, {"json": good}),
        (house.nobody, path, {"json": good}),
    ]
    statuses = set()
    for caller, address, request in requests:
        short, long = ways(caller, address, **request)
        assert short == long, (address, request)
        statuses.add(short[0].split()[0])
    assert {"200", "400", "401", "403", "404", "412", "413", "415", "422", "428"} <= statuses
    assert table.version == version


def test_what_is_accepted_is_answered_with_the_same_bytes_over_both_ways(table: Any, ways: Any) -> None:
    for number in range(12):
        legal = table.legal()
        asked = {"action": legal["actions"][0]["action"], "expected_version": legal["version"]}
        short, long = ways(
            table.creator,
            f"{table.path}/actions" + ("?lang=fr" if number % 2 else ""),
            json=asked,
            headers={"Idempotency-Key": f"key-{number}"},
        )
        again = ("Idempotency-Replayed", "true")
        assert again in long[1]
        assert (short[0], short[2]) == (long[0], long[2])
        assert sorted(short[1]) == sorted(header for header in long[1] if header != again)
    assert table.version > 12


@pytest.mark.parametrize(
    "environ",
    [
        {"HTTP_HOST": "a" * 80}, {"HTTP_HOST": "exämple"}, {"HTTP_HOST": ""}, {"SCRIPT_NAME": "/v1"},
        {"HTTP_UPGRADE": "websocket", "HTTP_CONNECTION": "upgrade"}, {"HTTP_HOST": "[::1]:80"},
    ],
)  # fmt: skip
def test_an_unusual_request_goes_the_long_way(table: Any, ways: Any, environ: dict[str, str]) -> None:
    asked = {"action": {"type": "fly"}, "expected_version": 1}
    with patch.object(dispatch, "_Known", side_effect=AssertionError("the short way")):
        short, long = ways(table.creator, f"{table.path}/actions", json=asked, environ_overrides=environ)
    assert short == long


def test_an_act_goes_the_short_way_and_nothing_else_does(table: Any, house: Any) -> None:
    contexts: list[type[RequestContext]] = []
    made = Application.request_context

    def seen(app: Application, environ: Any) -> RequestContext:
        context = made(app, environ)
        contexts.append(type(context))
        return context

    with patch.object(Application, "request_context", seen):
        assert table.first_legal().status_code == 201
        house.player("Bob").get(f"{table.path}/actions")
    assert contexts.count(dispatch._Known) == 1
    assert len(contexts) > 3
