"""The audit of a case: the same checks as a game's, as far as a case has what they look at (docs/disputes.md)."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from events.event import Event
from events.log import Damage, Head
from replay.audit import NOT_CHECKED, SECTIONS, Auditor, Bad, Record, Trust, Verdict
from replay.case import Case
from replay.position import Finding, Position

_CHECK_OF: Final = {"format": "V2", "chain": "V3", "order": "V12"}
CASE_SECTIONS: Final = SECTIONS | dict.fromkeys(("V2", "V12", "V13"), "event-format.md#cases")
"""Where in docs/ stands what a check of a case follows."""


def audit_case(
    case_id: bytes,
    items: Iterable[Event | Damage],
    head: Head | None = None,
    language: str = "en",
    trust: Trust | None = None,
    files: Mapping[str, bytes] = {},
    disputed: bytes | None = None,
) -> Verdict:
    """Check a case from its stored events. ``disputed``: the hash of the disputed event as the game has it, where the
    game is at hand."""
    return _CaseAuditor(Record.of_log(case_id, items, head), files, trust or Trust(), language, disputed).verdict()


def audit_case_events(items: Iterable[Event | Damage], trust: Trust, language: str = "en") -> Verdict:
    """Check the events of a case in an ``.annals`` file, in their order there."""
    found = list(items)
    case_id = next((item.game_id for item in found if isinstance(item, Event)), bytes(16))
    return _CaseAuditor(Record.of_file(case_id, found), {}, trust, language, None).verdict()


class _CaseAuditor(Auditor):
    """A case has no seats that sign, no dice and no rules but its own: V12 is their order."""

    _topic = "case."
    _sections = CASE_SECTIONS

    def __init__(
        self, record: Record, files: Mapping[str, bytes], trust: Trust, language: str, disputed: bytes | None
    ) -> None:
        self._disputed = disputed
        super().__init__(record, files, None, trust, language)

    def _fold(self) -> Position:
        case = Case(self._record.game_id)
        for place, event in enumerate(self._events, 1):
            if event is not None:
                case.advance(event)
            else:
                case.version = place  # what is missing fails V3
        for finding in case.findings:
            self._found.setdefault(_CHECK_OF[finding.check], []).append((finding.event, finding))
            self._count[_CHECK_OF[finding.check]] += 1
        if case.about is not None and self._disputed not in (None, case.about[2]):
            assert self._disputed is not None
            detail = f"event {case.about[1]} of the game is another than the one that is disputed"
            finding = Finding("order", 1, detail, case.about[2].hex(), self._disputed.hex())
            self._found.setdefault("V12", []).append((1, finding))
            self._count["V12"] += 1
        self._unknown_from = case.unverified_from
        stand_in = Position(self._record.game_id)
        stand_in.closed = case.closing is not None
        return stand_in

    def _seat_keys(self) -> None:
        self._nothing("V7")

    def _seats(self) -> None:
        self._nothing("V8")
        self._limit("case-unsigned")

    def _dice(self) -> None:
        self._nothing("V9")

    def _tail(self) -> None:
        self._nothing("V10")

    def _refold(self) -> None:
        if not self._of("V12") and self._unknown_from is not None:
            self._checks["V12"] = self._check("V12", NOT_CHECKED, event=self._unknown_from)
            self._unsure.add("V12")
        else:
            self._judge("V12", self._of("V12"))

    def _completeness(self) -> None:
        early = [
            Bad(n, f"event {n} closes answering before its deadline")
            for n, event in self._kind("answer")
            if "silent" in event.body and event.t_ms < self._until()
        ]
        self._judge("V13", early)

    def _until(self) -> int:
        return next((int(event.body.get("until", 0)) for _, event in self._kind("dispute")), 0)

    def _nothing(self, check: str) -> None:
        self._checks[check] = msgspec.structs.replace(self._check(check, NOT_CHECKED), said="")
