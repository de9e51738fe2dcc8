"""Both verifiers, the one in Python without the rules and the one in JavaScript, say the same of every bundle."""

import base64
import io
import json
import os
import random
import subprocess
import time
import zipfile
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from events.event import Event, Malformed, genesis
from events.notes import Signer, sign_note
from events.tlog.entries import BadEntry
from replay import bundle
from replay.audit import SECTIONS, Trust, Verdict, audit_bundle
from tests.audit.corpus import CASES
from tests.web.evidence import (
    LOG,
    ORIGIN,
    RECEIPTS,
    WITNESS,
    Case,
    Game,
    close_entry,
    open_entry,
    policy,
)
from tests.web.javascript import NODE, call, run, verdicts

pytestmark = pytest.mark.skipif(
    NODE is None and os.environ.get("CI") != "true", reason="no node is installed; requirements/system.sh tells how"
)
ROOT = Path(__file__).resolve().parents[2]
Said = tuple[str, str | None, str | None, int | None, list[tuple[str, str, str, int | None, str | None]], list[str]]
Judged = tuple[str, str | None, int | None]
VERIFIED, LIMITS, REFUTED, NOT_PROVEN, UNDETERMINED = (
    "VERIFIED", "VERIFIED WITH LIMITS", "REFUTED", "NOT PROVEN", "UNDETERMINED",
)  # fmt: skip


def of_python(verdict: Verdict) -> Said:
    checks = [(check.id, check.section, check.result, check.event, check.code) for check in verdict.checks]
    limits = sorted(limit.id for limit in verdict.limits)
    return verdict.verdict, verdict.code, verdict.who, verdict.event, checks, limits


def of_javascript(verdict: dict[str, Any]) -> Said:
    checks = [
        (check["id"], check["section"], check["result"], check["event"], check["code"]) for check in verdict["checks"]
    ]
    limits = sorted(limit["id"] for limit in verdict["limits"])
    return verdict["verdict"], verdict["code"], verdict["who"], verdict["event"], checks, limits


def both(bundles: list[bytes], trusted: str | None = None, receipts: dict[str, bytes] | None = None) -> list[Said]:
    """What both say of each bundle."""
    trust = Trust(policy=trusted, receipts=receipts or {}, rules=False)
    first = [of_python(audit_bundle(data, trust)) for data in bundles]
    second = [of_javascript(verdict) for verdict in verdicts(bundles, trusted, receipts=receipts)]
    assert second == first
    return first


def receipt(game: Game, seq: int, hash_: bytes | None = None, origin: str = ORIGIN, signer: Signer = RECEIPTS) -> bytes:
    head = Event.read(game.events[seq - 1]).hash if hash_ is None else hash_
    text = f"annals/1 receipt\n{origin}\n{game.id.hex()}\n{seq}\n{base64.b64encode(head).decode()}\n"
    return sign_note(text, signer)


def refusal(game: Game, seq: int, code: str = "stale-state") -> bytes:
    head, body = (base64.b64encode(data).decode() for data in (Event.read(game.events[seq - 1]).hash, bytes(32)))
    return sign_note(f"annals/1 refusal\n{ORIGIN}\n{game.id.hex()}\n{body}\n{seq}\n{head}\n{code}\n", RECEIPTS)


# -- honest games ------------------------------------------------------------------------------------------------------


def signed_by_all() -> Case:
    return Case().play().end()


def with_receipts() -> Case:
    case = Case(witness=WITNESS).play().end()
    case.extra = {f"receipts/{seq}.note": receipt(case.game, seq) for seq in (2, 8, case.game.version)}
    case.extra["receipts/refused.note"] = refusal(case.game, 9)
    return case


def freed_seat() -> Case:
    """Seat 2 never revealed; another player sat down, and the table was locked again."""
    case = Case().open().sit()
    case.game.lock().reveal(1).add("timeout", 2, {}, 130)
    case.sit(2)
    case.begin(6)
    case.game.act(1, 6).act(2, 6)
    return case.end()


