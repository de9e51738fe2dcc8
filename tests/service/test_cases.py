"""Disputes: whole ones of each ruling by scripted parties, crooked ones, erasure, and an operator who edits a case."""

import hashlib
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from events import codec
from events.event import Event
from events.log import whole
from events.notes import Verifier
from events.redis_log import Keys
from replay.case import fold_case
from replay.receipts import Statement
from replay.validate import validate
from service.api.case_shapes import CaseOut, CaseWritten
from service.clerk import Clerk
from service.disputes import cases

DAY = 86_400


class Affair:
    """A game of Ada and Bob, who dispute it before Audrey."""

    def __init__(self, house: Any, over: bool = True, moves: int = 4, **body: Any) -> None:
        self.house = house
        self.ada, self.bob, self.eve = house.player("Ada"), house.player("Bob"), house.player("Eve")
        self.audrey = house.auditor()
        options = {"stalemate_rounds": 3} if over else {}
        self.table = self.ada.opens(options=options | body.pop("options", {}), **body)
        private = body.get("visibility") == "private"
        seated = self.table.seat(self.ada, player=self.bob.id) if private else self.table.seat(self.bob)
        assert seated.status_code == 201
        self.table.starts()
        self.play(10_000 if over else moves)

    def play(self, moves: int) -> None:
        for _ in range(moves):
            if not (to_act := self.table.shown()["to_act"]):
                return
            who = (self.ada, self.bob)[to_act[0] - 1]
            assert self.table.act({"type": "end-turn"}, self.table.version, who).status_code == 201

    def disputes(self, who: Any = None, event: int = 7, text: str = "That was my turn.", **more: Any) -> Any:
        body = {"event": event, "text": text, **more}
        return (who or self.ada).post(f"{self.table.path}/disputes", json=body)

    def opens(self, **asked: Any) -> str:
        made = self.disputes(**asked)
        assert made.status_code == 201, made.text
        return f"/v1/cases/{made.json['case_id']}"

    def answers(self, case: str, who: Any = None, text: str = "It was not.") -> Any:
        return (who or self.bob).post(f"{case}/answers", json={"text": text})

    def heard(self, **asked: Any) -> str:
        """A dispute that was answered."""
        case = self.opens(**asked)
        assert self.answers(case).status_code == 201
        return case

    def rules(self, case: str, ruling: str, who: Any = None, **more: Any) -> Any:
        return (who or self.audrey).post(f"{case}/ruling", json={"ruling": ruling, "text": "Because.", **more})

    def game(self, who: Any = None) -> dict[str, Any]:
        return self.table.shown(who)

    def row(self) -> dict[str, Any]:
        rows = self.house.nobody.get("/v1/games").json["games"]
        return next(row for row in rows if row["game_id"] == self.table.id)

    def replay(self) -> dict[str, Any]:
        shown: dict[str, Any] = self.house.nobody.get(f"{self.table.path}/replay?spoilers=1").json
        return shown

    def everywhere(self) -> list[Any]:
        """What counts of the game, wherever it is served."""
        return [self.game()["effective"], self.row()["effective"], self.replay()["effective"]]


@pytest.fixture
def affair(house: Any) -> Affair:
    return Affair(house)


def case_id(case: str) -> bytes:
    return bytes.fromhex(case.rpartition("/")[2])


# -- whole disputes --------------------------------------------------------------------------------------------------


def test_a_dispute_is_opened_answered_and_upheld_and_the_game_never_moves(affair: Affair) -> None:
    before = affair.game()
    made = affair.disputes(event=7, text="That was my turn.")
    assert made.status_code == 201, made.text
    case = f"/v1/cases/{made.json['case_id']}"
    assert made.headers["Location"] == case
    shown = made.json
    assert (shown["state"], shown["event"], shown["seat"], shown["asked"]) == ("open", 7, 1, [2])
    assert (shown["grade"], shown["event_holds"], shown["to_answer"]) == ("EXACT", True, [2])
    assert shown["verdict"]["verdict"] == "VERIFIED WITH LIMITS"
    assert shown["statements"][0]["text"] == "That was my turn."
    assert [moment["seq"] for moment in shown["around"]] == [4, 5, 6, 7, 8, 9, 10]
    assert shown["links"]["picture_before"] == f"{affair.table.path}/positions/6.svg"
    assert affair.ada.get(shown["links"]["picture_before"]).status_code == 200
    assert {known["seat"] for known in shown["known_by"]} == {1, 2}

    answered = affair.answers(case)
    assert (answered.status_code, answered.json["state"]) == (201, "answered")
    ruled = affair.rules(case, "uphold")
    assert ruled.status_code == 201, ruled.text
    assert (ruled.json["state"], ruled.json["closed_as"]) == ("closed", "ruled")
    assert ruled.json["ruled"]["ruling"] == "uphold"
    assert [said["kind"] for said in ruled.json["statements"]] == ["dispute", "answer", "ruling"]
    after = affair.game()
    assert (after["version"], after["head"]) == (before["version"], before["head"])
    assert after["effective"] == {
        "status": "finished",
        "outcome": before["outcome"],
        "case_id": None,
        "ruling": None,
        "resumed_as": None,
    }
    kinds = [event["kind"] for event in affair.bob.get(f"{case}/events").json["events"]]
    assert kinds == ["create", "dispute", "answer", "ruling", "close"]


