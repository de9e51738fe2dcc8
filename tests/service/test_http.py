"""The web's own rules: weird input, methods, media types, limits, headers, other origins, failures."""

import json
from typing import Any

import pytest
import redis

from events.log import Archived, OutcomeUnknown, Unavailable
from service.drafts import WrongStatus


def test_an_address_that_is_not_there_is_a_problem(house: Any, refusal: Any) -> None:
    ids = ("xyz", "A" * 32, "/events", "0" * 33, "0" * 32 + "/positions/01", "0" * 32 + "/positions/-1")
    for path in ("/nothing", "/v1", "/v1/rulesets/../x", "/%ff", *(f"/v1/games/{name}" for name in ids)):
        answer = house.nobody.get(path)
        assert refusal(answer) == "404 not-found"


def test_a_method_that_is_not_there_is_a_problem_that_names_those_that_are(house: Any, refusal: Any) -> None:
    for call in ("PUT /v1/games", "DELETE /v1/players", "PATCH /openapi.json", "BREW /v1/me"):
        answer = house.nobody.request(*call.split())
        assert refusal(answer) == "405 method-not-allowed"
        assert answer.headers["Allow"]


def test_a_body_of_another_type_is_refused(house: Any, refusal: Any) -> None:
    for content_type in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", "", "x"):
        answer = house.nobody.post("/v1/players", data='{"name": "Ada"}', content_type=content_type)
        assert refusal(answer) == "415 unsupported-media-type"
        assert answer.json["accepts"] == ["application/json"]
    made = house.nobody.post("/v1/players", data='{"name": "A"}', content_type="application/json; charset=utf-8")
    assert made.status_code == 201


@pytest.mark.parametrize(
    "body",
    [
        b"", b"{", b'{"name": "Ada"', b"\xff", b'{"name": "\xff"}', b'{"name": "Ada"} x', b"[" * 60_000,
        b'{"name":' * 5_000, b'{"a":' * 2_000 + b"1" + b"}" * 2_000, b"nul", b"'", b"\x00", b'{"name": "\\ud800"}',
    ],
)  # fmt: skip
def test_what_is_not_json_is_refused(house: Any, refusal: Any, body: bytes) -> None:
    answer = house.nobody.post("/v1/players", data=body, content_type="application/json")
    assert refusal(answer) in ("400 malformed-json", "422 invalid-body")


@pytest.mark.parametrize(
    "action",
    [
        '{"type":"move","to":' + "[" * 5_000 + "]" * 5_000 + "}",
        '{"type":"move","to":[1e400,0]}',
        '{"type":"move","to":[NaN,0]}',
        '{"type":"move","to":[99999999999999999999999,0]}',
        '{"type":"move","to":["1","0"]}',
        '{"type":"move","type":"end-turn","to":[0,1]}',
        '{"type":"\\u0000"}',
        '{"type":"' + "x" * 10_000 + '"}',
        '{"type":"end-turn","__proto__":{}}',
        '{"type":{"$ne":1}}',
    ],
)
def test_a_weird_action_is_a_problem_and_changes_nothing(table: Any, action: str) -> None:
    before = table.shown()
    body = f'{{"action":{action},"expected_version":{before["version"]}}}'
    answer = table.creator.post(f"{table.path}/actions", data=body, content_type="application/json")
    assert answer.status_code in (400, 422)
    table.problem(answer)
    assert table.shown() == before


@pytest.mark.parametrize("version", ['"5"', "-1", "5.5", "1e3", "null", "true", "99999999999999999999", "[5]"])
def test_a_weird_version_is_refused(table: Any, version: str) -> None:
    body = f'{{"action":{{"type":"end-turn"}},"expected_version":{version}}}'
    answer = table.creator.post(f"{table.path}/actions", data=body, content_type="application/json")
    assert table.problem(answer) in ("422 invalid-body", "412 stale")


@pytest.mark.parametrize(
    "query",
    ["seat=0", "seat=x", "seat=256", "seat=", "check=2", "check=yes", "lang=xx", "seat=%ff", "chek=1", "=", "a=1"],
)
def test_a_weird_query_is_refused(table: Any, query: str) -> None:
    assert table.problem(table.act({"type": "end-turn"}, table.version, query=f"?{query}")) == "400 bad-query"


