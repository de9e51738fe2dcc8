"""Pictures for places that show no SVG: PNG, and a whole replay as an animated WebP or GIF. Needs the extra `export`.

Fonts are the system's: where kanji are to be read, one with kanji must be installed. As a command, ``python -m
replay.pictures.export webp en light 120`` makes the animation of the game on its standard input, of at most so many
frames: a process of its own, because drawing keeps a processor for seconds.
"""

import os
import sys
from collections.abc import Iterable, Mapping
from importlib.util import find_spec
from io import BytesIO
from typing import TYPE_CHECKING, Any, Final, Literal, TypeVar

from replay import file
from replay.pictures import picture
from replay.pictures.shared import DARK, LIGHT, WIDTH, Theme, in_plain_colours
from replay.replay import Replay

if TYPE_CHECKING:
    from PIL import Image

N = TypeVar("N")

WIDTHS: Final = range(120, 2161)
"""How wide a raster picture may be, in pixels."""
FORMATS: Final = ("webp", "gif")
MOST_FRAMES, MOST_PIXELS = 600, 250_000_000
"""How long an animation may be, and how much memory (a byte a pixel) it may take while it is made."""
PAUSE_MS, LAST_MS = 700, 3000
"""How long an animation shows a frame, and its last one."""


class NotInstalled(Exception):
    """Raster pictures need the extra `export`."""

    def __init__(self) -> None:
        super().__init__("raster pictures need the extra: pip install 'annals[export]'")


def available() -> bool:
    """Is the extra installed?"""
    return find_spec("resvg_py") is not None and find_spec("PIL") is not None


def png(svg: str, width: int = 3 * WIDTH) -> bytes:
    """A picture as a PNG, ``width`` pixels wide; light, where its theme is not dark.

    :raises ValueError: no such width.
    :raises NotInstalled: the extra is missing.
    """
    if width not in WIDTHS:
        raise ValueError(f"a picture is {WIDTHS[0]} to {WIDTHS[-1]} pixels wide, not {width}")
    if not available():
        raise NotInstalled
    import resvg_py

    return resvg_py.svg_to_bytes(svg_string=in_plain_colours(svg), width=width, sans_serif_family="DejaVu Sans")


def animation(
    replay: Replay,
    format: Literal["webp", "gif"] = "webp",
    *,
    lang: str = "en",
    theme: Theme = "light",
    width: int = WIDTH,
    positions: Iterable[int] | None = None,
) -> bytes:
    """A replay as an animated picture: a frame a position, of long games evenly chosen ones up to `MOST_FRAMES`.

    ``positions``: other ones. What lies before the game's first draw is left out.

    :raises ValueError: no such width or format, or nothing was played yet.
    :raises NotInstalled: the extra is missing.
    """
    if format not in FORMATS:
        raise ValueError(f"an animation is one of {FORMATS}, not {format}")
    chosen = list(positions) if positions is not None else evenly(played(replay), MOST_FRAMES)
    frames = padded([drawn(replay, n, lang, theme, width) for n in chosen], LIGHT | DARK if theme == "dark" else LIGHT)
    if not frames:
        raise ValueError("nothing was played yet")
    pauses = [PAUSE_MS] * (len(frames) - 1) + [LAST_MS]
    out = BytesIO()
    more: dict[str, Any] = {"lossless": True, "quality": 50, "method": 2} if format == "webp" else {}
    frames[0].save(out, format.upper(), save_all=True, append_images=frames[1:], duration=pauses, loop=0, **more)
    return out.getvalue()


def played(replay: Replay) -> list[int]:
    """The positions in which there is a map to see."""
    return [n for n in range(1, len(replay) + 1) if replay.happenings(n) and replay.at(n).state is not None]


def evenly(numbers: list[N], most: int) -> list[N]:
    """All of them, or so many, the first and the last included."""
    if len(numbers) <= most:
        return numbers
    return [numbers[round(i * (len(numbers) - 1) / (most - 1))] for i in range(most)]


def drawn(replay: Replay, n: int, lang: str, theme: Theme, width: int) -> bytes:
    """The n-th position as a PNG."""
    position = replay.at(n)
    assert position.rules is not None, "a position that was played has rules"
    happened, before = replay.happenings(n), replay.before(n)
    svg = picture(position.rules, position.state, None, lang, theme=theme, happened=happened, before=before)
    return png(svg, width)


def padded(pictures: list[bytes], colours: Mapping[str, str]) -> "list[Image.Image]":
    """PNGs as frames of one size, in 128 colours: on paper, with the heroes at the foot where they always are."""
    from PIL import Image

    sizes = [Image.open(BytesIO(data)).size for data in pictures]
    height = max((high for _, high in sizes), default=1)
    frames = []
    for data in evenly(pictures, max(2, MOST_PIXELS // (height * max((wide for wide, _ in sizes), default=1)))):
        with Image.open(BytesIO(data)) as image:
            sheet = Image.new("RGB", (image.width, height), colours["paper"])
            sheet.paste(image.convert("RGB"), (0, height - image.height))
        frames.append(sheet.quantize(128, dither=Image.Dither.NONE))
    return frames


def main(format: str, lang: str, theme: str, frames: str) -> None:
    """The animation of the game on standard input (as in an ``.annals`` file) to standard output."""
    os.nice(10)
    replay = Replay.of(file.unpack(sys.stdin.buffer))
    chosen = evenly(played(replay), int(frames))
    sys.stdout.buffer.write(animation(replay, format, lang=lang, theme=theme, positions=chosen))  # type: ignore[arg-type]


if __name__ == "__main__":
    main(*sys.argv[1:])