def test_a_game_that_is_ruled_void_is_so_everywhere_beside_what_was_recorded(affair: Affair) -> None:
    recorded = affair.game()
    etag = affair.ada.get(affair.table.path).headers["ETag"]
    case = affair.heard()
    assert affair.rules(case, "void").status_code == 201
    void = {
        "status": "void",
        "outcome": None,
        "case_id": case.rpartition("/")[2],
        "ruling": "void",
        "resumed_as": None,
    }
    assert affair.everywhere() == [void] * 3
    for shown in (affair.game(), affair.row()):
        assert (shown["status"], shown["outcome"]) == ("finished", recorded["outcome"])
        assert (shown["version"], shown["head"]) == (recorded["version"], recorded["head"])
    assert affair.ada.get(affair.table.path, {"If-None-Match": etag}).status_code == 200  # it is shown otherwise now
    assert affair.ada.get(f"{affair.table.path}/replay?at=4").json.get("effective") is None
    audit = affair.ada.get(f"{affair.table.path}/audit").json
    assert [(each["case_id"], each["ruling"]) for each in audit["cases"]] == [(void["case_id"], "void")]


def test_a_corrected_result_counts_instead_of_the_recorded_one(affair: Affair) -> None:
    case = affair.heard()
    ruled = affair.rules(case, "correct", result={"winners": [2], "scores": [0, 5]})
    assert ruled.status_code == 201, ruled.text
    for counts in affair.everywhere():
        assert (counts["status"], counts["ruling"]) == ("finished", "correct")
        assert counts["outcome"] == {"ending": "corrected", "winners": [2], "scores": [0, 5], "facts": {}}
    assert ruled.json["ruled"]["result"]["winners"] == [2]
    assert affair.game()["outcome"]["ending"] == "stalemate"


def test_a_resumed_game_is_a_fork_in_which_everybody_has_their_seat(affair: Affair) -> None:
    case = affair.heard()
    ruled = affair.rules(case, "resume", version=6)
    assert ruled.status_code == 201, ruled.text
    resumed = ruled.json["ruled"]["resume"]
    assert resumed["version"] == 6
    for counts in affair.everywhere():
        assert (counts["status"], counts["outcome"], counts["resumed_as"]) == ("void", None, resumed["game_id"])
    fork = affair.ada.get(f"/v1/games/{resumed['game_id']}").json
    assert fork["status"] == "playing"
    assert fork["forked_from"] == {"game_id": affair.table.id, "version": 6}
    assert [seat["player_id"] for seat in fork["seats"]] == [affair.ada.id, affair.bob.id]
    assert [seat["hero"] for seat in fork["seats"]] == [seat["hero"] for seat in affair.game()["seats"]]
    source = affair.ada.get(f"{affair.table.path}/positions/6").json
    assert affair.ada.get(f"/v1/games/{resumed['game_id']}/state").json["state"] == source["state"]
    who = (affair.ada, affair.bob)[fork["to_act"][0] - 1]
    played = who.post(
        f"/v1/games/{resumed['game_id']}/actions",
        json={"action": {"type": "end-turn"}, "expected_version": fork["version"]},
    )
    assert played.status_code == 201
    assert resumed["game_id"] in [game["game_id"] for game in affair.bob.get("/v1/games?player=me").json["games"]]
    audit = affair.ada.get(f"/v1/games/{resumed['game_id']}/audit").json
    assert audit["verdict"] == "VERIFIED WITH LIMITS"


def test_bots_keep_their_seats_in_a_resumed_game(house: Any) -> None:
    affair = Affair(house, over=False, moves=0, seats=2)
    table = affair.ada.opens(2)
    assert table.seat(affair.ada, bot="wanderer").status_code == 201
    table.starts()
    affair.table = table
    case = affair.opens(event=table.version)
    assert affair.ada.get(case).json["state"] == "answered"  # there is nobody to ask
    fork = affair.rules(case, "resume", version=table.version).json["ruled"]["resume"]["game_id"]
    seats = affair.ada.get(f"/v1/games/{fork}").json["seats"]
    assert [seat["player_id"] == affair.ada.id for seat in seats] == [True, False]
    assert seats[1]["bot"]["name"] == "wanderer"
    assert (table.shown()["status"], table.shown()["reason"]) == ("void", "ruled")