def test_a_body_may_have_so_many_bytes_and_no_more(house: Any, refusal: Any) -> None:
    fits = json.dumps({"name": "Ada"}).ljust(65_536)
    assert house.nobody.post("/v1/players", data=fits, content_type="application/json").status_code == 201
    answer = house.nobody.post("/v1/players", data=fits + " ", content_type="application/json")
    assert refusal(answer) == "413 body-too-large"


def test_a_body_of_unknown_length_is_limited_too(house: Any, refusal: Any) -> None:
    from io import BytesIO

    answer = house.nobody.post(
        "/v1/players",
        input_stream=BytesIO(b" " * 100_000),
        content_type="application/json",
        environ_overrides={"wsgi.input_terminated": True, "HTTP_TRANSFER_ENCODING": "chunked"},
    )
    assert refusal(answer) == "413 body-too-large"


def test_an_unknown_member_of_a_body_is_refused(table: Any, house: Any, refusal: Any) -> None:
    assert refusal(house.nobody.post("/v1/players", json={"name": "Ada", "admin": True})) == "422 invalid-body"
    body = {"action": {"type": "end-turn"}, "expected_version": table.version, "signed": "x"}
    assert table.problem(table.creator.post(f"{table.path}/actions", json=body)) == "422 invalid-body"


# -- languages -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "language"),
    [
        ("fr", "fr"),
        ("ja-JP, en;q=0.5", "ja"),
        ("de", "en"),
        ("de, fr-CA;q=0.3, en;q=0.2", "fr"),
        ("FR", "fr"),
        ("*", "en"),
        ("fr;q=0, ja;q=0.1", "ja"),
        ("\x7f;q=x", "en"),
    ],
)
def test_problems_come_in_the_language_that_is_liked_best(house: Any, header: str, language: str) -> None:
    answer = house.nobody.get("/nothing", {"Accept-Language": header})
    assert answer.headers["Content-Language"] == language
    assert "Accept-Language" in answer.headers["Vary"]


def test_lang_goes_before_the_header(table: Any) -> None:
    for language, label in (("en", "Next"), ("fr", "Suivant"), ("ja", "次へ")):
        answer = table.creator.get(f"{table.path}/actions?lang={language}", {"Accept-Language": "de"})
        assert answer.headers["Content-Language"] == language
        assert answer.json["actions"][-1]["label"] == label


def test_one_event_is_told_in_three_languages(table: Any, house: Any) -> None:
    told = {
        house.nobody.get(f"{table.path}/events?lang={language}").json["events"][-1]["narration"]
        for language in ("en", "fr", "ja")
    }
    assert len(told) == 3


# -- pages and formats -----------------------------------------------------------------------------------------------


def test_events_come_in_pages(table: Any, house: Any) -> None:
    table.plays(10)
    found, path = [], f"{table.path}/events?limit=4&lang=fr"
    while path:
        answer = house.nobody.get(path)
        found += [event["seq"] for event in answer.json["events"]]
        link = answer.headers.get("Link", "")
        assert bool(link) == (answer.json["next"] is not None)
        path = link.partition(">")[0].strip("<")
        assert not path or "lang=fr" in path
    assert found == list(range(1, table.version + 1))


def test_a_page_behind_the_end_is_empty(table: Any, house: Any) -> None:
    assert house.nobody.get(f"{table.path}/events?after=999").json == {"events": [], "next": None}


def test_events_come_one_a_line(table: Any, house: Any) -> None:
    answer = house.nobody.get(f"{table.path}/events?after=2", {"Accept": "application/x-ndjson"})
    assert answer.content_type == "application/x-ndjson"
    lines = [json.loads(line) for line in answer.text.splitlines()]
    assert lines == house.nobody.get(f"{table.path}/events?after=2").json["events"]
    assert house.nobody.get(f"{table.path}/events?limit=1", {"Accept": "application/x-ndjson"}).text.count("\n") == 1


