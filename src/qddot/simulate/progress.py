"""A bar for long simulations."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator

import numpy as np

from qddot.simulate.events import Moment

PATIENCE = 1.0
"""s before a bar appears."""


def shown(states: Iterator[Moment], times: np.ndarray, progress: bool | None) -> Iterator[Moment]:
    """The same states; if they take long, with a bar on stderr.

    Args:
        progress: None: only where stderr is a terminal.
    """
    if progress is False or (progress is None and not sys.stderr.isatty()):
        yield from states
        return
    began = time.monotonic()
    for moment in states:
        yield moment
        if time.monotonic() - began > PATIENCE:
            break
    else:
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True)) as bar:
        task = bar.add_task("simulating", total=float(times[-1] - times[0]))
        for moment in states:
            bar.update(task, completed=moment[0] - float(times[0]))
            yield moment
