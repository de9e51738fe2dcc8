"""The rules as pages show them: out of docs/rules, the number of each heading its anchor.

The texts are one file a language, ``<game>.md`` in English beside ``<game>.fr.md`` and ``<game>.ja.md``. No more of
Markdown than they use: headings, paragraphs, lists, tables, fenced code; code, bold, emphasis. A line that is the
comment ``<!-- picture: name: caption -->`` is a picture of `rules_pictures`; other comments are for those who write.
"""

import re
from collections.abc import Callable, Set
from functools import cache
from typing import Final, NamedTuple

from markupsafe import Markup, escape

from service import rulebook
from service.web import rules_pictures

_NUMBER: Final = r"\d+(?:\.\d+)*"
_HEADING: Final = re.compile(rf"(#{{1,6}}) (?:({_NUMBER})(?=\s))?(.*)")
_CITED: Final = re.compile(rf"(?<![\w.#&]){_NUMBER}(?![\w%])", re.ASCII)
"""In any script: letters that no number is part of may stand beside it."""
_RULING: Final = re.compile(r"[A-Z]\d+")
"""Rows of a table that have a name to be cited by."""
_ITEM: Final = re.compile(r"(?:[-*]|\d+\.) (.*)")
_BLOCK: Final = re.compile(r"#{1,6} |\||[-*] |\d+\. |```|<!--")
_DRAWN: Final = re.compile(
    r'<figure.*?</figure>|<([uo]l) class="drawings".*?</\1>|<div class="portrait".*?</div>', re.DOTALL
)
"""The pictures: they refer to what stands once on the page of rules."""
_COMMENT: Final = re.compile(r"<!-- (?:picture: ([\w -]+?)(?:: (.*?))?|.*) -->")

Draw = Callable[[str, str], Markup]
"""A picture by its name, with its caption."""


class Entry(NamedTuple):
    """A heading of the table of contents with what is below it."""

    number: str
    title: Markup
    below: list["Entry"]


class Text(NamedTuple):
    """The rules of a game: their heading, what they say, their contents; and in which language."""

    title: Markup
    html: Markup
    contents: list[Entry]
    language: str


@cache
def rendered(game: str, language: str) -> Text | None:
    """The rules of a game in a language or, where there is no such text, in English; None: there are none."""
    for spoken in (language, "en"):
        if (file := rulebook.path(game, spoken)).is_file():
            pictures = rules_pictures.of(game, spoken)
            text = file.read_text("utf-8")
            html = to_html(text, pictures.draw)
            head, end, body = str(html).partition("</h1>")
            return Text(Markup(head + end), pictures.definitions() + Markup(body), contents(text), spoken)
    return None


def paragraph(ruleset: str, number: str, language: str) -> tuple[Markup, Markup] | None:
    """The heading and the words of a paragraph by its number, to be shown on other pages; None: there is none."""
    text = rendered(ruleset.partition("@")[0], language)
    heading = rf'<h(\d) id="{re.escape(number)}">(.*?)</h\1>(.*?)(?=<h\d|\Z)'
    if text is None or (found := re.search(heading, text.html, re.DOTALL)) is None:
        return None
    said = _DRAWN.sub("", found[3])
    title, said = (part.replace('href="#', f'href="/rules/{ruleset}#') for part in (found[2], said))
    return Markup(title), Markup(said)  # of our own making, and escaped there


def contents(text: str) -> list[Entry]:
    """The numbered headings of the second level, each with those of the third."""
    found: list[Entry] = []
    for line in text.splitlines():
        if (heading := _HEADING.match(line)) and heading[2] and len(heading[1]) in (2, 3):
            entries = found if len(heading[1]) == 2 else found[-1].below
            entries.append(Entry(heading[2], Markup(_inline(heading[3].strip(), frozenset())), []))
    return found


def to_html(text: str, draw: Draw | None = None) -> Markup:
    """Markdown as HTML: everything in it is escaped, but for our own tags."""
    lines = text.splitlines()
    anchors = {found[2] for line in lines if (found := _HEADING.match(line)) and found[2]}
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
        elif heading := _HEADING.match(line):
            parts.append(_heading(len(heading[1]), heading[2], heading[3]))
        elif comment := _COMMENT.fullmatch(line):
            if comment[1] and draw:
                parts.append(draw(comment[1], comment[2] or ""))
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
            parts.append(f"<p>{_inline(_joined(lines[start:i]), anchors)}</p>")
    return Markup("\n".join(parts))


def _heading(level: int, number: str | None, said: str) -> str:
    rest = _inline(said, frozenset())
    if number is None:
        return f"<h{level}>{rest}</h{level}>"
    return f'<h{level} id="{number}"><a class="anchor" href="#{number}">{number}</a>{rest}</h{level}>'


def _joined(lines: list[str]) -> str:
    """Lines as one: no space where a script without spaces was broken."""
    whole = lines[0].strip()
    for line in (line.strip() for line in lines[1:]):
        whole += line if max(whole[-1], line[0]) > "\u2e7f" else f" {line}"
    return whole


def _list(lines: list[str], anchors: Set[str]) -> str:
    items: list[list[str]] = []
    for line in lines:
        if item := _ITEM.match(line):
            items.append([item[1]])
        else:
            items[-1].append(line)
    kind = "ol" if lines[0][0].isdigit() else "ul"
    return f"<{kind}>{''.join(f'<li>{_inline(_joined(item), anchors)}</li>' for item in items)}</{kind}>"


def _table(rows: list[str], anchors: Set[str]) -> str:
    cells = [[cell.strip() for cell in row.strip().strip("|").split("|")] for row in rows]
    head = "".join(f'<th scope="col">{_inline(cell, anchors)}</th>' if cell else "<td></td>" for cell in cells[0])
    numbers = [bool(re.fullmatch("-+:", cell)) for cell in cells[1]]
    body = ""
    for row in cells[2:]:
        name = f' id="{row[0]}"' if _RULING.fullmatch(row[0]) else ""
        shown = (
            ('<td class="number">' if right else "<td>") + f"{_inline(cell, anchors)}</td>"
            for cell, right in zip(row, numbers, strict=True)
        )
        body += f"<tr{name}>{''.join(shown)}</tr>"
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
        said.append(_CITED.sub(lambda found: _link(found[0], anchors), shown))
    return "".join(said)


def _link(number: str, anchors: Set[str]) -> str:
    return f'<a href="#{number}">{number}</a>' if "." in number and number in anchors else number
