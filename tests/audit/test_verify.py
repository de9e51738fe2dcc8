"""One verdict for each sort of bundle: honest, unfinished, crooked, spoiled."""

from dataclasses import replace

import pytest

from replay.audit import VERIFIED, VERIFIED_WITH_LIMITS, Verdict, audit_bundle
from replay.catalogue import CHECKS
from tests.audit.corpus import CASES


def explained(verdict: Verdict) -> str:
    return "\n".join(f"{line.id} {line.result} {line.event} {line.detail}" for line in verdict.checks)


@pytest.mark.parametrize("name", CASES)
def test_a_bundle_gets_its_verdict(name: str) -> None:
    case = CASES[name]()
    verdict = audit_bundle(case.data, case.trust)
    told = explained(verdict)
    assert (verdict.verdict, verdict.code, verdict.who) == (case.verdict, case.code, case.who), told
    assert set(case.limits) <= {limit.id for limit in verdict.limits}, told
    assert [line.id for line in verdict.checks] == list(CHECKS)
    deciding = case.code or "V10"
    assert case.says in next(line.detail for line in verdict.checks if line.id == deciding), told


@pytest.mark.parametrize("name", CASES)
def test_without_the_rules_it_gets_the_same_verdict_but_for_what_only_rules_can_say(name: str) -> None:
    case = CASES[name]()
    verdict = audit_bundle(case.data, replace(case.trust, rules=False))
    expected = case.without_rules or (case.verdict if case.verdict != VERIFIED else VERIFIED_WITH_LIMITS, case.code)
    assert (verdict.verdict, verdict.code) == expected, explained(verdict)
    if verdict.events:
        assert "rules-not-folded" in {limit.id for limit in verdict.limits}
