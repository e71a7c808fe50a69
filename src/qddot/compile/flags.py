"""NumPy's handling of the processor's flags while a kernel runs.

`np.errstate` would do, but to make, enter and leave one takes a microsecond. NumPy keeps its settings in a context variable, so a
context in which they were made once can be entered again and again, in a tenth of that.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import Context
from functools import cache
from typing import Any

import numpy as np


class Flags:
    """Calls under fixed settings, as of `np.seterr`. A context has one user at a time, so there are as many as calls at a time."""

    def __init__(self, **settings: Any) -> None:
        self.settings = settings
        self.free: list[Context] = []

    def run(self, function: Callable, *arguments: Any, **options: Any) -> Any:
        try:
            context = self.free.pop()  # a list's methods are atomic: threads may share it
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
    """True if NumPy hears of the flags. Where it does not, as under valgrind, inputs and results must be looked at."""
    try:
        RAISING.run(np.divide, np.zeros(1), np.zeros(1))
    except FloatingPointError:
        return True
    return False
