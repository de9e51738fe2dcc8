"""The history checker is itself checked: an honest history passes, and each forged one is caught with a plain line."""

import hashlib
import random
import re
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cache

import msgspec
import pytest

from bench.history import Judgement, Read, Sent, Stored, Watched, judge
from engine.registry import BOTS, RULESETS
from events import seeds
from events.bodies import Create
from events.event import Event
from events.log import idempotency_key
from replay.fingerprint import rules_hash
from replay.position import Position
from service.drafts import Draft

GAME = bytes(range(16))
RULES = RULESETS["donjon@1"]
ACTS = 12


@dataclass
class History:
    """What clients saw, and what is stored."""

    seen: list[Sent | Read | Watched] = field(default_factory=list)
    entries: list[tuple[str, bytes]] = field(default_factory=list)
    version: int | None = None

    def events(self) -> list[Event]:
        return [Event.read(data) for _, data in self.entries]

    def store(self, events: list[Event]) -> None:
        self.entries = [(f"{event.seq}-0", event.data) for event in events]

    def acts(self) -> list[int]:
        """Where in `seen` the acknowledgements of acts are."""
        return [n for n, one in enumerate(self.seen) if isinstance(one, Sent)]

    def judge(self) -> Judgement:
        last = Event.read(self.entries[-1][1])
        version = last.seq if self.version is None else self.version
        return judge(self.seen, {GAME: Stored(self.entries, version, last.hash)})


@cache
def played(seed: int) -> tuple[Event, ...]:
    """A game that has begun, with some acts in it, each under a key; the first six are the same for every seed."""
    chain = seeds.Chain(GAME, seeds.SERVER, hashlib.sha256(GAME).digest())
    draft = Draft(Position(GAME), 1_800_000_000_000, chain)
    draft.create(
        Create(
            rules=RULES.id,
            rules_hash=rules_hash(RULES),
            seats=2,
            options=msgspec.to_builtins(RULES.options()),
            visibility="public",
            watching="open",
            commit=chain.commitment,
            chain_len=chain.length,
            key_id="test",
            build="test",
        )
    )
    for seat in (1, 2):
        draft.join(seat, bytes([seat]) * 16, {})
    draft.start()
    events, position, bot = draft.events, draft.position, BOTS["donjon"]["delver"]
    for number in range(ACTS):
        source = random.Random(seed if number >= 6 else 0)
        seat = position.to_act[0]
        action = bot.choose(RULES, position.state, seat, bot.levels[0], source.randrange)
        draft = Draft(position, position.t_ms + 1_000 + (seed if number >= 6 else 0), chain)
        draft.act(seat, action, idempotency_key(f"key {len(events) + 1}"))
        events += draft.events
        position = draft.position
    return tuple(events)


@pytest.fixture
def history() -> History:
    """An honest one: each act acknowledged, each version read, the whole watched."""
    events = list(played(0))
    one = History()
    one.store(events)
    watched = Watched(client="watcher", game=GAME, after=0)
    for time, event in enumerate(events):
        if event.kind == "act":
            one.seen.append(
                Sent(
                    client="ada", game=GAME, began=time, ended=time + 0.5, outcome="acknowledged", seat=event.seat,
                    key=f"key {event.seq}", seq=event.seq, hash=event.hash, version=event.seq, head=event.hash,
                )
            )  # fmt: skip
        one.seen.append(
            Read(client="ada", game=GAME, began=time + 0.6, ended=time + 0.7, version=event.seq, head=event.hash)
        )
        watched.events.append((event.seq, event.hash))
    one.seen.append(watched)
    return one


def resealed(events: list[Event], start: int) -> list[Event]:
    """The events with their numbers and hashes made right from a place on."""
    done = events[:start]
    for event in events[start:]:
        before = done[-1]
        done.append(
            Event.write(GAME, before.seq + 1, before.hash, event.t_ms, event.kind, event.seat, event.body)
        )  # fmt: skip
    return done


def change(history: History, place: int, **fields: object) -> None:
    """Something else about the n-th act as its client saw it."""
    number = history.acts()[place]
    history.seen[number] = msgspec.structs.replace(history.seen[number], **fields)


