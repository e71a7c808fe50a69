"""Errors for states in which a quantity does not exist, with the reason: a joint without inertia, or numbers too large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import SingularityError

if TYPE_CHECKING:
    from qddot.compile.evaluate import Evaluator

WELL_CONDITIONED = 1e11
"""Condition number of a mass matrix below which its condition is not the reason."""

MOST_CONDITIONED = 1e15
"""Condition number above which the smallest eigenvalue cannot be told from zero in float64."""


def singular(evaluate: Evaluator, quantity: str, margins: np.ndarray, inputs: Mapping[str, Any]) -> SingularityError:
    """Return the error for a quantity in the first state with a margin that is not positive."""
    bad = ~(margins > 0)
    *state, _ = (int(i) for i in np.argwhere(bad)[0])
    column = int(np.flatnonzero(bad[tuple(state)])[-1])  # elimination begins at the tips, so the last column is the cause
    where = f" in state {state}" if state else ""
    if quantity in ("analytic_jacobian", "analytic_jacobian_dot"):
        return SingularityError(
            f"{quantity} does not exist{where}: pitch is +-90 degrees, where roll and yaw turn about one axis. "
            'Use coordinates="quaternion" or "rotation_vector".'
        )
    if not np.isfinite(margins[(*state, column)]):
        return SingularityError(f"{quantity} is not finite{where}: the forces, or numbers of the state, are too large")
    column %= evaluate.model.mechanism.nv  # the margins of a step are those of all its stages
    joint = next(c.name for c in evaluate.model.mechanism.coordinates if column in c.v)
    if margins.dtype == np.float32:
        return SingularityError(
            f"the mass matrix of {evaluate.model.name} is not positive definite in float32{where}, at joint {joint!r}: "
            "compute in float64"
        )
    if (number := condition(evaluate, inputs, margins.shape[:-1], tuple(state))) < MOST_CONDITIONED:
        why = f" ({number:.0e})" if number > WELL_CONDITIONED else ": a centre of mass is far out, where inertias cancel"
        return SingularityError(
            f"the mass matrix of {evaluate.model.name} is too ill-conditioned{why} for float64{where}: next to what joint "
            f"{joint!r} carries, almost nothing resists it. Give its link more inertia, or its drive a rotor inertia."
        )
    return SingularityError(
        f"the mass matrix of {evaluate.model.name} is not positive definite{where}: nothing resists joint {joint!r}. "
        "Give the links beyond it mass, or its drive a rotor inertia, or fix the joint."
    )


def condition(evaluate: Evaluator, inputs: Mapping[str, Any], batch: tuple[int, ...], state: tuple[int, ...]) -> float:
    """Return the condition number of the mass matrix in one state, infinite if an eigenvalue is not positive."""
    given = {name: np.asarray(inputs[name], float) for name in ("q", "parameters", "variables") if name in inputs}
    here = {name: np.broadcast_to(x, (*batch, x.shape[-1]))[state] for name, x in given.items()}
    moments = np.linalg.eigvalsh(evaluate("mass_matrix", here, {}))
    return float(moments[-1] / moments[0]) if moments[0] > 0 else np.inf
