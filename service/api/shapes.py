"""The JSON that the API takes and answers with. Ids and hashes are lower-case hex, times RFC 3339 in UTC."""

from typing import Annotated, Any, Literal

import msgspec
from msgspec import UNSET, Meta, UnsetType

from events.bodies import WATCHING

Id = Annotated[str, Meta(pattern="^[0-9a-f]{32}$", description="16 random bytes in hex.")]
Hash = Annotated[str, Meta(pattern="^[0-9a-f]{64}$", description="SHA-256 in hex.")]
Short = Annotated[str, Meta(pattern="^[0-9a-f]{16}$", description="8 bytes in hex.")]
Time = Annotated[str, Meta(description="RFC 3339, UTC, milliseconds.", extra_json_schema={"format": "date-time"})]
SeatNumber = Annotated[int, Meta(ge=1, le=255)]
Version = Annotated[int, Meta(ge=0, le=999_999_999)]
LogSize = Annotated[int, Meta(ge=0, le=999_999_999_999)]
Limit = Annotated[int, Meta(ge=1, le=500)]
Language = Literal["en", "fr", "ja"]
Visibility = Literal["public", "unlisted", "private"]
Watching = Annotated[
    str,
    Meta(
        pattern=WATCHING,
        description="What those see who do not sit at the table, while it is played: all, nothing, or all with a delay "
        "in seconds.",
    ),
]
Status = Literal["open", "playing", "finished", "abandoned", "void"]
Grade = Literal["EXACT", "UNVERIFIED", "DIVERGED"]
RulesetId = Annotated[str, Meta(max_length=64, examples=["donjon@1"])]
Key = Annotated[str, Meta(max_length=200)]
Plain = dict[str, Any]
Receipt = Annotated[
    str,
    Meta(
        description="Signed note (C2SP) of the receipts key: `annals/1 receipt`, origin, game, number of an event (of "
        "several that were written at once the last), base64 of its hash. Keep it: it shows what was acknowledged."
    ),
]
Refusal = Annotated[
    str,
    Meta(
        description="Signed note (C2SP) of the receipts key: `annals/1 refusal`, origin, game, base64 SHA-256 of the "
        "request's body, version and base64 head of the game, code."
    ),
]


class In(msgspec.Struct, frozen=True, kw_only=True):
    """What a request holds."""


class Open(In, frozen=True):
    """What a request holds, with further members that make up a seat's choice."""


class Out(msgspec.Struct, frozen=True, kw_only=True):
    """What an answer holds."""


# -- players ---------------------------------------------------------------------------------------------------------


class NewPlayer(In, frozen=True, forbid_unknown_fields=True):
    """A player to be."""

    name: Annotated[str, Meta(min_length=1, max_length=200, description="1 to 40 characters once trimmed.")]


class Registered(Out, frozen=True):
    """A new player. The token is shown this once."""

    player_id: Id
    name: str
    token: str


class PageSession(Out, frozen=True):
    """A new player behind a cookie. `csrf` goes into the X-CSRF-Token header of calls that change something."""

    player_id: Id
    name: str
    csrf: Hash


class TokenInfo(Out, frozen=True):
    """A token, without the token."""

    token_id: Short
    created_at: Time
    current: bool


class Tokens(Out, frozen=True):
    """The tokens of a player, oldest first."""

    tokens: list[TokenInfo]


class NewToken(Out, frozen=True):
    """A new token, shown this once."""

    token_id: Short
    token: str


class OwnSeat(Out, frozen=True):
    """A seat of the caller's in a game that is not over."""

    game_id: Id
    ruleset: str
    seat: int
    status: Status
    to_act: bool


class Me(Out, frozen=True):
    """The caller: who, and where they sit."""

    player_id: Id
    name: str
    roles: list[str]
    created_at: Time
    seats: list[OwnSeat]
    to_act: list[Id]
    links: dict[str, str]


