"""What happens when somebody writes into the database: one game is stopped, and no other feels it."""

from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import pytest

from events import codec
from events.event import event_hash, genesis
from events.redis_log import Keys
from service.clerk import Clerk


class Intruder:
    """Somebody who holds the database and no key."""

    def __init__(self, house: Any, table: Any) -> None:
        self.redis, self.id = house.redis, bytes.fromhex(table.id)
        self.keys = Keys.of(self.id)

    def stored(self) -> list[bytes]:
        return [fields[b"e"] for _, fields in self.redis.xrange(self.keys.stream)]

    def puts(self, events: list[bytes], meta: bool = True) -> None:
        """The game is these events."""
        self.redis.delete(self.keys.stream, self.keys.meta)
        for seq, data in enumerate(events, 1):
            self.redis.xadd(self.keys.stream, {"e": data}, id=f"{seq}-0")
        if meta:
            self.redis.hset(self.keys.meta, mapping={"version": len(events), "head": event_hash(events[-1])})
        self.tells()

    def tells(self) -> None:
        """Everybody looks at the game."""
        self.redis.xadd(self.keys.feed, {"g": self.id, "v": "99", "n": "1"})

    def rewrites(self, change: Callable[[list[Any]], None]) -> None:
        """A change in the events, and the chain made anew: no hash is wrong."""
        events = [codec.decode(data) for data in self.stored()]
        change(events)
        chained: list[bytes] = []
        for event in events:
            event[3] = event_hash(chained[-1]) if chained else genesis(self.id)
            chained.append(codec.encode(event))
        self.puts(chained)


def breaks_and_forgets(intruder: Intruder) -> None:
    events = intruder.stored()
    events[5] = events[5][:-1] + bytes([events[5][-1] ^ 1])
    intruder.puts(events, meta=False)


def another_type(key: str) -> Callable[[Intruder], None]:
    def replaced(intruder: Intruder) -> None:
        name = getattr(intruder.keys, key)
        intruder.redis.delete(name)
        intruder.redis.set(name, "nonsense")
        intruder.tells()

    return replaced


def end_of_time(intruder: Intruder) -> None:
    def late(events: list[Any]) -> None:
        events[-1][4] = 2**63

    intruder.rewrites(late)


def a_thousand_seats(intruder: Intruder) -> None:
    def crowded(events: list[Any]) -> None:
        events[0][7]["seats"] = 1_000

    intruder.rewrites(crowded)


def no_first_event(intruder: Intruder) -> None:
    def unheard_of(events: list[Any]) -> None:
        events[0][7]["visibility"] = "whatever"

    intruder.rewrites(unheard_of)


def an_unreadable_row(intruder: Intruder) -> None:
    intruder.redis.hset(f"{{index}}:game:{intruder.id.hex()}", "row", b"{")


ATTACKS = {
    "an event broken and the head forgotten": breaks_and_forgets,
    "a stream of another type": another_type("stream"),
    "a head of another type": another_type("meta"),
    "a time at which no calendar ends": end_of_time,
    "a thousand seats": a_thousand_seats,
    "no first event": no_first_event,
    "a row that cannot be read": an_unreadable_row,
}


@pytest.mark.parametrize("attack", ATTACKS)
def test_one_forged_game_keeps_nobody_else_from_lists_and_bots(house: Any, table: Any, attack: str) -> None:
    table.plays(4)
    house.nobody.get("/v1/games")
    ATTACKS[attack](Intruder(house, table))
    door = house.worker()
    other = table.creator.opens(seats=2)
    assert other.seat(other.creator, bot="delver").status_code == 201
    other.starts()
    for path in ("/v1/games", "/v1/games?status=playing"):
        assert other.id in [game["game_id"] for game in door.get(path).json["games"]]
    assert other.id in table.creator.at(door).get("/v1/me").text
    clerk = Clerk(house.bootstrap())
    clerk.begin()
    clerk.work(block_ms=0)
    assert other.shown()["to_act"] == [1]


