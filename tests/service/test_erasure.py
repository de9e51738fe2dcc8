"""A person is forgotten, and no chain is touched: heads, bundles and verdicts are what they were."""

import io
import re
import zipfile
from contextlib import contextmanager
from typing import Any

import pytest
from click.testing import CliRunner

from service import cli, erasure
from service.api.meta import everything

ADA, AUDREY = "Ada Unforgettable", "Audrey Unforgettable"
SAID, RULED = "What I said in confidence.", "What I found in the end."


class Affair:
    """A game of Ada and Bob that is over, with a dispute of Ada's, answered by Bob and ruled by Audrey."""

    def __init__(self, house: Any) -> None:
        self.house = house
        self.ada, self.bob = house.player(ADA), house.player("Bob")
        self.audrey = house.player(AUDREY)
        house.deps.accounts.grant(bytes.fromhex(self.audrey.id), "auditor")
        self.second = self.ada.at(house.nobody)
        self.second.token = self.ada.post("/v1/me/tokens").json["token"]
        self.table = self.ada.opens(options={"stalemate_rounds": 1})
        self.table.seat(self.bob)
        self.table.starts()
        while to_act := self.table.shown()["to_act"]:
            who = (self.ada, self.bob)[to_act[0] - 1]
            assert self.table.act({"type": "end-turn"}, self.table.version, who).status_code == 201
        made = self.ada.post(f"{self.table.path}/disputes", json={"event": 7, "text": SAID})
        self.case = f"/v1/cases/{made.json['case_id']}"
        assert self.bob.post(f"{self.case}/answers", json={"text": "Not so."}).status_code == 201
        ruled = self.audrey.post(f"{self.case}/ruling", json={"ruling": "uphold", "text": RULED})
        assert ruled.status_code == 201
        self.operator = house.auditor("operator")

    def record(self) -> dict[str, Any]:
        """All of the game and its dispute that must never change."""
        bundle = zipfile.ZipFile(io.BytesIO(self.bob.get(f"{self.table.path}/bundle").data))
        stored = {"Accept": "application/vnd.annals.events"}
        return {
            "version": self.table.shown(self.bob)["version"],
            "head": self.house.deps.log.head(bytes.fromhex(self.table.id)),
            "events": self.bob.get(f"{self.table.path}/events", stored).data,
            "verdict": self.bob.get(f"{self.table.path}/audit").json["verdict"],
            "case verdict": self.bob.get(f"{self.case}/audit").json["verdict"],
            "bundle": {name: bundle.read(name) for name in bundle.namelist()},
            "effective": self.table.shown(self.bob)["effective"],
        }

    def everything_said(self, who: Any, language: str = "en") -> str:
        """What every read of the API and every page answers about the game, the dispute and the players."""
        said = []
        values = {
            "game_id": self.table.id, "other_id": self.table.id, "case_id": self.case.rpartition("/")[2],
            "version": "7", "seq": "2", "ruleset": "donjon@1", "tile": "0/000.p/1", "code": "stale",
            "name": "style.css", "edition": "0",
        }  # fmt: skip
        for player in (self.ada.id, self.audrey.id):
            for route in everything.routes:
                if route.method == "GET" and route.name != "stream_me":
                    address = re.sub(r"{(\w+)}", lambda found: (values | {"player_id": player})[found[1]], route.template)  # noqa: B023, E501
                    address += {"show_why": "?path=seats/1", "show_consistency": "?from=1"}.get(route.name, "")
                    answer = who.get(address, {"Accept-Language": language})
                    assert answer.status_code < 500, address
                    said.append(answer.data.decode("utf-8", "replace"))
        said.append(who.get(f"{self.table.path}/events", {"Accept": "text/event-stream"}).text)
        return "\n".join(said)


@pytest.fixture
def affair(house: Any) -> Affair:
    return Affair(house)


def test_who_erases_themselves_is_in_no_answer_and_no_value_any_more_and_every_chain_is_whole(
    affair: Affair, refusal: Any
) -> None:
    before = affair.record()
    assert ADA in affair.everything_said(affair.bob)
    assert SAID in affair.everything_said(affair.bob)
    stored = affair.house.stored()
    assert ADA.encode() in stored
    assert SAID.encode() in stored
    assert affair.ada.delete("/v1/me").status_code == 204
    after = affair.record()
    assert after == before
    assert len(after["bundle"]) > 3
    for who in (affair.bob, affair.operator, affair.house.nobody, affair.bob.at(affair.house.worker())):
        said = affair.everything_said(who)
        assert ADA not in said
        assert "Unforgettable" not in said.replace(AUDREY, "")
        assert SAID not in said
    stored = affair.house.stored()
    assert ADA.encode() not in stored
    assert SAID.encode() not in stored
    for one in (affair.ada, affair.second):
        assert refusal(one.get("/v1/me")) == "401 token-invalid"
        assert refusal(one.at(affair.house.worker()).get("/v1/me")) == "401 token-invalid"
    assert affair.house.nobody.get(f"/players/{affair.ada.id}").status_code == 404
    assert affair.house.nobody.get(f"/v1/players/{affair.ada.id}/luck").status_code == 404


