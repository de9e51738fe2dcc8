"""The rules of every game say the same in every language, paragraph by paragraph, and their pages can be read."""

import re
from collections import Counter
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import pytest

from engine.registry import RULESETS, game_name
from replay import catalogue
from replay.words import LANGUAGES, words
from service import rulebook
from service.web import rules_text

GAMES = sorted(set(map(game_name, RULESETS)))
TRANSLATED = [language for language in LANGUAGES if language != "en"]
TERMS = {
    game_name(rules.id): {
        message.removeprefix(f"{game_name(rules.id)}.term.")
        for message in catalogue.game(rules)
        if message.startswith(f"{game_name(rules.id)}.term.")
    }
    for rules in RULESETS.values()
}
UNSAID = {"phase-opening", "phase-choosing-hero", "phase-delve-start", "phase-discarding", "phase-game-over", "reserve"}
"""What the table calls moments and places that the rules need no word for."""


class Paragraph(NamedTuple):
    """What a translation must have in common with the English text."""

    level: int
    blocks: int
    items: int
    code: Counter[str]
    cited: Counter[str]
    pictures: list[str]
    rows: list[list[str]]
    """The cells of tables that are numbers or names of rulings."""


@cache
def source(game: str, language: str) -> str:
    return rulebook.path(game, language).read_text("utf-8")


@cache
def paragraphs(game: str, language: str) -> dict[str, Paragraph]:
    found: dict[str, Paragraph] = {}
    for part in re.split(r"^(?=#+ )", source(game, language), flags=re.MULTILINE):
        if heading := re.match(r"(#+) (\d+(?:\.\d+)*)(?=\s)", part):
            body = re.sub(r"^#+ [\d.]+ ", "", part)
            assert heading[2] not in found
            rows = [line for line in body.splitlines() if line.startswith("|")]
            said = "\n".join(line for line in body.splitlines() if not line.startswith("<!--"))
            found[heading[2]] = Paragraph(
                len(heading[1]),
                len(part.strip().split("\n\n")),
                sum(line.startswith("- ") for line in body.splitlines()),
                Counter(re.findall(r"`([^`]+)`", said)),
                Counter(re.findall(r"(?<![\w.+])\d+(?:\.\d+)+(?![\w%])", re.sub("`[^`]*`", "", said), re.ASCII)),
                re.findall(r"^<!-- picture: ([\w -]+?)(?:: .*)? -->$", body, re.MULTILINE),
                [re.findall(r"\| (?:\*\*)?([A-Z]?\d+)(?:\*\*)? (?=\|)", row) for row in rows],
            )
    return found


@pytest.mark.parametrize("language", TRANSLATED)
@pytest.mark.parametrize("game", GAMES)
def test_every_paragraph_is_there_in_every_language_with_the_same_names_numbers_and_pictures(
    game: str, language: str
) -> None:
    english, told = paragraphs(game, "en"), paragraphs(game, language)
    assert list(told) == list(english)
    for number, paragraph in english.items():
        assert told[number] == paragraph, number


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("game", GAMES)
def test_every_paragraph_that_a_happening_or_a_refusal_cites_is_there_in_every_language(
    game: str, language: str
) -> None:
    package = Path(rules_text.__file__).parents[2] / "engine" / game.replace("-", "_")
    source = "".join(path.read_text("utf-8") for path in package.glob("*.py"))
    cited = {happening.rule for rules in RULESETS.values() if game_name(rules.id) == game
             for happening in rules.happenings.values()}  # fmt: skip
    cited |= set(re.findall(r'"(\d+(?:\.\d+)+)"', source)) | {"0"}  # whatever looks like one
    assert len(cited) > 40
    assert cited <= set(paragraphs(game, language))


@pytest.mark.parametrize("game", GAMES)
def test_french_rules_break_no_line_before_their_marks(game: str) -> None:
    said = "\n".join(line for line in source(game, "fr").splitlines() if not line.startswith("|--"))
    said = re.sub(r"<!-- picture: [\w -]+?(?=:| -->)|`[^`]*`", "", said)
    assert not re.findall(r"[^|\n]* [;:!?»][^\n]*|.*« .*", said)


@pytest.mark.parametrize("game", GAMES)
def test_japanese_rules_have_no_western_commas_or_stops(game: str) -> None:
    said = re.sub(r"<!-- picture: [\w -]+?(?=:| -->)|`[^`]*`", "", source(game, "ja"))
    assert not re.findall(r".*[\u3040-\u9fff][,.;:!?()].*", said)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("game", GAMES)
