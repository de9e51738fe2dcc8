"""The archive: whatever goes in comes out byte for byte, or does not go in; a broken file never tells another game."""

import random
import re
import secrets
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from hypothesis import given, settings
from hypothesis import strategies as st

from events import codec, seeds
from events.archive import FORMAT, Archive, BadArchive, Header, NoArchive, NotPackable, pack, unpack
from events.archiving_log import ArchivingLog, CannotArchive, CannotRestore
from events.event import Event, event_hash, genesis
from events.log import (
    AlreadyDone,
    Archived,
    Damage,
    Damaged,
    Head,
    Unavailable,
    idempotency_key,
    whole,
)
from events.redis_log import Keys, RedisLog
from events.seat import SeatKey
from events.signing import SignedAction

DOCS = Path(__file__).resolve().parents[2] / "docs"


def chained(game_id: bytes, rows: list[tuple[int, str, int | None, dict[str, Any]]]) -> list[Event]:
    events: list[Event] = []
    prev = genesis(game_id)
    for seq, (t_ms, kind, seat, body) in enumerate(rows, 1):
        events.append(Event.write(game_id, seq, prev, t_ms, kind, seat, body))
        prev = events[-1].hash
    return events


def played(acts: int = 30, signed: int = 2, keyed: bool = True) -> list[Event]:
    """A closed game with draws: seat 1 is custodial, the next ones sign; one of them gets up and sits down again."""
    game_id = secrets.token_bytes(16)
    chain = seeds.Chain(game_id, 0, secrets.token_bytes(32), 4_096)
    keys = {seat: SeatKey(b"a" * 32, game_id, seat, 0, 200) for seat in range(2, 2 + signed)}
    events: list[Event] = []
    pseq = dict.fromkeys(keys, 0)

    def write(kind: str, seat: int | None, **body: Any) -> None:
        head = events[-1].hash if events else genesis(game_id)
        t_ms = 1_800_000_000_000 + 997 * len(events) ** 2 if events else 1_800_000_000_000
        events.append(Event.write(game_id, len(events) + 1, head, t_ms, kind, seat, body))

    def signing(seat: int, kind: str, name: str | None = None, args: dict[str, Any] | None = None) -> dict[str, Any]:
        sealed = keys[seat].sign(kind, pseq[seat], len(events), events[-1].hash, name, args)
        pseq[seat] += 1
        return {"a": sealed.action.data, "g": sealed.signature}

    def sit(seat: int) -> None:
        sealed = keys[seat].join(events[-1].hash, {"hero": "tala"}, None)
        pseq[seat] = 1
        body = {"a": sealed.action.data, "g": sealed.signature, "pk": sealed.action.args["pk"]}
        write("join", seat, player=secrets.token_bytes(16), choice={"hero": "tala"}, custody="self", **body)

    write("create", None, rules="coin@1", rules_hash=bytes(32), commit=chain.commitment, chain_len=4_096, key_id="k1")
    write("join", 1, player=secrets.token_bytes(16), choice={}, custody="server")
    for seat in keys:
        keys[seat] = SeatKey(b"a" * 32, game_id, seat, len(events), 200)
        sit(seat)
    if signed:
        write("leave", 2, **signing(2, "leave"))
        keys[2] = SeatKey(b"a" * 32, game_id, 2, len(events), 200)
        sit(2)
    write("lock", None, setup={"seats": []})
    for seat in keys:
        write("reveal", seat, **signing(seat, "reveal"))
    rolled = 0

    def roll(*draws: Any) -> list[Any]:
        nonlocal rolled
        rolled += 1
        return [len(rolls), chain.link(rolled), list(draws)]

    rolls: list[int] = []
    write("seeded", None, f=secrets.token_bytes(8), x=roll(["first-seat", 3, 2]))
    rolls.append(0)
    for number in range(acts):
        seat = 1 + number % (1 + signed)
        body: dict[str, Any] = {"f": secrets.token_bytes(8)}
        if number % 3:
            body["x"] = roll(["die", 6, 1 + number % 6], ["bag", 9, 4, "sword"])
        if seat == 1:
            body |= {"a": ["move", {"to": [number % 5, -1]}], **({"k": secrets.token_bytes(8)} if keyed else {})}
        else:
            body |= signing(seat, "act", "move", {"to": [number % 5, -1]})
        if "x" in body or seat != 1:
            rolls.append(0)
        write("act", seat, **body)
    for seat in keys:
        write("signoff", seat, **signing(seat, "signoff"))
    write("close", None, status="finished", tail=chain.link(4_096), state_hash=secrets.token_bytes(32))
    return events


