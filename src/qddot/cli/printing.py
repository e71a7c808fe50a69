"""Output of commands: results on standard output, as text, tables or JSON; everything else on standard error."""

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

WIDE = 200  # characters per line of a table in a file
PATIENCE = 1.0  # s before a command shows that it is working

PYTHON = {
    "start within, or use stops=False": "start within",
    "give `limits=robot.limits._replace(velocity=...)`, or `acceleration`": "give --velocity or --acceleration",
    "qddot.load_string reads a text": "- reads it from standard input",
    ", by names or by numbers from 0": "",
    " more in `others` of this error": " more, which qddot check lists",
    "give the robot, Log.load(path, robot), or columns={...}": "give columns={...}",
}
"""Part of a message of the library, for callers in Python -> its wording on the command line."""


@contextmanager
def plainly(words: str = "") -> Iterator[None]:
    """Print warnings and errors as plain lines on standard error; `words`: what is being done, shown if it takes long."""
    from qddot.errors import QddotError

    with warnings.catch_warnings(record=True) as caught, working(words):
        warnings.simplefilter("always")
        try:
            yield
        except BrokenPipeError:  # the reader of a pipe has ended
            raise
        except (QddotError, OSError) as error:
            raise click.ClickException(in_options(sentence(error))) from None
        finally:
            for text in dict.fromkeys(str(warning.message) for warning in caught):
                tell(f"warning: {in_options(text)}", err=True)


def sentence(error: Exception) -> str:
    """Return an error as a sentence; one about a file without the system's error number."""
    if isinstance(error, OSError) and error.filename is not None and error.strerror:
        return f"{error.filename}: {error.strerror[:1].lower()}{error.strerror[1:]}"
    return str(error)


def in_options(text: str) -> str:
    """Return a message of the library with the command's options in place of keyword arguments of Python."""
    context = click.get_current_context(silent=True)
    options = {x.name: x for x in context.command.params if isinstance(x, click.Option)} if context else {}
    for python, words in PYTHON.items():
        text = text.replace(python, words)
    fix = "give them values in the file: values = {...}; qddot check says where they are"
    if context is not None and context.params.get("symbolic"):
        fix = "leave --symbolic out"
    text = text.replace("give them values with robot.subs({...})", fix)
    if "packages" in options:
        text = re.sub(r"packages=\{'([^']*)': \.\.\.\}", r"--package \1=FOLDER", text)
        text = text.replace("packages={...}", "--package NAME=FOLDER")
    if "columns" in options:
        text = re.sub(r"columns=\{(.*?)\}", lambda found: columns(found[1]), text)
    else:
        text = re.sub(r" \([^()]*\bcolumns=[^()]*\)", "", text)

    def option(found: re.Match[str]) -> str:
        name, value = found[1], (found[2] or "").strip("'\"")
        name = "g" if name == "gravity" and "g" in options else name  # the symbol, not the vector
        if name not in options:
            return found[0]
        if value == "False":
            return next(iter(options[name].secondary_opts), found[0])
        longest = max(options[name].opts, key=len)
        return longest if options[name].is_flag else f"{longest} {value}".rstrip()

    text = re.sub(r"\b([a-z_]\w*)=((?:'[^']*'|\"[^\"]*\"|[\w.+-]+)?)", option, text)
    return re.sub(r" \([^()]*\b\w+=(?:True|False)\b[^()]*\)", "", text)  # a fix that this command has no option for


def columns(mapping: str) -> str:
    """Return `--columns q=NAME --columns tau=effort` for `'q': [...], 'tau': 'effort'`."""
    pairs = re.findall(r"'(\w+)': (?:'([^']*)'|)", mapping) or [("QUANTITY", "")]
    return " ".join(f"--columns {quantity}={name or 'NAME'}" for quantity, name in pairs)


@contextmanager
def working(words: str) -> Iterator[Callable[[str], None]]:
    """Show an animated line on a terminal after a second; yields a function that prints other lines above it."""
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
    """Convert an array, path, symbol or mapping to a type that JSON has."""
    if hasattr(x, "tolist"):
        return x.tolist()
    return str(x) if isinstance(x, Path) or hasattr(x, "free_symbols") else dict(x)


def terminal_width(stream: Any = None) -> int | None:
    """Return the characters per line of the terminal at standard output, or at another stream; None if it is no terminal."""
    return get_terminal_size().columns if is_terminal(stream or sys.stdout) else None


def paragraph(text: str, stream: Any = None) -> str:
    """Return a text wrapped to the width of the terminal, with the continuation of each line indented."""
    width = terminal_width(stream)
    if width is None:
        return text

    def wrapped(line: str) -> str:
        margin = " " * (len(line) - len(line.lstrip()))
        return textwrap.fill(line, width, subsequent_indent=f"{margin}    ", break_long_words=False, break_on_hyphens=False)

    return "\n".join(wrapped(line) for line in text.splitlines())


def tell(text: str, err: bool = False) -> None:
    """Print a text wrapped to the width of the terminal, on standard output or, with `err`, on standard error."""
    click.echo(paragraph(text, sys.stderr if err else sys.stdout), err=err)


def print_table(table: Any) -> None:
    """Print a table of `rich`, as wide as the terminal; without one, as wide as it needs."""
    from rich.console import Console

    Console(width=None if is_terminal(sys.stdout) else WIDE).print(table)


def table(*head: str, title: str | None = None, right: tuple[str, ...] = ()) -> Any:
    """Return an empty table with these columns; `right`: right-aligned ones, of numbers."""
    from rich import box
    from rich.table import Table

    found = Table(title=title, box=box.SIMPLE_HEAD, title_justify="left", title_style="bold", pad_edge=False)
    for name in head:
        whole = name == head[0] or name in right  # names, which one copies, and numbers are not wrapped
        found.add_column(name, justify="right" if name in right else "left", no_wrap=whole, overflow="fold")
    return found


def written(paths: list[Any], as_json: bool) -> None:
    """Print the files that a command has written."""
    if as_json:
        print_json({"files": [str(path) for path in paths]})
    else:
        for path in paths:
            click.echo(str(path))
