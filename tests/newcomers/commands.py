"""Commands as a page prints them, run in a folder of their own."""

from __future__ import annotations

import contextlib
import os
import re
import shlex
from collections.abc import Iterator
from pathlib import Path

from click.testing import CliRunner, Result

from qddot.cli import main

ROOT = Path(__file__).parents[2]


def commands(page: str, section: str) -> list[str]:
    """The lines of a section that are commands of qddot, without their comments."""
    text = (ROOT / page).read_text(encoding="utf-8")
    found = re.search(rf"^## {re.escape(section)}\n(.*?)(?=^## |\Z)", text, re.MULTILINE | re.DOTALL)
    assert found, f"{page} has no section {section!r}"
    return [line.partition("#")[0].strip() for line in re.findall(r"^ {4}(qddot .+)$", found[1], re.MULTILINE)]


def call(command: str, text: str | None = None) -> Result:
    """What `qddot ...` does, with the text on its standard input."""
    return CliRunner().invoke(main, shlex.split(command)[1:], input=text)


def said(command: str, text: str | None = None) -> str:
    """What it prints; it must succeed."""
    result = call(command, text)
    assert result.exit_code == 0, f"{command}: {result.stderr}"
    return result.stdout


@contextlib.contextmanager
def inside(folder: Path) -> Iterator[Path]:
    before = Path.cwd()
    os.chdir(folder)
    try:
        yield folder
    finally:
        os.chdir(before)
