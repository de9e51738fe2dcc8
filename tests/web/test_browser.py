"""The pages in a real browser: played, watched, cut off, stepped through; by pointer and keyboard, wide and narrow."""

import re
import socket
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any

import httpx
import pytest

from bench.servers import Served

FIRST = ("fight", "trap", "offer-attack-scroll", "offer-sacrifice", "offer-accept", "loot", "chest", "item", "decline")
"""What a player who wants to get on clicks first."""


def wish(targets: list[str], clicks: int, wander: bool = True) -> str:
    """A player without a plan: what is pending, then now here, now there; without ``wander`` only Next."""
    for target in FIRST:
        if target in targets:
            return target
    steps = [target for target in targets if target.startswith("tile-")]
    if steps and (wander or "next" not in targets):
        return steps[clicks % len(steps)]
    return "next" if "next" in targets else targets[clicks % len(targets)]


def test_a_whole_game_is_played_by_clicks_against_a_bot(visitor: Any, server: str) -> None:
    ada = visitor()
    path = ada.opens_a_table()
    ada.settled()
    clicks, clicked = 0, set()
    while True:
        ada.page.wait_for_function(SETTLED_OR_OVER)
        if not (targets := ada.targets()):
            break
        target = wish(targets, clicks, wander=clicks < 60)
        clicked.add(re.sub(r"-?-\d+|-\d", "", target))
        ada.acts(target)
        clicks += 1
        assert clicks < 900
    game = httpx.get(f"{server}/v1{path}").json()
    assert game["status"] == "finished"
    assert game["outcome"]["winners"]
    assert {"tile", "next"} <= clicked  # whom one fights is up to the dice
    assert "won by" in ada.page.text_content("#status")
    assert ada.log == list(range(ada.log[0], game["version"] + 1))
    ada.page.click(f"#buttons a[href='{path}/replay']")
    ada.page.wait_for_selector("#board")


def delved(ada: Any) -> tuple[str, set[str]]:
    """The path of a game alone in the dungeon that was played to its end, and what was done in it."""
    path: str = ada.opens_a_table(seats=1, game="dungeon-roll@1", options={"heroes": "base"})
    clicks, done = 0, set[str]()
    while True:
        ada.page.wait_for_function(SETTLED_OR_OVER)
        if not (targets := ada.targets()):
            return path, done
        done.add(delve_on(ada, targets))
        clicks += 1
        assert clicks < 300


def test_a_whole_game_of_dungeon_roll_is_played_by_clicking_dice(visitor: Any, server: str) -> None:
    for _ in range(8):  # the dice may leave nothing to build
        ada = visitor()
        path, done = delved(ada)
        if "built" in done:
            break
    game = httpx.get(f"{server}/v1{path}").json()
    assert game["status"] == "finished"
    assert {"begin", "built"} <= done
    assert ada.log == list(range(ada.log[0], game["version"] + 1))
    assert "won by" in ada.page.text_content("#status")
    rank = ada.page.text_content("#status").rpartition(" · ")[2]
    ada.goes(f"/players/{ada.page.get_attribute('body', 'data-me')}").page.wait_for_selector("#best-rows tr")
    (row,) = ada.page.eval_on_selector_all("#best-rows tr", "all => all.map(row => row.textContent)")
    assert str(game["outcome"]["scores"][0]) in row
    assert row.endswith(rank)
    assert rank.lower().replace(" ", "-") == game["outcome"]["facts"]["rank"]


def test_an_action_is_built_by_keyboard_alone(visitor: Any) -> None:
    """What is picked in the picture is pressed in the form, and the other way round; Clear forgets it."""
    ada = visitor()
    monsters = next(filter(None, (monsters_met(ada) for _ in range(9))))  # a level may be without any
    ada.page.focus(f"svg #{monsters[0]}")
    ada.page.keyboard.press("Space")
    assert ada.page.get_attribute(f"svg #{monsters[0]}", "aria-pressed") == "true"
    picked = ada.page.text_content("#picked")
    in_the_form = ada.page.locator("#forms .pick[aria-pressed=true]").first
    assert in_the_form.text_content() in picked
    in_the_form.focus()
    ada.page.keyboard.press("Enter")
    assert ada.page.get_attribute(f"svg #{monsters[0]}", "aria-pressed") == "false"
    assert ada.page.evaluate("document.activeElement.className") == "pick"
    ada.page.keyboard.press("Enter")
    assert ada.page.get_attribute(f"svg #{monsters[0]}", "aria-pressed") == "true"
    ada.page.focus("#quick button.quiet")
    ada.page.keyboard.press("Enter")
    assert ada.page.locator("[aria-pressed=true]").count() == 0


