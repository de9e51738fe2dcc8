"""`annals verify`: the verdict on a bundle or a file of events, without a server and without a database."""

import traceback
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import click
import msgspec

from events.case_bodies import opens_case
from events.event import Event
from events.log import Damage
from replay import file
from replay.audit import (
    NOT_PROVEN,
    PASS,
    REFUTED,
    UNDETERMINED,
    VERIFIED,
    VERIFIED_WITH_LIMITS,
    Trust,
    Verdict,
    audit_bundle,
    audit_events,
)
from replay.bundle import UNPACKED_LIMIT
from replay.case_audit import audit_case_events
from replay.words import words

EXIT: Final = {VERIFIED: 0, VERIFIED_WITH_LIMITS: 0, REFUTED: 2, NOT_PROVEN: 4, UNDETERMINED: 5}
STRICT: Final = 3
"""VERIFIED WITH LIMITS, where limits are not enough."""
CRASHED: Final = 70
"""EX_SOFTWARE of sysexits.h: the verifier failed, and says nothing about the game."""
NOTE_LIMIT: Final = 1_048_576


class TooLarge(click.UsageError):
    """A file beside the bundle is larger than any of its sort."""


def run_verify(
    path: Path,
    policy: Path | None,
    receipts_key: str | None,
    receipts: Iterable[Path],
    requests: Iterable[Path],
    tlog_only: bool,
    strict: bool,
    as_json: bool,
    language: str,
) -> int:
    """Judge a file and print the verdict; the exit code that goes with it.

    :raises TooLarge: a policy, receipt or request is none.
    """
    trust = Trust(
        policy=None if policy is None else _read(policy),
        receipts_key=receipts_key,
        receipts={each.name: _read(each) for each in receipts},
        requests={each.name: _read(each) for each in requests},
        rules=not tlog_only,
    )
    try:
        verdict = _judge(path, trust, language)
    except Exception:  # noqa: BLE001 # a crash must not look like a verdict
        traceback.print_exc()
        return CRASHED
    if as_json:
        click.echo(msgspec.json.encode(verdict))
    else:
        tell(verdict, language)
    return STRICT if strict and verdict.verdict == VERIFIED_WITH_LIMITS else EXIT[verdict.verdict]


def tell(verdict: Verdict, language: str) -> None:
    """Print a verdict: each check with its result and the section of docs/ or the rule that it follows, what limits it,
    and the verdict itself in the last line."""
    say = words(language)
    for check in verdict.checks:
        result = f"{check.result:<11}"
        colour = {"PASS": "green", "FAIL": "red", "LIMIT": "yellow"}.get(check.result)
        click.echo(f"{check.id:<4}{click.style(result, fg=colour)}  {check.name}  [{check.section}]")
        if check.said and check.result != PASS:
            click.echo(f"                 {check.said}")
        told = [check.detail, "" if check.rule is None else f"({check.rule})"]
        if check.detail:
            click.echo(f"                 {' '.join(part for part in told if part)}")
    for limit in verdict.limits:
        click.echo(f"- {limit.text}  [{limit.id}]")
    parts = [f"{verdict.verdict}: {verdict.words}"]
    parts += [] if verdict.code is None else [f"{verdict.code} {say.raw(f'table.check.{verdict.code}')}"]
    parts += [] if verdict.event is None else [f"event {verdict.event}"]
    parts += [] if verdict.who is None else [f"against the {verdict.who}"]
    click.echo(", ".join(parts))


def _judge(path: Path, trust: Trust, language: str) -> Verdict:
    if path.suffix == file.SUFFIX:
        items: list[Event | Damage] = list(file.read(path))
        if items and isinstance(items[0], Event) and opens_case(items[0]):
            return audit_case_events(items, trust, language)
        return audit_events(items, trust, language)
    with path.open("rb") as opened:
        return audit_bundle(opened.read(2 * UNPACKED_LIMIT), trust, language)


def _read(path: Path) -> bytes:
    with path.open("rb") as opened:
        data = opened.read(NOTE_LIMIT + 1)
    if len(data) > NOTE_LIMIT:
        raise TooLarge(f"{path} has more than {NOTE_LIMIT} bytes")
    return data
