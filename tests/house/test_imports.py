"""The one-way imports hold, and the contracts that say so do bite."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
LINT = Path(sys.executable).with_name("lint-imports")


def lint(folder: Path) -> subprocess.CompletedProcess[str]:
    command = [str(LINT), "--no-logo", "--no-cache"]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=120, check=False)


def test_every_import_contract_is_kept() -> None:
    run = lint(ROOT)
    assert run.returncode == 0, run.stdout


@pytest.mark.parametrize(
    ("room", "line"),
    [
        ("engine", "import time"),
        ("engine", "import random"),
        ("engine", "import pathlib"),
        ("engine", "import redis"),
        ("engine", "import events.codec"),
        ("events", "import engine.protocol"),
        ("events", "import flask"),
        ("replay", "import service.guard"),
        ("replay", "import flask"),
    ],
)
def test_an_import_against_the_direction_is_found(tmp_path: Path, room: str, line: str) -> None:
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    for name in ("service", "replay", "engine", "events"):
        shutil.copytree(ROOT / name, tmp_path / name, ignore=shutil.ignore_patterns("__pycache__"))
    (tmp_path / room / "stray.py").write_text(line + "\n")
    run = lint(tmp_path)
    assert run.returncode == 1, run.stdout
    assert "stray" in run.stdout
