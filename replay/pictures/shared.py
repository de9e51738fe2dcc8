"""One visual language for the pictures of all games: colours, drawings and the parts that any game may show.

A picture is an SVG of its own: a sheet of CSS whose text is the same for every picture (`STYLE`: a page that shows
pictures inline allows it by its hash), the drawings it uses, taken out of shapes.svg, and its layout. It has no script,
refers to nothing outside, and everything that comes from a person is escaped (markupsafe).
"""

import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Final, Literal

from markupsafe import Markup, escape

Theme = Literal["auto", "light", "dark"]
THEMES: Final[tuple[Theme, ...]] = ("auto", "light", "dark")

WIDTH: Final = 360
"""Every picture is so many units wide: at its narrowest use, on a phone, a unit is a pixel."""
EDGE: Final = 4
"""From its edge to what stands in it."""

LIGHT: Final[dict[str, str]] = {
    # paper and ink
    "ink": "#2b1d12", "text": "#2b1d12", "faint": "#7d6849", "paper": "#efe2c4", "sheet": "#f6ecd3", "card": "#f8f0dc",
    "glow": "#ffe6a0", "cloth": "#fdf8ea", "button": "#f3c86a",
    # stone
    "rock": "#bfa985", "cliff": "#94805c", "hatch": "#75613f", "brick": "#b4492f", "stone": "#b9ae9d",
    "floor": "#fdf7e6", "room": "#f7dfa6", "joint": "#d9bf8c",
    # what lives and lies in there
    "bone": "#f4ead2", "linen": "#e4d5ac", "fur": "#a57b50", "rose": "#d99a8b", "dusk": "#6d6478", "blood": "#c22f36",
    "ember": "#dd6b22", "gold": "#e9b93c", "steel": "#c9d1d6", "wood": "#9b6a3c", "leaf": "#3f8f5f", "sky": "#4d9bd0",
    "ghost": "#bfe3e0", "skin": "#e5b98c", "violet": "#7d54b0", "pale": "#d8c5f0",
    # heroes: told apart by outline and letter too
    "blue": "#1f5fb0", "purple": "#8a3f9c", "green": "#0f7a56", "crimson": "#a92a1c", "amber": "#f0a81e",
    "ice": "#9bd8f2",
}  # fmt: skip
DARK: Final[dict[str, str]] = {
    "ink": "#160e08", "text": "#f3e7cc", "faint": "#ab9674", "paper": "#17120e", "sheet": "#241c15", "card": "#2a2119",
    "glow": "#574319", "cloth": "#96835f", "button": "#d9a441",
    "rock": "#4a3d2f", "cliff": "#3b3025", "hatch": "#241c14", "brick": "#a8452e", "stone": "#91877a",
    "floor": "#cbb68e", "room": "#b8975a", "joint": "#93784a",
}  # fmt: skip
"""Dungeon by candlelight: where it differs from `LIGHT`."""

_HERE: Final = Path(__file__).parent


def _properties(colours: Mapping[str, str]) -> str:
    return "{" + ";".join(f"--{name}:{colour}" for name, colour in colours.items()) + "}"


STYLE: Final = (
    f".picture{_properties(LIGHT)}\n"
    f"@media(prefers-color-scheme:dark){{.picture[data-theme=auto]{_properties(DARK)}}}\n"
    f".picture[data-theme=dark]{_properties(DARK)}\n"
) + (_HERE / "style.css").read_text("utf-8")
"""The text of every picture's style element."""


def in_plain_colours(svg: str) -> str:
    """The picture for a reader that knows neither custom properties nor media queries: light, where it is not dark."""
    colours = LIGHT | (DARK if 'data-theme="dark"' in svg else {})
    rules = STYLE.partition("\n.picture{fill")
    plain = re.sub(r"var\(--([a-z]+)\)", lambda match: colours[match[1]], rules[1] + rules[2])
    return svg.replace(STYLE, plain, 1)


def number(value: float) -> str:
    """Two decimals at most, and none for nothing."""
    return f"{value:.2f}".rstrip("0").rstrip(".") if isinstance(value, float) else str(value)


