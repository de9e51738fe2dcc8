"""docs/security.md names a test for each promise, and every one that it names is there."""

import re
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "security.md").read_text()
PROMISES = re.findall(r"^\| (.+) \| (.*`tests/.*) \|$", TEXT, re.MULTILINE)


def test_every_promise_has_a_test_that_is_there() -> None:
    assert len(PROMISES) >= 14
    for promise, tests in PROMISES:
        named = re.findall(r"`(tests/[\w/]+\.py)`", tests)
        assert named, promise
        for name in named:
            assert (ROOT / name).is_file(), name


def test_a_weakness_is_reported_in_private_and_by_no_address_that_nobody_reads() -> None:
    policy = (ROOT / "SECURITY.md").read_text()
    assert "Report a vulnerability" in policy
    assert "@" not in policy
    assert "docs/security.md" in policy
    readme = (ROOT / "README.md").read_text()
    assert "(SECURITY.md)" in readme
    assert "(docs/security.md)" in readme
