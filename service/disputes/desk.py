"""`annals case`: the auditor's desk on the command line, over the database itself."""

from typing import TYPE_CHECKING

import click

from events.case_bodies import Result
from replay.words import Context, words
from service.access import Caller, NotAnAuditor, may_rule
from service.api.present import rfc3339
from service.disputes import cases

if TYPE_CHECKING:
    from replay.case import Case
    from service.bootstrap import Deps


def show_list(deps: "Deps", state: str | None) -> None:
    """Print the cases in a state, else those that are not closed, oldest first."""
    deps.index.catch_up()
    count, cursor = 0, None
    while True:
        page = deps.index.cases(state, 100, cursor)
        for row in page.rows:
            ruling = f"  {row.ruling}" if row.ruling else ""
            click.echo(f"{row.case_id}  {row.state:<8}  {rfc3339(row.created_ms)}  {row.game_id} {row.event}{ruling}")
        count, cursor = count + len(page.rows), page.next
        if cursor is None:
            break
    click.echo(f"{count} cases")


def show(deps: "Deps", case_id: bytes, auditor: bytes, language: str) -> None:
    """Print a case with what was said in it; that it was read is written down.

    :raises CaseNotFound: there is none.
    :raises NotAnAuditor: the player is none.
    """
    case = deps.cases.load(case_id)
    assert case.about is not None
    game_id, seq, _ = case.about
    if not Caller(auditor, lambda: deps.accounts.roles(auditor)).sees_all:
        raise NotAnAuditor
    deps.accesses.note(game_id, auditor, "annals case show")
    click.echo(f"case {case_id.hex()}: {case.state}, {case.grade}")
    click.echo(f"game {game_id.hex()}, event {seq}")
    for position, event, happenings in deps.positions.walk(game_id, max(0, seq - 4), seq + 3):
        people = [seat.player for seat in position.seats if seat.player is not None and seat.bot is None]
        context = Context.of(position, deps.accounts.names(people))
        mark = ">" if event.seq == seq else " "
        click.echo(f"{mark} {event.seq:>4}  {rfc3339(event.t_ms)}  {words(language).event(event, happenings, context)}")
    if case.dispute is not None:
        click.echo(f"verdict when it was disputed: {case.dispute.verdict}")
        click.echo(f"answers until {rfc3339(case.dispute.until)}; waited for: {case.to_answer or 'nobody'}")
    texts = deps.cases.texts(case_id, [said.h for said in case.statements])
    names = deps.accounts.names(said.player for said in case.statements)
    for said in case.statements:
        who = names.get(said.player) or said.player.hex()
        seat = "" if said.seat is None else f", seat {said.seat}"
        kept = texts.get(said.h)
        text = "(erased)" if kept is None else kept.text if kept.h == said.h else f"(changed) {kept.text}"
        click.echo(f"{said.kind} by {who}{seat}, {rfc3339(said.t_ms)}: {text}")
    for refused in deps.refusals.of(game_id):
        code = refused.note.partition("\n\n")[0].rpartition("\n")[2]
        click.echo(f"refused {refused.player.hex()}, {rfc3339(refused.t_ms)}: {code}")
    _ruled(case)


def rule(
    deps: "Deps",
    case_id: bytes,
    auditor: bytes,
    ruling: str,
    text: str,
    winners: list[int],
    scores: list[int],
    version: int | None,
) -> None:
    """Rule on a case as an auditor, and print what became of it.

    :raises CaseNotFound: there is none.
    :raises NotAnAuditor, OwnCase: the player may not rule.
    """
    case = deps.cases.load(case_id)
    assert case.about is not None
    position = deps.positions.load(case.about[0]).position
    caller = Caller(auditor, lambda: deps.accounts.roles(auditor))
    may_rule(position, caller, None if case.dispute is None else case.dispute.player)
    result = Result(sorted(set(winners)), scores) if winners or scores else None
    _ruled(cases.rule(deps, case_id, auditor, ruling, text, result, version))
    deps.index.catch_up()


def _ruled(case: "Case") -> None:
    if case.ruling is None:
        click.echo("not ruled")
        return
    told = f"ruled {case.ruling.ruling}, {case.state}"
    if isinstance(case.ruling.result, Result):
        told += f": winners {case.ruling.result.winners}, scores {case.ruling.result.scores}"
    if isinstance(case.ruling.resume, tuple):
        told += f": from version {case.ruling.resume[0]} as game {case.ruling.resume[1].hex()}"
    click.echo(told)
