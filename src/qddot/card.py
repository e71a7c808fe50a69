"""Cards: one description of an object, shown as HTML in a notebook and by `rich` in a terminal.

Names are text and never markup.
"""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING, Any, NamedTuple, Self

from qddot.assets import math_font_css, style_sheet

if TYPE_CHECKING:
    from rich.console import Group

ROWS = 60
"""Most rows of a table in a notebook; the others are only counted."""


class Formula(str):
    """A cell's text as a terminal shows it; `html`, made by qddot's own printers, is shown in a notebook instead.

    >>> Formula("q1**2", "<math>...</math>").upper()
    'Q1**2'
    """

    html: str

    def __new__(cls, text: str, html: str) -> Self:
        made = super().__new__(cls, text)
        made.html = html
        return made


class Table(NamedTuple):
    """A table of texts; the rows with indices in `doubtful` are marked.

    Where a terminal is too narrow for it, the columns `spare` are left out, and the cells of the column `below` are put below their
    rows, if they say more than the first.
    """

    head: Sequence[str]
    rows: Sequence[Sequence[str]]
    caption: str = ""
    doubtful: frozenset[int] = frozenset()
    spare: frozenset[int] = frozenset()
    below: int | None = None


class Card(NamedTuple):
    """Title, notes and tables; `side` is a drawing (an `<svg>` element) that only a notebook shows."""

    title: str
    notes: Sequence[str] = ()
    tables: Sequence[Table] = ()
    side: str = ""

    def html(self) -> str:
        notes = "".join(f"<p>{escape(note)}</p>" for note in self.notes)
        inside = f"<h3>{escape(self.title)}</h3>{notes}{''.join(map(html_table, self.tables))}"
        inside = f'<div class="side">{self.side}<div>{inside}</div></div>' if self.side else inside
        return fragment(inside, has_math="<math" in inside)

    def rich(self) -> Group:
        from rich.console import Group
        from rich.text import Text

        parts: list[Any] = [Text(self.title, style="bold"), *(Text(note) for note in self.notes)]
        return Group(*parts, *map(rich_table, self.tables))


def fragment(inside: str, *, has_math: bool = False) -> str:
    """Return HTML for a part of another page, with qddot's style."""
    font = math_font_css() if has_math else ""
    return f'<div class="qddot card"><style>{font}{style_sheet()}</style>{UNTRUSTED if has_math else ""}{inside}</div>'


def framed(document: str, *, height: int, width: str = "100%", allowed: str = "") -> str:
    """Return a page in a frame of a notebook, where it keeps its own rules and cannot reach the notebook. `height`, `width`: px, or
    percent for the width; `allowed`: permissions of the frame's sandbox."""
    frame = f'width="{width}" height="{height}" style="border:0;max-width:100%" srcdoc="{escape(document)}"'
    return f'{UNTRUSTED}<iframe sandbox="{allowed}" allow="clipboard-write" {frame}></iframe>'


UNTRUSTED = (
    "<style>.qddot-untrusted{display:none}</style>"
    '<p class="qddot-untrusted">Not shown in a notebook that is not trusted: run this cell, or choose File, Trust Notebook.</p>'
)
"""A note that shows only if Jupyter has removed frames, formulas and styles, as it does in notebooks that somebody else has run."""


def html_table(table: Table, most: int | None = ROWS) -> str:
    """Return a table as HTML; rows beyond `most` are only counted."""
    caption = f"<caption>{escape(table.caption)}</caption>" if table.caption else ""
    head = "".join(f"<th>{escape(cell)}</th>" for cell in table.head)
    body = ""
    for k, row in enumerate(table.rows[:most]):
        doubt = ' class="doubtful"' if k in table.doubtful else ""
        cells = (cell.html if isinstance(cell, Formula) else escape(cell) for cell in row)
        body += f"<tr{doubt}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    if most is not None and len(table.rows) > most:
        body += f'<tr><td colspan="{len(table.head)}">... and {len(table.rows) - most} more</td></tr>'
    return f'<div class="wide"><table>{caption}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table></div>'


def rich_table(table: Table) -> Any:
    """Return a table for `rich` whose names and numbers are never cut: only the widest column is wrapped, between words; if that is
    not enough, each row becomes a paragraph, or a line with another one below it if the table says which."""
    from rich import box
    from rich import table as rich
    from rich.padding import Padding
    from rich.text import Text

    columns = list(zip(table.head, *table.rows))
    widths = [max(map(len, column)) for column in columns]
    widest = widths.index(max(widths))
    word = max((len(x) for cell in columns[widest] for x in cell.split()), default=0)
    least = sum(widths) - widths[widest] + word + 3 * len(widths) + 1  # with a space before and two after each

    class Whole(rich.Table):
        def __rich_console__(self, console: Any, options: Any) -> Any:
            if least <= options.max_width:
                yield from super().__rich_console__(console, options)
                return
            if table.caption:
                yield Text(table.caption, style="bold")
            if table.below is not None:
                kept = [k for k in range(len(table.head)) if k != table.below and k not in table.spare]
                lines = ["  ".join(row[k].ljust(widths[k]) for k in kept).rstrip() for row in (table.head, *table.rows)]
                yield Text(f"{lines[0]}; below: {table.head[table.below]}", style="bold")
                for k, (row, line) in enumerate(zip(table.rows, lines[1:])):
                    yield Text(line, style="yellow" if k in table.doubtful else "", overflow="fold")
                    if row[table.below] != row[0]:
                        yield Padding(Text(row[table.below], style="dim", overflow="fold"), (0, 0, 0, 4))
                return
            for k, (name, *cells) in enumerate(table.rows):
                said = [f"{head} {cell}".strip() for head, cell in zip(table.head[1:], cells) if cell]
                style = "yellow" if k in table.doubtful else ""
                yield Text.assemble((name, "bold"), f": {'; '.join(said)}", style=style, overflow="fold")

    found = Whole(title=Text(table.caption) if table.caption else None, box=box.SIMPLE_HEAD)
    for k, name in enumerate(table.head):
        found.add_column(Text(name), no_wrap=k != widest, overflow="fold")
    found.title_justify, found.title_style = "left", "bold"
    for k, row in enumerate(table.rows):
        found.add_row(*(Text(cell) for cell in row), style="yellow" if k in table.doubtful else None)
    return found
