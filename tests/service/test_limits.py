"""How often one may ask: the limits of players and addresses, and what they never stop."""

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from redis.exceptions import NoScriptError

from events.log import OutcomeUnknown, Unavailable
from service import limits
from service.api.meta import everything
from service.app import create_app
from service.limits import LIMITS, MOVE, Limit, Rate, address_of

SECURITY = (Path(__file__).parents[2] / "docs" / "security.md").read_text()
SLOW = 3600.0
TABLE = {"ruleset": "donjon@1", "seats": 2}


@pytest.fixture
def strict(house: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    """A house in which limits hold: every player may do two of a kind, an address three, of reads many."""
    for kind, limit in LIMITS.items():
        player = None if limit.player is None else Rate(2, SLOW)
        most = {"reads": 1000, "refusals": 5}.get(kind, 3)
        monkeypatch.setitem(LIMITS, kind, Limit(player if most == 3 else Rate(most, SLOW), Rate(most, SLOW)))
    house.people = [house.player(name) for name in ("Ada", "Bob", "Cleo")]
    house.deps.limits.on = True
    return house


def door(house: Any, caller: Any) -> Any:
    """The same caller at another worker where limits hold."""
    caller = caller.at(house.nobody)
    caller.client = create_app(house.bootstrap(rate_limits=True)).test_client()
    return caller


# -- the table -------------------------------------------------------------------------------------------------------


def test_the_table_in_the_docs_is_this_one() -> None:
    rows = re.findall(r"^\| `([a-z-]+)` \| (.*) \| (.*) \| (.*) \|$", SECURITY, re.MULTILINE)
    written = {kind: (player, address) for kind, _, player, address in rows if kind in LIMITS}

    def told(rate: Rate | None) -> str:
        if rate is None:
            return ""
        each = f"one a {rate.every_s:g} s" if rate.every_s > 1 else f"{1 / rate.every_s:g} a second"
        return f"{rate.burst}, then {each}".replace("one a 1 s", "1 a second")

    assert written == {kind: (told(limit.player), told(limit.address)) for kind, limit in LIMITS.items()}
    assert f"{limits.STREAMS_PLAYER} live streams" in SECURITY
    assert f"{limits.STREAMS_ADDRESS} from one address" in SECURITY


def test_every_operation_that_writes_has_a_limit_or_is_a_move() -> None:
    writing = {route.name: route.limit for route in everything.routes if route.method != "GET"}
    assert set(writing.values()) <= {*LIMITS, MOVE} - {"reads"}
    moves = {name for name, kind in writing.items() if kind == MOVE}
    assert moves == {"act", "resign", "reveal", "sign_off", "hand_over", "claim_turn"}


def test_only_what_every_caller_is_shown_from_memory_or_a_file_has_no_limit() -> None:
    free = {route.name for route in everything.routes if route.limit is None}
    assert free == {
        "list_rulesets", "show_ruleset", "show_rules_text", "show_library", "show_openapi", "show_docs", "show_style",
        "show_problem", "show_static", "show_edition", "show_health", "show_readiness", "show_metrics",
        "show_checkpoint", "show_tile", "show_policy",
    }  # fmt: skip


def test_every_name_in_the_table_is_an_operation() -> None:
    assert set(limits.KINDS) <= {route.name for route in everything.routes}


# -- each limit ------------------------------------------------------------------------------------------------------

Spend = Callable[[Any, Any], Any]
SPENDING: dict[str, Spend] = {
    "tables": lambda house, who: who.post("/v1/games", json=TABLE),
    "seats": lambda house, who: who.post(f"{house.opened.path}/seats"),
    "tokens": lambda house, who: who.post("/v1/me/tokens"),
    "disputes": lambda house, who: who.post(f"{house.opened.path}/disputes", json={"event": 1, "text": "No."}),
    "audits": lambda house, who: who.get(f"{house.opened.path}/audit"),
    "pictures": lambda house, who: who.get(f"{house.opened.path}/positions/1.png"),
    "streams": lambda house, who: who.get(
        f"{house.opened.path}/events", {"Accept": "text/event-stream"}, buffered=False
    ),
}


@pytest.mark.parametrize("kind", SPENDING)
def test_a_player_who_asks_too_often_waits_and_nobody_else_does(strict: Any, refusal: Any, kind: str) -> None:
    ada, bob, cleo = strict.people
    strict.opened = cleo.opens(sit=False)
    LIMITS[kind] = LIMITS[kind]._replace(address=Rate(100, SLOW))
    spend = SPENDING[kind]
    for _ in range(2):
        answer = spend(strict, ada)
        assert answer.status_code != 429, answer.text
        answer.close()
    stopped = spend(strict, ada)
    assert refusal(stopped) == "429 too-many-requests"
    assert stopped.json["limit"] == kind
    assert 3500 <= int(stopped.headers["Retry-After"]) <= 3600
    assert stopped.headers["RateLimit-Policy"] == f'"{kind}";q=2;w=7200'
    assert stopped.headers["RateLimit"] == f'"{kind}";r=0;t={stopped.headers["Retry-After"]}'
    other = spend(strict, bob)
    assert other.status_code != 429
    other.close()


@pytest.mark.parametrize("kind", SPENDING)
def test_an_address_that_asks_too_often_waits_whoever_calls_from_it_and_no_other_does(
    strict: Any, refusal: Any, kind: str
) -> None:
    ada, bob, cleo = strict.people
    strict.opened = cleo.opens(sit=False)
    strict.deps.limits._paid.clear()
    for key in strict.redis.scan_iter(match="*:limit:*"):
        strict.redis.delete(key)
    spend = SPENDING[kind]
    for who in (ada, ada, bob):
        spend(strict, who).close()
    assert refusal(spend(strict, bob)) == "429 too-many-requests"
    cleo.client.environ_base["REMOTE_ADDR"] = "192.0.2.7"
    elsewhere = spend(strict, cleo)
    assert elsewhere.status_code != 429
    elsewhere.close()


def test_accounts_are_limited_by_address(strict: Any, refusal: Any) -> None:
    for path in ("/v1/players", "/session", "/v1/players"):
        assert strict.nobody.post(path, json={"name": "Eve"}).status_code == 201
    for path in ("/v1/players", "/session"):
        assert refusal(strict.nobody.post(path, json={"name": "Eve"})) == "429 too-many-requests"


def test_a_player_with_many_tokens_is_one_player(strict: Any, refusal: Any) -> None:
    ada = strict.people[0]
    second = ada.at(strict.nobody)
    second.token = ada.post("/v1/me/tokens").json["token"]
    for who in (ada, second):
        assert who.post("/v1/games", json=TABLE).status_code == 201
    assert refusal(second.post("/v1/games", json=TABLE)) == "429 too-many-requests"


def test_reads_are_limited_too_and_bought_by_the_dozen(strict: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = strict.people[0]
    monkeypatch.setitem(LIMITS, "reads", Limit(Rate(50, SLOW), Rate(1000, SLOW), batch=20))
    asked = []
    take = strict.deps.limits._take
    monkeypatch.setattr(strict.deps.limits, "_take", lambda *what: asked.append(what) or take(*what))
    statuses = [ada.get("/v1/me").status_code for _ in range(55)]
    assert statuses == [200] * 50 + [429] * 5
    assert len(asked) == 4  # three times for tokens, once in vain: then nobody is asked until there may be one


@pytest.mark.parametrize(("language", "word"), [("en", "try again in"), ("fr", "réessayez dans"), ("ja", "秒後に")])
def test_what_is_limited_is_said_in_every_language(strict: Any, language: str, word: str) -> None:
    ada = strict.people[0]
    for _ in range(2):
        ada.post("/v1/games", json=TABLE)
    stopped = ada.post(f"/v1/games?lang={language}", json=TABLE)
    assert stopped.status_code == 429
    assert word in stopped.json["detail"]


def test_there_are_tokens_again_after_a_while(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "tables", Limit(Rate(2, 0.05), None))
    ada = house.player()
    house.deps.limits.on = True
    statuses: list[int] = []
    while statuses[-2:] != [429, 201]:
        statuses.append(ada.post("/v1/games", json=TABLE).status_code)
        assert len(statuses) < 10_000
    assert statuses[:2] == [201, 201]


# -- what they never stop --------------------------------------------------------------------------------------------


def test_a_player_who_used_up_every_limit_still_plays_their_game_to_its_end(strict: Any) -> None:
    ada = strict.people[0]
    table = ada.opens(options={"stalemate_rounds": 1})
    assert table.seat(ada).status_code == 201
    table.starts()
    strict.opened = table
    for kind, spend in SPENDING.items():
        answers = [spend(strict, ada) for _ in range(8)]
        assert kind in ("reads",) or answers[-1].status_code == 429, kind
        for answer in answers:
            answer.close()
    for _ in range(6):
        refused = table.act({"type": "end-turn"}, 1)
    assert refused.status_code == 429
    version = table.version
    while table.shown()["status"] == "playing":
        assert table.act({"type": "end-turn"}, version).status_code == 201
        version += 1
        version = table.version


def test_refusals_are_limited_and_then_neither_signed_nor_kept(strict: Any, refusal: Any) -> None:
    ada = strict.people[0]
    table = ada.opens()
    table.seat(ada)
    table.starts()
    answers = [table.act({"type": "end-turn"}, 1) for _ in range(7)]
    assert [answer.status_code for answer in answers] == [412] * 5 + [429] * 2
    assert all("refusal" in answer.json for answer in answers[:5])
    assert "refusal" not in answers[-1].json
    assert refusal(answers[-1]) == "429 too-many-requests"
    assert answers[-1].json["limit"] == "refusals"
    assert table.first_legal().status_code == 201


def test_a_dry_run_is_a_read(strict: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    ada = strict.people[0]
    table = ada.opens()
    table.seat(ada)
    table.starts()
    legal = table.legal()
    monkeypatch.setitem(LIMITS, "reads", Limit(Rate(3, SLOW), Rate(1000, SLOW)))
    strict.deps.limits._known.clear()
    for key in strict.redis.scan_iter(match="*:limit:reads:*"):
        strict.redis.delete(key)
    action = legal["actions"][0]["action"]
    assert [table.act(action, legal["version"], query="?check=1").status_code for _ in range(4)] == [200] * 3 + [429]
    assert table.act(action, legal["version"]).status_code == 201


# -- all workers, and no database ------------------------------------------------------------------------------------


def test_workers_share_one_bucket(strict: Any, refusal: Any) -> None:
    ada = strict.people[0]
    beside = door(strict, ada)
    assert ada.post("/v1/games", json=TABLE).status_code == 201
    assert beside.post("/v1/games", json=TABLE).status_code == 201
    for who in (ada, beside, door(strict, ada)):
        assert refusal(who.post("/v1/games", json=TABLE)) == "429 too-many-requests"


@pytest.mark.parametrize("failure", [Unavailable("gone"), OutcomeUnknown("no answer")], ids=["gone", "silent"])
def test_where_nobody_can_count_everybody_goes_on(
    strict: Any, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    asked = []

    def fails(*commands: Any) -> Any:
        asked.append(commands)
        raise failure

    monkeypatch.setattr(strict.deps.limits._wire, "replies", fails)
    assert {strict.people[0].get("/v1/me").status_code for _ in range(1005)} == {200}
    assert len(asked) < 50  # for a second after a failure it is not asked again


def test_where_one_of_two_servers_lost_the_script_the_other_bucket_is_not_charged_twice(
    strict: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    ada = strict.people[0]
    assert ada.post("/v1/games", json=TABLE).status_code == 201
    wire = strict.deps.limits._wire
    replies, again = wire.replies, []

    def lost(*commands: Any) -> Any:
        if commands[0][0] == "EVALSHA" and len(commands) == 2:
            return [*replies(commands[0]), NoScriptError("NOSCRIPT")]
        again.append(commands)
        return replies(*commands)

    monkeypatch.setattr(wire, "replies", lost)
    assert ada.post("/v1/games", json=TABLE).status_code == 201  # the last token of two
    assert [len(commands) for commands in again] == [1]
    assert again[0][0][0] == "EVAL"
    assert ada.post("/v1/games", json=TABLE).status_code == 429


def test_a_bucket_is_gone_once_it_is_full_and_names_nobody(strict: Any) -> None:
    ada = strict.people[0]
    ada.post("/v1/games", json=TABLE)
    keys = [key.decode() for key in strict.redis.scan_iter(match="*:limit:*")]
    assert keys
    for key in keys:
        assert 0 < strict.redis.pttl(key) <= 2 * SLOW * 1000
        assert re.fullmatch(r"\{s[0-9a-f]\}:limit:[a-z]+:[0-9a-f]{32}", key)
        assert key[2] == key.rpartition(":")[2][0]  # everything of one caller in one slot of a cluster
    assert "127.0.0.1" not in "".join(keys)


def test_limits_can_be_switched_off(house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(LIMITS, "tables", Limit(Rate(1, SLOW), Rate(1, SLOW)))
    ada = house.player()
    assert {ada.post("/v1/games", json=TABLE).status_code for _ in range(5)} == {201}
    assert not list(house.redis.scan_iter(match="*:limit:*"))


# -- live streams ----------------------------------------------------------------------------------------------------


def opened(caller: Any, path: str) -> Any:
    """A live stream, begun."""
    answer = caller.get(path, {"Accept": "text/event-stream"}, buffered=False)
    if answer.status_code == 200:
        next(answer.response)
    return answer


def test_a_player_has_so_many_live_streams_open_and_no_more(
    house: Any, table: Any, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STREAMS_PLAYER", 2)
    house.deps.limits.on = True
    ada, bob = table.creator, house.player("Bob")
    streams = [opened(ada, f"{table.path}/events"), opened(ada, "/v1/me/stream")]
    assert ada.request("HEAD", "/v1/me/stream").status_code == 429
    stopped = opened(ada, f"{table.path}/events")
    assert refusal(stopped) == "429 too-many-streams"
    assert stopped.json["limit"] == 2
    assert stopped.headers["Retry-After"] == "10"
    other = opened(bob, f"{table.path}/events")
    assert other.status_code == 200
    streams.pop().close()
    streams.append(opened(ada, "/v1/me/stream"))
    assert streams[-1].status_code == 200
    for stream in (*streams, other):
        stream.close()
    assert not house.deps.limits._open


def test_so_many_live_streams_are_open_from_one_address_and_no_more(
    house: Any, table: Any, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(limits, "STREAMS_ADDRESS", 3)
    house.deps.limits.on = True
    streams = [opened(who, f"{table.path}/events") for who in (house.nobody, house.nobody, table.creator)]
    assert refusal(opened(house.nobody, f"{table.path}/events")) == "429 too-many-streams"
    for _ in range(5):
        assert house.nobody.request("HEAD", f"{table.path}/events", {"Accept": "text/event-stream"}).status_code == 429
    for stream in streams:
        stream.close()
    for _ in range(5):  # whoever asks for the head alone holds no place
        assert house.nobody.request("HEAD", f"{table.path}/events", {"Accept": "text/event-stream"}).status_code == 200
    assert not house.deps.limits._open


# -- addresses -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("proxies", "forwarded", "address"),
    [
        (0, "", "192.0.2.1"),
        (0, "198.51.100.9", "192.0.2.1"),
        (1, "198.51.100.9", "198.51.100.9"),
        (1, "203.0.113.5, 198.51.100.9", "198.51.100.9"),
        (2, "203.0.113.5, 198.51.100.9", "203.0.113.5"),
        (2, "198.51.100.9", "192.0.2.1"),
        (1, "", "192.0.2.1"),
        (1, "198.51.100.9:4711", "198.51.100.9"),
        (1, "2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"),
        (1, "[2001:db8:1:2:ffff::6]", "2001:db8:1:2::/64"),
        (1, "::ffff:198.51.100.9", "198.51.100.9"),
        (1, "fe80::1%eth0", "fe80::/64"),
        (1, "unknown", "unknown"),
    ],
)
def test_an_address_is_what_the_last_proxy_that_is_trusted_wrote(proxies: int, forwarded: str, address: str) -> None:
    environ = {"REMOTE_ADDR": "192.0.2.1"} | ({"HTTP_X_FORWARDED_FOR": forwarded} if forwarded else {})
    assert address_of(environ, proxies) == address


def test_without_an_address_there_is_one_bucket_for_all() -> None:
    assert address_of({}, 0) == ""


def test_forwarded_addresses_count_only_where_a_proxy_is_trusted(
    house: Any, refusal: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(LIMITS, "accounts", Limit(None, Rate(1, SLOW)))
    trusting = create_app(house.bootstrap(rate_limits=True, proxies=1)).test_client()
    plain = create_app(house.bootstrap(rate_limits=True)).test_client()
    for client, last in ((trusting, 201), (plain, 429)):
        sent = [
            client.post("/v1/players", json={"name": "Eve"}, headers={"X-Forwarded-For": f"198.51.100.{number}"})
            for number in range(3)
        ]
        assert [answer.status_code for answer in sent] == [201, last, last]
