"""The pages about audits say what is so: a roll by hand, the commands, the limits."""

import contextlib
import io
import re
from pathlib import Path

from events.signing import SignedAction
from replay.audit import VERDICTS
from replay.catalogue import LIMITS
from tests.audit.corpus import Game, House

DOCS = Path(__file__).resolve().parents[2] / "docs"
ROLL = (DOCS / "verify-a-roll.md").read_text()
AUDIT = (DOCS / "audit.md").read_text()


def played() -> Game:
    game = Game(House(), "roll 2", (1, 2), chain_len=64).create(2, stalemate_rounds=4)
    return game.sit(1).sit(2).start().wander(14)


def run(code: str) -> tuple[str, dict[str, object]]:
    out, names = io.StringIO(), dict[str, object]()
    with contextlib.redirect_stdout(out):
        exec(compile(code, "verify-a-roll.md", "exec"), names)
    return out.getvalue(), names


def test_the_lines_of_the_page_find_the_dice_that_are_stored() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", ROLL, re.DOTALL)
    (text,) = re.findall(r"```text\n(.*?)```", ROLL, re.DOTALL)
    assert re.findall(r"^import (.*)$", code, re.MULTILINE) == ["hashlib, hmac"]
    printed, names = run(code)
    assert printed == text
    roll = played().events[8]
    assert names["dice"] == [value for _, _, value in roll.body["x"][2]]


def test_every_input_of_the_page_is_one_of_the_game() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", ROLL, re.DOTALL)
    _, names = run(code)
    game = played()
    events = game.events

    def signed(n: int) -> str:
        return SignedAction.read(events[n - 1].body["a"]).r.hex()

    def server(n: int) -> str:
        link: bytes = events[n - 1].body["x"][1]
        return link.hex()

    assert names["game"] == game.game_id
    assert names["commitments"] == {0: events[0].body["commit"].hex(), 1: signed(2), 2: signed(3)}
    assert names["first_links"] == {0: server(7), 1: signed(5), 2: signed(6)}
    assert names["rolls"] == [(event.seat, signed(event.seq), server(event.seq)) for event in events[7:9]]
    kinds = ["create", "join", "join", "lock", "reveal", "reveal", "seeded", "act", "act"]
    assert [event.kind for event in events[:9]] == kinds
    assert all(event.body["a"].endswith(bytes.fromhex(signed(event.seq))) for event in events if "a" in event.body)


def test_a_changed_input_is_noticed() -> None:
    (code,) = re.findall(r"```python\n(.*?)```", ROLL, re.DOTALL)
    for digits in re.findall(r'"([0-9a-f]{64})"', code):
        other = ("0" if digits[0] != "0" else "1") + digits[1:]
        with contextlib.suppress(AssertionError):
            run(code.replace(digits, other))
            raise RuntimeError(digits)


def test_the_page_for_players_names_each_verdict_and_no_limit_that_is_none() -> None:
    table = AUDIT.partition("## The verdict")[2].partition("\n\n##")[0]
    assert tuple(re.findall(r"^\| ([A-Z ]+) \|", table, re.MULTILINE)) == VERDICTS
    assert set(re.findall(r", `([a-z-]+)`[.,]", AUDIT)) <= set(LIMITS)