def handed_over() -> Case:
    case = Case().play()
    case.game.add("custody", None, {"seat": 2, "by": ["bot", 1]})
    del case.game.keys[2]
    case.game.act(2, 6)
    case.signing = (1,)
    return case.end()


def left_before_the_start() -> Case:
    case = Case().open(3).sit(1, 2)
    case.game.add("leave", 2, case.game.sign("leave", 2))
    case.sit(2)
    case.game.join(3)
    case.begin(2)
    case.game.act(3, 4).act(1, 5)
    return case.end()


def resigned() -> Case:
    case = Case().play()
    case.game.resign(2)
    case.game.act(1, 6)
    return case.end()


def unfinished() -> Case:
    case = Case().play()
    case.extra["receipts/1.note"] = receipt(case.game, 4)
    return case


def receipt_ahead_of_the_record() -> Case:
    case = Case().play()
    case.extra["receipts/1.note"] = receipt(case.game, case.game.version)
    del case.game.events[-1]
    return case


def abandoned(seconds: float = 700_000, reason: str = "idle") -> Case:
    case = Case(signing=(1,)).play()
    case.game.now_ms += int(seconds * 1000)
    case.game.close("abandoned", reason=reason)
    return case.log_close()


def unsigned_end(seconds: float, chain_len: int = 12) -> Case:
    """Closed so long after the last move, and no seat had signed the end."""
    case = Case(chain_len=chain_len).play()
    case.game.now_ms += int(seconds * 1000) - 1000
    case.game.close()
    return case.log_close()


def key_lost() -> Case:
    case = Case(signing=()).play()
    case.game.add("close", None, {"status": "void", "reason": "key-lost"})
    return case.log_close()


def close_not_logged() -> Case:
    case = Case(signing=()).play()
    case.game.close()
    return case


def not_logged() -> Case:
    case = Case(signing=())
    case.game.create()
    return case.sit().begin(6)


def unknown_kind() -> Case:
    case = Case().play()
    case.game.add("weather", None, {"rain": True}).add("act", 1, {"unknown": 1, **case.game.sign("act", 1, name="x")})
    return case.end()


def unknown_to_the_seats() -> Case:
    """A join without a checkpoint."""
    case = Case().open()
    case.game.join(1, "self").join(2, "self")
    case.begin(6)
    case.game.act(1, 6)
    return case.end()


HONEST: dict[str, tuple[Callable[[], Case], Judged, list[str]]] = {
    "all seats sign": (signed_by_all, (LIMITS, None, None), ["no-receipts"]),
    "receipts and a witness": (with_receipts, (LIMITS, None, None), []),
    "a seat that never revealed": (freed_seat, (LIMITS, None, None), ["no-receipts"]),
    "a seat that was handed over": (handed_over, (LIMITS, None, None), ["custodial", "handed-over", "no-receipts"]),
    "a seat that left": (left_before_the_start, (LIMITS, None, None), ["custodial", "no-receipts"]),
    "a seat that resigned": (resigned, (LIMITS, None, None), ["no-receipts"]),
    "not over": (unfinished, (LIMITS, None, None), ["not-closed"]),
    "a receipt ahead": (receipt_ahead_of_the_record, (LIMITS, None, None), ["not-closed", "receipt-beyond"]),
    "abandoned": (abandoned, (LIMITS, None, None), ["custodial", "no-receipts", "no-signoff"]),
    "an end that was not signed": (lambda: unsigned_end(60), (LIMITS, None, None), ["no-receipts", "no-signoff"]),
    "an end that could not be signed": (
        lambda: unsigned_end(1, chain_len=3), (LIMITS, None, None), ["no-receipts", "no-signoff"],
    ),
    "its key lost": (key_lost, (LIMITS, None, None), ["custodial", "no-receipts", "seeds"]),
    "the end not logged": (
        close_not_logged, (LIMITS, None, None), ["close-not-logged", "custodial", "no-receipts", "seeds"],
    ),
    "nothing logged": (not_logged, (LIMITS, None, None), ["custodial", "no-log", "no-receipts", "not-closed", "seeds"]),
    "a join without a checkpoint": (unknown_to_the_seats, (LIMITS, None, None), ["no-checkpoint", "no-receipts"]),
}  # fmt: skip


