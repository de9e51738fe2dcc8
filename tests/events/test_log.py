"""The contract of an EventLog, on every server that we run on."""

import os
import secrets
import signal
import socket
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import redis

from events.embedded import Embedded
from events.event import Event, genesis
from events.log import (
    BLOCK_LIMIT_MS,
    MISSED_LIMIT,
    AlreadyDone,
    Appended,
    Archived,
    Conflict,
    Damage,
    Damaged,
    EventLog,
    FeedLine,
    Head,
    OutcomeUnknown,
    Unavailable,
    idempotency_key,
    whole,
)
from events.redis_client import Wire, connect
from events.redis_log import APPEND, Keys, RedisLog, feed_key

ROOT = Path(__file__).resolve().parents[2]


def new_game(shard: str | None = None) -> bytes:
    game_id = secrets.token_bytes(16)
    return game_id if shard is None else bytes([int(shard, 16) << 4 | game_id[0] & 15]) + game_id[1:]


def following(
    game_id: bytes, head: Head, count: int = 1, kind: str = "act", seat: int | None = 1, **body: Any
) -> list[Event]:
    """``count`` events that may be appended after ``head``."""
    events: list[Event] = []
    for _ in range(count):
        event = Event.write(game_id, head.version + 1, head.head, 1_800_000_000_000, kind, seat, body)
        head = Head(event.seq, event.hash)
        events.append(event)
    return events


def played(log: EventLog, count: int, game_id: bytes | None = None) -> list[Event]:
    """A game with ``count`` keyed events, the last two written by one append."""
    game_id = game_id or new_game()
    events: list[Event] = []
    head = Head(0, genesis(game_id))
    for number in range(count):
        events += following(game_id, head, a=["pass", {}], k=number.to_bytes(8, "big"), f=secrets.token_bytes(8))
        head = Head(events[-1].seq, events[-1].hash)
    for event in events[:-2]:
        assert log.append([event]) == Appended(event.seq, event.hash)
    last = events[-1]
    assert log.append(events[-2:]) == Appended(last.seq, last.hash)
    return events


def everything(client: redis.Redis, game_id: bytes) -> list[Any]:
    keys = Keys.of(game_id)
    return [
        client.xrange(keys.stream), client.hgetall(keys.meta), client.hgetall(keys.idem), client.xlen(keys.feed)
    ]  # fmt: skip


class TestAppendAndRead:
    def test_an_unknown_game_is_empty_and_at_version_0(self, log: EventLog) -> None:
        game_id = new_game()
        assert log.head(game_id) == Head(0, genesis(game_id))
        assert (log.read(game_id).items, log.read(game_id).next) == ((), None)
        assert log.read(game_id, after=7).items == ()

    def test_events_are_read_back_byte_for_byte_and_densely_numbered(self, log: EventLog) -> None:
        events = played(log, 12)
        page = log.read(events[0].game_id)
        assert [event.data for event in page.events] == [event.data for event in events]
        assert [event.seq for event in page.events] == list(range(1, 13))
        assert (page.damage, page.next) == ([], None)
        assert log.head(events[0].game_id) == Head(12, events[-1].hash)

    def test_a_log_of_pages_is_the_log(self, log: EventLog) -> None:
        events = played(log, 11)
        for limit in range(1, 13):
            read: list[Event | Damage] = []
            position: int | None = 0
            while position is not None:
                page = log.read(events[0].game_id, position, limit)
                assert len(page.items) <= limit
                read += page.items
                position = page.next
            assert read == events
        for after in range(12):
            assert list(whole(log, events[0].game_id, after)) == events[after:]

    def test_several_events_are_one_append(self, log: EventLog) -> None:
        game_id = new_game()
        events = following(game_id, log.head(game_id), count=5)
        assert log.append(events) == Appended(5, events[-1].hash)
        assert log.read(game_id).events == events

    def test_a_conflict_tells_where_the_game_stands_and_what_was_missed(self, log: EventLog) -> None:
        events = played(log, 9)
        game_id, head = events[0].game_id, Head(4, events[3].hash)
        with pytest.raises(Conflict) as conflict:
            log.append(following(game_id, head, count=2))
        assert (conflict.value.version, conflict.value.head) == (9, events[-1].hash)
        assert conflict.value.missed == tuple(events[4:])
        assert log.read(game_id).events == events

    def test_a_conflict_carries_a_bounded_number_of_events(self, log: EventLog) -> None:
        game_id = new_game()
        start = log.head(game_id)
        events = following(game_id, start, count=MISSED_LIMIT + 5)
        log.append(events)
        with pytest.raises(Conflict) as conflict:
            log.append(following(game_id, start, f=b"other"))
        assert conflict.value.version == MISSED_LIMIT + 5
        assert conflict.value.missed == tuple(events[:MISSED_LIMIT])

    def test_events_on_another_past_are_a_conflict(self, log: EventLog) -> None:
        events = played(log, 3)
        game_id = events[0].game_id
        for head in (Head(3, bytes(32)), Head(5, events[-1].hash)):
            with pytest.raises(Conflict) as conflict:
                log.append(following(game_id, head))
            assert (conflict.value.version, conflict.value.missed) == (3, ())
        unknown = new_game()
        with pytest.raises(Conflict) as conflict:
            log.append(following(unknown, Head(2, bytes(32))))
        assert (conflict.value.version, conflict.value.head) == (0, genesis(unknown))
        assert log.head(game_id).version == 3
        assert log.head(unknown).version == 0

    def test_events_that_are_no_chain_are_not_even_sent(self, log: EventLog) -> None:
        game_id, other = new_game(), new_game()
        first, second, third = following(game_id, Head(0, genesis(game_id)), count=3)
        for wrong in (
            [], [first, third], [second, first], [first, first], [first, *following(other, Head(1, first.hash))],
            following(game_id, Head(0, bytes(32))), [first, *following(game_id, Head(1, bytes(32)))],
        ):  # fmt: skip
            with pytest.raises(ValueError):
                log.append(wrong)
        assert log.head(game_id).version == 0

    def test_unknown_kinds_and_body_keys_are_carried_unharmed(self, log: EventLog) -> None:
        game_id = new_game()
        body = {"zz": [1, {"deep": [None, True, -5, b"\x00\xff"]}], "ä": "ö", "f": b"12345678"}
        events = following(game_id, log.head(game_id), count=2, kind="weather", seat=None, **body)
        log.append(events)
        assert [(event.kind, event.body, event.data) for event in log.read(game_id).events] == [
            ("weather", body, event.data) for event in events
        ]

    def test_the_largest_event_fits(self, log: EventLog) -> None:
        game_id = new_game()
        overhead = len(following(game_id, log.head(game_id), blob=b"x" * 60_000)[0].data) - 60_000
        events = following(game_id, log.head(game_id), blob=secrets.token_bytes(65_535 - overhead))
        assert len(events[0].data) == 65_535
        log.append(events)
        assert log.read(game_id).events == events

    def test_every_game_is_listed_once(self, log: EventLog) -> None:
        games = {played(log, 2)[0].game_id for _ in range(20)}
        listed = Counter(log.games())
        assert games <= set(listed)
        assert set(listed.values()) == {1}

    def test_a_page_must_be_asked_for_sensibly(self, log: EventLog) -> None:
        for after, limit in ((-1, 5), (0, 0), (0, -1)):
            with pytest.raises(ValueError):
                log.read(new_game(), after, limit)


