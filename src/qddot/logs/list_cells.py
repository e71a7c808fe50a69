"""Cells that hold lists, as a data frame writes them: `0.1,"[0.2, 0.3]"` becomes `0.1,0.2,0.3`, one column becomes several."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

NUMBER = r"[-+]?(?:\d++\.?+\d*+|\.\d++|nan|inf)(?:e[-+]?\d++)?+"
BETWEEN = r"(?:\s*+[,;]\s*+|\s++)"
TEXT = r"""(?:'[^'"\[\](),;]*+'|""[^'"\[\](),;]*+""|"[^'"\[\](),;]*+")"""
LIST = re.compile(
    rf"""["']?[\[(]\s*+({NUMBER}(?:{BETWEEN}{NUMBER})*+|{TEXT}(?:{BETWEEN}{TEXT})*+){BETWEEN}?+[\])]["']?""", re.IGNORECASE
)
"""Possessive quantifiers do not backtrack: a long number without its bracket could be split in exponentially many ways."""

Flattened = Callable[[str], str]


def without_lists(head: list[str], delimiter: str | None) -> tuple[list[str], Flattened] | None:
    """Return the first lines of a file without lists, and a function that does the same to other lines; None if there are no
    lists. `delimiter`: between the columns, outside of lists; None for white space."""
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
    """Return the texts of the numbers, or names, in a list."""
    if text.startswith(("'", '"')):
        return [part.strip("\"'") for part in re.findall(TEXT, text)]
    return [part for part in re.split(r"[,;\s]+", text) if part]


def lists_of(line: str, delimiter: str | None) -> Iterable[str]:
    """Yield the list in each cell of a line, without its brackets; an empty text for a cell without one."""
    found: list[str] = []

    def kept(match: re.Match[str]) -> str:
        found.append(match[1])
        return f"\0{len(found) - 1}\0"

    for cell in LIST.sub(kept, line).split(delimiter):
        marks = cell.split("\0")
        yield found[int(marks[1])] if len(marks) > 1 else ""


def expanded(line: str, delimiter: str | None, widths: list[int]) -> str:
    """Return a line of names with as many names as each column has numbers; any other line as it is."""
    names = line.rstrip("\r\n").split(delimiter)
    if len(names) != len(widths):
        return line
    plain = (name.strip().strip("\"'") for name in names)
    many = [[name] if width == 1 else [f"{name}[{k + 1}]" for k in range(width)] for name, width in zip(plain, widths)]
    return (delimiter or " ").join(name for each in many for name in each) + "\n"