def test_a_seat_that_signed_plays_on_in_the_custody_of_the_server(house: Any) -> None:
    affair = Affair(house, over=False, moves=0)
    table = affair.ada.opens(2, sit=False)
    signer = house.holder(table, affair.ada).joins(1, hero="tala")
    assert table.seat(affair.bob).status_code == 201
    table.starts()
    signer.holder.reveal()
    while table.shown()["to_act"] != [1]:
        assert table.act({"type": "end-turn"}, table.version, affair.bob).status_code == 201
    version = table.version
    assert signer.moves({"type": "end-turn"}).status_code == 201
    affair.table = table
    case = affair.heard(event=version + 1)
    assert affair.ada.get(case).json["event_fingerprint"]
    fork = affair.rules(case, "resume", version=version).json["ruled"]["resume"]["game_id"]
    assert (table.shown()["status"], table.shown()["grade"]) == ("void", "EXACT")
    shown = affair.ada.get(f"/v1/games/{fork}").json
    assert [seat["custody"] for seat in shown["seats"]] == ["server", "server"]
    assert shown["to_act"] == [1]
    body = {"action": {"type": "end-turn"}, "expected_version": shown["version"]}
    assert affair.ada.post(f"/v1/games/{fork}/actions", json=body).status_code == 201


def test_a_game_that_is_played_ends_when_it_is_ruled_void(house: Any) -> None:
    affair = Affair(house, over=False)
    case = affair.heard()
    assert affair.rules(case, "void").json["state"] == "closed"
    shown = affair.game()
    assert (shown["status"], shown["reason"], shown["to_act"]) == ("void", "ruled", [])
    assert shown["grade"] == "EXACT"


def test_an_auditor_disputes_too_and_another_one_rules(affair: Affair) -> None:
    case = affair.opens(who=affair.audrey)
    shown = affair.audrey.get(case).json
    assert (shown["seat"], shown["asked"]) == (None, [1, 2])
    for who in (affair.ada, affair.bob):
        assert affair.answers(case, who).status_code == 201
    assert affair.table.problem(affair.rules(case, "void")) == "403 own-case"
    assert affair.rules(case, "void", affair.house.auditor()).status_code == 201


def test_of_several_rulings_the_last_other_than_to_uphold_counts(affair: Affair) -> None:
    cases_of: list[str] = []
    for event in (6, 7, 8):
        cases_of.append(affair.heard(event=event))
        affair.house.clock.pass_seconds(1)
    first, second, third = cases_of
    assert affair.rules(first, "void").status_code == 201
    affair.house.clock.pass_seconds(1)
    assert affair.rules(second, "correct", result={"winners": [1], "scores": [1, 0]}).status_code == 201
    affair.house.clock.pass_seconds(1)
    assert affair.rules(third, "uphold").status_code == 201
    assert affair.game()["effective"]["case_id"] == second.rpartition("/")[2]
    listed = affair.ada.get(f"{affair.table.path}/disputes").json["cases"]
    assert [one["ruling"] for one in listed] == ["void", "correct", "uphold"]


def test_the_clerk_closes_answering_when_the_deadline_is_over(affair: Affair) -> None:
    clerk = Clerk(affair.house.deps)
    clerk.begin()
    case = affair.opens()
    clerk.work(0)
    assert affair.table.problem(affair.rules(case, "void")) == "409 wrong-case-state"
    affair.house.clock.pass_seconds(7 * DAY)
    clerk.work(0)
    shown = affair.ada.get(case).json
    assert (shown["state"], shown["silent"], shown["grade"]) == ("answered", [2], "EXACT")
    assert affair.table.problem(affair.answers(case)) == "409 too-late"
    assert affair.rules(case, "uphold").status_code == 201


def test_what_was_ruled_is_carried_out_by_the_clerk_where_the_service_died_before(
    affair: Affair, monkeypatch: pytest.MonkeyPatch
) -> None:
    case = affair.heard()
    with monkeypatch.context() as dying:
        dying.setattr(cases, "carry_out", lambda deps, case_id: deps.cases.load(case_id))
        assert affair.rules(case, "resume", version=6).json["state"] == "ruled"
    fork = affair.ada.get(case).json["ruled"]["resume"]["game_id"]
    assert affair.ada.get(f"/v1/games/{fork}").status_code == 404
    clerk = Clerk(affair.house.deps)
    clerk.begin()
    clerk.work(0)
    assert affair.ada.get(case).json["state"] == "closed"
    assert affair.ada.get(f"/v1/games/{fork}").json["status"] == "playing"
    assert cases.carry_out(affair.house.deps, case_id(case)).state == "closed"  # and never twice


def test_a_dispute_is_withdrawn_by_who_opened_it(affair: Affair) -> None:
    case = affair.opens()
    assert affair.table.problem(affair.bob.post(f"{case}/withdraw")) == "403 not-the-author"
    assert affair.ada.post(f"{case}/withdraw").json["closed_as"] == "withdrawn"
    assert affair.table.problem(affair.answers(case)) == "409 wrong-case-state"
    assert affair.table.problem(affair.rules(case, "void")) == "409 wrong-case-state"


# -- crooked ones ----------------------------------------------------------------------------------------------------


def test_a_dispute_that_comes_too_late_is_refused_with_the_time_it_had(affair: Affair) -> None:
    affair.house.clock.pass_seconds(31 * DAY)
    answer = affair.disputes()
    assert affair.table.problem(answer) == "409 too-late"
    assert answer.json["until"].startswith("2027-02-14")
    assert answer.json["refusal"].startswith("annals/1 refusal")


