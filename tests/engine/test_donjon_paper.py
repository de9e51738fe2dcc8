"""The ruleset against its page of rules: every paragraph that is cited exists, every name is locked."""

import re
from pathlib import Path

import msgspec

from engine import donjon
from engine.donjon import DONJON_1

PAPER = (Path(__file__).parents[2] / "docs" / "rules" / "le-donjon.md").read_text(encoding="utf-8")
PARAGRAPHS = re.findall(r"^#{2,4} (\d+(?:\.\d+)*) ", PAPER, re.MULTILINE)
SOURCE = "\n".join(path.read_text(encoding="utf-8") for path in Path(donjon.__file__).parent.glob("*.py"))


def test_every_paragraph_has_its_own_number():
    assert len(PARAGRAPHS) == len(set(PARAGRAPHS))


def test_every_happening_cites_a_paragraph():
    assert {happening.rule for happening in DONJON_1.happenings.values()} <= set(PARAGRAPHS)


def test_every_refusal_cites_a_paragraph():
    cited = re.findall(r"Illegal\(\s*[\w\"-]+,\s*\"([\d.]+)\"", SOURCE)
    assert len(cited) == SOURCE.count("Illegal(")
    assert set(cited) <= set(PARAGRAPHS)
    assert "0" in PARAGRAPHS  # the protocol cites it for an action that is malformed or unknown


def test_every_paragraph_that_code_or_paper_refer_to_exists():
    cited = re.findall(r"(?<![\w.+])(\d+\.\d+(?:\.\d+)?)(?![\w%])", PAPER)
    cited += re.findall(r"\brules? (\d+(?:\.\d+)*)", SOURCE)
    assert set(cited) <= set(PARAGRAPHS)


def test_every_table_option_has_a_paragraph_with_its_default():
    own = set(DONJON_1.options.__struct_fields__) - set(DONJON_1.options.__mro__[1].__struct_fields__)
    described = set(re.findall(r"^### 7\.\d+ `(\w+)`", PAPER, re.MULTILINE))
    assert own == described


def test_every_purpose_stands_in_the_table_of_draws():
    section = PAPER.split("## 11 ", 1)[1]
    named = [word for word in re.findall(r"`([a-z-]+)`", section) if word in DONJON_1.purposes]
    assert list(dict.fromkeys(named)) == ["hero", "first-seat", "tile", "orientation", "token", "fight", "reroll"]
    assert list(DONJON_1.purposes) == list(dict.fromkeys(named))


def test_the_stored_names_are_locked():
    """Stored games hold these for ever: a change is another ruleset."""
    args = {name: action.__struct_fields__ for name, action in DONJON_1.actions.items()}
    assert args == {
        "move": ("to",),
        "place-tile": ("rotation",),
        "resolve-trap": (),
        "fight": (),
        "roll-dice": (),
        "use-attack-scroll": (),
        "sacrifice": (),
        "accept-result": (),
        "take-loot": ("drop",),
        "leave-loot": (),
        "pick-up": ("drop",),
        "open-chest": (),
        "use-fountain": (),
        "use-healing-scroll": (),
        "swap": ("seat",),
        "reincarnate": ("at",),
        "decline-reincarnation": (),
        "end-turn": (),
    }
    assert set(DONJON_1.handlers) == set(DONJON_1.actions.values())
    assert DONJON_1.id == "donjon@1"
    assert list(DONJON_1.seats) == [2, 3, 4, 5, 6]
    assert msgspec.to_builtins(DONJON_1.options()) == {
        "turn_seconds": 0,
        "absence": "pass",
        "idle_seconds": 604_800,
        "reveal_seconds": 120,
        "signoff_seconds": 60,
        "dispute_pauses": False,
        "orientation": "random",
        "traps": 4,
        "actions_at_zero": True,
        "victorius_keeps_moving": False,
        "stalemate_rounds": 30,
    }


def test_every_reason_is_kebab_case():
    reasons = re.findall(r"Illegal\(\s*\"([^\"]+)\"", SOURCE)
    assert reasons
    assert all(re.fullmatch(r"[a-z]+(-[a-z]+)*", reason) for reason in reasons)
