"""Cells that hold lists, as a data frame writes them: `0.1,"[0.2, 0.3]"` becomes `0.1,0.2,0.3`, one column becomes several."""

from __future__ import annotations

import re
from collections.abc import Callable

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

    marked = LIST.sub(lambda found: f"\0{len(numbers(found[1]))}\0", head[first])
    widths = [int(cell.split("\0")[1]) if "\0" in cell else 1 for cell in marked.split(delimiter)]
    lines = [expanded(line, delimiter, widths) if not LIST.search(line) else flattened(line) for line in head]
    return lines, flattened


def numbers(text: str) -> list[str]:
    """Return the texts of the numbers, or names, in a list."""
    if text.startswith(("'", '"')):
        return [part.strip("\"'") for part in re.findall(TEXT, text)]
    return [part for part in re.split(r"[,;\s]+", text) if part]


def expanded(line: str, delimiter: str | None, widths: list[int]) -> str:
    """Return a line of names with as many names as each column has numbers; any other line as it is."""
    names = line.rstrip("\r\n").split(delimiter)
    if len(names) != len(widths):
        return line
    plain = (name.strip().strip("\"'") for name in names)
    many = [[name] if width == 1 else [f"{name}[{k + 1}]" for k in range(width)] for name, width in zip(plain, widths)]
    return (delimiter or " ").join(name for each in many for name in each) + "\n"
