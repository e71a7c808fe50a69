"""The table of `docs/seeds.md`: what the lecture notes teach, row by row, with the command that shows it and what it shows."""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

PAGE = Path(__file__).parents[2] / "docs" / "seeds.md"


class Row(NamedTuple):
    """One row: in which document and where, what is taught, the command, and what the command shows."""

    document: str
    place: str
    what: str
    command: str
    shows: str


class Document(NamedTuple):
    """A document: the code before its table, and the rows."""

    name: str
    prelude: str
    rows: list[Row]


def documents() -> list[Document]:
    found = []
    for section in PAGE.read_text(encoding="utf-8").split("\n## ")[1:]:
        name, body = section.split("\n", 1)
        prelude = "\n".join(re.findall(r"```python\n(.*?)```", body, re.DOTALL))
        lines = [line for line in body.split("\n") if line.startswith("| ") and "`" in line]
        cells = [[cell.strip() for cell in line.strip("| ").split(" | ")] for line in lines]
        wrong = [line for line, row in zip(lines, cells) if len(row) != 4]
        assert not wrong, f"{PAGE.name}: not four cells: {wrong}"
        rows = [Row(name, place, what, command.strip("`"), shows.strip("`")) for place, what, command, shows in cells]
        found.append(Document(name, prelude, rows))
    return found


def run(row: Row, names: dict[str, Any]) -> None:
    """Execute a row with the names of its document; an AssertionError if it shows something else."""
    if row.command.startswith("$ qddot "):
        printed = on_command_line(row.command.removeprefix("$ qddot "))
        assert row.shows in printed, f"{row.command}: {row.shows!r} is not in\n{printed}"
        return
    value = eval(row.command, names)
    try:
        expected = ast.literal_eval(row.shows.replace("inf", "1e999"))
    except (ValueError, SyntaxError):
        assert str(value) == row.shows, f"{row.command} shows {value}"
        return
    if not isinstance(expected, (int, float, list)) or isinstance(expected, bool) or "'" in row.shows:
        assert value == expected, f"{row.command} shows {value!r}"
        return
    decimals = max((len(digits) for digits in re.findall(r"\.(\d+)", row.shows)), default=9)
    np.testing.assert_allclose(np.array(value, float), expected, rtol=0, atol=0.51 * 10.0**-decimals, err_msg=row.command)


def on_command_line(arguments: str) -> str:
    from click.testing import CliRunner

    from qddot.cli import main

    result = CliRunner().invoke(main, arguments.split(), catch_exceptions=False)
    assert result.exit_code == 0, result.output
    return " ".join(result.output.split())