def test_an_auditor_who_is_erased_takes_along_what_they_wrote_and_the_ruling_stands(affair: Affair) -> None:
    before = affair.record()
    assert affair.audrey.delete("/v1/me").status_code == 204
    assert affair.record() == before
    said = affair.everything_said(affair.bob)
    assert RULED not in said
    assert AUDREY not in said
    assert RULED.encode() not in affair.house.stored()
    assert affair.bob.get(affair.case).json["ruling"] == "uphold"


def test_whoever_plays_on_plays_on_with_somebody_who_was_erased(house: Any) -> None:
    ada, bob = house.player(ADA), house.player("Bob")
    table = bob.opens()
    table.seat(ada)
    table.starts()
    assert ada.delete("/v1/me").status_code == 204
    while table.shown()["to_act"] == [1] and table.version < 40:
        assert table.first_legal().status_code == 201
    shown = table.shown()
    assert [seat["name"] for seat in shown["seats"]] == ["Bob", ""]
    assert bob.get(f"/games/{table.id}").status_code == 200
    assert bob.get(f"{table.path}/audit").json["verdict"] == "VERIFIED WITH LIMITS"


def test_an_erasure_that_was_interrupted_is_finished_by_the_next_try(
    affair: Affair, monkeypatch: pytest.MonkeyPatch
) -> None:
    from events.log import Unavailable

    def fails(*_: Any) -> Any:
        raise Unavailable("gone")

    with monkeypatch.context() as patch:
        patch.setattr(affair.house.deps.accounts, "erase", fails)
        assert affair.ada.delete("/v1/me").status_code == 503
    assert SAID.encode() not in affair.house.stored()
    assert affair.ada.get("/v1/me").json["name"] == ADA
    affair.house.redis.delete(f"{{s{affair.ada.id[0]}}}:player:{affair.ada.id}")
    assert affair.ada.get("/v1/me").status_code == 404
    assert affair.ada.get("/").status_code == 200
    assert affair.ada.delete("/v1/me").status_code == 204
    assert affair.ada.get("/v1/me").status_code == 401


def test_a_browser_forgets_its_cookie_with_the_player(house: Any) -> None:
    browser = house.nobody
    made = browser.post("/session", json={"name": ADA}).json
    assert browser.delete("/v1/me").status_code == 401  # without the header
    gone = browser.delete("/v1/me", {"X-CSRF-Token": made["csrf"]})
    assert gone.status_code == 204
    assert re.match(r"annals=; .*Max-Age=0; .*HttpOnly", gone.headers["Set-Cookie"])
    assert browser.client.get_cookie("annals") is None
    assert ADA.encode() not in house.stored()


def test_the_cookies_own_token_is_listed_and_revoked(house: Any) -> None:
    browser = house.nobody
    made = browser.post("/session", json={"name": "Ada"}).json
    (token,) = browser.get("/v1/me/tokens").json["tokens"]
    assert token["current"] is True
    path = f"/v1/me/tokens/{token['token_id']}"
    assert browser.delete(path).status_code == 401
    assert browser.delete(path, {"X-CSRF-Token": made["csrf"]}).status_code == 204
    assert browser.get("/v1/me").status_code == 401


def test_the_operator_erases_on_the_command_line(affair: Affair, monkeypatch: pytest.MonkeyPatch) -> None:
    @contextmanager
    def opened(_: Any) -> Any:
        yield affair.house.deps

    monkeypatch.setattr(cli, "_Opened", opened)
    before = affair.record()
    refused = CliRunner().invoke(cli.main, ["erase", affair.ada.id], input="n\n")
    assert refused.exit_code == 1
    assert affair.ada.get("/v1/me").status_code == 200
    done = CliRunner().invoke(cli.main, ["erase", affair.ada.id, "--yes"])
    assert done.output == "Forgotten, with 2 tokens and 1 texts.\n"
    assert affair.record() == before
    assert ADA.encode() not in affair.house.stored()
    again = CliRunner().invoke(cli.main, ["erase", affair.ada.id, "--yes"])
    assert again.exit_code != 0
    assert "there is no player" in again.output
    assert CliRunner().invoke(cli.main, ["erase", "Ada", "--yes"]).exit_code != 0


def test_every_page_of_a_players_games_is_looked_through(affair: Affair, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(erasure, "_PAGE", 1)
    for _ in range(2):
        affair.ada.opens()
    gone = erasure.forget(affair.house.deps, bytes.fromhex(affair.ada.id))
    assert (gone.texts, gone.tokens) == (1, 2)