# -- rulesets --------------------------------------------------------------------------------------------------------


class SeatRange(Out, frozen=True):
    """How many seats a table may have."""

    minimum: int
    maximum: int


class BotInfo(Out, frozen=True):
    """A bot that can take a seat."""

    name: str
    levels: list[int]


class RulesetSummary(Out, frozen=True):
    """A game on offer."""

    ruleset: str
    game: str
    title: str
    seats: SeatRange
    links: dict[str, str]


class Rulesets(Out, frozen=True):
    """Every game on offer."""

    rulesets: list[RulesetSummary]


class RulesText(Out, frozen=True):
    """The rules in words, in one language. A change of words is none of the rules: those are what `rules_hash` says."""

    href: str
    sha256: Hash


class RulesetDetail(RulesetSummary, frozen=True):
    """A game on offer, with JSON Schemas (2020-12) of what a table and a seat may choose and do."""

    rules_hash: Hash
    texts: Annotated[dict[str, RulesText], Meta(description="The rules in words, by language.")]
    options: Annotated[Plain, Meta(description="JSON Schema of the table's options, with defaults.")]
    choice: Annotated[Plain, Meta(description="JSON Schema of what a seat may choose when it sits down.")]
    actions: Annotated[dict[str, Plain], Meta(description="JSON Schema of each action by its type.")]
    choices: Annotated[Plain, Meta(description="JSON Schema of `choices`, the parametric actions.")]
    happenings: Annotated[dict[str, Plain], Meta(description="JSON Schema of each happening by its type.")]
    purposes: Annotated[dict[str, str], Meta(description="What is drawn, by purpose.")]
    bots: list[BotInfo]


# -- games -----------------------------------------------------------------------------------------------------------


class NewGame(Open, frozen=True):
    """A table to be. Further members are the creator's choice at seat 1, as the ruleset's `choice` schema says."""

    ruleset: RulesetId
    seats: SeatNumber
    options: Plain = {}
    visibility: Annotated[
        Visibility,
        Meta(
            description="`unlisted`: in nobody's list but its players'. The public log of games names every game by "
            "its id: whoever reads it finds unlisted games too, and cannot open `private` ones."
        ),
    ] = "public"
    watching: Watching = "open"
    sit: bool = True


class NewFork(In, frozen=True, forbid_unknown_fields=True):
    """Play on from a position of a finished game. `visibility` is the source's unless it is given."""

    version: Annotated[int, Meta(ge=1, le=999_999_999)]
    visibility: Visibility | UnsetType = UNSET
    watching: Watching = "open"
    sit: bool = True


Signed = Annotated[
    str,
    Meta(max_length=90_000, description="Base64 of the bytes that the seat signed (docs/event-format.md, 'Actions')."),
]
Signature = Annotated[str, Meta(max_length=88, description="Base64 of the Ed25519 signature, 64 bytes.")]


class SignedBody(In, frozen=True, forbid_unknown_fields=True):
    """Something that a seat in self-custody signed. It names the seat, and the version that it follows on."""

    signed: Signed
    signature: Signature


class PerhapsSigned(In, frozen=True, forbid_unknown_fields=True):
    """Empty, or what a seat in self-custody signed."""

    signed: Signed | UnsetType = UNSET
    signature: Signature | UnsetType = UNSET


class NewSeat(Open, frozen=True):
    """Sit down, or let a bot sit down, or at a private table a player.

    Further members are the seat's choice, as the ruleset's `choice` schema says. With a signed join the seat is in
    self-custody: the signed bytes name seat and choice, and nothing else is sent.
    """

    seat: SeatNumber | UnsetType = UNSET
    bot: Annotated[str, Meta(max_length=64)] | UnsetType = UNSET
    level: Annotated[int, Meta(ge=0, le=1_000)] | UnsetType = UNSET
    player: Id | UnsetType = UNSET
    signed: Signed | UnsetType = UNSET
    signature: Signature | UnsetType = UNSET