class TestOnce:
    def test_a_retry_with_the_same_key_writes_once_and_answers_the_same(
        self, log: EventLog, client: redis.Redis
    ) -> None:
        game_id = new_game()
        k = idempotency_key("a key of the client's")
        first = following(game_id, log.head(game_id), a=["pass", {}], k=k)
        log.append(first)
        before = everything(client, game_id)
        for _ in range(3):
            assert log.append(first) == AlreadyDone(first[0])
        decided_again = following(game_id, log.head(game_id), a=["pass", {}], k=k)
        assert log.append(decided_again) == AlreadyDone(first[0])
        assert everything(client, game_id) == before
        assert log.answered(game_id, 1, k) == 1

    def test_a_retry_of_an_act_that_closed_the_game_is_answered_by_the_act(self, log: EventLog) -> None:
        events = played(log, 4)
        game_id, head = events[0].game_id, Head(4, events[-1].hash)
        act = following(game_id, head, a=["pass", {}], k=b"last-act")
        close = following(game_id, Head(5, act[0].hash), kind="close", seat=None, status="finished")
        assert log.append(act + close) == Appended(6, close[0].hash)
        assert log.append(act + close) == AlreadyDone(act[0])
        assert log.read(game_id).events == events + act + close

    def test_a_key_is_a_seats_own_in_one_game(self, log: EventLog) -> None:
        k = b"samesame"
        for game_id in (new_game(), new_game()):
            for seat in (1, 2, 255):
                event = following(game_id, log.head(game_id), seat=seat, a=["pass", {}], k=k)
                assert isinstance(log.append(event), Appended)
            assert [log.answered(game_id, seat, k) for seat in (1, 2, 255, 3)] == [1, 2, 3, None]
        assert log.answered(new_game(), 1, k) is None

    def test_the_key_of_a_signed_action_is_its_bytes(self, log: EventLog) -> None:
        game_id = new_game()
        signed = secrets.token_bytes(120)
        first = following(game_id, log.head(game_id), a=signed, g=secrets.token_bytes(64))
        log.append(first)
        again = following(game_id, log.head(game_id), a=signed, g=secrets.token_bytes(64))
        assert log.append(again) == AlreadyDone(first[0])
        assert log.answered(game_id, 1, idempotency_key(signed)) == 1

    def test_events_without_a_key_are_new_each_time(self, log: EventLog) -> None:
        game_id = new_game()
        for _ in range(3):
            log.append(following(game_id, log.head(game_id), a=["pass", {}]))
            log.append(following(game_id, log.head(game_id), kind="timeout", seat=None, k=b"ofnobody"))
        assert log.head(game_id).version == 6

    def test_the_mark_of_a_key_is_eight_bytes_of_its_hash(self) -> None:
        assert idempotency_key("abc").hex() == "ba7816bf8f01cfea"  # FIPS 180-4, "abc"
        assert idempotency_key("clé") == idempotency_key("clé".encode())

    def test_of_sixteen_racing_writers_exactly_one_wins_each_version(self, log: EventLog, client: redis.Redis) -> None:
        game_id, versions = new_game(), 12
        start = threading.Barrier(16)
        missed: list[tuple[int, Event | Damage]] = []

        def write(writer: int) -> list[Event]:
            mine: list[Event] = []
            own = RedisLog(client)
            start.wait()
            head = own.head(game_id)
            while head.version < versions:
                event = following(game_id, head, seat=writer + 1, f=secrets.token_bytes(8))
                try:
                    own.append(event)
                except Conflict as conflict:
                    missed.append((head.version + 1, conflict.missed[0]))
                    head = Head(conflict.version, conflict.head)
                else:
                    mine += event
                    head = Head(event[0].seq, event[0].hash)
            return mine

        with ThreadPoolExecutor(16) as pool:
            won = [event for mine in pool.map(write, range(16)) for event in mine]
        assert sorted(event.seq for event in won) == list(range(1, versions + 1))
        assert log.read(game_id).items == tuple(sorted(won, key=lambda event: event.seq))
        assert missed
        assert all(event == log.read(game_id).items[seq - 1] for seq, event in missed)

    def test_of_sixteen_racing_retries_one_writes_and_all_answer_the_same(
        self, log: EventLog, client: redis.Redis
    ) -> None:
        game_id = new_game()
        event = following(game_id, log.head(game_id), a=["pass", {}], k=b"race-key")
        start = threading.Barrier(16)

        def write(_: int) -> Appended | AlreadyDone:
            start.wait()
            return RedisLog(client).append(event)

        with ThreadPoolExecutor(16) as pool:
            answers = list(pool.map(write, range(16)))
        assert answers.count(Appended(1, event[0].hash)) == 1
        assert answers.count(AlreadyDone(event[0])) == 15
        assert log.head(game_id).version == 1