# -- the bytes -------------------------------------------------------------------------------------------------------


def test_what_goes_in_comes_out_byte_for_byte() -> None:
    for signed in (0, 1, 2):
        events = played(signed=signed)
        assert unpack(pack(events)) == events


def test_what_follows_is_left_out() -> None:
    """No id, hash, link or number of the chain stands in a file more than once; what stands there is small."""
    events = played(acts=120, signed=0, keyed=False)
    data = pack(events)
    assert len(data) / len(events) < 20
    for event in events[:-1]:
        assert event.hash not in data
        assert event.prev not in data
    links = [event.body["x"][1] for event in events if "x" in event.body]
    assert [link in data for link in links] == [False] * (len(links) - 1) + [True]
    assert events[0].body["commit"] not in data
    assert data.count(events[0].game_id) == 1


def test_of_what_a_seat_signed_only_what_its_event_does_not_say_stands_there() -> None:
    events = played(acts=60, signed=2)
    data = pack(events)
    for event in events:
        if type(event.body.get("a")) is bytes and event.kind == "act":
            signed = SignedAction.read(event.body["a"])
            assert event.body["g"] in data
            assert signed.head not in data
            assert signed.data not in data
    own = [event for event in events if event.kind in ("act", "reveal", "signoff") and event.seat == 2]
    links = [SignedAction.read(event.body["a"]).r for event in own]
    assert [link in data for link in links] == [False] * (len(links) - 1) + [True]


def test_links_that_do_not_follow_are_kept_as_they_are() -> None:
    events = played()
    rows = [(event.t_ms, event.kind, event.seat, dict(event.body)) for event in events]
    at = next(number for number, event in enumerate(events) if number > 15 and "x" in event.body)
    rows[at][3]["x"] = [99, bytes(32), [["die", 6, 7]]]
    rows[-1][3]["tail"] = bytes(32)
    rows[0][3]["commit"] = b"short"
    forged = chained(events[0].game_id, rows)
    assert unpack(pack(forged)) == forged


def test_a_clock_that_runs_backwards_and_kinds_that_nobody_knows_are_kept() -> None:
    game_id = secrets.token_bytes(16)
    events = chained(
        game_id,
        [
            (2**63, "create", None, {}),
            (1, "sing", 255, {"a": b"", "x": [1, 2, 3], "commit": b""}),
            (5, "create", 3, {"commit": bytes(32), "x": [0, bytes(32), []]}),
            (5, "join", 70_000, {"a": b"no action", "deep": [[[[[[[[[[[[{"k": None}]]]]]]]]]]]]}),
            (2**40, "act", 1, {"long": b"x" * 300, "int": -(2**63), "most": 2**64 - 1}),
        ],
    )
    assert unpack(pack(events)) == events


def test_what_is_no_chain_from_its_beginning_is_refused() -> None:
    events = played()
    for wrong in ([], events[1:], [events[0], events[2]], [*events[:3], events[3], events[3]]):
        with pytest.raises(NotPackable):
            pack(wrong)
    early = chained(events[0].game_id, [(2**64 - 1, "create", None, {}), (0, "act", 1, {})])
    with pytest.raises(NotPackable):
        pack(early)


def test_the_header_says_whose_it_is() -> None:
    events = played()
    data = pack(events)
    header = Header.read(data)
    assert (header.game_id, header.version, header.head) == (events[0].game_id, len(events), events[-1].hash)
    assert header.write() == data[:68]
    assert data[:8] == b"annals:" + bytes([FORMAT])
    with pytest.raises(BadArchive, match="format 2"):
        unpack(data[:7] + b"\2" + data[8:])


