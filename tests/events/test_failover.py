"""Several servers: a cluster and sentinels. Nothing is sent twice, and what was acknowledged outlives its server."""

import secrets
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
import redis
from redis.crc import key_slot

from bench.clusters import HOST, Cluster, cluster, until, watched
from events import redis_cluster as nodes_of
from events.event import Event
from events.log import SHARDS, AlreadyDone, EventLog, Head, OutcomeUnknown, Unavailable
from events.redis_client import Wire, connect, fsync_policy, replicas
from events.redis_log import Keys, RedisLog, feed_key
from events.redis_sentinel import MasterPool


@pytest.fixture(scope="module")
def nodes() -> Iterator[Cluster]:
    """Three masters, each with a replica."""
    with cluster() as made:
        yield made


@pytest.fixture
def wire(nodes: Cluster) -> Iterator[Wire]:
    client = connect(nodes.url)
    yield Wire(client)
    client.close()


def game(shard: str) -> bytes:
    return bytes([int(shard, 16) << 4]) + secrets.token_bytes(15)


def play(log: EventLog, game_id: bytes, count: int = 1) -> list[Event]:
    """Append events one by one, each until it is acknowledged, as a client that retries with its key does."""
    head: Head = until(lambda: settled(lambda: log.head(game_id)), "the head is told")
    events: list[Event] = []
    for _ in range(count):
        k = head.version.to_bytes(8, "big")
        event = Event.write(game_id, head.version + 1, head.head, 0, "act", 1, {"a": ["pass", {}], "k": k})
        until(lambda event=event: settled(lambda: log.append([event])), "an event is acknowledged")  # type: ignore[misc]
        events.append(event)
        head = Head(event.seq, event.hash)
    return events


def settled(call: Callable[[], Any]) -> Any:
    try:
        return call()
    except Unavailable:
        return None


class TestCluster:
    def test_commands_go_where_their_keys_are_and_the_replies_come_in_order(self, nodes: Cluster, wire: Wire) -> None:
        names = [feed_key(shard) + ":x" for shard in SHARDS]
        assert len({nodes.master_of(name).port for name in names}) == 3
        assert wire.call(*(("SET", name, number) for number, name in enumerate(names))) == [b"OK"] * 16
        replies = wire.call(*(("GET", name) for name in reversed(names)), ("PING",))
        assert replies == [*(b"%d" % number for number in reversed(range(16))), b"PONG"]
        assert {name for portion in wire.scan("*:feed:x") for name in portion} == {name.encode() for name in names}
        wire.call(*(("DEL", name) for name in names))

    def test_wait_asks_the_node_that_was_written_to(self, wire: Wire) -> None:
        commands = [one for shard in SHARDS for one in (("SET", feed_key(shard) + ":w", 1), ("WAIT", 1, 5_000))]
        assert wire.call(*commands) == [b"OK", 1] * 16

    def test_an_error_of_one_node_is_told_and_leaves_the_connections_in_step(self, wire: Wire) -> None:
        text = feed_key("0") + ":text"
        wire.call(("SET", text, "value"))
        others = [("SET", feed_key(shard) + ":text", shard) for shard in SHARDS[1:]]
        for _ in range(3):
            with pytest.raises(redis.ResponseError, match="WRONGTYPE"):
                wire.call(*others, ("HGET", text, "field"))
            assert wire.call(("GET", text), *(("GET", key) for _, key, _ in others)) == [
                b"value", *(shard.encode() for shard in SHARDS[1:])
            ]  # fmt: skip

    def test_keys_of_several_slots_in_one_command_are_refused(self, wire: Wire) -> None:
        with pytest.raises(redis.ResponseError, match="slot"):
            wire.call(("DEL", feed_key("0"), feed_key("1")))

    def test_how_durable_it_is_is_that_of_its_weakest_master(self, nodes: Cluster) -> None:
        client = connect(nodes.url)
        assert (fsync_policy(client), replicas(client)) == ("always", 1)
        nodes.masters()[1].call("CONFIG", "SET", "appendfsync", "everysec")
        assert fsync_policy(client) == "everysec"
        nodes.masters()[1].call("CONFIG", "SET", "appendfsync", "always")
        client.close()

    def test_a_slot_that_moves_while_it_is_used_loses_nothing_and_repeats_nothing(self, nodes: Cluster) -> None:
        game_id = game("7")
        keys = Keys.of(game_id)
        client = connect(nodes.url)
        log = RedisLog(client, replicas=1)
        events = play(log, game_id, 3)
        here = nodes.master_of(keys.stream)
        there = next(node for node in nodes.masters() if node is not here)
        slot = key_slot(keys.stream.encode())
        names = {node: node.call("CLUSTER", "MYID") for node in (here, there)}

        there.call("CLUSTER", "SETSLOT", slot, "IMPORTING", names[here])
        here.call("CLUSTER", "SETSLOT", slot, "MIGRATING", names[there])
        events += play(log, game_id, 2)  # not moved yet
        moving = here.call("CLUSTER", "GETKEYSINSLOT", slot, 1_000)
        here.call("MIGRATE", HOST, there.port, "", 0, 5_000, "KEYS", *moving)
        assert log.answered(game_id, 1, (1).to_bytes(8, "big")) == 2  # ASK
        assert isinstance(log.append(events[-1:]), AlreadyDone)
        for node in (there, here):
            node.call("CLUSTER", "SETSLOT", slot, "NODE", names[there])
        events += play(log, game_id, 2)  # MOVED
        assert log.read(game_id).events == events
        assert game_id in set(log.games())
        assert RedisLog(connect(nodes.url)).read(game_id).events == events
        client.close()

    def test_a_master_that_is_killed_is_replaced_and_everything_acknowledged_is_there(self, nodes: Cluster) -> None:
        until(nodes.replicated, "every master has its replica")
        client = connect(nodes.url)
        log = RedisLog(client, replicas=1)
        games = {shard: game(shard) for shard in SHARDS}
        before = {shard: play(log, game_id, 2) for shard, game_id in games.items()}
        cursors = log.feed_ends()
        lost = nodes.master_of(feed_key("0"))
        kept = next(shard for shard in SHARDS if nodes.master_of(feed_key(shard)) is not lost)
        playing = threading.Thread(target=lambda: before["0"].extend(play(log, games["0"], 3)))
        lost.kill()
        playing.start()
        before[kept] += play(log, games[kept], 3)  # the other shards do not wait
        until(lambda: settled(lambda: nodes.master_of(feed_key("0"))) not in (None, lost), "its replica takes over")
        lost.start()  # as the replica of its replica: without one nothing is acknowledged there
        playing.join()
        until(nodes.replicated, "every master has its replica again")
        for shard, game_id in games.items():
            assert log.read(game_id).events == before[shard]
        until(lambda: settled(lambda: set(log.games()) >= set(games.values())), "every game is listed")
        lines, wanted = dict.fromkeys(games.values(), 2), {games["0"]: 5, games[kept]: 5}
        while (page := log.follow(cursors, block_ms=0)).lines:
            lines |= {line.game_id: line.version for line in page.lines}
            cursors = page.cursors
        assert lines == dict.fromkeys(games.values(), 2) | wanted
        client.close()

    def test_without_its_nodes_it_is_unavailable_and_nothing_was_sent(self, wire: Wire) -> None:
        gone = Wire(connect(f"redis+cluster://{HOST}:1,{HOST}:2"))
        for call in (gone.call, gone.each):
            with pytest.raises(Unavailable) as raised:
                call(("PING",))
            assert not isinstance(raised.value, OutcomeUnknown)