def test_an_honest_history_holds(history: History) -> None:
    result = history.judge()
    assert result.lines == []
    assert (result.acknowledged, result.lost, result.doubled, result.unknown) == (ACTS, 0, 0, 0)
    assert (result.games, result.whole, result.events) == (1, 1, len(history.entries))


def test_what_nobody_knows_may_be_there_once_or_not_at_all(history: History) -> None:
    change(history, 3, outcome="unknown", seq=None, version=None)
    unsent = Sent(client="ada", game=GAME, began=99, ended=100, outcome="unknown", seat=1, key="never came")
    history.seen.append(unsent)
    result = history.judge()
    assert result.lines == []
    assert (result.acknowledged, result.unknown, result.unknown_done) == (ACTS - 1, 2, 1)


def test_a_retry_is_one_action(history: History) -> None:
    for outcome in ("unavailable", "unknown"):
        one = history.seen[history.acts()[5]]
        assert isinstance(one, Sent)
        history.seen.append(msgspec.structs.replace(one, outcome=outcome, ended=one.began, seq=None, version=None))
    change(history, 5, again=True)
    result = history.judge()
    assert result.lines == []
    assert result.acknowledged == ACTS


# -- forged: what is stored ------------------------------------------------------------------------------------------


def the_last_is_lost(history: History) -> None:
    del history.entries[-1]


def one_is_lost(history: History) -> None:
    del history.entries[9]


def one_is_lost_and_the_chain_is_made_good(history: History) -> None:
    events = history.events()
    del events[9]
    history.store(resealed(events, 9))


def an_action_is_done_twice(history: History) -> None:
    events = history.events()
    history.store(resealed([*events, events[-1]], len(events)))


def two_are_in_the_wrong_order(history: History) -> None:
    history.entries[8], history.entries[9] = history.entries[9], history.entries[8]


def two_have_changed_places(history: History) -> None:
    (first, one), (second, other) = history.entries[8:10]
    history.entries[8:10] = [(first, other), (second, one)]


def it_went_another_way(history: History) -> None:
    history.store(list(played(1)))


def a_byte_is_changed(history: History) -> None:
    place, data = history.entries[8]
    event = Event.read(data)
    forged = Event.write(GAME, event.seq, event.prev, event.t_ms + 1, event.kind, event.seat, event.body)
    history.entries[8] = (place, forged.data)


def an_entry_is_rubbish(history: History) -> None:
    history.entries[8] = (history.entries[8][0], b"\xc1")


def time_goes_back(history: History) -> None:
    events = history.events()
    events[-1] = Event.write(
        GAME, events[-1].seq, events[-1].prev, events[-2].t_ms - 5, "act", events[-1].seat, events[-1].body
    )
    history.store(events)


def the_head_beside_it_is_behind(history: History) -> None:
    history.version = len(history.entries) - 1


def an_act_that_the_rules_refuse(history: History) -> None:
    events = history.events()
    forged = {**events[-1].body, "a": ["move", {"to": [50, 50]}]}
    events[-1] = Event.write(GAME, events[-1].seq, events[-1].prev, events[-1].t_ms, "act", events[-1].seat, forged)
    history.store(events)
    change(history, -1, hash=b"", head=b"")


# -- forged: what was told -------------------------------------------------------------------------------------------


def it_is_acknowledged_with_another_hash(history: History) -> None:
    change(history, 4, hash=bytes(32))


def it_is_acknowledged_under_another_number(history: History) -> None:
    acts = history.acts()
    other = history.seen[acts[5]]
    assert isinstance(other, Sent)
    change(history, 4, seq=other.seq, hash=other.hash)


def what_was_never_written_is_acknowledged(history: History) -> None:
    change(history, 4, key="never written")


def what_was_refused_is_there(history: History) -> None:
    change(history, 4, outcome="refused", code="stale")


def what_was_not_written_is_there(history: History) -> None:
    change(history, 4, outcome="unavailable", code="unavailable")


def what_was_not_written_had_been_done(history: History) -> None:
    one = history.seen[history.acts()[4]]
    assert isinstance(one, Sent)
    history.seen.append(msgspec.structs.replace(one, outcome="unavailable", ended=one.began, seq=None, version=None))
    change(history, 4, again=True)


def it_is_done_for_the_first_time_twice(history: History) -> None:
    history.seen.append(history.seen[history.acts()[4]])