def test_honest_games_are_verified_and_their_limits_named() -> None:
    said = both([make().zip() for make, _, _ in HONEST.values()], policy())
    for (name, (_, judged, limits)), (verdict, code, who, event, _, found) in zip(HONEST.items(), said, strict=True):
        assert (verdict, code, event, who) == (*judged, None), name
        expected = {*limits, "no-witness", "rules-not-folded"} - ({"no-witness"} if "no-log" in limits else set())
        assert set(found) == expected, name


def test_a_witness_of_the_policy_takes_its_limit_away() -> None:
    (said,) = both([with_receipts().zip()], policy("w"))
    assert said[5] == ["rules-not-folded"]


@pytest.mark.parametrize(
    ("trusted", "judged"),
    [
        (None, (LIMITS, None, None)),
        ("", (UNDETERMINED, "V1", None)),
        ("no policy", (UNDETERMINED, "V1", None)),
        (policy(log=Signer.of("other.example", b"o" * 32)), (UNDETERMINED, "V1", None)),
        (policy(log=Signer.of(ORIGIN, b"o" * 32)), (UNDETERMINED, "V4", None)),
        (policy(receipts=None), (LIMITS, None, None)),
        (policy(receipts=Signer.of("games.example/receipts", b"R" * 32)), (UNDETERMINED, "V1", None)),
        (policy(receipts=Signer.of(f"{ORIGIN}/receipts", b"o" * 32)), (LIMITS, None, None)),
    ],
)
def test_what_an_auditor_brings_along_decides_what_can_be_said(trusted: str | None, judged: Judged) -> None:
    ((verdict, code, _, event, _, _),) = both([signed_by_all().zip()], trusted)
    assert (verdict, code, event) == judged


# -- crooked servers ---------------------------------------------------------------------------------------------------


def resealed(case: Case, place: int, change: Callable[[list[Any]], None]) -> Case:
    """The server changes event ``place``, and links and logs everything behind it anew."""
    changed, head = [], genesis(case.game.id)
    for number, data in enumerate(case.game.events, 1):
        event = Event.read(data)
        fields = [event.game_id, event.seq, head, event.t_ms, event.kind, event.seat, event.body]
        if number == place:
            change(fields)
        sealed = Event.write(*fields)
        changed.append(sealed.data)
        head = sealed.hash
    case.game.events = changed
    case.log.entries[case.opened_at] = open_entry(case.game)
    if case.closed_at >= 0:
        case.log.entries[case.closed_at] = close_entry(case.game)
    return case


def body(**changes: Any) -> Callable[[list[Any]], None]:
    def change(fields: list[Any]) -> None:
        fields[6] = {**fields[6], **changes}

    return change


def another_die(fields: list[Any]) -> None:
    j, link, draws = fields[6]["x"]
    purpose, sides, value = draws[0]
    fields[6] = {**fields[6], "x": [j, link, [[purpose, sides, value % sides + 1], *draws[1:]]]}


def later(fields: list[Any]) -> None:
    fields[3] += 1


def another_link(fields: list[Any]) -> None:
    j, _, draws = fields[6]["x"]
    fields[6] = {**fields[6], "x": [j, bytes(32), draws]}


def custodial() -> Case:
    return Case(signing=()).play().end()


def peeked() -> Case:
    """A seat's action is appended at another place than it was signed for."""
    case = Case().play()
    case.game.add("act", 1, {**case.game.sign("act", 1, name="toss", head_seq=3), "f": b"f" * 8})
    return case.end()


def replayed() -> Case:
    case = Case().play()
    case.game.add("act", 1, {**case.game.sign("act", 1, name="toss", pseq=2), "f": b"f" * 8})
    return case.end()


def unsigned_act_of_a_seat_that_signs() -> Case:
    case = Case().play()
    case.game.add("act", 1, {"a": ["toss", {}], "f": b"f" * 8})
    return case.end()


def key_swapped() -> Case:
    case = Case().open()
    case.game.join(1, "self", case.cp(), pk=b"\x05" * 32)
    case.sit(2).begin(6)
    return case.end()