class BotSeat(Out, frozen=True):
    """Which bot plays a seat."""

    name: str
    level: int


class SeatOut(Out, frozen=True):
    """A place at the table. `custody`: does the server act for the seat, or does the seat sign?"""

    seat: int
    player_id: Id | None
    name: str | None
    hero: str | None
    bot: BotSeat | None
    custody: Literal["self", "server"] | None


class OutcomeOut(Out, frozen=True):
    """How a game ended."""

    ending: str
    winners: list[int]
    scores: list[int]
    facts: Plain


class EffectiveOut(Out, frozen=True):
    """What counts of a game: as it was recorded, or as a ruling has it (`case_id`, `ruling`).

    `resumed_as`: the game in which play goes on from where the ruling said.
    """

    status: Status
    outcome: OutcomeOut | None
    case_id: Id | None
    ruling: Literal["void", "correct", "resume"] | None
    resumed_as: Id | None


class Source(Out, frozen=True):
    """The position that a fork plays on from."""

    game_id: Id
    version: int


class GameOut(Out, frozen=True):
    """A game. `commitment` is the server's for its dice; `grade` says whether its record folds to what it says.

    `to_reveal`: the seats in self-custody whose first link play waits for, once the table is started; `to_sign_off`:
    those that have not vouched yet for how the game ended. `due_at`: when the first of them is not waited for any more.
    `effective` is what counts after what was ruled in disputes, `status` and `outcome` are what was recorded.
    `paused_by`: the dispute that nobody acts before it is ruled.
    """

    game_id: Id
    ruleset: str
    status: Status
    seats: list[SeatOut]
    version: int
    head: Hash
    to_act: list[int]
    to_reveal: list[int]
    to_sign_off: list[int]
    due_at: Time | None
    outcome: OutcomeOut | None
    effective: EffectiveOut
    paused_by: Id | None
    reason: str | None
    commitment: Hash
    options: Plain
    visibility: Visibility
    watching: str
    created_at: Time
    updated_at: Time
    forked_from: Source | None
    grade: Grade
    first_bad: int | None
    links: dict[str, str]


class GameWritten(GameOut, frozen=True):
    """A game after something was written: with the receipt of its last event."""

    receipt: Receipt


class GameRow(Out, frozen=True):
    """A game in a list."""

    game_id: Id
    ruleset: str
    status: Status
    seats: list[SeatOut]
    version: int
    head: Hash
    to_act: list[int]
    outcome: OutcomeOut | None
    effective: EffectiveOut
    visibility: Visibility
    watching: str
    created_at: Time
    updated_at: Time
    forked_from: Source | None
    links: dict[str, str]


class GameList(Out, frozen=True):
    """A page of games, newest first."""

    games: list[GameRow]
    next: Annotated[str | None, Meta(description="Cursor of the next page.")]


# -- play ------------------------------------------------------------------------------------------------------------


class ActionOut(Out, frozen=True):
    """A legal action. `target` is the element of the picture to click; `chance`: it may draw."""

    action: Plain
    label: str
    target: str
    chance: bool


class RefusedOut(Out, frozen=True):
    """What a person would naturally click, and why it is not to be had."""

    target: str
    code: str
    message: str
    rule: str


class FieldOut(Out, frozen=True):
    """One field of a parametric action: a list of between `minimum` and `maximum` of `ids`.

    One id may stand in the list up to `repeats` times. A field that is `single` takes one id, not a list. `labels` say
    what the ids are called, `targets` name their elements of the picture, "" where it has none, in the order of `ids`.
    """

    minimum: int
    maximum: int
    ids: list[str | int]
    repeats: int
    single: bool
    label: str
    labels: list[str]
    targets: list[str]


class ChoiceOut(Out, frozen=True):
    """A parametric action: its type, and what may go into its fields. `target` is where it begins in the picture."""

    type: str
    label: str
    fields: dict[str, FieldOut]
    target: str
    chance: bool


