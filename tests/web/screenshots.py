"""``make screenshots``: every page in light, dark and 360 px width, and in each language, as PNG files into a folder.

Starts a service of its own with the demo. What a person sees can only be judged by looking.
"""

import argparse
from collections.abc import Iterator
from io import BytesIO
from itertools import chain
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import httpx
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from bench.browser import launched
from bench.servers import Served, served
from service.web.session import COOKIE

VARIANTS: dict[str, dict[str, Any]] = {
    "light": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "light"},
    "dark": {"viewport": {"width": 1280, "height": 860}, "color_scheme": "dark"},
    "phone": {"viewport": {"width": 360, "height": 740}, "color_scheme": "light"},
}
LANGUAGES = {"light": "en", "dark": "fr", "phone": "ja"}


def disputed(service: Served) -> tuple[list[tuple[str, str, str]], list[str]]:
    """Two disputes, one ruled: name, path and what it shows, of each page; the tokens of an auditor and a party."""
    server = service.address

    def post(path: str, token: str, **body: Any) -> Any:
        sent = {"Authorization": f"Bearer {token}"} if token else {}
        answer = httpx.post(f"{server}{path}", json=body, headers=sent)
        answer.raise_for_status()
        return answer.json()

    ada, bob, audrey = (post("/v1/players", "", name=name) for name in ("Ada", "Bob", "Audrey"))
    service.grant(audrey["player_id"], "auditor")
    game = post("/v1/games", ada["token"], ruleset="donjon@1", seats=2, hero="tala")["game_id"]
    post(f"/v1/games/{game}/seats", bob["token"], hero="horan")
    post(f"/v1/games/{game}/start", ada["token"])
    for _ in range(8):
        shown = httpx.get(f"{server}/v1/games/{game}").json()
        mover = (ada, bob)[shown["to_act"][0] - 1]
        sent = {"Authorization": f"Bearer {mover['token']}"}
        legal = httpx.get(f"{server}/v1/games/{game}/actions", headers=sent).json()
        post(
            f"/v1/games/{game}/actions",
            mover["token"],
            action=legal["actions"][0]["action"],
            expected_version=legal["version"],
        )
    cases = []
    for event, said, replied in (
        (7, "My screen stood still: I did not see this.", "It was shown to both of us, at the same time."),
        (9, "The dice cannot have been fair three times over.", "They were fair to me, too."),
    ):
        opened = post(f"/v1/games/{game}/disputes", ada["token"], event=event, text=said)
        cases.append(f"/cases/{opened['case_id']}")
        post(f"/v1{cases[-1]}/answers", bob["token"], text=replied)
    reasons = "The event follows from the action that was signed, and its dice from the seeds committed to before."
    post(f"/v1{cases[0]}/ruling", audrey["token"], ruling="resume", text=reasons, version=6)
    shown_pages = [
        ("desk", "/desk", "#cases a"),
        ("dispute-ruled", cases[0], "#ruling blockquote"),
        ("dispute-open", cases[1], "#statements blockquote"),
        ("dispute-new", f"/games/{game}/audit?event=10", "#pair img"),
    ]
    return shown_pages, [audrey["token"], ada["token"]]


def shoot_disputes(browser: Browser, service: Served, folder: Path) -> Iterator[Path]:
    """The pages of disputes; and what they print."""
    shown_pages, (auditor, party) = disputed(service)
    for variant, how in VARIANTS.items():
        for name, path, shown in shown_pages:
            context = browser.new_context(reduced_motion="reduce", **how)
            token = party if name == "dispute-new" else auditor
            context.add_cookies([{"name": COOKIE, "value": token, "url": service.address}])
            page = context.new_page()
            page.goto(f"{service.address}{path}{'&' if '?' in path else '?'}lang={LANGUAGES[variant]}")
            page.wait_for_selector(shown)
            page.wait_for_load_state("networkidle")
            yield _taken(page, folder / f"{name}-{variant}.png", full=True)
            if name == "dispute-ruled":
                printed = folder / f"{name}-{LANGUAGES[variant]}.pdf"
                page.pdf(path=printed, format="A4")
                yield printed
            context.close()


def pages(server: str) -> dict[str, tuple[str, str]]:
    """Every page: its path, and what it shows once it is there."""
    games = httpx.get(f"{server}/v1/games?status=finished&limit=50").json()["games"]
    library = httpx.get(f"{server}/v1/library").json()["positions"]
    game = min(games, key=lambda one: one["version"])["game_id"]
    moments = {
        f"replay-{one['ruleset'].partition('@')[0]}-{one['state']}": (
            f"/games/{one['game_id']}/at/{one['version']}", "#board",
        )
        for one in library
    }  # fmt: skip
    return {
        "lobby": ("/", "#finished li.game"),
        "result": (f"/games/{game}", "#buttons a"),
        "audit": (f"/games/{game}/audit", "#checks li"),
        "rules": ("/rules/donjon@1", "article h2"),
        "rules-dungeon-roll": ("/rules/dungeon-roll@1", "article h2"),
        "not-found": (f"/games/{'0' * 32}", "h1"),
        **moments,
    }


