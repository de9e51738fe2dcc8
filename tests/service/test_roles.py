"""Who may do what: every cell of the tables in docs/roles.md, played over REST."""

import re
from collections.abc import Callable, Iterator
from dataclasses import replace
from io import BytesIO
from pathlib import Path
from typing import Any

import pytest

from service import clerk
from service.proofs.sequencer import sequencer_of

ROLES = ("nobody", "another player", "seat", "creator", "auditor", "operator")
TEXT = (Path(__file__).parents[2] / "docs" / "roles.md").read_text()


def tables() -> Iterator[tuple[str, str, list[int]]]:
    """(section, call, status for each role) of every row."""
    for section in re.split(r"^## ", TEXT, flags=re.MULTILINE)[1:]:
        title, _, body = section.partition("\n")
        for row in re.findall(r"^\| (`.*) \|$", body, re.MULTILINE):
            call, *cells = row.split(" | ")
            yield title, call, [int(cell) for cell in cells]


ROWS = list(tables())
_HIDDEN = ("state", "state?seat=1", "actions", "events", "positions/0", "replay", "audit", "bundle")


def test_the_tables_have_a_column_for_each_role() -> None:
    heads = re.findall(r"^\| call \| (.*) \|$", TEXT, re.MULTILINE)
    assert heads
    assert {tuple(head.split(" | ")) for head in heads} == {ROLES}
    assert all(len(statuses) == len(ROLES) for _, _, statuses in ROWS)


class Situation:
    """A table as a section describes it, and somebody of each role."""

    def __init__(self, house: Any, section: str, visibility: str) -> None:
        self.house = house
        creator = house.player("Chris")
        self.people = {
            "nobody": house.nobody,
            "another player": house.player("Olga"),
            "seat": house.player("Sam"),
            "creator": creator,
            "auditor": house.auditor(),
            "operator": house.auditor("operator"),
        }
        if "no game" in section:
            return
        watching = "none" if "watching none" in section else "open"
        options = {"turn_seconds": 60, "stalemate_rounds": 1 if "over" in section else 30}
        if "self-custody" in section:
            self.self_custody(section, visibility, options)
            return
        self.table = creator.opens(3, sit=False, visibility=visibility, watching=watching, options=options)
        self.seats(self.people["seat"])
        if "before the start" in section:
            self.bot()
        else:
            self.seats(self.people["seat"])
            self.seats(self.people["seat"])
            self.table.starts()
        if "over" in section:
            while self.table.shown(self.people["seat"])["status"] == "playing":
                done = self.table.act({"type": "end-turn"}, self.table.version, self.people["seat"])
                assert done.status_code == 201
        if "dispute by" in section:
            disputes = house.auditor() if "another auditor" in section else self.people["seat"]
            made = disputes.post(f"{self.table.path}/disputes", json={"event": 5, "text": "Not so."})
            assert made.status_code == 201, made.text
            self.case = f"/v1/cases/{made.json['case_id']}"

    def self_custody(self, section: str, visibility: str, options: dict[str, Any]) -> None:
        """A seat signs, and bots play the others."""
        player, creator = self.people["seat"], self.people["creator"]
        self.table = creator.opens(3, sit=False, visibility=visibility, options=options)
        self.signer = self.house.holder(self.table, player)
        if visibility == "private":  # whom the creator lets in can sit down on another seat, and sign
            self.seats(player)
            self.signer.joins(2, hero="tala")
            assert player.delete(f"{self.table.path}/seats/1").status_code == 200
        else:
            self.signer.joins(2, hero="tala")
        self.bot()
        self.bot()
        self.table.starts()
        if "waits for its link" in section:
            return
        self.signer.holder.reveal()
        while "over" in section and self.table.shown()["to_act"]:
            if self.table.shown()["to_act"] == [2]:
                assert self.signer.moves({"type": "end-turn"}).status_code == 201
            else:
                clerk.act(self.house.deps, bytes.fromhex(self.table.id))

    def seats(self, player: Any) -> None:
        """A player takes the next seat; at a private table the creator gives it to them."""
        private = self.table.shown()["visibility"] == "private"
        if private:
            assert self.table.seat(self.table.creator, player=player.id).status_code == 201
        else:
            assert self.table.seat(player).status_code == 201

    def bot(self) -> None:
        assert self.table.seat(self.table.creator, bot="wanderer").status_code == 201

    def bot_seat(self) -> int:
        return next(seat["seat"] for seat in self.table.shown()["seats"] if seat["bot"])

    def action(self) -> dict[str, Any]:
        legal = self.table.legal(self.people["seat"])
        return {"action": legal["actions"][-1]["action"], "expected_version": legal["version"]}

    @property
    def begun(self) -> int:
        """The version at which there was a state."""
        return self.table.shown(self.people["seat"])["version"]

    def filled(self) -> None:
        self.bot()

    def logged(self) -> None:
        """The log of games comes up to date; it has at least one game."""
        self.house.player().opens()
        sequencer = sequencer_of(self.house.deps)
        while sequencer.step():
            pass
        sequencer.close()

    def token_of(self, who: Any) -> str:
        """The id of a token of somebody's; of nobody's: of nobody."""
        tokens = [] if who.token is None else who.get("/v1/me/tokens").json["tokens"]
        return tokens[0]["token_id"] if tokens else "0" * 16

    def late(self) -> None:
        self.house.clock.pass_seconds(61)


