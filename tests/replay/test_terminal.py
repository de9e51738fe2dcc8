"""The terminal player and `annals validate`."""

import io
import os
import pty
import re
import select
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

from engine.registry import RULESETS
from events.embedded import Embedded
from events.event import Event
from events.log import Archived
from events.redis_client import connect, ephemeral
from events.redis_log import RedisLog
from replay import file
from replay.replay import Replay
from replay.terminal import KEYS, TOLD, Player, cut, keys_in, open_replay, run_replay
from replay.validate import run_validate, validate

ROOT = Path(__file__).resolve().parents[2]


def shown(player: Player, width: int = 100, height: int = 45) -> str:
    out = io.StringIO()
    Console(file=out, width=width, height=height, color_system=None).print(player.screen(width, height))
    return out.getvalue()


def quiet() -> tuple[Console, io.StringIO]:
    out = io.StringIO()
    return Console(file=out, width=200, highlight=False), out


@pytest.fixture
def player(game: Any, names: dict[bytes, str]) -> Player:
    return Player(Replay(game("player").game_id, game("player").events), "en", names=names)


# -- the player ----------------------------------------------------------------------------------------------------


def test_forward_visits_every_step_and_back_the_same_ones(player: Player) -> None:
    there = []
    while True:
        player.press("right")
        if player.message:
            break
        there.append((player.version, player.index))
    steps = list(player.replay.steps())
    assert there == [(step.version, step.index) for step in steps]
    assert player.message == "There is nothing after this."
    back = [there[-1]]
    while player.version:
        player.press("left")
        back.append((player.version, player.index))
    assert back == [*reversed(there), (0, 0)]
    player.press("left")
    assert player.message == "This is the beginning."


@pytest.mark.parametrize("language", ["en", "fr", "ja"])
def test_delves_are_shown_and_told_like_any_game(table: Any, names: dict[bytes, str], language: str) -> None:
    played = table("delves", "dungeon-roll@1").open(3, (None,) * 3, hero_choice="choice").wander(1_000)
    assert played.position.status == "finished"
    player = Player(Replay(played.game_id, played.events), language, names=names)
    kinds = set()
    while not player.message:
        screen = shown(player, 100, 40)
        assert not re.search(r"dungeon-roll\.|[{}]|party-\d|dungeon-\d", screen), screen
        player.press("right")
    for chapter in player.replay.chapters():
        kinds.add(chapter.kind)
        player.press("home")
        while (player.version, player.index) < (chapter.version, chapter.index):
            player.press("down")
        assert (player.version, player.index) == (chapter.version, chapter.index)
    assert {"opening", "turn", "level", "end"} <= kinds


def test_a_viewer_is_shown_nothing_of_what_comes(player: Player) -> None:
    for _ in range(60):
        player.press("right")
        shown(player)
    assert player.replay.folds <= 3 * player.version
    assert str(len(player.replay)) not in shown(player)


def test_chapters_are_a_key_away(player: Player) -> None:
    chapters = [(chapter.version, chapter.index) for chapter in player.replay.chapters()]
    for wanted in chapters[:5]:
        player.press("down")
        assert (player.version, player.index) == wanted
    player.press("up")
    assert (player.version, player.index) == chapters[3]
    for _ in range(5):
        player.press("up")
    assert player.version == 0


def test_a_number_jumps_to_its_event(player: Player) -> None:
    for key in ["g", "1", "2", "8", "backspace", "0", "enter"]:
        player.press(key)
    assert (player.version, player.index) == (120, 1)
    for key in ["g", "9", "9", "9", "9", "enter"]:
        player.press(key)
    assert player.version == 120
    assert player.message == "There is no event 9999."
    for key in ["g", "1", "escape"]:
        player.press(key)
    assert (player.version, player.typed) == (120, None)
    assert "Jump to event" not in shown(player)


def test_home_and_end(player: Player) -> None:
    player.press("end")
    assert player.version == len(player.replay)
    player.press("home")
    assert (player.version, player.told()) == (0, [])