def somebody_else_acts(history: History) -> None:
    del history.seen[history.acts()[4]]


def a_read_goes_back(history: History) -> None:
    first = history.events()[0]
    history.seen.append(Read(client="ada", game=GAME, began=99, ended=100, version=1, head=first.hash))


def a_read_shows_what_is_not_there(history: History) -> None:
    history.seen.append(Read(client="bob", game=GAME, began=99, ended=100, version=99))


def a_read_shows_another_history(history: History) -> None:
    history.seen.append(Read(client="bob", game=GAME, began=0, ended=1, version=7, head=bytes(32)))


def stream(history: History) -> Watched:
    (one,) = (one for one in history.seen if isinstance(one, Watched))
    return one


def a_stream_repeats(history: History) -> None:
    stream(history).events.insert(5, stream(history).events[4])


def a_stream_leaves_one_out(history: History) -> None:
    del stream(history).events[5]


def a_stream_shows_another_history(history: History) -> None:
    stream(history).events[5] = (6, bytes(32))


def a_stream_ends_early(history: History) -> None:
    del stream(history).events[-1]
    stream(history).over = True


FORGED: dict[Callable[[History], None], str] = {
    the_last_is_lost: "event 17 was acknowledged to ada with .*, and is not there: the log ends with 16",
    one_is_lost: "entry 10 stands at 11-0 and says that it is event 11",
    one_is_lost_and_the_chain_is_made_good: "event 10 was acknowledged to ada with .*, and the log has",
    an_action_is_done_twice: "one key of seat . was applied 2 times: events 17, 18",
    two_are_in_the_wrong_order: "entry 9 stands at 10-0 and says that it is event 10",
    two_have_changed_places: "entry 9 stands at 9-0 and says that it is event 10",
    it_went_another_way: "event 12 was acknowledged to ada with .*, and the log has",
    a_byte_is_changed: "the chain breaks at event 10: it follows .*, not",
    an_entry_is_rubbish: "entry 9-0 is not an event",
    time_goes_back: "event 17 is 5 ms older than the one before it",
    the_head_beside_it_is_behind: "it is said to be at 16 with .*, and is at 17 with",
    an_act_that_the_rules_refuse: r"the record is DIVERGED\(at=17",
    it_is_acknowledged_with_another_hash: "was acknowledged to ada with 000000000000, and the log has",
    it_is_acknowledged_under_another_number: "was acknowledged as event 11, and its key is on event 10",
    what_was_never_written_is_acknowledged: "was acknowledged as event 10, and its key is on no event",
    what_was_refused_is_there: "was refused with stale, and is event 10",
    what_was_not_written_is_there: "nothing was written, it was told .*, and it is event 10",
    what_was_not_written_had_been_done: "done by a request of which ada was told that nothing was written",
    it_is_done_for_the_first_time_twice: "was answered 2 times as if it had just been done",
    somebody_else_acts: "event 10 of seat . has a key that no client sent",
    a_read_goes_back: "ada was shown version 1 after it had been told of version 17",
    a_read_shows_what_is_not_there: "bob was shown version 99 .*, and is not there: the log ends with 17",
    a_read_shows_another_history: "bob was shown version 7 with 000000000000, and the log has",
    a_stream_repeats: "watcher was streamed event 5 again: 6 was next",
    a_stream_leaves_one_out: "watcher was streamed event 7 too soon: 6 was next",
    a_stream_shows_another_history: "watcher was streamed event 6 with 000000000000, and the log has",
    a_stream_ends_early: "watcher was told that the stream is over at 16 of 17 events",
}


@pytest.mark.parametrize("forge", FORGED, ids=lambda forge: forge.__name__.replace("_", " "))
def test_a_forged_history_is_caught(history: History, forge: Callable[[History], None]) -> None:
    forge(history)
    lines = history.judge().lines
    assert any(re.search(FORGED[forge], line) for line in lines), lines


def test_a_game_that_is_gone_is_caught(history: History) -> None:
    result = judge(history.seen, {})
    assert result.lost == ACTS
    assert any("is not there: the log ends with 0" in line for line in result.lines)


def test_a_game_tells_no_more_than_there_is_room_for(history: History) -> None:
    history.store(list(played(0)[:1]))
    history.seen *= 3
    assert len(history.judge().lines) == 20