Do = Callable[[Situation, Any], Any]
CALLS: dict[str, Do] = {
    "`GET /v1/games/{id}`": lambda s, who: who.get(s.table.path),
    "`GET /v1/games/{id}/state`": lambda s, who: who.get(f"{s.table.path}/state"),
    "`GET /v1/games/{id}/state?seat=1`": lambda s, who: who.get(f"{s.table.path}/state?seat=1"),
    "`GET /v1/games/{id}/actions`": lambda s, who: who.get(f"{s.table.path}/actions"),
    "`GET /v1/games/{id}/events`": lambda s, who: who.get(f"{s.table.path}/events"),
    "`GET /v1/games/{id}/events` as a live stream": lambda s, who: who.get(
        f"{s.table.path}/events", {"Accept": "text/event-stream"}, buffered=False
    ),
    "`GET /v1/games/{id}/receipts/{n}`": lambda s, who: who.get(f"{s.table.path}/receipts/2"),
    "`GET /v1/games/{id}/refusals`": lambda s, who: who.get(f"{s.table.path}/refusals"),
    "`GET /v1/games/{id}/positions/{n}`": lambda s, who: who.get(f"{s.table.path}/positions/2"),
    "`GET /v1/games/{id}/positions/{n}.svg`": lambda s, who: who.get(f"{s.table.path}/positions/2.svg"),
    "`GET /v1/games/{id}/positions/{n}.png`": lambda s, who: who.get(f"{s.table.path}/positions/2.png"),
    "`GET /v1/games/{id}/replay`": lambda s, who: who.get(f"{s.table.path}/replay"),
    "`GET /v1/games/{id}/replay.webp`": lambda s, who: who.get(f"{s.table.path}/replay.webp"),
    "`GET /v1/games/{id}/replay.gif`": lambda s, who: who.get(f"{s.table.path}/replay.gif"),
    "`GET /v1/games/{id}/positions/{n}/why`": lambda s, who: who.get(
        f"{s.table.path}/positions/{s.begun}/why?path=seats/1"
    ),
    "`GET /v1/games/{id}/diff`": lambda s, who: who.get(f"{s.table.path}/diff"),
    "`GET /v1/games/{id}/divergence/{other_id}`": lambda s, who: who.get(f"{s.table.path}/divergence/{s.table.id}"),
    "`GET /v1/games/{id}/under/{ruleset}`": lambda s, who: who.get(f"{s.table.path}/under/donjon@1"),
    "`GET /v1/games/{id}/luck`": lambda s, who: who.get(f"{s.table.path}/luck"),
    "`GET /v1/games/{id}/luck.svg`": lambda s, who: who.get(f"{s.table.path}/luck.svg"),
    "`GET /v1/games/{id}/audit`": lambda s, who: who.get(f"{s.table.path}/audit"),
    "`GET /v1/games/{id}/bundle`": lambda s, who: who.get(f"{s.table.path}/bundle"),
    "`GET /v1/games/{id}/proofs/open`": lambda s, who: (s.logged(), who.get(f"{s.table.path}/proofs/open"))[1],
    "`GET /v1/games/{id}/proofs/close`": lambda s, who: (s.logged(), who.get(f"{s.table.path}/proofs/close"))[1],
    "`POST /v1/games/{id}/seats`": lambda s, who: s.table.seat(who),
    "`POST /v1/games/{id}/seats` a bot": lambda s, who: s.table.seat(who, bot="wanderer"),
    "`POST /v1/games/{id}/seats` another player": lambda s, who: s.table.seat(who, player=s.house.player("Guest").id),
    "`DELETE /v1/games/{id}/seats/{n}` the seat's own": lambda s, who: who.delete(f"{s.table.path}/seats/1"),
    "`DELETE /v1/games/{id}/seats/{n}` a bot's": lambda s, who: who.delete(f"{s.table.path}/seats/{s.bot_seat()}"),
    "`POST /v1/games/{id}/start`": lambda s, who: (s.filled(), who.post(f"{s.table.path}/start"))[1],
    "`POST /v1/games/{id}/actions`": lambda s, who: who.post(f"{s.table.path}/actions", json=s.action()),
    "`POST /v1/games/{id}/actions?check=1`": lambda s, who: who.post(
        f"{s.table.path}/actions?check=1", json=s.action()
    ),
    "`POST /v1/games/{id}/seats/{n}/resign`": lambda s, who: who.post(f"{s.table.path}/seats/1/resign"),
    "`POST /v1/games/{id}/reveal`": lambda s, who: who.post(f"{s.table.path}/reveal", json=s.signer.unsent("reveal")),
    "`POST /v1/games/{id}/signoff`": lambda s, who: who.post(
        f"{s.table.path}/signoff", json=s.signer.unsent("sign_off")
    ),
    "`POST /v1/games/{id}/seats/{n}/custody`": lambda s, who: who.post(f"{s.table.path}/seats/2/custody"),
    "`POST /v1/games/{id}/timeout`": lambda s, who: (s.late(), who.post(f"{s.table.path}/timeout"))[1],
    "`GET /v1/games/{id}/disputes`": lambda s, who: who.get(f"{s.table.path}/disputes"),
    "`POST /v1/games/{id}/disputes`": lambda s, who: who.post(
        f"{s.table.path}/disputes", json={"event": 5, "text": "Not so."}
    ),
    "`GET /v1/cases`": lambda s, who: who.get("/v1/cases"),
    "`GET /v1/cases/{c}`": lambda s, who: who.get(s.case),
    "`GET /v1/cases/{c}/events`": lambda s, who: who.get(f"{s.case}/events"),
    "`GET /v1/cases/{c}/audit`": lambda s, who: who.get(f"{s.case}/audit"),
    "`POST /v1/cases/{c}/answers`": lambda s, who: who.post(f"{s.case}/answers", json={"text": "So."}),
    "`POST /v1/cases/{c}/ruling`": lambda s, who: who.post(
        f"{s.case}/ruling", json={"ruling": "uphold", "text": "As it stands."}
    ),
    "`POST /v1/cases/{c}/withdraw`": lambda s, who: who.post(f"{s.case}/withdraw"),
    "`DELETE /v1/cases/{c}/texts/{n}`": lambda s, who: who.delete(f"{s.case}/texts/2"),
    "`POST /v1/games/{id}/forks`": lambda s, who: who.post(f"{s.table.path}/forks", json={"version": 6}),
    "`GET /games/{id}` the page": lambda s, who: who.get(f"/games/{s.table.id}"),
    "`GET /games/{id}/replay` the page": lambda s, who: who.get(f"/games/{s.table.id}/replay"),
    "`GET /games/{id}/at/{n}` the page": lambda s, who: who.get(f"/games/{s.table.id}/at/2"),
    "`GET /games/{id}/audit` the page": lambda s, who: who.get(f"/games/{s.table.id}/audit"),
    "`GET /cases/{c}` the page": lambda s, who: who.get(s.case.removeprefix("/v1")),
    "`POST /v1/players`": lambda s, who: who.post("/v1/players", json={"name": "Eve"}),
    "`POST /session`": lambda s, who: who.post("/session", json={"name": "Eve"}),
    "`GET /v1/me`": lambda s, who: who.get("/v1/me"),
    "`GET /v1/me/stream` as a live stream": lambda s, who: who.get("/v1/me/stream", buffered=False),
    "`DELETE /v1/me`": lambda s, who: who.delete("/v1/me"),
    "`GET /v1/me/tokens`": lambda s, who: who.get("/v1/me/tokens"),
    "`POST /v1/me/tokens`": lambda s, who: who.post("/v1/me/tokens"),
    "`DELETE /v1/me/tokens/{token}` one's own": lambda s, who: who.delete(f"/v1/me/tokens/{s.token_of(who)}"),
    "`DELETE /v1/me/tokens/{token}` another player's": lambda s, who: who.delete(
        f"/v1/me/tokens/{s.token_of(s.house.player('Guest'))}"
    ),
    "`GET /v1/games`": lambda s, who: who.get("/v1/games"),
    "`GET /v1/games?player=me`": lambda s, who: who.get("/v1/games?player=me"),
    "`POST /v1/games`": lambda s, who: who.post("/v1/games", json={"ruleset": "donjon@1", "seats": 2}),
    "`GET /v1/players/{player}/luck`": lambda s, who: who.get(f"/v1/players/{s.people['seat'].id}/luck"),
    "`GET /v1/luck`": lambda s, who: who.get("/v1/luck"),
    "`POST /v1/audits` any bundle": lambda s, who: who.post("/v1/audits", data={"bundle": (BytesIO(b"no"), "b.zip")}),
    "`GET /v1/log/checkpoint`": lambda s, who: (s.logged(), who.get("/v1/log/checkpoint"))[1],
    "`GET /v1/log/tile/{tile}` its hashes": lambda s, who: (s.logged(), who.get("/v1/log/tile/0/000.p/1"))[1],
    "`GET /v1/log/tile/{tile}` its entries": lambda s, who: (s.logged(), who.get("/v1/log/tile/entries/000.p/1"))[1],
    "`GET /v1/log/policy`": lambda s, who: who.get("/v1/log/policy"),
    "`GET /v1/log/consistency`": lambda s, who: (s.logged(), who.get("/v1/log/consistency?from=1"))[1],
    "`GET /v1/rulesets/{ruleset}`": lambda s, who: who.get("/v1/rulesets/donjon@1"),
    "`GET /v1/rulesets/{ruleset}/text`": lambda s, who: who.get("/v1/rulesets/donjon@1/text"),
    "`GET /problems/{code}`": lambda s, who: who.get("/problems/stale"),
    "`GET /players/{player}` the page": lambda s, who: who.get(f"/players/{s.people['seat'].id}"),
    "`GET /rules/{ruleset}` the page": lambda s, who: who.get("/rules/donjon"),
    "`GET /desk` the page": lambda s, who: who.get("/desk"),
    "`GET /` the page": lambda s, who: who.get("/"),
    "`GET /static/{file}`": lambda s, who: who.get("/static/style.css"),
    "`GET /static/{edition}/{file}`": lambda s, who: who.get("/static/0/style.css"),
} | {
    f"`GET {path}`": lambda s, who, path=path: who.get(path)
    for path in (
        "/v1/rulesets", "/v1/library", "/openapi.json", "/docs", "/docs.css", "/healthz", "/readyz", "/metrics"
    )
}  # fmt: skip


