"""What docs/replay.md shows does work."""

import re
from pathlib import Path
from typing import Any

import pytest

from replay import file
from replay.audit import SECTIONS
from replay.case_audit import CASE_SECTIONS
from replay.catalogue import CHECKS, LIMITS
from replay.terminal import KEYS

DOCS = Path(__file__).resolve().parents[2] / "docs"
PAGE = (DOCS / "replay.md").read_text()


def test_the_python_of_the_page_runs_as_it_stands(
    game: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file.write(tmp_path / "game.annals", game("docs").events)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/replay.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1] == "EXACT"


WRITTEN = {"right": "→", "left": "←", "down": "↓", "up": "↑", " ": "space"}


def test_the_page_names_every_key() -> None:
    table = PAGE.partition("| key | does |")[2].partition("\n\n")[0].lower().split()
    for keys in KEYS.values():
        assert {WRITTEN.get(key, key) for key in keys} <= set(table)


def test_the_table_of_checks_has_each_in_its_order_and_names_every_limit() -> None:
    table = (DOCS / "audit-bundle.md").read_text().partition("## Checks")[2]
    assert tuple(re.findall(r"^\| (V\d+) \|", table, re.MULTILINE)) == CHECKS
    assert {limit for limit in LIMITS if f"`{limit}`" in (DOCS / "audit-bundle.md").read_text()} == set(LIMITS)


def test_every_check_names_the_section_that_it_follows_and_the_table_links_it() -> None:
    table = (DOCS / "audit-bundle.md").read_text().partition("## Checks")[2]
    linked = dict(re.findall(r"^\| (V\d+) \| \[.*?\]\((.*?)\)", table, re.MULTILINE))
    assert {check: link.replace("audit-bundle.md#", "#") for check, link in SECTIONS.items()} == linked
    for section in {*SECTIONS.values(), *CASE_SECTIONS.values()}:
        file, _, anchor = section.partition("#")
        headings = re.findall(r"^#+ (.*)$", (DOCS / file).read_text(), re.MULTILINE)
        assert not anchor or anchor in [heading.lower().replace(" ", "-") for heading in headings], section