def weak_key() -> Case:
    case = Case().open().sit(1)
    sealed = case.game.keys[1].sign("join", 0, 3, case.game.head, args={"pk": b"\1" + bytes(31), "choice": {}})
    joined = {"a": sealed.action.data, "g": b"\1" + bytes(63), "pk": b"\1" + bytes(31), "choice": {}}
    case.game.join(2, **{"custody": "server", **joined})
    return case


def one_key_for_two_seats() -> Case:
    case = Case().open().sit(1)
    case.game.keys[2] = key = case.game.keys[1]
    key.seat, key.joined = 2, case.game.version
    sealed = key.join(case.game.head, {"side": "heads"}, case.cp())
    signed = {"pk": key.public, "a": sealed.action.data, "g": sealed.signature}
    case.game.add("join", 2, {"player": b"2" * 16, "choice": {"side": "heads"}, "custody": "self", **signed})
    return case


def locked_before_it_revealed() -> Case:
    case = Case().open().sit()
    case.game.lock().reveal(1).seeded(6)
    return case


def joined_after_the_lock() -> Case:
    case = Case(signing=(1,)).open(3).sit().begin(6)
    case.game.join(3)
    return case


def another_tail() -> Case:
    case = Case().play()
    for seat in (1, 2):
        case.game.sign_off(seat, case.cp())
    case.game.close(tail=bytes(32))
    return case.log_close()


def never_logged() -> Case:
    """The game was opened in the log only when a player had joined."""
    case = Case()
    case.game.create()
    case.sit()
    case.opened_at = case.log.add(open_entry(case.game)) - 1
    case.opened_size = len(case.log.others().entries)
    case.begin(6)
    return case.end()


def opened_late() -> Case:
    case = Case(signing=()).open().sit().begin(6).end()
    case.opened_size = len(case.log.entries)
    return case


def forked_log() -> Case:
    """The proof of the opening comes from another log of the same size and key than the rest."""
    case = Case(signing=()).open().sit().begin(6).end()
    size = len(case.log.entries)
    case.opened_size = size
    other = Case(signing=())
    other.log.entries = [*case.log.entries[:-1], b"another"]
    case.extra["open.tlog-proof"] = other.log.inclusion(case.opened_at, size)
    return case


def hidden_from_a_seat() -> Case:
    """Seat 1 was shown another log."""
    case = Case().open()
    seen = case.cp()
    case.game.join(1, "self", (seen[0], bytes(32)))
    case.sit(2).begin(6)
    return case.end()


def claimed_too_early() -> Case:
    case = Case(signing=(1,)).play()
    case.game.add("timeout", 2, {"f": b"f" * 8}, 29.999)
    return case.end()


def freed_too_early() -> Case:
    case = Case().open().sit()
    case.game.lock().reveal(1).add("timeout", 2, {}, 100)
    return case


def truncated() -> Case:
    """The last moves vanish, and the log is signed anew; one player kept a receipt."""
    case = Case(signing=()).play()
    kept = receipt(case.game, case.game.version)
    del case.game.events[-2:]
    case.game.head = Event.read(case.game.events[-1]).hash
    case.game.close()
    case.log_close()
    case.extra["receipts/kept.note"] = kept
    return case


def forked_for_a_player() -> Case:
    case = Case(signing=()).play().end()
    case.extra = {"receipts/a.note": receipt(case.game, 4), "receipts/b.note": receipt(case.game, 4, bytes(32))}
    return case


def receipt_of_another(**how: Any) -> Callable[[], Case]:
    def make() -> Case:
        case = Case(signing=()).play().end()
        case.extra["receipts/a.note"] = receipt(case.game, 4, **how)
        return case

    return make