@pytest.mark.parametrize(("section", "call", "statuses"), ROWS, ids=[f"{call} {title}" for title, call, _ in ROWS])
def test_every_row_of_the_table_holds(house: Any, tmp_path: Path, section: str, call: str, statuses: list[int]) -> None:
    house.deps.config = replace(house.deps.config, log_dir=str(tmp_path / "log"))
    for visibility in ("private",) if "private" in section else ("public", "unlisted"):
        changes = not call.startswith("`GET")
        situation = None
        for role, status in zip(ROLES, statuses, strict=True):
            if changes or situation is None:
                situation = Situation(house, section, visibility)
            answer = CALLS[call](situation, situation.people[role])
            assert answer.status_code == status, (role, visibility, answer.status_code)
            answer.close()


def test_every_route_of_the_application_stands_in_a_table(house: Any) -> None:
    routes = {
        f"{method} {re.sub('<[^>]+>', '{}', rule.rule)}"
        for rule in house.app.url_map.iter_rules()
        for method in rule.methods - {"HEAD", "OPTIONS"}
    }
    written = {re.sub("{[^}]+}", "{}", call.split("`")[1].partition("?")[0]) for _, call, _ in ROWS}
    assert written == routes


def test_every_game_that_can_be_hidden_is_in_a_table_for_each_call_that_reads_it() -> None:
    reading = {call for title, call, _ in ROWS if "{id}" in call and call.startswith("`GET")}
    private = {call for title, call, _ in ROWS if "private" in title}
    assert reading - private == {"`GET /v1/games/{id}/state?seat=1`"}  # which is there without the seat, too