def monsters_met(ada: Any) -> list[str]:
    """The monsters of the first level of a new delve that has some; none: something else is to be done there."""
    ada.opens_a_table(seats=1, game="dungeon-roll@1")
    while True:
        targets = ada.turn()
        if monsters := [name for name in targets if name.startswith("dungeon-")]:
            return monsters
        on = next((name for name in ("begin", "proceed", "seek-glory") if name in targets), None)
        if on is None:
            return []
        ada.page.focus(f"svg #{on}")
        before = ada.settled()
        ada.page.keyboard.press("Enter")
        ada.settled(before + 1)


def test_a_delve_is_stepped_through_by_levels(visitor: Any, server: str) -> None:
    games = httpx.get(f"{server}/v1/games?status=finished&ruleset=dungeon-roll@1&limit=100").json()["games"]
    page = visitor().goes(f"/games/{games[0]['game_id']}/replay").page
    page.wait_for_selector("#board")
    assert page.eval_on_selector_all("#by option", "all => all.map(one => one.value)") == [
        "event",
        "happening",
        "turn",
        "level",
    ]
    page.select_option("#by", "level")
    for _ in range(3):
        before = page.input_value("#scrubber")
        page.click("#forward")
        page.wait_for_function("before => document.querySelector('#scrubber').value != before", arg=before)
        assert "evel" in page.text_content("#said")


def delve_on(ada: Any, targets: list[str]) -> str:
    """One step of a player who fights with what there is, takes what lies there, and leaves early. What was done."""
    before = ada.settled()
    showing = {name: ada.page.get_attribute(f"svg #{name}", "aria-label") for name in targets}
    party = [name for name in targets if name.startswith(("party-", "treasure-", "temp-"))]
    dungeon = [name for name in targets if name.startswith("dungeon-")]
    if (mine := next(iter(party), None)) and (first := next(iter(dungeon), None)):
        ada.page.click(f"svg #{mine}")
        assert ada.page.get_attribute(f"svg #{mine}", "aria-pressed") == "true"
        ada.page.click(f"svg #{first}")
        assert showing[first] in ada.page.text_content("#picked")
        if ada.page.query_selector("#quick button.main"):
            ada.page.click("#quick button.main")
            ada.settled(before + 1)
            return "built"
    for target in ("begin", "retire", "proceed", "flee", "dragon"):
        if target in targets:
            ada.acts(target)
            return target
    ada.page.click("#quick button")
    ada.settled(before + 1)
    return "ready-made"


def test_two_browsers_at_one_table_and_a_third_watching(visitor: Any) -> None:
    ada, bob, eve = visitor(), visitor(), visitor(locale="fr-FR")
    path = ada.opens_a_table(seat2="friend")
    assert ada.page.input_value("#seats input[readonly]") == ada.page.url
    bob.goes(path).page.fill("#seats input[maxlength]", "Bob")
    bob.page.click("#seats button.main")
    bob.page.wait_for_selector("header .me")
    ada.page.wait_for_selector("#seats >> text=Bob")
    eve.goes(path)
    ada.page.click("#seats button.main")
    ada.page.wait_for_selector("#board")
    bob.page.wait_for_selector("#board")
    version = ada.settled(1)
    first, second = (ada, bob) if ada.targets() else (bob, ada)
    for one in (bob, eve):
        one.settled(version)
    assert first.targets()
    assert second.targets() == eve.targets() == []
    assert "Vous regardez" in eve.page.text_content("#hint")
    version = first.acts(next(target for target in first.targets() if target.startswith("tile-")))
    for one in (second, eve):
        one.settled(version)
        assert one.log[-1] == version
    hero = first.page.get_attribute("#hero-1", "transform"), first.page.get_attribute("#hero-2", "transform")
    assert hero == (eve.page.get_attribute("#hero-1", "transform"), eve.page.get_attribute("#hero-2", "transform"))