def test_a_stranger_and_an_operator_dispute_nothing(affair: Affair) -> None:
    assert affair.table.problem(affair.disputes(affair.eve)) == "403 not-a-party"
    assert affair.table.problem(affair.disputes(affair.house.auditor("operator"))) == "403 not-a-party"
    assert affair.table.problem(affair.disputes(affair.house.nobody)) == "401 token-missing"
    assert affair.table.problem(affair.disputes(affair.ada, seat=2)) == "403 not-your-seat"


def test_an_event_is_disputed_once_and_not_too_many_at_a_time(affair: Affair) -> None:
    case = affair.opens(event=7)
    for who in (affair.ada, affair.bob, affair.audrey):
        answer = affair.disputes(who, event=7)
        assert affair.table.problem(answer) == "409 already-disputed"
        assert answer.json["case_id"] == case.rpartition("/")[2]
    for event in (8, 9):
        affair.opens(event=event)
    assert affair.table.problem(affair.disputes(event=10)) == "409 too-many-disputes"
    assert affair.ada.post(f"{case}/withdraw").status_code == 200
    assert affair.disputes(event=10).status_code == 201
    assert affair.table.problem(affair.disputes(event=7)) == "409 already-disputed"


def test_an_event_that_is_not_there_cannot_be_disputed(affair: Affair) -> None:
    answer = affair.disputes(event=affair.table.version + 1)
    assert affair.table.problem(answer) == "404 event-not-found"
    assert answer.json["version"] == affair.table.version
    assert affair.table.problem(affair.disputes(event=0)) == "422 invalid-body"
    waiting = affair.ada.opens()
    answer = affair.ada.post(f"{waiting.path}/disputes", json={"event": 1, "text": "?"})
    assert affair.table.problem(answer) == "409 wrong-status"


def test_a_seat_that_withdrew_disputes_nothing_but_may_answer(house: Any) -> None:
    affair = Affair(house, over=False)
    assert affair.bob.post(f"{affair.table.path}/seats/2/resign").status_code == 201
    answer = affair.disputes(affair.bob, event=5)
    assert affair.table.problem(answer) == "403 seat-withdrew"
    assert answer.json["seat"] == 2
    case = affair.opens(event=5)
    assert affair.answers(case).status_code == 201


def test_who_was_not_asked_answers_nothing_and_nobody_answers_twice(affair: Affair) -> None:
    case = affair.opens()
    for who in (affair.eve, affair.ada, affair.audrey):
        assert affair.table.problem(affair.answers(case, who)) == "403 not-asked"
    assert affair.answers(case).status_code == 201
    assert affair.table.problem(affair.answers(case)) == "409 already-answered"
    kept = affair.house.redis.hlen(f"{{s{case_id(case).hex()[0]}}}:texts:{case_id(case).hex()}")
    assert kept == 2  # a text that was refused does not stay


def test_only_an_auditor_who_is_no_party_rules(affair: Affair) -> None:
    case = affair.heard()
    for who in (affair.ada, affair.eve, affair.house.auditor("operator")):
        assert affair.table.problem(affair.rules(case, "void", who)) == "403 not-an-auditor"
    affair.house.deps.accounts.grant(bytes.fromhex(affair.bob.id), "auditor")
    assert affair.table.problem(affair.rules(case, "void", affair.bob)) == "403 own-case"


@pytest.mark.parametrize(
    ("ruling", "more", "reason"),
    [
        ("correct", {}, "not-whole"),
        ("void", {"version": 6}, "not-whole"),
        ("correct", {"result": {"winners": [3], "scores": [0, 0]}}, "bad-result"),
        ("correct", {"result": {"winners": [1], "scores": [0]}}, "bad-result"),
        ("resume", {"version": 2}, "before-start"),
    ],
)
def test_a_ruling_must_go_with_the_game(affair: Affair, ruling: str, more: Any, reason: str) -> None:
    answer = affair.rules(affair.heard(), ruling, **more)
    assert affair.table.problem(answer) == "409 cannot-rule"
    assert answer.json["reason"] == reason


def test_a_game_without_a_result_is_not_corrected_nor_resumed_from_where_it_never_was(house: Any) -> None:
    affair = Affair(house, over=False)
    case = affair.heard()
    answer = affair.rules(case, "correct", result={"winners": [1], "scores": [1, 0]})
    assert (affair.table.problem(answer), answer.json["reason"]) == ("409 cannot-rule", "no-result")
    assert affair.table.problem(affair.rules(case, "resume", version=999)) == "404 position-not-found"
    assert affair.ada.get(case).json["state"] == "answered"


def test_a_case_is_no_game_and_a_game_no_case(affair: Affair) -> None:
    case = affair.opens()
    for who in (affair.house.nobody, affair.ada, affair.audrey):
        assert who.get(f"/v1/games/{case.rpartition('/')[2]}").status_code == 404
        assert affair.table.problem(who.get(f"/v1/cases/{affair.table.id}")) == "404 case-not-found"
        assert affair.table.problem(who.get(f"/v1/cases/{'0' * 32}")) == "404 case-not-found"
    assert [row["game_id"] for row in affair.house.nobody.get("/v1/games").json["games"]] == [affair.table.id]


