"""What the Dockerfile builds: a wheel, made from no other files than .dockerignore lets through."""

import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
ROOMS = {"service", "events", "engine", "replay"}


@pytest.fixture(scope="module")
def wheel(tmp_path_factory: pytest.TempPathFactory) -> zipfile.ZipFile:
    context = tmp_path_factory.mktemp("context")
    for line in (ROOT / ".dockerignore").read_text().splitlines():
        if line.startswith("!"):
            source, target = ROOT / line[1:], context / line[1:]
            target.parent.mkdir(parents=True, exist_ok=True)
            if source.is_dir():
                shutil.copytree(source, target, ignore=shutil.ignore_patterns("__pycache__"))
            else:
                shutil.copy(source, target)
    out = tmp_path_factory.mktemp("wheel")
    pip = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-index", "--no-deps", "--no-build-isolation"]
    build = [*pip, "--wheel-dir", str(out), "."]
    run = subprocess.run(build, cwd=context, capture_output=True, text=True, timeout=120, check=False)
    assert run.returncode == 0, run.stdout + run.stderr
    (built,) = out.glob("annals-*.whl")
    return zipfile.ZipFile(built)


def test_the_wheel_holds_the_four_rooms_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    top = {name.split("/")[0] for name in wheel.namelist()}
    assert {name for name in top if not name.endswith(".dist-info")} == ROOMS


def test_every_file_of_the_rooms_is_in_the_wheel(wheel: zipfile.ZipFile) -> None:
    packed = set(wheel.namelist())
    for room in ROOMS:
        for path in (ROOT / room).rglob("*"):
            if path.is_file() and "__pycache__" not in path.parts:
                assert str(path.relative_to(ROOT)) in packed


def test_the_licence_travels_with_the_wheel(wheel: zipfile.ZipFile) -> None:
    (licence,) = (name for name in wheel.namelist() if name.endswith("/licenses/LICENSE"))
    assert wheel.read(licence) == (ROOT / "LICENSE").read_bytes()
