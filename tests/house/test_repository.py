"""What must be true of the files themselves: nothing of one machine in them, locked requirements, one version."""

import importlib.metadata
import os
import re
import shutil
import subprocess
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement

ROOT = Path(__file__).resolve().parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
ROOMS = ("events", "engine", "replay", "service")

# Package registries, download addresses and folders of one machine. The brackets keep this file from matching itself.
NEVER = re.compile(
    r"py[p]i\.org|python[h]osted|npm[j]s\.(org|com)|deb\.deb[i]an|docker\.i[o]/|ghcr\.i[o]/|[-]-(extra-)?index-url\s+http"
    r"|[-]-find-links\s+[/h]|(?<![\w.])/wor[k]/|/roo[t]/|/hom[e]/\w+/|/tm[p]/tmp\w+/"
)


def ours() -> list[Path]:
    """Every file that git has or would take."""
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: an unpacked source archive has no list of its files")
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    names = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\0")
    return [ROOT / name for name in names if name and (ROOT / name).is_file()]


def locked(name: str) -> dict[str, str]:
    """The pinned version of each distribution in a lock file; the text of each entry must carry hashes."""
    pins = {}
    for entry in re.split(r"\n(?=[A-Za-z0-9])", (ROOT / "requirements" / name).read_text()):
        if pinned := re.match(r"([A-Za-z0-9._-]+)(?:\[[\w,]+\])?==(\S+)", entry):
            assert "--hash=sha256:" in entry, entry
            pins[pinned[1].lower().replace("_", "-")] = pinned[2]
    return pins


def test_no_file_names_a_registry_or_a_folder_of_one_machine() -> None:
    found = []
    for path in ours():
        for number, line in enumerate(path.read_bytes().decode("utf-8", "replace").splitlines(), start=1):
            if NEVER.search(line):
                found.append(f"{path.relative_to(ROOT)}:{number}: {line.strip()[:120]}")
    assert found == []


def test_no_test_folder_is_a_package_that_would_hide_a_room() -> None:
    assert list((ROOT / "tests").rglob("__init__.py")) == []


@pytest.mark.parametrize("room", [*ROOMS, "bench"])
def test_each_room_says_in_three_sentences_what_lives_in_it(room: str) -> None:
    title, text = (ROOT / room / "README.md").read_text().split("\n", 1)
    assert title.startswith(f"# {room}/")
    assert len(re.findall(r"[.!?](?=\s)", text)) == 3


def test_the_readme_gives_the_two_commands() -> None:
    readme = (ROOT / "README.md").read_text()
    assert re.search(r"^\s*make run\b", readme, re.MULTILINE)
    assert re.search(r"^\s*make test\b", readme, re.MULTILINE)


def test_the_readme_shows_light_pictures_that_one_command_takes() -> None:
    shown = {ROOT / path for path in re.findall(r"docs/screenshots/[\w-]+\.webp", (ROOT / "README.md").read_text())}
    assert shown == set((ROOT / "docs" / "screenshots").iterdir())
    assert all(picture.read_bytes().startswith(b"RIFF") for picture in shown)
    assert sum(picture.stat().st_size for picture in shown) < 700_000


def test_ci_runs_the_readmes_test_command() -> None:
    script = ROOT / ".ci" / "run"
    assert os.access(script, os.X_OK)
    assert script.read_text().splitlines()[-1] == "make test"


def test_ci_has_both_real_servers() -> None:
    if os.environ.get("CI") != "true":
        pytest.skip("outside CI a missing redis-server only skips the tests that need it")
    assert shutil.which("redis-server")


def test_the_installed_version_is_the_changelogs_newest() -> None:
    changelog = (ROOT / "CHANGELOG.md").read_text()
    released = re.findall(r"^## \[([\d.]+)\] - \d{4}-\d\d-\d\d$", changelog, re.MULTILINE)
    assert released[0] == PROJECT["version"] == importlib.metadata.version("annals")


def test_the_command_is_the_one_that_looks_first_whether_events_is_ours() -> None:
    (command,) = importlib.metadata.entry_points(group="console_scripts", name="annals")
    assert command.value == "service.__main__:main"


@pytest.mark.parametrize(("lock", "extras"), [("run.txt", []), ("test.txt", ["dev"])])
def test_the_lock_files_pin_what_the_project_asks_for(lock: str, extras: list[str]) -> None:
    pins = locked(lock)
    asked = PROJECT["dependencies"] + [line for extra in extras for line in PROJECT["optional-dependencies"][extra]]
    for requirement in map(Requirement, [*asked, "hatchling", "editables"]):
        version = pins.get(requirement.name.lower().replace("_", "-"))
        assert version, f"{requirement} is not in {lock}: make lock"
        assert requirement.specifier.contains(version), f"{requirement} is not met by {version} in {lock}: make lock"


def test_the_tests_run_on_the_versions_that_the_service_runs_on() -> None:
    tests = locked("test.txt")
    assert {name: tests.get(name) for name in locked("run.txt")} == locked("run.txt")
