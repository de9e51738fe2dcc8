"""The short way to an act and Flask's own: both answer with the same bytes."""

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api import dispatch
from service.running import observe
from service.web import session

Answer = tuple[str, list[tuple[str, str]], bytes]


def _nothing(environ: Any) -> None:
    """No act is recognised: everything goes the long way."""


@pytest.fixture
def ways(house: Any) -> Callable[..., Iterator[Answer]]:
    """The answers to a request: (status, headers, body) over the short way, and then over the long one."""

    def answered(caller: Any, path: str, **request: Any) -> Iterator[Answer]:
        for recognised in (dispatch._of_an_act, _nothing):
            with patch.object(dispatch, "_of_an_act", recognised):
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
        (table.creator, path, {"data": b'{"action": {"type": "\xff"}, "expected_version": 1}', **text}),
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
    assert max(statuses) < "500"
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
    with patch.object(dispatch, "_Contexts", side_effect=AssertionError("the short way")):
        short, long = ways(table.creator, f"{table.path}/actions", json=asked, environ_overrides=environ)
    assert short == long


def test_an_act_goes_the_short_way_and_nothing_else_does(table: Any, house: Any) -> None:
    with patch.object(dispatch, "_Contexts", wraps=dispatch._Contexts) as short:
        assert table.first_legal().status_code == 201
        assert short.call_count == 1
        house.player("Bob").get(f"{table.path}/actions")
        house.nobody.get("/healthz")
        table.creator.post(f"{table.path}/seats/1/resign")
        assert short.call_count == 1


def test_an_act_that_is_accepted_needs_no_request_of_flask(table: Any, house: Any) -> None:
    legal, french = table.legal(), {"Accept-Language": "fr-CA, *;q=0.1"}
    with patch.object(house.app, "request_class", side_effect=AssertionError("a request was made")):
        answer = table.act(legal["actions"][0]["action"], legal["version"], **french)
    assert (answer.status_code, answer.headers["Content-Language"]) == (201, "fr")


def test_an_act_is_counted_and_logged_over_both_ways(table: Any, house: Any, ways: Any) -> None:
    told: list[Any] = []

    def answered(method: str, route: str, response: Any, args: Any, started: float) -> None:
        told.append((method, route, response.status_code, response.is_streamed, args))

    with patch.object(observe, "answered", answered):
        list(ways(table.creator, f"{table.path}/actions", json={"action": {"type": "fly"}, "expected_version": 1}))
        assert table.first_legal().status_code == 201
    route = "/v1/games/<id:game_id>/actions"
    posts = [one for one in told if one[0] == "POST"]
    assert posts == [("POST", route, status, False, {"game_id": table.id}) for status in (422, 422, 201)]


_JSON = "application/json"
_BODIES = [
    b"", b"{}", b"null", b"[" * 30_000, b" " * 65_537, b'\xef\xbb\xbf{"action": {"type": "fly"}}',
    b'{"action": {"type": "\xff"}, "expected_version": 5}', b'{"action": {"type": "\\ud800"}, "expected_version": 5}',
    b'{"action": {"type": "fly", "\xed\xa0\x80": 1}, "expected_version": 5}',
    b'{"action": {"type": "fly", "type": "end-turn"}, "expected_version": 5, "expected_version": 4}',
    b'{"action": {"type": "move", "to": [1e999, 0]}, "expected_version": 5}',
    b'{"action": {"type": "move", "to": [NaN, 0]}, "expected_version": 5}',
    b'{"action": {"type": "move", "to": [%d, 0]}, "expected_version": 5}' % 10**400,
    b'{"action": {"type": "fly"}, "expected_version": %d}' % 10**30,
    b'{"action": {"type": "fly"}, "expected_version": true}', b'{"signed": "AA==", "signature": "AA=="}',
]  # fmt: skip
_HEADERS: dict[str, list[str]] = {
    "REQUEST_METHOD": ["GET", "HEAD", "OPTIONS", "PUT", "post"],
    "QUERY_STRING": ["check=1&lang=fr", "lang=de&check=1", "ch%65ck=1", "check=1&check=0&x", "seat=%32&check=1", "%ff"],
    "HTTP_HOST": ["", ".", "a..b", "a:99999", "a@b", "[::1]:80"],
    "CONTENT_LENGTH": ["", "0", "-1", "3", "65537", "\xb2", "9" * 20],
    "CONTENT_TYPE": ["", "text/plain", "Application/JSON ; charset=x", "multipart/form-data", "\xff"],
    "HTTP_AUTHORIZATION": ["", "Bearer", "Basic x", "Bearer \xff"],
    "HTTP_ACCEPT_LANGUAGE": ["", "fr;q=0, ja;q=0.1", "xx, *", "fr;q=nan", "JA", "\xff"],
    "HTTP_IF_MATCH": ['"5"', '"4.x"', "*", 'W/"5"', '"\xb2"', ""],
    "HTTP_IDEMPOTENCY_KEY": ["", " ", "k", "x" * 300, "\xff"],
    "HTTP_COOKIE": ["annals=", "annals=x; annals=y", ";;=", "annals=\xff"],
    "HTTP_X_CSRF_TOKEN": ["", "x", "\xff"],
    "HTTP_TRANSFER_ENCODING": ["chunked", "gzip"],
    "HTTP_UPGRADE": ["websocket"],
    "HTTP_X_FORWARDED_FOR": ["1.1.1.1", "\xff"],
    "wsgi.url_scheme": ["https"],
    "SCRIPT_NAME": ["/x"],
}  # fmt: skip


@settings(max_examples=100, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    odd=st.dictionaries(st.sampled_from(sorted(_HEADERS)), st.integers(0, 7), max_size=4),
    body=st.none() | st.sampled_from(_BODIES),
    kept=st.sampled_from(["token", "cookie", "cookie alone"]),
)
def test_however_it_is_sent_both_ways_answer_with_the_same_bytes(
    table: Any, house: Any, ways: Any, odd: dict[str, int], body: bytes | None, kept: str
) -> None:
    token = table.creator.token
    if body is None:
        body = json.dumps({"action": {"type": "move", "to": [0, 1]}, "expected_version": 5}).encode()
    environ = {"QUERY_STRING": "check=1", "HTTP_HOST": "localhost"}
    if kept == "token":
        environ["HTTP_AUTHORIZATION"] = f"Bearer {token}"
    else:
        environ["HTTP_COOKIE"] = f"{session.COOKIE}={token}"
        if kept == "cookie":
            environ[session.HEADER] = session.csrf(token)
    environ |= {name: _HEADERS[name][number % len(_HEADERS[name])] for name, number in odd.items()}
    nobody = replace(table.creator, token=None)
    short, long = ways(nobody, f"{table.path}/actions", data=body, content_type=_JSON, environ_overrides=environ)
    assert short == long
    assert short[0] < "500"
    assert house.deps.log.head(bytes.fromhex(table.id)).version == 5
