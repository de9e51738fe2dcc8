"""The pages in other engines than Chromium's: WebKit, which is Safari's, and Firefox.

Where one is not installed its tests are skipped. Debian's packages: webkit2gtk-driver, firefox-esr, xvfb.
"""

import shutil
from collections.abc import Iterator
from typing import Final

import httpx
import pytest

from service.web import pages
from tests.web.drivers import MIDDLE, Driven, firefox, webkit

PICKED: Final = (
    MIDDLE
    + """
  const all = [...document.querySelectorAll("svg .target:not(.through)")].filter(middle), [turn] = arguments;
  const one = all.length && document.body.dataset.settled && all[turn % all.length];
  return one ? middle(one) : null;
"""
)
"""The middle of one of the targets that may be clicked, a different one each turn."""

NEEDS: Final = {webkit: (("WebKitWebDriver",), ("Xvfb",)), firefox: (("firefox-esr", "firefox"),)}


@pytest.fixture(scope="module", params=[webkit, firefox], ids=["webkit", "firefox"])
def driven(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Driven]:
    for programs in NEEDS[request.param]:
        if not any(map(shutil.which, programs)):
            pytest.skip(f"{programs[0]} is not installed")
    with request.param(tmp_path_factory.mktemp("browser")) as driven:
        yield driven


def test_a_seat_that_signs_and_another_are_played_at_one_screen_and_the_lobby_is_come_back_to(
    driven: Driven, server: str
) -> None:
    driven.goes(f"{server}/?lang=en")
    driven.waits("return document.querySelector('[name=who-2]') !== null")
    driven.asks(
        """document.querySelector("[name=name]").value = "Ada";
        document.querySelector("[name=who-1]").value = "signing";
        document.querySelector("[name=who-2]").value = "me";"""
    )
    driven.clicks("#create button.main")
    version = driven.settled()
    for turn in range(12):
        driven.points(*driven.waits(PICKED, turn))
        happened = "return Number(document.body.dataset.settled) > arguments[0]"
        driven.waits(f"if (document.querySelector('dialog[open]')) return true; {happened}", version)
        if driven.asks("return document.querySelector('dialog[open]') !== null"):
            driven.clicks("dialog .choices button")
        version = driven.settled(version)
    driven.waits("return Number(document.querySelector('#checked [data-checked]')?.dataset.checked) >= 14")
    assert driven.waits("return document.querySelector('#checked [data-receipts]')?.dataset.receipts") != "0"
    assert driven.asks("return document.querySelector('#checked .wrong')") is None
    game = httpx.get(f"{server}/v1{driven.asks('return location.pathname')}").json()
    assert game["seats"][0]["custody"] == "self"
    driven.send("Back", {})
    driven.waits("return document.querySelector('#mine li.game') !== null")
    assert driven.asks("return document.querySelector('#create button.main').disabled") is False


def test_a_replay_is_run_through_by_keyboard_and_scrubber(driven: Driven, server: str, finished: str) -> None:
    driven.goes(f"{server}/games/{finished}/at/20?lang=en")
    driven.waits("return document.body.dataset.shown === '20'")
    driven.presses("ArrowRight")
    driven.waits("return document.body.dataset.shown === '21'")
    driven.asks(
        """(async () => {
          const scrubber = document.querySelector("#scrubber");
          for (let turn = 0; turn < 150; turn++) {
            scrubber.value = String(20 + turn % 2);
            scrubber.dispatchEvent(new Event("input"));
            while (document.body.dataset.shown !== scrubber.value) await new Promise(done => setTimeout(done));
          }
          document.body.dataset.ran = "all";
        })();"""
    )
    driven.waits("return document.body.dataset.ran === 'all' && location.pathname.endsWith('/at/21')")
    assert driven.asks("return document.querySelector('#toast').hidden"), "Safari limits changes of the address"
    driven.presses("Home")
    driven.waits("return document.body.dataset.shown === '1'")


def test_the_browser_verifies_a_game_as_the_server_does(driven: Driven, server: str, finished: str) -> None:
    driven.goes(f"{server}/games/{finished}/audit?lang=en")
    driven.waits("return document.querySelector('#checks li') !== null")
    driven.clicks("#check")
    driven.waits("return document.querySelector('#verdict[data-by=\"verify.mjs\"]') !== null")
    verdict = httpx.get(f"{server}/v1/games/{finished}/audit").json()["verdict"]
    title = pages.spoken("en")[f"verdict.title.{verdict}"]
    assert driven.asks("return document.querySelector('#verdict h2').textContent") == title
    assert title in driven.asks("return document.querySelector('#theirs').textContent")
    assert driven.asks("return document.querySelector('#checks .FAIL')") is None