def test_two_friends_at_one_screen(visitor: Any) -> None:
    ada = visitor()
    ada.opens_a_table(seat2="me")
    ada.turn()
    before = ada.page.text_content("#status")
    assert "Your turn" in before
    assert ada.page.locator("#buttons button").all_inner_texts() == ["Next ▸"]
    ada.page.click("#buttons button.main")
    ada.page.wait_for_function("before => document.querySelector('#status').textContent !== before", arg=before)
    assert "Your turn" in ada.page.text_content("#status")
    assert "next" in ada.turn()


def test_what_is_refused_is_said_in_words_with_its_rule(visitor: Any) -> None:
    ada = visitor()
    ada.opens_a_table(seat2="me")
    ada.turn()
    ada.page.click("svg #fountain", force=True)  # the pointer does not heed aria-disabled
    assert ada.page.text_content("#toast").startswith("You have all your hit points.")
    ada.page.click("#toast a")
    ada.page.wait_for_url("**/rules/donjon@1#2.3.8")
    assert "Use a fountain" in ada.page.text_content(":target")


def test_a_hero_that_could_be_swapped_does_not_hide_its_tile(visitor: Any) -> None:
    ada = visitor()
    tile = next(filter(None, (side_by_side(ada) for _ in range(9))))  # a game may end before the heroes meet
    ada.page.click(f"svg #{tile}")
    assert ada.page.locator("dialog[open] .choices button").count() == 2


def side_by_side(ada: Any) -> str | None:
    """Xanros beside the other hero at a new table, free to step there: the other's tile. None: it came otherwise."""
    ada.goes("/").page.wait_for_selector("[name=choice-2-hero]")
    ada.page.select_option("[name=choice-1-hero]", "xanros")
    ada.page.select_option("[name=who-2]", "me")
    if ada.page.query_selector("[name=name]"):
        ada.page.fill("[name=name]", "Ada")
    ada.page.click("#create button.main")
    ada.page.wait_for_url("**/games/*")
    for number in range(60):  # the other hero steps aside, then it is the turn of Xanros
        ada.page.wait_for_function(SETTLED_OR_OVER)
        if not (targets := ada.targets()):
            return None
        tile: str = ada.page.evaluate(TILE_OF_THE_OTHER)
        if "hero-2" in targets and tile in targets:
            return tile
        xanros = ada.page.text_content("#status").startswith("Your turn: Xanros")
        tiles = [one for one in targets if one.startswith("tile-")]
        done = "next" in targets and (xanros or tile != "tile-0-0")
        ada.acts("next" if done else tiles[number % len(tiles)] if tiles else wish(targets, 0))
    return None


SETTLED_OR_OVER = "() => document.body.dataset.settled && document.querySelector('svg .target, #buttons a')"

TILE_OF_THE_OTHER = """() => {
  const said = document.querySelector('#hero-2').getAttribute('transform');
  const [, x, y] = /translate\\(([-\\d.]+) ([-\\d.]+)\\)/.exec(said);
  return `tile-${Math.floor(x / 100)}-${Math.floor(y / 100)}`;
}"""


def test_while_something_is_pending_the_frame_says_what_and_there_is_no_next(visitor: Any) -> None:
    ada = visitor()
    ada.opens_a_table(seat2="me")
    clicks = 0
    while "next" in (targets := ada.turn()):
        steps = [target for target in targets if target.startswith("tile-")]
        ada.acts(steps[clicks % len(steps)] if steps else "next")
        clicks += 1
    assert ada.page.query_selector("svg #next") is None
    assert "“Next” comes later: " in ada.page.text_content("#hint")
    assert ada.page.query_selector("#buttons button.main") is None


