"""A first verdict on a stored game: what can be checked from its events alone.

The checks carry ids (docs/replay.md says what each can show). Here: V2 format, V3 chain, V9 dice from
the committed chain, V10 the chain's end, V12 the refold, V13 claimed turns; what needs signatures, receipts or a public
log is NOT CHECKED or a LIMIT, and said. Nothing here is signed by the server, and anybody can spoil a copy: so what
fails is NOT PROVEN, it accuses nobody.
"""

from collections.abc import Iterable, Sequence
from typing import Any, Final

import msgspec

from events.event import Event, event_hash, genesis
from events.log import Damage, Head
from replay.position import Finding, Position
from replay.replay import Replay
from replay.words import words

PASS, FAIL, LIMIT, NOT_CHECKED = "PASS", "FAIL", "LIMIT", "NOT CHECKED"
VERIFIED: Final = "VERIFIED"
VERIFIED_WITH_LIMITS: Final = "VERIFIED WITH LIMITS"
REFUTED: Final = "REFUTED"
NOT_PROVEN: Final = "NOT PROVEN"
UNDETERMINED: Final = "UNDETERMINED"
VERDICTS: Final = (VERIFIED, VERIFIED_WITH_LIMITS, REFUTED, NOT_PROVEN, UNDETERMINED)
CHECK_OF: Final[dict[str, str]] = {
    "format": "V2", "chain": "V3", "order": "V9", "dice": "V9", "seed": "V10",
    "setup": "V12", "legality": "V12", "draws": "V12", "fingerprint": "V12",
}  # fmt: skip
"""Which check a finding of the fold fails."""


class Check(msgspec.Struct, frozen=True):
    """One check. ``event``: where it fails or is limited; ``rule``: the paragraph that an illegal action is against."""

    id: str
    name: str
    result: str
    detail: str = ""
    event: int | None = None
    rule: str | None = None


class Limit(msgspec.Struct, frozen=True):
    """What the verdict does not cover, in words."""

    id: str
    text: str


class Verdict(msgspec.Struct, frozen=True):
    """``verdict``: one of five phrases, ``words``: in the language asked for; ``code``: the first check that fails,
    ``event`` its place; ``who``: whom it is proved against, here nobody."""

    verdict: str
    words: str
    code: str | None
    event: int | None
    who: str | None
    checks: list[Check]
    limits: list[Limit]
    events: int


def audit(game_id: bytes, items: Iterable[Event | Damage], head: Head | None = None, language: str = "en") -> Verdict:
    """Check a game from its stored events. ``head``: what the log or a player says is the last event."""
    return Auditor(Replay(game_id, items), head, language).verdict()


