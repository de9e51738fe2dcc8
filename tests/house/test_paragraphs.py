"""Every happening, refusal and check cites a paragraph that stands in its text, and every paragraph of the rules that
states a rule is held by a test that tests/engine/paragraphs.toml names."""

import ast
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest

from engine.dungeon_roll.heroes import HEROES
from engine.registry import RULESETS, game_name
from replay.catalogue import CHECKS
from replay.words import LANGUAGES

ROOT = Path(__file__).parents[2]
TEXTS = {"donjon": "le-donjon", "dungeon-roll": "dungeon-roll"}
HEADING = re.compile(r"^#{2,6} (\d+(?:\.\d+)*)\b.*$", re.MULTILINE)
NAMED: dict[str, dict[str, Any]] = tomllib.loads((ROOT / "tests/engine/paragraphs.toml").read_text("utf-8"))


@cache
def text_of(game: str, language: str = "en") -> str:
    suffix = "" if language == "en" else f".{language}"
    return (ROOT / "docs" / "rules" / f"{TEXTS[game]}{suffix}.md").read_text("utf-8")


def paragraphs(game: str, language: str = "en") -> list[str]:
    return HEADING.findall(text_of(game, language))


def with_text(game: str) -> list[str]:
    """The paragraphs that say something of their own, and are no mere heading of others."""
    text = text_of(game)
    heads = list(HEADING.finditer(text))
    ends = [head.start() for head in heads[1:]] + [len(text)]
    return [head[1] for head, end in zip(heads, ends, strict=True) if text[head.end() : end].strip()]


def refused(game: str) -> Iterator[tuple[str, str]]:
    """(where, paragraph) of every refusal that is written down in the game's package and in what games share."""
    folder = ROOT / "engine" / game.replace("-", "_")
    for path in [*folder.glob("*.py"), ROOT / "engine" / "turns.py", ROOT / "engine" / "protocol.py"]:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            match node:
                case ast.Call(func=ast.Name("Illegal"), args=[_, ast.Constant(str(rule)), *_]):
                    yield f"{path.name}:{node.lineno}", rule


GAMES = [pytest.param(rules, id=rules.id) for rules in RULESETS.values()]


def test_every_game_on_offer_has_a_text() -> None:
    assert {game_name(ruleset) for ruleset in RULESETS} == set(TEXTS)


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("rules", GAMES)
def test_every_language_has_the_same_paragraphs_each_once(rules: Any, language: str) -> None:
    numbers = paragraphs(game_name(rules.id), language)
    assert numbers == paragraphs(game_name(rules.id))
    assert len(numbers) == len(set(numbers))


@pytest.mark.parametrize("rules", GAMES)
def test_every_happening_and_every_refusal_cites_a_paragraph(rules: Any) -> None:
    game = game_name(rules.id)
    known = set(paragraphs(game))
    assert {happening.rule for happening in rules.happenings.values()} <= known
    assert set(vars(rules.cited).values() if hasattr(rules.cited, "__dict__") else rules.cited) <= known
    written = list(refused(game))
    assert len(written) > 20
    assert [where for where, rule in written if rule not in known] == []


def test_every_hero_has_a_paragraph() -> None:
    assert {hero.rule for hero in HEROES.values()} <= set(paragraphs("dungeon-roll"))


def test_every_check_of_an_audit_has_its_row_in_the_text() -> None:
    text = (ROOT / "docs" / "audit-bundle.md").read_text("utf-8")
    assert set(re.findall(r"^\| (V\d+) \|", text, re.MULTILINE)) == set(CHECKS)


@pytest.mark.parametrize("rules", GAMES)
def test_every_paragraph_that_states_a_rule_is_held_by_a_test(rules: Any) -> None:
    name = TEXTS[game_name(rules.id)]
    held, silent = NAMED[name], NAMED[f"{name}-states-no-rule"]
    assert set(held).isdisjoint(silent)
    assert {*held, *silent} == set(with_text(game_name(rules.id)))
    assert all(held.values())
    assert all(silent.values())


@cache
def written_in(file: str) -> frozenset[str]:
    tree = ast.parse((ROOT / "tests" / "engine" / f"test_{file}.py").read_text("utf-8"))
    return frozenset(node.name for node in tree.body if isinstance(node, ast.FunctionDef))


@pytest.mark.parametrize("rules", GAMES)
def test_every_test_that_is_named_is_there(rules: Any) -> None:
    named = {test for tests in NAMED[TEXTS[game_name(rules.id)]].values() for test in tests}
    missing = [test for test in sorted(named) if f"test_{test.split()[1]}" not in written_in(test.split()[0])]
    assert missing == []