def test_a_table_is_played_by_keyboard(visitor: Any) -> None:
    ada = visitor()
    ada.opens_a_table(seat2="me")
    ada.turn()
    assert "Arrow keys move the hero" in ada.page.text_content("#list p")
    version = ada.settled()
    ada.page.keyboard.press("ArrowRight")  # the start tile is open on all sides
    version = ada.settled(version + 1)
    assert "tile-1-0" not in ada.targets()
    reached = []
    for _ in range(60):
        ada.page.keyboard.press("Tab")
        reached.append(ada.page.evaluate("document.activeElement.id"))
        if reached[-1] in ada.targets():
            break
    assert ada.page.evaluate("getComputedStyle(document.activeElement.querySelector('.ring')).strokeWidth") == "5px"
    ada.page.keyboard.press("Enter")
    ada.settled(version + 1)


# -- a connection that breaks ----------------------------------------------------------------------------------------


class Wire:
    """A way to the service that can be cut: what was open breaks, and what comes is turned away until it is mended."""

    def __init__(self, port: int) -> None:
        self.port, self.cut, self.swallow = port, False, False
        self.open: set[socket.socket] = set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.url = f"http://127.0.0.1:{self.listener.getsockname()[1]}"
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self) -> None:
        with suppress(OSError):
            while True:
                near, _ = self.listener.accept()
                if self.cut:
                    near.close()
                    continue
                far = socket.create_connection(("127.0.0.1", self.port))
                self.open |= {near, far}
                threading.Thread(target=self._copy, args=(near, far, False), daemon=True).start()
                threading.Thread(target=self._copy, args=(far, near, True), daemon=True).start()

    def _copy(self, source: socket.socket, target: socket.socket, answers: bool) -> None:
        with suppress(OSError):
            while data := source.recv(65536):
                if answers and self.swallow and b"201" in data[:16]:
                    self.breaks()  # it was done, and its answer is lost
                    return
                target.sendall(data)
        self._end(source, target)

    def _end(self, *sockets: socket.socket) -> None:
        for one in sockets:
            with suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
            self.open.discard(one)

    def breaks(self) -> None:
        self.cut = True
        self._end(*self.open)

    def mends(self) -> None:
        self.swallow = self.cut = False

    def close(self) -> None:
        self.listener.close()
        self.breaks()


@pytest.fixture
def wire(server: str) -> Iterator[Wire]:
    made = Wire(int(server.rpartition(":")[2]))
    yield made
    made.close()


def told(visitor: Any, event: int) -> None:
    """Wait until an event was told."""
    visitor.page.wait_for_function(
        "last => document.querySelector('#log li:last-child a')?.textContent === last", arg=str(event)
    )


def broken(message: str) -> bool:
    """What a browser itself says of a connection that breaks."""
    return "net::ERR" in message


def test_a_dropped_connection_is_told_and_resumes_without_gap_or_repeat(visitor: Any, wire: Wire, server: str) -> None:
    ada, eve = visitor(), visitor(wire.url, broken)
    path = ada.opens_a_table(seat2="me")
    version = ada.settled()
    eve.goes(path).settled(version)
    wire.breaks()
    eve.page.wait_for_selector("#lost:not([hidden])")
    for _ in range(3):
        version = ada.acts(next(one for one in (*FIRST, *ada.targets()) if one in ada.targets()))
    wire.mends()
    eve.settled(version)
    eve.page.wait_for_selector("#lost", state="hidden")
    told(eve, version)
    assert eve.log == list(range(eve.log[0], version + 1))


def test_what_happens_while_earlier_events_are_still_awaited_is_shown(visitor: Any) -> None:
    ada, eve = visitor(), visitor()
    path = ada.opens_a_table(seat2="me")
    version = ada.settled()
    held: list[Any] = []
    eve.page.route("**/events?after=*&limit=*", lambda route: held.append(route))
    eve.goes(path).settled(version)
    assert eve.log == []
    version = ada.acts(next(one for one in (*FIRST, *ada.targets()) if one in ada.targets()))
    held.pop().continue_()
    eve.settled(version)
    told(eve, version)


COMES_BACK = "() => dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))"


