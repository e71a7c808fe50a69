"""Values that a user gives for the variables of a robot, packed into one array: a row of numbers for each state."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from qddot.compile.arrays import as_array
from qddot.errors import InputError, unknown_name
from qddot.model.variables import Variable


def packed(variables: Sequence[Variable], given: Any, dtype: np.dtype) -> np.ndarray:
    """Return an array (..., k) with all numbers in the order of the variables; those not given are as described.

    Args:
        given: name -> (...) for one number, (..., size) for several; or the array itself; or None.

    Raises:
        UnknownNameError: no such variable.
        InputError: not real, finite numbers, or shapes that do not fit each other.
    """
    known_names(variables, given)
    if given is not None and not isinstance(given, Mapping):
        return as_array("variables", given, (sum(x.size for x in variables),), dtype)
    values = [part(x, (given or {}).get(x.name), dtype) for x in variables]
    try:
        lead = np.broadcast_shapes(*(x.shape[:-1] for x in values))
    except ValueError:
        shapes = ", ".join(f"{x.name} {np.shape(given[x.name])}" for x in variables if given and x.name in given)
        raise InputError(f"leading dimensions of variables do not fit each other: {shapes}") from None
    return np.concatenate([np.broadcast_to(x, (*lead, x.shape[-1])) for x in values], axis=-1)


def part(variable: Variable, given: Any, dtype: np.dtype) -> np.ndarray:
    """Return the numbers of one variable (..., size)."""
    if given is None:
        return np.array(variable.default, dtype)
    if variable.size > 1:
        return as_array(variable.name, given, (variable.size,), dtype)
    return as_array(variable.name, given, (), dtype)[..., None]


def known_names(variables: Sequence[Variable], given: Any) -> None:
    """Refuse names that are no variable of the robot."""
    if given is not None and not variables:
        raise InputError(
            "this robot has no variables: choose some with robot.with_variable('payload', ...), which gives another robot"
        )
    for name in given if isinstance(given, Mapping) else ():
        if name not in {x.name for x in variables}:
            raise unknown_name("variable", name, [x.name for x in variables])


def with_given(variables: Sequence[Variable], inputs: Mapping[str, Any], given: Any, dtype: np.dtype) -> Mapping[str, Any]:
    """Return the inputs of a quantity and, if the robot has variables, their numbers."""
    known_names(variables, given)
    if not variables or (given is None and "variables" in inputs):
        return inputs
    return {**inputs, "variables": packed(variables, given, dtype)}
