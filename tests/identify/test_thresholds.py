"""The thresholds of identification are in one file, each with its unit and its reason."""

from __future__ import annotations

import ast
import itertools
import re
from pathlib import Path

import pytest

import qddot
from qddot import thresholds

SOURCE = Path(qddot.__file__).parent
ROUNDING = 1e-6
"""Relative guards below are against rounding, and decide nothing."""

FILES = [*SOURCE.glob("identify/**/*.py"), *SOURCE.glob("logs/*.py")]
FORMATS = {"mat_structure.py", "read_bags.py", "read_arrays.py"}
"""What numbers mean in these is decided by a file format."""


@pytest.mark.parametrize(
    "path", [path for path in FILES if path.name not in FORMATS], ids=lambda path: f"{path.parent.name}/{path.stem}"
)
def test_no_comparison_with_a_number_of_its_own(path: Path) -> None:
    found = []
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if not isinstance(node, ast.Compare):
            continue
        for part in (node.left, *node.comparators):
            numbers = [x.value for x in ast.walk(part) if isinstance(x, ast.Constant) and type(x.value) is float]
            found += [
                f"line {node.lineno}: {x:g}" for x in numbers if ROUNDING < abs(x) < 1 / ROUNDING and x not in (0.5, 1.0, 2.0)
            ]
    assert not found


def is_number_without_reason(line: str) -> bool:
    return line.partition(" = ")[0].isupper() and "  # " not in line


def test_every_number_has_a_reason() -> None:
    """Beside each, or above it, stands a comment; or above it another number of the same one."""
    lines = Path(thresholds.__file__).read_text(encoding="utf-8").splitlines()
    names = [name for name in vars(thresholds) if name.isupper()]
    assert len(names) > 100
    bare = [
        a
        for b, a in itertools.pairwise(lines)
        if a.partition(" = ")[0] in names and "  # " not in a and not b.startswith("# ") and not is_number_without_reason(b)
    ]
    assert not bare


def test_every_number_is_used() -> None:
    text = "\n".join(path.read_text(encoding="utf-8") for path in FILES)
    unused = [name for name in vars(thresholds) if name.isupper() and name not in text]
    assert unused == []


def test_page_lists_all_with_their_values() -> None:
    """`docs/thresholds.md` has a row for each, with the value that it has in the source."""
    page = (SOURCE.parents[1] / "docs" / "thresholds.md").read_text(encoding="utf-8")
    rows = dict(re.findall(r"^\| `(\w+)` \| `(.+?)` \|", page, re.MULTILINE))
    lines = Path(thresholds.__file__).read_text(encoding="utf-8").splitlines()
    values = {name: value.partition("  # ")[0] for name, _, value in (line.partition(" = ") for line in lines) if name.isupper()}
    assert rows == values