def test_a_table_that_was_left_and_is_come_back_to_goes_on(visitor: Any) -> None:
    """As browsers keep a page for who goes back to it; those of the tests do not."""
    ada, eve = visitor(), visitor()
    path = ada.opens_a_table(seat2="me")
    version = ada.settled()
    eve.goes(path).settled(version)
    told(eve, version)
    eve.page.evaluate("() => dispatchEvent(new PageTransitionEvent('pagehide', { persisted: true }))")
    version = ada.acts(next(one for one in (*FIRST, *ada.targets()) if one in ada.targets()))
    eve.page.evaluate(COMES_BACK)
    eve.settled(version)
    told(eve, version)
    assert eve.log == sorted(set(eve.log))


def test_the_lobby_that_is_come_back_to_lists_what_is_new_and_opens_another_table(visitor: Any) -> None:
    ada = visitor()
    path = ada.opens_a_table(seat2="me")
    ada.goes("/").page.wait_for_selector(f"#mine a[href='{path}']")
    ada.page.evaluate(
        """() => {
          document.querySelector('#create button.main').disabled = true; // as when it was left
          document.querySelector('#mine').replaceChildren();
        }"""
    )
    ada.page.evaluate(COMES_BACK)
    ada.page.wait_for_selector(f"#mine a[href='{path}']")
    assert not ada.page.is_disabled("#create button.main")


def test_a_page_that_is_told_to_ask_later_asks_again(visitor: Any) -> None:
    ada = visitor()
    path = ada.opens_a_table(seat2="me")
    version = ada.settled()
    eve = visitor(calm=lambda message: "429" in message)
    later = iter([{"status": 429, "headers": {"Retry-After": "1"}, "content_type": "application/problem+json"}])

    def answer(route: Any) -> None:
        if told := next(later, None):
            route.fulfill(body='{"title": "Too many requests"}', **told)
        else:
            route.continue_()

    eve.page.route("**/positions/*.svg*", answer)
    eve.goes(path).settled(version)
    assert next(later, None) is None
    assert eve.page.is_hidden("#lost")


def test_an_action_whose_answer_is_lost_is_done_once(visitor: Any, wire: Wire, server: str) -> None:
    ada = visitor(wire.url, broken)
    path = ada.opens_a_table(seat2="me")
    before = ada.settled()
    wire.swallow = True
    ada.page.click("svg #tile-1-0")
    ada.page.wait_for_selector("#lost:not([hidden])")
    assert httpx.get(f"{server}/v1{path}").json()["version"] == before + 1
    wire.mends()
    assert ada.settled(before + 1) == before + 1
    ada.page.wait_for_selector("#lost", state="hidden")
    told(ada, before + 1)
    assert ada.log[-2:] == [before, before + 1]
    assert httpx.get(f"{server}/v1{path}").json()["version"] == before + 1


# -- the replay room -------------------------------------------------------------------------------------------------


def position(page: Any, number: int) -> None:
    page.wait_for_function("at => document.querySelector('#scrubber').value == at", arg=str(number))


def test_a_replay_is_stepped_through_by_keyboard_and_tells_nothing_too_early(
    visitor: Any, finished: str, server: str
) -> None:
    page = visitor().goes(f"/games/{finished}/at/20").page
    end = httpx.get(f"{server}/v1/games/{finished}").json()["version"]
    position(page, 20)
    page.keyboard.press("ArrowRight")
    position(page, 21)
    page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowLeft")
    position(page, 19)
    page.keyboard.press("Home")
    position(page, 1)
    page.keyboard.press("End")
    position(page, 21)  # the last that was seen
    assert page.get_attribute("#scrubber", "max") == "21"
    assert str(end) not in page.text_content("#number")
    steps = httpx.get(f"{server}/v1/games/{finished}/replay?limit=21&spoilers=1").json()["steps"]
    assert 0 < page.locator("#log li").count() <= len(steps), "lines of what came later"
    page.keyboard.press(" ")
    page.wait_for_function("() => Number(document.querySelector('#scrubber').value) > 22")
    page.keyboard.press(" ")
    page.check("#spoilers")
    page.locator("#scrubber").focus()
    page.keyboard.press("End")
    position(page, end)
    page.wait_for_url(f"{server}/games/{finished}/at/{end}")
    assert page.is_disabled("#forward")
    page.click("#chapters li:first-child button")
    page.wait_for_function("end => Number(document.querySelector('#scrubber').value) < end", arg=end)