class TestAllOrNothing:
    def test_a_client_cut_off_while_it_sends_leaves_all_or_nothing(
        self, server: Embedded, log: EventLog, client: redis.Redis
    ) -> None:
        packet_length = None
        cut = 0
        while packet_length is None or cut <= packet_length:
            game_id = new_game()
            events = following(game_id, log.head(game_id), count=3, a=["pass", {}], k=b"dying!!!")
            packet = self._packet(client, events)
            packet_length = len(packet)
            with socket.socket(socket.AF_UNIX) as connection:
                connection.connect(str(server.socket))
                connection.sendall(packet[:cut])
            if cut >= packet_length:
                _wait(lambda game_id=game_id: log.head(game_id).version == 3)  # type: ignore[misc]
                assert log.read(game_id).events == events
                assert log.append(events) == AlreadyDone(events[0])
            else:
                client.ping()
                assert everything(client, game_id)[:3] == [[], {}, {}]
                assert log.append(events) == Appended(3, events[-1].hash)
            cut += max(1, packet_length // 25) if cut + 60 < packet_length else 10

    def _packet(self, client: redis.Redis, events: list[Event]) -> bytes:
        """The bytes that the log would send."""
        sent: list[bytes] = []
        connection = client.connection_pool.get_connection()
        client.connection_pool.release(connection)

        class Listening(RedisLog):
            def __init__(self) -> None:
                super().__init__(client)
                self._append = self._capture  # type: ignore[assignment]

            def _capture(self, keys: Any, arguments: Any) -> Any:
                sent.append(b"".join(connection.pack_command("EVAL", APPEND, len(keys), *keys, *arguments)))
                return [[b"ok"]]

        Listening().append(events)
        return sent[0]

    def test_a_client_killed_while_it_writes_leaves_all_or_nothing(
        self, server: Embedded, log: EventLog, client: redis.Redis
    ) -> None:
        game_id = new_game()
        script = (
            "import sys; from events.redis_client import connect; from events.redis_log import RedisLog\n"
            "from events.event import Event\n"
            "log, game_id = RedisLog(connect(sys.argv[1])), bytes.fromhex(sys.argv[2])\n"
            "head = log.head(game_id); seq, prev = head.version, head.head\n"
            "while True:\n"
            "    events = []\n"
            "    for part in range(3):\n"
            "        seq += 1\n"
            "        k = seq.to_bytes(8, 'big')\n"
            "        events.append(Event.write(game_id, seq, prev, 0, 'act', 1, {'part': part, 'k': k}))\n"
            "        prev = events[-1].hash\n"
            "    log.append(events)\n"
        )
        for _ in range(6):
            version = log.head(game_id).version
            others = client.info("clients")["connected_clients"]
            with subprocess.Popen([sys.executable, "-c", script, server.url, game_id.hex()], cwd=ROOT) as writer:
                wanted = version + 30 + secrets.randbelow(60)
                _wait(lambda wanted=wanted: log.head(game_id).version > wanted or writer.poll() is not None)  # type: ignore[misc]
                assert writer.poll() is None
                writer.send_signal(signal.SIGKILL)
            _wait(lambda others=others: client.info("clients")["connected_clients"] <= others)  # type: ignore[misc]
            events = list(whole(log, game_id))  # the server has done with all that was sent before the kill
            assert len(events) % 3 == 0
            assert [event.body["part"] for event in events] == [0, 1, 2] * (len(events) // 3)  # type: ignore[union-attr]
            last = events[-1]
            assert isinstance(last, Event)
            assert log.head(game_id) == Head(len(events), last.hash)
            assert client.hlen(Keys.of(game_id).idem) == len(events)

    def test_a_failing_script_has_written_nothing(self, log: EventLog, client: redis.Redis) -> None:
        game_id = new_game()
        keys = Keys.of(game_id)
        for wrong in (keys.stream, keys.meta, keys.idem):
            client.set(wrong, "not what it should be")
            with pytest.raises(Damaged):
                log.append(following(game_id, Head(0, genesis(game_id)), count=2, a=["pass", {}], k=b"12345678"))
            client.delete(wrong)
            assert everything(client, game_id)[:3] == [[], {}, {}]
        kept = f"{keys.feed}:kept"
        client.copy(keys.feed, kept)
        client.delete(keys.feed)
        client.set(keys.feed, "not a stream")
        with pytest.raises(Damaged):
            log.append(following(game_id, Head(0, genesis(game_id)), count=2))
        client.delete(keys.feed)
        if client.exists(kept):
            client.rename(kept, keys.feed)
        assert everything(client, game_id)[:3] == [[], {}, {}]

    def test_a_full_server_takes_nothing_and_says_so(
        self, server: Embedded, log: EventLog, client: redis.Redis
    ) -> None:
        events = played(log, 4)
        game_id = events[0].game_id
        client.config_set("maxmemory", "1")
        try:
            with pytest.raises(Unavailable) as refusal:
                log.append(following(game_id, Head(4, events[-1].hash), count=2))
        finally:
            client.config_set("maxmemory", "0")
        assert not isinstance(refusal.value, OutcomeUnknown)
        assert log.read(game_id).events == events

    def test_a_replica_takes_nothing_and_says_so(self, server: Embedded, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 3)
        client.replicaof("127.0.0.1", 1)
        try:
            with pytest.raises(Unavailable) as refusal:
                log.append(following(events[0].game_id, Head(3, events[-1].hash)))
        finally:
            client.replicaof("NO", "ONE")
        assert not isinstance(refusal.value, OutcomeUnknown)
        assert log.read(events[0].game_id).events == events


class TestReplicas:
    def test_what_too_few_replicas_have_is_not_acknowledged_and_a_retry_asks_them_again(
        self, program: Path, data: Path
    ) -> None:
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        with Embedded(data / "first", binary=program) as server, Embedded(data / "copy", binary=program) as copy:
            client, replica = connect(server.url), connect(copy.url)
            events = played(RedisLog(client), 3)
            log = RedisLog(client, replicas=1)
            last = events[-1]
            (act,) = following(last.game_id, Head(last.seq, last.hash), a=["pass", {}], k=bytes(8)[:7] + b"x")
            for _ in range(2):  # written at the first time, found at the second
                with pytest.raises(OutcomeUnknown, match="0 of 1"):
                    log.append([act])
            client.config_set("port", port)
            replica.replicaof("127.0.0.1", port)
            deadline = time.monotonic() + 30
            while (answer := _tried(log, act)) is None:
                assert time.monotonic() < deadline, "the replica does not follow"
            assert answer == AlreadyDone(act)
            after = following(act.game_id, Head(act.seq, act.hash))
            assert isinstance(log.append(after), Appended)
            assert RedisLog(replica).read(act.game_id).events == [*events, act, *after]
            _wait(lambda: not replica.info("persistence")["aof_rewrite_in_progress"])  # else it may not shut down
            client.close()
            replica.close()


def _tried(log: EventLog, event: Event) -> Appended | AlreadyDone | None:
    try:
        return log.append([event])
    except OutcomeUnknown:
        return None


class TestServerKilled:
    def test_kill_9_of_the_server_loses_no_acknowledged_event(self, program: Path, data: Path) -> None:
        target, kills = 120, 3
        with Embedded(data, binary=program) as server, ThreadPoolExecutor(4) as pool:
            games = [new_game() for _ in range(4)]
            acknowledged: dict[bytes, dict[int, bytes]] = {game_id: {} for game_id in games}

            def play(game_id: bytes) -> int:
                client = connect(server.url)
                log, unknown = RedisLog(client), 0
                head = log.head(game_id)
                while head.version < target:
                    event = following(game_id, head, a=["pass", {}], k=head.version.to_bytes(8, "big"))
                    while True:
                        try:
                            answer = log.append(event)
                        except OutcomeUnknown:
                            unknown += 1
                        except Unavailable:
                            continue
                        else:
                            assert answer in (Appended(event[0].seq, event[0].hash), AlreadyDone(event[0]))
                            break
                    head = Head(event[0].seq, event[0].hash)
                    acknowledged[game_id][head.version] = head.head
                client.close()
                return unknown

            runs = [pool.submit(play, game_id) for game_id in games]
            for kill in range(1, kills + 1):
                _wait(lambda kill=kill: sum(map(len, acknowledged.values())) >= kill * target)  # type: ignore[misc]
                os.kill(int((data / "redis.pid").read_text()), signal.SIGKILL)
                server.ensure()
            for run in runs:
                run.result()
            client = connect(server.url)
            log = RedisLog(client)
            for game_id in games:
                page = log.read(game_id)
                assert page.damage == []
                assert {event.seq: event.hash for event in page.events} == acknowledged[game_id]
                assert len(page.events) == target
            client.close()


def tampered(client: redis.Redis, game_id: bytes, changes: dict[int, dict[bytes, bytes] | None]) -> None:
    """The stream, written anew with other entries: None leaves one out."""
    stream = Keys.of(game_id).stream
    entries = client.xrange(stream)
    client.delete(stream)
    for entry_id, fields in entries:
        seq = int(entry_id.partition(b"-")[0])
        if (now := changes.get(seq, fields)) is not None:
            client.xadd(stream, now, id=entry_id)


class TestDamage:
    def test_a_changed_byte_is_reported_with_its_place_and_the_rest_stays_readable(
        self, log: EventLog, client: redis.Redis
    ) -> None:
        events = played(log, 9)
        game_id, bad = events[0].game_id, events[4]
        broken = bad.data[:-1] + bytes([bad.data[-1] ^ 1])  # inside the body: an event still, but another one
        tampered(client, game_id, {5: {b"e": broken}})
        page = log.read(game_id)
        assert [event.seq for event in page.events] == list(range(1, 10))
        assert [(item.place, item.data) for item in page.damage] == [("6-0", events[5].data)]
        assert page.items.index(page.damage[0]) == 5

        broken = b"\x99" + bad.data[1:]
        tampered(client, game_id, {5: {b"e": broken}})
        page = log.read(game_id)
        assert page.events == events[:4] + events[5:]
        assert [(item.place, item.data) for item in page.damage] == [("5-0", broken)]

    def test_a_changed_last_event_is_not_the_head_that_was_acknowledged(
        self, log: EventLog, client: redis.Redis
    ) -> None:
        events = played(log, 6)
        forged = following(events[0].game_id, Head(5, events[4].hash), f=b"forged!!")[0]
        tampered(client, events[0].game_id, {6: {b"e": forged.data}})
        page = log.read(events[0].game_id)
        assert [item.place for item in page.damage] == ["6-0"]
        assert page.events == [*events[:5], forged]

    def test_missing_events_are_a_gap(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 9)
        game_id = events[0].game_id
        client.xdel(Keys.of(game_id).stream, "4-0", "5-0")
        page = log.read(game_id)
        assert page.events == events[:3] + events[5:]
        assert page.items[3] == Damage("4-0", "events 4 to 5 are missing")
        assert len(page.damage) == 1
        client.xdel(Keys.of(game_id).stream, "1-0")
        assert log.read(game_id).items[0] == Damage("1-0", "event 1 is missing")
        for after in (3, 4, 5):
            assert log.read(game_id, after, limit=2).events == events[5:7]

    def test_a_lost_end_is_a_gap(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 9)
        game_id = events[0].game_id
        client.xdel(Keys.of(game_id).stream, "8-0", "9-0")
        assert log.read(game_id).items == (*events[:7], Damage("8-0", "events 8 to 9 are missing"))
        assert log.read(game_id, after=7).items == (Damage("8-0", "events 8 to 9 are missing"),)
        client.xtrim(Keys.of(game_id).stream, 0, approximate=False)
        assert log.read(game_id).items == (Damage("1-0", "events 1 to 9 are missing"),)

    def test_a_stream_deleted_and_written_anew_is_not_the_log(self, log: EventLog, client: redis.Redis) -> None:
        for count in (3, 7, 9):
            events = played(log, 7)
            game_id = events[0].game_id
            stream = Keys.of(game_id).stream
            client.delete(stream)
            forged = following(game_id, Head(0, genesis(game_id)), count=count, f=b"forged!!")
            for event in forged:
                client.xadd(stream, {"e": event.data}, id=f"{event.seq}-0")
            page = log.read(game_id)
            assert page.events == forged
            assert [item.place for item in page.damage] == ["4-0" if count == 3 else "7-0"]
            with pytest.raises((Damaged, Conflict)):
                log.append(following(game_id, Head(count, forged[-1].hash)))
            if count == 7:  # as long as the one that was lost: the script cannot tell, every reader can
                more = following(game_id, Head(7, events[-1].hash))
                log.append(more)
                assert log.read(game_id).items == (*forged, log.read(game_id).damage[0], *more)
            else:
                with pytest.raises(Damaged):
                    log.append(following(game_id, Head(7, events[-1].hash)))
                assert log.read(game_id).events == forged

    @pytest.mark.parametrize(
        "fields",
        [
            {b"x": b"foreign"}, {b"e": b"foreign", b"y": b"1"}, {b"e": b"foreign"}, {b"e": b""}, {b"": b""},
        ],
    )  # fmt: skip
    def test_entries_that_the_log_never_wrote_are_reported_where_they_stand(
        self, log: EventLog, client: redis.Redis, fields: dict[bytes, bytes]
    ) -> None:
        events = played(log, 6)
        game_id, stream = events[0].game_id, Keys.of(events[0].game_id).stream
        tampered(client, game_id, {3: fields})
        page = log.read(game_id)
        assert page.events == events[:2] + events[3:]
        assert page.damage[0].place == "3-0"
        tampered(client, game_id, {3: {b"e": events[2].data}})
        for foreign in ("6-1", "6-2", "900-0", "900-5", "1800000000000-0"):
            client.xadd(stream, fields, id=foreign)
        for limit in (1, 2, 5, 6, 7, 8, 50):
            items: list[Event | Damage] = []
            position: int | None = 0
            while position is not None:
                page = log.read(game_id, position, limit)
                items += page.items
                position = page.next
            assert items[:6] == events
            places = [item.place for item in items[6:]]  # type: ignore[union-attr]
            assert places == ["6-1", "6-2", "900-0", "900-5", "1800000000000-0"]
        with pytest.raises(Damaged) as damaged:
            log.append(following(game_id, Head(6, events[-1].hash)))
        assert damaged.value.damage.place == "6-1"

    def test_an_entry_before_the_first_is_reported(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 3)
        stream = Keys.of(events[0].game_id).stream
        client.delete(stream)
        client.xadd(stream, {"e": events[0].data}, id="0-1")
        for event in events:
            client.xadd(stream, {"e": event.data}, id=f"{event.seq}-0")
        page = log.read(events[0].game_id)
        assert (page.events, [item.place for item in page.damage]) == (events, ["0-1"])

    def test_a_field_twice_is_no_event(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 3)
        stream = Keys.of(events[0].game_id).stream
        client.delete(stream)
        for event in events:
            twice: tuple[bytes, ...] = (b"e", b"hidden") if event.seq == 2 else ()
            client.execute_command("XADD", stream, f"{event.seq}-0", *twice, b"e", event.data)
        page = log.read(events[0].game_id)
        assert (page.events, [item.place for item in page.damage]) == ([events[0], events[2]], ["2-0"])

    def test_an_event_of_another_game_or_place_is_reported(self, log: EventLog, client: redis.Redis) -> None:
        events, others = played(log, 5), played(log, 5)
        game_id = events[0].game_id
        tampered(client, game_id, {2: {b"e": others[1].data}, 4: {b"e": events[4].data}})
        page = log.read(game_id)
        assert page.events == [events[0], events[2], events[4]]
        assert [item.place for item in page.damage] == ["2-0", "4-0"]
        assert others[0].game_id.hex() in page.damage[0].reason
        assert "number 5" in page.damage[1].reason

    def test_nothing_is_appended_to_a_stream_that_lost_events(self, log: EventLog, client: redis.Redis) -> None:
        for lost in ("2-0", "5-0"):
            events = played(log, 5)
            game_id = events[0].game_id
            client.xdel(Keys.of(game_id).stream, lost)
            before = everything(client, game_id)
            with pytest.raises(Damaged) as damaged:
                log.append(following(game_id, Head(5, events[-1].hash)))
            assert damaged.value.damage == Damage(lost, f"event {lost[0]} is missing")
            with pytest.raises(Damaged):
                log.rebuild(game_id)
            assert everything(client, game_id) == before

    def test_a_stream_whose_last_number_was_spent_takes_nothing(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 4)
        stream = Keys.of(events[0].game_id).stream
        client.xadd(stream, {"e": b"gone"}, id="9-0")
        client.xdel(stream, "9-0")
        with pytest.raises(Damaged):
            log.append(following(events[0].game_id, Head(4, events[-1].hash), count=2))
        assert log.read(events[0].game_id).events == events

    def test_a_key_whose_answer_is_gone_is_damage(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 4)
        client.xdel(Keys.of(events[0].game_id).stream, "2-0")
        with pytest.raises(Damaged) as damaged:
            log.append([events[1]])
        assert damaged.value.damage.place == "2-0"
        tampered(client, events[0].game_id, {3: {b"e": b"\xc1"}})
        with pytest.raises(Damaged) as damaged:
            log.append([events[2]])
        assert damaged.value.damage.place == "3-0"


class TestRebuild:
    @pytest.mark.parametrize(
        "harm",
        [
            lambda client, keys: client.delete(keys.meta),
            lambda client, keys: client.delete(keys.meta, keys.idem),
            lambda client, keys: client.hset(keys.meta, "version", "nonsense"),
            lambda client, keys: client.hset(keys.meta, "version", ""),
            lambda client, keys: client.hset(keys.meta, "head", b"short"),
            lambda client, keys: client.hdel(keys.meta, "head"),
            lambda client, keys: client.hdel(keys.meta, "version"),
        ],
    )
    def test_what_stands_beside_the_stream_is_made_anew_when_it_is_lost(
        self, log: EventLog, client: redis.Redis, harm: Callable[[redis.Redis, Keys], None]
    ) -> None:
        events = played(log, 8)
        game_id = events[0].game_id
        sound = everything(client, game_id)
        keys = Keys.of(game_id)
        harm(client, keys)
        assert log.read(game_id).items == tuple(events)
        assert log.head(game_id) == Head(8, events[-1].hash)
        assert everything(client, game_id) == sound
        harm(client, keys)
        assert log.append([events[3]]) == AlreadyDone(events[3])
        harm(client, keys)
        more = following(game_id, Head(8, events[-1].hash), a=["pass", {}], k=b"lateness")
        assert log.append(more) == Appended(9, more[0].hash)
        assert log.read(game_id).items == (*events, *more)
        assert [log.answered(game_id, 1, k) for k in (events[7].body["k"], b"lateness")] == [8, 9]

    def test_a_head_that_lags_behind_the_stream_catches_up(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 8)
        game_id, keys = events[0].game_id, Keys.of(events[0].game_id)
        sound = everything(client, game_id)
        client.hset(keys.meta, mapping={"version": 6, "head": events[5].hash})
        client.hdel(keys.idem, *list(client.hkeys(keys.idem)[6:]))
        with pytest.raises(Conflict) as conflict:
            log.append(following(game_id, Head(6, events[5].hash)))
        assert (conflict.value.version, conflict.value.missed) == (8, tuple(events[6:]))
        assert everything(client, game_id) == sound

    def test_a_head_that_the_stream_does_not_lead_to_is_not_overwritten(
        self, log: EventLog, client: redis.Redis
    ) -> None:
        events = played(log, 8)
        game_id, keys = events[0].game_id, Keys.of(events[0].game_id)
        client.hset(keys.meta, mapping={"version": 6, "head": bytes(32)})
        with pytest.raises(Damaged) as damaged:
            log.append(following(game_id, Head(8, events[7].hash)))
        assert damaged.value.damage.place == "6-0"

    def test_a_key_is_known_from_the_events_when_its_index_is_lost(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 8)
        client.delete(Keys.of(events[0].game_id).idem)
        assert log.append([events[5]]) == AlreadyDone(events[5])
        assert log.answered(events[0].game_id, 1, events[5].body["k"]) is None
        assert log.rebuild(events[0].game_id) == Head(8, events[-1].hash)
        assert [log.answered(events[0].game_id, 1, event.body["k"]) for event in events] == list(range(1, 9))

    def test_a_long_game_is_rebuilt_whole(self, log: EventLog, client: redis.Redis) -> None:
        game_id = new_game()
        events: list[Event] = []
        for number in range(11):
            head = log.head(game_id)
            events += following(game_id, head, count=100, a=["pass", {}], k=number.to_bytes(8, "big"))
            log.append(events[-100:])
        client.delete(Keys.of(game_id).meta, Keys.of(game_id).idem)
        assert log.rebuild(game_id) == Head(1_100, events[-1].hash)
        assert list(whole(log, game_id)) == events
        assert [log.answered(game_id, 1, n.to_bytes(8, "big")) for n in range(11)] == list(range(1, 1_100, 100))

    def test_rebuilding_an_unknown_game_makes_nothing(self, log: EventLog, client: redis.Redis) -> None:
        game_id = new_game()
        assert log.rebuild(game_id) == Head(0, genesis(game_id))
        assert client.exists(*[getattr(Keys.of(game_id), name) for name in ("stream", "meta", "idem")]) == 0


class TestArchived:
    def test_an_archived_game_takes_nothing_and_points_to_the_archive(self, log: EventLog, client: redis.Redis) -> None:
        events = played(log, 5)
        game_id, keys = events[0].game_id, Keys.of(events[0].game_id)
        client.hset(keys.meta, "archived", "1")
        client.delete(keys.stream, keys.idem)
        before = everything(client, game_id)
        for call in (
            lambda: log.append(following(game_id, Head(5, events[-1].hash))),
            lambda: log.append([events[0]]),
            lambda: log.read(game_id),
            lambda: log.rebuild(game_id),
        ):
            with pytest.raises(Archived) as archived:
                call()
            assert (archived.value.version, archived.value.head) == (5, events[-1].hash)
        assert log.head(game_id) == Head(5, events[-1].hash, archived=True)
        assert everything(client, game_id) == before
        assert game_id in log.games()


class TestFeed:
    def test_each_append_is_one_line_on_the_feed_of_the_games_shard(self, log: EventLog) -> None:
        ends = log.feed_ends()
        games = [new_game(shard) for shard in "0a3a"]
        expected: dict[str, list[FeedLine]] = {shard: [] for shard in "0123456789abcdef"}
        for game_id in games:
            for count in (1, 3, 2):
                head = log.head(game_id)
                log.append(following(game_id, head, count=count))
                expected[game_id.hex()[0]].append(FeedLine(game_id, head.version + 1, head.version + count))
        page = log.follow(ends, block_ms=0)
        assert {shard: [line for line in page.lines if line.game_id.hex()[0] == shard] for shard in ends} == expected
        assert page.cursors == log.feed_ends()
        assert log.follow(page.cursors, block_ms=0).lines == ()
        assert log.follow({"a": ends["a"]}, block_ms=0).lines == tuple(expected["a"])

    def test_a_reader_resumes_without_gap_or_repeat(self, log: EventLog) -> None:
        game_id = new_game("7")
        cursors = {"7": log.feed_ends()["7"]}
        seen: list[FeedLine] = []
        for number in range(10):
            for _ in range(number % 4):
                log.append(following(game_id, log.head(game_id)))
            page = log.follow(cursors, block_ms=0)
            seen += page.lines
            cursors = page.cursors
        assert [(line.first, line.version) for line in seen] == [
            (version, version) for version in range(1, log.head(game_id).version + 1)
        ]

    def test_a_waiting_reader_sees_every_append_of_many_writers_once(self, log: EventLog, client: redis.Redis) -> None:
        games = [new_game("c") for _ in range(4)]
        cursors = {"c": log.feed_ends()["c"]}

        def write(game_id: bytes) -> None:
            own = RedisLog(client)
            for _ in range(15):
                own.append(following(game_id, own.head(game_id), count=2))

        seen: list[FeedLine] = []
        with ThreadPoolExecutor(4) as pool:
            writers = [pool.submit(write, game_id) for game_id in games]
            while len(seen) < 60:
                page = log.follow(cursors)
                assert page.lines, "the writers stopped"
                seen += page.lines
                cursors = page.cursors
            for writer in writers:
                writer.result()
        assert log.follow(cursors, block_ms=0).lines == ()
        for game_id in games:
            assert [line for line in seen if line.game_id == game_id] == [
                FeedLine(game_id, version - 1, version) for version in range(2, 31, 2)
            ]

    def test_a_retry_or_conflict_wakes_nobody(self, log: EventLog) -> None:
        events = played(log, 3)
        ends = log.feed_ends()
        log.append([events[0]])
        with pytest.raises(Conflict):
            log.append(following(events[0].game_id, Head(1, events[0].hash)))
        assert log.follow(ends, block_ms=0).lines == ()

    def test_a_reader_waits_no_longer_than_it_says(self, log: EventLog) -> None:
        ends = log.feed_ends()
        began = time.monotonic()
        assert log.follow(ends, block_ms=50).lines == ()
        assert 0.04 < time.monotonic() - began < 3
        for wrong in (-1, BLOCK_LIMIT_MS + 1):
            with pytest.raises(ValueError):
                log.follow(ends, block_ms=wrong)

    def test_lines_that_the_log_never_wrote_are_passed_over(self, log: EventLog, client: redis.Redis) -> None:
        game_id = new_game("5")
        cursors = {"5": log.feed_ends()["5"]}
        for fields in ({"x": "y"}, {"g": "short", "v": 1, "n": 1}, {"g": game_id, "v": "x", "n": 1}, {"g": game_id}):
            client.xadd(feed_key("5"), fields)
        log.append(following(game_id, log.head(game_id)))
        page = log.follow(cursors, block_ms=0)
        assert page.lines == (FeedLine(game_id, 1, 1),)
        client.xadd(feed_key("5"), {"x": "y"})
        assert log.follow(page.cursors, block_ms=0).cursors != page.cursors

    def test_long_feeds_come_in_pages(self, log: EventLog, client: redis.Redis) -> None:
        game_id = new_game("e")
        cursors = {"e": log.feed_ends()["e"]}
        lines = (("XADD", feed_key("e"), "*", "g", game_id, "v", version, "n", 1) for version in range(1, 2_501))
        Wire(client).call(*lines)
        versions: list[int] = []
        while (page := log.follow(cursors, block_ms=0)).lines:
            versions += [line.version for line in page.lines]
            cursors = page.cursors
        assert versions == list(range(1, 2_501))


def test_all_keys_of_a_game_are_in_one_slot() -> None:
    game_id = bytes.fromhex("b1112131415161718191a1b1c1d1e1f1")
    assert Keys.of(game_id) == Keys(
        "{sb}:ev:b1112131415161718191a1b1c1d1e1f1", "{sb}:meta:b1112131415161718191a1b1c1d1e1f1",
        "{sb}:idem:b1112131415161718191a1b1c1d1e1f1", "{sb}:feed",
    )  # fmt: skip


def test_what_is_stored_is_one_binary_field_under_the_events_number(log: EventLog, client: redis.Redis) -> None:
    events = played(log, 3)
    stored = client.xrange(Keys.of(events[0].game_id).stream)
    assert stored == [(b"%d-0" % event.seq, {b"e": event.data}) for event in events]
    assert all(after.prev == before.hash for before, after in pairwise(events))


def test_a_server_that_is_not_there_is_unavailable(data: Path) -> None:
    client = connect(f"unix://{data}/nobody.sock")
    log, game_id = RedisLog(client), new_game()
    calls: list[Callable[[], object]] = [
        lambda: log.append(following(game_id, Head(0, genesis(game_id)))), lambda: log.read(game_id),
        lambda: log.head(game_id), lambda: log.answered(game_id, 1, b"12345678"), lambda: log.rebuild(game_id),
        log.feed_ends, lambda: log.follow({"0": "0"}), lambda: list(log.games()),
    ]  # fmt: skip
    for call in calls:
        with pytest.raises(Unavailable) as refusal:
            call()
        assert not isinstance(refusal.value, OutcomeUnknown)
    client.close()


def _wait(condition: Callable[[], bool], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "the condition never came"
