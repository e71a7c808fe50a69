"""How commands speak: answers on standard output, as text, tables or JSON; everything else on standard error."""

from __future__ import annotations

import json
import re
import sys
import textwrap
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from shutil import get_terminal_size
from threading import Timer
from typing import Any

import click

from qddot.progress import is_terminal

WIDE = 200  # characters of a table that goes to a file
PATIENCE = 1.0  # s before a command says that it is at work

PYTHON = {
    "start within, or use stops=False": "start within",
    "give `limits=robot.limits._replace(velocity=...)`, or `acceleration`": "give --velocity or --acceleration",
    "qddot.load_string reads a text": "- reads it from standard input",
    ", by names or by numbers from 0": "",
    " more in `others` of this error": " more, which qddot check lists",
    "give the robot, Log.load(path, robot), or columns={...}": "give columns={...}",
}
"""What messages of the library say to those who call it, and what it is here."""


@contextmanager
def plainly(words: str = "") -> Iterator[None]:
    """Warnings and errors as plain lines on standard error; with `words`, what is being done, if it takes long."""
    from qddot.errors import QddotError

    with warnings.catch_warnings(record=True) as caught, working(words):
        warnings.simplefilter("always")
        try:
            yield
        except BrokenPipeError:  # the reader of a pipe has left: nobody is there to be told
            raise
        except (QddotError, OSError) as error:
            raise click.ClickException(in_options(said(error))) from None
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                tell(f"warning: {in_options(text)}", err=True)


def said(error: Exception) -> str:
    """An error in a sentence; of a file, without the number that the system gives it."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return str(error)


def in_options(text: str) -> str:
    """A message to those who write Python, for those who typed a command: keywords that it has are its options."""
    context = click.get_current_context(silent=True)
    options = {x.name: x for x in context.command.params if isinstance(x, click.Option)} if context else {}
    for python, words in PYTHON.items():
        text = text.replace(python, words)
    left_open = context is not None and context.params.get("symbolic")
    values = (
        "leave --symbolic out" if left_open else "give them values in the file: values = {...}; qddot check says where they are"
    )
    text = text.replace("give them values with robot.subs({...})", values)
    if "packages" in options:
        text = re.sub(r"packages=\{'([^']*)': \.\.\.\}", r"--package \1=FOLDER", text).replace(
            "packages={...}", "--package NAME=FOLDER"
        )
    if "columns" in options:
        text = re.sub(r"columns=\{(.*?)\}", lambda found: columns(found[1]), text)
    else:
        text = re.sub(r" \([^()]*\bcolumns=[^()]*\)", "", text)

    def option(found: re.Match[str]) -> str:
        name, value = found[1], (found[2] or "").strip("'\"")
        name = "g" if name == "gravity" and "g" in options else name  # the letter, not the vector
        if name not in options:
            return found[0]
        if value == "False":
            return next(iter(options[name].secondary_opts), found[0])
        said = max(options[name].opts, key=len)
        return said if options[name].is_flag else f"{said} {value}".rstrip()

    text = re.sub(r"\b([a-z_]\w*)=((?:'[^']*'|\"[^\"]*\"|[\w.+-]+)?)", option, text)
    return re.sub(r" \([^()]*\b\w+=(?:True|False)\b[^()]*\)", "", text)  # a way out that this command does not have


def columns(mapping: str) -> str:
    """`--columns q=NAME --columns tau=effort` of `'q': [...], 'tau': 'effort'`."""
    pairs = re.findall(r"'(\w+)': (?:'([^']*)'|)", mapping) or [("QUANTITY", "")]
    return " ".join(f"--columns {quantity}={name or 'NAME'}" for quantity, name in pairs)


@contextmanager
def working(words: str) -> Iterator[Callable[[str], None]]:
    """A line that moves, once it takes more than a second and somebody is looking; with what prints others above it."""
    if not words or not is_terminal(sys.stderr):
        yield lambda text: tell(text, err=True)
        return
    from rich.console import Console

    console = Console(stderr=True)
    status = console.status(words)
    begin = Timer(PATIENCE, status.start)
    begin.daemon = True
    begin.start()
    try:
        yield lambda text: console.print(text, markup=False, highlight=False)
    finally:
        begin.cancel()
        status.stop()


def print_json(data: Any) -> None:
    """Print one JSON document, indented."""
    click.echo(json.dumps(data, indent=2, default=plain_data, ensure_ascii=False, allow_nan=False))


def plain_data(x: Any) -> Any:
    """Convert arrays, paths, symbols and mappings to types that JSON has."""
    if hasattr(x, "tolist"):
        return x.tolist()
    return str(x) if isinstance(x, Path) or hasattr(x, "free_symbols") else dict(x)


def terminal_width(stream: Any = None) -> int | None:
    """Characters of a line where somebody looks at standard output, or at another stream; None where a file or a program reads."""
    return get_terminal_size().columns if is_terminal(stream or sys.stdout) else None


def paragraph(text: str, stream: Any = None) -> str:
    """A text as wide as the terminal, broken between words, what follows a line's first indented below it."""
    width = terminal_width(stream)
    if width is None:
        return text

    def wrapped(line: str) -> str:
        margin = " " * (len(line) - len(line.lstrip()))
        return textwrap.fill(line, width, subsequent_indent=f"{margin}    ", break_long_words=False, break_on_hyphens=False)

    return "\n".join(wrapped(line) for line in text.splitlines())


def tell(text: str, err: bool = False) -> None:
    """Print a text as wide as the terminal, on standard output or, with `err`, on standard error."""
    click.echo(paragraph(text, sys.stderr if err else sys.stdout), err=err)


def print_table(table: Any) -> None:
    """A table by `rich`, as wide as the terminal, or as wide as it needs where there is none."""
    from rich.console import Console

    Console(width=None if is_terminal(sys.stdout) else WIDE).print(table)


def table(*head: str, title: str | None = None, right: tuple[str, ...] = ()) -> Any:
    """An empty table with these columns; `right`: those of numbers."""
    from rich import box
    from rich.table import Table

    found = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for name in head:
        whole = name == head[0] or name in right  # what one copies, and numbers, are not cut
        found.add_column(name, justify="right" if name in right else "left", no_wrap=whole, overflow="fold")
    return found


def written(paths: list[Any], as_json: bool) -> None:
    """The files that a command has made."""
    if as_json:
        print_json({"files": [str(path) for path in paths]})
    else:
        for path in paths:
            click.echo(str(path))
