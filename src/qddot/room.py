"""Modules that are called by mistake, as `qddot.identify("run.csv")` is: the error names what was meant."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class Room(ModuleType):
    """A module that says what to call instead of it."""

    meant: str

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self.__name__} is a module, not a function: call {self.meant}")


def not_to_be_called(name: str, meant: str) -> None:
    """Make a module answer a call with what was meant."""
    module = sys.modules[name]
    module.__class__ = Room
    module.__dict__["meant"] = meant
