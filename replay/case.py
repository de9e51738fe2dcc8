"""The fold of a case, and what its ruling makes of the game (docs/disputes.md).

A case is a chained stream like a game's, folded in the same way: what does not hold is a `Finding`, the fold goes on,
and the case is EXACT, UNVERIFIED or DIVERGED. Nothing here changes a game: its effective outcome is derived from what
was recorded and what was ruled.
"""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

import msgspec
from msgspec import UNSET

from engine.protocol import Outcome
from events.bodies import Body
from events.case_bodies import (
    CASE_BODIES,
    CORRECT,
    RESUME,
    UPHOLD,
    Answer,
    Closing,
    Dispute,
    Opening,
    Result,
    Ruling,
    read_case_body,
)
from events.event import CASE_KINDS, Event, genesis
from events.log import Damage, Head
from replay.position import DIVERGED, EXACT, UNVERIFIED, Finding
from replay.position import VOID as VOIDED

OPEN: Final = "open"
ANSWERED: Final = "answered"
RULED: Final = "ruled"
CLOSED: Final = "closed"
STATES: Final = (OPEN, ANSWERED, RULED, CLOSED)
CORRECTED: Final = "corrected"
"""The ending of a result that was corrected."""


class Statement(msgspec.Struct, frozen=True):
    """What somebody said in event ``seq``; ``seat`` is None for who has none; ``h`` stands for the text."""

    seq: int
    kind: str
    seat: int | None
    player: bytes
    t_ms: int
    h: bytes


@dataclass(slots=True)
class Case:
    """A case after ``version`` events."""

    case_id: bytes
    version: int = 0
    head: bytes = b""
    created_ms: int = 0
    t_ms: int = 0
    about: tuple[bytes, int, bytes] | None = None
    """``(game_id, seq, hash)`` of the disputed event."""
    dispute: Dispute | None = None
    seat: int | None = None
    """The seat that disputes; None for an auditor."""
    statements: list[Statement] = field(default_factory=list)
    answered: list[int] = field(default_factory=list)
    silent: list[int] | None = None
    """The seats that let the deadline pass, once it has."""
    ruling: Ruling | None = None
    ruled_ms: int = 0
    closing: Closing | None = None
    unverified_from: int | None = None
    findings: list[Finding] = field(default_factory=list)

    def __post_init__(self) -> None:
        if not self.head:
            self.head = genesis(self.case_id)

    @property
    def grade(self) -> str:
        """EXACT, UNVERIFIED or DIVERGED: may one rely on it?"""
        if self.findings:
            return DIVERGED
        return EXACT if self.unverified_from is None else UNVERIFIED

    @property
    def first_bad(self) -> int | None:
        """The first event that does not hold, or whose meaning is not known."""
        return self.findings[0].event if self.findings else self.unverified_from

    @property
    def game_id(self) -> bytes | None:
        return None if self.about is None else self.about[0]

    @property
    def asked(self) -> list[int]:
        """The seats that may answer."""
        return [] if self.dispute is None else self.dispute.asked

    @property
    def to_answer(self) -> list[int]:
        """The seats whose answer is still waited for."""
        if self.silent is not None or self.ruling is not None or self.closing is not None:
            return []
        return [seat for seat in self.asked if seat not in self.answered]

    @property
    def state(self) -> str:
        """One of STATES."""
        if self.closing is not None:
            return CLOSED
        if self.ruling is not None:
            return RULED
        return OPEN if self.dispute is None or self.to_answer else ANSWERED

    @property
    def rules_over(self) -> str | None:
        """The ruling, where the case is to be relied on."""
        return None if self.ruling is None or self.grade != EXACT else self.ruling.ruling

    def advance(self, event: Event) -> None:
        """Fold the next event."""
        at, due = event.seq, self.version + 1
        if event.game_id != self.case_id:
            self._find("chain", "the event belongs to another case", at, event.game_id.hex(), self.case_id.hex())
        if at != due:
            self._find("chain", f"event {due} is missing", at, str(at), str(due))
        if event.prev != self.head:
            self._find("chain", "the event does not follow the one before", at, event.prev.hex(), self.head.hex())
        if event.t_ms < self.t_ms:
            self._find("chain", "the clock runs backwards", at, str(event.t_ms), str(self.t_ms))
        self.version, self.head, self.t_ms = event.seq, event.hash, max(self.t_ms, event.t_ms)
        if event.kind not in CASE_KINDS:
            self.unverified_from = self.unverified_from or event.seq
            return
        try:
            body = read_case_body(event.kind, event.body)
        except msgspec.ValidationError as error:
            self._find("format", f"the body of a {event.kind} event: {error}", at)
            return
        if (wrong := _wrong(event, body)) is not None:
            self._find("format", wrong, at)
        elif (wrong := self._refused(event, body)) is not None:
            self._find("order", wrong, at)
        else:
            _FOLDS[event.kind](self, event, body)

    def miss(self, seq: int, check: str, detail: str) -> None:
        """The entry of event ``seq`` cannot be read."""
        self._find(check, detail, seq)

    def copy(self) -> "Case":
        """A case that can advance on its own."""
        values = {name: getattr(self, name) for name in _LISTS}
        twin = Case.__new__(Case)
        for name in Case.__dataclass_fields__:
            setattr(twin, name, list(values[name]) if name in _LISTS else getattr(self, name))
        return twin

    def _find(self, check: str, detail: str, event: int, stored: str = "", folded: str = "") -> None:
        self.findings.append(Finding(check, event, detail, stored, folded))

    def _refused(self, event: Event, body: Body) -> str | None:
        """Why an event may not stand here, in order and by who acts."""
        state, kind = self.state, event.kind
        if (kind == "create") != (self.about is None) or (kind == "dispute") != (
            self.about is not None and self.dispute is None
        ):
            return f"a {kind} event where it may not stand"
        match body:
            case Dispute(asked=asked) if asked != sorted(set(asked)) or event.seat in asked:
                return f"the seats {asked} are asked"
            case Answer(silent=silent) if state != OPEN or (silent is not UNSET and silent != self.to_answer):
                return f"an answer while the case is {state}"
            case Answer(silent=silent) if silent is UNSET and event.seat not in self.to_answer:
                return f"seat {event.seat} was not asked, or has answered"
            case Answer(silent=silent) if silent is not UNSET and self.dispute and event.t_ms < self.dispute.until:
                return "answering was closed before its deadline"
            case Ruling() if state != ANSWERED:
                return f"a ruling while the case is {state}"
            case Closing(status="ruled") if state != RULED:
                return f"closed as ruled while the case is {state}"
            case Closing(status="withdrawn") if state not in (OPEN, ANSWERED):
                return f"withdrawn while the case is {state}"
            case Closing(status="withdrawn", player=player) if self.dispute is None or player != self.dispute.player:
                return "withdrawn by another than who disputes"
        return None

    def _create(self, event: Event, body: Opening) -> None:
        self.about, self.created_ms = body.about, event.t_ms

    def _dispute(self, event: Event, body: Dispute) -> None:
        self.dispute, self.seat = body, event.seat
        self._said(event, body.player, body.text.h)

    def _answer(self, event: Event, body: Answer) -> None:
        if body.silent is not UNSET:
            self.silent = body.silent
            return
        assert event.seat is not None
        assert body.player is not UNSET
        assert body.text is not UNSET
        self.answered = [*self.answered, event.seat]
        self._said(event, body.player, body.text.h)

    def _ruling(self, event: Event, body: Ruling) -> None:
        self.ruling, self.ruled_ms = body, event.t_ms
        self._said(event, body.player, body.text.h)

    def _close(self, event: Event, body: Closing) -> None:
        self.closing = body

    def _said(self, event: Event, player: bytes, h: bytes) -> None:
        said = Statement(event.seq, event.kind, event.seat, player, event.t_ms, h)
        self.statements = [*self.statements, said]