def test_a_replay_goes_from_fight_to_fight(visitor: Any, finished: str) -> None:
    page = visitor().goes(f"/games/{finished}/replay").page
    page.wait_for_selector("#board")
    page.select_option("#by", "fight")
    for _ in range(3):
        before = page.input_value("#scrubber")
        page.click("#forward")
        page.wait_for_function("before => document.querySelector('#scrubber').value != before", arg=before)
        assert page.query_selector("#panel #fight") is not None


def test_a_game_is_played_on_from_a_moment(visitor: Any, finished: str) -> None:
    ada = visitor()
    ada.opens_a_table(seat2="me")
    page = ada.goes(f"/games/{finished}/at/30").page
    position(page, 30)
    page.click("#fork")
    page.click("dialog .choices button")
    page.wait_for_url(lambda url: url.rstrip("/").endswith(tuple("0123456789abcdef")) and finished not in url)
    page.wait_for_selector("#seats li")


# -- every page, everywhere ------------------------------------------------------------------------------------------


def ready(page: Any, path: str) -> None:
    """The page shows what it has to show."""
    shown = {"/": "#finished li.game", "/audit": "#checks li", "/replay": "#board", "@1": "article h2"}
    page.wait_for_selector(
        next((what for end, what in shown.items() if path.endswith(end)), "#board, .games li, #seats li")
    )


PATHS = ("/", "/games/{}", "/games/{}/replay", "/games/{}/audit", "/rules/donjon@1", "/players/me")


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_every_page_speaks_its_language_and_fits_a_phone(visitor: Any, finished: str, language: str) -> None:
    ada = visitor(viewport={"width": 360, "height": 740})
    ada.opens_a_table(seat2="me")
    ada.turn()
    me, playing = ada.page.get_attribute("body", "data-me"), ada.page.url.removeprefix(ada.server)
    waiting = ada.opens_a_table(seat2="friend")
    delving = ada.opens_a_table(seats=1, game="dungeon-roll@1")
    ada.acts("begin")
    for template in (*PATHS, playing, waiting, delving):
        path = template.format(finished).replace("/players/me", f"/players/{me}")
        ada.goes(f"{path}?lang={language}")
        ready(ada.page, path)
        assert ada.page.get_attribute("html", "lang") == language
        assert ada.page.evaluate("document.documentElement.scrollWidth") <= 360, path
        assert not re.search(r"\bweb\.|undefined|\{\w+\}", ada.page.inner_text("body")), path
        nameless = ada.page.evaluate(NAMELESS)
        assert nameless == [], path
        assert ada.page.evaluate(MISSHAPEN) == [], path
        ada.page.keyboard.press("Tab")
        assert ada.page.evaluate("document.activeElement.className") == "skip", path


def test_text_can_be_read_in_light_and_dark(visitor: Any, finished: str) -> None:
    """Contrast of text to what is behind it, at least 4.5 to 1 (WCAG 1.4.3)."""
    for scheme in ("light", "dark"):
        for template in PATHS[:-1]:
            one = visitor(color_scheme=scheme).goes(template.format(finished))
            ready(one.page, template)
            assert one.page.evaluate(CONTRAST) == [], (scheme, template)


