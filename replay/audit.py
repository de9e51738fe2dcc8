"""The audit: one verdict on one game, from whatever evidence there is (docs/audit-bundle.md has the table of checks).

A log's events alone, or a bundle with proofs, policy, receipts and refusals: the same checks in the same order, and
what there was nothing for is NOT CHECKED or a LIMIT, and said. Keys come from outside only. Anybody can spoil a copy,
so what fails accuses nobody, unless it is the server's own signed statement.
"""

from collections import Counter
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

import msgspec
import rfc8785
from msgspec import UNSET

from engine.chance import Committed
from engine.protocol import Illegal, name_and_args
from events import seeds
from events.event import Event, event_hash, genesis
from events.log import Damage, Head
from events.notes import BadKey, BadNote, Unverified, Verifier
from events.signing import NotAnAction, SignedAction
from events.tlog.entries import BadEntry, Closed, Opened
from events.tlog.policy import BadPolicy, Policy
from replay.bundle import NOTE, RECEIPTS, STATE, BadBundle, Bundle
from replay.logged import Logged, Seen
from replay.position import Finding, Position
from replay.receipts import Statement
from replay.replay import Replay
from replay.words import Words, words

PASS, FAIL, LIMIT, NOT_CHECKED = "PASS", "FAIL", "LIMIT", "NOT CHECKED"
VERIFIED: Final = "VERIFIED"
VERIFIED_WITH_LIMITS: Final = "VERIFIED WITH LIMITS"
REFUTED: Final = "REFUTED"
NOT_PROVEN: Final = "NOT PROVEN"
UNDETERMINED: Final = "UNDETERMINED"
VERDICTS: Final = (VERIFIED, VERIFIED_WITH_LIMITS, REFUTED, NOT_PROVEN, UNDETERMINED)
SERVER: Final = "server"
"""Whom a REFUTED is proved against."""
CHECK_OF: Final[dict[str, str]] = {
    "format": "V2", "chain": "V3", "key": "V7", "signature": "V8", "order": "V9", "dice": "V9", "seed": "V10",
    "setup": "V12", "legality": "V12", "draws": "V12", "fingerprint": "V12",
}  # fmt: skip
"""Which check a finding of the fold fails."""
SECTIONS: Final[dict[str, str]] = {
    "V0": "audit-bundle.md#container", "V1": "audit-bundle.md#what-comes-from-outside", "V2": "event-format.md#kinds",
    "V3": "event-format.md#envelope", "V4": "event-format.md#the-log-of-games",
    "V5": "event-format.md#the-log-of-games", "V6": "event-format.md#the-log-of-games",
    "V7": "event-format.md#actions", "V8": "event-format.md#actions", "V9": "event-format.md#chance",
    "V10": "event-format.md#chance", "V11": "audit-bundle.md#what-comes-from-outside",
    "V12": "event-format.md#rulesets", "V13": "event-format.md#life", "V14": "luck.md",
}  # fmt: skip
"""Where in docs/ stands what a check follows."""
RECEIPTS_SUFFIX: Final = "/receipts"
FOUND_LIMIT: Final = 1000
"""Most findings that are kept of one sort."""
TOLD_LIMIT: Final = 8
"""Most suppressed rolls that are told."""


class Check(msgspec.Struct, frozen=True):
    """One check: what was found, ``said`` in words for players, ``detail`` exactly and in English.

    ``code``: the sort of what fails, one of `replay.position.CHECKS`, where the fold found it; ``event``: where it
    fails or is limited; ``rule``: the paragraph that an illegal action is against; ``section``: where in docs/ stands
    what the check follows.
    """

    id: str
    name: str
    result: str
    detail: str = ""
    event: int | None = None
    rule: str | None = None
    code: str | None = None
    said: str = ""
    section: str = ""


class Limit(msgspec.Struct, frozen=True):
    """What the verdict does not cover, in words."""

    id: str
    text: str


class Verdict(msgspec.Struct, frozen=True):
    """``verdict``: one of five phrases, ``words``: in the language asked for; ``code``: the check that decided it,
    ``event`` its place; ``who``: whom it is proved against."""

    verdict: str
    words: str
    code: str | None
    event: int | None
    who: str | None
    checks: list[Check]
    limits: list[Limit]
    events: int


@dataclass(frozen=True, slots=True)
class Trust:
    """What whoever audits brings along.

    ``policy``: the text of a C2SP tlog-policy; ``receipts_key``: a verifier key, else the policy's line
    ``# annals-receipts``; ``receipts``: receipts and refusals by where they come from; ``requests``: what was sent and
    never answered, by where it comes from; ``own``: the policy is the audited server's own; ``rules``: fold the rules?
    """

    policy: str | bytes | None = None
    receipts_key: str | None = None
    receipts: Mapping[str, bytes] = field(default_factory=dict)
    requests: Mapping[str, bytes] = field(default_factory=dict)
    own: bool = False
    rules: bool = True

    def with_receipts(self, receipts: Mapping[str, bytes]) -> "Trust":
        """The same with these receipts and refusals instead."""
        return replace(self, receipts=receipts)


