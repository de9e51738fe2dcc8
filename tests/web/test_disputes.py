"""Whole disputes in the browser: two players and an auditor, each in their language, and the page that prints."""

import os
import re
from pathlib import Path
from typing import Any

import httpx
import pytest

from bench.servers import Served
from service import app
from service.web import pages, rules_text
from tests.web.test_browser import CONTRAST, NAMELESS

EN, FR, JA = (pages.spoken(language) for language in ("en", "fr", "ja"))


def guest(one: Any, name: str) -> str:
    """Become a guest by the lobby's own call: the id."""
    one.goes("/")
    made = one.page.evaluate("name => import('/static/api.mjs').then(api => api.call('/session', { name }))", name)
    return str(made["player_id"])


@pytest.fixture
def audrey(visitor: Any, service: Served) -> Any:
    """An auditor, who reads Japanese."""
    one = visitor(locale="ja-JP")
    service.grant(guest(one, "Audrey"), "auditor")
    return one


def two_at_play(visitor: Any) -> tuple[Any, Any, str, int]:
    """Ada reads English, Bob French; they have played a little: both, the table's path, its last event."""
    ada, bob = visitor(), visitor(locale="fr-FR", calm=lambda message: "409" in message)
    path = ada.opens_a_table(seat2="friend")
    bob.goes(path).page.fill("#seats input[maxlength]", "Bob")
    bob.page.click("#seats button.main")
    ada.page.wait_for_selector("#seats >> text=Bob")
    ada.page.click("#seats button.main")
    for one in (ada, bob):
        one.page.wait_for_selector("#board")
        one.settled(1)
    mover = ada if ada.targets() else bob
    return ada, bob, path, mover.acts(next(target for target in mover.targets() if target.startswith("tile-")))


def opened(one: Any, path: str, event: int, text: str) -> str:
    """Dispute an event on the page of the audit: the path of the dispute."""
    page = one.goes(f"{path}/audit?event={event}").page
    page.wait_for_selector("#pair img")
    assert page.input_value("#dispute [name=event]") == str(event)
    page.fill("#dispute textarea", text)
    page.click("#dispute button.main")
    page.wait_for_url("**/cases/*")
    page.wait_for_selector("#statements blockquote")
    return str(page.url).removeprefix(one.server)


def answered(one: Any, case: str, text: str) -> None:
    page = one.goes(case).page
    page.fill("#answer textarea", text)
    page.click("#answer button.main")
    page.wait_for_selector("body[data-state=answered]")


def ruled(one: Any, case: str, ruling: str, reasons: str) -> None:
    page = one.goes(case).page
    page.check(f"#judge [value={ruling}]")
    page.fill("#judge textarea", reasons)
    page.click("#judge button.main")
    page.wait_for_selector("body[data-state=closed]")


def seen(page: Any) -> None:
    """Both pictures are there, everything has a name and can be read, nothing is as wide as to be scrolled."""
    page.wait_for_function(
        "() => { const all = [...document.images]; return all.every(one => one.complete && one.naturalWidth); }"
    )
    assert page.locator("#pair img").count() == 2
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(CONTRAST) == []
    assert page.locator("h1").count() == 1
    assert page.locator(".cited p").count() >= page.locator(".cited").count() > 0
    assert not re.search(r"\bweb\.|undefined|null|\{\w+\}", page.inner_text("main"))


def test_a_whole_dispute_by_two_browsers_and_an_auditor_each_in_their_language(visitor: Any, audrey: Any) -> None:
    ada, bob, path, event = two_at_play(visitor)
    case = opened(ada, path, event, "That was <b>my</b> turn.\nLook.")
    assert EN["case.open"] in ada.page.inner_text("#state")
    assert ada.page.inner_text("#statements blockquote") == "That was <b>my</b> turn.\nLook."
    assert not ada.page.is_visible("#answer")
    assert not ada.page.is_visible("#judge")
    assert ada.page.is_visible("#withdraw")
    seen(ada.page)

    answered(bob, case, "Non.")
    assert FR["case.answered"] in bob.page.inner_text("#state")
    assert bob.page.evaluate("document.activeElement.id") == "state"
    assert bob.page.inner_text(".cited h4").startswith("2.")  # the paragraph that a step follows
    seen(bob.page)

    desk = audrey.goes("/desk").page
    desk.click(f"#cases a[href='{case}']")
    desk.wait_for_selector("#statements blockquote")
    assert JA["case.answered"] in desk.inner_text("#state")
    assert desk.locator("#statements blockquote").all_inner_texts() == ["That was <b>my</b> turn.\nLook.", "Non."]
    seen(desk)
    desk.check("#judge [value=resume]")
    assert desk.input_value("#judge [name=version]") == str(event - 1)
    ruled(audrey, case, "resume", "手番が違います。")
    assert JA["ruling.resume"] in desk.inner_text("#ruling")
    assert "手番が違います。" in desk.inner_text("#ruling")
    assert desk.inner_text("#counts") == JA["status.void"]
    assert not desk.is_visible("#judge")
    resumed = desk.get_attribute("#ruling a", "href")
    assert f"annals.notes.{case.rpartition('/')[2]}" in desk.evaluate("Object.keys(localStorage)")  # the receipt

    page = bob.goes(path).page  # everywhere, what counts is said
    assert FR["effective.resume"] in page.inner_text(".ruled")
    assert page.get_attribute(".ruled a >> nth=0", "href") == case
    page.click(f".ruled a[href='{resumed}']")
    page.wait_for_selector("#board")
    page = ada.goes(f"/players/{ada.page.get_attribute('body', 'data-me')}").page
    page.wait_for_selector(f"li.game a[href^='{path}']")
    assert EN["effective.resume"] in page.inner_text(f"li.game a[href^='{path}'] >> nth=0")
    page = ada.goes(f"{path}/audit").page
    page.wait_for_selector(f"#cases a[href='{case}']")
    assert EN["ruling.resume"] in page.inner_text("#cases")


