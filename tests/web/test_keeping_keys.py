"""A seat whose key its player's browser keeps: played by clicks, checked event by event, taken to another device."""

from typing import Any

import httpx


def checked(visitor: Any) -> int:
    """How many events the page says that it checked; it says so of all that it shows."""
    shown = visitor.page.wait_for_function(
        """() => {
          const mark = document.querySelector('#checked [data-checked]');
          return mark && document.body.dataset.settled === mark.dataset.checked ? mark.dataset.checked : null;
        }"""
    )
    return int(shown.json_value())


def clicks(visitor: Any, times: int) -> None:
    """That many turns of somebody who passes where that is allowed."""
    for _ in range(times):
        targets = visitor.turn()
        visitor.acts("next" if "next" in targets else targets[0])


def test_a_seat_that_signs_is_played_by_clicks_and_every_roll_is_checked(visitor: Any, server: str) -> None:
    ada = visitor()
    path = ada.opens_a_table(seat1="signing")
    ada.turn()
    clicks(ada, 3)
    version = checked(ada)
    game = httpx.get(f"{server}/v1{path}").json()
    assert game["seats"][0]["custody"] == "self"
    assert version >= 6
    kinds = [event["kind"] for event in httpx.get(f"{server}/v1{path}/events").json()["events"]]
    assert kinds[:2] == ["create", "join"] or kinds[:3] == ["create", "join", "join"]
    assert "reveal" in kinds
    assert kinds.count("act") >= 3
    assert "rolls" in ada.page.text_content("#checked")


def test_watchers_check_what_they_see_as_well(visitor: Any) -> None:
    ada, eve = visitor(), visitor(locale="ja-JP")
    path = ada.opens_a_table(seat2="me")
    ada.turn()
    eve.goes(path)
    assert checked(eve) >= 4
    assert "✓" in eve.page.text_content("#checked")


def test_another_device_goes_on_with_the_phrase_and_without_it_the_key_can_be_given_up(
    visitor: Any, server: str
) -> None:
    ada = visitor()
    path = ada.opens_a_table(seat1="signing")
    ada.turn()
    me = ada.page.get_attribute("body", "data-me")
    ada.goes(f"/players/{me}").page.click("#show")
    phrase = ada.page.text_content("#phrase")
    assert len(phrase.split("-")) == 14
    ada.page.evaluate("localStorage.removeItem('annals.account')")  # another device of the same player
    ada.goes(path)
    ada.turn()
    assert "not in this browser" in ada.page.text_content("#hint")
    ada.goes(f"/players/{me}").page.fill("#typed", phrase.replace("-", " "))
    ada.page.click("#take")
    ada.page.wait_for_selector("#toast:not([hidden])")
    ada.goes(path)
    before = ada.settled()
    clicks(ada, 1)
    assert ada.settled() > before
    ada.page.evaluate("localStorage.removeItem('annals.account')")
    ada.goes(path)
    ada.turn()
    ada.page.click("#buttons button:not(.main)")
    ada.page.click("dialog .choices button")
    ada.page.wait_for_function("() => !document.querySelector('#hint').textContent.includes('not in this browser')")
    assert httpx.get(f"{server}/v1{path}").json()["seats"][0]["custody"] == "server"
    clicks(ada, 1)


def test_two_browsers_that_keep_their_keys_play_a_game_to_its_close(visitor: Any, server: str) -> None:
    ada, bob = visitor(), visitor()
    path = ada.opens_a_table(seat1="signing", seat2="friend")
    ada.page.wait_for_selector("#seats li >> text=Ada")
    bob.goes(path).page.fill("#seats input[maxlength]", "Bob")
    bob.page.check("#seats [name=keep]")
    bob.page.click("#seats button.main")
    ada.page.wait_for_selector("#seats >> text=Bob")
    ada.page.click("#seats button.main")  # start
    for one in (ada, bob):
        one.page.wait_for_selector("#board")
    game = httpx.get(f"{server}/v1{path}").json()
    assert [seat["custody"] for seat in game["seats"]] == ["self", "self"]
    first, _ = (ada, bob) if game["to_act"] == [1] else (bob, ada)
    clicks(first, 1)
    for one in (ada, bob):  # both leave: the game is over
        one.page.click("#list summary")
        one.page.click("#leave button")
        one.page.click("dialog .choices button")
    for one in (ada, bob):
        one.page.wait_for_function("() => document.querySelector('#buttons a[href$=\"/audit\"]')")
        checked(one)
    ada.page.wait_for_function(
        """async path => (await (await fetch(path)).json()).events.at(-1).kind === 'close'""",
        arg=f"/v1{path}/events?limit=500",
    )
    closed = httpx.get(f"{server}/v1{path}/events").json()["events"]
    assert [event["kind"] for event in closed[-3:]] == ["signoff", "signoff", "close"]