def test_the_example_of_the_documentation_is_read() -> None:
    """The file cannot be made anew by other versions of zstd; but it must be read for ever."""
    text = (DOCS / "archive.md").read_text()
    (block,) = re.findall(r"^```archive\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    format_page = (DOCS / "event-format.md").read_text()
    stored = [bytes.fromhex(one) for one in re.findall(r"^```event\n(.*?)^```$", format_page, re.M | re.S)]
    data = bytes.fromhex(block)
    assert [event.data for event in unpack(data)] == stored
    assert f"{len(data)} bytes" in text
    assert unpack(pack(unpack(data))) == unpack(data)


_scalars = (
    st.none()
    | st.booleans()
    | st.integers(-(2**63), 2**64 - 1)
    | st.text(max_size=8)
    | st.binary(max_size=40)
    | st.binary(min_size=32, max_size=32)
)
_values = st.recursive(
    _scalars,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner, max_size=4),
    max_leaves=12,
)
_rolls = st.tuples(st.integers(0, 5), st.binary(min_size=32, max_size=32), st.lists(_values, max_size=3)).map(list)
_bodies = st.dictionaries(
    st.sampled_from(["a", "x", "g", "k", "f", "commit", "tail", "choice"]) | st.text(max_size=6),
    _values | _rolls,
    max_size=5,
)
_kinds = st.sampled_from(["create", "join", "act", "seeded", "close", "reveal", "custody"]) | st.text(max_size=6)
_rows = st.tuples(st.integers(0, 2**63), _kinds, st.none() | st.integers(1, 300), _bodies)


@settings(max_examples=40, deadline=None)
@given(st.binary(min_size=16, max_size=16), st.lists(_rows, min_size=1, max_size=8))
def test_any_chain_of_events_comes_out_as_it_went_in(game_id: bytes, rows: list[Any]) -> None:
    try:
        events = chained(game_id, rows)
    except codec.NotCanonical:  # too deep: no event either
        return
    assert unpack(pack(events)) == events


@settings(max_examples=40, deadline=None)
@given(st.randoms(use_true_random=False), st.integers(0, 2))
def test_a_game_in_which_anything_was_changed_comes_out_as_it_went_in(source: random.Random, signed: int) -> None:
    events = played(12, signed)
    rows = [(event.t_ms, event.kind, event.seat, dict(event.body)) for event in events]
    for _ in range(source.randrange(1, 5)):
        at, other = source.randrange(len(rows)), source.randrange(len(rows))
        t_ms, kind, seat, body = rows[at]
        match source.randrange(5):
            case 0:
                rows[at] = (t_ms, kind, source.choice([None, 1, 2, 3]), body)
            case 1:
                rows[at] = (t_ms, rows[other][1], seat, body)
            case 2:
                rows[at] = (t_ms, kind, seat, rows[other][3])
            case 3:
                body.pop(source.choice(sorted(body) or [""]), None)
            case 4:
                del rows[at]
                rows.insert(other, (t_ms, kind, seat, body))
    forged = chained(events[0].game_id, rows)
    assert unpack(pack(forged)) == forged


def mutations(data: bytes, source: random.Random, count: int) -> Iterator[bytes]:
    for _ in range(count):
        spoiled = bytearray(data)
        match source.randrange(5):
            case 0:
                spoiled[source.randrange(len(spoiled))] ^= 1 << source.randrange(8)
            case 1:
                del spoiled[source.randrange(len(spoiled)) :]
            case 2:
                spoiled[source.randrange(len(spoiled))] = source.randrange(256)
            case 3:
                at = source.randrange(len(spoiled))
                spoiled[at:at] = source.randbytes(source.randrange(1, 9))
            case 4:
                spoiled += source.randbytes(source.randrange(1, 40))
        yield bytes(spoiled)


def test_a_spoiled_file_is_refused_and_never_tells_another_game() -> None:
    source = random.Random(6)
    for signed in (0, 2):
        events = played(signed=signed)
        for spoiled in mutations(pack(events), source, 400):
            try:
                assert unpack(spoiled) == events
            except BadArchive:
                continue


def test_rows_that_say_what_they_like_are_refused_or_hash_to_the_head() -> None:
    """The same behind the compression, where a flipped bit gets through to the rows."""
    import events.archive as archive

    source, events = random.Random(7), played(8, 1)
    data = pack(events)
    header = Header.read(data)
    packed, blob = data[68 : 68 + header.packed], data[68 + header.packed :]
    rows = archive.zstd.decompress(packed)
    for spoiled in mutations(rows, source, 600):
        frame = archive.zstd.compress(spoiled)
        changed = Header(header.game_id, header.version, header.head, len(spoiled), len(frame))
        try:
            assert unpack(changed.write() + frame + blob) == events
        except BadArchive:
            continue


