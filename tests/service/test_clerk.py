"""The clerk: bots, absent seats, idle tables, lists and feeds; alone, with another, and after one that died."""

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import pytest
import redis

from engine.protocol import Action, Below, Bot, Rules
from engine.registry import BOTS, RULESETS
from events.log import SHARDS, Unavailable
from events.redis_log import feed_key
from replay.position import Position
from service import clerk as clerks
from service import commands
from service.bootstrap import Deps, bootstrap
from service.clerk import AGENDA, GROUP, LEASE_MS, Clerk
from service.config import Config
from service.positions import Positions
from service.running import demo, serve

KEYS = "test=" + "5a" * 32
ALICE = bytes([1]) * 16
BOT = ("delver", 2)


class FakeClock:
    now_ms = 1_800_000_000_000

    def __call__(self) -> int:
        return self.now_ms


class Puppet(Bot):
    """A bot that does what the test says."""

    name: ClassVar[str] = "puppet"
    levels: ClassVar[range] = range(1, 2)

    def __init__(self) -> None:
        self.wish: Callable[[Rules[Any], Any, int], Action] = lambda rules, state, seat: (
            rules.legal(state, seat)[0].action
        )

    def choose(self, rules: Rules[Any], state: Any, seat: int, level: int, below: Below) -> Action:
        return self.wish(rules, state, seat)


@dataclass
class Office:
    """A service, with as many clerks as a test wants."""

    deps: Deps
    clock: FakeClock

    def clerk(self) -> Clerk:
        """A clerk of another process: the database is all that it shares."""
        deps = replace(self.deps, positions=Positions(self.deps.log))
        clerk = Clerk(deps)
        clerk.begin()
        return clerk

    def table(self, seats: Sequence[tuple[str, int] | bytes], start: bool = True, **options: Any) -> bytes:
        table = commands.Table("donjon@1", len(seats), options, "public", "open", sit=None)
        game, _ = commands.create(self.deps, ALICE, table, None)
        for seat in seats:
            if isinstance(seat, bytes):
                commands.join(self.deps, game.id, seat, None, {}, None)
            else:
                commands.join(self.deps, game.id, ALICE, None, {}, seat)
        if start:
            commands.start(self.deps, game.id)
        return game.id

    def position(self, game_id: bytes) -> Position:
        return self.deps.positions.load(game_id).position

    def play(self, game_id: bytes) -> None:
        """Alice acts until it is a bot's turn."""
        while not self.position(game_id).closed and clerks.bot_seat(position := self.position(game_id)) is None:
            assert position.rules is not None
            seat = position.to_act[0]
            action = position.rules.legal(position.state, seat)[-1].action
            commands.submit(self.deps, game_id, seat, action, position.version, None)


@pytest.fixture
def office(new_database: Callable[[], redis.Redis]) -> Office:
    clock = FakeClock()
    config = Config.read({}, ephemeral=True, keys=KEYS, bot_pause_ms=1_000)
    return Office(bootstrap(config, new_database(), clock), clock)


@pytest.fixture
def puppet() -> Iterator[Puppet]:
    puppet = Puppet()
    BOTS["donjon"]["puppet"] = puppet
    yield puppet
    del BOTS["donjon"]["puppet"]


def reserve(office: Office) -> None:
    assert serve._prepare(office.deps.redis, office.deps.config, threading.Event())


@pytest.fixture
def empty(office: Office) -> Office:
    """A service at its first start: its database is kept for the demo."""
    reserve(office)
    return office


def due(office: Office, game_id: bytes) -> float | None:
    score = office.deps.redis.zscore(AGENDA, game_id)
    return None if score is None else float(score)


# -- bots --------------------------------------------------------------------------------------------------------------


def test_bots_answer_a_person_at_once_until_it_is_the_persons_turn(office: Office) -> None:
    clerk = office.clerk()
    game_id = office.table([ALICE, BOT, BOT])
    for _ in range(3):
        office.play(game_id)
        clerk.work(0)
        assert clerks.bot_seat(office.position(game_id)) is None
    assert {event.seat for event in office.deps.log.read(game_id).events if event.kind == "act"} >= {1, 2, 3}


def test_a_game_with_bots_is_played_to_its_end(office: Office) -> None:
    clerk = office.clerk()
    game_id = office.table([ALICE, BOT])
    for _ in range(2_000):
        if office.position(game_id).closed:
            break
        office.play(game_id)
        clerk.work(0)
    assert office.position(game_id).status == "finished"
    assert office.position(game_id).grade == "EXACT"


