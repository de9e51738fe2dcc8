"""What a picture is made of, as the tests of both games look at it, and chance that they repeat."""

import random
import re
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from typing import Any, NamedTuple

from engine.chance import possible
from replay.pictures.shared import wide

SVG = "{http://www.w3.org/2000/svg}"


def by_id(root: ET.Element) -> dict[str, ET.Element]:
    return {identity: element for element in root.iter() if (identity := element.get("id"))}


def name(element: ET.Element) -> str:
    """What a screen reader says."""
    found = element.find(f"{SVG}title")
    return (found.text or "") if found is not None else ""


def used(element: ET.Element) -> list[str]:
    """The drawings an element shows."""
    return [str(use.get("href")) for use in element.iter(f"{SVG}use")]


def texts(element: ET.Element) -> list[str]:
    return [text.text or "" for text in element.iter(f"{SVG}text")]


class Box(NamedTuple):
    """A rectangle in the picture, and what it is."""

    left: float
    top: float
    right: float
    bottom: float
    what: str

    def meets(self, other: "Box") -> bool:
        return (
            min(self.right, other.right) - max(self.left, other.left) > 0.5
            and min(self.bottom, other.bottom) - max(self.top, other.top) > 0.5
        )


def boxes(element: ET.Element, x: float = 0, y: float = 0, scale: float = 1) -> Iterator[Box]:
    """Dice, buttons and lines of text, as they lie."""
    transform = element.get("transform", "")
    if move := re.search(r"translate\(([-\d.]+) ([-\d.]+)\)", transform):
        x, y = x + float(move[1]) * scale, y + float(move[2]) * scale
    if grow := re.search(r"scale\(([-\d.]+)\)", transform):
        scale *= float(grow[1])
    if element.get("id") == "map":
        x, y = x + float(element.get("x", 0)), y + float(element.get("y", 0))
    kind = element.tag.removeprefix(SVG)
    if kind == "defs":
        return
    if kind == "text":
        size, bold = float(element.get("font-size", 10)), "b" in (element.get("class") or "").split()
        width = wide(element.text or "") * size * (1.08 if bold else 1) * scale
        left = x + float(element.get("x", 0)) * scale
        classes = (element.get("class") or "").split()
        left -= width / 2 if "m" in classes or "num" in classes else width if "e" in classes else 0
        bottom = y + float(element.get("y", 0)) * scale
        sort = "dim text" if "dim" in classes else "text"
        yield Box(left, bottom - 0.74 * size * scale, left + width, bottom, f"{sort} {element.text}")
    elif kind == "rect" and element.get("class") not in ("sheet", "hit"):
        left, top = x + float(element.get("x", 0)) * scale, y + float(element.get("y", 0)) * scale
        width, height = float(element.get("width", 0)) * scale, float(element.get("height", 0)) * scale
        yield Box(left, top, left + width, top + height, f"rect {element.get('class')}")
    elif kind == "use" and str(element.get("href")).startswith("#face-"):
        yield Box(x - 22 * scale, y - 22 * scale, x + 22 * scale, y + 22 * scale, "die")
    for child in element:
        yield from boxes(child, x, y, scale)


def outgrown(root: ET.Element) -> list[tuple[Box, Box]]:
    """Lines of text that are not wholly in the smallest box in which their middle lies; the map's own apart."""
    found = list(boxes(root))
    rects = [box for box in found if box.what.startswith("rect")]
    out = []
    for text in (box for box in found if "text" in box.what.split()[:2]):
        x, y = (text.left + text.right) / 2, (text.top + text.bottom) / 2
        around = [box for box in rects if box.left <= x <= box.right and box.top <= y <= box.bottom]
        if around:
            box = min(around, key=lambda one: (one.right - one.left) * (one.bottom - one.top))
            across = box.left <= text.left + 1 and text.right - 1 <= box.right
            if not (across and box.top <= text.top + 1 and text.bottom <= box.bottom):
                out.append((text, box))
    return out


class Luck:
    """Chance that a test repeats."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)

    def die(self, sides: int, purpose: str) -> int:
        return self.random.randint(1, sides)

    def pick(self, counts: Any, purpose: str) -> str:
        names, weights = zip(*possible(counts), strict=True)
        return str(self.random.choices(names, weights)[0])