# -- watching --------------------------------------------------------------------------------------------------------


def test_watchers_of_a_delayed_table_see_the_game_of_then_everywhere(house: Any) -> None:
    table = house.player().opens(watching="delayed:60")
    table.seat(table.creator)
    house.clock.pass_seconds(1)
    table.starts()
    start = table.version
    house.clock.pass_seconds(10)
    table.plays(2)
    house.clock.pass_seconds(30)
    table.plays(1)
    watcher = house.player("Walter")
    assert [event["seq"] for event in watcher.get(f"{table.path}/events").json["events"]] == list(range(1, start + 1))
    house.clock.pass_seconds(30)
    seen, now = start + 2, table.version
    assert now > seen
    assert watcher.get(table.path).json["version"] == seen
    assert watcher.get(table.path).headers["ETag"] == f'"{seen}.g"'
    state = watcher.get(f"{table.path}/state").json
    assert state["version"] == seen
    assert state["state"] == table.creator.get(f"{table.path}/positions/{seen}").json["state"]
    assert watcher.get(f"{table.path}/actions").json["version"] == seen
    assert watcher.get(f"{table.path}/events").json["events"][-1]["seq"] == seen
    assert watcher.get(f"{table.path}/events", {"Accept": "application/x-ndjson"}).text.count("\n") == seen
    assert watcher.get(f"{table.path}/positions/{seen}").status_code == 200
    assert watcher.get(f"{table.path}/positions/{now}").status_code == 404
    assert watcher.get(f"{table.path}/positions/{seen}").headers["Cache-Control"].startswith("private")
    for query in ("", "?spoilers=1"):
        told = watcher.get(f"{table.path}/replay{query}").json
        assert max(step["version"] for step in told["steps"]) == seen
        assert told["position"] == seen
    (row,) = watcher.get("/v1/games").json["games"]
    assert row["version"] == seen
    assert table.shown()["version"] == now
    assert table.creator.get("/v1/games").json["games"][0]["version"] == now
    house.clock.pass_seconds(60)
    assert watcher.get(table.path).json["version"] == now


