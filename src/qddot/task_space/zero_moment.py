"""Where the ground must carry a robot in a motion: the zero moment point (Vukobratovic 1972)."""

from __future__ import annotations

from typing import Any

import numpy as np

from qddot.compile.arrays import as_array
from qddot.compile.evaluate import DOUBLE, Evaluator
from qddot.errors import InputError, SingularityError

LIGHT = 1e-9
"""Of the weight: less than this carries nothing."""


def zero_moment_point(evaluate: Evaluator, q: Any, qd: Any, qdd: Any, point: Any, normal: Any) -> np.ndarray:
    """With the force F and the moment about `point` that the ground exerts, `p = point + n x moment / (n . F)`."""
    o, n = as_array("point", point, (3,), DOUBLE), as_array("normal", normal, (3,), DOUBLE)
    length = np.linalg.norm(n)
    if n.ndim != 1 or o.ndim != 1 or not length > 0:
        raise InputError(f"normal={normal!r}, point={point!r}: one direction and one point are needed")
    n = n / length
    rate = evaluate("momentum_rate", {"q": q, "qd": qd, "qdd": qdd}, {})
    c = evaluate("center_of_mass", {"q": q}, {})
    weight = sum(float(body.inertia.m) for body in evaluate.model.bodies) * np.array(evaluate.model.gravity, float)
    force = rate[..., 3:] - weight
    moment = rate[..., :3] + np.cross(c - o, force)
    carried = force @ n
    if not (carried > LIGHT * (np.linalg.norm(weight) + 1e-300)).all():
        raise SingularityError(
            "the ground carries nothing in this motion, or would have to pull: there is no zero moment point (take normal= along "
            "the ground's reaction, away from gravity)"
        )
    return o + np.cross(n, moment) / carried[..., None]