def test_rules_use_the_words_of_the_games_catalogue(game: str, language: str) -> None:
    """Every thing and every power is called in the rules as it is on the table."""
    space = "" if language == "ja" else " "
    said = re.sub(r"\s+", space, source(game, language).lower())
    for name in TERMS[game] - UNSAID:
        term = words(language).term(name, game)
        assert term is not None
        assert re.sub(r"\s+", space, term.text.lower()) in said, term.text


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("game", GAMES)
def test_a_page_of_rules_is_whole(game: str, language: str) -> None:
    """Each id is there once, each link and drawing leads somewhere, and no picture is without words."""
    text = rules_text.rendered(game, language)
    assert text is not None
    assert text.language == language
    ids = re.findall(r' id="([^"]+)"', text.html)
    assert len(ids) == len(set(ids))
    assert set(re.findall(r' href="#([^"]+)"', text.html)) <= set(ids)
    sections = [entry.number for entry in text.contents]
    assert sections == [number for number in paragraphs(game, language) if "." not in number]
    assert {part.number for entry in text.contents for part in entry.below} <= set(ids)
    assert text.html.count("<svg ") - 1 >= sum(len(paragraph.pictures) for paragraph in paragraphs(game, "en").values())
    assert re.findall(r"<(?:h[1-6]|figcaption|span)[^>]*>\s*</", text.html) == []
    assert "<!--" not in text.html
    assert "&lt;" not in text.html


def test_where_a_line_of_japanese_is_broken_there_is_no_space() -> None:
    assert rules_text.to_html("一\n二（1.1）を\n`x`と\nabc\ndef") == "<p>一二（1.1）を<code>x</code>とabc def</p>"
    assert rules_text.to_html("## 1.1 あ\n\n1.1を") == (
        '<h2 id="1.1"><a class="anchor" href="#1.1">1.1</a> あ</h2>\n<p><a href="#1.1">1.1</a>を</p>'
    )


# -- in a browser ----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("ruleset", RULESETS)
def test_rules_can_be_read_on_a_phone(visitor: Any, ruleset: str, language: str) -> None:
    page = visitor(viewport={"width": 360, "height": 740}).goes(f"/rules/{ruleset}?lang={language}").page
    page.wait_for_selector("article h2")
    assert page.get_attribute("html", "lang") == language
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    too_wide = "all => all.filter(one => one.scrollWidth > one.clientWidth + 1).map(one => one.innerText.slice(0, 80))"
    assert page.eval_on_selector_all(".rules .wide", too_wide) == []
    page.click(".contents li:nth-child(4) summary")
    page.click(".contents li:nth-child(4) li:first-child a")
    assert re.fullmatch(r"#3\.\d", page.evaluate("location.hash"))
    assert page.evaluate("document.querySelector(':target').getBoundingClientRect().top") < 740


def test_a_link_names_the_paragraph_and_the_language_in_either_order(visitor: Any) -> None:
    page = visitor().goes("/rules/donjon@1#2.3.8?lang=fr").page
    page.wait_for_url("**/rules/donjon@1?lang=fr#2.3.8")
    page.wait_for_function("() => document.querySelector(':target')?.innerText.includes('fontaine')")
    page.click(".languages [lang=ja]")
    page.wait_for_url("**/rules/donjon@1?lang=ja#2.3.8")
    assert "泉" in page.inner_text(":target")


def test_every_step_of_a_replay_leads_to_the_rules_that_it_follows(visitor: Any, server: str, finished: str) -> None:
    steps = httpx.get(f"{server}/v1/games/{finished}/replay?limit=200&spoilers=1").json()["steps"]
    version = next(step["version"] for step in steps if step["rule"])
    rules = dict.fromkeys(step["rule"] for step in steps if step["version"] == version and step["rule"])
    page = visitor().goes(f"/games/{finished}/at/{version}").page
    page.wait_for_selector("#cited a")
    links = page.eval_on_selector_all("#cited a", "all => all.map(one => one.getAttribute('href'))")
    assert links == [f"/rules/donjon@1#{rule}" for rule in rules]
    page.click("#cited a:last-child")
    page.wait_for_selector(":target")
    assert page.evaluate("location.hash") == f"#{[*rules][-1]}"


def test_a_check_of_an_audit_leads_to_the_rule_that_was_broken(visitor: Any, finished: str) -> None:
    one = visitor()

    def refuted(route: Any) -> None:
        found = route.fetch().json()
        found["checks"][0] |= {"event": 7, "rule": "2.3.8"}
        route.fulfill(json=found)

    one.page.route("**/v1/games/*/audit*", refuted)
    page = one.goes(f"/games/{finished}/audit").page
    page.wait_for_selector("#checks a")
    links = page.eval_on_selector_all("#checks li:first-child a", "all => all.map(one => one.getAttribute('href'))")
    assert links == [f"/games/{finished}/at/7", "/rules/donjon@1#2.3.8"]
    assert page.inner_text("#checks li:first-child .section") == "docs/audit-bundle.md#container"
