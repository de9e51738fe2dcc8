"""PyPI's distribution "Events" installs a package of our name: each way it can stand in for ours is refused."""

import os
import shutil
import subprocess
import sys
from pathlib import Path

from service import guard

ROOT = Path(__file__).resolve().parents[2]


def start(*import_path: Path, at: Path) -> subprocess.CompletedProcess[str]:
    """Run `python -m service --help` with these folders first on the import path."""
    environment = os.environ | {"PYTHONPATH": os.pathsep.join(str(folder) for folder in import_path)}
    command = [sys.executable, "-m", "service", "--help"]
    return subprocess.run(command, cwd=at, env=environment, capture_output=True, text=True, timeout=60, check=False)


def put_foreign_events(site: Path, *, registered: bool) -> Path:
    package = site / "events"
    package.mkdir(parents=True, exist_ok=True)
    (package / "__init__.py").write_text("from .events import Events\n")
    (package / "events.py").write_text("class Events: ...\n")
    if registered:
        (site / "Events-0.5.dist-info").mkdir()
        (site / "Events-0.5.dist-info" / "METADATA").write_text("Metadata-Version: 2.1\nName: Events\nVersion: 0.5\n")
    return site


def copy_of_ours(site: Path) -> Path:
    for room in ("service", "replay", "engine", "events"):
        shutil.copytree(ROOT / room, site / room, ignore=shutil.ignore_patterns("__pycache__"))
    return site


def refused(run: subprocess.CompletedProcess[str]) -> bool:
    return run.returncode == 1 and run.stderr.startswith("annals: ") and "Traceback" not in run.stderr


def test_our_own_package_passes() -> None:
    guard.check()


def test_the_command_starts_where_events_is_ours(tmp_path: Path) -> None:
    run = start(copy_of_ours(tmp_path / "site"), at=tmp_path)
    assert run.returncode == 0, run.stderr


def test_a_foreign_distribution_that_hides_ours_is_named_with_its_cure(tmp_path: Path) -> None:
    run = start(put_foreign_events(tmp_path / "site", registered=True), ROOT, at=tmp_path)
    assert refused(run)
    assert "Events 0.5" in run.stderr
    assert "pip uninstall Events" in run.stderr


def test_a_foreign_distribution_that_overwrote_ours_is_named(tmp_path: Path) -> None:
    run = start(put_foreign_events(copy_of_ours(tmp_path / "site"), registered=True), at=tmp_path)
    assert refused(run)
    assert "Events 0.5" in run.stderr


def test_a_package_that_hides_ours_without_being_installed_is_named_by_its_file(tmp_path: Path) -> None:
    site = put_foreign_events(tmp_path / "site", registered=False)
    run = start(site, ROOT, at=tmp_path)
    assert refused(run)
    assert str(site / "events" / "__init__.py") in run.stderr


def test_what_uninstalling_the_foreign_distribution_leaves_behind_is_refused(tmp_path: Path) -> None:
    site = copy_of_ours(tmp_path / "site")
    (site / "events" / "__init__.py").unlink()
    run = start(site, at=tmp_path)
    assert refused(run)
    assert "install Annals again" in run.stderr


def test_a_package_without_its_codec_is_refused(tmp_path: Path) -> None:
    site = copy_of_ours(tmp_path / "site")
    (site / "events" / "codec.py").unlink()
    assert refused(start(site, at=tmp_path))