class Actions(Out, frozen=True):
    """What a seat may do now, and what it may not."""

    version: int
    seat: int | None
    actions: list[ActionOut]
    choices: list[ChoiceOut]
    refused: list[RefusedOut]


class StateOut(Out, frozen=True):
    """The state as the caller may see it, with the caller's legal actions."""

    version: int
    status: Status
    seat: int | None
    to_act: list[int]
    state: Plain | None
    fingerprint: Short | None
    grade: Grade
    actions: list[ActionOut]
    choices: list[ChoiceOut]


class NewAction(In, frozen=True, forbid_unknown_fields=True):
    """An action, and the version that it is meant for (or If-Match); a seat in self-custody sends what it signed."""

    action: Annotated[
        msgspec.Raw | UnsetType,
        Meta(
            description="As the ruleset's `actions` schemas say: `type`, and the action's own members.",
            extra_json_schema={"type": "object", "required": ["type"], "properties": {"type": {"type": "string"}}},
        ),
    ] = UNSET
    expected_version: Version | UnsetType = UNSET
    signed: Signed | UnsetType = UNSET
    signature: Signature | UnsetType = UNSET


class Checked(Out, frozen=True):
    """The answer to a dry run: it would be accepted."""

    version: int
    seat: int
    legal: Literal[True]


class Absent(In, frozen=True, forbid_unknown_fields=True):
    """Whose turn is claimed: by default that of the seat the game waits for."""

    seat: SeatNumber | UnsetType = UNSET


# -- the record ------------------------------------------------------------------------------------------------------


class DrawOut(Out, frozen=True):
    """A random result: a die (`sides`, `value`) or one picked of `total` (`value` is its place, `id` what it is)."""

    number: Annotated[str, Meta(pattern="^[0-9]+[.][0-9]+$")]
    purpose: str
    value: int
    sides: int | UnsetType = UNSET
    total: int | UnsetType = UNSET
    id: str | UnsetType = UNSET


class EventOut(Out, frozen=True):
    """One event. `facts` are what else its body holds, bytes in hex."""

    seq: int
    kind: str
    seat: int | None
    at: Time
    action: Plain | None
    draws: list[DrawOut]
    fingerprint: Short | None
    prev: Hash
    hash: Hash
    narration: str
    facts: Plain


class Events(Out, frozen=True):
    """A page of events. `next`: the `after` of the next page."""

    events: list[EventOut]
    next: int | None


class Acted(EventOut, frozen=True):
    """The event of an accepted act, and the game after it."""

    version: int
    head: Hash
    status: Status
    to_act: list[int]
    outcome: OutcomeOut | None
    receipt: Receipt


class ReceiptOut(Out, frozen=True):
    """The receipt of one event."""

    game_id: Id
    seq: int
    hash: Hash
    receipt: Receipt


class RefusalOut(Out, frozen=True):
    """A signed refusal: when it was given, and to whom."""

    at: Time
    player_id: Id
    refusal: Refusal


class RefusalList(Out, frozen=True):
    """Signed refusals at one game, oldest first."""

    refusals: list[RefusalOut]


class PositionOut(Out, frozen=True):
    """The game after `version` events."""

    version: int
    status: Status
    to_act: list[int]
    state: Plain | None
    fingerprint: Short | None
    grade: Grade


class StepOut(Out, frozen=True):
    """What a replay shows one at a time: a happening of an event, or the event where nothing is to be told of it."""

    version: int
    index: int
    of: int
    kind: str
    seat: int | None
    actor: int | None
    at: Time
    words: str
    rule: str
    grade: Grade
    happening: Plain | None


class ChapterOut(Out, frozen=True):
    """A place worth jumping to: it begins with step `index` of event `version`."""

    kind: str
    version: int
    index: int
    seat: int | None
    title: str