@dataclass(slots=True)
class Record:
    """The events of one game as they were found; None where one cannot be read, then ``data`` may have its bytes."""

    game_id: bytes
    events: list[Event | None]
    data: dict[int, bytes]
    damage: list[Damage]
    head: Head | None = None
    """What the log or a player says is the last event."""
    in_file: bool = False
    """A file has whole events only: what is missing in a log is malformed there."""

    @classmethod
    def of_log(cls, game_id: bytes, items: Iterable[Event | Damage], head: Head | None) -> "Record":
        """The entries of a log, each at its own number."""
        replay = Replay(game_id, items)
        events = [replay.event(n) for n in range(1, len(replay) + 1)]
        data = {
            place: item.data
            for item in replay.damage
            if item.data is not None and 0 < (place := _place(item)) <= len(events) and events[place - 1] is None
        }
        return cls(game_id, events, data, replay.damage, head)

    @classmethod
    def of_file(cls, game_id: bytes, items: Iterable[Event | Damage]) -> "Record":
        """The entries of a file, in their order."""
        found = list(items)
        damage = [item for item in found if isinstance(item, Damage)]
        data = {n: item.data for n, item in enumerate(found, 1) if isinstance(item, Damage) and item.data is not None}
        events = [item if isinstance(item, Event) else None for item in found]
        return cls(game_id, events, data, damage, in_file=True)

    def __len__(self) -> int:
        return len(self.events)

    def raw(self, n: int) -> bytes | None:
        """The bytes of event n, as far as there are any."""
        event = self.events[n - 1]
        return self.data.get(n) if event is None else event.data

    def linked(self) -> bytes | None:
        """The hash of the last event, if the bytes of every event hold the hash of the one before; else None."""
        prev = genesis(self.game_id)
        for n in range(1, len(self) + 1):
            raw = self.raw(n)
            if raw is None or _linked_to(raw) != (self.game_id, prev):
                return None
            prev = event_hash(raw)
        return prev if self.events else None


class Bad(msgspec.Struct, frozen=True):
    """Something that fails a check. ``proves``: is it proved against the server, whatever else holds? (None: if the
    event is the server's own statement). ``code``: see `Check`."""

    event: int | None
    detail: str
    rule: str | None = None
    proves: bool | None = None
    code: str | None = None


def audit(
    game_id: bytes,
    items: Iterable[Event | Damage],
    head: Head | None = None,
    language: str = "en",
    trust: Trust = Trust(),  # never changed
    files: Mapping[str, bytes] = {},
) -> Verdict:
    """Check a game from its stored events. ``head``: what the log or a player says is the last event; ``files``: proofs
    of the log of games and the like, under the names that they have in a bundle."""
    return Auditor(Record.of_log(game_id, items, head), files, None, trust, language).verdict()


def audit_bundle(data: bytes, trust: Trust, language: str = "en", unpacked: int | None = None) -> Verdict:
    """Check a bundle of at most ``unpacked`` bytes: hostile bytes give a verdict too."""
    try:
        bundle = Bundle.read(data) if unpacked is None else Bundle.read(data, unpacked)
    except BadBundle as error:
        return _unreadable(str(error), language)
    record = Record.of_file(bundle.game_id, bundle.events())
    return Auditor(record, bundle.files, bundle, trust, language).verdict()


def audit_events(items: Iterable[Event | Damage], trust: Trust, language: str = "en") -> Verdict:
    """Check the events of an ``.annals`` file, in their order there."""
    found = list(items)
    game_id = next((item.game_id for item in found if isinstance(item, Event)), bytes(16))
    return Auditor(Record.of_file(game_id, found), {}, None, trust, language).verdict()


def _unreadable(why: str, language: str) -> Verdict:
    say = words(language)
    first = Check("V0", say.raw("table.check.V0"), FAIL, why, said=said(say, "V0", FAIL), section=SECTIONS["V0"])
    rest = [Check(f"V{n}", say.raw(f"table.check.V{n}"), NOT_CHECKED, section=SECTIONS[f"V{n}"]) for n in range(1, 15)]
    return Verdict(NOT_PROVEN, say.raw("table.verdict.not-proven"), "V0", None, None, [first, *rest], [], 0)


def said(say: Words, check: str, result: str, code: str | None = None, topic: str = "") -> str:
    """What a check found, in a sentence for players; as particular as there are words for."""
    plain = f"{check}.{result.lower().replace(' ', '-')}"
    for name in (f"{plain}.{code}", topic + plain, plain):
        if (text := say.raw(message := f"table.said.{name}")) != message:
            return text
    return ""


