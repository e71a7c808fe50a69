"""Rows of constraints that depend on others in all configurations with closed loops; elimination must be given these.

Examples are a loop that is closed twice, or a planar loop that is closed in space. A few configurations are enough to find them,
and the programs that use the result check it in every state.
"""

from __future__ import annotations

import numpy as np

from qddot.constraints.constrained import ConstrainedRobot
from qddot.constraints.motion_program import Following
from qddot.errors import ConvergenceError
from qddot.model.configuration import integrate, neutral

CONFIGURATIONS, TRIALS = 3, 12
NEARBY = 0.5  # rad or m: largest distance of the configurations from the neutral one
CLOSED = 1e-12
FOLLOWS = 1e-6
"""A row depends on others if less than this fraction of it remains after they are eliminated."""


def following(robot: ConstrainedRobot) -> Following:
    """Return the rows that depend on rows before them, or are zero, in all configurations examined."""
    seen = configurations(robot)
    held = robot.holonomic()
    return Following(always(robot, seen), always(held, seen) if held.constraints else ())


def configurations(robot: ConstrainedRobot) -> list[np.ndarray]:
    """Return up to `CONFIGURATIONS` configurations with closed loops; fewer, or none, if they are hard to find."""
    mechanism, held, rng = robot.evaluate.model.mechanism, robot.holonomic(), np.random.default_rng(0)
    found: list[np.ndarray] = []
    for _ in range(TRIALS):
        q = integrate(mechanism, neutral(mechanism), rng.uniform(-NEARBY, NEARBY, mechanism.nv))
        try:
            found.append(held.project(q, CLOSED) if held.constraints else q)
        except ConvergenceError:
            continue
        if len(found) == CONFIGURATIONS:
            break
    return found


def always(robot: ConstrainedRobot, seen: list[np.ndarray]) -> tuple[int, ...]:
    """Return the rows that are dependent in all of the configurations; none if there are no configurations."""
    found = [set(dependent(robot.values(("A",), q)[0])) for q in seen]
    return tuple(sorted(set.intersection(*found))) if found else ()


def dependent(A: np.ndarray) -> list[int]:
    """Return the rows of A (k, n) that depend on rows before them, or are zero."""
    basis, found = np.zeros((0, A.shape[1])), []
    for i, row in enumerate(A):
        left = row
        for _ in range(2):  # the second pass removes the rounding errors of the first
            left = left - basis.T @ (basis @ left)
        size = np.linalg.norm(left)
        if size <= FOLLOWS * np.linalg.norm(row):
            found.append(i)
        else:
            basis = np.concatenate([basis, left[None] / size])
    return found