class GradeOut(Out, frozen=True):
    """Does the record fold to what it says? Where not: `at` which event, and what."""

    name: Grade
    at: int | None
    detail: str | None
    stored: str | None
    folded: str | None


class ReplayOut(Out, frozen=True):
    """A stretch of a game, told. `next`: the `after` of the next page on the way to `position`.

    `moments` are chapters too: what was decided by a hair (`close`), where the lead changed (`lead`), what brought most
    (`swing`). Each begins before its moment, and its title tells no outcome.
    """

    game_id: Id
    ruleset: str | None
    position: int
    status: Status
    after: int
    next: int | None
    grade: GradeOut
    steps: list[StepOut]
    chapters: list[ChapterOut]
    moments: list[ChapterOut]
    length: int | UnsetType = UNSET
    outcome: Plain | UnsetType | None = UNSET
    effective: EffectiveOut | UnsetType = UNSET


class ChangeOut(Out, frozen=True):
    """One difference. `path` as `why` takes it; a part that was not there, or is no more, is left out."""

    path: str
    old: Any = UNSET
    new: Any = UNSET


class ToldDraw(DrawOut, frozen=True, kw_only=True):
    """A random result, in words too."""

    words: str


class CauseOut(Out, frozen=True):
    """An event that changed the value from `old` to `new`. `asked`: its action in words; `rules`: what it follows."""

    seq: int
    kind: str
    seat: int | None
    at: Time
    asked: str
    draws: list[ToldDraw]
    steps: list[StepOut]
    rules: list[str]
    old: Any = UNSET
    new: Any = UNSET


class WhyOut(Out, frozen=True):
    """Why a value is what it is: `causes` in order, the last one made it; so many `earlier` ones are left out.

    `value` is left out where there is none any more. `forked_from`: where the game found its first state.
    """

    version: int
    path: str
    grade: GradeOut
    causes: list[CauseOut]
    earlier: int
    forked_from: Source | None
    value: Any = UNSET


class DiffOut(Out, frozen=True):
    """What is different between two positions."""

    old: int
    new: int
    changes: list[ChangeOut]


class SideOut(Out, frozen=True):
    """What one game went on with; `over`: with nothing."""

    version: int
    words: str
    draws: list[str]
    over: bool


class PartingOut(Out, frozen=True):
    """How far two games are the same: `common` events of play, as far as these two versions (`upto`).

    `setup`: what is different about the tables; `first`, `second`: what each went on with, null where they never part;
    `changes`: what was different right after that.
    """

    common: int
    upto: list[int]
    setup: list[ChangeOut]
    first: SideOut | None
    second: SideOut | None
    changes: list[ChangeOut]


class OtherwiseOut(Out, frozen=True):
    """An event of which other rules say otherwise.

    `words`: what was played; `other`: what the other rules tell of it, or why they refuse it, by which paragraph
    (`rule`); `changes`: from what was played to what would have been.
    """

    version: int
    sort: Literal["refused", "draws", "state", "unreadable"]
    words: str
    other: str
    rule: str | None
    changes: list[ChangeOut]


class UnderOut(Out, frozen=True):
    """A game under other rules: of `asked` events of play they say otherwise of these. Nothing is rewritten."""

    ruleset: str
    other: str
    asked: int
    otherwise: list[OtherwiseOut]


class MeasuredOut(Out, frozen=True):
    """One measure over so many `rolls`: what came (`got`), and what fair dice give on average.

    `at_least`, `at_most`: the odds of as much, or as little, from fair dice, exact unless `method` says otherwise;
    `lucky`: 1 where more is lucky, -1 where less is; `shift`: what so many rolls would have shown in four of five
    cases; `share`: of hits, with its interval (95%).
    """

    measure: str
    name: str
    rolls: int
    got: int
    expected: float
    deviation: float
    at_least: float
    at_most: float
    method: Literal["exact", "normal", "chi-square", "none"]
    lucky: int
    shift: float
    share: tuple[float, float, float] | None
    words: list[str]


