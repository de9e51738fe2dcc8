"""The rules as pages show them: out of docs/rules, the number of each heading its anchor.

No more of Markdown than those texts use: headings, paragraphs, lists, tables, fenced code; code, bold, emphasis, links.
"""

import re
from collections.abc import Set
from functools import cache
from pathlib import Path
from typing import Final, NamedTuple

from markupsafe import Markup, escape

_PACKED: Final = Path(__file__).with_name("rules")
"""Where a wheel has them."""
_FILES: Final = {"donjon": "le-donjon"}
"""The text of each game by its name, where it is not called so."""
_NUMBER: Final = r"\d+(?:\.\d+)*"
_ITEM: Final = re.compile(r"(?:[-*]|\d+\.) (.*)")
_BLOCK: Final = re.compile(r"#{1,6} |\||[-*] |\d+\. |```")


class Text(NamedTuple):
    """The rules of a game, and in which language."""

    html: Markup
    language: str


@cache
def rendered(game: str, language: str) -> Text | None:
    """The rules of a game in a language or, where there is no such text, in English; None: there are none."""
    folder = _PACKED if _PACKED.is_dir() else Path(__file__).parents[2] / "docs" / "rules"
    name = _FILES.get(game, game)
    for path, spoken in ((folder / f"{name}.{language}.md", language), (folder / f"{name}.md", "en")):
        if path.is_file():
            return Text(to_html(path.read_text("utf-8")), spoken)
    return None


def to_html(text: str) -> Markup:
    """Markdown as HTML: everything in it is escaped, but for our own tags."""
    lines = text.splitlines()
    anchors = {found[1] for line in lines if (found := re.match(rf"#+ ({_NUMBER})\b", line))}
    parts: list[str] = []
    i = 0
    while i < len(lines):
        line, start = lines[i], i
        i += 1
        if not line.strip():
            continue
        if line.startswith("```"):
            while i < len(lines) and not lines[i].startswith("```"):
                i += 1
            i += 1
            parts.append(f"<pre>{escape(chr(10).join(lines[start + 1 : i - 1]))}</pre>")
        elif heading := re.match(r"(#{1,6}) (.*)", line):
            parts.append(_heading(len(heading[1]), heading[2]))
        elif line.startswith("|"):
            while i < len(lines) and lines[i].startswith("|"):
                i += 1
            parts.append(_table(lines[start:i], anchors))
        elif _ITEM.match(line):
            while i < len(lines) and lines[i].strip():
                i += 1
            parts.append(_list(lines[start:i], anchors))
        else:
            while i < len(lines) and lines[i].strip() and not _BLOCK.match(lines[i]):
                i += 1
            parts.append(f"<p>{_inline(' '.join(lines[start:i]), anchors)}</p>")
    return Markup("\n".join(parts))


def _heading(level: int, said: str) -> str:
    if number := re.match(rf"({_NUMBER})\b", said):
        rest = _inline(said[number.end() :], frozenset())
        return f'<h{level} id="{number[1]}"><a class="anchor" href="#{number[1]}">{number[1]}</a>{rest}</h{level}>'
    return f"<h{level}>{_inline(said, frozenset())}</h{level}>"


def _list(lines: list[str], anchors: Set[str]) -> str:
    items: list[str] = []
    for line in lines:
        if item := _ITEM.match(line):
            items.append(item[1])
        else:
            items[-1] += " " + line.strip()
    kind = "ol" if lines[0][0].isdigit() else "ul"
    return f"<{kind}>{''.join(f'<li>{_inline(item, anchors)}</li>' for item in items)}</{kind}>"


def _table(rows: list[str], anchors: Set[str]) -> str:
    cells = [[_inline(cell.strip(), anchors) for cell in row.strip().strip("|").split("|")] for row in rows]
    head = "".join(f'<th scope="col">{cell}</th>' for cell in cells[0])
    body = "".join(f"<tr>{''.join(f'<td>{cell}</td>' for cell in row)}</tr>" for row in cells[2:])
    return f'<div class="wide"><table><thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def _inline(text: str, anchors: Set[str]) -> str:
    """A line of text; the numbers of paragraphs become links to them."""
    said = []
    for n, part in enumerate(text.split("`")):
        if n % 2:
            said.append(f"<code>{escape(part)}</code>")
            continue
        shown = re.sub(r"\*\*([^*]+)\*\*", r"<strong>\1</strong>", str(escape(part)))
        shown = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", shown)
        said.append(re.sub(rf"(?<![\w.#&]){_NUMBER}(?![\w%])", lambda found: _cited(found[0], anchors), shown))
    return "".join(said)


def _cited(number: str, anchors: Set[str]) -> str:
    return f'<a href="#{number}">{number}</a>' if "." in number and number in anchors else number