def test_a_delayed_game_is_shown_whole_once_it_is_over(house: Any) -> None:
    table = house.player().opens(watching="delayed:3600", options={"stalemate_rounds": 1})
    table.seat(table.creator)
    table.starts()
    house.clock.pass_seconds(5)
    while table.shown()["status"] == "playing":
        assert table.act({"type": "end-turn"}, table.version).status_code == 201
    assert house.nobody.get(f"{table.path}/state").json["version"] == table.version
    assert house.nobody.get(table.path).json["status"] == "finished"


def test_a_list_shows_no_more_of_an_unwatched_game_than_that_it_is_played(house: Any) -> None:
    table = house.player().opens(watching="none")
    table.seat(table.creator)
    house.clock.pass_seconds(1)
    table.starts()
    start = table.version
    house.clock.pass_seconds(1)
    table.plays(3)
    (row,) = house.nobody.get("/v1/games").json["games"]
    assert (row["status"], row["version"]) == ("playing", start)
    assert house.nobody.get(table.path).json["version"] == start


def test_unlisted_and_private_tables_are_in_nobodys_list_but_their_players(house: Any) -> None:
    ada, bob, eve = house.player("Ada"), house.player("Bob"), house.player("Eve")
    for visibility in ("unlisted", "private"):
        table = ada.opens(visibility=visibility)
        assert table.seat(ada, player=bob.id).status_code in (201, 403)
        for query in ("", f"?player={ada.id}", f"?player={bob.id}", "?status=open", "?ruleset=donjon@1"):
            for caller in (house.nobody, eve, house.auditor()):
                assert caller.get(f"/v1/games{query}").json["games"] == [], (visibility, query)
        assert table.id in [game["game_id"] for game in ada.get("/v1/games?player=me").json["games"]]
        assert table.id in [game["game_id"] for game in ada.get(f"/v1/games?player={ada.id}").json["games"]]
        assert table.id not in [game["game_id"] for game in ada.get("/v1/games").json["games"]]


