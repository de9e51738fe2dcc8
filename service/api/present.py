"""From positions and events to the JSON that is shown of them."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from functools import lru_cache
from typing import TYPE_CHECKING, Any, Final

import msgspec
from msgspec import UNSET

from engine.protocol import Happening, Outcome
from events.event import Event
from replay.case import Case, Effective, effective
from replay.position import EXACT, OPEN, PLAYING, Position
from replay.words import Context, words
from service.api import shapes
from service.commands import Unsound, pausing, signing_due_ms
from service.index import CaseRow, Row, RowSeat, heroes_of, seen_cases

if TYPE_CHECKING:
    from service.bootstrap import Deps
    from service.positions import Game


_LAST_MS: Final = 253_402_300_799_999
"""The last millisecond of the year 9999."""


def rfc3339(ms: int) -> str:
    """Milliseconds since 1970 as ``2026-11-30T12:00:00.000Z``; the end of time for what a forged event claims."""
    seconds, rest = divmod(min(ms, _LAST_MS), 1000)
    return f"{_moment(seconds)}.{rest:03}Z"


@lru_cache(1_000)
def _moment(seconds: int) -> str:
    return datetime.fromtimestamp(seconds, UTC).isoformat()[:19]


def hexed(value: Any) -> Any:
    """Stored data as JSON shows it: bytes in hex."""
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dict):
        return {name: hexed(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [hexed(part) for part in value]
    return value


# -- games -----------------------------------------------------------------------------------------------------------


def game(deps: "Deps", known: "Game", position: Position) -> shapes.GameOut:
    """A game as it stands at a position of its.

    :raises Unsound: its first event cannot be read.
    """
    create = position.create
    if create is None:
        raise Unsound(known)
    names = player_names(deps, position)
    heroes = heroes_of(position)
    source = None
    if create.forked_from is not UNSET:
        source = shapes.Source(game_id=create.forked_from[0].hex(), version=create.forked_from[1])
    cases = seen_cases(deps.cases.of_game(position.game_id), position.version)
    return shapes.GameOut(
        game_id=position.game_id.hex(),
        ruleset=create.rules,
        status=position.status,  # type: ignore[arg-type] # one of STATUSES
        seats=[
            _seat(
                number,
                RowSeat(None if seat.player is None else seat.player.hex(), seat.bot, heroes[number - 1], seat.custody),
                "" if seat.player is None else names.get(seat.player, ""),
            )
            for number, seat in position.seat_items()
        ],
        version=position.version,
        head=position.head.hex(),
        to_act=position.to_act,
        to_reveal=position.to_reveal,
        to_sign_off=position.to_sign_off,
        due_at=None if (due := signing_due_ms(position)) is None else rfc3339(due),
        outcome=outcome(position.outcome),
        effective=effect(effective(position.status, position.outcome, cases)),
        paused_by=paused_by(position, cases),
        reason=position.reason,
        commitment=create.commit.hex(),
        options=dict(sorted(create.options.items())),
        visibility=create.visibility,
        watching=create.watching,
        created_at=rfc3339(position.created_ms),
        updated_at=rfc3339(position.t_ms),
        forked_from=source,
        grade=position.grade,  # type: ignore[arg-type] # one of three
        first_bad=None if position.version < known.version and position.grade == EXACT else known.first_bad,
        links=_links(position.game_id.hex(), create.rules, position.status, source),
    )


def row(known: Row, names: Mapping[str, str]) -> shapes.GameRow:
    """A game in a list."""
    source = None
    if known.forked_from is not None:
        source = shapes.Source(game_id=known.forked_from[0], version=known.forked_from[1])
    return shapes.GameRow(
        game_id=known.game_id,
        ruleset=known.ruleset,
        status=known.status,  # type: ignore[arg-type]
        seats=[_seat(number, seat, names.get(seat.player_id or "", "")) for number, seat in enumerate(known.seats, 1)],
        version=known.version,
        head=known.head,
        to_act=known.to_act,
        outcome=_outcome(known.outcome),
        effective=_row_effect(known),
        visibility=known.visibility,  # type: ignore[arg-type]
        watching=known.watching,
        created_at=rfc3339(known.created_ms),
        updated_at=rfc3339(known.updated_ms),
        forked_from=source,
        links={"self": f"/v1/games/{known.game_id}"},
    )


def case_brief(known: CaseRow) -> shapes.CaseBrief:
    """A dispute in a list."""
    return shapes.CaseBrief(
        case_id=known.case_id,
        game_id=known.game_id,
        event=known.event,
        state=known.state,  # type: ignore[arg-type] # one of STATES
        grade=known.grade,  # type: ignore[arg-type]
        opened_at=rfc3339(known.created_ms),
        updated_at=rfc3339(known.updated_ms),
        answer_until=rfc3339(known.until_ms),
        ruling=known.ruling,  # type: ignore[arg-type] # one of RULINGS
        links={"self": f"/v1/cases/{known.case_id}", "game": f"/v1/games/{known.game_id}"},
    )


def _seat(number: int, seat: RowSeat, name: str) -> shapes.SeatOut:
    free = seat.player_id is None
    return shapes.SeatOut(
        seat=number,
        player_id=seat.player_id,
        name=None if free else name or (seat.bot[0] if seat.bot else ""),
        hero=seat.hero,
        bot=None if seat.bot is None else shapes.BotSeat(name=seat.bot[0], level=seat.bot[1]),
        custody=None if free else seat.custody,  # type: ignore[arg-type]
    )


def _links(game_id: str, ruleset: str, status: str, source: shapes.Source | None) -> dict[str, str]:
    base = f"/v1/games/{game_id}"
    links = {"self": base, "ruleset": f"/v1/rulesets/{ruleset}", "events": f"{base}/events"}
    if status == OPEN:
        links |= {"reveal": f"{base}/reveal", "seats": f"{base}/seats", "start": f"{base}/start"}
    else:
        links |= {name: f"{base}/{name}" for name in ("state", "actions", "replay", "audit")}
        links |= {"forks": f"/v1/games?forked_from={game_id}", "disputes": f"{base}/disputes"}
    if source is not None:
        links |= {
            "forked_from": f"/v1/games/{source.game_id}",
            "source_position": f"/v1/games/{source.game_id}/positions/{source.version}",
        }
    return links


def effect(counts: Effective) -> shapes.EffectiveOut:
    """What counts of a game."""
    return shapes.EffectiveOut(
        status=counts.status,  # type: ignore[arg-type] # one of STATUSES
        outcome=outcome(counts.outcome),
        case_id=None if counts.case_id is None else counts.case_id.hex(),
        ruling=counts.ruling,  # type: ignore[arg-type] # one of RULINGS, not to uphold
        resumed_as=None if counts.resumed is None else counts.resumed.hex(),
    )


def _row_effect(known: Row) -> shapes.EffectiveOut:
    counts = known.effective
    if counts is None:
        recorded = None if known.outcome is None else msgspec.convert(known.outcome, Outcome)
        return effect(Effective(known.status, recorded))
    return shapes.EffectiveOut(
        status=counts.status,  # type: ignore[arg-type]
        outcome=_outcome(counts.outcome),
        case_id=counts.case_id,
        ruling=counts.ruling,  # type: ignore[arg-type]
        resumed_as=counts.resumed,
    )


def _outcome(ended: dict[str, Any] | None) -> shapes.OutcomeOut | None:
    return None if ended is None else outcome(msgspec.convert(ended, Outcome))


def paused_by(position: Position, cases: Sequence[Case]) -> str | None:
    """The dispute that a game waits for."""
    case = pausing(position, cases)
    return None if case is None else case.case_id.hex()


def outcome(ended: Outcome | None) -> shapes.OutcomeOut | None:
    """How a game ended, if it did."""
    if ended is None:
        return None
    return shapes.OutcomeOut(ending=ended.ending, winners=ended.winners, scores=ended.scores, facts=ended.facts)


def player_names(deps: "Deps", position: Position) -> dict[bytes, str]:
    """The names of those who sit at a table; bots have none."""
    people = [seat.player for seat in position.seats if seat.player is not None and seat.bot is None]
    return deps.accounts.names(people) if people else {}


# -- play ------------------------------------------------------------------------------------------------------------


def actions(position: Position, seat: int | None, context: Context, language: str) -> list[shapes.ActionOut]:
    """The legal actions of a seat, with labels."""
    if seat is None or position.status != PLAYING or position.rules is None or position.state is None:
        return []
    said = words(language)
    return [
        shapes.ActionOut(
            action=msgspec.to_builtins(legal.action),
            label=said.action(legal.action, context),
            target=legal.target,
            chance=legal.chance,
        )
        for legal in position.rules.legal(position.state, seat)
    ]


def choices(position: Position, seat: int | None, context: Context, language: str) -> list[shapes.ChoiceOut]:
    """The legal parametric actions of a seat, with labels."""
    rules, said = position.rules, words(language)
    if seat is None or position.status != PLAYING or rules is None or position.state is None:
        return []
    return [
        shapes.ChoiceOut(
            type=form.type,
            label=said.form(form.type, context),
            fields={
                name: shapes.FieldOut(
                    minimum=field.minimum,
                    maximum=field.maximum,
                    ids=field.ids,
                    repeats=field.repeats,
                    single=field.single,
                    label=said.field(name, context),
                    labels=[said.piece(name, one, context) for one in field.ids],
                    targets=[rules.element(name, one) for one in field.ids],
                )
                for name, field in form.fields.items()
            },
            target=form.target,
            chance=form.chance,
        )
        for form in rules.forms(position.state, seat)
    ]


def refused(position: Position, seat: int | None, context: Context, language: str) -> list[shapes.RefusedOut]:
    """What the seat would naturally click and may not, with the reason in words."""
    if seat is None or position.status != PLAYING or position.rules is None or position.state is None:
        return []
    said = words(language)
    return [
        shapes.RefusedOut(
            target=refusal.target,
            code=refusal.code,
            message=said.refusal(refusal.code, refusal.details, context),
            rule=refusal.rule,
        )
        for refusal in position.rules.refusals(position.state, seat)
    ]


# -- the record ------------------------------------------------------------------------------------------------------

_ELSEWHERE = frozenset(("a", "x", "f"))


def event_fields(event: Event, narration: str) -> dict[str, Any]:
    """The members of an event's JSON."""
    body = event.body
    facts = {name: hexed(value) for name, value in body.items() if name not in _ELSEWHERE}
    action: dict[str, Any] | None = None
    asked = body.get("a")
    if isinstance(asked, list | tuple) and len(asked) == 2 and isinstance(asked[1], dict):
        action = {"type": hexed(asked[0]), **hexed(asked[1])}
    elif asked is not None:
        facts["signed"] = hexed(asked)
    draws: list[shapes.DrawOut] = []
    drawn = body.get("x")
    if isinstance(drawn, list | tuple) and len(drawn) == 3 and isinstance(drawn[2], list):
        facts["link"] = hexed(drawn[1])
        draws = [
            shown for number, draw in enumerate(drawn[2]) if (shown := _draw(f"{drawn[0]}.{number}", draw)) is not None
        ]
        if len(draws) != len(drawn[2]):
            facts["draws"] = hexed(drawn[2])
    fingerprint = body.get("f")
    return {
        "seq": event.seq,
        "kind": event.kind,
        "seat": event.seat,
        "at": rfc3339(event.t_ms),
        "action": action,
        "draws": draws,
        "fingerprint": fingerprint.hex() if isinstance(fingerprint, bytes) else None,
        "prev": event.prev.hex(),
        "hash": event.hash.hex(),
        "narration": narration,
        "facts": facts,
    }


def _draw(number: str, draw: Any) -> shapes.DrawOut | None:
    match draw:
        case [str(purpose), int(sides), int(value)]:
            return shapes.DrawOut(number=number, purpose=purpose, value=value, sides=sides)
        case [str(purpose), int(total), int(value), str(chosen)]:
            return shapes.DrawOut(number=number, purpose=purpose, value=value, total=total, id=chosen)
    return None


def event(
    position: Position, written: Event, happenings: Sequence[Happening], names: Mapping[bytes, str], language: str
) -> shapes.EventOut:
    """One event; ``position`` is the one after it."""
    said = words(language).event(written, list(happenings), Context.of(position, names))
    return shapes.EventOut(**event_fields(written, said))
