"""Instrumental variables: an estimate without the bias that noisy positions give to least squares.

    theta = (Z^T W X)^-1 Z^T W tau

X is computed from measured positions, so its errors are correlated with those of the equation. Z are the same columns for a motion
without that noise: the commanded one, or one simulated with the parameters found so far (Janot, Vandanjon and Gautier 2014).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from qddot.errors import InputError, SingularityError
from qddot.identify.regression.base import Base
from qddot.identify.regression.estimators import Estimate
from qddot.identify.regression.pieces import pieces
from qddot.identify.regression.rows import Rows
from qddot.identify.regression.signals import Signals


def instrumental(base: Base, signals: Signals, reference: tuple[np.ndarray, np.ndarray, np.ndarray], start: Estimate) -> Estimate:
    """Estimate base parameters by instrumental variables.

    Args:
        signals: the prepared log.
        reference: q, qd, qdd (N, nv) of the commanded or simulated motion at the times `signals.t`.
        start: an estimate by least squares; its weights are kept.

    Raises:
        InputError: a reference of another length.
        SingularityError: the reference has little to do with the motion.

    >>> robot = qddot.load("two_link")
    >>> push = lambda t, q, qd: [3 * np.sin(2 * t), np.sin(3 * t)]
    >>> motion = robot.simulate([-1.5, 0], t=np.arange(0, 6, 0.01), step=0.01, torque=push)
    >>> log = qddot.identify.Log(motion.t, motion.q, tau=motion.tau)
    >>> from qddot.identify import ParameterSet, base_parameters, instrumental, least_squares, pieces, prepare, reduce
    >>> base, signals = base_parameters(ParameterSet.of(robot)), prepare(log)
    >>> start = least_squares(reduce(base, pieces(signals)))
    >>> found = instrumental(base, signals, (signals.q, signals.qd, signals.qdd), start)
    >>> round(float(found.theta[base.names.index("body_2.mcx")]), 3)
    0.245
    """
    for name, x in zip(("q", "qd", "qdd"), reference):
        if np.shape(x) != signals.q.shape:
            raise InputError(f"the reference's {name} has shape {np.shape(x)}, the log {signals.q.shape}")
    rows, weights, r = Rows(base), 1 / start.sigma**2, base.rank
    scale = 1 / np.maximum(start.std_classical, 1e-300)  # makes parameters of any unit comparable
    G, g = np.zeros((r, r)), np.zeros(r)
    parts: dict[int, tuple[np.ndarray, np.ndarray, int]] = {}
    q, qd, qdd = (np.asarray(x, float) for x in reference)
    clean = replace(signals, q=q, qd=qd, qdd=qdd)
    for (block, measured), (_, unseen) in zip(pieces(signals), pieces(clean)):
        Gk, gk, moving = np.zeros((r, r)), np.zeros(r), rows.moving(measured)
        for j, (A, Z) in enumerate(zip(rows.each(rows(measured)), rows.each(rows(unseen._replace(paces=measured.paces))))):
            here, A, Z = rows.columns[j], A[moving[:, j]], Z[moving[:, j]]
            Gk[np.ix_(here, here)] += weights[j] * Z[:, :-1].T @ A[:, :-1]
            gk[here] += weights[j] * Z[:, :-1].T @ A[:, -1]
        G, g = G + Gk, g + gk
        before = parts.get(block, (0.0, 0.0, 0))
        parts[block] = before[0] + Gk, before[1] + gk, before[2] + len(moving)
    outer = np.outer(scale, scale)
    condition = float(np.linalg.cond(G / outer))
    if not condition < 1e12:
        raise SingularityError(f"Z^T X has the condition number {condition:.3g}: the reference does not move like the log")
    theta = np.linalg.solve(G / outer, g / scale) / scale
    inverse = np.linalg.inv(G / outer) / outer
    moved = np.array([np.linalg.solve(G - Gk, g - gk) for Gk, gk, _ in parts.values()])
    B = len(parts)
    spread = moved - moved.mean(axis=0)
    sandwich, samples = (B - 1) / B * spread.T @ spread, sum(part[2] for part in parts.values())
    found = {"theta": theta, "classical": (inverse + inverse.T) / 2, "sandwich": sandwich, "blocks": B, "samples": samples}
    return replace(start, method="iv", **found)
