"""A progress bar for long work."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator
from typing import Any, TypeVar

T = TypeVar("T")

PATIENCE = 1.0
"""s before a bar appears."""


def is_terminal(stream: Any) -> bool:
    """True for a terminal, where somebody may be looking; a process may also have no such stream, or a closed one."""
    return stream is not None and not stream.closed and stream.isatty()


def shown(items: Iterator[T], words: str, total: float | None, done: Callable[[T], float], progress: bool | None) -> Iterator[T]:
    """Yield the items; if they take long, show a bar on stderr.

    Args:
        words: a description of the work.
        total: amount of the work, None if it is not known.
        done: returns the amount that is done with an item.
        progress: True, False, or None for a bar only if stderr is a terminal.
    """
    if progress is False or (progress is None and not is_terminal(sys.stderr)):
        yield from items
        return
    began = time.monotonic()
    for item in items:
        yield item
        if time.monotonic() - began > PATIENCE:
            break
    else:
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task(words, total=total)
        for item in items:
            bar.update(task, completed=done(item))
            yield item
