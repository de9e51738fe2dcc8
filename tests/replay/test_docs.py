"""What docs/replay.md shows does work."""

import re
from pathlib import Path
from typing import Any

import pytest

from replay import file
from replay.catalogue import CHECKS
from replay.terminal import KEYS

PAGE = (Path(__file__).resolve().parents[2] / "docs" / "replay.md").read_text()


def test_the_python_of_the_page_runs_as_it_stands(
    game: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    file.write(tmp_path / "game.annals", game("docs").events)
    (code,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    exec(compile(code, "docs/replay.md", "exec"), {})
    assert capsys.readouterr().out.splitlines()[-1] == "EXACT"


WRITTEN = {"right": "→", "left": "←", "down": "↓", "up": "↑", " ": "space"}


def test_the_page_names_every_key_and_check() -> None:
    table = PAGE.partition("| key | does |")[2].partition("\n\n")[0].lower().split()
    for keys in KEYS.values():
        assert {WRITTEN.get(key, key) for key in keys} <= set(table)
    checks = PAGE.replace("V4-V7", "V4 V5 V6 V7")
    assert all(check in checks for check in CHECKS)
