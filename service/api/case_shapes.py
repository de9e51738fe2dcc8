"""The JSON of cases."""

from typing import Annotated, Literal

from msgspec import UNSET, Meta, UnsetType

from service.api.shapes import (
    CaseBrief,
    EffectiveOut,
    Hash,
    Id,
    In,
    Limit,
    Out,
    OutcomeOut,
    Plain,
    Query,
    Receipt,
    Refusal,
    SeatNumber,
    Short,
    Status,
    Time,
    Version,
)
from service.disputes.cases import TEXT_LIMIT

Words = Annotated[str, Meta(min_length=1, max_length=TEXT_LIMIT, pattern=r"\S")]
RulingWord = Literal["uphold", "void", "correct", "resume"]
CaseState = Literal["open", "answered", "ruled", "closed"]


class NewDispute(In, frozen=True, forbid_unknown_fields=True):
    """Which event is disputed, and why. `seat`: for whom, where the caller holds several."""

    event: Annotated[int, Meta(ge=1, le=999_999_999)]
    text: Words
    seat: SeatNumber | UnsetType = UNSET


class NewAnswer(In, frozen=True, forbid_unknown_fields=True):
    """What a seat has to say to a dispute. `seat`: for which, where the caller holds several."""

    text: Words
    seat: SeatNumber | UnsetType = UNSET


class ResultIn(In, frozen=True, forbid_unknown_fields=True):
    """A corrected result: the winning seats, ascending, and each seat's score in seat order."""

    winners: Annotated[list[SeatNumber], Meta(max_length=255)]
    scores: Annotated[list[Annotated[int, Meta(ge=-1_000_000, le=1_000_000)]], Meta(max_length=255)]


class NewRuling(In, frozen=True, forbid_unknown_fields=True):
    """A ruling and its reasons. `result` goes with `correct`, `version` with `resume`: play goes on from there."""

    ruling: RulingWord
    text: Words
    result: ResultIn | UnsetType = UNSET
    version: Annotated[int, Meta(ge=1, le=999_999_999)] | UnsetType = UNSET


class StatementOut(Out, frozen=True):
    """What somebody said in event `seq` of the case.

    `text` is there for who may read it (`readable`), as long as it is not `erased`. `hash` and `salt` show that it is
    what was said then; `holds` is false where it is not.
    """

    seq: int
    kind: Literal["dispute", "answer", "ruling"]
    seat: int | None
    player_id: Id
    name: str
    at: Time
    hash: Hash
    readable: bool
    erased: bool
    text: str | None
    salt: Hash | None
    holds: bool | None


class AttachedVerdict(Out, frozen=True):
    """What the service's own audit of the game said when the event was disputed."""

    verdict: str
    code: str | None


class ResumedOut(Out, frozen=True):
    """The game in which play goes on, and from which version of the disputed one."""

    version: int
    game_id: Id


class RulingOut(Out, frozen=True):
    """What was ruled, by whom and when."""

    ruling: RulingWord
    player_id: Id
    at: Time
    result: OutcomeOut | None
    resume: ResumedOut | None


class MomentOut(Out, frozen=True):
    """An event around the disputed one. `watchers_at`: when those who do not sit at the table could see it; null: not
    while it was played."""

    seq: int
    kind: str
    seat: int | None
    at: Time
    watchers_at: Time | None
    words: str


class KnownOut(Out, frozen=True):
    """A seat's first own event behind the disputed one: it knew of it then. `signed`: by its own signature."""

    seat: int
    event: int | None
    at: Time | None
    signed: bool


class AccessOut(Out, frozen=True):
    """Somebody read what is not public by their role: which call, when first and last, how often."""

    player_id: Id
    name: str
    what: str
    first_at: Time
    last_at: Time
    times: int


class KeptRefusal(Out, frozen=True):
    """A signed refusal that was given at this game."""

    at: Time
    player_id: Id
    refusal: Refusal


class CaseOut(CaseBrief, frozen=True):
    """A dispute: the event, what was said and ruled, and what it makes of the game.

    `event_holds`: is the event of the game the one that is disputed? `asked` are the seats that may answer, `to_answer`
    those waited for, `silent` those that let the deadline pass. `recorded_*` is what the game's record says,
    `effective` what counts. `refusals` are shown to auditors, operators, and to whom they were given.
    """

    event_hash: Hash
    event_fingerprint: Short | None
    event_holds: bool
    version: int
    head: Hash
    seat: int | None
    player_id: Id | None
    asked: list[int]
    to_answer: list[int]
    silent: list[int]
    verdict: AttachedVerdict | None
    statements: list[StatementOut]
    ruled: RulingOut | None
    closed_as: Literal["ruled", "withdrawn"] | None
    recorded_status: Status
    recorded_outcome: OutcomeOut | None
    effective: EffectiveOut
    around: list[MomentOut]
    known_by: list[KnownOut]
    refusals: list[KeptRefusal]
    access: list[AccessOut]


class CaseWritten(CaseOut, frozen=True):
    """A case after something was written: with the receipt of its last event."""

    receipt: Receipt


class CaseList(Out, frozen=True):
    """Cases, oldest first."""

    cases: list[CaseBrief]
    next: Annotated[str | None, Meta(description="Cursor of the next page.")]


class Erased(Out, frozen=True):
    """A text is gone; its hash stays."""

    case_id: Id
    seq: int
    erased: Literal[True]


class CasesQuery(Query, frozen=True):
    """Which cases: those in a state, else those that are not closed."""

    state: CaseState | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    cursor: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET


class AuditPageQuery(Query, frozen=True):
    """What the page of an audit opens with: the form that disputes `event`."""

    event: Version | UnsetType = UNSET


class CaseEventsQuery(Query, frozen=True):
    """Which events of a case: those after version `after`, at most `limit`."""

    after: Version | UnsetType = UNSET
    limit: Limit = 100


class CaseEventOut(Out, frozen=True):
    """One event of a case. `facts` are what its body holds, bytes in hex."""

    seq: int
    kind: str
    seat: int | None
    at: Time
    prev: Hash
    hash: Hash
    facts: Plain


class CaseEvents(Out, frozen=True):
    """A page of events of a case. `next`: the `after` of the next page."""

    events: list[CaseEventOut]
    next: int | None
