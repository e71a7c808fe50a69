"""NumPy's handling of the processor's floating-point flags while a kernel runs.

To make, enter and leave an `np.errstate` takes a microsecond. NumPy keeps its settings in a context variable, so a context with
these settings can be entered again and again, in a tenth of that time.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from functools import cache
from typing import Any

import numpy as np


class Flags:
    """Calls functions under fixed settings of `np.seterr`. A context has one user at a time: calls at the same time use several."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.free: list[Context] = []

    def run(self, function: Callable, *arguments: Any, **options: Any) -> Any:
        """Call a function under the settings."""
        try:
            context = self.free.pop()  # a list's methods are atomic, so threads may share the list
        except IndexError:
            context = Context()
            context.run(lambda: np.seterr(**self.settings))
        try:
            return context.run(function, *arguments, **options)
        finally:
            self.free.append(context)


RAISING = Flags(over="raise", divide="raise", invalid="raise", under="ignore")
IGNORING = Flags(all="ignore")


@cache
def are_raised() -> bool:
    """Return True if NumPy sees the flags. Where it does not, as under valgrind, all inputs and results are checked."""
    try:
        RAISING.run(np.divide, np.zeros(1), np.zeros(1))
    except FloatingPointError:
        return True
    return False