class Auditor:
    """The checks of one game, each a method that fills in its line."""

    def __init__(self, replay: Replay, head: Head | None, language: str) -> None:
        self._replay, self._head, self._say = replay, head, words(language)
        self._events = [replay.event(n) for n in range(1, len(replay) + 1)]
        self._data = {
            place: item.data
            for item in replay.damage
            if item.data is not None and 0 < (place := _place(item)) <= len(replay) and replay.event(place) is None
        }
        self._checks: dict[str, Check] = {}
        self._limits: list[Limit] = []
        self._position, self._findings, self._handed_over = self._fold()

    def verdict(self) -> Verdict:
        """All checks, in order, and what follows from them."""
        self._format()
        self._chain()
        for check in ("V4", "V5", "V6", "V7"):
            self._note(check, NOT_CHECKED)
        self._seats()
        self._dice()
        self._tail()
        self._note("V11", NOT_CHECKED)
        self._refold()
        self._claims()
        self._limit("no-receipts")
        self._limit("no-log")
        order = sorted(self._checks.values(), key=lambda check: int(check.id[1:]))
        failed = next((check for check in order if check.result == FAIL), None)
        unsure = next((check for check in order if check.id in ("V8", "V12") and check.result == NOT_CHECKED), None)
        phrase = NOT_PROVEN if failed else UNDETERMINED if unsure else VERIFIED_WITH_LIMITS
        decisive = failed or unsure
        return Verdict(
            verdict=phrase,
            words=self._say.raw(f"table.verdict.{phrase.lower().replace(' ', '-')}"),
            code=decisive.id if decisive else None,
            event=decisive.event if decisive else None,
            who=None,
            checks=order,
            limits=self._limits,
            events=len(self._events),
        )

    # -- the fold ----------------------------------------------------------------------------------------------------

    def _fold(self) -> tuple[Position, list[tuple[int, Finding]], list[tuple[int, int]]]:
        findings: list[tuple[int, Finding]] = []
        handed_over: list[tuple[int, int]] = []
        place = 0
        position = Position(self._replay.game_id, lambda finding: findings.append((place, finding)), check_dice=True)
        for place, event in enumerate(self._events, 1):  # the report looks at the place
            if event is None:
                continue
            position.advance(event)
            if event.kind == "custody" and isinstance(seat := event.body.get("seat"), int):
                handed_over.append((place, seat))
        return position, findings, handed_over

    def _of(self, check: str) -> list[tuple[int, Finding]]:
        return [(place, finding) for place, finding in self._findings if CHECK_OF[finding.check] == check]

    # -- the checks --------------------------------------------------------------------------------------------------

    def _format(self) -> None:
        """V2: each event is canonical, and has the shape of its kind."""
        bad = [(_place(item), item.reason) for item in self._replay.damage if _place(item) in self._data]
        bad += [(place, finding.detail) for place, finding in self._of("V2")]
        self._judge("V2", bad)

    def _chain(self) -> None:
        """V3: dense from 1, one game, each linked to the one before, the clock never back, create first, close last."""
        bad: list[tuple[int, str]] = []
        broken: set[int] = set()
        prev, clock = genesis(self._replay.game_id), 0
        for n, event in enumerate(self._events, 1):
            if event is None:
                data = self._data.get(n)
                bad.append((n, f"event {n} is missing" if data is None else f"event {n} cannot be read"))
                prev = b"" if data is None else event_hash(data)
                continue
            if event.game_id != self._replay.game_id:
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
        for item in self._replay.damage:  # what the log itself noticed, where nothing above explains it
            place = _place(item)
            if place not in self._data and known.isdisjoint((place, place - 1)):
                bad.append((place, f"entry {item.place}: {item.reason}"))
        self._judge("V3", bad)

    def _changed(self, broken: set[int]) -> list[tuple[int, str]]:
        """Which events were changed, from where the links break.

        A changed byte breaks the link of the next event; a byte of ``prev`` breaks the event's own link as well. Behind
        the last event stands the head that the log acknowledged, where it is known.
        """
        last = len(self._events)
        end = self._events[-1] if self._events else None
        head = self._head if self._head is not None and self._head.version == last else None
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
        if self._head is not None and self._head.version > last:
            changed.append((last + 1, f"events {last + 1} to {self._head.version} are missing"))
        return changed

    def _seats(self) -> None:
        """V8: nothing is signed at custodial seats; signatures of the others are beyond this version."""
        position = self._position
        custodial = [number for number, seat in position.seat_items() if seat.custody == "server" and seat.player]
        signing = [number for number, seat in position.seat_items() if seat.custody != "server"]
        if signing:
            self._limit("self-custody", signing)
        if custodial:
            self._limit("custodial", custodial)
        self._note("V8", NOT_CHECKED if signing else LIMIT)
        if not signing and position.create is not None:
            self._limit("seeds")
        for place, seat in self._handed_over:
            self._limit("handed-over", [seat], place)

    def _dice(self) -> None:
        """V9: the order of commitments and reveals, each link, each draw recomputed."""
        position = self._position
        if not position.check_dice or position.create is None:
            self._note("V9", NOT_CHECKED)
            return
        bad = [(place, finding.detail) for place, finding in self._of("V9")]
        self._judge("V9", bad, unless_checked=position.dice.revealed == 0)

    def _tail(self) -> None:
        """V10: the end of the server's chain, public once the game is closed, leads to what it committed to."""
        if not self._position.closed:
            self._limit("not-closed")
        known = any(event is not None and event.kind == "close" and "tail" in event.body for event in self._events)
        checked = known and self._position.check_dice
        self._judge("V10", [(place, finding.detail) for place, finding in self._of("V10")], unless_checked=not checked)

    def _refold(self) -> None:
        """V12: under the game's own rules each action was legal, each draw asked for, each state the stored one."""
        found = self._of("V12")
        if not found and (self._position.unverified_from is not None or self._position.create is None):
            self._checks["V12"] = self._check("V12", NOT_CHECKED, event=self._position.unverified_from)
            return
        rule = found[0][1].rule or None if found else None
        self._judge("V12", [(place, _sides(finding)) for place, finding in found], rule)

    def _claims(self) -> None:
        """V13: nobody's turn was claimed before the table's ``turn_seconds`` were over."""
        due = self._position.options.turn_seconds * 1000
        bad: list[tuple[int, str]] = []
        for n, event in enumerate(self._events, 1):
            before = self._events[n - 2] if n > 1 else None
            if event is not None and event.kind == "timeout" and before is not None:
                waited = event.t_ms - before.t_ms
                if not due:
                    bad.append((n, f"event {n} claims a turn at a table without a time limit"))
                elif waited < due:
                    bad.append((n, f"event {n} claims a turn after {waited / 1000} s of {due // 1000} s"))
        self._judge("V13", bad)
        if not bad:
            self._checks["V13"] = self._check("V13", LIMIT)

    # -- how ---------------------------------------------------------------------------------------------------------

    def _check(
        self, check: str, result: str, detail: str = "", event: int | None = None, rule: str | None = None
    ) -> Check:
        return Check(check, self._say.raw(f"table.check.{check}"), result, detail, event, rule)

    def _note(self, check: str, result: str) -> None:
        self._checks[check] = self._check(check, result)

    def _judge(
        self, check: str, bad: Sequence[tuple[int, str]], rule: str | None = None, unless_checked: bool = False
    ) -> None:
        """FAIL with the first of what is bad and how many there are, or PASS."""
        if not bad:
            self._note(check, NOT_CHECKED if unless_checked else PASS)
            return
        place, detail = min(bad, key=lambda found: found[0])
        more = f" (and {len(bad) - 1} more)" if len(bad) > 1 else ""
        self._checks[check] = self._check(check, FAIL, detail + more, place, rule)

    def _limit(self, name: str, seats: Sequence[int] = (), number: int = 0) -> None:
        facts: dict[str, Any] = {"count": len(seats), "seats": list(seats), "number": number}
        self._limits.append(Limit(name, self._say.text(f"table.limit.{name}", facts)))


def _place(item: Damage) -> int:
    """The number of the entry that is damaged, 0 where it is none of the game's."""
    seq, _, part = item.place.partition("-")
    return int(seq) if seq.isdecimal() and part == "0" else 0


def _sides(finding: Finding) -> str:
    return f"{finding.detail}: stored {finding.stored}, folded {finding.folded}" if finding.folded else finding.detail
