"""Search for the edges beyond which something pulls at a joint: a hose, a cable that becomes taut, a buffer.

At a distance x beyond the edge its torque is `way (pull x + pull_rise x^2)`. The edge is found by search; the linear term absorbs
a small error of the edge, and its uncertainty is that of the edge.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from scipy.optimize import fminbound

from qddot.identify.checks.joint_gains import gains_of_joint
from qddot.identify.checks.normal_equations import score
from qddot.identify.checks.trial import Trial
from qddot.identify.regression.base import Base, base_parameters
from qddot.identify.regression.drive_terms import PULLS, beyond
from qddot.identify.regression.excerpt import many
from qddot.identify.regression.signals import Signals
from qddot.thresholds import EDGES_TRIED, EDGES_WITHIN, NEARLY_ALL

Edge = tuple[float, float]
"""An edge, rad or m, and the way on which the pull acts beyond it: 1 above it, -1 below it."""


def new_edges(trial: Trial, before: Mapping[str, Edge]) -> dict[str, Edge]:
    """Return the best edge of each joint that has none in `before`, if it explains nearly all of the residual torque.

    The residual is that of each fifth of the log, predicted by the others. Nearly all is required since a pull, whose edge may be
    anywhere, explains a little of anything that varies with the position.
    """
    found = {}
    for j, name in enumerate(trial.names):
        q, best, most = trial.motion.q[:, j], None, 0.0
        for way in (1.0, -1.0) if name not in before else ():
            edges = tried(q)
            columns = np.concatenate([pulled(q, (edge, way)) for edge in edges], axis=1)
            seen, unseen = gains_of_joint(trial, j, columns, np.arange(2 * len(edges)).reshape(-1, 2))
            k = int(np.argmax(seen))
            if seen[k] > most and unseen[k] > NEARLY_ALL:
                best, most = (float(edges[k]), way), float(seen[k])
        if best:
            found[name] = best
    return found


def sharper_edges(base: Base, signals: Signals) -> dict[str, Edge]:
    """Return the edges of a fit, each sought again with all other laws of the fit.

    When an edge is found first, a wrong step of friction may displace it.
    """
    parameter_set, found = base.parameter_set, {}
    for name in parameter_set.asked["pulls"]:
        others = base_parameters(parameter_set.without([f"{name}.{kind}" for kind in PULLS]))
        found[name] = sharpest_edge(Trial(others, np.zeros(others.rank), many(signals)), name)
    return found


def sharpest_edge(trial: Trial, name: str) -> Edge:
    """Return the edge with the smallest residual for a further pull at a joint."""
    j = trial.names.index(name)
    q, only = trial.motion.q[:, j], trial.only(j)[:, None]

    def left(edge: float, way: float) -> float:
        return score(trial.with_columns(pulled(q, (edge, way))[:, None] * only)[1])

    edges = tried(q)
    step = float(edges[1] - edges[0])
    _, start, way = min((left(edge, way), edge, way) for way in (1.0, -1.0) for edge in edges.tolist())
    return float(np.asarray(fminbound(left, start - step, start + step, args=(way,), xtol=1e-3 * step))), way


def tried(q: np.ndarray) -> np.ndarray:
    """Return candidate edges, evenly spaced over the positions (N,) of a joint."""
    low, high = np.quantile(q, EDGES_WITHIN)
    return np.linspace(low, high, EDGES_TRIED)


def pulled(q: np.ndarray, edge: Edge) -> np.ndarray:
    """Return the columns (N, 2) of a pull, linear and quadratic, at positions (N,)."""
    x = beyond(q, *edge)
    return edge[1] * np.stack([x, x**2], axis=1)