class TestSentinels:
    def test_a_master_that_hangs_is_replaced_and_nothing_is_lost_or_doubled(self) -> None:
        with watched() as servers:
            client = connect(servers.url, timeout_s=1.0)
            log = RedisLog(client, replicas=1)
            game_id = game("5")
            with ThreadPoolExecutor(4) as pool:  # some connections, which stay
                list(pool.map(lambda shard: play(log, game(shard), 3), SHARDS[:4]))
            events = play(log, game_id, 3)
            old = servers.master()
            old.pause()
            k = (3).to_bytes(8, "big")
            asked = Event.write(game_id, 4, events[-1].hash, 0, "act", 1, {"a": ["pass", {}], "k": k})
            with pytest.raises(OutcomeUnknown):
                log.append([asked])
            until(lambda: settled(servers.master) not in (None, old), "the sentinels name the other")
            assert log.head(game_id) == Head(3, events[-1].hash)
            old.resume()  # it may now do what it was asked, where nobody will ever see it
            servers.follow(old)
            events += [*until(lambda: settled(lambda: log.append([asked]) and [asked]), "it is acknowledged")]
            events += play(log, game_id, 3)
            assert isinstance(log.append([asked]), AlreadyDone)
            assert RedisLog(connect(servers.url)).read(game_id).events == events
            client.close()

    def test_no_sentinel_is_unavailable_and_nothing_was_sent(self) -> None:
        with pytest.raises(Unavailable) as raised:
            Wire(connect(f"redis+sentinel://{HOST}:1/none")).call(("PING",))
        assert not isinstance(raised.value, OutcomeUnknown)


class TestAddresses:
    def test_what_is_common_to_all_stands_once(self) -> None:
        client = connect(f"redis+cluster://me:word@{HOST}:7,{HOST}?client_name=annals")
        assert isinstance(client, nodes_of.Cluster)
        assert client._seeds == [(HOST, 7), (HOST, 6379)]
        told = {name: client._options[name] for name in ("username", "password", "client_name", "protocol")}
        assert told == {"username": "me", "password": "word", "client_name": "annals", "protocol": 2}
        client.close()

    def test_the_master_and_its_sentinels_have_passwords_of_their_own(self) -> None:
        client = connect(f"rediss+sentinel://me:word@{HOST},{HOST}:8/annals/2?sentinel_password=other")
        pool = client.connection_pool
        assert isinstance(pool, MasterPool)
        assert pool._sentinels == [(HOST, 26379), (HOST, 8)]
        assert {name: pool._asking.get(name) for name in ("username", "password", "db")} == {
            "username": None, "password": "other", "db": None
        }  # fmt: skip
        assert (pool.connection_kwargs["password"], pool.connection_kwargs["db"]) == ("word", 2)
        assert issubclass(pool.connection_class, redis.SSLConnection)
        assert pool._asking["connection_class"] is redis.SSLConnection
        client.close()

    @pytest.mark.parametrize(
        "wrong", ["redis+cluster://a:1/2", "redis+cluster://a,,b", "redis+sentinel:///annals", "unix+cluster://a:1"]
    )
    def test_what_is_none_is_refused(self, wrong: str) -> None:
        with pytest.raises(ValueError):
            connect(wrong)