_LISTS: Final = ("statements", "answered", "findings")
_FOLDS: Final[dict[str, Callable[[Case, Event, Any], None]]] = {kind: getattr(Case, f"_{kind}") for kind in CASE_BODIES}


def _wrong(event: Event, body: Body) -> str | None:
    """What is wrong with an event of the right shape: who acts, or what goes with what."""
    by_server = event.kind in ("create", "ruling", "close") or (isinstance(body, Answer) and body.silent is not UNSET)
    if by_server and event.seat is not None:
        return f"a {event.kind} event of seat {event.seat}"
    match body:
        case Answer(player=player, text=text, silent=silent):
            spoken = {player is not UNSET, text is not UNSET, silent is UNSET, event.seat is not None}
            return None if len(spoken) == 1 else "an answer is a seat's, or says who is silent"
        case Ruling(ruling=ruling, result=result, resume=resume):
            if (result is not UNSET) != (ruling == CORRECT) or (resume is not UNSET) != (ruling == RESUME):
                return f"a ruling to {ruling} with what does not go with it"
        case Closing(status=status, player=player) if (player is not UNSET) != (status == "withdrawn"):
            return f"closed as {status} with what does not go with it"
    return None


def fold_case(case_id: bytes, items: Iterable[Event | Damage], head: Head | None = None) -> Case:
    """A case from its stored events. ``head``: what the log says is the last of them."""
    case = Case(case_id)
    for item in items:
        if isinstance(item, Damage):
            case.miss(int(item.place.partition("-")[0]), "format", item.reason)
        else:
            case.advance(item)
    if head is not None and (head.version, head.head) != (case.version, case.head):
        case.miss(head.version, "chain", "the log acknowledged another last event")
    return case


# -- what a ruling makes of a game -----------------------------------------------------------------------------------


class Effective(msgspec.Struct, frozen=True):
    """What counts of a game: ``status`` and ``outcome`` as recorded, or as the ruling of a case has it. ``resumed``:
    the game in which play goes on."""

    status: str
    outcome: Outcome | None
    case_id: bytes | None = None
    ruling: str | None = None
    resumed: bytes | None = None


def effective(status: str, outcome: Outcome | None, cases: Sequence[Case]) -> Effective:
    """What counts of a game that was recorded so: the last ruling other than to uphold is in force."""
    ruled = [case for case in cases if case.rules_over not in (None, UPHOLD)]
    if not ruled:
        return Effective(status, outcome)
    case = max(ruled, key=lambda one: (one.ruled_ms, one.case_id))
    assert case.ruling is not None
    ruling = case.ruling
    if isinstance(ruling.result, Result):
        corrected = Outcome(CORRECTED, ruling.result.winners, ruling.result.scores)
        return Effective(status, corrected, case.case_id, ruling.ruling)
    resumed = None if ruling.resume is UNSET else ruling.resume[1]
    return Effective(VOIDED, None, case.case_id, ruling.ruling, resumed)