def test_playing_goes_on_by_itself_until_the_end_or_a_key(player: Player) -> None:
    player.press(" ")
    for _ in range(10):
        player.tick()
    assert player.playing
    assert len(player.told()) == TOLD
    player.press("left")
    assert not player.playing
    where = (player.version, player.index)
    player.tick()
    assert (player.version, player.index) == where
    player.press("end")
    player.press(" ")
    player.tick()
    assert not player.playing


def test_speed_and_language_are_a_key_away(player: Player) -> None:
    for _ in range(20):
        player.press("+")
    assert player.speed == 16
    for _ in range(20):
        player.press("-")
    assert player.speed == 0.25
    player.press("right")
    seen = []
    for _ in range(3):
        player.press("t")
        seen.append(player.told()[-1].words)
    assert seen[0].startswith("Une table est ouverte")
    assert seen[1].startswith("ル・ドンジョン")
    assert seen[2].startswith("A table of")


def test_every_key_has_its_word_in_every_language(player: Player) -> None:
    for _ in range(3):
        player.press("t")
        text = re.sub(r"\s+", " ", shown(player, 400))
        for command in KEYS:
            assert player.say.raw(f"table.key.{command}") in text


def test_q_is_the_end(player: Player) -> None:
    player.press("x")
    assert not player.done
    player.press("q")
    assert player.done


@pytest.mark.parametrize(("width", "height"), [(60, 24), (80, 30), (140, 60)])
def test_the_screen_fits_and_shows_board_heroes_and_story(player: Player, width: int, height: int) -> None:
    player.press("end")
    text = shown(player, width, height)
    assert max(len(line) for line in text.splitlines()) <= width
    assert len(text.splitlines()) <= height + 4  # long sentences may wrap
    assert "Xanros" in text
    assert "┌─" in text


def test_the_board_shows_monsters_weapons_and_where_everybody_stands(table: Any) -> None:
    played = table("board").open(2)
    player = Player(Replay(played.game_id, played.events))
    player.press("end")
    board = player.board(80, 20)
    assert board[:5] == ["┌─   ─┐", "   ~", "   12", "└─   ─┘", ""]
    assert "Victorius" in board[5]
    assert "♥♥♥♥♥ $0 (0, 0)" in board[5]
    assert [line[0] for line in board[5:]].count(">") == 1


def test_a_window_keeps_the_place_in_view() -> None:
    lines = ["abcdefgh", "ABCDEFGH", "12345678", "qwertyui"]
    assert cut(lines, 7, 3, 3, 2) == ["678", "yui"]
    assert cut(lines, 0, 0, 3, 2) == ["abc", "ABC"]
    assert cut(lines, 4, 2, 4, 2) == ["CDEF", "3456"]
    assert cut(lines, 4, 2, 40, 20) == lines
    assert cut([], 0, 0, 5, 5) == []


def test_a_game_that_diverged_says_so_on_the_screen_from_there_on(game: Any) -> None:
    events = game("player").events
    player = Player(Replay(events[0].game_id, [*events[:30], *events[31:]]))
    player.jump(30)
    assert "DIVERGED" not in shown(player)
    player.jump(31)
    assert "DIVERGED at event 31" in shown(player)
    assert "Event 31 cannot be read." in shown(player)


def test_keys_that_come_together_are_told_apart() -> None:
    assert keys_in(b"g6\r") == ["g", "6", "enter"]
    assert keys_in(b"\x1b[C\x1b[Dq") == ["right", "left", "q"]
    assert keys_in("é+".encode()) == ["é", "+"]
    assert keys_in(b"\x1b") == ["escape"]
    assert keys_in(b"") == []


# -- opening and printing --------------------------------------------------------------------------------------------


@pytest.fixture
def log() -> Iterator[RedisLog]:
    client = ephemeral()
    yield RedisLog(client)
    client.close()


def written(log: RedisLog, events: list[Event]) -> str:
    log.append(events)
    return events[0].game_id.hex()


def no_log() -> Any:
    raise AssertionError("a file needs no log")