MISSHAPEN = """() => {
  const all = selector => [...document.querySelectorAll(selector)], wrong = [], ids = new Set();
  const bad = (what, one) => wrong.push(`${what}: ${one.outerHTML.slice(0, 90)}`);
  for (const one of all('[id]')) ids.has(one.id) ? bad('the same id twice', one) : ids.add(one.id);
  for (const one of all('[aria-labelledby], label[for], output[for]')) {
    const names = (one.getAttribute('aria-labelledby') ?? one.getAttribute('for')).split(' ');
    if (names.some(name => !ids.has(name))) bad('refers to nothing', one);
  }
  for (const one of all('[tabindex]')) if (one.tabIndex > 0) bad('before its place in the order', one);
  for (const one of all('img:not([alt])')) bad('no words for it', one);
  for (const one of all('li')) if (!one.parentElement.matches('ul:not([role]), ol:not([role])')) bad('in no list', one);
  for (const one of all('th')) if (!one.textContent.trim()) bad('a heading of nothing', one);
  let level = 0;
  for (const one of all('h1, h2, h3, h4, h5, h6')) {
    if (!one.checkVisibility()) continue;
    if (Number(one.tagName[1]) > level + 1) bad('a level was left out', one);
    level = Number(one.tagName[1]);
  }
  if (all('h1').length !== 1 || all('main').length !== 1) wrong.push('not one title, one main part');
  return wrong;
}"""

NAMELESS = """() => [...document.querySelectorAll('a, button, input, select, svg [role=button]')]
  .filter(one => one.checkVisibility())
  .filter(one => !one.textContent.trim() && !one.getAttribute('aria-label') && !one.labels?.length && !one.title)
  .map(one => one.outerHTML.slice(0, 120))"""

CONTRAST = """() => {
  const rgb = text => { const found = text.match(/[\\d.]+/g).map(Number); return [...found, 1].slice(0, 4); };
  const linear = v => v <= .04045 ? v / 12.92 : ((v + .055) / 1.055) ** 2.4;
  const light = ([r, g, b]) => .2126 * linear(r / 255) + .7152 * linear(g / 255) + .0722 * linear(b / 255);
  const behind = one => {
    for (let at = one; at; at = at.parentElement) {
      const colour = rgb(getComputedStyle(at).backgroundColor);
      if (colour[3] === 1) return colour;
    }
    return [255, 255, 255, 1];
  };
  const poor = [];
  for (const one of document.querySelectorAll('body *')) {
    const style = getComputedStyle(one);
    if (one.closest('svg') || one.disabled || !one.checkVisibility() || parseFloat(style.fontSize) < 2) continue;
    if (![...one.childNodes].some(node => node.nodeType === 3 && node.data.trim())) continue;
    const [a, b] = [light(rgb(style.color)), light(behind(one))].sort((x, y) => y - x);
    const ratio = (a + .05) / (b + .05);
    if (ratio < 4.5) poor.push(`${ratio.toFixed(2)} ${one.outerHTML.slice(0, 90)}`);
  }
  return poor;
}"""


@pytest.mark.parametrize("template", [*PATHS[:-1], "/games/{}/at/half", "/rules/dungeon-roll@1", "/docs"])
def test_a_page_weighs_less_than_150_kilobytes(visitor: Any, service: Served, template: str) -> None:
    """All that travels, with what the API answers, until the page of the longest game is there and has looked ahead."""
    game = max(service.finished(), key=lambda one: int(one["version"]))
    one, weight = visitor(), list[int]()
    one.page.on("requestfinished", lambda request: weight.append(request.sizes()["responseBodySize"]))
    path = template.format(game["game_id"]).replace("half", str(game["version"] // 2))
    one.goes(path)
    one.page.wait_for_selector("#said:not(:empty)" if "/at/" in path else "main")
    if path != "/docs":
        ready(one.page, path)
    if template == "/games/{}":
        one.page.wait_for_selector(f"#checked [data-checked='{game['version']}']")
    one.page.wait_for_load_state("networkidle")
    assert 10_000 < sum(weight) < 150_000


SPY = """() => {
  const old = Element.prototype.animate;
  window.moved = [];
  Element.prototype.animate = function (...how) { window.moved.push(this.id); return old.apply(this, how); };
}"""


def test_moving_is_shown_unless_the_reader_wants_stillness(visitor: Any) -> None:
    for still in (True, False):
        ada = visitor(still=still)
        ada.opens_a_table(seat2="me")
        ada.settled()
        ada.page.evaluate(SPY)
        ada.acts("tile-1-0")
        moved = ada.page.evaluate("window.moved")
        assert bool(moved) is not still
        assert all(part.startswith("hero-") for part in moved)
        if still:
            assert ada.page.evaluate("document.getAnimations().length") == 0
