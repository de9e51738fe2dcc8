"""What every answer says about its own use, and what a cookie alone may not do: every route, as a table."""

import re
from typing import Any

import pytest

from service.api.meta import everything
from service.app import create_app
from service.web.session import csrf

ROUTES = {route.name: route for route in everything.routes}
WRITING = [route.name for route in everything.routes if route.method != "GET"]
BY_COOKIE = [name for name in WRITING if "player" in ROUTES[name].auth]
VALUES = {
    "version": "1", "seat": "1", "seq": "1", "ruleset": "donjon@1", "tile": "0/000.p/1", "code": "stale",
    "name": "style.css", "edition": "0", "token_id": "0" * 16, "case_id": "f" * 32,
}  # fmt: skip
EVERYWHERE = {
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
}


def address(route: Any, table: Any) -> str:
    values = VALUES | {"game_id": table.id, "other_id": table.id, "player_id": table.creator.id}
    path = re.sub(r"{(\w+)}", lambda found: values[found[1]], route.template)
    return path + {"show_why": "?path=seats/1", "show_consistency": "?from=1"}.get(route.name, "")


def called(route: Any, table: Any, who: Any, **more: Any) -> Any:
    body = {} if route.method == "GET" else {"json": {}}
    answer = who.request(route.method, address(route, table), buffered=False, **body, **more)
    answer.close()
    return answer


def checked(answer: Any, method: str, secure: bool = False) -> None:
    """The headers that no answer lacks, each once."""
    headers = answer.headers
    for name, value in EVERYWHERE.items():
        assert headers.getlist(name) == [value], name
    (policy,) = headers.getlist("Content-Security-Policy")
    assert policy.startswith("default-src 'none'")
    assert "frame-ancestors 'none'" in policy
    assert "unsafe-eval" not in policy
    assert "*" not in policy
    if "unsafe-inline" in policy:  # a picture brings its own style, and nothing that could run
        assert headers["Content-Type"].startswith("image/svg+xml")
        assert "script-src" not in policy
    reading = method in ("GET", "HEAD", "OPTIONS")
    assert headers.getlist("Cross-Origin-Resource-Policy") == ["cross-origin" if reading else "same-origin"]
    assert headers.getlist("Access-Control-Allow-Origin") == (["*"] if reading else [])
    assert "Access-Control-Allow-Credentials" not in headers
    assert headers.getlist("Strict-Transport-Security") == (["max-age=31536000"] if secure else [])
    if answer.status_code not in (204, 303, 308) and method != "OPTIONS":
        (kept,) = headers.getlist("Cache-Control")
        assert re.search(r"no-store|no-cache|max-age", kept), kept
        assert answer.status_code < 400 or kept == "no-store" or headers["Content-Type"].startswith("text/html")


@pytest.mark.parametrize("name", ROUTES)
def test_every_answer_of_every_route_says_how_it_may_be_used(house: Any, table: Any, name: str) -> None:
    route = ROUTES[name]
    for who in (house.nobody, house.player("Eve"), table.creator):
        checked(called(route, table, who), route.method)
    checked(called(route, table, table.creator, base_url="https://play.example"), route.method, secure=True)
    checked(table.creator.request("OPTIONS", address(route, table)), "OPTIONS")
    checked(table.creator.request("PUT", address(route, table)), "PUT")


@pytest.mark.parametrize("path", ["/nowhere", "/v1/games/0", "//", "/v1/games?lang=xx", "/v1/games?unknown=1"])
def test_so_does_every_refusal_of_what_is_no_route(house: Any, path: str) -> None:
    for method in ("GET", "HEAD", "POST", "DELETE", "TRACE"):
        checked(house.nobody.request(method, path), method)


@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if "game_id" in route.template])
def test_what_is_private_is_kept_by_no_shared_cache(house: Any, name: str) -> None:
    ada = house.player()
    table = ada.opens(visibility="private")
    table.seat(ada)
    table.starts()
    answer = called(ROUTES[name], table, ada)
    assert "public" not in answer.headers.get("Cache-Control", "")


@pytest.mark.parametrize("name", [name for name, route in ROUTES.items() if route.method == "GET"])
def test_what_a_shared_cache_may_keep_is_the_same_for_everybody(house: Any, table: Any, name: str) -> None:
    answer = called(ROUTES[name], table, house.nobody)
    if "public" in answer.headers.get("Cache-Control", ""):
        for who in (house.player("Eve"), table.creator):
            other = who.get(address(ROUTES[name], table))
            assert other.data == house.nobody.get(address(ROUTES[name], table)).data
    elif ROUTES[name].auth != "nobody":
        assert {"Cookie", "Authorization", "Accept-Language", "Accept"} <= answer.vary.as_set(preserve_casing=True)


# -- cookies ---------------------------------------------------------------------------------------------------------


def test_every_operation_that_writes_needs_a_player_or_makes_one_or_keeps_nothing() -> None:
    assert set(WRITING) - set(BY_COOKIE) == {"register", "open_session", "judge_bundle"}


@pytest.mark.parametrize("name", BY_COOKIE)
def test_a_cookie_alone_writes_nothing(house: Any, table: Any, refusal: Any, name: str) -> None:
    ada, route = table.creator, ROUTES[name]
    browser = house.nobody
    browser.client.set_cookie("annals", ada.token)
    before = house.stored()
    for given in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": "0" * 64}, {"X-CSRF-Token": csrf("annals_other")}):
        for origin in ({}, {"Origin": "https://evil.example", "Sec-Fetch-Site": "cross-site"}):
            answer = browser.request(route.method, address(route, table), given | origin, json={})
            assert refusal(answer) == "401 token-missing"
    assert house.stored() == before
    allowed = browser.request(route.method, address(route, table), {"X-CSRF-Token": csrf(ada.token)}, json={})
    assert allowed.status_code != 401


@pytest.mark.parametrize("name", WRITING)
def test_a_form_of_another_site_can_send_nothing_that_is_taken(house: Any, table: Any, name: str) -> None:
    """The three bodies that a page may send anywhere without asking first (Fetch, 'CORS-safelisted')."""
    route = ROUTES[name]
    if name == "judge_bundle":  # which nobody is needed for, and nothing is kept of
        return
    browser = house.nobody
    browser.client.set_cookie("annals", table.creator.token)
    for kind in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x"):
        answer = browser.request(route.method, address(route, table), data=b'{"name": "Eve"}', content_type=kind)
        assert answer.status_code in (401, 415)
        assert "Set-Cookie" not in answer.headers


def test_behind_tls_the_cookie_goes_by_tls_only(house: Any) -> None:
    for base, secure in (("http://play.example", False), ("https://play.example", True)):
        made = create_app(house.deps).test_client().post("/session", json={"name": "Ada"}, base_url=base)
        assert ("Secure" in made.headers["Set-Cookie"]) is secure
        assert "HttpOnly" in made.headers["Set-Cookie"]
        assert "SameSite=Strict" in made.headers["Set-Cookie"]
