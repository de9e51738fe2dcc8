"""The browser's side of a game (seat.mjs, run by node) signs and checks exactly what the client in Python does."""

import base64
import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from events.seat import to_phrase
from service import clerk
from service.clients.self_custody import framed, unframed

NODE = shutil.which("node")
DRIVER = Path(__file__).parents[1] / "web" / "call_seat.mjs"
pytestmark = pytest.mark.skipif(NODE is None, reason="no node is installed; requirements/system.sh tells how")


def browser(holder: Any, stored: bytes | None = None, **asked: Any) -> Any:
    """What seat.mjs makes of the game as it is stored, with the seat's secret."""
    request = {
        "game": holder.table.id,
        "stored": base64.b64encode(holder.fetch(0) if stored is None else stored).decode(),
        "phrase": to_phrase(holder.secret),
        **asked,
    }
    done = subprocess.run([str(NODE), DRIVER], input=json.dumps(request), capture_output=True, text=True, check=True)
    return json.loads(done.stdout)


@pytest.fixture
def seat(house: Any) -> Any:
    """Ada in self-custody, a bot on the other seat; it is her turn."""
    ada = house.player("Ada")
    table = ada.opens(2, sit=False, options={"turn_seconds": 60})
    made = house.holder(table, ada)
    made.holder.catch_up()
    sent = browser(made, seat=1, join={"hero": "victorius"})
    assert sent["findings"] == []
    assert ada.post(f"{table.path}/seats", json=sent["sent"]).status_code == 201
    assert table.seat(ada, bot="wanderer").status_code == 201
    table.starts()
    made.holder.resume(1)  # the client in Python derives the same key and chain
    return made


def test_what_the_browser_signs_is_accepted(house: Any, seat: Any) -> None:
    table = seat.table
    revealed = browser(seat, seat=1, kind="reveal")
    assert seat.caller.post(f"{table.path}/reveal", json=revealed["sent"]).status_code == 201
    rolls = 0
    for _ in range(6):
        while table.shown()["to_act"] == [2]:
            clerk.act(house.deps, bytes.fromhex(table.id))
        action = seat.move()
        made = browser(seat, seat=1, kind="act", name=action.pop("type"), args=action)
        assert made["findings"] == []
        answer = seat.caller.post(f"{table.path}/actions", json=made["sent"])
        assert answer.status_code == 201, answer.text
        position = seat.holder.catch_up()
        assert made["version"] == position.version - 1
        rolls = made["rolls"]
    assert rolls > 0
    resigned = browser(seat, seat=1, kind="resign")
    assert seat.caller.post(f"{table.path}/seats/1/resign", json=resigned["sent"]).status_code == 201
    if table.shown()["to_sign_off"] == [1]:
        signed = browser(seat, seat=1, kind="signoff")
        assert seat.caller.post(f"{table.path}/signoff", json=signed["sent"]).status_code == 201


def test_the_browser_signs_byte_for_byte_what_the_client_in_python_signs(seat: Any) -> None:
    made = browser(seat, seat=1, kind="reveal")
    assert made["phrase"] == to_phrase(seat.secret)
    assert made["sent"] == seat.unsent("reveal")


def test_another_secret_is_not_the_seats(house: Any, seat: Any) -> None:
    stranger = house.holder(seat.table, seat.caller)
    assert browser(stranger, seat=1, kind="reveal")["sent"] is None


def test_the_browser_signs_nothing_over_a_history_that_was_changed(seat: Any) -> None:
    parts = list(unframed(seat.fetch(0)))
    for number in range(len(parts) - 1):  # a change of the last one shows when the next follows on another
        changed = bytearray(parts[number])
        changed[-1] ^= 1
        stored = b"".join(framed(iter([*parts[:number], bytes(changed), *parts[number + 1 :]])))
        made = browser(seat, stored, seat=1, kind="reveal")
        assert made["findings"][0]["event"] in (number + 1, number + 2)
        assert made.get("error") or made["sent"] is None
