"""The replay room in a real browser: nothing is loaded or told too early, and each step is seen."""

import re
import threading
import time
from collections.abc import Callable
from typing import Any

import httpx
import pytest

GAMES = ("donjon@1", "dungeon-roll@1")
SPY = """() => {
  const old = Element.prototype.animate;
  window.moved = [];
  Element.prototype.animate = function (...how) { window.moved.push(this.id); return old.apply(this, how); };
}"""


@pytest.fixture
def over(server: str) -> Callable[[str], str]:
    """The longest finished game of a ruleset, once the demo has one."""

    def find(ruleset: str) -> str:
        deadline, pause = time.monotonic() + 60, threading.Event()
        while time.monotonic() < deadline:
            games = httpx.get(f"{server}/v1/games?status=finished&limit=100&ruleset={ruleset}").json()["games"]
            if games:
                return str(max(games, key=lambda game: game["version"])["game_id"])
            pause.wait(0.1)
        raise AssertionError(f"the demo has no finished game of {ruleset}")

    return find


def shown(page: Any, where: str) -> None:
    """The room shows a position (``12``), or a part of what happened in one (``12.1``)."""
    page.wait_for_function("where => document.body.dataset.shown === where", arg=where)


def steps(server: str, game: str) -> dict[int, list[dict[str, Any]]]:
    """Every step of a game by version."""
    told: dict[int, list[dict[str, Any]]] = {}
    after: int | None = 0
    while after is not None:
        answer = httpx.get(f"{server}/v1/games/{game}/replay?spoilers=1&limit=500&after={after}").json()
        for step in answer["steps"]:
            told.setdefault(step["version"], []).append(step)
        after = answer["next"]
    return told


@pytest.mark.parametrize("ruleset", GAMES)
def test_nothing_is_loaded_of_what_comes_later_until_it_is_asked_for(
    visitor: Any, server: str, over: Any, ruleset: str
) -> None:
    game = over(ruleset)
    end = max(steps(server, game))
    one = visitor()
    asked: list[str] = []
    one.page.on("request", lambda request: asked.append(request.url))
    page = one.goes(f"/games/{game}/replay").page
    page.wait_for_function("() => document.body.dataset.shown && document.querySelector('#log li')")
    page.keyboard.press("ArrowRight")
    at = int(page.get_attribute("body", "data-begins") or 0) + 1
    shown(page, str(at))
    assert not [url for url in asked if "spoilers=1" in url]
    drawn = [int(number) for url in asked for number in re.findall(r"positions/(\d+)\.svg", url)]
    assert max(drawn, default=0) <= at + 5
    told = [(int(a), int(b)) for url in asked for a, b in re.findall(r"replay\?after=(\d+)&limit=(\d+)", url)]
    assert max(after + limit for after, limit in told) <= at + 40
    assert page.get_attribute("#scrubber", "max") == str(at)
    assert page.text_content("#number") == str(at)
    assert max(page.eval_on_selector_all("#log button", "all => all.map(one => Number(one.dataset.at))")) == at
    page.check("#spoilers")
    page.wait_for_function("end => document.querySelector('#scrubber').max == end", arg=end)
    page.wait_for_function(
        "end => Number([...document.querySelectorAll('#log button')].at(-1).dataset.at) === end", arg=end
    )
    page.uncheck("#spoilers")
    page.wait_for_function(
        "at => [...document.querySelectorAll('#log button')].every(one => Number(one.dataset.at) <= at)", arg=at
    )
    assert page.text_content("#number") == str(at)


@pytest.mark.parametrize("ruleset", GAMES)
def test_what_happened_in_an_event_is_told_one_thing_at_a_time(
    visitor: Any, server: str, over: Any, ruleset: str
) -> None:
    game = over(ruleset)
    told = steps(server, game)
    first = next(version for version, found in told.items() if version > 12 and len(found) > 2)
    page = visitor().goes(f"/games/{game}/at/{first - 1}").page
    shown(page, str(first - 1))
    page.select_option("#by", "happening")
    for index, step in enumerate(told[first], 1):
        page.keyboard.press("ArrowRight")
        shown(page, f"{first}.{index}" if index < len(told[first]) else str(first))
        assert page.text_content("#said") == step["words"]
    page.keyboard.press("ArrowLeft")
    shown(page, f"{first}.{len(told[first]) - 1}")
    page.click(f"#log button[data-at='{first}'] >> nth=0")
    shown(page, f"{first}.1")
    page.select_option("#by", "event")
    page.keyboard.press("ArrowRight")
    shown(page, str(first + 1))


@pytest.mark.parametrize(("ruleset", "dice"), [("donjon@1", "die-"), ("dungeon-roll@1", "dungeon-")])
@pytest.mark.parametrize("still", [False, True])
def test_dice_roll_and_what_changed_is_marked_for_who_wants_stillness_too(
    visitor: Any, server: str, over: Any, ruleset: str, dice: str, still: bool
) -> None:
    game = over(ruleset)
    rolled = ("dice-rolled", "level-began")
    version = next(
        version
        for version, found in steps(server, game).items()
        if any((step["happening"] or {}).get("type") in rolled for step in found)
    )
    page = visitor(still=still).goes(f"/games/{game}/at/{version - 1}").page
    shown(page, str(version - 1))
    page.evaluate(SPY)
    page.keyboard.press("ArrowRight")
    shown(page, str(version))
    moved = page.evaluate("window.moved")
    assert any(part.startswith(dice) for part in moved) is not still
    assert page.locator(f"svg [id^={dice}] > .mark").count() > 0
    if still:
        assert moved == []
        assert page.evaluate("document.getAnimations().length") == 0


