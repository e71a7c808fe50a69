"""Cells that hold lists, as a data frame writes them: `0.1,"[0.2, 0.3]"` becomes `0.1,0.2,0.3`, and its column as many columns."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

NUMBER = r"[-+]?(?:\d++\.?+\d*+|\.\d++|nan|inf)(?:e[-+]?\d++)?+"
BETWEEN = r"(?:\s*+[,;]\s*+|\s++)"
TEXT = r"""(?:'[^'"\[\](),;]*+'|""[^'"\[\](),;]*+""|"[^'"\[\](),;]*+")"""
LIST = re.compile(
    rf"""["']?[\[(]\s*+({NUMBER}(?:{BETWEEN}{NUMBER})*+|{TEXT}(?:{BETWEEN}{TEXT})*+){BETWEEN}?+[\])]["']?""", re.IGNORECASE
)
"""Nothing is given back once it is matched: a long number without its bracket could else be cut in more ways than one can try."""

Flattened = Callable[[str], str]


def without_lists(head: list[str], delimiter: str | None) -> tuple[list[str], Flattened] | None:
    """The first lines of a file without lists, and what makes the others so; None where there are none. `delimiter`: between the
    columns, outside of lists; None for white space."""
    first = next((i for i, line in enumerate(head) if LIST.search(line)), None)
    if first is None:
        return None
    between = delimiter or " "

    def flattened(line: str) -> str:
        return LIST.sub(lambda found: between.join(numbers(found[1])), line)

    widths = [len(numbers(cell)) if cell else 1 for cell in lists_of(head[first], delimiter)]
    lines = [expanded(line, delimiter, widths) if not LIST.search(line) else flattened(line) for line in head]
    return lines, flattened


def numbers(text: str) -> list[str]:
    """The texts of the numbers, or names, in a list."""
    if text.startswith(("'", '"')):
        return [part.strip("\"'") for part in re.findall(TEXT, text)]
    return [part for part in re.split(r"[,;\s]+", text) if part]


def lists_of(line: str, delimiter: str | None) -> Iterable[str]:
    """Yield what each cell of a line holds within brackets; nothing for a plain number."""
    found: list[str] = []

    def kept(match: re.Match[str]) -> str:
        found.append(match[1])
        return f"\0{len(found) - 1}\0"

    for cell in LIST.sub(kept, line).split(delimiter):
        marks = cell.split("\0")
        yield found[int(marks[1])] if len(marks) > 1 else ""


def expanded(line: str, delimiter: str | None, widths: list[int]) -> str:
    """A line of names, with as many names as a column has numbers; any other line as it is."""
    names = line.rstrip("\r\n").split(delimiter)
    if len(names) != len(widths):
        return line
    plain = (name.strip().strip("\"'") for name in names)
    many = [[name] if width == 1 else [f"{name}[{k + 1}]" for k in range(width)] for name, width in zip(plain, widths)]
    return (delimiter or " ").join(name for each in many for name in each) + "\n"