def tag(name: str, *children: str, **attributes: str | float | None) -> Markup:
    """An element. Children and attributes are escaped, unless they are markup; an attribute that is None is left out.

    Names are written as Python allows: ``class_``, ``stroke_width``.
    """
    said = "".join(
        f' {key.rstrip("_").replace("_", "-")}="{escape(value) if isinstance(value, str) else number(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    if not children:
        return Markup(f"<{name}{said}/>")
    inside = "".join(map(escape, children))
    return Markup(f"<{name}{said}>{inside}</{name}>")


def joined(*parts: Markup) -> Markup:
    """Markup one after the other."""
    return Markup("").join(parts)


def title(text: str) -> Markup:
    """What an element is called: read by screen readers, shown under the pointer."""
    return tag("title", text)


def card(height: float, *, lit: bool = False, corner: int = 6) -> Markup:
    """A box as wide as the picture, for what stands in it to be read together."""
    kind = "card active" if lit else "card"
    return tag("rect", class_=kind, x=EDGE, y=0, width=WIDTH - 2 * EDGE, height=height, rx=corner)


def place(x: float, y: float, scale: float = 1.0, turned: float = 0) -> str:
    """A transform: move, turn, scale."""
    said = [f"translate({number(float(x))} {number(float(y))})"] if x or y else []
    said += [f"rotate({number(turned)})"] if turned else []
    return " ".join([*said, f"scale({number(scale)})"] if scale != 1 else said)


@cache
def drawings() -> dict[str, Markup]:
    """The drawings of shapes.svg by name, each a group with the id ``i-<name>``, 64 units wide around 0,0."""
    source = (_HERE / "shapes.svg").read_text("utf-8")
    found = re.findall(r'^<g id="([a-z-]+)".*?</g>(?=\n(?:<g|<!|</defs))', source, re.MULTILINE | re.DOTALL)
    whole = re.finditer(r'^<g id=".*?</g>(?=\n(?:<g|<!|</defs))', source, re.MULTILINE | re.DOTALL)
    return {
        name: Markup(match[0].replace(' id="', ' id="i-').replace('href="#', 'href="#i-').replace("\n", ""))
        for name, match in zip(found, whole, strict=True)
    }


class Sheet:
    """A picture while it is drawn: remembers which drawings it must take along."""

    def __init__(self) -> None:
        self._taken: dict[str, Markup] = {}

    def use(self, name: str, x: float = 0, y: float = 0, scale: float = 1.0, turned: float = 0) -> Markup:
        """A drawing of shapes.svg, centred on x,y.

        :raises KeyError: there is no such drawing.
        """
        self._take(name)
        if scale == 1 and not turned:
            return tag("use", href=f"#i-{name}", x=x or None, y=y or None)
        return tag("use", href=f"#i-{name}", transform=place(x, y, scale, turned))

    def _take(self, name: str) -> None:
        if name not in self._taken:
            drawing = self._taken[name] = drawings()[name]
            for other in re.findall(r'href="#i-([a-z-]+)"', drawing):
                self._take(other)

    def define(self, identity: str, drawing: Markup) -> str:
        """Take along a drawing made for this picture; answers with the reference to it."""
        self._taken.setdefault(identity, drawing)
        return f"#{identity}"

    def definitions(self) -> Markup:
        """What is taken along, for the drawings that refer to it."""
        return tag("defs", *self._taken.values()) if self._taken else Markup("")

    def picture(self, height: float, name: str, description: str, theme: Theme, language: str, *body: Markup) -> str:
        """The finished picture."""
        return str(
            tag(
                "svg",
                tag("title", name, id="picture-title"),
                tag("desc", description, id="picture-desc"),
                tag("style", Markup(STYLE)),
                self.definitions(),
                tag("rect", class_="sheet", width=WIDTH, height=height),
                *body,
                xmlns="http://www.w3.org/2000/svg",
                viewBox=f"0 0 {WIDTH} {number(height)}",
                class_="picture",
                data_theme=theme,
                lang=language,
                role="img",
                aria_labelledby="picture-title picture-desc",
            )
        )

    # -- parts that any game may show ------------------------------------------------------------------------------

    def row(self, name: str, count: int, x: float, y: float, step: float, scale: float) -> Markup:
        """The same drawing several times, from left to right."""
        many = [self.use(name, i * step / scale) for i in range(count)]
        return tag("g", *many, transform=place(x, y, scale)) if many else Markup("")

    def pips(
        self, full: str, empty: str, have: int, most: int, x: float, y: float, step: float, scale: float
    ) -> Markup:
        """How many of something are left of how many: hearts, boots."""
        return self.row(full, have, x, y, step, scale) + self.row(empty, most - have, x + have * step, y, step, scale)


PIPS: Final = {
    1: ((0, 0),),
    2: ((-1, -1), (1, 1)),
    3: ((-1, -1), (0, 0), (1, 1)),
    4: ((-1, -1), (1, -1), (-1, 1), (1, 1)),
    5: ((-1, -1), (1, -1), (0, 0), (-1, 1), (1, 1)),
    6: ((-1, -1), (1, -1), (-1, 0), (1, 0), (-1, 1), (1, 1)),
}


def die(face: int | None, x: float, y: float, size: float) -> Markup:
    """A six-sided die from above, its upper left corner at x,y; None is one that was not rolled yet."""
    half = size / 2
    parts = [tag("rect", class_="die", x=x, y=y, width=size, height=size, rx=size / 5)]
    if face is None:
        parts.append(write("?", x + half, y + half + size * 0.22, size * 0.6, "label b m"))
    else:
        dots = (
            tag("circle", cx=x + half + px * size * 0.27, cy=y + half + py * size * 0.27, r=size * 0.1)
            for px, py in PIPS[face]
        )
        parts.append(tag("g", *dots, class_="i"))
    return joined(*parts)


def wide(text: str) -> float:
    """About how wide a text is, in units of its font size."""
    return sum(map(_width, text))


@cache
def _width(letter: str) -> float:
    if ord(letter) > 0x2E7F or letter in "mwMW+":
        return 1.0 if letter != "+" else 0.84
    return 0.36 if letter in "iljtfrI.,:;!'|()[] \u00a0" else 0.72 if letter.isupper() else 0.63


def write(text: str, x: float, y: float, size: float, class_: str = "", room: float | None = None) -> Markup:
    """A line of text on its baseline, ``size`` high, smaller where the ``room`` for it is narrower."""
    if room is not None:
        size = min(size, room / (wide(text) * (1.08 if "b" in class_.split() else 1.0) or 1))
    return tag("text", text, class_=class_ or None, x=x, y=y, font_size=round(size, 1))


def figure(text: str, x: float, y: float, radius: float, class_: str) -> Markup:
    """A number on a round tag: ``strength`` of what is fought, ``bonus`` of what is carried."""
    size = radius * (1.5 if len(text) == 1 else 1.3)
    return joined(
        tag("circle", class_=class_, cx=x, cy=y, r=radius),
        write(text, x, y + size * 0.36, size, "num white" if class_ == "strength" else "num label"),
    )


def wrapped(text: str, x: float, y: float, size: float, room: float) -> tuple[Markup, float]:
    """A bold sentence on one line or two, and the baseline of the last."""
    if wide(text) * size * 1.08 <= room:
        return write(text, x, y, size, "b", room), y
    gaps = [i for i, letter in enumerate(text) if letter == " "] or [len(text) // 2]
    middle = min(gaps, key=lambda i: abs(wide(text[:i]) - wide(text[i:])))
    upper = write(text[:middle].strip(), x, y - 6, size, "b", room)
    return upper + write(text[middle:].strip(), x, y + size - 4, size, "b", room), y + size - 4


def folded(text: str, size: float, room: float) -> list[str]:
    """A text in lines that fit the ``room``: broken between words; where words have no gaps, between letters."""
    lines, line, width = [], "", 0.0
    most = room / (0.97 * size)  # in a whole line `wide` says a little too much
    for piece in re.findall(r"[\u2e80-\uffff][、。)」:ーッャュョァィゥェォっゃゅょ]*|[^ \u2e80-\uffff]+ ?| ", text):
        if line and width + wide(piece.rstrip(" ")) > most:
            lines.append(line.rstrip(" "))
            line, width = "", 0.0
        line += piece
        width += wide(piece)
    return [*lines, line.rstrip(" ")]
