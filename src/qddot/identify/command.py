"""The Python call that repeats a fit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qddot.logs.log import Chunks


def python_call(robot: str, log: Any, validation: Any, parameter_set: str | None, options: Mapping[str, Any]) -> str:
    """The call `robot.identify(...)` as text. Data that are not from a file, and parameter sets, are called by a variable's
    name."""
    said = [source(log, "log")]
    said += [f"validation={source(validation, 'other')}"] if validation is not None else []
    said += [f"parameter_set={parameter_set}"] if parameter_set is not None else []
    said += [f"{name}={value!r}" for name, value in options.items() if value not in (None, "auto")]
    return f"robot.identify({', '.join(said)})  # {robot}"


def source(given: Any, name: str) -> str:
    """A file, several files or a number as a Python literal; anything else by the variable's name."""
    if isinstance(given, Chunks):
        given = given.source
    if isinstance(given, str | Path):
        return repr(str(given))
    if isinstance(given, float | int):
        return repr(given)
    if isinstance(given, list | tuple) and all(isinstance(one, str | Path) for one in given):
        return repr([str(one) for one in given])
    return name
