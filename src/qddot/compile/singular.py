"""Why a quantity does not exist in a state: which joint nothing resists, or what is too large."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from qddot.errors import SingularityError

if TYPE_CHECKING:
    from qddot.compile.evaluate import Evaluator

WELL_CONDITIONED = 1e11
MOST_CONDITIONED = 1e15
"""Eigenvalues further apart than this are not told from zero in float64."""


def singular(evaluate: Evaluator, quantity: str, margins: np.ndarray, inputs: Mapping[str, Any]) -> SingularityError:
    """Why a quantity does not exist where a margin is not positive."""
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
    column %= evaluate.model.mechanism.nv  # a step has margins of each stage
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
    """Return the condition number of the mass matrix in one state, infinite where an eigenvalue is not positive."""
    given = {name: np.asarray(inputs[name], float) for name in ("q", "parameters", "variables") if name in inputs}
    here = {name: np.broadcast_to(x, (*batch, x.shape[-1]))[state] for name, x in given.items()}
    moments = np.linalg.eigvalsh(evaluate("mass_matrix", here, {}))
    return float(moments[-1] / moments[0]) if moments[0] > 0 else np.inf