def test_a_place_that_was_taken_and_never_written_stands_in_nobodys_way(affair: Affair) -> None:
    reserved = affair.house.deps.cases.reserve(bytes.fromhex(affair.table.id), 7)
    assert affair.game()["effective"]["case_id"] is None
    assert affair.ada.get(f"{affair.table.path}/disputes").json["cases"] == []
    assert affair.opens(event=7) == f"/v1/cases/{reserved.hex()}"


# -- who reads -------------------------------------------------------------------------------------------------------


def test_what_parties_said_is_for_parties_and_every_reading_by_role_is_shown(affair: Affair) -> None:
    case = affair.heard()
    for who in (affair.house.nobody, affair.eve):
        shown = who.get(case).json
        assert [(said["readable"], said["text"], said["salt"]) for said in shown["statements"]] == [
            (False, None, None)
        ] * 2
        assert shown["access"] == []
    for who in (affair.ada, affair.bob):
        assert [said["text"] for said in who.get(case).json["statements"]] == ["That was my turn.", "It was not."]
    affair.house.clock.pass_seconds(5)
    assert affair.audrey.get(case).json["statements"][0]["text"] == "That was my turn."
    assert affair.audrey.get(case).status_code == 200
    (access,) = affair.ada.get(case).json["access"]
    assert (access["player_id"], access["what"], access["times"]) == (affair.audrey.id, "show_case", 2)
    assert affair.rules(case, "uphold").status_code == 201
    assert affair.eve.get(case).json["statements"][2]["text"] == "Because."  # reasons are for everybody


def test_reading_a_private_game_by_role_is_written_down_and_shown_to_its_seats(house: Any) -> None:
    affair = Affair(house, visibility="private")
    case = affair.opens()
    assert affair.audrey.get(f"{affair.table.path}/events").status_code == 200
    assert affair.audrey.get(f"{affair.table.path}/refusals").status_code == 200
    assert affair.table.problem(affair.eve.get(case)) == "404 case-not-found"
    assert {one["what"] for one in affair.bob.get(case).json["access"]} == {"show_events", "show_refusals"}
    assert affair.bob.get(f"{affair.table.path}/events").status_code == 200
    assert len(affair.bob.get(case).json["access"]) == 2  # who reads by their seat is nobody's business


def test_the_desk_lists_open_cases_by_age_with_refusals_kept(house: Any) -> None:
    first = Affair(house)
    refused = first.table.act({"type": "end-turn"}, 3, first.bob)
    old = first.opens()
    house.clock.pass_seconds(60)
    second = Affair(house)
    young = second.heard()
    assert second.table.problem(second.ada.get("/v1/cases")) == "403 not-an-auditor"
    desk = first.audrey.get("/v1/cases").json["cases"]
    assert [one["links"]["self"] for one in desk] == [old, young]
    assert [one["state"] for one in desk] == ["open", "answered"]
    page = first.audrey.get("/v1/cases?limit=1")
    assert page.headers["Link"].endswith('rel="next"')
    following = first.audrey.get(f"/v1/cases?limit=1&cursor={page.json['next']}").json
    assert ([one["links"]["self"] for one in following["cases"]], following["next"]) == ([young], None)
    assert [one["links"]["self"] for one in first.audrey.get("/v1/cases?state=answered").json["cases"]] == [young]
    assert second.rules(young, "uphold").status_code == 201
    assert [one["links"]["self"] for one in first.audrey.get("/v1/cases").json["cases"]] == [old]
    assert [one["links"]["self"] for one in first.audrey.get("/v1/cases?state=closed").json["cases"]] == [young]
    shown = first.audrey.get(old).json["refusals"]
    assert refused.json["refusal"] in [one["refusal"] for one in shown]
    assert first.house.nobody.get(old).json["refusals"] == []


def test_the_lists_of_cases_are_made_again_from_the_log(affair: Affair) -> None:
    case = affair.heard()
    assert affair.rules(case, "void").status_code == 201
    other = affair.opens(event=9)
    deps = affair.house.deps
    deps.redis.delete(f"{{s{affair.table.id[0]}}}:cases:{affair.table.id}")
    assert affair.game()["effective"]["ruling"] is None
    assert len(list(deps.index.rebuild())) == 3
    assert affair.everywhere()[0]["ruling"] == "void"
    assert len({str(counts) for counts in affair.everywhere()}) == 1
    assert [one["links"]["self"] for one in affair.audrey.get("/v1/cases").json["cases"]] == [other]


# -- pauses ----------------------------------------------------------------------------------------------------------


def test_play_goes_on_unless_the_table_says_otherwise(house: Any) -> None:
    affair = Affair(house, over=False)
    affair.opens(event=5)
    version = affair.table.version
    affair.play(2)
    assert affair.table.version == version + 2
    assert affair.game()["paused_by"] is None