class Auditor:
    """The checks of one game, each a method that fills in its line."""

    _topic = ""
    """What is audited, where its checks have words of their own."""
    _sections = SECTIONS

    def __init__(
        self, record: Record, files: Mapping[str, bytes], bundle: Bundle | None, trust: Trust, language: str
    ) -> None:
        self._record, self._files, self._bundle, self._trust = record, files, bundle, trust
        self._events, self._say = record.events, words(language)
        self._checks: dict[str, Check] = {}
        self._accusing: set[str] = set()
        self._limits: list[Limit] = []
        self._found: dict[str, list[tuple[int, Finding]]] = {}
        self._count: Counter[str] = Counter()
        self._place = 0
        self._policy: Policy | None = None
        self._unsure: set[str] = set()
        self._receipts_key: Verifier | None = None
        self._origin: str | None = None
        self._manifest_signed = False
        self._chain_known: seeds.Chain | None = None
        self._logged = Logged({}, None)
        self._position = self._fold()

    def verdict(self) -> Verdict:
        """All checks, in order, and what follows from them."""
        self._inputs()
        self._container()
        self._logged = Logged(self._files, self._policy, self._origin)
        self._statements = self._read_statements()
        self._theirs = self._own_statement()
        self._format()
        self._chain()
        self._log()
        self._seat_keys()
        self._seats()
        self._dice()
        self._tail()
        self._receipts()
        self._refold()
        self._completeness()
        self._note("V14", NOT_CHECKED)
        return self._conclude()

    def _conclude(self) -> Verdict:
        order = sorted(self._checks.values(), key=lambda check: int(check.id[1:]))
        failed = [check for check in order if check.result == FAIL]
        proved = next((check for check in failed if check.id in self._accusing), None)
        unsure = next((check for check in order if check.id in ("V4", "V12") and check.id in self._unsure), None)
        if proved is not None:
            phrase = REFUTED
        elif failed:
            phrase = UNDETERMINED if failed[0].id == "V1" else NOT_PROVEN
        elif unsure is not None:
            phrase = UNDETERMINED
        else:
            phrase = VERIFIED_WITH_LIMITS if self._limits else VERIFIED
        decisive = proved or (failed[0] if failed else unsure)
        return Verdict(
            verdict=phrase,
            words=self._say.raw(f"table.verdict.{phrase.lower().replace(' ', '-')}"),
            code=decisive.id if decisive else None,
            event=decisive.event if decisive else None,
            who=SERVER if phrase == REFUTED else None,
            checks=order,
            limits=self._limits,
            events=len(self._events),
        )

    # -- the fold ----------------------------------------------------------------------------------------------------

    def _fold(self) -> Position:
        position = Position(self._record.game_id, self._report, check_dice=True)
        if not self._trust.rules:
            position.rulesets = {}
        for place, event in enumerate(self._events, 1):
            self._place = place  # the report looks at it
            if event is None:
                continue
            try:
                position.advance(event)
            except _HOSTILE as error:  # a state that its ruleset never makes, as a fork may claim one
                position.miss(place, "legality", f"the rules cannot go on: {error!r}")
                position.state = None
        return position

    def _report(self, finding: Finding) -> None:
        check = CHECK_OF[finding.check]
        event = self._events[self._place - 1]
        kind = None if event is None else event.kind
        if finding.check == "signature" and kind == "join":  # it proves possession of the key
            check = "V7"
        elif finding.check == "order" and (kind == "close" or (kind in _PLAYED and self._ruled_out)):
            check = "V12"  # only the rules can say
        self._count[check] += 1
        found = self._found.setdefault(check, [])
        if len(found) < FOUND_LIMIT:
            found.append((self._place, finding))

    @property
    def _ruled_out(self) -> bool:
        """Was something found that is against the rules, so that they cannot say any more whether the game is over?"""
        return self._trust.rules and "V12" in self._found

    def _of(self, check: str) -> list[Bad]:
        found = self._found.get(check, ())
        return [Bad(place, _sides(one), one.rule or None, code=one.check) for place, one in found]

    def _kind(self, kind: str) -> Iterator[tuple[int, Event]]:
        return ((n, event) for n, event in enumerate(self._events, 1) if event is not None and event.kind == kind)

    # -- V1, V0: what is brought along, and what it came in ------------------------------------------------------------

    def _inputs(self) -> None:
        """V1: policy and keys can be read, belong together and to what is audited."""
        trust = self._trust
        if trust.policy is None and trust.receipts_key is None:
            self._note("V1", NOT_CHECKED)
            return
        try:
            policy = None if trust.policy is None else Policy.parse(trust.policy)
            pinned = None if policy is None else policy.receipts
            receipts_key = pinned if trust.receipts_key is None else Verifier.parse(trust.receipts_key)
        except (BadPolicy, BadKey) as error:
            self._judge("V1", [Bad(None, str(error))])
            return
        named = None if receipts_key is None else receipts_key.name.removesuffix(RECEIPTS_SUFFIX)
        origin = self._bundle.origin if self._bundle is not None else named
        bad = []
        if receipts_key is not None and receipts_key.name == named:
            bad.append(f"the receipts key is called {named!r}, which does not end with {RECEIPTS_SUFFIX}")
        elif receipts_key is not None and origin != named:
            bad.append(f"this is of the log {origin!r}, the receipts key is of {named!r}")
        origins = [] if policy is None else [log.name for log in policy.logs]
        if policy is not None and origin is not None and origin not in origins:
            bad.append(f"this is of the log {origin!r}, the policy knows {', '.join(origins) or 'none'}")
        self._judge("V1", [Bad(None, text) for text in bad])
        if not bad:
            self._policy, self._receipts_key, self._origin = policy, receipts_key, origin
        if trust.own:
            self._limit("own-policy")

    def _container(self) -> None:
        """V0: the manifest names every file as it is, and is signed where the key is known."""
        bundle, key = self._bundle, self._receipts_key
        if bundle is None:
            self._note("V0", NOT_CHECKED)
            return
        bad = [Bad(None, text) for text in bundle.damaged]
        detail, result = "", PASS
        try:
            opened = None if key is None else bundle.signed(key)
        except Unverified as error:
            opened, detail = None, f"{NOTE}: {error}"
        except BadNote as error:
            opened = None
            bad.append(Bad(None, f"{NOTE}: {error}"))
        if opened is not None and opened.text != bundle.statement:
            bad.append(Bad(None, f"{NOTE} is not about this manifest"))
        elif opened is None and key is not None and not bad:
            result, detail = LIMIT, detail or f"there is no {NOTE}"
            self._limit("unsigned-export")
        elif key is None:
            detail = f"no receipts key: {NOTE} was not looked at"
        self._judge("V0", bad)
        if not bad:
            self._checks["V0"] = self._check("V0", result, detail)
            self._manifest_signed = opened is not None

    def _own_statement(self) -> int:
        """Up to which event the bytes are the server's own statement, by its signed manifest or its log."""
        if self._manifest_signed:
            return len(self._events) + 1
        opened, closed = self._logged.opened, self._logged.closed
        if closed is not None and self._close_differs(closed.entry) is None and self._record.linked():
            return len(self._events) + 1
        return int(opened is not None and self._open_differs(opened.entry) is None)

    # -- V2, V3: the bytes -------------------------------------------------------------------------------------------

    def _format(self) -> None:
        """V2: each event is canonical, and has the shape of its kind."""
        record = self._record
        bad = [
            Bad(_place(item), item.reason) for item in record.damage if record.in_file or _place(item) in record.data
        ]
        self._judge("V2", bad + self._of("V2"))

    def _chain(self) -> None:
        """V3: dense from 1, one game, each linked to the one before, the clock never back, create first, close last."""
        record = self._record
        bad: list[tuple[int, str]] = []
        broken: set[int] = set()
        prev, clock = genesis(record.game_id), 0
        for n, event in enumerate(self._events, 1):
            if event is None:
                data = record.data.get(n)
                bad.append((n, f"event {n} is missing" if data is None else f"event {n} cannot be read"))
                prev = b"" if data is None else event_hash(data)
                continue
            if event.game_id != record.game_id:
                bad.append((n, f"event {n} belongs to game {event.game_id.hex()}"))
            if event.seq != n:
                bad.append((n, f"event {n} says that it is number {event.seq}"))
            if event.t_ms < clock:
                bad.append((n, f"the clock runs back at event {n}: {event.t_ms} after {clock}"))
            if (event.kind == "create") != (n == 1):
                bad.append((n, f"event {n} is a {event.kind}"))
            if event.kind == "close" and n != len(self._events):
                bad.append((n, f"event {n} closes the game and is not the last"))
            if prev and event.prev != prev:
                broken.add(n)
            prev, clock = event.hash, max(clock, event.t_ms)
        bad += self._changed(broken)
        known = {place for place, _ in bad} | broken
        for item in record.damage:  # what the log itself noticed, where nothing above explains it
            place = _place(item)
            if place not in record.data and known.isdisjoint((place, place - 1)):
                bad.append((place, f"entry {item.place}: {item.reason}"))
        if self._bundle is not None and not self._events:
            bad.append((1, "there is no event"))
        self._judge("V3", [Bad(place, detail) for place, detail in bad])

    def _changed(self, broken: set[int]) -> list[tuple[int, str]]:
        """Which events were changed, from where the links break.

        A changed byte breaks the link of the next event; a byte of ``prev`` breaks the event's own link as well. Behind
        the last event stands the head that the log acknowledged, where it is known.
        """
        last, acknowledged = len(self._events), self._record.head
        end = self._events[-1] if self._events else None
        head = acknowledged if acknowledged is not None and acknowledged.version == last else None
        breaks = broken | ({last + 1} if head is not None and end is not None and end.hash != head.head else set())
        changed: list[tuple[int, str]] = []
        explained = 0
        for n in sorted(breaks):
            if n == explained:
                continue
            if n + 1 in breaks:
                explained = n + 1
                changed.append((n, f"event {n} was changed: its link to the event before"))
            elif n == last and head is None and n > 1:
                changed.append((n, f"event {n} does not follow event {n - 1}: one of the two was changed"))
            elif n == 1:
                changed.append((n, "event 1 does not follow from the id of the game"))
            else:
                witness = f"event {n} follows" if n <= last else "the log acknowledged"
                changed.append((n - 1, f"event {n - 1} was changed: it is not the one that {witness}"))
        if acknowledged is not None and acknowledged.version > last:
            changed.append((last + 1, f"events {last + 1} to {acknowledged.version} are missing"))
        return changed

    # -- V4, V5, V6: the log of games --------------------------------------------------------------------------------

    def _log(self) -> None:
        logged = self._logged
        if self._policy is None or not logged.present or (logged.unknown and not logged.bad_checkpoints):
            detail = "" if not logged.unknown else "; ".join(logged.unknown)
            if logged.unknown:
                self._unsure.add("V4")
            else:
                self._limit("no-log")
            self._checks["V4"] = self._check("V4", NOT_CHECKED, detail)
            self._note("V5", NOT_CHECKED)
            self._note("V6", NOT_CHECKED)
            return
        self._judge("V4", [Bad(None, text) for text in logged.bad_checkpoints])
        if not logged.witnessed:
            self._limit("no-witness")
            if not logged.bad_checkpoints:
                self._checks["V4"] = self._check("V4", LIMIT, "no quorum of witnesses: a split view is not excluded")
        seen = {(size, root): n for n, size, root in self._checkpoints_seen()}
        bad = [Bad(None, text, proves=True) for text in logged.forks]
        bad += [Bad(None, text, proves=False) for text in logged.bad_proofs]
        unconnected = dict(logged.unconnected(seen))
        bad += [Bad(seen[cp], text, proves=False) for cp, text in unconnected.items()]
        self._judge("V5", bad)
        self._entries(unconnected)

    def _entries(self, unconnected: Container[Seen]) -> None:
        """V6: the log says of the game what its events say. An ``unconnected`` checkpoint may be of another log."""
        opened, closed = self._logged.opened, self._logged.closed
        end = self._events[-1] if self._events else None
        over = end is not None and end.kind == "close"
        bad: list[Bad] = []
        if opened is not None and (text := self._open_differs(opened.entry)) is not None:
            bad.append(Bad(1, text, proves=self._manifest_signed))
        if closed is not None and (text := self._close_differs(closed.entry)) is not None:
            bad.append(Bad(len(self._events), text, proves=self._manifest_signed))
        if opened is not None and closed is not None and not opened.index < closed.index:
            bad.append(Bad(None, "the log closed the game before it opened it", proves=self._manifest_signed))
        silent = []
        for n, event, cp in self._joins():
            if cp is None:
                silent.append(event.seat or 0)
            elif opened is not None and cp[0] <= opened.index and cp not in unconnected:
                text = f"seat {event.seat} joined having seen a log of {cp[0]} entries, without this game"
                bad.append(Bad(n, text, proves=self._manifest_signed))
        if opened is None and closed is None:
            self._limit("no-log")
            self._note("V6", NOT_CHECKED)
            return
        self._judge("V6", bad)
        if opened is None:
            self._limit("no-log")
        if over and closed is None:
            self._limit("close-not-logged")
        if opened is not None and closed is not None and opened.size > closed.index:
            self._limit("opened-late")
        if silent:
            self._limit("no-checkpoint", sorted(set(silent)))

    def _open_differs(self, entry: Opened) -> str | None:
        """What an open entry says otherwise than event 1."""
        record = self._record
        raw = record.raw(1) if self._events else None
        if raw is None or (entry.game_id, entry.hash) != (record.game_id, event_hash(raw)):
            return "the log opened another game, or this one with another first event"
        event = self._events[0]
        try:
            return None if event is None or Opened.of(event) == entry else "the log opened the game otherwise"
        except BadEntry as error:
            return str(error)

    def _close_differs(self, entry: Closed) -> str | None:
        """What a close entry says otherwise than the events."""
        record, count = self._record, len(self._events)
        if entry.game_id != record.game_id:
            return "the log closed another game"
        if entry.version != count:
            return f"the log closed the game with {entry.version} events, here are {count}"
        raw = record.raw(count)
        if raw is None or entry.head != event_hash(raw):
            return "the log closed the game with another last event"
        event = self._events[-1]
        try:
            return None if event is None or Closed.of(event) == entry else "the log closed the game otherwise"
        except BadEntry as error:
            return str(error)

    def _joins(self) -> Iterator[tuple[int, Event, Seen | None]]:
        """(place, join, the checkpoint that was seen, if one was) of the seats that sign."""
        for n, event in self._kind("join"):
            if event.body.get("custody") == "self":
                yield n, event, seen_checkpoint(event)

    def _checkpoints_seen(self) -> Iterator[tuple[int, int, bytes]]:
        """(place, size, root) of each checkpoint that a seat signed."""
        for n, event in enumerate(self._events, 1):
            if event is not None and event.kind in ("join", "signoff") and (cp := seen_checkpoint(event)) is not None:
                yield n, *cp

    # -- V7, V8: keys and signatures -----------------------------------------------------------------------------------

    def _seat_keys(self) -> None:
        """V7: keys that nobody else can sign for, no two the same, each proved by its own join."""
        self._judge("V7", self._of("V7"), unless_checked=not any(True for _ in self._joins()))

    def _seats(self) -> None:
        """V8: every act of a seat in self-custody is signed by it, for this place in this game."""
        position = self._position
        custodial = [number for number, seat in position.seat_items() if seat.player and not seat.signs]
        signing = [number for number, seat in position.seat_items() if seat.signs]
        handed_over = [(n, event.body.get("seat")) for n, event in self._kind("custody")]
        if custodial:
            self._limit("custodial", custodial)
        self._judge("V8", self._of("V8"))
        if not self._count["V8"] and (custodial or handed_over or not signing):
            self._checks["V8"] = self._check("V8", LIMIT)
        if not any(True for _ in self._joins()) and position.create is not None:
            self._limit("seeds")
        for place, seat in handed_over:
            if type(seat) is int:
                self._limit("handed-over", [seat], place)

    # -- V9, V10: chance -----------------------------------------------------------------------------------------------

    def _dice(self) -> None:
        """V9: the order of commitments and reveals, each link, each draw recomputed."""
        position = self._position
        if position.create is None:
            self._note("V9", NOT_CHECKED)
            return
        self._judge("V9", self._of("V9"), unless_checked=position.dice.revealed == 0)

    def _tail(self) -> None:
        """V10: the end of the server's chain, public once the game is closed, leads to what it committed to; what was
        pending then is computed."""
        if not self._position.closed:
            self._limit("not-closed")
        known = any("tail" in event.body for _, event in self._kind("close"))
        checked = known and self._position.create is not None
        self._judge("V10", self._of("V10"), unless_checked=not checked)
        if checked and not self._count["V10"]:
            try:
                told = list(self._suppressed())
            except _HOSTILE as error:
                told = [f"what was pending cannot be computed: {error!r}"]
            more = f"; and {len(told) - TOLD_LIMIT} more" if len(told) > TOLD_LIMIT else ""
            self._checks["V10"] = self._check("V10", PASS, "; ".join(told[:TOLD_LIMIT]) + more)

    def _suppressed(self) -> Iterator[str]:
        """What would have been rolled next, had the game not been broken off: nobody can choose it any more."""
        position = self._position
        if position.status not in ("abandoned", "void") or position.rules is None or position.state is None:
            return
        if position.diverged is not None or position.outcome is not None or position.create is None:
            return
        for seat in position.rules.to_act(position.state):
            if position.seats[seat - 1].signs:
                continue  # its next link is its own: see the requests
            for offer in position.rules.legal(position.state, seat):
                yield from self._roll(position, seat, offer.action, None)
        for where, request in self._trust.requests.items():
            yield from self._pending(position, where, request)

    def _pending(self, position: Position, where: str, request: bytes) -> Iterator[str]:
        """What a signed request would have rolled that the game has no event for."""
        try:
            signed, signature = read_request(request)
        except NotAnAction as error:
            yield f"{where}: {error}"
            return
        seat = position.seats[signed.seat - 1] if signed.seat <= len(position.seats) else None
        if any(event.body.get("a") == signed.data for _, event in self._kind(signed.kind)):
            yield f"{where}: it was answered"
        elif seat is None or signed.game_id != position.game_id or not signed.signed_by(seat.pk, signature):
            yield f"{where}: not signed by a seat of this game"
        elif (signed.head, signed.head_seq, signed.pseq) != (*self._before_close(), seat.signed):
            yield f"{where}: signed for another moment than the game's last"
        elif seeds.lower(position.game_id, signed.seat, signed.pseq, signed.r) != seat.link:
            yield f"{where}: its link is not the seat's next"
        elif signed.name is not None and position.rules is not None:
            try:
                action = position.rules.parse(signed.name, signed.args)
            except Illegal as error:
                yield f"{where}: {error.reason}"
                return
            told = list(self._roll(position, signed.seat, action, signed.r))
            yield from (f"{where}: never answered; {text}" for text in told or ["it asked for no roll"])

    def _server_chain(self, length: int) -> seeds.Chain:
        """The server's whole chain, public by now."""
        if self._chain_known is None:
            tail = next(event.body["tail"] for _, event in self._kind("close"))
            self._chain_known = seeds.Chain(self._record.game_id, seeds.SERVER, tail, length)
        return self._chain_known

    def _before_close(self) -> tuple[bytes, int]:
        """Hash and number of the event before the last one, which closes the game."""
        event = self._events[-2] if len(self._events) > 1 else None
        return (b"", 0) if event is None else (event.hash, event.seq)

    def _roll(self, position: Position, seat: int, action: Any, link: bytes | None) -> Iterator[str]:
        rules, create = position.rules, position.create
        assert rules is not None
        assert create is not None
        number = position.dice.revealed + 1
        if number > create.chain_len:
            return
        server = self._server_chain(create.chain_len).link(number)
        chance = Committed(lambda: seeds.blocks(position.mixed(seat, server, link)))
        try:
            rules.apply(rules.copy(position.state), seat, action, chance)
        except Illegal as error:
            yield f"seat {seat} may not: {error.reason}"
            return
        if chance.draws:
            name, _ = name_and_args(action)
            draws = ", ".join(f"{draw[0]} {draw[-1]}" for draw in chance.draws)
            yield f"had seat {seat} gone on with {name}, it would have drawn {draws}"

    # -- V11: what players kept ----------------------------------------------------------------------------------------

    def _read_statements(self) -> list[tuple[str, Statement | str]]:
        """Each receipt or refusal by where it comes from; or why it is none of this server's about this game."""
        brought = {**({} if self._bundle is None else self._bundle.under(RECEIPTS)), **self._trust.receipts}
        read: list[tuple[str, Statement | str]] = []
        self._brought = bool(brought)
        key = self._receipts_key
        if key is None:
            return read
        for where, note in brought.items():
            try:
                statement = Statement.read(note, key)
            except BadNote as error:
                read.append((where, str(error)))
                continue
            if statement.game_id != self._record.game_id:
                read.append((where, f"about game {statement.game_id.hex()}"))
            elif statement.origin != key.name.removesuffix(RECEIPTS_SUFFIX):
                read.append((where, f"of the log {statement.origin}"))
            else:
                read.append((where, statement))
        return read

    def _receipts(self) -> None:
        """V11: whatever the server signed for a player is in the record."""
        if not self._statements:
            detail = "no receipts key, so the receipts were not looked at" if self._brought else ""
            self._checks["V11"] = self._check("V11", NOT_CHECKED, detail)
            self._limit("no-receipts")
            return
        bad: list[Bad] = []
        heads: dict[int, tuple[str, bytes]] = {}
        beyond, told = 0, []
        closed, last = self._logged.closed, len(self._events)
        over = self._position.closed
        for where, statement in self._statements:
            if isinstance(statement, str):
                bad.append(Bad(None, f"{where}: {statement}", proves=False))
                continue
            seq, name = statement.seq, f"{where}, {statement.name}"
            first, head = heads.setdefault(seq, (where, statement.hash))
            if head != statement.hash:
                bad.append(Bad(seq, f"{where} and {first} are signed for event {seq} and differ", proves=True))
            if closed is not None and _past(statement, closed.entry):
                bad.append(Bad(seq, f"{name}: the log closed the game with {closed.entry.version} events", proves=True))
            elif seq > last and over:
                bad.append(Bad(last, f"{name}: the record ends with event {last}"))
            elif seq > last:
                beyond = max(beyond, seq)
            elif (raw := self._record.raw(seq) if seq else None) is None or event_hash(raw) != statement.hash:
                bad.append(Bad(seq, f"{name}: the record has another event"))
            if statement.code is not None:
                told.append(f"{where}: refused with {statement.code} at event {seq}")
        self._judge("V11", bad)
        if beyond:
            self._limit("receipt-beyond", number=beyond)
        if not bad:
            self._checks["V11"] = self._check("V11", LIMIT if beyond else PASS, "; ".join(told[:TOLD_LIMIT]))

    # -- V12, V13: rules and completeness ------------------------------------------------------------------------------

    def _refold(self) -> None:
        """V12: under the game's own rules each action was legal, each draw asked for, each state the stored one."""
        position, found = self._position, self._of("V12")
        if not self._trust.rules:
            self._note("V12", NOT_CHECKED)
            self._limit("rules-not-folded")
            return
        if position.create is not None and position.create.forked_from is not UNSET:
            self._limit("forked")
        if not found and (position.unverified_from is not None or position.create is None):
            self._checks["V12"] = self._check("V12", NOT_CHECKED, event=position.unverified_from)
            self._unsure.add("V12")
            return
        if not found and not self._claimed_state_holds():
            found.append(Bad(None, f"{STATE} is not the state that the game ended in", proves=self._manifest_signed))
        self._judge("V12", found)

    def _claimed_state_holds(self) -> bool:
        position, claimed = self._position, self._files.get(STATE)
        if claimed is None:
            return True
        return position.state is not None and claimed == final_state(position)

    def _completeness(self) -> None:
        """V13: nothing was done before its time, and every seat vouched for the end."""
        bad = list(self._too_early())
        self._judge("V13", bad)
        position = self._position
        silent = self._silent()
        if position.closed and silent:
            self._limit("no-signoff", silent)
        unsigned = any(seat.player and not seat.signs for seat in position.seats)
        if not bad and (silent or unsigned or not position.closed):
            self._checks["V13"] = self._check("V13", LIMIT)

    def _silent(self) -> list[int]:
        """The seats in self-custody that did not sign the end."""
        return [number for number, seat in self._position.seat_items() if seat.signs and not seat.signed_off]

    def _unsigned_end(self) -> bool:
        """Was the game closed although a seat could still have signed its end?"""
        return self._position.closed and not self._position.spent and bool(self._silent())

    def _too_early(self) -> Iterator[Bad]:
        """Turns that were claimed, seats that were freed, and tables that were closed before their time."""
        create = self._position.create
        options = {} if create is None else create.options

        def due(name: str) -> int:
            value = options.get(name, _DEADLINES[name])
            return 1000 * value if type(value) is int else 0

        before, locked = None, None
        for n, event in enumerate(self._events, 1):
            if event is None:
                continue
            name, since = None, before
            if event.kind == "lock":
                locked = event
            elif event.kind == "timeout" and locked is not None:
                name, since, locked = "reveal_seconds", locked, None
            elif event.kind == "timeout":
                name = "turn_seconds"
            elif event.kind == "seeded":
                locked = None
            elif event.kind == "close" and event.body.get("status") == "abandoned":
                name = _CLOSING.get(str(event.body.get("reason")))
            elif event.kind == "close" and event.body.get("status") == "finished" and self._unsigned_end():
                name = "signoff_seconds"
            if name is not None and since is not None:
                waited = event.t_ms - since.t_ms
                if not due(name):
                    yield Bad(n, f"event {n} ({event.kind}) at a table without {name}")
                elif waited < due(name):
                    yield Bad(n, f"event {n} ({event.kind}) after {waited / 1000} s of {due(name) // 1000} s ({name})")
            before = event

    # -- how -----------------------------------------------------------------------------------------------------------

    def _check(self, check: str, result: str, detail: str = "", event: int | None = None, **more: str | None) -> Check:
        told = said(self._say, check, result, more.get("code"), self._topic)
        name, section = self._say.raw(f"table.check.{check}"), self._sections[check]
        return Check(check, name, result, detail, event, said=told, section=section, **more)

    def _note(self, check: str, result: str) -> None:
        self._checks[check] = self._check(check, result)

    def _judge(self, check: str, bad: Sequence[Bad], unless_checked: bool = False) -> None:
        """FAIL with the first of what is bad and how many there are, or PASS. What the server signed goes first."""
        if not bad:
            self._note(check, NOT_CHECKED if unless_checked else PASS)
            return
        proved = [one for one in bad if self._proves(one)] if check not in ("V0", "V1", "V4") else []
        if proved:
            self._accusing.add(check)
        first = min(proved or bad, key=lambda one: one.event or 0)
        count = max(len(bad), self._count[check])
        more = f" (and {count - 1} more)" if count > 1 else ""
        self._checks[check] = self._check(
            check, FAIL, first.detail + more, first.event, rule=first.rule, code=first.code
        )

    def _proves(self, bad: Bad) -> bool:
        if bad.proves is not None:
            return bad.proves
        return self._theirs > len(self._events) or 0 < (bad.event or 0) <= self._theirs

    def _limit(self, name: str, seats: Sequence[int] = (), number: int = 0) -> None:
        if any(limit.id == name for limit in self._limits) and name != "handed-over":
            return
        facts: dict[str, Any] = {"count": len(seats), "seats": list(seats), "number": number}
        self._limits.append(Limit(name, self._say.text(f"table.limit.{name}", facts)))