CROOKED: dict[str, tuple[Callable[[], Case], Judged]] = {
    "another die": (lambda: resealed(custodial(), 6, another_die), (REFUTED, "V9", 6)),
    "another die before a seat signed": (lambda: resealed(signed_by_all(), 8, another_die), (REFUTED, "V8", 9)),
    "another time in a signed game": (lambda: resealed(signed_by_all(), 6, later), (REFUTED, "V8", 8)),
    "another link": (lambda: resealed(custodial(), 5, another_link), (REFUTED, "V9", 5)),
    "another commitment": (lambda: resealed(custodial(), 1, body(commit=bytes(32))), (REFUTED, "V9", 5)),
    "a body of another shape": (lambda: resealed(custodial(), 5, body(f=b"")), (REFUTED, "V2", 5)),
    "a longer chain than there may be": (lambda: resealed(custodial(), 1, body(chain_len=65_537)), (REFUTED, "V2", 1)),
    "a move signed for another moment": (peeked, (REFUTED, "V8", 12)),
    "a move replayed": (replayed, (REFUTED, "V8", 12)),
    "a move that nobody signed": (unsigned_act_of_a_seat_that_signs, (REFUTED, "V8", 12)),
    "another key than the player's": (key_swapped, (REFUTED, "V7", 2)),
    "a key that fits any message": (weak_key, (REFUTED, "V2", 3)),
    "one key twice": (one_key_for_two_seats, (REFUTED, "V7", 3)),
    "a start before all revealed": (locked_before_it_revealed, (REFUTED, "V9", 6)),
    "a seat filled behind the lock": (joined_after_the_lock, (REFUTED, "V9", 7)),
    "another tail": (another_tail, (REFUTED, "V10", 14)),
    "logged behind a join": (never_logged, (REFUTED, "V6", 2)),
    "the opening proved late": (opened_late, (LIMITS, None, None)),
    "two logs of one size": (forked_log, (REFUTED, "V5", None)),
    "a seat shown another log": (hidden_from_a_seat, (NOT_PROVEN, "V5", 2)),
    "a turn claimed too early": (claimed_too_early, (REFUTED, "V13", 11)),
    "a seat freed too early": (freed_too_early, (REFUTED, "V13", 6)),
    "an end closed before it could be signed": (lambda: unsigned_end(59.999), (REFUTED, "V13", 12)),
    "a table closed too early": (lambda: abandoned(10), (REFUTED, "V13", 11)),
    "a table closed as absent": (lambda: abandoned(31, "absent"), (LIMITS, None, None)),
    "moves that vanished": (truncated, (REFUTED, "V11", 9)),
    "two receipts for one event": (forked_for_a_player, (REFUTED, "V11", 4)),
    "a receipt for another event": (receipt_of_another(hash_=bytes(32)), (REFUTED, "V11", 4)),
    "a receipt of another log": (receipt_of_another(origin="x"), (NOT_PROVEN, "V11", None)),
    "a receipt that nobody signed": (receipt_of_another(signer=LOG), (NOT_PROVEN, "V11", None)),
    "a move without a fingerprint, behind a kind that nobody knows": (unknown_kind, (REFUTED, "V2", 13)),
}


def test_each_cheat_is_judged_the_same_by_both_and_as_it_should() -> None:
    said = both([make().zip() for make, _ in CROOKED.values()], policy())
    judged = {name: (verdict, code, event) for name, (verdict, code, _, event, _, _) in zip(CROOKED, said, strict=True)}
    assert judged == {name: expected for name, (_, expected) in CROOKED.items()}
    sorts = {code for *_, checks, _ in said for *_, code in checks}
    assert sorts == {"format", "key", "signature", "order", "dice", "seed", None}
    assert {who for _, _, who, _, _, _ in said} == {"server", None}


def test_both_say_the_same_of_the_corpus() -> None:
    cases = {name: make() for name, make in CASES.items()}
    first = {name: of_python(audit_bundle(case.data, replace(case.trust, rules=False))) for name, case in cases.items()}
    answers = run([call(case.data, case.policy, None, dict(case.receipts)) for case in cases.values()])
    assert {name: of_javascript(answer) for name, answer in zip(cases, answers, strict=True)} == first


def test_nobody_is_accused_by_a_bundle_that_nobody_signed() -> None:
    cases = [make() for make, (_, code, _) in CROOKED.values() if code not in ("V5", "V11")]
    for case in cases:
        case.signer = None
        case.opened_at = case.closed_at = -1
        case.seen = []
    assert {who for _, _, who, _, _, _ in both([case.zip() for case in cases], policy())} == {None}


