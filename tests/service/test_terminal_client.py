"""`annals play` against the application itself: the API proved by a client that knows nothing else."""

import io
import re
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import httpx
import pytest
from rich.console import Console

from events.event import Event
from events.log import whole
from events.signing import SignedAction
from service import clerk as clerks
from service.api import log
from service.app import create_app
from service.clerk import Clerk
from service.clients import terminal_client
from service.clients.terminal_client import Api, Refused, Table, messages, play
from service.proofs.sequencer import sequencer_of


class Terminal:
    """A person who answers as the test says, and what they are shown."""

    def __init__(self, house: Any, monkeypatch: pytest.MonkeyPatch) -> None:
        self.house = house
        self.clerk = Clerk(house.deps)
        self.clerk.begin()
        self.screen = io.StringIO()
        self.console = Console(file=self.screen, width=120, force_terminal=False)
        self.asked: list[str] = []
        self.answers: Callable[[str], str] = lambda question: "q"
        transport = httpx.WSGITransport(app=self._app)
        monkeypatch.setattr(
            terminal_client.httpx, "Client", lambda **_: _Client(transport=transport, base_url="http://annals.test")
        )

    def _app(self, environ: Any, start_response: Any) -> Any:
        self.clerk.work(0)  # between two requests the clerk has had its time
        return self.house.app(environ, start_response)

    def ask(self, question: str) -> str:
        self.asked.append(question)
        assert len(self.asked) < 3_000, "the person would have gone home"
        return self.answers(question)

    def play(self, **asked: Any) -> str:
        form = {
            "game": None, "server": "http://annals.test", "token": None, "name": None, "new": None, "seats": 2,
            "bots": False, "choose": (), "keep_keys": None,
            "policy": None, "without_log": False, "lang": "en",
        }  # fmt: skip
        play(**form | asked, ask=self.ask, console=self.console)
        return self.screen.getvalue()


class _Client(httpx.Client):
    pass


@pytest.fixture
def terminal(house: Any, monkeypatch: pytest.MonkeyPatch) -> Terminal:
    return Terminal(house, monkeypatch)


def test_a_person_fills_in_what_is_asked_for_where_not_everything_can_be_listed(terminal: Terminal) -> None:
    """Dungeon Roll alone: whatever has a form is built from it, with the first thing for each field."""

    def answer(question: str) -> str:
        if least := re.search(r"\((\d+).*numbers", question):
            return " ".join(str(number) for number in range(1, max(1, int(least[1])) + 1))
        lines = terminal.screen.getvalue().splitlines()
        last = max(number for number, line in enumerate(lines) if line.startswith("  1  "))
        numbered = [line.split()[0] for line in lines[last:] if line[:3].strip().isdigit()]
        forms = [line.split()[0] for line in lines[last:] if line.endswith(" ...")]
        return forms[0] if forms and len(terminal.asked) % 3 else numbered[-1 - len(forms)]

    terminal.answers = answer
    shown = terminal.play(name="Ada", new="dungeon-roll", seats=1, bots=True)
    assert "won by seat 1" in shown
    assert any(not question.startswith("seat") for question in terminal.asked)


def test_a_person_plays_against_bots_until_the_game_is_over(terminal: Terminal) -> None:
    terminal.answers = lambda question: "1" if len(terminal.asked) <= 40 else "r"
    shown = terminal.play(name="Ada", new="donjon", bots=True)
    assert "You are Ada" in shown
    assert "won by seat" in shown
    terminal.house.deps.index.catch_up()
    (game,) = terminal.house.deps.index.games(status="finished").rows
    acted = {event.seat for event in terminal.house.deps.log.read(bytes.fromhex(game.game_id)).events}
    assert {1, 2} <= acted
    assert terminal.house.deps.positions.load(bytes.fromhex(game.game_id)).position.grade == "EXACT"