def test_rubbish_is_refused() -> None:
    source = random.Random(8)
    header = pack(played(2, 0))[:68]
    for size in (0, 1, 8, 67, 68, 69, 300):
        for start in (b"", b"annals:\1", header):
            with pytest.raises(BadArchive):
                unpack(start + source.randbytes(size))


def test_a_bomb_is_not_unpacked() -> None:
    import events.archive as archive

    frame = archive.zstd.compress(bytes(200_000_000))
    for rows in (200_000_000, 1_000):
        with pytest.raises(BadArchive):
            unpack(Header(bytes(16), 5, bytes(32), rows, len(frame)).write() + frame)


# -- the folder ------------------------------------------------------------------------------------------------------


def test_a_file_lies_in_the_folder_of_its_first_two_digits(tmp_path: Path) -> None:
    archive, events = Archive(tmp_path / "a"), played()
    game_id = events[0].game_id
    archive.put(events)
    assert archive.place(game_id).relative_to(tmp_path / "a").parts[0] == game_id.hex()[:2]
    assert archive.get(game_id) == events
    assert list(archive.games()) == [game_id]
    assert unpack(archive.data(game_id)) == events


def test_what_is_missing_is_told_from_an_archive_that_is_not_there(tmp_path: Path) -> None:
    with pytest.raises(NoArchive):
        Archive(tmp_path).get(bytes(16))
    archive, events = Archive(tmp_path / "a"), played()
    archive.put(events)
    with pytest.raises(LookupError):
        archive.get(bytes(16))
    archive.place(events[0].game_id).write_bytes(archive.data(events[0].game_id)[:-1])
    with pytest.raises(BadArchive):
        archive.get(events[0].game_id)
    other = played()
    archive.put(other)
    archive.place(other[0].game_id).rename(archive.place(events[0].game_id))
    with pytest.raises(BadArchive, match="holds game"):
        archive.get(events[0].game_id)


def test_a_file_that_does_not_read_as_it_was_written_is_not_trusted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    events, written = played(), Path.read_bytes
    monkeypatch.setattr(Path, "read_bytes", lambda path: written(path)[:-1] + b"?")
    with pytest.raises(BadArchive):
        Archive(tmp_path).put(events)


# -- the log over both -----------------------------------------------------------------------------------------------


@pytest.fixture
def archiving(client: redis.Redis, tmp_path: Path) -> ArchivingLog:
    return ArchivingLog(client, Archive(tmp_path / "archive"))


def stored(log: RedisLog, events: list[Event]) -> list[Event]:
    log.append(events)
    return events


def everything(client: redis.Redis, game_id: bytes) -> list[Any]:
    keys = Keys.of(game_id)
    return [client.xrange(keys.stream), client.hgetall(keys.meta), client.hgetall(keys.idem)]


def seen(log: ArchivingLog, events: list[Event]) -> list[Any]:
    """Everything that a reader can ask of a game."""
    game_id = events[0].game_id
    pages = [log.read(game_id, after, limit) for after in range(len(events) + 3) for limit in (1, 7, 500)]
    keys = [(event.seat or 0, event.body.get("k", b"?" * 8)) for event in events]
    keys += [(event.seat or 0, idempotency_key(event.body.get("a") or "")) for event in events if event.kind != "act"]
    head = log.head(game_id)
    return [pages, [log.answered(game_id, *key) for key in keys], (head.version, head.head)]


def test_whoever_reads_does_not_know_where_the_bytes_lie(archiving: ArchivingLog, client: redis.Redis) -> None:
    events = stored(archiving, played())
    game_id, keys = events[0].game_id, Keys.of(events[0].game_id)
    before, kept = seen(archiving, events), everything(client, game_id)
    assert archiving.let_go(game_id) is True
    assert client.exists(keys.stream, keys.idem) == 0
    assert client.hgetall(keys.meta) == {b"version": b"%d" % len(events), b"head": events[-1].hash, b"archived": b"1"}
    assert seen(archiving, events) == before
    assert archiving.head(game_id).archived
    assert archiving.rebuild(game_id) == Head(len(events), events[-1].hash, archived=True)
    assert game_id in archiving.games()
    assert archiving.let_go(game_id) is False
    assert archiving.bring_back(game_id) is True
    assert everything(client, game_id) == kept
    assert seen(archiving, events) == before
    assert archiving.bring_back(game_id) is False
    assert archiving.let_go(game_id) is True
    assert seen(archiving, events) == before


