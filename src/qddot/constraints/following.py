"""Rows of constraints that follow from others wherever the loops are closed, so that elimination can be told.

A loop that is closed twice, a planar one closed in space: such rows depend on each other in all configurations, and it is enough to
look at a few. Programs made with the answer watch whether it holds.
"""

from __future__ import annotations

import numpy as np

from qddot.constraints.constrained import ConstrainedRobot
from qddot.constraints.motion_program import Following
from qddot.errors import ConvergenceError
from qddot.model.configuration import integrate, neutral

CONFIGURATIONS, TRIALS = 3, 12
NEARBY = 0.5  # rad or m: of the configurations about the neutral one
CLOSED = 1e-12
FOLLOWS = 1e-6
"""Of a row: what others leave of it where it follows from them."""


def following(robot: ConstrainedRobot) -> Following:
    """Rows that follow from rows before them, or are zero, wherever it was looked."""
    seen = configurations(robot)
    held = robot.holonomic()
    return Following(always(robot, seen), always(held, seen) if held.constraints else ())


def configurations(robot: ConstrainedRobot) -> list[np.ndarray]:
    """Some in which the loops are closed; fewer, or none, where that is hard."""
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
    """Rows that follow in all of the configurations; none if there are no configurations."""
    found = [set(dependent(robot.values(("A",), q)[0])) for q in seen]
    return tuple(sorted(set.intersection(*found))) if found else ()


def dependent(A: np.ndarray) -> list[int]:
    """Rows of A (k, n) that follow from rows before them, or are zero."""
    basis, found = np.zeros((0, A.shape[1])), []
    for i, row in enumerate(A):
        left = row
        for _ in range(2):  # the second takes the rounding of the first away
            left = left - basis.T @ (basis @ left)
        size = np.linalg.norm(left)
        if size <= FOLLOWS * np.linalg.norm(row):
            found.append(i)
        else:
            basis = np.concatenate([basis, left[None] / size])
    return found