def test_a_game_is_opened_from_the_log_by_id_or_address_and_from_a_file_by_name(
    log: RedisLog, game: Any, tmp_path: Path
) -> None:
    events = game("opened").events
    game_id = written(log, events)
    path = tmp_path / "copy.annals"
    file.write(path, events)
    for target in (game_id, game_id.upper(), f"http://127.0.0.1:8000/games/{game_id}/at/42"):
        assert len(open_replay(target, lambda: log)) == len(events)
    assert len(open_replay(str(path), no_log)) == len(events)
    with pytest.raises(LookupError):
        open_replay("f" * 32, lambda: log)
    with pytest.raises(LookupError):
        open_replay("no such thing", no_log)
    with pytest.raises(FileNotFoundError):
        open_replay(str(tmp_path / "none.annals"), no_log)


def test_where_nobody_watches_all_steps_are_printed(game: Any, tmp_path: Path, names: dict[bytes, str]) -> None:
    events = game("printed").events
    path = tmp_path / "game.annals"
    file.write(path, events)
    console, out = quiet()
    assert run_replay(str(path), no_log, language="fr", console=console, names=lambda replay: names) == 0
    lines = out.getvalue().splitlines()
    assert lines[1] == "    2  Ada prend le siège 1 avec Xanros."
    assert lines[-1].startswith("EXACT")
    assert len(lines) == len(list(Replay(events[0].game_id, events).steps())) + 1
    assert any("§4.3" in line for line in lines)
    console, out = quiet()
    run_replay(str(path), no_log, at=100, console=console)
    assert out.getvalue().lstrip().startswith("101")


def test_a_damaged_game_is_printed_with_its_damage_and_another_exit_code(game: Any, tmp_path: Path) -> None:
    events = game("printed").events
    path = tmp_path / "game.annals"
    file.write(path, [*events[:30], *events[31:]])
    console, out = quiet()
    assert run_replay(str(path), no_log, console=console) == 2
    assert "DIVERGED at event 31" in out.getvalue()
    path.write_bytes(path.read_bytes()[:-3])
    console, out = quiet()
    assert run_replay(str(path), no_log, console=console) == 2
    assert "the file ends within the event" in out.getvalue()


def test_on_a_terminal_keys_move_through_the_game(game: Any, tmp_path: Path) -> None:
    path = tmp_path / "game.annals"
    file.write(path, game("printed").events)
    code = f"import sys; from replay.terminal import run_replay; sys.exit(run_replay({str(path)!r}, None))"
    pid, terminal = pty.fork()
    if pid == 0:
        os.chdir(ROOT)
        os.environ.update(TERM="xterm", COLUMNS="100", LINES="40")
        os.execv(sys.executable, [sys.executable, "-c", code])
    text = ""

    def until(wanted: str) -> None:
        nonlocal text
        while wanted not in text:
            ready, _, _ = select.select([terminal], [], [], 30)
            assert ready, f"no {wanted!r} in {text[-500:]!r}"
            text += os.read(terminal, 65_536).decode(errors="replace")
        text = ""

    try:
        until("Event 0")
        os.write(terminal, b"\x1b[C")
        until("A table of Le Donjon is opened")
        os.write(terminal, b"t")
        until("Une table est ouverte")
        os.write(terminal, b"g")
        os.write(terminal, b"6")
        os.write(terminal, b"\r")
        until("entrent dans le Donjon")
        os.write(terminal, b" ")
        until("lecture, 1 pas par seconde")
        os.write(terminal, b"q")
        while select.select([terminal], [], [], 30)[0]:
            try:
                if not os.read(terminal, 65_536):
                    break
            except OSError:  # Linux: the other end is closed
                break
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        pid = 0
    finally:
        if pid:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)
        os.close(terminal)


# -- validate --------------------------------------------------------------------------------------------------------