@pytest.mark.parametrize("attack", ATTACKS)
@pytest.mark.parametrize("path", ["", "/state", "/actions", "/events", "/replay", "/audit", "/positions/3.svg"])
def test_no_forged_game_is_answered_with_a_failure_of_ours(house: Any, table: Any, attack: str, path: str) -> None:
    table.plays(4)
    ATTACKS[attack](Intruder(house, table))
    for caller in (house.worker(), table.creator, table.creator.at(house.worker())):
        assert caller.get(f"{table.path}{path}").status_code < 500


def test_nothing_is_forked_from_a_position_that_was_not_played(house: Any, refusal: Any) -> None:
    ada = house.player()
    table = ada.opens(options={"stalemate_rounds": 1})
    table.seat(ada)
    table.starts()
    while table.shown()["status"] == "playing":
        legal = table.legal()
        table.act(legal["actions"][-1]["action"], legal["version"])
    fork = ada.post(f"{table.path}/forks", json={"version": 6}).json["links"]["self"]
    ada.post(f"{fork}/seats")

    def gold(events: list[Any]) -> None:
        next(event for event in events if event[5] == "act")[7]["f"] = bytes(8)

    Intruder(house, table).rewrites(gold)
    late = ada.at(house.worker())
    first = next(event["seq"] for event in late.get(f"{table.path}/events").json["events"] if event["kind"] == "act")
    assert refusal(late.post(f"{table.path}/forks", json={"version": first})) == "409 record-not-sound"

    def cut(events: list[Any]) -> None:
        events[4][7].clear()

    Intruder(house, table).rewrites(cut)
    assert refusal(ada.at(house.worker()).post(f"{fork}/start")) == "409 record-not-sound"


def frames(answer: Any) -> Iterator[bytes]:
    return (chunk for chunk in answer.response if not chunk.startswith(b"retry"))


def test_a_game_that_cannot_be_read_ends_no_other_live_stream(house: Any, table: Any) -> None:
    other = house.player("Bob").opens()
    other.seat(other.creator)
    other.starts()
    events = {"Accept": "text/event-stream"}
    broken = frames(house.nobody.get(f"{table.path}/events", events, buffered=False))
    whole = frames(house.nobody.get(f"{other.path}/events?after={other.version}", events, buffered=False))
    next(broken)
    seen = islice(whole, 1)
    house.deps.hub._start()
    another_type("stream")(Intruder(house, table))
    other.plays(1)
    assert next(seen).startswith(b"id: ")
    reader = house.deps.hub._reader
    other.plays(1)
    assert next(whole).startswith(b"id: ")
    assert reader.is_alive()


def test_a_delayed_stream_of_a_game_with_a_gap_goes_on(house: Any) -> None:
    ada = house.player()
    table = ada.opens(watching="delayed:600")
    table.seat(ada)
    table.starts()
    table.plays(6)
    house.redis.xdel(Keys.of(bytes.fromhex(table.id)).stream, "7-0")
    events = {"Accept": "text/event-stream"}
    watching = house.worker().get(f"{table.path}/events", events, buffered=False)
    assert next(frames(watching)).startswith(b"id: 1\n")


def test_a_delayed_watcher_is_not_told_of_damage_that_is_still_to_come(house: Any) -> None:
    ada = house.player()
    table = ada.opens(watching="delayed:600")
    table.seat(ada)
    table.starts()
    house.clock.pass_seconds(1_000)
    table.plays(5)
    intruder = Intruder(house, table)
    intruder.puts([*intruder.stored()[:-1], b"\xff"])
    watcher = house.worker()
    shown = watcher.get(table.path).json
    assert (shown["grade"], shown["first_bad"]) == ("EXACT", None)
    assert watcher.get(f"{table.path}/audit").json["verdict"] == "VERIFIED WITH LIMITS"


def test_what_a_replay_says_of_who_sat_down_does_not_depend_on_who_stayed(house: Any) -> None:
    ada, bob = house.player("Ada"), house.player("Bob")
    table = ada.opens()
    table.seat(bob)
    paths = (f"{table.path}/replay?at=3", f"{table.path}/events?limit=3")
    before = [ada.get(path).text for path in paths]
    bob.delete(f"{table.path}/seats/2")
    assert "Bob" in before[0]
    assert ada.get(paths[0]).text == before[0]
    assert ada.get(paths[1]).json["events"][2]["narration"] in before[1]