def test_a_dispute_is_withdrawn_and_its_text_erased_by_who_wrote_it(visitor: Any) -> None:
    ada, bob, path, event = two_at_play(visitor)
    ada.goes(f"{path}/at/{event}").page.wait_for_selector("#board")
    ada.page.wait_for_selector(f"#dispute[href$='event={event}']")
    ada.page.set_viewport_size({"width": 360, "height": 740})
    assert ada.page.evaluate("document.documentElement.scrollWidth") <= 360
    ada.page.click("#dispute")  # from the replay room
    ada.page.wait_for_selector("#pair img")
    case = opened(ada, path, event, "My mistake?")
    eve = visitor().goes(case).page
    eve.wait_for_selector("#statements .statement")
    assert EN["dispute.hidden"] in eve.inner_text("#statements")
    assert "My mistake?" not in eve.content()
    assert not eve.is_visible("#answer")
    page = bob.goes(f"{path}/audit?event={event}").page  # an event is disputed once: who comes second is led there
    page.wait_for_selector("#pair img")
    page.fill("#dispute textarea", "Moi aussi.")
    page.click("#dispute button.main")
    page.click(f"#toast a[href='{case}']")
    page.wait_for_selector("#answer textarea")
    for button, state in (("#withdraw", "closed"), (".statement button", "closed")):
        ada.page.click(button)
        ada.page.click("dialog .choices button")
        ada.page.wait_for_selector(f"body[data-state={state}]")
    ada.page.wait_for_selector(f"text={EN['dispute.erased']}")
    assert EN["case.withdrawn"] in ada.page.inner_text("#state")
    bob.goes(case).page.wait_for_selector("#statements .statement")
    assert FR["dispute.erased"] in bob.page.inner_text("#statements")


def played_alone(server: str, until: int = 10_000, **options: bool) -> tuple[str, dict[str, str]]:
    """A game that Ada plays to its end, or for some turns, with herself, by the API: its id, and how she calls."""
    made = httpx.post(f"{server}/v1/players", json={"name": "Ada"}).json()
    sent = {"Authorization": f"Bearer {made['token']}"}
    with httpx.Client(base_url=server, headers=sent) as ada:
        table = {"ruleset": "donjon@1", "seats": 2, "options": {"stalemate_rounds": 3, **options}}
        path = f"/v1/games/{ada.post('/v1/games', json=table).json()['game_id']}"
        ada.post(f"{path}/seats", json={}).raise_for_status()
        ada.post(f"{path}/start", json={}).raise_for_status()
        while (game := ada.get(path).json())["status"] == "playing" and (until := until - 1):
            act = {"action": {"type": "end-turn"}, "expected_version": game["version"]}
            ada.post(f"{path}/actions", json=act).raise_for_status()
    return path.rpartition("/")[2], sent