def test_best_moments_are_chapters_that_tell_neither_outcome_nor_length(visitor: Any, server: str, over: Any) -> None:
    game = over("donjon@1")
    end = max(steps(server, game))
    page = visitor().goes(f"/games/{game}/replay").page
    page.wait_for_function("() => document.body.dataset.shown && document.querySelector('#log li')")
    assert page.locator("#moments li").count() == 0
    page.click("#all-moments")
    page.wait_for_selector("#moments button")
    first = page.locator("#moments button").first
    assert re.search("by a hair|lead changes|great gain", first.text_content())
    at = first.get_attribute("data-at")
    first.click()
    shown(page, at)
    assert str(end) not in page.text_content("#number")
    assert page.get_attribute("#scrubber", "max") == at


def test_a_game_plays_as_it_was_played_with_its_pauses_squeezed(visitor: Any, server: str, over: Any) -> None:
    game = over("donjon@1")
    page = visitor().goes(f"/games/{game}/at/20").page
    shown(page, "20")
    page.select_option("#speed", "real")
    page.locator("#speed").blur()
    page.keyboard.press(" ")
    page.wait_for_function("() => Number(document.body.dataset.shown) >= 22")
    assert re.search(r"\d:\d\d", page.text_content("#when"))
    page.keyboard.press(" ")
    assert page.get_attribute("#run", "aria-label") == "Play"


def test_luck_and_score_are_shown_as_far_as_the_game_was_seen(visitor: Any, over: Any) -> None:
    page = visitor().goes(f"/games/{over('donjon@1')}/at/40").page
    shown(page, "40")
    page.click("#luck summary")
    page.wait_for_function("() => document.querySelector('#luck img')?.naturalWidth > 0")
    assert "at=40" in page.get_attribute("#luck img", "src")
    page.keyboard.press("ArrowRight")
    page.wait_for_function("() => document.querySelector('#luck img').src.includes('at=41')")


@pytest.mark.parametrize("ruleset", GAMES)
def test_either_game_is_played_on_from_a_moment(visitor: Any, server: str, over: Any, ruleset: str) -> None:
    game = over(ruleset)
    ada = visitor()
    ada.opens_a_table(seat2="me")
    page = ada.goes(f"/games/{game}/at/24").page
    shown(page, "24")
    page.click("#fork")
    page.click("dialog .choices button")
    page.wait_for_url(lambda url: re.search("/games/[0-9a-f]{32}$", url) is not None and game not in url)
    fork = httpx.get(f"{server}/v1{page.url.removeprefix(server)}").json()
    assert fork["ruleset"] == ruleset


def test_who_runs_through_a_game_is_not_stopped_by_a_browser_that_limits_changes_of_the_address(
    visitor: Any, over: Any
) -> None:
    """Safari throws after a hundred within ten seconds."""
    game = over("donjon@1")
    one = visitor()
    page = one.goes(f"/games/{game}/at/20").page
    shown(page, "20")
    page.keyboard.press("ArrowRight")
    shown(page, "21")
    page.evaluate(
        """async () => {
          let left = 100;
          const kept = history.replaceState;
          history.replaceState = function (...how) {
            if (!left--) throw new DOMException("too often", "SecurityError");
            return kept.apply(this, how);
          };
          const scrubber = document.querySelector("#scrubber");
          for (let turn = 0; turn < 121; turn++) {
            scrubber.value = String(20 + turn % 2);
            scrubber.dispatchEvent(new Event("input"));
            while (document.body.dataset.shown !== scrubber.value) await new Promise(done => setTimeout(done));
          }
        }"""
    )
    page.wait_for_url(f"{one.server}/games/{game}/at/20")
    assert page.is_hidden("#toast")


def test_the_first_picture_comes_with_the_page(visitor: Any, over: Any) -> None:
    game = over("dungeon-roll@1")
    page = visitor(java_script_enabled=False).goes(f"/games/{game}/at/20").page
    assert page.locator("#map svg #panel-1").count() == 1
    assert page.text_content("#said")
    assert "20" in page.title()


def test_scripts_and_styles_are_kept_for_ever_by_an_address_that_changes_with_them(server: str, over: Any) -> None:
    page = httpx.get(f"{server}/games/{over('donjon@1')}/replay").text
    addresses = set(re.findall(r'(?:src|href)="(/static/[0-9a-f]{16}/[\w.]+)"', page))
    assert {address.rpartition("/")[2] for address in addresses} >= {
        "replay.mjs",
        "picture.mjs",
        "api.mjs",
        "style.css",
        "picture.css",
    }
    for address in addresses:
        answer = httpx.get(server + address)
        assert "immutable" in answer.headers["Cache-Control"]
        assert answer.headers["Content-Encoding"] == "gzip"
        other = httpx.get(f"{server}/static/0123456789abcdef/{address.rpartition('/')[2]}")
        assert other.content == answer.content
        assert "no-cache" in other.headers["Cache-Control"]
    assert httpx.get(f"{server}/static/0123456789abcdef/nothing.mjs").status_code == 404