def test_bots_among_themselves_pause_so_that_people_can_watch(office: Office) -> None:
    clerk = office.clerk()
    game_id = office.table([BOT, BOT])
    start = office.position(game_id).version
    clerk.work(0)
    assert office.position(game_id).version == start
    office.clock.now_ms += 999
    clerk.work(0)
    assert office.position(game_id).version == start
    for acted in (1, 2, 3):
        office.clock.now_ms += 1_000
        clerk.work(0)
        assert office.position(game_id).version == start + acted


def test_bots_do_not_wait_for_a_clock_that_was_set_back(office: Office) -> None:
    clerk = office.clerk()
    with_ada, alone = office.table([ALICE, BOT]), office.table([BOT, BOT])
    clerk.work(0)
    before = office.position(with_ada).version
    clerk._clock_went_back()
    office.clock.now_ms -= 3_600_000
    assert clerk._clock_went_back()
    assert not clerk._clock_went_back(), "once"
    clerk.begin()
    office.play(with_ada)
    clerk.work(0)
    assert clerks.bot_seat(office.position(with_ada)) is None
    assert office.position(with_ada).version > before
    start = office.position(alone).version
    for acted in (1, 2, 3):
        office.clock.now_ms += 1_000
        clerk.work(0)
        clerk.work(0)  # reads the line of what it did itself
        assert office.position(alone).version == start + acted
    times = [event.t_ms for event in office.deps.log.read(alone).events]
    assert times == sorted(times), "no event is older than the one before it"


def test_a_bot_that_wants_what_is_illegal_plays_something_legal(office: Office, puppet: Puppet) -> None:
    clerk = office.clerk()
    game_id = office.table([("puppet", 1), ("puppet", 1)])
    puppet.wish = lambda rules, state, seat: rules.parse("roll-dice", {})
    start = office.position(game_id).version
    office.clock.now_ms += 1_000
    clerk.work(0)
    assert office.position(game_id).version == start + 1


def test_a_bot_that_nobody_knows_any_more_plays_on(office: Office, puppet: Puppet) -> None:
    game_id = office.table([("puppet", 1), ("puppet", 1)])
    del BOTS["donjon"]["puppet"]
    try:
        start = office.position(game_id).version
        clerk = office.clerk()
        office.clock.now_ms += 1_000
        clerk.work(0)
        assert office.position(game_id).version == start + 1
    finally:
        BOTS["donjon"]["puppet"] = puppet


def test_a_bot_that_breaks_holds_up_no_other_game(office: Office, puppet: Puppet) -> None:
    clerk = office.clerk()

    def breaks(rules: Rules[Any], state: Any, seat: int) -> Action:
        raise ZeroDivisionError

    puppet.wish = breaks
    broken = office.table([("puppet", 1), ("puppet", 1)])
    other = office.table([BOT, BOT])
    start = office.position(other).version
    office.clock.now_ms += 1_000
    clerk.work(0)
    clerk.work(0)
    assert office.position(other).version == start + 1
    when = due(office, broken)
    assert when is not None
    assert when > office.clock.now_ms + LEASE_MS


def test_the_whims_of_bots_are_not_those_of_the_dice(office: Office) -> None:
    """Two clerks that come to the same turn may choose differently, and one choice is written."""
    game_id = office.table([("wanderer", 1), ("wanderer", 1)])
    office.clock.now_ms += 1_000
    clerks_here = [office.clerk() for _ in range(4)]
    start = office.position(game_id).version
    barrier = threading.Barrier(4)

    def act(clerk: Clerk) -> None:
        barrier.wait()
        clerk._attend(game_id)

    threads = [threading.Thread(target=act, args=(clerk,)) for clerk in clerks_here]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert office.position(game_id).version == start + 1
    assert office.position(game_id).grade == "EXACT"


# -- clerks come and go ------------------------------------------------------------------------------------------------


def test_two_clerks_share_the_lines_and_play_each_game_once(office: Office) -> None:
    clerks_here = [office.clerk(), office.clerk()]
    games = [office.table([ALICE, BOT]) for _ in range(6)]
    for _ in range(4):
        for game_id in games:
            office.play(game_id)
        threads = [threading.Thread(target=clerk.work, args=(0,)) for clerk in clerks_here]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        clerks_here[0].work(0)
        for game_id in games:
            position = office.position(game_id)
            assert clerks.bot_seat(position) is None
            assert position.grade == "EXACT"


def test_a_clerk_that_starts_finds_the_games_that_wait_for_a_bot(office: Office) -> None:
    game_id = office.table([ALICE, BOT])
    office.play(game_id)
    clerk = office.clerk()  # the lines were written before there was a group
    clerk.work(0)
    assert clerks.bot_seat(office.position(game_id)) is None