def test_a_private_table_looks_exactly_like_one_that_is_not_there(house: Any) -> None:
    table = house.player().opens(visibility="private")
    eve = house.player("Eve")
    absent = "f" * 32
    body = {"action": {"type": "end-turn"}, "expected_version": 1}
    for caller in (house.nobody, eve):
        for path in ("", *(f"/{part}" for part in _HIDDEN)):
            hidden, missing = caller.get(table.path + path), caller.get(f"/v1/games/{absent}{path}")
            assert (hidden.status_code, hidden.data) == (missing.status_code, missing.data) == (404, missing.data)
    for path in ("/seats", "/start", "/actions", "/timeout", "/forks", "/seats/1/resign"):
        sent = {"/actions": body, "/forks": {"version": 1}}.get(path, {})
        hidden, missing = eve.post(table.path + path, json=sent), eve.post(f"/v1/games/{absent}{path}", json=sent)
        assert (hidden.status_code, hidden.data) == (missing.status_code, missing.data) == (404, missing.data)
    hidden, missing = eve.delete(f"{table.path}/seats/1"), eve.delete(f"/v1/games/{absent}/seats/1")
    assert (hidden.status_code, hidden.data) == (missing.status_code, missing.data) == (404, missing.data)


def test_a_guest_at_a_private_table_must_be_a_player(house: Any) -> None:
    table = house.player().opens(visibility="private")
    assert table.problem(table.seat(table.creator, player="0" * 32)) == "404 player-not-found"
    bob = house.player("Bob")
    assert table.seat(table.creator, player=bob.id).json["seats"][1]["name"] == "Bob"
    assert bob.get("/v1/me").json["seats"][0]["game_id"] == table.id
    assert bob.delete(f"{table.path}/seats/2").status_code == 200
    assert bob.get(table.path).status_code == 404