def test_a_long_game_is_brought_back_in_portions(archiving: ArchivingLog, client: redis.Redis) -> None:
    events = played(acts=1_200, signed=0)
    for start in range(0, len(events), 400):
        archiving.append(events[start : start + 400])
    kept = everything(client, events[0].game_id)
    archiving.let_go(events[0].game_id)
    assert list(whole(archiving, events[0].game_id)) == events
    archiving.bring_back(events[0].game_id)
    assert everything(client, events[0].game_id) == kept


def test_an_archived_game_takes_nothing_and_still_gives_old_answers(archiving: ArchivingLog) -> None:
    events = stored(archiving, played())
    game_id = events[0].game_id
    archiving.let_go(game_id)
    keyed = next(event for event in events if "k" in event.body)
    again = Event.write(game_id, len(events) + 1, events[-1].hash, 5, "act", 1, {"a": ["x", {}], "k": keyed.body["k"]})
    assert archiving.append([again]) == AlreadyDone(keyed)
    more = Event.write(game_id, len(events) + 1, events[-1].hash, 5, "act", 1, {"a": ["x", {}], "k": b"fresh..."})
    for event in (more, Event.write(game_id, len(events) + 1, events[-1].hash, 5, "close", None, {})):
        with pytest.raises(Archived):
            archiving.append([event])


def test_only_whole_closed_games_are_let_go(archiving: ArchivingLog, client: redis.Redis) -> None:
    events = played()
    game_id = events[0].game_id
    archiving.append(events[:-1])
    case_id = secrets.token_bytes(16)
    case = chained(case_id, [(1, "create", None, {"about": [game_id, 1, bytes(32)]}), (1, "close", None, {})])
    archiving.append(case)
    damaged = stored(archiving, played())
    client.xdel(Keys.of(damaged[0].game_id).stream, "7-0")
    for one in (game_id, case_id, damaged[0].game_id, secrets.token_bytes(16)):
        before = everything(client, one)
        with pytest.raises(CannotArchive):
            archiving.let_go(one)
        assert everything(client, one) == before
    assert list(archiving.archive.games()) == []


def test_a_stream_that_was_changed_meanwhile_is_not_let_go(client: redis.Redis, tmp_path: Path) -> None:
    events = played()
    keys = Keys.of(events[0].game_id)

    def meddle(step: str) -> None:
        if step == "archived":
            client.xadd(keys.stream, {"e": b"rubbish"}, id="90000-0")

    log = ArchivingLog(client, Archive(tmp_path), at=meddle)
    log.append(events)
    with pytest.raises(CannotArchive, match="changed"):
        log.let_go(events[0].game_id)
    assert client.xlen(keys.stream) == len(events) + 1


def test_two_that_archive_the_same_game_do_it_once(client: redis.Redis, tmp_path: Path) -> None:
    other = ArchivingLog(client, Archive(tmp_path))
    done: list[bool] = []

    def overtaken_at(wanted: str) -> Any:
        def at(step: str) -> None:
            if step == wanted:
                done.append(other.let_go(events[0].game_id))

        return at

    for step in ("read", "archived"):
        log = ArchivingLog(client, Archive(tmp_path), at=overtaken_at(step))
        events = stored(log, played())
        assert (log.let_go(events[0].game_id), done.pop()) == (False, True)
        assert list(whole(log, events[0].game_id)) == events
    events = stored(other, played())
    head = other.head(events[0].game_id)
    other.let_go(events[0].game_id)
    late = ArchivingLog(client, Archive(tmp_path))
    late.head = lambda game_id: head  # type: ignore[method-assign] # asked before the other was done
    assert late.let_go(events[0].game_id) is False


class Crash(BaseException):
    """What a kill -9 is to the code that runs."""


def crashes_at(wanted: str) -> Any:
    def at(step: str) -> None:
        if step == wanted:
            raise Crash

    return at


STEPS = ("read", "written", "on disk", "renamed", "named on disk", "read back", "archived", "let go")