# -- spoiled files -----------------------------------------------------------------------------------------------------


def flipped(chance: random.Random, data: bytes) -> bytes:
    """One bit is another."""
    place = chance.randrange(len(data))
    return data[:place] + bytes([data[place] ^ 1 << chance.randrange(8)]) + data[place + 1 :]


@pytest.mark.parametrize("signing", [(1, 2), (1,), ()])
def test_a_changed_bit_is_judged_the_same_wherever_it_is(signing: tuple[int, ...]) -> None:
    chance = random.Random(len(signing))
    case = Case(f"bits {signing}", signing).play().end()
    case.extra["receipts/mine.note"] = receipt(case.game, 3)
    spoiled = []
    for signer in (RECEIPTS, None):
        case.signer = signer
        spoiled += [flipped(chance, case.zip()) for _ in range(40)]
        for place, good in enumerate(case.game.events):
            for _ in range(4):
                case.game.events[place] = flipped(chance, good)
                spoiled.append(case.zip())
            case.game.events[place] = good
        files = case.files()
        for name, good in files.items():
            spoiled += [
                bundle.write(case.game.id, ORIGIN, case.game.events, files | {name: flipped(chance, good)}, signer)
                for _ in range(4)
            ]
    said = both(spoiled, policy())
    assert len(said) > 200
    for verdict, code, *_, limits in said:
        assert verdict != VERIFIED
        if (
            verdict == LIMITS
        ):  # a bit in a part that nobody needs: a header's claim, README.txt, keys.txt, an unused proof
            assert (code, "rules-not-folded" in limits) == (None, True)


@pytest.mark.parametrize("signing", [(1, 2), ()])
def test_a_bit_that_the_server_changed_itself_is_judged_the_same(signing: tuple[int, ...]) -> None:
    chance = random.Random(len(signing))
    changed = []
    for number in range(60):
        case = Case(f"server {signing}", signing).play().end()
        place = 1 + number % case.game.version
        while (fields := readable(flipped(chance, case.game.events[place - 1]))) is None:
            pass

        def change(sealed: list[Any], fields: Event = fields) -> None:
            sealed[3:] = [max(fields.t_ms, 0), fields.kind, fields.seat, fields.body]

        try:
            resealed(case, place, change)
        except BadEntry:  # the first event opens nothing any more, or the last closes nothing
            continue
        changed.append(case.zip())
    assert len(both(changed, policy())) > 30


def readable(data: bytes) -> Event | None:
    try:
        return Event.read(data)
    except Malformed:
        return None


# -- hostile containers ------------------------------------------------------------------------------------------------