def shoot(browser: Browser, server: str, folder: Path) -> Iterator[Path]:
    """Take them all: the path of each picture once it is there."""
    for variant, how in VARIANTS.items():
        context = browser.new_context(reduced_motion="reduce", **how)
        page = context.new_page()
        language = LANGUAGES[variant]
        for name, (path, shown) in pages(server).items():
            page.goto(f"{server}{path}?lang={language}")
            page.wait_for_selector(shown)
            page.wait_for_load_state("networkidle") if name != "result" else None
            yield _taken(page, folder / f"{name}-{variant}.png", full=variant == "phone")
        page.goto(f"{server}/?lang={language}")
        page.wait_for_selector("[name=who-2]")
        page.fill("[name=name]", "Ada")
        page.select_option("[name=seats]", "3")
        page.select_option("[name=who-3]", "friend")
        page.click("#create details summary")
        yield _taken(page, folder / f"create-{variant}.png", full=True)
        page.click("#create button.main")
        page.wait_for_selector("#seats li")
        yield _taken(page, folder / f"open-{variant}.png", full=variant == "phone")
        page.click("#seats .bar button.main")
        page.click("#seats > button.main")
        page.wait_for_selector("svg .target")
        for number in range(6):
            page.wait_for_function("() => document.body.dataset.settled && document.querySelector('svg .target')")
            before = page.get_attribute("body", "data-settled")
            targets = page.evaluate("[...document.querySelectorAll('svg .target')].map(one => one.id)")
            pending = [one for one in targets if not one.startswith(("tile-", "hero-")) and one != "next"]
            page.click(f"svg #{(pending or targets)[0]}")
            page.wait_for_function("before => (document.body.dataset.settled ?? before) !== before", arg=before)
            yield _taken(page, folder / f"table-{number}-{variant}.png", full=variant == "phone")
        page.goto(f"{server}/players/{page.get_attribute('body', 'data-me')}")
        page.wait_for_selector("li.game")
        yield _taken(page, folder / f"player-{variant}.png", full=False)
        context.close()


# -- the README's ----------------------------------------------------------------------------------------------------


def moment(service: Served, ruleset: str, phase: str, share: float) -> tuple[str, int]:
    """A position in this phase, about ``share`` of the way through the longest game of the demo: game and number."""
    game = max(service.finished(ruleset), key=lambda one: int(one["version"]))
    near = sorted(range(5, game["version"]), key=lambda n: abs(n - share * game["version"]))
    address = f"{service.address}/v1/games/{game['game_id']}/positions"
    states = ((n, httpx.get(f"{address}/{n}").json()["state"]) for n in near)
    return game["game_id"], next(n for n, state in states if state and state["phase"] == phase)


def played_on(service: Served, source: str, version: int) -> tuple[str, str]:
    """A game played on from there by somebody who holds all seats: its path, and the token."""
    ask = httpx.Client(base_url=service.address)
    made = ask.post("/v1/players", json={"name": "Ada"}).json()
    sent = {"Authorization": f"Bearer {made['token']}"}
    game = ask.post(f"/v1/games/{source}/forks", json={"version": version}, headers=sent).json()
    path = f"/v1/games/{game['game_id']}"
    for _ in game["seats"][1:]:
        ask.post(f"{path}/seats", json={}, headers=sent).raise_for_status()
    ask.post(f"{path}/start", headers=sent).raise_for_status()
    return f"/games/{game['game_id']}", made["token"]


def shoot_readme(browser: Browser, service: Served, folder: Path) -> Iterator[Path]:
    """The few that the README shows, as WebP."""
    fight, explored = (moment(service, "donjon@1", *at) for at in (("combat-decision", 0.3), ("exploring", 0.4)))
    delve, delved = (moment(service, "dungeon-roll@1", "monster", share) for share in (0.7, 0.4))
    (donjon, ada), (delving, eve) = played_on(service, *fight), played_on(service, *delve)
    for name, variant, language, path, shown, token in (
        ("table-le-donjon", "light", "en", donjon, "svg .target", ada),
        ("table-dungeon-roll", "dark", "en", delving, "svg .target", eve),
        ("replay", "dark", "fr", "/games/{}/at/{}".format(*explored), "#log li", ""),
        ("audit", "light", "en", f"/games/{explored[0]}/audit", "#checks li", ""),
        ("phone", "phone", "ja", "/games/{}/at/{}".format(*delved), "#log li", ""),
    ):
        context = browser.new_context(reduced_motion="reduce", **VARIANTS[variant])
        if token:
            context.add_cookies([{"name": COOKIE, "value": token, "url": service.address}])
        page = context.new_page()
        page.goto(f"{service.address}{path}?lang={language}")
        page.wait_for_selector(shown)
        page.wait_for_function("() => document.fonts.status === 'loaded'")
        page.wait_for_selector("#checked [data-checked]" if token else shown)
        with Image.open(BytesIO(page.screenshot())) as taken:
            taken.save(folder / f"{name}.webp", quality=80, method=6)
        yield folder / f"{name}.webp"
        context.close()


def _taken(page: Any, path: Path, *, full: bool) -> Path:
    page.screenshot(path=path, full_page=full)
    return path


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tests.web.screenshots", description=__doc__)
    parser.add_argument("folder", type=Path)
    parser.add_argument("--readme", action="store_true", help="only those that the README shows")
    asked = parser.parse_args()
    asked.folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory() as kept, served(Path(kept), "--workers", "1") as service, sync_playwright() as playwright:
        service.with_demo()
        browser = launched(playwright)
        if asked.readme:
            taken = shoot_readme(browser, service, asked.folder)
        else:
            disputes = shoot_disputes(browser, service, asked.folder)
            taken = chain(disputes, shoot(browser, service.address, asked.folder))
        for path in taken:
            print(path)
        browser.close()


if __name__ == "__main__":
    main()
