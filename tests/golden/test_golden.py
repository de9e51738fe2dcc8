"""Golden playthroughs: whole games as text, told anew and compared line by line; and what is frozen by them."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import get_args

import pytest

from engine.donjon import DONJON_1, Donjon, movement
from engine.donjon.actions import ResolveTrap
from engine.donjon.state import Tile
from engine.dungeon_roll import DUNGEON_ROLL_1
from engine.dungeon_roll.heroes import HEROES
from engine.dungeon_roll.state import Phase
from engine.protocol import Illegal
from engine.registry import RULESETS, game_name
from replay.fingerprint import rules_hash
from replay.transcript import changes, digest, flat, read, tell, text
from tests.engine.hidden_card import HIDDEN_CARD
from tests.golden.names import names
from tests.golden.write import (
    GOLDEN,
    ROOT,
    Planned,
    frozen,
    frozen_file,
    names_file,
    plan,
    play,
    told_anew,
    transcripts,
)

EVERY = [pytest.param(rules, id=rules.id) for rules in RULESETS.values()]
FILES = [
    pytest.param(rules, path, id=f"{rules.id}-{path.stem}")
    for rules in RULESETS.values()
    for path in sorted((GOLDEN / rules.id).glob("*.txt"))
]


@pytest.mark.parametrize("rules", EVERY)
def test_every_ruleset_on_offer_has_golden_playthroughs(rules):
    planned = {f"{game.name}.txt" for game in plan(rules.id)}
    assert planned, f"write tests/golden/{rules.id}/plan.toml, then: make golden"
    assert set(transcripts(rules.id)) == planned


@pytest.mark.parametrize(("rules", "path"), FILES)
def test_a_golden_playthrough_told_anew_is_the_same_line_by_line(rules, path):
    golden = path.read_text()
    game = read(golden)
    assert game.ruleset == rules.id
    expected = golden.splitlines()
    for number, line in enumerate(tell(rules, game)):
        assert line == expected[number], f"{path.name}:{number + 1}"
    assert text(rules, game) == golden


@pytest.mark.parametrize("rules", EVERY)
def test_every_action_happening_and_draw_occurs_in_a_golden_playthrough(rules):
    told = "".join(content.decode() for content in transcripts(rules.id).values())
    assert set(re.findall(r"^\d+ seat \d+ ([a-z-]+)", told, re.MULTILINE)) == set(rules.actions)
    assert set(re.findall(r"^  ([a-z-]+) \w+=", told, re.MULTILINE)) == set(rules.happenings)
    drawn = " ".join(re.findall(r"^  draws (.*)$", told, re.MULTILINE))
    assert set(re.findall(r'\["([a-z-]+)"', drawn)) == set(rules.purposes)


def test_every_hero_and_every_ending_of_le_donjon_has_its_playthrough():
    games = [read(content.decode()) for content in transcripts(DONJON_1.id).values()]
    assert {seat.choice.get("hero") for game in games for seat in game.setup.seats} > {*DONJON_1.components["heroes"]}
    told = "".join(content.decode() for content in transcripts(DONJON_1.id).values())
    endings = set(re.findall(r'^outcome {"ending":"(\w+)"', told, re.MULTILINE))
    assert endings == {"dragon", "exhaustion", "stalemate", "withdrawal"}
    assert max(len(game.setup.seats) for game in games) == 6


def test_every_side_of_every_hero_of_dungeon_roll_has_its_playthrough_with_its_powers():
    for side in (side for hero in HEROES.values() for side in (hero.novice, hero.master) if side):
        told = transcripts(DUNGEON_ROLL_1.id)[f"{side.name}.txt"].decode()
        assert f"  ultimate-used seat=1 hero={side.name} power={side.ultimate.name}\n" in told
        assert side.specialty is None or f"  specialty-used seat=1 hero={side.name}\n" in told


def test_every_ending_option_and_phase_of_dungeon_roll_has_its_playthrough():
    games = {name: content.decode() for name, content in transcripts(DUNGEON_ROLL_1.id).items()}
    told = "".join(games.values())
    assert set(re.findall(r'^outcome {"ending":"(\w+)"', told, re.MULTILINE)) == {"delves", "withdrawal"}
    assert '"winners":[1,2]' in told
    assert '"facts":{"rank":' in told
    options = [read(game).setup.options for game in games.values()]
    for option in ("scroll_phases", "champion", "hero_choice"):
        assert len({of[option] for of in options}) == 2
    phases = set(re.findall(r"^  timed-out .* phase=([a-z-]+)$", told, re.MULTILINE))
    assert phases == {*get_args(Phase)} - {"opening", "game-over"}


def test_golden_playthroughs_are_small_enough_to_be_read():
    assert sum(path.stat().st_size for path in GOLDEN.rglob("*.txt")) < 1_500_000


# What is frozen


@pytest.mark.parametrize("rules", EVERY)
def test_the_frozen_digest_is_that_of_the_transcripts(rules):
    assert rules.transcripts == digest(transcripts(rules.id)), "make golden"
    assert frozen_file(rules).read_text() == frozen(game_name(rules.id))


@pytest.mark.parametrize("rules", EVERY)
def test_the_names_that_stored_games_hold_are_locked(rules):
    """Actions, args, options, purposes in the order drawn, happenings, state, material. ``make golden`` writes them."""
    assert names(rules).splitlines() == names_file(rules.id).read_text().splitlines()


def test_a_changed_transcript_changes_the_rules_hash():
    files = transcripts(DONJON_1.id)
    changed = files | {"tala.txt": files["tala.txt"].replace(b"hp=4", b"hp=3", 1)}
    renamed = {name.replace("tala", "tale"): content for name, content in files.items()}
    fewer = {name: content for name, content in files.items() if name != "tala.txt"}

    def hash_with(golden):
        return rules_hash(type("Other", (Donjon,), {"transcripts": digest(golden)})())

    assert hash_with(files) == rules_hash(DONJON_1)
    assert len({rules_hash(DONJON_1), hash_with(changed), hash_with(renamed), hash_with(fewer)}) == 4


def test_changed_material_or_another_id_changes_the_rules_hash():
    stronger = type("Stronger", (Donjon,), {"components": {**DONJON_1.components, "hit_points": 6}})()
    later = type("Later", (Donjon,), {"id": "donjon@9"})()
    assert len({rules_hash(rules) for rules in (DONJON_1, stronger, later)}) == 3


def spring_once(state, action, chance):
    at = state.hero.at
    happenings = movement.resolve_trap(state, action, chance)
    state.tiles = {**state.tiles, at: Tile(state.tiles[at].exits, "corridor")}
    return happenings


def test_rules_that_mean_something_else_tell_another_text():
    carried_out = Donjon.handlers[ResolveTrap]._replace(carry_out=spring_once)
    other = type("Other", (Donjon,), {"handlers": Donjon.handlers | {ResolveTrap: carried_out}})()
    game = read((GOLDEN / DONJON_1.id / "six-seats.txt").read_text())
    ours = tell(DONJON_1, game)
    differs = next((line, theirs) for line, theirs in zip(ours, tell(other, game), strict=False) if line != theirs)
    assert ".kind corridor" in differs[1]


def test_a_transcript_that_is_no_game_any_more_is_named_and_kept(tmp_path, monkeypatch):
    monkeypatch.setattr("tests.golden.write.ROOT", tmp_path)
    path = tmp_path / "broken.txt"
    golden = (GOLDEN / DONJON_1.id / "stalemate.txt").read_text()
    broken = re.sub(r"^(1 seat \d) end-turn$", r"\1 roll-dice", golden, flags=re.MULTILINE)
    path.write_text(broken)
    with pytest.raises(SystemExit, match=r"broken\.txt is no game of donjon@1 any more: nothing-pending"):
        told_anew(DONJON_1, path)
    assert path.read_text() == broken


# How a game is told


def test_a_game_with_forms_and_hidden_cards_is_told_and_read_back():
    planned = Planned("hands", "Two hands", [{}, {}], at={"1": "draw", "2": "draw", "3": "knock"})
    game = play(HIDDEN_CARD, planned)
    told = text(HIDDEN_CARD, game)
    assert text(HIDDEN_CARD, read(told)) == told
    assert "change cards 1..2 of " in told
    planned.at["1"] = 'change {"cards": ["card-99"]}'
    with pytest.raises(Illegal):
        play(HIDDEN_CARD, planned)


def test_what_changed_is_told_by_its_path():
    before = flat({"heroes": [{"hp": 5, "scrolls": []}], "things": {"1,0": "axe"}, "mp": 4})
    after = flat({"heroes": [{"hp": 4, "scrolls": ["a b"]}], "things": {}, "mp": 4})
    assert list(changes(before, after)) == ["heroes.1.hp 4", 'heroes.1.scrolls ["a b"]', "no things.1,0"]


# From the first release on


DIGEST = re.compile(r'^ +"([a-z-]+@\d+)": bytes\.fromhex\("([0-9a-f]{64})"\),$', re.MULTILINE)


def changed_since_release(root: Path) -> list[str]:
    """Every ruleset of a release whose transcripts are not what they were: ``v1.0.0 donjon@1``."""

    def git(*command: str) -> str:
        return subprocess.run(["git", *command], cwd=root, capture_output=True, text=True, check=True).stdout

    now = {name: value for path in root.glob("engine/*/frozen.py") for name, value in DIGEST.findall(path.read_text())}
    return [
        f"{tag} {name}"
        for tag in git("tag", "--list", "v*").split()
        for path in git("ls-tree", "-r", "--name-only", tag, "engine/").split()
        if path.endswith("/frozen.py")
        for name, value in DIGEST.findall(git("show", f"{tag}:{path}"))
        if now.get(name) != value
    ]


def test_no_ruleset_of_a_release_has_changed_since():
    if not (ROOT / ".git").exists():
        pytest.skip("not a git checkout: an unpacked source archive has no releases to compare with")
    assert changed_since_release(ROOT) == []


def test_a_ruleset_that_changes_after_its_release_is_found(tmp_path):
    def git(*command: str) -> None:
        who = ["-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false"]
        subprocess.run(["git", *who, *command], cwd=tmp_path, check=True, capture_output=True)

    path = tmp_path / "engine" / "donjon" / "frozen.py"
    path.parent.mkdir(parents=True)
    shutil.copy(frozen_file(DONJON_1), path)
    git("init")
    git("add", ".")
    git("commit", "-m", "first")
    path.write_text(frozen("donjon").replace(DONJON_1.transcripts.hex(), "00" * 32))
    assert changed_since_release(tmp_path) == []  # nothing is frozen before the first release
    git("tag", "v1.0.0")
    assert changed_since_release(tmp_path) == ["v1.0.0 donjon@1"]
    path.write_text(frozen("donjon") + f'    "donjon@2": bytes.fromhex("{"11" * 32}"),\n')
    assert changed_since_release(tmp_path) == []  # a version beside the old one is welcome
    path.unlink()
    assert changed_since_release(tmp_path) == ["v1.0.0 donjon@1"]