def test_validate_lists_every_game_and_says_which_are_exact(log: RedisLog, game: Any, forge: Any) -> None:
    good, short = written(log, game("good").events), written(log, game("short", events=20).events)

    def spoil(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
        if event.seq == 40:
            fields["body"] = {**event.body, "f": bytes(8)}
        return fields

    bad = written(log, forge(game("bad").events, spoil))
    console, out = quiet()
    assert run_validate(log, console=console) == 2
    lines = {line.split()[0]: line for line in out.getvalue().splitlines()}
    assert "EXACT" in lines[good]
    assert "EXACT" in lines[short]
    assert "DIVERGED" in lines[bad]
    assert "event 40: the state is another than the stored one (stored 0000000000000000" in lines[bad]
    assert out.getvalue().splitlines()[-1] == "3 games, 500 events: 1 DIVERGED, 2 EXACT"
    console, out = quiet()
    run_validate(log, quiet=True, console=console)
    assert good not in out.getvalue()
    assert bad in out.getvalue()


def test_validate_takes_games_and_files_by_name(log: RedisLog, game: Any, tmp_path: Path) -> None:
    events = game("good").events
    game_id = written(log, events)
    path = tmp_path / "copy.annals"
    file.write(path, events)
    console, out = quiet()
    assert run_validate(log, [game_id, str(path)], console=console) == 0
    assert "2 games, 480 events: 2 EXACT" in out.getvalue()
    console, out = quiet()
    assert run_validate(log, ["0" * 32, str(tmp_path / "none.annals")], console=console) == 2
    assert "2 UNREADABLE" in out.getvalue()


def test_validate_tells_games_of_unknown_rules_from_broken_ones(
    log: RedisLog, game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    written(log, game("good").events)
    monkeypatch.delitem(RULESETS, "donjon@1")
    console, out = quiet()
    assert run_validate(log, console=console) == 1
    assert "UNVERIFIED" in out.getvalue()


def test_validate_of_an_empty_log_is_content(log: RedisLog) -> None:
    console, out = quiet()
    assert run_validate(log, console=console) == 0
    assert out.getvalue() == "0 games, 0 events: none\n"


def test_an_archived_game_is_listed_as_such(log: RedisLog, monkeypatch: pytest.MonkeyPatch) -> None:
    def archived(*_: Any, **__: Any) -> Any:
        raise Archived(7, bytes(32))

    monkeypatch.setattr(RedisLog, "read", archived)
    (line,) = validate(log, [bytes(16)])
    assert (line.grade, line.events) == ("ARCHIVED", 7)
    assert run_validate(log, ["0" * 32], console=quiet()[0]) == 0


def test_a_long_run_shows_its_progress_on_a_terminal(log: RedisLog, game: Any) -> None:
    written(log, game("good").events)
    out = io.StringIO()
    run_validate(log, console=Console(file=out, width=120, force_terminal=True))
    assert "games" in out.getvalue()
    assert "1/1" in out.getvalue()


def test_processes_that_share_the_games_find_what_one_finds(game: Any, forge: Any) -> None:
    with tempfile.TemporaryDirectory(prefix="annals-") as folder, Embedded(Path(folder)) as server:
        with connect(server.url) as client:
            log = RedisLog(client)
            for number in range(70):
                events = game(f"short {number}", events=12).events
                written(log, forge(events, spoiled) if number == 40 else events)
            alone, shared = quiet(), quiet()
            assert run_validate(log, console=alone[0]) == 2
            reopen = partial(reopened, server.url)
            assert run_validate(log, console=shared[0], reopen=reopen, workers=2) == 2
        assert shared[1].getvalue() == alone[1].getvalue()
        assert shared[1].getvalue().splitlines()[-1] == "70 games, 840 events: 1 DIVERGED, 69 EXACT"


def spoiled(event: Event, fields: dict[str, Any]) -> dict[str, Any]:
    if event.seq == 12:
        fields["body"] = {**event.body, "f": bytes(8)}
    return fields


def reopened(url: str) -> RedisLog:
    return RedisLog(connect(url))


def test_who_is_interrupted_says_what_was_not_looked_at(
    log: RedisLog, game: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(3):
        written(log, game(f"short {number}", events=12).events)
    read, games = RedisLog.read, set[bytes]()

    def interrupted(self: RedisLog, game_id: bytes, *more: Any) -> Any:
        games.add(game_id)
        if len(games) == 2:
            raise KeyboardInterrupt
        return read(self, game_id, *more)

    monkeypatch.setattr(RedisLog, "read", interrupted)
    console, out = quiet()
    assert run_validate(log, console=console) == 130
    assert out.getvalue().splitlines()[-2:] == [
        "1 games, 12 events: 1 EXACT",
        "interrupted: 2 games were not looked at",
    ]
