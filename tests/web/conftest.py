"""A service of its own, and Chromium to open its pages with. Whatever a page should not do, a test fails for."""

import os
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import Any

import httpx
import pytest
from playwright.sync_api import TimeoutError as NothingCame

from bench.browser import chromium_path, launched
from bench.servers import Served, served


@pytest.fixture(scope="session")
def service(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    """`annals serve` with its demo."""
    settings = {"ANNALS_BOT_PAUSE_MS": "2000", "ANNALS_HEARTBEAT_S": "1"}
    with served(tmp_path_factory.mktemp("served"), "--workers", "1", **settings) as service:
        yield service.with_demo()


@pytest.fixture(scope="session")
def server(service: Served) -> str:
    """Its address."""
    return service.address


@pytest.fixture(scope="session")
def chromium() -> Iterator[Any]:
    """The browser. Outside CI a machine without one skips these tests."""
    if chromium_path() is None:
        assert os.environ.get("CI") != "true", "CI has no Chromium: requirements/system.sh installs it"
        pytest.skip("no Chromium is installed; requirements/system.sh tells how")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = launched(playwright)
        yield browser
        browser.close()


class Visitor:
    """One browser of one person, at one service."""

    def __init__(self, context: Any, server: str, wrong: list[str], calm: Callable[[str], bool]) -> None:
        self.page, self.server = context.new_page(), server
        self.page.set_default_timeout(60_000)  # a busy machine is slow, not wrong

        def heard(message: Any) -> None:
            if message.type in ("error", "warning") and not calm(message.text):
                wrong.append(f"{message.type}: {message.text}")

        def asked(request: Any) -> None:
            if not request.url.startswith((server, "data:")):
                wrong.append(f"a request to {request.url}")

        self.page.on("console", heard)
        self.page.on("pageerror", lambda error: wrong.append(f"error: {error}"))
        self.page.on("request", asked)

    def goes(self, path: str) -> "Visitor":
        self.page.goto(self.server + path)
        return self

    def opens_a_table(
        self,
        name: str = "Ada",
        seats: int = 2,
        game: str = "donjon@1",
        options: Mapping[str, str] = MappingProxyType({}),
        **others: str,
    ) -> str:
        """By the lobby's form; ``others``: who sits on seat2, seat3, ... Answers with the table's path."""
        self.goes("/")
        self.page.wait_for_selector("[name=who-2]")
        if game != "donjon@1":
            self.page.select_option("[name=ruleset]", game)
            self.page.wait_for_selector(f"#create[data-ruleset='{game}']")
        if options:
            self.page.click("#create summary")
        for option, value in options.items():
            self.page.select_option(f"[name='option.{option}']", value)
        if self.page.query_selector("[name=name]"):
            self.page.fill("[name=name]", name)
        self.page.select_option("[name=seats]", str(seats))
        for seat, who in others.items():
            self.page.select_option(f"[name=who-{seat.removeprefix('seat')}]", who)
        self.page.click("#create button.main")
        self.page.wait_for_url("**/games/*")
        return str(self.page.url).removeprefix(self.server)

    def settled(self, at_least: int = 0) -> int:
        """Wait until all that happened is shown, and what may be done lies over it: the version."""
        settled = self.page.wait_for_function(
            """least => {
              const at = document.body.dataset.settled;
              return at && Number(at) >= least ? at : null;
            }""",
            arg=at_least,
        )
        return int(settled.json_value())  # of that very moment: the next event may be drawn already

    def turn(self) -> list[str]:
        """Wait until there is something to click: what."""
        try:
            found = self.page.wait_for_function(
                """() => {
                  const ids = [...document.querySelectorAll('svg .target')].map(one => one.id);
                  return document.body.dataset.settled && ids.length ? ids : null;
                }"""
            )
        except NothingCame as error:
            said = [self.page.inner_text(part) for part in ("#status", "#hint", "#toast", "#lost")]
            said.append(self.page.evaluate("JSON.stringify(document.body.dataset)"))
            raise AssertionError(f"nothing to click: {' | '.join(said)}") from error
        targets: list[str] = found.json_value()
        return targets

    def targets(self) -> list[str]:
        found: list[str] = self.page.evaluate("[...document.querySelectorAll('svg .target')].map(one => one.id)")
        return found

    def acts(self, target: str) -> int:
        """Click a target, and the first of several things that it may mean; wait for what comes of it."""
        before = self.settled()
        if self.page.eval_on_selector(f"svg #{target}", "part => part.classList.contains('through')"):
            self.page.focus(f"svg #{target}")  # the pointer goes through to the tile
            self.page.keyboard.press("Enter")
        else:
            self.page.click(f"svg #{target}")
        self.page.wait_for_function(
            "before => document.querySelector('dialog[open]') || Number(document.body.dataset.settled) > before",
            arg=before,
        )
        if self.page.query_selector("dialog[open]"):
            self.page.click("dialog .choices button")
        return self.settled(before + 1)

    @property
    def log(self) -> list[int]:
        """The numbers of the events that were told, in order."""
        return [
            int(number) for number in self.page.eval_on_selector_all("#log li a", "all => all.map(a => a.textContent)")
        ]


@pytest.fixture
def visitor(chromium: Any, server: str) -> Iterator[Callable[..., Visitor]]:
    """Somebody with a browser: `visitor(viewport=..., locale=...)`. ``calm(message)``: this in the console is meant."""
    contexts: list[Any] = []
    wrong: list[str] = []

    def come(
        address: str = server, calm: Callable[[str], bool] = lambda message: False, still: bool = True, **how: Any
    ) -> Visitor:
        how = {"viewport": {"width": 1200, "height": 900}, "locale": "en-GB"} | how
        context = chromium.new_context(reduced_motion="reduce" if still else "no-preference", **how)
        contexts.append(context)
        return Visitor(context, address, wrong, calm)

    yield come
    for context in contexts:
        context.close()
    assert wrong == []


@pytest.fixture
def finished(server: str) -> str:
    """The shortest finished game of the demo."""
    games = httpx.get(f"{server}/v1/games?status=finished&limit=50").json()["games"]
    return str(
        min((game for game in games if game["outcome"]["ending"] == "dragon"), key=lambda game: game["version"])[
            "game_id"
        ]
    )