def test_a_person_who_keeps_the_keys_plays_until_the_game_is_over(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    terminal.house.deps = terminal.house.bootstrap(log_dir=str(tmp_path / "log"))
    terminal.house.app = create_app(terminal.house.deps)
    terminal.clerk = Clerk(terminal.house.deps)
    sequencer = sequencer_of(terminal.house.deps)
    assert sequencer is not None
    clock = SimpleNamespace(monotonic=time.monotonic, sleep=lambda seconds: sequencer.step())
    monkeypatch.setattr(log, "time", clock)  # of that module alone: others sleep in other threads
    terminal.answers = lambda question: "1"
    secret = tmp_path / "account"
    screen = terminal.play(new="donjon", name="Ada", bots=True, choose=("hero=aderyn",), keep_keys=secret)
    assert "won by seat" in screen
    assert secret.stat().st_mode & 0o777 == 0o600
    (game,) = terminal.house.nobody.get("/v1/games").json["games"]
    assert (game["status"], game["seats"][0]["custody"]) == ("finished", "self")
    items = whole(terminal.house.deps.log, bytes.fromhex(game["game_id"]))
    stored = [event for event in items if isinstance(event, Event)]
    joined = next(SignedAction.read(event.body["a"]) for event in stored if event.kind == "join" and "a" in event.body)
    assert joined.args["cp"][0] >= 1
    assert "signoff" in [event.kind for event in stored]
    sequencer.close()


def test_nobody_who_keeps_the_keys_sits_down_at_a_table_that_is_in_no_log(
    terminal: Terminal, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(terminal_client, "_LOG_WAIT_S", 0)
    with pytest.raises(Refused, match="--without-log"):
        terminal.play(new="donjon", name="Ada", keep_keys=tmp_path / "account")
    terminal.play(new="donjon", name="Ada", bots=True, keep_keys=tmp_path / "account", without_log=True)
    assert terminal.asked


def test_a_file_that_holds_no_account_secret_is_said_plainly(terminal: Terminal, tmp_path: Path) -> None:
    (tmp_path / "account").write_text("secret")
    with pytest.raises(Refused, match="56 digits and letters"):
        terminal.play(new="donjon", name="Ada", keep_keys=tmp_path / "account")


def test_legal_actions_are_numbered_with_their_labels(terminal: Terminal) -> None:
    shown = terminal.play(name="Ada", new="donjon", bots=True, choose=("hero=tala",))
    assert "  1  " in shown
    assert "Tala" in shown


def test_what_is_refused_is_shown_with_its_reason_when_asked(terminal: Terminal) -> None:
    answers = iter(["?", "q"])
    terminal.answers = lambda question: next(answers)
    shown = terminal.play(name="Ada", new="donjon", bots=True)
    terminal.house.deps.index.catch_up()
    game = terminal.house.deps.index.games(status="playing").rows[0]
    position = terminal.house.deps.positions.load(bytes.fromhex(game.game_id)).position
    refusals = position.rules.refusals(position.state, 1)
    assert refusals, "there is always something to click that is not to be had"
    assert all(f"[{refusal.rule}]" in shown for refusal in refusals)


def test_a_person_may_resign(terminal: Terminal) -> None:
    terminal.answers = lambda question: "r"
    shown = terminal.play(name="Ada", new="donjon", bots=True)
    assert "won by seat" in shown or "The game is" in shown


def test_who_answers_nonsense_is_told_what_there_is(terminal: Terminal) -> None:
    answers = iter(["999", "q"])
    terminal.answers = lambda question: next(answers)
    assert terminal_client.HELP in terminal.play(name="Ada", new="donjon", bots=True)


def test_a_finished_game_is_shown_to_who_only_looks(terminal: Terminal, table: Any) -> None:
    for seat in (1, 2):
        table.creator.post(f"{table.path}/seats/{seat}/resign")
    shown = terminal.play(game=f"http://annals.test{table.path}", lang="fr")
    assert "won by seat" in shown
    assert terminal.asked == []


def test_a_game_that_is_not_there_is_said_plainly(terminal: Terminal) -> None:
    with pytest.raises(Refused):
        terminal.play(game="00" * 16)


def test_a_table_needs_somebody_who_opens_it(terminal: Terminal) -> None:
    with pytest.raises(Refused, match="--name"):
        terminal.play(new="donjon")


def test_an_action_on_a_table_that_moved_on_is_refused_and_looked_at_again(terminal: Terminal, table: Any) -> None:
    api = Api("http://annals.test", "en", table.creator.token)
    at_table = Table(api, table.id, terminal.console, terminal.ask)
    legal = table.legal()
    table.plays(1)
    assert at_table._act(legal["actions"][0]["action"], legal["version"], legal["seat"])
    assert terminal.screen.getvalue().strip()


def test_the_messages_of_a_stream_are_read_as_the_standard_says() -> None:
    lines = iter(
        [
            "retry: 1000",
            "",
            ": a comment",
            "id: 7",
            "data: {",
            "data: }",
            "",
            "event: end",
            "data:x",
            "",
            "data: cut off",
        ]
    )
    assert list(messages(lines)) == [("message", 7, b"{\n}"), ("end", None, b"x")]


def test_a_stream_that_breaks_is_taken_up_behind_its_last_event(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    bodies = [b'id: 1\ndata: {"seq": 1}\n\n', b'id: 2\ndata: {"seq": 2}\n\nevent: end\ndata: {}\n\n']

    def answer(request: httpx.Request) -> httpx.Response:
        asked.append(request.headers["Last-Event-ID"])
        return httpx.Response(200, content=_broken(bodies[len(asked) - 1], whole=len(asked) == 2))

    monkeypatch.setattr(terminal_client.time, "sleep", lambda seconds: None)
    api = Api("http://annals.test", http=httpx.Client(transport=httpx.MockTransport(answer)))
    assert [kind for kind, _ in api.follow("/events", 0)] == ["message", "message", "end"]
    assert asked == ["0", "1"]


def _broken(body: bytes, *, whole: bool) -> Iterator[bytes]:
    yield body
    if not whole:
        raise httpx.ReadError("cut off, says the test")


def test_a_request_without_an_answer_is_sent_again_with_the_same_key(monkeypatch: pytest.MonkeyPatch) -> None:
    keys: list[str] = []

    def answer(request: httpx.Request) -> httpx.Response:
        keys.append(request.headers["Idempotency-Key"])
        if len(keys) == 1:
            raise httpx.ReadTimeout("no answer, says the test")
        return httpx.Response(503 if len(keys) == 2 else 201, json={})

    monkeypatch.setattr(terminal_client.time, "sleep", lambda seconds: None)
    api = Api("http://annals.test", http=httpx.Client(transport=httpx.MockTransport(answer)))
    api.post("/v1/games")
    assert len(keys) == 3
    assert len(set(keys)) == 1


def test_only_bots_wait_at_a_table_that_was_opened_with_bots(terminal: Terminal) -> None:
    terminal.play(name="Ada", new="donjon", seats=4, bots=True)
    terminal.house.deps.index.catch_up()
    (game,) = terminal.house.deps.index.games(status="playing").rows
    position = terminal.house.deps.positions.load(bytes.fromhex(game.game_id)).position
    assert [seat.bot is not None for seat in position.seats] == [False, True, True, True]
    assert clerks.bot_seat(position) is None