def test_a_table_that_pauses_waits_for_the_ruling_and_then_its_clocks_begin_anew(house: Any) -> None:
    affair = Affair(house, over=False, options={"dispute_pauses": True, "turn_seconds": 60})
    table = affair.table
    case = affair.opens(event=5)
    due = table.shown()["to_act"][0]
    mover, other = (affair.ada, affair.bob) if due == 1 else (affair.bob, affair.ada)
    version = table.version
    assert table.shown()["paused_by"] == case.rpartition("/")[2]
    answer = table.act({"type": "end-turn"}, version, mover)
    assert (table.problem(answer), answer.json["case_id"]) == ("409 game-paused", case.rpartition("/")[2])
    assert table.problem(table.act({"type": "end-turn"}, version, mover, "?check=1")) == "409 game-paused"
    house.clock.pass_seconds(600)
    assert table.problem(other.post(f"{table.path}/timeout")) == "409 game-paused"
    assert affair.answers(case).status_code == 201
    assert affair.rules(case, "uphold").status_code == 201
    assert table.shown()["paused_by"] is None
    assert table.problem(other.post(f"{table.path}/timeout")) == "409 too-early"
    assert table.version == version
    assert table.act({"type": "end-turn"}, version, mover).status_code == 201


def test_the_clerk_leaves_a_paused_game_alone_and_takes_it_up_again(house: Any) -> None:
    ada, audrey = house.player("Ada"), house.auditor()
    table = ada.opens(options={"dispute_pauses": True, "turn_seconds": 60})
    assert table.seat(ada, bot="wanderer").status_code == 201
    table.starts()
    clerk = Clerk(house.deps)
    clerk.begin()
    clerk.work(0)
    while table.shown()["to_act"] != [1]:
        clerk.work(0)
    made = ada.post(f"{table.path}/disputes", json={"event": 4, "text": "Wait."})
    version = table.version
    clerk.work(0)
    house.clock.pass_seconds(3_600)
    clerk.work(0)
    assert table.version == version  # nobody claims the turn of who waits
    ruled = audrey.post(f"/v1/cases/{made.json['case_id']}/ruling", json={"ruling": "uphold", "text": "Go on."})
    assert ruled.status_code == 201
    clerk.work(0)
    house.clock.pass_seconds(61)
    clerk.work(0)
    assert table.version > version


# -- erasure ---------------------------------------------------------------------------------------------------------


def test_an_erased_text_leaves_chain_ruling_and_verdict_whole(affair: Affair) -> None:
    case = affair.heard()
    assert affair.rules(case, "void").status_code == 201
    before = affair.ada.get(case).json
    assert affair.table.problem(affair.bob.delete(f"{case}/texts/2")) == "403 not-the-author"
    assert affair.table.problem(affair.ada.delete(f"{case}/texts/1")) == "404 text-not-found"
    assert affair.ada.delete(f"{case}/texts/2").json["erased"] is True
    assert affair.house.auditor("operator").delete(f"{case}/texts/3").status_code == 200
    after = affair.ada.get(case).json
    assert [said["erased"] for said in after["statements"]] == [True, True, False]
    assert [said["text"] for said in after["statements"]] == [None, None, "Because."]
    for part in ("version", "head", "grade", "ruled", "verdict", "effective", "state"):
        assert after[part] == before[part]
    assert affair.ada.get(f"{case}/audit").json["verdict"] in ("VERIFIED", "VERIFIED WITH LIMITS")
    assert affair.game()["effective"]["ruling"] == "void"
    for key in affair.house.redis.keys("*"):
        kind = affair.house.redis.type(key)
        stored = str(affair.house.redis.hgetall(key)) if kind == b"hash" else ""
        assert "That was my turn." not in stored


def test_no_event_holds_a_text_and_the_hash_is_that_of_salt_and_text(affair: Affair) -> None:
    case = affair.heard()
    stored = b"".join(item.data for item in whole(affair.house.deps.log, case_id(case)) if isinstance(item, Event))
    assert b"my turn" not in stored
    said = affair.ada.get(case).json["statements"][0]
    text = said["text"].encode()
    material = b"annals/1:hidden\x00" + bytes.fromhex(said["salt"]) + len(text).to_bytes(2, "big") + text
    assert hashlib.sha256(material).hexdigest() == said["hash"]
    assert said["hash"] in stored.hex()


def test_a_text_that_was_changed_beside_the_log_does_not_hold(affair: Affair) -> None:
    case = affair.opens()
    key = f"{{s{case_id(case).hex()[0]}}}:texts:{case_id(case).hex()}"
    ((h, value),) = affair.house.redis.hgetall(key).items()
    affair.house.redis.hset(key, h, value[:32] + b"I was wrong.")
    said = affair.bob.get(case).json["statements"][0]
    assert (said["text"], said["holds"]) == ("I was wrong.", False)


# -- an operator who edits -------------------------------------------------------------------------------------------


def edited(event: Event, **changes: Any) -> bytes:
    fields = codec.decode(event.data)
    fields[7] = {**fields[7], **changes}
    return codec.encode(fields)


