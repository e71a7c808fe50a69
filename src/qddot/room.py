"""Modules that are called by mistake, as in `qddot.identify("run.csv")`: the error names the function to call."""

from __future__ import annotations

import sys
from types import ModuleType
from typing import Any


class Room(ModuleType):
    """A module whose call raises an error that names the function to call instead."""

    meant: str

    def __call__(self, *_: Any, **__: Any) -> Any:
        raise TypeError(f"{self.__name__} is a module, not a function: call {self.meant}")


def not_to_be_called(name: str, meant: str) -> None:
    """Make calls of a module raise an error that names the function to call instead, `meant`."""
    module = sys.modules[name]
    module.__class__ = Room
    module.__dict__["meant"] = meant