_HOSTILE: Final = (
    ArithmeticError, AssertionError, AttributeError, LookupError, RecursionError, TypeError, ValueError,
    msgspec.MsgspecError,
)  # fmt: skip
"""What rules may raise when they are given a state that no game can be in."""
_PLAYED: Final = ("act", "timeout", "resign", "custody", "signoff")
"""Kinds whose time is told by the rules: while there is an outcome, or none."""
_DEADLINES: Final = {"turn_seconds": 0, "reveal_seconds": 120, "idle_seconds": 604_800, "signoff_seconds": 60}
"""Of a table that does not say."""
_CLOSING: Final = {"idle": "idle_seconds", "absent": "turn_seconds"}
"""Which deadline a table that is closed as abandoned must have waited for, by the reason."""


def read_request(data: bytes) -> tuple[SignedAction, bytes]:
    """The signed action and the signature of a request for one, as it is sent to the service.

    :raises NotAnAction: it holds none.
    """
    try:
        sent = msgspec.json.decode(data, type=_Request)
    except msgspec.DecodeError as error:
        raise NotAnAction(f"not a request of a signed action: {error}") from error
    return SignedAction.read(sent.signed), sent.signature


class _Request(msgspec.Struct, frozen=True):
    signed: bytes
    signature: bytes


