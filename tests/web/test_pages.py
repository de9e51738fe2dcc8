"""The pages as they are served: in three languages, refused in words, light, and with a policy that lets nothing in."""

import gzip
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from babel.messages.pofile import read_po
from flask.testing import FlaskClient

from engine.registry import RULESETS, game_name
from events.redis_client import ephemeral
from replay import words
from service.app import create_app
from service.bootstrap import bootstrap
from service.config import Config
from service.web import pages, rules_text

LOCALE = Path(pages.__file__).parents[1] / "locale"
STATIC = Path(pages.__file__).with_name("static")
TEMPLATES = Path(pages.__file__).with_name("templates")
LANGUAGES = ("en", "fr", "ja")


@pytest.fixture
def client() -> Iterator[FlaskClient]:
    deps = bootstrap(
        Config(keys=f"test={'11' * 32}", data=Path("/nonexistent/annals")), ephemeral(), lambda: 1_800_000_000_000
    )
    yield create_app(deps).test_client()
    deps.close()


@pytest.fixture
def game(client: FlaskClient) -> str:
    """A game at play, both seats held by the browser's guest."""
    csrf = client.post("/session", json={"name": "Ada <b>"}).json["csrf"]
    sent: Any = {"X-CSRF-Token": csrf}
    made = client.post("/v1/games", json={"ruleset": "donjon@1", "seats": 2, "hero": "tala"}, headers=sent).json
    path = f"/v1/games/{made['game_id']}"
    assert client.post(f"{path}/seats", json={"hero": "horan"}, headers=sent).status_code == 201
    assert client.post(f"{path}/start", json={}, headers=sent).status_code == 200
    return str(made["game_id"])


PATHS = (
    "/", "/games/{}", "/games/{}/replay", "/games/{}/at/3", "/games/{}/audit", "/rules/donjon@1",
    "/rules/dungeon-roll@1",
)  # fmt: skip


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("path", PATHS)
def test_a_page_speaks_its_language_and_lets_nothing_foreign_in(
    client: FlaskClient, game: str, path: str, language: str
) -> None:
    answer = client.get(f"{path.format(game)}?lang={language}")
    assert answer.status_code == 200, answer.text
    assert f'<html lang="{language}"' in answer.text
    assert not re.search(r"\bweb\.\w", answer.text)
    policy = answer.headers["Content-Security-Policy"]
    assert "default-src 'none'" in policy
    assert "unsafe" not in policy
    assert not re.search(r'<style| style="| on\w+="|<script(?! type="module" src="/static/)', answer.text)
    assert not re.search(r'(?:src|href)="(?!/|#)', answer.text)
    assert "<b>" not in answer.text.replace("<b></b>", "")
    assert client.get(path.format(game)).headers["Content-Language"] == language  # it is remembered


def test_what_is_not_there_is_said_on_a_page(client: FlaskClient) -> None:
    for path in (f"/games/{'ab' * 16}", f"/games/{'ab' * 16}/at/3", f"/players/{'ab' * 16}", "/rules/chess@1"):
        assert client.get(path).content_type == "application/problem+json"
        answer = client.get(path, headers={"Accept-Language": "fr", "Accept": "text/html,*/*;q=0.8"})
        assert answer.status_code == 404, path
        assert answer.content_type.startswith("text/html")
        assert '<html lang="fr"' in answer.text


def test_a_position_that_was_not_reached_has_no_page(client: FlaskClient, game: str) -> None:
    assert client.get(f"/games/{game}/at/500").status_code == 404


def test_a_private_table_has_a_page_for_its_players_only(client: FlaskClient) -> None:
    csrf = client.post("/session", json={"name": "Ada"}).json["csrf"]
    body = {"ruleset": "donjon@1", "seats": 2, "visibility": "private"}
    made = client.post("/v1/games", json=body, headers={"X-CSRF-Token": csrf}).json
    assert client.get(f"/games/{made['game_id']}").status_code == 200
    client.delete_cookie("annals")
    assert client.get(f"/games/{made['game_id']}").status_code == 404