class TestedOut(Out, frozen=True):
    """One test of docs/luck.md on one kind of dice. `p` is null where nothing was tested.

    `corrected`: for all tests made (Holm); `findable`: odds of one face that so many dice would have shown in four of
    five cases; `evidence`: an e-value that may be looked at as often as one likes.
    """

    kind: str
    test: Literal["faces", "pairs", "places"]
    n: int
    counts: list[int]
    statistic: float | None
    p: float | None
    corrected: float | None
    method: Literal["exact", "normal", "chi-square", "none"]
    findable: float | None
    evidence: float | None
    words: list[str]


class RollOut(Out, frozen=True):
    """One roll: what it got, and how many of the equally likely cases give `low`, `low + 1`, ... (`weights`)."""

    version: int
    measure: str
    got: int
    expected: float
    low: int
    weights: list[int]


class SeatLuckOut(Out, frozen=True):
    """The luck of one seat."""

    seat: int
    name: str
    measures: list[MeasuredOut]
    rolls: list[RollOut]


class LuckLineOut(Out, frozen=True):
    """A seat over time, as (version, value): beyond what fair dice give on average (up is lucky), and its score."""

    seat: int
    name: str
    luck: list[tuple[int, float]]
    score: list[tuple[int, int]]


class LuckOut(Out, frozen=True):
    """The luck of a game: no verdict. `recomputed`: do all draws follow from what was committed before it began?

    `tests`: how many were made; `registered`: where they were listed before anybody looked.
    """

    game_id: Id
    version: int
    ruleset: str
    draws: int
    recomputed: bool
    tests: int
    registered: str
    seats: list[SeatLuckOut]
    lines: list[LuckLineOut]
    dice: list[TestedOut]
    words: list[str]


class AllLuckOut(Out, frozen=True):
    """The luck of `games` that are over; `left`: so many more were not looked at. `measures`: by game."""

    games: int
    left: int
    tests: int
    registered: str
    measures: dict[str, list[MeasuredOut]]
    dice: list[TestedOut]
    words: list[str]


class CheckOut(Out, frozen=True):
    """One check of an audit: what it found, `said` in words for players, `detail` exactly and in English.

    `event`: where it fails or is limited; `rule`: what an illegal action is against; `code`: the sort of what fails;
    `section`: where in docs/ stands what the check follows.
    """

    id: Annotated[str, Meta(pattern="^V[0-9]+$")]
    name: str
    result: Literal["PASS", "FAIL", "LIMIT", "NOT CHECKED"]
    detail: str
    event: int | None
    rule: str | None
    code: str | None
    said: str
    section: str


class LimitOut(Out, frozen=True):
    """What a verdict does not cover."""

    id: str
    text: str


class CaseBrief(Out, frozen=True):
    """A dispute in short: about which event, how far it has come, and whether its own record holds."""

    case_id: Id
    game_id: Id
    event: int
    state: Literal["open", "answered", "ruled", "closed"]
    grade: Grade
    opened_at: Time
    updated_at: Time
    answer_until: Time
    ruling: Literal["uphold", "void", "correct", "resume"] | None
    links: dict[str, str]


class VerdictOut(Out, frozen=True):
    """What an audit found. `code`: the first check that fails, `event`: where, `who`: whom it is proved against.

    `cases`: the disputes of the game, where it is one of this service's.
    """

    verdict: Literal["VERIFIED", "VERIFIED WITH LIMITS", "REFUTED", "NOT PROVEN", "UNDETERMINED"]
    words: str
    code: str | None
    event: int | None
    who: str | None
    checks: list[CheckOut]
    limits: list[LimitOut]
    events: int
    cases: list[CaseBrief] | UnsetType = UNSET


# -- queries ---------------------------------------------------------------------------------------------------------


