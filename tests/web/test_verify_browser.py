"""The second verifier in a real browser: on the page of a game's audit, and on the edge cases of its Ed25519."""

import json
import zlib
from pathlib import Path
from typing import Any

import httpx
import pytest

from events.signing import verified
from service.web import pages
from tests.web.test_verify_js import VECTORS, published_signatures

LANGUAGES = ("en", "fr", "ja")


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_game_is_checked_in_the_browser(visitor: Any, finished: str, language: str) -> None:
    page = visitor().goes(f"/games/{finished}/audit?lang={language}").page
    page.wait_for_selector("#checks li")
    page.click("#check")
    page.wait_for_selector("#verdict[data-by='verify.mjs']")
    results = page.eval_on_selector_all(
        "#checks li", "all => all.map(one => one.querySelector('.result').classList[1])"
    )
    assert len(results) == 15
    assert "FAIL" not in results
    assert results[0] == "PASS"  # the manifest is signed
    said = pages.spoken(language)
    assert page.text_content("#verdict h2") == said["verdict.title.VERIFIED WITH LIMITS"]
    assert said["limit.rules-not-folded"] in page.inner_text("#limits")
    assert page.inner_text("#about") == said["audit.found-here"]
    assert said["verdict.title.VERIFIED WITH LIMITS"] in page.inner_text("#theirs")  # the server's stands beside
    assert said["result.NOT CHECKED"] in page.inner_text("#checks li:first-child strong .result")  # it opened no file


def test_a_policy_of_ones_own_is_believed_and_not_the_servers(visitor: Any, finished: str, tmp_path: Path) -> None:
    page = visitor().goes(f"/games/{finished}/audit?lang=en").page
    page.wait_for_selector("#checks li")
    (tmp_path / "policy").write_text("log nobody.example+0+0\nquorum none\n")
    page.set_input_files("#policy", tmp_path / "policy")
    page.click("#check")
    page.wait_for_selector("#verdict[data-by='verify.mjs']")
    assert page.text_content("#verdict h2") == pages.spoken("en")["verdict.title.UNDETERMINED"]


UNABLE = """
  const known = SubtleCrypto.prototype.importKey;
  SubtleCrypto.prototype.importKey = function (form, key, algorithm, ...how) {
    if (algorithm === "Ed25519") return Promise.reject(new DOMException("unrecognized", "NotSupportedError"));
    return known.call(this, form, key, algorithm, ...how);
  };
"""


def test_a_browser_that_cannot_check_signatures_says_so_and_accuses_nobody(visitor: Any, finished: str) -> None:
    ada, eve = visitor(), visitor()
    path = ada.opens_a_table(seat1="signing")
    ada.turn()
    unable = pages.spoken("en")["keys.unable"]
    eve.page.add_init_script(UNABLE)
    eve.goes(path).page.wait_for_function("said => document.querySelector('#checked').innerText === said", arg=unable)
    page = eve.goes(f"/games/{finished}/audit").page
    page.wait_for_selector("#checks li")
    page.click("#check")
    page.wait_for_selector("#toast:not([hidden])")
    assert page.text_content("#toast") == unable
    assert page.query_selector("#verdict[data-by]") is None


def test_page_and_program_say_the_same(visitor: Any, server: str, finished: str) -> None:
    page = visitor().goes("/").page
    found = page.evaluate(
        """async game => {
          const { verify } = await import("/static/verify.mjs");
          const get = async path => new Uint8Array(await (await fetch(path)).arrayBuffer());
          const found = await verify(await get(`/v1/games/${game}/bundle`), { policy: await get("/v1/log/policy") });
          return JSON.stringify(found, (_, value) => (typeof value === "bigint" ? String(value) : value));
        }""",
        finished,
    )
    verdict = json.loads(found)
    theirs = httpx.post(
        f"{server}/v1/audits",
        content=httpx.get(f"{server}/v1/games/{finished}/bundle").content,
        headers={"Content-Type": "application/zip"},
    ).json()
    assert (verdict["verdict"], verdict["code"]) == (theirs["verdict"], theirs["code"])
    known = [(check["id"], check["result"]) for check in theirs["checks"] if check["id"] != "V12"]
    assert [(check["id"], check["result"]) for check in verdict["checks"] if check["id"] != "V12"] == known


@pytest.mark.skipif(not VECTORS.is_dir(), reason="the published test vectors are not beside this checkout")
def test_the_browser_accepts_exactly_the_signatures_that_libsodium_accepts(visitor: Any) -> None:
    cases = [case for some in published_signatures().values() for case in some]
    answers = (
        visitor()
        .goes("/")
        .page.evaluate(
            """async cases => {
          const { ed25519, unhex } = await import("/static/verify.mjs");
          const answers = [];
          for (const case_ of cases) answers.push(await ed25519(...case_.map(unhex)));
          return answers;
        }""",
            [[part.hex() for part in case] for case in cases],
        )
    )
    assert answers == [verified(*case) for case in cases]
    assert len(cases) == 914 + 10 + 151


def test_the_browser_unpacks_what_zlib_packs_and_nothing_beside_it(visitor: Any) -> None:
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    text = b"the same, the same, the same " * 3000
    packed = packer.compress(text) + packer.flush()
    cases = [(packed, len(text)), (packed + b"\0", len(text)), (packed[:-1], len(text)), (b"", 0)]
    cases += [(packed, len(text) + more) for more in (-1, 1)]
    answers = (
        visitor()
        .goes("/")
        .page.evaluate(
            """async cases => {
          const { inflate, hex, unhex } = await import("/static/verify.mjs");
          return Promise.all(cases.map(([packed, size]) => inflate(unhex(packed), size).then(hex, () => null)));
        }""",
            [[packed.hex(), size] for packed, size in cases],
        )
    )
    assert answers == [text.hex(), None, None, None, None, None]