def final_state(position: Position) -> bytes:
    """``state.json`` of a game.

    :raises ValueError: there is no state.
    """
    plain = msgspec.to_builtins(position.state)
    return rfc8785.dumps({"state": plain, "state_hash": position.state_hash().hex()})


def _past(statement: Statement, entry: Closed) -> bool:
    """Is it about an event that a closed game cannot have?"""
    return statement.seq > entry.version or (statement.seq == entry.version and statement.hash != entry.head)


def seen_checkpoint(event: Event) -> Seen | None:
    """The checkpoint of the log that a seat had seen when it signed this."""
    signed = event.body.get("a")
    try:
        cp = SignedAction.read(signed).args.get("cp") if isinstance(signed, bytes) else None
    except NotAnAction:
        return None
    return None if cp is None else (cp[0], cp[1])


def _linked_to(raw: bytes) -> tuple[bytes, bytes] | None:
    """Game and hash of the event before, at their places in the bytes of an event, which may be none otherwise."""
    number = {0xCC: 2, 0xCD: 3, 0xCE: 5, 0xCF: 9}.get(raw[20], 1) if len(raw) > 20 else 0
    prev = 20 + number
    if raw[:4] != b"\x98\x01\xc4\x10" or raw[prev : prev + 2] != b"\xc4\x20" or len(raw) < prev + 34:
        return None
    return raw[4:20], raw[prev + 2 : prev + 34]


def _place(item: Damage) -> int:
    """The number of the entry that is damaged, 0 where it is none of the game's."""
    seq, _, part = item.place.partition("-")
    return int(seq) if seq.isdecimal() and part == "0" else 0


def _sides(finding: Finding) -> str:
    return f"{finding.detail}: stored {finding.stored}, folded {finding.folded}" if finding.folded else finding.detail