class Query(msgspec.Struct, frozen=True, kw_only=True):
    """What every call may ask: the language of words and problems, before Accept-Language."""

    lang: Language | UnsetType = UNSET


class GamesQuery(Query, frozen=True):
    """Which games to list. `player=me` and `to_act=me` mean the caller."""

    status: Status | UnsetType = UNSET
    ruleset: RulesetId | UnsetType = UNSET
    player: Annotated[str, Meta(pattern="^([0-9a-f]{32}|me)$")] | UnsetType = UNSET
    to_act: Literal["me"] | UnsetType = UNSET
    forked_from: Id | UnsetType = UNSET
    limit: Annotated[int, Meta(ge=1, le=100)] = 20
    cursor: Annotated[str, Meta(max_length=200)] | UnsetType = UNSET


class SeatQuery(Query, frozen=True):
    """For which of the caller's seats."""

    seat: SeatNumber | UnsetType = UNSET


class PictureQuery(SeatQuery, frozen=True):
    """How it is drawn: `auto` follows the reader's preference.

    `step`: only so many of the things that happened in the last event are told yet; what they led to shows with the
    last of them.
    """

    theme: Literal["auto", "light", "dark"] = "auto"
    step: SeatNumber | UnsetType = UNSET


class AnimationQuery(Query, frozen=True):
    """On which ground it is drawn."""

    theme: Literal["light", "dark"] = "light"


class ActQuery(SeatQuery, frozen=True):
    """`check=1`: would it be accepted? Nothing is written."""

    check: Literal["0", "1"] = "0"


class EventsQuery(Query, frozen=True):
    """Which events: those after version `after`, at most `limit`."""

    after: Version | UnsetType = UNSET
    limit: Limit | UnsetType = UNSET


class ReplayQuery(Query, frozen=True):
    """Which part to tell: the events after version `after`, at most `limit`, to somebody who has come to `at`."""

    at: Version | UnsetType = UNSET
    after: Version = 0
    limit: Limit = 100
    spoilers: Literal["0", "1"] = "0"


class WhyQuery(SeatQuery, frozen=True):
    """About which value of the state, and how many causes at most, the latest: `seats/2/hp`."""

    path: Annotated[str, Meta(max_length=400)] = ""
    limit: Limit = 100


class DiffQuery(SeatQuery, frozen=True):
    """Between which positions; without `new` the newest one."""

    old: Version = 0
    new: Version | UnsetType = UNSET


class AtQuery(Query, frozen=True):
    """Up to which position; by default the newest one."""

    at: Version | UnsetType = UNSET


class LuckPictureQuery(AtQuery, frozen=True):
    """How it is drawn: `auto` follows the reader's preference."""

    theme: Literal["auto", "light", "dark"] = "auto"


class ConsistencyQuery(Query, frozen=True, rename={"from_size": "from"}):
    """From a log of so many entries to one of at least so many (else to the published one)."""

    from_size: LogSize = 0
    to: LogSize | UnsetType = UNSET


class ProofQuery(Query, frozen=True):
    """Against which checkpoint: the first that held the entry, or the latest; and how many seconds to wait for it."""

    at: Literal["first", "latest"] = "first"
    wait: Annotated[int, Meta(ge=0, le=10)] = 0


class LibraryQuery(Query, frozen=True):
    """Of which game."""

    ruleset: RulesetId | UnsetType = UNSET


# -- the service -----------------------------------------------------------------------------------------------------


class Alive(Out, frozen=True):
    """The process answers."""

    status: Literal["ok"]


class LibraryEntry(Out, frozen=True):
    """A position to play on from: it waits in `state` for `seat`, who may do `actions`."""

    ruleset: str
    state: str
    game_id: Id
    version: int
    seat: int
    actions: list[str]
    links: dict[str, str]


class Library(Out, frozen=True):
    """The position library."""

    positions: list[LibraryEntry]