def test_lines_that_cannot_be_read_are_a_problem_before_the_first(
    table: Any, house: Any, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    def gone(*_: Any) -> Any:
        raise Unavailable("gone")
        yield  # never: a walk is a generator

    monkeypatch.setattr(house.deps.positions, "walk", gone)
    answer = house.nobody.get(f"{table.path}/events", {"Accept": "application/x-ndjson"})
    assert refusal(answer) == "503 unavailable"


def test_events_of_a_game_that_is_over_are_streamed_to_the_end(house: Any) -> None:
    table = house.player().opens(options={"stalemate_rounds": 1})
    table.seat(table.creator)
    table.starts()
    while table.shown()["status"] == "playing":
        table.act({"type": "end-turn"}, table.version)
    headers = {"Accept": "text/event-stream", "Last-Event-ID": str(table.version - 2)}
    text = house.nobody.get(f"{table.path}/events", headers).text
    assert text.count("\nid: ") == 2
    assert "event: end" in text


@pytest.mark.parametrize("header", ["x", "-1", "1.5", "9" * 20, "é"])
def test_a_last_event_id_that_is_none_is_refused(table: Any, house: Any, header: str) -> None:
    answer = house.nobody.get(f"{table.path}/events", {"Accept": "text/event-stream", "Last-Event-ID": header})
    assert table.problem(answer) == "400 bad-header"


def test_the_replay_tells_steps_with_words_and_chapters(table: Any, house: Any) -> None:
    table.plays(5)
    told = house.nobody.get(f"{table.path}/replay?at=8&lang=fr").json
    assert told["position"] == 8
    assert {step["version"] for step in told["steps"]} == set(range(1, 9))
    assert all(step["words"] for step in told["steps"])
    assert "length" not in told
    whole = house.nobody.get(f"{table.path}/replay?spoilers=1").json
    assert whole["length"] == table.version
    assert table.problem(house.nobody.get(f"{table.path}/replay?at=9999")) == "404 position-not-found"


def test_a_replay_without_spoilers_depends_on_nothing_that_came_later(table: Any, house: Any) -> None:
    paths = [f"{table.path}/replay?at=5", f"{table.path}/replay?limit=3", f"{table.path}/positions/5"]
    before = [(answer.data, sorted(answer.headers)) for answer in map(house.nobody.get, paths)]
    table.plays(10)
    assert [(answer.data, sorted(answer.headers)) for answer in map(house.nobody.get, paths)] == before


def test_a_position_is_drawn_with_the_targets_of_its_actions(table: Any, house: Any) -> None:
    version = table.version
    answer = house.nobody.get(f"{table.path}/positions/{version}.svg?theme=dark")
    assert answer.content_type == "image/svg+xml; charset=utf-8"
    assert answer.headers["Cache-Control"] == "public, max-age=31536000, immutable"
    assert 'id="tile-0--1"' in answer.text
    assert table.problem(house.nobody.get(f"{table.path}/positions/999.svg")) == "404 position-not-found"


def test_an_audit_gives_a_verdict_with_each_check(table: Any, house: Any) -> None:
    table.plays(5)
    verdict = house.nobody.get(f"{table.path}/audit").json
    assert verdict["verdict"] == "VERIFIED WITH LIMITS"
    assert verdict["events"] == table.version
    assert {"V3", "V9", "V12"} <= {check["id"] for check in verdict["checks"] if check["result"] == "PASS"}


# -- damage ----------------------------------------------------------------------------------------------------------


def spoil(house: Any, table: Any, seq: int) -> None:
    """Change one bit of a stored event, as somebody with the database in hand would."""
    game_id = bytes.fromhex(table.id)
    stream = f"{{s{table.id[0]}}}:ev:{table.id}"
    entries = house.redis.xrange(stream)
    house.redis.delete(stream)
    for entry_id, fields in entries:
        data = bytearray(fields[b"e"])
        if entry_id == f"{seq}-0".encode():
            place = data.rindex(b"f\xc4\x08") + 3  # the fingerprint
            data[place] ^= 1
        house.redis.xadd(stream, {b"e": bytes(data)}, id=entry_id)
    assert house.deps.log.head(game_id).version == len(entries)


def test_a_changed_byte_is_named_by_the_audit_and_the_game_is_read_but_not_played_on(house: Any, table: Any) -> None:
    table.plays(6)
    spoil(house, table, 8)
    other = house.worker()
    verdict = other.get(f"{table.path}/audit").json
    assert verdict["verdict"] == "NOT PROVEN"
    assert verdict["event"] == 8
    shown = other.get(table.path).json
    assert (shown["grade"], shown["first_bad"]) == ("DIVERGED", 8)
    assert other.get(f"{table.path}/state").json["grade"] == "DIVERGED"
    assert other.get(f"{table.path}/positions/7").json["grade"] == "EXACT"
    assert other.get(f"{table.path}/positions/8").json["grade"] == "DIVERGED"
    assert len(other.get(f"{table.path}/events").json["events"]) == shown["version"]
    player = table.creator.at(other)
    refused = table.act({"type": "end-turn"}, shown["version"], player)
    assert table.problem(refused) == "409 record-not-sound"
    assert refused.json["event"] == 8
    assert table.problem(player.post(f"{table.path}/seats/1/resign")) == "409 record-not-sound"


def test_a_game_under_rules_that_are_not_known_here_is_read_but_not_played_on(house: Any) -> None:
    from events.event import Event, genesis

    game_id = bytes.fromhex("ab" * 16)
    body = {
        "rules": "chess@7", "rules_hash": bytes(32), "seats": 2, "options": {}, "visibility": "public",
        "watching": "open", "commit": bytes(32), "chain_len": 9, "key_id": "test", "build": "a later one",
    }  # fmt: skip
    created = Event.write(game_id, 1, genesis(game_id), 1, "create", None, body)
    strange = Event.write(game_id, 2, created.hash, 2, "promote", 1, {"note": b"\x00"})
    house.deps.log.append([created, strange])
    path = f"/v1/games/{game_id.hex()}"
    ada = house.player()
    shown = ada.get(path).json
    assert (shown["ruleset"], shown["grade"], shown["first_bad"], shown["version"]) == ("chess@7", "UNVERIFIED", 1, 2)
    assert [event["kind"] for event in ada.get(f"{path}/events").json["events"]] == ["create", "promote"]
    assert ada.get(f"{path}/state").json["state"] is None
    assert ada.get(f"{path}/audit").json["verdict"] == "UNDETERMINED"
    assert ada.get(f"{path}/replay").status_code == 200
    assert ada.get("/v1/games").json["games"][0]["ruleset"] == "chess@7"
    assert ada.post(f"{path}/seats").json["code"] in ("record-not-sound", "wrong-status")
    body = {"action": {"type": "castle"}, "expected_version": 2}
    assert ada.post(f"{path}/actions", json=body).json["code"] == "not-your-seat"


# -- other origins ---------------------------------------------------------------------------------------------------


def test_pages_of_other_hosts_may_read(table: Any, house: Any) -> None:
    answer = house.nobody.get(f"{table.path}/state", {"Origin": "https://example.org"})
    assert answer.headers["Access-Control-Allow-Origin"] == "*"
    exposed = answer.headers["Access-Control-Expose-Headers"]
    assert set(exposed.split(", ")) >= {"ETag", "Link", "Location", "Retry-After", "Idempotency-Replayed"}
    assert "Access-Control-Allow-Credentials" not in answer.headers


def test_pages_of_other_hosts_may_ask_first(house: Any) -> None:
    headers = {
        "Origin": "https://example.org",
        "Access-Control-Request-Method": "GET",
        "Access-Control-Request-Headers": "authorization, last-event-id",
    }
    answer = house.nobody.request("OPTIONS", "/v1/games", headers)
    assert answer.status_code == 200
    assert "GET" in answer.headers["Access-Control-Allow-Methods"]
    assert "POST" not in answer.headers["Access-Control-Allow-Methods"]
    assert "Authorization" in answer.headers["Access-Control-Allow-Headers"]


def test_pages_of_other_hosts_may_not_write(house: Any) -> None:
    answer = house.nobody.post("/v1/players", {"Origin": "https://example.org"}, json={"name": "Ada"})
    assert "Access-Control-Allow-Origin" not in answer.headers


def test_problems_can_be_read_by_pages_of_other_hosts(house: Any) -> None:
    assert house.nobody.get("/nothing").headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("path", ["", "/state", "/actions", "/events", "/positions/3", "/replay", "/audit"])
def test_head_answers_as_get_without_the_body(table: Any, house: Any, path: str) -> None:
    got, asked = house.nobody.get(table.path + path), house.nobody.request("HEAD", table.path + path)
    assert (asked.status_code, asked.data) == (200, b"")
    assert dict(asked.headers) == dict(got.headers)


def test_the_entrance_is_the_lobby_and_leads_to_the_documentation(house: Any) -> None:
    answer = house.nobody.get("/")
    assert answer.status_code == 200
    assert 'href="/docs"' in answer.text


def test_every_answer_says_how_it_may_be_used(table: Any, house: Any) -> None:
    answers = [
        house.nobody.get("/nothing"),
        house.nobody.get("/docs"),
        house.nobody.get("/openapi.json"),
        house.nobody.get(f"{table.path}/state"),
        house.nobody.get(f"{table.path}/positions/3.svg"),
        table.first_legal(),
    ]
    for answer in answers:
        assert answer.headers["X-Content-Type-Options"] == "nosniff"
        assert "default-src 'none'" in answer.headers["Content-Security-Policy"]
        assert "unsafe" not in answer.headers["Content-Security-Policy"] or "svg" in answer.content_type
        assert answer.headers["Cache-Control"]
        assert "Server" not in answer.headers


# -- failures --------------------------------------------------------------------------------------------------------


def test_what_nobody_foresaw_is_a_problem_that_tells_nothing(house: Any, refusal: Any, monkeypatch: Any) -> None:
    def explode(*_: Any, **__: Any) -> Any:
        raise RuntimeError("the secret is swordfish")

    monkeypatch.setattr(house.deps.index, "catch_up", explode)
    answer = house.nobody.get("/v1/games")
    assert refusal(answer) == "500 internal"
    assert set(answer.json) == {"type", "title", "status", "detail", "code"}
    assert "swordfish" not in answer.text + str(answer.headers)


def test_a_failure_while_a_refusal_is_put_into_words_is_a_problem_too(table: Any, house: Any, monkeypatch: Any) -> None:
    version = table.version
    table.first_legal()

    def explode(*_: Any, **__: Any) -> Any:
        raise RuntimeError("swordfish")

    monkeypatch.setattr(house.deps.positions, "walk", explode)
    answer = table.act({"type": "end-turn"}, version)
    assert table.problem(answer) == "500 internal"


@pytest.mark.parametrize(
    ("error", "problem", "retry_after"),
    [
        (Unavailable("down"), "503 unavailable", "1"),
        (OutcomeUnknown("no answer"), "503 outcome-unknown", "1"),
        (Archived(9, bytes(32)), "409 archived", None),
        (redis.ResponseError("ERR at 10.0.0.7"), "500 internal", None),
    ],
)
def test_a_log_that_fails_is_told_by_what_to_do(
    table: Any, house: Any, monkeypatch: Any, error: Exception, problem: str, retry_after: str | None
) -> None:
    def fail(*_: Any) -> Any:
        raise error

    legal = table.legal()
    monkeypatch.setattr(house.deps.log, "append", fail)
    answer = table.act(legal["actions"][0]["action"], legal["version"])
    assert table.problem(answer) == problem
    assert answer.headers.get("Retry-After") == retry_after
    assert "10.0.0.7" not in answer.text


def test_who_acts_and_cannot_be_told_is_not_told_that_nothing_was_written(
    table: Any, house: Any, monkeypatch: Any
) -> None:
    """The append was done; the names of those who sit there come from the database too."""

    def away(*_: Any) -> Any:
        raise Unavailable("gone")

    legal = table.legal()
    action, version = legal["actions"][0]["action"], legal["version"]
    with monkeypatch.context() as patched:
        patched.setattr(house.deps.accounts, "names", away)
        assert table.problem(table.act(action, version, Idempotency_Key="once")) == "503 outcome-unknown"
    assert table.version > version
    again = table.act(action, version, Idempotency_Key="once")
    assert (again.status_code, again.headers["Idempotency-Replayed"]) == (201, "true")


def test_who_opens_a_table_and_cannot_be_told_is_not_told_so_either(house: Any, refusal: Any, monkeypatch: Any) -> None:
    def away(*_: Any) -> Any:
        raise Unavailable("gone")

    ada = house.player()
    with monkeypatch.context() as patched:
        patched.setattr(house.deps.accounts, "names", away)
        answer = ada.post("/v1/games", json={"ruleset": "donjon@1", "seats": 2})
    assert refusal(answer) == "503 outcome-unknown"


def test_who_only_reads_is_told_that_nothing_was_written(
    table: Any, house: Any, monkeypatch: Any, refusal: Any
) -> None:
    def silent(*_: Any) -> Any:
        raise OutcomeUnknown("no answer")

    monkeypatch.setattr(house.deps.log, "head", silent)
    assert refusal(house.nobody.get(table.path)) == "503 unavailable"


def test_without_the_key_of_its_dice_a_game_is_read_but_not_played(house: Any, table: Any) -> None:
    from service.app import create_app

    poor = house.bootstrap()
    poor.keyring = type(poor.keyring).parse(f"other={'22' * 32}")
    player = type(table.creator)(create_app(poor).test_client(), table.creator.token)
    assert player.get(f"{table.path}/state").status_code == 200
    assert table.problem(table.act({"type": "end-turn"}, table.version, player)) == "503 key-missing"


def test_a_game_whose_key_was_lost_is_closed_void_and_every_other_is_left_alone(house: Any, table: Any) -> None:
    from service import commands

    game_id = bytes.fromhex(table.id)
    with pytest.raises(commands.KeyKnown):
        commands.void(house.deps, game_id, "key-lost")
    poor = house.bootstrap()
    poor.keyring = type(poor.keyring).parse(f"other={'22' * 32}")
    commands.void(poor, game_id, "key-lost")
    shown = house.nobody.get(table.path).json
    assert (shown["status"], shown["to_act"]) == ("void", [])
    facts = house.nobody.get(f"{table.path}/events").json["events"][-1]["facts"]
    assert (facts["reason"], "tail" in facts) == ("key-lost", False)
    checks = {check["id"]: check["result"] for check in house.nobody.get(f"{table.path}/audit").json["checks"]}
    assert (checks["V10"], checks["V12"]) == ("NOT CHECKED", "PASS")
    with pytest.raises(WrongStatus):
        commands.void(poor, game_id, "key-lost")


def test_a_game_that_a_restored_backup_set_back_is_closed_void(house: Any, table: Any) -> None:
    from service import commands

    commands.void(house.deps, bytes.fromhex(table.id), "restored")
    assert house.nobody.get(table.path).json["status"] == "void"
    assert table.problem(table.creator.post(f"{table.path}/seats/1/resign")) == "409 wrong-status"
    checks = {check["id"]: check["result"] for check in house.nobody.get(f"{table.path}/audit").json["checks"]}
    assert (checks["V10"], checks["V12"]) == ("PASS", "PASS")


def test_a_key_that_was_retired_still_finds_the_tables_it_opened(house: Any) -> None:
    from service.app import create_app

    ada = house.player()
    body = {"ruleset": "donjon@1", "seats": 2}
    first = ada.post("/v1/games", {"Idempotency-Key": "table"}, json=body)
    turned = house.bootstrap()
    turned.keyring = type(turned.keyring).parse(f"next={'22' * 32}, test={'11' * 32}")
    later = type(ada)(create_app(turned).test_client(), ada.token, ada.id)
    assert later.post("/v1/games", {"Idempotency-Key": "table"}, json=body).data == first.data
    assert later.opens(headers={"Idempotency-Key": "other"}).id != first.json["game_id"]