def put(affair: Affair, case: str, seq: int, data: bytes) -> None:
    """Write over a stored event, as one with the database in hand can."""
    keys = Keys.of(case_id(case))
    entries = affair.house.redis.xrange(keys.stream)
    affair.house.redis.delete(keys.stream)
    for number, (entry, fields) in enumerate(entries, 1):
        affair.house.redis.xadd(keys.stream, {b"e": data if number == seq else fields[b"e"]}, entry)


@pytest.mark.parametrize("seq", [1, 2, 3, 4, 5])
def test_an_operator_who_edits_any_event_of_a_case_is_caught(affair: Affair, seq: int) -> None:
    case = affair.heard()
    assert affair.rules(case, "void").status_code == 201
    assert {line.grade for line in validate(affair.house.deps.log, [case_id(case)])} == {"EXACT"}
    event = affair.house.deps.log.read(case_id(case), seq - 1, 1).events[0]
    put(affair, case, seq, edited(event, extra="x"))
    (line,) = validate(affair.house.deps.log, [case_id(case)])
    assert line.grade == "DIVERGED"
    audit = affair.ada.get(f"{case}/audit").json
    assert (audit["verdict"], audit["code"]) == ("NOT PROVEN", "V3")
    worker = affair.house.worker()
    assert affair.ada.at(worker).get(case).json["grade"] == "DIVERGED"


def test_a_forged_ruling_does_not_count(affair: Affair) -> None:
    case = affair.heard()
    assert affair.rules(case, "uphold").status_code == 201
    event = affair.house.deps.log.read(case_id(case), 3, 1).events[0]
    put(affair, case, 4, edited(event, ruling="void"))
    shown = affair.ada.at(affair.house.worker()).get(affair.table.path).json
    assert shown["effective"]["ruling"] is None


def test_a_case_that_was_written_anew_from_end_to_end_contradicts_its_receipts_and_the_log(
    affair: Affair, tmp_path: Path
) -> None:
    from service.proofs.sequencer import sequencer_of

    affair.house.deps.config = replace(affair.house.deps.config, log_dir=str(tmp_path / "log"))
    case = affair.heard()
    ruled = affair.rules(case, "uphold")
    sequencer = sequencer_of(affair.house.deps)
    while sequencer.step():
        pass
    sequencer.close()
    honest = affair.ada.get(f"{case}/audit").json
    assert honest["verdict"] == "VERIFIED WITH LIMITS"
    assert {check["id"]: check["result"] for check in honest["checks"]}["V6"] == "PASS"
    receipt = Statement.read(ruled.json["receipt"].encode(), Verifier.parse(affair.house.deps.signing.receipts.vkey))
    assert (receipt.game_id, receipt.seq) == (case_id(case), 5)

    log, redis, keys = affair.house.deps.log, affair.house.redis, Keys.of(case_id(case))
    events = log.read(case_id(case)).events
    redis.delete(keys.stream, keys.meta, keys.idem)
    prev = events[0].prev
    for event in events:
        body = {**event.body, "ruling": "void"} if event.kind == "ruling" else event.body
        written = Event.write(event.game_id, event.seq, prev, event.t_ms, event.kind, event.seat, body)
        log.append([written])
        prev = written.hash
    assert fold_case(case_id(case), log.read(case_id(case)).items).grade == "EXACT"  # by itself it holds
    assert prev != receipt.hash  # but two signed statements say otherwise
    forged = affair.ada.get(f"{case}/audit").json
    assert forged["verdict"] != honest["verdict"]
    assert "V6" in [check["id"] for check in forged["checks"] if check["result"] == "FAIL"]


def test_a_dispute_about_an_event_that_was_changed_since_says_so(affair: Affair) -> None:
    case = affair.opens(event=7)
    keys = Keys.of(bytes.fromhex(affair.table.id))
    entries = affair.house.redis.xrange(keys.stream)
    event = Event.read(entries[6][1][b"e"])
    affair.house.redis.delete(keys.stream)
    for number, (entry, fields) in enumerate(entries, 1):
        data = edited(event, extra="x") if number == 7 else fields[b"e"]
        affair.house.redis.xadd(keys.stream, {b"e": data}, entry)
    shown = affair.ada.at(affair.house.worker()).get(case).json
    assert (shown["event_holds"], shown["grade"]) == (False, "EXACT")
    audit = affair.ada.at(affair.house.worker()).get(f"{case}/audit").json
    assert (audit["verdict"], audit["code"]) == ("NOT PROVEN", "V12")


def test_an_event_that_cannot_be_read_can_still_be_disputed(affair: Affair) -> None:
    keys = Keys.of(bytes.fromhex(affair.table.id))
    entries = affair.house.redis.xrange(keys.stream)
    affair.house.redis.delete(keys.stream)
    for number, (entry, fields) in enumerate(entries, 1):
        affair.house.redis.xadd(keys.stream, {b"e": b"\xc1" if number == 7 else fields[b"e"]}, entry)
    ada = affair.ada.at(affair.house.worker())
    made = ada.post(f"{affair.table.path}/disputes", json={"event": 7, "text": "Where is it?"})
    assert made.status_code == 201, made.text
    assert made.json["event_holds"] is True
    assert made.json["verdict"]["verdict"] == "NOT PROVEN"


