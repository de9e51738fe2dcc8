"""Pictures for places that show no SVG."""

import subprocess
import sys
from collections.abc import Callable
from io import BytesIO
from typing import Any

import pytest

from replay import file
from replay.pictures import export, picture
from replay.pictures.shared import DARK, LIGHT
from replay.replay import Replay

Image = pytest.importorskip("PIL.Image", reason="the extra `export` is not installed")
pytest.importorskip("resvg_py", reason="the extra `export` is not installed")


@pytest.fixture(scope="module")
def replay(game: Callable[..., Any]) -> Replay:
    table = game("animation", 3, 40)
    return Replay(table.game_id, table.events)


def rgb(colour: str) -> tuple[int, int, int]:
    return int(colour[1:3], 16), int(colour[3:5], 16), int(colour[5:7], 16)


@pytest.mark.parametrize(("theme", "colours"), [("auto", LIGHT), ("light", LIGHT), ("dark", DARK)])
def test_a_png_is_as_wide_as_asked_and_on_the_paper_of_its_theme(
    replay: Replay, theme: str, colours: dict[str, str]
) -> None:
    position = replay.at(len(replay))
    assert position.rules
    svg = picture(position.rules, position.state, None, "ja", theme=theme)  # type: ignore[arg-type]
    with Image.open(BytesIO(export.png(svg, 240))) as image:
        assert image.format == "PNG"
        assert image.width == 240
        assert image.convert("RGB").getpixel((1, 1)) == rgb(colours["paper"])
        assert len(image.convert("RGB").getcolors(1 << 20) or []) > 50


@pytest.mark.parametrize("width", [0, 119, 2161])
def test_no_png_is_drawn_absurdly_wide_or_narrow(width: int) -> None:
    with pytest.raises(ValueError, match="120 to 2160"):
        export.png("<svg/>", width)


def test_without_the_extra_the_error_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(export, "available", lambda: False)
    with pytest.raises(export.NotInstalled, match=r"annals\[export\]"):
        export.png("<svg/>", 360)


@pytest.mark.parametrize("format", export.FORMATS)
def test_a_replay_moves_in_frames_of_one_size(replay: Replay, format: str) -> None:
    chosen = export.evenly(export.played(replay), 6)
    data = export.animation(replay, format, positions=chosen, width=180)  # type: ignore[arg-type]
    with Image.open(BytesIO(data)) as image:
        assert image.format == format.upper()
        assert image.n_frames == 6
        assert image.width == 180


def test_an_animation_shows_the_game_from_its_first_draw_to_its_last_event(replay: Replay) -> None:
    shown = export.played(replay)
    assert shown[-1] == len(replay)
    assert replay.at(shown[0]).state is not None


def test_a_long_game_is_shown_by_evenly_chosen_positions() -> None:
    assert export.evenly(list(range(10)), 20) == list(range(10))
    assert export.evenly(list(range(1001)), 5) == [0, 250, 500, 750, 1000]


def test_nothing_played_is_nothing_to_show(replay: Replay) -> None:
    with pytest.raises(ValueError, match="nothing was played"):
        export.animation(replay, positions=[])
    with pytest.raises(ValueError, match="webp"):
        export.animation(replay, "mp4")  # type: ignore[arg-type]


@pytest.mark.parametrize("format", export.FORMATS)
def test_as_a_command_it_makes_the_animation_of_the_game_on_its_input(replay: Replay, format: str) -> None:
    events = b"".join(file.frame(event.data) for n in range(1, len(replay) + 1) if (event := replay.event(n)))
    command = [sys.executable, "-m", "replay.pictures.export", format, "fr", "dark", "4"]
    made = subprocess.run(command, input=events, capture_output=True, check=True, timeout=120).stdout
    with Image.open(BytesIO(made)) as image:
        assert image.format == format.upper()
        assert image.n_frames == 4
        assert image.convert("RGB").getpixel((1, 1)) == rgb(DARK["paper"])