def test_a_result_is_corrected_by_an_auditor_and_shown_as_what_counts(visitor: Any, audrey: Any, server: str) -> None:
    game, sent = played_alone(server)
    body = {"event": 7, "text": "Nobody counted my gold."}
    case = httpx.post(f"{server}/v1/games/{game}/disputes", json=body, headers=sent).json()
    page = audrey.goes(f"/cases/{case['case_id']}?lang=en").page
    page.check("#judge [value=correct]")
    page.check("#judge [name=winner][value='2']")
    page.fill("#judge [name=score] >> nth=1", "5")
    page.fill("#judge textarea", "The gold lies in the record.")
    page.click("#judge button.main")
    page.wait_for_selector("body[data-state=closed]")
    assert "0 : 5" in page.inner_text("#counts")
    assert "0 : 0" in page.inner_text("#recorded")
    seen(page)
    effective = httpx.get(f"{server}/v1/games/{game}").json()["effective"]
    assert effective["outcome"]["winners"] == [2]
    page = visitor().goes(f"/games/{game}").page
    assert EN["effective.correct"] in page.inner_text(".ruled")
    page.goto(f"{server}/games/{game}/replay")
    assert "won by" not in page.inner_text(".ruled")  # nothing is told before it is asked for


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_a_dispute_prints_on_paper_and_fits_a_phone(visitor: Any, server: str, tmp_path: Path, language: str) -> None:
    game, sent = played_alone(server)
    body = {"event": 7, "text": "Nobody counted my gold. " * 20}
    case = httpx.post(f"{server}/v1/games/{game}/disputes", json=body, headers=sent).json()["case_id"]
    one, weight = visitor(viewport={"width": 360, "height": 740}, color_scheme="dark"), list[int]()

    def came(request: Any) -> None:
        if "/v1/" not in request.url:
            weight.append(request.sizes()["responseBodySize"])

    one.page.on("requestfinished", came)
    page = one.goes(f"/cases/{case}?lang={language}").page
    page.wait_for_selector("#around td")
    seen(page)
    assert 10_000 < sum(weight) < 150_000
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    page.emulate_media(media="print", color_scheme="light")
    for hidden in ("header", ".tabs", "#print", "#answer", "#judge"):
        assert not page.is_visible(hidden), hidden
    for shown in ("#pair img", "#statements", "#ruling", "#around", "#state"):
        assert page.is_visible(shown), shown
    folder = Path(os.environ.get("ANNALS_PRINTED", tmp_path))
    printed = page.pdf(path=folder / f"dispute-{language}.pdf", format="A4")
    assert printed.startswith(b"%PDF")
    assert 1 <= len(re.findall(rb"/Type\s*/Page\b", printed)) <= 3


def test_a_game_that_waits_for_a_ruling_says_so(server: str) -> None:
    game, sent = played_alone(server, until=2, dispute_pauses=True)
    said = httpx.get(f"{server}/games/{game}?lang=en").text
    assert EN["effective.paused"] not in said.partition("<main")[2]
    body = {"event": 5, "text": "Wait."}
    case = httpx.post(f"{server}/v1/games/{game}/disputes", json=body, headers=sent).json()["case_id"]
    said = httpx.get(f"{server}/games/{game}?lang=en").text.partition("<main")[2]
    assert f'<a href="/cases/{case}">{EN["effective.paused"]}</a>' in said


def test_an_open_table_says_that_a_dispute_pauses_it_and_when_it_does_no_more(visitor: Any, server: str) -> None:
    game, sent = played_alone(server, until=2, dispute_pauses=True)
    page = (one := visitor()).goes(f"/games/{game}").page
    one.settled()
    assert page.inner_text("#standing") == ""
    body = {"event": 5, "text": "Wait."}
    case = httpx.post(f"{server}/v1/games/{game}/disputes", json=body, headers=sent).json()["case_id"]
    looks = "() => { document.dispatchEvent(new Event('visibilitychange')); return %s; }"
    page.wait_for_function(looks % "document.querySelector('#standing a')")
    assert page.get_attribute("#standing a", "href") == f"/cases/{case}"
    assert page.inner_text("#standing") == EN["effective.paused"]
    assert httpx.post(f"{server}/v1/cases/{case}/withdraw", headers=sent).status_code == 200
    page.wait_for_function(looks % "!document.querySelector('#standing a')")


def test_whoever_reads_by_their_role_is_told_of_in_words_whatever_they_read() -> None:
    known = Path(pages.__file__).with_name("static").joinpath("case.mjs").read_text().partition("const READ =")[2]
    reading = {
        route.name for route in app.meta.everything.routes
        if route.method == "GET" and ("<id:game_id>" in route.path or "<id:case_id>" in route.path)
    }  # fmt: skip
    assert {name for name in reading if f'"{name}"' not in known.partition("};")[0]} == {"show_game", "show_table"}
    assert all(EN[f"read.{sort}"] for sort in re.findall(r"^  (\w+): \[", known.partition("};")[0], re.MULTILINE))


def test_the_desk_is_for_auditors_only(visitor: Any, audrey: Any) -> None:
    refused = visitor(calm=lambda message: "403" in message)
    guest(refused, "Eve")
    page = refused.goes("/desk").page
    assert page.title().startswith("This is for auditors")
    assert page.locator("header a[href='/desk']").count() == 0
    page = audrey.goes("/desk").page
    page.wait_for_selector("#cases li")
    page.select_option("#state", "closed")
    page.wait_for_function("text => !document.querySelector('#cases').innerText.includes(text)", arg=JA["loading"])
    assert page.evaluate(NAMELESS) == []
    assert page.evaluate(CONTRAST) == []
    assert page.get_attribute("header a[href='/desk']", "aria-current") == "page"


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_every_cited_paragraph_can_be_shown_by_itself(language: str) -> None:
    found = rules_text.paragraph("donjon@1", "2.3.8", language)
    assert found is not None
    title, said = found
    assert "/rules/donjon@1#2.3.8" in title
    assert "<p>" in said
    assert "<h" not in said
    assert rules_text.paragraph("donjon@1", "99.1", language) is None
