"""The call that made a fit, in words of Python, for whoever wants it again."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qddot.logs.log import Chunks


def python_call(robot: str, log: Any, validation: Any, parameter_set: str | None, options: Mapping[str, Any]) -> str:
    """`robot.identify(...)` as one would write it; of data that is no file, and of a set of parameters, only the name is known."""
    said = [source(log, "log")]
    said += [f"validation={source(validation, 'other')}"] if validation is not None else []
    said += [f"parameter_set={parameter_set}"] if parameter_set is not None else []
    said += [f"{name}={value!r}" for name, value in options.items() if value not in (None, "auto")]
    return f"robot.identify({', '.join(said)})  # {robot}"


def source(given: Any, name: str) -> str:
    """A file, several, or a number as Python has them; else the name."""
    if isinstance(given, Chunks):
        given = given.source
    if isinstance(given, str | Path):
        return repr(str(given))
    if isinstance(given, float | int):
        return repr(given)
    if isinstance(given, list | tuple) and all(isinstance(one, str | Path) for one in given):
        return repr([str(one) for one in given])
    return name
