"""A token in a cookie counts for reading, and for acting beside its CSRF header; Bearer needs neither."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from flask.testing import FlaskClient

from events.redis_client import ephemeral
from service.app import create_app
from service.bootstrap import bootstrap
from service.config import Config
from service.web.session import csrf


@pytest.fixture
def client() -> Iterator[FlaskClient]:
    deps = bootstrap(
        Config(keys=f"test={'11' * 32}", data=Path("/nonexistent/annals")), ephemeral(), lambda: 1_800_000_000_000
    )
    yield create_app(deps).test_client()
    deps.close()


def guest(client: FlaskClient) -> str:
    """Become a player behind a cookie: the token in it."""
    answer = client.post("/session", json={"name": "Ada"})
    assert answer.status_code == 201, answer.text
    cookie = answer.headers["Set-Cookie"]
    assert "HttpOnly" in cookie
    assert "SameSite=Strict" in cookie
    kept = client.get_cookie("annals")
    assert kept is not None
    assert kept.value not in answer.text
    return kept.value


def test_a_guest_is_known_by_the_cookie(client: FlaskClient) -> None:
    guest(client)
    assert client.get("/v1/me").json["name"] == "Ada"
    assert [one["current"] for one in client.get("/v1/me/tokens").json["tokens"]] == [True]


def test_the_cookie_alone_changes_nothing(client: FlaskClient) -> None:
    token = guest(client)
    table = {"ruleset": "donjon@1", "seats": 2}
    assert client.post("/v1/games", json=table).status_code == 401
    assert client.post("/v1/games", json=table, headers={"X-CSRF-Token": "0" * 64}).status_code == 401
    assert client.post("/v1/games", json=table, headers={"X-CSRF-Token": csrf("annals_other")}).status_code == 401
    assert client.post("/v1/games", json=table, headers={"X-CSRF-Token": csrf(token)}).status_code == 201


def test_bearer_needs_no_csrf_header(client: FlaskClient) -> None:
    token = guest(client)
    client.delete_cookie("annals")
    made = client.post(
        "/v1/games", json={"ruleset": "donjon@1", "seats": 2}, headers={"Authorization": f"Bearer {token}"}
    )
    assert made.status_code == 201


def test_a_form_of_another_site_cannot_make_a_session(client: FlaskClient) -> None:
    assert client.post("/session", data={"name": "Eve"}).status_code == 415


def test_a_cookie_that_is_worth_nothing_reads_like_nobody(client: FlaskClient) -> None:
    client.set_cookie("annals", "annals_gone")
    assert client.get("/v1/games").status_code == 200
    assert client.get("/v1/me").status_code == 401


def test_a_client_that_prefers_json_is_led_to_the_description_of_the_api(client: FlaskClient) -> None:
    assert client.get("/", headers={"Accept": "application/json"}).headers["Location"] == "/openapi.json"
    assert client.get("/", headers={"Accept": "*/*"}).content_type.startswith("text/html")
