"""Motions to start a search from: random series within the limits, and the one nearest to a recording."""

from __future__ import annotations

import numpy as np

from qddot.errors import InputError
from qddot.identify.excitation.fourier import Fourier
from qddot.identify.excitation.problem import Bounds
from qddot.logs.log import Log


def random_motion(shape: Fourier, bounds: Bounds, rng: np.random.Generator, rest: np.ndarray | None = None) -> np.ndarray:
    """A random series (nv, unknowns) whose positions, velocities and accelerations keep their limits; its blends may not."""
    n = len(bounds.velocity)
    t = shape.ramp + np.linspace(0, shape.period, 200)
    q, qd, qdd = (shape.basis(t, d) for d in range(3))
    X = np.zeros((n, shape.unknowns))
    X[:, 1:-2] = rng.normal(size=(n, shape.unknowns - 3))
    half = np.minimum((bounds.upper - bounds.lower) / 2, np.pi)
    swing = np.ptp(q @ X.T, axis=0) / 2
    rates = [limit / abs(b @ X.T).max(axis=0) for limit, b in ((bounds.velocity, qd), (bounds.acceleration, qdd))]
    X *= (np.minimum.reduce([half / swing, *rates]) * rng.uniform(0.5, 0.95, n))[:, None]
    lower, upper = (np.where(np.isfinite(x), x, wide) for x, wide in ((bounds.lower, -np.pi), (bounds.upper, np.pi)))
    least, most = (q @ X.T).min(axis=0), (q @ X.T).max(axis=0)
    X[:, 0] = rng.uniform(lower - least, np.maximum(upper - most, lower - least))
    lead = qd[0] @ X.T * shape.ramp / 2
    X[:, -2] = np.clip(q[0] @ X.T - lead, bounds.lower, bounds.upper) if rest is None else rest
    X[:, -1] = np.clip(q[0] @ X.T + lead, bounds.lower, bounds.upper) if rest is None else rest
    return X


def recorded_motion(shape: Fourier, bounds: Bounds, log: Log, rest: np.ndarray | None) -> np.ndarray:
    """The series (nv, unknowns) nearest to that period of a recording which has the most motion, reduced to the limits except for
    its blends. Raises InputError: no segment of the recording is as long as a period."""
    windows = [
        (float(np.sum(np.var(log.q[part], axis=0))), part)
        for segment in log.segments
        for first in np.arange(log.t[segment][0], log.t[segment][-1] - shape.period + 1e-9, shape.period / 4)
        if (part := segment.start + np.flatnonzero((log.t[segment] >= first) & (log.t[segment] <= first + shape.period))).size
    ]
    if not windows:
        raise InputError(f"near: no segment of the log is as long as a period of {shape.period:g} s (a shorter period=)")
    rows = max(windows, key=lambda each: each[0])[1]
    basis = shape.series(log.t[rows] - log.t[rows][0])[:, :-2]
    X = np.zeros((log.n, shape.unknowns))
    X[:, :-2] = np.linalg.lstsq(basis, log.q[rows], rcond=None)[0].T
    t = np.linspace(0, shape.period, 400)
    q, qd, qdd = (shape.series(t, d) @ X.T for d in range(3))
    for values, limit in ((qd, bounds.velocity), (qdd, bounds.acceleration)):
        X[:, 1:-2] *= np.minimum(1.0, limit / np.maximum(np.abs(values).max(axis=0), 1e-300))[:, None]
    q = shape.series(t) @ X.T
    X[:, 0] += np.clip(bounds.lower - q.min(axis=0), 0, None) - np.clip(q.max(axis=0) - bounds.upper, 0, None)
    start, speed = (shape.series(np.zeros(1), d)[0] @ X.T for d in range(2))
    for k, sign in ((-2, -1), (-1, 1)):
        X[:, k] = np.clip(start + sign * speed * shape.ramp / 2, bounds.lower, bounds.upper) if rest is None else rest
    return X