@pytest.mark.parametrize("step", STEPS)
def test_whoever_dies_while_letting_go_loses_nothing(client: redis.Redis, tmp_path: Path, step: str) -> None:
    at = crashes_at(step)
    log = ArchivingLog(client, Archive(tmp_path, at), at=at)
    events = stored(log, played())
    before = seen(log, events)
    with pytest.raises(Crash):
        log.let_go(events[0].game_id)
    after = ArchivingLog(client, Archive(tmp_path))
    assert seen(after, events) == before
    assert after.let_go(events[0].game_id) is (step != "let go")
    assert seen(after, events) == before


def test_whoever_dies_while_bringing_back_loses_nothing(client: redis.Redis, tmp_path: Path) -> None:
    events = played(acts=1_200, signed=0)
    log = ArchivingLog(client, Archive(tmp_path), at=crashes_at("brought back 500"))
    for start in range(0, len(events), 400):
        log.append(events[start : start + 400])
    kept = everything(client, events[0].game_id)
    log.let_go(events[0].game_id)
    with pytest.raises(Crash):
        log.bring_back(events[0].game_id)
    assert log.head(events[0].game_id).archived
    assert list(whole(log, events[0].game_id)) == events
    key = events[40].body.get("k", b"")
    assert log.answered(events[0].game_id, 1, key) == (41 if key else None)
    after = ArchivingLog(client, Archive(tmp_path))
    assert after.bring_back(events[0].game_id) is True
    assert everything(client, events[0].game_id) == kept


@pytest.mark.parametrize("harm", ["missing", "cut", "flipped", "another", "shorter"])
def test_of_a_broken_file_comes_damage_and_never_an_event(archiving: ArchivingLog, harm: str) -> None:
    events = stored(archiving, played())
    game_id, other = events[0].game_id, stored(archiving, played())
    archiving.let_go(game_id)
    archiving.let_go(other[0].game_id)
    path = archiving.archive.place(game_id)
    data = path.read_bytes()
    flipped = bytearray(data)
    flipped[len(data) // 2] ^= 4
    match harm:
        case "missing":
            path.unlink()
        case "cut":
            path.write_bytes(data[:-9])
        case "flipped":
            path.write_bytes(flipped)
        case "another":
            path.write_bytes(archiving.archive.data(other[0].game_id))
        case "shorter":
            path.write_bytes(pack(events[:-1]))
    for after in (0, 5):
        (damage,) = archiving.read(game_id, after).items
        assert isinstance(damage, Damage)
        assert damage.place == f"{after + 1}-0"
    for call in (
        lambda: archiving.answered(game_id, 1, b"k" * 8),
        lambda: archiving.rebuild(game_id),
        lambda: archiving.append([chained(game_id, [(1, "act", 1, {"k": b"k" * 8, "a": ["x", {}]})])[0]]),
    ):
        with pytest.raises(Damaged):
            call()
    with pytest.raises(CannotRestore):
        archiving.bring_back(game_id)
    assert archiving.head(game_id) == Head(len(events), events[-1].hash, archived=True)
    path.write_bytes(data)
    assert list(whole(archiving, game_id)) == events


def test_an_archive_that_is_not_mounted_is_unavailable_and_no_damage(archiving: ArchivingLog) -> None:
    events = stored(archiving, played())
    archiving.let_go(events[0].game_id)
    archiving.archive.path.rename(archiving.archive.path.with_name("elsewhere"))
    archiving.archive.path.mkdir()
    for call in (lambda: archiving.read(events[0].game_id), lambda: archiving.bring_back(events[0].game_id)):
        with pytest.raises(Unavailable):
            call()


def test_a_file_is_adopted_only_where_nothing_is_known_of_its_game(archiving: ArchivingLog) -> None:
    events, there = played(), stored(archiving, played())
    archiving.adopt(events[0].game_id, pack(events))
    assert list(whole(archiving, events[0].game_id)) == events
    assert archiving.head(events[0].game_id) == Head(len(events), events[-1].hash, archived=True)
    with pytest.raises(CannotRestore):
        archiving.adopt(events[0].game_id, pack(events))
    with pytest.raises(CannotRestore):
        archiving.adopt(there[0].game_id, pack(there))
    with pytest.raises(CannotRestore):
        archiving.adopt(bytes(16), pack(played()))
    assert event_hash(there[-1].data) == archiving.head(there[0].game_id).head