def test_the_link_to_a_moment_carries_its_sentence_and_picture(client: FlaskClient, game: str) -> None:
    page = client.get(f"/games/{game}/at/2?lang=en").text
    tags = dict(re.findall(r'<meta property="og:([\w:]+)" content="([^"]*)"', page))
    assert tags["description"] == "Ada &lt;b&gt; takes seat 1 as Tala."
    assert "Le Donjon" in tags["title"]
    assert re.fullmatch(rf"http://localhost/v1/games/{game}/positions/2\.(png|svg)\?lang=en", tags["image"])
    picture = client.get(tags["image"].removeprefix("http://localhost"))
    assert picture.status_code == 200
    assert picture.content_type.startswith("image/")
    assert "immutable" in picture.headers["Cache-Control"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_message_is_there_in_every_language_with_the_same_facts(language: str) -> None:
    def read(spoken: str) -> dict[str, str]:
        with (LOCALE / spoken / "LC_MESSAGES" / "web.po").open("rb") as file:
            return {str(one.id): str(one.string) for one in read_po(file) if one.id}

    english, told = read("en"), read(language)
    assert told.keys() == english.keys()
    for message, text in told.items():
        assert text, message
        assert set(re.findall(r"{\w+}", text)) == set(re.findall(r"{\w+}", english[message])), message


def test_pages_and_scripts_say_only_what_there_are_words_for() -> None:
    known = set(pages.spoken("en"))
    for path in TEMPLATES.glob("*.html"):
        said = re.findall(r'words\.([a-z]\w*)|words\["([^"]+)"\]', path.read_text())
        assert {one or other for one, other in said} <= known, path.name
    for path in STATIC.glob("*.mjs"):
        said = re.findall(r'\bwords\.([a-z][\w]*)|words\["([^"]+)"\]|\bsay\("([^"]+)"', path.read_text())
        assert {a or b or c for a, b, c in said} <= known, path.name


@pytest.mark.parametrize("game", sorted(map(game_name, RULESETS)))
def test_every_rule_that_the_service_cites_is_an_anchor(game: str) -> None:
    text = rules_text.rendered(game, "en")
    assert text is not None
    anchors = set(re.findall(r' id="([\d.]+)"', text.html))
    package = Path(pages.__file__).parents[2] / "engine" / game.replace("-", "_")
    source = "".join(path.read_text() for path in package.glob("*.py"))
    cited = set(re.findall(r'(?:Illegal|Refusal)\([^()]*?"(\d+(?:\.\d+)+)"', source))
    assert cited
    assert cited <= anchors
    assert set(re.findall(r'href="#([\d.]+)"', text.html)) <= anchors


def test_rules_are_escaped() -> None:
    assert rules_text.to_html("a <b> & `<i>`\n\n| <u> | x |\n|---|---|\n| 1 | **2** |") == (
        "<p>a &lt;b&gt; &amp; <code>&lt;i&gt;</code></p>\n"
        '<div class="wide"><table><thead><tr><th scope="col">&lt;u&gt;</th><th scope="col">x</th></tr></thead>'
        "<tbody><tr><td>1</td><td><strong>2</strong></td></tr></tbody></table></div>"
    )


def test_every_ruleset_has_its_rules() -> None:
    for ruleset in RULESETS:
        assert rules_text.rendered(ruleset.partition("@")[0], "en") is not None


def test_static_files_are_ours_and_light(client: FlaskClient) -> None:
    weight: dict[str, int] = {}
    for path in STATIC.iterdir():
        answer = client.get(f"/static/{path.name}")
        assert answer.status_code == 200, path.name
        assert client.get(f"/static/{path.name}", headers={"If-None-Match": answer.headers["ETag"]}).status_code == 304
        assert not re.search(r"https?://(?!www\.w3\.org/)", answer.text), path.name
        packed = client.get(f"/static/{path.name}", headers={"Accept-Encoding": "gzip, br"})
        assert (packed.headers["Content-Encoding"], packed.headers["Vary"]) == ("gzip", "Accept-Encoding")
        assert gzip.decompress(packed.data) == answer.data
        assert packed.headers["ETag"] != answer.headers["ETag"]
        weight[path.name] = len(packed.data)
    assert weight["verify.mjs"] < 25_000
    assert sum(weight.values()) < 75_000
    assert client.get("/static/../pages.py").status_code == 404
    assert client.get("/static/nothing.mjs").status_code == 404


def test_a_worker_that_starts_has_at_hand_what_its_first_page_needs(
    client: FlaskClient, game: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    for known in (words.catalogue, words.words, pages.spoken, pages._packed_file):
        known.cache_clear()
    pages.warm(client.application)

    def read(*_: Any) -> Any:
        raise AssertionError("read while somebody waits")

    monkeypatch.setattr(words, "load", read)
    monkeypatch.setattr(client.application.jinja_env, "compile", read)
    monkeypatch.setattr(gzip, "compress", read)
    for path in (*PATHS[:5], *(f"/static/{name}" for name in ("replay.mjs", "style.css", "picture.css"))):
        for language in LANGUAGES:
            answer = client.get(f"{path.format(game)}?lang={language}", headers={"Accept-Encoding": "gzip"})
            assert answer.status_code == 200, answer.text