def deflated(files: dict[str, bytes], level: int = 9) -> bytes:
    """The entries as an honest packer packs them."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=level) as archive:
        for name, data in sorted(files.items()):
            archive.writestr(zipfile.ZipInfo(name), data, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def entries_of(data: bytes) -> dict[str, bytes]:
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        return {name: archive.read(name) for name in archive.namelist()}


def test_containers_are_read_or_refused_the_same() -> None:
    good = signed_by_all().zip()
    files = entries_of(good)
    without = {name: data for name, data in files.items() if name != "events.bin"}
    refused = {
        "nothing": b"",
        "no zip": b"PK",
        "cut off": good[:-1],
        "something behind": good + b"\0",
        "something before": b"\0" + good,
        "one name twice": good.replace(b"gossip/0001.txt", b"gossip/0000.txt"),
        "no events": bundle.zipped(without),
        "no manifest": bundle.zipped({"events.bin": b""}),
        "another name": bundle.zipped(files | {"more.txt": b""}),
        "a path": bundle.zipped(files | {"../escape": b""}),
        "an absolute path": bundle.zipped(files | {"/receipts/x.note": b""}),
        "a name with a newline": bundle.zipped(files | {"README.txt\n": b""}),
        "a name with a zero": bundle.zipped(files | {"README.txt\0": b""}),
        "257 entries": bundle.zipped(files | {f"gossip/{n:04}.txt": b"" for n in range(256)}),
        "a bomb": deflated(files | {"report.json": bytes(65 * 1024 * 1024)}, 1),
        "a manifest with spaces": bundle.zipped(files | {"manifest.json": files["manifest.json"] + b" "}),
        "a manifest of nothing": bundle.zipped(files | {"manifest.json": b"null"}),
        "a manifest of a list": bundle.zipped(files | {"manifest.json": b"[]"}),
        "no JSON": bundle.zipped(files | {"manifest.json": b"{"}),
        "no UTF-8": bundle.zipped(files | {"manifest.json": b"\xff"}),
        "a surrogate": bundle.zipped(
            files | {"manifest.json": files["manifest.json"].replace(ORIGIN.encode(), b"\\ud800")}
        ),
    }
    said = both(list(refused.values()), policy())
    assert {(verdict, code, who) for verdict, code, who, *_ in said} == {(NOT_PROVEN, "V0", None)}
    same = [good, deflated(files), deflated(files, 1)]
    assert {(verdict, code) for verdict, code, *_ in both(same, policy())} == {(LIMITS, None)}


def test_a_changed_bit_of_a_packed_container_is_judged_the_same() -> None:
    chance = random.Random(7)
    packed = deflated(entries_of(with_receipts().zip()))
    said = both([flipped(chance, packed) for _ in range(150)], policy())
    assert {verdict for verdict, *_ in said} <= {NOT_PROVEN, LIMITS}


# -- the command -------------------------------------------------------------------------------------------------------


def command(folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    program = ROOT / "service" / "web" / "static" / "verify.mjs"
    return subprocess.run([NODE or "node", program, *words], capture_output=True, text=True, check=False, cwd=folder)


def test_the_command_tells_its_verdict_by_its_exit_code(tmp_path: Path) -> None:
    (tmp_path / "good.zip").write_bytes(with_receipts().zip())
    (tmp_path / "cheat.zip").write_bytes(resealed(custodial(), 6, another_die).zip())
    (tmp_path / "spoiled.zip").write_bytes(with_receipts().zip()[:-1])
    (tmp_path / "policy").write_text(policy("w"))
    (tmp_path / "no policy").write_text("nonsense")
    codes = {
        ("good.zip", "--policy", "policy"): 0,
        ("good.zip", "--policy", "policy", "--strict"): 3,
        ("good.zip",): 0,
        ("good.zip", "--receipts-key", RECEIPTS.vkey, "--json"): 0,
        ("cheat.zip", "--policy", "policy"): 2,
        ("spoiled.zip", "--policy", "policy", "--strict"): 4,
        ("good.zip", "--policy", "no policy"): 5,
        (): 64,
        ("good.zip", "cheat.zip"): 64,
        ("absent.zip",): 64,
        ("good.zip", "--policy", "absent"): 64,
        ("good.zip", "--polite"): 64,
    }
    assert {words: command(tmp_path, *words).returncode for words in codes} == codes
    told = command(tmp_path, "cheat.zip", "--policy", "policy").stdout
    assert "V9  FAIL         event 6 draw 1.0 is not what the seeds give" in told
    assert all(f"[{section}]" in line for section, line in zip(SECTIONS.values(), told.splitlines(), strict=False))
    assert told.endswith("REFUTED, V9, server, event 6\n")
    found = json.loads(command(tmp_path, "good.zip", "--policy", "policy", "--json").stdout)
    assert [check["id"] for check in found["checks"]] == [f"V{n}" for n in range(15)]
    assert (found["verdict"], found["limits"][0]["id"]) == (LIMITS, "rules-not-folded")


def test_a_game_of_500_signed_moves_is_verified_in_a_second() -> None:
    case = Case("long", chain_len=600).open().sit().begin(2)
    for _ in range(250):
        case.game.act(1, 6).act(2, 20)
    data = case.end().zip()
    started = time.perf_counter()
    ((verdict, *_),) = [of_javascript(each) for each in verdicts([data], policy())]
    assert verdict == LIMITS
    assert time.perf_counter() - started < 5  # with the start of node, on a machine that does other things as well


# -- servers that write whatever they like -----------------------------------------------------------------------------

JUNK: list[Any] = [
    None, True, 0, 1, -1, 2**63, 2**64 - 1, "", "open", "self", b"", b"a" * 16, b"b" * 32, b"c" * 8, b"d" * 64, [], {},
    [1, b"e" * 32, []], ["resign", {}], ["toss", {}], [2, b"f" * 32, [["a", 6, 1]]], [["a", 0, 1]], ["bot", 1],
]  # fmt: skip
KINDS = (
    "create", "join", "leave", "lock", "reveal", "seeded", "act", "timeout", "resign", "custody", "signoff", "close",
    "dispute", "constructor",
)  # fmt: skip


class Whimsical(Game):
    """Seals now and then another event than it was asked to."""

    def __init__(self, name: str, chain_len: int, chance: random.Random, often: float) -> None:
        super().__init__(name, chain_len)
        self.chance, self.often = chance, often

    def add(self, kind: str, seat: int | None, body: Mapping[str, Any], seconds: float = 1) -> "Whimsical":
        chance = self.chance
        if chance.random() < self.often:
            whim, body = chance.randrange(5), dict(body)
            if whim == 0:
                body[chance.choice([*body, "a", "g", "x", "f", "pk", "unknown"])] = chance.choice(JUNK)
            elif whim == 1 and body:
                del body[chance.choice([*body])]
            elif whim == 2:
                seat = chance.choice([None, 1, 2, 3, 255, 256, 2**40])
            elif whim == 3:
                kind = chance.choice(KINDS)
            else:
                self.now_ms -= chance.choice([0, 5000])
        super().add(kind, seat, body, seconds)
        return self


def whimsical(number: int) -> Case:
    """Anything may come after anything, and most of it is sealed, signed and logged as it should be."""
    chance = random.Random(number)
    case = Case(f"whim {number}", chance.choice([(1, 2), (1,), ()]), chance.choice([3, 12]))
    game = case.game = Whimsical(f"whim {number}", case.game.chain.length, chance, 0)
    case.open(chance.choice([2, 3]))
    game.often = chance.choice([0, 0, 0.1])
    for _ in range(chance.randrange(2, 20)):
        seat = chance.choice([1, 2, 3])
        acts: list[Callable[[], Any]] = [
            case.sit,
            lambda seat=seat: case.sit(seat),
            lambda seat=seat: game.join(seat, "self", chance.choice([None, case.cp()])),
            game.lock,
            lambda seat=seat: game.reveal(seat),
            lambda: game.seeded(6, 20),
            lambda: case.begin(2),
            lambda: case.begin(2),
            lambda seat=seat: game.act(seat, 6),
            lambda seat=seat: game.act(seat, 300, 2),
            lambda seat=seat: game.act(seat),
            lambda seat=seat: game.add("leave", seat, {}),
            lambda seat=seat: game.add("leave", seat, game.sign("leave", seat)),
            lambda seat=seat: game.add("timeout", seat, {}, chance.choice([1, 130])),
            lambda seat=seat: game.add("timeout", seat, {"f": b"f" * 8}, chance.choice([1, 31])),
            lambda seat=seat: game.resign(seat),
            lambda seat=seat: game.add("custody", None, {"seat": seat, "by": chance.choice([["bot", 1], b"p" * 16])}),
            lambda seat=seat: game.sign_off(seat, chance.choice([None, case.cp()])),
        ]
        with suppress(KeyError, IndexError):  # the seat has no key, or a chain is spent
            chance.choice(acts)()
    if chance.random() < 0.7:
        game.close(
            chance.choice(["finished", "abandoned", "void"]), reason=chance.choice(["idle", "absent", "key-lost"])
        )
        with suppress(BadEntry):
            case.log_close()
    case.signer = chance.choice([RECEIPTS, None])
    return case


def test_whatever_a_server_writes_is_judged_the_same() -> None:
    said = both([whimsical(number).zip() for number in range(250)], policy())
    assert {code for _, code, *_ in said} >= {"V2", "V3", "V8", "V9", None}