# -- many at once ----------------------------------------------------------------------------------------------------


def test_of_two_disputes_at_once_one_is_written_and_of_two_rulings_one(affair: Affair, race: Any) -> None:
    answers = race(*[lambda: affair.disputes(event=7)] * 4)
    assert sorted(answer.status_code for answer in answers) == [201, 409, 409, 409]
    case = next(f"/v1/cases/{answer.json['case_id']}" for answer in answers if answer.status_code == 201)
    assert affair.answers(case).status_code == 201
    rulings = race(*[lambda: affair.rules(case, "resume", version=6)] * 3)
    assert sorted(answer.status_code for answer in rulings) == [201, 409, 409]
    forks = affair.ada.get(f"/v1/games?forked_from={affair.table.id}").json["games"]
    assert len(forks) == 1


def test_the_shapes_of_cases_are_what_is_answered(affair: Affair) -> None:
    import msgspec

    made = affair.disputes()
    msgspec.convert(made.json, CaseWritten, strict=True)
    case = f"/v1/cases/{made.json['case_id']}"
    affair.answers(case)
    affair.rules(case, "resume", version=6)
    msgspec.convert(affair.audrey.get(case).json, CaseOut, strict=True)


def test_the_service_says_what_it_is_in_every_language(affair: Affair) -> None:
    case = affair.opens()
    told = {lang: affair.ada.get(f"{case}?lang={lang}").json["around"][0]["words"] for lang in ("en", "fr", "ja")}
    assert len(set(told.values())) == 3
    assert re.search(r"[ぁ-んァ-ヶ一-龠]", told["ja"])


# -- the command line ------------------------------------------------------------------------------------------------


@pytest.fixture
def desk(affair: Affair, monkeypatch: pytest.MonkeyPatch) -> Any:
    """`annals case` over the affair's database."""
    from click.testing import CliRunner

    from service import cli

    class Opened:
        def __init__(self, *_: Any, **__: Any) -> None:
            """Whatever is asked for, it is this house."""

        def __enter__(self) -> Any:
            return affair.house.deps

        def __exit__(self, *_: object) -> None:
            """The house stays open."""

    monkeypatch.setattr(cli, "_Opened", Opened)
    return lambda *arguments: CliRunner().invoke(cli.main, ["case", *arguments])


def test_the_desk_on_the_command_line_lists_shows_and_rules(affair: Affair, desk: Any) -> None:
    case = affair.opens()
    name, auditor = case.rpartition("/")[2], ("--auditor", affair.audrey.id)
    assert f"{name}  open " in desk("list").output
    early = desk("rule", name, "void", *auditor, "--text", "Too soon.")
    assert (early.exit_code, "wrong-case-state" in str(early.exception)) == (1, True)
    affair.answers(case)
    shown = desk("show", name, *auditor)
    assert shown.exit_code == 0, shown.output
    assert ">    7" in shown.output
    assert "dispute by Ada, seat 1" in shown.output
    assert "It was not." in shown.output
    assert [one["what"] for one in affair.ada.get(case).json["access"]] == ["annals case show"]
    scores = ("--winner", "2", "--score", "0", "--score", "5")
    ruled = desk("rule", name, "correct", *auditor, "--text", "The dice say so.", *scores)
    assert ruled.exit_code == 0, ruled.output
    assert "winners [2], scores [0, 5]" in ruled.output
    assert affair.everywhere()[1]["outcome"]["winners"] == [2]
    assert desk("list").output == "0 cases\n"
    assert name in desk("list", "--state", "closed").output


def test_the_command_line_refuses_who_is_no_auditor_and_what_is_no_case(affair: Affair, desk: Any) -> None:
    name = affair.heard().rpartition("/")[2]
    for verb in (("show", name), ("rule", name, "void", "--text", "Mine.")):
        refused = desk(*verb, "--auditor", affair.ada.id)
        assert "not-an-auditor" in str(refused.exception)
    missing = desk("show", affair.table.id, "--auditor", affair.audrey.id)
    assert "case-not-found" in str(missing.exception)
    assert affair.table.problem(affair.ada.get(f"/v1/cases/{affair.table.id}")) == "404 case-not-found"


def test_the_events_of_a_case_are_judged_without_the_service(affair: Affair, tmp_path: Path) -> None:
    from click.testing import CliRunner

    from service.cli import main

    case = affair.heard()
    assert affair.rules(case, "void").status_code == 201
    stored = affair.eve.get(f"{case}/events", {"Accept": "application/vnd.annals.events"})
    assert stored.content_type == "application/vnd.annals.events"
    path = tmp_path / "case.annals"
    path.write_bytes(stored.data)
    judged = CliRunner().invoke(main, ["verify", str(path)])
    assert (judged.exit_code, "VERIFIED WITH LIMITS" in judged.output) == (0, True), judged.output
    path.write_bytes(stored.data.replace(b"void", b"voix"))
    assert CliRunner().invoke(main, ["verify", str(path)]).exit_code == 4