def test_lines_that_a_dead_clerk_read_are_taken_over(office: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    dead, alive = office.clerk(), office.clerk()
    game_id = office.table([ALICE, BOT])
    office.play(game_id)
    keys = {feed_key(shard): ">" for shard in SHARDS}
    assert office.deps.redis.xreadgroup(GROUP, dead._name, keys, count=1_000), "read, and died"
    alive.work(0)
    assert clerks.bot_seat(office.position(game_id)) is not None
    monkeypatch.setattr(clerks, "_CLAIM_IDLE_MS", 0)
    monkeypatch.setattr(clerks, "_CLAIM_S", 0.0)
    alive.work(0)
    assert clerks.bot_seat(office.position(game_id)) is None


def test_a_game_that_a_dead_clerk_had_taken_is_due_again_when_its_lease_is_over(office: Office) -> None:
    alive = office.clerk()
    game_id = office.table([BOT, BOT])
    alive.work(0)
    office.clock.now_ms += 1_000
    dead = office.clerk()
    assert list(dead._due()) == [game_id], "taken, and died"
    start = office.position(game_id).version
    alive.work(0)
    assert office.position(game_id).version == start
    office.clock.now_ms += LEASE_MS
    alive.work(0)
    assert office.position(game_id).version == start + 1


def test_a_clerk_works_on_when_the_database_comes_back(office: Office) -> None:
    game_id = office.table([ALICE, BOT])
    office.play(game_id)
    clerk = Clerk(office.deps)
    reached = threading.Event()
    begin, calls = clerk.begin, iter([True, True])

    def unreachable() -> None:
        if next(calls, False):
            raise Unavailable("says the test")
        begin()
        reached.set()

    clerk.begin = unreachable  # type: ignore[method-assign]
    thread = threading.Thread(target=clerk.run)
    thread.start()
    assert reached.wait(20)
    clerk.stop()
    thread.join(20)
    assert not thread.is_alive()


def test_a_feed_that_lost_its_group_is_joined_anew(office: Office) -> None:
    clerk = Clerk(office.deps)
    thread = threading.Thread(target=clerk.run)
    thread.start()
    for shard in SHARDS:
        office.deps.redis.delete(feed_key(shard))
    game_id = office.table([ALICE, BOT])
    office.play(game_id)
    answered = False
    deadline = time.monotonic() + 60
    while not answered and time.monotonic() < deadline:
        thread.join(0.05)
        answered = clerks.bot_seat(office.position(game_id)) is None
    clerk.stop()
    thread.join(20)
    assert answered


# -- clocks ------------------------------------------------------------------------------------------------------------


def test_an_idle_table_is_closed_as_abandoned(office: Office) -> None:
    clerk = office.clerk()
    waiting = office.table([ALICE, ALICE], start=False, idle_seconds=3_600)
    playing = office.table([ALICE, ALICE], idle_seconds=7_200)
    clerk.work(0)
    office.clock.now_ms += 3_600_000 - 1
    clerk.work(0)
    assert office.position(waiting).status == "open"
    office.clock.now_ms += 1
    clerk.work(0)
    assert (office.position(waiting).status, office.position(waiting).reason) == ("abandoned", "idle")
    assert office.position(playing).status == "playing"
    office.clock.now_ms += 3_600_000
    clerk.work(0)
    assert office.position(playing).status == "abandoned"
    assert due(office, playing) is None
    assert office.position(playing).grade == "EXACT"


def test_a_table_where_somebody_acted_meanwhile_is_not_idle(office: Office) -> None:
    clerk = office.clerk()
    game_id = office.table([ALICE, ALICE], idle_seconds=100)
    clerk.work(0)
    office.clock.now_ms += 99_000
    position = office.position(game_id)
    assert position.rules is not None
    seat = position.to_act[0]
    action = position.rules.legal(position.state, seat)[0].action
    commands.submit(office.deps, game_id, seat, action, position.version, None)
    office.clock.now_ms += 99_000
    clerk.work(0)
    clerk.work(0)
    assert office.position(game_id).status == "playing"


def test_an_absent_persons_turn_is_claimed_by_the_bots_at_the_table(office: Office) -> None:
    clerk = office.clerk()
    game_id = office.table([ALICE, BOT], turn_seconds=60)
    clerk.work(0)
    before = office.position(game_id)
    assert before.to_act == [1]
    office.clock.now_ms += 60_000
    clerk.work(0)
    kinds = [event.kind for event in office.deps.log.read(game_id, before.version).events]
    assert kinds[0] == "timeout"
    assert office.position(game_id).grade == "EXACT"


def test_where_people_alone_sit_nobody_claims_a_turn_for_them(office: Office) -> None:
    clerk = office.clerk()
    game_id = office.table([ALICE, ALICE], turn_seconds=60)
    start = office.position(game_id).version
    clerk.work(0)
    office.clock.now_ms += 600_000
    clerk.work(0)
    assert office.position(game_id).version == start


# -- lists and feeds ---------------------------------------------------------------------------------------------------


def test_the_lists_are_kept_up_to_date(office: Office) -> None:
    clerk = office.clerk()
    game_id = office.table([ALICE, ALICE])
    clerk.work(0)
    rows = office.deps.index.games(status="playing").rows
    assert [(row.game_id, row.version) for row in rows] == [(game_id.hex(), office.position(game_id).version)]


def test_feeds_are_trimmed_behind_the_slowest_group(office: Office) -> None:
    clerk = office.clerk()
    game_id = office.table([ALICE, ALICE])
    key = feed_key(game_id.hex()[0])
    office.deps.redis.xgroup_create(key, "slow", id="0")
    clerk.work(0)
    length = office.deps.redis.xlen(key)
    clerk.trim()
    assert office.deps.redis.xlen(key) == length, "the slow group has read nothing"
    slow = office.deps.redis.xreadgroup("slow", "tortoise", {key: ">"}, count=length)
    clerk.trim()
    assert office.deps.redis.xlen(key) == length, "nor said that it has done with what it read"
    office.deps.redis.xack(key, "slow", *(entry for entry, _ in slow[0][1]))
    clerk.trim()
    assert office.deps.redis.xlen(key) == 1, "all but the last is done with"


# -- the demo ----------------------------------------------------------------------------------------------------------


def test_the_demo_is_finished_games_of_both_kinds_that_fold_exactly(empty: Office) -> None:
    assert demo.load(empty.deps)
    empty.deps.index.catch_up()
    rows = empty.deps.index.games(status="finished", limit=100).rows
    seats = {ruleset: {len(row.seats) for row in rows if row.ruleset == ruleset} for ruleset in RULESETS}
    assert seats == {"donjon@1": {2, 3, 4, 5, 6}, "dungeon-roll@1": {1, 2, 4}}
    for row in rows:
        position = empty.position(bytes.fromhex(row.game_id))
        assert position.grade == "EXACT"
        assert position.closed
        times = [event.t_ms for event in empty.deps.log.read(position.game_id).events]
        assert times[-1] <= empty.clock()
        assert times[-1] - times[0] > 60_000, "as long as an evening seems"


def test_the_library_has_a_position_of_every_decision_state_to_play_on_from(empty: Office) -> None:
    demo.load(empty.deps)
    entries = demo.library(empty.deps)
    for ruleset, rules in RULESETS.items():
        assert {entry.state for entry in entries if entry.ruleset == ruleset} == demo.decision_states(rules)
    for entry in entries:
        source = empty.deps.positions.load(bytes.fromhex(entry.game_id))
        fork, _ = commands.fork(empty.deps, ALICE, source, entry.version, None, "open", sit=True, key=None)
        for _ in range(len(fork.position.seats) - 1):
            commands.join(empty.deps, fork.id, ALICE, None, {}, None)
        commands.start(empty.deps, fork.id)
        position = empty.position(fork.id)
        assert position.state.phase == entry.state
        assert position.to_act == [entry.seat]
        assert position.rules is not None
        types = {type(legal.action).__struct_config__.tag for legal in position.rules.legal(position.state, entry.seat)}
        assert sorted(types) == entry.actions


def test_the_demo_is_loaded_once_and_into_an_empty_database_only(empty: Office) -> None:
    assert demo.load(empty.deps)
    ends = empty.deps.log.feed_ends()
    assert demo.load(empty.deps)
    assert empty.deps.log.feed_ends() == ends
    empty.deps.redis.delete(demo.STATE)
    reserve(empty)
    assert not demo.load(empty.deps), "there are games that are none of ours"
    assert empty.deps.log.feed_ends() == ends


def test_a_load_that_was_cut_short_is_taken_up(empty: Office, monkeypatch: pytest.MonkeyPatch) -> None:
    finish = demo._finish
    calls = iter(range(2))

    def cut_short(*arguments: Any) -> bytes:
        next(calls)
        return finish(*arguments)

    monkeypatch.setattr(demo, "_finish", cut_short)
    with pytest.raises(StopIteration):
        demo.load(empty.deps)
    monkeypatch.undo()
    assert demo.load(empty.deps)
    empty.deps.index.catch_up()
    assert len(empty.deps.index.games(status="finished", limit=100).rows) >= 5


def test_when_the_live_game_is_over_there_is_another(empty: Office) -> None:
    demo.load(empty.deps)
    first = demo.live(empty.deps)
    assert first is not None
    assert demo.live(empty.deps) == first
    assert empty.position(first).status == "playing"
    assert clerks.only_bots(empty.position(first))
    for seat in range(1, len(demo.LIVE.choices) + 1):
        if not empty.position(first).closed:
            commands.resign(empty.deps, first, seat)
    second = demo.live(empty.deps)
    assert second not in (first, None)
    assert empty.position(second).status == "playing"
