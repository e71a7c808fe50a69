"""A report as data, and its output as Markdown or as a page of HTML."""

from __future__ import annotations

import base64
import re
from collections.abc import Callable, Sequence
from html import escape
from typing import NamedTuple

from qddot.assets import style_sheet
from qddot.card import Table, html_table

CODE = re.compile(r"`([^`]+)`")


class Code(NamedTuple):
    """A block of code."""

    text: str


class Figure(NamedTuple):
    """A picture; `draw` makes it as `"svg"` or `"png"` when it is needed."""

    title: str
    draw: Callable[[str], bytes]


class Items(NamedTuple):
    """An unordered list."""

    texts: Sequence[str]


Block = str | Items | Table | Figure | Code
"""A string is a paragraph; `` `names` `` in it are set as code."""


class Section(NamedTuple):
    title: str
    blocks: Sequence[Block]


class Document(NamedTuple):
    """A report. `tree` is a drawing of the robot (an `<svg>` element)."""

    title: str
    good: bool
    sections: Sequence[Section]
    tree: str = ""


# Markdown -------------------------------------------------------------------------------------------------------------------


def markdown(document: Document, pictures: Callable[[Figure], str] | None = None) -> str:
    """The report as Markdown. `pictures`: saves a figure and returns the file's name; None: without figures."""
    parts = [f"# {document.title}"]
    for section in document.sections:
        parts.append(f"## {section.title}")
        for block in section.blocks:
            if isinstance(block, Figure):
                parts += [f"![{block.title}]({pictures(block)})"] if pictures else []
            else:
                parts.append(markdown_block(block))
    return "\n\n".join(parts) + "\n"


def markdown_block(block: str | Items | Table | Code) -> str:
    if isinstance(block, Items):
        return "\n".join(f"- {text}" for text in block.texts)
    if isinstance(block, Code):
        return f"```\n{block.text}\n```"
    if isinstance(block, Table):
        rows = [block.head, ["---"] * len(block.head), *block.rows]
        caption = f"{block.caption}\n\n" if block.caption else ""
        return caption + "\n".join("| " + " | ".join(cell.replace("|", "\\|") for cell in row) + " |" for row in rows)
    return block


# HTML -----------------------------------------------------------------------------------------------------------------------


def html(document: Document) -> str:
    """The report as one HTML page that needs no other files."""
    title = escape(document.title)
    links = "".join(f"<li><a href='#s{k}'>{escape(s.title)}</a></li>" for k, s in enumerate(document.sections))
    body = [f"<h1>{title}</h1>", f"<nav><ol>{links}</ol></nav>"]
    for k, section in enumerate(document.sections):
        state = (" class='verdict good'" if document.good else " class='verdict'") if k == 0 else ""
        inside = "\n".join(map(html_block, section.blocks))
        body.append(f"<section id='s{k}'{state}><h2>{escape(section.title)}</h2>\n{inside}</section>")
    body += [f"<section><h2>The robot</h2><div class='wide tree'>{document.tree}</div></section>"] if document.tree else []
    head = f"<meta charset='utf-8'><meta name='viewport' content='width=device-width'><title>{title}</title>"
    style, inside = f"<style>{style_sheet()}</style>", "\n".join(body)
    return f"<!doctype html><html lang='en'><head>{head}{style}</head><body class='qddot report'>\n{inside}\n</body></html>\n"


def html_block(block: Block) -> str:
    if isinstance(block, Items):
        return f"<ul>{''.join(f'<li>{inline(text)}</li>' for text in block.texts)}</ul>"
    if isinstance(block, Table):
        return html_table(block, most=None)
    if isinstance(block, Code):
        return f"<pre>{escape(block.text)}</pre>"
    if isinstance(block, Figure):
        picture = base64.b64encode(block.draw("svg")).decode()
        title = escape(block.title)
        return f"<figure><img alt='{title}' src='data:image/svg+xml;base64,{picture}'><figcaption>{title}</figcaption></figure>"
    return f"<p>{inline(block)}</p>"


def inline(text: str) -> str:
    """Escape text for HTML, with `` `code` `` and **bold** as its only markup."""
    return re.sub(r"\*\*([^*]+)\*\*", r"<b>\1</b>", CODE.sub(r"<code>\1</code>", escape(text)))
